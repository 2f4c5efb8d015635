/* Narrow bands kept on disk, named by what they were made from. A file appears whole or not at all; a damaged one is not
 * believed and made again. Whatever fails here costs time, never a result. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 1, PATH = 4096 };
#define LARGEST ((size_t)1 << 32)

static atomic_flag busy = ATOMIC_FLAG_INIT;
static char chosen[PATH]; /* by rp_shape_cache_folder */
static enum { BY_DEFAULT, CHOSEN, NONE } choice;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

rp_result rp_shape_cache_folder(const char *folder)
{
    if (folder && strlen(folder) >= PATH)
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh cache: the path of the folder has more than %d bytes", (int)PATH);
    lock();
    choice = folder ? CHOSEN : NONE;
    strcpy(chosen, folder ? folder : "");
    unlock();
    return RP_OK;
}

/* The folder, or false when there is to be no cache. */
static bool find_folder(char path[PATH])
{
    lock();
    int how = choice;
    strcpy(path, chosen);
    unlock();
    if (how != BY_DEFAULT)
        return how == CHOSEN;
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (base && base[0] == '/')
        length = snprintf(path, PATH, "%s/repose", base);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH, "%s/.cache/repose", home);
    else
        return false;
    return length > 0 && length < PATH;
}

static bool file_of(rp__mesh_hash hash, char path[PATH])
{
    char folder[PATH];
    if (!find_folder(folder))
        return false;
    int length = snprintf(path, PATH, "%s/%016llx%016llx.band", folder, (unsigned long long)hash.a, (unsigned long long)hash.b);
    return length > 0 && length < PATH;
}

/* ---- hashes ---- */

static void mix(rp__mesh_hash *h, uint64_t word)
{
    h->a = (h->a ^ word) * 0x9fb21c651e98df25u;
    h->a ^= h->a >> 29;
    h->b = (h->b + word) * 0xd6e8feb86659fd93u;
    h->b ^= h->b >> 32;
}

static void mix_bytes(rp__mesh_hash *h, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        mix(h, word);
    }
    uint64_t rest = size;
    for (size_t i = 0; i < size; i++)
        rest = rest << 8 | bytes[i];
    mix(h, rest);
}

rp__mesh_hash rp__shape_mesh_hash(const rp_mesh *mesh, double h)
{
    rp__mesh_hash hash = { 0x243f6a8885a308d3u, 0x13198a2e03707344u };
    mix(&hash, FORMAT);
    mix(&hash, (uint64_t)mesh->vertex_count);
    mix(&hash, (uint64_t)mesh->triangle_count);
    mix_bytes(&hash, &h, sizeof h);
    mix_bytes(&hash, mesh->vertices, (size_t)mesh->vertex_count * 3 * sizeof(double));
    mix_bytes(&hash, mesh->triangles, (size_t)mesh->triangle_count * 3 * sizeof(int32_t));
    return hash;
}

/* ---- files ---- */

/* Before the arrays; in the byte order of the machine, which `order` tells. */
typedef struct header {
    char magic[8];
    uint32_t format, order;
    rp__mesh_hash source, content; /* content: of the header with zeros here, and the arrays */
    double origin[3], h;
    int64_t cells[3], block_count, trusted;
} header;

typedef struct sizes {
    size_t coarse, blocks, fine;
} sizes;

static bool sizes_of(const header *h, sizes *s)
{
    int64_t nodes = 1, all = 1;
    for (int i = 0; i < 3; i++) {
        if (h->cells[i] < 1 || h->cells[i] > 4096)
            return false;
        nodes *= h->cells[i] + 1;
        all *= h->cells[i];
    }
    if (h->block_count < 0 || h->block_count > all)
        return false;
    *s = (sizes){ (size_t)nodes * sizeof(float), (size_t)all * sizeof(int32_t), (size_t)h->block_count * RP_BAND_NODES * sizeof(float) };
    return true;
}

static rp__mesh_hash content_hash(header h, const void *coarse, const void *blocks, const void *fine, const sizes *s)
{
    rp__mesh_hash hash = { 1, 2 };
    h.content = (rp__mesh_hash){ 0, 0 };
    mix_bytes(&hash, &h, sizeof h);
    mix_bytes(&hash, coarse, s->coarse);
    mix_bytes(&hash, blocks, s->blocks);
    mix_bytes(&hash, fine, s->fine);
    return hash;
}

