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
    assert_true(fabs(rise_of(1000)) <= 1e-5);
    assert_true(rise_of(700) > 0.005);
    assert_true(rise_of(7800) < -0.05);
}

/* The first step of a ball that a force pushes through a fluid at rest without viscosity: it has the mass of the ball and the fluid that it takes
 * along, ρV of a disc, ½ρV of a sphere. In a box the fluid flows back: as in a round shell of its width (b³ + 2 r³)/(b³ - r³), in 2D (b² + r²)/(b² - r²),
 * times that. The ball is as large as its nodes make it, V = n h^d. */
static double taken_along(int dim, int width, double radius, double density)
{
    const int cells[3] = { width, width, width };
    const double h = 0.01, none[3] = { 0 }, dt = 1e-3, pi = acos(-1);
    scene s;
    scene_begin(&s, dim, h, cells, NULL, NULL);
    rp_shape *ball = NULL;
    assert_int_equal(rp_shape_sphere(none, radius * h, &ball), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "ball", body.kind = RP_BODY_FREE, body.shape = ball, body.density = density;
    body.force[0] = 1;
    for (int a = 0; a < dim; a++)
        body.position[a] = 0.5 * width * h, s.def.gravity[a] = 0;
    s.fluid.viscosity = 0;
    s.def.bodies = &body, s.def.body_count = 1;
    s.def.frame_rate = 1 / dt;
    scene_start(&s);
    scene_step(&s, NULL);
    rp_body_state now = { 0 };
    assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
    double nodes = 0, reach = ceil(radius), mass = density * (dim == 2 ? pi * radius * radius * h * h : 4 * pi / 3 * pow(radius * h, 3));
    for (double x = -reach; x <= reach; x++)
        for (double y = -reach; y <= reach; y++)
            for (double z = dim == 3 ? -reach : 0; z <= (dim == 3 ? reach : 0); z++)
                nodes += x * x + y * y + z * z < radius * radius;
    double r = dim == 2 ? sqrt(nodes / pi) : cbrt(nodes * 3 / (4 * pi)), b = 0.5 * width;
    double back = dim == 2 ? (b * b + r * r) / (b * b - r * r) : 0.5 * (b * b * b + 2 * r * r * r) / (b * b * b - r * r * r);
    double along = dt / now.velocity[0] - mass, exact = back * 1000 * nodes * pow(h, dim);
    print_message("%dD, radius %g cells, density %g: %g kg taken along, %g by theory (%.3f)\n", dim, radius, density, along, exact, along / exact);
    scene_end(&s);
    rp_shape_release(ball);
    return along / exact;
}

static void added_mass(void **state)
{
    (void)state;
    const double density[3] = { 10, 1000, 7800 };
    double small = 0, large = 0;
    for (int k = 0; k < 3; k++) { /* what is taken along does not depend on what takes it */
        double now = taken_along(2, 64, 4.5, density[k]);
        assert_true(fabs(now - 1) <= 0.05);
        assert_true(k == 0 || fabs(now - small) <= 1e-3);
        small = now;
        now = taken_along(2, 24, 1.1, density[k]); /* five nodes: no disc, but never thrown back */
        assert_true(now > 0.7 && now < 1.5);
    }
    large = taken_along(2, 128, 9.5, 100);
    assert_true(fabs(large - 1) <= 0.03 && fabs(large - 1) < fabs(small - 1));
    assert_true(fabs(taken_along(3, 40, 4.5, 100) - 1) <= 0.12);
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

/* A heavy plate on a bed under water: contacts begin with what they carried in the last step, or the plate is thrown up a little in each. */
static void plate_rests(void **state)
{
    (void)state;
    const int cells[3] = { 40, 30, 1 };
    const double none[3] = { 0 }, half[3] = { 0.06, 0.015, 1 }, from[3] = { 0, 0, 0 }, to[3] = { 40, 12, 0 };
    scene s;
    rp_shape *box = NULL;
    scene_begin(&s, 2, 0.01, cells, from, to);
    assert_int_equal(rp_shape_box(none, half, 0, &box), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "plate", body.shape = box, body.kind = RP_BODY_FREE, body.density = 5500;
    body.position[0] = 0.2, body.position[1] = 0.135;
    s.def.bodies = &body, s.def.body_count = 1;
    scene_start(&s);
    double rounds = 0, before = 0;
    rp_body_state now;
    for (int k = 0; k < 90; k++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        rounds += (double)stats.iterations;
        assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
        before = k == 39 ? now.position[1] : before;
    }
    print_message("plate: moved by %g mm in half a second, %g rounds a step\n", 1e3 * (now.position[1] - before), rounds / 90);
    assert_true(fabs(now.position[1] - before) <= 2e-5); /* a five-hundredth of a cell; 2.6e-4 if contacts begin with nothing */
    scene_end(&s);
    rp_shape_release(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(added_mass), cmocka_unit_test(floats_and_sinks), cmocka_unit_test(forces_by_their_kind),
                                        cmocka_unit_test(plate_rests) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
