/* Frames back into planar arrays. Every size is checked against what the file can hold before memory is asked for. */
#include "base/error.h"
#include "base/memory.h"
#include "io/hdf5_file.h"
#include "io/io.h"

#include <string.h>

enum { BLOCK = 32768, MAX_FIELDS = 256, MAX_BODIES = 1 << 20 };

size_t rp__io_type_size(rp_type type)
{
    return type == RP_F64 || type == RP_I64 ? 8 : 4;
}

typedef struct reader {
    rp__io_h5 *h;
    const char *path;
    rp_frame *frame;
    rp__arena *arena;
    int capacity;
} reader;

static void *take(reader *r, size_t count, size_t size)
{
    return rp__arena_alloc(r->arena, count * size);
}

static rp_result damaged(const reader *r, const char *name, const char *what)
{
    return rp__base_fail(RP_BAD_FILE, "%s: '%s' %s", r->path, name, what);
}

/* Our type for one of HDF5's: false for texts and such. */
static bool find_type(hid_t dataset, rp_type *type)
{
    hid_t found = H5Dget_type(dataset);
    H5T_class_t kind = H5Tget_class(found);
    size_t size = H5Tget_size(found);
    H5Tclose(found);
    if (kind == H5T_FLOAT)
        *type = size > 4 ? RP_F64 : RP_F32;
    else if (kind == H5T_INTEGER)
        *type = size > 4 ? RP_I64 : RP_I32;
    else
        return false;
    return true;
}

static void scatter(const rp_field_info *info, const void *rows, int64_t first, int64_t count, int64_t stride, void *data)
{
    int n = info->components;
    for (int c = 0; c < n; c++) {
        int64_t to = rp__io_vtk_component(n, c) * stride + first;
        if (rp__io_type_size(info->type) == 8) {
            uint64_t *plane = (uint64_t *)data + to;
            const uint64_t *in = (const uint64_t *)rows + c;
            for (int64_t i = 0; i < count; i++)
                plane[i] = in[i * n];
        } else {
            uint32_t *plane = (uint32_t *)data + to;
            const uint32_t *in = (const uint32_t *)rows + c;
            for (int64_t i = 0; i < count; i++)
                plane[i] = in[i * n];
        }
    }
}

static rp_result read_rows(reader *r, hid_t dataset, hid_t space, const rp_field_info *info, int64_t total, void *data)
{
    void *rows = rp__base_alloc_array((size_t)(total < BLOCK ? total : BLOCK), (size_t)info->components * sizeof(double));
    if (!rows)
        return RP_OUT_OF_MEMORY;
    rp_result result = RP_OK;
    int rank = H5Sget_simple_extent_ndims(space);
    for (int64_t i = 0; i < total && result == RP_OK; i += BLOCK) {
        int64_t count = total - i < BLOCK ? total - i : BLOCK;
        hsize_t start[2] = { (hsize_t)i, 0 }, size[2] = { (hsize_t)count, (hsize_t)info->components };
        hid_t memory = H5Screate_simple(rank, size, NULL);
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
            H5Dread(dataset, rp__io_h5_memory_type(info->type), memory, space, H5P_DEFAULT, rows) < 0)
            result = rp__io_h5_failed(RP_BAD_FILE, r->path, "reading", info->name);
        else
            scatter(info, rows, i, count, total, data);
        H5Sclose(memory);
    }
    rp__base_free(rows);
    return result;
}

static char *read_unit(reader *r, hid_t dataset)
{
    char text[64] = "";
    if (H5Aexists(dataset, "unit") > 0) {
        hid_t attribute = H5Aopen(dataset, "unit", H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
        hid_t found = H5Aget_type(attribute), space = H5Aget_space(attribute);
        if (H5Tget_class(found) == H5T_STRING && H5Tis_variable_str(found) == 0 && H5Sget_simple_extent_npoints(space) == 1 &&
            H5Tset_size(type, sizeof text - 1) >= 0 && H5Aread(attribute, type, text) < 0)
            text[0] = '\0';
        H5Sclose(space);
        H5Tclose(found);
        H5Tclose(type);
        H5Aclose(attribute);
    }
    char *copy = take(r, strlen(text) + 1, 1);
    return copy ? strcpy(copy, text) : NULL;
}

static rp_result read_dataset(reader *r, hid_t dataset, const char *name, const char *as)
{
    rp_frame *frame = r->frame;
    rp_field_info info = { 0 };
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[2] = { 0, 1 };
    int rank = H5Sget_simple_extent_ndims(space);
    rp_result result = RP_OK;
    if (rank < 1 || rank > 2 || H5Sget_simple_extent_dims(space, dims, NULL) < 0 || dims[1] < 1 || dims[1] > 9)
        result = damaged(r, name, "has a shape that no field has");
    else if (!find_type(dataset, &info.type))
        result = damaged(r, name, "does not hold numbers");
    else if (dims[0] != (hsize_t)frame->count)
        result = damaged(r, name, "has another number of rows than there are particles");
    else if (dims[0] > (hsize_t)INT64_MAX / 128 || !rp__io_h5_plausible(dataset, dims[0] * dims[1] * rp__io_type_size(info.type)))
        result = damaged(r, name, "claims more numbers than the file holds");
    void *data = NULL;
    if (result == RP_OK) {
        char *copy = take(r, strlen(as) + 1, 1);
        info.components = (int)dims[1];
        info.name = copy;
        info.unit = read_unit(r, dataset);
        info.saved = 1;
        data = take(r, (size_t)(dims[0] * dims[1]), rp__io_type_size(info.type));
        if (!copy || !info.unit || !data)
            result = RP_OUT_OF_MEMORY;
        else
            strcpy(copy, as);
    }
    if (result == RP_OK)
        result = read_rows(r, dataset, space, &info, frame->count, data);
    if (result == RP_OK)
        frame->fields[frame->field_count++] = (rp_field_view){ info, data, frame->count, frame->count };
    H5Sclose(space);
    return result;
}

static rp_result read_named(reader *r, hid_t group, const char *name, const char *as)
{
    if (r->frame->field_count == r->capacity)
        return rp__base_fail(RP_BAD_FILE, "%s has more than %d fields", r->path, r->capacity);
    H5O_info_t object;
    if (H5Oget_info_by_name(group, name, &object, H5P_DEFAULT) < 0 || object.type != H5O_TYPE_DATASET)
        return damaged(r, name, "is no array");
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0)
        return rp__io_h5_failed(RP_BAD_FILE, r->path, "reading", name);
    rp_result result = read_dataset(r, dataset, name, as);
    H5Dclose(dataset);
    return result;
}

