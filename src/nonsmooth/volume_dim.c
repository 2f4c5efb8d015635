/* Over-packing: how much there is, and displacements that make room.
 *
 * The constraint of the step acts on velocities; what is lost to its linearisation never comes back, because gaps below zero
 * count as zero (else the step would add energy). So places packed more tightly than allowed are relaxed on positions alone:
 *
 * With particles moved by d(x_p) = sum_j N_j d_j the volume at node i changes by sum_p V_p grad N_i · d = sum_j g_ji · d_j, so
 *
 *   displacements d_j = -s_j^2 sum_i pi_i g_ji,   0 <= pi_i  complementary to  -sum_j g_ji · d_j - excess_i >= 0
 *
 * a scalar problem on the transposed operator (stresses in cells have no gradient: there the strain g_ij is used, with d_j = s_j^2
 * sum_i pi_i g_ij). Velocities do not change, and what is within the tolerance stays where it is: a heap at rest
 * keeps its rest. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

/* Cells crossed in a step between which grains settle, and are moved apart. Slower is rest, which is not disturbed. Faster is flow: in
 * lasting shear displacements would carry grains along (out of a silo, say), and what flows comes to rest somewhere. */
#define NS_RESTING 1e-4
#define NS_FLOWING 0.02

typedef struct job {
    ns_system *y;
    double full, momentum, t, dt;
    bool backward, any, stop;
    int64_t iterations, limit;
    double sign; /* of the displacements */
} job;

static bool settles(const job *w, int64_t node)
{
    const double *u = ns_velocity(w->y, node);
    double sum = 0, cell = w->y->lattice.h / w->dt;
    for (int a = 0; a < RP_DIM; a++)
        sum += u[a] * u[a];
    return sum > NS_RESTING * NS_RESTING * cell * cell && sum < NS_FLOWING * NS_FLOWING * cell * cell;
}

static void error_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const ns_system *y = ((job *)context)->y;
    for (int64_t i = begin; i < end; i++) {
        double v = y->volume[i];
        if (!(v > 0))
            continue;
        double over = y->bulk[i] - y->room[i];
        sum[0] += over > 0 ? over : 0;
        sum[1] += y->bulk[i];
    }
}

/* Sum of max(0, phi - phi_max), as a part of the material. */
double NS(volume_error)(ns_system *y)
{
    job w = { .y = y };
    double sum[2];
    rp__exec_sum((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, 2, error_chunk, &w, sum);
    return sum[1] > 0 ? sum[0] / sum[1] : 0;
}

/* lambda[0] = pi, lambda[1] = pi before, k = excess, for the stresses in use (their own values were kept before). */
static void prepare(void *context, int64_t begin, int64_t end, double *most)
{
    job *w = context;
    ns_system *y = w->y;
    double tolerance = y->params->volume_tolerance;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            ns_stress *s = &y->stress[i];
            double phi = y->volume[i] / y->bulk[i], over = y->bulk[i] - y->room[i] - tolerance * w->full;
            double cap = 0.1 * w->full;
            s->previous[0] = s->previous[1] = 0;
            if (over > 0 && !settles(w, i))
                over = 0;
            s->k = phi * (over < cap ? over : cap); /* below zero: so much may still come in */
            most[0] = over > most[0] ? over : most[0];
        }
}

/* Swaps g_ij and g_ji for the pairs whose second node comes later in the stencil, each pair once. */
static void transpose_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    ns_system *y = ((job *)context)->y;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = block * RP_BLOCK_NODES + l;
            int base = ns_tile_of_local(l);
            for (int n = NS_STENCIL / 2 + 1; n < NS_STENCIL; n++) {
                int64_t j = ns_tile_node(y, block, base + y->offset[n]);
                if (j < 0)
                    continue;
                double *a = y->g + (i * NS_STENCIL + n) * RP_DIM, *b = y->g + (j * NS_STENCIL + NS_STENCIL - 1 - n) * RP_DIM;
                for (int k = 0; k < RP_DIM; k++) {
                    double t = a[k];
                    a[k] = b[k], b[k] = t;
                }
            }
        }
}

