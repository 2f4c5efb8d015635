/* Inside grains: what its files share. */
#ifndef RP_GRAINS_GRAINS_H
#define RP_GRAINS_GRAINS_H

#include "base/error.h"
#include "base/memory.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <repose/grains.h>

/* Samples fill the ellipsoid grown by this factor. The ellipsoids of a packing touch; grown by (6/pi)^(1/3) = 1.24 they have its volume,
 * grown a quarter more they overlap, so that no balls show at a surface. */
#define RP_GRAINS_REACH 1.55

/* Checksum of samples files, going on from `sum`. */
uint64_t rp__grains_mix(uint64_t sum, const void *data, size_t size);

/* Particles of a frame by the cell they are in: those of cell c are items[first[c]] … items[first[c + 1] - 1]. */
typedef struct rp__cells {
    double origin[3], width, per_width;
    int64_t size[3];
    int32_t *first;
    int32_t *items;
} rp__cells;

/* `count` particles, all of them or those of `subset`. */
rp_result rp__grains_cells(const double *const x[3], const int32_t *subset, int64_t count, double width, rp__cells *out);
void rp__grains_cells_free(rp__cells *c);
/* Cell of a point, held inside. */
static inline int64_t rp__grains_cell(const rp__cells *c, int axis, double x)
{
    double at = (x - c->origin[axis]) * c->per_width;
    return at < 0 ? 0 : at >= (double)c->size[axis] ? c->size[axis] - 1 : (int64_t)at;
}

/* A particle in the list of its cell: all that a search asks for, in one place. */
typedef struct rp__carrier {
    float x[3];                   /* from the origin of the cells */
    float inverse[6];             /* F^-1 of the grown ellipsoid */
    int32_t index;
} rp__carrier;

/* What is needed of a frame: planes of doubles, inverse ellipsoids. */
typedef struct rp__carriers {
    const rp_samples_def *def;
    int64_t count;
    const double *x[3], *volume;
    const int64_t *id;
    const rp_field_view *ellipsoid; /* NULL: balls */
    float *inverse;               /* 6 a particle: F^-1 of the grown ellipsoid */
    rp__carrier *list;            /* in the order of cells.items */
    double reach;                 /* no semi-axis is longer */
    rp__cells cells;
} rp__carriers;

/* Places alone: cells to sum motions over. Ellipsoids: half of such cells, to find the one that holds a point. */
typedef enum rp__grains_need { RP_GRAINS_PLACES, RP_GRAINS_ELLIPSOIDS } rp__grains_need;
rp_result rp__grains_carriers(const rp_samples_def *def, const rp_frame *frame, rp__grains_need need, rp__carriers *out);
void rp__grains_carriers_free(rp__carriers *c);
/* The plain twin of the ellipsoids above, one particle at a time and in double precision: F^-1 and the square root of F. */
void rp__grains_ellipsoid_ref(const rp__carriers *c, int64_t i, double inverse[6], double root[6]);

/* yᵀ F^-1 y of an offset from the centre: below 1 inside. */
static inline float rp__grains_offset_depth(const float f[6], const float y[3])
{
    return f[0] * y[0] * y[0] + f[1] * y[1] * y[1] + f[2] * y[2] * y[2] +
           2 * (f[3] * y[0] * y[1] + f[4] * y[0] * y[2] + f[5] * y[1] * y[2]);
}
/* The same of a point, in double precision. */
static inline double rp__grains_depth(const rp__carriers *c, int64_t q, const double x[3])
{
    const float *f = c->inverse + 6 * q;
    double a = x[0] - c->x[0][q], b = x[1] - c->x[1][q], d = x[2] - c->x[2][q];
    return (double)f[0] * a * a + (double)f[1] * b * b + (double)f[2] * d * d +
           2 * ((double)f[3] * a * b + (double)f[4] * a * d + (double)f[5] * b * d);
}

/* ---- who is who in two frames ---- */

typedef struct rp__kin {
    int32_t *next;                /* index in the later frame of a particle of the first, -1 if gone */
    int32_t *previous;            /* the other way round, -1 if new */
    uint8_t *steady;              /* of the first: there in both with one volume, so its centre moved as the material did */
    int32_t *grown;               /* those of the later frame that took others in, or are new */
    int64_t grown_count;
} rp__kin;
rp_result rp__grains_match(const rp__carriers *from, const rp__carriers *to, rp__kin *out);
void rp__grains_kin_free(rp__kin *kin);

