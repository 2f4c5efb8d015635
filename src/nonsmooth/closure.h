/* What the method adds to the paper: every rule with a number of its own, why it is there, its unit, and the page that tells users (docs/nonsmooth.md,
 * "What is added to the paper"). Numbers of the solver that only decide how fast it is stand in solver_dim.c. Nothing here knows which elements carry
 * velocities and stresses. */
#ifndef RP_NONSMOOTH_CLOSURE_H
#define RP_NONSMOOTH_CLOSURE_H

#include <stdbool.h>

/* Short steps at the start, the longest a quarter of sqrt(h / g), each four times the one before: see step_dim.c. [steps] */
enum { NS_FIRST_STEPS = 4 };
#define NS_FIRST 0.01 /* of the tolerances, in those steps, as far as their sweeps go */

/* A node tells a particle about the gradient of the velocity as far as others move it: fully from this mass of others on, in units of a full node. What only
 * the particle itself moves would hand its gradient back to it for ever. Test: lone_particles_keep_no_gradient. */
#define NS_OTHERS 0.01

/* Semi-axes of an ellipsoid, at most (and 1 / this at least), in units of the particle's own size. Tests: ellipsoids_are_clamped,
 * stirred_particles_stay_few. */
#define NS_DRAWN 8.0

/* Particles that a volume is made of, at most, in units of those at its birth: more, and near ones merge. Test: stirred_particles_stay_few. */
#define NS_MANY 1.2

/* ---- when grains touch ---- */

/* Pressure from which grains touch, in units of rho g h, the weight of a layer one cell thick (and more than the solver leaves undecided). */
#define NS_PRESSED 1e-3

/* Looseness (volume that grains may lose before they touch, in units of their own): at most; and below this they touch. */
#define NS_LOOSE 10.0
#define NS_TOUCHING 0.1

/* Strain rates below this part of sqrt(g / h) are near rest, in any frame: there grains that something carries touch, and hold together a
 * little (`static_cohesion`),
 * by so much less the faster they are sheared. Test: rest_is_the_same_in_moving_frames; `static_cohesion` = 0 turns it off. */
#define NS_SLOW 0.05

/* The strict residual of rest: in units of the weight of so many layers of cells, and gone at strain rates that shear a cell by this part
 * of g dt. See prepare_dim.c. */
#define NS_LAYERS 4
#define NS_CREEP 0.1

/* ---- volume: dilatancy ---- */

/* Loose material closes only inside: where no place around is filled by less than this part. */
#define NS_INSIDE 0.5

/* Sand that is packed more tightly than its critical packing opens as it is sheared, looser sand closes, and nothing happens at rest   [roux1998]:
 *
 *   div u >= z gamma',   z = K (phi / phi_max - 1) beyond `tolerance` above zero and `band` below, |z| <= mu^
 *
 * gamma' the rate of shear of the velocities before the step, mu^ the friction: the power of opening, z p gamma', is never more than what
 * friction takes, mu^ p gamma'. No more
 * opens in a step than is packed too tightly. `over` = phi / phi_max - 1; returns div u [1/s]. Galilean; K (`dilatancy`) = 0 turns it off. */
static inline double ns_dilation(double over, bool inside, double k, double tolerance, double band, double mu, double shear, double dt)
{
    double beyond = over > tolerance ? over - tolerance : over < -band && inside ? over + band : 0;
    double z = k * beyond, most = (beyond > 0 ? beyond : -beyond) / dt;
    z = z > mu ? mu : z < -mu ? -mu : z;
    double open = z * shear;
    return open > most ? most : open < -most ? -most : open;
}

/* ---- null modes ---- */

/* Nodes with this part of a cell of room, filled by this part, and all around them too, are inside: there particles are carried by
 * velocities without the part that alternates
 * from node to node, which no stress sees. */
#define NS_ROOMY 0.3
#define NS_FILLED 0.6

/* Shear that particles keep where friction depends on its rate, in units of what the stresses see. */
#define NS_LEAST 0.5
#define NS_MOST 1.5

/* Grains with cohesion hold together where the room is filled by more: an edge of a block has a quarter. */
#define NS_BONDED 0.2

#endif
