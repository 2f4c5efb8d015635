/* B-spline weights on one axis   [steffen2008, §4].
 *
 * x is in cells (position / cell size, nodes at the integers). Each function fills the weights w[k] of the nodes base + k and
 * their derivatives g[k] with respect to x (divide by the cell size for the gradient in space), and returns base. The weights
 * are not negative and sum to 1, the derivatives sum to 0. The node nearest below is: linear floor(x), quadratic floor(x - 1/2),
 * cubic floor(x) - 1. */
#ifndef RP_MATH_SPLINE_H
#define RP_MATH_SPLINE_H

#include <math.h>

enum { RP_SPLINE_LINEAR = 1, RP_SPLINE_QUADRATIC = 2, RP_SPLINE_CUBIC = 3, RP_SPLINE_MAX_NODES = 4 };

static inline int rp__spline_linear(double x, double w[2], double g[2])
{
    double base = floor(x), t = x - base;
    w[0] = 1 - t, w[1] = t;
    g[0] = -1, g[1] = 1;
    return (int)base;
}

/* t = x - base is in [1/2, 3/2) */
static inline int rp__spline_quadratic(double x, double w[3], double g[3])
{
    double base = floor(x - 0.5), t = x - base;
    double a = 1.5 - t, b = t - 1, c = t - 0.5;
    w[0] = 0.5 * a * a, w[1] = 0.75 - b * b, w[2] = 0.5 * c * c;
    g[0] = -a, g[1] = -2 * b, g[2] = c;
    return (int)base;
}

/* t = x - floor(x) is in [0, 1) */
static inline int rp__spline_cubic(double x, double w[4], double g[4])
{
    double cell = floor(x), t = x - cell, s = 1 - t;
    w[0] = s * s * s / 6;
    w[1] = 2.0 / 3 - t * t * (1 - 0.5 * t);
    w[2] = 2.0 / 3 - s * s * (1 - 0.5 * s);
    w[3] = t * t * t / 6;
    g[0] = -0.5 * s * s;
    g[1] = t * (1.5 * t - 2);
    g[2] = s * (2 - 1.5 * s);
    g[3] = 0.5 * t * t;
    return (int)cell - 1;
}

/* The order at run time (1, 2, 3); fills order + 1 numbers. */
static inline int rp__spline(int order, double x, double w[4], double g[4])
{
    return order == RP_SPLINE_LINEAR ? rp__spline_linear(x, w, g)
           : order == RP_SPLINE_QUADRATIC ? rp__spline_quadratic(x, w, g)
                                          : rp__spline_cubic(x, w, g);
}

#endif
