/* The fluid by itself: carried along by its own velocity, and viscous.
 *
 * Carrying: u(x, t + dt) = u(X, t), X the place where the path of the fluid through x began, found in two stages; corrected once by the
 * error that going there and back makes [selle2008], unless that leaves the range of the values around X. It never makes new
 * extremes and knows no limit of the step.
 *
 * Viscosity acts on the flux of the mixture and is shared between the phases by volume: (Θ⁻¹ + dt K) q = Θ⁻¹ q^, K of 2 η_e D:D. */
#include "diphasic/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
    const double *from, *x;
    double *to;
    double s, t;
} job;

/* The velocity field at a place, and the least and largest values around it (may be NULL). */
static void sample(const dp_system *y, const double *field, const double *place, double out[RP_DIM], double *least, double *most)
{
    int64_t at[3] = { 0 }, corner[DP_CORNERS];
    double t[RP_DIM], weight[DP_CORNERS];
    for (int a = 0; a < RP_DIM; a++) {
        double x = (place[a] - y->lattice.origin[a]) / y->lattice.h, n = (double)y->cells[a];
        if (y->lattice.periodic[a])
            x -= n * floor(x / n);
        x = x < 0 ? 0 : x > n ? n : x;
        double base = floor(x);
        base = base > n - 1 ? n - 1 : base;
        at[a] = (int64_t)base;
        t[a] = x - base;
    }
    dp_corners(y, at, corner);
    dp_weights(t, weight);
    for (int a = 0; a < RP_DIM; a++) {
        out[a] = 0;
        for (int n = 0; n < DP_CORNERS; n++) {
            double v = field[RP_DIM * corner[n] + a];
            out[a] += weight[n] * v;
            if (least) {
                least[a] = n == 0 || v < least[a] ? v : least[a];
                most[a] = n == 0 || v > most[a] ? v : most[a];
            }
        }
    }
}

/* Where the path through node j was a time s ago (or will be, s < 0), by the midpoint. */
static void trace(const dp_system *y, int64_t j, double s, double place[RP_DIM])
{
    int64_t at[3];
    double x[RP_DIM], middle[RP_DIM], v[RP_DIM];
    dp_place(y->nodes, j, at);
    for (int a = 0; a < RP_DIM; a++) {
        x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
        middle[a] = x[a] - 0.5 * s * y->fluid[RP_DIM * j + a];
    }
    sample(y, y->fluid, middle, v, NULL, NULL);
    for (int a = 0; a < RP_DIM; a++)
        place[a] = x[a] - s * v[a];
}

static void carry_back(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double place[RP_DIM];
        trace(w->y, j, w->dt, place);
        sample(w->y, w->y->fluid, place, w->to + RP_DIM * j, NULL, NULL);
    }
}

static void carry_correct(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double place[RP_DIM], back[RP_DIM], least[RP_DIM], most[RP_DIM], unused[RP_DIM];
        trace(y, j, -w->dt, place);
        sample(y, w->from, place, back, NULL, NULL);
        trace(y, j, w->dt, place);
        sample(y, y->fluid, place, unused, least, most);
        for (int a = 0; a < RP_DIM; a++) {
            double once = w->from[RP_DIM * j + a], v = once + 0.5 * (y->fluid[RP_DIM * j + a] - back[a]);
            w->to[RP_DIM * j + a] = v < least[a] || v > most[a] ? once : v;
        }
    }
}

void DP(carry)(dp_system *y, const rp__world *world, double dt)
{
    size_t bytes = (size_t)y->node_count * RP_DIM * sizeof(double);
    if (!y->params->advection) {
        memcpy(y->carried, y->fluid, bytes);
        return;
    }
    job w = { .y = y, .world = world, .dt = dt, .to = y->scratch[0] };
    rp__exec_for(y->node_count, 512, carry_back, &w);
    w.from = y->scratch[0], w.to = y->carried;
    rp__exec_for(y->node_count, 512, carry_correct, &w);
}

/* ---- viscosity ---- */

