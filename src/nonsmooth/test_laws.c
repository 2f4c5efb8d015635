/* Scenes of the laws: anisotropic friction, the linearised yield surface, compaction by the divergence, viscosity, mu(I) in a chute. */
#include "nonsmooth/scene_tests.h"

static void slope(scene *s, int dim, double tangent, double velocity, int deep)
{
    const int cells[3] = { 4, dim == 2 ? deep + 4 : 4, deep + 4 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? deep : 4, deep };
    double angle = atan(tangent);
    scene_begin(s, dim, 0.05, cells, from, to);
    for (int f = 0; f < 2 * (dim - 1); f++)
        s->def.wall[f].kind = RP_PERIODIC;
    s->def.gravity[0] = 9.81 * sin(angle);
    s->def.gravity[dim - 1] = -9.81 * cos(angle);
    s->grains[0].velocity[0] = velocity;
}

/* Acceleration of a slope that flows. */
static double acceleration(scene *s, int dim)
{
    rp_step_stats stats;
    double first = 0, t0 = 0;
    while (rp_sim_time(s->sim) < 0.2) {
        scene_step(s, &stats);
        if (t0 == 0 && rp_sim_time(s->sim) > 0.04)
            first = scene_mean(s, 0, dim - 1, 0), t0 = rp_sim_time(s->sim);
    }
    return (scene_mean(s, 0, dim - 1, 0) - first) / (rp_sim_time(s->sim) - t0);
}

/* Normals across the slope: mu (1 - alpha)(1 + (d - 1) alpha), below mu for large alpha, above it for small. */
static void slope_with_normals_across_it(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 2; k++) {
            scene s;
            double alpha = k ? 0.8 : 0.3, mu = 0.5 * (1 - alpha) * (1 + (dim - 1) * alpha), tangent = 0.85;
            slope(&s, dim, tangent, 0.5, 8);
            s.material.anisotropy = alpha;
            s.material.elongation = 1;
            s.material.orientation[dim - 1] = 3; /* any length */
            scene_start(&s);
            double exact = 9.81 * (tangent - mu) / sqrt(1 + tangent * tangent), got = acceleration(&s, dim);
            if (!(fabs(got - exact) <= 0.03 * exact))
                fail_msg("%dD, alpha %g: accelerates with %g m/s2 in place of %g m/s2", dim, alpha, got, exact);
            scene_end(&s);
        }
}

/* Random orientation at the start is no anisotropy at all, so that the first steps are those of the isotropic law to its tolerance;
 * then grains align and friction falls. */
static void random_orientation_starts_isotropic(void **state)
{
    (void)state;
    double got[2];
    for (int k = 0; k < 2; k++) {
        scene s;
        slope(&s, 3, 0.85, 0.5, 8);
        s.material.anisotropy = k ? 0.8 : 0;
        s.material.elongation = 0; /* grains only turn with the flow, they do not align */
        scene_set(&s, "tolerance", "1e-6");
        scene_start(&s);
        got[k] = acceleration(&s, 3);
        scene_end(&s);
    }
    if (!(fabs(got[1] - got[0]) <= 0.01 * got[0]))
        fail_msg("%g m/s2 with random grains that do not align, %g m/s2 with round ones", got[1], got[0]);
}

static bool same_fields(const scene *a, const scene *b)
{
    rp_state x = { 0 }, y = { 0 };
    assert_int_equal(rp_sim_save(a->sim, &x), RP_OK);
    assert_int_equal(rp_sim_save(b->sim, &y), RP_OK);
    bool same = true;
    int seen = 0;
    for (int i = 0; i < x.count; i++) {
        const rp_blob *other = rp_state_find(&y, x.blobs[i].name);
        if (!other || strstr(x.blobs[i].name, "orientation"))
            continue;
        size_t size = other->type == RP_F64 || other->type == RP_I64 ? 8 : 4;
        seen++;
        if (x.blobs[i].count != other->count || memcmp(x.blobs[i].data, other->data, size * (size_t)other->count) != 0) {
            same = false;
            print_message("'%s' differs\n", other->name);
        }
    }
    assert_true(seen > 5);
    rp_state_free(&x);
    rp_state_free(&y);
    return same;
}

