/* PLY and CSV: one row a particle, all fields side by side. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/convert.h"

#include <string.h>

void rp__io_column_name(const rp_field_info *info, int c, char *buffer, size_t size)
{
    static const char *const vector[] = { "x", "y", "z" };
    static const char *const symmetric[] = { "xx", "yy", "zz", "xy", "yz", "xz" };
    static const char *const matrix[] = { "xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz" };
    if (info->components == 1)
        snprintf(buffer, size, "%s", info->name);
    else if (info->components == 3 && strcmp(info->name, "position") == 0)
        snprintf(buffer, size, "%s", vector[c]);
    else if (info->components == 3 && strcmp(info->name, "velocity") == 0)
        snprintf(buffer, size, "v%s", vector[c]);
    else if (info->components == 3)
        snprintf(buffer, size, "%s_%s", info->name, vector[c]);
    else if (info->components == 6)
        snprintf(buffer, size, "%s_%s", info->name, symmetric[c]);
    else if (info->components == 9)
        snprintf(buffer, size, "%s_%s", info->name, matrix[c]);
    else
        snprintf(buffer, size, "%s_%d", info->name, c);
}

/* ---- PLY ---- */

/* PLY knows no 64-bit integers: they become doubles, exact up to 2^53. */
static rp_type ply_type(rp_type type)
{
    return type == RP_I64 ? RP_F64 : type;
}

static size_t ply_header(FILE *stream, const rp_frame *frame)
{
    static const char *const names[] = { "double", "float", "", "int" };
    size_t row = 0;
    fprintf(stream, "ply\nformat binary_little_endian 1.0\ncomment Repose frame %lld at time %.17g s\nelement vertex %lld\n",
            (long long)frame->index, frame->time, (long long)frame->count);
    for (int f = 0; f < frame->field_count; f++) {
        const rp_field_info *info = &frame->fields[f].info;
        for (int c = 0; c < info->components; c++) {
            char name[96];
            rp__io_column_name(info, c, name, sizeof name);
            fprintf(stream, "property %s %s\n", names[ply_type(info->type)], name);
            row += rp__io_type_size(ply_type(info->type));
        }
    }
    fputs("element face 0\nproperty list uchar int vertex_indices\nend_header\n", stream);
    return row;
}

/* Puts component c of the particles into their rows, at byte `at`. */
static void ply_column(const rp_field_view *view, int c, int64_t first, int64_t count, unsigned char *rows, size_t row, size_t at)
{
    size_t width = rp__io_type_size(view->info.type);
    const unsigned char *plane =
        (const unsigned char *)view->data + (size_t)(rp__io_vtk_component(view->info.components, c) * view->stride + first) * width;
    for (int64_t i = 0; i < count; i++) {
        if (view->info.type == RP_I64) {
            double number = (double)((const int64_t *)(const void *)plane)[i];
            memcpy(rows + (size_t)i * row + at, &number, sizeof number);
        } else {
            memcpy(rows + (size_t)i * row + at, plane + (size_t)i * width, width);
        }
    }
}

static rp_result ply_rows(FILE *stream, const rp_frame *frame, size_t row)
{
    unsigned char *rows = rp__base_alloc_array(RP_IO_ROWS, row);
    if (!rows)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < frame->count; i += RP_IO_ROWS) {
        int64_t count = frame->count - i < RP_IO_ROWS ? frame->count - i : RP_IO_ROWS;
        size_t at = 0;
        for (int f = 0; f < frame->field_count; f++)
            for (int c = 0; c < frame->fields[f].info.components; c++) {
                ply_column(&frame->fields[f], c, i, count, rows, row, at);
                at += rp__io_type_size(ply_type(frame->fields[f].info.type));
            }
        fwrite(rows, row, (size_t)count, stream);
    }
    rp__base_free(rows);
    return RP_OK;
}

rp_result rp__io_ply_write(const rp_frame *frame, const char *path)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    size_t row = ply_header(file.stream, frame);
    rp_result result = ply_rows(file.stream, frame, row);
    if (result == RP_OK)
        return rp__file_commit(&file);
    rp__file_drop(&file);
    return result;
}

/* ---- CSV ---- */

static void csv_header(FILE *stream, const rp_frame *frame)
{
    for (int f = 0; f < frame->field_count; f++)
        for (int c = 0; c < frame->fields[f].info.components; c++) {
            char name[96];
            rp__io_column_name(&frame->fields[f].info, c, name, sizeof name);
            fprintf(stream, "%s%s", f || c ? "," : "", name);
        }
    fputc('\n', stream);
}

static void csv_cell(FILE *stream, const rp_field_view *view, int64_t at)
{
    char number[40] = "";
    switch (view->info.type) {
    case RP_F64: rp__units_format(((const double *)view->data)[at], number, sizeof number); break;
    case RP_F32: snprintf(number, sizeof number, "%.9g", (double)((const float *)view->data)[at]); break;
    case RP_I64: snprintf(number, sizeof number, "%lld", (long long)((const int64_t *)view->data)[at]); break;
    case RP_I32: snprintf(number, sizeof number, "%d", (int)((const int32_t *)view->data)[at]); break;
    }
    fputs(number, stream);
}

rp_result rp__io_csv_write(const rp_frame *frame, const char *path)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    csv_header(file.stream, frame);
    for (int64_t i = 0; i < frame->count; i++) {
        for (int f = 0; f < frame->field_count; f++) {
            const rp_field_view *view = &frame->fields[f];
            for (int c = 0; c < view->info.components; c++) {
                if (f || c)
                    fputc(',', file.stream);
                csv_cell(file.stream, view, rp__io_vtk_component(view->info.components, c) * view->stride + i);
            }
        }
        fputc('\n', file.stream);
    }
    return rp__file_commit(&file);
}
