/* The law of sand, plainly: Hencky strain, Drucker–Prager cone, hardening, volume gain   [klar2016, §6–7]. */
#include "elastoplastic/elastoplastic.h"
#include "math/eigen.h"
#include "math/tensor.h"

#include <math.h>

rp__elastoplastic_law rp__elastoplastic_make_law(const rp_material_def *m, int dim)
{
    rp__elastoplastic_law law;
    law.shear = m->youngs_modulus / (2 * (1 + m->poisson_ratio));
    law.lame = m->youngs_modulus * m->poisson_ratio / ((1 + m->poisson_ratio) * (1 - 2 * m->poisson_ratio));
    law.stiffness = (dim * law.lame + 2 * law.shear) / (2 * law.shear);
    /* ||dev tau||_F <= sqrt(2) mu^ p with p = -tr tau / d, in strains: alpha = sqrt(2) mu^ / d. For the circumscribed cone
     * in 3D it is sqrt(2/3) 2 sin phi / (3 - sin phi)   [klar2016, (31)]. */
    law.cone = RP_SQRT2 * rp_material_friction(m, dim) / dim;
    law.inverse_fraction = 1 / m->volume_fraction;
    /* ||dev tau||_F <= sqrt(2) mu^ (p + c), c = phi_max times the cohesion of the solid phase: the tip is where p = -c. It
     * decays with half the shear, as in nonsmooth; q counts the norm of the plastic strain, which is half the shear times sqrt(2). */
    law.tip = dim * m->volume_fraction * m->cohesion / (dim * law.lame + 2 * law.shear);
    law.decay = m->cohesion_decay / RP_SQRT2;
    law.apex = law.moving = 0;
    law.elastic = m->model == RP_MODEL_ELASTIC;
    law.hardens = false;
    for (int k = 0; k < 4; k++) {
        bool angle = k != 2;
        law.hardening[k] = m->hardening[k] * (angle ? 0.017453292519943295 : 1);
        law.hardens = law.hardens || m->hardening[k] != 0;
    }
    law.varies = law.hardens || (law.tip > 0 && law.decay > 0);
    return law;
}

/* Near a free surface the weight of less than a cell is carried by particles that lose touch at the least vibration, and grains that
 * should rest would creep downhill in every one of them: stresses there are wrong by rho g h, whatever the sampling. The cone of what
 * touches and hardly deforms is therefore rounded at its tip,
 *     ||dev tau|| <= sqrt(2) mu^ sqrt(p² + c²),   p >= 0,   c = part rho g h max(0, 1 - |rate| / (0.003 sqrt(g / h))).
 * There is no tension in it, so nothing hangs, and at the depth z it adds c²/2p, that is h²/2z: it vanishes with the cell, and inside a
 * heap at once. */
void rp__elastoplastic_round_tip(rp__elastoplastic_law *law, const rp_material_def *m, int dim, double part, double gravity, double h, double dt)
{
    double weight = m->density * m->volume_fraction * gravity * h, trace = dim * weight / (dim * law->lame + 2 * law->shear);
    law->apex = part * trace;
    law->moving = gravity > 0 ? 1 / (0.003 * sqrt(gravity / h) * dt) : 0;
}

double rp__elastoplastic_tip(const rp__elastoplastic_law *law, double q, double gain)
{
    return law->tip > 0 && gain <= RP_EP_BONDED ? law->tip * exp(-law->decay * q) : 0;
}

double rp__elastoplastic_apex(const rp__elastoplastic_law *law, double size, double gain)
{
    return gain <= RP_EP_TOUCHING ? law->apex * fmax(0, 1 - size * law->moving) : 0;
}

/* phi = h0 + (h1 q - h3) exp(-h2 q),  alpha = sqrt(2/3) 2 sin phi / (3 - sin phi)   [klar2016, (30), (31)] */
double rp__elastoplastic_cone(const rp__elastoplastic_law *law, double q)
{
    if (!law->hardens)
        return law->cone;
    const double *h = law->hardening;
    double s = sin(h[0] + (h[1] * q - h[3]) * exp(-h[2] * q));
    return sqrt(2.0 / 3) * 2 * s / (3 - s);
}

