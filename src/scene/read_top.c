/* The whole scene: its top-level keys, in the order in which they are read. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOP(name) \
    static rp_result top_##name(rp__reader *r, const rp__node *value, void *target) \
    { \
        (void)target; \
        return rp__scene_read_##name(r, value); \
    }
TOP(gravity)
TOP(walls)
TOP(fluid)
TOP(material)
TOP(materials)
TOP(grains)
TOP(emitters)
TOP(sinks)
TOP(bodies)
TOP(fibres)
TOP(controls)
TOP(output)
TOP(camera)
TOP(picture)

static rp_result top_dimension(rp__reader *r, const rp__node *value, void *target)
{
    (void)target; /* used before anything else is read */
    (void)r;
    (void)value;
    return RP_OK;
}

static rp_result top_domain(rp__reader *r, const rp__node *value, void *target)
{
    (void)target;
    return rp__scene_read_domain(r, value, rp__scene_get(r->tree.root, "resolution"));
}

#define REF(name) "{\"$ref\":\"#/$defs/" name "\"}"
#define LIST(name) "{\"anyOf\":[" REF(name) ",{\"type\":\"array\",\"items\":" REF(name) "}]}"
static const rp__scene_key top_keys[] = {
    { "dimension", "2 or 3", "{\"enum\":[2,3]}", "needed only where the domain does not tell", "from the domain", top_dimension },
    { "domain", "domain", REF("domain"), "the box that holds everything", NULL, top_domain },
    { "resolution", "whole number", "{\"type\":\"integer\",\"minimum\":1}",
      "cells along the longest side of the domain, instead of cell_size", "", top_dimension },
    { "gravity", "gravity", REF("gravity"), "as a vector, a strength, or tilted", "9.81 m/s2 down", top_gravity },
    { "walls", "walls", REF("walls"), "faces of the domain", "slip", top_walls },
    { "fluid", "fluid", REF("fluid"), "what fills the room between the grains (diphasic)", "", top_fluid },
    { "material", "material", REF("material"), "the only material, or the first", "sand", top_material },
    { "materials", "map or list of materials",
      "{\"anyOf\":[{\"type\":\"object\",\"additionalProperties\":" REF("material") "},{\"type\":\"array\",\"items\":" REF(
          "material") "}]}",
      "materials by name", "", top_materials },
    { "grains", "list of grains", LIST("grains"), "what is there at the start", "", top_grains },
    { "emitters", "list of emitters", LIST("emitter"), "where grains come in", "", top_emitters },
    { "sinks", "list of sinks", LIST("sink"), "where grains go", "", top_sinks },
    { "bodies", "list of bodies", LIST("body"), "what grains meet", "", top_bodies },
    { "colliders", "list of bodies", LIST("body"), "the same as bodies", "", top_bodies },
    { "fibres", "list of fibres", LIST("fibres"), "elastic fibres, of the method `contact`", "", top_fibres },
    { "controls", "list of controls", LIST("control"), "what keys and gamepads move in `repose play`", "", top_controls },
    { "output", "output", REF("output"), "files of the run", "", top_output },
    { "camera", "camera", REF("camera"), "how it is looked at", "", top_camera },
    { "picture", "picture", REF("picture"), "how it is drawn", "", top_picture },
    { 0 },
};

static void top_defaults(void *target)
{
    rp__settings *s = target;
    rp_sim_def sim = rp_default_sim_def();
    memset(s, 0, sizeof *s);
    s->title = s->description = "";
    s->method = sim.method;
    s->cell_size = NAN; /* not given */
#define REAL(member, ...) s->member = sim.member;
#define WHOLE(member, ...) s->member = (int64_t)sim.member;
#define CHOICE(member, ...) s->member = (int)sim.member;
    RP__SIM_SETTINGS(REAL, WHOLE, CHOICE)
#undef REAL
#undef WHOLE
#undef CHOICE
}

