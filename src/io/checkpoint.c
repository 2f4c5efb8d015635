/* Checkpoints: a container of our own, version 1, little endian.
 *
 *   head   96 bytes  magic "REPOSECP", version, byte-order mark, file size, step, frame, time, scene size and checksum, number of
 *                    blobs, checksum of the table, size of the head, checksum of the head before it
 *   table  96 bytes a blob: name, type, count, place, checksum
 *   scene  text
 *   blobs  each at the next multiple of 64
 *
 * The place of everything follows from the counts, so a file has one form only, and no size is believed before it was compared
 * with the size of the file. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BLOBS = 65536, ALIGNMENT = 64, BYTE_ORDER_MARK = 0x01020304 };
static const char magic[8] = { 'R', 'E', 'P', 'O', 'S', 'E', 'C', 'P' };

typedef struct head {
    char magic[8];
    uint32_t version, mark;
    uint64_t file_size;
    int64_t step, frame;
    double time;
    uint64_t scene_size, scene_crc;
    uint32_t blob_count, head_size;
    uint64_t table_crc, reserved, head_crc;
} head;

typedef struct entry {
    char name[64];
    int32_t type;
    uint32_t reserved;
    int64_t count;
    uint64_t place, crc;
} entry;

_Static_assert(sizeof(head) == 96 && sizeof(entry) == 96, "the layout on disk has no gaps");

static uint64_t next_place(uint64_t end)
{
    return (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- writing ---- */

static void fill_table(const rp_state *state, uint64_t scene_size, entry *table, uint64_t *file_size)
{
    uint64_t end = sizeof(head) + (uint64_t)state->count * sizeof(entry) + scene_size;
    for (int b = 0; b < state->count; b++) {
        const rp_blob *blob = &state->blobs[b];
        size_t bytes = (size_t)blob->count * rp__io_type_size(blob->type);
        memset(&table[b], 0, sizeof table[b]);
        memcpy(table[b].name, blob->name, strlen(blob->name));
        table[b].type = (int32_t)blob->type;
        table[b].count = blob->count;
        table[b].place = next_place(end);
        table[b].crc = rp__io_crc64(0, blob->data, bytes);
        end = table[b].place + bytes;
    }
    *file_size = end;
}

static rp_result write_bytes(rp__file *file, const void *data, size_t size)
{
    if (size && fwrite(data, 1, size, file->stream) != size)
        return rp__base_fail(RP_IO_ERROR, "cannot write %s: %s", file->part, strerror(errno));
    return RP_OK;
}

static rp_result write_parts(rp__file *file, const head *h, const entry *table, const rp_state *state, const char *scene)
{
    static const char zeros[ALIGNMENT];
    RP_TRY(write_bytes(file, h, sizeof *h));
    RP_TRY(write_bytes(file, table, h->blob_count * sizeof *table));
    RP_TRY(write_bytes(file, scene, h->scene_size));
    uint64_t end = sizeof *h + h->blob_count * sizeof *table + h->scene_size;
    for (int b = 0; b < state->count; b++) {
        size_t bytes = (size_t)state->blobs[b].count * rp__io_type_size(state->blobs[b].type);
        RP_TRY(write_bytes(file, zeros, table[b].place - end));
        RP_TRY(write_bytes(file, state->blobs[b].data, bytes));
        end = table[b].place + bytes;
    }
    return RP_OK;
}

rp_result rp__io_checkpoint_save(const char *path, const rp__io_checkpoint_info *info, const rp_state *state,
                                 const char *scene_yaml)
{
    if (state->count > MAX_BLOBS)
        return rp__base_fail(RP_TOO_LARGE, "a checkpoint holds at most %d arrays, not %d", MAX_BLOBS, state->count);
    entry *table = RP_NEW_ARRAY(entry, state->count);
    if (!table)
        return RP_OUT_OF_MEMORY;
    head h = { .version = RP_IO_CHECKPOINT_VERSION, .mark = BYTE_ORDER_MARK, .step = info->step, .frame = info->frame,
               .time = info->time, .scene_size = strlen(scene_yaml), .blob_count = (uint32_t)state->count,
               .head_size = sizeof h };
    memcpy(h.magic, magic, sizeof magic);
    h.scene_crc = rp__io_crc64(0, scene_yaml, h.scene_size);
    fill_table(state, h.scene_size, table, &h.file_size);
    h.table_crc = rp__io_crc64(0, table, h.blob_count * sizeof *table);
    h.head_crc = rp__io_crc64(0, &h, offsetof(head, head_crc));
    rp__file file;
    rp_result result = rp__file_begin(&file, path);
    if (result == RP_OK) {
        result = write_parts(&file, &h, table, state, scene_yaml);
        if (result == RP_OK)
            result = rp__file_commit(&file);
        else
            rp__file_drop(&file);
    }
    rp__base_free(table);
    return result;
}

