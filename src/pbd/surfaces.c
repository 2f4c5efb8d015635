/* Grains against walls and bodies: the same contact as of a pair, with the distance of the surface and its gradient at the grain.
 *
 * A surface remembers what it did to a grain as long as its normal does not turn by more than 18 degrees. Where a body has a
 * corner that grains can lie in, its distance shows only the nearest side: the other one is seen from a place a radius away from
 * the first. Distances to bodies at rest are asked for again only when a grain may have come near: a distance changes by no more
 * than the way. */
#include "pbd/closure.h"
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define SAME_NORMAL 0.95 /* cosine */

typedef struct work {
    rp__pbd *s;
    rp__world *world;
    double scale;
    double *clearance;     /* of the store */
    double lower[3], upper[3]; /* grains within touch no wall */
    double first[3], last[3];  /* box around the bodies that may move */
    atomic_int full;
} work;

/* Where the touches of one grain go. */
typedef struct list {
    const work *w;
    int64_t grain;
    rp__pbd_touch *to;
    int64_t room;
    int32_t count;
    bool full;
} list;

double rp__pbd_surface_friction(const rp_surface *surface)
{
    return surface->kind == RP_STICK ? 1e3 : surface->kind == RP_FRICTIONAL ? surface->friction : 0;
}

/* l and t of the touch of the step before with this surface and nearly this normal; true when it did not slip then. */
static bool remember(const list *at, rp__pbd_touch *t)
{
    const rp__pbd *s = at->w->s;
    int32_t slot = s->slot[at->grain];
    if (slot < 0)
        return false;
    const rp__pbd_touch *old = s->touch_old.all + s->touch_old.first[slot], *best = NULL;
    double most = SAME_NORMAL;
    rp__vec3 n = rp__vec3_load(t->n);
    for (int32_t m = 0; m < s->touch_old.count[slot]; m++) {
        double same = old[m].surface == t->surface ? rp__vec3_dot(n, rp__vec3_load(old[m].n)) : -1;
        if (same > most)
            most = same, best = &old[m];
    }
    if (!best)
        return false;
    rp__vec3 f = rp__vec3_scale(at->w->scale, rp__vec3_load(best->t));
    t->l = at->w->scale * best->l;
    rp__vec3_store(t->t, rp__vec3_axpy(-rp__vec3_dot(f, n), n, f));
    return rp__vec3_dot(f, f) < 0.998 * best->mu * best->mu * t->l * t->l;
}

/* phi: distance of the grain's centre; way: of the surface in this step. */
static rp__pbd_touch *add(list *at, int32_t surface, const rp_surface *kind, rp__vec3 n, double phi, rp__vec3 way)
{
    const rp__pbd *s = at->w->s;
    const rp__pbd_params *par = s->par;
    if (at->count == at->room) {
        at->full = true;
        return NULL;
    }
    rp__pbd_touch *t = &at->to[at->count++];
    double gap = phi - s->r, over = fmin(-gap - 2 * s->r * RP_PBD_SLOP, s->r);
    *t = (rp__pbd_touch){ .surface = surface, .grain = (int32_t)at->grain, .free = -1, .mu = rp__pbd_surface_friction(kind), .share = { 1, 1 }, .gap = gap };
    t->g = gap >= 0 ? gap : 0;
    t->over = over > 0 ? over : 0;
    rp__vec3_store(t->n, n);
    rp__vec3_store(t->s, way);
    if (par->contact != RP_PBD_CONE)
        return t;
    if (!remember(at, t) && kind->kind != RP_STICK)
        t->mu *= par->kinetic;
    return t;
}

static bool is_wall(const rp_surface *face)
{
    return face->kind != RP_OPEN && face->kind != RP_PERIODIC;
}

static void touch_walls(list *at)
{
    const rp__pbd *s = at->w->s;
    const rp_sim_def *def = at->w->world->def;
    const double *x = s->x[at->grain];
    for (int f = 0; f < 2 * s->dim; f++) {
        if (!is_wall(&def->wall[f]))
            continue;
        int axis = f / 2;
        double phi = f & 1 ? def->upper[axis] - x[axis] : x[axis] - def->lower[axis], n[3] = { 0, 0, 0 };
        if (!(phi < 2 * s->r) || !(phi < s->sight[at->grain]))
            continue;
        n[axis] = f & 1 ? -1 : 1;
        add(at, f, &def->wall[f], rp__vec3_load(n), phi, rp__vec3_make(0, 0, 0));
    }
}

static rp__vec3 flat(const rp__pbd *s, rp__vec3 n)
{
    return s->dim == 3 ? n : rp__vec3_unit(rp__vec3_make(n.x, n.y, 0), rp__vec3_make(1, 0, 0));
}

/* One side of a body, at distance phi along n. */
static void touch_side(list *at, int number, rp__vec3 x, rp__vec3 n, double phi)
{
    const rp__pbd *s = at->w->s;
    const rp__body *body = &at->w->world->bodies[number];
    const rp__pbd_body *b = &s->bodies[number];
    rp__vec3 foot = rp__vec3_axpy(-phi, n, x), way = { 0, 0, 0 };
    if (b->free >= 0)
        way = rp__body_arm(body, foot);
    else if (b->moves)
        way = rp__pbd_body_way(s, body, foot);
    rp__pbd_touch *t = add(at, 6 + number, &body->def.surface, n, phi, way);
    if (t && b->free >= 0) {
        t->free = number;
        rp__pbd_loosen(s, at->grain, t);
    }
}

