/* Tests of the laws beyond the isotropic cone, and of the orientation of grains, for the RP_DIM of the file that includes this. */
#include "math/random.h"
#include "nonsmooth/orientation.h"
#include "nonsmooth/wide.h"

#include <cmocka_test.h>
#include <string.h>

static void random_positive(double *a, uint64_t seed, double spread)
{
    double c[RP_DIM + 2][RP_DIM];
    memset(a, 0, RP_DIM * RP_DIM * sizeof *a);
    for (int n = 0; n < RP_DIM + 2; n++)
        for (int i = 0; i < RP_DIM; i++)
            c[n][i] = rp__random_normal(3, seed, (uint64_t)(n * RP_DIM + i)) * pow(10, spread * rp__random_unit(4, seed, (uint64_t)i));
    for (int n = 0; n < RP_DIM + 2; n++)
        for (int i = 0; i < RP_DIM; i++)
            for (int j = 0; j < RP_DIM; j++)
                a[i * RP_DIM + j] += c[n][i] * c[n][j];
}

/* All solutions of the linearised law by trying each of the 3^T guesses. Returns how many. */
static int brute_force(const double *w, const double *b, double mu, double found[][NS_S], int most)
{
    int count = 0, total = 1;
    for (int k = 0; k < NS_T; k++)
        total *= 3;
    if (b[0] >= 0) {
        memset(found[0], 0, NS_S * sizeof(double));
        count = 1; /* gamma_N would have to be zero for any other: not looked for, the kernel takes off */
        return count;
    }
    for (int guess = 0; guess < total && count < most; guess++) {
        int side[NS_S] = { 0 };
        for (int k = 1, rest = guess; k < NS_S; k++, rest /= 3)
            side[k] = rest % 3 - 1;
        count += ns_box_try(w, b, mu, side, found[count]);
    }
    return count;
}

static void linearised_law_agrees_with_brute_force(void **state)
{
    (void)state;
    int seen[3] = { 0 };
    for (uint64_t t = 0; t < 4000; t++) {
        double g[RP_DIM * RP_DIM], w[NS_S * NS_S], gamma[NS_S], from[NS_S], to[NS_S], b[NS_S], found[8][NS_S];
        double mu = 0.01 + 1.2 * rp__random_unit(1, t, 0), size = 0, best = INFINITY;
        ns_wide f = { .nn = 0 };
        random_positive(g, t, 1);
        ns_wide_operator(g, NULL, w);
        assert_true(ns_wide_linear(&f, w, NULL));
        for (int k = 0; k < NS_S; k++) {
            gamma[k] = f.nn * rp__random_normal(2, t, (uint64_t)k);
            from[k] = rp__random_normal(5, t, (uint64_t)k);
        }
        from[0] = fabs(from[0]);
        seen[ns_law_box(w, gamma, from, mu, to)]++;
        for (int i = 0; i < NS_S; i++) {
            b[i] = gamma[i];
            for (int j = 0; j < NS_S; j++)
                b[i] -= w[i * NS_S + j] * from[j];
            size = fmax(size, fabs(to[i]));
        }
        int count = brute_force(w, b, mu, found, 8);
        assert_true(count > 0);
        for (int c = 0; c < count; c++) {
            double far = 0;
            for (int k = 0; k < NS_S; k++)
                far = fmax(far, fabs(to[k] - found[c][k]));
            best = fmin(best, far);
        }
        if (!(best <= 1e-8 * (size + 1)))
            fail_msg("problem %d: off by %g from the nearest of %d solutions", (int)t, best, count);
        double after[NS_S];
        for (int i = 0; i < NS_S; i++)
            after[i] = ns_row(w, b, to, i);
        assert_true(ns_box_natural(f.nn, after, to, mu) <= 1e-8 * (size + 1));
        for (int k = 1; k < NS_S; k++) /* the definition, spelled out */
            assert_true(fabs(to[k]) <= mu * to[0] * (1 + 1e-9) + 1e-12);
    }
    for (int k = 0; k < 3; k++)
        assert_true(seen[k] > 20);
}

