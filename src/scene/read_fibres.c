/* Fibres of a scene: what they are made of, and where their nodes come from. */
#include "base/error.h"
#include "base/param.h"
#include "scene/groom.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define LARGE 1e300
#define SHAPE_SCHEMA "{\"$ref\":\"#/$defs/shape\"}"

/* ---- grooms ---- */

#define M(member) offsetof(rp__groom_item, groom.member)
static const rp_param groom_table[] = {
    { "count", RP_INT, M(count), 100, 1, 1e9, "", "fibres", NULL },
    { "length", RP_REAL, M(length), 0.1, 1e-9, 1e6, "m", "mean length", NULL },
    { "spread", RP_REAL, M(spread), 0, 0, 0.99, "", "half width of the lengths over their mean", NULL },
    { "segments", RP_INT, M(segments), 20, 1, 1e6, "", "of a fibre", NULL },
    { "curl_radius", RP_REAL, M(curl_radius), 0, 0, 1e3, "m", "of curls", NULL },
    { "curl_pitch", RP_REAL, M(curl_pitch), 0.05, 0, 1e3, "m", "length of one turn of a curl", NULL },
    { "comb", RP_VEC3, M(comb), 0, -LARGE, LARGE, "", "direction into which they are combed; the longer, the stronger", NULL },
    { "jitter", RP_REAL, M(jitter), 0, 0, 1.5, "rad", "by how much directions differ", NULL },
    { "clump", RP_REAL, M(clump), 0, 0, 1, "", "part of the way to the leading fibre of its clump, at the tip", NULL },
    { "clump_size", RP_INT, M(clump_size), 10, 1, 1e9, "", "fibres of a clump", NULL },
    { "seed", RP_INT, M(seed), 0, 0, 9007199254740992.0, "", "of everything random in it", NULL },
    { 0 },
};
const rp_param *rp__scene_groom_table(void) { return groom_table; }
static void groom_defaults(void *target) { rp__param_defaults(groom_table, target); }

static rp_result groom_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__groom_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape_spec, &item->shape);
}

static rp_result groom_within(rp__reader *r, const rp__node *value, void *target)
{
    rp__groom_item *item = target;
    return rp__scene_read_shape(r, value, &item->within_spec, &item->within);
}

static const rp__scene_key groom_keys[] = {
    { "shape", "shape", SHAPE_SCHEMA, "surface out of which they grow, in the frame of the body", "the shape of the body", groom_shape },
    { "within", "shape", SHAPE_SCHEMA, "roots lie only inside this shape, which stands in the world", "", groom_within },
    { 0 },
};

const rp__scene_block rp__scene_groom_block = {
    "groom", "a groom", "Fibres that grow out of a surface: hair on a head, bristles of a brush.",
    "fibres:\n  - {body: head, root: clamped, radius: 0.05 mm, groom: {count: 200, length: 20 cm, comb: [0, 0, -1]}}\n"
    "bodies:\n  - {name: head, shape: {sphere: {radius: 9 cm}}, position: [0.5, 0.5, 0.5]}",
    rp__scene_groom_table, groom_keys, groom_defaults, NULL,
};

/* ---- fibres in a room ---- */

#define C(member) offsetof(rp__scatter_item, scatter.member)
static const rp_param scatter_table[] = {
    { "count", RP_INT, C(count), 100, 1, 1e6, "", "fibres", NULL },
    { "length", RP_REAL, C(length), 0.1, 1e-9, 1e6, "m", "mean length", NULL },
    { "spread", RP_REAL, C(spread), 0, 0, 0.99, "", "half width of the lengths over their mean", NULL },
    { "segments", RP_INT, C(segments), 10, 1, 1e6, "", "of a fibre", NULL },
    { "tilt", RP_REAL, C(tilt), 1.5707963267948966, 0, 1.5707963267948966, "rad", "largest angle to the horizontal", NULL },
    { "seed", RP_INT, C(seed), 0, 0, 9007199254740992.0, "", "of everything random in it", NULL },
    { 0 },
};
const rp_param *rp__scene_scatter_table(void) { return scatter_table; }
static void scatter_defaults(void *target) { rp__param_defaults(scatter_table, target); }

