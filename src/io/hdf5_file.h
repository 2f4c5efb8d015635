/* HDF5 files that are written whole or not at all, by the library of HDF5. They are read without it: source.h. */
#ifndef RP_IO_HDF5_FILE_H
#define RP_IO_HDF5_FILE_H

#include "base/file.h"

#include <hdf5.h>
#include <repose/field.h>
#include <stdint.h>

/* A file is made in memory and written at once: a full disk then meets plain writes, not the middle of HDF5, which cannot
 * drop a file that it fails to flush (it trips over it when the program ends). */
typedef struct rp__io_h5 {
    hid_t file;
    rp__file target;
    void *image;      /* owned by HDF5 until the file is closed */
    size_t room;      /* bytes of `image` */
    size_t increment;
    bool no_memory;   /* HDF5 asked for more than there was */
    H5E_auto2_t old_report;
    void *old_context;
} rp__io_h5;

/* HDF5 says nothing on standard error between the two. */
void rp__io_h5_quiet(rp__io_h5 *h);
void rp__io_h5_restore(rp__io_h5 *h);

rp_result rp__io_h5_create(rp__io_h5 *h, const char *path, int64_t expected_bytes);
rp_result rp__io_h5_commit(rp__io_h5 *h);
void rp__io_h5_drop(rp__io_h5 *h); /* safe after commit */

rp_result rp__io_h5_result(const rp__io_h5 *h, rp_result result); /* RP_OUT_OF_MEMORY when that was the reason */

/* Leaves "PATH: DOING NAME failed (what HDF5 said)" and returns `code`. */
rp_result rp__io_h5_failed(rp_result code, const char *path, const char *doing, const char *name);

hid_t rp__io_h5_file_type(rp_type type);   /* little endian; not to be closed */
hid_t rp__io_h5_memory_type(rp_type type);

/* A dataset of a few numbers, or an attribute when `attribute`. dims may be NULL for a scalar (rank 0). */
rp_result rp__io_h5_put(hid_t where, const char *path, const char *name, bool attribute, rp_type type, int rank,
                        const hsize_t *dims, const void *data);
rp_result rp__io_h5_put_text(hid_t where, const char *path, const char *name, const char *text); /* attribute */

#endif
