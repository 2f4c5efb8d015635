/* Friction and pressure together.
 *
 * A round is a sweep of the contact stresses there and back, then the pressure of the mixture; between rounds everything is extrapolated,
 * with restarts [daviet2016 §5.4 for friction alone]. Stresses and pressures in turn would creep where drag is strong, since both push the
 * same way: so λ_N of a cell takes the pressure back that it would cause in its own cell,
 *
 *   p = p~ - s c0 λ_N,   s = sum_j a_j g_cj·D_cj / (D Θ Dᵀ + ε C)_cc,   γ~_N = γ_N - ½ c0 s r_c
 *
 * which leaves r_c as it is: λ_N acts on the slip between the phases, p~ on the mixture. At the solution r = 0, so γ~ = γ: it is the same
 * problem. W~, the answer of γ~ to λ, is a congruence of the plain one, symmetric and positive.
 *
 * Dilatancy tilts the coordinates of a stress: γ'_N = γ_N - κ e·γ_T, λ_T = λ'_T - κ e λ'_N, κ = c0 tan ψ, e the direction of shear, held for the
 * step: a plain Coulomb law again, whose normal part vanishes when the volume changes by tan ψ times the shear. */
#include "diphasic/closure.h"
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
    bool backward;
    double beta;
    double relax;   /* part of what the law asks for that a visit does */
    bool aitken;    /* bodies have moved once in this step */
    double moved;   /* change of the velocity of a free body in the last sweep */
    double largest; /* right side of the pressure in this step */
} job;

/* ---- one stress ---- */

/* γ = χ⁻¹ sum_j sym(u_j ⊗ g_cj), with the gap. */
DP_INLINE void strain(const dp_system *y, const dp_stress *s, double gamma[DP_S])
{
    double sum[DP_S] = { 0 }, alternating = 0;
    for (int n = 0; n < DP_CORNERS; n++) {
        const dp_node *j = &y->node[s->node[n]];
        dp_add_strain(j->u, s->g[n], sum);
        for (int k = RP_DIM; k < DP_PARTS; k++)
            alternating += s->inner[n] * dp_divergence(y, n, k) * j->u[k];
    }
    dp_coefficients(sum, gamma);
    gamma[0] += s->k + 0.5 * DP_CONTACT * alternating;
}

/* D_c · w */
DP_INLINE double outflow(const dp_system *y, const int32_t *node)
{
    double sum = 0;
    for (int n = 0; n < DP_CORNERS; n++)
        for (int k = 0; k < DP_PARTS; k++)
            sum += dp_divergence(y, n, k) * y->node[node[n]].w[k];
    return sum;
}

DP_INLINE void tilt_strain(const dp_stress *s, double gamma[DP_S])
{
    for (int k = 1; k < DP_S; k++)
        gamma[0] -= s->tilt[k] * gamma[k];
}

DP_INLINE void tilt_stress(const dp_stress *s, double lambda[DP_S])
{
    for (int k = 1; k < DP_S; k++)
        lambda[k] -= s->tilt[k] * lambda[0];
}

/* What a stress (tilted) takes off the pressure of its cell. */
DP_INLINE double shifted(const dp_stress *s, const double *tilted)
{
    double sum = s->shift[0] * tilted[0];
    for (int k = 1; k < DP_S; k++)
        sum += s->shift[k] * (tilted[k] - s->tilt[k] * tilted[0]);
    return sum;
}

/* Push of a stress on a corner, over dt: χ(λ) g, and of the contact pressure on the alternating parts. */
DP_INLINE void corner_force(const dp_system *y, const dp_stress *s, int n, const double tensor[DP_S], double normal, int parts, double f[DP_PARTS])
{
    dp_multiply(tensor, s->g[n], f);
    for (int k = RP_DIM; k < parts; k++)
        f[k] = DP_CONTACT * normal * s->inner[n] * dp_divergence(y, n, k);
}

/* The nodes of a cell get the impulse of a stress (tilted) and of a pressure. */
DP_INLINE void scatter(dp_system *y, const dp_stress *s, double dt, double pressure, const double *tilted, int parts)
{
    double lambda[DP_S], tensor[DP_S];
    memcpy(lambda, tilted, sizeof lambda);
    tilt_stress(s, lambda);
    dp_chi(lambda, tensor);
    for (int n = 0; n < DP_CORNERS; n++) {
        dp_node *to = &y->node[s->node[n]];
        double f[DP_PARTS];
        corner_force(y, s, n, tensor, lambda[0], parts, f);
        for (int a = 0; a < parts; a++) {
            double push = pressure * dp_divergence(y, n, a);
            to->u[a] += dt * (to->m[a] * f[a] + to->a[a] * push);
            to->w[a] += dt * (to->a[a] * f[a] + to->theta[a] * push);
        }
    }
}

