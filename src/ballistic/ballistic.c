/* The smallest complete method: grains fly and meet walls and bodies, without stress between them.
 *
 * It is the model to copy for a new method: a parameter table, the functions of rp__method, and nothing else. docs/methods.md
 * walks through it. A step does, for every particle,
 *
 *     x += dt v + dt²/2 g,   v += dt g                         (exact between impacts)
 *     v *= exp(-drag dt)                                       (only when drag > 0)
 *     impact with relative velocity w and unit normal n, w·n < 0:
 *         w_n' = -restitution w_n,  and Coulomb's law on the tangential part, |dw_t| <= mu (1 + restitution) |w_n|
 *
 * Paths are followed through the bodies, so that thin and fast ones do not leak. */
#include "ballistic/ballistic.h"

#include "base/error.h"
#include "base/memory.h"
#include "body/space.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

typedef struct params {
    double restitution;
    double drag;
} params;

static const rp_param table[] = {
    { "restitution", RP_REAL, offsetof(params, restitution), 0.3, 0, 1, "", "normal speed kept in an impact with a wall or body",
      NULL },
    { "drag", RP_REAL, offsetof(params, drag), 0, 0, 1e6, "1/s", "rate at which the air slows the grains", NULL },
    { 0 },
};

typedef struct state {
    double *start[3];   /* positions before the flight of this step */
    unsigned char *met; /* surfaces that moved a particle in this step */
    int64_t capacity, met_capacity;
} state;

static rp_result create(rp__world *world, int first_field, void **out)
{
    (void)world;
    (void)first_field; /* it adds no field */
    state *s = RP_NEW(state);
    if (!s)
        return RP_OUT_OF_MEMORY;
    *out = s;
    return RP_OK;
}

static void destroy(void *self)
{
    state *s = self;
    for (int a = 0; a < 3; a++)
        rp__base_free(s->start[a]);
    rp__base_free(s->met);
    rp__base_free(s);
}

static rp_result reserve(state *s, int64_t count)
{
    int64_t capacity = s->capacity;
    for (int a = 0; a < 3; a++) {
        capacity = s->capacity;
        if (!rp__base_grow(&s->start[a], &capacity, count, sizeof(double)))
            return RP_OUT_OF_MEMORY;
    }
    s->capacity = capacity;
    return rp__base_grow(&s->met, &s->met_capacity, count, 1) ? RP_OK : RP_OUT_OF_MEMORY;
}

typedef struct work {
    state *self;
    rp__world *world;
    const params *par;
    double dt;
    const rp__body *body; /* the one being met */
    rp__body_space room;   /* beside all of them */
} work;

enum { CHUNK = 4096 };

/* ---- flight ---- */

static void fly(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    work *w = context;
    rp__particles *p = w->world->particles;
    double keep = exp(-w->par->drag * w->dt);
    memset(w->self->met + begin, 0, (size_t)(end - begin));
    for (int a = 0; a < w->world->def->dim; a++) {
        double g = w->world->def->gravity[a];
        for (int64_t i = begin; i < end; i++) {
            w->self->start[a][i] = p->x[a][i];
            p->x[a][i] += w->dt * (p->v[a][i] + 0.5 * w->dt * g);
            p->v[a][i] = keep * (p->v[a][i] + w->dt * g);
        }
    }
    if (w->world->def->dim == 2)
        for (int64_t i = begin; i < end; i++)
            w->self->start[2][i] = p->x[2][i];
}

/* ---- impacts ---- */

/* The velocity after an impact on a surface with normal n that moves with `surface_velocity`. */
static rp__vec3 bounce(rp__vec3 v, rp__vec3 surface_velocity, rp__vec3 n, const rp_surface *surface, double restitution)
{
    rp__vec3 w = rp__vec3_sub(v, surface_velocity);
    double wn = rp__vec3_dot(w, n);
    if (wn >= 0)
        return v;
    rp__vec3 wt = rp__vec3_axpy(-wn, n, w);
    double slip = rp__vec3_norm(wt), loss = 0;
    if (surface->kind == RP_STICK)
        loss = slip;
    else if (surface->kind == RP_FRICTIONAL)
        loss = fmin(slip, -surface->friction * (1 + restitution) * wn);
    if (slip > 0)
        wt = rp__vec3_scale(1 - loss / slip, wt);
    return rp__vec3_add(surface_velocity, rp__vec3_axpy(-restitution * wn, n, wt));
}

