/* Truncated cones, and cylinders as their special case. In the half plane (rho, y) of the axis the solid is a trapezoid:
 * its signed distance is that of the three sides that are surface. */
#include "shape/shape_class.h"

#include "base/error.h"

#include <math.h>

#define PI 3.14159265358979323846

typedef struct cone {
    rp_shape base;
    rp__vec3 a, axis;
    double length, ra, rb;
    double nx, ny;         /* normal of the slanted side */
} cone;

typedef struct nearest {
    double squared, x, y; /* squared distance and the vector from the side to the point */
    double nx, ny;        /* outward normal of that side, for points on it */
} nearest;

static void try_slant(nearest *best, const cone *s, double px, double py)
{
    double dx = s->rb - s->ra, dy = s->length, t = ((px - s->ra) * dx + py * dy) / (dx * dx + dy * dy);
    t = t > 0 ? t < 1 ? t : 1 : 0;
    double x = px - s->ra - t * dx, y = py - t * dy, squared = x * x + y * y;
    if (squared < best->squared)
        *best = (nearest){ squared, x, y, s->nx, s->ny };
}

/* The flat end of radius r, y above it; outward is `up`. */
static void try_end(nearest *best, double r, double px, double y, double up)
{
    double x = px > r ? px - r : 0, squared = x * x + y * y;
    if (squared < best->squared)
        *best = (nearest){ squared, x, y, 0, up };
}

static double cone_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const cone *s = (const cone *)shape;
    rp__vec3 r = rp__vec3_sub(p, s->a);
    double y = rp__vec3_dot(r, s->axis), l = s->length;
    rp__vec3 flat = rp__vec3_axpy(-y, s->axis, r);
    double rho = rp__vec3_norm(flat), nx = s->nx, ny = s->ny;
    nearest best = { INFINITY, 0, 0, 0, 1 };
    try_slant(&best, s, rho, y);
    try_end(&best, s->ra, rho, y, -1);
    try_end(&best, s->rb, rho, y - l, 1);
    bool inside = y >= 0 && y <= l && (rho - s->ra) * nx + y * ny <= 0;
    double d = sqrt(best.squared), sign = inside ? -1 : 1;
    if (gradient) {
        bool apart = d > 1e-12 * (s->ra + s->rb + l);
        double gx = apart ? sign * best.x / d : best.nx, gy = apart ? sign * best.y / d : best.ny;
        rp__vec3 radial = rho > 0 ? rp__vec3_scale(1 / rho, flat) : rp__shape_orthogonal(s->axis);
        *gradient = rp__vec3_add(rp__vec3_scale(gx, radial), rp__vec3_scale(gy, s->axis));
    }
    return sign * d;
}

static bool cone_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const cone *s = (const cone *)shape;
    double a = s->ra, b = s->rb, l = s->length;
    /* integrals over y in [0, l] of r², r² y, r² y², r⁴ with r = a + (b - a) y / l */
    double r2 = l * (a * a + a * b + b * b) / 3;
    double r2y = l * l * (a * a + 2 * a * b + 3 * b * b) / 12;
    double r2yy = l * l * l * (a * a + 3 * a * b + 6 * b * b) / 30;
    double r4 = l * (a * a * a * a + a * a * a * b + a * a * b * b + a * b * b * b + b * b * b * b) / 5;
    double v = PI * r2, centre = r2y / r2;
    mass->volume = v;
    mass->centre = rp__vec3_axpy(centre, s->axis, s->a);
    mass->inertia = rp__shape_axial_inertia(s->axis, PI * r4 / 2, PI * r4 / 4 + PI * r2yy - v * centre * centre);
    return true;
}

static const rp__shape_class cone_class = { "cone", cone_distance, NULL, cone_mass, true };

/* What the disk of radius r with unit normal n reaches along each axis is r sqrt(1 - n_i²). */
static void bound_disks(cone *s)
{
    double n[3] = { s->axis.x, s->axis.y, s->axis.z }, lower[3], upper[3];
    double a[3] = { s->a.x, s->a.y, s->a.z };
    for (int i = 0; i < 3; i++) {
        double reach = sqrt(fmax(0, 1 - n[i] * n[i])), b = a[i] + s->length * n[i];
        lower[i] = fmin(a[i] - s->ra * reach, b - s->rb * reach);
        upper[i] = fmax(a[i] + s->ra * reach, b + s->rb * reach);
    }
    s->base.lower = rp__vec3_load(lower);
    s->base.upper = rp__vec3_load(upper);
}

static rp_result create(const char *name, const double a[3], const double b[3], double ra, double rb, rp_shape **out)
{
    RP_TRY(rp__shape_check_point(name, "point a", a));
    RP_TRY(rp__shape_check_point(name, "point b", b));
    rp__vec3 along = rp__vec3_sub(rp__vec3_load(b), rp__vec3_load(a));
    double length = rp__vec3_norm(along);
    if (!(length > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: points a and b are the same; it needs a length greater than 0", name);
    cone *s = rp__shape_new(&cone_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->a = rp__vec3_load(a);
    s->axis = rp__vec3_scale(1 / length, along);
    s->length = length, s->ra = ra, s->rb = rb;
    double slant = hypot(length, ra - rb);
    s->nx = length / slant, s->ny = (ra - rb) / slant;
    bound_disks(s);
    rp__shape_note(&s->base, "cone", 8, (double[]){ a[0], a[1], a[2], b[0], b[1], b[2], ra, rb });
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_cylinder(const double a[3], const double b[3], double radius, rp_shape **out)
{
    RP_TRY(rp__shape_check_positive("cylinder", "radius", radius));
    return create("cylinder", a, b, radius, radius, out);
}

rp_result rp_shape_cone(const double a[3], const double b[3], double radius_a, double radius_b, rp_shape **out)
{
    RP_TRY(rp__shape_check_not_negative("cone", "radius at a", radius_a));
    RP_TRY(rp__shape_check_not_negative("cone", "radius at b", radius_b));
    if (radius_a == 0 && radius_b == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "cone: both radii are 0; one at least must be greater");
    return create("cone", a, b, radius_a, radius_b, out);
}
