/* Colours: sRGB, CIE Lab, the tone curve, the even colour map, palettes. */
#include "math/random.h"
#include "render/colour_map.h"
#include "render/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- sRGB (IEC 61966-2-1) ---- */

float rp__render_to_linear(float s)
{
    return s <= 0.04045f ? s / 12.92f : powf((s + 0.055f) / 1.055f, 2.4f);
}

float rp__render_from_linear(float v)
{
    return v <= 0.0031308f ? 12.92f * v : 1.055f * powf(v, 1 / 2.4f) - 0.055f;
}

f3 rp__render_linear(const uint8_t rgb[3])
{
    return f3_make(rp__render_to_linear((float)rgb[0] / 255), rp__render_to_linear((float)rgb[1] / 255),
                   rp__render_to_linear((float)rgb[2] / 255));
}

/* Straight up to the knee, then a shoulder that reaches white smoothly; bright colours lose some of their saturation, as
 * film does. */
static float shoulder(float x)
{
    const float knee = 0.55f;
    return x <= knee ? fmaxf(x, 0) : knee + (1 - knee) * (1 - expf(-(x - knee) / (1 - knee)));
}

f3 rp__render_tone(f3 c)
{
    float peak = fmaxf(c.x, fmaxf(c.y, c.z));
    if (!(peak > 0))
        return f3_make(0, 0, 0);
    f3 kept = f3_scale(shoulder(peak) / peak, c);                       /* keeps the hue */
    f3 each = f3_make(shoulder(c.x), shoulder(c.y), shoulder(c.z));     /* goes to white */
    return f3_mix(kept, each, 0.6f);
}

/* ---- CIE 1976 L*a*b*, white D65 ---- */

static const double white[3] = { 0.95047, 1.0, 1.08883 };

static double lab_f(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

void rp__render_lab(const uint8_t rgb[3], double lab[3])
{
    f3 c = rp__render_linear(rgb);
    double x = 0.4124564 * (double)c.x + 0.3575761 * (double)c.y + 0.1804375 * (double)c.z;
    double y = 0.2126729 * (double)c.x + 0.7151522 * (double)c.y + 0.0721750 * (double)c.z;
    double z = 0.0193339 * (double)c.x + 0.1191920 * (double)c.y + 0.9503041 * (double)c.z;
    double fx = lab_f(x / white[0]), fy = lab_f(y / white[1]), fz = lab_f(z / white[2]);
    lab[0] = 116 * fy - 16, lab[1] = 500 * (fx - fy), lab[2] = 200 * (fy - fz);
}

/* ---- the map ---- */

void rp_colour_map(double t, uint8_t rgb[3])
{
    t = t > 0 ? (t < 1 ? t : 1) : 0;
    memcpy(rgb, rp__render_map[(int)(t * 255 + 0.5)], 3);
}

/* ---- palettes ---- */

typedef struct named_palette {
    const char *name, *text;
} named_palette;

static const named_palette palettes[] = {
    { "sand", "#e1a95f 0.85, #6b541e 0.10, #ffffff 0.05" }, /* [klar2016, §9] */
    { "pale", "#e8d6b3 0.7, #d9c08f 0.2, #b89b6c 0.07, #fffaf0 0.03" },
    { "red", "#b5643c 0.7, #94482a 0.2, #d99a6c 0.1" },
    { "black", "#3a3836 0.75, #55514d 0.2, #8d8882 0.05" },
    { "gravel", "#8f8a83 0.45, #6f6a64 0.25, #b3aea6 0.2, #7d6a57 0.1" },
    { "wheat", "#d9a441 0.6, #c48a2c 0.25, #e8c878 0.15" },
    { "snow", "#eef3f8 0.8, #dfe9f2 0.2" },
    { "coal", "#26262a 0.8, #3c3c42 0.2" },
    { "copper", "#b87333 0.6, #c98a52 0.3, #8c4f24 0.1" },
    { "gold", "#d4af37 0.6, #e6c65c 0.3, #a8842a 0.1" },
    { "blue", "#4a78b5 0.7, #3a5f96 0.2, #86a9d6 0.1" },
    { "green", "#6a9a4b 0.7, #4f7a36 0.2, #9cc07e 0.1" },
    { NULL, NULL },
};

const char *rp_palette_names(void)
{
    return "sand pale red black gravel wheat snow coal copper gold blue green";
}

static bool parse_hex(const char *text, uint8_t rgb[3])
{
    unsigned value = 0;
    for (int k = 0; k < 6; k++) {
        if (!isxdigit((unsigned char)text[k]))
            return false;
        int digit = tolower((unsigned char)text[k]);
        value = value * 16 + (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    rgb[0] = (uint8_t)(value >> 16), rgb[1] = (uint8_t)(value >> 8), rgb[2] = (uint8_t)value;
    return true;
}

static rp_result bad_palette(const char *text)
{
    return rp__base_fail(RP_BAD_ARGUMENT,
                         "'%s' is not a palette; right would be a name (%s), '#rrggbb', or up to %d colours with weights such "
                         "as '#e1a95f 0.9, #ffffff 0.1'",
                         text, rp_palette_names(), (int)RP_PALETTE_MAX);
}

rp_result rp_palette_parse(const char *text, rp_palette *out)
{
    const char *source = text && *text ? text : "sand";
    for (const named_palette *p = palettes; p->name; p++)
        if (strcmp(p->name, source) == 0)
            source = p->text;
    rp_palette parsed = { 0 };
    double total = 0;
    const char *at = source;
    while (*at) {
        while (*at && strchr(" ,[]\"'\t", *at))
            at++;
        if (!*at)
            break;
        if (*at != '#' || parsed.count == RP_PALETTE_MAX || !parse_hex(at + 1, parsed.colour[parsed.count]))
            return bad_palette(source);
        at += 7;
        double weight = 1;
        while (*at == ' ' || *at == ':')
            at++;
        if (isdigit((unsigned char)*at) || *at == '.') {
            /* Plain decimals; the locale's strtod would read the point differently. */
            double scale = 0.1;
            weight = 0;
            while (isdigit((unsigned char)*at))
                weight = 10 * weight + (*at++ - '0');
            if (*at == '.')
                for (at++; isdigit((unsigned char)*at); scale *= 0.1)
                    weight += scale * (*at++ - '0');
        }
        parsed.weight[parsed.count++] = weight;
        total += weight;
    }
    if (parsed.count == 0 || !(total > 0))
        return bad_palette(source);
    for (int i = 0; i < parsed.count; i++)
        parsed.weight[i] /= total;
    *out = parsed;
    return RP_OK;
}

int rp_palette_choose(const rp_palette *palette, int64_t id, double *shade)
{
    double u = rp__random_unit(0x70616c65747465, 1, (uint64_t)id), sum = 0;
    int k = 0;
    while (k < palette->count - 1 && u >= (sum += palette->weight[k]))
        k++;
    /* No two grains of a colour are alike: up to a tenth darker. */
    *shade = 1 - 0.1 * rp__random_unit(0x70616c65747465, 2, (uint64_t)id);
    return k;
}

void rp_palette_pick(const rp_palette *palette, int64_t id, uint8_t rgb[3])
{
    double shade;
    int k = rp_palette_choose(palette, id, &shade);
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(palette->colour[k][c] * shade + 0.5);
}
