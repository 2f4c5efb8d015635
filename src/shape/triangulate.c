/* The surface of a shape as triangles. The lattice is cut into tetrahedra, six a cell around its main diagonal, and each is
 * crossed by one or two triangles: there are no ambiguous cases, so the result is closed and every edge has two triangles.
 * Vertices lie on the edges of the tetrahedra, placed at the zero of the distance, which need not be linear along them. */
#include "shape/shape_class.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { EDGES = 7, STEPS = 12 };
#define AWAY 1e-6 /* vertices keep off the nodes by this part of an edge: no triangle collapses */

/* The seven edges that start at a node: towards the nodes at these offsets (bits x, y, z). */
typedef struct net {
    const rp_shape *shape;
    rp__vec3 lower;
    double h[3];
    int64_t n[3];       /* nodes a side; the outermost layer counts as outside, which closes the surface */
    double *value;
    int32_t *vertex;    /* EDGES a node: number of the vertex on that edge, or -1 */
    int32_t *count;     /* vertices of a layer of nodes, then where they start */
    rp_mesh mesh;
} net;

static int64_t node_of(const net *s, int64_t i, int64_t j, int64_t k)
{
    return (k * s->n[1] + j) * s->n[0] + i;
}

static rp__vec3 place(const net *s, int64_t i, int64_t j, int64_t k)
{
    return rp__vec3_make(s->lower.x + s->h[0] * (double)i, s->lower.y + s->h[1] * (double)j, s->lower.z + s->h[2] * (double)k);
}

static bool on_border(const net *s, int64_t i, int64_t j, int64_t k)
{
    return i == 0 || j == 0 || k == 0 || i == s->n[0] - 1 || j == s->n[1] - 1 || k == s->n[2] - 1;
}

static void evaluate_rows(void *context, int64_t begin, int64_t end, int worker)
{
    net *s = context;
    (void)worker;
    for (int64_t row = begin; row < end; row++)
        for (int64_t i = 0; i < s->n[0]; i++) {
            int64_t j = row % s->n[1], k = row / s->n[1];
            double d = rp__shape_distance_at(s->shape, place(s, i, j, k), NULL);
            if (on_border(s, i, j, k) && !(d > 0))
                d = INFINITY; /* a cut by the box */
            s->value[row * s->n[0] + i] = isnan(d) ? INFINITY : d;
        }
}

static bool crossed(const net *s, int64_t i, int64_t j, int64_t k, int edge, int64_t *other)
{
    int bits = edge + 1;
    int64_t a = i + (bits & 1), b = j + (bits >> 1 & 1), c = k + (bits >> 2);
    if (a >= s->n[0] || b >= s->n[1] || c >= s->n[2])
        return false;
    *other = node_of(s, a, b, c);
    return (s->value[node_of(s, i, j, k)] < 0) != (s->value[*other] < 0);
}

/* Numbers the vertices of each layer from 0. */
static void count_layers(void *context, int64_t begin, int64_t end, int worker)
{
    net *s = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int32_t count = 0;
        for (int64_t j = 0; j < s->n[1]; j++)
            for (int64_t i = 0; i < s->n[0]; i++)
                for (int e = 0; e < EDGES; e++) {
                    int64_t other;
                    s->vertex[EDGES * node_of(s, i, j, k) + e] = crossed(s, i, j, k, e, &other) ? count++ : -1;
                }
        s->count[k] = count;
    }
}

/* The zero between a node inside and one outside, by false position with the Illinois weight. */
static rp__vec3 zero_between(const net *s, rp__vec3 a, rp__vec3 b, double va, double vb)
{
    rp__vec3 e = rp__vec3_sub(b, a);
    if (isinf(va) || isinf(vb)) /* the cut by the box, in which the inner node lies */
        return rp__vec3_axpy(isinf(vb) ? AWAY : 1 - AWAY, e, a);
    double low = 0, high = 1, t = va / (va - vb);
    for (int n = 0, side = 0; n < STEPS; n++) {
        double d = rp__shape_distance_at(s->shape, rp__vec3_axpy(t, e, a), NULL);
        if ((d < 0) == (va < 0)) {
            low = t, va = d;
            vb *= side == 1 ? 0.5 : 1;
            side = 1;
        } else {
            high = t, vb = d;
            va *= side == 2 ? 0.5 : 1;
            side = 2;
        }
        if (d == 0 || va == vb)
            break;
        t = low + (high - low) * va / (va - vb);
    }
    return rp__vec3_axpy(fmin(fmax(t, AWAY), 1 - AWAY), e, a);
}

