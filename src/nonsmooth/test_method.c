/* What the method keeps (momentum, mass, energy, bytes whatever the threads, its state) and what it survives. */
#include "nonsmooth/scene_tests.h"

#include <repose/friction.h>

/* Two clouds thrown at each other without gravity in an open domain: momentum and mass stay to rounding, through the dense state
 * and out of it again. */
static void clouds_keep_momentum(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 40, dim == 2 ? 12 : 8, 8 };
        const double from[3] = { 12, 3, 2 }, to[3] = { 17, dim == 2 ? 8 : 5, 5 };
        scene s;
        scene_begin(&s, dim, 0.05, cells, from, to);
        double centre[3] = { 25 * 0.05, (dim == 2 ? 6 : 4.5) * 0.05, 3.5 * 0.05 }, half[3] = { 0.1, 0.1, 0.1 };
        if (dim == 2)
            centre[2] = 0;
        assert_int_equal(rp_shape_box(centre, half, 0, &s.shape[1]), RP_OK);
        s.grains[1] = s.grains[0];
        s.grains[1].shape = s.shape[1];
        s.grains[0].velocity[0] = 1;
        s.grains[0].fill = 0.8;
        s.grains[1].velocity[0] = -1.5;
        s.grains[1].velocity[1] = 0.1;
        s.grains[1].fill = 0.8;
        s.def.grains_count = 2;
        s.def.gravity[dim - 1] = 0;
        for (int f = 0; f < 6; f++)
            s.def.wall[f].kind = RP_OPEN;
        scene_start(&s);
        double p0[3] = { 0 }, mass0 = 0, most = 0, energy = INFINITY;
        bool touched = false;
        for (int k = 0; k < 80; k++) {
            double p[3] = { 0 }, mass = 0;
            int64_t n;
            const double *m = scene_field(&s, "mass", 0, &n);
            for (int64_t i = 0; i < n; i++)
                mass += m[i];
            for (int a = 0; a < dim; a++) {
                const double *v = scene_field(&s, "velocity", a, &n);
                for (int64_t i = 0; i < n; i++)
                    p[a] += m[i] * v[i], most = fmax(most, fabs(v[i]));
            }
            if (k == 0) {
                memcpy(p0, p, sizeof p);
                mass0 = mass;
            }
            assert_true(fabs(mass - mass0) <= 1e-12 * mass0);
            for (int a = 0; a < dim; a++)
                assert_true(fabs(p[a] - p0[a]) <= 1e-11 * mass0 * most);
            rp_step_stats stats;
            scene_step(&s, &stats);
            /* The particles' velocity gradients hold energy too, so that from step to step this may rise a little. */
            energy = k == 0 ? stats.kinetic_energy : energy;
            assert_true(stats.kinetic_energy <= energy * (1 + 1e-12));
            for (int e = 0; e < stats.extra_count; e++)
                touched |= (strcmp(stats.extra_name[e], "slide") == 0 || strcmp(stats.extra_name[e], "stick") == 0) && stats.extra[e] > 0;
            if (stats.outside)
                break; /* the first have left */
        }
        assert_true(touched);
        scene_end(&s);
    }
}

/* Loose grains fall on parabolas while they do not touch. */
static void loose_grains_fall_freely(void **state)
{
    (void)state;
    const int cells[3] = { 8, 20, 1 };
    const double from[3] = { 2, 12, 0 }, to[3] = { 6, 16, 1 };
    scene s;
    scene_begin(&s, 2, 0.05, cells, from, to);
    s.grains[0].fill = 0.5;
    s.grains[0].velocity[0] = 0.2;
    scene_start(&s);
    rp_step_stats stats;
    double g = 0;
    for (int k = 0; k < 20; k++) {
        scene_step(&s, &stats);
        g += stats.dt * 9.81;
        int64_t n;
        const double *u = scene_field(&s, "velocity", 0, &n), *v = scene_field(&s, "velocity", 1, &n);
        for (int64_t i = 0; i < n; i++) {
            assert_true(fabs(u[i] - 0.2) <= 1e-10);
            assert_true(fabs(v[i] + g) <= 1e-10);
        }
    }
    scene_end(&s);
}

