#ifndef RP_FRICTION_FCLIB_COPY_H
#define RP_FRICTION_FCLIB_COPY_H

#include <hdf5.h>
#include <repose/result.h>

/* The groups, arrays and attributes of a file, whose bytes these are, into an open and empty one; `path` stands before refusals. */
rp_result rp__friction_copy_file(const char *path, const void *data, size_t size, hid_t to);

#endif
