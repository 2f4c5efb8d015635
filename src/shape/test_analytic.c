/* Analytic shapes against points of their surfaces made from a formula of its own, and against finite differences. */
#include "base/memory.h"
#include "math/random.h"
#include "shape/shape_class.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static double unit(uint64_t stream, uint64_t counter)
{
    return rp__random_unit(11, stream, counter);
}

/* Axes used by the tilted shapes: unit, orthogonal. */
static const rp__vec3 axis_w = { 2.0 / 3, 1.0 / 3, 2.0 / 3 }, axis_u = { -2.0 / 3, 2.0 / 3, 1.0 / 3 }, axis_v = { -1.0 / 3, -2.0 / 3, 2.0 / 3 };
static const double origin[3] = { 0.3, -0.2, 0.1 };

static rp__vec3 at_axes(double u, double v, double w)
{
    rp__vec3 p = rp__vec3_load(origin);
    p = rp__vec3_axpy(u, axis_u, p);
    p = rp__vec3_axpy(v, axis_v, p);
    return rp__vec3_axpy(w, axis_w, p);
}

static void end_of(double w, double out[3])
{
    rp__vec3_store(out, at_axes(0, 0, w));
}

typedef struct kind {
    const char *name;
    rp_result (*create)(rp_shape **out);
    rp__vec3 (*surface)(int piece, double s, double t); /* s, t in [0, 1] */
    int pieces;
} kind;

static rp_result make_sphere(rp_shape **out)
{
    return rp_shape_sphere(origin, 0.7, out);
}
static rp__vec3 on_sphere(int piece, double s, double t)
{
    (void)piece;
    double z = 2 * s - 1, r = sqrt(1 - z * z);
    return at_axes(0.7 * r * cos(2 * PI * t), 0.7 * r * sin(2 * PI * t), 0.7 * z);
}

static rp_result make_box(rp_shape **out)
{
    return rp_shape_box(origin, (double[]){ 0.5, 0.8, 0.3 }, 0, out);
}
static rp__vec3 on_box(int piece, double s, double t)
{
    double h[3] = { 0.5, 0.8, 0.3 }, p[3];
    int a = piece / 2;
    p[a] = piece % 2 ? h[a] : -h[a];
    p[(a + 1) % 3] = (2 * s - 1) * h[(a + 1) % 3];
    p[(a + 2) % 3] = (2 * t - 1) * h[(a + 2) % 3];
    return rp__vec3_add(rp__vec3_load(origin), rp__vec3_load(p));
}

static rp_result make_rounded(rp_shape **out)
{
    return rp_shape_box(origin, (double[]){ 0.5, 0.8, 0.3 }, 0.2, out);
}
/* six faces, then eight balls and twelve quarter cylinders, taken whole: what lies inside is moved out by the formula */
static rp__vec3 on_rounded(int piece, double s, double t)
{
    double h[3] = { 0.3, 0.6, 0.1 }, p[3];
    if (piece < 6) {
        int a = piece / 2;
        p[a] = (piece % 2 ? 1 : -1) * (h[a] + 0.2);
        p[(a + 1) % 3] = (2 * s - 1) * h[(a + 1) % 3];
        p[(a + 2) % 3] = (2 * t - 1) * h[(a + 2) % 3];
    } else if (piece < 14) { /* an eighth of a ball */
        int k = piece - 6;
        double z = s, r = sqrt(1 - z * z);
        double n[3] = { r * cos(PI / 2 * t), r * sin(PI / 2 * t), z };
        for (int a = 0; a < 3; a++)
            p[a] = (k >> a & 1 ? 1 : -1) * (h[a] + 0.2 * n[a]);
    } else { /* a quarter cylinder along axis a */
        int a = (piece - 14) / 4, k = (piece - 14) % 4, b = (a + 1) % 3, c = (a + 2) % 3;
        p[a] = (2 * s - 1) * h[a];
        p[b] = (k & 1 ? 1 : -1) * (h[b] + 0.2 * cos(PI / 2 * t));
        p[c] = (k & 2 ? 1 : -1) * (h[c] + 0.2 * sin(PI / 2 * t));
    }
    return rp__vec3_add(rp__vec3_load(origin), rp__vec3_load(p));
}

