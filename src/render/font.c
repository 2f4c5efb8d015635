/* A stroke font: each glyph is a path of lines and arcs of ellipses. Capitals are 70 high, small letters 48. */
#include "base/error.h"
#include "base/memory.h"
#include "render/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* m x y: move; l x y: line; a cx cy rx ry from to: arc by degrees, anticlockwise when `to` is larger. */
typedef struct glyph {
    uint32_t code;
    int width;
    const char *path;
} glyph;

enum { CAPITAL = 70, GAP = 17, MAX_SEGMENTS = 96 };

static const glyph glyphs[] = {
    { ' ', 18, "" },
    { '!', 4, "m2 70 l2 22 m2 2 l2 3" },
    { '"', 16, "m2 70 l2 54 m14 70 l14 54" },
    { '#', 44, "m14 0 l20 70 m28 0 l34 70 m2 46 l46 46 m0 22 l44 22" },
    { '%', 60, "a14 54 14 16 0 360 a46 16 14 16 0 360 m12 0 l50 70" },
    { '&', 54, "m54 0 l13 45 a24 55 13 14 225 0 m37 55 l11 34 a19 17 19 17 120 330 l52 34" },
    { '\'', 4, "m2 70 l2 54" },
    { '(', 16, "a34 28 32 52 135 225" },
    { ')', 16, "a-18 28 32 52 45 -45" },
    { '*', 28, "m14 66 l14 38 m2 59 l26 45 m2 45 l26 59" },
    { '+', 40, "m20 10 l20 50 m0 30 l40 30" },
    { ',', 6, "m5 3 l1 -10" },
    { '-', 24, "m0 28 l24 28" },
    { '.', 4, "m2 1 l2 3" },
    { '/', 30, "m0 -8 l30 74" },
    { '0', 42, "a21 35 21 35 0 360" },
    { '1', 42, "m6 56 l23 70 l23 0" },
    { '2', 42, "a21 50 20 20 165 -30 l1 0 l42 0" },
    { '3', 42, "a20 52 18 18 150 -90 a20 17 21 17 90 -155" },
    { '4', 42, "m32 0 l32 70 l0 19 l43 19" },
    { '5', 42, "m38 70 l7 70 l4 38 a20 23 21 23 138 -145" },
    { '6', 42, "a21 22 21 22 0 360 a43 22 43 49 180 103" },
    { '7', 42, "m0 70 l42 70 l16 0" },
    { '8', 42, "a21 53 17 17 0 360 a21 18 20 18 0 360" },
    { '9', 42, "a21 48 21 22 0 360 a-1 48 43 49 0 -77" },
    { ':', 4, "m2 2 l2 3 m2 44 l2 45" },
    { ';', 6, "m5 3 l1 -10 m4 44 l4 45" },
    { '<', 36, "m36 52 l0 30 l36 8" },
    { '=', 40, "m0 40 l40 40 m0 20 l40 20" },
    { '>', 36, "m0 52 l36 30 l0 8" },
    { '?', 34, "a17 53 17 17 170 -50 l17 32 l17 20 m17 2 l17 3" },
    { '@', 62, "a31 28 14 16 0 360 m45 44 l45 22 a53 22 8 8 180 330 a31 28 31 36 -20 -310" },
    { 'A', 52, "m0 0 l26 70 l52 0 m9 24 l43 24" },
    { 'B', 46, "m0 36 l26 36 a26 53 17 17 -90 90 l0 70 l0 0 l28 0 a28 18 18 18 -90 90" },
    { 'C', 52, "a30 35 30 35 48 312" },
    { 'D', 52, "m0 0 l0 70 l18 70 a18 35 34 35 90 -90 l0 0" },
    { 'E', 42, "m42 70 l0 70 l0 0 l42 0 m0 36 l36 36" },
    { 'F', 40, "m0 0 l0 70 l40 70 m0 36 l34 36" },
    { 'G', 56, "a30 35 30 35 48 325 l55 33 l34 33" },
    { 'H', 50, "m0 0 l0 70 m50 0 l50 70 m0 36 l50 36" },
    { 'I', 4, "m2 0 l2 70" },
    { 'J', 32, "m32 70 l32 18 a16 18 16 18 0 -165" },
    { 'K', 46, "m0 0 l0 70 m44 70 l0 27 m16 43 l46 0" },
    { 'L', 40, "m0 70 l0 0 l40 0" },
    { 'M', 58, "m0 0 l0 70 l29 20 l58 70 l58 0" },
    { 'N', 50, "m0 0 l0 70 l50 0 l50 70" },
    { 'O', 58, "a29 35 29 35 0 360" },
    { 'P', 44, "m0 0 l0 70 l25 70 a25 51 19 19 90 -90 l0 32" },
    { 'Q', 58, "a29 35 29 35 0 360 m36 16 l58 -6" },
    { 'R', 46, "m0 0 l0 70 l25 70 a25 51 19 19 90 -90 l0 32 m24 32 l46 0" },
    { 'S', 42, "a21 52 19 18 38 270 a21 17 21 17 90 -148" },
    { 'T', 48, "m24 0 l24 70 m0 70 l48 70" },
    { 'U', 50, "m0 70 l0 25 a25 25 25 25 180 360 l50 70" },
    { 'V', 50, "m0 70 l25 0 l50 70" },
    { 'W', 74, "m0 70 l18 0 l37 64 l56 0 l74 70" },
    { 'X', 48, "m0 0 l48 70 m0 70 l48 0" },
    { 'Y', 48, "m0 70 l24 32 l24 0 m24 32 l48 70" },
    { 'Z', 46, "m2 70 l45 70 l0 0 l46 0" },
    { '[', 14, "m14 78 l0 78 l0 -12 l14 -12" },
    { '\\', 30, "m0 74 l30 -8" },
    { ']', 14, "m0 78 l14 78 l14 -12 l0 -12" },
    { '^', 32, "m0 44 l16 70 l32 44" },
    { '_', 42, "m0 -8 l42 -8" },
    { 'a', 38, "a19 24 19 24 0 360 m38 48 l38 0" },
    { 'b', 38, "a19 24 19 24 0 360 m0 70 l0 0" },
    { 'c', 36, "a20 24 20 24 45 315" },
    { 'd', 38, "a19 24 19 24 0 360 m38 70 l38 0" },
    { 'e', 38, "m0 25 l38 25 a19 24 19 24 2 318" },
    { 'f', 24, "m11 0 l11 56 a23 56 12 14 180 80 m0 46 l23 46" },
    { 'g', 38, "a19 25 19 23 0 360 m38 48 l38 -4 a19 -4 19 17 0 -150" },
    { 'h', 34, "m0 0 l0 70 m0 27 a17 27 17 21 180 0 l34 0" },
    { 'i', 4, "m2 0 l2 48 m2 64 l2 66" },
    { 'j', 10, "m8 48 l8 -8 a-2 -8 10 12 0 -80 m8 64 l8 66" },
    { 'k', 34, "m0 0 l0 70 m31 48 l0 18 m12 30 l34 0" },
    { 'l', 4, "m2 0 l2 70" },
    { 'm', 58, "m0 0 l0 48 m0 31 a14 31 14 17 180 0 l28 0 m28 31 a43 31 15 17 180 0 l58 0" },
    { 'n', 34, "m0 0 l0 48 m0 27 a17 27 17 21 180 0 l34 0" },
    { 'o', 40, "a20 24 20 24 0 360" },
    { 'p', 38, "a19 24 19 24 0 360 m0 48 l0 -20" },
    { 'q', 38, "a19 24 19 24 0 360 m38 48 l38 -20" },
    { 'r', 22, "m0 0 l0 48 m0 27 a17 27 17 21 180 68" },
    { 's', 32, "a16 35 14 13 38 270 a16 11 16 11 90 -150" },
    { 't', 24, "m11 64 l11 12 a22 12 11 12 180 285 m0 47 l24 47" },
    { 'u', 34, "m0 48 l0 20 a17 20 17 20 180 360 m34 48 l34 0" },
    { 'v', 36, "m0 48 l18 0 l36 48" },
    { 'w', 54, "m0 48 l14 0 l27 44 l40 0 l54 48" },
    { 'x', 36, "m0 0 l35 48 m1 48 l36 0" },
    { 'y', 36, "m0 48 l18 1 m36 48 l17 -3 a3 -6 15 14 12 -90" },
    { 'z', 34, "m1 48 l33 48 l0 0 l34 0" },
    { '{', 20, "m20 78 l14 78 l9 72 l9 40 l2 33 l9 26 l9 -6 l14 -12 l20 -12" },
    { '|', 4, "m2 78 l2 -12" },
    { '}', 20, "m0 78 l6 78 l11 72 l11 40 l18 33 l11 26 l11 -6 l6 -12 l0 -12" },
    { '~', 40, "a10 28 10 8 180 0 a30 28 10 8 180 360" },
    { 0xb0, 18, "a9 60 9 10 0 360" },                               /* degree */
    { 0xb2, 22, "a11 62 10 9 165 -30 l1 40 l22 40" },               /* squared */
    { 0xb3, 22, "a10 63 9 8 150 -90 a10 47 11 8 90 -155" },         /* cubed */
    { 0xb7, 4, "m2 28 l2 29" },                                     /* middle dot */
    { 0xd7, 36, "m2 12 l34 46 m34 12 l2 46" },                      /* times */
    { 0x2212, 36, "m0 30 l36 30" },                                 /* minus */
    { 0x2013, 36, "m0 28 l36 28" },                                 /* en dash */
    { 0x207b, 16, "m0 56 l16 56" },                                 /* superscript minus */
    { 0xb9, 12, "m0 66 l8 72 l8 40" },                              /* superscript one */
    { 0xb5, 36, "m0 48 l0 -20 m0 20 a17 18 17 18 180 360 m34 48 l34 0" },  /* micro */
    { 0x3bc, 36, "m0 48 l0 -20 m0 20 a17 18 17 18 180 360 m34 48 l34 0" }, /* mu */
    { 0x3c6, 46, "a23 24 23 24 0 360 m23 70 l23 -20" },             /* phi */
    { 0x3bb, 40, "m4 70 l12 66 l38 0 m19 42 l0 0" },                /* lambda */
    { 0x3c1, 38, "a19 24 19 24 0 360 m0 24 l0 -20" },               /* rho */
    { 0x3b7, 34, "m0 0 l0 48 m0 27 a17 27 17 21 180 0 l34 -20" },   /* eta */
    { 0x3b8, 38, "a19 35 19 35 0 360 m0 35 l38 35" },               /* theta */
    { 0x3c3, 42, "a19 24 19 24 0 360 m19 48 l44 48" },              /* sigma */
    { 0x3b1, 44, "a19 24 19 24 45 315 m33 7 l44 48 m33 41 l44 0" }, /* alpha */
    { 0x394, 54, "m0 0 l27 70 l54 0 l0 0" },                        /* Delta */
};

