/* Fine grains led by guides [ihmsen2012], [sommer2022]:
 *
 *     w_j = max(0, 1 - |x - x_j|² / (9 r²))³,    v~ = sum w_j v_j / sum w_j,
 *     alpha = 1 - max w where max w <= 512/729 or max w / sum w >= 0.6, and sum w < 1; else 0,
 *     v' = (1 - alpha) v~ + alpha (v + dt g),    x' = x + dt v'
 *
 * The third condition is ours: in a dense bed the pores lie farther than r from every guide, and gravity would leak into sand at
 * rest. Guides are added up in the order of their cells; those out of reach add exactly nothing, so that neither lanes nor the
 * company of a grain change its bits. */
#include "grains/follow.h"
#include "math/lane_bits.h"

#include <string.h>

enum { LANES = RP_FOLLOW_LANES };

typedef float wide __attribute__((vector_size(LANES * sizeof(float))));
typedef float any_wide __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef float eight __attribute__((vector_size(32)));
typedef float any_eight __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef int32_t eight_mask __attribute__((vector_size(32)));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(float))));

static const float near_one = 512.0f / 729.0f, alone = 0.6f;

static inline wide load(const float *p)
{
    return *(const any_wide *)p;
}

static inline void store(float *p, wide v)
{
    *(any_wide *)p = v;
}

static inline wide pick(mask m, wide a, wide b)
{
    return (wide)((m & (mask)a) | (~m & (mask)b));
}

static int cell_of(const rp__guides *g, int axis, float x)
{
    float at = (x - g->origin[axis]) * g->per_width;
    return at < 0 ? 0 : at >= (float)g->size[axis] ? g->size[axis] - 1 : (int)at;
}

void rp__grains_measure(const float *const x[3], int64_t begin, int64_t end, rp__follow_block *b)
{
    for (int d = 0; d < 3; d++) {
        float low = x[d][begin], high = low;
#pragma omp simd reduction(min : low) reduction(max : high)
        for (int64_t i = begin; i < end; i++) {
            low = x[d][i] < low ? x[d][i] : low;
            high = x[d][i] > high ? x[d][i] : high;
        }
        b->low[d] = low, b->high[d] = high;
    }
    b->measured = true;
}

/* Guides within 3 r of the box: places in units of 3 r, and velocities. */
typedef struct nearby {
    int count;
    _Alignas(32) float guide[RP_FOLLOW_NEAR][8];
} nearby;

static bool all_rest(const rp__guides *g, const rp__follow_block *b)
{
    int low[3], high[3];
    for (int d = 0; d < 3; d++)
        low[d] = cell_of(g, d, b->low[d]), high[d] = cell_of(g, d, b->high[d]);
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            const uint8_t *m = g->moving + ((int64_t)z * g->size[1] + y) * g->size[0];
            for (int x = low[0]; x <= high[0]; x++)
                if (m[x])
                    return false;
        }
    return true;
}

/* Rows of cells are runs of guides, looked at eight at a time. */
static void collect(const rp__guides *g, const rp__follow_block *b, nearby *n)
{
    const eight zero = { 0 };
    float reach2 = 9 * g->radius * g->radius, middle[3], half[3];
    int low[3], high[3], count = 0;
    for (int d = 0; d < 3; d++) {
        middle[d] = 0.5f * (b->low[d] + b->high[d]), half[d] = 0.5f * (b->high[d] - b->low[d]);
        low[d] = cell_of(g, d, b->low[d] - 3 * g->radius);
        high[d] = cell_of(g, d, b->high[d] + 3 * g->radius);
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            const int32_t *first = g->first + ((int64_t)z * g->size[1] + y) * g->size[0];
            for (int32_t q = first[low[0]], end = first[high[0] + 1]; q < end; q += 8) {
                eight e = zero;
                for (int d = 0; d < 3; d++) {
                    eight a = *(const any_eight *)(g->x[d] + q) - middle[d];
                    a = (eight)((eight_mask)a & 0x7fffffff) - half[d];
                    a = (eight)((eight_mask)a & (eight_mask)(a > zero));
                    e += a * a;
                }
                uint32_t bits = rp__lanes_bits8((rp__lanes_mask8)(e < reach2));
                bits &= end - q < 8 ? (1u << (end - q)) - 1 : 255;
                for (; bits && count < RP_FOLLOW_NEAR; bits &= bits - 1, count++)
                    memcpy(n->guide[count], g->pack[q + __builtin_ctz(bits)], sizeof *n->guide);
            }
        }
    n->count = count;
}

