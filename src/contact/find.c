/* Candidates: every place where two things may touch within the step.
 *
 * A box holds a grain or a segment, the way it goes in the step (in the frame of the mean velocity of all, so that a crowd that moves as
 * one is not large), and a margin. Pairs of boxes give nearest points of capsules. Nodes of fibres, and the two ends of grains, meet
 * walls and bodies through their distances: contacts at nodes give smooth forces where a fibre lies on something round. */
#include "contact/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "body/sides.h"
#include "exec/exec.h"

#include <string.h>

#define MARGIN 0.1      /* of a radius: what grains and fibres that hardly move may come nearer by pushes of others */
#define PUSHED 0.25     /* of the way of a step: by how much pushes of others may lengthen it */
#define MU_STICK 1e3    /* of surfaces to which things stick */

typedef struct mover {
    rp__vec3 mean;      /* velocity */
    double spread;      /* of its points about that */
    double pad;
} mover;

typedef struct search {
    rp__contact_state *s;
    rp__world *world;
    rp__contact_grains grains;
    double dt, fall;    /* fall: g dt² */
    rp__vec3 frame;     /* mean velocity of all */
    mover *movers;      /* of the boxes */
} search;

static double grain_friction(const search *q, int64_t i)
{
    const rp_material_def *m = &q->world->materials[q->grains.material[i]];
    return m->friction >= 0 ? m->friction : tan(m->friction_angle);
}

static double surface_friction(const rp_surface *s)
{
    return s->kind == RP_STICK ? MU_STICK : s->kind == RP_FRICTIONAL ? s->friction : 0;
}

static rp__collide_capsule segment(const rp__contact_fibre *f, int edge)
{
    return (rp__collide_capsule){ rp__rod_node(f->rod, edge), rp__rod_node(f->rod, edge + 1), f->rod->section.radius };
}

/* Segment `item` of all: its fibre and edge. */
static const rp__contact_fibre *fibre_of_item(const rp__contact_state *s, int64_t grains, int32_t item, int *edge)
{
    const rp__contact_fibre *f = &s->fibres[s->segment_fibre[item - grains]];
    *edge = rp__rod_first(f->rod) + item - (int32_t)grains - f->item;
    return f;
}

/* ---- boxes ---- */

static rp__vec3 free_velocity(const search *q, int64_t at)
{
    return rp__vec3_load(q->s->system.free_velocity + at);
}

static void describe(search *q, int32_t item, rp__collide_capsule *c, mover *m)
{
    if (item < q->grains.count) {
        *c = rp__contact_capsule(&q->grains, item);
        m->mean = free_velocity(q, 6 * (int64_t)item);
        rp__vec3 spin = free_velocity(q, 6 * (int64_t)item + 3);
        m->spread = rp__vec3_norm(spin) * q->grains.slenderness * c->radius;
    } else {
        int edge;
        const rp__contact_fibre *f = fibre_of_item(q->s, q->grains.count, item, &edge);
        rp__vec3 a = free_velocity(q, f->first + 4 * edge), b = free_velocity(q, f->first + 4 * edge + 4);
        *c = segment(f, edge);
        m->mean = rp__vec3_scale(0.5, rp__vec3_add(a, b));
        m->spread = 0.5 * rp__vec3_norm(rp__vec3_sub(a, b));
    }
    double speed = rp__vec3_norm(rp__vec3_sub(m->mean, q->frame)) + m->spread;
    m->pad = MARGIN * c->radius + PUSHED * q->dt * speed + q->fall;
}

static void box_range(void *context, int64_t begin, int64_t end, int worker)
{
    search *q = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        rp__collide_capsule c;
        mover *m = &q->movers[i];
        describe(q, (int32_t)i, &c, m);
        double p[3], r[3], way[3], pad = c.radius + m->pad + q->dt * m->spread;
        rp__vec3_store(p, c.p);
        rp__vec3_store(r, c.q);
        rp__vec3_store(way, rp__vec3_scale(q->dt, rp__vec3_sub(m->mean, q->frame)));
        for (int a = 0; a < 3; a++) {
            q->s->boxes[i].lower[a] = fmin(p[a], r[a]) + fmin(way[a], 0) - pad;
            q->s->boxes[i].upper[a] = fmax(p[a], r[a]) + fmax(way[a], 0) + pad;
        }
    }
}

