/* Where free bodies may touch each other, scripted ones and walls: points on the surface of one are held against the distance of the other. */
#include "body/contacts.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { KEPT = 9, DIRECTIONS = 8, REFINEMENTS = 24 };
#define MU_STICK 1e3

static double coefficient(const rp_surface *s)
{
    return s->kind == RP_STICK ? MU_STICK : s->kind == RP_FRICTIONAL ? s->friction : 0;
}

static rp__vec3 sample(const rp__body *body, int64_t i)
{
    return rp__vec3_add(body->pose.position, rp__quat_rotate(body->pose.orientation, body->samples[i]));
}

static void make_axes(rp__body_touch *t, int dim)
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
static void thin(rp__body_touches *g, int64_t first, int dim)
{
    int64_t count = g->count - first, kept[KEPT];
    if (count <= KEPT)
        return;
    rp__body_touch *t = g->all + first;
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
    rp__body_touch chosen[KEPT];
    for (int m = 0; m < n; m++)
        chosen[m] = t[kept[m]];
    memcpy(t, chosen, (size_t)n * sizeof *t);
    g->count = first + n;
}

/* Cosine between the outward normals of the two surfaces: -1 where they face each other. */
static double facing(const rp__body *body, const rp__body_touch *t)
{
    rp__vec3 m;
    rp__body_distance(body, &body->pose, t->point, &m);
    return rp__vec3_dot(m, t->axis[0]);
}

static rp_result add(rp__body_touches *g, const rp__body_touch *t)
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
static void refine(const rp__body *bodies, int a, int b, const rp__body_room *room, rp__body_touch *t)
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

/* The touches of a pair that begin at `first`, each moved to the place near it that is deepest: samples lie beside the lowest line of a round edge, and
 * a body that stood on what the lattice of samples happens to have would tilt. Faces that lie on each other are left, and places that came together
 * count once. */
static void refine_all(const rp__body *bodies, int a, int b, const rp__body_room *room, int64_t first, rp__body_touches *g)
{
    int64_t kept = first;
    for (int64_t i = first; i < g->count; i++) {
        rp__body_touch t = g->all[i];
        bool known = false;
        if (!t.flat)
            refine(bodies, a, b, room, &t);
        for (int64_t k = first; k < kept; k++)
            known |= rp__vec3_norm(rp__vec3_sub(t.point, g->all[k].point)) < 1e-2 * bodies[a].radius;
        if (!known)
            g->all[kept++] = t;
    }
    g->count = kept;
}

/* Adds a touch unless it is on the far side of a body that is deep inside. */
static rp_result add_facing(const rp__body *body, int dim, rp__body_touch *t, rp__body_touches *g)
{
    make_axes(t, dim);
    double cosine = facing(body, t);
    if (cosine > 0)
        return RP_OK;
    t->flat = cosine < -1 + 1e-6;
    return add(g, t);
}

static void meet_at_end(const rp__body *other, int dim, double dt, rp__body_touch *t)
{
    rp__vec3 end = rp__body_carried(other, t->point, dt), normal;
    t->surface = rp__vec3_scale(1 / dt, rp__vec3_sub(end, t->point));
    t->distance = rp__body_distance(other, &other->pose_next, end, &normal);
    t->axis[0] = rp__vec3_unit(normal, t->axis[0]);
    make_axes(t, dim);
}

static rp_result touch_body(const rp__body *bodies, int a, int b, const rp__body_room *room, double dt, rp__body_touches *g)
{
    const rp__body *body = &bodies[a], *other = &bodies[b];
    double near = reach(body, other, dt);
    int64_t first = g->count;
    if (rp__body_distance(other, &other->pose, body->pose.position, NULL) > body->radius + near)
        return RP_OK;
    for (int64_t i = 0; i < body->sample_count; i++) {
        rp__body_touch t = { .a = a, .b = b, .wall = -1, .place = i, .point = sample(body, i) };
        rp__vec3 n;
        t.distance = rp__body_distance(other, &other->pose, t.point, &n);
        if (!(t.distance < near) || !(rp__vec3_norm(n) > 0))
            continue;
        t.axis[0] = rp__vec3_unit(n, rp__vec3_make(0, 0, 1));
        t.mu = fmin(coefficient(&body->def.surface), coefficient(&other->def.surface));
        RP_TRY(add_facing(body, room->dim, &t, g));
    }
    thin(g, first, room->dim);
    refine_all(bodies, a, b, room, first, g);
    for (int64_t i = first; i < g->count && !rp__body_is_moved(other); i++)
        meet_at_end(other, room->dim, dt, &g->all[i]);
    return RP_OK;
}

static bool is_wall(const rp__body_room *room, int face)
{
    return room->wall[face].kind != RP_OPEN && room->wall[face].kind != RP_PERIODIC;
}

static rp_result touch_wall(const rp__body *bodies, int a, int face, const rp__body_room *room, double dt, rp__body_touches *g)
{
    const rp__body *body = &bodies[a];
    double near = reach(body, NULL, dt);
    int64_t first = g->count;
    rp__vec3 n;
    if (wall_distance(room, face, body->pose.position, &n) > body->radius + near)
        return RP_OK;
    for (int64_t i = 0; i < body->sample_count; i++) {
        rp__body_touch t = { .a = a, .b = RP__BODY_WORLD, .wall = face, .place = i, .point = sample(body, i) };
        t.distance = wall_distance(room, face, t.point, &t.axis[0]);
        if (!(t.distance < near))
            continue;
        t.mu = fmin(coefficient(&body->def.surface), coefficient(&room->wall[face]));
        RP_TRY(add_facing(body, room->dim, &t, g));
    }
    thin(g, first, room->dim);
    refine_all(bodies, a, -1 - face, room, first, g);
    return RP_OK;
}

rp_result rp__body_find_touches(const rp__body *bodies, int count, const rp__body_room *room, double dt, rp__body_touches *g)
{
    for (int a = 0; a < count; a++) {
        if (!rp__body_is_moved(&bodies[a]))
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
