/* Cyclic redundancy checks, eight bytes at a time ("slicing"): table k moves a byte k places further.
 * Both are of the reflected kind with all ones before and after. */
#include "io/io.h"

static const uint64_t polynomial64 = 0xC96C5795D7870F42u; /* ECMA-182, reflected */
static const uint32_t polynomial32 = 0xEDB88320u;

uint64_t rp__io_crc64_ref(uint64_t crc, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ polynomial64 : crc >> 1;
    }
    return ~crc;
}

uint32_t rp__io_crc32_ref(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ polynomial32 : crc >> 1;
    }
    return ~crc;
}

static void make_tables(uint64_t table[8][256], uint64_t polynomial)
{
    for (unsigned i = 0; i < 256; i++) {
        uint64_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ polynomial : crc >> 1;
        table[0][i] = crc;
    }
    for (unsigned i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 255];
}

/* The register holds at most 64 bits, so one loop serves both widths: bytes 4 … 7 of a CRC-32 register are zero. */
static uint64_t slice(uint64_t crc, const unsigned char *bytes, size_t size, uint64_t polynomial)
{
    uint64_t table[8][256];
    make_tables(table, polynomial);
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t x = crc;
        for (int k = 0; k < 8; k++)
            x ^= (uint64_t)bytes[k] << (8 * k);
        crc = table[7][x & 255] ^ table[6][x >> 8 & 255] ^ table[5][x >> 16 & 255] ^ table[4][x >> 24 & 255] ^
              table[3][x >> 32 & 255] ^ table[2][x >> 40 & 255] ^ table[1][x >> 48 & 255] ^ table[0][x >> 56];
    }
    for (; size; size--, bytes++)
        crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 255];
    return crc;
}

uint64_t rp__io_crc64(uint64_t crc, const void *data, size_t size)
{
    if (size < 64) /* the tables cost more */
        return rp__io_crc64_ref(crc, data, size);
    return ~slice(~crc, data, size, polynomial64);
}

uint32_t rp__io_crc32(uint32_t crc, const void *data, size_t size)
{
    if (size < 64)
        return rp__io_crc32_ref(crc, data, size);
    return ~(uint32_t)slice((uint32_t)~crc, data, size, polynomial32);
}