static const char magic[8] = { 'R', 'P', 'B', 'A', 'N', 'D', '\n', 0 };

static bool unpack(const char *data, size_t size, rp__mesh_hash hash, rp__band *band)
{
    header h;
    sizes s;
    if (size < sizeof h)
        return false;
    memcpy(&h, data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.format != FORMAT || h.order != 0x01020304 || h.source.a != hash.a ||
        h.source.b != hash.b || !sizes_of(&h, &s) || size != sizeof h + s.coarse + s.blocks + s.fine)
        return false;
    const char *coarse = data + sizeof h, *blocks = coarse + s.coarse, *fine = blocks + s.blocks;
    rp__mesh_hash content = content_hash(h, coarse, blocks, fine, &s);
    if (content.a != h.content.a || content.b != h.content.b)
        return false;
    rp__band b = { .origin = rp__vec3_load(h.origin), .h = h.h, .block_count = h.block_count, .trusted = h.trusted != 0 };
    for (int i = 0; i < 3; i++)
        b.cells[i] = (int32_t)h.cells[i];
    b.coarse = rp__base_alloc(s.coarse);
    b.blocks = rp__base_alloc(s.blocks);
    b.fine = rp__base_alloc(s.fine);
    if (!b.coarse || !b.blocks || !b.fine) {
        rp__shape_band_free(&b);
        return false;
    }
    memcpy(b.coarse, coarse, s.coarse);
    memcpy(b.blocks, blocks, s.blocks);
    memcpy(b.fine, fine, s.fine);
    for (size_t i = 0; i < s.blocks / sizeof(int32_t); i++)
        if (b.blocks[i] < -1 || b.blocks[i] >= b.block_count) {
            rp__shape_band_free(&b);
            return false;
        }
    *band = b;
    return true;
}

bool rp__shape_cache_load(rp__mesh_hash hash, rp__band *band)
{
    char path[PATH], *data = NULL;
    size_t size = 0;
    if (!file_of(hash, path) || !rp__file_exists(path))
        return false;
    if (rp__file_read(path, LARGEST, &data, &size) != RP_OK)
        return false;
    bool good = unpack(data, size, hash, band);
    if (!good)
        RP_WARN("the cached distances %s are damaged; they are made again", path);
    rp__base_free(data);
    return good;
}

static rp_result write_file(const char *path, const header *h, const rp__band *band, const sizes *s)
{
    /* a name of its own, so that two programs at once do not write into each other's file */
    char own[PATH + 32];
    snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
    rp__file file;
    RP_TRY(rp__file_begin(&file, own));
    bool written = fwrite(h, sizeof *h, 1, file.stream) == 1 && fwrite(band->coarse, 1, s->coarse, file.stream) == s->coarse &&
                   fwrite(band->blocks, 1, s->blocks, file.stream) == s->blocks && fwrite(band->fine, 1, s->fine, file.stream) == s->fine;
    if (!written) {
        rp__file_drop(&file);
        return rp__base_fail(RP_IO_ERROR, "cannot write %s", own);
    }
    RP_TRY(rp__file_commit(&file));
    if (rename(own, path) != 0) {
        unlink(own);
        return rp__base_fail(RP_IO_ERROR, "cannot rename to %s", path);
    }
    return RP_OK;
}

void rp__shape_cache_store(rp__mesh_hash hash, const rp__band *band)
{
    char path[PATH], folder[PATH];
    if (!find_folder(folder) || !file_of(hash, path))
        return;
    header h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.format = FORMAT, h.order = 0x01020304;
    h.source = hash;
    rp__vec3_store(h.origin, band->origin);
    h.h = band->h;
    for (int i = 0; i < 3; i++)
        h.cells[i] = band->cells[i];
    h.block_count = band->block_count, h.trusted = band->trusted;
    sizes s;
    if (!sizes_of(&h, &s))
        return;
    h.content = content_hash(h, band->coarse, band->blocks, band->fine, &s);
    if (rp__file_make_folder(folder) != RP_OK || write_file(path, &h, band, &s) != RP_OK)
        RP_INFO("the distances of a mesh were not cached: %s", rp_last_error());
}
