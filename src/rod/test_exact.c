/* Rods against exact solutions: length 1, bending stiffness 1. Reference numbers come from the equations of Kirchhoff, solved as
 * boundary value problems to more digits than are given. */
#include "rod/static_tests.h"

#define PI 3.14159265358979323846

/* ---- cantilever under its own weight: theta'' = -Gamma (1 - s) cos(theta) ---- */

static rp__rod *cantilever(double gamma, int segments)
{
    rp__rod *rod = straight_rod(segments, rp__vec3_make(1, 0, 0), section_of(1e7, 1, 1, 2.0 / 3, 1), RP_ROD_CLAMPED, RP_ROD_FREE, NULL);
    double *load = weight(rod, 2, -gamma);
    assert_true(settle(rod, NULL, load, 1e-6));
    rp__base_free(load);
    return rod;
}

static void test_cantilever(void **state)
{
    (void)state;
    static const double table[][3] = { { 1, .991246, .123471 },  { 2, .966893, .238507 },  { 5, .846657, .495905 },
                                       { 10, .656354, .700200 }, { 20, .445232, .829881 }, { 50, .245015, .907917 },
                                       { 100, .159223, .937524 }, { 200, .107420, .956769 } };
    for (int k = 0; k < 8; k++) {
        double error[2];
        for (int r = 0; r < 2; r++) {
            rp__rod *rod = cantilever(table[k][0], r == 0 ? 40 : 80);
            rp__vec3 tip = rp__rod_node(rod, rod->edges);
            double ratio = table[k][2] / table[k][1];
            error[r] = fabs(-tip.z / tip.x / ratio - 1);
            if (r == 1) { /* the tip within 0.1 % of the length; the ratio too while the layer at the clamp has its segments */
                assert_true(fabs(tip.x - table[k][1]) < 1e-3 && fabs(-tip.z - table[k][2]) < 1e-3);
                assert_true(error[r] < (table[k][0] <= 50 ? 1e-3 : 3e-3));
            }
            rp__rod_destroy(rod);
        }
        assert_true(error[1] < (table[k][0] <= 50 ? 0.3 : 0.4) * error[0]); /* order 2; the layer is sqrt(1 / Gamma) wide */
    }
}

/* Clamped by two fixed nodes of its own instead of a ghost edge the rod is first order: what the ghost is for. */
static void test_clamp_without_ghost_is_worse(void **state)
{
    (void)state;
    double tip[2];
    for (int r = 0; r < 2; r++) {
        int segments = r == 0 ? 40 : 80;
        rp__rod *rod = straight_rod(segments, rp__vec3_make(1, 0, 0), section_of(1e6, 1, 1, 2.0 / 3, 1), RP_ROD_FREE, RP_ROD_FREE, NULL);
        bool fixed[4 * 80 + 3] = { 1, 1, 1, 1, 1, 1, 1 };
        double *load = weight(rod, 2, -10);
        assert_true(settle(rod, fixed, load, 1e-7));
        tip[r] = fabs(-rp__rod_node(rod, rod->edges).z - .700200);
        rp__base_free(load);
        rp__rod_destroy(rod);
    }
    assert_true(tip[1] > 5e-3 && tip[1] > 0.45 * tip[0]);
}

/* ---- lateral buckling, bend and twist: where the second variation out of the plane ceases to be positive ---- */

/* In-plane unknowns are x and z: y and the angles are fixed while the rod settles, and the others afterwards. */
static void planes(const rp__rod *rod, bool *in_plane_only, bool *out_of_plane_only)
{
    for (int i = 0; i < rp__rod_unknowns(rod); i++) {
        bool out = i % 4 == 1 || i % 4 == 3;
        in_plane_only[i] = out;
        out_of_plane_only[i] = !out;
    }
}

/* Q = q L³ / sqrt(EI2 GJ) at which a strip clamped level, wide side upright, turns over. */
static double lateral(double ratio, double twist, int segments)
{
    const double up[3] = { 0, 0, 1 };
    double low = 8, high = 40;
    bool settling[4 * 90 + 3], varying[4 * 90 + 3];
    while (high - low > 1e-4) {
        double q = 0.5 * (low + high);
        rp__rod *rod = straight_rod(segments, rp__vec3_make(1, 0, 0), section_of(1e7, ratio, 1, twist, 1), RP_ROD_CLAMPED, RP_ROD_FREE, up);
        planes(rod, settling, varying);
        double *load = weight(rod, 2, -q * sqrt(twist));
        assert_true(settle(rod, settling, load, 1e-6));
        if (stable(rod, varying))
            low = q;
        else
            high = q;
        rp__base_free(load);
        rp__rod_destroy(rod);
    }
    return 0.5 * (low + high);
}

