/* Contacts of free bodies through the friction library, in dimension 3 (2 in 2D).
 *
 * Points on the surface of one body are held against the distance of the other. With the velocities v of all bodies,
 *
 *   u_i = J_i v + w_i,   v = v* + M^-1 sum_j J_j^T r_j,   (u_i, r_i) in Coulomb's law with mu_i,
 *
 * w_i = d_i / dt along the normal where they are apart (so much may be closed in the step). Overlaps are taken away by a second
 * problem of the same form without friction, whose velocities move the bodies in this step and are then forgotten: they would
 * fly apart else. W_ij = sum of J_ik W_k J_jk^T over the bodies k that i and j share, W_k the 6 x 6 inverse mass with the joint applied. */
#include "body/contacts.h"

#include "base/error.h"
#include "base/memory.h"

#include <repose/friction.h>
#include <math.h>
#include <string.h>

enum { WORLD = -1, KEPT = 9, DIRECTIONS = 8, REFINEMENTS = 24 };
#define SLOP 0.004     /* overlap left alone, a part of the radius: bodies at rest stay at rest */
#define PUSH 0.1       /* part of the rest of it that is taken away in a step */
#define PUSH_SPEED 0.5 /* m/s at most */
#define MU_STICK 1e3

typedef struct touch {
    int a, b;              /* bodies; b may be WORLD */
    rp__vec3 point, axis[3]; /* normal out of b, then the tangents */
    double distance, mu;
    bool flat;             /* the surfaces are parallel here */
} touch;

typedef struct gathered {
    touch *all;
    int64_t count, capacity;
} gathered;

static double coefficient(const rp_surface *s)
{
    return s->kind == RP_STICK ? MU_STICK : s->kind == RP_FRICTIONAL ? s->friction : 0;
}

static bool is_moved(const rp__body *body)
{
    return body->present && body->def.kind == RP_BODY_FREE;
}

static rp__vec3 sample(const rp__body *body, int64_t i)
{
    return rp__vec3_add(body->pose.position, rp__quat_rotate(body->pose.orientation, body->samples[i]));
}

static void make_axes(touch *t, int dim)
{
    rp__vec3 n = t->axis[0], z = { 0, 0, 1 }, x = { 1, 0, 0 };
    if (dim == 2) {
        t->axis[1] = rp__vec3_make(-n.y, n.x, 0);
        t->axis[2] = z;
        return;
    }
    t->axis[1] = rp__vec3_unit(rp__vec3_cross(fabs(n.z) < 0.9 ? z : x, n), x);
    t->axis[2] = rp__vec3_cross(n, t->axis[1]);
}

/* Of the touches [first, count) of one pair keeps the deepest and those farthest out: they hold all the others. */
static void thin(gathered *g, int64_t first, int dim)
{
    int64_t count = g->count - first, kept[KEPT];
    if (count <= KEPT)
        return;
    touch *t = g->all + first;
    int n = 1;
    kept[0] = 0;
    bool flat = t[0].flat; /* a face lies on the other: its own points tell most */
    for (int64_t i = 1; i < count; i++) {
        flat |= t[i].flat;
        if (t[i].distance < t[kept[0]].distance)
            kept[0] = i;
    }
    rp__vec3 t1 = t[kept[0]].axis[1], t2 = t[kept[0]].axis[2];
    for (int k = 0; k < (dim == 2 ? 2 : DIRECTIONS); k++) {
        double angle = 6.283185307179586 * k / (dim == 2 ? 2 : DIRECTIONS);
        rp__vec3 along = rp__vec3_axpy(sin(angle), t2, rp__vec3_scale(cos(angle), t1));
        int64_t best = 0;
        double far = -INFINITY;
        for (int64_t i = 0; i < count; i++) {
            double s = t[i].flat == flat ? rp__vec3_dot(along, t[i].point) - 2 * fmax(t[i].distance, 0) : -INFINITY;
            if (s > far)
                far = s, best = i;
        }
        bool known = false;
        for (int m = 0; m < n; m++)
            known |= kept[m] == best;
        if (!known)
            kept[n++] = best;
    }
    touch chosen[KEPT];
    for (int m = 0; m < n; m++)
        chosen[m] = t[kept[m]];
    memcpy(t, chosen, (size_t)n * sizeof *t);
    g->count = first + n;
}

