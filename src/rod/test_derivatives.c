/* Derivatives against differences, the band solver against a textbook, frames, sections, rest shapes, bad input. */
#include "rod/static_tests.h"

#include "math/random.h"

#define PI 3.14159265358979323846

/* A rod in a random shape, with random angles and a twist. */
static rp__rod *random_rod(uint64_t seed, int nodes, rp__rod_end root)
{
    double x[3 * 40];
    rp__vec3 at = { 0, 0, 0 };
    for (int i = 0; i < nodes; i++) {
        rp__vec3_store(x + 3 * i, at);
        rp__vec3 e = { 0.1 + 0.05 * rp__random_normal(seed, 1, (uint64_t)i), 0.05 * rp__random_normal(seed, 2, (uint64_t)i),
                       0.05 * rp__random_normal(seed, 3, (uint64_t)i) };
        at = rp__vec3_add(at, e);
    }
    rp__rod_def def = rp__rod_default_def();
    def.nodes = x;
    def.node_count = nodes;
    def.section = section_of(300, 1, 2.5, 0.7, 1);
    def.end[0] = root;
    def.curvature[0] = 1.5;
    def.curvature[1] = -0.7;
    def.twist = 0.9;
    rp__rod *rod = NULL;
    assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
    for (int j = 0; j < rod->edges; j++)
        rod->theta[j] = 0.4 * rp__random_normal(seed, 4, (uint64_t)j);
    return rod;
}

/* Energy after unknown `i` has moved by `change`; the rod is put back. */
static double energy_at(rp__rod *rod, rp__rod *scratch, int i, double change, double *force)
{
    int n = rp__rod_unknowns(rod);
    double step[4 * 41 + 3] = { 0 };
    copy_state(scratch, rod);
    step[i] = change;
    assert_true(rp__rod_move(scratch, step));
    if (force)
        rp__rod_force(scratch, force);
    assert_true(n <= 4 * 41 + 3);
    return rp__rod_energy(scratch);
}

static void test_force_is_the_slope_of_energy(void **state)
{
    (void)state;
    rp__rod *rod = random_rod(1, 9, RP_ROD_FREE), *scratch = random_rod(1, 9, RP_ROD_FREE);
    double force[200];
    rp__rod_force(rod, force);
    for (int i = 0; i < rp__rod_unknowns(rod); i++) {
        double h = 1e-5, slope = (energy_at(rod, scratch, i, h, NULL) - energy_at(rod, scratch, i, -h, NULL)) / (2 * h);
        assert_true(fabs(slope + force[i]) < 2e-6 * (1 + fabs(force[i])));
    }
    rp__rod_destroy(rod);
    rp__rod_destroy(scratch);
}

static void test_stiffness_is_the_slope_of_force(void **state)
{
    (void)state;
    rp__rod *rod = random_rod(2, 9, RP_ROD_FREE), *scratch = random_rod(2, 9, RP_ROD_FREE);
    int n = rp__rod_unknowns(rod);
    double *band = RP_NEW_ARRAY(double, n * RP_ROD_ROW), *slope = RP_NEW_ARRAY(double, n * n), up[200], down[200], h = 1e-5, scale = 0;
    memset(band, 0, (size_t)n * RP_ROD_ROW * sizeof *band);
    rp__rod_stiffen(rod, RP_ROD_FULL, 1, 1, band);
    for (int j = 0; j < n; j++) {
        energy_at(rod, scratch, j, h, up);
        energy_at(rod, scratch, j, -h, down);
        for (int i = 0; i < n; i++)
            slope[i * n + j] = -(up[i] - down[i]) / (2 * h), scale = fmax(scale, fabs(slope[i * n + j]));
    }
    /* Time-parallel frames give an antisymmetric part (holonomy) to the difference of forces: it is no part of the matrix. */
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double mine = i - j <= RP_ROD_BAND ? band[i * RP_ROD_ROW + j - i + RP_ROD_BAND] : 0;
            assert_true(fabs(0.5 * (slope[i * n + j] + slope[j * n + i]) - mine) < 1e-7 * scale);
        }
    rp__base_free(band);
    rp__base_free(slope);
    rp__rod_destroy(rod);
    rp__rod_destroy(scratch);
}

