#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checksum: eight bytes at a time by tables, of long data in four parts side by side ---- */

static uint32_t tables[8][256];

/* Made before main, so that no thread sees half of them. */
__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        tables[0][n] = c;
    }
    for (uint32_t n = 0; n < 256; n++)
        for (int k = 1; k < 8; k++)
            tables[k][n] = tables[k - 1][n] >> 8 ^ tables[0][tables[k - 1][n] & 255];
}

static uint32_t crc_more(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t a = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = tables[7][a & 255] ^ tables[6][a >> 8 & 255] ^ tables[5][a >> 16 & 255] ^ tables[4][a >> 24] ^ tables[3][p[4]] ^
              tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
    }
    for (; size > 0; size--, p++)
        crc = tables[0][(crc ^ *p) & 255] ^ crc >> 8;
    return crc;
}

/* a b mod P, polynomials over GF(2) with the highest power in the lowest bit. */
static uint32_t product(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1) {
        sum ^= a & bit ? b : 0;
        b = b & 1 ? 0xedb88320u ^ b >> 1 : b >> 1;
    }
    return sum;
}

/* x^(8 bytes) mod P, by repeated squaring. */
static uint32_t power(size_t bytes)
{
    uint32_t result = 0x80000000u, square = 0x00800000u; /* 1, x^8 */
    for (; bytes; bytes >>= 1) {
        result = bytes & 1 ? product(result, square) : result;
        square = product(square, square);
    }
    return result;
}

/* A step waits for the table of the one before: four parts that do not know of each other keep the processor busy. The checksum of
 * AB is that of A, moved by the length of B, plus that of B. */
static uint32_t crc_long(uint32_t crc, const uint8_t *p, size_t size)
{
    enum { PARTS = 4 };
    size_t part = size / PARTS / 8 * 8;
    if (part < 4096)
        return crc_more(crc, p, size);
    uint32_t c[PARTS] = { crc };
    for (size_t at = 0; at < part; at += 8)
        for (int k = 0; k < PARTS; k++) {
            const uint8_t *q = p + (size_t)k * part + at;
            uint32_t a = c[k] ^ ((uint32_t)q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24);
            c[k] = tables[7][a & 255] ^ tables[6][a >> 8 & 255] ^ tables[5][a >> 16 & 255] ^ tables[4][a >> 24] ^ tables[3][q[4]] ^
                   tables[2][q[5]] ^ tables[1][q[6]] ^ tables[0][q[7]];
        }
    uint32_t shift = power(part);
    for (int k = 1; k < PARTS; k++)
        c[0] = product(c[0], shift) ^ c[k];
    return crc_more(c[0], p + PARTS * part, size - PARTS * part);
}

uint32_t wire_crc(const void *data, size_t size)
{
    return ~crc_long(0xffffffffu, data, size);
}

/* ---- numbers, little endian ---- */

uint8_t *wire_put(uint8_t *to, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++)
        to[k] = (uint8_t)(value >> 8 * k);
    return to + bytes;
}

static const uint8_t *take(const uint8_t *from, uint64_t *value, int bytes)
{
    *value = 0;
    for (int k = 0; k < bytes; k++)
        *value |= (uint64_t)from[k] << 8 * k;
    return from + bytes;
}

uint8_t *wire_put_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return wire_put(to, bits, 4);
}

static const uint8_t *take_float(const uint8_t *from, float *value)
{
    uint64_t wide;
    from = take(from, &wide, 4);
    uint32_t bits = (uint32_t)wide;
    memcpy(value, &bits, sizeof bits);
    return from;
}

/* ---- the header ---- */

enum { CRC_AT = 60 };
static const uint8_t magic[4] = { 'R', 'P', 'F', '1' };

size_t wire_size(const wire_header *h)
{
    size_t grain = 6 + (h->flags & (WIRE_PALETTE | WIRE_VALUE) ? 1 : 0) + (h->flags & WIRE_RADIUS ? 1 : 0) + (h->flags & WIRE_TONE ? 1 : 0);
    size_t grains = (size_t)h->count * grain;
    return WIRE_HEADER + WIRE_LOOK + (size_t)h->bodies * WIRE_BODY + (h->more ? (grains + 3) / 4 * 4 + h->more : grains);
}

