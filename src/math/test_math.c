#include "math/eigen.h"
#include "math/quat.h"
#include "math/random.h"
#include "math/spline.h"
#include "math/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static double uniform(uint64_t stream, uint64_t counter)
{
    return 2 * rp__random_unit(11, stream, counter) - 1;
}

static rp__vec3 random_vector(uint64_t i)
{
    return rp__vec3_make(uniform(1, 3 * i), uniform(1, 3 * i + 1), uniform(1, 3 * i + 2));
}

static rp__quat random_rotation(uint64_t i)
{
    return rp__quat_from_axis(rp__random_on_sphere(5, 0, i), 2 * PI * rp__random_unit(5, 1, i));
}

static double distance(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_norm(rp__vec3_sub(a, b));
}

/* ---- vectors and tensors ---- */

static void vectors_obey_their_identities(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        rp__vec3 a = random_vector(2 * i), b = random_vector(2 * i + 1);
        assert_true(fabs(rp__vec3_dot(a, rp__vec3_cross(a, b))) < 1e-15);
        double lagrange = rp__vec3_dot(a, a) * rp__vec3_dot(b, b) - pow(rp__vec3_dot(a, b), 2);
        assert_true(fabs(pow(rp__vec3_norm(rp__vec3_cross(a, b)), 2) - lagrange) < 1e-14);
        assert_true(fabs(rp__vec3_norm(rp__vec3_unit(a, b)) - 1) < 1e-15);
        rp__mat3 r = rp__quat_matrix(random_rotation(i)), t = rp__mat3_transpose(&r), one = rp__mat3_multiply(&r, &t);
        assert_true(distance(rp__mat3_apply_transposed(&r, rp__mat3_apply(&r, a)), a) < 1e-14);
        assert_true(fabs(rp__mat3_determinant(&r) - 1) < 1e-14);
        for (int k = 0; k < 9; k++)
            assert_true(fabs(one.m[k / 3][k % 3] - rp__mat3_identity().m[k / 3][k % 3]) < 1e-14);
    }
    rp__vec3 up = { 0, 0, 1 };
    assert_true(distance(rp__vec3_unit(rp__vec3_make(0, 0, 0), up), up) == 0);
}

/* chi is orthonormal for <s,t> = 1/2 s:t, and splits trace from deviator. */
static void chi_is_orthonormal(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            double ei[6] = { 0 }, ej[6] = { 0 }, s[6], t[6];
            ei[i] = 1, ej[j] = 1;
            rp__tensor_from_coefficients_3d(ei, s);
            rp__tensor_from_coefficients_3d(ej, t);
            double product = 0.5 * (s[0] * t[0] + s[1] * t[1] + s[2] * t[2]) + s[3] * t[3] + s[4] * t[4] + s[5] * t[5];
            assert_true(fabs(product - (i == j)) < 1e-15);
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double ei[3] = { 0 }, ej[3] = { 0 }, s[3], t[3];
            ei[i] = 1, ej[j] = 1;
            rp__tensor_from_coefficients_2d(ei, s);
            rp__tensor_from_coefficients_2d(ej, t);
            assert_true(fabs(0.5 * (s[0] * t[0] + s[1] * t[1]) + s[2] * t[2] - (i == j)) < 1e-15);
        }
    for (uint64_t k = 0; k < 1000; k++) {
        double r[6], s[6], back[6];
        for (uint64_t i = 0; i < 6; i++)
            r[i] = uniform(2, 6 * k + i);
        rp__tensor_from_coefficients_3d(r, s);
        double trace = s[0] + s[1] + s[2], deviator = 0.5 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - trace * trace / 3) +
                                                      s[3] * s[3] + s[4] * s[4] + s[5] * s[5], tangential = 0;
        for (int i = 1; i < 6; i++)
            tangential += r[i] * r[i];
        assert_true(fabs(trace - sqrt(6) * r[0]) < 1e-14);
        assert_true(fabs(deviator - tangential) < 1e-14);
        rp__tensor_to_coefficients_3d(s, back);
        for (int i = 0; i < 6; i++)
            assert_true(fabs(back[i] - r[i]) < 1e-15);
        rp__tensor_from_coefficients_2d(r, s);
        assert_true(fabs(s[0] + s[1] - 2 * r[0]) < 1e-15);
        rp__tensor_to_coefficients_2d(s, back);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(back[i] - r[i]) < 1e-15);
    }
}

