/* One step, explicit or implicit, compiled for 2D and 3D   [klar2016, §5]. */
#include "elastoplastic/step.h"

#include "base/error.h"
#include "base/memory.h"
#include "elastoplastic/collide.h"
#include "elastoplastic/room.h"
#include "elastoplastic/state.h"
#include "elastoplastic/sweep.h"
#include "exec/exec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef rp__elastoplastic_state state;
typedef rp__elastoplastic_work work;

rp_result RP_D(rp__elastoplastic_create)(rp__world *world, int first_field, void **out)
{
    state *s = RP_NEW(state);
    rp__elastoplastic_law *laws = RP_NEW_ARRAY(rp__elastoplastic_law, world->def->material_count);
    rp__lattice lattice = { .h = world->def->cell_size };
    for (int a = 0; a < RP_DIM; a++) {
        lattice.origin[a] = world->def->lower[a];
        lattice.cells[a] = world->cells[a];
        lattice.periodic[a] = world->def->wall[2 * a].kind == RP_PERIODIC;
    }
    if (RP_DIM == 2)
        lattice.cells[2] = 1;
    rp_result result = s && laws ? RP_D(rp__grid_init)(&s->grid, &lattice) : RP_OUT_OF_MEMORY;
    if (result != RP_OK) {
        rp__base_free(s);
        rp__base_free(laws);
        return result;
    }
    s->dim = RP_DIM;
    s->laws = laws;
    s->first_field = first_field;
    *out = s;
    return RP_OK;
}

void RP_D(rp__elastoplastic_destroy)(void *self)
{
    state *s = self;
    RP_D(rp__grid_free)(&s->grid);
    rp__base_free(s->nodes);
    rp__base_free(s->theta);
    rp__base_free(s->left);
    rp__base_free(s->clear);
    rp__base_free(s->sight);
    rp__base_free(s->views.data);
    for (int a = 0; a < 3; a++)
        rp__base_free(s->kept[a]);
    RP_D(rp__elastoplastic_implicit_free)(&s->implicit);
    rp__base_free(s->laws);
    rp__base_free(s);
}

/* Room for `needed` numbers and an eighth more; what was there is gone. */
bool RP_D(rp__elastoplastic_make_room)(double **array, int64_t *capacity, int64_t needed)
{
    if (needed <= *capacity)
        return true;
    rp__base_free(*array);
    *array = rp__base_alloc_array((size_t)(needed + needed / 8), sizeof(double));
    *capacity = *array ? needed + needed / 8 : 0;
    return *array;
}

/* Finds a place for the planes of the nodes: for this step alone. */
rp_result RP_D(rp__elastoplastic_place_nodes)(state *s, rp__particles *p, bool flip, bool implicit)
{
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES, stride = nodes + 40; /* planes do not meet in the cache */
    int64_t needed = stride * (1 + RP_DIM * (flip ? 2 : 1) + (RP_DIM == 2 || implicit ? 1 : 0));
    double *at = NULL;
    if (implicit)
        at = RP_D(rp__elastoplastic_make_room)(&s->nodes, &s->node_capacity, needed) ? s->nodes : NULL;
    else if ((size_t)needed * sizeof(double) <= p->spare_size)
        at = p->spare;
    else
        at = rp__particles_scratch(p, (size_t)(needed + needed / 16) * sizeof(double));
    if (!at)
        return RP_OUT_OF_MEMORY;
    s->mass = at;
    for (int a = 0; a < RP_DIM; a++)
        s->velocity[a] = at += stride;
    for (int a = 0; a < RP_DIM && flip; a++)
        s->before[a] = at += stride;
    s->mean = implicit ? at + stride : NULL;
    s->room = RP_DIM == 2 ? at + stride : s->velocity[2];
    return RP_OK;
}

/* v* = (p / m + dt g) / (1 + damping dt)   [klar2016, (10)]; the stress is in the momentum already. */
static void node_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    double keep = rp__elastoplastic_damping(w);
    for (int a = 0; a < RP_DIM; a++) {
        double *restrict v = w->s->velocity[a];
        const double *restrict m = w->s->mass;
        double gain = w->step.dt * w->world->def->gravity[a];
        for (int64_t i = begin; i < end; i++)
            v[i] = m[i] > 0 ? keep * (v[i] / m[i] + gain) : 0;
    }
}

/* Room for a velocity a particle. */
rp_result RP_D(rp__elastoplastic_reserve_kept)(state *s, const rp__particles *p)
{
    int64_t capacity = s->kept_capacity;
    for (int a = 0; a < RP_DIM; a++) {
        capacity = s->kept_capacity;
        if (!rp__base_grow(&s->kept[a], &capacity, p->count, sizeof(double)))
            return RP_OUT_OF_MEMORY;
    }
    s->kept_capacity = capacity;
    return RP_OK;
}

