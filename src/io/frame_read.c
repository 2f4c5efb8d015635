/* Frames back into planar arrays. Every size is checked against what the file can hold before memory is asked for. */
#include "base/error.h"
#include "base/memory.h"
#include "io/io.h"
#include "io/source.h"

#include <string.h>

enum { BLOCK = 32768, MAX_FIELDS = 256, MAX_BODIES = 1 << 20 };

size_t rp__io_type_size(rp_type type)
{
    return type == RP_F64 || type == RP_I64 ? 8 : 4;
}

typedef struct reader {
    rp__io_source *source;
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
    return rp__base_fail(RP_BAD_FILE, "%s: '%s' %s", r->source->path, name, what);
}

/* The object of a name; one that is not there is a frame without something that it must have. */
static rp_result find(const reader *r, uint64_t from, const char *name, uint64_t *object)
{
    rp_result result = rp__hdf5_find(&r->source->file, from, name, object);
    return result == RP_NOT_FOUND ? damaged(r, name, "is missing") : rp__io_source_failed(r->source, result);
}

/* Our type for one of HDF5's: false for texts and such. */
static bool find_type(const rp__hdf5_array *array, rp_type *type)
{
    if (array->kind == RP_HDF5_REAL)
        *type = array->width > 4 ? RP_F64 : RP_F32;
    else if (array->kind == RP_HDF5_INTEGER)
        *type = array->width > 4 ? RP_I64 : RP_I32;
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

static rp_result read_rows(const rp__hdf5_array *array, const rp_field_info *info, int64_t total, void *data)
{
    void *rows = rp__base_alloc_array((size_t)(total < BLOCK ? total : BLOCK), (size_t)info->components * sizeof(double));
    if (!rows)
        return RP_OUT_OF_MEMORY;
    uint64_t columns = (uint64_t)info->components;
    for (int64_t i = 0; i < total; i += BLOCK) {
        int64_t count = total - i < BLOCK ? total - i : BLOCK;
        rp__hdf5_numbers(array, (uint64_t)i * columns, (uint64_t)count * columns, info->type, rows);
        scatter(info, rows, i, count, total, data);
    }
    rp__base_free(rows);
    return RP_OK;
}

static rp_result read_unit(reader *r, uint64_t object, const char **unit)
{
    char text[64] = "";
    rp__hdf5_array array;
    rp_result result = rp__hdf5_attribute(&r->source->file, object, "unit", &array);
    if (result == RP_OUT_OF_MEMORY)
        return result;
    if (result == RP_OK && array.kind == RP_HDF5_TEXT && array.count == 1)
        rp__hdf5_text(&array, 0, text, sizeof text);
    char *copy = take(r, strlen(text) + 1, 1);
    *unit = copy ? strcpy(copy, text) : NULL;
    return copy ? RP_OK : RP_OUT_OF_MEMORY;
}

/* What the field is, and room for its numbers. */
static rp_result prepare(reader *r, uint64_t object, const rp__hdf5_array *array, const char *as, size_t length, rp_field_info *info, void **data)
{
    char *name = take(r, length + 1, 1);
    if (!name)
        return RP_OUT_OF_MEMORY;
    memcpy(name, as, length);
    name[length] = '\0';
    info->name = name;
    info->components = array->axes == 2 ? (int)array->dims[1] : 1;
    info->saved = 1;
    RP_TRY(read_unit(r, object, &info->unit));
    *data = take(r, (size_t)array->count, rp__io_type_size(info->type));
    return *data ? RP_OK : RP_OUT_OF_MEMORY;
}

static rp_result read_array(reader *r, uint64_t object, const char *as, size_t length)
{
    rp_frame *frame = r->frame;
    rp_field_info info = { 0 };
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)length, as);
    if (frame->field_count == r->capacity)
        return rp__base_fail(RP_BAD_FILE, "%s has more than %d fields", r->source->path, r->capacity);
    rp__hdf5_array array;
    rp_result result = rp__hdf5_describe(&r->source->file, object, &array);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "%s: '%s': ", r->source->path, name);
    if (array.axes < 1 || array.axes > 2 || (array.axes == 2 && (array.dims[1] < 1 || array.dims[1] > 9)))
        return damaged(r, name, "has a shape that no field has");
    if (!find_type(&array, &info.type))
        return damaged(r, name, "does not hold numbers");
    if (array.dims[0] != (uint64_t)frame->count)
        return damaged(r, name, "has another number of rows than there are particles");
    result = rp__hdf5_load(&r->source->file, &array);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "%s: '%s' ", r->source->path, name);
    void *data = NULL;
    result = prepare(r, object, &array, as, length, &info, &data);
    if (result == RP_OK)
        result = read_rows(&array, &info, frame->count, data);
    rp__hdf5_release(&array);
    if (result == RP_OK)
        frame->fields[frame->field_count++] = (rp_field_view){ info, data, frame->count, frame->count };
    return result;
}

