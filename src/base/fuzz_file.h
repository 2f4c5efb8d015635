/* A file from the bytes of a fuzzer, in the folder in which it runs; the first byte chooses its ending. */
#ifndef RP_BASE_FUZZ_FILE_H
#define RP_BASE_FUZZ_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static inline bool fuzz_file(const char *name, const char *const *endings, int count, const uint8_t *data, size_t size, char path[64])
{
    if (size < 1)
        return false;
    snprintf(path, 64, "%s_%ld.%s", name, (long)getpid(), endings[data[0] % count]);
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool whole = fwrite(data + 1, 1, size - 1, file) == size - 1;
    return (fclose(file) == 0) & whole;
}

#endif
