/* What the method adds to the paper: every rule with a number of its own, why it is there, its unit, and the page that tells users (docs/nonsmooth.md,
 * "What is added to the paper"). Numbers of the solver that only decide how fast it is stand in solver_dim.c. Nothing here knows which elements carry
 * velocities and stresses. */
#ifndef RP_NONSMOOTH_CLOSURE_H
#define RP_NONSMOOTH_CLOSURE_H

/* Short steps at the start, the longest a quarter of sqrt(h / g), each four times the one before: see step_dim.c. [steps] */
enum { NS_FIRST_STEPS = 4 };
#define NS_FIRST 0.01 /* of the tolerances, in those steps, as far as their sweeps go */

/* A node tells a particle about the gradient of the velocity as far as others move it: fully from this mass of others on, in units of a full node. What only
 * the particle itself moves would hand its gradient back to it for ever. Test: lone_particles_keep_no_gradient. */
#define NS_OTHERS 0.01

/* Semi-axes of an ellipsoid, at most (and 1 / this at least), in units of the particle's own size. Test: ellipsoids_stay_bounded. */
#define NS_DRAWN 8.0

/* Particles that a volume is made of, at most, in units of those at its birth: more, and near ones merge. Test: stirred_particles_stay_few. */
#define NS_MANY 1.5

#endif
