/* Solving the problem of a step through the friction library. */
#include "contact/state.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"
#include "friction/dissipate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STRICTEST 1e-5 /* of the tolerances */
enum { STAGE = 60 }; /* sweeps of Gauss-Seidel, after which their gain is judged */
#define SHIFT_TOLERANCE 1e-2 /* of displacements that part overlaps */
enum { SHIFT_SWEEPS = 10 };
enum { ROUGH_PASSES = 2, ROUGH_SWEEPS = 20 }; /* passes that look for contacts */
enum { REST_SWEEPS = 20 }; /* at most, and as many steps of the gradient, beyond the tolerance, where things hardly move */

/* Root mean square of the velocities at the beginning of the step; of free bodies, of those found. */
static double speed_before(const rp__contact_state *s, const rp__world *world)
{
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    double sum = 0, count = (double)(g.count + s->segments);
    const double *found = s->system.velocity + 6 * g.count;
    for (int64_t i = 0; i < g.count; i++)
        for (int a = 0; a < 3; a++)
            sum += g.v[a][i] * g.v[a][i];
    for (int b = 0; b < world->body_count; b++) {
        const rp__body *body = &world->bodies[b];
        bool is_free = body->def.kind == RP_BODY_FREE; /* has its velocity without contacts */
        rp__vec3 v = is_free ? rp__vec3_load(found + 6 * b) : body->velocity;
        sum += body->present ? rp__vec3_dot(v, v) : 0;
        count += body->present && is_free;
    }
    for (int64_t k = 0; k < s->fibre_count; k++) {
        const rp__rod *rod = s->fibres[k].rod;
        for (int i = 0; i <= rod->edges; i++)
            for (int a = 0; a < 3; a++)
                sum += rod->velocity[4 * i + a] * rod->velocity[4 * i + a];
    }
    return sqrt(sum / fmax(count, 1));
}

/* Errors of the solution are velocities. The friction library measures them by the root mean square of b; inside a bed that rests b is next to
 * nothing (all fall alike without contacts), so that this would shrink with the depth of the bed. The unit is what gravity does in a step
 * where that is more. */
static double unit_of(const rp__world *world, double dt, double scale)
{
    return fmax(scale, rp__vec3_norm(rp__vec3_load(world->def->gravity)) * dt);
}

/* Errors should be small beside the velocities that there are: where things hardly move they are asked to be smaller in proportion, so that
 * what comes to rest rests. */
static double strictness(const rp__contact_state *s, const rp__world *world, double unit)
{
    return fmin(1, fmax(speed_before(s, world) / unit, STRICTEST));
}

/* Sweeps of Gauss-Seidel with momentum are fastest where many contacts press on each other, with Anderson's combination where few couple
 * strongly (fibres), or where momentum throws a few to and fro: stages of the first that halves the residual. Where neither does, as in
 * impacts, sliding makes sweeps run in circles (Coulomb's law is no minimum of anything): damped sweeps, for half of what is left. Where these
 * do not help either, the fixed point of Cadoux, convex inside, goes on from the best they met, for half of the rest; then the accelerated gradient,
 * which changes all contacts at once: bodies that stand on more points than they need let every sweep move their forces by a little only. */
enum { MOMENTUM, COMBINED, DAMPED, CONVEX, GRADIENT, KINDS };

static int next_kind(const double ratio[KINDS])
{
    for (int kind = 0; kind < KINDS; kind++)
        if (ratio[kind] <= 0.5)
            return kind;
    return KINDS;
}

static rp_result solve_in_stages(const rp_friction *problem, rp_friction_options *options, rp__contact_system *y, rp_friction_report *report)
{
    int64_t left = options->max_iterations, done = 0;
    if (options->solver != RP_FRICTION_AUTO)
        return rp_friction_solve(problem, options, y->r, y->u, report);
    rp_result result = RP_NOT_CONVERGED;
    double last = INFINITY, ratio[KINDS] = { 0 }; /* of residuals after and before the last stage of each; 0: not tried */
    while (left > 0 && result == RP_NOT_CONVERGED) {
        int kind = next_kind(ratio);
        if (kind == KINDS) {
            memset(ratio, 0, sizeof ratio);
            kind = 0;
        }
        int64_t share = kind >= DAMPED ? (left + 1) / 2 : left > STAGE ? STAGE : left;
        options->solver = kind == CONVEX ? RP_FRICTION_CADOUX : kind == GRADIENT ? RP_FRICTION_APGD : RP_FRICTION_GAUSS_SEIDEL_COLOURED;
        options->acceleration = kind == MOMENTUM ? RP_FRICTION_MOMENTUM : RP_FRICTION_ANDERSON;
        options->damped = kind == DAMPED;
        options->max_iterations = share;
        result = rp_friction_solve(problem, options, y->r, y->u, report);
        done += report->iterations;
        left -= share;
        ratio[kind] = isfinite(last) ? report->residual.mean / last : DBL_MIN;
        last = report->residual.mean;
    }
    report->iterations = done;
    return result;
}