static rp_result scatter_shape(rp__reader *r, const rp__node *value, void *target)
{
    rp__scatter_item *item = target;
    return rp__scene_read_shape(r, value, &item->shape_spec, &item->shape);
}

static const rp__scene_key scatter_keys[] = {
    { "shape", "shape", SHAPE_SCHEMA, "their middles lie in it", NULL, scatter_shape },
    { 0 },
};

const rp__scene_block rp__scene_scatter_block = {
    "scatter", "scattered fibres", "Straight fibres in all directions, their middles inside a shape, apart from each other where there is room.",
    "fibres:\n  - {radius: 1 mm, youngs_modulus: 1 MPa, scatter: {count: 50, length: 20 cm, shape: {box: {lower: [0.3, 0.3, 0.1], upper: [0.7, 0.7, 0.6]}}}}",
    rp__scene_scatter_table, scatter_keys, scatter_defaults, NULL,
};

/* ---- keys of fibres ---- */

static rp_result find_body(rp__reader *r, const rp__node *value, int *out)
{
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "body"));
    const char *names[65];
    int n = 0;
    for (int b = 0; b < r->scene->bodies.count; ++b) {
        const char *name = RP_ITEM(rp__body_item, r->scene->bodies, b)->def.name;
        if (name && strcmp(name, value->text) == 0) {
            *out = b;
            return RP_OK;
        }
        if (name && n < 64)
            names[n++] = name;
    }
    names[n] = NULL;
    char hint[600];
    return rp__scene_fail(&r->tree, value, "there is no body '%.60s'%s", value->text, rp__scene_suggest(value->text, names, hint, sizeof hint));
}

static rp_result fibres_body(rp__reader *r, const rp__node *value, void *target) { return find_body(r, value, &((rp__fibres_item *)target)->def.body); }
static rp_result fibres_tip_body(rp__reader *r, const rp__node *value, void *target)
{
    return find_body(r, value, &((rp__fibres_item *)target)->def.tip_body);
}

static rp_result points_of(rp__reader *r, const rp__node *value, double **points, int *count)
{
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "curve"));
    if (value->count < 2)
        return rp__scene_fail(&r->tree, value, "a curve needs at least two points");
    *points = rp__scene_pool_alloc(&r->scene->pool, 3 * (size_t)value->count * sizeof(double));
    if (!*points)
        return RP_OUT_OF_MEMORY;
    *count = 0;
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(rp__scene_read_vector(r, c, "a point of a curve", "m", *points + 3 * (*count)++, NULL));
    return RP_OK;
}

static rp_result add_curve(rp__reader *r, const rp__node *value, rp__fibres_item *item)
{
    double *points = NULL;
    int count = 0;
    RP_TRY(points_of(r, value, &points, &count));
    return rp__scene_wrap(&r->tree, value, rp__scene_resample(points, count, item->segments, &item->strands));
}

static rp_result fibres_curve(rp__reader *r, const rp__node *value, void *target) { return add_curve(r, value, target); }

static rp_result fibres_curves(rp__reader *r, const rp__node *value, void *target)
{
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "curves"));
    for (const rp__node *c = value->first; c; c = c->next)
        RP_TRY(add_curve(r, c, target));
    return RP_OK;
}

/* Many points of the path, then segments of equal length. */
static rp_result fibres_path(rp__reader *r, const rp__node *value, void *target)
{
    rp__fibres_item *item = target;
    static const char *const variables[] = { "s" };
    rp_expression *path = NULL;
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "path"));
    RP_TRY(rp__scene_wrap(&r->tree, value, rp_expression_create(value->text, variables, 1, 3, &path)));
    int64_t segments = item->segments > 0 ? item->segments : 40, count = 20 * segments + 1;
    double *points = rp__scene_pool_alloc(&r->scene->pool, 3 * (size_t)count * sizeof(double));
    rp_result result = points ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < count && result == RP_OK; ++k) {
        double s = (double)k / (double)(count - 1);
        result = rp__scene_wrap(&r->tree, value, rp_expression_evaluate(path, &s, points + 3 * k));
    }
    rp_expression_release(path);
    if (result == RP_OK)
        result = rp__scene_wrap(&r->tree, value, rp__scene_resample(points, (int)count, segments, &item->strands));
    item->path = value->text;
    return result;
}

