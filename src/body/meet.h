/* Contacts of free bodies with each other, with scripted ones and with walls, for solvers that visit them in turn with those of their grains: a body that
 * grains hold then carries what lies on it. With the velocities V of all bodies, 6 numbers each,
 *
 *   u_i = J_i V + w_i,   V = V* + W sum_j J_j^T r_j,   (u_i, r_i) in Coulomb's law with mu_i
 *
 * W the inverse mass, w_i the velocity of what does not obey the problem, and the distance over dt along the normal, which may still be closed. */
#ifndef RP_BODY_MEET_H
#define RP_BODY_MEET_H

#include "body/contacts.h"
#include "friction/local.h"

typedef struct rp__body_meeting {
    int body[2];                        /* the second: or RP__BODY_WORLD */
    double lever[2][3][6];              /* rows of J, zero of what does not move */
    double pushed[2][3][6];             /* W times them */
    double block[9], mu, other[3];      /* J W J^T; w */
    union {
        rp__friction_factor_c2 plane;
        rp__friction_factor_c3 space;
    } factor;
    double impulse[3], previous[3], kept[3]; /* along the axes */
} rp__body_meeting;

typedef struct rp__body_meetings {
    rp__body_meeting *all;
    int64_t count, capacity;
    int dim;
    rp__body_touches touches;           /* scratch */
} rp__body_meetings;

/* The contacts of a step, without impulses. `inverse`: W, 36 numbers a body. */
rp_result rp__body_find_meetings(rp__body_meetings *m, const rp__body *bodies, int count, const rp__body_room *room, const double *inverse, double dt);
void rp__body_free_meetings(rp__body_meetings *m);

/* Each contact once, one after the other, from impulses that momentum carries by beta; `apply`: impulses and velocities (6 a body) change. Adds the squares of
 * what the law changes, and returns the largest of them. */
double rp__body_visit_meetings(rp__body_meetings *m, double *velocity, double beta, bool apply, double *squares);

/* Visits until these contacts are solved among themselves: what a solve begins with. */
void rp__body_settle_meetings(rp__body_meetings *m, double *velocity);

/* Adds to the velocities what the impulses make of them. */
void rp__body_push_meetings(const rp__body_meetings *m, double *velocity);

/* Keeps the impulses, or takes those back that were kept. */
void rp__body_keep_meetings(rp__body_meetings *m, bool keep);

#endif
