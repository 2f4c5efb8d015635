/* The law with rolling friction: its projection is the nearest point of the cone, one contact is solved, and a ball with a moment obeys. */
#include "friction/rolling.h"
#include "math/random.h"

#include <repose/friction.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double random_in(uint64_t k, double low, double high)
{
    return low + (high - low) * rp__random_unit(7, 3, k);
}

static bool inside(int d, double mu, double rolling, const double *x, double slack)
{
    int f = rp__friction_impulses(d);
    return x[0] >= -slack && rp__friction_length(x, 1, f) <= mu * x[0] + slack && rp__friction_length(x, f, d) <= rolling * x[0] + slack;
}

/* y is the nearest point of a convex cone exactly when y is in it, x - y is across y, and no point of the cone lies farther along x - y. */
static void test_projection(void **state)
{
    (void)state;
    uint64_t k = 0;
    for (int d = 3; d <= 6; d += 3)
        for (int n = 0; n < 3000; n++) {
            double mu = random_in(k++, 0, 1.5), rolling = random_in(k++, 0, 1), x[6], y[6], across = 0;
            for (int a = 0; a < d; a++)
                y[a] = x[a] = random_in(k++, -1, 1);
            rp__friction_rolling_project(d, mu, rolling, y);
            assert_true(inside(d, mu, rolling, y, 1e-14));
            for (int a = 0; a < d; a++)
                across += (x[a] - y[a]) * y[a];
            assert_true(fabs(across) < 1e-13);
            for (int t = 0; t < 20; t++) {
                double z[6], along = 0;
                for (int a = 0; a < d; a++)
                    z[a] = random_in(k++, -1, 1);
                rp__friction_rolling_project(d, mu, rolling, z);
                for (int a = 0; a < d; a++)
                    along += (x[a] - y[a]) * z[a];
                assert_true(along < 1e-13);
            }
        }
}

/* One contact by the alternating solve: both residuals vanish. */
static void test_one_contact(void **state)
{
    (void)state;
    uint64_t k = 1000000;
    int solved = 0;
    for (int d = 3; d <= 6; d += 3)
        for (int n = 0; n < 500; n++) {
            double w[36] = { 0 }, q[36], b[6], r[6] = { 0 }, u[6], mu = random_in(k++, 0.1, 1), rolling = random_in(k++, 0.01, 0.3);
            for (int a = 0; a < d * d; a++)
                q[a] = random_in(k++, -0.3, 0.3);
            for (int i = 0; i < d; i++)
                for (int j = 0; j < d; j++) {
                    w[i * d + j] = i == j;
                    for (int c = 0; c < d; c++)
                        w[i * d + j] += q[i * d + c] * q[j * d + c];
                }
            for (int a = 0; a < d; a++)
                b[a] = random_in(k++, -1, a == 0 ? 0 : 1);
            rp__friction_rolling_factor factor;
            assert_true(rp__friction_rolling_factorise(d, &factor, w));
            for (int turn = 0; turn < 20; turn++)
                rp__friction_rolling_solve(d, &factor, w, b, mu, rolling, r);
            for (int i = 0; i < d; i++) {
                u[i] = b[i];
                for (int j = 0; j < d; j++)
                    u[i] += w[i * d + j] * r[j];
            }
            assert_true(inside(d, mu, rolling, r, 1e-13));
            bool good = rp__friction_rolling_natural(d, r, u, mu, rolling, 0.3) < 1e-10 &&
                        rp__friction_rolling_alart_curnier(d, r, u, mu, rolling, 0.3) < 1e-10;
            solved += good;
        }
    assert_int_equal(solved, 1000);
}

/* W = 1 for one contact of dimension 6, by callbacks. */
static void multiply(void *context, const double *r, double *u)
{
    memcpy(u, r, 6 * sizeof *u);
    memcpy(context, r, 6 * sizeof *r);
}
static void start(void *context, const double *r)
{
    memcpy(context, r, 6 * sizeof *r);
}
static void gather(void *context, int64_t i, double *u)
{
    (void)i;
    memcpy(u, context, 6 * sizeof *u);
}
static void scatter(void *context, int64_t i, const double *change)
{
    (void)i;
    for (int a = 0; a < 6; a++)
        ((double *)context)[a] += change[a];
}

/* r_N = 1; the tangential part sticks, the moment is at its limit and opposed to the spin. Every solver finds it. */
static void test_by_hand(void **state)
{
    (void)state;
    double diagonal[36] = { 0 }, b[6] = { -1, 0.2, 0, 0.3, 0, 0.4 }, mu = 0.5, rolling = 0.1, memory[6] = { 0 };
    for (int a = 0; a < 6; a++)
        diagonal[7 * a] = 1;
    rp_friction_operator_def def = rp_default_friction_operator_def();
    def.dimension = 6;
    def.contacts = 1;
    def.diagonal = diagonal;
    def.b = b;
    def.mu = &mu;
    def.rolling = &rolling;
    def.context = memory;
    def.multiply = multiply, def.start = start, def.gather = gather, def.scatter = scatter;
    static const rp_friction_solver solvers[] = { RP_FRICTION_AUTO, RP_FRICTION_GAUSS_SEIDEL, RP_FRICTION_APGD, RP_FRICTION_CADOUX };
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_create_operator(&def, &p), RP_OK);
    for (int k = 0; k < 4; k++) {
        rp_friction_options options = rp_default_friction_options();
        double r[6];
        options.solver = solvers[k];
        options.tolerance = 1e-10;
        assert_int_equal(rp_friction_solve(p, &options, r, NULL, NULL), RP_OK);
        static const double exact[6] = { 1, -0.2, 0, -0.06, 0, -0.08 };
        for (int a = 0; a < 6; a++)
            assert_true(fabs(r[a] - exact[a]) < 1e-8);
        options.local = RP_FRICTION_CONTACT_NEWTON;
        assert_int_equal(rp_friction_solve(p, &options, r, NULL, NULL), RP_UNSUPPORTED);
    }
    rp_friction_destroy(p);
    rolling = -1;
    assert_int_equal(rp_friction_create_operator(&def, &p), RP_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_projection), cmocka_unit_test(test_one_contact), cmocka_unit_test(test_by_hand) };
    return cmocka_run_group_tests_name("rolling friction", tests, NULL, NULL);
}
