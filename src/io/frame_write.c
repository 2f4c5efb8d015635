/* Frames as VTKHDF: an UnstructuredGrid of version 1.0 with one vertex cell a particle, and beside it a group REPOSE (which VTK
 * does not look at) with what a reader of ours wants: step, frame, dimension, bodies. See docs/io.md. */
#include "base/error.h"
#include "base/memory.h"
#include "io/hdf5_file.h"
#include "io/io.h"

#include <repose/version.h>
#include <string.h>

enum { BLOCK = 32768 /* particles gathered, and chunks of compressed arrays */, DEFLATE_LEVEL = 4 };

/* One array being written: its dataset is made with the first block and closed after the last. */
typedef struct array {
    rp__io_h5 *h;
    const char *path, *name;
    hid_t dataset, space, memory_type;
    int rank;
    hsize_t dims[2];
} array;

static hid_t array_properties(const array *a, bool compressed, bool *fine)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    *fine = properties >= 0 && H5Pset_obj_track_times(properties, false) >= 0;
    if (*fine && compressed && a->dims[0] > 0) {
        hsize_t chunk[2] = { a->dims[0] < BLOCK ? a->dims[0] : BLOCK, a->dims[1] };
        double zero = 0; /* the part of the last chunk beyond the end is written too */
        *fine = H5Pset_chunk(properties, a->rank, chunk) >= 0 && H5Pset_shuffle(properties) >= 0 &&
                H5Pset_deflate(properties, DEFLATE_LEVEL) >= 0 &&
                H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &zero) >= 0;
    } else if (*fine) {
        *fine = H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0; /* every element is written below */
    }
    return properties;
}

