#include "math/eigen.h"
#include "math/lanes.h"
#include "math/random.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static double uniform(uint64_t stream, uint64_t counter)
{
    return 2 * rp__random_unit(7, stream, counter) - 1;
}

/* A random matrix of one of ten kinds, from harmless to nasty. */
static void random_matrix(uint64_t seed, int rows, int kind, double *a)
{
    for (int i = 0; i < rows * rows; i++) {
        double x = uniform(seed, (uint64_t)i);
        double wide = x * pow(10, 12 * uniform(seed, 100 + (uint64_t)i));
        switch (kind) {
        case 0: a[i] = x; break;
        case 1: a[i] = wide; break;                                     /* entries over 24 decades */
        case 2: a[i] = (i % (rows + 1) == 0) + 1e-9 * x; break;         /* clustered around 1 */
        case 3: a[i] = 1e-160 * x; break;                               /* squares underflow */
        case 4: a[i] = 1e160 * x; break;                                /* squares overflow */
        case 5: a[i] = x > 0.5 ? 1 : x < -0.5 ? -1 : 0; break;          /* many equal and zero values */
        case 6: a[i] = i % (rows + 1) == 0 ? floor(3 * x) : 0; break;   /* diagonal, repeated */
        case 7: a[i] = uniform(seed, (uint64_t)(i / rows)) * uniform(seed, 50 + (uint64_t)(i % rows)); break; /* rank 1 */
        case 8: a[i] = i % (rows + 1) == 0 ? 1 : 1e-17 * x; break;      /* nearly diagonal */
        default: a[i] = 1; break;
        }
    }
}

static void make_symmetric(int n, double *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
}

static double largest(int count, const double *a)
{
    double m = 0;
    for (int i = 0; i < count; i++)
        m = fmax(m, fabs(a[i]));
    return m;
}

/* The errors of a = V diag V' and V V' = I, relative to the largest entry. */
static void eigen_errors(int n, const double *a, double *residual, double *orthogonality)
{
    double values[6], v[36];
    rp__math_eigen(n, a, values, v);
    double scale = largest(n * n, a);
    *residual = *orthogonality = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0, dot = 0;
            for (int k = 0; k < n; k++) {
                sum += scale > 0 ? v[k * n + i] * (values[k] / scale) * v[k * n + j] : 0;
                dot += v[i * n + k] * v[j * n + k];
            }
            *residual = fmax(*residual, fabs(sum - (scale > 0 ? a[i * n + j] / scale : 0)));
            *orthogonality = fmax(*orthogonality, fabs(dot - (i == j)));
        }
    for (int k = 1; k < n; k++)
        assert_true(values[k - 1] <= values[k]);
}

static void eigen_is_accurate_on_random_and_nasty_matrices(void **state)
{
    (void)state;
    double worst = 0, worst_orthogonality = 0;
    for (uint64_t trial = 0; trial < 100000; trial++) {
        int n = 1 + (int)(trial % 6), kind = (int)(trial / 6 % 10);
        double a[36], residual, orthogonality;
        random_matrix(trial, n, kind, a);
        make_symmetric(n, a);
        eigen_errors(n, a, &residual, &orthogonality);
        worst = fmax(worst, residual);
        worst_orthogonality = fmax(worst_orthogonality, orthogonality);
    }
    print_message("largest residual %.2g, loss of orthogonality %.2g\n", worst, worst_orthogonality);
    assert_true(worst < 1e-14);
    assert_true(worst_orthogonality < 1e-14);
}