const rp__scene_block rp__scene_top = {
    "scene",
    "the scene",
    "A scene is a YAML map (JSON is YAML too). Numbers are in SI units, or carry their own: `5 cm`, `30 deg`, `2.2 g/cm3`. "
    "Anchors (`&a`), aliases (`*a`) and merge keys (`<<: *a`) work; top-level keys that begin with `x-` are ignored, a place for anchors. Only "
    "`domain` and `cell_size` (or `resolution`) are required.",
    "domain: [2, 1, 1]\ncell_size: 5 cm\nduration: 3 s\nmaterial: dry-sand\ngrains:\n"
    "  - shape: {box: {lower: [0, 0, 0], upper: [0.5, 1, 0.8]}}\nwalls: {all: slip, bottom: 0.5}",
    rp__scene_settings_table,
    top_keys,
    top_defaults,
    NULL,
};

static rp_result find_dimension(rp__reader *r)
{
    const rp__node *given = rp__scene_get(r->tree.root, "dimension"), *domain = rp__scene_get(r->tree.root, "domain");
    r->dim = domain ? rp__scene_guess_dimension(domain) : 3;
    if (!given)
        return RP_OK;
    double value;
    RP_TRY(rp__scene_read_number(r, given, "dimension", "", &value));
    if (value != 2 && value != 3)
        return rp__scene_fail(&r->tree, given, "'dimension' is 2 or 3, not %s", given->text);
    r->dim = (int)value;
    return RP_OK;
}

/* A value as text for a method's table: "[1, 2, 3]" for a list. */
static rp_result to_text(rp__reader *r, const rp_param *entry, const rp__node *value, rp__text *out)
{
    if (value->kind == RP_NODE_SCALAR && !rp__scene_is_null(value)) {
        rp__text_append_string(out, value->text);
        return rp__text_result(out);
    }
    if (entry->type != RP_VEC3)
        return rp__scene_need(r, value, RP_NODE_SCALAR, entry->name);
    double v[3];
    RP_TRY(rp__scene_read_vector(r, value, entry->name, entry->unit ? entry->unit : "", v, NULL));
    for (int i = 0; i < 3; ++i) {
        rp__text_append_string(out, i ? ", " : "[");
        rp__text_append_number(out, v[i]);
    }
    rp__text_append_string(out, "]");
    return rp__text_result(out);
}

/* A folder that a method writes to, and that does not lie in the folder of the run. */
static bool leaves_the_run(const rp_param *entry, const char *path)
{
    size_t length = strlen(entry->name);
    if (entry->type != RP_TEXT || length < 7 || strcmp(entry->name + length - 7, "_folder") != 0)
        return false;
    for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
            return true;
    return path[0] == '/';
}

