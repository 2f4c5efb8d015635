/* Cameras: what a framed view shows, and turns. */
#include <math.h>
#include <repose/render.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void sub(const double a[3], const double b[3], double out[3])
{
    for (int d = 0; d < 3; d++)
        out[d] = a[d] - b[d];
}
static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}
static void unit(double a[3])
{
    double n = sqrt(dot(a, a));
    for (int d = 0; d < 3; d++)
        a[d] /= n;
}

/* The largest part of the half picture that a corner of the box takes: 1 at the edge. */
static double largest_part(const rp_view *v, const double lower[3], const double upper[3], int width, int height)
{
    double forward[3], right[3], up[3], largest = 0;
    sub(v->target, v->eye, forward);
    unit(forward);
    cross(forward, v->up, right);
    unit(right);
    cross(right, forward, up);
    for (int k = 0; k < 8; k++) {
        double corner[3] = { k & 1 ? upper[0] : lower[0], k & 2 ? upper[1] : lower[1], k & 4 ? upper[2] : lower[2] }, r[3];
        sub(corner, v->eye, r);
        double depth = dot(r, forward), half = v->orthographic ? 0.5 * v->extent : depth * tan(0.5 * v->field_of_view);
        assert_true(depth > 0);
        largest = fmax(largest, fmax(fabs(dot(r, up)) / half, fabs(dot(r, right)) / half * height / width));
    }
    return largest;
}

static void box_fills_the_picture(void **state)
{
    (void)state;
    const double lower[3] = { -1, 2, 0 }, upper[3] = { 3, 2.5, 1 }, up[3] = { 0, 0, 1 };
    const double directions[][3] = { { 0.4, -1, 0.4 }, { 0, -1, 0 }, { 1, 0, 0.1 }, { -1, 2, 3 } };
    const int sizes[][2] = { { 1280, 720 }, { 480, 800 } };
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++)
        for (int s = 0; s < 2; s++)
            for (int parallel = 0; parallel < 2; parallel++)
                for (double fill = 0.5; fill <= 1; fill += 0.5) {
                    rp_view v = rp_view_frame(lower, upper, directions[i], up, 0.6, parallel, sizes[s][0], sizes[s][1], fill);
                    double part = largest_part(&v, lower, upper, sizes[s][0], sizes[s][1]);
                    assert_true(fabs(part - fill) < 1e-9); /* no corner beyond, one right at it */
                }
}

/* A box without height, a single point: some view all the same. */
static void flat_boxes_have_a_view(void **state)
{
    (void)state;
    const double flat_lower[3] = { 0, 0, 0 }, flat_upper[3] = { 1, 1, 0 }, point[3] = { 2, 2, 2 };
    const double down[3] = { 0, 0, 1 }, up[3] = { 0, 0, 1 };
    rp_view v = rp_view_frame(flat_lower, flat_upper, down, up, 0.6, true, 100, 100, 1);
    assert_true(isfinite(v.eye[0] + v.eye[1] + v.eye[2]) && v.extent > 0 && v.eye[2] > 0);
    v = rp_view_frame(point, point, down, up, 0.6, false, 100, 100, 1);
    assert_true(v.eye[2] > v.target[2]);
}

static void a_turn_keeps_height_and_distance(void **state)
{
    (void)state;
    rp_view v = { .eye = { 3, -2, 1.5 }, .target = { 1, 1, 0.5 }, .up = { 0, 0, 1 }, .field_of_view = 0.5 };
    rp_view quarter = rp_view_turn(&v, 1.57079632679489662);
    /* (2, -3) about the vertical by a quarter is (3, 2) */
    assert_true(fabs(quarter.eye[0] - 4) < 1e-12 && fabs(quarter.eye[1] - 3) < 1e-12 && fabs(quarter.eye[2] - 1.5) < 1e-12);
    rp_view full = rp_view_turn(&v, 6.28318530717958648);
    for (int d = 0; d < 3; d++)
        assert_true(fabs(full.eye[d] - v.eye[d]) < 1e-12);
    assert_memory_equal(quarter.target, v.target, sizeof v.target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_fills_the_picture),
        cmocka_unit_test(flat_boxes_have_a_view),
        cmocka_unit_test(a_turn_keeps_height_and_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