static rp_result read_point_data(reader *r, uint64_t vtk)
{
    uint64_t group;
    rp__hdf5_links links;
    RP_TRY(find(r, vtk, "PointData", &group));
    rp_result result = rp__io_source_failed(r->source, rp__hdf5_list(&r->source->file, group, &links));
    if (result != RP_OK)
        return result;
    for (int64_t i = 0; i < links.count && result == RP_OK; i++) {
        const rp__hdf5_link *link = &links.link[i];
        if (link->length == 0 || link->length >= 256 || memchr(link->name, '\0', link->length))
            result = damaged(r, "PointData", "has a field without a usable name");
        else
            result = read_array(r, link->object, link->name, link->length);
    }
    rp__hdf5_links_free(&links);
    return result;
}

static rp_result read_facts(reader *r, uint64_t repose)
{
    rp_frame *frame = r->frame;
    int64_t dim = 0;
    RP_TRY(rp__io_source_attribute(r->source, repose, "time", RP_F64, 1, &frame->time));
    RP_TRY(rp__io_source_attribute(r->source, repose, "frame", RP_I64, 1, &frame->index));
    RP_TRY(rp__io_source_attribute(r->source, repose, "step", RP_I64, 1, &frame->step));
    RP_TRY(rp__io_source_attribute(r->source, repose, "dim", RP_I64, 1, &dim));
    RP_TRY(rp__io_source_attribute(r->source, repose, "cell_size", RP_F64, 1, &frame->cell_size));
    RP_TRY(rp__io_source_attribute(r->source, repose, "frame_rate", RP_F64, 1, &frame->frame_rate));
    RP_TRY(rp__io_source_attribute(r->source, repose, "lower", RP_F64, 3, frame->lower));
    RP_TRY(rp__io_source_attribute(r->source, repose, "upper", RP_F64, 3, frame->upper));
    if (dim != 2 && dim != 3)
        return damaged(r, "dim", "is neither 2 nor 3");
    frame->dim = (int)dim;
    return RP_OK;
}

static rp_result read_body_column(reader *r, uint64_t group, const char *name, size_t offset, int width, double *scratch)
{
    rp_frame *frame = r->frame;
    RP_TRY(rp__io_source_numbers(r->source, group, name, RP_F64, (int64_t)frame->body_count * width, scratch));
    for (int b = 0; b < frame->body_count; b++)
        memcpy((char *)&frame->bodies[b] + offset, scratch + b * width, (size_t)width * sizeof *scratch);
    return RP_OK;
}