static rp_result make_capsule(rp_shape **out)
{
    double a[3], b[3];
    end_of(-0.4, a), end_of(0.5, b);
    return rp_shape_capsule(a, b, 0.3, out);
}
static rp__vec3 on_capsule(int piece, double s, double t)
{
    double c = 0.3 * cos(2 * PI * t), d = 0.3 * sin(2 * PI * t);
    if (piece == 0)
        return at_axes(c, d, -0.4 + 0.9 * s);
    double r = sqrt(1 - s * s);
    return at_axes(c * r, d * r, piece == 1 ? -0.4 - 0.3 * s : 0.5 + 0.3 * s);
}

static rp__vec3 on_cone_of(double ra, double rb, int piece, double s, double t)
{
    double r = piece == 0 ? ra + (rb - ra) * s : sqrt(s) * (piece == 1 ? ra : rb);
    double w = piece == 0 ? -0.4 + 0.9 * s : piece == 1 ? -0.4 : 0.5;
    return at_axes(r * cos(2 * PI * t), r * sin(2 * PI * t), w);
}
static rp_result make_cylinder(rp_shape **out)
{
    double a[3], b[3];
    end_of(-0.4, a), end_of(0.5, b);
    return rp_shape_cylinder(a, b, 0.35, out);
}
static rp__vec3 on_cylinder(int piece, double s, double t)
{
    return on_cone_of(0.35, 0.35, piece, s, t);
}
static rp_result make_cone(rp_shape **out)
{
    double a[3], b[3];
    end_of(-0.4, a), end_of(0.5, b);
    return rp_shape_cone(a, b, 0.6, 0.2, out);
}
static rp__vec3 on_cone(int piece, double s, double t)
{
    return on_cone_of(0.6, 0.2, piece, s, t);
}
static rp_result make_point(rp_shape **out)
{
    double a[3], b[3];
    end_of(-0.4, a), end_of(0.5, b);
    return rp_shape_cone(a, b, 0, 0.5, out);
}
static rp__vec3 on_point(int piece, double s, double t)
{
    return on_cone_of(0, 0.5, piece, s, t);
}

static rp_result make_torus(rp_shape **out)
{
    double w[3];
    rp__vec3_store(w, rp__vec3_scale(3, axis_w));
    return rp_shape_torus(origin, w, 0.6, 0.25, out);
}
static rp__vec3 on_torus(int piece, double s, double t)
{
    (void)piece;
    double r = 0.6 + 0.25 * cos(2 * PI * s);
    return at_axes(r * cos(2 * PI * t), r * sin(2 * PI * t), 0.25 * sin(2 * PI * s));
}

static rp_result make_ellipsoid(rp_shape **out)
{
    return rp_shape_ellipsoid(origin, (double[]){ 0.8, 0.3, 0.5 }, out);
}
static rp__vec3 on_ellipsoid(int piece, double s, double t)
{
    (void)piece;
    double z = 2 * s - 1, r = sqrt(1 - z * z);
    return rp__vec3_add(rp__vec3_load(origin), rp__vec3_make(0.8 * r * cos(2 * PI * t), 0.3 * r * sin(2 * PI * t), 0.5 * z));
}

