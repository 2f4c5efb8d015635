/* Volume sampling: numbers, spacing, repeatability, refusals. */
#include "base/memory.h"
#include "exec/exec.h"
#include "shape/sampling.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static rp__sampling_def definition(int dim, rp_sampling kind, double spacing)
{
    return (rp__sampling_def){ .dim = dim, .kind = kind, .spacing = spacing, .lower = { -10, -10, -10 }, .upper = { 10, 10, 10 },
                               .seed = 5, .limit = 10000000 };
}

static rp_shape *ball(double radius)
{
    rp_shape *s = NULL;
    assert_int_equal(rp_shape_sphere((double[]){ 0.1, 0.2, 0 }, radius, &s), RP_OK);
    return s;
}

/* The regular lattice fills an aligned box with exactly the points of its cells. */
static void a_box_is_filled_exactly(void **state)
{
    (void)state;
    rp_shape *box = NULL;
    assert_int_equal(rp_shape_box((double[]){ 0.5, 0.5, 0.5 }, (double[]){ 0.5, 0.5, 0.5 }, 0, &box), RP_OK);
    for (int dim = 2; dim <= 3; dim++)
        for (rp_sampling kind = RP_REGULAR; kind <= RP_JITTERED; kind++) {
            rp__sampling_def def = definition(dim, kind, 0.05);
            double *p = NULL;
            int64_t n = 0;
            assert_int_equal(rp__sampling_fill(box, &def, &p, &n), RP_OK);
            assert_int_equal(n, dim == 2 ? 400 : 8000);
            int seen[20][20] = { 0 };
            for (int64_t i = 0; i < n; i++) {
                double *x = p + 3 * i;
                assert_true(x[0] > 0 && x[0] < 1 && x[1] > 0 && x[1] < 1);
                assert_true(dim == 2 ? x[2] == 0 : x[2] > 0 && x[2] < 1);
                seen[(int)(x[0] / 0.05)][(int)(x[1] / 0.05)]++;
                double off = fabs(x[0] / 0.05 - floor(x[0] / 0.05) - 0.5);
                assert_true(kind == RP_JITTERED || off < 1e-9);
            }
            for (int i = 0; i < 400; i++)
                assert_int_equal(seen[i / 20][i % 20], dim == 2 ? 1 : 20);
            rp__base_free(p);
        }
    rp_shape_release(box);
}

static void densities_are_as_asked(void **state)
{
    (void)state;
    rp_shape *s = ball(1);
    for (int dim = 2; dim <= 3; dim++)
        for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++)
            for (int fine = 0; fine < 2; fine++) {
                double spacing = dim == 2 ? (fine ? 0.007 : 0.02) : (fine ? 0.03 : 0.08);
                rp__sampling_def def = definition(dim, kind, spacing);
                double *p = NULL;
                int64_t n = 0;
                assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_OK);
                double expected = (dim == 2 ? PI : 4 * PI / 3) / pow(spacing, dim);
                if (fabs((double)n / expected - 1) > 0.02)
                    fail_msg("%dD kind %d: %lld points, expected %g", dim, (int)kind, (long long)n, expected);
                for (int64_t i = 0; i < n; i++)
                    assert_true(rp_shape_distance(s, p + 3 * i, NULL) <= 0);
                rp__base_free(p);
            }
    rp_shape_release(s);
}

/* The least distance between points, with a hash-free grid of cells of the spacing. */
static double least_distance(int dim, const double *p, int64_t n, double spacing)
{
    enum { SIDE = 128 };
    static int32_t head[SIDE * SIDE * SIDE], next[100000];
    assert_true(n <= 100000);
    memset(head, 0xff, sizeof head);
    double best = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        int c[3];
        for (int a = 0; a < 3; a++)
            c[a] = dim == 2 && a == 2 ? 0 : (int)floor(p[3 * i + a] / spacing) + SIDE / 2;
        for (int k = -1; k <= 1; k++)
            for (int j = -1; j <= 1; j++)
                for (int h = -1; h <= 1; h++) {
                    int x = c[0] + h, y = c[1] + j, z = c[2] + k;
                    assert_true(x >= 0 && x < SIDE && y >= 0 && y < SIDE && z >= -1 && z < SIDE);
                    if (z < 0)
                        continue;
                    for (int32_t q = head[(z * SIDE + y) * SIDE + x]; q >= 0; q = next[q])
                        best = fmin(best, sqrt(pow(p[3 * i] - p[3 * q], 2) + pow(p[3 * i + 1] - p[3 * q + 1], 2) +
                                               pow(p[3 * i + 2] - p[3 * q + 2], 2)));
                }
        int32_t *cell = &head[(c[2] * SIDE + c[1]) * SIDE + c[0]];
        next[i] = *cell;
        *cell = (int32_t)i;
    }
    return best;
}

