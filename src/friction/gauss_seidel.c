/* Block Gauss-Seidel, in the order of the contacts or colour by colour. */
#include "friction/anderson.h"
#include "friction/sweep_cone.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

void rp__friction_sweep_free(rp__friction_sweep *sweep)
{
    rp__base_free(sweep->factors);
    rp__base_free(sweep->change);
    rp__base_free(sweep->way);
    rp__base_free(sweep->part);
}

rp_result rp__friction_sweep_room(const rp_friction *p, rp__friction_sweep *sweep)
{
    sweep->change = rp__base_alloc_zero((size_t)p->contacts * sizeof(double));
    if (!sweep->change)
        return RP_OUT_OF_MEMORY;
    if (!sweep->run->o->damped || sweep->s) /* convex problems have real eigenvalues */
        return RP_OK;
    sweep->way = rp__base_alloc_zero((size_t)(p->contacts * p->dimension) * sizeof(double));
    sweep->part = RP_NEW_ARRAY(double, p->contacts);
    if (!sweep->way || !sweep->part)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < p->contacts; i++)
        sweep->part[i] = 1;
    return RP_OK;
}

void rp__friction_sweep_start(rp__friction_run *run)
{
    const rp_friction *p = run->p;
    if (p->kind == RP__FACTORED)
        RP__CONE_CALL(p, rp__friction_scatter_rows, 0, p->dofs, run->r, run->v);
    else if (p->kind == RP__CALLBACKS)
        p->callbacks.start(p->callbacks.context, run->r);
}

typedef struct colour_job {
    const rp_friction *p;
    rp__friction_sweep *sweep;
    const rp__friction_colors *colors;
} colour_job;

static void visit_one(void *context, int64_t item, int worker)
{
    colour_job *job = context;
    (void)worker;
    RP__CONE_CALL(job->p, rp__friction_sweep_visit, job->sweep, NULL, item, item + 1);
}

static void sweep_all(const rp_friction *p, rp__friction_sweep *sweep, const rp__friction_colors *colors)
{
    if (!colors)
        RP__CONE_CALL(p, rp__friction_sweep_visit, sweep, NULL, 0, p->contacts);
    else if (rp__exec_threads() == 1 || p->contacts < 256)
        RP__CONE_CALL(p, rp__friction_sweep_visit, sweep, colors->items, 0, p->contacts);
    else
        rp__exec_colors(colors->count, colors->first, colors->items, 16, visit_one, &(colour_job){ p, sweep, colors });
}

/* The largest change of a sweep as a velocity: a cheap hint of the residual, never trusted as one. */
static double hint(const rp__friction_run *run, const rp__friction_sweep *sweep)
{
    double sum = 0, largest = 0, scale = run->p->scale;
    for (int64_t i = 0; i < run->p->contacts; i++) {
        sum += sweep->change[i] * sweep->change[i];
        largest = fmax(largest, sweep->change[i]);
    }
    return fmax(sqrt(sum / (double)run->p->contacts) / scale / run->tolerance, largest / scale / run->tolerance_max);
}

/* What happens between two sweeps to speed them up: nothing, Nesterov's momentum (the next sweep starts from r + beta (r - r before),
 * dropped when it leads uphill), or Anderson's combination of the last sweeps. */
typedef struct booster {
    rp_friction_acceleration kind;
    double *memory, *from, *last; /* where the sweep began, where the one before ended */
    double theta;
    rp__anderson anderson;
} booster;

static rp_result booster_make(booster *t, const rp__friction_run *run, rp_friction_acceleration kind)
{
    *t = (booster){ .kind = kind };
    if (kind == RP_FRICTION_PLAIN)
        return RP_OK;
    t->memory = RP_NEW_ARRAY(double, 2 * run->n);
    if (!t->memory || (kind == RP_FRICTION_ANDERSON && !rp__anderson_make(&t->anderson, run->p, NULL, run->p->contacts)))
        return RP_OUT_OF_MEMORY;
    t->from = t->memory;
    t->last = t->memory + run->n;
    return RP_OK;
}

static void booster_free(booster *t)
{
    rp__base_free(t->memory);
    rp__anderson_free(&t->anderson);
}

static void booster_start(booster *t, const rp__friction_run *run)
{
    if (t->kind == RP_FRICTION_PLAIN)
        return;
    memcpy(t->from, run->r, (size_t)run->n * sizeof(double));
    memcpy(t->last, run->r, (size_t)run->n * sizeof(double));
    t->theta = 1;
    rp__anderson_forget(&t->anderson);
}

