/* `stress: dual` against exact solutions, and what must hold of any method. */
#include "nonsmooth/scene_tests.h"

static void dual_begin(scene *s, int dim, double h, const int cells[3], const double from[3], const double to[3])
{
    scene_begin(s, dim, h, cells, from, to);
    scene_set(s, "stress", "dual");
}

static double total(const scene *s, const char *weight, const char *field, int component)
{
    int64_t n;
    double sum = 0;
    const double *m = scene_field(s, weight, 0, &n), *v = scene_field(s, field, component, NULL);
    for (int64_t i = 0; i < n; i++)
        sum += m[i] * v[i];
    return sum;
}

/* A column between slip walls: the floor carries the weight, -sigma_zz of every layer is rho g depth, nothing moves. */
static void column(int dim, double friction)
{
    const int cells[3] = { 4, dim == 2 ? 14 : 4, 14 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 12 : 4, 12 };
    const double h = 0.05, height = 12 * h;
    const int up = dim - 1;
    scene s;
    rp_step_stats stats;
    dual_begin(&s, dim, h, cells, from, to);
    s.material.friction = friction;
    scene_start(&s);
    double before = total(&s, "mass", "position", up);
    for (int k = 0; k < 200; k++) {
        scene_step(&s, &stats);
        assert_true(stats.converged);
    }
    double mass = before / (0.5 * height), sunk = (before - total(&s, "mass", "position", up)) / mass;
    if (!(fabs(sunk) < (friction > 0 ? 1e-3 : 1e-2) * h))
        fail_msg("the column of %d dimensions sank by %g cells", dim, sunk / h);
    if (friction > 0)
        assert_true(scene_fastest(&s) < 1e-3 * sqrt(9.81 * h));
    const rp_field_view *views;
    int count;
    int64_t nodes;
    assert_int_equal(rp_sim_grid_fields(s.sim, &views, &count, &nodes), RP_OK);
    const double *at = views[0].data, *stress = views[5].data;
    for (int layer = 1; layer < 11; layer++) {
        double sum = 0, weight = 0;
        for (int64_t i = 0; i < nodes; i++) {
            if (fabs(at[up * nodes + i] - layer * h) > 1e-9)
                continue;
            double w = 1;
            for (int a = 0; a < up; a++) /* dual cells at a wall are halves */
                w *= at[a * nodes + i] < 1e-9 || at[a * nodes + i] > 4 * h - 1e-9 ? 0.5 : 1;
            sum -= w * stress[(dim == 3 ? 2 : 1) * nodes + i];
            weight += w;
        }
        double exact = s.material.density * 9.81 * (height - layer * h);
        if (!(fabs(sum / weight - exact) <= 0.006 * s.material.density * 9.81 * height))
            fail_msg("layer %d of the column of %d dimensions carries %g Pa, its weight is %g Pa", layer, dim, sum / weight, exact);
    }
    double force[3];
    assert_int_equal(rp_sim_wall_force(s.sim, 2 * up, force), RP_OK);
    assert_true(fabs(force[up] + mass * 9.81) <= 2e-3 * mass * 9.81);
    scene_end(&s);
}

static void columns_rest(void **state)
{
    (void)state;
    column(2, 0.5);
    column(3, 0.5);
    column(2, 0);
    column(3, 0);
}

/* Free fall: every particle has -g t, and the distances stay. */
static void blocks_fall(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 12, dim == 2 ? 40 : 12, 40 };
        const double from[3] = { 4, dim == 2 ? 30 : 4, 30 }, to[3] = { 8, dim == 2 ? 34 : 8, 34 };
        scene s;
        rp_step_stats stats = { 0 };
        int64_t n;
        dual_begin(&s, dim, 0.05, cells, from, to);
        scene_start(&s);
        while (stats.time < 0.4)
            scene_step(&s, &stats);
        for (int a = 0; a < dim; a++) {
            const double *v = scene_field(&s, "velocity", a, &n);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabs(v[i] + (a == dim - 1 ? 9.81 * stats.time : 0)) < 1e-10);
        }
        scene_end(&s);
    }
}

