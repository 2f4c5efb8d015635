/* Grains: rolling and sliding on an incline, impacts, piles at rest, bodies, walls, threads, restarts, bad input. */
#include "contact/contact_tests.h"

#include "math/random.h"

#define G 9.81

/* One ball of radius 1 cm on a plane inclined by alpha; its acceleration along the plane over g sin(alpha). */
static double slope(double alpha, double friction, const char *elements)
{
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, friction, &material);
    rp_params *p = params_of("diameter", "2 cm", "tolerance", "1e-12", "tolerance_max", "1e-11", "elements", elements, "aspect", "3", NULL);
    rp_grains_def grains = rp_default_grains_def();
    grains.name = "ball";
    grains.shape = box_shape(0.501, 0.549, 0.501, 0.549, 0.001, 0.049);
    grains.sampling = RP_REGULAR;
    grains.per_cell = 1;
    def.grains = &grains;
    def.grains_count = 1;
    def.method_params = rp_params_data(p);
    def.gravity[0] = G * sin(alpha);
    def.gravity[2] = -G * cos(alpha);
    def.frame_rate = 1000;
    rp_sim *sim = make_sim(&def);
    assert_int_equal(rp_sim_particle_count(sim), 1);
    run_steps(sim, 120);
    double before = plane_of(sim, "velocity", 0)[0];
    rp_step_stats stats = run_steps(sim, 10);
    assert_true(stats.converged);
    double a = (plane_of(sim, "velocity", 0)[0] - before) / 0.01;
    assert_true(fabs(plane_of(sim, "velocity", 2)[0]) < 1e-9);
    assert_true(plane_of(sim, "position", 2)[0] >= 0.01 - 1e-9);
    rp_sim_destroy(sim);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
    return a / (G * sin(alpha));
}

/* A ball rolls with 5/7 g sin(alpha) while mu > 2/7 tan(alpha), and slides with g (sin - mu cos) else. */
static void test_ball_on_incline(void **state)
{
    (void)state;
    assert_true(fabs(slope(0.3, 0.5, "spheres") - 5.0 / 7) < 1e-8);
    assert_true(fabs(slope(0.3, 0.05, "spheres") - (1 - 0.05 / tan(0.3))) < 1e-8);
    assert_true(fabs(slope(0.3, 0, "spheres") - 1) < 1e-8);
}

/* A ball that rolls on a level floor is slowed by rolling friction at 5/7 eta g, and comes to rest. */
static void test_rolling_friction(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.5, &material);
    rp_params *p = params_of("diameter", "2 cm", "tolerance", "1e-12", "tolerance_max", "1e-11", "rolling_friction", "0.05", NULL);
    rp_grains_def grains = rp_default_grains_def();
    grains.shape = box_shape(0.501, 0.549, 0.501, 0.549, 0.001, 0.049);
    grains.sampling = RP_REGULAR;
    grains.per_cell = 1;
    grains.velocity[0] = 0.3;
    def.grains = &grains;
    def.grains_count = 1;
    def.method_params = rp_params_data(p);
    def.frame_rate = 1000;
    rp_sim *sim = make_sim(&def);
    run_steps(sim, 200);
    double before = plane_of(sim, "velocity", 0)[0];
    run_steps(sim, 100);
    assert_true(fabs((before - plane_of(sim, "velocity", 0)[0]) / 0.1 / (5.0 / 7 * 0.05 * G) - 1) < 0.01);
    run_steps(sim, 800);
    assert_true(fabs(plane_of(sim, "velocity", 0)[0]) < 1e-12 && fabs(plane_of(sim, "spin", 1)[0]) < 1e-12);
    rp_sim_destroy(sim);
    rp_shape_release(grains.shape);
    rp_params_destroy(p);
}

/* A ball without friction on a square lattice of fixed balls that nearly touch (distance s, diameter d), gravity tilted along a row. In a pocket
 * between four it rests while tan(tilt) is below (s/2) / sqrt(d² - s²/2), that is 35.3 degrees, and nowhere above. */