/* tau = 2 mu e + lambda tr(e) I for sand; tau = mu (b - I) + lambda ln J I with b = exp(2 e) for an elastic solid. */
void rp__elastoplastic_tau_ref(const rp__elastoplastic_law *law, const double strain[6], double tau[6])
{
    double trace = strain[0] + strain[1] + strain[2];
    if (law->elastic) {
        double values[3];
        rp__mat3 v;
        rp__math_eigen_sym3(strain, values, &v);
        static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
        for (int k = 0; k < 6; k++) {
            tau[k] = k < 3 ? law->lame * trace : 0;
            for (int i = 0; i < 3; i++)
                tau[k] += law->shear * expm1(2 * values[i]) * v.m[row[k]][i] * v.m[column[k]][i];
        }
        return;
    }
    for (int k = 0; k < 6; k++)
        tau[k] = 2 * law->shear * strain[k] + (k < 3 ? law->lame * trace : 0);
}

int rp__elastoplastic_project(const rp__elastoplastic_law *law, int dim, double tip, double apex, double e[3], double *q, double *gain,
                              bool correct_volume)
{
    if (law->elastic)
        return 1;
    /* The volume gained in earlier tension is taken back before anything else, deviator included. */
    double trace = 0, deviator[3], norm = 0, back = correct_volume ? *gain : 0;
    for (int i = 0; i < dim; i++) {
        e[i] += back / dim;
        trace += e[i];
    }
    for (int i = 0; i < dim; i++) {
        deviator[i] = e[i] - trace / dim;
        norm += deviator[i] * deviator[i];
    }
    norm = sqrt(norm);
    bool tension = trace >= tip;
    double radius = law->stiffness * rp__elastoplastic_cone(law, *q) * hypot(fmin(0, trace - tip), apex), excess = fmax(0, norm - radius);
    for (int i = 0; i < dim; i++) /* at constant trace, case III; in tension to the trace of the tip, case II */
        e[i] = (tension ? tip : trace) / dim + (excess > 0 ? 1 - excess / norm : 1) * deviator[i];
    *gain = tension ? trace - tip : 0;
    *q += tension ? sqrt(excess * excess + (trace - tip - back) * (trace - tip - back) / dim) : excess;
    return tension ? 2 : excess > 0 ? 3 : 1;
}

rp__mat3 rp__elastoplastic_trial(const rp__mat3 *increment, const double strain[6], rp__mat3 *right)
{
    double values[3];
    rp__mat3 v, b, a = rp__mat3_identity();
    rp__math_eigen_sym3(strain, values, &v);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            b.m[i][j] = 0;
            a.m[i][j] += increment->m[i][j];
            for (int k = 0; k < 3; k++)
                b.m[i][j] += exp(2 * values[k]) * v.m[i][k] * v.m[j][k];
        }
    rp__mat3 transpose = rp__mat3_transpose(&a);
    *right = rp__mat3_multiply(&b, &transpose);
    return rp__mat3_multiply(&a, right);
}

/* The norm of the symmetric part. */
static double strain_size(const rp__mat3 *g)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += 0.25 * (g->m[i][j] + g->m[j][i]) * (g->m[i][j] + g->m[j][i]);
    return sqrt(sum);
}

int rp__elastoplastic_strain_ref(const rp__elastoplastic_law *law, int dim, bool correct_volume, const rp__mat3 *increment,
                                 double strain[6], double *q, double *gain)
{
    double values[3];
    rp__mat3 v, right, trial = rp__elastoplastic_trial(increment, strain, &right);
    double s[6] = { trial.m[0][0], trial.m[1][1], trial.m[2][2], trial.m[0][1], trial.m[0][2], trial.m[1][2] };
    double e[3], tip = rp__elastoplastic_tip(law, *q, *gain), apex = rp__elastoplastic_apex(law, strain_size(increment), *gain);
    int kase;
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    if (dim == 2) { /* the plane alone */
        double mean = 0.5 * (s[0] + s[1]), half = 0.5 * (s[0] - s[1]), radius = hypot(half, s[3]);
        double angle = 0.5 * atan2(s[3], half), c = cos(angle), n = sin(angle);
        e[0] = 0.5 * log(mean + radius), e[1] = 0.5 * log(mean - radius), e[2] = 0;
        kase = rp__elastoplastic_project(law, 2, tip, apex, e, q, gain, correct_volume);
        strain[0] = e[0] * c * c + e[1] * n * n;
        strain[1] = e[0] * n * n + e[1] * c * c;
        strain[3] = (e[0] - e[1]) * c * n;
        strain[2] = strain[4] = strain[5] = 0;
        return kase;
    }
    rp__math_eigen_sym3(s, values, &v);
    for (int i = 0; i < 3; i++)
        e[i] = 0.5 * log(values[i]);
    kase = rp__elastoplastic_project(law, 3, tip, apex, e, q, gain, correct_volume);
    for (int k = 0; k < 6; k++) {
        strain[k] = 0;
        for (int i = 0; i < 3; i++)
            strain[k] += e[i] * v.m[row[k]][i] * v.m[column[k]][i];
    }
    return kase;
}

