/* Height fields against a fine net of surface points; pictures written here and read back. */
#include "base/file.h"
#include "base/memory.h"
#include "math/random.h"
#include "shape/image.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLUMNS = 7, ROWS = 5 };
static const double lower[2] = { -1, 0 }, upper[2] = { 2, 2 };
static double heights[COLUMNS * ROWS];

static double height(double x, double y)
{
    double u = fmin(fmax((x + 1) / 0.5, 0), COLUMNS - 1), v = fmin(fmax(y / 0.5, 0), ROWS - 1);
    int i = u >= COLUMNS - 1 ? COLUMNS - 2 : (int)u, j = v >= ROWS - 1 ? ROWS - 2 : (int)v;
    u -= i, v -= j;
    const double *h = heights + j * COLUMNS + i;
    return (1 - v) * ((1 - u) * h[0] + u * h[1]) + v * ((1 - u) * h[COLUMNS] + u * h[COLUMNS + 1]);
}

static rp_shape *hills(void)
{
    rp_shape *s = NULL;
    for (int i = 0; i < COLUMNS * ROWS; i++)
        heights[i] = 0.8 * rp__random_unit(3, 0, (uint64_t)i);
    assert_int_equal(rp_shape_heightfield(heights, COLUMNS, ROWS, lower, upper, &s), RP_OK);
    return s;
}

static rp__vec3 random_point(uint64_t n)
{
    return rp__vec3_make(-2.5 + 6 * rp__random_unit(4, n, 0), -1.5 + 5 * rp__random_unit(4, n, 1), -1 + 3 * rp__random_unit(4, n, 2));
}

static void distances_match_the_nearest_surface_point(void **state)
{
    (void)state;
    rp_shape *s = hills();
    enum { QUERIES = 80 };
    double nearest[QUERIES], h = 0.02;
    for (int q = 0; q < QUERIES; q++)
        nearest[q] = INFINITY;
    for (double y = -4; y <= 6; y += h)
        for (double x = -5; x <= 6; x += h) {
            rp__vec3 p = { x, y, height(x, y) };
            for (uint64_t q = 0; q < QUERIES; q++) {
                rp__vec3 r = rp__vec3_sub(p, random_point(q));
                nearest[q] = fmin(nearest[q], rp__vec3_dot(r, r));
            }
        }
    for (uint64_t q = 0; q < QUERIES; q++) {
        rp__vec3 p = random_point(q);
        double point[3] = { p.x, p.y, p.z }, d = rp_shape_distance(s, point, NULL), n = sqrt(nearest[q]);
        assert_int_equal(d > 0, p.z > height(p.x, p.y));
        assert_true(n >= fabs(d) - 1e-12);
        assert_true(n <= fabs(d) + fmin(2 * h, 4 * h * h / fabs(d) + 1e-9));
    }
    rp_shape_release(s);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    rp_shape *s = hills();
    int kinks = 0;
    for (uint64_t q = 0; q < 4000; q++) {
        double p[3], g[3], fd[3], h = 1e-5;
        rp__vec3_store(p, random_point(q));
        double d = rp_shape_distance(s, p, g), error = 0;
        double foot[3] = { p[0] - d * g[0], p[1] - d * g[1], p[2] - d * g[2] };
        assert_true(fabs(foot[2] - height(foot[0], foot[1])) < 1e-9);
        assert_true(fabs(rp_shape_distance(s, foot, NULL)) < 1e-9);
        for (int i = 0; i < 3; i++) {
            double a[3] = { p[0], p[1], p[2] }, b[3] = { p[0], p[1], p[2] };
            a[i] += h, b[i] -= h;
            fd[i] = (rp_shape_distance(s, a, NULL) - rp_shape_distance(s, b, NULL)) / (2 * h);
            error += fabs(fd[i] - g[i]);
        }
        kinks += error > 1e-4;
    }
    assert_true(kinks < 20);
    double g[3], on[3] = { 0.3, 0.7, height(0.3, 0.7) };
    assert_true(fabs(rp_shape_distance(s, on, g)) < 1e-12);
    assert_true(fabs(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] - 1) < 1e-12 && g[2] > 0);
    double lo[3], hi[3];
    rp_shape_bounds(s, lo, hi);
    double top = 0;
    for (int i = 0; i < COLUMNS * ROWS; i++)
        top = fmax(top, heights[i]);
    assert_true(hi[2] == top && isinf(lo[2]) && isinf(hi[0]));
    rp_shape_release(s);
}