/* Cosine between the outward normals of the two surfaces: -1 where they face each other. */
static double facing(const rp__body *body, const touch *t)
{
    rp__vec3 m;
    rp__body_distance(body, &body->pose, t->point, &m);
    return rp__vec3_dot(m, t->axis[0]);
}

static rp_result add(gathered *g, const touch *t)
{
    if (!rp__base_grow(&g->all, &g->capacity, g->count + 1, sizeof *g->all))
        return RP_OUT_OF_MEMORY;
    g->all[g->count++] = *t;
    return RP_OK;
}

/* Speed with which the nearest points of two bodies may come together. */
static double reach(const rp__body *a, const rp__body *b, double dt)
{
    double speed = rp__vec3_norm(a->velocity) + rp__vec3_norm(a->omega) * a->radius;
    if (b)
        speed += rp__vec3_norm(rp__body_velocity_at(b, a->pose.position)) + rp__vec3_norm(b->omega) * a->radius;
    return 1.5 * speed * dt + 0.15 * a->radius; /* the nearest sample is not the nearest point: 14 of them across a body */
}

static double wall_distance(const rp__body_room *room, int face, rp__vec3 point, rp__vec3 *normal)
{
    double x[3], n[3] = { 0, 0, 0 };
    rp__vec3_store(x, point);
    int axis = face / 2;
    n[axis] = face & 1 ? -1 : 1;
    *normal = rp__vec3_load(n);
    return face & 1 ? room->upper[axis] - x[axis] : x[axis] - room->lower[axis];
}

/* Distance of a point to the other side of a pair: body b, or the wall -1 - b. */
static double other_distance(const rp__body *bodies, int b, const rp__body_room *room, rp__vec3 x, rp__vec3 *n)
{
    return b < 0 ? wall_distance(room, -1 - b, x, n) : rp__body_distance(&bodies[b], &bodies[b].pose, x, n);
}

/* The place on the surface of body a that is deepest in b, from a sample near it: down the distance of b, back to the surface
 * of a, with steps that shrink. A ball has few samples but must roll. */
static void refine(const rp__body *bodies, int a, int b, const rp__body_room *room, touch *t)
{
    const rp__body *body = &bodies[a];
    double length = 0.2 * body->radius;
    for (int k = 0; k < REFINEMENTS; k++) {
        rp__vec3 n, m, x = rp__vec3_axpy(-length, t->axis[0], t->point);
        double off = rp__body_distance(body, &body->pose, x, &m);
        x = rp__vec3_axpy(-off, m, x);
        off = rp__body_distance(body, &body->pose, x, &m);
        x = rp__vec3_axpy(-off, m, x);
        double d = other_distance(bodies, b, room, x, &n);
        if (d < t->distance && rp__vec3_norm(n) > 0) {
            t->point = x;
            t->distance = d;
            t->axis[0] = rp__vec3_unit(n, t->axis[0]);
        } else {
            length *= 0.5;
        }
    }
    make_axes(t, room->dim);
}

/* The deepest of the touches of a pair that begin at `first`, refined; added as one more. */
static rp_result add_deepest(const rp__body *bodies, int a, int b, const rp__body_room *room, int64_t first, gathered *g)
{
    if (g->count == first)
        return RP_OK;
    int64_t deepest = first;
    for (int64_t i = first + 1; i < g->count; i++)
        if (g->all[i].distance < g->all[deepest].distance)
            deepest = i;
    touch t = g->all[deepest];
    refine(bodies, a, b, room, &t);
    return rp__vec3_norm(rp__vec3_sub(t.point, g->all[deepest].point)) > 1e-9 * bodies[a].radius ? add(g, &t) : RP_OK;
}

