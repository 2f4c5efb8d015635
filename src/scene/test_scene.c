/* Scenes: what is read, written and read again; replacements; the reference; memory that runs out. */
#include "base/memory.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "domain: [1, 1, 1]\ncell_size: 10 cm\nmethod: ballistic\n"
#define DEGREE 0.017453292519943295

/* Something of everything. */
static const char everything[] =
    "title: \"A \\\"title\\\"\"\n"
    "description: |\n  two\n  lines: with # signs\n"
    "method: ballistic\n"
    "ballistic: {restitution: 25 %}\n"
    "domain: {lower: [-1, -50 cm, 0], upper: [1, 0.5, 1.02]}\n"
    "cell_size: 5 cm\n"
    "duration: 2.5 s\nframe_rate: 50 Hz\ncfl: 0.7\ndt_min: 1 us\ndt_max: 5 ms\nsubsteps: 3\noutside: clamp\n"
    "speed_limit: 100 km/h\nparticle_limit: 1e6\nseed: 42\nthreads: 1\n"
    "gravity: {magnitude: 9.81, tilt: 20 deg, toward: -y}\n"
    "walls: {all: slip, bottom: stick, left: {friction: 0.4, adhesion: 3 Pa}, y: periodic, top: open, +x: 0.7}\n"
    "x-defaults:\n  - &heap {material: sand, sampling: poisson, per_cell: 4}\n"
    "materials:\n"
    "  sand: {preset: dry-sand, friction: {keys: [[0 s, 0.3], [1 s, 0.6]]}, colour: [\"#ff0000\", \"#00ff00 0.5\"]}\n"
    "  mud: {bulk_density: 1.8 g/cm3, friction_angle: 12 deg, match: middle, viscosity: 30 mPa s, orientation: [0, 1, 0]}\n"
    "grains:\n"
    "  - <<: *heap\n    name: heap\n    shape: {box: {lower: [-1, -0.5, 0], upper: [0, 0.5, 30 cm]}}\n    fill: 0.9\n"
    "  - <<: *heap\n    material: mud\n    velocity: [1, 0, -1 km/h]\n    angular_velocity: {axis: [0, 0, 2], angle: 60 rpm}\n"
    "    pivot: [0, 0, 1]\n    velocity_field: \"-y, x, 0\"\n    seed: 7\n"
    "    shape: {union: [{sphere: {radius: 0.1}, position: [0, 0, 0.5]}, {cone: {from: [0, 0, 0], to: [0, 0, 0.3], radius_from: 0.2}}]}\n"
    "  - shape: {heightfield: {heights: [[0.1, 0.2, 0.1], [0.1, 0.3, 0.1]], lower: [-1, -0.5], upper: [1, 0.5]}}\n"
    "    material: gravel\n"
    "emitters:\n"
    "  - name: spout\n    shape: {cylinder: {from: [0, 0, 0.9], to: [0, 0, 1], radius: 5 cm}}\n    rate: 3 l/s\n"
    "    velocity: [0, 0, -1]\n    schedule: [[0 s, 0.5 s], [1 s, 1500 ms]]\n"
    "sinks:\n  shape: {complement: {offset: {shape: {box: {size: 3}}, distance: 10 cm}}}\n  start: 1 s\n"
    "bodies:\n"
    "  - name: ball\n    kind: free\n    shape: {difference: [{sphere: {radius: 0.2}}, {torus: {axis: [0, 0, 1], radius: 0.2, tube: 0.05}}]}\n"
    "    position: [0, 0, 0.8]\n    velocity: [0, 0, -6]\n    mass: 3 kg\n    linear_damping: 0.1\n"
    "    joint: {kind: slider, point: [0, 0, 0.8], axis: [0, 0, 1]}\n    motor: {speed: -2 m/s, largest_force: 50 N}\n"
    "    colour: \"#336699\"\n"
    "  - name: wheel\n    kind: free\n    shape: {cylinder: {from: [0, -0.1, 0], to: [0, 0.1, 0], radius: 0.2}}\n"
    "    joint: {kind: hinge, axis: [0, 1, 0]}\n    motor: {torque: 2 N m}\n"
    "  - shape: {shell: {shape: {ellipsoid: {semi_axes: [0.3, 0.2, 0.1]}}, thickness: 1 cm}, scale: 2, rotation: [10 deg, 0, 0]}\n"
    "    motion: {interpolation: linear, keys: [[0 s, [0, 0, 0]], {time: 1 s, position: [0, 0, 1], rotation: [0, 0, 720 deg]}]}\n"
    "    surface: {kind: stick, adhesion: 10 Pa}\n    start: 0.5 s\n    stop: 1 s\n"
    "colliders:\n"
    "  - shape: {intersection: [{plane: {normal: [0, 0, 1]}}, {capsule: {from: [0, 0, 0], to: [1, 0, 0], radius: 0.2}}]}\n"
    "    motion: \"0.1 * math.sin(t), 0, 0\"\n"
    "output: {frame_every: 2, grid: true, fields: [velocity, pressure], checkpoint_every: 1 min, grains_per_particle: 20}\n"
    "camera: {eye: [2, -3, 1], field_of_view: 40 deg, turntable: 0.1, keys: [[0 s, [2, -3, 1]], [1 s, [1, 1, 1], [0, 0, 0]]]}\n"
    "picture: {width: 640, height: 480, colour: velocity, range: [0, 2], grain_shape: disc}\n";

