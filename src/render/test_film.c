/* Films of a small run: frames and bodies to pictures, views, colours, samples, videos, and what may be wrong with a folder. */
#include "base/file.h"
#include "base/memory.h"
#include "render/film_tests.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char scene_text[] = "title: Test\n"
                                 "method: ballistic\n"
                                 "domain: [0.4, 0.3, 0.4]\n"
                                 "cell_size: 2.5 cm\n"
                                 "duration: 0.25 s\n"
                                 "frame_rate: 24\n"
                                 "material: dry-sand\n"
                                 "walls: {all: slip, bottom: 0.5}\n"
                                 "grains:\n"
                                 "  - {shape: {box: {lower: [0.1, 0.1, 0.1], upper: [0.2, 0.2, 0.2]}}}\n"
                                 "bodies:\n"
                                 "  - {name: ball, shape: {sphere: {radius: 4 cm}}, position: [0.3, 0.15, 0.06], surface: 0.4}\n";

static char folder[] = "test_film_XXXXXX";

static void remove_folder(void)
{
    assert_int_equal(film_remove(folder), 0);
}

static int run_scene(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    film_run(scene_text, folder);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    remove_folder();
    return 0;
}

static rp_film_def small_film(void)
{
    return film_small(64, 48, 4);
}

static rp_image picture(const rp_film_def *def, int64_t i)
{
    return film_image(folder, def, i);
}

static double apart(const rp_film_def *a, int64_t i, const rp_film_def *b, int64_t j)
{
    return film_apart(folder, a, i, b, j);
}

static void frames_become_pictures(void **state)
{
    (void)state;
    rp_film_def def = small_film(), other = def;
    rp_film *film = NULL;
    assert_int_equal(rp_film_open(folder, &def, &film), RP_OK);
    assert_int_equal(rp_film_count(film), 7);
    assert_int_equal(rp_film_frame_number(film, 6), 6);
    assert_true(rp_film_rate(film) == 24);
    rp_image image;
    assert_int_equal(rp_film_picture(film, 7, NULL, NULL, &image), RP_BAD_ARGUMENT);
    rp_film_close(film);
    assert_true(apart(&def, 0, &def, 0) == 0); /* the same frame, the same picture */
    assert_true(apart(&def, 0, &def, 6) > 5);  /* the grains fell */
    static const char *const views[] = { "front", "side", "top", "iso", "close", "ortho-top", "0.9,-0.8,0.5", "0.9,-0.8,0.5:0.1,0.1,0" };
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
        other.view = views[k];
        assert_true(apart(&def, 0, &other, 0) > 2);
    }
    other = def;
    other.colour = "velocity";
    assert_true(apart(&def, 6, &other, 6) > 5);
    other.colour = "velocity.z", other.legend = false, other.time_label = true;
    assert_true(apart(&def, 6, &other, 6) > 5);
}

static void samples_replace_particles(void **state)
{
    (void)state;
    rp_film_def def = small_film(), samples = def;
    samples.grains_per_particle = 8;
    assert_true(apart(&def, 5, &samples, 5) > 1);
    /* Made one from the other: asked for again, or in another order, they are the same. */
    assert_true(apart(&samples, 5, &samples, 5) == 0);
    char path[128];
    for (int i = 0; i <= 5; i++) {
        snprintf(path, sizeof path, "%s/samples/8/frame_%06d.samples", folder, i);
        assert_true(rp__file_exists(path));
    }
    rp_image before = picture(&samples, 5);
    snprintf(path, sizeof path, "%s/samples/8/frame_%06d.samples", folder, 5);
    assert_int_equal(truncate(path, 100), 0); /* a damaged one is made again */
    rp_image after = picture(&samples, 5);
    assert_memory_equal(before.pixels, after.pixels, 3 * 64 * 48);
    rp_image_free(&before);
    rp_image_free(&after);
}

static void views_and_fields_that_are_not_there(void **state)
{
    (void)state;
    rp_film_def def = small_film();
    rp_film *film = NULL;
    rp_image image;
    def.view = "sideways";
    assert_int_equal(rp_film_open(folder, &def, &film), RP_OK);
    assert_int_equal(rp_film_picture(film, 0, NULL, NULL, &image), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "sideways"));
    rp_film_close(film);
    def = small_film();
    def.colour = "flavour";
    assert_int_equal(rp_film_open(folder, &def, &film), RP_OK);
    assert_int_equal(rp_film_check(film), RP_BAD_ARGUMENT);
    assert_int_equal(rp_film_picture(film, 0, NULL, NULL, &image), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "velocity"));
    rp_film_close(film);
    assert_int_equal(rp_film_open("no_such_folder", NULL, &film), RP_NOT_FOUND);
    assert_int_equal(rp_film_open("/tmp", NULL, &film), RP_NOT_FOUND);
    assert_non_null(strstr(rp_last_error(), "scene.yaml"));
}