/* Adds a touch unless it is on the far side of a body that is deep inside. */
static rp_result add_facing(const rp__body *body, int dim, touch *t, gathered *g)
{
    make_axes(t, dim);
    double cosine = facing(body, t);
    if (cosine > 0)
        return RP_OK;
    t->flat = cosine < -1 + 1e-6;
    return add(g, t);
}

static rp_result touch_body(const rp__body *bodies, int a, int b, const rp__body_room *room, double dt, gathered *g)
{
    const rp__body *body = &bodies[a], *other = &bodies[b];
    double near = reach(body, other, dt);
    int64_t first = g->count;
    if (rp__body_distance(other, &other->pose, body->pose.position, NULL) > body->radius + near)
        return RP_OK;
    for (int64_t i = 0; i < body->sample_count; i++) {
        touch t = { .a = a, .b = b, .point = sample(body, i) };
        rp__vec3 n;
        t.distance = rp__body_distance(other, &other->pose, t.point, &n);
        if (!(t.distance < near) || !(rp__vec3_norm(n) > 0))
            continue;
        t.axis[0] = rp__vec3_unit(n, rp__vec3_make(0, 0, 1));
        t.mu = fmin(coefficient(&body->def.surface), coefficient(&other->def.surface));
        RP_TRY(add_facing(body, room->dim, &t, g));
    }
    RP_TRY(add_deepest(bodies, a, b, room, first, g));
    thin(g, first, room->dim);
    return RP_OK;
}

static bool is_wall(const rp__body_room *room, int face)
{
    return room->wall[face].kind != RP_OPEN && room->wall[face].kind != RP_PERIODIC;
}

static rp_result touch_wall(const rp__body *bodies, int a, int face, const rp__body_room *room, double dt, gathered *g)
{
    const rp__body *body = &bodies[a];
    double near = reach(body, NULL, dt);
    int64_t first = g->count;
    rp__vec3 n;
    if (wall_distance(room, face, body->pose.position, &n) > body->radius + near)
        return RP_OK;
    for (int64_t i = 0; i < body->sample_count; i++) {
        touch t = { .a = a, .b = WORLD, .point = sample(body, i) };
        t.distance = wall_distance(room, face, t.point, &t.axis[0]);
        if (!(t.distance < near))
            continue;
        t.mu = fmin(coefficient(&body->def.surface), coefficient(&room->wall[face]));
        RP_TRY(add_facing(body, room->dim, &t, g));
    }
    RP_TRY(add_deepest(bodies, a, -1 - face, room, first, g));
    thin(g, first, room->dim);
    return RP_OK;
}

static rp_result find(const rp__body *bodies, int count, const rp__body_room *room, double dt, gathered *g)
{
    for (int a = 0; a < count; a++) {
        if (!is_moved(&bodies[a]))
            continue;
        for (int f = 0; f < 2 * room->dim; f++)
            if (is_wall(room, f))
                RP_TRY(touch_wall(bodies, a, f, room, dt, g));
        for (int b = 0; b < count; b++)
            if (b != a && bodies[b].present)
                RP_TRY(touch_body(bodies, a, b, room, dt, g));
    }
    return RP_OK;
}

/* Row k of J for body `body` (+1 for a, -1 for b): the axis, and the arm times it. */
static void row(const touch *t, const rp__body *bodies, int body, int k, double j[6])
{
    double sign = body == t->a ? 1 : -1;
    rp__vec3 axis = rp__vec3_scale(sign, t->axis[k]);
    rp__vec3_store(j, axis);
    rp__vec3_store(j + 3, rp__vec3_cross(rp__vec3_sub(t->point, bodies[body].pose.position), axis));
}

