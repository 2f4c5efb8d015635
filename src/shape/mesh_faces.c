#include "shape/mesh_faces.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { MOST_CORNERS = 256 }; /* of a face whose ears are sought, which takes time as their square; a larger one becomes a fan */
#define MOST_TRIANGLES ((int64_t)1 << 27)

rp_result rp__shape_faces_vertex(rp__faces *f, const double x[3])
{
    if (!rp__base_grow(&f->vertices, &f->vertex_room, f->vertex_count + 1, 3 * sizeof *f->vertices))
        return RP_OUT_OF_MEMORY;
    memcpy(f->vertices + 3 * f->vertex_count++, x, 3 * sizeof *x);
    return RP_OK;
}

rp_result rp__shape_faces_corner(rp__faces *f, int64_t vertex)
{
    if (!rp__base_grow(&f->corners, &f->corner_room, f->corner_count + 1, sizeof *f->corners))
        return RP_OUT_OF_MEMORY;
    f->corners[f->corner_count++] = vertex;
    return RP_OK;
}

rp_result rp__shape_faces_close(rp__faces *f)
{
    int64_t begin = f->face_count ? f->ends[f->face_count - 1] : 0;
    if (f->corner_count - begin < 3) {
        f->corner_count = begin;
        return RP_OK;
    }
    if (!rp__base_grow(&f->ends, &f->face_room, f->face_count + 1, sizeof *f->ends))
        return RP_OUT_OF_MEMORY;
    f->ends[f->face_count++] = f->corner_count;
    return RP_OK;
}

void rp__shape_faces_free(rp__faces *f)
{
    rp__base_free(f->vertices);
    rp__base_free(f->corners);
    rp__base_free(f->ends);
    *f = (rp__faces){ .path = f->path };
}

/* ---- ears ---- */

static void direction(const double *a, const double *b, double d[3])
{
    for (int i = 0; i < 3; i++)
        d[i] = b[i] - a[i];
}

/* (b - a) × (c - a) · n: the side of the edge ab on which c lies, seen against n. */
static double side(const double *a, const double *b, const double *c, const double n[3])
{
    double u[3], v[3];
    direction(a, b, u);
    direction(a, c, v);
    return (u[1] * v[2] - u[2] * v[1]) * n[0] + (u[2] * v[0] - u[0] * v[2]) * n[1] + (u[0] * v[1] - u[1] * v[0]) * n[2];
}

typedef struct ring {
    const double *x;
    int32_t corner[MOST_CORNERS];
    int count;
} ring;

static const double *place(const ring *r, int i)
{
    return r->x + 3 * (int64_t)r->corner[i % r->count];
}

/* The corner `i` can be cut off: it bulges outwards, and no other corner lies in its triangle. */
static bool is_ear(const ring *r, int i, const double n[3])
{
    const double *a = place(r, i + r->count - 1), *b = place(r, i), *c = place(r, i + 1);
    if (!(side(a, b, c, n) > 0))
        return false;
    for (int k = 0; k + 3 < r->count; k++) {
        const double *p = place(r, i + 2 + k);
        if (side(a, b, p, n) > 0 && side(b, c, p, n) > 0 && side(c, a, p, n) > 0)
            return false;
    }
    return true;
}

static void put_triangle(rp_mesh *mesh, int32_t a, int32_t b, int32_t c)
{
    int32_t *t = mesh->triangles + 3 * mesh->triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
}

