/* VTK's XML for point sets: PolyData with one vertex a particle, arrays inline in base64 after their size in bytes. */
#include "base/error.h"
#include "base/memory.h"
#include "io/convert.h"

#include <string.h>

typedef struct base64 {
    FILE *stream;
    unsigned char hold[3];
    int held;
    char line[4096];
    size_t used;
} base64;

static void put_group(base64 *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = (unsigned)b->hold[0] << 16 | (unsigned)b->hold[1] << 8 | b->hold[2];
    char *out = b->line + b->used;
    out[0] = digits[bits >> 18];
    out[1] = digits[bits >> 12 & 63];
    out[2] = b->held > 1 ? digits[bits >> 6 & 63] : '=';
    out[3] = b->held > 2 ? digits[bits & 63] : '=';
    b->used += 4;
    b->held = 0;
    memset(b->hold, 0, sizeof b->hold);
    if (b->used == sizeof b->line) {
        fwrite(b->line, 1, b->used, b->stream);
        b->used = 0;
    }
}

static void put_bytes(base64 *b, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        b->hold[b->held++] = bytes[i];
        if (b->held == 3)
            put_group(b);
    }
}

static void put_end(base64 *b)
{
    if (b->held)
        put_group(b);
    fwrite(b->line, 1, b->used, b->stream);
    fputc('\n', b->stream);
}

static const char *type_name(rp_type type)
{
    static const char *const names[] = { "Float64", "Float32", "Int64", "Int32" };
    return names[type];
}

static base64 begin_array(FILE *stream, rp_type type, const char *name, int components, uint64_t rows)
{
    fprintf(stream, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"binary\">\n", type_name(type), name,
            components);
    base64 b = { .stream = stream };
    uint64_t bytes = rows * (uint64_t)components * rp__io_type_size(type);
    put_bytes(&b, &bytes, sizeof bytes);
    return b;
}

static void end_array(base64 *b)
{
    put_end(b);
    fputs("</DataArray>\n", b->stream);
}

static void put_field(FILE *stream, const char *name, const rp_field_view *view, void *rows)
{
    const rp_field_info *info = &view->info;
    base64 b = begin_array(stream, info->type, name, info->components, (uint64_t)view->count);
    for (int64_t i = 0; i < view->count; i += RP_IO_ROWS) {
        int64_t count = view->count - i < RP_IO_ROWS ? view->count - i : RP_IO_ROWS;
        rp__io_gather(view, i, count, rows);
        put_bytes(&b, rows, (size_t)count * (size_t)info->components * rp__io_type_size(info->type));
    }
    end_array(&b);
}

static void put_counting(FILE *stream, const char *name, int64_t first, int64_t count)
{
    base64 b = begin_array(stream, RP_I64, name, 1, (uint64_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t value = first + i;
        put_bytes(&b, &value, sizeof value);
    }
    end_array(&b);
}

static void put_file(FILE *stream, const rp_frame *frame, void *rows)
{
    fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
          "<PolyData>\n<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">",
          stream);
    fprintf(stream, "%.17g</DataArray>\n</FieldData>\n", frame->time);
    fprintf(stream, "<Piece NumberOfPoints=\"%lld\" NumberOfVerts=\"%lld\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">\n",
            (long long)frame->count, (long long)frame->count);
    fputs("<PointData>\n", stream);
    for (int f = 1; f < frame->field_count; f++)
        put_field(stream, frame->fields[f].info.name, &frame->fields[f], rows);
    fputs("</PointData>\n<Points>\n", stream);
    put_field(stream, "Points", &frame->fields[0], rows);
    fputs("</Points>\n<Verts>\n", stream);
    put_counting(stream, "connectivity", 0, frame->count);
    put_counting(stream, "offsets", 1, frame->count);
    fputs("</Verts>\n</Piece>\n</PolyData>\n</VTKFile>\n", stream);
}

rp_result rp__io_vtp_write(const rp_frame *frame, const char *path)
{
    void *rows = rp__base_alloc_array(RP_IO_ROWS, 9 * sizeof(double));
    if (!rows)
        return RP_OUT_OF_MEMORY;
    rp__file file;
    rp_result result = rp__file_begin(&file, path);
    if (result == RP_OK) {
        put_file(file.stream, frame, rows);
        result = rp__file_commit(&file);
    }
    rp__base_free(rows);
    return result;
}
