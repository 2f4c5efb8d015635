/* Grains in a Newtonian fluid, with or without a surface: two velocities, one pressure, the exact law of friction. The equations and how they
 * are solved: docs/diphasic.md. */
#include "diphasic/diphasic.h"

#include "base/error.h"
#include "diphasic/params.h"

#include <stddef.h>

#define AT(member) offsetof(rp__diphasic_params, member)

static const rp_param params[] = {
    { "tolerance", RP_REAL, AT(tolerance), 1e-4, 1e-14, 1, "", "of the mean residual of friction and pressure, in units of the typical stress",
      NULL },
    { "tolerance_max", RP_REAL, AT(tolerance_max), 1e-3, 1e-14, 1e6, "", "of the largest residual, in the same units", NULL },
    { "max_rounds", RP_INT, AT(max_rounds), 200, 1, 1e9, "", "rounds of friction and pressure a step at most; reaching it is reported", NULL },
    { "coupling", RP_ENUM, AT(coupling), RP__COUPLING_EFFECTIVE, 0, 1, "",
      "how friction and pressure are solved together: with effective stresses, or in turns (for comparison: slow where drag is strong)",
      "effective|alternate" },
    { "warm_start", RP_BOOL, AT(warm_start), 1, 0, 1, "", "start from the stresses and pressures of the last step", NULL },
    { "momentum", RP_BOOL, AT(momentum), 1, 0, 1, "", "extrapolate between rounds, with restarts", NULL },
    { "advection", RP_BOOL, AT(advection), 1, 0, 1, "", "the fluid carries its momentum along; without, slow flow", NULL },
    { "full_cells", RP_BOOL, AT(full_cells), 1, 0, 1, "",
      "exact integrals in cells that grains fill evenly; without, flow with strong drag locks (for comparison)", NULL },
    { "bending", RP_BOOL, AT(bending), 1, 0, 1, "",
      "stresses vary over cells, and friction holds what alternates between their corners; without, heaps creep (for comparison)", NULL },
    { "viscosity_tolerance", RP_REAL, AT(viscosity_tolerance), 1e-10, 1e-15, 1, "", "of the viscous solve, a part of its right side", NULL },
    { "stabilisation", RP_REAL, AT(stabilisation), 0.04, 0, 1, "",
      "how easily pressures that alternate between cells are answered, a part of what the ordinary Laplacian has; 0: they are free", NULL },
    { "dilatancy", RP_ENUM, AT(dilatancy), RP__DILATANCY_NONE, 0, 1, "",
      "whether packed grains change their volume as they are sheared: loose ones contract, dense ones expand", "none|roux_radjai" },
    { "dilatancy_slope", RP_REAL, AT(dilatancy_slope), 4, 0, 100, "",
      "tangent of the angle of dilatancy a unit of volume fraction beyond the critical one", NULL },
    { "critical_fraction", RP_REAL, AT(critical_fraction), 0.58, 0.01, 1, "", "volume fraction that grains sheared slowly come to", NULL },
    { "loosest_fraction", RP_REAL, AT(loosest_fraction), 0.54, 0.01, 1, "", "volume fraction from which on grains touch, with dilatancy", NULL },
    { "viscous_number", RP_REAL, AT(viscous_number), 0.005, 1e-9, 1e9, "",
      "J0 of the growth of friction from friction to friction_dynamic with J = viscosity of the fluid × shear rate / pressure of the grains", NULL },
    { "largest_dilatancy", RP_REAL, AT(largest_dilatancy), 0.4, 0, 2, "", "largest tangent of the angle of dilatancy", NULL },
    { 0 }
};

static const rp_field_info fields[] = {
    { "gradient", RP_F64, 9, "1/s", 0 },
    { "looseness", RP_F64, 1, "", 0 },
    { "packing", RP_F64, 1, "", 1 },
    { 0 }
};

/* diphasic.c is compiled once; the work is in files compiled for each dimension. */
#define VARIANT(d)                                                                                                  \
    rp_result rp__diphasic_create_##d(rp__world *, int, void **);                                                   \
    void rp__diphasic_destroy_##d(void *);                                                                          \
    rp_result rp__diphasic_born_##d(void *, rp__world *, int64_t, int64_t, double);                                 \
    double rp__diphasic_largest_step_##d(void *, const rp__world *, const char **);                                 \
    rp_result rp__diphasic_step_##d(void *, rp__world *, double, rp_step_stats *);                                  \
    rp_result rp__diphasic_save_##d(const void *, rp_state *);                                                      \
    rp_result rp__diphasic_restore_##d(void *, const rp_state *);                                                   \
    rp_result rp__diphasic_node_fields_##d(void *, const rp_field_view **, int *, int64_t *);                       \
    static rp_result save_##d(const void *state, const rp__world *world, rp_state *out)                             \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__diphasic_save_##d(state, out);                                                                   \
    }                                                                                                               \
    static rp_result restore_##d(void *state, rp__world *world, const rp_state *in)                                 \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__diphasic_restore_##d(state, in);                                                                 \
    }                                                                                                               \
    static rp_result grid_fields_##d(void *state, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes) \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__diphasic_node_fields_##d(state, views, count, nodes);                                            \
    }                                                                                                               \
    static const rp__method in_##d = { .create = rp__diphasic_create_##d,                                           \
        .destroy = rp__diphasic_destroy_##d,                                                                        \
        .born = rp__diphasic_born_##d,                                                                              \
        .largest_step = rp__diphasic_largest_step_##d,                                                              \
        .step = rp__diphasic_step_##d,                                                                              \
        .save = save_##d,                                                                                           \
        .restore = restore_##d,                                                                                     \
        .grid_fields = grid_fields_##d };
VARIANT(2d)
VARIANT(3d)

static const rp__method *variant(const rp_sim_def *def, const void *unused)
{
    (void)unused;
    return def->dim == 2 ? &in_2d : &in_3d;
}

static const char *const extras[] = { "take_off", "stick", "slide", "stress_unit", "divergence", "pressure_iterations",
                                      "viscosity_iterations", "alternating", "drag_x", "drag_y", "drag_z", "fluid_volume",
                                      "fluid_level", "level_mended", NULL };
static const char *const phases[] = { "gather", "carry", "prepare", "viscosity", "solve", "move", NULL };

const rp__method rp__diphasic_method = {
    .info = { .name = "diphasic",
              .summary = "grains in a fluid, with or without a surface: two velocities, one pressure, exact Coulomb friction",
              .params = params,
              .fields = fields,
              .extras = extras,
              .phases = phases },
    .params_size = sizeof(rp__diphasic_params),
    .dims = 1 << 2 | 1 << 3,
    .body_limit = RP__DIPHASIC_BODIES,
    .variant = variant,
};
