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

#endif
