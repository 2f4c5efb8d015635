/* Free bodies in the problem of the step: with grains, with each other, with walls and scripted bodies. */
#include "contact/contact_tests.h"

#define G 9.81

static rp_body_def plate(rp_shape *shape, double x, double y, double z, double friction)
{
    rp_body_def def = rp_default_body_def();
    def.name = (char *)"plate";
    def.kind = RP_BODY_FREE;
    def.shape = shape;
    def.density = 700;
    def.surface = (rp_surface){ RP_FRICTIONAL, friction, 0 };
    def.position[0] = x, def.position[1] = y, def.position[2] = z;
    return def;
}

static void one_ball(rp_grains_def *grains, double x, double z)
{
    *grains = rp_default_grains_def();
    grains->name = (char *)"ball";
    grains->shape = box_shape(x - 0.024, x + 0.024, 0.501, 0.549, z - 0.024, z + 0.024);
    grains->sampling = RP_REGULAR;
    grains->per_cell = 1;
}

/* A ball that flies into a row of three boxes, the last against a scripted one: it is stopped within the step, all of them touch, none
 * overlaps. (Solved one after the other, ball and boxes lie in each other by a third of a radius after it.) */
static void test_a_row_stops_a_ball(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    rp_params *p = params_of("diameter", "4 cm", NULL);
    rp_grains_def grains;
    one_ball(&grains, 0.225, 0.525);
    grains.velocity[0] = 4;
    rp_shape *shape = box_shape(-0.01, 0.01, -0.05, 0.05, -0.05, 0.05);
    rp_body_def bodies[4];
    for (int b = 0; b < 4; b++)
        bodies[b] = plate(shape, 0.31 + 0.021 * b, 0.525, 0.525, 0.3);
    bodies[3].kind = RP_BODY_SCRIPTED;
    bodies[3].position[0] = 0.373;
    def.grains = &grains;
    def.grains_count = 1;
    def.bodies = bodies;
    def.body_count = 4;
    def.gravity[2] = 0;
    def.method_params = rp_params_data(p);
    def.frame_rate = 400;
    rp_sim *sim = make_sim(&def);
    double worst = 0;
    for (int k = 0; k < 40; k++) {
        rp_step_stats stats = run_steps(sim, 1);
        assert_true(stats.converged);
        worst = fmax(worst, extra_of(&stats, "penetration_worst"));
    }
    rp_body_state body;
    assert_int_equal(rp_sim_body(sim, 0, &body), RP_OK);
    print_message("row: overlap %.2e, ball %.2e m/s, box %.2e m/s\n", worst, plane_of(sim, "velocity", 0)[0], body.velocity[0]);
    assert_true(worst < 5e-3);
    assert_true(fabs(plane_of(sim, "velocity", 0)[0]) < 1e-3 && fabs(body.velocity[0]) < 1e-3);
    assert_true(plane_of(sim, "position", 0)[0] > 0.25); /* it got there */
    rp_sim_destroy(sim);
    rp_shape_release(shape);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
}

/* Two cards with round ends lean on each other at 20 degrees from upright. With l the distance of the ends and r their radius the feet need
 * mu = l sin 20° / (2 l cos 20° + 2 r), 0.178 here: above it the cards stand, below they fall. How far they sink. */
static double lean(double friction, double until)
{
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, friction, &material);
    rp_params *p = params_of("tolerance", "1e-6", "tolerance_max", "1e-5", NULL);
    const double thin = 0.004, half = 0.1, tilt = 20 * 3.14159265358979 / 180, centre[3] = { 0, 0, 0 }, extent[3] = { thin, 0.05, half };
    rp_shape *shape = NULL;
    assert_int_equal(rp_shape_box(centre, extent, thin, &shape), RP_OK);
    rp_body_def bodies[2];
    for (int b = 0; b < 2; b++) {
        double side = b == 0 ? -1 : 1;
        bodies[b] = plate(shape, 0.5 + side * ((half - thin) * sin(tilt) + thin), 0.5, (half - thin) * cos(tilt) + thin, friction);
        bodies[b].rotation[1] = -side * tilt;
    }
    def.bodies = bodies;
    def.body_count = 2;
    def.method_params = rp_params_data(p);
    def.frame_rate = 200;
    rp_sim *sim = make_sim(&def);
    rp_body_state first, last;
    run_steps(sim, 20);
    assert_int_equal(rp_sim_body(sim, 0, &first), RP_OK);
    run_steps(sim, (int)(200 * until));
    assert_int_equal(rp_sim_body(sim, 0, &last), RP_OK);
    rp_sim_destroy(sim);
    rp_shape_release(shape);
    rp_params_destroy(p);
    return first.position[2] - last.position[2];
}

static void test_cards_stand_by_friction(void **state)
{
    (void)state;
    double stands = lean(0.25, 2), falls = lean(0.14, 0.5);
    print_message("cards sink by %.2e m with friction, by %.3f m with less\n", stands, falls);
    assert_true(fabs(stands) < 1e-6);
    assert_true(falls > 0.03);
}

