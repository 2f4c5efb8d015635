/* A JSON Schema (draft 2020-12) made from the tables. */
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

const rp__scene_block *const rp__scene_blocks[] = {
    &rp__scene_top,      &rp__scene_domain,     &rp__scene_gravity,     &rp__scene_walls,
    &rp__scene_wall,     &rp__scene_fluid,      &rp__scene_fluid_walls, &rp__scene_fluid_wall,
    &rp__scene_material, &rp__scene_grains,     &rp__scene_emitter,     &rp__scene_sink,
    &rp__scene_body,     &rp__scene_fibres,     &rp__scene_groom_block, &rp__scene_scatter_block,
    &rp__scene_surface,  &rp__scene_motion,     &rp__scene_keyframe,    &rp__scene_joint,
    &rp__scene_motor,    &rp__scene_sequence,   &rp__scene_control,     &rp__scene_output,
    &rp__scene_camera,   &rp__scene_camera_key, &rp__scene_picture,     NULL,
};

static void limits(rp__text *out, const rp_param *e)
{
    if (e->least < e->most && isfinite(e->least) && e->least > -1e299) {
        rp__text_append_string(out, ",\"minimum\":");
        rp__text_append_number(out, e->least);
    }
    if (e->least < e->most && isfinite(e->most) && e->most < 1e299) {
        rp__text_append_string(out, ",\"maximum\":");
        rp__text_append_number(out, e->most);
    }
}

static void choices(rp__text *out, const rp_param *e)
{
    char name[100];
    rp__text_append_string(out, "\"enum\":[");
    for (int i = 0; rp__param_choice(e, i, name, sizeof name); ++i) {
        rp__text_append_string(out, i ? "," : "");
        rp__text_append_quoted(out, name);
    }
    rp__text_append_string(out, "]");
}

/* The kind of value, without braces. */
static void kind(rp__text *out, const rp_param *e, bool keyed)
{
    switch (e->type) {
    case RP_REAL:
        rp__text_append_string(out, "\"anyOf\":[{\"type\":\"number\"");
        limits(out, e);
        rp__text_append_string(out, "},{\"$ref\":\"#/$defs/quantity\"}");
        rp__text_append_string(out, keyed ? ",{\"$ref\":\"#/$defs/keyed\"}]" : "]");
        break;
    case RP_INT:
        rp__text_append_string(out, "\"type\":\"integer\"");
        limits(out, e);
        break;
    case RP_BOOL: rp__text_append_string(out, "\"type\":\"boolean\""); break;
    case RP_ENUM: choices(out, e); break;
    case RP_TEXT:
        rp__text_append_string(out, "\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]");
        break;
    case RP_VEC3:
        rp__text_append_string(out, "\"anyOf\":[{\"$ref\":\"#/$defs/vector\"}");
        if (e->least >= 0 || strncmp(e->unit ? e->unit : "", "rad", 3) == 0 || strcmp(e->unit ? e->unit : "", "N m") == 0)
            rp__text_append_string(out, ",{\"$ref\":\"#/$defs/number\"}");
        if (strncmp(e->unit ? e->unit : "", "rad", 3) == 0)
            rp__text_append_string(out, ",{\"$ref\":\"#/$defs/axis_angle\"}");
        rp__text_append_string(out, "]");
        break;
    }
}

static void default_value(rp__text *out, const rp_param *e, const void *target)
{
    char text[400];
    if (!target || ((e->type == RP_REAL || e->type == RP_VEC3) && !isfinite(*(const double *)((const char *)target + e->offset))))
        return;
    rp__text_append_string(out, ",\"default\":");
    rp__param_format(e, target, text, sizeof text);
    if (e->type == RP_TEXT)
        rp__text_append_quoted(out, rp__param_text(e, target));
    else if (e->type == RP_ENUM)
        rp__text_append_quoted(out, text);
    else
        rp__text_append_string(out, text);
}

