/* A simulation of pbd whose grains are placed by hand. */
#ifndef RP_PBD_TESTS_H
#define RP_PBD_TESTS_H

#include "pbd/state.h"
#include "sim/sim_internal.h"
#include "sim_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    rp_sim_def def;
    rp_material_def material[2];
    rp_body_def body[4];
    rp_grains_def grains;
    rp_params *params;
    rp_shape *shapes[8];
    int shape_count;
} fixture;

static inline void set(fixture *f, const char *name, const char *value)
{
    if (rp_params_set(f->params, name, value) != RP_OK)
        fail_msg("%s", rp_last_error());
}

/* Radius 2 cm, steps of 5 ms whatever the grains do, a floor with friction 0.35 at z = 0, the other faces open. */
static inline void build(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->def = rp_default_sim_def();
    f->material[0] = f->material[1] = rp_default_material_def();
    f->grains = rp_default_grains_def();
    for (int k = 0; k < 4; k++)
        f->body[k] = rp_default_body_def();
    f->def.method = "pbd";
    assert_int_equal(rp_params_create("pbd", &f->params), RP_OK);
    f->def.method_params = rp_params_data(f->params);
    set(f, "radius", "0.02");
    set(f, "friction", "0.35");
    for (int a = 0; a < 3; a++)
        f->def.lower[a] = a < 2 ? -8 : 0, f->def.upper[a] = 8;
    f->def.cell_size = 0.05;
    for (int k = 0; k < 6; k++)
        f->def.wall[k].kind = RP_OPEN;
    f->def.wall[4].kind = RP_FRICTIONAL;
    f->def.wall[4].friction = 0.35;
    f->material[0].density = f->material[1].density = 1600;
    f->def.materials = f->material;
    f->def.material_count = 2;
    f->def.frame_rate = 200;
    f->def.substeps = 1;
    f->def.duration = 1000;
    f->def.threads = 1;
    f->def.bodies = f->body;
    f->def.grains = &f->grains;
}

static inline void release(fixture *f)
{
    for (int k = 0; k < f->shape_count; k++)
        rp_shape_release(f->shapes[k]);
    rp_params_destroy(f->params);
}

static inline rp_sim *make(const fixture *f)
{
    rp_sim *sim = NULL;
    if (rp_sim_create(&f->def, &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    return sim;
}

/* A grain at x with velocity v; its mass in units of that of a ball of the material. Returns its index. */
static inline int64_t put(rp_sim *sim, double x, double y, double z, double vx, double vy, double vz, double mass)
{
    int64_t i = 0;
    rp__particles *p = &sim->particles;
    assert_int_equal(rp__particles_append(p, 1, &i), RP_OK);
    p->x[0][i] = x, p->x[1][i] = y, p->x[2][i] = z;
    p->v[0][i] = vx, p->v[1][i] = vy, p->v[2][i] = vz;
    double r = rp__pbd_radius(&sim->def, sim->params);
    p->volume[i] = 4.1887902047863905 * r * r * r;
    p->mass[i] = mass * 1600 * p->volume[i];
    assert_int_equal(sim->calls->born(sim->state, &sim->world, i, 1, 2 * r), RP_OK);
    return i;
}

static inline void run(rp_sim *sim, int steps, rp_step_stats *stats)
{
    for (int k = 0; k < steps; k++)
        if (rp_sim_step(sim, stats) != RP_OK)
            fail_msg("step %d: %s", k, rp_last_error());
}

/* Index of the grain with an id: the store is sorted now and then. */
static inline double extra(const rp_step_stats *stats, const char *name)
{
    for (int k = 0; k < stats->extra_count; k++)
        if (strcmp(stats->extra_name[k], name) == 0)
            return stats->extra[k];
    return NAN;
}

static inline int64_t find(const rp_sim *sim, int64_t id)
{
    for (int64_t i = 0; i < sim->particles.count; i++)
        if (sim->particles.id[i] == id)
            return i;
    fail_msg("grain %d is gone", (int)id);
    return -1;
}

#endif
