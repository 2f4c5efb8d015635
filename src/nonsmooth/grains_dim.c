/* What is kept of the grains from step to step. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

rp_result NS(grains_create)(const rp__world *world, int first_field, ns_grains **grains)
{
    if (world->def->body_count > 64) /* masks of bodies near a block */
        return rp__base_fail(RP_UNSUPPORTED, "the scene has %d bodies; the method nonsmooth takes at most 64", world->def->body_count);
    ns_grains *y = RP_NEW(ns_grains);
    if (!y)
        return RP_OUT_OF_MEMORY;
    y->params = world->params;
    y->first_field = first_field;
    y->lattice.h = world->def->cell_size;
    for (int a = 0; a < 3; a++) {
        y->lattice.origin[a] = world->def->lower[a];
        y->lattice.cells[a] = world->cells[a];
        y->lattice.periodic[a] = a < RP_DIM && world->def->wall[2 * a].kind == RP_PERIODIC;
    }
    y->oriented = rp__nonsmooth_oriented(world->def);
    *grains = y;
    return RP_OK;
}

void NS(grains_destroy)(ns_grains *grains)
{
    if (grains)
        rp__base_free(grains->remove);
    rp__base_free(grains);
}

static bool closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

void NS(bounds)(const ns_grains *y, const rp__world *world, double *low, double *high)
{
    for (int a = 0; a < RP_DIM; a++) {
        double h = y->lattice.h, size = h * (double)world->cells[a];
        low[a] = closed(world, 2 * a) ? y->lattice.origin[a] + 1e-6 * h : -INFINITY;
        high[a] = closed(world, 2 * a + 1) ? y->lattice.origin[a] + size - 1e-6 * h : INFINITY;
    }
}

rp_result NS(born)(ns_grains *y, rp__world *world, int64_t first, int64_t count, double spacing)
{
    rp__particles *p = world->particles;
    double *f[6], *size = rp__particles_f64(p, y->first_field + RP__NS_SIZE, 0);
    double *friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    double *cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    double *looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    double low[3], high[3];
    NS(bounds)(y, world, low, high);
    for (int c = 0; c < 6; c++)
        f[c] = rp__particles_f64(p, y->first_field + RP__NS_ELLIPSOID, c);
    y->born_count += count;
    for (int64_t i = first; i < first + count; i++) {
        y->born_volume += p->volume[i];
        const rp_material_def *m = &world->materials[p->material[i]];
        for (int c = 0; c < 3; c++)
            f[c][i] = c < RP_DIM ? 0.25 * spacing * spacing : 0;
        size[i] = 0.5 * spacing;
        friction[i] = rp_material_friction(m, RP_DIM);
        cohesion[i] = m->cohesion;
        double loose = pow(spacing, RP_DIM) * m->volume_fraction / p->volume[i] - 1;
        looseness[i] = loose > 1e-6 ? loose : 0;
        for (int a = 0; a < RP_DIM; a++) {
            p->x[a][i] = p->x[a][i] < low[a] ? low[a] : p->x[a][i];
            p->x[a][i] = p->x[a][i] > high[a] ? high[a] : p->x[a][i];
        }
    }
    if (y->oriented)
        NS(orient_born)(y, world, first, count);
    return RP_OK;
}

ns_law_kind NS(law_of)(const ns_grains *y, const rp__world *world)
{
    if (y->params->yield == RP__YIELD_LINEARISED)
        return NS_LAW_LINEARISED;
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].anisotropy > 0)
            return NS_LAW_ANISOTROPIC;
    return NS_LAW_ISOTROPIC;
}

bool NS(is_viscous)(const rp__world *world)
{
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].viscosity > 0)
            return true;
    return false;
}
