/* Alternating directions [boyd2011, 3 and 3.4.1] with De Saxcé's correction: in the unit |W_ii| of each contact,
 *   r  <- (W + rho)⁻¹ (rho (z - y) - b - s e_N)   by conjugate gradients from the last r,
 *   z  <- P_K(r + y),   y <- y + r - z,   s from the velocities at z,
 * with the penalty rho moved when one of the two residuals leads. */
#include "friction/solve.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct admm {
    rp__friction_run *run;
    double *memory, *r, *y, *z_old, *s, *rhs, *res, *dir, *wd;
    double rho;
} admm;

static bool make(admm *t, rp__friction_run *run)
{
    size_t n = (size_t)run->n;
    *t = (admm){ .run = run, .rho = 0.1 };
    t->memory = rp__base_alloc_zero((7 * n + (size_t)run->p->contacts) * sizeof(double));
    if (!t->memory)
        return false;
    double **parts[] = { &t->r, &t->y, &t->z_old, &t->rhs, &t->res, &t->dir, &t->wd };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        *parts[k] = t->memory + k * n;
    t->s = t->memory + 7 * n;
    return true;
}

/* out = W x + rho |W_ii| x */
static void apply(admm *t, const double *x, double *out)
{
    const rp_friction *p = t->run->p;
    int d = p->dimension;
    rp__friction_multiply(p, x, t->run->v, out);
    for (int64_t i = 0; i < p->contacts; i++)
        for (int a = 0; a < d; a++)
            out[i * d + a] += t->rho * p->norm[i] * x[i * d + a];
}

/* Conjugate gradients with the preconditioner |W_ii|; stops at `accuracy` times the first residual. */
static void conjugate_gradients(admm *t, double *x, double accuracy)
{
    rp__friction_run *run = t->run;
    const rp_friction *p = run->p;
    int d = p->dimension;
    apply(t, x, t->res);
    for (int64_t i = 0; i < run->n; i++)
        t->res[i] = t->rhs[i] - t->res[i];
    double rr = rp__friction_dot(p, t->res, t->res, -1), stop = accuracy * accuracy * rp__friction_dot(p, t->rhs, t->rhs, -1);
    for (int64_t i = 0; i < run->n; i++)
        t->dir[i] = t->res[i] / p->norm[i / d];
    for (int k = 0; k < 50 && rr > stop; k++) {
        apply(t, t->dir, t->wd);
        double alpha = rr / rp__friction_dot(p, t->dir, t->wd, 0), old = rr;
        if (!isfinite(alpha))
            break;
        for (int64_t i = 0; i < run->n; i++) {
            x[i] += alpha * t->dir[i];
            t->res[i] -= alpha * t->wd[i];
        }
        rr = rp__friction_dot(p, t->res, t->res, -1);
        for (int64_t i = 0; i < run->n; i++)
            t->dir[i] = t->res[i] / p->norm[i / d] + rr / old * t->dir[i];
    }
}

rp_result rp__friction_admm(rp__friction_run *run)
{
    const rp_friction *p = run->p;
    int d = p->dimension;
    admm t;
    if (!make(&t, run))
        return RP_OUT_OF_MEMORY;
    double *z = run->r, accuracy = 1e-2;
    memcpy(t.r, z, (size_t)run->n * sizeof(double));
    bool over = rp__friction_check(run);
    for (int64_t k = 0; !over; k++) {
        RP__CONE_CALL(p, rp__friction_correction_rows, 0, p->contacts, run->u, t.s);
        for (int64_t i = 0; i < p->contacts; i++)
            for (int a = 0; a < d; a++)
                t.rhs[i * d + a] = t.rho * p->norm[i] * (z[i * d + a] - t.y[i * d + a]) - p->b[i * d + a] - (a == 0 ? t.s[i] : 0);
        conjugate_gradients(&t, t.r, accuracy);
        memcpy(t.z_old, z, (size_t)run->n * sizeof(double));
        for (int64_t i = 0; i < run->n; i++) {
            double relaxed = 1.6 * t.r[i] - 0.6 * t.z_old[i];
            z[i] = relaxed + t.y[i];
            t.y[i] += relaxed;
        }
        RP__CONE_CALL(p, rp__friction_project_rows, 0, p->contacts, z);
        for (int64_t i = 0; i < run->n; i++) {
            t.y[i] -= z[i];
            t.res[i] = t.r[i] - z[i];
            t.dir[i] = t.rho * (z[i] - t.z_old[i]);
        }
        double primal = sqrt(rp__friction_dot(p, t.res, t.res, 1)), dual = sqrt(rp__friction_dot(p, t.dir, t.dir, 1));
        bool go = rp__friction_tick(run);
        over = rp__friction_check(run) || !go;
        accuracy = fmin(1e-2, fmax(1e-12, 0.03 * run->progress.residual_mean));
        /* Moves of the penalty become rare, or they would never settle. */
        double factor = primal > 5 * dual ? 2 : dual > 5 * primal ? 0.5 : 1;
        if (factor != 1 && (k < 50 || k % 20 == 0)) {
            t.rho *= factor;
            for (int64_t i = 0; i < run->n; i++)
                t.y[i] /= factor;
        }
    }
    rp__base_free(t.memory);
    return RP_OK;
}
