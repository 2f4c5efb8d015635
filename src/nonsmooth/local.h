/* The local problem of one stress in the frame of its operator (see ns_frame). Inline. */
#ifndef RP_NONSMOOTH_LOCAL_H
#define RP_NONSMOOTH_LOCAL_H

#include "friction/local.h"
#include "math/eigen.h"
#include "nonsmooth/system.h"

#include <math.h>
#include <repose/friction.h>

#define NS_NEAR 1e-6   /* a root found so closely needs one more step only, to first order */
#define NS_FLOOR 1e-12 /* smallest eigenvalue of the Schur complement, in units of W_NN */

/* W from the eigenvalues e of G, ascending or not. False when there is nothing to push against. */
static inline bool ns_frame_from_eigenvalues(ns_frame *f, const double *e)
{
    f->alpha = 0;
#if RP_DIM == 3
    double nn = (e[0] + e[1] + e[2]) / 3;
    f->nn = nn;
    if (!(nn > 0) || !isfinite(nn))
        return false;
    double wb = (e[0] - e[1]) / 2.44948974278317809820, wc = (2 * e[2] - e[0] - e[1]) / 4.24264068711928514641;
    double p = 0.5 * (e[0] + e[1]) - wb * wb / nn, r = (e[0] + e[1] + 4 * e[2]) / 6 - wc * wc / nn;
    double q = (e[1] - e[0]) / 3.46410161513775458705 - wb * wc / nn;
    double half = 0.5 * (r - p), t = 0;
    if (q != 0) {
        double root = sqrt(half * half + q * q);
        t = half >= 0 ? q / (half + root) : q / (half - root);
    }
    double cs = 1 / sqrt(1 + t * t), sn = -t * cs;
    /* Vectors (cs, sn) with value p - t q and (-sn, cs) with value r + t q. */
    f->cs = cs, f->sn = sn;
    f->s[0] = p - t * q;
    f->s[1] = r + t * q;
    f->s[2] = 0.5 * (e[0] + e[1]);
    f->s[3] = 0.5 * (e[0] + e[2]);
    f->s[4] = 0.5 * (e[1] + e[2]);
    f->a[0] = (cs * wb + sn * wc) / nn;
    f->a[1] = (cs * wc - sn * wb) / nn;
#else
    double nn = 0.5 * (e[0] + e[1]);
    f->nn = nn;
    if (!(nn > 0) || !isfinite(nn))
        return false;
    f->a[0] = 0.5 * (e[0] - e[1]) / nn;
    f->s[0] = e[0] * e[1] / nn;
    f->s[1] = nn;
#endif
    for (int k = 0; k < NS_T; k++)
        f->s[k] = f->s[k] > NS_FLOOR * nn ? f->s[k] : NS_FLOOR * nn;
    return true;
}

/* Coefficients in the frame from the tensor H' = R^T H R (only its symmetric part counts). */
NS_INLINE void ns_frame_coefficients(const ns_frame *f, const double *restrict m, double *restrict y)
{
#if RP_DIM == 3
    double b = 0.5 * (m[0] - m[4]), c = (2 * m[8] - m[0] - m[4]) * 0.28867513459481288225;
    y[0] = (m[0] + m[4] + m[8]) * 0.40824829046386301637;
    y[1] = f->cs * b + f->sn * c;
    y[2] = f->cs * c - f->sn * b;
    y[3] = 0.5 * (m[1] + m[3]);
    y[4] = 0.5 * (m[2] + m[6]);
    y[5] = 0.5 * (m[5] + m[7]);
#else
    (void)f;
    y[0] = 0.5 * (m[0] + m[3]);
    y[1] = 0.5 * (m[0] - m[3]);
    y[2] = 0.5 * (m[1] + m[2]);
#endif
}

/* The tensor in the frame with these coefficients, full storage. */
NS_INLINE void ns_frame_tensor(const ns_frame *f, const double *restrict y, double *restrict m)
{
#if RP_DIM == 3
    double b = f->cs * y[1] - f->sn * y[2], c = f->sn * y[1] + f->cs * y[2];
    double base = 0.81649658092772603273 * y[0] - 0.57735026918962576451 * c;
    m[0] = base + b, m[4] = base - b;
    m[8] = 0.81649658092772603273 * y[0] + 1.15470053837925152902 * c;
    m[1] = m[3] = y[3];
    m[2] = m[6] = y[4];
    m[5] = m[7] = y[5];
#else
    (void)f;
    m[0] = y[0] + y[1], m[3] = y[0] - y[1];
    m[1] = m[2] = y[2];
#endif
}

/* R^T H R and R M R^T. */
NS_INLINE void ns_rotate_in(const double *restrict r, const double *restrict h, double *restrict m)
{
    double t[RP_DIM * RP_DIM];
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += h[i * RP_DIM + k] * r[k * RP_DIM + j];
            t[i * RP_DIM + j] = sum;
        }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += r[k * RP_DIM + i] * t[k * RP_DIM + j];
            m[i * RP_DIM + j] = sum;
        }
}