static void collapse(scene *s, int dim, int threads)
{
    const int cells[3] = { 16, dim == 2 ? 10 : 6, 10 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 5, dim == 2 ? 8 : 6, 8 };
    scene_begin(s, dim, 0.05, cells, from, to);
    s->grains[0].sampling = RP_JITTERED;
    s->def.threads = threads;
}

/* alpha = 0, with and without an orientation that goes along: the same bytes. */
static void without_anisotropy_nothing_changes(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        scene plain, oriented;
        rp_step_stats stats;
        const double times[1] = { 0 }, values[1] = { 0 };
        const rp_material_key key = { 0, "anisotropy", times, values, 1 };
        collapse(&plain, dim, 1);
        collapse(&oriented, dim, 1);
        oriented.def.material_keys = &key;
        oriented.def.material_key_count = 1;
        oriented.material.orientation[0] = 1;
        scene_start(&plain);
        scene_start(&oriented);
        for (int k = 0; k < 8; k++) {
            scene_step(&plain, &stats);
            scene_step(&oriented, &stats);
        }
        rp_field_view view;
        assert_int_equal(rp_sim_field_named(oriented.sim, "orientation", &view), RP_OK);
        assert_int_not_equal(rp_sim_field_named(plain.sim, "orientation", &view), RP_OK);
        assert_true(same_fields(&plain, &oriented));
        scene_end(&plain);
        scene_end(&oriented);
    }
}

static void anisotropic(scene *s, int threads)
{
    collapse(s, 3, threads);
    s->material.anisotropy = 0.8;
    s->material.elongation = 0.9;
    s->material.viscosity = 5;
}

/* Threads and checkpoints with orientation, splitting and merging. */
static void orientation_is_kept_to_the_bit(void **state)
{
    (void)state;
    scene whole, resumed, threaded;
    rp_step_stats stats;
    anisotropic(&whole, 1);
    anisotropic(&resumed, 1);
    anisotropic(&threaded, 3);
    scene_start(&whole);
    scene_start(&resumed);
    scene_start(&threaded);
    for (int k = 0; k < 8; k++)
        scene_step(&whole, &stats);
    rp_state kept = { 0 };
    assert_int_equal(rp_sim_save(whole.sim, &kept), RP_OK);
    assert_int_equal(rp_sim_restore(resumed.sim, &kept), RP_OK);
    rp_state_free(&kept);
    for (int k = 0; k < 3; k++) {
        scene_step(&whole, &stats);
        scene_step(&resumed, &stats);
    }
    for (int k = 0; k < 11; k++)
        scene_step(&threaded, &stats);
    rp_state x = { 0 }, y = { 0 }, z = { 0 };
    assert_int_equal(rp_sim_save(whole.sim, &x), RP_OK);
    assert_int_equal(rp_sim_save(resumed.sim, &y), RP_OK);
    assert_int_equal(rp_sim_save(threaded.sim, &z), RP_OK);
    bool found = false;
    for (int i = 0; i < x.count; i++) {
        size_t size = x.blobs[i].type == RP_F64 || x.blobs[i].type == RP_I64 ? 8 : 4;
        found |= strstr(x.blobs[i].name, "orientation") != NULL;
        assert_int_equal(x.blobs[i].count, y.blobs[i].count);
        assert_memory_equal(x.blobs[i].data, y.blobs[i].data, size * (size_t)x.blobs[i].count);
        assert_memory_equal(x.blobs[i].data, z.blobs[i].data, size * (size_t)x.blobs[i].count);
    }
    assert_true(found);
    int64_t n;
    const double *nu[3];
    double most = 0;
    for (int a = 0; a < 3; a++)
        nu[a] = scene_field(&whole, "orientation", a, &n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(fabs(nu[0][i] + nu[1][i] + nu[2][i] - 1) <= 1e-12);
        most = fmax(most, fabs(nu[0][i] - 1.0 / 3));
    }
    assert_true(most > 0.05); /* they turn */
    rp_state_free(&x);
    rp_state_free(&y);
    rp_state_free(&z);
    scene_end(&whole);
    scene_end(&resumed);
    scene_end(&threaded);
}

/* Sheared along the grid one coefficient of the stress slides, tau = mu p, and the others stick wherever within their bounds: the
 * stress across the slope is p (1 ± k mu), k = 1 in 2D and 2 / sqrt 3 in 3D, so that the friction of a slope is only known to lie between
 * mu / (1 + k mu) and mu / (1 - k mu). The exact law has none of this. */
