/* Particles that come and go: the grains at the start, emitters, sinks. */
#include "base/error.h"
#include "base/log.h"
#include "exec/exec.h"
#include "math/random.h"
#include "shape/sampling.h"
#include "shape/shape_internal.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double rp__sim_spacing(const rp_sim_def *def, double per_cell)
{
    return def->cell_size / pow(per_cell, 1.0 / def->dim);
}

/* Radius of the particles of a method of balls; 0 for others. */
static double ball_radius(const rp_sim *sim)
{
    return sim->method->grain_radius ? sim->method->grain_radius(&sim->def, sim->params) : 0;
}

double rp__sim_ball_volume(int dim, double r)
{
    return dim == 3 ? 4.1887902047863905 * r * r * r : 3.141592653589793 * r * r;
}

/* Edge of the cell of bulk material that a particle stands for. */
static double share_of(const rp_sim *sim, double per_cell, int material)
{
    double r = ball_radius(sim);
    return r > 0 ? pow(rp__sim_ball_volume(sim->def.dim, r) / sim->materials[material].volume_fraction, 1.0 / sim->def.dim)
                 : rp__sim_spacing(&sim->def, per_cell);
}

/* How near to another a new particle may begin: balls touch, others stand for `part` of their spacing. */
static double least_distance(const rp_sim *sim, double spacing, double part)
{
    double r = ball_radius(sim);
    return r > 0 ? 2 * r : part * spacing;
}

static rp__sampling_def sampling(const rp_sim *sim, rp_sampling kind, double spacing, uint64_t seed)
{
    rp__sampling_def s = { .dim = sim->def.dim,
                           .kind = kind,
                           .spacing = spacing,
                           .seed = seed ^ (sim->def.seed * 0x9e3779b97f4a7c15u),
                           .limit = sim->def.particle_limit };
    memcpy(s.origin, sim->def.lower, sizeof s.origin);
    memcpy(s.lower, sim->def.lower, sizeof s.lower);
    memcpy(s.upper, sim->def.upper, sizeof s.upper);
    return s;
}

/* Where the centres of grains may be along an axis: in the domain, balls as far from its closed walls as their radius. */
static void room_along(const rp_sim *sim, int axis, double *lower, double *upper)
{
    const rp_surface *wall = sim->def.wall + 2 * axis;
    double r = ball_radius(sim);
    *lower = sim->def.lower[axis] + (wall[0].kind == RP_OPEN ? 0 : r);
    *upper = sim->def.upper[axis] - (wall[1].kind == RP_OPEN ? 0 : r);
}

/* Balls in a shape, within closed walls. */
static rp_result sample_balls(const rp_sim *sim, const rp_shape *shape, bool at_start, uint64_t seed, int64_t limit, double **points, int64_t *count)
{
    rp__spheres_def d = { .dim = sim->def.dim, .radius = ball_radius(sim), .seed = seed ^ (sim->def.seed * 0x9e3779b97f4a7c15u), .limit = limit };
    for (int a = 0; a < sim->def.dim; a++)
        room_along(sim, a, &d.lower[a], &d.upper[a]);
    bool settled = sim->method->grains_settled && sim->method->grains_settled(&sim->def, sim->params);
    return settled && at_start ? rp__sampling_dense(shape, &d, points, count) : rp__sampling_spheres(shape, &d, points, count);
}

/* Gives particles their parts (NULL: 1 each) of the volume of a lattice of `spacing` filled to `fill`: V = part spacing^d phi_max fill,
 * m = density V; balls theirs. */
static void set_grains(rp_sim *sim, int64_t first, int64_t count, int material, double spacing, double fill, const double *parts)
{
    rp__particles *p = &sim->particles;
    const rp_material_def *m = &sim->materials[material];
    double r = ball_radius(sim), volume = r > 0 ? rp__sim_ball_volume(sim->def.dim, r) : pow(spacing, sim->def.dim) * m->volume_fraction * fill;
    for (int64_t i = 0; i < count; i++) {
        p->volume[first + i] = parts ? parts[i] * volume : volume;
        p->mass[first + i] = p->volume[first + i] * m->density;
        p->material[first + i] = material;
    }
}

