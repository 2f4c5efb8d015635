/* Fine grains that follow guides: what upsample.c and its kernel share. */
#ifndef RP_GRAINS_FOLLOW_H
#define RP_GRAINS_FOLLOW_H

#include "grains/grains.h"

enum { RP_FOLLOW_LANES = 16, RP_FOLLOW_BLOCK = 64 /* grains that share a list of guides */, RP_FOLLOW_NEAR = 1024 };

/* Guides by cells of two radii; in the order of the cells. */
typedef struct rp__guides {
    int64_t count, capacity;
    float *x[3], *v[3];           /* from the origin of the room; mean velocity over the step */
    float (*pack)[8];             /* place in units of 3 r, velocity */
    float radius, origin[3], per_width;
    int size[3], reach;           /* cells; cells that 3 r reach over */
    int32_t *first;               /* of each cell, one more than there are */
    uint8_t *moving;              /* of each cell: a guide that is not at rest is within `reach` cells */
    uint8_t *spread;              /* scratch, as are */
    int64_t cell_capacity;
    int32_t *cell, *order;
} rp__guides;

/* guides.c */
rp_result rp__grains_bin_guides(rp__guides *g, const rp_guides *from, double radius, const double base[3], double at_rest);
void rp__grains_free_guides(rp__guides *g);

typedef struct rp__follow_rules {
    float dt, gravity[3];
    float full;                   /* sum of weights from which the guides alone decide; infinite: as printed */
} rp__follow_rules;

/* A block of fine grains. */
typedef struct rp__follow_block {
    float low[3], high[3];        /* around its grains */
    bool measured;                /* these hold */
    float clear;                  /* no body is nearer than this to any of them, when above 0 */
    bool stale;                   /* what its grains know of their distance to bodies does not hold any more */
    bool still;                   /* nothing moved in the last step */
    bool leaves;                  /* some of its grains may be beyond an open face or in a sink */
    int32_t falling;              /* grains on which gravity acts */
} rp__follow_block;

/* One step of the grains [begin, end) of a block, at most RP_FOLLOW_BLOCK: new velocities and places. Grains of the planes beyond `end`, up to a
 * whole number of lanes, must exist. False when it was left alone: its grains did not move in the step before, and all guides near rest. */
bool rp__grains_follow(const rp__guides *g, const rp__follow_rules *rules, rp__follow_block *block, int64_t begin, int64_t end,
                       float *const x[3], float *const v[3]);
void rp__grains_measure(const float *const x[3], int64_t begin, int64_t end, rp__follow_block *block);
/* The same for one grain, looking at all guides; gives alpha. */
float rp__grains_follow_ref(const rp__guides *g, const rp__follow_rules *rules, float x[3], float v[3]);

/* upsample.c, for fine.c */
rp_result rp__grains_upsample_load(rp_upsample *u, const rp_samples *samples);
rp_result rp__grains_upsample_add(rp_upsample *u, const double x[3], const double v[3], int64_t id, const rp_frame *bodies);
const double *rp__grains_upsample_base(const rp_upsample *u); /* places are told from here */

#endif
