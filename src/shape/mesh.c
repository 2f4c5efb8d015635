/* Closed triangle meshes as shapes: exact distance to the nearest triangle, sign by winding number. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

/* ---- distance ---- */

static rp__vec3 corner(const rp_mesh *m, int32_t t, int k)
{
    return rp__vec3_load(m->vertices + 3 * (int64_t)m->triangles[3 * (int64_t)t + k]);
}

static rp__vec3 face_normal(const rp_mesh *m, int32_t t)
{
    rp__vec3 a = corner(m, t, 0);
    rp__vec3 n = rp__vec3_cross(rp__vec3_sub(corner(m, t, 1), a), rp__vec3_sub(corner(m, t, 2), a));
    return rp__vec3_unit(n, rp__vec3_make(0, 0, 0));
}

/* The normal of a face, the mean of two at an edge, that weighted by angle at a corner. */
static rp__vec3 feature_normal(const rp__mesh_shape *s, const rp__nearest *n)
{
    const rp_mesh *m = &s->mesh;
    if (n->feature >= RP_CORNER_A)
        return s->normals[m->triangles[3 * (int64_t)n->triangle + (n->feature - RP_CORNER_A)]];
    rp__vec3 normal = face_normal(m, n->triangle);
    if (n->feature == RP_FACE)
        return normal;
    int32_t across = s->adjacent[3 * (int64_t)n->triangle + (n->feature - RP_EDGE_AB)];
    return across >= 0 ? rp__vec3_add(normal, face_normal(m, across)) : normal;
}

double rp__shape_mesh_normal_sign(const rp__mesh_shape *s, rp__vec3 p, const rp__nearest *n)
{
    return rp__vec3_dot(rp__vec3_sub(p, n->point), feature_normal(s, n)) < 0 ? -1 : 1;
}

static double mesh_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const rp__mesh_shape *s = (const rp__mesh_shape *)shape;
    double bound = INFINITY, sign = 0;
    if (s->band.h > 0)
        rp__shape_band_lookup(&s->band, p, &bound, &sign);
    rp__nearest n = { .squared = bound < INFINITY ? bound * bound : INFINITY };
    rp__shape_bvh_nearest(&s->bvh, p, &n);
    if (n.triangle < 0) { /* the bound was met exactly, or p is not a number */
        n.squared = INFINITY;
        rp__shape_bvh_nearest(&s->bvh, p, &n);
        if (n.triangle < 0) {
            if (gradient)
                *gradient = rp__vec3_make(0, 0, 1);
            return INFINITY;
        }
    }
    double d = sqrt(n.squared);
    if (sign == 0) {
        bool by_normal = s->band.h > 0 ? s->band.trusted : s->clean;
        if (by_normal)
            sign = rp__shape_mesh_normal_sign(s, p, &n);
        else
            sign = fabs(rp__shape_bvh_winding(&s->bvh, p)) > 0.5 ? -1 : 1;
    }
    if (gradient) {
        double scale = fabs(p.x) + fabs(p.y) + fabs(p.z) + rp__vec3_norm(rp__vec3_sub(shape->upper, shape->lower));
        if (d > 1e-12 * scale)
            *gradient = rp__vec3_scale(sign / d, rp__vec3_sub(p, n.point));
        else
            *gradient = rp__vec3_unit(feature_normal(s, &n), rp__vec3_make(0, 0, 1));
    }
    return sign * d;
}

static bool mesh_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    *mass = ((const rp__mesh_shape *)shape)->mass;
    return true;
}

static void mesh_destroy(rp_shape *shape)
{
    rp__mesh_shape *s = (rp__mesh_shape *)shape;
    rp_mesh_free(&s->mesh);
    rp__shape_bvh_free(&s->bvh);
    rp__shape_band_free(&s->band);
    rp__base_free(s->adjacent);
    rp__base_free(s->normals);
    rp__base_free(s->velocities);
}

const rp__shape_class rp__shape_mesh_class = { "mesh", mesh_distance, mesh_destroy, mesh_mass, false };