/* v = velocity + angular_velocity × (x - pivot) + velocity_field(x) */
static rp_result set_velocities(rp_sim *sim, const rp_grains_def *def, int64_t first, int64_t count)
{
    rp__particles *p = &sim->particles;
    rp__vec3 omega = rp__vec3_load(def->angular_velocity), pivot = rp__vec3_load(def->pivot);
    for (int64_t i = first; i < first + count; i++) {
        rp__vec3 x = { p->x[0][i], p->x[1][i], p->x[2][i] };
        rp__vec3 v = rp__vec3_add(rp__vec3_load(def->velocity), rp__vec3_cross(omega, rp__vec3_sub(x, pivot)));
        if (def->velocity_field) {
            double at[3] = { x.x, x.y, x.z }, extra[3] = { 0, 0, 0 };
            RP_TRY(rp_expression_evaluate(def->velocity_field, at, extra));
            v = rp__vec3_add(v, rp__vec3_load(extra));
        }
        p->v[0][i] = v.x;
        p->v[1][i] = v.y;
        p->v[2][i] = sim->def.dim == 3 ? v.z : 0;
        if (!isfinite(v.x) || !isfinite(v.y) || !isfinite(v.z))
            return rp__base_fail(RP_BAD_ARGUMENT, "grains '%s' start with a velocity that is not finite at (%g, %g, %g)",
                                 def->name, x.x, x.y, x.z);
    }
    return RP_OK;
}

/* nu = n n^T with n = orientation_field(x), for methods that keep an orientation. */
static rp_result set_orientations(rp_sim *sim, const rp_grains_def *def, int64_t first, int64_t count)
{
    static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
    rp__particles *p = &sim->particles;
    int field = rp__particles_find(p, "orientation"), dim = sim->def.dim;
    if (field < 0) {
        RP_WARN("grains '%s' have an orientation_field, but no material is anisotropic or the method keeps no orientation", def->name);
        return RP_OK;
    }
    for (int64_t i = first; i < first + count; i++) {
        double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] }, n[3] = { 0, 0, 0 }, square = 0;
        RP_TRY(rp_expression_evaluate(def->orientation_field, x, n));
        for (int a = 0; a < dim; a++)
            square += n[a] * n[a];
        if (!isfinite(square))
            return rp__base_fail(RP_BAD_ARGUMENT, "grains '%s' start with a normal that is not finite at (%g, %g, %g)", def->name,
                                 x[0], x[1], x[2]);
        for (int c = 0; c < 6; c++) {
            int a = at[c][0], b = at[c][1];
            double value = square > 0 ? n[a] * n[b] / square : a == b ? 1.0 / dim : 0;
            rp__particles_f64(p, field, c)[i] = a < dim && b < dim ? value : 0;
        }
    }
    return RP_OK;
}

/* The body that a grain at x would be in, -1 for none. */
static int body_at(const rp_sim *sim, const double x[3])
{
    double reach = ball_radius(sim);
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        if (body->present && rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL) < reach)
            return b;
    }
    return -1;
}

/* Grains cannot be where a body is: told, with the body at one such place. */
static void tell_left_out(const rp_sim *sim, const char *name, int64_t left_out, int64_t count, int body)
{
    if (left_out > 0)
        RP_WARN("%lld of %lld particles of grains '%s' would begin inside bodies, the last of them in '%s'; they are left out",
                (long long)left_out, (long long)(count + left_out), name, sim->world.bodies[body].def.name);
}

static int64_t leave_out(const rp_sim *sim, const char *name, double *points, int64_t count)
{
    int64_t kept = 0;
    int worst = -1;
    for (int64_t i = 0; i < count; i++) {
        int body = body_at(sim, points + 3 * i);
        worst = body >= 0 ? body : worst;
        if (body < 0)
            memmove(points + 3 * kept++, points + 3 * i, 3 * sizeof *points);
    }
    tell_left_out(sim, name, count - kept, kept, worst);
    return kept;
}

/* Distance to the nearest body, negative inside. */
static double to_bodies(const void *context, const double x[3])
{
    const rp_sim *sim = context;
    double least = INFINITY;
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        if (body->present)
            least = fmin(least, rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL));
    }
    return least;
}

/* Places for grains in their shape, in the domain and outside of bodies, with the part of a whole particle that each is; balls and single grains are
 * whole. */