static void property(rp__text *out, const rp_param *e, const void *target, bool keyed)
{
    rp__text_append_quoted(out, e->name);
    rp__text_append_string(out, ":{");
    kind(out, e, keyed);
    default_value(out, e, target);
    rp__text_append_string(out, ",\"description\":");
    rp__text text = { 0 };
    rp__text_append(&text, "%s%s%s%s", e->help, e->unit && *e->unit ? " [" : "", e->unit ? e->unit : "",
                    e->unit && *e->unit ? "]" : "");
    rp__text_append_quoted(out, rp__text_string(&text));
    out->failed |= text.failed;
    rp__text_free(&text);
    rp__text_append_string(out, "}");
}

static void table_properties(rp__text *out, const rp_param *table, const void *target, const char **comma, bool keyed)
{
    for (const rp_param *e = table; e && e->name; ++e) {
        rp__text_append_string(out, *comma);
        property(out, e, target, keyed);
        *comma = ",\n      ";
    }
}

static void method_properties(rp__text *out, const char **comma)
{
    for (int i = 0; i < rp_method_count(); ++i) {
        const rp_method_info *info = rp_method_at(i);
        rp_params *params = NULL;
        if (rp_params_create(info->name, &params) != RP_OK)
            out->failed = true;
        const char *inner = "";
        rp__text_append_string(out, *comma);
        rp__text_append_quoted(out, info->name);
        rp__text_append_string(out, ":{\"type\":\"object\",\"additionalProperties\":false,\"description\":");
        rp__text_append_quoted(out, info->summary ? info->summary : "");
        rp__text_append_string(out, ",\"properties\":{");
        table_properties(out, info->params, params ? rp_params_data(params) : NULL, &inner, false);
        rp__text_append_string(out, "}}");
        rp_params_destroy(params);
        *comma = ",\n      ";
    }
}

