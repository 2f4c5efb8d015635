/* The method of Daviet and Bertails-Descoubes [daviet2016]: semi-implicit, with the exact law of friction. */
#include "nonsmooth/nonsmooth.h"

#include "base/error.h"
#include "base/log.h"
#include "nonsmooth/dual_closure.h"
#include "nonsmooth/params.h"

bool rp__nonsmooth_oriented(const rp_sim_def *def);

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(rp__nonsmooth_params, member)

static const rp_param params[] = {
    { "stress", RP_ENUM, AT(stress), RP__STRESS_AUTO, 0, 3, "",
      "where stresses live: in the dual cells around the nodes (constant, with velocities in quadratic splines), at the nodes (trilinear) or in "
      "the cells (constant); auto: dual, but node for what dual does not know",
      "auto|dual|node|cell" },
    { "yield", RP_ENUM, AT(yield), RP__YIELD_EXACT, 0, 1, "",
      "yield surface: the exact cone, or each coefficient of the stress with a bound of its own (for comparison: friction then depends on the "
      "direction against the grid)",
      "exact|linearised" },
    { "compaction", RP_ENUM, AT(compaction), RP__COMPACT_FRACTION, 0, 1, "",
      "when grains resist compression: from the largest volume fraction on, or at once wherever they are (the dense model, for comparison)",
      "volume_fraction|divergence" },
    { "orientation", RP_ENUM, AT(orientation), RP__ORIENT_NORMALS, 0, 1, "",
      "how flat grains align with the flow: their normals turn as those of discs, or their planes as rods", "normals|planes" },
    { "viscosity", RP_ENUM, AT(viscosity), RP__VISCOSITY_SPLIT, 0, 1, "",
      "viscous flow before friction, or both at once in rounds of linear and friction solves (for large viscosity; slower)", "split|coupled" },
    { "tolerance", RP_REAL, AT(tolerance), 1e-4, 1e-14, 1, "", "of the mean residual of the friction problem, in units of the typical stress",
      NULL },
    { "tolerance_max", RP_REAL, AT(tolerance_max), 2e-3, 1e-14, 1e6, "", "of the largest residual, in the same units", NULL },
    { "max_iterations", RP_INT, AT(max_iterations), 500, 1, 1e9, "", "sweeps a step at most; reaching it is reported", NULL },
    { "min_iterations", RP_INT, AT(min_iterations), 4, 1, 1e6, "", "sweeps a step at least", NULL },
    { "local_solver", RP_ENUM, AT(local_solver), 0, 0, 2, "",
      "of one stress: the root in the frame of its operator, the general one of the friction library, or Newton's method on the modified "
      "Fischer-Burmeister function (slow, for comparison)",
      "root|general|newton" },
    { "solver", RP_ENUM, AT(solver), 0, 0, 7, "",
      "the sweeps on the grid alone, or first a solver of the friction library (matrix-free), whose answer the sweeps check and finish",
      "sweeps|auto|gs|pg|apgd|spg|cadoux|admm" },
    { "warm_start", RP_BOOL, AT(warm_start), 1, 0, 1, "", "start from the stresses of the last step", NULL },
    { "rest", RP_REAL, AT(rest), 2, 0, 1e3, "", "velocities below this many times what the tolerance leaves undecided are zero", NULL },
    { "momentum", RP_BOOL, AT(momentum), 1, 0, 1, "", "extrapolate between sweeps, with restarts", NULL },
    { "dilatancy", RP_REAL, AT(dilatancy), DU_DILATANCY, 0, 100, "",
      "what is packed too tightly opens as it is sheared, by this times the shear and the excess of packing; loose grains inside close", NULL },
    { "volume_tolerance", RP_REAL, AT(volume_tolerance), 0.01, 0, 1, "",
      "over-packing that is left alone, a part of the largest volume fraction", NULL },
    { "static_cohesion", RP_REAL, AT(static_cohesion), 0.3, 0, 10, "",
      "what touches and rests holds together by this part of the weight of a layer one cell thick", NULL },
    { "dead_band", RP_REAL, AT(dead_band), DU_DEAD_BAND, 0, 1, "",
      "deviations of the packing that are left alone (other stresses than dual: below the largest volume fraction)", NULL },
    { "apex", RP_REAL, AT(apex), DU_APEX, 0, 100, "",
      "stress dual: rounding of the apex of the cone where grains rest, in units of the weight of a layer one cell thick", NULL },
    { "apex_rate", RP_REAL, AT(apex_rate), DU_APEX_RATE, 1e-9, 100, "",
      "stress dual: strain rate at which that rounding is gone, in units of sqrt(g / h)", NULL },
    { "split", RP_BOOL, AT(split), 1, 0, 1, "", "split particles that are drawn out", NULL },
    { "merge", RP_BOOL, AT(merge), 1, 0, 1, "", "merge small particles that are close", NULL },
    { "split_ratio", RP_REAL, AT(split_ratio), 6, 1.5, 100, "", "longest over shortest semi-axis of a particle that is split", NULL },
    { "most_per_cell", RP_INT, AT(most_per_cell), 64, 1, 1e6, "", "particles in a cell above which none is split and any pair may merge", NULL },
    { "dump_problems", RP_INT, AT(dump_problems), 0, 0, 1e9, "",
      "write the friction problems of so many steps, from the first on, in FCLIB form", NULL },
    { "dump_every", RP_INT, AT(dump_every), 1, 1, 1e9, "", "steps from one written problem to the next", NULL },
    { "dump_folder", RP_TEXT, AT(dump_folder), 0, 0, 0, "", "where to write them, in the folder of the run", "problems" },
    { 0 }
};

