/* What the method adds to the paper: every rule with a number of its own, why it is there, its unit, and the page that tells users (docs/nonsmooth.md,
 * "What is added to the paper"). Numbers of the solver that only decide how fast it is stand in solver_dim.c. Nothing here knows which elements carry
 * velocities and stresses. */
#ifndef RP_NONSMOOTH_CLOSURE_H
#define RP_NONSMOOTH_CLOSURE_H

/* Short steps at the start, the longest a quarter of sqrt(h / g), each four times the one before: see step_dim.c. [steps] */
enum { NS_FIRST_STEPS = 4 };
#define NS_FIRST 0.01 /* of the tolerances, in those steps, as far as their sweeps go */

#endif
