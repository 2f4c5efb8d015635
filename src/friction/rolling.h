/* Coulomb's law with rolling friction at one contact: the last components are an angular impulse (over a radius, so that it is an
 * impulse too), which obeys a law of its own kind below the same normal impulse:
 *
 *   |r_T| <= mu r_N with r_T opposed to u_T,   |r_L| <= rolling r_N with r_L opposed to the spin u_L.
 *
 * Dimension 3 is N, T, L (in the plane), dimension 6 is N, T1, T2, L1, L2, L3. The cone K is the product of two discs over r_N, its
 * dual is u_N >= mu |u_T| + rolling |u_L|, so De Saxcé's correction is mu |u_T| + rolling |u_L|. */
#ifndef RP_FRICTION_ROLLING_H
#define RP_FRICTION_ROLLING_H

#include "friction/local.h"

/* Components of impulse: the others are moments. */
static inline int rp__friction_impulses(const int d)
{
    return d == 3 ? 2 : 3;
}

static inline double rp__friction_length(const double *x, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* x <- nearest point of K: the height n is the root of n - x_N = mu max(0, |x_T| - mu n) + rolling max(0, |x_L| - rolling n), which
 * falls on the left and grows on the right: the four cases in turn. */
static inline void rp__friction_rolling_project(const int d, double mu, double rolling, double *x)
{
    const int f = rp__friction_impulses(d);
    double t = rp__friction_length(x, 1, f), l = rp__friction_length(x, f, d), n = x[0];
    bool slides = t > mu * n, rolls = l > rolling * n;
    if (!slides && !rolls && n >= 0)
        return;
    double one = (n + mu * t) / (1 + mu * mu), other = (n + rolling * l) / (1 + rolling * rolling);
    if (slides && one >= 0 && l <= rolling * one)
        n = one;
    else if (rolls && other >= 0 && t <= mu * other)
        n = other;
    else
        n = (n + mu * t + rolling * l) / (1 + mu * mu + rolling * rolling);
    n = n > 0 ? n : n <= 0 ? 0 : n; /* a NaN stays one */
    double of_t = t > mu * n ? mu * n / t : 1, of_l = l > rolling * n ? rolling * n / l : 1;
    x[0] = n;
    for (int i = 1; i < d; i++)
        x[i] *= i < f ? of_t : of_l;
}

static inline double rp__friction_rolling_correction(const int d, double mu, double rolling, const double *u)
{
    const int f = rp__friction_impulses(d);
    return mu * rp__friction_length(u, 1, f) + rolling * rp__friction_length(u, f, d);
}

static inline double rp__friction_rolling_natural(const int d, const double *r, const double *u, double mu, double rolling, double rho)
{
    double x[6], sum = 0;
    for (int i = 0; i < d; i++)
        x[i] = r[i] - rho * (u[i] + (i == 0 ? rp__friction_rolling_correction(d, mu, rolling, u) : 0));
    rp__friction_rolling_project(d, mu, rolling, x);
    for (int i = 0; i < d; i++)
        sum += (r[i] - x[i]) * (r[i] - x[i]);
    return sqrt(sum);
}

static inline double rp__friction_rolling_alart_curnier(const int d, const double *r, const double *u, double mu, double rolling, double rho)
{
    const int f = rp__friction_impulses(d);
    double x[6], sum = 0;
    for (int i = 0; i < d; i++)
        x[i] = r[i] - rho * u[i];
    x[0] = x[0] > 0 ? x[0] : x[0] <= 0 ? 0 : x[0];
    double t = rp__friction_length(x, 1, f), l = rp__friction_length(x, f, d);
    double of_t = t > mu * x[0] ? mu * x[0] / t : 1, of_l = l > rolling * x[0] ? rolling * x[0] / l : 1;
    for (int i = 0; i < d; i++) {
        double to = i == 0 ? x[i] : i < f ? of_t * x[i] : of_l * x[i];
        sum += (r[i] - to) * (r[i] - to);
    }
    return sqrt(sum);
}

/* What is kept of W between visits. */
typedef struct rp__friction_rolling_factor {
    rp__friction_factor_c2 plane; /* dimension 3 */
    rp__friction_factor_c3 space; /* dimension 6 */
    double softness;              /* not below the largest eigenvalue of W_LL, and equal to it where W_LL is a multiple of 1 */
} rp__friction_rolling_factor;

static inline bool rp__friction_rolling_factorise(const int d, rp__friction_rolling_factor *factor, const double *w)
{
    const int f = rp__friction_impulses(d);
    double part[9];
    for (int i = 0; i < f; i++)
        for (int k = 0; k < f; k++)
            part[i * f + k] = w[i * d + k];
    factor->softness = 0;
    for (int i = f; i < d; i++) {
        double row = 0;
        for (int k = f; k < d; k++)
            row += fabs(w[i * d + k]);
        factor->softness = row > factor->softness ? row : factor->softness;
    }
    return factor->softness > 0 && (d == 3 ? rp__friction_factorise_c2(&factor->plane, part) : rp__friction_factorise_c3(&factor->space, part));
}

/* Impulse with the moment given, exactly, then the moment with the impulse given, until they agree: they meet only in the lever arm. */
static inline void rp__friction_rolling_solve(const int d, rp__friction_rolling_factor *factor, const double *w, const double *b, double mu,
                                              double rolling, double *r)
{
    const int f = rp__friction_impulses(d);
    enum { TURNS = 12 };
    for (int turn = 0; turn < TURNS; turn++) {
        double own[3], x[3] = { 0 }, moved = 0, size = 0, l = 0;
        for (int i = 0; i < f; i++) {
            own[i] = b[i];
            for (int k = f; k < d; k++)
                own[i] += w[i * d + k] * r[k];
        }
        if (d == 3)
            rp__friction_solve_c2(&factor->plane, own, mu, r);
        else
            rp__friction_solve_c3(&factor->space, own, mu, r);
        for (int i = f; i < d; i++) {
            double spin = b[i];
            for (int k = 0; k < d; k++)
                spin += w[i * d + k] * r[k];
            x[i - f] = r[i] - spin / factor->softness;
            l += x[i - f] * x[i - f];
        }
        l = sqrt(l);
        double most = rolling * r[0], scale = l > most ? most / l : 1;
        for (int i = f; i < d; i++) {
            double to = scale * x[i - f];
            moved += (to - r[i]) * (to - r[i]);
            size += to * to;
            r[i] = to;
        }
        if (moved <= 1e-28 * (size + r[0] * r[0]))
            break;
    }
}

#endif
