/* Any bytes as a frame, or as a file of fibres: refused with a sentence, or read with every number within reach; `info` agrees; nothing is
 * lost. Their checksum is right, or left away, or as it comes. */
#include "base/fuzz_choice.h"
#include "base/fuzz_file.h"
#include "base/memory.h"
#include "io/io.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink; /* so that what is read is read */

static void touch(const rp_field_view *view)
{
    size_t width = rp__io_type_size(view->info.type);
    for (int c = 0; c < view->info.components; c++) {
        const unsigned char *plane = (const unsigned char *)view->data + (size_t)c * (size_t)view->stride * width;
        for (size_t i = 0; i < (size_t)view->count * width; i++)
            sink ^= plane[i];
    }
}

static void try_fibres(const char *path)
{
    rp_fibres_frame fibres;
    if (rp_fibres_read(path, &fibres) != RP_OK)
        return;
    for (int64_t k = 0; k < fibres.view.first[fibres.view.count]; k++)
        sink ^= ((const unsigned char *)&fibres.view.tension[k])[0];
    for (int64_t k = 0; k < fibres.view.count; k++)
        sink ^= (unsigned char)fibres.view.kind[k];
    rp_fibres_free(&fibres);
}

static void try_file(const char *path, bool info)
{
    size_t before = rp_memory_in_use();
    rp_frame frame;
    char *text = NULL;
    rp_result result = rp_frame_read(path, &frame);
    if (result == RP_OK) {
        for (int f = 0; f < frame.field_count; f++)
            touch(&frame.fields[f]);
        for (int b = 0; b < frame.body_count; b++)
            if (strnlen(frame.body_names[b], 64) == 64)
                __builtin_trap();
        rp_frame_free(&frame);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap();
    else
        try_fibres(path);
    if (info && rp_info(path, sink & 1, &text) == RP_OK)
        rp_text_free(text);
    if (rp_memory_in_use() != before)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t inside = size >= RP_IO_SEAL && memcmp(data + size - RP_IO_SEAL, "RPCRC64", 8) == 0 ? size - RP_IO_SEAL : size;
    uint8_t *bytes = malloc(inside + RP_IO_SEAL);
    if (!bytes)
        return 0;
    memcpy(bytes, data, inside);
    rp__io_seal(bytes, inside, bytes + inside);
    if (fuzz_chosen(data, size, 16)) {
        memcpy(bytes, data, size);
        inside = size;
    } else if (fuzz_chosen(data, size, 2)) {
        inside += RP_IO_SEAL;
    }
    const char *path = fuzz_file_of("fuzz_frame", "vtkhdf", 0, bytes, inside);
    free(bytes);
    if (path)
        try_file(path, fuzz_chosen(data, size, 16)); /* which reads the same once more */
    return 0;
}