/* The bisection alone, which the guesses make rare. */
static void linearised_law_by_bisection(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < 200; t++) {
        double g[RP_DIM * RP_DIM], w[NS_S * NS_S], b[NS_S], x[NS_S] = { 0 }, after[NS_S];
        double mu = 0.01 + 1.2 * rp__random_unit(1, t, 0);
        ns_wide f = { .nn = 0 };
        random_positive(g, t, 0.5);
        ns_wide_operator(g, NULL, w);
        assert_true(ns_wide_linear(&f, w, NULL));
        for (int k = 0; k < NS_S; k++)
            b[k] = f.nn * rp__random_normal(2, t, (uint64_t)k);
        b[0] = -fabs(b[0]);
        ns_box_bisect(w, b, mu, x);
        for (int i = 0; i < NS_S; i++)
            after[i] = ns_row(w, b, x, i);
        assert_true(ns_box_natural(f.nn, after, x, mu) <= 1e-7 * (x[0] + 1));
    }
}

/* Friction of the linearised law in directions of the deviator: mu along a coefficient, sqrt(T) mu in between. */
static void linearised_friction_depends_on_direction(void **state)
{
    (void)state;
    const double mu = 0.6;
    double g[RP_DIM * RP_DIM] = { 0 }, w[NS_S * NS_S], from[NS_S] = { 0 }, to[NS_S];
    ns_wide f = { .nn = 0 };
    for (int a = 0; a < RP_DIM; a++)
        g[a * RP_DIM + a] = 1;
    ns_wide_operator(g, NULL, w);
    assert_true(ns_wide_linear(&f, w, NULL));
    double along[NS_S] = { -1, 50 }, between[NS_S];
    between[0] = -1;
    for (int k = 1; k < NS_S; k++)
        between[k] = k % 2 ? 50 : -50;
    assert_int_equal(ns_law_box(w, along, from, mu, to), RP__SLIDE);
    double norm = 0;
    for (int k = 1; k < NS_S; k++)
        norm += to[k] * to[k];
    assert_true(fabs(sqrt(norm) - mu * to[0]) <= 1e-9 * to[0]);
    assert_int_equal(ns_law_box(w, between, from, mu, to), RP__SLIDE);
    norm = 0;
    for (int k = 1; k < NS_S; k++)
        norm += to[k] * to[k];
    assert_true(fabs(sqrt(norm) - sqrt(NS_T) * mu * to[0]) <= 1e-9 * to[0]);
}

/* Random A: the change of variables keeps the power, is symmetric and positive, and the solution is in the law. */
static void anisotropic_law_is_solved(void **state)
{
    (void)state;
    int seen[3] = { 0 };
    for (uint64_t t = 0; t < 4000; t++) {
        double g[RP_DIM * RP_DIM], a[RP_DIM * RP_DIM], m[NS_T * NS_T], w[NS_S * NS_S], plain[NS_S * NS_S];
        double mu = 0.01 + 1.2 * rp__random_unit(1, t, 0);
        ns_wide f = { .nn = 0 };
        random_positive(g, t, 1);
        random_positive(a, t + 100000, 0.3);
        double trace = 0;
        for (int i = 0; i < RP_DIM; i++)
            trace += a[i * RP_DIM + i];
        for (int i = 0; i < RP_DIM * RP_DIM; i++)
            a[i] *= RP_DIM / trace;
        ns_wide_change(a, m);
        ns_wide_operator(g, m, w);
        ns_wide_operator(g, NULL, plain);
        for (int i = 0; i < NS_T; i++)
            for (int j = 0; j < NS_T; j++)
                assert_true(fabs(m[i * NS_T + j] - m[j * NS_T + i]) <= 1e-12);
        assert_true(ns_wide_exact(&f, w, m));
        double h[RP_DIM * RP_DIM], chi[NS_S], strain[NS_S], gamma[NS_S], from[NS_S], to[NS_S], back[NS_S], power = 0, same = 0;
        for (int k = 0; k < NS_S; k++) {
            double small = k && t % 3 == 0 ? 0.05 : 1; /* so that some stick */
            chi[k] = small * f.nn * rp__random_normal(2, t, (uint64_t)k);
            from[k] = small * rp__random_normal(5, t, (uint64_t)k);
        }
        from[0] = fabs(from[0]);
        ns_chi_tensor(chi, h);
        ns_chi_coefficients(h, strain);
        ns_wide_in(&f, h, gamma);
        ns_wide_to_chi(&f, from, chi);
        for (int k = 0; k < NS_S; k++)
            power += chi[k] * strain[k], same += from[k] * gamma[k];
        assert_true(fabs(power - same) <= 1e-9 * (fabs(power) + f.nn));
        ns_wide_from_chi(&f, chi, back);
        for (int k = 0; k < NS_S; k++)
            assert_true(fabs(back[k] - from[k]) <= 1e-6);
        seen[ns_law_wide(&f, gamma, from, mu, to)]++;
        /* gamma after: strain + W (lambda_to - lambda_from) with the plain W, then changed. */
        double to_chi[NS_S], d[NS_S], after[NS_S], size = 1;
        ns_wide_to_chi(&f, to, to_chi);
        for (int k = 0; k < NS_S; k++)
            d[k] = to_chi[k] - chi[k], size = fmax(size, fabs(to[k]));
        for (int i = 0; i < NS_S; i++)
            for (int j = 0; j < NS_S; j++)
                strain[i] += plain[i * NS_S + j] * d[j];
        ns_chi_tensor(strain, h);
        ns_wide_in(&f, h, after);
        double natural = NS_CONE_OF(rp__friction_natural)(to, after, mu, 1 / f.nn);
        if (!(natural <= 1e-6 * size))
            fail_msg("problem %d: residual %g", (int)t, natural);
    }
    for (int k = 0; k < 3; k++)
        assert_true(seen[k] > 20);
}

