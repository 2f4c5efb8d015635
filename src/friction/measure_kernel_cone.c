/* Residuals, projections and corrections over a range of contacts. */
#include "friction/local.h"
#include "friction/rolling.h"
#include "friction/solve.h"

#define D RP_CONE

/* The cone of a contact, with its moments where it has some. */
static inline void project(const rp_friction *p, int64_t i, double *x)
{
    if (D != 2 && p->rolling)
        rp__friction_rolling_project(D, p->mu[i], p->rolling[i], x);
    else
        RP_CONE_NAME(rp__friction_project)(p->mu[i], x);
}

/* The residual and the second opinion; where mu is very large the smaller counts for both (local_template.h). */
static inline double residual(const rp_friction *p, int64_t i, const double *r, const double *u, double *second)
{
    double mu = p->mu[i], rho = 1 / p->norm[i], z;
    if (D != 2 && p->rolling) {
        z = rp__friction_rolling_natural(D, r, u, mu, p->rolling[i], rho);
        *second = rp__friction_rolling_alart_curnier(D, r, u, mu, p->rolling[i], rho);
        if (mu > 10 || p->rolling[i] > 10) {
            double normal = rp__friction_normal_law(r[0], u[0], rho);
            z = *second < z ? *second : z;
            z = *second = normal > z ? normal : z;
        }
        return z;
    }
    z = RP_CONE_NAME(rp__friction_residual)(r, u, mu, rho);
    *second = mu <= 10 ? RP_CONE_NAME(rp__friction_alart_curnier)(r, u, mu, rho) : z;
    return z;
}

void RP_CONE_NAME(rp__friction_measure_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *r, const double *u,
                                             const double *s, rp__friction_measure *m)
{
    for (int64_t i = begin; i < end; i++) {
        double rho = 1 / p->norm[i], z, ac = 0;
        if (s) {
            double x[D], sum = 0;
            for (int a = 0; a < D; a++)
                x[a] = r[i * D + a] - rho * (u[i * D + a] + (a == 0 ? s[i] : 0));
            project(p, i, x);
            for (int a = 0; a < D; a++)
                sum += (r[i * D + a] - x[a]) * (r[i * D + a] - x[a]);
            z = sqrt(sum) * p->norm[i];
        } else {
            double size = 0;
            for (int a = 0; a < D; a++)
                size += r[i * D + a] * r[i * D + a];
            /* u and the map carry rounding of this size: huge forces must not hide a residual in it. */
            double rounding = 4 * DBL_EPSILON * sqrt(size) * p->norm[i];
            z = residual(p, i, r + i * D, u + i * D, &ac) * p->norm[i];
            ac *= p->norm[i];
            z = z < rounding ? rounding : z;
            ac = ac < rounding ? rounding : ac;
        }
        m->square += z * z;
        m->ac_square += ac * ac;
        m->largest = z <= m->largest ? m->largest : z; /* a NaN stays */
        m->ac_largest = ac <= m->ac_largest ? m->ac_largest : ac;
    }
}

void RP_CONE_NAME(rp__friction_project_rows)(const rp_friction *p, int64_t begin, int64_t end, double *x)
{
    for (int64_t i = begin; i < end; i++)
        project(p, i, x + i * D);
}

void RP_CONE_NAME(rp__friction_correction_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *u, double *s)
{
    for (int64_t i = begin; i < end; i++) {
        double slip = 0;
        if (D != 2 && p->rolling) {
            s[i] = rp__friction_rolling_correction(D, p->mu[i], p->rolling[i], u + i * D);
            continue;
        }
        for (int a = 1; a < D; a++)
            slip += u[i * D + a] * u[i * D + a];
        s[i] = p->mu[i] * sqrt(slip);
    }
}