/* block += J_i W J_j^T over one body. */
static void add_block(const touch *ti, const touch *tj, const rp__body *bodies, int body, const double *w, int dim, double *block)
{
    for (int m = 0; m < dim; m++) {
        double j[6], wj[6];
        row(tj, bodies, body, m, j);
        for (int r = 0; r < 6; r++) {
            wj[r] = 0;
            for (int s = 0; s < 6; s++)
                wj[r] += w[6 * r + s] * j[s];
        }
        for (int k = 0; k < dim; k++) {
            row(ti, bodies, body, k, j);
            for (int r = 0; r < 6; r++)
                block[k * dim + m] += j[r] * wj[r];
        }
    }
}

typedef struct problem {
    int64_t *first;
    int32_t *column;
    double *blocks, *b, *mu, *r, *inverse;
} problem;

static void release(problem *p)
{
    rp__base_free(p->first);
    rp__base_free(p->column);
    rp__base_free(p->blocks);
    rp__base_free(p->b);
    rp__base_free(p->mu);
    rp__base_free(p->r);
    rp__base_free(p->inverse);
}

static bool reserve(problem *p, int64_t n, int bodies, int dim)
{
    p->first = RP_NEW_ARRAY(int64_t, n + 1);
    p->column = RP_NEW_ARRAY(int32_t, n * n);
    p->blocks = RP_NEW_ARRAY(double, n * n * dim * dim);
    p->b = RP_NEW_ARRAY(double, n * dim);
    p->mu = RP_NEW_ARRAY(double, n);
    p->r = RP_NEW_ARRAY(double, n * dim);
    p->inverse = RP_NEW_ARRAY(double, 36 * bodies);
    return p->first && p->column && p->blocks && p->b && p->mu && p->r && p->inverse;
}

/* Velocity of the touch along its axes without any contact impulse, the distance added along the normal. */
static void free_velocity(const touch *t, const rp__body *bodies, int dim, double dt, double *b)
{
    rp__vec3 v = rp__body_velocity_at(&bodies[t->a], t->point);
    if (t->b != WORLD)
        v = rp__vec3_sub(v, rp__body_velocity_at(&bodies[t->b], t->point));
    for (int k = 0; k < dim; k++)
        b[k] = rp__vec3_dot(v, t->axis[k]);
    b[0] += t->distance > 0 ? t->distance / dt : 0;
}

/* How deep they overlap beyond what is left alone; 0 or less. */
static double overlap(const touch *t, const rp__body *bodies)
{
    return fmin(t->distance + SLOP * bodies[t->a].radius, 0);
}

/* The second problem: overlaps open at a bounded speed, and nothing closes by more than its distance. */
static bool assemble_overlaps(problem *p, const touch *t, int64_t n, const rp__body *bodies, int dim, double dt)
{
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        double deep = overlap(&t[i], bodies);
        memset(p->b + i * dim, 0, (size_t)dim * sizeof *p->b);
        p->b[i * dim] = t[i].distance > 0 ? t[i].distance / dt : fmax(PUSH * deep / dt, -PUSH_SPEED);
        p->mu[i] = 0;
        any |= deep < 0;
    }
    memset(p->r, 0, (size_t)(n * dim) * sizeof *p->r);
    return any;
}

static void assemble(problem *p, const touch *t, int64_t n, const rp__body *bodies, int count, int dim, double dt)
{
    int64_t k = 0;
    for (int b = 0; b < count; b++)
        rp__body_inverse_mass(&bodies[b], p->inverse + 36 * b);
    for (int64_t i = 0; i < n; i++) {
        p->first[i] = k;
        for (int64_t j = 0; j < n; j++) {
            double *block = p->blocks + k * dim * dim;
            bool shared = false;
            memset(block, 0, (size_t)(dim * dim) * sizeof *block);
            const int of[2] = { t[i].a, t[i].b };
            for (int q = 0; q < 2; q++)
                if (of[q] != WORLD && is_moved(&bodies[of[q]]) && (of[q] == t[j].a || of[q] == t[j].b)) {
                    add_block(&t[i], &t[j], bodies, of[q], p->inverse + 36 * of[q], dim, block);
                    shared = true;
                }
            if (!shared)
                continue;
            if (i == j) { /* a joint may leave directions without any motion: keep the block regular */
                double trace = 0;
                for (int a = 0; a < dim; a++)
                    trace += block[a * dim + a];
                for (int a = 0; a < dim; a++)
                    block[a * dim + a] += 1e-8 * trace + 1e-300;
            }
            p->column[k++] = (int32_t)j;
        }
        free_velocity(&t[i], bodies, dim, dt, p->b + i * dim);
        p->mu[i] = t[i].mu;
    }
    p->first[n] = k;
}

