/* Stresses without their alternating part.
 *
 * With trilinear velocities, stresses at nodes that alternate along an axis exert no force: the friction problem leaves them undetermined,
 * and what is in them comes from the start of the solver. The mean [1 2 1] / 4 along each axis, by how full the nodes are, takes them out and keeps what is
 * linear inside; so does [3 2 -1] / 4 at an end that is full, as at a floor. A stress acts by its volume: that of a node with next to
 * nothing may be of any size, and counts
 * as little. There, and at a thin surface, nothing is extrapolated. */
#include "nonsmooth/system.h"

#include "exec/exec.h"

#include <math.h>

#define THICK 0.8 /* an end that is as full as this part of its neighbour is no thin surface */
#define HARDLY 0.1 /* of a cell: what holds less counts less, however little room there is */

typedef struct job {
    const ns_system *y;
    const double *from;
    double *to;
    int64_t stride;
    int count, axis;
} job;

static bool in_use(const ns_system *y, int64_t i)
{
    return i >= 0 && (y->active[i / RP_BLOCK_NODES] >> (i % RP_BLOCK_NODES) & 1);
}

/* The stress beside i along the axis, -1 if there is none. */
static int64_t beside(const ns_system *y, int64_t i, int axis, int way)
{
    static const int step[3] = { 1, 3, 9 };
    int64_t block = i / RP_BLOCK_NODES, j;
    int local = (int)(i % RP_BLOCK_NODES), at = local >> 2 * axis & 3, next = at + way;
    if (next >= 0 && next < RP_BLOCK) {
        j = i + way * (1 << 2 * axis);
    } else {
        block = y->grid.neighbour[block][RP_NEIGHBOURS / 2 + way * step[axis]];
        j = block < 0 ? -1 : block * RP_BLOCK_NODES + local + ((next & 3) - at) * (1 << 2 * axis);
    }
    return in_use(y, j) ? j : -1;
}

/* How full a node is, and not more than what it holds deserves. */
static double counts(const ns_system *y, int64_t i)
{
    double full = pow(y->lattice.h, RP_DIM) * HARDLY, bulk = y->bulk[i];
    double fill = y->room[i] > bulk ? bulk / y->room[i] : 1, held = bulk < full ? bulk / full : 1;
    return fill * held;
}

static void smooth_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = w->y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits), at[3] = { i, i, i };
            double weight[3] = { 1, 0, 0 }, all;
            int64_t low = beside(w->y, i, w->axis, -1), high = beside(w->y, i, w->axis, 1);
            int64_t one = low >= 0 ? low : high, two = one >= 0 ? beside(w->y, one, w->axis, low >= 0 ? -1 : 1) : -1;
            double own = counts(w->y, i), near = one >= 0 ? counts(w->y, one) : 0;
            if (low >= 0 && high >= 0) {
                weight[0] = 2 * own, weight[1] = near, weight[2] = counts(w->y, high);
                at[1] = low, at[2] = high;
            } else if (two >= 0 && own > THICK * near && counts(w->y, two) > THICK * near) {
                weight[0] = 3, weight[1] = 2, weight[2] = -1;
                at[1] = one, at[2] = two;
            } else if (one >= 0) {
                weight[0] = own, weight[1] = near;
                at[1] = one;
            }
            all = weight[0] + weight[1] + weight[2];
            for (int k = 0; k < 3; k++)
                weight[k] /= all;
            for (int c = 0; c < w->count; c++)
                w->to[i * w->stride + c] = weight[0] * w->from[at[0] * w->stride + c] + weight[1] * w->from[at[1] * w->stride + c] +
                                           weight[2] * w->from[at[2] * w->stride + c];
        }
}

double *NS(smooth)(const ns_system *y, double *values, double *scratch, int count, int64_t stride)
{
    for (int axis = 0; axis < (y->stress_cell ? 0 : RP_DIM); axis++) {
        job w = { .y = y, .from = values, .to = scratch, .stride = stride, .count = count, .axis = axis };
        rp__exec_for(y->grid.blocks, 8, smooth_blocks, &w);
        double *other = values;
        values = scratch;
        scratch = other;
    }
    return values;
}
