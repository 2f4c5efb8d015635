/* The things in a picture, kept in single precision about the origin, and given to Embree when a picture is made. */
#include "render/internal.h"

#include "math/quat.h"
#include "math/random.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

rp_result rp__render_embree_error(RTCDevice device, const char *doing)
{
    enum RTCError error = rtcGetDeviceError(device);
    switch (error) {
    case RTC_ERROR_NONE: return RP_OK;
    case RTC_ERROR_OUT_OF_MEMORY: return rp__base_fail(RP_OUT_OF_MEMORY, "out of memory while %s", doing);
    default: return rp__base_fail(RP_UNSUPPORTED, "the ray tracer failed while %s (Embree error %d)", doing, (int)error);
    }
}

rp_grain_set rp_default_grain_set(void)
{
    return (rp_grain_set){ .shape = RP_GRAIN_SPHERE, .common_radius = 1e-3, .common_colour = { 225, 169, 95 },
                           .thickness = 0.15, .scale = 1 };
}

rp_mesh_set rp_default_mesh_set(void)
{
    return (rp_mesh_set){ .orientation = { 1, 0, 0, 0 }, .colour = { 150, 155, 160 }, .smooth = true, .gloss = 0.15,
                          .opacity = 1 };
}

rp_result rp_render_create(const double origin[3], rp_render **out)
{
    rp_render *r = RP_NEW(rp_render);
    if (!r)
        return RP_OUT_OF_MEMORY;
    for (int d = 0; d < 3; d++) {
        r->origin[d] = origin ? origin[d] : 0;
        r->lower[d] = INFINITY, r->upper[d] = -INFINITY;
        if (!isfinite(r->origin[d])) {
            rp__base_free(r);
            return rp__base_fail(RP_BAD_ARGUMENT, "the origin of a picture must be finite");
        }
    }
    /* One thread: the tree, and with it the winner of two hits at the same distance, never depends on the machine. */
    r->device = rtcNewDevice("threads=1");
    if (!r->device) {
        rp_result result = rp__render_embree_error(NULL, "starting");
        rp__base_free(r);
        return result == RP_OK ? rp__base_fail(RP_UNSUPPORTED, "the ray tracer did not start") : result;
    }
    *out = r;
    return RP_OK;
}

static void free_moved(geometry *g)
{
    rp__base_free(g->moved[0]);
    rp__base_free(g->moved[1]);
    g->moved[0] = g->moved[1] = NULL;
}

static void free_geometry(geometry *g)
{
    free_moved(g);
    rp__base_free(g->points);
    rp__base_free(g->velocity);
    rp__base_free(g->solids);
    rp__base_free(g->colours);
    rp__base_free(g->vertices);
    rp__base_free(g->normals);
    rp__base_free(g->triangles);
    memset(g, 0, sizeof *g);
}

static void drop_scenes(rp_render *r)
{
    if (r->scene)
        rtcReleaseScene(r->scene);
    if (r->glass)
        rtcReleaseScene(r->glass);
    r->scene = r->glass = NULL;
    r->committed = false;
    rp__base_free(r->scene_index);
    rp__base_free(r->glass_index);
    r->scene_index = r->glass_index = NULL;
    for (int64_t i = 0; i < r->count; i++)
        free_moved(&r->geometries[i]);
}

void rp_render_destroy(rp_render *r)
{
    if (!r)
        return;
    drop_scenes(r);
    for (int64_t i = 0; i < r->count; i++)
        free_geometry(&r->geometries[i]);
    rp__base_free(r->geometries);
    rtcReleaseDevice(r->device);
    rp__base_free(r);
}

static void grow_bounds(rp_render *r, const double centre[3], double radius)
{
    for (int d = 0; d < 3; d++) {
        r->lower[d] = fmin(r->lower[d], centre[d] - radius);
        r->upper[d] = fmax(r->upper[d], centre[d] + radius);
    }
}

bool rp_render_bounds(const rp_render *r, double lower[3], double upper[3])
{
    for (int d = 0; d < 3; d++)
        lower[d] = r->lower[d], upper[d] = r->upper[d];
    return r->lower[0] <= r->upper[0];
}

