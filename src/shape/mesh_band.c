/* The narrow band of a mesh: signed distances at the nodes of a sparse lattice. A node at x with distance d tells for any
 * point p that |d(p)| <= |d| + |p - x|, which cuts the search for the nearest triangle short, and that the sign at p is that
 * at x when |p - x| < |d|, since no surface lies between. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fine cells along the longest side: about as many as the mesh has triangles across. */
enum { LEAST_ACROSS = 32, MOST_ACROSS = 96, SIDE = RP_BAND_BLOCK + 1 };

void rp__shape_band_free(rp__band *band)
{
    rp__base_free(band->coarse);
    rp__base_free(band->blocks);
    rp__base_free(band->fine);
    memset(band, 0, sizeof *band);
}

double rp__shape_mesh_band_size(const rp_mesh *mesh)
{
    double longest = 0;
    for (int i = 0; i < 3; i++) {
        double lower = INFINITY, upper = -INFINITY;
        for (int64_t v = 0; v < mesh->vertex_count; v++) {
            lower = fmin(lower, mesh->vertices[3 * v + i]);
            upper = fmax(upper, mesh->vertices[3 * v + i]);
        }
        longest = fmax(longest, upper - lower);
    }
    return longest / fmin(fmax(round(sqrt((double)mesh->triangle_count)), LEAST_ACROSS), MOST_ACROSS);
}

/* ---- building ---- */

typedef struct building {
    const rp__mesh_shape *s;
    rp__band *band;
    int32_t *cells; /* of the blocks, in order */
    unsigned char *doubts; /* a block or row: signs by normal and winding differ somewhere */
} building;

/* The float at or below x in size, so that a bound stays one. */
static float rounded(double x)
{
    float f = (float)x;
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0) : f;
}

/* The signed distance at p. *near is a triangle that is near (or -1), then the nearest one; `known` is the sign when it is
 * known, else 0. */
static double node_distance(const building *b, rp__vec3 p, int32_t *near, double known, unsigned char *doubt)
{
    const rp__mesh_shape *s = b->s;
    rp__nearest n = { .squared = INFINITY };
    if (*near >= 0) {
        rp__vec3 c[3];
        for (int k = 0; k < 3; k++)
            c[k] = rp__vec3_load(s->mesh.vertices + 3 * (int64_t)s->mesh.triangles[3 * (int64_t)*near + k]);
        rp__shape_triangle_nearest(c[0], c[1], c[2], p, &n);
        n.squared += 1e-9 * (n.squared + b->band->h * b->band->h); /* so that the search finds it again, if nothing nearer */
    }
    rp__shape_bvh_nearest(&s->bvh, p, &n);
    *near = n.triangle;
    double d = sqrt(n.squared), sign = known;
    if (sign == 0) {
        sign = fabs(rp__shape_bvh_winding(&s->bvh, p)) > 0.5 ? -1 : 1;
        if (!s->clean || (n.triangle >= 0 && d > 1e-9 * b->band->h && rp__shape_mesh_normal_sign(s, p, &n) != sign))
            *doubt = 1;
    }
    return sign * d;
}

static rp__vec3 coarse_node(const rp__band *band, int64_t i, int64_t j, int64_t k)
{
    double step = band->h * RP_BAND_BLOCK;
    return rp__vec3_make(band->origin.x + step * (double)i, band->origin.y + step * (double)j, band->origin.z + step * (double)k);
}

/* A row of coarse nodes along x, each helped by the one before. */
static void coarse_rows(void *context, int64_t begin, int64_t end, int worker)
{
    const building *b = context;
    const rp__band *band = b->band;
    int64_t nx = band->cells[0] + 1, ny = band->cells[1] + 1;
    double step = band->h * RP_BAND_BLOCK;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        double before = 0;
        int32_t near = -1;
        for (int64_t i = 0; i < nx; i++) {
            rp__vec3 p = coarse_node(band, i, row % ny, row / ny);
            double known = i && fabs(before) > step ? (before < 0 ? -1 : 1) : 0;
            before = node_distance(b, p, &near, known, &b->doubts[row]);
            band->coarse[row * nx + i] = rounded(before);
        }
    }
}