static rp_result array_begin(array *a, rp__io_h5 *h, hid_t group, const char *name, hid_t file_type, hid_t memory_type,
                             int64_t count, int components, bool compressed)
{
    *a = (array){ .h = h, .path = h->target.path, .name = name, .dataset = -1, .memory_type = memory_type };
    a->rank = components > 1 ? 2 : 1;
    a->dims[0] = (hsize_t)count;
    a->dims[1] = (hsize_t)components;
    a->space = H5Screate_simple(a->rank, a->dims, NULL);
    bool fine;
    hid_t properties = array_properties(a, compressed, &fine);
    if (fine)
        a->dataset = H5Dcreate2(group, name, file_type, a->space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Pclose(properties);
    if (a->dataset >= 0)
        return RP_OK;
    H5Sclose(a->space);
    return rp__io_h5_failed(RP_IO_ERROR, a->path, "writing", name);
}

static rp_result array_rows(array *a, int64_t first, int64_t count, const void *rows)
{
    hsize_t start[2] = { (hsize_t)first, 0 }, size[2] = { (hsize_t)count, a->dims[1] };
    hid_t memory = H5Screate_simple(a->rank, size, NULL);
    bool fine = memory >= 0 && H5Sselect_hyperslab(a->space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                H5Dwrite(a->dataset, a->memory_type, memory, a->space, H5P_DEFAULT, rows) >= 0;
    H5Sclose(memory);
    return fine ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, a->path, "writing", a->name);
}

static void array_end(array *a)
{
    H5Dclose(a->dataset);
    H5Sclose(a->space);
}

int rp__io_vtk_component(int components, int c)
{
    return components == 6 && c >= 4 ? 9 - c : c;
}

void rp__io_gather(const rp_field_view *view, int64_t first, int64_t count, void *rows)
{
    int n = view->info.components;
    for (int c = 0; c < n; c++) {
        int64_t from = rp__io_vtk_component(n, c) * view->stride + first;
        if (rp__io_type_size(view->info.type) == 8) {
            const uint64_t *plane = (const uint64_t *)view->data + from;
            uint64_t *out = (uint64_t *)rows + c;
            for (int64_t i = 0; i < count; i++)
                out[i * n] = plane[i];
        } else {
            const uint32_t *plane = (const uint32_t *)view->data + from;
            uint32_t *out = (uint32_t *)rows + c;
            for (int64_t i = 0; i < count; i++)
                out[i * n] = plane[i];
        }
    }
}

static rp_result write_field(rp__io_h5 *h, hid_t group, const char *name, const rp_field_view *view, bool compressed,
                             void *rows)
{
    array a;
    RP_TRY(array_begin(&a, h, group, name, rp__io_h5_file_type(view->info.type), rp__io_h5_memory_type(view->info.type),
                       view->count, view->info.components, compressed));
    rp_result result = RP_OK;
    for (int64_t i = 0; i < view->count && result == RP_OK; i += BLOCK) {
        int64_t count = view->count - i < BLOCK ? view->count - i : BLOCK;
        rp__io_gather(view, i, count, rows);
        result = array_rows(&a, i, count, rows);
    }
    if (result == RP_OK)
        result = rp__io_h5_put_text(a.dataset, h->target.path, "unit", view->info.unit ? view->info.unit : "");
    array_end(&a);
    return result;
}

/* first, first + 1, …: connectivity and offsets of vertices. */
static rp_result write_counting(rp__io_h5 *h, hid_t group, const char *name, int64_t count, bool compressed, int64_t *rows)
{
    array a;
    RP_TRY(array_begin(&a, h, group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, count, 1, compressed));
    rp_result result = RP_OK;
    for (int64_t i = 0; i < count && result == RP_OK; i += BLOCK) {
        int64_t here = count - i < BLOCK ? count - i : BLOCK;
        for (int64_t k = 0; k < here; k++)
            rows[k] = i + k;
        result = array_rows(&a, i, here, rows);
    }
    array_end(&a);
    return result;
}

static rp_result write_types(rp__io_h5 *h, hid_t group, int64_t count, bool compressed, unsigned char *rows)
{
    enum { VTK_VERTEX = 1 };
    array a;
    RP_TRY(array_begin(&a, h, group, "Types", H5T_STD_U8LE, H5T_NATIVE_UCHAR, count, 1, compressed));
    memset(rows, VTK_VERTEX, BLOCK);
    rp_result result = RP_OK;
    for (int64_t i = 0; i < count && result == RP_OK; i += BLOCK)
        result = array_rows(&a, i, count - i < BLOCK ? count - i : BLOCK, rows);
    array_end(&a);
    return result;
}

static rp_result write_counts(hid_t group, const char *path, int64_t count)
{
    const hsize_t one = 1;
    RP_TRY(rp__io_h5_put(group, path, "NumberOfPoints", false, RP_I64, 1, &one, &count));
    RP_TRY(rp__io_h5_put(group, path, "NumberOfCells", false, RP_I64, 1, &one, &count));
    return rp__io_h5_put(group, path, "NumberOfConnectivityIds", false, RP_I64, 1, &one, &count);
}

static rp_result open_group(hid_t where, const char *path, const char *name, hid_t *group)
{
    *group = H5Gcreate2(where, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return *group >= 0 ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, path, "making group", name);
}

static rp_result write_point_data(rp__io_h5 *h, hid_t vtk, const rp_frame *frame, bool compressed, void *rows)
{
    hid_t group;
    RP_TRY(open_group(vtk, h->target.path, "PointData", &group));
    rp_result result = RP_OK;
    for (int f = 1; f < frame->field_count && result == RP_OK; f++)
        result = write_field(h, group, frame->fields[f].info.name, &frame->fields[f], compressed, rows);
    H5Gclose(group);
    return result;
}

static rp_result write_field_data(rp__io_h5 *h, hid_t vtk, const rp_frame *frame)
{
    hid_t group;
    const hsize_t one = 1;
    RP_TRY(open_group(vtk, h->target.path, "FieldData", &group));
    rp_result result = rp__io_h5_put(group, h->target.path, "TimeValue", false, RP_F64, 1, &one, &frame->time);
    if (result == RP_OK)
        result = rp__io_h5_put(group, h->target.path, "FrameIndex", false, RP_I64, 1, &one, &frame->index);
    H5Gclose(group);
    return result;
}

static rp_result fill_vtk(rp__io_h5 *h, hid_t vtk, const rp_frame *frame, bool compressed, void *rows)
{
    const char *path = h->target.path;
    const int64_t version[2] = { 1, 0 };
    const hsize_t two = 2;
    RP_TRY(rp__io_h5_put(vtk, path, "Version", true, RP_I64, 1, &two, version));
    RP_TRY(rp__io_h5_put_text(vtk, path, "Type", "UnstructuredGrid"));
    RP_TRY(write_counts(vtk, path, frame->count));
    RP_TRY(write_field(h, vtk, "Points", &frame->fields[0], compressed, rows));
    RP_TRY(write_counting(h, vtk, "Connectivity", frame->count, compressed, rows));
    RP_TRY(write_counting(h, vtk, "Offsets", frame->count + 1, compressed, rows));
    RP_TRY(write_types(h, vtk, frame->count, compressed, rows));
    RP_TRY(write_point_data(h, vtk, frame, compressed, rows));
    return write_field_data(h, vtk, frame);
}

/* ---- the group REPOSE ---- */

static rp_result write_names(hid_t group, const char *path, const rp_frame *frame)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    hsize_t count = (hsize_t)frame->body_count;
    hid_t space = H5Screate_simple(1, &count, NULL), properties = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    bool fine = H5Tset_size(type, sizeof frame->body_names[0]) >= 0 && H5Pset_obj_track_times(properties, false) >= 0;
    if (fine) {
        dataset = H5Dcreate2(group, "name", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        fine = dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, frame->body_names) >= 0;
        H5Dclose(dataset);
    }
    H5Pclose(properties);
    H5Sclose(space);
    H5Tclose(type);
    return fine ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, path, "writing", "name");
}

