/* Problems and global solvers: agreement, honesty, limits, threads, bad input. */
#include "base/error.h"
#include "base/memory.h"
#include "friction/solve.h"
#include "math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BODY = 3 }; /* degrees of freedom of a body */

/* Bodies pressed together at random: contact i touches bodies of its neighbourhood. With w = 0 a solution exists. */
typedef struct heap {
    int d;
    int64_t contacts, dofs;
    int64_t *m_first, *h_first;
    int32_t *m_row, *h_row;
    double *m, *h, *f, *w, *mu;
} heap;

static void heap_make(heap *t, int d, int64_t contacts, uint64_t seed, double mu)
{
    int64_t bodies = contacts / 2 + 2, touched = d == 6 ? 3 : 2, entries = contacts * d * touched * BODY;
    *t = (heap){ .d = d, .contacts = contacts, .dofs = bodies * BODY };
    t->m_first = calloc((size_t)t->dofs + 1, sizeof(int64_t));
    t->m_row = calloc((size_t)t->dofs * BODY, sizeof(int32_t));
    t->m = calloc((size_t)t->dofs * BODY, sizeof(double));
    t->h_first = calloc((size_t)(contacts * d) + 1, sizeof(int64_t));
    t->h_row = calloc((size_t)entries, sizeof(int32_t));
    t->h = calloc((size_t)entries, sizeof(double));
    t->f = calloc((size_t)t->dofs, sizeof(double));
    t->w = calloc((size_t)(contacts * d), sizeof(double));
    t->mu = calloc((size_t)contacts, sizeof(double));
    for (int64_t j = 0; j < t->dofs; j++) {
        int64_t body = j / BODY;
        t->m_first[j + 1] = (j + 1) * BODY;
        for (int k = 0; k < BODY; k++) {
            t->m_row[j * BODY + k] = (int32_t)(body * BODY + k);
            t->m[j * BODY + k] = j % BODY == k ? 1 + rp__random_unit(seed, 1, (uint64_t)body) : 0.1;
        }
        t->f[j] = rp__random_normal(seed, 2, (uint64_t)j);
    }
    for (int64_t i = 0, at = 0; i < contacts; i++) {
        t->mu[i] = mu;
        for (int a = 0; a < d; a++) {
            for (int64_t b = 0; b < touched; b++)
                for (int k = 0; k < BODY; k++, at++) {
                    t->h_row[at] = (int32_t)(((i / 2 + b) % bodies) * BODY + k);
                    t->h[at] = rp__random_normal(seed, 3, (uint64_t)at);
                }
            t->h_first[i * d + a + 1] = at;
        }
    }
}

static void heap_free(heap *t)
{
    free(t->m_first), free(t->m_row), free(t->m), free(t->h_first), free(t->h_row), free(t->h), free(t->f), free(t->w), free(t->mu);
}

static rp_friction_global_def heap_def(const heap *t)
{
    rp_friction_global_def def = rp_default_friction_global_def();
    def.dimension = t->d;
    def.contacts = t->contacts;
    def.dofs = t->dofs;
    def.m = (rp_friction_matrix){ t->dofs, t->dofs, t->m_first, t->m_row, t->m };
    def.h = (rp_friction_matrix){ t->dofs, t->contacts * t->d, t->h_first, t->h_row, t->h };
    def.f = t->f;
    def.w = t->w;
    def.mu = t->mu;
    return def;
}

static rp_friction *heap_problem(int d, int64_t contacts, uint64_t seed, double mu)
{
    heap t;
    heap_make(&t, d, contacts, seed, mu);
    rp_friction_global_def def = heap_def(&t);
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_global(&def, &p), RP_OK);
    heap_free(&t);
    return p;
}

static rp_friction_options limits(rp_friction_solver solver, double tolerance, int64_t iterations)
{
    rp_friction_options o = rp_default_friction_options();
    o.solver = solver;
    o.tolerance = tolerance;
    o.max_iterations = iterations;
    o.time_limit = 0;
    o.threads = 1;
    return o;
}