/* γ~, tilted; returns the outflow. */
DP_INLINE double shifted_strain(const dp_system *y, const dp_stress *s, double gamma[DP_S])
{
    double r = 0;
    strain(y, s, gamma);
    if (s->stiffness > 0) {
        r = outflow(y, s->node);
        for (int i = 0; i < DP_S; i++)
            gamma[i] -= 0.5 * s->shift[i] * r;
    }
    tilt_strain(s, gamma);
    return r;
}

static void visit(const job *w, dp_stress *s)
{
    dp_system *y = w->y;
    double gamma[DP_S], b[DP_S], next[DP_S], change[DP_S], pressure = 0;
    double r = shifted_strain(y, s, gamma);
    bool any = r != 0;
    pressure = s->stiffness > 0 ? -r / s->stiffness : 0;
    for (int i = 0; i < DP_S; i++) {
        b[i] = gamma[i];
        for (int j = 0; j < DP_S; j++)
            b[i] -= s->w[i][j] * s->lambda[j];
    }
    DP_CONE_NAME(rp__friction_solve)(&s->factor, b, s->mu, next);
    for (int i = 0; i < DP_S; i++) {
        change[i] = w->relax * (next[i] - s->lambda[i]);
        any = any || change[i] != 0;
        s->lambda[i] += change[i];
    }
    if (!any)
        return;
    pressure -= shifted(s, change);
    y->pressure[s->cell] += pressure;
    scatter(y, s, w->dt, pressure, change, DP_PARTS);
}

/* Strain that varies over a cell: the velocities of its corners that alternate, which no stress that is constant in cells sees. */
DP_INLINE void bent_strain(const dp_system *y, const dp_stress *s, double gamma[DP_BENT])
{
    for (int i = 0; i < DP_BENT; i++)
        gamma[i] = 0;
    for (int n = 0; n < DP_CORNERS; n++)
        for (int k = 0; k < DP_ALTERNATING; k++)
            for (int a = 0; a < RP_DIM; a++)
                gamma[RP_DIM * k + a] += s->bend_arm * dp_sign(n, RP_DIM + k) * y->node[s->node[n]].u[a];
}

DP_INLINE void scatter_bent(dp_system *y, const dp_stress *s, double dt, const double change[DP_BENT])
{
    for (int n = 0; n < DP_CORNERS; n++) {
        dp_node *to = &y->node[s->node[n]];
        for (int k = 0; k < DP_ALTERNATING; k++)
            for (int a = 0; a < RP_DIM; a++) {
                double f = dt * s->bend_arm * dp_sign(n, RP_DIM + k) * change[RP_DIM * k + a];
                to->u[a] += to->m[a] * f;
                to->w[a] += to->a[a] * f;
            }
    }
}

/* Where the law of friction puts it: it holds as the mean stress of the cell does, and gives way beyond what friction can carry (closure.h). */
DP_INLINE void bent_law(const dp_stress *s, const double gamma[DP_BENT], double next[DP_BENT])
{
    double square = 0, most = DP_BENDING * s->mu * s->lambda[0];
    for (int i = 0; i < DP_BENT; i++) {
        double unit = s->bend_unit[i % RP_DIM];
        next[i] = unit > 0 ? s->bend[i] - gamma[i] / unit : 0;
        square += next[i] * next[i];
    }
    double part = square > most * most ? most / sqrt(square) : 1;
    for (int i = 0; i < DP_BENT; i++)
        next[i] *= part;
}

DP_INLINE void visit_bent(const job *w, dp_stress *s)
{
    double gamma[DP_BENT], next[DP_BENT];
    bent_strain(w->y, s, gamma);
    bent_law(s, gamma, next);
    for (int i = 0; i < DP_BENT; i++) {
        double change = w->relax * (next[i] - s->bend[i]);
        s->bend[i] += change;
        next[i] = change;
    }
    scatter_bent(w->y, s, w->dt, next);
}

static void sweep_column(void *context, int64_t column, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    int64_t begin = y->column_first[column], end = y->column_first[column + 1];
    (void)worker;
    if (w->backward)
        for (int64_t k = end - 1; k >= begin; k--)
            visit(w, &y->stress[k]), visit_bent(w, &y->stress[k]);
    else
        for (int64_t k = begin; k < end; k++)
            visit(w, &y->stress[k]), visit_bent(w, &y->stress[k]);
}

static void for_columns(dp_system *y, rp__exec_item_fn function, void *context)
{
    rp__exec_colors(DP_CORNERS / 2, y->colour_first, y->column_items, 2, function, context);
}

/* ---- the operator of a stress ---- */

