/* Any bytes as a CSV table: read or refused, never harm. */
#include "base/fuzz_file.h"
#include "render/plot_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp__table table;
    const char *path = fuzz_file_of("fuzz_table", "csv", 0, data, size);
    if (path && rp__table_read(path, "body", &table) == RP_OK)
        rp__table_free(&table);
    return 0;
}
