/* Actions as lines of JSON. One table of arguments drives writing and reading; numbers come back to the bit. */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "shape/shape_internal.h"
#include "sim/action.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef enum argument_type { ARG_SUBJECT, ARG_NAME, ARG_REAL, ARG_VECTOR, ARG_QUATERNION, ARG_REACH, ARG_BODY_DEF, ARG_GRAINS_DEF, ARG_FORCE_DEF,
                             ARG_SHAPE, ARG_NUMBERS /* count behind it */ } argument_type;

typedef struct argument {
    const char *name;
    argument_type type;
    size_t offset;
    bool optional;
} argument;

enum { MOST_ARGUMENTS = 8 };

#define AT(member) offsetof(rp__action, member)
#define BODY { "body", ARG_SUBJECT, AT(body), false }

static const struct {
    const char *name;
    argument arguments[MOST_ARGUMENTS]; /* ends with a NULL name */
} kinds[RP__ACTION_COUNT] = {
    [RP__ACTION_GRAVITY] = { "gravity", { { "value", ARG_VECTOR, AT(vector), false } } },
    [RP__ACTION_MATERIAL] = { "material",
                              { { "material", ARG_SUBJECT, AT(material), false },
                                { "parameter", ARG_NAME, AT(parameter), false },
                                { "value", ARG_REAL, AT(value), false } } },
    [RP__ACTION_BODY_POSE] = { "body_pose", { BODY, { "position", ARG_VECTOR, AT(vector), false }, { "orientation", ARG_QUATERNION, AT(orientation), true } } },
    [RP__ACTION_BODY_VELOCITY] = { "body_velocity",
                                   { BODY, { "velocity", ARG_VECTOR, AT(vector), false }, { "angular_velocity", ARG_VECTOR, AT(second), true } } },
    [RP__ACTION_BODY_TARGET] = { "body_target",
                                 { BODY,
                                   { "position", ARG_VECTOR, AT(vector), false },
                                   { "orientation", ARG_QUATERNION, AT(orientation), true },
                                   { "reach", ARG_REACH, AT(until), true } } },
    [RP__ACTION_BODY_FORCE] = { "body_force", { BODY, { "force", ARG_VECTOR, AT(vector), false }, { "torque", ARG_VECTOR, AT(second), true } } },
    [RP__ACTION_BODY_PUSH] = { "body_push", { BODY, { "force", ARG_VECTOR, AT(vector), false }, { "torque", ARG_VECTOR, AT(second), true } } },
    [RP__ACTION_BODY_MOTOR] = { "body_motor", { BODY, { "value", ARG_REAL, AT(value), false } } },
    [RP__ACTION_BODY_ADD] = { "body_add", { { "body", ARG_BODY_DEF, AT(new_body), false } } },
    [RP__ACTION_BODY_REMOVE] = { "body_remove", { BODY } },
    [RP__ACTION_GRAINS_ADD] = { "grains_add", { { "material", ARG_SUBJECT, AT(material), false }, { "grains", ARG_GRAINS_DEF, AT(new_grains), false } } },
    [RP__ACTION_GRAINS_REMOVE] = { "grains_remove", { { "shape", ARG_SHAPE, AT(shape), true }, { "ids", ARG_NUMBERS, AT(ids), true } } },
    [RP__ACTION_FORCE_ADD] = { "force_add", { { "force", ARG_FORCE_DEF, AT(force), false } } },
    [RP__ACTION_FORCE_REMOVE] = { "force_remove", { { "name", ARG_NAME, AT(parameter), false } } },
    [RP__ACTION_KICK] = { "kick", { { "force", ARG_FORCE_DEF, AT(force), false }, { "seconds", ARG_REAL, AT(value), false } } },
    [RP__ACTION_EDIT] = { "edit",
                          { { "field", ARG_NAME, AT(parameter), false },
                            { "ids", ARG_NUMBERS, AT(ids), false },
                            { "values", ARG_NUMBERS, AT(values), false } } },
    [RP__ACTION_STEP] = { "step", { { 0 } } },
};

rp__action rp__action_make(rp__action_kind kind)
{
    rp__action action;
    memset(&action, 0, sizeof action);
    action.kind = kind;
    action.orientation[0] = 1;
    action.until = RP_NEXT_STEP;
    action.body.index = action.material.index = -1;
    return action;
}

