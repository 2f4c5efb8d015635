/* What a scene says about its pictures: camera keys, turntable, lens and shutter, lamp and sun, a palette for each material, boards around
 * a bed; and what rp_film_def puts in place of it. */
#include "render/film.h"
#include "render/film_tests.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *const scene_text = "title: Test\n"
                                      "method: ballistic\n"
                                      "domain: [0.4, 0.3, 0.4]\n"
                                      "cell_size: 2.5 cm\n"
                                      "duration: 0.2 s\n"
                                      "frame_rate: 20\n"
                                      "materials:\n"
                                      "  red: {preset: dry-sand, colour: '#d01818'}\n"
                                      "  blue: {preset: dry-sand, colour: '#1830d0'}\n"
                                      "walls: {all: slip, bottom: 0.5}\n"
                                      "grains:\n";
static const char *const two_blocks = "  - {material: red, shape: {box: {lower: [0.05, 0.1, 0.2], upper: [0.15, 0.2, 0.3]}}}\n"
                                      "  - {material: blue, shape: {box: {lower: [0.25, 0.1, 0.2], upper: [0.35, 0.2, 0.3]}}}\n";
static const char *const bed = "  - {material: red, shape: {box: {lower: [0, 0, 0], upper: [0.4, 0.3, 0.05]}}}\n";

static char folder[] = "test_film_scene_XXXXXX";

/* A run of the scene with these grains and more lines. */
static void run(const char *grains, const char *more)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s", scene_text, grains, more);
    film_run(text, folder);
}

static rp_film_def small_film(void)
{
    return film_small(96, 72, 8);
}

static rp_image picture(const rp_film_def *def, int64_t i)
{
    return film_image(folder, def, i);
}

static double apart(const rp_film_def *a, const rp_film_def *b, int64_t i)
{
    return film_apart(folder, a, i, b, i);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return film_remove(folder);
}

static rp_film *open_film(const rp_film_def *def)
{
    rp_film *film = NULL;
    assert_int_equal(rp_film_open(folder, def, &film), RP_OK);
    assert_int_equal(rp_film_check(film), RP_OK);
    return film;
}

static void near3(const double a[3], double x, double y, double z)
{
    assert_true(fabs(a[0] - x) < 1e-9 && fabs(a[1] - y) < 1e-9 && fabs(a[2] - z) < 1e-9);
}

static void camera_follows_its_keys(void **state)
{
    (void)state;
    run(two_blocks, "camera:\n  keys:\n    - [0 s, [1, -1, 1], [0.2, 0.1, 0.1]]\n    - [0.1 s, [2, -1, 1], [0.2, 0.1, 0.1]]\n"
                    "    - [0.2 s, [2, 1, 0.5], [0.2, 0.1, 0.3]]\n");
    rp_film_def def = small_film();
    rp_film *film = open_film(&def);
    near3(rp__film_view_at(film, -1).eye, 1, -1, 1); /* held before and after */
    near3(rp__film_view_at(film, 0).eye, 1, -1, 1);
    near3(rp__film_view_at(film, 0.1).eye, 2, -1, 1);
    near3(rp__film_view_at(film, 0.2).eye, 2, 1, 0.5);
    near3(rp__film_view_at(film, 0.2).target, 0.2, 0.1, 0.3);
    near3(rp__film_view_at(film, 9).eye, 2, 1, 0.5);
    for (double t = 0; t < 0.2; t += 0.01) { /* smooth: no jump, and none at the middle key in the speed */
        rp_view a = rp__film_view_at(film, t), b = rp__film_view_at(film, t + 0.001);
        for (int d = 0; d < 3; d++)
            assert_true(fabs(b.eye[d] - a.eye[d]) < 0.03);
    }
    double before = rp__film_view_at(film, 0.1).eye[0] - rp__film_view_at(film, 0.0999).eye[0];
    double after = rp__film_view_at(film, 0.1001).eye[0] - rp__film_view_at(film, 0.1).eye[0];
    assert_true(fabs(before - after) < 0.01 * 1e-4 / 0.1 + 1e-5);
    rp_film_close(film);
    rp_image first = picture(&def, 0), last = picture(&def, 4);
    double mean, worst;
    assert_int_equal(rp_image_compare(&first, &last, &mean, &worst), RP_OK);
    assert_true(worst > 5);
    rp_image_free(&first);
    rp_image_free(&last);
    def.view = "front"; /* a view that was asked for stands still */
    film = open_film(&def);
    rp_view a = rp__film_view_at(film, 0), b = rp__film_view_at(film, 0.2);
    assert_memory_equal(&a, &b, sizeof a);
    rp_film_close(film);
}

