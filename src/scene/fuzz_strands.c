/* Files of strands from hostile bytes: the first byte tells the kind of file. Read or refused with a sentence, and all memory given back.
 * Seeds: tests/fuzz/strands. */
#include "base/fuzz_file.h"
#include "base/memory.h"
#include "scene/groom.h"

#include <repose/repose.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = { "obj", "csv", "npz" };
    const char *path = size > 1 << 16 ? NULL : fuzz_file("fuzz_strands", endings, 3, data, size);
    if (!path)
        return 0;
    size_t before = rp_memory_in_use();
    rp__strands strands = { 0 };
    if (rp__scene_read_strands(path, 0.01, 10000, &strands) != RP_OK && rp_last_error()[0] == '\0')
        __builtin_trap();
    rp__scene_strands_free(&strands);
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