/* Coulomb's law is not the gradient of anything: sliding adds an asymmetric part to W, whose complex eigenvalues momentum would amplify
 * without end: in a bed of 4000 balls the residual grew a hundredfold. The bound is by trial there: 0.7 to 0.9 do about as well. */
#define MOST_MOMENTUM 0.85

/* How far the last sweep took contact i on in the direction in which its impulse went before, (r - from)·(r - last). */
static double onward(int d, const double *r, const double *from, const double *last)
{
    double sum = 0;
    for (int a = 0; a < d; a++)
        sum += (r[a] - from[a]) * (r[a] - last[a]);
    return sum;
}

/* r <- r + beta (r - last) of the contacts `items` (NULL: all), `count` of them; `from` is where the last sweep began, `last` where the one
 * before ended, both by contact in the order of the items. Contacts that the sweep turned back have none of it: a few that slide would be
 * thrown to and fro for ever, at which sweeps without momentum end. */
static void add_momentum(rp__friction_run *run, const int32_t *items, int64_t count, const double *from, double *last, double *theta)
{
    const rp_friction *p = run->p;
    int d = p->dimension;
    double downhill = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = items ? items[k] : k;
        downhill += p->norm[i] * onward(d, run->r + i * d, from + k * d, last + k * d);
    }
    double next = 0.5 * (1 + sqrt(1 + 4 * *theta * *theta)), beta = fmin((*theta - 1) / next, MOST_MOMENTUM);
    if (downhill < 0) {
        beta = 0;
        next = 1;
    }
    *theta = next;
    for (int64_t k = 0; k < count; k++) {
        double *at = run->r + (items ? items[k] : k) * d;
        double own = onward(d, at, from + k * d, last + k * d) < 0 ? 0 : beta;
        for (int a = 0; a < d; a++) {
            double r = at[a];
            at[a] = r + own * (r - last[k * d + a]);
            last[k * d + a] = r;
        }
    }
}

/* Changes run->r to the start of the next sweep. */
static void boost(booster *t, rp__friction_run *run)
{
    if (t->kind == RP_FRICTION_PLAIN)
        return;
    if (t->kind == RP_FRICTION_MOMENTUM)
        add_momentum(run, NULL, run->p->contacts, t->from, t->last, &t->theta);
    else
        rp__anderson_step(&t->anderson, t->from, run->r);
    memcpy(t->from, run->r, (size_t)run->n * sizeof(double));
    rp__friction_sweep_start(run);
}

enum { CHECK_AFTER = 20 }; /* sweeps */

/* Contacts whose law is not met to half of the largest residual allowed, and those they share a block with; run->u is up to date. */
static int64_t list_unmet(const rp__friction_run *run, char *marked, int32_t *items)
{
    const rp_friction *p = run->p;
    int64_t count = 0;
    for (int64_t i = 0; i < p->contacts; i++) {
        rp__friction_measure m = { 0 };
        RP__CONE_CALL(p, rp__friction_measure_rows, i, i + 1, run->r, run->u, NULL, &m);
        for (int64_t k = p->first[i]; k < p->first[i + 1] && m.largest > 0.5 * run->tolerance_max * p->scale; k++)
            marked[p->column[k]] = 1;
    }
    for (int64_t i = 0; i < p->contacts; i++)
        if (marked[i])
            items[count++] = (int32_t)i;
    return count;
}

static double worst_of(rp__friction_run *run, const int32_t *items, int64_t count)
{
    const rp_friction *p = run->p;
    rp__friction_measure m = { 0 };
    for (int64_t k = 0; k < count; k++) {
        int64_t i = items[k];
        RP__CONE_CALL(p, rp__friction_block_rows, i, i + 1, run->r, run->u);
        for (int a = 0; a < p->dimension; a++)
            run->u[i * p->dimension + a] += p->b[i * p->dimension + a];
        RP__CONE_CALL(p, rp__friction_measure_rows, i, i + 1, run->r, run->u, NULL, &m);
    }
    return m.largest;
}

/* The mean is small enough and the largest is not: what is left sits at a few contacts, whose forces whole sweeps would build up one step at
 * a time. Sweeps over these alone, at most as many visits as there are from one check to the next. */
