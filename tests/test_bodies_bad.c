/* Bodies that cannot be right, or look wrong: each is refused or told with a sentence that says what, and the rest goes on. */
#include "sim_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MESHES RP_SOURCE_DIR "/tests/data/meshes/"
#define HEAD "method: nonsmooth\nduration: 0.1\nframe_rate: 50\ncell_size: 10 cm\ndomain: [2, 2, 2]\nmaterial: dry-sand\n"

static char heard[4096];

static void listen(void *context, rp_log_level level, const char *text)
{
    (void)context;
    (void)level;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "%s\n", text);
}

static int begin(void **state)
{
    (void)state;
    heard[0] = '\0';
    rp_set_log(listen, NULL, RP_LOG_WARNING);
    return rp_shape_cache_folder(NULL) == RP_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    rp_set_log(NULL, NULL, RP_LOG_WARNING);
    return 0;
}

static rp_result make(const char *lines, rp_sim **sim)
{
    char text[4096];
    rp_scene *scene = NULL;
    *sim = NULL;
    snprintf(text, sizeof text, "%s%s", HEAD, lines);
    rp_result result = rp_scene_parse(text, "bodies", "/", NULL, &scene);
    if (result == RP_OK)
        result = rp_sim_create(rp_scene_sim_def(scene), sim);
    rp_scene_destroy(scene);
    return result;
}

/* A scene with these lines, run for so many steps. Fails the test when it cannot be made. */
static rp_sim *run(const char *lines, int steps)
{
    rp_sim *sim;
    rp_result result = make(lines, &sim);
    for (int k = 0; result == RP_OK && k < steps; k++)
        result = rp_sim_step(sim, NULL);
    if (result != RP_OK)
        fail_msg("%s", rp_last_error());
    return sim;
}

/* The scene is not accepted, with these words. */
static void refused(const char *lines, const char *words)
{
    rp_sim *sim;
    rp_result result = make(lines, &sim);
    if (result == RP_OK || !strstr(rp_last_error(), words))
        fail_msg("%s: '%s' is not in: %s", lines, words, result == RP_OK ? "(accepted)" : rp_last_error());
}

static void was_told(const char *words)
{
    if (!strstr(heard, words))
        fail_msg("'%s' was not told, but: %s", words, heard);
}

static void broken_meshes(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        { "empty.obj", "empty.obj" }, { "nan.obj", "finite number" },  { "infinite.obj", "finite" },
        { "cup.obj", "open edges" },  { "sheet.obj", "open edges" },   { "flat.obj", "no inside" },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        char lines[512];
        snprintf(lines, sizeof lines, "bodies: {name: rock, shape: {mesh: {file: %s%s}}}\n", MESHES, all[k][0]);
        refused(lines, all[k][1]);
    }
}

/* An inside-out mesh, one with flipped faces and one with a fin that is not manifold are bodies like others. */
static void mended_meshes(void **state)
{
    (void)state;
    static const char *const names[] = { "sphere.obj", "inside_out.obj", "flipped.obj", "fin.obj" };
    double mass[4];
    for (int k = 0; k < 4; k++) {
        char lines[512];
        snprintf(lines, sizeof lines,
                 "bodies: {name: rock, kind: free, position: [1, 1, 1], density: 1000, shape: {mesh: {file: %s%s}, scale: 0.3}}\n", MESHES, names[k]);
        rp_sim *sim = run(lines, 2);
        rp_body_state now;
        assert_int_equal(rp_sim_body(sim, 0, &now), RP_OK);
        mass[k] = now.mass;
        assert_true(now.velocity[2] < 0 && isfinite(now.position[0]));
        rp_sim_destroy(sim);
    }
    assert_true(fabs(mass[1] / mass[0] - 1) < 1e-6 && fabs(mass[2] / mass[0] - 1) < 1e-6);
    assert_true(mass[3] > 0);
}

static void weights(void **state)
{
    (void)state;
    refused("bodies: {name: rock, kind: free, shape: {sphere: {radius: 0.2}}, density: 0}\n", "density");
    refused("bodies: {name: rock, kind: free, shape: {sphere: {radius: 0.2}}, mass: -1}\n", "mass");
    refused("bodies: {name: rock, kind: free, shape: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}}\n", "rock");
}

