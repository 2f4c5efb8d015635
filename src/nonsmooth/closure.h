/* What the method adds to the paper: every number of it, with its reason and unit. docs/dual.md tells users and names the tests. Numbers that only decide how
 * fast the solver is stand in dual_solver_dim.c. `stress: node` uses none of the first nine. */
#ifndef RP_NONSMOOTH_CLOSURE_H
#define RP_NONSMOOTH_CLOSURE_H

/* 1. Dilatancy: div u = K (e - 1 -+ delta) shear_rate in the constraint, e the filling of a dual cell (1: packed). Sheared sand that
 * is denser than critical dilates, looser sand compacts [roux1998]. K is the stiffness of that return: an excess is halved after a
 * shear strain of ln 2 / K. Any K of order one restores volume at the rate at which it is lost. Parameter `dilatancy`; 0 turns it off. */
#define DU_DILATANCY 4.0

/* 2. Within this distance of e = 1 the sampling by a few particles a cell cannot be told from packing: nothing is corrected. For dilatancy e is
 * the nearer to 1 of that of the node and the mean [1 2 1] / 4 along each axis around it. With four jittered particles a cell (2D) the first
 * varies by 0.07 (root of the mean square), by 0.15 once they are sheared, the second by 0.024: the band is half of that, for without one the
 * flow below is 5 % slow. Where e of the node alone counted, noise drove
 * velocities in all directions: Bagnold's flow was 6 % slow and took twice the sweeps (`repose validate bagnold`). Parameter `dead_band`. */
#define DU_DEAD_BAND 0.0125

/* 3. The apex of the cone is rounded: |lambda_T| <= mu sqrt(lambda_N^2 + c^2), c = rho g h w / 4: the stress under a quarter of a cell,
 * of the size of the error that sampling makes near the free surface. It vanishes with the cell; with a whole cell trays flow some degrees late. Parameter
 * `apex`, in units of rho g h; 0 turns it off. */
#define DU_APEX 0.25

/* 4. The weight w of that apex falls from 1 at rest to 0 at a strain rate of this many sqrt(g / h), where a cell is sheared by so much in
 * the time that a grain falls through it: what flows has the plain cone. Parameter `apex_rate`. */
#define DU_APEX_RATE 0.003

/* 5., 6. The operator of a dual cell passes from the sum over its particles to the integral over the room in it while the least filling
 * of the nodes around goes from the first number to the second: half empty, the particles know better where the surface is. */
#define DU_PARTLY 0.5
#define DU_FULL 0.75

/* 7. Grains touch where the stress exceeds this part of rho g h: above what the solver leaves undecided. */
#define DU_PRESSED 1e-3

/* 8. Looseness, the volume that grains may lose before they touch in units of their own, at most: no gap is wider. What flies apart is loose, and by how much
 * does not matter. */
#define NS_LOOSE 10.0

/* 9. Dual cells of which bodies leave less than this part carry no stress: theirs would be one over this times what the others have, and sweeps do not find
 * it. A bed on a floor that rises at 10 mm/s through the faces of dual cells is then not lifted by as much as 0.06 J/m; the same for any number from 0.02 to
 * 0.05. Test: rest_is_the_same_in_moving_frames. */
#define DU_THIN 0.03125

/* 10. Semi-axes of an ellipsoid, at most (and 1 / this at least), in units of the particle's own size: nothing grows for ever. Tests: ellipsoids_are_clamped,
 * stirred_particles_stay_few; `split: false` leaves them alone. */
#define NS_DRAWN 8.0

/* 11. Particles that a volume is made of, at most, in units of those at its birth: more, and near ones merge. `merge: false` turns it off. Test:
 * stirred_particles_stay_few. */
#define NS_MANY 1.2

/* 12. Particles in all, at most, in units of those that their volume had at birth: what a user may count on who asks for memory and time. Beyond, drawn-out
 * particles are made rounder and not split. `merge: false` turns it off. Test: stirred_particles_stay_few. */
#define NS_MOST 1.5

/* Without a number: the law is on the volume at the end of the step (du_bend; test straight_lines_keep_the_volume), and scripted bodies are met where they are
 * then (dual_contact_dim.c, `carry`; test drums_turn_with_what_is_in_them). Velocities outside the free surface go on as a line from those inside (`ties`;
 * dual_tie_dim.c; test heaps_stand). Full room counts whole, also where no particle lies in it, and friction acts at the face of what it balances
 * (`whole_room`; dual_assemble_dim.c, dual_contact_dim.c; test slivers_carry). Friction that depends on the rate follows within what is stable
 * (dual_advect_dim.c, `followed`; `repose validate vertical-chute`). Grains at an edge of a body have the normals of its sides (dual_contact_dim.c;
 * `repose validate heap-rest`). */

/* Of the solver: mass that a node before a body lends to the one behind it, at most, as a part of its own: it keeps three quarters (dual_tie_dim.c,
 * `lend`; `whole_room`; `repose validate wall-thrust`). */
#define DU_LENT 0.125

/* Of the solver: mass of a node behind a body, as a part of that before it, below which it counts as none (dual_tie_dim.c, `lend`; the same for 0.001 and 0.01;
 * test drums_are_not_thrown). */
#define DU_NO_MASS 1e-3

#endif
