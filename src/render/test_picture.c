/* Pictures against stored ones by perceptual distance, their independence of threads, silhouettes against formulas, bad input.
 * With REPOSE_STORE_PICTURES set the stored ones are written anew. */
#include "base/memory.h"
#include "math/random.h"

#include <math.h>
#include <repose/render.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PICTURES RP_SOURCE_DIR "/tests/pictures/"

/* What a right picture may differ by (other compilers round differently: 0.01 and 0.13 were seen), in CIE Lab units: the mean, and the worst 8×8 block. */
static const double mean_limit = 0.1, block_limit = 0.3;

enum { WIDTH = 64, HEIGHT = 48, GRAINS = 1200 };

typedef struct pile {
    double x[3][GRAINS], v[3][GRAINS], radius[GRAINS], axis[3][GRAINS], f[6][GRAINS];
    uint8_t colour[3 * GRAINS];
    int64_t count;
} pile;

/* A cone of grains on the plane z = 0. */
static void make_pile(pile *p)
{
    rp_palette sand;
    assert_int_equal(rp_palette_parse("sand", &sand), RP_OK);
    p->count = GRAINS;
    for (int64_t i = 0; i < GRAINS; i++) {
        uint64_t k = (uint64_t)i;
        double h = 1 - cbrt(1 - rp__random_unit(1, 1, k)), r = 0.5 * (1 - h) * sqrt(rp__random_unit(1, 2, k)),
               a = 6.2831853 * rp__random_unit(1, 3, k);
        p->radius[i] = 0.022 + 0.012 * rp__random_unit(1, 4, k);
        p->x[0][i] = r * cos(a), p->x[1][i] = r * sin(a), p->x[2][i] = 0.3 * h + p->radius[i];
        p->v[0][i] = 0.4, p->v[1][i] = 0, p->v[2][i] = 0.2;
        rp__vec3 n = rp__random_on_sphere(1, 5, k);
        p->axis[0][i] = n.x, p->axis[1][i] = n.y, p->axis[2][i] = n.z;
        double n3[3] = { n.x, n.y, n.z }, long2 = 0.04 * 0.04, short2 = 0.018 * 0.018;
        const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
        for (int c = 0; c < 6; c++)
            p->f[c][i] = (row[c] == column[c] ? short2 : 0) + (long2 - short2) * n3[row[c]] * n3[column[c]];
        rp_palette_pick(&sand, i, p->colour + 3 * i);
    }
}

static rp_grain_set set_of(const pile *p, rp_grain_shape shape)
{
    rp_grain_set s = rp_default_grain_set();
    s.shape = shape;
    s.count = p->count;
    for (int d = 0; d < 3; d++)
        s.position[d] = p->x[d], s.velocity[d] = p->v[d], s.axis[d] = p->axis[d];
    for (int c = 0; c < 6; c++)
        s.ellipsoid[c] = p->f[c];
    s.radius = p->radius;
    s.colour = p->colour;
    return s;
}

static rp_picture small_picture(void)
{
    const double lower[3] = { -0.5, -0.5, 0 }, upper[3] = { 0.5, 0.5, 0.35 }, from[3] = { 0.4, -1, 0.5 }, up[3] = { 0, 0, 1 };
    rp_picture p = rp_default_picture();
    p.width = WIDTH, p.height = HEIGHT, p.samples = 32;
    p.view = rp_view_frame(lower, upper, from, up, 0.6, false, WIDTH, HEIGHT, 0.9);
    return p;
}

static rp_render *new_render(void)
{
    const double origin[3] = { 0, 0, 0 };
    rp_render *r = NULL;
    assert_int_equal(rp_render_create(origin, &r), RP_OK);
    return r;
}

static void add_ground(rp_render *r)
{
    const double point[3] = { 0, 0, 0 }, normal[3] = { 0, 0, 2 };
    const uint8_t colour[3] = { 204, 197, 186 };
    assert_int_equal(rp_render_set_ground(r, point, normal, colour), RP_OK);
}