static void eigen_knows_closed_forms(void **state)
{
    (void)state;
    /* second differences: 2 - 2 cos(k pi / 7), k = 1..6 */
    double a[36] = { 0 }, values[6], v[36];
    for (int i = 0; i < 6; i++) {
        a[i * 7] = 2;
        if (i > 0)
            a[i * 6 + i - 1] = a[(i - 1) * 6 + i] = -1;
    }
    rp__math_eigen(6, a, values, v);
    for (int k = 0; k < 6; k++)
        assert_true(fabs(values[k] - (2 - 2 * cos((k + 1) * 3.14159265358979323846 / 7))) < 1e-14);

    /* D S D with D graded over sixteen decades: det = 1 det(S), small values keep their digits */
    const double d[3] = { 1e8, 1, 1e-8 };
    double b[9], w[9], values3[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            b[i * 3 + j] = d[i] * d[j] * (i == j ? 2 : 1);
    rp__math_eigen(3, b, values3, w);
    assert_true(fabs(values3[0] * values3[1] * values3[2] - 4) < 4e-14);
    assert_true(fabs(values3[0] / (4.0 / 3 * 1e-16) - 1) < 1e-13);
}

static void eigen_sym3_agrees_with_general(void **state)
{
    (void)state;
    const double s[6] = { 3, -1, 2, 0.5, -0.25, 4 };
    const double a[9] = { 3, 0.5, -0.25, 0.5, -1, 4, -0.25, 4, 2 };
    double values[3], values2[3], rows[9];
    rp__mat3 v;
    rp__math_eigen_sym3(s, values, &v);
    rp__math_eigen(3, a, values2, rows);
    for (int k = 0; k < 3; k++) {
        assert_true(values[k] == values2[k]);
        for (int i = 0; i < 3; i++)
            assert_true(v.m[i][k] == rows[k * 3 + i]);
    }
}

static void eigen_passes_nan_on(void **state)
{
    (void)state;
    const double bad[2] = { NAN, INFINITY };
    for (int b = 0; b < 2; b++)
        for (int n = 1; n <= 6; n++)
            for (int at = 0; at < n * n; at++) {
                double a[36] = { 0 }, values[6], v[36];
                a[at] = bad[b];
                rp__math_eigen(n, a, values, v);
                for (int k = 0; k < n; k++)
                    assert_true(isnan(values[k]) && isnan(v[k]));
            }
    double values[3];
    rp__mat3 f = { { { 1, NAN, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, u, v;
    rp__math_svd(&f, &u, values, &v);
    assert_true(isnan(values[0]) && isnan(u.m[0][0]) && isnan(v.m[2][2]));
}

static void check_svd(const rp__mat3 *f, double *worst)
{
    rp__mat3 u, v;
    double s[3];
    rp__math_svd(f, &u, s, &v);
    double scale = largest(9, &f->m[0][0]);
    if (scale == 0)
        scale = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0, uu = 0, vv = 0;
            for (int k = 0; k < 3; k++) {
                sum += u.m[i][k] * (s[k] / scale) * v.m[j][k];
                uu += u.m[k][i] * u.m[k][j];
                vv += v.m[k][i] * v.m[k][j];
            }
            *worst = fmax(*worst, fabs(sum - f->m[i][j] / scale));
            *worst = fmax(*worst, fabs(uu - (i == j)));
            *worst = fmax(*worst, fabs(vv - (i == j)));
        }
    *worst = fmax(*worst, fabs(rp__mat3_determinant(&u) - 1));
    *worst = fmax(*worst, fabs(rp__mat3_determinant(&v) - 1));
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
}

static void svd_is_accurate_on_random_and_nasty_matrices(void **state)
{
    (void)state;
    double worst = 0;
    for (uint64_t trial = 0; trial < 100000; trial++) {
        rp__mat3 f;
        random_matrix(trial, 3, (int)(trial % 10), &f.m[0][0]);
        check_svd(&f, &worst);
    }
    print_message("largest error %.2g\n", worst);
    assert_true(worst < 1e-14);
}

static void svd_is_right_on_deficient_and_inverted_input(void **state)
{
    (void)state;
    double worst = 0, s[3];
    rp__mat3 u, v;
    rp__mat3 zero = { { { 0 } } };
    check_svd(&zero, &worst);
    for (int i = 0; i < 9; i++) { /* one entry alone */
        rp__mat3 f = zero;
        f.m[i / 3][i % 3] = -2;
        check_svd(&f, &worst);
        rp__math_svd(&f, &u, s, &v);
        assert_true(fabs(s[0] - 2) < 1e-15 && s[1] == 0 && s[2] == 0);
    }
    rp__mat3 plane = { { { 1, 2, 3 }, { 2, 4, 6 }, { 0, 1, -1 } } }; /* rank 2 */
    check_svd(&plane, &worst);
    rp__math_svd(&plane, &u, s, &v);
    assert_true(s[1] > 1 && fabs(s[2]) < 1e-14);
    rp__mat3 mirror = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, -1 } } };
    rp__math_svd(&mirror, &u, s, &v);
    check_svd(&mirror, &worst);
    assert_true(fabs(s[2] + 1) < 1e-15);
    rp__mat3 inverted = { { { -3, 0, 0 }, { 0, -2, 0 }, { 0, 0, -1 } } };
    rp__math_svd(&inverted, &u, s, &v);
    check_svd(&inverted, &worst);
    assert_true(fabs(s[0] - 3) < 1e-15 && fabs(s[1] - 2) < 1e-15 && fabs(s[2] + 1) < 1e-15);
    rp__mat3 squeezed = { { { 1, 0, 0 }, { 0, 1e-13, 0 }, { 0, 0, 1e-14 } } }; /* small values keep their digits */
    rp__math_svd(&squeezed, &u, s, &v);
    assert_true(fabs(s[1] / 1e-13 - 1) < 1e-14 && fabs(s[2] / 1e-14 - 1) < 1e-14);
    check_svd(&squeezed, &worst);
    rp__mat3 huge = { { { DBL_MAX, 0, 0 }, { 0, DBL_MAX, 0 }, { 0, 0, DBL_MIN } } };
    rp__math_svd(&huge, &u, s, &v);
    assert_true(s[0] == DBL_MAX && s[1] == DBL_MAX && s[2] >= 0 && s[2] <= DBL_MIN);
    assert_true(worst < 1e-14);
}

/* ---- lanes ---- */

