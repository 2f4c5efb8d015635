/* Any bytes as a CSV table: read or refused, never harm. */
#include "render/plot_table.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    rp__table table;
    snprintf(path, sizeof path, "fuzz_table_%ld.tmp", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file)
        return 0;
    fwrite(data, 1, size, file);
    fclose(file);
    if (rp__table_read(path, "body", &table) == RP_OK)
        rp__table_free(&table);
    remove(path);
    return 0;
}
