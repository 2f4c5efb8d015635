/* Laws whose operator has no simple frame: friction that depends on the orientation of the grains, and the linearised yield surface
 * that the exact one is compared with. Inline, for the solver.
 *
 * Tangential coefficients of chi are changed by a symmetric positive matrix M (the identity without anisotropy):
 *
 *   lambda = (lambda~_N, M lambda~_T),   gamma~ = (gamma_N, M gamma_T),   (lambda~, gamma~) in the law,          [daviet2016, §6.2]
 *
 * M d = chi^-1 Dev(A chi(d) A) with A = N^-1. The power lambda : gamma is that of lambda~ and gamma~. For the exact law the
 * coefficients are turned by Q as well, the eigenvectors of the Schur complement of W~ = M W M: e = Q^T M takes gamma_T to the
 * solver's coefficients, its transpose takes the solver's stress back. */
#ifndef RP_NONSMOOTH_WIDE_H
#define RP_NONSMOOTH_WIDE_H

#include "nonsmooth/local.h"

#include <string.h>

#if RP_DIM == 3
#define NS_CONE_OF(name) name##_c6
#else
#define NS_CONE_OF(name) name##_c3
#endif

/* ---- from G to the wide frame ---- */

/* A = (1 - alpha) I + d alpha nu in full storage, from the sums of V alpha nu (trace: V alpha) and V   [daviet2016, §6.2]. */
static inline void ns_friction_tensor(const double *sums, double volume, double *a)
{
    double scale = volume > 0 ? 1 / volume : 0;
#if RP_DIM == 3
    double rest = 1 - (sums[0] + sums[1] + sums[2]) * scale, d = 3 * scale;
    a[0] = rest + d * sums[0], a[4] = rest + d * sums[1], a[8] = rest + d * sums[2];
    a[1] = a[3] = d * sums[3], a[2] = a[6] = d * sums[4], a[5] = a[7] = d * sums[5];
#else
    double rest = 1 - (sums[0] + sums[1]) * scale, d = 2 * scale;
    a[0] = rest + d * sums[0], a[3] = rest + d * sums[1];
    a[1] = a[2] = d * sums[2];
#endif
}

/* M from A, full storage: M d = chi^-1 Dev(A chi(d) A). Symmetric, and positive when A is. */
static inline void ns_wide_change(const double *a, double *m)
{
    for (int k = 0; k < NS_T; k++) {
        double r[NS_S] = { 0 }, h[RP_DIM * RP_DIM], ah[RP_DIM * RP_DIM], aha[RP_DIM * RP_DIM];
        r[k + 1] = 1;
        ns_chi_tensor(r, h);
        ns_multiply(a, h, ah);
        ns_multiply(ah, a, aha);
        ns_chi_coefficients(aha, r);
        for (int i = 0; i < NS_T; i++)
            m[i * NS_T + k] = r[i + 1];
    }
}

/* W~ = M W M with W lambda = chi^-1 sym(chi(lambda) G); m NULL: the identity. */
static inline void ns_wide_operator(const double *g, const double *m, double *w)
{
    double plain[NS_S * NS_S], half[NS_S * NS_S];
    for (int k = 0; k < NS_S; k++) {
        double r[NS_S] = { 0 }, h[RP_DIM * RP_DIM], hg[RP_DIM * RP_DIM];
        r[k] = 1;
        ns_chi_tensor(r, h);
        ns_multiply(h, g, hg);
        ns_chi_coefficients(hg, r);
        for (int i = 0; i < NS_S; i++)
            plain[i * NS_S + k] = r[i];
    }
    if (!m) {
        memcpy(w, plain, sizeof plain);
        return;
    }
    for (int i = 0; i < NS_S; i++) {
        half[i * NS_S] = plain[i * NS_S];
        for (int j = 0; j < NS_T; j++) {
            half[i * NS_S + j + 1] = 0;
            for (int k = 0; k < NS_T; k++)
                half[i * NS_S + j + 1] += plain[i * NS_S + k + 1] * m[k * NS_T + j];
        }
    }
    for (int j = 0; j < NS_S; j++) {
        w[j] = half[j];
        for (int i = 0; i < NS_T; i++) {
            w[(i + 1) * NS_S + j] = 0;
            for (int k = 0; k < NS_T; k++)
                w[(i + 1) * NS_S + j] += m[i * NS_T + k] * half[(k + 1) * NS_S + j];
        }
    }
    for (int i = 0; i < NS_S; i++) /* rounding */
        for (int j = 0; j < i; j++)
            w[i * NS_S + j] = w[j * NS_S + i] = 0.5 * (w[i * NS_S + j] + w[j * NS_S + i]);
}

