/* The pressure as it is kept and shown: without what alternates between cells, and with a zero. */
#include "diphasic/system.h"

#include "exec/exec.h"

/* Pressures that alternate from cell to cell push nothing: the step does not determine them, and what friction leaves undetermined of
 * λ comes to p through the shift. They are what C = L - D Θ Dᵀ sees, and nothing that is linear: p <- p - C p / (2 L_cc) takes the alternating
 * pattern away at once (C = L = 2 L_cc there) and leaves smooth pressures alone to fourth order. */
static void filter_cells(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double diagonal = rp__multigrid_diagonal(y->poisson, c);
        double sum = rp__multigrid_row(y->poisson, y->pressure, c) - y->source[c];
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                sum -= dp_divergence(y, n, a) * y->scratch[0][RP_DIM * corner[n] + a];
        y->change[c] = diagonal > 0 ? -0.5 * sum / diagonal : 0;
    }
}

static void filter_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double push[RP_DIM];
        DP(pressure_impulse)(y, y->pressure, true, j, push);
        for (int a = 0; a < RP_DIM; a++)
            y->scratch[0][RP_DIM * j + a] = y->theta[RP_DIM * j + a] * push[a];
    }
}

static void add_change(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t c = begin; c < end; c++)
        y->pressure[c] += y->change[c];
}

/* In a closed box the pressure has no zero: it is put where the fluid is highest. */
static void set_zero(dp_system *y, const double gravity[3])
{
    double sum = 0, count = 0;
    int64_t top = gravity[y->up] > 0 ? 0 : y->cells[y->up] - 1;
    for (int f = 0; f < 2 * RP_DIM; f++)
        if (y->open[f])
            return;
    if (y->surface) /* there it is */
        return;
    for (int64_t c = 0; c < y->cell_count; c++) {
        int64_t at[3];
        dp_place(y->cells, c, at);
        if (at[y->up] == top && rp__multigrid_diagonal(y->poisson, c) > 0)
            sum += y->pressure[c], count++;
    }
    for (int64_t c = 0; c < y->cell_count && count > 0; c++)
        y->pressure[c] -= sum / count;
}

/* Squares of what is taken off, and of what varies at all. */
static void sum_squares(void *context, int64_t begin, int64_t end, double *sum)
{
    const dp_system *y = context;
    for (int64_t c = begin; c < end; c++) {
        sum[0] += y->change[c] * y->change[c];
        sum[1] += y->pressure[c];
        sum[2] += y->pressure[c] * y->pressure[c];
    }
}

double DP(filter_pressure)(dp_system *y, const double gravity[3])
{
    double sum[3] = { 0 }, share = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (y->surface) {
            DP(filter_wet)(y);
        } else {
            rp__exec_for(y->node_count, 512, filter_nodes, y);
            rp__exec_for(y->cell_count, 512, filter_cells, y);
        }
        if (pass == 0) {
            rp__exec_sum(y->cell_count, 4096, 3, sum_squares, y, sum);
            double varies = sum[2] - sum[1] * sum[1] / (double)y->cell_count;
            share = varies > 0 ? sqrt(sum[0] / varies) : 0;
        }
        rp__exec_for(y->cell_count, 4096, add_change, y);
    }
    set_zero(y, gravity);
    return share;
}
