/* Loose and dense packings, full cells, and seepage that lifts a bed. */
#include "diphasic/scene_tests.h"

typedef struct outcome {
    double front, late, pressure, earliest; /* run-out after 0.1 and 0.3 s, mean and first pressure under the column */
} outcome;

/* A column of 0.225 mm grains in a liquid of 12 mPa s, packed to phi0. */
static outcome column(double phi0, const char *dilatancy)
{
    const int cells[3] = { 24, 14, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 12, 10, 0 };
    scene s;
    scene_begin(&s, 2, 5e-3, cells, from, to);
    s.material.volume_fraction = 0.64, s.material.friction = 0.4, s.material.grain_diameter = 0.225e-3;
    s.grains.fill = phi0 / 0.64;
    s.grains.per_cell = 9;
    s.fluid.viscosity = 0.012;
    s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    for (int f = 0; f < 4; f++)
        s.fluid.wall[f].kind = RP_FLUID_NO_SLIP;
    s.def.frame_rate = 100;
    scene_set(&s, "dilatancy", dilatancy);
    scene_set(&s, "max_rounds", "200");
    scene_start(&s);
    outcome o = { 0 };
    for (int k = 1; k <= 30; k++) {
        scene_step(&s, NULL);
        int64_t n;
        const double *x = scene_field(&s, "position", 0, &n);
        double front = 0;
        for (int64_t i = 0; i < n; i++)
            front = fmax(front, x[i] / 0.06);
        o.front = k == 10 ? front : o.front;
        o.late = front;
        const double *at[2] = { scene_nodes(&s, "position", 0, &n), scene_nodes(&s, "position", 1, &n) };
        const double *p = scene_nodes(&s, "fluid_pressure", 0, &n);
        for (int64_t j = 0; j < n && k <= 10; j++)
            if (fabs(at[0][j] - 0.04) < 1e-9 && at[1][j] < 1e-9) {
                o.pressure += p[j] / 10;
                o.earliest = k == 2 ? p[j] : o.earliest;
            }
    }
    scene_end(&s);
    print_message("phi0 %g, dilatancy %s: front %.3f and %.3f, pressure %.0f Pa\n", phi0, dilatancy, o.front, o.late, o.pressure);
    return o;
}

static void loose_and_dense(void **state)
{
    (void)state;
    outcome loose = column(0.55, "roux_radjai"), dense = column(0.60, "roux_radjai");
    assert_true(loose.pressure > 0); /* it contracts, and presses on the liquid */
    assert_true(dense.pressure < 0); /* it has to draw liquid in */
    assert_true(loose.front > 1.2);
    assert_true(dense.front < 1.05); /* it creeps, by less than the cells can tell */
    assert_true(loose.late > 1.6 * dense.late);
    /* without dilatancy there is no difference worth the name */
    outcome plain = column(0.64, "none");
    assert_true(plain.front > 1.05);
}

/* Fluid pressed up through a bed lifts it when the pressure drops by more than the weight of the bed under the fluid, G = φ Δρ g. */
static double lifted(double part)
{
    const int cells[3] = { 4, 16, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 10, 0 }, critical = 0.6 * 1500 * 9.81;
    scene s;
    scene_begin(&s, 2, 0.01, cells, from, to);
    s.def.wall[2].kind = RP_SLIP;
    s.material.grain_diameter = 5e-4;
    s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    s.fluid.wall[2].kind = s.fluid.wall[3].kind = RP_FLUID_PRESSURE;
    s.fluid.wall[2].pressure = part * critical * 0.1;
    scene_start(&s);
    double first = 0, last = 0;
    for (int k = 0; k < 60; k++) {
        scene_step(&s, NULL);
        int64_t n;
        const double *y = scene_field(&s, "position", 1, &n);
        last = 0;
        for (int64_t i = 0; i < n; i++)
            last += y[i] / (double)n;
        first = k ? first : last;
    }
    scene_end(&s);
    return last - first;
}

static void piping(void **state)
{
    (void)state;
    double below = lifted(0.98), beyond = lifted(1.02);
    print_message("98 %% of the critical gradient lifts by %g mm, 102 %% by %g mm\n", 1e3 * below, 1e3 * beyond);
    assert_true(fabs(below) <= 1e-5);
    assert_true(beyond >= 5e-5);
}

/* Sand poured into a tank: what the jet brings to the floor is spread, not packed too tightly; and heaps are full. */
static void poured(void **state)
{
    (void)state;
    const int cells[3] = { 30, 24, 1 };
    const double h = 6.4e-3, at[3] = { 15 * h, 22 * h, 0 }, half[3] = { 2.5 * h, 1.4 * h, 1 };
    scene s;
    scene_begin(&s, 2, h, cells, NULL, NULL);
    rp_emitter_def spout = rp_default_emitter_def();
    assert_int_equal(rp_shape_box(at, half, 0, &spout.shape), RP_OK);
    spout.name = "spout", spout.velocity[1] = -0.15, spout.rate = 2.6e-3, spout.per_cell = 9, spout.fill = 0.6;
    s.def.emitters = &spout, s.def.emitter_count = 1;
    s.material.grain_diameter = 8e-4, s.fluid.drag = RP_DRAG_GIDASPOW;
    s.def.substeps = 0, s.def.frame_rate = 25;
    scene_start(&s);
    rp_step_stats stats = { 0 };
    while (rp_sim_time(s.sim) < 1.6)
        scene_step(&s, &stats);
    int64_t n;
    const double *phi = scene_nodes(&s, "volume_fraction", 0, &n);
    double most = 0;
    for (int64_t j = 0; j < n; j++)
        most = fmax(most, phi[j]);
    print_message("poured: %.3f of the grains too tight, at most %.2f of what is possible\n", stats.volume_error, most / 0.6);
    assert_true(stats.volume_error <= 0.12); /* particles that arrive by chance make some 0.07 */
    assert_true(most <= 2.2 * 0.6);
    scene_end(&s);
    rp_shape_release(spout.shape);
}

