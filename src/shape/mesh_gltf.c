/* glTF files, as text and as .glb: the triangles of the nodes of the scene that they show, where the nodes put them. Skins and morphs are as
 * they lie. Every index and size is compared with what is there. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "shape/gltf.h"
#include "shape/mesh_faces.h"

#include <math.h>
#include <string.h>

enum { MOST_DEPTH = 200 };
#define MOST_BYTES ((size_t)8 << 30)
/* Corners of all nodes, and vertices: as many as there are bytes, so that what stands there once is always read; beyond that a mesh that
 * stands at many nodes has an end. */
#define MOST_COPIES ((int64_t)1 << 24)

/* ---- bytes ---- */

static int base64(unsigned char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+' || c == '-' ? 62
           : c == '/' || c == '_' ? 63
                                  : -1;
}

/* In place: three bytes of four letters. */
static bool unpack_base64(char *text, size_t *size)
{
    size_t out = 0;
    uint32_t bits = 0;
    int held = 0;
    const char *p = text;
    for (; base64((unsigned char)*p) >= 0; p++) {
        bits = bits << 6 | (uint32_t)base64((unsigned char)*p);
        held += 6;
        if (held >= 8) {
            held -= 8;
            text[out++] = (char)(bits >> held & 0xff);
        }
    }
    p += strspn(p, "=");
    *size = out;
    return *p == '\0';
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A name with %20 and such, beside the file at `path`. */
static rp_result read_beside(const char *path, char *uri, rp__gltf_buffer *buffer)
{
    char *out = uri;
    for (const char *p = uri; *p; p++) {
        bool coded = *p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0;
        *out++ = coded ? (char)(16 * hex(p[1]) + hex(p[2])) : *p;
        p += coded ? 2 : 0;
    }
    *out = '\0';
    if (*uri == '\0' || *uri == '/' || strchr(uri, ':'))
        return rp__base_fail(RP_BAD_FILE, "%s: its numbers should be in '%s', which is no file beside it", path, uri);
    char *folder = rp__base_copy_text(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = '\0';
    char *full = folder ? rp__file_join(slash ? (folder[0] ? folder : "/") : "", uri) : NULL;
    rp_result result = full ? rp__file_read(full, MOST_BYTES, &buffer->own, &buffer->size) : RP_OUT_OF_MEMORY;
    if (result == RP_NOT_FOUND)
        result = rp__base_fail(RP_BAD_FILE, "%s: it names the file '%s', which is not there", path, uri);
    rp__base_free(folder);
    rp__base_free(full);
    buffer->bytes = (const unsigned char *)buffer->own;
    return result;
}

static rp_result load_buffer(rp__gltf *g, rp__gltf_buffer *buffer)
{
    static const char mark[] = ";base64,";
    if (!buffer->uri || buffer->bytes)
        return RP_OK;
    char *uri = buffer->uri, *data = strncmp(uri, "data:", 5) == 0 ? strstr(uri, mark) : NULL;
    if (!data) {
        RP_TRY(read_beside(g->path, uri, buffer));
        g->bytes += (int64_t)buffer->size;
        return RP_OK;
    }
    data += sizeof mark - 1;
    buffer->bytes = (const unsigned char *)data;
    return unpack_base64(data, &buffer->size) ? RP_OK : rp__base_fail(RP_BAD_FILE, "%s: numbers in base64 hold another letter", g->path);
}

/* ---- numbers ---- */

typedef struct elements {
    const unsigned char *at;
    int64_t count, stride, component;
    bool normalized;
} elements;

static int64_t size_of(int64_t component)
{
    return component == RP_GLTF_I8 || component == RP_GLTF_U8     ? 1
           : component == RP_GLTF_I16 || component == RP_GLTF_U16 ? 2
           : component == RP_GLTF_U32 || component == RP_GLTF_F32 ? 4
                                                                  : 0;
}

static rp_result find_elements(rp__gltf *g, int64_t accessor, int width, elements *e)
{
    const char *wrong = NULL;
    const rp__gltf_accessor *a = accessor < g->accessor_count ? &g->accessors[accessor] : NULL;
    const rp__gltf_view *v = a && a->view >= 0 && a->view < g->view_count ? &g->views[a->view] : NULL;
    rp__gltf_buffer *b = v && v->buffer >= 0 && v->buffer < g->buffer_count ? &g->buffers[v->buffer] : NULL;
    if (a && a->sparse)
        return rp__base_fail(RP_UNSUPPORTED, "%s: sparse numbers are not read; export it without", g->path);
    if (!b)
        wrong = "points to numbers that are not there";
    else if (a->width != width || size_of(a->component) == 0)
        wrong = "has numbers of another type than expected";
    if (wrong)
        return rp__base_fail(RP_BAD_FILE, "%s: accessor %lld %s", g->path, (long long)accessor, wrong);
    RP_TRY(load_buffer(g, b));
    int64_t size = size_of(a->component) * width, stride = v->stride ? v->stride : size, there = (int64_t)b->size;
    bool inside = b->bytes && v->offset <= there && v->length <= there - v->offset && a->offset <= v->length;
    int64_t room = inside ? v->length - a->offset : 0;
    if (!inside || (a->count > 0 && (size > room || a->count - 1 > (room - size) / stride)))
        return rp__base_fail(RP_BAD_FILE, "%s: accessor %lld claims more numbers than there are", g->path, (long long)accessor);
    *e = (elements){ b->bytes + v->offset + a->offset, a->count, stride, a->component, a->normalized };
    return RP_OK;
}

static uint32_t bits_at(const unsigned char *at, int64_t size)
{
    uint32_t bits = 0;
    for (int64_t k = 0; k < size; k++)
        bits |= (uint32_t)at[k] << 8 * k;
    return bits;
}

static double number_at(const elements *e, int64_t i, int axis)
{
    int64_t size = size_of(e->component);
    uint32_t bits = bits_at(e->at + i * e->stride + axis * size, size);
    float real;
    memcpy(&real, &bits, sizeof real);
    switch (e->component) {
    case RP_GLTF_F32: return real;
    case RP_GLTF_I8: return e->normalized ? fmax((int8_t)bits / 127.0, -1) : (int8_t)bits;
    case RP_GLTF_I16: return e->normalized ? fmax((int16_t)bits / 32767.0, -1) : (int16_t)bits;
    case RP_GLTF_U8: return e->normalized ? bits / 255.0 : bits;
    case RP_GLTF_U16: return e->normalized ? bits / 65535.0 : bits;
    default: return bits;
    }
}

/* ---- nodes ---- */

typedef struct matrix {
    double m[3][4];
} matrix;

/* Translation, rotation by the quaternion x y z w, scale; or the columns of a matrix. */
static matrix own_matrix(const rp__gltf_node *n)
{
    matrix a;
    const double *q = n->rotation, x = q[0], y = q[1], z = q[2], w = q[3];
    const double r[3][3] = { { 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w) },
                             { 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w) },
                             { 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y) } };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            a.m[i][j] = n->has_matrix ? n->matrix[4 * j + i] : j < 3 ? r[i][j] * n->scale[j] : n->translation[i];
    return a;
}