static void fall_on_fixed(double tilt, double *way, double *speed)
{
    rp_material_def material;
    rp_sim_def def = scene(4, 0.05, 0, &material);
    rp_params *p = params_of("diameter", "4.995 cm", NULL);
    rp_grains_def grains[2] = { rp_default_grains_def(), rp_default_grains_def() };
    grains[0].shape = box_shape(0.001, 3.999, 0.001, 0.499, 0.001, 0.049);
    grains[1].shape = box_shape(0.251, 0.299, 0.251, 0.299, 0.051, 0.099);
    grains[0].fixed = true;
    for (int k = 0; k < 2; k++) {
        grains[k].sampling = RP_REGULAR;
        grains[k].per_cell = 1;
    }
    def.grains = grains;
    def.grains_count = 2;
    def.method_params = rp_params_data(p);
    def.gravity[0] = G * sin(tilt);
    def.gravity[1] = 0.02 * G; /* off the ridge */
    def.gravity[2] = -G * cos(tilt);
    def.frame_rate = 500;
    rp_sim *sim = make_sim(&def);
    int64_t last = rp_sim_particle_count(sim) - 1;
    assert_int_equal(last, 800);
    double first = plane_of(sim, "position", 0)[0], begin = plane_of(sim, "position", 0)[last];
    run_steps(sim, 1000);
    double v[3];
    for (int a = 0; a < 3; a++)
        v[a] = plane_of(sim, "velocity", a)[last];
    *way = plane_of(sim, "position", 0)[last] - begin;
    *speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    assert_true(plane_of(sim, "position", 0)[0] == first && plane_of(sim, "position", 2)[400] == 0.025);
    assert_true(plane_of(sim, "velocity", 0)[0] == 0 && plane_of(sim, "fixed", 0)[0] == 1 && plane_of(sim, "fixed", 0)[last] == 0);
    rp_sim_destroy(sim);
    rp_shape_release(grains[0].shape);
    rp_shape_release(grains[1].shape);
    rp_params_destroy(p);
}

static void test_fixed_grains(void **state)
{
    (void)state;
    double way, speed;
    fall_on_fixed(0.3, &way, &speed);
    assert_true(way < 0.5 && speed < 1e-9);
    fall_on_fixed(0.7, &way, &speed);
    assert_true(way > 1 && speed > 1);
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.5, &material);
    rp_grains_def grains = rp_default_grains_def();
    grains.name = "floor";
    grains.shape = box_shape(0.1, 0.9, 0.1, 0.9, 0, 0.2);
    grains.fixed = true;
    def.method = "nonsmooth";
    def.grains = &grains;
    def.grains_count = 1;
    rp_sim *sim = NULL;
    assert_int_equal(rp_sim_create(&def, &sim), RP_UNSUPPORTED);
    assert_non_null(strstr(rp_last_error(), "grains 'floor' are fixed"));
    rp_shape_release(grains.shape);
}

/* ---- balls in a box ---- */

typedef struct box {
    rp_material_def material;
    rp_sim_def def;
    rp_params *params;
    rp_grains_def grains;
} box;

static void make_box(box *b, double friction, const char *elements, const char *sizes, const char *rolling, int threads)
{
    b->def = scene(0.2, 0.025, friction, &b->material);
    b->params = params_of("elements", elements, "sizes", sizes, "spread", "0.2", "aspect", "2", "rolling_friction", rolling, NULL);
    for (int f = 0; f < 5; f++)
        b->def.wall[f] = (rp_surface){ .kind = RP_FRICTIONAL, .friction = friction };
    b->grains = rp_default_grains_def();
    b->grains.name = "balls";
    b->grains.shape = box_shape(0, 0.2, 0, 0.1, 0, 0.075);
    b->grains.sampling = RP_REGULAR;
    b->grains.per_cell = 1;
    b->def.grains = &b->grains;
    b->def.grains_count = 1;
    b->def.materials = &b->material;
    b->def.method_params = rp_params_data(b->params);
    b->def.frame_rate = 200;
    b->def.threads = threads;
}

static void free_box(box *b)
{
    rp_shape_release(b->grains.shape);
    rp_params_destroy(b->params);
}

/* Grains with a little rolling friction (a ball without it rolls for ever on a floor) settle, and then stay: none moves by more than
 * `rest` radii in half a second. */