/* ---- the motion between two frames ---- */

/* Of a node of the cells: the motion around it is u + G (x - x_node). */
typedef struct rp__node_motion {
    float g[12];                  /* 9, and room for whole vectors */
    float u[3];
    float known;                  /* 1, or 0 where too few particles are around */
} rp__node_motion;

typedef struct rp__motion_field {
    const rp__cells *cells;
    int32_t *filled;              /* cells that hold particles */
    int64_t filled_count;
    int32_t *number;              /* of each node (one more than cells on each axis), -1: none near a filled cell */
    rp__node_motion *nodes;
} rp__motion_field;
rp_result rp__grains_fit(const rp__carriers *from, const rp__carriers *to, const rp__kin *kin, rp__motion_field *out);
void rp__grains_fit_free(rp__motion_field *field);
/* A cell and its eight nodes, bit d of k for the upper one on axis d. */
typedef struct rp__corners {
    const rp__node_motion *node[8];
    double lower[3], per_width;
    float width;
    float most;                   /* largest |component| of G at the nodes */
    bool known;                   /* all nodes are */
} rp__corners;
void rp__grains_corners(const rp__motion_field *field, int64_t cell, rp__corners *out);
/* The motion around x in that cell, interpolated: G, and, where u is not NULL, the displacement at x; false when no node knows one. */
bool rp__grains_motion(const rp__corners *corners, const double x[3], float g[12], float u[3]);

/* ---- walls and bodies ---- */

typedef struct rp__obstacles {
    const rp_samples_def *def;
    struct rp__obstacle *bodies;
    int count;
} rp__obstacles;
/* The bodies that are there at the time of the frame, those that deform in their shape of then. */
rp_result rp__grains_obstacles(const rp_samples_def *def, const rp_frame *frame, rp__obstacles *out);
void rp__grains_obstacles_free(rp__obstacles *o);
/* The distance to the nearest body of those that may be within `range`, INFINITY when there is none. */
double rp__grains_body_distance(const rp__obstacles *o, const double x[3], double range);
/* Takes a point out of walls and bodies; `home` is where its owner is. */
void rp__grains_keep_out(const rp__obstacles *o, double margin, const double home[3], double x[3]);

/* The bodies near a place, for the many grains within `reach` of it. */
enum { RP_GRAINS_NEAR = 8 };
typedef struct rp__grains_near {
    double place[3], reach;
    double beyond;                /* no other body is nearer to any of the grains */
    int count, body[RP_GRAINS_NEAR];
    rp__shape_cut cut[RP_GRAINS_NEAR]; /* and what of their shapes decides there */
} rp__grains_near;
/* Bodies that no grain has within `range` are left out. */
void rp__grains_look_around(const rp__obstacles *o, const double place[3], double reach, double range, rp__grains_near *near);
/* A ball of this radius out of the bodies, without its speed into them (they are taken to stand still); true when it touched one.
 * *gap: none is nearer. */
bool rp__grains_push(const rp__obstacles *o, const rp__grains_near *near, double radius, double x[3], double v[3], double *gap);
double rp__grains_margin(const rp_samples_def *def, double unit_volume);

/* ---- new samples ---- */

/* Sample k of particle p of a seed: a point in its ellipsoid, whose square root is given. */
void rp__grains_place(const rp__obstacles *o, const rp__carriers *c, int64_t p, int64_t k, const double root[6], double margin,
                      double x[3], uint8_t *tone);
/* How many a particle should have. */
int64_t rp__grains_wanted(const rp__carriers *c, int64_t p, double unit_volume, uint64_t seed);

/* ---- offsets ---- */

static inline int16_t rp__grains_pack(double offset, double scale)
{
    double v = offset / scale * 32767;
    v = v < -32767 ? -32767 : v > 32767 ? 32767 : v;
    return (int16_t)(v < 0 ? v - 0.5 : v + 0.5);
}
static inline double rp__grains_unpack(int16_t offset, double scale)
{
    return offset * (scale / 32767);
}

#endif
