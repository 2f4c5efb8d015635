/* Bodies: their motions, joints and motors. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define LARGE 1e300

/* ---- motions ---- */

#define K(member) offsetof(rp_keyframe, member)
static const rp_param keyframe_params[] = {
    { "time", RP_REAL, K(time), 0, -1e12, 1e12, "s", "when", NULL },
    { "position", RP_VEC3, K(position), 0, -LARGE, LARGE, "m", "where the shape's origin is then", NULL },
    { "rotation", RP_VEC3, K(rotation), 0, -LARGE, LARGE, "rad",
      "rotation vector, may exceed a turn; or {axis, angle}; one angle in 2D", NULL },
    { 0 },
};
static const rp_param *keyframe_table(void) { return keyframe_params; }
static void keyframe_defaults(void *target) { rp__param_defaults(keyframe_params, target); }

const rp__scene_block rp__scene_keyframe = {
    "keyframe", "a key of a motion",
    "A map, or a list `[time, position]` or `[time, position, rotation]`. What a key does not give stays as in the key before it; in the first it is zero.",
    "motion: {keys: [[0 s, [0, 0, 0]], [2 s, [1, 0, 0], [0, 0, 90 deg]]]}", keyframe_table, NULL, keyframe_defaults,
    "{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}",
};

/* `key` holds what it has when nothing is given. */
static rp_result read_keyframe(rp__reader *r, const rp__node *value, rp_keyframe *key)
{
    if (value->kind != RP_NODE_LIST)
        return rp__scene_read_block(r, &rp__scene_keyframe, value, key);
    if (value->count < 2 || value->count > 3)
        return rp__scene_fail(&r->tree, value, "a key as a list is [time, position] or [time, position, rotation]");
    int i = 0;
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(rp__scene_read_param(r, &keyframe_params[i++], c, key));
    return RP_OK;
}

static rp_result motion_keys(rp__reader *r, const rp__node *value, void *target)
{
    rp__motion_spec *spec = target;
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "keys"));
    if (value->count == 0)
        return rp__scene_fail(&r->tree, value, "a motion needs at least one key");
    spec->keys = rp__scene_pool_alloc(&r->scene->pool, (size_t)value->count * sizeof *spec->keys);
    if (!spec->keys)
        return RP_OUT_OF_MEMORY;
    for (const rp__node *c = value->first; c; c = c->next) {
        rp_keyframe *key = &spec->keys[spec->count];
        if (spec->count)
            *key = key[-1];
        else
            keyframe_defaults(key);
        key->time = NAN;
        RP_TRY(read_keyframe(r, c, key));
        if (isnan(key->time))
            return rp__scene_fail(&r->tree, c, "missing key 'time' in a key of a motion");
        if (spec->count && !(spec->keys[spec->count].time > spec->keys[spec->count - 1].time))
            return rp__scene_fail(&r->tree, c, "the times of the keys must increase");
        ++spec->count;
    }
    return RP_OK;
}

#define V(member) offsetof(rp__motion_spec, member)
static const rp_param motion_params[] = {
    { "interpolation", RP_ENUM, V(interpolation), RP_SMOOTH, 0, 2, "", "between keys", "step|linear|smooth" },
    { "expression", RP_TEXT, V(expression), 0, 0, 0, "",
      "Lua of t that gives x, y, z and, if wanted, the rotation vector: \"0.1 * math.sin(t), 0, 0\"", "" },
    { 0 },
};
static const rp_param *motion_table(void) { return motion_params; }
static void motion_defaults(void *target) { rp__param_defaults(motion_params, target); }
static const rp__scene_key motion_key_table[] = {
    { "keys", "list of keys", "{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/keyframe\"}}",
      "poses at given times; constant before the first and after the last", "", motion_keys },
    { 0 },
};

const rp__scene_block rp__scene_motion = {
    "motion", "a motion",
    "A pose as a function of time: keys, or an expression; a text is an expression, a list is keys. Expressions run in a "
    "sandbox: no files, bounded time and memory.",
    "motion: \"0.5 + 0.2 * math.cos(t), 0.5, 0.3, 0, 0, t\"", motion_table, motion_key_table, motion_defaults,
    "{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/keyframe\"}}",
};