static const kind kinds[] = {
    { "sphere", make_sphere, on_sphere, 1 },       { "box", make_box, on_box, 6 },
    { "rounded box", make_rounded, on_rounded, 26 }, { "capsule", make_capsule, on_capsule, 3 },
    { "cylinder", make_cylinder, on_cylinder, 3 }, { "cone", make_cone, on_cone, 3 },
    { "pointed cone", make_point, on_point, 3 },   { "torus", make_torus, on_torus, 1 },
    { "ellipsoid", make_ellipsoid, on_ellipsoid, 1 },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static rp__vec3 random_point(uint64_t n)
{
    return rp__vec3_make(origin[0] + 3 * unit(1, 3 * n) - 1.5, origin[1] + 3 * unit(1, 3 * n + 1) - 1.5,
                         origin[2] + 3 * unit(1, 3 * n + 2) - 1.5);
}

/* No point of the surface is nearer than |d|, and one is at most the spacing of the points farther. */
static void distances_match_the_nearest_surface_point(void **state)
{
    (void)state;
    enum { SIDE = 120, QUERIES = 60 };
    for (int k = 0; k < KINDS; k++) {
        rp_shape *shape = NULL;
        assert_int_equal(kinds[k].create(&shape), RP_OK);
        rp__vec3 query[QUERIES];
        double d[QUERIES], nearest[QUERIES];
        for (int q = 0; q < QUERIES; q++) {
            query[q] = random_point((uint64_t)q);
            d[q] = fabs(rp__shape_distance_at(shape, query[q], NULL));
            nearest[q] = INFINITY;
        }
        for (int piece = 0; piece < kinds[k].pieces; piece++)
            for (int i = 0; i <= SIDE; i++)
                for (int j = 0; j <= SIDE; j++) {
                    rp__vec3 s = kinds[k].surface(piece, (double)i / SIDE, (double)j / SIDE);
                    double on = rp__shape_distance_at(shape, s, NULL);
                    assert_true(fabs(on) < 1e-12);
                    for (int q = 0; q < QUERIES; q++)
                        nearest[q] = fmin(nearest[q], rp__vec3_norm(rp__vec3_sub(s, query[q])));
                }
        for (int q = 0; q < QUERIES; q++) {
            assert_true(nearest[q] >= d[q] - 1e-12);
            /* a patch is at most 0.05 across; near the surface that adds (0.05/2)² / d, at most 0.025 */
            double slack = fmin(0.035, 0.035 * 0.035 / d[q] + 1e-9);
            if (nearest[q] > d[q] + slack)
                fail_msg("%s: distance %g at query %d, but the nearest surface point is %g away", kinds[k].name, d[q], q, nearest[q]);
        }
        rp_shape_release(shape);
    }
}

/* The step along -d times the gradient ends on the surface; the gradient is that of finite differences. */
static void gradients_match_finite_differences(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rp_shape *shape = NULL;
        assert_int_equal(kinds[k].create(&shape), RP_OK);
        int kinks = 0;
        for (uint64_t q = 0; q < 4000; q++) {
            rp__vec3 p = random_point(q), g;
            double d = rp__shape_distance_at(shape, p, &g);
            assert_true(fabs(rp__vec3_norm(g) - 1) < 1e-12);
            double foot = rp__shape_distance_at(shape, rp__vec3_axpy(-d, g, p), NULL);
            assert_true(fabs(foot) < 1e-9);
            double h = 1e-5;
            rp__vec3 e[3] = { { h, 0, 0 }, { 0, h, 0 }, { 0, 0, h } };
            double fd[3];
            for (int i = 0; i < 3; i++)
                fd[i] = (rp__shape_distance_at(shape, rp__vec3_add(p, e[i]), NULL) -
                         rp__shape_distance_at(shape, rp__vec3_sub(p, e[i]), NULL)) / (2 * h);
            if (rp__vec3_norm(rp__vec3_sub(rp__vec3_load(fd), g)) > 1e-4)
                kinks++; /* on the medial surface there is no gradient: rare among random points */
        }
        if (kinks > 4)
            fail_msg("%s: %d of 4000 gradients differ from finite differences", kinds[k].name, kinks);
        rp_shape_release(shape);
    }
}

static void signs_match_volumes(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rp_shape *shape = NULL;
        assert_int_equal(kinds[k].create(&shape), RP_OK);
        double lower[3], upper[3];
        rp_shape_bounds(shape, lower, upper);
        double box = 1;
        for (int i = 0; i < 3; i++)
            box *= upper[i] - lower[i];
        int64_t n = 40000, inside = 0;
        for (int64_t i = 0; i < n; i++) {
            uint64_t c = (uint64_t)(3 * i);
            double p[3] = { lower[0] + (upper[0] - lower[0]) * unit(2, c), lower[1] + (upper[1] - lower[1]) * unit(2, c + 1),
                            lower[2] + (upper[2] - lower[2]) * unit(2, c + 2) };
            inside += rp_shape_distance(shape, p, NULL) < 0;
        }
        double volume;
        rp__vec3 centre;
        rp__mat3 inertia;
        assert_int_equal(rp__shape_mass_properties(shape, 3, 64, &volume, &centre, &inertia), RP_OK);
        double share = volume / box, sigma = sqrt(share * (1 - share) / (double)n);
        assert_true(fabs((double)inside / (double)n - share) < 4 * sigma + 1e-4);
        rp_shape_release(shape);
    }
}