/* K of a cell for viscosity one: ∫ δ_ab ∇N_i·∇N_j + ∂_b N_i ∂_a N_j, by Gauss's rule with two points an axis, exact. */
void DP(make_stiffness)(dp_system *y)
{
    double h = y->lattice.h, weight = pow(0.5 * h, RP_DIM), offset = 0.5 / sqrt(3);
    memset(y->stiffness, 0, DP_CORNERS * sizeof *y->stiffness);
    for (int q = 0; q < DP_CORNERS; q++) {
        double t[RP_DIM], g[DP_CORNERS][RP_DIM];
        for (int a = 0; a < RP_DIM; a++)
            t[a] = 0.5 + (q >> a & 1 ? offset : -offset);
        dp_gradients(t, 1 / h, g);
        for (int i = 0; i < DP_CORNERS; i++)
            for (int j = 0; j < DP_CORNERS; j++)
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++) {
                        y->stiffness[i][j][a][b] += weight * g[i][b] * g[j][a];
                        for (int c = 0; c < RP_DIM && a == b; c++)
                            y->stiffness[i][j][a][b] += weight * g[i][c] * g[j][c];
                    }
    }
}

static void cell_viscosity(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    const rp_fluid_def *fluid = w->world->def->fluid;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double phi = 0;
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            phi += y->phi[corner[n]] / DP_CORNERS;
        y->eta[c] = fluid->viscosity * DP(thickening)(fluid, phi);
    }
}

/* to = dt K x at the nodes; with NULL x the diagonal of dt K. */
static void apply_viscosity(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3];
        double sum[RP_DIM] = { 0 };
        dp_place(y->nodes, j, at);
        for (int n = 0; n < DP_CORNERS; n++) {
            int64_t cell[3] = { 0 }, corner[DP_CORNERS];
            bool there = true;
            for (int a = 0; a < RP_DIM; a++) {
                cell[a] = at[a] - (n >> a & 1);
                if (y->lattice.periodic[a])
                    cell[a] = cell[a] < 0 ? y->cells[a] - 1 : cell[a];
                there = there && cell[a] >= 0 && cell[a] < y->cells[a];
            }
            if (!there)
                continue;
            double eta = w->dt * y->eta[dp_cell_index(y, cell)], part[RP_DIM] = { 0 };
            if (!w->x) {
                for (int a = 0; a < RP_DIM; a++)
                    sum[a] += eta * y->stiffness[n][n][a][a];
                continue;
            }
            dp_corners(y, cell, corner);
            for (int m = 0; m < DP_CORNERS; m++) {
                const double *x = w->x + RP_DIM * corner[m];
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++)
                        part[a] += y->stiffness[n][m][a][b] * x[b];
            }
            for (int a = 0; a < RP_DIM; a++)
                sum[a] += eta * part[a];
        }
        for (int a = 0; a < RP_DIM; a++)
            w->to[RP_DIM * j + a] = sum[a];
    }
}

/* q^ as it stands; then r = -dt K q^ where the flux is free: the equation for the change of q. */
static void start_flux(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++)
        for (int a = 0; a < RP_DIM; a++)
            w->to[RP_DIM * j + a] = y->node[j].w[a];
}

/* One pass over the free components, width numbers each: r·z, p·Ap … */
typedef struct gradients {
    const dp_system *y;
    double *x, *r, *p, *ap;
    const double *diagonal;
    double alpha, beta;
} gradients;

/* r <- -r where the flux is free, else 0; sums r·z, z = r / (1/Θ + diagonal). */
static void first_residual(void *context, int64_t begin, int64_t end, double *sum)
{
    const gradients *g = context;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->y->theta[i];
        g->r[i] = theta > 0 ? -g->r[i] : 0;
        g->x[i] = 0;
        double z = theta > 0 ? g->r[i] / (1 / theta + g->diagonal[i]) : 0;
        g->p[i] = z;
        sum[0] += g->r[i] * z;
    }
}

/* ap <- ap + p/Θ where free, else 0; sums p·ap. */
static void curve(void *context, int64_t begin, int64_t end, double *sum)
{
    const gradients *g = context;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->y->theta[i];
        g->ap[i] = theta > 0 ? g->ap[i] + g->p[i] / theta : 0;
        sum[0] += g->p[i] * g->ap[i];
    }
}

static void advance(void *context, int64_t begin, int64_t end, double *sum)
{
    const gradients *g = context;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->y->theta[i];
        g->x[i] += g->alpha * g->p[i];
        g->r[i] -= g->alpha * g->ap[i];
        sum[0] += theta > 0 ? g->r[i] * g->r[i] / (1 / theta + g->diagonal[i]) : 0;
    }
}

