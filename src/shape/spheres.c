/* Balls of one radius at random in a shape, none overlapping, until no more fits: a maximal random sequential packing
 * [ebeida2012], the sampling of [sommer2022].
 *
 * Cells of side 2 r / sqrt(dim) hold one centre at most. Every cell that may take one gets darts; what is left is cut into halves along
 * each axis, pieces that one ball covers or that lie outside are dropped, and the pieces get darts again, until none is left or
 * they are too small to matter. On a surface darts are brought there along the gradient of the distance, from at most a cell away; pieces that
 * the surface does not meet are dropped. Blocks of cells work at the same time when they are not neighbours; the random numbers belong to
 * cells: the points do not depend on threads. */
#include "shape/sampling.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"
#include "shape/shape_class.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8 /* cells of a block */, RIM = 2, LEVELS = 6, FIRST_ROUNDS = 5, ROUNDS = 2 };

typedef struct piece {
    int32_t x[3]; /* in cells of its level */
} piece;

typedef struct block {
    int32_t at[3];             /* its first cell */
    bool whole;                /* all of it may hold centres */
    piece *open;
    int64_t open_count, open_capacity;
    double *points;
    int64_t count, capacity;   /* in points and in numbers */
} block;

typedef struct packing {
    const rp_shape *shape;
    const rp__spheres_def *def;
    double lower[3], upper[3]; /* of centres */
    double cell, inset;
    int64_t size[3];           /* blocks */
    int64_t row, layer;        /* from a cell to the next along y and z: cells have a rim of two */
    int32_t *held;             /* of each cell: 1024 × block + point, or -1 */
    block **blocks;
    int64_t block_count, block_capacity;
    int level, round;
    atomic_int out_of_memory;
} packing;

/* ---- where a ball may be ---- */

/* How far a centre at p is from being allowed; <= 0: it is. */
static double outside(const packing *k, const double p[3])
{
    double d = rp__shape_distance_at(k->shape, rp__vec3_load(p), NULL) + k->inset;
    d = k->def->surface ? fabs(d) : d;
    for (int a = 0; a < k->def->dim; a++)
        d = fmax(d, fmax(k->lower[a] - p[a], p[a] - k->upper[a]));
    return d;
}

static int64_t place_of(const packing *k, const int64_t cell[3])
{
    return (k->def->dim == 3 ? cell[2] + RIM : 0) * k->layer + (cell[1] + RIM) * k->row + cell[0] + RIM;
}

/* Whether a centre lies nearer than `range` to p, which is in the cell at `place`; the nearest rows of cells come first. */
static bool taken(const packing *k, int64_t place, const double p[3], double range)
{
    static const signed char rows[25][2] = { { 0, 0 },  { 0, 1 },  { 1, 0 },  { 0, -1 }, { -1, 0 }, { 1, 1 },   { 1, -1 },  { -1, 1 }, { -1, -1 },
                                             { 0, 2 },  { 2, 0 },  { 0, -2 }, { -2, 0 }, { 1, 2 },  { 2, 1 },   { 1, -2 },  { 2, -1 }, { -1, 2 },
                                             { -2, 1 }, { -1, -2 }, { -2, -1 }, { 2, 2 }, { 2, -2 }, { -2, 2 }, { -2, -2 } };
    for (int n = 0; n < 25; n++) {
        if (rows[n][1] && k->def->dim == 2)
            continue;
        const int32_t *held = k->held + place + rows[n][0] * k->row + rows[n][1] * k->layer;
        for (int x = -2; x <= 2; x++) {
            if (held[x] < 0)
                continue;
            const double *q = k->blocks[held[x] >> 10]->points + 3 * (held[x] & 1023);
            double d0 = q[0] - p[0], d1 = q[1] - p[1], d2 = q[2] - p[2];
            if (d0 * d0 + d1 * d1 + d2 * d2 < range * range)
                return true;
        }
    }
    return false;
}

/* The centres around a cell, side by side: for many questions about one cell. */
enum { MOST_AROUND = 128 };
typedef struct around {
    int64_t place;
    int count;             /* filled up to a multiple of eight with far ones */
    double p[3][MOST_AROUND];
} around;

static void look_around(const packing *k, int64_t place, around *n)
{
    if (n->place == place)
        return;
    n->place = place;
    n->count = 0;
    for (int z = -2; z <= 2; z++)
        for (int y = -2; y <= 2 && (z == 0 || k->def->dim == 3); y++)
            for (int x = -2; x <= 2; x++) {
                int32_t held = k->held[place + z * k->layer + y * k->row + x];
                if (held < 0)
                    continue;
                const double *q = k->blocks[held >> 10]->points + 3 * (held & 1023);
                for (int a = 0; a < 3; a++)
                    n->p[a][n->count] = q[a];
                n->count++;
            }
    while (n->count % 8)
        n->p[0][n->count] = n->p[1][n->count] = n->p[2][n->count] = 1e300, n->count++;
}

