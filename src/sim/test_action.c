/* Actions from outside: what each does, that a replay gives the same bytes and the same performance under another method, and what is
 * refused. */
#include "sim/action_tests.h"

/* ---- effects ---- */

static void gravity_changes_the_fall(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    const double up[3] = { 0, 0, 3 };
    double v = body(sim, BALL).velocity[2], t = 0;
    ok(rp_sim_set_gravity(sim, up));
    ok(rp_sim_step(sim, NULL));
    t = rp_sim_time(sim);
    assert_float_equal(body(sim, BALL).velocity[2], v + 3 * t, 1e-12);
    const double *grain = plane(sim, "velocity", 2);
    assert_float_equal(grain[0], 3 * t, 1e-12);
    rp_sim_destroy(sim);
}

static void material_parameters_are_seen_by_the_method(void **unused)
{
    (void)unused;
    /* a block on a slope: it slides with little friction, and rests with much */
    static const char scene[] = "method: nonsmooth\ndomain: [0.8, 0.4]\ncell_size: 5 cm\nduration: 1 s\nframe_rate: 20\ngravity: [3, -9]\n"
                                "walls: {all: slip, bottom: stick, left: open, right: open}\nmaterial: {friction: 0.9}\n"
                                "grains: [{shape: {box: {lower: [0.2, 0], upper: [0.4, 0.1]}}, per_cell: 4}]\n";
    double speed[2];
    for (int k = 0; k < 2; k++) {
        rp_sim *sim = make(scene);
        if (k == 1)
            ok(rp_sim_set_material(sim, 0, "friction", 0.05));
        while (rp_sim_time(sim) < 0.2)
            ok(rp_sim_step(sim, NULL));
        speed[k] = mean_velocity(sim, 0);
        rp_sim_destroy(sim);
    }
    assert_true(speed[1] > 0.15 && speed[1] > 3 * speed[0]);
}

static void a_set_parameter_is_no_longer_keyed(void **unused)
{
    (void)unused;
    rp_sim_def def = rp_default_sim_def();
    rp_material_def material = rp_default_material_def();
    double times[2] = { 0, 1 }, values[2] = { 0.1, 0.9 };
    rp_material_key key = { 0, "friction", times, values, 2 };
    def.method = "ballistic";
    def.materials = &material, def.material_count = 1;
    def.material_keys = &key, def.material_key_count = 1;
    rp_sim *sim = NULL;
    rp_state state;
    ok(rp_sim_create(&def, &sim));
    ok(rp_sim_set_material(sim, 0, "friction", 0.4));
    ok(rp_sim_step(sim, NULL));
    ok(rp_sim_save(sim, &state));
    const rp_blob *scene = rp_state_find(&state, "drive/scene");
    const double *numbers = scene->data;
    bool found = false;
    for (int64_t i = 0; i < scene->count; i++)
        found = found || numbers[i] == 0.4;
    assert_true(found && numbers[scene->count - 1] == 1);
    rp_state_free(&state);
    rp_sim_destroy(sim);
}

static void targets_are_reached_with_the_velocity_that_follows(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    const double there[3] = { 0.35, 0.2, 0.02 }, turned[4] = { cos(0.1), 0, sin(0.1), 0 }, later[3] = { 0.33, 0.2, 0.02 };
    rp_step_stats stats;
    ok(rp_sim_set_body_target(sim, PADDLE, there, turned, RP_NEXT_STEP));
    ok(rp_sim_step(sim, &stats));
    rp_body_state s = body(sim, PADDLE);
    assert_true(s.position[0] == 0.35 && s.position[1] == 0.2 && s.position[2] == 0.02);
    assert_float_equal(s.velocity[0], -0.05 / stats.dt, 1e-12 / stats.dt);
    assert_float_equal(s.angular_velocity[1], 0.2 / stats.dt, 1e-12 / stats.dt);
    ok(rp_sim_step(sim, NULL)); /* it stays */
    s = body(sim, PADDLE);
    assert_true(s.position[0] == 0.35 && s.velocity[0] == 0 && s.angular_velocity[1] == 0);

    double reach = rp_sim_time(sim) + 0.0731, begin = rp_sim_time(sim);
    ok(rp_sim_set_body_target(sim, PADDLE, later, still, reach));
    do {
        ok(rp_sim_step(sim, &stats));
        s = body(sim, PADDLE);
        assert_float_equal(s.velocity[0], -0.02 / (reach - begin), 1e-9);
    } while (rp_sim_time(sim) < reach);
    assert_true(rp_sim_time(sim) == reach && s.position[0] == 0.33);
    assert_string_equal(stats.limit, "action");
    rp_sim_destroy(sim);
}