/* ---- volumes ---- */

rp__elastoplastic_volumes rp__elastoplastic_find_volumes(const rp__elastoplastic_step *step, const rp__particles *p)
{
    rp__elastoplastic_volumes v = { .step = step, .material = p->material, .grains = p->volume, .mass = p->mass };
    v.gain = rp__particles_plane(p, step->first_field + RP_EP_VOLUME_GAIN, 0);
    for (int a = 0; a < 3; a++)
        v.strain[a] = rp__particles_plane(p, step->first_field + RP_EP_STRAIN, a);
    return v;
}

static double get(const rp__elastoplastic_volumes *v, const void *plane, int64_t i)
{
    return v->step->single ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

static void set(const rp__elastoplastic_volumes *v, void *plane, int64_t i, double value)
{
    if (v->step->single)
        ((float *)plane)[i] = (float)value;
    else
        ((double *)plane)[i] = value;
}

double rp__elastoplastic_gain(const rp__elastoplastic_volumes *v, int64_t i)
{
    return (double)v->gain[i];
}

double rp__elastoplastic_theta(const rp__elastoplastic_volumes *v, int64_t i)
{
    if (v->step->laws[v->material[i]].elastic)
        return 0;
    double theta = (double)v->gain[i];
    for (int a = 0; a < v->step->dim; a++)
        theta += get(v, v->strain[a], i);
    return theta;
}

static void add_theta(const rp__elastoplastic_volumes *v, int64_t i, double change)
{
    /* Open grains open further or close; what is left then is strain. */
    double gain = (double)v->gain[i], open = gain > 0 ? fmax(0, gain + change) - gain : 0;
    double rest = (change - open) / v->step->dim;
    v->gain[i] = (float)(gain + open);
    for (int a = 0; a < v->step->dim; a++)
        set(v, v->strain[a], i, get(v, v->strain[a], i) + rest);
}

/* sqrt(2 D:D) of the deviator D of the rate of strain: du/dy in simple shear. */
static double shear_rate(const rp__elastoplastic_volumes *v, int64_t i)
{
    double mean = 0, sum = 0;
    if (!v->rate[0])
        return 0;
    for (int a = 0; a < v->step->dim; a++)
        mean += (double)v->rate[a][i] / v->step->dim;
    for (int k = 0; k < 6; k++) {
        double r = (double)v->rate[k][i] - (k < v->step->dim ? mean : 0);
        sum += (k < 3 ? 2 : 4) * r * r;
    }
    return sqrt(sum);
}

/* A particle follows its volume by the gradients it has seen, and places of particles and their volumes drift apart: under a stream that
 * lands, what was gained in the fall is more than there is room, and closes to a packing of three and more. So the packing e that the
 * grid sees has a say, beyond the 5 % that sampling makes of it (as with the dual elements of nonsmooth, docs/dual.md, whose law and
 * constants these are, closure.h):
 *   what is too tight has no gap,                  gain = 0;
 *   and dilates where it is sheared,               d tr e = -z |shear rate| dt,  z = K (ln e - delta), at most mu^.
 * Friction then takes more than dilatancy gives; at rest, in translation and in rotation nothing happens. Beside walls and bodies the room is what
 * they leave (room.h). */
void rp__elastoplastic_settle(const rp__elastoplastic_volumes *v, int64_t i, const rp__elastoplastic_around *around)
{
    const rp__elastoplastic_law *law = &v->step->laws[v->material[i]];
    if (law->elastic)
        return;
    /* only where some have opened and others not: heaps stay at rest */
    double share = around->relax * around->gain / (around->gain + 1e-3);
    add_theta(v, i, share * (around->theta - rp__elastoplastic_theta(v, i)));
    if (!(around->density > 0))
        return; /* implicit steps do not ask the grid */
    double tight = log(fmax(1e-9, around->density * v->grains[i] * law->inverse_fraction / v->mass[i])), over = tight - RP_EP_DEAD_BAND;
    if (over > 0) {
        v->gain[i] = 0;
        double friction = law->cone * v->step->dim / RP_SQRT2, z = fmin(RP_EP_DILATANCY * over, friction);
        add_theta(v, i, -z * shear_rate(v, i) * around->time);
    }
}
