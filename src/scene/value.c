/* Values of keys: numbers with units, vectors, texts; blocks of keys. */
#include "base/error.h"
#include "base/param.h"
#include "base/units.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void *rp__scene_push(rp_scene *scene, rp__list *list, size_t size)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 4;
        void *items = rp__scene_pool_alloc(&scene->pool, (size_t)capacity * size);
        if (!items)
            return NULL;
        if (list->count)
            memcpy(items, list->items, (size_t)list->count * size);
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + (size_t)list->count++ * size;
}

static rp_result fail_kind(rp__reader *r, const rp__node *value, const char *what, const char *wanted)
{
    if (rp__scene_is_null(value))
        return rp__scene_fail(&r->tree, value->key ? value->key : value, "'%s' has no value; it needs %s", what, wanted);
    return rp__scene_fail(&r->tree, value, "'%s' needs %s, not %s", what, wanted, rp__scene_kind(value));
}

rp_result rp__scene_need(rp__reader *r, const rp__node *value, rp__node_kind kind, const char *what)
{
    static const char *const wanted[] = { "a value", "a list", "a map of keys" };
    if (value->kind == kind && !rp__scene_is_null(value))
        return RP_OK;
    return fail_kind(r, value, what, wanted[kind]);
}

static void describe_unit(const char *unit, char *buffer, size_t size)
{
    const char *quantity = rp__units_quantity(unit);
    if (!*unit)
        snprintf(buffer, size, "a number");
    else
        snprintf(buffer, size, "%s %s [%s]", strchr("aeio", quantity[0]) ? "an" : "a", quantity, unit);
}

rp_result rp__scene_read_number(rp__reader *r, const rp__node *value, const char *what, const char *unit, double *out)
{
    if (value->kind != RP_NODE_SCALAR || rp__scene_is_null(value)) {
        char wanted[100];
        describe_unit(unit, wanted, sizeof wanted);
        return fail_kind(r, value, what, wanted);
    }
    return rp__scene_wrap(&r->tree, value, rp__units_parse_key(value->text, what, unit, out));
}

rp_result rp__scene_read_vector(rp__reader *r, const rp__node *value, const char *what, const char *unit, double out[3],
                                int *count)
{
    const char *wanted = r->dim == 2 ? "a list of two numbers such as [0, 1]" : "a list of three numbers such as [0, 0, 1]";
    if (value->kind != RP_NODE_LIST)
        return fail_kind(r, value, what, wanted);
    if (value->count != 3 && !(value->count == 2 && (r->dim == 2 || count)))
        return rp__scene_fail(&r->tree, value, "'%s' needs %s, not %d", what, wanted, value->count);
    double v[3] = { 0 };
    int n = 0;
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(rp__scene_read_number(r, c, what, unit, &v[n++]));
    memcpy(out, v, sizeof v);
    if (count)
        *count = n;
    return RP_OK;
}

rp_result rp__scene_read_text(rp__reader *r, const rp__node *value, const char *what, const char **out)
{
    if (value->kind == RP_NODE_SCALAR) {
        *out = rp__scene_is_null(value) ? "" : value->text;
        return RP_OK;
    }
    if (value->kind == RP_NODE_MAP)
        return fail_kind(r, value, what, "a text");
    rp__text joined = { 0 }; /* a list of words */
    for (const rp__node *c = value->first; c; c = c->next) {
        if (c->kind != RP_NODE_SCALAR) {
            rp__text_free(&joined);
            return fail_kind(r, c, what, "words");
        }
        rp__text_append(&joined, "%s%s", c == value->first ? "" : " ", c->text);
    }
    const char *text = rp__text_string(&joined);
    char *copy = joined.failed ? NULL : rp__scene_pool_copy(&r->scene->pool, text, strlen(text));
    rp__text_free(&joined);
    *out = copy;
    return copy ? RP_OK : RP_OUT_OF_MEMORY;
}

/* {axis: [0, 0, 1], angle: 30 deg} */
static rp_result read_axis_angle(rp__reader *r, const rp__node *value, const char *what, const char *unit, double out[3])
{
    const rp__node *axis = rp__scene_get(value, "axis"), *angle = rp__scene_get(value, "angle");
    if (!axis || !angle || value->count != 2)
        return rp__scene_fail(&r->tree, value, "'%s' as a map has the two keys 'axis' and 'angle'", what);
    double v[3], size, length;
    RP_TRY(rp__scene_read_vector(r, axis, "axis", "", v, NULL));
    RP_TRY(rp__scene_read_number(r, angle, "angle", unit, &size));
    length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(length > 1e-150) || !isfinite(length))
        return rp__scene_fail(&r->tree, axis, "an axis needs a length that is not zero");
    for (int i = 0; i < 3; ++i)
        out[i] = v[i] / length * size;
    return RP_OK;
}

