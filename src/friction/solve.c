/* The run: options, limits, residuals, report; and the table of solvers. */
#include "friction/solve.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

static const char *const solver_names[] = {
#define S(id, name, text) name,
    RP_FRICTION_SOLVERS(S)
#undef S
};
static const char *const solver_texts[] = {
#define S(id, name, text) text,
    RP_FRICTION_SOLVERS(S)
#undef S
};
static const char *const contact_names[] = {
#define S(id, name, text) name,
    RP_FRICTION_LOCAL_SOLVERS(S)
#undef S
};

static const char *const contact_texts[] = {
#define S(id, name, text) text,
    RP_FRICTION_LOCAL_SOLVERS(S)
#undef S
};

const char *rp_friction_solver_name(rp_friction_solver solver)
{
    return (unsigned)solver < RP_FRICTION_SOLVER_COUNT ? solver_names[solver] : "?";
}

const char *rp_friction_solver_text(rp_friction_solver solver)
{
    return (unsigned)solver < RP_FRICTION_SOLVER_COUNT ? solver_texts[solver] : "?";
}

const char *rp_friction_local_solver_name(rp_friction_local_solver solver)
{
    return (unsigned)solver < RP_FRICTION_CONTACT_COUNT ? contact_names[solver] : "?";
}

const char *rp_friction_local_solver_text(rp_friction_local_solver solver)
{
    return (unsigned)solver < RP_FRICTION_CONTACT_COUNT ? contact_texts[solver] : "?";
}

bool rp_friction_solver_by_name(const char *name, rp_friction_solver *solver)
{
    for (int k = 0; name && k < RP_FRICTION_SOLVER_COUNT; k++)
        if (strcmp(name, solver_names[k]) == 0) {
            *solver = (rp_friction_solver)k;
            return true;
        }
    return false;
}

bool rp_friction_local_solver_by_name(const char *name, rp_friction_local_solver *solver)
{
    for (int k = 0; name && k < RP_FRICTION_CONTACT_COUNT; k++)
        if (strcmp(name, contact_names[k]) == 0) {
            *solver = (rp_friction_local_solver)k;
            return true;
        }
    return false;
}

rp_friction_options rp_default_friction_options(void)
{
    return (rp_friction_options){ .solver = RP_FRICTION_AUTO,
                                  .local = RP_FRICTION_CONTACT_SCALAR,
                                  .acceleration = RP_FRICTION_ANDERSON,
                                  .inner = RP_FRICTION_APGD,
                                  .tolerance = 1e-6,
                                  .max_iterations = 1000000,
                                  .time_limit = 60 };
}

/* ---- Sums over contacts --------------------------------------------------------------------------------------------------- */

enum { SUM_GRAIN = 2048 }; /* contacts a chunk; the chunks depend on their number alone */

typedef struct measure_job {
    const rp_friction *p;
    const double *r, *u, *s;
    int power;
} measure_job;

static void measure_sum(void *context, int64_t begin, int64_t end, double *partial)
{
    measure_job *j = context;
    rp__friction_measure m = { 0 };
    RP__CONE_CALL(j->p, rp__friction_measure_rows, begin, end, j->r, j->u, j->s, &m);
    partial[0] += m.square;
    partial[1] += m.ac_square;
}

static void measure_max(void *context, int64_t begin, int64_t end, double *partial)
{
    measure_job *j = context;
    rp__friction_measure m = { 0 };
    RP__CONE_CALL(j->p, rp__friction_measure_rows, begin, end, j->r, j->u, j->s, &m);
    partial[0] = m.largest <= partial[0] ? partial[0] : m.largest;
    partial[1] = m.ac_largest <= partial[1] ? partial[1] : m.ac_largest;
}

rp__friction_measure rp__friction_measure_all(const rp_friction *p, const double *r, const double *u, const double *s)
{
    rp__friction_measure m = { 0 };
    if (p->contacts <= SUM_GRAIN) {
        RP__CONE_CALL(p, rp__friction_measure_rows, 0, p->contacts, r, u, s, &m);
        return m;
    }
    measure_job job = { p, r, u, s, 0 };
    double sums[2], largest[2];
    rp__exec_sum(p->contacts, SUM_GRAIN, 2, measure_sum, &job, sums);
    rp__exec_max(p->contacts, SUM_GRAIN, 2, measure_max, &job, largest);
    return (rp__friction_measure){ sums[0], largest[0], sums[1], largest[1] };
}

static void dot_sum(void *context, int64_t begin, int64_t end, double *partial)
{
    measure_job *j = context;
    const rp_friction *p = j->p;
    int d = p->dimension;
    double sum = 0;
    for (int64_t i = begin; i < end; i++) {
        double one = 0;
        for (int a = 0; a < d; a++)
            one += j->r[i * d + a] * j->u[i * d + a];
        sum += j->power > 0 ? one * p->norm[i] : j->power < 0 ? one / p->norm[i] : one;
    }
    partial[0] += sum;
}

