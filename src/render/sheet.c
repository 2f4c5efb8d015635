/* Contact sheets: many pictures small on one. */
#include "render/canvas.h"
#include "render/internal.h"

#include <string.h>

/* Means over the pixels that fall on one: the right way to make a picture smaller. In linear light. */
static void shrink_into(const rp_image *from, rp_image *to, int left, int top, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int x0 = (int)((int64_t)x * from->width / width), x1 = (int)((int64_t)(x + 1) * from->width / width);
            int y0 = (int)((int64_t)y * from->height / height), y1 = (int)((int64_t)(y + 1) * from->height / height);
            f3 sum = { 0, 0, 0 };
            int n = 0;
            for (int v = y0; v < (y1 > y0 ? y1 : y0 + 1); v++)
                for (int u = x0; u < (x1 > x0 ? x1 : x0 + 1); u++, n++)
                    sum = f3_add(sum, rp__render_linear(from->pixels + 3 * ((size_t)v * (size_t)from->width + (size_t)u)));
            float c[3] = { sum.x / (float)n, sum.y / (float)n, sum.z / (float)n };
            uint8_t *out = to->pixels + 3 * ((size_t)(top + y) * (size_t)to->width + (size_t)(left + x));
            for (int k = 0; k < 3; k++)
                out[k] = (uint8_t)(255 * rp__render_from_linear(fminf(1, c[k])) + 0.5f);
        }
}

rp_result rp_sheet(const rp_image *images, const char *const *captions, int count, int columns, int width, rp_image *out)
{
    const uint8_t ink[3] = { 60, 60, 64 };
    if (count < 1 || columns < 1 || width < 8)
        return rp__base_fail(RP_BAD_ARGUMENT, "a sheet of %d pictures in %d columns, each %d pixels wide, cannot be made", count,
                             columns, width);
    if (columns > count)
        columns = count;
    double size = fmax(7, width / 32.0);
    int gap = width / 40 + 2, caption = captions ? (int)(2.2 * size) : 0, rows = (count + columns - 1) / columns, tallest = 1;
    for (int i = 0; i < count; i++) {
        int h = (int)((int64_t)images[i].height * width / images[i].width);
        tallest = h > tallest ? h : tallest;
    }
    int64_t full_width = (int64_t)columns * (width + gap) + gap, full_height = (int64_t)rows * (tallest + caption + gap) + gap;
    if (full_width > RP_IMAGE_MAX_SIZE || full_height > RP_IMAGE_MAX_SIZE)
        return rp__base_fail(RP_TOO_LARGE, "the sheet would be %lld × %lld pixels; a side may have %d", (long long)full_width,
                             (long long)full_height, (int)RP_IMAGE_MAX_SIZE);
    rp_image sheet;
    RP_TRY(rp_image_create((int)full_width, (int)full_height, &sheet));
    for (int i = 0; i < count; i++) {
        int left = gap + i % columns * (width + gap), top = gap + i / columns * (tallest + caption + gap);
        int height = (int)((int64_t)images[i].height * width / images[i].width);
        shrink_into(&images[i], &sheet, left, top, width, height > 0 ? height : 1);
        if (captions && captions[i]) {
            rp_result result = rp_image_add_text(&sheet, captions[i], left + 2, top + height + 0.6 * size, size, ink);
            if (result != RP_OK) {
                rp_image_free(&sheet);
                return result;
            }
        }
    }
    *out = sheet;
    return RP_OK;
}