/* Row i holds s_i g_ji after that: s_j g_ji is wanted. Its square sum is kept in previous[2]. */
static void scale_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits), base = ns_tile_of_local(l);
            int64_t i = block * RP_BLOCK_NODES + l;
            double sum = 0;
            for (int n = 0; n < y->stencil; n++) {
                double *h = y->g + (i * y->stencil + n) * RP_DIM, factor = 1;
                if (w->sign < 0) {
                    int64_t j = ns_tile_node(y, block, base + y->offset[n]);
                    factor = j < 0 ? 0 : y->scale[j] / y->scale[i];
                }
                for (int a = 0; a < RP_DIM; a++) {
                    h[a] *= factor;
                    sum += h[a] * h[a];
                }
            }
            y->stress[i].previous[2] = sum;
        }
}

NS_INLINE void visit(ns_system *y, int64_t i, int count, double beta, bool keep, double *restrict tile,
                     const int32_t *restrict at, const ns_four *restrict mask, double *sums)
{
    ns_stress *s = &y->stress[i];
    const double *g = y->g + i * count * RP_DIM;
    double from = s->previous[0] + beta * (s->previous[0] - s->previous[1]), sum = -s->k;
    double part[RP_DIM] = { 0 };
    for (int n = 0; n < count; n++)
        for (int a = 0; a < RP_DIM; a++)
            part[a] += g[n * RP_DIM + a] * tile[NS_PAD * at[n] + a];
    for (int a = 0; a < RP_DIM; a++)
        sum += part[a];
    double w = s->previous[2], to = w > 0 ? from - sum / w : 0;
    to = to > 0 ? to : 0;
    double change = to - from;
    if (keep)
        s->previous[1] = s->previous[0];
    s->previous[0] = to;
    double volume = fabs(change) * w;
    sums[0] = volume > sums[0] ? volume : sums[0];
    sums[1] += change * (to - s->previous[1]) * w;
    if (change != 0)
        for (int n = 0; n < count; n++) {
            ns_four push = { 0 };
            for (int a = 0; a < RP_DIM; a++)
                push[a] = change * g[n * RP_DIM + a];
            if (mask)
                push *= mask[at[n]];
            *(ns_four *)(tile + NS_PAD * at[n]) += push;
        }
}

static void sweep_block(const job *w, int64_t block)
{
    ns_system *y = w->y;
    double *sums = y->partial + 4 * block;
    sums[0] = sums[1] = 0;
    if (!y->active[block])
        return;
    _Alignas(64) double tile[NS_TILE * NS_PAD];
    ns_four mask[NS_TILE];
    int32_t map[NS_TILE], at[NS_STENCIL];
    bool masked = false, direct = y->aliased[block];
    for (int t = 0; t < NS_TILE; t++) {
        int64_t j = ns_tile_node(y, block, t);
        unsigned hold = j >= 0 ? y->hold[j] : 0;
        map[t] = j < 0 ? 0 : (int32_t)j;
        mask[t] = (ns_four){ !(hold & 1), !(hold & 2), !(hold & 4), 0 };
        masked |= hold != 0;
        *(ns_four *)(tile + NS_PAD * t) = j >= 0 ? *(ns_four *)(y->before + NS_PAD * j) : (ns_four){ 0 };
    }
    if (direct) { /* a node stands twice in the tile: work in place, each place with the mask of its node */
        for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits), base = ns_tile_of_local(l);
            ns_four own[NS_STENCIL];
            double near[NS_STENCIL * NS_PAD];
            int32_t index[NS_STENCIL];
            for (int n = 0; n < y->stencil; n++) {
                index[n] = n;
                own[n] = mask[base + y->offset[n]];
                memcpy(near + NS_PAD * n, y->before + (int64_t)NS_PAD * map[base + y->offset[n]], NS_PAD * sizeof(double));
            }
            double before[NS_STENCIL * NS_PAD];
            memcpy(before, near, sizeof before);
            visit(y, block * RP_BLOCK_NODES + l, y->stencil, w->momentum, !w->backward, near, index, own, sums);
            for (int n = 0; n < y->stencil; n++)
                for (int a = 0; a < RP_DIM; a++)
                    y->before[(int64_t)NS_PAD * map[base + y->offset[n]] + a] += near[NS_PAD * n + a] - before[NS_PAD * n + a];
        }
        return;
    }
    uint64_t bits = y->active[block];
    while (bits) {
        int l = w->backward ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits), base = ns_tile_of_local(l);
        bits &= ~((uint64_t)1 << l);
        if (bits) {
            int64_t next = block * RP_BLOCK_NODES + (w->backward ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits));
            const char *g = (const char *)(y->g + next * y->stencil * RP_DIM);
            for (size_t k = 0; k < (size_t)y->stencil * RP_DIM * sizeof(double); k += 64)
                __builtin_prefetch(g + k);
        }
        for (int n = 0; n < y->stencil; n++)
            at[n] = base + y->offset[n];
        visit(y, block * RP_BLOCK_NODES + l, y->stencil, w->momentum, !w->backward, tile, at, masked ? mask : NULL, sums);
    }
    for (int t = 0; t < NS_TILE; t++) {
        int64_t b = y->grid.neighbour[block][y->tile_neighbour[t]];
        if (b >= 0)
            *(ns_four *)(y->before + NS_PAD * (b * RP_BLOCK_NODES + y->tile_local[t])) = *(ns_four *)(tile + NS_PAD * t);
    }
}

