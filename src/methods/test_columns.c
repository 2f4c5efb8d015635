/* What a method says of itself is true: every number and phase of its steps has a column, in every method of the table. */
#include "sim_tests.h"

#include <stdio.h>
#include <string.h>

static bool among(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Empty at first, then filled by an emitter; a viscous material, so that more is to be done. */
static const char scene_text[] = "domain: [0.4, 0.4]\n"
                                 "cell_size: 0.05\n"
                                 "duration: 0.2\n"
                                 "material: {density: 2000, viscosity: 5, youngs_modulus: 1e5}\n"
                                 "walls: {all: slip}\n"
                                 "emitters: [{shape: {box: {lower: [0.1, 0.25], upper: [0.3, 0.35]}}, velocity: [0, -1, 0], start: 0.05}]\n";

static void step_and_look(const rp_method_info *info, const char *const *settings, int count)
{
    rp_scene_options options = { settings, count };
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    if (rp_scene_parse(scene_text, "columns", ".", &options, &scene) != RP_OK || rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK)
        fail_msg("%s: %s", info->name, rp_last_error());
    while (!rp_sim_done(sim)) {
        rp_step_stats stats;
        if (rp_sim_step(sim, &stats) != RP_OK)
            fail_msg("%s: %s", info->name, rp_last_error());
        for (int e = 0; e < stats.extra_count; e++)
            if (!among(info->extras, stats.extra_name[e]))
                fail_msg("%s gives '%s' and does not name it in its extras", info->name, stats.extra_name[e]);
        for (int p = 0; p < stats.phase_count; p++)
            if (strcmp(stats.phase_name[p], "bookkeeping") != 0 && !among(info->phases, stats.phase_name[p]))
                fail_msg("%s has the phase '%s' and does not name it", info->name, stats.phase_name[p]);
    }
    assert_true(rp_sim_particle_count(sim) > 0);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static void test_every_method(void **state)
{
    (void)state;
    for (int m = 0; m < rp_method_count(); m++) {
        const rp_method_info *info = rp_method_at(m);
        char method[80];
        snprintf(method, sizeof method, "method=%s", info->name);
        if (strcmp(info->name, "diphasic") == 0) /* it needs a fluid, and grains that are there */
            step_and_look(info, (const char *const[]){ method, "fluid.density=1000", "material.viscosity=0" }, 3);
        else
            step_and_look(info, (const char *const[]){ method }, 1);
        if (strcmp(info->name, "nonsmooth") == 0)
            step_and_look(info, (const char *const[]){ method, "material.viscosity=10", "nonsmooth.stress=node" }, 3);
        if (strcmp(info->name, "elastoplastic") == 0)
            step_and_look(info, (const char *const[]){ method, "elastoplastic.integrator=implicit" }, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_method) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