/* ---- grains ---- */

static rp_result check_grains(const rp_grain_set *s)
{
    if (s->count < 0 || s->count > UINT32_MAX - 1)
        return rp__base_fail(RP_TOO_LARGE, "%lld grains in one set; at most %u can be shown", (long long)s->count,
                             UINT32_MAX - 1);
    for (int d = 0; d < 3; d++)
        if (s->count > 0 && !s->position[d])
            return rp__base_fail(RP_BAD_ARGUMENT, "grains without positions cannot be shown");
    if (!s->radius && !(s->common_radius > 0) && s->shape != RP_GRAIN_ELLIPSOID)
        return rp__base_fail(RP_BAD_ARGUMENT, "the radius of grains is %g; it must be above 0", s->common_radius);
    if (s->shape == RP_GRAIN_ELLIPSOID && (!s->ellipsoid[0] || !(s->scale > 0)))
        return rp__base_fail(RP_BAD_ARGUMENT, "ellipsoids need their tensors and a scale above 0");
    if (s->shape == RP_GRAIN_DISC && !(s->thickness > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "the thickness of discs is %g; it must be above 0", s->thickness);
    return RP_OK;
}

static bool alloc_grains(geometry *g, const rp_grain_set *s)
{
    size_t n = (size_t)s->count;
    if (s->shape == RP_GRAIN_SPHERE)
        g->points = RP_NEW_ARRAY(float, 4 * n + 4); /* Embree reads 16 bytes at a time */
    else
        g->solids = RP_NEW_ARRAY(solid, n);
    if (s->colour)
        g->colours = RP_NEW_ARRAY(uint8_t, 3 * n);
    if (s->velocity[0])
        g->velocity = RP_NEW_ARRAY(float, 3 * n);
    return (g->points || g->solids) && (g->colours || !s->colour) && (g->velocity || !s->velocity[0]);
}

/* One grain into place; false when a number is not finite (it is left out). */
static bool put_grain(rp_render *r, geometry *g, const rp_grain_set *s, int64_t i)
{
    int64_t k = g->count;
    double x[3], centre[3], radius = s->radius ? s->radius[i] : s->common_radius;
    for (int d = 0; d < 3; d++) {
        x[d] = s->position[d][i];
        centre[d] = x[d] - r->origin[d];
    }
    if (!isfinite(centre[0] + centre[1] + centre[2]) || !(radius >= 0) || !isfinite(radius))
        return false;
    if (s->shape == RP_GRAIN_SPHERE) {
        for (int d = 0; d < 3; d++)
            g->points[4 * k + d] = (float)centre[d];
        g->points[4 * k + 3] = (float)radius;
    } else if (s->shape == RP_GRAIN_DISC) {
        rp__vec3 axis = rp__random_on_sphere(0x61786973, 1, (uint64_t)i);
        double a[3] = { axis.x, axis.y, axis.z };
        if (s->axis[0])
            for (int d = 0; d < 3; d++)
                a[d] = s->axis[d][i];
        rp__render_make_disc(&g->solids[k], centre, radius, s->thickness, a);
    } else {
        double f[6];
        for (int c = 0; c < 6; c++)
            f[c] = s->ellipsoid[c][i];
        if (!rp__render_make_ellipsoid(&g->solids[k], centre, f, s->scale))
            return false;
        radius = fmax(g->solids[k].bound[0], fmax(g->solids[k].bound[1], g->solids[k].bound[2]));
    }
    if (g->colours)
        memcpy(g->colours + 3 * k, s->colour + 3 * i, 3);
    for (int d = 0; d < 3 && g->velocity; d++) {
        double v = s->velocity[d][i];
        g->velocity[3 * k + d] = isfinite(v) ? (float)v : 0;
    }
    grow_bounds(r, x, radius);
    r->largest = fmaxf(r->largest, (float)radius);
    g->count++;
    return true;
}

rp_result rp_render_add_grains(rp_render *r, const rp_grain_set *s)
{
    RP_TRY(check_grains(s));
    if (s->count == 0)
        return RP_OK;
    if (!rp__base_grow(&r->geometries, &r->capacity, r->count + 1, sizeof *r->geometries))
        return RP_OUT_OF_MEMORY;
    drop_scenes(r);
    geometry g = { .kind = s->shape == RP_GRAIN_SPHERE ? GEOMETRY_SPHERES
                           : s->shape == RP_GRAIN_DISC ? GEOMETRY_DISCS
                                                       : GEOMETRY_ELLIPSOIDS,
                   .colour = rp__render_linear(s->common_colour), .opacity = 1 };
    if (!alloc_grains(&g, s)) {
        free_geometry(&g);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < s->count; i++)
        put_grain(r, &g, s, i);
    if (g.count == 0)
        free_geometry(&g);
    else
        r->geometries[r->count++] = g;
    return RP_OK;
}

/* ---- meshes ---- */

/* Normals at the corners: those of the faces around the vertex that turn less than 35 degrees away, weighted by area. */
static rp_result smooth_normals(geometry *g)
{
    int64_t triangles = g->count, corners = 3 * triangles;
    int32_t *first = rp__base_alloc_zero(sizeof *first * (size_t)(g->vertex_count + 2));
    int32_t *around = RP_NEW_ARRAY(int32_t, corners);
    f3 *face = RP_NEW_ARRAY(f3, triangles);
    g->normals = RP_NEW_ARRAY(float, 3 * corners);
    rp_result result = first && around && face && g->normals ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        for (int64_t c = 0; c < corners; c++)
            first[g->triangles[c] + 2]++;
        for (int64_t v = 0; v < g->vertex_count; v++)
            first[v + 2] += first[v + 1];
        for (int64_t c = 0; c < corners; c++)
            around[first[g->triangles[c] + 1]++] = (int32_t)(c / 3);
        for (int64_t t = 0; t < triangles; t++) {
            const float *p[3];
            for (int k = 0; k < 3; k++)
                p[k] = g->vertices + 4 * (int64_t)g->triangles[3 * t + k];
            f3 a = f3_make(p[1][0] - p[0][0], p[1][1] - p[0][1], p[1][2] - p[0][2]);
            f3 b = f3_make(p[2][0] - p[0][0], p[2][1] - p[0][1], p[2][2] - p[0][2]);
            face[t] = f3_cross(a, b);
        }
        for (int64_t c = 0; c < corners; c++) {
            f3 own = f3_unit(face[c / 3]), sum = { 0, 0, 0 };
            int32_t v = g->triangles[c];
            for (int32_t k = first[v]; k < first[v + 1]; k++)
                if (f3_dot(own, f3_unit(face[around[k]])) > 0.819f)
                    sum = f3_add(sum, face[around[k]]);
            sum = f3_unit(sum);
            g->normals[3 * c] = sum.x, g->normals[3 * c + 1] = sum.y, g->normals[3 * c + 2] = sum.z;
        }
    }
    rp__base_free(first);
    rp__base_free(around);
    rp__base_free(face);
    return result;
}

