/* The method: parameters, fields, limits. The step is in step_dim.c and implicit_step_dim.c, the law in law.c
 * and law_kernel.c. */
#include "elastoplastic/elastoplastic.h"

#include "base/log.h"
#include "elastoplastic/step.h"

#include <math.h>

#define AT(member) offsetof(rp__elastoplastic_params, member)

static const rp_param table[] = {
    { "kernel", RP_ENUM, AT(kernel), 0, 0, 1, "", "shape functions of the grid", "quadratic|cubic" },
    { "transfer", RP_ENUM, AT(transfer), RP_EP_APIC, 0, 2, "", "how velocities go between particles and grid", "apic|flip|aflip" },
    { "flip", RP_REAL, AT(flip), 0.95, 0, 1, "",
      "part of FLIP in a blend with PIC (flip) or APIC (aflip, which loses less motion: 0.99 suits narrow openings)", NULL },
    { "storage", RP_ENUM, AT(storage), 0, 0, 1, "", "precision of the strain and the spin of a particle", "double|single" },
    { "wave", RP_REAL, AT(wave), 0.4, 0.01, 1, "", "cells that an elastic wave may cross in a step", NULL },
    { "volume_correction", RP_BOOL, AT(volume_correction), 1, 0, 1, "",
      "takes back the volume that separated grains gained, when they meet again", NULL },
    { "damping", RP_REAL, AT(damping), 0, 0, 1e6, "1/s",
      "rate at which all motion is damped, to reach rest sooner where only rest matters", NULL },
    { "volume_smoothing", RP_REAL, AT(volume_smoothing), 10, 0, 1e6, "1/s",
      "rate at which the volumes of neighbouring particles are made to agree", NULL },
    { "apex", RP_REAL, AT(apex), 1, 0, 10, "",
      "pressure over which the cone of what touches and rests is rounded at its tip, in units of the weight of a layer one cell thick", NULL },
    { "integrator", RP_ENUM, AT(integrator), RP_EP_EXPLICIT, 0, 1, "",
      "explicit steps are short and cheap; implicit ones pass the elastic wave", "explicit|implicit" },
    { "tolerance", RP_REAL, AT(tolerance), 1e-3, 1e-12, 1, "",
      "implicit: error of a velocity, in units of what gravity adds to it in a step", NULL },
    { "newton", RP_INT, AT(newton), 30, 1, 1e6, "", "implicit: Newton iterations a step at most; reaching it is reported", NULL },
    { "krylov", RP_INT, AT(krylov), 40, 1, 1e4, "", "implicit: GMRES iterations at most for each Newton iteration", NULL },
    { 0 },
};

#define STRAIN(type)                                                       \
    { "strain", type, 6, "", 1 },          /* Hencky, elastic part */      \
    { "hardening", RP_F32, 1, "", 1 },                                     \
    { "volume_gain", RP_F32, 1, "", 0 }    /* logarithmic */
#define EXPLICIT(type) { { "strain_rate", RP_F32, 6, "1/s", 0 }, STRAIN(type), { "spin", type, 3, "1/s", 0 }, { NULL, RP_F64, 0, NULL, 0 } }
#define IMPLICIT(type) { { "gradient", RP_F64, 9, "1/s", 0 }, STRAIN(type), { NULL, RP_F64, 0, NULL, 0 } }

static const rp_field_info explicit_double[] = EXPLICIT(RP_F64), explicit_single[] = EXPLICIT(RP_F32);
static const rp_field_info implicit_double[] = IMPLICIT(RP_F64), implicit_single[] = IMPLICIT(RP_F32);

const rp_field_info *rp__elastoplastic_field_list(const rp__elastoplastic_params *par)
{
    if (par->integrator == RP_EP_IMPLICIT)
        return par->storage == 0 ? implicit_double : implicit_single;
    return par->storage == 0 ? explicit_double : explicit_single;
}

static int fields(const rp_sim_def *def, const void *params, rp_field_info *out)
{
    const rp_field_info *list = rp__elastoplastic_field_list(params);
    int count = 0;
    (void)def;
    for (; list[count].name; count++)
        out[count] = list[count];
    return count;
}

