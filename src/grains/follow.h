/* Fine grains that follow guides: what upsample.c and its kernel share. */
#ifndef RP_GRAINS_FOLLOW_H
#define RP_GRAINS_FOLLOW_H

#include "grains/grains.h"

enum { RP_FOLLOW_LANES = 16, RP_FOLLOW_BLOCK = 64 /* grains that share a list of guides */, RP_FOLLOW_NEAR = 1024 };

/* Guides by cells of two radii; planes in the order of the cells. */
typedef struct rp__guides {
    int64_t count, capacity;
    float *x[3], *v[3];           /* from the origin of the room; mean velocity over the step */
    float radius, origin[3], per_width;
    int size[3];
    int32_t *first;               /* of each cell, one more than there are */
    float *fastest;               /* of each cell: largest speed squared */
    int64_t cell_capacity;
    int32_t *cell, *order;        /* scratch */
} rp__guides;

typedef struct rp__follow_rules {
    float dt, gravity[3];
    float slow2;                  /* guides slower than this (squared) are at rest */
    float full;                   /* sum of weights from which the guides alone decide; infinite: as printed */
} rp__follow_rules;

/* A block of fine grains. */
typedef struct rp__follow_block {
    float low[3], high[3];        /* around its grains */
    float clear;                  /* no body is nearer than this to any of them, when above 0 */
    bool stale;                   /* what its grains know of their distance to bodies does not hold any more */
    bool still;                   /* nothing moved in the last step, and nothing falls */
    int32_t falling;              /* grains on which gravity acts */
} rp__follow_block;

/* One step of the grains [begin, end) of a block, at most RP_FOLLOW_BLOCK: new velocities and places. Grains of the planes beyond `end`, up to a
 * whole number of lanes, must exist. */
void rp__grains_follow(const rp__guides *g, const rp__follow_rules *rules, rp__follow_block *block, int64_t begin, int64_t end,
                       float *const x[3], float *const v[3]);
/* The same for one grain, looking at all guides; gives alpha. */
float rp__grains_follow_ref(const rp__guides *g, const rp__follow_rules *rules, float x[3], float v[3]);

/* upsample.c, for fine.c */
rp_result rp__grains_upsample_load(rp_upsample *u, const rp_samples *samples);
rp_result rp__grains_upsample_add(rp_upsample *u, const double x[3], const double v[3], int64_t id, const rp_frame *bodies);
const double *rp__grains_upsample_base(const rp_upsample *u); /* places are told from here */

#endif