static void body_column(const rp_frame *frame, size_t offset, int width, double *out)
{
    for (int b = 0; b < frame->body_count; b++)
        memcpy(out + b * width, (const char *)&frame->bodies[b] + offset, (size_t)width * sizeof *out);
}

static rp_result fill_bodies(hid_t group, const char *path, const rp_frame *frame, double *scratch)
{
    static const struct { const char *name; size_t offset; int width; } columns[] = {
        { "position", offsetof(rp_body_state, position), 3 },
        { "orientation", offsetof(rp_body_state, orientation), 4 },
        { "velocity", offsetof(rp_body_state, velocity), 3 },
        { "angular_velocity", offsetof(rp_body_state, angular_velocity), 3 },
        { "force", offsetof(rp_body_state, force), 3 },
        { "torque", offsetof(rp_body_state, torque), 3 },
        { "mass", offsetof(rp_body_state, mass), 1 },
    };
    RP_TRY(write_names(group, path, frame));
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        hsize_t dims[2] = { (hsize_t)frame->body_count, (hsize_t)columns[k].width };
        body_column(frame, columns[k].offset, columns[k].width, scratch);
        RP_TRY(rp__io_h5_put(group, path, columns[k].name, false, RP_F64, columns[k].width > 1 ? 2 : 1, dims, scratch));
    }
    int32_t *present = (int32_t *)scratch;
    hsize_t count = (hsize_t)frame->body_count;
    for (int b = 0; b < frame->body_count; b++)
        present[b] = frame->bodies[b].present;
    return rp__io_h5_put(group, path, "present", false, RP_I32, 1, &count, present);
}

