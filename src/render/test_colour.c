/* Colours: the map is even, palettes are what they say, tone and sRGB are monotone. */
#include "render/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static double lab_distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

static void srgb_there_and_back(void **state)
{
    (void)state;
    for (int k = 0; k < 256; k++) {
        float v = rp__render_from_linear(rp__render_to_linear((float)k / 255));
        assert_true(fabsf(v * 255 - (float)k) < 0.01f);
    }
}

static void lab_of_known_colours(void **state)
{
    (void)state;
    const struct {
        uint8_t rgb[3];
        double lab[3];
    } known[] = { { { 255, 255, 255 }, { 100, 0, 0 } },
                  { { 0, 0, 0 }, { 0, 0, 0 } },
                  { { 255, 0, 0 }, { 53.24, 80.09, 67.20 } },
                  { { 0, 0, 255 }, { 32.30, 79.19, -107.86 } } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double lab[3];
        rp__render_lab(known[i].rgb, lab);
        assert_true(lab_distance(lab, known[i].lab) < 0.05);
    }
}

/* ---- the map is made by its rule ---- */

static const double white[3] = { 0.95047, 1.0, 1.08883 };

static double lab_f_inverse(double f)
{
    double cube = f * f * f;
    return cube > 216.0 / 24389 ? cube : (116 * f - 16) * 27 / 24389.0;
}

static void lab_to_linear(const double lab[3], double c[3])
{
    double fy = (lab[0] + 16) / 116, fx = fy + lab[1] / 500, fz = fy - lab[2] / 200;
    double x = white[0] * lab_f_inverse(fx), y = white[1] * lab_f_inverse(fy), z = white[2] * lab_f_inverse(fz);
    c[0] = 3.2404542 * x - 1.5371385 * y - 0.4985314 * z;
    c[1] = -0.9692660 * x + 1.8760108 * y + 0.0415560 * z;
    c[2] = 0.0556434 * x - 0.2040259 * y + 1.0572252 * z;
}

/* The Lab colour at s: the largest chroma up to a wish that a display can show. */
static void rule(double s, double lab[3])
{
    double hue = (310 - 205 * pow(s, 0.9)) * 3.14159265358979323846 / 180, low = 0, high = 34 + 50 * s * s;
    lab[0] = 14 + 77 * s;
    for (int k = 0; k < 24; k++) {
        double chroma = k ? 0.5 * (low + high) : high, c[3];
        lab[1] = chroma * cos(hue), lab[2] = chroma * sin(hue);
        lab_to_linear(lab, c);
        bool inside = c[0] >= 0 && c[0] <= 1 && c[1] >= 0 && c[1] <= 1 && c[2] >= 0 && c[2] <= 1;
        if (inside && k == 0)
            return;
        if (inside)
            low = chroma;
        else
            high = chroma;
    }
    lab[1] = low * cos(hue), lab[2] = low * sin(hue);
}

static void map_follows_its_rule(void **state)
{
    (void)state;
    enum { STEPS = 256 };
    double length[STEPS + 1] = { 0 }, before[3], here[3];
    rule(0, before);
    for (int i = 1; i <= STEPS; i++) {
        rule((double)i / STEPS, here);
        length[i] = length[i - 1] + lab_distance(before, here);
        memcpy(before, here, sizeof here);
    }
    for (int k = 0, i = 0; k < 256; k++) {
        double at = k / 255.0 * length[STEPS];
        while (i < STEPS - 1 && length[i + 1] < at)
            i++;
        double lab[3], table[3];
        uint8_t rgb[3];
        rule((i + (at - length[i]) / (length[i + 1] - length[i])) / STEPS, lab);
        rp_colour_map(k / 255.0, rgb);
        rp__render_lab(rgb, table);
        assert_true(lab_distance(lab, table) < 1.0); /* rounding to bytes */
    }
}

