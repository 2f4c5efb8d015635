/* Solving the problem of a step through the friction library, which sees W = Hᵀ A⁻¹ H only by what it does. */
#include "contact/state.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"

#include <stdio.h>
#include <string.h>

#define STRICTEST 1e-5 /* of the tolerances */
enum { REST_SWEEPS = 20 }; /* at most, beyond the tolerance, where things hardly move */
enum { ROLLING_TURNS = 4 }; /* of impulses and moments of rolling friction */

typedef struct product {
    const rp__contact_system *y;
    const double *r;
    double *velocity, *u;
} product;

/* v += Y r of one end. */
static void push(const rp__contact_system *y, const rp__contact_column *c, const double *r, double *velocity)
{
    const double *to = y->pool + c->y;
    double *v = velocity + c->y_first, x = r[0], z = r[1], w = y->dim == 3 ? r[2] : 0;
    for (int k = 0; k < c->y_rows; k++)
        v[k] += to[3 * k] * x + to[3 * k + 1] * z + to[3 * k + 2] * w;
}

static void pull(const rp__contact_system *y, int64_t i, const double *velocity, double *u)
{
    double sum[3] = { 0, 0, 0 };
    for (int e = 0; e < 2; e++) {
        const rp__contact_column *c = &y->column[i][e];
        if (c->rows == 0) /* a wall, or what cannot move */
            continue;
        const double *v = velocity + c->first;
        for (int r = 0; r < c->rows; r++)
            for (int k = 0; k < 3; k++)
                sum[k] += c->h[r][k] * v[r];
    }
    for (int k = 0; k < y->dim; k++)
        u[k] = sum[k];
}

/* The velocities of some objects: each adds up its own contacts, in their order. */
static void push_objects(void *context, int64_t begin, int64_t end, int worker)
{
    product *p = context;
    const rp__contact_system *y = p->y;
    (void)worker;
    memset(p->velocity + y->object_first[begin], 0, (size_t)(y->object_first[end] - y->object_first[begin]) * sizeof(double));
    for (int64_t k = y->touch_first[begin]; k < y->touch_first[end]; k++) {
        int64_t i = y->touching[k] / 2;
        const double *r = p->r + i * y->dim;
        if (r[0] != 0 || r[1] != 0 || (y->dim == 3 && r[2] != 0))
            push(y, &y->column[i][y->touching[k] & 1], r, p->velocity);
    }
}

static void pull_range(void *context, int64_t begin, int64_t end, int worker)
{
    product *p = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        pull(p->y, i, p->velocity, p->u + i * p->y->dim);
}

static void apply(const rp__contact_system *y, const double *r, double *velocity)
{
    product p = { y, r, velocity, NULL };
    rp__exec_for(y->objects, 64, push_objects, &p);
}

static void start(void *context, const double *r)
{
    rp__contact_system *y = context;
    apply(y, r, y->velocity);
}

static void multiply(void *context, const double *r, double *u)
{
    rp__contact_system *y = context;
    product p = { y, r, y->product, u };
    apply(y, r, y->product);
    rp__exec_for(y->count, 256, pull_range, &p);
}

static void gather(void *context, int64_t i, double *u)
{
    rp__contact_system *y = context;
    pull(y, i, y->velocity, u);
}

static void scatter(void *context, int64_t i, const double *change)
{
    rp__contact_system *y = context;
    for (int e = 0; e < 2; e++)
        if (y->column[i][e].object != NOTHING)
            push(y, &y->column[i][e], change, y->velocity);
}

/* Root mean square of the velocities at the beginning of the step. */
static double speed_before(const rp__contact_state *s, const rp__world *world)
{
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    double sum = 0, count = (double)(g.count + s->segments);
    for (int64_t i = 0; i < g.count; i++)
        for (int a = 0; a < 3; a++)
            sum += g.v[a][i] * g.v[a][i];
    for (int b = 0; b < world->body_count; b++)
        if (world->bodies[b].present)
            sum += rp__vec3_dot(world->bodies[b].velocity, world->bodies[b].velocity);
    for (int64_t k = 0; k < s->fibre_count; k++) {
        const rp__rod *rod = s->fibres[k].rod;
        for (int i = 0; i <= rod->edges; i++)
            for (int a = 0; a < 3; a++)
                sum += rod->velocity[4 * i + a] * rod->velocity[4 * i + a];
    }
    return sqrt(sum / fmax(count, 1));
}

/* Errors of the solution are velocities: they should be small beside the velocities that there are. The friction library measures them by
 * what gravity does in a step; where things hardly move they are asked to be smaller in proportion, so that what comes to rest rests. */
static double strictness(const rp__contact_state *s, const rp__world *world, double scale)
{
    return fmin(1, fmax(speed_before(s, world) / scale, STRICTEST));
}