/* The law, checked contact by contact without any of the residual functions. */
static void assert_law(const rp_friction *p, const double *r, const double *u, double slack)
{
    int d = p->dimension;
    for (int64_t i = 0; i < p->contacts; i++) {
        double rt = 0, ut = 0, dot = 0, unit = p->scale, force = p->scale / p->norm[i] + r[i * d];
        for (int a = 1; a < d; a++) {
            rt += r[i * d + a] * r[i * d + a];
            ut += u[i * d + a] * u[i * d + a];
            dot += r[i * d + a] * u[i * d + a];
        }
        rt = sqrt(rt), ut = sqrt(ut);
        assert_true(r[i * d] >= 0);
        assert_true(u[i * d] >= -slack * unit);
        assert_true(rt <= p->mu[i] * r[i * d] + 1e-12 * force);
        assert_true(r[i * d] * u[i * d] <= slack * unit * force);
        assert_true(fabs(dot + p->mu[i] * r[i * d] * ut) <= 10 * slack * unit * force); /* friction takes all the power it can */
    }
}

static void test_every_solver(void **state)
{
    (void)state;
    static const int dimensions[] = { 2, 3, 6 };
    for (int k = 0; k < 3; k++) {
        rp_friction *p = heap_problem(dimensions[k], 60, 11, 0.4);
        int64_t n = 60 * dimensions[k];
        double *r = calloc((size_t)n, sizeof *r), *u = calloc((size_t)n, sizeof *u);
        for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++) {
            rp_friction_options o = limits((rp_friction_solver)s, 1e-7, 200000);
            rp_friction_report report;
            assert_int_equal(rp_friction_solve(p, &o, r, u, &report), RP_OK);
            assert_int_equal(report.result, RP_OK);
            assert_true(report.residual.mean <= 1e-7 && report.residual.max <= 1e-6);
            assert_true(report.residual.alart_curnier_mean <= 1e-6);
            assert_true(report.iterations > 0 && report.history_count > 0);
            assert_true(report.take_off + report.stick + report.slide == 60);
            assert_law(p, r, u, 1e-5);
            rp_friction_residual again;
            assert_int_equal(rp_friction_evaluate(p, r, NULL, &again), RP_OK);
            assert_true(fabs(again.mean - report.residual.mean) <= 1e-12);
        }
        for (int inner = RP_FRICTION_GAUSS_SEIDEL; inner <= RP_FRICTION_SPG; inner++) {
            rp_friction_options o = limits(RP_FRICTION_CADOUX, 1e-6, 400000);
            o.inner = (rp_friction_solver)inner;
            bool allowed = inner != RP_FRICTION_GAUSS_SEIDEL_COLOURED && inner != RP_FRICTION_GAUSS_SEIDEL_FOCUSED;
            assert_int_equal(rp_friction_solve(p, &o, r, u, NULL), allowed ? RP_OK : RP_BAD_ARGUMENT);
        }
        for (int a = 0; a <= RP_FRICTION_ANDERSON; a++)
            for (int l = 0; l < (dimensions[k] == 6 ? 2 : RP_FRICTION_CONTACT_COUNT); l++) {
                rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL, 1e-7, 100000);
                o.acceleration = (rp_friction_acceleration)a;
                o.local = (rp_friction_local_solver)l;
                assert_int_equal(rp_friction_solve(p, &o, r, u, NULL), RP_OK);
                assert_law(p, r, u, 1e-5);
            }
        free(r), free(u);
        rp_friction_destroy(p);
    }
}

static void test_products_against_plain(void **state)
{
    (void)state;
    static const int dimensions[] = { 2, 3, 6 };
    for (int k = 0; k < 3; k++)
        for (int kind = 0; kind < 2; kind++) {
            int d = dimensions[k];
            rp_friction *p = heap_problem(d, 3000, 5, 0.3);
            if (kind == 1 && p->kind == RP__BLOCKS) { /* the same W, held by factors */
                p->kind = RP__FACTORED;
            }
            int64_t n = p->contacts * d;
            double *r = calloc((size_t)n, 8), *v = calloc((size_t)p->dofs, 8), *u = calloc((size_t)n, 8), *w = calloc((size_t)n, 8);
            for (int64_t i = 0; i < n; i++)
                r[i] = rp__random_normal(1, 1, (uint64_t)i);
            rp__friction_multiply(p, r, v, u);
            rp__friction_multiply_ref(p, r, v, w);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabs(u[i] - w[i]) <= 1e-12 * p->norm[i / d]);
            free(r), free(v), free(u), free(w);
            rp_friction_destroy(p);
        }
}

/* W by blocks, from the columns of the product; W by factors; W as an operator: one answer. */
typedef struct dense {
    const rp_friction *p;
    double *v, *r;
} dense;