static void test_lateral_buckling(void **state)
{
    (void)state;
    double rough = lateral(100, 1.4815, 20), fine = lateral(100, 1.4815, 40);
    assert_true(fabs(fine / 13.0546 - 1) < 1e-3);
    assert_true(fabs(fine - 13.0546) < 0.3 * fabs(rough - 13.0546));
    assert_true(fabs(lateral(25, 1.4815, 40) / 13.7461 - 1) < 5e-3);
    assert_true(fabs(lateral(10, 1.0, 40) / 14.9059 - 1) < 5e-3);
    /* negative control: the polar moment in the place of St Venant's constant is far away */
    rp__rod_section strip = rp__rod_section_ellipse(2.7, 0.35, 1, 10, 1);
    double polar = PI * 10 * (100 + 1) / 4;
    assert_true(polar / strip.twist > 25);
}

/* Gamma at which a naturally curved rod, hung from a clamp that points down, leaves its plane. */
static double bend_twist(double curvature, double twist, int segments)
{
    double *x = RP_NEW_ARRAY(double, 3 * (segments + 1)), l = 1.0 / segments;
    memset(x, 0, 3 * sizeof *x);
    for (int i = 0; i < segments; i++) {
        double angle = curvature * (i + 0.5) * l;
        x[3 * i + 3] = x[3 * i] + l * sin(angle);
        x[3 * i + 4] = 0;
        x[3 * i + 5] = x[3 * i + 2] - l * cos(angle);
    }
    rp__rod_def def = rp__rod_default_def();
    def.nodes = x;
    def.node_count = segments + 1;
    def.section = section_of(1e5, 1, 1, twist, 1);
    def.end[0] = RP_ROD_CLAMPED;
    def.clamp[0][2] = -1;
    def.director[0] = 1;
    def.rest = RP_ROD_AS_GIVEN;
    rp__rod *rod = NULL, *kept = NULL;
    assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
    assert_int_equal(rp__rod_create(&def, &kept), RP_OK);
    rp__base_free(x);
    bool settling[4 * 90 + 3], varying[4 * 90 + 3];
    planes(rod, settling, varying);
    double low = 0, high = 0;
    for (double gamma = 0.3;; gamma = 1.08 * gamma + 0.3) { /* follow the planar shape until it is no minimum any more */
        double *load = weight(rod, 2, -gamma);
        copy_state(kept, rod);
        assert_true(settle(rod, settling, load, 1e-6 * fmax(1, gamma)));
        rp__base_free(load);
        high = gamma;
        if (!stable(rod, varying))
            break;
        low = gamma;
        assert_true(gamma < 400);
    }
    while (high - low > 1e-3) {
        double gamma = 0.5 * (low + high), *load = weight(rod, 2, -gamma);
        copy_state(rod, kept);
        assert_true(settle(rod, settling, load, 1e-6 * fmax(1, gamma)));
        rp__base_free(load);
        if (stable(rod, varying))
            low = gamma;
        else
            high = gamma;
    }
    rp__rod_destroy(rod);
    rp__rod_destroy(kept);
    return 0.5 * (low + high);
}

static void test_bend_twist(void **state)
{
    (void)state;
    assert_true(fabs(bend_twist(6, 2.0 / 3, 80) / 11.869 - 1) < 5e-3);
    assert_true(fabs(bend_twist(8, 2.0 / 3, 80) / 19.248 - 1) < 5e-3);
    assert_true(fabs(bend_twist(8, 1 / 1.35, 80) / 21.313 - 1) < 5e-3);
}

/* ---- buckling of straight rods ---- */

