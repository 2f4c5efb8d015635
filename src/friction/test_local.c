/* One contact: the default solver never fails, the others agree with it where they converge. */
#include "base/error.h"
#include "friction/contact.h"
#include "friction/local.h"
#include "math/eigen.h"
#include "math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_default_never_fails(void **state)
{
    (void)state;
    static const int dimensions[] = { 2, 3, 6 };
    for (int k = 0; k < 3; k++) {
        rp_friction_contact_statistics s;
        assert_int_equal(rp_friction_measure_contacts(dimensions[k], RP_FRICTION_CONTACT_SCALAR, 100000, 20, &s), RP_OK);
        assert_int_equal(s.failures, 0);
        assert_true(s.worst_backward_error < 1e-14);
    }
}

/* Newton fails now and then (that is why it is not the default) but not often; enumeration almost never; the hybrid less. */
static void test_others_mostly_succeed(void **state)
{
    (void)state;
    static const int dimensions[] = { 2, 3, 6 };
    for (int k = 0; k < 3; k++) {
        rp_friction_contact_statistics newton, enumeration, hybrid;
        assert_int_equal(rp_friction_measure_contacts(dimensions[k], RP_FRICTION_CONTACT_NEWTON, 3000, 21, &newton), RP_OK);
        assert_true(newton.failures < 300);
        if (dimensions[k] == 6) {
            assert_int_equal(rp_friction_measure_contacts(6, RP_FRICTION_CONTACT_ENUMERATION, 1, 21, &newton), RP_UNSUPPORTED);
            continue;
        }
        assert_int_equal(rp_friction_measure_contacts(dimensions[k], RP_FRICTION_CONTACT_ENUMERATION, 3000, 21, &enumeration), RP_OK);
        assert_int_equal(rp_friction_measure_contacts(dimensions[k], RP_FRICTION_CONTACT_HYBRID, 3000, 21, &hybrid), RP_OK);
        assert_true(enumeration.failures < 30);
        assert_true(hybrid.failures <= enumeration.failures);
    }
}

static void well_conditioned(int d, uint64_t number, double *w, double *b, double *mu)
{
    double a[36];
    for (int i = 0; i < d * d; i++)
        a[i] = rp__random_normal(5, number, (uint64_t)i);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            w[i * d + j] = i == j ? 4 : 0;
            for (int k = 0; k < d; k++)
                w[i * d + j] += a[i * d + k] * a[j * d + k];
        }
    for (int i = 0; i < d; i++)
        b[i] = rp__random_normal(5, number, 50 + (uint64_t)i);
    *mu = 0.05 + rp__random_unit(5, number, 99);
}

/* When the contact is well conditioned and mu small against the coupling the solution is unique: all solvers must find it. */
static void test_solvers_agree(void **state)
{
    (void)state;
    static const int dimensions[] = { 2, 3, 6 };
    for (int k = 0; k < 3; k++)
        for (uint64_t number = 0; number < 500; number++) {
            int d = dimensions[k];
            double w[36], b[6], mu, first[6], r[6];
            rp_friction_contact_state state_first, state_other;
            well_conditioned(d, number, w, b, &mu);
            mu *= 0.3;
            assert_int_equal(rp_friction_solve_contact(d, RP_FRICTION_CONTACT_SCALAR, w, b, mu, first, &state_first), RP_OK);
            for (int s = 1; s < RP_FRICTION_CONTACT_COUNT; s++) {
                rp_result result = rp_friction_solve_contact(d, (rp_friction_local_solver)s, w, b, mu, r, &state_other);
                if (result == RP_UNSUPPORTED && d == 6)
                    continue;
                assert_int_equal(result, RP_OK);
                for (int i = 0; i < d; i++)
                    assert_true(fabs(r[i] - first[i]) < 1e-9);
            }
        }
}

/* Each state of the law, by hand. */
static void test_states_by_hand(void **state)
{
    (void)state;
    double w[9] = { 2, 0, 0, 0, 1, 0, 0, 0, 1 }, r[3];
    rp__friction_factor_c3 f;
    assert_true(rp__friction_factorise_c3(&f, w));
    assert_int_equal(rp__friction_solve_c3(&f, (double[]){ 1, 5, 5 }, 0.5, r), RP__TAKE_OFF);
    assert_true(r[0] == 0 && r[1] == 0 && r[2] == 0);
    assert_int_equal(rp__friction_solve_c3(&f, (double[]){ -4, 0.3, -0.4 }, 0.5, r), RP__STICK);
    assert_true(fabs(r[0] - 2) < 1e-15 && fabs(r[1] + 0.3) < 1e-15 && fabs(r[2] - 0.4) < 1e-15);
    assert_int_equal(rp__friction_solve_c3(&f, (double[]){ -4, 3, -4 }, 0.5, r), RP__SLIDE);
    assert_true(fabs(r[0] - 2) < 1e-14 && fabs(r[1] + 0.6) < 1e-14 && fabs(r[2] - 0.8) < 1e-14); /* |r_T| = 1 against (3, -4)/5 */
}

static void test_extreme_friction(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 2000; number++) {
        double w[36], b[6], unused, r[6], u[6];
        well_conditioned(6, number, w, b, &unused);
        b[0] = -fabs(b[0]) - 1e-3;
        rp__friction_factor_c6 f;
        assert_true(rp__friction_factorise_c6(&f, w));
        rp__friction_solve_c6(&f, b, 0, r);
        rp__friction_multiply_c6(w, r, b, u);
        assert_true(fabs(u[0]) < 1e-13);
        for (int i = 1; i < 6; i++)
            assert_true(r[i] == 0);
        static const double values[] = { 1e-300, 1e-12, 1e-3, 10, 1e6, 1e12, 1e100 };
        for (int k = 0; k < 7; k++) {
            rp__friction_solve_c6(&f, b, values[k], r);
            assert_true(rp__friction_backward_error_c6(w, b, values[k], r) < 1e-13);
        }
    }
}