/* ---- creation ---- */

static void vertex_normals(rp__mesh_shape *s)
{
    const rp_mesh *m = &s->mesh;
    memset(s->normals, 0, (size_t)m->vertex_count * sizeof *s->normals);
    for (int64_t t = 0; t < m->triangle_count; t++) {
        rp__vec3 normal = face_normal(m, (int32_t)t);
        for (int k = 0; k < 3; k++) {
            rp__vec3 at = corner(m, (int32_t)t, k), u = rp__vec3_sub(corner(m, (int32_t)t, (k + 1) % 3), at);
            rp__vec3 v = rp__vec3_sub(corner(m, (int32_t)t, (k + 2) % 3), at);
            double angle = atan2(rp__vec3_norm(rp__vec3_cross(u, v)), rp__vec3_dot(u, v));
            rp__vec3 *sum = &s->normals[m->triangles[3 * t + k]];
            *sum = rp__vec3_axpy(angle, normal, *sum);
        }
    }
}

static void bound_mesh(rp__mesh_shape *s)
{
    double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
    for (int64_t t = 0; t < 3 * s->mesh.triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            double x = s->mesh.vertices[3 * (int64_t)s->mesh.triangles[t] + i];
            lower[i] = fmin(lower[i], x), upper[i] = fmax(upper[i], x);
        }
    s->base.lower = rp__vec3_load(lower);
    s->base.upper = rp__vec3_load(upper);
}

/* ---- can it have an inside ---- */

enum { TRIALS = 2000 };

/* Points of the box whose winding number is far from a whole number: a closed mesh has none, one with a small hole few. */
static void try_winding(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__mesh_shape *s = context;
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 e = rp__vec3_sub(s->base.upper, s->base.lower), p = s->base.lower;
        p.x += e.x * rp__random_unit(1, (uint64_t)i, 0);
        p.y += e.y * rp__random_unit(1, (uint64_t)i, 1);
        p.z += e.z * rp__random_unit(1, (uint64_t)i, 2);
        double w = rp__shape_bvh_winding(&s->bvh, p);
        partial[0] += fabs(w - round(w)) > 0.2;
        partial[1] += fabs(w) > 0.5;
    }
}

static rp_result check_inside(const char *what, const rp__mesh_shape *s, const rp__mesh_report *report)
{
    rp__vec3 e = rp__vec3_sub(s->base.upper, s->base.lower);
    if (!(fabs(report->volume) > 1e-12 * e.x * e.y * e.z) || !(e.x * e.y * e.z > 0))
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh has no inside: it encloses no volume, and has %lld open edges", what,
                             (long long)report->open_edges);
    if (s->clean)
        return RP_OK;
    double found[2];
    rp__exec_sum(TRIALS, 50, 2, try_winding, (void *)(uintptr_t)s, found);
    double unsure = found[0] / TRIALS;
    if (unsure > 0.1 || found[1] == 0)
        return rp__base_fail(RP_BAD_FILE,
                             "%s: the mesh is too open to tell inside from outside: %lld open edges, %lld edges with more than two "
                             "triangles, unclear for %.0f %% of its box; close its holes, or give a sheet a thickness",
                             what, (long long)report->open_edges, (long long)report->crowded_edges, 100 * unsure);
    return RP_OK;
}

static void tell(const char *what, const rp__mesh_report *r)
{
    if (r->turned || r->inside_out)
        RP_INFO("%s: %lld triangles were turned over to agree with their neighbours%s", what, (long long)r->turned,
                r->inside_out ? ", and all to face outwards" : "");
    if (r->open_edges || r->crowded_edges || r->conflicts)
        RP_WARN("%s: the mesh is not closed: %lld open edges, %lld edges with more than two triangles, %lld in conflict; its holes are "
                "taken for flat lids",
                what, (long long)r->open_edges, (long long)r->crowded_edges, (long long)r->conflicts);
}

