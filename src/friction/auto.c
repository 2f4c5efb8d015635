/* The default: accelerated Gauss-Seidel while it makes progress, then others in turn, each from the best iterate so far, in rounds of
 * growing length. */
#include "friction/solve.h"

#include <string.h>

typedef struct stage {
    rp_friction_solver solver;
    rp_friction_acceleration acceleration;
    int iterations, patience; /* of the first round; patience counts checks */
    double gain;
} stage;

static rp_result run_stage(rp__friction_run *run, const stage *s)
{
    switch (s->solver) {
    case RP_FRICTION_GAUSS_SEIDEL:
        return rp__friction_gauss_seidel(run, run->coloured, s->acceleration);
    case RP_FRICTION_GAUSS_SEIDEL_FOCUSED:
        return rp__friction_focus(run);
    case RP_FRICTION_CADOUX:
        return rp__friction_cadoux(run);
    case RP_FRICTION_ADMM:
        return rp__friction_admm(run);
    default:
        return rp__friction_gradient(run, s->solver);
    }
}

rp_result rp__friction_auto(rp__friction_run *run)
{
    static const stage stages[] = {
        { RP_FRICTION_GAUSS_SEIDEL, RP_FRICTION_ANDERSON, 400, 6, 0.7 },
        { RP_FRICTION_APGD, RP_FRICTION_PLAIN, 1500, 200, 0.7 },
        { RP_FRICTION_GAUSS_SEIDEL_FOCUSED, RP_FRICTION_PLAIN, 240, 40, 0.9 },
        { RP_FRICTION_GAUSS_SEIDEL, RP_FRICTION_MOMENTUM, 1000, 10, 0.7 },
        { RP_FRICTION_CADOUX, RP_FRICTION_PLAIN, 6000, 20, 0.8 },
        { RP_FRICTION_SPG, RP_FRICTION_PLAIN, 1000, 500, 0.7 },
        { RP_FRICTION_ADMM, RP_FRICTION_PLAIN, 50, 25, 0.7 },
    };
    const rp_friction_operator_def *c = &run->p->callbacks;
    bool sweeps = run->p->kind != RP__CALLBACKS || (c->start && c->gather && c->scatter);
    run->coloured = run->p->kind == RP__CALLBACKS ? c->colors > 0 : run->p->contacts >= 20000;
    for (int64_t share = 1;; share *= 2)
        for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
            const stage *s = &stages[k];
            if ((s->solver == RP_FRICTION_GAUSS_SEIDEL && !sweeps) ||
                (s->solver == RP_FRICTION_GAUSS_SEIDEL_FOCUSED && run->p->kind == RP__CALLBACKS))
                continue;
            memcpy(run->r, run->best, (size_t)run->n * sizeof(double));
            rp__friction_begin_stage(run, s->solver, s->iterations * share, 0, (int)(s->patience * share), s->gain);
            rp_result result = run_stage(run, s);
            if (result != RP_OK || run->converged || run->stop != RP_OK)
                return result;
        }
}
