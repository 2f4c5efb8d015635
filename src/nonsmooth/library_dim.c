/* The solvers of the friction library on the problem of a step, matrix-free: the columns of H are made from g whenever they are needed.
 * What they find is where the sweeps start: these check it, and finish it when it is not good enough. */
#include "nonsmooth/problem.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <repose/friction.h>
#include <string.h>

typedef struct tables {
    double *diagonal, *b, *r;
} tables;

typedef struct job {
    ns_problem *p;
    tables *t;
    const double *r;
    double *u;
} job;

static void push(const ns_column *c, const double *r, double *v)
{
    for (int n = 0; n < c->count; n++)
        for (int k = 0; k < NS_S; k++)
            v[c->at[n]] += c->h[n][k] * r[k];
}

static void pull(const ns_column *c, const double *v, double *u)
{
    for (int k = 0; k < NS_S; k++)
        u[k] = 0;
    for (int n = 0; n < c->count; n++)
        for (int k = 0; k < NS_S; k++)
            u[k] += c->h[n][k] * v[c->at[n]];
}

static bool is_zero(const double *r)
{
    for (int k = 0; k < NS_S; k++)
        if (r[k] != 0)
            return false;
    return true;
}

static void push_block(void *context, int64_t block, int worker)
{
    const job *q = context;
    ns_column c;
    (void)worker;
    for (int64_t i = q->p->block_first[block]; i < q->p->block_first[block + 1]; i++) {
        if (is_zero(q->r + i * NS_S))
            continue;
        NS(problem_column)(q->p, i, &c);
        push(&c, q->r + i * NS_S, q->p->v);
    }
}

static void pull_range(void *context, int64_t begin, int64_t end, int worker)
{
    const job *q = context;
    ns_column c;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        NS(problem_column)(q->p, i, &c);
        pull(&c, q->p->v, q->u + i * NS_S);
    }
}

/* v = H r: blocks of one colour share no node; surfaces share bodies and come one after the other. */
static void start(void *context, const double *r)
{
    ns_problem *p = context;
    job q = { .p = p, .r = r };
    ns_column c;
    memset(p->v, 0, (size_t)p->size * sizeof *p->v);
    rp__exec_colors(p->y->grid.colours, p->y->grid.colour_first, p->y->grid.colour_items, 1, push_block, &q);
    for (int64_t i = p->stresses; i < p->contacts; i++) {
        if (is_zero(r + i * NS_S))
            continue;
        NS(problem_column)(p, i, &c);
        push(&c, r + i * NS_S, p->v);
    }
}

static void multiply(void *context, const double *r, double *u)
{
    ns_problem *p = context;
    job q = { .p = p, .u = u };
    start(context, r);
    rp__exec_for(p->contacts, 64, pull_range, &q);
}

static void gather(void *context, int64_t contact, double *u)
{
    ns_problem *p = context;
    ns_column c;
    NS(problem_column)(p, contact, &c);
    pull(&c, p->v, u);
}

static void scatter(void *context, int64_t contact, const double *change)
{
    ns_problem *p = context;
    ns_column c;
    NS(problem_column)(p, contact, &c);
    push(&c, change, p->v);
}

static void fill_range(void *context, int64_t begin, int64_t end, int worker)
{
    ns_problem *p = ((job *)context)->p;
    const tables *t = ((job *)context)->t;
    ns_column c;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double *w = t->diagonal + i * NS_S * NS_S, *b = t->b + i * NS_S;
        NS(problem_column)(p, i, &c);
        pull(&c, p->f, b);
        memset(w, 0, NS_S * NS_S * sizeof *w);
        for (int n = 0; n < c.count; n++)
            for (int k = 0; k < NS_S; k++)
                for (int l = 0; l < NS_S; l++)
                    w[k * NS_S + l] += c.h[n][k] * c.h[n][l];
        for (int k = 0; k < NS_S; k++)
            b[k] += p->w[i * NS_S + k];
        for (int k = 1; k < NS_S; k++) /* nothing to push against in some direction: the law must still be solvable */
            w[k * NS_S + k] += NS_FLOOR * w[0];
    }
}

