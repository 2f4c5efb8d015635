/* A method from outside: through the public headers alone, run by a scene that names it. */
#include "sim_tests.h"

#include <math.h>
#include <string.h>

typedef struct params {
    double drag;
    int64_t label;
} params;

static const rp_param table[] = {
    { "drag", RP_REAL, offsetof(params, drag), 0.5, 0, 10, "1/s", "rate at which grains slow down", NULL },
    { "label", RP_INT, offsetof(params, label), 3, 0, 100, "", "given to each grain", NULL },
    { 0 },
};
static const rp_field_info fields[] = { { "age", RP_F64, 1, "s", 1 }, { "label", RP_I32, 1, "", 1 }, { 0 } };

typedef struct state {
    int64_t steps;
} state;

static int created, destroyed;

static rp_result create(rp_world *world, int first_field, void **out)
{
    static state only;
    assert_non_null(rp_world_definition(world));
    assert_true(first_field == 6);
    only.steps = 0;
    created++;
    *out = &only;
    return RP_OK;
}

static void destroy(void *self)
{
    (void)self;
    destroyed++;
}

static rp_result born(void *self, rp_world *world, int64_t first, int64_t count, double spacing)
{
    const params *p = rp_world_params(world);
    int32_t *label = rp_world_plane(world, "label", 0);
    (void)self;
    assert_true(spacing > 0);
    for (int64_t i = first; i < first + count; i++)
        label[i] = (int32_t)p->label;
    return RP_OK;
}

typedef struct work {
    rp_world *world;
    double dt;
    double *x[3], *v[3], *age, *mass;
} work;

static void move(void *context, int64_t begin, int64_t end, double *sums)
{
    work *w = context;
    const rp_sim_def *def = rp_world_definition(w->world);
    double keep = exp(-((const params *)rp_world_params(w->world))->drag * w->dt);
    for (int64_t i = begin; i < end; i++) {
        double from[3], to[3], v[3];
        for (int a = 0; a < 3; a++) {
            v[a] = (w->v[a][i] + w->dt * def->gravity[a]) * keep;
            from[a] = w->x[a][i], to[a] = from[a] + w->dt * v[a];
        }
        double before = v[2];
        rp_world_body_guard(w->world, 0, from, to, v);
        sums[0] += w->mass[i] * (before - v[2]);
        for (int a = 0; a < 3; a++)
            w->x[a][i] = to[a], w->v[a][i] = v[a];
        w->age[i] += w->dt;
    }
}

static rp_result step(void *self, rp_world *world, double dt, rp_step_stats *stats)
{
    work w = { .world = world, .dt = dt, .age = rp_world_reals(world, "age", 0), .mass = rp_world_reals(world, "mass", 0) };
    for (int a = 0; a < 3; a++)
        w.x[a] = rp_world_reals(world, "position", a), w.v[a] = rp_world_reals(world, "velocity", a);
    double sum[1];
    rp_world_sum(world, rp_world_count(world), 100, 1, move, &w, sum);
    const double at[3] = { 0, 0, 0 }, impulse[3] = { 0, 0, sum[0] };
    if (rp_world_body_count(world) > 0)
        rp_world_push_body(world, 0, at, impulse, dt);
    assert_null(rp_world_reals(world, "label", 0)); /* not of that type */
    assert_null(rp_world_plane(world, "nosuch", 0));
    ((state *)self)->steps++;
    stats->iterations = 7;
    return RP_OK;
}

static rp_result save(const void *self, const rp_world *world, rp_state *out)
{
    (void)world;
    return rp_state_add(out, "drift/steps", RP_I64, 1, &((const state *)self)->steps);
}

static rp_result restore(void *self, rp_world *world, const rp_state *in)
{
    const rp_blob *blob = rp_state_find(in, "drift/steps");
    (void)world;
    ((state *)self)->steps = *(const int64_t *)blob->data;
    return RP_OK;
}

static rp_method drift;

static const char scene_text[] = "method: drift\ndrift: {drag: 2, label: 42}\ndomain: [1, 1, 1]\ncell_size: 10 cm\nduration: 1 s\nframe_rate: 20\n"
                                 "material: dry-sand\ngrains: [{shape: {sphere: {centre: [0.5, 0.5, 0.7], radius: 20 cm}}, per_cell: 4}]\n"
                                 "bodies: [{name: plate, shape: {box: {lower: [0, 0, 0.3], upper: [1, 1, 0.35]}}}]\n";