static void place_layers(void *context, int64_t begin, int64_t end, int worker)
{
    net *s = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++)
        for (int64_t j = 0; j < s->n[1]; j++)
            for (int64_t i = 0; i < s->n[0]; i++)
                for (int e = 0; e < EDGES; e++) {
                    int64_t at = node_of(s, i, j, k), other;
                    int32_t *v = &s->vertex[EDGES * at + e];
                    if (*v < 0 || !crossed(s, i, j, k, e, &other))
                        continue;
                    *v += s->count[k];
                    int bits = e + 1;
                    rp__vec3 a = place(s, i, j, k), b = place(s, i + (bits & 1), j + (bits >> 1 & 1), k + (bits >> 2));
                    rp__vec3_store(s->mesh.vertices + 3 * (int64_t)*v, zero_between(s, a, b, s->value[at], s->value[other]));
                }
}

/* ---- triangles ---- */

/* The vertex between corners p and q (bits) of the cell at (i, j, k): q has all the bits of p, and more. */
static int32_t between(const net *s, int64_t i, int64_t j, int64_t k, int p, int q)
{
    if (p > q) {
        int swap = p;
        p = q, q = swap;
    }
    int64_t from = node_of(s, i + (p & 1), j + (p >> 1 & 1), k + (p >> 2));
    return s->vertex[EDGES * from + (q & ~p) - 1];
}

static rp_result add_triangle(net *s, int64_t *capacity, int32_t a, int32_t b, int32_t c)
{
    if (!rp__base_grow(&s->mesh.triangles, capacity, 3 * (s->mesh.triangle_count + 1), sizeof(int32_t)))
        return RP_OUT_OF_MEMORY;
    int32_t *t = s->mesh.triangles + 3 * s->mesh.triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
    return RP_OK;
}

/* The part of a tetrahedron with corners c[0..3] of positive orientation: inside nodes first, an even permutation kept. */
static rp_result add_tetrahedron(net *s, int64_t *capacity, int64_t i, int64_t j, int64_t k, const int c[4])
{
    int in[4], out[4], inside = 0, outside = 0;
    for (int n = 0; n < 4; n++) {
        int64_t at = node_of(s, i + (c[n] & 1), j + (c[n] >> 1 & 1), k + (c[n] >> 2));
        if (s->value[at] < 0)
            in[inside++] = n;
        else
            out[outside++] = n;
    }
    if (inside == 0 || outside == 0)
        return RP_OK;
    int order[4], odd = 0;
    for (int n = 0; n < 4; n++)
        order[n] = n < inside ? in[n] : out[n - inside];
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++)
            odd ^= order[a] > order[b];
    int v[4];
    for (int n = 0; n < 4; n++)
        v[n] = c[order[n]];
    if (odd) { /* swap two of a kind, so that the orientation is that of c */
        int a = inside == 1 ? 2 : 0, swap = v[a];
        v[a] = v[a + 1], v[a + 1] = swap;
    }
#define AT(p, q) between(s, i, j, k, v[p], v[q])
    if (inside == 1) /* seen from outside, the three edges from v0 run counter-clockwise */
        return add_triangle(s, capacity, AT(0, 1), AT(0, 2), AT(0, 3));
    if (inside == 3)
        return add_triangle(s, capacity, AT(3, 0), AT(3, 1), AT(3, 2));
    RP_TRY(add_triangle(s, capacity, AT(0, 2), AT(0, 3), AT(1, 3)));
    return add_triangle(s, capacity, AT(0, 2), AT(1, 3), AT(1, 2));
#undef AT
}