static void map_is_even_and_rises(void **state)
{
    (void)state;
    double before[3], here[3], least = 1e9, most = 0;
    uint8_t rgb[3];
    rp_colour_map(0, rgb);
    rp__render_lab(rgb, before);
    for (int k = 1; k <= 16; k++) {
        rp_colour_map(k / 16.0, rgb);
        rp__render_lab(rgb, here);
        assert_true(here[0] > before[0] + 2);
        double d = lab_distance(before, here);
        least = fmin(least, d), most = fmax(most, d);
        memcpy(before, here, sizeof here);
    }
    assert_true(most < 1.35 * least);
    uint8_t low[3], high[3], nan[3];
    rp_colour_map(-5, low), rp_colour_map(0, rgb);
    assert_memory_equal(low, rgb, 3);
    rp_colour_map(7, high), rp_colour_map(1, rgb);
    assert_memory_equal(high, rgb, 3);
    rp_colour_map(NAN, nan);
    assert_memory_equal(nan, low, 3);
}

static void tone_rises_and_keeps_dark(void **state)
{
    (void)state;
    float last = -1;
    for (int k = 0; k <= 400; k++) {
        float v = (float)k / 50;
        f3 c = rp__render_tone(f3_make(v, v, v));
        assert_true(c.x >= last && c.x <= 1);
        if (v <= 0.5f)
            assert_true(fabsf(c.x - v) < 1e-6f);
        last = c.x;
    }
    assert_true(last > 0.99f);
}

/* ---- palettes ---- */

static void sand_has_the_colours_of_the_paper(void **state)
{
    (void)state;
    rp_palette p;
    assert_int_equal(rp_palette_parse("sand", &p), RP_OK);
    assert_int_equal(p.count, 3);
    const uint8_t yellow[3] = { 225, 169, 95 }, brown[3] = { 107, 84, 30 }, pale[3] = { 255, 255, 255 };
    assert_memory_equal(p.colour[0], yellow, 3);
    assert_memory_equal(p.colour[1], brown, 3);
    assert_memory_equal(p.colour[2], pale, 3);
    int counts[3] = { 0 };
    enum { N = 20000 };
    for (int64_t i = 0; i < N; i++) {
        uint8_t rgb[3];
        rp_palette_pick(&p, i, rgb);
        int best = 0;
        double nearest = 1e9;
        for (int k = 0; k < 3; k++) { /* a pick is up to a tenth darker: compare hues by the ratio to red */
            double ratio = fabs(rgb[2] / (rgb[0] + 1.0) - p.colour[k][2] / (p.colour[k][0] + 1.0)) +
                           fabs((double)rgb[0] - p.colour[k][0]) / 255;
            if (ratio < nearest)
                nearest = ratio, best = k;
        }
        counts[best]++;
    }
    const double wanted[3] = { 0.85, 0.10, 0.05 };
    for (int k = 0; k < 3; k++)
        assert_true(fabs(counts[k] / (double)N - wanted[k]) < 0.01);
}

static void palettes_are_read_or_refused(void **state)
{
    (void)state;
    rp_palette p;
    assert_int_equal(rp_palette_parse(NULL, &p), RP_OK);
    assert_int_equal(p.count, 3);
    assert_int_equal(rp_palette_parse("#102030", &p), RP_OK);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.colour[0][2], 0x30);
    assert_int_equal(rp_palette_parse("#ff0000 3, #00ff00 1", &p), RP_OK);
    assert_true(fabs(p.weight[0] - 0.75) < 1e-12);
    char copy[200];
    strncpy(copy, rp_palette_names(), sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        assert_int_equal(rp_palette_parse(word, &p), RP_OK);
    const char *bad[] = { "mauve", "#12345", "#gggggg", "#000000 0", "#111111,#111111,#111111,#111111,#111111,#111111,#111111,#111111,#111111" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rp_palette_parse(bad[i], &p), RP_BAD_ARGUMENT);
        assert_non_null(strstr(rp_last_error(), "palette"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(srgb_there_and_back),
        cmocka_unit_test(lab_of_known_colours),
        cmocka_unit_test(map_follows_its_rule),
        cmocka_unit_test(map_is_even_and_rises),
        cmocka_unit_test(tone_rises_and_keeps_dark),
        cmocka_unit_test(sand_has_the_colours_of_the_paper),
        cmocka_unit_test(palettes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