static const rp_field_info fields[] = {
    { "gradient", RP_F64, 9, "1/s", 0 },
    { "ellipsoid", RP_F64, 6, "m2", 1 },
    { "size", RP_F64, 1, "m", 0 },
    { "friction", RP_F64, 1, "", 1 },
    { "cohesion", RP_F64, 1, "Pa", 1 },
    { "looseness", RP_F64, 1, "", 0 },
    { "orientation", RP_F64, 6, "", 1 },
    { 0 }
};

/* A material is anisotropic, or may become so. */
bool rp__nonsmooth_oriented(const rp_sim_def *def)
{
    for (int m = 0; m < def->material_count; m++)
        if (def->materials[m].anisotropy > 0)
            return true;
    for (int k = 0; k < def->material_key_count; k++)
        if (strcmp(def->material_keys[k].parameter, "anisotropy") == 0)
            return true;
    return false;
}

static bool needs(const rp_sim_def *def, const char *field)
{
    return strcmp(field, "orientation") != 0 || rp__nonsmooth_oriented(def);
}

/* What a scene asks for that `stress: dual` does not know, or NULL. */
static const char *beyond_dual(const rp_sim_def *def, const rp__nonsmooth_params *p)
{
    if (p->solver != RP__SOLVER_SWEEPS)
        return "a `solver` of the friction library";
    if (p->local_solver != RP__LOCAL_ROOT)
        return "a `local_solver` other than `root`";
    if (p->dump_problems > 0)
        return "`dump_problems`";
    (void)def;
    return NULL;
}

static bool takes_dual(const rp_sim_def *def, const rp__nonsmooth_params *p)
{
    return p->stress == RP__STRESS_DUAL || (p->stress == RP__STRESS_AUTO && !beyond_dual(def, p));
}

/* Dual elements that were asked for by name are refused what they do not know; else those at the nodes take their place. */
static rp_result check_elements(const rp__world *world)
{
    const rp__nonsmooth_params *p = world->params;
    const char *beyond = p->stress == RP__STRESS_AUTO || p->stress == RP__STRESS_DUAL ? beyond_dual(world->def, p) : NULL;
    if (beyond && p->stress == RP__STRESS_DUAL)
        return rp__base_fail(RP_UNSUPPORTED, "`stress: dual` does not support %s; use `stress: node`", beyond);
    if (beyond)
        RP_INFO("stresses at the nodes: dual cells do not know %s", beyond);
    return RP_OK;
}