/* Segments of one fibre meet only if there is another one between them, and at least two radii of it. */
static bool skip(const void *context, int32_t a, int32_t b)
{
    const search *q = context;
    if (a < q->grains.count || b < q->grains.count)
        return false;
    int i, j;
    const rp__contact_fibre *f = fibre_of_item(q->s, q->grains.count, a, &i), *g = fibre_of_item(q->s, q->grains.count, b, &j);
    if (f != g)
        return false;
    double between = 0;
    for (int k = i + 1; k < j && between < 2 * f->rod->section.radius; k++)
        between += f->rod->length[k];
    return j - i < 2 || between < 2 * f->rod->section.radius;
}

/* ---- candidates ---- */

rp_result rp__contact_add(rp__contact_state *s, const rp__contact_candidate *c)
{
    if (!rp__base_grow(&s->candidates, &s->candidate_capacity, s->candidate_count + 1, sizeof *c))
        return RP_OUT_OF_MEMORY;
    s->candidates[s->candidate_count++] = *c;
    return RP_OK;
}

static bool is_fixed(const search *q, int32_t item)
{
    return item < q->grains.count && q->grains.fixed[item] > 0;
}

/* The end of a candidate on grain or segment `item`, at place t of its axis; `to_surface` leads from the axis to the contact. */
static void set_end(const search *q, int32_t item, double place, rp__vec3 on_axis, rp__vec3 to_surface, rp__contact_end *end, uint64_t *name, double *mu)
{
    if (item < q->grains.count) {
        rp__vec3 centre = { q->grains.x[0][item], q->grains.x[1][item], q->grains.x[2][item] };
        *end = (rp__contact_end){ is_fixed(q, item) ? NOTHING : item, 0, 0, rp__vec3_add(rp__vec3_sub(on_axis, centre), to_surface) };
        *name = rp__contact_name(NAME_GRAIN, q->grains.id[item], 0);
        *mu = grain_friction(q, item);
        return;
    }
    int edge;
    const rp__contact_fibre *f = fibre_of_item(q->s, q->grains.count, item, &edge);
    int64_t number = f - q->s->fibres;
    *end = (rp__contact_end){ (int32_t)(q->s->system.objects - q->s->fibre_count + number), edge, place, to_surface };
    *name = rp__contact_name(NAME_SEGMENT, number, edge);
    *mu = f->friction;
}

/* Whether a place on a segment goes where it is told: within a diameter of a fixed end of its fibre, where a contact has no lever. */
static bool is_held(const search *q, int32_t item, double place)
{
    int edge;
    if (item < q->grains.count)
        return false;
    const rp__rod *rod = fibre_of_item(q->s, q->grains.count, item, &edge)->rod;
    int first = rp__rod_first(rod), last = first + rp__rod_nodes(rod) - 2;
    double near = fmin(2 * rod->section.radius / rod->length[edge], 0.5);
    return (edge == first && place < near && rod->end[0] != RP_ROD_FREE) || (edge == last && place > 1 - near && rod->end[1] != RP_ROD_FREE);
}

static void swap_ends(rp__contact_candidate *c)
{
    rp__contact_end end = c->end[0];
    uint64_t name = c->key.a;
    c->end[0] = c->end[1];
    c->end[1] = end;
    c->key.a = c->key.b;
    c->key.b = name;
    c->normal = rp__vec3_scale(-1, c->normal);
    c->side = -c->side;
}

/* Two segments that were on one side of each other and are now seen on the other have gone through: the normal is turned back, and the
 * depth is what they must go to be as they were. Only where they are nearest between their ends: past its end a segment may go round. */
