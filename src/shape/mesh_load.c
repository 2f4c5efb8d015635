/* Meshes from files, through assimp, and vertices welded by their place. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NODES = 100000 };
#define MOST_TRIANGLES ((int64_t)1 << 27)

static void ending(const char *path, char end[8])
{
    const char *dot = strrchr(path, '.');
    memset(end, 0, 8);
    for (int i = 0; dot && dot[i + 1] && i < 7; i++)
        end[i] = (char)tolower((unsigned char)dot[i + 1]);
}

static bool known_format(const char *path)
{
    static const char *const known[] = { "obj", "stl", "ply", "gltf", "glb" };
    char end[8];
    ending(path, end);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(end, known[i]) == 0)
            return true;
    return false;
}

/* ---- headers of PLY files ---- */

/* assimp believes the header of a PLY file: it makes room for any number of elements, though each takes at least a byte, looks for the end of
 * a header that has none for ever, and loses its way in memory where lines are none of the format or elements occur twice. */
typedef struct ply_header {
    double claimed; /* elements, of the most numerous */
    int elements;
    char names[8][32];
    bool coordinates[3]; /* of the vertices */
    bool ended;
} ply_header;

static bool is_ply_type(const char *word)
{
    static const char *const known[] = { "char", "uchar", "short", "ushort", "int", "uint", "float", "double",
                                         "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return false;
}

static bool read_ply_element(ply_header *header, const char *line)
{
    char name[32];
    double count;
    if (sscanf(line, "element %31s %lf", name, &count) != 2 || !(count >= 0) || header->elements == 8)
        return false;
    for (int i = 0; i < header->elements; i++)
        if (strcmp(name, header->names[i]) == 0)
            return false;
    strcpy(header->names[header->elements++], name);
    header->claimed = fmax(header->claimed, count);
    return true;
}

static bool read_ply_property(ply_header *header, const char *line)
{
    char first[32] = "", second[32] = "", third[32] = "", fourth[32] = "";
    int words = sscanf(line, "property %31s %31s %31s %31s", first, second, third, fourth);
    if (strcmp(first, "list") == 0)
        return header->elements > 0 && words == 4 && is_ply_type(second) && is_ply_type(third);
    if (header->elements > 0 && strcmp(header->names[header->elements - 1], "vertex") == 0 && second[1] == '\0' && second[0] >= 'x' && second[0] <= 'z')
        header->coordinates[second[0] - 'x'] = true;
    return header->elements > 0 && words == 2 && is_ply_type(first);
}

/* A line of the header; false when it is none. */
static bool read_ply_line(ply_header *header, const char *line, int number)
{
    size_t length = strcspn(line, " \t");
    if (number == 0)
        return strcmp(line, "ply") == 0;
    if (length == 7 && strncmp(line, "element", 7) == 0)
        return read_ply_element(header, line);
    if (length == 8 && strncmp(line, "property", 8) == 0)
        return read_ply_property(header, line);
    header->ended = strcmp(line, "end_header") == 0;
    return header->ended || (length == 6 && strncmp(line, "format", 6) == 0) || (length == 7 && strncmp(line, "comment", 7) == 0) ||
           (length == 8 && strncmp(line, "obj_info", 8) == 0);
}

static rp_result check_ply(const char *path)
{
    enum { HEADER = 65536 };
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return rp__base_fail(RP_IO_ERROR, "%s: the mesh cannot be opened: %s", path, strerror(errno));
    char *text = rp__base_alloc_zero(HEADER + 1);
    size_t got = text ? fread(text, 1, HEADER, stream) : 0;
    double bytes = fseeko(stream, 0, SEEK_END) == 0 ? (double)ftello(stream) : (double)got;
    fclose(stream);
    if (!text)
        return RP_OUT_OF_MEMORY;
    ply_header header = { 0 };
    rp_result result = RP_OK;
    int number = 0;
    for (char *line = text, *next; *line && !header.ended && result == RP_OK; line = next, number++) {
        size_t length = strcspn(line, "\n\r");
        next = line + length + strspn(line + length, "\n\r");
        while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
            length--;
        line[length] = '\0';
        if (!read_ply_line(&header, line, number))
            result = rp__base_fail(RP_BAD_FILE, "%s: line %d of its header, '%.60s', is none of a PLY file, or comes twice", path, number + 1, line);
    }
    rp__base_free(text);
    RP_TRY(result);
    if (!header.ended)
        return rp__base_fail(RP_BAD_FILE, "%s: the header of a PLY file ends with a line 'end_header', this one does not", path);
    if (header.claimed > bytes)
        return rp__base_fail(RP_BAD_FILE, "%s: its header speaks of %.0f elements, but the file has only %.0f bytes", path, header.claimed, bytes);
    if (!header.coordinates[0] || !header.coordinates[1] || !header.coordinates[2])
        return rp__base_fail(RP_BAD_FILE, "%s: its vertices have no x, y and z", path);
    return RP_OK;
}

/* ---- the nodes of the scene ---- */

typedef struct matrix {
    double m[3][4];
} matrix;

static matrix compose(const matrix *a, const struct aiMatrix4x4 *b)
{
    double n[3][4] = { { b->a1, b->a2, b->a3, b->a4 }, { b->b1, b->b2, b->b3, b->b4 }, { b->c1, b->c2, b->c3, b->c4 } };
    matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            c.m[i][j] = a->m[i][0] * n[0][j] + a->m[i][1] * n[1][j] + a->m[i][2] * n[2][j] + (j == 3 ? a->m[i][3] : 0);
    return c;
}

typedef struct gathering {
    const struct aiScene *scene;
    double scale;
    rp_mesh *mesh;   /* NULL arrays while counting */
    int64_t vertices, triangles;
    unsigned most_corners; /* of a face */
    unsigned *ring;        /* room for that many */
    int nodes;
    bool bad_index;
} gathering;

/* ---- faces with more than three corners ---- */

/* assimp can do this too, but ends the program on faces that it does not expect. */

static void direction(const struct aiVector3D *a, const struct aiVector3D *b, double d[3])
{
    d[0] = (double)b->x - (double)a->x, d[1] = (double)b->y - (double)a->y, d[2] = (double)b->z - (double)a->z;
}

/* (b - a) × (c - a) · n: the side of the edge ab on which c lies, seen against n. */
static double side(const struct aiVector3D *a, const struct aiVector3D *b, const struct aiVector3D *c, const double n[3])
{
    double u[3], v[3];
    direction(a, b, u);
    direction(a, c, v);
    return (u[1] * v[2] - u[2] * v[1]) * n[0] + (u[2] * v[0] - u[0] * v[2]) * n[1] + (u[0] * v[1] - u[1] * v[0]) * n[2];
}

/* The corner `i` of the ring can be cut off: it bulges outwards, and no other corner lies in its triangle. */
static bool is_ear(const struct aiVector3D *x, const unsigned *ring, unsigned count, unsigned i, const double n[3])
{
    const struct aiVector3D *a = x + ring[(i + count - 1) % count], *b = x + ring[i], *c = x + ring[(i + 1) % count];
    if (!(side(a, b, c, n) > 0))
        return false;
    for (unsigned k = 0; k + 3 < count; k++) {
        const struct aiVector3D *p = x + ring[(i + 2 + k) % count];
        if (side(a, b, p, n) > 0 && side(b, c, p, n) > 0 && side(c, a, p, n) > 0)
            return false;
    }
    return true;
}

static void put_triangle(gathering *g, int64_t first, unsigned a, unsigned b, unsigned c, bool mirrored)
{
    int32_t *t = g->mesh->triangles + 3 * g->triangles++;
    t[0] = (int32_t)(first + (mirrored ? c : a)), t[1] = (int32_t)(first + b), t[2] = (int32_t)(first + (mirrored ? a : c));
}

/* Cuts ears off a face; what has none (it crosses itself) and what has very many corners becomes a fan. */
static void put_face(gathering *g, const struct aiMesh *from, const struct aiFace *face, int64_t first, bool mirrored)
{
    const struct aiVector3D *x = from->mVertices;
    unsigned *ring = g->ring, count = face->mNumIndices;
    memcpy(ring, face->mIndices, count * sizeof *ring);
    double n[3] = { 0, 0, 0 }; /* Newell's normal */
    for (unsigned k = 1; k + 1 < count; k++) {
        double u[3], v[3];
        direction(x + ring[0], x + ring[k], u);
        direction(x + ring[0], x + ring[k + 1], v);
        n[0] += u[1] * v[2] - u[2] * v[1], n[1] += u[2] * v[0] - u[0] * v[2], n[2] += u[0] * v[1] - u[1] * v[0];
    }
    while (count > 3) {
        unsigned ear = 1;
        for (unsigned k = 0; k < count && face->mNumIndices <= 256; k++)
            if (is_ear(x, ring, count, (k + 1) % count, n)) {
                ear = (k + 1) % count;
                break;
            }
        put_triangle(g, first, ring[(ear + count - 1) % count], ring[ear], ring[(ear + 1) % count], mirrored);
        count--;
        memmove(ring + ear, ring + ear + 1, (count - ear) * sizeof *ring);
    }
    put_triangle(g, first, ring[0], ring[1], ring[2], mirrored);
}

static void gather_mesh(gathering *g, const struct aiMesh *from, const matrix *at)
{
    int64_t first = g->vertices;
    bool mirrored = at->m[0][0] * (at->m[1][1] * at->m[2][2] - at->m[1][2] * at->m[2][1]) -
                        at->m[0][1] * (at->m[1][0] * at->m[2][2] - at->m[1][2] * at->m[2][0]) +
                        at->m[0][2] * (at->m[1][0] * at->m[2][1] - at->m[1][1] * at->m[2][0]) < 0;
    for (unsigned f = 0; f < from->mNumFaces; f++) {
        const struct aiFace *face = &from->mFaces[f];
        if (face->mNumIndices < 3) /* points and lines */
            continue;
        for (unsigned k = 0; k < face->mNumIndices; k++)
            g->bad_index = g->bad_index || face->mIndices[k] >= from->mNumVertices;
        g->most_corners = face->mNumIndices > g->most_corners ? face->mNumIndices : g->most_corners;
        if (g->mesh->triangles)
            put_face(g, from, face, first, mirrored);
        else
            g->triangles += face->mNumIndices - 2;
    }
    if (g->mesh->vertices)
        for (unsigned v = 0; v < from->mNumVertices; v++) {
            double p[3] = { from->mVertices[v].x, from->mVertices[v].y, from->mVertices[v].z };
            for (int i = 0; i < 3; i++)
                g->mesh->vertices[3 * (first + v) + i] =
                    g->scale * (at->m[i][0] * p[0] + at->m[i][1] * p[1] + at->m[i][2] * p[2] + at->m[i][3]);
        }
    g->vertices += from->mNumVertices;
}

static void gather_node(gathering *g, const struct aiNode *node, const matrix *parent, int depth)
{
    if (depth > 200 || ++g->nodes > MOST_NODES)
        return;
    matrix at = compose(parent, &node->mTransformation);
    for (unsigned i = 0; i < node->mNumMeshes; i++)
        gather_mesh(g, g->scene->mMeshes[node->mMeshes[i]], &at);
    for (unsigned i = 0; i < node->mNumChildren; i++)
        gather_node(g, node->mChildren[i], &at, depth + 1);
}

static rp_result gather(const char *path, const struct aiScene *scene, double scale, rp_mesh *mesh)
{
    static const matrix identity = { { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } } };
    *mesh = (rp_mesh){ NULL, NULL, 0, 0 };
    gathering g = { .scene = scene, .scale = scale, .mesh = mesh };
    if (scene->mRootNode)
        gather_node(&g, scene->mRootNode, &identity, 0);
    if (g.triangles == 0)
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh is empty: it has no triangles", path);
    if (g.bad_index)
        return rp__base_fail(RP_BAD_FILE, "%s: a triangle uses a vertex that is not there", path);
    if (g.triangles > MOST_TRIANGLES || g.vertices > 3 * MOST_TRIANGLES)
        return rp__base_fail(RP_TOO_LARGE, "%s: the mesh has %lld triangles; at most %lld are allowed", path, (long long)g.triangles,
                             (long long)MOST_TRIANGLES);
    mesh->vertices = RP_NEW_ARRAY(double, 3 * g.vertices);
    mesh->triangles = RP_NEW_ARRAY(int32_t, 3 * g.triangles);
    g.ring = RP_NEW_ARRAY(unsigned, g.most_corners);
    if (!mesh->vertices || !mesh->triangles || !g.ring) {
        rp__base_free(g.ring);
        rp_mesh_free(mesh);
        return RP_OUT_OF_MEMORY;
    }
    mesh->vertex_count = g.vertices, mesh->triangle_count = g.triangles;
    g.vertices = g.triangles = 0, g.nodes = 0;
    gather_node(&g, scene->mRootNode, &identity, 0);
    rp__base_free(g.ring);
    return RP_OK;
}

rp_result rp__shape_mesh_read(const char *path, double scale, rp_mesh *mesh)
{
    if (!path)
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh: there is no path (NULL)");
    RP_TRY(rp__shape_check_positive("mesh", "scale", scale));
    if (!rp__file_exists(path))
        return rp__base_fail(RP_NOT_FOUND, "%s: there is no such mesh file", path);
    RP_TRY(rp__file_check_regular(path));
    if (!known_format(path))
        return rp__base_fail(RP_UNSUPPORTED, "%s: not a known mesh format; use .obj, .stl, .ply, .gltf or .glb", path);
    char end[8];
    ending(path, end);
    if (strcmp(end, "ply") == 0)
        RP_TRY(check_ply(path));
    const struct aiScene *scene = aiImportFile(path, 0);
    if (!scene) {
        const char *why = aiGetErrorString();
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh cannot be read: %s", path, why && *why ? why : "no reason given");
    }
    rp_result result = gather(path, scene, scale, mesh);
    aiReleaseImport(scene);
    if (result == RP_OK) {
        result = rp__shape_mesh_validate(path, mesh);
        if (result != RP_OK)
            rp_mesh_free(mesh);
    }
    return result;
}