static void dense_multiply(void *context, const double *r, double *u)
{
    dense *t = context;
    rp__friction_multiply_ref(t->p, r, t->v, u);
}
static void dense_start(void *context, const double *r)
{
    dense *t = context;
    memcpy(t->r, r, (size_t)(t->p->contacts * t->p->dimension) * sizeof *r);
}
static void dense_gather(void *context, int64_t i, double *u)
{
    dense *t = context;
    int d = t->p->dimension;
    double *all = calloc((size_t)(t->p->contacts * d), sizeof *all);
    rp__friction_multiply_ref(t->p, t->r, t->v, all);
    memcpy(u, all + i * d, (size_t)d * sizeof *u);
    free(all);
}
static void dense_scatter(void *context, int64_t i, const double *change)
{
    dense *t = context;
    for (int a = 0; a < t->p->dimension; a++)
        t->r[i * t->p->dimension + a] += change[a];
}

static void test_three_forms(void **state)
{
    (void)state;
    enum { N = 20, D = 3 };
    rp_friction *global = heap_problem(D, N, 31, 0.3), *local = NULL, *operator_form = NULL;
    double column[N * D], unit[N * D] = { 0 }, *v = calloc((size_t)global->dofs, 8), *own = calloc((size_t)(N * D), 8);
    static double blocks[N * N * D * D];
    int64_t first[N + 1];
    int32_t index[N * N];
    for (int i = 0; i <= N; i++)
        first[i] = i * N;
    for (int j = 0; j < N * D; j++) {
        unit[j] = 1;
        rp__friction_multiply(global, unit, v, column);
        unit[j] = 0;
        for (int i = 0; i < N * D; i++) {
            blocks[((i / D * N + j / D) * D + i % D) * D + j % D] = column[i];
            index[i / D * N + j / D] = j / D;
        }
    }
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = D, def.contacts = N, def.first = first, def.column = index, def.blocks = blocks;
    def.b = global->b, def.mu = global->mu;
    assert_int_equal(rp_friction_create_local(&def, &local), RP_OK);
    dense t = { global, v, own };
    rp_friction_operator_def op = rp_default_friction_operator_def();
    op.dimension = D, op.contacts = N, op.diagonal = global->diagonal, op.b = global->b, op.mu = global->mu;
    op.context = &t, op.multiply = dense_multiply;
    assert_int_equal(rp_friction_create_operator(&op, &operator_form), RP_OK);
    double a[N * D], b[N * D], c[N * D];
    rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL, 1e-12, 100000);
    assert_int_equal(rp_friction_solve(operator_form, &o, c, NULL, NULL), RP_UNSUPPORTED); /* no gather */
    o.solver = RP_FRICTION_AUTO;
    assert_int_equal(rp_friction_solve(operator_form, &o, c, NULL, NULL), RP_OK); /* by gradients */
    rp_friction_destroy(operator_form);
    op.start = dense_start, op.gather = dense_gather, op.scatter = dense_scatter;
    assert_int_equal(rp_friction_create_operator(&op, &operator_form), RP_OK);
    o.solver = RP_FRICTION_GAUSS_SEIDEL;
    assert_int_equal(rp_friction_solve(global, &o, a, NULL, NULL), RP_OK);
    assert_int_equal(rp_friction_solve(local, &o, b, NULL, NULL), RP_OK);
    assert_int_equal(rp_friction_solve(operator_form, &o, c, NULL, NULL), RP_OK);
    double ua[N * D], ub[N * D], uc[N * D]; /* velocities are unique where forces may not be */
    rp_friction_residual unused;
    rp_friction_evaluate(global, a, ua, &unused);
    rp_friction_evaluate(local, b, ub, &unused);
    rp_friction_evaluate(operator_form, c, uc, &unused);
    for (int i = 0; i < N * D; i++) {
        assert_true(fabs(ua[i] - ub[i]) < 1e-8);
        assert_true(fabs(ua[i] - uc[i]) < 1e-8);
    }
    o.solver = RP_FRICTION_GAUSS_SEIDEL_COLOURED;
    assert_int_equal(rp_friction_solve(operator_form, &o, c, NULL, NULL), RP_UNSUPPORTED); /* no colours */
    rp_friction_destroy(global), rp_friction_destroy(local), rp_friction_destroy(operator_form);
    free(v), free(own);
}

