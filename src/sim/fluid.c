/* The fluid between the grains: its tables and defaults. */
#include "base/param.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <repose/sim.h>
#include <string.h>

#define LARGE 1e300

#define F(member) offsetof(rp_fluid_def, member)
static const rp_param fluid_table[] = {
    { "density", RP_REAL, F(density), 1000, 1e-6, 1e6, "kg/m3", "of the fluid", NULL },
    { "viscosity", RP_REAL, F(viscosity), 1e-3, 0, 1e9, "Pa s", "of the fluid, Newtonian", NULL },
    { "drag", RP_ENUM, F(drag), RP_DRAG_ERGUN, 0, 3, "", "how grains and fluid hold on to each other",
      "ergun|carman_kozeny|richardson_zaki|gidaspow" },
    { "drag_exponent", RP_REAL, F(drag_exponent), 4.65, 2, 10, "",
      "n of richardson_zaki: grains settle with (1 - volume fraction)^n times the speed of one alone", NULL },
    { "thickening", RP_ENUM, F(thickening), RP_THICKEN_EINSTEIN, 0, 3, "",
      "how grains add to the viscosity: 1 + 5/2 phi, Boyer's law of dense suspensions, Krieger and Dougherty's",
      "none|einstein|boyer|krieger" },
    { "added_mass", RP_REAL, F(added_mass), 0, 0, 10, "", "fluid that grains carry along when they speed up, a part of their volume (1/2 for spheres)",
      NULL },
    { "velocity", RP_VEC3, F(velocity), 0, -LARGE, LARGE, "m/s", "at the start", NULL },
    { "drive", RP_VEC3, F(drive), 0, -LARGE, LARGE, "Pa/m", "fall of the pressure along the domain that drives the flow, where no wall does",
      NULL },
    { 0 },
};

#define W(member) offsetof(rp_fluid_wall, member)
static const rp_param wall_table[] = {
    { "kind", RP_ENUM, W(kind), RP_FLUID_AUTO, 0, 4, "",
      "slip: nothing passes; no_slip: and the fluid sticks; pressure: open, with a pressure given; velocity: moves or feeds with a velocity "
      "given; auto: open where the grains' wall is, slip elsewhere",
      "slip|no_slip|pressure|velocity|auto" },
    { "pressure", RP_REAL, W(pressure), 0, -LARGE, LARGE, "Pa", "of an open face, without the weight of the fluid above", NULL },
    { "velocity", RP_VEC3, W(velocity), 0, -LARGE, LARGE, "m/s", "of the fluid at the face", NULL },
    { 0 },
};

const rp_param *rp_fluid_table(void)
{
    return fluid_table;
}

const rp_param *rp_fluid_wall_table(void)
{
    return wall_table;
}

bool rp_fluid_has_surface(const rp_fluid_def *fluid)
{
    return fluid && (fluid->fill || !isnan(fluid->level));
}

rp_fluid_def rp_default_fluid_def(void)
{
    rp_fluid_def fluid;
    memset(&fluid, 0, sizeof fluid);
    rp__param_defaults(fluid_table, &fluid);
    for (int f = 0; f < 6; f++)
        rp__param_defaults(wall_table, &fluid.wall[f]);
    fluid.level = NAN;
    fluid.cookie = RP__SIM_COOKIE;
    return fluid;
}