void rp__action_free(rp__action *action)
{
    rp__action_free_body(action->new_body);
    rp__action_free_grains(action->new_grains);
    rp__action_free_force(action->force);
    rp_shape_release(action->shape);
    rp__base_free(action->ids);
    rp__base_free(action->values);
    action->new_body = NULL, action->new_grains = NULL, action->force = NULL, action->shape = NULL;
    action->ids = action->values = NULL;
}

/* ---- writing ---- */

void rp__action_write_number(rp__text *text, double value)
{
    if (isfinite(value))
        rp__text_append_number(text, value);
    else
        rp__text_append_string(text, value > 0 ? "\"inf\"" : "\"-inf\"");
}

void rp__action_write_numbers(rp__text *text, const double *values, int64_t count)
{
    rp__text_append_string(text, "[");
    for (int64_t i = 0; i < count; i++) {
        rp__text_append_string(text, i ? "," : "");
        rp__action_write_number(text, values[i]);
    }
    rp__text_append_string(text, "]");
}

/* Pointers that are not there are left out. */
static bool absent(const argument *a, const void *member)
{
    if (a->type == ARG_REACH)
        return *(const double *)member == RP_NEXT_STEP;
    return a->type == ARG_SHAPE ? !*(rp_shape *const *)member : a->type == ARG_NUMBERS && a->optional && !*(double *const *)member;
}

static rp_result write_argument(const argument *a, const rp__action *action, rp__text *text)
{
    const void *member = (const char *)action + a->offset;
    if (absent(a, member))
        return RP_OK;
    rp__text_append(text, ",\"%s\":", a->name);
    switch (a->type) {
    case ARG_SUBJECT: {
        const rp__action_subject *subject = member;
        if (subject->index >= 0)
            rp__text_append(text, "%lld", (long long)subject->index);
        else
            rp__text_append_quoted(text, subject->name);
        break;
    }
    case ARG_NAME: rp__text_append_quoted(text, member); break;
    case ARG_REAL:
    case ARG_REACH: rp__action_write_number(text, *(const double *)member); break;
    case ARG_VECTOR: rp__action_write_numbers(text, member, 3); break;
    case ARG_QUATERNION: rp__action_write_numbers(text, member, 4); break;
    case ARG_BODY_DEF: return rp__action_write_body(*(rp_body_def *const *)member, text);
    case ARG_GRAINS_DEF: return rp__action_write_grains(*(rp_grains_def *const *)member, text);
    case ARG_FORCE_DEF: return rp__action_write_force(*(rp_force_def *const *)member, text);
    case ARG_SHAPE: return rp__shape_write(*(rp_shape *const *)member, text);
    case ARG_NUMBERS: rp__action_write_numbers(text, *(double *const *)member, a->offset == AT(ids) ? action->id_count : action->value_count); break;
    }
    return RP_OK;
}

rp_result rp__action_write(const rp__action *action, rp__text *text)
{
    rp__text_append_string(text, "{\"time\":");
    rp__action_write_number(text, action->time);
    rp__text_append(text, ",\"step\":%lld,\"kind\":\"%s\"", (long long)action->step, kinds[action->kind].name);
    for (const argument *a = kinds[action->kind].arguments; a->name; a++)
        RP_TRY(write_argument(a, action, text));
    rp__text_append_string(text, "}\n");
    return rp__text_result(text);
}

/* ---- reading ---- */

static rp_result read_subject(rp__json *json, rp__action_subject *subject)
{
    if (rp__json_peek(json) == '"') {
        subject->index = -1;
        return rp__json_text(json, subject->name, sizeof subject->name);
    }
    RP_TRY(rp__json_whole(json, &subject->index));
    if (subject->index < 0)
        return rp__base_fail(RP_BAD_FILE, "%lld is not an index; indices begin at 0", (long long)subject->index);
    return RP_OK;
}

static rp_result read_argument(rp__json *json, const argument *a, rp__action *action)
{
    void *member = (char *)action + a->offset;
    switch (a->type) {
    case ARG_SUBJECT: return read_subject(json, member);
    case ARG_NAME: return rp__json_text(json, member, sizeof action->parameter);
    case ARG_REAL:
    case ARG_REACH: return rp__json_number(json, member);
    case ARG_VECTOR: return rp__json_numbers(json, member, 3);
    case ARG_BODY_DEF: return rp__action_read_body(json, member);
    case ARG_GRAINS_DEF: return rp__action_read_grains(json, member);
    case ARG_FORCE_DEF: return rp__action_read_force(json, member);
    case ARG_SHAPE: return rp__shape_read(json, member);
    case ARG_NUMBERS: return rp__json_numbers_any(json, member, a->offset == AT(ids) ? &action->id_count : &action->value_count);
    default: return rp__json_numbers(json, member, 4);
    }
}