static void poses_and_velocities_are_set(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    const double place[3] = { 0.2, 0.2, 0.35 }, way[3] = { 0, 0, -0.5 }, turn[3] = { 0, 0, 2 };
    ok(rp_sim_set_body_pose(sim, PADDLE, place, still));
    assert_true(body(sim, PADDLE).position[2] == 0.35);
    ok(rp_sim_set_body_velocity(sim, PADDLE, way, turn));
    ok(rp_sim_step(sim, NULL));
    ok(rp_sim_step(sim, NULL));
    double t = rp_sim_time(sim);
    assert_float_equal(body(sim, PADDLE).position[2], 0.35 - 0.5 * t, 1e-12);
    assert_float_equal(2 * acos(body(sim, PADDLE).orientation[0]), 2 * t, 1e-9);
    double before = body(sim, BALL).velocity[2];
    ok(rp_sim_set_body_pose(sim, BALL, place, still));
    rp_body_state ball = body(sim, BALL);
    assert_true(fabs(ball.position[0] - 0.2) < 1e-12 && ball.velocity[2] == before);
    ok(rp_sim_set_body_velocity(sim, BALL, way, zero));
    assert_true(body(sim, BALL).velocity[2] == -0.5);
    rp_sim_destroy(sim);
}

static void forces_and_motors_act(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    double mass = body(sim, BALL).mass;
    const double lift[3] = { 0, 0, 9.81 * mass }, side[3] = { 2 * mass, 0, 0 };
    rp_step_stats first, second;
    ok(rp_sim_set_body_force(sim, BALL, lift, zero));
    ok(rp_sim_push_body(sim, BALL, side, zero));
    ok(rp_sim_push_body(sim, BALL, side, zero)); /* they add up */
    ok(rp_sim_set_body_motor(sim, ROTOR, 3));
    ok(rp_sim_step(sim, &first));
    assert_float_equal(body(sim, BALL).velocity[2], 0, 1e-12);
    assert_float_equal(body(sim, BALL).velocity[0], 4 * first.dt, 1e-12);
    assert_float_equal(body(sim, ROTOR).angular_velocity[1], 3, 1e-9);
    ok(rp_sim_step(sim, &second)); /* the push is over, the force is not */
    assert_float_equal(body(sim, BALL).velocity[0], 4 * first.dt, 1e-12);
    assert_float_equal(body(sim, BALL).velocity[2], 0, 1e-12);
    rp_sim_destroy(sim);
}

/* ---- the performance ---- */

/* A motion as somebody would make it by hand: a target a step, now and then something else. */
static void perform(rp_sim *sim, int steps)
{
    for (int i = 0; i < steps; i++) {
        double x[3] = { 0.4 - 0.011 * i, 0.2, 0.02 }, q[4] = { cos(0.013 * i), 0, sin(0.013 * i), 0 };
        const double push[3] = { 0.1 + i, 0, 1.0 / (3 + i) }, moon[3] = { 0, 0, -1.62 };
        ok(rp_sim_set_body_target(sim, PADDLE, x, q, RP_NEXT_STEP));
        if (i % 3 == 0)
            ok(rp_sim_push_body(sim, BALL, push, zero));
        if (i == 4) {
            ok(rp_sim_set_gravity(sim, moon));
            ok(rp_sim_set_material(sim, 0, "cohesion", 1.0 / 3));
            ok(rp_sim_set_body_motor(sim, ROTOR, -2.2));
        }
        ok(i == 5 ? rp_sim_step_to(sim, rp_sim_time(sim) + 0.007, NULL) : rp_sim_step(sim, NULL));
    }
}