/* The object of a block, without braces. */
static void object(rp__text *out, const rp__scene_block *block)
{
    rp__scene_target target;
    memset(&target, 0, sizeof target);
    if (block->defaults)
        block->defaults(&target);
    const char *comma = "";
    rp__text_append_string(out, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\n      ");
    for (const rp__scene_key *k = block->keys; k && k->name; ++k) {
        rp__text_append_string(out, comma);
        rp__text_append_quoted(out, k->name);
        rp__text_append(out, ":{\"description\":");
        rp__text_append_quoted(out, k->help);
        rp__text_append(out, ",\"allOf\":[%s]}", k->schema);
        comma = ",\n      ";
    }
    table_properties(out, block->table ? block->table() : NULL, block->defaults ? &target : NULL, &comma,
                     block == &rp__scene_material);
    if (block == &rp__scene_top)
        method_properties(out, &comma);
    rp__text_append_string(out, block == &rp__scene_top ? "},\"patternProperties\":{\"^x-\":{}}" : "}");
    comma = ",\"required\":[";
    for (const rp__scene_key *k = block->keys; k && k->name; ++k)
        if (!k->initial) {
            rp__text_append(out, "%s\"%s\"", comma, k->name);
            comma = ",";
        }
    rp__text_append_string(out, comma[1] ? "" : "]");
}

static void shapes(rp__text *out)
{
    rp__text_append_string(out, "    \"shape\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\n      ");
    const char *comma = "";
    table_properties(out, rp__scene_place_table, NULL, &comma, false);
    for (const rp__shape_kind *k = rp__scene_shape_kinds; k->name; ++k) {
        rp__text_append(out, ",\n      \"%s\":{\"description\":", k->name);
        rp__text_append_quoted(out, k->help);
        if (k->form == RP_SHAPE_LIST)
            rp__text_append_string(out, ",\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/shape\"}");
        else if (k->form == RP_SHAPE_ONE)
            rp__text_append_string(out, ",\"$ref\":\"#/$defs/shape\"");
        else {
            rp__scene_target target;
            memset(&target, 0, sizeof target);
            rp__param_defaults(k->table, &target);
            const char *inner = "";
            rp__text_append_string(out, ",\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
            table_properties(out, k->table, &target, &inner, false);
            if (k->form == RP_SHAPE_KEYED)
                rp__text_append_string(out, ",\"shape\":{\"$ref\":\"#/$defs/shape\"}");
            if (strcmp(k->name, "heightfield") == 0)
                rp__text_append_string(out, ",\"heights\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":"
                                            "{\"$ref\":\"#/$defs/number\"}}}");
            rp__text_append_string(out, "}");
        }
        rp__text_append_string(out, "}");
    }
    rp__text_append_string(out, "},\n      \"oneOf\":[");
    for (const rp__shape_kind *k = rp__scene_shape_kinds; k->name; ++k)
        rp__text_append(out, "%s{\"required\":[\"%s\"]}", k == rp__scene_shape_kinds ? "" : ",", k->name);
    rp__text_append_string(out, "]}");
}

static void common(rp__text *out)
{
    rp__text_append_string(out,
        "    \"quantity\":{\"type\":\"string\",\"description\":\"a number with a unit, such as 5 cm\","
        "\"pattern\":\"^\\\\s*[+-]?([0-9]+\\\\.?[0-9]*|\\\\.[0-9]+)([eE][+-]?[0-9]+)?\\\\s*.*$|^[+-]?\\\\.?inf$\"},\n"
        "    \"number\":{\"anyOf\":[{\"type\":\"number\"},{\"$ref\":\"#/$defs/quantity\"}]},\n"
        "    \"vector\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/number\"},\"minItems\":2,\"maxItems\":3},\n"
        "    \"axis_angle\":{\"type\":\"object\",\"properties\":{\"axis\":{\"$ref\":\"#/$defs/vector\"},"
        "\"angle\":{\"$ref\":\"#/$defs/number\"}},\"required\":[\"axis\",\"angle\"],\"additionalProperties\":false},\n"
        "    \"keyed\":{\"type\":\"object\",\"description\":\"a value over time\",\"properties\":{\"keys\":{\"type\":\"array\","
        "\"minItems\":1,\"items\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/number\"},\"minItems\":2,\"maxItems\":2}}},"
        "\"required\":[\"keys\"],\"additionalProperties\":false},\n"
        "    \"colour\":{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^#[0-9a-fA-F]{6}$\"},{\"type\":\"array\","
        "\"items\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},\"minItems\":3,\"maxItems\":3}]},\n"
        "    \"preset\":{\"enum\":[");
    for (const rp__preset *p = rp__scene_presets; p->name; ++p)
        rp__text_append(out, "%s\"%s\"", p == rp__scene_presets ? "" : ",", p->name);
    rp__text_append_string(out, "]},\n");
}

rp_result rp_scene_schema(char **json)
{
    rp__text out = { 0 };
    rp__text_append_string(&out, "{\n  \"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
                                 "  \"title\":\"Repose scene\",\n  ");
    object(&out, &rp__scene_top);
    rp__text_append_string(&out, ",\n  \"$defs\":{\n");
    common(&out);
    for (const rp__scene_block *const *b = rp__scene_blocks + 1; *b; ++b) {
        rp__text_append(&out, "    \"%s\":{\"description\":", (*b)->name);
        rp__text_append_quoted(&out, (*b)->help);
        rp__text_append_string(&out, ",");
        if ((*b)->also)
            rp__text_append(&out, "\"anyOf\":[%s,{", (*b)->also);
        object(&out, *b);
        rp__text_append_string(&out, (*b)->also ? "}]},\n" : "},\n");
    }
    shapes(&out);
    rp__text_append_string(&out, "\n  }\n}\n");
    rp_result result = rp__text_result(&out);
    if (result == RP_OK)
        *json = rp__text_take(&out);
    rp__text_free(&out);
    return result;
}
