/* Plots: axes, lines and a key, drawn the same way to SVG and to PNG. Units are points, y downwards. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "render/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STYLES = 8, MAX_DASH = 4 };

/* Colours that differ in lightness too, and dashes: lines stay apart in a grey print. */
static const uint8_t line_colours[STYLES][3] = { { 20, 70, 140 },  { 205, 80, 30 },  { 30, 130, 90 },   { 120, 50, 130 },
                                                 { 200, 150, 20 }, { 90, 160, 210 }, { 150, 30, 40 }, { 90, 90, 90 } };
static const double dashes[STYLES][MAX_DASH] = { { 0 },          { 7, 3 },       { 2.2, 2.2 }, { 8, 2.5, 2, 2.5 },
                                                 { 0 },          { 5, 2 },       { 1.2, 2 },   { 10, 3 } };
static const uint8_t black[3] = { 20, 20, 22 }, grid_grey[3] = { 222, 222, 224 }, paper[3] = { 255, 255, 255 };

typedef enum anchor { LEFT, MIDDLE, RIGHT } anchor;

/* One of the two is used. */
typedef struct surface {
    rp_image *image;
    double scale;
    rp__text *svg;
    rp_result result;
} surface;

static void number(rp__text *t, double v)
{
    rp__text_append_number(t, floor(v * 100 + 0.5) / 100);
}

static void point(rp__text *t, double x, double y)
{
    number(t, x);
    rp__text_append_string(t, ",");
    number(t, y);
}

static void keep(surface *s, rp_result result)
{
    if (s->result == RP_OK)
        s->result = result;
}

/* ---- strokes ---- */

typedef struct segments {
    double *xy;
    int64_t count, capacity;
} segments;

static bool push(segments *s, double x0, double y0, double x1, double y1)
{
    if (!rp__base_grow(&s->xy, &s->capacity, 4 * (s->count + 1), sizeof *s->xy))
        return false;
    double *at = s->xy + 4 * s->count++;
    at[0] = x0, at[1] = y0, at[2] = x1, at[3] = y1;
    return true;
}

/* A polyline cut into dashes, as pixels. */
static rp_result dash_segments(const double *xy, int64_t n, const double *dash, double scale, segments *out)
{
    double total = dash[0] + dash[1] + dash[2] + dash[3], at = 0;
    for (int64_t i = 0; i + 1 < n; i++) {
        double x = xy[2 * i], y = xy[2 * i + 1], dx = xy[2 * i + 2] - x, dy = xy[2 * i + 3] - y, length = hypot(dx, dy), t = 0;
        while (t < length || (total == 0 && t == 0)) {
            double end = length;
            bool drawn = true;
            if (total > 0) {
                double phase = fmod(at, total), edge = 0;
                int k = 0;
                while (k < MAX_DASH - 1 && phase >= (edge += dash[k]) - 1e-9)
                    k++;
                if (k == MAX_DASH - 1)
                    edge += dash[k];
                drawn = k % 2 == 0;
                end = fmin(length, t + fmax(edge - phase, 1e-6));
            }
            if (drawn && length > 0 &&
                !push(out, (x + dx * t / length) * scale, (y + dy * t / length) * scale, (x + dx * end / length) * scale,
                      (y + dy * end / length) * scale))
                return RP_OUT_OF_MEMORY;
            at += end - t;
            t = end;
            if (total == 0)
                break;
        }
    }
    return RP_OK;
}

static void draw_line(surface *s, const double *xy, int64_t n, double width, const uint8_t rgb[3], const double *dash)
{
    static const double solid[MAX_DASH] = { 0 };
    const double *d = dash ? dash : solid;
    if (n < 2)
        return;
    if (s->image) {
        segments parts = { 0 };
        keep(s, dash_segments(xy, n, d, s->scale, &parts));
        if (s->result == RP_OK)
            keep(s, rp__canvas_strokes(s->image, parts.xy, parts.count, width * s->scale, rgb, 1));
        rp__base_free(parts.xy);
        return;
    }
    rp__text_append(s->svg, "<polyline fill=\"none\" stroke=\"#%02x%02x%02x\" stroke-width=\"", rgb[0], rgb[1], rgb[2]);
    number(s->svg, width);
    rp__text_append_string(s->svg, "\" stroke-linejoin=\"round\"");
    if (d[0] > 0) {
        rp__text_append_string(s->svg, " stroke-dasharray=\"");
        for (int k = 0; k < MAX_DASH && d[k] > 0; k++) {
            number(s->svg, d[k]);
            rp__text_append_string(s->svg, " ");
        }
        rp__text_append_string(s->svg, "\"");
    }
    rp__text_append_string(s->svg, " points=\"");
    for (int64_t i = 0; i < n; i++) {
        point(s->svg, xy[2 * i], xy[2 * i + 1]);
        rp__text_append_string(s->svg, " ");
    }
    rp__text_append_string(s->svg, "\"/>\n");
}

