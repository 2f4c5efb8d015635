/* The pressure of the mixture: D Θ Dᵀ with its alternating parts, by conjugate gradients with a multigrid cycle of the ordinary Laplacian before. */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "exec/exec.h"

/* ---- the Laplacian ---- */

static void laplacian(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    double scale = RP_DIM == 3 ? y->lattice.h : 1, *ground = rp__multigrid_ground(y->poisson);
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        ground[c] = y->source[c] = 0;
        for (int a = 0; a < RP_DIM; a++) {
            double mean[2] = { 0 };
            for (int n = 0; n < DP_CORNERS; n++)
                mean[n >> a & 1] += y->theta[RP_DIM * corner[n] + a] * y->volume[corner[n]] * scale / (DP_CORNERS / 2);
            bool last = at[a] == y->cells[a] - 1 && !y->lattice.periodic[a];
            rp__multigrid_faces(y->poisson, a)[c] = last ? 0 : mean[1];
            for (int side = 0; side < 2; side++) {
                int f = 2 * a + side;
                if (!y->open[f] || at[a] != (side ? y->cells[a] - 1 : 0))
                    continue;
                ground[c] += 2 * mean[side]; /* half a cell to the face */
                y->source[c] += 2 * mean[side] * y->outside[f];
            }
        }
    }
}

void DP(make_laplacian)(dp_system *y, const rp__world *world)
{
    for (int f = 0; f < 2 * RP_DIM; f++) {
        const rp_fluid_wall *wall = &world->def->fluid->wall[f];
        y->open[f] = !y->lattice.periodic[f / 2] && y->wall_kind[f] == RP_FLUID_PRESSURE;
        y->outside[f] = y->open[f] ? wall->pressure : 0;
    }
    if (y->surface)
        DP(make_wet_laplacian)(y);
    else
        rp__exec_for(y->cell_count, 1024, laplacian, y);
    rp__multigrid_prepare(y->poisson);
    DP(find_rooms)(y, world);
}

/* P of a node: sum over the cells around of p_c D_cj. */
DP_INLINE void impulse_at(const dp_system *y, const double *pressure, bool boundary, const int64_t at[3], double out[RP_DIM])
{
    bool inner = true;
    for (int a = 0; a < RP_DIM; a++) {
        out[a] = 0;
        inner = inner && at[a] > 0 && at[a] < y->cells[a];
    }
    if (inner && !y->surface) { /* most of them, and this is where the time goes */
        const double *last = pressure + dp_cell_index(y, at);
        double face = dp_divergence(y, DP_CORNERS - 1, 0);
#pragma GCC unroll 8
        for (int n = 0; n < DP_CORNERS; n++) {
            double push = face * last[-((n & 1) + (n >> 1 & 1) * y->cells[0] + (n >> 2) * y->cells[0] * y->cells[1])];
            for (int a = 0; a < RP_DIM; a++)
                out[a] += n >> a & 1 ? push : -push;
        }
        return;
    }
    for (int n = 0; n < DP_CORNERS; n++) { /* the node is corner n of the cell */
        int64_t cell[3] = { 0 };
        bool there = true, beyond[RP_DIM];
        int outside = 0, face = 0;
        for (int a = 0; a < RP_DIM; a++) {
            cell[a] = at[a] - (n >> a & 1);
            if (y->lattice.periodic[a])
                cell[a] = cell[a] < 0 ? y->cells[a] - 1 : cell[a];
            beyond[a] = cell[a] < 0 || cell[a] >= y->cells[a];
            if (beyond[a])
                there = false, outside++, face = 2 * a + (cell[a] >= y->cells[a]);
        }
        double p = 0;
        const double(*leaves)[RP_DIM] = y->leaves;
        if (there) {
            int64_t c = dp_cell_index(y, cell);
            p = pressure[c];
            leaves = dp_leaves(y, c);
        }
        /* beyond an open face there is the pressure outside, which pushes on the face alone */
        if (there) {
            for (int a = 0; a < RP_DIM; a++)
                out[a] += p * leaves[n][a];
        } else if (boundary && outside == 1 && y->open[face]) {
            out[face / 2] += y->outside[face] * dp_divergence(y, n, face / 2);
        }
    }
}

void DP(pressure_impulse)(const dp_system *y, const double *pressure, bool boundary, int64_t node, double out[RP_DIM])
{
    int64_t at[3];
    dp_place(y->nodes, node, at);
    impulse_at(y, pressure, boundary, at, out);
}

/* ---- what pressures push ---- */

/* u += dt a Dᵀp, w += dt Θ Dᵀp of a pressure, which is the whole one (with what pushes from outside) or a change. */
typedef struct push_job {
    dp_system *y;
    const double *pressure;
    bool boundary, far;
    double dt;
} push_job;

