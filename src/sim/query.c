/* Contacts, rays, boxes: what lies where. */
#include "base/error.h"
#include "sim/finder.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contacts ---- */

void rp__sim_touch(rp__world *world, const rp__touch *touch)
{
    struct rp__touches *t = world->touches;
    while (atomic_flag_test_and_set_explicit(&t->busy, memory_order_acquire))
        ; /* for a moment */
    if (rp__base_grow(&t->items, &t->capacity, t->count + 1, sizeof *t->items))
        t->items[t->count++] = *touch;
    else
        t->failed = true;
    atomic_flag_clear_explicit(&t->busy, memory_order_release);
}

void rp__sim_tell_contact(rp__world *world, int surface, int64_t place, const double point[3], const double normal[3], const double force[3],
                          double dt)
{
    rp__vec3 f = rp__vec3_load(force), n = rp__vec3_load(normal);
    if (surface >= 6) {
        rp__body *body = &world->bodies[surface - 6];
        body->normal_force = rp__vec3_axpy(rp__vec3_dot(f, n), n, body->normal_force);
    }
    if (!world->touches || !(rp__vec3_dot(f, f) > 0))
        return;
    rp__touch touch = { .surface = surface, .place = place };
    rp__vec3_store(touch.normal, n);
    rp__vec3_store(touch.impulse, rp__vec3_scale(dt, f));
    memcpy(touch.point, point, sizeof touch.point);
    rp__sim_touch(world, &touch);
}

void rp__sim_start_touches(rp_sim *sim)
{
    sim->world.touches->count = 0;
    sim->world.touches->failed = false;
}

static int by_place(const void *a, const void *b)
{
    const rp__touch *x = a, *y = b;
    if (x->surface != y->surface)
        return x->surface < y->surface ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    int point = memcmp(x->point, y->point, sizeof x->point);
    return point ? point : memcmp(x->impulse, y->impulse, sizeof x->impulse);
}

rp_result rp__sim_sort_touches(rp_sim *sim)
{
    struct rp__touches *t = sim->world.touches;
    if (t->failed || !rp__base_grow(&t->contacts, &t->contact_capacity, t->count + 1, sizeof *t->contacts))
        return rp__base_fail(RP_OUT_OF_MEMORY, "out of memory for the contacts of a step");
    if (t->count)
        qsort(t->items, (size_t)t->count, sizeof *t->items, by_place);
    for (int64_t i = 0; i < t->count; i++) {
        rp_contact *c = &t->contacts[i];
        c->body = t->items[i].surface >= 6 ? t->items[i].surface - 6 : -1;
        c->wall = t->items[i].surface < 6 ? t->items[i].surface : -1;
        memcpy(c->point, t->items[i].point, sizeof c->point);
        memcpy(c->normal, t->items[i].normal, sizeof c->normal);
        memcpy(c->impulse, t->items[i].impulse, sizeof c->impulse);
    }
    return RP_OK;
}

static void free_touches(rp_sim *sim)
{
    if (!sim->world.touches)
        return;
    rp__base_free(sim->world.touches->items);
    rp__base_free(sim->world.touches->contacts);
    rp__base_free(sim->world.touches);
    sim->world.touches = NULL;
}

rp_result rp_sim_record_contacts(rp_sim *sim, bool on)
{
    RP_TRY(rp__sim_need(sim, "rp_sim_record_contacts"));
    if (!on)
        free_touches(sim);
    if (!on || sim->world.touches)
        return RP_OK;
    sim->world.touches = RP_NEW(struct rp__touches);
    if (!sim->world.touches)
        return RP_OUT_OF_MEMORY;
    atomic_flag_clear(&sim->world.touches->busy);
    return RP_OK;
}

rp_result rp_sim_contacts(rp_sim *sim, const rp_contact **contacts, int64_t *count)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_contacts", contacts && count));
    if (!sim->world.touches)
        return rp__base_fail(RP_BAD_ARGUMENT, "contacts were not recorded; call rp_sim_record_contacts before the step");
    *contacts = sim->world.touches->contacts;
    *count = sim->world.touches->count;
    return RP_OK;
}