/* nonsmooth.c is compiled once; the work is in files compiled for each dimension, for elements at the nodes and for dual ones. */
#define VARIANT(name, d)                                                                                            \
    rp_result rp__nonsmooth_##name##create_##d(rp__world *, int, void **);                                          \
    void rp__nonsmooth_##name##destroy_##d(void *);                                                                 \
    rp_result rp__nonsmooth_##name##born_##d(void *, rp__world *, int64_t, int64_t, double);                        \
    double rp__nonsmooth_##name##largest_step_##d(const void *, const rp__world *);                                 \
    rp_result rp__nonsmooth_##name##step_##d(void *, rp__world *, double, rp_step_stats *);                         \
    rp_result rp__nonsmooth_##name##save_##d(const void *, rp_state *);                                             \
    rp_result rp__nonsmooth_##name##restore_##d(void *, const rp_state *);                                          \
    rp_result rp__nonsmooth_##name##node_fields_##d(void *, const rp_field_view **, int *, int64_t *);              \
    static rp_result name##make_##d(rp__world *world, int first_field, void **state)                                \
    {                                                                                                               \
        RP_TRY(check_elements(world));                                                                              \
        return rp__nonsmooth_##name##create_##d(world, first_field, state);                                         \
    }                                                                                                               \
    static double name##largest_step_##d(void *state, const rp__world *world, const char **reason)                  \
    {                                                                                                               \
        *reason = "start";                                                                                          \
        return rp__nonsmooth_##name##largest_step_##d(state, world);                                                \
    }                                                                                                               \
    static rp_result name##save_##d(const void *state, const rp__world *world, rp_state *out)                       \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__nonsmooth_##name##save_##d(state, out);                                                          \
    }                                                                                                               \
    static rp_result name##restore_##d(void *state, rp__world *world, const rp_state *in)                           \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__nonsmooth_##name##restore_##d(state, in);                                                        \
    }                                                                                                               \
    static rp_result name##grid_fields_##d(void *state, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes) \
    {                                                                                                               \
        (void)world;                                                                                                \
        return rp__nonsmooth_##name##node_fields_##d(state, views, count, nodes);                                   \
    }                                                                                                               \
    static const rp__method name##in_##d = { .create = name##make_##d,                                              \
        .destroy = rp__nonsmooth_##name##destroy_##d,                                                               \
        .born = rp__nonsmooth_##name##born_##d,                                                                     \
        .largest_step = name##largest_step_##d,                                                                     \
        .step = rp__nonsmooth_##name##step_##d,                                                                     \
        .save = name##save_##d,                                                                                     \
        .restore = name##restore_##d,                                                                               \
        .grid_fields = name##grid_fields_##d };
VARIANT(, 2d)
VARIANT(, 3d)
VARIANT(dual_, 2d)
VARIANT(dual_, 3d)

static const rp__method *variant(const rp_sim_def *def, const void *own)
{
    if (takes_dual(def, own))
        return def->dim == 2 ? &dual_in_2d : &dual_in_3d;
    return def->dim == 2 ? &in_2d : &in_3d;
}

static int scene_fields(const rp_sim_def *def, const void *unused, rp_field_info *out)
{
    int count = 0;
    (void)unused;
    for (const rp_field_info *f = fields; f->name; f++)
        if (needs(def, f->name))
            out[count++] = *f;
    return count;
}

static const char *const extras[] = { "take_off",
                                      "stick",
                                      "slide",
                                      "contacts",
                                      "stress_scale",
                                      "library_iterations",
                                      "viscosity_iterations",
                                      "viscosity_rounds",
                                      "dissipated_power",
                                      "energy_made",
                                      "split",
                                      "merged",
                                      NULL };
static const char *const phases[] = { "sort", "assemble", "prepare", "viscosity", "frames", "solve", "keep", "volume", "advect", "split", NULL };

const rp__method rp__nonsmooth_method = {
    .info = { .name = "nonsmooth",
              .summary = "semi-implicit material points with exact Coulomb friction (Daviet and Bertails-Descoubes 2016)",
              .params = params,
              .fields = fields,
              .extras = extras,
              .phases = phases },
    .params_size = sizeof(rp__nonsmooth_params),
    .dims = 1 << 2 | 1 << 3,
    .body_limit = 64,
    .fields = scene_fields,
    .variant = variant,
};