/* Column `k` of W~: what γ~ makes of λ = e_k (tilted). */
static void respond(const dp_system *y, const dp_stress *s, double dt, int k, double out[DP_S])
{
    double lambda[DP_S] = { 0 }, tensor[DP_S], sum[DP_S] = { 0 }, r, pressure, alternating = 0;
    lambda[k] = 1;
    pressure = -shifted(s, lambda);
    tilt_stress(s, lambda);
    dp_chi(lambda, tensor);
    r = s->stiffness * pressure;
    for (int n = 0; n < DP_CORNERS; n++) {
        const dp_node *j = &y->node[s->node[n]];
        double f[DP_PARTS], u[DP_PARTS];
        corner_force(y, s, n, tensor, lambda[0], DP_PARTS, f);
        for (int a = 0; a < DP_PARTS; a++) {
            double d = dp_divergence(y, n, a);
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
    tilt_strain(s, out);
}

/* shift_k: the outflow that λ = e_k would cause, over that of a pressure. */
static void make_shift(const dp_system *y, dp_stress *s, double dt)
{
    double diagonal = 0;
    memset(s->shift, 0, sizeof s->shift);
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < DP_PARTS; a++)
            diagonal += y->node[s->node[n]].theta[a] * dp_divergence(y, n, a) * dp_divergence(y, n, a);
    s->stiffness = y->params->coupling == RP__COUPLING_EFFECTIVE ? dt * diagonal : 0;
    for (int k = 0; k < DP_S && s->stiffness > 0; k++) {
        double lambda[DP_S] = { 0 }, tensor[DP_S], f[DP_PARTS];
        lambda[k] = 1;
        dp_chi(lambda, tensor);
        for (int n = 0; n < DP_CORNERS; n++) {
            corner_force(y, s, n, tensor, lambda[0], DP_PARTS, f);
            for (int a = 0; a < DP_PARTS; a++)
                s->shift[k] += y->node[s->node[n]].a[a] * f[a] * dp_divergence(y, n, a) / diagonal;
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

/* Alart and Curnier's function with a unit for each part: zero if and only if (γ, λ) is in Coulomb's law. */
DP_INLINE double law_residual(const dp_stress *s, const double gamma[DP_S])
{
    double normal = s->lambda[0] - gamma[0] / s->scale, sum, tangent = 0, x[DP_S];
    normal = normal > 0 ? normal : normal <= 0 ? 0 : normal; /* a NaN stays one */
    sum = (s->lambda[0] - normal) * (s->lambda[0] - normal);
    for (int i = 1; i < DP_S; i++) {
        x[i] = s->lambda[i] - gamma[i] / s->scale_t;
        tangent += x[i] * x[i];
    }
    tangent = sqrt(tangent);
    double most = s->mu * normal, part = tangent > most ? most / tangent : 1;
    for (int i = 1; i < DP_S; i++)
        sum += (s->lambda[i] - part * x[i]) * (s->lambda[i] - part * x[i]);
    return sqrt(sum);
}

static void make_operator(const job *w, dp_stress *s)
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
    double most = s->scale * fmax(s->lambda[0], s->load); /* what opens may draw as hard on the fluid as the grains press on each other */
    s->k -= s->opening < most ? s->opening : most;
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

static void make_operators(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++)
        make_operator(w, &w->y->stress[k]);
}

/* ---- start ---- */

/* The gap: bulk volume that the grains of a cell may lose before they touch, by what each particle knows of itself. With S = sum V s the
 * bulk may shrink by the part S / (V + S), but not beyond what the cell or its corners leave: where loose grains keep coming to a cell that
 * is full, their looseness is not its own. Cells that are too full all the same (closure.h) open as they are sheared; the one nearer to
 * full of the cell and its corners counts, since a few particles in a cell lie unevenly by chance. */
static double gap_rate(const dp_system *y, dp_stress *s, double dt)
{
    double gap = s->loose / (s->volume + s->loose), largest = s->volume / s->weight, own = s->weight / pow(y->lattice.h, RP_DIM);
    double full = 0, most = 0, least = INFINITY, sum[DP_S] = { 0 }, gamma[DP_S], shear = 0;
    for (int n = 0; n < DP_CORNERS; n++) {
        double part = y->grains[s->node[n]] / (y->volume[s->node[n]] * largest);
        full += part / DP_CORNERS, most = fmax(most, part), least = fmin(least, part);
        dp_add_strain(y->node[s->node[n]].u, s->g[n], sum);
    }
    if (y->params->dilatancy == RP__DILATANCY_NONE && gap > 0)
        gap = fmax(0, fmin(gap, 1 - fmax(full, own)));
    dp_coefficients(sum, gamma);
    for (int i = 1; i < DP_S; i++)
        shear += gamma[i] * gamma[i];
    double slope = DP_OPENING * (fmin(full, own) - 1 - DP_CHANCE);
    slope = slope < 0 || gap > 0 ? 0 : slope > s->mu / DP_CONTACT ? s->mu / DP_CONTACT : slope;
    s->densest = (2 * most - least + DP_CHANCE) * largest;
    s->opening = slope * 2 * sqrt(shear) / DP_TRACE;
    return s->extent * gap / dt / DP_TRACE;
}

static void load_stresses(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    double cell = pow(y->lattice.h, RP_DIM);
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        const double *last = y->lambda + DP_S * s->cell;
        s->k = gap_rate(y, s, w->dt);
        s->weight = s->weight < cell ? s->weight / cell : 1;
        memset(s->tilt, 0, sizeof s->tilt);
        for (int i = 0; i < DP_S; i++)
            s->lambda[i] = y->params->warm_start ? last[i] : 0;
        DP_CONE_NAME(rp__friction_project)(s->mu, s->lambda);
        s->bend_arm = !y->params->bending ? 0 : s->extent / (sqrt(12) * y->lattice.h);
        for (int i = 0; i < DP_BENT; i++)
            s->bend[i] = y->params->warm_start ? y->bend[DP_BENT * s->cell + i] : 0;
    }
}

static void scatter_column(void *context, int64_t column, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = y->column_first[column]; k < y->column_first[column + 1]; k++)
        scatter(y, &y->stress[k], w->dt, 0, y->stress[k].lambda, RP_DIM), scatter_bent(y, &y->stress[k], w->dt, y->stress[k].bend);
}

/* u += dt a Dᵀp, w += dt Θ Dᵀp of a pressure, which is the whole one (with what pushes from outside) or a change. */
typedef struct push_job {
    dp_system *y;
    const double *pressure;
    bool boundary;
    double dt;
} push_job;

static void push_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const push_job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double push[DP_PARTS];
        dp_node *to = &y->node[j];
        DP(pressure_impulse)(y, w->pressure, w->boundary, j, push);
        if (!w->boundary) /* a change: the pressure that a step begins with leaves the alternating parts alone */
            DP(alternating_impulse)(y, w->pressure, j, push + RP_DIM);
        for (int a = 0; a < (w->boundary ? RP_DIM : DP_PARTS); a++) {
            to->u[a] += w->dt * to->a[a] * push[a];
            to->w[a] += w->dt * to->theta[a] * push[a];
        }
    }
}

