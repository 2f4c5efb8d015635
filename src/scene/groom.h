/* Where the nodes of fibres come from: paths, grooms, fibres scattered in a room, files. */
#ifndef RP_SCENE_GROOM_H
#define RP_SCENE_GROOM_H

#include "math/quat.h"

#include <repose/result.h>
#include <repose/shape.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes of all fibres of one kind, as they grow. */
typedef struct rp__strands {
    double *nodes;
    int32_t *counts;
    int64_t count, node_count, node_capacity, count_capacity;
} rp__strands;

rp_result rp__scene_strands_add(rp__strands *s, const double *nodes, int count); /* one fibre more */
void rp__scene_strands_free(rp__strands *s);

/* Fibres that grow out of the surface of a shape. */
typedef struct rp__groom {
    int64_t count, segments, clump_size, seed;
    double length, spread;         /* relative half width of the lengths */
    double curl_radius, curl_pitch;
    double comb[3];                /* direction into which they are combed, with its strength as its length */
    double jitter;                 /* of directions [rad] */
    double clump;                  /* part of the way to the middle fibre of its clump, at the tip */
} rp__groom;

/* `pose` carries the shape; roots lie only inside `within` (may be NULL), which stands in the world. */
rp_result rp__scene_groom(const rp__groom *groom, const rp_shape *shape, const rp__pose *pose, const rp_shape *within, double radius, rp__strands *out);

/* Straight fibres with their middles inside a shape, apart from each other as far as some tries give it. */
typedef struct rp__scatter {
    int64_t count, segments, seed;
    double length, spread, tilt;   /* tilt: largest angle to the horizontal plane [rad] */
} rp__scatter;

rp_result rp__scene_scatter(const rp__scatter *scatter, const rp_shape *shape, double radius, int up, rp__strands *out);

/* The curve through the points, cut into `segments` pieces of equal length; 0: the points are the nodes. */
rp_result rp__scene_resample(const double *points, int count, int64_t segments, rp__strands *out);

/* Strands of a file: OBJ lines ('v' and 'l'), CSV with the columns fibre, x, y, z, or a NumPy archive with `position` and `fibre`. */
rp_result rp__scene_read_strands(const char *path, double scale, int64_t limit, rp__strands *out);
rp_result rp__scene_npz_strands(const char *path, const char *bytes, size_t size, double scale, int64_t limit, rp__strands *out);

#endif
