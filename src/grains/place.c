/* New samples. */
#include "exec/exec.h"
#include "grains/grains.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

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

void rp__grains_place(const rp__obstacles *o, const rp__carriers *c, int64_t p, int64_t k, const double root[6], double margin,
                      double x[3], uint8_t *tone)
{
    const rp_samples_def *def = c->def;
    uint64_t stream = stream_of(c, p);
    rp__vec3 b = rp__random_in_ball(def->seed ^ 0x73616d706c65, stream, (uint64_t)k);
    if (def->dim == 2) {
        double r = sqrt(rp__random_unit(def->seed ^ 0x73616d32, stream, 2 * (uint64_t)k));
        double a = 6.28318530717958647692 * rp__random_unit(def->seed ^ 0x73616d32, stream, 2 * (uint64_t)k + 1);
        b = rp__vec3_make(r * cos(a), r * sin(a), 0);
    }
    double home[3] = { c->x[0][p], c->x[1][p], c->x[2][p] };
    x[0] = home[0] + root[0] * b.x + root[3] * b.y + root[4] * b.z;
    x[1] = home[1] + root[3] * b.x + root[1] * b.y + root[5] * b.z;
    x[2] = home[2] + root[4] * b.x + root[5] * b.y + root[2] * b.z;
    rp__grains_keep_out(o, margin, home, x);
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

typedef struct seeding {
    const rp__carriers *carriers;
    const rp__obstacles *obstacles;
    const rp_samples *samples;
    double margin;
} seeding;

static void seed_particles(void *context, int64_t begin, int64_t end, int worker)
{
    const seeding *g = context;
    const rp_samples *s = g->samples;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        double inverse[6], root[6], x[3];
        rp__grains_ellipsoid_ref(g->carriers, p, inverse, root);
        for (int64_t k = s->first[p]; k < s->first[p + 1]; k++) {
            rp__grains_place(g->obstacles, g->carriers, p, k - s->first[p], root, g->margin, x, &s->tone[k]);
            for (int d = 0; d < 3; d++)
                s->offset[3 * k + d] = rp__grains_pack(x[d] - g->carriers->x[d][p], s->scale);
        }
    }
}

static rp_result seed(const rp_samples_def *def, const rp_frame *frame, const rp__carriers *c, rp_samples *s)
{
    *s = (rp_samples){ .particles = c->count, .frame = frame->index, .scale = 1.5 * fmax(c->reach, 1e-300) };
    s->unit_volume = mean_volume(c) / def->per_particle;
    s->frame_sum = rp_samples_frame_sum(frame);
    s->first = rp__base_alloc_zero(sizeof *s->first * (size_t)(c->count + 1));
    if (!s->first)
        return RP_OUT_OF_MEMORY;
    for (int64_t p = 0; p < c->count; p++)
        s->first[p + 1] = s->first[p] + rp__grains_wanted(c, p, s->unit_volume, def->seed);
    s->count = s->first[c->count];
    s->offset = RP_NEW_ARRAY(int16_t, 3 * s->count + 3);
    s->tone = RP_NEW_ARRAY(uint8_t, s->count + 1);
    if (!s->offset || !s->tone)
        return RP_OUT_OF_MEMORY;
    rp__obstacles o;
    RP_TRY(rp__grains_obstacles(def, frame, &o));
    seeding g = { c, &o, s, rp__grains_margin(def, s->unit_volume) };
    rp__exec_for(c->count, 256, seed_particles, &g);
    rp__grains_obstacles_free(&o);
    return RP_OK;
}

rp_result rp_samples_seed(const rp_samples_def *def, const rp_frame *frame, rp_samples *out)
{
    RP_TRY(check_def(def));
    rp__carriers c;
    RP_TRY(rp__grains_carriers(def, frame, RP_GRAINS_ELLIPSOIDS, &c));
    rp_samples s;
    rp_result result = seed(def, frame, &c, &s);
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
    rp__base_free(s->place);
    rp__base_free(s->velocity);
    memset(s, 0, sizeof *s);
}

void rp_samples_positions(const rp_samples *s, const rp_frame *frame, int64_t begin, int64_t end, double *x, double *y, double *z)
{
    const rp_field_view *view = rp_frame_field(frame, "position");
    if (!view || view->info.type != RP_F64)
        return;
    const double *p = view->data;
    int64_t n = 0;
    for (int64_t k = s->first[begin]; k < s->first[end] && s->place; k++, n++)
        x[n] = (double)s->place[3 * k], y[n] = (double)s->place[3 * k + 1], z[n] = (double)s->place[3 * k + 2];
    if (s->place)
        return;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = s->first[i]; k < s->first[i + 1]; k++, n++) {
            x[n] = p[i] + rp__grains_unpack(s->offset[3 * k], s->scale);
            y[n] = p[view->stride + i] + rp__grains_unpack(s->offset[3 * k + 1], s->scale);
            z[n] = p[2 * view->stride + i] + rp__grains_unpack(s->offset[3 * k + 2], s->scale);
        }
}
