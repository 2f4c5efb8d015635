/* The fluid between the grains. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <string.h>

static rp_result read_faces(rp__reader *r, const rp__node *value, void *target);

#define FACE(name, help) { name, "fluid_wall", "{\"$ref\":\"#/$defs/fluid_wall\"}", help, "", read_faces }
static const rp__scene_key face_keys[] = {
    FACE("all", "every face"),
    FACE("sides", "every face but bottom and top"),
    FACE("x", "both faces across x"),
    FACE("y", "both faces across y"),
    FACE("z", "both faces across z (3D)"),
    FACE("left", "the face at the smallest x"),
    FACE("right", "the face at the largest x"),
    FACE("front", "the face at the smallest y (3D)"),
    FACE("back", "the face at the largest y (3D)"),
    FACE("bottom", "the face at the smallest z (in 2D: y)"),
    FACE("top", "the face at the largest z (in 2D: y)"),
    { 0 },
};

static void wall_defaults(void *target) { rp__param_defaults(rp_fluid_wall_table(), target); }

#define KINDS "{\"enum\":[\"slip\",\"no_slip\",\"pressure\",\"velocity\",\"auto\"]}"
const rp__scene_block rp__scene_fluid_walls = {
    "fluid_walls", "walls of the fluid",
    "How the fluid meets the faces of the domain: one value for all, or a map, a face at a time; later keys of this list win over earlier ones. "
    "Axes that are periodic for the grains are so for the fluid.",
    "fluid: {walls: {all: no_slip, top: slip}}", NULL, face_keys, NULL, KINDS,
};
const rp__scene_block rp__scene_fluid_wall = {
    "fluid_wall", "a wall of the fluid",
    "slip, no_slip, or a map with a pressure (an open face) or a velocity (a moving or feeding face).",
    "fluid: {walls: {bottom: {velocity: [0, 0, 2 mm/s]}, top: {pressure: 0}}}", rp_fluid_wall_table, NULL, wall_defaults, KINDS,
};

static rp_result read_wall(rp__reader *r, const rp__node *value, rp_fluid_wall *out)
{
    rp_fluid_wall wall;
    memset(&wall, 0, sizeof wall);
    wall_defaults(&wall);
    if (value->kind == RP_NODE_SCALAR) {
        rp_param entry = *rp__param_find(rp_fluid_wall_table(), "kind");
        entry.name = value->key ? value->key->text : "walls";
        RP_TRY(rp__scene_read_param(r, &entry, value, &wall));
    } else {
        RP_TRY(rp__scene_read_block(r, &rp__scene_fluid_wall, value, &wall));
        bool pressure = rp__scene_get(value, "pressure"), velocity = rp__scene_get(value, "velocity"), kind = rp__scene_get(value, "kind");
        if (pressure && velocity && !kind)
            return rp__scene_fail(&r->tree, value, "a wall of the fluid has a pressure or a velocity, not both");
        if (!kind && (pressure || velocity))
            wall.kind = pressure ? RP_FLUID_PRESSURE : RP_FLUID_VELOCITY;
    }
    *out = wall;
    return RP_OK;
}

static rp_result read_faces(rp__reader *r, const rp__node *value, void *target)
{
    rp_fluid_wall wall, *walls = target;
    RP_TRY(read_wall(r, value, &wall));
    unsigned faces = rp__scene_faces_of(value->key->text, r->dim);
    if (!faces)
        return rp__scene_fail(&r->tree, value->key, "there is no wall '%s' in 2D: its walls are left, right, bottom and top",
                              value->key->text);
    for (int f = 0; f < 6; ++f)
        if (faces & 1U << f)
            walls[f] = wall;
    return RP_OK;
}

static rp_result fluid_walls(rp__reader *r, const rp__node *value, void *target)
{
    rp_fluid_def *fluid = target;
    if (value->kind != RP_NODE_SCALAR)
        return rp__scene_read_block(r, &rp__scene_fluid_walls, value, fluid->wall);
    rp_fluid_wall wall;
    RP_TRY(read_wall(r, value, &wall));
    for (int f = 0; f < 6; ++f)
        fluid->wall[f] = wall;
    return RP_OK;
}

static rp_result fluid_field(rp__reader *r, const rp__node *value, void *target)
{
    rp_fluid_def *fluid = target;
    rp_expression_release(fluid->velocity_field);
    fluid->velocity_field = NULL;
    return rp__scene_read_field(r, value, "velocity_field", &r->scene->fluid_field, &fluid->velocity_field);
}

static rp_result fluid_fill(rp__reader *r, const rp__node *value, void *target)
{
    rp_shape *shape = NULL;
    RP_TRY(rp__scene_read_shape(r, value, &r->scene->fluid_fill, &shape));
    ((rp_fluid_def *)target)->fill = shape;
    return RP_OK;
}

static rp_result fluid_level(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_read_number(r, value, "level", "m", &((rp_fluid_def *)target)->level);
}

static const rp__scene_key fluid_keys[] = {
    { "level", "m", "{\"$ref\":\"#/$defs/number\"}",
      "height of its surface at the start, on the axis of gravity: below is fluid, above is air", "it fills the domain", fluid_level },
    { "fill", "shape", "{\"$ref\":\"#/$defs/shape\"}", "the same as a shape: fluid inside, air outside", "it fills the domain", fluid_fill },
    { "walls", "fluid_walls", "{\"$ref\":\"#/$defs/fluid_walls\"}", "faces of the domain", "auto", fluid_walls },
    { "velocity_field", "Lua", "{\"type\":\"string\"}",
      "expression of x, y, z that gives three speeds at the start, added to velocity: \"0.1 * z, 0, 0\"", "", fluid_field },
    { 0 },
};

static void fluid_defaults(void *target) { *(rp_fluid_def *)target = rp_default_fluid_def(); }

const rp__scene_block rp__scene_fluid = {
    "fluid",
    "the fluid",
    "A Newtonian fluid between the grains, for the method `diphasic`; other methods run the grains dry. It fills the whole domain, and pressures are "
    "those beyond the weight of the fluid above; or, with `level` or `fill`, a part of it, under air without weight: pressures are then whole, "
    "from zero at the surface, and an open face opens to the air.",
    "fluid: {density: 1000, viscosity: 1 mPa s, drag: gidaspow, walls: no_slip}",
    rp_fluid_table,
    fluid_keys,
    fluid_defaults,
    NULL,
};

rp_result rp__scene_read_fluid(rp__reader *r, const rp__node *value)
{
    fluid_defaults(&r->scene->fluid);
    r->scene->sim.fluid = &r->scene->fluid;
    return rp__scene_read_block(r, &rp__scene_fluid, value, &r->scene->fluid);
}
