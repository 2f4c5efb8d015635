/* An implicit step: transfers, solution, friction, strain and motion   [klar2016, §5]. The system itself is in implicit_dim.c. */
#include "base/error.h"
#include "elastoplastic/collide.h"
#include "elastoplastic/state.h"
#include "exec/exec.h"
#include "transfer/transfer.h"

#include <math.h>
#include <string.h>

typedef rp__elastoplastic_state state;
typedef rp__elastoplastic_work work;

/* ---- volumes that agree ---- */

/* theta_p = tr e + gain is the logarithm of a particle's volume. Neighbours see the same flow, so they should agree; when some
 * of them have closed after a separation and others not, a few carry what all should. There theta relaxes to its mean on the
 * grid, theta_j = sum_p m_p N_j theta_p / m_j. Where all are closed nothing is changed: heaps stay at rest. */
static void value_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    const rp__particles *p = w->world->particles;
    rp__elastoplastic_volumes v = rp__elastoplastic_find_volumes(&w->step, p);
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        w->s->theta[i] = p->mass[i] * rp__elastoplastic_theta(&v, i);
        w->s->open[i] = p->mass[i] * rp__elastoplastic_gain(&v, i);
    }
}

static void divide_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        w->s->mean[i] = w->s->mass[i] > 0 ? w->s->mean[i] / w->s->mass[i] : 0;
}

static void relax_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    double rate = ((const rp__elastoplastic_params *)w->world->params)->volume_smoothing;
    double part = 1 - exp(-rate * w->s->unsmoothed);
    rp__elastoplastic_volumes v = rp__elastoplastic_find_volumes(&w->step, w->world->particles);
    for (int64_t i = begin; i < end; i++)
        rp__elastoplastic_settle(&v, i, &(rp__elastoplastic_around){ w->s->theta[i], w->s->open[i], 0, part, w->s->unsmoothed });
}

/* The mean of a particle value (times mass) in its neighbourhood, back at the particles. */
static void average(work *w, int order, double *value)
{
    state *s = w->s;
    const rp__particles *p = w->world->particles;
    RP_D(rp__transfer_scalar_to_grid)(&s->grid, p, order, value, s->mean);
    rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, RP_EP_NODES, divide_chunk, w);
    RP_D(rp__transfer_scalar_to_particles)(&s->grid, p, order, s->mean, value);
}

static rp_result smooth_volumes(work *w, int order)
{
    state *s = w->s;
    const rp__particles *p = w->world->particles;
    s->open = rp__particles_scratch(w->world->particles, (size_t)p->count * sizeof(double));
    if (!s->open || !RP_D(rp__elastoplastic_make_room)(&s->theta, &s->theta_capacity, p->count))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(p->count, RP_EP_PARTICLES, value_chunk, w);
    average(w, order, s->theta);
    average(w, order, s->open);
    rp__exec_for(p->count, RP_EP_PARTICLES, relax_chunk, w);
    return RP_OK;
}

/* ---- the step ---- */

/* kept <- velocity of the grid, particles <- their old one */
static void swap_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    for (int a = 0; a < RP_DIM; a++) {
        double *restrict v = w->world->particles->v[a], *restrict kept = w->s->kept[a];
        for (int64_t i = begin; i < end; i++) {
            double old = kept[i];
            kept[i] = v[i];
            v[i] = old;
        }
    }
}

/* Velocities and gradients back to the particles; the velocity of the grid, with which they move, goes to `moving`. */
static rp_result to_particles(work *w, const rp__transfer_options *options)
{
    state *s = w->s;
    rp__particles *p = w->world->particles;
    const double *const velocity[3] = { s->velocity[0], s->velocity[1], s->velocity[2] };
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = p->v[a];
    if (!w->flip) {
        RP_D(rp__transfer_to_particles)(&s->grid, p, options, velocity, NULL, NULL);
        return RP_OK;
    }
    RP_TRY(RP_D(rp__elastoplastic_reserve_kept)(s, p));
    for (int a = 0; a < RP_DIM; a++)
        memcpy(s->kept[a], p->v[a], (size_t)p->count * sizeof(double));
    RP_D(rp__transfer_to_particles)(&s->grid, p, options, velocity, NULL, NULL); /* APIC: gives c, and v of the grid */
    rp__exec_for(p->count, RP_EP_PARTICLES, swap_chunk, w);
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = s->kept[a];
    rp__transfer_options flip = *options;
    flip.kind = RP_TRANSFER_FLIP;
    flip.gradient = -1;
    const double *const before[3] = { s->before[0], s->before[1], s->before[2] };
    RP_D(rp__transfer_to_particles)(&s->grid, p, &flip, velocity, before, NULL);
    return RP_OK;
}