/* ---- quaternions ---- */

static void rotations_agree_with_matrices(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        rp__quat a = random_rotation(2 * i), b = random_rotation(2 * i + 1);
        rp__vec3 v = random_vector(i);
        rp__mat3 ma = rp__quat_matrix(a), mb = rp__quat_matrix(b), mab = rp__mat3_multiply(&ma, &mb);
        assert_true(distance(rp__quat_rotate(a, v), rp__mat3_apply(&ma, v)) < 1e-14);
        assert_true(distance(rp__quat_rotate(rp__quat_multiply(a, b), v), rp__mat3_apply(&mab, v)) < 1e-14);
        assert_true(distance(rp__quat_rotate(rp__quat_conjugate(a), rp__quat_rotate(a, v)), v) < 1e-14);
        rp__quat back = rp__quat_from_matrix(&ma);
        assert_true(fabs(fabs(back.w * a.w + back.x * a.x + back.y * a.y + back.z * a.z) - 1) < 1e-14);
        rp__pose p = { random_vector(i + 77), a }, q = { random_vector(i + 99), b }, pq = rp__pose_multiply(&p, &q);
        assert_true(distance(rp__pose_inverse_apply(&p, rp__pose_apply(&p, v)), v) < 1e-14);
        assert_true(distance(rp__pose_apply(&pq, v), rp__pose_apply(&p, rp__pose_apply(&q, v))) < 1e-14);
    }
    /* half turns about the axes, where naive formulas divide by zero */
    for (int k = 0; k < 3; k++) {
        rp__vec3 axis = { k == 0, k == 1, k == 2 };
        rp__mat3 m = rp__quat_matrix(rp__quat_from_axis(axis, PI));
        rp__quat q = rp__quat_from_matrix(&m);
        assert_true(fabs(fabs(rp__vec3_dot(axis, rp__vec3_make(q.x, q.y, q.z))) - 1) < 1e-15);
    }
    rp__vec3 x = { 1, 0, 0 }, up = { 0, 0, 2 };
    assert_true(distance(rp__quat_rotate(rp__quat_from_axis(up, PI / 2), x), rp__vec3_make(0, 1, 0)) < 1e-15);
    rp__quat none = rp__quat_from_axis(rp__vec3_make(0, 0, 0), 1);
    assert_true(none.w == 1 && none.x == 0);
    none = rp__quat_unit((rp__quat){ 0, 0, 0, 0 });
    assert_true(none.w == 1);
    rp__quat small = rp__quat_unit((rp__quat){ 1e-200, 1e-200, 0, 0 });
    assert_true(fabs(small.w - sqrt(0.5)) < 1e-15);
}

static void rotation_vectors_invert(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        double angle = i % 3 == 0 ? pow(10, -30 * rp__random_unit(9, 0, i)) : PI * (1 - 1e-9) * rp__random_unit(9, 1, i);
        rp__vec3 v = rp__vec3_scale(angle, rp__random_on_sphere(9, 2, i));
        rp__quat q = rp__quat_from_vector(v);
        assert_true(distance(rp__quat_to_vector(q), v) <= 1e-14 * (angle > 1 ? angle : 1) && fabs(q.w) <= 1);
        assert_true(distance(rp__quat_to_vector(q), v) <= 1e-7 * angle);
        rp__quat opposite = { -q.w, -q.x, -q.y, -q.z }; /* the same rotation */
        assert_true(distance(rp__quat_to_vector(opposite), v) <= 1e-14 * (angle > 1 ? angle : 1));
    }
    rp__vec3 zero = rp__quat_to_vector(rp__quat_identity());
    assert_true(rp__vec3_norm(zero) == 0);
}

static void slerp_moves_at_constant_speed(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        rp__quat a = random_rotation(2 * i), b = random_rotation(2 * i + 1);
        if (i % 2) /* near equal */
            b = rp__quat_multiply(rp__quat_from_vector(rp__vec3_scale(1e-6, random_vector(i))), a);
        rp__vec3 whole = rp__quat_to_vector(rp__quat_multiply(b, rp__quat_conjugate(a)));
        double t = rp__random_unit(9, 3, i);
        rp__quat m = rp__quat_slerp(a, b, t);
        rp__vec3 part = rp__quat_to_vector(rp__quat_multiply(m, rp__quat_conjugate(a)));
        assert_true(distance(part, rp__vec3_scale(t, whole)) < 1e-13);
        rp__quat start = rp__quat_slerp(a, b, 0);
        assert_true(fabs(fabs(start.w * a.w + start.x * a.x + start.y * a.y + start.z * a.z) - 1) < 1e-14);
    }
}

