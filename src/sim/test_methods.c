/* Every action under every method: what it does, that a replay and a saved state give the same bytes, that nonsense is refused and
 * changes nothing; and that a step can be given up inside, and the simulation is then where it was. */
#include "sim/action_tests.h"

static const struct variant {
    const char *name, *scene;
} variants[] = {
    { "ballistic", "method: ballistic\n" ROOM },
    { "nonsmooth", "method: nonsmooth\n" ROOM },
    { "nonsmooth, node", "method: nonsmooth\nnonsmooth: {stress: node}\n" ROOM },
    { "elastoplastic", "method: elastoplastic\n" ROOM },
    { "elastoplastic, implicit", "method: elastoplastic\nelastoplastic: {integrator: implicit}\n" ROOM },
    { "pbd", "method: pbd\n" ROOM },
    { "pbd, macklin", "method: pbd\npbd: {contact: macklin}\n" ROOM },
    { "contact", "method: contact\n" ROOM },
    { "diphasic", "method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\n" ROOM },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool is(const struct variant *v, const char *name)
{
    return strcmp(v->name, name) == 0;
}

/* ---- what each action should have done two steps later, beside a twin that was left alone ---- */

typedef struct pair {
    const struct variant *variant;
    const rp_sim *sim, *twin;
    double seconds; /* since the action */
} pair;

static double gained(const pair *p, int which, int axis)
{
    return body(p->sim, which).velocity[axis] - body(p->twin, which).velocity[axis];
}

/* In a fluid a ball gains less, for the fluid goes along; on cells of the size of its radius one cannot say how much. */
static bool about(const pair *p, double value, double right)
{
    return is(p->variant, "diphasic") ? value > 0.1 * right && value < right : fabs(value - right) < 1e-9;
}

static bool falls_sideways(const pair *p)
{
    return about(p, gained(p, BALL, 0), 2 * p->seconds) && mean_velocity(p->sim, 0) > mean_velocity(p->twin, 0);
}

static bool grains_go_another_way(const pair *p)
{
    const double *a = plane(p->sim, "velocity", 0), *b = plane(p->twin, "velocity", 0);
    double most = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(p->sim); i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return is(p->variant, "ballistic") ? most == 0 : most > 1e-9; /* without stress there is no friction */
}

static bool paddle_is_there(const pair *p)
{
    return body(p->sim, PADDLE).position[0] == 0.45 && body(p->twin, PADDLE).position[0] == 0.4;
}

static bool paddle_goes_on(const pair *p)
{
    return fabs(body(p->sim, PADDLE).position[0] - 0.4 - 0.3 * p->seconds) < 1e-12;
}

static bool force_lasts(const pair *p)
{
    return about(p, gained(p, BALL, 0), 0.5 / body(p->sim, BALL).mass * p->seconds);
}

static bool push_was_once(const pair *p)
{
    double whole = 0.5 / body(p->sim, BALL).mass * p->seconds, v = gained(p, BALL, 0);
    return is(p->variant, "diphasic") ? v != 0 : v > 0.1 * whole && v < 0.95 * whole;
}

/* A ball turns as a solid ball does: omega = torque t / (2/5 m r²). In a fluid that sticks to it, slower. */
static bool ball_spins(const pair *p)
{
    rp_body_state ball = body(p->sim, BALL);
    double right = 1e-3 * p->seconds / (0.4 * ball.mass * 0.05 * 0.05), turn = ball.angular_velocity[1] - body(p->twin, BALL).angular_velocity[1];
    return is(p->variant, "diphasic") ? turn > 0.1 * right && turn < 1.02 * right : fabs(turn - right) < 0.02 * right; /* its mass is sampled */
}

static bool rotor_turns(const pair *p)
{
    return fabs(body(p->sim, ROTOR).angular_velocity[1] - 3) < (is(p->variant, "diphasic") ? 2 : 1e-6);
}

static bool another_falls(const pair *p)
{
    rp_body_state s;
    return rp_sim_body_count(p->sim) == 4 && rp_sim_body(p->sim, 3, &s) == RP_OK && s.present && s.velocity[2] < 0;
}

static bool ball_is_gone(const pair *p)
{
    return !body(p->sim, BALL).present && body(p->twin, BALL).present;
}

static bool more_grains(const pair *p)
{
    return rp_sim_particle_count(p->sim) > rp_sim_particle_count(p->twin);
}

static bool fewer_grains(const pair *p)
{
    int64_t n = rp_sim_particle_count(p->sim);
    return n > 0 && n < rp_sim_particle_count(p->twin);
}

static bool three_fewer(const pair *p)
{
    return is(p->variant, "nonsmooth") || is(p->variant, "nonsmooth, node") ? fewer_grains(p) /* particles split and merge there */
                                                                            : rp_sim_particle_count(p->sim) == rp_sim_particle_count(p->twin) - 3;
}

static bool grains_rise(const pair *p)
{
    return mean_velocity(p->sim, 2) > mean_velocity(p->twin, 2) + 0.2 * p->seconds;
}

static bool as_the_twin(const pair *p)
{
    return mean_velocity(p->sim, 2) == mean_velocity(p->twin, 2);
}

static bool one_grain_flies(const pair *p)
{
    const double *v = plane(p->sim, "velocity", 2), *w = plane(p->twin, "velocity", 2);
    double most = 0, twins = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(p->sim); i++)
        most = fmax(most, v[i]), twins = fmax(twins, w[i]);
    return most > twins;
}

