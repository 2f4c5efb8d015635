/* Grooms: fibres on a surface, fibres in a room, curves cut into segments. */
#include "scene/groom.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "collide/collide.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

rp_result rp__scene_strands_add(rp__strands *s, const double *nodes, int count)
{
    if (!rp__base_grow(&s->nodes, &s->node_capacity, 3 * (s->node_count + count), sizeof *s->nodes) ||
        !rp__base_grow(&s->counts, &s->count_capacity, s->count + 1, sizeof *s->counts))
        return RP_OUT_OF_MEMORY;
    memcpy(s->nodes + 3 * s->node_count, nodes, 3 * (size_t)count * sizeof *nodes);
    s->counts[s->count++] = count;
    s->node_count += count;
    return RP_OK;
}

void rp__scene_strands_free(rp__strands *s)
{
    rp__base_free(s->nodes);
    rp__base_free(s->counts);
    memset(s, 0, sizeof *s);
}

rp_result rp__scene_resample(const double *points, int count, int64_t segments, rp__strands *out)
{
    if (segments <= 0)
        return rp__scene_strands_add(out, points, count);
    double *nodes = RP_NEW_ARRAY(double, 3 * (segments + 1)), whole = 0;
    if (!nodes)
        return RP_OUT_OF_MEMORY;
    for (int i = 1; i < count; i++)
        whole += rp__vec3_norm(rp__vec3_sub(rp__vec3_load(points + 3 * i), rp__vec3_load(points + 3 * i - 3)));
    double before = 0;
    int at = 1;
    for (int64_t k = 0; k <= segments; k++) {
        double s = whole * (double)k / (double)segments, piece = 0;
        for (;; at++) {
            piece = rp__vec3_norm(rp__vec3_sub(rp__vec3_load(points + 3 * at), rp__vec3_load(points + 3 * at - 3)));
            if (s <= before + piece || at == count - 1)
                break;
            before += piece;
        }
        double t = piece > 0 ? fmin(1, (s - before) / piece) : 0;
        rp__vec3 a = rp__vec3_load(points + 3 * at - 3), b = rp__vec3_load(points + 3 * at);
        rp__vec3_store(nodes + 3 * k, rp__vec3_axpy(t, rp__vec3_sub(b, a), a));
    }
    rp_result result = rp__scene_strands_add(out, nodes, (int)segments + 1);
    rp__base_free(nodes);
    return result;
}

/* ---- grooms ---- */

static rp__vec3 in_box(const double lower[3], const double upper[3], uint64_t seed, uint64_t counter)
{
    double x[3];
    for (uint64_t a = 0; a < 3; a++)
        x[a] = lower[a] + (upper[a] - lower[a]) * rp__random_unit(seed, 100 + a, counter);
    return rp__vec3_load(x);
}

/* A point of the surface, each part of it as likely as its area: points of a thin layer about it, brought onto it. */
static bool root_of(const rp_shape *shape, const double lower[3], const double upper[3], double layer, uint64_t seed, uint64_t *counter,
                    rp__vec3 *root, rp__vec3 *normal)
{
    for (int tries = 0; tries < 100000; tries++) {
        double x[3], g[3];
        rp__vec3_store(x, in_box(lower, upper, seed, (*counter)++));
        if (fabs(rp_shape_distance(shape, x, g)) > layer)
            continue;
        for (int k = 0; k < 4; k++) {
            double d = rp_shape_distance(shape, x, g);
            for (int a = 0; a < 3; a++)
                x[a] -= d * g[a];
        }
        rp_shape_distance(shape, x, g);
        *root = rp__vec3_load(x);
        *normal = rp__vec3_unit(rp__vec3_load(g), rp__vec3_make(0, 0, 1));
        return true;
    }
    return false;
}

