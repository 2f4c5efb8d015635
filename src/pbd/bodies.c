/* Bodies in the sweeps: scripted ones go their way, free ones have six unknowns.
 *
 * A free body has the displacement d = (way of its centre, turn). A contact at the arm a from the centre sees
 *
 *     e = u_i - (d_v + d_w × a),      (l, t) change by share × what e asks for,      share = w_i / (w_i + J W Jᵀ)
 *
 * along the normal, and with the largest eigenvalue across it, so that friction never turns a slip round. W is the inverse mass
 * with the joint in it. The impulse of the step, -m_i (l n + t) / h, goes to the body of the simulation at the end. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static bool is_moving(const rp__body *body)
{
    return memcmp(&body->pose, &body->pose_next, sizeof body->pose) != 0 || body->def.sequence || body->def.kind == RP_BODY_FREE;
}

/* Box around the body at both ends of the step, grown by `reach`. */
static void set_bounds(const rp__body *body, double reach, rp__pbd_body *b)
{
    double low[3], high[3];
    rp_shape_bounds(body->def.shape, low, high);
    bool bounded = !body->def.sequence;
    for (int a = 0; a < 3; a++) {
        bounded = bounded && isfinite(low[a]) && isfinite(high[a]);
        b->lower[a] = INFINITY, b->upper[a] = -INFINITY;
    }
    for (int k = 0; k < 16 && bounded; k++) {
        double c[3] = { k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2] };
        rp__vec3 local = rp__vec3_sub(rp__vec3_load(c), body->centre_local);
        rp__vec3_store(c, rp__pose_apply(k & 8 ? &body->pose_next : &body->pose, local));
        for (int a = 0; a < 3; a++)
            b->lower[a] = fmin(b->lower[a], c[a] - reach), b->upper[a] = fmax(b->upper[a], c[a] + reach);
    }
    for (int a = 0; a < 3 && !bounded; a++)
        b->lower[a] = -INFINITY, b->upper[a] = INFINITY;
}

/* Clearances of grains hold for the bodies at rest where they were measured; when one of these stands elsewhere they are void. */
static rp_result keep_clearances(rp__pbd *s, const rp__world *world)
{
    bool same = s->rested_count == world->body_count;
    if (!rp__base_grow(&s->rested, &s->rested_capacity, world->body_count + 1, sizeof *s->rested))
        return RP_OUT_OF_MEMORY;
    for (int k = 0; k < world->body_count; k++) {
        rp__pose pose = s->bodies[k].rests ? world->bodies[k].pose : (rp__pose){ .orientation = { .w = 0 } };
        same = same && memcmp(&s->rested[k], &pose, sizeof pose) == 0;
        s->rested[k] = pose;
    }
    s->rested_count = world->body_count;
    double *clearance = rp__particles_f64(world->particles, s->clearance_field, 0);
    for (int64_t i = 0; i < world->particles->count && !same; i++)
        clearance[i] = -1;
    return RP_OK;
}

rp_result rp__pbd_begin_bodies(rp__pbd *s, const rp__world *world)
{
    if (!rp__base_grow(&s->bodies, &s->body_capacity, world->body_count + 1, sizeof *s->bodies))
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__pbd_set_beads(s, world));
    s->any_free = s->any_rest = false;
    s->body_count = world->body_count;
    for (int k = 0; k < world->body_count; k++) {
        const rp__body *body = &world->bodies[k];
        rp__pbd_body *b = &s->bodies[k];
        memset(b, 0, sizeof *b);
        b->there = body->present;
        b->free = -1;
        if (!b->there)
            continue;
        b->moves = is_moving(body);
        b->beaded = s->beads.first[k + 1] > s->beads.first[k];
        b->rests = rp__body_rests(body) && !b->beaded;
        s->any_rest = s->any_rest || b->rests;
        set_bounds(body, 2 * s->r, b);
        b->matched = b->beaded && rp__pbd_is_matched(s, body);
        if (body->def.kind != RP_BODY_FREE || b->matched)
            continue;
        b->free = k;
        s->any_free = true;
        rp__body_inverse_mass(body, b->w);
        for (int c = 0; c < 36; c++)
            b->w[c] *= s->mean_mass;
        rp__vec3_store(b->d, rp__vec3_scale(s->h, body->velocity));
        rp__vec3_store(b->d + 3, rp__vec3_scale(s->h, body->omega));
        memcpy(b->alone, b->d, sizeof b->alone);
    }
    rp__pbd_place_beads(s, world);
    return keep_clearances(s, world);
}

rp__vec3 rp__pbd_body_way(const rp__pbd *s, const rp__body *body, rp__vec3 x)
{
    if (body->def.sequence)
        return rp__vec3_scale(s->h, rp__body_velocity_at(body, x));
    return rp__vec3_sub(rp__pose_apply(&body->pose_next, rp__pose_inverse_apply(&body->pose, x)), x);
}

/* W J for an impulse p at the arm a. */
static void respond(const double w[36], rp__vec3 arm, rp__vec3 p, double out[6])
{
    rp__vec3 turn = rp__vec3_cross(arm, p);
    double j[6] = { p.x, p.y, p.z, turn.x, turn.y, turn.z };
    for (int a = 0; a < 6; a++) {
        out[a] = 0;
        for (int b = 0; b < 6; b++)
            out[a] += w[6 * a + b] * j[b];
    }
}

/* How a point at the arm moves for an impulse p. */
static rp__vec3 yield_of(const double w[36], rp__vec3 arm, rp__vec3 p)
{
    double d[6];
    respond(w, arm, p, d);
    return rp__vec3_add(rp__vec3_load(d), rp__vec3_cross(rp__vec3_load(d + 3), arm));
}