static rp_friction_options options_of(const rp__contact_state *s, const rp__world *world)
{
    rp_friction_options options = rp_default_friction_options();
    options.solver = (rp_friction_solver)s->params->solver;
    options.local = (rp_friction_local_solver)s->params->local_solver;
    options.tolerance = s->params->tolerance;
    options.tolerance_max = s->params->tolerance_max;
    options.threads = rp__exec_threads();
    options.warm_start = true;
    options.time_limit = 0; /* a step has the same bytes however long it takes */
    options.cancel = world->cancel;
    return options;
}

/* In at most `most` sweeps. */
static rp_result solve_once(rp__contact_state *s, const rp__world *world, double dt, const rp_friction *problem, int64_t most,
                            rp_friction_report *report)
{
    rp_friction_options options = options_of(s, world);
    double scale = rp_friction_get_info(problem).scale, unit = unit_of(world, dt, scale);
    options.tolerance *= unit / scale;
    options.tolerance_max *= unit / scale;
    options.max_iterations = most > 1 ? most : 1;
    rp_result result = solve_in_stages(problem, &options, &s->system, report);
    report->residual.mean *= scale / unit;
    report->residual.max *= scale / unit;
    return result == RP_NOT_CONVERGED ? RP_OK : result;
}

/* A few sweeps more where things hardly move: at rest errors add up from step to step. What these leave, wedged things whose forces move by a little
 * in each, the accelerated gradient takes away. */
static rp_result solve_at_rest(rp__contact_state *s, const rp__world *world, double dt, const rp_friction *problem, rp_step_stats *stats)
{
    rp_friction_options options = options_of(s, world);
    rp_friction_report report;
    double scale = rp_friction_get_info(problem).scale, unit = unit_of(world, dt, scale), strict = strictness(s, world, unit);
    if (strict >= 1)
        return RP_OK;
    options.tolerance *= strict * unit / scale;
    options.tolerance_max *= strict * unit / scale;
    options.max_iterations = REST_SWEEPS;
    rp_result result = RP_NOT_CONVERGED;
    for (int turn = 0; turn < 2 && result == RP_NOT_CONVERGED; turn++) {
        options.solver = turn == 0 ? RP_FRICTION_GAUSS_SEIDEL_COLOURED : RP_FRICTION_APGD;
        result = rp_friction_solve(problem, &options, s->system.r, s->system.u, &report);
        if (result != RP_OK && result != RP_NOT_CONVERGED)
            return result;
        stats->iterations += report.iterations;
    }
    stats->residual_mean = report.residual.mean * scale / unit;
    stats->residual_max = report.residual.max * scale / unit;
    return RP_OK;
}

/* A step that ends unconverged makes no energy. */
static rp_result make_passive(rp__contact_state *s, const rp__world *world, double dt, const rp_friction *problem, rp_step_stats *stats)
{
    rp__contact_system *y = &s->system;
    rp_friction_options options = options_of(s, world);
    rp_friction_residual residual;
    double scale = rp_friction_get_info(problem).scale, unit = unit_of(world, dt, scale);
    RP_TRY(rp__friction_dissipate(problem, &options, y->r, y->u, &stats->iterations));
    RP_TRY(rp_friction_evaluate(problem, y->r, y->u, &residual));
    stats->residual_mean = residual.mean * scale / unit;
    stats->residual_max = residual.max * scale / unit;
    return RP_OK;
}

static void final_velocity(rp__contact_system *y)
{
    if (y->count)
        rp__contact_apply(y, y->r, y->velocity);
    else
        memset(y->velocity, 0, (size_t)y->size * sizeof(double));
    for (int64_t k = 0; k < y->size; k++)
        y->velocity[k] += y->free_velocity[k];
}

/* What is asked of the displacement of contact i, over dt: the gap that the step leaves may close again, an overlap shrinks by the part
 * `push`, at most a tenth of a radius. False when it asks for nothing. */
static bool wanted_shift(const rp__contact_state *s, int64_t i, double dt, double *b)
{
    const rp__contact_system *y = &s->system;
    const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
    double end = c->gap + dt * (y->u[i * y->width] - y->w[i * y->width]), touching = s->params->overlap * c->size;
    *b = end > touching ? (end - touching) / dt : -fmin(s->params->push * fmax(0, -end - touching), 0.1 * c->size) / dt;
    return *b < 0;
}

/* Overlaps are taken away by displacements that become neither speed nor energy nor memory: the smallest, in the norm of A, that part what
 * overlaps and let nothing else go deeper,  min ½ dᵀ A d,  H_Nᵀ d + b >= 0: a problem without friction. Where they cannot part (a fibre
 * between two roots) a few sweeps give a compromise. Uses y->velocity; the problem has another b then. */