/* What a scene file cannot even say, through the functions. */
static void numbers_from_c(void **state)
{
    (void)state;
    rp_sim_def def = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    rp_body_def body = rp_default_body_def();
    const double centre[3] = { 0.5, 0.5, 0.5 };
    rp_sim *sim = NULL;
    assert_int_equal(rp_shape_sphere(centre, 0.2, &body.shape), RP_OK);
    body.name = "feather";
    body.kind = RP_BODY_FREE;
    def.upper[0] = def.upper[1] = def.upper[2] = 1;
    def.cell_size = 0.1;
    def.materials = &sand, def.material_count = 1;
    def.bodies = &body, def.body_count = 1;
    struct {
        double *number, bad, good;
        const char *words;
    } all[] = {
        { &body.density, 0, 1000, "mass" },
        { &body.position[0], NAN, 0, "position" },
        { &body.surface.friction, -1, 0.5, "friction" },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        *all[k].number = all[k].good;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        *all[k].number = all[k].bad;
        assert_int_equal(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT);
        assert_non_null(strstr(rp_last_error(), all[k].words));
        assert_null(sim);
        *all[k].number = all[k].good;
    }
    rp_shape_release(body.shape);
}

static void too_many_bodies(void **state)
{
    (void)state;
    char lines[3600] = "bodies:\n";
    for (int k = 0; k < 65; k++)
        strcat(lines, "  - {shape: {sphere: {radius: 0.1}}}\n");
    refused(lines, "at most 64");
}

static void bodies_in_each_other(void **state)
{
    (void)state;
    rp_sim *sim = run("bodies:\n"
                      "  - {name: one, kind: free, shape: {sphere: {radius: 0.3}}, position: [0.8, 1, 1]}\n"
                      "  - {name: two, kind: free, shape: {sphere: {radius: 0.3}}, position: [1.2, 1, 1]}\n"
                      "gravity: [0, 0, 0]\n", 3);
    was_told("'one' and 'two' begin");
    rp_body_state now;
    assert_int_equal(rp_sim_body(sim, 1, &now), RP_OK);
    assert_true(now.position[0] > 1.2);           /* on the way out */
    assert_true(fabs(now.velocity[0]) < 1e-9);    /* without any speed that stays */
    rp_sim_destroy(sim);
}

/* Two that begin in the floor and in each other come apart and out, and rest on the floor. */
static void bodies_in_a_wall(void **state)
{
    (void)state;
    rp_sim *sim = run("bodies:\n"
                      "  - {name: one, kind: free, shape: {sphere: {radius: 0.3}}, position: [0.8, 1, 0.05], surface: slip}\n"
                      "  - {name: two, kind: free, shape: {sphere: {radius: 0.3}}, position: [1.2, 1, 0.05], surface: slip}\n", 0);
    was_told("'one' and 'two' begin");
    was_told("'one' begins 0.25 m inside a wall");
    was_told("'two' begins 0.25 m inside a wall");
    while (rp_sim_time(sim) < 1)
        assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
    rp_body_state a, b;
    assert_int_equal(rp_sim_body(sim, 0, &a), RP_OK);
    assert_int_equal(rp_sim_body(sim, 1, &b), RP_OK);
    double apart = hypot(a.position[0] - b.position[0], a.position[2] - b.position[2]);
    print_message("overlap: %.4f m apart, heights %.4f %.4f\n", apart, a.position[2], b.position[2]);
    assert_true(fabs(apart / 0.6 - 1) < 0.01);
    assert_true(a.position[2] > 0.295 &&
                b.position[2] > 0.295); /* the overlap that is left alone is 0.4 % of the radius, and a tenth of the rest goes in a step */
    rp_sim_destroy(sim);
}

static void a_body_full_of_grains(void **state)
{
    (void)state;
    rp_sim *sim = run("grains: {name: bed, shape: {box: {lower: [0, 0, 0], upper: [2, 2, 1]}}}\n"
                      "bodies: {name: rock, shape: {sphere: {radius: 0.4}}, position: [1, 1, 0.6]}\n", 1);
    was_told("of grains 'bed' would begin inside bodies, the last of them in 'rock'; they are left out");
    const double *x = plane(sim, "position", 0), *y = plane(sim, "position", 1), *z = plane(sim, "position", 2);
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        assert_true(hypot(hypot(x[i] - 1, y[i] - 1), z[i] - 0.6) > 0.4 - 1e-6);
    rp_sim_destroy(sim);
}

