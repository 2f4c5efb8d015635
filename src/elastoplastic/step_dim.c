/* One step, explicit or implicit, compiled for 2D and 3D   [klar2016, §5]. */
#include "elastoplastic/step.h"

#include "base/error.h"
#include "base/memory.h"
#include "elastoplastic/collide.h"
#include "elastoplastic/fields.h"
#include "elastoplastic/implicit.h"
#include "elastoplastic/sweep.h"
#include "exec/exec.h"
#include "transfer/transfer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct state {
    int dim;          /* first: the method reads it to choose between 2D and 3D */
    rp__grid grid;
    /* Nodes. In explicit steps they are in the scratch memory of the particles, which the sort has left by then. */
    double *mass, *velocity[3], *before[3], *mean;
    double *nodes;    /* implicit: memory of these planes */
    int64_t node_capacity;
    rp__elastoplastic_law *laws;
    int first_field;
    double *kept[3];  /* FLIP: velocities of the particles before the transfer */
    int64_t kept_capacity;
    double unsmoothed;    /* time since volumes were last made to agree */
    double *theta;               /* implicit: logarithmic volumes */
    double *open;                /* and gains: scratch memory of the particles */
    int64_t theta_capacity;
    rp__elastoplastic_implicit implicit;
    unsigned char *left;         /* of each block: particles have gone from where its nodes reach */
    int64_t left_capacity;
    rp__elastoplastic_views views;
    double *clear;               /* of each node: the distance of the bodies that stand; NULL: there are none */
    int64_t clear_capacity;
    uint64_t clear_of;           /* which of them were present, as a number; 0: it must be found again */
    bool sorted;                 /* the grid holds the particles, `sorted_count` of them, none added since `sorted_id` */
    int64_t sorted_count, sorted_id;
} state;

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
    rp__base_free(s->views.data);
    for (int a = 0; a < 3; a++)
        rp__base_free(s->kept[a]);
    RP_D(rp__elastoplastic_implicit_free)(&s->implicit);
    rp__base_free(s->laws);
    rp__base_free(s);
}

/* Room for `needed` numbers and an eighth more; what was there is gone. */
static bool make_room(double **array, int64_t *capacity, int64_t needed)
{
    if (needed <= *capacity)
        return true;
    rp__base_free(*array);
    *array = rp__base_alloc_array((size_t)(needed + needed / 8), sizeof(double));
    *capacity = *array ? needed + needed / 8 : 0;
    return *array;
}

/* Finds a place for the planes of the nodes: for this step alone. */
static rp_result place_nodes(state *s, rp__particles *p, bool flip, bool implicit)
{
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES, stride = nodes + 40; /* planes do not meet in the cache */
    int64_t needed = stride * (1 + RP_DIM * (flip ? 2 : 1) + (implicit ? 1 : 0));
    double *at = NULL;
    if (implicit)
        at = make_room(&s->nodes, &s->node_capacity, needed) ? s->nodes : NULL;
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
    return RP_OK;
}

typedef struct work {
    state *s;
    rp__world *world;
    rp__elastoplastic_step step;
    bool flip;               /* FLIP's change of velocity, with (keep_affine) or without the affine part of APIC */
    const double *moving[3]; /* the velocity of the grid at the particles */
    rp__particles *moved;    /* whose gradients the strain follows */
    bool smooths;            /* volumes are made to agree at the end of this step */
} work;

enum { PARTICLES = 2048, NODES = 4096 };

static void strain_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    rp__elastoplastic_strain_kernel(&w->step, w->moved, begin, end);
}

static double damping(const work *w)
{
    return 1 / (1 + w->step.dt * ((const rp__elastoplastic_params *)w->world->params)->damping);
}

