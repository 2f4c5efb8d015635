/* Friction and pressure together.
 *
 * A round is a sweep of the contact stresses there and back, then the pressure of the mixture; between rounds everything is extrapolated,
 * with restarts [daviet2016 §5.4 for friction alone]. Stresses and pressures in turn would creep where drag is strong, since both push the
 * same way: so λ_N of a cell takes the pressure back that it would cause in its own cell,
 *
 *   p = p~ - s c0 λ_N,   s = sum_j a_j g_cj·D_cj / (D Θ Dᵀ + ε C)_cc,   γ~_N = γ_N - ½ c0 s r_c
 *
 * which leaves r_c as it is: λ_N acts on the slip between the phases, p~ on the mixture. At the solution r = 0, so γ~ = γ: it is the same
 * problem. W~, the answer of γ~ to λ, is a congruence of the plain one, symmetric and positive.
 *
 * Cells that dilate, or rub the more the faster they shear, have a law of their own (rheology_dim.c). */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* ---- sweeps ---- */

/* λ of a cell in its law, where γ~ and λ are as they stand. */
DP_INLINE void obey(dp_stress *s, const double gamma[DP_S], double *root, double next[DP_S])
{
    double b[DP_S];
    for (int i = 0; i < DP_S; i++) {
        b[i] = gamma[i];
        for (int j = 0; j < DP_S; j++)
            b[i] -= s->w[i][j] * s->lambda[j];
    }
    if (s->rated)
        DP(obey_rate)(s, b, root, next);
    else
        DP_CONE_NAME(rp__friction_solve)(&s->factor, b, s->mu, next);
}

static void visit(const dp_solve *w, dp_stress *s)
{
    dp_system *y = w->y;
    double gamma[DP_S], next[DP_S], change[DP_S], pressure = 0;
    double r = dp_shifted_strain(y, s, w->dt, gamma);
    bool any = r != 0;
    pressure = s->stiffness > 0 ? -r / s->stiffness : 0;
    obey(s, gamma, &s->root, next);
    for (int i = 0; i < DP_S; i++) {
        change[i] = w->relax * (next[i] - s->lambda[i]);
        any = any || change[i] != 0;
        s->lambda[i] += change[i];
    }
    if (!any)
        return;
    pressure -= dp_shifted(s, change);
    y->pressure[s->cell] += pressure;
    dp_scatter(y, s, w->dt, pressure, change, DP_PARTS);
}

DP_INLINE void visit_bent(const dp_solve *w, dp_stress *s)
{
    double gamma[DP_BENT], next[DP_BENT];
    dp_bent_strain(w->y, s, gamma);
    dp_bent_law(s, gamma, next);
    for (int i = 0; i < DP_BENT; i++) {
        double change = w->relax * (next[i] - s->bend[i]);
        s->bend[i] += change;
        next[i] = change;
    }
    dp_scatter_bent(w->y, s, w->dt, next);
}

/* A cell, and what its corners touch: the next cell then sees nodes that bodies have stopped. */
DP_INLINE void visit_all(const dp_solve *w, dp_stress *s)
{
    visit(w, s);
    visit_bent(w, s);
    if (w->world->body_count && s->touches)
        DP(visit_corners)(w, s);
}

static void sweep_column(void *context, int64_t column, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    int64_t begin = y->column_first[column], end = y->column_first[column + 1];
    (void)worker;
    if (w->backward)
        for (int64_t k = end - 1; k >= begin; k--)
            visit_all(w, &y->stress[k]);
    else
        for (int64_t k = begin; k < end; k++)
            visit_all(w, &y->stress[k]);
}

void DP(for_columns)(dp_system *y, rp__exec_item_fn function, void *context)
{
    rp__exec_colors(DP_CORNERS / 2, y->colour_first, y->column_items, 2, function, context);
}

/* ---- residual and extrapolation ---- */