static void replays_to_the_byte(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: ballistic\n" ROOM, "method: nonsmooth\n" ROOM,
                                           "method: elastoplastic\n" ROOM, "method: pbd\n" ROOM,
                                           "method: nonsmooth\nnonsmooth: {stress: node}\n" ROOM, "method: contact\n" ROOM,
                                           "method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\n" ROOM };
    for (int m = 0; m < 7; m++) {
        rp_sim *sim = make(methods[m]), *again = make(methods[m]), *third = make(methods[m]);
        perform(sim, 8);
        ok(rp_sim_replay(again, rp_sim_journal(sim)));
        rp_state state;
        while (rp_sim_steps(again) < rp_sim_steps(sim)) {
            ok(rp_sim_step(again, NULL));
            if (rp_sim_steps(again) == 3) { /* saved in the middle, with what is still to come */
                ok(rp_sim_save(again, &state));
                ok(rp_sim_restore(third, &state));
                assert_true(rp_sim_replay_left(third) > 0);
                rp_state_free(&state);
            }
        }
        while (rp_sim_steps(third) < rp_sim_steps(sim))
            ok(rp_sim_step(third, NULL));
        for (int k = 0; k < 2; k++) { /* the last mark is due at the beginning of the next step */
            ok(rp_sim_step(sim, NULL));
            ok(rp_sim_step(again, NULL));
            ok(rp_sim_step(third, NULL));
        }
        assert_string_equal(rp_sim_journal(sim), rp_sim_journal(again));
        assert_string_equal(rp_sim_journal(sim), rp_sim_journal(third));
        assert_true(hash_state(sim) == hash_state(again));
        assert_true(hash_state(sim) == hash_state(third));
        rp_sim_destroy(sim);
        rp_sim_destroy(again);
        rp_sim_destroy(third);
    }
}

static double mean_place(rp_sim *sim)
{
    rp_sums sums;
    ok(rp_sim_sums(sim, NULL, &sums));
    return sums.centre[0];
}

/* Performed with the method for interaction, run again with others and on finer cells: the paddle is at each time where it was, and the
 * sand before it was pushed. */
static void replays_under_another_method_and_finer(void **unused)
{
    (void)unused;
    static const struct {
        const char *scene;
        bool finer;
    } others[] = { { "method: elastoplastic\n" ROOM, false }, { "method: nonsmooth\n" ROOM, false },
                   { "method: nonsmooth\nnonsmooth: {stress: node}\n" ROOM, false }, { "method: contact\n" ROOM, false },
                   { "method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\n" ROOM, false },
                   { "method: elastoplastic\n" ROOM, true }, { "method: nonsmooth\n" ROOM, true }, { "method: pbd\n" ROOM, true } };
    enum { MOST = 256, OTHERS = sizeof others / sizeof *others };
    rp_sim *sim = make("method: pbd\n" ROOM);
    double times[MOST], places[MOST], turns[MOST];
    int count = 0;
    const double push[3] = { 0, 0.2, 1 }, lean[3] = { 0.3, 0, -9 };
    while (rp_sim_time(sim) < 0.2) { /* 1 m/s along x, into the sand, and tipping over */
        double t, q[4] = { 0 }, x[3] = { 0, 0.2, 0.02 };
        ok(rp_sim_next_time(sim, &t));
        x[0] = 0.4 - t, q[0] = cos(0.5 * t), q[2] = sin(0.5 * t);
        ok(rp_sim_set_body_target(sim, PADDLE, x, q, RP_NEXT_STEP));
        if (count == 3)
            ok(rp_sim_push_body(sim, BALL, push, zero));
        if (count == 5)
            ok(rp_sim_set_gravity(sim, lean));
        ok(rp_sim_step(sim, NULL));
        assert_true(count < MOST);
        times[count] = rp_sim_time(sim);
        places[count] = body(sim, PADDLE).position[0];
        turns[count++] = body(sim, PADDLE).orientation[2];
    }
    for (int m = 0; m < OTHERS; m++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", others[m].scene);
        char *cell = strstr(text, "cell_size: 5 cm");
        memcpy(cell, others[m].finer ? "cell_size: 4 cm" : "cell_size: 5 cm", 15);
        rp_sim *other = make(text), *alone = make(text);
        ok(rp_sim_replay(other, rp_sim_journal(sim)));
        for (int i = 0; i < count; i++) {
            while (rp_sim_time(other) < times[i])
                ok(rp_sim_step(other, NULL));
            assert_true(rp_sim_time(other) == times[i]);
            assert_true(body(other, PADDLE).position[0] == places[i] && body(other, PADDLE).orientation[2] == turns[i]);
        }
        while (rp_sim_time(alone) < rp_sim_time(other))
            ok(rp_sim_step(alone, NULL));
        double pushed = mean_place(alone) - mean_place(other);
        if (!(pushed > 0.01)) /* the paddle's face goes from 0.38 to 0.18 m, through the front of the sand at 0.3 m */
            fail_msg("%.30s …: the sand was pushed by %g m", others[m].scene, pushed);
        ok(rp_sim_step(other, NULL));
        assert_int_equal(rp_sim_replay_left(other), 0);
        rp_sim_destroy(other);
        rp_sim_destroy(alone);
    }
    rp_sim_destroy(sim);
}

