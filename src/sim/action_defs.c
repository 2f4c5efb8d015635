/* Definitions within actions: one table a definition drives writing, reading, copying and freeing. */
#include "base/error.h"
#include "base/memory.h"
#include "shape/shape_internal.h"
#include "sim/action.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef enum member_type { M_REAL, M_VECTOR, M_WHOLE /* int or enumeration */, M_FLAG, M_SEED, M_NAME, M_SHAPE, M_EXPRESSION } member_type;

typedef struct member {
    const char *name;
    member_type type;
    size_t offset;
} member;

#define B(name) offsetof(rp_body_def, name)
static const member body_members[] = {
    { "name", M_NAME, B(name) },
    { "kind", M_WHOLE, B(kind) },
    { "shape", M_SHAPE, B(shape) },
    { "position", M_VECTOR, B(position) },
    { "rotation", M_VECTOR, B(rotation) },
    { "velocity", M_VECTOR, B(velocity) },
    { "angular_velocity", M_VECTOR, B(angular_velocity) },
    { "density", M_REAL, B(density) },
    { "mass", M_REAL, B(mass) },
    { "linear_damping", M_REAL, B(linear_damping) },
    { "angular_damping", M_REAL, B(angular_damping) },
    { "force", M_VECTOR, B(force) },
    { "torque", M_VECTOR, B(torque) },
    { "surface", M_WHOLE, B(surface.kind) },
    { "friction", M_REAL, B(surface.friction) },
    { "adhesion", M_REAL, B(surface.adhesion) },
    { "joint", M_WHOLE, B(joint) },
    { "joint_point", M_VECTOR, B(joint_point) },
    { "joint_axis", M_VECTOR, B(joint_axis) },
    { "motor", M_WHOLE, B(motor) },
    { "motor_value", M_REAL, B(motor_value) },
    { "motor_limit", M_REAL, B(motor_limit) },
    { "start", M_REAL, B(start) },
    { "stop", M_REAL, B(stop) },
    { "colour", M_VECTOR, B(colour) },
    { 0 },
};

#define G(name) offsetof(rp_grains_def, name)
static const member grains_members[] = {
    { "name", M_NAME, G(name) },
    { "shape", M_SHAPE, G(shape) },
    { "velocity", M_VECTOR, G(velocity) },
    { "angular_velocity", M_VECTOR, G(angular_velocity) },
    { "pivot", M_VECTOR, G(pivot) },
    { "velocity_field", M_EXPRESSION, G(velocity_field) },
    { "orientation_field", M_EXPRESSION, G(orientation_field) },
    { "fixed", M_FLAG, G(fixed) },
    { "sampling", M_WHOLE, G(sampling) },
    { "per_cell", M_REAL, G(per_cell) },
    { "fill", M_REAL, G(fill) },
    { "seed", M_SEED, G(seed) },
    { 0 },
};

#define P(name) offsetof(rp_force_def, name)
static const member force_members[] = {
    { "name", M_NAME, P(name) },
    { "kind", M_WHOLE, P(kind) },
    { "shape", M_SHAPE, P(shape) },
    { "vector", M_VECTOR, P(vector) },
    { "point", M_VECTOR, P(point) },
    { "strength", M_REAL, P(strength) },
    { "core", M_REAL, P(core) },
    { "callback", M_NAME, P(callback) },
    { 0 },
};

rp_force_def rp_default_force_def(void)
{
    rp_force_def def;
    memset(&def, 0, sizeof def);
    def.cookie = RP__SIM_COOKIE;
    def.name = "";
    def.callback = "";
    return def;
}

/* ---- writing ---- */

static bool is_default(const member *m, const void *value, const void *initial)
{
    switch (m->type) {
    case M_REAL: return memcmp(value, initial, sizeof(double)) == 0;
    case M_VECTOR: return memcmp(value, initial, 3 * sizeof(double)) == 0;
    case M_WHOLE: return *(const int *)value == *(const int *)initial;
    case M_FLAG: return *(const bool *)value == *(const bool *)initial;
    case M_SEED: return *(const uint64_t *)value == *(const uint64_t *)initial;
    case M_NAME: return !*(char *const *)value || !**(char *const *)value;
    default: return !*(void *const *)value;
    }
}