static void spin_is_integrated_exactly(void **state)
{
    (void)state;
    rp__vec3 omega = { 0.3, -2, 5 };
    rp__quat once = rp__quat_advance(rp__quat_identity(), omega, 1), many = rp__quat_identity();
    for (int i = 0; i < 1000; i++)
        many = rp__quat_advance(many, omega, 1e-3);
    assert_true(fabs(fabs(once.w * many.w + once.x * many.x + once.y * many.y + once.z * many.z) - 1) < 1e-14);
    double size = sqrt(many.w * many.w + many.x * many.x + many.y * many.y + many.z * many.z);
    assert_true(fabs(size - 1) < 1e-15);
    /* d/dt of a rotated point is omega × point */
    rp__quat q = random_rotation(3);
    rp__vec3 v = random_vector(4), p = rp__quat_rotate(q, v);
    rp__vec3 forward = rp__quat_rotate(rp__quat_advance(q, omega, 1e-5), v), back = rp__quat_rotate(rp__quat_advance(q, omega, -1e-5), v);
    assert_true(distance(rp__vec3_scale(1 / 2e-5, rp__vec3_sub(forward, back)), rp__vec3_cross(omega, p)) < 1e-8);
}

/* ---- random numbers ---- */

/* The published answers of Philox 2×64 with ten rounds   [salmon2011]. */
static void random_bits_are_those_published(void **state)
{
    (void)state;
    assert_true(rp__random_bits(0, 0, 0) == UINT64_C(0xca00a0459843d731));
    assert_true(rp__random_bits(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_C(0x65b021d60cd8310f));
    assert_true(rp__random_bits(UINT64_C(0xa4093822299f31d0), UINT64_C(0x13198a2e03707344), UINT64_C(0x243f6a8885a308d3)) ==
                UINT64_C(0x0a5e742c2997341c));
}

static uint64_t bits_along(int argument, uint64_t i)
{
    return rp__random_bits(argument == 0 ? i : 1, argument == 1 ? i : 2, argument == 2 ? i : 3);
}

/* Every argument, counted up, gives bits that look random: fair, uniform in the top and low bytes, uncorrelated with the next. */
static void random_bits_pass_simple_statistics(void **state)
{
    (void)state;
    enum { N = 200000 };
    for (int argument = 0; argument < 3; argument++) {
        static int ones[64], top[256], low[256];
        memset(ones, 0, sizeof ones), memset(top, 0, sizeof top), memset(low, 0, sizeof low);
        int64_t changed = 0;
        double product = 0;
        uint64_t last = bits_along(argument, 0);
        for (uint64_t i = 1; i <= N; i++) {
            uint64_t bits = bits_along(argument, i);
            for (int b = 0; b < 64; b++)
                ones[b] += (int)(bits >> b & 1);
            top[bits >> 56]++, low[bits & 255]++;
            for (uint64_t d = bits ^ last; d; d &= d - 1)
                changed++;
            product += ((double)bits * 0x1p-64 - 0.5) * ((double)last * 0x1p-64 - 0.5);
            last = bits;
        }
        for (int b = 0; b < 64; b++) /* standard deviation sqrt(N)/2; 5 of them */
            assert_true(fabs(ones[b] - N / 2.0) < 2.5 * sqrt(N));
        double chi_top = 0, chi_low = 0, expected = N / 256.0;
        for (int k = 0; k < 256; k++) {
            chi_top += (top[k] - expected) * (top[k] - expected) / expected;
            chi_low += (low[k] - expected) * (low[k] - expected) / expected;
        }
        assert_true(fabs(chi_top - 255) < 5 * sqrt(2 * 255) && fabs(chi_low - 255) < 5 * sqrt(2 * 255));
        assert_true(fabs((double)changed - 32.0 * N) < 5 * 4 * sqrt(N)); /* half of the bits change */
        assert_true(fabs(product) < 5 * sqrt(N) / 12);
    }
}

static void distributions_have_their_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    double mean = 0, square = 0, cube = 0, fourth = 0, unit = 0, radius = 0;
    rp__vec3 sphere = { 0, 0, 0 }, ball = { 0, 0, 0 };
    double second[3] = { 0 };
    for (uint64_t i = 0; i < N; i++) {
        double x = rp__random_normal(1, 2, i), u = rp__random_unit(1, 2, i);
        assert_true(isfinite(x) && u >= 0 && u < 1);
        mean += x, square += x * x, cube += x * x * x, fourth += x * x * x * x, unit += u;
        rp__vec3 s = rp__random_on_sphere(1, 3, i), b = rp__random_in_ball(1, 4, i);
        assert_true(fabs(rp__vec3_norm(s) - 1) < 1e-15 && rp__vec3_norm(b) <= 1);
        sphere = rp__vec3_add(sphere, s), ball = rp__vec3_add(ball, b);
        second[0] += s.x * s.x, second[1] += s.y * s.y, second[2] += s.z * s.z;
        radius += pow(rp__vec3_norm(b), 3); /* uniform */
    }
    double n = N, s = 1 / sqrt(n);
    assert_true(fabs(mean / n) < 5 * s && fabs(square / n - 1) < 5 * sqrt(2) * s);
    assert_true(fabs(cube / n) < 5 * sqrt(15) * s && fabs(fourth / n - 3) < 5 * sqrt(96) * s);
    assert_true(fabs(unit / n - 0.5) < 5 * s / sqrt(12));
    assert_true(rp__vec3_norm(sphere) / n < 5 * s && rp__vec3_norm(ball) / n < 5 * s);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(second[k] / n - 1.0 / 3) < 5 * s * 0.3);
    assert_true(fabs(radius / n - 0.5) < 5 * s / sqrt(12));
}

