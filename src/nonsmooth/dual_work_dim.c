/* What the stresses take from the grains, and whether they ever give. */
#include "nonsmooth/dual.h"

#include "exec/exec.h"

typedef struct job {
    const dual *y;
    const rp__world *world;
    double dt;
} job;

/* sum_j u_j (x) g_ij of the velocities after the solve, and of those before it: from the particles, with gravity. */
static void strains(const job *w, int64_t block, int local, double *after, double *before)
{
    const dual *y = w->y;
    double factor, h[RP_DIM * RP_DIM] = { 0 }, b[RP_DIM * RP_DIM] = { 0 };
    const double *g = du_operator(y, block * RP_BLOCK_NODES + local, &factor);
    for (int n = 0; n < NS_STENCIL; n++) {
        int64_t j = du_tile_node(y, block, du_tile_base(local) + y->offset[n]);
        if (j < 0 || !(y->nodes.mass[j] > 0))
            continue;
        for (int r = 0; r < RP_DIM; r++) {
            double start = y->nodes.momentum[r][j] / y->nodes.mass[j] + w->dt * w->world->def->gravity[r];
            for (int c = 0; c < RP_DIM; c++) {
                h[r * RP_DIM + c] += factor * y->nodes.after[r][j] * g[n * RP_DIM + c];
                b[r * RP_DIM + c] += factor * start * g[n * RP_DIM + c];
            }
        }
    }
    ns_chi_coefficients(h, after);
    ns_chi_coefficients(b, before);
}

static void work_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const job *w = context;
    const dual *y = w->y;
    for (int64_t block = begin; block < end; block++)
        for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits);
            int64_t i = block * RP_BLOCK_NODES + l;
            double after[NS_S], before[NS_S], chi[NS_S];
            du_chi_of(y, i, y->viscous, chi);
            strains(w, block, l, after, before);
            for (int k = 0; k < NS_S; k++) {
                sum[0] -= k > 0 ? 2 * chi[k] * after[k] : 0;
                sum[1] += chi[k] * (after[k] + before[k]);
            }
        }
}

/* Energy that the ties give: (1, -2, 1) r on three nodes, times the mean of the velocities before and after. */
static double work_of_ties(const job *w)
{
    const dual *y = w->y;
    double sum = 0;
    for (int64_t block = 0; block < y->grid.blocks; block++)
        for (int64_t k = y->contacts.first[block]; k < y->contacts.first[block + 1]; k++) {
            const du_contact *c = &y->contacts.list[k];
            for (int n = 0; n < c->count && c->surface >= DU_TIE; n++) {
                int64_t j = du_tile_node(y, block, c->at[n]);
                for (int a = 0; a < RP_DIM; a++) {
                    double before = y->nodes.momentum[a][j] / y->nodes.mass[j] + w->dt * w->world->def->gravity[a];
                    sum += 0.5 * c->share[n] * c->impulse[a] * (before + y->nodes.after[a][j]);
                }
            }
        }
    return sum;
}

/* Friction takes -sum_i lambda_T : gamma_T, a:b = 2 <a,b>. The stresses give the grains the impulse I_j = dt sum_i chi(lambda_i - c_i) g_ij, and with it the
 * energy sum_j I_j . (u_j + u*_j) / 2: gaps, dilatancy and friction together; and so do the ties. Impulses of walls and bodies are no part of it. */
void DU(work)(const dual *y, const rp__world *world, double dt, double *dissipated, double *made)
{
    job w = { .y = y, .world = world, .dt = dt };
    double sum[2];
    rp__exec_sum(y->grid.blocks, 8, 2, work_chunk, &w, sum);
    *dissipated = sum[0];
    *made = dt * sum[1] + work_of_ties(&w);
}