/* Two boxes and a ball on top of each other: they rest, and the floor carries all through the lowest box. */
static void test_a_tower_rests(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.5, &material);
    rp_params *p = params_of("diameter", "4 cm", "rolling_friction", "0.1", NULL);
    rp_grains_def grains;
    one_ball(&grains, 0.525, 0.225);
    rp_shape *shape = box_shape(-0.08, 0.08, -0.08, 0.08, -0.05, 0.05);
    rp_body_def bodies[2] = { plate(shape, 0.52, 0.52, 0.0505, 0.5), plate(shape, 0.53, 0.53, 0.151, 0.5) };
    def.grains = &grains;
    def.grains_count = 1;
    def.bodies = bodies;
    def.body_count = 2;
    def.method_params = rp_params_data(p);
    rp_sim *sim = make_sim(&def);
    rp_body_state first, last;
    run_steps(sim, 100);
    assert_int_equal(rp_sim_body(sim, 1, &first), RP_OK);
    double z = plane_of(sim, "position", 2)[0];
    rp_step_stats stats = run_steps(sim, 100);
    assert_int_equal(rp_sim_body(sim, 1, &last), RP_OK);
    print_message("tower: box moves %.2e m, ball %.2e m, overlap %.2e\n", last.position[2] - first.position[2], plane_of(sim, "position", 2)[0] - z,
                  extra_of(&stats, "penetration_worst"));
    for (int a = 0; a < 3; a++)
        assert_true(fabs(last.position[a] - first.position[a]) < 1e-7);
    assert_true(fabs(plane_of(sim, "position", 2)[0] - z) < 1e-7);
    assert_true(fabs(last.position[2] - 0.15) < 2e-4);
    rp_sim_destroy(sim);
    rp_shape_release(shape);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
}

/* A plate on a hinge comes down on a ball that lies on a free box: the joint holds, and so does everything below. */
static void test_hinged_plate_on_a_ball(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.5, &material);
    rp_params *p = params_of("diameter", "4 cm", "rolling_friction", "0.1", NULL);
    rp_grains_def grains;
    one_ball(&grains, 0.525, 0.125);
    rp_shape *shape = box_shape(-0.08, 0.08, -0.08, 0.08, -0.05, 0.05), *flap = box_shape(-0.15, 0.15, -0.05, 0.05, -0.01, 0.01);
    rp_body_def bodies[2] = { plate(shape, 0.52, 0.525, 0.05, 0.5), plate(flap, 0.45, 0.525, 0.2, 0.5) };
    bodies[1].joint = RP_JOINT_HINGE;
    bodies[1].joint_axis[0] = 0, bodies[1].joint_axis[1] = 1, bodies[1].joint_axis[2] = 0;
    bodies[1].joint_point[0] = 0.3, bodies[1].joint_point[1] = 0.525, bodies[1].joint_point[2] = 0.2;
    def.grains = &grains;
    def.grains_count = 1;
    def.bodies = bodies;
    def.body_count = 2;
    def.method_params = rp_params_data(p);
    def.frame_rate = 200;
    rp_sim *sim = make_sim(&def);
    rp_step_stats stats = run_steps(sim, 400);
    rp_body_state state_of_flap;
    assert_int_equal(rp_sim_body(sim, 1, &state_of_flap), RP_OK);
    print_message("flap: %.2e rad/s, overlap %.2e\n", state_of_flap.angular_velocity[1], extra_of(&stats, "penetration_worst"));
    assert_true(fabs(state_of_flap.angular_velocity[1]) < 1e-5);
    assert_true(extra_of(&stats, "penetration_worst") < 0.01 && stats.converged);
    assert_true(state_of_flap.position[2] < 0.2 && state_of_flap.position[2] > 0.14); /* on the ball */
    rp_sim_destroy(sim);
    rp_shape_release(shape);
    rp_shape_release(flap);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
}

/* Kinetic energy and height of the only ball. */
static double energy_of_ball(rp_sim *sim)
{
    double v[3], mass = plane_of(sim, "mass", 0)[0], sum = 0;
    for (int a = 0; a < 3; a++) {
        v[a] = plane_of(sim, "velocity", a)[0];
        sum += 0.5 * v[a] * v[a] + 0.2 * 4e-4 * pow(plane_of(sim, "spin", a)[0], 2);
    }
    return mass * (sum + G * plane_of(sim, "position", 2)[0]);
}

/* A board that turns about an axis 0.3 m away, 0.15 rad in a step, under a ball without friction: the ball stays on it to the tolerance. (Met with the
 * normal and the velocity of the beginning of the step it is thrown off by 3 mm a step.) With friction as well the board does at least the work
 * that the ball gains. */
