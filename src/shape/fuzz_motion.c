/* Any bytes as a motion script: it is refused or it computes, always ends, and gives the same pose twice. */
#include <repose/memory.h>
#include <repose/shape.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *source = malloc(size + 1);
    if (!source)
        return 0;
    if (size > 0)
        memcpy(source, data, size);
    source[size] = '\0';
    size_t before = rp_memory_in_use();
    rp_motion *motion = NULL;
    if (rp_motion_expression(source, &motion) == RP_OK) {
        for (int i = 0; i < 3; i++) {
            double a[7], b[7];
            rp_result first = rp_motion_pose(motion, 0.5 * i, a, a + 3), second = rp_motion_pose(motion, 0.5 * i, b, b + 3);
            if (first != second || (first == RP_OK && memcmp(a, b, sizeof a) != 0))
                __builtin_trap();
        }
        rp_motion_release(motion);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap(); /* a refusal without a sentence */
    if (rp_memory_in_use() != before)
        __builtin_trap();
    free(source);
    return 0;
}