static rp_result fibres_file(rp__reader *r, const rp__node *value, void *target)
{
    rp__fibres_item *item = target;
    RP_TRY(rp__scene_need(r, value, RP_NODE_SCALAR, "file"));
    item->file = value->text;
    RP_TRY(rp__scene_resolve_path(r, value, &item->file));
    return rp__scene_wrap(&r->tree, value, rp__scene_read_strands(item->file, item->unit, r->scene->settings.particle_limit, &item->strands));
}

static rp_result too_many(rp__reader *r, const rp__node *value, double nodes)
{
    if (nodes <= (double)r->scene->settings.particle_limit && nodes < 2e8)
        return RP_OK;
    return rp__scene_fail(&r->tree, value, "this asks for %.3g nodes of fibres; the limit is %.3g", nodes,
                          fmin((double)r->scene->settings.particle_limit, 2e8));
}

/* Pose of a body at the start. */
static rp_result pose_of(const rp_body_def *def, rp__pose *pose)
{
    *pose = (rp__pose){ rp__vec3_load(def->position), rp__quat_from_vector(rp__vec3_load(def->rotation)) };
    if (!def->motion)
        return RP_OK;
    double x[3], q[4];
    RP_TRY(rp_motion_pose(def->motion, 0, x, q));
    *pose = (rp__pose){ rp__vec3_load(x), { q[0], q[1], q[2], q[3] } };
    return RP_OK;
}

static rp_result fibres_groom(rp__reader *r, const rp__node *value, void *target)
{
    rp__fibres_item *item = target;
    groom_defaults(&item->groom);
    item->has_groom = true;
    RP_TRY(rp__scene_read_block(r, &rp__scene_groom_block, value, &item->groom));
    RP_TRY(too_many(r, value, (double)item->groom.groom.count * (double)(item->groom.groom.segments + 1)));
    const rp_body_def *body = item->def.body >= 0 ? &RP_ITEM(rp__body_item, r->scene->bodies, item->def.body)->def : NULL;
    rp__pose pose = rp__pose_identity();
    const rp_shape *shape = item->groom.shape ? item->groom.shape : body ? body->shape : NULL;
    if (!shape)
        return rp__scene_fail(&r->tree, value, "a groom needs a 'shape', or fibres with a 'body'");
    if (body)
        RP_TRY(rp__scene_wrap(&r->tree, value, pose_of(body, &pose)));
    return rp__scene_wrap(&r->tree, value, rp__scene_groom(&item->groom.groom, shape, &pose, item->groom.within, item->def.radius, &item->strands));
}

static rp_result fibres_scatter(rp__reader *r, const rp__node *value, void *target)
{
    rp__fibres_item *item = target;
    scatter_defaults(&item->scatter);
    item->has_scatter = true;
    RP_TRY(rp__scene_read_block(r, &rp__scene_scatter_block, value, &item->scatter));
    RP_TRY(too_many(r, value, (double)item->scatter.scatter.count * (double)(item->scatter.scatter.segments + 1)));
    return rp__scene_wrap(&r->tree, value, rp__scene_scatter(&item->scatter.scatter, item->scatter.shape, item->def.radius, 2, &item->strands));
}

static rp_result fibres_name(rp__reader *r, const rp__node *value, void *target)
{
    return rp__scene_read_text(r, value, "name", &((rp__fibres_item *)target)->def.name);
}

static rp_result fibres_segments(rp__reader *r, const rp__node *value, void *target)
{
    double count = 0;
    RP_TRY(rp__scene_read_number(r, value, "segments", "", &count));
    if (!(count >= 1 && count <= 1e6) || count != floor(count))
        return rp__scene_fail(&r->tree, value, "'segments' is a whole number from 1 to 1000000");
    ((rp__fibres_item *)target)->segments = (int64_t)count;
    return RP_OK;
}

static rp_result fibres_unit(rp__reader *r, const rp__node *value, void *target)
{
    double *unit = &((rp__fibres_item *)target)->unit;
    RP_TRY(rp__scene_read_number(r, value, "unit", "m", unit));
    return *unit > 0 ? RP_OK : rp__scene_fail(&r->tree, value, "'unit' must be above 0");
}

