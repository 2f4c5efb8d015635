/* The operator of a stress: W~, what γ~ of a cell makes of its λ; the shift that takes λ_N out of the pressure; the units of the residual. */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "exec/exec.h"

/* Column `k` of W~: what γ~ makes of λ = e_k. */
static void respond(const dp_system *y, const dp_stress *s, double dt, int k, double out[DP_S])
{
    double lambda[DP_S] = { 0 }, tensor[DP_S], sum[DP_S] = { 0 }, r, pressure, alternating = 0;
    lambda[k] = 1;
    pressure = -s->shift[k];
    dp_chi(lambda, tensor);
    r = s->stiffness * pressure;
    for (int n = 0; n < DP_CORNERS; n++) {
        const dp_node *j = &y->node[s->node[n]];
        double f[DP_PARTS], u[DP_PARTS];
        dp_corner_force(y, s, n, tensor, lambda[0], DP_PARTS, f);
        for (int a = 0; a < DP_PARTS; a++) {
            double d = dp_leaving(y, s->leaves, n, a);
            u[a] = dt * (j->m[a] * f[a] + j->a[a] * pressure * d);
            r += dt * j->a[a] * f[a] * d;
            alternating += a < RP_DIM ? 0 : s->inner[n] * d * u[a];
        }
        dp_add_strain(u, s->g[n], sum);
    }
    dp_coefficients(sum, out);
    out[0] += 0.5 * DP_CONTACT * alternating;
    for (int i = 0; i < DP_S; i++)
        out[i] -= 0.5 * s->shift[i] * r;
}

/* shift_k: the outflow that λ = e_k would cause, over that of a pressure. */
static void make_shift(const dp_system *y, dp_stress *s, double dt)
{
    double diagonal = dp_leak(y, s->cell);
    memset(s->shift, 0, sizeof s->shift);
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < DP_PARTS; a++)
            diagonal += y->node[s->node[n]].theta[a] * dp_leaving(y, s->leaves, n, a) * dp_leaving(y, s->leaves, n, a);
    s->stiffness = y->params->coupling == RP__COUPLING_EFFECTIVE ? dt * diagonal : 0;
    for (int k = 0; k < DP_S && s->stiffness > 0; k++) {
        double lambda[DP_S] = { 0 }, tensor[DP_S], f[DP_PARTS];
        lambda[k] = 1;
        dp_chi(lambda, tensor);
        for (int n = 0; n < DP_CORNERS; n++) {
            dp_corner_force(y, s, n, tensor, lambda[0], DP_PARTS, f);
            for (int a = 0; a < DP_PARTS; a++)
                s->shift[k] += y->node[s->node[n]].a[a] * f[a] * dp_leaving(y, s->leaves, n, a) / diagonal;
        }
    }
}

/* Units of the residual: what one unit of λ_N does to γ_N when the fluid keeps the flux of the mixture (the slip between the phases alone: the
 * plain W_NN is blind to errors by the strength of drag), and what one of λ_T does to γ_T. */
static void measure_scales(const dp_system *y, dp_stress *s, double dt)
{
    double sum = 0;
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < RP_DIM; a++) {
            int64_t j = s->node[n];
            double theta = y->theta[RP_DIM * j + a], m = y->node[j].m[a], mixed = y->node[j].a[a];
            sum += (theta > 0 ? m - mixed * mixed / theta : m) * s->g[n][a] * s->g[n][a];
        }
    s->scale = dt * DP_CONTACT * sum / DP_TRACE;
    s->scale_t = 0;
    for (int i = 1; i < DP_S; i++)
        s->scale_t += s->w[i][i] / (DP_S - 1);
}

static void factorise(dp_stress *s)
{
    double packed[DP_S * DP_S];
    for (int i = 0; i < DP_S; i++)
        for (int j = 0; j < DP_S; j++)
            packed[i * DP_S + j] = 0.5 * (s->w[i][j] + s->w[j][i]);
    s->usable = s->scale > 0 && s->scale_t > 0 && DP_CONE_NAME(rp__friction_factorise)(&s->factor, packed);
    if (!s->usable) { /* every corner is held: nothing to be done */
        memset(&s->factor, 0, sizeof s->factor);
        s->k = INFINITY;
    }
}

/* √(|γ_T|/λ_N) as things stand. */
static double how_fast(const dp_system *y, const dp_stress *s)
{
    double gamma[DP_S], square = 0;
    dp_strain(y, s, gamma);
    for (int i = 1; i < DP_S; i++)
        square += gamma[i] * gamma[i];
    return s->lambda[0] > 0 ? sqrt(sqrt(square) / s->lambda[0]) : 0;
}

static void make_operator(const dp_solve *w, dp_stress *s)
{
    dp_system *y = w->y;
    double column[DP_S];
    make_shift(y, s, w->dt);
    for (int k = 0; k < DP_S; k++) {
        respond(y, s, w->dt, k, column);
        for (int i = 0; i < DP_S; i++)
            s->w[i][k] = column[i];
    }
    measure_scales(y, s, w->dt);
    for (int a = 0; a < RP_DIM;
         a++) { /* twice the answer: half of what the law asks for, since cells that share a node bend each other (3D: 82 rounds, 4 so) */
        s->bend_unit[a] = 0;
        for (int n = 0; n < DP_CORNERS; n++)
            s->bend_unit[a] += 2 * w->dt * s->bend_arm * s->bend_arm * y->node[s->node[n]].m[a];
    }
    double least = -DP_GIVEN_BACK * y->stress_unit * s->scale;
    s->k = s->k < least ? least : s->k;
    factorise(s);
    s->root = s->rated ? how_fast(y, s) : 0;
}

static void make_operators(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++)
        make_operator(w, &w->y->stress[k]);
}

void DP(make_operators)(dp_solve *w)
{
    rp__exec_for(w->y->stress_count, 64, make_operators, w);
}
