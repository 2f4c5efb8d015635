/* The friction problem of a step in the form of the friction library, with the answer that the sweeps found:
 *
 *   v = H r + f,   u = H^T v + w,   (u_c, r_c) in Coulomb's law with mu_c, dimension NS_S for every row c
 *
 * v are velocities of the nodes over sqrt(dt / m_j), then six numbers a body (velocity V = V0 - L v with L L^T = dt × inverse inertia), then
 * numbers that belong to one row each. Rows are first the stresses: r is the stress in coefficients of chi (flat grains: in those of
 * wide.h) and column k is chi(e_k) g_ij sqrt(dt / m_j), so that u is twice the strain, which the law does not mind. Then walls and
 * bodies, whose law has dimension RP_DIM: r is the impulse over dt h^(d-1), and each coefficient too many has a number of v of its own. It
 * feels nothing but itself, so it is zero in the solution, and the law in the dimensions that count is not changed. What holds grains both
 * ways (surfaces that stick, ties) is 2 RP_DIM rows without friction, against each other along each axis.
 *
 * Viscous stresses are part of f as the step found them. The rounded apex is a cohesion, that of the stress that the step found: the same law,
 * but for rows that it would pull. */
#ifndef RP_NONSMOOTH_PROBLEM_H
#define RP_NONSMOOTH_PROBLEM_H

#include "nonsmooth/dual.h"

enum { NS_COLUMN = NS_STENCIL * RP_DIM + 16, NS_COULOMB = -1 };

typedef struct ns_column {
    int count;
    int64_t at[NS_COLUMN];      /* places in v */
    double h[NS_COLUMN][NS_S];
} ns_column;

/* A row of a wall or body. */
typedef struct ns_problem_row {
    int64_t contact;            /* in the list of the step */
    int64_t pad;                /* the first of its own numbers of v */
    int axis;                   /* held: along which axis; else NS_COULOMB */
    double sign;
} ns_problem_row;

typedef struct ns_problem {
    const dual *y;
    const rp__world *world;
    double dt, unit;            /* unit: h^(d-1) */
    int64_t stresses, contacts; /* contacts: of all, stresses first */
    int64_t nodes, size;        /* numbers of v for the nodes, and in all */
    int64_t *stress;            /* index of each stress */
    ns_problem_row *row;                /* of the others */
    double *root;               /* 36 a body: L */
    double *body;               /* 6 a body: velocities before the grains act, contacts between bodies included */
    double *f, *w, *mu, *r;
} ns_problem;

/* problem_dim.c, after the solve and before bodies move. RP_UNSUPPORTED: the law is not Coulomb's. */
rp_result NS(problem_make)(const dual *y, const rp__world *world, double dt, ns_problem *p);
void NS(problem_free)(ns_problem *p);
void NS(problem_column)(const ns_problem *p, int64_t contact, ns_column *c);

/* dump_dim.c: the problem to a file; what the friction library says of the answer, mean residual. */
rp_result NS(dump_problem)(const dual *y, const rp__world *world, double dt, double *residual);

#endif
