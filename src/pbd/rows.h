/* Rows of four numbers, one a pair, and planes of eight pairs: what lanes.c and the kernel share. */
#ifndef RP_PBD_ROWS_H
#define RP_PBD_ROWS_H

#include "math/lane_bits.h" /* vectors wider than the machine has travel between static functions alone */
#include "pbd/state.h"

typedef rp__pbd_real rp__pbd_four __attribute__((vector_size(4 * sizeof(rp__pbd_real))));
typedef rp__pbd_real rp__pbd_eight __attribute__((vector_size(8 * sizeof(rp__pbd_real))));

/* Rows k and k + 4 side by side. */
static inline rp__pbd_eight rp__pbd_two_rows(rp__pbd_four k, rp__pbd_four k4)
{
    return __builtin_shufflevector(k, k4, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* The 4 × 4 matrices in both halves of v, transposed: rows of eight pairs (two_rows) become planes, and planes such rows. */
static inline void rp__pbd_transpose(rp__pbd_eight v[4])
{
    rp__pbd_eight a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13), b = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
    rp__pbd_eight c = __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15), d = __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

#endif
