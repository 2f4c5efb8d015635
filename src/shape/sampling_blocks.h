/* A lattice cut into blocks, of which those that a shape may touch are filled; shared by the files of sampling. */
#ifndef RP_SHAPE_SAMPLING_BLOCKS_H
#define RP_SHAPE_SAMPLING_BLOCKS_H

#include "shape/sampling.h"
#include "shape/shape_class.h"

#include <math.h>

enum { RP_SAMPLING_MASK_WORDS = 16 };

typedef struct rp__sampling_block {
    int64_t index[3];
    int64_t first; /* of its points; their number before the sum */
    bool whole;    /* surely inside the shape, and outside of what blocks */
    uint64_t mask[RP_SAMPLING_MASK_WORDS];
} rp__sampling_block;

typedef struct rp__sampling_filling {
    const rp_shape *shape;
    const rp__sampling_def *def;
    int size;                      /* lattice cells a block side */
    double lower[3], upper[3];     /* bounds of the shape within the clip box */
    rp__sampling_block *blocks;
    int64_t block_count, block_capacity, block_limit;
    rp__sampling_tile tile;
    double *points;
} rp__sampling_filling;

static inline int64_t rp__sampling_floor_mod(int64_t a, int64_t n)
{
    int64_t m = a % n;
    return m < 0 ? m + n : m;
}

/* Distance to the border of the room, negative in it: in the shape and outside of what blocks. */
static inline double rp__sampling_room(const rp__sampling_filling *f, rp__vec3 x)
{
    double d = rp__shape_distance_at(f->shape, x, NULL);
    return f->def->blocked ? fmax(d, -f->def->blocked(f->def->blocking, (const double[3]){ x.x, x.y, x.z })) : d;
}

/* Candidate n of the block, on a lattice that of cell n; false after the last. */
bool rp__sampling_candidate(const rp__sampling_filling *f, const rp__sampling_block *b, int n, double p[3]);
bool rp__sampling_within(const rp__sampling_filling *f, const double p[3]); /* the clip box */

/* From the numbers of points of the blocks to where theirs begin; makes room for all. */
rp_result rp__sampling_count(rp__sampling_filling *f, int64_t *count);

/* Sites of a lattice with their parts, or the parts of Poisson points that are there; and the places that are hidden. */
rp_result rp__sampling_share_out(rp__sampling_filling *f, rp__sampling_site_list *sites);

/* The part of the box lower … upper that is room, and its first moment, to some 1e-4 of `unit`. */
typedef struct rp__sampling_part {
    double volume;
    rp__vec3 moment;
    rp__vec3 deepest;              /* of the places looked at, the one farthest from the border */
    double depth;                  /* its distance, negative in the room */
} rp__sampling_part;
rp__sampling_part rp__sampling_part_of(const rp__sampling_filling *f, const double lower[3], const double upper[3], double unit);

#endif