static rp_result check_mesh(const rp_mesh_set *s)
{
    const rp_mesh *m = s->mesh;
    if (!m || m->vertex_count < 3 || m->triangle_count < 1)
        return rp__base_fail(RP_BAD_ARGUMENT, "a mesh needs at least one triangle to be shown");
    if (m->vertex_count > INT32_MAX || m->triangle_count > INT32_MAX / 3)
        return rp__base_fail(RP_TOO_LARGE, "a mesh of %lld triangles is too large for a picture", (long long)m->triangle_count);
    for (int64_t c = 0; c < 3 * m->triangle_count; c++)
        if (m->triangles[c] < 0 || m->triangles[c] >= m->vertex_count)
            return rp__base_fail(RP_BAD_ARGUMENT, "triangle %lld of a mesh names vertex %d of %lld", (long long)(c / 3),
                                 (int)m->triangles[c], (long long)m->vertex_count);
    return RP_OK;
}

static void place_vertices(rp_render *r, geometry *g, const rp_mesh_set *s)
{
    rp__quat q = rp__quat_unit((rp__quat){ s->orientation[0], s->orientation[1], s->orientation[2], s->orientation[3] });
    rp__vec3 omega = rp__vec3_load(s->angular_velocity);
    for (int64_t i = 0; i < g->vertex_count; i++) {
        rp__vec3 arm = rp__quat_rotate(q, rp__vec3_load(s->mesh->vertices + 3 * i));
        rp__vec3 at = rp__vec3_add(arm, rp__vec3_load(s->position));
        rp__vec3 v = rp__vec3_add(rp__vec3_load(s->velocity), rp__vec3_cross(omega, arm));
        double world[3] = { at.x, at.y, at.z }, speed[3] = { v.x, v.y, v.z };
        for (int d = 0; d < 3; d++) {
            g->vertices[4 * i + d] = (float)(world[d] - r->origin[d]);
            g->velocity[3 * i + d] = (float)speed[d];
        }
        g->vertices[4 * i + 3] = 0;
        grow_bounds(r, world, 0);
    }
}