static void settle(const char *elements, double rest)
{
    box b;
    make_box(&b, 0.5, elements, "uniform", "0.1", 1);
    rp_sim *sim = make_sim(&b.def);
    int64_t n = rp_sim_particle_count(sim);
    assert_true(n == 96);
    double weight = 0;
    for (int64_t i = 0; i < n; i++)
        weight += G * plane_of(sim, "mass", 0)[i];
    double *before = RP_NEW_ARRAY(double, 3 * n), most = 1, force[3];
    rp_step_stats stats;
    run_steps(sim, 400);
    for (int quiet = 0, k = 0; quiet < 2; k++) { /* once they rest, they stay */
        assert_true(k < 12);
        for (int a = 0; a < 3; a++)
            memcpy(before + a * n, plane_of(sim, "position", a), (size_t)n * sizeof *before);
        stats = run_steps(sim, 100);
        most = 0;
        for (int a = 0; a < 3; a++)
            for (int64_t i = 0; i < n; i++)
                most = fmax(most, fabs(plane_of(sim, "position", a)[i] - before[a * n + i]) / plane_of(sim, "radius", 0)[i]);
        assert_true(quiet == 0 || most < rest);
        quiet += most < rest;
    }
    assert_int_equal(rp_sim_particle_count(sim), n);
    assert_int_equal(rp_sim_wall_force(sim, 4, force), RP_OK);
    double walls = 0;
    for (int f = 0; f < 4; f++) {
        double side[3];
        assert_int_equal(rp_sim_wall_force(sim, f, side), RP_OK);
        walls += side[2];
    }
    assert_true(fabs(-(force[2] + walls) / weight - 1) < 1e-4); /* walls carry the weight */
    assert_true(extra_of(&stats, "penetration_worst") < 0.01);
    rp__base_free(before);
    rp_sim_destroy(sim);
    free_box(&b);
}

static void test_pile_stays(void **state)
{
    (void)state;
    settle("spheres", 0.5e-6);
}

static void test_pile_of_capsules_stays(void **state)
{
    (void)state;
    settle("capsules", 0.5e-6);
}

/* Capsules that are wedged between walls with an overlap on both sides cannot lose it. They rest all the same, also without the band in which
 * surfaces touch: overlaps are no matter of velocities. (While they were, these crept 1e-5 radii a second.) */
static void test_what_is_wedged_rests(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0.5, "capsules", "uniform", "0.1", 1);
    assert_int_equal(rp_params_set(b.params, "overlap", "0"), RP_OK);
    rp_sim *sim = make_sim(&b.def);
    run_steps(sim, 400);
    int64_t n = rp_sim_particle_count(sim);
    double *before = RP_NEW_ARRAY(double, n), moved = 0;
    memcpy(before, plane_of(sim, "position", 2), (size_t)n * sizeof *before);
    run_steps(sim, 100);
    for (int64_t i = 0; i < n; i++)
        moved = fmax(moved, fabs(plane_of(sim, "position", 2)[i] - before[i]) / plane_of(sim, "radius", 0)[i]);
    assert_true(moved < 0.5e-6);
    rp__base_free(before);
    rp_sim_destroy(sim);
    free_box(&b);
}

/* Balls that were put into each other part without speed: what takes overlaps away makes no energy. */
static void test_overlaps_part_without_speed(void **state)
{
    (void)state;
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    rp_grains_def grains = rp_default_grains_def();
    grains.name = "balls";
    grains.shape = box_shape(0.501, 0.599, 0.501, 0.549, 0.501, 0.549);
    grains.sampling = RP_REGULAR;
    grains.per_cell = 1;
    def.grains = &grains;
    def.grains_count = 1;
    def.gravity[2] = 0;
    rp_sim *sim = make_sim(&def);
    assert_int_equal(rp_sim_particle_count(sim), 2);
    rp__contact_state *s = sim->state;
    rp__contact_grains g = rp__contact_grains_of(&sim->world, s->first_field);
    double size = g.radius[0] + g.radius[1], right = g.x[0][0] < g.x[0][1] ? 1 : -1;
    g.x[0][1] = g.x[0][0] + right * 0.7 * size;
    rp_step_stats stats = run_steps(sim, 60);
    assert_true(stats.kinetic_energy == 0 && extra_of(&stats, "rotation_energy") == 0);
    assert_true(fabs(g.x[0][1] - g.x[0][0]) > (1 - 2e-3) * size && fabs(g.x[0][1] - g.x[0][0]) < (1 + 2e-3) * size);
    rp_sim_destroy(sim);
    rp_shape_release(grains.shape);
}

