/* Collisions on the grid: the constraint first, friction from the change it made afterwards   [klar2016, §8, §8.1]. */
#include "elastoplastic/collide.h"

#include "exec/exec.h"

#include <math.h>

typedef struct meeting {
    const rp__grid *g;
    const rp__world *world;
    double dt;
    const double *mass;
    double *const *velocity; /* what meets walls and bodies */
    double *const *rubbed;   /* implicit: the solution, to which friction is applied; NULL: `velocity` itself */
    double *slope;           /* 9 numbers a node, or NULL */
    const rp__body *body;    /* the one met */
    double reach;            /* beyond this distance a body is not felt */
} meeting;

static rp__vec3 get_velocity(double *const *velocity, int64_t i)
{
    return rp__vec3_make(velocity[0][i], velocity[1][i], RP_DIM == 3 ? velocity[2][i] : 0);
}

static void set_velocity(double *const *velocity, int64_t i, rp__vec3 v)
{
    velocity[0][i] = v.x;
    velocity[1][i] = v.y;
    if (RP_DIM == 3)
        velocity[2][i] = v.z;
}

static rp__vec3 node_position(const rp__grid *g, int64_t i)
{
    int64_t at[3];
    rp__grid_coordinates(g, i, at);
    const rp__lattice *l = &g->lattice;
    return rp__vec3_make(l->origin[0] + l->h * (double)at[0], l->origin[1] + l->h * (double)at[1],
                         RP_DIM == 3 ? l->origin[2] + l->h * (double)at[2] : 0);
}

/* The velocity after friction: the impulse j = m push allows a tangential change of mu |j| / m. */
static rp__vec3 rub(double push, rp__vec3 after, rp__vec3 surface_velocity, rp__vec3 n, double friction)
{
    rp__vec3 relative = rp__vec3_sub(after, surface_velocity);
    double normal = rp__vec3_dot(relative, n);
    rp__vec3 slide = rp__vec3_axpy(-normal, n, relative);
    double speed = rp__vec3_norm(slide), most = friction * push;
    if (speed <= most)
        return rp__vec3_add(surface_velocity, rp__vec3_scale(normal, n));
    return rp__vec3_axpy(-most / speed, slide, after);
}

/* What a wall or body makes of a velocity. */
typedef struct contact {
    bool met, held;     /* held: sticks, all of it is prescribed */
    rp__vec3 velocity;  /* without friction */
    rp__vec3 normal, surface_velocity;
} contact;

static contact meet_body(const meeting *w, rp__vec3 x, rp__vec3 v)
{
    const rp__body *body = w->body;
    const rp_surface *surface = &body->def.surface;
    contact c = { .velocity = v };
    double now = rp__body_distance(body, &body->pose, x, NULL);
    if (now > w->reach + w->dt * rp__vec3_norm(v))
        return c;
    double then = rp__body_distance(body, &body->pose_next, rp__vec3_axpy(w->dt, v, x), &c.normal);
    double least = now < 0 ? now : 0;
    c.surface_velocity = rp__body_velocity_at(body, x);
    if (surface->kind == RP_STICK) {
        c.met = c.held = now < 0 || then < 0;
        if (c.met)
            c.velocity = c.surface_velocity;
    } else {
        c.met = then < least || (surface->adhesion > 0 && now < 0);
        if (c.met) /* x <- x - (phi - a) grad phi */
            c.velocity = rp__vec3_axpy((least - then) / w->dt, c.normal, v);
    }
    if (RP_DIM == 2)
        c.velocity.z = 0;
    return c;
}

/* The face f of the domain at the node with coordinates `at`. */
static contact meet_wall(const meeting *w, int f, const int64_t at[3], rp__vec3 v)
{
    const rp_surface *wall = &w->world->def->wall[f];
    int axis = f / 2;
    bool beyond = f & 1 ? at[axis] >= w->world->cells[axis] : at[axis] <= 0;
    contact c = { .velocity = v };
    if (!beyond || wall->kind == RP_OPEN || wall->kind == RP_PERIODIC)
        return c;
    double normal[3] = { 0, 0, 0 };
    normal[axis] = f & 1 ? -1 : 1;
    c.normal = rp__vec3_load(normal);
    double vn = rp__vec3_dot(v, c.normal);
    c.held = wall->kind == RP_STICK;
    c.met = c.held || vn < 0 || wall->adhesion > 0;
    if (c.met)
        c.velocity = c.held ? c.surface_velocity : rp__vec3_axpy(-vn, c.normal, v);
    return c;
}

/* Sets the velocities of a node after a contact; returns the impulse on the wall or body. */
static rp__vec3 answer(const meeting *w, int64_t i, const rp_surface *surface, rp__vec3 v, const contact *c)
{
    rp__vec3 change = rp__vec3_sub(v, c->velocity), after = c->velocity;
    if (!w->rubbed) {
        if (!c->held && surface->kind == RP_FRICTIONAL)
            after = rub(rp__vec3_norm(change), after, c->surface_velocity, c->normal, surface->friction);
        set_velocity(w->velocity, i, after);
        return rp__vec3_scale(w->mass[i], rp__vec3_sub(v, after));
    }
    set_velocity(w->velocity, i, c->velocity);
    rp__vec3 solution = get_velocity(w->rubbed, i);
    after = c->held ? c->velocity : solution;
    if (!c->held && surface->kind == RP_FRICTIONAL)
        after = rub(rp__vec3_norm(change), solution, c->surface_velocity, c->normal, surface->friction);
    set_velocity(w->rubbed, i, after);
    return rp__vec3_scale(w->mass[i], rp__vec3_add(change, rp__vec3_sub(solution, after)));
}

