/* Bodies in the fluid: floating, rising, sinking; held in a stream. */
#include "diphasic/scene_tests.h"

/* A disc in still water: as heavy as the water it stays, lighter it rises, heavier it sinks; always slower than in a vacuum, and never
 * thrown about. */
static double rise_of(double density)
{
    const int cells[3] = { 24, 36, 1 };
    const double h = 0.01, none[3] = { 0 };
    scene s;
    scene_begin(&s, 2, h, cells, NULL, NULL);
    rp_shape *disc = NULL;
    assert_int_equal(rp_shape_sphere(none, 0.04, &disc), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "disc", body.kind = RP_BODY_FREE, body.shape = disc, body.density = density;
    body.position[0] = 0.12, body.position[1] = 0.18;
    s.def.bodies = &body;
    s.def.body_count = 1;
    s.def.frame_rate = 200;
    scene_start(&s);
    rp_body_state now = { 0 };
    double fastest = 0;
    for (int k = 0; k < 30; k++) {
        scene_step(&s, NULL);
        assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
        fastest = fmax(fastest, fabs(now.velocity[1]));
        assert_true(fabs(now.velocity[0]) <= 0.05);
    }
    print_message("density %g: moved by %g m, %g m/s at most\n", density, now.position[1] - 0.18, fastest);
    assert_true(fastest <= 30 * 9.81 / 200);
    scene_end(&s);
    rp_shape_release(disc);
    return now.position[1] - 0.18;
}

static void floats_and_sinks(void **state)
{
    (void)state;
    assert_true(fabs(rise_of(1000)) <= 0.01); /* its volume is that of the nodes inside, to a few per cent */
    assert_true(rise_of(700) > 0.005);
    assert_true(rise_of(7800) < -0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(floats_and_sinks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
