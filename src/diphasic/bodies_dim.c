/* Bodies in the fluid: what pushes them, and how free ones answer to the pressure.
 *
 * Nodes inside a free body have its velocity, w_j = R_j V. The pressure pushes on them and V answers with the mass of the body: V += dt I Rᵀ Dᵀ p, I the
 * inverse mass, so that D w = 0 reads (D Θ Dᵀ + D R I Rᵀ Dᵀ) p = -D w / dt: six unknowns a body in the same solve, symmetric and positive. The
 * fluid that a body takes along, its added mass, is in it whatever the body weighs; nothing is found in turns. */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

static bool is_free(const rp__world *world, int b)
{
    return world->bodies[b].present && world->bodies[b].def.kind == RP_BODY_FREE;
}

bool DP(free_bodies)(const rp__world *world)
{
    for (int b = 0; b < world->body_count; b++)
        if (is_free(world, b))
            return true;
    return false;
}

/* ---- nodes inside ---- */

/* Nodes inside each body, in their order, and the cells around them that have a pressure. */
rp_result DP(list_held)(dp_system *y, const rp__world *world)
{
    int64_t next[DP_BODIES + 1] = { 0 }, count = 0;
    memset(y->held_first, 0, sizeof y->held_first);
    for (int64_t j = 0; j < y->node_count && world->body_count; j++)
        if (y->inside[j] >= 0)
            next[y->inside[j] + 1]++, count++;
    if (!rp__base_grow(&y->held_node, &y->held_capacity, count + 1, sizeof *y->held_node))
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < DP_BODIES; b++)
        y->held_first[b + 1] = next[b + 1] += next[b];
    for (int64_t j = 0; j < y->node_count && count; j++) {
        int b = y->inside[j];
        if (b < 0)
            continue;
        dp_held *held = &y->held_node[next[b]++];
        int64_t at[3];
        double x[3] = { 0 };
        dp_place(y->nodes, j, at);
        for (int a = 0; a < RP_DIM; a++)
            x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
        held->node = j;
        rp__vec3_store(held->arm, rp__vec3_sub(rp__vec3_load(x), world->bodies[b].pose.position));
        for (int n = 0; n < DP_CORNERS; n++) {
            held->cell[n] = dp_cell_at_corner(y, at, n);
            if (held->cell[n] >= 0 && !(rp__multigrid_diagonal(y->poisson, held->cell[n]) > 0))
                held->cell[n] = -1;
        }
    }
    return RP_OK;
}

/* The volume of fluid that a body keeps away over that of its nodes: a free body that is all inside the domain has its own, however many nodes lie in it. */
static double kept_away(const dp_system *y, const rp__world *world, int b)
{
    const rp__body *body = &world->bodies[b];
    double sum = 0, x[3];
    rp__vec3_store(x, body->pose.position);
    if (!is_free(world, b) || body->def.mass > 0 || !(body->def.density > 0)) /* a mass that is given says nothing about the volume */
        return 1;
    for (int a = 0; a < RP_DIM; a++)
        if (x[a] - body->radius < world->def->lower[a] || x[a] + body->radius > world->def->upper[a])
            return 1;
    for (int64_t i = y->held_first[b]; i < y->held_first[b + 1]; i++)
        sum += y->volume[y->held_node[i].node];
    return sum > 0 ? body->mass / body->def.density / sum : 1;
}

static void add_push(const rp__body *body, const double *push, const double *place, rp__vec3 *part, dp_push *all)
{
    rp__vec3 force = rp__vec3_load(push), arm = rp__vec3_sub(rp__vec3_load(place), body->pose.position);
    all->impulse = rp__vec3_add(all->impulse, force);
    all->turn = rp__vec3_add(all->turn, rp__vec3_cross(arm, force));
    if (part)
        *part = rp__vec3_add(*part, force);
}

/* The pressure of the mixture on the nodes inside with the weight of the fluid that the body keeps away, what viscosity does to them, and the
 * grains that touch. Viscosity was found with the velocity that the body had: m/(m + R), R the resistance with all else held, keeps a light
 * free body in a thick fluid from being thrown back and forth. */