/* The function behind the name "lift". */
static void lift(void *context, double time, const double x[3], const double v[3], double acceleration[3])
{
    (void)context, (void)time, (void)x, (void)v;
    acceleration[2] = 60;
}

static rp_sim *make_variant(const struct variant *v)
{
    rp_sim *sim = make(v->scene);
    ok(rp_sim_set_callback(sim, "lift", lift, NULL));
    return sim;
}

#define WIND "\"name\":\"wind\",\"vector\":[0,0,60]"

static const struct action {
    const char *first;  /* done before it, on its own; NULL: nothing */
    const char *line;
    bool (*effect)(const pair *p);
    const char *bad, *word; /* a line that is refused, and what the sentence says */
} actions[] = {
    { NULL, "{\"kind\":\"gravity\",\"value\":[2,0,-9.81]}", falls_sideways, "{\"kind\":\"gravity\",\"value\":[0,0,\"inf\"]}", "finite" },
    { NULL, "{\"kind\":\"material\",\"material\":0,\"parameter\":\"friction\",\"value\":0.02}", grains_go_another_way,
      "{\"kind\":\"material\",\"material\":0,\"parameter\":\"friction\",\"value\":-7}", "between" },
    { NULL, "{\"kind\":\"body_pose\",\"body\":\"paddle\",\"position\":[0.45,0.2,0.02],\"orientation\":[1,0,0,0]}", paddle_is_there,
      "{\"kind\":\"body_pose\",\"body\":\"paddle\",\"position\":[0.45,0.2,0.02],\"orientation\":[0,0,0,0]}", "unit quaternion" },
    { NULL, "{\"kind\":\"body_velocity\",\"body\":\"paddle\",\"velocity\":[0.3,0,0],\"angular_velocity\":[0,0,0]}", paddle_goes_on,
      "{\"kind\":\"body_velocity\",\"body\":7,\"velocity\":[0.3,0,0],\"angular_velocity\":[0,0,0]}", "no body 7" },
    { NULL, "{\"kind\":\"body_target\",\"body\":\"paddle\",\"position\":[0.45,0.2,0.02],\"orientation\":[1,0,0,0]}", paddle_is_there,
      "{\"kind\":\"body_target\",\"body\":\"ball\",\"position\":[0.45,0.2,0.02],\"orientation\":[1,0,0,0]}", "free" },
    { NULL, "{\"kind\":\"body_force\",\"body\":\"ball\",\"force\":[0.5,0,0],\"torque\":[0,0,0]}", force_lasts,
      "{\"kind\":\"body_force\",\"body\":\"paddle\",\"force\":[0.5,0,0],\"torque\":[0,0,0]}", "scripted" },
    { NULL, "{\"kind\":\"body_force\",\"body\":\"ball\",\"force\":[0,0,0],\"torque\":[0,1e-3,0]}", ball_spins,
      "{\"kind\":\"body_force\",\"body\":\"ball\",\"force\":[0,0,0],\"torque\":[0,1]}", "should have 3" },
    { NULL, "{\"kind\":\"body_push\",\"body\":\"ball\",\"force\":[0.5,0,0],\"torque\":[0,0,0]}", push_was_once,
      "{\"kind\":\"body_push\",\"body\":\"bal\",\"force\":[0.5,0,0],\"torque\":[0,0,0]}", "no body 'bal'" },
    { NULL, "{\"kind\":\"body_motor\",\"body\":\"rotor\",\"value\":3}", rotor_turns, "{\"kind\":\"body_motor\",\"body\":\"ball\",\"value\":3}",
      "motor" },
    { NULL,
      "{\"kind\":\"body_add\",\"body\":{\"name\":\"late\",\"kind\":1,\"density\":2000,\"position\":[0.2,0.2,0.3],"
      "\"shape\":{\"shape\":\"sphere\",\"numbers\":[0,0,0,0.03]}}}",
      another_falls, "{\"kind\":\"body_add\",\"body\":{\"name\":\"late\",\"kind\":1}}", "shape" },
    { NULL, "{\"kind\":\"body_remove\",\"body\":\"ball\"}", ball_is_gone, "{\"kind\":\"body_remove\",\"body\":\"nobody\"}", "no body 'nobody'" },
    { NULL,
      "{\"kind\":\"grains_add\",\"material\":0,\"grains\":{\"shape\":{\"shape\":\"box\",\"numbers\":[0.1,0.1,0.25,0.3,0.3,0.35,0]},\"per_cell\":"
      "2}}",
      more_grains, "{\"kind\":\"grains_add\",\"material\":3,\"grains\":{\"shape\":{\"shape\":\"sphere\",\"numbers\":[0,0,0,1]}}}",
      "no material 3" },
    { NULL, "{\"kind\":\"grains_remove\",\"shape\":{\"shape\":\"box\",\"numbers\":[0,0,0,0.15,0.4,0.4,0]}}", fewer_grains,
      "{\"kind\":\"grains_remove\",\"shape\":{\"shape\":\"sphere\",\"numbers\":[0,0,0,-1]}}", "radius" },
    { NULL, "{\"kind\":\"grains_remove\",\"ids\":[0,3,11]}", three_fewer, "{\"kind\":\"grains_remove\",\"ids\":[0.5]}", "whole" },
    { NULL, "{\"kind\":\"force_add\",\"force\":{" WIND "}}", grains_rise,
      "{\"kind\":\"force_add\",\"force\":{\"name\":\"\",\"vector\":[0,0,1]}}", "name" },
    /* each of the others as an acceleration of 40 to 60 m/s2 upwards in the bed */
    { NULL, "{\"kind\":\"force_add\",\"force\":{\"name\":\"stream\",\"kind\":1,\"vector\":[0,0,2],\"strength\":25}}", grains_rise,
      "{\"kind\":\"force_add\",\"force\":{\"name\":\"stream\",\"kind\":1,\"strength\":-1}}", "rate" },
    { NULL, "{\"kind\":\"force_add\",\"force\":{\"name\":\"whirl\",\"kind\":2,\"vector\":[0,1,0],\"point\":[0.6,0.2,0],\"strength\":20,\"core\":0.1}}",
      grains_rise, "{\"kind\":\"force_add\",\"force\":{\"name\":\"whirl\",\"kind\":2,\"strength\":20,\"core\":0.1}}", "axis" },
    { NULL, "{\"kind\":\"force_add\",\"force\":{\"name\":\"star\",\"kind\":3,\"point\":[0.175,0.2,1],\"strength\":50,\"core\":0.1}}", grains_rise,
      "{\"kind\":\"force_add\",\"force\":{\"name\":\"star\",\"kind\":3,\"strength\":50}}", "core" },
    { NULL, "{\"kind\":\"force_add\",\"force\":{\"name\":\"own\",\"kind\":4,\"callback\":\"lift\"}}", grains_rise,
      "{\"kind\":\"force_add\",\"force\":{\"name\":\"own\",\"kind\":4,\"callback\":\"lower\"}}", "lower" },
    { "{\"kind\":\"force_add\",\"force\":{" WIND "}}", "{\"kind\":\"force_remove\",\"name\":\"wind\"}", as_the_twin,
      "{\"kind\":\"force_remove\",\"name\":\"storm\"}", "storm" },
    { NULL, "{\"kind\":\"kick\",\"force\":{" WIND "},\"seconds\":0.02}", grains_rise,
      "{\"kind\":\"kick\",\"force\":{" WIND "},\"seconds\":\"inf\"}", "a kick of inf s" },
    { NULL, "{\"kind\":\"edit\",\"field\":\"velocity\",\"ids\":[5],\"values\":[0,0,3]}", one_grain_flies,
      "{\"kind\":\"edit\",\"field\":\"velocty\",\"ids\":[5],\"values\":[0,0,3]}", "velocty" },
    { NULL, "{\"kind\":\"step\"}", as_the_twin, "{\"kind\":\"stop\"}", "step" },
};
enum { ACTIONS = sizeof actions / sizeof *actions, BEFORE = 1, AFTER = 2 };

