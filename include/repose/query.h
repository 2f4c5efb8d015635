/* Asking a simulation between its steps: contacts, rays, boxes, the surface, sums, values at points. Nothing here changes a result.
 * Grains are asked for as the particles that stand for them: spheres (discs in 2D) of the bulk volume of the particle. */
#ifndef REPOSE_QUERY_H
#define REPOSE_QUERY_H

#include <repose/sim.h>

RP_BEGIN

/* ---- contacts of grains with bodies and walls ---- */

typedef struct rp_contact {
    int body;                 /* index, or -1: a wall */
    int wall;                 /* face, or -1: a body */
    double point[3];
    double normal[3];         /* of the surface, towards the grains */
    double impulse[3];        /* on the body or wall in the last step [N s]; its part along the normal is the push, the rest friction */
} rp_contact;

/* From the next step on, contacts are kept until the step after. Where a method has its contacts (nodes, particles) is its own matter;
 * their impulses add up to the forces of bodies and walls. Walls of kind stick hold whole nodes in `nonsmooth`, and have a force, but no
 * contacts. A method from outside records none. */
RP_API rp_result rp_sim_record_contacts(rp_sim *sim, bool on);
/* In an order that never depends on threads; valid until the next step. */
RP_API rp_result rp_sim_contacts(rp_sim *sim, const rp_contact **contacts, int64_t *count);

/* ---- rays and boxes ---- */

enum { RP_ASK_GRAINS = 1, RP_ASK_BODIES = 2, RP_ASK_WALLS = 4, RP_ASK_ALL = 7 };

typedef struct rp_ray_hit {
    int what;                 /* RP_ASK_GRAINS, …; 0: nothing was met */
    int64_t particle;         /* index, of grains; else -1 */
    int body, wall;           /* else -1 */
    double distance;          /* along the ray [m] */
    double point[3], normal[3];
} rp_ray_hit;

/* The first thing on the way from origin along direction (of any length but 0), at most `length` away. What the origin lies in counts as
 * met at distance 0. Between spheres there are gaps: a ray may pass into the bed by a few of them. Walls that are open or periodic are not met. */
RP_API rp_result rp_sim_ray(rp_sim *sim, const double origin[3], const double direction[3], double length, int what, rp_ray_hit *hit);

/* Particles whose centres lie in the box, by index, in order: *count of them, the first `capacity` in indices (may be NULL). */
RP_API rp_result rp_sim_grains_in_box(rp_sim *sim, const double lower[3], const double upper[3], int64_t *indices, int64_t capacity,
                                      int64_t *count);
/* Bodies that are present and whose bounds meet the box. */
RP_API rp_result rp_sim_bodies_in_box(const rp_sim *sim, const double lower[3], const double upper[3], int *bodies, int capacity, int *count);

/* The body that is present and nearest (most inside) to a point, its signed distance and normal there (may be NULL).
 * RP_NOT_FOUND when there is none. */
RP_API rp_result rp_sim_closest_body(const rp_sim *sim, const double point[3], int *body, double *distance, double normal[3]);

/* ---- the material ---- */

/* Height of the surface of the material at (x, y), z being up; in 2D at x, y being up: the highest place where grains fill half of the
 * space they fill when packed, smoothed over a cell. *there false: there is none. */
RP_API rp_result rp_sim_surface(rp_sim *sim, double x, double y, double *height, bool *there);

typedef struct rp_sums {
    int64_t particles;
    double mass, volume;      /* of the grains themselves */
    double momentum[3];
    double angular_momentum[3]; /* about the origin */
    double kinetic_energy;
    double centre[3];         /* of mass; 0 when there is none */
} rp_sums;
/* Of the particles whose centres lie in the shape (NULL: all). */
RP_API rp_result rp_sim_sums(rp_sim *sim, const rp_shape *shape, rp_sums *sums);

/* A field at points (x y z each): components × count numbers, point by point. A particle field ("velocity", …) is averaged by mass over
 * the particles within a cell, nearer ones weighing more; a node field of the method ("stress", "pressure", …) is interpolated between
 * its nodes. Stresses and pressures of `nonsmooth` and `diphasic` are those of the grains (docs/theory.md): times the field
 * "volume_fraction" they are what a wall feels; those of `elastoplastic` are that already. `ballistic`, `pbd` and `contact` have none, and
 * the name is refused. fill[i] (may be NULL) is how full of packed grains it is there, 0: no material within reach, and the values are 0. */
RP_API rp_result rp_sim_sample(rp_sim *sim, const char *field, const double *points, int64_t count, double *values, double *fill);
RP_API int rp_sim_sample_components(rp_sim *sim, const char *field); /* 0: there is no such field */

RP_END
#endif
