/* The particles by cells, for those who ask where something is. */
#ifndef RP_SIM_FINDER_H
#define RP_SIM_FINDER_H

#include "sim/sim_internal.h"

rp_result rp__finder_make(rp_sim *sim); /* when it is not there */
/* First and last cell of a box along each axis (last < first: none). */
void rp__finder_range(const rp_sim *sim, const double lower[3], const double upper[3], int64_t range[6]);
/* Of the sphere (disc) with the bulk volume of a particle. */
double rp__finder_radius(const rp_sim *sim, int64_t i);

#endif
