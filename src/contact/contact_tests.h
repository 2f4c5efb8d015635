/* Small scenes for the tests of this room, made without a scene file. */
#ifndef RP_CONTACT_TESTS_H
#define RP_CONTACT_TESTS_H

#include "base/memory.h"
#include "contact/state.h"
#include "sim/sim_internal.h"

#include <repose/repose.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A box [0, size]³ with a frictional floor at z = 0 and open elsewhere. */
static inline rp_sim_def scene(double size, double cell, double friction, rp_material_def *material)
{
    rp_sim_def def = rp_default_sim_def();
    *material = rp_default_material_def();
    material->friction = friction;
    material->name = (char *)"grains";
    def.dim = 3;
    for (int a = 0; a < 3; a++) {
        def.lower[a] = 0;
        def.upper[a] = size;
    }
    def.cell_size = cell;
    for (int f = 0; f < 6; f++)
        def.wall[f] = (rp_surface){ .kind = RP_OPEN };
    def.wall[4] = (rp_surface){ .kind = RP_FRICTIONAL, .friction = friction };
    def.materials = material;
    def.material_count = 1;
    def.method = "contact";
    def.gravity[0] = def.gravity[1] = 0;
    def.gravity[2] = -9.81;
    def.frame_rate = 100;
    def.substeps = 1;
    def.duration = 100;
    def.threads = 1;
    def.outside = RP_OUTSIDE_DELETE;
    return def;
}

/* Parameters by name and text, ended by NULL. */
static inline rp_params *params_of(const char *first, ...)
{
    rp_params *p = NULL;
    assert_int_equal(rp_params_create("contact", &p), RP_OK);
    va_list list;
    va_start(list, first);
    for (const char *name = first; name; name = va_arg(list, const char *)) {
        const char *value = va_arg(list, const char *);
        assert_int_equal(rp_params_set(p, name, value), RP_OK);
    }
    va_end(list);
    return p;
}

static inline rp_sim *make_sim(const rp_sim_def *def)
{
    rp_sim *sim = NULL;
    rp_result result = rp_sim_create(def, &sim);
    if (result != RP_OK)
        print_message("%s\n", rp_last_error());
    assert_int_equal(result, RP_OK);
    return sim;
}

static inline rp_step_stats run_steps(rp_sim *sim, int count)
{
    rp_step_stats stats;
    memset(&stats, 0, sizeof stats);
    for (int k = 0; k < count; k++) {
        rp_result result = rp_sim_step(sim, &stats);
        if (result != RP_OK)
            print_message("%s\n", rp_last_error());
        assert_int_equal(result, RP_OK);
    }
    return stats;
}

static inline rp_shape *box_shape(double x0, double x1, double y0, double y1, double z0, double z1)
{
    double centre[3] = { 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (z0 + z1) }, half[3] = { 0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.5 * (z1 - z0) };
    rp_shape *shape = NULL;
    assert_int_equal(rp_shape_box(centre, half, 0, &shape), RP_OK);
    return shape;
}

static inline double extra_of(const rp_step_stats *stats, const char *name)
{
    for (int k = 0; k < stats->extra_count; k++)
        if (strcmp(stats->extra_name[k], name) == 0)
            return stats->extra[k];
    fail_msg("no column %s", name);
    return 0;
}

static inline const double *plane_of(rp_sim *sim, const char *name, int component)
{
    rp_field_view view;
    assert_int_equal(rp_sim_field_named(sim, name, &view), RP_OK);
    return (const double *)view.data + component * view.stride;
}

#endif