void rp__sim_query_free(rp_sim *sim)
{
    free_touches(sim);
    rp__base_free(sim->finder.first);
    rp__base_free(sim->finder.items);
}

/* ---- rays ---- */

static rp_result check_points(const char *what, const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "component %lld of %s is not a finite number", (long long)i, what);
    return RP_OK;
}

/* |o + s d - c| = r, d of length 1: s = -b - sqrt(b² - e) with b = d·(o - c), e = |o - c|² - r²; 0 from inside. */
static double to_sphere(rp__vec3 o, rp__vec3 d, rp__vec3 c, double r)
{
    rp__vec3 away = rp__vec3_sub(o, c);
    double b = rp__vec3_dot(d, away), e = rp__vec3_dot(away, away) - r * r, q = b * b - e;
    if (e <= 0)
        return 0;
    return q >= 0 && b < 0 ? -b - sqrt(q) : INFINITY;
}

typedef struct casting {
    rp_sim *sim;
    rp__vec3 origin, way; /* of length 1 */
    double best;          /* nearest so far */
    rp_ray_hit *hit;
} casting;

static void meet_particle(casting *w, int64_t i)
{
    const rp__particles *p = &w->sim->particles;
    rp__vec3 centre = { p->x[0][i], p->x[1][i], p->x[2][i] };
    double s = to_sphere(w->origin, w->way, centre, rp__finder_radius(w->sim, i));
    if (!(s < w->best || (s == w->best && w->hit->what == RP_ASK_GRAINS && i < w->hit->particle)))
        return;
    w->best = s;
    *w->hit = (rp_ray_hit){ .what = RP_ASK_GRAINS, .particle = i, .body = -1, .wall = -1, .distance = s };
    rp__vec3 at = rp__vec3_axpy(s, w->way, w->origin);
    rp__vec3_store(w->hit->point, at);
    rp__vec3_store(w->hit->normal, rp__vec3_unit(rp__vec3_sub(at, centre), rp__vec3_scale(-1, w->way)));
}

/* Along the ray in steps of half a cell, the cells within reach of the largest particle each time. A particle is met within the
 * cells around its own, so what is nearer than the step done cannot lie ahead. */
static void cast_on_grains(casting *w)
{
    const rp__finder *f = &w->sim->finder;
    double end = w->best, reach = f->largest, stride = 0.5 * f->size;
    /* only where the domain is, with the largest particle around */
    double enter = 0, leave = end;
    const double o[3] = { w->origin.x, w->origin.y, w->origin.z }, d[3] = { w->way.x, w->way.y, w->way.z };
    for (int a = 0; a < w->sim->def.dim; a++) {
        double low = w->sim->def.lower[a] - reach, high = w->sim->def.upper[a] + reach;
        if (d[a] == 0) {
            if (o[a] < low || o[a] > high)
                return;
            continue;
        }
        double s0 = (low - o[a]) / d[a], s1 = (high - o[a]) / d[a];
        enter = fmax(enter, fmin(s0, s1)), leave = fmin(leave, fmax(s0, s1));
    }
    for (double s = enter; s <= leave + stride && s - stride - reach <= w->best; s += stride) {
        double lower[3], upper[3];
        for (int a = 0; a < 3; a++) {
            double from = o[a] + s * d[a], to = o[a] + (s + stride) * d[a];
            lower[a] = fmin(from, to) - reach, upper[a] = fmax(from, to) + reach;
        }
        int64_t range[6];
        rp__finder_range(w->sim, lower, upper, range);
        for (int64_t k = range[4]; k <= range[5]; k++)
            for (int64_t j = range[2]; j <= range[3]; j++)
                for (int64_t i = range[0]; i <= range[1]; i++) {
                    int64_t cell = (k * f->cells[1] + j) * f->cells[0] + i;
                    for (int64_t q = f->first[cell]; q < f->first[cell + 1]; q++)
                        meet_particle(w, f->items[q]);
                }
    }
}