static bool taken_around(const around *n, const double p[3], double range)
{
    int near = 0;
    for (int m = 0; m < n->count && !near; m += 8) {
#pragma omp simd reduction(| : near)
        for (int k = m; k < m + 8; k++) {
            double d0 = n->p[0][k] - p[0], d1 = n->p[1][k] - p[1], d2 = n->p[2][k] - p[2];
            near |= d0 * d0 + d1 * d1 + d2 * d2 < range * range;
        }
    }
    return near;
}

/* ---- darts ---- */

static bool add_point(packing *k, int64_t item, int64_t place, const double p[3])
{
    block *b = k->blocks[item];
    if (!rp__base_grow(&b->points, &b->capacity, 3 * (b->count + 1), sizeof *b->points)) {
        atomic_store(&k->out_of_memory, 1);
        return false;
    }
    memcpy(b->points + 3 * b->count, p, 3 * sizeof *p);
    k->held[place] = (int32_t)(item << 10 | b->count++);
    return true;
}

static int64_t cell_at(const packing *k, int axis, double x)
{
    return axis < k->def->dim ? (int64_t)floor((x - k->lower[axis]) / k->cell) : 0;
}

/* Brings p to the surface; false when that leads away from its cell, or out of the room for centres. *place becomes that of its new cell. */
static bool land(const packing *k, const int64_t cell[3], double p[3], int64_t *place)
{
    double off = INFINITY;
    for (int n = 0; n < 12 && fabs(off) > 1e-8 * k->def->radius; n++) {
        rp__vec3 g, x = rp__vec3_load(p);
        off = rp__shape_distance_at(k->shape, x, &g) + k->inset;
        rp__vec3_store(p, rp__vec3_axpy(-off, g, x));
        p[2] = k->def->dim == 2 ? 0 : p[2];
    }
    int64_t at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = cell_at(k, a, p[a]);
        if (llabs(at[a] - cell[a]) > 1 || at[a] < 0 || at[a] >= k->size[a] * SIDE)
            return false;
    }
    *place = place_of(k, at);
    return k->held[*place] < 0 && outside(k, p) <= 1e-6 * k->def->radius;
}

static void throw_darts(void *context, int64_t item, int worker)
{
    packing *k = context;
    block *b = k->blocks[item];
    double size = ldexp(k->cell, -k->level);
    int64_t kept = 0;
    around near = { .place = -1 };
    (void)worker;
    for (int64_t n = 0; n < b->open_count; n++) {
        piece q = b->open[n];
        int64_t cell[3] = { q.x[0] >> k->level, q.x[1] >> k->level, q.x[2] >> k->level };
        int64_t place = place_of(k, cell);
        if (k->held[place] >= 0)
            continue;
        double p[3] = { 0, 0, 0 };
        uint64_t who = rp__random_bits((uint64_t)q.x[0] | (uint64_t)q.x[1] << 32, (uint64_t)q.x[2], k->def->seed);
        for (int a = 0; a < k->def->dim; a++)
            p[a] = k->lower[a] + size * ((double)q.x[a] + rp__random_unit(who, (uint64_t)(k->level * 64 + k->round), (uint64_t)a));
        int64_t to = place;
        bool good = !k->def->surface || land(k, cell, p, &to);
        if (good && k->level > 0 && to == place) { /* pieces of a cell come one after the other */
            look_around(k, place, &near);
            good = !taken_around(&near, p, 2 * k->def->radius);
        } else
            good = good && !taken(k, to, p, 2 * k->def->radius);
        good = good && (b->whole || k->def->surface || outside(k, p) <= 0);
        if (good && to != place)
            near.place = -1;
        if (!good || !add_point(k, item, to, p) || to != place)
            b->open[kept++] = q;
    }
    b->open_count = kept;
}

