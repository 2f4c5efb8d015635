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

/* Fluid driven along a channel whose floor is a body: viscosity alone pushes it, with half of what drives the n - 1 layers of nodes between it
 * and the roof. Grains that rest on a body push it by contacts alone, with their weight under the fluid. */
static void forces_by_their_kind(void **state)
{
    (void)state;
    const int cells[3] = { 4, 14, 1 };
    const double h = 0.01, none[3] = { 0 }, half[3] = { 1, 0.025, 1 }, from[3] = { 0, 2, 0 }, to[3] = { 4, 10, 0 };
    for (int grains = 0; grains < 2; grains++) {
        scene s;
        rp_shape *slab = NULL;
        scene_begin(&s, 2, h, cells, grains ? from : NULL, to);
        scene_periodic(&s, 0);
        assert_int_equal(rp_shape_box(none, half, 0, &slab), RP_OK);
        rp_body_def body = rp_default_body_def();
        body.name = "slab", body.shape = slab;
        s.def.bodies = &body, s.def.body_count = 1;
        s.def.gravity[1] = grains ? -9.81 : 0;
        s.fluid.viscosity = grains ? 1e-3 : 10;
        s.fluid.drive[0] = grains ? 0 : 5;
        s.fluid.wall[3].kind = RP_FLUID_NO_SLIP;
        scene_start(&s);
        for (int k = 0; k < (grains ? 40 : 400); k++)
            scene_step(&s, NULL);
        rp_body_state now;
        assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
        double weight = 0, shear = 5 * 0.04 * 0.5 * 11 * h, displaced = 1000 * 9.81 * 0.04 * 0.025;
        int64_t n;
        const double *mass = scene_field(&s, "mass", 0, &n);
        for (int64_t i = 0; i < n; i++)
            weight += mass[i] * 9.81 * 0.6; /* less 1000 of 2500 */
        double contact = now.force[1] - now.fluid_pressure_force[1] - now.fluid_viscous_force[1];
        print_message("slab: pressure %g %g N, viscosity %g %g N, grains %g N (they weigh %g N)\n", now.fluid_pressure_force[0], now.fluid_pressure_force[1],
                      now.fluid_viscous_force[0], now.fluid_viscous_force[1], contact, weight);
        if (grains) {
            assert_true(fabs(contact + weight) <= 0.02 * weight);
            assert_true(fabs(now.fluid_pressure_force[1] - displaced) <= 0.05 * displaced);
            assert_true(fabs(now.fluid_viscous_force[1]) <= 1e-6 * weight);
        } else {
            assert_true(fabs(now.fluid_viscous_force[0] - shear) <= 1e-6 * shear);
            assert_true(fabs(now.fluid_pressure_force[0]) <= 1e-6 * shear && contact == 0);
        }
        scene_end(&s);
        rp_shape_release(slab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(floats_and_sinks), cmocka_unit_test(forces_by_their_kind) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