/* From the root along the normal, turning towards the comb, with a helix about it. */
static void grow(const rp__groom *m, rp__vec3 root, rp__vec3 normal, double radius, uint64_t id, double *nodes)
{
    uint64_t seed = (uint64_t)m->seed;
    rp__vec3 shake = rp__random_in_ball(seed, 7, id), comb = rp__vec3_load(m->comb);
    double length = m->length * (1 + m->spread * (2 * rp__random_unit(seed, 8, id) - 1)), phase = 2 * PI * rp__random_unit(seed, 9, id);
    rp__vec3 first = rp__vec3_unit(rp__vec3_axpy(tan(fmin(m->jitter, 1.5)), shake, normal), normal);
    rp__vec3 x = rp__vec3_axpy(radius, normal, root);
    for (int64_t k = 0; k <= m->segments; k++) {
        double s = (double)k / (double)m->segments;
        rp__vec3 along = rp__vec3_unit(rp__vec3_axpy(s, comb, first), first);
        rp__vec3 u = rp__vec3_unit(rp__vec3_cross(along, fabs(along.z) < 0.9 ? rp__vec3_make(0, 0, 1) : rp__vec3_make(1, 0, 0)), first);
        rp__vec3 v = rp__vec3_cross(along, u), at = x;
        double turn = m->curl_pitch > 0 ? 2 * PI * s * length / m->curl_pitch : 0, grown = fmin(1, 4 * s);
        if (m->curl_radius > 0 && m->curl_pitch > 0)
            at = rp__vec3_axpy(grown * m->curl_radius * sin(turn + phase), v, rp__vec3_axpy(grown * m->curl_radius * cos(turn + phase), u, x));
        rp__vec3_store(nodes + 3 * k, at);
        x = rp__vec3_axpy(length / (double)m->segments, along, x);
    }
}

/* What was combed into the shape is brought out of it. */
static void keep_out(const rp__groom *m, const rp_shape *shape, const rp__pose *pose, double radius, double *nodes)
{
    for (int64_t k = 1; k <= m->segments; k++) {
        double x[3], g[3];
        rp__vec3_store(x, rp__pose_inverse_apply(pose, rp__vec3_load(nodes + 3 * k)));
        double d = rp_shape_distance(shape, x, g), wanted = 1.5 * radius;
        if (d >= wanted)
            continue;
        for (int a = 0; a < 3; a++)
            x[a] += (wanted - d) * g[a];
        rp__vec3_store(nodes + 3 * k, rp__pose_apply(pose, rp__vec3_load(x)));
    }
}

