/* The contact of grains with a wall or a body; inline, for the solver. */
#ifndef RP_NONSMOOTH_CONTACT_H
#define RP_NONSMOOTH_CONTACT_H

#include "friction/local.h"
#include "nonsmooth/system.h"

#include <math.h>

/* The impulse that obeys Coulomb's law when the velocity is v (relative to the surface, gap added) at the impulse
 * `from`. The inverse mass is isotropic, so the answer is explicit: it stops the normal approach, and opposes
 * the sliding that is left as much as the cone allows. mu = infinity: held, both ways. */
NS_INLINE void ns_contact_law(const double *normal, double mu, double mass, const double *v, const double *from, double *to)
{
    double want[3] = { 0 }, along = 0, slip = 0;
    for (int a = 0; a < RP_DIM; a++) {
        want[a] = from[a] - mass * v[a];
        along += want[a] * normal[a];
    }
    to[2] = 0;
    if (isinf(mu)) {
        for (int a = 0; a < RP_DIM; a++)
            to[a] = want[a];
        return;
    }
    if (!(along > 0)) {
        for (int a = 0; a < RP_DIM; a++)
            to[a] = 0;
        return;
    }
    for (int a = 0; a < RP_DIM; a++) {
        want[a] -= along * normal[a];
        slip += want[a] * want[a];
    }
    slip = sqrt(slip);
    double scale = slip > mu * along ? mu * along / slip : 1;
    for (int a = 0; a < RP_DIM; a++)
        to[a] = along * normal[a] + scale * want[a];
}

/* Where the velocities of the contact's nodes are: in the tile of its block, or (tile NULL) in the system. */
NS_INLINE void ns_contact_nodes(const ns_system *y, const ns_contact *c, double *tile, double **at)
{
    int64_t block = c->node / RP_BLOCK_NODES;
    int base = ns_tile_of_local((int)(c->node % RP_BLOCK_NODES));
    for (int n = 0; n < c->count; n++) {
        int t = base + (n & 1) + NS_TILE_SIDE * ((n >> 1 & 1) + NS_TILE_SIDE * (n >> 2));
        if (tile) {
            at[n] = tile + NS_PAD * t;
        } else {
            int64_t j = ns_tile_node(y, block, t);
            at[n] = ns_velocity(y, j < 0 ? c->node : j); /* absent nodes have no share */
        }
    }
}

/* Velocity of the grains at the place. */
NS_INLINE void ns_contact_gather(const ns_contact *c, double *const *at, double *u)
{
    u[0] = u[1] = u[2] = 0;
    for (int n = 0; n < c->count; n++)
        for (int a = 0; a < RP_DIM; a++)
            u[a] += c->share[n] * at[n][a];
}

/* An impulse on the grains at the place. */
NS_INLINE void ns_contact_scatter(const ns_contact *c, double dt, const double *impulse, double *const *at)
{
    for (int n = 0; n < c->count; n++)
        for (int a = 0; a < RP_DIM; a++)
            at[n][a] += c->share[n] / dt * impulse[a];
}

/* Relative velocity with the surface, the gap added along the normal. u is the grains' velocity. */
NS_INLINE void ns_contact_velocity(const ns_contact *c, const double *u, double *v)
{
    for (int a = 0; a < RP_DIM; a++)
        v[a] = u[a] - c->target[a] + c->gap * c->normal[a];
}

/* One visit in scaled velocities; `keep` remembers the impulse before it. Returns the change of the impulse, squared. */
NS_INLINE double ns_contact_visit(ns_contact *c, double beta, bool keep, double dt, double *const *at)
{
    double u[3], v[3] = { 0 }, from[3] = { 0 }, to[3], d[3] = { 0 }, change = 0;
    for (int a = 0; a < RP_DIM; a++)
        from[a] = c->impulse[a] + beta * (c->impulse[a] - c->previous[a]);
    ns_contact_gather(c, at, u);
    ns_contact_velocity(c, u, v);
    ns_contact_law(c->normal, c->mu, c->mass, v, from, to);
    for (int a = 0; a < RP_DIM; a++) {
        d[a] = to[a] - from[a];
        change += d[a] * d[a];
        if (keep)
            c->previous[a] = c->impulse[a];
        c->impulse[a] = to[a];
    }
    ns_contact_scatter(c, dt, d, at);
    return change;
}

#endif
