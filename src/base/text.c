#include "base/text.h"

#include "base/locale.h"
#include "base/memory.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(rp__text *text, int64_t more)
{
    if (text->failed)
        return false;
    text->failed = !rp__base_grow(&text->data, &text->capacity, text->length + more + 1, 1);
    return !text->failed;
}

void rp__text_append_bytes(rp__text *text, const char *bytes, int64_t count)
{
    if (!make_room(text, count))
        return;
    if (count > 0)
        memcpy(text->data + text->length, bytes, (size_t)count);
    text->length += count;
    text->data[text->length] = '\0';
}

void rp__text_append_string(rp__text *text, const char *string)
{
    rp__text_append_bytes(text, string, (int64_t)strlen(string));
}

void rp__text_append(rp__text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char small[256];
    int length = rp__base_vformat(small, sizeof small, format, args);
    va_end(args);
    if (length >= 0 && length < (int)sizeof small)
        rp__text_append_bytes(text, small, length);
    else if (length >= 0 && make_room(text, length)) {
        rp__base_vformat(text->data + text->length, (size_t)length + 1, format, again);
        text->length += length;
    }
    va_end(again);
}

void rp__text_append_number(rp__text *text, double value)
{
    char number[40];
    int length = rp__units_format(value, number, sizeof number);
    rp__text_append_bytes(text, number, length);
}

void rp__text_append_quoted(rp__text *text, const char *string)
{
    rp__text_append_bytes(text, "\"", 1);
    for (const char *p = string; *p; p++) {
        switch (*p) {
        case '"': rp__text_append_string(text, "\\\""); break;
        case '\\': rp__text_append_string(text, "\\\\"); break;
        case '\n': rp__text_append_string(text, "\\n"); break;
        case '\r': rp__text_append_string(text, "\\r"); break;
        case '\t': rp__text_append_string(text, "\\t"); break;
        default:
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                rp__text_append(text, "\\u%04x", (unsigned)(unsigned char)*p);
            else
                rp__text_append_bytes(text, p, 1);
        }
    }
    rp__text_append_bytes(text, "\"", 1);
}

const char *rp__text_string(const rp__text *text)
{
    return text->data ? text->data : "";
}

rp_result rp__text_result(const rp__text *text)
{
    return text->failed ? RP_OUT_OF_MEMORY : RP_OK;
}

char *rp__text_take(rp__text *text)
{
    if (!text->failed && !text->data)
        rp__text_append_bytes(text, "", 0);
    char *data = text->failed ? NULL : text->data;
    if (!data)
        rp__base_free(text->data);
    memset(text, 0, sizeof *text);
    return data;
}

void rp__text_free(rp__text *text)
{
    rp__base_free(text->data);
    memset(text, 0, sizeof *text);
}

/* ---- distance ---- */

enum { MAX_WORD = 63 };

static int fold(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '-' ? '_' : c;
}

static int smallest(int a, int b)
{
    return a < b ? a : b;
}

int rp__text_distance(const char *a, const char *b)
{
    int rows[3][MAX_WORD + 1]; /* two before, one before, this one */
    int *before = rows[0], *last = rows[1], *now = rows[2];
    int columns = (int)strnlen(b, MAX_WORD), lines = (int)strnlen(a, MAX_WORD);
    for (int j = 0; j <= columns; j++)
        last[j] = j;
    for (int i = 1; i <= lines; i++) {
        now[0] = i;
        for (int j = 1; j <= columns; j++) {
            int x = fold(a[i - 1]), y = fold(b[j - 1]);
            now[j] = smallest(last[j - 1] + (x != y), smallest(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y)
                now[j] = smallest(now[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[columns];
}

int rp__text_nearest(const char *word, const char *const *candidates, int count)
{
    int length = (int)strnlen(word, MAX_WORD), limit = length / 3, best = -1;
    limit = limit < 1 ? 1 : limit > 3 ? 3 : limit;
    for (int i = 0; i < count; i++) {
        if (abs((int)strnlen(candidates[i], MAX_WORD) - length) > limit) /* each letter more costs one */
            continue;
        int distance = rp__text_distance(word, candidates[i]);
        if (distance <= limit) { /* nearer than all before */
            best = i;
            limit = distance - 1;
        }
    }
    return best;
}