static rp_result write_members(const member *table, const void *def, const void *initial, rp__text *text)
{
    const char *comma = "{";
    for (const member *m = table; m->name; m++) {
        const void *value = (const char *)def + m->offset;
        if (is_default(m, value, (const char *)initial + m->offset))
            continue;
        rp__text_append(text, "%s\"%s\":", comma, m->name);
        comma = ",";
        switch (m->type) {
        case M_REAL: rp__action_write_number(text, *(const double *)value); break;
        case M_VECTOR: rp__action_write_numbers(text, value, 3); break;
        case M_WHOLE: rp__text_append(text, "%d", *(const int *)value); break;
        case M_FLAG: rp__text_append_string(text, *(const bool *)value ? "true" : "false"); break;
        case M_SEED: rp__text_append(text, "\"%llu\"", (unsigned long long)*(const uint64_t *)value); break;
        case M_NAME: rp__text_append_quoted(text, *(char *const *)value); break;
        case M_SHAPE: RP_TRY(rp__shape_write(*(rp_shape *const *)value, text)); break;
        case M_EXPRESSION: rp__text_append_quoted(text, rp__shape_expression_source(*(rp_expression *const *)value)); break;
        }
    }
    rp__text_append_string(text, *comma == '{' ? "{}" : "}");
    return rp__text_result(text);
}

rp_result rp__action_write_body(const rp_body_def *def, rp__text *text)
{
    rp_body_def initial = rp_default_body_def();
    return write_members(body_members, def, &initial, text);
}

rp_result rp__action_write_grains(const rp_grains_def *def, rp__text *text)
{
    rp_grains_def initial = rp_default_grains_def();
    return write_members(grains_members, def, &initial, text);
}

rp_result rp__action_write_force(const rp_force_def *def, rp__text *text)
{
    rp_force_def initial = rp_default_force_def();
    return write_members(force_members, def, &initial, text);
}

/* ---- what a copy owns ---- */

static void free_members(const member *table, void *def)
{
    if (!def)
        return;
    for (const member *m = table; m->name; m++) {
        void **value = (void **)((char *)def + m->offset);
        if (m->type == M_NAME)
            rp__base_free(*value);
        if (m->type == M_SHAPE)
            rp_shape_release(*value);
        if (m->type == M_EXPRESSION)
            rp_expression_release(*value);
    }
    rp__base_free(def);
}

static rp_result make_expression(const char *source, rp_expression **out)
{
    static const char *const variables[3] = { "x", "y", "z" };
    return rp_expression_create(source, variables, 3, 3, out);
}

/* Members of `copy`, a plain copy of a definition, become its own. On failure the rest are NULL. */
static rp_result own_members(const member *table, void *copy)
{
    rp_result result = RP_OK;
    for (const member *m = table; m->name; m++) {
        void **value = (void **)((char *)copy + m->offset);
        void *given = m->type == M_NAME || m->type == M_SHAPE || m->type == M_EXPRESSION ? *value : NULL;
        if (m->type == M_NAME) {
            *value = result == RP_OK ? rp__base_copy_text(given ? given : "") : NULL;
            result = *value || result != RP_OK ? result : RP_OUT_OF_MEMORY;
        }
        if (m->type == M_SHAPE)
            *value = rp_shape_retain(given);
        if (m->type == M_EXPRESSION && given) {
            *value = NULL;
            if (result == RP_OK)
                result = make_expression(rp__shape_expression_source(given), (rp_expression **)value);
        }
    }
    return result;
}

static rp_result copy_members(const member *table, const void *def, size_t size, void **out)
{
    void *copy = rp__base_alloc(size);
    if (!copy)
        return RP_OUT_OF_MEMORY;
    memcpy(copy, def, size);
    rp_result result = own_members(table, copy);
    if (result == RP_OK)
        *out = copy;
    else
        free_members(table, copy);
    return result;
}

rp_result rp__action_copy_body(const rp_body_def *def, rp_body_def **out)
{
    return copy_members(body_members, def, sizeof *def, (void **)out);
}

rp_result rp__action_copy_grains(const rp_grains_def *def, rp_grains_def **out)
{
    return copy_members(grains_members, def, sizeof *def, (void **)out);
}

rp_result rp__action_copy_force(const rp_force_def *def, rp_force_def **out)
{
    return copy_members(force_members, def, sizeof *def, (void **)out);
}

void rp__action_free_body(rp_body_def *def)
{
    free_members(body_members, def);
}