/* ---- splines ---- */

/* The B-spline of an order at distance x, by its recursion on itself   [deboor2001, ch. IX]: the plain twin. */
static double spline_ref(int order, double x)
{
    if (order == 0)
        return x >= -0.5 && x < 0.5;
    double h = 0.5 * (order + 1);
    return ((x + h) * spline_ref(order - 1, x + 0.5) + (h - x) * spline_ref(order - 1, x - 0.5)) / order;
}

static void splines_agree_with_the_recursion(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++)
        for (int i = 0; i < 20000; i++) {
            double x = i < 400 ? 0.25 * (i - 200) : 50 * uniform(6, (uint64_t)i), w[4], g[4], sum = 0, slope = 0, moment = 0;
            int base = rp__spline(order, x, w, g);
            assert_int_equal(base, order == 1 ? (int)floor(x) : order == 2 ? (int)floor(x - 0.5) : (int)floor(x) - 1);
            for (int k = 0; k <= order; k++) {
                assert_true(w[k] >= 0);
                assert_true(fabs(w[k] - spline_ref(order, x - (base + k))) < 1e-13);
                sum += w[k], slope += g[k], moment += w[k] * (base + k);
            }
            assert_true(fabs(sum - 1) < 1e-15 && fabs(slope) < 1e-15); /* partition of unity */
            assert_true(fabs(moment - x) < 1e-13);                     /* linear functions are exact */
        }
}

static void spline_derivatives_agree_with_differences(void **state)
{
    (void)state;
    const double h = 1e-6;
    for (int order = 1; order <= 3; order++)
        for (uint64_t i = 0; i < 5000; i++) {
            double x = 20 * uniform(7, i), w[4], g[4];
            int base = rp__spline(order, x, w, g);
            for (int k = 0; k <= order; k++) {
                double d = (spline_ref(order, x + h - (base + k)) - spline_ref(order, x - h - (base + k))) / (2 * h);
                bool kink = order == 1 && fabs(x - round(x)) < 2 * h;
                assert_true(kink || fabs(d - g[k]) < 2e-6);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_obey_their_identities),
        cmocka_unit_test(chi_is_orthonormal),
        cmocka_unit_test(rotations_agree_with_matrices),
        cmocka_unit_test(rotation_vectors_invert),
        cmocka_unit_test(slerp_moves_at_constant_speed),
        cmocka_unit_test(spin_is_integrated_exactly),
        cmocka_unit_test(random_bits_are_those_published),
        cmocka_unit_test(random_bits_pass_simple_statistics),
        cmocka_unit_test(distributions_have_their_moments),
        cmocka_unit_test(splines_agree_with_the_recursion),
        cmocka_unit_test(spline_derivatives_agree_with_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
