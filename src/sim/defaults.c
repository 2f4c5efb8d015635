/* Default definitions and the material table. */
#include "base/param.h"
#include "sim/action.h"
#include "sim/settings.h"

#include <math.h>
#include <repose/sim.h>
#include <repose/version.h>
#include <string.h>

#define M(member) offsetof(rp_material_def, member)

static const rp_param material_table[] = {
    { "model", RP_ENUM, M(model), RP_MODEL_SAND, 0, 1, "", "what it is: grains, or an elastic solid (elastoplastic only)",
      "sand|elastic" },
    { "density", RP_REAL, M(density), 2500, 1e-3, 1e6, "kg/m3", "density of the grains themselves", NULL },
    { "bulk_density", RP_REAL, M(bulk_density), 0, 0, 1e6, "kg/m3",
      "density of the packed material; given, it replaces density × volume_fraction", NULL },
    { "volume_fraction", RP_REAL, M(volume_fraction), 0.6, 0.01, 1, "", "largest volume fraction of the grains", NULL },
    { "friction", RP_REAL, M(friction), -1, -1, 1e3, "",
      "friction √J2/p of the Drucker–Prager law; below zero: from friction_angle", NULL },
    { "friction_angle", RP_REAL, M(friction_angle), 30 * 0.017453292519943295, 0, 1.5533430342749532, "rad",
      "angle of internal friction, used when friction is not given", NULL },
    { "match", RP_ENUM, M(match), RP_MATCH_INSCRIBED, 0, 3, "",
      "which Drucker–Prager cone stands for the friction angle in 3D; slope, in 2D too: the one whose slopes rest at that angle",
      "inscribed|middle|circumscribed|slope" },
    { "friction_dynamic", RP_REAL, M(friction_dynamic), -1, -1, 1e3, "",
      "friction at large inertial number, of the mu(I) law; below zero: constant friction", NULL },
    { "inertial_number", RP_REAL, M(inertial_number), 0.279, 1e-9, 1e9, "",
      "I0 of the mu(I) law, with I = shear rate × diameter × √(grain density / pressure)", NULL },
    { "grain_diameter", RP_REAL, M(grain_diameter), 1e-3, 1e-9, 1e3, "m",
      "diameter of a grain: of the mu(I) law, and of grains in pictures", NULL },
    { "drawn", RP_REAL, M(drawn), 1, 0.01, 100, "",
      "size of its particles in pictures, times that of their volume: for grains so few that they would not be seen", NULL },
    { "viscosity", RP_REAL, M(viscosity), 0, 0, 1e12, "Pa s", "Newtonian viscosity of the flowing grains", NULL },
    { "cohesion", RP_REAL, M(cohesion), 0, 0, 1e12, "Pa", "pressure that holds the grains together", NULL },
    { "cohesion_decay", RP_REAL, M(cohesion_decay), 0, 0, 1e9, "",
      "part of the cohesion lost for each unit of strain (dc/dt = -decay × strain rate × c)", NULL },
    { "anisotropy", RP_REAL, M(anisotropy), 0, 0, 0.99, "", "how much the orientation of flat grains changes friction", NULL },
    { "elongation", RP_REAL, M(elongation), 0.9, 0, 1, "", "how strongly flat grains align with the flow", NULL },
    { "orientation", RP_VEC3, M(orientation), 0, -1e300, 1e300, "",
      "common normal of flat grains at the start; [0, 0, 0] for random", NULL },
    { "youngs_modulus", RP_REAL, M(youngs_modulus), 3.537e5, 1, 1e12, "Pa", "stiffness (elastoplastic)", NULL },
    { "poisson_ratio", RP_REAL, M(poisson_ratio), 0.3, 0, 0.499, "", "Poisson's ratio (elastoplastic)", NULL },
    { "h0", RP_REAL, M(hardening[0]), 0, 0, 90, "", "hardening law, degrees: angle = h0 + (h1 q - h3) exp(-h2 q)", NULL },
    { "h1", RP_REAL, M(hardening[1]), 0, 0, 90, "", "hardening law, degrees", NULL },
    { "h2", RP_REAL, M(hardening[2]), 0, 0, 1e3, "", "hardening law, rate", NULL },
    { "h3", RP_REAL, M(hardening[3]), 0, 0, 90, "", "hardening law, degrees", NULL },
    { "colour", RP_TEXT, M(colour), 0, 0, 0, "", "colours in pictures: 'sand', '#rrggbb', or a palette's name", "sand" },
    { 0 },
};

const rp_param *rp_material_table(void)
{
    return material_table;
}

rp_material_def rp_default_material_def(void)
{
    rp_material_def material;
    memset(&material, 0, sizeof material);
    rp__param_defaults(material_table, &material);
    material.cookie = RP__SIM_COOKIE;
    return material;
}

/* The Drucker–Prager coefficient of a friction angle   [daviet2016, appendix A]. Grains that neither dilate nor contract shear
 * on planes at 45 degrees to the principal stresses, where shear over normal stress is √J2/p itself: a slope of the angle phi
 * has √J2/p = tan phi. */
double rp_material_friction(const rp_material_def *material, int dim)
{
    if (material->friction >= 0)
        return material->friction;
    double s = sin(material->friction_angle);
    if (material->match == RP_MATCH_SLOPE)
        return tan(material->friction_angle);
    if (dim == 2)
        return s;
    switch (material->match) {
    case RP_MATCH_CIRCUMSCRIBED:
        return 2 * sqrt(3) * s / (3 - s);
    case RP_MATCH_MIDDLE:
        return 2 * sqrt(3) * s / (3 + s);
    default:
        return s / sqrt(1 + s * s / 3);
    }
}

rp_sim_def rp_default_sim_def(void)
{
    rp_sim_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.dim = 3;
    def.upper[0] = def.upper[1] = def.upper[2] = 1;
    def.cell_size = 0.05;
    def.gravity[2] = -9.81;
    for (int f = 0; f < 6; f++)
        def.wall[f].kind = RP_SLIP;
    def.method = "nonsmooth";
#define INITIAL(member, type, initial, ...) def.member = initial;
    RP__SIM_SETTINGS(INITIAL, INITIAL, INITIAL)
#undef INITIAL
    def.log_least = RP_LOG_INFO;
    return def;
}

rp_body_def rp_default_body_def(void)
{
    rp_body_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.name = "";
    def.density = 2000;
    def.surface.kind = RP_FRICTIONAL;
    def.surface.friction = 0.5;
    def.joint_axis[2] = 1;
    def.start = -INFINITY;
    def.stop = INFINITY;
    def.colour[0] = def.colour[1] = def.colour[2] = 0.6;
    return def;
}

rp_grains_def rp_default_grains_def(void)
{
    rp_grains_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.name = "";
    def.sampling = RP_JITTERED;
    def.per_cell = 8;
    def.fill = 1;
    return def;
}

rp_emitter_def rp_default_emitter_def(void)
{
    rp_emitter_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.name = "";
    def.start = -INFINITY;
    def.stop = INFINITY;
    def.sampling = RP_JITTERED;
    def.per_cell = 8;
    def.fill = 1;
    return def;
}

rp_sink_def rp_default_sink_def(void)
{
    rp_sink_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.name = "";
    def.start = -INFINITY;
    def.stop = INFINITY;
    return def;
}

const char *rp_version(void)
{
    return RP_VERSION_TEXT;
}