static rp_result unknown_kind(const char *name)
{
    const char *names[RP__ACTION_COUNT];
    for (int k = 0; k < RP__ACTION_COUNT; k++)
        names[k] = kinds[k].name;
    int nearest = rp__text_nearest(name, names, RP__ACTION_COUNT);
    return nearest < 0 ? rp__base_fail(RP_BAD_FILE, "there is no action '%s'", name)
                       : rp__base_fail(RP_BAD_FILE, "there is no action '%s'; did you mean '%s'?", name, names[nearest]);
}

/* The kind stands anywhere in the object: a first pass finds it. */
static rp_result find_kind(const char *line, size_t length, rp__action *action)
{
    rp__json json = rp__json_open(line, length);
    char key[64], name[64] = "";
    bool first = true, more = true;
    RP_TRY(rp__json_object(&json));
    for (;;) {
        RP_TRY(rp__json_key(&json, &first, key, sizeof key, &more));
        if (!more)
            break;
        RP_TRY(strcmp(key, "kind") == 0 ? rp__json_text(&json, name, sizeof name) : rp__json_skip(&json));
    }
    RP_TRY(rp__json_finish(&json));
    if (!*name)
        return rp__base_fail(RP_BAD_FILE, "the action has no \"kind\"");
    for (int k = 0; k < RP__ACTION_COUNT; k++)
        if (strcmp(kinds[k].name, name) == 0) {
            *action = rp__action_make((rp__action_kind)k);
            return RP_OK;
        }
    return unknown_kind(name);
}

static rp_result read_key(rp__json *json, const char *key, rp__action *action, unsigned *seen)
{
    static const char *const common[] = { "time", "step", "kind" };
    const argument *list = kinds[action->kind].arguments;
    for (int i = 0; list[i].name; i++)
        if (strcmp(list[i].name, key) == 0) {
            if (*seen & 1u << i)
                return rp__base_fail(RP_BAD_FILE, "action '%s' has \"%s\" twice", kinds[action->kind].name, key);
            *seen |= 1u << i;
            rp_result result = read_argument(json, &list[i], action);
            return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "\"%s\" of action '%s': ", key, kinds[action->kind].name);
        }
    if (strcmp(key, common[0]) == 0)
        return rp__json_number(json, &action->time);
    if (strcmp(key, common[1]) == 0)
        return rp__json_whole(json, &action->step);
    if (strcmp(key, common[2]) == 0)
        return rp__json_skip(json);
    const char *names[MOST_ARGUMENTS + 3] = { "time", "step", "kind" };
    int count = 3;
    for (int i = 0; list[i].name; i++)
        names[count++] = list[i].name;
    int nearest = rp__text_nearest(key, names, count);
    return nearest < 0 ? rp__base_fail(RP_BAD_FILE, "action '%s' has no \"%s\"", kinds[action->kind].name, key)
                       : rp__base_fail(RP_BAD_FILE, "action '%s' has no \"%s\"; did you mean \"%s\"?", kinds[action->kind].name, key, names[nearest]);
}

rp_result rp__action_read(const char *line, size_t length, rp__action *action)
{
    RP_TRY(find_kind(line, length, action));
    rp__json json = rp__json_open(line, length);
    char key[64];
    bool first = true, more = true;
    unsigned seen = 0;
    RP_TRY(rp__json_object(&json));
    for (;;) {
        rp_result result = rp__json_key(&json, &first, key, sizeof key, &more);
        if (result == RP_OK && more)
            result = read_key(&json, key, action, &seen);
        if (result != RP_OK) {
            rp__action_free(action);
            return result;
        }
        if (!more)
            break;
    }
    const argument *list = kinds[action->kind].arguments;
    for (int i = 0; list[i].name; i++)
        if (!(seen & 1u << i) && !list[i].optional) {
            rp__action_free(action);
            return rp__base_fail(RP_BAD_FILE, "action '%s' has no \"%s\"", kinds[action->kind].name, list[i].name);
        }
    return RP_OK;
}