/* Energy never grows while balls without restitution fall and settle. */
static void test_energy_never_grows(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0.3, "spheres", "gaussian", "0", 1);
    rp_sim *sim = make_sim(&b.def);
    rp_step_stats stats = run_steps(sim, 1);
    double begin = stats.kinetic_energy + stats.potential_energy + extra_of(&stats, "rotation_energy"), last = begin;
    for (int k = 0; k < 200; k++) {
        stats = run_steps(sim, 1);
        double now = stats.kinetic_energy + stats.potential_energy + extra_of(&stats, "rotation_energy");
        assert_true(now < last + 1e-5 * begin);
        last = now;
    }
    assert_true(last < 0.9 * begin);
    rp_sim_destroy(sim);
    free_box(&b);
}

static uint64_t digest(rp_sim *sim)
{
    uint64_t h = 1469598103934665603u;
    rp_state state;
    assert_int_equal(rp_sim_save(sim, &state), RP_OK);
    for (int k = 0; k < state.count; k++) {
        const rp_blob *blob = &state.blobs[k];
        size_t size = (size_t)blob->count * (blob->type == RP_F64 || blob->type == RP_I64 ? 8 : 4);
        for (size_t i = 0; i < size; i++)
            h = (h ^ ((const unsigned char *)blob->data)[i]) * 1099511628211u;
    }
    rp_state_free(&state);
    return h;
}

static void test_threads_and_restarts_keep_the_bytes(void **state)
{
    (void)state;
    uint64_t one = 0, half = 0;
    static const int threads[] = { 1, 2, 5 };
    for (int t = 0; t < 3; t++) {
        box b;
        make_box(&b, 0.4, "capsules", "uniform", "0", threads[t]);
        rp_sim *sim = make_sim(&b.def), *again = make_sim(&b.def);
        run_steps(sim, 15);
        half = digest(sim);
        rp_state kept;
        assert_int_equal(rp_sim_save(sim, &kept), RP_OK);
        assert_int_equal(rp_sim_restore(again, &kept), RP_OK);
        rp_state_free(&kept);
        assert_true(digest(again) == half);
        run_steps(sim, 15);
        run_steps(again, 15);
        uint64_t end = digest(sim);
        assert_true(end == digest(again));
        assert_true(t == 0 || end == one);
        one = end;
        rp_sim_destroy(sim);
        rp_sim_destroy(again);
        free_box(&b);
    }
    assert_true(one != half);
}

/* Momentum of two balls that meet in space: kept; with restitution 1 their speeds are exchanged, without they go on together. */
static void collide_two(double restitution, double after[2])
{
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0, &material);
    char text[32];
    snprintf(text, sizeof text, "%g", restitution);
    rp_params *p = params_of("diameter", "4 cm", "restitution", text, "tolerance", "1e-12", "tolerance_max", "1e-11", NULL);
    rp_grains_def grains[2] = { rp_default_grains_def(), rp_default_grains_def() };
    for (int k = 0; k < 2; k++) {
        double x = k == 0 ? 0.3 : 0.5;
        grains[k].shape = box_shape(x + 0.001, x + 0.049, 0.501, 0.549, 0.501, 0.549);
        grains[k].sampling = RP_REGULAR;
        grains[k].per_cell = 1;
        grains[k].velocity[0] = k == 0 ? 2 : 0;
    }
    def.grains = grains;
    def.grains_count = 2;
    def.gravity[2] = 0;
    def.method_params = rp_params_data(p);
    def.frame_rate = 1000;
    rp_sim *sim = make_sim(&def);
    assert_int_equal(rp_sim_particle_count(sim), 2);
    for (int k = 0; k < 2; k++) { /* on one line */
        sim->particles.x[1][k] = sim->particles.x[2][k] = 0.525;
    }
    run_steps(sim, 200);
    for (int k = 0; k < 2; k++)
        after[k] = plane_of(sim, "velocity", 0)[k];
    rp_sim_destroy(sim);
    for (int k = 0; k < 2; k++)
        rp_shape_release(grains[k].shape);
    rp_params_destroy(p);
}