static rp_result read_method(rp__reader *r, const rp_method_info *info, const rp__node *value)
{
    rp__method_item *item = rp__scene_push(r->scene, &r->scene->methods, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    item->info = info;
    RP_TRY(rp_params_create(info->name, &item->params));
    if (!value)
        return RP_OK;
    RP_TRY(rp__scene_need(r, value, RP_NODE_MAP, info->name));
    for (const rp__node *c = value->first; c; c = c->next) {
        const rp_param *entry = rp__param_find(info->params, c->key->text);
        for (const char *const *gone = info->removed; !entry && gone && *gone; gone += 2)
            if (strcmp(*gone, c->key->text) == 0) /* the sentence is that of the parameters */
                return rp__scene_wrap(&r->tree, c, rp_params_set(item->params, *gone, ""));
        if (!entry) {
            const rp__scene_block block = { .name = info->name, .title = info->name, .table = NULL };
            return rp__scene_fail_unknown(r, &block, info->params, c->key);
        }
        rp__text text = { 0 };
        rp_result result = to_text(r, entry, c, &text);
        if (result == RP_OK && leaves_the_run(entry, rp__text_string(&text)))
            result = rp__scene_fail(&r->tree, c, "'%s' is a folder inside that of the run: no absolute path and no '..'", entry->name);
        if (result == RP_OK)
            result = rp__scene_wrap(&r->tree, c, rp_params_set(item->params, entry->name, rp__text_string(&text)));
        rp__text_free(&text);
        RP_TRY(result);
    }
    return RP_OK;
}

static rp_result read_methods(rp__reader *r)
{
    rp_scene *scene = r->scene;
    for (const rp__node *c = r->tree.root->first; c; c = c->next) {
        const rp_method_info *info = rp_method_find(c->key->text);
        if (info)
            RP_TRY(read_method(r, info, c));
    }
    const rp__node *named = rp__scene_get(r->tree.root, "method");
    const rp_method_info *info = rp_method_find(scene->settings.method);
    if (!info) {
        const char *names[65];
        int n = 0;
        for (; n < rp_method_count() && n < 64; ++n)
            names[n] = rp_method_at(n)->name;
        names[n] = NULL;
        char hint[600];
        return rp__scene_fail(&r->tree, named, "there is no method '%.60s'%s", scene->settings.method,
                              rp__scene_suggest(scene->settings.method, names, hint, sizeof hint));
    }
    int at = 0;
    while (at < scene->methods.count && RP_ITEM(rp__method_item, scene->methods, at)->info != info)
        ++at;
    if (at == scene->methods.count)
        RP_TRY(read_method(r, info, NULL));
    scene->sim.method = info->name;
    scene->sim.method_params = rp_params_data(RP_ITEM(rp__method_item, scene->methods, at)->params);
    return RP_OK;
}

/* ---- from lists to the definition ---- */

#define GATHER(list, item_type, def_type, array, counter)                                                              \
    do {                                                                                                               \
        def_type *all = rp__scene_pool_alloc(&scene->pool, (size_t)(scene->list.count + 1) * sizeof *all);              \
        if (!all)                                                                                                      \
            return RP_OUT_OF_MEMORY;                                                                                   \
        for (int i = 0; i < scene->list.count; ++i)                                                                    \
            all[i] = RP_ITEM(item_type, scene->list, i)->def;                                                          \
        scene->sim.array = all;                                                                                        \
        scene->sim.counter = scene->list.count;                                                                        \
    } while (0)

static rp_result gather(rp_scene *scene)
{
    rp_sim_def *sim = &scene->sim;
    const rp__settings *s = &scene->settings;
    GATHER(materials, rp__material_item, rp_material_def, materials, material_count);
    GATHER(grains, rp__grains_item, rp_grains_def, grains, grains_count);
    GATHER(emitters, rp__emitter_item, rp_emitter_def, emitters, emitter_count);
    GATHER(sinks, rp__sink_item, rp_sink_def, sinks, sink_count);
    GATHER(bodies, rp__body_item, rp_body_def, bodies, body_count);
    GATHER(fibres, rp__fibres_item, rp_fibres_def, fibres, fibres_count);
    sim->material_keys = scene->keys.items;
    sim->material_key_count = scene->keys.count;
#define TAKE(member, type, ...) sim->member = (type)s->member;
    RP__SIM_SETTINGS(TAKE, TAKE, TAKE)
#undef TAKE
    return RP_OK;
}

static rp_result check_whole(rp__reader *r)
{
    const rp__settings *s = &r->scene->settings;
    const rp__node *root = r->tree.root, *largest = rp__scene_get(root, "dt_max");
    if (s->dt_max > 0 && s->dt_min > s->dt_max)
        return rp__scene_fail(&r->tree, largest, "'dt_max' is shorter than 'dt_min'");
    if (s->duration * s->frame_rate > 1e9)
        return rp__scene_fail(&r->tree, root, "%g s at %g frames a second are %.3g frames; at most 1e9", s->duration,
                              s->frame_rate, s->duration * s->frame_rate);
    return RP_OK;
}

/* `--set materials.snad.friction=1` would make a material that nothing is made of: a slip of the pen. */
static rp_result check_set_materials(rp__reader *r)
{
    const rp_scene *scene = r->scene;
    const rp__node *materials = rp__scene_get(r->tree.root, "materials");
    for (const rp__node *m = materials ? materials->first : NULL; m; m = m->next) {
        const char *name = m->key ? m->key->text : "";
        if (!m->key || m->key->origin < 0) /* of the file itself: kept for later */
            continue;
        bool used = false;
        for (int i = 0; i < scene->grains.count; i++)
            used = used || strcmp(RP_ITEM(rp__material_item, scene->materials, RP_ITEM(rp__grains_item, scene->grains, i)->def.material)->def.name, name) == 0;
        for (int i = 0; i < scene->emitters.count; i++)
            used = used ||
                   strcmp(RP_ITEM(rp__material_item, scene->materials, RP_ITEM(rp__emitter_item, scene->emitters, i)->def.material)->def.name,
                          name) == 0;
        if (used)
            continue;
        const char *names[64];
        int n = 0;
        for (int i = 0; i < scene->materials.count && n < 63; i++)
            if (strcmp(RP_ITEM(rp__material_item, scene->materials, i)->def.name, name) != 0)
                names[n++] = RP_ITEM(rp__material_item, scene->materials, i)->def.name;
        names[n] = NULL;
        char hint[1200];
        return rp__scene_fail(&r->tree, m->key, "no grains and no emitter are made of a material '%.100s'%s", name,
                              rp__scene_suggest(name, names, hint, sizeof hint));
    }
    return RP_OK;
}

static bool body_has_name(const rp_scene *scene, const char *name)
{
    for (int i = 0; i < scene->bodies.count; i++)
        if (strcmp(RP_ITEM(rp__body_item, scene->bodies, i)->def.name, name) == 0)
            return true;
    return false;
}

/* Bodies without a name are called body0, body1, … by their place in the list, as --set counts them. */
static rp_result name_bodies(rp_scene *scene)
{
    for (int i = 0; i < scene->bodies.count; i++) {
        rp_body_def *def = &RP_ITEM(rp__body_item, scene->bodies, i)->def;
        char name[64];
        if (def->name && def->name[0])
            continue;
        snprintf(name, sizeof name, "body%d", i);
        for (size_t length = strlen(name); body_has_name(scene, name) && length + 1 < sizeof name; length++)
            memcpy(name + length, "_", 2);
        def->name = rp__scene_pool_copy(&scene->pool, name, strlen(name));
        if (!def->name)
            return RP_OUT_OF_MEMORY;
    }
    return RP_OK;
}

rp_result rp__scene_read_top(rp__reader *r)
{
    rp_scene *scene = r->scene;
    const rp__node *root = r->tree.root;
    if (root->kind != RP_NODE_MAP)
        return rp__scene_fail(&r->tree, root, "a scene is a map of keys such as 'domain: [1, 1, 1]', not %s", rp__scene_kind(root));
    scene->sim = rp_default_sim_def();
    scene->output = rp_default_output_def();
    top_defaults(&scene->settings);
    RP_TRY(find_dimension(r));
    scene->sim.dim = r->dim;
    if (r->dim == 2) { /* y is up */
        scene->sim.gravity[1] = scene->sim.gravity[2];
        scene->sim.gravity[2] = 0;
        scene->sim.wall[2] = scene->sim.wall[4];
        scene->sim.wall[3] = scene->sim.wall[5];
        scene->output.up[1] = 1;
        scene->output.up[2] = 0;
    }
    RP_TRY(rp__scene_read_block(r, &rp__scene_top, root, &scene->settings));
    if (scene->materials.count == 0) {
        const rp__node none = { .kind = RP_NODE_SCALAR, .text = "", .origin = -1, .line = 1, .column = 1 };
        RP_TRY(rp__scene_read_material(r, &none));
    }
    RP_TRY(read_methods(r));
    RP_TRY(check_whole(r));
    RP_TRY(check_set_materials(r));
    RP_TRY(name_bodies(scene));
    return gather(scene);
}