/* A block that flies, turns and shears, away from walls: momentum and angular momentum stay to rounding, energy does not grow. */
static void flights_keep_momentum(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 32, 32, dim == 2 ? 0 : 32 };
        const double from[3] = { 10, 10, 10 }, to[3] = { 18, 16, 14 };
        scene s;
        rp_step_stats stats;
        dual_begin(&s, dim, 0.05, cells, from, to);
        s.def.gravity[0] = s.def.gravity[1] = s.def.gravity[2] = 0;
        s.def.wall[2 * (dim - 1)].kind = RP_SLIP;
        s.grains[0].velocity[0] = 0.3, s.grains[0].velocity[1] = 0.2;
        s.grains[0].angular_velocity[2] = 2;
        s.grains[0].pivot[0] = 0.7, s.grains[0].pivot[1] = 0.65;
        scene_set(&s, "split", "false");
        scene_set(&s, "merge", "false");
        scene_start(&s);
        double p0 = total(&s, "mass", "velocity", 0), p1 = total(&s, "mass", "velocity", 1), last = INFINITY;
        for (int k = 0; k < 20; k++) {
            scene_step(&s, &stats);
            double energy = 0;
            int64_t n;
            const double *m = scene_field(&s, "mass", 0, &n);
            for (int a = 0; a < dim; a++) { /* with that of the gradient: m h^2 / 4 is the moment of the kernel */
                const double *v = scene_field(&s, "velocity", a, NULL);
                for (int64_t i = 0; i < n; i++)
                    energy += 0.5 * m[i] * v[i] * v[i];
                for (int b = 0; b < dim; b++) {
                    const double *c = scene_field(&s, "gradient", 3 * a + b, NULL);
                    for (int64_t i = 0; i < n; i++)
                        energy += 0.125 * m[i] * 0.05 * 0.05 * c[i] * c[i];
                }
            }
            if (!(energy <= last * (1 + 1e-9)))
                fail_msg("energy grows from %.12g to %.12g J in step %d", last, energy, k);
            last = energy;
        }
        double size = fabs(p0) + fabs(p1);
        assert_true(fabs(total(&s, "mass", "velocity", 0) - p0) < 1e-12 * size);
        assert_true(fabs(total(&s, "mass", "velocity", 1) - p1) < 1e-12 * size);
        scene_end(&s);
    }
}

/* A layer on a slope that sticks, periodic along it. */
static void slope(scene *s, int dim, double tangent)
{
    const int cells[3] = { 4, dim == 2 ? 12 : 4, 12 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 8 : 4, 8 };
    dual_begin(s, dim, 0.05, cells, from, to);
    double c = 1 / sqrt(1 + tangent * tangent);
    s->def.gravity[0] = 9.81 * tangent * c;
    s->def.gravity[dim - 1] = -9.81 * c;
    s->def.wall[0].kind = s->def.wall[1].kind = RP_PERIODIC;
    if (dim == 3)
        s->def.wall[2].kind = s->def.wall[3].kind = RP_PERIODIC;
    s->grains[0].sampling = RP_JITTERED;
    scene_start(s);
}

static void slopes_hold_and_slide(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        scene s;
        rp_step_stats stats = { 0 };
        slope(&s, dim, 0.95 * 0.5 * (dim == 3 ? 0.8660254 : 1)); /* 3D: in plane strain at yield the cone carries less than mu^ */
        double last = 0, mass = 0;
        int64_t n;
        const double *m = scene_field(&s, "mass", 0, &n);
        for (int64_t i = 0; i < n; i++)
            mass += m[i];
        while (stats.time < 1) {
            scene_step(&s, &stats);
            last += stats.dt * total(&s, "mass", "velocity", 0) / mass;
        }
        if (!(fabs(last) < 0.2 * 0.05))
            fail_msg("a layer of %d dimensions below its angle slid %g cells", dim, last / 0.05);
        scene_end(&s);
        memset(&stats, 0, sizeof stats);
        slope(&s, dim, 1.0);
        while (stats.time < 0.1)
            scene_step(&s, &stats);
        double v = scene_mean(&s, 0, dim - 1, 0.2), t = stats.time;
        while (stats.time < 0.3)
            scene_step(&s, &stats);
        double rate = (scene_mean(&s, 0, dim - 1, 0.2) - v) / (stats.time - t), exact = 9.81 * sqrt(0.5) * (1 - 0.5);
        if (dim == 2 && !(fabs(rate / exact - 1) < 0.06))
            fail_msg("the upper half of a layer slides with %g m/s2 in place of %g", rate, exact);
        assert_true(rate > 0.9 * exact);
        scene_end(&s);
    }
}