void rp__action_free_grains(rp_grains_def *def)
{
    free_members(grains_members, def);
}

void rp__action_free_force(rp_force_def *def)
{
    free_members(force_members, def);
}

/* ---- reading ---- */

static rp_result read_seed(rp__json *json, uint64_t *seed)
{
    char text[24];
    uint64_t value = 0;
    RP_TRY(rp__json_text(json, text, sizeof text));
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > (UINT64_MAX - (uint64_t)(*c - '0')) / 10)
            return rp__base_fail(RP_BAD_FILE, "the seed '%s' is not a whole number from 0 to 2^64 - 1", text);
        value = 10 * value + (uint64_t)(*c - '0');
    }
    *seed = value;
    return RP_OK;
}

static rp_result read_text(rp__json *json, const member *m, void *value)
{
    char text[4096];
    RP_TRY(rp__json_text(json, text, sizeof text));
    if (m->type == M_EXPRESSION)
        return make_expression(text, value);
    char *copy = rp__base_copy_text(text);
    if (!copy)
        return RP_OUT_OF_MEMORY;
    rp__base_free(*(char **)value);
    *(char **)value = copy;
    return RP_OK;
}

static rp_result read_member(rp__json *json, const member *m, void *def)
{
    void *value = (char *)def + m->offset;
    int64_t whole;
    switch (m->type) {
    case M_REAL: return rp__json_number(json, value);
    case M_VECTOR: return rp__json_numbers(json, value, 3);
    case M_WHOLE:
        RP_TRY(rp__json_whole(json, &whole));
        if (whole < 0 || whole > 100)
            return rp__base_fail(RP_BAD_FILE, "%lld is not the number of a choice", (long long)whole);
        *(int *)value = (int)whole;
        return RP_OK;
    case M_FLAG: return rp__json_bool(json, value);
    case M_SEED: return read_seed(json, value);
    case M_SHAPE: return *(rp_shape **)value ? rp__base_fail(RP_BAD_FILE, "the shape stands twice") : rp__shape_read(json, value);
    default:
        if (m->type == M_EXPRESSION && *(void **)value)
            return rp__base_fail(RP_BAD_FILE, "the expression stands twice");
        return read_text(json, m, value);
    }
}

static rp_result unknown(const member *table, const char *key)
{
    const char *names[40];
    int count = 0;
    for (const member *m = table; m->name; m++)
        names[count++] = m->name;
    int nearest = rp__text_nearest(key, names, count);
    return nearest < 0 ? rp__base_fail(RP_BAD_FILE, "there is no \"%s\" in it", key)
                       : rp__base_fail(RP_BAD_FILE, "there is no \"%s\" in it; did you mean \"%s\"?", key, names[nearest]);
}

static rp_result read_members(rp__json *json, const member *table, void *def)
{
    bool first = true, more = true;
    char key[64];
    RP_TRY(rp__json_object(json));
    for (;;) {
        RP_TRY(rp__json_key(json, &first, key, sizeof key, &more));
        if (!more)
            return RP_OK;
        const member *m = table;
        while (m->name && strcmp(m->name, key) != 0)
            m++;
        RP_TRY(m->name ? read_member(json, m, def) : unknown(table, key));
    }
}

/* `initial` has no member of its own but names. */
static rp_result read_def(rp__json *json, const member *table, const void *initial, size_t size, void **out)
{
    void *def = NULL;
    if (*out)
        return rp__base_fail(RP_BAD_FILE, "it stands twice");
    RP_TRY(copy_members(table, initial, size, &def));
    rp_result result = read_members(json, table, def);
    if (result == RP_OK)
        *out = def;
    else
        free_members(table, def);
    return result;
}

rp_result rp__action_read_body(rp__json *json, rp_body_def **out)
{
    rp_body_def initial = rp_default_body_def();
    return read_def(json, body_members, &initial, sizeof initial, (void **)out);
}

rp_result rp__action_read_grains(rp__json *json, rp_grains_def **out)
{
    rp_grains_def initial = rp_default_grains_def();
    return read_def(json, grains_members, &initial, sizeof initial, (void **)out);
}

rp_result rp__action_read_force(rp__json *json, rp_force_def **out)
{
    rp_force_def initial = rp_default_force_def();
    return read_def(json, force_members, &initial, sizeof initial, (void **)out);
}