/* The load of each column of touching grains: its own weight under the fluid. In the first step of a run it is the guess, evenly in all directions. Stresses of
 * grains at rest are not unique, and from none at all the sweeps come to uneven ones, with which a slope near its angle begins to slide. */
static void load_column(void *context, int64_t column, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    int64_t begin = y->column_first[column], end = y->column_first[column + 1];
    double g = def->gravity[y->up], above = 0, face = pow(y->lattice.h, RP_DIM - 1);
    (void)worker;
    for (int64_t n = 0; n < end - begin; n++) {
        dp_stress *s = &y->stress[g < 0 ? end - 1 - n : begin + n];
        double weight = (s->mass - def->fluid->density * s->volume) * fabs(g), phi = s->extent / (face * y->lattice.h);
        double load = above + 0.5 * weight;
        above = s->loose > 0 || weight < 0 ? 0 : above + weight;
        s->load = s->loose > 0 || weight < 0 ? 0 : load / (face * phi * DP_CONTACT);
        s->lambda[0] = y->cold && y->params->warm_start ? s->load : s->lambda[0];
    }
}

void DP(start)(dp_system *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    push_job push = { y, y->pressure, true, dt };
    if (!y->params->warm_start)
        memset(y->pressure, 0, (size_t)y->cell_count * sizeof(double));
    rp__exec_for(y->stress_count, 256, load_stresses, &w);
    for_columns(y, load_column, &w);
    y->cold = false;
    for_columns(y, scatter_column, &w);
    rp__exec_for(y->node_count, 512, push_nodes, &push);
}

/* ---- pressure ---- */

/* rhs = -D w / dt: what the operator must still be made to give. */
static void pressure_rhs(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double sum = 0;
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < DP_PARTS; a++)
                sum += dp_divergence(y, n, a) * y->node[corner[n]].w[a];
        y->rhs[c] = -sum / w->dt;
    }
}

static void largest_rhs(void *context, int64_t begin, int64_t end, double *most)
{
    const dp_system *y = ((job *)context)->y;
    for (int64_t c = begin; c < end; c++)
        most[0] = fabs(y->rhs[c]) > most[0] || y->rhs[c] != y->rhs[c] ? fabs(y->rhs[c]) : most[0];
}