static void test_restitution(void **state)
{
    (void)state;
    double v[2];
    collide_two(0, v);
    assert_true(fabs(v[0] - 1) < 1e-9 && fabs(v[1] - 1) < 1e-9);
    collide_two(1, v);
    assert_true(fabs(v[0]) < 1e-9 && fabs(v[1] - 2) < 1e-9);
    collide_two(0.5, v);
    assert_true(fabs(v[0] - 0.5) < 1e-9 && fabs(v[1] - 1.5) < 1e-9);
}

/* A free body, a plate on balls: it comes to rest on them, and they carry it. */
static void test_free_body_on_balls(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0.5, "spheres", "same", "0", 1);
    rp_body_def body = rp_default_body_def();
    double centre[3] = { 0, 0, 0 }, half[3] = { 0.07, 0.07, 0.01 };
    assert_int_equal(rp_shape_box(centre, half, 0, &body.shape), RP_OK);
    rp_shape_release(b.grains.shape);
    b.grains.shape = box_shape(0, 0.2, 0, 0.2, 0, 0.05);
    body.name = "plate";
    body.kind = RP_BODY_FREE;
    body.density = 300;
    body.position[0] = 0.1, body.position[1] = 0.1, body.position[2] = 0.09;
    body.surface = (rp_surface){ .kind = RP_FRICTIONAL, .friction = 0.5 };
    b.def.bodies = &body;
    b.def.body_count = 1;
    rp_sim *sim = make_sim(&b.def);
    run_steps(sim, 200);
    rp_body_state now;
    assert_int_equal(rp_sim_body(sim, 0, &now), RP_OK);
    assert_true(now.position[2] > 0.03 && now.position[2] < 0.08);
    assert_true(fabs(now.velocity[2]) < 1e-3);
    assert_true(fabs(now.force[2] / (now.mass * G) - 1) < 0.02);
    rp_sim_destroy(sim);
    rp_shape_release(body.shape);
    free_box(&b);
}

/* A spinning capsule in space keeps its energy and its angular momentum, in any number of steps. */
static void test_tumbling_capsule(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0, "capsules", "same", "0", 1);
    b.def.gravity[2] = 0;
    rp_shape_release(b.grains.shape);
    b.grains.shape = box_shape(0.101, 0.124, 0.101, 0.124, 0.101, 0.124);
    rp_sim *sim = make_sim(&b.def);
    assert_int_equal(rp_sim_particle_count(sim), 1);
    rp__contact_grains g = rp__contact_grains_of(&sim->world, sim->first_field);
    g.spin[0][0] = 30, g.spin[1][0] = -20, g.spin[2][0] = 50;
    rp__vec3 spin = { 30, -20, 50 }, l0 = rp__contact_angular_momentum(&g, 0, spin);
    double e0 = rp__vec3_dot(spin, l0);
    run_steps(sim, 1000);
    spin = rp__vec3_make(g.spin[0][0], g.spin[1][0], g.spin[2][0]);
    rp__vec3 l1 = rp__contact_angular_momentum(&g, 0, spin);
    assert_true(rp__vec3_norm(rp__vec3_sub(l1, l0)) < 1e-9 * rp__vec3_norm(l0));
    assert_true(fabs(rp__vec3_dot(spin, l1) / e0 - 1) < 1e-9);
    rp_sim_destroy(sim);
    free_box(&b);
}

/* A capsule as long as its diameter is a sphere: its inertia too. Long ones tend to a rod. */
static void test_inertia(void **state)
{
    (void)state;
    double radius = 0.5, mass = 3, along, across, thin, wide;
    rp__contact_grains g = { .count = 1, .radius = &radius, .mass = &mass, .dim = 3 };
    rp__contact_inertia(&g, 0, &along, &across);
    g.slenderness = 1e-9;
    rp__contact_inertia(&g, 0, &thin, &wide);
    assert_true(fabs(along - thin) < 1e-8 && fabs(across - wide) < 1e-8 && fabs(along - 0.4 * 3 * 0.25) < 1e-12);
    g.slenderness = 1000;
    rp__contact_inertia(&g, 0, &along, &across);
    assert_true(fabs(across / (mass * 1000.0 * 1000 / 12) - 1) < 5e-3); /* m L² / 12 with L = 1000 */
}

