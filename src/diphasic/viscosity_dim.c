/* Viscosity acts on the flux of the mixture and is shared between the phases by volume: (Θ⁻¹ + dt K) q = Θ⁻¹ q^, K of 2 η_e D:D, by conjugate
 * gradients. */
#include "diphasic/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
    const double *eta; /* of cells */
    const double *x;
    double *to;
    int colour;
} job;

/* ---- K of a cell ---- */

/* With local coordinates ξ in [-1, 1] a velocity is u_a = sum over sets P of axes of c_P^a prod_{i in P} ξ_i, c_P = sum_n ± u(n) / 2^d. The products are
 * orthogonal, ∫ prod_Q ξ² = V / 3^|Q|, so that ½ ∫ ∂_b u_a ∂_b u_a + ∂_b u_a ∂_a u_b is nearly diagonal:
 *
 *   ∂/∂c_P^a = V 4/h² 3^(1-|P|) [ (|P| + [a in P]) c_P^a + sum over b in P, if a is not, of c^b with a in place of b ]
 */
static const double a_third[4] = { 3, 1, 1.0 / 3, 1.0 / 9 };

DP_INLINE int members(int set)
{
    return (set & 1) + (set >> 1 & 1) + (set >> 2);
}

/* V 4/h² / 4^d */
static double viscous_scale(double h)
{
    return pow(h, RP_DIM - 2) * 4 / (DP_CORNERS * DP_CORNERS);
}

DP_INLINE void viscous_cell(double u[DP_CORNERS][RP_DIM], double scale, double f[DP_CORNERS][RP_DIM])
{
    double c[RP_DIM][DP_CORNERS], g[RP_DIM][DP_CORNERS];
    for (int a = 0; a < RP_DIM; a++) {
        for (int n = 0; n < DP_CORNERS; n++)
            c[a][n] = u[n][a];
        for (int bit = 1; bit < DP_CORNERS; bit <<= 1)
            for (int n = 0; n < DP_CORNERS; n++)
                if (!(n & bit)) {
                    double low = c[a][n], high = c[a][n | bit];
                    c[a][n] = low + high, c[a][n | bit] = high - low;
                }
    }
    for (int a = 0; a < RP_DIM; a++) {
        g[a][0] = 0;
        for (int set = 1; set < DP_CORNERS; set++) {
            double sum = (members(set) + (set >> a & 1)) * c[a][set];
            for (int b = 0; b < RP_DIM; b++)
                if (set >> b & 1 && !(set >> a & 1))
                    sum += c[b][(set & ~(1 << b)) | 1 << a];
            g[a][set] = scale * a_third[members(set)] * sum;
        }
        for (int bit = 1; bit < DP_CORNERS; bit <<= 1)
            for (int n = 0; n < DP_CORNERS; n++)
                if (!(n & bit)) {
                    double low = g[a][n], high = g[a][n | bit];
                    g[a][n] = low - high, g[a][n | bit] = low + high;
                }
        for (int n = 0; n < DP_CORNERS; n++)
            f[n][a] = g[a][n];
    }
}

void DP(viscous_cell)(double h, double u[DP_CORNERS][RP_DIM], double f[DP_CORNERS][RP_DIM])
{
    viscous_cell(u, viscous_scale(h), f);
}

/* ∫ δ_ab ∇N_i·∇N_j + ∂_b N_i ∂_a N_j by Gauss's rule with two points an axis, exact: what viscous_cell must give. */
void DP(viscous_cell_ref)(double h, double u[DP_CORNERS][RP_DIM], double f[DP_CORNERS][RP_DIM])
{
    double weight = pow(0.5 * h, RP_DIM), offset = 0.5 / sqrt(3);
    memset(f, 0, DP_CORNERS * sizeof *f);
    for (int q = 0; q < DP_CORNERS; q++) {
        double t[RP_DIM], g[DP_CORNERS][RP_DIM], rate[RP_DIM][RP_DIM] = { { 0 } };
        for (int a = 0; a < RP_DIM; a++)
            t[a] = 0.5 + (q >> a & 1 ? offset : -offset);
        dp_gradients(t, 1 / h, g);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    rate[a][b] += u[n][a] * g[n][b];
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    f[n][a] += weight * (rate[a][b] + rate[b][a]) * g[n][b];
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
        y->eta[c] = dp_wet_part(y, c) * fluid->viscosity * DP(thickening)(fluid, phi);
    }
}

/* to += dt K x of lines of cells along x; those of one colour share no node. */
static void viscous_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    int64_t across = (y->cells[1] + 1 - (w->colour & 1)) / 2;
    double scale = w->dt * viscous_scale(y->lattice.h);
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 0, 2 * (line % across) + (w->colour & 1), 2 * (line / across) + (w->colour >> 1) }, corner[DP_CORNERS];
        const double *eta = w->eta + dp_cell_index(y, at);
        for (; at[0] < y->cells[0]; at[0]++) {
            double u[DP_CORNERS][RP_DIM], f[DP_CORNERS][RP_DIM];
            dp_corners(y, at, corner);
            for (int n = 0; n < DP_CORNERS; n++)
                for (int a = 0; a < RP_DIM; a++)
                    u[n][a] = w->x[RP_DIM * corner[n] + a];
            viscous_cell(u, scale * eta[at[0]], f);
            for (int n = 0; n < DP_CORNERS; n++)
                for (int a = 0; a < RP_DIM; a++)
                    w->to[RP_DIM * corner[n] + a] += f[n][a];
        }
    }
}

