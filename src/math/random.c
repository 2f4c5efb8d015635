#include "math/random.h"

__extension__ typedef unsigned __int128 uint128;

#define TWO_PI 6.28318530717958647693

typedef struct pair {
    uint64_t low, high;
} pair;

/* Philox 2×64 with ten rounds: a keyed bijection of 128-bit counters   [salmon2011, §3.3].
 * A round is (l, r) -> (hi(M l) ^ key ^ r, lo(M l)), and the key grows by the golden ratio. */
static pair philox(uint64_t key, pair c)
{
    for (int round = 0; round < 10; round++) {
        uint128 product = (uint128)UINT64_C(0xD2B74407B1CE6E93) * c.low;
        c = (pair){ (uint64_t)(product >> 64) ^ key ^ c.high, (uint64_t)product };
        key += UINT64_C(0x9E3779B97F4A7C15);
    }
    return c;
}

static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1.0p-53;
}

uint64_t rp__random_bits(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return philox(seed, (pair){ counter, stream }).low;
}

/* Box-Muller, with 1 - u in (0, 1] under the logarithm. */
double rp__random_normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
    pair p = philox(seed, (pair){ counter, stream });
    return sqrt(-2 * log(1 - to_unit(p.low))) * cos(TWO_PI * to_unit(p.high));
}

/* The height of a uniform point on the sphere is uniform. */
rp__vec3 rp__random_on_sphere(uint64_t seed, uint64_t stream, uint64_t counter)
{
    pair p = philox(seed, (pair){ counter, stream });
    double z = 2 * to_unit(p.low) - 1, angle = TWO_PI * to_unit(p.high);
    double r = sqrt(fmax(0, (1 - z) * (1 + z)));
    return rp__vec3_make(r * cos(angle), r * sin(angle), z);
}

rp__vec3 rp__random_in_ball(uint64_t seed, uint64_t stream, uint64_t counter)
{
    /* the radius comes from another key, so that it is independent of the direction */
    double u = to_unit(rp__random_bits(seed ^ UINT64_C(0x5851F42D4C957F2D), stream, counter));
    return rp__vec3_scale(cbrt(u), rp__random_on_sphere(seed, stream, counter));
}