/* The closed forms against the quadrature, which a placement-free union of one shape is forced to use. */
static void masses_match_quadrature(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rp_shape *shape = NULL, *plain = NULL;
        assert_int_equal(kinds[k].create(&shape), RP_OK);
        assert_int_equal(rp_shape_union(&shape, 1, &plain), RP_OK);
        double v, w;
        rp__vec3 c, e;
        rp__mat3 i, j;
        assert_int_equal(rp__shape_mass_properties(shape, 3, 64, &v, &c, &i), RP_OK);
        assert_int_equal(rp__shape_mass_properties(plain, 3, 64, &w, &e, &j), RP_OK);
        assert_true(fabs(v - w) < 5e-4 * v);
        assert_true(rp__vec3_norm(rp__vec3_sub(c, e)) < 2e-4);
        double scale = (i.m[0][0] + i.m[1][1] + i.m[2][2]) / 3;
        for (int n = 0; n < 9; n++)
            if (fabs(i.m[n / 3][n % 3] - j.m[n / 3][n % 3]) > 5e-4 * scale)
                fail_msg("%s: inertia %d is %g, by quadrature %g", kinds[k].name, n, i.m[n / 3][n % 3], j.m[n / 3][n % 3]);
        rp_shape_release(plain);
        rp_shape_release(shape);
    }
}

static void known_masses(void **state)
{
    (void)state;
    rp_shape *s = NULL, *t = NULL;
    double v;
    rp__vec3 c;
    rp__mat3 i;
    /* a box of 1 x 2 x 3 m, scaled by 2, turned by 90 degrees about z, moved */
    assert_int_equal(rp_shape_box((double[]){ 1, 0, 0 }, (double[]){ 0.5, 1, 1.5 }, 0, &s), RP_OK);
    assert_int_equal(rp_shape_place(s, (double[]){ 0, 0, 5 }, (double[]){ 0, 0, PI / 2 }, 2, &t), RP_OK);
    assert_int_equal(rp__shape_mass_properties(t, 3, 16, &v, &c, &i), RP_OK);
    assert_true(fabs(v - 48) < 1e-12);
    assert_true(rp__vec3_norm(rp__vec3_sub(c, rp__vec3_make(0, 2, 5))) < 1e-12);
    assert_true(fabs(i.m[0][0] - 48.0 / 12 * (4 + 36)) < 1e-9);
    assert_true(fabs(i.m[1][1] - 48.0 / 12 * (16 + 36)) < 1e-9);
    assert_true(fabs(i.m[2][2] - 48.0 / 12 * (4 + 16)) < 1e-9);
    rp_shape_release(t);
    /* the section at z = 0 in 2D */
    assert_int_equal(rp__shape_mass_properties(s, 2, 64, &v, &c, &i), RP_OK);
    assert_true(fabs(v - 2) < 1e-9 && fabs(c.x - 1) < 1e-9);
    assert_true(fabs(i.m[2][2] - 2.0 / 12 * (1 + 4)) < 1e-6);
    rp_shape_release(s);
    assert_int_equal(rp_shape_plane((double[]){ 0, 0, 0 }, (double[]){ 0, 0, 1 }, &s), RP_OK);
    assert_int_equal(rp__shape_mass_properties(s, 3, 64, &v, &c, &i), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "no end along x"));
    rp_shape_release(s);
}

static void bounds_hold_the_inside(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rp_shape *shape = NULL, *turned = NULL;
        assert_int_equal(kinds[k].create(&shape), RP_OK);
        assert_int_equal(rp_shape_place(shape, (double[]){ 1, 2, 3 }, (double[]){ 0.3, 2, -0.7 }, 1.5, &turned), RP_OK);
        for (int n = 0; n < 2; n++) {
            const rp_shape *s = n ? turned : shape;
            double lower[3], upper[3];
            rp_shape_bounds(s, lower, upper);
            for (int axis = 0; axis < 3; axis++) {
                double touch = INFINITY; /* the bounds of the untouched shape are tight: some surface point comes near */
                for (uint64_t q = 0; q < 4000; q++) {
                    double p[3] = { 6 * unit(4, 3 * q) - 1, 6 * unit(4, 3 * q + 1) - 1, 6 * unit(4, 3 * q + 2) - 1 };
                    if (n == 0)
                        rp__vec3_store(p, random_point(q));
                    rp__vec3 g;
                    double d = rp__shape_distance_at(s, rp__vec3_load(p), &g);
                    rp__vec3 foot = rp__vec3_axpy(-d, g, rp__vec3_load(p));
                    double f[3];
                    rp__vec3_store(f, foot);
                    assert_true(f[axis] > lower[axis] - 1e-9 && f[axis] < upper[axis] + 1e-9);
                    touch = fmin(touch, f[axis] - lower[axis]);
                }
                if (n == 0)
                    assert_true(touch < 0.05);
            }
        }
        rp_shape_release(turned);
        rp_shape_release(shape);
    }
}