/* v* = (p / m + dt g) / (1 + damping dt)   [klar2016, (10)]; the stress is in the momentum already. */
static void node_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    double keep = damping(w);
    for (int a = 0; a < RP_DIM; a++) {
        double *restrict v = w->s->velocity[a];
        const double *restrict m = w->s->mass;
        double gain = w->step.dt * w->world->def->gravity[a];
        for (int64_t i = begin; i < end; i++)
            v[i] = m[i] > 0 ? keep * (v[i] / m[i] + gain) : 0;
    }
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

static void move_freely(work *w, int64_t begin, int64_t end)
{
    rp__particles *p = w->world->particles;
    for (int a = 0; a < RP_DIM; a++)
        for (int64_t i = begin; i < end; i++)
            p->x[a][i] += w->step.dt * w->moving[a][i];
}

/* A ball around where the particles are and where they go. */
static double surround(const work *w, int64_t begin, int64_t end, rp__vec3 *centre)
{
    const rp__particles *p = w->world->particles;
    double middle[3] = { 0 }, square = 0, farthest = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = begin; i < end; i++) {
            double x = p->x[a][i], step = fabs(w->step.dt * w->moving[a][i]);
            low = x < low ? x : low;
            high = x > high ? x : high;
            farthest = step > farthest ? step : farthest;
        }
        middle[a] = 0.5 * (low + high);
        square += 0.25 * (high - low) * (high - low);
    }
    *centre = rp__vec3_load(middle);
    return sqrt(square) + 2 * farthest;
}

/* A body that the particles of the range cannot meet in this step: it is farther from all of them than they and it move. */
static bool out_of_reach(const work *w, const rp__body *body, rp__vec3 centre, double radius)
{
    double now = rp__body_distance(body, &body->pose, centre, NULL), then = rp__body_distance(body, &body->pose_next, centre, NULL);
    return fmin(now, then) > radius + fabs(now - then) + w->s->grid.lattice.h; /* false for NaN */
}

/* The distance from the bodies that stand at particle i of a block, by that of the nearest node: not more than the true one. */
static double clearance(const work *w, int64_t block, int64_t i)
{
    const rp__grid *g = &w->s->grid;
    const rp__particles *p = w->world->particles;
    int64_t inside[3] = { 0 };
    double square = 0;
    int turn[3] = { 1, 3, 9 }, at = RP_NEIGHBOURS / 2;
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&g->lattice, a, p->x[a][i]), node = floor(q + 0.5), offset = node - (double)g->coord[block][a] * RP_BLOCK;
        if (!(offset >= 0 && offset < 2 * RP_BLOCK))
            return -INFINITY; /* gone around, or away */
        square += (q - node) * (q - node);
        inside[a] = (int64_t)offset % RP_BLOCK;
        at += offset >= RP_BLOCK ? turn[a] : 0;
    }
    int32_t owner = g->neighbour[block][at];
    int64_t node = (int64_t)owner * RP_BLOCK_NODES + (inside[2] * RP_BLOCK + inside[1]) * RP_BLOCK + inside[0];
    return owner < 0 ? -INFINITY : w->s->clear[node] - g->lattice.h * sqrt(square);
}

/* A particle that goes `way` from x cannot meet the body, which stands. */
static bool too_far(const rp__body *body, rp__vec3 x, double way)
{
    return rp__elastoplastic_stands(body) && rp__body_distance(body, &body->pose, x, NULL) > way; /* false for NaN */
}