static void fine_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const building *b = context;
    const rp__band *band = b->band;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t cell = b->cells[n], i0 = cell % band->cells[0], j0 = cell / band->cells[0] % band->cells[1];
        int64_t k0 = cell / band->cells[0] / band->cells[1];
        rp__vec3 corner = coarse_node(band, i0, j0, k0);
        float *value = band->fine + n * RP_BAND_NODES;
        double before = 0, row_start = 0;
        int32_t near = -1, row_near = -1;
        for (int m = 0; m < RP_BAND_NODES; m++) {
            int i = m % SIDE, j = m / SIDE % SIDE, k = m / SIDE / SIDE;
            rp__vec3 p = { corner.x + band->h * i, corner.y + band->h * j, corner.z + band->h * k };
            /* helped by the node before in the row, or the start of the row before */
            double help = i ? before : row_start, step = band->h * (i == 0 && j == 0 ? hypot(1, SIDE - 1) : 1);
            double known = m && fabs(help) > step ? (help < 0 ? -1 : 1) : 0;
            near = i ? near : row_near;
            before = node_distance(b, p, &near, known, &b->doubts[n]);
            if (i == 0)
                row_start = before, row_near = near;
            value[m] = rounded(before);
        }
    }
}

/* Coarse cells whose centre may be nearer than half a diagonal and two fine cells to the surface. */
static int64_t choose_blocks(const building *b, int32_t *cells)
{
    const rp__band *band = b->band;
    double step = band->h * RP_BAND_BLOCK, reach = 0.5 * sqrt(3) * step;
    int64_t count = 0, nx = band->cells[0] + 1, ny = band->cells[1] + 1;
    for (int64_t k = 0; k < band->cells[2]; k++)
        for (int64_t j = 0; j < band->cells[1]; j++)
            for (int64_t i = 0; i < band->cells[0]; i++) {
                int64_t cell = (k * band->cells[1] + j) * band->cells[0] + i;
                band->blocks[cell] = -1;
                /* a surface within 2h of the cell is within a diagonal and 2h of each corner */
                double far = 0;
                for (int n = 0; n < 8; n++)
                    far = fmax(far, fabs((double)band->coarse[((k + (n >> 2)) * ny + j + (n >> 1 & 1)) * nx + i + (n & 1)]));
                if (far > 2 * reach + 2 * band->h)
                    continue;
                rp__vec3 centre = coarse_node(band, i, j, k);
                centre = rp__vec3_add(centre, rp__vec3_make(0.5 * step, 0.5 * step, 0.5 * step));
                double bound = reach + 2 * band->h;
                rp__nearest n = { .squared = bound * bound };
                rp__shape_bvh_nearest(&b->s->bvh, centre, &n);
                if (n.triangle < 0)
                    continue;
                band->blocks[cell] = (int32_t)count;
                cells[count++] = (int32_t)cell;
            }
    return count;
}

