/* Filling a shape with sample points: seeded, repeatable, the same for any thread count. */
#ifndef RP_SHAPE_SAMPLING_H
#define RP_SHAPE_SAMPLING_H

#include <repose/shape.h>
#include <stdint.h>



typedef struct rp__sampling_def {
    int dim;                     /* 2: z = 0 */
    rp_sampling kind;
    double spacing;              /* of the regular lattice: cell_size / per_cell^(1/d) [m] */
    double origin[3];            /* the lattice is aligned with it */
    double lower[3], upper[3];   /* clip to this box (the domain) */
    uint64_t seed;
    int64_t limit;               /* refuse (RP_TOO_LARGE, with the estimate) above this number before allocating */
} rp__sampling_def;

/* Points inside `shape` (distance <= 0): x y z each, in *points (free with rp__base_free). Regular: lattice points at cell
 * centres of the spacing; jittered: each moved uniformly within its sub-cell; Poisson: no two closer than a radius chosen
 * so that the mean density is one point a spacing^d within 2 %. */
rp_result rp__sampling_fill(const rp_shape *shape, const rp__sampling_def *def, double **points, int64_t *count);

#endif