/* Aligned grains: sheared in the plane of two principal directions the friction is mu a_i a_j, a = 1 + (d - 1) alpha along the normals,
 * 1 - alpha across them. */
static void aligned_grains_have_the_coefficients_of_the_paper(void **state)
{
    (void)state;
    for (int step = 0; step < 5; step++) {
        double alpha = 0.2 * step, mu = 0.4, sums[NS_S] = { 0 }, a[RP_DIM * RP_DIM], m[NS_T * NS_T], w[NS_S * NS_S], g[RP_DIM * RP_DIM] = { 0 };
        sums[RP_DIM - 1] = 2 * alpha; /* normals along the last axis, volume 2 */
        ns_friction_tensor(sums, 2, a);
        double normal = 1 + (RP_DIM - 1) * alpha, across = 1 - alpha;
        for (int i = 0; i < RP_DIM; i++)
            g[i * RP_DIM + i] = 1;
        ns_wide_change(a, m);
        ns_wide_operator(g, m, w);
        ns_wide f = { .nn = 0 };
        assert_true(ns_wide_exact(&f, w, m));
        for (int i = 0; i < RP_DIM; i++)
            for (int j = 0; j < i; j++) {
                double chi[NS_S], h[RP_DIM * RP_DIM] = { 0 }, gamma[NS_S], from[NS_S] = { 0 }, to[NS_S];
                h[i * RP_DIM + j] = h[j * RP_DIM + i] = 100;
                ns_wide_in(&f, h, gamma);
                gamma[0] = -1;
                assert_int_equal(ns_law_wide(&f, gamma, from, mu, to), RP__SLIDE);
                ns_wide_out(&f, to, h);
                ns_wide_to_chi(&f, to, chi);
                double ai = i == RP_DIM - 1 ? normal : across, aj = across;
                assert_true(fabs(fabs(h[i * RP_DIM + j]) / chi[0] - mu * ai * aj) <= 1e-6);
            }
#if RP_DIM == 3
        /* Isotropic orientation changes nothing. */
        double even[6] = { alpha / 3, alpha / 3, alpha / 3 };
        ns_friction_tensor(even, 1, a);
        for (int i = 0; i < 9; i++)
            assert_true(fabs(a[i] - (i % 4 == 0)) <= 1e-15);
#endif
    }
}