static double lane_errors(double s[6][RP_LANES], double values[3][RP_LANES], double v[3][3][RP_LANES])
{
    static const int slot[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    double worst = 0;
    for (int l = 0; l < RP_LANES; l++) {
        double scale = 0;
        for (int k = 0; k < 6; k++)
            scale = fmax(scale, fabs(s[k][l]));
        if (scale == 0)
            scale = 1;
        rp__mat3 m;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0, dot = 0;
                for (int k = 0; k < 3; k++) {
                    sum += v[i][k][l] * (values[k][l] / scale) * v[j][k][l];
                    dot += v[k][i][l] * v[k][j][l];
                }
                m.m[i][j] = v[i][j][l];
                worst = fmax(worst, fabs(sum - s[slot[i][j]][l] / scale));
                worst = fmax(worst, fabs(dot - (i == j)));
            }
        worst = fmax(worst, fabs(rp__mat3_determinant(&m) - 1));
        assert_true(values[0][l] <= values[1][l] && values[1][l] <= values[2][l]);
    }
    return worst;
}

static void random_lanes(uint64_t trial, double s[6][RP_LANES])
{
    for (int l = 0; l < RP_LANES; l++) {
        double a[9];
        int kind = (int)(rp__random_bits(3, trial, (uint64_t)l) % 10);
        random_matrix(trial * RP_LANES + (uint64_t)l, 3, kind == 4 || kind == 3 ? 0 : kind, a);
        s[0][l] = a[0], s[1][l] = a[4], s[2][l] = a[8], s[3][l] = a[1], s[4][l] = a[2], s[5][l] = a[5];
    }
}

static void lanes_agree_with_the_plain_eigen_decomposition(void **state)
{
    (void)state;
    double worst = 0, worst_value = 0;
    for (uint64_t trial = 0; trial < 100000 / RP_LANES; trial++) {
        RP_LANES_ALIGNED double s[6][RP_LANES], values[3][RP_LANES], v[3][3][RP_LANES];
        random_lanes(trial, s);
        rp__lanes_eigen_sym3(s, values, v);
        worst = fmax(worst, lane_errors(s, values, v));
        for (int l = 0; l < RP_LANES; l++) {
            double one[6], expected[3];
            rp__mat3 unused;
            for (int k = 0; k < 6; k++)
                one[k] = s[k][l];
            rp__math_eigen_sym3(one, expected, &unused);
            for (int k = 0; k < 3; k++)
                worst_value = fmax(worst_value, fabs(values[k][l] - expected[k]) / fmax(largest(6, one), 1e-300));
        }
    }
    print_message("largest error %.2g, of the values %.2g\n", worst, worst_value);
    assert_true(worst < 1e-14);
    assert_true(worst_value < 1e-14);
}

static void float_lanes_are_accurate(void **state)
{
    (void)state;
    double worst = 0;
    for (uint64_t trial = 0; trial < 100000 / RP_LANES; trial++) {
        double s[6][RP_LANES], values[3][RP_LANES], v[3][3][RP_LANES];
        RP_LANES_ALIGNED float fs[6][RP_LANES], fvalues[3][RP_LANES], fv[3][3][RP_LANES];
        random_lanes(trial, s);
        for (int k = 0; k < 6; k++)
            for (int l = 0; l < RP_LANES; l++)
                s[k][l] = fs[k][l] = (float)s[k][l];
        rp__lanes_eigen_sym3_float(fs, fvalues, fv);
        for (int i = 0; i < 3; i++)
            for (int l = 0; l < RP_LANES; l++) {
                values[i][l] = fvalues[i][l];
                for (int j = 0; j < 3; j++)
                    v[i][j][l] = fv[i][j][l];
            }
        worst = fmax(worst, lane_errors(s, values, v));
    }
    print_message("largest error %.2g\n", worst);
    assert_true(worst < 4e-6);
}

static void a_bad_lane_stays_alone(void **state)
{
    (void)state;
    RP_LANES_ALIGNED double s[6][RP_LANES] = { { 0 } }, values[3][RP_LANES], v[3][3][RP_LANES];
    for (int l = 0; l < RP_LANES; l++)
        s[0][l] = 1, s[1][l] = 2, s[2][l] = 3;
    s[3][2] = NAN, s[0][5] = INFINITY;
    rp__lanes_eigen_sym3(s, values, v);
    for (int l = 0; l < RP_LANES; l++) {
        if (l == 2 || l == 5)
            assert_true(isnan(values[0][l]) && isnan(values[2][l]) && isnan(v[1][1][l]));
        else
            assert_true(values[0][l] == 1 && values[1][l] == 2 && values[2][l] == 3 && v[1][1][l] == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigen_is_accurate_on_random_and_nasty_matrices),
        cmocka_unit_test(eigen_knows_closed_forms),
        cmocka_unit_test(eigen_sym3_agrees_with_general),
        cmocka_unit_test(eigen_passes_nan_on),
        cmocka_unit_test(svd_is_accurate_on_random_and_nasty_matrices),
        cmocka_unit_test(svd_is_right_on_deficient_and_inverted_input),
        cmocka_unit_test(lanes_agree_with_the_plain_eigen_decomposition),
        cmocka_unit_test(float_lanes_are_accurate),
        cmocka_unit_test(a_bad_lane_stays_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
