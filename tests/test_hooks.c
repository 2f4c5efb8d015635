/* Hooks around and inside steps, cancelling, user data, memory and messages of a simulation's own, several at once, definitions. */
#include "sim/action_tests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

typedef struct watcher {
    int before, after, ticks, stop_at;
    double last, longest; /* processor seconds of this thread */
    rp_result say;
} watcher;

static double work_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rp_result before(void *context, rp_sim *sim)
{
    watcher *w = context;
    w->before++;
    if (w->say != RP_OK)
        return w->say;
    if (w->before == 3)
        ok(rp_sim_set_gravity(sim, zero));
    return RP_OK;
}

static rp_result after(void *context, rp_sim *sim, const rp_step_stats *stats)
{
    watcher *w = context;
    w->after++;
    assert_true(stats->step == rp_sim_steps(sim));
    return RP_OK;
}

static bool progress(void *context, const rp_progress *p)
{
    watcher *w = context;
    double now = work_seconds();
    w->longest = w->ticks ? fmax(w->longest, now - w->last) : w->longest;
    w->last = now;
    w->ticks++;
    assert_true(p->step >= 1 && p->dt > 0 && p->seconds >= 0);
    return w->stop_at == 0 || w->ticks < w->stop_at;
}

static void hooks_surround_steps(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    watcher w = { .say = RP_OK };
    rp_hooks hooks = { .before = before, .after = after, .context = &w };
    ok(rp_sim_set_hooks(sim, &hooks));
    for (int i = 0; i < 4; i++)
        ok(rp_sim_step(sim, NULL));
    assert_true(w.before == 4 && w.after == 4);
    assert_non_null(strstr(rp_sim_journal(sim), "gravity")); /* what the hook did is written down */
    w.say = RP_CANCELLED;
    assert_int_equal(rp_sim_step(sim, NULL), RP_CANCELLED);
    assert_true(rp_sim_steps(sim) == 4 && w.after == 4);
    ok(rp_sim_set_hooks(sim, NULL));
    ok(rp_sim_step(sim, NULL));
    assert_true(w.before == 5);
    refused(rp_sim_set_hooks(NULL, &hooks), RP_BAD_ARGUMENT, "no simulation");
    rp_sim_destroy(sim);
}

/* A tall heap whose first steps take long. */
#define LONG                                                                                                        \
    "method: nonsmooth\nnonsmooth: {tolerance: 1e-12, max_iterations: 3000}\ndomain: [1, 1]\ncell_size: 2 cm\nduration: 1 s\nframe_rate: 10\n" \
    "walls: {all: slip, bottom: stick}\nmaterial: dry-sand\ngrains: [{shape: {box: {lower: [0, 0], upper: [0.5, 0.8]}}, per_cell: 4}]\n"

static void a_step_tells_of_itself_and_can_be_given_up(void **unused)
{
    (void)unused;
    rp_sim *sim = make(LONG);
    watcher w = { .stop_at = 3 };
    rp_hooks hooks = { .progress = progress, .context = &w };
    ok(rp_sim_set_hooks(sim, &hooks));
    rp_result result = RP_OK;
    for (int i = 0; i < 200 && result == RP_OK; i++)
        result = rp_sim_step(sim, NULL);
    assert_int_equal(result, RP_CANCELLED);
    assert_true(w.ticks >= 3 && w.ticks < 200);
    if (getenv("RP_SHOW"))
        print_message("longest work between two calls: %.1f ms\n", 1e3 * w.longest);
    /* it is where it was, and goes on as if nothing had been */
    int64_t steps = rp_sim_steps(sim);
    rp_state state;
    ok(rp_sim_save(sim, &state));
    rp_sim *other = make(LONG);
    ok(rp_sim_restore(other, &state));
    rp_state_free(&state);
    ok(rp_sim_set_hooks(sim, NULL));
    ok(rp_sim_step(sim, NULL));
    ok(rp_sim_step(other, NULL));
    assert_true(rp_sim_steps(sim) == steps + 1 && hash_state(sim) == hash_state(other));
    rp_sim_destroy(sim);
    rp_sim_destroy(other);
}

