/* Triangles of shapes: closed, facing outwards, on the surface, of the right volume. */
#include "base/memory.h"
#include "exec/exec.h"
#include "shape/mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static const double none[3] = { -INFINITY, -INFINITY, -INFINITY }, all[3] = { INFINITY, INFINITY, INFINITY };

/* Closed, every edge with two agreeing triangles, and the volume within `tolerance`. */
static void check(const rp_mesh *m, double volume, double tolerance)
{
    int32_t *adjacent = RP_NEW_ARRAY(int32_t, 3 * m->triangle_count);
    rp_mesh copy = { RP_NEW_ARRAY(double, 3 * m->vertex_count), RP_NEW_ARRAY(int32_t, 3 * m->triangle_count), m->vertex_count,
                     m->triangle_count };
    assert_true(m->triangle_count > 0 && adjacent && copy.vertices && copy.triangles);
    memcpy(copy.vertices, m->vertices, (size_t)(3 * m->vertex_count) * sizeof(double));
    memcpy(copy.triangles, m->triangles, (size_t)(3 * m->triangle_count) * sizeof(int32_t));
    rp__mesh_report r;
    assert_int_equal(rp__shape_mesh_orient(&copy, adjacent, &r), RP_OK);
    assert_int_equal(r.open_edges, 0);
    assert_int_equal(r.crowded_edges, 0);
    assert_int_equal(r.turned, 0);
    assert_int_equal(r.conflicts, 0);
    assert_false(r.inside_out);
    if (fabs(r.volume / volume - 1) > tolerance)
        fail_msg("volume %g, expected %g", r.volume, volume);
    rp__base_free(adjacent);
    rp_mesh_free(&copy);
}

static void spheres_and_tori(void **state)
{
    (void)state;
    rp_shape *s[2] = { NULL, NULL };
    assert_int_equal(rp_shape_sphere((double[]){ 1, 2, 3 }, 0.5, &s[0]), RP_OK);
    assert_int_equal(rp_shape_torus((double[]){ 0, 0, 0 }, (double[]){ 1, 1, 0 }, 1, 0.3, &s[1]), RP_OK);
    const double volumes[2] = { 4 * PI / 3 / 8, 2 * PI * PI * 0.09 };
    for (int k = 0; k < 2; k++) {
        rp_mesh m = { 0 };
        assert_int_equal(rp_shape_triangulate(s[k], none, all, 48, &m), RP_OK);
        check(&m, volumes[k], 0.01);
        for (int64_t v = 0; v < m.vertex_count; v++)
            assert_true(fabs(rp_shape_distance(s[k], m.vertices + 3 * v, NULL)) < 1e-7);
        for (int64_t t = 0; t < m.triangle_count; t++) { /* the normal of each triangle goes with the gradient */
            rp__vec3 a = rp__vec3_load(m.vertices + 3 * (int64_t)m.triangles[3 * t]), b = rp__vec3_load(m.vertices + 3 * (int64_t)m.triangles[3 * t + 1]);
            rp__vec3 c = rp__vec3_load(m.vertices + 3 * (int64_t)m.triangles[3 * t + 2]), g;
            rp__vec3 normal = rp__vec3_cross(rp__vec3_sub(b, a), rp__vec3_sub(c, a));
            rp__shape_distance_at(s[k], a, &g);
            if (rp__vec3_norm(normal) > 1e-7) /* slivers at a node have the direction of rounding */
                assert_true(rp__vec3_dot(normal, g) > 0.5 * rp__vec3_norm(normal));
        }
        rp_mesh again = { 0 };
        rp__exec_set_threads(5);
        assert_int_equal(rp_shape_triangulate(s[k], none, all, 48, &again), RP_OK);
        rp__exec_set_threads(0);
        assert_int_equal(again.triangle_count, m.triangle_count);
        assert_memory_equal(again.vertices, m.vertices, (size_t)(3 * m.vertex_count) * sizeof(double));
        assert_memory_equal(again.triangles, m.triangles, (size_t)(3 * m.triangle_count) * sizeof(int32_t));
        rp_mesh_free(&again);
        rp_mesh_free(&m);
        rp_shape_release(s[k]);
    }
}

/* A half space and a difference, cut by a box, are closed too. */
static void cuts_are_closed(void **state)
{
    (void)state;
    rp_shape *plane = NULL, *ball = NULL, *rest = NULL;
    rp_mesh m = { 0 };
    const double lower[3] = { -1, -1, -1 }, upper[3] = { 1, 1, 1 };
    assert_int_equal(rp_shape_plane((double[]){ 0, 0, 0.2 }, (double[]){ 0.3, 0, 1 }, &plane), RP_OK);
    assert_int_equal(rp_shape_triangulate(plane, lower, upper, 32, &m), RP_OK);
    check(&m, 4 * 1.2, 0.01);
    rp_mesh_free(&m);
    assert_int_equal(rp_shape_sphere((double[]){ 0, 0, 0 }, 0.7, &ball), RP_OK);
    assert_int_equal(rp_shape_complement(ball, &rest), RP_OK);
    assert_int_equal(rp_shape_triangulate(rest, lower, upper, 32, &m), RP_OK);
    check(&m, 8 - 4 * PI / 3 * 0.343, 0.01);
    rp_mesh_free(&m);
    /* what was triangulated is a good mesh shape again */
    rp_shape *mesh = NULL;
    assert_int_equal(rp_shape_triangulate(ball, none, all, 16, &m), RP_OK);
    assert_int_equal(rp_shape_mesh_data(m.vertices, m.vertex_count, m.triangles, m.triangle_count, &mesh), RP_OK);
    assert_true(fabs(rp_shape_distance(mesh, (double[]){ 0.1, 0, 0 }, NULL) + 0.6) < 0.02);
    rp_shape_release(mesh);
    rp_mesh_free(&m);
    rp_shape_release(plane), rp_shape_release(ball), rp_shape_release(rest);
}