static void steps(rp_sim *sim, int count)
{
    for (int i = 0; i < count; i++)
        ok(rp_sim_step(sim, NULL));
}

static void check_effect(const struct variant *v, const struct action *a, const rp_sim *sim, const rp_sim *twin, double acted)
{
    pair p = { v, sim, twin, rp_sim_time(sim) - acted };
    if (!a->effect(&p))
        fail_msg("%s: %s did not do what it should; the ball gained %g m/s, the grains %g m/s", v->name, a->line, gained(&p, BALL, 0),
                 mean_velocity(sim, 2) - mean_velocity(twin, 2));
}

/* Refused, and the next step is as if nobody had asked. */
static void check_refusal(const struct variant *v, const struct action *a)
{
    rp_sim *sim = make_variant(v);
    uint64_t before = hash_state(sim);
    if (rp_sim_act(sim, a->bad) == RP_OK || !strstr(rp_last_error(), a->word))
        fail_msg("%s: %s gives '%s', not '%s'", v->name, a->bad, rp_last_error(), a->word);
    assert_true(hash_state(sim) == before);
    assert_string_equal(rp_sim_journal(sim), "");
    rp_sim_destroy(sim);
}

/* Replayed from the journal; from a state saved before the action, with it still to come; and from one saved behind it. */
static void check_replay(const struct variant *v, const struct action *a, rp_sim *sim, const rp_state *behind)
{
    rp_sim *again = make_variant(v), *third = make_variant(v), *fourth = make_variant(v), *all[] = { again, third, fourth };
    rp_state early;
    ok(rp_sim_replay(again, rp_sim_journal(sim)));
    ok(rp_sim_save(again, &early));
    ok(rp_sim_restore(third, &early));
    rp_state_free(&early);
    assert_true(rp_sim_replay_left(third) > 0);
    ok(rp_sim_restore(fourth, behind));
    steps(sim, 1); /* the mark of the last step is due in the next */
    for (int k = 0; k < 3; k++) {
        while (rp_sim_steps(all[k]) < rp_sim_steps(sim))
            steps(all[k], 1);
        if (hash_state(all[k]) != hash_state(sim) || strcmp(rp_sim_journal(all[k]), rp_sim_journal(sim)) != 0)
            fail_msg("%s: %s, replay %d differs", v->name, a->line, k);
        rp_sim_destroy(all[k]);
    }
}

