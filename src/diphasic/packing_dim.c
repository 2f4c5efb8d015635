/* How tightly the grains are packed: gaps that must close before they touch.
 *
 * Every particle carries the volume fraction of the material around it, which only the strain of its cell changes: counting particles in a
 * cell would make and close gaps by chance, and where drag is strong a gap closes so slowly that the cell is a suspension until then. */
#include "diphasic/system.h"

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