/* A cloud of random velocities in a closed box: kinetic and potential energy never grow together. */
static void energy_never_grows(void **state)
{
    (void)state;
    const int cells[3] = { 10, 10, 1 };
    const double from[3] = { 1, 2, 0 }, to[3] = { 8, 9, 1 };
    scene s;
    scene_begin(&s, 2, 0.05, cells, from, to);
    s.grains[0].fill = 0.8;
    const char *variables[] = { "x", "y", "z" };
    assert_int_equal(rp_expression_create("math.sin(91*x+17*y), math.cos(57*x-83*y), 0", variables, 3, 3,
                                          &s.grains[0].velocity_field),
                     RP_OK);
    scene_set(&s, "tolerance", "1e-6");
    s.def.frame_rate = 200;
    scene_start(&s);
    rp_step_stats stats;
    double last = INFINITY, first = 0;
    for (int k = 0; k < 10000; k++) {
        scene_step(&s, &stats);
        double energy = stats.kinetic_energy + stats.potential_energy;
        if (k == 0)
            first = energy;
        if (!(energy <= last + 1e-7 * first))
            fail_msg("step %d: energy %.15g J after %.15g J", k, energy, last);
        last = energy;
    }
    /* Thrown at 1 m/s, and 50 s later at rest, to what the tolerance leaves of the speed that gravity gives in a step. */
    if (!(scene_fastest(&s) < 1e-6 * 9.81 * 0.005))
        fail_msg("still moves with %g m/s", scene_fastest(&s));
    rp_expression_release(s.grains[0].velocity_field);
    scene_end(&s);
}

static void small_collapse(scene *s, int threads)
{
    const int cells[3] = { 16, 8, 10 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 5, 8, 8 };
    scene_begin(s, 3, 0.05, cells, from, to);
    s->grains[0].sampling = RP_JITTERED;
    s->material.friction_dynamic = 0.7;
    s->material.inertial_number = 0.3;
    s->material.grain_diameter = 0.005;
    s->material.viscosity = 0.001;
    s->def.wall[2].kind = RP_FRICTIONAL;
    s->def.wall[2].friction = 0.3;
    s->def.threads = threads;
}

static bool same_state(const scene *a, const scene *b)
{
    rp_state x = { 0 }, y = { 0 };
    assert_int_equal(rp_sim_save(a->sim, &x), RP_OK);
    assert_int_equal(rp_sim_save(b->sim, &y), RP_OK);
    bool same = x.count == y.count;
    for (int i = 0; same && i < x.count; i++) {
        size_t size = x.blobs[i].type == RP_F64 || x.blobs[i].type == RP_I64 ? 8 : 4;
        same = x.blobs[i].count == y.blobs[i].count &&
               memcmp(x.blobs[i].data, y.blobs[i].data, size * (size_t)x.blobs[i].count) == 0;
        if (!same)
            print_message("'%s' differs\n", x.blobs[i].name);
    }
    rp_state_free(&x);
    rp_state_free(&y);
    return same;
}

static void threads_give_the_same_bytes(void **state)
{
    (void)state;
    scene one, more;
    rp_step_stats stats;
    small_collapse(&one, 1);
    scene_start(&one);
    for (int threads = 2; threads <= 5; threads += 3) {
        small_collapse(&more, threads);
        scene_start(&more);
        while (rp_sim_steps(one.sim) < 6)
            scene_step(&one, &stats);
        for (int k = 0; k < 6; k++)
            scene_step(&more, &stats);
        assert_true(same_state(&one, &more));
        scene_end(&more);
    }
    scene_end(&one);
}

