/* The reference page of the scene format, in Markdown, made from the tables. */
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void type_name(rp__text *out, const rp_param *e)
{
    const char *unit = e->unit ? e->unit : "";
    char name[100];
    switch (e->type) {
    case RP_REAL: rp__text_append(out, *unit ? "number [%s]" : "number", unit); break;
    case RP_INT: rp__text_append(out, *unit ? "whole number [%s]" : "whole number", unit); break;
    case RP_BOOL: rp__text_append_string(out, "true or false"); break;
    case RP_TEXT: rp__text_append_string(out, "text"); break;
    case RP_VEC3: rp__text_append(out, *unit ? "%s [%s]" : "%s", e->choices ? "x, y" : "vector", unit); break;
    case RP_ENUM:
        for (int i = 0; rp__param_choice(e, i, name, sizeof name); ++i)
            rp__text_append(out, "%s`%s`", i ? ", " : "", name);
        break;
    }
}

static void default_text(rp__text *out, const rp_param *e, const void *target)
{
    const void *at = (const char *)target + e->offset;
    bool real = e->type == RP_REAL || e->type == RP_VEC3;
    double first = real ? *(const double *)at : 0;
    if (real && isnan(first))
        return;
    if (real && isinf(first)) {
        rp__text_append_string(out, first > 0 ? "never" : "always");
        return;
    }
    if (e->type == RP_TEXT) {
        const char *text = rp__param_text(e, target);
        rp__text_append(out, *text ? "`%s`" : "%s", text);
        return;
    }
    if (e->type == RP_REAL && e->unit && strcmp(e->unit, "rad") == 0) {
        rp__text_append_string(out, "`");
        rp__text_append_number(out, round(first * 180 / 3.14159265358979323846 * 1e6) / 1e6);
        rp__text_append_string(out, " deg`");
        return;
    }
    char text[200];
    rp__param_format(e, target, text, sizeof text);
    rp__text_append(out, "`%s`", text);
}

static void range_text(rp__text *out, const rp_param *e)
{
    if ((e->type != RP_REAL && e->type != RP_INT) || !(e->least < e->most) || (e->unit && strcmp(e->unit, "rad") == 0))
        return;
    bool below = isfinite(e->least) && e->least > -1e299, above = isfinite(e->most) && e->most < 1e12;
    if (below) {
        rp__text_append_string(out, "; at least ");
        rp__text_append_number(out, e->least);
    }
    if (above) {
        rp__text_append_string(out, below ? ", at most " : "; at most ");
        rp__text_append_number(out, e->most);
    }
}

static void table_head(rp__text *out)
{
    rp__text_append_string(out, "\n| key | value | default | |\n|---|---|---|---|\n");
}

static void table_rows(rp__text *out, const rp_param *table, const void *target, const char *required)
{
    for (const rp_param *e = table; e && e->name; ++e) {
        rp__text_append(out, "| `%s` | ", e->name);
        type_name(out, e);
        rp__text_append_string(out, " | ");
        size_t length = strlen(e->name);
        const char *found = required ? strstr(required, e->name) : NULL;
        if (found && (found == required || found[-1] == ' ') && (found[length] == ' ' || !found[length]))
            rp__text_append_string(out, "required");
        else if (target)
            default_text(out, e, target);
        rp__text_append(out, " | %s", e->help);
        range_text(out, e);
        rp__text_append_string(out, " |\n");
    }
}

static void key_rows(rp__text *out, const rp__scene_key *keys)
{
    for (const rp__scene_key *k = keys; k && k->name; ++k)
        rp__text_append(out, "| `%s` | %s | %s | %s |\n", k->name, k->type, k->initial ? k->initial : "required", k->help);
}

static void block(rp__text *out, const rp__scene_block *b)
{
    rp__scene_target target;
    memset(&target, 0, sizeof target);
    if (b->defaults)
        b->defaults(&target);
    char title[60];
    snprintf(title, sizeof title, "%s", b->title);
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 'a' + 'A' : title[0]);
    rp__text_append(out, "\n## %s\n\n%s\n\n```yaml\n%s\n```\n", title, b->help, b->example);
    table_head(out);
    key_rows(out, b->keys);
    table_rows(out, b->table ? b->table() : NULL, b->defaults ? &target : NULL, NULL);
}

