/* What the global solvers share: a run with its limits, its best iterate and its report. */
#ifndef RP_FRICTION_SOLVE_H
#define RP_FRICTION_SOLVE_H

#include "friction/problem.h"

typedef struct rp__friction_run {
    const rp_friction *p;
    const rp_friction_options *o;
    rp_friction_report *report;
    int64_t n;               /* contacts × dimension */
    double *r, *u, *v;       /* the iterate, W r + b of the last check, scratch of `dofs` */
    double *best;            /* the best iterate so far */
    double best_merit;       /* max(mean / tolerance, max / tolerance_max); 1 or less is converged */
    double merit;            /* of the last check */
    double tolerance, tolerance_max;
    double started, last_seconds;
    int64_t iterations;
    rp_friction_solver current;
    rp_friction_progress progress;
    rp_result stop;          /* RP_OK while running; RP_NOT_CONVERGED at a limit, RP_CANCELLED */
    bool converged;
    bool coloured;           /* Gauss-Seidel inside `auto` runs by colours */
    int group;               /* size of the groups of gs-focused at the end of its last stage; 0: it has not run */
    /* For `auto`: a stage ends when it has used its share, or has not bettered itself by `gain` in `patience` checks. */
    int64_t stage_iterations; /* 0 = no limit */
    double stage_seconds;
    double stage_started;
    int64_t stage_first;
    int patience;
    double gain;
    int checks_without_gain;
    double stage_merit;
    int64_t history_stride, history_seen;
} rp__friction_run;

/* One iteration is over: calls the callback and looks at the limits. False when the solver must return. */
bool rp__friction_tick(rp__friction_run *run);

/* Computes u = W r + b and the residual of run->r, keeps the best, records it. True when the solver must return: converged, or
 * its stage is over. */
bool rp__friction_check(rp__friction_run *run);
/* The same when run->u is W r + b already. */
bool rp__friction_check_u(rp__friction_run *run);

/* The state begins a stage: its shares start to count. */
void rp__friction_begin_stage(rp__friction_run *run, rp_friction_solver solver, int64_t iterations, double seconds, int patience,
                              double gain);

/* Sums over contacts of the natural map (with s fixed as the correction, or by u when s is NULL) and of Alart-Curnier. */
typedef struct rp__friction_measure {
    double square, largest, ac_square, ac_largest;
} rp__friction_measure;
rp__friction_measure rp__friction_measure_all(const rp_friction *p, const double *r, const double *u, const double *s);

void rp__friction_measure_rows_c2(const rp_friction *p, int64_t begin, int64_t end, const double *r, const double *u,
                                  const double *s, rp__friction_measure *m);
void rp__friction_measure_rows_c3(const rp_friction *p, int64_t begin, int64_t end, const double *r, const double *u,
                                  const double *s, rp__friction_measure *m);
void rp__friction_measure_rows_c6(const rp_friction *p, int64_t begin, int64_t end, const double *r, const double *u,
                                  const double *s, rp__friction_measure *m);

/* x_i <- P_K(x_i) for all contacts; s_i <- mu_i |u_iT|. */
void rp__friction_project_rows_c2(const rp_friction *p, int64_t begin, int64_t end, double *x);
void rp__friction_project_rows_c3(const rp_friction *p, int64_t begin, int64_t end, double *x);
void rp__friction_project_rows_c6(const rp_friction *p, int64_t begin, int64_t end, double *x);
void rp__friction_correction_rows_c2(const rp_friction *p, int64_t begin, int64_t end, const double *u, double *s);
void rp__friction_correction_rows_c3(const rp_friction *p, int64_t begin, int64_t end, const double *u, double *s);
void rp__friction_correction_rows_c6(const rp_friction *p, int64_t begin, int64_t end, const double *u, double *s);

/* Ordered sum of weight[i / d]^power a[i] b[i], the same for any number of threads. */
double rp__friction_dot(const rp_friction *p, const double *a, const double *b, int power);

/* The global solvers. RP_OK: they returned because run->converged, run->stop or the end of their stage says so. */
rp_result rp__friction_gauss_seidel(rp__friction_run *run, bool coloured, rp_friction_acceleration kind);
rp_result rp__friction_gradient(rp__friction_run *run, rp_friction_solver which);
rp_result rp__friction_cadoux(rp__friction_run *run);
rp_result rp__friction_admm(rp__friction_run *run);
rp_result rp__friction_focus(rp__friction_run *run);
rp_result rp__friction_auto(rp__friction_run *run);

/* A convex problem inside Cadoux: the correction s is fixed; stops when the natural residual with s is below `goal` (in the unit of
 * the mean) or after `limit` iterations. Changes run->r; run->u is W r + b on return. */
rp_result rp__friction_gradient_inner(rp__friction_run *run, rp_friction_solver which, const double *s, double goal, int64_t limit);
rp_result rp__friction_gauss_seidel_inner(rp__friction_run *run, const double *s, double goal, int64_t limit);

/* One contact by any of the local solvers: r is the start and the answer. False when it gave up. */
bool rp__friction_contact_c2(rp_friction_local_solver solver, const double *w, const double *b, double mu, double *r);
bool rp__friction_contact_c3(rp_friction_local_solver solver, const double *w, const double *b, double mu, double *r);
bool rp__friction_contact_c6(rp_friction_local_solver solver, const double *w, const double *b, double mu, double *r);

#endif
