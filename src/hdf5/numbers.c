/* Elements of arrays as numbers and texts of ours. */
#include "hdf5/inside.h"

#include <string.h>

static uint64_t bits_at(const unsigned char *at, unsigned width, bool big_endian)
{
    uint64_t bits = 0;
    for (unsigned k = 0; k < width; k++)
        bits |= (uint64_t)at[k] << 8 * (big_endian ? width - 1 - k : k);
    return bits;
}

static double real_of(uint64_t bits, unsigned width)
{
    double wide;
    float narrow;
    uint32_t half = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return width == 8 ? wide : narrow;
}

static int64_t clip_real(double x, int64_t low, int64_t high)
{
    if (!(x > (double)low)) /* no number at all becomes 0 */
        return x <= (double)low ? low : 0;
    return x >= (double)high ? high : (int64_t)x;
}

/* A number as the file has it: real, or an integer with or without a sign. */
typedef struct number {
    double real;
    int64_t whole; /* with a sign, and clipped where there is none */
} number;

static number number_at(const rp__hdf5_array *a, uint64_t at)
{
    uint64_t bits = bits_at(a->bytes + at * a->width, a->width, a->big_endian);
    if (a->kind == RP_HDF5_REAL) {
        double real = real_of(bits, a->width);
        return (number){ real, clip_real(real, INT64_MIN, INT64_MAX) };
    }
    if (!a->has_sign)
        return (number){ (double)bits, bits > INT64_MAX ? INT64_MAX : (int64_t)bits };
    uint64_t sign = (uint64_t)1 << (8 * a->width - 1);
    int64_t whole = (int64_t)((bits ^ sign) - sign);
    return (number){ (double)whole, whole };
}

static bool is_as_in_memory(const rp__hdf5_array *a, rp_type type)
{
    const uint16_t one = 1;
    unsigned char little;
    memcpy(&little, &one, 1);
    rp__hdf5_kind kind = type == RP_F64 || type == RP_F32 ? RP_HDF5_REAL : RP_HDF5_INTEGER;
    uint32_t width = type == RP_F64 || type == RP_I64 ? 8 : 4;
    return little && !a->big_endian && a->kind == kind && a->width == width && (kind == RP_HDF5_REAL || a->has_sign);
}

void rp__hdf5_numbers(const rp__hdf5_array *a, uint64_t first, uint64_t count, rp_type type, void *out)
{
    if (is_as_in_memory(a, type)) {
        if (count > 0)
            memcpy(out, a->bytes + first * a->width, (size_t)(count * a->width));
        return;
    }
    for (uint64_t k = 0; k < count; k++) {
        number n = number_at(a, first + k);
        switch (type) {
        case RP_F64: ((double *)out)[k] = n.real; break;
        case RP_F32: ((float *)out)[k] = (float)n.real; break;
        case RP_I64: ((int64_t *)out)[k] = n.whole; break;
        case RP_I32: ((int32_t *)out)[k] = (int32_t)(n.whole < INT32_MIN ? INT32_MIN : n.whole > INT32_MAX ? INT32_MAX : n.whole); break;
        }
    }
}

void rp__hdf5_text(const rp__hdf5_array *a, uint64_t at, char *out, size_t size)
{
    const char *text = (const char *)a->bytes + at * a->width;
    const char *end = memchr(text, '\0', a->width);
    size_t length = end ? (size_t)(end - text) : a->width;
    length = length < size - 1 ? length : size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}
