/* Samples of a pixel: points that are even within a pixel, and whose errors are even over neighbouring pixels. */
#include "math/random.h"
#include "render/internal.h"

#include <string.h>

/* ---- blue noise by void and cluster ---- */

enum { REACH = 7 };

static void splat(float *energy, int side, int x, int y, float sign)
{
    for (int dy = -REACH; dy <= REACH; dy++)
        for (int dx = -REACH; dx <= REACH; dx++) {
            int px = (x + dx) & (side - 1), py = (y + dy) & (side - 1);
            energy[py * side + px] += sign * expf(-(float)(dx * dx + dy * dy) / (2 * 1.5f * 1.5f));
        }
}

/* The pixel of largest (with = 1) or least (with = 0) energy among those with (without) a point. */
static int extreme(const float *energy, const uint8_t *has, int n, int with)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (has[i] == with && (best < 0 || (with ? energy[i] > energy[best] : energy[i] < energy[best])))
            best = i;
    return best;
}

static void flip(float *energy, uint8_t *has, int side, int i)
{
    has[i] = !has[i];
    splat(energy, side, i % side, i / side, has[i] ? 1.0f : -1.0f);
}

/* `side` is a power of two of at most RP_RENDER_MASK. */
void rp__render_blue_noise(uint16_t *rank, int side, float *energy)
{
    uint8_t has[RP_RENDER_MASK * RP_RENDER_MASK] = { 0 }, start[RP_RENDER_MASK * RP_RENDER_MASK];
    int n = side * side, points = n / 10;
    memset(energy, 0, sizeof *energy * (size_t)n);
    for (uint64_t k = 0, placed = 0; (int)placed < points; k++) {
        int i = (int)(rp__random_unit(0x6e6f697365, 1, k) * n);
        if (!has[i])
            flip(energy, has, side, i), placed++;
    }
    for (int moves = 0; moves < 4 * n; moves++) { /* tightest cluster to the largest void until nothing changes */
        int from = extreme(energy, has, n, 1);
        flip(energy, has, side, from);
        int to = extreme(energy, has, n, 0);
        flip(energy, has, side, to);
        if (from == to)
            break;
    }
    memcpy(start, has, sizeof start);
    for (int r = points - 1; r >= 0; r--) {
        int i = extreme(energy, has, n, 1);
        flip(energy, has, side, i);
        rank[i] = (uint16_t)r;
    }
    memset(energy, 0, sizeof *energy * (size_t)n);
    memset(has, 0, sizeof has);
    for (int i = 0; i < n; i++)
        if (start[i])
            flip(energy, has, side, i);
    for (int r = points; r < n; r++) {
        int i = extreme(energy, has, n, 0);
        flip(energy, has, side, i);
        rank[i] = (uint16_t)r;
    }
}

/* ---- points within a pixel: Sobol's first two dimensions under random nested scrambling ---- */

/* Flips each bit by a random choice that depends on the bits above it (Owen's scrambling). */
static uint32_t scramble(uint32_t v, uint64_t seed, uint64_t stream)
{
    uint32_t out = 0;
    for (int bit = 31; bit >= 12; bit--) {
        uint64_t prefix = ((uint64_t)1 << 40 | (uint64_t)bit << 34) ^ (bit == 31 ? 0 : (uint64_t)v >> (bit + 1));
        out |= ((v >> bit ^ (uint32_t)(rp__random_bits(seed, stream, prefix) & 1)) & 1) << bit;
    }
    return out | ((uint32_t)rp__random_bits(seed, stream, v) & 0xfff);
}

static void sobol(uint32_t index, uint32_t v[2])
{
    uint32_t direction = 0x80000000u;
    v[0] = v[1] = 0;
    for (int k = 0; index; k++, index >>= 1, direction ^= direction >> 1)
        if (index & 1) {
            v[0] ^= 0x80000000u >> k;
            v[1] ^= direction;
        }
}

static void fill_pair(rp__render_sampler *r, int pair, uint64_t seed)
{
    float *p = r->points + 2 * (size_t)pair * (size_t)r->samples;
    for (int s = 0; s < r->samples; s++) {
        uint32_t v[2];
        sobol((uint32_t)s, v);
        for (int k = 0; k < 2; k++)
            p[2 * s + k] = (float)(scramble(v[k], seed, (uint64_t)(2 * pair + k)) >> 8) * 0x1.0p-24f;
    }
    for (int s = r->samples - 1; s > 0; s--) { /* the pairs of a sample must not be tied to each other */
        int o = (int)(rp__random_unit(seed, 1000 + (uint64_t)pair, (uint64_t)s) * (s + 1));
        for (int k = 0; k < 2; k++) {
            float t = p[2 * s + k];
            p[2 * s + k] = p[2 * o + k];
            p[2 * o + k] = t;
        }
    }
}

rp_result rp__render_sampler_create(rp__render_sampler *sampler, int samples, uint64_t seed)
{
    memset(sampler, 0, sizeof *sampler);
    sampler->samples = samples;
    sampler->points = RP_NEW_ARRAY(float, (size_t)2 * RP_PAIRS * (size_t)samples);
    sampler->mask = RP_NEW_ARRAY(uint16_t, RP_RENDER_MASK * RP_RENDER_MASK);
    float *energy = RP_NEW_ARRAY(float, RP_RENDER_MASK * RP_RENDER_MASK);
    if (!sampler->points || !sampler->mask || !energy) {
        rp__base_free(energy);
        rp__render_sampler_free(sampler);
        return RP_OUT_OF_MEMORY;
    }
    rp__render_blue_noise(sampler->mask, RP_RENDER_MASK, energy);
    rp__base_free(energy);
    for (int pair = 0; pair < RP_PAIRS; pair++) {
        fill_pair(sampler, pair, seed);
        for (int k = 0; k < 4; k++)
            sampler->shift[pair][k] = (uint8_t)(rp__random_bits(seed, 2000, (uint64_t)(4 * pair + k)) % RP_RENDER_MASK);
    }
    return RP_OK;
}

void rp__render_sampler_free(rp__render_sampler *sampler)
{
    rp__base_free(sampler->points);
    rp__base_free(sampler->mask);
    memset(sampler, 0, sizeof *sampler);
}