static rp_scene *parse_with(const char *text, const char *const *set, int count)
{
    rp_scene *scene = NULL;
    rp_scene_options options = { set, count };
    rp_result result = rp_scene_parse(text, "test.yaml", NULL, &options, &scene);
    if (result != RP_OK)
        fail_msg("%s", rp_last_error());
    return scene;
}

static rp_scene *parse(const char *text)
{
    return parse_with(text, NULL, 0);
}

/* ---- reading ---- */

static void test_smallest(void **state)
{
    (void)state;
    rp_scene *scene = parse(HEAD);
    const rp_sim_def *def = rp_scene_sim_def(scene), standard = rp_default_sim_def();
    assert_int_equal(def->dim, 3);
    assert_true(def->cell_size == 0.1 && def->upper[2] == 1 && def->gravity[2] == -9.81);
    assert_int_equal(def->wall[4].kind, standard.wall[4].kind);
    assert_true(def->duration == standard.duration && def->frame_rate == standard.frame_rate);
    assert_int_equal(def->material_count, 1);
    assert_string_equal(def->materials[0].name, "sand");
    assert_string_equal(def->method, "ballistic");
    assert_non_null(def->method_params);
    assert_int_equal(def->grains_count + def->emitter_count + def->sink_count + def->body_count, 0);
    assert_false(rp_scene_output(scene)->camera_given);
    assert_string_equal(rp_scene_title(scene), "");
    rp_scene_destroy(scene);
}

static void check_world(const rp_sim_def *def)
{
    assert_true(fabs(def->upper[2] - 1.05) < 1e-12); /* 20.4 cells become 21 */
    assert_true(def->lower[1] == -0.5);
    assert_true(fabs(def->gravity[1] + 9.81 * sin(20 * DEGREE)) < 1e-12);
    assert_true(fabs(def->gravity[2] + 9.81 * cos(20 * DEGREE)) < 1e-12 && def->gravity[0] == 0);
    assert_int_equal(def->wall[0].kind, RP_FRICTIONAL);
    assert_true(def->wall[0].friction == 0.4 && def->wall[0].adhesion == 3);
    assert_true(def->wall[1].kind == RP_FRICTIONAL && def->wall[1].friction == 0.7);
    assert_true(def->wall[2].kind == RP_PERIODIC && def->wall[3].kind == RP_PERIODIC);
    assert_true(def->wall[4].kind == RP_STICK && def->wall[5].kind == RP_OPEN);
    assert_true(fabs(def->speed_limit - 100 / 3.6) < 1e-12);
    assert_true(def->substeps == 3 && def->seed == 42 && def->threads == 1 && def->particle_limit == 1000000);
    assert_true(def->dt_max == 0.005 && def->outside == RP_OUTSIDE_CLAMP && def->frame_rate == 50);
}