/* Halves what is open, without what is covered or outside. Reads the points of neighbours, which rest meanwhile. */
static void subdivide(void *context, int64_t begin, int64_t end, int worker)
{
    packing *k = context;
    double size = ldexp(k->cell, -k->level - 1), reach = 0.5 * size * sqrt(k->def->dim);
    int children = 1 << k->def->dim;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        block *b = k->blocks[item];
        piece *next = NULL;
        int64_t count = 0, capacity = 0;
        around near = { .place = -1 };
        for (int64_t n = 0; n < b->open_count; n++) {
            piece q = b->open[n];
            int64_t cell[3] = { q.x[0] >> k->level, q.x[1] >> k->level, q.x[2] >> k->level };
            int64_t place = place_of(k, cell);
            if (k->held[place] < 0)
                look_around(k, place, &near);
            for (int c = 0; c < children && k->held[place] < 0; c++) {
                piece child = { { 2 * q.x[0] + (c & 1), 2 * q.x[1] + (c >> 1 & 1), k->def->dim == 3 ? 2 * q.x[2] + (c >> 2) : 0 } };
                double p[3] = { 0, 0, 0 };
                for (int a = 0; a < k->def->dim; a++)
                    p[a] = k->lower[a] + size * ((double)child.x[a] + 0.5);
                if (taken_around(&near, p, 2 * k->def->radius - reach) || (!b->whole && outside(k, p) > reach))
                    continue;
                if (!rp__base_grow(&next, &capacity, count + 1, sizeof *next)) {
                    atomic_store(&k->out_of_memory, 1);
                    break;
                }
                next[count++] = child;
            }
        }
        rp__base_free(b->open);
        b->open = next;
        b->open_count = count;
        b->open_capacity = capacity;
    }
}

/* ---- blocks ---- */

static rp_result open_block(packing *k, const int64_t at[3], bool whole)
{
    if (!rp__base_grow(&k->blocks, &k->block_capacity, k->block_count + 1, sizeof *k->blocks))
        return RP_OUT_OF_MEMORY;
    block *b = RP_NEW(block);
    if (!b)
        return RP_OUT_OF_MEMORY;
    k->blocks[k->block_count++] = b;
    b->whole = whole;
    for (int a = 0; a < 3; a++)
        b->at[a] = (int32_t)(at[a] * SIDE);
    int depth = k->def->dim == 3 ? SIDE : 1;
    double reach = 0.5 * k->cell * sqrt(k->def->dim);
    for (int n = 0; n < SIDE * SIDE * depth; n++) {
        piece q = { { b->at[0] + n % SIDE, b->at[1] + n / SIDE % SIDE, b->at[2] + n / SIDE / SIDE } };
        double p[3] = { 0, 0, 0 };
        for (int a = 0; a < k->def->dim; a++)
            p[a] = k->lower[a] + k->cell * (q.x[a] + 0.5);
        if (!whole && outside(k, p) > reach)
            continue;
        if (!rp__base_grow(&b->open, &b->open_capacity, b->open_count + 1, sizeof *b->open))
            return RP_OUT_OF_MEMORY;
        b->open[b->open_count++] = q;
    }
    return RP_OK;
}

static rp_result open_blocks(packing *k)
{
    double reach = 0.5 * SIDE * k->cell * sqrt(k->def->dim);
    int64_t places = k->size[0] * k->size[1] * k->size[2];
    k->row = k->size[0] * SIDE + 2 * RIM;
    k->layer = k->row * (k->size[1] * SIDE + 2 * RIM);
    int64_t cells = k->layer * (k->def->dim == 3 ? k->size[2] * SIDE + 2 * RIM : 1);
    k->held = RP_NEW_ARRAY(int32_t, cells);
    if (!k->held)
        return RP_OUT_OF_MEMORY;
    memset(k->held, -1, (size_t)cells * sizeof *k->held);
    for (int64_t n = 0; n < places; n++) {
        int64_t at[3] = { n % k->size[0], n / k->size[0] % k->size[1], n / k->size[0] / k->size[1] };
        double p[3] = { 0, 0, 0 };
        for (int a = 0; a < k->def->dim; a++)
            p[a] = k->lower[a] + k->cell * SIDE * ((double)at[a] + 0.5);
        double d = outside(k, p);
        if (d <= reach)
            RP_TRY(open_block(k, at, d < -reach));
    }
    return RP_OK;
}