static void sweep_item(void *context, int64_t block, int worker)
{
    (void)worker;
    sweep_block(context, block);
}

static void scale_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    double cap = 0.25 * y->lattice.h;
    (void)worker;
    for (int64_t j = begin; j < end; j++)
        for (int a = 0; a < NS_PAD; a++) {
            double d = w->sign * y->before[NS_PAD * j + a] * y->scale[j];
            y->before[NS_PAD * j + a] = d > cap ? cap : d < -cap ? -cap : d;
        }
}

/* w += beta (w - its value a pair of sweeps ago), which is kept in `displaced`. */
static void extrapolate(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t j = begin * NS_PAD; j < end * NS_PAD; j++) {
        double now = y->before[j];
        y->before[j] = now + w->momentum * (now - y->older[j]);
        y->older[j] = now;
    }
}

/* Displacements into y->before when *any; the stresses' own numbers `previous` and `k` are used up. */
rp_result NS(volume_correction)(ns_system *y, double dt, int64_t *iterations, bool *any)
{
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    job w = { .y = y, .full = pow(y->lattice.h, RP_DIM), .t = 1, .limit = 30, .dt = dt };
    double most = -INFINITY, goal = 0.25 * y->params->volume_tolerance * w.full;
    *iterations = 0;
    *any = false;
    rp__exec_max(y->grid.blocks, 16, 1, prepare, &w, &most);
    if (!(most > y->params->volume_tolerance * w.full))
        return RP_OK;
    *any = true;
    w.sign = y->stress_cell ? 1 : -1;
    if (!y->stress_cell)
        rp__exec_for(y->grid.blocks, 8, transpose_blocks, &w);
    rp__exec_for(y->grid.blocks, 8, scale_blocks, &w);
    memset(y->before, 0, (size_t)nodes * NS_PAD * sizeof(double));
    memset(y->older, 0, (size_t)nodes * NS_PAD * sizeof(double));
    double uphill = 0;
    for (w.iterations = 0; w.iterations < w.limit; w.iterations++) {
        w.backward = w.iterations & 1;
        if (!w.backward) {
            if (uphill < 0)
                w.t = 1;
            double next = 0.5 * (1 + sqrt(1 + 4 * w.t * w.t));
            w.momentum = (w.t - 1) / next;
            w.t = next;
            uphill = 0;
            rp__exec_for(nodes, 4096, extrapolate, &w);
        } else {
            w.momentum = 0;
        }
        rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, sweep_item, &w);
        double largest = 0;
        for (int64_t b = 0; b < y->grid.blocks; b++) {
            largest = y->partial[4 * b] > largest ? y->partial[4 * b] : largest;
            uphill += y->partial[4 * b + 1];
        }
        if (largest < goal)
            break;
    }
    rp__exec_for(nodes, 4096, scale_nodes, &w);
    *iterations = w.iterations;
    return RP_OK;
}