static void check_materials(const rp_sim_def *def)
{
    assert_int_equal(def->material_count, 3); /* gravel comes from a preset */
    assert_string_equal(def->materials[2].name, "gravel");
    assert_true(def->materials[0].density == 2650 && def->materials[0].friction == 0.3);
    assert_string_equal(def->materials[0].colour, "#ff0000 #00ff00 0.5");
    assert_true(fabs(def->materials[1].bulk_density - 1800) < 1e-9 && def->materials[1].friction < 0);
    assert_true(def->materials[1].match == RP_MATCH_MIDDLE && def->materials[1].orientation[1] == 1);
    assert_int_equal(def->material_key_count, 1);
    assert_string_equal(def->material_keys[0].parameter, "friction");
    assert_true(def->material_keys[0].count == 2 && def->material_keys[0].times[1] == 1 && def->material_keys[0].values[1] == 0.6);
}

static void check_contents(const rp_sim_def *def)
{
    assert_int_equal(def->grains_count, 3);
    assert_true(def->grains[0].sampling == RP_POISSON && def->grains[0].per_cell == 4 && def->grains[0].fill == 0.9);
    assert_true(def->grains[1].material == 1 && def->grains[2].material == 2); /* the key beside '<<' wins */
    assert_true(fabs(def->grains[1].angular_velocity[2] - 2 * 3.14159265358979) < 1e-9);
    assert_non_null(def->grains[1].velocity_field);
    assert_int_equal(def->emitter_count, 2);
    assert_string_equal(def->emitters[1].name, "spout-2");
    assert_true(def->emitters[1].start == 1 && def->emitters[1].stop == 1.5 && fabs(def->emitters[0].rate - 0.003) < 1e-15);
    assert_true(def->sink_count == 1 && def->sinks[0].start == 1 && isinf(def->sinks[0].stop));
    assert_int_equal(def->body_count, 4);
    const rp_body_def *ball = &def->bodies[0], *wheel = &def->bodies[1], *shell = &def->bodies[2];
    assert_true(ball->joint == RP_JOINT_SLIDER && ball->motor == RP_MOTOR_SPEED && ball->motor_value == -2);
    assert_true(ball->motor_limit == 50 && ball->mass == 3 && fabs(ball->colour[2] - 0.6) < 1e-12);
    assert_true(wheel->joint == RP_JOINT_HINGE && wheel->motor == RP_MOTOR_FORCE && wheel->motor_value == 2);
    assert_true(shell->surface.kind == RP_STICK && shell->surface.adhesion == 10 && shell->start == 0.5);
    double position[3], q[4];
    assert_int_equal(rp_motion_pose(shell->motion, 0.5, position, q), RP_OK);
    assert_true(fabs(position[2] - 0.5) < 1e-12);
    const double at[3] = { -0.5, 0, 0.1 };
    assert_true(rp_shape_distance(def->grains[0].shape, at, NULL) < 0);
}

static void test_everything(void **state)
{
    (void)state;
    rp_scene *scene = parse(everything);
    const rp_sim_def *def = rp_scene_sim_def(scene);
    check_world(def);
    check_materials(def);
    check_contents(def);
    const rp_output_def *out = rp_scene_output(scene);
    assert_string_equal(out->fields, "velocity pressure");
    assert_true(out->checkpoint_every == 60 && out->grid && out->frame_every == 2 && out->width == 640);
    assert_true(out->camera_given && out->camera_key_count == 2 && out->colour_range[1] == 2);
    assert_true(fabs(out->target[2] - 0.525) < 1e-12); /* the middle of the domain */
    assert_string_equal(rp_scene_title(scene), "A \"title\"");
    assert_string_equal(rp_scene_description(scene), "two\nlines: with # signs\n");
    rp_scene_destroy(scene);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    rp_scene *scene = parse("domain: [2, 1]\nresolution: 40\nmethod: ballistic\nwalls: {sides: stick, top: open}\n"
                            "grains: {shape: {box: {lower: [0, 0], upper: [1, 0.5]}}, angular_velocity: 2 rad/s, velocity: [1, 2]}\n"
                            "emitters: {shape: {box: {size: [1, 0.5]}}, rate: 2 m2/s}\n"
                            "bodies: {shape: {sphere: {radius: 0.1}}, rotation: 90 deg, position: [1, 0.2]}\n");
    const rp_sim_def *def = rp_scene_sim_def(scene);
    assert_int_equal(def->dim, 2);
    assert_true(fabs(def->cell_size - 0.05) < 1e-15 && def->gravity[1] == -9.81 && def->gravity[2] == 0);
    assert_true(def->wall[0].kind == RP_STICK && def->wall[1].kind == RP_STICK && def->wall[2].kind == RP_SLIP);
    assert_true(def->wall[3].kind == RP_OPEN);
    assert_true(def->grains[0].angular_velocity[2] == 2 && def->grains[0].velocity[1] == 2);
    assert_true(def->emitters[0].rate == 2 && fabs(def->bodies[0].rotation[2] - 90 * DEGREE) < 1e-12);
    const double middle[3] = { 0.5, 0.25, 0 };
    assert_true(fabs(rp_shape_distance(def->grains[0].shape, middle, NULL) + 0.25) < 1e-12);
    rp_scene_destroy(scene);
}

