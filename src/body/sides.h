/* The sides of a body that are near a place. */
#ifndef RP_BODY_SIDES_H
#define RP_BODY_SIDES_H

#include "body/body.h"

enum { RP__BODY_SIDES = 8 };

/* A place of the surface than which none beside it is nearer. */
typedef struct rp__body_side {
    double distance;
    rp__vec3 normal; /* out of the body, towards the place it is seen from */
} rp__body_side;

/* The sides nearer to x than `reach` of a body at `pose` (with &body->pose_next a deforming body has the shape of then): in an inner corner there
 * are several, and what is round and lies in it touches them all. The nearest is always among them; from within the body it is the only one.
 * They come in an order that their normals in the frame of the body give, so that it stays while the set does. */
int rp__body_sides(const rp__body *body, const rp__pose *pose, rp__vec3 x, double reach, int dim, rp__body_side side[RP__BODY_SIDES]);

#endif
