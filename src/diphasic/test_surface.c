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

/* The first mode of a tank, L wide and H deep: ω² = g k tanh(k H), k = π/L. The moment of the surface passes zero twice a period. Returns the
 * fastest that any of the fluid was, against that of the wave. */
static double slosh(int dim, int fine, double rate, double level, double *frequency)
{
    const int cells[3] = { 32 * fine, dim == 2 ? 24 * fine : 3, 24 * fine };
    const double length = 0.32, h = length / cells[0], depth = 0.1537, k = acos(-1) / length, slope = 0.05;
    double point[3] = { length / 2, dim == 2 ? level : 0, level }, normal[3] = { -slope, dim == 2 ? 1 : 0, dim == 3 ? 1 : 0 };
    double last = 0, first = -1, end = -1, fastest = 0, exact = sqrt(9.81 * k * tanh(k * depth));
    int crossings = 0, steps = (int)(2.4 * rate);
    rp_shape *fill;
    scene s;
    scene_begin(&s, dim, h, cells, NULL, NULL);
    s.fluid.viscosity = 0;
    s.def.frame_rate = rate;
    assert_int_equal(rp_shape_plane(point, normal, &fill), RP_OK);
    s.fluid.fill = fill;
    scene_start(&s);
    for (int step = 1; step <= steps; step++) {
        scene_step(&s, NULL);
        int64_t n;
        const double *x = scene_nodes(&s, "position", 0, &n), *d = scene_nodes(&s, "fluid_distance", 0, &n);
        double moment = 0;
        for (int64_t j = 0; j < n; j++)
            moment -= cos(k * x[j]) * fmax(-2 * h, fmin(2 * h, d[j]));
        if (step > 1 && moment * last < 0) {
            double t = (step - 1 + last / (last - moment)) / rate;
            first = first < 0 ? t : first, end = t, crossings++;
        }
        last = moment;
        fastest = fmax(fastest, fastest_fluid(&s));
        if (fastest > 100)
            break;
    }
    *frequency = crossings > 1 ? acos(-1) * (crossings - 1) / (end - first) / exact : 0;
    scene_end(&s);
    rp_shape_release(fill);
    return fastest / (0.5 * slope * length * exact);
}

static void sloshing(void **state)
{
    (void)state;
    static const struct {
        int dim, fine;
        double rate, most;
    } run[] = { { 2, 1, 200, 0.005 }, { 2, 1, 100, 0.01 }, { 3, 1, 200, 0.005 } };
    double frequency;
    for (int r = 0; r < 3; r++) {
        double fastest = slosh(run[r].dim, run[r].fine, run[r].rate, 0.1537, &frequency);
        if (!(fabs(frequency - 1) <= run[r].most) || !(fastest <= 5))
            fail_msg("%dD, %d times as fine: frequency %.4f of the exact one, fastest %.3g of the wave", run[r].dim, run[r].fine, frequency, fastest);
    }
    slosh(2, 1, 100, 0.1337, &frequency); /* two cells less of water are seen */
    print_message("two cells less of water: frequency %.4f of the exact one\n", frequency);
    assert_true(fabs(frequency - 1) > 0.01);
}

/* A column of water, twice as high as wide, is let go [martin1952]: when it passes places on the floor, since the first of them: in the
 * experiment a gate has to be drawn before. */
static void dam_break(void **state)
{
    (void)state;
    /* widths against t √(2g/a) */
    static const double seen[][2] = { { 1.44, 1.19 }, { 2.11, 1.83 }, { 3.00, 2.51 }, { 4.11, 3.33 } };
    enum { FINE = 12 };
    const int cells[3] = { 5 * FINE, 3 * FINE, 1 };
    const double a = 0.12, h = a / FINE, corner[3] = { 0, 0, 0 }, half[3] = { a, 2 * a, 1 };
    scene s;
    scene_begin(&s, 2, h, cells, NULL, NULL);
    rp_shape *fill;
    assert_int_equal(rp_shape_box(corner, half, 0, &fill), RP_OK);
    s.fluid.fill = fill;
    s.def.wall[2].kind = RP_SLIP;
    s.def.frame_rate = 400;
    scene_start(&s);
    double last = 1, first = 0;
    int next = 0;
    for (int step = 1; step <= 200 && next < 4; step++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        int64_t n;
        const double *d = scene_nodes(&s, "fluid_distance", 0, &n);
        double front = 0, late = sqrt(2 * 9.81 / a) / s.def.frame_rate;
        for (int i = 0; i < cells[0]; i++)
            if (d[i] < 0 && d[i + 1] >= 0)
                front = (i + d[i] / (d[i] - d[i + 1])) * h / a;
        assert_true(fabs(scene_extra(&stats, "fluid_volume") - 2 * a * a) <= 0.002 * a * a);
        if (front >= seen[next][0]) {
            double t = late * (step - (front - seen[next][0]) / (front - last)), exact = seen[next][1] - seen[0][1];
            first = next == 0 ? t : first;
            if (!(fabs(t - first - exact) <= 0.03 * exact))
                fail_msg("front at %g widths %g later, seen %g later", seen[next][0], t - first, exact);
            next++;
        }
        last = front;
    }
    assert_int_equal(next, 4);
    scene_end(&s);
    rp_shape_release(fill);
}

