/* Grains, emitters and sinks. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHAPE_SCHEMA "{\"$ref\":\"#/$defs/shape\"}"
#define MATERIAL_HELP "name of a material of the scene, or of a preset"

/* ---- keys ---- */

static rp_result grains_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__grains_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape, &item->def.shape);
}

static rp_result grains_material(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_find_material(r, value, &((rp__grains_item *)target)->def.material);
}

rp_result rp__scene_read_field(rp__reader *r, const rp__node *value, const char *name, const char **text, rp_expression **out)
{
    static const char *const variables[] = { "x", "y", "z" };
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, name));
    *text = value->text;
    RP_TRY(rp__scene_wrap(&r->tree, value, rp_expression_create(value->text, variables, 3, 3, out)));
    double at[3], unused[3];
    const rp_sim_def *sim = &r->scene->sim;
    for (int a = 0; a < 3; ++a)
        at[a] = (sim->lower[a] + sim->upper[a]) / 2;
    return rp__scene_wrap(&r->tree, value, rp_expression_evaluate(*out, at, unused));
}

static rp_result grains_field(rp__reader *r, const rp__node *value, void *target)
{
    rp__grains_item *item = target;
    return rp__scene_read_field(r, value, "velocity_field", &item->velocity_field, &item->def.velocity_field);
}

static rp_result grains_orientation(rp__reader *r, const rp__node *value, void *target)
{
    rp__grains_item *item = target;
    return rp__scene_read_field(r, value, "orientation_field", &item->orientation_field, &item->def.orientation_field);
}

static rp_result emitter_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__emitter_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape, &item->def.shape);
}

static rp_result emitter_material(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_find_material(r, value, &((rp__emitter_item *)target)->def.material);
}

static rp_result emitter_schedule(rp__reader *r, const rp__node *value, void *target)
{
    ((rp__emitter_item *)target)->schedule = value;
    return rp__scene_need(r, value, RP_NODE_LIST, "schedule");
}

static rp_result sink_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__sink_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape, &item->def.shape);
}

static rp_result sink_schedule(rp__reader *r, const rp__node *value, void *target)
{
    ((rp__sink_item *)target)->schedule = value;
    return rp__scene_need(r, value, RP_NODE_LIST, "schedule");
}

#define SCHEDULE_KEY(reader)                                                                                           \
    { "schedule", "list of [start, stop]",                                                                             \
      "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/number\"},\"minItems\":2,"       \
      "\"maxItems\":2}}",                                                                                              \
      "several spans of time instead of start and stop", "", reader }

static const rp__scene_key grains_keys[] = {
    { "shape", "shape", SHAPE_SCHEMA, "where they are", NULL, grains_shape },
    { "material", "text", "{\"type\":\"string\"}", MATERIAL_HELP, "the first material", grains_material },
    { "velocity_field", "Lua", "{\"type\":\"string\"}",
      "expression of x, y, z that gives three speeds, added to the above: \"-y, x, 0\"", "", grains_field },
    { "orientation_field", "Lua", "{\"type\":\"string\"}",
      "expression of x, y, z that gives the normal of flat grains, instead of the material's orientation; zeros for random: \"0, 0, 1\"",
      "", grains_orientation },
    { 0 },
};
static const rp__scene_key emitter_keys[] = {
    { "shape", "shape", SHAPE_SCHEMA, "where the grains appear", NULL, emitter_shape },
    { "material", "text", "{\"type\":\"string\"}", MATERIAL_HELP, "the first material", emitter_material },
    SCHEDULE_KEY(emitter_schedule),
    { 0 },
};
static const rp__scene_key sink_keys[] = {
    { "shape", "shape", SHAPE_SCHEMA, "grains that come in are removed", NULL, sink_shape },
    SCHEDULE_KEY(sink_schedule),
    { 0 },
};

static void grains_defaults(void *target) { *(rp_grains_def *)target = rp_default_grains_def(); }
static void emitter_defaults(void *target) { *(rp_emitter_def *)target = rp_default_emitter_def(); }
static void sink_defaults(void *target) { *(rp_sink_def *)target = rp_default_sink_def(); }

const rp__scene_block rp__scene_grains = {
    "grains", "grains", "Grains that are there at the start. A list, or one map.",
    "grains:\n  - shape: {box: {lower: [0, 0, 0], upper: [0.5, 1, 0.8]}}\n    material: dry-sand\n    velocity: [1, 0, 0]",
    rp__scene_grains_table, grains_keys, grains_defaults,
    NULL,
};
const rp__scene_block rp__scene_emitter = {
    "emitter", "an emitter", "A place where grains come in. A list, or one map.",
    "emitters:\n  - shape: {cylinder: {from: [0.5, 0.5, 0.9], to: [0.5, 0.5, 0.95], radius: 5 cm}}\n    rate: 0.2 l/s\n"
    "    velocity: [0, 0, -1]\n    stop: 3 s",
    rp__scene_emitter_table, emitter_keys, emitter_defaults,
    NULL,
};
const rp__scene_block rp__scene_sink = {
    "sink", "a sink", "A place where grains are taken away. A list, or one map.",
    "sinks:\n  - {shape: {plane: {point: [0, 0, 1 cm], normal: [0, 0, 1]}}, schedule: [[0 s, 1 s], [2 s, 3 s]]}",
    rp__scene_sink_table, sink_keys, sink_defaults,
    NULL,
};