void wire_write_header(const wire_header *h, uint8_t *to)
{
    uint64_t time;
    memcpy(&time, &h->time, sizeof time);
    memcpy(to, magic, 4);
    to = wire_put(wire_put(wire_put(to + 4, h->flags, 4), h->frame, 8), time, 8);
    for (int d = 0; d < 3; d++)
        to = wire_put_float(to, h->lower[d]);
    for (int d = 0; d < 3; d++)
        to = wire_put_float(to, h->size[d]);
    to = wire_put(wire_put(wire_put(wire_put(to, h->count, 4), h->bodies, 4), h->stride, 4), 0, 4);
    to = wire_put_float(wire_put_float(wire_put_float(to, h->radius), h->low), h->high);
    wire_put(wire_put(wire_put(wire_put(to, h->total, 4), h->step, 8), h->serial, 4), h->more, 4);
}

void wire_seal(uint8_t *bytes, size_t size)
{
    wire_put(bytes + CRC_AT, 0, 4);
    wire_put(bytes + CRC_AT, wire_crc(bytes, size), 4);
}

bool wire_read_header(const uint8_t *bytes, size_t size, wire_header *h)
{
    static const uint8_t zero[4] = { 0 };
    uint64_t n;
    if (size < WIRE_HEADER + WIRE_LOOK || memcmp(bytes, magic, 4) != 0)
        return false;
    const uint8_t *at = take(bytes + 4, &n, 4);
    h->flags = (uint32_t)n;
    at = take(at, &h->frame, 8);
    at = take(at, &n, 8);
    memcpy(&h->time, &n, sizeof h->time);
    for (int d = 0; d < 3; d++)
        at = take_float(at, &h->lower[d]);
    for (int d = 0; d < 3; d++)
        at = take_float(at, &h->size[d]);
    uint32_t *const words[] = { &h->count, &h->bodies, &h->stride, &h->crc };
    for (int k = 0; k < 4; k++) {
        at = take(at, &n, 4);
        *words[k] = (uint32_t)n;
    }
    at = take_float(take_float(take_float(at, &h->radius), &h->low), &h->high);
    at = take(at, &n, 4);
    h->total = (uint32_t)n;
    at = take(at, &h->step, 8);
    at = take(at, &n, 4);
    h->serial = (uint32_t)n;
    take(at, &n, 4);
    h->more = (uint32_t)n;
    if (wire_size(h) != size)
        return false;
    uint32_t crc = crc_more(0xffffffffu, bytes, CRC_AT);
    crc = crc_more(crc, zero, 4);
    return ~crc_long(crc, bytes + WIRE_HEADER, size - WIRE_HEADER) == h->crc;
}

/* ---- positions ---- */

uint16_t wire_quantise(double x, double lower, double size)
{
    double q = size > 0 ? (x - lower) / size * 65535 + 0.5 : 0;
    return q >= 65535 ? 65535 : q > 0 ? (uint16_t)q : 0;
}

double wire_restore(uint16_t q, double lower, double size)
{
    return lower + size * q / 65535;
}

/* The finaliser of SplitMix64 [steele2014]. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

bool wire_keeps(int64_t id, uint32_t stride)
{
    return stride <= 1 || (mix((uint64_t)id + 0x9e3779b97f4a7c15u) & (stride - 1)) == 0;
}

uint8_t wire_tone(int64_t id)
{
    return (uint8_t)(mix((uint64_t)id + 0x9e3779b97f4a7c15u) >> 40);
}

int wire_level(int64_t id, uint32_t stride, int most)
{
    uint64_t h = mix((uint64_t)id + 0x9e3779b97f4a7c15u) / stride; /* a power of two, of which h is a multiple */
    int level = h ? __builtin_ctzll(h) : 64;
    return level < most ? level : most;
}

uint32_t wire_stride(int64_t count, int64_t most)
{
    uint32_t stride = 1;
    while (stride < 0x40000000u && count / (int64_t)stride > most)
        stride *= 2;
    return stride;
}
