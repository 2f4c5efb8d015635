/* A small run and its pictures, for the tests of films. */
#ifndef RP_RENDER_FILM_TESTS_H
#define RP_RENDER_FILM_TESTS_H

#include <repose/output.h>
#include <repose/render.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Runs the scene of the text to its end, into the folder. */
static inline void film_run(const char *text, const char *folder)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    assert_int_equal(rp_scene_parse(text, "test", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    assert_int_equal(rp_output_create(folder, scene, true, &output), RP_OK);
    assert_int_equal(rp_output_start(output, sim), RP_OK);
    while (!rp_sim_done(sim)) {
        rp_step_stats stats;
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        assert_int_equal(rp_output_step(output, sim, &stats), RP_OK);
    }
    rp_output_destroy(output);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static inline int film_remove(const char *folder)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static inline rp_film_def film_small(int width, int height, int samples)
{
    rp_film_def def = rp_default_film_def();
    def.width = width, def.height = height, def.quality = RP_DRAFT, def.samples = samples;
    return def;
}

static inline rp_image film_image(const char *folder, const rp_film_def *def, int64_t i)
{
    rp_film *film = NULL;
    rp_image image = { 0 };
    assert_int_equal(rp_film_open(folder, def, &film), RP_OK);
    assert_int_equal(rp_film_picture(film, i, NULL, NULL, &image), RP_OK);
    rp_film_close(film);
    return image;
}

/* How far two pictures of the film are apart. */
static inline double film_apart(const char *folder, const rp_film_def *a, int64_t i, const rp_film_def *b, int64_t j)
{
    rp_image x = film_image(folder, a, i), y = film_image(folder, b, j);
    double mean, worst;
    assert_int_equal(rp_image_compare(&x, &y, &mean, &worst), RP_OK);
    rp_image_free(&x);
    rp_image_free(&y);
    return worst;
}

#endif