/* Cuts ears off a face; where there is none (it crosses itself) the next corner goes. */
static void cut_ears(rp_mesh *mesh, ring *r)
{
    double n[3] = { 0, 0, 0 }; /* Newell's normal */
    for (int k = 1; k + 1 < r->count; k++) {
        double u[3], v[3];
        direction(place(r, 0), place(r, k), u);
        direction(place(r, 0), place(r, k + 1), v);
        n[0] += u[1] * v[2] - u[2] * v[1], n[1] += u[2] * v[0] - u[0] * v[2], n[2] += u[0] * v[1] - u[1] * v[0];
    }
    while (r->count > 3) {
        int ear = 1;
        for (int k = 0; k < r->count; k++)
            if (is_ear(r, (k + 1) % r->count, n)) {
                ear = (k + 1) % r->count;
                break;
            }
        put_triangle(mesh, r->corner[(ear + r->count - 1) % r->count], r->corner[ear], r->corner[(ear + 1) % r->count]);
        r->count--;
        memmove(r->corner + ear, r->corner + ear + 1, (size_t)(r->count - ear) * sizeof *r->corner);
    }
    put_triangle(mesh, r->corner[0], r->corner[1], r->corner[2]);
}

/* ---- triangles ---- */

/* number[v]: of the vertex v in the mesh, in the order of the file, -1 for one that no face uses. Gives how many are used. */
static int64_t number_vertices(const rp__faces *f, int32_t *number)
{
    memset(number, 0, (size_t)f->vertex_count * sizeof *number);
    for (int64_t k = 0; k < f->corner_count; k++)
        number[f->corners[k]] = 1;
    int64_t used = 0;
    for (int64_t v = 0; v < f->vertex_count; v++)
        number[v] = number[v] ? (int32_t)used++ : -1;
    return used;
}

static void put_faces(const rp__faces *f, const int32_t *number, rp_mesh *mesh, ring *r)
{
    r->x = mesh->vertices;
    for (int64_t face = 0, begin = 0; face < f->face_count; begin = f->ends[face++]) {
        int64_t count = f->ends[face] - begin;
        const int64_t *corners = f->corners + begin;
        if (count > MOST_CORNERS) {
            for (int64_t k = 1; k + 1 < count; k++)
                put_triangle(mesh, number[corners[0]], number[corners[k]], number[corners[k + 1]]);
            continue;
        }
        for (int64_t k = 0; k < count; k++)
            r->corner[k] = number[corners[k]];
        r->count = (int)count;
        cut_ears(mesh, r);
    }
}

static rp_result check_faces(const rp__faces *f)
{
    for (int64_t k = 0; k < f->corner_count; k++)
        if (f->corners[k] < 0 || f->corners[k] >= f->vertex_count)
            return rp__base_fail(RP_BAD_FILE, "%s: a face uses vertex %lld, counted from 0, of %lld", f->path, (long long)f->corners[k],
                                 (long long)f->vertex_count);
    int64_t triangles = f->corner_count - 2 * f->face_count;
    if (triangles == 0)
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh is empty: it has no triangles", f->path);
    if (triangles > MOST_TRIANGLES || f->vertex_count > 3 * MOST_TRIANGLES)
        return rp__base_fail(RP_TOO_LARGE, "%s: the mesh has %lld triangles; at most %lld are allowed", f->path, (long long)triangles,
                             (long long)MOST_TRIANGLES);
    return RP_OK;
}

rp_result rp__shape_faces_triangles(const rp__faces *f, double scale, rp_mesh *mesh)
{
    *mesh = (rp_mesh){ NULL, NULL, 0, 0 };
    RP_TRY(check_faces(f));
    int32_t *number = RP_NEW_ARRAY(int32_t, f->vertex_count);
    int64_t used = number ? number_vertices(f, number) : 0;
    ring *r = RP_NEW(ring);
    mesh->vertices = RP_NEW_ARRAY(double, 3 * used);
    mesh->triangles = RP_NEW_ARRAY(int32_t, 3 * (f->corner_count - 2 * f->face_count));
    rp_result result = number && r && mesh->vertices && mesh->triangles ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        for (int64_t v = 0; v < f->vertex_count; v++)
            for (int i = 0; i < 3 && number[v] >= 0; i++)
                mesh->vertices[3 * (int64_t)number[v] + i] = scale * f->vertices[3 * v + i];
        mesh->vertex_count = used;
        put_faces(f, number, mesh, r);
    } else {
        rp_mesh_free(mesh);
    }
    rp__base_free(number);
    rp__base_free(r);
    return result;
}