static void draw_dot(surface *s, double x, double y, double radius, const uint8_t rgb[3])
{
    if (s->image) {
        keep(s, rp__canvas_disc(s->image, x * s->scale, y * s->scale, radius * s->scale, rgb));
        return;
    }
    rp__text_append_string(s->svg, "<circle cx=\"");
    number(s->svg, x);
    rp__text_append_string(s->svg, "\" cy=\"");
    number(s->svg, y);
    rp__text_append_string(s->svg, "\" r=\"");
    number(s->svg, radius);
    rp__text_append(s->svg, "\" fill=\"#%02x%02x%02x\"/>\n", rgb[0], rgb[1], rgb[2]);
}

static void append_escaped(rp__text *t, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': rp__text_append_string(t, "&amp;"); break;
        case '<': rp__text_append_string(t, "&lt;"); break;
        case '>': rp__text_append_string(t, "&gt;"); break;
        default: rp__text_append_bytes(t, text, 1);
        }
}

/* Capitals are `size` high; the baseline at y. */
static void draw_text(surface *s, const char *text, double x, double y, double size, anchor where, bool upright)
{
    static const char *const anchors[] = { "start", "middle", "end" };
    double width = rp__font_width(text, size), shift = where == LEFT ? 0 : where == MIDDLE ? 0.5 * width : width;
    if (s->image) {
        double px = upright ? x : x - shift, py = upright ? y + shift : y;
        keep(s, rp__font_draw(s->image, text, px * s->scale, py * s->scale, size * s->scale,
                              upright ? 1.57079632679489662 : 0, 1, black));
        return;
    }
    rp__text_append_string(s->svg, upright ? "<text transform=\"translate(" : "<text x=\"");
    number(s->svg, x);
    rp__text_append_string(s->svg, upright ? " " : "\" y=\"");
    number(s->svg, y);
    rp__text_append_string(s->svg, upright ? ") rotate(-90)\" font-size=\"" : "\" font-size=\"");
    number(s->svg, size / 0.72);
    rp__text_append(s->svg, "\" text-anchor=\"%s\">", anchors[where]);
    append_escaped(s->svg, text);
    rp__text_append_string(s->svg, "</text>\n");
}

/* ---- axes ---- */

typedef struct axes {
    double left, right, top, bottom; /* of the frame */
    double x[2], y[2];               /* ranges; as log10 on a log axis */
    bool log_x, log_y;
    const rp_plot_def *plot;
} axes;

static double x_value(const axes *a, double x)
{
    return a->log_x ? (x > 0 ? log10(x) : NAN) : x;
}

static double y_value(const axes *a, double y)
{
    return a->log_y ? (y > 0 ? log10(y) : NAN) : y;
}

static void widen(double range[2], double v)
{
    if (isfinite(v))
        range[0] = fmin(range[0], v), range[1] = fmax(range[1], v);
}

static void find_ranges(axes *a)
{
    const rp_plot_def *p = a->plot;
    double x[2] = { INFINITY, -INFINITY }, y[2] = { INFINITY, -INFINITY };
    for (int l = 0; l < p->line_count; l++)
        for (int64_t i = 0; i < p->lines[l].count; i++) {
            double u = x_value(a, p->lines[l].x[i]), v = y_value(a, p->lines[l].y[i]);
            if (!isfinite(u) || !isfinite(v))
                continue;
            widen(x, u);
            widen(y, v);
        }
    if (p->x_range[0] != p->x_range[1])
        x[0] = x_value(a, p->x_range[0]), x[1] = x_value(a, p->x_range[1]);
    if (p->y_range[0] != p->y_range[1])
        y[0] = y_value(a, p->y_range[0]), y[1] = y_value(a, p->y_range[1]);
    if (!(x[0] <= x[1]))
        x[0] = 0, x[1] = 1;
    if (!(y[0] <= y[1]))
        y[0] = 0, y[1] = 1;
    if (p->y_range[0] == p->y_range[1]) {
        if (!a->log_y && y[0] > 0 && y[0] < 0.6 * y[1])
            y[0] = 0;
        double margin = y[1] > y[0] ? 0.05 * (y[1] - y[0]) : fmax(0.5 * fabs(y[0]), a->log_y ? 0.5 : 1e-12);
        y[1] += margin;
        if (y[0] != 0)
            y[0] -= margin;
        if (y[0] == y[1])
            y[1] = y[0] + 1;
    }
    if (x[0] == x[1])
        x[0] -= 0.5, x[1] += 0.5;
    if (a->log_x && p->x_range[0] == p->x_range[1]) {
        double margin = 0.03 * (x[1] - x[0]);
        x[0] -= margin, x[1] += margin;
    }
    memcpy(a->x, x, sizeof x);
    memcpy(a->y, y, sizeof y);
}