/* FLIP: the impulse of the stresses comes to the momentum without it, whose velocity is kept. */
static void flip_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    for (int a = 0; a < RP_DIM; a++) {
        double *restrict v = w->s->velocity[a], *restrict before = w->s->before[a];
        const double *restrict m = w->s->mass;
        for (int64_t i = begin; i < end; i++) {
            v[i] += before[i];
            before[i] = m[i] > 0 ? before[i] / m[i] : 0;
        }
    }
}

static int64_t count_nodes(const state *s)
{
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES, used = 0;
    for (int64_t i = 0; i < nodes; i++)
        used += s->mass[i] > 0;
    return used;
}

/* ---- the explicit step, in two passes ---- */

static void move_each(void *context, int64_t block, int64_t begin, int64_t end)
{
    work *w = context;
    if (!w->smooths)
        RP_D(rp__elastoplastic_move)(w, w->s->clear ? block : -1, begin, end);
}

static void move_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    const int64_t *first = w->s->grid.first;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        if (first[b + 1] > first[b])
            RP_D(rp__elastoplastic_move)(w, w->s->clear ? b : -1, first[b], first[b + 1]);
}

/* Keeps clear[] up to date: anew after a sort, and when bodies that stand come or go. */
static rp_result update_clear(state *s, const rp__world *world)
{
    uint64_t present = 0, number = 1469598103934665603u;
    for (int b = 0; b < world->body_count; b++) {
        bool stands = world->bodies[b].present && rp__body_rests(&world->bodies[b]);
        present += stands;
        number = (number ^ (stands ? 2u : 1u)) * 1099511628211u;
    }
    if (present == 0) {
        rp__base_free(s->clear);
        s->clear = NULL;
        s->clear_capacity = 0;
        return RP_OK;
    }
    number |= 1;
    if (s->clear && s->clear_of == number)
        return RP_OK;
    if (!RP_D(rp__elastoplastic_make_room)(&s->clear, &s->clear_capacity, (int64_t)s->grid.blocks * RP_BLOCK_NODES))
        return RP_OUT_OF_MEMORY;
    RP_D(rp__elastoplastic_find_clear)(&s->grid, world, s->clear);
    s->clear_of = number;
    return RP_OK;
}

static bool any_left(const state *s)
{
    return s->grid.blocks > 0 && memchr(s->left, 1, (size_t)s->grid.blocks);
}

/* Memory for the blocks of the grid. */
static rp_result hold_blocks(state *s)
{
    if (s->grid.blocks > s->left_capacity) {
        s->left_capacity = 0;
        rp__base_free(s->left);
        s->left = rp__base_alloc((size_t)s->grid.capacity);
        if (!s->left)
            return RP_OUT_OF_MEMORY;
        s->left_capacity = s->grid.capacity;
    }
    if (s->grid.blocks)
        memset(s->left, 0, (size_t)s->grid.blocks);
    s->clear_of = 0;
    return RP_OK;
}

/* Sorts the particles and finds the blocks they are in. */
static rp_result sort_particles(work *w, int order)
{
    state *s = w->s;
    rp__particles *p = w->world->particles;
    s->sorted = false;
    RP_TRY((order == 2 ? RP_D(rp__grid_build_loose) : RP_D(rp__grid_build))(&s->grid, p, order));
    RP_TRY(hold_blocks(s));
    s->sorted = true;
    s->sorted_count = p->count;
    s->sorted_id = p->next_id;
    s->sorted_disturbed = w->world->disturbed;
    return RP_OK;
}

static bool must_sort(const state *s, const rp__world *world)
{
    const rp__particles *p = world->particles;
    return !s->sorted || s->sorted_count != p->count || s->sorted_id != p->next_id || s->sorted_disturbed != world->disturbed || any_left(s);
}