static rp_result read_point_data(reader *r)
{
    hid_t group = H5Gopen2(r->h->file, "/VTKHDF/PointData", H5P_DEFAULT);
    if (group < 0)
        return damaged(r, "/VTKHDF/PointData", "is missing");
    H5G_info_t info = { .nlinks = 0 };
    rp_result result = RP_OK;
    if (H5Gget_info(group, &info) < 0)
        result = damaged(r, "/VTKHDF/PointData", "cannot be listed");
    for (hsize_t i = 0; i < info.nlinks && result == RP_OK; i++) {
        char name[256] = "";
        ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (length <= 0 || length >= (ssize_t)sizeof name)
            result = damaged(r, "/VTKHDF/PointData", "has a field without a usable name");
        else
            result = read_named(r, group, name, name);
    }
    H5Gclose(group);
    return result;
}

static rp_result read_facts(reader *r, hid_t repose)
{
    rp_frame *frame = r->frame;
    int64_t dim = 0;
    RP_TRY(rp__io_h5_get(repose, r->path, "time", true, RP_F64, 1, &frame->time));
    RP_TRY(rp__io_h5_get(repose, r->path, "frame", true, RP_I64, 1, &frame->index));
    RP_TRY(rp__io_h5_get(repose, r->path, "step", true, RP_I64, 1, &frame->step));
    RP_TRY(rp__io_h5_get(repose, r->path, "dim", true, RP_I64, 1, &dim));
    RP_TRY(rp__io_h5_get(repose, r->path, "cell_size", true, RP_F64, 1, &frame->cell_size));
    RP_TRY(rp__io_h5_get(repose, r->path, "frame_rate", true, RP_F64, 1, &frame->frame_rate));
    RP_TRY(rp__io_h5_get(repose, r->path, "lower", true, RP_F64, 3, frame->lower));
    RP_TRY(rp__io_h5_get(repose, r->path, "upper", true, RP_F64, 3, frame->upper));
    if (dim != 2 && dim != 3)
        return damaged(r, "dim", "is neither 2 nor 3");
    frame->dim = (int)dim;
    return rp__io_h5_get(r->h->file, r->path, "/VTKHDF/NumberOfPoints", false, RP_I64, 1, &frame->count);
}

static rp_result read_body_column(reader *r, hid_t group, const char *name, size_t offset, int width, double *scratch)
{
    rp_frame *frame = r->frame;
    RP_TRY(rp__io_h5_get(group, r->path, name, false, RP_F64, (int64_t)frame->body_count * width, scratch));
    for (int b = 0; b < frame->body_count; b++)
        memcpy((char *)&frame->bodies[b] + offset, scratch + b * width, (size_t)width * sizeof *scratch);
    return RP_OK;
}

