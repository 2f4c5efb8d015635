/* Any bytes as a file of samples, as they are and with the head, the length and the checksum made right, so that what stands behind
 * them is reached: refused with a sentence, or samples that add up; nothing is lost. */
#include "base/fuzz_file.h"
#include "grains/grains.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 64, PARTICLES = 16, COUNT = 24, SCALE = 40, VOLUME = 48, MOST = 1 << 16 };

static void try_bytes(const uint8_t *data, size_t size)
{
    rp_samples samples;
    const char *path = fuzz_file_of("fuzz_samples", "bin", 0, data, size);
    if (!path)
        return;
    size_t before = rp_memory_in_use();
    if (rp_samples_read(path, &samples) == RP_OK) {
        for (int64_t i = 0; i < samples.particles; i++)
            if (samples.first[i + 1] < samples.first[i] || samples.first[i + 1] > samples.count)
                __builtin_trap();
        rp_samples_free(&samples);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap();
    if (rp_memory_in_use() != before)
        __builtin_trap();
}

/* The scale is a length but for one input in sixteen. */
static void make_scale(uint8_t *bytes)
{
    double scale;
    memcpy(&scale, bytes + SCALE, sizeof scale);
    if (bytes[COUNT] % 16 != 7 && !(scale > 0 && scale < 1e300))
        memcpy(bytes + SCALE, &(double){ 0.01 }, sizeof scale);
    memcpy(&scale, bytes + VOLUME, sizeof scale);
    if (bytes[COUNT] % 16 != 9 && !(scale >= 0 && scale < 1e300))
        memset(bytes + VOLUME, 0, sizeof scale);
}

/* The sum goes over head, counts (in blocks of 4096), offsets or places and velocities, and tones, each for itself. Both versions of the file. */
static size_t seal(uint8_t *bytes, size_t size)
{
    static const unsigned char start[16] = { 'R', 'P', 'S', 'A', 'M', 'P', 'L', '\n', 0, 0, 0, 0, HEAD, 0, 0, 0 };
    uint8_t version = bytes[8] & 1 ? 1 : 2;
    memcpy(bytes, start, sizeof start);
    bytes[8] = version;
    make_scale(bytes);
    int64_t particles = bytes[PARTICLES], count = 0;
    while (HEAD + 2 * (size_t)particles > size)
        particles--;
    for (int64_t i = 0; i < particles; i++) {
        uint16_t n = bytes[HEAD + 2 * i] % 8; /* few, so that a small file holds them */
        memcpy(bytes + HEAD + 2 * i, &n, sizeof n);
        count += n;
    }
    const size_t parts[3] = { version == 1 ? 6 : 12, version == 1 ? 0 : 12, 1 }; /* bytes of a sample in each array */
    size_t all = HEAD + 2 * (size_t)particles + (parts[0] + parts[1] + parts[2]) * (size_t)count;
    if (all + 8 > MOST)
        return 0;
    if (all > size)
        memset(bytes + size, 0, all - size);
    int64_t told = count + (bytes[COUNT] == 77); /* now and then they do not add up */
    memcpy(bytes + PARTICLES, &particles, sizeof particles);
    memcpy(bytes + COUNT, &told, sizeof told);
    uint8_t *p = bytes + HEAD + 2 * particles;
    uint64_t sum = rp__grains_mix(0xcbf29ce484222325u, bytes, HEAD);
    if (particles > 0)
        sum = rp__grains_mix(sum, bytes + HEAD, 2 * (size_t)particles);
    for (int k = 0; k < 3; p += parts[k++] * (size_t)count)
        sum = rp__grains_mix(sum, p, parts[k] * (size_t)count);
    memcpy(bytes + all, &sum, sizeof sum);
    return all + 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MOST + 16];
    try_bytes(data, size);
    if (size < HEAD || size > MOST / 2)
        return 0;
    memcpy(bytes, data, size);
    size_t sealed = seal(bytes, size);
    if (sealed > 0)
        try_bytes(bytes, sealed);
    return 0;
}