static void test_json(void **state)
{
    (void)state;
    rp_scene *scene = parse("{\"domain\": [1, 1, 1], \"cell_size\": \"10 cm\", \"method\": \"ballistic\",\n"
                            "  \"walls\": {\"all\": \"slip\"}, \"material\": {\"friction\": 0.5}, \"title\": \"J\\u00e9\"}\n");
    assert_string_equal(rp_scene_title(scene), "J\xc3\xa9");
    assert_true(rp_scene_sim_def(scene)->materials[0].friction == 0.5);
    rp_scene_destroy(scene);
}

/* Single quotes are decoded here, not by libfyaml: the same text by the rules of YAML. */
static void test_quotes(void **state)
{
    (void)state;
    rp_scene *scene = parse(HEAD "title: 'it''s  a\n   ''long''   \n\n\n  \\n text '\ndescription: ''\n");
    assert_string_equal(rp_scene_title(scene), "it's  a 'long'\n\n\\n text ");
    assert_string_equal(rp_scene_description(scene), "");
    rp_scene_destroy(scene);
    scene = parse("\xef\xbb\xbf" HEAD "title: ''''''\r\nx-'y': 1\r\n"); /* after a byte order mark */
    assert_string_equal(rp_scene_title(scene), "''");
    rp_scene_destroy(scene);
}

static void test_presets(void **state)
{
    (void)state;
    for (const rp__preset *p = rp__scene_presets; p->name; ++p) {
        rp__text text = { 0 };
        rp__text_append(&text, HEAD "material: %s\n", p->name);
        rp_scene *scene = parse(rp__text_string(&text));
        const rp_material_def *m = &rp_scene_sim_def(scene)->materials[0];
        assert_string_equal(m->name, p->name);
        assert_int_equal(rp__param_check(rp_material_table(), m), RP_OK);
        rp_scene_destroy(scene);
        rp__text_free(&text);
    }
    rp_scene *scene = parse(HEAD "material: {preset: glass-beads, friction_angle: 40 deg, density: 1000}\n");
    assert_true(rp_scene_sim_def(scene)->materials[0].friction < 0); /* the angle is in force */
    rp_scene_destroy(scene);
}

static void test_cells(void **state)
{
    (void)state;
    rp_scene *scene = parse("domain: {cells: [30, 7, 11], centre: [0, 0, 1]}\ncell_size: 0.1\nmethod: ballistic\n");
    const rp_sim_def *def = rp_scene_sim_def(scene);
    assert_true(fabs(def->lower[0] + 1.5) < 1e-12 && fabs(def->upper[0] - 1.5) < 1e-12);
    assert_true(nearbyint((def->upper[2] - def->lower[2]) / def->cell_size) == 11);
    rp_scene_destroy(scene);
    scene = parse("domain: [0.7, 0.3, 1.1]\ncell_size: 0.1\nmethod: ballistic\n"); /* 7.0000001 cells are 7 */
    def = rp_scene_sim_def(scene);
    assert_true(nearbyint(def->upper[0] / 0.1) == 7 && nearbyint(def->upper[1] / 0.1) == 3 && nearbyint(def->upper[2] / 0.1) == 11);
    rp_scene_destroy(scene);
}

/* ---- writing ---- */

