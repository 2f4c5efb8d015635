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

/* A place where a free body may touch another body or a wall in the step to come. */
enum { RP__BODY_WORLD = -1 };
typedef struct rp__body_touch {
    int a, b;                /* bodies; b may be RP__BODY_WORLD, which is then `wall` */
    int wall;
    int64_t place;           /* which point of the surface of a: the same from step to step */
    rp__vec3 point, axis[3]; /* normal out of b, then the tangents */
    rp__vec3 surface;        /* velocity of a scripted b, which is met where it will be at the end of the step: distance and normal are those of then */
    double distance, mu;     /* the smaller of the two coefficients */
    bool flat;               /* the surfaces are parallel here */
} rp__body_touch;

typedef struct rp__body_touches {
    rp__body_touch *all;
    int64_t count, capacity;
} rp__body_touches;

static inline bool rp__body_is_moved(const rp__body *body)
{
    return body->present && body->def.kind == RP_BODY_FREE;
}

/* Adds the places of all free bodies. For methods that solve for them together with their grains; the array is the caller's. */
rp_result rp__body_find_touches(const rp__body *bodies, int count, const rp__body_room *room, double dt, rp__body_touches *g);

/* Changes the velocities of free bodies so that none goes into another body or a wall in the step to come, with Coulomb
 * friction; the smaller of the two coefficients counts. Call it when the grains have acted, before rp__body_end. */
rp_result rp__body_contacts_solve(rp__body *bodies, int count, const rp__body_room *room, double dt);

/* How deep the surface of free body `index` lies inside the body `other`, or inside wall f when other = -1 - f;
 * 0 when they are apart. */
double rp__body_depth(const rp__body *bodies, int index, int other, const rp__body_room *room);

/* Points on the surface of a free body, in the frame of its centre of mass. */
rp_result rp__body_make_samples(rp__body *body, int dim);

#endif
