/* The ballistic method, and through it the whole of sim: parabola, impacts, budgets, schedules, restart, refusals. */
#include "base/memory.h"
#include "sim_tests.h"

#include <math.h>
#include <string.h>

typedef struct fixture {
    rp_sim_def def;
    rp_material_def material;
    rp_grains_def grains;
    rp_shape *ball, *obstacle;
    rp_params *params;
} fixture;

static void build(fixture *f, const char *restitution)
{
    memset(f, 0, sizeof *f);
    f->def = rp_default_sim_def();
    f->material = rp_default_material_def();
    f->grains = rp_default_grains_def();
    double centre[3] = { 0.5, 0.5, 0.7 };
    assert_int_equal(rp_shape_sphere(centre, 0.2, &f->ball), RP_OK);
    f->grains.shape = f->ball;
    f->def.method = "ballistic";
    assert_int_equal(rp_params_create("ballistic", &f->params), RP_OK);
    assert_int_equal(rp_params_set(f->params, "restitution", restitution), RP_OK);
    f->def.method_params = rp_params_data(f->params);
    f->def.materials = &f->material;
    f->def.material_count = 1;
    f->def.grains = &f->grains;
    f->def.grains_count = 1;
    f->def.duration = 1;
}

static void release(fixture *f)
{
    rp_shape_release(f->ball);
    rp_shape_release(f->obstacle);
    rp_params_destroy(f->params);
}

static rp_sim *make(const fixture *f)
{
    rp_sim *sim = NULL;
    rp_result result = rp_sim_create(&f->def, &sim);
    if (result != RP_OK)
        fail_msg("%s", rp_last_error());
    return sim;
}

/* x = x0 + v t + g t²/2 to rounding while nothing is met. */
static void flies_on_a_parabola(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    f.grains.velocity[0] = 0.3;
    f.grains.velocity[2] = 1;
    rp_sim *sim = make(&f);
    int64_t n = rp_sim_particle_count(sim);
    assert_true(n > 1000);
    double before[2][8];
    for (int i = 0; i < 8; i++)
        before[0][i] = plane(sim, "position", 0)[i], before[1][i] = plane(sim, "position", 2)[i];
    while (rp_sim_time(sim) < 0.1)
        assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
    double t = rp_sim_time(sim);
    for (int i = 0; i < 8; i++) {
        assert_true(fabs(plane(sim, "position", 0)[i] - (before[0][i] + 0.3 * t)) < 1e-13);
        assert_true(fabs(plane(sim, "position", 2)[i] - (before[1][i] + t - 0.5 * 9.81 * t * t)) < 1e-13);
    }
    rp_sim_destroy(sim);
    release(&f);
}

/* The mass of a ball of grains: density × volume fraction × 4/3 pi r³. */
static void fills_with_the_right_mass(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    f.def.cell_size = 0.025;
    rp_sim *sim = make(&f);
    double mass = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        mass += plane(sim, "mass", 0)[i];
    double exact = 2500 * 0.6 * 4.0 / 3 * 3.14159265358979 * 0.008;
    assert_true(fabs(mass / exact - 1) < 0.01);
    rp_sim_destroy(sim);
    release(&f);
}

/* Energy never rises in a closed box; with restitution 1 and slip walls it stays. */
static void budgets_energy(void **unused)
{
    (void)unused;
    for (int elastic = 0; elastic < 2; elastic++) {
        fixture f;
        build(&f, elastic ? "1" : "0.4");
        f.def.gravity[2] = elastic ? 0 : -9.81;
        f.grains.velocity[0] = 2;
        f.grains.velocity[1] = -1;
        rp_sim *sim = make(&f);
        rp_step_stats s;
        double first = 0, last = INFINITY;
        for (int k = 0; k < 100; k++) {
            assert_int_equal(rp_sim_step(sim, &s), RP_OK);
            double energy = s.kinetic_energy + s.potential_energy;
            if (k == 0)
                first = energy;
            assert_true(energy <= last * (1 + 1e-12));
            last = energy;
        }
        if (elastic)
            assert_true(fabs(last / first - 1) < 1e-10);
        else
            assert_true(last < 0.9 * first);
        rp_sim_destroy(sim);
        release(&f);
    }
}