/* The velocity at the place of impact: gravity did work g·d on the way d from there to the end of the flight, which never
 * happened. It is taken from the normal part, and what that does not hold from the rest, so that energy does not grow. */
static rp__vec3 at_impact(rp__vec3 v, rp__vec3 surface_velocity, rp__vec3 n, rp__vec3 d, const double gravity[3])
{
    rp__vec3 w = rp__vec3_sub(v, surface_velocity);
    double vn = rp__vec3_dot(w, n);
    if (vn >= 0)
        return v;
    double left = vn * vn - 2 * rp__vec3_dot(rp__vec3_load(gravity), d);
    rp__vec3 along = rp__vec3_axpy(-vn, n, w);
    double square = rp__vec3_dot(along, along);
    if (left < 0)
        along = square > 0 ? rp__vec3_scale(sqrt(fmax(square + left, 0) / square), along) : along;
    return rp__vec3_add(surface_velocity, rp__vec3_axpy(-sqrt(fmax(left, 0)), n, along));
}

/* Where a path that met the body at `at` ends: it goes on along the surface with what is left of the way, as far as that is
 * outside. It grazes the surface, so it is looked at in equal parts and not by distances, which would never get on. In the body's
 * frame; `n` is the normal at `at`, and everything stays outside by `out`. */
static rp__vec3 slide(const rp__body *body, rp__vec3 at, rp__vec3 end, rp__vec3 n, double out)
{
    enum { PARTS = 8 };
    rp__pose none = rp__pose_identity();
    rp__vec3 left = rp__vec3_sub(end, at), way = rp__vec3_axpy(-rp__vec3_dot(left, n), n, left), x = at, m;
    for (int k = 0; k < PARTS; k++) {
        rp__vec3 next = rp__vec3_axpy(1.0 / PARTS, way, x);
        double depth = rp__body_distance(body, &none, next, &m);
        if (depth < out) /* round surfaces rise a little: out, and on; what rises more than half the way stops it */
            next = rp__vec3_axpy(out - depth, m, next);
        if (out - depth > 0.5 / PARTS * rp__vec3_norm(way) + out)
            return x;
        x = next;
    }
    return x;
}

static void tell(const work *w, int surface, int64_t i, rp__vec3 x, rp__vec3 n, rp__vec3 impulse)
{
    if (!w->world->touches)
        return;
    rp__touch touch = { .surface = surface, .place = w->world->particles->id[i] };
    rp__vec3_store(touch.point, x);
    rp__vec3_store(touch.normal, n);
    rp__vec3_store(touch.impulse, impulse);
    rp__sim_touch(w->world, &touch);
}

/* Particle i goes to x with the velocity `after`; what it loses goes to the body, at a place with normal n. */
static void leave(work *w, int64_t i, rp__vec3 x, rp__vec3 n, rp__vec3 before, rp__vec3 after, double *sum)
{
    const rp__body *body = w->body;
    rp__particles *p = w->world->particles;
    rp__vec3 impulse = rp__vec3_scale(p->mass[i], rp__vec3_sub(before, after)); /* on the body */
    rp__vec3 turn = rp__vec3_cross(rp__body_arm(body, x), impulse);
    rp__vec3 along = rp__vec3_scale(rp__vec3_dot(impulse, n), n);
    sum[0] += impulse.x, sum[1] += impulse.y, sum[2] += impulse.z;
    sum[3] += turn.x, sum[4] += turn.y, sum[5] += turn.z;
    sum[6] += along.x, sum[7] += along.y, sum[8] += along.z;
    tell(w, 6 + (int)(body - w->world->bodies), i, x, n, impulse);
    p->x[0][i] = x.x, p->x[1][i] = x.y;
    p->v[0][i] = after.x, p->v[1][i] = after.y;
    if (w->world->def->dim == 3)
        p->x[2][i] = x.z, p->v[2][i] = after.z;
    w->self->met[i] += w->self->met[i] < 255;
}

