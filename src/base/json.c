#include "base/json.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

enum { DEPTH = 64 };

static rp_result wrong(const rp__json *json, const char *expected)
{
    if (json->at >= json->end)
        return rp__base_fail(RP_BAD_FILE, "the text ends where %s should stand", expected);
    return rp__base_fail(RP_BAD_FILE, "byte %lld of the text is '%c' where %s should stand", (long long)(json->at - json->begin + 1),
                         (unsigned char)*json->at < 0x20 || (unsigned char)*json->at > 0x7e ? '?' : *json->at, expected);
}

rp__json rp__json_open(const char *text, size_t length)
{
    return (rp__json){ text, text, text + length };
}

char rp__json_peek(rp__json *json)
{
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
    return json->at < json->end ? *json->at : '\0';
}

static rp_result take(rp__json *json, char what, const char *expected)
{
    if (rp__json_peek(json) != what)
        return wrong(json, expected);
    json->at++;
    return RP_OK;
}

rp_result rp__json_object(rp__json *json)
{
    return take(json, '{', "an object { … }");
}

rp_result rp__json_array(rp__json *json)
{
    return take(json, '[', "an array [ … ]");
}

/* After the opening bracket, or after a value: the end, or on to the next. */
static rp_result next(rp__json *json, bool *first, char closing, const char *expected, bool *more)
{
    if (rp__json_peek(json) == closing) {
        json->at++;
        *more = false;
        return RP_OK;
    }
    if (!*first)
        RP_TRY(take(json, ',', expected));
    *first = false;
    *more = true;
    return RP_OK;
}

rp_result rp__json_item(rp__json *json, bool *first, bool *more)
{
    return next(json, first, ']', "',' or ']'", more);
}

rp_result rp__json_key(rp__json *json, bool *first, char *key, size_t size, bool *more)
{
    RP_TRY(next(json, first, '}', "',' or '}'", more));
    if (!*more)
        return RP_OK;
    RP_TRY(rp__json_text(json, key, size));
    return take(json, ':', "':'");
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte after a backslash; only those \u that the library writes, below 0x80. */
static int escaped(rp__json *json)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = json->at < json->end ? *json->at : '\0';
    const char *place = c ? strchr(from, c) : NULL;
    if (place) {
        json->at++;
        return to[place - from];
    }
    if (c != 'u' || json->end - json->at < 5)
        return -1;
    int code = 0;
    for (int i = 1; i < 5; i++) {
        int digit = hex(json->at[i]);
        if (digit < 0)
            return -1;
        code = 16 * code + digit;
    }
    json->at += 5;
    return code > 0 && code < 0x80 ? code : -1;
}

rp_result rp__json_text(rp__json *json, char *buffer, size_t size)
{
    RP_TRY(take(json, '"', "a text in quotes"));
    size_t length = 0;
    while (json->at < json->end && *json->at != '"') {
        int c = (unsigned char)*json->at;
        if (c < 0x20)
            return wrong(json, "a text without control characters");
        json->at++;
        if (c == '\\' && (c = escaped(json)) < 0)
            return wrong(json, "an escape of one of \" \\ / b f n r t, or u0001 to u007f");
        if (length + 1 >= size)
            return rp__base_fail(RP_BAD_FILE, "a text before byte %lld is longer than %lld bytes", (long long)(json->at - json->begin + 1),
                                 (long long)size - 1);
        buffer[length++] = (char)c;
    }
    buffer[length] = '\0';
    return take(json, '"', "the end of a text, '\"'");
}

rp_result rp__json_number(rp__json *json, double *value)
{
    char c = rp__json_peek(json);
    if (c == '"') {
        char text[8];
        rp__json back = *json;
        if (rp__json_text(json, text, sizeof text) == RP_OK && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)) {
            *value = text[0] == '-' ? -INFINITY : INFINITY;
            return RP_OK;
        }
        *json = back;
        return wrong(json, "a number");
    }
    const char *end = (c >= '0' && c <= '9') || c == '-' ? rp__units_number(json->at, value) : NULL;
    if (!end || end > json->end)
        return wrong(json, "a number");
    json->at = end;
    return RP_OK;
}