static void resumed_run_is_the_same(void **state)
{
    (void)state;
    scene whole, resumed;
    rp_step_stats stats;
    small_collapse(&whole, 1);
    small_collapse(&resumed, 1);
    scene_start(&whole);
    scene_start(&resumed);
    for (int k = 0; k < 5; k++)
        scene_step(&whole, &stats);
    rp_state kept = { 0 };
    assert_int_equal(rp_sim_save(whole.sim, &kept), RP_OK);
    if (rp_sim_restore(resumed.sim, &kept) != RP_OK)
        fail_msg("%s", rp_last_error());
    for (int k = 0; k < 4; k++) {
        scene_step(&whole, &stats);
        scene_step(&resumed, &stats);
    }
    assert_true(same_state(&whole, &resumed));
    /* A state without the stresses is refused. */
    rp_state broken = { 0 };
    for (int i = 0; i < kept.count; i++)
        if (strcmp(kept.blobs[i].name, "nonsmooth/dual_stress") != 0)
            assert_int_equal(rp_state_add(&broken, kept.blobs[i].name, kept.blobs[i].type, kept.blobs[i].count, kept.blobs[i].data), RP_OK);
    assert_int_equal(rp_sim_restore(resumed.sim, &broken), RP_BAD_FILE);
    rp_state_free(&broken);
    rp_state_free(&kept);
    scene_end(&whole);
    scene_end(&resumed);
}

/* ---- bad input: no crash, no number that is not finite ---- */

static void all_finite(const scene *s)
{
    int64_t n;
    for (int a = 0; a < 3; a++) {
        const double *x = scene_field(s, "position", a, &n), *v = scene_field(s, "velocity", a, &n);
        for (int64_t i = 0; i < n; i++)
            assert_true(isfinite(x[i]) && isfinite(v[i]));
    }
}

static void run_steps(scene *s, int count)
{
    rp_step_stats stats;
    scene_start(s);
    for (int k = 0; k < count; k++)
        scene_step(s, &stats);
    all_finite(s);
    scene_end(s);
}

static void odd_scenes_survive(void **state)
{
    (void)state;
    const double whole[3] = { 0, 0, 0 }, top[3] = { 4, 4, 4 };
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 6, 6, 6 };
        scene s;
        scene_begin(&s, dim, 0.05, cells, whole, top); /* empty */
        s.def.grains_count = 0;
        run_steps(&s, 3);
        const double a[3] = { 2, 2, 2 }, b[3] = { 2.4, 2.4, 2.4 }; /* one particle */
        scene_begin(&s, dim, 0.05, cells, a, b);
        s.grains[0].per_cell = 4;
        run_steps(&s, 50);
        for (int k = 0; k < 4; k++) { /* friction 0 and 10, no gravity, steps too large */
            scene_begin(&s, dim, 0.05, cells, whole, top);
            s.material.friction = k == 0 ? 0 : k == 1 ? 10 : 0.5;
            if (k == 2)
                s.def.gravity[dim - 1] = 0;
            if (k == 3)
                s.def.frame_rate = 2, s.def.substeps = 1;
            s.def.speed_limit = 1e9;
            run_steps(&s, 10);
        }
        scene_begin(&s, dim, 0.05, cells, whole, top); /* thrown at 1000 m/s */
        s.grains[0].velocity[0] = 1000, s.grains[0].velocity[dim - 1] = -700;
        s.def.frame_rate = 10000;
        s.def.speed_limit = 1e9;
        run_steps(&s, 20);
        const int thin[3] = { 6, dim == 2 ? 6 : 1, 6 }; /* one cell thin */
        const double to[3] = { 4, dim == 2 ? 4 : 1, 4 };
        scene_begin(&s, dim, 0.05, thin, whole, to);
        run_steps(&s, 10);
        const int flat[3] = { 6, dim == 2 ? 1 : 6, 1 };
        const double up[3] = { 4, dim == 2 ? 1 : 4, 1 };
        scene_begin(&s, dim, 0.05, flat, whole, up);
        run_steps(&s, 10);
    }
}

