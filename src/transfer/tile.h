/* Tiles: the nodes of a block and of the layers after it that kernels from the block reach, close together. Four numbers
 * a node, the width of a vector register. Inside the room only. */
#ifndef RP_TRANSFER_TILE_H
#define RP_TRANSFER_TILE_H

#include "transfer/transfer.h"

#define RP_INLINE static inline __attribute__((always_inline))

/* Four numbers side by side; operators work on all four. The second type may lie anywhere in an array of double. */
typedef double rp__transfer_four __attribute__((vector_size(4 * sizeof(double))));
typedef double rp__transfer_any_four __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

enum {
    TILE_MOST = RP_BLOCK + 3, /* nodes a side at order 3 */
#if RP_DIM == 3
    TILE_NODES = TILE_MOST * TILE_MOST * TILE_MOST + 3, /* four nodes may be read from any of them */
#else
    TILE_NODES = TILE_MOST * TILE_MOST + 3,
#endif
    BATCH = 32,      /* particles whose weights are computed together */
    WIDTH = BATCH + 4 /* so that four lanes may be read from any of them */
};

/* w b + c, in one instruction where there is one. The kernels live on it: gcc, which does not contract in ISO C, is asked
 * by name (measured: lane loops of fma() become scalar code in half of the places). */
#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
#define RP_MADD_LANES(w, b, c) __builtin_ia32_vfmaddpd256(w, b, c)
#define RP_MADD(w, b, c) RP_MADD_LANES(((rp__transfer_four){ w, w, w, w }), b, c) /* w is one number */
#else
#define RP_MADD_LANES(w, b, c) ((w) * (b) + (c))
#define RP_MADD(w, b, c) ((double)(w) * (b) + (c))
#endif
/* Functions here take vectors by address: by value their convention would depend on the processor. */
RP_INLINE void rp__transfer_load(rp__transfer_four *to, const double *from)
{
    *to = *(const rp__transfer_any_four *)(const void *)from;
}

/* Four rows to four columns. */
RP_INLINE void rp__transfer_transpose(rp__transfer_four r[4])
{
    rp__transfer_four a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6), b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
    rp__transfer_four c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6), d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* Weights of a batch: planes of lanes, so that the loops over lanes are vectors. */
typedef struct rp__transfer_batch {
    _Alignas(64) double t[3][WIDTH];           /* x - base, in cells */
    _Alignas(64) double weight[3][4][WIDTH];
    _Alignas(64) double second[3][4][WIDTH];   /* derivative, or the moment that makes c_p; per metre */
    _Alignas(64) int32_t start[WIDTH];         /* index of the base node in the tile */
} rp__transfer_batch;

/* B-spline weights of order `order` at distance t from the base node: the polynomials of math/spline.h on lanes. */
RP_INLINE void rp__transfer_weights(int order, const double *restrict t, double (*restrict w)[WIDTH])
{
#pragma omp simd
    for (int l = 0; l < BATCH; l++) {
        if (order == 1) {
            w[0][l] = 1 - t[l];
            w[1][l] = t[l];
        } else if (order == 2) {
            double a = 1.5 - t[l], b = t[l] - 1, c = t[l] - 0.5;
            w[0][l] = 0.5 * a * a;
            w[1][l] = 0.75 - b * b;
            w[2][l] = 0.5 * c * c;
        } else {
            double r = t[l] - 1, s = 1 - r;
            w[0][l] = s * s * s * (1.0 / 6);
            w[1][l] = 2.0 / 3 - r * r * (1 - 0.5 * r);
            w[2][l] = 2.0 / 3 - s * s * (1 - 0.5 * s);
            w[3][l] = r * r * r * (1.0 / 6);
        }
    }
}

/* Derivatives of the weights, divided by h. */
RP_INLINE void rp__transfer_derivatives(int order, double inverse_h, const double *restrict t, double (*restrict d)[WIDTH])
{
#pragma omp simd
    for (int l = 0; l < BATCH; l++) {
        if (order == 1) {
            d[0][l] = -inverse_h;
            d[1][l] = inverse_h;
        } else if (order == 2) {
            d[0][l] = inverse_h * (t[l] - 1.5);
            d[1][l] = inverse_h * (2 - 2 * t[l]);
            d[2][l] = inverse_h * (t[l] - 0.5);
        } else {
            double r = t[l] - 1, s = 1 - r;
            d[0][l] = inverse_h * (-0.5 * s * s);
            d[1][l] = inverse_h * (r * (1.5 * r - 2));
            d[2][l] = inverse_h * (s * (2 - 1.5 * s));
            d[3][l] = inverse_h * (0.5 * r * r);
        }
    }
}

