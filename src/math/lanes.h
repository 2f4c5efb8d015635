/* Lane loops: the same work on RP_LANES numbers at once, written as plain loops that compilers turn into vectors.
 *
 *     double y[RP_LANES];
 *     RP_FOR_LANES (l)
 *         y[l] = a * x[l] + y[l];
 *
 * Keep bodies free of branches (use ?: on values) and of calls that are not inlined; sqrt, fabs and floor are fine, and a > b ? a : b in place of
 * fmax, whose care for NaN costs a call. */
#ifndef RP_MATH_LANES_H
#define RP_MATH_LANES_H

#include <math.h>

#define RP_LANES 8
#define RP_SIMD _Pragma("omp simd")
#define RP_FOR_LANES(l) RP_SIMD for (int l = 0; l < RP_LANES; l++)
#define RP_LANES_ALIGNED _Alignas(64)

/* Symmetric 3×3 eigen-decomposition on RP_LANES matrices at once, without branches:
 *     rp__lanes_eigen_sym3(s, values, v)   in double,   rp__lanes_eigen_sym3_float(s, values, v)   in float
 * s[6][RP_LANES] in the storage of tensor.h (xx yy zz xy xz yz), values[3][RP_LANES] ascending, v[row][column][lane] a
 * rotation whose columns are the vectors. Errors of a few eps times the largest entry; a lane with a number that is not
 * finite gives NaN in that lane alone. */
#define LANES_REAL double
#define LANES_NAME(name) rp__lanes_##name
#define LANES_SQRT sqrt
#define LANES_ABS fabs
#define LANES_TINY 1e-290
#define LANES_SWEEPS 6
#include "math/lanes_eigen.h"

#define LANES_REAL float
#define LANES_NAME(name) rp__lanes_##name##_float
#define LANES_SQRT sqrtf
#define LANES_ABS fabsf
#define LANES_TINY 1e-36f
#define LANES_SWEEPS 5
#include "math/lanes_eigen.h"

#endif