static void test_threads_keep_bytes(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 5, 16 };
    static const rp_friction_solver solvers[] = { RP_FRICTION_GAUSS_SEIDEL_COLOURED, RP_FRICTION_APGD, RP_FRICTION_ADMM, RP_FRICTION_SPG };
    static const int dimensions[] = { 3, 6 };
    for (int k = 0; k < 2; k++) {
        rp_friction *p = heap_problem(dimensions[k], 5000, 17, 0.5);
        size_t bytes = (size_t)(5000 * dimensions[k]) * sizeof(double);
        double *first = malloc(bytes), *r = malloc(bytes);
        for (int s = 0; s < 4; s++)
            for (int t = 0; t < 4; t++) {
                rp_friction_options o = limits(solvers[s], 1e-12, 8);
                rp_friction_report report;
                o.threads = threads[t];
                assert_int_equal(rp_friction_solve(p, &o, t == 0 ? first : r, NULL, &report), RP_NOT_CONVERGED);
                assert_true(report.residual.mean < 1);
                if (t > 0)
                    assert_memory_equal(first, r, bytes);
            }
        free(first), free(r);
        rp_friction_destroy(p);
    }
}

/* Squares of such velocities are below the least normal number: whether they count as zero must not depend on the threads. */
static void test_threads_round_alike(void **state)
{
    (void)state;
    rp_friction *p = heap_problem(3, 2000, 17, 0.5);
    size_t bytes = (size_t)(2000 * 3) * sizeof(double);
    double *first = malloc(bytes), *r = malloc(bytes);
    for (int64_t i = 0; i < 2000 * 3; i++)
        p->b[i] *= 1e-156;
    p->scale *= 1e-156;
    for (int threads = 1; threads < 4; threads++) {
        rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL_COLOURED, 1e-12, 3);
        rp_friction_report report;
        o.threads = threads;
        rp_friction_solve(p, &o, threads == 1 ? first : r, NULL, &report);
        if (threads > 1)
            assert_memory_equal(first, r, bytes);
    }
    free(first), free(r);
    rp_friction_destroy(p);
}

/* Colours: neighbours never share one, and every contact is there once. */
static void test_colours(void **state)
{
    (void)state;
    rp_friction *p = heap_problem(3, 400, 2, 0.5);
    for (int kind = 0; kind < 2; kind++) {
        rp__friction_colors c;
        int32_t *color = malloc(400 * sizeof *color);
        if (kind == 1)
            p->kind = p->kind == RP__BLOCKS ? RP__FACTORED : p->kind;
        assert_int_equal(rp__friction_color(p, &c), RP_OK);
        for (int i = 0; i < 400; i++)
            color[i] = -1;
        for (int k = 0; k < c.count; k++)
            for (int64_t at = c.first[k]; at < c.first[k + 1]; at++) {
                assert_int_equal(color[c.items[at]], -1);
                color[c.items[at]] = k;
            }
        for (int i = 0; i < 400; i++) {
            assert_true(color[i] >= 0);
            for (int64_t k = p->first[i]; k < p->first[i + 1] && p->column; k++)
                assert_true(p->column[k] == i || color[p->column[k]] != color[i]);
        }
        rp__friction_colors_free(&c);
        free(color);
    }
    rp_friction_destroy(p);
}

static rp_result one_contact(double w_tangent, const double *b, double mu, rp_friction **p)
{
    double w[4] = { 1, 0, 0, w_tangent };
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = 2, def.contacts = 1, def.b = b, def.mu = &mu, def.blocks = w;
    def.first = (int64_t[]){ 0, 1 }, def.column = (int32_t[]){ 0 };
    return rp_friction_create_local(&def, p);
}

