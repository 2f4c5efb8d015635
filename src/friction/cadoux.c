/* The fixed point of Cadoux [acary2011]: with s_i = mu_i |u_iT| fixed, the law is the optimality of a convex problem
 * (½ rᵀ W r + (b + s e_N)ᵀ r over the cones); solve it, take s from its u, repeat. */
#include "friction/solve.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

rp_result rp__friction_cadoux(rp__friction_run *run)
{
    const rp_friction *p = run->p;
    rp_friction_solver inner = run->o->solver == RP_FRICTION_CADOUX ? run->o->inner : RP_FRICTION_APGD;
    double *s = RP_NEW_ARRAY(double, p->contacts);
    rp_result result = s ? RP_OK : RP_OUT_OF_MEMORY;
    double forcing = 0.1;
    bool over = result != RP_OK || rp__friction_check(run);
    while (!over && result == RP_OK) {
        double before = run->merit;
        RP__CONE_CALL(p, rp__friction_correction_rows, 0, p->contacts, run->u, s);
        double goal = fmax(forcing * run->progress.residual_mean, 0.2 * run->tolerance);
        if (!isfinite(goal)) {
            memcpy(run->r, run->best, (size_t)run->n * sizeof(double));
            goal = 0.2 * run->tolerance;
        }
        result = inner == RP_FRICTION_GAUSS_SEIDEL ? rp__friction_gauss_seidel_inner(run, s, goal, 2000)
                                                   : rp__friction_gradient_inner(run, inner, s, goal, 2000);
        if (result == RP_OK)
            over = rp__friction_check(run) || run->stop != RP_OK;
        /* An outer step that gained nothing asks for a better inner answer. */
        forcing = run->merit > 0.9 * before ? fmax(0.3 * forcing, 1e-3) : 0.1;
    }
    rp__base_free(s);
    return result;
}
