/* Samples made by upsampling: from frames alone, so that it works for runs of any method whose particles are balls, while they go on
 * or afterwards. They have places and velocities of their own; the owner of a sample is the nearest particle, and lends its colour. */
#include "exec/exec.h"
#include "grains/follow.h"
#include "math/quat.h"

#include <string.h>

#define RATE 60.0 /* steps a second of the grains, at least */

static rp_result planes_of(const rp_frame *frame, const char *name, const double *planes[3])
{
    const rp_field_view *view = rp_frame_field(frame, name);
    if (!view || view->info.type != RP_F64 || view->info.components < 3)
        return rp__base_fail(RP_BAD_FILE, "frame %lld has no field '%s' of three numbers", (long long)frame->index, name);
    for (int d = 0; d < 3; d++)
        planes[d] = (const double *)view->data + d * view->stride;
    return RP_OK;
}

static rp_result ids_of(const rp_frame *frame, const int64_t **ids)
{
    const rp_field_view *view = rp_frame_field(frame, "id");
    if (!view || view->info.type != RP_I64)
        return rp__base_fail(RP_BAD_FILE, "frame %lld has no ids: particles cannot be followed", (long long)frame->index);
    *ids = view->data;
    return RP_OK;
}

/* Index in the frame of each id up to the largest, -1 for none. */
static rp_result index_ids(const rp_frame *frame, int32_t **index, int64_t *most)
{
    const int64_t *ids;
    RP_TRY(ids_of(frame, &ids));
    *most = 0;
    for (int64_t i = 0; i < frame->count; i++) {
        if (ids[i] < 0 || ids[i] > (int64_t)1 << 32)
            return rp__base_fail(RP_BAD_FILE, "frame %lld has the id %lld, which no run gives", (long long)frame->index, (long long)ids[i]);
        *most = ids[i] > *most ? ids[i] : *most;
    }
    *index = RP_NEW_ARRAY(int32_t, *most + 1);
    if (!*index)
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k <= *most; k++)
        (*index)[k] = -1;
    for (int64_t i = 0; i < frame->count; i++)
        (*index)[ids[i]] = (int32_t)i;
    return RP_OK;
}

/* The mean radius of particles that are balls. */
rp_result rp_upsample_guide_radius(const rp_frame *frame, double *radius)
{
    const rp_field_view *volume = rp_frame_field(frame, "volume");
    double sum = 0;
    if (!volume || volume->info.type != RP_F64 || frame->count == 0)
        return rp__base_fail(RP_BAD_FILE, "frame %lld has no volumes of particles to take a radius from", (long long)frame->index);
    for (int64_t i = 0; i < frame->count; i++)
        sum += ((const double *)volume->data)[i];
    sum /= (double)frame->count;
    *radius = frame->dim == 2 ? sqrt(sum / 3.141592653589793) : cbrt(sum / 4.1887902047863905);
    return RP_OK;
}

/* ---- owners ---- */

typedef struct owning {
    const rp_upsample *u;
    const double *x[3];
    rp__cells cells;
    int32_t *owner;
} owning;

static void own_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const owning *w = context;
    const float *x[3];
    (void)worker;
    rp_upsample_view(w->u, x, NULL, NULL);
    const double *base = rp__grains_upsample_base(w->u);
    for (int64_t i = begin; i < end; i++) {
        double p[3] = { base[0] + (double)x[0][i], base[1] + (double)x[1][i], base[2] + (double)x[2][i] }, best = INFINITY;
        for (int ring = 1; ring < 64 && !(best < INFINITY); ring *= 2) {
            int64_t low[3], high[3];
            for (int d = 0; d < 3; d++) {
                low[d] = rp__grains_cell(&w->cells, d, p[d] - ring * w->cells.width);
                high[d] = rp__grains_cell(&w->cells, d, p[d] + ring * w->cells.width);
            }
            for (int64_t z = low[2]; z <= high[2]; z++)
                for (int64_t y = low[1]; y <= high[1]; y++) {
                    int64_t row = w->cells.size[0] * (y + w->cells.size[1] * z);
                    for (int64_t k = w->cells.first[row + low[0]]; k < w->cells.first[row + high[0] + 1]; k++) {
                        int32_t j = w->cells.items[k];
                        double a = p[0] - w->x[0][j], b = p[1] - w->x[1][j], c = p[2] - w->x[2][j], d2 = a * a + b * b + c * c;
                        if (d2 < best)
                            best = d2, w->owner[i] = j;
                    }
                }
        }
    }
}