NS_INLINE void ns_rotate_out(const double *restrict r, const double *restrict m, double *restrict h)
{
    double t[RP_DIM * RP_DIM];
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += m[i * RP_DIM + k] * r[j * RP_DIM + k];
            t[i * RP_DIM + j] = sum;
        }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += r[i * RP_DIM + k] * t[k * RP_DIM + j];
            h[i * RP_DIM + j] = sum;
        }
}

/* chi (math/tensor.h) in full storage, and back; only the symmetric part of h counts. */
NS_INLINE void ns_chi_tensor(const double *restrict r, double *restrict h)
{
#if RP_DIM == 3
    double base = (1.41421356237309504880 * r[0] - r[2]) / 1.73205080756887729353;
    h[0] = base + r[1], h[4] = base - r[1], h[8] = (1.41421356237309504880 * r[0] + 2 * r[2]) / 1.73205080756887729353;
    h[1] = h[3] = r[3], h[2] = h[6] = r[4], h[5] = h[7] = r[5];
#else
    h[0] = r[0] + r[1], h[3] = r[0] - r[1], h[1] = h[2] = r[2];
#endif
}

NS_INLINE void ns_chi_coefficients(const double *restrict h, double *restrict r)
{
#if RP_DIM == 3
    r[0] = (h[0] + h[4] + h[8]) / 2.44948974278317809820;
    r[1] = 0.5 * (h[0] - h[4]);
    r[2] = (2 * h[8] - h[0] - h[4]) / 3.46410161513775458705;
    r[3] = 0.5 * (h[1] + h[3]), r[4] = 0.5 * (h[2] + h[6]), r[5] = 0.5 * (h[5] + h[7]);
#else
    r[0] = 0.5 * (h[0] + h[3]), r[1] = 0.5 * (h[0] - h[3]), r[2] = 0.5 * (h[1] + h[2]);
#endif
}

/* c = a b, full storage. */
NS_INLINE void ns_multiply(const double *restrict a, const double *restrict b, double *restrict c)
{
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += a[i * RP_DIM + k] * b[k * RP_DIM + j];
            c[i * RP_DIM + j] = sum;
        }
}

/* Coefficients of chi to coefficients in the frame, and back. */
static inline void ns_chi_to_frame(const ns_frame *f, const double *r, double *y)
{
    double h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM];
    ns_chi_tensor(r, h);
    ns_rotate_in(f->r, h, m);
    ns_frame_coefficients(f, m, y);
}

static inline void ns_frame_to_chi(const ns_frame *f, const double *y, double *r)
{
    double h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM];
    ns_frame_tensor(f, y, m);
    ns_rotate_out(f->r, m, h);
    ns_chi_coefficients(h, r);
}

/* The root of p(alpha) = |y| + mu a·y = target, y = -c / (s + alpha), by Newton's method on 1/p in a bracket: the secular equation of
 * friction/local_template.h, with the zeros of a known. Leaves y at the root and returns |y|. */
NS_INLINE double ns_secular_root(const double *restrict s, const double *restrict a, int coupled, double *restrict root,
                                 const double *restrict c, double mu, double target, double *restrict y)
{
    double cc = 0, scs = 0, na = 0, norm = 0;
    for (int k = 0; k < NS_T; k++)
        cc += c[k] * c[k], scs += c[k] * c[k] * s[k];
    for (int k = 0; k < coupled; k++)
        na += a[k] * a[k];
    na = sqrt(na);
    double low = 0, high = sqrt(cc) * (1 + mu * na) / target, alpha = *root;
    double least = s[0];
    for (int k = 1; k < NS_T; k++)
        least = s[k] < least ? s[k] : least;
    if (!(alpha > 0 && alpha < high)) {
        alpha = sqrt(cc) / target - scs / cc;
        if (!(alpha > 1e-3 * least))
            alpha = 1e-3 * least;
        if (!(alpha < high))
            alpha = 0.5 * high;
    }
    for (int step = 0; step < 100; step++) {
        double yy = 0, ay = 0, yyi = 0, ayi = 0, inverse[NS_T];
        for (int k = 0; k < NS_T; k++) {
            double v = -c[k] * (inverse[k] = 1 / (s[k] + alpha));
            y[k] = v;
            yy += v * v;
            yyi += v * v * inverse[k];
            if (k < coupled)
                ay += a[k] * v, ayi += a[k] * v * inverse[k];
        }
        norm = sqrt(yy);
        double p = norm + mu * ay, excess = p - target;
        double size = norm * (1 + mu * na) + target;
        if (fabs(excess) <= 1e-13 * size)
            break;
        if (excess > 0)
            low = alpha;
        else
            high = alpha;
        if (!(high - low > 1e-15 * high))
            break;
        double slope = yyi / norm + mu * ayi;
        double next = alpha + p * excess / (slope * target);
        if (fabs(excess) <= NS_NEAR * size && fabs(next - alpha) <= NS_NEAR * (least + alpha) && next > 0) {
            yy = 0; /* y(next) = y (1 - (next - alpha) / (s + alpha)) */
            for (int k = 0; k < NS_T; k++) {
                y[k] -= (next - alpha) * inverse[k] * y[k];
                yy += y[k] * y[k];
            }
            norm = sqrt(yy);
            alpha = next;
            break;
        }
        if (!(slope > 0 && p > 0 && next > low && next < high) || (step > 12 && step % 3 == 0))
            next = low > 0 ? sqrt(low) * sqrt(high) : high > least ? sqrt(high) * sqrt(1e-3 * least) : 1e-3 * high;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        alpha = next;
    }
    *root = alpha;
    return norm;
}

