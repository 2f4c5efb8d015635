/* The scene written out with every default; it reads back to the same definitions. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

static void number(rp__text *out, double value)
{
    rp__text_append_number(out, value);
}

static void vector(rp__text *out, const double *v, int count)
{
    for (int i = 0; i < count; ++i) {
        rp__text_append_string(out, i ? ", " : "[");
        number(out, v[i]);
    }
    rp__text_append_string(out, "]");
}

/* The value of one member of a table. */
static void value(rp__text *out, const rp_param *entry, const void *target)
{
    if (entry->type == RP_TEXT) {
        rp__text_append_quoted(out, rp__param_text(entry, target));
        return;
    }
    char text[400];
    rp__param_format(entry, target, text, sizeof text);
    rp__text_append_string(out, text);
}

/* Members that were not given are NaN: they are left out. */
static bool absent(const rp_param *entry, const void *target)
{
    if (entry->type != RP_REAL && entry->type != RP_VEC3)
        return false;
    return isnan(*(const double *)((const char *)target + entry->offset));
}

static void members(rp__text *out, int indent, const rp_param *table, const void *target, const char *skip)
{
    for (const rp_param *e = table; e->name; ++e) {
        if (absent(e, target) || (skip && strcmp(e->name, skip) == 0))
            continue;
        rp__text_append(out, "%*s%s: ", indent, "", e->name);
        value(out, e, target);
        rp__text_append_string(out, "\n");
    }
}

/* The same between braces, on one line. */
static void inline_members(rp__text *out, const rp_param *table, const void *target)
{
    const char *comma = "";
    for (const rp_param *e = table; e->name; ++e) {
        if (absent(e, target))
            continue;
        rp__text_append(out, "%s%s: ", comma, e->name);
        value(out, e, target);
        comma = ", ";
    }
}

/* ---- shapes ---- */

static void shape(rp__text *out, const rp__shape_spec *spec);

static void shape_keys(rp__text *out, const rp__shape_spec *spec)
{
    const char *comma = "";
    rp__text_append_string(out, "{");
    for (const rp_param *e = spec->kind->table; e->name; ++e) {
        if (absent(e, spec) || (e->type == RP_TEXT && !spec->file))
            continue;
        rp__text_append(out, "%s%s: ", comma, e->name);
        if (e->type == RP_VEC3 && e->choices)
            vector(out, (const double *)(const void *)((const char *)spec + e->offset), 2);
        else
            value(out, e, spec);
        comma = ", ";
    }
    if (spec->heights) {
        rp__text_append(out, "%sheights: [", comma);
        for (int j = 0; j < spec->rows; ++j) {
            rp__text_append_string(out, j ? ", " : "");
            vector(out, spec->heights + (size_t)j * (size_t)spec->columns, spec->columns);
        }
        rp__text_append_string(out, "]");
    }
    if (spec->child_count) {
        rp__text_append(out, "%sshape: ", comma);
        shape(out, spec->children[0]);
    }
    rp__text_append_string(out, "}");
}

static void shape(rp__text *out, const rp__shape_spec *spec)
{
    rp__text_append(out, "{%s: ", spec->kind->name);
    if (spec->kind->form == RP_SHAPE_LIST) {
        for (int i = 0; i < spec->child_count; ++i) {
            rp__text_append_string(out, i ? ", " : "[");
            shape(out, spec->children[i]);
        }
        rp__text_append_string(out, "]");
    } else if (spec->kind->form == RP_SHAPE_ONE)
        shape(out, spec->children[0]);
    else
        shape_keys(out, spec);
    if (spec->placed) {
        rp__text_append_string(out, ", ");
        inline_members(out, rp__scene_place_table, spec);
    }
    rp__text_append_string(out, "}");
}

static void shape_line(rp__text *out, const rp__shape_spec *spec)
{
    rp__text_append_string(out, "    shape: ");
    shape(out, spec);
    rp__text_append_string(out, "\n");
}

/* ---- materials ---- */

static void keyed(rp__text *out, const rp_material_key *key)
{
    rp__text_append_string(out, "{keys: [");
    for (int i = 0; i < key->count; ++i) {
        rp__text_append_string(out, i ? ", [" : "[");
        number(out, key->times[i]);
        rp__text_append_string(out, ", ");
        number(out, key->values[i]);
        rp__text_append_string(out, "]");
    }
    rp__text_append_string(out, "]}");
}

static const rp_material_key *find_key(const rp_sim_def *sim, int material, const char *parameter)
{
    for (int i = 0; i < sim->material_key_count; ++i)
        if (sim->material_keys[i].material == material && strcmp(sim->material_keys[i].parameter, parameter) == 0)
            return &sim->material_keys[i];
    return NULL;
}