/* Velocities on the grid at the beginning of the step, without forces, in s->velocity and, for FLIP, in s->before too. */
static void start_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    for (int a = 0; a < RP_DIM; a++)
        for (int64_t i = begin; i < end; i++) {
            double v = w->s->mass[i] > 0 ? w->s->velocity[a][i] / w->s->mass[i] : 0;
            w->s->velocity[a][i] = v;
            if (w->flip)
                w->s->before[a][i] = v;
        }
}

static void strain_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    rp__elastoplastic_strain_kernel(&w->step, w->moved, begin, end);
}

static void move_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    RP_D(rp__elastoplastic_move)(w, -1, begin, end);
}

/* Strain and positions follow the velocity of the grid in `moved`, which has gradients and velocities of particles. */
static rp_result finish(work *w, int order)
{
    int64_t count = w->world->particles->count;
    rp__exec_for(count, RP_EP_PARTICLES, strain_chunk, w);
    if (w->smooths) {
        RP_TRY(smooth_volumes(w, order)); /* before the move: the grid holds the places of the particles */
        w->s->unsmoothed = 0;
    }
    rp__exec_for(count, RP_EP_PARTICLES, move_chunk, w);
    return RP_OK;
}

/* Positions and strains move with the velocity before friction, velocities are those after it   [klar2016, §5.4]. */
rp_result RP_D(rp__elastoplastic_implicit_step)(work *w, int order, double *t, rp_step_stats *stats)
{
    state *s = w->s;
    rp__world *world = w->world;
    rp__particles *p = world->particles;
    rp__elastoplastic_implicit *own = &s->implicit;
    rp__transfer_options options = { .order = order,
                                     .kind = RP_TRANSFER_APIC,
                                     .flip = ((const rp__elastoplastic_params *)world->params)->flip,
                                     .gradient = s->first_field + RP_EP_GRADIENT };
    RP_TRY(RP_D(rp__grid_build)(&s->grid, p, order));
    RP_TRY(RP_D(rp__elastoplastic_place_nodes)(s, p, w->flip, true));
    RP_LAP(&world->phases, "sort", *t);
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES;
    rp__transfer_options plain = options;
    plain.kind = w->step.keep_affine ? RP_TRANSFER_APIC : RP_TRANSFER_PIC;
    RP_D(rp__transfer_to_grid)(&s->grid, p, &plain, s->mass, s->velocity);
    rp__exec_for(nodes, RP_EP_NODES, start_chunk, w);
    RP_LAP(&world->phases, "to_grid", *t);
    rp__elastoplastic_system system = { &s->grid, world, &w->step, order, rp__elastoplastic_damping(w), s->mass, s->velocity, own };
    rp__elastoplastic_report report;
    RP_TRY(RP_D(rp__elastoplastic_prepare)(&system));
    RP_TRY(RP_D(rp__elastoplastic_solve)(&system, &report));
    RP_TRY(rp__sim_given_up(world)); /* what follows changes the particles */
    RP_LAP(&world->phases, "solve", *t);
    for (int a = 0; a < RP_DIM && nodes; a++)
        memcpy(s->velocity[a], own->trial[a], (size_t)nodes * sizeof(double));
    RP_D(rp__elastoplastic_rub)(&s->grid, world, w->step.dt, s->mass, own->star, s->velocity);
    RP_LAP(&world->phases, "grid", *t);
    const double *const bar[3] = { own->trial[0], own->trial[1], own->trial[2] };
    RP_D(rp__transfer_to_particles)(&s->grid, &own->view, &options, bar, NULL, NULL);
    RP_TRY(to_particles(w, &options));
    RP_LAP(&world->phases, "to_particles", *t);
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = own->moving[a];
    w->moved = &own->view;
    RP_TRY(finish(w, order));
    RP_LAP(&world->phases, "plasticity", *t);
    stats->iterations = report.newton;
    stats->residual_max = report.residual;
    stats->converged = report.converged;
    stats->extra_name[stats->extra_count] = "krylov";
    stats->extra[stats->extra_count++] = (double)report.krylov;
    return RP_OK;
}