/* The frame of the exact law. False when there is nothing to push against. */
static inline bool ns_wide_exact(ns_wide *f, const double *w, const double *m)
{
    NS_CONE_OF(rp__friction_factor) factor;
    f->alpha = 0;
    f->nn = w[0];
    if (!(w[0] > 0) || !isfinite(w[0]))
        return false;
    double floored[NS_S * NS_S];
    memcpy(floored, w, sizeof floored);
    for (int i = 1; i < NS_S; i++)
        floored[i * NS_S + i] += 1e-10 * w[0];
    if (!NS_CONE_OF(rp__friction_factorise)(&factor, floored))
        return false;
    for (int k = 0; k < NS_T; k++) {
        f->s[k] = factor.s[k] > NS_FLOOR * f->nn ? factor.s[k] : NS_FLOOR * f->nn;
        f->a[k] = factor.a[k];
        for (int j = 0; j < NS_T; j++) {
            f->e[k * NS_T + j] = 0;
            for (int i = 0; i < NS_T; i++)
                f->e[k * NS_T + j] += factor.q[i][k] * (m ? m[i * NS_T + j] : i == j);
        }
    }
    return true;
}

/* That of the linearised law: coefficients of chi stay along the axes of the grid; `full` is W~, kept off singular. */
static inline bool ns_wide_linear(ns_wide *f, double *full, const double *m)
{
    f->alpha = 0;
    f->nn = full[0];
    if (!(f->nn > 0) || !isfinite(f->nn))
        return false;
    for (int k = 0; k < NS_T; k++) {
        f->s[k] = full[(k + 1) * NS_S + k + 1] += 1e-9 * f->nn;
        f->a[k] = 0;
        for (int j = 0; j < NS_T; j++)
            f->e[k * NS_T + j] = m ? m[k * NS_T + j] : k == j;
    }
    return true;
}

/* ---- to the solver's coefficients and back ---- */

/* gamma~ from H = sum u (x) g. */
NS_INLINE void ns_wide_in(const ns_wide *f, const double *restrict h, double *restrict gamma)
{
    double r[NS_S];
    ns_chi_coefficients(h, r);
    gamma[0] = r[0];
    for (int k = 0; k < NS_T; k++) {
        gamma[k + 1] = 0;
        for (int j = 0; j < NS_T; j++)
            gamma[k + 1] += f->e[k * NS_T + j] * r[j + 1];
    }
}

/* Coefficients of chi of a stress. */
NS_INLINE void ns_wide_to_chi(const ns_wide *f, const double *restrict lambda, double *restrict r)
{
    for (int j = 0; j < NS_T; j++)
        r[j + 1] = 0;
    r[0] = lambda[0];
    for (int k = 0; k < NS_T; k++)
        for (int j = 0; j < NS_T; j++)
            r[j + 1] += f->e[k * NS_T + j] * lambda[k + 1];
}

NS_INLINE void ns_wide_out(const ns_wide *f, const double *restrict lambda, double *restrict h)
{
    double r[NS_S];
    ns_wide_to_chi(f, lambda, r);
    ns_chi_tensor(r, h);
}

