/* Ellipsoids: the closest point solves sum (e_i y_i / (t + e_i²))² = 1 for t > -e_min², a convex decreasing function,
 * so Newton's method from the left never overshoots. */
#include "shape/shape_class.h"

#include "base/error.h"

#include <math.h>

#define PI 3.14159265358979323846

typedef struct ellipsoid {
    rp_shape base;
    rp__vec3 centre;
    double axes[3];
} ellipsoid;

/* The root of F(t) = sum over i < n of (e_i y_i / (t + e_i²))² - 1 beyond -e_{n-1}²; e descending, y >= 0, y_{n-1} > 0. */
static double root(int n, const double *e, const double *y)
{
    double t = -e[n - 1] * e[n - 1] + e[n - 1] * y[n - 1]; /* the last term alone is 1 here: F >= 0 */
    for (int k = 0; k < 100; k++) {
        double f = -1, slope = 0;
        for (int i = 0; i < n; i++) {
            double q = e[i] * y[i] / (t + e[i] * e[i]);
            f += q * q;
            slope -= 2 * q * q / (t + e[i] * e[i]);
        }
        if (!(f > 0) || slope == 0)
            break;
        double next = t - f / slope;
        if (!(next > t))
            break;
        t = next;
    }
    return t;
}

/* Closest point x of the surface to y, both with components >= 0, axes e descending; n = 3, 2 or 1 (the others are 0). */
static void closest(int n, const double *e, const double *y, double *x)
{
    if (n == 1) {
        x[0] = e[0];
        return;
    }
    double tiny = 1e-14 * e[n - 1];
    if (y[n - 1] > tiny) {
        double t = root(n, e, y);
        for (int i = 0; i < n; i++)
            x[i] = e[i] * e[i] * y[i] / (t + e[i] * e[i]);
        return;
    }
    /* On the plane of the longer axes: deep inside, t = -e_{n-1}² and the last component follows from the surface. */
    double last = e[n - 1] * e[n - 1], sum = 0, trial[3] = { 0, 0, 0 };
    bool deep = true;
    for (int i = 0; i < n - 1; i++) {
        double gap = e[i] * e[i] - last;
        if (e[i] * y[i] >= gap && !(gap == 0 && y[i] == 0)) {
            deep = false;
            break;
        }
        trial[i] = gap > 0 ? e[i] * e[i] * y[i] / gap : 0;
        sum += (trial[i] / e[i]) * (trial[i] / e[i]);
    }
    if (deep && sum < 1) {
        for (int i = 0; i < n - 1; i++)
            x[i] = trial[i];
        x[n - 1] = e[n - 1] * sqrt(1 - sum);
        return;
    }
    x[n - 1] = 0;
    closest(n - 1, e, y, x);
}

static double ellipsoid_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const ellipsoid *s = (const ellipsoid *)shape;
    double r[3] = { p.x - s->centre.x, p.y - s->centre.y, p.z - s->centre.z };
    int order[3] = { 0, 1, 2 };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (s->axes[order[j]] < s->axes[order[j + 1]]) {
                int swap = order[j];
                order[j] = order[j + 1], order[j + 1] = swap;
            }
    double e[3], y[3], x[3], level = -1;
    for (int i = 0; i < 3; i++) {
        e[i] = s->axes[order[i]], y[i] = fabs(r[order[i]]);
        level += (y[i] / e[i]) * (y[i] / e[i]);
    }
    closest(3, e, y, x);
    double squared = 0, normal[3], length = 0;
    for (int i = 0; i < 3; i++) {
        squared += (y[i] - x[i]) * (y[i] - x[i]);
        normal[i] = x[i] / (e[i] * e[i]); /* the normal of the surface there is the gradient */
        length += normal[i] * normal[i];
    }
    length = sqrt(length);
    if (gradient) {
        double g[3];
        for (int i = 0; i < 3; i++)
            g[order[i]] = (r[order[i]] < 0 ? -1 : 1) * (length > 0 ? normal[i] / length : 0);
        *gradient = rp__vec3_load(g);
    }
    return level < 0 ? -sqrt(squared) : sqrt(squared);
}

static bool ellipsoid_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const ellipsoid *s = (const ellipsoid *)shape;
    double a = s->axes[0] * s->axes[0], b = s->axes[1] * s->axes[1], c = s->axes[2] * s->axes[2];
    double v = 4 * PI / 3 * s->axes[0] * s->axes[1] * s->axes[2];
    *mass = (rp__shape_mass){ v, s->centre,
                              { { { v / 5 * (b + c), 0, 0 }, { 0, v / 5 * (a + c), 0 }, { 0, 0, v / 5 * (a + b) } } } };
    return true;
}

static const rp__shape_class ellipsoid_class = { "ellipsoid", ellipsoid_distance, NULL, ellipsoid_mass, false };

rp_result rp_shape_ellipsoid(const double centre[3], const double semi_axes[3], rp_shape **out)
{
    RP_TRY(rp__shape_check_point("ellipsoid", "centre", centre));
    static const char *const names[3] = { "semi-axis x", "semi-axis y", "semi-axis z" };
    for (int i = 0; i < 3; i++)
        RP_TRY(rp__shape_check_positive("ellipsoid", names[i], semi_axes[i]));
    ellipsoid *s = rp__shape_new(&ellipsoid_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->centre = rp__vec3_load(centre);
    for (int i = 0; i < 3; i++)
        s->axes[i] = semi_axes[i];
    s->base.lower = rp__vec3_sub(s->centre, rp__vec3_load(semi_axes));
    s->base.upper = rp__vec3_add(s->centre, rp__vec3_load(semi_axes));
    rp__shape_note(&s->base, "ellipsoid", 6, (double[]){ centre[0], centre[1], centre[2], semi_axes[0], semi_axes[1], semi_axes[2] });
    *out = &s->base;
    return RP_OK;
}
