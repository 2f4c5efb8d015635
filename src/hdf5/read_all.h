/* For the test and the fuzzer of this room: everything that is in a file, and every element of it. */
#ifndef RP_HDF5_READ_ALL_H
#define RP_HDF5_READ_ALL_H

#include "hdf5/hdf5.h"

#include <string.h>

static volatile unsigned char read_sink; /* so that what is read is read */

/* Gives the number of arrays that were read whole. */
static inline int read_array(rp__hdf5_file *file, uint64_t object)
{
    rp__hdf5_array array = { 0 };
    int whole = 0;
    if (rp__hdf5_describe(file, object, &array) == RP_OK && rp__hdf5_load(file, &array) == RP_OK) {
        whole = 1;
        for (uint64_t k = 0; k < array.count * array.width && array.count > 0; k++)
            read_sink ^= array.bytes[k];
        for (uint64_t k = 0; k < array.count && k < 64; k++) {
            char text[16];
            double number[3];
            if (array.kind == RP_HDF5_TEXT)
                rp__hdf5_text(&array, k, text, sizeof text);
            for (int type = 0; type < 4 && (array.kind == RP_HDF5_INTEGER || array.kind == RP_HDF5_REAL); type++)
                rp__hdf5_numbers(&array, k, array.count - k < 3 ? array.count - k : 3, (rp_type)type, number);
        }
    }
    rp__hdf5_release(&array);
    if (rp__hdf5_attribute(file, object, "unit", &array) == RP_OK)
        for (uint64_t k = 0; k < array.count * array.width; k++)
            read_sink ^= array.bytes[k];
    return whole;
}

static inline int read_group(rp__hdf5_file *file, uint64_t group, int depth)
{
    rp__hdf5_links links;
    int whole = 0;
    if (depth > 4 || rp__hdf5_list(file, group, &links) != RP_OK)
        return 0;
    for (int64_t k = 0; k < links.count && k < 64; k++)
        whole += read_array(file, links.link[k].object) + read_group(file, links.link[k].object, depth + 1);
    rp__hdf5_links_free(&links);
    return whole;
}

static inline int read_all(const void *bytes, size_t size)
{
    rp__hdf5_file file;
    return rp__hdf5_open(bytes, size, &file) == RP_OK ? read_group(&file, file.root, 0) : -1;
}

#endif
