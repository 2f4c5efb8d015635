/* A fluid that does not fill its box: still water, waves, a dam that breaks, grains above and below, sand poured in. */
#include "diphasic/scene_tests.h"

static rp_shape *below(int dim, double level)
{
    rp_shape *shape;
    double point[3] = { 0 }, normal[3] = { 0 };
    point[dim - 1] = level, normal[dim - 1] = 1;
    assert_int_equal(rp_shape_plane(point, normal, &shape), RP_OK);
    return shape;
}

static double fastest_fluid(const scene *s)
{
    int64_t n;
    double most = 0;
    for (int a = 0; a < 3; a++) {
        const double *v = scene_nodes(s, "fluid_velocity", a, &n);
        for (int64_t j = 0; j < n; j++)
            most = fmax(most, fabs(v[j]));
    }
    return most;
}

/* Wherever in a cell the level lies: nothing moves, the level stays, and the pressure is ρ g depth down to the floor. */
static void still_water(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 8; k++) {
            const int cells[3] = { dim == 2 ? 12 : 5, dim == 2 ? 12 : 4, 12 };
            const double h = 0.01, level = h * (6 + k / 8.0);
            scene s;
            rp_step_stats stats;
            scene_begin(&s, dim, h, cells, NULL, NULL);
            rp_shape *fill = below(dim, level);
            s.fluid.fill = fill;
            scene_start(&s);
            for (int step = 0; step < 100; step++)
                scene_step(&s, &stats);
            int64_t n;
            const double *z = scene_nodes(&s, "position", dim - 1, &n), *p = scene_nodes(&s, "fluid_pressure", 0, &n),
                         *d = scene_nodes(&s, "fluid_distance", 0, &n);
            assert_true(fastest_fluid(&s) <= 1e-9);
            assert_true(fabs(scene_extra(&stats, "fluid_level") - level) <= 1e-12);
            for (int64_t j = 0; j < n; j++) {
                if (fabs(z[j] - level) < 5 * h && fabs(d[j] - (z[j] - level)) > 1e-12)
                    fail_msg("%dD, level %g: distance %.15g at height %g", dim, level, d[j], z[j]);
                if (z[j] < level - 1.001 * h && fabs(p[j] - 9810 * (level - z[j])) > 1e-4)
                    fail_msg("%dD, level %g: pressure %.10g at height %g instead of %.10g", dim, level, p[j], z[j], 9810 * (level - z[j]));
                if (z[j] > level + 1.001 * h && p[j] != 0)
                    fail_msg("%dD, level %g: pressure %.10g in the air", dim, level, p[j]);
            }
            scene_end(&s);
            rp_shape_release(fill);
        }
}

/* The first mode of a tank, L wide and H deep: ω² = g k tanh(k H), k = π/L. The moment of the surface passes zero twice a period. */
static void sloshing(void **state)
{
    (void)state;
    for (int fine = 1; fine <= 2; fine++) {
        const int cells[3] = { 32 * fine, 24 * fine, 1 };
        const double length = 0.32, h = length / cells[0], depth = 0.1537, g = 9.81, k = acos(-1) / length;
        scene s;
        scene_begin(&s, 2, h, cells, NULL, NULL);
        s.fluid.viscosity = 0;
        s.def.frame_rate = 200 * fine;
        double point[3] = { length / 2, depth, 0 }, normal[3] = { -0.05, 1, 0 };
        rp_shape *fill;
        assert_int_equal(rp_shape_plane(point, normal, &fill), RP_OK);
        s.fluid.fill = fill;
        scene_start(&s);
        double last = 0, first = -1, end = -1;
        int crossings = 0, steps = (int)(2.6 * s.def.frame_rate);
        for (int step = 1; step <= steps; step++) {
            scene_step(&s, NULL);
            int64_t n;
            const double *x = scene_nodes(&s, "position", 0, &n), *d = scene_nodes(&s, "fluid_distance", 0, &n);
            double moment = 0, dt = 1 / s.def.frame_rate;
            for (int64_t j = 0; j < n; j++)
                moment -= cos(k * x[j]) * fmax(-2 * h, fmin(2 * h, d[j]));
            if (step > 1 && moment * last < 0) {
                double t = dt * (step - 1 + last / (last - moment));
                first = first < 0 ? t : first, end = t, crossings++;
            }
            last = moment;
        }
        double found = acos(-1) * (crossings - 1) / (end - first), exact = sqrt(g * k * tanh(k * depth));
        assert_true(crossings >= 5);
        if (!(fabs(found / exact - 1) <= 0.005))
            fail_msg("%d cells: %.5g 1/s instead of %.5g", cells[0], found, exact);
        scene_end(&s);
        rp_shape_release(fill);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(still_water),
        cmocka_unit_test(sloshing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
