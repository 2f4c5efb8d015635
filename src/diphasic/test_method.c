/* What the method keeps, its limits, and what it survives. */
#include "diphasic/scene_tests.h"

/* Momentum of grains and fluid together, in a box that is periodic and weightless. */
static void momentum_is_exchanged(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 8, 8, 8 };
        const double from[3] = { 2, 2, 2 }, to[3] = { 6, 6, 6 }, h = 0.01;
        scene s;
        scene_begin(&s, dim, h, cells, from, to);
        for (int a = 0; a < dim; a++)
            scene_periodic(&s, a);
        s.def.gravity[dim - 1] = 0;
        s.grains.velocity[0] = 0.3, s.grains.velocity[1] = -0.1;
        s.grains.angular_velocity[2] = 5;
        s.grains.pivot[0] = s.grains.pivot[1] = 0.04;
        s.def.frame_rate = 1000;
        scene_set(&s, "advection", "false");
        scene_start(&s);
        double before[2] = { 0 }, scale = 0;
        for (int step = 0; step < 4; step++) {
            int64_t n;
            double sum[2] = { 0 };
            for (int a = 0; a < 2; a++) {
                const double *v = scene_field(&s, "velocity", a, &n), *m = scene_field(&s, "mass", 0, &n);
                for (int64_t i = 0; i < n; i++)
                    sum[a] += m[i] * v[i], scale += step ? 0 : m[i] * fabs(v[i]);
                if (step) { /* the masses are those at the beginning of the step */
                    const double *f = scene_nodes(&s, "fluid_velocity", a, &n), *phi = scene_nodes(&s, "volume_fraction", 0, &n);
                    for (int64_t j = 0; j < n; j++)
                        sum[a] += 1000 * (1 - phi[j]) * pow(h, dim) * f[j];
                }
                if (step == 1 && !(fabs(sum[a] - before[a]) <= 1e-13 * scale)) /* the fluid began at rest */
                    fail_msg("%dD: momentum %.17g after %.17g", dim, sum[a], before[a]);
                before[a] = sum[a];
            }
            scene_step(&s, NULL);
        }
        scene_end(&s);
    }
}

/* A submerged layer on an incline, mu^ = 0.5: below the angle it stays where it is, beyond it flows, however long the step is. */
static double slide(double slope, double rate, int steps)
{
    const int cells[3] = { 4, 10, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 6, 0 };
    scene s;
    scene_begin(&s, 2, 0.01, cells, from, to);
    scene_periodic(&s, 0);
    s.def.gravity[0] = 9.81 * sin(atan(slope)), s.def.gravity[1] = -9.81 * cos(atan(slope));
    s.def.frame_rate = rate;
    s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    scene_start(&s);
    for (int k = 0; k < steps; k++)
        scene_step(&s, NULL);
    double speed = scene_fastest(&s);
    scene_end(&s);
    return speed;
}

static void slopes(void **state)
{
    (void)state;
    for (double rate = 100; rate <= 400; rate *= 4) {
        double below = slide(0.95 * 0.5, rate, 1000), above = slide(1.2 * 0.5, rate, (int)rate / 2);
        if (!(below <= 1e-5) || !(above >= 0.02))
            fail_msg("steps of %g s: %g m/s below the angle, %g m/s beyond it", 1 / rate, below, above);
    }
}

/* Rounds a step grow little with the strength of drag. */
static double collapse(double d, double *rounds, int *failed)
{
    const int cells[3] = { 24, 10, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 8, 7, 0 };
    scene s;
    scene_begin(&s, 2, 5e-3, cells, from, to);
    s.material.grain_diameter = d;
    s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    s.def.frame_rate = 250;
    scene_start(&s);
    *rounds = 0, *failed = 0;
    for (int k = 0; k < 40; k++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        *rounds += (double)stats.iterations / 40;
        *failed += !stats.converged;
    }
    int64_t n;
    double front = 0;
    const double *x = scene_field(&s, "position", 0, &n);
    for (int64_t i = 0; i < n; i++)
        front = fmax(front, x[i] / 0.04);
    print_message("kappa %.3g: %.1f rounds a step, %d of 40 without success, front %.4f\n", 180 * 1e-3 * 0.36 / (d * d * 0.4) * 4e-3 / 1900, *rounds,
                  *failed, front);
    scene_end(&s);
    return front;
}

