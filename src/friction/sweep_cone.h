/* Gauss-Seidel sweeps, for each dimension of the cone. */
#ifndef RP_FRICTION_SWEEP_H
#define RP_FRICTION_SWEEP_H

#include "friction/solve.h"

typedef struct rp__friction_sweep {
    rp__friction_run *run;
    rp_friction_local_solver local;
    void *factors;        /* rp__friction_factor_cD a contact */
    const double *s;      /* fixed correction of the convex problem inside Cadoux, or NULL: Coulomb's law */
    double *change;       /* |W_ii| |change of r_i| that the last visit asked for */
    double *way, *part;   /* damped: that change itself, and the part of it that was taken; else NULL */
} rp__friction_sweep;

/* Gauss-Seidel runs in circles where contacts slide: friction follows the normal force and not the other way round, which makes the map of a
 * sweep turn, with complex eigenvalues that may lie outside of the unit circle. z -> 1 - part + part z brings them inside. So, when sweeps are
 * damped, a contact whose change turns back goes half as far from then on, and farther again while it does not. (Both factors by trial on
 * impacts of a collapse: 0.5 and 0.7, 1.05 and 1.2 do about as well.) */
#define RP_FRICTION_TURNED 0.5
#define RP_FRICTION_ONWARD 1.1
#define RP_FRICTION_LEAST_PART 0.1

rp_result rp__friction_sweep_make_c2(const rp_friction *p, rp__friction_sweep *sweep);
rp_result rp__friction_sweep_make_c3(const rp_friction *p, rp__friction_sweep *sweep);
rp_result rp__friction_sweep_make_c6(const rp_friction *p, rp__friction_sweep *sweep);

rp_result rp__friction_sweep_room(const rp_friction *p, rp__friction_sweep *sweep); /* change, way and part */
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