static void poisson_points_keep_their_distance(void **state)
{
    (void)state;
    rp_shape *s = ball(1);
    for (int dim = 2; dim <= 3; dim++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            double spacing = dim == 2 ? 0.02 : 0.05;
            rp__sampling_def def = definition(dim, RP_POISSON, spacing);
            def.seed = seed;
            double *p = NULL;
            int64_t n = 0;
            assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_OK);
            double least = least_distance(dim, p, n, spacing);
            double radius = spacing * (dim == 2 ? RP_SAMPLING_RADIUS_2D : RP_SAMPLING_RADIUS_3D);
            assert_true(least >= radius * (1 - 1e-9));
            assert_true(least < radius * 1.05);
            rp__base_free(p);
        }
    rp_shape_release(s);
}

static void the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    rp_shape *s = ball(1);
    for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++) {
        rp__sampling_def def = definition(3, kind, 0.04);
        double *first = NULL, *p = NULL, *other = NULL;
        int64_t n = 0, m = 0;
        rp__exec_set_threads(1);
        assert_int_equal(rp__sampling_fill(s, &def, &first, &n), RP_OK);
        for (int threads = 2; threads <= 16; threads += 7) {
            rp__exec_set_threads(threads);
            assert_int_equal(rp__sampling_fill(s, &def, &p, &m), RP_OK);
            assert_int_equal(m, n);
            assert_memory_equal(p, first, (size_t)n * 3 * sizeof(double));
            rp__base_free(p);
        }
        rp__exec_set_threads(0);
        def.seed++;
        assert_int_equal(rp__sampling_fill(s, &def, &other, &m), RP_OK);
        if (kind != RP_REGULAR)
            assert_true(m != n || memcmp(other, first, (size_t)n * 3 * sizeof(double)) != 0);
        rp__base_free(other);
        rp__base_free(first);
    }
    rp_shape_release(s);
}

/* A patch of a shape gets the points the whole shape has there. */
static void clipping_does_not_move_points(void **state)
{
    (void)state;
    rp_shape *s = ball(1);
    for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++) {
        rp__sampling_def def = definition(3, kind, 0.03);
        double *all = NULL, *part = NULL;
        int64_t n = 0, m = 0, found = 0;
        assert_int_equal(rp__sampling_fill(s, &def, &all, &n), RP_OK);
        def.lower[0] = -0.9, def.upper[0] = 0.7, def.upper[1] = 1.1;
        assert_int_equal(rp__sampling_fill(s, &def, &part, &m), RP_OK);
        for (int64_t i = 0; i < n; i++)
            found += all[3 * i] >= -0.9 && all[3 * i] < 0.7 && all[3 * i + 1] < 1.1;
        assert_int_equal(found, m);
        rp__base_free(all);
        rp__base_free(part);
    }
    rp_shape_release(s);
}

