/* Products with W over a range of rows, for each dimension of the cone. */
#include "friction/local.h"
#include "friction/problem.h"

#define D RP_CONE

void RP_CONE_NAME(rp__friction_block_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *restrict r,
                                           double *restrict u)
{
    for (int64_t i = begin; i < end; i++) {
        double sum[D] = { 0 };
        for (int64_t k = p->first[i]; k < p->first[i + 1]; k++) {
            const double *w = p->block + k * D * D, *x = r + (int64_t)p->column[k] * D;
            for (int a = 0; a < D; a++)
                for (int c = 0; c < D; c++)
                    sum[a] += w[a * D + c] * x[c];
        }
        for (int a = 0; a < D; a++)
            u[i * D + a] = sum[a];
    }
}

void RP_CONE_NAME(rp__friction_gather_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *restrict v,
                                            double *restrict u)
{
    for (int64_t i = begin; i < end; i++) {
        double sum[D] = { 0 };
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
            for (int a = 0; a < D; a++)
                sum[a] += p->h.value[k * D + a] * v[p->h.index[k]];
        for (int a = 0; a < D; a++)
            u[i * D + a] = sum[a];
    }
}

void RP_CONE_NAME(rp__friction_scatter_rows)(const rp_friction *p, int64_t begin, int64_t end, const double *restrict r,
                                             double *restrict v)
{
    for (int64_t j = begin; j < end; j++) {
        double sum = 0;
        for (int64_t k = p->yt.first[j]; k < p->yt.first[j + 1]; k++) {
            const double *x = r + (int64_t)p->yt.index[k] * D;
            for (int a = 0; a < D; a++)
                sum += p->yt.value[k * D + a] * x[a];
        }
        v[j] = sum;
    }
}