/* Stresses and impulses to r, or back. */
static void exchange(const ns_problem *p, double *r, bool back)
{
    ns_system *y = p->y;
    for (int64_t i = 0; i < p->stresses; i++) {
        ns_stress *s = &y->stress[p->stress[i]];
        if (back) {
            memcpy(s->lambda, r + i * NS_S, sizeof s->lambda);
            memcpy(s->previous, s->lambda, sizeof s->lambda);
        } else {
            memcpy(r + i * NS_S, s->lambda, sizeof s->lambda);
        }
    }
    for (int64_t i = 0; i < y->contact_count; i++) {
        ns_contact *c = &y->contacts[i];
        double axes[RP_DIM][3], *to = r + (p->stresses + i) * NS_S;
        NS(problem_axes)(c->normal, axes);
        if (!back) {
            for (int k = 0; k < RP_DIM; k++)
                for (int a = 0; a < 3; a++)
                    to[k] += c->impulse[a] * axes[k][a] / (p->dt * p->unit);
            continue;
        }
        memset(c->impulse, 0, sizeof c->impulse);
        for (int k = 0; k < RP_DIM; k++)
            for (int a = 0; a < 3; a++)
                c->impulse[a] += p->dt * p->unit * to[k] * axes[k][a];
        memcpy(c->previous, c->impulse, sizeof c->impulse);
    }
}

static rp_result solve(ns_problem *p, tables *t, int64_t *iterations)
{
    static const rp_friction_solver solvers[] = { RP_FRICTION_AUTO, RP_FRICTION_GAUSS_SEIDEL, RP_FRICTION_PROJECTED_GRADIENT, RP_FRICTION_APGD,
                                                  RP_FRICTION_SPG,  RP_FRICTION_CADOUX,       RP_FRICTION_ADMM };
    const rp__nonsmooth_params *params = p->y->params;
    job q = { .p = p, .t = t };
    rp__exec_for(p->contacts, 64, fill_range, &q);
    exchange(p, t->r, false);
    rp_friction_operator_def def = rp_default_friction_operator_def();
    def.dimension = NS_S;
    def.contacts = p->contacts;
    def.diagonal = t->diagonal, def.b = t->b, def.mu = p->mu;
    def.context = p;
    def.multiply = multiply, def.start = start, def.gather = gather, def.scatter = scatter;
    rp_friction *problem = NULL;
    RP_TRY(rp_friction_create_operator(&def, &problem));
    rp_friction_options options = rp_default_friction_options();
    options.solver = solvers[params->solver - 1];
    options.tolerance = 0.1 * params->tolerance * (p->y->settled < NS_FIRST_STEPS ? NS_FIRST : 1); /* of |b|, not of stresses: the sweeps have the last word */
    options.tolerance_max = 0;
    options.max_iterations = 4 * params->max_iterations;
    options.time_limit = 0;
    options.threads = rp__exec_threads();
    options.warm_start = params->warm_start;
    rp_friction_report report;
    rp_result result = rp_friction_solve(problem, &options, t->r, NULL, &report);
    rp_friction_destroy(problem);
    if (result != RP_OK && result != RP_NOT_CONVERGED)
        return result;
    *iterations = report.iterations;
    exchange(p, t->r, true);
    return RP_OK;
}

rp_result NS(solve_library)(ns_system *y, const rp__world *world, double dt, int64_t *iterations)
{
    ns_problem p;
    *iterations = 0;
    RP_TRY(NS(problem_make)(y, world, dt, &p));
    tables t = { RP_NEW_ARRAY(double, p.contacts * NS_S * NS_S + 1), RP_NEW_ARRAY(double, p.contacts * NS_S + 1),
                 rp__base_alloc_zero(((size_t)p.contacts * NS_S + 1) * sizeof(double)) };
    rp_result result = t.diagonal && t.b && t.r ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && p.contacts > 0)
        result = solve(&p, &t, iterations);
    rp__base_free(t.diagonal), rp__base_free(t.b), rp__base_free(t.r);
    NS(problem_free)(&p);
    return result;
}
