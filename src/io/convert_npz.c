/* NumPy archives: a zip without compression, one .npy (version 1.0) an array. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/convert.h"

#include <string.h>

enum { DOS_DATE = 0x21 /* 1980-01-01: the same content gives the same bytes */ };
static const int64_t largest = 0xFFFFFFFF; /* of a zip without its 64-bit extension */

typedef struct archive {
    FILE *stream;
    rp__text directory; /* central directory, written last */
    int64_t offset;
    int entries;
} archive;

static void put_number(rp__text *text, uint32_t value, int bytes)
{
    for (int k = 0; k < bytes; k++) {
        char byte = (char)(value >> (8 * k) & 255);
        rp__text_append_bytes(text, &byte, 1);
    }
}

/* What a local header and a directory entry have in common: version, flags, method 0, time, date, checksum, sizes, lengths. */
static void put_common(rp__text *text, uint32_t crc, uint32_t size, uint32_t name_length)
{
    put_number(text, 20, 2);
    put_number(text, 0, 2);
    put_number(text, 0, 2);
    put_number(text, 0, 2);
    put_number(text, DOS_DATE, 2);
    put_number(text, crc, 4);
    put_number(text, size, 4);
    put_number(text, size, 4);
    put_number(text, name_length, 2);
    put_number(text, 0, 2);
}

/* The head of a .npy: magic, version, length, and a dictionary padded so that the data begin at a multiple of 64. */
static void put_npy_head(rp__text *text, const char *type, const char *shape)
{
    rp__text dictionary = { 0 };
    rp__text_append(&dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    while (!dictionary.failed && (dictionary.length + 11) % 64 != 0)
        rp__text_append_string(&dictionary, " ");
    rp__text_append_string(&dictionary, "\n");
    rp__text_append_bytes(text, "\x93NUMPY\x01\x00", 8);
    put_number(text, (uint32_t)dictionary.length, 2);
    rp__text_append_bytes(text, rp__text_string(&dictionary), dictionary.length);
    text->failed = text->failed || dictionary.failed;
    rp__text_free(&dictionary);
}

static rp_result put_array(archive *a, const char *name, const char *type, const char *shape, const void *data, size_t size)
{
    rp__text head = { 0 }, local = { 0 };
    char file[96];
    uint32_t length = (uint32_t)snprintf(file, sizeof file, "%.80s.npy", name);
    put_npy_head(&head, type, shape);
    int64_t whole = head.length + (int64_t)size;
    rp_result result = rp__text_result(&head);
    if (result == RP_OK && a->offset + whole + 4096 > largest)
        result = rp__base_fail(RP_TOO_LARGE, "a NumPy archive holds at most 4 GiB; convert fewer fields or use vtkhdf");
    if (result == RP_OK) {
        uint32_t crc = rp__io_crc32(rp__io_crc32(0, head.data, (size_t)head.length), data, size);
        put_number(&local, 0x04034b50, 4);
        put_common(&local, crc, (uint32_t)whole, length);
        rp__text_append_bytes(&local, file, length);
        put_number(&a->directory, 0x02014b50, 4);
        put_number(&a->directory, 20, 2);
        put_common(&a->directory, crc, (uint32_t)whole, length);
        put_number(&a->directory, 0, 4); /* no comment, disk 0 */
        put_number(&a->directory, 0, 2); /* attributes inside and outside */
        put_number(&a->directory, 0, 4);
        put_number(&a->directory, (uint32_t)a->offset, 4);
        rp__text_append_bytes(&a->directory, file, length);
        result = rp__text_result(&local);
    }
    if (result == RP_OK) {
        fwrite(local.data, 1, (size_t)local.length, a->stream);
        fwrite(head.data, 1, (size_t)head.length, a->stream);
        fwrite(data, 1, size, a->stream);
        a->offset += local.length + whole;
        a->entries++;
    }
    rp__text_free(&head);
    rp__text_free(&local);
    return result;
}

static rp_result put_end(archive *a)
{
    RP_TRY(rp__text_result(&a->directory));
    uint32_t size = (uint32_t)a->directory.length;
    put_number(&a->directory, 0x06054b50, 4);
    put_number(&a->directory, 0, 4);
    put_number(&a->directory, (uint32_t)a->entries, 2);
    put_number(&a->directory, (uint32_t)a->entries, 2);
    put_number(&a->directory, size, 4);
    put_number(&a->directory, (uint32_t)a->offset, 4);
    put_number(&a->directory, 0, 2);
    RP_TRY(rp__text_result(&a->directory));
    fwrite(a->directory.data, 1, (size_t)a->directory.length, a->stream);
    return RP_OK;
}

static rp_result put_field(archive *a, const rp_field_view *view)
{
    static const char *const types[] = { "<f8", "<f4", "<i8", "<i4" };
    size_t size = (size_t)view->count * (size_t)view->info.components * rp__io_type_size(view->info.type);
    void *rows = rp__base_alloc(size);
    if (!rows)
        return RP_OUT_OF_MEMORY;
    rp__io_gather(view, 0, view->count, rows);
    char shape[64];
    if (view->info.components > 1)
        snprintf(shape, sizeof shape, "(%lld, %d)", (long long)view->count, view->info.components);
    else
        snprintf(shape, sizeof shape, "(%lld,)", (long long)view->count);
    rp_result result = put_array(a, view->info.name, types[view->info.type], shape, rows, size);
    rp__base_free(rows);
    return result;
}

static rp_result put_body_column(archive *a, const rp_frame *frame, const char *name, size_t offset, int width)
{
    double *rows = RP_NEW_ARRAY(double, frame->body_count * width);
    if (!rows)
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < frame->body_count; b++)
        memcpy(rows + b * width, (const char *)&frame->bodies[b] + offset, (size_t)width * sizeof *rows);
    char shape[64];
    snprintf(shape, sizeof shape, "(%d, %d)", frame->body_count, width);
    rp_result result = put_array(a, name, "<f8", shape, rows, (size_t)frame->body_count * (size_t)width * sizeof *rows);
    rp__base_free(rows);
    return result;
}