static void check_round_trip(const char *text)
{
    rp_scene *first = parse(text), *second;
    char *once = NULL, *twice = NULL;
    assert_int_equal(rp_scene_format(first, &once), RP_OK);
    second = parse(once);
    assert_int_equal(rp_scene_format(second, &twice), RP_OK);
    assert_string_equal(once, twice);
    const rp_sim_def *a = rp_scene_sim_def(first), *b = rp_scene_sim_def(second);
    assert_memory_equal(a->lower, b->lower, sizeof a->lower);
    assert_memory_equal(a->upper, b->upper, sizeof a->upper);
    assert_memory_equal(a->gravity, b->gravity, sizeof a->gravity);
    assert_memory_equal(&a->cell_size, &b->cell_size, sizeof a->cell_size);
    assert_int_equal(a->grains_count, b->grains_count);
    for (int i = 0; i < a->grains_count; ++i)
        for (int k = 0; k < 200; ++k) {
            const double at[3] = { sin(k), cos(1.7 * k), 0.5 + 0.5 * sin(2.3 * k) };
            assert_true(rp_shape_distance(a->grains[i].shape, at, NULL) == rp_shape_distance(b->grains[i].shape, at, NULL));
        }
    assert_int_equal(a->body_count, b->body_count);
    for (int i = 0; i < a->body_count; ++i)
        assert_int_equal(!a->bodies[i].motion, !b->bodies[i].motion);
    rp_text_free(once);
    rp_text_free(twice);
    rp_scene_destroy(first);
    rp_scene_destroy(second);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip(everything);
    check_round_trip(HEAD);
    check_round_trip("domain: [2, 1.03]\nresolution: 33\nmethod: ballistic\ngrains: {shape: {box: {size: [1, 0.5]}}}\n"
                     "camera: {turntable: 0.2}\n");
}

/* ---- the examples of the reference page are scenes ---- */

/* Relative paths start at the scene's folder; the written scene needs none. */
static void test_files(void **state)
{
    (void)state;
    rp_scene *scene = NULL, *again = NULL;
    const char *text = HEAD "bodies:\n  - shape: {mesh: {file: ../data/meshes/cube.obj, unit: 10 cm}}\n";
    if (rp_scene_parse(text, "test.yaml", RP_SOURCE_DIR "/tests/scenes_bad", NULL, &scene) != RP_OK)
        fail_msg("%s", rp_last_error());
    char *yaml = NULL;
    assert_int_equal(rp_scene_format(scene, &yaml), RP_OK);
    assert_non_null(strstr(yaml, RP_SOURCE_DIR "/tests/scenes_bad/../data/meshes/cube.obj"));
    assert_int_equal(rp_scene_parse(yaml, "again.yaml", NULL, NULL, &again), RP_OK);
    rp_text_free(yaml);
    rp_scene_destroy(scene);
    rp_scene_destroy(again);
    scene = NULL;
    assert_int_equal(rp_scene_parse(text, "test.yaml", NULL, NULL, &scene), RP_BAD_SCENE);
    assert_non_null(strstr(rp_last_error(), "this scene has no folder"));
}

/* A direction that is made a unit is written and read again as it is, to the last bit. */
static void test_axes_hold(void **state)
{
    (void)state;
    for (int x = 1; x < 40; x++) {
        char text[400], *once = NULL, *twice = NULL;
        snprintf(text, sizeof text, "domain: [1, 1, 1]\ncell_size: 0.1\nbodies: [{name: roller, shape: {sphere: {radius: 0.1}}}]\n"
                                    "controls: [{name: along, body: roller, kind: slide, axis: [%d, %d, 7]}]\n", x, x * x % 11);
        rp_scene *first = parse(text);
        assert_int_equal(rp_scene_format(first, &once), RP_OK);
        rp_scene *second = parse(once);
        assert_int_equal(rp_scene_format(second, &twice), RP_OK);
        assert_string_equal(once, twice);
        rp_text_free(once);
        rp_text_free(twice);
        rp_scene_destroy(first);
        rp_scene_destroy(second);
    }
}