/* How far a stress is from the law, in units of the typical stress. */
DP_INLINE double stress_residual(const dp_system *y, dp_stress *s, double dt)
{
    double gamma[DP_S], bent[DP_BENT], next[DP_BENT], sum = 0;
    dp_shifted_strain(y, s, dt, gamma);
    dp_bent_strain(y, s, bent);
    dp_bent_law(s, bent, next);
    for (int i = 0; i < DP_BENT; i++)
        sum += (next[i] - s->bend[i]) * (next[i] - s->bend[i]);
    if (s->rated) { /* units of its own would not know how steeply its friction begins: by how much its law would change it */
        double lambda[DP_S], root = s->root;
        obey(s, gamma, &root, lambda);
        for (int i = 0; i < DP_S; i++)
            sum += (lambda[i] - s->lambda[i]) * (lambda[i] - s->lambda[i]);
    } else {
        double r = dp_law_residual(s, gamma);
        sum += r * r;
    }
    return s->weight * sqrt(sum) / y->stress_unit;
}

static void residual_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        double tangent = 0;
        if (!s->usable)
            continue;
        double r = y->residual[k] = stress_residual(y, s, w->dt);
        sum[0] += r * r;
        for (int i = 0; i < DP_S; i++) {
            double step = s->lambda[i] - s->before[i];
            sum[1] += (i ? s->scale_t : s->w[0][0]) * step * (s->lambda[i] - y->previous[k][i]);
            tangent += i ? s->lambda[i] * s->lambda[i] : 0;
        }
        bool slides = s->rated ? s->root > 0 : sqrt(tangent) >= (1 - 1e-9) * s->mu * s->lambda[0];
        int region = !(s->lambda[0] > 0) ? 0 : slides ? 2 : 1;
        sum[2 + region]++;
    }
}

static void residual_most(void *context, int64_t begin, int64_t end, double *most)
{
    const dp_system *y = ((const dp_solve *)context)->y;
    for (int64_t k = begin; k < end; k++) {
        double r = y->stress[k].usable ? y->residual[k] : 0;
        most[0] = r > most[0] || r != r ? r : most[0];
    }
}

/* Keeps the end of a round and goes beyond it: x + β (x - x of the round before). */
static void extrapolate_stresses(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = begin; k < end; k++)
        for (int i = 0; i < DP_S; i++) {
            double now = y->stress[k].lambda[i];
            y->stress[k].lambda[i] += w->beta * (now - y->previous[k][i]);
            y->stress[k].before[i] = y->stress[k].lambda[i];
            y->previous[k][i] = now;
        }
    for (int64_t k = begin; k < end; k++)
        for (int i = 0; i < DP_BENT; i++) {
            double now = y->stress[k].bend[i];
            y->stress[k].bend[i] += w->beta * (now - y->previous_bend[k][i]);
            y->previous_bend[k][i] = now;
        }
}

static void extrapolate_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        double now = y->pressure[c], rhs = y->rhs[c];
        y->pressure[c] += w->beta * (now - y->previous_pressure[c]);
        y->previous_pressure[c] = now;
        y->rhs[c] += w->beta * (rhs - y->previous_rhs[c]);
        y->previous_rhs[c] = rhs;
    }
}

static void extrapolate_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (const dp_run *run = y->near_nodes.run + begin; run < y->near_nodes.run + end; run++)
        for (int64_t j = run->first; j < run->first + run->count; j++)
            for (int a = 0; a < DP_PARTS; a++) {
                double u = y->node[j].u[a], q = y->node[j].w[a];
                y->node[j].u[a] += w->beta * (u - y->previous_u[DP_PARTS * j + a]);
                y->node[j].w[a] += w->beta * (q - y->previous_w[DP_PARTS * j + a]);
                y->previous_u[DP_PARTS * j + a] = u;
                y->previous_w[DP_PARTS * j + a] = q;
            }
}

static void extrapolate(dp_solve *w, double beta)
{
    dp_system *y = w->y;
    w->beta = beta;
    rp__exec_for(y->stress_count, 1024, extrapolate_stresses, w);
    rp__exec_for(y->cell_count, 4096, extrapolate_cells, w);
    rp__exec_for(y->near_nodes.count, 16, extrapolate_nodes, w);
    for (int64_t i = 0; i < y->contact_count; i++)
        for (int a = 0; a < RP_DIM; a++) {
            dp_contact *c = &y->contacts[i];
            double now = c->impulse[a];
            c->impulse[a] += beta * (now - c->before[a]);
            c->before[a] = now;
        }
}

/* ---- the whole ---- */