rp_result rp__scene_groom(const rp__groom *m, const rp_shape *shape, const rp__pose *pose, const rp_shape *within, double radius, rp__strands *out)
{
    double lower[3], upper[3], size = 0;
    rp_shape_bounds(shape, lower, upper);
    for (int a = 0; a < 3; a++) {
        if (!isfinite(lower[a]) || !isfinite(upper[a]) || !(upper[a] > lower[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "a groom needs a shape with bounds; this one is empty or has none");
        size = fmax(size, upper[a] - lower[a]);
    }
    double layer = 0.01 * size;
    for (int a = 0; a < 3; a++)
        lower[a] -= layer, upper[a] += layer;
    double *nodes = RP_NEW_ARRAY(double, 6 * (m->segments + 1)), *guide = nodes ? nodes + 3 * (m->segments + 1) : NULL;
    if (!nodes)
        return RP_OUT_OF_MEMORY;
    uint64_t counter = 0;
    rp_result result = RP_OK;
    int64_t refused = 0;
    for (int64_t k = 0; k < m->count && result == RP_OK;) {
        rp__vec3 root, normal;
        if (!root_of(shape, lower, upper, layer, (uint64_t)m->seed, &counter, &root, &normal)) {
            result = rp__base_fail(RP_BAD_ARGUMENT, "no place for a root was found on the shape of a groom");
            break;
        }
        root = rp__pose_apply(pose, root);
        normal = rp__quat_rotate(pose->orientation, normal);
        double at[3];
        rp__vec3_store(at, root);
        if (within && rp_shape_distance(within, at, NULL) > 0) {
            if (++refused > 1000 * (k + 100)) /* of those tried so far: one that leaves nothing is told soon, however many are wanted */
                result = rp__base_fail(RP_BAD_ARGUMENT, "'within' of a groom leaves (almost) nothing of its surface");
            continue;
        }
        grow(m, root, normal, radius, (uint64_t)k, nodes);
        bool leads = m->clump_size < 2 || k % m->clump_size == 0;
        if (leads)
            memcpy(guide, nodes, 3 * (size_t)(m->segments + 1) * sizeof *nodes);
        for (int64_t i = 0; i <= m->segments && !leads && m->clump > 0; i++) {
            double t = m->clump * (double)i / (double)m->segments;
            for (int a = 0; a < 3; a++)
                nodes[3 * i + a] += t * (guide[3 * i + a] - nodes[3 * i + a]);
        }
        keep_out(m, shape, pose, radius, nodes);
        result = rp__scene_strands_add(out, nodes, (int)m->segments + 1);
        k++;
    }
    rp__base_free(nodes);
    return result;
}

/* ---- fibres in a room ---- */

rp_result rp__scene_scatter(const rp__scatter *m, const rp_shape *shape, double radius, int up, rp__strands *out)
{
    double lower[3], upper[3];
    uint64_t seed = (uint64_t)m->seed, counter = 0;
    int64_t close = 0;
    rp_shape_bounds(shape, lower, upper);
    for (int a = 0; a < 3; a++)
        if (!isfinite(lower[a]) || !isfinite(upper[a]) || !(upper[a] > lower[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "fibres can be scattered only in a shape with bounds; this one is empty or has none");
    rp__collide_capsule *placed = RP_NEW_ARRAY(rp__collide_capsule, m->count);
    double *nodes = RP_NEW_ARRAY(double, 3 * (m->segments + 1));
    rp_result result = placed && nodes ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < m->count && result == RP_OK; k++) {
        double best = -1, length = m->length * (1 + m->spread * (2 * rp__random_unit(seed, 3, (uint64_t)k) - 1));
        int tries = 0;
        for (int spins = 0; tries < 30 && spins < 100000 && best < 2 * radius; spins++) {
            double x[3];
            rp__vec3 middle = in_box(lower, upper, seed, counter++);
            rp__vec3_store(x, middle);
            if (rp_shape_distance(shape, x, NULL) > 0)
                continue;
            double turn = 2 * PI * rp__random_unit(seed, 4, counter), rise = m->tilt * (2 * rp__random_unit(seed, 5, counter) - 1), d[3] = { 0 };
            d[up == 0 ? 1 : 0] = cos(turn) * cos(rise);
            d[up == 2 ? 1 : 2] = sin(turn) * cos(rise);
            d[up] = sin(rise);
            rp__vec3 half = rp__vec3_scale(0.5 * length, rp__vec3_load(d));
            rp__collide_capsule c = { rp__vec3_sub(middle, half), rp__vec3_add(middle, half), radius };
            double least = INFINITY, s, t;
            for (int64_t j = 0; j < k; j++)
                least = fmin(least, rp__collide_segments(c.p, c.q, placed[j].p, placed[j].q, &s, &t));
            if (sqrt(least) > best) {
                best = sqrt(least);
                placed[k] = c;
            }
            tries++;
        }
        if (best < 0) {
            result = rp__base_fail(RP_BAD_ARGUMENT, "no place was found in the shape in which fibres are to be scattered");
            break;
        }
        close += best < 2 * radius;
        for (int64_t i = 0; i <= m->segments; i++)
            rp__vec3_store(nodes + 3 * i, rp__vec3_axpy((double)i / (double)m->segments, rp__vec3_sub(placed[k].q, placed[k].p), placed[k].p));
        result = rp__scene_strands_add(out, nodes, (int)m->segments + 1);
    }
    if (result == RP_OK && close > 0)
        RP_WARN("%lld of %lld scattered fibres begin inside others; they will be pushed apart", (long long)close, (long long)m->count);
    rp__base_free(placed);
    rp__base_free(nodes);
    return result;
}
