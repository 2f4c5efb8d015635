/* Any bytes as a picture: refused with a sentence, or read; nothing is lost. */
#include "base/memory.h"
#include "shape/image.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t before = rp_memory_in_use();
    rp__shape_image image;
    if (rp__shape_image_decode("picture", (const char *)data, size, &image) == RP_OK) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < image.width * image.height; i++)
            sum += image.grey[i];
        if (image.width < 1 || image.height < 1 || (sum == 1 && image.grey[0] > 1))
            __builtin_trap();
        rp__base_free(image.grey);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap();
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
