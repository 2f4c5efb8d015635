/* The friction problem of a step as the friction library sees it, by the columns of its operator H:
 *
 *   v = H r + f,   u = H^T v + w,   (u_c, r_c) in Coulomb's law with mu_c, dimension NS_S for every contact c
 *
 * v are the scaled velocities of the nodes, then six numbers a body (velocity V = V0 - L v with L L^T = dt × inverse inertia), then
 * numbers that belong to one contact each. Contacts are first the stresses: r is the stress in the solver's coefficients and column k
 * is chi(e_k) h_ij, so that u is twice the strain, which the law does not mind. Then walls and bodies, whose law has dimension RP_DIM:
 * r is the impulse over dt h^(d-1), and each tangential coefficient too many has a number of v of its own. It feels nothing but
 * itself, so it is zero in the solution, and the law in the dimensions that count is not changed. Surfaces that hold grains both
 * ways are given the friction 1000. */
#ifndef RP_NONSMOOTH_PROBLEM_H
#define RP_NONSMOOTH_PROBLEM_H

#include "nonsmooth/wide.h"

enum { NS_COLUMN = NS_STENCIL * RP_DIM + 16 };

typedef struct ns_column {
    int count;
    int64_t at[NS_COLUMN];      /* places in v */
    double h[NS_COLUMN][NS_S];
} ns_column;

typedef struct ns_problem {
    ns_system *y;
    const rp__world *world;
    double dt, unit;            /* unit: h^(d-1) */
    int64_t stresses, contacts; /* contacts: of all, stresses first */
    int64_t nodes, size;        /* numbers of v for the nodes, and in all */
    int64_t *stress;            /* index of each stress */
    int64_t *block_first;       /* block + 1: its first stress in the list */
    double *root;               /* 36 a body: L */
    double *f, *v, *w, *mu;     /* v is room for a solver */
} ns_problem;

/* problem_dim.c. The system is as it stands before the solve. RP_UNSUPPORTED: the law is not Coulomb's. */
rp_result NS(problem_make)(ns_system *y, const rp__world *world, double dt, ns_problem *p);
void NS(problem_free)(ns_problem *p);
void NS(problem_column)(const ns_problem *p, int64_t contact, ns_column *c);
void NS(problem_axes)(const double *normal, double axes[RP_DIM][3]);

#endif
