/* New samples, and where samples may not be. */
#include "grains/grains.h"

#include "math/quat.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

double rp__grains_margin(const rp_samples_def *def, double unit_volume)
{
    double bulk = unit_volume / def->volume_fraction;
    return 0.5 * (def->dim == 2 ? sqrt(bulk) : cbrt(bulk));
}

/* ---- walls and bodies ---- */

static void hold_in_domain(const rp_samples_def *def, double margin, double x[3])
{
    for (int d = 0; d < def->dim; d++) {
        double low = def->lower[d] + margin, high = def->upper[d] - margin;
        if (!def->open[2 * d] && x[d] < low)
            x[d] = low;
        if (!def->open[2 * d + 1] && x[d] > high)
            x[d] = high;
    }
}

static double body_distance(const rp_shape *shape, const rp_body_state *s, const double x[3], double gradient[3])
{
    rp__pose pose = { rp__vec3_load(s->position), { s->orientation[0], s->orientation[1], s->orientation[2], s->orientation[3] } };
    double local[3], g[3] = { 0, 0, 0 };
    rp__vec3_store(local, rp__pose_inverse_apply(&pose, rp__vec3_load(x)));
    double d = rp_shape_distance(shape, local, g);
    rp__vec3_store(gradient, rp__quat_rotate(pose.orientation, rp__vec3_load(g)));
    return d;
}

/* The smallest distance to a body, and its gradient. */
static double nearest_body(const rp_samples_def *def, const rp_frame *frame, const double x[3], double gradient[3])
{
    double nearest = INFINITY;
    for (int b = 0; b < def->body_count && b < frame->body_count; b++) {
        double g[3];
        if (!def->bodies[b] || !frame->bodies[b].present)
            continue;
        double d = body_distance(def->bodies[b], &frame->bodies[b], x, g);
        if (d < nearest) {
            nearest = d;
            memcpy(gradient, g, sizeof g);
        }
    }
    return nearest;
}

/* From x in a body back towards its owner, to the last point that is outside: it never comes out on the other side. */
static void retreat(const rp_samples_def *def, const rp_frame *frame, const double home[3], double x[3])
{
    double from[3], good = 0, bad = 1, g[3];
    memcpy(from, x, sizeof from);
    for (int k = 0; k < 10; k++) {
        double t = 0.5 * (good + bad);
        for (int e = 0; e < 3; e++)
            x[e] = home[e] + t * (from[e] - home[e]);
        if (nearest_body(def, frame, x, g) >= 0)
            good = t;
        else
            bad = t;
    }
    for (int e = 0; e < 3; e++)
        x[e] = home[e] + good * (from[e] - home[e]);
}

void rp__grains_keep_out(const rp_samples_def *def, const rp_frame *frame, double margin, const double home[3], double x[3])
{
    double g[3], before[3];
    hold_in_domain(def, margin, x);
    if (def->body_count == 0)
        return;
    double d = nearest_body(def, frame, x, g);
    if (d < 0) {
        retreat(def, frame, home, x);
        hold_in_domain(def, margin, x);
        d = nearest_body(def, frame, x, g);
    }
    if (d >= margin || d < 0) /* below 0: the owner is inside itself */
        return;
    memcpy(before, x, sizeof before);
    for (int e = 0; e < def->dim; e++)
        x[e] += (margin - d) * g[e];
    hold_in_domain(def, margin, x);
    if (nearest_body(def, frame, x, g) < 0) /* a narrow place */
        memcpy(x, before, sizeof before);
}

/* ---- seeding ---- */

static uint64_t stream_of(const rp__carriers *c, int64_t p)
{
    return (uint64_t)c->id[p] * 2 + 1;
}

int64_t rp__grains_wanted(const rp__carriers *c, int64_t p, double unit_volume, uint64_t seed)
{
    double n = c->volume[p] / unit_volume, u = rp__random_unit(seed ^ 0x77616e746564, stream_of(c, p), 0);
    if (!(n > 0))
        return 0;
    return n > 60000 ? 60000 : (int64_t)(n + u); /* the part beyond the whole number by chance */
}