/* gamma at the present stress `from` (both in the frame): the stress that obeys the law when all others stay, into `to`.
 * s, a and nn are those of a frame, the first `coupled` entries of a are not zero, *root is the last root. */
NS_INLINE rp__friction_state ns_law_in(const double *restrict s, const double *restrict a, int coupled, double nn,
                                       double *restrict root, const double *restrict gamma, const double *restrict from, double mu,
                                       double *restrict to)
{
    double ay = 0;
    for (int k = 0; k < coupled; k++)
        ay += a[k] * from[k + 1];
    double bn = gamma[0] - nn * (from[0] + ay); /* b_N = gamma_N - (W lambda)_N */
    if (bn >= 0) {
        for (int k = 0; k < NS_S; k++)
            to[k] = 0;
        return RP__TAKE_OFF;
    }
    /* c = Q^T b_T - a b_N = Q^T gamma_T - a gamma_N - s lambda_T */
    double c[NS_T], y[NS_T], yy = 0;
    for (int k = 0; k < NS_T; k++)
        c[k] = gamma[k + 1] - s[k] * from[k + 1];
    for (int k = 0; k < coupled; k++)
        c[k] -= a[k] * gamma[0];
    ay = 0;
    for (int k = 0; k < NS_T; k++) {
        y[k] = -c[k] / s[k];
        yy += y[k] * y[k];
    }
    for (int k = 0; k < coupled; k++)
        ay += a[k] * y[k];
    double beta = -bn / nn;
    rp__friction_state state = RP__STICK;
    to[0] = beta - ay;
    if (!(yy <= mu * mu * to[0] * to[0]) || !(to[0] >= 0)) {
        state = RP__SLIDE;
        if (mu > 1e-100) {
            to[0] = ns_secular_root(s, a, coupled, root, c, mu, mu * beta, y) / mu;
        } else {
            to[0] = beta;
            for (int k = 0; k < NS_T; k++)
                y[k] = 0;
        }
    }
    for (int k = 0; k < NS_T; k++)
        to[k + 1] = y[k];
    return state;
}

NS_INLINE rp__friction_state ns_law(ns_frame *f, const double *restrict gamma, const double *restrict from, double mu,
                                    double *restrict to)
{
    return ns_law_in(f->s, f->a, RP_DIM - 1, f->nn, &f->alpha, gamma, from, mu, to);
}

/* The problem of one stress in the friction library's form: u = W r + b. */
static inline void ns_general_form(const ns_frame *f, const double *gamma, const double *from, double *w, double *b)
{
    double a[NS_T] = { 0 };
    for (int k = 0; k < RP_DIM - 1; k++)
        a[k] = f->a[k];
    w[0] = f->nn;
    for (int i = 0; i < NS_T; i++) {
        w[i + 1] = w[(i + 1) * NS_S] = f->nn * a[i];
        for (int j = 0; j < NS_T; j++)
            w[(i + 1) * NS_S + j + 1] = f->nn * a[i] * a[j] + (i == j ? f->s[i] : 0);
    }
    for (int i = 0; i < NS_S; i++) {
        b[i] = gamma[i];
        for (int j = 0; j < NS_S; j++)
            b[i] -= w[i * NS_S + j] * from[j];
    }
}

/* The same law through the general solver of the friction library: the cross-check. */
static inline rp__friction_state ns_law_general(ns_frame *f, const double *gamma, const double *from, double mu, double *to)
{
    double w[NS_S * NS_S], b[NS_S];
    ns_general_form(f, gamma, from, w, b);
#if RP_DIM == 3
    rp__friction_factor_c6 factor;
    if (!rp__friction_factorise_c6(&factor, w))
        return ns_law(f, gamma, from, mu, to);
    return rp__friction_solve_c6(&factor, b, mu, to);
#else
    rp__friction_factor_c3 factor;
    if (!rp__friction_factorise_c3(&factor, w))
        return ns_law(f, gamma, from, mu, to);
    return rp__friction_solve_c3(&factor, b, mu, to);
#endif
}

/* Norm of lambda - P_K(lambda - r (gamma + mu |gamma_T| e_N)), r = 1 / W_NN: a stress; zero in the law only. */
static inline double ns_natural(const ns_frame *f, const double *gamma, const double *lambda, double mu)
{
#if RP_DIM == 3
    return rp__friction_natural_c6(lambda, gamma, mu, 1 / f->nn);
#else
    return rp__friction_natural_c3(lambda, gamma, mu, 1 / f->nn);
#endif
}

#endif
