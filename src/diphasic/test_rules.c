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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bending_lets_heaps_rest), cmocka_unit_test(full_cells_unlock), cmocka_unit_test(shut_in) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
