/* Any bytes as a frame: refused with a sentence, or read with every number within reach; `info` agrees; nothing is lost. */
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
    if (info && rp_info(path, sink & 1, &text) == RP_OK)
        rp_text_free(text);
    if (rp_memory_in_use() != before)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file_of("fuzz_frame", "vtkhdf", 0, data, size);
    if (path)
        try_file(path, fuzz_chosen(data, size, 16)); /* which reads the same once more */
    return 0;
}
