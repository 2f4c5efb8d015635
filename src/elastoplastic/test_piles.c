/* Angles at which sand comes to rest. A bed whose side is taken away flows out and leaves a slope. */
#include "cmocka_test.h"

#include <math.h>
#include <repose/repose.h>
#include <string.h>

#define DEGREES 57.29577951308232

enum { BINS = 32 };

/* Slope of the line through the surface: the highest grain of each bin of a cell's width, between 20 % and 80 % of the height. */
static double surface_angle(const rp_sim *sim, double length)
{
    rp_field_view view;
    double top[BINS] = { 0 }, highest = 0, n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    assert_int_equal(rp_sim_field_named(sim, "position", &view), RP_OK);
    const double *x = view.data, *y = x + view.stride;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
        int b = (int)(x[i] / length * BINS);
        if (b >= 0 && b < BINS)
            top[b] = fmax(top[b], y[i]);
    }
    for (int b = 0; b < BINS; b++)
        highest = fmax(highest, top[b]);
    for (int b = 1; b < BINS; b++) {
        if (top[b] < 0.2 * highest || top[b] > 0.8 * highest)
            continue;
        double at = (b + 0.5) * length / BINS;
        n += 1, sx += at, sy += top[b], sxx += at * at, sxy += at * top[b];
    }
    assert_true(n >= 4);
    return -atan((n * sxy - sx * sy) / (n * sxx - sx * sx)) * DEGREES;
}

static double angle_of_rest(double friction_angle, rp_friction_match match)
{
    rp_sim_def def = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    rp_grains_def grains = rp_default_grains_def();
    rp_params *params = NULL;
    rp_sim *sim = NULL;
    rp_step_stats stats;
    double length = 1.6, centre[3] = { 0.8, 0.35, 0 }, half[3] = { 0.8, 0.35, 1 };
    assert_int_equal(rp_shape_box(centre, half, 0, &grains.shape), RP_OK);
    assert_int_equal(rp_params_create("elastoplastic", &params), RP_OK);
    assert_int_equal(rp_params_set(params, "damping", "3"), RP_OK); /* slow: the angle is that of rest, not of an avalanche */
    grains.sampling = RP_REGULAR, grains.per_cell = 4;
    sand.friction_angle = friction_angle / DEGREES;
    sand.match = match;
    def.dim = 2, def.method = "elastoplastic", def.cell_size = 0.05;
    def.upper[0] = length, def.upper[1] = 0.8;
    def.gravity[1] = -9.81, def.gravity[2] = 0;
    def.wall[1].kind = RP_OPEN;
    def.wall[2].kind = RP_STICK;
    def.materials = &sand, def.material_count = 1;
    def.grains = &grains, def.grains_count = 1;
    def.method_params = rp_params_data(params);
    def.duration = 100, def.threads = 1;
    if (rp_sim_create(&def, &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    while (rp_sim_time(sim) < 5)
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
    double angle = surface_angle(sim, length);
    rp_sim_destroy(sim);
    rp_shape_release(grains.shape);
    rp_params_destroy(params);
    return angle;
}

/* Sand that neither dilates nor contracts slides on planes where the ratio of shear to normal stress is the friction of the
 * law: tan(friction angle) with `match: slope`, sin(friction angle) otherwise in two dimensions. That is the slope at which
 * it rests. */
static void slopes_rest_at_their_friction_angle(void **unused)
{
    (void)unused;
    double before = 0;
    for (int k = 0; k < 5; k++) {
        double wanted = 20 + 5 * k, angle = angle_of_rest(wanted, RP_MATCH_SLOPE);
        print_message("friction angle %g: rests at %.1f\n", wanted, angle);
        if (fabs(angle - wanted) > 3 || angle < before + 1)
            fail_msg("friction angle %g: the slope rests at %g; the one before at %g", wanted, angle, before);
        before = angle;
    }
}

static void slopes_of_the_plane_rest_where_their_friction_says(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double friction_angle = k ? 40 : 25, wanted = atan(sin(friction_angle / DEGREES)) * DEGREES;
        double angle = angle_of_rest(friction_angle, RP_MATCH_INSCRIBED);
        print_message("friction angle %g: slides at %.1f, rests at %.1f\n", friction_angle, wanted, angle);
        if (fabs(angle - wanted) > 3)
            fail_msg("friction angle %g: the slope rests at %g, not %g", friction_angle, angle, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_rest_at_their_friction_angle),
        cmocka_unit_test(slopes_of_the_plane_rest_where_their_friction_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
