/* Coulomb friction problems in dimension 2, 3 and 6.
 *
 * Find r such that u = W r + b and, for every contact i, (u_i, r_i) obeys Coulomb's law with coefficient mu_i:
 *   take-off  r = 0 and u_N >= 0;
 *   stick     u = 0 and |r_T| <= mu r_N;
 *   slide     u_N = 0, |r_T| = mu r_N and r_T opposed to u_T.
 * Component 0 of a contact is the normal one. See docs/friction.md. */
#ifndef REPOSE_FRICTION_H
#define REPOSE_FRICTION_H

#include <repose/export.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

RP_BEGIN

/* ---- Problems ------------------------------------------------------------------------------------------------------------- */

typedef struct rp_friction rp_friction; /* a problem; never changed by solving it */

/* W as a block-sparse matrix: the blocks of block row i are k = first[i] .. first[i+1] - 1, in block column column[k], with
 * dimension² numbers each, row-major. Blocks of the same place are added. */
typedef struct rp_friction_local_def {
    int dimension;          /* 2, 3 or 6 */
    int64_t contacts;
    const int64_t *first;   /* contacts + 1 */
    const int32_t *column;
    const double *blocks;
    const double *b;        /* dimension × contacts */
    const double *mu;       /* contacts; 0 and very large values are ordinary */
    double asymmetry;       /* relative asymmetry of W tolerated */
} rp_friction_local_def;

/* A sparse matrix by compressed columns; entries of the same place are added. */
typedef struct rp_friction_matrix {
    int64_t rows, columns;
    const int64_t *first;   /* columns + 1 */
    const int32_t *row;
    const double *value;
} rp_friction_matrix;

/* M v = H r + f and u = Hᵀ v + w, that is W = Hᵀ M⁻¹ H and b = Hᵀ M⁻¹ f + w. */
typedef struct rp_friction_global_def {
    int dimension;
    int64_t contacts, dofs;
    rp_friction_matrix m;   /* dofs × dofs, symmetric positive definite */
    rp_friction_matrix h;   /* dofs × (dimension × contacts) */
    const double *f;        /* dofs */
    const double *w;        /* dimension × contacts */
    const double *mu;       /* contacts */
    double asymmetry;       /* relative asymmetry of M tolerated */
} rp_friction_global_def;

/* W known only by what it does. `multiply` is always needed; Gauss-Seidel also needs start, gather and scatter, which gs-coloured
 * calls from several threads at once for contacts of one colour. */
typedef struct rp_friction_operator_def {
    int dimension;
    int64_t contacts;
    const double *diagonal; /* dimension² a contact: the blocks W_ii */
    const double *b;
    const double *mu;
    /* NULL, or a coefficient a contact: rolling friction. Dimension 3 is then N, T, L and 6 is N, T, T, L, L, L, where L is an angular
     * impulse over a radius, |L| <= rolling r_N, opposed to the spin (times that radius) as the other is to the velocity. */
    const double *rolling;
    void *context;
    void (*multiply)(void *context, const double *r, double *u);           /* u = W r */
    void (*start)(void *context, const double *r);                         /* sets the state that gather reads */
    void (*gather)(void *context, int64_t contact, double *u);             /* (W r)_i of the state */
    void (*scatter)(void *context, int64_t contact, const double *change); /* r_i += change */
    int colors;                 /* 0: never run at once. Else contacts items[color_first[c] .. color_first[c+1]) may */
    const int64_t *color_first; /* colors + 1 */
    const int32_t *color_items; /* contacts */
} rp_friction_operator_def;

RP_API rp_friction_local_def rp_default_friction_local_def(void);
RP_API rp_friction_global_def rp_default_friction_global_def(void);
RP_API rp_friction_operator_def rp_default_friction_operator_def(void);

/* Checks what is given, copies it (an operator's callbacks are kept), and sets *problem; sets nothing on failure. */
RP_API rp_result rp_friction_create_local(const rp_friction_local_def *def, rp_friction **problem);
RP_API rp_result rp_friction_create_global(const rp_friction_global_def *def, rp_friction **problem);
RP_API rp_result rp_friction_create_operator(const rp_friction_operator_def *def, rp_friction **problem);
RP_API void rp_friction_destroy(rp_friction *problem); /* NULL is allowed */

/* The same W, mu and rolling friction with another b, in local and operator form. */
RP_API rp_result rp_friction_set_b(rp_friction *problem, const double *b);

typedef enum rp_friction_form { RP_FRICTION_LOCAL, RP_FRICTION_GLOBAL, RP_FRICTION_OPERATOR } rp_friction_form;