static rp_result write_bodies(hid_t repose, const char *path, const rp_frame *frame)
{
    if (frame->body_count == 0)
        return RP_OK;
    double *scratch = RP_NEW_ARRAY(double, frame->body_count * 4);
    if (!scratch)
        return RP_OUT_OF_MEMORY;
    hid_t group;
    rp_result result = open_group(repose, path, "bodies", &group);
    if (result == RP_OK) {
        result = fill_bodies(group, path, frame, scratch);
        H5Gclose(group);
    }
    rp__base_free(scratch);
    return result;
}

static rp_result fill_repose(hid_t group, const char *path, const rp_frame *frame)
{
    const hsize_t three = 3;
    int64_t dim = frame->dim;
    RP_TRY(rp__io_h5_put_text(group, path, "version", RP_VERSION_TEXT));
    RP_TRY(rp__io_h5_put(group, path, "time", true, RP_F64, 0, NULL, &frame->time));
    RP_TRY(rp__io_h5_put(group, path, "frame", true, RP_I64, 0, NULL, &frame->index));
    RP_TRY(rp__io_h5_put(group, path, "step", true, RP_I64, 0, NULL, &frame->step));
    RP_TRY(rp__io_h5_put(group, path, "dim", true, RP_I64, 0, NULL, &dim));
    RP_TRY(rp__io_h5_put(group, path, "cell_size", true, RP_F64, 0, NULL, &frame->cell_size));
    RP_TRY(rp__io_h5_put(group, path, "frame_rate", true, RP_F64, 0, NULL, &frame->frame_rate));
    RP_TRY(rp__io_h5_put(group, path, "lower", true, RP_F64, 1, &three, frame->lower));
    RP_TRY(rp__io_h5_put(group, path, "upper", true, RP_F64, 1, &three, frame->upper));
    return write_bodies(group, path, frame);
}

static int64_t expected_size(const rp_frame *frame)
{
    int64_t row = 8 + 8 + 1; /* connectivity, offsets, types */
    for (int f = 0; f < frame->field_count; f++)
        row += (int64_t)rp__io_type_size(frame->fields[f].info.type) * frame->fields[f].info.components;
    return frame->count * row + 65536;
}

static rp_result check_fields(const rp_frame *frame)
{
    if (frame->field_count < 1 || strcmp(frame->fields[0].info.name, "position") != 0 ||
        frame->fields[0].info.components != 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "the first field of a frame must be 'position', with 3 components");
    for (int f = 0; f < frame->field_count; f++) {
        const rp_field_view *view = &frame->fields[f];
        if (view->count != frame->count || view->info.components < 1 || view->info.components > 9)
            return rp__base_fail(RP_BAD_ARGUMENT, "field '%s' of a frame has %lld rows of %d, and there are %lld particles",
                                 view->info.name, (long long)view->count, view->info.components, (long long)frame->count);
    }
    return RP_OK;
}

static rp_result fill_file(rp__io_h5 *h, const rp_frame *frame, bool compressed)
{
    void *rows = rp__base_alloc_array(BLOCK, 9 * sizeof(double));
    if (!rows)
        return RP_OUT_OF_MEMORY;
    hid_t group;
    rp_result result = open_group(h->file, h->target.path, "VTKHDF", &group);
    if (result == RP_OK) {
        result = fill_vtk(h, group, frame, compressed, rows);
        H5Gclose(group);
    }
    rp__base_free(rows);
    if (result == RP_OK)
        result = open_group(h->file, h->target.path, "REPOSE", &group);
    if (result == RP_OK) {
        result = fill_repose(group, h->target.path, frame);
        H5Gclose(group);
    }
    return result;
}

rp_result rp__io_frame_write(const rp_frame *frame, const char *path, bool compressed)
{
    RP_TRY(check_fields(frame));
    rp__io_h5 h;
    RP_TRY(rp__io_h5_create(&h, path, expected_size(frame)));
    rp_result result = fill_file(&h, frame, compressed);
    if (result == RP_OK)
        return rp__io_h5_commit(&h);
    result = rp__io_h5_result(&h, result);
    rp__io_h5_drop(&h);
    return result;
}
