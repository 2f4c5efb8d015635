/* What plain C vectors lack: the larger of sixteen lanes in one instruction, and which lanes hold, as bits: the lanes of a comparison of
 * vectors (all bits set, or none) to a mask that can be walked with count-trailing-zeros, or written down as a list of numbers. */
#ifndef RP_MATH_LANE_BITS_H
#define RP_MATH_LANE_BITS_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* Files that include this pass vectors to static functions alone: how wide ones travel on a machine that lacks them concerns nobody else. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

typedef float rp__lanes_float16 __attribute__((vector_size(64)));

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

/* Bit k: a[k] < b[k]. */
static inline uint32_t rp__lanes_less16(rp__lanes_float16 a, rp__lanes_float16 b)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
#else
    typedef int32_t mask __attribute__((vector_size(64)));
    mask m = a < b;
    rp__lanes_mask8 low, high;
    __builtin_memcpy(&low, &m, sizeof low);
    __builtin_memcpy(&high, (const char *)&m + sizeof low, sizeof high);
    return rp__lanes_bits8(low) | rp__lanes_bits8(high) << 8;
#endif
}

/* first + k for each bit k of sixteen, in their order; how many. Sixteen numbers may be written. */
static inline int rp__lanes_list16(uint32_t bits, int32_t first, int32_t *to)
{
    int count = __builtin_popcount(bits);
#if defined(__AVX512F__)
    const __m512i steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, _mm512_add_epi32(_mm512_set1_epi32(first), steps)));
#else
    for (; bits; bits &= bits - 1)
        *to++ = first + __builtin_ctz(bits);
#endif
    return count;
}

static inline rp__lanes_float16 rp__lanes_max16(rp__lanes_float16 a, rp__lanes_float16 b)
{
#if defined(__AVX512F__)
    return (rp__lanes_float16)_mm512_max_ps((__m512)a, (__m512)b);
#else
    typedef int32_t mask __attribute__((vector_size(64)));
    mask m = a > b;
    return (rp__lanes_float16)((m & (mask)a) | (~m & (mask)b));
#endif
}

#endif
