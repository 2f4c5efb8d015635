/* A solve that stopped must not make energy.
 *
 * Impulses r change the kinetic energy, in the frame of the surfaces that move as told, by E(r) = ½ r·(u + b), u = W r + b. A solution has
 * r·u = -sum mu r_N |u_T| and so E = r·u - ½ rᵀ W r <= 0, but where forces are large beside what they move (things that are wedged) an iterate with
 * a small residual may be far from that. With the sliding speeds of the iterate held, s_i = mu_i |u_iT|, Coulomb's law is the optimality of
 *
 *   min E(r) + s·r_N over the cones                                                                      [acary2011]
 *
 * This is 0 at r = 0 and never less than E: whatever goes down from there makes no energy, and goes towards a solution. So: the least value on the
 * straight way from 0 to the iterate, and down from it by sweeps. */
#include "friction/dissipate.h"

#include "friction/solve.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 20 };

double rp__friction_energy(const rp_friction *p, const double *r, const double *u)
{
    return 0.5 * (rp__friction_dot(p, r, u, 0) + rp__friction_dot(p, r, p->b, 0));
}

/* The part of r, from 0 to 1, at which its energy with the speeds s is least. */
static double least_part(const rp_friction *p, const double *r, const double *u, const double *s)
{
    double linear = rp__friction_dot(p, r, p->b, 0), square = rp__friction_dot(p, r, u, 0) - linear;
    for (int64_t i = 0; i < p->contacts; i++)
        linear += s[i] * r[i * p->dimension];
    return linear < 0 ? fmin(-linear / square, 1) : 0;
}

static rp_result descend(rp__friction_run *run, double *s, double *r, double *u)
{
    const rp_friction *p = run->p;
    RP__CONE_CALL(p, rp__friction_correction_rows, 0, p->contacts, u, s);
    double part = least_part(p, r, u, s);
    for (int64_t k = 0; k < run->n; k++)
        r[k] *= part;
    run->r = r;
    run->u = u;
    return rp__friction_gauss_seidel_inner(run, s, 0, SWEEPS);
}

rp_result rp__friction_dissipate(const rp_friction *p, const rp_friction_options *options, double *r, double *u, int64_t *iterations)
{
    rp_friction_options own = *options;
    rp_friction_report report = { 0 };
    rp_friction_residual residual;
    RP_TRY(rp_friction_evaluate(p, r, u, &residual));
    if (!(rp__friction_energy(p, r, u) > 0))
        return RP_OK;
    own.max_iterations = SWEEPS;
    own.time_limit = 0;
    rp__friction_run run = { .p = p, .o = &own, .report = &report, .n = p->contacts * p->dimension, .history_stride = 1,
                             .tolerance = options->tolerance, .tolerance_max = options->tolerance_max };
    double *s = RP_NEW_ARRAY(double, p->contacts);
    run.v = RP_NEW_ARRAY(double, p->dofs);
    rp_result result = s && run.v ? descend(&run, s, r, u) : RP_OUT_OF_MEMORY;
    *iterations += run.iterations;
    rp__base_free(s);
    rp__base_free(run.v);
    return result;
}