/* Particles put exactly on nodes, faces and walls, and ten thousand in one cell, through the state. */
static void odd_places_survive(void **state)
{
    (void)state;
    const int cells[3] = { 8, 8, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 8, 4, 1 };
    for (int crowd = 0; crowd < 2; crowd++) {
        scene s;
        scene_begin(&s, 2, 0.05, cells, from, to);
        if (crowd)
            s.grains[0].per_cell = 400;
        scene_start(&s);
        rp_state kept = { 0 };
        assert_int_equal(rp_sim_save(s.sim, &kept), RP_OK);
        bool found = false;
        for (int i = 0; i < kept.count; i++) {
            if (!strstr(kept.blobs[i].name, "position"))
                continue;
            found = true;
            double *x = kept.blobs[i].data;
            int64_t n = kept.blobs[i].count / 3;
            for (int64_t k = 0; k < n; k++) {
                if (crowd)
                    x[k] = 0.11, x[n + k] = 0.06 + 1e-7 * (double)(k % 100);
                else
                    x[k] = 0.05 * (double)(k % 9), x[n + k] = 0.05 * (double)(k / 9 % 5);
            }
        }
        if (found && rp_sim_restore(s.sim, &kept) == RP_OK) {
            rp_step_stats stats;
            for (int k = 0; k < 10; k++)
                scene_step(&s, &stats);
            all_finite(&s);
        }
        rp_state_free(&kept);
        scene_end(&s);
    }
}

/* The problems written are those that the friction library reads and solves. */
static void problems_can_be_written(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        char folder[] = "/tmp/repose-problems-XXXXXX", path[128];
        assert_non_null(mkdtemp(folder));
        const int cells[3] = { 8, 8, 6 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 3, dim == 2 ? 6 : 3, 4 };
        scene s;
        scene_begin(&s, dim, 0.05, cells, from, to);
        scene_set(&s, "dump_problems", "1");
        scene_set(&s, "dump_folder", folder);
        scene_start(&s);
        rp_step_stats stats;
        scene_step(&s, &stats);
        scene_step(&s, &stats);
        snprintf(path, sizeof path, "%s/problem-000000.hdf5", folder);
        rp_friction *problem;
        if (rp_friction_read(path, &problem) != RP_OK)
            fail_msg("%s", rp_last_error());
        rp_friction_destroy(problem);
        remove(path);
        snprintf(path, sizeof path, "%s/problem-000001.hdf5", folder);
        assert_null(fopen(path, "r"));
        remove(folder);
        scene_end(&s);
    }
}

/* Every allocation fails once: a result, no leak, no crash. */
static void out_of_memory_is_told(void **state)
{
    (void)state;
    for (int64_t nth = 1;; nth++) {
        scene s;
        const int cells[3] = { 6, 6, 1 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, 4, 1 };
        scene_begin(&s, 2, 0.05, cells, from, to);
        s.material.viscosity = 1;
        s.def.method_params = rp_params_data(s.params);
        rp_step_stats stats;
        rp__base_fail_allocation(nth);
        rp_result result = rp_sim_create(&s.def, &s.sim);
        for (int k = 0; k < 2 && result == RP_OK; k++)
            result = rp_sim_step(s.sim, &stats);
        int64_t asked = rp__base_fail_allocation(0);
        scene_end(&s);
        if (asked < nth) {
            assert_int_equal(result, RP_OK);
            break;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
}

/* A particle alone at its nodes tells itself nothing: a gradient that it came to does not stay, and its ellipsoid does not grow. */
static void lone_particles_keep_no_gradient(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 40, 40, 40 };
        const double from[3] = { 19, 19, 19 }, to[3] = { 21, 21, 21 };
        scene s;
        rp_step_stats stats;
        scene_begin(&s, dim, 0.02, cells, from, to);
        s.def.gravity[dim - 1] = 0;
        const char *variables[] = { "x", "y", "z" }; /* flies apart: after 0.2 s every particle is alone */
        assert_int_equal(rp_expression_create(dim == 2 ? "20 * (x - 0.4), 20 * (y - 0.4), 0" : "20 * (x - 0.4), 20 * (y - 0.4), 20 * (z - 0.4)",
                                              variables, 3, 3, &s.grains[0].velocity_field),
                         RP_OK);
        for (int f = 0; f < 6; f++)
            s.def.wall[f].kind = RP_SLIP;
        scene_start(&s);
        while (rp_sim_time(s.sim) < 0.4)
            scene_step(&s, &stats);
        int64_t n;
        double most = 0, longest = 0;
        const double *size = scene_field(&s, "size", 0, &n);
        for (int c = 0; c < dim; c++) {
            const double *f = scene_field(&s, "ellipsoid", c, NULL);
            for (int64_t i = 0; i < n; i++)
                longest = fmax(longest, sqrt(f[i]) / size[i]);
        }
        for (int c = 0; c < 9; c++) {
            const double *g = scene_field(&s, "gradient", c, NULL);
            for (int64_t i = 0; i < n; i++)
                most = fmax(most, fabs(g[i]));
        }
        if (!(most < 0.5 && longest <= 8.001))
            fail_msg("%dD: a gradient of %g /s is left, a semi-axis of %g sizes", dim, most, longest);
        rp_expression_release(s.grains[0].velocity_field);
        scene_end(&s);
    }
}