/* A box of half size h about c. */
static void add_box(rp_render *r, const double c[3], double h, double gloss, double opacity)
{
    double v[24];
    int32_t t[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
    for (int k = 0; k < 8; k++)
        for (int d = 0; d < 3; d++)
            v[3 * k + d] = k >> d & 1 ? h : -h;
    rp_mesh mesh = { v, t, 8, 12 };
    rp_mesh_set s = rp_default_mesh_set();
    s.mesh = &mesh;
    memcpy(s.position, c, sizeof s.position);
    s.gloss = gloss, s.opacity = opacity;
    s.velocity[0] = 0.3;
    assert_int_equal(rp_render_add_mesh(r, &s), RP_OK);
}

static rp_image shoot(const pile *p, rp_grain_shape shape, const rp_picture *picture, bool box)
{
    rp_render *r = new_render();
    rp_grain_set s = set_of(p, shape);
    rp_image image;
    assert_int_equal(rp_render_add_grains(r, &s), RP_OK);
    add_ground(r);
    if (box) {
        add_box(r, (double[3]){ -0.45, -0.3, 0.1 }, 0.1, 0.6, 1);
        add_box(r, (double[3]){ 0.3, -0.4, 0.12 }, 0.12, 0, 0.2);
    }
    assert_int_equal(rp_render_picture(r, picture, NULL, NULL, &image), RP_OK);
    rp_render_destroy(r);
    return image;
}

static bool alike(const rp_image *image, const char *name)
{
    char path[512];
    rp_image stored;
    double mean, worst;
    snprintf(path, sizeof path, PICTURES "%s.png", name);
    assert_int_equal(rp_image_read_png(path, &stored), RP_OK);
    assert_int_equal(rp_image_compare(image, &stored, &mean, &worst), RP_OK);
    rp_image_free(&stored);
    print_message("%s: mean %.3f, worst block %.3f\n", name, mean, worst);
    return mean < mean_limit && worst < block_limit;
}

static void must_match(rp_image *image, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, PICTURES "%s.png", name);
    if (getenv("REPOSE_STORE_PICTURES"))
        assert_int_equal(rp_image_write_png(image, path), RP_OK);
    assert_true(alike(image, name));
    rp_image_free(image);
}

static void pictures_are_as_stored(void **state)
{
    const pile *p = *state;
    rp_picture picture = small_picture();
    rp_image image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    must_match(&image, "spheres");
    image = shoot(p, RP_GRAIN_DISC, &picture, false);
    must_match(&image, "discs");
    image = shoot(p, RP_GRAIN_ELLIPSOID, &picture, false);
    must_match(&image, "ellipsoids");
    image = shoot(p, RP_GRAIN_SPHERE, &picture, true);
    must_match(&image, "bodies");
    picture.shutter = 0.3;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, true);
    must_match(&image, "motion");
    image = shoot(p, RP_GRAIN_DISC, &picture, false);
    must_match(&image, "motion_discs");
    picture.shutter = 0;
    picture.view.aperture = 0.06;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    must_match(&image, "depth_of_field");
    picture.view.aperture = 0;
    picture.sun_strength = 0;
    picture.lamp_strength = 6, picture.lamp_radius = 0.3;
    picture.lamp_position[0] = -0.8, picture.lamp_position[2] = 1.2;
    picture.lamp_direction[0] = 0.6, picture.lamp_direction[2] = -1;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    must_match(&image, "lamp");
    picture = small_picture();
    picture.view.orthographic = true;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    must_match(&image, "orthographic");
}

/* The tolerance is no blanket: a wrong light, a weaker sky, one bounce less break it. */
static void wrong_pictures_are_found(void **state)
{
    pile *p = *state;
    rp_picture picture = small_picture();
    picture.sun[0] = -picture.sun[0];
    rp_image image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    assert_false(alike(&image, "spheres"));
    rp_image_free(&image);

    picture = small_picture();
    picture.sky_strength = 0.9;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    assert_false(alike(&image, "spheres"));
    rp_image_free(&image);

    picture = small_picture();
    picture.bounces = 1;
    image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    assert_false(alike(&image, "spheres"));
    rp_image_free(&image);
}