static rp_sim *make(const char *text)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    if (rp_scene_parse(text, "test", NULL, NULL, &scene) != RP_OK || rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    rp_scene_destroy(scene);
    return sim;
}

static void scenes_run_it_by_name(void **unused)
{
    (void)unused;
    rp_sim *sim = make(scene_text);
    rp_step_stats stats;
    double t = 0, v = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        v = (v - 9.81 * stats.dt) * exp(-2 * stats.dt);
        t += stats.dt;
    }
    assert_int_equal(stats.iterations, 7);
    assert_float_equal(plane(sim, "velocity", 2)[0], v, 1e-12);
    assert_float_equal(plane(sim, "age", 0)[0], t, 1e-12);
    rp_field_view label;
    assert_int_equal(rp_sim_field_named(sim, "label", &label), RP_OK);
    assert_int_equal(((const int32_t *)label.data)[0], 42);
    double weight = 0;
    for (int i = 0; i < 17; i++) {
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        rp_body_state plate;
        assert_int_equal(rp_sim_body(sim, 0, &plate), RP_OK);
        weight = plate.force[2];
    }
    assert_true(weight < 0); /* the grains lie on the plate and press on it */
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        assert_true(plane(sim, "position", 2)[i] > 0.34);
    rp_sim_destroy(sim);
    assert_true(created == destroyed);
}

static void restarts_to_the_byte_on_any_threads(void **unused)
{
    (void)unused;
    uint64_t expected = 0;
    for (int threads = 1; threads <= 2; threads++) {
        rp_sim *sim = make(scene_text);
        rp_sim_set_threads(sim, threads);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
        rp_state saved;
        assert_int_equal(rp_sim_save(sim, &saved), RP_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
        uint64_t first = hash_state(sim);
        assert_int_equal(rp_sim_restore(sim, &saved), RP_OK);
        rp_state_free(&saved);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
        assert_true(hash_state(sim) == first);
        expected = threads == 1 ? first : expected;
        assert_true(first == expected);
        rp_sim_destroy(sim);
    }
}

static void refused(const rp_method *method, const char *word)
{
    assert_int_equal(rp_method_register(method), RP_BAD_ARGUMENT);
    if (!strstr(rp_last_error(), word))
        fail_msg("'%s' does not say '%s'", rp_last_error(), word);
}

static void refuses_what_cannot_run(void **unused)
{
    (void)unused;
    rp_method bad = drift;
    refused(NULL, "NULL");
    refused(&drift, "already");
    bad.info.name = "ballistic";
    refused(&bad, "already");
    bad.info.name = "";
    refused(&bad, "name");
    bad = drift, bad.info.name = "other", bad.step = NULL;
    refused(&bad, "step");
    bad = drift, bad.info.name = "other", bad.cookie = 0;
    refused(&bad, "rp_default_method");
    bad = drift, bad.info.name = "other", bad.params_size = 4;
    refused(&bad, "params_size");
    bad = drift, bad.info.name = "other", bad.dims = 0;
    refused(&bad, "2D");
    rp_scene *scene = NULL;
    assert_int_not_equal(rp_scene_parse("method: drift\ndrift: {drag: 20}\ndomain: [1, 1, 1]\ncell_size: 10 cm\nduration: 1 s\nmaterial: dry-sand\n",
                                        "test", NULL, NULL, &scene), RP_OK);
    assert_non_null(strstr(rp_last_error(), "drag"));
}

int main(void)
{
    drift = rp_default_method();
    drift.info.name = "drift";
    drift.info.summary = "grains fall through the air and lie on a plate";
    drift.info.params = table;
    drift.info.fields = fields;
    drift.params_size = sizeof(params);
    drift.create = create, drift.destroy = destroy, drift.born = born, drift.step = step, drift.save = save, drift.restore = restore;
    if (rp_method_register(&drift) != RP_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_run_it_by_name),
        cmocka_unit_test(restarts_to_the_byte_on_any_threads),
        cmocka_unit_test(refuses_what_cannot_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
