/* The room that walls and bodies leave around nodes. */
#ifndef RP_ELASTOPLASTIC_ROOM_H
#define RP_ELASTOPLASTIC_ROOM_H

#include "grid/grid.h"
#include "sim/method.h"

/* room[j] = integral of N_j over what is inside the walls and outside the bodies where they stand at the beginning of the step, in cells: 1 far
 * from all of them. The shape functions N have the order 2 or 3. */
void RP_D(rp__elastoplastic_find_room)(const rp__grid *g, const rp__world *world, int order, double *room);

#endif