/* Grains one can see go, one at a time; the image is small, so a grain is about three pixels wide. */
static void missing_grains_are_found(void **state)
{
    pile *p = *state;
    rp_picture picture = small_picture();
    rp_image whole = shoot(p, RP_GRAIN_SPHERE, &picture, false);
    static bool done[GRAINS];
    int seen = 0;
    for (int tried = 0; tried < 40 && seen < 10; tried++) { /* from the one nearest to the eye on */
        int64_t i = -1;
        double best = INFINITY;
        for (int64_t j = 0; j < p->count; j++) {
            double d = done[j] ? INFINITY : 0;
            for (int k = 0; k < 3; k++)
                d += (p->x[k][j] - picture.view.eye[k]) * (p->x[k][j] - picture.view.eye[k]);
            if (d < best)
                best = d, i = j;
        }
        done[i] = true;
        double was = p->radius[i];
        p->radius[i] = 0;
        rp_image image = shoot(p, RP_GRAIN_SPHERE, &picture, false);
        p->radius[i] = was;
        int changed = 0; /* pixels whose colour is plainly another one */
        for (int k = 0; k < WIDTH * HEIGHT; k++) {
            int most = 0;
            for (int c = 0; c < 3; c++)
                most = abs(image.pixels[3 * k + c] - whole.pixels[3 * k + c]) > most
                           ? abs(image.pixels[3 * k + c] - whole.pixels[3 * k + c]) : most;
            changed += most > 20;
        }
        if (changed >= 3) {
            seen++;
            assert_false(alike(&image, "spheres"));
        }
        rp_image_free(&image);
    }
    rp_image_free(&whole);
    assert_int_equal(seen, 10);
}

static void threads_change_no_byte(void **state)
{
    const pile *p = *state;
    rp_picture picture = small_picture();
    picture.shutter = 0.1, picture.samples = 4;
    rp_image first = { 0 };
    for (int threads = 1; threads <= 3; threads++) {
        picture.threads = threads;
        rp_image image = shoot(p, RP_GRAIN_SPHERE, &picture, true);
        if (threads == 1)
            first = image;
        else {
            assert_memory_equal(first.pixels, image.pixels, 3 * WIDTH * HEIGHT);
            rp_image_free(&image);
        }
    }
    rp_image_free(&first);
}

/* The part of the picture that a single grain covers, seen in parallel along -y. */
static double coverage(const rp_grain_set *s)
{
    rp_render *r = new_render();
    rp_picture p = rp_default_picture();
    p.width = p.height = 128, p.samples = 16, p.bounces = 1;
    p.view = (rp_view){ .eye = { 0, -5, 0 }, .up = { 0, 0, 1 }, .orthographic = true, .extent = 2, .field_of_view = 0.5 };
    p.background[0] = 255, p.background[1] = 0, p.background[2] = 255;
    rp_image image;
    assert_int_equal(rp_render_add_grains(r, s), RP_OK);
    assert_int_equal(rp_render_picture(r, &p, NULL, NULL, &image), RP_OK);
    int64_t covered = 0; /* a half-covered pixel counts by its green, which the background lacks */
    for (int i = 0; i < 128 * 128; i++)
        covered += image.pixels[3 * i + 1] > 40;
    rp_image_free(&image);
    rp_render_destroy(r);
    return (double)covered / (128 * 128) * 4;
}