static void materials(rp__text *out, const rp_sim_def *sim)
{
    rp__text_append_string(out, "\nmaterials:\n");
    for (int m = 0; m < sim->material_count; ++m) {
        const rp_material_def *def = &sim->materials[m];
        rp__text_append_string(out, "  - name: ");
        rp__text_append_quoted(out, def->name);
        rp__text_append_string(out, "\n");
        bool by_friction = def->friction >= 0 || find_key(sim, m, "friction");
        for (const rp_param *e = rp_material_table(); e->name; ++e) {
            if (strcmp(e->name, by_friction ? "friction_angle" : "friction") == 0)
                continue; /* the one that is not in force */
            const rp_material_key *key = find_key(sim, m, e->name);
            rp__text_append(out, "    %s: ", e->name);
            if (key)
                keyed(out, key);
            else
                value(out, e, def);
            rp__text_append_string(out, "\n");
        }
    }
}

/* ---- lists ---- */

static void open_item(rp__text *out, const char *name)
{
    rp__text_append_string(out, "  - name: ");
    rp__text_append_quoted(out, name ? name : "");
    rp__text_append_string(out, "\n");
}

static void material_line(rp__text *out, const rp_sim_def *sim, int material)
{
    rp__text_append_string(out, "    material: ");
    rp__text_append_quoted(out, sim->materials[material].name);
    rp__text_append_string(out, "\n");
}

static void sources(rp__text *out, const rp_scene *scene)
{
    const rp_sim_def *sim = &scene->sim;
    if (scene->grains.count)
        rp__text_append_string(out, "\ngrains:\n");
    for (int i = 0; i < scene->grains.count; ++i) {
        const rp__grains_item *item = RP_ITEM(rp__grains_item, scene->grains, i);
        open_item(out, item->def.name);
        shape_line(out, item->shape);
        material_line(out, sim, item->def.material);
        members(out, 4, rp__scene_grains_table(), &item->def, "name");
        if (item->velocity_field) {
            rp__text_append_string(out, "    velocity_field: ");
            rp__text_append_quoted(out, item->velocity_field);
            rp__text_append_string(out, "\n");
        }
        if (item->orientation_field) {
            rp__text_append_string(out, "    orientation_field: ");
            rp__text_append_quoted(out, item->orientation_field);
            rp__text_append_string(out, "\n");
        }
    }
    if (scene->emitters.count)
        rp__text_append_string(out, "\nemitters:\n");
    for (int i = 0; i < scene->emitters.count; ++i) {
        const rp__emitter_item *item = RP_ITEM(rp__emitter_item, scene->emitters, i);
        open_item(out, item->def.name);
        shape_line(out, item->shape);
        material_line(out, sim, item->def.material);
        members(out, 4, rp__scene_emitter_table(), &item->def, "name");
    }
    if (scene->sinks.count)
        rp__text_append_string(out, "\nsinks:\n");
    for (int i = 0; i < scene->sinks.count; ++i) {
        const rp__sink_item *item = RP_ITEM(rp__sink_item, scene->sinks, i);
        open_item(out, item->def.name);
        shape_line(out, item->shape);
        members(out, 4, rp__scene_sink_table(), &item->def, "name");
    }
}

static void motion(rp__text *out, const rp__motion_spec *spec)
{
    static const char *const names[] = { "step", "linear", "smooth" };
    if (spec->count == 0) {
        rp__text_append_string(out, "    motion: {expression: ");
        rp__text_append_quoted(out, spec->expression);
        rp__text_append_string(out, "}\n");
        return;
    }
    rp__text_append(out, "    motion:\n      interpolation: %s\n      keys:\n", names[spec->interpolation]);
    for (int i = 0; i < spec->count; ++i) {
        rp__text_append_string(out, "        - [");
        number(out, spec->keys[i].time);
        rp__text_append_string(out, ", ");
        vector(out, spec->keys[i].position, 3);
        rp__text_append_string(out, ", ");
        vector(out, spec->keys[i].rotation, 3);
        rp__text_append_string(out, "]\n");
    }
}

static void motor(rp__text *out, const rp_body_def *def)
{
    bool hinge = def->joint == RP_JOINT_HINGE;
    rp__motor_draft d = { NAN, NAN, NAN, NAN, NAN, NAN };
    bool speed = def->motor == RP_MOTOR_SPEED;
    *(hinge ? speed ? &d.angular_speed : &d.torque : speed ? &d.speed : &d.force) = def->motor_value;
    *(hinge ? &d.largest_torque : &d.largest_force) = def->motor_limit;
    rp__text_append_string(out, "    motor: {");
    inline_members(out, rp__scene_motor_table(), &d);
    rp__text_append_string(out, "}\n");
}