/* The state of the grains as samples of the frame. */
static rp_result as_samples(const rp_upsample *u, const rp_upsample_def *def, const rp_frame *frame, rp_samples *s)
{
    owning w = { .u = u };
    int64_t n = rp_upsample_count(u);
    const float *x[3], *v[3];
    const uint8_t *tone;
    const double *base = rp__grains_upsample_base(u);
    *s = (rp_samples){ .particles = frame->count, .frame = frame->index, .scale = 1, .frame_sum = rp_samples_frame_sum(frame) };
    double r = def->radius;
    s->unit_volume = def->room.dim == 2 ? 3.141592653589793 * r * r : 4.1887902047863905 * r * r * r;
    s->count = frame->count ? n : 0;
    s->first = rp__base_alloc_zero(sizeof *s->first * (size_t)(frame->count + 1));
    s->offset = rp__base_alloc_zero(6 * (size_t)s->count + 6);
    s->tone = RP_NEW_ARRAY(uint8_t, s->count + 1);
    s->place = RP_NEW_ARRAY(float, 3 * s->count + 3);
    s->velocity = RP_NEW_ARRAY(float, 3 * s->count + 3);
    w.owner = rp__base_alloc_zero(sizeof *w.owner * (size_t)(n + 1));
    rp_result result = s->first && s->offset && s->tone && s->place && s->velocity && w.owner ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && s->count) {
        result = planes_of(frame, "position", w.x);
        if (result == RP_OK)
            result = rp__grains_cells(w.x, NULL, frame->count, 2 * def->guide_radius, &w.cells);
    }
    if (result == RP_OK && s->count) {
        rp__exec_for(n, 4096, own_chunk, &w);
        rp_upsample_view(u, x, v, &tone);
        for (int64_t i = 0; i < n; i++)
            s->first[w.owner[i] + 1]++;
        for (int64_t p = 0; p < frame->count; p++)
            s->first[p + 1] += s->first[p];
        for (int64_t i = 0; i < n; i++) {
            int64_t to = s->first[w.owner[i]]++;
            s->tone[to] = tone[i];
            for (int d = 0; d < 3; d++) {
                s->place[3 * to + d] = (float)(base[d] + (double)x[d][i]);
                s->velocity[3 * to + d] = v[d][i];
            }
        }
        for (int64_t p = frame->count; p > 0; p--)
            s->first[p] = s->first[p - 1];
        s->first[0] = 0;
        rp__grains_cells_free(&w.cells);
    }
    rp__base_free(w.owner);
    return result;
}

/* ---- from frame to frame ---- */

static rp_result seed(const rp_upsample_def *def, const rp_grains_def *grains, int count, const rp_frame *frame, rp_upsample *u)
{
    const double *x[3], *v[3];
    const int64_t *ids;
    RP_TRY(planes_of(frame, "position", x));
    RP_TRY(planes_of(frame, "velocity", v));
    RP_TRY(ids_of(frame, &ids));
    for (int g = 0; g < count; g++)
        RP_TRY(rp_upsample_fill(u, grains[g].shape, frame));
    for (int64_t i = 0; i < frame->count; i++) { /* those from elsewhere bring their own */
        double at[3] = { x[0][i], x[1][i], x[2][i] }, speed[3] = { v[0][i], v[1][i], v[2][i] };
        bool inside = false;
        for (int g = 0; g < count && !inside; g++)
            inside = rp_shape_distance(grains[g].shape, at, NULL) <= 0;
        if (!inside)
            RP_TRY(rp__grains_upsample_add(u, at, speed, ids[i], frame));
    }
    (void)def;
    return RP_OK;
}

rp_result rp_samples_fine_seed(const rp_upsample_def *def, const rp_grains_def *grains, int grains_count, const rp_frame *frame, rp_samples *out)
{
    rp_upsample *u = NULL;
    rp_samples s = { 0 };
    RP_TRY(rp_upsample_create(def, &u));
    rp_result result = seed(def, grains, grains_count, frame, u);
    if (result == RP_OK)
        result = as_samples(u, def, frame, &s);
    rp_upsample_destroy(u);
    if (result != RP_OK)
        rp_samples_free(&s);
    else
        *out = s;
    return result;
}

/* The farthest that a corner of a body went from one frame to the next. */
static double bodies_moved(const rp_upsample_def *def, const rp_frame *before, const rp_frame *after)
{
    double most = 0;
    for (int b = 0; b < def->room.body_count && b < before->body_count && b < after->body_count; b++) {
        const rp_body_state *p = &before->bodies[b], *q = &after->bodies[b];
        double low[3], high[3];
        if (!q->present)
            continue;
        if (!p->present || !def->room.bodies[b])
            return INFINITY;
        rp_shape_bounds(def->room.bodies[b], low, high);
        rp__pose from = { rp__vec3_load(p->position), { p->orientation[0], p->orientation[1], p->orientation[2], p->orientation[3] } };
        rp__pose to = { rp__vec3_load(q->position), { q->orientation[0], q->orientation[1], q->orientation[2], q->orientation[3] } };
        for (int k = 0; k < 8; k++) {
            rp__vec3 c = { k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2] };
            double way = rp__vec3_norm(rp__vec3_sub(rp__pose_apply(&to, c), rp__pose_apply(&from, c)));
            most = memcmp(&from, &to, sizeof from) == 0 ? most : fmax(most, isfinite(way) ? way : INFINITY);
        }
    }
    return most;
}