static rp_result sweep_step(work *w, int order, double *t)
{
    state *s = w->s;
    rp__world *world = w->world;
    rp__elastoplastic_sweep sweep = { .g = &s->grid, .p = world->particles, .step = &w->step, .order = order,
                                      .flip = ((const rp__elastoplastic_params *)world->params)->flip };
    if (w->flip)
        RP_TRY(RP_D(rp__elastoplastic_reserve_kept)(s, world->particles));
    for (int tries = 0;; tries++) { /* the second time when someone else has moved particles */
        if (tries > 0 || must_sort(s, world))
            RP_TRY(sort_particles(w, order));
        RP_TRY(RP_D(rp__elastoplastic_place_nodes)(s, world->particles, w->flip, false));
        RP_LAP(&world->phases, "sort", *t);
        sweep.mass = s->mass, sweep.left = s->left;
        for (int a = 0; a < RP_DIM; a++) {
            sweep.velocity[a] = s->velocity[a];
            sweep.before[a] = w->flip ? s->before[a] : NULL;
            sweep.moving[a] = w->flip ? s->kept[a] : world->particles->v[a];
        }
        RP_D(rp__elastoplastic_scatter)(&sweep);
        RP_LAP(&world->phases, "to_grid", *t);
        if (!any_left(s))
            break;
        assert(tries == 0);
    }
    if (w->flip)
        rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, RP_EP_NODES, flip_chunk, w);
    rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, RP_EP_NODES, node_chunk, w);
    RP_TRY(update_clear(s, world));
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES;
    if (world->body_count && !rp__base_grow(&s->sight, &s->sight_capacity, nodes, sizeof *s->sight))
        return RP_OUT_OF_MEMORY;
    RP_D(rp__elastoplastic_collide)(&s->grid, world, w->step.dt, s->mass, s->velocity, s->clear, world->body_count ? s->sight : NULL);
    RP_LAP(&world->phases, "grid", *t);
    RP_TRY(rp__sim_given_up(world)); /* what follows changes the particles */
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = sweep.moving[a];
    sweep.move = world->body_count || w->smooths ? move_each : NULL;
    sweep.context = w;
    RP_D(rp__elastoplastic_gather)(&sweep);
    if (w->smooths) { /* the velocities of the nodes have done their work */
        double rate = ((const rp__elastoplastic_params *)world->params)->volume_smoothing;
        sweep.value[0] = s->velocity[0], sweep.value[1] = s->velocity[1], sweep.value[2] = s->mass, sweep.value[3] = s->room;
        RP_D(rp__elastoplastic_find_room)(&s->grid, world, order, s->room);
        sweep.relax = 1 - exp(-rate * s->unsmoothed), sweep.since = s->unsmoothed;
        RP_D(rp__elastoplastic_agree)(&sweep);
        s->unsmoothed = 0;
        rp__exec_for(s->grid.blocks, 2, move_blocks, w);
    }
    RP_LAP(&world->phases, "to_particles", *t);
    return RP_OK;
}

static void speed_chunk(void *context, int64_t begin, int64_t end, double *most)
{
    const rp__particles *p = context;
    for (int64_t i = begin; i < end; i++)
        for (int a = 0; a < RP_DIM; a++)
            most[0] = fabs(p->v[a][i]) <= most[0] ? most[0] : isnan(p->v[a][i]) ? INFINITY : fabs(p->v[a][i]);
}

/* A step that was forced beyond the limit of the elastic wave, or did not converge, may have thrown grains about. */
static rp_result tell_divergence(const work *w, bool converged)
{
    const rp__elastoplastic_params *par = w->world->params;
    rp__particles *p = w->world->particles;
    double h = w->world->def->cell_size, fastest = 0, dt = w->step.dt, limit = rp__elastoplastic_wave_limit(w->world);
    bool implicit = par->integrator == RP_EP_IMPLICIT;
    if (p->count == 0 || (implicit ? converged : dt <= limit))
        return RP_OK;
    rp__exec_max(p->count, RP_EP_PARTICLES, 1, speed_chunk, p, &fastest);
    if (fastest * dt < 100 * h)
        return RP_OK;
    if (implicit)
        return rp__base_fail(RP_DIVERGED,
                             "at t = %g s grains move at %g m/s after an implicit step of %g s that did not converge; a smaller "
                             "dt_max or cfl, or more 'newton' and 'krylov' iterations, would help",
                             w->world->time, fastest, dt);
    return rp__base_fail(RP_DIVERGED,
                         "at t = %g s grains move at %g m/s: the step of %g s is longer than the %g s in which an elastic wave crosses a "
                         "cell; leave 'substeps' and 'dt_min' out, lower youngs_modulus, or choose 'integrator: implicit'",
                         w->world->time, fastest, dt, limit);
}