static void meet_body(void *context, int64_t begin, int64_t end, double *sum)
{
    work *w = context;
    const rp__body *body = w->body;
    rp__particles *p = w->world->particles;
    double tiny = 1e-6 * w->world->def->cell_size;
    rp__pose none = rp__pose_identity();
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 x0 = { w->self->start[0][i], w->self->start[1][i], w->self->start[2][i] };
        rp__vec3 x1 = { p->x[0][i], p->x[1][i], p->x[2][i] }, n, at;
        rp__vec3 shift = rp__body_shift(body, &body->pose, x0), a = rp__pose_inverse_apply(&body->pose, rp__vec3_add(x0, shift));
        rp__vec3 b = rp__pose_inverse_apply(&body->pose_next, rp__vec3_add(x1, shift));
        /* Far away: the distance at the end exceeds the path. */
        if (rp__body_distance(body, &none, b, NULL) > rp__vec3_norm(rp__vec3_sub(b, a)) + tiny)
            continue;
        if (!rp__body_path_meets(body, a, b, tiny, &at))
            continue;
        double depth = rp__body_distance(body, &none, at, &n);
        at = rp__vec3_axpy(2 * tiny - depth, n, at); /* just outside */
        at = slide(body, at, b, n, 2 * tiny);
        rp__vec3 x = rp__vec3_sub(rp__pose_apply(&body->pose_next, at), shift), v = { p->v[0][i], p->v[1][i], p->v[2][i] };
        n = rp__quat_rotate(body->pose_next.orientation, n);
        rp__vec3 moving = rp__body_velocity_at(body, x);
        rp__vec3 hit = at_impact(v, moving, n, rp__vec3_sub(x1, x), w->world->def->gravity);
        rp__vec3 out = bounce(hit, moving, n, &body->def.surface, w->par->restitution);
        leave(w, i, x, n, v, out, sum);
    }
}

/* In a wedge the way out of one surface may lead into another. What was moved by a surface and ended inside this body goes to the nearest
 * place outside of all, and where there is none stays where its step began, carried along by the body; the height it gets is paid for by its motion. */
static void make_room(void *context, int64_t begin, int64_t end, double *sum)
{
    work *w = context;
    const rp__body *body = w->body;
    const rp__particles *p = w->world->particles;
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 x = { p->x[0][i], p->x[1][i], p->x[2][i] }, v = { p->v[0][i], p->v[1][i], p->v[2][i] }, n, place = x;
        if (w->self->met[i] == 0 || rp__body_distance(body, &body->pose_next, x, &n) >= 0)
            continue;
        if (!rp__body_space_find(&w->room, &place)) {
            rp__vec3 start = { w->self->start[0][i], w->self->start[1][i], w->self->start[2][i] };
            rp__vec3 shift = rp__body_shift(body, &body->pose, start);
            place = rp__pose_apply(&body->pose_next, rp__pose_inverse_apply(&body->pose, rp__vec3_add(start, shift)));
            place = rp__body_space_within(&w->room, rp__vec3_sub(place, shift));
        }
        rp__vec3 w0 = rp__vec3_sub(v, rp__body_velocity_at(body, x));
        double square = rp__vec3_dot(w0, w0), fall = rp__vec3_dot(rp__vec3_load(w->world->def->gravity), rp__vec3_sub(place, x));
        double left = square > 0 ? sqrt(fmin(1, fmax(0, square + 2 * fall) / square)) : 0;
        leave(w, i, place, n, v, rp__vec3_axpy(left - 1, w0, v), sum);
    }
}

