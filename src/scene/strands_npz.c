/* Strands from NumPy archives (`np.savez`): a zip without compression with the arrays `position`, n rows of three numbers, and `fibre`, n
 * whole numbers; rows of one fibre follow each other. `repose convert` makes such files of frames of fibres. */
#include "scene/groom.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One array inside the archive: where its numbers begin and what they are. */
typedef struct array {
    const unsigned char *data;
    char type[4];            /* f8, f4, i8, i4 */
    int64_t rows, columns;
} array;

typedef struct archive {
    const char *path;
    const unsigned char *bytes;
    size_t size;
} archive;

static rp_result bad(const archive *a, const char *what)
{
    return rp__base_fail(RP_BAD_FILE, "%s: %s", a->path, what);
}

static uint32_t little(const unsigned char *p, int bytes)
{
    uint32_t value = 0;
    for (int k = 0; k < bytes; k++)
        value |= (uint32_t)p[k] << (8 * k);
    return value;
}

/* What follows `key` in the dictionary of an array, or NULL. */
static const char *after(const char *head, const char *key)
{
    const char *at = strstr(head, key);
    return at ? at + strlen(key) : NULL;
}

/* The head of a .npy: magic, version, length, a dictionary as text. `size`: bytes of the whole entry. */
static rp_result read_head(const archive *a, const unsigned char *p, size_t size, array *out)
{
    size_t start = size > 10 && p[6] >= 2 ? 12 : 10;
    if (size < start + 2 || memcmp(p, "\x93NUMPY", 6) != 0)
        return bad(a, "an array in it has no head of NumPy");
    size_t length = little(p + 8, start == 12 ? 4 : 2);
    char head[512];
    if (length >= sizeof head || length > size - start)
        return bad(a, "the head of an array in it is longer than it can be");
    memcpy(head, p + start, length);
    head[length] = 0;
    const char *type = after(head, "'descr': '<"), *shape = after(head, "'shape': (");
    if (!type || !shape || !strstr(head, "'fortran_order': False"))
        return bad(a, "an array in it is not of little-endian numbers in C order");
    out->type[0] = type[0];
    out->type[1] = type[0] ? type[1] : 0;
    out->type[2] = 0;
    if ((out->type[0] != 'f' && out->type[0] != 'i') || (out->type[1] != '8' && out->type[1] != '4') || type[2] != '\'')
        return bad(a, "an array in it is not of f8, f4, i8 or i4");
    char *end = NULL;
    out->rows = strtoll(shape, &end, 10);
    out->columns = end != shape && end[0] == ',' && end[1] == ' ' ? strtoll(end + 2, &end, 10) : 1;
    size_t room = (size - start - length) / (size_t)(out->type[1] - '0');
    if (end == shape || out->rows < 0 || out->columns < 1 || out->columns > 3 || (uint64_t)out->rows > room / (size_t)out->columns)
        return bad(a, "an array in it has fewer numbers than its shape says, or too many dimensions");
    out->data = p + start + length;
    return RP_OK;
}

/* Finds `name` by the directory at the end of the archive. */
static rp_result find(const archive *a, const char *name, array *out)
{
    size_t at = a->size;
    while (at >= 22 && a->size - at < 70000 && little(a->bytes + at - 22, 4) != 0x06054b50)
        at--;
    if (at < 22 || little(a->bytes + at - 22, 4) != 0x06054b50)
        return bad(a, "no NumPy archive (.npz): it has no directory of a zip at its end");
    int entries = (int)little(a->bytes + at - 12, 2);
    size_t p = little(a->bytes + at - 6, 4);
    for (int k = 0; k < entries; k++) {
        if (p > a->size || a->size - p < 46 || little(a->bytes + p, 4) != 0x02014b50)
            return bad(a, "the directory of the archive is damaged");
        const unsigned char *e = a->bytes + p;
        size_t length = little(e + 28, 2), more = length + little(e + 30, 2) + little(e + 32, 2);
        if (a->size - p - 46 < more)
            return bad(a, "the directory of the archive is damaged");
        p += 46 + more;
        if (length != strlen(name) || memcmp(e + 46, name, length) != 0)
            continue;
        size_t local = little(e + 42, 4), size = little(e + 20, 4);
        if (little(e + 10, 2) != 0)
            return bad(a, "its arrays are compressed; write it with np.savez, not np.savez_compressed");
        if (local > a->size || a->size - local < 30)
            return bad(a, "the directory of the archive is damaged");
        size_t begin = local + 30 + little(a->bytes + local + 26, 2) + little(a->bytes + local + 28, 2);
        if (begin > a->size || a->size - begin < size)
            return bad(a, "the archive ends within an array");
        return read_head(a, a->bytes + begin, size, out);
    }
    return rp__base_fail(RP_BAD_FILE, "%s: no array '%.*s' in it; strands need 'position' (n, 3) and 'fibre' (n)", a->path, (int)strlen(name) - 4, name);
}

static double number_at(const array *x, int64_t i)
{
    if (x->type[1] == '8') {
        union {
            double f;
            int64_t i;
        } v;
        memcpy(&v, x->data + 8 * i, 8);
        return x->type[0] == 'f' ? v.f : (double)v.i;
    }
    union {
        float f;
        int32_t i;
    } v;
    memcpy(&v, x->data + 4 * i, 4);
    return x->type[0] == 'f' ? (double)v.f : v.i;
}

rp_result rp__scene_npz_strands(const char *path, const char *bytes, size_t size, double scale, int64_t limit, rp__strands *out)
{
    archive a = { path, (const unsigned char *)bytes, size };
    array position, fibre;
    RP_TRY(find(&a, "position.npy", &position));
    RP_TRY(find(&a, "fibre.npy", &fibre));
    if (position.columns != 3 || fibre.columns != 1 || fibre.rows != position.rows)
        return bad(&a, "'position' must have the shape (n, 3) and 'fibre' the shape (n,), with the same n");
    if (position.rows > limit)
        return bad(&a, "more points than the limit of particles allows");
    double *points = RP_NEW_ARRAY(double, 3 * position.rows + 1);
    rp_result result = points ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < 3 * position.rows && result == RP_OK; k++) {
        points[k] = scale * number_at(&position, k);
        if (!isfinite(points[k]))
            result = bad(&a, "a position is not a finite number");
    }
    for (int64_t first = 0, i = 1; i <= position.rows && result == RP_OK; i++) {
        if (i < position.rows && number_at(&fibre, i) == number_at(&fibre, first))
            continue;
        result = i - first < 2 ? bad(&a, "a fibre has one point; it needs at least two")
                               : rp__scene_strands_add(out, points + 3 * first, (int)(i - first));
        first = i;
    }
    rp__base_free(points);
    if (result == RP_OK && out->count == 0)
        result = bad(&a, "no strands in it: its arrays are empty");
    return result;
}