void rp__grains_place(const rp_samples_def *def, const rp__carriers *c, const rp_frame *frame, int64_t p, int64_t k,
                      double margin, double x[3], uint8_t *tone)
{
    uint64_t stream = stream_of(c, p);
    rp__vec3 b = rp__random_in_ball(def->seed ^ 0x73616d706c65, stream, (uint64_t)k);
    if (def->dim == 2) {
        double r = sqrt(rp__random_unit(def->seed ^ 0x73616d32, stream, 2 * (uint64_t)k));
        double a = 6.28318530717958647692 * rp__random_unit(def->seed ^ 0x73616d32, stream, 2 * (uint64_t)k + 1);
        b = rp__vec3_make(r * cos(a), r * sin(a), 0);
    }
    const float *m = c->root + 6 * p;
    double home[3] = { c->x[0][p], c->x[1][p], c->x[2][p] };
    x[0] = home[0] + (double)m[0] * b.x + (double)m[3] * b.y + (double)m[4] * b.z;
    x[1] = home[1] + (double)m[3] * b.x + (double)m[1] * b.y + (double)m[5] * b.z;
    x[2] = home[2] + (double)m[4] * b.x + (double)m[5] * b.y + (double)m[2] * b.z;
    rp__grains_keep_out(def, frame, margin, home, x);
    *tone = (uint8_t)(rp__random_bits(def->seed ^ 0x746f6e65, stream, (uint64_t)k) >> 32);
}

static rp_result check_def(const rp_samples_def *def)
{
    if (!(def->per_particle > 0 && def->per_particle <= 60000))
        return rp__base_fail(RP_BAD_ARGUMENT, "%g samples a particle; right is above 0 and up to 60000", def->per_particle);
    if (!(def->volume_fraction > 0 && def->volume_fraction <= 1) || (def->dim != 2 && def->dim != 3))
        return rp__base_fail(RP_BAD_ARGUMENT, "samples need a volume fraction in (0, 1] and dimension 2 or 3");
    return RP_OK;
}

static double mean_volume(const rp__carriers *c)
{
    double sum = 0;
    for (int64_t i = 0; i < c->count; i++)
        sum += c->volume[i];
    return c->count ? sum / (double)c->count : 0;
}

rp_result rp_samples_seed(const rp_samples_def *def, const rp_frame *frame, rp_samples *out)
{
    RP_TRY(check_def(def));
    rp__carriers c;
    RP_TRY(rp__grains_carriers(def, frame, RP_GRAINS_ROOTS, &c));
    rp_samples s = { .particles = c.count, .frame = frame->index, .scale = 1.5 * fmax(c.reach, 1e-300) };
    s.unit_volume = mean_volume(&c) / def->per_particle;
    s.frame_sum = rp_samples_frame_sum(frame);
    s.first = rp__base_alloc_zero(sizeof *s.first * (size_t)(c.count + 1));
    rp_result result = s.first ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t p = 0; p < c.count && result == RP_OK; p++)
        s.first[p + 1] = s.first[p] + rp__grains_wanted(&c, p, s.unit_volume, def->seed);
    if (result == RP_OK) {
        s.count = s.first[c.count];
        s.offset = RP_NEW_ARRAY(int16_t, 3 * s.count + 3);
        s.tone = RP_NEW_ARRAY(uint8_t, s.count + 1);
        result = s.offset && s.tone ? RP_OK : RP_OUT_OF_MEMORY;
    }
    double margin = rp__grains_margin(def, s.unit_volume);
    for (int64_t p = 0; p < c.count && result == RP_OK; p++)
        for (int64_t k = s.first[p]; k < s.first[p + 1]; k++) {
            double x[3];
            rp__grains_place(def, &c, frame, p, k - s.first[p], margin, x, &s.tone[k]);
            for (int d = 0; d < 3; d++)
                s.offset[3 * k + d] = rp__grains_pack(x[d] - c.x[d][p], s.scale);
        }
    rp__grains_carriers_free(&c);
    if (result != RP_OK)
        rp_samples_free(&s);
    else
        *out = s;
    return result;
}

void rp_samples_free(rp_samples *s)
{
    rp__base_free(s->first);
    rp__base_free(s->offset);
    rp__base_free(s->tone);
    memset(s, 0, sizeof *s);
}

void rp_samples_positions(const rp_samples *s, const rp_frame *frame, int64_t begin, int64_t end, double *x, double *y, double *z)
{
    const rp_field_view *view = rp_frame_field(frame, "position");
    if (!view || view->info.type != RP_F64)
        return;
    const double *p = view->data;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = s->first[i]; k < s->first[i + 1]; k++, n++) {
            x[n] = p[i] + rp__grains_unpack(s->offset[3 * k], s->scale);
            y[n] = p[view->stride + i] + rp__grains_unpack(s->offset[3 * k + 1], s->scale);
            z[n] = p[2 * view->stride + i] + rp__grains_unpack(s->offset[3 * k + 2], s->scale);
        }
}