/* A bed that is stirred keeps its number of particles, and their ellipsoids their size. */
static void stirred(int dim, double time)
{
    const int cells[3] = { dim == 2 ? 24 : 10, dim == 2 ? 20 : 10, 8 };
    const double from[3] = { 0, 0, 0 }, to[3] = { cells[0], dim == 2 ? 12 : 10, 4 };
    scene s;
    rp_step_stats stats;
    rp_shape *shape;
    rp_motion *motion;
    double centre[3] = { 0 }, half[3] = { 0.04, 0.04, 0.15 };
    scene_begin(&s, dim, dim == 2 ? 0.02 : 0.04, cells, from, to);
    s.def.frame_rate = 25;
    assert_int_equal(dim == 2 ? rp_shape_sphere(centre, 0.05, &shape) : rp_shape_box(centre, half, 0, &shape), RP_OK);
    assert_int_equal(rp_motion_expression(dim == 2 ? "0.24 + 0.1*math.sin(4*t), 0.15 - 0.05*math.cos(4*t), 0"
                                                   : "0.2 + 0.1*math.cos(6*t), 0.2 + 0.1*math.sin(6*t), 0.2",
                                          &motion),
                     RP_OK);
    rp_body_def rod = rp_default_body_def();
    rod.name = "rod", rod.shape = shape, rod.motion = motion;
    rod.surface = (rp_surface){ RP_FRICTIONAL, 0.5, 0 };
    s.def.bodies = &rod;
    s.def.body_count = 1;
    scene_start(&s);
    double begin = (double)rp_sim_particle_count(s.sim), most = 0;
    while (rp_sim_time(s.sim) < time) {
        scene_step(&s, &stats);
        most = fmax(most, (double)stats.particles);
    }
    int64_t n;
    double longest = 0;
    const double *size = scene_field(&s, "size", 0, &n);
    for (int c = 0; c < dim; c++) {
        const double *f = scene_field(&s, "ellipsoid", c, NULL);
        for (int64_t i = 0; i < n; i++)
            longest = fmax(longest, sqrt(f[i]) / size[i]);
    }
    print_message("%dD: %g particles of %g\n", dim, most, begin);
    if (!(most <= 1.5 * begin && longest < 8.001))
        fail_msg("%g particles of %g, a semi-axis of %g sizes", most, begin, longest);
    scene_end(&s);
    rp_shape_release(shape);
    rp_motion_release(motion);
}

static void stirred_particles_stay_few(void **state)
{
    (void)state;
    stirred(2, 3);
    stirred(3, 2.5);
}

static double extra_of(const rp_step_stats *stats, const char *name)
{
    for (int e = 0; e < stats->extra_count; e++)
        if (strcmp(stats->extra_name[e], name) == 0)
            return stats->extra[e];
    fail_msg("no column '%s'", name);
    return 0;
}