/* Two contacts that push one point against each other, both asked to approach: no force can do it. */
static void test_no_solution_is_said(void **state)
{
    (void)state;
    double blocks[16], b[4] = { -1, 0, -1, 0 }, mu[2] = { 0.5, 0.5 };
    int64_t first[3] = { 0, 2, 4 };
    int32_t column[4] = { 0, 1, 0, 1 };
    for (int k = 0; k < 4; k++) {
        double sign = k == 0 || k == 3 ? 1 : -1;
        memcpy(blocks + 4 * k, (double[]){ sign, 0, 0, sign }, 4 * sizeof(double));
    }
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = 2, def.contacts = 2, def.first = first, def.column = column, def.blocks = blocks, def.b = b, def.mu = mu;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_local(&def, &p), RP_OK);
    for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++) {
        rp_friction_options o = limits((rp_friction_solver)s, 1e-6, 3000);
        rp_friction_report report;
        double r[4];
        assert_int_equal(rp_friction_solve(p, &o, r, NULL, &report), RP_NOT_CONVERGED);
        assert_int_equal(report.result, RP_NOT_CONVERGED);
        assert_true(report.residual.mean > 0.1 && report.residual.mean <= 2);
        assert_true(report.iterations <= 3000 && strstr(rp_last_error(), "residual"));
        for (int i = 0; i < 4; i++)
            assert_true(isfinite(r[i]));
        rp_friction_residual again;
        rp_friction_evaluate(p, r, NULL, &again);
        assert_true(fabs(again.mean - report.residual.mean) < 1e-12); /* the best iterate, and its own residual */
    }
    rp_friction_options o = limits(RP_FRICTION_AUTO, 1e-6, 0);
    o.time_limit = 0.05;
    rp_friction_report report;
    double r[4];
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, &report), RP_NOT_CONVERGED);
    assert_true(report.seconds < 5);
    rp_friction_destroy(p);
}

static void test_friction_none_and_huge(void **state)
{
    (void)state;
    static const double values[] = { 0, 1e-9, 50, 1e8 };
    for (int k = 0; k < 4; k++) {
        rp_friction *p = heap_problem(3, 40, 3, values[k]);
        double r[120], u[120];
        rp_friction_options o = limits(RP_FRICTION_AUTO, 1e-7, 100000);
        assert_int_equal(rp_friction_solve(p, &o, r, u, NULL), RP_OK);
        if (values[k] == 0)
            for (int i = 0; i < 40; i++)
                assert_true(r[3 * i + 1] == 0 && r[3 * i + 2] == 0);
        rp_friction_destroy(p);
    }
}

/* Where nothing pushes and surfaces close while they slide, no coefficient of friction makes the residual small. */
static void test_residual_of_closing_surfaces(void **state)
{
    (void)state;
    static const double one[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, b[3] = { -1, 0, 0.2 }, r[3] = { 0, 0, 0 };
    static const int64_t first[2] = { 0, 1 };
    static const int32_t column[1] = { 0 };
    for (double mu = 20; mu < 1e9; mu *= 10) {
        rp_friction_local_def def = rp_default_friction_local_def();
        def.dimension = 3;
        def.contacts = 1;
        def.first = first;
        def.column = column;
        def.blocks = one;
        def.b = b;
        def.mu = &mu;
        rp_friction *p = NULL;
        rp_friction_residual residual;
        assert_int_equal(rp_friction_create_local(&def, &p), RP_OK);
        assert_int_equal(rp_friction_evaluate(p, r, NULL, &residual), RP_OK);
        assert_true(residual.mean > 0.9 && residual.alart_curnier_mean > 0.9);
        rp_friction_destroy(p);
    }
}

static bool stop_at_five(void *context, const rp_friction_progress *progress)
{
    *(int64_t *)context = progress->iteration;
    return progress->iteration < 5;
}

static void test_callback_and_cancel(void **state)
{
    (void)state;
    rp_friction *p = heap_problem(3, 200, 8, 0.7);
    double *r = calloc(600, sizeof *r);
    for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++) {
        int64_t seen = 0;
        rp_friction_report report;
        rp_friction_options o = limits((rp_friction_solver)s, 1e-14, 10000);
        o.callback = stop_at_five;
        o.context = &seen;
        assert_int_equal(rp_friction_solve(p, &o, r, NULL, &report), RP_CANCELLED);
        assert_int_equal(seen, 5);
        assert_true(isfinite(report.residual.mean));
        volatile int cancel = 1;
        o.callback = NULL;
        o.cancel = &cancel;
        assert_int_equal(rp_friction_solve(p, &o, r, NULL, &report), RP_CANCELLED);
        assert_true(report.iterations <= 4);
    }
    rp_friction_options o = limits(RP_FRICTION_AUTO, 1e-8, 100000);
    rp_friction_report cold, warm;
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, &cold), RP_OK);
    o.warm_start = true;
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, &warm), RP_OK);
    assert_int_equal(warm.iterations, 0);
    free(r);
    rp_friction_destroy(p);
}

