/* Strands from files: OBJ lines and CSV; NumPy archives are read in strands_npz.c. */
#include "scene/groom.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

typedef struct reader {
    const char *path;
    char *text;
    int line;
    double scale;
    int64_t limit;
    double *points;          /* OBJ: all vertices; CSV: those of the present fibre */
    int64_t count, capacity;
    double *strand;
    int64_t strand_capacity;
    rp__strands *out;
} reader;

static rp_result bad(const reader *r, const char *what)
{
    return rp__base_fail(RP_BAD_FILE, "%s:%d: %s", r->path, r->line, what);
}

/* A number, independent of the locale; *p goes behind it. */
static bool number(char **p, double *value)
{
    const char *end = rp__units_number(*p, value);
    if (!end || !isfinite(*value))
        return false;
    *p = (char *)(uintptr_t)end;
    return true;
}

static rp_result add_point(reader *r, const double x[3])
{
    if (r->count >= r->limit)
        return bad(r, "more points than the limit of particles allows");
    if (!rp__base_grow(&r->points, &r->capacity, 3 * (r->count + 1), sizeof *r->points))
        return RP_OUT_OF_MEMORY;
    for (int a = 0; a < 3; a++)
        r->points[3 * r->count + a] = r->scale * x[a];
    r->count++;
    return RP_OK;
}

static void skip_space(char **p)
{
    while (**p == ' ' || **p == '\t' || **p == '\r')
        ++*p;
}

static rp_result obj_line(reader *r, char *p)
{
    int64_t n = 0;
    for (;;) {
        skip_space(&p);
        if (!*p)
            break;
        char *end = NULL;
        long long index = strtoll(p, &end, 10);
        if (end == p)
            return bad(r, "a line 'l' needs numbers of vertices");
        p = end + strcspn(end, " \t\r");
        index = index < 0 ? r->count + index : index - 1;
        if (index < 0 || index >= r->count)
            return bad(r, "a line 'l' names a vertex that is not there");
        if (!rp__base_grow(&r->strand, &r->strand_capacity, 3 * (n + 1), sizeof *r->strand))
            return RP_OUT_OF_MEMORY;
        memcpy(r->strand + 3 * n++, r->points + 3 * index, 3 * sizeof *r->strand);
    }
    if (n < 2)
        return bad(r, "a line 'l' needs at least two vertices");
    return rp__scene_strands_add(r->out, r->strand, (int)n);
}

static rp_result obj(reader *r, char *p)
{
    double x[3];
    skip_space(&p);
    if (p[0] == 'v' && (p[1] == ' ' || p[1] == '\t')) {
        p++;
        for (int a = 0; a < 3; a++) {
            skip_space(&p);
            if (!number(&p, &x[a]))
                return bad(r, "a vertex 'v' needs three numbers");
        }
        return add_point(r, x);
    }
    if (p[0] == 'l' && (p[1] == ' ' || p[1] == '\t'))
        return obj_line(r, p + 1);
    return RP_OK; /* anything else of the format is not about strands */
}

static rp_result finish_csv(reader *r)
{
    if (r->count == 0)
        return RP_OK;
    if (r->count < 2)
        return bad(r, "a fibre has one point; it needs at least two");
    rp_result result = rp__scene_strands_add(r->out, r->points, (int)r->count);
    r->count = 0;
    return result;
}

static rp_result csv(reader *r, char *p, double *current)
{
    double v[4];
    skip_space(&p);
    if (!*p || *p == '#')
        return RP_OK;
    for (int k = 0; k < 4; k++) {
        skip_space(&p);
        if (!number(&p, &v[k])) {
            if (r->line == 1)
                return RP_OK; /* the names of the columns */
            return bad(r, "a row needs four numbers: fibre, x, y, z");
        }
        skip_space(&p);
        if (k < 3 && *p++ != ',')
            return bad(r, "a row needs four numbers with commas between them: fibre, x, y, z");
    }
    if (r->count && v[0] != *current)
        RP_TRY(finish_csv(r));
    *current = v[0];
    return add_point(r, v + 1);
}

rp_result rp__scene_read_strands(const char *path, double scale, int64_t limit, rp__strands *out)
{
    reader r = { .path = path, .scale = scale, .limit = limit, .out = out };
    size_t size = 0, length = strlen(path);
    bool is_obj = length > 4 && (strcmp(path + length - 4, ".obj") == 0 || strcmp(path + length - 4, ".OBJ") == 0);
    RP_TRY(rp__file_read(path, MOST_BYTES, &r.text, &size));
    if (length > 4 && strcmp(path + length - 4, ".npz") == 0) {
        rp_result read = rp__scene_npz_strands(path, r.text, size, scale, limit, out);
        rp__base_free(r.text);
        return read;
    }
    rp_result result = RP_OK;
    double current = 0;
    for (char *p = r.text; p < r.text + size && result == RP_OK;) {
        char *end = memchr(p, '\n', (size_t)(r.text + size - p));
        if (end)
            *end = 0;
        r.line++;
        result = is_obj ? obj(&r, p) : csv(&r, p, &current);
        if (!end)
            break;
        p = end + 1;
    }
    if (result == RP_OK && !is_obj)
        result = finish_csv(&r);
    if (result == RP_OK && out->count == 0)
        result = rp__base_fail(RP_BAD_FILE, "%s: no strands in it; %s", path, is_obj ? "they are lines 'l'" : "rows are fibre, x, y, z");
    rp__base_free(r.text);
    rp__base_free(r.points);
    rp__base_free(r.strand);
    return result;
}
