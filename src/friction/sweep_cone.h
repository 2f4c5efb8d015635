/* Gauss-Seidel sweeps, for each dimension of the cone. */
#ifndef RP_FRICTION_SWEEP_H
#define RP_FRICTION_SWEEP_H

#include "friction/solve.h"

typedef struct rp__friction_sweep {
    rp__friction_run *run;
    rp_friction_local_solver local;
    void *factors;        /* rp__friction_factor_cD a contact */
    const double *s;      /* fixed correction of the convex problem inside Cadoux, or NULL: Coulomb's law */
    double *change;       /* |W_ii| |change of r_i| of the last visit */
} rp__friction_sweep;

rp_result rp__friction_sweep_make_c2(const rp_friction *p, rp__friction_sweep *sweep);
rp_result rp__friction_sweep_make_c3(const rp_friction *p, rp__friction_sweep *sweep);
rp_result rp__friction_sweep_make_c6(const rp_friction *p, rp__friction_sweep *sweep);

void rp__friction_sweep_free(rp__friction_sweep *sweep);
void rp__friction_sweep_start(rp__friction_run *run); /* sets v = Y r, or the operator's own state */

/* Visits contacts items[begin .. end), or begin .. end when items is NULL. */
void rp__friction_sweep_visit_c2(const rp_friction *p, rp__friction_sweep *sweep, const int32_t *items, int64_t begin, int64_t end);
void rp__friction_sweep_visit_c3(const rp_friction *p, rp__friction_sweep *sweep, const int32_t *items, int64_t begin, int64_t end);
void rp__friction_sweep_visit_c6(const rp_friction *p, rp__friction_sweep *sweep, const int32_t *items, int64_t begin, int64_t end);

/* r_i <- next, and tells the others. */
void rp__friction_sweep_move_c2(const rp_friction *p, rp__friction_sweep *sweep, int64_t i, const double *next);
void rp__friction_sweep_move_c3(const rp_friction *p, rp__friction_sweep *sweep, int64_t i, const double *next);
void rp__friction_sweep_move_c6(const rp_friction *p, rp__friction_sweep *sweep, int64_t i, const double *next);

#endif