static rp_result read_names(reader *r, hid_t group)
{
    hid_t dataset = H5Dopen2(group, "name", H5P_DEFAULT);
    if (dataset < 0)
        return damaged(r, "REPOSE/bodies/name", "is missing");
    hid_t space = H5Dget_space(dataset), found = H5Dget_type(dataset), type = H5Tcopy(H5T_C_S1);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    rp_result result = RP_OK;
    rp_frame *frame = r->frame;
    if (count < 1 || count > MAX_BODIES || H5Tget_class(found) != H5T_STRING || H5Tis_variable_str(found) != 0 ||
        !rp__io_h5_plausible(dataset, (hsize_t)count))
        result = damaged(r, "REPOSE/bodies/name", "is no list of names");
    if (result == RP_OK) {
        frame->body_names = take(r, (size_t)count, sizeof frame->body_names[0]);
        frame->bodies = take(r, (size_t)count, sizeof *frame->bodies);
        if (!frame->body_names || !frame->bodies)
            result = RP_OUT_OF_MEMORY;
        else if (H5Tset_size(type, sizeof frame->body_names[0]) < 0 ||
                 H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, frame->body_names) < 0)
            result = rp__io_h5_failed(RP_BAD_FILE, r->path, "reading", "REPOSE/bodies/name");
    }
    if (result == RP_OK) {
        memset(frame->bodies, 0, (size_t)count * sizeof *frame->bodies);
        for (int b = 0; b < count; b++)
            frame->body_names[b][sizeof frame->body_names[0] - 1] = '\0';
        frame->body_count = (int)count;
    }
    H5Tclose(type);
    H5Tclose(found);
    H5Sclose(space);
    H5Dclose(dataset);
    return result;
}

static rp_result read_body_states(reader *r, hid_t group)
{
    rp_frame *frame = r->frame;
    double *scratch = take(r, (size_t)frame->body_count * 4, sizeof *scratch);
    if (!scratch)
        return RP_OUT_OF_MEMORY;
    RP_TRY(read_body_column(r, group, "position", offsetof(rp_body_state, position), 3, scratch));
    RP_TRY(read_body_column(r, group, "orientation", offsetof(rp_body_state, orientation), 4, scratch));
    RP_TRY(read_body_column(r, group, "velocity", offsetof(rp_body_state, velocity), 3, scratch));
    RP_TRY(read_body_column(r, group, "angular_velocity", offsetof(rp_body_state, angular_velocity), 3, scratch));
    RP_TRY(read_body_column(r, group, "force", offsetof(rp_body_state, force), 3, scratch));
    RP_TRY(read_body_column(r, group, "torque", offsetof(rp_body_state, torque), 3, scratch));
    RP_TRY(read_body_column(r, group, "mass", offsetof(rp_body_state, mass), 1, scratch));
    RP_TRY(rp__io_h5_get(group, r->path, "present", false, RP_F64, frame->body_count, scratch));
    for (int b = 0; b < frame->body_count; b++)
        frame->bodies[b].present = scratch[b] != 0;
    return RP_OK;
}

static rp_result read_repose(reader *r)
{
    hid_t repose = H5Gopen2(r->h->file, "/REPOSE", H5P_DEFAULT);
    if (repose < 0)
        return rp__base_fail(RP_BAD_FILE, "%s is an HDF5 file but no frame of Repose: it has no group REPOSE", r->path);
    rp_result result = read_facts(r, repose);
    if (result == RP_OK && H5Lexists(repose, "bodies", H5P_DEFAULT) > 0) {
        hid_t group = H5Gopen2(repose, "bodies", H5P_DEFAULT);
        result = group >= 0 ? read_names(r, group) : damaged(r, "REPOSE/bodies", "is no group");
        if (result == RP_OK)
            result = read_body_states(r, group);
        if (group >= 0)
            H5Gclose(group);
    }
    H5Gclose(repose);
    return result;
}

static rp_result read_all(reader *r)
{
    RP_TRY(read_repose(r));
    r->capacity = MAX_FIELDS;
    r->frame->fields = take(r, MAX_FIELDS, sizeof *r->frame->fields);
    if (!r->frame->fields)
        return RP_OUT_OF_MEMORY;
    hid_t vtk = H5Gopen2(r->h->file, "/VTKHDF", H5P_DEFAULT);
    if (vtk < 0)
        return damaged(r, "/VTKHDF", "is missing");
    rp_result result = read_named(r, vtk, "Points", "position");
    H5Gclose(vtk);
    if (result == RP_OK && r->frame->fields[0].info.components != 3)
        result = damaged(r, "Points", "does not have three columns");
    return result == RP_OK ? read_point_data(r) : result;
}

rp_result rp_frame_read(const char *path, rp_frame *out)
{
    memset(out, 0, sizeof *out);
    rp__io_h5 h;
    RP_TRY(rp__io_h5_open(&h, path));
    rp_frame frame = { 0 };
    rp__arena *arena = RP_NEW(rp__arena);
    rp_result result = RP_OUT_OF_MEMORY;
    if (arena) {
        rp__arena_init(arena, 4096);
        frame.storage = arena;
        reader r = { &h, path, &frame, arena, 0 };
        result = read_all(&r);
    }
    rp__io_h5_drop(&h);
    if (result == RP_OK)
        *out = frame;
    else
        rp_frame_free(&frame);
    return result;
}

const rp_field_view *rp_frame_field(const rp_frame *frame, const char *name)
{
    for (int f = 0; f < frame->field_count; f++)
        if (strcmp(frame->fields[f].info.name, name) == 0)
            return &frame->fields[f];
    return NULL;
}

void rp_frame_free(rp_frame *frame)
{
    if (frame->storage) {
        rp__arena_free(frame->storage);
        rp__base_free(frame->storage);
    }
    memset(frame, 0, sizeof *frame);
}
