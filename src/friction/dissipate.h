/* Answers of solves that stopped before they converged. */
#ifndef RP_FRICTION_DISSIPATE_H
#define RP_FRICTION_DISSIPATE_H

#include <repose/friction.h>

/* ½ r·(u + b), u = W r + b: the energy that the impulses r make in the frame of what moves as told. Of a solution it is never above zero. */
double rp__friction_energy(const rp_friction *p, const double *r, const double *u);

/* Changes r (within its cones) so that it makes no energy, when it does; u receives W r + b. The number of sweeps that took is added to *iterations. */
rp_result rp__friction_dissipate(const rp_friction *p, const rp_friction_options *options, double *r, double *u, int64_t *iterations);

#endif
