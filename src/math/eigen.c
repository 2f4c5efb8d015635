#include "math/eigen.h"

#include <float.h>
#include <stdbool.h>

enum { MAX_N = 6, MAX_SWEEPS = 60 };

/* The power of two that brings the largest magnitude of a[] into [1/2, 1), 1 for zeros, NaN when a number is not finite.
 * Scaling by it is exact, and squares neither overflow nor underflow where it matters. */
static double scale_of(int count, const double *a)
{
    double largest = 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(a[i]))
            return NAN;
        largest = fmax(largest, fabs(a[i]));
    }
    if (largest < DBL_MIN)
        return 1;
    int exponent;
    frexp(largest, &exponent);
    return ldexp(1, exponent > 1022 ? -1022 : -exponent);
}

/* The tangent of the rotation that annuls the off-diagonal c of [[a, c], [c, b]], the smaller of the two; c != 0. */
static inline double jacobi_tangent(double a, double b, double c)
{
    double d = 0.5 * (b - a);
    return copysign(1, d) * c / (fabs(d) + sqrt(d * d + c * c));
}

/* Cyclic Jacobi with the relative criterion |a_pq| <= eps sqrt(|a_pp a_qq|), which keeps the small eigenvalues of graded
 * positive matrices accurate   [golub2013, §8.5]. `n` is a constant in each caller, so the loops unroll. */
static inline __attribute__((always_inline)) void jacobi(int n, double a[][MAX_N], double v[][MAX_N])
{
    const double tolerance = 0.5 * DBL_EPSILON;
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool rotated = false;
        for (int p = 0; p < n - 1; p++)
            for (int q = p + 1; q < n; q++) {
                double c = a[p][q];
                if (c * c <= tolerance * tolerance * fabs(a[p][p] * a[q][q]) || fabs(c) < 1e-150)
                    continue;
                rotated = true;
                double t = jacobi_tangent(a[p][p], a[q][q], c);
                double cosine = 1 / sqrt(1 + t * t), sine = t * cosine, tau = sine / (1 + cosine);
                a[p][p] -= t * c;
                a[q][q] += t * c;
                a[p][q] = 0;
                for (int r = 0; r < n; r++) {
                    if (r != p && r != q) {
                        double *rp = r < p ? &a[r][p] : &a[p][r], *rq = r < q ? &a[r][q] : &a[q][r];
                        double x = *rp, y = *rq;
                        *rp = x - sine * (y + tau * x);
                        *rq = y + sine * (x - tau * y);
                    }
                    double x = v[p][r], y = v[q][r]; /* rows of v are the vectors */
                    v[p][r] = x - sine * (y + tau * x);
                    v[q][r] = y + sine * (x - tau * y);
                }
            }
        if (!rotated)
            return;
    }
}

static void jacobi_any(int n, double a[][MAX_N], double v[][MAX_N])
{
    switch (n) {
    case 1: break;
    case 2: jacobi(2, a, v); break;
    case 3: jacobi(3, a, v); break;
    case 4: jacobi(4, a, v); break;
    case 5: jacobi(5, a, v); break;
    default: jacobi(6, a, v); break;
    }
}

/* order[k] = index of the k-th smallest; stable. */
static void sort_ascending(int n, const double *value, int *order)
{
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && value[order[j - 1]] > value[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

void rp__math_eigen(int n, const double *a, double *values, double *vectors)
{
    if (n < 1 || n > MAX_N)
        return;
    double scale = scale_of(n * n, a);
    if (isnan(scale)) {
        for (int i = 0; i < n; i++)
            values[i] = NAN;
        for (int i = 0; i < n * n; i++)
            vectors[i] = NAN;
        return;
    }
    double b[MAX_N][MAX_N], v[MAX_N][MAX_N], diagonal[MAX_N];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            b[i][j] = scale * (0.5 * a[i * n + j] + 0.5 * a[j * n + i]);
            v[i][j] = i == j;
        }
    jacobi_any(n, b, v);
    int order[MAX_N];
    for (int i = 0; i < n; i++)
        diagonal[i] = b[i][i];
    sort_ascending(n, diagonal, order);
    for (int k = 0; k < n; k++) {
        values[k] = diagonal[order[k]] / scale;
        for (int i = 0; i < n; i++)
            vectors[k * n + i] = v[order[k]][i];
    }
}

void rp__math_eigen_sym3(const double s[6], double values[3], rp__mat3 *v)
{
    const double a[9] = { s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2] };
    double rows[9];
    rp__math_eigen(3, a, values, rows);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            v->m[i][k] = rows[k * 3 + i];
}

/* ---- singular values: one-sided Jacobi   [golub2013, §8.6.3] ---- */

