/* The rules of closure.h, each turned off to show what it is for; fluid that bodies shut in. */
#include "diphasic/scene_tests.h"

/* A heap of grains placed at random, at 0.95 of its angle: kinetic energy after a second. */
static double heap(double d, const char *name)
{
    const int cells[3] = { 48, 16, 1 };
    const double from[3] = { 0.24, -0.001, 0 }, to[3] = { 0.24, 0.095, 0 };
    scene s;
    rp_shape *cone = NULL;
    scene_begin(&s, 2, 0.01, cells, (const double[3]){ 0, 0, 0 }, (const double[3]){ 1, 1, 0 });
    assert_int_equal(rp_shape_cone(from, to, 0.2, 0.001, &cone), RP_OK);
    s.grains.shape = cone;
    s.grains.sampling = RP_JITTERED;
    s.grains.seed = 2;
    s.material.grain_diameter = d;
    s.def.frame_rate = 50;
    if (name)
        scene_set(&s, name, "false");
    scene_start(&s);
    rp_step_stats stats = { 0 };
    for (int k = 0; k < 50; k++)
        scene_step(&s, &stats);
    print_message("heap, %s: kinetic energy %.2g J, %.4f too full\n", name ? name : "all rules", stats.kinetic_energy, stats.volume_error);
    scene_end(&s);
    rp_shape_release(cone);
    return stats.kinetic_energy;
}

static void bending_lets_heaps_rest(void **state)
{
    (void)state;
    double with = heap(1e-3, NULL), without = heap(1e-3, "bending");
    assert_true(with <= 1e-7);
    assert_true(without >= 10 * with);
}

/* A layer sheared where drag is strong: without the integrals in full cells the flow locks. */
static double layer(const char *full)
{
    const int cells[3] = { 12, 10, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 7, 0 };
    scene s;
    scene_begin(&s, 2, 5e-3, cells, from, to);
    s.grains.sampling = RP_JITTERED;
    s.material.grain_diameter = 5e-5;
    s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    s.def.frame_rate = 250;
    scene_set(&s, "full_cells", full);
    scene_start(&s);
    double rounds = 0;
    for (int k = 0; k < 20; k++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        rounds += (double)stats.iterations / 20;
    }
    print_message("full cells %s: %.1f rounds a step, fastest %g m/s\n", full, rounds, scene_fastest(&s));
    scene_end(&s);
    return rounds;
}

static void full_cells_unlock(void **state)
{
    (void)state;
    assert_true(layer("false") > 2 * layer("true"));
}

/* A piston in a closed box: a sentence. With the top open it runs. */
static void shut_in(void **state)
{
    (void)state;
    for (int open = 0; open < 2; open++) {
        const int cells[3] = { 8, 12, 1 };
        const double none[3] = { 0 }, half[3] = { 0.2, 0.02, 1 };
        scene s;
        rp_shape *box = NULL;
        scene_begin(&s, 2, 0.01, cells, NULL, NULL);
        assert_int_equal(rp_shape_box(none, half, 0, &box), RP_OK);
        rp_body_def body = rp_default_body_def();
        body.name = "piston", body.shape = box;
        assert_int_equal(rp_motion_expression("0.04, 0.01 + 0.1 * t, 0, 0, 0, 0", &body.motion), RP_OK);
        s.def.bodies = &body;
        s.def.body_count = 1;
        s.def.wall[3].kind = open ? RP_OPEN : RP_SLIP;
        scene_start(&s);
        rp_step_stats stats;
        rp_result result = RP_OK;
        for (int k = 0; k < 5 && result == RP_OK; k++)
            result = rp_sim_step(s.sim, &stats);
        if (open)
            assert_int_equal(result, RP_OK);
        else if (result != RP_DIVERGED || !strstr(rp_last_error(), "shut in"))
            fail_msg("%d: %s", (int)result, result == RP_OK ? "a piston moved in a closed box" : rp_last_error());
        scene_end(&s);
        rp_motion_release(body.motion);
        rp_shape_release(box);
    }
}

/* A cloud of grains falls through a fluid that nothing holds, both in a frame that moves by a cell a step across: what they do is nearly the same. Returns the
 * largest difference of their places, in cells, and their speed. With paths followed through the field as it stands in any frame it is 0.73 cells. */
static double in_moving_frame(double *speed)
{
    const int cells[3] = { 16, 16, 1 };
    const double from[3] = { 5, 6, 0 }, to[3] = { 11, 12, 0 }, h = 0.01;
    double *rest = NULL, worst = 0;
    int64_t n = 0;
    for (int moves = 0; moves < 2; moves++) {
        scene s;
        scene_begin(&s, 2, h, cells, from, to);
        for (int a = 0; a < 2; a++)
            scene_periodic(&s, a);
        s.def.gravity[1] = 0;
        s.grains.fill = 0.6;
        s.fluid.viscosity = 0;
        s.grains.velocity[1] = -0.4;
        s.grains.velocity[0] = s.fluid.velocity[0] = moves ? h * s.def.frame_rate : 0;
        scene_set(&s, "tolerance", "1e-8"), scene_set(&s, "tolerance_max", "1e-7");
        scene_start(&s);
        for (int k = 0; k < 16; k++) /* once around */
            scene_step(&s, NULL);
        const double *x[2] = { scene_field(&s, "position", 0, &n), scene_field(&s, "position", 1, &n) };
        rp_field_view id;
        assert_int_equal(rp_sim_field_named(s.sim, "id", &id), RP_OK);
        rest = rest ? rest : malloc(2 * (size_t)n * sizeof *rest);
        for (int64_t i = 0; i < n; i++)
            for (int a = 0; a < 2; a++) {
                double *place = &rest[2 * ((const int64_t *)id.data)[i] + a];
                if (!moves) {
                    *place = x[a][i];
                    continue;
                }
                double way = (x[a][i] - *place) / (16 * h);
                worst = fmax(worst, 16 * fabs(way - floor(way + 0.5)));
            }
        *speed = scene_fastest(&s);
        scene_end(&s);
    }
    free(rest);
    return worst;
}

static void frames_are_alike(void **state)
{
    (void)state;
    double speed, worst = in_moving_frame(&speed);
    print_message("in a frame that moves by a cell a step: places differ by %.2g cells (speed %g m/s)\n", worst, speed);
    assert_true(worst < 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bending_lets_heaps_rest), cmocka_unit_test(full_cells_unlock),
                                        cmocka_unit_test(shut_in), cmocka_unit_test(frames_are_alike) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