static void meet_body_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    for (int64_t i = begin; i < end; i++) {
        if (!(w->mass[i] > 0))
            continue;
        rp__vec3 x = node_position(w->g, i), v = get_velocity(w->velocity, i);
        contact c = meet_body(w, x, v);
        if (!c.met)
            continue;
        rp__vec3 j = answer(w, i, &w->body->def.surface, v, &c);
        rp__vec3 turn = rp__vec3_cross(rp__vec3_sub(x, w->body->pose.position), j);
        sum[0] += j.x, sum[1] += j.y, sum[2] += j.z;
        sum[3] += turn.x, sum[4] += turn.y, sum[5] += turn.z;
    }
}

/* No node of the block lies on or beyond a face of the domain. */
static bool away_from_walls(const meeting *w, int64_t block)
{
    for (int a = 0; a < RP_DIM; a++) {
        int64_t first = (int64_t)w->g->coord[block][a] * RP_BLOCK;
        if (first <= 0 || first + RP_BLOCK > w->world->cells[a])
            return false;
    }
    return true;
}

static void meet_walls_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    for (int64_t i = begin; i < end; i++) {
        if (i % RP_BLOCK_NODES == 0 && away_from_walls(w, i / RP_BLOCK_NODES)) {
            i += RP_BLOCK_NODES - 1;
            continue;
        }
        if (!(w->mass[i] > 0))
            continue;
        int64_t at[3];
        rp__grid_coordinates(w->g, i, at);
        for (int f = 0; f < 2 * RP_DIM; f++) {
            rp__vec3 v = get_velocity(w->velocity, i);
            contact c = meet_wall(w, f, at, v);
            if (!c.met)
                continue;
            rp__vec3 j = answer(w, i, &w->world->def->wall[f], v, &c);
            sum[3 * f] += j.x, sum[3 * f + 1] += j.y, sum[3 * f + 2] += j.z;
        }
    }
}

static void meet_all(meeting *w, rp__world *world)
{
    int64_t nodes = (int64_t)w->g->blocks * RP_BLOCK_NODES;
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        if (!body->present)
            continue;
        double sum[6];
        w->body = body;
        rp__exec_sum(nodes, 2048, 6, meet_body_chunk, w, sum);
        rp__vec3 impulse = rp__vec3_load(sum), turn = rp__vec3_load(sum + 3);
        rp__body_apply(body, impulse, turn);
        body->force = rp__vec3_scale(1 / w->dt, impulse);
        body->torque = rp__vec3_scale(1 / w->dt, turn);
    }
    double walls[18] = { 0 };
    rp__exec_sum(nodes, 4096, 18, meet_walls_chunk, w, walls);
    for (int f = 0; f < 2 * RP_DIM; f++)
        for (int a = 0; a < 3; a++)
            world->wall_force[f][a] = walls[3 * f + a] / w->dt;
}

rp_result RP_D(rp__elastoplastic_collide)(const rp__grid *g, rp__world *world, double dt, const double *mass,
                                          double *const velocity[3])
{
    meeting w = { .g = g, .world = world, .dt = dt, .mass = mass, .velocity = velocity, .reach = 2 * g->lattice.h };
    meet_all(&w, world);
    return RP_OK;
}

void RP_D(rp__elastoplastic_rub)(const rp__grid *g, rp__world *world, double dt, const double *mass, double *const star[3],
                                 double *const velocity[3])
{
    meeting w = { .g = g, .world = world, .dt = dt, .mass = mass, .velocity = star, .rubbed = velocity, .reach = 2 * g->lattice.h };
    meet_all(&w, world);
}

/* ---- the constraint alone ---- */

/* slope <- (I - n n^T) slope, or 0 where the node is held. */
static void project_slope(const contact *c, double *slope)
{
    double n[3] = { c->normal.x, c->normal.y, RP_DIM == 3 ? c->normal.z : 0 };
    for (int j = 0; j < 3; j++) {
        double along = n[0] * slope[j] + n[1] * slope[3 + j] + n[2] * slope[6 + j];
        for (int i = 0; i < 3; i++)
            slope[3 * i + j] = c->held ? 0 : slope[3 * i + j] - along * n[i];
    }
}

static void constrain_node(meeting *w, int64_t i)
{
    rp__vec3 x = node_position(w->g, i), v = get_velocity(w->velocity, i);
    double *slope = w->slope ? w->slope + 9 * i : NULL;
    for (int k = 0; k < 9 && slope; k++)
        slope[k] = k % 4 == 0 ? 1 : 0;
    int64_t at[3];
    rp__grid_coordinates(w->g, i, at);
    meeting own = *w;
    for (int k = 0; k < w->world->body_count + 2 * RP_DIM; k++) {
        int f = k - w->world->body_count;
        if (f < 0) {
            own.body = &w->world->bodies[k];
            if (!own.body->present)
                continue;
        }
        contact c = f < 0 ? meet_body(&own, x, v) : meet_wall(&own, f, at, v);
        if (!c.met)
            continue;
        v = c.velocity;
        if (slope)
            project_slope(&c, slope);
    }
    set_velocity(w->velocity, i, v);
}

static void constrain_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    meeting *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        if (w->mass[i] > 0)
            constrain_node(w, i);
}

void RP_D(rp__elastoplastic_constrain)(const rp__grid *g, const rp__world *world, double dt, const double *mass,
                                       double *const velocity[3], double *slope)
{
    meeting w = { .g = g, .world = world, .dt = dt, .mass = mass, .velocity = velocity, .slope = slope, .reach = 2 * g->lattice.h };
    rp__exec_for((int64_t)g->blocks * RP_BLOCK_NODES, 2048, constrain_chunk, &w);
}