static void restoring_takes_actions_back(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM), *plain = make("method: ballistic\n" ROOM);
    rp_state state;
    ok(rp_sim_save(sim, &state));
    perform(sim, 5);
    ok(rp_sim_restore(sim, &state));
    rp_state_free(&state);
    assert_string_equal(rp_sim_journal(sim), "");
    for (int i = 0; i < 4; i++) {
        ok(rp_sim_step(sim, NULL));
        ok(rp_sim_step(plain, NULL));
    }
    assert_true(hash_state(sim) == hash_state(plain));
    rp_sim_destroy(sim);
    rp_sim_destroy(plain);
}

static void lines_act(void **unused)
{
    (void)unused;
    rp_sim *a = make("method: ballistic\n" ROOM), *b = make("method: ballistic\n" ROOM);
    const double g[3] = { 0.1, 1.0 / 3, -1e-17 }, f[3] = { 1, 2, 3 };
    ok(rp_sim_set_gravity(a, g));
    ok(rp_sim_push_body(a, BALL, f, zero));
    ok(rp_sim_act(b, "{\"kind\":\"gravity\",\"value\":[0.1,0.3333333333333333,-1e-17],\"time\":7}"));
    ok(rp_sim_act(b, " { \"body\" : 1, \"force\":[1,2,3], \"kind\":\"body_push\" }\n"));
    assert_string_equal(rp_sim_journal(a), rp_sim_journal(b));
    ok(rp_sim_step(a, NULL));
    ok(rp_sim_step(b, NULL));
    assert_true(hash_state(a) == hash_state(b));
    rp_sim_destroy(a);
    rp_sim_destroy(b);
}

/* ---- refusals ---- */