static void keep_side(const search *q, rp__contact_candidate *c, const rp__collide_capsule *a, const rp__collide_capsule *b, const rp__collide_touch *t)
{
    const double end = 1e-3;
    bool between = t->s > end && t->s < 1 - end && t->t > end && t->t < 1 - end;
    int now = between ? rp__collide_side(a, b) : 0;
    const rp__collide_record *old = NULL;
    c->side = now;
    if (!between)
        return;
    for (uint64_t slot = 0; slot < 2 && !old; slot++) {
        rp__collide_key key = { c->key.a, c->key.b, slot };
        old = rp__collide_find(q->s->memory, q->s->memory_count, &key);
    }
    if (!old || old->side == 0)
        return;
    c->side = old->side;
    if (now != 0 && now != old->side) {
        double depth = c->gap + c->size; /* distance of the axes */
        c->normal = rp__vec3_scale(-1, c->normal);
        c->end[0].arm = rp__vec3_scale(-1, c->end[0].arm);
        c->end[1].arm = rp__vec3_scale(-1, c->end[1].arm);
        c->gap = -depth - c->size;
    }
}

/* Whether another segment of its fibre, next to the end `place` of segment `item`, is nearer to `other` (as near: the one that comes first
 * counts). Where they overlap, this is then no place where the distance of the two is least: it would be the same contact twice, with two
 * normals which, where axes nearly meet, may be opposed. (Apart both stay: each is a way to pass.) */
static bool neighbour_is_nearer(const search *q, int32_t item, int32_t other, double place, const rp__collide_capsule *with, rp__vec3 move, double distance)
{
    int edge;
    if (item < q->grains.count || (place > 0 && place < 1))
        return false;
    const rp__contact_fibre *f = fibre_of_item(q->s, q->grains.count, item, &edge);
    int step = place <= 0 ? -1 : 1, first = rp__rod_first(f->rod), last = first + rp__rod_nodes(f->rod) - 2;
    if (edge + step < first || edge + step > last || skip(q, item + step < other ? item + step : other, item + step < other ? other : item + step))
        return false;
    rp__collide_capsule next = segment(f, edge + step);
    double s, t, d = sqrt(rp__collide_segments(rp__vec3_add(next.p, move), rp__vec3_add(next.q, move), with->p, with->q, &s, &t));
    return step > 0 ? d < (1 - 1e-9) * distance : d <= (1 + 1e-9) * distance;
}

static rp_result add_pair(search *q, const rp__collide_pair *pair)
{
    rp__collide_capsule a, b;
    rp__collide_touch t[2];
    mover ma, mb;
    if (is_fixed(q, pair->a) && is_fixed(q, pair->b))
        return RP_OK;
    describe(q, pair->a, &a, &ma);
    describe(q, pair->b, &b, &mb);
    double shift[3], within = ma.pad + mb.pad + q->dt * (rp__vec3_norm(rp__vec3_sub(ma.mean, mb.mean)) + ma.spread + mb.spread);
    for (int k = 0; k < 3; k++)
        shift[k] = pair->shift[k] * (q->world->def->upper[k] - q->world->def->lower[k]);
    rp__vec3 move = rp__vec3_load(shift);
    b.p = rp__vec3_add(b.p, move);
    b.q = rp__vec3_add(b.q, move);
    int n = rp__collide_capsules(&a, &b, within, t);
    for (int k = 0; k < n; k++) {
        if (is_held(q, pair->a, t[k].s) && is_held(q, pair->b, t[k].t)) /* roots that lie in each other: nothing could part them */
            continue;
        double distance = t[k].gap + a.radius + b.radius;
        if (n == 1 && t[k].gap < 0 &&
            (neighbour_is_nearer(q, pair->a, pair->b, t[k].s, &b, rp__vec3_make(0, 0, 0), distance) ||
             neighbour_is_nearer(q, pair->b, pair->a, t[k].t, &a, move, distance)))
            continue;
        rp__contact_candidate c = { .gap = t[k].gap, .size = a.radius + b.radius, .normal = t[k].normal, .body = -1, .wall = -1, .contact = -1 };
        double mu[2];
        set_end(q, pair->a, t[k].s, t[k].on_a, rp__vec3_scale(-a.radius, t[k].normal), &c.end[0], &c.key.a, &mu[0]);
        set_end(q, pair->b, t[k].t, rp__vec3_sub(t[k].on_b, move), rp__vec3_scale(b.radius, t[k].normal), &c.end[1], &c.key.b, &mu[1]);
        c.key.slot = (uint64_t)k;
        c.mu = sqrt(mu[0] * mu[1]);
        c.along = rp__vec3_sub(a.q, a.p);
        if (pair->a >= q->grains.count && pair->b >= q->grains.count)
            keep_side(q, &c, &a, &b, &t[k]);
        bool fixed = c.end[0].object == NOTHING || c.end[1].object == NOTHING; /* comes last, as all that does not move */
        if (fixed ? c.end[0].object == NOTHING : c.key.a > c.key.b)
            swap_ends(&c);
        RP_TRY(rp__contact_add(q->s, &c));
    }
    return RP_OK;
}