static void truncated_frame_is_said(void **state)
{
    (void)state;
    char path[128], kept[128];
    snprintf(path, sizeof path, "%s/frames/frame_000003.vtkhdf", folder);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    char *data;
    size_t size;
    assert_int_equal(rp__file_read(path, 1 << 28, &data, &size), RP_OK);
    assert_int_equal(truncate(path, (long)size / 2), 0);
    rp_film_def def = small_film();
    rp_film *film = NULL;
    rp_image image;
    assert_int_equal(rp_film_open(folder, &def, &film), RP_OK);
    assert_int_equal(rp_film_picture(film, 3, NULL, NULL, &image), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "frame_000003"));
    assert_int_equal(rp_film_picture(film, 4, NULL, NULL, &image), RP_OK); /* the others are fine */
    rp_image_free(&image);
    rp_film_close(film);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    rp__base_free(data);
}

static void plots_of_a_run(void **state)
{
    (void)state;
    char plots[128], path[200];
    int made = 0;
    snprintf(plots, sizeof plots, "%s/plots", folder);
    const char *runs[2] = { folder, folder };
    assert_int_equal(rp_plot_runs(runs, 1, plots, &made), RP_OK);
    assert_true(made >= 6);
    static const char *const names[] = { "energy", "kinetic_energy", "dt", "particles", "height", "run_out", "forces",
                                         "profile_surface", "profile_speed", "phases" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/%s.svg", plots, names[k]);
        assert_true(rp__file_exists(path));
        snprintf(path, sizeof path, "%s/%s.png", plots, names[k]);
        assert_true(rp__file_exists(path));
    }
    char *text;
    size_t size;
    snprintf(path, sizeof path, "%s/forces.svg", plots);
    assert_int_equal(rp__file_read(path, 1 << 24, &text, &size), RP_OK);
    assert_non_null(strstr(text, ">ball<"));
    rp__base_free(text);
    assert_int_equal(rp_plot_runs(runs, 2, plots, &made), RP_OK);
    const char *none[1] = { "no_such_folder" };
    assert_int_equal(rp_plot_runs(none, 1, plots, &made), RP_NOT_FOUND);
}

static void videos_are_made_or_explained(void **state)
{
    (void)state;
    rp_film_def def = small_film();
    char names[3][128], video[128];
    const char *paths[3];
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof *names, "%s/p%d.png", folder, i);
        rp_image image = picture(&def, i);
        assert_int_equal(rp_image_write_png(&image, names[i]), RP_OK);
        rp_image_free(&image);
        paths[i] = names[i];
    }
    snprintf(video, sizeof video, "%s/film.avi", folder);
    assert_int_equal(rp_video_encode(paths, 3, 24, video, NULL, NULL), RP_BAD_ARGUMENT);
    snprintf(video, sizeof video, "%s/film.mp4", folder);
    rp_result result = rp_video_encode(paths, 3, 24, video, NULL, NULL);
    if (result != RP_NOT_FOUND) { /* ffmpeg is there */
        assert_int_equal(result, RP_OK);
        assert_true(rp__file_exists(video));
        paths[1] = "missing.png";
        assert_int_equal(rp_video_encode(paths, 3, 24, video, NULL, NULL), RP_IO_ERROR);
        assert_true(rp__file_exists(video)); /* the old one stays */
        char bad[160];
        snprintf(bad, sizeof bad, "%s/not_a_picture.png", folder);
        assert_int_equal(rp__file_write_text(bad, "nothing"), RP_OK);
        paths[0] = paths[1] = paths[2] = bad;
        assert_int_equal(rp_video_encode(paths, 3, 24, video, NULL, NULL), RP_IO_ERROR);
        assert_non_null(strstr(rp_last_error(), "pictures are kept"));
    }
    char *search = getenv("PATH"), *copy = search ? strdup(search) : NULL;
    paths[0] = paths[1] = paths[2] = names[0];
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(rp_video_encode(paths, 3, 24, video, NULL, NULL), RP_NOT_FOUND);
    assert_non_null(strstr(rp_last_error(), "ffmpeg"));
    if (copy)
        setenv("PATH", copy, 1);
    free(copy);
}

static void no_frames_is_said(void **state)
{
    (void)state;
    char from[128], to[128];
    rp_film *film = NULL;
    snprintf(from, sizeof from, "%s/frames", folder);
    snprintf(to, sizeof to, "%s/away", folder);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(rp_film_open(folder, NULL, &film), RP_NOT_FOUND);
    assert_non_null(strstr(rp_last_error(), "no frames"));
    assert_int_equal(rename(to, from), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_pictures),
        cmocka_unit_test(samples_replace_particles),
        cmocka_unit_test(views_and_fields_that_are_not_there),
        cmocka_unit_test(truncated_frame_is_said),
        cmocka_unit_test(plots_of_a_run),
        cmocka_unit_test(videos_are_made_or_explained),
        cmocka_unit_test(no_frames_is_said),
    };
    return cmocka_run_group_tests(tests, run_scene, clean_up);
}
