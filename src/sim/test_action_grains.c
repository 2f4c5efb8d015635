/* Bodies and grains that come and go, forces on grains, edits of their fields: effect, replay, refusal. */
#include "sim/action_tests.h"

static rp_shape *box(double x0, double y0, double z0, double x1, double y1, double z1)
{
    const double centre[3] = { 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (z0 + z1) };
    const double half[3] = { 0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.5 * (z1 - z0) };
    rp_shape *shape = NULL;
    ok(rp_shape_box(centre, half, 0, &shape));
    return shape;
}

/* ---- bodies ---- */

static int add_ball(rp_sim *sim, const char *name, double x, double z)
{
    rp_body_def def = rp_default_body_def();
    const double radius = 0.04;
    int index = -1;
    ok(rp_shape_sphere(zero, radius, &def.shape));
    def.name = name;
    def.kind = RP_BODY_FREE;
    def.position[0] = x, def.position[1] = 0.2, def.position[2] = z;
    ok(rp_sim_add_body(sim, &def, &index));
    rp_shape_release(def.shape);
    return index;
}

static void bodies_come_and_go(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    int index = add_ball(sim, "second", 0.2, 0.3);
    assert_int_equal(index, 3);
    assert_int_equal(rp_sim_body_count(sim), 4);
    ok(rp_sim_step(sim, NULL));
    assert_float_equal(body(sim, index).velocity[2], -9.81 * rp_sim_time(sim), 1e-9);
    ok(rp_sim_remove_body(sim, index));
    assert_false(body(sim, index).present);
    double z = body(sim, index).position[2];
    ok(rp_sim_step(sim, NULL));
    assert_true(!body(sim, index).present && body(sim, index).position[2] == z);
    refused(rp_sim_push_body(sim, index, zero, zero), RP_NOT_FOUND, "removed");
    refused(rp_sim_remove_body(sim, 9), RP_BAD_ARGUMENT, "no body 9");
    refused(rp_sim_add_body(NULL, NULL, NULL), RP_BAD_ARGUMENT, "no simulation");
    refused(rp_sim_add_body(sim, NULL, NULL), RP_BAD_ARGUMENT, "NULL");
    rp_body_def def = rp_default_body_def();
    refused(rp_sim_add_body(sim, &def, NULL), RP_BAD_ARGUMENT, "no shape");
    ok(rp_shape_sphere(zero, 1, &def.shape));
    def.density = -1, def.kind = RP_BODY_FREE;
    refused(rp_sim_add_body(sim, &def, NULL), RP_BAD_ARGUMENT, "mass");
    def.kind = (rp_body_kind)9;
    refused(rp_sim_add_body(sim, &def, NULL), RP_BAD_ARGUMENT, "kind");
    rp_shape_release(def.shape);
    def = rp_default_body_def();
    const double heights[4] = { 0, 0, 0, 0 }, low[2] = { 0, 0 }, high[2] = { 1, 1 };
    ok(rp_shape_heightfield(heights, 2, 2, low, high, &def.shape));
    refused(rp_sim_add_body(sim, &def, NULL), RP_UNSUPPORTED, "written down");
    rp_shape_release(def.shape);
    assert_int_equal(rp_sim_body_count(sim), 4);
    rp_sim_destroy(sim);
}

static void nonsmooth_refuses_too_many_bodies(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: nonsmooth\n" ROOM);
    rp_body_def def = rp_default_body_def();
    ok(rp_shape_sphere(zero, 0.01, &def.shape));
    rp_result result = RP_OK;
    while (result == RP_OK && rp_sim_body_count(sim) < 100)
        result = rp_sim_add_body(sim, &def, NULL);
    refused(result, RP_UNSUPPORTED, "at most 64");
    rp_shape_release(def.shape);
    rp_sim_destroy(sim);
}

/* ---- grains ---- */