static rp_result solve(const problem *p, int64_t n, int dim)
{
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = dim;
    def.contacts = n;
    def.first = p->first, def.column = p->column, def.blocks = p->blocks;
    def.b = p->b, def.mu = p->mu;
    def.asymmetry = 1e-6;
    rp_friction *friction = NULL;
    RP_TRY(rp_friction_create_local(&def, &friction));
    rp_friction_options options = rp_default_friction_options();
    options.solver = RP_FRICTION_GAUSS_SEIDEL;
    options.tolerance = 1e-9;
    options.max_iterations = 2000;
    options.threads = 1;
    rp_result result = rp_friction_solve(friction, &options, p->r, NULL, NULL);
    rp_friction_destroy(friction);
    return result == RP_NOT_CONVERGED ? RP_OK : result; /* the best found keeps them apart as well as can be */
}

/* An impulse on one body: into its velocity, or only into the way it goes in this step. */
static void push(rp__body *body, rp__vec3 point, rp__vec3 impulse, bool lasting)
{
    rp__vec3 v = body->velocity, omega = body->omega;
    rp__body_apply(body, impulse, rp__vec3_cross(rp__vec3_sub(point, body->pose.position), impulse));
    if (lasting)
        return;
    body->shift = rp__vec3_add(body->shift, rp__vec3_sub(body->velocity, v));
    body->turn = rp__vec3_add(body->turn, rp__vec3_sub(body->omega, omega));
    body->velocity = v, body->omega = omega;
}

static void act(rp__body *bodies, const touch *t, const double *r, int dim, bool lasting)
{
    rp__vec3 impulse = { 0, 0, 0 };
    for (int k = 0; k < dim; k++)
        impulse = rp__vec3_axpy(r[k], t->axis[k], impulse);
    push(&bodies[t->a], t->point, impulse, lasting);
    if (t->b != WORLD)
        push(&bodies[t->b], t->point, rp__vec3_scale(-1, impulse), lasting);
}

rp_result rp__body_contacts_solve(rp__body *bodies, int count, const rp__body_room *room, double dt)
{
    gathered g = { 0 };
    problem p = { 0 };
    rp_result result = find(bodies, count, room, dt, &g);
    if (result == RP_OK && g.count > 0) {
        result = reserve(&p, g.count, count, room->dim) ? RP_OK : RP_OUT_OF_MEMORY;
        if (result == RP_OK) {
            assemble(&p, g.all, g.count, bodies, count, room->dim, dt);
            result = solve(&p, g.count, room->dim);
        }
        for (int64_t i = 0; result == RP_OK && i < g.count; i++)
            act(bodies, &g.all[i], p.r + i * room->dim, room->dim, true);
        if (result == RP_OK && assemble_overlaps(&p, g.all, g.count, bodies, room->dim, dt)) {
            result = solve(&p, g.count, room->dim);
            for (int64_t i = 0; result == RP_OK && i < g.count; i++)
                act(bodies, &g.all[i], p.r + i * room->dim, room->dim, false);
        }
    }
    release(&p);
    rp__base_free(g.all);
    return result;
}

double rp__body_depth(const rp__body *bodies, int index, int other, const rp__body_room *room)
{
    const rp__body *body = &bodies[index];
    double least = 0;
    for (int64_t i = 0; i < body->sample_count; i++) {
        rp__vec3 n, x = sample(body, i);
        double d = other < 0 ? wall_distance(room, -1 - other, x, &n)
                             : rp__body_distance(&bodies[other], &bodies[other].pose, x, NULL);
        least = fmin(least, d);
    }
    return -least;
}
