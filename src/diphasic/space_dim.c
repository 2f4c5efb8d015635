/* The room that bodies leave: of cells the volume outside of them, of nodes the integral of N over it. How full a place beside a body is depends
 * on it: with the whole volume in its stead grains pressed into a corner of a box would count as loose for ever.
 *
 * A cell that a body may cut is looked at in points, each of which counts as far as its own small cube is outside. */
#include "diphasic/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

enum { POINTS = RP_DIM == 3 ? 3 : 6 }; /* along an axis */

typedef struct job {
    dp_system *y;
    const rp__world *world;
} job;

/* To the nearest of the bodies, where they are now; less than zero inside. */
static double distance(const rp__world *world, const double *x)
{
    double least = INFINITY;
    for (int b = 0; b < world->body_count; b++) {
        const rp__body *body = &world->bodies[b];
        if (body->present)
            least = fmin(least, rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL));
    }
    return least;
}

/* What of a cell is outside, and of that what each of its corners has: h^d times the sums of 1 and of N. */
static double outside_part(const job *w, const int64_t at[3], double part[DP_CORNERS])
{
    const dp_system *y = w->y;
    double h = y->lattice.h, x[3] = { 0 }, t[RP_DIM], weight[DP_CORNERS], all = 0;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + h * ((double)at[a] + 0.5);
    double middle = distance(w->world, x), reach = 0.5 * sqrt(RP_DIM) * h;
    memset(part, 0, DP_CORNERS * sizeof *part);
    if (middle >= reach || middle <= -reach) {
        for (int n = 0; n < DP_CORNERS && middle > 0; n++)
            part[n] = 1.0 / DP_CORNERS;
        return middle > 0;
    }
    const int points = RP_DIM == 3 ? POINTS * POINTS * POINTS : POINTS * POINTS;
    for (int k = 0; k < points; k++) {
        const int place[3] = { k % POINTS, k / POINTS % POINTS, k / (POINTS * POINTS) };
        for (int a = 0; a < RP_DIM; a++) {
            t[a] = (place[a] + 0.5) / POINTS;
            x[a] = y->lattice.origin[a] + h * ((double)at[a] + t[a]);
        }
        double free = 0.5 + distance(w->world, x) * POINTS / h;
        free = (free < 0 ? 0 : free > 1 ? 1 : free) / points;
        dp_weights(t, weight);
        all += free;
        for (int n = 0; n < DP_CORNERS; n++)
            part[n] += free * weight[n];
    }
    return all;
}

/* Only where grains are: cells with grains, and those that share a node with them. */
static void find_parts(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    double cell = pow(y->lattice.h, RP_DIM);
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        bool near = false;
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            near = near || y->grains[corner[n]] > 0;
        if (!near)
            continue;
        double *part = y->part + DP_CORNERS * c;
        y->free_cell[c] = cell * outside_part(w, at, part);
        for (int n = 0; n < DP_CORNERS; n++)
            part[n] *= cell;
    }
}

static void add_parts(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = ((const job *)context)->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3];
        if (!(y->grains[j] > 0))
            continue;
        dp_place(y->nodes, j, at);
        y->free_node[j] = 0;
        for (int n = 0; n < DP_CORNERS; n++) {
            int64_t c = dp_cell_at_corner(y, at, n);
            y->free_node[j] += c < 0 ? 0 : y->part[DP_CORNERS * c + n];
        }
    }
}

void DP(find_space)(dp_system *y, const rp__world *world)
{
    job w = { y, world };
    if (world->body_count) {
        rp__exec_for(y->cell_count, 128, find_parts, &w);
        rp__exec_for(y->node_count, 512, add_parts, &w);
        return;
    }
    memcpy(y->free_node, y->volume, (size_t)y->node_count * sizeof(double));
    for (int64_t c = 0; c < y->cell_count; c++)
        y->free_cell[c] = pow(y->lattice.h, RP_DIM);
}
