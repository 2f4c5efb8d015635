/* Drawing over images: anti-aliased strokes, boxes, discs, and text in a stroke font of our own. */
#ifndef RP_RENDER_CANVAS_H
#define RP_RENDER_CANVAS_H

#include <repose/render.h>
#include <stddef.h>

/* `count` segments x0 y0 x1 y1 with round ends, as one shape (no joint is counted twice). Pixels, y downwards. */
rp_result rp__canvas_strokes(rp_image *image, const double *segments, int64_t count, double width, const uint8_t rgb[3],
                             double opacity);
void rp__canvas_box(rp_image *image, double x0, double y0, double x1, double y1, const uint8_t rgb[3], double opacity);
rp_result rp__canvas_disc(rp_image *image, double x, double y, double radius, const uint8_t rgb[3]);

/* Width of a text whose capitals are `size` high. */
double rp__font_width(const char *text, double size);
/* Left end of the baseline at (x, y); turned by `angle` [rad], anticlockwise. `weight` 1 = regular. */
rp_result rp__font_draw(rp_image *image, const char *text, double x, double y, double size, double angle, double weight,
                        const uint8_t rgb[3]);

/* About `about` ticks at round numbers within low … high: the first and the step. */
void rp__canvas_ticks(double low, double high, int about, double *first, double *step);

#endif