rp_result rp_render_add_mesh(rp_render *r, const rp_mesh_set *s)
{
    RP_TRY(check_mesh(s));
    if (!rp__base_grow(&r->geometries, &r->capacity, r->count + 1, sizeof *r->geometries))
        return RP_OUT_OF_MEMORY;
    drop_scenes(r);
    geometry g = { .kind = GEOMETRY_MESH, .count = s->mesh->triangle_count, .vertex_count = s->mesh->vertex_count,
                   .colour = rp__render_linear(s->colour), .gloss = (float)fmin(1, fmax(0, s->gloss)),
                   .opacity = (float)fmin(1, fmax(0, s->opacity)), .clarity = (float)fmax(0, s->clarity) };
    g.vertices = RP_NEW_ARRAY(float, 4 * g.vertex_count);
    g.velocity = RP_NEW_ARRAY(float, 3 * g.vertex_count);
    g.triangles = RP_NEW_ARRAY(int32_t, 3 * g.count);
    rp_result result = g.vertices && g.velocity && g.triangles ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        memcpy(g.triangles, s->mesh->triangles, sizeof *g.triangles * 3 * (size_t)g.count);
        place_vertices(r, &g, s);
        if (s->smooth)
            result = smooth_normals(&g);
    }
    if (result != RP_OK) {
        free_geometry(&g);
        return result;
    }
    r->has_glass = r->has_glass || g.opacity < 1;
    r->geometries[r->count++] = g;
    return RP_OK;
}

/* ---- curves ---- */

rp_curve_set rp_default_curve_set(void)
{
    return (rp_curve_set){ .common_colour = { 107, 74, 43 }, .gloss = 0.3 };
}

/* A point of a curve into place; `from` and its neighbour `other` are mirrored for the ends of smooth curves: a spline passes through the
 * points between its first and its last. */
static void put_point(rp_render *r, geometry *g, const rp_curve_set *s, int64_t from, int64_t other)
{
    int64_t k = g->vertex_count++;
    double x[3];
    for (int d = 0; d < 3; d++) {
        x[d] = s->position[3 * from + d];
        if (other != from)
            x[d] = 2 * x[d] - s->position[3 * other + d];
        g->points[4 * k + d] = (float)(x[d] - r->origin[d]);
        if (g->velocity)
            g->velocity[3 * k + d] = (float)s->velocity[3 * from + d];
    }
    g->points[4 * k + 3] = (float)s->radius[from];
    grow_bounds(r, x, s->radius[from]);
}