static void turntable_goes_round(void **state)
{
    (void)state;
    run(two_blocks, "camera: {eye: [0.2, -1, 0.5], target: [0.2, 0.15, 0.1], turntable: 2.5}\n");
    rp_film_def def = small_film();
    rp_film *film = open_film(&def);
    near3(rp__film_view_at(film, 0).eye, 0.2, -1, 0.5);
    near3(rp__film_view_at(film, 0.2).eye, 0.2, 1.3, 0.5); /* half a turn: beyond the target */
    near3(rp__film_view_at(film, 0.4).eye, 0.2, -1, 0.5);
    rp_film_close(film);
    def.turntable = 0;
    film = open_film(&def);
    near3(rp__film_view_at(film, 0.2).eye, 0.2, -1, 0.5);
    rp_film_close(film);
}

static void lens_shutter_and_lights(void **state)
{
    (void)state;
    run(two_blocks, "camera: {eye: [0.2, -0.7, 0.35], target: [0.2, 0.15, 0.15], focus: 3 m}\n"); /* the blocks are nearer */
    rp_film_def plain = small_film(), other = plain;
    assert_true(apart(&plain, &plain, 3) == 0);
    other.shutter = 1; /* the blocks fall at 1.5 m/s */
    assert_true(apart(&plain, &other, 3) > 8);
    other.shutter = 0;
    assert_true(apart(&plain, &other, 3) == 0);
    other = plain;
    other.aperture = 0.1;
    assert_true(apart(&plain, &other, 3) > 8);
    rp_image before = picture(&plain, 3);
    static const char *const lights[] = { "picture: {sun: [1, -0.5, 0.4]}\n", "picture: {sun_strength: 0.7}\n", "picture: {sky_strength: 0.5}\n",
                                          "picture: {lamp: [0.2, -0.5, 0.8], lamp_radius: 10 cm, lamp_strength: 20}\n" };
    for (size_t k = 0; k < sizeof lights / sizeof *lights; k++) {
        char more[256];
        snprintf(more, sizeof more, "camera: {eye: [0.2, -0.7, 0.35], target: [0.2, 0.15, 0.15]}\n%s", lights[k]);
        run(two_blocks, more);
        rp_image after = picture(&plain, 3);
        double mean, worst;
        assert_int_equal(rp_image_compare(&before, &after, &mean, &worst), RP_OK);
        print_message("%.40s...: worst block %.1f\n", lights[k], worst);
        assert_true(worst > 3);
        rp_image_free(&after);
    }
    rp_image_free(&before);
}

/* Without perspective a block is as wide at the back as in front: the view from above shows it as high as the picture's extent tells. */
static void parallel_camera(void **state)
{
    (void)state;
    run(two_blocks, "camera: {eye: [0.2, 0.15, 2], target: [0.2, 0.15, 0.25], up: [0, 1, 0], orthographic: true, field_of_view: 20 deg}\n");
    rp_film_def def = small_film();
    rp_image image = picture(&def, 0);
    int rows = 0;
    for (int y = 0; y < def.height; y++) {
        bool red = false;
        for (int x = 0; x < def.width; x++) {
            const uint8_t *c = image.pixels + 3 * (y * def.width + x);
            red = red || c[0] > 2 * c[2] + 20;
        }
        rows += red;
    }
    double extent = 2 * 1.75 * tan(10 * 3.14159265358979323846 / 180); /* of the picture at the target */
    assert_true(fabs(rows / (double)def.height * extent - 0.1) < 0.02);
    rp_image_free(&image);
}

