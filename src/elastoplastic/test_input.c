/* Materials of the paper, materials that make no sense, and steps that are forced. */
#include "cmocka_test.h"

#include <math.h>
#include <repose/repose.h>
#include <stdio.h>
#include <string.h>

static rp_scene *parse(const char *material, const char *rest)
{
    char text[1000];
    rp_scene *scene = NULL;
    snprintf(text, sizeof text,
             "method: elastoplastic\ndomain: [0.8, 0.8]\ncell_size: 5 cm\nduration: 1 s\nmaterial: %s\n"
             "grains: [{shape: {box: {lower: [0, 0], upper: [0.4, 0.4]}}}]\n%s", material, rest);
    rp_scene_parse(text, "scene.yaml", NULL, NULL, &scene);
    return scene;
}

/* Table 3 of Klár et al. 2016; angles in degrees. */
static void presets_are_those_of_the_table(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        double density, stiffness, angle, h[4];
    } rows[] = {
        { "klar-castle", 2200, 3.537e5, 0, { 35, 0, 0.2, 10 } },
        { "klar-friction-20", 2200, 3.537e5, 20, { 0 } },
        { "klar-friction-25", 2200, 3.537e5, 25, { 0 } },
        { "klar-friction-30", 2200, 3.537e5, 30, { 0 } },
        { "klar-friction-35", 2200, 3.537e5, 35, { 0 } },
        { "klar-friction-40", 2200, 3.537e5, 40, { 0 } },
        { "klar-hourglass", 2200, 3.537e5, 0, { 35, 9, 0.3, 10 } },
        { "klar-butterfly", 2200, 3.537e5, 0, { 35, 9, 0.2, 10 } },
        { "klar-splash", 1582, 3.537e6, 22, { 0 } },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rp_scene *scene = parse(rows[k].name, "");
        assert_non_null(scene);
        const rp_material_def *m = &rp_scene_sim_def(scene)->materials[0];
        assert_true(m->bulk_density == rows[k].density);
        assert_true(m->youngs_modulus == rows[k].stiffness && m->poisson_ratio == 0.3 && m->match == RP_MATCH_CIRCUMSCRIBED);
        if (rows[k].angle > 0)
            assert_true(fabs(m->friction_angle * 57.29577951308232 - rows[k].angle) < 1e-9);
        for (int h = 0; h < 4; h++)
            assert_true(m->hardening[h] == rows[k].h[h]);
        rp_scene_destroy(scene);
    }
}

static void senseless_materials_are_refused(void **unused)
{
    (void)unused;
    static const char *const bad[][2] = {
        { "{youngs_modulus: 0}", "youngs_modulus" },     { "{youngs_modulus: -1}", "youngs_modulus" },
        { "{youngs_modulus: 1e13}", "youngs_modulus" },  { "{poisson_ratio: 0.5}", "poisson_ratio" },
        { "{friction_angle: 90 deg}", "friction_angle" }, { "{density: 0}", "density" },
        { "{h0: 91}", "h0" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        rp_scene *scene = parse(bad[k][0], "");
        if (scene)
            fail_msg("%s was taken", bad[k][0]);
        assert_non_null(strstr(rp_last_error(), bad[k][1]));
        assert_non_null(strstr(rp_last_error(), "must be"));
    }
}

static void run(const char *material, const char *rest, int steps, rp_result *result, rp_step_stats *stats)
{
    rp_scene *scene = parse(material, rest);
    rp_sim *sim = NULL;
    if (!scene || rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    *result = RP_OK;
    for (int i = 0; i < steps && *result == RP_OK; i++)
        *result = rp_sim_step(sim, stats);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

/* The stiffest and the softest material run; their steps are those of the wave and of the frame. */
static void extreme_materials_run(void **unused)
{
    (void)unused;
    rp_result result;
    rp_step_stats stats;
    run("{youngs_modulus: 1e12}", "threads: 1\n", 20, &result, &stats);
    assert_int_equal(result, RP_OK);
    assert_string_equal(stats.limit, "wave");
    assert_true(isfinite(stats.kinetic_energy) && stats.dt < 1e-6);
    run("{youngs_modulus: 1}", "threads: 1\n", 60, &result, &stats);
    assert_int_equal(result, RP_OK);
    assert_true(isfinite(stats.kinetic_energy));
    run("{friction_angle: 88 deg, poisson_ratio: 0.499}", "threads: 1\n", 60, &result, &stats);
    assert_int_equal(result, RP_OK);
    assert_true(isfinite(stats.kinetic_energy));
}

/* A step forced far beyond the limit ends with advice. */
static void forced_steps_end_with_advice(void **unused)
{
    (void)unused;
    rp_result result;
    rp_step_stats stats;
    run("{youngs_modulus: 1e8}", "threads: 1\nsubsteps: 4\nframe_rate: 24\n", 2000, &result, &stats);
    assert_int_equal(result, RP_DIVERGED);
    if (!strstr(rp_last_error(), "integrator: implicit") || !strstr(rp_last_error(), "youngs_modulus"))
        fail_msg("%s", rp_last_error());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_those_of_the_table),
        cmocka_unit_test(senseless_materials_are_refused),
        cmocka_unit_test(extreme_materials_run),
        cmocka_unit_test(forced_steps_end_with_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
