#include "shape/image.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <ctype.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

enum { LARGEST_SIDE = 32768, MOST_PIXELS = 1 << 28, MESSAGE = 200 };
#define LARGEST_FILE ((size_t)1 << 30)

/* ---- PNG ---- */

typedef struct reader {
    const unsigned char *data;
    size_t size, at;
    char message[MESSAGE];
    png_structp png;
    png_infop info;
    unsigned char *row;
    uint16_t *grey;
} reader;

static void take(png_structp png, png_bytep to, size_t count)
{
    reader *r = png_get_io_ptr(png);
    if (count > r->size - r->at)
        png_error(png, "it ends too early");
    memcpy(to, r->data + r->at, count);
    r->at += count;
}

static void failed(png_structp png, png_const_charp message)
{
    reader *r = png_get_error_ptr(png);
    strncpy(r->message, message, MESSAGE - 1);
    png_longjmp(png, 1);
}

static void ignored(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static png_voidp allocate(png_structp png, png_alloc_size_t size)
{
    (void)png;
    return rp__base_alloc(size);
}

static void release(png_structp png, png_voidp pointer)
{
    (void)png;
    rp__base_free(pointer);
}

/* Everything that may jump is in here; what must be freed is in the reader. */
static int read_png(reader *r, rp__shape_image *image)
{
    if (setjmp(png_jmpbuf(r->png)))
        return 0;
    png_set_read_fn(r->png, r, take);
    png_set_user_limits(r->png, LARGEST_SIDE, LARGEST_SIDE);
    png_read_info(r->png, r->info);
    int type = png_get_color_type(r->png, r->info), bits = png_get_bit_depth(r->png, r->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(r->png);
    if (type == PNG_COLOR_TYPE_GRAY && bits < 8)
        png_set_expand_gray_1_2_4_to_8(r->png);
    if (bits < 16)
        png_set_expand_16(r->png);
    if (type & PNG_COLOR_MASK_COLOR)
        png_set_rgb_to_gray_fixed(r->png, PNG_ERROR_ACTION_NONE, -1, -1);
    if ((type & PNG_COLOR_MASK_ALPHA) || png_get_valid(r->png, r->info, PNG_INFO_tRNS))
        png_set_strip_alpha(r->png);
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    int64_t width = png_get_image_width(r->png, r->info), height = png_get_image_height(r->png, r->info);
    size_t bytes = png_get_rowbytes(r->png, r->info);
    if (width * height > MOST_PIXELS)
        png_error(r->png, "it has more than 268 million pixels");
    if (bytes != (size_t)width * 2)
        png_error(r->png, "its pixels cannot be made grey");
    r->row = RP_NEW_ARRAY(unsigned char, (size_t)height * bytes); /* interlaced pictures need all rows at once */
    r->grey = RP_NEW_ARRAY(uint16_t, width * height);
    if (!r->row || !r->grey)
        png_error(r->png, "no memory for its pixels");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t j = 0; j < height; j++)
            png_read_row(r->png, r->row + (size_t)j * bytes, NULL);
    for (int64_t i = 0; i < width * height; i++)
        r->grey[i] = (uint16_t)(r->row[2 * i] << 8 | r->row[2 * i + 1]);
    image->width = width, image->height = height;
    return 1;
}

static rp_result decode_png(const char *path, const char *data, size_t size, rp__shape_image *image)
{
    reader r = { .data = (const unsigned char *)data, .size = size, .message = "no message" };
    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, failed, ignored, NULL, allocate, release);
    if (r.png)
        r.info = png_create_info_struct(r.png);
    int done = 0;
    if (r.info)
        done = read_png(&r, image);
    else
        strcpy(r.message, "no memory to read it");
    if (r.png)
        png_destroy_read_struct(&r.png, r.info ? &r.info : NULL, NULL);
    rp__base_free(r.row);
    if (!done) {
        rp__base_free(r.grey);
        return rp__base_fail(strstr(r.message, "no memory") || strstr(r.message, "emory") ? RP_OUT_OF_MEMORY : RP_BAD_FILE,
                             "%s: the PNG picture is damaged or not supported: %s", path, r.message);
    }
    image->grey = r.grey;
    return RP_OK;
}

/* ---- PGM ---- */

/* The next number of a header or of plain pixels; -1 when there is none. */
static int64_t number(const char **at, const char *end)
{
    const char *s = *at;
    while (s < end && (isspace((unsigned char)*s) || *s == '#')) {
        if (*s == '#')
            while (s < end && *s != '\n')
                s++;
        else
            s++;
    }
    int64_t value = -1;
    while (s < end && isdigit((unsigned char)*s) && value < 1000000000) {
        value = (value < 0 ? 0 : value * 10) + (*s - '0');
        s++;
    }
    *at = s;
    return value;
}

static rp_result decode_pgm(const char *path, const char *data, size_t size, rp__shape_image *image)
{
    const char *at = data + 2, *end = data + size;
    bool plain = data[1] == '2';
    int64_t width = number(&at, end), height = number(&at, end), white = number(&at, end);
    if (width < 1 || height < 1 || width > LARGEST_SIDE || height > LARGEST_SIDE || white < 1 || white > 65535)
        return rp__base_fail(RP_BAD_FILE, "%s: the PGM picture has width %lld, height %lld and white %lld; sides go up to %d, white to 65535",
                             path, (long long)width, (long long)height, (long long)white, (int)LARGEST_SIDE);
    int bytes = white > 255 ? 2 : 1;
    if (!plain)
        at++; /* one space after the header */
    if (at > end || (end - at) < width * height * (plain ? 1 : bytes))
        return rp__base_fail(RP_BAD_FILE, "%s: the PGM picture ends too early for %lld × %lld pixels", path, (long long)width,
                             (long long)height);
    uint16_t *grey = RP_NEW_ARRAY(uint16_t, width * height);
    if (!grey)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < width * height; i++) {
        int64_t value;
        if (plain)
            value = number(&at, end);
        else {
            const unsigned char *b = (const unsigned char *)at + i * bytes;
            value = bytes == 2 ? b[0] << 8 | b[1] : b[0];
        }
        if (value < 0 || value > white) {
            rp__base_free(grey);
            return rp__base_fail(RP_BAD_FILE, "%s: pixel %lld of the PGM picture is missing or above %lld", path, (long long)i,
                                 (long long)white);
        }
        grey[i] = (uint16_t)((value * 65535 + white / 2) / white);
    }
    *image = (rp__shape_image){ width, height, grey };
    return RP_OK;
}

rp_result rp__shape_image_decode(const char *name, const char *data, size_t size, rp__shape_image *image)
{
    *image = (rp__shape_image){ 0, 0, NULL };
    if (size > 8 && png_sig_cmp((png_const_bytep)data, 0, 8) == 0)
        return decode_png(name, data, size, image);
    if (size > 8 && data[0] == 'P' && (data[1] == '2' || data[1] == '5'))
        return decode_pgm(name, data, size, image);
    return rp__base_fail(RP_BAD_FILE, "%s: not a PNG or PGM picture", name);
}

rp_result rp__shape_image_read(const char *path, rp__shape_image *image)
{
    char *data = NULL;
    size_t size = 0;
    if (!path)
        return rp__base_fail(RP_BAD_ARGUMENT, "picture: there is no path (NULL)");
    RP_TRY(rp__file_read(path, LARGEST_FILE, &data, &size));
    rp_result result = rp__shape_image_decode(path, data, size, image);
    rp__base_free(data);
    return result;
}
