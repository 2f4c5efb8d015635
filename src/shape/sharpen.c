/* Edges and corners of a shape in its triangles. Triangles of a lattice cut an edge off, a little differently in each cell; here vertices
 * beside an edge are moved onto it: to the nearest point that lies in the tangent planes of all sides (one of two planes is a line, of
 * three a point), as feature-sensitive contouring places its vertices [kobbelt2001]. Triangles between them collapse to nothing. */
#include "shape/shape_class.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>

enum { SIDES = 3 };
#define SHARP 0.87        /* cosine of 30 degrees: sides that meet at less are one */
#define OFF_SURFACE 0.02  /* of an edge of a triangle: a place farther than this from the surface is no edge of the shape, but a curve */

typedef struct sharpening {
    const rp_shape *shape;
    rp_mesh *mesh;
    rp__vec3 *point, *normal;     /* a tangent plane a triangle */
    double *length;               /* longest side of a triangle */
    int32_t *first, *around;      /* triangles around vertex v: around[first[v]] … around[first[v + 1] - 1] */
    double *moved;                /* 3 a vertex */
} sharpening;

static void find_planes(void *context, int64_t begin, int64_t end, int worker)
{
    sharpening *s = context;
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        rp__vec3 c[3], middle = rp__vec3_make(0, 0, 0), g;
        for (int k = 0; k < 3; k++) {
            c[k] = rp__vec3_load(s->mesh->vertices + 3 * (int64_t)s->mesh->triangles[3 * t + k]);
            middle = rp__vec3_axpy(1.0 / 3, c[k], middle);
        }
        s->length[t] = fmax(rp__vec3_norm(rp__vec3_sub(c[1], c[0])), fmax(rp__vec3_norm(rp__vec3_sub(c[2], c[1])), rp__vec3_norm(rp__vec3_sub(c[0], c[2]))));
        double d = rp__shape_distance_at(s->shape, middle, &g);
        double size = rp__vec3_norm(g);
        s->normal[t] = size > 0.5 && isfinite(d) ? rp__vec3_scale(1 / size, g) : rp__vec3_make(0, 0, 0);
        s->point[t] = rp__vec3_axpy(isfinite(d) ? -d : 0, s->normal[t], middle);
    }
}

/* Solves A y = b of up to three equations by elimination with pivots; false when it is singular. */
static bool solve(int n, double a[SIDES][SIDES + 1], double y[SIDES])
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int r = c + 1; r < n; r++)
            best = fabs(a[r][c]) > fabs(a[best][c]) ? r : best;
        if (!(fabs(a[best][c]) > 1e-3))
            return false;
        for (int k = 0; k <= n; k++) {
            double swap = a[c][k];
            a[c][k] = a[best][k], a[best][k] = swap;
        }
        for (int r = c + 1; r < n; r++) {
            double f = a[r][c] / a[c][c];
            for (int k = c; k <= n; k++)
                a[r][k] -= f * a[c][k];
        }
    }
    for (int c = n - 1; c >= 0; c--) {
        y[c] = a[c][n];
        for (int k = c + 1; k < n; k++)
            y[c] -= a[c][k] * y[k];
        y[c] /= a[c][c];
    }
    return true;
}

/* Sides around a vertex: the mean normal of each, and how far the vertex is from its mean plane. Returns how many; 0: more than three. */
static int find_sides(const sharpening *s, int64_t v, rp__vec3 x, rp__vec3 normal[SIDES], double away[SIDES])
{
    int count = 0, members[SIDES] = { 0 };
    for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
        int32_t t = s->around[k];
        rp__vec3 n = s->normal[t];
        int side = 0;
        if (rp__vec3_dot(n, n) < 0.5)
            return 0;
        while (side < count && rp__vec3_dot(n, normal[side]) < SHARP * rp__vec3_norm(normal[side]))
            side++;
        if (side == SIDES)
            return 0;
        if (side == count) {
            normal[count] = rp__vec3_make(0, 0, 0), away[count] = 0;
            count++;
        }
        normal[side] = rp__vec3_axpy(1, n, normal[side]);
        away[side] += rp__vec3_dot(n, rp__vec3_sub(s->point[t], x));
        members[side]++;
    }
    for (int side = 0; side < count; side++) {
        normal[side] = rp__vec3_scale(1 / rp__vec3_norm(normal[side]), normal[side]);
        away[side] /= members[side];
    }
    return count;
}

/* The least move x -> x + sum of y_i n_i with n_j · move = away_j. */
static void move_vertices(void *context, int64_t begin, int64_t end, int worker)
{
    sharpening *s = context;
    (void)worker;
    for (int64_t v = begin; v < end; v++) {
        rp__vec3 x = rp__vec3_load(s->mesh->vertices + 3 * v), normal[SIDES], to = x;
        double away[SIDES], a[SIDES][SIDES + 1], y[SIDES], longest = 0;
        int n = find_sides(s, v, x, normal, away);
        rp__vec3_store(s->moved + 3 * v, x);
        for (int32_t k = s->first[v]; k < s->first[v + 1]; k++)
            longest = fmax(longest, s->length[s->around[k]]);
        for (int r = 0; r < n; r++) {
            for (int c = 0; c < n; c++)
                a[r][c] = rp__vec3_dot(normal[r], normal[c]);
            a[r][n] = away[r];
        }
        if (n < 2 || !solve(n, a, y))
            continue;
        for (int k = 0; k < n; k++)
            to = rp__vec3_axpy(y[k], normal[k], to);
        if (rp__vec3_norm(rp__vec3_sub(to, x)) <= 1.5 * longest && fabs(rp__shape_distance_at(s->shape, to, NULL)) <= OFF_SURFACE * longest)
            rp__vec3_store(s->moved + 3 * v, to);
    }
}

static rp_result gather(sharpening *s)
{
    const rp_mesh *m = s->mesh;
    s->point = RP_NEW_ARRAY(rp__vec3, m->triangle_count);
    s->normal = RP_NEW_ARRAY(rp__vec3, m->triangle_count);
    s->length = RP_NEW_ARRAY(double, m->triangle_count);
    s->first = rp__base_alloc_zero(sizeof *s->first * (size_t)(m->vertex_count + 2));
    s->around = RP_NEW_ARRAY(int32_t, 3 * m->triangle_count);
    s->moved = RP_NEW_ARRAY(double, 3 * m->vertex_count);
    if (!s->point || !s->normal || !s->length || !s->first || !s->around || !s->moved)
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < 3 * m->triangle_count; k++)
        s->first[m->triangles[k] + 2]++;
    for (int64_t v = 0; v <= m->vertex_count; v++)
        s->first[v + 1] += s->first[v];
    for (int64_t k = 0; k < 3 * m->triangle_count; k++)
        s->around[s->first[m->triangles[k] + 1]++] = (int32_t)(k / 3);
    return RP_OK;
}

rp_result rp_mesh_sharpen(const rp_shape *shape, rp_mesh *mesh)
{
    RP_TRY(rp__shape_check_child("edges of a mesh", shape));
    if (mesh->triangle_count == 0 || mesh->triangle_count > INT32_MAX / 3)
        return RP_OK;
    sharpening s = { .shape = shape, .mesh = mesh };
    rp_result result = gather(&s);
    if (result == RP_OK) {
        rp__exec_for(mesh->triangle_count, 512, find_planes, &s);
        rp__exec_for(mesh->vertex_count, 512, move_vertices, &s);
        rp__base_free(mesh->vertices);
        mesh->vertices = s.moved;
        s.moved = NULL;
    }
    void *all[] = { s.point, s.normal, s.length, s.first, s.around, s.moved };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
    return result;
}
