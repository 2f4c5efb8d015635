#include "io/hdf5_file.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/io.h"

#include <errno.h>
#include <string.h>

/* ---- messages ---- */

void rp__io_h5_quiet(rp__io_h5 *h)
{
    H5Eget_auto2(H5E_DEFAULT, &h->old_report, &h->old_context);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void rp__io_h5_restore(rp__io_h5 *h)
{
    H5Eset_auto2(H5E_DEFAULT, h->old_report, h->old_context);
}

static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *text)
{
    if (n == 0 && error->desc)
        snprintf(text, 200, "%s", error->desc);
    return 0;
}

rp_result rp__io_h5_failed(rp_result code, const char *path, const char *doing, const char *name)
{
    char reason[200] = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, reason);
    return rp__base_fail(code, "%s: %s '%s' failed (%s)", path, doing, name, reason);
}

/* ---- a file in memory: HDF5 asks us for room and leaves the image when it closes ---- */

static void *image_resize(void *pointer, size_t size, H5FD_file_image_op_t operation, void *context)
{
    (void)operation;
    rp__io_h5 *h = context;
    void *bytes = rp__base_realloc(pointer, size);
    if (!bytes) {
        h->no_memory = true;
        return NULL;
    }
    if (size > h->room) /* gaps must not hold what memory happened to hold */
        memset((char *)bytes + h->room, 0, size - h->room);
    h->room = size;
    return bytes;
}

static void *image_allocate(size_t size, H5FD_file_image_op_t operation, void *context)
{
    return image_resize(NULL, size, operation, context);
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t operation, void *context)
{
    (void)operation;
    (void)context;
    return memcpy(to, from, size);
}

static herr_t image_release(void *pointer, H5FD_file_image_op_t operation, void *context)
{
    rp__io_h5 *h = context;
    if (operation == H5FD_FILE_IMAGE_OP_FILE_CLOSE)
        h->image = pointer; /* ours from now on */
    else
        rp__base_free(pointer);
    return 0;
}

static void *same_context(void *context)
{
    return context;
}

static herr_t keep_context(void *context)
{
    (void)context;
    return 0;
}

static herr_t use_memory(rp__io_h5 *h, hid_t access)
{
    H5FD_file_image_callbacks_t callbacks = { image_allocate, image_copy, image_resize, image_release,
                                              same_context,   keep_context, h };
    return H5Pset_fapl_core(access, h->increment, false) < 0 ? -1 : H5Pset_file_image_callbacks(access, &callbacks);
}

rp_result rp__io_h5_create(rp__io_h5 *h, const char *path, int64_t expected_bytes)
{
    memset(h, 0, sizeof *h);
    h->file = -1;
    RP_TRY(rp__file_begin_path(&h->target, path));
    rp__io_h5_quiet(h);
    h->increment = (size_t)expected_bytes + 65536;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* Fixed versions of everything inside: the bytes depend on the content alone. */
    bool fine = access >= 0 && H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) >= 0 &&
                H5Pset_meta_block_size(access, 16384) >= 0 && use_memory(h, access) >= 0;
    if (fine)
        h->file = H5Fcreate(h->target.part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (h->file >= 0)
        return RP_OK;
    rp_result result = rp__io_h5_failed(RP_IO_ERROR, path, "creating", h->target.part);
    result = rp__io_h5_result(h, result);
    rp__io_h5_drop(h);
    return result;
}

rp_result rp__io_h5_result(const rp__io_h5 *h, rp_result result)
{
    if (result == RP_OK || !h->no_memory)
        return result;
    return rp__base_fail(RP_OUT_OF_MEMORY, "no memory for %s, which needs about %zu bytes while it is written", h->target.path,
                         h->increment);
}

static rp_result write_image(rp__io_h5 *h, size_t size)
{
    rp__file target = { 0 };
    RP_TRY(rp__file_begin(&target, h->target.path));
    unsigned char seal[RP_IO_SEAL];
    rp__io_seal(h->image, size, seal);
    if (fwrite(h->image, 1, size, target.stream) != size || fwrite(seal, 1, sizeof seal, target.stream) != sizeof seal) {
        rp_result result = rp__base_fail(RP_IO_ERROR, "cannot write %s: %s", target.path, strerror(errno));
        rp__file_drop(&target);
        return result;
    }
    return rp__file_commit(&target);
}

rp_result rp__io_h5_commit(rp__io_h5 *h)
{
    rp_result result = RP_OK;
    ssize_t size = 0;
    if (H5Fflush(h->file, H5F_SCOPE_LOCAL) < 0 || (size = H5Fget_file_image(h->file, NULL, 0)) < 0)
        result = rp__io_h5_failed(RP_IO_ERROR, h->target.path, "writing", "file");
    herr_t closed = H5Fclose(h->file);
    h->file = -1;
    if (result == RP_OK && closed < 0)
        result = rp__io_h5_failed(RP_IO_ERROR, h->target.path, "closing", "file");
    if (result == RP_OK)
        result = (size_t)size <= h->room ? write_image(h, (size_t)size)
                                         : rp__base_fail(RP_IO_ERROR, "%s: HDF5 left no image", h->target.path);
    result = rp__io_h5_result(h, result);
    rp__io_h5_drop(h);
    return result;
}

void rp__io_h5_drop(rp__io_h5 *h)
{
    if (!h->target.path && h->file < 0)
        return;
    if (h->file >= 0)
        H5Fclose(h->file);
    h->file = -1;
    rp__base_free(h->image);
    h->image = NULL;
    rp__base_free(h->target.part); /* HDF5 itself makes no part file */
    h->target.part = NULL;
    rp__file_drop(&h->target);
    rp__io_h5_restore(h);
}

/* ---- numbers ---- */

hid_t rp__io_h5_file_type(rp_type type)
{
    switch (type) {
    case RP_F64: return H5T_IEEE_F64LE;
    case RP_F32: return H5T_IEEE_F32LE;
    case RP_I64: return H5T_STD_I64LE;
    case RP_I32: return H5T_STD_I32LE;
    }
    return -1;
}

hid_t rp__io_h5_memory_type(rp_type type)
{
    switch (type) {
    case RP_F64: return H5T_NATIVE_DOUBLE;
    case RP_F32: return H5T_NATIVE_FLOAT;
    case RP_I64: return H5T_NATIVE_INT64;
    case RP_I32: return H5T_NATIVE_INT32;
    }
    return -1;
}

rp_result rp__io_h5_put(hid_t where, const char *path, const char *name, bool attribute, rp_type type, int rank,
                        const hsize_t *dims, const void *data)
{
    hid_t file_type = rp__io_h5_file_type(type), memory_type = rp__io_h5_memory_type(type);
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    bool fine = space >= 0 && plist >= 0 && H5Pset_obj_track_times(plist, false) >= 0;
    hid_t object = -1;
    if (fine && attribute) {
        object = H5Acreate2(where, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
        fine = object >= 0 && H5Awrite(object, memory_type, data) >= 0;
        H5Aclose(object);
    } else if (fine) {
        object = H5Dcreate2(where, name, file_type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
        fine = object >= 0 && H5Dwrite(object, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
        H5Dclose(object);
    }
    H5Pclose(plist);
    H5Sclose(space);
    return fine ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, path, "writing", name);
}

rp_result rp__io_h5_put_text(hid_t where, const char *path, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute = -1;
    size_t length = strlen(text);
    bool fine = type >= 0 && space >= 0 && H5Tset_size(type, length ? length : 1) >= 0 &&
                H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
    if (fine) {
        attribute = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        fine = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    }
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return fine ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, path, "writing", name);
}