static matrix compose(const matrix *a, const matrix *b)
{
    matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            c.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j] + (j == 3 ? a->m[i][3] : 0);
    return c;
}

static bool is_mirror(const matrix *a)
{
    return a->m[0][0] * (a->m[1][1] * a->m[2][2] - a->m[1][2] * a->m[2][1]) - a->m[0][1] * (a->m[1][0] * a->m[2][2] - a->m[1][2] * a->m[2][0]) +
               a->m[0][2] * (a->m[1][0] * a->m[2][1] - a->m[1][1] * a->m[2][0]) < 0;
}

static rp_result put_vertices(rp__faces *f, const elements *e, const matrix *at)
{
    for (int64_t v = 0; v < e->count; v++) {
        double p[3] = { number_at(e, v, 0), number_at(e, v, 1), number_at(e, v, 2) }, x[3];
        for (int i = 0; i < 3; i++)
            x[i] = at->m[i][0] * p[0] + at->m[i][1] * p[1] + at->m[i][2] * p[2] + at->m[i][3];
        RP_TRY(rp__shape_faces_vertex(f, x));
    }
    return RP_OK;
}

/* Corners of triangle k: of a list, of a strip, of a fan. */
static void corners_of(int64_t mode, int64_t k, int64_t corners[3])
{
    enum { LIST = 4, STRIP = 5 };
    corners[0] = mode == LIST ? 3 * k : mode == STRIP ? k : 0;
    corners[1] = mode == LIST ? 3 * k + 1 : mode == STRIP ? k + 1 + k % 2 : k + 1;
    corners[2] = mode == LIST ? 3 * k + 2 : mode == STRIP ? k + 2 - k % 2 : k + 2;
}

static rp_result put_primitive(rp__faces *f, rp__gltf *g, const rp__gltf_primitive *p, const matrix *at)
{
    elements positions, indices = { 0 };
    if (p->mode < 4 || p->mode > 6) /* points and lines */
        return RP_OK;
    if (p->position < 0)
        return rp__base_fail(RP_BAD_FILE, "%s: a mesh has no positions", g->path);
    RP_TRY(find_elements(g, p->position, 3, &positions));
    if (p->indices >= 0)
        RP_TRY(find_elements(g, p->indices, 1, &indices));
    if (indices.component == RP_GLTF_F32)
        return rp__base_fail(RP_BAD_FILE, "%s: corners of triangles are told by fractions", g->path);
    int64_t first = f->vertex_count, corners = p->indices >= 0 ? indices.count : positions.count;
    int64_t triangles = p->mode == 4 ? corners / 3 : corners > 2 ? corners - 2 : 0;
    int64_t most = g->bytes > MOST_COPIES ? g->bytes : MOST_COPIES;
    if (positions.count > most - first || triangles > (most - f->corner_count) / 3)
        return rp__base_fail(RP_TOO_LARGE, "%s: its nodes have more than %lld corners in all", g->path, (long long)most);
    RP_TRY(put_vertices(f, &positions, at));
    bool mirrored = is_mirror(at);
    for (int64_t k = 0; k < triangles; k++) {
        int64_t corner[3];
        corners_of(p->mode, k, corner);
        for (int c = 0; c < 3; c++) {
            int64_t i = corner[mirrored ? 2 - c : c];
            int64_t vertex = p->indices >= 0 ? (int64_t)number_at(&indices, i, 0) : i;
            RP_TRY(rp__shape_faces_corner(f, vertex >= 0 && vertex < positions.count ? first + vertex : -1));
        }
        RP_TRY(rp__shape_faces_close(f));
    }
    return RP_OK;
}