static void add_change(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = ((job *)context)->y;
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

static void mixed_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const mixed *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double push[RP_DIM];
        DP(pressure_impulse)(y, w->x, false, j, push);
        for (int a = 0; a < RP_DIM; a++)
            y->scratch[0][RP_DIM * j + a] = (1 - y->epsilon) * y->node[j].theta[a] * push[a];
    }
}

static void mixed_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const mixed *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double sum = 0;
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                sum += dp_divergence(y, n, a) * y->scratch[0][RP_DIM * corner[n] + a];
        w->to[c] = y->epsilon * w->to[c] + sum;
    }
}

static void apply_mixed(void *context, const double *x, double *out)
{
    mixed w = { context, x, out };
    rp__multigrid_apply(w.y->poisson, x, NULL, out);
    rp__exec_for(w.y->node_count, 512, mixed_nodes, &w);
    rp__exec_for(w.y->cell_count, 512, mixed_cells, &w);
}

/* Brings r = D w + dt L p down to `part` of what it is, or to `least`. */
static rp_result solve_pressure(job *w, double part, double least, dp_report *report)
{
    dp_system *y = w->y;
    double most = 0;
    rp__exec_for(y->cell_count, 1024, pressure_rhs, w);
    RP_TRY(DP(balance_rooms)(y, w->world, w->dt, y->rhs));
    rp__exec_max(y->cell_count, 4096, 1, largest_rhs, w, &most);
    if (!(most < INFINITY))
        return rp__base_fail(RP_DIVERGED, "the pressure of the fluid has no end at t = %g s", w->world->time);
    w->largest = most > w->largest ? most : w->largest;
    least = least > 1e-12 * w->largest ? least : 1e-12 * w->largest; /* rounding */
    double tolerance = part * most > least ? part * most : least;
    report->divergence = most * w->dt * w->dt / pow(y->lattice.h, RP_DIM);
    if (most <= least)
        return RP_OK;
    memset(y->change, 0, (size_t)y->cell_count * sizeof(double));
    rp__multigrid_operator operator = { apply_mixed, y };
    rp__multigrid_report solved = rp__multigrid_solve(y->poisson, y->epsilon < 1 ? &operator : NULL, y->rhs, tolerance, 200, y->change);
    report->pressure_iterations += solved.iterations;
    report->divergence = solved.residual * w->dt * w->dt / pow(y->lattice.h, RP_DIM);
    push_job push = { y, y->change, false, w->dt };
    rp__exec_for(y->cell_count, 4096, add_change, w);
    rp__exec_for(y->node_count, 512, push_nodes, &push);
    return RP_OK;
}

/* ---- walls and bodies ---- */

/* Normal impulse of the grains against a wall that holds them: what is left of momentum, weight, stress and pressure there. */
static double wall_load(const job *w, const dp_contact *c)
{
    const dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    int axis = (-1 - c->body) / 2;
    int64_t j = c->node, at[3];
    double into = c->normal[axis], push[RP_DIM], sum;
    double weight = (y->mass[j] - def->fluid->density * y->grains[j]) * def->gravity[axis];
    sum = y->momentum[RP_DIM * j + axis] + w->dt * (weight + y->grains[j] * def->fluid->drive[axis]);
    DP(pressure_impulse)(y, y->pressure, true, j, push);
    sum += w->dt * y->phi[j] * push[axis];
    dp_place(y->nodes, j, at);
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t cell[3] = { 0 };
        bool there = true;
        for (int a = 0; a < RP_DIM; a++) {
            cell[a] = at[a] - (n >> a & 1);
            if (y->lattice.periodic[a])
                cell[a] = cell[a] < 0 ? y->cells[a] - 1 : cell[a];
            there = there && cell[a] >= 0 && cell[a] < y->cells[a];
        }
        int32_t k = there ? y->stress_of[dp_cell_index(y, cell)] : -1;
        if (k < 0)
            continue;
        const dp_stress *s = &y->stress[k];
        double lambda[DP_S], tensor[DP_S], f[RP_DIM];
        memcpy(lambda, s->lambda, sizeof lambda);
        tilt_stress(s, lambda);
        dp_chi(lambda, tensor);
        dp_multiply(tensor, s->g[n], f);
        sum += w->dt * f[axis];
    }
    return -sum * into > 0 ? -sum * into : 0;
}

static void set_impulse(dp_system *y, dp_contact *c, const double next[RP_DIM])
{
    dp_node *j = &y->node[c->node];
    for (int a = 0; a < RP_DIM; a++) {
        double change = next[a] - c->impulse[a];
        j->u[a] += j->m[a] * change;
        j->w[a] += j->a[a] * change;
        c->impulse[a] = next[a];
    }
}