static void sequence(rp__text *out, const rp__sequence_spec *spec)
{
    rp__text_append_string(out, "    sequence: {files: ");
    for (int i = 0; i < spec->count; ++i) { /* the files one by one, also those of a pattern */
        rp__text_append_string(out, i ? ", " : "[");
        rp__text_append_quoted(out, spec->files[i]);
    }
    rp__text_append_string(out, "], ");
    inline_members(out, rp__scene_sequence_table(), spec);
    rp__text_append_string(out, "}\n");
}

static void bodies(rp__text *out, const rp_scene *scene)
{
    if (scene->bodies.count)
        rp__text_append_string(out, "\nbodies:\n");
    for (int i = 0; i < scene->bodies.count; ++i) {
        const rp__body_item *item = RP_ITEM(rp__body_item, scene->bodies, i);
        open_item(out, item->def.name);
        if (item->def.sequence)
            sequence(out, &item->sequence);
        else
            shape_line(out, item->shape);
        members(out, 4, rp__scene_body_table(), &item->def, "name");
        rp__text_append_string(out, "    surface: {");
        inline_members(out, rp__scene_surface_table(), &item->def.surface);
        rp__text_append_string(out, "}\n");
        if (item->def.motion)
            motion(out, &item->motion);
        if (item->def.joint != RP_JOINT_NONE) {
            rp__text_append_string(out, "    joint: {");
            inline_members(out, rp__scene_joint_table(), &item->def);
            rp__text_append_string(out, "}\n");
        }
        if (item->def.motor != RP_MOTOR_NONE)
            motor(out, &item->def);
        rp__text_append_string(out, "    colour: ");
        vector(out, item->def.colour, 3);
        rp__text_append_string(out, "\n");
    }
}

static void shape_member(rp__text *out, int indent, const char *key, const rp__shape_spec *spec)
{
    if (!spec)
        return;
    rp__text_append(out, "%*s%s: ", indent, "", key);
    shape(out, spec);
    rp__text_append_string(out, "\n");
}

static void curves(rp__text *out, const rp__strands *strands)
{
    const double *x = strands->nodes;
    rp__text_append_string(out, "    curves:\n");
    for (int64_t k = 0; k < strands->count; ++k) {
        rp__text_append_string(out, "      - [");
        for (int i = 0; i < strands->counts[k]; ++i, x += 3) {
            rp__text_append_string(out, i ? ", " : "");
            vector(out, x, 3);
        }
        rp__text_append_string(out, "]\n");
    }
}

static void fibres(rp__text *out, const rp_scene *scene)
{
    if (scene->fibres.count)
        rp__text_append_string(out, "\nfibres:\n");
    for (int i = 0; i < scene->fibres.count; ++i) {
        const rp__fibres_item *item = RP_ITEM(rp__fibres_item, scene->fibres, i);
        open_item(out, item->def.name);
        for (int e = 0; e < 2; ++e) {
            int body = e == 0 ? item->def.body : item->def.tip_body;
            if (body < 0)
                continue;
            rp__text_append_string(out, e == 0 ? "    body: " : "    tip_body: ");
            rp__text_append_quoted(out, RP_ITEM(rp__body_item, scene->bodies, body)->def.name);
            rp__text_append_string(out, "\n");
        }
        members(out, 4, rp_fibres_table(), &item->def, NULL);
        if (item->path && item->segments > 0)
            rp__text_append(out, "    segments: %lld\n", (long long)item->segments);
        if (item->file) {
            rp__text_append_string(out, "    unit: ");
            number(out, item->unit);
            rp__text_append_string(out, "\n");
        }
        if (item->path || item->file) {
            rp__text_append_string(out, item->path ? "    path: " : "    file: ");
            rp__text_append_quoted(out, item->path ? item->path : item->file);
            rp__text_append_string(out, "\n");
        } else if (item->has_groom) {
            rp__text_append_string(out, "    groom:\n");
            shape_member(out, 6, "shape", item->groom.shape_spec);
            shape_member(out, 6, "within", item->groom.within_spec);
            members(out, 6, rp__scene_groom_table(), &item->groom, NULL);
        } else if (item->has_scatter) {
            rp__text_append_string(out, "    scatter:\n");
            shape_member(out, 6, "shape", item->scatter.shape_spec);
            members(out, 6, rp__scene_scatter_table(), &item->scatter, NULL);
        } else {
            curves(out, &item->strands);
        }
    }
}

static void controls(rp__text *out, const rp_scene *scene)
{
    if (scene->controls.count)
        rp__text_append_string(out, "\ncontrols:\n");
    for (int i = 0; i < scene->controls.count; ++i) {
        rp__text_append_string(out, "  - {");
        inline_members(out, rp__scene_control_table(), &RP_ITEM(rp__control_item, scene->controls, i)->def);
        rp__text_append_string(out, "}\n");
    }
}