static void linearised_slope_along_the_grid(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        scene s;
        double tangent = 0.85, k = dim == 2 ? 1 : 2 / sqrt(3), mu = 0.5;
        slope(&s, dim, tangent, 0.5, 8);
        scene_set(&s, "yield", "linearised");
        scene_start(&s);
        double friction = tangent - acceleration(&s, dim) / 9.81 * sqrt(1 + tangent * tangent);
        if (!(friction > 0.97 * mu / (1 + k * mu) && friction < 1.03 * mu / (1 - k * mu)))
            fail_msg("%dD: slides with friction %g, out of %g … %g", dim, friction, mu / (1 + k * mu), mu / (1 - k * mu));
        scene_end(&s);
    }
}

/* A column at rest stays at rest under either law, and both converge. */
static void linearised_column_rests(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 4, dim == 2 ? 14 : 4, 14 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 12 : 4, 12 };
        scene s;
        rp_step_stats stats;
        scene_begin(&s, dim, 0.05, cells, from, to);
        scene_set(&s, "yield", "linearised");
        scene_set(&s, "max_iterations", "20000"); /* plain sweeps, the first from nothing */
        scene_start(&s);
        for (int k = 0; k < 100; k++) {
            scene_step(&s, &stats);
            assert_true(stats.converged);
        }
        assert_true(scene_fastest(&s) < 1e-3 * sqrt(9.81 * 0.05));
        scene_end(&s);
    }
}

static double height_of_mass(const scene *s, int up)
{
    int64_t n;
    const double *x = scene_field(s, "position", up, &n), *m = scene_field(s, "mass", 0, NULL);
    double sum = 0, mass = 0;
    for (int64_t i = 0; i < n; i++)
        sum += m[i] * x[i], mass += m[i];
    return sum / mass;
}

/* Grains filled loosely settle to their largest volume fraction; under the divergence they hang as they are. */
static void loose_grains_settle_or_hang(void **state)
{
    (void)state;
    double height[2];
    for (int divergence = 0; divergence < 2; divergence++) {
        const int cells[3] = { 4, 20, 1 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, 16, 1 };
        scene s;
        rp_step_stats stats;
        scene_begin(&s, 2, 0.05, cells, from, to);
        s.grains[0].fill = 0.5;
        scene_set(&s, "compaction", divergence ? "divergence" : "volume_fraction");
        scene_start(&s);
        while (rp_sim_time(s.sim) < 1)
            scene_step(&s, &stats);
        height[divergence] = height_of_mass(&s, 1);
        scene_end(&s);
    }
    if (!(fabs(height[0] - 0.2) < 0.02))
        fail_msg("settled grains have their centre at %g m in place of 0.2 m", height[0]);
    if (!(height[1] > 0.38))
        fail_msg("under the divergence the centre is at %g m: it should have stayed near 0.4 m", height[1]);
}

/* A layer on a slope with friction mu and viscosity eta, from rest: what friction leaves of the weight is carried by eta u' / 2, and in the end
 * u = (tan - mu) rho g cos (2 z H - z^2) / eta over a floor that holds. Returns the mean speed over that of the exact profile. */
static double film(int dim, double mu, double viscosity)
{
    const int deep = 10;
    const double h = 0.05, high = deep * h, tangent = 0.5;
    scene s;
    rp_step_stats stats;
    slope(&s, dim, tangent, 0, deep);
    s.material.friction = mu;
    s.material.viscosity = viscosity;
    scene_start(&s);
    while (rp_sim_time(s.sim) < 0.8) {
        scene_step(&s, &stats);
        assert_true(stats.converged);
    }
    double density = s.material.density * s.material.volume_fraction;
    /* The packed material has phi_max of the stress of its solid part, so that eta counts phi_max times. */
    double exact = (tangent - mu) * density * 9.81 / sqrt(1 + tangent * tangent) * high * high * 2 / 3 / (viscosity * s.material.volume_fraction);
    double got = scene_mean(&s, 0, dim - 1, 0);
    scene_end(&s);
    return got / exact;
}