/* Diameters by a sieve curve have its volumes; a curve that makes no sense is refused. */
static void test_sieve(void **state)
{
    (void)state;
    assert_int_equal(rp__contact_check_sieve("1 mm 0, 2 mm 0.6, 4 mm 1"), RP_OK);
    static const char *const bad[] = {
        "", "1 mm 0", "1 mm 0.5, 2 mm 0.2, 3 mm 1", "2 mm 0, 1 mm 1", "1 mm 0, 2 mm 0.9", "1 0, 2 1", "1 mm x, 2 mm 1", "1 s 0, 2 s 1"
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(rp__contact_check_sieve(bad[k]), RP_BAD_ARGUMENT);
    box b;
    make_box(&b, 0, "spheres", "sieve", "0", 1);
    assert_int_equal(rp_params_set(b.params, "sieve", "4 mm 0, 8 mm 0.5, 16 mm 1"), RP_OK);
    rp_shape_release(b.grains.shape);
    b.grains.shape = box_shape(0, 0.2, 0, 0.2, 0, 0.2);
    rp_sim *sim = make_sim(&b.def);
    double small = 0, all = 0;
    int64_t n = rp_sim_particle_count(sim);
    for (int64_t i = 0; i < n; i++) {
        double v = plane_of(sim, "volume", 0)[i];
        small += plane_of(sim, "radius", 0)[i] < 0.004 ? v : 0;
        all += v;
    }
    assert_true(n >= 500 && fabs(small / all - 0.5) < 0.15);
    rp_sim_destroy(sim);
    free_box(&b);
}

/* Discs in 2D settle too, and nothing goes through the walls. */
static void test_discs(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0.4, "spheres", "uniform", "0", 1);
    b.def.dim = 2;
    b.def.gravity[1] = -G;
    b.def.gravity[2] = 0;
    b.def.wall[2] = (rp_surface){ .kind = RP_FRICTIONAL, .friction = 0.4 };
    b.def.wall[3] = (rp_surface){ .kind = RP_OPEN };
    rp_sim *sim = make_sim(&b.def);
    int64_t n = rp_sim_particle_count(sim);
    rp_step_stats stats = run_steps(sim, 400);
    assert_int_equal(rp_sim_particle_count(sim), n);
    assert_true(stats.kinetic_energy < 1e-6 * fabs(stats.potential_energy));
    for (int64_t i = 0; i < n; i++)
        assert_true(plane_of(sim, "position", 1)[i] > 0.99 * plane_of(sim, "radius", 0)[i]);
    rp_sim_destroy(sim);
    free_box(&b);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    box b;
    make_box(&b, 0.4, "spheres", "uniform", "0", 1);
    for (int64_t nth = 1; nth < 2000; nth++) {
        rp_sim *sim = NULL;
        rp_step_stats stats;
        rp__base_fail_allocation(nth);
        rp_result result = rp_sim_create(&b.def, &sim);
        for (int k = 0; k < 2 && result == RP_OK; k++)
            result = rp_sim_step(sim, &stats);
        rp__base_fail_allocation(0);
        rp_sim_destroy(sim);
        if (result == RP_OK) {
            assert_true(nth > 20);
            free_box(&b);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail_msg("never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball_on_incline), cmocka_unit_test(test_rolling_friction),    cmocka_unit_test(test_pile_stays),
        cmocka_unit_test(test_pile_of_capsules_stays), cmocka_unit_test(test_what_is_wedged_rests),
        cmocka_unit_test(test_overlaps_part_without_speed), cmocka_unit_test(test_energy_never_grows),
        cmocka_unit_test(test_threads_and_restarts_keep_the_bytes), cmocka_unit_test(test_restitution),
        cmocka_unit_test(test_free_body_on_balls), cmocka_unit_test(test_tumbling_capsule),
        cmocka_unit_test(test_inertia),            cmocka_unit_test(test_sieve),
        cmocka_unit_test(test_fixed_grains),
        cmocka_unit_test(test_discs),              cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
