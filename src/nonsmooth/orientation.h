/* The orientation tensor nu of flat grains: second moment of their normals, symmetric, positive, of trace one. Inline kernels.
 *
 *   D nu/Dt = W nu - nu W - l (D nu + nu D - 2 (D:nu) nu)                     normals of discs turn as Jeffery says
 *   D pi/Dt = W pi - pi W + l (D pi + pi D - 2 (D:pi) pi), nu = I - (d - 1) pi   directions in the planes turn as rods  [daviet2016, (24)]
 *
 * W the spin, D the strain rate, l the elongation. (The paper prints + pi W, which is not symmetric.) Both have the form
 * T' = G T + T G^T - (trace) T with G = W ± l D: over a step T becomes F T F^T over its trace with F = exp(dt G). That is symmetric,
 * positive and of trace one whatever the step. In 2D the two are the same. In 3D the second lets an eigenvalue of pi exceed 1/2:
 * what of nu would be negative then counts as zero. */
#ifndef RP_NONSMOOTH_ORIENTATION_H
#define RP_NONSMOOTH_ORIENTATION_H

#include "math/eigen.h"
#include "nonsmooth/system.h"

#include <math.h>
#include <string.h>

#define NS_LARGEST_TURN 8.0 /* of |dt G|: beyond it only the direction matters */
#define NS_LEAST_RANDOM 1e-12 /* part of every orientation that is random: keeps nu positive against rounding */

static inline void ns_product(double a[3][3], double b[3][3], double c[3][3])
{
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

/* f = exp(x): Taylor's series of x / 2^n, squared n times. */
static inline void ns_exponential(double x[3][3], double f[3][3])
{
    double norm = 0, term[3][3] = { { 0 } }, next[3][3] = { { 0 } };
    int halvings = 0;
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++)
            norm += x[i][j] * x[i][j];
    norm = sqrt(norm);
    double scale = norm <= NS_LARGEST_TURN ? 1 : norm < INFINITY ? NS_LARGEST_TURN / norm : 0;
    for (double size = norm * scale; size > 0.25; size *= 0.5)
        halvings++;
    scale = ldexp(scale, -halvings);
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            x[i][j] = scale > 0 ? x[i][j] * scale : 0;
            term[i][j] = f[i][j] = i == j;
        }
    for (int n = 1; n <= 4; n++) { /* to 1e-5 at the most: the flow is not known better over a step */
        ns_product(term, x, next);
        for (int i = 0; i < RP_DIM; i++)
            for (int j = 0; j < RP_DIM; j++) {
                term[i][j] = next[i][j] / n;
                f[i][j] += term[i][j];
            }
    }
    for (; halvings > 0; halvings--) {
        ns_product(f, f, next);
        memcpy(f, next, 9 * sizeof(double));
    }
}

/* t <- F t F^T over its trace. */
static inline void ns_carry(double f[3][3], double t[3][3])
{
    double ft[3][3], trace = 0;
    ns_product(f, t, ft);
    for (int i = 0; i < RP_DIM; i++)
        for (int j = i; j < RP_DIM; j++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += ft[i][k] * f[j][k];
            t[i][j] = t[j][i] = sum;
        }
    for (int i = 0; i < RP_DIM; i++)
        trace += t[i][i];
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++)
            t[i][j] = trace > 0 ? t[i][j] / trace : i == j ? 1.0 / RP_DIM : 0;
}

#if RP_DIM == 3
/* Negative eigenvalues become zero, the trace one. */
static inline void ns_make_positive(double t[3][3])
{
    double s[6] = { t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2] }, value[3], trace = 0;
    rp__mat3 v;
    rp__math_eigen_sym3(s, value, &v);
    if (value[0] >= 0)
        return;
    for (int k = 0; k < 3; k++) {
        value[k] = value[k] > 0 ? value[k] : 0;
        trace += value[k];
    }
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += value[k] / trace * v.m[i][k] * v.m[j][k];
            t[i][j] = t[j][i] = sum;
        }
}
#endif

/* nu after dt under the velocity gradient c; nu as xx yy zz xy xz yz. */
static inline void ns_turn_one(double nu[6], double c[3][3], double elongation, double dt, int how)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    double x[3][3] = { { 0 } }, f[3][3] = { { 0 } }, t[3][3] = { { 0 } };
    bool planes = how == RP__ORIENT_PLANES && RP_DIM == 3;
    double l = planes ? elongation : -elongation;
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            x[i][j] = dt * (0.5 * (c[i][j] - c[j][i]) + l * 0.5 * (c[i][j] + c[j][i]));
            t[i][j] = planes ? 0.5 * ((i == j) - nu[at[i][j]]) : nu[at[i][j]];
        }
    ns_exponential(x, f);
    ns_carry(f, t);
#if RP_DIM == 3
    if (planes) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                t[i][j] = (i == j) - 2 * t[i][j];
        ns_make_positive(t);
    }
#endif
    for (int i = 0; i < RP_DIM; i++)
        for (int j = i; j < RP_DIM; j++)
            nu[at[i][j]] = (1 - NS_LEAST_RANDOM) * t[i][j] + (i == j ? NS_LEAST_RANDOM / RP_DIM : 0);
}

#endif