/* The same bytes with other threads, and after a restart. */
static void bytes_stay(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 16, dim == 2 ? 12 : 8, 12 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 5, dim == 2 ? 8 : 8, 8 };
        double *x[3] = { NULL };
        int64_t count[3];
        for (int run = 0; run < 3; run++) {
            scene s;
            rp_step_stats stats;
            dual_begin(&s, dim, 0.05, cells, from, to);
            s.def.threads = run == 1 ? 3 : 1;
            scene_start(&s);
            for (int k = 0; k < 12; k++) {
                scene_step(&s, &stats);
                if (run == 2 && k == 5) { /* saved and restored into a new simulation */
                    rp_state kept = { 0 };
                    assert_int_equal(rp_sim_save(s.sim, &kept), RP_OK);
                    rp_sim_destroy(s.sim);
                    assert_int_equal(rp_sim_create(&s.def, &s.sim), RP_OK);
                    assert_int_equal(rp_sim_restore(s.sim, &kept), RP_OK);
                    rp_state_free(&kept);
                }
            }
            const double *v = scene_field(&s, "velocity", 0, &count[run]);
            x[run] = malloc((size_t)count[run] * sizeof(double));
            memcpy(x[run], v, (size_t)count[run] * sizeof(double));
            scene_end(&s);
        }
        for (int run = 1; run < 3; run++) {
            assert_int_equal(count[run], count[0]);
            assert_memory_equal(x[run], x[0], (size_t)count[0] * sizeof(double));
        }
        for (int run = 0; run < 3; run++)
            free(x[run]);
    }
}

/* The rounding of the apex is what keeps the surface of a heap near its angle from creeping; without it the heap moves many times farther. Poisson points,
 * whose surface is uneven, 0.9 of the angle. */
static double heap_creep(const char *apex, const char *ties)
{
    const int cells[3] = { 40, 12, 0 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 40, 10, 0 };
    scene s;
    rp_step_stats stats = { 0 };
    dual_begin(&s, 2, 0.05, cells, from, to);
    scene_set(&s, "apex", apex);
    scene_set(&s, "ties", ties);
    s.def.frame_rate = 25; /* long steps: what the stresses leave falls by a part of g dt in each */
    rp_shape *left, *right, *parts[3];
    const double top[3] = { 1, 0.4, 0 }, one[3] = { 0.45, 1, 0 }, two[3] = { -0.45, 1, 0 };
    assert_int_equal(rp_shape_plane(top, one, &left), RP_OK);
    assert_int_equal(rp_shape_plane(top, two, &right), RP_OK);
    parts[0] = left, parts[1] = right, parts[2] = s.shape[0];
    assert_int_equal(rp_shape_intersection(parts, 3, &s.shape[1]), RP_OK);
    s.grains[0].shape = s.shape[1];
    s.grains[0].sampling = RP_POISSON;
    scene_start(&s);
    double mass = 0, before = total(&s, "mass", "position", 1);
    int64_t n;
    const double *m = scene_field(&s, "mass", 0, &n);
    for (int64_t i = 0; i < n; i++)
        mass += m[i];
    while (stats.time < 4)
        scene_step(&s, &stats);
    double sunk = (before - total(&s, "mass", "position", 1)) / mass / 0.05;
    scene_end(&s);
    rp_shape_release(left);
    rp_shape_release(right);
    return sunk;
}

static void heaps_stand(void **state)
{
    (void)state;
    double with = heap_creep("1", "true"), sharp = heap_creep("0", "true"), loose = heap_creep("1", "false");
    print_message("a heap sank by %g cells; with a sharp apex %g, with free nodes outside its surface %g\n", with, sharp, loose);
    assert_true(with < 2e-3);
    assert_true(sharp > 2 * with);
    assert_true(loose > 3 * with);
}

/* Grains on a floor (a plane body that sticks) `part` of a cell above a row of nodes, which rises with `speed`. After `time`: height of
 * their centre of mass above it, and
 * the mean of their distance to the left wall. */