/* Very stiff material is simulated as it is asked for, but the price is told. */
static void tell_price(const rp__world *world)
{
    enum { MANY = 10000 };
    const rp__elastoplastic_params *par = world->params;
    double dt = par->wave * rp__elastoplastic_wave_limit(world), steps = 1 / (world->def->frame_rate * dt), stiffest = 0;
    for (int m = 0; m < world->def->material_count; m++)
        stiffest = fmax(stiffest, world->materials[m].youngs_modulus);
    if (par->integrator == RP_EP_EXPLICIT && steps > MANY)
        RP_WARN("the elastic wave allows steps of %.2g s, %.2g a frame: a youngs_modulus of %.2g Pa instead of %.2g Pa takes a tenth of "
                "them and looks alike where strains stay small; 'integrator: implicit' is not bound to it", dt, steps, stiffest / 100,
                stiffest);
}

/* Grains of a thin stream are apart: they carry no load before they are pressed together by as much. */
static rp_result born(void *self, rp__world *world, int64_t first, int64_t count, double spacing)
{
    const rp__elastoplastic_params *par = world->params;
    const rp__particles *p = world->particles;
    (void)self;
    (void)spacing;
    if (!(world->fullness > 0 && world->fullness < 1) || !par->volume_correction)
        return RP_OK;
    double gain = -log(world->fullness);
    float *gains = rp__particles_plane(p, rp__particles_find(p, "volume_gain"), 0);
    for (int64_t i = first; i < first + count; i++)
        if (world->materials[p->material[i]].model != RP_MODEL_ELASTIC)
            gains[i] = (float)gain;
    return RP_OK;
}

/* h / sqrt((lambda + 2 mu) / rho), rho the bulk density. */
double rp__elastoplastic_wave_limit(const rp__world *world)
{
    double fastest = 0;
    for (int m = 0; m < world->def->material_count; m++) {
        const rp_material_def *material = &world->materials[m];
        rp__elastoplastic_law law = rp__elastoplastic_make_law(material, world->def->dim);
        fastest = fmax(fastest, sqrt((law.lame + 2 * law.shear) / (material->density * material->volume_fraction)));
    }
    return fastest > 0 ? world->def->cell_size / fastest : INFINITY;
}

static double largest_step(void *self, const rp__world *world, const char **reason)
{
    (void)self;
    const rp__elastoplastic_params *par = world->params;
    *reason = "wave";
    return par->integrator == RP_EP_IMPLICIT ? INFINITY : par->wave * rp__elastoplastic_wave_limit(world);
}

/* The functions of each dimension. */
#define VARIANT(d)                                                                         \
    static rp_result create_##d(rp__world *world, int first_field, void **out)             \
    {                                                                                      \
        tell_price(world);                                                                 \
        return rp__elastoplastic_create_##d(world, first_field, out);                      \
    }                                                                                      \
    static const rp__method in_##d = { .create = create_##d,                               \
                                       .destroy = rp__elastoplastic_destroy_##d,           \
                                       .born = born,                                       \
                                       .largest_step = largest_step,                       \
                                       .step = rp__elastoplastic_advance_##d,              \
                                       .save = rp__elastoplastic_save_##d,                 \
                                       .restore = rp__elastoplastic_restore_##d,           \
                                       .grid_fields = rp__elastoplastic_fields_##d };
VARIANT(2d)
VARIANT(3d)

static const rp__method *variant(const rp_sim_def *def, const void *params)
{
    (void)params;
    return def->dim == 2 ? &in_2d : &in_3d;
}

static const char *const extras[] = { "krylov", NULL }; /* of implicit steps */
static const char *const phases[] = { "sort", "to_grid", "solve", "grid", "to_particles", "plasticity", NULL };

const rp__method rp__elastoplastic_method = {
    .info = { .name = "elastoplastic",
              .summary = "Drucker–Prager elastoplasticity on a material point grid, after Klár et al. 2016",
              .params = table,
              .fields = explicit_double,
              .extras = extras,
              .phases = phases },
    .params_size = sizeof(rp__elastoplastic_params),
    .dims = 1 << 2 | 1 << 3,
    .fields = fields,
    .variant = variant,
};