rp_result rp__json_whole(rp__json *json, int64_t *value)
{
    rp__json back = *json;
    double number;
    RP_TRY(rp__json_number(json, &number));
    if (!(fabs(number) <= 9007199254740992.0) || number != floor(number)) {
        *json = back;
        return wrong(json, "a whole number");
    }
    *value = (int64_t)number;
    return RP_OK;
}

static bool word(rp__json *json, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, text, length) != 0)
        return false;
    json->at += length;
    return true;
}

rp_result rp__json_bool(rp__json *json, bool *value)
{
    rp__json_peek(json);
    *value = word(json, "true");
    return *value || word(json, "false") ? RP_OK : wrong(json, "true or false");
}

rp_result rp__json_numbers(rp__json *json, double *values, int count)
{
    bool first = true, more = true;
    int got = 0;
    RP_TRY(rp__json_array(json));
    for (;;) {
        RP_TRY(rp__json_item(json, &first, &more));
        if (!more)
            break;
        double value;
        RP_TRY(rp__json_number(json, &value));
        if (got < count)
            values[got] = value;
        got++;
    }
    if (got != count)
        return rp__base_fail(RP_BAD_FILE, "the array before byte %lld has %d numbers; it should have %d",
                             (long long)(json->at - json->begin + 1), got, count);
    return RP_OK;
}

rp_result rp__json_numbers_any(rp__json *json, double **values, int64_t *count)
{
    bool first = true, more = true;
    int64_t got = 0, capacity = 0;
    double *all = NULL;
    rp_result result = rp__json_array(json);
    while (result == RP_OK) {
        result = rp__json_item(json, &first, &more);
        if (result != RP_OK || !more)
            break;
        result = rp__base_grow(&all, &capacity, got + 1, sizeof *all) ? rp__json_number(json, &all[got]) : RP_OUT_OF_MEMORY;
        got++;
    }
    if (result != RP_OK) {
        rp__base_free(all);
        return result;
    }
    *values = all;
    *count = got;
    return RP_OK;
}

/* A text that nobody wants: of any length, with any escapes. */
static rp_result skip_text(rp__json *json)
{
    RP_TRY(take(json, '"', "a text in quotes"));
    while (json->at < json->end && *json->at != '"')
        json->at += *json->at == '\\' && json->at + 1 < json->end ? 2 : 1;
    return take(json, '"', "the end of a text, '\"'");
}

static rp_result skip(rp__json *json, int depth)
{
    char c = rp__json_peek(json);
    bool first = true, more = true, flag;
    double number;
    if (depth > DEPTH)
        return rp__base_fail(RP_BAD_FILE, "values are nested more than %d deep", DEPTH);
    if (c == '{' || c == '[') {
        json->at++;
        while (more) {
            RP_TRY(next(json, &first, c == '{' ? '}' : ']', c == '{' ? "',' or '}'" : "',' or ']'", &more));
            if (more && c == '{') {
                RP_TRY(skip_text(json));
                RP_TRY(take(json, ':', "':'"));
            }
            if (more)
                RP_TRY(skip(json, depth + 1));
        }
        return RP_OK;
    }
    if (c == '"')
        return skip_text(json);
    if (c == 't' || c == 'f')
        return rp__json_bool(json, &flag);
    if (c == 'n')
        return word(json, "null") ? RP_OK : wrong(json, "null");
    return rp__json_number(json, &number);
}

rp_result rp__json_skip(rp__json *json)
{
    return skip(json, 0);
}

rp_result rp__json_finish(rp__json *json)
{
    rp__json_peek(json);
    return json->at == json->end ? RP_OK : wrong(json, "the end of the line");
}
