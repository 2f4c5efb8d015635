/* Plane, box, sphere, capsule and torus: exact signed distances. */
#include "shape/shape_class.h"

#include "base/error.h"

#include <math.h>

#define PI 3.14159265358979323846

/* The bounds of a point set inflated by r. */
static void bound_points(rp_shape *shape, rp__vec3 a, rp__vec3 b, double r)
{
    shape->lower = rp__vec3_make(fmin(a.x, b.x) - r, fmin(a.y, b.y) - r, fmin(a.z, b.z) - r);
    shape->upper = rp__vec3_make(fmax(a.x, b.x) + r, fmax(a.y, b.y) + r, fmax(a.z, b.z) + r);
}

/* ---- plane ---- */

typedef struct plane {
    rp_shape base;
    rp__vec3 point, normal;
} plane;

static double plane_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const plane *s = (const plane *)shape;
    if (gradient)
        *gradient = s->normal;
    return rp__vec3_dot(s->normal, rp__vec3_sub(p, s->point));
}

static const rp__shape_class plane_class = { "plane", plane_distance, NULL, NULL, true };

rp_result rp_shape_plane(const double point[3], const double normal[3], rp_shape **out)
{
    RP_TRY(rp__shape_check_point("plane", "point", point));
    RP_TRY(rp__shape_check_point("plane", "normal", normal));
    rp__vec3 n = rp__vec3_load(normal);
    if (!(rp__vec3_norm(n) > 1e-100))
        return rp__base_fail(RP_BAD_ARGUMENT, "plane: the normal is zero; it must point out of the solid");
    plane *s = rp__shape_new(&plane_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->point = rp__vec3_load(point);
    s->normal = rp__vec3_unit(n, n);
    /* an axis-aligned plane bounds its inside on one side */
    n = s->normal;
    if (n.x == 1)
        s->base.upper.x = s->point.x;
    if (n.y == 1)
        s->base.upper.y = s->point.y;
    if (n.z == 1)
        s->base.upper.z = s->point.z;
    if (n.x == -1)
        s->base.lower.x = s->point.x;
    if (n.y == -1)
        s->base.lower.y = s->point.y;
    if (n.z == -1)
        s->base.lower.z = s->point.z;
    rp__shape_note(&s->base, "plane", 6, (double[]){ point[0], point[1], point[2], normal[0], normal[1], normal[2] });
    *out = &s->base;
    return RP_OK;
}

/* ---- box ---- */

typedef struct box {
    rp_shape base;
    rp__vec3 centre, inner; /* inner = half - rounding */
    double rounding;
} box;

/* With q = |p - c| - inner: d = |max(q, 0)| + min(max q_i, 0) - rounding. */
static double box_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const box *s = (const box *)shape;
    rp__vec3 r = rp__vec3_sub(p, s->centre);
    double q[3] = { fabs(r.x) - s->inner.x, fabs(r.y) - s->inner.y, fabs(r.z) - s->inner.z };
    double sign[3] = { r.x < 0 ? -1 : 1, r.y < 0 ? -1 : 1, r.z < 0 ? -1 : 1 };
    rp__vec3 o = { fmax(q[0], 0), fmax(q[1], 0), fmax(q[2], 0) };
    double outside = rp__vec3_norm(o);
    if (outside > 0) {
        if (gradient)
            *gradient = rp__vec3_make(sign[0] * o.x / outside, sign[1] * o.y / outside, sign[2] * o.z / outside);
        return outside - s->rounding;
    }
    int k = q[0] >= q[1] && q[0] >= q[2] ? 0 : q[1] >= q[2] ? 1 : 2;
    if (gradient)
        *gradient = rp__vec3_make(k == 0 ? sign[0] : 0, k == 1 ? sign[1] : 0, k == 2 ? sign[2] : 0);
    return q[k] - s->rounding;
}

static bool box_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const box *s = (const box *)shape;
    if (s->rounding > 0)
        return false;
    rp__vec3 h = s->inner;
    double v = 8 * h.x * h.y * h.z;
    mass->volume = v;
    mass->centre = s->centre;
    mass->inertia = (rp__mat3){ { { v / 3 * (h.y * h.y + h.z * h.z), 0, 0 },
                                  { 0, v / 3 * (h.x * h.x + h.z * h.z), 0 },
                                  { 0, 0, v / 3 * (h.x * h.x + h.y * h.y) } } };
    return true;
}

