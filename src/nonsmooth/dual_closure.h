/* What `stress: dual` adds to the equations of the paper: every number of it, with its reason and unit. docs/dual.md tells users. */
#ifndef RP_NONSMOOTH_DUAL_CLOSURE_H
#define RP_NONSMOOTH_DUAL_CLOSURE_H

/* 1. Dilatancy: div u = K (e - 1 -+ delta) shear_rate in the constraint, e the filling of a dual cell (1: packed). Sheared sand that
 * is denser than critical dilates, looser sand compacts [roux1998]. K is the stiffness of that return: an excess is halved after a
 * shear strain of ln 2 / K. Any K of order one restores volume at the rate at which it is lost. Parameter `dilatancy`; 0 turns it off. */
#define DU_DILATANCY 4.0

/* 2. Within this distance of e = 1 the sampling by a few particles a cell cannot be told from packing: nothing is corrected. For dilatancy e is
 * the nearer to 1 of that of the node and the mean [1 2 1] / 4 along each axis around it. With four jittered particles a cell (2D) the first
 * varies by 0.07 (root of the mean square), by 0.15 once they are sheared, the second by 0.024. Where e of the node alone counted, noise drove
 * velocities in all directions: Bagnold's flow was 6 % slow and took four times the sweeps (`repose validate bagnold`). Parameter `dead_band`. */
#define DU_DEAD_BAND 0.025

/* 3. The apex of the cone is rounded: |lambda_T| <= mu sqrt(lambda_N^2 + c^2), c = rho g h w: the stress under a layer one cell thick,
 * which is the size of the error that sampling makes near the free surface. It vanishes with the cell. Parameter `apex`, in units of
 * rho g h; 0 turns it off. */
#define DU_APEX 1.0

/* 4. The weight w of that apex falls from 1 at rest to 0 at a strain rate of this many sqrt(g / h), where a cell is sheared by so much in
 * the time that a grain falls through it: what flows has the plain cone. Parameter `apex_rate`. */
#define DU_APEX_RATE 0.003

/* 5., 6. The operator of a dual cell passes from the sum over its particles to the integral over the room in it while the least filling
 * of the nodes around goes from the first number to the second: half empty, the particles know better where the surface is. */
#define DU_PARTLY 0.5
#define DU_FULL 0.75

/* 7. Grains touch where the stress exceeds this part of rho g h: above what the solver leaves undecided. */
#define DU_PRESSED 1e-3

#endif
