/* The legend of a coloured field: the map as a bar, round numbers below it, the title above. */
#include "base/units.h"
#include "render/canvas.h"
#include "render/internal.h"

#include <stdio.h>

rp_result rp__render_legend(rp_image *image, const char *title, double low, double high, bool above)
{
    const uint8_t ink[3] = { 25, 25, 28 }, paper[3] = { 255, 255, 255 };
    double size = fmax(7, image->height / 60.0), bar = fmin(0.3 * image->width, 24 * size), thick = size;
    double right = image->width - 2 * size, left = right - bar, base = above ? 5 * size : image->height - 3.2 * size;
    if (left < 0 || base > image->height - 3 * size || base - thick - 2 * size < 0)
        return RP_OK; /* too small a picture for a legend */
    if (!(high > low))
        high = low + (low != 0 ? fabs(low) : 1) * 1e-6;
    rp__canvas_box(image, left - size, base - thick - 2.4 * size, right + size, base + 2.4 * size, paper, 0.82);
    for (int x = 0; x < (int)bar; x++) {
        uint8_t rgb[3];
        rp_colour_map((x + 0.5) / (int)bar, rgb);
        rp__canvas_box(image, left + x, base - thick, left + x + 1, base, rgb, 1);
    }
    RP_TRY(rp__font_draw(image, title, left, base - thick - 0.7 * size, size, 0, 1, ink));
    double first, step;
    rp__canvas_ticks(low, high, 4, &first, &step);
    for (int k = 0; k < 12; k++) {
        double value = first + k * step, at = left + (value - low) / (high - low) * bar;
        if (value > high + 1e-9 * step)
            break;
        char text[32];
        snprintf(text, sizeof text, "%.4g", fabs(value) < 1e-9 * step ? 0 : value);
        double tick[4] = { at, base, at, base + 0.35 * size };
        RP_TRY(rp__canvas_strokes(image, tick, 1, fmax(1, size / 9), ink, 1));
        double width = rp__font_width(text, 0.85 * size), x = at - 0.5 * width;
        x = fmin(fmax(x, left - 0.8 * size), right + 0.8 * size - width);
        RP_TRY(rp__font_draw(image, text, x, base + 1.6 * size, 0.85 * size, 0, 1, ink));
    }
    return RP_OK;
}

rp_result rp_image_add_legend(rp_image *image, const char *title, double low, double high)
{
    return rp__render_legend(image, title, low, high, false);
}