/* A bed half under water, at rest: grains carry their weight above the level, their weight under water below. */
static void half_under_water(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 3; k++) {
            const int cells[3] = { 5, dim == 2 ? 14 : 4, 14 };
            const double from[3] = { 0, 0, 0 }, to[3] = { 5, dim == 2 ? 10 : 4, 10 }, h = 0.01, level = h * (5 + 0.4 * k);
            scene s;
            rp_step_stats stats;
            scene_begin(&s, dim, h, cells, from, to);
            rp_shape *fill = below(dim, level);
            s.fluid.fill = fill;
            scene_start(&s);
            for (int step = 0; step < 100; step++)
                scene_step(&s, &stats);
            int64_t n;
            const double *z = scene_nodes(&s, "position", dim - 1, &n), *p = scene_nodes(&s, "fluid_pressure", 0, &n),
                         *c = scene_nodes(&s, "pressure", 0, &n);
            double moved = scene_fastest(&s), pore = 0, contact = 0, weight = s.material.density * 9.81;
            for (int64_t j = 0; j < n; j++) {
                double depth = 10 * h - z[j], exact = weight * depth - 9810 * fmax(0, level - z[j]);
                if (z[j] < level - 1.001 * h)
                    pore = fmax(pore, fabs(p[j] - 9810 * (level - z[j])));
                if (depth > 1.001 * h && fabs(z[j] - level) > 1.001 * h)
                    contact = fmax(contact, fabs(c[j] - exact));
            }
            assert_true(moved <= 1e-5);
            assert_true(pore <= 0.01);
            assert_true(contact <= 2e-3 * weight * 10 * h);
            scene_end(&s);
            rp_shape_release(fill);
        }
}

/* A column that collapses over a film of water goes as one in a fluid of hardly any weight: above a surface grains are dry. */
static void dry_column(void **state)
{
    (void)state;
    double centre[2] = { 0 }, front[2] = { 0 };
    for (int film = 0; film < 2; film++) {
        const int cells[3] = { 30, 12, 1 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 6, 8, 0 };
        scene s;
        scene_begin(&s, 2, 0.01, cells, from, to);
        if (film)
            s.fluid.level = 1e-5;
        else
            s.fluid.density = 1e-3, s.fluid.viscosity = 1e-9;
        s.def.frame_rate = 250;
        scene_start(&s);
        for (int step = 0; step < 80; step++)
            scene_step(&s, NULL);
        int64_t n;
        const double *x = scene_field(&s, "position", 0, &n);
        for (int64_t i = 0; i < n; i++)
            centre[film] += x[i] / (double)n, front[film] = fmax(front[film], x[i]);
        scene_end(&s);
    }
    assert_true(front[0] > 0.09);
    if (!(fabs(centre[1] / centre[0] - 1) <= 0.005) || !(fabs(front[1] / front[0] - 1) <= 0.02))
        fail_msg("centre at %g m in place of %g, front at %g in place of %g", centre[1], centre[0], front[1], front[0]);
}

/* Grains fall through the air as if nothing were there, dive in, and raise the level by their volume; the fluid keeps its own. */
static void poured_sand(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 10, dim == 2 ? 20 : 8, 20 };
        const double from[3] = { 3, dim == 2 ? 14 : 2, 14 }, to[3] = { 7, dim == 2 ? 17 : 6, 17 }, h = 0.01, level = 8.3 * h;
        scene s;
        rp_step_stats stats;
        scene_begin(&s, dim, h, cells, from, to);
        rp_shape *fill = below(dim, level);
        s.fluid.fill = fill;
        s.fluid.drag = RP_DRAG_GIDASPOW;
        s.def.frame_rate = 250;
        scene_start(&s);
        double volume = 0, ground = h * cells[0] * (dim == 3 ? h * cells[1] : 1), before = 0;
        for (int step = 0; step < 400; step++) {
            scene_step(&s, &stats);
            int64_t n;
            const double *v = scene_field(&s, "velocity", dim - 1, &n);
            if (step == 9)
                for (int64_t i = 0; i < n; i++)
                    assert_true(fabs(v[i] + 9.81 * 10 / 250) <= 1e-4 * 9.81 * 10 / 250);
            before = step == 0 ? scene_extra(&stats, "fluid_volume") : before;
        }
        int64_t n;
        const double *room = scene_field(&s, "volume", 0, &n);
        for (int64_t i = 0; i < n; i++)
            volume += room[i];
        double after = scene_extra(&stats, "fluid_volume"), risen = scene_extra(&stats, "fluid_level") - level;
        assert_true(fabs(before - level * ground) <= 1e-12 && fabs(after - before) <= 1e-14);
        assert_true(fabs(risen * ground - volume) <= 0.01 * volume);
        scene_end(&s);
        rp_shape_release(fill);
    }
}