static rp_result sites_of(const rp_sim *sim, const rp_grains_def *def, uint64_t seed, int64_t limit, rp__sampling_site_list *sites)
{
    rp__sampling_def s = sampling(sim, def->sampling, rp__sim_spacing(&sim->def, def->per_cell), seed);
    *sites = (rp__sampling_site_list){ 0 };
    s.limit = limit;
    if (ball_radius(sim) > 0 || sim->method->single_grains) {
        RP_TRY(ball_radius(sim) > 0 ? sample_balls(sim, def->shape, true, seed, limit, &sites->points, &sites->count)
                                    : rp__sampling_fill(def->shape, &s, &sites->points, &sites->count));
        sites->count = leave_out(sim, def->name, sites->points, sites->count);
        return RP_OK;
    }
    s.blocked = sim->world.body_count > 0 ? to_bodies : NULL;
    s.blocking = sim;
    RP_TRY(rp__sampling_sites(def->shape, &s, sites));
    if (sites->hidden > 0)
        tell_left_out(sim, def->name, sites->hidden, sites->count, body_at(sim, sites->hidden_at));
    return RP_OK;
}

/* Appends the sites of some grains to those of the grains before. */
static rp_result join_sites(rp__sampling_site_list *all, const rp__sampling_site_list *more)
{
    size_t count = (size_t)(all->count + more->count);
    double *points = rp__base_realloc_array(all->points, 3 * count, sizeof *points);
    if (!points)
        return RP_OUT_OF_MEMORY;
    all->points = points;
    double *parts = more->parts ? rp__base_realloc_array(all->parts, count, sizeof *parts) : NULL;
    if (more->parts && !parts)
        return RP_OUT_OF_MEMORY;
    all->parts = parts;
    if (more->count)
        memcpy(points + 3 * all->count, more->points, 3 * (size_t)more->count * sizeof *points);
    if (parts && more->count)
        memcpy(parts + all->count, more->parts, (size_t)more->count * sizeof *parts);
    all->count += more->count;
    return RP_OK;
}

/* The sites of all grains, one after the other, and how many each has. */
static rp_result sample_grains(const rp_sim *sim, rp__sampling_site_list *sites, int64_t *counts)
{
    for (int g = 0; g < sim->def.grains_count; g++) {
        const rp_grains_def *def = &sim->def.grains[g];
        rp__sampling_site_list own;
        rp_result result = sites_of(sim, def, def->seed + (uint64_t)g, sim->def.particle_limit - sites->count, &own);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "grains '%s': ", def->name);
        counts[g] = own.count;
        if (g == 0) {
            *sites = own;
            continue;
        }
        result = join_sites(sites, &own);
        rp__sampling_free_sites(&own);
        RP_TRY(result);
    }
    return RP_OK;
}

/* Tells the method of new particles; `spacing` is the edge of the cell of bulk material that a whole one stands for, `parts` (NULL: 1 each) those of which
 * each is: neighbours of one part together. */
static rp_result give_birth(rp_sim *sim, const rp_grains_def *def, int64_t first, int64_t count, double spacing, const double *parts)
{
    if (def->fixed && !sim->calls->fixes_grains)
        return rp__base_fail(RP_UNSUPPORTED, "grains '%s' are fixed, which method '%s' does not know; use method contact, or a body in their place",
                             def->name ? def->name : "", sim->calls->info.name);
    if (!sim->calls->born)
        return RP_OK;
    sim->world.fixed = def->fixed;
    rp_result result = RP_OK;
    for (int64_t i = 0, end; i < count && result == RP_OK; i = end) {
        for (end = parts ? i + 1 : count; parts && end < count && parts[end] == parts[i];)
            end++;
        double edge = parts && parts[i] != 1 ? spacing * pow(parts[i], 1.0 / sim->def.dim) : spacing;
        result = sim->calls->born(sim->state, &sim->world, first + i, end - i, edge);
    }
    sim->world.fixed = false;
    return result;
}

/* All that new grains begin with. */
static rp_result begin_grains(rp_sim *sim, const rp_grains_def *def, int64_t first, int64_t count, const double *parts)
{
    double spacing = share_of(sim, def->per_cell, def->material);
    set_grains(sim, first, count, def->material, spacing, def->fill, parts);
    RP_TRY(set_velocities(sim, def, first, count));
    RP_TRY(give_birth(sim, def, first, count, spacing, parts));
    return def->orientation_field ? set_orientations(sim, def, first, count) : RP_OK;
}

