/* Discrete elastic rods: nodes, one angle and one reference director an edge (docs/rod.md).
 *
 * Unknowns in the order x_0 theta^0 x_1 theta^1 … x_N: 4 N + 3 numbers, so that matrices have 10 diagonals on each side.
 * e^j = x_{j+1} - x_j, t^j = e^j / |e^j|; the material directors of edge j are
 *   m1 = cos(theta) d + sin(theta) t×d,   m2 = -sin(theta) d + cos(theta) t×d.
 * A clamped end has a ghost edge beyond it, whose two nodes and angle are prescribed and whose length does not count. */
#ifndef RP_ROD_ROD_H
#define RP_ROD_ROD_H

#include "math/quat.h"
#include "math/vec.h"

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>

enum { RP_ROD_BAND = 10, RP_ROD_ROW = RP_ROD_BAND + 1, RP_ROD_STENCIL = 11 };

/* ---- sections ---- */

/* Stiffness and inertia of a section, for all of the rod. m1 and m2 are its axes. */
typedef struct rp__rod_section {
    double stretch;      /* E S [N] */
    double bend[2];      /* [N m2]: of kappa1 (towards m1) and kappa2 (towards m2) */
    double twist;        /* G J [N m2] */
    double mass;         /* a metre [kg/m] */
    double inertia;      /* about the axis, a metre [kg m] */
    double radius;       /* of the round fibre with the same area [m]: contacts and pictures */
} rp__rod_section;

/* Half axes a along m1, b along m2. */
rp__rod_section rp__rod_section_ellipse(double youngs_modulus, double poisson_ratio, double density, double a, double b);
/* Sides w along m1, h along m2. */
rp__rod_section rp__rod_section_rectangle(double youngs_modulus, double poisson_ratio, double density, double w, double h);

/* ---- the rod ---- */

typedef enum rp__rod_end { RP_ROD_FREE, RP_ROD_PINNED, RP_ROD_CLAMPED } rp__rod_end;
typedef enum rp__rod_rest { RP_ROD_STRAIGHT, RP_ROD_AS_GIVEN, RP_ROD_SAG_FREE } rp__rod_rest;

typedef struct rp__rod_def {
    const double *nodes;         /* x y z each, of the rod itself */
    int node_count;              /* at least 2 */
    double director[3];          /* m1 of the first edge, made perpendicular to it; 0 0 0: any */
    rp__rod_section section;
    rp__rod_end end[2];          /* at the first and at the last node */
    double clamp[2][3];          /* tangent (along the rod) at clamped ends; 0 0 0: that of the edge there */
    rp__rod_rest rest;
    double curvature[2];         /* natural curvature of a straight rest shape, towards m1 and m2 [1/m] */
    double twist;                /* natural twist of a straight rest shape [rad/m] */
    double gravity[3];           /* for RP_ROD_SAG_FREE */
} rp__rod_def;

rp__rod_def rp__rod_default_def(void);

typedef struct rp__rod {
    int edges;                   /* with ghosts */
    rp__rod_end end[2];
    rp__rod_section section;
    /* What a step changes; one block of `state_size` numbers beginning at x. */
    double *x;                   /* 3 (edges + 1) */
    double *theta;               /* edges */
    double *director;            /* 3 edges: d */
    double *reference_twist;     /* edges - 1: angle from the space-parallel transport of d^e onto t^f to d^f */
    double *velocity;            /* 4 edges + 3 */
    size_t state_size;
    double *tangent;             /* 3 edges; follows from x */
    /* What stays. */
    double *length;              /* edges: at rest */
    double *span;                /* edges - 1: (l^e + l^f) / 2 at vertex i; at a clamp without the ghost's */
    double *rest_curvature;      /* 2 (edges - 1), times span */
    double *rest_twist;          /* edges - 1, times span */
    double *mass;                /* 4 edges + 3 */
    double prescribed[2][7];     /* velocities of the fixed unknowns at each end */
} rp__rod;

rp_result rp__rod_create(const rp__rod_def *def, rp__rod **out); /* sets nothing on failure */
void rp__rod_destroy(rp__rod *rod);                              /* NULL is allowed */

static inline int rp__rod_unknowns(const rp__rod *rod)
{
    return 4 * rod->edges + 3;
}
static inline rp__vec3 rp__rod_node(const rp__rod *rod, int node)
{
    return rp__vec3_load(rod->x + 3 * node);
}
/* First node and number of nodes of the rod itself, without ghosts. */
static inline int rp__rod_first(const rp__rod *rod)
{
    return rod->end[0] == RP_ROD_CLAMPED;
}
static inline int rp__rod_nodes(const rp__rod *rod)
{
    return rod->edges + 1 - (rod->end[0] == RP_ROD_CLAMPED) - (rod->end[1] == RP_ROD_CLAMPED);
}