/* At rest, where strains are those of the rest shape, both matrices are the same but for tension, which is none. */
static void test_gauss_newton_is_exact_at_rest(void **state)
{
    (void)state;
    rp__rod *rod = random_rod(3, 12, RP_ROD_CLAMPED);
    int n = rp__rod_unknowns(rod);
    for (int i = 0; i + 1 < rod->edges; i++) {
        double s[3];
        rp__rod_strains(rod, i, s);
        rod->rest_curvature[2 * i] = s[0];
        rod->rest_curvature[2 * i + 1] = s[1];
        rod->rest_twist[i] = s[2];
    }
    double *a = rp__base_alloc_zero((size_t)n * RP_ROD_ROW * sizeof(double)), *b = rp__base_alloc_zero((size_t)n * RP_ROD_ROW * sizeof(double));
    rp__rod_stiffen(rod, RP_ROD_FULL, 1, 1, a);
    rp__rod_stiffen(rod, RP_ROD_GAUSS_NEWTON, 1, 1, b);
    for (int i = 0; i < n * RP_ROD_ROW; i++)
        assert_true(fabs(a[i] - b[i]) < 1e-9 * (1 + fabs(a[i])));
    rp__base_free(a);
    rp__base_free(b);
    rp__rod_destroy(rod);
}

static void test_band_solver(void **state)
{
    (void)state;
    for (int n = 1; n < 60; n += 7) {
        double *band = rp__base_alloc_zero((size_t)n * RP_ROD_ROW * sizeof(double)), *ref = RP_NEW_ARRAY(double, n * RP_ROD_ROW);
        double *kept = RP_NEW_ARRAY(double, n * RP_ROD_ROW), x[64], y[64];
        for (int i = 0; i < n; i++)
            for (int j = i < RP_ROD_BAND ? 0 : i - RP_ROD_BAND; j <= i; j++)
                band[i * RP_ROD_ROW + j - i + RP_ROD_BAND] = i == j ? 25 : rp__random_normal(9, (uint64_t)i, (uint64_t)j);
        memcpy(ref, band, (size_t)n * RP_ROD_ROW * sizeof(double));
        memcpy(kept, band, (size_t)n * RP_ROD_ROW * sizeof(double));
        assert_true(rp__rod_band_factorise(band, n));
        assert_true(rp__rod_band_factorise_ref(ref, n));
        for (int i = 0; i < n; i++)
            for (int c = i < RP_ROD_BAND ? RP_ROD_BAND - i : 0; c < RP_ROD_ROW; c++)
                assert_true(fabs(band[i * RP_ROD_ROW + c] - ref[i * RP_ROD_ROW + c]) < 1e-13);
        for (int i = 0; i < n; i++)
            x[i] = rp__random_normal(10, 0, (uint64_t)i);
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int j = 0; j < n; j++) {
                int hi = i > j ? i : j, lo = i > j ? j : i;
                y[i] += hi - lo <= RP_ROD_BAND ? kept[hi * RP_ROD_ROW + lo - hi + RP_ROD_BAND] * x[j] : 0;
            }
        }
        rp__rod_band_solve(band, n, y);
        for (int i = 0; i < n; i++)
            assert_true(fabs(x[i] - y[i]) < 1e-12);
        /* beginning at the first row that is not zero gives the same bytes */
        double p[64] = { 0 }, q[64] = { 0 };
        p[n / 2] = q[n / 2] = 1;
        rp__rod_band_solve(band, n, p);
        rp__rod_band_solve_from(band, n, n / 2, q);
        assert_memory_equal(p, q, sizeof p);
        double three[3 * 64] = { 0 };
        three[3 * (n / 2) + 1] = 1;
        rp__rod_band_solve3(band, n, n / 2, three);
        for (int i = 0; i < n; i++)
            assert_true(fabs(three[3 * i + 1] - p[i]) < 1e-15 && three[3 * i] == 0 && three[3 * i + 2] == 0);
        band[0] = band[RP_ROD_BAND] = -1;
        assert_false(rp__rod_band_factorise(band, n));
        rp__base_free(band);
        rp__base_free(ref);
        rp__base_free(kept);
    }
}

