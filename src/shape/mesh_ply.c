/* PLY files: a header that names elements and their properties, then the elements as text or as bytes of either order. */
#include "shape/mesh_faces.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ELEMENTS = 8, MOST_PROPERTIES = 128 };

/* As the table below counts them. */
typedef enum number_type { CHAR, UCHAR, SHORT, USHORT, INT, UINT, FLOAT, DOUBLE, NO_TYPE } number_type;

typedef enum part { OTHER = -1, X, Y, Z, CORNERS } part;

typedef struct property {
    number_type type, count_type; /* count_type NO_TYPE: no list */
    part part;                    /* what it is to us */
} property;

typedef struct element {
    char name[32];
    double count;
    int properties;
    property property[MOST_PROPERTIES];
} element;

typedef enum coding { NO_CODING, TEXT, LITTLE, BIG } coding;

typedef struct header {
    coding coding;
    int elements;
    element element[MOST_ELEMENTS];
    bool ended;
    const char *data; /* behind it */
} header;

/* ---- the header ---- */

static number_type find_type(const char *word)
{
    static const char *const known[2][NO_TYPE] = { { "char", "uchar", "short", "ushort", "int", "uint", "float", "double" },
                                                   { "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64" } };
    for (int t = 0; t < NO_TYPE; t++)
        if (strcmp(word, known[0][t]) == 0 || strcmp(word, known[1][t]) == 0)
            return (number_type)t;
    return NO_TYPE;
}

static bool read_format(header *h, const char *line)
{
    char name[32] = "";
    if (sscanf(line, "format %31s", name) != 1 || h->coding != NO_CODING)
        return false;
    h->coding = strcmp(name, "ascii") == 0 ? TEXT : strcmp(name, "binary_little_endian") == 0 ? LITTLE : strcmp(name, "binary_big_endian") == 0 ? BIG
                                                                                                                                           : NO_CODING;
    return h->coding != NO_CODING;
}

static bool read_element(header *h, const char *line)
{
    char name[32];
    double count;
    if (h->elements == MOST_ELEMENTS || sscanf(line, "element %31s %lf", name, &count) != 2 || !(count >= 0 && count < 1e15) || count != floor(count))
        return false;
    for (int i = 0; i < h->elements; i++)
        if (strcmp(name, h->element[i].name) == 0)
            return false;
    element *e = &h->element[h->elements++];
    strcpy(e->name, name);
    e->count = count;
    return true;
}

static bool read_property(header *h, const char *line)
{
    char word[4][32] = { "", "", "", "" };
    int words = sscanf(line, "property %31s %31s %31s %31s", word[0], word[1], word[2], word[3]);
    bool list = strcmp(word[0], "list") == 0;
    element *e = h->elements ? &h->element[h->elements - 1] : NULL;
    if (!e || e->properties == MOST_PROPERTIES || words != (list ? 4 : 2))
        return false;
    property p = { find_type(word[list ? 2 : 0]), list ? find_type(word[1]) : NO_TYPE, OTHER };
    const char *name = word[list ? 3 : 1];
    if (p.type == NO_TYPE || (list && p.count_type > UINT)) /* a count is whole */
        return false;
    if (!list && strcmp(e->name, "vertex") == 0 && name[0] >= 'x' && name[0] <= 'z' && name[1] == '\0')
        p.part = (part)(name[0] - 'x');
    if (list && strcmp(e->name, "face") == 0 && (strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0))
        p.part = CORNERS;
    for (int k = 0; k < e->properties && p.part != OTHER; k++)
        if (e->property[k].part == p.part)
            return false;
    e->property[e->properties++] = p;
    return true;
}

/* A line of the header; false when it is none, or comes twice. */
static bool read_line(header *h, const char *line, int number)
{
    size_t length = strcspn(line, " \t");
    if (number == 0)
        return strcmp(line, "ply") == 0;
    if (length == 6 && strncmp(line, "format", 6) == 0)
        return read_format(h, line);
    if (length == 7 && strncmp(line, "element", 7) == 0)
        return read_element(h, line);
    if (length == 8 && strncmp(line, "property", 8) == 0)
        return read_property(h, line);
    h->ended = strcmp(line, "end_header") == 0;
    return h->ended || (length == 7 && strncmp(line, "comment", 7) == 0) || (length == 8 && strncmp(line, "obj_info", 8) == 0);
}

static rp_result read_header(const char *path, const char *text, size_t size, header *h)
{
    const char *end = text + size, *p = text;
    char line[256];
    for (int number = 0; p < end && !h->ended; number++) {
        size_t length = strcspn(p, "\n\r"), kept = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, p, kept);
        while (kept > 0 && (line[kept - 1] == ' ' || line[kept - 1] == '\t'))
            kept--;
        line[kept] = '\0';
        if (!read_line(h, line, number))
            return rp__base_fail(RP_BAD_FILE, "%s: line %d of its header, '%.60s', is none of a PLY file, or comes twice", path, number + 1, line);
        p += length;
        p += p[0] == '\r' && p[1] == '\n' ? 2 : p < end; /* all lines end alike, so no byte of the data is taken for an end */
    }
    h->data = p;
    return h->ended ? RP_OK : rp__base_fail(RP_BAD_FILE, "%s: the header of a PLY file ends with a line 'end_header', this one does not", path);
}