/* Volume that is too full in the mean over the nine nodes around each (1 2 1 along both axes), a part of all. */
static double smooth_excess(const scene *s, const int cells[3], double largest)
{
    int64_t n, wide = cells[0] + 1;
    const double *phi = scene_nodes(s, "volume_fraction", 0, &n);
    double over = 0, all = 0;
    for (int64_t j = 1; j < cells[1]; j++)
        for (int64_t i = 1; i < cells[0]; i++) {
            double mean = 0;
            for (int k = 0; k < 9; k++)
                mean += phi[(j + k / 3 - 1) * wide + i + k % 3 - 1] * (k % 3 == 1 ? 2 : 1) * (k / 3 == 1 ? 2 : 1) / 16;
            over += fmax(0, mean - largest), all += mean;
        }
    return over / all;
}

/* A column that collapses in long steps, so that grains are stretched by up to a tenth in each: (1 + dt ∇u) would lose the square of it, 1.8 % in all. */
static void long_steps_keep_volume(void **state)
{
    (void)state;
    const int cells[3] = { 16, 12, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 11, 0 };
    scene s;
    scene_begin(&s, 2, 0.02, cells, from, to);
    s.material.density = 1800;
    s.material.grain_diameter = 2e-3;
    s.fluid.viscosity = 0.04;
    s.grains.per_cell = 9;
    s.def.wall[2].kind = RP_SLIP;
    s.def.frame_rate = 30;
    scene_start(&s);
    for (int k = 0; k < 24; k++)
        scene_step(&s, NULL);
    double over = smooth_excess(&s, cells, s.material.volume_fraction);
    print_message("long steps: %.4f too full\n", over);
    assert_true(over <= 0.005);
    scene_end(&s);
}

/* A floor that comes up through two cells under a layer of grains: they ride on it, and are not pressed into each other as it nears a node. */
static void rising_floor_keeps_volume(void **state)
{
    (void)state;
    const int cells[3] = { 12, 12, 1 };
    const double none[3] = { 0 }, half[3] = { 1, 0.12, 1 }, from[3] = { 0, 3, 0 }, to[3] = { 6, 6, 0 };
    scene s;
    rp_shape *slab = NULL;
    scene_begin(&s, 2, 0.04, cells, from, to);
    assert_int_equal(rp_shape_box(none, half, 0, &slab), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "floor", body.shape = slab;
    assert_int_equal(rp_motion_expression("0.24, 0.05 * t, 0, 0, 0, 0", &body.motion), RP_OK);
    s.def.bodies = &body, s.def.body_count = 1;
    s.def.wall[3].kind = RP_OPEN;
    s.material.grain_diameter = 8e-3;
    s.def.frame_rate = 24;
    scene_start(&s);
    double most = 0;
    for (int k = 0; k < 40; k++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        most = fmax(most, stats.volume_error);
    }
    print_message("rising floor: at most %.4f too full\n", most);
    assert_true(most <= 0.05); /* 0.12 if grains met the floor inside it alone */
    scene_end(&s);
    rp_motion_release(body.motion);
    rp_shape_release(slab);
}

/* A packed layer of grains placed at random, some cells too full, that slides in a thick liquid: these make room at the rate of shear at the end of the
 * step. At that of the step before they draw the harder the more grains press on each other, and rounds are 42 a step. */
static void full_cells_make_room(void **state)
{
    (void)state;
    const int cells[3] = { 4, 14, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 10, 0 }, tilt = 25 * 0.017453292519943295;
    scene s;
    scene_begin(&s, 2, 0.49e-3, cells, from, to);
    scene_periodic(&s, 0);
    s.def.gravity[0] = 9.81 * sin(tilt), s.def.gravity[1] = -9.81 * cos(tilt);
    s.def.frame_rate = 200;
    s.material.volume_fraction = 0.64, s.material.friction = 0.425, s.material.friction_dynamic = 0.45, s.material.grain_diameter = 0.16e-3;
    s.grains.sampling = RP_JITTERED, s.grains.per_cell = 9;
    s.fluid.density = 1041, s.fluid.viscosity = 0.096, s.fluid.drag = RP_DRAG_CARMAN_KOZENY, s.fluid.wall[2].kind = RP_FLUID_NO_SLIP;
    scene_set(&s, "viscous_number", "0.004");
    scene_start(&s);
    double rounds = 0;
    for (int k = 0; k < 300; k++) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        rounds += (double)stats.iterations / 300;
    }
    print_message("full cells that slide: %.1f rounds a step\n", rounds);
    assert_true(rounds <= 28);
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(long_steps_keep_volume), cmocka_unit_test(rising_floor_keeps_volume),
                                        cmocka_unit_test(loose_and_dense), cmocka_unit_test(piping), cmocka_unit_test(poured),
                                        cmocka_unit_test(full_cells_make_room) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