static rp_result build(building *b, double h)
{
    const rp__mesh_shape *s = b->s;
    rp__band *band = b->band;
    band->h = h;
    double step = h * RP_BAND_BLOCK;
    rp__vec3 margin = { 0.5 * step, 0.5 * step, 0.5 * step };
    band->origin = rp__vec3_sub(s->base.lower, margin);
    double size[3];
    rp__vec3_store(size, rp__vec3_sub(s->base.upper, s->base.lower));
    int64_t nodes = 1, all = 1;
    for (int i = 0; i < 3; i++) {
        band->cells[i] = (int32_t)(size[i] / step) + 2;
        nodes *= band->cells[i] + 1;
        all *= band->cells[i];
    }
    band->coarse = RP_NEW_ARRAY(float, nodes);
    band->blocks = RP_NEW_ARRAY(int32_t, all);
    b->cells = RP_NEW_ARRAY(int32_t, all);
    b->doubts = rp__base_alloc_zero((size_t)(all + nodes));
    if (!band->coarse || !band->blocks || !b->cells || !b->doubts)
        return RP_OUT_OF_MEMORY;
    rp__exec_for((band->cells[1] + 1) * (int64_t)(band->cells[2] + 1), 2, coarse_rows, b);
    band->block_count = choose_blocks(b, b->cells);
    band->fine = RP_NEW_ARRAY(float, band->block_count * RP_BAND_NODES);
    if (!band->fine)
        return RP_OUT_OF_MEMORY;
    rp__exec_for(band->block_count, 4, fine_blocks, b);
    bool doubt = false;
    for (int64_t i = 0; i < all + nodes; i++)
        doubt = doubt || b->doubts[i];
    band->trusted = !doubt;
    return RP_OK;
}

rp_result rp__shape_band_build(rp__mesh_shape *s, double h)
{
    building b = { s, &s->band, NULL, NULL };
    rp_result result = build(&b, h);
    rp__base_free(b.cells);
    rp__base_free(b.doubts);
    if (result != RP_OK)
        rp__shape_band_free(&s->band);
    return result;
}

/* ---- looking up ---- */

/* Takes what the eight nodes around p tell: distances `value` apart in memory, p at (x, y, z) in [0, 1]³ of a cell of `size`. */
static void ask_nodes(const float *value, int64_t stride_y, int64_t stride_z, double x, double y, double z, double size, double *bound,
                      double *sign)
{
    for (int n = 0; n < 8; n++) {
        double d = value[(n & 1) + (n >> 1 & 1) * stride_y + (n >> 2) * stride_z];
        double a = x - (n & 1), b = y - (n >> 1 & 1), c = z - (n >> 2);
        double r = size * sqrt(a * a + b * b + c * c), length = fabs(d);
        *bound = fmin(*bound, length + r);
        if (length > r * (1 + 1e-6))
            *sign = d < 0 ? -1 : 1;
    }
    *bound = *bound * (1 + 1e-6) + 1e-6 * size; /* the nodes are floats rounded down */
}

void rp__shape_band_lookup(const rp__band *band, rp__vec3 p, double *bound, double *sign)
{
    double step = band->h * RP_BAND_BLOCK, at[3] = { p.x - band->origin.x, p.y - band->origin.y, p.z - band->origin.z };
    int64_t cell[3];
    *bound = INFINITY;
    *sign = 0;
    for (int i = 0; i < 3; i++) {
        at[i] /= step;
        if (!(at[i] >= 0 && at[i] < band->cells[i])) {
            *sign = 1; /* the box holds all of the mesh */
            return;
        }
        cell[i] = (int64_t)at[i];
        at[i] -= (double)cell[i];
    }
    int64_t nx = band->cells[0] + 1, ny = band->cells[1] + 1;
    int32_t block = band->blocks[(cell[2] * band->cells[1] + cell[1]) * band->cells[0] + cell[0]];
    if (block < 0) {
        const float *value = band->coarse + (cell[2] * ny + cell[1]) * nx + cell[0];
        ask_nodes(value, nx, nx * ny, at[0], at[1], at[2], step, bound, sign);
        *sign = *value < 0 ? -1 : 1; /* no surface in this cell: one sign for all of it */
        return;
    }
    int64_t fine[3];
    for (int i = 0; i < 3; i++) {
        at[i] *= RP_BAND_BLOCK;
        fine[i] = at[i] < RP_BAND_BLOCK ? (int64_t)at[i] : RP_BAND_BLOCK - 1;
        at[i] -= (double)fine[i];
    }
    const float *value = band->fine + (int64_t)block * RP_BAND_NODES + (fine[2] * SIDE + fine[1]) * SIDE + fine[0];
    ask_nodes(value, SIDE, SIDE * SIDE, at[0], at[1], at[2], band->h, bound, sign);
}