static const glyph unknown = { 0, 36, "m0 0 l0 70 l36 70 l36 0 l0 0" };

static const glyph *find_glyph(uint32_t code)
{
    for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
        if (glyphs[i].code == code)
            return &glyphs[i];
    return &unknown;
}

/* The next character of UTF-8 text; a bad byte stands for itself. */
static uint32_t next_code(const char **at)
{
    const unsigned char *p = (const unsigned char *)*at;
    int more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
    uint32_t code = more ? p[0] & (0x3fu >> more) : p[0];
    for (int k = 1; k <= more; k++) {
        if ((p[k] & 0xc0) != 0x80) {
            *at += 1;
            return p[0];
        }
        code = code << 6 | (p[k] & 0x3f);
    }
    *at += 1 + more;
    return code;
}

double rp__font_width(const char *text, double size)
{
    double width = 0;
    while (*text)
        width += find_glyph(next_code(&text))->width + GAP;
    return width > 0 ? (width - GAP) * size / CAPITAL : 0;
}

typedef struct pen {
    double x, y;                /* in the glyph */
    double left, base;          /* of the glyph in the image */
    double scale, cosine, sine;
    double segments[4 * MAX_SEGMENTS];
    int count;
} pen;

static void map(const pen *p, double x, double y, double out[2])
{
    double gx = p->left + x * p->scale, gy = y * p->scale;
    out[0] = gx * p->cosine - gy * p->sine;
    out[1] = p->base - gx * p->sine - gy * p->cosine;
}