static rp_result solve_once(rp__contact_state *s, const rp__world *world, rp_friction_report *report)
{
    rp__contact_system *y = &s->system;
    rp_friction_operator_def def = rp_default_friction_operator_def();
    def.dimension = y->dim;
    def.contacts = y->count;
    def.diagonal = y->diagonal;
    def.b = y->b;
    def.mu = y->mu;
    def.context = y;
    def.multiply = multiply, def.start = start, def.gather = gather, def.scatter = scatter;
    def.colors = y->colors;
    def.color_first = y->color_first;
    def.color_items = y->color_items;
    rp_friction *problem = NULL;
    RP_TRY(rp_friction_create_operator(&def, &problem));
    rp_friction_options options = rp_default_friction_options();
    options.solver = (rp_friction_solver)s->params->solver;
    options.local = (rp_friction_local_solver)s->params->local_solver;
    options.tolerance = s->params->tolerance;
    options.tolerance_max = s->params->tolerance_max;
    options.max_iterations = s->params->max_iterations;
    options.threads = rp__exec_threads();
    options.warm_start = true;
    options.cancel = world->cancel;
    rp_result result = rp_friction_solve(problem, &options, y->r, y->u, report);
    double strict = strictness(s, world, rp_friction_get_info(problem).scale);
    if (result == RP_OK && strict < 1) { /* a few sweeps more: at rest they add up from step to step */
        rp_friction_report more;
        options.solver = RP_FRICTION_GAUSS_SEIDEL_COLOURED;
        options.tolerance *= strict;
        options.tolerance_max *= strict;
        options.max_iterations = REST_SWEEPS;
        result = rp_friction_solve(problem, &options, y->r, y->u, &more);
        if (result == RP_OK || result == RP_NOT_CONVERGED) {
            report->iterations += more.iterations;
            report->residual = more.residual;
            result = RP_OK;
        }
    }
    rp_friction_destroy(problem);
    return result == RP_NOT_CONVERGED ? RP_OK : result;
}

static void final_velocity(rp__contact_system *y)
{
    if (y->count)
        apply(y, y->r, y->velocity);
    else
        memset(y->velocity, 0, (size_t)y->size * sizeof(double));
    for (int64_t k = 0; k < y->size; k++)
        y->velocity[k] += y->free_velocity[k];
}

static rp_result dump(rp__contact_state *s, const rp__world *world, double dt)
{
    const rp__contact_params *par = s->params;
    if (s->system.count == 0 || s->dumped >= par->dump_problems || s->steps % par->dump_every != 0)
        return RP_OK;
    char name[64];
    snprintf(name, sizeof name, "problem_%06lld.hdf5", (long long)s->dumped);
    char *inside = rp__file_join(world->def->folder ? world->def->folder : "", par->dump_folder && *par->dump_folder ? par->dump_folder : "problems");
    rp_result result = inside ? rp__file_make_folder(inside) : RP_OUT_OF_MEMORY;
    char *path = result == RP_OK ? rp__file_join(inside, name) : NULL;
    rp__base_free(inside);
    if (result == RP_OK)
        result = path ? rp__contact_dump(s, world, dt, path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    s->dumped++;
    return result;
}

/* Solves, and with rolling friction solves again with better moments. */
static rp_result solve_pass(rp__contact_state *s, const rp__world *world, rp_step_stats *stats)
{
    int turns = s->params->rolling_friction > 0 ? ROLLING_TURNS : 1;
    for (int k = 0; k < turns; k++) {
        rp_friction_report report;
        RP_TRY(rp__sim_given_up(world));
        RP_TRY(solve_once(s, world, &report));
        stats->iterations += report.iterations;
        stats->residual_mean = report.residual.mean;
        stats->residual_max = report.residual.max;
        stats->converged = report.result == RP_OK;
        final_velocity(&s->system);
        if (k + 1 < turns)
            rp__contact_roll(s, world);
    }
    return RP_OK;
}

rp_result rp__contact_solve(rp__contact_state *s, rp__world *world, double dt, rp_step_stats *stats)
{
    rp__contact_system *y = &s->system;
    double t = rp__base_seconds();
    int64_t added = 0, old = 0;
    for (int64_t pass = 0; pass < s->params->passes; pass++) {
        RP_TRY(rp__contact_activate(s, world, dt, pass == 0, &added));
        if (pass > 0 && added == 0)
            break;
        if (y->count == 0) {
            final_velocity(y);
            continue;
        }
        RP_TRY(rp__contact_assemble(s, world, dt, old));
        old = y->count;
        RP_LAP(&world->phases, "assemble", t);
        if (pass == 0)
            RP_TRY(dump(s, world, dt));
        RP_TRY(solve_pass(s, world, stats));
        RP_LAP(&world->phases, "solve", t);
    }
    return RP_OK;
}
