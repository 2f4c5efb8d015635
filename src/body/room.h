/* Places that are outside of every body at once and within the walls. */
#ifndef RP_BODY_ROOM_H
#define RP_BODY_ROOM_H

#include "body/body.h"

typedef struct rp__body_room {
    const rp__body *bodies;
    int count;
    int dim;
    double lower[3], upper[3]; /* of the domain; infinite where a face is open or periodic */
    double cell;               /* [m] */
} rp__body_room;

/* What bodies leave of a domain. */
rp__body_room rp__body_room_of(const rp_sim_def *def, const rp__body *bodies, int count);

/* The nearest place between the walls. */
rp__vec3 rp__body_room_within(const rp__body_room *room, rp__vec3 x);

/* How far x is outside of the nearest body and wall at the end of their step; below zero inside. */
double rp__body_room_clearance(const rp__body_room *room, rp__vec3 x);

/* Moves x to a place near it that is outside of all bodies at the end of their step and within the walls. The way out of one body may
 * lead into another: x goes out of the deepest, again and again, which ends in the crease where they meet; where they face each other, it
 * is pressed out of the gap between them, to the nearest place on circles around it. False, and x as it was, when there is none within
 * eight cells. */
bool rp__body_room_find(const rp__body_room *room, rp__vec3 *x);

#endif