rp_result rp_checkpoint_write(const char *path, const rp_sim *sim, const char *scene_yaml)
{
    rp__io_checkpoint_info info = { .step = rp_sim_steps(sim), .frame = rp_sim_frame(sim), .time = rp_sim_time(sim) };
    rp_state state = { 0 };
    rp_result result = rp_sim_save(sim, &state);
    if (result == RP_OK)
        result = rp__io_checkpoint_save(path, &info, &state, scene_yaml);
    rp_state_free(&state);
    return result;
}

/* ---- reading ---- */

static rp_result refuse(const char *name, const char *why)
{
    return rp__base_fail(RP_BAD_FILE, "%s is a damaged checkpoint: %s", name, why);
}

/* What can be said from the head and the size of the file alone. */
static rp_result check_head(const head *h, uint64_t size, const char *name)
{
    if (size < sizeof h->magic || memcmp(h->magic, magic, sizeof magic) != 0)
        return rp__base_fail(RP_BAD_FILE, "%s is not a checkpoint of Repose", name);
    if (size < sizeof *h)
        return refuse(name, "it ends within the head");
    if (h->mark == 0x04030201u)
        return rp__base_fail(RP_BAD_FILE, "%s is a checkpoint of a machine with another byte order", name);
    if (h->version != RP_IO_CHECKPOINT_VERSION)
        return rp__base_fail(RP_BAD_FILE, "%s is a checkpoint of version %u; this program reads version %d", name,
                             (unsigned)h->version, RP_IO_CHECKPOINT_VERSION);
    if (h->head_crc != rp__io_crc64(0, h, offsetof(head, head_crc)))
        return refuse(name, "the checksum of its head is wrong");
    if (h->mark != BYTE_ORDER_MARK || h->head_size != sizeof *h || h->reserved != 0)
        return refuse(name, "its head has an unknown form");
    if (h->file_size != size)
        return rp__base_fail(RP_BAD_FILE, "%s is a damaged checkpoint: it has %llu bytes and should have %llu", name,
                             (unsigned long long)size, (unsigned long long)h->file_size);
    if (h->blob_count > MAX_BLOBS || h->scene_size > size || h->blob_count * sizeof(entry) > size - sizeof *h ||
        h->scene_size > size - sizeof *h - h->blob_count * sizeof(entry))
        return refuse(name, "its head claims more than the file holds");
    if (h->step < 0 || h->frame < 0 || !(h->time >= 0 && h->time < 1e300))
        return refuse(name, "its step, frame or time is not a number from 0");
    return RP_OK;
}

static rp_result check_entry(const entry *e, uint64_t *end, uint64_t size, const unsigned char *data, const char *name)
{
    if (!memchr(e->name, 0, sizeof e->name) || e->name[0] == '\0')
        return refuse(name, "an array has no proper name");
    if (e->type < RP_F64 || e->type > RP_I32 || e->reserved != 0)
        return rp__base_fail(RP_BAD_FILE, "%s is a damaged checkpoint: array '%s' has an unknown type", name, e->name);
    size_t width = rp__io_type_size((rp_type)e->type);
    if (e->place != next_place(*end) || e->place > size || e->count < 0 || (uint64_t)e->count > (size - e->place) / width)
        return rp__base_fail(RP_BAD_FILE, "%s is a damaged checkpoint: array '%s' lies outside the file", name, e->name);
    for (uint64_t gap = *end; gap < e->place; gap++)
        if (data[gap] != 0)
            return refuse(name, "there are bytes between its arrays");
    size_t bytes = (size_t)e->count * width;
    if (rp__io_crc64(0, data + e->place, bytes) != e->crc)
        return rp__base_fail(RP_BAD_FILE, "%s is a damaged checkpoint: the checksum of array '%s' is wrong", name, e->name);
    *end = e->place + bytes;
    return RP_OK;
}