/* ---- walls and bodies ---- */

/* A point with a radius about it, on an object, held against everything that is not a grain or a fibre. `slot` is 0 or 1. */
typedef struct probe {
    rp__contact_end end;
    uint64_t name, slot;
    rp__vec3 point, velocity, along;
    double radius, pad, mu;
} probe;

/* With side number `index` of a body, or a wall. */
static rp_result add_probe(search *q, const probe *p, const rp__body_side *side, int index, rp__vec3 surface, int body, int wall, const rp_surface *kind)
{
    rp__contact_candidate c = { .gap = side->distance - p->radius, .size = p->radius, .normal = side->normal, .surface = surface, .body = body,
                                .wall = wall, .contact = -1, .along = p->along };
    c.end[0] = p->end;
    c.end[0].arm = rp__vec3_axpy(-p->radius, side->normal, p->end.arm);
    c.end[1].object = NOTHING;
    c.key.a = p->name;
    c.key.b = body >= 0 ? rp__contact_name(NAME_BODY, body, 0) : rp__contact_name(NAME_WALL, wall, 0);
    c.key.slot = p->slot + 2 * (uint64_t)index;
    c.mu = surface_friction(kind);
    if (body >= 0 && q->world->bodies[body].def.kind == RP_BODY_FREE) {
        const rp__body *b = &q->world->bodies[body];
        c.end[1] = (rp__contact_end){ (int32_t)(q->grains.count + body), 0, 0, rp__body_arm(b, rp__vec3_axpy(-side->distance, side->normal, p->point)) };
        c.surface = rp__vec3_make(0, 0, 0);
    }
    return rp__contact_add(q->s, &c);
}

/* A body that moves as told is met where it will be at the end of the step: seen from the place to which it takes the point along, (x_1 - x) / dt the
 * velocity that leads there, normals and gaps are those of the end. With normals and v + omega × arm of the beginning a side that turns would leave its
 * contacts, or drive them farther than it goes itself. What is round and lies in a corner meets every side of it. */
static rp_result meet_body(search *q, const probe *p, int b)
{
    const rp__body *body = &q->world->bodies[b];
    bool told = body->def.kind != RP_BODY_FREE;
    rp__body_side side[RP__BODY_SIDES];
    if (!body->present)
        return RP_OK;
    rp__vec3 end = told ? rp__body_carried(body, p->point, q->dt) : p->point;
    rp__vec3 velocity = told ? rp__vec3_scale(1 / q->dt, rp__vec3_sub(end, p->point)) : rp__body_velocity_at(body, p->point);
    double reach = p->radius + p->pad + q->dt * rp__vec3_norm(rp__vec3_sub(p->velocity, velocity));
    int count = rp__body_sides(body, told ? &body->pose_next : &body->pose, end, reach, q->world->def->dim, side);
    for (int k = 0; k < count; k++) {
        rp__vec3 surface = rp__vec3_add(velocity, rp__vec3_cross(body->omega, rp__vec3_scale(-side[k].distance, side[k].normal)));
        RP_TRY(add_probe(q, p, &side[k], k, surface, b, -1, &body->def.surface));
    }
    return RP_OK;
}

