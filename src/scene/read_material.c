/* Materials, their presets and their parameters over time. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- presets ---- */

#define KLAR "bulk_density=2200; youngs_modulus=3.537e5; poisson_ratio=0.3; match=circumscribed"
const rp__preset rp__scene_presets[] = {
    { "dry-sand", "quartz sand, dry: grains of 2650 kg/m3 packed to 0.6, friction angle 33 degrees",
      "density=2650; volume_fraction=0.6; friction_angle=33 deg; grain_diameter=0.5 mm; youngs_modulus=3.537e7 Pa" },
    { "fine-sand", "fine rounded sand, friction angle 30 degrees",
      "density=2650; volume_fraction=0.6; friction_angle=30 deg; grain_diameter=0.15 mm; youngs_modulus=3.537e7 Pa" },
    { "wet-sand", "sand with a little water: dry-sand with 400 Pa of cohesion",
      "density=2650; volume_fraction=0.6; friction_angle=33 deg; grain_diameter=0.5 mm; youngs_modulus=3.537e7 Pa; "
      "cohesion=400 Pa; cohesion_decay=1; colour=#8a6a3e" },
    { "gravel", "crushed stone, friction angle 40 degrees",
      "density=2700; volume_fraction=0.58; friction_angle=40 deg; grain_diameter=1 cm; youngs_modulus=5e7 Pa; colour=gravel" },
    { "glass-beads",
      "glass beads with the mu(I) law of Jop, Forterre and Pouliquen (2006): tan 20.9 to tan 32.76 degrees, I0 = 0.279",
      "density=2450; volume_fraction=0.6; friction=0.38186; friction_dynamic=0.64347; inertial_number=0.279; "
      "grain_diameter=0.53 mm; youngs_modulus=5e7 Pa; colour=#b8c8c0" },
    { "grain", "cereal: light, elongated, friction angle 28 degrees",
      "density=1300; volume_fraction=0.6; friction_angle=28 deg; grain_diameter=3.5 mm; anisotropy=0.3; elongation=0.9; "
      "youngs_modulus=1e7 Pa; colour=wheat" },
    { "coins", "flat discs of metal that align with the flow",
      "density=8900; volume_fraction=0.6; friction_angle=25 deg; grain_diameter=2 cm; anisotropy=0.7; elongation=0.95; "
      "colour=gold" },
    { "klar-hourglass", "Klar et al. (2016), table 3: hourglass (hardening 35/9/0.3/10)", KLAR "; h0=35; h1=9; h2=0.3; h3=10" },
    { "klar-butterfly", "the same, butterfly, raking and shovel (hardening 35/9/0.2/10)", KLAR "; h0=35; h1=9; h2=0.2; h3=10" },
    { "klar-castle", "the same, castle (hardening 35/0/0.2/10)", KLAR "; h0=35; h1=0; h2=0.2; h3=10" },
    { "klar-friction-20", "the same, constant friction angle of 20 degrees", KLAR "; friction_angle=20 deg" },
    { "klar-friction-25", "the same, 25 degrees", KLAR "; friction_angle=25 deg" },
    { "klar-friction-30", "the same, 30 degrees; also the pile from a spout", KLAR "; friction_angle=30 deg" },
    { "klar-friction-35", "the same, 35 degrees", KLAR "; friction_angle=35 deg" },
    { "klar-friction-40", "the same, 40 degrees", KLAR "; friction_angle=40 deg" },
    { "klar-splash", "the same, splash: 1582 kg/m3, stiffer, 22 degrees",
      "bulk_density=1582; youngs_modulus=3.537e6; poisson_ratio=0.3; match=circumscribed; friction_angle=22 deg" },
    { "rubber", "an elastic solid (elastoplastic only)",
      "model=elastic; density=1100; volume_fraction=1; youngs_modulus=1e6 Pa; poisson_ratio=0.4; colour=#c0453a" },
    { 0 },
};