/* The load at which a rod compressed along x buckles; y and the angles are left out. */
static double euler(rp__rod_end root, rp__rod_end tip, int segments)
{
    double low = 0.1, high = 60, stretch = 1e7;
    bool fixed[4 * 90 + 3];
    while (high - low > 1e-5) {
        double force = 0.5 * (low + high);
        rp__rod *rod = straight_rod(segments, rp__vec3_make(1, 0, 0), section_of(stretch, 1, 1, 1, 1), root, tip, NULL);
        for (int j = 0; j < rod->edges; j++)
            rod->length[j] /= 1 - force / stretch;
        for (int i = 0; i < rp__rod_unknowns(rod); i++)
            fixed[i] = i % 4 == 1 || i % 4 == 3;
        if (stable(rod, fixed))
            low = force;
        else
            high = force;
        rp__rod_destroy(rod);
    }
    return 0.5 * (low + high);
}

static void test_euler(void **state)
{
    (void)state;
    assert_true(fabs(euler(RP_ROD_PINNED, RP_ROD_PINNED, 80) / (PI * PI) - 1) < 1e-3);
    assert_true(fabs(euler(RP_ROD_CLAMPED, RP_ROD_CLAMPED, 80) / (4 * PI * PI) - 1) < 1e-3);
    assert_true(fabs(euler(RP_ROD_CLAMPED, RP_ROD_FREE, 80) / (PI * PI / 4) - 1) < 1e-3);
    double rough = euler(RP_ROD_CLAMPED, RP_ROD_CLAMPED, 20) / (4 * PI * PI) - 1, fine = euler(RP_ROD_CLAMPED, RP_ROD_CLAMPED, 40) / (4 * PI * PI) - 1;
    assert_true(fabs(fine) < 0.27 * fabs(rough));
}

/* A column under its own weight buckles at Gamma = 7.83735. */
static void test_own_weight(void **state)
{
    (void)state;
    double low = 1, high = 20;
    while (high - low > 1e-4) {
        double gamma = 0.5 * (low + high);
        rp__rod *rod = straight_rod(60, rp__vec3_make(0, 0, 1), section_of(1e5, 1, 1, 1, 1), RP_ROD_CLAMPED, RP_ROD_FREE, NULL);
        bool axial[4 * 61 + 3], lateral_only[4 * 61 + 3];
        for (int i = 0; i < rp__rod_unknowns(rod); i++) {
            axial[i] = i % 4 != 2;
            lateral_only[i] = i % 4 != 0;
        }
        double *load = weight(rod, 2, -gamma);
        assert_true(settle(rod, axial, load, 1e-7));
        if (stable(rod, lateral_only))
            low = gamma;
        else
            high = gamma;
        rp__base_free(load);
        rp__rod_destroy(rod);
    }
    assert_true(fabs(low / 7.83735 - 1) < 1e-3);
}

/* A rod twisted between two clamps leaves its line at the moment 8.98682 EI / L, twist 8.98682 EI / GJ, beyond a turn. */
static void test_twisted_clamps(void **state)
{
    (void)state;
    double found[2];
    for (int r = 0; r < 2; r++) {
        double low = 1, high = 40, twist_stiffness = 0.7;
        while (high - low > 1e-4) {
            double angle = 0.5 * (low + high), sum = 0;
            rp__rod *rod = straight_rod(r == 0 ? 60 : 120, rp__vec3_make(1, 0, 0), section_of(1e6, 1, 1, twist_stiffness, 1), RP_ROD_CLAMPED,
                                        RP_ROD_CLAMPED, NULL);
            for (int j = 1; j < rod->edges; j++) { /* uniform twist: a moment GJ angle in every vertex */
                sum += rod->span[j - 1];
                rod->theta[j] = angle * sum;
            }
            if (stable(rod, NULL))
                low = angle;
            else
                high = angle;
            rp__rod_destroy(rod);
        }
        found[r] = low * twist_stiffness;
    }
    assert_true(fabs(found[1] / 8.98682 - 1) < 5e-3);
    assert_true(fabs(found[1] - 8.98682) < 0.3 * fabs(found[0] - 8.98682));
}

/* ---- catenary, helix ---- */