static rp_result sweep_unmet(rp__friction_run *run, rp__friction_sweep *sweep)
{
    const rp_friction *p = run->p;
    int64_t n = p->contacts;
    int d = p->dimension;
    char *marked = rp__base_alloc_zero((size_t)n);
    int32_t *items = RP_NEW_ARRAY(int32_t, n);
    int64_t count = marked && items ? list_unmet(run, marked, items) : 0;
    double *from = RP_NEW_ARRAY(double, 2 * count * d), *last = from + count * d, theta = 1;
    rp_result result = marked && items && from ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < count && result == RP_OK; k++)
        memcpy(last + k * d, run->r + items[k] * d, (size_t)d * sizeof *last);
    int64_t visits = 0, sweeps = 0;
    while (result == RP_OK && count > 0 && visits < CHECK_AFTER * n && run->stop == RP_OK) {
        for (int64_t k = 0; k < count; k++)
            memcpy(from + k * d, run->r + items[k] * d, (size_t)d * sizeof *from);
        RP__CONE_CALL(p, rp__friction_sweep_visit, sweep, items, 0, count);
        if (visits / n < (visits + count) / n)
            rp__friction_tick(run);
        visits += count;
        if (++sweeps % CHECK_AFTER == 0 && worst_of(run, items, count) <= 0.5 * run->tolerance_max * p->scale)
            break;
        add_momentum(run, items, count, from, last, &theta);
    }
    rp__base_free(marked);
    rp__base_free(items);
    rp__base_free(from);
    return result;
}

static rp_result iterate(rp__friction_run *run, rp__friction_sweep *sweep, const rp__friction_colors *colors, booster *t)
{
    int64_t every = run->o->check_every, since = 0, wait = 1;
    rp__friction_sweep_start(run);
    booster_start(t, run);
    for (;;) {
        sweep_all(run->p, sweep, colors);
        bool go = rp__friction_tick(run);
        double h = hint(run, sweep);
        since++;
        bool due = every > 0 ? since >= every : since >= wait && (h <= 1 || since >= CHECK_AFTER);
        if (due || !go) {
            if (rp__friction_check(run) || !go)
                return RP_OK;
            since = 0;
            wait = h <= 1 ? (wait < 16 ? wait * 2 : 16) : 1; /* a hint that proved wrong must not cost a product each sweep */
            if (run->p->kind == RP__BLOCKS && run->progress.residual_mean <= run->tolerance && t->kind != RP_FRICTION_PLAIN) {
                RP_TRY(sweep_unmet(run, sweep));
                booster_start(t, run);
                continue;
            }
            if (run->p->kind == RP__CALLBACKS)
                rp__friction_sweep_start(run); /* W r by the rounding of one product, not of a thousand changes */
        }
        boost(t, run);
    }
}

rp_result rp__friction_gauss_seidel(rp__friction_run *run, bool coloured, rp_friction_acceleration kind)
{
    const rp_friction *p = run->p;
    rp__friction_colors colors = { 0 };
    rp__friction_sweep sweep = { .run = run, .local = run->o->local };
    booster b = { 0 };
    rp_result result = RP__CONE_CALL(p, rp__friction_sweep_make, &sweep);
    if (result == RP_OK && coloured)
        result = rp__friction_color(p, &colors);
    if (result == RP_OK)
        result = booster_make(&b, run, kind);
    if (result == RP_OK)
        result = iterate(run, &sweep, coloured ? &colors : NULL, &b);
    booster_free(&b);
    rp__friction_colors_free(&colors);
    rp__friction_sweep_free(&sweep);
    return result;
}

rp_result rp__friction_gauss_seidel_inner(rp__friction_run *run, const double *s, double goal, int64_t limit)
{
    const rp_friction *p = run->p;
    rp__friction_sweep sweep = { .run = run, .s = s };
    rp_result result = RP__CONE_CALL(p, rp__friction_sweep_make, &sweep);
    if (result == RP_OK)
        rp__friction_sweep_start(run);
    for (int64_t k = 0; k < limit && result == RP_OK; k++) {
        sweep_all(p, &sweep, NULL);
        if (!rp__friction_tick(run) || hint(run, &sweep) * run->tolerance <= 0.3 * goal)
            break;
    }
    if (result == RP_OK) {
        rp__friction_multiply(p, run->r, run->v, run->u);
        for (int64_t i = 0; i < run->n; i++)
            run->u[i] += p->b[i];
    }
    rp__friction_sweep_free(&sweep);
    return result;
}