/* ---- the rest ---- */

static void world(rp__text *out, const rp_scene *scene)
{
    static const char *const faces[] = { "-x", "+x", "-y", "+y", "-z", "+z" };
    static const char *const plain[2][6] = { { "left", "right", "bottom", "top", "", "" }, { "left", "right", "front", "back", "bottom", "top" } };
    const rp_sim_def *sim = &scene->sim;
    members(out, 0, rp__scene_settings_table(), &scene->settings, NULL);
    rp__text_append(out, "\ndimension: %d\ndomain: {lower: ", sim->dim);
    vector(out, sim->lower, sim->dim);
    rp__text_append_string(out, ", upper: ");
    vector(out, sim->upper, sim->dim);
    rp__text_append_string(out, "}\ngravity: ");
    vector(out, sim->gravity, 3);
    rp__text_append_string(out, "\nwalls:\n");
    for (int f = 0; f < 2 * sim->dim; ++f) {
        rp__text_append(out, "  %s: {", faces[f]);
        inline_members(out, rp__scene_wall_table(), &sim->wall[f]);
        rp__text_append_string(out, "}\n");
    }
    if (!sim->fluid)
        return;
    rp__text_append_string(out, "fluid:\n");
    members(out, 2, rp_fluid_table(), sim->fluid, NULL);
    if (sim->fluid->velocity_field) {
        rp__text_append_string(out, "  velocity_field: ");
        rp__text_append_quoted(out, scene->fluid_field);
        rp__text_append_string(out, "\n");
    }
    if (sim->fluid->fill)
        shape_member(out, 2, "fill", scene->fluid_fill);
    if (!isnan(sim->fluid->level)) {
        rp__text_append_string(out, "  level: ");
        rp__text_append_number(out, sim->fluid->level);
        rp__text_append_string(out, "\n");
    }
    rp__text_append_string(out, "  walls:\n");
    for (int f = 0; f < 2 * sim->dim; ++f) {
        rp__text_append(out, "    %s: {", plain[sim->dim - 2][f]);
        inline_members(out, rp_fluid_wall_table(), &sim->fluid->wall[f]);
        rp__text_append_string(out, "}\n");
    }
}

static void methods(rp__text *out, const rp_scene *scene)
{
    for (int i = 0; i < scene->methods.count; ++i) {
        const rp__method_item *item = RP_ITEM(rp__method_item, scene->methods, i);
        if (!item->info->params || !item->info->params->name)
            continue;
        rp__text_append(out, "\n%s:\n", item->info->name);
        members(out, 2, item->info->params, rp_params_data(item->params), NULL);
    }
}

static void output(rp__text *out, const rp_output_def *def)
{
    rp__text_append_string(out, "\noutput:\n");
    members(out, 2, rp__scene_files_table(), def, NULL);
    rp__text_append_string(out, "\ncamera:\n");
    for (const rp_param *e = rp__scene_camera_table(); e->name; ++e) {
        if (!def->camera_given && (strcmp(e->name, "eye") == 0 || strcmp(e->name, "target") == 0))
            continue;
        rp__text_append(out, "  %s: ", e->name);
        value(out, e, def);
        rp__text_append_string(out, "\n");
    }
    if (def->camera_key_count)
        rp__text_append_string(out, "  keys:\n");
    for (int i = 0; i < def->camera_key_count; ++i) {
        rp__text_append_string(out, "    - [");
        number(out, def->camera_keys[i].time);
        rp__text_append_string(out, ", ");
        vector(out, def->camera_keys[i].eye, 3);
        rp__text_append_string(out, ", ");
        vector(out, def->camera_keys[i].target, 3);
        rp__text_append_string(out, "]\n");
    }
    rp__text_append_string(out, "\npicture:\n");
    members(out, 2, rp__scene_picture_table(), def, NULL);
    rp__text_append_string(out, "  range: ");
    vector(out, def->colour_range, 2);
    rp__text_append_string(out, "\n");
}

rp_result rp_scene_format(const rp_scene *scene, char **yaml)
{
    if (!scene)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_scene_format needs a scene (there is a NULL)");
    rp__text out = { 0 };
    world(&out, scene);
    methods(&out, scene);
    materials(&out, &scene->sim);
    sources(&out, scene);
    bodies(&out, scene);
    fibres(&out, scene);
    controls(&out, scene);
    output(&out, &scene->output);
    rp_result result = rp__text_result(&out);
    if (result == RP_OK)
        *yaml = rp__text_take(&out);
    rp__text_free(&out);
    return result;
}