typedef struct journey {
    double *x[3], *v[3], *all;
    int64_t count;
} journey;

/* Particles that are in both frames: where they were, and their mean velocity. */
static rp_result pair_up(const rp_frame *before, const rp_frame *after, double dt, journey *j)
{
    const double *from[3], *to[3];
    const int64_t *ids;
    int32_t *index = NULL;
    int64_t most;
    RP_TRY(planes_of(before, "position", from));
    RP_TRY(planes_of(after, "position", to));
    RP_TRY(ids_of(before, &ids));
    RP_TRY(index_ids(after, &index, &most));
    j->all = RP_NEW_ARRAY(double, 6 * before->count + 6);
    if (!j->all) {
        rp__base_free(index);
        return RP_OUT_OF_MEMORY;
    }
    for (int d = 0; d < 3; d++)
        j->x[d] = j->all + d * before->count, j->v[d] = j->all + (3 + d) * before->count;
    for (int64_t i = 0; i < before->count; i++) {
        int32_t next = ids[i] >= 0 && ids[i] <= most ? index[ids[i]] : -1;
        if (next < 0)
            continue;
        for (int d = 0; d < 3; d++) {
            j->x[d][j->count] = from[d][i];
            j->v[d][j->count] = (to[d][next] - from[d][i]) / dt;
        }
        j->count++;
    }
    rp__base_free(index);
    return RP_OK;
}

static rp_result add_new(rp_upsample *u, const rp_frame *before, const rp_frame *after)
{
    const double *x[3], *v[3];
    const int64_t *ids, *old;
    int64_t newest = -1;
    RP_TRY(planes_of(after, "position", x));
    RP_TRY(planes_of(after, "velocity", v));
    RP_TRY(ids_of(after, &ids));
    RP_TRY(ids_of(before, &old));
    for (int64_t i = 0; i < before->count; i++)
        newest = old[i] > newest ? old[i] : newest;
    for (int64_t i = 0; i < after->count; i++) {
        double at[3] = { x[0][i], x[1][i], x[2][i] }, speed[3] = { v[0][i], v[1][i], v[2][i] };
        if (ids[i] > newest) /* ids count up: whoever is new has a larger one */
            RP_TRY(rp__grains_upsample_add(u, at, speed, ids[i], after));
    }
    return RP_OK;
}

static rp_result travel(rp_upsample *u, const rp_upsample_def *def, const rp_frame *before, const rp_frame *after)
{
    double time = after->time - before->time;
    journey j = { 0 };
    if (!(time > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "frames %lld and %lld are not in the order of time", (long long)before->index, (long long)after->index);
    rp_result result = pair_up(before, after, time, &j);
    int steps = (int)ceil(time * RATE - 1e-6);
    double dt = time / steps, moved = bodies_moved(def, before, after);
    for (int k = 0; k < steps && result == RP_OK; k++) {
        rp_guides g = { j.count, { j.x[0], j.x[1], j.x[2] }, { j.v[0], j.v[1], j.v[2] } };
        result = rp_upsample_step(u, &g, after, moved, dt);
        for (int d = 0; d < 3; d++)
            for (int64_t i = 0; i < j.count; i++)
                j.x[d][i] += dt * j.v[d][i];
    }
    rp__base_free(j.all);
    return result == RP_OK ? add_new(u, before, after) : result;
}

rp_result rp_samples_fine_advance(const rp_upsample_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after,
                                  rp_samples *out)
{
    rp_upsample *u = NULL;
    rp_samples s = { 0 };
    if (samples->count && (!samples->place || !samples->velocity))
        return rp__base_fail(RP_BAD_ARGUMENT, "these samples were not made by upsampling");
    RP_TRY(rp_upsample_create(def, &u));
    rp_result result = rp__grains_upsample_load(u, samples);
    if (result == RP_OK)
        result = travel(u, def, before, after);
    if (result == RP_OK)
        result = as_samples(u, def, after, &s);
    rp_upsample_destroy(u);
    if (result != RP_OK)
        rp_samples_free(&s);
    else
        *out = s;
    return result;
}