dp_push DP(body_push)(const dp_system *y, const rp__world *world, int b, double dt)
{
    const rp__body *body = &world->bodies[b];
    dp_push all = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
    double part = body->def.kind == RP_BODY_FREE ? 1 / (1 + y->body_resistance[b] * body->inverse_mass) : 1;
    /* Below a surface the pressure is the whole one, and pushes on as much fluid as the nodes have. */
    double displaced = world->def->fluid->density * (kept_away(y, world, b) - (y->surface ? 1 : 0));
    for (int64_t i = y->held_first[b]; i < y->held_first[b + 1]; i++) {
        int64_t at[3], j = y->held_node[i].node;
        double push[3] = { 0 }, shear[3] = { 0 }, x[3] = { 0 };
        dp_place(y->nodes, j, at);
        DP(pressure_impulse)(y, y->pressure, true, j, push);
        for (int a = 0; a < RP_DIM; a++) {
            x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
            push[a] = dt * (push[a] - displaced * dp_wet_volume(y, j) * world->def->gravity[a]);
            shear[a] = part * y->viscous[RP_DIM * j + a];
        }
        add_push(body, push, x, &all.pressure, &all);
        add_push(body, shear, x, &all.viscous, &all);
    }
    for (int64_t i = 0; i < y->contact_count; i++) {
        const dp_contact *c = &y->contacts[i];
        double push[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            push[a] = -c->impulse[a];
        if (c->body == b)
            add_push(body, push, c->place, NULL, &all);
    }
    return all;
}

/* ---- free bodies ---- */

/* Velocity of a node that moves with a velocity and a spin, where the fluid is not held by a wall. */
DP_INLINE void rigid(const dp_system *y, const dp_held *held, const double v[6], double out[RP_DIM])
{
    double all[3];
    rp__vec3_store(all, rp__vec3_add(rp__vec3_load(v), rp__vec3_cross(rp__vec3_load(v + 3), rp__vec3_load(held->arm))));
    for (int a = 0; a < RP_DIM; a++)
        out[a] = y->hold[held->node] & dp_fluid_hold(a) ? 0 : all[a];
}

/* I Rᵀ Dᵀ x: the velocity and spin that a pressure gives to a body, over dt. */
static void answer(const dp_system *y, int b, const double *x, double v[6])
{
    double sum[6] = { 0 };
    for (int64_t i = y->held_first[b]; i < y->held_first[b + 1]; i++) {
        const dp_held *held = &y->held_node[i];
        double push[3] = { 0 }, turn[3];
        DP(pressure_impulse)(y, x, false, held->node, push);
        for (int a = 0; a < RP_DIM; a++)
            push[a] = y->hold[held->node] & dp_fluid_hold(a) ? 0 : push[a];
        rp__vec3_store(turn, rp__vec3_cross(rp__vec3_load(held->arm), rp__vec3_load(push)));
        for (int k = 0; k < 3; k++)
            sum[k] += push[k], sum[3 + k] += turn[k];
    }
    for (int k = 0; k < 6; k++) {
        v[k] = 0;
        for (int l = 0; l < 6; l++)
            v[k] += y->body_inverse[b][6 * k + l] * sum[l];
    }
}

void DP(add_free_bodies)(const dp_system *y, const double *x, double *out)
{
    for (int b = 0; b < DP_BODIES; b++) {
        double v[6], u[RP_DIM];
        if (!y->body_free[b])
            continue;
        answer(y, b, x, v);
        for (int64_t i = y->held_first[b]; i < y->held_first[b + 1]; i++) {
            const dp_held *held = &y->held_node[i];
            rigid(y, held, v, u);
            for (int n = 0; n < DP_CORNERS; n++)
                for (int a = 0; a < RP_DIM && held->cell[n] >= 0; a++)
                    out[held->cell[n]] += dp_leaves(y, held->cell[n])[n][a] * u[a];
        }
    }
}

/* Nodes inside get the velocity of their body. */
static void set_nodes(dp_system *y, const rp__body *body, int b)
{
    double v[6], u[RP_DIM];
    rp__vec3_store(v, body->velocity), rp__vec3_store(v + 3, body->omega);
    for (int64_t i = y->held_first[b]; i < y->held_first[b + 1]; i++) {
        int64_t j = y->held_node[i].node;
        rigid(y, &y->held_node[i], v, u);
        for (int a = 0; a < RP_DIM; a++)
            if (!(y->hold[j] & dp_fluid_hold(a)))
                y->held[RP_DIM * j + a] = y->node[j].w[a] = u[a];
    }
}

void DP(push_free_bodies)(const dp_solve *w, const double *change)
{
    dp_system *y = w->y;
    for (int b = 0; b < w->world->body_count; b++) {
        double v[6];
        if (!y->body_free[b])
            continue;
        rp__body *body = &w->world->bodies[b];
        answer(y, b, change, v);
        body->velocity = rp__vec3_axpy(w->dt, rp__vec3_load(v), body->velocity);
        body->omega = rp__vec3_axpy(w->dt, rp__vec3_load(v + 3), body->omega);
        set_nodes(y, body, b);
    }
}

/* Velocities from all that pushes: the pressure on their nodes, the weight of the fluid they keep away, viscosity, the grains that touch. */
void DP(settle_bodies)(const dp_solve *w)
{
    dp_system *y = w->y;
    for (int b = 0; b < w->world->body_count; b++) {
        if (!y->body_free[b])
            continue;
        rp__body *body = &w->world->bodies[b];
        dp_push push = DP(body_push)(y, w->world, b, w->dt);
        body->velocity = y->body_velocity[b], body->omega = y->body_omega[b];
        rp__body_apply(body, push.impulse, push.turn);
        set_nodes(y, body, b);
    }
}

double DP(moved_bodies)(const dp_solve *w)
{
    dp_system *y = w->y;
    double most = 0;
    for (int b = 0; b < w->world->body_count; b++) {
        const rp__body *body = &w->world->bodies[b];
        if (!y->body_free[b])
            continue;
        most = fmax(most, rp__vec3_norm(rp__vec3_sub(body->velocity, y->body_last[b])));
        y->body_last[b] = body->velocity;
    }
    return most;
}

void DP(start_bodies)(dp_solve *w)
{
    dp_system *y = w->y;
    for (int b = 0; b < DP_BODIES; b++) {
        y->body_free[b] = b < w->world->body_count && is_free(w->world, b);
        if (!y->body_free[b])
            continue;
        const rp__body *body = &w->world->bodies[b];
        y->body_velocity[b] = y->body_last[b] = body->velocity;
        y->body_omega[b] = body->omega;
        rp__body_inverse_mass(body, y->body_inverse[b]);
    }
    DP(settle_bodies)(w);
}