static char folder[] = "/tmp/repose-heightfield-XXXXXX";

static char *in_folder(const char *name)
{
    char *path = rp__file_join(folder, name);
    assert_non_null(path);
    return path;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void write_png(const char *path, int bits, int type, int interlace, const unsigned char *rows, size_t stride, int w, int h)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_int_equal(setjmp(png_jmpbuf(png)), 0);
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, bits, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    int passes = png_set_interlace_handling(png);
    for (int k = 0; k < passes; k++)
        for (int j = 0; j < h; j++)
            png_write_row(png, rows + (size_t)j * stride);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

static void pictures_are_read(void **state)
{
    (void)state;
    char *path = in_folder("a.png");
    /* 3 × 2, 16 bits, interlaced */
    static const unsigned char deep[] = { 0, 0, 0x12, 0x34, 0xff, 0xff, 0x80, 0, 0, 1, 0xab, 0xcd };
    static const uint16_t expected[] = { 0, 0x1234, 0xffff, 0x8000, 1, 0xabcd };
    rp__shape_image image;
    write_png(path, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7, deep, 6, 3, 2);
    assert_int_equal(rp__shape_image_read(path, &image), RP_OK);
    assert_true(image.width == 3 && image.height == 2);
    assert_memory_equal(image.grey, expected, sizeof expected);
    rp__base_free(image.grey);
    /* 8 bits grey, and colour with alpha */
    static const unsigned char grey[] = { 0, 255, 51, 102 };
    write_png(path, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, grey, 2, 2, 2);
    assert_int_equal(rp__shape_image_read(path, &image), RP_OK);
    assert_true(image.grey[0] == 0 && image.grey[1] == 65535 && image.grey[2] == 51 * 257 && image.grey[3] == 102 * 257);
    rp__base_free(image.grey);
    static const unsigned char colour[] = { 9, 9, 9, 255, 200, 200, 200, 0 };
    write_png(path, 8, PNG_COLOR_TYPE_RGBA, PNG_INTERLACE_NONE, colour, 8, 2, 1);
    assert_int_equal(rp__shape_image_read(path, &image), RP_OK);
    assert_true(abs(image.grey[0] - 9 * 257) <= 257 && abs(image.grey[1] - 200 * 257) <= 257);
    rp__base_free(image.grey);
    rp__base_free(path);
    path = in_folder("a.pgm");
    static const char plain[] = "P2 # a comment\n3 2\n10\n0 5 10\n1 2 3\n", raw[] = "P5\n2 1\n65535\n\x01\x02\xff\xff";
    write_bytes(path, plain, sizeof plain - 1);
    assert_int_equal(rp__shape_image_read(path, &image), RP_OK);
    assert_true(image.width == 3 && image.height == 2 && image.grey[1] == 32768 && image.grey[2] == 65535 && image.grey[3] == 6554);
    rp__base_free(image.grey);
    write_bytes(path, raw, sizeof raw - 1);
    assert_int_equal(rp__shape_image_read(path, &image), RP_OK);
    assert_true(image.width == 2 && image.height == 1 && image.grey[0] == 0x0102 && image.grey[1] == 65535);
    rp__base_free(image.grey);
    rp__base_free(path);
}

/* The top row of the picture is at y = upper. */
static void a_picture_becomes_a_field(void **state)
{
    (void)state;
    char *path = in_folder("b.png");
    static const unsigned char grey[] = { 255, 255, 0, 0 };
    write_png(path, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, grey, 2, 2, 2);
    rp_shape *s = NULL;
    assert_int_equal(rp_shape_heightfield_image(path, lower, upper, 1, 3, &s), RP_OK);
    assert_true(fabs(rp_shape_distance(s, (double[]){ 0, 2, 3 }, NULL)) < 1e-12);
    assert_true(fabs(rp_shape_distance(s, (double[]){ 0, 0, 1 }, NULL)) < 1e-12);
    assert_true(fabs(rp_shape_distance(s, (double[]){ 0, 1, 2 }, NULL)) < 1e-12);
    rp_shape_release(s);
    rp__base_free(path);
}

static void bad_fields_are_refused(void **state)
{
    (void)state;
    rp_shape *s = NULL;
    double h[4] = { 0, 0, NAN, 0 };
    assert_int_equal(rp_shape_heightfield(h, 2, 2, lower, upper, &s), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "column 0, row 1"));
    assert_int_equal(rp_shape_heightfield(h, 1, 2, lower, upper, &s), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_heightfield(h, 90000, 90000, lower, upper, &s), RP_TOO_LARGE);
    assert_non_null(strstr(rp_last_error(), "GB"));
    assert_int_equal(rp_shape_heightfield(h, 2, 2, upper, lower, &s), RP_BAD_ARGUMENT);
    char *path = in_folder("bad");
    assert_int_equal(rp_shape_heightfield_image(path, lower, upper, 0, 1, &s), RP_NOT_FOUND);
    static const char *const bad[] = { "", "hello, this is text", "P5\n3 3\n255\nabc", "P5 999999 3 255 abc", "P2 2 2 10 1 2 3 11 ", "P5\n-1 2\n255\n  ",
                                       "P2 2 2 10 1 2 3        ", "P5 2 2 70000 abcdefgh" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_bytes(path, bad[i], strlen(bad[i]));
        assert_int_equal(rp_shape_heightfield_image(path, lower, upper, 0, 1, &s), RP_BAD_FILE);
        assert_non_null(strstr(rp_last_error(), path));
    }
    /* a PNG cut short or changed anywhere is refused or read, never more */
    char *good = in_folder("b.png"), *data = NULL;
    size_t size = 0;
    assert_int_equal(rp__file_read(good, 100000, &data, &size), RP_OK);
    for (size_t n = 1; n < size; n++) {
        write_bytes(path, data, n);
        rp_result r = rp_shape_heightfield_image(path, lower, upper, 0, 1, &s);
        assert_true(r == RP_BAD_FILE || r == RP_OK);
        if (r == RP_OK) {
            rp_shape_release(s);
            s = NULL;
        }
    }
    for (size_t n = 8; n < size; n++) {
        data[n] = (char)(data[n] ^ 0x55);
        write_bytes(path, data, size);
        if (rp_shape_heightfield_image(path, lower, upper, 0, 1, &s) == RP_OK) {
            rp_shape_release(s);
            s = NULL;
        }
        data[n] = (char)(data[n] ^ 0x55);
    }
    size_t before = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp__base_fail_allocation(n);
        rp_result r = rp_shape_heightfield_image(good, lower, upper, 0, 1, &s);
        rp__base_fail_allocation(0);
        rp_shape_release(s);
        s = NULL;
        assert_int_equal(rp_memory_in_use(), before);
        if (r == RP_OK)
            break;
        assert_int_equal(r, RP_OUT_OF_MEMORY);
        assert_true(n < 1000);
    }
    rp__base_free(data);
    rp__base_free(good);
    rp__base_free(path);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "a.png", "a.pgm", "b.png", "bad" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = in_folder(names[i]);
        unlink(path);
        rp__base_free(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_match_the_nearest_surface_point),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(pictures_are_read),
        cmocka_unit_test(a_picture_becomes_a_field),
        cmocka_unit_test(bad_fields_are_refused),
    };
    return cmocka_run_group_tests_name("shape heightfield", tests, make_folder, remove_folder);
}