/* Solves n equations by elimination with pivots; a is spent. False when singular. */
static inline bool ns_solve_small(int n, double *a, double *b)
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * NS_S + k]) > fabs(a[p * NS_S + k]))
                p = i;
        if (!(fabs(a[p * NS_S + k]) > 0))
            return false;
        for (int j = k; j < n && p != k; j++) {
            double t = a[k * NS_S + j];
            a[k * NS_S + j] = a[p * NS_S + j], a[p * NS_S + j] = t;
        }
        double t = b[k];
        b[k] = b[p], b[p] = t;
        for (int i = k + 1; i < n; i++) {
            double f = a[i * NS_S + k] / a[k * NS_S + k];
            for (int j = k; j < n; j++)
                a[i * NS_S + j] -= f * a[k * NS_S + j];
            b[i] -= f * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++)
            b[k] -= a[k * NS_S + j] * b[j];
        b[k] /= a[k * NS_S + k];
    }
    return true;
}

/* The stress with these coefficients of chi: lambda~_T = e^-T lambda_T. */
static inline void ns_wide_from_chi(const ns_wide *f, const double *r, double *lambda)
{
    double a[NS_S * NS_S], b[NS_S];
    for (int i = 0; i < NS_T; i++) {
        b[i] = r[i + 1];
        for (int j = 0; j < NS_T; j++)
            a[i * NS_S + j] = f->e[j * NS_T + i];
    }
    bool good = ns_solve_small(NS_T, a, b);
    lambda[0] = r[0];
    for (int k = 0; k < NS_T; k++)
        lambda[k + 1] = good ? b[k] : 0;
}

/* ---- the laws ---- */

NS_INLINE rp__friction_state ns_law_wide(ns_wide *f, const double *restrict gamma, const double *restrict from, double mu,
                                         double *restrict to)
{
    return ns_law_in(f->s, f->a, NS_T, f->nn, &f->alpha, gamma, from, mu, to);
}

/* The linearised law: each tangential coefficient has its own bound |lambda_k| <= mu lambda_N and its own slip: below the bound
 * gamma_k = 0, at it gamma_k opposes lambda_k. The norm of the deviator may reach sqrt(NS_T) mu lambda_N: friction depends on the
 * direction against the grid's axes   [narain2010, §4.2; daviet2016, §7.1]. */
static inline double ns_clamp(double x, double bound)
{
    return x > bound ? bound : x < -bound ? -bound : x;
}

static inline void ns_box_project(double mu, double *x)
{
    x[0] = x[0] > 0 ? x[0] : 0;
    for (int k = 1; k < NS_S; k++)
        x[k] = ns_clamp(x[k], mu * x[0]);
}

/* Norm of (lambda_N - max(0, lambda_N - r gamma_N), lambda_k - clamp(lambda_k - r gamma_k)), r = 1 / W_NN: zero in the law only. */
static inline double ns_box_natural(double nn, const double *gamma, const double *lambda, double mu)
{
    double n = lambda[0] - gamma[0] / nn, sum;
    n = n > 0 ? n : 0;
    sum = (lambda[0] - n) * (lambda[0] - n);
    for (int k = 1; k < NS_S; k++) {
        double d = lambda[k] - ns_clamp(lambda[k] - gamma[k] / nn, mu * (lambda[0] > 0 ? lambda[0] : 0));
        sum += d * d;
    }
    return sqrt(sum);
}

NS_INLINE double ns_row(const double *restrict w, const double *restrict b, const double *restrict x, int i)
{
    double sum = b[i];
    for (int j = 0; j < NS_S; j++)
        sum += w[i * NS_S + j] * x[j];
    return sum;
}

