/* What should not be asked for, and what a step survives: roots that teleport, masses that differ by a million, fibres in bodies and in
 * each other, below a floor, roots in one place. Nothing is lost, nothing is infinite. */
#include "contact/contact_tests.h"

#include <repose/scene.h>

/* Runs a scene for some steps; the largest speed of a node or grain, and the overlap at the end. */
static double survive(const char *yaml, int steps, double *overlap)
{
    rp_scene *scene = NULL;
    rp_result result = rp_scene_parse(yaml, "test", NULL, NULL, &scene);
    if (result != RP_OK)
        print_message("%s\n", rp_last_error());
    assert_int_equal(result, RP_OK);
    rp_sim *sim = make_sim(rp_scene_sim_def(scene));
    int64_t grains = rp_sim_particle_count(sim);
    rp_step_stats stats = run_steps(sim, steps);
    double fastest = 0;
    rp_fibres_view view;
    assert_int_equal(rp_sim_fibres(sim, &view), RP_OK);
    for (int64_t i = 0; i < 3 * view.nodes; i++) {
        assert_true(isfinite(view.position[i]) && isfinite(view.velocity[i]));
        fastest = fmax(fastest, fabs(view.velocity[i]));
    }
    assert_int_equal(rp_sim_particle_count(sim), grains);
    for (int a = 0; a < 3 && grains; a++)
        for (int64_t i = 0; i < grains; i++) {
            assert_true(isfinite(plane_of(sim, "position", a)[i]));
            fastest = fmax(fastest, fabs(plane_of(sim, "velocity", a)[i]));
        }
    *overlap = extra_of(&stats, "penetration_worst");
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    return fastest;
}

#define ROOM "method: contact\ncell_size: 0.2\nduration: 100\nframe_rate: 50\nsubsteps: 4\nthreads: 1\n"

static void test_root_teleports(void **state)
{
    (void)state;
    double overlap;
    /* a metre in one step, then half a turn in one step */
    double speed =
        survive(ROOM "domain: {lower: [-2, -2, -2], upper: [2, 2, 2]}\nwalls: open\n"
                     "bodies: [{name: head, shape: {sphere: {radius: 0.1}}, motion: 't < 0.05 and 0 or 1, 0, 0, 0, 0, t < 0.1 and 0 or 3'}]\n"
                     "fibres: [{body: head, root: clamped, radius: 1 mm, youngs_modulus: 10 MPa, damping: 5 ms, groom: {count: 12, length: 0.2, "
                     "segments: 8}}]\n",
                120, &overlap);
    assert_true(speed < 20);
}

static void test_mass_ratio(void **state)
{
    (void)state;
    double overlap;
    /* 4 kg on grains of 4 mg */
    double speed = survive(ROOM "domain: [0.2, 0.2, 0.2]\nwalls: {all: 0.4, top: slip}\nmaterial: {density: 1, friction: 0.4}\n"
                                "contact: {diameter: 1.9 cm}\n"
                                "grains: [{shape: {box: {lower: [0, 0, 0], upper: [0.2, 0.2, 0.04]}}, sampling: regular, per_cell: 1000}]\n"
                                "bodies: [{name: block, kind: free, mass: 4, shape: {box: {size: [0.1, 0.1, 0.05]}}, position: [0.1, 0.1, 0.09]}]\n",
                           60, &overlap);
    assert_true(speed < 50 && overlap < 0.5);
}

static void test_fibres_in_bodies(void **state)
{
    (void)state;
    double overlap;
    /* through a ball, two of them in one place, one crossing both */
    double speed = survive(ROOM "domain: {lower: [-1, -1, 0], upper: [1, 1, 1]}\nwalls: {all: open, bottom: 0.3}\n"
                                "bodies: [{name: ball, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.2], surface: 0.3}]\n"
                                "fibres: [{radius: 2 mm, youngs_modulus: 5 MPa, damping: 5 ms, segments: 12, curves: [[[-0.3, 0, 0.21], [0.3, 0, 0.21]], "
                                "[[-0.3, 0, 0.21], [0.3, 0, 0.21]], [[0, -0.3, 0.21], [0, 0.3, 0.21]]]}]\n",
                           800, &overlap); /* a tenth of a radius a step: 46 radii take a while */
    assert_true(speed < 10 && overlap < 1);
    /* stiff bristles that begin five radii below the floor, some roots in one place */
    speed = survive(ROOM "domain: {lower: [-1, -1, 0], upper: [1, 1, 1]}\nwalls: {all: open, bottom: 0.3}\n"
                         "bodies: [{name: broom, shape: {box: {size: [0.1, 0.02, 0.02]}}, position: [0, 0, 0.085]}]\n"
                         "fibres: [{body: broom, root: clamped, radius: 1 mm, youngs_modulus: 0.4 GPa, damping: 2 ms, "
                         "groom: {count: 60, length: 0.08, segments: 6, comb: [0, 0, -3], within: {plane: {point: [0, 0, 0.0755], normal: [0, 0, 1]}}}}]\n",
                    100, &overlap);
    assert_true(speed < 10 && overlap < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_teleports),
        cmocka_unit_test(test_mass_ratio),
        cmocka_unit_test(test_fibres_in_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