/* The move where there are bodies: a body thinner than the cells, or between their nodes, still holds its grains. */
static void move_among_bodies(work *w, int64_t block, int64_t begin, int64_t end)
{
    enum { MOST = 32 };
    rp__particles *p = w->world->particles;
    double tiny = 1e-6 * w->s->grid.lattice.h;
    const rp__body *near[MOST];
    rp__vec3 centre;
    double radius = surround(w, begin, end, &centre);
    int count = 0;
    bool all = false, moving = false; /* too many for the list; some do not stand */
    for (int b = 0; b < w->world->body_count && !all; b++) {
        const rp__body *body = &w->world->bodies[b];
        if (!body->present || out_of_reach(w, body, centre, radius))
            continue;
        all = count == MOST;
        if (!all)
            near[count++] = body;
        moving = moving || !rp__elastoplastic_stands(body);
    }
    if (count == 0) {
        move_freely(w, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 from = { p->x[0][i], p->x[1][i], p->x[2][i] }, to = from, v = { p->v[0][i], p->v[1][i], p->v[2][i] };
        to.x += w->step.dt * w->moving[0][i];
        to.y += w->step.dt * w->moving[1][i];
        if (RP_DIM == 3)
            to.z += w->step.dt * w->moving[2][i];
        double way = rp__vec3_norm(rp__vec3_sub(to, from)) + 4 * tiny;
        bool free = !moving && !all && block >= 0 && clearance(w, block, i) > way;
        for (int b = 0; b < count && !all && !free; b++)
            if (!too_far(near[b], from, way))
                rp__body_guard(near[b], from, tiny, &to, &v);
        for (int b = 0; b < w->world->body_count && all; b++)
            if (w->world->bodies[b].present)
                rp__body_guard(&w->world->bodies[b], from, tiny, &to, &v);
        p->x[0][i] = to.x, p->x[1][i] = to.y;
        p->v[0][i] = v.x, p->v[1][i] = v.y;
        if (RP_DIM == 3)
            p->x[2][i] = to.z, p->v[2][i] = v.z;
    }
}

static void move_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    if (w->world->body_count)
        move_among_bodies(w, -1, begin, end);
    else
        move_freely(w, begin, end);
}

/* Room for a velocity a particle. */
static rp_result reserve_kept(state *s, const rp__particles *p)
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

/* ---- volumes that agree ---- */

/* Done once the relaxation would be this far, not every step: it is slow beside the elastic wave. */
#define SMOOTHING_STEP 0.05

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
    for (int64_t i = begin; i < end; i++) {
        double open = w->s->open[i], share = part * open / (open + 1e-3);
        rp__elastoplastic_add_theta(&v, i, share * (w->s->theta[i] - rp__elastoplastic_theta(&v, i)));
    }
}

/* The mean of a particle value (times mass) in its neighbourhood, back at the particles. */
static void average(work *w, int order, double *value)
{
    state *s = w->s;
    const rp__particles *p = w->world->particles;
    RP_D(rp__transfer_scalar_to_grid)(&s->grid, p, order, value, s->mean);
    rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, NODES, divide_chunk, w);
    RP_D(rp__transfer_scalar_to_particles)(&s->grid, p, order, s->mean, value);
}

static rp_result smooth_volumes(work *w, int order)
{
    state *s = w->s;
    const rp__particles *p = w->world->particles;
    s->open = rp__particles_scratch(w->world->particles, (size_t)p->count * sizeof(double));
    if (!s->open || !make_room(&s->theta, &s->theta_capacity, p->count))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(p->count, PARTICLES, value_chunk, w);
    average(w, order, s->theta);
    average(w, order, s->open);
    rp__exec_for(p->count, PARTICLES, relax_chunk, w);
    return RP_OK;
}

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
    RP_TRY(reserve_kept(s, p));
    for (int a = 0; a < RP_DIM; a++)
        memcpy(s->kept[a], p->v[a], (size_t)p->count * sizeof(double));
    RP_D(rp__transfer_to_particles)(&s->grid, p, options, velocity, NULL, NULL); /* APIC: gives c, and v of the grid */
    rp__exec_for(p->count, PARTICLES, swap_chunk, w);
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = s->kept[a];
    rp__transfer_options flip = *options;
    flip.kind = RP_TRANSFER_FLIP;
    flip.gradient = -1;
    const double *const before[3] = { s->before[0], s->before[1], s->before[2] };
    RP_D(rp__transfer_to_particles)(&s->grid, p, &flip, velocity, before, NULL);
    return RP_OK;
}

