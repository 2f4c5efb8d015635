/* Files of samples: a header, the number of samples of each particle, offsets and tones, a checksum. Little-endian. */
#include "base/file.h"
#include "grains/grains.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { VERSION = 1, FINE = 2 /* with places and velocities in place of offsets */ };

typedef struct header {
    char magic[8];
    uint32_t version, bytes_of_header;
    int64_t particles, count, frame;
    double scale, unit_volume;
    uint64_t frame_sum;
} header;

static const char magic[8] = { 'R', 'P', 'S', 'A', 'M', 'P', 'L', '\n' };

/* FNV-1a over 64-bit words, with a turn so that high bits reach low ones. */
uint64_t rp__grains_mix(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *p = data;
    while (size > 0) {
        uint64_t word = 0;
        size_t n = size < 8 ? size : 8;
        memcpy(&word, p, n);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
        p += n, size -= n;
    }
    return sum;
}

uint64_t rp_samples_frame_sum(const rp_frame *frame)
{
    const rp_field_view *x = rp_frame_field(frame, "position");
    uint64_t sum = rp__grains_mix(0xcbf29ce484222325u, &frame->time, sizeof frame->time);
    for (int d = 0; d < 3 && x && x->info.type == RP_F64; d++)
        sum = rp__grains_mix(sum, (const double *)x->data + d * x->stride, sizeof(double) * (size_t)x->count);
    return sum;
}

static bool put(FILE *stream, const void *data, size_t size, uint64_t *sum)
{
    *sum = rp__grains_mix(*sum, data, size);
    return size == 0 || fwrite(data, 1, size, stream) == size;
}

rp_result rp_samples_write(const rp_samples *s, const char *path)
{
    rp__file file;
    header h = { .version = s->place ? FINE : VERSION, .bytes_of_header = sizeof h, .particles = s->particles, .count = s->count,
                 .frame = s->frame, .scale = s->scale, .unit_volume = s->unit_volume, .frame_sum = s->frame_sum };
    uint64_t sum = 0xcbf29ce484222325u;
    uint16_t counts[4096];
    memcpy(h.magic, magic, sizeof magic);
    RP_TRY(rp__file_begin(&file, path));
    bool fine = put(file.stream, &h, sizeof h, &sum);
    for (int64_t i = 0; i < s->particles && fine; i += 4096) {
        int64_t n = s->particles - i < 4096 ? s->particles - i : 4096;
        for (int64_t k = 0; k < n; k++)
            counts[k] = (uint16_t)(s->first[i + k + 1] - s->first[i + k]);
        fine = put(file.stream, counts, (size_t)n * sizeof *counts, &sum);
    }
    if (s->place)
        fine = fine && put(file.stream, s->place, (size_t)s->count * 12, &sum) && put(file.stream, s->velocity, (size_t)s->count * 12, &sum);
    else
        fine = fine && put(file.stream, s->offset, (size_t)s->count * 6, &sum);
    fine = fine && put(file.stream, s->tone, (size_t)s->count, &sum) && fwrite(&sum, sizeof sum, 1, file.stream) == 1;
    if (!fine) {
        rp_result result = rp__base_fail(RP_IO_ERROR, "cannot write the samples %s: %s", path, strerror(errno));
        rp__file_drop(&file);
        return result;
    }
    return rp__file_commit(&file);
}

static bool take(FILE *stream, void *data, size_t size, uint64_t *sum)
{
    if (size > 0 && fread(data, 1, size, stream) != size)
        return false;
    *sum = rp__grains_mix(*sum, data, size);
    return true;
}

static rp_result damaged(const char *path, const char *what)
{
    return rp__base_fail(RP_BAD_FILE, "%s is not a sound file of samples: %s", path, what);
}