/* Sums over the guides of the lanes at p, in units of 3 r. */
typedef struct sums {
    wide p[3], all, most, mean[3];
} sums;

static inline void add_guide(sums *s, const float q[8])
{
    const wide zero = { 0 }, one = zero + 1;
    wide a = s->p[0] - q[0], b = s->p[1] - q[1], c = s->p[2] - q[2];
    wide w = rp__lanes_max16(one - a * a - b * b - c * c, zero);
    s->most = rp__lanes_max16(w, s->most);
    w = w * w * w;
    s->all += w;
    s->mean[0] += w * q[4];
    s->mean[1] += w * q[5];
    s->mean[2] += w * q[6];
}

/* New velocities and places of the lanes from i on; how many of the first `count` of them fall. */
static int finish(const sums *s, const rp__follow_rules *r, int64_t i, int64_t count, float *const x[3], float *const v[3])
{
    const wide zero = { 0 }, one = zero + 1;
    wide most = s->most * s->most * s->most, share = one / pick(s->all > zero, s->all, one);
    mask falls = ((most <= near_one) | (most * share >= alone)) & (s->all < r->full);
    wide alpha = pick(falls, one - most, zero);
    for (int d = 0; d < 3; d++) {
        wide u = (one - alpha) * (s->mean[d] * share) + alpha * (load(v[d] + i) + r->dt * r->gravity[d]);
        store(v[d] + i, u);
        store(x[d] + i, load(x[d] + i) + r->dt * u);
    }
    int falling = 0;
    for (int k = 0; k < LANES && k < count; k++)
        falling += alpha[k] > 0;
    return falling;
}

/* Twice the lanes at a time: the sums of one wait while those of the other go on. */
static int step_lanes(const nearby *n, const rp__guides *g, const rp__follow_rules *r, int64_t i, int64_t count, float *const x[3], float *const v[3])
{
    const wide zero = { 0 };
    float per = 1 / (3 * g->radius);
    sums a = { { load(x[0] + i) * per, load(x[1] + i) * per, load(x[2] + i) * per }, zero, zero, { zero, zero, zero } };
    int64_t j = i + LANES;
    sums b = { { load(x[0] + j) * per, load(x[1] + j) * per, load(x[2] + j) * per }, zero, zero, { zero, zero, zero } };
    for (int k = 0; k < n->count; k++) {
        add_guide(&a, n->guide[k]);
        add_guide(&b, n->guide[k]);
    }
    return finish(&a, r, i, count, x, v) + finish(&b, r, j, count - LANES, x, v);
}

bool rp__grains_follow(const rp__guides *g, const rp__follow_rules *r, rp__follow_block *b, int64_t begin, int64_t end, float *const x[3],
                       float *const v[3])
{
    if (!b->measured)
        rp__grains_measure((const float *const *)x, begin, end, b);
    bool rest = g->count == 0 || all_rest(g, b);
    if (b->still && rest)
        return false;
    nearby n;
    collect(g, b, &n);
    b->falling = 0;
    for (int64_t i = begin; i < end; i += 2 * LANES)
        b->falling += step_lanes(&n, g, r, i, end - i, x, v);
    b->still = rest;
    return true;
}

float rp__grains_follow_ref(const rp__guides *g, const rp__follow_rules *r, float x[3], float v[3])
{
    double sum = 0, most = 0, mean[3] = { 0, 0, 0 };
    for (int64_t k = 0; k < g->count; k++) {
        double square = 0;
        for (int d = 0; d < 3; d++)
            square += ((double)x[d] - (double)g->x[d][k]) * ((double)x[d] - (double)g->x[d][k]);
        double w = fmax(0, 1 - square / (9.0 * (double)g->radius * (double)g->radius));
        w = w * w * w;
        sum += w;
        most = fmax(most, w);
        for (int d = 0; d < 3; d++)
            mean[d] += w * (double)g->v[d][k];
    }
    bool falls = (most <= 512.0 / 729 || most >= 0.6 * sum) && sum < (double)r->full;
    double alpha = falls ? 1 - most : 0;
    for (int d = 0; d < 3; d++) {
        v[d] = (float)((1 - alpha) * (sum > 0 ? mean[d] / sum : 0) + alpha * ((double)v[d] + (double)r->dt * (double)r->gravity[d]));
        x[d] += r->dt * v[d];
    }
    return (float)alpha;
}