static void add_obstacle(fixture *f, rp_body_def *body, double thickness)
{
    *body = rp_default_body_def();
    double centre[3] = { 0, 0, 0 }, half[3] = { 0.4, 0.4, thickness };
    assert_int_equal(rp_shape_box(centre, half, 0, &f->obstacle), RP_OK);
    body->name = "plate";
    body->shape = f->obstacle;
    body->position[0] = body->position[1] = 0.5;
    body->position[2] = 0.3;
    f->def.bodies = body;
    f->def.body_count = 1;
}

/* A plate thinner than a hundredth of a cell stops grains that cross many cells a step. */
static void thin_plates_do_not_leak(void **unused)
{
    (void)unused;
    fixture f;
    rp_body_def body;
    build(&f, "0");
    add_obstacle(&f, &body, 2e-4);
    f.grains.velocity[2] = -60;
    f.def.substeps = 1;
    rp_sim *sim = make(&f);
    for (int k = 0; k < 3; k++)
        assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        assert_true(plane(sim, "position", 2)[i] > 0.3);
    rp_sim_destroy(sim);
    release(&f);
}

/* Falling grains and a free plate in empty space: momentum changes by gravity alone. */
static void exchanges_momentum_with_a_free_body(void **unused)
{
    (void)unused;
    fixture f;
    rp_body_def body;
    build(&f, "0.5");
    add_obstacle(&f, &body, 0.05);
    body.kind = RP_BODY_FREE;
    body.density = 500;
    f.def.gravity[2] = 0;
    f.grains.velocity[2] = -3;
    f.grains.velocity[0] = 0.5;
    rp_sim *sim = make(&f);
    double total = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        total += plane(sim, "mass", 0)[i] * plane(sim, "velocity", 2)[i];
    while (rp_sim_time(sim) < 0.1)
        assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
    rp_body_state state;
    assert_int_equal(rp_sim_body(sim, 0, &state), RP_OK);
    assert_true(state.velocity[2] < -0.05); /* it was hit */
    double after = state.mass * state.velocity[2];
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        after += plane(sim, "mass", 0)[i] * plane(sim, "velocity", 2)[i];
    assert_true(fabs(after / total - 1) < 1e-12);
    rp_sim_destroy(sim);
    release(&f);
}

/* An emitter of rate r makes r t of bulk volume; its grains leave through an open floor and are counted. */
static void emits_and_counts(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    rp_emitter_def emitter = rp_default_emitter_def();
    emitter.shape = f.ball;
    emitter.velocity[2] = -2;
    emitter.rate = 0.01;
    emitter.start = 0.1;
    emitter.stop = 0.6;
    f.def.grains_count = 0;
    f.def.emitters = &emitter;
    f.def.emitter_count = 1;
    f.def.wall[4].kind = RP_OPEN;
    rp_sim *sim = make(&f);
    int64_t emitted = 0, outside = 0;
    rp_step_stats s;
    while (!rp_sim_done(sim)) {
        assert_int_equal(rp_sim_step(sim, &s), RP_OK);
        emitted += s.emitted;
        outside += s.outside;
    }
    double share = pow(0.05, 3) / 8; /* bulk volume of a particle */
    assert_true(fabs((double)emitted * share - 0.005) < 0.0004);
    assert_true(outside > 0);
    assert_int_equal(emitted - outside, rp_sim_particle_count(sim));
    rp_sim_destroy(sim);
    release(&f);
}

static void sinks_take_grains(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    rp_sink_def sink = rp_default_sink_def();
    double point[3] = { 0, 0, 0.2 }, normal[3] = { 0, 0, 1 };
    assert_int_equal(rp_shape_plane(point, normal, &sink.shape), RP_OK);
    f.def.sinks = &sink;
    f.def.sink_count = 1;
    rp_sim *sim = make(&f);
    int64_t first = rp_sim_particle_count(sim), removed = 0;
    rp_step_stats s;
    while (!rp_sim_done(sim)) {
        assert_int_equal(rp_sim_step(sim, &s), RP_OK);
        removed += s.removed;
    }
    assert_int_equal(removed, first);
    assert_int_equal(rp_sim_particle_count(sim), 0);
    rp_sim_destroy(sim);
    rp_shape_release(sink.shape);
    release(&f);
}

