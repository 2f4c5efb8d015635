/* Exact solutions: the fluid alone, grains held, grains at rest. */
#include "diphasic/scene_tests.h"

/* Between no-slip floor and lid, driven by a pressure gradient: G y (H - y) / 2η at the nodes, whatever the step. */
static void poiseuille(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int large = 0; large < 2; large++) {
            const int cells[3] = { 4, dim == 2 ? 16 : 4, 16 };
            const double h = 1.0 / 16;
            int up = dim - 1;
            scene s;
            scene_begin(&s, dim, h, cells, NULL, NULL);
            for (int a = 0; a < up; a++)
                scene_periodic(&s, a);
            s.fluid.density = s.fluid.viscosity = 1;
            s.fluid.drive[0] = 1;
            s.fluid.wall[2 * up].kind = s.fluid.wall[2 * up + 1].kind = RP_FLUID_NO_SLIP;
            s.def.frame_rate = large ? 1 : 20;
            scene_start(&s);
            for (int k = 0; k < (large ? 15 : 60); k++)
                scene_step(&s, NULL);
            int64_t n;
            const double *z = scene_nodes(&s, "position", up, &n), *u = scene_nodes(&s, "fluid_velocity", 0, &n);
            for (int64_t j = 0; j < n; j++)
                if (!(fabs(u[j] - 0.5 * z[j] * (1 - z[j])) <= 1e-10))
                    fail_msg("%dD: %.15g at height %g instead of %.15g", dim, u[j], z[j], 0.5 * z[j] * (1 - z[j]));
            scene_end(&s);
        }
}

/* A lid that moves: a straight profile. */
static void couette(void **state)
{
    (void)state;
    const int cells[3] = { 4, 12, 1 };
    scene s;
    scene_begin(&s, 2, 0.1, cells, NULL, NULL);
    scene_periodic(&s, 0);
    s.fluid.density = 1000, s.fluid.viscosity = 100;
    s.fluid.wall[2].kind = RP_FLUID_NO_SLIP;
    s.fluid.wall[3].kind = RP_FLUID_VELOCITY;
    s.fluid.wall[3].velocity[0] = 0.5;
    s.def.frame_rate = 0.1;
    scene_start(&s);
    for (int k = 0; k < 30; k++)
        scene_step(&s, NULL);
    int64_t n;
    const double *z = scene_nodes(&s, "position", 1, &n), *u = scene_nodes(&s, "fluid_velocity", 0, &n);
    for (int64_t j = 0; j < n; j++)
        assert_true(fabs(u[j] - 0.5 * z[j] / 1.2) <= 1e-10);
    scene_end(&s);
}

/* Fluid that seeps down through a bed holds it: the pressure falls as Darcy and Ergun say. */
static void seepage(int drag, double (*gradient)(double flux))
{
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 4, dim == 2 ? 8 : 4, 8 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 8 : 4, 8 };
        int up = dim - 1;
        const double flux = drag == RP_DRAG_ERGUN ? 2e-2 : 1e-4;
        scene s;
        scene_begin(&s, dim, 0.01, cells, from, to);
        s.fluid.drag = drag;
        s.fluid.wall[2 * up + 1].kind = RP_FLUID_VELOCITY;
        s.fluid.wall[2 * up + 1].velocity[up] = -flux / 0.4;
        s.fluid.wall[2 * up].kind = RP_FLUID_PRESSURE;
        scene_set(&s, "tolerance", "1e-12");
        scene_set(&s, "tolerance_max", "1e-12");
        scene_set(&s, "stabilisation", "0.1"); /* rounds to the last digit are fewer so */
        scene_set(&s, "max_rounds", "20000");
        scene_start(&s);
        rp_step_stats stats;
        for (int k = 0; k < 60; k++)
            scene_step(&s, &stats);
        int64_t n;
        const double *z = scene_nodes(&s, "position", up, &n), *p = scene_nodes(&s, "fluid_pressure", 0, &n);
        double low = 0, high = 0;
        for (int64_t j = 0; j < n; j++) {
            low = fabs(z[j] - 0.02) < 1e-9 ? p[j] : low;
            high = fabs(z[j] - 0.06) < 1e-9 ? p[j] : high;
        }
        double found = (high - low) / 0.04, exact = gradient(flux);
        if (!(fabs(found / exact - 1) <= 1e-8))
            fail_msg("%dD: %.12g Pa/m instead of %.12g (residual %g)", dim, found, exact, stats.residual_max);
        scene_end(&s);
    }
}