const rp__preset *rp__scene_find_preset(const char *name)
{
    for (const rp__preset *p = rp__scene_presets; p->name; ++p)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

rp_result rp__scene_apply_preset(const rp__preset *preset, rp__pool *pool, rp_material_def *material)
{
    const rp_param *table = rp_material_table();
    for (const char *p = preset->settings; *p;) {
        char name[40], value[80];
        size_t length = strcspn(p, ";");
        const char *equals = memchr(p, '=', length);
        if (!equals)
            return rp__base_fail(RP_BAD_ARGUMENT, "preset '%s' has a setting without a value", preset->name);
        snprintf(name, sizeof name, "%.*s", (int)(equals - p), p);
        snprintf(value, sizeof value, "%.*s", (int)(length - (size_t)(equals + 1 - p)), equals + 1);
        const rp_param *entry = rp__param_find(table, name);
        if (entry && entry->type == RP_TEXT) {
            char *copy = rp__scene_pool_copy(pool, value, strlen(value));
            if (!copy)
                return RP_OUT_OF_MEMORY;
            *(char **)((char *)material + entry->offset) = copy;
        } else
            RP_TRY(rp__param_set_text(table, material, name, value));
        p += length;
        p += strspn(p, "; ");
    }
    return RP_OK;
}

/* ---- one material ---- */

static rp_result skip(rp__reader *r, const rp__node *value, void *target)
{
    (void)r;
    (void)value;
    (void)target;
    return RP_OK;
}

static const rp__scene_key material_keys[] = {
    { "name", "text", "{\"type\":\"string\"}", "what grains call it by; the key of the map when materials are a map", "", skip },
    { "preset", "text", "{\"$ref\":\"#/$defs/preset\"}", "start from this one; see Presets", "", skip },
    { 0 },
};

static void material_defaults(void *target)
{
    *(rp_material_def *)target = rp_default_material_def();
}

const rp__scene_block rp__scene_material = {
    "material", "a material",
    "A map of keys, or the name of a preset. Every number may change over time: `{keys: [[time, value], ...]}`, linear between "
    "keys. Friction is given by `friction_angle` or by `friction`, not both. `density` is that of a grain; give `bulk_density` "
    "for the packed material instead. `ballistic` uses the densities alone; `nonsmooth` all but `model`, `youngs_modulus`, "
    "`poisson_ratio` and `h0` to `h3`; `elastoplastic` the densities, the friction and those.",
    "materials:\n  sand: {preset: dry-sand, friction_angle: 35 deg}\n  mud: {friction: {keys: [[0 s, 0.6], [1 s, 0.2]]}}",
    rp_material_table, material_keys, material_defaults,
    "{\"$ref\":\"#/$defs/preset\"}",
};

/* friction: {keys: [[0 s, 0.3], [1 s, 0.6]]} */
static rp_result read_keyed(rp__reader *r, const rp_param *entry, const rp__node *value, int index, rp_material_def *def)
{
    const rp__node *keys = rp__scene_get(value, "keys");
    if (!keys || value->count != 1)
        return rp__scene_fail(&r->tree, value, "'%s' over time is {keys: [[time, value], ...]}", entry->name);
    RP_TRY(rp__scene_need(r, keys, RP_NODE_LIST, "keys"));
    if (keys->count == 0)
        return rp__scene_fail(&r->tree, keys, "'keys' needs at least one [time, value]");
    rp__pool *pool = &r->scene->pool;
    double *times = rp__scene_pool_alloc(pool, (size_t)keys->count * sizeof(double));
    double *values = rp__scene_pool_alloc(pool, (size_t)keys->count * sizeof(double));
    if (!times || !values)
        return RP_OUT_OF_MEMORY;
    int n = 0;
    for (const rp__node *k = keys->first; k; k = k->next, ++n) {
        if (k->kind != RP_NODE_LIST || k->count != 2)
            return rp__scene_fail(&r->tree, k, "a key of '%s' is [time, value]", entry->name);
        RP_TRY(rp__scene_read_number(r, k->first, "time", "s", &times[n]));
        if (n && !(times[n] > times[n - 1]))
            return rp__scene_fail(&r->tree, k->first, "the times of the keys must increase");
        RP_TRY(rp__scene_read_param(r, entry, k->last, def));
        values[n] = *(double *)((char *)def + entry->offset);
    }
    *(double *)((char *)def + entry->offset) = values[0];
    rp_material_key *key = rp__scene_push(r->scene, &r->scene->keys, sizeof *key);
    if (!key)
        return RP_OUT_OF_MEMORY;
    *key = (rp_material_key){ index, entry->name, times, values, n };
    return RP_OK;
}

static rp_result unknown_preset(rp__reader *r, const rp__node *value, const char *text, const char *what)
{
    const char *names[64];
    int n = 0;
    for (const rp__preset *p = rp__scene_presets; p->name; ++p)
        names[n++] = p->name;
    for (int i = 0; i < r->scene->materials.count && n < 63 && strcmp(what, "material") == 0; ++i)
        names[n++] = RP_ITEM(rp__material_item, r->scene->materials, i)->def.name;
    names[n] = NULL;
    char hint[1200];
    return rp__scene_fail(&r->tree, value, "there is no %s '%.100s'%s", what, text,
                          rp__scene_suggest(text, names, hint, sizeof hint));
}

static rp_result fill_material(rp__reader *r, const rp__node *value, int index, rp_material_def *def)
{
    const rp__node *preset = value;
    if (value->kind != RP_NODE_SCALAR) {
        RP_TRY(rp__scene_check_keys(r, &rp__scene_material, value));
        preset = rp__scene_get(value, "preset");
    }
    if (preset && !(preset == value && rp__scene_is_null(value))) {
        RP_TRY(rp__scene_need(r, preset, RP_NODE_SCALAR, "preset"));
        const rp__preset *p = rp__scene_find_preset(preset->text);
        if (!p)
            return unknown_preset(r, preset, preset->text, "preset");
        RP_TRY(rp__scene_wrap(&r->tree, preset, rp__scene_apply_preset(p, &r->scene->pool, def)));
    }
    if (value->kind == RP_NODE_SCALAR)
        return RP_OK;
    const rp__node *friction = rp__scene_get(value, "friction"), *angle = rp__scene_get(value, "friction_angle");
    const rp__node *density = rp__scene_get(value, "density"), *bulk = rp__scene_get(value, "bulk_density");
    if (friction && angle && rp__scene_rank(friction) == rp__scene_rank(angle))
        return rp__scene_fail(&r->tree, angle->key, "give 'friction' or 'friction_angle', not both");
    const rp__node *idle = NULL, *light = NULL; /* what another value outranks */
    if (friction && angle)
        idle = rp__scene_rank(friction) > rp__scene_rank(angle) ? angle : friction;
    if (density && bulk && rp__scene_rank(density) > rp__scene_rank(bulk))
        light = bulk;
    if (angle && idle != angle)
        def->friction = -1;
    if (density && (!bulk || light))
        def->bulk_density = 0;
    for (const rp__node *c = value->first; c; c = c->next) {
        const rp_param *entry = rp__param_find(rp_material_table(), c->key->text);
        if (!entry || c == idle || c == light || strcmp(entry->name, "name") == 0)
            continue;
        if (entry->type == RP_REAL && c->kind == RP_NODE_MAP)
            RP_TRY(read_keyed(r, entry, c, index, def));
        else
            RP_TRY(rp__scene_read_param(r, entry, c, def));
    }
    return RP_OK;
}

static int find_material(const rp_scene *scene, const char *name)
{
    for (int i = 0; i < scene->materials.count; ++i)
        if (strcmp(RP_ITEM(rp__material_item, scene->materials, i)->def.name, name) == 0)
            return i;
    return -1;
}

static rp_result add_material(rp__reader *r, const rp__node *value, const char *name)
{
    const rp__node *given = rp__scene_get(value, "name");
    if (given)
        RP_TRY(rp__scene_read_text(r, given, "name", &name));
    if (find_material(r->scene, name) >= 0)
        return rp__scene_fail(&r->tree, given ? given : value, "there is a material '%s' already", name);
    int index = r->scene->materials.count;
    rp__material_item *item = rp__scene_push(r->scene, &r->scene->materials, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    item->def = rp_default_material_def();
    item->def.name = rp__scene_pool_copy(&r->scene->pool, name, strlen(name));
    return item->def.name ? fill_material(r, value, index, &item->def) : RP_OUT_OF_MEMORY;
}

rp_result rp__scene_read_material(rp__reader *r, const rp__node *value)
{
    bool preset = value->kind == RP_NODE_SCALAR && !rp__scene_is_null(value);
    return add_material(r, value, preset ? value->text : "sand");
}

rp_result rp__scene_read_materials(rp__reader *r, const rp__node *value)
{
    if (value->kind == RP_NODE_SCALAR)
        return rp__scene_fail(&r->tree, value, "'materials' is a map of names to materials, or a list; for one, use 'material'");
    for (const rp__node *c = value->first; c; c = c->next) {
        bool preset = c->kind == RP_NODE_SCALAR && !rp__scene_is_null(c);
        if (value->kind == RP_NODE_LIST && !preset && !rp__scene_get(c, "name"))
            return rp__scene_fail(&r->tree, c, "a material of a list needs the key 'name'");
        RP_TRY(add_material(r, c, value->kind == RP_NODE_MAP ? c->key->text : c->text ? c->text : ""));
    }
    return RP_OK;
}

/* A name of the scene's materials, or else of a preset, which is added. */
rp_result rp__scene_find_material(rp__reader *r, const rp__node *value, int *out)
{
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "material"));
    *out = find_material(r->scene, value->text);
    if (*out >= 0)
        return RP_OK;
    if (!rp__scene_find_preset(value->text))
        return unknown_preset(r, value, value->text, "material");
    *out = r->scene->materials.count;
    return add_material(r, value, value->text);
}