static void materials_have_their_colours(void **state)
{
    (void)state;
    run(two_blocks, "camera: {eye: [0.2, -0.9, 0.3], target: [0.2, 0.15, 0.22]}\n");
    for (int samples = 0; samples < 2; samples++) {
        rp_film_def def = small_film();
        def.grains_per_particle = samples ? 6 : 0;
        rp_image image = picture(&def, 0);
        int count[2][2] = { { 0 } }; /* left and right half: red and blue pixels */
        for (int y = 0; y < def.height; y++)
            for (int x = 0; x < def.width; x++) {
                const uint8_t *c = image.pixels + 3 * (y * def.width + x);
                count[x >= def.width / 2][0] += c[0] > 2 * c[2] + 20;
                count[x >= def.width / 2][1] += c[2] > 2 * c[0] + 20;
            }
        assert_true(count[0][0] > 100 && count[1][1] > 100);
        assert_true(20 * count[0][1] < count[0][0] && 20 * count[1][0] < count[1][1]);
        rp_image_free(&image);
    }
}

static void boards_around_a_bed(void **state)
{
    (void)state;
    rp_film_def def = small_film();
    run(bed, "");
    rp_film *film = open_film(&def);
    assert_true(film->tray > 0.045 && film->tray < 0.075);
    rp_film_close(film);
    rp_image with = picture(&def, 0);
    run(bed, "picture: {walls: none}\n");
    film = open_film(&def);
    assert_true(film->tray == 0);
    rp_film_close(film);
    rp_image without = picture(&def, 0);
    double mean, worst;
    assert_int_equal(rp_image_compare(&with, &without, &mean, &worst), RP_OK);
    assert_true(worst > 10);
    rp_image_free(&with);
    rp_image_free(&without);
    static const char *const none[] = {
        /* in the air, along one wall only, a column, between open walls */
        "  - {material: red, shape: {box: {lower: [0, 0, 0.15], upper: [0.4, 0.3, 0.2]}}}\n",
        "  - {material: red, shape: {box: {lower: [0, 0, 0], upper: [0.2, 0.3, 0.05]}}}\n",
        "  - {material: red, shape: {box: {lower: [0, 0, 0], upper: [0.4, 0.3, 0.35]}}}\n",
    };
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        run(none[k], "");
        film = open_film(&def);
        assert_true(film->tray == 0);
        rp_film_close(film);
    }
}

/* One side alone: the other follows from the shape of the scene's picture. */
static void one_side_gives_the_other(void **state)
{
    (void)state;
    run(two_blocks, "picture: {width: 640, height: 160}\n");
    const int asked[3][2] = { { 80, 0 }, { 0, 24 }, { 60, 50 } }, right[3][2] = { { 80, 20 }, { 96, 24 }, { 60, 50 } };
    for (int k = 0; k < 3; k++) {
        rp_film_def def = film_small(asked[k][0], asked[k][1], 1);
        rp_image image = picture(&def, 0);
        assert_int_equal(image.width, right[k][0]);
        assert_int_equal(image.height, right[k][1]);
        rp_image_free(&image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(camera_follows_its_keys),     cmocka_unit_test(turntable_goes_round),
        cmocka_unit_test(lens_shutter_and_lights),     cmocka_unit_test(parallel_camera),
        cmocka_unit_test(materials_have_their_colours), cmocka_unit_test(boards_around_a_bed),
        cmocka_unit_test(one_side_gives_the_other),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
