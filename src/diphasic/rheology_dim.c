/* The law of a cell that depends on the rate of shear: dilatancy, friction that grows with it, and cells that are too full (closure.h), κ without M.
 *
 * Packed grains that are sheared at the rate γ̇ under the pressure p of the grains change their volume, and resist, by
 *
 *   ∇·u = γ̇ tan ψ,   tan ψ = K (φ - φ_c / (1 + √J)),   J = η γ̇ / p,                          [roux1998; pailha2009]
 *   shear stress (µ + tan ψ) p,   µ = µ1 + (µ2 - µ1) X/(1 + X),   X = J/J0 + I/I0,   I = γ̇ d √(ρ/p)   [boyer2011; jop2006].
 *
 * J is that of the end of the step. Where the fluid cannot leave, its pressure answers to γ̇ tan ψ by (η/k) H², many times the weight: with J of
 * the start loose grains lose touch in one step, and find it again in the next; the truth is a flow in which p has fallen until φ_eq(J) = φ.
 * Nor is anything said of the direction of shear before the step. In the coefficients of a cell, with x = |γ_T| / λ_N the law is
 *
 *   0 <= λ_N ⊥ γ_N - κ(x) |γ_T| >= 0,   λ_T = -M(x) λ_N γ_T/|γ_T|,   |λ_T| <= M(0) λ_N where γ_T = 0,
 *
 * J and X are proportional to x, κ = c0 tan ψ, M = µ + κ, all of them the same in every direction. For a given x the law says
 * γ_T = -(x/M) λ_T and γ_N = κ x λ_N, which is linear: beside γ = W λ + b, in the basis of the factor of W (friction/local.h),
 *
 *   λ_T = -M t,   t_k = e_k (c_k + a_k κ x λ_N),   |t| = λ_N,   e_k = 1/(M s_k + x),
 *   λ_N d = n,   d = 1 - κ x (1/W_NN + sum a_k² M e_k),   n = -b_N/W_NN + sum a_k c_k M e_k.
 *
 * |t| = λ_N is a quadratic equation for λ_N > 0, C/λ_N² + 2A/λ_N + B = 1, and what is left is one equation for one number: H(x) = n/λ_N - d = 0.
 * H(0) < 0 where stick fails, and H goes to +∞ where the cell does not come apart (b_N < κ |b_T|): there is always a root. At the ends of where there
 * is no such λ_N, 1/λ_N goes to zero and H to -d: the root lies before where grains expand (d < 0 there, since κ <= M), and beyond where they contract.
 * H is taken over z = √x, since tan ψ begins as √x.
 * The pressure in I, which x does not tell, is that of the stress as it stands.
 *
 * Loose grains have two answers where the fluid cannot leave: at rest, or flowing with p so small that J makes up for φ. What shears goes on as long as
 * that answer is there, and what rests does as long as friction holds it: taken by turns, cells never come to an agreement. */
#include "diphasic/cell_law.h"

enum { TURNS = DP_S - 1, MOST_STEPS = 80 };

/* κ and M at a z, and their derivatives. */
typedef struct flow {
    double kappa, kappa_slope, friction, friction_slope;
} flow;

DP_INLINE flow flow_at(const dp_rate *rate, double mu, double growth, double z)
{
    double root = rate->root * z, tangent = 0, slope = 0;
    if (rate->slope > 0) {
        tangent = rate->slope * (rate->phi - rate->critical / (1 + root));
        slope = rate->slope * rate->critical * rate->root / ((1 + root) * (1 + root));
        double least = rate->opening > 0 ? rate->opening : rate->least;
        slope = tangent < least || tangent > rate->most ? 0 : slope;
        tangent = fmax(least, fmin(tangent, rate->most));
    }
    double lift = rate->slope > 0 ? tangent : rate->opening;
    double x = growth * z * z, more = rate->faster * x / (1 + x), more_slope = rate->faster * 2 * growth * z / ((1 + x) * (1 + x));
    return (flow){ DP_CONTACT * lift, DP_CONTACT * slope, mu + DP_CONTACT * (tangent + more), DP_CONTACT * (slope + more_slope) };
}

/* What a z says. */
typedef struct trial {
    double inverse; /* 1 / λ_N; not above zero: there is none */
    double lift;    /* κ x */
    double e[TURNS];
    double h, slope, size; /* H, its derivative, and what it is the difference of */
} trial;