static void on_floor(int dim, double part, double speed, double time, const double to[3], double *height, double *width)
{
    const double h = 0.02;
    const int cells[3] = { 40, dim == 2 ? 30 : 4, 30 };
    double from[3] = { 0 }, top[3] = { to[0], to[1], to[2] };
    const int up = dim - 1;
    scene s;
    rp_step_stats stats;
    rising_floor floor;
    from[up] = 4 + part, top[up] += from[up];
    dual_begin(&s, dim, h, cells, from, top);
    rising_floor_begin(&floor, &s, h * from[up], speed);
    scene_start(&s);
    do
        scene_step(&s, &stats);
    while (rp_sim_time(s.sim) < time);
    int64_t n;
    double mass = 0;
    const double *m = scene_field(&s, "mass", 0, &n);
    for (int64_t i = 0; i < n; i++)
        mass += m[i];
    *height = total(&s, "mass", "position", up) / mass - h * from[up] - speed * rp_sim_time(s.sim);
    *width = total(&s, "mass", "position", 0) / mass;
    scene_end(&s);
    rising_floor_end(&floor);
}

/* A layer at 0.9 of its angle rests on a floor that rises by half a cell a step: its stresses go with the grains. */
static void slopes_ride(void **state)
{
    (void)state;
    const double h = 0.0125, tangent = 0.45, c = 1 / sqrt(1 + tangent * tangent), speed = 0.3;
    const int cells[3] = { 24, 64, 1 };
    const double from[3] = { 0, 4.24, 0 }, to[3] = { 24, 16.24, 1 };
    scene s;
    rp_step_stats stats = { 0 };
    rising_floor floor;
    double way = 0, mass = 0, longest = 0;
    dual_begin(&s, 2, h, cells, from, to);
    s.def.frame_rate = 24;
    s.def.gravity[0] = 9.81 * tangent * c, s.def.gravity[1] = -9.81 * c;
    s.def.wall[0].kind = s.def.wall[1].kind = RP_PERIODIC;
    s.grains[0].sampling = RP_JITTERED;
    rising_floor_begin(&floor, &s, h * from[1], speed);
    scene_start(&s);
    int64_t n;
    const double *m = scene_field(&s, "mass", 0, &n);
    for (int64_t i = 0; i < n; i++)
        mass += m[i];
    while (stats.time < 1.5) {
        scene_step(&s, &stats);
        longest = fmax(longest, stats.dt * speed / h);
        if (stats.time > 0.5)
            way += stats.dt * total(&s, "mass", "velocity", 0) / (mass * h);
    }
    print_message("a layer slid %g cells on a floor by %g cells a step\n", way, longest);
    assert_true(longest > 0.45);
    assert_true(fabs(way) < 1e-2); /* 0.08 when stresses stay at their places of the grid */
    scene_end(&s);
    rising_floor_end(&floor);
}

/* A bed rides on a floor that rises through the nodes, and keeps its height. */
static void beds_ride(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const double to[3] = { 40, dim == 2 ? 10 : 4, 10 };
        double height, width;
        on_floor(dim, 0, 0.23, 0.5, to, &height, &width);
        if (!(fabs(height - 0.1) < 1e-3 * 0.1))
            fail_msg("%dD: the centre of the bed is %g m above the floor in place of 0.1 m", dim, height);
    }
}

/* A collapse is the same wherever the floor lies between the nodes. */
static void floors_between_nodes(void **state)
{
    (void)state;
    const double to[3] = { 8, 16, 1 }, parts[] = { 0.3, 0.5, 0.75 };
    double height, width;
    on_floor(2, 0, 0, 0.6, to, &height, &width);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        double h, w;
        on_floor(2, parts[k], 0, 0.6, to, &h, &w);
        if (!(fabs(h - height) < 0.03 * height && fabs(w - width) < 0.03 * width))
            fail_msg("floor %g of a cell above nodes: height %+.3g, width %+.3g of that on nodes", parts[k], h / height - 1, w / width - 1);
    }
}

