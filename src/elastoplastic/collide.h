/* Collisions of grid nodes with walls and bodies   [klar2016, §8]. */
#ifndef RP_ELASTOPLASTIC_COLLIDE_H
#define RP_ELASTOPLASTIC_COLLIDE_H

#include "grid/grid.h"
#include "sim/method.h"

/* Changes the node velocities so that walls and bodies are respected, then applies friction; adds the reaction to bodies and
 * walls. Surfaces: stick = sticky; slip and frictional = separating, without and with friction; an adhesive surface does not
 * let go (slipping). */
rp_result RP_D(rp__elastoplastic_collide)(const rp__grid *g, rp__world *world, double dt, const double *mass,
                                          double *const velocity[3]);

#endif