DP_INLINE trial try_at(const dp_factor *f, const flow *l, const double c[TURNS], double beta, double z)
{
    double x = z * z, n = beta, n_slope = 0, g = f->inverse_normal, g_slope = 0, a = 0, a_slope = 0, b = 0, b_slope = 0, cc = 0, cc_slope = 0;
    double lift = l->kappa * x, lift_slope = l->kappa_slope * x + 2 * l->kappa * z;
    trial out = { .lift = lift };
    for (int k = 0; k < TURNS; k++) {
        double e = 1 / (l->friction * f->s[k] + x), e_slope = -e * e * (l->friction_slope * f->s[k] + 2 * z);
        double share = l->friction * e, share_slope = l->friction_slope * e + l->friction * e_slope;
        n += f->a[k] * c[k] * share, n_slope += f->a[k] * c[k] * share_slope;
        g += f->a[k] * f->a[k] * share, g_slope += f->a[k] * f->a[k] * share_slope;
        double still = e * c[k], still_slope = e_slope * c[k], lifted = e * f->a[k] * lift,
               lifted_slope = f->a[k] * (e_slope * lift + e * lift_slope);
        cc += still * still, cc_slope += 2 * still * still_slope;
        a += still * lifted, a_slope += still_slope * lifted + still * lifted_slope;
        b += lifted * lifted, b_slope += 2 * lifted * lifted_slope;
        out.e[k] = e;
    }
    double root = sqrt(a * a + cc * (1 - b)), inverse = (root - a) / cc;
    double inverse_slope = -(cc_slope * inverse * inverse + 2 * a_slope * inverse + b_slope) / (2 * root);
    out.inverse = root >= 0 ? inverse : 0;
    out.h = n * inverse - 1 + lift * g;
    out.slope = n_slope * inverse + n * inverse_slope + lift_slope * g + lift * g_slope;
    out.size = fabs(n * inverse) + 1 + fabs(lift * g);
    return out;
}

/* The root of H, by Newton's method within a bracket; false: there is none that can be bracketed. */
static bool find_root(const dp_stress *s, const double c[TURNS], double beta, double growth, double *root, trial *now)
{
    const double enough = 16 * DBL_EPSILON;
    const dp_factor *f = &s->factor;
    double low = 0, high = INFINITY, z = *root;
    if (!(z > 0)) {
        double size = 0;
        for (int k = 0; k < TURNS; k++)
            size += c[k] * c[k];
        z = sqrt(fmax(sqrt(size) / fabs(beta) - flow_at(&s->rate, s->mu, growth, 0).friction * f->s[0], 1e-3 * f->s[0]));
        z = z < INFINITY ? z : sqrt(f->s[0]);
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        flow l = flow_at(&s->rate, s->mu, growth, z);
        *now = try_at(f, &l, c, beta, z);
        bool sound = now->inverse > 0;
        *root = z;
        if (sound && fabs(now->h) <= enough * now->size)
            return true;
        if (sound ? now->h < 0 : now->lift < 0)
            low = z;
        else
            high = z;
        if (high < INFINITY && high - low <= enough * high)
            return sound && fabs(now->h) <= 1e-6 * now->size;
        double next = z - now->h / now->slope;
        if (!sound || !(next > low && next < high) || (step > 8 && step % 3 == 0))
            next = low > 0 && high < INFINITY ? sqrt(low) * sqrt(high) : low > 0 ? 8 * low : 0.125 * high;
        z = next;
    }
    return false;
}

/* Where stick holds too, whether shear goes on that has begun: from its z to the larger root of H. */
static bool goes_on(const dp_stress *s, const double c[TURNS], double beta, double growth, double *root)
{
    double z = *root;
    for (int step = 0; step < MOST_STEPS && z > 0; step++) {
        flow l = flow_at(&s->rate, s->mu, growth, z);
        trial now = try_at(&s->factor, &l, c, beta, z);
        if (!(now.inverse > 0) || !(now.slope > 0 || now.h < 0))
            return false;
        *root = z;
        if (now.h <= 1e-9 * now.size)
            return true;
        z -= now.h / now.slope;
    }
    return false;
}

/* The same where W is so nearly singular that x is no good number for the states of the cell: for a λ_N the shear in the basis of the factor, which
 * there always is, just one; returns γ_N - κ |γ_T|. */
static double shear_under(const dp_stress *s, const double b[TURNS], double growth, double normal, double *root, double held[TURNS])
{
    const dp_factor *f = &s->factor;
    flow l = flow_at(&s->rate, s->mu, growth, 0);
    double low = 0, high = INFINITY, z = l.friction > 0 ? 0 : sqrt(f->s[TURNS - 1]), answer = 1 / f->inverse_normal, along = 0;
    for (int step = 0; step < 4 * MOST_STEPS; step++) {
        double e[TURNS], t[TURNS], size = 0, over = 0, both = 0;
        l = flow_at(&s->rate, s->mu, growth, z);
        for (int k = 0; k < TURNS; k++) {
            e[k] = 1 / (l.friction * f->s[k] + z * z);
            over += l.friction * e[k] * f->a[k] * f->a[k], both += l.friction * e[k] * f->a[k] * (b[k] + answer * f->a[k] * normal);
        }
        along = 0;
        for (int k = 0; k < TURNS; k++) { /* (M W_TT + x) t = b_T + W_TN λ_N, W_TT = S + W_NN a aᵀ */
            t[k] = e[k] * (b[k] + answer * f->a[k] * (normal - both / (1 + answer * over)));
            held[k] = -l.friction * t[k];
            size += t[k] * t[k], along += f->a[k] * held[k];
        }
        if (sqrt(size) > normal)
            low = z;
        else
            high = z;
        if (high == 0 || (high < INFINITY && high - low <= 2 * DBL_EPSILON * high))
            break;
        z = low > 0 && high < INFINITY ? sqrt(low) * sqrt(high) : low > 0 ? 8 * low : z > 0 ? 0.125 * high : sqrt(f->s[TURNS - 1]);
    }
    *root = z;
    return answer * (normal + along) - l.kappa * z * z * normal;
}