static const element *find_element(const header *h, const char *name)
{
    for (int i = 0; i < h->elements; i++)
        if (strcmp(h->element[i].name, name) == 0)
            return &h->element[i];
    return NULL;
}

static bool has_part(const element *e, part wanted)
{
    for (int k = 0; e && k < e->properties; k++)
        if (e->property[k].part == wanted)
            return true;
    return false;
}

static rp_result check_header(const char *path, const header *h, size_t size)
{
    if (h->coding == NO_CODING)
        return rp__base_fail(RP_BAD_FILE, "%s: its header has no line 'format', which is ascii, binary_little_endian or binary_big_endian", path);
    for (int i = 0; i < h->elements; i++) /* each takes a byte at least */
        if (h->element[i].count > (double)size)
            return rp__base_fail(RP_BAD_FILE, "%s: its header speaks of %.0f elements, but the file has only %zu bytes", path, h->element[i].count, size);
    const element *vertex = find_element(h, "vertex");
    if (!has_part(vertex, X) || !has_part(vertex, Y) || !has_part(vertex, Z))
        return rp__base_fail(RP_BAD_FILE, "%s: its vertices have no x, y and z", path);
    if (!has_part(find_element(h, "face"), CORNERS))
        return rp__base_fail(RP_BAD_FILE, "%s: it has no faces (an element 'face' with a list 'vertex_indices')", path);
    return RP_OK;
}

/* ---- the data ---- */

typedef struct cursor {
    const char *at, *end;
    coding coding;
} cursor;

/* Bytes of a number, the first that counts least. */
static double whole(const unsigned char *b, int size, bool is_signed)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits |= (uint64_t)b[i] << 8 * i;
    return is_signed && bits >> (8 * size - 1) ? (double)bits - ldexp(1, 8 * size) : (double)bits;
}

static double decode(const unsigned char *b, number_type type)
{
    if (type == FLOAT) {
        uint32_t bits = (uint32_t)whole(b, 4, false);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (type == DOUBLE) {
        uint64_t bits = (uint64_t)whole(b, 4, false) | (uint64_t)whole(b + 4, 4, false) << 32;
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return whole(b, 1 << type / 2, type % 2 == 0);
}

static bool take(cursor *c, number_type type, double *value)
{
    if (c->coding == TEXT) {
        while (c->at < c->end && (*c->at == '\n' || *c->at == '\r' || *c->at == ' ' || *c->at == '\t'))
            c->at++;
        return rp__shape_take_number(&c->at, value);
    }
    int size = type == FLOAT ? 4 : type == DOUBLE ? 8 : 1 << type / 2;
    if (c->end - c->at < size)
        return false;
    unsigned char bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)c->at[c->coding == BIG ? size - 1 - i : i];
    c->at += size;
    *value = decode(bytes, type);
    return true;
}

static rp_result take_list(rp__faces *f, cursor *c, const property *p, bool *fine)
{
    double count, value;
    if (!(*fine = take(c, p->count_type, &count) && count >= 0 && count <= (double)(c->end - c->at)))
        return RP_OK;
    for (int64_t k = 0; k < (int64_t)count; k++) {
        if (!(*fine = take(c, p->type, &value)))
            return RP_OK;
        if (p->part == CORNERS)
            RP_TRY(rp__shape_faces_corner(f, value >= 0 && value < 1e15 ? (int64_t)value : -1));
    }
    return p->part == CORNERS ? rp__shape_faces_close(f) : RP_OK;
}

static rp_result take_element(rp__faces *f, cursor *c, const element *e, bool *fine)
{
    double x[3] = { 0, 0, 0 }, value;
    *fine = true;
    for (int k = 0; k < e->properties && *fine; k++) {
        const property *p = &e->property[k];
        if (p->count_type != NO_TYPE)
            RP_TRY(take_list(f, c, p, fine));
        else if ((*fine = take(c, p->type, &value)) && p->part != OTHER)
            x[p->part] = value;
    }
    return *fine && has_part(e, X) ? rp__shape_faces_vertex(f, x) : RP_OK;
}

static rp_result read_data(rp__faces *f, cursor *c, const header *h)
{
    for (int i = 0; i < h->elements; i++)
        for (int64_t n = 0; n < (int64_t)h->element[i].count; n++) {
            bool fine;
            RP_TRY(take_element(f, c, &h->element[i], &fine));
            if (!fine)
                return rp__base_fail(RP_BAD_FILE, "%s: '%s' %lld of %.0f is cut short or not made of numbers", f->path, h->element[i].name,
                                     (long long)n + 1, h->element[i].count);
        }
    return RP_OK;
}

rp_result rp__shape_read_ply(const char *text, size_t size, rp__faces *f)
{
    header *h = RP_NEW(header);
    if (!h)
        return RP_OUT_OF_MEMORY;
    rp_result result = read_header(f->path, text, size, h);
    if (result == RP_OK)
        result = check_header(f->path, h, size);
    if (result == RP_OK) {
        cursor c = { h->data, text + size, h->coding };
        result = read_data(f, &c, h);
    }
    rp__base_free(h);
    return result;
}
