/* Any bytes as a file of HDF5: every group is listed and every array read, with memory in proportion to the bytes. */
#include "base/memory.h"
#include "hdf5/read_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t before = rp_memory_in_use();
    read_all(data, size);
    if (rp_memory_in_use() != before || rp_memory_peak() > ((size_t)1 << 20) + 5000 * size)
        __builtin_trap();
    return 0;
}