double rp__friction_dot(const rp_friction *p, const double *a, const double *b, int power)
{
    measure_job job = { p, a, b, NULL, power };
    double sum = 0;
    if (p->contacts <= SUM_GRAIN)
        dot_sum(&job, 0, p->contacts, &sum);
    else
        rp__exec_sum(p->contacts, SUM_GRAIN, 1, dot_sum, &job, &sum);
    return sum;
}

static rp_friction_residual to_residual(const rp_friction *p, const rp__friction_measure *m)
{
    double n = p->contacts > 0 ? (double)p->contacts : 1;
    return (rp_friction_residual){ .mean = sqrt(m->square / n) / p->scale,
                                   .max = m->largest / p->scale,
                                   .alart_curnier_mean = sqrt(m->ac_square / n) / p->scale,
                                   .alart_curnier_max = m->ac_largest / p->scale };
}

/* ---- The run -------------------------------------------------------------------------------------------------------------- */

/* Keeps every `stride`-th check; when the list is full every second one goes and the stride doubles. */
static void record(rp__friction_run *run, const rp_friction_residual *residual)
{
    rp_friction_report *report = run->report;
    if (run->history_seen++ % run->history_stride != 0)
        return;
    if (report->history_count == RP_FRICTION_HISTORY) {
        for (int k = 0; k < RP_FRICTION_HISTORY / 2; k++) {
            report->history_iteration[k] = report->history_iteration[2 * k];
            report->history_seconds[k] = report->history_seconds[2 * k];
            report->history_mean[k] = report->history_mean[2 * k];
            report->history_max[k] = report->history_max[2 * k];
        }
        report->history_count = RP_FRICTION_HISTORY / 2;
        run->history_stride *= 2;
    }
    int k = report->history_count++;
    report->history_iteration[k] = run->iterations;
    report->history_seconds[k] = rp__base_seconds() - run->started;
    report->history_mean[k] = residual->mean;
    report->history_max[k] = residual->max;
}

bool rp__friction_tick(rp__friction_run *run)
{
    const rp_friction_options *o = run->o;
    run->iterations++;
    double seconds = rp__base_seconds() - run->started;
    run->last_seconds = seconds;
    if (o->callback) {
        run->progress.solver = run->current;
        run->progress.iteration = run->iterations;
        run->progress.seconds = seconds;
        if (!o->callback(o->context, &run->progress))
            run->stop = RP_CANCELLED;
    }
    if (o->cancel && *o->cancel)
        run->stop = RP_CANCELLED;
    if (run->stop == RP_OK && ((o->max_iterations > 0 && run->iterations >= o->max_iterations) ||
                               (o->time_limit > 0 && seconds >= o->time_limit)))
        run->stop = RP_NOT_CONVERGED;
    return run->stop == RP_OK;
}

void rp__friction_begin_stage(rp__friction_run *run, rp_friction_solver solver, int64_t iterations, double seconds, int patience,
                              double gain)
{
    run->current = solver;
    run->stage_iterations = iterations;
    run->stage_seconds = seconds;
    run->stage_started = rp__base_seconds() - run->started;
    run->stage_first = run->iterations;
    run->patience = patience;
    run->gain = gain;
    run->checks_without_gain = 0;
    run->stage_merit = INFINITY;
}

static bool stage_over(rp__friction_run *run)
{
    if (run->merit < run->gain * run->stage_merit) {
        run->stage_merit = run->merit;
        run->checks_without_gain = 0;
    } else {
        run->checks_without_gain++;
    }
    return (run->patience > 0 && run->checks_without_gain >= run->patience) ||
           (run->stage_iterations > 0 && run->iterations - run->stage_first >= run->stage_iterations) ||
           (run->stage_seconds > 0 && rp__base_seconds() - run->started - run->stage_started >= run->stage_seconds);
}

bool rp__friction_check_u(rp__friction_run *run)
{
    const rp_friction *p = run->p;
    rp__friction_measure m = rp__friction_measure_all(p, run->r, run->u, NULL);
    rp_friction_residual residual = to_residual(p, &m);
    run->progress.residual_mean = residual.mean;
    run->progress.residual_max = residual.max;
    run->merit = fmax(residual.mean / run->tolerance, residual.max / run->tolerance_max);
    /* The second opinion only has a say in what is accepted; it may be larger by the condition of the two maps. */
    bool agreed = residual.alart_curnier_mean <= 10 * run->tolerance && residual.alart_curnier_max <= 10 * run->tolerance_max;
    if (run->merit <= 1 && !agreed)
        run->merit = 1 + 1e-9;
    if (!isfinite(residual.mean) || !isfinite(residual.max))
        run->merit = INFINITY;
    record(run, &residual);
    if (run->merit < run->best_merit) {
        run->best_merit = run->merit;
        memcpy(run->best, run->r, (size_t)run->n * sizeof(double));
        run->report->residual = residual;
        run->report->solver = run->current;
    }
    run->converged = run->merit <= 1;
    return run->converged || stage_over(run);
}