static double map_x(const axes *a, double x)
{
    return a->left + (x - a->x[0]) / (a->x[1] - a->x[0]) * (a->right - a->left);
}

static double map_y(const axes *a, double v)
{
    return a->bottom - (v - a->y[0]) / (a->y[1] - a->y[0]) * (a->bottom - a->top);
}

static void tick_text(double value, double step, char *text, size_t size)
{
    if (fabs(value) < 1e-9 * step)
        value = 0;
    snprintf(text, size, "%.6g", value);
    char *e = strchr(text, 'e');
    if (e) { /* 1e-05 is said as 1e-5 */
        char *digits = e + 1 + (e[1] == '+' || e[1] == '-');
        while (*digits == '0' && digits[1])
            memmove(digits, digits + 1, strlen(digits));
        if (e[1] == '+')
            memmove(e + 1, e + 2, strlen(e + 1));
    }
}

static void draw_y_tick(surface *s, const axes *a, double at, const char *text)
{
    double y = map_y(a, at), line[4] = { a->left, y, a->right, y }, tick[4] = { a->left - 3, y, a->left, y };
    draw_line(s, line, 2, 0.5, grid_grey, NULL);
    draw_line(s, tick, 2, 0.7, black, NULL);
    draw_text(s, text, a->left - 6, y + 3, 6.2, RIGHT, false);
}

static void draw_x_tick(surface *s, const axes *a, double at, const char *text)
{
    double x = map_x(a, at), line[4] = { x, a->top, x, a->bottom }, tick[4] = { x, a->bottom, x, a->bottom + 3 };
    draw_line(s, line, 2, 0.5, grid_grey, NULL);
    draw_line(s, tick, 2, 0.7, black, NULL);
    draw_text(s, text, x, a->bottom + 12, 6.2, MIDDLE, false);
}

typedef void tick_function(surface *s, const axes *a, double at, const char *text);

/* Whole decades on a long axis, round numbers on a short one; the range is in log10. */
static void draw_log_ticks(surface *s, const axes *a, const double range[2], tick_function *draw)
{
    static const double round_numbers[] = { 1, 1.5, 2, 3, 5, 7 };
    double length = range[1] - range[0], step = ceil(length / 8);
    char text[40];
    for (double e = floor(range[0]); e <= range[1]; e += length > 1 ? step : 1)
        for (int k = 0; k < (length > 1 ? 1 : 6); k++) {
            double at = e + log10(round_numbers[k]);
            if (at < range[0] || at > range[1])
                continue;
            tick_text(pow(10, e) * round_numbers[k], pow(10, e), text, sizeof text);
            draw(s, a, at, text);
        }
}

static void draw_ticks(surface *s, const axes *a, const double range[2], bool logarithmic, int about, tick_function *draw)
{
    char text[40];
    double first, step;
    if (logarithmic) {
        draw_log_ticks(s, a, range, draw);
        return;
    }
    rp__canvas_ticks(range[0], range[1], about, &first, &step);
    for (int k = 0; k < 40 && first + k * step <= range[1] + 1e-9 * step; k++) {
        tick_text(first + k * step, step, text, sizeof text);
        draw(s, a, first + k * step, text);
    }
}

static void draw_axes(surface *s, const axes *a)
{
    draw_ticks(s, a, a->x, a->log_x, 7, draw_x_tick);
    draw_ticks(s, a, a->y, a->log_y, 6, draw_y_tick);
    double frame[10] = { a->left, a->top, a->right, a->top, a->right, a->bottom, a->left, a->bottom, a->left, a->top };
    draw_line(s, frame, 5, 0.8, black, NULL);
}

/* ---- lines ---- */

/* Line l as points in the plot, clipped to the frame's height by a little; broken where a number is missing. Where there are
 * many more points than pixels, each column keeps its first, least, largest and last. */
