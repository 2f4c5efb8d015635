/* Counter-based random numbers: a pure function of (seed, stream, counter), so the same whatever the thread. */
#ifndef RP_MATH_RANDOM_H
#define RP_MATH_RANDOM_H

#include "math/vec.h"

#include <stdint.h>

/* 64 random bits; passes the usual tests for any of the three arguments counting up. */
uint64_t rp__random_bits(uint64_t seed, uint64_t stream, uint64_t counter);

/* Uniform in [0, 1). */
static inline double rp__random_unit(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (double)(rp__random_bits(seed, stream, counter) >> 11) * 0x1.0p-53;
}

double rp__random_normal(uint64_t seed, uint64_t stream, uint64_t counter); /* mean 0, variance 1 */
rp__vec3 rp__random_in_ball(uint64_t seed, uint64_t stream, uint64_t counter);
rp__vec3 rp__random_on_sphere(uint64_t seed, uint64_t stream, uint64_t counter);

#endif
