/* Broad and narrow phase of contacts between things one by one: boxes into pairs, pairs into nearest points, and what is remembered
 * of a pair from step to step. Everything depends on the data alone: pairs come sorted, whoever computes them (docs/contact.md). */
#ifndef RP_COLLIDE_COLLIDE_H
#define RP_COLLIDE_COLLIDE_H

#include "math/vec.h"

#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- pairs of boxes that overlap ---- */

typedef struct rp__collide_box {
    double lower[3], upper[3];
} rp__collide_box;

typedef struct rp__collide_pair {
    int32_t a, b;        /* a < b */
    int8_t shift[3];     /* periods by which b is moved to meet a */
    int8_t unused;
} rp__collide_pair;

/* Periods along each axis; 0 where the axis is not periodic. */
typedef struct rp__collide_room {
    double lower[3], period[3];
} rp__collide_room;

typedef struct rp__collide_grid rp__collide_grid; /* memory kept from step to step */

rp_result rp__collide_grid_create(rp__collide_grid **out);
void rp__collide_grid_destroy(rp__collide_grid *grid); /* NULL is allowed */

/* The pairs of overlapping boxes, sorted by (a, b, shift); valid until the next call. `room` may be NULL. `skip` (may be NULL) says
 * which pairs need not be told. */
typedef bool (*rp__collide_skip)(const void *context, int32_t a, int32_t b);
rp_result rp__collide_grid_pairs(rp__collide_grid *grid, const rp__collide_box *boxes, int64_t count, const rp__collide_room *room,
                                 rp__collide_skip skip, const void *context, const rp__collide_pair **pairs, int64_t *pair_count);

/* ---- nearest points ---- */

/* All points within `radius` of the segment from p to q; a sphere when p = q. */
typedef struct rp__collide_capsule {
    rp__vec3 p, q;
    double radius;
} rp__collide_capsule;

typedef struct rp__collide_touch {
    double s, t;         /* places on the axes of a and b, 0 at p, 1 at q */
    rp__vec3 on_a, on_b; /* points of the axes */
    rp__vec3 normal;     /* from b to a */
    double gap;          /* between the surfaces; below 0: they overlap */
} rp__collide_touch;

/* Axes nearer to parallel than this (sine of the angle) touch in two places, at the ends of their overlap. */
#define RP_COLLIDE_PARALLEL 0.1

/* Where two capsules are nearer than `within`: 0, 1 or, when their axes are nearly parallel, 2 places. */
int rp__collide_capsules(const rp__collide_capsule *a, const rp__collide_capsule *b, double within, rp__collide_touch out[2]);

/* The nearest points of two segments: places in *s and *t, the square of their distance. */
double rp__collide_segments(rp__vec3 p1, rp__vec3 q1, rp__vec3 p2, rp__vec3 q2, double *s, double *t);
/* By trying many places: for the tests. */
double rp__collide_segments_ref(rp__vec3 p1, rp__vec3 q1, rp__vec3 p2, rp__vec3 q2);

/* Two segments moving evenly from their places at the beginning (p1, q1, p2, q2)[0] to those at the end [1]: whether one passes
 * through the other, and the first time in [0, 1] at which they meet. Roots of the volume (q1 - p1)·((p2 - p1)×(q2 - p1)), a cubic. */
bool rp__collide_crossing(const rp__vec3 p1[2], const rp__vec3 q1[2], const rp__vec3 p2[2], const rp__vec3 q2[2], double *time);

/* On which side of b the segment a is: the sign of (on_a - on_b)·(t_a×t_b); 0 when they are parallel. */
int rp__collide_side(const rp__collide_capsule *a, const rp__collide_capsule *b);

/* ---- memory of pairs ---- */

typedef struct rp__collide_key {
    uint64_t a, b;  /* names of the two things, that stay theirs */
    uint64_t slot;  /* which of their contacts */
} rp__collide_key;

typedef struct rp__collide_record {
    rp__collide_key key;
    double impulse[3];   /* of the contact on a, in the frame of the world [N s] */
    double moment[3];    /* of rolling friction on a [N m s] */
    int64_t side;        /* as rp__collide_side; 0: not known */
} rp__collide_record;

int rp__collide_compare(const rp__collide_key *a, const rp__collide_key *b);
/* The record of a key in a sorted list, or NULL. */
const rp__collide_record *rp__collide_find(const rp__collide_record *records, int64_t count, const rp__collide_key *key);

#endif
