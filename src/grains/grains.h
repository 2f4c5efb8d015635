/* Inside grains: what its files share. */
#ifndef RP_GRAINS_GRAINS_H
#define RP_GRAINS_GRAINS_H

#include "base/error.h"
#include "base/memory.h"

#include <repose/grains.h>

/* Samples fill the ellipsoid grown by this factor: the ellipsoids touch, grown by it they have the volume of the cells of
 * the packing, (6/pi)^(1/3). */
#define RP_GRAINS_REACH 1.2407009817988

/* Particles of a frame by the cell they are in: those of cell c are items[first[c]] … items[first[c + 1] - 1]. */
typedef struct rp__cells {
    double origin[3], width;
    int64_t size[3];
    int64_t *first;
    int32_t *items;
} rp__cells;

/* What is needed of a frame: planes of doubles, inverse ellipsoids. */
typedef struct rp__carriers {
    int64_t count;
    const double *x[3], *volume;
    double *volume_copy;
    int64_t *id;
    float *inverse;               /* 6 a particle: F^-1 of the grown ellipsoid */
    float *root;                  /* 6 a particle: its square root, for seeding; NULL unless asked for */
    double reach;                 /* largest semi-axis */
    rp__cells cells;
} rp__carriers;

/* Places alone need no ellipsoids; roots are for seeding. */
typedef enum rp__grains_need { RP_GRAINS_PLACES, RP_GRAINS_ELLIPSOIDS, RP_GRAINS_ROOTS } rp__grains_need;
rp_result rp__grains_carriers(const rp_samples_def *def, const rp_frame *frame, rp__grains_need need, rp__carriers *out);
void rp__grains_carriers_free(rp__carriers *c);

rp_result rp__grains_cells(const double *const x[3], int64_t count, double width, rp__cells *out);
void rp__grains_cells_free(rp__cells *c);
/* Cell of a point, held inside. */
static inline int64_t rp__grains_cell(const rp__cells *c, int axis, double x)
{
    double at = (x - c->origin[axis]) / c->width;
    return at < 0 ? 0 : at >= (double)c->size[axis] ? c->size[axis] - 1 : (int64_t)at;
}

/* (x - x_q)ᵀ F_q^-1 (x - x_q): below 1 inside. */
static inline double rp__grains_depth(const rp__carriers *c, int64_t q, const double x[3])
{
    const float *f = c->inverse + 6 * q;
    double a = x[0] - c->x[0][q], b = x[1] - c->x[1][q], d = x[2] - c->x[2][q];
    return (double)f[0] * a * a + (double)f[1] * b * b + (double)f[2] * d * d +
           2 * ((double)f[3] * a * b + (double)f[4] * a * d + (double)f[5] * b * d);
}

/* Takes a point out of walls and bodies; `home` is where its owner is. */
void rp__grains_keep_out(const rp_samples_def *def, const rp_frame *frame, double margin, const double home[3], double x[3]);
double rp__grains_margin(const rp_samples_def *def, double unit_volume);

/* Sample k of particle p of a seed: a point in its ellipsoid. */
void rp__grains_place(const rp_samples_def *def, const rp__carriers *c, const rp_frame *frame, int64_t p, int64_t k,
                      double margin, double x[3], uint8_t *tone);
/* How many a particle should have. */
int64_t rp__grains_wanted(const rp__carriers *c, int64_t p, double unit_volume, uint64_t seed);

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