static inline bool rp__rod_is_ghost(const rp__rod *rod, int edge)
{
    return (edge == 0 && rod->end[0] == RP_ROD_CLAMPED) || (edge == rod->edges - 1 && rod->end[1] == RP_ROD_CLAMPED);
}

void rp__rod_frame(const rp__rod *rod, int edge, rp__vec3 *m1, rp__vec3 *m2);

/* The indices of the unknowns that an end prescribes: their number (0, 3 or 7), the first in *first. */
int rp__rod_fixed(const rp__rod *rod, int end, int *first);

/* Adds `change` (all unknowns) to nodes and angles, then carries the directors along: time-parallel transport
 *   d <- d + b×d + b×(b×d) / (1 + t_old·t_new),  b = t_old×t_new,
 * and the reference twist continuously, beyond a turn too. False when an edge has vanished or turned by half a turn. */
bool rp__rod_move(rp__rod *rod, const double *change);

/* Tangents from the nodes: after x was set from outside (a restart). */
void rp__rod_update(rp__rod *rod);

/* The velocities with which a fixed end follows a rigid motion from pose `from` to pose `to` in dt. */
void rp__rod_drive(rp__rod *rod, int end, const rp__pose *from, const rp__pose *to, double dt);

/* ---- forces and matrices ---- */

/* Gauss-Newton: positive semi-definite, for steps. Full: the second derivatives of the energy (their symmetric part). */
typedef enum rp__rod_stiffness { RP_ROD_GAUSS_NEWTON, RP_ROD_FULL } rp__rod_stiffness;

/* Strains of vertex i (between edges i and i + 1): kappa1, kappa2, twist, integrated over its span. */
void rp__rod_strains(const rp__rod *rod, int vertex, double strain[3]);
/* Their derivatives by the 11 unknowns from 4 i on: d(kappa1), d(kappa2), d(twist). */
void rp__rod_gradients(const rp__rod *rod, int vertex, double g[3][RP_ROD_STENCIL]);
double rp__rod_strain_of_edge(const rp__rod *rod, int edge); /* |e| / l - 1 */
double rp__rod_energy(const rp__rod *rod);                   /* elastic [J] */
double rp__rod_kinetic(const rp__rod *rod);                  /* of the unknowns that are not prescribed [J] */

/* force (all unknowns) = -dE/dq, written. */
void rp__rod_force(const rp__rod *rod, double *force);

/* Adds elastic × K_elastic + tension × K_tension to a band matrix, K = d²E/dq² split into the part that strains feel and the
 * part max(T, 0) / |e| (I - t tᵀ) of tensions (all of it, of any sign, when full). */
void rp__rod_stiffen(const rp__rod *rod, rp__rod_stiffness kind, double elastic, double tension, double *band);

/* A = M + (dt² + damping dt) K, with fixed unknowns as rows of the identity, factorised in place; and the velocity
 * that follows without contacts, A v = M v_n + dt (f + external), with prescribed values where unknowns are fixed.
 * `force` (all unknowns) is external, or NULL. */
rp_result rp__rod_factorise(const rp__rod *rod, double dt, double damping, double *band);
void rp__rod_solve(const rp__rod *rod, const double *factor, double *vector); /* A⁻¹ v, zero where unknowns are fixed */
/* The same for three vectors at once, that lie beside each other (three numbers an unknown) and are zero before unknown `first`. */
void rp__rod_solve3(const rp__rod *rod, const double *factor, int first, double *vectors);
rp_result rp__rod_free_velocity(const rp__rod *rod, double dt, double damping, const double *force, double *factor, double *velocity);

/* ---- band matrices: row i holds columns i - 10 … i, element (i, j) at i * 11 + j - i + 10 ---- */

bool rp__rod_band_factorise(double *band, int n); /* Cholesky, in place; false: not positive definite */
void rp__rod_band_solve(const double *factor, int n, double *vector);
/* The same on an interval: vector is zero outside [first, last), what comes before the solution's first non-zero row is skipped. */
void rp__rod_band_solve_from(const double *factor, int n, int first, double *vector);
void rp__rod_band_solve3(const double *factor, int n, int first, double *vectors);
/* Makes unknown `index` a row of the identity with right side `value`; `right` may be NULL. */
void rp__rod_band_fix(double *band, int n, int index, double value, double *right);
bool rp__rod_band_factorise_ref(double *band, int n);

#endif