static void assert_refused(rp_result result, const char *word)
{
    assert_int_not_equal(result, RP_OK);
    if (!strstr(rp_last_error(), word))
        fail_msg("\"%s\" does not say \"%s\"", rp_last_error(), word);
}

static void test_bad_local_problems(void **state)
{
    (void)state;
    enum { N = 3, D = 2 };
    int64_t first[N + 1] = { 0, 1, 2, 4 };
    int32_t column[] = { 0, 1, 1, 2 };
    double good[16] = { 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1 }, blocks[16], b[N * D] = { 0 }, mu[N] = { 0.5, 0.5, 0.5 };
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = D, def.contacts = N, def.first = first, def.column = column, def.blocks = blocks, def.b = b, def.mu = mu;
    rp_friction *p = NULL;
    memcpy(blocks, good, sizeof good);
    assert_int_equal(rp_friction_create_local(&def, &p), RP_OK);
    rp_friction_destroy(p);
    p = NULL;
    mu[1] = -0.5;
    assert_refused(rp_friction_create_local(&def, &p), "mu of contact 1");
    mu[1] = NAN;
    assert_refused(rp_friction_create_local(&def, &p), "mu of contact 1");
    mu[1] = 0.5;
    b[3] = INFINITY;
    assert_refused(rp_friction_create_local(&def, &p), "b of contact 1, component 1");
    b[3] = 0;
    blocks[5] = NAN;
    assert_refused(rp_friction_create_local(&def, &p), "block (1, 1)");
    memcpy(blocks, good, sizeof good);
    memset(blocks + 4, 0, 4 * sizeof(double));
    assert_refused(rp_friction_create_local(&def, &p), "diagonal block 1 of W is empty");
    memcpy(blocks, good, sizeof good);
    blocks[12] = -1;
    assert_refused(rp_friction_create_local(&def, &p), "diagonal block 2 of W is not positive");
    memcpy(blocks, good, sizeof good);
    blocks[15] = -1;
    assert_refused(rp_friction_create_local(&def, &p), "diagonal block 2 of W is not positive semidefinite");
    memcpy(blocks, good, sizeof good);
    blocks[8] = 0.5; /* (2, 1) without (1, 2) */
    assert_refused(rp_friction_create_local(&def, &p), "block (2, 1)");
    memcpy(blocks, good, sizeof good);
    blocks[8] = 5;
    assert_refused(rp_friction_create_local(&def, &p), "not positive");
    memcpy(blocks, good, sizeof good);
    blocks[1] = 0.5;
    assert_refused(rp_friction_create_local(&def, &p), "diagonal block 0 of W is not symmetric");
    memcpy(blocks, good, sizeof good);
    column[3] = 7;
    assert_refused(rp_friction_create_local(&def, &p), "column 7");
    column[3] = 2;
    first[2] = 0;
    assert_refused(rp_friction_create_local(&def, &p), "block row 1");
    first[2] = 2;
    def.dimension = 4;
    assert_refused(rp_friction_create_local(&def, &p), "dimension 4");
    def.dimension = D;
    def.contacts = 1000000000000;
    assert_int_equal(rp_friction_create_local(&def, &p), RP_TOO_LARGE);
    def.contacts = -1;
    assert_refused(rp_friction_create_local(&def, &p), "negative");
    assert_null(p);
}

static void test_bad_global_problems(void **state)
{
    (void)state;
    heap t;
    heap_make(&t, 3, 10, 1, 0.5);
    rp_friction_global_def def = heap_def(&t);
    rp_friction *p = NULL;
    t.m[0] = -1;
    assert_refused(rp_friction_create_global(&def, &p), "matrix M is not positive definite");
    t.m[0] = 1;
    t.m[1] = 3;
    assert_refused(rp_friction_create_global(&def, &p), "matrix M is not symmetric");
    t.m[1] = NAN;
    assert_refused(rp_friction_create_global(&def, &p), "matrix M: entry (1, 0)");
    t.m[1] = 0.1;
    t.f[4] = NAN;
    assert_refused(rp_friction_create_global(&def, &p), "entry 4 of f");
    t.f[4] = 0;
    t.h_row[5] = 1000;
    assert_refused(rp_friction_create_global(&def, &p), "matrix H");
    t.h_row[5] = 0;
    def.h.rows--;
    assert_refused(rp_friction_create_global(&def, &p), "matrix H is");
    def.h.rows++;
    for (int64_t k = t.h_first[6]; k < t.h_first[9]; k++)
        t.h[k] = 0;
    assert_refused(rp_friction_create_global(&def, &p), "diagonal block 2 of W is empty");
    assert_null(p);
    heap_free(&t);
}

