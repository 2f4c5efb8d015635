/* Balls packed as densely as a bed that has settled: centres sampled at random for a smaller radius, then moved apart.
 *
 * Random sequential packing stops at 0.38 of the volume, a bed of grains settles at 0.58 to 0.62: with 0.85 of the radius there are
 * (1 / 0.85)³ times as many, 0.62 in the middle of a shape. Overlaps are then taken away pair by pair, over and over, within the shape. */
#include "shape/sampling.h"

#include "base/error.h"
#include "base/memory.h"
#include "shape/shape_class.h"

#include <math.h>
#include <string.h>

#define SMALLER_3D 0.86
#define SMALLER_2D 0.84 /* 0.547 of the plane at random, 0.77 then: loose for discs */
enum { SWEEPS = 400 };
#define GOOD 0.01 /* overlap that may remain, a part of the diameter */

typedef struct bins {
    double width, origin[3];
    int64_t size[3];
    int32_t *first, *items, *cell;
} bins;

static rp_result make_bins(bins *b, const double *x, int64_t n, double width)
{
    double high[3];
    b->width = width;
    for (int d = 0; d < 3; d++) {
        b->origin[d] = INFINITY, high[d] = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            b->origin[d] = fmin(b->origin[d], x[3 * i + d]), high[d] = fmax(high[d], x[3 * i + d]);
        b->origin[d] -= 2 * width;
        b->size[d] = (int64_t)((high[d] - b->origin[d]) / width) + 4;
    }
    int64_t cells = b->size[0] * b->size[1] * b->size[2];
    b->first = RP_NEW_ARRAY(int32_t, cells + 1);
    b->items = RP_NEW_ARRAY(int32_t, n + 1);
    b->cell = RP_NEW_ARRAY(int32_t, n + 1);
    return b->first && b->items && b->cell ? RP_OK : RP_OUT_OF_MEMORY;
}

static void sort_bins(bins *b, const double *x, int64_t n)
{
    int64_t cells = b->size[0] * b->size[1] * b->size[2];
    memset(b->first, 0, (size_t)(cells + 1) * sizeof *b->first);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = 0;
        for (int d = 2; d >= 0; d--) {
            int64_t at = (int64_t)((x[3 * i + d] - b->origin[d]) / b->width);
            c = c * b->size[d] + (at < 1 ? 1 : at > b->size[d] - 2 ? b->size[d] - 2 : at);
        }
        b->cell[i] = (int32_t)c;
        b->first[c + 1]++;
    }
    for (int64_t c = 0; c < cells; c++)
        b->first[c + 1] += b->first[c];
    for (int64_t i = 0; i < n; i++)
        b->items[b->first[b->cell[i]]++] = (int32_t)i;
    for (int64_t c = cells; c > 0; c--)
        b->first[c] = b->first[c - 1];
    b->first[0] = 0;
}

/* Moves i and j apart when they overlap; gives by how much they did, as a part of the diameter. */
static double part(double *a, double *b, double diameter, int dim)
{
    double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (!(length < diameter) || !(length > 0))
        return 0;
    double half = 0.5 * (diameter - length) / length;
    for (int k = 0; k < dim; k++)
        a[k] += half * d[k], b[k] -= half * d[k];
    return 1 - length / diameter;
}

static double sweep(const rp__spheres_def *def, const bins *b, double *x, int64_t n)
{
    double worst = 0;
    int depth = def->dim == 3 ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        for (int z = -depth; z <= depth; z++)
            for (int y = -1; y <= 1; y++) {
                int64_t row = b->cell[i] + (z * b->size[1] + y) * b->size[0];
                for (int64_t k = b->first[row - 1]; k < b->first[row + 2]; k++)
                    if (b->items[k] < i)
                        worst = fmax(worst, part(x + 3 * i, x + 3 * b->items[k], 2 * def->radius, def->dim));
            }
    return worst;
}

static void hold(const rp_shape *shape, const rp__spheres_def *def, double *x)
{
    for (int again = 0; again < 3; again++) {
        rp__vec3 g;
        double over = rp__shape_distance_at(shape, rp__vec3_load(x), &g) + def->radius, n[3];
        rp__vec3_store(n, g);
        for (int d = 0; d < def->dim; d++) {
            x[d] -= over > 0 ? over * n[d] : 0;
            x[d] = fmin(fmax(x[d], def->lower[d]), def->upper[d]);
        }
        if (!(over > 0))
            return;
    }
}

rp_result rp__sampling_dense(const rp_shape *shape, const rp__spheres_def *def, double **points, int64_t *count)
{
    rp__spheres_def small = *def;
    small.radius *= def->dim == 3 ? SMALLER_3D : SMALLER_2D;
    small.inset = def->radius;
    RP_TRY(rp__sampling_spheres(shape, &small, points, count));
    if (*count == 0)
        return RP_OK;
    bins b = { 0 };
    rp_result result = make_bins(&b, *points, *count, 2 * def->radius);
    double worst = 1;
    for (int k = 0; k < SWEEPS && worst > GOOD && result == RP_OK; k++) {
        sort_bins(&b, *points, *count);
        worst = sweep(def, &b, *points, *count);
        for (int64_t i = 0; i < *count; i++)
            hold(shape, def, *points + 3 * i);
    }
    rp__base_free(b.first);
    rp__base_free(b.items);
    rp__base_free(b.cell);
    if (result != RP_OK) {
        rp__base_free(*points);
        *points = NULL;
    }
    return result;
}
