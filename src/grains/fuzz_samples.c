/* Any bytes as a file of samples: read or refused, never harm. */
#include <repose/grains.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    rp_samples samples;
    snprintf(path, sizeof path, "fuzz_samples_%ld.tmp", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file)
        return 0;
    fwrite(data, 1, size, file);
    fclose(file);
    if (rp_samples_read(path, &samples) == RP_OK)
        rp_samples_free(&samples);
    remove(path);
    return 0;
}