static void viscous_layers_flow_as_they_should(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int rough = 0; rough < 2; rough++) {
            double got = film(dim, rough ? 0.2 : 0, 4000);
            print_message("%dD, friction %g: mean speed over the exact one %.4f\n", dim, rough ? 0.2 : 0.0, got);
            if (!(fabs(got - 1) < 0.02))
                fail_msg("%dD, friction %g: %g of the exact speed", dim, rough ? 0.2 : 0.0, got);
        }
}

static void memory_may_run_out(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 400; k++) {
        scene s;
        rp_step_stats stats;
        anisotropic(&s, 1);
        if (k % 2)
            scene_set(&s, "yield", "linearised");
        s.def.method_params = rp_params_data(s.params);
        rp__base_fail_allocation(20 + k);
        rp_result result = rp_sim_create(&s.def, &s.sim);
        if (result == RP_OK)
            result = rp_sim_step(s.sim, &stats);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        scene_end(&s);
        if (result == RP_OK && k > 10)
            break;
    }
}

/* Half of a vertical chute between its middle and a rough wall that presses with P, from the exact profile of mu(I): the plug has no strain, so its friction
 * stays mu_s, and its speed uniform. Velocities that alternate from node to node would raise mu to 0.5 in these steps. */
static void chute_keeps_its_plug(void **state)
{
    (void)state;
    const int cells[3] = { 78, 4, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 60, 4, 1 }, h = 0.02 / 60, pressure = 600;
    const char *variables[] = { "x", "y", "z" };
    double centre[3] = { 0.0025, 0, 0 }, half[3] = { 0.0025, 0.1, 0.1 };
    scene s;
    scene_begin(&s, 2, h, cells, from, to);
    s.def.wall[2].kind = s.def.wall[3].kind = RP_PERIODIC;
    s.def.frame_rate = 1000;
    s.material.density = 2500, s.material.volume_fraction = 0.6, s.material.grain_diameter = 0.5e-3;
    s.material.friction = 0.38, s.material.friction_dynamic = 0.64, s.material.inertial_number = 0.279;
    assert_int_equal(rp_shape_box(centre, half, 0, &s.shape[1]), RP_OK);
    rp_body_def wall = rp_default_body_def();
    wall.name = "wall", wall.kind = RP_BODY_FREE, wall.shape = s.shape[1], wall.position[0] = 0.02, wall.mass = 0.1;
    wall.joint = RP_JOINT_SLIDER, wall.joint_point[0] = 0.02, wall.joint_axis[0] = 1, wall.joint_axis[1] = wall.joint_axis[2] = 0;
    wall.force[0] = -pressure * 4 * h;
    wall.surface.kind = RP_STICK;
    s.def.bodies = &wall, s.def.body_count = 1;
    /* u = I0/d sqrt(P/rho_s) P/(rho g) [xi - xi_w + (mu_2 - mu_s) ln((mu_2 - xi) / (mu_2 - xi_w))], xi = max(rho g x / P, mu_s) */
    assert_int_equal(
        rp_expression_create(
            "0, -11.146302 * (math.max(24.525 * x, 0.38) - 0.4905 + 0.26 * math.log((0.64 - math.max(24.525 * x, 0.38)) / 0.1495)), 0",
            variables, 3, 3, &s.grains[0].velocity_field),
        RP_OK);
    scene_start(&s);
    rp_step_stats stats;
    for (int k = 0; k < 12; k++)
        scene_step(&s, &stats);
    int64_t n;
    const double *x = scene_field(&s, "position", 0, &n), *u = scene_field(&s, "velocity", 1, NULL), *mu = scene_field(&s, "friction", 0, NULL);
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0.014 && !(mu[i] < 0.42 && fabs(u[i] + 0.3721) < 0.012))
            fail_msg("%g m from the middle: friction %g, speed %g m/s in a plug of 0.38 and 0.372 m/s", x[i], mu[i], -u[i]);
    rp_expression_release(s.grains[0].velocity_field);
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slope_with_normals_across_it),
        cmocka_unit_test(random_orientation_starts_isotropic),
        cmocka_unit_test(without_anisotropy_nothing_changes),
        cmocka_unit_test(orientation_is_kept_to_the_bit),
        cmocka_unit_test(linearised_slope_along_the_grid),
        cmocka_unit_test(linearised_column_rests),
        cmocka_unit_test(loose_grains_settle_or_hang),
        cmocka_unit_test(viscous_layers_flow_as_they_should),
        cmocka_unit_test(chute_keeps_its_plug),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
