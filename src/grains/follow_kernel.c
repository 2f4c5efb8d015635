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

#include <string.h>

enum { LANES = RP_FOLLOW_LANES };

typedef float wide __attribute__((vector_size(LANES * sizeof(float))));
typedef float any_wide __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
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

static void bounds(const float *const x[3], int64_t begin, int64_t end, rp__follow_block *b)
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
}

/* Guides within 3 r of the box, packed; and the largest speed of the cells looked at. */
typedef struct nearby {
    int count;
    float fastest;
    float x[3][RP_FOLLOW_NEAR], v[3][RP_FOLLOW_NEAR];
} nearby;

static bool all_rest(const rp__guides *g, float slow2, const int low[3], const int high[3])
{
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            const float *f = g->fastest + ((int64_t)z * g->size[1] + y) * g->size[0];
            for (int x = low[0]; x <= high[0]; x++)
                if (!(f[x] < slow2))
                    return false;
        }
    return true;
}

static void collect(const rp__guides *g, const rp__follow_block *b, const int low[3], const int high[3], nearby *n)
{
    float reach2 = 9 * g->radius * g->radius, middle[3], half[3];
    int32_t index[RP_FOLLOW_NEAR];
    int count = 0;
    for (int d = 0; d < 3; d++)
        middle[d] = 0.5f * (b->low[d] + b->high[d]), half[d] = 0.5f * (b->high[d] - b->low[d]);
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            int64_t row = ((int64_t)z * g->size[1] + y) * g->size[0];
            for (int32_t q = g->first[row + low[0]]; q < g->first[row + high[0] + 1]; q++) {
                float e = 0;
                for (int d = 0; d < 3; d++) {
                    float a = g->x[d][q] - middle[d];
                    a = (a < 0 ? -a : a) - half[d];
                    a = a > 0 ? a : 0;
                    e += a * a;
                }
                index[count] = q;
                count += (e < reach2) & (count < RP_FOLLOW_NEAR - 1);
            }
        }
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < count; k++)
            n->x[d][k] = g->x[d][index[k]], n->v[d][k] = g->v[d][index[k]];
    n->count = count;
}

/* The lanes from i on; how many of the first `count` of them fall. */
static int step_lanes(const nearby *n, const rp__guides *g, const rp__follow_rules *r, int64_t i, int64_t count, float *const x[3], float *const v[3])
{
    const wide zero = { 0 }, one = zero + 1;
    wide p[3] = { load(x[0] + i), load(x[1] + i), load(x[2] + i) }, sum = zero, most = zero, mean[3] = { zero, zero, zero };
    float per = 1 / (9 * g->radius * g->radius);
    for (int k = 0; k < n->count; k++) {
        wide a = p[0] - n->x[0][k], b = p[1] - n->x[1][k], c = p[2] - n->x[2][k];
        wide w = one - (a * a + b * b + c * c) * per;
        w = (wide)((mask)w & (mask)(w > zero));
        w = w * w * w;
        sum += w;
        mean[0] += w * n->v[0][k];
        mean[1] += w * n->v[1][k];
        mean[2] += w * n->v[2][k];
        most = pick(w > most, w, most);
    }
    wide share = one / pick(sum > zero, sum, one);
    mask falls = ((most <= near_one) | (most * share >= alone)) & (sum < r->full);
    wide alpha = pick(falls, one - most, zero);
    for (int d = 0; d < 3; d++) {
        wide u = (one - alpha) * (mean[d] * share) + alpha * (load(v[d] + i) + r->dt * r->gravity[d]);
        store(v[d] + i, u);
        store(x[d] + i, p[d] + r->dt * u);
    }
    int falling = 0;
    for (int k = 0; k < LANES && k < count; k++)
        falling += alpha[k] > 0;
    return falling;
}

void rp__grains_follow(const rp__guides *g, const rp__follow_rules *r, rp__follow_block *b, int64_t begin, int64_t end, float *const x[3],
                       float *const v[3])
{
    int low[3], high[3];
    if (!b->still)
        bounds((const float *const *)x, begin, end, b);
    for (int d = 0; d < 3; d++) {
        low[d] = cell_of(g, d, b->low[d] - 3 * g->radius);
        high[d] = cell_of(g, d, b->high[d] + 3 * g->radius);
    }
    bool rest = g->count == 0 || all_rest(g, r->slow2, low, high);
    if (b->still && rest)
        return;
    nearby n;
    collect(g, b, low, high, &n);
    b->falling = 0;
    for (int64_t i = begin; i < end; i += LANES)
        b->falling += step_lanes(&n, g, r, i, end - i, x, v);
    b->still = rest && b->falling == 0;
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
