/* Anti-aliased strokes, boxes and discs over an image. */
#include "render/canvas.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static void mix(uint8_t *pixel, const uint8_t rgb[3], double cover)
{
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)(pixel[c] + cover * (rgb[c] - pixel[c]) + 0.5);
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double segment_distance(const double s[4], double x, double y)
{
    double dx = s[2] - s[0], dy = s[3] - s[1], l2 = dx * dx + dy * dy;
    double t = l2 > 0 ? clamp01(((x - s[0]) * dx + (y - s[1]) * dy) / l2) : 0;
    return hypot(x - s[0] - t * dx, y - s[1] - t * dy);
}

/* A range of whole pixels around low … high, inside 0 … size. */
static void pixel_range(double low, double high, int size, int *first, int *last)
{
    *first = low < 0 ? 0 : low > size ? size : (int)low;
    *last = high < 0 ? 0 : high > size ? size : (int)ceil(high);
}

rp_result rp__canvas_strokes(rp_image *image, const double *segments, int64_t count, double width, const uint8_t rgb[3],
                             double opacity)
{
    double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY }, margin = 0.5 * width + 1;
    for (int64_t i = 0; i < 2 * count; i++)
        for (int d = 0; d < 2; d++) {
            low[d] = fmin(low[d], segments[2 * i + d] - margin);
            high[d] = fmax(high[d], segments[2 * i + d] + margin);
        }
    int x0, x1, y0, y1;
    if (count == 0 || !isfinite(low[0] + low[1] + high[0] + high[1]))
        return RP_OK;
    pixel_range(low[0], high[0], image->width, &x0, &x1);
    pixel_range(low[1], high[1], image->height, &y0, &y1);
    if (x0 >= x1 || y0 >= y1)
        return RP_OK;
    int w = x1 - x0;
    float *cover = rp__base_alloc_zero(sizeof *cover * (size_t)w * (size_t)(y1 - y0));
    if (!cover)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        const double *s = segments + 4 * i;
        int ax, bx, ay, by;
        pixel_range(fmin(s[0], s[2]) - margin, fmax(s[0], s[2]) + margin, image->width, &ax, &bx);
        pixel_range(fmin(s[1], s[3]) - margin, fmax(s[1], s[3]) + margin, image->height, &ay, &by);
        for (int y = ay; y < by; y++)
            for (int x = ax; x < bx; x++) {
                float *c = &cover[(size_t)(y - y0) * (size_t)w + (size_t)(x - x0)];
                float here = (float)clamp01(0.5 * width + 0.5 - segment_distance(s, x + 0.5, y + 0.5));
                *c = here > *c ? here : *c; /* where strokes meet nothing is counted twice */
            }
    }
    double thin = width < 1 ? width : 1;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            double c = (double)cover[(size_t)(y - y0) * (size_t)w + (size_t)(x - x0)];
            if (c > 0)
                mix(image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x), rgb, c * opacity * thin);
        }
    rp__base_free(cover);
    return RP_OK;
}

void rp__canvas_box(rp_image *image, double x0, double y0, double x1, double y1, const uint8_t rgb[3], double opacity)
{
    int ax, bx, ay, by;
    pixel_range(x0, x1, image->width, &ax, &bx);
    pixel_range(y0, y1, image->height, &ay, &by);
    for (int y = ay; y < by; y++)
        for (int x = ax; x < bx; x++) {
            double cx = fmin(x + 1, x1) - fmax(x, x0), cy = fmin(y + 1, y1) - fmax(y, y0);
            if (cx > 0 && cy > 0)
                mix(image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x), rgb, cx * cy * opacity);
        }
}

rp_result rp__canvas_disc(rp_image *image, double x, double y, double radius, const uint8_t rgb[3])
{
    double dot[4] = { x, y, x, y };
    return rp__canvas_strokes(image, dot, 1, 2 * radius, rgb, 1);
}

/* Ticks at 1, 2 or 5 times a power of ten. */
void rp__canvas_ticks(double low, double high, int about, double *first, double *step)
{
    double raw = (high - low) / about, power = pow(10, floor(log10(raw))), part = raw / power;
    *step = (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
    *first = ceil(low / *step - 1e-9) * *step;
}