static int64_t count_nodes(const state *s)
{
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES, used = 0;
    for (int64_t i = 0; i < nodes; i++)
        used += s->mass[i] > 0;
    return used;
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

/* Strain and positions follow the velocity of the grid in `moved`, which has gradients and velocities of particles. */
static rp_result finish(work *w, int order)
{
    int64_t count = w->world->particles->count;
    rp__exec_for(count, PARTICLES, strain_chunk, w);
    if (w->smooths) {
        RP_TRY(smooth_volumes(w, order)); /* before the move: the grid holds the places of the particles */
        w->s->unsmoothed = 0;
    }
    rp__exec_for(count, PARTICLES, move_chunk, w);
    return RP_OK;
}

/* ---- the explicit step, in two passes ---- */

static void move_block(work *w, int64_t block, int64_t begin, int64_t end)
{
    if (w->world->body_count)
        move_among_bodies(w, w->s->clear ? block : -1, begin, end);
    else
        move_freely(w, begin, end);
}

static void move_each(void *context, int64_t block, int64_t begin, int64_t end)
{
    work *w = context;
    if (!w->smooths)
        move_block(w, block, begin, end);
}

static void move_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    const int64_t *first = w->s->grid.first;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        if (first[b + 1] > first[b])
            move_block(w, b, first[b], first[b + 1]);
}

