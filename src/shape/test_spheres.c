/* Balls in shapes: none overlap, all are inside, no more fit in, the same for any threads. */
#include "base/memory.h"
#include "cmocka_test.h"
#include "exec/exec.h"
#include "math/random.h"
#include "shape/sampling.h"

#include <math.h>
#include <string.h>

static const double r = 0.05;

static rp_shape *make_shape(int which)
{
    rp_shape *a, *b, *c;
    double zero[3] = { 0, 0, 0 }, half[3] = { 0.6, 0.5, 0.4 }, from[3] = { -0.5, 0, 0 }, to[3] = { 0.6, 0.1, 0.3 };
    if (which == 0)
        assert_int_equal(rp_shape_box(zero, half, 0, &a), RP_OK);
    else if (which == 1)
        assert_int_equal(rp_shape_torus(zero, half, 0.5, 0.2, &a), RP_OK);
    else { /* a mesh, made from a union */
        rp_mesh mesh;
        double low[3] = { -1, -1, -1 }, high[3] = { 1, 1, 1 };
        assert_int_equal(rp_shape_sphere(zero, 0.45, &b), RP_OK);
        assert_int_equal(rp_shape_capsule(from, to, 0.25, &c), RP_OK);
        rp_shape *both[2] = { b, c }, *joined;
        assert_int_equal(rp_shape_union(both, 2, &joined), RP_OK);
        assert_int_equal(rp_shape_triangulate(joined, low, high, 40, &mesh), RP_OK);
        assert_int_equal(rp_shape_mesh_data(mesh.vertices, mesh.vertex_count, mesh.triangles, mesh.triangle_count, &a), RP_OK);
        rp_mesh_free(&mesh);
        rp_shape_release(b), rp_shape_release(c), rp_shape_release(joined);
    }
    return a;
}

static rp__spheres_def wide(void)
{
    rp__spheres_def def = { .dim = 3, .radius = r, .seed = 3, .limit = 1000000 };
    for (int d = 0; d < 3; d++)
        def.lower[d] = -10, def.upper[d] = 10;
    return def;
}

static double nearest(const double *points, int64_t count, const double p[3], int64_t but)
{
    double best = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        double a = p[0] - points[3 * i], b = p[1] - points[3 * i + 1], c = p[2] - points[3 * i + 2];
        if (i != but)
            best = fmin(best, a * a + b * b + c * c);
    }
    return sqrt(best);
}

static void maximal(void **unused)
{
    (void)unused;
    for (int which = 0; which < 3; which++) {
        rp_shape *shape = make_shape(which);
        rp__spheres_def def = wide();
        double *points = NULL;
        int64_t count = 0, octant[8] = { 0 };
        assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_OK);
        assert_true(count > 100);
        for (int64_t i = 0; i < count; i++) {
            assert_true(rp_shape_distance(shape, points + 3 * i, NULL) <= -r + 1e-12);
            assert_true(nearest(points, count, points + 3 * i, i) >= 2 * r * (1 - 1e-12));
        }
        for (int k = 0; k < 40 * 40 * 40; k++) { /* a place for one more: there is none */
            double p[3] = { -0.9 + 1.8 * (k % 40) / 39, -0.9 + 1.8 * (k / 40 % 40) / 39, -0.9 + 1.8 * (k / 1600) / 39 };
            if (rp_shape_distance(shape, p, NULL) <= -r * 1.02)
                assert_true(nearest(points, count, p, -1) < 2 * r * 1.01);
        }
        /* Directions between near pairs are as uniform as chance: chi² of the eight octants, 7 degrees of freedom, 0.1 % at 24.3. */
        int64_t pairs = 0;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < i; j++) {
                const double *p = points + 3 * i, *q = points + 3 * j;
                double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };
                if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > 6.25 * r * r)
                    continue;
                octant[(d[0] > 0) | (d[1] > 0) << 1 | (d[2] > 0) << 2]++;
                octant[(d[0] < 0) | (d[1] < 0) << 1 | (d[2] < 0) << 2]++;
                pairs++;
            }
        double square = 0, mean = (double)pairs / 4;
        for (int k = 0; k < 8; k++)
            square += ((double)octant[k] - mean) * ((double)octant[k] - mean) / mean;
        if (which == 0) /* a torus and a bent body have directions of their own */
            assert_true(square / 2 < 24.3); /* a pair counts in both of its octants */
        rp__base_free(points);
        rp_shape_release(shape);
    }
}

