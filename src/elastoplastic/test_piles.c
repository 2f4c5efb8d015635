/* Angles at which sand comes to rest. A bed whose side is taken away flows out and leaves a slope. */
#include "cmocka_test.h"

#include <math.h>
#include <repose/repose.h>
#include <string.h>

#define DEGREES 57.29577951308232

enum { BINS = 64 };

/* A bed of sand, 1.6 m long and 0.7 m high, on a rough floor, one side of which is taken away. In 3D it is a slice between smooth
 * walls, with the law of three dimensions. */
typedef struct bed {
    int dim, cells;  /* along its length */
    double depth;    /* of the slice in 3D [m] */
    double friction_angle;
    rp_friction_match match;
} bed;

/* Slope of the line through the surface: the highest grain of each bin of a cell's width, between 20 % and 80 % of the height. */
static double surface_angle(const rp_sim *sim, const bed *b)
{
    rp_field_view view;
    int bins = b->cells < BINS ? b->cells : BINS;
    double length = 1.6, top[BINS] = { 0 }, highest = 0, n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    assert_int_equal(rp_sim_field_named(sim, "position", &view), RP_OK);
    const double *x = view.data, *y = x + view.stride, *height = b->dim == 2 ? y : y + view.stride;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
        int bin = (int)(x[i] / length * bins);
        if (bin >= 0 && bin < bins)
            top[bin] = fmax(top[bin], height[i]);
    }
    for (int k = 0; k < bins; k++)
        highest = fmax(highest, top[k]);
    for (int k = 1; k < bins; k++) {
        if (top[k] < 0.2 * highest || top[k] > 0.8 * highest)
            continue;
        double at = (k + 0.5) * length / bins;
        n += 1, sx += at, sy += top[k], sxx += at * at, sxy += at * top[k];
    }
    assert_true(n >= 4);
    return -atan((n * sxy - sx * sy) / (n * sxx - sx * sx)) * DEGREES;
}

static double angle_of_rest(const bed *b)
{
    rp_sim_def def = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    rp_grains_def grains = rp_default_grains_def();
    rp_params *params = NULL;
    rp_sim *sim = NULL;
    rp_step_stats stats;
    double length = 1.6, centre[3] = { 0.8, 0.5 * b->depth, 0.35 }, half[3] = { 0.8, 0.5 * b->depth, 0.35 };
    int up = b->dim - 1;
    centre[up] = half[up] = 0.35;
    assert_int_equal(rp_shape_box(centre, half, 0, &grains.shape), RP_OK);
    assert_int_equal(rp_params_create("elastoplastic", &params), RP_OK);
    assert_int_equal(rp_params_set(params, "damping", "3"), RP_OK); /* slow: the angle is that of rest, not of an avalanche */
    grains.sampling = RP_REGULAR, grains.per_cell = b->dim == 2 ? 4 : 8;
    sand.friction_angle = b->friction_angle / DEGREES;
    sand.match = b->match;
    def.dim = b->dim, def.method = "elastoplastic", def.cell_size = length / b->cells;
    def.upper[0] = length, def.upper[1] = b->depth, def.upper[up] = 0.8;
    def.gravity[0] = def.gravity[1] = def.gravity[2] = 0;
    def.gravity[up] = -9.81;
    for (int f = 0; f < 6; f++)
        def.wall[f].kind = RP_SLIP;
    def.wall[1].kind = RP_OPEN;
    def.wall[2 * up].kind = RP_STICK;
    def.materials = &sand, def.material_count = 1;
    def.grains = &grains, def.grains_count = 1;
    def.method_params = rp_params_data(params);
    def.duration = 100, def.threads = 1;
    if (rp_sim_create(&def, &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    while (rp_sim_time(sim) < 5)
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
    double angle = surface_angle(sim, b);
    rp_sim_destroy(sim);
    rp_shape_release(grains.shape);
    rp_params_destroy(params);
    return angle;
}

/* Sand that neither dilates nor contracts slides on planes where the ratio of shear to normal stress is the friction of the
 * law: tan(friction angle) with `match: slope`, sin(friction angle) otherwise in two dimensions. That is the slope at which
 * it rests. */
static void expect_angles(bed b, int count, const double *angles)
{
    double before = 0;
    for (int k = 0; k < count; k++) {
        b.friction_angle = angles[k];
        double angle = angle_of_rest(&b);
        print_message("%dD, friction angle %g: rests at %.1f\n", b.dim, b.friction_angle, angle);
        if (fabs(angle - b.friction_angle) > 3 || angle < before + 1)
            fail_msg("friction angle %g: the slope rests at %g; the one before at %g", b.friction_angle, angle, before);
        before = angle;
    }
}

static void slopes_rest_at_their_friction_angle(void **unused)
{
    (void)unused;
    static const double angles[] = { 20, 25, 30, 35, 40 };
    expect_angles((bed){ .dim = 2, .cells = 64, .depth = 1, .match = RP_MATCH_SLOPE }, 5, angles);
}

static void slopes_in_space_rest_at_their_friction_angle(void **unused)
{
    (void)unused;
    static const double angles[] = { 20, 30, 35 };
    expect_angles((bed){ .dim = 3, .cells = 24, .depth = 0.2, .match = RP_MATCH_SLOPE }, 3, angles);
}

static void slopes_of_the_plane_rest_where_their_friction_says(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++) {
        bed b = { .dim = 2, .cells = 32, .depth = 1, .friction_angle = k ? 40 : 25, .match = RP_MATCH_INSCRIBED };
        double wanted = atan(sin(b.friction_angle / DEGREES)) * DEGREES, angle = angle_of_rest(&b);
        print_message("friction angle %g: slides at %.1f, rests at %.1f\n", b.friction_angle, wanted, angle);
        if (fabs(angle - wanted) > 3)
            fail_msg("friction angle %g: the slope rests at %g, not %g", b.friction_angle, angle, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_rest_at_their_friction_angle),
        cmocka_unit_test(slopes_in_space_rest_at_their_friction_angle),
        cmocka_unit_test(slopes_of_the_plane_rest_where_their_friction_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
