#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *text;
    size_t at;
    int depth, most;
} reader;

static void skip(reader *r)
{
    while (r->text[r->at] == ' ' || r->text[r->at] == '\t' || r->text[r->at] == '\n' || r->text[r->at] == '\r')
        r->at++;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX as UTF-8; surrogates are kept apart, as this program writes none. */
static bool escaped(reader *r, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = r->text[r->at];
    if (!c) /* the text ends here: not a byte further */
        return false;
    r->at++;
    const char *found = strchr(from, c);
    if (found) {
        *(*to)++ = into[found - from];
        return true;
    }
    if (c != 'u')
        return false;
    unsigned code = 0;
    for (int k = 0; k < 4; k++) {
        int digit = hex_digit(r->text[r->at]);
        if (digit < 0)
            return false;
        code = code << 4 | (unsigned)digit;
        r->at++;
    }
    if (code < 0x80) {
        *(*to)++ = (char)code;
    } else if (code < 0x800) {
        *(*to)++ = (char)(0xc0 | code >> 6);
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    } else {
        *(*to)++ = (char)(0xe0 | code >> 12);
        *(*to)++ = (char)(0x80 | (code >> 6 & 0x3f));
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    }
    return true;
}

static char *read_text(reader *r)
{
    if (r->text[r->at] != '"')
        return NULL;
    size_t length = 0;
    for (const char *c = r->text + r->at + 1; *c && *c != '"'; c++, length++)
        if (*c == '\\' && c[1])
            c++, length++;
    char *text = malloc(length + 1), *to = text;
    if (!text)
        return NULL;
    r->at++;
    while (r->text[r->at] && r->text[r->at] != '"') {
        char c = r->text[r->at++];
        if (c != '\\')
            *to++ = c;
        else if (!escaped(r, &to))
            break;
    }
    *to = '\0';
    if (r->text[r->at] != '"') {
        free(text);
        return NULL;
    }
    r->at++;
    return text;
}

static json *read_value(reader *r);

static bool read_members(reader *r, json *value, char end)
{
    json **last = &value->first;
    r->at++;
    skip(r);
    if (r->text[r->at] == end) {
        r->at++;
        return true;
    }
    for (;;) {
        char *name = NULL;
        skip(r);
        if (end == '}') {
            name = read_text(r);
            skip(r);
            if (!name || r->text[r->at] != ':') {
                free(name);
                return false;
            }
            r->at++;
        }
        json *member = read_value(r);
        if (!member) {
            free(name);
            return false;
        }
        member->name = name;
        *last = member;
        last = &member->next;
        skip(r);
        char c = r->text[r->at];
        if (c != ',' && c != end)
            return false;
        r->at++;
        if (c == end)
            return true;
    }
}

static bool read_word(reader *r, json *value)
{
    static const struct {
        const char *word;
        json_kind kind;
        double number;
    } words[] = { { "null", JSON_NULL, 0 }, { "true", JSON_BOOL, 1 }, { "false", JSON_BOOL, 0 } };
    for (int k = 0; k < 3; k++) {
        size_t n = strlen(words[k].word);
        if (strncmp(r->text + r->at, words[k].word, n) == 0) {
            value->kind = words[k].kind;
            value->number = words[k].number;
            r->at += n;
            return true;
        }
    }
    char *end;
    value->kind = JSON_NUMBER;
    value->number = strtod(r->text + r->at, &end);
    bool good = end > r->text + r->at;
    r->at = (size_t)(end - r->text);
    return good;
}

static json *read_value(reader *r)
{
    json *value = calloc(1, sizeof *value);
    if (!value)
        return NULL;
    bool good = false;
    skip(r);
    char c = r->text[r->at];
    if (++r->depth <= r->most) {
        if (c == '{' || c == '[') {
            value->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
            good = read_members(r, value, c == '{' ? '}' : ']');
        } else if (c == '"') {
            value->kind = JSON_TEXT;
            value->text = read_text(r);
            good = value->text != NULL;
        } else if (c) {
            good = read_word(r, value);
        }
    }
    r->depth--;
    if (good)
        return value;
    json_free(value);
    return NULL;
}

json *json_parse(const char *text, size_t *at)
{
    return json_parse_within(text, 64, at);
}

json *json_parse_within(const char *text, int depth, size_t *at)
{
    reader r = { .text = text, .most = depth };
    json *value = read_value(&r);
    skip(&r);
    if (at)
        *at = r.at;
    if (value && text[r.at]) {
        json_free(value);
        return NULL;
    }
    return value;
}

json *json_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0, room = 0, n = 1, at = 0;
    while (file && n > 0) {
        if (room < size + 65536) {
            char *more = realloc(text, room = 2 * room + 131072);
            if (!more)
                break;
            text = more;
        }
        n = fread(text + size, 1, room - size - 1, file);
        size += n;
        text[size] = '\0';
    }
    if (!file || !text) {
        fprintf(stderr, "repose: %s cannot be read: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        free(text);
        return NULL;
    }
    fclose(file);
    json *value = json_parse(text, &at);
    if (!value)
        fprintf(stderr, "repose: %s is not JSON at byte %zu\n", path, at);
    free(text);
    return value;
}

void json_free(json *value)
{
    while (value) {
        json *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->name);
        free(value);
        value = next;
    }
}

const json *json_member(const json *object, const char *name)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const json *m = object->first; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

double json_number(const json *object, const char *name, double otherwise)
{
    const json *m = json_member(object, name);
    return m && m->kind == JSON_NUMBER ? m->number : otherwise;
}

const char *json_text_of(const json *object, const char *name)
{
    const json *m = json_member(object, name);
    return m && m->kind == JSON_TEXT ? m->text : "";
}
