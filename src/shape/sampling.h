/* Filling a shape with sample points: seeded, repeatable, the same for any thread count. */
#ifndef RP_SHAPE_SAMPLING_H
#define RP_SHAPE_SAMPLING_H

#include <repose/shape.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rp__sampling_def {
    int dim;                     /* 2: z = 0 */
    rp_sampling kind;
    double spacing;              /* of the regular lattice: cell_size / per_cell^(1/d) [m] */
    double origin[3];            /* the lattice is aligned with it */
    double lower[3], upper[3];   /* clip to this box (the domain) */
    uint64_t seed;
    int64_t limit;               /* refuse (RP_TOO_LARGE, with the estimate) above this number before allocating */
    /* Distance from a point to what is in the way, below 0 inside of it and never beyond the true one; NULL: nothing is. */
    double (*blocked)(const void *blocking, const double point[3]);
    const void *blocking;
} rp__sampling_def;

/* No two Poisson points are closer than these fractions of the spacing. Random sequential packing jams at 0.835 (2D) and
 * 0.902 (3D) of the spacing for one point a spacing^d; a little below it is reached quickly. */
#define RP_SAMPLING_RADIUS_2D 0.80
#define RP_SAMPLING_RADIUS_3D 0.84

/* Points inside `shape` (distance <= 0) and outside of what blocks: x y z each, in *points (free with rp__base_free). Regular: lattice points at cell
 * centres of the spacing; jittered: each moved uniformly within its sub-cell, neighbours in pairs to opposite sides along each axis,
 * so that what a cell holds, and where its middle is, hardly change; Poisson: no two closer than a radius chosen
 * so that the mean density is one point a spacing^d within 2 %. */
rp_result rp__sampling_fill(const rp_shape *shape, const rp__sampling_def *def, double **points, int64_t *count);

/* The room of a shape (what of it lies in the box and outside of what blocks) shared out among sites: each has the part of its lattice cell that is
 * room, and lies in the middle of that part. Parts below a half join a part beside them. So the parts add up to the volume of the room, and nothing is
 * fuller than asked for where the room ends between sites. Whole cells have the points of rp__sampling_fill; Poisson points stay where they are, with
 * what of the room is nearest to each. */
typedef struct rp__sampling_site_list {
    double *points;              /* x y z each */
    double *parts;               /* volume that each stands for, over spacing^d */
    int64_t count;
    int64_t hidden;              /* places of the lattice in the shape that are blocked */
    double hidden_at[3];         /* one of them */
} rp__sampling_site_list;
rp_result rp__sampling_sites(const rp_shape *shape, const rp__sampling_def *def, rp__sampling_site_list *sites);
void rp__sampling_free_sites(rp__sampling_site_list *sites);

/* Balls that do not overlap, at random, as many as fit in: centres of balls that lie in the shape whole (distance <= -radius), or on a
 * surface of it (distance = -inset, to 1e-6 radii), and within lower … upper, none nearer than 2 radii to another, and no place left for
 * one more (but for gaps of 2 % of the radius). */
typedef struct rp__spheres_def {
    int dim;                     /* 2: discs at z = 0 */
    double radius;               /* [m] */
    bool surface;                /* centres lie on the surface that is `inset` below the border, as many as fit in */
    double inset;                /* of centres from the border of the shape; 0 for a volume: the radius */
    double lower[3], upper[3];   /* of centres */
    uint64_t seed;
    int64_t limit;               /* refuse (RP_TOO_LARGE) above this number */
} rp__spheres_def;
rp_result rp__sampling_spheres(const rp_shape *shape, const rp__spheres_def *def, double **points, int64_t *count);

/* The same as densely as grains that have settled, about 0.6 of the volume; overlaps of 1 % of the diameter may remain. */
rp_result rp__sampling_dense(const rp_shape *shape, const rp__spheres_def *def, double **points, int64_t *count);

/* A pattern on the torus [0, edge)^dim with edge^dim points, none closer than *radius (the fraction above). Points lie in
 * buckets of `bucket`^dim; first[b] .. first[b+1] are those of bucket b (x fastest). Free with rp__sampling_tile_free. */
typedef struct rp__sampling_tile {
    int dim, edge, bucket;
    int64_t count;
    double radius;
    double *points; /* 3 a point */
    int32_t *first;
} rp__sampling_tile;

rp_result rp__sampling_tile_create(int dim, int edge, int bucket, uint64_t seed, rp__sampling_tile *tile);
void rp__sampling_tile_free(rp__sampling_tile *tile);

#endif