static double find_normal(const dp_stress *s, const double b[DP_S], double growth, double guess, double *root, double held[TURNS])
{
    double turned[TURNS] = { 0 }, low = 0, high = INFINITY, normal = guess;
    for (int k = 0; k < TURNS; k++)
        for (int i = 0; i < TURNS; i++)
            turned[k] += s->factor.q[i][k] * b[i + 1];
    for (int step = 0; step < 4 * MOST_STEPS && high - low > 2 * DBL_EPSILON * low; step++) {
        if (b[0] + shear_under(s, turned, growth, normal, root, held) < 0)
            low = normal;
        else
            high = normal;
        normal = low > 0 && high < INFINITY ? sqrt(low) * sqrt(high) : low > 0 ? 8 * low : 0.125 * high;
    }
    return normal;
}

void DP(obey_rate)(const dp_stress *s, const double b[DP_S], double *root, double next[DP_S])
{
    const dp_factor *f = &s->factor;
    double c[TURNS], held[TURNS], square = 0, normal, pull = 0, beta = -b[0] * f->inverse_normal;
    double pressure = DP_CONTACT * s->rate.phi * fmax(s->lambda[0], 0), growth = s->rate.viscous + s->rate.inertial * sqrt(pressure);
    for (int i = 0; i < DP_S; i++)
        next[i] = 0;
    for (int k = 0; k < TURNS; k++) {
        c[k] = -f->a[k] * b[0];
        for (int i = 0; i < TURNS; i++)
            c[k] += f->q[i][k] * b[i + 1];
        pull += b[k + 1] * b[k + 1];
    }
    /* at rest */
    normal = beta;
    for (int k = 0; k < TURNS; k++) {
        held[k] = -c[k] * f->inverse_s[k];
        square += held[k] * held[k];
        normal -= f->a[k] * held[k];
    }
    flow rest = flow_at(&s->rate, s->mu, growth, 0),
         fastest = flow_at(&s->rate, s->mu, growth, s->rate.root > 0 ? 1 / DBL_EPSILON / s->rate.root : 0);
    bool holds = sqrt(square) <= rest.friction * normal, parts = b[0] >= fastest.kappa * sqrt(pull); /* shear does not lift as fast as that */
    if (parts && (b[0] >= 0 || !holds)) {
        *root = 0;
        return;
    }
    holds = holds && !goes_on(s, c, beta, growth, root);
    *root = holds ? 0 : *root;
    if (!holds) {
        trial end;
        double begin = *root;
        if (find_root(s, c, beta, growth, root, &end)) {
            double friction = flow_at(&s->rate, s->mu, growth, *root).friction;
            normal = 1 / end.inverse;
            for (int k = 0; k < TURNS; k++)
                held[k] = -friction * end.e[k] * (c[k] + f->a[k] * end.lift * normal);
        } else if (isfinite(beta) && isfinite(pull)) {
            *root = begin;
            normal = find_normal(s, b, growth, fmax(fabs(beta), DBL_MIN), root, held);
        }
    }
    next[0] = normal;
    for (int i = 0; i < TURNS; i++)
        for (int k = 0; k < TURNS; k++)
            next[i + 1] += f->q[i][k] * held[k];
}

/* The law of a cell for the step. Grains that do not touch do not dilate. */
void DP(make_rate)(const dp_system *y, double viscosity, dp_stress *s)
{
    const rp__diphasic_params *par = y->params;
    bool dilates = par->dilatancy != RP__DILATANCY_NONE && !(s->loose > 0);
    double eta = dp_wet_part(y, s->cell) * viscosity, phi = s->packing / s->volume, mu = s->mu / DP_CONTACT;
    double number = 2 / (s->extent * DP_CONTACT * phi); /* γ̇ / p of x = 1 */
    s->rate =
        (dp_rate){ .phi = phi, .slope = dilates ? par->dilatancy_slope : 0, .critical = par->critical_fraction, .root = sqrt(eta * number) };
    s->rate.least = -fmin(par->largest_dilatancy, 0.9 * mu), s->rate.most = par->largest_dilatancy; /* contraction never turns friction round */
    s->rate.faster = s->faster;
    s->rate.viscous = number * eta / par->viscous_number, s->rate.inertial = number * s->inertia;
    s->rate.opening = s->opening;
    s->rated = dilates || s->faster > 0 || s->opening > 0;
}