rp_result rp__sim_fill(rp_sim *sim)
{
    rp__sampling_site_list sites = { 0 };
    int64_t first = 0, *counts = RP_NEW_ARRAY(int64_t, sim->def.grains_count);
    rp_result result = counts ? sample_grains(sim, &sites, counts) : RP_OUT_OF_MEMORY;
    if (result == RP_OK && sites.count > 0) {
        result = rp__particles_start(&sim->particles, sites.points, sites.count); /* frees the points */
        sites.points = NULL;
    }
    for (int g = 0; g < sim->def.grains_count && result == RP_OK; first += counts[g++]) {
        const rp_grains_def *def = &sim->def.grains[g];
        result = begin_grains(sim, def, first, counts[g], sites.parts ? sites.parts + first : NULL);
        if (result == RP_OK && counts[g] == 0)
            RP_WARN("grains %d%s%s%s hold no particle: the shape is empty, thinner than a particle, or outside the domain", g,
                    def->name[0] ? " ('" : "", def->name, def->name[0] ? "')" : "");
    }
    rp__sampling_free_sites(&sites);
    rp__base_free(counts);
    return result;
}

/* ---- emitters ---- */

rp_result rp__sim_prepare_emitters(rp_sim *sim)
{
    sim->emitters = RP_NEW_ARRAY(rp__emitter, sim->def.emitter_count);
    if (!sim->emitters)
        return RP_OUT_OF_MEMORY;
    for (int e = 0; e < sim->def.emitter_count; e++) {
        const rp_emitter_def *def = &sim->def.emitters[e];
        rp__emitter *emitter = &sim->emitters[e];
        emitter->spacing = share_of(sim, def->per_cell, def->material);
        uint64_t seed = def->seed + 1000 + (uint64_t)e;
        rp__sampling_def points = sampling(sim, def->sampling, rp__sim_spacing(&sim->def, def->per_cell), seed);
        rp_result result = ball_radius(sim) > 0
                               ? sample_balls(sim, def->shape, false, seed, sim->def.particle_limit, &emitter->sites, &emitter->site_count)
                               : rp__sampling_fill(def->shape, &points, &emitter->sites, &emitter->site_count);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "emitter '%s': ", def->name);
        if (emitter->site_count == 0)
            return rp__base_fail(RP_BAD_ARGUMENT,
                                 "emitter '%s' has no room for a particle (spacing %g m): make it larger or raise per_cell",
                                 def->name, emitter->spacing);
    }
    return RP_OK;
}

/* A hash of the particles near an emitter by cells of its spacing. */
typedef struct near_table {
    int64_t *head, *next;
    int64_t size; /* a power of two */
    double spacing;
} near_table;

static uint64_t cell_hash(const near_table *t, int64_t i, int64_t j, int64_t k)
{
    return rp__random_bits((uint64_t)i, (uint64_t)j, (uint64_t)k) & (uint64_t)(t->size - 1);
}

static void cell_of(const near_table *t, const double x[3], int64_t c[3])
{
    for (int a = 0; a < 3; a++)
        c[a] = (int64_t)floor(x[a] / t->spacing);
}

static rp_result near_build(near_table *t, const rp_sim *sim, const rp_shape *shape, double spacing)
{
    const rp__particles *p = &sim->particles;
    double lower[3], upper[3];
    rp_shape_bounds(shape, lower, upper);
    t->spacing = spacing;
    t->size = 1024;
    while (t->size < p->count)
        t->size *= 2;
    t->head = RP_NEW_ARRAY(int64_t, t->size);
    t->next = RP_NEW_ARRAY(int64_t, p->count);
    if (!t->head || !t->next)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < t->size; i++)
        t->head[i] = -1;
    for (int64_t i = 0; i < p->count; i++) {
        double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] };
        bool close = true;
        for (int a = 0; a < sim->def.dim; a++)
            close = close && x[a] > lower[a] - spacing && x[a] < upper[a] + spacing;
        if (!close)
            continue;
        int64_t c[3];
        cell_of(t, x, c);
        uint64_t h = cell_hash(t, c[0], c[1], c[2]);
        t->next[i] = t->head[h];
        t->head[h] = i;
    }
    return RP_OK;
}