/* The solution under the guess `side` (0: within the bound, ±1: at it), if the guess holds. x is written on success only. */
static inline bool ns_box_try(const double *w, const double *b, double mu, const int *side, double *x)
{
    int index[NS_S] = { 0 }, n = 1;
    double a[NS_S * NS_S], y[NS_S], full[NS_S];
    for (int k = 1; k < NS_S; k++)
        if (side[k] == 0)
            index[n++] = k;
    for (int i = 0; i < n; i++) {
        const double *row = w + index[i] * NS_S;
        y[i] = -b[index[i]];
        a[i * NS_S] = row[0];
        for (int k = 1; k < NS_S; k++)
            a[i * NS_S] += side[k] * mu * row[k];
        for (int j = 1; j < n; j++)
            a[i * NS_S + j] = row[index[j]];
    }
    if (!ns_solve_small(n, a, y) || !(y[0] >= 0))
        return false;
    full[0] = y[0];
    for (int k = 1; k < NS_S; k++)
        full[k] = side[k] * mu * y[0];
    for (int i = 1; i < n; i++) {
        full[index[i]] = y[i];
        if (!(fabs(y[i]) <= mu * y[0] * (1 + 1e-12)))
            return false;
    }
    for (int k = 1; k < NS_S; k++)
        if (side[k] && !(side[k] * ns_row(w, b, full, k) <= 1e-12 * fabs(b[0])))
            return false;
    memcpy(x, full, sizeof full);
    return true;
}

/* One round of projected Gauss-Seidel over the tangential coefficients under a given lambda_N. */
static inline double ns_box_round(const double *w, const double *b, double mu, double *x)
{
    double change = 0;
    for (int k = 1; k < NS_S; k++) {
        double now = ns_clamp(x[k] - ns_row(w, b, x, k) / w[k * NS_S + k], mu * x[0]);
        change = fmax(change, fabs(now - x[k]));
        x[k] = now;
    }
    return change;
}

/* gamma_N as a function of lambda_N, the tangential part at its optimum, is continuous, negative at 0 and positive in the end:
 * a root exists, and bisection finds it. For the cases that the guesses leave. */
static inline void ns_box_bisect(const double *w, const double *b, double mu, double *x)
{
    double low = 0, high = 0, next = -b[0] / w[0];
    for (int step = 0; step < 300; step++) {
        x[0] = next;
        for (int round = 0; round < 500; round++)
            if (ns_box_round(w, b, mu, x) <= 1e-14 * mu * x[0])
                break;
        if (ns_row(w, b, x, 0) < 0)
            low = x[0];
        else
            high = x[0];
        next = high > 0 ? 0.5 * (low + high) : 2 * low;
        if (high > 0 && !(high - low > 1e-14 * high))
            break;
    }
}

static inline rp__friction_state ns_law_box(const double *restrict w, const double *restrict gamma, const double *restrict from,
                                            double mu, double *restrict to)
{
    double b[NS_S], x[NS_S];
    for (int i = 0; i < NS_S; i++) {
        b[i] = gamma[i];
        for (int j = 0; j < NS_S; j++)
            b[i] -= w[i * NS_S + j] * from[j];
    }
    if (b[0] >= 0) {
        memset(to, 0, NS_S * sizeof *to);
        return RP__TAKE_OFF;
    }
    int side[NS_S] = { 0 }, tried[NS_S] = { 0 };
    bool done = false;
    memcpy(x, from, sizeof x);
    ns_box_project(mu, x);
    for (int round = 0; round < 60 && !done; round++) {
        double n = x[0] - ns_row(w, b, x, 0) / w[0];
        x[0] = n > 0 ? n : 0;
        ns_box_round(w, b, mu, x);
        for (int k = 1; k < NS_S; k++)
            side[k] = x[0] > 0 && fabs(x[k]) >= mu * x[0] ? (x[k] > 0 ? 1 : -1) : 0;
        if (round && memcmp(side, tried, sizeof side) == 0)
            continue;
        memcpy(tried, side, sizeof side);
        done = ns_box_try(w, b, mu, side, x);
    }
    if (!done)
        ns_box_bisect(w, b, mu, x);
    memcpy(to, x, sizeof x);
    for (int k = 1; k < NS_S; k++)
        if (fabs(x[k]) >= mu * x[0])
            return RP__SLIDE;
    return RP__STICK;
}

#endif