DP_INLINE void push_node(const push_job *w, int64_t j, const int64_t at[3])
{
    dp_system *y = w->y;
    double push[DP_PARTS];
    dp_node *to = &y->node[j];
    impulse_at(y, w->pressure, w->boundary, at, push);
    if (!w->boundary) /* a change: the pressure that a step begins with leaves the alternating parts alone */
        dp_alternating_impulse(y, w->pressure, at, push + RP_DIM);
    for (int a = 0; a < (w->boundary ? RP_DIM : DP_PARTS); a++) {
        to->u[a] += w->dt * to->a[a] * push[a];
        to->w[a] += w->dt * to->theta[a] * push[a];
    }
}

static void push_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const push_job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 0, line % y->nodes[1], line / y->nodes[1] }, j = line * y->nodes[0];
        for (; at[0] < y->nodes[0]; at[0]++, j++)
            if (!w->far || !y->near_node[j])
                push_node(w, j, at);
    }
}

static void push_runs(void *context, int64_t begin, int64_t end, int worker)
{
    const push_job *w = context;
    (void)worker;
    for (const dp_run *run = w->y->near_nodes.run + begin; run < w->y->near_nodes.run + end; run++) {
        int64_t at[3] = { run->at[0], run->at[1], run->at[2] };
        for (int64_t j = run->first; j < run->first + run->count; j++, at[0]++)
            push_node(w, j, at);
    }
}

void DP(push_nodes)(dp_system *y, const double *pressure, bool whole, double dt)
{
    push_job push = { .y = y, .pressure = pressure, .boundary = whole, .dt = dt };
    rp__exec_for(y->nodes[1] * y->nodes[2], 4, push_lines, &push);
}

static void take_pushed(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t c = begin; c < end; c++)
        y->change[c] = y->pressure[c] - y->pushed[c];
}

void DP(push_far_nodes)(dp_system *y, double dt)
{
    push_job push = { .y = y, .pressure = y->change, .far = true, .dt = dt };
    rp__exec_for(y->cell_count, 4096, take_pushed, y);
    rp__exec_for(y->nodes[1] * y->nodes[2], 4, push_lines, &push);
}

/* ---- the solve ---- */

/* -D w / dt of a cell: what the operator must still be made to give. */
DP_INLINE double lacking(const dp_solve *w, const int64_t at[3])
{
    const dp_system *y = w->y;
    const double(*leaves)[RP_DIM] = dp_leaves(y, dp_cell_index(y, at));
    int64_t corner[DP_CORNERS];
    double sum = y->surface ? dp_leaked(y, dp_cell_index(y, at), w->dt) : 0;
    dp_corners(y, at, corner);
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < DP_PARTS; a++)
            sum += dp_leaving(y, leaves, n, a) * y->node[corner[n]].w[a];
    return -sum / w->dt;
}

static void rhs_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t line = begin; line < end; line++)
        for (int64_t at[3] = { 0, line % y->cells[1], line / y->cells[1] }; at[0] < y->cells[0]; at[0]++)
            y->rhs[line * y->cells[0] + at[0]] = lacking(w, at);
}

static void rhs_runs(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (const dp_run *run = y->near_cells.run + begin; run < y->near_cells.run + end; run++) {
        int64_t at[3] = { run->at[0], run->at[1], run->at[2] };
        for (int64_t c = run->first; c < run->first + run->count; c++, at[0]++)
            y->rhs[c] = lacking(w, at);
    }
}

static void largest_rhs(void *context, int64_t begin, int64_t end, double *most)
{
    const dp_system *y = ((dp_solve *)context)->y;
    for (int64_t c = begin; c < end; c++)
        most[0] = fabs(y->rhs[c]) > most[0] || y->rhs[c] != y->rhs[c] ? fabs(y->rhs[c]) : most[0];
}

static void add_change(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = ((dp_solve *)context)->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++)
        y->pressure[c] += y->change[c];
}

/* The operator on a change of the pressure: ε L + (1 - ε) D Θ Dᵀ. */
typedef struct mixed {
    dp_system *y;
    const double *x;
    double *to;
} mixed;

/* (1 - ε) Θ Dᵀ x at a node. */
DP_INLINE void mixed_node(const mixed *w, int64_t j)
{
    dp_system *y = w->y;
    double push[RP_DIM];
    DP(pressure_impulse)(y, w->x, false, j, push);
    for (int a = 0; a < RP_DIM; a++)
        y->scratch[a][j] = (1 - y->epsilon) * y->theta[RP_DIM * j + a] * push[a];
}

/* The same for the nodes of a line that have cells on all sides, first to last; `x` stands at the cell before the first on the lowest line of cells. */
DP_INLINE void mixed_inside(const dp_system *y, const double *x, const double *restrict theta, double *restrict const to[RP_DIM], int64_t count)
{
    double factor = (1 - y->epsilon) * y->face;
    int64_t up = y->cells[0], deep = RP_DIM == 3 ? y->cells[0] * y->cells[1] : 0;
    for (int64_t i = 0; i < count; i++) {
        double sum[RP_DIM] = { 0 };
        for (int n = 0; n < DP_CORNERS; n++) {
            double p = x[i + (n & 1) + (n >> 1 & 1) * up + (n >> 2) * deep];
            for (int a = 0; a < RP_DIM; a++)
                sum[a] += n >> a & 1 ? -p : p;
        }
        for (int a = 0; a < RP_DIM; a++)
            to[a][i] = factor * theta[RP_DIM * i + a] * sum[a];
    }
}