static double fraction(bool dense)
{
    double zero[3] = { 0, 0, 0 }, half[3] = { 0.8, 0.8, 0.8 };
    rp_shape *box;
    rp__spheres_def def = wide();
    double *points = NULL;
    int64_t count = 0, inner = 0;
    assert_int_equal(rp_shape_box(zero, half, 0, &box), RP_OK);
    assert_int_equal(dense ? rp__sampling_dense(box, &def, &points, &count) : rp__sampling_spheres(box, &def, &points, &count), RP_OK);
    double worst = 1;
    for (int64_t i = 0; i < count; i++) {
        inner += fabs(points[3 * i]) < 0.5 && fabs(points[3 * i + 1]) < 0.5 && fabs(points[3 * i + 2]) < 0.5;
        worst = fmin(worst, nearest(points, count, points + 3 * i, i) / (2 * r));
        assert_true(rp_shape_distance(box, points + 3 * i, NULL) <= -r + 1e-9);
    }
    if (dense)
        assert_true(worst > 0.95);
    rp__base_free(points);
    rp_shape_release(box);
    return (double)inner * 4.18879 * r * r * r;
}

/* In the middle of a box of edge 1: random sequential packing ends at 0.38, a settled bed has about 0.6. */
static void fractions(void **unused)
{
    (void)unused;
    double loose = fraction(false), settled = fraction(true);
    assert_true(loose > 0.36 && loose < 0.40);
    assert_true(settled > 0.55 && settled < 0.65);
}

static void same_for_any_threads(void **unused)
{
    (void)unused;
    static const int threads[] = { 1, 2, 5 };
    double *first = NULL;
    int64_t number = 0;
    rp_shape *shape = make_shape(1);
    for (int t = 0; t < 3; t++) {
        rp__spheres_def def = wide();
        double *points = NULL;
        int64_t count = 0;
        rp__exec_set_threads(threads[t]);
        assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_OK);
        if (t == 0) {
            first = points, number = count;
            continue;
        }
        assert_int_equal(count, number);
        assert_memory_equal(points, first, 3 * (size_t)count * sizeof *points);
        rp__base_free(points);
    }
    rp__exec_set_threads(0);
    rp__base_free(first);
    rp_shape_release(shape);
}

/* Neighbours lie in all directions alike: chi squared of the heights of unit vectors between near pairs, and of their octants. */
static void directions_are_uniform(void **unused)
{
    (void)unused;
    enum { BINS = 10 };
    rp_shape *box = make_shape(0);
    rp__spheres_def def = wide();
    double *points = NULL, bins[BINS] = { 0 }, octants[8] = { 0 }, all = 0, heights = 0, sides = 0;
    int64_t count = 0;
    def.radius = 0.03;
    assert_int_equal(rp__sampling_spheres(box, &def, &points, &count), RP_OK);
    for (int64_t i = 0; i < count; i++) {
        const double *p = points + 3 * i;
        if (fabs(p[0]) > 0.48 || fabs(p[1]) > 0.38 || fabs(p[2]) > 0.28) /* near the walls there is a side without neighbours */
            continue;
        for (int64_t j = 0; j < count; j++) {
            double d[3] = { points[3 * j] - p[0], points[3 * j + 1] - p[1], points[3 * j + 2] - p[2] }, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (j == i || length > 2.6 * def.radius ||
                (j < i && fabs(points[3 * j]) < 0.48 && fabs(points[3 * j + 1]) < 0.38 && fabs(points[3 * j + 2]) < 0.28))
                continue; /* each pair once */
            int flip = rp__random_unit(11, (uint64_t)i, (uint64_t)j) < 0.5 ? -1 : 1; /* from either end */
            int bin = (int)(BINS * 0.5 * (1 + flip * d[2] / length));
            bins[bin < BINS ? bin : BINS - 1] += 1;
            octants[(flip * d[0] > 0) + 2 * (flip * d[1] > 0) + 4 * (flip * d[2] > 0)] += 1;
            all += 1;
        }
    }
    for (int k = 0; k < BINS; k++)
        heights += (bins[k] - all / BINS) * (bins[k] - all / BINS) / (all / BINS);
    for (int k = 0; k < 8; k++)
        sides += (octants[k] - all / 8) * (octants[k] - all / 8) / (all / 8);
    assert_true(all > 3000);
    assert_true(heights < 27.9 && sides < 24.3); /* one in a thousand with 9 and 7 degrees of freedom */
    rp__base_free(points);
    rp_shape_release(box);
}