static void test_catenary(void **state)
{
    (void)state;
    static const double table[][3] = { { 0.5, .398194, .114820 }, { 0.8, .265438, .338202 }, { 0.9, .190709, .560094 } };
    enum { N = 80 };
    for (int k = 0; k < 3; k++) {
        /* begin with a circular arc of length 1 and that span: 2 sin(a) / 2a = span */
        double low = 1e-3, high = PI;
        while (high - low > 1e-14) {
            double a = 0.5 * (low + high);
            if (sin(a) / a > table[k][0])
                low = a;
            else
                high = a;
        }
        double x[3 * (N + 1)], radius = 0.5 / low;
        for (int i = 0; i <= N; i++) {
            double angle = low * (2.0 * i / N - 1);
            x[3 * i] = radius * sin(angle), x[3 * i + 1] = 0, x[3 * i + 2] = -radius * cos(angle);
        }
        double scale = (1.0 / N) / (2 * radius * sin(low / N)); /* segments of length 1 / N */
        rp__rod_def def = rp__rod_default_def();
        def.nodes = x;
        def.node_count = N + 1;
        def.section = section_of(1e5, 1e-7, 1e-7, 1e-7, 1);
        def.end[0] = def.end[1] = RP_ROD_PINNED;
        rp__rod *rod = NULL;
        assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
        for (int j = 0; j < N; j++)
            rod->length[j] *= scale;
        double *load = weight(rod, 2, -1);
        bool plane[4 * N + 3];
        for (int i = 0; i < 4 * N + 3; i++)
            plane[i] = i % 4 == 1 || i % 4 == 3;
        assert_true(settle(rod, plane, load, 1e-9));
        double sag = rod->x[2] - rod->x[3 * N / 2 + 2], pull = rod->section.stretch * rp__rod_strain_of_edge(rod, N / 2) * rod->tangent[3 * N / 2];
        assert_true(fabs(sag / table[k][1] - 1) < 1e-3);
        assert_true(fabs(pull / table[k][2] - 1) < 2e-3);
        rp__base_free(load);
        rp__rod_destroy(rod);
    }
}

/* Hung from a clamp with t = -z, m1 = x, natural curvature 12 towards m1, twist 4, GJ / EI = 2/3. */
static void test_helix(void **state)
{
    (void)state;
    static const double tip[2][3] = { { .000257, -.298040, -.105880 }, { .001162, -.274900, -.185719 } };
    for (int k = 0; k < 2; k++) {
        double error[2];
        for (int r = 0; r < 2; r++) {
            int segments = r == 0 ? 60 : 120;
            double *x = rp__base_alloc_zero(3 * ((size_t)segments + 1) * sizeof(double));
            for (int i = 0; i <= segments; i++)
                x[3 * i + 2] = -(double)i / segments;
            rp__rod_def def = rp__rod_default_def();
            def.nodes = x;
            def.node_count = segments + 1;
            def.section = section_of(1e5, 1, 1, 2.0 / 3, 1);
            def.end[0] = RP_ROD_CLAMPED;
            def.director[0] = 1;
            def.curvature[0] = 12;
            def.twist = 4;
            rp__rod *rod = NULL;
            assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
            double *load = weight(rod, 2, k == 0 ? 0 : -5);
            assert_true(settle(rod, NULL, load, 1e-7));
            rp__vec3 end = rp__rod_node(rod, rod->edges);
            error[r] = rp__vec3_norm(rp__vec3_sub(end, rp__vec3_load(tip[k])));
            rp__base_free(x);
            rp__base_free(load);
            rp__rod_destroy(rod);
        }
        assert_true(error[1] < 3e-3 && error[1] < 0.3 * error[0]);
    }
}

/* ---- motion ---- */

/* omega² at which K - omega² M ceases to be positive: 3.51602² EI / (rho S L⁴) for a clamped rod, in one plane. */
static void test_first_frequency(void **state)
{
    (void)state;
    rp__rod *rod = straight_rod(60, rp__vec3_make(1, 0, 0), section_of(1e6, 1, 1, 1, 1), RP_ROD_CLAMPED, RP_ROD_FREE, NULL);
    int n = rp__rod_unknowns(rod);
    double *band = RP_NEW_ARRAY(double, n * RP_ROD_ROW), low = 1, high = 10;
    bool plane[4 * 61 + 3];
    for (int i = 0; i < n; i++)
        plane[i] = i % 4 != 2;
    while (high - low > 1e-6) {
        double omega = 0.5 * (low + high);
        int first;
        memset(band, 0, (size_t)n * RP_ROD_ROW * sizeof *band);
        rp__rod_stiffen(rod, RP_ROD_GAUSS_NEWTON, 1, 1, band);
        for (int i = 0; i < n; i++)
            band[i * RP_ROD_ROW + RP_ROD_BAND] -= omega * omega * rod->mass[i];
        for (int i = 0; i < n; i++)
            if (plane[i])
                rp__rod_band_fix(band, n, i, 0, NULL);
        for (int count = rp__rod_fixed(rod, 0, &first), k = 0; k < count; k++)
            rp__rod_band_fix(band, n, first + k, 0, NULL);
        if (rp__rod_band_factorise(band, n))
            low = omega;
        else
            high = omega;
    }
    assert_true(fabs(low / 3.51602 - 1) < 1e-3);
    rp__base_free(band);
    rp__rod_destroy(rod);
}

