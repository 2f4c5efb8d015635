/* One contact through the public door, and the statistics of the local solvers. */
#include "friction/contact.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/timer.h"
#include "friction/local.h"
#include "friction/problem.h"
#include "friction/solve.h"
#include "math/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool solve_any(int d, rp_friction_local_solver solver, const double *w, const double *b, double mu, double *r)
{
    return d == 2   ? rp__friction_contact_c2(solver, w, b, mu, r)
           : d == 3 ? rp__friction_contact_c3(solver, w, b, mu, r)
                    : rp__friction_contact_c6(solver, w, b, mu, r);
}

static double error_any(int d, const double *w, const double *b, double mu, const double *r)
{
    return d == 2   ? rp__friction_backward_error_c2(w, b, mu, r)
           : d == 3 ? rp__friction_backward_error_c3(w, b, mu, r)
                    : rp__friction_backward_error_c6(w, b, mu, r);
}

static rp_result check_choice(int dimension, rp_friction_local_solver solver)
{
    if (dimension != 2 && dimension != 3 && dimension != 6)
        return rp__base_fail(RP_BAD_ARGUMENT, "dimension %d: it must be 2, 3 or 6", dimension);
    if ((unsigned)solver >= RP_FRICTION_CONTACT_COUNT)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no local solver %d", (int)solver);
    if (dimension == 6 && (solver == RP_FRICTION_CONTACT_ENUMERATION || solver == RP_FRICTION_CONTACT_HYBRID))
        return rp__base_fail(RP_UNSUPPORTED, "local solver %s is for dimension 2 and 3", rp_friction_local_solver_name(solver));
    return RP_OK;
}

rp_result rp_friction_solve_contact(int dimension, rp_friction_local_solver solver, const double *w, const double *b, double mu,
                                    double *r, rp_friction_contact_state *state)
{
    RP_TRY(check_choice(dimension, solver));
    if (!w || !b || !r)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_solve_contact: W, b or r is NULL");
    RP_TRY(rp__friction_check_vectors(dimension, 1, b, "b", &mu));
    for (int i = 0; i < dimension * dimension; i++)
        if (!isfinite(w[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "entry %d of W is not a finite number", i);
    if (!(w[0] > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "the normal entry of W is %g: it must be positive", w[0]);
    double answer[6] = { 0 }, tangent = 0;
    bool good = solve_any(dimension, solver, w, b, mu, answer);
    memcpy(r, answer, (size_t)dimension * sizeof *r);
    if (state) {
        for (int i = 1; i < dimension; i++)
            tangent += r[i] * r[i];
        bool inside = sqrt(tangent) < mu * r[0] * (1 - 1e-12);
        *state = r[0] <= 0 ? RP_FRICTION_TAKE_OFF : inside ? RP_FRICTION_STICK : RP_FRICTION_SLIDE;
    }
    return good ? RP_OK
                : rp__base_fail(RP_NOT_CONVERGED, "local solver %s gave up, backward error %.2e", rp_friction_local_solver_name(solver),
                                error_any(dimension, w, b, mu, r));
}

/* ---- Random problems ------------------------------------------------------------------------------------------------------ */

typedef struct sample {
    double w[36], b[6], mu;
} sample;

/* W = Q diag Qᵀ with Q from Gram-Schmidt of normal numbers (twice, so that it is orthogonal to rounding), eigenvalues spread
 * between 1 and 1 / condition, both reached. */
static void make_sample(int d, uint64_t seed, uint64_t number, sample *s)
{
    double q[6][6], value[6];
    uint64_t at = 0;
    for (int i = 0; i < d; i++) {
        for (int j = 0; j < d; j++)
            q[i][j] = rp__random_normal(seed, number, at++);
        for (int pass = 0; pass < 2; pass++) {
            double size = 0;
            for (int k = 0; k < i; k++) {
                double dot = 0;
                for (int j = 0; j < d; j++)
                    dot += q[i][j] * q[k][j];
                for (int j = 0; j < d; j++)
                    q[i][j] -= dot * q[k][j];
            }
            for (int j = 0; j < d; j++)
                size += q[i][j] * q[i][j];
            for (int j = 0; j < d; j++)
                q[i][j] /= sqrt(size);
        }
    }
    double digits = 10 * rp__random_unit(seed, number, at++);
    for (int i = 0; i < d; i++)
        value[i] = pow(10, -digits * (i == 0 ? 0 : i == 1 ? 1 : rp__random_unit(seed, number, at++)));
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < d; k++)
                sum += value[k] * q[k][i] * q[k][j];
            s->w[i * d + j] = sum;
            s->w[j * d + i] = sum;
        }
    for (int i = 0; i < d; i++)
        s->b[i] = rp__random_normal(seed, number, at++);
    if (rp__random_unit(seed, number, at++) < 0.6) /* most contacts press */
        s->b[0] = -fabs(s->b[0]);
    s->mu = 0.01 * pow(200, rp__random_unit(seed, number, at++));
}

static rp__friction_state visit(int d, void *factor, const double *b, double mu, double *r)
{
    return d == 2   ? rp__friction_solve_c2((rp__friction_factor_c2 *)factor, b, mu, r)
           : d == 3 ? rp__friction_solve_c3((rp__friction_factor_c3 *)factor, b, mu, r)
                    : rp__friction_solve_c6((rp__friction_factor_c6 *)factor, b, mu, r);
}

static bool factorise(int d, void *factor, const double *w)
{
    return d == 2   ? rp__friction_factorise_c2((rp__friction_factor_c2 *)factor, w)
           : d == 3 ? rp__friction_factorise_c3((rp__friction_factor_c3 *)factor, w)
                    : rp__friction_factorise_c6((rp__friction_factor_c6 *)factor, w);
}

enum { BATCH = 256 }; /* fits in the cache: the solver is timed, not the memory */

typedef struct batch {
    sample s[BATCH];
    rp__friction_factor_c6 factor[BATCH]; /* room for any dimension */
    double r[BATCH][6], b[BATCH][6];
} batch;

enum { TIMED = 1024 }; /* batches whose times are kept: the median of them is reported, whatever else the machine does */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count > 0 ? values[count / 2] : 0;
}