static void combinations_have_the_right_sign(void **state)
{
    (void)state;
    rp_shape *a = NULL, *b = NULL, *s[6] = { 0 };
    assert_int_equal(rp_shape_sphere((double[]){ 0, 0, 0 }, 1, &a), RP_OK);
    assert_int_equal(rp_shape_box((double[]){ 0.8, 0, 0 }, (double[]){ 0.6, 0.6, 0.6 }, 0.1, &b), RP_OK);
    rp_shape *both[2] = { a, b };
    assert_int_equal(rp_shape_union(both, 2, &s[0]), RP_OK);
    assert_int_equal(rp_shape_intersection(both, 2, &s[1]), RP_OK);
    assert_int_equal(rp_shape_difference(a, b, &s[2]), RP_OK);
    assert_int_equal(rp_shape_offset(a, 0.2, &s[3]), RP_OK);
    assert_int_equal(rp_shape_shell(a, 0.2, &s[4]), RP_OK);
    assert_int_equal(rp_shape_complement(a, &s[5]), RP_OK);
    rp_shape_release(a), rp_shape_release(b); /* the combinations keep them */
    for (uint64_t q = 0; q < 5000; q++) {
        rp__vec3 p = random_point(q), g;
        double da = rp__shape_distance_at(a, p, NULL), db = rp__shape_distance_at(b, p, NULL);
        bool in_a = da < 0, in_b = db < 0;
        bool expected[6] = { in_a || in_b, in_a && in_b, in_a && !in_b, da < 0.2, fabs(da) < 0.1, !in_a };
        for (int n = 0; n < 6; n++) {
            double d = rp__shape_distance_at(s[n], p, &g);
            assert_int_equal(d < 0, expected[n]);
            assert_true(fabs(rp__vec3_norm(g) - 1) < 1e-12);
            double ahead = rp__shape_distance_at(s[n], rp__vec3_axpy(1e-7, g, p), NULL);
            assert_true(ahead - d > 0.9e-7 || fabs(fabs(da) - fabs(db)) < 1e-5);
        }
    }
    double lower[3], upper[3];
    rp_shape_bounds(s[0], lower, upper);
    assert_true(lower[0] == -1 && fabs(upper[0] - 1.4) < 1e-12);
    rp_shape_bounds(s[1], lower, upper);
    assert_true(fabs(lower[0] - 0.2) < 1e-12 && upper[0] == 1 && fabs(upper[1] - 0.6) < 1e-12);
    rp_shape_bounds(s[4], lower, upper);
    assert_true(fabs(upper[2] - 1.1) < 1e-12);
    rp_shape_bounds(s[5], lower, upper);
    assert_true(isinf(lower[0]) && isinf(upper[0]));
    for (int n = 0; n < 6; n++)
        rp_shape_release(s[n]);
}

static void half_spaces_stay_half_bounded_when_turned(void **state)
{
    (void)state;
    rp_shape *plane = NULL, *turned = NULL;
    double lower[3], upper[3];
    assert_int_equal(rp_shape_plane((double[]){ 0, 0, 1 }, (double[]){ 0, 0, 2 }, &plane), RP_OK);
    rp_shape_bounds(plane, lower, upper);
    assert_true(upper[2] == 1 && isinf(lower[2]) && isinf(upper[0]));
    assert_int_equal(rp_shape_place(plane, (double[]){ 3, 0, 0 }, (double[]){ 0, PI / 2, 0 }, 1, &turned), RP_OK);
    rp_shape_bounds(turned, lower, upper); /* z became x */
    assert_true(fabs(upper[0] - 4) < 1e-9 && isinf(lower[0]) && isinf(upper[2]) && isinf(lower[2]));
    double g[3];
    assert_true(fabs(rp_shape_distance(turned, (double[]){ 6, 1, 1 }, g) - 2) < 1e-12 && fabs(g[0] - 1) < 1e-12);
    rp_shape_release(turned), rp_shape_release(plane);
}