static void draw_data(surface *s, const axes *a, int l)
{
    const rp_plot_line *line = &a->plot->lines[l];
    const uint8_t *rgb = line_colours[l % STYLES];
    double *xy = RP_NEW_ARRAY(double, 2 * line->count + 16);
    if (!xy) {
        keep(s, RP_OUT_OF_MEMORY);
        return;
    }
    int64_t n = 0, column_start = 0;
    double column = -1, step = 0.35;
    bool thin = line->count > 6 * (int64_t)(a->right - a->left) && !line->points;
    for (int64_t i = 0; i <= line->count; i++) {
        double v = i < line->count ? y_value(a, line->y[i]) : NAN, x = i < line->count ? x_value(a, line->x[i]) : NAN;
        if (!isfinite(v) || !isfinite(x)) {
            draw_line(s, xy, n, 1.15, rgb, dashes[l % STYLES]);
            n = column_start = 0;
            column = -1;
            continue;
        }
        double px = map_x(a, x), py = map_y(a, v);
        if (px < a->left - 1 || px > a->right + 1)
            continue;
        py = fmin(fmax(py, a->top), a->bottom);
        if (line->points) {
            draw_dot(s, px, py, 1.7, rgb);
            continue;
        }
        double here = floor(px / step);
        if (thin && here == column && n - column_start >= 3) { /* first, least, largest, last */
            double *c = xy + 2 * column_start;
            c[3] = fmin(c[3], py), c[5] = fmax(c[5], py);
            c[6] = px, c[7] = py;
            n = column_start + 4;
            continue;
        }
        if (here != column)
            column = here, column_start = n;
        xy[2 * n] = px, xy[2 * n + 1] = py, n++;
    }
    rp__base_free(xy);
}

static void draw_key(surface *s, const axes *a)
{
    const rp_plot_def *p = a->plot;
    double x = a->right + 12, y = a->top + 8;
    for (int l = 0; l < p->line_count; l++) {
        if (!p->lines[l].name)
            continue;
        double sample[4] = { x, y - 3, x + 22, y - 3 };
        if (p->lines[l].points)
            draw_dot(s, x + 11, y - 3, 1.9, line_colours[l % STYLES]);
        else
            draw_line(s, sample, 2, 1.4, line_colours[l % STYLES], dashes[l % STYLES]);
        draw_text(s, p->lines[l].name, x + 27, y, 6.2, LEFT, false);
        y += 13;
    }
}

static double key_width(const rp_plot_def *p)
{
    double width = 0;
    for (int l = 0; l < p->line_count; l++)
        if (p->lines[l].name)
            width = fmax(width, 46 + 1.12 * rp__font_width(p->lines[l].name, 6.2));
    return width;
}

static void draw_plot(surface *s, const rp_plot_def *p)
{
    axes a = { .plot = p, .log_x = p->log_x, .log_y = p->log_y, .left = 66, .top = p->title ? 30 : 14, .bottom = p->height - 38,
               .right = p->width - 14 - key_width(p) };
    find_ranges(&a);
    draw_axes(s, &a);
    for (int l = 0; l < p->line_count && s->result == RP_OK; l++)
        draw_data(s, &a, l);
    draw_key(s, &a);
    if (p->title)
        draw_text(s, p->title, a.left, 19, 8.2, LEFT, false);
    if (p->x_label)
        draw_text(s, p->x_label, 0.5 * (a.left + a.right), p->height - 11, 7, MIDDLE, false);
    if (p->y_label)
        draw_text(s, p->y_label, 16, 0.5 * (a.top + a.bottom), 7, MIDDLE, true);
}

static rp_result check_plot(const rp_plot_def *p)
{
    if (p->width < 160 || p->height < 100 || p->width > 10000 || p->height > 10000 || !(p->scale > 0 && p->scale <= 20))
        return rp__base_fail(RP_BAD_ARGUMENT, "a plot of %d × %d points at %g pixels a point; right is 160 × 100 to 10000 × 10000",
                             p->width, p->height, p->scale);
    return RP_OK;
}

rp_plot_def rp_default_plot_def(void)
{
    return (rp_plot_def){ .width = 520, .height = 300, .scale = 2.5 };
}

rp_result rp_plot_svg(const rp_plot_def *p, const char *path)
{
    RP_TRY(check_plot(p));
    rp__text text = { 0 };
    surface s = { .svg = &text, .result = RP_OK };
    rp__text_append(&text,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%dpt\" height=\"%dpt\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                    p->width, p->height, p->width, p->height);
    draw_plot(&s, p);
    rp__text_append_string(&text, "</svg>\n");
    rp_result result = s.result == RP_OK ? rp__text_result(&text) : s.result;
    if (result == RP_OK)
        result = rp__file_write_text(path, rp__text_string(&text));
    rp__text_free(&text);
    return result;
}

rp_result rp_plot_png(const rp_plot_def *p, const char *path)
{
    RP_TRY(check_plot(p));
    rp_image image;
    RP_TRY(rp_image_create((int)(p->width * p->scale), (int)(p->height * p->scale), &image));
    rp__canvas_box(&image, 0, 0, image.width, image.height, paper, 1);
    surface s = { .image = &image, .scale = p->scale, .result = RP_OK };
    draw_plot(&s, p);
    rp_result result = s.result == RP_OK ? rp_image_write_png(&image, path) : s.result;
    rp_image_free(&image);
    return result;
}