bool rp__friction_check(rp__friction_run *run)
{
    rp__friction_multiply(run->p, run->r, run->v, run->u);
    for (int64_t i = 0; i < run->n; i++)
        run->u[i] += run->p->b[i];
    return rp__friction_check_u(run);
}

static rp_result check_options(const rp_friction *p, const rp_friction_options *o)
{
    if ((unsigned)o->solver >= RP_FRICTION_SOLVER_COUNT || (unsigned)o->local >= RP_FRICTION_CONTACT_COUNT ||
        (unsigned)o->acceleration > RP_FRICTION_ANDERSON)
        return rp__base_fail(RP_BAD_ARGUMENT, "options: there is no solver %d, local solver %d or acceleration %d", (int)o->solver, (int)o->local,
                             (int)o->acceleration);
    if (!(o->tolerance > 0 && isfinite(o->tolerance)) || !(o->tolerance_max >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "options: tolerance %g must be above 0 and tolerance_max %g not below", o->tolerance,
                             o->tolerance_max);
    if (o->max_iterations < 0 || !(o->time_limit >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "options: max_iterations and time_limit cannot be negative");
    if (o->max_iterations == 0 && o->time_limit == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "options: one of max_iterations and time_limit must be given, not every problem has a "
                                              "solution");
    if (o->solver == RP_FRICTION_CADOUX && o->inner != RP_FRICTION_GAUSS_SEIDEL && o->inner != RP_FRICTION_PROJECTED_GRADIENT &&
        o->inner != RP_FRICTION_APGD && o->inner != RP_FRICTION_SPG)
        return rp__base_fail(RP_BAD_ARGUMENT, "options: the solver inside cadoux must be gs, pg, apgd or spg");
    bool enumeration = o->local == RP_FRICTION_CONTACT_ENUMERATION || o->local == RP_FRICTION_CONTACT_HYBRID;
    if (p->dimension == 6 && enumeration)
        return rp__base_fail(RP_UNSUPPORTED, "options: local solver %s is for dimension 2 and 3, this problem has 6",
                             rp_friction_local_solver_name(o->local));
    if (p->rolling && o->local != RP_FRICTION_CONTACT_SCALAR)
        return rp__base_fail(RP_UNSUPPORTED, "options: local solver %s does not know rolling friction; use scalar", rp_friction_local_solver_name(o->local));
    if (o->check_every < 0 || o->threads < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "options: check_every and threads cannot be negative");
    bool sweeps = o->solver == RP_FRICTION_GAUSS_SEIDEL || o->solver == RP_FRICTION_GAUSS_SEIDEL_COLOURED ||
                  (o->solver == RP_FRICTION_CADOUX && o->inner == RP_FRICTION_GAUSS_SEIDEL);
    const rp_friction_operator_def *c = &p->callbacks;
    if (p->kind == RP__CALLBACKS && sweeps && (!c->start || !c->gather || !c->scatter))
        return rp__base_fail(RP_UNSUPPORTED, "this operator lacks start, gather or scatter: Gauss-Seidel cannot use it");
    if (p->kind == RP__CALLBACKS && o->solver == RP_FRICTION_GAUSS_SEIDEL_FOCUSED)
        return rp__base_fail(RP_UNSUPPORTED, "an operator does not tell which contacts are neighbours: gs-focused cannot use it");
    return RP_OK;
}

static rp_result dispatch(rp__friction_run *run)
{
    rp_friction_solver solver = run->o->solver;
    rp__friction_begin_stage(run, solver, 0, 0, 0, 1);
    switch (solver) {
    case RP_FRICTION_GAUSS_SEIDEL:
        return rp__friction_gauss_seidel(run, false, run->o->acceleration);
    case RP_FRICTION_GAUSS_SEIDEL_COLOURED:
        return rp__friction_gauss_seidel(run, true, run->o->acceleration);
    case RP_FRICTION_GAUSS_SEIDEL_FOCUSED:
        return rp__friction_focus(run);
    case RP_FRICTION_PROJECTED_GRADIENT:
    case RP_FRICTION_APGD:
    case RP_FRICTION_SPG:
        return rp__friction_gradient(run, solver);
    case RP_FRICTION_CADOUX:
        return rp__friction_cadoux(run);
    case RP_FRICTION_ADMM:
        return rp__friction_admm(run);
    default:
        return rp__friction_auto(run);
    }
}

static void count_states(const rp_friction *p, const double *r, rp_friction_report *report)
{
    int d = p->dimension, impulses = p->rolling ? d / 2 + d % 2 : d; /* moments do not tell whether it slides */
    for (int64_t i = 0; i < p->contacts; i++) {
        double tangent = 0;
        for (int a = 1; a < impulses; a++)
            tangent += r[i * d + a] * r[i * d + a];
        if (r[i * d] <= 0)
            report->take_off++;
        else if (sqrt(tangent) < p->mu[i] * r[i * d] * (1 - 1e-9))
            report->stick++;
        else
            report->slide++;
    }
}

static rp_result run_it(rp__friction_run *run, const double *r)
{
    const rp_friction *p = run->p;
    size_t bytes = (size_t)run->n * sizeof(double);
    run->r = rp__base_alloc_zero(bytes);
    run->u = rp__base_alloc_zero(bytes);
    run->best = rp__base_alloc_zero(bytes);
    run->v = rp__base_alloc_zero((size_t)p->dofs * sizeof(double));
    if (!run->r || !run->u || !run->best || !run->v)
        return RP_OUT_OF_MEMORY;
    if (run->o->warm_start) {
        for (int64_t i = 0; i < run->n; i++)
            if (!isfinite(r[i]))
                return rp__base_fail(RP_BAD_ARGUMENT, "warm start: entry %lld of r is not a finite number", (long long)i);
        memcpy(run->r, r, bytes);
        RP__CONE_CALL(p, rp__friction_project_rows, 0, p->contacts, run->r);
    }
    rp__friction_begin_stage(run, run->o->solver, 0, 0, 0, 1);
    if (rp__friction_check(run))
        return RP_OK; /* the start is a solution */
    return dispatch(run);
}

rp_result rp_friction_solve(const rp_friction *p, const rp_friction_options *options, double *r, double *u,
                            rp_friction_report *report)
{
    if (!p || !options || (!r && p->contacts > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_solve: the problem, the options or r is NULL");
    RP_TRY(check_options(p, options));
    rp_friction_report own, *rep = report ? report : &own;
    memset(rep, 0, sizeof *rep);
    rp__friction_run run = { .p = p,
                             .o = options,
                             .report = rep,
                             .n = p->contacts * p->dimension,
                             .best_merit = INFINITY,
                             .tolerance = options->tolerance,
                             .tolerance_max = options->tolerance_max > 0 ? options->tolerance_max : 10 * options->tolerance,
                             .started = rp__base_seconds(),
                             .history_stride = 1,
                             .progress = { .residual_mean = INFINITY, .residual_max = INFINITY } };
    int threads = rp__exec_threads();
    bool held = rp__exec_hold_flush(); /* sweeps go through loops with several threads only */
    rp__exec_set_threads(options->threads);
    rp_result result = run_it(&run, r);
    if (result == RP_OK) {
        memcpy(r, run.best, (size_t)run.n * sizeof(double));
        if (u) {
            rp__friction_multiply(p, r, run.v, u);
            for (int64_t i = 0; i < run.n; i++)
                u[i] += p->b[i];
        }
        count_states(p, r, rep);
        if (run.best_merit > 1)
            result = run.stop == RP_CANCELLED
                         ? rp__base_fail(RP_CANCELLED, "cancelled after %lld iterations, residual %.2e", (long long)run.iterations,
                                         rep->residual.mean)
                         : rp__base_fail(RP_NOT_CONVERGED, "after %lld iterations and %.3g s the residual is %.2e (max %.2e), above %.2e",
                                         (long long)run.iterations, rp__base_seconds() - run.started, rep->residual.mean,
                                         rep->residual.max, run.tolerance);
    }
    rp__exec_set_threads(threads);
    rp__exec_release_flush(held);
    rep->result = result;
    rep->iterations = run.iterations;
    rep->seconds = rp__base_seconds() - run.started;
    rp__base_free(run.r);
    rp__base_free(run.u);
    rp__base_free(run.v);
    rp__base_free(run.best);
    return result;
}

rp_result rp_friction_evaluate(const rp_friction *p, const double *r, double *u, rp_friction_residual *residual)
{
    if (!p || !residual || (!r && p->contacts > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_evaluate: the problem, r or the place of the result is NULL");
    int64_t n = p->contacts * p->dimension;
    double *v = RP_NEW_ARRAY(double, p->dofs), *own = u ? u : RP_NEW_ARRAY(double, n);
    rp_result result = v && own ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        rp__friction_multiply(p, r, v, own);
        for (int64_t i = 0; i < n; i++)
            own[i] += p->b[i];
        rp__friction_measure m = rp__friction_measure_all(p, r, own, NULL);
        *residual = to_residual(p, &m);
    }
    rp__base_free(v);
    if (!u)
        rp__base_free(own);
    return result;
}