/* The same bytes for any number of threads, and for a run that was saved and restored half-way. */
static void repeats_to_the_byte(void **unused)
{
    (void)unused;
    static const int threads[] = { 1, 2, 5, 16 };
    uint64_t expected = 0;
    for (int k = 0; k < 4; k++) {
        fixture f;
        rp_body_def body;
        build(&f, "0.5");
        add_obstacle(&f, &body, 0.05);
        body.kind = RP_BODY_FREE;
        f.def.threads = threads[k];
        rp_sim *sim = make(&f);
        for (int i = 0; i < 15; i++)
            assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
        rp_state state;
        assert_int_equal(rp_sim_save(sim, &state), RP_OK);
        rp_sim *other = make(&f);
        assert_int_equal(rp_sim_restore(other, &state), RP_OK);
        rp_state_free(&state);
        for (int i = 0; i < 15; i++) {
            assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
            assert_int_equal(rp_sim_step(other, NULL), RP_OK);
        }
        if (k == 0)
            expected = hash_state(sim);
        assert_true(hash_state(sim) == expected);
        assert_true(hash_state(other) == expected);
        rp_sim_destroy(sim);
        rp_sim_destroy(other);
        release(&f);
    }
}

static void refused(const rp_sim_def *def, rp_result expected, const char *word)
{
    rp_sim *sim = NULL;
    assert_int_equal(rp_sim_create(def, &sim), expected);
    assert_null(sim);
    if (!strstr(rp_last_error(), word))
        fail_msg("'%s' does not say '%s'", rp_last_error(), word);
}

static void refuses_nonsense(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    rp_sim_def d = f.def;
    d.cell_size = 0;
    refused(&d, RP_BAD_ARGUMENT, "cell_size");
    d = f.def, d.cell_size = NAN;
    refused(&d, RP_BAD_ARGUMENT, "cell_size");
    d = f.def, d.upper[1] = d.lower[1];
    refused(&d, RP_BAD_ARGUMENT, "no cell along y");
    d = f.def, d.upper[1] = 1.02;
    refused(&d, RP_BAD_ARGUMENT, "whole number of cells");
    d = f.def, d.cell_size = 1e-5;
    refused(&d, RP_TOO_LARGE, "particles");
    d = f.def, d.wall[0].kind = RP_PERIODIC;
    refused(&d, RP_BAD_ARGUMENT, "periodic");
    d = f.def, d.method = "magic";
    refused(&d, RP_NOT_FOUND, "magic");
    d = f.def, d.gravity[0] = INFINITY;
    refused(&d, RP_BAD_ARGUMENT, "gravity");
    d = f.def, d.material_count = 0;
    refused(&d, RP_BAD_ARGUMENT, "material");
    d = f.def, d.frame_rate = 0;
    refused(&d, RP_BAD_ARGUMENT, "frame_rate");
    release(&f);
}

static void runaway_is_told(void **unused)
{
    (void)unused;
    fixture f;
    build(&f, "0");
    f.def.speed_limit = 1;
    rp_sim *sim = make(&f);
    rp_result result = RP_OK;
    while (result == RP_OK && !rp_sim_done(sim))
        result = rp_sim_step(sim, NULL);
    assert_int_equal(result, RP_DIVERGED);
    assert_non_null(strstr(rp_last_error(), "run away"));
    rp_sim_destroy(sim);
    release(&f);
}

/* Whichever allocation fails, the simulation is refused and nothing leaks. */
static void survives_every_failed_allocation(void **unused)
{
    (void)unused;
    fixture f;
    rp_body_def body;
    build(&f, "0.5");
    add_obstacle(&f, &body, 0.05);
    body.kind = RP_BODY_FREE;
    f.def.threads = 1;
    size_t before = rp_memory_in_use();
    bool done = false;
    for (int64_t n = 1; !done && n < 2000; n++) {
        rp__base_fail_allocation(n);
        rp_sim *sim = NULL;
        rp_result result = rp_sim_create(&f.def, &sim);
        if (result == RP_OK)
            result = rp_sim_step(sim, NULL);
        done = rp__base_fail_allocation(0) < n;
        assert_true(done ? result == RP_OK : result == RP_OUT_OF_MEMORY);
        rp_sim_destroy(sim);
        assert_true(rp_memory_in_use() == before);
    }
    assert_true(done);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flies_on_a_parabola),
        cmocka_unit_test(fills_with_the_right_mass),
        cmocka_unit_test(budgets_energy),
        cmocka_unit_test(thin_plates_do_not_leak),
        cmocka_unit_test(exchanges_momentum_with_a_free_body),
        cmocka_unit_test(emits_and_counts),
        cmocka_unit_test(sinks_take_grains),
        cmocka_unit_test(repeats_to_the_byte),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(runaway_is_told),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