static rp_result separate(rp__contact_state *s, const rp__world *world, rp_friction *problem, double dt)
{
    rp__contact_system *y = &s->system;
    int64_t n = y->count * y->width;
    bool any = false;
    memset(y->shift, 0, (size_t)y->size * sizeof *y->shift);
    double *memory = rp__base_alloc_zero((size_t)(3 * n) * sizeof *memory);
    if (!memory)
        return RP_OUT_OF_MEMORY;
    double *b = memory, *r = b + n, *u = r + n;
    for (int64_t i = 0; i < y->count; i++)
        any |= wanted_shift(s, i, dt, &b[i * y->width]);
    rp_result result = any ? rp_friction_set_b(problem, b) : RP_OK;
    if (result == RP_OK && any) {
        rp_friction_report report;
        rp_friction_options options = options_of(s, world);
        options.solver = RP_FRICTION_GAUSS_SEIDEL_COLOURED;
        options.local = RP_FRICTION_CONTACT_SCALAR;
        options.acceleration = RP_FRICTION_PLAIN;
        options.tolerance = SHIFT_TOLERANCE;
        options.tolerance_max = 10 * SHIFT_TOLERANCE;
        options.max_iterations = SHIFT_SWEEPS;
        result = rp_friction_solve(problem, &options, r, u, &report);
        if (result == RP_OK || result == RP_NOT_CONVERGED) {
            rp__contact_apply(y, r, y->shift);
            result = RP_OK;
        }
    }
    rp__base_free(memory);
    return result;
}

static rp_result dump(rp__contact_state *s, const rp__world *world, double dt)
{
    const rp__contact_params *par = s->params;
    if (s->system.count == 0 || s->dumped >= par->dump_problems || s->steps % par->dump_every != 0)
        return RP_OK;
    char *path = NULL;
    RP_TRY(rp__sim_dump_path(world, par->dump_folder, s->dumped, &path));
    rp_result result = rp__contact_dump(s, world, dt, path);
    rp__base_free(path);
    s->dumped++;
    return result;
}

static void tell(const rp_friction_report *report, rp_step_stats *stats)
{
    stats->iterations += report->iterations;
    stats->residual_mean = report->residual.mean;
    stats->residual_max = report->residual.max;
    stats->converged = report->result == RP_OK;
}

/* Contacts that count and their problem; again while contacts appear that the velocities found would make touch. Most appear in the first two
 * passes, which therefore are solved roughly: what they would be solved for better is another problem then. The problem of the last pass is left
 * in *problem. */
static rp_result solve_passes(rp__contact_state *s, rp__world *world, double dt, rp_step_stats *stats, rp_friction **problem)
{
    rp__contact_system *y = &s->system;
    double t = rp__base_seconds();
    int64_t added = 0, most = s->params->max_iterations;
    bool fine = false;
    for (int64_t pass = 0; pass < s->params->passes; pass++) {
        RP_TRY(rp__contact_activate(s, world, dt, pass == 0, &added));
        if (pass > 0 && added == 0 && (fine || y->count == 0))
            break;
        if (y->count == 0) {
            final_velocity(y);
            continue;
        }
        if (added > 0) {
            RP_TRY(rp__contact_assemble(s, world, dt));
            rp_friction_destroy(*problem);
            *problem = NULL;
            RP_TRY(rp__contact_make_problem(y, problem));
            RP_LAP(&world->phases, "assemble", t);
        }
        if (pass == 0)
            RP_TRY(dump(s, world, dt));
        bool last = pass + 1 == s->params->passes;
        fine = added == 0 || pass >= ROUGH_PASSES || last;
        rp_friction_report report;
        int64_t share = !fine ? ROUGH_SWEEPS : last ? most : most - most / 4; /* contacts that appear must be solved for too */
        RP_TRY(rp__sim_given_up(world));
        RP_TRY(solve_once(s, world, dt, *problem, share < most ? share : most, &report));
        most -= report.iterations;
        tell(&report, stats);
        final_velocity(y);
        RP_LAP(&world->phases, "solve", t);
    }
    if (y->count > 0 && !stats->converged && most > 0) { /* nothing appeared: the sweeps that were kept for it */
        rp_friction_report report;
        RP_TRY(solve_once(s, world, dt, *problem, most, &report));
        tell(&report, stats);
        final_velocity(y);
        RP_LAP(&world->phases, "solve", t);
    }
    return RP_OK;
}

rp_result rp__contact_solve(rp__contact_state *s, rp__world *world, double dt, rp_step_stats *stats)
{
    rp__contact_system *y = &s->system;
    rp_friction *problem = NULL;
    rp_result result = solve_passes(s, world, dt, stats, &problem);
    double t = rp__base_seconds();
    if (result == RP_OK && y->count > 0)
        result = stats->converged ? solve_at_rest(s, world, dt, problem, stats) : make_passive(s, world, dt, problem, stats);
    RP_LAP(&world->phases, "solve", t);
    if (result == RP_OK)
        result = separate(s, world, problem, dt);
    rp_friction_destroy(problem);
    RP_TRY(result);
    final_velocity(y);
    RP_LAP(&world->phases, "separate", t);
    return RP_OK;
}
