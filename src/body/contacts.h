/* Contacts of free bodies with each other, with scripted bodies and with the walls of the domain. */
#ifndef RP_BODY_CONTACTS_H
#define RP_BODY_CONTACTS_H

#include "body/body.h"

/* The walls and what the contacts need of the scene. */
typedef struct rp__body_room {
    int dim;
    const double *lower, *upper; /* of the domain */
    const rp_surface *wall;      /* 2 dim faces */
} rp__body_room;

/* Changes the velocities of free bodies so that none goes into another body or a wall in the step to come, with Coulomb
 * friction; the smaller of the two coefficients counts. Call it when the grains have acted, before rp__body_end. */
rp_result rp__body_contacts_solve(rp__body *bodies, int count, const rp__body_room *room, double dt);

/* How deep the surface of free body `index` lies inside the body `other`, or inside wall f when other = -1 - f;
 * 0 when they are apart. */
double rp__body_depth(const rp__body *bodies, int index, int other, const rp__body_room *room);

/* Points on the surface of a free body, in the frame of its centre of mass. */
rp_result rp__body_make_samples(rp__body *body, int dim);

#endif