/* Whether a particle lies within `reach` of the site, not more than the spacing. */
static bool taken(const near_table *t, const rp_sim *sim, const double site[3], double reach)
{
    const rp__particles *p = &sim->particles;
    int64_t c[3];
    cell_of(t, site, c);
    int depth = sim->def.dim == 3 ? 1 : 0;
    for (int64_t k = c[2] - depth; k <= c[2] + depth; k++)
        for (int64_t j = c[1] - 1; j <= c[1] + 1; j++)
            for (int64_t i = c[0] - 1; i <= c[0] + 1; i++)
                for (int64_t q = t->head[cell_hash(t, i, j, k)]; q >= 0; q = t->next[q]) {
                    double dx = p->x[0][q] - site[0], dy = p->x[1][q] - site[1], dz = p->x[2][q] - site[2];
                    if (dx * dx + dy * dy + dz * dz < reach * reach)
                        return true;
                }
    return false;
}

/* ---- grains that a program adds ---- */

static void leave_out_taken(const near_table *t, const rp_sim *sim, double spacing, rp__sampling_site_list *sites)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < sites->count; i++)
        if (!taken(t, sim, sites->points + 3 * i, least_distance(sim, spacing, 0.8))) { /* as emitters do */
            if (sites->parts)
                sites->parts[kept] = sites->parts[i];
            memmove(sites->points + 3 * kept++, sites->points + 3 * i, 3 * sizeof *sites->points);
        }
    sites->count = kept;
}

static rp_result append_grains(rp_sim *sim, const rp_grains_def *def, const rp__sampling_site_list *sites)
{
    int64_t first = 0;
    RP_TRY(rp__particles_append(&sim->particles, sites->count, &first));
    for (int64_t i = 0; i < sites->count; i++)
        for (int a = 0; a < 3; a++)
            sim->particles.x[a][first + i] = sites->points[3 * i + a];
    rp_result result = begin_grains(sim, def, first, sites->count, sites->parts);
    if (result != RP_OK) /* as if nothing had been */
        sim->particles.count = first, sim->particles.next_id -= sites->count;
    return result;
}

rp_result rp__sim_add_grains(rp_sim *sim, const rp_grains_def *def, int64_t *added)
{
    double spacing = share_of(sim, def->per_cell, def->material);
    near_table table = { 0 };
    rp__sampling_site_list sites;
    rp_result result = sites_of(sim, def, def->seed + (uint64_t)sim->particles.next_id, sim->def.particle_limit - sim->particles.count, &sites);
    if (result == RP_OK)
        result = near_build(&table, sim, def->shape, fmax(spacing, 2 * ball_radius(sim)));
    if (result == RP_OK) {
        leave_out_taken(&table, sim, spacing, &sites);
        result = append_grains(sim, def, &sites);
    }
    rp__base_free(table.head);
    rp__base_free(table.next);
    *added = result == RP_OK ? sites.count : 0;
    rp__sampling_free_sites(&sites);
    return result;
}

/* The order in which free sites are used: shuffled anew each step, by a counter. */
typedef struct ranked {
    uint64_t rank;
    int64_t site;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->site > y->site) - (x->site < y->site);
}

/* An emitter with a rate shifts its sites a little, by the same way in a step and another in the next: grains that all began in
 * the same places would go the same ways, and show as ridges on a heap. The sites of one that is kept full go with its velocity, round and round
 * within a spacing: grains that come after others are a spacing behind them, not as near as a site that stands lets them be (a quarter too many). */
typedef struct shift {
    double way[3], reach;
} shift;

static shift shift_of(const rp_sim *sim, int e)
{
    const rp_emitter_def *def = &sim->def.emitters[e];
    double spacing = sim->emitters[e].spacing;
    shift s = { .reach = least_distance(sim, spacing, 0.8) };
    for (int a = 0; a < sim->def.dim && !(def->rate > 0) && !(ball_radius(sim) > 0); a++) {
        double way = def->velocity[a] * sim->time / spacing;
        s.way[a] = spacing * (way - floor(way + 0.5));
    }
    if (!(def->rate > 0))
        return s;
    s.reach = least_distance(sim, spacing, 0.9); /* spheres of this size placed at random fill space once a spacing cubed */
    for (int a = 0; a < sim->def.dim; a++)
        s.way[a] = spacing * (rp__random_unit(def->seed + 78, (uint64_t)sim->step, (uint64_t)a) - 0.5);
    return s;
}

