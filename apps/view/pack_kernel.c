/* The loops of packing that see every grain: planes in, bytes out, by lanes. */
#include "protocol.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 };

/* Three planes of a block to x y z x y z …, little endian. */
static void interleave(uint16_t q[3][BLOCK], int64_t count, uint8_t *to)
{
    uint16_t out[3 * BLOCK];
    for (int64_t k = 0; k < count; k++)
        out[3 * k] = q[0][k], out[3 * k + 1] = q[1][k], out[3 * k + 2] = q[2][k];
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int64_t k = 0; k < 3 * count; k++)
        out[k] = (uint16_t)(out[k] << 8 | out[k] >> 8);
#endif
    memcpy(to, out, (size_t)count * 6);
}

/* What is not a number becomes 0, as in wire_quantise: both comparisons are false for it. */
#define QUANTISE(type)                                                                      \
    for (int64_t begin = 0; begin < count; begin += BLOCK) {                                \
        uint16_t q[3][BLOCK];                                                               \
        int64_t n = count - begin < BLOCK ? count - begin : BLOCK;                          \
        for (int d = 0; d < 3; d++) {                                                       \
            const type *p = x[d] + begin, add = (type)shift[d], times = (type)factor[d];    \
            for (int64_t k = 0; k < n; k++) {                                               \
                type v = (p[k] + add) * times + (type)0.5;                                  \
                v = v > 0 ? v : 0;                                                          \
                v = v < 65535 ? v : 65535;                                                  \
                q[d][k] = (uint16_t)(int32_t)v;                                             \
            }                                                                               \
        }                                                                                   \
        interleave(q, n, to + 6 * begin);                                                   \
    }

void wire_quantise_single(const float *const x[3], const double shift[3], const double factor[3], int64_t count, uint8_t *to)
{
    QUANTISE(float)
}

void wire_quantise_double(const double *const x[3], const double shift[3], const double factor[3], int64_t count, uint8_t *to)
{
    QUANTISE(double)
}

/* Eight at a time; the last ones alone. */
#define WIDEN(type)                                                                         \
    enum { LANES = 16 };                                                                    \
    type a[LANES], b[LANES];                                                                \
    for (int l = 0; l < LANES; l++)                                                         \
        a[l] = (type)1e30, b[l] = (type)-1e30;                                              \
    int64_t whole = count - count % LANES;                                                  \
    for (int64_t i = 0; i < whole; i += LANES)                                              \
        for (int l = 0; l < LANES; l++) {                                                   \
            type v = x[i + l], under = v > (type)-1e30 ? v : (type)1e30, over = v < (type)1e30 ? v : (type)-1e30; \
            a[l] = under < a[l] ? under : a[l];                                             \
            b[l] = over > b[l] ? over : b[l];                                               \
        }                                                                                   \
    for (int64_t i = whole; i < count; i++) {                                               \
        a[0] = x[i] > (type)-1e30 && x[i] < a[0] ? x[i] : a[0];                             \
        b[0] = x[i] < (type)1e30 && x[i] > b[0] ? x[i] : b[0];                              \
    }                                                                                       \
    for (int l = 0; l < LANES; l++) {                                                       \
        *low = (double)a[l] < *low ? (double)a[l] : *low;                                   \
        *high = (double)b[l] > *high ? (double)b[l] : *high;                                \
    }

void wire_widen_single(const float *x, int64_t count, double *low, double *high)
{
    WIDEN(float)
}

void wire_widen_double(const double *x, int64_t count, double *low, double *high)
{
    WIDEN(double)
}

/* y <- (2 y + v / y²) / 3 from a guess by the bits of v, good to a few per cent: 3 steps are enough for single precision. */
void wire_roots(const double *volume, int64_t count, int dim, float *r)
{
    if (dim == 2) {
        for (int64_t i = 0; i < count; i++)
            r[i] = volume[i] > 0 ? (float)sqrt(volume[i]) : 0;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float v = (float)volume[i], y;
        bool good = v > 1e-36f && v < 1e36f;
        v = good ? v : 1;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        bits = bits / 3 + 0x2a5137a0u; /* log2 is nearly linear in the bits */
        memcpy(&y, &bits, sizeof y);
        for (int k = 0; k < 3; k++)
            y = (2 * y + v / (y * y)) * (1.0f / 3);
        r[i] = good ? y : 0;
    }
}