static void test_a_board_turns_under_a_ball(void **state)
{
    (void)state;
    for (int rough = 0; rough < 2; rough++) {
        rp_material_def material;
        rp_sim_def def = scene(1, 0.05, rough ? 0.4 : 0, &material);
        rp_params *p = params_of("diameter", "4 cm", "tolerance", "1e-10", "tolerance_max", "1e-9", NULL);
        rp_grains_def grains;
        one_ball(&grains, 0.525, 0.525);
        rp_body_def board = rp_default_body_def();
        board.name = (char *)"board";
        board.shape = box_shape(-0.6, 0.6, -0.2, 0.2, -0.05, 0.02);
        board.surface = (rp_surface){ rough ? RP_FRICTIONAL : RP_SLIP, rough ? 0.4 : 0, 0 };
        assert_int_equal(rp_motion_expression("0.225, 0.525, 0.485, 0, -3 * t, 0", &board.motion), RP_OK);
        def.grains = &grains;
        def.grains_count = 1;
        def.bodies = &board;
        def.body_count = 1;
        def.method_params = rp_params_data(p);
        def.frame_rate = 20;
        rp_sim *sim = make_sim(&def);
        double before = energy_of_ball(sim), least = INFINITY, most = 0, worst = -INFINITY;
        for (int k = 0; k < 6; k++) {
            run_steps(sim, 1);
            rp_body_state now;
            assert_int_equal(rp_sim_body(sim, 0, &now), RP_OK);
            double turn = 2 * atan2(-now.orientation[2], now.orientation[0]);
            double x = plane_of(sim, "position", 0)[0] - now.position[0], z = plane_of(sim, "position", 2)[0] - now.position[2];
            double above = z * cos(turn) - x * sin(turn) - 0.02, after = energy_of_ball(sim), work = 0;
            for (int a = 0; a < 3; a++)
                work -= (now.force[a] * now.velocity[a] + now.torque[a] * now.angular_velocity[a]) / def.frame_rate;
            least = fmin(least, above);
            most = fmax(most, above);
            worst = fmax(worst, after - before - work);
            before = after;
        }
        print_message("board: ball %.9f … %.9f above it, energy beyond the work %.2e J\n", least, most, worst);
        assert_true(least > 0.02 * (1 - 1e-6) && most < 0.02 * (1 + 2e-3));
        assert_true(worst < 1e-9);
        rp_sim_destroy(sim);
        rp_motion_release(board.motion);
        rp_shape_release(board.shape);
        rp_shape_release(grains.shape);
        rp_params_destroy(p);
    }
}

/* A ball in the inner corner of a tray that is drawn to and fro, half its radius in a step, and lifted: floor and side hold it at once. */
static void test_a_corner_holds_with_both_sides(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    rp_params *p = params_of("diameter", "4 cm", NULL);
    rp_grains_def grains;
    one_ball(&grains, 0.525, 0.525);
    rp_shape *outer = box_shape(-0.2, 0.2, -0.2, 0.2, -0.1, 0.1), *room = box_shape(-0.03, 0.03, -0.03, 0.03, 0, 0.4);
    rp_body_def tray = rp_default_body_def();
    tray.name = (char *)"tray";
    assert_int_equal(rp_shape_difference(outer, room, &tray.shape), RP_OK);
    tray.surface = (rp_surface){ RP_FRICTIONAL, 0.3, 0 };
    const char *way = "0.525 + 0.1 * math.sin(10 * t), 0.525 + 0.05 * math.sin(17 * t), 0.5 + 0.1 * math.sin(7 * t), 0, 0, 0";
    assert_int_equal(rp_motion_expression(way, &tray.motion), RP_OK);
    def.grains = &grains;
    def.grains_count = 1;
    def.bodies = &tray;
    def.body_count = 1;
    def.method_params = rp_params_data(p);
    rp_sim *sim = make_sim(&def);
    double deepest = 0;
    for (int k = 0; k < 200; k++) {
        run_steps(sim, 1);
        rp_body_state now;
        assert_int_equal(rp_sim_body(sim, 0, &now), RP_OK);
        for (int a = 0; a < 2; a++)
            deepest = fmax(deepest, fabs(plane_of(sim, "position", a)[0] - now.position[a]) - 0.01);
        deepest = fmax(deepest, now.position[2] + 0.02 - plane_of(sim, "position", 2)[0]);
    }
    print_message("tray: the ball is %.2e of its radius in its sides at most\n", deepest / 0.02);
    assert_true(deepest < 2e-3 * 0.02);
    rp_sim_destroy(sim);
    rp_motion_release(tray.motion);
    rp_shape_release(tray.shape);
    rp_shape_release(outer);
    rp_shape_release(room);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_stops_a_ball),
        cmocka_unit_test(test_cards_stand_by_friction),
        cmocka_unit_test(test_a_tower_rests),
        cmocka_unit_test(test_hinged_plate_on_a_ball),
        cmocka_unit_test(test_a_board_turns_under_a_ball),
        cmocka_unit_test(test_a_corner_holds_with_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