/* Times one batch cold and, with b moved by a part in a thousand as between two sweeps, warm. */
static void time_batch(int d, rp_friction_local_solver solver, batch *t, int count, double *seconds)
{
    bool kept = solver == RP_FRICTION_CONTACT_SCALAR;
    double before = rp__base_seconds();
    for (int i = 0; i < count && kept; i++)
        factorise(d, &t->factor[i], t->s[i].w);
    double factorised = rp__base_seconds();
    for (int i = 0; i < count; i++) {
        memset(t->r[i], 0, sizeof t->r[i]);
        if (kept)
            visit(d, &t->factor[i], t->s[i].b, t->s[i].mu, t->r[i]);
        else
            solve_any(d, solver, t->s[i].w, t->s[i].b, t->s[i].mu, t->r[i]);
    }
    double cold = rp__base_seconds();
    for (int i = 0; i < count; i++)
        for (int a = 0; a < d; a++)
            t->b[i][a] = t->s[i].b[a] * (1 + 1e-3 * (a % 2 ? 1 : -1));
    double moved = rp__base_seconds();
    double again[6];
    for (int i = 0; i < count; i++) {
        memcpy(again, t->r[i], sizeof again);
        if (kept)
            visit(d, &t->factor[i], t->b[i], t->s[i].mu, again);
        else
            solve_any(d, solver, t->s[i].w, t->b[i], t->s[i].mu, again);
    }
    seconds[0] = factorised - before;
    seconds[1] = cold - factorised;
    seconds[2] = rp__base_seconds() - moved;
}

rp_result rp_friction_measure_contacts(int dimension, rp_friction_local_solver solver, int64_t problems, uint64_t seed,
                                       rp_friction_contact_statistics *statistics)
{
    RP_TRY(check_choice(dimension, solver));
    if (problems < 1 || !statistics)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_measure_contacts: at least one problem and a place for the result");
    batch *t = RP_NEW(batch);
    double *times = RP_NEW_ARRAY(double, 3 * TIMED);
    if (!t || !times) {
        rp__base_free(t);
        rp__base_free(times);
        return RP_OUT_OF_MEMORY;
    }
    rp_friction_contact_statistics s = { .problems = problems };
    int timed = 0;
    for (int64_t first = 0; first < problems; first += BATCH) {
        int count = problems - first < BATCH ? (int)(problems - first) : BATCH;
        for (int i = 0; i < count; i++)
            make_sample(dimension, seed, (uint64_t)(first + i), &t->s[i]);
        double seconds[3];
        time_batch(dimension, solver, t, count, seconds);
        if (timed < TIMED && (count == BATCH || timed == 0)) {
            for (int k = 0; k < 3; k++)
                times[k * TIMED + timed] = seconds[k] * 1e9 / count;
            timed++;
        }
        for (int i = 0; i < count; i++) {
            double error = error_any(dimension, t->s[i].w, t->s[i].b, t->s[i].mu, t->r[i]);
            s.failures += !(error < 1e-12);
            if (!(error <= s.worst_backward_error))
                s.worst_backward_error = error;
        }
    }
    s.factorise_ns = median(times, timed);
    s.cold_ns = median(times + TIMED, timed);
    s.warm_ns = median(times + 2 * TIMED, timed);
    rp__base_free(t);
    rp__base_free(times);
    if (solver != RP_FRICTION_CONTACT_SCALAR)
        s.factorise_ns = 0;
    *statistics = s;
    return RP_OK;
}
