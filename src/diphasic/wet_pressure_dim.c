/* The pressure of a fluid that does not fill the domain.
 *
 * With Ω the fluid with the grains in it, p constant in each cell and zero on the surface, the pressure pushes on a node with
 * -∫_Ω N ∇p = sum_c p_c ∫_{Ω∩c} ∇N, and the constraint of a cell is ∫_{Ω∩c} ∇·q = 0: D_cj = ∫_{Ω∩c} ∇N_j. Masses of nodes are integrals
 * over Ω too. Still water with a level that is even stands still exactly, wherever in a cell the level lies: p_c is then the mean of ρ g
 * depth over what is wet of the cell, by the weight of N. As a cell empties D²Θ stays of one size, so that few drops make no trouble. */
#include "diphasic/cell_law.h"

#include "exec/exec.h"

#include <string.h>

/* ---- the Laplacian, for the multigrid cycle ---- */

/* For smooth pressures a node has the energy Θ S⁻S⁺ (p⁺ - p⁻)² along an axis, S the sums of |D| of the cells on its two sides; the pairs of cells
 * that face each other there have shares as the products of their |D|. Zero where a cell is dry; all wet, the ordinary one. */
static double face_share(const dp_system *y, const int64_t at[3], int axis, int low)
{
    double side[2] = { 0 }, pairs = 0, own = 0;
    for (int n = 0; n < DP_CORNERS; n++) {
        if (n >> axis & 1) {
            /* the node is the upper corner of the cell below */
            int64_t below = dp_cell_at_corner(y, at, n), above = dp_cell_at_corner(y, at, n & ~(1 << axis));
            double a = below < 0 ? 0 : fabs(dp_leaves(y, below)[n][axis]), b = above < 0 ? 0 : fabs(dp_leaves(y, above)[n & ~(1 << axis)][axis]);
            side[0] += a, side[1] += b;
            pairs += a * b;
            own = n == low ? a * b : own;
        }
    }
    int64_t node = dp_node_index(y, at);
    return own > 0 ? y->theta[RP_DIM * node + axis] * own * side[0] * side[1] / pairs : 0;
}

/* What the operator makes of a pressure that is the same everywhere: what ties a cell to the surface, or to an open face. */
static double tied(const dp_system *y, const int64_t corner[DP_CORNERS], const double (*leaves)[RP_DIM])
{
    double sum = 0;
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t at[3];
        double all[RP_DIM] = { 0 };
        dp_place(y->nodes, corner[n], at);
        for (int k = 0; k < DP_CORNERS; k++) {
            int64_t other = dp_cell_at_corner(y, at, k);
            for (int a = 0; a < RP_DIM && other >= 0; a++)
                all[a] += dp_leaves(y, other)[k][a];
        }
        for (int a = 0; a < RP_DIM; a++)
            sum += y->theta[RP_DIM * corner[n] + a] * leaves[n][a] * all[a];
    }
    return sum;
}

static void laplacian(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    double *ground = rp__multigrid_ground(y->poisson);
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        dp_place(y->cells, c, at);
        ground[c] = y->source[c] = 0;
        for (int a = 0; a < RP_DIM; a++)
            rp__multigrid_faces(y->poisson, a)[c] = 0;
        if (!(dp_wet_part(y, c) > 0))
            continue;
        dp_corners(y, at, corner);
        const double(*leaves)[RP_DIM] = dp_leaves(y, c);
        double whole = 0;
        for (int n = 0; n < DP_CORNERS; n++) {
            int64_t place[3];
            dp_place(y->nodes, corner[n], place);
            for (int a = 0; a < RP_DIM; a++) {
                whole += y->theta[RP_DIM * corner[n] + a] * leaves[n][a] * leaves[n][a];
                if (n >> a & 1)
                    rp__multigrid_faces(y->poisson, a)[c] += face_share(y, place, a, n);
            }
        }
        double out = tied(y, corner, leaves) + dp_leak(y, c);
        ground[c] = out > 1e-12 * whole ? out : 0;
    }
}

void DP(make_wet_laplacian)(dp_system *y)
{
    rp__exec_for(y->cell_count, 512, laplacian, y);
}

/* ---- the operator ---- */

typedef struct job {
    dp_system *y;
    const double *x;
    double *to;
    double alternating; /* factor of the alternating parts */
    bool plain;         /* the others too */
} job;

DP_INLINE double *part_of(const dp_system *y, int k)
{
    return y->scratch[k / RP_DIM] + (k % RP_DIM) * y->node_count;
}

/* Θ Dᵀ x of every part. */
static void push_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3];
        double push[DP_PARTS] = { 0 };
        dp_place(y->nodes, j, at);
        if (y->surface->wet[j] > 0) {
            if (w->plain)
                DP(pressure_impulse)(y, w->x, false, j, push);
            if (y->node[j].theta[RP_DIM] > 0)
                dp_alternating_impulse(y, w->x, at, push + RP_DIM);
        }
        for (int k = 0; k < DP_PARTS; k++)
            part_of(y, k)[j] = (k < RP_DIM ? 1 : w->alternating) * y->node[j].theta[k] * push[k];
    }
}

static void gather_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double sum = w->plain ? dp_leak(y, c) * w->x[c] : 0;
        if (dp_wet_part(y, c) > 0) {
            const double(*leaves)[RP_DIM] = dp_leaves(y, c);
            dp_place(y->cells, c, at);
            dp_corners(y, at, corner);
            for (int n = 0; n < DP_CORNERS; n++)
                for (int k = 0; k < DP_PARTS; k++)
                    sum += dp_leaving(y, leaves, n, k) * part_of(y, k)[corner[n]];
        }
        w->to[c] = sum;
    }
}

void DP(apply_wet)(void *context, const double *x, double *out)
{
    job w = { .y = context, .x = x, .to = out, .alternating = 1, .plain = true };
    rp__exec_for(w.y->node_count, 512, push_nodes, &w);
    rp__exec_for(w.y->cell_count, 512, gather_cells, &w);
    DP(add_free_bodies)(w.y, x, out);
}

static void take_off(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        double diagonal = rp__multigrid_diagonal(y->poisson, c);
        y->change[c] = diagonal > 0 ? -0.5 * y->change[c] / diagonal : 0;
    }
}

/* As filter_dim.c, where all is fluid; cells at the surface keep their pressure. */
void DP(filter_wet)(dp_system *y)
{
    job w = { .y = y, .x = y->pressure, .to = y->change, .alternating = y->epsilon > 0 ? 1 / y->epsilon : 0 };
    rp__exec_for(y->node_count, 512, push_nodes, &w);
    rp__exec_for(y->cell_count, 512, gather_cells, &w);
    rp__exec_for(y->cell_count, 4096, take_off, y);
}
