/* Poisson problems on the cells of a box, by conjugate gradients with a V-cycle before them. One source for two and three dimensions
 * (two: cells[2] = 1); threads never change a bit.
 *
 *   (L x)_c = sum over the faces of c of k_f (x_c - x_of_the_other_side)  +  ground_c x_c
 *
 * Face coefficients k >= 0; zero closes a face. `ground` is what ties a cell to a value given outside. Where no cell is grounded L has
 * the constants as its null space: the right side is then taken without its mean, and so is the answer. */
#ifndef RP_MULTIGRID_MULTIGRID_H
#define RP_MULTIGRID_MULTIGRID_H

#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rp__multigrid rp__multigrid;

/* An axis that is periodic has an even number of cells, or one. */
rp_result rp__multigrid_create(const int64_t cells[3], const bool periodic[3], rp__multigrid **out);
void rp__multigrid_destroy(rp__multigrid *mg);

/* The coefficients to be filled: k of the face between a cell and the next one along `axis`, the last layer counting on periodic axes
 * only. After a change call rp__multigrid_prepare. */
double *rp__multigrid_faces(rp__multigrid *mg, int axis);
double *rp__multigrid_ground(rp__multigrid *mg);
void rp__multigrid_prepare(rp__multigrid *mg);

/* y = L x. `add`, if not NULL, is added: y = L x + add. */
void rp__multigrid_apply(const rp__multigrid *mg, const double *x, const double *add, double *y);
double rp__multigrid_diagonal(const rp__multigrid *mg, int64_t cell);

/* The value of L x in one cell: for sweeps that change x as they go. */
double rp__multigrid_row(const rp__multigrid *mg, const double *x, int64_t cell);

typedef struct rp__multigrid_report {
    int64_t iterations;
    double residual; /* largest |b - L x| */
    bool converged;
} rp__multigrid_report;

/* Another symmetric positive operator in place of L, near enough to it for the cycles of L to go before: y = A x. */
typedef struct rp__multigrid_operator {
    void (*apply)(void *context, const double *x, double *y);
    void *context;
} rp__multigrid_operator;

/* L x = b (or A x = b, `other` not NULL), from the x given, until the largest |b - L x| <= tolerance. */
rp__multigrid_report rp__multigrid_solve(rp__multigrid *mg, const rp__multigrid_operator *other, const double *b, double tolerance, int64_t most,
                                         double *x);

/* b - L x (or b - A x) in every cell, as the last solve left it, less what a closed box takes of its mean. */
const double *rp__multigrid_residual(const rp__multigrid *mg);

#endif