static rp_result reserve(dp_system *y)
{
    if (y->stress_count <= y->previous_capacity)
        return RP_OK;
    int64_t capacity = y->stress_count + y->stress_count / 4;
    void **to[] = { (void **)&y->previous, (void **)&y->previous_bend, (void **)&y->residual };
    const size_t size[] = { sizeof *y->previous, sizeof *y->previous_bend, sizeof *y->residual };
    y->previous_capacity = 0;
    for (int i = 0; i < 3; i++) {
        rp__base_free(*to[i]);
        *to[i] = rp__base_alloc_array((size_t)capacity, size[i]);
        if (!*to[i])
            return RP_OUT_OF_MEMORY;
        memset(*to[i], 0, (size_t)capacity * size[i]);
    }
    y->previous_capacity = capacity;
    return RP_OK;
}

static void one_round(dp_solve *w)
{
    dp_system *y = w->y;
    for (int half = 0; half < 2; half++) {
        w->backward = half;
        DP(for_columns)(y, sweep_column, w);
        DP(visit_contacts)(w);
    }
    DP(settle_bodies)(w);
}

static bool measure(dp_solve *w, dp_report *report, double *turn)
{
    dp_system *y = w->y;
    double sum[5], most = 0;
    rp__exec_sum(y->stress_count, 512, 5, residual_chunk, w, sum);
    rp__exec_max(y->stress_count, 512, 1, residual_most, w, &most);
    report->residual_mean = sqrt(sum[0] / (double)(y->stress_count ? y->stress_count : 1));
    report->residual_max = y->stress_count ? most : 0;
    report->take_off = (int64_t)sum[2], report->stick = (int64_t)sum[3], report->slide = (int64_t)sum[4];
    *turn = sum[1];
    double part = report->slide || report->rounds > DP_PATIENCE ? 1 : DP_AT_REST;
    return report->residual_mean <= part * y->params->tolerance && report->residual_max <= part * y->params->tolerance_max;
}

rp_result DP(solve)(dp_system *y, const rp__world *world, double dt, dp_report *report)
{
    dp_solve w = { .y = y, .world = world, .dt = dt, .relax = 1 };
    double mark = INFINITY;
    double t = 1, turned, last = INFINITY, least = y->smallest_outflow / dt;
    RP_TRY(reserve(y));
    DP(start_contacts)(&w);
    DP(start_bodies)(&w);
    DP(visit_contacts)(&w); /* with the stresses of the last step: what presses on bodies is found at once */
    DP(settle_bodies)(&w);
    RP_TRY(DP(solve_pressure)(&w, y->stress_count ? 0.1 : 0, least, report));
    DP(make_operators)(&w);
    extrapolate(&w, 0);
    const double *g = world->def->gravity;
    double still = 1e-3 * dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    report->converged = y->stress_count == 0 && !DP(free_bodies)(world);
    while (!report->converged && report->rounds < y->params->max_rounds) {
        one_round(&w);
        RP_TRY(DP(solve_pressure)(&w, DP_PRESSURE_PART, 0, report));
        RP_TRY(rp__sim_given_up(world));
        report->rounds++;
        w.moved = DP(moved_bodies)(&w);
        report->converged = measure(&w, report, &turned) && w.moved <= still;
        if (report->converged || report->residual_max != report->residual_max || report->rounds == y->params->max_rounds)
            break;
        if (report->rounds % DP_PATIENCE == 0) { /* friction is no minimum of anything: sweeps may go round in circles */
            if (report->residual_mean > 0.9 * mark && w.relax > 0.4)
                w.relax *= 0.6;
            mark = report->residual_mean;
        }
        double beta = 0;
        if (y->params->momentum && report->rounds > 1 && y->stress_count) {
            if (turned < 0 || report->residual_mean > last)
                t = 1;
            double next = 0.5 * (1 + sqrt(1 + 4 * t * t));
            next = next < 16 ? next : 16;
            beta = (t - 1) / next;
            t = next;
        }
        last = report->residual_mean;
        extrapolate(&w, beta);
        DP(settle_bodies)(&w);
    }
    if (report->residual_max != report->residual_max)
        return rp__base_fail(RP_DIVERGED, "contact stresses have no end at t = %g s", world->time);
    RP_TRY(DP(solve_pressure)(&w, 0, least, report));
    DP(push_far_nodes)(y, dt);
    return RP_OK;
}
