/* Residuals, projections and corrections over a range of contacts. */
#include "friction/local.h"
#include "friction/solve.h"

#define D RP_CONE

void RP_CONE_NAME(rp__friction_measure_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *r, const double *u,
                                             const double *s, rp__friction_measure *m)
{
    for (int64_t i = begin; i < end; i++) {
        double rho = 1 / p->norm[i], z, ac = 0;
        if (s) {
            double x[D], sum = 0;
            for (int a = 0; a < D; a++)
                x[a] = r[i * D + a] - rho * (u[i * D + a] + (a == 0 ? s[i] : 0));
            RP_CONE_NAME(rp__friction_project)(p->mu[i], x);
            for (int a = 0; a < D; a++)
                sum += (r[i * D + a] - x[a]) * (r[i * D + a] - x[a]);
            z = sqrt(sum) * p->norm[i];
        } else {
            double size = 0;
            for (int a = 0; a < D; a++)
                size += r[i * D + a] * r[i * D + a];
            /* u and the map carry rounding of this size: huge forces must not hide a residual in it. */
            double rounding = 4 * DBL_EPSILON * sqrt(size) * p->norm[i];
            z = RP_CONE_NAME(rp__friction_residual)(r + i * D, u + i * D, p->mu[i], rho) * p->norm[i];
            ac = p->mu[i] <= 10 ? RP_CONE_NAME(rp__friction_alart_curnier)(r + i * D, u + i * D, p->mu[i], rho) * p->norm[i] : z;
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
        RP_CONE_NAME(rp__friction_project)(p->mu[i], x + i * D);
}

void RP_CONE_NAME(rp__friction_correction_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *u, double *s)
{
    for (int64_t i = begin; i < end; i++) {
        double slip = 0;
        for (int a = 1; a < D; a++)
            slip += u[i * D + a] * u[i * D + a];
        s[i] = p->mu[i] * sqrt(slip);
    }
}
