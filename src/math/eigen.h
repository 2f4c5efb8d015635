/* Eigen- and singular-value decompositions of small matrices. */
#ifndef RP_MATH_EIGEN_H
#define RP_MATH_EIGEN_H

#include "math/vec.h"

/* Symmetric n×n matrix, 1 <= n <= 6, row-major, upper and lower triangle given:
 * a = V diag(values) Vᵀ, values ascending, vectors[k*n + i] = component i of the k-th eigenvector (rows are vectors).
 * Never fails; a number that is not finite gives NaN everywhere. Small eigenvalues of graded positive matrices are accurate. */
void rp__math_eigen(int n, const double *a, double *values, double *vectors);

/* Symmetric 3×3 in the storage of tensor.h (xx yy zz xy xz yz); values ascending, columns of v are the vectors. */
void rp__math_eigen_sym3(const double s[6], double values[3], rp__mat3 *v);

/* f = U diag(s) Vᵀ with U and V rotations (det = +1): s[0] >= s[1] >= |s[2]|, s[2] < 0 when det f < 0.
 * Right on rank-deficient, zero and inverted input. */
void rp__math_svd(const rp__mat3 *f, rp__mat3 *u, double s[3], rp__mat3 *v);

#endif