/* On surfaces: none nearer than 2 r to another, all on the surface asked for, no room for one more there, the same for any threads. */
static void surfaces(void **unused)
{
    (void)unused;
    for (int which = 0; which < 3; which++)
        for (int inset = 0; inset < 2; inset++) {
            rp_shape *shape = make_shape(which);
            rp__spheres_def def = wide();
            double *points = NULL, *again = NULL;
            int64_t count = 0, same = 0, probes = 0;
            def.surface = true;
            def.inset = inset * r;
            rp__exec_set_threads(1);
            assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_OK);
            rp__exec_set_threads(3);
            assert_int_equal(rp__sampling_spheres(shape, &def, &again, &same), RP_OK);
            rp__exec_set_threads(0);
            assert_int_equal(count, same);
            assert_memory_equal(points, again, 3 * (size_t)count * sizeof *points);
            for (int64_t i = 0; i < count; i++) {
                assert_true(nearest(points, count, points + 3 * i, i) >= 2 * r * (1 - 1e-12));
                assert_true(fabs(rp_shape_distance(shape, points + 3 * i, NULL) + def.inset) < 1e-5 * r);
            }
            for (int k = 0; k < 20000; k++) { /* probes, brought to the surface */
                double p[3], g[3], d = 1;
                for (int a = 0; a < 3; a++)
                    p[a] = 2.4 * rp__random_unit(5, (uint64_t)k, (uint64_t)a) - 1.2;
                for (int n = 0; n < 30 && fabs(d) > 1e-7; n++) {
                    d = rp_shape_distance(shape, p, g) + def.inset;
                    for (int a = 0; a < 3; a++)
                        p[a] -= d * g[a];
                }
                if (fabs(d) < 1e-7) {
                    assert_true(nearest(points, count, p, -1) < 2 * r * 1.03);
                    probes++;
                }
            }
            assert_true(probes > 5000 && count > 50);
            rp__base_free(points);
            rp__base_free(again);
            rp_shape_release(shape);
        }
}

static void refuses(void **unused)
{
    (void)unused;
    rp_shape *shape = make_shape(0);
    rp__spheres_def def = wide();
    double *points = NULL;
    int64_t count = 7;
    def.radius = 0;
    assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_BAD_ARGUMENT);
    def.radius = 1; /* larger than the shape: none, and no harm */
    assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_OK);
    assert_int_equal(count, 0);
    rp__base_free(points);
    def.radius = r, def.limit = 10;
    assert_int_equal(rp__sampling_spheres(shape, &def, &points, &count), RP_TOO_LARGE);
    rp_shape_release(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(maximal), cmocka_unit_test(fractions), cmocka_unit_test(same_for_any_threads),
                                        cmocka_unit_test(surfaces), cmocka_unit_test(directions_are_uniform), cmocka_unit_test(refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