static void grains_come_and_go(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    int64_t count = rp_sim_particle_count(sim), added = 0, removed = 0;
    rp_grains_def def = rp_default_grains_def();
    def.shape = box(0.1, 0.1, 0.2, 0.2, 0.2, 0.3);
    def.per_cell = 8;
    def.velocity[0] = 0.25;
    ok(rp_sim_add_grains(sim, &def, &added));
    assert_true(added == 64 && rp_sim_particle_count(sim) == count + 64);
    const double *v = plane(sim, "velocity", 0), *volume = plane(sim, "volume", 0);
    assert_true(v[count] == 0.25);
    assert_float_equal(64 * volume[count], 1e-3 * rp_sim_definition(sim)->materials[0].volume_fraction, 1e-12);
    ok(rp_sim_add_grains(sim, &def, &added)); /* there are some already: only gaps between them take one */
    assert_true(added < 20);
    count += added;
    ok(rp_sim_step(sim, NULL));
    ok(rp_sim_remove_grains(sim, def.shape, &removed));
    assert_true(removed > 0 && rp_sim_particle_count(sim) == count + 64 - removed);
    rp_field_view ids;
    ok(rp_sim_field_named(sim, "id", &ids));
    const int64_t these[3] = { ((const int64_t *)ids.data)[5], ((const int64_t *)ids.data)[0], 1 << 20 };
    ok(rp_sim_remove_grains_by_id(sim, these, 3, &removed));
    assert_int_equal(removed, 2);
    def.material = 7;
    refused(rp_sim_add_grains(sim, &def, NULL), RP_BAD_ARGUMENT, "no material 7");
    def.material = 0, def.fill = 2;
    refused(rp_sim_add_grains(sim, &def, NULL), RP_BAD_ARGUMENT, "fill");
    def.fill = 1, def.velocity[1] = NAN;
    refused(rp_sim_add_grains(sim, &def, NULL), RP_BAD_ARGUMENT, "finite");
    refused(rp_sim_add_grains(sim, NULL, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_remove_grains(sim, NULL, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_remove_grains_by_id(sim, these, -1, NULL), RP_BAD_ARGUMENT, "-1 ids");
    refused(rp_sim_act(sim, "{\"kind\":\"grains_remove\"}"), RP_BAD_ARGUMENT, "by one of them");
    rp_shape_release(def.shape);
    rp_sim_destroy(sim);
}

/* ---- forces ---- */

#define CLOUD                                                                                                                    \
    "domain: [1, 1, 1]\ncell_size: 10 cm\nduration: 1 s\nframe_rate: 50\ngravity: [0, 0, 0]\nwalls: {all: slip}\nmaterial: dry-sand\n" \
    "grains: [{shape: {box: {lower: [0.3, 0.3, 0.3], upper: [0.7, 0.7, 0.7]}}, per_cell: 1, sampling: regular}]\n"

static void swirl(void *context, double time, const double x[3], const double v[3], double a[3])
{
    (void)time;
    a[0] = *(const double *)context * x[1];
    a[1] = -v[1];
}

static void forces_do_what_they_say(void **unused)
{
    (void)unused;
    static double twice = 2;
    for (int kind = RP_FORCE_UNIFORM; kind <= RP_FORCE_CALLBACK; kind++) {
        rp_sim *sim = make("method: ballistic\n" CLOUD);
        rp_force_def def = rp_default_force_def();
        def.name = "it", def.kind = (rp_force_kind)kind;
        def.vector[0] = 0.3, def.vector[2] = kind == RP_FORCE_VORTEX ? 0 : 0.1;
        def.vector[0] = kind == RP_FORCE_VORTEX ? 0 : 0.3;
        def.vector[1] = kind == RP_FORCE_VORTEX ? 2 : 0; /* any length of the axis */
        def.point[0] = def.point[1] = def.point[2] = 0.45;
        def.strength = 0.2, def.core = 0.05;
        def.callback = "swirl";
        ok(rp_sim_set_callback(sim, "swirl", swirl, &twice));
        int64_t n = rp_sim_particle_count(sim);
        double x[3], a[3];
        int64_t i = n / 3;
        for (int c = 0; c < 3; c++)
            x[c] = plane(sim, "position", c)[i];
        double r[3] = { x[0] - 0.45, x[1] - 0.45, x[2] - 0.45 }, rr = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + 0.0025;
        double ring = r[0] * r[0] + r[2] * r[2] + 0.0025;
        rp_step_stats stats;
        ok(rp_sim_add_force(sim, &def));
        ok(rp_sim_step(sim, &stats));
        double drag = (1 - exp(-0.2 * stats.dt)) / stats.dt;
        switch (kind) {
        case RP_FORCE_UNIFORM: a[0] = 0.3, a[1] = 0, a[2] = 0.1; break;
        case RP_FORCE_DRAG: a[0] = 0.3 * drag, a[1] = 0, a[2] = 0.1 * drag; break;
        case RP_FORCE_VORTEX: a[0] = 0.2 * r[2] / ring, a[1] = 0, a[2] = -0.2 * r[0] / ring; break; /* y × r */
        case RP_FORCE_ATTRACTOR: a[0] = -0.2 * r[0] / pow(rr, 1.5), a[1] = -0.2 * r[1] / pow(rr, 1.5), a[2] = -0.2 * r[2] / pow(rr, 1.5); break;
        default: a[0] = 2 * x[1], a[1] = 0, a[2] = 0; break;
        }
        for (int c = 0; c < 3; c++)
            assert_float_equal(plane(sim, "velocity", c)[i], stats.dt * a[c], 1e-12);
        ok(rp_sim_remove_force(sim, "it"));
        double before = plane(sim, "velocity", 0)[i];
        ok(rp_sim_step(sim, NULL));
        assert_true(plane(sim, "velocity", 0)[i] == before);
        rp_sim_destroy(sim);
    }
}

static void kicks_act_once_and_where_they_are(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" CLOUD);
    rp_force_def def = rp_default_force_def();
    def.shape = box(0, 0, 0, 0.5, 1, 1);
    def.vector[2] = 2;
    ok(rp_sim_kick(sim, &def, 0.5));
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        assert_true(plane(sim, "velocity", 2)[i] == (plane(sim, "position", 0)[i] <= 0.5 ? 1 : 0));
    ok(rp_sim_step(sim, NULL));
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        assert_true(plane(sim, "velocity", 2)[i] == (plane(sim, "position", 0)[i] <= 0.5 ? 1 : 0));
    rp_shape_release(def.shape);
    rp_sim_destroy(sim);
}

static void bad_forces_are_refused(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" CLOUD);
    rp_force_def def = rp_default_force_def();
    refused(rp_sim_add_force(sim, &def), RP_BAD_ARGUMENT, "name");
    refused(rp_sim_add_force(sim, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_add_force(NULL, &def), RP_BAD_ARGUMENT, "no simulation");
    def.name = "x", def.kind = RP_FORCE_VORTEX, def.core = 1;
    refused(rp_sim_add_force(sim, &def), RP_BAD_ARGUMENT, "axis");
    def.kind = RP_FORCE_ATTRACTOR, def.core = 0;
    refused(rp_sim_add_force(sim, &def), RP_BAD_ARGUMENT, "core");
    def.kind = RP_FORCE_DRAG, def.strength = -1;
    refused(rp_sim_add_force(sim, &def), RP_BAD_ARGUMENT, "rate");
    def.kind = RP_FORCE_UNIFORM, def.vector[1] = INFINITY;
    refused(rp_sim_kick(sim, &def, 1), RP_BAD_ARGUMENT, "finite");
    def.vector[1] = 0;
    refused(rp_sim_kick(sim, &def, NAN), RP_BAD_ARGUMENT, "kick");
    refused(rp_sim_remove_force(sim, "x"), RP_NOT_FOUND, "no force 'x'");
    def.kind = RP_FORCE_CALLBACK, def.callback = "swirl";
    refused(rp_sim_add_force(sim, &def), RP_NOT_FOUND, "swirl");
    double one = 1;
    ok(rp_sim_set_callback(sim, "swirl", swirl, &one));
    ok(rp_sim_add_force(sim, &def));
    refused(rp_sim_set_callback(sim, "swirl", NULL, NULL), RP_BAD_ARGUMENT, "is used");
    refused(rp_sim_set_callback(sim, "", swirl, NULL), RP_BAD_ARGUMENT, "name");
    /* neither its journal nor its state can be used without the function */
    rp_sim *other = make("method: ballistic\n" CLOUD);
    refused(rp_sim_replay(other, rp_sim_journal(sim)), RP_NOT_FOUND, "swirl");
    rp_state state;
    ok(rp_sim_save(sim, &state));
    refused(rp_sim_restore(other, &state), RP_NOT_FOUND, "swirl");
    ok(rp_sim_set_callback(other, "swirl", swirl, &one));
    ok(rp_sim_restore(other, &state));
    rp_state_free(&state);
    ok(rp_sim_step(sim, NULL));
    ok(rp_sim_step(other, NULL));
    assert_true(hash_state(sim) == hash_state(other));
    rp_sim_destroy(sim);
    rp_sim_destroy(other);
}

/* ---- edits ---- */

static void edits_open_and_close(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" CLOUD);
    void *data = NULL;
    int64_t stride = 0, changed = 0;
    refused(rp_sim_edit_open(sim, "nosuch", &data, &stride), RP_NOT_FOUND, "nosuch");
    refused(rp_sim_edit_open(sim, "id", &data, &stride), RP_UNSUPPORTED, "id");
    refused(rp_sim_edit_open(NULL, "velocity", &data, &stride), RP_BAD_ARGUMENT, "no simulation");
    refused(rp_sim_edit_close(sim, NULL), RP_BAD_ARGUMENT, "no edit is open");
    ok(rp_sim_edit_open(sim, "velocity", &data, &stride));
    ((double *)data)[2 * stride + 3] = 1.0 / 3;
    refused(rp_sim_step(sim, NULL), RP_BAD_ARGUMENT, "edit is open");
    refused(rp_sim_set_gravity(sim, zero), RP_BAD_ARGUMENT, "edit is open");
    rp_state state;
    refused(rp_sim_save(sim, &state), RP_BAD_ARGUMENT, "edit is open");
    ok(rp_sim_edit_close(sim, &changed));
    assert_true(changed == 1 && plane(sim, "velocity", 2)[3] == 1.0 / 3);

    uint64_t before = hash_state(sim);
    ok(rp_sim_edit_open(sim, "position", &data, &stride));
    ((double *)data)[5] = 1.5;
    refused(rp_sim_edit_close(sim, NULL), RP_BAD_ARGUMENT, "outside the domain");
    ok(rp_sim_edit_open(sim, "mass", &data, &stride));
    ((double *)data)[5] = 0;
    refused(rp_sim_edit_close(sim, NULL), RP_BAD_ARGUMENT, "above 0");
    ok(rp_sim_edit_open(sim, "material", &data, &stride));
    ((int32_t *)data)[5] = 1;
    refused(rp_sim_edit_close(sim, NULL), RP_BAD_ARGUMENT, "material");
    ok(rp_sim_edit_open(sim, "velocity", &data, &stride));
    ((double *)data)[5] = NAN;
    refused(rp_sim_edit_close(sim, NULL), RP_BAD_ARGUMENT, "finite");
    ok(rp_sim_edit_open(sim, "velocity", &data, &stride));
    ((double *)data)[5] = 3;
    rp_sim_edit_cancel(sim);
    ok(rp_sim_edit_open(sim, "velocity", &data, &stride));
    ok(rp_sim_edit_close(sim, &changed));
    assert_int_equal(changed, 0);
    assert_true(hash_state(sim) == before);
    refused(rp_sim_act(sim, "{\"kind\":\"edit\",\"field\":\"mass\",\"ids\":[99999],\"values\":[1]}"), RP_NOT_FOUND, "99999");
    refused(rp_sim_act(sim, "{\"kind\":\"edit\",\"field\":\"mass\",\"ids\":[1],\"values\":[1,2]}"), RP_BAD_ARGUMENT, "2 values");
    rp_sim_destroy(sim);
}

/* ---- replay ---- */

static void act_in_step(rp_sim *sim, int step)
{
    rp_force_def force = rp_default_force_def();
    rp_grains_def grains = rp_default_grains_def();
    void *data = NULL;
    int64_t stride;
    force.name = "wind", force.vector[0] = 1.0 / 3, force.vector[1] = 0.1;
    switch (step) {
    case 0: add_ball(sim, "guest", 0.2, 0.25); break;
    case 1: ok(rp_sim_add_force(sim, &force)); break;
    case 2:
        grains.shape = box(0.1, 0.1, 0.25, 0.25, 0.3, 0.35);
        grains.per_cell = 2, grains.velocity[2] = -0.7, grains.seed = UINT64_MAX - 3;
        ok(rp_sim_add_grains(sim, &grains, NULL));
        rp_shape_release(grains.shape);
        break;
    case 3:
        force.kind = RP_FORCE_ATTRACTOR, force.strength = 0.01, force.core = 0.1, force.point[2] = 0.3;
        ok(rp_sim_kick(sim, &force, 0.3));
        break;
    case 4:
        grains.shape = box(0, 0, 0, 0.12, 0.4, 0.05);
        ok(rp_sim_remove_grains(sim, grains.shape, NULL));
        rp_shape_release(grains.shape);
        break;
    case 5:
        ok(rp_sim_edit_open(sim, "position", &data, &stride));
        ((double *)data)[2 * stride + 7] += 0.21;
        ((double *)data)[2] += 1e-3;
        ok(rp_sim_edit_close(sim, NULL));
        ok(rp_sim_push_body(sim, 3, still + 0, zero));
        break;
    case 6: ok(rp_sim_remove_force(sim, "wind")); break;
    case 7: ok(rp_sim_remove_body(sim, 3)); break;
    default: break;
    }
}

static void replays_to_the_byte(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: ballistic\n" ROOM, "method: nonsmooth\n" ROOM, "method: elastoplastic\n" ROOM, "method: pbd\n" ROOM,
                                           "method: nonsmooth\nnonsmooth: {stress: node}\n" ROOM };
    for (int m = 0; m < 5; m++) {
        rp_sim *sim = make(methods[m]), *again = make(methods[m]), *third = make(methods[m]);
        rp_state states[10];
        uint64_t hash[10];
        for (int i = 0; i < 10; i++) {
            act_in_step(sim, i);
            ok(rp_sim_save(sim, &states[i])); /* after the action, before the step */
            ok(rp_sim_step(sim, NULL));
            hash[i] = hash_state(sim);
        }
        ok(rp_sim_replay(again, rp_sim_journal(sim)));
        while (rp_sim_steps(again) < rp_sim_steps(sim))
            ok(rp_sim_step(again, NULL));
        assert_string_equal(rp_sim_journal(again), rp_sim_journal(sim));
        assert_true(hash_state(again) == hash_state(sim));
        /* from any state on, in any order, in a simulation that has seen others */
        static const int order[] = { 8, 2, 0, 5, 3, 7, 1, 6, 4, 9 };
        for (int k = 0; k < 10; k++) {
            ok(rp_sim_restore(third, &states[order[k]]));
            ok(rp_sim_step(third, NULL));
            assert_true(hash_state(third) == hash[order[k]]);
        }
        for (int i = 0; i < 10; i++)
            rp_state_free(&states[i]);
        rp_sim_destroy(sim);
        rp_sim_destroy(again);
        rp_sim_destroy(third);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_and_go),
        cmocka_unit_test(nonsmooth_refuses_too_many_bodies),
        cmocka_unit_test(grains_come_and_go),
        cmocka_unit_test(forces_do_what_they_say),
        cmocka_unit_test(kicks_act_once_and_where_they_are),
        cmocka_unit_test(bad_forces_are_refused),
        cmocka_unit_test(edits_open_and_close),
        cmocka_unit_test(replays_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