static double carman_kozeny(double flux)
{
    return flux * 1e-3 * 180 * 0.36 / (1e-6 * 0.064);
}
static double ergun(double flux)
{
    double slip = flux / 0.4;
    return flux * 1e-3 * 150 * 0.36 / (1e-6 * 0.064) + 1.75 * 1000 * 0.6 / (1e-3 * 0.4) * slip * slip;
}

static void darcy(void **state)
{
    (void)state;
    seepage(RP_DRAG_CARMAN_KOZENY, carman_kozeny);
    seepage(RP_DRAG_ERGUN, ergun);
}

/* Vortices between slip walls: the energy decays with 4 ν k². */
static void taylor_green(void **state)
{
    (void)state;
    const int n = 64, cells[3] = { 64, 32, 1 };
    const double nu = 1e-2, k = 6.283185307179586;
    const char *variables[] = { "x", "y", "z" };
    scene s;
    scene_begin(&s, 2, 1.0 / n, cells, NULL, NULL);
    scene_periodic(&s, 0);
    s.fluid.density = 1, s.fluid.viscosity = nu;
    assert_int_equal(rp_expression_create("math.sin(2*math.pi*x)*math.cos(2*math.pi*y), -math.cos(2*math.pi*x)*math.sin(2*math.pi*y), 0",
                                          variables, 3, 3, &s.fluid.velocity_field),
                     RP_OK);
    s.def.gravity[1] = 0;
    s.def.frame_rate = 4 * n;
    scene_start(&s);
    double energy[2] = { 0 };
    for (int when = 0; when < 2; when++) {
        int64_t count;
        const double *y = scene_nodes(&s, "position", 1, &count);
        for (int a = 0; a < 2; a++) {
            const double *u = scene_nodes(&s, "fluid_velocity", a, &count);
            for (int64_t j = 0; j < count; j++)
                energy[when] += u[j] * u[j] * (y[j] < 1e-9 || y[j] > 0.5 - 1e-9 ? 0.5 : 1);
        }
        for (int step = 0; step < 2 * n && when == 0; step++)
            scene_step(&s, NULL);
    }
    double rate = -log(energy[1] / energy[0]) / 0.5;
    if (!(fabs(rate / (4 * nu * k * k) - 1) <= 0.03))
        fail_msg("energy decays at %g/s instead of %g/s", rate, 4 * nu * k * k);
    rp_expression_release(s.fluid.velocity_field);
    scene_end(&s);
}

/* A bed under water: nothing moves in 1000 steps, the fluid has no pressure but its weight, and contacts carry Δρ g × depth. */
static void bed_rests(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 4, dim == 2 ? 14 : 4, 14 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 10 : 4, 10 };
        int up = dim - 1;
        scene s;
        scene_begin(&s, dim, 0.01, cells, from, to);
        scene_start(&s);
        rp_step_stats stats;
        scene_step(&s, &stats);
        int64_t n;
        const double *z = scene_field(&s, "position", up, &n);
        double *start = malloc((size_t)n * sizeof *start);
        memcpy(start, z, (size_t)n * sizeof *start);
        for (int k = 1; k < (dim == 2 ? 1000 : 200); k++) {
            scene_step(&s, &stats);
            assert_true(stats.converged);
        }
        z = scene_field(&s, "position", up, &n);
        double moved = 0;
        for (int64_t i = 0; i < n; i++)
            moved = fmax(moved, fabs(z[i] - start[i]));
        free(start);
        if (!(moved <= 1e-6 * 0.01))
            fail_msg("%dD: grains moved by %g cells", dim, moved / 0.01);
        const double *at = scene_nodes(&s, "position", up, &n), *p = scene_nodes(&s, "pressure", 0, &n);
        const double *water = scene_nodes(&s, "fluid_pressure", 0, &n);
        double unit = 1500 * 9.81 * 0.1, worst = 0;
        for (int64_t j = 0; j < n; j++) {
            double exact = at[j] < 0.1 ? 1500 * 9.81 * (0.1 - at[j]) : 0;
            worst = at[j] < 0.095 ? fmax(worst, fabs(p[j] - exact) / unit) : worst;
            if (!(fabs(water[j]) <= 1e-3 * unit))
                fail_msg("%dD: the water has %g Pa at height %g, contacts %g Pa", dim, water[j], at[j], p[j]);
        }
        print_message("%dD bed: moved %.2g cells, contact pressure wrong by %.2g of that at the bottom\n", dim, moved / 0.01, worst);
        assert_true(worst <= 0.02); /* down to the wall itself */
        scene_end(&s);
    }
}