static void many_distances_agree_with_one(void **state)
{
    (void)state;
    enum { N = 3000 };
    static double x[N], y[N], z[N], d[N], gx[N], gy[N], gz[N];
    rp_shape *shape = NULL;
    assert_int_equal(make_torus(&shape), RP_OK);
    for (int i = 0; i < N; i++) {
        rp__vec3 p = random_point((uint64_t)i);
        x[i] = p.x, y[i] = p.y, z[i] = p.z;
    }
    double *const g[3] = { gx, gy, gz };
    rp__shape_distances(shape, N, x, y, z, d, g);
    rp__pose pose = { { 0.1, 0.2, 0.3 }, rp__quat_from_vector(rp__vec3_make(0.5, -1, 2)) };
    for (int i = 0; i < N; i++) {
        double p[3] = { x[i], y[i], z[i] }, one[3];
        assert_true(d[i] == rp_shape_distance(shape, p, one));
        assert_true(gx[i] == one[0] && gy[i] == one[1] && gz[i] == one[2]);
        rp__vec3 moved = rp__pose_apply(&pose, rp__vec3_load(p)), gm;
        assert_true(fabs(rp__shape_distance_posed(shape, &pose, moved, &gm) - d[i]) < 1e-12);
        assert_true(rp__vec3_norm(rp__vec3_sub(gm, rp__quat_rotate(pose.orientation, rp__vec3_load(one)))) < 1e-9);
    }
    rp_shape_release(shape);
}

#define REFUSED(call, words)                                       \
    do {                                                           \
        rp_shape *refused_ = NULL;                                 \
        rp_shape **out = &refused_;                                \
        assert_int_equal((call), RP_BAD_ARGUMENT);                 \
        assert_null(refused_);                                     \
        if (!strstr(rp_last_error(), words))                       \
            fail_msg("'%s' lacks '%s'", rp_last_error(), words);   \
    } while (0)

/* A glass: a cylinder without two chambers, each a cylinder cut by a cone, and without a ball that is no ball (its distance is a bound). */
static void cut_combinations_have_the_same_distances(void **state)
{
    rp_shape *part[8] = { 0 }, *chamber[2], *all, *glass;
    (void)state;
    for (int k = 0; k < 2; k++) {
        double sign = k ? -1 : 1;
        assert_true(rp_shape_cylinder((double[3]){ 0, 0, -0.5 * sign }, (double[3]){ 0, 0, 0.6 * sign }, 0.4, &part[0]) == RP_OK);
        assert_true(rp_shape_cone((double[3]){ 0, 0, 0.1 * sign }, (double[3]){ 0, 0, -sign }, 0.05, 0.9, &part[1]) == RP_OK);
        assert_true(rp_shape_intersection(part, 2, &chamber[k]) == RP_OK);
        rp_shape_release(part[0]), rp_shape_release(part[1]);
    }
    assert_true(rp_shape_ellipsoid((double[3]){ 0.3, 0, 0 }, (double[3]){ 0.3, 0.1, 0.05 }, &part[2]) == RP_OK);
    rp_shape *hollow[3] = { chamber[0], chamber[1], part[2] };
    assert_true(rp_shape_union(hollow, 3, &all) == RP_OK);
    assert_true(rp_shape_cylinder((double[3]){ 0, 0, -1 }, (double[3]){ 0, 0, 1 }, 0.5, &part[3]) == RP_OK);
    assert_true(rp_shape_difference(part[3], all, &glass) == RP_OK);
    int kept = 0;
    for (uint64_t k = 0; k < 400; k++) {
        double reach = 0.02 + 0.2 * unit(90, k);
        rp__vec3 place = { 1.4 * unit(91, k) - 0.7, 1.4 * unit(92, k) - 0.7, 2.4 * unit(93, k) - 1.2 };
        rp__shape_cut cut;
        rp__shape_cut_at(glass, place, reach, &cut);
        for (int c = 0; c < cut.used; c++)
            kept += __builtin_popcount(cut.keep[c]);
        for (uint64_t m = 0; m < 50; m++) {
            rp__vec3 ball = rp__random_in_ball(94, k, m), p = rp__vec3_axpy(reach, ball, place), g[2];
            double x[3], plain[3];
            rp__vec3_store(x, p);
            double d = rp__shape_distance_cut(glass, &cut, p, &g[0]);
            assert_true(d == rp_shape_distance(glass, x, plain) && d == rp__shape_distance_cut(glass, &cut, p, NULL));
            g[1] = rp__vec3_load(plain);
            assert_memory_equal(&g[0], &g[1], sizeof g[0]);
        }
    }
    assert_in_range(kept, 1, 400 * 9 * 3 / 4); /* of nine parts at 400 places */
    rp_shape *own[] = { chamber[0], chamber[1], part[2], part[3], all, glass };
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        rp_shape_release(own[k]);
}