static rp_result meet(search *q, const probe *p)
{
    const rp_sim_def *def = q->world->def;
    double x[3];
    rp__vec3_store(x, p->point);
    for (int f = 0; f < 2 * def->dim; f++) {
        if (def->wall[f].kind == RP_OPEN || def->wall[f].kind == RP_PERIODIC)
            continue;
        double n[3] = { 0, 0, 0 }, distance = f & 1 ? def->upper[f / 2] - x[f / 2] : x[f / 2] - def->lower[f / 2];
        n[f / 2] = f & 1 ? -1 : 1;
        rp__body_side side = { distance, rp__vec3_load(n) };
        if (distance - p->radius < p->pad + q->dt * fmax(0, -rp__vec3_dot(side.normal, p->velocity)))
            RP_TRY(add_probe(q, p, &side, 0, rp__vec3_make(0, 0, 0), -1, f, &def->wall[f]));
    }
    for (int b = 0; b < q->world->body_count; b++)
        RP_TRY(meet_body(q, p, b));
    return RP_OK;
}

static rp_result probe_grains(search *q)
{
    const rp__contact_grains *g = &q->grains;
    for (int64_t i = 0; i < g->count; i++) {
        if (is_fixed(q, (int32_t)i))
            continue;
        rp__collide_capsule c = rp__contact_capsule(g, i);
        rp__vec3 centre = { g->x[0][i], g->x[1][i], g->x[2][i] }, v = free_velocity(q, 6 * i), spin = free_velocity(q, 6 * i + 3);
        for (int k = 0; k < (g->slenderness > 0 ? 2 : 1); k++) {
            rp__vec3 arm = rp__vec3_sub(k == 0 ? c.p : c.q, centre);
            probe p = { .end = { (int32_t)i, 0, 0, arm }, .name = rp__contact_name(NAME_GRAIN, g->id[i], 0), .slot = (uint64_t)k,
                        .point = k == 0 ? c.p : c.q, .velocity = rp__vec3_add(v, rp__vec3_cross(spin, arm)), .radius = c.radius,
                        .pad = q->movers[i].pad, .mu = 0 };
            RP_TRY(meet(q, &p));
        }
    }
    return RP_OK;
}

/* Nodes of fibres; those that are fixed go where they are told. */
static rp_result probe_fibres(search *q)
{
    for (int64_t k = 0; k < q->s->fibre_count; k++) {
        const rp__contact_fibre *f = &q->s->fibres[k];
        int first = rp__rod_first(f->rod), count = rp__rod_nodes(f->rod);
        int32_t object = (int32_t)(q->s->system.objects - q->s->fibre_count + k);
        for (int i = first; i < first + count; i++) {
            if ((i == first && f->rod->end[0] != RP_ROD_FREE) || (i == first + count - 1 && f->rod->end[1] != RP_ROD_FREE))
                continue;
            int edge = i < first + count - 1 ? i : i - 1;
            const mover *m = &q->movers[q->grains.count + f->item + edge - first];
            probe p = { .end = { object, i, -1, { 0, 0, 0 } }, .name = rp__contact_name(NAME_NODE, k, i), .point = rp__rod_node(f->rod, i),
                        .velocity = free_velocity(q, f->first + 4 * i), .along = rp__vec3_load(f->rod->tangent + 3 * edge),
                        .radius = f->rod->section.radius, .pad = m->pad };
            RP_TRY(meet(q, &p));
        }
    }
    return RP_OK;
}

static double distance_on(const rp__body *body, const rp__collide_capsule *c, double t)
{
    return rp__body_distance(body, &body->pose, rp__vec3_axpy(t, rp__vec3_sub(c->q, c->p), c->p), NULL);
}