static void test_bad_options(void **state)
{
    (void)state;
    rp_friction *p = NULL;
    double r[2] = { 0, 0 }, b[2] = { -1, 1 };
    assert_int_equal(one_contact(1, b, 0.5, &p), RP_OK);
    rp_friction_options o = limits(RP_FRICTION_AUTO, 1e-6, 0);
    assert_refused(rp_friction_solve(p, &o, r, NULL, NULL), "max_iterations and time_limit");
    o = limits(RP_FRICTION_AUTO, -1, 10);
    assert_refused(rp_friction_solve(p, &o, r, NULL, NULL), "tolerance");
    o = limits(RP_FRICTION_AUTO, 1e-6, 10);
    o.solver = (rp_friction_solver)99;
    assert_refused(rp_friction_solve(p, &o, r, NULL, NULL), "solver 99");
    o = limits(RP_FRICTION_AUTO, 1e-6, 10);
    o.warm_start = true;
    r[1] = NAN;
    assert_refused(rp_friction_solve(p, &o, r, NULL, NULL), "warm start");
    rp_friction_destroy(p);
}

static void test_no_contact_at_all(void **state)
{
    (void)state;
    rp_friction_local_def def = rp_default_friction_local_def();
    int64_t first[1] = { 0 };
    def.first = first;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_local(&def, &p), RP_OK);
    rp_friction_options o = rp_default_friction_options();
    double r[1];
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, NULL), RP_OK);
    rp_friction_destroy(p);
}

/* Every allocation of creating and solving fails once: an error each time, nothing left behind. */
static void test_out_of_memory(void **state)
{
    (void)state;
    heap t;
    heap_make(&t, 3, 30, 4, 0.6);
    rp_friction_global_def def = heap_def(&t);
    double r[90];
    size_t before = rp_memory_in_use();
    for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++) {
        rp_friction_options o = limits((rp_friction_solver)s, 1e-5, 20000);
        int64_t nth = 1;
        for (bool failed = true; failed; nth++) {
            rp_friction *p = NULL;
            rp__base_fail_allocation(nth);
            rp_result result = rp_friction_create_global(&def, &p);
            if (result == RP_OK)
                result = rp_friction_solve(p, &o, r, NULL, NULL);
            failed = result != RP_OK;
            if (failed)
                assert_int_equal(result, RP_OUT_OF_MEMORY);
            rp__base_fail_allocation(0);
            rp_friction_destroy(p);
            assert_int_equal(rp_memory_in_use(), before);
            assert_true(nth < 2000);
        }
        assert_true(nth > 10);
    }
    heap_free(&t);
}

/* A chain of contacts that pass a blow on, beside many that stand alone: W of the chain is 2 on and -1 beside the diagonal. */
enum { CHAIN = 24, ALONE = 3000, LINKED = CHAIN + ALONE };

static rp_friction *chain_problem(const double *b)
{
    static int64_t first[LINKED + 1];
    static int32_t column[3 * LINKED];
    static double block[9 * 3 * LINKED], mu[LINKED];
    memset(block, 0, sizeof block);
    int64_t at = 0;
    for (int i = 0; i < LINKED; i++) {
        first[i] = at;
        mu[i] = 0.5;
        for (int j = i - 1; j <= i + 1; j++) {
            if (j != i && (j < 0 || j >= CHAIN || i >= CHAIN))
                continue;
            column[at] = j;
            for (int a = 0; a < 3; a++)
                block[9 * at + 4 * a] = i == j ? 2 : -1;
            at++;
        }
    }
    first[LINKED] = at;
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = 3, def.contacts = LINKED, def.first = first, def.column = column, def.blocks = block, def.b = b, def.mu = mu;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_local(&def, &p), RP_OK);
    return p;
}