/* Without a floor a column of water falls as a stone does; and fed from below at a speed it rises at that speed. */
static void in_and_out(void **state)
{
    (void)state;
    for (int fed = 0; fed < 2; fed++) {
        const int cells[3] = { 6, 24, 1 };
        const double h = 0.01, level = 12.3 * h;
        scene s;
        rp_step_stats stats;
        scene_begin(&s, 2, h, cells, NULL, NULL);
        rp_shape *fill = below(2, level);
        s.fluid.fill = fill;
        s.fluid.wall[2].kind = fed ? RP_FLUID_VELOCITY : RP_FLUID_PRESSURE;
        s.fluid.wall[2].velocity[1] = fed ? 0.1 : 0;
        s.def.frame_rate = 500;
        scene_start(&s);
        for (int step = 0; step < 50; step++)
            scene_step(&s, &stats);
        double t = 0.1, moved = scene_extra(&stats, "fluid_volume") / (6 * h) - level, exact = fed ? 0.1 * t : -0.5 * 9.81 * t * t;
        assert_true(fabs(moved - exact) <= 0.03 * fabs(exact));
        scene_end(&s);
        rp_shape_release(fill);
    }
}

/* Sand that falls into water: the same bytes for any number of threads, and from a saved state on. */
static void threads_and_states(void **state)
{
    (void)state;
    double *first = NULL;
    for (int run = 0; run < 3; run++) {
        const int cells[3] = { 8, 8, 14 };
        const double from[3] = { 2, 2, 5 }, to[3] = { 6, 5, 9 }, h = 0.01;
        rp_shape *fill = below(3, 5.3 * h);
        scene s;
        scene_begin(&s, 3, h, cells, from, to);
        s.fluid.fill = fill;
        s.def.threads = run == 1 ? 4 : 1;
        scene_start(&s);
        for (int k = 0; k < 14; k++) {
            if (run == 2 && k == 6) {
                rp_state kept = { 0 };
                assert_int_equal(rp_sim_save(s.sim, &kept), RP_OK);
                rp_sim_destroy(s.sim);
                scene_start(&s);
                assert_int_equal(rp_sim_restore(s.sim, &kept), RP_OK);
                rp_state_free(&kept);
            }
            scene_step(&s, NULL);
        }
        int64_t n, m;
        const double *x = scene_field(&s, "position", 2, &n), *d = scene_nodes(&s, "fluid_distance", 0, &m);
        if (!first) {
            first = malloc((size_t)(n + m) * sizeof *first);
            memcpy(first, x, (size_t)n * sizeof *first);
            memcpy(first + n, d, (size_t)m * sizeof *first);
        } else {
            assert_memory_equal(first, x, (size_t)n * sizeof *first);
            assert_memory_equal(first + n, d, (size_t)m * sizeof *first);
        }
        scene_end(&s);
        rp_shape_release(fill);
    }
    free(first);
}

/* A box that is told to be full has no surface, and the answer of a box that nothing was told of. */
static void full_box(void **state)
{
    (void)state;
    double last[2];
    for (int told = 0; told < 2; told++) {
        const int cells[3] = { 12, 8, 1 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, 6, 0 };
        rp_shape *fill = below(2, 1);
        scene s;
        scene_begin(&s, 2, 0.01, cells, from, to);
        s.fluid.fill = told ? fill : NULL;
        scene_start(&s);
        for (int k = 0; k < 10; k++)
            scene_step(&s, NULL);
        last[told] = scene_field(&s, "position", 0, NULL)[0];
        scene_end(&s);
        rp_shape_release(fill);
    }
    assert_true(last[0] == last[1]);
}

static void refused(scene *s, const char *word)
{
    s->def.method_params = rp_params_data(s->params);
    rp_result result = rp_sim_create(&s->def, &s->sim);
    if (result == RP_OK || !strstr(rp_last_error(), word))
        fail_msg("no word of '%s': %s", word, result == RP_OK ? "taken" : rp_last_error());
}

static void bad_input(void **state)
{
    (void)state;
    const int cells[3] = { 6, 6, 1 };
    for (int k = 0; k < 5; k++) {
        rp_shape *fill = below(2, -1);
        scene s;
        scene_begin(&s, 2, 0.01, cells, NULL, NULL);
        if (k == 0)
            s.fluid.level = 0.07, refused(&s, "lies between");
        if (k == 1)
            s.fluid.level = -0.01, refused(&s, "lies between");
        if (k == 2)
            s.fluid.fill = fill, refused(&s, "fills nothing");
        if (k == 3)
            s.fluid.fill = fill, s.fluid.level = 0.03, refused(&s, "one of them");
        if (k == 4) {
            s.fluid.level = 0.03;
            s.fluid.wall[3].kind = RP_FLUID_PRESSURE, s.fluid.wall[3].pressure = 10;
            refused(&s, "meets the air");
        }
        rp_params_destroy(s.params);
        rp_shape_release(s.shape);
        rp_shape_release(fill);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(still_water),        cmocka_unit_test(sloshing),   cmocka_unit_test(dam_break),
        cmocka_unit_test(half_under_water),   cmocka_unit_test(dry_column),  cmocka_unit_test(poured_sand), cmocka_unit_test(in_and_out),
        cmocka_unit_test(threads_and_states), cmocka_unit_test(full_box),   cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