/* Over-packed part of the grains, in the mean of the end of the first turn of a slow drum, `k` the dilatancy. */
static double drum_packing(const char *k, const char *apex, double *thrown)
{
    const int cells[3] = { 28, 28, 1 };
    const double from[3] = { 2, 2, 0 }, to[3] = { 26, 12.5, 1 };
    scene s;
    rp_step_stats stats;
    rp_shape *out, *in, *shape;
    rp_motion *motion;
    double centre[3] = { 0 }, far[3] = { 2, 2, 1 };
    scene_begin(&s, 2, 0.02, cells, from, to);
    scene_set(&s, "dilatancy", k);
    scene_set(&s, "apex", apex);
    s.def.wall[2].kind = RP_SLIP;
    assert_int_equal(rp_shape_box(centre, far, 0, &out), RP_OK);
    assert_int_equal(rp_shape_sphere(centre, 11.5 * 0.02, &in), RP_OK);
    assert_int_equal(rp_shape_difference(out, in, &shape), RP_OK);
    assert_int_equal(rp_motion_expression("0.28, 0.28, 0, 0, 0, 0.2*math.pi*t", &motion), RP_OK);
    rp_body_def drum = rp_default_body_def();
    drum.name = "drum", drum.shape = shape, drum.motion = motion;
    drum.surface = (rp_surface){ RP_FRICTIONAL, 0.8, 0 };
    s.def.bodies = &drum;
    s.def.body_count = 1;
    s.def.frame_rate = 4;
    scene_start(&s);
    double made = 0, taken = 0, packed = 0, steps = 0;
    while (rp_sim_time(s.sim) < 10) {
        scene_step(&s, &stats);
        if (rp_sim_time(s.sim) > 8) /* a single moment is chance */
            packed += stats.volume_error, steps++;
        double work = extra_of(&stats, "energy_made");
        *(work > 0 ? &made : &taken) += fabs(work);
        *thrown = fmax(*thrown, work);
    }
    if (!(made < 2e-3 * taken)) /* the tolerance, in steps that hardly take any */
        fail_msg("stresses made %g J and took %g J", made, taken);
    scene_end(&s);
    rp_shape_release(out);
    rp_shape_release(in);
    rp_shape_release(shape);
    rp_motion_release(motion);
    return packed / steps;
}

/* No step lifts the grains of a drum. Nodes behind its wall that the least part of a particle reaches were moved by contacts and moved back by ties, and the
 * wall pushed with many times the weight of the grains: at any apex, once in some turns. */
static void drums_are_not_thrown(void **state)
{
    static const char *const apex[] = { "1", "0.5", "0.1", "0" };
    (void)state;
    for (size_t k = 0; k < sizeof apex / sizeof *apex; k++) {
        double thrown = 0;
        drum_packing("4", apex[k], &thrown);
        print_message("apex %s: a step made %g J at most\n", apex[k], thrown);
        assert_true(thrown < 0.01);
    }
}

/* A drum keeps its volume by dilatancy, and loses it without. */
static void dilatancy_keeps_volume(void **state)
{
    (void)state;
    double unused = 0, with = drum_packing("4", "0.25", &unused), without = drum_packing("0", "0.25", &unused);
    print_message("over-packed: %g with dilatancy, %g without\n", with, without);
    assert_true(with < 0.04);
    assert_true(without > 1.5 * with);
}

/* Kinetic energy in the frame of the floor, in units of what one cell's fall would give it, after a jittered bed has ridden for a while. */
static double riding(double speed)
{
    const int cells[3] = { 12, 40, 1 };
    const double from[3] = { 0, 4, 0 }, to[3] = { 12, 14, 1 };
    scene s;
    rp_step_stats stats;
    rising_floor floor;
    double sum = 0, mass = 0;
    scene_begin(&s, 2, 0.02, cells, from, to);
    s.grains[0].sampling = RP_JITTERED;
    rising_floor_begin(&floor, &s, 4 * 0.02, speed);
    scene_start(&s);
    double made = 0, weight = 9.81 * 12 * 10 * 0.02 * 0.02 * s.material.density * s.material.volume_fraction;
    while (rp_sim_time(s.sim) < 2) {
        scene_step(&s, &stats);
        made += extra_of(&stats, "energy_made");
    }
    print_message("stresses made %g J/m on a floor of %g m/s\n", made, speed);
    assert_true(made < 2e-5 * weight * fmax(2 * speed, 0.02)); /* of what the floor lifts, or a cell's fall */
    int64_t n;
    const double *m = scene_field(&s, "mass", 0, &n), *u = scene_field(&s, "velocity", 0, NULL), *v = scene_field(&s, "velocity", 1, NULL);
    for (int64_t i = 0; i < n; i++)
        sum += m[i] * (u[i] * u[i] + (v[i] - speed) * (v[i] - speed)), mass += m[i];
    scene_end(&s);
    rising_floor_end(&floor);
    return 0.5 * sum / (mass * 9.81 * 0.02);
}