static rp_result read_vec3(rp__reader *r, const rp_param *entry, const rp__node *value, void *target)
{
    const char *unit = entry->unit ? entry->unit : "";
    bool turns = strncmp(unit, "rad", 3) == 0 || strcmp(unit, "N m") == 0;
    bool size = entry->least >= 0, flat = entry->choices != NULL;
    double v[3] = { 0 };
    if (turns && value->kind == RP_NODE_MAP)
        RP_TRY(read_axis_angle(r, value, entry->name, unit, v));
    else if (turns && r->dim == 2 && value->kind == RP_NODE_SCALAR)
        RP_TRY(rp__scene_read_number(r, value, entry->name, unit, &v[2]));
    else if (size && value->kind == RP_NODE_SCALAR) {
        RP_TRY(rp__scene_read_number(r, value, entry->name, unit, &v[0]));
        v[1] = v[2] = v[0];
    } else {
        int count = 3;
        RP_TRY(rp__scene_read_vector(r, value, entry->name, unit, v, flat || (size && r->dim == 2) ? &count : NULL));
        if (size && !flat && count == 2)
            v[2] = fmax(v[0], v[1]); /* the section at z = 0 is what counts */
    }
    const rp_param table[] = { *entry, { 0 } };
    return rp__scene_wrap(&r->tree, value, rp__param_set_vec3(table, target, entry->name, v));
}

rp_result rp__scene_read_param(rp__reader *r, const rp_param *entry, const rp__node *value, void *target)
{
    if (entry->type == RP_VEC3)
        return read_vec3(r, entry, value, target);
    if (entry->type == RP_TEXT) {
        const char *text;
        RP_TRY(rp__scene_read_text(r, value, entry->name, &text));
        *(const char **)((char *)target + entry->offset) = text;
        return RP_OK;
    }
    rp_param table[] = { *entry, { 0 } };
    const char *unit = entry->unit ? entry->unit : "";
    if (r->dim == 2 && strcmp(unit, "m3/s") == 0)
        table[0].unit = "m2/s";
    if (value->kind != RP_NODE_SCALAR || rp__scene_is_null(value)) {
        char wanted[200];
        if (entry->type == RP_BOOL)
            snprintf(wanted, sizeof wanted, "true or false");
        else if (entry->type == RP_ENUM)
            snprintf(wanted, sizeof wanted, "one of %s", entry->choices);
        else
            describe_unit(table[0].unit ? table[0].unit : "", wanted, sizeof wanted);
        return fail_kind(r, value, entry->name, wanted);
    }
    return rp__scene_wrap(&r->tree, value, rp__param_set_text(table, target, entry->name, value->text));
}

/* ---- blocks ---- */

static const rp__scene_key *find_key(const rp__scene_block *block, const char *name)
{
    for (const rp__scene_key *k = block->keys; k && k->name; ++k)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

const char *rp__scene_suggest(const char *word, const char *const *names, char *buffer, size_t size)
{
    int count = 0;
    while (names[count])
        ++count;
    int nearest = rp__text_nearest(word, names, count);
    if (nearest >= 0)
        snprintf(buffer, size, "; did you mean '%s'?", names[nearest]);
    else {
        size_t used = (size_t)snprintf(buffer, size, "; known are: ");
        for (int i = 0; i < count && used < size; ++i)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", names[i]);
    }
    return buffer;
}

rp_result rp__scene_fail_unknown(rp__reader *r, const rp__scene_block *block, const rp_param *table, const rp__node *key)
{
    enum { MOST = 120 };
    const char *names[MOST + 1];
    int count = 0;
    for (const rp__scene_key *k = block->keys; k && k->name && count < MOST; ++k)
        names[count++] = k->name;
    for (const rp_param *e = table; e && e->name && count < MOST; ++e)
        names[count++] = e->name;
    if (block == &rp__scene_top)
        for (int i = 0; i < rp_method_count() && count < MOST; ++i)
            names[count++] = rp_method_at(i)->name;
    names[count] = NULL;
    char hint[1200];
    return rp__scene_fail(&r->tree, key, "unknown key '%.100s' in %s%s", key->text, block->title,
                          rp__scene_suggest(key->text, names, hint, sizeof hint));
}

rp_result rp__scene_check_keys(rp__reader *r, const rp__scene_block *block, const rp__node *map)
{
    const rp_param *table = block->table ? block->table() : NULL;
    if (map->kind != RP_NODE_MAP)
        return rp__scene_fail(&r->tree, map, "%s is a map of keys, not %s", block->title, rp__scene_kind(map));
    for (const rp__node *c = map->first; c; c = c->next)
        if (!(table && rp__param_find(table, c->key->text)) && !find_key(block, c->key->text) &&
            !(block == &rp__scene_top && (rp_method_find(c->key->text) || strncmp(c->key->text, "x-", 2) == 0)))
            return rp__scene_fail_unknown(r, block, table, c->key);
    for (const rp__scene_key *k = block->keys; k && k->name; ++k)
        if (!k->initial && !rp__scene_get(map, k->name))
            return rp__scene_fail(&r->tree, map, "missing key '%s' in %s: %s", k->name, block->title, k->help);
    return RP_OK;
}

rp_result rp__scene_read_block(rp__reader *r, const rp__scene_block *block, const rp__node *map, void *target)
{
    RP_TRY(rp__scene_check_keys(r, block, map));
    const rp_param *table = block->table ? block->table() : NULL;
    for (const rp__node *c = map->first; table && c; c = c->next) {
        const rp_param *entry = rp__param_find(table, c->key->text);
        if (entry && !find_key(block, c->key->text))
            RP_TRY(rp__scene_read_param(r, entry, c, target));
    }
    for (const rp__scene_key *k = block->keys; k && k->name; ++k) {
        const rp__node *value = rp__scene_get(map, k->name);
        if (value)
            RP_TRY(k->read(r, value, target));
    }
    return RP_OK;
}