/* Primitives stand in the order of their meshes. */
static int64_t first_primitive(const rp__gltf *g, int64_t mesh)
{
    int64_t low = 0, high = g->primitive_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (g->primitives[middle].mesh < mesh)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static rp_result put_node(rp__faces *f, rp__gltf *g, int64_t index, const matrix *parent, int depth)
{
    if (index >= g->node_count)
        return rp__base_fail(RP_BAD_FILE, "%s: there is no node %lld", g->path, (long long)index);
    rp__gltf_node *node = &g->nodes[index];
    if (node->visited)
        return rp__base_fail(RP_BAD_FILE, "%s: node %lld stands below two others, or below itself", g->path, (long long)index);
    if (depth > MOST_DEPTH)
        return rp__base_fail(RP_TOO_LARGE, "%s: nodes stand more than %d below each other", g->path, MOST_DEPTH);
    node->visited = true;
    matrix own = own_matrix(node), at = compose(parent, &own);
    if (node->mesh >= g->mesh_count)
        return rp__base_fail(RP_BAD_FILE, "%s: there is no mesh %lld", g->path, (long long)node->mesh);
    for (int64_t k = first_primitive(g, node->mesh); k < g->primitive_count && g->primitives[k].mesh == node->mesh; k++)
        RP_TRY(put_primitive(f, g, &g->primitives[k], &at));
    for (int64_t k = 0; k < node->children; k++)
        RP_TRY(put_node(f, g, g->children[node->first_child + k], &at, depth + 1));
    return RP_OK;
}

/* The scene to be shown; where there is none, every node that is no other's child. */
static rp_result put_scene(rp__faces *f, rp__gltf *g)
{
    static const matrix identity = { { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } } };
    if (g->scene_count > 0) {
        if (g->scene >= g->scene_count)
            return rp__base_fail(RP_BAD_FILE, "%s: there is no scene %lld", g->path, (long long)g->scene);
        for (int64_t k = 0; k < g->scenes[g->scene].count; k++)
            RP_TRY(put_node(f, g, g->children[g->scenes[g->scene].first + k], &identity, 0));
        return RP_OK;
    }
    for (int64_t k = 0; k < g->child_count; k++)
        if (g->children[k] < g->node_count)
            g->nodes[g->children[k]].is_child = true;
    for (int64_t k = 0; k < g->node_count; k++)
        if (!g->nodes[k].is_child)
            RP_TRY(put_node(f, g, k, &identity, 0));
    return RP_OK;
}

/* ---- files ---- */

/* The two parts of a .glb file: JSON, and bytes. */
static rp_result take_parts(const char *path, const unsigned char *text, size_t size, const char **json, size_t *json_size, rp__gltf_buffer *rest)
{
    enum { HEAD = 12, PART = 8, JSON_PART = 0x4E4F534A, BYTES_PART = 0x004E4942 };
    size_t at = HEAD;
    for (int part = 0; part < 2 && size - at >= PART; part++) {
        size_t length = bits_at(text + at, 4), kind = bits_at(text + at + 4, 4);
        at += PART;
        if (length > size - at || kind != (part ? BYTES_PART : JSON_PART))
            return rp__base_fail(RP_BAD_FILE, "%s: part %d of it is cut short, or no part of glTF", path, part + 1);
        if (part) {
            rest->bytes = text + at;
            rest->size = length;
        } else {
            *json = (const char *)text + at;
            *json_size = length;
        }
        at += length;
    }
    return *json ? RP_OK : rp__base_fail(RP_BAD_FILE, "%s: there is no glTF in it", path);
}

rp_result rp__shape_read_gltf(const char *text, size_t size, rp__faces *f)
{
    const char *json = NULL;
    size_t json_size = 0;
    rp__gltf_buffer rest = { 0 };
    if (size >= 12 && memcmp(text, "glTF", 4) == 0) {
        RP_TRY(take_parts(f->path, (const unsigned char *)text, size, &json, &json_size, &rest));
    } else {
        json = text;
        json_size = size;
    }
    rp__gltf g = { .path = f->path, .bytes = (int64_t)size };
    rp_result result = rp__shape_gltf_tables(json, json_size, &g);
    if (result == RP_OK && g.buffer_count > 0 && !g.buffers[0].uri) {
        g.buffers[0].bytes = rest.bytes;
        g.buffers[0].size = rest.size;
    }
    if (result == RP_OK)
        result = put_scene(f, &g);
    rp__shape_gltf_free(&g);
    return result;
}
