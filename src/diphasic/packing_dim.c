/* How tightly the grains are packed: gaps that must close before they touch, and dilatancy   [roux1998; pailha2009].
 *
 *   tan ψ = K (φ - φ_eq(J)),   φ_eq = φ_c / (1 + √J),   J = η γ̇ / p_c,   ∇·u = γ̇ tan ψ
 *
 * Every particle carries the volume fraction of the material around it, which only the strain of its cell changes: counting particles in a
 * cell would make and close gaps by chance, and where drag is strong a gap closes so slowly that the cell is a suspension until then. */
#include "diphasic/system.h"

#include "exec/exec.h"

/* Looseness follows the volume of the material: it opens as the cell expands, the same for all; as the cell shrinks what
 * is loosest gives most, so that the cell as a whole is packed when its gap is closed, and grains that touch stay so. `part` is the
 * change of the bulk volume of the cell. What the tolerance of the solver lets go too far is kept as a looseness below zero, and given
 * back in the next step: errors do not add up. */
DP_INLINE double follow(const dp_stress *s, double loose, double part)
{
    double sum = s->loose + s->coming, left = (s->volume + sum) * (1 + part) - s->volume; /* of V s before and after the step */
    if (part >= 0 || s->loose <= 0)
        loose = (1 + loose) * (1 + part) - 1;
    else
        loose = left > 0 ? loose * left / s->loose : left / s->volume;
    return loose > -0.5 ? loose : -0.5;
}

static double touching_fraction(const dp_system *y, const rp_material_def *material)
{
    bool dilates = y->params->dilatancy != RP__DILATANCY_NONE && y->params->loosest_fraction < material->volume_fraction;
    return dilates ? y->params->loosest_fraction : material->volume_fraction;
}

double DP(born_looseness)(const dp_system *y, const rp_material_def *material, double phi)
{
    double loose = touching_fraction(y, material) / phi - 1;
    return loose > 1e-6 ? loose : 0;
}

void DP(follow_volume)(const dp_system *y, const rp__world *world, const dp_stress *s, double part, int64_t i, double *loose, double *packing)
{
    const rp_material_def *material = &world->materials[world->particles->material[i]];
    double touching = touching_fraction(y, material);
    if (touching == material->volume_fraction) {
        *loose = follow(s, *loose, part);
        *loose = fmax(*loose, touching / s->densest - 1); /* no more tightly than what is around (closure.h) */
        *packing = touching / (1 + (*loose > 0 ? *loose : 0));
        return;
    }
    /* with dilatancy grains that touch may be packed more or less tightly */
    *packing /= 1 + part > 0.1 ? 1 + part : 0.1;
    *packing = fmin(*packing, fmin(material->volume_fraction, s->densest));
    *loose = touching / *packing - 1;
    *loose = *loose > 0 ? *loose : 0;
}

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
} job;

/* κ e of a cell that is packed at all its corners (partly filled ones look loose). e is the direction of shear against which friction will act,
 * that of γ_T/W_TT - λ_T: where grains hardly move the stress before the step tells it, where they touched nothing the strain. Below half of
 * what friction can carry nothing shears, and the tilt fades out. J is taken with the mean of contact pressure and load: grains that have
 * just lost touch would otherwise dilate as if they were sheared without pressure, and those that find it again contract, in turns. */
static void tilt(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    const rp__diphasic_params *par = y->params;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        double sum[DP_S] = { 0 }, gamma[DP_S], rate = 0, length = 0, unit = 0, phi = s->packing / s->volume;
        double pressure = 0.5 * DP_CONTACT * (s->lambda[0] + s->load) * phi; /* of the grains on all of the area */
        bool packed = !(s->loose > 0);
        for (int n = 0; n < DP_CORNERS; n++) {
            const dp_node *j = &y->node[s->node[n]];
            packed = packed && y->phi[s->node[n]] >= 0.9 * par->loosest_fraction;
            dp_add_strain(j->u, s->g[n], sum);
            for (int a = 0; a < RP_DIM; a++)
                unit += 0.5 * w->dt * j->m[a] * s->g[n][a] * s->g[n][a];
        }
        dp_coefficients(sum, gamma);
        for (int i = 1; i < DP_S; i++) {
            rate += gamma[i] * gamma[i];
            gamma[i] = unit > 0 ? gamma[i] / unit - s->lambda[i] : 0;
            length += gamma[i] * gamma[i];
        }
        rate = 2 * sqrt(rate) / s->extent, length = sqrt(length);
        if (!packed || !(length > 0) || !(pressure > 0))
            continue;
        double root = sqrt(w->world->def->fluid->viscosity * rate / pressure), equal = par->critical_fraction / (1 + root);
        double slope = par->dilatancy_slope * (phi - equal), most = par->largest_dilatancy;
        double part = s->lambda[0] > 0 ? 2 * length / (s->mu * s->lambda[0]) - 1 : 1;
        double least = fmin(most, 0.9 * s->mu / DP_CONTACT); /* contraction never turns friction round */
        slope = slope > most ? most : slope < -least ? -least : slope;
        part = part < 0 ? 0 : part > 1 ? 1 : part;
        slope *= part;
        for (int i = 1; i < DP_S; i++)
            s->tilt[i] = DP_CONTACT * slope * gamma[i] / length;
        for (int i = 1; i < DP_S; i++)
            s->lambda[i] += s->tilt[i] * s->lambda[0];
    }
}

void DP(set_tilt)(dp_system *y, const rp__world *world, double dt)
{
    job w = { y, world, dt };
    if (y->params->dilatancy != RP__DILATANCY_NONE)
        rp__exec_for(y->stress_count, 256, tilt, &w);
}
