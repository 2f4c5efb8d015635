/* Small simulations for the tests of the method, through the public interface. */
#ifndef RP_NONSMOOTH_SCENE_TESTS_H
#define RP_NONSMOOTH_SCENE_TESTS_H

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
    rp_material_def material;
    rp_grains_def grains[2];
    rp_params *params;
    rp_shape *shape[2];
    rp_sim *sim;
} scene;

/* A box of the given cells, filled from `from` to `to` (in cells) with 2^dim particles a cell, at rest; slip walls, floor sticks. */
static inline void scene_begin(scene *s, int dim, double h, const int cells[3], const double from[3], const double to[3])
{
    memset(s, 0, sizeof *s);
    s->def = rp_default_sim_def();
    s->def.dim = dim;
    s->def.cell_size = h;
    s->def.frame_rate = 100;
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
        centre[a] = 0.5 * h * (from[a] + to[a]);
        half[a] = 0.5 * h * (to[a] - from[a]);
    }
    if (dim == 2)
        s->def.lower[2] = s->def.upper[2] = 0;
    assert_int_equal(rp_shape_box(centre, half, 0, &s->shape[0]), RP_OK);
    s->grains[0] = rp_default_grains_def();
    s->grains[0].shape = s->shape[0];
    s->grains[0].sampling = RP_REGULAR;
    s->grains[0].per_cell = dim == 2 ? 4 : 8;
    s->def.wall[2 * (dim - 1)].kind = RP_STICK;
    s->def.materials = &s->material;
    s->def.material_count = 1;
    s->def.grains = s->grains;
    s->def.grains_count = 1;
    s->def.method = "nonsmooth";
    assert_int_equal(rp_params_create("nonsmooth", &s->params), RP_OK);
}

/* A plane that sticks, `height` above the lower wall, which slips then; it rises with `speed`, and so do the grains. */
typedef struct rising_floor {
    rp_shape *plane;
    rp_motion *motion;
    rp_body_def body;
} rising_floor;

static inline void rising_floor_begin(rising_floor *f, scene *s, double height, double speed)
{
    const int up = s->def.dim - 1;
    double point[3] = { 0 }, normal[3] = { 0 };
    char text[64];
    point[up] = height, normal[up] = 1;
    snprintf(text, sizeof text, up == 1 ? "0, %g*t, 0" : "0, 0, %g*t", speed);
    assert_int_equal(rp_shape_plane(point, normal, &f->plane), RP_OK);
    assert_int_equal(rp_motion_expression(text, &f->motion), RP_OK);
    f->body = rp_default_body_def();
    f->body.name = "floor", f->body.shape = f->plane, f->body.motion = f->motion;
    f->body.surface.kind = RP_STICK;
    s->def.wall[2 * up].kind = RP_SLIP;
    s->grains[0].velocity[up] = speed;
    s->def.bodies = &f->body;
    s->def.body_count = 1;
}

static inline void rising_floor_end(rising_floor *f)
{
    rp_shape_release(f->plane);
    rp_motion_release(f->motion);
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
    rp_shape_release(s->shape[0]);
    rp_shape_release(s->shape[1]);
}

static inline void scene_step(scene *s, rp_step_stats *stats)
{
    if (rp_sim_step(s->sim, stats) != RP_OK)
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

/* Mean of a component of the velocity, by mass, over the particles above height z. */
static inline double scene_mean(const scene *s, int component, int up, double z)
{
    int64_t n;
    double sum = 0, mass = 0;
    const double *v = scene_field(s, "velocity", component, &n), *x = scene_field(s, "position", up, NULL);
    const double *m = scene_field(s, "mass", 0, NULL);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > z)
            sum += m[i] * v[i], mass += m[i];
    assert_true(mass > 0);
    return sum / mass;
}

#endif