static const rp__scene_key fibres_keys[] = {
    { "name", "text", "{\"type\":\"string\"}", "for messages and --set", "", fibres_name },
    { "segments", "whole number", "{\"type\":\"integer\",\"minimum\":1}", "of equal length, of a curve or path",
      "the points of a curve, 40 of a path", fibres_segments },
    { "unit", "number [m]", "{\"anyOf\":[{\"type\":\"number\"},{\"$ref\":\"#/$defs/quantity\"}]}", "of lengths in a file", "1 m", fibres_unit },
    { "body", "text", "{\"type\":\"string\"}", "name of the scripted body that carries fixed roots", "they stand still", fibres_body },
    { "tip_body", "text", "{\"type\":\"string\"}", "the same for fixed tips", "they stand still", fibres_tip_body },
    { "curve", "list of points [m]", "{\"type\":\"array\",\"minItems\":2}", "one fibre through these points", "", fibres_curve },
    { "curves", "list of curves", "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":2}}", "several", "", fibres_curves },
    { "path", "text", "{\"type\":\"string\"}", "Lua of s from 0 to 1 that gives x, y, z: one fibre along it", "", fibres_path },
    { "groom", "groom", "{\"$ref\":\"#/$defs/groom\"}", "fibres that grow out of a surface", "", fibres_groom },
    { "scatter", "scatter", "{\"$ref\":\"#/$defs/scatter\"}", "straight fibres in a room", "", fibres_scatter },
    { "file", "text", "{\"type\":\"string\"}", "strands of a file: OBJ lines, CSV with the columns fibre, x, y, z, or npz (position, fibre)", "", fibres_file },
    { 0 },
};

static void fibres_defaults(void *target)
{
    rp__fibres_item *item = target;
    item->def = rp_default_fibres_def();
    item->def.name = "";
    item->segments = 0;
    item->unit = 1;
}

const rp__scene_block rp__scene_fibres = {
    "fibres", "fibres",
    "Elastic fibres, for the method `contact`. A list, or one map. Their nodes come from one of `curve`, `curves`, `path`, `groom`, `scatter` and `file`.",
    "fibres:\n  - curve: [[0.2, 0.5, 0.5], [0.8, 0.5, 0.5]]\n    segments: 30\n    radius: 2 mm\n    youngs_modulus: 10 MPa\n    root: clamped",
    rp_fibres_table, fibres_keys, fibres_defaults, NULL,
};

static rp_result read_fibres_item(rp__reader *r, const rp__node *value)
{
    rp__fibres_item *item = rp__scene_push(r->scene, &r->scene->fibres, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    fibres_defaults(item);
    RP_TRY(rp__scene_need(r, value, RP_NODE_MAP, "fibres"));
    static const char *const sources[] = { "curve", "curves", "path", "groom", "scatter", "file" };
    int given = 0;
    for (size_t k = 0; k < sizeof sources / sizeof *sources; ++k)
        given += rp__scene_get(value, sources[k]) != NULL;
    if (given != 1)
        return rp__scene_fail(&r->tree, value, "fibres have one of 'curve', 'curves', 'path', 'groom', 'scatter' and 'file'; here are %d", given);
    if (r->dim != 3)
        return rp__scene_fail(&r->tree, value, "fibres need a 3D scene");
    rp_result result = rp__scene_read_block(r, &rp__scene_fibres, value, item);
    item->def.nodes = item->strands.nodes;
    item->def.counts = item->strands.counts;
    item->def.count = item->strands.count;
    return result;
}

rp_result rp__scene_read_fibres(rp__reader *r, const rp__node *value)
{
    return rp__scene_read_list(r, value, "fibres", read_fibres_item);
}

void rp__scene_free_fibres(rp_scene *scene)
{
    for (int i = 0; i < scene->fibres.count; ++i) {
        rp__fibres_item *item = RP_ITEM(rp__fibres_item, scene->fibres, i);
        rp__scene_strands_free(&item->strands);
        rp_shape_release(item->groom.shape);
        rp_shape_release(item->groom.within);
        rp_shape_release(item->scatter.shape);
    }
}