/* Sphere tracing: no step is longer than the distance. */
static void cast_on_bodies(casting *w)
{
    for (int b = 0; b < w->sim->world.body_count; b++) {
        const rp__body *body = &w->sim->world.bodies[b];
        double s = 0, tiny = 1e-6 * w->sim->def.cell_size;
        rp__vec3 n = { 0, 0, 0 };
        bool met = false;
        for (int k = 0; k < 1000 && body->present && s < w->best; k++) {
            double d = rp__body_distance(body, &body->pose, rp__vec3_axpy(s, w->way, w->origin), &n);
            met = d <= tiny;
            if (met)
                break;
            s += d;
        }
        if (!met || !(s < w->best))
            continue;
        w->best = s;
        *w->hit = (rp_ray_hit){ .what = RP_ASK_BODIES, .particle = -1, .body = b, .wall = -1, .distance = s };
        rp__vec3_store(w->hit->point, rp__vec3_axpy(s, w->way, w->origin));
        rp__vec3_store(w->hit->normal, n);
    }
}

static void cast_on_walls(casting *w)
{
    const rp_sim_def *def = &w->sim->def;
    const double o[3] = { w->origin.x, w->origin.y, w->origin.z }, d[3] = { w->way.x, w->way.y, w->way.z };
    for (int f = 0; f < 2 * def->dim; f++) {
        int axis = f / 2;
        double side = f & 1 ? 1 : -1, bound = f & 1 ? def->upper[axis] : def->lower[axis];
        if (def->wall[f].kind == RP_OPEN || def->wall[f].kind == RP_PERIODIC || !(d[axis] * side > 0))
            continue;
        double s = fmax(0, (bound - o[axis]) / d[axis]);
        if (!(s < w->best))
            continue;
        w->best = s;
        *w->hit = (rp_ray_hit){ .what = RP_ASK_WALLS, .particle = -1, .body = -1, .wall = f, .distance = s };
        rp__vec3_store(w->hit->point, rp__vec3_axpy(s, w->way, w->origin));
        w->hit->normal[axis] = -side;
    }
}

rp_result rp_sim_ray(rp_sim *sim, const double origin[3], const double direction[3], double length, int what, rp_ray_hit *hit)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_ray", origin && direction && hit));
    RP_TRY(check_points("the origin of a ray", origin, 3));
    RP_TRY(check_points("the direction of a ray", direction, 3));
    rp__vec3 way = rp__vec3_load(direction);
    if (!(rp__vec3_norm(way) > 0) || !(length >= 0) || !(what & RP_ASK_ALL))
        return rp__base_fail(RP_BAD_ARGUMENT, "a ray needs a direction other than 0, a length not below 0, and something to look for");
    RP_TRY(rp__finder_make(sim));
    *hit = (rp_ray_hit){ .particle = -1, .body = -1, .wall = -1 };
    casting w = { sim, rp__vec3_load(origin), rp__vec3_scale(1 / rp__vec3_norm(way), way), nextafter(length, INFINITY), hit };
    if (what & RP_ASK_BODIES)
        cast_on_bodies(&w);
    if (what & RP_ASK_WALLS)
        cast_on_walls(&w);
    if (what & RP_ASK_GRAINS)
        cast_on_grains(&w);
    return RP_OK;
}