/* How far the nearest vertex is from each corner of a box turned about z by 0.3, half sizes 0.5 0.3 0.2; the largest. */
static double missed_corners(const rp_mesh *m)
{
    double worst = 0;
    for (int c = 0; c < 8; c++) {
        double nearest = INFINITY, x = c & 1 ? 0.5 : -0.5, y = c & 2 ? 0.3 : -0.3, z = c & 4 ? 0.2 : -0.2;
        for (int64_t v = 0; v < m->vertex_count; v++) {
            const double *p = m->vertices + 3 * v;
            double u = p[0] - (cos(0.3) * x - sin(0.3) * y), w = p[1] - (sin(0.3) * x + cos(0.3) * y);
            nearest = fmin(nearest, sqrt(u * u + w * w + (p[2] - z) * (p[2] - z)));
        }
        worst = fmax(worst, nearest);
    }
    return worst;
}

/* The edges of a box that lies anyhow on the lattice, and of a cylinder. What is round stays as it is. */
static void edges_are_sharp(void **state)
{
    (void)state;
    rp_shape *box = NULL, *turned = NULL, *can = NULL, *ball = NULL;
    rp_mesh m = { 0 };
    assert_int_equal(rp_shape_box((double[]){ 0, 0, 0 }, (double[]){ 0.5, 0.3, 0.2 }, 0, &box), RP_OK);
    assert_int_equal(rp_shape_place(box, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0.3 }, 1, &turned), RP_OK);
    const double lower[3] = { -0.7, -0.7, -0.7 }, upper[3] = { 0.7, 0.7, 0.7 };
    assert_int_equal(rp_shape_triangulate(turned, lower, upper, 23, &m), RP_OK);
    assert_true(missed_corners(&m) > 1e-3);
    assert_int_equal(rp_mesh_sharpen(turned, &m), RP_OK);
    assert_true(missed_corners(&m) < 1e-9);
    check(&m, 8 * 0.5 * 0.3 * 0.2, 1e-5); /* closed still, and the box: vertices of its sides lie on them to 1e-6 of a cell */
    rp_mesh_free(&m);
    assert_int_equal(rp_shape_cylinder((double[]){ 0, 0, -0.31 }, (double[]){ 0, 0, 0.27 }, 0.4, &can), RP_OK);
    assert_int_equal(rp_shape_triangulate(can, lower, upper, 40, &m), RP_OK);
    assert_int_equal(rp_mesh_sharpen(can, &m), RP_OK);
    check(&m, PI * 0.16 * 0.58, 0.004);
    double high = -1;
    for (int64_t v = 0; v < m.vertex_count; v++) {
        high = fmax(high, m.vertices[3 * v + 2]);
        assert_true(fabs(rp_shape_distance(can, m.vertices + 3 * v, NULL)) < 0.001);
    }
    assert_true(fabs(high - 0.27) < 1e-6);
    rp_mesh_free(&m);
    assert_int_equal(rp_shape_sphere((double[]){ 0, 0, 0 }, 0.1, &ball), RP_OK); /* of three cells: coarse, but no spikes */
    assert_int_equal(rp_shape_triangulate(ball, lower, upper, 6, &m), RP_OK);
    assert_int_equal(rp_mesh_sharpen(ball, &m), RP_OK);
    for (int64_t v = 0; v < m.vertex_count; v++)
        assert_true(fabs(rp_shape_distance(ball, m.vertices + 3 * v, NULL)) < 0.02 * 0.2);
    rp_mesh_free(&m);
    rp_shape_release(box), rp_shape_release(turned), rp_shape_release(can), rp_shape_release(ball);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    rp_shape *plane = NULL, *ball = NULL;
    rp_mesh m = { 0 };
    assert_int_equal(rp_shape_plane((double[]){ 0, 0, 0.2 }, (double[]){ 0, 0, 1 }, &plane), RP_OK);
    assert_int_equal(rp_shape_sphere((double[]){ 0, 0, 0 }, 0.7, &ball), RP_OK);
    assert_int_equal(rp_shape_triangulate(plane, none, all, 32, &m), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "no end along x"));
    assert_int_equal(rp_shape_triangulate(ball, none, all, 0, &m), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_triangulate(ball, none, all, 100000, &m), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_triangulate(ball, (double[]){ 5, 5, 5 }, (double[]){ 6, 6, 6 }, 32, &m), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "nothing of it"));
    assert_null(m.vertices);
    size_t before = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp__base_fail_allocation(n);
        rp_result r = rp_shape_triangulate(ball, none, all, 8, &m);
        rp__base_fail_allocation(0);
        if (r == RP_OK)
            break;
        assert_int_equal(r, RP_OUT_OF_MEMORY);
        assert_int_equal(rp_memory_in_use(), before);
        assert_true(n < 100);
    }
    rp_mesh_free(&m);
    rp_shape_release(plane), rp_shape_release(ball);
}

static int no_cache(void **state)
{
    (void)state;
    return rp_shape_cache_folder(NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spheres_and_tori),
        cmocka_unit_test(cuts_are_closed),
        cmocka_unit_test(edges_are_sharp),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests_name("shape triangulate", tests, no_cache, NULL);
}
