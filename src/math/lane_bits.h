/* Which of eight lanes hold, as bits: the lanes of a comparison of vectors (all bits set, or none) to a mask that can be walked with
 * count-trailing-zeros. */
#ifndef RP_MATH_LANE_BITS_H
#define RP_MATH_LANE_BITS_H

#include <stdint.h>

typedef int32_t rp__lanes_mask8 __attribute__((vector_size(32)));

static inline uint32_t rp__lanes_bits8(rp__lanes_mask8 m)
{
#if defined(__AVX__)
    typedef float floats __attribute__((vector_size(32)));
    return (uint32_t)__builtin_ia32_movmskps256((floats)m);
#else
    uint32_t bits = 0;
    for (int k = 0; k < 8; k++)
        bits |= (uint32_t)(m[k] & 1) << k;
    return bits;
#endif
}

#endif
