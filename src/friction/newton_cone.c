/* One contact by Newton's method on the modified Fischer-Burmeister function [daviet2011], and the choice among local solvers.
 *
 * With x = (mu r_N, r_T) and y = (u_N + mu |u_T|, mu u_T), Coulomb's law says x and y are in the cone |x_T| <= x_N and orthogonal;
 * in its Jordan algebra that is phi(x, y) = x + y - (x² + y²)^(1/2) = 0. Component 0 is the normal one. */
#include "friction/contact.h"
#include "friction/local.h"
#include "friction/solve.h"

#include <string.h>

#define D RP_CONE

typedef struct newton {
    double w[D * D], b[D], mu;
} newton;

static double norm_tangent(const double *x)
{
    double sum = 0;
    for (int i = 1; i < D; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void variables(const newton *t, const double *r, double *x, double *y, double *u)
{
    RP_CONE_NAME(rp__friction_multiply)(t->w, r, t->b, u);
    x[0] = t->mu * r[0];
    y[0] = u[0] + t->mu * norm_tangent(u);
    for (int i = 1; i < D; i++) {
        x[i] = r[i];
        y[i] = t->mu * u[i];
    }
}

/* z = (x² + y²)^(1/2) and phi = x + y - z; returns |phi|². */
static double fischer(const double *x, const double *y, double *z, double *phi)
{
    double v[D] = { 0 }, sum = 0;
    for (int i = 0; i < D; i++)
        v[0] += x[i] * x[i] + y[i] * y[i];
    for (int i = 1; i < D; i++)
        v[i] = 2 * (x[0] * x[i] + y[0] * y[i]);
    double tangent = norm_tangent(v), high = sqrt(v[0] + tangent), low = sqrt(fmax(v[0] - tangent, 0));
    z[0] = 0.5 * (high + low);
    for (int i = 1; i < D; i++)
        z[i] = tangent > 0 ? 0.5 * (high - low) * v[i] / tangent : 0;
    for (int i = 0; i < D; i++) {
        phi[i] = x[i] + y[i] - z[i];
        sum += phi[i] * phi[i];
    }
    return sum;
}

/* out = L_z⁻¹ a, L_z the arrow matrix of z; nearly singular at the apex and on the surface, where it is lifted a little. */
static void divide(const double *z, const double *a, double *out)
{
    double tangent = norm_tangent(z), z0 = z[0] + 1e-14 * (z[0] + 1e-300), dot = 0;
    double determinant = fmax(z0 * z0 - tangent * tangent, 1e-14 * z0 * z0 + 1e-300);
    for (int i = 1; i < D; i++)
        dot += z[i] * a[i];
    out[0] = (z0 * a[0] - dot) / determinant;
    for (int i = 1; i < D; i++)
        out[i] = (a[i] - z[i] * out[0]) / z0;
}

/* out = L_x a */
static void arrow(const double *x, const double *a, double *out)
{
    out[0] = 0;
    for (int i = 0; i < D; i++)
        out[0] += x[i] * a[i];
    for (int i = 1; i < D; i++)
        out[i] = x[0] * a[i] + x[i] * a[0];
}

/* The derivative of phi by r, column by column: (I - L_z⁻¹ L_x) dx + (I - L_z⁻¹ L_y) dy. */
static void derivative(const newton *t, const double *x, const double *y, const double *z, const double *u, double j[D][D])
{
    double slip = norm_tangent(u);
    for (int k = 0; k < D; k++) {
        double dx[D] = { 0 }, dy[D], a[D], c[D], q[D];
        dx[k] = k == 0 ? t->mu : 1;
        dy[0] = t->w[k];
        for (int i = 1; i < D; i++) {
            dy[i] = t->mu * t->w[i * D + k];
            dy[0] += slip > 0 ? t->mu * u[i] / slip * t->w[i * D + k] : 0;
        }
        arrow(x, dx, a);
        arrow(y, dy, c);
        for (int i = 0; i < D; i++)
            a[i] += c[i];
        divide(z, a, q);
        for (int i = 0; i < D; i++)
            j[i][k] = dx[i] + dy[i] - q[i];
    }
}

/* Gaussian elimination with partial pivots; false when singular. */
static bool solve_linear(double a[D][D], double *x)
{
    for (int k = 0; k < D; k++) {
        int pivot = k;
        for (int i = k + 1; i < D; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        if (!(fabs(a[pivot][k]) > 0))
            return false;
        for (int j = 0; j < D && pivot != k; j++) {
            double swap = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = swap;
        }
        double swap = x[k];
        x[k] = x[pivot];
        x[pivot] = swap;
        for (int i = k + 1; i < D; i++) {
            double factor = a[i][k] / a[k][k];
            for (int j = k; j < D; j++)
                a[i][j] -= factor * a[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (int i = D - 1; i >= 0; i--) {
        for (int j = i + 1; j < D; j++)
            x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
    return true;
}

/* In the unit |W| = 1, |b| = 1; r is the start and the answer. */
static void iterate(const newton *t, double *r)
{
    double x[D], y[D], u[D], z[D], phi[D], j[D][D], step[D];
    variables(t, r, x, y, u);
    double size = fischer(x, y, z, phi);
    for (int k = 0; k < 100 && size > 1e-31; k++) {
        derivative(t, x, y, z, u, j);
        for (int i = 0; i < D; i++)
            step[i] = -phi[i];
        if (!solve_linear(j, step))
            return;
        double length = 1, trial[D], before = size;
        for (;; length *= 0.5) { /* Armijo's rule on |phi|² */
            for (int i = 0; i < D; i++)
                trial[i] = r[i] + length * step[i];
            variables(t, trial, x, y, u);
            size = fischer(x, y, z, phi);
            if (size <= (1 - 1e-4 * length) * before)
                break;
            if (length < 1e-10)
                return;
        }
        memcpy(r, trial, sizeof trial);
    }
}

static double backward_error(const double *w, double norm, const double *b, double mu, const double *r)
{
    double u[D], rr = 0, bb = 0;
    RP_CONE_NAME(rp__friction_multiply)(w, r, b, u);
    for (int i = 0; i < D; i++) {
        rr += r[i] * r[i];
        bb += b[i] * b[i];
    }
    double scale = sqrt(rr) + sqrt(bb) / norm;
    return scale > 0 ? RP_CONE_NAME(rp__friction_residual)(r, u, mu, 1 / norm) / scale : 0;
}

double RP_CONE_NAME(rp__friction_backward_error)(const double *w, const double *b, double mu, const double *r)
{
    double norm = 0;
    for (int i = 0; i < D * D; i++)
        norm += w[i] * w[i];
    return backward_error(w, sqrt(norm), b, mu, r);
}

static double by_newton(const double *w, double norm, const double *b, double mu, double *r)
{
    double bb = 0, best;
    for (int i = 0; i < D; i++)
        bb += b[i] * b[i];
    bb = sqrt(bb);
    if (b[0] >= 0 || bb == 0 || mu == 0) { /* take-off, and the law without friction, need no iteration */
        memset(r, 0, D * sizeof(double));
        r[0] = b[0] < 0 ? -b[0] / w[0] : 0;
        return 0;
    }
    newton t = { .mu = mu };
    for (int i = 0; i < D * D; i++)
        t.w[i] = w[i] / norm;
    double start[D], unit = bb / norm;
    for (int i = 0; i < D; i++) {
        t.b[i] = b[i] / bb;
        start[i] = r[i] / unit;
    }
    if (start[0] <= 0) { /* no force yet: begin with a normal one */
        memset(start, 0, sizeof start);
        start[0] = -t.b[0] / t.w[0];
    }
    iterate(&t, start);
    for (int i = 0; i < D; i++)
        r[i] = start[i] * unit;
    RP_CONE_NAME(rp__friction_project)(mu, r);
    best = backward_error(w, norm, b, mu, r);
    return best;
}

bool RP_CONE_NAME(rp__friction_contact)(rp_friction_local_solver solver, const double *w, const double *b, double mu, double *r)
{
    const double good = 1e-10;
    double norm = 0;
    for (int i = 0; i < D * D; i++)
        norm += w[i] * w[i];
    norm = sqrt(norm);
    if (!(norm > 0) || !(w[0] > 0))
        return false;
    if (solver == RP_FRICTION_CONTACT_SCALAR) {
        RP_CONE_NAME(rp__friction_factor) f;
        if (!RP_CONE_NAME(rp__friction_factorise)(&f, w))
            return false;
        RP_CONE_NAME(rp__friction_solve)(&f, b, mu, r);
        return true;
    }
    if (solver == RP_FRICTION_CONTACT_NEWTON)
        return by_newton(w, norm, b, mu, r) <= good;
#if D <= 3
    double trial[D], start[D];
    memcpy(start, r, sizeof start);
    bool found = RP_CONE_NAME(rp__friction_enumerate)(w, b, mu, trial);
    double error = found ? backward_error(w, norm, b, mu, trial) : INFINITY;
    if (found)
        memcpy(r, trial, sizeof trial);
    if (solver == RP_FRICTION_CONTACT_ENUMERATION || error <= 1e-13)
        return error <= good;
    memcpy(trial, found ? r : start, sizeof trial); /* hybrid: Newton from what enumeration found, or from the start */
    double second = by_newton(w, norm, b, mu, trial);
    if (second < error)
        memcpy(r, trial, sizeof trial);
    return fmin(second, error) <= good;
#else
    return false;
#endif
}
