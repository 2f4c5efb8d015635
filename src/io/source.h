/* Frames and fibres as they are read: the bytes of a file, compared with the checksum at their end, as HDF5. */
#ifndef RP_IO_SOURCE_H
#define RP_IO_SOURCE_H

#include "hdf5/hdf5.h"

typedef struct rp__io_source {
    const char *path;
    char *bytes;
    rp__hdf5_file file;
} rp__io_source;

rp_result rp__io_source_open(rp__io_source *source, const char *path); /* sets nothing to close on failure */
void rp__io_source_close(rp__io_source *source);

/* Puts the path before the sentence of an error. */
rp_result rp__io_source_failed(const rp__io_source *source, rp_result result);

/* An array of exactly `count` numbers, loaded; free with rp__hdf5_release. */
rp_result rp__io_source_load(rp__io_source *source, uint64_t from, const char *name, int64_t count, rp__hdf5_array *array);
/* Exactly `count` numbers of the array `name`, or of the attribute `name` of the object at `from`, as `type`; RP_BAD_FILE otherwise. */
rp_result rp__io_source_numbers(rp__io_source *source, uint64_t from, const char *name, rp_type type, int64_t count, void *data);
rp_result rp__io_source_attribute(const rp__io_source *source, uint64_t from, const char *name, rp_type type, int64_t count, void *data);

#endif
