/* What the stresses take from the grains, and whether they ever give. */
#include "nonsmooth/wide.h"

#include "exec/exec.h"

#include <string.h>

void NS(keep_unstressed)(ns_system *y)
{
    memcpy(y->unstressed, y->u, (size_t)y->grid.blocks * RP_BLOCK_NODES * NS_PAD * sizeof *y->u);
}

/* Strains of the velocities after the solve and before it; the operator is scaled by s_j. Nodes that a wall holds do not move. */
static void strains(const ns_system *y, int64_t block, int l, double *after, double *before)
{
    int64_t i = block * RP_BLOCK_NODES + l;
    double h[RP_DIM * RP_DIM] = { 0 }, b[RP_DIM * RP_DIM] = { 0 };
    for (int n = 0; n < y->stencil; n++) {
        int64_t j = ns_tile_node(y, block, ns_tile_of_local(l) + y->offset[n]);
        if (j < 0 || !(y->scale[j] > 0))
            continue;
        const double *g = y->g + (i * y->stencil + n) * RP_DIM, *u = ns_velocity(y, j), *u0 = y->unstressed + NS_PAD * j;
        for (int r = 0; r < RP_DIM; r++)
            for (int c = 0; c < RP_DIM; c++) {
                h[r * RP_DIM + c] += u[r] / y->scale[j] * g[c];
                b[r * RP_DIM + c] += y->stick[j] ? 0 : u0[r] / y->scale[j] * g[c];
            }
    }
    ns_strain_of(y, i, h, after);
    ns_strain_of(y, i, b, before);
}

static void work_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const ns_system *y = context;
    for (int64_t block = begin; block < end; block++)
        for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits);
            const ns_stress *s = &y->stress[block * RP_BLOCK_NODES + l];
            if (!(s->lambda[0] > 0) && !(s->cohesion > 0))
                continue;
            double after[NS_S], before[NS_S];
            strains(y, block, l, after, before);
            for (int k = 1; k < NS_S; k++) {
                sum[0] -= 2 * s->lambda[k] * after[k];
                sum[1] += s->lambda[k] * (after[k] + before[k]);
            }
            sum[1] += (s->lambda[0] - s->cohesion) * (after[0] + before[0]);
        }
}

/* Friction takes -sum_i lambda_T : gamma_T, a:b = 2 <a,b>. The stresses give the grains the impulse I_j = dt sum_i chi(lambda_i - c_i)
 * g_ij, and with it the energy
 * sum_j I_j . (u_j + u*_j) / 2 = dt sum_i <lambda_i - c_i, gamma_i(u) + gamma_i(u*)>: what gaps, dilatancy and friction do together.
 * Impulses of walls and bodies are no part of it. */
void NS(work)(const ns_system *y, double dt, double *dissipated, double *made)
{
    double sum[2];
    rp__exec_sum(y->grid.blocks, 8, 2, work_chunk, (void *)y, sum);
    *dissipated = sum[0];
    *made = dt * sum[1];
}