static const rp__shape_class box_class = { "box", box_distance, NULL, box_mass, true };

rp_result rp_shape_box(const double centre[3], const double half[3], double rounding, rp_shape **out)
{
    RP_TRY(rp__shape_check_point("box", "centre", centre));
    int infinite = 0;
    for (int i = 0; i < 3; i++) {
        if (isinf(half[i]) && half[i] > 0)
            infinite++; /* a slab or prism without end */
        else
            RP_TRY(rp__shape_check_positive("box", i == 0 ? "half size x" : i == 1 ? "half size y" : "half size z", half[i]));
    }
    if (infinite == 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "box: all half sizes are infinite; one at least must be finite");
    RP_TRY(rp__shape_check_not_negative("box", "rounding", rounding));
    double smallest = fmin(half[0], fmin(half[1], half[2]));
    if (rounding > smallest)
        return rp__base_fail(RP_BAD_ARGUMENT, "box: rounding %g is more than its smallest half size %g", rounding, smallest);
    box *s = rp__shape_new(&box_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->centre = rp__vec3_load(centre);
    s->inner = rp__vec3_make(half[0] - rounding, half[1] - rounding, half[2] - rounding);
    s->rounding = rounding;
    s->base.lower = rp__vec3_sub(s->centre, rp__vec3_load(half));
    s->base.upper = rp__vec3_add(s->centre, rp__vec3_load(half));
    rp__shape_note(&s->base, "box", 7, (double[]){ centre[0], centre[1], centre[2], half[0], half[1], half[2], rounding });
    *out = &s->base;
    return RP_OK;
}

/* ---- sphere ---- */

typedef struct sphere {
    rp_shape base;
    rp__vec3 centre;
    double radius;
} sphere;

static double sphere_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const sphere *s = (const sphere *)shape;
    rp__vec3 r = rp__vec3_sub(p, s->centre);
    if (gradient)
        *gradient = rp__vec3_unit(r, rp__vec3_make(0, 0, 1));
    return rp__vec3_norm(r) - s->radius;
}

static bool sphere_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const sphere *s = (const sphere *)shape;
    double v = 4 * PI / 3 * s->radius * s->radius * s->radius, i = 0.4 * v * s->radius * s->radius;
    *mass = (rp__shape_mass){ v, s->centre, { { { i, 0, 0 }, { 0, i, 0 }, { 0, 0, i } } } };
    return true;
}

static const rp__shape_class sphere_class = { "sphere", sphere_distance, NULL, sphere_mass, true };

rp_result rp_shape_sphere(const double centre[3], double radius, rp_shape **out)
{
    RP_TRY(rp__shape_check_point("sphere", "centre", centre));
    RP_TRY(rp__shape_check_positive("sphere", "radius", radius));
    sphere *s = rp__shape_new(&sphere_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->centre = rp__vec3_load(centre);
    s->radius = radius;
    bound_points(&s->base, s->centre, s->centre, radius);
    rp__shape_note(&s->base, "sphere", 4, (double[]){ centre[0], centre[1], centre[2], radius });
    *out = &s->base;
    return RP_OK;
}

/* ---- capsule ---- */

typedef struct capsule {
    rp_shape base;
    rp__vec3 a, axis; /* axis is a unit vector */
    double length, radius;
} capsule;

static double capsule_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const capsule *s = (const capsule *)shape;
    rp__vec3 r = rp__vec3_sub(p, s->a);
    double t = fmin(fmax(rp__vec3_dot(r, s->axis), 0), s->length);
    r = rp__vec3_axpy(-t, s->axis, r);
    if (gradient)
        *gradient = rp__vec3_unit(r, rp__shape_orthogonal(s->axis));
    return rp__vec3_norm(r) - s->radius;
}

static bool capsule_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const capsule *s = (const capsule *)shape;
    double r = s->radius, l = s->length, rr = r * r;
    double cylinder = PI * rr * l, ball = 4 * PI / 3 * rr * r;
    /* hemispheres: 83/320 m r² about the own centre, 3r/8 from the flat face */
    double d = l / 2 + 3 * r / 8;
    double along = cylinder * rr / 2 + ball * 0.4 * rr;
    double across = cylinder * (rr / 4 + l * l / 12) + ball * (83.0 / 320 * rr + d * d);
    mass->volume = cylinder + ball;
    mass->centre = rp__vec3_axpy(l / 2, s->axis, s->a);
    mass->inertia = rp__shape_axial_inertia(s->axis, along, across);
    return true;
}

