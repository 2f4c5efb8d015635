/* What depends on the rate of shear: dilatancy, and friction that grows with it.
 *
 * Dilatancy   [roux1998; pailha2009]: packed grains that are sheared at the rate γ̇ under the pressure p of the grains change their volume by
 *
 *   ∇·u = γ̇ h(J),   h = tan ψ = K (φ - φ_eq(J)),   φ_eq = φ_c / (1 + √J),   J = η γ̇ / p,   shear stress (µ + tan ψ) p.
 *
 * J belongs to the end of the step. Where the fluid cannot leave, its pressure answers to γ̇ tan ψ by (η/k) H², many times the weight: with J of
 * the start loose grains lose touch in one step, and find it again in the next; the truth is a flow in which p has fallen
 * until φ_eq(J) = φ. Now γ̇ h(η γ̇/p) is convex in (γ̇, p) and homogeneous, so that its tangent plane at J is
 *
 *   ∇·u = (h + s) γ̇ - s (J/η) p,   s = J h'(J) = K φ_c √J / (2 (1 + √J)²),
 *
 * never above it: Coulomb's law in tilted coordinates with κ = c0 (h + s), in which the contact also gives way by s J/η a unit of p. Tilting adds κ
 * to friction: µ - (h - h(0)) - s is left for the cone, and what h gains on h(0) is a viscous stress as far as it can be, so that cells
 * at their threshold do not stick and slide in turns. Each visit of a cell goes from plane to plane until J is its own (Newton's method): from
 * above J falls to the root without going past it. Taken once a round, with the J that the rounds have come to, cells went round in circles. After
 * DP_PATIENCE rounds planes change only in rounds of twice the number each, or when a plain Coulomb problem in them is solved. The residual is
 * that of the plane of the last visit.
 *
 * Friction   [boyer2011; jop2006]: µ = µ1 + (µ2 - µ1) x/(1 + x). What is beyond µ1 is a viscous stress -v γ_T of the cell beside that of Coulomb's
 * law, c = λ + v γ_T; with v held γ answers to c by (W⁻¹ + v P_T)⁻¹. v is that of the last J, or of the last round. */
#include "diphasic/cell_law.h"

#include "exec/exec.h"

/* J where tan ψ is largest_dilatancy, or where s takes nearly all of friction: beyond it the tangent plane of that J is the law. */
static double largest_number(const rp__diphasic_params *par, double phi, double mu)
{
    double least = phi - (par->dilatancy_slope > 0 ? par->largest_dilatancy / par->dilatancy_slope : 0);
    double root = least > 0 ? fmax(0, par->critical_fraction / least - 1) : INFINITY;
    double share = 2 * 0.9 * mu / (par->dilatancy_slope * par->critical_fraction); /* √J/(1+√J)² <= share, at most 1/4 */
    if (share < 0.25)
        root = fmin(root, (1 - 2 * share - sqrt(1 - 4 * share)) / (2 * share));
    return root * root;
}

/* What a cell knows of the rate of shear: γ̇, and the pressure of the grains on all of the area. */
typedef struct flow {
    double rate, pressure;
} flow;

static flow flow_of(const dp_system *y, const dp_stress *s)
{
    double sum[DP_S] = { 0 }, gamma[DP_S], square = 0;
    for (int n = 0; n < DP_CORNERS; n++)
        dp_add_strain(y->node[s->node[n]].u, s->g[n], sum);
    dp_coefficients(sum, gamma);
    for (int i = 1; i < DP_S; i++)
        square += gamma[i] * gamma[i];
    return (flow){ 2 * sqrt(square) / s->extent, DP_CONTACT * s->lambda[0] * s->packing / s->volume };
}

/* √J of a flow, as far as it counts. */
static double root_of(const dp_system *y, const dp_stress *s, double eta, const flow *f)
{
    double most = largest_number(y->params, s->packing / s->volume, s->mu / DP_CONTACT);
    double number = !(f->rate > 0) || !(eta > 0) ? 0 : f->pressure > 0 ? eta * f->rate / f->pressure : INFINITY;
    return sqrt(number < most ? number : most);
}

/* The tangent plane of dilatancy at J, and the stress in its coordinates. */
static void lean(const dp_system *y, dp_stress *s, double eta, double root)
{
    const rp__diphasic_params *par = y->params;
    double *previous = y->previous[s - y->stress], phi = s->packing / s->volume, mu = s->mu / DP_CONTACT, give = 0;
    s->root = root;
    double tangent = par->dilatancy_slope * (phi - par->critical_fraction / (1 + root));
    double growth = 0.5 * par->dilatancy_slope * par->critical_fraction * root / ((1 + root) * (1 + root)), least = fmin(par->largest_dilatancy, 0.9 * mu);
    if (tangent < -least) /* contraction never turns friction round */
        tangent = -least, growth = 0;
    tangent = fmin(tangent, par->largest_dilatancy);
    double rest = fmax(-least, par->dilatancy_slope * (phi - par->critical_fraction));
    double beyond = fmin(fmax(0, tangent - rest), fmax(0, 0.9 * mu - growth)); /* of tan ψ at rest */
    /* viscous no more than the cell itself resists: √J has no slope at rest, and stiff cells hand on shear too slowly */
    beyond = fmin(beyond, root * root * phi * s->extent / (2 * eta * y->plain[s - y->stress][1][1]));
    s->viscous = root > 0 ? 2 * beyond * eta / (root * root * phi * s->extent) : 0;
    if (eta > 0)
        give = s->extent * phi * DP_CONTACT * growth * root * root / (eta * DP_TRACE);
    for (int i = 1; i < DP_S; i++) {
        double tilt = DP_CONTACT * (tangent + growth) * s->shear[i], change = tilt - s->tilt[i];
        s->tilt[i] = tilt;
        s->lambda[i] += change * s->lambda[0];
        s->before[i] += change * s->before[0];
        previous[i] += change * previous[0];
    }
    s->give = give;
    s->cone = s->mu - DP_CONTACT * (growth + beyond);
}

