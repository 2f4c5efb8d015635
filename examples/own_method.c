/* A method of the program's own, run by a scene that names it: grains as points on springs to where they began. */
#include "example.h"

#include <math.h>
#include <stddef.h>

typedef struct params {
    double stiffness;
} params;

static const rp_param table[] = {
    { "stiffness", RP_REAL, offsetof(params, stiffness), 40, 0, 1e6, "1/s2", "of the spring of a grain, a unit of its mass", NULL },
    { 0 },
};
static const rp_field_info fields[] = { { "home", RP_F64, 3, "m", 1 }, { 0 } }; /* sorted, written and restored with the particles */

static rp_result create(rp_world *world, int first_field, void **state)
{
    (void)world;
    (void)first_field;
    *state = NULL; /* nothing but its field */
    return RP_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static rp_result born(void *state, rp_world *world, int64_t first, int64_t count, double spacing)
{
    (void)state;
    (void)spacing;
    for (int a = 0; a < 3; a++)
        for (int64_t i = first; i < first + count; i++)
            rp_world_reals(world, "home", a)[i] = rp_world_reals(world, "position", a)[i];
    return RP_OK;
}

static double largest_step(void *state, const rp_world *world, const char **reason)
{
    (void)state;
    *reason = "spring";
    return 0.1 / sqrt(((const params *)rp_world_params(world))->stiffness);
}

typedef struct work {
    double dt, k, gravity;
    double *x, *v, *home;
} work;

static void swing(void *context, int64_t begin, int64_t end)
{
    work *w = context;
    for (int64_t i = begin; i < end; i++) {
        w->v[i] += w->dt * (w->gravity - w->k * (w->x[i] - w->home[i]));
        w->x[i] += w->dt * w->v[i];
    }
}

static rp_result step(void *state, rp_world *world, double dt, rp_step_stats *stats)
{
    (void)state;
    (void)stats;
    for (int a = 0; a < 3; a++) {
        work w = { dt, ((const params *)rp_world_params(world))->stiffness, rp_world_definition(world)->gravity[a],
                   rp_world_reals(world, "position", a), rp_world_reals(world, "velocity", a), rp_world_reals(world, "home", a) };
        rp_world_for(world, rp_world_count(world), 1024, swing, &w);
    }
    return RP_OK;
}

int main(void)
{
    rp_method springs = rp_default_method();
    springs.info.name = "springs";
    springs.info.summary = "grains on springs to where they began";
    springs.info.params = table;
    springs.info.fields = fields;
    springs.params_size = sizeof(params);
    springs.create = create, springs.destroy = destroy, springs.born = born, springs.largest_step = largest_step, springs.step = step;
    TRY(rp_method_register(&springs));

    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    TRY(rp_scene_parse("method: springs\nsprings: {stiffness: 100}\ndomain: [1, 1, 1]\ncell_size: 10 cm\nduration: 0.5 s\nframe_rate: 50\n"
                       "material: dry-sand\ngrains: [{shape: {sphere: {centre: [0.5, 0.5, 0.6], radius: 20 cm}}, per_cell: 1}]\n",
                       "springs", NULL, NULL, &scene));
    TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
    rp_scene_destroy(scene);
    double lowest = 0;
    while (!rp_sim_done(sim)) {
        rp_field_view x, home;
        TRY(rp_sim_step(sim, NULL));
        TRY(rp_sim_field_named(sim, "position", &x));
        TRY(rp_sim_field_named(sim, "home", &home));
        lowest = fmin(lowest, ((const double *)x.data)[2 * x.stride] - ((const double *)home.data)[2 * home.stride]);
    }
    /* x'' = -g - k x from rest reaches -2 g / k */
    printf("the grains hang down %.4f m at most; theory says %.4f m\n", -lowest, 2 * 9.81 / 100);
    CHECK(fabs(lowest + 2 * 9.81 / 100) < 0.005);
    rp_sim_destroy(sim);
    return 0;
}