/* Keeps clear[] up to date: anew after a sort, and when bodies that stand come or go. */
static rp_result update_clear(state *s, const rp__world *world)
{
    uint64_t present = 0, number = 1469598103934665603u;
    for (int b = 0; b < world->body_count; b++) {
        bool stands = world->bodies[b].present && rp__elastoplastic_stands(&world->bodies[b]);
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
    if (!make_room(&s->clear, &s->clear_capacity, (int64_t)s->grid.blocks * RP_BLOCK_NODES))
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
    return RP_OK;
}

static bool must_sort(const state *s, const rp__particles *p)
{
    return !s->sorted || s->sorted_count != p->count || s->sorted_id != p->next_id || any_left(s);
}

static rp_result sweep_step(work *w, int order, double *t)
{
    state *s = w->s;
    rp__world *world = w->world;
    rp__elastoplastic_sweep sweep = { .g = &s->grid, .p = world->particles, .step = &w->step, .order = order,
                                      .flip = ((const rp__elastoplastic_params *)world->params)->flip };
    if (w->flip)
        RP_TRY(reserve_kept(s, world->particles));
    for (int tries = 0;; tries++) { /* the second time when someone else has moved particles */
        if (tries > 0 || must_sort(s, world->particles))
            RP_TRY(sort_particles(w, order));
        RP_TRY(place_nodes(s, world->particles, w->flip, false));
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
        rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, NODES, flip_chunk, w);
    rp__exec_for((int64_t)s->grid.blocks * RP_BLOCK_NODES, NODES, node_chunk, w);
    RP_TRY(update_clear(s, world));
    RP_D(rp__elastoplastic_collide)(&s->grid, world, w->step.dt, s->mass, s->velocity, s->clear);
    RP_LAP(&world->phases, "grid", *t);
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = sweep.moving[a];
    sweep.move = world->body_count || w->smooths ? move_each : NULL;
    sweep.context = w;
    RP_D(rp__elastoplastic_gather)(&sweep);
    if (w->smooths) { /* the velocities of the nodes have done their work */
        double rate = ((const rp__elastoplastic_params *)world->params)->volume_smoothing;
        sweep.value[0] = s->velocity[0], sweep.value[1] = s->velocity[1];
        sweep.relax = 1 - exp(-rate * s->unsmoothed);
        RP_D(rp__elastoplastic_agree)(&sweep);
        s->unsmoothed = 0;
        rp__exec_for(s->grid.blocks, 2, move_blocks, w);
    }
    RP_LAP(&world->phases, "to_particles", *t);
    return RP_OK;
}

/* Positions and strains move with the velocity before friction, velocities are those after it   [klar2016, §5.4]. */
static rp_result implicit_step(work *w, const rp__transfer_options *options, double *t, rp_step_stats *stats)
{
    state *s = w->s;
    rp__world *world = w->world;
    rp__particles *p = world->particles;
    rp__elastoplastic_implicit *own = &s->implicit;
    int64_t nodes = (int64_t)s->grid.blocks * RP_BLOCK_NODES;
    rp__transfer_options plain = *options;
    plain.kind = w->step.keep_affine ? RP_TRANSFER_APIC : RP_TRANSFER_PIC;
    RP_D(rp__transfer_to_grid)(&s->grid, p, &plain, s->mass, s->velocity);
    rp__exec_for(nodes, NODES, start_chunk, w);
    RP_LAP(&world->phases, "to_grid", *t);
    rp__elastoplastic_system system = { &s->grid, world, &w->step, options->order, damping(w), s->mass, s->velocity, own };
    rp__elastoplastic_report report;
    RP_TRY(RP_D(rp__elastoplastic_prepare)(&system));
    RP_TRY(RP_D(rp__elastoplastic_solve)(&system, &report));
    RP_LAP(&world->phases, "solve", *t);
    for (int a = 0; a < RP_DIM; a++)
        memcpy(s->velocity[a], own->trial[a], (size_t)nodes * sizeof(double));
    RP_D(rp__elastoplastic_rub)(&s->grid, world, w->step.dt, s->mass, own->star, s->velocity);
    RP_LAP(&world->phases, "grid", *t);
    const double *const bar[3] = { own->trial[0], own->trial[1], own->trial[2] };
    RP_D(rp__transfer_to_particles)(&s->grid, &own->view, options, bar, NULL, NULL);
    RP_TRY(to_particles(w, options));
    RP_LAP(&world->phases, "to_particles", *t);
    for (int a = 0; a < RP_DIM; a++)
        w->moving[a] = own->moving[a];
    w->moved = &own->view;
    RP_TRY(finish(w, options->order));
    RP_LAP(&world->phases, "plasticity", *t);
    stats->iterations = report.newton;
    stats->residual_max = report.residual;
    stats->converged = report.converged;
    stats->extra_name[stats->extra_count] = "krylov";
    stats->extra[stats->extra_count++] = (double)report.krylov;
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
    rp__exec_max(p->count, PARTICLES, 1, speed_chunk, p, &fastest);
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
    for (int m = 0; m < world->def->material_count; m++)
        s->laws[m] = rp__elastoplastic_make_law(&world->materials[m], RP_DIM);
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
    s->unsmoothed += dt;
    w.smooths = par->volume_correction && par->volume_smoothing * s->unsmoothed > SMOOTHING_STEP;
    stats->iterations = 0;
    stats->converged = true;
    if (par->integrator == RP_EP_EXPLICIT) {
        RP_TRY(sweep_step(&w, order, &t));
        stats->nodes = count_nodes(s);
        return tell_divergence(&w, true);
    }
    RP_TRY(RP_D(rp__grid_build)(&s->grid, world->particles, order));
    RP_TRY(place_nodes(s, world->particles, w.flip, true));
    RP_LAP(&world->phases, "sort", t);
    rp__transfer_options options = { .order = order,
                                     .kind = RP_TRANSFER_APIC,
                                     .flip = par->flip,
                                     .gradient = s->first_field + RP_EP_GRADIENT };
    RP_TRY(implicit_step(&w, &options, &t, stats));
    stats->nodes = count_nodes(s);
    return tell_divergence(&w, stats->converged);
}

/* Beside the time since volumes were smoothed: the blocks with the particles they hold, where the next step goes on with them.
 * Sorted anew, particles would be added up in another order. */
rp_result RP_D(rp__elastoplastic_save)(const void *self, const rp__world *world, rp_state *out)
{
    const state *s = self;
    RP_TRY(rp_state_add(out, "elastoplastic", RP_F64, 1, &s->unsmoothed));
    if (must_sort(s, world->particles) || s->sorted_count == 0)
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

rp_result RP_D(rp__elastoplastic_restore)(void *self, const rp__world *world, const rp_state *in)
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