/* A key of a motion keeps what the one before it had. */
static void test_keys_hold(void **state)
{
    (void)state;
    rp_scene *scene = parse(HEAD "bodies:\n  - shape: {sphere: {radius: 1}}\n    motion: {interpolation: linear, keys: [[0 s, [1, 2, 3], "
                                 "[0, 0, 90 deg]], [1 s, [2, 2, 3]], {time: 2 s}]}\n");
    double position[3], q[4];
    assert_int_equal(rp_motion_pose(rp_scene_sim_def(scene)->bodies[0].motion, 2, position, q), RP_OK);
    assert_true(position[0] == 2 && position[2] == 3 && fabs(q[3] - sin(45 * DEGREE)) < 1e-12);
    rp_scene_destroy(scene);
}

static void test_examples(void **state)
{
    (void)state;
    for (const rp__shape_kind *k = rp__scene_shape_kinds; k->name; ++k) {
        if (strcmp(k->name, "mesh") == 0)
            continue; /* needs its file */
        rp__text text = { 0 };
        rp__text_append(&text, HEAD "bodies:\n  - shape: %s\n", k->example);
        check_round_trip(rp__text_string(&text));
        rp__text_free(&text);
    }
    static const char *const inside_body[] = { "surface", "motion", "keyframe", "joint", "motor" };
    for (const rp__scene_block *const *b = rp__scene_blocks; *b; ++b) {
        bool body = false;
        if (*b == &rp__scene_sequence)
            continue; /* needs its files: tests/test_scenes.c reads the scene footprint */
        for (size_t i = 0; i < sizeof inside_body / sizeof *inside_body; ++i)
            body |= strcmp((*b)->name, inside_body[i]) == 0;
        bool tied = strcmp((*b)->name, "joint") == 0 || strcmp((*b)->name, "motor") == 0;
        rp__text text = { 0 };
        if (body)
            rp__text_append(&text, HEAD "bodies:\n  - shape: {sphere: {radius: 1}}\n    kind: %s\n%s    %s\n",
                            tied ? "free" : "scripted", strcmp((*b)->name, "motor") == 0 ? "    joint: hinge\n" : "", (*b)->example);
        else if (*b == &rp__scene_top)
            rp__text_append(&text, "%s\nmethod: ballistic\n", (*b)->example);
        else if (*b == &rp__scene_domain)
            rp__text_append(&text, "cell_size: 10 cm\nmethod: ballistic\n%s\n", (*b)->example);
        else
            rp__text_append(&text, HEAD "%s\n", (*b)->example);
        check_round_trip(rp__text_string(&text));
        rp__text_free(&text);
    }
}

/* ---- replacements ---- */

static void test_set(void **state)
{
    (void)state;
    const char *const set[] = { "cell_size=5 cm", "materials.mud.friction=0.25", "grains.heap.fill=0.5", "grains.1.velocity=[0, 0, 3]",
                                "ballistic.restitution=1", "walls.left=slip", "picture.width=99", "materials.new={preset: gravel}", "grains.1.material=new",
                                "materials.sand.cohesion={keys: [[0, 1], [1, 2]]}", "title=a = b", "bodies.0.motor.speed=5 m/s" };
    rp_scene *scene = parse_with(everything, set, sizeof set / sizeof *set);
    const rp_sim_def *def = rp_scene_sim_def(scene);
    assert_true(def->cell_size == 0.05 && def->materials[1].friction == 0.25 && def->grains[0].fill == 0.5);
    assert_true(def->grains[1].velocity[2] == 3 && def->wall[0].kind == RP_SLIP && def->bodies[0].motor_value == 5);
    assert_true(def->material_key_count == 2 && rp_scene_output(scene)->width == 99);
    assert_string_equal(rp_scene_title(scene), "a = b");
    assert_string_equal(def->materials[2].name, "new");
    rp_scene_destroy(scene);
    const char *const grow[] = { "material.friction=0.7", "output.grid=true", "grains.0.shape.sphere.radius=0.2", "grains.0.fill=1" };
    scene = parse_with(HEAD "material: dry-sand\ngrains: []\n", grow, 4);
    assert_true(rp_scene_sim_def(scene)->materials[0].friction == 0.7 && rp_scene_sim_def(scene)->materials[0].density == 2650);
    assert_true(rp_scene_sim_def(scene)->grains_count == 1 && rp_scene_output(scene)->grid);
    rp_scene_destroy(scene);
    /* of two values that exclude each other the replacement counts, and a value beside '<<' outranks one behind it */
    const char *const finer[] = { "resolution=40", "materials.b.density=1000" };
    scene = parse_with(HEAD "x-a: &a {friction_angle: 30 deg, bulk_density: 1500}\nmaterials: {a: *a, b: {<<: *a, friction: 0.3}}\n",
                       finer, 2);
    const rp_material_def *m = rp_scene_sim_def(scene)->materials;
    assert_true(rp_scene_sim_def(scene)->cell_size == 0.025 && m[0].friction < 0 && m[0].bulk_density == 1500);
    assert_true(m[1].friction == 0.3 && m[1].density == 1000 && m[1].bulk_density == 0);
    rp_scene_destroy(scene);
}