static rp_result put_bodies(archive *a, const rp_frame *frame)
{
    if (frame->body_count == 0)
        return RP_OK;
    char shape[32];
    snprintf(shape, sizeof shape, "(%d,)", frame->body_count);
    RP_TRY(put_array(a, "body_name", "|S64", shape, frame->body_names, (size_t)frame->body_count * sizeof *frame->body_names));
    RP_TRY(put_body_column(a, frame, "body_position", offsetof(rp_body_state, position), 3));
    RP_TRY(put_body_column(a, frame, "body_orientation", offsetof(rp_body_state, orientation), 4));
    RP_TRY(put_body_column(a, frame, "body_velocity", offsetof(rp_body_state, velocity), 3));
    RP_TRY(put_body_column(a, frame, "body_angular_velocity", offsetof(rp_body_state, angular_velocity), 3));
    RP_TRY(put_body_column(a, frame, "body_force", offsetof(rp_body_state, force), 3));
    return put_body_column(a, frame, "body_torque", offsetof(rp_body_state, torque), 3);
}

static rp_result put_all(archive *a, const rp_frame *frame)
{
    int64_t dim = frame->dim;
    RP_TRY(put_array(a, "time", "<f8", "()", &frame->time, 8));
    RP_TRY(put_array(a, "frame", "<i8", "()", &frame->index, 8));
    RP_TRY(put_array(a, "step", "<i8", "()", &frame->step, 8));
    RP_TRY(put_array(a, "dim", "<i8", "()", &dim, 8));
    RP_TRY(put_array(a, "cell_size", "<f8", "()", &frame->cell_size, 8));
    RP_TRY(put_array(a, "lower", "<f8", "(3,)", frame->lower, 24));
    RP_TRY(put_array(a, "upper", "<f8", "(3,)", frame->upper, 24));
    for (int f = 0; f < frame->field_count; f++)
        RP_TRY(put_field(a, &frame->fields[f]));
    RP_TRY(put_bodies(a, frame));
    return put_end(a);
}

rp_result rp__io_npz_write(const rp_frame *frame, const char *path)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    archive a = { .stream = file.stream };
    rp_result result = put_all(&a, frame);
    rp__text_free(&a.directory);
    if (result == RP_OK)
        return rp__file_commit(&file);
    rp__file_drop(&file);
    return result;
}
