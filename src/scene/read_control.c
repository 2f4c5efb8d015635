/* Controls: what somebody at the keyboard can move. */
#include "base/error.h"
#include "scene/scene_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define C(member) offsetof(rp_control_def, member)
static const rp_param control_table[] = {
    { "name", RP_TEXT, C(name), 0, 0, 0, "", "shown in the page; other controls call it their parent by it", "" },
    { "body", RP_TEXT, C(body), 0, 0, 0, "", "the body that it moves: scripted, or with a motor", "" },
    { "parent", RP_TEXT, C(parent), 0, 0, 0, "", "a control above it in the list, of which it is carried along", "" },
    { "kind", RP_ENUM, C(kind), RP_CONTROL_TURN, 0, 2, "", "turns about an axis, slides along it, or sets the value of the body's motor",
      "turn|slide|motor" },
    { "axis", RP_VEC3, C(axis), 0, -1e6, 1e6, "", "direction, as it is at the start; none: y, in 2D z", NULL },
    { "point", RP_VEC3, C(point), 0, -1e12, 1e12, "m", "a point of the axis of a turn, as it is at the start", NULL },
    { "rate", RP_REAL, C(rate), 1, -1e9, 1e9, "", "when a key is down: rad/s, m/s, or the value of the motor", NULL },
    { "least", RP_REAL, C(least), 0, -1e9, 1e9, "", "how far it goes back from the start, in rad or m (least = most: no end)", NULL },
    { "most", RP_REAL, C(most), 0, -1e9, 1e9, "", "how far it goes on from the start, in rad or m", NULL },
    { "more", RP_TEXT, C(more), 0, 0, 0, "", "key that moves it on: a letter, or a name such as ArrowUp", "" },
    { "less", RP_TEXT, C(less), 0, 0, 0, "", "key that moves it back", "" },
    { "gamepad", RP_INT, C(gamepad), -1, -1, 63, "", "axis of a gamepad, counted from 0; -1: none", NULL },
    { "mouse", RP_ENUM, C(mouse), RP_MOUSE_NONE, 0, 2, "", "direction of dragging with the right button that moves it", "none|x|y" },
    { 0 },
};
const rp_param *rp__scene_control_table(void) { return control_table; }
static void control_defaults(void *target)
{
    *(rp_control_def *)target = (rp_control_def){ .name = "", .body = "", .parent = "", .more = "", .less = "", .rate = 1, .gamepad = -1 };
}
static const rp__scene_key control_keys[] = { { 0 } };

const rp__scene_block rp__scene_control = {
    "control", "a control", "Something that keys, the mouse or a gamepad move in `repose play`. A list, or one map.",
    "bodies:\n  - {name: boom, shape: {capsule: {from: [0, 0, 0], to: [0.6, 0, 0], radius: 4 cm}}, position: [0.1, 0.3, 0.5]}\n"
    "  - {name: arm, shape: {capsule: {from: [0, 0, 0], to: [0, 0, -0.3], radius: 3 cm}}, position: [0.7, 0.3, 0.5]}\n"
    "controls:\n  - {name: boom, body: boom, axis: [0, -1, 0], point: [0.1, 0.3, 0.5], rate: 0.5, least: -0.6, most: 0.4, more: r, less: f}\n"
    "  - {name: arm, parent: boom, body: arm, axis: [0, -1, 0], point: [0.7, 0.3, 0.5], more: t, less: g, gamepad: 1}",
    rp__scene_control_table, control_keys, control_defaults, NULL,
};

static const rp_body_def *find_body(const rp_scene *scene, const char *name)
{
    for (int b = 0; b < scene->bodies.count; b++) {
        const rp_body_def *def = &RP_ITEM(rp__body_item, scene->bodies, b)->def;
        if (def->name && strcmp(def->name, name) == 0)
            return def;
    }
    return NULL;
}

/* Where a message about a member points: at the member, or at the whole map when it is not written. */
static const rp__node *place(const rp__node *map, const char *key)
{
    const rp__node *value = rp__scene_get(map, key);
    return value ? value : map;
}

static rp_result check(rp__reader *r, const rp__node *value, rp_control_def *c, int index)
{
    const rp_body_def *body = find_body(r->scene, c->body ? c->body : "");
    if (!body)
        return rp__scene_fail(&r->tree, place(value, "body"), "a control needs the name of a body of this scene; there is none called '%s'",
                              c->body ? c->body : "");
    if (c->kind == RP_CONTROL_MOTOR && body->motor == RP_MOTOR_NONE)
        return rp__scene_fail(&r->tree, place(value, "kind"), "body '%s' has no motor", c->body);
    if (c->kind != RP_CONTROL_MOTOR && body->kind != RP_BODY_SCRIPTED)
        return rp__scene_fail(&r->tree, place(value, "body"), "body '%s' is free: only its motor can be controlled (kind: motor)", c->body);
    if (c->least > 0 || c->most < 0)
        return rp__scene_fail(&r->tree, value, "'least' to 'most' must hold 0, where it starts");
    double length = sqrt(c->axis[0] * c->axis[0] + c->axis[1] * c->axis[1] + c->axis[2] * c->axis[2]);
    if (!(length > 0))
        c->axis[r->dim == 2 ? 2 : 1] = length = 1;
    for (int d = 0; d < 3 && fabs(length - 1) > 4 * DBL_EPSILON; d++) /* what has length 1 but for rounding stays: a scene written and read again is the same */
        c->axis[d] /= length;
    if (!c->parent || !c->parent[0])
        return RP_OK;
    for (int k = 0; k < index; k++)
        if (strcmp(RP_ITEM(rp__control_item, r->scene->controls, k)->def.name, c->parent) == 0)
            return RP_OK;
    return rp__scene_fail(&r->tree, place(value, "parent"), "there is no control '%s' above this one", c->parent);
}

static rp_result read_item(rp__reader *r, const rp__node *value)
{
    int index = r->scene->controls.count;
    rp__control_item *item = rp__scene_push(r->scene, &r->scene->controls, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    control_defaults(&item->def);
    RP_TRY(rp__scene_read_block(r, &rp__scene_control, value, item));
    return check(r, value, &item->def, index);
}

rp_result rp__scene_read_controls(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "controls", read_item);
}