typedef struct rp_friction_info {
    rp_friction_form form;
    int dimension;
    int64_t contacts;
    int64_t dofs;             /* 0 in local form */
    int64_t blocks;           /* of W when it is held by blocks, else 0 */
    double mu_min, mu_max;
    double asymmetry;         /* of W or M, relative; the law is solved with the matrix as given */
    double scale;             /* root mean square of |b_i|, the unit of the residuals; 1 when b = 0 */
    const char *title, *description, *math; /* of a file; "" when there are none */
} rp_friction_info;

RP_API rp_friction_info rp_friction_get_info(const rp_friction *problem);

/* ---- Files of the FCLIB collection (HDF5) --------------------------------------------------------------------------------- */

RP_API rp_result rp_friction_read(const char *path, rp_friction **problem);

/* Writes a problem in local or global form; r and u, when not NULL, become solution/r and solution/u. */
RP_API rp_result rp_friction_write(const rp_friction *problem, const char *path, const double *r, const double *u);

/* Copies the file `source` to `path` as it is, with solution/r and solution/u replaced (and solution/v in global form). */
RP_API rp_result rp_friction_write_solution(const rp_friction *problem, const char *source, const char *path, const double *r,
                                            const double *u);

/* ---- Solving -------------------------------------------------------------------------------------------------------------- */

/* One list for the enumeration, the names on the command line and the texts. */
#define RP_FRICTION_SOLVERS(S)                                                                       \
    S(AUTO, "auto", "Gauss-Seidel first, others when it stalls")                                     \
    S(GAUSS_SEIDEL, "gs", "Gauss-Seidel in the order of the contacts")                               \
    S(GAUSS_SEIDEL_COLOURED, "gs-coloured", "Gauss-Seidel colour by colour, in parallel")            \
    S(GAUSS_SEIDEL_FOCUSED, "gs-focused", "Gauss-Seidel with extra work around the worst contacts")  \
    S(PROJECTED_GRADIENT, "pg", "projected gradient with line search")                               \
    S(APGD, "apgd", "accelerated projected gradient descent")                                        \
    S(SPG, "spg", "spectral projected gradient")                                                     \
    S(CADOUX, "cadoux", "fixed point on the sliding speeds, a convex problem inside")                \
    S(ADMM, "admm", "alternating directions with adaptive penalty")

typedef enum rp_friction_solver {
#define S(id, name, text) RP_FRICTION_##id,
    RP_FRICTION_SOLVERS(S)
#undef S
    RP_FRICTION_SOLVER_COUNT
} rp_friction_solver;

#define RP_FRICTION_LOCAL_SOLVERS(S)                                                                 \
    S(SCALAR, "scalar", "root of a scalar equation, never fails")                                    \
    S(NEWTON, "newton", "Newton's method on the modified Fischer-Burmeister function")               \
    S(ENUMERATION, "enumeration", "the three cases in turn, sliding by a quartic; dimension 2 and 3") \
    S(HYBRID, "hybrid", "enumeration, then Newton; dimension 2 and 3")

typedef enum rp_friction_local_solver {
#define S(id, name, text) RP_FRICTION_CONTACT_##id,
    RP_FRICTION_LOCAL_SOLVERS(S)
#undef S
    RP_FRICTION_CONTACT_COUNT
} rp_friction_local_solver;

RP_API const char *rp_friction_solver_name(rp_friction_solver solver);
RP_API const char *rp_friction_solver_text(rp_friction_solver solver);
RP_API bool rp_friction_solver_by_name(const char *name, rp_friction_solver *solver);
RP_API const char *rp_friction_local_solver_name(rp_friction_local_solver solver);
RP_API const char *rp_friction_local_solver_text(rp_friction_local_solver solver);
RP_API bool rp_friction_local_solver_by_name(const char *name, rp_friction_local_solver *solver);

/* For each contact z_i = |r_i - P_K(r_i - rho_i (u_i + mu_i |u_iT| e_N))| / rho_i with rho_i = 1 / |W_ii|: a velocity, zero if and
 * only if contact i obeys the law. mean = sqrt(sum z_i² / sum |b_i|²), max = max z_i / root mean square of |b_i|.
 * The same with the function of Alart and Curnier in the place of the natural map is the second opinion. Where mu > 10, z_i is the
 * smaller of the two: each turns rounding, times mu, into a residual in one of the states. */
typedef struct rp_friction_residual {
    double mean, max;
    double alart_curnier_mean, alart_curnier_max;
} rp_friction_residual;