/* Coulomb's law at a node: along a wall with the load that the wall carries; on a body with what keeps grains out of it. */
static void visit_contact(const job *w, dp_contact *c)
{
    dp_system *y = w->y;
    const dp_node *j = &y->node[c->node];
    double next[RP_DIM] = { 0 }, free[RP_DIM], slip = 0, normal = 0, most, inverse = 0;
    for (int a = 0; a < RP_DIM; a++)
        inverse = j->m[a] > inverse ? j->m[a] : inverse;
    if (!(inverse > 0))
        return;
    if (c->share > 0) { /* a free body gives way: its contacts act at once, each as if it bore the body alone by its share */
        double now[3];
        rp__vec3_store(now, rp__body_velocity_at(&w->world->bodies[c->body], rp__vec3_load(c->place)));
        for (int a = 0; a < RP_DIM; a++)
            c->target[a] = now[a];
        inverse += c->share;
    }
    for (int a = 0; a < RP_DIM; a++) {
        free[a] = j->m[a] > 0 ? (j->u[a] - c->target[a]) / inverse - c->impulse[a] : 0;
        normal += free[a] * c->normal[a];
    }
    if (c->body < 0)
        most = c->mu * wall_load(w, c);
    else
        most = normal < 0 ? (c->mu > 0 ? -normal * c->mu : 0) : 0;
    for (int a = 0; a < RP_DIM; a++) {
        next[a] = -(free[a] - normal * c->normal[a]);
        slip += next[a] * next[a];
    }
    slip = sqrt(slip);
    for (int a = 0; a < RP_DIM; a++) {
        next[a] *= slip > most ? most / slip : 1;
        if (c->body >= 0 && normal < 0)
            next[a] -= normal * c->normal[a];
    }
    set_impulse(y, c, next);
}

static void visit_contacts(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        visit_contact(w, &w->y->contacts[i]);
}

/* Aitken's part of the change to make: by how much the last part changed what is left. */
static double aitken_part(rp__vec3 *last, rp__vec3 left, double part)
{
    rp__vec3 change = rp__vec3_sub(left, *last);
    double square = rp__vec3_dot(change, change), next = square > 0 ? -part * rp__vec3_dot(*last, change) / square : part;
    *last = left;
    next = next > 2 * part ? 2 * part : next < 0.5 * part ? 0.5 * part : next;
    return next < 1 ? next : 1;
}

/* Velocities of free bodies from all that has pushed them in this step: the pressure on their nodes, the weight of the fluid they keep away and
 * the grains that touch. Pressure and grains answer to their motion like an added mass, which may be many times their own: half of
 * ρ_b / (ρ_b + ρ_f) of the change is made first (for the spin an eighth), and then the part that Aitken's rule finds. Returns the largest change. */
static double move_bodies(const job *w)
{
    dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    double most = 0; /* change of a velocity */
    for (int b = 0; b < w->world->body_count; b++) {
        rp__body *body = &w->world->bodies[b];
        if (!body->present || body->def.kind != RP_BODY_FREE)
            continue;
        rp__vec3 impulse = { 0, 0, 0 }, turn = { 0, 0, 0 }, before = body->velocity, spin = body->omega;
        DP(body_push)(y, w->world, b, w->dt, &impulse, &turn, NULL);
        body->velocity = y->body_velocity[b], body->omega = y->body_omega[b];
        rp__body_apply(body, impulse, turn);
        rp__vec3 left = rp__vec3_sub(body->velocity, before), turn_left = rp__vec3_sub(body->omega, spin);
        double part = 0.5 * body->def.density / (body->def.density + def->fluid->density);
        part = w->aitken ? aitken_part(&y->body_left[b], left, y->body_part[b]) : part;
        double part_spin = w->aitken ? aitken_part(&y->body_turn_left[b], turn_left, y->body_part_spin[b]) : 0.25 * part;
        if (!w->aitken)
            y->body_left[b] = left, y->body_turn_left[b] = turn_left;
        y->body_part[b] = part, y->body_part_spin[b] = part_spin;
        body->velocity = rp__vec3_add(before, rp__vec3_scale(part, left));
        body->omega = rp__vec3_add(spin, rp__vec3_scale(part_spin, turn_left));
        most = fmax(most, rp__vec3_norm(rp__vec3_sub(body->velocity, before)));
        for (int64_t j = 0; j < y->node_count; j++) {
            if (y->inside[j] != b)
                continue;
            int64_t at[3];
            double x[3] = { 0 }, v[3];
            dp_place(y->nodes, j, at);
            for (int a = 0; a < RP_DIM; a++)
                x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
            rp__vec3_store(v, rp__body_velocity_at(body, rp__vec3_load(x)));
            for (int a = 0; a < RP_DIM; a++)
                if (!(y->hold[j] & dp_fluid_hold(a)))
                    y->held[RP_DIM * j + a] = y->node[j].w[a] = v[a];
        }
    }
    return most;
}

