/* Plots, tables, text and sheets. */
#include "base/file.h"
#include "base/memory.h"
#include "render/canvas.h"
#include "render/plot_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- tables ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void tables_are_read(void **state)
{
    (void)state;
    const char *path = "test_plot.csv";
    rp__table t;
    write_file(path, "step,time,body,x\n1,0.5,ball,2\n2,1e-3,\"a, \"\"b\"\"\",\n3,0.7,torn");
    assert_int_equal(rp__table_read(path, "body", &t), RP_OK);
    assert_int_equal(t.columns, 4);
    assert_int_equal(t.rows, 2); /* the torn line is left out */
    assert_true(rp__table_column(&t, "time")[0] == 0.5 && rp__table_column(&t, "time")[1] == 1e-3);
    assert_true(isnan(rp__table_column(&t, "x")[1]) && isnan(rp__table_column(&t, "body")[0]));
    assert_string_equal(t.words, "ball");
    assert_string_equal(t.words + 64, "a, \"b\"");
    assert_null(rp__table_column(&t, "y"));
    rp__table_free(&t);
    write_file(path, "step,time\n1\n2,3,4,5\n");
    assert_int_equal(rp__table_read(path, NULL, &t), RP_OK);
    assert_int_equal(t.rows, 2);
    assert_true(isnan(rp__table_column(&t, "time")[0]) && rp__table_column(&t, "time")[1] == 3);
    rp__table_free(&t);
    write_file(path, "");
    assert_int_equal(rp__table_read(path, NULL, &t), RP_BAD_FILE);
    remove(path);
    assert_int_equal(rp__table_read(path, NULL, &t), RP_NOT_FOUND);
}