static void rest_is_the_same_in_moving_frames(void **state)
{
    (void)state;
    double still = riding(0), slow = riding(0.01), fast = riding(0.2);
    print_message("energy of a bed: %g, %g on a slow floor, %g on a fast one\n", still, slow, fast);
    assert_true(still < 1e-4 && slow < 1e-4 && fast < 1e-4);
}

/* What users read of a heap thrown together at random: no pull without cohesion, no pressure beyond the weight above, fractions below one;
 * and of a column at rest, that planes carry what
 * lies above them. */
static void node_fields_are_sane(void **state)
{
    (void)state;
    const double h = 0.02;
    const int cells[3] = { 24, 24, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 10, 16, 1 };
    for (int column = 0; column < 2; column++) {
        scene s;
        rp_step_stats stats;
        const rp_field_view *views, *at = NULL, *pressure = NULL, *fraction = NULL, *stress = NULL;
        int count;
        int64_t nodes;
        scene_begin(&s, 2, h, cells, from, to);
        s.grains[0].sampling = RP_JITTERED;
        if (column)
            s.def.upper[0] = 10 * h;
        scene_start(&s);
        double most = 2500 * 9.81 * 16 * h;
        while (rp_sim_time(s.sim) < 0.6) {
            scene_step(&s, &stats);
            assert_int_equal(rp_sim_grid_fields(s.sim, &views, &count, &nodes), RP_OK);
            for (int v = 0; v < count; v++) {
                at = strcmp(views[v].info.name, "position") == 0 ? &views[v] : at;
                pressure = strcmp(views[v].info.name, "pressure") == 0 ? &views[v] : pressure;
                fraction = strcmp(views[v].info.name, "volume_fraction") == 0 ? &views[v] : fraction;
                stress = strcmp(views[v].info.name, "stress") == 0 ? &views[v] : stress;
            }
            const double *p = pressure->data, *f = fraction->data;
            for (int64_t i = 0; i < nodes; i++)
                if (!(p[i] >= 0 && p[i] < 3 * most && f[i] >= 0 && f[i] <= 1))
                    fail_msg("pressure %g Pa, fraction %g at %g s", p[i], f[i], rp_sim_time(s.sim));
        }
        int64_t n;
        const double *x = scene_field(&s, "position", 1, &n), *m = scene_field(&s, "mass", 0, NULL), *place = at->data;
        for (int row = 3; row < 12 && column; row++) {
            double carried = 0, above = 0, f = 0, room = 0;
            for (int64_t i = 0; i < nodes; i++)
                if (fabs(place[at->stride + i] - row * h) < 1e-6) {
                    double part = place[i] < 0.5 * h || place[i] > 9.5 * h ? 0.5 * h : h;
                    carried -= part * ((const double *)stress->data)[stress->stride + i];
                    f += part * ((const double *)fraction->data)[i], room += part;
                }
            for (int64_t i = 0; i < n; i++)
                above += x[i] > row * h ? 9.81 * m[i] : 0;
            carried *= 0.6; /* of the packed material */
            if (!(fabs(carried - above) < 0.01 * above && fabs(f / room - 0.6) < 0.01))
                fail_msg("row %d carries %g N/m of %g, filled to %g", row, carried, above, f / room);
        }
        scene_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clouds_keep_momentum),
        cmocka_unit_test(lone_particles_keep_no_gradient),
        cmocka_unit_test(stirred_particles_stay_few),
        cmocka_unit_test(dilatancy_keeps_volume),
        cmocka_unit_test(drums_are_not_thrown),
        cmocka_unit_test(rest_is_the_same_in_moving_frames),
        cmocka_unit_test(node_fields_are_sane),
        cmocka_unit_test(loose_grains_fall_freely),
        cmocka_unit_test(energy_never_grows),
        cmocka_unit_test(threads_give_the_same_bytes),
        cmocka_unit_test(resumed_run_is_the_same),
        cmocka_unit_test(odd_scenes_survive),
        cmocka_unit_test(odd_places_survive),
        cmocka_unit_test(problems_can_be_written),
        cmocka_unit_test(out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