rp_result rp_render_add_curves(rp_render *r, const rp_curve_set *s)
{
    if (s->count == 0)
        return RP_OK;
    int64_t nodes = s->first[s->count];
    if (nodes > INT32_MAX / 4)
        return rp__base_fail(RP_TOO_LARGE, "curves of %lld points are too large for a picture", (long long)nodes);
    for (int64_t i = 0; i < nodes; i++)
        if (!isfinite(s->position[3 * i] + s->position[3 * i + 1] + s->position[3 * i + 2]) || !(s->radius[i] >= 0))
            return rp__base_fail(RP_BAD_ARGUMENT, "point %lld of a curve is not a place, or has no radius", (long long)i);
    if (!rp__base_grow(&r->geometries, &r->capacity, r->count + 1, sizeof *r->geometries))
        return RP_OUT_OF_MEMORY;
    drop_scenes(r);
    geometry g = { .kind = s->straight ? GEOMETRY_STICKS : GEOMETRY_CURVES, .colour = rp__render_linear(s->common_colour), .opacity = 1,
                   .gloss = (float)fmin(1, fmax(0, s->gloss)) };
    int64_t most = nodes + 2 * s->count;
    g.points = RP_NEW_ARRAY(float, 4 * most + 4);
    g.velocity = s->velocity ? RP_NEW_ARRAY(float, 3 * most) : NULL;
    g.triangles = RP_NEW_ARRAY(int32_t, nodes);
    g.colours = s->colour ? RP_NEW_ARRAY(uint8_t, 3 * nodes) : NULL;
    if (!g.points || !g.triangles || (s->velocity && !g.velocity) || (s->colour && !g.colours)) {
        free_geometry(&g);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; k < s->count; k++) {
        int64_t a = s->first[k], b = s->first[k + 1] - 1;
        for (int64_t i = a; i < b; i++) {
            if (g.colours)
                memcpy(g.colours + 3 * g.count, s->colour + 3 * k, 3);
            g.triangles[g.count++] = (int32_t)(g.vertex_count + i - a);
        }
        if (!s->straight)
            put_point(r, &g, s, a, a + 1);
        for (int64_t i = a; i <= b; i++)
            put_point(r, &g, s, i, i);
        if (!s->straight)
            put_point(r, &g, s, b, b - 1);
    }
    r->geometries[r->count++] = g;
    return RP_OK;
}

rp_result rp_render_set_ground(rp_render *r, const double point[3], const double normal[3], const uint8_t colour[3])
{
    double n = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    if (!(n > 0) || !isfinite(n + point[0] + point[1] + point[2]))
        return rp__base_fail(RP_BAD_ARGUMENT, "the ground needs a finite point and a normal that is not zero");
    r->ground_normal = f3_make((float)(normal[0] / n), (float)(normal[1] / n), (float)(normal[2] / n));
    r->ground_point = f3_make((float)(point[0] - r->origin[0]), (float)(point[1] - r->origin[1]),
                              (float)(point[2] - r->origin[2]));
    r->ground_colour = rp__render_linear(colour);
    r->has_ground = true;
    return RP_OK;
}

/* ---- commit ---- */

/* Positions when the shutter opens (-1/2) and closes (+1/2). */
static bool move_points(geometry *g, double shutter)
{
    bool mesh = g->kind == GEOMETRY_MESH, curves = g->kind == GEOMETRY_CURVES || g->kind == GEOMETRY_STICKS;
    const float *from = mesh ? g->vertices : g->points;
    int64_t n = mesh || curves ? g->vertex_count : g->count;
    for (int k = 0; k < 2; k++) {
        g->moved[k] = RP_NEW_ARRAY(float, 4 * n + 4);
        if (!g->moved[k])
            return false;
        float dt = (float)((k - 0.5) * shutter);
        for (int64_t i = 0; i < n; i++) {
            for (int d = 0; d < 3; d++)
                g->moved[k][4 * i + d] = from[4 * i + d] + dt * g->velocity[3 * i + d];
            g->moved[k][4 * i + 3] = from[4 * i + 3];
        }
    }
    return true;
}

