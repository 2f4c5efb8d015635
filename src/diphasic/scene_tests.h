/* Small simulations for the tests of the method, through the public interface. */
#ifndef RP_DIPHASIC_SCENE_TESTS_H
#define RP_DIPHASIC_SCENE_TESTS_H

#include "base/memory.h"

#include <repose/log.h>
#include <repose/sim.h>
#include <repose/state.h>

#include <cmocka_test.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scene {
    rp_sim_def def;
    rp_fluid_def fluid;
    rp_material_def material;
    rp_grains_def grains;
    rp_params *params;
    rp_shape *shape;
    rp_sim *sim;
} scene;

/* A box of the given cells full of water, with grains from `from` to `to` (in cells; NULL: none), at rest; slip walls, grains stick to the
 * floor. Steps of 1/100 s. */
static inline void scene_begin(scene *s, int dim, double h, const int cells[3], const double *from, const double *to)
{
    memset(s, 0, sizeof *s);
    s->def = rp_default_sim_def();
    s->fluid = rp_default_fluid_def();
    s->def.fluid = &s->fluid;
    s->def.dim = dim;
    s->def.cell_size = h;
    s->def.frame_rate = 100;
    s->def.substeps = 1;
    s->def.duration = 1e6;
    s->def.threads = 1;
    s->def.gravity[0] = s->def.gravity[1] = s->def.gravity[2] = 0;
    s->def.gravity[dim - 1] = -9.81;
    s->material = rp_default_material_def();
    s->material.friction = 0.5;
    double centre[3] = { 0 }, half[3] = { 1, 1, 1 };
    for (int a = 0; a < dim; a++) {
        s->def.lower[a] = 0;
        s->def.upper[a] = h * cells[a];
        centre[a] = from ? 0.5 * h * (from[a] + to[a]) : 0;
        half[a] = from ? 0.5 * h * (to[a] - from[a]) : 1;
    }
    if (dim == 2)
        s->def.lower[2] = s->def.upper[2] = 0;
    assert_int_equal(rp_shape_box(centre, half, 0, &s->shape), RP_OK);
    s->grains = rp_default_grains_def();
    s->grains.shape = s->shape;
    s->grains.sampling = RP_REGULAR;
    s->grains.per_cell = dim == 2 ? 4 : 8;
    s->def.wall[2 * (dim - 1)].kind = RP_STICK;
    s->def.materials = &s->material;
    s->def.material_count = 1;
    s->def.grains = &s->grains;
    s->def.grains_count = from != NULL;
    s->def.method = "diphasic";
    assert_int_equal(rp_params_create("diphasic", &s->params), RP_OK);
}

static inline void scene_periodic(scene *s, int axis)
{
    s->def.wall[2 * axis].kind = s->def.wall[2 * axis + 1].kind = RP_PERIODIC;
}

static inline void scene_set(scene *s, const char *name, const char *value)
{
    assert_int_equal(rp_params_set(s->params, name, value), RP_OK);
}

static inline void scene_start(scene *s)
{
    s->def.method_params = rp_params_data(s->params);
    if (rp_sim_create(&s->def, &s->sim) != RP_OK)
        fail_msg("%s", rp_last_error());
}

static inline void scene_end(scene *s)
{
    rp_sim_destroy(s->sim);
    rp_params_destroy(s->params);
    rp_shape_release(s->shape);
}

static inline void scene_step(scene *s, rp_step_stats *stats)
{
    rp_step_stats unused;
    if (rp_sim_step(s->sim, stats ? stats : &unused) != RP_OK)
        fail_msg("%s", rp_last_error());
}

static inline const double *scene_field(const scene *s, const char *name, int component, int64_t *count)
{
    rp_field_view view;
    assert_int_equal(rp_sim_field_named(s->sim, name, &view), RP_OK);
    if (count)
        *count = view.count;
    return (const double *)view.data + component * view.stride;
}

/* A node field by name. */
static inline const double *scene_nodes(const scene *s, const char *name, int component, int64_t *nodes)
{
    const rp_field_view *views;
    int count;
    assert_int_equal(rp_sim_grid_fields(s->sim, &views, &count, nodes), RP_OK);
    for (int v = 0; v < count; v++)
        if (strcmp(views[v].info.name, name) == 0)
            return (const double *)views[v].data + component * views[v].stride;
    fail_msg("there is no node field '%s'", name);
    return NULL;
}

static inline double scene_extra(const rp_step_stats *stats, const char *name)
{
    for (int e = 0; e < stats->extra_count; e++)
        if (strcmp(stats->extra_name[e], name) == 0)
            return stats->extra[e];
    fail_msg("there is no extra '%s'", name);
    return 0;
}

static inline double scene_fastest(const scene *s)
{
    int64_t n;
    const double *v[3];
    double most = 0;
    for (int a = 0; a < 3; a++)
        v[a] = scene_field(s, "velocity", a, &n);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, sqrt(v[0][i] * v[0][i] + v[1][i] * v[1][i] + v[2][i] * v[2][i]));
    return most;
}

#endif