static void user_data_is_kept(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" ROOM);
    int mine, its;
    rp_sim_set_user_data(sim, &mine);
    ok(rp_sim_set_body_user_data(sim, BALL, &its));
    ok(rp_sim_step(sim, NULL));
    assert_true(rp_sim_user_data(sim) == &mine && rp_sim_body_user_data(sim, BALL) == &its);
    assert_null(rp_sim_body_user_data(sim, PADDLE));
    assert_null(rp_sim_body_user_data(sim, 99));
    assert_null(rp_sim_user_data(NULL));
    refused(rp_sim_set_body_user_data(sim, -1, &its), RP_BAD_ARGUMENT, "body -1");
    rp_sim_destroy(sim);
}

/* ---- memory and messages ---- */

typedef struct pool {
    atomic_llong blocks, bytes;
    int told;
} pool;

static void *take(void *context, size_t alignment, size_t size)
{
    pool *p = context;
    atomic_fetch_add(&p->blocks, 1);
    atomic_fetch_add(&p->bytes, (long long)size);
    return aligned_alloc(alignment, size);
}

static void give(void *context, void *pointer, size_t size)
{
    pool *p = context;
    atomic_fetch_sub(&p->blocks, 1);
    atomic_fetch_sub(&p->bytes, (long long)size);
    free(pointer);
}

static void hear(void *context, rp_log_level level, const char *message)
{
    assert_true(level == RP_LOG_WARNING && strstr(message, "inside"));
    ((pool *)context)->told++;
}

static void hear_nothing(void *context, rp_log_level level, const char *message)
{
    (void)context;
    (void)level;
    fail_msg("the library was told: %s", message);
}

static void a_simulation_has_its_own_memory_and_messages(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: nonsmooth\n" ROOM, "method: elastoplastic\n" ROOM };
    for (int m = 0; m < 2; m++) {
        rp_scene *scene = NULL;
        rp_sim *sim = NULL;
        pool own = { 0 };
        rp_allocator allocator = { take, give, &own };
        ok(rp_scene_parse(methods[m], "test", NULL, NULL, &scene));
        rp_sim_def def = *rp_scene_sim_def(scene);
        rp_body_def bodies[3];
        memcpy(bodies, def.bodies, sizeof bodies);
        bodies[1].position[0] = 0.4, bodies[1].position[1] = 0.2, bodies[1].position[2] = 0.1; /* the ball in the paddle: told */
        def.bodies = bodies;
        def.allocator = &allocator;
        def.log = hear, def.log_context = &own;
        def.threads = 2;
        rp_set_log(hear_nothing, NULL, RP_LOG_WARNING);
        size_t outside = rp_memory_in_use();
        ok(rp_sim_create(&def, &sim));
        long long begun = atomic_load(&own.bytes);
        assert_true(own.told > 0 && begun > 0);
        assert_true(rp_memory_in_use() - outside <= (size_t)begun); /* all of it went there */
        for (int i = 0; i < 3; i++) {
            ok(rp_sim_push_body(sim, BALL, zero, zero));
            ok(rp_sim_step(sim, NULL));
        }
        rp_set_log(NULL, NULL, RP_LOG_INFO);
        rp_sim_destroy(sim);
        assert_true(atomic_load(&own.blocks) == 0 && atomic_load(&own.bytes) == 0);
        assert_true(rp_memory_in_use() == outside);
        allocator.release = NULL;
        refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "allocator");
        rp_scene_destroy(scene);
    }
}

/* ---- several at once ---- */

typedef struct runner {
    const char *scene;
    uint64_t hash;
} runner;

static void *run(void *context)
{
    runner *r = context;
    rp_sim *sim = make(r->scene);
    const double push[3] = { 1, 0, 0.3 };
    for (int i = 0; i < 6; i++) {
        ok(rp_sim_push_body(sim, BALL, push, zero));
        ok(rp_sim_step(sim, NULL));
    }
    r->hash = hash_state(sim);
    rp_sim_destroy(sim);
    return NULL;
}