/* ---- lists ---- */

static rp_result check_span(rp__reader *r, const rp__node *value, double start, double stop)
{
    if (!(stop > start))
        return rp__scene_fail(&r->tree, value, "it stops at %g s, before or when it starts (%g s)", stop, start);
    return RP_OK;
}

static rp_result read_span(rp__reader *r, const rp__node *value, double *start, double *stop)
{
    if (value->kind != RP_NODE_LIST || value->count != 2)
        return rp__scene_fail(&r->tree, value, "a span of a schedule is [start, stop]");
    RP_TRY(rp__scene_read_number(r, value->first, "start", "s", start));
    RP_TRY(rp__scene_read_number(r, value->last, "stop", "s", stop));
    return check_span(r, value, *start, *stop);
}

static rp_result name_span(rp__reader *r, const char **name, int index)
{
    char text[300];
    snprintf(text, sizeof text, "%.250s-%d", *name, index + 1);
    *name = rp__scene_pool_copy(&r->scene->pool, text, strlen(text));
    return *name ? RP_OK : RP_OUT_OF_MEMORY;
}

static rp_result read_grains_item(rp__reader *r, const rp__node *value)
{
    rp__grains_item *item = rp__scene_push(r->scene, &r->scene->grains, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    grains_defaults(&item->def);
    return rp__scene_read_block(r, &rp__scene_grains, value, item);
}

static rp_result read_emitter_item(rp__reader *r, const rp__node *value)
{
    rp__list *list = &r->scene->emitters;
    rp__emitter_item *item = rp__scene_push(r->scene, list, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    emitter_defaults(&item->def);
    RP_TRY(rp__scene_read_block(r, &rp__scene_emitter, value, item));
    RP_TRY(check_span(r, value, item->def.start, item->def.stop));
    if (!item->schedule)
        return RP_OK;
    rp__emitter_item whole = *item;
    int index = 0, at = list->count - 1;
    for (const rp__node *span = whole.schedule->first; span; span = span->next, ++index) {
        if (index > 0) {
            if (!rp__scene_push(r->scene, list, sizeof *item))
                return RP_OUT_OF_MEMORY;
            item = RP_ITEM(rp__emitter_item, *list, at + index);
            *item = whole;
            rp_shape_retain(item->def.shape);
        }
        RP_TRY(read_span(r, span, &item->def.start, &item->def.stop));
        RP_TRY(whole.schedule->count > 1 ? name_span(r, &item->def.name, index) : RP_OK);
    }
    return index ? RP_OK : rp__scene_fail(&r->tree, whole.schedule, "'schedule' needs at least one [start, stop]");
}

static rp_result read_sink_item(rp__reader *r, const rp__node *value)
{
    rp__list *list = &r->scene->sinks;
    rp__sink_item *item = rp__scene_push(r->scene, list, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    sink_defaults(&item->def);
    RP_TRY(rp__scene_read_block(r, &rp__scene_sink, value, item));
    RP_TRY(check_span(r, value, item->def.start, item->def.stop));
    if (!item->schedule)
        return RP_OK;
    rp__sink_item whole = *item;
    int index = 0, at = list->count - 1;
    for (const rp__node *span = whole.schedule->first; span; span = span->next, ++index) {
        if (index > 0) {
            if (!rp__scene_push(r->scene, list, sizeof *item))
                return RP_OUT_OF_MEMORY;
            item = RP_ITEM(rp__sink_item, *list, at + index);
            *item = whole;
            rp_shape_retain(item->def.shape);
        }
        RP_TRY(read_span(r, span, &item->def.start, &item->def.stop));
        RP_TRY(whole.schedule->count > 1 ? name_span(r, &item->def.name, index) : RP_OK);
    }
    return index ? RP_OK : rp__scene_fail(&r->tree, whole.schedule, "'schedule' needs at least one [start, stop]");
}

rp_result rp__scene_read_list(rp__reader *r, const rp__node *value, const char *what,
                              rp_result (*item)(rp__reader *, const rp__node *))
{
    if (value->kind == RP_NODE_MAP)
        return item(r, value);
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, what));
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(item(r, c));
    return RP_OK;
}

rp_result rp__scene_read_grains(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "grains", read_grains_item);
}

rp_result rp__scene_read_emitters(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "emitters", read_emitter_item);
}

rp_result rp__scene_read_sinks(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "sinks", read_sink_item);
}