/* A layer on a slope steeper than its friction, µ1, comes to a speed at which tan θ = µ1 + (µ2 - µ1) J/(J + J0) + J, the last by the fluid between the grains:
 * the same J at all depths, v = J Δρ φ g cos θ/η (H y - y²/2). With constant friction the fluid alone holds it, at many times the speed. */
static double speed_on_slope(double faster, double *exact)
{
    const int cells[3] = { 4, 14, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 10, 0 }, h = 0.5e-3, angle = 25 * 0.017453292519943295, mu = 0.425, j0 = 0.004;
    scene s;
    scene_begin(&s, 2, h, cells, from, to);
    scene_periodic(&s, 0);
    s.def.gravity[0] = 9.81 * sin(angle), s.def.gravity[1] = -9.81 * cos(angle);
    s.fluid.viscosity = 0.1, s.fluid.thickening = RP_THICKEN_NONE, s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    s.fluid.wall[2].kind = RP_FLUID_NO_SLIP;
    s.material.density = 2500, s.material.volume_fraction = 0.6, s.material.grain_diameter = 0.16e-3;
    s.material.friction = mu, s.material.friction_dynamic = faster;
    s.material.inertial_number = 1e6; /* slow grains: J alone */
    s.def.frame_rate = 1000;
    scene_set(&s, "viscous_number", "0.004");
    scene_start(&s);
    for (int k = 0; k < 300; k++)
        scene_step(&s, NULL);
    double low = 0, high = 1;
    for (int k = 0; k < 60; k++) {
        double j = 0.5 * (low + high);
        *(mu + (faster > 0 ? (faster - mu) * j / (j + j0) : 0) + j < tan(angle) ? &low : &high) = j;
    }
    *exact = low * 1500 * 0.6 * 9.81 * cos(angle) / 0.1 * (10 * 8 - 0.5 * 8 * 8) * h * h;
    int64_t n;
    double sum = 0, count = 0;
    const double *y = scene_nodes(&s, "position", 1, &n), *v = scene_nodes(&s, "velocity", 0, &n);
    for (int64_t j = 0; j < n; j++)
        if (fabs(y[j] - 8 * h) < 1e-9)
            sum += v[j], count++;
    scene_end(&s);
    return sum / count;
}

static void faster_grains_rub_more(void **state)
{
    (void)state;
    double exact, plain, found = speed_on_slope(0.765, &exact), other = speed_on_slope(-1, &plain);
    print_message("on a slope: %.4g mm/s (exact %.4g); with constant friction %.4g (%.4g)\n", 1e3 * found, 1e3 * exact, 1e3 * other,
                  1e3 * plain);
    assert_true(fabs(found / exact - 1) < 0.05);
    assert_true(other > 10 * found);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(poiseuille),   cmocka_unit_test(couette),   cmocka_unit_test(darcy),
                                        cmocka_unit_test(taylor_green), cmocka_unit_test(bed_rests), cmocka_unit_test(faster_grains_rub_more) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
