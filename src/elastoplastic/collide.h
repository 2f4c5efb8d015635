/* Collisions of grid nodes with walls and bodies   [klar2016, §8]. */
#ifndef RP_ELASTOPLASTIC_COLLIDE_H
#define RP_ELASTOPLASTIC_COLLIDE_H

#include "grid/grid.h"
#include "sim/method.h"

/* The distance of each node of the grid from the nearest of the bodies that stand and are present (+infinity: there is none). */
void RP_D(rp__elastoplastic_find_clear)(const rp__grid *g, const rp__world *world, double *clear);

/* The surfaces of a body that a node sees, at most one for each axis: its signed distance from their planes, and the direction out of the body
 * (2 axis, + 1 when it points down the axis; -1: none is seen). */
#define rp__elastoplastic_sight RP_D(rp__elastoplastic_sight)
typedef struct rp__elastoplastic_sight {
    double distance[RP_DIM];
    signed char face[RP_DIM];
} rp__elastoplastic_sight;

/* Changes the node velocities so that walls and bodies are respected, then applies friction; adds the reaction to bodies and
 * walls. Surfaces: stick = sticky; slip and frictional = separating, without and with friction; an adhesive surface does not
 * let go (slipping). `clear`, of find_clear with the bodies that are present now, spares most of the distances; NULL: not known. `sight`: scratch memory, one a
 * node; NULL when there are no bodies. */
void RP_D(rp__elastoplastic_collide)(const rp__grid *g, rp__world *world, double dt, const double *mass, double *const velocity[3],
                                     const double *clear, rp__elastoplastic_sight *sight);

/* The implicit step takes the two halves apart.
 * constrain: the velocities as walls and bodies allow them, without friction. slope and kinds (NULL: not wanted), 9 numbers and
 * 2 RP_DIM bytes a node, hold what constrain_change needs to apply its derivative at these velocities: of the bodies row-major,
 * node by node; of the walls what each face does to the node, since mirrors join the nodes of a column.
 * rub: friction on `velocity`, which solves the step, from the push that `star`, the velocities without walls and bodies,
 * need; adds the reaction to bodies and walls. `star` is overwritten   [klar2016, §8.1]. */
void RP_D(rp__elastoplastic_constrain)(const rp__grid *g, const rp__world *world, double dt, const double *mass,
                                       double *const velocity[3], double *slope, unsigned char *kinds);
void RP_D(rp__elastoplastic_constrain_change)(const rp__grid *g, const rp__world *world, const double *mass, double *slope,
                                              unsigned char *kinds, double *const change[3]);
void RP_D(rp__elastoplastic_rub)(const rp__grid *g, rp__world *world, double dt, const double *mass, double *const star[3],
                                 double *const velocity[3]);

#endif