static rp_result attach(rp_render *r, int index, int *ids_scene, int *ids_glass)
{
    geometry *g = &r->geometries[index];
    bool blurred = r->shutter > 0 && g->velocity;
    static const enum RTCGeometryType types[] = { RTC_GEOMETRY_TYPE_SPHERE_POINT, RTC_GEOMETRY_TYPE_USER,
                                                  RTC_GEOMETRY_TYPE_USER, RTC_GEOMETRY_TYPE_TRIANGLE,
                                                  RTC_GEOMETRY_TYPE_ROUND_CATMULL_ROM_CURVE, RTC_GEOMETRY_TYPE_ROUND_LINEAR_CURVE };
    bool solids = g->kind == GEOMETRY_DISCS || g->kind == GEOMETRY_ELLIPSOIDS;
    if (blurred && !solids && !move_points(g, r->shutter))
        return RP_OUT_OF_MEMORY;
    RTCGeometry e = rtcNewGeometry(r->device, types[g->kind]);
    if (!e)
        return rp__render_embree_error(r->device, "preparing the picture");
    g->shutter = blurred ? (float)r->shutter : 0;
    rtcSetGeometryTimeStepCount(e, blurred ? 2 : 1);
    if (solids) {
        rtcSetGeometryUserPrimitiveCount(e, (unsigned)g->count);
        rp__render_solid_callbacks(e, g);
    } else {
        bool mesh = g->kind == GEOMETRY_MESH, curves = g->kind == GEOMETRY_CURVES || g->kind == GEOMETRY_STICKS;
        for (unsigned k = 0; k < (blurred ? 2u : 1u); k++)
            rtcSetSharedGeometryBuffer(e, RTC_BUFFER_TYPE_VERTEX, k, mesh ? RTC_FORMAT_FLOAT3 : RTC_FORMAT_FLOAT4,
                                       blurred ? g->moved[k] : mesh ? g->vertices : g->points, 0, 16,
                                       (size_t)(mesh || curves ? g->vertex_count : g->count));
        if (curves)
            rtcSetSharedGeometryBuffer(e, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT, g->triangles, 0, 4, (size_t)g->count);
        if (mesh)
            rtcSetSharedGeometryBuffer(e, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, g->triangles, 0, 12, (size_t)g->count);
    }
    rtcCommitGeometry(e);
    bool through = g->opacity < 1;
    unsigned id = rtcAttachGeometry(through ? r->glass : r->scene, e);
    rtcReleaseGeometry(e);
    (through ? ids_glass : ids_scene)[id] = index;
    return rp__render_embree_error(r->device, "preparing the picture");
}

rp_result rp__render_commit(rp_render *r, double shutter)
{
    if (r->committed && r->shutter == shutter)
        return RP_OK;
    drop_scenes(r);
    r->shutter = shutter;
    r->scene = rtcNewScene(r->device);
    r->glass = rtcNewScene(r->device);
    r->scene_index = RP_NEW_ARRAY(int, r->count + 1);
    r->glass_index = RP_NEW_ARRAY(int, r->count + 1);
    rp_result result = r->scene && r->glass ? RP_OK : rp__render_embree_error(r->device, "preparing the picture");
    if (!r->scene_index || !r->glass_index)
        result = RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < r->count && result == RP_OK; i++)
        result = attach(r, (int)i, r->scene_index, r->glass_index);
    if (result == RP_OK) {
        rtcSetSceneFlags(r->scene, RTC_SCENE_FLAG_COMPACT);
        rtcSetSceneBuildQuality(r->scene, RTC_BUILD_QUALITY_MEDIUM);
        rtcCommitScene(r->scene);
        rtcCommitScene(r->glass);
        result = rp__render_embree_error(r->device, "sorting the grains for the picture");
    }
    r->committed = result == RP_OK;
    if (result != RP_OK)
        drop_scenes(r);
    return result;
}

rp_result rp__render_check_eye(const rp_render *r, const double eye[3])
{
    float e[3];
    for (int d = 0; d < 3; d++)
        e[d] = (float)(eye[d] - r->origin[d]);
    for (int64_t i = 0; i < r->count; i++) {
        const geometry *g = &r->geometries[i];
        for (int64_t k = 0; k < g->count && g->kind < GEOMETRY_MESH; k++) {
            bool inside;
            if (g->kind == GEOMETRY_SPHERES) {
                const float *p = g->points + 4 * k;
                float x = e[0] - p[0], y = e[1] - p[1], z = e[2] - p[2];
                inside = x * x + y * y + z * z < p[3] * p[3];
            } else {
                const solid *s = &g->solids[k];
                inside = fabsf(e[0] - s->centre[0]) < s->bound[0] && fabsf(e[1] - s->centre[1]) < s->bound[1] &&
                         fabsf(e[2] - s->centre[2]) < s->bound[2];
            }
            if (inside)
                return rp__base_fail(RP_BAD_ARGUMENT,
                                     "the camera at (%g, %g, %g) is inside a grain; move it out of the material", eye[0],
                                     eye[1], eye[2]);
        }
    }
    return RP_OK;
}