static void meet_walls(void *context, int64_t begin, int64_t end, double *sum)
{
    work *w = context;
    const rp_sim_def *def = w->world->def;
    rp__particles *p = w->world->particles;
    for (int64_t i = begin; i < end; i++)
        for (int f = 0; f < 2 * def->dim; f++) {
            const rp_surface *wall = &def->wall[f];
            int axis = f / 2;
            double side = f & 1 ? 1 : -1, bound = f & 1 ? def->upper[axis] : def->lower[axis];
            double over = (p->x[axis][i] - bound) * side;
            if (over <= 0 || wall->kind == RP_OPEN || wall->kind == RP_PERIODIC)
                continue;
            double normal[3] = { 0, 0, 0 }, beyond[3] = { 0, 0, 0 };
            normal[axis] = -side;
            beyond[axis] = side * over;
            rp__vec3 v = { p->v[0][i], p->v[1][i], p->v[2][i] }, n = rp__vec3_load(normal), rest = { 0, 0, 0 };
            rp__vec3 hit = at_impact(v, rest, n, rp__vec3_load(beyond), def->gravity);
            rp__vec3 out = bounce(hit, rest, n, wall, w->par->restitution);
            rp__vec3 impulse = rp__vec3_scale(p->mass[i], rp__vec3_sub(v, out));
            sum[3 * f] += impulse.x, sum[3 * f + 1] += impulse.y, sum[3 * f + 2] += impulse.z;
            p->v[0][i] = out.x, p->v[1][i] = out.y, p->v[2][i] = out.z;
            p->x[axis][i] = bound;
            w->self->met[i] += w->self->met[i] < 255;
            tell(w, f, i, rp__vec3_make(p->x[0][i], p->x[1][i], p->x[2][i]), n, impulse);
        }
}

/* Each body in turn, with what the grains give it. */
static void push_bodies(work *w, void (*meet)(void *, int64_t, int64_t, double *))
{
    for (int b = 0; b < w->world->body_count; b++) {
        rp__body *body = &w->world->bodies[b];
        if (!body->present)
            continue;
        double sum[9];
        w->body = body;
        rp__exec_sum(w->world->particles->count, CHUNK, 9, meet, w, sum);
        rp__vec3 impulse = rp__vec3_load(sum), turn = rp__vec3_load(sum + 3);
        rp__body_apply(body, impulse, turn);
        if (body->def.kind == RP_BODY_FREE)
            rp__body_predict(body, w->dt); /* where the next pass meets it */
        body->force = rp__vec3_axpy(1 / w->dt, impulse, body->force);
        body->torque = rp__vec3_axpy(1 / w->dt, turn, body->torque);
        body->normal_force = rp__vec3_axpy(1 / w->dt, rp__vec3_load(sum + 6), body->normal_force);
    }
}

static rp_result step(void *self, rp__world *world, double dt, rp_step_stats *stats)
{
    state *s = self;
    rp__particles *p = world->particles;
    work w = { s, world, world->params, dt, NULL, rp__body_space_of(world->def, world->bodies, world->body_count) };
    RP_TRY(reserve(s, p->count));
    RP_TRY(rp__sim_given_up(world)); /* what follows changes the particles */
    double t = rp__base_seconds();
    rp__exec_for(p->count, CHUNK, fly, &w);
    RP_LAP(&world->phases, "flight", t);
    for (int b = 0; b < world->body_count; b++)
        world->bodies[b].force = world->bodies[b].torque = world->bodies[b].normal_force = rp__vec3_make(0, 0, 0);
    push_bodies(&w, meet_body);
    double walls[18];
    rp__exec_sum(p->count, CHUNK, 18, meet_walls, &w, walls);
    for (int f = 0; f < 6; f++)
        for (int a = 0; a < 3; a++)
            world->wall_force[f][a] = walls[3 * f + a] / dt;
    push_bodies(&w, make_room);
    RP_LAP(&world->phases, "impacts", t);
    stats->converged = true; /* nothing is iterated */
    return RP_OK;
}

static const char *const phases[] = { "flight", "impacts", NULL };

const rp__method rp__ballistic_method = {
    .info = { .name = "ballistic",
              .summary = "grains fly and meet walls and bodies, without stress between them",
              .params = table,
              .fields = NULL,
              .phases = phases },
    .params_size = sizeof(params),
    .dims = 1 << 2 | 1 << 3,
    .create = create,
    .destroy = destroy,
    .step = step,
};