static void mixed_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const mixed *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 1, line % y->nodes[1], line / y->nodes[1] }, first = line * y->nodes[0], n = y->nodes[0], inside = y->cells[0] - 1;
        bool inner = at[1] > 0 && at[1] < y->cells[1];
        inner = inner && (RP_DIM == 2 || (at[2] > 0 && at[2] < y->cells[2]));
        for (int64_t i = 0; i < n; i += inner && i == 0 && inside > 0 ? inside + 1 : 1)
            mixed_node(w, first + i);
        if (!inner || inside < 1)
            continue;
        int64_t lowest[3] = { 0, at[1] - 1, RP_DIM == 3 ? at[2] - 1 : 0 };
        double *to[3] = { y->scratch[0] + first + 1, y->scratch[1] + first + 1, y->scratch[2] + first + 1 };
        mixed_inside(y, w->x + dp_cell_index(y, lowest), y->theta + RP_DIM * (first + 1), to, inside);
    }
}

/* to = ε to + D of the nodes, line by line. */
static void mixed_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const mixed *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 0, line % y->cells[1], line / y->cells[1] }, n = y->cells[0], corner[DP_CORNERS];
        double *restrict to = w->to + line * n;
        dp_corners(y, at, corner);
        int64_t straight = corner[1] == corner[0] + 1 ? y->nodes[0] - 1 : 0; /* cells whose corners are neighbours in memory */
        for (int64_t i = 0; i < straight; i++) {
            double sum = 0;
            for (int c = 0; c < DP_CORNERS; c++)
                for (int a = 0; a < RP_DIM; a++)
                    sum += c >> a & 1 ? y->scratch[a][corner[c] + i] : -y->scratch[a][corner[c] + i];
            to[i] = y->epsilon * to[i] + y->face * sum;
        }
        for (at[0] = straight; at[0] < n; at[0]++) {
            double sum = 0;
            dp_corners(y, at, corner);
            for (int c = 0; c < DP_CORNERS; c++)
                for (int a = 0; a < RP_DIM; a++)
                    sum += c >> a & 1 ? y->scratch[a][corner[c]] : -y->scratch[a][corner[c]];
            to[at[0]] = y->epsilon * to[at[0]] + y->face * sum;
        }
    }
}

static void apply_mixed(void *context, const double *x, double *out)
{
    mixed w = { context, x, out };
    rp__multigrid_apply(w.y->poisson, x, NULL, out);
    int64_t lines = w.y->nodes[1] * w.y->nodes[2], chunk = 1 + 2048 / w.y->nodes[0];
    rp__exec_for(lines, chunk, mixed_lines, &w);
    rp__exec_for(w.y->cells[1] * w.y->cells[2], chunk, mixed_cells, &w);
    DP(add_free_bodies)(w.y, x, out);
}

rp_result DP(solve_pressure)(dp_solve *w, double part, double least, dp_report *report)
{
    dp_system *y = w->y;
    double most = 0;
    if (w->rounds)
        rp__exec_for(y->near_cells.count, 8, rhs_runs, w);
    else
        rp__exec_for(y->cells[1] * y->cells[2], 4, rhs_lines, w);
    RP_TRY(DP(balance_rooms)(y, w->world, w->dt, y->rhs));
    rp__exec_max(y->cell_count, 4096, 1, largest_rhs, w, &most);
    if (!(most < INFINITY))
        return rp__base_fail(RP_DIVERGED, "the pressure of the fluid has no end at t = %g s", w->world->time);
    w->largest = most > w->largest ? most : w->largest;
    least = least > 1e-12 * w->largest ? least : 1e-12 * w->largest; /* rounding */
    double tolerance = part * most > least ? part * most : least;
    report->divergence = most * w->dt * w->dt / pow(y->lattice.h, RP_DIM);
    if (most > least) {
        memset(y->change, 0, (size_t)y->cell_count * sizeof(double));
        rp__multigrid_operator operator = { y->surface ? DP(apply_wet) : apply_mixed, y };
        rp__multigrid_report solved = rp__multigrid_solve(y->poisson, &operator, y->rhs, tolerance, 200, y->change);
        report->pressure_iterations += solved.iterations;
        report->divergence = solved.residual * w->dt * w->dt / pow(y->lattice.h, RP_DIM);
        memcpy(y->rhs, rp__multigrid_residual(y->poisson), (size_t)y->cell_count * sizeof(double));
        rp__exec_for(y->cell_count, 4096, add_change, w);
        push_job push = { .y = y, .pressure = y->change, .dt = w->dt };
        if (w->rounds)
            rp__exec_for(y->near_nodes.count, 8, push_runs, &push);
        else
            rp__exec_for(y->nodes[1] * y->nodes[2], 4, push_lines, &push);
        DP(push_free_bodies)(w, y->change);
    }
    if (!w->rounds)
        memcpy(y->pushed, y->pressure, (size_t)y->cell_count * sizeof(double));
    w->rounds = true;
    return RP_OK;
}