static rp__vec3 any_perpendicular(rp__vec3 u)
{
    double x = fabs(u.x), y = fabs(u.y), z = fabs(u.z);
    rp__vec3 axis = x <= y && x <= z ? rp__vec3_make(1, 0, 0) : y <= z ? rp__vec3_make(0, 1, 0) : rp__vec3_make(0, 0, 1);
    return rp__vec3_unit(rp__vec3_cross(u, axis), rp__vec3_make(1, 0, 0));
}

/* The unit vector along a with its part along u taken out, twice for accuracy; any perpendicular when nothing is left. */
static rp__vec3 unit_against(rp__vec3 a, rp__vec3 u)
{
    double before = rp__vec3_norm(a);
    if (!(before > 0))
        return any_perpendicular(u);
    a = rp__vec3_scale(1 / before, a);
    a = rp__vec3_axpy(-rp__vec3_dot(a, u), u, a);
    if (rp__vec3_norm(a) < 0.5) /* columns are orthogonal after Jacobi: this one is rounding noise */
        return any_perpendicular(u);
    a = rp__vec3_axpy(-rp__vec3_dot(a, u), u, a);
    return rp__vec3_unit(a, u);
}

/* Rotates the columns of g (and v) until they are orthogonal: f = g vᵀ. */
static void orthogonalise_columns(rp__vec3 g[3], rp__vec3 v[3])
{
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool rotated = false;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double a = rp__vec3_dot(g[p], g[p]), b = rp__vec3_dot(g[q], g[q]), c = rp__vec3_dot(g[p], g[q]);
                if (c * c <= 4 * DBL_EPSILON * DBL_EPSILON * a * b || fabs(c) < 1e-290)
                    continue;
                rotated = true;
                double t = jacobi_tangent(a, b, c);
                double cosine = 1 / sqrt(1 + t * t), sine = t * cosine, tau = sine / (1 + cosine);
                rp__vec3 x = g[p], y = g[q];
                g[p] = rp__vec3_axpy(-sine, rp__vec3_axpy(tau, x, y), x);
                g[q] = rp__vec3_axpy(sine, rp__vec3_axpy(-tau, y, x), y);
                x = v[p], y = v[q];
                v[p] = rp__vec3_axpy(-sine, rp__vec3_axpy(tau, x, y), x);
                v[q] = rp__vec3_axpy(sine, rp__vec3_axpy(-tau, y, x), y);
            }
        if (!rotated)
            return;
    }
}

static void swap_columns(rp__vec3 *a, rp__vec3 *b) /* and negates one: keeps the determinant */
{
    rp__vec3 old = *a;
    *a = *b;
    *b = rp__vec3_scale(-1, old);
}

static rp__mat3 from_columns(const rp__vec3 c[3])
{
    return (rp__mat3){ { { c[0].x, c[1].x, c[2].x }, { c[0].y, c[1].y, c[2].y }, { c[0].z, c[1].z, c[2].z } } };
}

void rp__math_svd(const rp__mat3 *f, rp__mat3 *u, double s[3], rp__mat3 *v)
{
    double scale = scale_of(9, &f->m[0][0]);
    if (isnan(scale)) {
        for (int i = 0; i < 3; i++) {
            s[i] = NAN;
            for (int j = 0; j < 3; j++)
                u->m[i][j] = v->m[i][j] = NAN;
        }
        return;
    }
    rp__vec3 g[3], columns[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    for (int k = 0; k < 3; k++)
        g[k] = rp__vec3_scale(scale, rp__vec3_make(f->m[0][k], f->m[1][k], f->m[2][k]));
    orthogonalise_columns(g, columns);

    double norm[3] = { rp__vec3_norm(g[0]), rp__vec3_norm(g[1]), rp__vec3_norm(g[2]) };
    static const int pairs[3][2] = { { 0, 1 }, { 1, 2 }, { 0, 1 } };
    for (int i = 0; i < 3; i++) {
        int p = pairs[i][0], q = pairs[i][1];
        if (norm[p] < norm[q]) {
            double old = norm[p];
            norm[p] = norm[q];
            norm[q] = old;
            swap_columns(&g[p], &g[q]);
            swap_columns(&columns[p], &columns[q]);
        }
    }
    /* The third column of U closes the rotation; the sign of det f falls on the last singular value. */
    rp__vec3 left[3];
    left[0] = rp__vec3_unit(g[0], rp__vec3_make(1, 0, 0));
    left[1] = unit_against(g[1], left[0]);
    left[2] = rp__vec3_cross(left[0], left[1]);
    double last = rp__vec3_dot(g[2], left[2]);
    if (fabs(last) > norm[1])
        last = copysign(norm[1], last);
    s[0] = norm[0] / scale;
    s[1] = norm[1] / scale;
    s[2] = last / scale;
    *u = from_columns(left);
    *v = from_columns(columns);
}