rp_result rp__scene_read_motion(rp__reader *r, const rp__node *value, rp__motion_spec *spec, rp_motion **out)
{
    motion_defaults(spec);
    if (value->kind == RP_NODE_LIST)
        RP_TRY(motion_keys(r, value, spec));
    else if (value->kind == RP_NODE_SCALAR) {
        RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "motion"));
        spec->expression = value->text;
    } else
        RP_TRY(rp__scene_read_block(r, &rp__scene_motion, value, spec));
    bool given = spec->expression && *spec->expression;
    if (given == (spec->count > 0))
        return rp__scene_fail(&r->tree, value, "a motion has either 'keys' or 'expression'");
    rp_result result = given ? rp_motion_expression(spec->expression, out)
                             : rp_motion_keyframes(spec->keys, spec->count, (rp_interpolation)spec->interpolation, out);
    double position[3], orientation[4];
    if (result == RP_OK) /* a script that does not work at the start never will */
        result = rp_motion_pose(*out, 0, position, orientation);
    return rp__scene_wrap(&r->tree, value, result);
}

/* ---- joints and motors ---- */

static void joint_defaults(void *target)
{
    rp_body_def *def = target;
    *def = rp_default_body_def();
    def->joint = RP_JOINT_HINGE;
}

const rp__scene_block rp__scene_joint = {
    "joint", "a joint", "Ties a free body to the world.",
    "joint: {kind: hinge, point: [0.5, 0.5, 0.5], axis: [0, 1, 0]}", rp__scene_joint_table, NULL, joint_defaults,
    "{\"enum\":[\"none\",\"fixed\",\"hinge\",\"slider\"]}",
};

static void motor_defaults(void *target) { rp__param_defaults(rp__scene_motor_table(), target); }

const rp__scene_block rp__scene_motor = {
    "motor", "a motor",
    "Drives a joint. A hinge takes `torque` or `angular_speed` (with `largest_torque`), a slider `force` or `speed` (with "
    "`largest_force`).",
    "motor: {angular_speed: 10 rpm, largest_torque: 5 N m}", rp__scene_motor_table, NULL, motor_defaults,
    NULL,
};

static rp_result body_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__body_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape, &item->def.shape);
}

static rp_result body_sequence(rp__reader *r, const rp__node *value, void *target)
{
    rp__body_item *item = target;
    if (item->def.kind == RP_BODY_FREE)
        return rp__scene_fail(&r->tree, value->key, "a free body has no 'sequence'; only scripted bodies deform");
    if (item->def.shape)
        return rp__scene_fail(&r->tree, value->key, "a body has either 'shape' or 'sequence'");
    return rp__scene_read_sequence(r, value, &item->sequence, &item->def.sequence);
}

static rp_result body_motion(rp__reader *r, const rp__node *value, void *target)
{
    rp__body_item *item = target;
    if (item->def.kind == RP_BODY_FREE)
        return rp__scene_fail(&r->tree, value->key, "a free body has no 'motion'; take one of the two away");
    return rp__scene_read_motion(r, value, &item->motion, &item->def.motion);
}

static rp_result body_surface(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_read_surface(r, &rp__scene_surface, value, &((rp__body_item *)target)->def.surface);
}

static rp_result body_joint(rp__reader *r, const rp__node *value, void *target)
{
    rp_body_def *def = &((rp__body_item *)target)->def;
    def->joint = RP_JOINT_HINGE;
    if (value->kind == RP_NODE_SCALAR)
        RP_TRY(rp__scene_read_param(r, &rp__scene_joint_table()[0], value, def));
    else
        RP_TRY(rp__scene_read_block(r, &rp__scene_joint, value, def));
    if (def->joint != RP_JOINT_NONE && def->kind != RP_BODY_FREE)
        return rp__scene_fail(&r->tree, value->key, "only a free body can have a joint; add 'kind: free'");
    const double *a = def->joint_axis;
    if (def->joint > RP_JOINT_FIXED && !(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] > 1e-200))
        return rp__scene_fail(&r->tree, value, "the axis of a joint needs a length that is not zero");
    return RP_OK;
}

static rp_result body_motor(rp__reader *r, const rp__node *value, void *target)
{
    rp_body_def *def = &((rp__body_item *)target)->def;
    rp__motor_draft d;
    motor_defaults(&d);
    RP_TRY(rp__scene_read_block(r, &rp__scene_motor, value, &d));
    if (def->joint != RP_JOINT_HINGE && def->joint != RP_JOINT_SLIDER)
        return rp__scene_fail(&r->tree, value->key, "a motor needs a joint that is a hinge or a slider");
    bool hinge = def->joint == RP_JOINT_HINGE;
    double push = hinge ? d.torque : d.force, speed = hinge ? d.angular_speed : d.speed;
    double limit = hinge ? d.largest_torque : d.largest_force;
    bool foreign = hinge ? !isnan(d.force) || !isnan(d.speed) || !isnan(d.largest_force)
                         : !isnan(d.torque) || !isnan(d.angular_speed) || !isnan(d.largest_torque);
    if (foreign || isnan(push) == isnan(speed))
        return rp__scene_fail(&r->tree, value, hinge ? "the motor of a hinge has either 'torque' or 'angular_speed'"
                                                     : "the motor of a slider has either 'force' or 'speed'");
    def->motor = isnan(push) ? RP_MOTOR_SPEED : RP_MOTOR_FORCE;
    def->motor_value = isnan(push) ? speed : push;
    def->motor_limit = isnan(limit) ? 0 : limit;
    return RP_OK;
}

