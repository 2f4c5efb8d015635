/* The residual that counts: what pushes.
 *
 * The force of the stresses on node j is sum_i sigma_i g_ij. In full dual cells g has the weights (-1/2, 0, 1/2) along the axis a of its derivative and
 * (1/6, 2/3, 1/6) along the others: of a wave exp(i k x) of the stress it lets pass |sin k_a| times (2 + cos k_b) / 3 for each other axis b. What alternates
 * from dual cell to dual cell, k = pi, exerts no force along that axis and a third of it along the others. It moves no grain and is not determined, and for
 * the sweeps it is as slow as the longest waves. So residuals are measured as means with these weights, [1 4 1] / 6 along each axis: long waves count whole,
 * what alternates along one, two or three axes a third, a ninth, a twenty-seventh, which is not less than the force it has. Where there is no dual cell beside,
 * the mean is over those that are there.
 *
 * Rest is judged by the residuals as they are: grains come to rest sooner when all waves are gone. */
#include "nonsmooth/dual.h"

enum { WIDTH = NS_S + 1, MIDDLE = 4 }; /* coefficients of chi and the sum of the weights; the weight of the dual cell itself, in those of the two beside */

void DU(mean_residuals)(const dual *y, int axis, int64_t begin, int64_t end)
{
    const double *from = y->smooth[axis % 2];
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            double *to = y->smooth[1 - axis % 2] + WIDTH * i;
            for (int c = 0; c < WIDTH; c++)
                to[c] = MIDDLE * from[WIDTH * i + c];
            for (int step = -1; step <= 1; step += 2) {
                int way[3] = { 0 };
                way[axis] = step;
                int64_t j = du_beside(y, i, way);
                for (int c = 0; c < WIDTH && du_in_use(y, j); c++)
                    to[c] += from[WIDTH * j + c];
            }
        }
}

void DU(add_residuals)(const dual *y, int from, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            const double *r = y->smooth[from] + WIDTH * i;
            double square = 0, *sums = y->partial + DU_SUMS * b;
            for (int c = 0; c < NS_S; c++)
                square += r[c] * r[c];
            square /= r[NS_S] * r[NS_S];
            sums[DU_SQUARES] += square;
            sums[DU_LARGEST] = square > sums[DU_LARGEST] ? square : sums[DU_LARGEST];
        }
}
