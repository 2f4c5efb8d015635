/* A Poisson-disk pattern on a torus with an exact number of points: darts are thrown into the cells of a grid that can each
 * hold one point, in a shuffled order, until the number is reached. Repeated in space it fills any shape at exactly the
 * density asked for, whatever the shape's border, and every thread can look up its part. */
#include "shape/sampling.h"

#include "base/error.h"
#include "base/memory.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

typedef struct darts {
    int dim, edge;
    int cells;         /* a side */
    double cell, radius;
    int reach_count;   /* neighbour cells that can hold a point too near, the nearest first */
    signed char reach[125][3];
    int32_t *held;     /* point in a cell, or -1 */
    int32_t *active;   /* cells that may still take one */
    int64_t active_count;
    double *points;    /* 3 a point */
    int64_t count, target;
    uint64_t seed, draws;
} darts;

static void cell_of(const darts *d, int32_t cell, int c[3])
{
    c[0] = cell % d->cells;
    c[1] = cell / d->cells % d->cells;
    c[2] = d->dim == 3 ? cell / d->cells / d->cells : 0;
}

static int wrapped(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* Shortest difference on the torus. */
static double apart(double a, double b, double edge)
{
    double d = fabs(a - b);
    return d > 0.5 * edge ? edge - d : d;
}

/* Whether p is too near to a point; *covered tells that this point alone covers all of the cell. */
static bool taken(const darts *d, const int c[3], const double p[3], bool *covered)
{
    double rr = d->radius * d->radius;
    *covered = false;
    for (int n = 0; n < d->reach_count; n++) {
        const signed char *o = d->reach[n];
        int x = wrapped(c[0] + o[0], d->cells), y = wrapped(c[1] + o[1], d->cells), z = wrapped(c[2] + o[2], d->cells);
        int32_t q = d->held[((d->dim == 3 ? (int64_t)z * d->cells : 0) + y) * d->cells + x];
        if (q < 0)
            continue;
        double near = 0, far = 0;
        for (int a = 0; a < d->dim; a++) {
            double at = d->points[3 * q + a], s = apart(p[a], at, d->edge);
            near += s * s;
            s = apart((c[a] + 0.5) * d->cell, at, d->edge) + 0.5 * d->cell;
            far += s * s;
        }
        if (near < rr) {
            *covered = far < rr;
            return true;
        }
    }
    return false;
}

/* One dart into each active cell; cells that are full or covered leave the list. */
static void throw_round(darts *d)
{
    int64_t kept = 0;
    for (int64_t n = 0; n < d->active_count; n++) {
        int32_t cell = d->active[n];
        if (d->count == d->target)
            break;
        int c[3];
        cell_of(d, cell, c);
        double p[3] = { 0, 0, 0 };
        for (int a = 0; a < d->dim; a++)
            p[a] = (c[a] + rp__random_unit(d->seed, 1, d->draws++)) * d->cell;
        bool covered;
        if (taken(d, c, p, &covered)) {
            if (!covered)
                d->active[kept++] = cell;
            continue;
        }
        d->held[cell] = (int32_t)d->count;
        memcpy(d->points + 3 * d->count++, p, sizeof p);
    }
    d->active_count = kept;
}

/* A cell is at most radius / sqrt(dim) wide, so two cells each way are enough. */
static void list_neighbours(darts *d)
{
    d->reach_count = 0;
    for (int far = 0; far <= 12; far++)
        for (int k = -2; k <= 2; k++)
            for (int j = -2; j <= 2; j++)
                for (int i = -2; i <= 2; i++) {
                    if (i * i + j * j + k * k != far || (d->dim == 2 && k != 0))
                        continue;
                    signed char *o = d->reach[d->reach_count++];
                    o[0] = (signed char)i, o[1] = (signed char)j, o[2] = (signed char)k;
                }
}

static rp_result attempt(darts *d)
{
    d->cells = (int)ceil(d->edge * sqrt(d->dim) / d->radius);
    d->cell = (double)d->edge / d->cells;
    list_neighbours(d);
    int64_t all = 1;
    for (int a = 0; a < d->dim; a++)
        all *= d->cells;
    d->held = RP_NEW_ARRAY(int32_t, all);
    d->active = RP_NEW_ARRAY(int32_t, all);
    if (!d->held || !d->active)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < all; i++) {
        d->held[i] = -1;
        int64_t j = (int64_t)(rp__random_unit(d->seed, 2, (uint64_t)i) * (double)(i + 1)); /* shuffle as the list grows */
        d->active[i] = d->active[j];
        d->active[j] = (int32_t)i;
    }
    d->active_count = all;
    d->count = 0;
    for (int round = 0; round < 4000 && d->count < d->target && d->active_count > 0; round++)
        throw_round(d);
    return RP_OK;
}

/* Counting sort of the points into buckets. */
static rp_result into_buckets(const darts *d, rp__sampling_tile *tile)
{
    int side = tile->edge / tile->bucket, buckets = tile->dim == 3 ? side * side * side : side * side;
    tile->first = rp__base_alloc_zero((size_t)(buckets + 2) * sizeof(int32_t));
    tile->points = RP_NEW_ARRAY(double, 3 * d->count);
    if (!tile->first || !tile->points)
        return RP_OUT_OF_MEMORY;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t n = 0; n < d->count; n++) {
            int b = 0;
            for (int a = d->dim - 1; a >= 0; a--) {
                int i = (int)(d->points[3 * n + a] / tile->bucket);
                b = b * side + (i < side ? i : side - 1);
            }
            if (pass == 0)
                tile->first[b + 2]++;
            else
                memcpy(tile->points + 3 * (int64_t)tile->first[b + 1]++, d->points + 3 * n, 3 * sizeof(double));
        }
        if (pass == 0)
            for (int b = 0; b < buckets; b++)
                tile->first[b + 2] += tile->first[b + 1];
    }
    tile->count = d->count;
    return RP_OK;
}

rp_result rp__sampling_tile_create(int dim, int edge, int bucket, uint64_t seed, rp__sampling_tile *tile)
{
    *tile = (rp__sampling_tile){ .dim = dim, .edge = edge, .bucket = bucket };
    darts d = { .dim = dim, .edge = edge, .seed = seed };
    d.radius = dim == 2 ? RP_SAMPLING_RADIUS_2D : RP_SAMPLING_RADIUS_3D;
    d.target = dim == 3 ? (int64_t)edge * edge * edge : (int64_t)edge * edge;
    d.points = RP_NEW_ARRAY(double, 3 * d.target);
    rp_result result = d.points ? RP_OK : RP_OUT_OF_MEMORY;
    while (result == RP_OK) {
        result = attempt(&d);
        rp__base_free(d.held);
        rp__base_free(d.active);
        d.held = d.active = NULL;
        if (result != RP_OK || d.count == d.target)
            break;
        d.radius *= 0.99; /* jammed too early: not seen in practice, but the number must be reached */
    }
    if (result == RP_OK) {
        tile->radius = d.radius;
        result = into_buckets(&d, tile);
    }
    rp__base_free(d.points);
    if (result != RP_OK)
        rp__sampling_tile_free(tile);
    return result;
}

void rp__sampling_tile_free(rp__sampling_tile *tile)
{
    rp__base_free(tile->points);
    rp__base_free(tile->first);
    tile->points = NULL;
    tile->first = NULL;
}