static void bad_arguments_are_refused_with_a_sentence(void **state)
{
    (void)state;
    double o[3] = { 0, 0, 0 }, e[3] = { 1, 0, 0 }, nan3[3] = { 0, NAN, 0 }, inf3[3] = { INFINITY, INFINITY, INFINITY };
    rp_shape *ball = NULL;
    assert_int_equal(rp_shape_sphere(o, 1, &ball), RP_OK);
    REFUSED(rp_shape_sphere(o, -1, out), "sphere: radius is -1");
    REFUSED(rp_shape_sphere(o, 0, out), "greater than 0");
    REFUSED(rp_shape_sphere(o, NAN, out), "nan");
    REFUSED(rp_shape_sphere(o, INFINITY, out), "inf");
    REFUSED(rp_shape_sphere(nan3, 1, out), "component y of centre");
    REFUSED(rp_shape_plane(o, o, out), "normal is zero");
    REFUSED(rp_shape_box(o, (double[]){ 1, -2, 1 }, 0, out), "half size y is -2");
    REFUSED(rp_shape_box(o, (double[]){ 1, 2, 1 }, 1.5, out), "rounding 1.5");
    REFUSED(rp_shape_box(o, inf3, 0, out), "infinite");
    REFUSED(rp_shape_cylinder(o, o, 1, out), "points a and b are the same");
    REFUSED(rp_shape_cylinder(o, e, 0, out), "cylinder: radius is 0");
    REFUSED(rp_shape_cone(o, e, 0, 0, out), "both radii are 0");
    REFUSED(rp_shape_cone(o, e, -1, 0, out), "radius at a is -1");
    REFUSED(rp_shape_capsule(o, inf3, 1, out), "point b");
    REFUSED(rp_shape_torus(o, o, 1, 0.2, out), "axis is zero");
    REFUSED(rp_shape_torus(o, e, 1, 2, out), "tube radius 2");
    REFUSED(rp_shape_ellipsoid(o, (double[]){ 1, 0, 1 }, out), "semi-axis y");
    REFUSED(rp_shape_union(NULL, 0, out), "no shapes");
    REFUSED(rp_shape_union((rp_shape *[]){ ball, NULL }, 2, out), "missing");
    REFUSED(rp_shape_offset(ball, NAN, out), "offset");
    REFUSED(rp_shape_shell(ball, 0, out), "thickness");
    REFUSED(rp_shape_place(ball, o, o, 0, out), "scale is 0");
    REFUSED(rp_shape_place(ball, o, nan3, 1, out), "rotation");
    rp_shape_release(ball);
    rp_shape_release(NULL);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp_shape *a = NULL, *b = NULL, *c = NULL, *d = NULL;
        rp__base_fail_allocation(n);
        rp_result r = rp_shape_sphere(origin, 1, &a);
        if (r == RP_OK)
            r = rp_shape_place(a, origin, origin, 2, &b);
        if (r == RP_OK)
            r = rp_shape_difference(a, b, &c);
        if (r == RP_OK)
            r = rp_shape_shell(c, 0.1, &d);
        rp__base_fail_allocation(0);
        rp_shape_release(a), rp_shape_release(b), rp_shape_release(c), rp_shape_release(d);
        assert_int_equal(rp_memory_in_use(), before);
        if (r == RP_OK)
            break;
        assert_int_equal(r, RP_OUT_OF_MEMORY);
        assert_true(n < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_match_the_nearest_surface_point),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(signs_match_volumes),
        cmocka_unit_test(masses_match_quadrature),
        cmocka_unit_test(known_masses),
        cmocka_unit_test(bounds_hold_the_inside),
        cmocka_unit_test(combinations_have_the_right_sign),
        cmocka_unit_test(half_spaces_stay_half_bounded_when_turned),
        cmocka_unit_test(many_distances_agree_with_one),
        cmocka_unit_test(cut_combinations_have_the_same_distances),
        cmocka_unit_test(bad_arguments_are_refused_with_a_sentence),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("shape analytic", tests, NULL, NULL);
}