/* ---- boxes ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

rp_result rp_sim_grains_in_box(rp_sim *sim, const double lower[3], const double upper[3], int64_t *indices, int64_t capacity, int64_t *count)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_grains_in_box", lower && upper && count && (indices || capacity <= 0)));
    for (int a = 0; a < 3; a++)
        if (isnan(lower[a]) || isnan(upper[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "a corner of the box is not a number");
    RP_TRY(rp__finder_make(sim));
    const rp__finder *f = &sim->finder;
    const rp__particles *p = &sim->particles;
    int64_t range[6], found = 0;
    int64_t *all = RP_NEW_ARRAY(int64_t, p->count + 1);
    if (!all)
        return RP_OUT_OF_MEMORY;
    rp__finder_range(sim, lower, upper, range);
    for (int64_t k = range[4]; k <= range[5]; k++)
        for (int64_t j = range[2]; j <= range[3]; j++)
            for (int64_t i = range[0]; i <= range[1]; i++) {
                int64_t cell = (k * f->cells[1] + j) * f->cells[0] + i;
                for (int64_t q = f->first[cell]; q < f->first[cell + 1]; q++) {
                    bool inside = true;
                    for (int a = 0; a < sim->def.dim; a++)
                        inside = inside && p->x[a][f->items[q]] >= lower[a] && p->x[a][f->items[q]] <= upper[a];
                    if (inside)
                        all[found++] = f->items[q];
                }
            }
    qsort(all, (size_t)found, sizeof *all, by_number);
    for (int64_t i = 0; i < found && i < capacity; i++)
        indices[i] = all[i];
    rp__base_free(all);
    *count = found;
    return RP_OK;
}

/* Bounds of a body in the world: those of the turned box around its shape. */
static void body_bounds(const rp__body *body, double low[3], double high[3])
{
    double lower[3], upper[3];
    rp_shape_bounds(body->def.shape, lower, upper);
    for (int a = 0; a < 3; a++)
        low[a] = INFINITY, high[a] = -INFINITY;
    for (int k = 0; k < 8; k++) {
        double corner[3];
        for (int a = 0; a < 3; a++)
            corner[a] = k >> a & 1 ? upper[a] : lower[a];
        if (!isfinite(corner[0]) || !isfinite(corner[1]) || !isfinite(corner[2])) { /* without end: everywhere */
            for (int a = 0; a < 3; a++)
                low[a] = -INFINITY, high[a] = INFINITY;
            return;
        }
        rp__vec3_store(corner, rp__pose_apply(&body->pose, rp__vec3_sub(rp__vec3_load(corner), body->centre_local)));
        for (int a = 0; a < 3; a++)
            low[a] = fmin(low[a], corner[a]), high[a] = fmax(high[a], corner[a]);
    }
}

rp_result rp_sim_bodies_in_box(const rp_sim *sim, const double lower[3], const double upper[3], int *bodies, int capacity, int *count)
{
    RP_TRY(rp__sim_begin_action((rp_sim *)(uintptr_t)sim, "rp_sim_bodies_in_box", lower && upper && count && (bodies || capacity <= 0)));
    int found = 0;
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        double low[3], high[3];
        bool meets = body->present;
        if (meets)
            body_bounds(body, low, high);
        for (int a = 0; a < sim->def.dim && meets; a++)
            meets = low[a] <= upper[a] && high[a] >= lower[a];
        if (meets && found < capacity)
            bodies[found] = b;
        found += meets;
    }
    *count = found;
    return RP_OK;
}

rp_result rp_sim_closest_body(const rp_sim *sim, const double point[3], int *body, double *distance, double normal[3])
{
    RP_TRY(rp__sim_begin_action((rp_sim *)(uintptr_t)sim, "rp_sim_closest_body", point && body));
    RP_TRY(check_points("the point", point, 3));
    double best = INFINITY;
    int found = -1;
    rp__vec3 toward = { 0, 0, 0 };
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *other = &sim->world.bodies[b];
        rp__vec3 n;
        double d = other->present ? rp__body_distance(other, &other->pose, rp__vec3_load(point), &n) : INFINITY;
        if (d < best)
            best = d, found = b, toward = n;
    }
    if (found < 0)
        return rp__base_fail(RP_NOT_FOUND, "there is no body");
    *body = found;
    if (distance)
        *distance = best;
    if (normal)
        rp__vec3_store(normal, toward);
    return RP_OK;
}