typedef struct rp_friction_progress {
    rp_friction_solver solver; /* the one at work now */
    int64_t iteration;
    double seconds;
    double residual_mean, residual_max; /* the last ones computed; infinite before */
} rp_friction_progress;

/* Between the sweeps of Gauss-Seidel: nothing, Nesterov's momentum, or Anderson's acceleration. */
typedef enum rp_friction_acceleration { RP_FRICTION_PLAIN, RP_FRICTION_MOMENTUM, RP_FRICTION_ANDERSON } rp_friction_acceleration;

typedef struct rp_friction_options {
    rp_friction_solver solver;
    rp_friction_local_solver local; /* of Gauss-Seidel */
    rp_friction_acceleration acceleration; /* of Gauss-Seidel */
    bool damped;               /* Gauss-Seidel: contacts whose changes turn back go less far, where sliding makes sweeps run in circles */
    rp_friction_solver inner;       /* of the Cadoux fixed point: GAUSS_SEIDEL, PROJECTED_GRADIENT, APGD or SPG */
    double tolerance;               /* on the mean residual */
    double tolerance_max;           /* on the largest one; 0 = ten times `tolerance` */
    int64_t max_iterations;         /* 0 = no limit but time */
    double time_limit;              /* seconds; 0 = none. One of the two limits must be given */
    int check_every;                /* iterations between two residuals in Gauss-Seidel; 0 = chosen by its progress */
    int threads;                    /* 0 = as many as the cores; never changes the result */
    bool warm_start;                /* start from the r given rather than from 0 */
    /* Called once an iteration; false stops with RP_CANCELLED. */
    bool (*callback)(void *context, const rp_friction_progress *progress);
    void *context;
    const volatile int *cancel;     /* when not NULL and not 0: stop with RP_CANCELLED */
} rp_friction_options;

RP_API rp_friction_options rp_default_friction_options(void);

enum { RP_FRICTION_HISTORY = 128 };

typedef struct rp_friction_report {
    rp_result result;              /* as returned by the call */
    rp_friction_solver solver;     /* the one that finished (`auto` hands over) */
    int64_t iterations;            /* of all of them */
    double seconds;
    rp_friction_residual residual; /* of the r returned: the best one met when not converged */
    int64_t take_off, stick, slide; /* contacts in each state, by r */
    /* Residuals on the way, thinned evenly so that they fit. */
    int history_count;
    int64_t history_iteration[RP_FRICTION_HISTORY];
    double history_seconds[RP_FRICTION_HISTORY];
    double history_mean[RP_FRICTION_HISTORY];
    double history_max[RP_FRICTION_HISTORY];
} rp_friction_report;

/* Solves. r (dimension × contacts) is read when warm_start and always written; u and report may be NULL.
 * RP_OK: both residuals are within tolerance and the second function agrees. RP_NOT_CONVERGED and RP_CANCELLED: r is the best
 * iterate met, report->residual says how good it is. Other results leave r as it was. */
RP_API rp_result rp_friction_solve(const rp_friction *problem, const rp_friction_options *options, double *r, double *u,
                                   rp_friction_report *report);

/* The residual of any r; u, when not NULL, receives W r + b. */
RP_API rp_result rp_friction_evaluate(const rp_friction *problem, const double *r, double *u, rp_friction_residual *residual);

/* ---- One contact ---------------------------------------------------------------------------------------------------------- */

typedef enum rp_friction_contact_state { RP_FRICTION_TAKE_OFF, RP_FRICTION_STICK, RP_FRICTION_SLIDE } rp_friction_contact_state;

/* u = W r + b for a single contact (W row-major, symmetric positive definite); RP_NOT_CONVERGED when the method chosen gave up,
 * with the best r it met. */
RP_API rp_result rp_friction_solve_contact(int dimension, rp_friction_local_solver solver, const double *w, const double *b,
                                           double mu, double *r, rp_friction_contact_state *state);

/* Failures and times of a local solver on random one-contact problems: condition of W from 1 to 10^10, mu from 0.01 to 2.
 * A failure is a backward error above 1e-12: the natural residual over |r| + |b| / |W|. */
typedef struct rp_friction_contact_statistics {
    int64_t problems, failures;
    double worst_backward_error;
    double cold_ns, warm_ns, factorise_ns; /* a solve from nothing, a solve near the last one, the factorisation; 0 = none */
} rp_friction_contact_statistics;

RP_API rp_result rp_friction_measure_contacts(int dimension, rp_friction_local_solver solver, int64_t problems, uint64_t seed,
                                              rp_friction_contact_statistics *statistics);

RP_END
#endif