/* A free rod that tumbles: linear momentum to rounding, energy never grows, angular momentum is lost at first order in the step. */
static double tumble(double dt, double seconds)
{
    enum { N = 20 };
    double x[3 * (N + 1)];
    for (int i = 0; i <= N; i++) {
        double a = 2.0 * i / N;
        x[3 * i] = sin(a), x[3 * i + 1] = 0.1 * a * a, x[3 * i + 2] = 1 - cos(a);
    }
    rp__rod_def def = rp__rod_default_def();
    def.nodes = x;
    def.node_count = N + 1;
    def.section = section_of(1e4, 1, 1, 0.7, 1);
    def.rest = RP_ROD_AS_GIVEN;
    rp__rod *rod = NULL;
    assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
    int n = rp__rod_unknowns(rod);
    double *factor = RP_NEW_ARRAY(double, n * RP_ROD_ROW), v[200], step[200], p0[3] = { 0 }, l0 = 0, l1 = 0;
    for (int i = 0; i <= N; i++)
        rp__vec3_store(rod->velocity + 4 * i, rp__vec3_add(rp__vec3_cross(rp__vec3_make(1, 2, 0.5), rp__rod_node(rod, i)), rp__vec3_make(0.3, 0.2, 0.1)));
    double energy = rp__rod_energy(rod) + rp__rod_kinetic(rod);
    for (int k = -1; k < (int)lround(seconds / dt); k++) {
        double p[3] = { 0 };
        rp__vec3 l = { 0, 0, 0 };
        for (int i = 0; i <= N; i++) {
            double m = rod->mass[4 * i];
            for (int a = 0; a < 3; a++)
                p[a] += m * rod->velocity[4 * i + a];
            l = rp__vec3_axpy(m, rp__vec3_cross(rp__rod_node(rod, i), rp__vec3_load(rod->velocity + 4 * i)), l);
        }
        l1 = rp__vec3_norm(l);
        if (k < 0) {
            memcpy(p0, p, sizeof p);
            l0 = l1;
            continue;
        }
        for (int a = 0; a < 3; a++)
            assert_true(fabs(p[a] - p0[a]) < 1e-11);
        assert_int_equal(rp__rod_free_velocity(rod, dt, 0, NULL, factor, v), RP_OK);
        for (int i = 0; i < n; i++)
            step[i] = dt * v[i];
        memcpy(rod->velocity, v, (size_t)n * sizeof *v);
        assert_true(rp__rod_move(rod, step));
        double now = rp__rod_energy(rod) + rp__rod_kinetic(rod);
        assert_true(now < energy * (1 + 1e-3)); /* linearly implicit: to the second order of a step */
        energy = now;
    }
    rp__base_free(factor);
    rp__rod_destroy(rod);
    return fabs(l1 / l0 - 1);
}

static void test_momentum(void **state)
{
    (void)state;
    double rough = tumble(0.01, 0.5), fine = tumble(0.0025, 0.5);
    assert_true(rough < 0.03 && fine < 0.5 * rough);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cantilever),      cmocka_unit_test(test_clamp_without_ghost_is_worse),
        cmocka_unit_test(test_lateral_buckling), cmocka_unit_test(test_bend_twist),
        cmocka_unit_test(test_euler),           cmocka_unit_test(test_own_weight),
        cmocka_unit_test(test_twisted_clamps),  cmocka_unit_test(test_catenary),
        cmocka_unit_test(test_helix),           cmocka_unit_test(test_first_frequency),
        cmocka_unit_test(test_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