static void shifted_site(const rp__emitter *emitter, const shift *s, int64_t site, double x[3])
{
    for (int a = 0; a < 3; a++)
        x[a] = emitter->sites[3 * site + a] + s->way[a];
}

/* A site is free when it lies in the shape and in the domain still, no particle is near and no body is there. */
static bool site_is_free(const near_table *t, const rp_sim *sim, int e, const shift *s, int64_t site)
{
    double x[3];
    shifted_site(&sim->emitters[e], s, site, x);
    if ((sim->def.emitters[e].rate > 0 || ball_radius(sim) == 0) && rp_shape_distance(sim->def.emitters[e].shape, x, NULL) > -ball_radius(sim))
        return false;
    for (int a = 0; a < sim->def.dim; a++) {
        double lower, upper;
        room_along(sim, a, &lower, &upper);
        if (x[a] < lower || x[a] > upper)
            return false;
    }
    return !taken(t, sim, x, s->reach) && body_at(sim, x) < 0;
}

/* How full of grains an emitter with a rate is, of which A is the section and L the length along its velocity: rate / (A v), with
 * the mean speed of the grains half way through. They begin everywhere in the shape and fall: v² = v0² + g L / 2. */
static double fullness_of(const rp_sim *sim, int e)
{
    const rp_emitter_def *def = &sim->def.emitters[e];
    const rp__emitter *emitter = &sim->emitters[e];
    double lower[3], upper[3], across = 0, square = 0, fall = 0;
    if (!(def->rate > 0) || emitter->site_count == 0)
        return 1;
    rp_shape_bounds(def->shape, lower, upper);
    for (int a = 0; a < sim->def.dim; a++) {
        across += fabs(def->velocity[a]) * (upper[a] - lower[a]);
        square += def->velocity[a] * def->velocity[a];
        fall += def->velocity[a] * sim->def.gravity[a];
    }
    if (!(square > 0) || !isfinite(across))
        return 1;
    double speed = sqrt(square), length = across / speed, volume = (double)emitter->site_count * pow(emitter->spacing, sim->def.dim);
    double mean = sqrt(square + 0.5 * fmax(0, fall / speed) * length), part = def->rate * length / (volume * mean);
    return part < 1 ? part : 1;
}

static rp_result emit_at(rp_sim *sim, int e, const shift *way, const ranked *sites, int64_t count)
{
    const rp_emitter_def *def = &sim->def.emitters[e];
    const rp__emitter *emitter = &sim->emitters[e];
    int64_t first = 0;
    RP_TRY(rp__particles_append(&sim->particles, count, &first));
    set_grains(sim, first, count, def->material, emitter->spacing, def->fill, NULL);
    for (int64_t i = 0; i < count; i++) {
        double x[3];
        shifted_site(emitter, way, sites[i].site, x);
        for (int a = 0; a < 3; a++)
            sim->particles.x[a][first + i] = x[a];
        for (int a = 0; a < sim->def.dim; a++)
            sim->particles.v[a][first + i] = def->velocity[a];
    }
    sim->world.fullness = fullness_of(sim, e);
    rp_result result = sim->calls->born ? sim->calls->born(sim->state, &sim->world, first, count, emitter->spacing) : RP_OK;
    sim->world.fullness = 1;
    return result;
}

/* Bulk volume of the grains in a shape. */
static double bulk_in(const rp_sim *sim, const rp_shape *shape)
{
    const rp__particles *p = &sim->particles;
    double lower[3], upper[3], sum = 0;
    rp_shape_bounds(shape, lower, upper);
    for (int64_t i = 0; i < p->count; i++) {
        double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] };
        bool close = true;
        for (int a = 0; a < sim->def.dim; a++)
            close = close && x[a] >= lower[a] && x[a] <= upper[a];
        if (close && rp_shape_distance(shape, x, NULL) <= 0)
            sum += p->volume[i] / sim->materials[p->material[i]].volume_fraction;
    }
    return sum;
}

