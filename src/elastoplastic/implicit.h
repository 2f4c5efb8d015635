/* The implicit velocity update   [klar2016, §5.6]: Newton's method with GMRES (KINSOL), matrix-free. */
#ifndef RP_ELASTOPLASTIC_IMPLICIT_H
#define RP_ELASTOPLASTIC_IMPLICIT_H

#include "elastoplastic/elastoplastic.h"
#include "grid/grid.h"

/* Scratch memory, kept from step to step. */
#define rp__elastoplastic_implicit RP_D(rp__elastoplastic_implicit)
typedef struct rp__elastoplastic_implicit {
    rp__particles view;       /* the particles with velocities and gradients of their own */
    rp__particles still;      /* the same without velocities */
    double *node, *particle;  /* memory of the planes below */
    int64_t node_capacity, particle_capacity;
    double *trial[3], *star[3], *mass, *slope;      /* on the nodes */
    unsigned char *kinds;     /* of walls, 2 RP_DIM a node */
    int64_t kinds_capacity;
    double *moving[3], *zero;                       /* on the particles */
    rp__elastoplastic_tangent *tangent;
    int64_t tangent_capacity;
    int64_t *active;          /* nodes with mass */
    int64_t active_capacity, active_count;
} rp__elastoplastic_implicit;

typedef struct rp__elastoplastic_system {
    const rp__grid *grid;
    rp__world *world;
    const rp__elastoplastic_step *step;
    int order;
    double keep;              /* 1 / (1 + damping dt) */
    const double *mass;
    double *const *start;     /* v^n on the nodes */
    rp__elastoplastic_implicit *work;
} rp__elastoplastic_system;

/* Prepares the scratch memory for a step: call it once the grid is built and masses and velocities are on it. */
rp_result RP_D(rp__elastoplastic_prepare)(const rp__elastoplastic_system *s);
void RP_D(rp__elastoplastic_implicit_free)(rp__elastoplastic_implicit *w);

/* out = u - constrain(v*(u)),  v*(u) = keep (v^n + dt g + dt f(u) / m), over the active nodes, RP_DIM numbers each. The constraint
 * is that of bodies and of walls, which are mirrors (collide.h). */
void RP_D(rp__elastoplastic_residual)(const rp__elastoplastic_system *s, const double *u, double *out);
/* Fixes the point of the derivative; out = derivative of the residual there times `direction`. */
void RP_D(rp__elastoplastic_fix)(const rp__elastoplastic_system *s, const double *u);
void RP_D(rp__elastoplastic_derivative)(const rp__elastoplastic_system *s, const double *direction, double *out);

typedef struct rp__elastoplastic_report {
    int64_t newton, krylov;
    double residual;          /* the largest, weighted with the root of the mass, in units of the reference speed */
    bool converged;
} rp__elastoplastic_report;

/* Leaves the solution in work->trial and v* of it in work->star. */
rp_result RP_D(rp__elastoplastic_solve)(const rp__elastoplastic_system *s, rp__elastoplastic_report *report);

#endif