static void check_variant(void **state)
{
    const struct variant *v = *state;
    rp_sim *twin = make_variant(v);
    steps(twin, BEFORE + AFTER);
    for (int k = 0; k < ACTIONS; k++) {
        const struct action *a = &actions[k];
        rp_sim *sim = make_variant(v);
        rp_state behind;
        steps(sim, BEFORE);
        if (a->first)
            ok(rp_sim_act(sim, a->first));
        if (rp_sim_act(sim, a->line) != RP_OK)
            fail_msg("%s: %s: %s", v->name, a->line, rp_last_error());
        double acted = rp_sim_time(sim);
        ok(rp_sim_save(sim, &behind));
        steps(sim, AFTER);
        check_effect(v, a, sim, twin, acted);
        check_replay(v, a, sim, &behind);
        check_refusal(v, a);
        rp_state_free(&behind);
        rp_sim_destroy(sim);
    }
    rp_sim_destroy(twin);
}

/* ---- giving up ---- */

typedef struct watcher {
    int calls, stop_at;
} watcher;

static bool stop(void *context, const rp_progress *p)
{
    watcher *w = context;
    (void)p;
    return ++w->calls != w->stop_at;
}

/* Given up at its first, second, fourth … call of the hook, then let through: the same bytes as a run that was left alone. */
static void check_cancel(void **state)
{
    const struct variant *v = *state;
    rp_sim *sim = make_variant(v), *twin = make_variant(v);
    const double blow[3] = { 0.5, 0, 0 }, g[3] = { 0.5, 0, -9 };
    rp_sim *both[] = { sim, twin };
    for (int k = 0; k < 2; k++) {
        steps(both[k], 2);
        ok(rp_sim_set_gravity(both[k], g));
        ok(rp_sim_act(both[k], "{\"kind\":\"force_add\",\"force\":{\"name\":\"wind\",\"vector\":[1,0,0]}}"));
        ok(rp_sim_push_body(both[k], BALL, blow, zero));
    }
    int given_up = 0, inside = 0;
    for (int at = 1; at < 1 << 16; at *= 2) {
        watcher w = { .stop_at = at };
        rp_hooks hooks = { .progress = stop, .interval = 1e-12, .context = &w };
        double time = rp_sim_time(sim), wall[3], floor[3];
        rp_body_state ball = body(sim, BALL), after;
        ok(rp_sim_wall_force(sim, 4, floor));
        ok(rp_sim_set_hooks(sim, &hooks));
        rp_result result = rp_sim_step(sim, NULL);
        if (result == RP_OK)
            break;
        assert_int_equal(result, RP_CANCELLED);
        assert_non_null(strstr(rp_last_error(), "cancelled"));
        given_up++;
        inside += w.calls > 1;
        after = body(sim, BALL);
        ok(rp_sim_wall_force(sim, 4, wall));
        assert_true(rp_sim_time(sim) == time && rp_sim_steps(sim) == 2);
        assert_memory_equal(&after, &ball, sizeof ball);
        assert_memory_equal(wall, floor, sizeof wall);
    }
    ok(rp_sim_set_hooks(sim, NULL));
    while (rp_sim_steps(sim) < 4)
        steps(sim, 1);
    while (rp_sim_steps(twin) < 4)
        steps(twin, 1);
    if (given_up < 1 || (inside < 1 && !is(v, "ballistic")))
        fail_msg("%s was given up %d times, %d of them inside", v->name, given_up, inside);
    if (hash_state(sim) != hash_state(twin))
        fail_msg("%s is not where it was after it was given up", v->name);
    rp_sim_destroy(sim);
    rp_sim_destroy(twin);
}

/* With an argument only the tests that it matches: "actions: p*". */
int main(int argc, char **argv)
{
    struct CMUnitTest tests[2 * VARIANTS];
    char names[2 * VARIANTS][64];
    for (int k = 0; k < VARIANTS; k++) {
        snprintf(names[2 * k], sizeof names[0], "actions: %s", variants[k].name);
        snprintf(names[2 * k + 1], sizeof names[0], "giving up: %s", variants[k].name);
        tests[2 * k] = (struct CMUnitTest){ names[2 * k], check_variant, NULL, NULL, (void *)(uintptr_t)&variants[k] };
        tests[2 * k + 1] = (struct CMUnitTest){ names[2 * k + 1], check_cancel, NULL, NULL, (void *)(uintptr_t)&variants[k] };
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
