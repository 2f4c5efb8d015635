/* What costs a thousand times as much as reading is done for one input in so many, chosen by its bytes: the same input does the same again. */
#ifndef RP_BASE_FUZZ_CHOICE_H
#define RP_BASE_FUZZ_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool fuzz_chosen(const void *data, size_t size, uint32_t one_in)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 16777619u;
    return (sum ^ sum >> 16) % one_in == 0;
}

#endif