static rp_result take_blobs(const unsigned char *data, const head *h, const char *name, rp_state *state)
{
    uint64_t end = sizeof *h + h->blob_count * sizeof(entry) + h->scene_size;
    for (uint32_t b = 0; b < h->blob_count; b++) {
        entry e;
        memcpy(&e, data + sizeof *h + b * sizeof e, sizeof e);
        RP_TRY(check_entry(&e, &end, h->file_size, data, name));
        if (state)
            RP_TRY(rp_state_add(state, e.name, (rp_type)e.type, e.count, data + e.place));
    }
    return end == h->file_size ? RP_OK : refuse(name, "there are bytes after its end");
}

static rp_result take_scene(const unsigned char *data, const head *h, const char *name, char **scene_yaml)
{
    const unsigned char *text = data + sizeof *h + h->blob_count * sizeof(entry);
    if (rp__io_crc64(0, text, h->scene_size) != h->scene_crc || memchr(text, 0, h->scene_size))
        return refuse(name, "the checksum of its scene is wrong");
    if (!scene_yaml)
        return RP_OK;
    char *copy = rp__base_alloc(h->scene_size + 1);
    if (!copy)
        return RP_OUT_OF_MEMORY;
    memcpy(copy, text, h->scene_size);
    copy[h->scene_size] = '\0';
    *scene_yaml = copy;
    return RP_OK;
}

rp_result rp__io_checkpoint_parse(const void *data, size_t size, const char *name, rp__io_checkpoint_info *info,
                                  char **scene_yaml, rp_state *state)
{
    head h = { 0 };
    memcpy(&h, data, size < sizeof h ? size : sizeof h);
    RP_TRY(check_head(&h, size, name));
    const unsigned char *bytes = data;
    if (rp__io_crc64(0, bytes + sizeof h, h.blob_count * sizeof(entry)) != h.table_crc)
        return refuse(name, "the checksum of its table is wrong");
    char *text = NULL;
    rp_state blobs = { 0 };
    rp_result result = take_scene(bytes, &h, name, scene_yaml ? &text : NULL);
    if (result == RP_OK)
        result = take_blobs(bytes, &h, name, state ? &blobs : NULL);
    if (result != RP_OK) {
        rp__base_free(text);
        rp_state_free(&blobs);
        return result == RP_BAD_ARGUMENT ? refuse(name, "two arrays have the same name") : result;
    }
    if (scene_yaml)
        *scene_yaml = text;
    if (state)
        *state = blobs;
    if (info)
        *info = (rp__io_checkpoint_info){ h.step, h.frame, h.time, (int64_t)size, (int)h.blob_count };
    return RP_OK;
}

/* Opens the file and looks at its head: nothing large is allocated for a file that does not fit its own description. */
static rp_result open_checked(const char *path, FILE **stream, size_t *size)
{
    *stream = fopen(path, "rb");
    if (!*stream)
        return rp__base_fail(errno == ENOENT ? RP_NOT_FOUND : RP_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    struct stat status;
    head h = { 0 };
    if (fstat(fileno(*stream), &status) != 0 || !S_ISREG(status.st_mode))
        return rp__base_fail(RP_BAD_FILE, "%s is not a plain file", path);
    *size = (size_t)status.st_size;
    size_t wanted = *size < sizeof h ? *size : sizeof h;
    if (fread(&h, 1, wanted, *stream) != wanted || fseek(*stream, 0, SEEK_SET) != 0)
        return rp__base_fail(RP_IO_ERROR, "cannot read %s: %s", path, strerror(errno));
    return check_head(&h, *size, path);
}

rp_result rp__io_checkpoint_load(const char *path, rp__io_checkpoint_info *info, char **scene_yaml, rp_state *state)
{
    FILE *stream = NULL;
    size_t size = 0;
    void *data = NULL;
    rp_result result = open_checked(path, &stream, &size);
    if (result == RP_OK && !(data = rp__base_alloc(size)))
        result = RP_OUT_OF_MEMORY;
    if (result == RP_OK && fread(data, 1, size, stream) != size)
        result = rp__base_fail(RP_IO_ERROR, "cannot read %s: %s", path, strerror(errno));
    if (stream)
        fclose(stream);
    if (result == RP_OK)
        result = rp__io_checkpoint_parse(data, size, path, info, scene_yaml, state);
    rp__base_free(data);
    return result;
}

rp_result rp_checkpoint_read(const char *path, char **scene_yaml, rp_state *state)
{
    return rp__io_checkpoint_load(path, NULL, scene_yaml, state);
}