static void turn(void *context, int64_t begin, int64_t end, int worker)
{
    const gradients *g = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->y->theta[i];
        g->p[i] = (theta > 0 ? g->r[i] / (1 / theta + g->diagonal[i]) : 0) + g->beta * g->p[i];
    }
}

/* u += a Θ⁻¹ dq, w += dq. */
static void take_change(void *context, int64_t begin, int64_t end, int worker)
{
    const gradients *g = context;
    dp_system *y = (dp_system *)(uintptr_t)g->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++)
        for (int a = 0; a < RP_DIM; a++) {
            double theta = y->theta[RP_DIM * j + a], change = g->x[RP_DIM * j + a];
            if (!(theta > 0))
                continue;
            y->node[j].u[a] += y->node[j].a[a] * change / theta;
            y->node[j].w[a] += change;
        }
}

/* x = 1 at the nodes of a body, else 0. */
static void mark_body(const dp_system *y, int body, double *x)
{
    for (int64_t j = 0; j < y->node_count; j++)
        for (int a = 0; a < RP_DIM; a++)
            x[RP_DIM * j + a] = y->inside[j] == body;
}

/* What viscosity does to bodies: -dt K q at their nodes, where the flux is held, and how the fluid resists free ones. */
static void viscous_push(dp_system *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt, .x = y->scratch[0] };
    for (int b = 0; b < world->body_count; b++) {
        y->body_resistance[b] = 0;
        if (!world->bodies[b].present || world->bodies[b].def.kind != RP_BODY_FREE)
            continue;
        mark_body(y, b, y->scratch[0]);
        w.to = y->viscous;
        rp__exec_for(y->node_count, 512, apply_viscosity, &w);
        for (int64_t i = 0; i < RP_DIM * y->node_count; i++)
            y->body_resistance[b] += y->scratch[0][i] * y->viscous[i] / RP_DIM;
    }
    w.to = y->scratch[0];
    rp__exec_for(y->node_count, 512, start_flux, &w);
    w.to = y->viscous;
    rp__exec_for(y->node_count, 512, apply_viscosity, &w);
    for (int64_t i = 0; i < RP_DIM * y->node_count; i++)
        y->viscous[i] = -y->viscous[i];
}

rp_result DP(viscosity)(dp_system *y, const rp__world *world, double dt, int64_t *iterations)
{
    *iterations = 0;
    if (!(world->def->fluid->viscosity > 0))
        return RP_OK;
    int64_t n = y->node_count * RP_DIM, limit = 20000;
    job w = { .y = y, .world = world, .dt = dt, .to = y->scratch[0] };
    gradients g = { .y = y, .x = y->scratch[0], .r = y->scratch[1], .p = y->scratch[2], .ap = y->scratch[3], .diagonal = y->carried };
    rp__exec_for(y->cell_count, 1024, cell_viscosity, &w);
    rp__exec_for(y->node_count, 512, start_flux, &w);
    w.x = y->scratch[0], w.to = g.r;
    rp__exec_for(y->node_count, 512, apply_viscosity, &w); /* the scale of the equation: all of its right side, q^/Θ */
    w.x = NULL, w.to = y->carried;
    rp__exec_for(y->node_count, 512, apply_viscosity, &w);
    double rz, first;
    rp__exec_sum(n, 4096, 1, first_residual, &g, &rz);
    first = rz;
    while (rz > y->params->viscosity_tolerance * y->params->viscosity_tolerance * first && rz > 0 && *iterations < limit) {
        double curvature, next;
        w.x = g.p, w.to = g.ap;
        rp__exec_for(y->node_count, 512, apply_viscosity, &w);
        rp__exec_sum(n, 4096, 1, curve, &g, &curvature);
        if (!(curvature > 0))
            break;
        g.alpha = rz / curvature;
        rp__exec_sum(n, 4096, 1, advance, &g, &next);
        g.beta = next / rz;
        rp__exec_for(n, 4096, turn, &g);
        rz = next;
        ++*iterations;
    }
    rp__exec_for(y->node_count, 1024, take_change, &g);
    if (world->body_count)
        viscous_push(y, world, dt);
    return RP_OK;
}
