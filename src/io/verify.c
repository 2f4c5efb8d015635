/* Whether the files of a run are as they were written. Frames end with a checksum of all bytes before it, checkpoints hold their own,
 * copies of meshes and images carry theirs in their names. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/io.h"

#include <string.h>

static const char mark[8] = "RPCRC64";

void rp__io_seal(const void *data, size_t size, unsigned char seal[RP_IO_SEAL])
{
    uint64_t checksum = rp__io_crc64(0, data, size);
    memcpy(seal, mark, sizeof mark);
    for (int i = 0; i < 8; i++)
        seal[8 + i] = (unsigned char)(checksum >> 8 * i);
}

rp_result rp__io_verify_seal(const char *path, const char *data, size_t size, bool needed)
{
    unsigned char seal[RP_IO_SEAL];
    if (size < RP_IO_SEAL || memcmp(data + size - RP_IO_SEAL, mark, sizeof mark) != 0)
        return needed ? rp__base_fail(RP_BAD_FILE, "%s has no checksum at its end: it is cut short, or was written by another program", path)
                      : RP_OK;
    rp__io_seal(data, size - RP_IO_SEAL, seal);
    return memcmp(data + size - RP_IO_SEAL, seal, RP_IO_SEAL) == 0
               ? RP_OK
               : rp__base_fail(RP_BAD_FILE, "%s does not agree with its checksum: it is damaged or was changed", path);
}

static rp_result verify_frame(const char *path)
{
    char *data = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(path, (size_t)1 << 40, &data, &size));
    rp_result result = rp__io_verify_seal(path, data, size, true);
    rp__base_free(data);
    return result;
}

typedef struct tally {
    rp__text text;
    int64_t sound, bad;
} tally;

static rp_result count(tally *t, rp_result result)
{
    if (result == RP_OK)
        t->sound++;
    if (result == RP_OK || result == RP_OUT_OF_MEMORY)
        return result;
    t->bad++;
    rp__text_append(&t->text, "%s\n", rp_last_error());
    return RP_OK;
}

static rp_result verify_frames(tally *t, const char *folder, const char *prefix)
{
    char *inside = rp__file_join(folder, RP_IO_FRAMES);
    rp__io_list list = { 0 };
    rp_result result = inside ? rp__io_list_make(&list, inside, prefix, RP_IO_FRAME_SUFFIX) : RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < list.count && result == RP_OK; i++) {
        char *path = rp__io_frame_path(folder, prefix, list.numbers[i]);
        result = path ? count(t, verify_frame(path)) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
    }
    rp__io_list_free(&list);
    rp__base_free(inside);
    return result;
}

/* A frame that is there or not. */
static rp_result verify_state(tally *t, const char *folder, const char *name)
{
    char *path = rp__file_join(folder, name);
    rp_result result = path ? RP_OK : RP_OUT_OF_MEMORY;
    if (path && rp__file_exists(path))
        result = count(t, verify_frame(path));
    rp__base_free(path);
    return result;
}

static rp_result verify_checkpoints(tally *t, const char *folder)
{
    char *inside = rp__file_join(folder, RP_IO_CHECKPOINTS);
    rp__io_list list = { 0 };
    rp_result result = inside ? rp__io_list_make(&list, inside, RP_IO_CHECKPOINT_PREFIX, RP_IO_CHECKPOINT_SUFFIX) : RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < list.count && result == RP_OK; i++) {
        char *path = rp__io_checkpoint_path(folder, list.numbers[i]);
        result = path ? count(t, rp__io_checkpoint_load(path, NULL, NULL, NULL)) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
    }
    rp__io_list_free(&list);
    rp__base_free(inside);
    return result;
}

static bool is_checkpoint(const char *path)
{
    size_t length = strlen(path), ending = strlen(RP_IO_CHECKPOINT_SUFFIX);
    return length > ending && strcmp(path + length - ending, RP_IO_CHECKPOINT_SUFFIX) == 0;
}

rp_result rp_verify(const char *path, char **report)
{
    if (!path || !report)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_verify needs a path and a place for its report");
    tally t = { .text = { 0 } };
    rp_result result = RP_OK;
    if (rp__io_is_folder(path)) {
        int files = 0;
        static const char *const prefixes[] = { RP_IO_FRAME_PREFIX, RP_IO_GRID_PREFIX, RP_IO_FIBRES_PREFIX };
        static const char *const names[] = { RP_IO_LAST, RP_IO_DUMP };
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes && result == RP_OK; k++)
            result = verify_frames(&t, path, prefixes[k]);
        for (size_t k = 0; k < sizeof names / sizeof *names && result == RP_OK; k++)
            result = verify_state(&t, path, names[k]);
        if (result == RP_OK)
            result = verify_checkpoints(&t, path);
        if (result == RP_OK)
            result = count(&t, rp__io_verify_files(path, &files));
        t.sound += files ? files - 1 : -1; /* counted as one above */
    } else {
        result = count(&t, is_checkpoint(path) ? rp__io_checkpoint_load(path, NULL, NULL, NULL) : verify_frame(path));
    }
    if (t.sound < 0)
        t.sound = 0;
    rp__text_append(&t.text, "%s: %lld files are sound", path, (long long)t.sound);
    if (t.bad)
        rp__text_append(&t.text, ", %lld are not", (long long)t.bad);
    rp__text_append_string(&t.text, "\n");
    if (result == RP_OK)
        result = rp__text_result(&t.text);
    if (result == RP_OK) {
        *report = rp__text_take(&t.text);
        if (t.bad)
            result = rp__base_fail(RP_BAD_FILE, "%s: %lld files are damaged", path, (long long)t.bad);
    }
    rp__text_free(&t.text);
    return result;
}
