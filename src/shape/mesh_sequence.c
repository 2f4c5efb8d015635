/* Meshes of one topology at a list of times: the vertices move in straight lines between them. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct rp_mesh_sequence {
    atomic_long references;
    int count;
    double *times;
    double *vertices;   /* 3 vertex_count a time */
    int32_t *triangles;
    int64_t vertex_count, triangle_count;
};

rp_mesh_sequence *rp_mesh_sequence_retain(const rp_mesh_sequence *sequence)
{
    rp_mesh_sequence *kept = (rp_mesh_sequence *)(uintptr_t)sequence;
    if (kept)
        atomic_fetch_add_explicit(&kept->references, 1, memory_order_relaxed);
    return kept;
}

void rp_mesh_sequence_release(rp_mesh_sequence *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
        return;
    rp__base_free(s->times);
    rp__base_free(s->vertices);
    rp__base_free(s->triangles);
    rp__base_free(s);
}

static rp_result check_times(const double *times, int count)
{
    if (count < 1 || !times)
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh sequence: it has no meshes; give one at least");
    for (int i = 0; i < count; i++) {
        if (!isfinite(times[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "mesh sequence: time %d is %g; it must be finite", i + 1, times[i]);
        if (i > 0 && !(times[i] > times[i - 1]))
            return rp__base_fail(RP_BAD_ARGUMENT, "mesh sequence: time %d is %g s, not after %g s; times must increase", i + 1, times[i],
                                 times[i - 1]);
    }
    return RP_OK;
}

/* An empty sequence with room for `count` times of welded.vertex_count vertices; takes the triangles. */
static rp_result begin(const rp_mesh *welded, const double *times, int count, rp_mesh_sequence **out)
{
    rp_mesh_sequence *s = RP_NEW(rp_mesh_sequence);
    if (!s)
        return RP_OUT_OF_MEMORY;
    atomic_init(&s->references, 1);
    s->count = count;
    s->vertex_count = welded->vertex_count, s->triangle_count = welded->triangle_count;
    s->times = RP_NEW_ARRAY(double, count);
    s->vertices = RP_NEW_ARRAY(double, 3 * s->vertex_count * count);
    s->triangles = RP_NEW_ARRAY(int32_t, 3 * s->triangle_count);
    if (!s->times || !s->vertices || !s->triangles) {
        rp_mesh_sequence_release(s);
        return RP_OUT_OF_MEMORY;
    }
    memcpy(s->times, times, (size_t)count * sizeof *times);
    memcpy(s->triangles, welded->triangles, (size_t)(3 * s->triangle_count) * sizeof(int32_t));
    *out = s;
    return RP_OK;
}

static void put(rp_mesh_sequence *s, int at, const rp_mesh *raw, const int32_t *map)
{
    double *to = s->vertices + 3 * s->vertex_count * at;
    for (int64_t v = raw->vertex_count - 1; v >= 0; v--)
        memcpy(to + 3 * (int64_t)map[v], raw->vertices + 3 * v, 3 * sizeof(double));
}

static rp_result start(const rp_mesh *raw, const double *times, int count, int32_t **map, rp_mesh_sequence **out)
{
    int64_t kept = 0;
    *map = RP_NEW_ARRAY(int32_t, raw->vertex_count);
    if (!*map)
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__shape_mesh_weld_map(raw, *map, &kept));
    rp_mesh welded;
    RP_TRY(rp__shape_mesh_weld(raw, *map, kept, &welded));
    rp_result result = begin(&welded, times, count, out);
    rp_mesh_free(&welded);
    return result;
}

/* A sequence must be usable at its first time: refuses a hopeless mesh at once. */
static rp_result finish(rp_mesh_sequence *s, rp_mesh_sequence **out)
{
    rp_shape *first = NULL;
    rp_result result = rp_mesh_sequence_evaluate(s, s->times[0], &first);
    if (result != RP_OK) {
        rp_mesh_sequence_release(s);
        return result;
    }
    rp_shape_release(first);
    *out = s;
    return RP_OK;
}

static rp_result load_all(const char *const *paths, const double *times, int count, double scale, rp_mesh *first, int32_t **map,
                          rp_mesh_sequence **sequence)
{
    RP_TRY(rp__shape_mesh_read(paths[0], scale, first));
    RP_TRY(start(first, times, count, map, sequence));
    put(*sequence, 0, first, *map);
    for (int i = 1; i < count; i++) {
        rp_mesh raw;
        RP_TRY(rp__shape_mesh_read(paths[i], scale, &raw));
        bool same = raw.vertex_count == first->vertex_count && raw.triangle_count == first->triangle_count &&
                    memcmp(raw.triangles, first->triangles, (size_t)(3 * raw.triangle_count) * sizeof(int32_t)) == 0;
        if (same)
            put(*sequence, i, &raw, *map);
        int64_t vertices = raw.vertex_count, triangles = raw.triangle_count;
        rp_mesh_free(&raw);
        if (!same)
            return rp__base_fail(RP_BAD_FILE,
                                 "%s: its triangles are not those of %s (%lld vertices and %lld triangles against %lld and %lld); the "
                                 "meshes of a sequence must have the same",
                                 paths[i], paths[0], (long long)vertices, (long long)triangles, (long long)first->vertex_count,
                                 (long long)first->triangle_count);
    }
    return RP_OK;
}

rp_result rp_mesh_sequence_create(const char *const *paths, const double *times, int count, double scale, rp_mesh_sequence **out)
{
    RP_TRY(check_times(times, count));
    rp_mesh first = { NULL, NULL, 0, 0 };
    int32_t *map = NULL;
    rp_mesh_sequence *s = NULL;
    rp_result result = load_all(paths, times, count, scale, &first, &map, &s);
    rp_mesh_free(&first);
    rp__base_free(map);
    if (result != RP_OK) {
        rp_mesh_sequence_release(s);
        return result;
    }
    return finish(s, out);
}

rp_result rp_mesh_sequence_create_data(const double *const *vertices, const double *times, int count, int64_t vertex_count,
                                       const int32_t *triangles, int64_t triangle_count, rp_mesh_sequence **out)
{
    RP_TRY(check_times(times, count));
    rp_mesh_sequence *s = NULL;
    int32_t *map = NULL;
    rp_result result = RP_OK;
    for (int i = 0; i < count && result == RP_OK; i++) {
        rp_mesh raw = { (double *)(uintptr_t)vertices[i], (int32_t *)(uintptr_t)triangles, vertex_count, triangle_count };
        result = rp__shape_mesh_validate("mesh sequence", &raw);
        if (result == RP_BAD_FILE)
            result = RP_BAD_ARGUMENT;
        if (result == RP_OK && i == 0)
            result = start(&raw, times, count, &map, &s);
        if (result == RP_OK)
            put(s, i, &raw, map);
    }
    rp__base_free(map);
    if (result != RP_OK) {
        rp_mesh_sequence_release(s);
        return result;
    }
    return finish(s, out);
}

/* The piece between two meshes that holds t: the first of them. */
static int piece(const rp_mesh_sequence *s, double t)
{
    int a = 0;
    while (a + 2 < s->count && s->times[a + 1] <= t)
        a++;
    return a;
}

/* Vertices and, if wanted, their velocities at a time. */
static rp_result interpolate(const rp_mesh_sequence *s, double t, rp_mesh *out, double *velocities)
{
    int a = piece(s, t), b = a + 1 < s->count ? a + 1 : a;
    double length = s->times[b] - s->times[a], f = length > 0 ? fmin(fmax((t - s->times[a]) / length, 0), 1) : 0;
    bool moving = length > 0 && t >= s->times[a] && t < s->times[b]; /* held before and after */
    int64_t n = 3 * s->vertex_count;
    *out = (rp_mesh){ RP_NEW_ARRAY(double, n), RP_NEW_ARRAY(int32_t, 3 * s->triangle_count), s->vertex_count, s->triangle_count };
    if (!out->vertices || !out->triangles) {
        rp_mesh_free(out);
        return RP_OUT_OF_MEMORY;
    }
    const double *from = s->vertices + n * a, *to = s->vertices + n * b;
    for (int64_t i = 0; i < n; i++) {
        out->vertices[i] = (1 - f) * from[i] + f * to[i];
        if (velocities)
            velocities[i] = moving ? (to[i] - from[i]) / length : 0;
    }
    memcpy(out->triangles, s->triangles, (size_t)(3 * s->triangle_count) * sizeof(int32_t));
    return RP_OK;
}

rp_result rp_mesh_sequence_mesh(const rp_mesh_sequence *s, double t, rp_mesh *out)
{
    if (!isfinite(t))
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh sequence: the time is %g; it must be finite", t);
    return interpolate(s, t, out, NULL);
}

double rp_mesh_sequence_speed(const rp_mesh_sequence *s, double from, double to)
{
    double most = 0;
    int64_t n = 3 * s->vertex_count;
    for (int a = piece(s, from); a + 1 < s->count && s->times[a] < to; a++) {
        double length = s->times[a + 1] - s->times[a];
        const double *p = s->vertices + n * a, *q = p + n;
        if (s->times[a + 1] <= from)
            continue;
        for (int64_t v = 0; v < n; v += 3)
            most = fmax(most, hypot(hypot(q[v] - p[v], q[v + 1] - p[v + 1]), q[v + 2] - p[v + 2]) / length);
    }
    return most;
}

rp_result rp_mesh_sequence_evaluate(const rp_mesh_sequence *s, double t, rp_shape **out)
{
    if (!isfinite(t))
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh sequence: the time is %g; it must be finite", t);
    double *velocities = RP_NEW_ARRAY(double, 3 * s->vertex_count);
    if (!velocities)
        return RP_OUT_OF_MEMORY;
    rp_mesh m;
    rp_result result = interpolate(s, t, &m, velocities);
    if (result != RP_OK) {
        rp__base_free(velocities);
        return result;
    }
    return rp__shape_mesh_create("mesh sequence", &m, 0, velocities, out);
}

void rp_mesh_sequence_velocity(const rp_shape *shape, const double point[3], double velocity[3])
{
    velocity[0] = velocity[1] = velocity[2] = 0;
    if (shape->type != &rp__shape_mesh_class)
        return;
    const rp__mesh_shape *s = (const rp__mesh_shape *)shape;
    rp__nearest n = { .squared = INFINITY };
    if (!s->velocities)
        return;
    rp__shape_bvh_nearest(&s->bvh, rp__vec3_load(point), &n);
    if (n.triangle < 0)
        return;
    for (int k = 0; k < 3; k++) {
        const double *v = s->velocities + 3 * (int64_t)s->mesh.triangles[3 * (int64_t)n.triangle + k];
        for (int i = 0; i < 3; i++)
            velocity[i] += n.weight[k] * v[i];
    }
}
