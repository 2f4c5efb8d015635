/* Images in memory and as PNG files, and how far two of them are apart. */
#include "base/file.h"
#include "render/internal.h"

#include <errno.h>
#include <png.h>
#include <string.h>

rp_result rp_image_create(int width, int height, rp_image *out)
{
    if (width < 1 || height < 1 || width > RP_IMAGE_MAX_SIZE || height > RP_IMAGE_MAX_SIZE)
        return rp__base_fail(RP_BAD_ARGUMENT, "a picture of %d × %d pixels cannot be made; each side must be 1 to %d", width,
                             height, (int)RP_IMAGE_MAX_SIZE);
    size_t size = 3 * (size_t)width * (size_t)height;
    uint8_t *pixels = rp__base_alloc(size);
    if (!pixels)
        return RP_OUT_OF_MEMORY;
    memset(pixels, 255, size);
    *out = (rp_image){ width, height, pixels };
    return RP_OK;
}

void rp_image_free(rp_image *image)
{
    rp__base_free(image->pixels);
    memset(image, 0, sizeof *image);
}

rp_result rp_image_write_png(const rp_image *image, const char *path)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    png_image png = { .version = PNG_IMAGE_VERSION, .width = (png_uint_32)image->width,
                      .height = (png_uint_32)image->height, .format = PNG_FORMAT_RGB };
    errno = 0;
    if (!png_image_write_to_stdio(&png, file.stream, 0, image->pixels, 3 * image->width, NULL)) {
        rp_result result = rp__base_fail(RP_IO_ERROR, "cannot write the picture %s: %s", path,
                                         errno ? strerror(errno) : png.message);
        rp__file_drop(&file);
        return result;
    }
    return rp__file_commit(&file);
}

rp_result rp_image_read_png(const char *path, rp_image *out)
{
    png_image png = { .version = PNG_IMAGE_VERSION };
    rp_image image = { 0 };
    if (!rp__file_exists(path))
        return rp__base_fail(RP_NOT_FOUND, "there is no picture %s", path);
    if (!png_image_begin_read_from_file(&png, path))
        return rp__base_fail(RP_BAD_FILE, "%s is not a sound PNG picture: %s", path, png.message);
    if (png.width > RP_IMAGE_MAX_SIZE || png.height > RP_IMAGE_MAX_SIZE) {
        png_image_free(&png);
        return rp__base_fail(RP_TOO_LARGE, "%s has a side above %d pixels", path, (int)RP_IMAGE_MAX_SIZE);
    }
    png.format = PNG_FORMAT_RGB;
    rp_result result = rp_image_create((int)png.width, (int)png.height, &image);
    if (result != RP_OK) {
        png_image_free(&png);
        return result;
    }
    png_color white = { 255, 255, 255 };
    if (!png_image_finish_read(&png, &white, image.pixels, 3 * image.width, NULL)) {
        result = rp__base_fail(RP_BAD_FILE, "%s is not a sound PNG picture: %s", path, png.message);
        rp_image_free(&image);
        return result;
    }
    *out = image;
    return RP_OK;
}

/* ---- comparison ---- */

/* Lab planes blurred by the binomial (1 2 1)/4 along rows and columns. */
static float *blurred_lab(const rp_image *a)
{
    int w = a->width, h = a->height;
    size_t n = (size_t)w * (size_t)h;
    float *lab = RP_NEW_ARRAY(float, 3 * n), *temp = RP_NEW_ARRAY(float, 3 * n);
    if (!lab || !temp) {
        rp__base_free(lab);
        rp__base_free(temp);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        double v[3];
        rp__render_lab(a->pixels + 3 * i, v);
        for (int c = 0; c < 3; c++)
            lab[3 * i + (size_t)c] = (float)v[c];
    }
    for (int pass = 0; pass < 2; pass++) {
        const float *from = pass ? temp : lab;
        float *to = pass ? lab : temp;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                int x0 = pass || x == 0 ? x : x - 1, x1 = pass || x == w - 1 ? x : x + 1;
                int y0 = !pass || y == 0 ? y : y - 1, y1 = !pass || y == h - 1 ? y : y + 1;
                for (int c = 0; c < 3; c++)
                    to[3 * (y * w + x) + c] = 0.25f * (from[3 * (y0 * w + x0) + c] + 2 * from[3 * (y * w + x) + c] +
                                                       from[3 * (y1 * w + x1) + c]);
            }
    }
    rp__base_free(temp);
    return lab;
}

rp_result rp_image_compare(const rp_image *a, const rp_image *b, double *mean, double *worst_block)
{
    enum { BLOCK = 8 };
    if (a->width != b->width || a->height != b->height)
        return rp__base_fail(RP_BAD_ARGUMENT, "pictures of %d × %d and %d × %d pixels cannot be compared", a->width, a->height,
                             b->width, b->height);
    float *la = blurred_lab(a), *lb = blurred_lab(b);
    rp_result result = la && lb ? RP_OK : RP_OUT_OF_MEMORY;
    double sum = 0, worst = 0;
    for (int y0 = 0; y0 < a->height && result == RP_OK; y0 += BLOCK)
        for (int x0 = 0; x0 < a->width; x0 += BLOCK) {
            double block = 0;
            int pixels = 0;
            for (int y = y0; y < y0 + BLOCK && y < a->height; y++)
                for (int x = x0; x < x0 + BLOCK && x < a->width; x++, pixels++) {
                    size_t i = 3 * ((size_t)y * (size_t)a->width + (size_t)x);
                    double d0 = (double)(la[i] - lb[i]), d1 = (double)(la[i + 1] - lb[i + 1]),
                           d2 = (double)(la[i + 2] - lb[i + 2]);
                    block += sqrt(d0 * d0 + d1 * d1 + d2 * d2);
                }
            sum += block;
            worst = fmax(worst, block / pixels);
        }
    rp__base_free(la);
    rp__base_free(lb);
    if (result == RP_OK) {
        if (mean)
            *mean = sum / ((double)a->width * a->height);
        if (worst_block)
            *worst_block = worst;
    }
    return result;
}