/* The stress by which friction exceeds µ1 λ_N, a unit of γ_T: (µ2 - µ1) p x/(1 + x) / γ̇, x = γ̇ B/p, B = η/J0 + d √(ρ p)/I0. */
static void thicken(const dp_system *y, dp_stress *s, double eta, const flow *f)
{
    double b = eta / y->params->viscous_number + s->inertia * sqrt(f->pressure), phi = s->packing / s->volume;
    s->viscous += f->pressure > 0 ? s->faster * 2 * b * f->pressure / (s->extent * phi * (f->pressure + f->rate * b)) : 0;
}

/* W~ in the coordinates of the law: T W Tᵀ, how the contact gives way, and (W⁻¹ + v P_T)⁻¹. */
static void make_local(const dp_system *y, dp_stress *s)
{
    double square = 0;
    memcpy(s->w, y->plain[s - y->stress], sizeof s->w);
    for (int k = 1; k < DP_S; k++)
        for (int j = 0; j < DP_S; j++)
            s->w[0][j] -= s->tilt[k] * s->w[k][j];
    for (int k = 1; k < DP_S; k++)
        for (int j = 0; j < DP_S; j++)
            s->w[j][0] -= s->tilt[k] * s->w[j][k];
    s->w[0][0] += s->give;
    for (int k = 1; k < DP_S && s->viscous > 0; k++) {
        double row[DP_S], part = s->viscous / (1 + s->viscous * s->w[k][k]);
        memcpy(row, s->w[k], sizeof row);
        for (int i = 0; i < DP_S; i++)
            for (int j = 0; j < DP_S; j++)
                s->w[i][j] -= part * row[i] * row[j];
    }
    s->scale_t = 0;
    for (int i = 1; i < DP_S; i++)
        s->scale_t += s->w[i][i] / (DP_S - 1), square += s->tilt[i] * s->tilt[i];
    s->scale = s->slip + square * s->scale_t + s->give; /* λ_N shears too, and what shears opens */
    DP(factorise)(s);
}

bool DP(follow_rate)(const dp_solve *w, dp_stress *s, const double gamma[DP_S], double normal)
{
    double square = 0, eta = dp_wet_part(w->y, s->cell) * w->world->def->fluid->viscosity;
    for (int i = 1; i < DP_S; i++)
        square += gamma[i] * gamma[i];
    flow f = { 2 * sqrt(square) / s->extent, DP_CONTACT * normal * s->packing / s->volume };
    double root = root_of(w->y, s, eta, &f);
    if (fabs(root - s->root) <= DP_SAME_ROOT * root)
        return false;
    lean(w->y, s, eta, root);
    if (s->faster > 0)
        thicken(w->y, s, eta, &f);
    make_local(w->y, s);
    return true;
}

/* Where the grains of a cell dilate, and the direction of shear, held for the step: cells that are packed at all their corners (partly filled ones look
 * loose). The direction is that against which friction will act, of γ_T/W_TT - λ_T: where grains hardly move the stress before the step tells it,
 * where they touched nothing the strain. */
static void direct(const dp_system *y, dp_stress *s, double dt)
{
    double sum[DP_S] = { 0 }, gamma[DP_S], length = 0, unit = 0;
    bool packed = !(s->loose > 0);
    for (int n = 0; n < DP_CORNERS; n++) {
        const dp_node *j = &y->node[s->node[n]];
        packed = packed && y->phi[s->node[n]] >= 0.9 * y->params->loosest_fraction;
        dp_add_strain(j->u, s->g[n], sum);
        for (int a = 0; a < RP_DIM; a++)
            unit += 0.5 * dt * j->m[a] * s->g[n][a] * s->g[n][a];
    }
    dp_coefficients(sum, gamma);
    for (int i = 1; i < DP_S; i++) {
        gamma[i] = unit > 0 ? gamma[i] / unit - s->lambda[i] : 0;
        length += gamma[i] * gamma[i];
    }
    length = sqrt(length);
    if (!packed || !(length > 0))
        return;
    s->dilates = true;
    for (int i = 1; i < DP_S; i++)
        s->shear[i] = gamma[i] / length;
}

static void follow_rates(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        double eta = dp_wet_part(y, s->cell) * w->world->def->fluid->viscosity;
        if (w->first) {
            memcpy(y->plain[k], s->w, sizeof s->w);
            if (y->params->dilatancy != RP__DILATANCY_NONE)
                direct(y, s, w->dt);
        }
        if (!s->usable || !(s->dilates ? w->first : s->faster > 0)) /* visits see to cells that dilate */
            continue;
        flow f = flow_of(y, s);
        s->viscous = 0;
        if (s->dilates)
            lean(y, s, eta, root_of(y, s, eta, &f));
        if (s->faster > 0)
            thicken(y, s, eta, &f);
        make_local(y, s);
    }
}

void DP(follow_rates)(dp_solve *w)
{
    if (w->rates)
        rp__exec_for(w->y->stress_count, 128, follow_rates, w);
    w->first = false;
}
