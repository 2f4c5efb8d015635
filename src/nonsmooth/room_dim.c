/* The room for grains around each stress: the integral of N_i over the domain less the bodies. */
#include "nonsmooth/system.h"

#include "exec/exec.h"

#include <math.h>

typedef struct job {
    ns_system *y;
    const rp__world *world;
} job;

static bool closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

/* Part of the support of N_i (node: two cells; cell: one) along one axis inside the domain. */
static double along(const job *w, int axis, int64_t at)
{
    const rp__world *world = w->world;
    int64_t cells = world->cells[axis];
    bool low = closed(world, 2 * axis), high = closed(world, 2 * axis + 1);
    if (w->y->stress_cell)
        return (low && at < 0) || (high && at >= cells) ? 0 : 1;
    double part = 1;
    if (low)
        part -= at < 0 ? 1 : at == 0 ? 0.5 : 0;
    if (high)
        part -= at > cells ? 1 : at == cells ? 0.5 : 0;
    return part > 0 ? part : 0;
}

/* Part of a cube of half side r around x outside the body: exact for a plane through a ball of the same width, close enough else. */
static double outside(const rp__body *body, rp__vec3 x, double r)
{
    rp__vec3 n;
    double d = rp__body_distance(body, rp__body_known_pose(body), x, &n);
    double reach = r * (fabs(n.x) + fabs(n.y) + fabs(n.z));
    if (!(reach > 0))
        reach = r;
    double part = 0.5 + 0.5 * d / reach;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* What the bodies take of stress i: the integral of N_i inside them, from sub-cells of half the size. */
static double taken(const job *w, const rp__body *body, int64_t i)
{
    ns_system *y = w->y;
    int64_t at[3];
    rp__grid_coordinates(&y->grid, i, at);
    double h = y->lattice.h, sum = 0;
    int begin = y->stress_cell ? 0 : -2, end = 2;
    for (int c = RP_DIM == 3 ? begin : 0; c < (RP_DIM == 3 ? end : 1); c++)
        for (int b = begin; b < end; b++)
            for (int a = begin; a < end; a++) {
                double q[3] = { 0.5 * a + 0.25, 0.5 * b + 0.25, RP_DIM == 3 ? 0.5 * c + 0.25 : 0 }, n = 1, x[3] = { 0 };
                for (int k = 0; k < RP_DIM; k++) {
                    double place = (double)at[k] + q[k];
                    n *= 0.5 * (y->stress_cell ? 1 : 1 - fabs(q[k]));
                    x[k] = y->lattice.origin[k] + h * place;
                    if ((closed(w->world, 2 * k) && place < 0) ||
                        (closed(w->world, 2 * k + 1) && place > (double)w->world->cells[k]))
                        n = 0; /* outside the domain already */
                }
                if (!(n > 0))
                    continue;
                sum += n * (1 - outside(body, rp__vec3_load(x), 0.25 * h));
            }
    return sum;
}

static void room_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    double full = pow(y->lattice.h, RP_DIM);
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l, at[3];
            rp__grid_coordinates(&y->grid, i, at);
            double part = full;
            for (int a = 0; a < RP_DIM; a++)
                part *= along(w, a, at[a]);
            y->room[i] = part;
        }
        for (int k = 0; k < w->world->body_count; k++) {
            const rp__body *body = &w->world->bodies[k];
            if (!body->present)
                continue;
            rp__vec3 n, centre = { 0 };
            double x[3] = { 0 }, h = y->lattice.h;
            for (int a = 0; a < RP_DIM; a++)
                x[a] = y->lattice.origin[a] + h * (4.0 * y->grid.coord[b][a] + 1.5);
            centre = rp__vec3_load(x);
            if (rp__body_distance(body, rp__body_known_pose(body), centre, &n) > 3.5 * sqrt(RP_DIM) * h)
                continue;
            for (int l = 0; l < RP_BLOCK_NODES; l++) {
                int64_t i = b * RP_BLOCK_NODES + l;
                if (!(y->volume[i] > 0))
                    continue;
                y->room[i] -= full * taken(w, body, i);
                y->room[i] = y->room[i] > 0 ? y->room[i] : 0;
            }
        }
    }
}

void NS(room)(ns_system *y, const rp__world *world)
{
    job w = { y, world };
    rp__exec_for(y->grid.blocks, 8, room_blocks, &w);
}
