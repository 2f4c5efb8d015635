/* Orientation of flat grains: at birth, averaged at the stresses, and turned by the flow. The kernels are in orientation.h. */
#include "nonsmooth/orientation.h"

#include "exec/exec.h"

typedef struct job {
    ns_system *y;
    const rp__world *world;
    const double *gradient[9];
    double *nu[6], dt;
} job;

static job make_job(ns_system *y, const rp__world *world)
{
    job w = { .y = y, .world = world };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_GRADIENT, c);
    for (int c = 0; c < 6; c++)
        w.nu[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_ORIENTATION, c);
    return w;
}

/* The material's normal n: nu = n n^T; none: random, nu = I / d. */
void NS(orient_born)(ns_system *y, const rp__world *world, int64_t first, int64_t count)
{
    static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
    job w = make_job(y, world);
    for (int64_t i = first; i < first + count; i++) {
        const double *n = world->materials[world->particles->material[i]].orientation;
        double square = 0;
        for (int a = 0; a < RP_DIM; a++)
            square += n[a] * n[a];
        for (int c = 0; c < 6; c++) {
            int a = at[c][0], b = at[c][1];
            if (a >= RP_DIM || b >= RP_DIM)
                w.nu[c][i] = 0;
            else
                w.nu[c][i] = square > 0 ? n[a] * n[b] / square : a == b ? 1.0 / RP_DIM : 0;
        }
    }
}

/* sum V alpha nu N_i. Particles of a cell are neighbours in the order of the grid. */
static void gather_block(void *context, int64_t block, int worker)
{
    static const int field[6] = { 0, 1, RP_DIM == 3 ? 2 : 3, 3, 4, 5 };
    const job *w = context;
    const ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    double sums[NS_CORNERS][NS_S];
    int64_t node[NS_CORNERS];
    int cell = -1;
    (void)worker;
    for (int64_t i = y->grid.first[block]; i <= y->grid.first[block + 1]; i++) {
        double t[3] = { 0 };
        int at = -2;
        if (i < y->grid.first[block + 1]) {
            at = 0;
            for (int a = 0; a < RP_DIM; a++) {
                double q = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = floor(q);
                t[a] = ns_inside(q - base);
                at |= ((int32_t)base & 3) << 2 * a;
            }
        }
        if (at != cell) {
            for (int n = 0; cell >= 0 && n < (y->stress_cell ? 1 : NS_CORNERS); n++)
                for (int c = 0; c < NS_S; c++)
                    y->orientation[NS_S * node[n] + c] += sums[n][c];
            if (at < 0)
                return;
            cell = at;
            memset(sums, 0, sizeof sums);
            for (int n = 0; n < NS_CORNERS; n++)
                node[n] = ns_tile_node(y, block, ns_tile_of_local(cell) + (n & 1) + NS_TILE_SIDE * ((n >> 1 & 1) + NS_TILE_SIDE * (n >> 2)));
        }
        double weight = p->volume[i] * w->world->materials[p->material[i]].anisotropy;
        if (!(weight > 0))
            continue;
        for (int n = 0; n < (y->stress_cell ? 1 : NS_CORNERS); n++) {
            double share = weight;
            for (int a = 0; a < RP_DIM && !y->stress_cell; a++)
                share *= n >> a & 1 ? t[a] : 1 - t[a];
            for (int c = 0; c < NS_S; c++)
                sums[n][c] += share * w->nu[field[c]][i];
        }
    }
}

rp_result NS(gather_orientation)(ns_system *y, const rp__world *world)
{
    job w = make_job(y, world);
    memset(y->orientation, 0, (size_t)y->grid.blocks * RP_BLOCK_NODES * NS_S * sizeof(double));
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, gather_block, &w);
    return RP_OK;
}

static void turn_particles(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double c[3][3], nu[6], size = 0;
        for (int k = 0; k < 9; k++) {
            c[k / 3][k % 3] = w->gradient[k][i];
            size += fabs(w->gradient[k][i]);
        }
        if (!(size * w->dt > 1e-14)) /* at rest */
            continue;
        for (int k = 0; k < 6; k++)
            nu[k] = w->nu[k][i];
        ns_turn_one(nu, c, w->world->materials[p->material[i]].elongation, w->dt, w->y->params->orientation);
        for (int k = 0; k < 6; k++)
            w->nu[k][i] = nu[k];
    }
}

void NS(turn)(ns_system *y, const rp__world *world, double dt)
{
    job w = make_job(y, world);
    w.dt = dt;
    rp__exec_for(world->particles->count, 2048, turn_particles, &w);
}
