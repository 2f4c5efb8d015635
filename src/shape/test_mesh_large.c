/* Large meshes: the time they take, and that they are right. */
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"
#include "shape/mesh_tests.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A torus of 100 000 triangles: distances, the same for any threads, and the mass of its solid. */
static void a_large_mesh_is_right(void **state)
{
    (void)state;
    rp_mesh m = torus_mesh(320, 160, 1, 0.35);
    rp_shape *s = NULL, *torus = NULL;
    double start = rp__base_seconds();
    assert_int_equal(rp_shape_mesh_data(m.vertices, m.vertex_count, m.triangles, m.triangle_count, &s), RP_OK);
    double built = rp__base_seconds() - start;
    enum { N = 20000 };
    static double x[N], y[N], z[N], d[N], gx[N], gy[N], gz[N], e[N];
    for (int i = 0; i < N; i++) {
        rp__vec3 p = random_point((uint64_t)i, 1.5);
        x[i] = p.x, y[i] = p.y, z[i] = 0.4 * p.z;
    }
    start = rp__base_seconds();
    rp__shape_distances(s, N, x, y, z, d, (double *const[]){ gx, gy, gz });
    double asked = rp__base_seconds() - start;
    print_message("%lld triangles: built in %.2f s, %d distances with gradients in %.3f s\n", (long long)m.triangle_count, built, N, asked);
    assert_int_equal(rp_shape_torus((double[]){ 0, 0, 0 }, (double[]){ 0, 0, 1 }, 1, 0.35, &torus), RP_OK);
    rp__shape_distances(torus, N, x, y, z, e, NULL);
    for (int i = 0; i < N; i++) /* chords lie within 1e-4 of the torus */
        assert_true(fabs(d[i] - e[i]) < 2e-4);
    rp__exec_set_threads(5);
    rp__shape_distances(s, N, x, y, z, e, NULL);
    rp__exec_set_threads(0);
    assert_memory_equal(d, e, sizeof d);
    double v, w;
    rp__vec3 c;
    rp__mat3 i, j;
    assert_int_equal(rp__shape_mass_properties(s, 3, 8, &v, &c, &i), RP_OK);
    assert_int_equal(rp__shape_mass_properties(torus, 3, 8, &w, &c, &j), RP_OK);
    assert_true(fabs(v / w - 1) < 1e-3 && fabs(i.m[2][2] / j.m[2][2] - 1) < 2e-3);
    rp_shape_release(torus);
    rp_shape_release(s);
    rp_mesh_free(&m);
}

/* The unit cube with a side of n × n quads, every quad with corners of its own. */
static rp_mesh cube_mesh(int n)
{
    int64_t quads = 6 * (int64_t)n * n;
    rp_mesh m = { RP_NEW_ARRAY(double, 12 * quads), RP_NEW_ARRAY(int32_t, 6 * quads), 4 * quads, 2 * quads };
    assert_true(m.vertices && m.triangles);
    for (int64_t q = 0; q < quads; q++) {
        int face = (int)(q / n / n), a = face / 2;
        int64_t i = q / n % n, j = q % n;
        for (int c = 0; c < 4; c++) {
            double u = (double)(i + (c == 1 || c == 2)) / n, w = (double)(j + (c >= 2)) / n, *p = m.vertices + 3 * (4 * q + c);
            p[a] = face % 2;
            p[(a + 1) % 3] = face % 2 ? u : w;
            p[(a + 2) % 3] = face % 2 ? w : u;
        }
        int32_t b = (int32_t)(4 * q), t[6] = { b, b + 1, b + 2, b, b + 2, b + 3 };
        memcpy(m.triangles + 6 * q, t, sizeof t);
    }
    return m;
}

static void a_million_triangles_are_taken(void **state)
{
    (void)state;
    rp_mesh m = cube_mesh(289);
    assert_true(m.triangle_count > 1000000);
    rp_shape *s = NULL, *box = NULL;
    assert_int_equal(rp_shape_mesh_data(m.vertices, m.vertex_count, m.triangles, m.triangle_count, &s), RP_OK);
    rp_mesh_free(&m);
    assert_int_equal(rp_shape_box((double[]){ 0.5, 0.5, 0.5 }, (double[]){ 0.5, 0.5, 0.5 }, 0, &box), RP_OK);
    for (uint64_t n = 0; n < 2000; n++) {
        double p[3];
        rp__vec3_store(p, random_point(n, 1.3));
        assert_true(fabs(rp_shape_distance(s, p, NULL) - rp_shape_distance(box, p, NULL)) < 1e-12);
    }
    double v;
    rp__vec3 c;
    rp__mat3 i;
    assert_int_equal(rp__shape_mass_properties(s, 3, 8, &v, &c, &i), RP_OK);
    assert_true(fabs(v - 1) < 1e-9 && fabs(c.x - 0.5) < 1e-9 && fabs(i.m[1][1] - 1.0 / 6) < 1e-9);
    rp_shape_release(s);
    rp_shape_release(box);
}

static int no_cache(void **state)
{
    (void)state;
    return rp_shape_cache_folder(NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_mesh_is_right),
        cmocka_unit_test(a_million_triangles_are_taken),
    };
    return cmocka_run_group_tests_name("shape large meshes", tests, no_cache, NULL);
}