static void tables_without_memory(void **state)
{
    (void)state;
    const char *path = "test_plot_memory.csv";
    size_t before = rp_memory_in_use();
    write_file(path, "step,time,body\n1,2,x\n");
    for (int64_t n = 1; n < 50; n++) {
        rp__table t;
        rp__base_fail_allocation(n);
        rp_result result = rp__table_read(path, "body", &t);
        rp__base_fail_allocation(0);
        if (result == RP_OK)
            rp__table_free(&t);
        assert_int_equal(rp_memory_in_use(), before);
        if (result == RP_OK) {
            remove(path);
            assert_true(n > 4);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail();
}

/* ---- plots ---- */

static rp_plot_def small_plot(rp_plot_line *line, double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i, y[i] = i == 5 ? NAN : exp(-0.3 * i);
    *line = (rp_plot_line){ .name = "a < b & c", .x = x, .y = y, .count = n };
    rp_plot_def p = rp_default_plot_def();
    p.title = "Decay", p.x_label = "time [s]", p.y_label = "energy [J]", p.lines = line, p.line_count = 1;
    p.width = 300, p.height = 180;
    return p;
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void svg_says_what_it_should(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    rp_plot_line line;
    double x[COUNT], y[COUNT];
    rp_plot_def p = small_plot(&line, x, y, COUNT);
    const char *path = "test_plot.svg";
    char *text;
    assert_int_equal(rp_plot_svg(&p, path), RP_OK);
    assert_int_equal(rp__file_read(path, 1 << 20, &text, NULL), RP_OK);
    assert_non_null(strstr(text, "<svg xmlns"));
    assert_non_null(strstr(text, ">Decay<"));
    assert_non_null(strstr(text, "a &lt; b &amp; c"));
    assert_non_null(strstr(text, "</svg>"));
    assert_null(strstr(text, "nan"));
    /* The missing number breaks the line in two; the third is the sample in the key. */
    assert_int_equal(count_of(text, "stroke=\"#14468c\""), 3);
    rp__base_free(text);
    remove(path);
}

/* Dark or coloured pixels of a part of the image. */
static int ink(const rp_image *image, int x0, int y0, int x1, int y1)
{
    int n = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            const uint8_t *p = image->pixels + 3 * (y * image->width + x);
            n += p[0] < 128 || p[1] < 128 || p[2] < 128;
        }
    return n;
}

static void png_has_axes_and_line(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    rp_plot_line line;
    double x[COUNT], y[COUNT];
    rp_plot_def p = small_plot(&line, x, y, COUNT);
    const char *path = "test_plot.png";
    rp_image image;
    p.log_x = p.log_y = true; /* x begins at zero or above: that point breaks the line, the rest is there */
    p.scale = 2;
    assert_int_equal(rp_plot_png(&p, path), RP_OK);
    assert_int_equal(rp_image_read_png(path, &image), RP_OK);
    assert_int_equal(image.width, 600);
    assert_true(ink(&image, 100, 0, 600, 50) > 100);   /* the title */
    assert_true(ink(&image, 0, 0, 40, 360) > 100);     /* the label beside the axis */
    assert_true(ink(&image, 134, 62, 400, 280) > 200); /* the line */
    rp_image_free(&image);
    remove(path);
    p.width = 10;
    assert_int_equal(rp_plot_png(&p, path), RP_BAD_ARGUMENT);
    p = rp_default_plot_def(); /* no lines at all: empty axes */
    assert_int_equal(rp_plot_png(&p, path), RP_OK);
    remove(path);
}

/* 100 000 points make no more strokes than pixels ask for, and the peaks stay. */
static void long_tables_stay_small(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    static double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = i, y[i] = i == 54321 ? 10 : 0.5 + 0.5 * sin(i);
    rp_plot_line line = { .x = x, .y = y, .count = COUNT };
    rp_plot_def p = rp_default_plot_def();
    p.lines = &line, p.line_count = 1;
    const char *path = "test_plot_long.svg";
    char *text;
    size_t size;
    assert_int_equal(rp_plot_svg(&p, path), RP_OK);
    assert_int_equal(rp__file_read(path, 1 << 24, &text, &size), RP_OK);
    assert_true(size < 150000);
    double top = 1e9; /* of the line, in points: the lone peak is the highest */
    for (char *at = strstr(text, "#14468c"); at && *at && *at != '>'; at++)
        if (*at == ',') {
            double v;
            assert_int_equal(sscanf(at + 1, "%lf", &v), 1);
            top = fmin(top, v);
        }
    assert_true(top < 30);
    rp__base_free(text);
    remove(path);
}

static void ticks_are_round(void **state)
{
    (void)state;
    const double ranges[][2] = { { 0, 1 }, { -3, 4 }, { 1e-9, 3e-9 }, { 100, 101 }, { -1e6, 2.5e7 } };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        double first, step;
        rp__canvas_ticks(ranges[i][0], ranges[i][1], 6, &first, &step);
        double n = (ranges[i][1] - first) / step, part = step / pow(10, floor(log10(step) + 1e-9));
        assert_true(first >= ranges[i][0] - 1e-6 * step && n >= 3 && n <= 13);
        assert_true(fabs(part - 1) < 1e-6 || fabs(part - 2) < 1e-6 || fabs(part - 5) < 1e-6 || fabs(part - 10) < 1e-6);
    }
}

/* ---- text, legends, sheets ---- */

static void text_is_drawn_where_it_is_said(void **state)
{
    (void)state;
    const uint8_t black[3] = { 0, 0, 0 };
    rp_image image;
    assert_int_equal(rp_image_create(200, 60, &image), RP_OK);
    assert_int_equal(rp_image_add_text(&image, "H\xcf\x86 \xff", 20, 20, 20, black), RP_OK); /* a bad byte is a box, no harm */
    assert_int_equal(ink(&image, 0, 0, 200, 18), 0);
    assert_int_equal(ink(&image, 0, 0, 18, 60), 0);
    assert_true(ink(&image, 18, 18, 38, 42) > 60);
    double wide = rp__font_width("mmm", 10), narrow = rp__font_width("iii", 10);
    assert_true(wide > 3 * narrow && fabs(rp__font_width("mmm", 20) - 2 * wide) < 1e-9);
    assert_int_equal(rp_image_add_text(&image, "x", NAN, 0, 10, black), RP_BAD_ARGUMENT);
    assert_int_equal(rp_image_add_text(&image, "far away", 1e6, -1e6, 10, black), RP_OK);
    rp_image_free(&image);
}

static void legend_shows_the_map(void **state)
{
    (void)state;
    rp_image image;
    assert_int_equal(rp_image_create(640, 360, &image), RP_OK);
    assert_int_equal(rp_image_add_legend(&image, "velocity [m/s]", 0, 2.5), RP_OK);
    uint8_t first[3], last[3];
    rp_colour_map(0.02, first), rp_colour_map(0.98, last);
    int dark = 0, bright = 0;
    for (int i = 0; i < 640 * 360; i++) {
        const uint8_t *p = image.pixels + 3 * i;
        dark += abs(p[0] - first[0]) + abs(p[1] - first[1]) + abs(p[2] - first[2]) < 12;
        bright += abs(p[0] - last[0]) + abs(p[1] - last[1]) + abs(p[2] - last[2]) < 12;
    }
    assert_true(dark > 10 && bright > 10);
    rp_image_free(&image);
    assert_int_equal(rp_image_create(8, 8, &image), RP_OK); /* too small for one: left as it is */
    assert_int_equal(rp_image_add_legend(&image, "x", 1, 1), RP_OK);
    rp_image_free(&image);
}

static void sheets_hold_their_pictures(void **state)
{
    (void)state;
    rp_image parts[5], sheet;
    const char *captions[5] = { "a", "b", "c", "d", NULL };
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rp_image_create(64, 36, &parts[i]), RP_OK);
        memset(parts[i].pixels, 40 * i, 3 * 64 * 36);
    }
    assert_int_equal(rp_sheet(parts, captions, 5, 3, 32, &sheet), RP_OK);
    assert_true(sheet.width >= 3 * 32 && sheet.height >= 2 * 18);
    for (int i = 0; i < 5; i++) { /* each grey is there as large as a small picture */
        int n = 0;
        for (int k = 0; k < sheet.width * sheet.height; k++)
            n += abs(sheet.pixels[3 * k] - 40 * i) <= 1 && abs(sheet.pixels[3 * k + 2] - 40 * i) <= 1;
        assert_true(n >= 32 * 18);
    }
    rp_image_free(&sheet);
    assert_int_equal(rp_sheet(parts, NULL, 0, 3, 32, &sheet), RP_BAD_ARGUMENT);
    assert_int_equal(rp_sheet(parts, NULL, 5, 5, 30000, &sheet), RP_TOO_LARGE);
    for (int i = 0; i < 5; i++)
        rp_image_free(&parts[i]);
}

static void damaged_png_is_refused(void **state)
{
    (void)state;
    rp_image image;
    write_file("test_plot_bad.png", "\x89PNG\r\n\x1a\n and then nothing that makes sense");
    assert_int_equal(rp_image_read_png("test_plot_bad.png", &image), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "test_plot_bad.png"));
    remove("test_plot_bad.png");
    assert_int_equal(rp_image_read_png("test_plot_bad.png", &image), RP_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read),           cmocka_unit_test(tables_without_memory),
        cmocka_unit_test(svg_says_what_it_should),   cmocka_unit_test(png_has_axes_and_line),
        cmocka_unit_test(long_tables_stay_small),    cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(text_is_drawn_where_it_is_said), cmocka_unit_test(legend_shows_the_map),
        cmocka_unit_test(sheets_hold_their_pictures), cmocka_unit_test(damaged_png_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