static rp_result check_header(const header *h, const char *path, int64_t size)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return damaged(path, "it begins differently");
    if ((h->version != VERSION && h->version != FINE) || h->bytes_of_header != sizeof *h)
        return damaged(path, "it has another version");
    if (h->particles < 0 || h->count < 0 || h->particles > INT32_MAX || h->count > (int64_t)1 << 40 ||
        size != (int64_t)sizeof *h + 2 * h->particles + (h->version == FINE ? 25 : 7) * h->count + 8)
        return damaged(path, "its length is not what its header says");
    if (!isfinite(h->scale) || !(h->scale > 0) || !isfinite(h->unit_volume) || h->unit_volume < 0)
        return damaged(path, "its scale is no length");
    return RP_OK;
}

static rp_result read_counts(FILE *stream, rp_samples *s, const char *path, uint64_t *sum)
{
    uint16_t counts[4096];
    s->first[0] = 0;
    for (int64_t i = 0; i < s->particles; i += 4096) {
        int64_t n = s->particles - i < 4096 ? s->particles - i : 4096;
        if (!take(stream, counts, (size_t)n * sizeof *counts, sum))
            return damaged(path, "it is cut short");
        for (int64_t k = 0; k < n; k++)
            s->first[i + k + 1] = s->first[i + k] + counts[k];
    }
    return s->first[s->particles] == s->count ? RP_OK : damaged(path, "its counts do not add up");
}

static rp_result read_stream(FILE *stream, const char *path, rp_samples *s)
{
    header h;
    uint64_t sum = 0xcbf29ce484222325u, stored = 0;
    int64_t size = fseeko(stream, 0, SEEK_END) == 0 ? (int64_t)ftello(stream) : -1;
    if (size < 0 || fseeko(stream, 0, SEEK_SET) != 0 || !take(stream, &h, sizeof h, &sum))
        return damaged(path, "it is cut short");
    RP_TRY(check_header(&h, path, size));
    s->particles = h.particles, s->count = h.count, s->frame = h.frame;
    s->scale = h.scale, s->unit_volume = h.unit_volume, s->frame_sum = h.frame_sum;
    s->first = RP_NEW_ARRAY(int64_t, h.particles + 1);
    s->offset = RP_NEW_ARRAY(int16_t, 3 * h.count + 3);
    s->tone = RP_NEW_ARRAY(uint8_t, h.count + 1);
    if (!s->first || !s->offset || !s->tone)
        return RP_OUT_OF_MEMORY;
    RP_TRY(read_counts(stream, s, path, &sum));
    bool fine = h.version == FINE;
    if (fine) {
        memset(s->offset, 0, (size_t)s->count * 6);
        s->place = RP_NEW_ARRAY(float, 3 * h.count + 3);
        s->velocity = RP_NEW_ARRAY(float, 3 * h.count + 3);
        if (!s->place || !s->velocity)
            return RP_OUT_OF_MEMORY;
        if (!take(stream, s->place, (size_t)s->count * 12, &sum) || !take(stream, s->velocity, (size_t)s->count * 12, &sum))
            return damaged(path, "it is cut short");
        for (int64_t k = 0; k < 3 * s->count; k++)
            if (!isfinite(s->place[k]) || !isfinite(s->velocity[k]))
                return damaged(path, "a place is no number");
    }
    if ((!fine && !take(stream, s->offset, (size_t)s->count * 6, &sum)) || !take(stream, s->tone, (size_t)s->count, &sum) ||
        fread(&stored, sizeof stored, 1, stream) != 1)
        return damaged(path, "it is cut short");
    return stored == sum ? RP_OK : damaged(path, "its checksum is wrong");
}

rp_result rp_samples_read(const char *path, rp_samples *out)
{
    rp_samples s = { 0 };
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return rp__base_fail(errno == ENOENT ? RP_NOT_FOUND : RP_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    rp_result result = read_stream(stream, path, &s);
    fclose(stream);
    if (result != RP_OK)
        rp_samples_free(&s);
    else
        *out = s;
    return result;
}
