/* The contact of one velocity node with a wall or a body; inline, for the solver. */
#ifndef RP_NONSMOOTH_CONTACT_H
#define RP_NONSMOOTH_CONTACT_H

#include "friction/local.h"
#include "nonsmooth/system.h"

#include <math.h>

/* The impulse that obeys Coulomb's law when the node's velocity is v (relative to the surface, gap added) at the impulse
 * `from`. The inverse mass of the node is isotropic, so the answer is explicit: it stops the normal approach, and opposes
 * the sliding that is left as much as the cone allows. mu = infinity: the node is held, both ways. */
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

/* Relative velocity of the node with the surface, the gap added along the normal. u is the node's velocity. */
NS_INLINE void ns_contact_velocity(const ns_contact *c, const double *u, double *v)
{
    for (int a = 0; a < RP_DIM; a++)
        v[a] = u[a] - c->target[a] + c->gap * c->normal[a];
}

/* One visit in scaled velocities; `keep` remembers the impulse before it. w is the node's, s its scale, mass its mass. Returns the change of the impulse, squared. */
NS_INLINE double ns_contact_visit(ns_contact *c, double beta, bool keep, double s, double mass, double *w)
{
    double u[3] = { 0 }, v[3] = { 0 }, from[3] = { 0 }, to[3], change = 0;
    for (int a = 0; a < RP_DIM; a++) {
        u[a] = s * w[a];
        from[a] = c->impulse[a] + beta * (c->impulse[a] - c->previous[a]);
    }
    ns_contact_velocity(c, u, v);
    ns_contact_law(c->normal, c->mu, mass, v, from, to);
    for (int a = 0; a < RP_DIM; a++) {
        double d = to[a] - from[a];
        change += d * d;
        w[a] += d / (mass * s);
        if (keep)
            c->previous[a] = c->impulse[a];
        c->impulse[a] = to[a];
    }
    return change;
}

#endif