static bool free_bodies(const rp__world *world)
{
    for (int b = 0; b < world->body_count; b++)
        if (world->bodies[b].present && world->bodies[b].def.kind == RP_BODY_FREE)
            return true;
    return false;
}

static void start_bodies(const job *w)
{
    dp_system *y = w->y;
    for (int b = 0; b < w->world->body_count && b < DP_BODIES; b++) {
        y->body_velocity[b] = w->world->bodies[b].velocity;
        y->body_omega[b] = w->world->bodies[b].omega;
    }
    int count[DP_BODIES] = { 0 };
    for (int64_t i = 0; i < y->contact_count; i++)
        if (y->contacts[i].body >= 0)
            count[y->contacts[i].body]++;
    for (int64_t i = 0; i < y->contact_count; i++) {
        dp_contact *c = &y->contacts[i];
        const rp__body *body = c->body >= 0 ? &w->world->bodies[c->body] : NULL;
        c->share = body && body->def.kind == RP_BODY_FREE ? count[c->body] * body->inverse_mass : 0;
    }
}

/* ---- residual and extrapolation ---- */

/* How far a stress is from the law, in units of the typical stress. */
DP_INLINE double stress_residual(const dp_system *y, const dp_stress *s)
{
    double gamma[DP_S], bent[DP_BENT], next[DP_BENT], sum = 0;
    shifted_strain(y, s, gamma);
    bent_strain(y, s, bent);
    bent_law(s, bent, next);
    for (int i = 0; i < DP_BENT; i++)
        sum += (next[i] - s->bend[i]) * (next[i] - s->bend[i]);
    double r = law_residual(s, gamma);
    return s->weight * sqrt(r * r + sum) / y->stress_unit;
}

static void residual_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const job *w = context;
    dp_system *y = w->y;
    for (int64_t k = begin; k < end; k++) {
        const dp_stress *s = &y->stress[k];
        double tangent = 0;
        if (!s->usable)
            continue;
        double r = stress_residual(y, s);
        sum[0] += r * r;
        for (int i = 0; i < DP_S; i++) {
            double step = s->lambda[i] - s->before[i];
            sum[1] += (i ? s->scale_t : s->w[0][0]) * step * (s->lambda[i] - y->previous[k][i]);
            tangent += i ? s->lambda[i] * s->lambda[i] : 0;
        }
        int region = !(s->lambda[0] > 0) ? 0 : sqrt(tangent) < (1 - 1e-9) * s->mu * s->lambda[0] ? 1 : 2;
        sum[2 + region]++;
    }
}

static void residual_most(void *context, int64_t begin, int64_t end, double *most)
{
    const job *w = context;
    const dp_system *y = w->y;
    for (int64_t k = begin; k < end; k++) {
        const dp_stress *s = &y->stress[k];
        if (!s->usable)
            continue;
        double r = stress_residual(y, s);
        most[0] = r > most[0] || r != r ? r : most[0];
    }
}

/* Keeps the end of a round and goes beyond it: x + β (x - x of the round before). */
static void extrapolate_stresses(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = begin; k < end; k++)
        for (int i = 0; i < DP_S; i++) {
            double now = y->stress[k].lambda[i];
            y->stress[k].lambda[i] += w->beta * (now - y->previous[k][i]);
            y->stress[k].before[i] = y->stress[k].lambda[i];
            y->previous[k][i] = now;
        }
    for (int64_t k = begin; k < end; k++)
        for (int i = 0; i < DP_BENT; i++) {
            double now = y->stress[k].bend[i];
            y->stress[k].bend[i] += w->beta * (now - y->previous_bend[k][i]);
            y->previous_bend[k][i] = now;
        }
}

static void extrapolate_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t c = begin; c < end; c++) {
        double now = y->pressure[c];
        y->pressure[c] += w->beta * (now - y->previous_pressure[c]);
        y->previous_pressure[c] = now;
    }
}

static void extrapolate_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++)
        for (int a = 0; a < DP_PARTS; a++) {
            double u = y->node[j].u[a], q = y->node[j].w[a];
            y->node[j].u[a] += w->beta * (u - y->previous_u[DP_PARTS * j + a]);
            y->node[j].w[a] += w->beta * (q - y->previous_w[DP_PARTS * j + a]);
            y->previous_u[DP_PARTS * j + a] = u;
            y->previous_w[DP_PARTS * j + a] = q;
        }
}