static rp_result emit_from(rp_sim *sim, int e, double dt, int64_t *emitted)
{
    const rp_emitter_def *def = &sim->def.emitters[e];
    rp__emitter *emitter = &sim->emitters[e];
    double share = pow(emitter->spacing, sim->def.dim) * (ball_radius(sim) > 0 ? 1 : def->fill); /* bulk volume of a particle */
    int64_t wanted = emitter->site_count;
    if (def->rate > 0) {
        emitter->owed += def->rate * dt;
        wanted = (int64_t)(emitter->owed / share);
    } else if (!(ball_radius(sim) > 0)) /* what it holds is no more than its sites, wherever grains are between them */
        wanted = (int64_t)floor((double)emitter->site_count - bulk_in(sim, def->shape) / share + 1e-9);
    if (wanted < 1)
        return RP_OK;
    near_table table = { 0 };
    ranked *free_sites = RP_NEW_ARRAY(ranked, emitter->site_count);
    rp_result result = free_sites ? near_build(&table, sim, def->shape, fmax(emitter->spacing, 2 * ball_radius(sim))) : RP_OUT_OF_MEMORY;
    int64_t count = 0;
    shift way = shift_of(sim, e);
    for (int64_t s = 0; result == RP_OK && s < emitter->site_count; s++)
        if (site_is_free(&table, sim, e, &way, s))
            free_sites[count++] = (ranked){ rp__random_bits(def->seed + 77, (uint64_t)sim->step, (uint64_t)s), s };
    rp__base_free(table.head);
    rp__base_free(table.next);
    if (result == RP_OK && count > 0) {
        qsort(free_sites, (size_t)count, sizeof *free_sites, by_rank);
        int64_t used = wanted < count ? wanted : count;
        if (sim->particles.count + used > sim->def.particle_limit)
            result = rp__base_fail(RP_TOO_LARGE, "emitter '%s' would exceed the limit of %lld particles", def->name,
                                   (long long)sim->def.particle_limit);
        else
            result = emit_at(sim, e, &way, free_sites, used);
        *emitted += used;
        if (def->rate > 0)
            emitter->owed -= share * (double)used;
    }
    /* A choked emitter does not save up for a burst: it owes one filling of its shape at most. */
    if (emitter->owed > share * (double)emitter->site_count)
        emitter->owed = share * (double)emitter->site_count;
    rp__base_free(free_sites);
    return result;
}

rp_result rp__sim_emit(rp_sim *sim, double dt, int64_t *emitted)
{
    for (int e = 0; e < sim->def.emitter_count; e++) {
        const rp_emitter_def *def = &sim->def.emitters[e];
        /* The step that ends now belongs to the schedule when its middle does. */
        double middle = sim->time - 0.5 * dt;
        if (middle >= def->start && middle < def->stop)
            RP_TRY(emit_from(sim, e, dt, emitted));
    }
    return RP_OK;
}

/* ---- sinks ---- */

rp_result rp__sim_flags(rp_sim *sim)
{
    if (!rp__base_grow(&sim->flags, &sim->flags_capacity, sim->particles.count + 1, 1))
        return RP_OUT_OF_MEMORY;
    memset(sim->flags, 0, (size_t)sim->particles.count);
    return RP_OK;
}

typedef struct drain_work {
    rp_sim *sim;
    const rp_shape *shape;
} drain_work;

static void mark_inside(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    drain_work *work = context;
    const rp__particles *p = &work->sim->particles;
    for (int64_t i = begin; i < end; i++) {
        double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] };
        if (rp_shape_distance(work->shape, x, NULL) <= 0)
            work->sim->flags[i] = 1;
    }
}

rp_result rp__sim_remove_inside(rp_sim *sim, const rp_shape *shape, int64_t *removed)
{
    RP_TRY(rp__sim_flags(sim));
    drain_work work = { sim, shape };
    rp__exec_for(sim->particles.count, 4096, mark_inside, &work);
    *removed += rp__particles_remove(&sim->particles, sim->flags);
    return RP_OK;
}

rp_result rp__sim_drain(rp_sim *sim, int64_t *removed)
{
    for (int s = 0; s < sim->def.sink_count; s++) {
        const rp_sink_def *def = &sim->def.sinks[s];
        if (sim->time < def->start || sim->time >= def->stop)
            continue;
        RP_TRY(rp__sim_remove_inside(sim, def->shape, removed));
    }
    return RP_OK;
}
