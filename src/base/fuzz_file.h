/* A file from the bytes of a fuzzer, in the folder in which it runs. It is made once, written over by every input, and removed at the end:
 * making and removing one for each input would cost more than reading it. */
#ifndef RP_BASE_FUZZ_FILE_H
#define RP_BASE_FUZZ_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FUZZ_ENDINGS = 4 };

static struct {
    char path[64];
    int file;
} fuzz_files[FUZZ_ENDINGS];

static inline void fuzz_files_remove(void)
{
    for (int e = 0; e < FUZZ_ENDINGS; e++)
        if (fuzz_files[e].path[0] != '\0')
            remove(fuzz_files[e].path);
}

/* Path of the file NAME_PID.ENDING that holds the bytes, or NULL. */
static inline const char *fuzz_file_of(const char *name, const char *ending, int slot, const uint8_t *data, size_t size)
{
    static bool noted;
    if (!noted)
        noted = atexit(fuzz_files_remove) == 0;
    if (fuzz_files[slot].path[0] == '\0') {
        snprintf(fuzz_files[slot].path, sizeof fuzz_files[slot].path, "%s_%ld.%s", name, (long)getpid(), ending);
        fuzz_files[slot].file = open(fuzz_files[slot].path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    }
    int file = fuzz_files[slot].file;
    bool whole = file >= 0 && ftruncate(file, (off_t)size) == 0 && pwrite(file, data, size, 0) == (ssize_t)size;
    return whole ? fuzz_files[slot].path : NULL;
}

/* The same; the first byte chooses the ending. */
static inline const char *fuzz_file(const char *name, const char *const *endings, int count, const uint8_t *data, size_t size)
{
    if (size < 1)
        return NULL;
    int which = data[0] % count;
    return fuzz_file_of(name, endings[which], which, data + 1, size - 1);
}

#endif