static void shapes(rp__text *out)
{
    rp__text_append_string(out, "\n## Shapes\n\nA shape is a map with one key that names its kind; beside it may stand the pose: "
                                "the shape is scaled, then turned about the origin, then moved.\n\n```yaml\n"
                                "shape: {box: {size: [1, 0.1, 0.2]}, rotation: [0, 0, 30 deg], position: [0.5, 0.5, 0.2]}\n```\n");
    rp__scene_target target;
    memset(&target, 0, sizeof target);
    rp__param_defaults(rp__scene_place_table, &target);
    table_head(out);
    table_rows(out, rp__scene_place_table, &target, NULL);
    rp__text_append_string(out, "\nIn 2D a shape is its section at z = 0, and vectors may have two components.\n");
    for (const rp__shape_kind *k = rp__scene_shape_kinds; k->name; ++k) {
        rp__text_append(out, "\n### %s\n\n%s\n\n```yaml\nshape: %s\n```\n", k->name, k->help, k->example);
        if (!k->table) {
            rp__text_append(out, "\nTakes %s.\n", k->form == RP_SHAPE_ONE ? "a shape" : "a list of shapes");
            continue;
        }
        memset(&target, 0, sizeof target);
        rp__param_defaults(k->table, &target);
        table_head(out);
        if (k->form == RP_SHAPE_KEYED)
            rp__text_append_string(out, "| `shape` | shape | required | what it is made from |\n");
        if (strcmp(k->name, "heightfield") == 0)
            rp__text_append_string(out, "| `heights` | list of lists [m] | | rows of heights, the first at the smallest y; instead "
                                        "of image, low and high |\n");
        table_rows(out, k->table, &target, k->required);
    }
}

static void presets(rp__text *out)
{
    rp__text_append_string(out, "\n## Presets\n\nMaterials to start from: `material: dry-sand`, or `{preset: dry-sand, "
                                "friction_angle: 35 deg}`.\n\n| preset | | settings |\n|---|---|---|\n");
    for (const rp__preset *p = rp__scene_presets; p->name; ++p)
        rp__text_append(out, "| `%s` | %s | %s |\n", p->name, p->help, p->settings);
}

static void methods(rp__text *out)
{
    rp__text_append_string(out, "\n## Methods\n\n`method: NAME` chooses one. A block of that name holds its parameters; blocks of "
                                "other methods are checked and kept, so that one scene can be run under several.\n\n```yaml\n"
                                "method: ballistic\nballistic: {restitution: 0.5}\n```\n");
    for (int i = 0; i < rp_method_count(); ++i) {
        const rp_method_info *info = rp_method_at(i);
        rp__text_append(out, "\n### %s\n\n%s\n", info->name, info->summary ? info->summary : "");
        if (!info->params || !info->params->name)
            continue;
        rp_params *params = NULL;
        if (rp_params_create(info->name, &params) != RP_OK) {
            out->failed = true;
            return;
        }
        table_head(out);
        table_rows(out, info->params, rp_params_data(params), NULL);
        rp_params_destroy(params);
    }
}

static void rules(rp__text *out)
{
    rp__text_append(out,
        "\n## Replacing values\n\n`--set path=value` changes a scene before it is read: the path is keys joined by points, with "
        "the number (from 0) or the `name` of an item of a list; the value is YAML.\n\n```sh\nrepose run scene.yaml --set "
        "cell_size=2cm --set materials.sand.friction=0.6 --set grains.0.velocity='[1, 0, 0]'\n```\n"
        "\n## Files\n\nA relative path (mesh, heightfield image) starts at the folder of the scene file; it may leave it with `..`, "
        "and absolute paths are taken as they are: run scenes of strangers as you would run any file that names others. The scene "
        "written to the output folder names copies of them beside it (`files/`).\n"
        "\n## Limits\n\nA scene file has at most %d MiB, %d values once aliases are written out, and %d levels. Not-a-number and "
        "infinity are refused, but for `start` and `stop`, where `inf` and `-inf` mean never and always.\n"
        "\n## How this is made\n\nThe room `src/scene` reads a scene in three steps: `tree.c` turns the text into a plain tree with "
        "a place for every value, copies aliases and applies replacements; the `read_*.c` files walk the tree with the tables of "
        "the blocks; `read_top.c` gathers the definitions. Writing (`format.c`), the schema (`schema.c`) and this page "
        "(`reference.c`) walk the same tables. To add a number, a choice or a text, add a line to a table in `tables.c` (or to the "
        "material's, or a method's); to add a shape, a line to the kinds in `shapes.c`; to add a preset, a line in "
        "`read_material.c`. Then make this page anew and add a broken scene with its message to `tests/scenes_bad`.\n",
        RP_TREE_BYTES >> 20, RP_TREE_NODES, RP_TREE_DEPTH);
}

rp_result rp_scene_reference(char **markdown)
{
    rp__text out = { 0 };
    rp__text_append_string(&out, "# The scene format\n\nThis page is made from the tables of the program by `repose schema "
                                 "--reference`; a test compares the two.\n");
    for (const rp__scene_block *const *b = rp__scene_blocks; *b; ++b) {
        block(&out, *b);
        if (*b == &rp__scene_material)
            presets(&out);
    }
    shapes(&out);
    methods(&out);
    rules(&out);
    rp_result result = rp__text_result(&out);
    if (result == RP_OK)
        *markdown = rp__text_take(&out);
    rp__text_free(&out);
    return result;
}
