#include "render/plot_table.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

enum { WORD = 64 };

/* Ends the cell at *at with 0 and moves behind it; quoted cells lose their quotes. True when it was the last of its line. */
static char *next_cell(char **at, bool *last)
{
    char *start = *at, *to = start, *p = start;
    bool quoted = *p == '"';
    if (quoted)
        p++;
    while (*p && (quoted || (*p != ',' && *p != '\n'))) {
        if (quoted && *p == '"') {
            if (p[1] != '"') {
                quoted = false;
                p++;
                continue;
            }
            p++;
        }
        *to++ = *p++;
    }
    *last = *p != ',';
    *at = *p ? p + 1 : p;
    *to = '\0';
    if (to > start && to[-1] == '\r')
        to[-1] = '\0';
    return start;
}

static int64_t count_lines(const char *text)
{
    int64_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static rp_result read_header(rp__table *t, char **at)
{
    int commas = 1;
    for (const char *p = *at; *p && *p != '\n'; p++)
        commas += *p == ',';
    t->names = rp__base_alloc_zero(sizeof *t->names * (size_t)commas);
    t->values = rp__base_alloc_zero(sizeof *t->values * (size_t)commas);
    if (!t->names || !t->values)
        return RP_OUT_OF_MEMORY;
    for (bool last = false; !last && t->columns < commas;)
        t->names[t->columns++] = next_cell(at, &last);
    return RP_OK;
}

rp_result rp__table_read(const char *path, const char *word, rp__table *out)
{
    rp__table t = { 0 };
    size_t size;
    RP_TRY(rp__file_read(path, (size_t)1 << 32, &t.text, &size));
    char *at = t.text, *cut = strrchr(t.text, '\n');
    if (cut)
        cut[1] = '\0'; /* a torn line */
    int64_t lines = count_lines(t.text);
    rp_result result = lines < 1 ? rp__base_fail(RP_BAD_FILE, "%s is empty", path) : read_header(&t, &at);
    int word_column = -1;
    for (int c = 0; c < t.columns && result == RP_OK; c++) {
        t.values[c] = RP_NEW_ARRAY(double, lines);
        if (!t.values[c])
            result = RP_OUT_OF_MEMORY;
        if (word && strcmp(t.names[c], word) == 0)
            word_column = c;
    }
    if (result == RP_OK && word_column >= 0 && !(t.words = rp__base_alloc_zero((size_t)lines * WORD)))
        result = RP_OUT_OF_MEMORY;
    while (result == RP_OK && *at) {
        bool last = false;
        for (int c = 0; c < t.columns; c++) {
            double v = NAN;
            char *cell = last ? "" : next_cell(&at, &last);
            const char *end = rp__units_number(cell, &v);
            t.values[c][t.rows] = end && !*end ? v : NAN;
            if (c == word_column)
                strncpy(t.words + t.rows * WORD, cell, WORD - 1);
        }
        while (!last)
            (void)next_cell(&at, &last);
        t.rows++;
    }
    if (result != RP_OK)
        rp__table_free(&t);
    else
        *out = t;
    return result;
}

void rp__table_free(rp__table *t)
{
    for (int c = 0; c < t->columns && t->values; c++)
        rp__base_free(t->values[c]);
    rp__base_free(t->values);
    rp__base_free(t->names);
    rp__base_free(t->words);
    rp__base_free(t->text);
    memset(t, 0, sizeof *t);
}

const double *rp__table_column(const rp__table *t, const char *name)
{
    for (int c = 0; c < t->columns; c++)
        if (strcmp(t->names[c], name) == 0)
            return t->values[c];
    return NULL;
}