static void line_to(pen *p, double x, double y)
{
    if (p->count < MAX_SEGMENTS) {
        map(p, p->x, p->y, p->segments + 4 * p->count);
        map(p, x, y, p->segments + 4 * p->count + 2);
        p->count++;
    }
    p->x = x, p->y = y;
}

static void arc(pen *p, const double v[6])
{
    enum { PIECES = 20 };
    const double degree = 3.14159265358979323846 / 180;
    p->x = v[0] + v[2] * cos(v[4] * degree), p->y = v[1] + v[3] * sin(v[4] * degree);
    for (int k = 1; k <= PIECES; k++) {
        double a = (v[4] + (v[5] - v[4]) * k / PIECES) * degree;
        line_to(p, v[0] + v[2] * cos(a), v[1] + v[3] * sin(a));
    }
}

static void trace_glyph(pen *p, const char *path)
{
    while (*path) {
        char command = *path++;
        double v[6] = { 0 };
        int numbers = command == 'a' ? 6 : command == 'm' || command == 'l' ? 2 : 0;
        for (int k = 0; k < numbers; k++) {
            char *end;
            v[k] = (double)strtol(path, &end, 10);
            path = end;
        }
        if (command == 'm')
            p->x = v[0], p->y = v[1];
        else if (command == 'l')
            line_to(p, v[0], v[1]);
        else if (command == 'a')
            arc(p, v);
    }
}

rp_result rp__font_draw(rp_image *image, const char *text, double x, double y, double size, double angle, double weight,
                        const uint8_t rgb[3])
{
    pen p = { .scale = size / CAPITAL, .cosine = cos(angle), .sine = sin(angle) };
    double advance = 0;
    while (*text) {
        const glyph *g = find_glyph(next_code(&text));
        p.count = 0;
        p.left = advance, p.base = 0;
        trace_glyph(&p, g->path);
        for (int i = 0; i < 2 * p.count; i++)
            p.segments[2 * i] += x, p.segments[2 * i + 1] += y;
        RP_TRY(rp__canvas_strokes(image, p.segments, p.count, fmax(0.11 * size * weight, 0.9), rgb, 1));
        advance += (g->width + GAP) * p.scale;
    }
    return RP_OK;
}

rp_result rp_image_add_text(rp_image *image, const char *text, double x, double y, double size, const uint8_t rgb[3])
{
    if (!(size > 0) || !isfinite(x + y + size))
        return rp__base_fail(RP_BAD_ARGUMENT, "text of size %g at (%g, %g) cannot be drawn", size, x, y);
    return rp__font_draw(image, text, x, y + size, size, 0, 1, rgb);
}