static void a_body_outside_the_domain(void **state)
{
    (void)state;
    rp_sim_destroy(run("bodies: {name: moon, shape: {sphere: {radius: 0.4}}, position: [1, 1, 9]}\n", 1));
    was_told("body 'moon' lies outside the domain");
}

static void a_body_that_teleports(void **state)
{
    (void)state;
    rp_sim_destroy(run("substeps: 1\nbodies: {name: ghost, shape: {sphere: {radius: 0.1}}, motion: {interpolation: step, keys: [[0, [0.3, 1, "
                       "1]], [0.03, [1.7, 1, 1]]]}}\n",
                       3));
    was_told("body 'ghost' moves 1.4 m in the step");
}

static void bad_sequences(void **state)
{
    (void)state;
    refused("bodies: {name: foot, sequence: {files: foot.obj}}\n", "is no pattern");
    refused("bodies: {name: foot, sequence: {files: \"foot_%d_%d.obj\", last: 3}}\n", "is no pattern");
    refused("bodies: {name: foot, sequence: {files: \"foot_%s.obj\", last: 3}}\n", "is no pattern");
    refused("bodies: {name: foot, sequence: {files: " MESHES "foot_%d.obj, first: 2, last: 0}}\n", "first <= last");
    refused("bodies: {name: foot, sequence: {files: " MESHES "foot_%d.obj, last: 7}}\n", "no such mesh file");
    refused("bodies: {name: foot, sequence: {files: []}}\n", "at least one mesh");
    refused("bodies: {name: foot, sequence: {files: [" MESHES "foot_0.obj, " MESHES "foot_other.obj]}}\n", "must have the same");
    refused("bodies: {name: foot, kind: free, sequence: {files: " MESHES "foot_%d.obj, last: 2}}\n", "only scripted bodies deform");
    refused("bodies: {name: foot, shape: {sphere: {radius: 1}}, sequence: {files: " MESHES "foot_%d.obj, last: 2}}\n", "either");
    refused("bodies: {name: foot}\n", "shape");
}

/* A run with a deforming body that is stopped, kept and resumed gives the same bytes, and its vertices limit the step. */
static void sequences_resume(void **state)
{
    (void)state;
    static const char lines[] = "grains: {name: bed, shape: {box: {lower: [0, 0, 0], upper: [2, 2, 0.4]}}}\n"
                                "bodies: {name: foot, position: [1, 1, 0.5], sequence: {files: " MESHES "foot_%d.obj, last: 2, frame_rate: 20, unit: 30 cm}}\n";
    rp_sim *one = run(lines, 6), *two = run(lines, 3), *three = run(lines, 0);
    rp_state kept = { 0 };
    assert_int_equal(rp_sim_save(two, &kept), RP_OK);
    assert_int_equal(rp_sim_restore(three, &kept), RP_OK);
    for (int k = 0; k < 3; k++)
        assert_int_equal(rp_sim_step(three, NULL), RP_OK);
    assert_true(rp_sim_time(one) == rp_sim_time(three));
    assert_true(hash_state(one) == hash_state(three));
    rp_state_free(&kept);
    rp_sim_destroy(one), rp_sim_destroy(two), rp_sim_destroy(three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(broken_meshes, begin, end),
        cmocka_unit_test_setup_teardown(mended_meshes, begin, end),
        cmocka_unit_test_setup_teardown(weights, begin, end),
        cmocka_unit_test_setup_teardown(numbers_from_c, begin, end),
        cmocka_unit_test_setup_teardown(too_many_bodies, begin, end),
        cmocka_unit_test_setup_teardown(bodies_in_each_other, begin, end),
        cmocka_unit_test_setup_teardown(bodies_in_a_wall, begin, end),
        cmocka_unit_test_setup_teardown(a_body_full_of_grains, begin, end),
        cmocka_unit_test_setup_teardown(a_body_outside_the_domain, begin, end),
        cmocka_unit_test_setup_teardown(a_body_that_teleports, begin, end),
        cmocka_unit_test_setup_teardown(bad_sequences, begin, end),
        cmocka_unit_test_setup_teardown(sequences_resume, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