/* The box of centres; *empty when none can be there. */
static rp_result measure(packing *k, bool *empty)
{
    const rp__spheres_def *def = k->def;
    double blocks = 1, volume = 1;
    rp_shape_bounds(k->shape, k->lower, k->upper);
    *empty = false;
    k->cell = 2 * def->radius / sqrt(def->dim);
    for (int a = 0; a < 3; a++) {
        k->size[a] = 1;
        if (a >= def->dim) {
            k->lower[a] = k->upper[a] = 0;
            continue;
        }
        k->lower[a] = fmax(k->lower[a] + k->inset, def->lower[a]);
        k->upper[a] = fmin(k->upper[a] - k->inset, def->upper[a]);
        if (!(k->lower[a] <= k->upper[a])) {
            *empty = true;
            return RP_OK;
        }
        if (!isfinite(k->lower[a]) || !isfinite(k->upper[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "sampling: the shape has no end along %c; clip it with a domain", "xyz"[a]);
        double many = floor((k->upper[a] - k->lower[a]) / (k->cell * SIDE)) + 1;
        blocks *= many;
        volume *= k->upper[a] - k->lower[a] + 2 * def->radius;
        k->size[a] = many < 1e6 ? (int64_t)many : 1000000;
    }
    double least = 0.2 * volume / pow(2 * def->radius, def->dim); /* of a box; shapes are counted while they fill */
    if (blocks > 2e6 || def->limit < 1) /* 4 GB of cells */
        return rp__base_fail(RP_TOO_LARGE, "sampling: balls of radius %g m would be about %.3g; the limit is %lld: use a larger radius or a smaller shape",
                             def->radius, least, (long long)def->limit);
    return RP_OK;
}

/* Blocks by colour: those of one colour are no neighbours. */
static void sort_blocks(const packing *k, int64_t first[9], int32_t *items)
{
    int64_t count = 0;
    for (int colour = 0; colour < 8; colour++) {
        first[colour] = count;
        for (int64_t n = 0; n < k->block_count; n++) {
            const int32_t *at = k->blocks[n]->at;
            int own = (at[0] / SIDE & 1) | (at[1] / SIDE & 1) << 1 | (at[2] / SIDE & 1) << 2;
            if (own == colour)
                items[count++] = (int32_t)n;
        }
    }
    first[8] = count;
}

static rp_result fill(packing *k)
{
    RP_TRY(open_blocks(k));
    int32_t *items = RP_NEW_ARRAY(int32_t, k->block_count + 1);
    if (!items)
        return RP_OUT_OF_MEMORY;
    int64_t first[9], left = 1;
    sort_blocks(k, first, items);
    for (k->level = 0; k->level < LEVELS && left > 0 && !atomic_load(&k->out_of_memory); k->level++) {
        for (k->round = 0; k->round < (k->level ? ROUNDS : FIRST_ROUNDS); k->round++)
            rp__exec_colors(8, first, items, 1, throw_darts, k);
        rp__exec_for(k->block_count, 4, subdivide, k);
        left = 0;
        for (int64_t n = 0; n < k->block_count; n++)
            left += k->blocks[n]->open_count;
    }
    rp__base_free(items);
    return atomic_load(&k->out_of_memory) ? rp__base_fail(RP_OUT_OF_MEMORY, "out of memory while balls are sampled") : RP_OK;
}

static rp_result collect(const packing *k, double **points, int64_t *count)
{
    int64_t total = 0, at = 0;
    for (int64_t n = 0; n < k->block_count; n++)
        total += k->blocks[n]->count;
    if (total > k->def->limit)
        return rp__base_fail(RP_TOO_LARGE, "sampling: %lld balls of radius %g m; the limit is %lld: use a larger radius or a smaller shape",
                             (long long)total, k->def->radius, (long long)k->def->limit);
    double *all = RP_NEW_ARRAY(double, 3 * total + 3);
    if (!all)
        return RP_OUT_OF_MEMORY;
    for (int64_t n = 0; n < k->block_count; n++) {
        const block *b = k->blocks[n];
        if (b->count)
            memcpy(all + 3 * at, b->points, 3 * (size_t)b->count * sizeof *all);
        at += b->count;
    }
    *points = all;
    *count = total;
    return RP_OK;
}

rp_result rp__sampling_spheres(const rp_shape *shape, const rp__spheres_def *def, double **points, int64_t *count)
{
    RP_TRY(rp__shape_check_child("sampling", shape));
    RP_TRY(rp__shape_check_positive("sampling", "the radius", def->radius));
    packing k = { .shape = shape, .def = def, .inset = def->inset > 0 || def->surface ? def->inset : def->radius };
    bool empty;
    RP_TRY(measure(&k, &empty));
    rp_result result = empty ? RP_OK : fill(&k);
    if (result == RP_OK)
        result = collect(&k, points, count);
    for (int64_t n = 0; n < k.block_count; n++) {
        rp__base_free(k.blocks[n]->open);
        rp__base_free(k.blocks[n]->points);
        rp__base_free(k.blocks[n]);
    }
    rp__base_free(k.blocks);
    rp__base_free(k.held);
    return result;
}
