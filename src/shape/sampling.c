/* Filling a shape with points. The lattice is cut into blocks; a tree over the blocks leaves out what the distance at its
 * centre shows to be outside; the blocks left are sampled in parallel, counted, and written in order. */
#include "shape/sampling_blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

enum { BLOCK_2D = 16, BLOCK_3D = 8, SMALL_TILE = 2, LARGE_TILE = 4 /* blocks a side */ };

typedef rp__sampling_block block;
typedef rp__sampling_filling filling;

/* ---- checks ---- */

static rp_result check(const rp__sampling_def *def)
{
    if (def->dim != 2 && def->dim != 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "sampling: dimension %d; it must be 2 or 3", def->dim);
    if (def->kind != RP_REGULAR && def->kind != RP_JITTERED && def->kind != RP_POISSON)
        return rp__base_fail(RP_BAD_ARGUMENT, "sampling: unknown kind %d", (int)def->kind);
    RP_TRY(rp__shape_check_positive("sampling", "the spacing", def->spacing));
    RP_TRY(rp__shape_check_point("sampling", "origin", def->origin));
    for (int i = 0; i < def->dim; i++)
        if (isnan(def->lower[i]) || isnan(def->upper[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "sampling: the bounds along %c are not numbers", "xyz"[i]);
    if (def->limit < 1)
        return rp__base_fail(RP_TOO_LARGE, "sampling: no point is left of the number allowed");
    return RP_OK;
}

static rp_result too_many(double estimate, const rp__sampling_def *def)
{
    return rp__base_fail(RP_TOO_LARGE,
                         "sampling: about %.3g points at a spacing of %g m, %.3g GB for their positions alone; the limit is %lld "
                         "points: use a larger spacing or a smaller shape",
                         estimate, def->spacing, estimate * 24e-9, (long long)def->limit);
}

/* A tree over the box down to `level`: adds the volume inside the shape to *volume, and counts the cells of the last level
 * that the surface cuts, of which the part below the tangent plane is taken. */
static int64_t cut_cells(const filling *f, const double lower[3], const double edge[3], int level, double *volume)
{
    int dim = f->def->dim;
    double c[3] = { 0, 0, 0 }, cell = 1, reach = 0;
    for (int i = 0; i < dim; i++) {
        c[i] = lower[i] + 0.5 * edge[i];
        cell *= edge[i];
        reach += 0.25 * edge[i] * edge[i];
    }
    rp__vec3 g;
    double d = rp__shape_distance_at(f->shape, rp__vec3_load(c), &g);
    if (fabs(d) > sqrt(reach)) {
        *volume += d < 0 ? cell : 0;
        return 0;
    }
    if (level == 0) {
        double width = fabs(g.x) * edge[0] + fabs(g.y) * edge[1] + (dim == 3 ? fabs(g.z) * edge[2] : 0);
        *volume += cell * (width > 0 ? fmin(fmax(0.5 - d / width, 0), 1) : d <= 0);
        return 1;
    }
    int64_t cut = 0;
    double half[3] = { 0.5 * edge[0], 0.5 * edge[1], 0.5 * edge[2] };
    for (int n = 0; n < (1 << dim); n++) {
        double at[3] = { lower[0] + (n & 1 ? half[0] : 0), lower[1] + (n & 2 ? half[1] : 0), lower[2] + (n & 4 ? half[2] : 0) };
        cut += cut_cells(f, at, half, level - 1, volume);
    }
    return cut;
}

/* The volume inside the shape, refined until some thousand cells lie on its surface. */
static double inside_volume(const filling *f)
{
    double edge[3] = { 0, 0, 0 }, volume = 0;
    for (int i = 0; i < f->def->dim; i++)
        edge[i] = f->upper[i] - f->lower[i];
    int64_t cut = 1;
    for (int level = 0; level < 40 && cut > 0 && cut < 20000; level++) {
        volume = 0;
        cut = cut_cells(f, f->lower, edge, level, &volume);
    }
    return volume;
}

/* The box to visit, and a refusal when the estimate is clearly above the limit. *empty when there is nothing to do. */
static rp_result measure(filling *f, bool *empty, double *estimate)
{
    const rp__sampling_def *def = f->def;
    rp_shape_bounds(f->shape, f->lower, f->upper);
    double cells = 1;
    *empty = false;
    for (int i = 0; i < def->dim; i++) {
        f->lower[i] = fmax(f->lower[i], def->lower[i]);
        f->upper[i] = fmin(f->upper[i], def->upper[i]);
        if (!(f->lower[i] <= f->upper[i])) {
            *empty = true;
            return RP_OK;
        }
        if (!isfinite(f->lower[i]) || !isfinite(f->upper[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "sampling: the shape has no end along %c; clip it with a domain", "xyz"[i]);
        cells *= (f->upper[i] - f->lower[i]) / def->spacing + 1;
    }
    *estimate = cells;
    if (cells > (double)def->limit) {
        *estimate = inside_volume(f) / pow(def->spacing, def->dim);
        if (*estimate > 1.1 * (double)def->limit)
            return too_many(*estimate, def);
    }
    for (int i = 0; i < def->dim; i++)
        if (fmax(fabs(f->lower[i] - def->origin[i]), fabs(f->upper[i] - def->origin[i])) / def->spacing > 1e15)
            return rp__base_fail(RP_TOO_LARGE, "sampling: a spacing of %g m is lost in rounding %g m from the origin", def->spacing,
                                 fmax(fabs(f->lower[i] - def->origin[i]), fabs(f->upper[i] - def->origin[i])));
    return RP_OK;
}

/* ---- the blocks to visit ---- */

static rp_result add_block(filling *f, const int64_t index[3], bool whole)
{
    if (f->block_count == f->block_limit)
        return rp__base_fail(RP_TOO_LARGE,
                             "sampling: the shape touches more than %lld blocks of %d cells a side at a spacing of %g m; use a "
                             "larger spacing",
                             (long long)f->block_limit, f->size, f->def->spacing);
    if (!rp__base_grow(&f->blocks, &f->block_capacity, f->block_count + 1, sizeof(block)))
        return RP_OUT_OF_MEMORY;
    block *b = &f->blocks[f->block_count++];
    memset(b, 0, sizeof *b);
    memcpy(b->index, index, sizeof b->index);
    b->whole = whole;
    return RP_OK;
}

/* Visits the cube of 2^level blocks a side that starts at block `at`. */
static rp_result visit(filling *f, const int64_t at[3], int level, bool whole)
{
    const rp__sampling_def *def = f->def;
    double edge = ldexp(f->size * def->spacing, level), c[3] = { 0, 0, 0 };
    for (int i = 0; i < def->dim; i++) {
        double low = def->origin[i] + (double)at[i] * f->size * def->spacing;
        if (low > f->upper[i] || low + edge < f->lower[i])
            return RP_OK;
        c[i] = low + 0.5 * edge;
    }
    if (!whole) {
        double d = rp__shape_distance_at(f->shape, rp__vec3_load(c), NULL);
        double reach = 0.5 * edge * sqrt(def->dim) * (1 + 1e-9);
        if (d > reach)
            return RP_OK;
        whole = d < -reach && (!def->blocked || def->blocked(def->blocking, c) > reach);
    }
    if (level == 0)
        return add_block(f, at, whole);
    int64_t half = (int64_t)1 << (level - 1);
    for (int n = 0; n < (1 << def->dim); n++) {
        int64_t child[3] = { at[0] + (n & 1 ? half : 0), at[1] + (n & 2 ? half : 0), at[2] + (n & 4 ? half : 0) };
        RP_TRY(visit(f, child, level - 1, whole));
    }
    return RP_OK;
}

static rp_result find_blocks(filling *f)
{
    const rp__sampling_def *def = f->def;
    int64_t at[3] = { 0, 0, 0 }, widest = 1;
    for (int i = 0; i < def->dim; i++) {
        double block_edge = f->size * def->spacing;
        at[i] = (int64_t)floor((f->lower[i] - def->origin[i]) / block_edge);
        int64_t last = (int64_t)floor((f->upper[i] - def->origin[i]) / block_edge);
        widest = last - at[i] + 1 > widest ? last - at[i] + 1 : widest;
    }
    int level = 0;
    while (((int64_t)1 << level) < widest)
        level++;
    return visit(f, at, level, false);
}

/* ---- the points of a block ---- */

/* A seed for the lattice cell: the numbers of one cell have nothing to do with those of another. */
static uint64_t cell_seed(uint64_t seed, const int64_t cell[3])
{
    return rp__random_bits(rp__random_bits(seed, (uint64_t)cell[0], (uint64_t)cell[1]), (uint64_t)cell[2], 0x7065);
}

bool rp__sampling_candidate(const filling *f, const block *b, int n, double p[3])
{
    const rp__sampling_def *def = f->def;
    p[2] = 0;
    if (def->kind == RP_POISSON) {
        int side = f->tile.edge / f->tile.bucket, bucket = 0;
        for (int i = def->dim - 1; i >= 0; i--)
            bucket = bucket * side + (int)rp__sampling_floor_mod(b->index[i], side);
        int64_t at = f->tile.first[bucket] + n;
        if (at >= f->tile.first[bucket + 1])
            return false;
        for (int i = 0; i < def->dim; i++) {
            /* tile coordinate minus the corner of the bucket */
            double local = f->tile.points[3 * at + i] - (double)(rp__sampling_floor_mod(b->index[i], side) * f->tile.bucket);
            p[i] = def->origin[i] + def->spacing * ((double)b->index[i] * f->size + local);
        }
        return true;
    }
    int all = def->dim == 3 ? f->size * f->size * f->size : f->size * f->size;
    if (n >= all)
        return false;
    int64_t cell[3] = { b->index[0] * f->size + n % f->size, b->index[1] * f->size + n / f->size % f->size,
                        def->dim == 3 ? b->index[2] * f->size + n / f->size / f->size : 0 };
    for (int i = 0; i < def->dim; i++) {
        double within = 0.5;
        if (def->kind == RP_JITTERED) { /* the two sub-cells of a pair along the axis mirror each other */
            int64_t pair[3] = { cell[0], cell[1], cell[2] };
            pair[i] -= rp__sampling_floor_mod(cell[i], 2);
            within = rp__random_unit(cell_seed(def->seed, pair), 0, (uint64_t)i);
            within = pair[i] == cell[i] ? within : 1 - within;
        }
        p[i] = def->origin[i] + def->spacing * ((double)cell[i] + within);
    }
    return true;
}

bool rp__sampling_within(const filling *f, const double p[3])
{
    for (int i = 0; i < f->def->dim; i++)
        if (!(p[i] >= f->def->lower[i] && p[i] < f->def->upper[i]))
            return false;
    return true;
}

static bool accepted(const filling *f, const block *b, const double p[3])
{
    return rp__sampling_within(f, p) && (b->whole || rp__sampling_room(f, rp__vec3_load(p)) <= 0);
}

static void mark_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    filling *f = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        block *b = &f->blocks[i];
        double p[3];
        for (int n = 0; n < 64 * RP_SAMPLING_MASK_WORDS && rp__sampling_candidate(f, b, n, p); n++)
            if (accepted(f, b, p)) {
                b->mask[n / 64] |= (uint64_t)1 << (n % 64);
                b->first++;
            }
    }
}

static void write_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    filling *f = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const block *b = &f->blocks[i];
        double p[3], *to = f->points + 3 * b->first;
        for (int n = 0; n < 64 * RP_SAMPLING_MASK_WORDS && rp__sampling_candidate(f, b, n, p); n++)
            if (b->mask[n / 64] >> (n % 64) & 1) {
                memcpy(to, p, sizeof p);
                to += 3;
            }
    }
}