void rp__pbd_loosen(const rp__pbd *s, int64_t grain, rp__pbd_touch *t)
{
    const double *w = s->bodies[t->free].w;
    rp__vec3 arm = rp__vec3_load(t->s), n = rp__vec3_load(t->n), z = { 0, 0, 1 }, x = { 1, 0, 0 };
    rp__vec3 a = rp__vec3_unit(rp__vec3_cross(fabs(n.z) < 0.9 ? z : x, n), x), b = rp__vec3_cross(n, a);
    rp__vec3 ya = yield_of(w, arm, a), yb = yield_of(w, arm, b);
    double aa = rp__vec3_dot(a, ya), bb = rp__vec3_dot(b, yb), ab = rp__vec3_dot(a, yb);
    double across = 0.5 * (aa + bb) + sqrt(0.25 * (aa - bb) * (aa - bb) + ab * ab);
    double along = rp__vec3_dot(n, yield_of(w, arm, n)), own = s->u[grain][3];
    t->share[0] = own / (own + along);
    t->share[1] = own / (own + across);
}

rp_result rp__pbd_list_loose(rp__pbd *s)
{
    s->loose_count = 0;
    for (int64_t k = 0; k < s->n && s->any_free; k++)
        for (int32_t m = 0; m < s->touch.count[k]; m++) {
            int64_t at = s->touch.first[k] + m;
            if (s->touch.all[at].free < 0)
                continue;
            if (!rp__base_grow(&s->loose, &s->loose_capacity, s->loose_count + 1, sizeof *s->loose))
                return RP_OUT_OF_MEMORY;
            s->loose[s->loose_count++] = (rp__pbd_loose){ at, (int32_t)k };
        }
    return RP_OK;
}

static void visit_one(rp__pbd *s, const rp__pbd_loose *at, bool warm)
{
    rp__pbd_touch *t = &s->touch.all[at->touch];
    rp__pbd_body *b = &s->bodies[t->free];
    double *u = s->u[at->grain];
    rp__vec3 n = rp__vec3_load(t->n), arm = rp__vec3_load(t->s), old = rp__vec3_load(t->t), change;
    if (warm)
        change = rp__vec3_axpy(t->l, n, old);
    else {
        rp__vec3 moved = rp__vec3_add(rp__vec3_load(b->d), rp__vec3_cross(rp__vec3_load(b->d + 3), arm));
        rp__vec3 e = rp__vec3_sub(rp__vec3_load(u), moved);
        double along = rp__vec3_dot(e, n), l = fmax(0, t->l - t->share[0] * (along + t->g));
        rp__vec3 q = rp__vec3_axpy(-t->share[1], rp__vec3_axpy(-along, n, e), old);
        double length = rp__vec3_norm(q), most = t->mu * l;
        if (length > most)
            q = rp__vec3_scale(most / length, q);
        change = rp__vec3_axpy(l - t->l, n, rp__vec3_sub(q, old));
        t->l = l;
        rp__vec3_store(t->t, q);
    }
    double back[6];
    respond(b->w, arm, rp__vec3_scale(1 / u[3], change), back);
    u[0] += change.x, u[1] += change.y, u[2] += change.z;
    for (int c = 0; c < 6; c++)
        b->d[c] -= back[c];
}

/* A body is heavy beside a grain: its contacts are visited several times in a sweep, and after each what holds the grain from behind,
 * so that it is not pressed into a surface that does not give way. */
enum { ROUNDS = 4 };

void rp__pbd_visit_loose(rp__pbd *s, bool warm)
{
    for (int round = 0; round < (warm ? 1 : ROUNDS); round++)
        for (int64_t k = 0; k < s->loose_count; k++) {
            int32_t grain = s->loose[k].grain;
            visit_one(s, &s->loose[k], warm);
            for (int32_t m = 0; m < s->touch.count[grain] && !warm; m++) {
                rp__pbd_touch *t = &s->touch.all[s->touch.first[grain] + m];
                if (t->free < 0)
                    rp__pbd_visit_touch(t, s->u[grain], false, 1);
            }
        }
}

/* Forces over the step: -m (l n + t) / h² on each surface, and what it did to free bodies. */
void rp__pbd_surface_forces(rp__pbd *s, rp__world *world)
{
    for (int64_t k = 0; k < s->n; k++)
        for (int32_t m = 0; m < s->touch.count[k]; m++) {
            const rp__pbd_touch *t = &s->touch.all[s->touch.first[k] + m];
            double per = -s->mass[k] / (s->h * s->h);
            rp__vec3 f = rp__vec3_scale(per, rp__vec3_axpy(t->l, rp__vec3_load(t->n), rp__vec3_load(t->t)));
            double on[3], at[3];
            rp__vec3_store(on, f);
            rp__vec3_store(at, rp__vec3_axpy(-s->r, rp__vec3_load(t->n), rp__vec3_load(s->x[k])));
            rp__sim_tell_contact(world, t->surface, s->touch.first[k] + m, at, t->n, on, s->h);
            if (t->surface < 6) {
                double *to = world->wall_force[t->surface];
                to[0] += f.x, to[1] += f.y, to[2] += f.z;
                continue;
            }
            rp__body *body = &world->bodies[t->surface - 6];
            rp__vec3 arm = rp__vec3_load(t->s);
            if (t->free < 0)
                arm = rp__body_arm(body, rp__vec3_axpy(-s->r, rp__vec3_load(t->n), rp__vec3_load(s->x[k])));
            body->force = rp__vec3_add(body->force, f);
            body->torque = rp__vec3_add(body->torque, rp__vec3_cross(arm, f));
        }
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        if (s->bodies[b].there && s->bodies[b].free >= 0)
            rp__body_apply(body, rp__vec3_scale(s->h, body->force), rp__vec3_scale(s->h, body->torque));
    }
}
