/* Orientation of flat grains: at birth, averaged at the stresses, and turned by the flow. The kernels are in orientation.h. */
#include "nonsmooth/orientation.h"

#include "exec/exec.h"

typedef struct job {
    ns_grains *y;
    const rp__world *world;
    const double *gradient[9];
    double *nu[6], dt;
} job;

static job make_job(ns_grains *y, const rp__world *world)
{
    job w = { .y = y, .world = world };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_GRADIENT, c);
    for (int c = 0; c < 6; c++)
        w.nu[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_ORIENTATION, c);
    return w;
}

/* The material's normal n: nu = n n^T; none: random, nu = I / d. */
void NS(orient_born)(ns_grains *y, const rp__world *world, int64_t first, int64_t count)
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

void NS(turn)(ns_grains *y, const rp__world *world, double dt)
{
    job w = make_job(y, world);
    w.dt = dt;
    rp__exec_for(world->particles->count, 2048, turn_particles, &w);
}