static const rp__shape_class capsule_class = { "capsule", capsule_distance, NULL, capsule_mass, true };

rp_result rp_shape_capsule(const double a[3], const double b[3], double radius, rp_shape **out)
{
    RP_TRY(rp__shape_check_point("capsule", "point a", a));
    RP_TRY(rp__shape_check_point("capsule", "point b", b));
    RP_TRY(rp__shape_check_positive("capsule", "radius", radius));
    capsule *s = rp__shape_new(&capsule_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    rp__vec3 along = rp__vec3_sub(rp__vec3_load(b), rp__vec3_load(a));
    s->a = rp__vec3_load(a);
    s->axis = rp__vec3_unit(along, rp__vec3_make(0, 0, 1)); /* two equal points are a sphere */
    s->length = rp__vec3_norm(along);
    s->radius = radius;
    bound_points(&s->base, s->a, rp__vec3_load(b), radius);
    rp__shape_note(&s->base, "capsule", 7, (double[]){ a[0], a[1], a[2], b[0], b[1], b[2], radius });
    *out = &s->base;
    return RP_OK;
}

/* ---- torus ---- */

typedef struct torus {
    rp_shape base;
    rp__vec3 centre, axis;
    double radius, tube;
} torus;

static double torus_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const torus *s = (const torus *)shape;
    rp__vec3 r = rp__vec3_sub(p, s->centre);
    double height = rp__vec3_dot(r, s->axis);
    rp__vec3 flat = rp__vec3_axpy(-height, s->axis, r);
    rp__vec3 radial = rp__vec3_unit(flat, rp__shape_orthogonal(s->axis));
    double x = rp__vec3_norm(flat) - s->radius, n = hypot(x, height);
    if (gradient)
        *gradient = n > 0 ? rp__vec3_add(rp__vec3_scale(x / n, radial), rp__vec3_scale(height / n, s->axis)) : radial;
    return n - s->tube;
}

static bool torus_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const torus *s = (const torus *)shape;
    double rr = s->radius * s->radius, tt = s->tube * s->tube;
    mass->volume = 2 * PI * PI * s->radius * tt;
    mass->centre = s->centre;
    mass->inertia = rp__shape_axial_inertia(s->axis, mass->volume * (rr + 0.75 * tt), mass->volume * (rr / 2 + 0.625 * tt));
    return true;
}

static const rp__shape_class torus_class = { "torus", torus_distance, NULL, torus_mass, true };

rp_result rp_shape_torus(const double centre[3], const double axis[3], double radius, double tube, rp_shape **out)
{
    RP_TRY(rp__shape_check_point("torus", "centre", centre));
    RP_TRY(rp__shape_check_point("torus", "axis", axis));
    RP_TRY(rp__shape_check_positive("torus", "radius", radius));
    RP_TRY(rp__shape_check_positive("torus", "tube radius", tube));
    if (tube > radius)
        return rp__base_fail(RP_BAD_ARGUMENT, "torus: tube radius %g is more than the radius %g of the ring", tube, radius);
    rp__vec3 n = rp__vec3_load(axis);
    if (!(rp__vec3_norm(n) > 1e-100))
        return rp__base_fail(RP_BAD_ARGUMENT, "torus: the axis is zero; it must be a direction");
    torus *s = rp__shape_new(&torus_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->centre = rp__vec3_load(centre);
    s->axis = n = rp__vec3_unit(n, n);
    s->radius = radius, s->tube = tube;
    /* the ring reaches R sqrt(1 - n_i²) along axis i */
    rp__vec3 e = { radius * sqrt(fmax(0, 1 - n.x * n.x)) + tube, radius * sqrt(fmax(0, 1 - n.y * n.y)) + tube,
                   radius * sqrt(fmax(0, 1 - n.z * n.z)) + tube };
    s->base.lower = rp__vec3_sub(s->centre, e);
    s->base.upper = rp__vec3_add(s->centre, e);
    rp__shape_note(&s->base, "torus", 8, (double[]){ centre[0], centre[1], centre[2], axis[0], axis[1], axis[2], radius, tube });
    *out = &s->base;
    return RP_OK;
}