/* The distance to a body, with its touches. */
static double touch_body(list *at, int number)
{
    const rp__pbd *s = at->w->s;
    const rp__body *body = &at->w->world->bodies[number];
    rp__vec3 x = rp__vec3_load(s->x[at->grain]), n, m;
    double phi = rp__body_distance(body, &body->pose, x, &n), range = s->sight[at->grain];
    if (s->bodies[number].moves && s->bodies[number].free < 0)
        range += rp__vec3_norm(rp__pbd_body_way(s, body, x));
    if (!(phi < range))
        return phi;
    n = flat(s, n);
    touch_side(at, number, x, n, phi);
    rp__vec3 away = rp__vec3_axpy(s->r, n, x);
    if (!(rp__body_distance(body, &body->pose, away, NULL) < phi + s->r * (1 - 1e-9)) || !(phi > -s->r))
        return phi; /* the distance grew by the way: the side is the same */
    double other = rp__body_distance(body, &body->pose, away, &m);
    m = flat(s, m);
    double turned = rp__vec3_dot(n, m);
    if (turned < SAME_NORMAL && other - s->r * turned < range)
        touch_side(at, number, x, m, other - s->r * turned);
    return phi;
}

static void touch_bodies(list *at)
{
    const rp__pbd *s = at->w->s;
    const double *x = s->x[at->grain];
    double *clearance = &at->w->clearance[s->order[at->grain]];
    bool near = s->any_rest && !(*clearance > s->sight[at->grain]);
    if (near)
        *clearance = INFINITY;
    for (int b = 0; b < at->w->world->body_count; b++) {
        const rp__pbd_body *body = &s->bodies[b];
        if (!body->there || body->beaded || (body->rests && !near))
            continue;
        if (body->rests) {
            *clearance = fmin(*clearance, touch_body(at, b));
            continue;
        }
        bool inside = true;
        for (int a = 0; a < 3; a++)
            inside = inside && x[a] > body->lower[a] && x[a] < body->upper[a];
        if (inside)
            touch_body(at, b);
    }
}

/* Far from walls, and from bodies as far as is known without asking. */
static bool is_clear(const work *w, int64_t k)
{
    const rp__pbd *s = w->s;
    const double *x = s->x[k];
    bool inside = true, near = true;
    for (int a = 0; a < 3; a++) {
        inside = inside & (x[a] > w->lower[a]) & (x[a] < w->upper[a]);
        near = near & (x[a] > w->first[a]) & (x[a] < w->last[a]);
    }
    return inside && !near && (s->owner[k] >= 0 || !s->any_rest || w->clearance[s->order[k]] > s->sight[k]);
}

static void find_in_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    rp__pbd_touches *t = &w->s->touch;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        rp__pbd_slab *slab = &w->s->slabs[b];
        int64_t next = slab->begin * t->room, last = slab->end * t->room;
        for (int64_t k = slab->begin; k < slab->end; k++) {
            t->first[k] = next;
            t->count[k] = 0;
            if (is_clear(w, k))
                continue;
            list at = { .w = w, .grain = k, .to = t->all + next, .room = last - next };
            if (w->s->owner[k] < 0) {
                touch_walls(&at);
                touch_bodies(&at);
            }
            t->count[k] = at.count;
            next += at.count;
            if (at.full) {
                atomic_store_explicit(&w->full, 1, memory_order_relaxed);
                break;
            }
        }
        slab->touches[0] = slab->begin * t->room, slab->touches[1] = next;
    }
}

static rp_result reserve(rp__pbd_touches *t, int64_t n)
{
    if (n + 1 > t->grain_capacity) {
        int64_t capacity = n + n / 2 + 64;
        int32_t *count = rp__base_realloc_array(t->count, (size_t)capacity, sizeof *count);
        t->count = count ? count : t->count;
        int64_t *first = rp__base_realloc_array(t->first, (size_t)capacity, sizeof *first);
        t->first = first ? first : t->first;
        if (!count || !first)
            return RP_OUT_OF_MEMORY;
        t->grain_capacity = capacity;
    }
    if (t->room < 2)
        t->room = 2;
    return rp__base_grow(&t->all, &t->capacity, n * t->room + 1, sizeof *t->all) ? RP_OK : RP_OUT_OF_MEMORY;
}

/* What is the same for all grains. */
static void begin(work *w)
{
    const rp_sim_def *def = w->world->def;
    for (int a = 0; a < 3; a++) {
        w->lower[a] = w->last[a] = -INFINITY, w->upper[a] = w->first[a] = INFINITY;
        if (a < w->s->dim && is_wall(&def->wall[2 * a]))
            w->lower[a] = def->lower[a] + 2 * w->s->r;
        if (a < w->s->dim && is_wall(&def->wall[2 * a + 1]))
            w->upper[a] = def->upper[a] - 2 * w->s->r;
    }
    for (int b = 0; b < w->world->body_count; b++) {
        const rp__pbd_body *body = &w->s->bodies[b];
        for (int a = 0; a < 3 && body->there && !body->beaded && !body->rests; a++)
            w->first[a] = fmin(w->first[a], body->lower[a]), w->last[a] = fmax(w->last[a], body->upper[a]);
    }
}

rp_result rp__pbd_find_touches(rp__pbd *s, rp__world *world)
{
    work w = { .s = s, .world = world, .scale = s->h_old > 0 ? s->h * s->h / (s->h_old * s->h_old) : 0 };
    w.clearance = rp__particles_f64(world->particles, s->clearance_field, 0);
    begin(&w);
    for (;;) {
        RP_TRY(reserve(&s->touch, s->n));
        atomic_store(&w.full, 0);
        rp__exec_for(s->slab_count, 1, find_in_slabs, &w);
        if (!atomic_load(&w.full))
            break;
        s->touch.room *= 2;
    }
    s->touch.grains = s->n;
    return rp__pbd_list_loose(s);
}
