/* The stage is what a film shows: the same camera, meshes, ground and light. */
#include "cmocka_test.h"
#include "render/film.h"

#include <math.h>
#include <repose/repose.h>
#include <string.h>

static const char scene_text[] = "method: ballistic\n"
                                 "domain: [1, 0.8, 0.6]\n"
                                 "cell_size: 5 cm\n"
                                 "material: dry-sand\n"
                                 "walls: {all: slip, bottom: 0.5}\n"
                                 "grains: [{shape: {box: {lower: [0.2, 0.2, 0], upper: [0.6, 0.6, 0.3]}}}]\n"
                                 "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 10 cm}}, position: [0.8, 0.4, 0.4]}]\n";

static rp_scene *load(const char *more)
{
    char text[1024];
    rp_scene *scene = NULL;
    snprintf(text, sizeof text, "%s%s", scene_text, more);
    assert_int_equal(rp_scene_parse(text, "test", NULL, NULL, &scene), RP_OK);
    return scene;
}

static rp_stage make(const rp_scene *scene, rp_frame *frame, rp_sim **sim)
{
    rp_stage stage;
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), sim), RP_OK);
    assert_int_equal(rp_frame_collect(*sim, "", frame), RP_OK);
    assert_int_equal(rp_stage_make(scene, frame, 640, 360, &stage), RP_OK);
    return stage;
}

static void stage_of_a_scene(void **state)
{
    (void)state;
    rp_scene *scene = load("");
    rp_sim *sim;
    rp_frame frame;
    rp_stage s = make(scene, &frame, &sim);
    assert_int_equal(s.up_axis, 2);
    assert_true(s.up_sign == 1 && s.ground && s.ground_point[2] == 0 && s.ground_normal[2] == 1);
    assert_int_equal(s.body_count, 1);
    assert_true(s.bodies[0].mesh.triangle_count > 100 && !s.bodies[0].container);
    for (int64_t k = 0; k < s.bodies[0].mesh.vertex_count; k++) {
        const double *v = s.bodies[0].mesh.vertices + 3 * k;
        assert_true(fabs(sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) - 0.1) < 0.01);
    }
    /* a particle of the packed volume of a cell is about as wide as the cell */
    const rp_sim_def *def = rp_scene_sim_def(scene);
    double volume = def->materials[0].volume_fraction * pow(def->cell_size, 3);
    assert_true(fabs(2 * rp_stage_radius(def, volume, 0) - 1.1 * def->cell_size) < 1e-12);
    rp_sim_def other = *def;
    rp_material_def dye = def->materials[0];
    other.materials = &dye, other.material_count = 1, dye.drawn = 5;
    assert_true(fabs(rp_stage_radius(&other, volume, 0) / rp_stage_radius(def, volume, 0) - 5) < 1e-12);
    assert_int_equal(rp_stage_make(scene, &frame, 0, 360, &s), RP_BAD_ARGUMENT);
    rp_stage_free(&s);
    rp_frame_free(&frame);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static void camera_of_the_scene(void **state)
{
    (void)state;
    rp_scene *scene = load("camera: {eye: [3, -2, 1], target: [0.5, 0.4, 0.1], turntable: 0.25}\n");
    rp_sim *sim;
    rp_frame frame;
    rp_stage s = make(scene, &frame, &sim);
    assert_true(s.view.eye[0] == 3 && s.view.eye[1] == -2 && s.view.target[2] == 0.1);
    rp_view later = rp_stage_view(scene, &s, 2); /* half a turn */
    assert_true(fabs(later.eye[0] - (1 - 3)) < 1e-9 && fabs(later.eye[1] - (0.8 + 2)) < 1e-9 && later.eye[2] == 1);
    rp_stage_free(&s);
    rp_frame_free(&frame);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static void values_of_a_frame(void **state)
{
    (void)state;
    rp_scene *scene = load("");
    rp_sim *sim;
    rp_frame frame;
    rp_stage s = make(scene, &frame, &sim);
    double *values = rp__base_alloc_zero(sizeof *values * (size_t)frame.count);
    const char *unit = NULL;
    assert_non_null(values);
    const rp_field_view *x = rp_frame_field(&frame, "position");
    assert_int_equal(rp_frame_values(&frame, "position.z", values, &unit), RP_OK);
    assert_string_equal(unit, "m");
    for (int64_t i = 0; i < frame.count; i++)
        assert_true(values[i] == ((const double *)x->data)[2 * x->stride + i]);
    assert_int_equal(rp_frame_values(&frame, "position", values, NULL), RP_OK);
    for (int64_t i = 0; i < frame.count; i++) {
        double sum = 0;
        for (int d = 0; d < 3; d++)
            sum += pow(((const double *)x->data)[d * x->stride + i], 2);
        assert_true(fabs(values[i] - sqrt(sum)) < 1e-14);
    }
    assert_int_equal(rp_frame_values(&frame, "taste", values, NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp_frame_values(&frame, "volume.y", values, NULL), RP_BAD_ARGUMENT);
    rp__base_free(values);
    rp_stage_free(&s);
    rp_frame_free(&frame);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(stage_of_a_scene), cmocka_unit_test(camera_of_the_scene),
                                        cmocka_unit_test(values_of_a_frame) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