static void silhouettes_have_the_right_area(void **state)
{
    (void)state;
    double zero[1] = { 0 }, one[1] = { 1 }, tilt[1] = { 0.6 }, rest[1] = { 0.8 };
    const double pi = 3.14159265358979323846;
    rp_grain_set s = rp_default_grain_set();
    s.count = 1;
    s.common_radius = 0.7;
    s.common_colour[0] = s.common_colour[1] = s.common_colour[2] = 230;
    for (int d = 0; d < 3; d++)
        s.position[d] = zero;
    assert_true(fabs(coverage(&s) - pi * 0.49) < 0.05);
    /* A coin whose axis has the part 0.8 along the view: pi r² 0.8 + 2 r · 2 h 0.6 (its rim), h = thickness · r. */
    s.shape = RP_GRAIN_DISC;
    s.thickness = 0.1;
    s.axis[0] = zero, s.axis[1] = rest, s.axis[2] = tilt;
    assert_true(fabs(coverage(&s) - (pi * 0.49 * 0.8 + 4 * 0.7 * 0.07 * 0.6)) < 0.06);
    s.axis[0] = zero, s.axis[1] = one, s.axis[2] = zero;
    assert_true(fabs(coverage(&s) - pi * 0.49) < 0.05);
    /* An ellipsoid with semi-axes 0.8 (x), 0.3 (y), 0.5 (z): pi 0.8 0.5. */
    double xx[1] = { 0.64 }, yy[1] = { 0.09 }, zz[1] = { 0.25 };
    s.shape = RP_GRAIN_ELLIPSOID;
    const double *f[6] = { xx, yy, zz, zero, zero, zero };
    memcpy(s.ellipsoid, f, sizeof f);
    assert_true(fabs(coverage(&s) - pi * 0.4) < 0.05);
}

static void bad_input_is_said(void **state)
{
    const pile *p = *state;
    rp_render *r = new_render();
    rp_grain_set s = set_of(p, RP_GRAIN_SPHERE);
    rp_image image;
    assert_int_equal(rp_render_add_grains(r, &s), RP_OK);
    rp_picture picture = small_picture();
    picture.width = 0;
    assert_int_equal(rp_render_picture(r, &picture, NULL, NULL, &image), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "0 × 48"));
    picture = small_picture();
    for (int d = 0; d < 3; d++)
        picture.view.eye[d] = p->x[d][17];
    assert_int_equal(rp_render_picture(r, &picture, NULL, NULL, &image), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "inside a grain"));
    picture = small_picture();
    memcpy(picture.view.eye, picture.view.target, sizeof picture.view.eye);
    assert_int_equal(rp_render_picture(r, &picture, NULL, NULL, &image), RP_BAD_ARGUMENT);
    picture = small_picture();
    picture.view.field_of_view = NAN;
    assert_int_equal(rp_render_picture(r, &picture, NULL, NULL, &image), RP_BAD_ARGUMENT);
    picture = small_picture();
    assert_int_equal(rp_render_to_png(r, &picture, "/nonexistent/folder/x.png"), RP_IO_ERROR);
    assert_non_null(strstr(rp_last_error(), "/nonexistent/folder/x.png"));
    s.common_radius = -1, s.radius = NULL;
    assert_int_equal(rp_render_add_grains(r, &s), RP_BAD_ARGUMENT);
    int32_t triangle[3] = { 0, 1, 7 };
    double vertices[9] = { 0 };
    rp_mesh mesh = { vertices, triangle, 3, 1 };
    rp_mesh_set m = rp_default_mesh_set();
    m.mesh = &mesh;
    assert_int_equal(rp_render_add_mesh(r, &m), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "vertex 7"));
    rp_render_destroy(r);
}

/* Grains that are not finite are left out, the others are shown. */
static void strange_numbers_do_no_harm(void **state)
{
    (void)state;
    double x[4] = { 0, NAN, INFINITY, 0.3 }, y[4] = { 0 }, z[4] = { 0.1, 0, 0, 0.1 }, radius[4] = { 0.1, 0.1, 0.1, NAN };
    rp_render *r = new_render();
    rp_grain_set s = rp_default_grain_set();
    s.count = 4;
    s.position[0] = x, s.position[1] = y, s.position[2] = z, s.radius = radius;
    assert_int_equal(rp_render_add_grains(r, &s), RP_OK);
    double lower[3], upper[3];
    assert_true(rp_render_bounds(r, lower, upper));
    assert_true(fabs(upper[0] - 0.1) < 1e-12);
    rp_image image;
    rp_picture picture = small_picture();
    picture.samples = 1;
    assert_int_equal(rp_render_picture(r, &picture, NULL, NULL, &image), RP_OK);
    rp_image_free(&image);
    rp_render_destroy(r);
}