static void extrapolate(job *w, double beta)
{
    dp_system *y = w->y;
    w->beta = beta;
    rp__exec_for(y->stress_count, 1024, extrapolate_stresses, w);
    rp__exec_for(y->cell_count, 4096, extrapolate_cells, w);
    rp__exec_for(y->node_count, 2048, extrapolate_nodes, w);
    for (int64_t i = 0; i < y->contact_count; i++)
        for (int a = 0; a < RP_DIM; a++) {
            dp_contact *c = &y->contacts[i];
            double now = c->impulse[a];
            c->impulse[a] += beta * (now - c->before[a]);
            c->before[a] = now;
        }
}

/* ---- the whole ---- */

static rp_result reserve(dp_system *y)
{
    if (y->stress_count <= y->previous_capacity)
        return RP_OK;
    int64_t capacity = y->stress_count + y->stress_count / 4;
    void *memory = rp__base_alloc_array((size_t)capacity, sizeof *y->previous);
    void *bent = rp__base_alloc_array((size_t)capacity, sizeof *y->previous_bend);
    if (!memory || !bent) {
        rp__base_free(memory), rp__base_free(bent);
        return RP_OUT_OF_MEMORY;
    }
    memset(memory, 0, (size_t)capacity * sizeof *y->previous);
    memset(bent, 0, (size_t)capacity * sizeof *y->previous_bend);
    rp__base_free(y->previous);
    rp__base_free(y->previous_bend);
    y->previous = memory;
    y->previous_bend = bent;
    y->previous_capacity = capacity;
    return RP_OK;
}

static void one_round(job *w)
{
    dp_system *y = w->y;
    for (int half = 0; half < 2; half++) {
        w->backward = half;
        for_columns(y, sweep_column, w);
        rp__exec_for(y->contact_count, 64, visit_contacts, w);
    }
    w->moved = move_bodies(w);
    w->aitken = true;
}

static bool measure(job *w, dp_report *report, double *turn)
{
    dp_system *y = w->y;
    double sum[5], most = 0;
    rp__exec_sum(y->stress_count, 512, 5, residual_chunk, w, sum);
    rp__exec_max(y->stress_count, 512, 1, residual_most, w, &most);
    report->residual_mean = sqrt(sum[0] / (double)(y->stress_count ? y->stress_count : 1));
    report->residual_max = y->stress_count ? most : 0;
    report->take_off = (int64_t)sum[2], report->stick = (int64_t)sum[3], report->slide = (int64_t)sum[4];
    *turn = sum[1];
    double part = report->slide || report->rounds > DP_PATIENCE ? 1 : DP_AT_REST;
    return report->residual_mean <= part * y->params->tolerance && report->residual_max <= part * y->params->tolerance_max;
}

rp_result DP(solve)(dp_system *y, const rp__world *world, double dt, dp_report *report)
{
    job w = { .y = y, .world = world, .dt = dt, .relax = 1 };
    double mark = INFINITY;
    double t = 1, turned, last = INFINITY, least = y->smallest_outflow / dt;
    RP_TRY(reserve(y));
    start_bodies(&w);
    RP_TRY(solve_pressure(&w, y->stress_count ? 0.1 : 0, least, report));
    DP(set_tilt)(y, world, dt);
    rp__exec_for(y->stress_count, 64, make_operators, &w);
    extrapolate(&w, 0);
    const double *g = world->def->gravity;
    double still = 1e-3 * dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    report->converged = y->stress_count == 0 && !free_bodies(world);
    while (!report->converged && report->rounds < y->params->max_rounds) {
        one_round(&w);
        RP_TRY(solve_pressure(&w, DP_PRESSURE_PART, 0, report));
        RP_TRY(rp__sim_given_up(world));
        report->rounds++;
        report->converged = measure(&w, report, &turned) && w.moved <= still;
        if (report->converged || report->residual_max != report->residual_max || report->rounds == y->params->max_rounds)
            break;
        if (report->rounds % DP_PATIENCE == 0) { /* friction is no minimum of anything: sweeps may go round in circles */
            if (report->residual_mean > 0.9 * mark && w.relax > 0.4)
                w.relax *= 0.6;
            mark = report->residual_mean;
        }
        double beta = 0;
        if (y->params->momentum && report->rounds > 1 && y->stress_count) {
            if (turned < 0 || report->residual_mean > last)
                t = 1;
            double next = 0.5 * (1 + sqrt(1 + 4 * t * t));
            next = next < 16 ? next : 16;
            beta = (t - 1) / next;
            t = next;
        }
        last = report->residual_mean;
        extrapolate(&w, beta);
    }
    if (report->residual_max != report->residual_max)
        return rp__base_fail(RP_DIVERGED, "contact stresses have no end at t = %g s", world->time);
    return solve_pressure(&w, 0, least, report);
}