/* 10^5 random steps of shear, spin and stretch, some of them huge: symmetric by storage, positive, of trace one. */
static void orientation_stays_one(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        double nu[6] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            nu[a] = 1.0 / RP_DIM;
        for (uint64_t t = 0; t < 100000; t++) {
            double c[3][3] = { { 0 } }, size = pow(10, 6 * rp__random_unit(7, t, 0) - 3);
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++)
                    c[i][j] = size * rp__random_normal(8, t, (uint64_t)(3 * i + j));
            ns_turn_one(nu, c, rp__random_unit(9, t, 0), 0.01, how);
            double trace = nu[0] + nu[1] + nu[2], least;
#if RP_DIM == 3
            double value[3];
            rp__mat3 v;
            rp__math_eigen_sym3(nu, value, &v);
            least = value[0];
#else
            assert_true(nu[2] == 0 && nu[4] == 0 && nu[5] == 0);
            double half = 0.5 * (nu[1] - nu[0]);
            least = 0.5 * (nu[0] + nu[1]) - sqrt(half * half + nu[3] * nu[3]);
#endif
            if (!(fabs(trace - 1) <= 1e-14 && least >= -1e-15))
                fail_msg("step %d: trace %.17g, least eigenvalue %g", (int)t, trace, least);
        }
    }
}

/* The step agrees with the differential equation, to second order in dt. */
static void orientation_follows_its_equation(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++)
        for (uint64_t s = 0; s < 50; s++) {
            double nu[6] = { 0 }, c[3][3] = { { 0 } }, T[3][3], rate[3][3], dd = 0, l = 0.8, dt = 1e-5;
            static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
            double p[RP_DIM * RP_DIM], trace = 0;
            random_positive(p, s, 0.2);
            for (int i = 0; i < RP_DIM; i++)
                trace += p[i * RP_DIM + i];
            /* Not far from random, so that planes stay within their range. */
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++)
                    nu[at[i][j]] = 0.3 * p[i * RP_DIM + j] / trace + (i == j ? 0.7 / RP_DIM : 0);
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++)
                    c[i][j] = rp__random_normal(8, s, (uint64_t)(3 * i + j));
            bool planes = how == 1;
            double sign = planes ? 1 : -1;
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++)
                    T[i][j] = planes ? ((i == j) - nu[at[i][j]]) / (RP_DIM - 1) : nu[at[i][j]];
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++)
                    dd += 0.5 * (c[i][j] + c[j][i]) * T[i][j];
            for (int i = 0; i < RP_DIM; i++)
                for (int j = 0; j < RP_DIM; j++) {
                    rate[i][j] = -sign * l * 2 * dd * T[i][j];
                    for (int k = 0; k < RP_DIM; k++) {
                        double wik = 0.5 * (c[i][k] - c[k][i]), wkj = 0.5 * (c[k][j] - c[j][k]);
                        double dik = 0.5 * (c[i][k] + c[k][i]), dkj = 0.5 * (c[k][j] + c[j][k]);
                        rate[i][j] += wik * T[k][j] - T[i][k] * wkj + sign * l * (dik * T[k][j] + T[i][k] * dkj);
                    }
                }
            double after[6];
            memcpy(after, nu, sizeof after);
            ns_turn_one(after, c, l, dt, how);
            for (int i = 0; i < RP_DIM; i++)
                for (int j = i; j < RP_DIM; j++) {
                    double want = (planes ? -(RP_DIM - 1) : 1) * rate[i][j];
                    double got = (after[at[i][j]] - nu[at[i][j]]) / dt;
                    if (!(fabs(got - want) <= 1e-3))
                        fail_msg("%s: d nu/dt is %g in place of %g", planes ? "planes" : "normals", got, want);
                }
        }
}

/* In simple shear u = y e_x discs end with their normals along y. */
static void discs_align_with_the_flow(void **state)
{
    (void)state;
    double nu[6] = { 1.0 / RP_DIM, 1.0 / RP_DIM, RP_DIM == 3 ? 1.0 / 3 : 0 }, c[3][3] = { { 0, 1, 0 } };
    for (int t = 0; t < 10000; t++)
        ns_turn_one(nu, c, 1, 0.01, RP__ORIENT_NORMALS);
    assert_true(nu[1] > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linearised_law_agrees_with_brute_force),
        cmocka_unit_test(linearised_law_by_bisection),
        cmocka_unit_test(linearised_friction_depends_on_direction),
        cmocka_unit_test(anisotropic_law_is_solved),
        cmocka_unit_test(aligned_grains_have_the_coefficients_of_the_paper),
        cmocka_unit_test(orientation_stays_one),
        cmocka_unit_test(orientation_follows_its_equation),
        cmocka_unit_test(discs_align_with_the_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