/* Jittered sand that begins to slide on a steep floor, a body `part` of a cell above a row of nodes: friction over normal force on it. */
static double sliding(double part, const char *whole_room)
{
    const double h = 0.02, tangent = 0.65;
    const int cells[3] = { 16, 20, 1 };
    const double from[3] = { 0, 4 + part, 0 }, to[3] = { 16, 12 + part, 1 };
    double point[3] = { 0, h * from[1], 0 }, normal[3] = { 0, 1, 0 }, along = 0, down = 0;
    scene s;
    rp_step_stats stats;
    rp_shape *plane;
    dual_begin(&s, 2, h, cells, from, to);
    scene_set(&s, "whole_room", whole_room);
    s.grains[0].sampling = RP_POISSON, s.grains[0].per_cell = 3; /* at random, and few: some room beside the floor has none */
    s.def.gravity[0] = 9.81 * tangent / sqrt(1 + tangent * tangent);
    s.def.gravity[1] = -9.81 / sqrt(1 + tangent * tangent);
    s.def.wall[0].kind = s.def.wall[1].kind = RP_PERIODIC;
    s.def.wall[2].kind = RP_SLIP;
    s.def.frame_rate = 50;
    assert_int_equal(rp_shape_plane(point, normal, &plane), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "floor", body.shape = plane;
    body.surface.kind = RP_STICK;
    s.def.bodies = &body;
    s.def.body_count = 1;
    scene_start(&s);
    while (rp_sim_time(s.sim) < 0.5) {
        rp_body_state floor;
        scene_step(&s, &stats);
        assert_int_equal(rp_sim_body(s.sim, 0, &floor), RP_OK);
        if (rp_sim_time(s.sim) > 0.1)
            along += floor.force[0] * stats.dt, down -= floor.force[1] * stats.dt;
    }
    scene_end(&s);
    rp_shape_release(plane);
    return along / down;
}

/* What slides has the friction of its grains wherever the floor lies between the nodes. Where slivers of full room without a particle carry no stress,
 * less. */
static void slivers_carry(void **state)
{
    (void)state;
    double without = 0;
    for (int k = 0; k < 8; k++) {
        double part = 0.125 * k + 0.01, ratio = sliding(part, "true");
        print_message("floor %g of a cell above nodes: %.5f\n", part, ratio);
        if (!(fabs(ratio - 0.5) < 1e-9))
            fail_msg("floor %g of a cell above nodes: friction %g in place of 0.5", part, ratio);
    }
    for (double part = 0.35; part < 0.5; part += 0.1)
        without = fmax(without, fabs(sliding(part, "false") - 0.5));
    print_message("without: %g\n", without);
    assert_true(without > 1e-3); /* which the rule holds */
}

/* A column that collapses on a floor halfway between nodes: by how much, in cells, the grains of two columns of cells lie lower than their own volume asks for,
 * where that is most. */
static double crushed(void)
{
    enum { COLUMNS = 40 };
    const double h = 0.01;
    const int cells[3] = { 2 * COLUMNS, 30, 1 };
    const double from[3] = { 0, 4.5, 0 }, to[3] = { 20, 24.5, 1 };
    double point[3] = { 0, h * from[1], 0 }, normal[3] = { 0, 1, 0 }, volume[COLUMNS] = { 0 }, highest[COLUMNS] = { 0 }, most = 0;
    scene s;
    rp_step_stats stats;
    rp_shape *plane;
    dual_begin(&s, 2, h, cells, from, to);
    assert_int_equal(rp_shape_plane(point, normal, &plane), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "floor", body.shape = plane;
    body.surface.kind = RP_STICK;
    s.def.bodies = &body;
    s.def.body_count = 1;
    s.def.frame_rate = 50;
    scene_start(&s);
    while (rp_sim_time(s.sim) < 0.85)
        scene_step(&s, &stats);
    int64_t n;
    const double *x = scene_field(&s, "position", 0, &n), *y = scene_field(&s, "position", 1, NULL), *v = scene_field(&s, "volume", 0, NULL);
    for (int64_t i = 0; i < n; i++) {
        int column = (int)(x[i] / (2 * h));
        volume[column] += v[i] / (s.material.volume_fraction * 2 * h * h);
        highest[column] = fmax(highest[column], y[i] / h - from[1]);
    }
    for (int k = 0; k < COLUMNS; k++)
        most = fmax(most, volume[k] - highest[k]);
    scene_end(&s);
    rp_shape_release(plane);
    return most;
}

/* The foot of a heap is as thick as its grains. */
static void thin_layers_keep_their_thickness(void **state)
{
    (void)state;
    double lower = crushed();
    print_message("lower than their volume by %.3g cells\n", lower);
    assert_true(lower < 0.7);
}

/* Grains in a smooth box that is tilted to and fro: its two sides carry them, and nothing falls into the corner between them. With one normal for both, grains
 * in it had the speed of a fall, and lay in one place. */
static void corners_hold(void **state)
{
    const double h = 0.04, zero[3] = { 0 }, half[3] = { 3.6 * h, 8.4 * h, 1 }, up[3] = { 0, 8.4 * h, 0 };
    const int cells[3] = { 12, 14, 1 };
    const double from[3] = { 2.4, 6.3, 0 }, to[3] = { 9.6, 10, 1 };
    double most = 0, packed = 0;
    rp_shape *box, *raised, *outside;
    rp_motion *motion;
    scene s;
    rp_step_stats stats = { 0 };
    (void)state;
    dual_begin(&s, 2, h, cells, from, to);
    s.material.friction = 0.37;
    assert_int_equal(rp_shape_box(zero, half, 0, &box), RP_OK);
    assert_int_equal(rp_shape_place(box, up, zero, 1, &raised), RP_OK);
    assert_int_equal(rp_shape_complement(raised, &outside), RP_OK);
    assert_int_equal(rp_motion_expression("0.24, 0.252, 0, 0, 0, -0.3795 * math.sin(1.2494 * t)", &motion), RP_OK);
    rp_body_def body = rp_default_body_def();
    body.name = "box", body.shape = outside, body.motion = motion;
    body.surface.kind = RP_SLIP;
    s.def.bodies = &body;
    s.def.body_count = 1;
    s.def.frame_rate = 30;
    scene_start(&s);
    while (stats.time < 2.5) {
        scene_step(&s, &stats);
        most = fmax(most, scene_fastest(&s));
        packed = fmax(packed, stats.volume_error);
    }
    print_message("a tilted box: up to %g m/s, over-packed by up to %g\n", most, packed);
    assert_true(most < 0.5);
    assert_true(packed < 0.02);
    scene_end(&s);
    rp_shape_release(outside), rp_shape_release(raised), rp_shape_release(box);
    rp_motion_release(motion);
}

/* Part of the grains that have left a funnel of two plates after a while, the neck two cells and a quarter wide; all of it mirrored. */
static double left_a_funnel(bool mirrored)
{
    const double h = 0.02, zero[3] = { 0 }, half[3] = { 0.096, 0.024, 1 }, middle = 0.16;
    const int cells[3] = { 16, 15, 1 };
    const double from[3] = { 0, 9, 0 }, to[3] = { 16, 14, 1 }, place[2][3] = { { 0.0502855, 0.170999, 0 }, { 0.260724, 0.179355, 0 } };
    const double angle[2] = { -0.758029, 0.885972 };
    rp_body_def body[2];
    rp_shape *plate;
    scene s;
    rp_step_stats stats = { 0 };
    dual_begin(&s, 2, h, cells, from, to);
    s.material.friction = 0.28;
    assert_int_equal(rp_shape_box(zero, half, 0, &plate), RP_OK);
    for (int k = 0; k < 2; k++) {
        body[k] = rp_default_body_def();
        body[k].name = k ? "right" : "left", body[k].shape = plate;
        body[k].position[0] = mirrored ? 2 * middle - place[k][0] : place[k][0];
        body[k].position[1] = place[k][1];
        body[k].rotation[2] = mirrored ? -angle[k] : angle[k];
        body[k].surface.kind = RP_STICK;
    }
    s.def.bodies = body;
    s.def.body_count = 2;
    scene_start(&s);
    while (stats.time < 0.25)
        scene_step(&s, &stats);
    int64_t n;
    double mass = 0, left = 0;
    const double *y = scene_field(&s, "position", 1, &n), *m = scene_field(&s, "mass", 0, NULL);
    for (int64_t i = 0; i < n; i++) {
        mass += m[i];
        left += y[i] < 0.1 ? m[i] : 0;
    }
    scene_end(&s);
    rp_shape_release(plate);
    return left / mass;
}

/* Edges that point at the grains have both of their sides, wherever they lie between the nodes. When the side that a corner of the dual cell saw first was the
 * only one, one of the two funnels ran at a third of the other's rate. */
static void funnels_run_alike(void **state)
{
    (void)state;
    double one = left_a_funnel(false), other = left_a_funnel(true);
    print_message("left the funnel: %g, mirrored %g\n", one, other);
    assert_true(one > 0.1);
    assert_true(fabs(one - other) < 0.05 * one);
}

/* A layer at 0.9 of its angle: the first step begins with the stresses that hold it, and there is little left to find. From no stress it takes thousands of
 * sweeps. */
static void layers_begin_in_balance(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        const int cells[3] = { 4, dim == 2 ? 14 : 4, 14 };
        const double from[3] = { 0, 0, 0 }, to[3] = { 4, dim == 2 ? 12 : 4, 12 }, tangent = 0.9 * 0.5;
        scene s;
        rp_step_stats stats;
        int64_t sweeps = 0;
        dual_begin(&s, dim, 0.05, cells, from, to);
        for (int face = 0; face < 2 * (dim - 1); face++)
            s.def.wall[face].kind = RP_PERIODIC;
        s.def.wall[2 * (dim - 1)].kind = RP_STICK;
        s.def.gravity[0] = 9.81 * tangent / sqrt(1 + tangent * tangent);
        s.def.gravity[dim - 1] = -9.81 / sqrt(1 + tangent * tangent);
        scene_start(&s);
        for (int k = 0; k < 5; k++) {
            scene_step(&s, &stats);
            sweeps += stats.iterations;
        }
        print_message("%dD: %lld sweeps in the first five steps, %.2g of g dt\n", dim, (long long)sweeps, scene_fastest(&s) / (9.81 * 0.01));
        assert_true(sweeps < 400);
        assert_true(scene_fastest(&s) < 1e-5 * 9.81 * 0.01);
        scene_end(&s);
    }
}

/* Contacts of a bed on a plane so many cells above the wall. */
static double contacts_at(int dim, double height)
{
    const int cells[3] = { 6, dim == 2 ? 12 : 6, 12 };
    const double from[3] = { 0, 0, height }, to[3] = { 6, dim == 2 ? 10 : 6, 10 };
    const double flat[3] = { 0, height, 0 };
    scene s;
    rising_floor f;
    rp_step_stats stats;
    double contacts = NAN;
    dual_begin(&s, dim, 0.05, cells, dim == 2 ? flat : from, to);
    rising_floor_begin(&f, &s, height * 0.05, 0);
    scene_start(&s);
    scene_step(&s, &stats);
    for (int k = 0; k < stats.extra_count; k++)
        if (!strcmp(stats.extra_name[k], "contacts"))
            contacts = stats.extra[k];
    scene_end(&s);
    rising_floor_end(&f);
    return contacts;
}

/* A surface on the faces of dual cells is met once: by both of them, it had twice as many contacts, and no step found the shares that the last one had ended
 * with (a blade in a bed at rest took 150 sweeps a step, and takes 4). */
static void faces_on_faces_count_once(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        double on = contacts_at(dim, 2.5), beside = contacts_at(dim, 2.499);
        if (!(on > 0 && on == beside))
            fail_msg("%dD: %g contacts on the faces, %g beside them", dim, on, beside);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_begin_in_balance),
        cmocka_unit_test(corners_hold),
        cmocka_unit_test(funnels_run_alike),
        cmocka_unit_test(columns_rest),
        cmocka_unit_test(blocks_fall),
        cmocka_unit_test(flights_keep_momentum),
        cmocka_unit_test(slopes_hold_and_slide),
        cmocka_unit_test(bytes_stay),
        cmocka_unit_test(heaps_stand),
        cmocka_unit_test(slopes_ride),
        cmocka_unit_test(beds_ride),
        cmocka_unit_test(floors_between_nodes),
        cmocka_unit_test(slivers_carry),
        cmocka_unit_test(thin_layers_keep_their_thickness),
        cmocka_unit_test(faces_on_faces_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
