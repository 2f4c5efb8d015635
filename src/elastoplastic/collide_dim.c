/* Collisions on the grid: the constraint first, friction from the change it made afterwards   [klar2016, §8, §8.1]. */
#include "elastoplastic/collide.h"

#include "exec/exec.h"

#include <math.h>

typedef struct meeting {
    const rp__grid *g;
    rp__world *world;
    double dt;
    const double *mass;
    double *const *velocity;
    rp__body *body;         /* the one met, or NULL: walls */
    double reach;           /* beyond this distance a body is not felt */
} meeting;

static rp__vec3 node_velocity(const meeting *w, int64_t i)
{
    return rp__vec3_make(w->velocity[0][i], w->velocity[1][i], RP_DIM == 3 ? w->velocity[2][i] : 0);
}

static void set_velocity(const meeting *w, int64_t i, rp__vec3 v)
{
    w->velocity[0][i] = v.x;
    w->velocity[1][i] = v.y;
    if (RP_DIM == 3)
        w->velocity[2][i] = v.z;
}

static rp__vec3 node_position(const rp__grid *g, int64_t i)
{
    int64_t at[3];
    rp__grid_coordinates(g, i, at);
    const rp__lattice *l = &g->lattice;
    return rp__vec3_make(l->origin[0] + l->h * (double)at[0], l->origin[1] + l->h * (double)at[1],
                         RP_DIM == 3 ? l->origin[2] + l->h * (double)at[2] : 0);
}

/* The velocity after friction: the impulse j = m (after - before) allows a tangential change of mu |j| / m. */
static rp__vec3 rub(rp__vec3 before, rp__vec3 after, rp__vec3 surface_velocity, rp__vec3 n, double friction)
{
    double push = rp__vec3_norm(rp__vec3_sub(after, before));
    rp__vec3 relative = rp__vec3_sub(after, surface_velocity);
    double normal = rp__vec3_dot(relative, n);
    rp__vec3 slide = rp__vec3_axpy(-normal, n, relative);
    double speed = rp__vec3_norm(slide), most = friction * push;
    if (speed <= most)
        return rp__vec3_add(surface_velocity, rp__vec3_scale(normal, n));
    return rp__vec3_axpy(-most / speed, slide, after);
}

/* ---- bodies ---- */

static void meet_body_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    const rp__body *body = w->body;
    const rp_surface *surface = &body->def.surface;
    for (int64_t i = begin; i < end; i++) {
        if (!(w->mass[i] > 0))
            continue;
        rp__vec3 x = node_position(w->g, i), v = node_velocity(w, i), n;
        double now = rp__body_distance(body, &body->pose, x, NULL);
        if (now > w->reach + w->dt * rp__vec3_norm(v))
            continue;
        rp__vec3 there = rp__vec3_axpy(w->dt, v, x), out = v;
        double then = rp__body_distance(body, &body->pose_next, there, &n);
        rp__vec3 surface_velocity = rp__body_velocity_at(body, x);
        double least = now < 0 ? now : 0;
        if (surface->kind == RP_STICK) {
            if (now >= 0 && then >= 0)
                continue;
            out = surface_velocity;
        } else {
            bool hold = surface->adhesion > 0 && now < 0;
            if (then >= least && !hold)
                continue;
            out = rp__vec3_axpy((least - then) / w->dt, n, v); /* x <- x - (phi - a) grad phi */
            if (surface->kind == RP_FRICTIONAL)
                out = rub(v, out, surface_velocity, n, surface->friction);
        }
        if (RP_DIM == 2)
            out.z = 0;
        set_velocity(w, i, out);
        rp__vec3 j = rp__vec3_scale(w->mass[i], rp__vec3_sub(v, out)); /* on the body */
        rp__vec3 turn = rp__vec3_cross(rp__vec3_sub(x, body->pose.position), j);
        sum[0] += j.x, sum[1] += j.y, sum[2] += j.z;
        sum[3] += turn.x, sum[4] += turn.y, sum[5] += turn.z;
    }
}

/* ---- walls ---- */

static void meet_walls_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    const rp_sim_def *def = w->world->def;
    for (int64_t i = begin; i < end; i++) {
        if (!(w->mass[i] > 0))
            continue;
        int64_t at[3];
        rp__grid_coordinates(w->g, i, at);
        for (int f = 0; f < 2 * RP_DIM; f++) {
            const rp_surface *wall = &def->wall[f];
            int axis = f / 2;
            bool beyond = f & 1 ? at[axis] >= w->world->cells[axis] : at[axis] <= 0;
            if (!beyond || wall->kind == RP_OPEN || wall->kind == RP_PERIODIC)
                continue;
            double inward = f & 1 ? -1 : 1, normal[3] = { 0, 0, 0 };
            normal[axis] = inward;
            rp__vec3 n = rp__vec3_load(normal), v = node_velocity(w, i), out = v, rest = rp__vec3_make(0, 0, 0);
            double vn = rp__vec3_dot(v, n);
            if (wall->kind == RP_STICK)
                out = rest;
            else if (vn < 0 || wall->adhesion > 0) {
                out = rp__vec3_axpy(-vn, n, v);
                if (wall->kind == RP_FRICTIONAL)
                    out = rub(v, out, rest, n, wall->friction);
            }
            set_velocity(w, i, out);
            rp__vec3 j = rp__vec3_scale(w->mass[i], rp__vec3_sub(v, out));
            sum[3 * f] += j.x, sum[3 * f + 1] += j.y, sum[3 * f + 2] += j.z;
        }
    }
}

rp_result RP_D(rp__elastoplastic_collide)(const rp__grid *g, rp__world *world, double dt, const double *mass,
                                          double *const velocity[3])
{
    int64_t nodes = (int64_t)g->blocks * RP_BLOCK_NODES;
    meeting w = { .g = g, .world = world, .dt = dt, .mass = mass, .velocity = velocity };
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        if (!body->present)
            continue;
        double sum[6];
        w.body = body;
        w.reach = 2 * g->lattice.h;
        rp__exec_sum(nodes, 2048, 6, meet_body_chunk, &w, sum);
        rp__vec3 impulse = rp__vec3_load(sum), turn = rp__vec3_load(sum + 3);
        rp__body_apply(body, impulse, turn);
        body->force = rp__vec3_scale(1 / dt, impulse);
        body->torque = rp__vec3_scale(1 / dt, turn);
    }
    double walls[18] = { 0 };
    rp__exec_sum(nodes, 4096, 18, meet_walls_chunk, &w, walls);
    for (int f = 0; f < 2 * RP_DIM; f++)
        for (int a = 0; a < 3; a++)
            world->wall_force[f][a] = walls[3 * f + a] / dt;
    return RP_OK;
}