static void check_set_error(const char *set, const char *message)
{
    rp_scene *scene = NULL;
    rp_scene_options options = { &set, 1 };
    assert_int_equal(rp_scene_parse(HEAD "grains: [{shape: {sphere: {radius: 1}}}]\n", "test.yaml", NULL, &options, &scene),
                     RP_BAD_SCENE);
    assert_string_equal(rp_last_error(), message);
}

static void test_set_errors(void **state)
{
    (void)state;
    check_set_error("cell_size=5 kg", "--set cell_size=5 kg: '5 kg' is a mass [kg]; 'cell_size' needs a length [m]");
    check_set_error("cell_sice=5", "--set cell_sice=5: unknown key 'cell_sice' in the scene; did you mean 'cell_size'?");
    check_set_error("cell_size=", "--set cell_size=: 'cell_size' has no value; it needs a length [m]");
    check_set_error("cell_size", "test.yaml: --set cell_size: write it as key.path=value");
    check_set_error("=3", "test.yaml: --set =3: write it as key.path=value");
    check_set_error("grains.3.fill=1", "--set grains.3.fill=1: '3' of 'grains' is no item of that list: it has 1, give 0 to 1 or a name");
    check_set_error("grains..fill=1",
                    "--set grains..fill=1: an empty step in the path, or too many; write it as key.path=value");
    check_set_error("walls=[1, 2", "--set walls=[1, 2: this is not YAML: flow sequence without a closing bracket");
    check_set_error("grains.0.shape.sphere.radius=-1",
                    "--set grains.0.shape.sphere.radius=-1: 'radius' = -1 is out of range: it must be between 0 and 1000000000000 [m]");
}

/* ---- memory ---- */

static void test_out_of_memory(void **state)
{
    (void)state;
    rp_scene *scene = parse(everything); /* what is made once and kept is made now */
    rp_scene_destroy(scene);
    size_t before = rp_memory_in_use();
    const char *const set[] = { "title=replaced" };
    rp_scene_options options = { set, 1 };
    int64_t failures = 0;
    for (int64_t nth = 1;; ++nth) {
        assert_true(nth < 100000);
        scene = NULL;
        rp__base_fail_allocation(nth);
        rp_result result = rp_scene_parse(everything, "test.yaml", NULL, &options, &scene);
        char *yaml = NULL;
        if (result == RP_OK) {
            result = rp_scene_format(scene, &yaml);
            rp_text_free(yaml);
        }
        bool done = result == RP_OK;
        rp__base_fail_allocation(0);
        if (!done && result != RP_OUT_OF_MEMORY)
            fail_msg("allocation %d: %s: %s", (int)nth, rp_result_name(result), rp_last_error());
        rp_scene_destroy(scene);
        assert_int_equal(rp_memory_in_use(), before);
        if (done)
            break;
        ++failures;
    }
    assert_true(failures > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest),  cmocka_unit_test(test_everything),  cmocka_unit_test(test_two_dimensions),
        cmocka_unit_test(test_json),      cmocka_unit_test(test_presets),     cmocka_unit_test(test_cells),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_examples),   cmocka_unit_test(test_set),
        cmocka_unit_test(test_set_errors), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_files),
        cmocka_unit_test(test_axes_hold), cmocka_unit_test(test_keys_hold), cmocka_unit_test(test_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
