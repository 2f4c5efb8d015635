/* A file of HDF5 made anew from what the careful reader finds in another: its groups, arrays of numbers and texts, and attributes. What that
 * reader does not know (links to names, texts of no fixed length) is left out. */
#include "friction/fclib_copy.h"

#include "base/error.h"
#include "base/memory.h"
#include "hdf5/hdf5.h"

#include <string.h>

enum { DEEPEST = 16 /* groups within groups: FCLIB has four */, LONGEST_NAME = 256 };

typedef struct copy {
    rp__hdf5_file file;
    uint64_t *groups; /* that were copied: no group is there twice */
    int64_t count, room;
} copy;

/* The same type in the file to be; < 0: there is none. */
static hid_t type_of(const rp__hdf5_array *array)
{
    hid_t type = -1;
    switch (array->kind) {
    case RP_HDF5_INTEGER:
        type = H5Tcopy(H5T_STD_I8LE);
        H5Tset_size(type, array->width);
        H5Tset_precision(type, 8 * array->width);
        H5Tset_sign(type, array->has_sign ? H5T_SGN_2 : H5T_SGN_NONE);
        break;
    case RP_HDF5_REAL: type = H5Tcopy(array->width == 8 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE); break;
    case RP_HDF5_TEXT:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, array->width);
        return type;
    case RP_HDF5_OTHER: return -1;
    }
    H5Tset_order(type, array->big_endian ? H5T_ORDER_BE : H5T_ORDER_LE);
    return type;
}

static hid_t space_of(const rp__hdf5_array *array)
{
    hsize_t dims[RP_HDF5_AXES];
    for (int k = 0; k < array->axes; k++)
        dims[k] = array->dims[k];
    return array->axes ? H5Screate_simple(array->axes, dims, NULL) : H5Screate(H5S_SCALAR);
}

static rp_result result_of(bool fine, const char *name)
{
    return fine ? RP_OK : rp__base_fail(RP_IO_ERROR, "HDF5 could not write '%s'", name);
}

static rp_result copy_attribute(const char *name, const rp__hdf5_array *array, void *to)
{
    hid_t type = type_of(array), space = space_of(array), made = -1;
    if (type >= 0)
        made = H5Acreate2(*(hid_t *)to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool fine = type < 0 || (made >= 0 && H5Awrite(made, type, array->bytes) >= 0);
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
    return result_of(fine, name);
}

static rp_result copy_array(copy *c, uint64_t object, const rp__hdf5_array *described, hid_t to, const char *name)
{
    rp__hdf5_array array = *described;
    hid_t type = type_of(&array), space = space_of(&array), made = -1;
    bool written = array.count > 0 && rp__hdf5_is_written(&array);
    rp_result result = type >= 0 && written ? rp__hdf5_load(&c->file, &array) : RP_OK;
    if (type >= 0 && result == RP_OK) {
        made = H5Dcreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        result = result_of(made >= 0 && (!written || H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes) >= 0), name);
    }
    if (type >= 0 && result == RP_OK)
        result = rp__hdf5_attributes(&c->file, object, copy_attribute, &made);
    rp__hdf5_release(&array);
    H5Dclose(made);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

static rp_result copy_group(copy *c, uint64_t group, hid_t to, int depth);

static rp_result copy_link(copy *c, const rp__hdf5_link *link, hid_t to, int depth)
{
    char name[LONGEST_NAME];
    rp__hdf5_array array;
    if (link->length == 0 || link->length >= sizeof name || memchr(link->name, '\0', link->length))
        return rp__base_fail(RP_BAD_FILE, "there is a name of %zu letters, which no problem has", link->length);
    memcpy(name, link->name, link->length);
    name[link->length] = '\0';
    rp_result result = rp__hdf5_describe(&c->file, link->object, &array);
    if (result == RP_OK)
        return copy_array(c, link->object, &array, to, name);
    if (result == RP_OUT_OF_MEMORY)
        return result;
    hid_t inner = H5Gcreate2(to, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    result = inner >= 0 ? copy_group(c, link->object, inner, depth + 1) : result_of(false, name);
    H5Gclose(inner);
    return result;
}

static rp_result copy_group(copy *c, uint64_t group, hid_t to, int depth)
{
    for (int64_t k = 0; k < c->count; k++)
        if (c->groups[k] == group)
            return rp__base_fail(RP_BAD_FILE, "a group is in it twice");
    if (depth > DEEPEST)
        return rp__base_fail(RP_BAD_FILE, "its groups are more than %d deep", DEEPEST);
    if (!rp__base_grow(&c->groups, &c->room, c->count + 1, sizeof *c->groups))
        return RP_OUT_OF_MEMORY;
    c->groups[c->count++] = group;
    rp__hdf5_links links;
    RP_TRY(rp__hdf5_list(&c->file, group, &links));
    rp_result result = rp__hdf5_attributes(&c->file, group, copy_attribute, &to);
    for (int64_t k = 0; k < links.count && result == RP_OK; k++)
        result = copy_link(c, &links.link[k], to, depth);
    rp__hdf5_links_free(&links);
    return result;
}

rp_result rp__friction_copy_file(const char *path, const void *data, size_t size, hid_t to)
{
    copy c = { .count = 0 };
    rp_result result = rp__hdf5_open(data, size, &c.file);
    if (result == RP_OK)
        result = copy_group(&c, c.file.root, to, 0);
    rp__base_free(c.groups);
    return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "%s: ", path);
}