/* Few contacts that converge slowly do not hold up the rest: they are swept on their own. Without acceleration all are swept each time. */
static void test_unmet_contacts(void **state)
{
    (void)state;
    static double b[3 * LINKED], r[3 * LINKED];
    for (int i = 0; i < LINKED; i++)
        b[3 * i] = -1;
    rp_friction *p = chain_problem(b);
    rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL, 1e-2, 100000);
    rp_friction_report momentum, plain;
    o.tolerance_max = 1e-6;
    o.acceleration = RP_FRICTION_MOMENTUM;
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, &momentum), RP_OK);
    for (int i = 0; i < CHAIN; i++) /* r_i = (i + 1) (CHAIN - i) / 2 solves 2 r_i - r_i-1 - r_i+1 = 1 */
        assert_true(fabs(r[3 * i] - 0.5 * (i + 1) * (CHAIN - i)) < 1e-3);
    o.acceleration = RP_FRICTION_PLAIN;
    assert_int_equal(rp_friction_solve(p, &o, r, NULL, &plain), RP_OK);
    assert_true(momentum.iterations <= 60 && plain.iterations > 300);
    rp_friction_destroy(p);
}

/* Sliding makes plain sweeps of these problems run in circles for ever; damped ones solve them, and leave all impulses in their cones. */
static void test_damped_sweeps(void **state)
{
    (void)state;
    static const struct { uint64_t seed; double mu; } heaps[] = { { 4, 1 }, { 22, 1 }, { 40, 1 }, { 53, 1 }, { 47, 0.5 } };
    for (size_t k = 0; k < sizeof heaps / sizeof *heaps; k++) {
        rp_friction *p = heap_problem(3, 60, heaps[k].seed, heaps[k].mu);
        double r[180], u[180];
        rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL, 1e-6, 3000);
        rp_friction_report report;
        o.acceleration = RP_FRICTION_PLAIN;
        assert_int_equal(rp_friction_solve(p, &o, r, u, &report), RP_NOT_CONVERGED);
        assert_true(report.residual.mean > 1e-3);
        o.damped = true;
        assert_int_equal(rp_friction_solve(p, &o, r, u, &report), RP_OK);
        assert_law(p, r, u, 1e-4);
        rp_friction_destroy(p);
    }
}

/* A problem with another b is that which is made with it. */
static void test_other_b(void **state)
{
    (void)state;
    static double b[3 * LINKED], r[2][3 * LINKED];
    rp_friction *p = chain_problem(b), *q;
    for (int k = 0; k < 3 * LINKED; k++)
        b[k] = rp__random_normal(5, 6, (uint64_t)k);
    rp_friction_options o = limits(RP_FRICTION_GAUSS_SEIDEL, 1e-8, 100000);
    assert_int_equal(rp_friction_set_b(p, b), RP_OK);
    q = chain_problem(b);
    assert_int_equal(rp_friction_solve(p, &o, r[0], NULL, NULL), RP_OK);
    assert_int_equal(rp_friction_solve(q, &o, r[1], NULL, NULL), RP_OK);
    assert_memory_equal(r[0], r[1], sizeof r[0]);
    assert_true(fabs(rp_friction_get_info(p).scale - sqrt(3)) < 0.05);
    rp_friction *global = heap_problem(3, 20, 31, 0.3);
    assert_int_equal(rp_friction_set_b(global, b), RP_UNSUPPORTED);
    b[7] = NAN;
    assert_refused(rp_friction_set_b(p, b), "b");
    rp_friction_destroy(p), rp_friction_destroy(q), rp_friction_destroy(global);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_solver),        cmocka_unit_test(test_products_against_plain),
        cmocka_unit_test(test_three_forms),         cmocka_unit_test(test_threads_keep_bytes),
        cmocka_unit_test(test_threads_round_alike),
        cmocka_unit_test(test_colours),             cmocka_unit_test(test_no_solution_is_said),
        cmocka_unit_test(test_friction_none_and_huge), cmocka_unit_test(test_residual_of_closing_surfaces), cmocka_unit_test(test_callback_and_cancel),
        cmocka_unit_test(test_bad_local_problems),  cmocka_unit_test(test_bad_global_problems),
        cmocka_unit_test(test_bad_options),         cmocka_unit_test(test_no_contact_at_all),
        cmocka_unit_test(test_out_of_memory),       cmocka_unit_test(test_unmet_contacts),
        cmocka_unit_test(test_other_b),             cmocka_unit_test(test_damped_sweeps),
    };
    return cmocka_run_group_tests_name("friction problems", tests, NULL, NULL);
}