/* A heap in a huge domain and a thin shell cost what they hold. */
static void huge_boxes_cost_little(void **state)
{
    (void)state;
    rp_shape *a = NULL, *b = NULL, *u = NULL;
    assert_int_equal(rp_shape_sphere((double[]){ -5000, 0, 0 }, 0.2, &a), RP_OK);
    assert_int_equal(rp_shape_sphere((double[]){ 5000, 4000, 3000 }, 0.2, &b), RP_OK);
    assert_int_equal(rp_shape_union((rp_shape *[]){ a, b }, 2, &u), RP_OK);
    rp__sampling_def def = definition(3, RP_REGULAR, 0.02);
    for (int i = 0; i < 3; i++)
        def.lower[i] = -INFINITY, def.upper[i] = INFINITY;
    double *p = NULL;
    int64_t n = 0;
    assert_int_equal(rp__sampling_fill(u, &def, &p, &n), RP_OK);
    assert_true(fabs((double)n / (2 * 4 * PI / 3 * 1000) - 1) < 0.02);
    rp__base_free(p);
    rp_shape_release(a), rp_shape_release(b), rp_shape_release(u);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    rp_shape *s = ball(1), *plane = NULL;
    double *p = NULL;
    int64_t n = -1;
    rp__sampling_def def = definition(3, RP_REGULAR, 0.001); /* four billion points */
    size_t peak = rp_memory_peak();
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_TOO_LARGE);
    double estimate = 0, gigabytes = 0;
    assert_int_equal(sscanf(rp_last_error(), "sampling: about %lf points at a spacing of 0.001 m, %lf GB", &estimate, &gigabytes), 2);
    assert_true(fabs(estimate / (4 * PI / 3 * 1e9) - 1) < 0.02 && fabs(gigabytes / 100.5 - 1) < 0.02);
    def.spacing = 1e-9;
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_TOO_LARGE);
    assert_true(rp_memory_peak() < peak + 1000000); /* refused before memory is touched */
    double bad[] = { 0, -1, NAN, INFINITY };
    for (int i = 0; i < 4; i++) {
        def.spacing = bad[i];
        assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_BAD_ARGUMENT);
        assert_non_null(strstr(rp_last_error(), "spacing"));
    }
    assert_int_equal(rp_shape_plane((double[]){ 0, 0, 0 }, (double[]){ 0, 0, 1 }, &plane), RP_OK);
    def = definition(3, RP_REGULAR, 0.1);
    def.lower[1] = -INFINITY;
    assert_int_equal(rp__sampling_fill(plane, &def, &p, &n), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "no end along y"));
    def.lower[1] = NAN;
    assert_int_equal(rp__sampling_fill(plane, &def, &p, &n), RP_BAD_ARGUMENT);
    def = definition(4, RP_REGULAR, 0.1);
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_BAD_ARGUMENT);
    def = definition(3, RP_REGULAR, 0.1);
    def.limit = 0;
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_TOO_LARGE);
    def.limit = 4000; /* the ball holds some 4189 points: more than allowed, but too near to tell before counting */
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_TOO_LARGE);
    assert_null(p);
    assert_int_equal(n, -1);
    /* outside the clip box there is nothing, and that is fine */
    def = definition(3, RP_REGULAR, 0.1);
    def.lower[0] = 5;
    assert_int_equal(rp__sampling_fill(s, &def, &p, &n), RP_OK);
    assert_int_equal(n, 0);
    rp__base_free(p);
    rp_shape_release(plane), rp_shape_release(s);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    rp_shape *s = ball(0.5);
    for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++) {
        rp__sampling_def def = definition(3, kind, 0.1);
        size_t before = rp_memory_in_use();
        for (int64_t nth = 1;; nth++) {
            double *p = NULL;
            int64_t n = 0;
            rp__base_fail_allocation(nth);
            rp_result r = rp__sampling_fill(s, &def, &p, &n);
            rp__base_fail_allocation(0);
            rp__base_free(p);
            assert_int_equal(rp_memory_in_use(), before);
            if (r == RP_OK)
                break;
            assert_int_equal(r, RP_OUT_OF_MEMORY);
            assert_true(nth < 100);
        }
    }
    rp_shape_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_is_filled_exactly),
        cmocka_unit_test(densities_are_as_asked),
        cmocka_unit_test(poisson_points_keep_their_distance),
        cmocka_unit_test(the_same_for_any_number_of_threads),
        cmocka_unit_test(clipping_does_not_move_points),
        cmocka_unit_test(huge_boxes_cost_little),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("shape sampling", tests, NULL, NULL);
}