/* First moments of the weights times D^-1: N_j (x_j - x_p) / D with D = h²/4 (quadratic), h²/3 (cubic). */
RP_INLINE void rp__transfer_moments(int order, double inverse_h, const double *restrict t, double (*restrict w)[WIDTH],
                                    double (*restrict d)[WIDTH])
{
    double scale = (order == 2 ? 4 : 3) * inverse_h;
#pragma omp simd
    for (int l = 0; l < BATCH; l++)
        for (int i = 0; i <= order; i++)
            d[i][l] = scale * w[i][l] * (i - t[l]);
}

/* The particles first … first + count - 1 of some planes, `count` <= BATCH. When there are fewer than BATCH, they are
 * copied to `room`, and the lanes after them repeat the last: whole batches can then be read. */
RP_INLINE const double *rp__transfer_lanes(const double *plane, int64_t first, int count, double room[BATCH])
{
    if (count == BATCH)
        return plane + first;
    for (int l = 0; l < BATCH; l++)
        room[l] = plane[first + (l < count ? l : count - 1)];
    return room;
}

/* The same from a plane of float, or of double. */
RP_INLINE const double *rp__transfer_wide_lanes(const void *plane, bool single, int64_t first, int count, double room[BATCH])
{
    if (!single)
        return rp__transfer_lanes(plane, first, count, room);
    const float *from = (const float *)plane + first;
    if (count == BATCH) {
#pragma omp simd
        for (int l = 0; l < BATCH; l++)
            room[l] = from[l];
    } else {
        for (int l = 0; l < BATCH; l++)
            room[l] = from[l < count ? l : count - 1];
    }
    return room;
}

/* Asks for the lanes of a plane two batches ahead: sixteen planes are more streams than processors follow by themselves. */
#define RP_AHEAD(plane, first, write)                                               \
    do {                                                                            \
        for (int ahead_ = 0; ahead_ < BATCH; ahead_ += 8)                           \
            __builtin_prefetch((plane) + (first) + 2 * BATCH + ahead_, write, 3);   \
    } while (0)

/* t, weight and start of a batch. */
RP_INLINE void rp__transfer_locate(int order, const rp__lattice *lattice, const rp__particles *p, int64_t first, int count,
                                   rp__transfer_batch *restrict b)
{
    int side = RP_BLOCK + order;
    for (int l = 0; l < BATCH; l++)
        b->start[l] = 0;
    for (int a = 0, step = 1; a < RP_DIM; a++, step *= side) {
        double room[BATCH];
        const double *restrict x = rp__transfer_lanes(p->x[a], first, count, room);
#pragma omp simd
        for (int l = 0; l < BATCH; l++) {
            double q = rp__lattice_coordinate(lattice, a, x[l]);
            double base = rp__lattice_base(order, q);
            b->t[a][l] = q - base;
            b->start[l] += step * ((int32_t)base & (RP_BLOCK - 1));
        }
        rp__transfer_weights(order, b->t[a], b->weight[a]);
    }
}

/* One past the last lane after `l` in the same cell. */
RP_INLINE int rp__transfer_group(const rp__transfer_batch *b, int l, int count)
{
    int end = l + 1;
    while (end < count && b->start[end] == b->start[l])
        end++;
    return end;
}

/* Keeps the first `count` numbers and makes the others zero. */
RP_INLINE void rp__transfer_cut(rp__transfer_four *a, int count)
{
    rp__transfer_four zero = { 0 };
    *a = count == 1   ? __builtin_shufflevector(*a, zero, 0, 4, 5, 6)
         : count == 2 ? __builtin_shufflevector(*a, zero, 0, 1, 4, 5)
         : count == 3 ? __builtin_shufflevector(*a, zero, 0, 1, 2, 4)
                      : *a;
}

/* The block of the grid that holds tile nodes with offset (ox, oy, oz), each 0 or 1, from `block`. */
RP_INLINE int64_t rp__transfer_owner(const rp__grid *g, int64_t block, int ox, int oy, int oz)
{
#if RP_DIM == 3
    return g->neighbour[block][((1 + oz) * 3 + 1 + oy) * 3 + 1 + ox];
#else
    (void)oz;
    return g->neighbour[block][(1 + oy) * 3 + 1 + ox];
#endif
}

#endif