/* to = dt K x */
static void apply_viscosity(job *w)
{
    const dp_system *y = w->y;
    memset(w->to, 0, (size_t)(RP_DIM * y->node_count) * sizeof(double));
    for (w->colour = 0; w->colour < DP_CORNERS / 2; w->colour++) {
        int64_t across = (y->cells[1] + 1 - (w->colour & 1)) / 2, deep = (y->cells[2] + 1 - (w->colour >> 1)) / 2;
        rp__exec_for(across * deep, 4, viscous_lines, w);
    }
}

/* to = the diagonal of dt K: of every component a unit velocity at one corner of each cell around. */
static void viscous_diagonal(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    double unit[DP_CORNERS][RP_DIM] = { { 0 } }, f[DP_CORNERS][RP_DIM];
    (void)worker;
    unit[0][0] = 1;
    viscous_cell(unit, w->dt * viscous_scale(y->lattice.h), f);
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3];
        double sum = 0;
        dp_place(y->nodes, j, at);
        for (int n = 0; n < DP_CORNERS; n++) {
            int64_t cell = dp_cell_at_corner(y, at, n);
            sum += cell < 0 ? 0 : w->eta[cell];
        }
        for (int a = 0; a < RP_DIM; a++)
            w->to[RP_DIM * j + a] = sum * f[0][0];
    }
}

/* ---- the solve ---- */

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
    dp_system *y;
    const double *theta;
    double *x, *r, *p, *ap;
    const double *diagonal;
    double alpha, beta;
} gradients;

/* r <- -r where the flux is free, else 0; sums r·z, z = r / (1/Θ + diagonal). */
static void first_residual(void *context, int64_t begin, int64_t end, double *sum)
{
    const gradients *g = context;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->theta[i];
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
        double theta = g->theta[i];
        g->ap[i] = theta > 0 ? g->ap[i] + g->p[i] / theta : 0;
        sum[0] += g->p[i] * g->ap[i];
    }
}

static void advance(void *context, int64_t begin, int64_t end, double *sum)
{
    const gradients *g = context;
    for (int64_t i = begin; i < end; i++) {
        double theta = g->theta[i];
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
        double theta = g->theta[i];
        g->p[i] = (theta > 0 ? g->r[i] / (1 / theta + g->diagonal[i]) : 0) + g->beta * g->p[i];
    }
}

/* u += a Θ⁻¹ dq, w += dq. */
static void take_change(void *context, int64_t begin, int64_t end, int worker)
{
    const gradients *g = context;
    dp_system *y = g->y;
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
    job w = { .y = y, .world = world, .dt = dt, .eta = y->eta, .x = y->scratch[0] };
    for (int b = 0; b < world->body_count; b++) {
        y->body_resistance[b] = 0;
        if (!world->bodies[b].present || world->bodies[b].def.kind != RP_BODY_FREE)
            continue;
        mark_body(y, b, y->scratch[0]);
        w.to = y->viscous;
        apply_viscosity(&w);
        for (int64_t i = 0; i < RP_DIM * y->node_count; i++)
            y->body_resistance[b] += y->scratch[0][i] * y->viscous[i] / RP_DIM;
    }
    w.to = y->scratch[0];
    rp__exec_for(y->node_count, 512, start_flux, &w);
    w.to = y->viscous;
    apply_viscosity(&w);
    for (int64_t i = 0; i < RP_DIM * y->node_count; i++)
        y->viscous[i] = -y->viscous[i];
}

/* (1/Θ + dt K) x = -dt K x of the start. */
static int64_t solve(job *w, gradients *g)
{
    dp_system *y = w->y;
    int64_t n = y->node_count * RP_DIM, limit = 20000, iterations = 0;
    w->x = g->x, w->to = g->r;
    apply_viscosity(w);
    w->to = y->carried;
    rp__exec_for(y->node_count, 512, viscous_diagonal, w);
    double rz, first;
    rp__exec_sum(n, 4096, 1, first_residual, g, &rz);
    first = rz;
    while (rz > y->params->viscosity_tolerance * y->params->viscosity_tolerance * first && rz > 0 && iterations < limit) {
        double curvature, next;
        w->x = g->p, w->to = g->ap;
        apply_viscosity(w);
        rp__exec_sum(n, 4096, 1, curve, g, &curvature);
        if (!(curvature > 0))
            break;
        g->alpha = rz / curvature;
        rp__exec_sum(n, 4096, 1, advance, g, &next);
        g->beta = next / rz;
        rp__exec_for(n, 4096, turn, g);
        rz = next;
        ++iterations;
    }
    return iterations;
}

rp_result DP(viscosity)(dp_system *y, const rp__world *world, double dt, int64_t *iterations)
{
    job w = { .y = y, .world = world, .dt = dt, .eta = y->eta, .to = y->scratch[0] };
    gradients g = { .y = y, .x = y->scratch[0], .r = y->scratch[1], .p = y->scratch[2], .ap = y->scratch[3], .diagonal = y->carried };
    *iterations = 0;
    if (!(world->def->fluid->viscosity > 0))
        return RP_OK;
    rp__exec_for(y->cell_count, 1024, cell_viscosity, &w);
    rp__exec_for(y->node_count, 512, start_flux, &w);
    g.theta = y->theta;
    *iterations += solve(&w, &g);
    rp__exec_for(y->node_count, 1024, take_change, &g);
    if (world->body_count)
        viscous_push(y, world, dt);
    return RP_OK;
}
