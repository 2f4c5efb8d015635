/* Iterates that make energy: after rp__friction_dissipate they make none, are in their cones and nearer to a solution; solutions stay as they are. */
#include "base/memory.h"
#include "friction/dissipate.h"
#include "friction/rolling.h"
#include "math/random.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CONTACTS = 14, MOST = CONTACTS * 6, DOFS = 24 };

typedef struct wedge {
    int d;
    double w[MOST * MOST], mu[CONTACTS], rolling[CONTACTS], diagonal[CONTACTS * 36], state[MOST];
} wedge;

static void multiply(void *context, const double *r, double *u)
{
    const wedge *t = context;
    int n = CONTACTS * t->d;
    for (int i = 0; i < n; i++) {
        u[i] = 0;
        for (int k = 0; k < n; k++)
            u[i] += t->w[i * n + k] * r[k];
    }
}

static void start(void *context, const double *r)
{
    wedge *t = context;
    memcpy(t->state, r, (size_t)(CONTACTS * t->d) * sizeof *r);
}

static void gather(void *context, int64_t contact, double *u)
{
    const wedge *t = context;
    int n = CONTACTS * t->d;
    for (int a = 0; a < t->d; a++) {
        u[a] = 0;
        for (int k = 0; k < n; k++)
            u[a] += t->w[(contact * t->d + a) * n + k] * t->state[k];
    }
}

static void scatter(void *context, int64_t contact, const double *change)
{
    wedge *t = context;
    for (int a = 0; a < t->d; a++)
        t->state[contact * t->d + a] += change[a];
}

/* W = Gᵀ G of more contacts than what moves can give way to: for most b there is no solution. */
static rp_friction *make(wedge *t, int d, bool rolls, const double *b, uint64_t seed)
{
    int n = CONTACTS * d;
    static double g[DOFS * MOST];
    t->d = d;
    for (int k = 0; k < DOFS * n; k++)
        g[k] = rp__random_normal(seed, 1, (uint64_t)k);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            double sum = 0;
            for (int j = 0; j < DOFS; j++)
                sum += g[j * n + i] * g[j * n + k];
            t->w[i * n + k] = sum;
            if (i / d == k / d)
                t->diagonal[(i / d) * d * d + (i % d) * d + k % d] = sum;
        }
    for (int i = 0; i < CONTACTS; i++) {
        t->mu[i] = i == 3 ? 1000 : rp__random_unit(seed, 2, (uint64_t)i);
        t->rolling[i] = 0.3 * rp__random_unit(seed, 3, (uint64_t)i);
    }
    rp_friction_operator_def def = rp_default_friction_operator_def();
    def.dimension = d, def.contacts = CONTACTS, def.diagonal = t->diagonal, def.b = b, def.mu = t->mu, def.context = t;
    def.rolling = rolls ? t->rolling : NULL;
    def.multiply = multiply, def.start = start, def.gather = gather, def.scatter = scatter;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_operator(&def, &p), RP_OK);
    return p;
}

static void project(const wedge *t, bool rolls, int i, double *x)
{
    if (rolls)
        rp__friction_rolling_project(t->d, t->mu[i], t->rolling[i], x);
    else if (t->d == 2)
        rp__friction_project_c2(t->mu[i], x);
    else
        rp__friction_project_c3(t->mu[i], x);
}

static rp_friction_options few_sweeps(int64_t sweeps)
{
    rp_friction_options o = rp_default_friction_options();
    o.solver = RP_FRICTION_GAUSS_SEIDEL;
    o.tolerance = 1e-9, o.tolerance_max = 1e-8;
    o.max_iterations = sweeps;
    o.time_limit = 0;
    o.threads = 1;
    return o;
}

static void test_no_energy(void **state)
{
    (void)state;
    static wedge t;
    const struct { int d; bool rolls; } kinds[] = { { 2, false }, { 3, false }, { 3, true }, { 6, true } };
    for (int kind = 0; kind < 4; kind++) {
        int d = kinds[kind].d, n = CONTACTS * d, made = 0;
        bool rolls = kinds[kind].rolls;
        for (uint64_t seed = 0; seed < 60; seed++) {
            double b[MOST], r[MOST], u[MOST], size = seed % 3 == 0 ? 0.1 : seed % 3 == 1 ? 1 : 1e4;
            for (int k = 0; k < n; k++) {
                b[k] = rp__random_normal(seed, 4, (uint64_t)k);
                r[k] = size * rp__random_normal(seed, 5, (uint64_t)k);
            }
            rp_friction *p = make(&t, d, rolls, b, seed);
            for (int i = 0; i < CONTACTS; i++)
                project(&t, rolls, i, r + i * d);
            rp_friction_residual before, after;
            rp_friction_options o = few_sweeps(10);
            int64_t sweeps = 0;
            assert_int_equal(rp_friction_evaluate(p, r, u, &before), RP_OK);
            double energy = rp__friction_energy(p, r, u);
            made += energy > 0;
            assert_int_equal(rp__friction_dissipate(p, &o, r, u, &sweeps), RP_OK);
            assert_true((sweeps > 0) == (energy > 0));
            assert_true(rp__friction_energy(p, r, u) <= 0);
            for (int i = 0; i < CONTACTS; i++) {
                double x[6], gap = 0, length = 0;
                memcpy(x, r + i * d, (size_t)d * sizeof *x);
                project(&t, rolls, i, x);
                for (int a = 0; a < d; a++) {
                    gap += fabs(x[a] - r[i * d + a]);
                    length += fabs(x[a]);
                }
                assert_true(gap <= 1e-12 * length);
            }
            assert_int_equal(rp_friction_evaluate(p, r, u, &after), RP_OK);
            if (energy > 0)
                assert_true(after.mean < before.mean);
            rp_friction_destroy(p);
        }
        assert_true(made > 20); /* there was something to do */
    }
}

/* What is solved stays as it is, to the bit. */
static void test_solutions_stay(void **state)
{
    (void)state;
    static wedge t;
    int solved = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        double b[MOST], r[MOST] = { 0 }, u[MOST], copy[MOST];
        for (int k = 0; k < CONTACTS * 3; k++)
            b[k] = rp__random_normal(seed, 4, (uint64_t)k) + (k % 3 == 0 ? 1 : 0);
        rp_friction *p = make(&t, 3, false, b, seed);
        rp_friction_options o = few_sweeps(2000);
        int64_t sweeps = 0;
        if (rp_friction_solve(p, &o, r, u, NULL) == RP_OK) {
            memcpy(copy, r, sizeof r);
            assert_int_equal(rp__friction_dissipate(p, &o, r, u, &sweeps), RP_OK);
            assert_memory_equal(copy, r, sizeof r);
            solved += sweeps == 0;
        }
        rp_friction_destroy(p);
    }
    assert_true(solved > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_energy), cmocka_unit_test(test_solutions_stay) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