static rp_result fill_shape(const char *what, rp__mesh_shape *s, int flags)
{
    rp_mesh *m = &s->mesh;
    RP_TRY(rp__shape_mesh_validate(what, m));
    if (m->triangle_count > INT32_MAX / 3)
        return rp__base_fail(RP_TOO_LARGE, "%s: the mesh has %lld triangles; at most %d are allowed", what, (long long)m->triangle_count,
                             INT32_MAX / 3);
    s->adjacent = RP_NEW_ARRAY(int32_t, 3 * m->triangle_count);
    s->normals = RP_NEW_ARRAY(rp__vec3, m->vertex_count);
    if (!s->adjacent || !s->normals)
        return RP_OUT_OF_MEMORY;
    rp__mesh_report report;
    RP_TRY(rp__shape_mesh_orient(m, s->adjacent, &report));
    s->clean = report.open_edges == 0 && report.crowded_edges == 0 && report.conflicts == 0;
    bound_mesh(s);
    RP_TRY(rp__shape_bvh_build(m, &s->bvh));
    RP_TRY(check_inside(what, s, &report));
    vertex_normals(s);
    rp__shape_mesh_mass(m, &s->mass);
    if (flags & RP_MESH_BAND) {
        tell(what, &report);
        double h = rp__shape_mesh_band_size(m);
        rp__mesh_hash hash = rp__shape_mesh_hash(m, h);
        if (!rp__shape_cache_load(hash, &s->band)) {
            RP_TRY(rp__shape_band_build(s, h));
            rp__shape_cache_store(hash, &s->band);
        }
    }
    return RP_OK;
}

rp_result rp__shape_mesh_create(const char *what, rp_mesh *mesh, int flags, double *velocities, rp_shape **out)
{
    rp__mesh_shape *s = rp__shape_new(&rp__shape_mesh_class, sizeof *s);
    if (!s) {
        rp_mesh_free(mesh);
        rp__base_free(velocities);
        return RP_OUT_OF_MEMORY;
    }
    s->mesh = *mesh;
    s->velocities = velocities;
    *mesh = (rp_mesh){ NULL, NULL, 0, 0 };
    rp_result result = fill_shape(what, s, flags);
    if (result != RP_OK) {
        rp_shape_release(&s->base);
        return result;
    }
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_mesh(const char *path, double scale, rp_shape **out)
{
    rp_mesh mesh;
    rp_shape *shape = NULL;
    RP_TRY(rp_mesh_load(path, scale, &mesh));
    RP_TRY(rp__shape_mesh_create(path, &mesh, RP_MESH_BAND, NULL, &shape));
    shape->path = rp__base_copy_text(path);
    if (!shape->path) {
        rp_shape_release(shape);
        return RP_OUT_OF_MEMORY;
    }
    rp__shape_note(shape, "mesh", 1, &scale);
    *out = shape;
    return RP_OK;
}

rp_result rp_shape_mesh_data(const double *vertices, int64_t vertex_count, const int32_t *triangles, int64_t triangle_count, rp_shape **out)
{
    if (!vertices || !triangles || vertex_count < 0 || triangle_count < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh: there are no vertices or triangles (NULL)");
    rp_mesh given = { (double *)(uintptr_t)vertices, (int32_t *)(uintptr_t)triangles, vertex_count, triangle_count }, mesh;
    rp_result result = rp__shape_mesh_validate("mesh", &given);
    if (result != RP_OK)
        return result == RP_BAD_FILE ? RP_BAD_ARGUMENT : result;
    int64_t count = 0;
    int32_t *map = RP_NEW_ARRAY(int32_t, vertex_count);
    result = map ? rp__shape_mesh_weld_map(&given, map, &count) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = rp__shape_mesh_weld(&given, map, count, &mesh);
    rp__base_free(map);
    if (result == RP_OK)
        result = rp__shape_mesh_create("mesh", &mesh, RP_MESH_BAND, NULL, out);
    return result == RP_BAD_FILE ? RP_BAD_ARGUMENT : result;
}