rp_result RP_D(rp__elastoplastic_advance)(void *self, rp__world *world, double dt, rp_step_stats *stats)
{
    state *s = self;
    const rp__elastoplastic_params *par = world->params;
    int order = par->kernel == 0 ? 2 : 3;
    double h = world->def->cell_size, t = rp__base_seconds();
    for (int m = 0; m < world->def->material_count; m++) {
        s->laws[m] = rp__elastoplastic_make_law(&world->materials[m], RP_DIM);
        rp__elastoplastic_round_tip(&s->laws[m], &world->materials[m], RP_DIM, par->apex, rp__vec3_norm(rp__vec3_load(world->def->gravity)),
                               h, dt);
    }
    work w = { .s = s,
               .world = world,
               .flip = par->transfer != RP_EP_APIC,
               .step = { .dt = dt,
                         .dim = RP_DIM,
                         .inverse_d = (order == 2 ? 4 : 3) / (h * h),
                         .correct_volume = par->volume_correction,
                         .keep_affine = par->transfer != RP_EP_FLIP,
                         .laws = s->laws,
                         .first_field = s->first_field,
                         .single = par->storage == 1 } };
    double unsmoothed = s->unsmoothed;
    s->unsmoothed += dt;
    w.smooths = par->volume_correction && par->volume_smoothing * s->unsmoothed > RP_EP_SMOOTHING_STEP;
    stats->iterations = 0;
    stats->converged = true;
    bool explicit = par->integrator == RP_EP_EXPLICIT;
    rp_result result = explicit ? sweep_step(&w, order, &t) : RP_D(rp__elastoplastic_implicit_step)(&w, order, &t, stats);
    if (result == RP_CANCELLED)
        s->unsmoothed = unsmoothed;
    RP_TRY(result);
    stats->nodes = count_nodes(s);
    return tell_divergence(&w, explicit || stats->converged);
}

/* Beside the time since volumes were smoothed: the blocks with the particles they hold, where the next step goes on with them.
 * Sorted anew, particles would be added up in another order. */
rp_result RP_D(rp__elastoplastic_save)(const void *self, const rp__world *world, rp_state *out)
{
    const state *s = self;
    RP_TRY(rp_state_add(out, "elastoplastic", RP_F64, 1, &s->unsmoothed));
    if (must_sort(s, world) || s->sorted_count == 0)
        return RP_OK;
    int32_t (*occupied)[4] = rp__base_alloc((size_t)s->grid.blocks * sizeof *occupied);
    if (!occupied)
        return RP_OUT_OF_MEMORY;
    int64_t count = 0;
    for (int32_t b = 0; b < s->grid.blocks; b++)
        if (s->grid.first[b + 1] > s->grid.first[b]) {
            memcpy(occupied[count], s->grid.coord[b], sizeof s->grid.coord[b]);
            occupied[count++][3] = (int32_t)(s->grid.first[b + 1] - s->grid.first[b]);
        }
    rp_result result = rp_state_add(out, "elastoplastic_blocks", RP_I32, 4 * count, occupied);
    rp__base_free(occupied);
    return result;
}

rp_result RP_D(rp__elastoplastic_restore)(void *self, rp__world *world, const rp_state *in)
{
    state *s = self;
    const rp_blob *blob = rp_state_find(in, "elastoplastic"), *blocks = rp_state_find(in, "elastoplastic_blocks");
    if (!blob || blob->type != RP_F64 || blob->count != 1)
        return rp__base_fail(RP_BAD_FILE, "the checkpoint does not hold the state of the elastoplastic method");
    s->unsmoothed = *(const double *)blob->data;
    s->sorted = false;
    if (!blocks)
        return RP_OK;
    const int32_t (*occupied)[4] = blocks->data;
    int64_t held = 0;
    bool good = blocks->type == RP_I32 && blocks->count > 0 && blocks->count % 4 == 0;
    for (int64_t b = 0; b < blocks->count / 4 && good; b++) {
        good = occupied[b][3] > 0;
        held += occupied[b][3];
    }
    if (!good || held != world->particles->count || RP_D(rp__grid_rebuild)(&s->grid, blocks->count / 4, occupied) != RP_OK)
        return rp__base_fail(RP_BAD_FILE, "the checkpoint's blocks of particles (\"elastoplastic_blocks\") do not fit its %lld particles",
                             (long long)world->particles->count);
    RP_TRY(hold_blocks(s));
    s->sorted = true;
    s->sorted_count = world->particles->count;
    s->sorted_id = world->particles->next_id;
    s->sorted_disturbed = world->disturbed;
    return RP_OK;
}

rp_result RP_D(rp__elastoplastic_fields)(void *self, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes)
{
    state *s = self;
    const rp__elastoplastic_params *par = world->params;
    RP_TRY(RP_D(rp__elastoplastic_node_fields)(&s->grid, world, s->first_field, par->storage == 1,
                                               par->integrator == RP_EP_IMPLICIT, &s->views, nodes));
    *views = s->views.view;
    *count = RP_EP_VIEWS;
    return RP_OK;
}