static rp_result take_names(reader *r, const rp__hdf5_array *array)
{
    rp_frame *frame = r->frame;
    frame->body_names = take(r, (size_t)array->count, sizeof frame->body_names[0]);
    frame->bodies = take(r, (size_t)array->count, sizeof *frame->bodies);
    if (!frame->body_names || !frame->bodies)
        return RP_OUT_OF_MEMORY;
    memset(frame->bodies, 0, (size_t)array->count * sizeof *frame->bodies);
    memset(frame->body_names, 0, (size_t)array->count * sizeof frame->body_names[0]); /* other formats write them whole */
    frame->body_count = (int)array->count;
    for (int b = 0; b < frame->body_count; b++)
        rp__hdf5_text(array, (uint64_t)b, frame->body_names[b], sizeof frame->body_names[b]);
    return RP_OK;
}

static rp_result read_names(reader *r, uint64_t group)
{
    uint64_t object;
    rp__hdf5_array array;
    RP_TRY(find(r, group, "name", &object));
    RP_TRY(rp__io_source_failed(r->source, rp__hdf5_describe(&r->source->file, object, &array)));
    if (array.count < 1 || array.count > MAX_BODIES || array.kind != RP_HDF5_TEXT)
        return damaged(r, "bodies/name", "is no list of names");
    rp_result result = rp__hdf5_load(&r->source->file, &array);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "%s: 'bodies/name' ", r->source->path);
    result = take_names(r, &array);
    rp__hdf5_release(&array);
    return result;
}

static rp_result read_body_states(reader *r, uint64_t group)
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
    RP_TRY(rp__io_source_numbers(r->source, group, "present", RP_F64, frame->body_count, scratch));
    for (int b = 0; b < frame->body_count; b++)
        frame->bodies[b].present = scratch[b] != 0;
    return RP_OK;
}

static rp_result read_repose(reader *r)
{
    const rp__hdf5_file *file = &r->source->file;
    uint64_t repose, bodies;
    rp_result result = rp__hdf5_find(file, file->root, "REPOSE", &repose);
    if (result == RP_NOT_FOUND) {
        bool problem = rp__hdf5_find(file, file->root, "fclib_local", &repose) == RP_OK || rp__hdf5_find(file, file->root, "fclib_global", &repose) == RP_OK;
        return rp__base_fail(RP_BAD_FILE, "%s is an HDF5 file but no frame of Repose: it has no group REPOSE%s", r->source->path,
                             problem ? "; friction problems are told by 'repose friction info'" : "");
    }
    RP_TRY(rp__io_source_failed(r->source, result));
    RP_TRY(read_facts(r, repose));
    result = rp__hdf5_find(file, repose, "bodies", &bodies);
    if (result == RP_NOT_FOUND)
        return RP_OK;
    RP_TRY(rp__io_source_failed(r->source, result));
    RP_TRY(read_names(r, bodies));
    return read_body_states(r, bodies);
}

static rp_result read_all(reader *r)
{
    uint64_t vtk, points;
    RP_TRY(read_repose(r));
    r->capacity = MAX_FIELDS;
    r->frame->fields = take(r, MAX_FIELDS, sizeof *r->frame->fields);
    if (!r->frame->fields)
        return RP_OUT_OF_MEMORY;
    RP_TRY(find(r, r->source->file.root, "VTKHDF", &vtk));
    RP_TRY(rp__io_source_numbers(r->source, vtk, "NumberOfPoints", RP_I64, 1, &r->frame->count));
    RP_TRY(find(r, vtk, "Points", &points));
    RP_TRY(read_array(r, points, "position", strlen("position")));
    if (r->frame->fields[0].info.components != 3)
        return damaged(r, "Points", "does not have three columns");
    return read_point_data(r, vtk);
}

rp_result rp_frame_read(const char *path, rp_frame *out)
{
    memset(out, 0, sizeof *out);
    rp__io_source source;
    RP_TRY(rp__io_source_open(&source, path));
    rp_frame frame = { 0 };
    rp__arena *arena = RP_NEW(rp__arena);
    rp_result result = RP_OUT_OF_MEMORY;
    if (arena) {
        rp__arena_init(arena, 4096);
        frame.storage = arena;
        reader r = { &source, &frame, arena, 0 };
        result = read_all(&r);
    }
    rp__io_source_close(&source);
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