static void stiff_drag(void **state)
{
    (void)state;
    const double sizes[] = { 2e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 6e-6 };
    double least = INFINITY, most = 0, rounds, front = INFINITY;
    int failed;
    for (int k = 0; k < 7; k++) {
        double now = collapse(sizes[k], &rounds, &failed);
        assert_true(failed <= (k < 4 ? 0 : 4));
        assert_true(now < (k < 5 ? front : 1.03 * front)); /* drag slows it, and does not hold it; beyond 10³ nothing changes */
        assert_true(now > 1.15);
        front = now;
        least = fmin(least, rounds), most = fmax(most, rounds);
        assert_true(most <= 4 * least);
    }
}

/* Grains as heavy as the fluid, and grains so fine that they cannot leave it, are carried along. */
static void neutral_grains(void **state)
{
    (void)state;
    const int cells[3] = { 16, 16, 1 };
    const double from[3] = { 6, 9, 0 }, to[3] = { 10, 12, 0 };
    const char *variables[] = { "x", "y", "z" };
    for (int fine = 0; fine < 2; fine++) {
        scene s;
        scene_begin(&s, 2, 0.01, cells, from, to);
        s.material.density = fine ? 1001 : 1000;
        s.material.grain_diameter = 1e-5;
        s.grains.fill = 0.02;
        s.def.wall[2].kind = RP_SLIP;
        s.fluid.viscosity = 1e-2;
        assert_int_equal(rp_expression_create("0.02*math.sin(math.pi*x/0.16)*math.cos(math.pi*y/0.16), "
                                              "-0.02*math.cos(math.pi*x/0.16)*math.sin(math.pi*y/0.16), 0",
                                              variables, 3, 3, &s.fluid.velocity_field),
                         RP_OK);
        scene_start(&s);
        for (int k = 0; k < 50; k++)
            scene_step(&s, NULL);
        int64_t n, count;
        const double *u[2], *f[2], *phi = scene_nodes(&s, "volume_fraction", 0, &n);
        double slip = 0, speed = 0;
        for (int a = 0; a < 2; a++) {
            u[a] = scene_nodes(&s, "velocity", a, &count), f[a] = scene_nodes(&s, "fluid_velocity", a, &count);
            for (int64_t j = 0; j < n; j++)
                if (phi[j] > 1e-3)
                    slip = fmax(slip, fabs(u[a][j] - f[a][j])), speed = fmax(speed, fabs(f[a][j]));
        }
        if (!(slip <= 0.01 * speed) || !(speed > 1e-3))
            fail_msg("grains slip by %g m/s through a fluid of %g m/s", slip, speed);
        rp_expression_release(s.fluid.velocity_field);
        scene_end(&s);
    }
}

/* A fluid of hardly any weight: grains fall as in a vacuum. */
static void dry_limit(void **state)
{
    (void)state;
    const int cells[3] = { 8, 24, 1 };
    const double from[3] = { 2, 16, 0 }, to[3] = { 6, 20, 0 };
    scene s;
    scene_begin(&s, 2, 0.05, cells, from, to);
    s.fluid.density = 1e-3, s.fluid.viscosity = 1e-9;
    scene_start(&s);
    for (int k = 0; k < 20; k++)
        scene_step(&s, NULL);
    int64_t n;
    const double *v = scene_field(&s, "velocity", 1, &n);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(v[i] + 20 * 0.0981) <= 1e-3 * 20 * 0.0981);
    scene_end(&s);
}

/* The same bytes for any number of threads, and from a saved state on. */
static void threads_and_states(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    double *first = NULL;
    for (int run = 0; run < 3; run++) {
        const int cells[3] = { 12, 8, 8 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, 8, 5 };
        scene s;
        scene_begin(&s, 3, 0.01, cells, from, to);
        s.def.threads = run == 1 ? 4 : 1;
        s.fluid.viscosity = 0.01;
        scene_start(&s);
        for (int k = 0; k < STEPS; k++) {
            if (run == 2 && k == 5) {
                rp_state kept = { 0 };
                assert_int_equal(rp_sim_save(s.sim, &kept), RP_OK);
                rp_sim_destroy(s.sim);
                scene_start(&s);
                assert_int_equal(rp_sim_restore(s.sim, &kept), RP_OK);
                rp_state_free(&kept);
            }
            scene_step(&s, NULL);
        }
        int64_t n;
        const double *x = scene_field(&s, "position", 0, &n);
        if (!first) {
            first = malloc((size_t)n * sizeof *first);
            memcpy(first, x, (size_t)n * sizeof *first);
        } else {
            assert_memory_equal(first, x, (size_t)n * sizeof *first);
        }
        scene_end(&s);
    }
    free(first);
}