static rp_result add_cells(net *s)
{
    /* the six paths from corner 0 to corner 7 along the axes, with positive orientation */
    static const int paths[6][4] = { { 0, 1, 3, 7 }, { 0, 3, 2, 7 }, { 0, 2, 6, 7 }, { 0, 6, 4, 7 }, { 0, 4, 5, 7 }, { 0, 5, 1, 7 } };
    int64_t capacity = 0;
    for (int64_t k = 0; k + 1 < s->n[2]; k++)
        for (int64_t j = 0; j + 1 < s->n[1]; j++)
            for (int64_t i = 0; i + 1 < s->n[0]; i++) {
                int inside = 0;
                for (int n = 0; n < 8; n++)
                    inside += s->value[node_of(s, i + (n & 1), j + (n >> 1 & 1), k + (n >> 2))] < 0;
                if (inside == 0 || inside == 8)
                    continue;
                for (int n = 0; n < 6; n++)
                    RP_TRY(add_tetrahedron(s, &capacity, i, j, k, paths[n]));
            }
    return RP_OK;
}

/* ---- the whole ---- */

static rp_result lay(net *s, const rp_shape *shape, const double lower[3], const double upper[3], int resolution)
{
    double lo[3], hi[3], from[3], widest = 0;
    rp_shape_bounds(shape, lo, hi);
    for (int i = 0; i < 3; i++) {
        lo[i] = lower ? fmax(lo[i], lower[i]) : lo[i];
        hi[i] = upper ? fmin(hi[i], upper[i]) : hi[i];
        if (!isfinite(lo[i]) || !isfinite(hi[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "triangles of a shape (%s): it has no end along %c; give a box", shape->type->name, "xyz"[i]);
        if (!(lo[i] < hi[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "triangles of a shape (%s): nothing of it is in the box along %c", shape->type->name,
                                 "xyz"[i]);
        widest = fmax(widest, hi[i] - lo[i]);
    }
    double h = widest / resolution;
    for (int i = 0; i < 3; i++) {
        /* one cell of margin on both sides: the second layer of nodes lies in the sides of the box */
        int64_t cells = (int64_t)ceil((hi[i] - lo[i]) / h - 1e-9);
        cells = cells < 2 ? 2 : cells;
        s->h[i] = (hi[i] - lo[i]) / (double)cells;
        s->n[i] = cells + 3;
        from[i] = lo[i] - s->h[i];
    }
    s->shape = shape;
    s->lower = rp__vec3_load(from);
    return RP_OK;
}

static rp_result extract(net *s)
{
    int64_t nodes = s->n[0] * s->n[1] * s->n[2];
    s->value = RP_NEW_ARRAY(double, nodes);
    s->vertex = RP_NEW_ARRAY(int32_t, EDGES * nodes);
    s->count = RP_NEW_ARRAY(int32_t, s->n[2]);
    if (!s->value || !s->vertex || !s->count)
        return RP_OUT_OF_MEMORY;
    rp__exec_for(s->n[1] * s->n[2], 8, evaluate_rows, s);
    rp__exec_for(s->n[2], 1, count_layers, s);
    int64_t total = 0;
    for (int64_t k = 0; k < s->n[2]; k++) {
        int64_t here = s->count[k];
        s->count[k] = (int32_t)total;
        total += here;
        if (total > INT32_MAX)
            return rp__base_fail(RP_TOO_LARGE, "triangles of a shape: more than 2 billion vertices; use a lower resolution");
    }
    s->mesh.vertices = RP_NEW_ARRAY(double, 3 * (total > 0 ? total : 1));
    if (!s->mesh.vertices)
        return RP_OUT_OF_MEMORY;
    s->mesh.vertex_count = total;
    rp__exec_for(s->n[2], 1, place_layers, s);
    return add_cells(s);
}

rp_result rp_shape_triangulate(const rp_shape *shape, const double lower[3], const double upper[3], int resolution, rp_mesh *out)
{
    RP_TRY(rp__shape_check_child("triangles of a shape", shape));
    if (resolution < 2 || resolution > 1024)
        return rp__base_fail(RP_BAD_ARGUMENT, "triangles of a shape: resolution %d; it must be from 2 to 1024", resolution);
    net s = { 0 };
    RP_TRY(lay(&s, shape, lower, upper, resolution));
    rp_result result = extract(&s);
    rp__base_free(s.value);
    rp__base_free(s.vertex);
    rp__base_free(s.count);
    if (result != RP_OK) {
        rp_mesh_free(&s.mesh);
        return result;
    }
    *out = s.mesh;
    return RP_OK;
}