/* Nothing finite comes from NaN, no hang, and unusable blocks are refused. */
static void test_bad_blocks(void **state)
{
    (void)state;
    rp__friction_factor_c3 f;
    double w[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, r[3];
    assert_true(rp__friction_factorise_c3(&f, w));
    rp__friction_solve_c3(&f, (double[]){ -1, NAN, 0 }, 0.5, r);
    assert_true(isnan(r[1]) || isnan(r[0]));
    rp__friction_solve_c3(&f, (double[]){ NAN, 1, 0 }, 0.5, r);
    assert_true(isnan(r[0]));
    w[4] = NAN;
    assert_false(rp__friction_factorise_c3(&f, w));
    w[4] = 1;
    w[0] = 0;
    assert_false(rp__friction_factorise_c3(&f, w));
    w[0] = -1;
    assert_false(rp__friction_factorise_c3(&f, w));
    double v[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, mu_bad = -0.1;
    assert_int_equal(rp_friction_solve_contact(3, RP_FRICTION_CONTACT_SCALAR, v, (double[]){ -1, 0, 0 }, mu_bad, r, NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp_friction_solve_contact(4, RP_FRICTION_CONTACT_SCALAR, v, (double[]){ -1, 0, 0 }, 1, r, NULL), RP_BAD_ARGUMENT);
}

/* A block of rank one (a contact that resists only along one direction) is an ordinary one. */
static void test_singular_block(void **state)
{
    (void)state;
    double w[9] = { 1, 0.5, 0, 0.5, 0.25, 0, 0, 0, 0 }, r[3];
    rp__friction_factor_c3 f;
    assert_true(rp__friction_factorise_c3(&f, w));
    double b[3] = { -1, -0.5, 0.2 };
    rp__friction_solve_c3(&f, b, 0.7, r);
    assert_true(rp__friction_backward_error_c3(w, b, 0.7, r) < 1e-14);
}

/* The decomposition against the one of the math room, on the matrices that hurt: clusters, zeros, wide ranges. */
static void test_eigen_against_math(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 3000; number++) {
        double a[25], values[5], vectors[25], reference[5], unused[25], norm = 0;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j <= i; j++) {
                double x = rp__random_normal(9, number, (uint64_t)(i * 5 + j));
                if (number % 5 == 1)
                    x *= pow(10, -10 * rp__random_unit(9, number, 50 + (uint64_t)(i * 5 + j)));
                if (number % 5 == 2)
                    x = (i == j) + 1e-12 * x;
                if (number % 5 == 3 && (i + j) % 2)
                    x = 0;
                if (number % 5 == 4)
                    x = rp__random_normal(9, number, (uint64_t)i) * rp__random_normal(9, number, (uint64_t)j) * 1e-150;
                a[i * 5 + j] = a[j * 5 + i] = x;
            }
        rp__friction_eigen_c6(a, values, vectors);
        rp__math_eigen(5, a, reference, unused);
        for (int k = 0; k < 25; k++)
            norm = fmax(norm, fabs(a[k]));
        for (int i = 0; i < 5; i++) {
            assert_true(fabs(values[i] - reference[i]) <= 1e-14 * 5 * norm);
            for (int j = 0; j < 5; j++) {
                double product = 0, identity = i == j ? -1 : 0;
                for (int k = 0; k < 5; k++) {
                    product += vectors[i * 5 + k] * values[k] * vectors[j * 5 + k];
                    identity += vectors[k * 5 + i] * vectors[k * 5 + j];
                }
                assert_true(fabs(product - a[i * 5 + j]) <= 2e-14 * norm);
                assert_true(fabs(identity) < 1e-14);
            }
        }
    }
}

static void test_projection_without_friction(void **state)
{
    (void)state;
    double pull[3] = { -2, 0, 0 }, push[3] = { 2, 0, 0 }, aside[3] = { 1, 3, -4 };
    rp__friction_project_c3(0, pull);
    rp__friction_project_c3(0, push);
    rp__friction_project_c3(0, aside);
    assert_true(pull[0] == 0 && push[0] == 2 && aside[0] == 1 && aside[1] == 0 && aside[2] == 0);
}

/* The projection is the nearest point: inside stays, the rest of the distance is orthogonal to it and points into the polar cone. */
static void test_projection(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 5000; number++) {
        double x[6], p[6], mu = 2 * rp__random_unit(3, number, 9), dot = 0, away[6], tangent = 0, out = 0;
        for (int i = 0; i < 6; i++)
            p[i] = x[i] = rp__random_normal(3, number, (uint64_t)i);
        rp__friction_project_c6(mu, p);
        for (int i = 0; i < 6; i++) {
            away[i] = x[i] - p[i];
            dot += away[i] * p[i];
            tangent += i > 0 ? p[i] * p[i] : 0;
            out += i > 0 ? away[i] * away[i] : 0;
        }
        assert_true(fabs(dot) < 1e-13);
        assert_true(sqrt(tangent) <= mu * p[0] * (1 + 1e-14) + 1e-300);
        assert_true(mu * sqrt(out) <= -away[0] + 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_never_fails), cmocka_unit_test(test_others_mostly_succeed),
        cmocka_unit_test(test_solvers_agree),       cmocka_unit_test(test_states_by_hand),
        cmocka_unit_test(test_extreme_friction),    cmocka_unit_test(test_bad_blocks),
        cmocka_unit_test(test_singular_block),      cmocka_unit_test(test_eigen_against_math),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_projection_without_friction),
    };
    return cmocka_run_group_tests_name("one contact", tests, NULL, NULL);
}