static void several_simulations_run_at_once(void **unused)
{
    (void)unused;
    static const char *const scenes[] = { "method: nonsmooth\n" ROOM, "method: elastoplastic\n" ROOM, "method: ballistic\n" ROOM,
                                          "method: pbd\n" ROOM,       "method: contact\n" ROOM,
                                          "method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\n" ROOM };
    enum { SCENES = sizeof scenes / sizeof *scenes };
    runner alone[SCENES], together[2 * SCENES];
    pthread_t threads[2 * SCENES];
    for (int k = 0; k < SCENES; k++) {
        alone[k] = (runner){ scenes[k], 0 };
        run(&alone[k]);
    }
    for (int k = 0; k < 2 * SCENES; k++) {
        together[k] = (runner){ scenes[k % SCENES], 0 };
        assert_int_equal(pthread_create(&threads[k], NULL, run, &together[k]), 0);
    }
    for (int k = 0; k < 2 * SCENES; k++) {
        pthread_join(threads[k], NULL);
        assert_true(together[k].hash == alone[k % SCENES].hash);
    }
}

/* ---- definitions ---- */

static void definitions_need_their_defaults(void **unused)
{
    (void)unused;
    rp_sim_def def = rp_default_sim_def(), none;
    rp_material_def material = rp_default_material_def();
    rp_sim *sim = NULL;
    memset(&none, 0, sizeof none);
    refused(rp_sim_create(&none, &sim), RP_BAD_ARGUMENT, "rp_default_sim_def");
    refused(rp_sim_create(NULL, &sim), RP_BAD_ARGUMENT, "definition");
    def.materials = &material, def.material_count = 1;
    material.cookie = 0;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_material_def");
    material = rp_default_material_def();
    rp_grains_def grains = { .cookie = 1 };
    def.grains = &grains, def.grains_count = 1;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_grains_def");
    def.grains_count = 0;
    rp_body_def bad = { .cookie = 1 };
    def.bodies = &bad, def.body_count = 1;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_body_def");
    def.body_count = 0;
    rp_emitter_def emitter = { .cookie = 1 };
    def.emitters = &emitter, def.emitter_count = 1;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_emitter_def");
    def.emitter_count = 0;
    rp_sink_def sink = { .cookie = 1 };
    def.sinks = &sink, def.sink_count = 1;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_sink_def");
    def.sink_count = 0;
    rp_fluid_def fluid = { .density = 1000, .viscosity = 1e-3 };
    def.fluid = &fluid;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_fluid_def");
    def.fluid = NULL;
    rp_fibres_def fibres = { .name = "rope" };
    def.method = "contact", def.fibres = &fibres, def.fibres_count = 1;
    refused(rp_sim_create(&def, &sim), RP_BAD_ARGUMENT, "rp_default_fibres_def");
    def.fibres_count = 0;
    def.method = "ballistic";
    ok(rp_sim_create(&def, &sim));
    rp_force_def force = { .vector = { 1, 0, 0 } };
    refused(rp_sim_add_force(sim, &force), RP_BAD_ARGUMENT, "rp_default_force_def");
    refused(rp_sim_add_body(sim, &bad, NULL), RP_BAD_ARGUMENT, "rp_default_body_def");
    refused(rp_sim_add_grains(sim, &grains, NULL), RP_BAD_ARGUMENT, "rp_default_grains_def");
    refused(rp_sim_step(NULL, NULL), RP_BAD_ARGUMENT, "no simulation");
    refused(rp_sim_save(NULL, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_restore(sim, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_body(NULL, 0, NULL), RP_BAD_ARGUMENT, "NULL");
    rp_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_surround_steps),
        cmocka_unit_test(a_step_tells_of_itself_and_can_be_given_up),
        cmocka_unit_test(user_data_is_kept),
        cmocka_unit_test(a_simulation_has_its_own_memory_and_messages),
        cmocka_unit_test(several_simulations_run_at_once),
        cmocka_unit_test(definitions_need_their_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