static void refuses_nonsense(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: nonsmooth\n" ROOM);
    const double bad[4] = { 0, NAN, 0, 0 }, none[4] = { 0, 0, 0, 0 };
    uint64_t before = hash_state(sim);
    refused(rp_sim_set_gravity(NULL, zero), RP_BAD_ARGUMENT, "no simulation");
    refused(rp_sim_set_gravity(sim, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_set_gravity(sim, bad), RP_BAD_ARGUMENT, "finite");
    refused(rp_sim_set_material(sim, 1, "friction", 0.5), RP_BAD_ARGUMENT, "no material 1");
    refused(rp_sim_set_material(sim, -1, "friction", 0.5), RP_BAD_ARGUMENT, "no material");
    refused(rp_sim_set_material(sim, 0, "fricton", 0.5), RP_NOT_FOUND, "friction");
    refused(rp_sim_set_material(sim, 0, "friction", 5e3), RP_BAD_ARGUMENT, "between");
    refused(rp_sim_set_material(sim, 0, "friction", NAN), RP_BAD_ARGUMENT, "between");
    refused(rp_sim_set_material(sim, 0, "model", 1), RP_BAD_ARGUMENT, "real");
    refused(rp_sim_set_material(sim, 0, "anisotropy", 0.5), RP_UNSUPPORTED, "orientation");
    refused(rp_sim_set_body_pose(sim, 3, zero, still), RP_BAD_ARGUMENT, "no body 3");
    refused(rp_sim_set_body_pose(sim, -1, zero, still), RP_BAD_ARGUMENT, "no body");
    refused(rp_sim_set_body_pose(sim, PADDLE, bad, still), RP_BAD_ARGUMENT, "position");
    refused(rp_sim_set_body_pose(sim, PADDLE, zero, none), RP_BAD_ARGUMENT, "unit quaternion");
    refused(rp_sim_set_body_pose(sim, ROTOR, zero, still), RP_UNSUPPORTED, "joint");
    refused(rp_sim_set_body_velocity(sim, BALL, bad, zero), RP_BAD_ARGUMENT, "velocity");
    refused(rp_sim_set_body_target(sim, BALL, zero, still, RP_NEXT_STEP), RP_UNSUPPORTED, "free");
    refused(rp_sim_set_body_target(sim, PADDLE, zero, still, 0), RP_BAD_ARGUMENT, "t = 0 s");
    refused(rp_sim_set_body_target(sim, PADDLE, zero, still, NAN), RP_BAD_ARGUMENT, "reached");
    refused(rp_sim_set_body_force(sim, PADDLE, zero, zero), RP_UNSUPPORTED, "scripted");
    refused(rp_sim_push_body(sim, BALL, zero, bad), RP_BAD_ARGUMENT, "torque");
    refused(rp_sim_push_body(sim, BALL, NULL, zero), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_set_body_motor(sim, BALL, 1), RP_UNSUPPORTED, "motor");
    refused(rp_sim_act(sim, NULL), RP_BAD_ARGUMENT, "NULL");
    assert_true(hash_state(sim) == before);
    assert_string_equal(rp_sim_journal(NULL), "");
    rp_sim_destroy(sim);
}

static void refuses_bad_lines(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *word;
    } cases[] = {
        { "", "object" },
        { "{", "ends" },
        { "[1]", "object" },
        { "{\"time\":0}", "no \"kind\"" },
        { "{\"kind\":\"gravty\",\"value\":[0,0,0]}", "did you mean 'gravity'" },
        { "{\"kind\":\"gravity\"}", "no \"value\"" },
        { "{\"kind\":\"gravity\",\"value\":[0,0]}", "should have 3" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,1e999]}", "number" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,0],\"valu\":1}", "did you mean \"value\"" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,0],\"value\":[0,0,0]}", "twice" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,0]} x", "end of the line" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,0]}\n{}", "one line" },
        { "{\"kind\":\"body_push\",\"body\":\"bal\",\"force\":[0,0,0]}", "no body 'bal'" },
        { "{\"kind\":\"body_push\",\"body\":-1,\"force\":[0,0,0]}", "index" },
        { "{\"kind\":\"body_push\",\"body\":1.5,\"force\":[0,0,0]}", "whole" },
        { "{\"kind\":\"gravity\",\"value\":[0,0,\"inf\"]}", "finite" },
        { "{\"kind\":\"body_push\",\"body\":\"\\q\",\"force\":[0,0,0]}", "escape" },
    };
    rp_sim *sim = make("method: ballistic\n" ROOM);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(rp_sim_act(sim, cases[i].line), RP_OK);
        if (!strstr(rp_last_error(), cases[i].word))
            fail_msg("'%s' gives '%s', not '%s'", cases[i].line, rp_last_error(), cases[i].word);
    }
    refused(rp_sim_replay(sim, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_replay(sim, "{\"time\":1,\"kind\":\"gravity\",\"value\":[0,0,0]}\n{\"time\":0.5,\"kind\":\"gravity\",\"value\":[0,0,0]}\n"),
            RP_BAD_FILE, "line 2 of the journal");
    assert_int_equal(rp_sim_replay_left(sim), 0);
    ok(rp_sim_step(sim, NULL));
    refused(rp_sim_replay(sim, "{\"time\":0,\"kind\":\"gravity\",\"value\":[0,0,0]}\n"), RP_BAD_FILE, "not before");
    ok(rp_sim_replay(sim, "{\"time\":0.1,\"kind\":\"body_motor\",\"body\":\"ball\",\"value\":1}\n"));
    rp_result result = RP_OK;
    while (result == RP_OK && rp_sim_time(sim) < 0.2)
        result = rp_sim_step(sim, NULL);
    refused(result, RP_UNSUPPORTED, "for t = 0.1 s");
    rp_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gravity_changes_the_fall),
        cmocka_unit_test(material_parameters_are_seen_by_the_method),
        cmocka_unit_test(a_set_parameter_is_no_longer_keyed),
        cmocka_unit_test(targets_are_reached_with_the_velocity_that_follows),
        cmocka_unit_test(poses_and_velocities_are_set),
        cmocka_unit_test(forces_and_motors_act),
        cmocka_unit_test(replays_to_the_byte),
        cmocka_unit_test(replays_under_another_method_and_finer),
        cmocka_unit_test(restoring_takes_actions_back),
        cmocka_unit_test(lines_act),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(refuses_bad_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