rp_result rp__scene_read_colour(rp__reader *r, const rp__node *value, double out[3])
{
    if (value->kind == RP_NODE_LIST) {
        double v[3];
        if (value->count != 3)
            return rp__scene_fail(&r->tree, value, "a colour is three numbers from 0 to 1, or '#rrggbb'");
        int i = 0;
        for (const rp__node *c = value->first; c; c = c->next, ++i) {
            RP_TRY(rp__scene_read_number(r, c, "colour", "", &v[i]));
            if (!(v[i] >= 0 && v[i] <= 1))
                return rp__scene_fail(&r->tree, c, "a colour is three numbers from 0 to 1, or '#rrggbb'");
        }
        memcpy(out, v, sizeof v);
        return RP_OK;
    }
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "colour"));
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *t = value->text;
    if (t[0] != '#' || strlen(t) != 7 || strspn(t + 1, digits) != 6)
        return rp__scene_fail(&r->tree, value, "'%.60s' is no colour; write \"#rrggbb\" in quotes, or three numbers from 0 to 1", t);
    for (int i = 0; i < 3; ++i) {
        int high = (int)(strchr(digits, t[1 + 2 * i]) - digits) % 16, low = (int)(strchr(digits, t[2 + 2 * i]) - digits) % 16;
        out[i] = (16 * high + low) / 255.0;
    }
    return RP_OK;
}

static rp_result body_colour(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_read_colour(r, value, ((rp__body_item *)target)->def.colour);
}

/* ---- bodies ---- */

static const rp__scene_key body_keys[] = {
    { "shape", "shape", "{\"$ref\":\"#/$defs/shape\"}", "in the body's own frame; or give sequence", "", body_shape },
    { "sequence", "sequence", "{\"$ref\":\"#/$defs/sequence\"}", "meshes of a body that deforms, instead of the shape", "", body_sequence },
    { "motion", "motion", "{\"$ref\":\"#/$defs/motion\"}", "of a scripted body; replaces position and rotation", "", body_motion },
    { "surface", "surface", "{\"$ref\":\"#/$defs/surface\"}", "how grains meet it", "friction 0.5", body_surface },
    { "joint", "joint", "{\"$ref\":\"#/$defs/joint\"}", "ties a free body to the world", "none", body_joint },
    { "motor", "motor", "{\"$ref\":\"#/$defs/motor\"}", "drives the joint", "none", body_motor },
    { "colour", "colour", "{\"$ref\":\"#/$defs/colour\"}", "in pictures: \"#rrggbb\", or three numbers from 0 to 1",
      "[0.6, 0.6, 0.6]", body_colour },
    { 0 },
};
static void body_defaults(void *target) { *(rp_body_def *)target = rp_default_body_def(); }

const rp__scene_block rp__scene_body = {
    "body", "a body",
    "What grains meet, beside walls: at rest, moved by a motion, or free. A list, or one map. `colliders` is another name for "
    "the same list.",
    "bodies:\n  - shape: {sphere: {radius: 10 cm}}\n    position: [0.5, 0.5, 0.4]\n    surface: 0.6\n"
    "  - {kind: free, shape: {box: {size: 10 cm}}, position: [0.2, 0.5, 0.8], density: 7800}",
    rp__scene_body_table, body_keys, body_defaults,
    NULL,
};

static rp_result read_body_item(rp__reader *r, const rp__node *value)
{
    rp__body_item *item = rp__scene_push(r->scene, &r->scene->bodies, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    body_defaults(&item->def);
    RP_TRY(rp__scene_read_block(r, &rp__scene_body, value, item));
    if (!item->def.shape && !item->def.sequence)
        return rp__scene_fail(&r->tree, value, "missing key 'shape' in a body");
    if (!(item->def.stop > item->def.start))
        return rp__scene_fail(&r->tree, value, "it stops at %g s, before or when it starts (%g s)", item->def.stop,
                              item->def.start);
    return RP_OK;
}

rp_result rp__scene_read_bodies(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "bodies", read_body_item);
}
