/* The method of Daviet and Bertails-Descoubes [daviet2016]: semi-implicit, with the exact law of friction. */
#include "nonsmooth/nonsmooth.h"

#include "base/error.h"
#include "nonsmooth/closure.h"
#include "nonsmooth/params.h"

bool rp__nonsmooth_oriented(const rp_sim_def *def);

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(rp__nonsmooth_params, member)

static const rp_param params[] = {
    { "stress", RP_ENUM, AT(stress), RP__STRESS_DUAL, 0, 1, "",
      "where stresses live: in the dual cells around the nodes (constant, with velocities in quadratic splines), or at the nodes as in the paper "
      "(trilinear, and none of the rules below: for comparison)",
      "dual|node" },
    { "yield", RP_ENUM, AT(yield), RP__YIELD_EXACT, 0, 1, "",
      "yield surface: the exact cone, or each coefficient of the stress with a bound of its own (for comparison: friction then depends on the "
      "direction against the grid)",
      "exact|linearised" },
    { "compaction", RP_ENUM, AT(compaction), RP__COMPACT_FRACTION, 0, 1, "",
      "when grains resist compression: from the largest volume fraction on, or at once wherever they are (the dense model, for comparison)",
      "volume_fraction|divergence" },
    { "orientation", RP_ENUM, AT(orientation), RP__ORIENT_NORMALS, 0, 1, "",
      "how flat grains align with the flow: their normals turn as those of discs, or their planes as rods", "normals|planes" },
    { "tolerance", RP_REAL, AT(tolerance), 1e-4, 1e-14, 1, "", "of the mean residual of the friction problem, in units of the typical stress",
      NULL },
    { "tolerance_max", RP_REAL, AT(tolerance_max), 2e-3, 1e-14, 1e6, "", "of the largest residual, in the same units", NULL },
    { "max_iterations", RP_INT, AT(max_iterations), 1000, 1, 1e9, "", "sweeps a step at most; reaching it is reported", NULL },
    { "min_iterations", RP_INT, AT(min_iterations), 4, 1, 1e6, "", "sweeps a step at least", NULL },
    { "warm_start", RP_BOOL, AT(warm_start), 1, 0, 1, "", "start from the stresses of the last step", NULL },
    { "momentum", RP_BOOL, AT(momentum), 1, 0, 1, "", "extrapolate between sweeps, with restarts", NULL },
    { "dilatancy", RP_REAL, AT(dilatancy), DU_DILATANCY, 0, 100, "",
      "what is packed too tightly opens as it is sheared, by this times the shear and the excess of packing; loose grains inside close", NULL },
    { "dead_band", RP_REAL, AT(dead_band), DU_DEAD_BAND, 0, 1, "", "deviations of the packing that are left alone", NULL },
    { "apex", RP_REAL, AT(apex), DU_APEX, 0, 100, "",
      "rounding of the apex of the cone where grains rest, in units of the weight of a layer one cell thick", NULL },
    { "apex_rate", RP_REAL, AT(apex_rate), DU_APEX_RATE, 1e-9, 100, "",
      "strain rate at which that rounding is gone, in units of sqrt(g / h)", NULL },
    { "split", RP_BOOL, AT(split), 1, 0, 1, "", "split particles that are drawn out", NULL },
    { "whole_room", RP_BOOL, AT(whole_room), 1, 0, 1, "",
      "stress dual: where grains fill the room it counts whole, also the slivers beside bodies in which no particle lies", NULL },
    { "ties", RP_BOOL, AT(ties), 1, 0, 1, "",
      "stress dual: velocities outside the free surface go on as a line from those inside, so that the stresses can carry every node", NULL },
    { "merge", RP_BOOL, AT(merge), 1, 0, 1, "", "merge small particles that are close", NULL },
    { "split_ratio", RP_REAL, AT(split_ratio), 6, 1.5, 100, "", "longest over shortest semi-axis of a particle that is split", NULL },
    { "most_per_cell", RP_INT, AT(most_per_cell), 64, 1, 1e6, "", "particles in a cell above which none is split and any pair may merge", NULL },
    { "dump_problems", RP_INT, AT(dump_problems), 0, 0, 1e9, "",
      "write the friction problems of so many steps, from the first on, in FCLIB form, with the answer of the step", NULL },
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

/* nonsmooth.c is compiled once; the work is in files compiled for each dimension. */
#define VARIANT(d)                                                                                                   \
    rp_result rp__nonsmooth_dual_create_##d(rp__world *, int, void **);                                              \
    void rp__nonsmooth_dual_destroy_##d(void *);                                                                     \
    rp_result rp__nonsmooth_dual_born_##d(void *, rp__world *, int64_t, int64_t, double);                            \
    rp_result rp__nonsmooth_dual_step_##d(void *, rp__world *, double, rp_step_stats *);                             \
    rp_result rp__nonsmooth_dual_save_##d(const void *, rp_state *);                                                 \
    rp_result rp__nonsmooth_dual_restore_##d(void *, const rp_state *);                                              \
    rp_result rp__nonsmooth_dual_node_fields_##d(void *, const rp_field_view **, int *, int64_t *);                  \
    static rp_result save_##d(const void *state, const rp__world *world, rp_state *out)                              \
    {                                                                                                                \
        (void)world;                                                                                                 \
        return rp__nonsmooth_dual_save_##d(state, out);                                                              \
    }                                                                                                                \
    static rp_result restore_##d(void *state, rp__world *world, const rp_state *in)                                  \
    {                                                                                                                \
        (void)world;                                                                                                 \
        return rp__nonsmooth_dual_restore_##d(state, in);                                                            \
    }                                                                                                                \
    static rp_result grid_fields_##d(void *state, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes) \
    {                                                                                                                \
        (void)world;                                                                                                 \
        return rp__nonsmooth_dual_node_fields_##d(state, views, count, nodes);                                       \
    }                                                                                                                \
    static const rp__method in_##d = { .create = rp__nonsmooth_dual_create_##d,                                      \
                                       .destroy = rp__nonsmooth_dual_destroy_##d,                                    \
                                       .born = rp__nonsmooth_dual_born_##d,                                          \
                                       .step = rp__nonsmooth_dual_step_##d,                                          \
                                       .save = save_##d,                                                             \
                                       .restore = restore_##d,                                                       \
                                       .grid_fields = grid_fields_##d };
VARIANT(2d)
VARIANT(3d)

static const rp__method *variant(const rp_sim_def *def, const void *own)
{
    (void)own;
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
                                      "dissipated_power",
                                      "energy_made",
                                      "split",
                                      "merged",
                                      "library_residual",
                                      NULL };
static const char *const phases[] = { "sort", "assemble", "rooms", "prepare", "contacts", "solve", "keep", "advect", "split", NULL };

/* Parameters of former versions, and what takes their place. */
static const char *const removed[] = { "static_cohesion", "`apex` rounds the tip of the cone where grains rest",
                                       "volume_tolerance", "`dead_band` is the deviation of the packing that is left alone",
                                       "rest", "grains at rest are solved to a tenth of `tolerance`, nothing is set to zero",
                                       "viscosity", "viscosity and friction are one problem",
                                       "solver", "`dump_problems` writes problems that `repose friction` solves with every solver",
                                       "local_solver", "`dump_problems` writes problems that `repose friction` solves with every solver of one contact",
                                       NULL };

const rp__method rp__nonsmooth_method = {
    .info = { .name = "nonsmooth",
              .summary = "semi-implicit material points with exact Coulomb friction (Daviet and Bertails-Descoubes 2016)",
              .params = params,
              .fields = fields,
              .extras = extras,
              .phases = phases,
              .removed = removed },
    .params_size = sizeof(rp__nonsmooth_params),
    .dims = 1 << 2 | 1 << 3,
    .body_limit = 64,
    .fields = scene_fields,
    .variant = variant,
};
