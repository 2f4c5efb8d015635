/* What is written and how it is looked at. */
#include "base/error.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define LARGE 1e300

static void output_defaults(void *target) { *(rp_output_def *)target = rp_default_output_def(); }

const rp__scene_block rp__scene_output = {
    "output", "output", "Files of the run.", "output: {frame_every: 2, grid: true, fields: [velocity, pressure]}",
    rp__scene_files_table, NULL, output_defaults,
    NULL,
};

/* ---- camera ---- */

#define K(member) offsetof(rp_camera_key, member)
static const rp_param camera_key_params[] = {
    { "time", RP_REAL, K(time), 0, -1e12, 1e12, "s", "when", NULL },
    { "eye", RP_VEC3, K(eye), 0, -LARGE, LARGE, "m", "where the camera stands then; absent: the camera's eye", NULL },
    { "target", RP_VEC3, K(target), 0, -LARGE, LARGE, "m", "what it looks at then; absent: the camera's target", NULL },
    { 0 },
};
static const rp_param *camera_key_table(void) { return camera_key_params; }
static void camera_key_defaults(void *target) { rp__param_defaults(camera_key_params, target); }

const rp__scene_block rp__scene_camera_key = {
    "camera_key", "a key of the camera", "A map, or a list `[time, eye]` or `[time, eye, target]`.",
    "camera: {keys: [[0 s, [2, -2, 1]], [4 s, [-2, -2, 1]]]}", camera_key_table, NULL, camera_key_defaults,
    "{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}",
};

static rp_result read_camera_key(rp__reader *r, const rp__node *value, rp_camera_key *key)
{
    camera_key_defaults(key);
    memcpy(key->eye, r->scene->output.eye, sizeof key->eye);
    memcpy(key->target, r->scene->output.target, sizeof key->target);
    key->time = NAN;
    if (value->kind != RP_NODE_LIST)
        return rp__scene_read_block(r, &rp__scene_camera_key, value, key);
    if (value->count < 2 || value->count > 3)
        return rp__scene_fail(&r->tree, value, "a key of the camera as a list is [time, eye] or [time, eye, target]");
    int i = 0;
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(rp__scene_read_param(r, &camera_key_params[i++], c, key));
    return RP_OK;
}

static rp_result camera_keys(rp__reader *r, const rp__node *value, void *target)
{
    rp_output_def *out = target;
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "keys"));
    rp_camera_key *keys = rp__scene_pool_alloc(&r->scene->pool, (size_t)(value->count + 1) * sizeof *keys);
    if (!keys)
        return RP_OUT_OF_MEMORY;
    int n = 0;
    for (const rp__node *c = value->first; c; c = c->next, ++n) {
        RP_TRY(read_camera_key(r, c, &keys[n]));
        if (isnan(keys[n].time))
            return rp__scene_fail(&r->tree, c, "missing key 'time' in a key of the camera");
        if (n && !(keys[n].time > keys[n - 1].time))
            return rp__scene_fail(&r->tree, c, "the times of the keys must increase");
    }
    out->camera_keys = keys;
    out->camera_key_count = n;
    return RP_OK;
}

static const rp__scene_key camera_key_list[] = {
    { "keys", "list of keys", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/camera_key\"}}",
      "eye and target at given times, smooth between", "", camera_keys },
    { 0 },
};

const rp__scene_block rp__scene_camera = {
    "camera", "the camera", "Without it the picture is framed automatically.",
    "camera: {eye: [2, -3, 1.5], target: [0.5, 0.5, 0.2], field_of_view: 30 deg, turntable: 0.1}", rp__scene_camera_table,
    camera_key_list, output_defaults,
    NULL,
};

rp_result rp__scene_read_camera(rp__reader *r, const rp__node *value)
{
    rp_output_def *out = &r->scene->output;
    const rp_sim_def *sim = &r->scene->sim;
    for (int a = 0; a < 3; ++a)
        out->target[a] = (sim->lower[a] + sim->upper[a]) / 2;
    RP_TRY(rp__scene_read_block(r, &rp__scene_camera, value, out));
    out->camera_given = rp__scene_get(value, "eye") != NULL;
    if (!out->camera_given && out->camera_key_count) {
        memcpy(out->eye, out->camera_keys[0].eye, sizeof out->eye);
        memcpy(out->target, out->camera_keys[0].target, sizeof out->target);
        out->camera_given = true;
    }
    double view[3], length = 0;
    for (int a = 0; a < 3; ++a) {
        view[a] = out->target[a] - out->eye[a];
        length += view[a] * view[a];
    }
    if (out->camera_given && !(length > 0))
        return rp__scene_fail(&r->tree, value, "the camera stands where it looks: 'eye' and 'target' are the same");
    return RP_OK;
}

/* ---- pictures ---- */

static rp_result picture_range(rp__reader *r, const rp__node *value, void *target)
{
    rp_output_def *out = target;
    if (value->kind != RP_NODE_LIST || value->count != 2)
        return rp__scene_fail(&r->tree, value, "'range' is a list of two numbers");
    RP_TRY(rp__scene_read_number(r, value->first, "range", "", &out->colour_range[0]));
    return rp__scene_read_number(r, value->last, "range", "", &out->colour_range[1]);
}

static const rp__scene_key picture_keys[] = {
    { "range", "list of two numbers",
      "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/number\"},\"minItems\":2,\"maxItems\":2}",
      "values of the first and last colour, in SI units; equal: automatic", "[0, 0]", picture_range },
    { 0 },
};

const rp__scene_block rp__scene_picture = {
    "picture", "pictures", "How frames are drawn.", "picture: {width: 1920, height: 1080, colour: velocity, range: [0, 2]}",
    rp__scene_picture_table, picture_keys, output_defaults,
    NULL,
};

rp_result rp__scene_read_output(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_block(r, &rp__scene_output, value, &r->scene->output);
}

rp_result rp__scene_read_picture(rp__reader *r, const rp__node *value)
{
    static const char *const shapes[] = { "sphere", "disc", "ellipsoid", NULL };
    rp_output_def *out = &r->scene->output;
    RP_TRY(rp__scene_read_block(r, &rp__scene_picture, value, out));
    char hint[200];
    const rp__node *shape = rp__scene_get(value, "grain_shape");
    for (int i = 0; shape && shapes[i]; ++i)
        if (strcmp(out->grain_shape, shapes[i]) == 0)
            return RP_OK;
    return shape ? rp__scene_fail(&r->tree, shape, "grains are no '%.60s'%s", out->grain_shape,
                                  rp__scene_suggest(out->grain_shape, shapes, hint, sizeof hint))
                 : RP_OK;
}