/* Odd input gives a sentence, or the right answer. */
static void odd_input(void **state)
{
    (void)state;
    const int cells[3] = { 6, 8, 1 };
    const double from[3] = { 1, 2, 0 }, to[3] = { 5, 5, 0 }, floor_[3] = { 0, 0, 0 }, roof[3] = { 6, 8, 0 };
    for (int kind = 0; kind < 8; kind++) {
        scene s;
        scene_begin(&s, 2, 0.01, cells, kind == 4 ? floor_ : kind == 5 ? NULL : from, kind == 4 ? roof : to);
        s.material.density = kind == 0 ? 300 : kind == 1 ? 1000 : 2500;
        s.fluid.viscosity = kind == 2 ? 0 : kind == 3 ? 1e6 : 1e-3;
        s.material.grain_diameter = kind == 6 ? 1e-8 : 1e-3; /* drag of 1e13 kg/m3/s */
        for (int f = 0; f < 4 && kind == 7; f++) /* nothing holds the fluid: grains fall through it and out */
            s.def.wall[f].kind = RP_OPEN;
        scene_start(&s);
        int64_t n;
        double before = 0, after = 0;
        for (int k = 0; k <= 20; k++) {
            const double *y = scene_field(&s, "position", 1, &n);
            for (int64_t i = 0; i < n; i++)
                *(k ? &after : &before) += k % 20 ? 0 : y[i] / (double)n;
            rp_step_stats stats;
            scene_step(&s, &stats);
            if (!stats.converged)
                print_message("case %d: residual %g after %d rounds\n", kind, stats.residual_max, (int)stats.iterations);
        }
        print_message("case %d: from %g to %g\n", kind, before, after);
        if (kind == 0)
            assert_true(after > before + 1e-3); /* light grains rise */
        else if (kind == 2 || kind == 6 || kind == 7) /* grains that fine fall with the water between them */
            assert_true(after < before - 1e-3);
        else if (kind == 1 || kind == 3 || kind == 4)
            assert_true(fabs(after - before) < 1e-4);
        scene_end(&s);
    }
    scene s;
    scene_begin(&s, 2, 0.01, cells, from, to);
    s.def.method_params = rp_params_data(s.params);
    s.def.fluid = NULL;
    assert_int_equal(rp_sim_create(&s.def, &s.sim), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "fluid:"));
    s.def.fluid = &s.fluid;
    s.fluid.wall[0].kind = RP_FLUID_VELOCITY;
    s.fluid.wall[0].velocity[0] = 1;
    assert_int_equal(rp_sim_create(&s.def, &s.sim), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "open face"));
    s.fluid.wall[0].kind = RP_FLUID_SLIP;
    s.fluid.density = -1;
    assert_int_equal(rp_sim_create(&s.def, &s.sim), RP_BAD_ARGUMENT);
    s.sim = NULL;
    scene_end(&s);
}

static void runs_out_of_memory(void **state)
{
    (void)state;
    const int cells[3] = { 4, 6, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 3, 0 };
    scene s;
    scene_begin(&s, 2, 0.01, cells, from, to);
    rp__base_fail_allocation(0);
    scene_start(&s);
    scene_step(&s, NULL);
    rp_sim_destroy(s.sim);
    int64_t asked = rp__base_fail_allocation(0);
    assert_true(asked > 20);
    for (int64_t n = 1; n <= asked; n++) {
        rp__base_fail_allocation(n);
        s.sim = NULL;
        rp_result result = rp_sim_create(&s.def, &s.sim);
        if (result == RP_OK)
            result = rp_sim_step(s.sim, NULL);
        assert_int_equal(result, RP_OUT_OF_MEMORY);
        rp_sim_destroy(s.sim);
    }
    rp__base_fail_allocation(0);
    s.sim = NULL;
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(momentum_is_exchanged), cmocka_unit_test(slopes),     cmocka_unit_test(stiff_drag),
        cmocka_unit_test(neutral_grains),        cmocka_unit_test(dry_limit),  cmocka_unit_test(threads_and_states),
        cmocka_unit_test(odd_input),             cmocka_unit_test(runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