/* A rigid rotation in many steps changes no strain: the reference twist is carried along, also beyond a turn. */
static void test_rotations_strain_nothing(void **state)
{
    (void)state;
    rp__rod *rod = random_rod(5, 15, RP_ROD_FREE);
    double before = rp__rod_energy(rod), step[200];
    for (int k = 0; k < 400; k++) { /* four turns about a tilted axis */
        rp__quat r = rp__quat_from_axis(rp__vec3_make(1, 2, -0.5), 8 * PI / 400);
        /* the angle of an edge follows the rotation less the transport: rp__rod_drive knows it for ends, here as strains must show it */
        memset(step, 0, sizeof step);
        for (int i = 0; i <= rod->edges; i++)
            rp__vec3_store(step + 4 * i, rp__vec3_sub(rp__quat_rotate(r, rp__rod_node(rod, i)), rp__rod_node(rod, i)));
        rp__vec3 m1[16], m2;
        for (int j = 0; j < rod->edges; j++)
            rp__rod_frame(rod, j, &m1[j], &m2);
        assert_true(rp__rod_move(rod, step));
        for (int j = 0; j < rod->edges; j++) {
            rp__vec3 want = rp__quat_rotate(r, m1[j]), have, other;
            rp__rod_frame(rod, j, &have, &other);
            rod->theta[j] += atan2(rp__vec3_dot(want, other), rp__vec3_dot(want, have));
        }
    }
    assert_true(fabs(rp__rod_energy(rod) - before) < 1e-9 * before);
    rp__rod_destroy(rod);
}

/* A driven clamp follows its pose: the frame of the ghost turns with it, and a clamp that turns about its own axis only twists. */
static void test_driven_clamp(void **state)
{
    (void)state;
    const double director[3] = { 1, 0, 0 };
    rp__rod *rod = straight_rod(6, rp__vec3_make(0, 0, -1), section_of(1e4, 1, 1, 1, 1), RP_ROD_CLAMPED, RP_ROD_FREE, director);
    rp__pose from = rp__pose_identity();
    double step[200] = { 0 };
    rp__vec3 m1, m2;
    for (int k = 1; k <= 100; k++) {
        rp__pose to = { rp__vec3_make(0.01 * k, 0, 0), rp__quat_from_vector(rp__vec3_make(0.013 * k, 0.02 * k, 0.03 * k)) };
        rp__rod_drive(rod, 0, &from, &to, 0.1);
        memset(step, 0, sizeof step);
        for (int i = 0; i <= rod->edges; i++) { /* the other nodes go along rigidly */
            rp__vec3 x = rp__rod_node(rod, i);
            rp__vec3_store(step + 4 * i, rp__vec3_sub(rp__pose_apply(&to, rp__pose_inverse_apply(&from, x)), x));
        }
        for (int c = 0; c < 3; c++) {
            assert_true(fabs(step[c] - 0.1 * rod->prescribed[0][c]) < 1e-14);
            assert_true(fabs(step[4 + c] - 0.1 * rod->prescribed[0][4 + c]) < 1e-14);
        }
        step[3] = 0.1 * rod->prescribed[0][3];
        assert_true(rp__rod_move(rod, step));
        rp__rod_frame(rod, 0, &m1, &m2);
        rp__vec3 want = rp__quat_rotate(to.orientation, rp__vec3_load(director));
        assert_true(rp__vec3_norm(rp__vec3_sub(m1, want)) < 1e-12);
        from = to;
    }
    rp__rod_destroy(rod);
}