/* A body that is smaller than a segment can slip between its nodes: the place of the segment that is nearest to it, by golden section. */
static rp_result probe_small_bodies(search *q)
{
    for (int b = 0; b < q->world->body_count && q->s->segments; b++) {
        const rp__body *body = &q->world->bodies[b];
        double low[3], high[3], size = 0;
        rp_shape_bounds(body->def.shape, low, high);
        for (int a = 0; a < 3; a++)
            size = fmax(size, high[a] - low[a]);
        for (int64_t k = 0; k < q->s->segments && body->present; k++) {
            int edge;
            const rp__contact_fibre *f = fibre_of_item(q->s, q->grains.count, (int32_t)(q->grains.count + k), &edge);
            rp__collide_capsule c = segment(f, edge);
            double length = rp__vec3_norm(rp__vec3_sub(c.q, c.p));
            if (!(size < length) || distance_on(body, &c, 0.5) > 0.5 * length + c.radius + q->movers[q->grains.count + k].pad)
                continue;
            double left = 0, right = 1, golden = 0.6180339887498949;
            for (int n = 0; n < 24; n++) {
                double s = right - golden * (right - left), t = left + golden * (right - left);
                if (distance_on(body, &c, s) < distance_on(body, &c, t))
                    right = t;
                else
                    left = s;
            }
            double place = 0.5 * (left + right);
            if (place < 0.02 || place > 0.98) /* its node does it */
                continue;
            int64_t at = f->first + 4 * edge;
            rp__vec3 v = rp__vec3_axpy(place, free_velocity(q, at + 4), rp__vec3_scale(1 - place, free_velocity(q, at)));
            probe p = { .end = { (int32_t)(q->s->system.objects - q->s->fibre_count + (f - q->s->fibres)), edge, place, { 0, 0, 0 } },
                        .name = rp__contact_name(NAME_SEGMENT, f - q->s->fibres, edge), .point = rp__vec3_axpy(place, rp__vec3_sub(c.q, c.p), c.p),
                        .velocity = v, .along = rp__vec3_sub(c.q, c.p), .radius = c.radius, .pad = q->movers[q->grains.count + k].pad };
            RP_TRY(meet_body(q, &p, b));
        }
    }
    return RP_OK;
}

/* ---- all of it ---- */

static rp__vec3 mean_velocity(const search *q, int64_t items)
{
    rp__vec3 sum = { 0, 0, 0 };
    for (int64_t i = 0; i < q->grains.count; i++)
        sum = rp__vec3_add(sum, free_velocity(q, 6 * i));
    for (int64_t k = 0; k < q->s->fibre_count; k++) {
        const rp__contact_fibre *f = &q->s->fibres[k];
        int first = rp__rod_first(f->rod), last = first + rp__rod_nodes(f->rod) - 1;
        for (int i = first; i < last; i++)
            sum = rp__vec3_add(sum, free_velocity(q, f->first + 4 * i));
    }
    return rp__vec3_scale(items ? 1 / (double)items : 0, sum);
}

rp_result rp__contact_find(rp__contact_state *s, rp__world *world, double dt)
{
    const rp_sim_def *def = world->def;
    search q = { .s = s, .world = world, .grains = rp__contact_grains_of(world, s->first_field), .dt = dt };
    int64_t items = q.grains.count + s->segments, pair_count;
    const rp__collide_pair *pairs;
    rp__collide_room room = { { 0 }, { 0 } };
    q.fall = rp__vec3_norm(rp__vec3_load(def->gravity)) * dt * dt;
    s->candidate_count = 0;
    if (!rp__base_grow(&s->boxes, &s->box_capacity, items, sizeof *s->boxes))
        return RP_OUT_OF_MEMORY;
    q.movers = RP_NEW_ARRAY(mover, items);
    if (!q.movers)
        return RP_OUT_OF_MEMORY;
    q.frame = mean_velocity(&q, items);
    for (int a = 0; a < def->dim; a++) {
        room.lower[a] = def->lower[a];
        room.period[a] = def->wall[2 * a].kind == RP_PERIODIC ? def->upper[a] - def->lower[a] : 0;
    }
    rp__exec_for(items, 1024, box_range, &q);
    rp_result result = rp__collide_grid_pairs(s->grid, s->boxes, items, &room, skip, &q, &pairs, &pair_count);
    for (int64_t k = 0; k < pair_count && result == RP_OK; k++)
        result = add_pair(&q, &pairs[k]);
    if (result == RP_OK)
        result = probe_grains(&q);
    if (result == RP_OK)
        result = probe_fibres(&q);
    if (result == RP_OK)
        result = probe_small_bodies(&q);
    if (result == RP_OK)
        result = rp__contact_find_bodies(s, world, dt);
    rp__base_free(q.movers);
    return result;
}