static rp_result fill(filling *f, double **points, int64_t *count)
{
    rp__exec_for(f->block_count, 4, mark_blocks, f);
    RP_TRY(rp__sampling_count(f, count));
    rp__exec_for(f->block_count, 4, write_blocks, f);
    *points = f->points;
    return RP_OK;
}

rp_result rp__sampling_count(filling *f, int64_t *count)
{
    int64_t total = 0;
    for (int64_t i = 0; i < f->block_count; i++) {
        int64_t here = f->blocks[i].first;
        f->blocks[i].first = total;
        total += here;
    }
    if (total > f->def->limit)
        return too_many((double)total, f->def);
    f->points = RP_NEW_ARRAY(double, 3 * (total > 0 ? total : 1));
    *count = total;
    return f->points ? RP_OK : RP_OUT_OF_MEMORY;
}

/* Finds the blocks and the tile; none when the shape is empty. */
static rp_result begin(filling *f, const rp_shape *shape, const rp__sampling_def *def)
{
    *f = (filling){ .shape = shape, .def = def };
    RP_TRY(rp__shape_check_child("sampling", shape));
    RP_TRY(check(def));
    f->size = def->dim == 2 ? BLOCK_2D : BLOCK_3D;
    f->block_limit = 1000000 + def->limit / 64;
    bool empty;
    double estimate = 0;
    RP_TRY(measure(f, &empty, &estimate));
    if (empty)
        return RP_OK;
    if (def->kind == RP_POISSON) {
        int tile = f->size * (estimate < 10000 ? SMALL_TILE : LARGE_TILE);
        RP_TRY(rp__sampling_tile_create(def->dim, tile, f->size, def->seed, &f->tile));
    }
    return find_blocks(f);
}

static void end(filling *f)
{
    rp__sampling_tile_free(&f->tile);
    rp__base_free(f->blocks);
}

rp_result rp__sampling_fill(const rp_shape *shape, const rp__sampling_def *def, double **points, int64_t *count)
{
    filling f;
    rp_result result = begin(&f, shape, def);
    if (result == RP_OK)
        result = fill(&f, points, count);
    end(&f);
    return result;
}

rp_result rp__sampling_sites(const rp_shape *shape, const rp__sampling_def *def, rp__sampling_site_list *sites)
{
    filling f;
    rp__sampling_site_list own = { 0 };
    rp_result result = begin(&f, shape, def);
    if (result == RP_OK && def->kind == RP_POISSON)
        result = fill(&f, &own.points, &own.count);
    if (result == RP_OK)
        result = rp__sampling_share_out(&f, &own);
    end(&f);
    if (result == RP_OK)
        *sites = own;
    else
        rp__sampling_free_sites(&own);
    return result;
}

void rp__sampling_free_sites(rp__sampling_site_list *sites)
{
    rp__base_free(sites->points);
    rp__base_free(sites->parts);
    *sites = (rp__sampling_site_list){ 0 };
}