/* J of an ellipse and of a rectangle: circle, thin strip, square (0.1406 a⁴ by the series of St Venant). */
static void test_sections(void **state)
{
    (void)state;
    rp__rod_section c = rp__rod_section_ellipse(2.7, 0.35, 1, 1, 1); /* G = 1 */
    assert_true(fabs(c.twist - PI / 2) < 1e-12 && fabs(c.bend[0] - 2.7 * PI / 4) < 1e-12);
    assert_true(fabs(c.twist / c.bend[0] - 1 / 1.35) < 1e-12);
    rp__rod_section e = rp__rod_section_ellipse(2.7, 0.35, 1, 10, 1);
    assert_true(fabs(e.twist - PI * 1000 / 101) < 1e-10); /* the polar moment would be 25.5 times as much */
    assert_true(e.bend[0] > 99 * e.bend[1]);
    rp__rod_section q = rp__rod_section_rectangle(2.7, 0.35, 1, 1, 1), s = rp__rod_section_rectangle(2.7, 0.35, 1, 0.01, 1);
    assert_true(fabs(q.twist - 0.1406) < 0.005 * 0.1406);
    assert_true(fabs(s.twist - 1e-6 / 3) < 0.01 * 1e-6 / 3);
    assert_true(s.bend[1] > s.bend[0]); /* wide along m2 */
}

/* A curved rod whose rest shape is sag-free is in balance under gravity where it is, to rounding; under none it is not. */
static void test_sag_free(void **state)
{
    (void)state;
    double x[3 * 21];
    for (int i = 0; i <= 20; i++) {
        double s = i / 20.0;
        x[3 * i] = 0.3 * sin(3 * s), x[3 * i + 1] = 0.2 * s * s, x[3 * i + 2] = -0.7 * s;
    }
    rp__rod_def def = rp__rod_default_def();
    def.nodes = x;
    def.node_count = 21;
    def.section = section_of(500, 0.2, 0.5, 0.3, 0.4);
    def.end[0] = RP_ROD_CLAMPED;
    def.rest = RP_ROD_SAG_FREE;
    def.gravity[2] = -9.81;
    rp__rod *rod = NULL;
    assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
    double *load = weight(rod, 2, -9.81 * 0.4), residual[200];
    assert_true(imbalance(rod, NULL, load, residual) < 1e-11);
    load[4 * 20 + 2] = 0;
    assert_true(imbalance(rod, NULL, load, residual) > 1e-2);
    rp__base_free(load);
    rp__rod_destroy(rod);
    def.end[0] = RP_ROD_FREE;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
}

static void test_bad_rods(void **state)
{
    (void)state;
    rp__rod *rod = NULL;
    double same[9] = { 0, 0, 0, 1, 0, 0, 1, 0, 0 }, back[9] = { 0, 0, 0, 1, 0, 0, 0.5, 0, 0 }, bad[6] = { 0, 0, 0, NAN, 0, 0 };
    rp__rod_def def = rp__rod_default_def();
    def.section = section_of(1, 1, 1, 1, 1);
    def.nodes = same;
    def.node_count = 1;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.node_count = 3;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.nodes = back;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.nodes = bad;
    def.node_count = 2;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.nodes = same;
    def.section.stretch = 0;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.section.stretch = 1;
    def.end[0] = RP_ROD_CLAMPED;
    def.clamp[0][0] = -1;
    assert_int_equal(rp__rod_create(&def, &rod), RP_BAD_ARGUMENT);
    def.clamp[0][0] = 0;
    for (int nth = 1; nth < 10; nth++) { /* out of memory */
        rp__base_fail_allocation(nth);
        rp_result result = rp__rod_create(&def, &rod);
        rp__base_fail_allocation(0);
        if (result == RP_OK) {
            assert_true(nth > 1);
            rp__rod_destroy(rod);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
        assert_null(rod);
    }
    fail_msg("creation never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_force_is_the_slope_of_energy), cmocka_unit_test(test_stiffness_is_the_slope_of_force),
        cmocka_unit_test(test_gauss_newton_is_exact_at_rest), cmocka_unit_test(test_band_solver),
        cmocka_unit_test(test_rotations_strain_nothing),      cmocka_unit_test(test_driven_clamp),
        cmocka_unit_test(test_sections),                      cmocka_unit_test(test_sag_free),
        cmocka_unit_test(test_bad_rods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