static bool stop_at_once(void *context, double part)
{
    (void)context;
    return part < 0;
}

static void progress_can_stop_it(void **state)
{
    const pile *p = *state;
    rp_render *r = new_render();
    rp_grain_set s = set_of(p, RP_GRAIN_SPHERE);
    rp_image image;
    rp_picture picture = small_picture();
    picture.threads = 1;
    assert_int_equal(rp_render_add_grains(r, &s), RP_OK);
    assert_int_equal(rp_render_picture(r, &picture, stop_at_once, NULL, &image), RP_CANCELLED);
    rp_render_destroy(r);
}

static rp_result make_everything(const pile *p)
{
    const double origin[3] = { 0, 0, 0 };
    rp_render *r = NULL;
    rp_grain_set s = set_of(p, RP_GRAIN_SPHERE);
    rp_picture picture = small_picture();
    picture.width = picture.height = 8, picture.samples = 1, picture.shutter = 0.1;
    rp_image image;
    double v[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
    int32_t t[3] = { 0, 1, 2 };
    rp_mesh mesh = { v, t, 3, 1 };
    rp_mesh_set m = rp_default_mesh_set();
    m.mesh = &mesh;
    rp_result result = rp_render_create(origin, &r);
    if (result == RP_OK)
        result = rp_render_add_grains(r, &s);
    s.shape = RP_GRAIN_DISC;
    if (result == RP_OK)
        result = rp_render_add_grains(r, &s);
    if (result == RP_OK)
        result = rp_render_add_mesh(r, &m);
    if (result == RP_OK)
        result = rp_render_picture(r, &picture, NULL, NULL, &image);
    if (result == RP_OK)
        rp_image_free(&image);
    rp_render_destroy(r);
    return result;
}

static void every_allocation_may_fail(void **state)
{
    const pile *p = *state;
    size_t before = rp_memory_in_use();
    for (int64_t n = 1; n < 200; n++) {
        rp__base_fail_allocation(n);
        rp_result result = make_everything(p);
        rp__base_fail_allocation(0);
        assert_int_equal(rp_memory_in_use(), before);
        if (result == RP_OK) {
            assert_true(n > 10);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail();
}

static void compare_measures(void **state)
{
    (void)state;
    rp_image a, b;
    double mean, worst;
    assert_int_equal(rp_image_create(32, 16, &a), RP_OK);
    assert_int_equal(rp_image_create(32, 16, &b), RP_OK);
    assert_int_equal(rp_image_compare(&a, &b, &mean, &worst), RP_OK);
    assert_true(mean == 0 && worst == 0);
    memset(b.pixels, 0, 3 * 32 * 16); /* black on white: 100 units of lightness */
    assert_int_equal(rp_image_compare(&a, &b, &mean, &worst), RP_OK);
    assert_true(fabs(mean - 100) < 0.1 && fabs(worst - 100) < 0.1);
    rp_image_free(&b);
    assert_int_equal(rp_image_create(16, 16, &b), RP_OK);
    assert_int_equal(rp_image_compare(&a, &b, &mean, &worst), RP_BAD_ARGUMENT);
    rp_image_free(&a);
    rp_image_free(&b);
}

static int set_up(void **state)
{
    static pile p;
    make_pile(&p);
    *state = &p;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_as_stored),
        cmocka_unit_test(wrong_pictures_are_found),
        cmocka_unit_test(missing_grains_are_found),
        cmocka_unit_test(threads_change_no_byte),
        cmocka_unit_test(silhouettes_have_the_right_area),
        cmocka_unit_test(bad_input_is_said),
        cmocka_unit_test(strange_numbers_do_no_harm),
        cmocka_unit_test(progress_can_stop_it),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(compare_measures),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
