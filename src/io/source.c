#include "io/source.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/io.h"

#include <string.h>

rp_result rp__io_source_failed(const rp__io_source *source, rp_result result)
{
    return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "%s: ", source->path);
}

rp_result rp__io_source_open(rp__io_source *source, const char *path)
{
    size_t size = 0;
    *source = (rp__io_source){ .path = path };
    RP_TRY(rp__file_read(path, (size_t)1 << 40, &source->bytes, &size));
    rp_result result = rp__io_verify_seal(path, source->bytes, size, false);
    if (result == RP_OK) {
        result = rp__hdf5_open(source->bytes, size, &source->file);
        if (result != RP_OK)
            result = rp__base_fail_prefix(result, "%s cannot be read as a frame: ", path);
    }
    if (result != RP_OK)
        rp__io_source_close(source);
    return result;
}

void rp__io_source_close(rp__io_source *source)
{
    rp__base_free(source->bytes);
    source->bytes = NULL;
}

static rp_result absent(const rp__io_source *source, rp_result result, const char *name)
{
    return result == RP_NOT_FOUND ? rp__base_fail(RP_BAD_FILE, "%s is no frame of Repose: it has no '%s'", source->path, name)
                                  : rp__base_fail_prefix(result, "%s: '%s': ", source->path, name);
}

static rp_result judge(const rp__io_source *source, const rp__hdf5_array *array, const char *name, int64_t count)
{
    bool fine = array->count == (uint64_t)count && (array->kind == RP_HDF5_INTEGER || array->kind == RP_HDF5_REAL);
    return fine ? RP_OK : rp__base_fail(RP_BAD_FILE, "%s: '%s' does not hold %lld numbers", source->path, name, (long long)count);
}

rp_result rp__io_source_load(rp__io_source *source, uint64_t from, const char *name, int64_t count, rp__hdf5_array *array)
{
    uint64_t object;
    rp_result result = rp__hdf5_find(&source->file, from, name, &object);
    if (result == RP_OK)
        result = rp__hdf5_describe(&source->file, object, array);
    if (result != RP_OK)
        return absent(source, result, name);
    RP_TRY(judge(source, array, name, count));
    result = rp__hdf5_load(&source->file, array);
    return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "%s: '%s' ", source->path, name);
}

rp_result rp__io_source_numbers(rp__io_source *source, uint64_t from, const char *name, rp_type type, int64_t count, void *data)
{
    rp__hdf5_array array;
    RP_TRY(rp__io_source_load(source, from, name, count, &array));
    rp__hdf5_numbers(&array, 0, array.count, type, data);
    rp__hdf5_release(&array);
    return RP_OK;
}

rp_result rp__io_source_attribute(const rp__io_source *source, uint64_t from, const char *name, rp_type type, int64_t count, void *data)
{
    rp__hdf5_array array;
    rp_result result = rp__hdf5_attribute(&source->file, from, name, &array);
    if (result != RP_OK)
        return absent(source, result, name);
    RP_TRY(judge(source, &array, name, count));
    rp__hdf5_numbers(&array, 0, array.count, type, data);
    return RP_OK;
}
