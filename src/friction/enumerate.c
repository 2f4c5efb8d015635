/* One contact by enumeration of its cases [daviet2011]: in dimension 3 sliding is a quartic in alpha. */
#include "friction/contact.h"

#include <complex.h>
#include <float.h>
#include <math.h>

/* Stick: r = -W⁻¹ b inside the cone, by elimination of the normal row. */
static bool take_off(int d, const double *b, double *r)
{
    if (!(b[0] >= 0))
        return false;
    for (int i = 0; i < d; i++)
        r[i] = 0;
    return true;
}

bool rp__friction_enumerate_c2(const double *w, const double *b, double mu, double *r)
{
    if (take_off(2, b, r))
        return true;
    double a = w[2] / w[0], s = w[3] - a * w[2], c = b[1] - a * b[0], beta = -b[0] / w[0];
    if (mu == 0) {
        r[0] = beta;
        r[1] = 0;
        return true;
    }
    double stick = -c / s;
    if (s > 0 && fabs(stick) <= mu * (beta - a * stick)) {
        r[0] = beta - a * stick;
        r[1] = stick;
        return true;
    }
    /* |c| / (s + alpha) = mu (beta + a c / (s + alpha)) */
    double shifted = (fabs(c) - mu * a * c) / (mu * beta);
    if (!(shifted > 0) || shifted < s)
        return false;
    r[1] = -c / shifted;
    r[0] = fabs(r[1]) / mu;
    return true;
}

typedef double complex number;

/* Roots of x⁴ + c3 x³ + c2 x² + c1 x + c0, all four at once by the Weierstrass iteration; closed formulas lose digits that this keeps. */
static void quartic_roots(const double *c, number *root)
{
    double bound = 0;
    for (int k = 0; k < 4; k++)
        bound = fmax(bound, pow(fabs(c[k]), 1.0 / (4 - k)));
    if (bound == 0)
        bound = 1;
    number turn = 0.4 + 0.9 * I;
    root[0] = bound;
    for (int k = 1; k < 4; k++)
        root[k] = root[k - 1] * turn;
    for (int step = 0; step < 100; step++) {
        double moved = 0, size = 0;
        for (int k = 0; k < 4; k++) {
            number x = root[k], value = (((x + c[3]) * x + c[2]) * x + c[1]) * x + c[0], product = 1;
            for (int j = 0; j < 4; j++)
                if (j != k)
                    product *= x - root[j];
            if (product == 0)
                product = DBL_EPSILON * bound * bound * bound;
            root[k] = x - value / product;
            moved += cabs(value / product);
            size += cabs(x);
        }
        if (moved <= 4 * DBL_EPSILON * size)
            break;
    }
}

typedef struct plane {
    double s[3], a[2], c[2], beta, mu; /* Schur complement (11, 12, 22) and the rest, as in local_template.h but not rotated */
} plane;

/* r at alpha, and how far it is from the surface of the cone in proportion. */
static double slide_at(const plane *t, double alpha, double *r)
{
    double p = t->s[0] + alpha, q = t->s[2] + alpha, determinant = p * q - t->s[1] * t->s[1];
    r[1] = -(q * t->c[0] - t->s[1] * t->c[1]) / determinant;
    r[2] = -(p * t->c[1] - t->s[1] * t->c[0]) / determinant;
    double tangent = hypot(r[1], r[2]), normal = t->beta - t->a[0] * r[1] - t->a[1] * r[2];
    r[0] = tangent / t->mu;
    return normal >= 0 ? fabs(tangent - t->mu * normal) / (tangent + t->mu * normal) : 2;
}

bool rp__friction_enumerate_c3(const double *w, const double *b, double mu, double *r)
{
    if (take_off(3, b, r))
        return true;
    plane t = { .mu = mu, .beta = -b[0] / w[0] };
    t.a[0] = w[3] / w[0];
    t.a[1] = w[6] / w[0];
    t.s[0] = w[4] - t.a[0] * w[3];
    t.s[1] = w[7] - t.a[1] * w[3];
    t.s[2] = w[8] - t.a[1] * w[6];
    t.c[0] = b[1] - t.a[0] * b[0];
    t.c[1] = b[2] - t.a[1] * b[0];
    if (mu == 0) {
        r[0] = t.beta;
        r[1] = r[2] = 0;
        return true;
    }
    double determinant = t.s[0] * t.s[2] - t.s[1] * t.s[1];
    if (determinant > 0) {
        slide_at(&t, 0, r);
        r[0] = t.beta - t.a[0] * r[1] - t.a[1] * r[2];
        if (hypot(r[1], r[2]) <= mu * r[0])
            return true;
    }
    /* |e + alpha c|² = mu² (beta D(alpha) + a·e + alpha a·c)², e = adj(S) c, D = alpha² + tr alpha + det */
    double e[2] = { t.s[2] * t.c[0] - t.s[1] * t.c[1], t.s[0] * t.c[1] - t.s[1] * t.c[0] };
    double trace = t.s[0] + t.s[2], ac = t.a[0] * t.c[0] + t.a[1] * t.c[1], ae = t.a[0] * e[0] + t.a[1] * e[1];
    double q1 = trace + ac / t.beta, q0 = determinant + ae / t.beta; /* (alpha² + q1 alpha + q0)² mu² beta² */
    double unit = 1 / (mu * mu * t.beta * t.beta);
    double poly[4] = { q0 * q0 - unit * (e[0] * e[0] + e[1] * e[1]), 2 * q0 * q1 - 2 * unit * (e[0] * t.c[0] + e[1] * t.c[1]),
                       q1 * q1 + 2 * q0 - unit * (t.c[0] * t.c[0] + t.c[1] * t.c[1]), 2 * q1 };
    number root[4];
    quartic_roots(poly, root);
    double best = 1, trial[3];
    for (int k = 0; k < 4; k++) {
        if (!(creal(root[k]) > 0) || fabs(cimag(root[k])) > 1e-6 * fabs(creal(root[k])))
            continue;
        double miss = slide_at(&t, creal(root[k]), trial);
        if (miss < best) {
            best = miss;
            for (int i = 0; i < 3; i++)
                r[i] = trial[i];
        }
    }
    return best < 1e-6;
}
