/* Bodies among grains, through the public functions: forces, friction on an incline, momentum, leaks, deforming bodies. */
#include "sim_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE (3.14159265358979323846 / 180)

/* A scene to fill in: one material, one region of grains, up to four bodies. */
typedef struct setting {
    rp_sim_def def;
    rp_material_def sand;
    rp_grains_def grains;
    rp_body_def bodies[4];
    rp_params *params;
    rp_sim *sim;
} setting;

static void begin(setting *s, int dim, double x, double y, double z, double h)
{
    memset(s, 0, sizeof *s);
    s->def = rp_default_sim_def();
    s->sand = rp_default_material_def();
    s->sand.name = "sand";
    s->sand.density = 2500;
    s->sand.volume_fraction = 0.6;
    s->grains = rp_default_grains_def();
    s->grains.sampling = RP_REGULAR;
    s->grains.per_cell = dim == 2 ? 9 : 8;
    s->def.dim = dim;
    s->def.upper[0] = x, s->def.upper[1] = y, s->def.upper[2] = z;
    s->def.cell_size = h;
    s->def.gravity[0] = s->def.gravity[1] = s->def.gravity[2] = 0;
    s->def.gravity[dim - 1] = -9.81;
    s->def.method = "nonsmooth";
    s->def.frame_rate = 50;
    s->def.duration = 100;
    s->def.threads = 1;
    for (int f = 0; f < 6; f++)
        s->def.wall[f] = (rp_surface){ RP_SLIP, 0, 0 };
    assert_int_equal(rp_params_create("nonsmooth", &s->params), RP_OK);
}

static rp_body_def *add_body(setting *s, const char *name, rp_shape *shape)
{
    rp_body_def *b = &s->bodies[s->def.body_count++];
    *b = rp_default_body_def();
    b->name = name;
    b->shape = shape;
    return b;
}

static void start(setting *s)
{
    s->def.materials = &s->sand;
    s->def.material_count = 1;
    s->def.grains = &s->grains;
    s->def.grains_count = s->grains.shape ? 1 : 0;
    s->def.bodies = s->bodies;
    s->def.method_params = rp_params_data(s->params);
    rp_result result = rp_sim_create(&s->def, &s->sim);
    if (result != RP_OK)
        print_message("%s\n", rp_last_error());
    assert_int_equal(result, RP_OK);
}

static void step(setting *s)
{
    rp_step_stats stats;
    rp_result result = rp_sim_step(s->sim, &stats);
    if (result != RP_OK)
        print_message("%s\n", rp_last_error());
    assert_int_equal(result, RP_OK);
}

static void finish(setting *s)
{
    rp_sim_destroy(s->sim);
    rp_params_destroy(s->params);
    rp_shape_release(s->grains.shape);
    for (int b = 0; b < s->def.body_count; b++)
        rp_shape_release(s->bodies[b].shape);
}

static rp_shape *box(double x0, double y0, double z0, double x1, double y1, double z1)
{
    double centre[3] = { (x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2 };
    double half[3] = { (x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2 };
    rp_shape *shape = NULL;
    assert_int_equal(rp_shape_box(centre, half, 0, &shape), RP_OK);
    return shape;
}

static rp_shape *ball(double x, double y, double z, double r)
{
    double centre[3] = { x, y, z };
    rp_shape *shape = NULL;
    assert_int_equal(rp_shape_sphere(centre, r, &shape), RP_OK);
    return shape;
}

/* Mass, mean position and mean velocity of the grains. */
static double means(const setting *s, double place[3], double speed[3])
{
    const double *mass = plane(s->sim, "mass", 0);
    double total = 0;
    int64_t count = rp_sim_particle_count(s->sim);
    for (int64_t i = 0; i < count; i++)
        total += mass[i];
    for (int a = 0; a < 3; a++) {
        const double *x = plane(s->sim, "position", a);
        place[a] = 0, speed[a] = mean_velocity(s->sim, a);
        for (int64_t i = 0; i < count; i++)
            place[a] += mass[i] * x[i] / total;
    }
    return total;
}

/* ---- at rest ---- */

static void the_sand_carries_its_weight(void **unused)
{
    (void)unused;
    setting s;
    begin(&s, 2, 1, 0.6, 0, 0.05);
    s.grains.shape = box(0, 0, -1, 1, 0.25, 1);
    rp_body_def *b = add_body(&s, "box", box(-0.15, -0.05, -0.5, 0.15, 0.05, 0.5));
    b->kind = RP_BODY_FREE;
    b->density = 1500;
    b->position[0] = 0.52, b->position[1] = 0.301;
    start(&s);
    double force = 0;
    int count = 0;
    rp_body_state now;
    while (rp_sim_time(s.sim) < 1) {
        step(&s);
        assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
        if (rp_sim_time(s.sim) > 0.75)
            force += now.force[1], count++;
    }
    print_message("weight: force / weight = %.5f, y = %.5f, vy = %.3g\n", force / count / (9.81 * now.mass), now.position[1],
                  now.velocity[1]);
    assert_true(fabs(force / count / (9.81 * now.mass) - 1) < 0.01);
    assert_true(fabs(now.velocity[1]) < 1e-3);
    finish(&s);
}

/* A light plate on sand, and on it a block of ten times its weight: grains carry both, and the stack stays. */
static void the_sand_carries_stacks(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++) {
        const int up = dim - 1;
        const double half = dim == 2 ? 0.5 : 0.1;
        setting s;
        begin(&s, dim, 0.5, dim == 2 ? 0.5 : 0.3, dim == 2 ? 0 : 0.4, dim == 2 ? 0.025 : 0.05);
        s.grains.shape = dim == 2 ? box(0, 0, -1, 0.5, 0.2, 1) : box(0, 0, 0, 0.5, 0.3, 0.15);
        const double top = dim == 2 ? 0.2 : 0.15;
        for (int k = 0; k < 2; k++) {
            double thick = k ? 0.05 : 0.02, wide = k ? 0.08 : 0.1;
            rp_body_def *b = add_body(&s, k ? "block" : "plate", dim == 2 ? box(-wide, -thick, -half, wide, thick, half)
                                                                          : box(-wide, -half, -thick, wide, half, thick));
            b->kind = RP_BODY_FREE;
            b->density = k ? 2000 : 500;
            b->position[0] = 0.25, b->position[1] = dim == 2 ? 0 : 0.15;
            b->position[up] = top + (k ? 0.091 : 0.021);
        }
        start(&s);
        rp_body_state plate, block;
        double weight = 0, force = 0;
        int count = 0;
        while (rp_sim_time(s.sim) < 1) {
            step(&s);
            assert_int_equal(rp_sim_body(s.sim, 0, &plate), RP_OK);
            assert_int_equal(rp_sim_body(s.sim, 1, &block), RP_OK);
            weight = 9.81 * (plate.mass + block.mass);
            if (rp_sim_time(s.sim) > 0.75)
                force += plate.force[up], count++;
        }
        print_message("stack in %dD: force / weight = %.5f, sunk by %.4f\n", dim, force / count / weight, top + 0.091 - block.position[up]);
        assert_true(fabs(force / count / weight - 1) < 0.01);
        assert_true(block.position[up] > top + 0.09 - 0.2 * s.def.cell_size);
        assert_true(fabs(block.velocity[up]) < 1e-3);
        finish(&s);
    }
}

static void buried_bodies_stay(void **unused)
{
    (void)unused;
    const double densities[2] = { 1500, 4000 };
    for (int k = 0; k < 2; k++) {
        setting s;
        begin(&s, 2, 1, 0.6, 0, 0.05);
        rp_shape *all = box(0, 0, -1, 1, 0.5, 1), *hole = ball(0.51, 0.26, 0, 0.11);
        assert_int_equal(rp_shape_difference(all, hole, &s.grains.shape), RP_OK);
        rp_shape_release(all), rp_shape_release(hole);
        rp_body_def *b = add_body(&s, "ball", ball(0, 0, 0, 0.11));
        b->kind = RP_BODY_FREE;
        b->density = densities[k];
        b->position[0] = 0.51, b->position[1] = 0.26;
        start(&s);
        rp_body_state now = { 0 }, settled = { 0 };
        while (rp_sim_time(s.sim) < 5) {
            step(&s);
            assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
            if (rp_sim_time(s.sim) < 0.5)
                settled = now;
        }
        print_message("buried, %g kg/m3: moved %.5f m since the start, %.5f m since 0.5 s\n", densities[k],
                      now.position[1] - 0.26, now.position[1] - settled.position[1]);
        assert_true(fabs(now.position[1] - 0.26) < 0.02 * s.def.cell_size); /* the first packing is not perfect */
        assert_true(fabs(now.position[1] - settled.position[1]) < 1e-3 * s.def.cell_size);
        finish(&s);
    }
}

/* ---- inclines ---- */

/* A slab of sand with flat ends on a plane with friction 1/2. `turn` is the angle of the plane with the grid, `slope` that with the
 * horizontal: gravity is turned to suit. `through`: the plane contains a node of the grid (at 45 degrees, a row of them). */
typedef struct incline {
    setting s;
    double n[3], t[3], point[3];
} incline;

static void begin_incline(incline *q, double turn, double slope, bool through, const char *stress)
{
    begin(&q->s, 2, 3, 3, 0, 0.06);
    assert_int_equal(rp_params_set(q->s.params, "stress", stress), RP_OK);
    double n[3] = { -sin(turn), cos(turn), 0 }, t[3] = { cos(turn), sin(turn), 0 };
    double point[3] = { 1.5 + 0.013 - 0.3 * n[0], 1.5 + 0.007 - 0.3 * n[1], 0 };
    for (int a = 0; a < 2 && through; a++)
        point[a] = 0.06 * round(point[a] / 0.06);
    rp_shape *plane, *parts[3], *slab;
    assert_int_equal(rp_shape_plane(point, n, &plane), RP_OK);
    add_body(&q->s, "plane", plane)->surface = (rp_surface){ RP_FRICTIONAL, 0.5, 0 };
    for (int a = 0; a < 3; a++)
        q->s.def.gravity[a] = 9.81 * (-cos(slope) * n[a] - sin(slope) * t[a]); /* leans towards -t */
    double half[3] = { 0.8, 0.1, 10 }, zero[3] = { 0, 0, 0 }, rotation[3] = { 0, 0, turn }, end = 18 * DEGREE, centre[3] = { 0 };
    assert_int_equal(rp_shape_box(zero, half, 0, &parts[0]), RP_OK);
    for (int k = 0; k < 2; k++) { /* ends of 18 degrees: they do not crumble */
        double side = k ? 1 : -1, toe[3] = { side * half[0], -half[1], 0 }, out[3] = { side * sin(end), cos(end), 0 };
        assert_int_equal(rp_shape_plane(toe, out, &parts[1 + k]), RP_OK);
    }
    for (int a = 0; a < 2; a++)
        centre[a] = point[a] + half[1] * n[a] + 0.2 * t[a];
    assert_int_equal(rp_shape_intersection(parts, 3, &slab), RP_OK);
    assert_int_equal(rp_shape_place(slab, centre, rotation, 1, &q->s.grains.shape), RP_OK);
    rp_shape_release(slab);
    for (int k = 0; k < 3; k++)
        rp_shape_release(parts[k]);
    q->s.sand.friction = 0.9; /* it slides as a whole */
    q->s.def.frame_rate = 100;
    memcpy(q->n, n, sizeof n);
    memcpy(q->t, t, sizeof t);
    memcpy(q->point, point, sizeof point);
    start(&q->s);
}

/* A sliding slab is held back by mu times its pressure, however the plane lies against the grid. */
static void slabs_slide_as_coulomb_says(void **unused)
{
    (void)unused;
    for (int k = 0; k < 8; k++) {
        incline q;
        double slope = 35 * DEGREE, exact = 9.81 * (sin(slope) - 0.5 * cos(slope));
        begin_incline(&q, 15 * (k / 2) * DEGREE, slope, k % 2, "dual");
        /* The slope of the speed over time by least squares, after the slab has settled. */
        double x[3], v[3], count = 0, st = 0, sv = 0, stt = 0, stv = 0, across = 0, along = 0;
        while (rp_sim_time(q.s.sim) < 0.5) {
            rp_body_state plane;
            step(&q.s);
            means(&q.s, x, v);
            double now = rp_sim_time(q.s.sim), speed = -(v[0] * q.t[0] + v[1] * q.t[1]);
            if (now <= 0.1)
                continue;
            count++, st += now, sv += speed, stt += now * now, stv += now * speed;
            assert_int_equal(rp_sim_body(q.s.sim, 0, &plane), RP_OK);
            for (int a = 0; a < 2; a++)
                across -= plane.force[a] * q.n[a], along -= plane.force[a] * q.t[a];
        }
        double acceleration = (count * stv - st * sv) / (count * stt - st * st), ratio = along / across;
        print_message("turned %d%s, slope 35: friction / pressure = %.4f, a / exact = %.4f\n", 15 * (k / 2), k % 2 ? ", through nodes" : "",
                      ratio, acceleration / exact);
        assert_true(fabs(ratio / 0.5 - 1) < 1e-3);
        assert_true(fabs(acceleration / exact - 1) < 0.02);
        finish(&q.s);
    }
}

/* Below the angle of friction: what touches the plane under the slab, but for its thin ends, stays where it was for 1000 steps, however the
 * plane lies against the grid. `through` moves the plane into nodes of the grid. */
static void stays(double turn, double slope, bool through, const char *stress, double bound)
{
    enum { MOST = 20000, SETTLED = 50, STEPS = 1000 };
    static double place[MOST];
    incline q;
    begin_incline(&q, turn, slope, through, stress);
    for (int64_t i = 0; i < MOST; i++)
        place[i] = NAN;
    double most = 0;
    int64_t seen = 0;
    for (int n = 1; n <= SETTLED + STEPS; n++) {
        step(&q.s);
        if (n != SETTLED && n != SETTLED + STEPS)
            continue;
        const double *x = plane(q.s.sim, "position", 0), *y = plane(q.s.sim, "position", 1);
        rp_field_view id;
        assert_int_equal(rp_sim_field_named(q.s.sim, "id", &id), RP_OK);
        for (int64_t i = 0; i < rp_sim_particle_count(q.s.sim); i++) {
            int64_t name = ((const int64_t *)id.data)[i];
            double r[2] = { x[i] - q.point[0], y[i] - q.point[1] };
            double along = r[0] * q.t[0] + r[1] * q.t[1], up = r[0] * q.n[0] + r[1] * q.n[1];
            if (name >= MOST)
                continue;
            if (n == SETTLED && up < q.s.def.cell_size && fabs(along - 0.2) < 0.5)
                place[name] = along;
            if (n == SETTLED + STEPS && !isnan(place[name])) {
                double way = fabs(along - place[name]) / q.s.def.cell_size;
                most = way > most ? way : most, seen++;
            }
        }
    }
    print_message("turned %g%s, slope %g: of %lld particles at the plane the one that moved most did so by %.2g cells in %d steps\n", turn / DEGREE,
                  through ? ", through nodes" : "", slope / DEGREE, (long long)seen, most, STEPS);
    assert_true(seen > 100);
    assert_true(most < bound); /* what the tolerance of the solver leaves; a slab that slides goes a hundred cells */
    finish(&q.s);
}

static void slabs_stay_below_the_angle_of_friction(void **unused)
{
    (void)unused;
    for (int k = 0; k < 4; k++)
        for (int through = 0; through < 2; through++)
            stays(15 * k * DEGREE, 20 * DEGREE, through, "dual", k ? 0.1 : 0.02); /* it slides from 26.6 degrees on; docs/dual.md */
}

/* A block that holds together, on a plane with this normal through a node of the grid in space. */
static void tilt(setting *s, const double *direction, double slope)
{
    double length = sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]), n[3], t[3] = { 1, 0, 0 }, along = 0;
    const double place[3] = { 0.8, 0.8, 0.8 }, centre[3] = { 0, 0, 0.08 }, half[3] = { 0.2, 0.2, 0.08 };
    for (int a = 0; a < 3; a++)
        n[a] = direction[a] / length;
    for (int a = 0; a < 3; a++)
        t[a] -= n[0] * n[a], along += t[a] * t[a];
    for (int a = 0; a < 3; a++)
        s->def.gravity[a] = 9.81 * (sin(slope) * t[a] / sqrt(along) - cos(slope) * n[a]);
    /* The block stands up from z to n. */
    double turn = acos(n[2]) / hypot(n[0], n[1]), rotation[3] = { -n[1] * turn, n[0] * turn, 0 };
    rp_shape *block, *plane;
    assert_int_equal(rp_shape_box(centre, half, 0, &block), RP_OK);
    assert_int_equal(rp_shape_place(block, place, rotation, 1, &s->grains.shape), RP_OK);
    rp_shape_release(block);
    assert_int_equal(rp_shape_plane(place, n, &plane), RP_OK);
    add_body(s, "plane", plane)->surface = (rp_surface){ RP_FRICTIONAL, 0.3, 0 };
    s->sand.friction = 1;
    s->sand.cohesion = 2000;
    s->def.frame_rate = 100;
}

/* Its acceleration over the exact one, and its way in cells, from a quarter of the time on. */
static void slide_in_space(const double *direction, double slope, double duration, double *acceleration, double *way)
{
    setting s;
    begin(&s, 3, 2, 2, 2, 0.04);
    tilt(&s, direction, slope);
    start(&s);
    double x[3], v[3], first_x[3] = { 0 }, first_v[3] = { 0 }, from = 0, mu = s.bodies[0].surface.friction, g = 9.81;
    while (rp_sim_time(s.sim) < duration) {
        step(&s);
        means(&s, x, v);
        if (rp_sim_time(s.sim) <= 0.25 * duration)
            memcpy(first_x, x, sizeof x), memcpy(first_v, v, sizeof v), from = rp_sim_time(s.sim);
    }
    double gained = 0, moved = 0;
    for (int a = 0; a < 3; a++)
        gained += (v[a] - first_v[a]) * (v[a] - first_v[a]), moved += (x[a] - first_x[a]) * (x[a] - first_x[a]);
    *acceleration = sqrt(gained) / (rp_sim_time(s.sim) - from) / (g * (sin(slope) - mu * cos(slope)));
    *way = sqrt(moved) / s.def.cell_size;
    finish(&s);
}

static void blocks_slide_and_stay_in_space(void **unused)
{
    (void)unused;
    static const double normals[2][3] = { { 1, 1, 1 }, { 1, 2, 3 } };
    for (int k = 0; k < 2; k++) {
        double acceleration, way, none;
        slide_in_space(normals[k], 30 * DEGREE, 0.3, &acceleration, &none);
        slide_in_space(normals[k], atan(0.27), 0.5, &none, &way);
        print_message("plane with normal (%g, %g, %g): a / exact = %.4f; below the angle it moved %.2g cells\n", normals[k][0], normals[k][1], normals[k][2],
                      acceleration, way);
        assert_true(fabs(acceleration - 1) < 0.005);
        assert_true(way < 2e-3); /* what the tolerance leaves; at 30 degrees it goes 10 cells */
    }
}

/* ---- craters ---- */

/* Volume of the grains near the axis, and how much of it varies as cos 4 theta: what a grid would do. Both fade out smoothly. */
static void around_the_axis(const setting *s, double within, double moment[2])
{
    const double *x = plane(s->sim, "position", 0), *y = plane(s->sim, "position", 1), *volume = plane(s->sim, "volume", 0);
    moment[0] = moment[1] = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(s->sim); i++) {
        double part = 1 - (x[i] * x[i] + y[i] * y[i]) / (within * within), weight = part > 0 ? part * part * volume[i] : 0;
        moment[0] += weight;
        moment[1] += weight * cos(4 * atan2(y[i], x[i]));
    }
}

/* A quarter of a steel ball, six cells across, falls into sand between planes of symmetry: as much sand goes from each side. A radius r (1 + e cos 4 theta)
 * makes what is gone, as r^3, vary by 3 e. */
static void craters_are_round(void **unused)
{
    (void)unused;
    const double level = 0.09, radius = 0.03, within = 0.055;
    setting s;
    begin(&s, 3, 0.14, 0.14, 0.18, 0.01);
    s.sand.friction = 0.6;
    s.grains.shape = box(0, 0, 0, 0.14, 0.14, level);
    rp_body_def *b = add_body(&s, "ball", ball(0, 0, 0, radius));
    b->kind = RP_BODY_FREE;
    b->mass = 7800 * 60 * DEGREE * radius * radius * radius; /* a quarter */
    b->position[2] = level + radius + 1e-3;
    b->velocity[2] = -1;
    b->joint = RP_JOINT_SLIDER;
    b->joint_point[2] = level;
    b->joint_axis[2] = 1;
    s.def.frame_rate = 30;
    start(&s);
    double before[2], after[2];
    around_the_axis(&s, within, before);
    while (rp_sim_time(s.sim) < 0.12)
        step(&s);
    around_the_axis(&s, within, after);
    double gone = before[0] - after[0], e = 2 * (before[1] - after[1]) / gone / 3, spread = fabs(e) / sqrt(2);
    print_message("crater: %.3g of the sand gone, the radius varies by %.4f cos 4 theta, its spread is %.4f\n", gone / before[0], e, spread);
    assert_true(gone > 0.05 * before[0]);
    assert_true(spread < 0.03);
    finish(&s);
}

/* ---- momentum ---- */

/* A ball flies into a cloud of sand without gravity: what one gains the other loses. */
static void momentum_is_only_exchanged(void **unused)
{
    (void)unused;
    setting s;
    begin(&s, 2, 2, 1, 0, 0.05);
    memset(s.def.gravity, 0, sizeof s.def.gravity);
    for (int f = 0; f < 6; f++)
        s.def.wall[f].kind = RP_OPEN;
    s.grains.shape = box(1, 0.3, -1, 1.3, 0.7, 1);
    rp_body_def *b = add_body(&s, "ball", ball(0, 0, 0, 0.12));
    b->kind = RP_BODY_FREE;
    b->density = 2000;
    b->position[0] = 0.8, b->position[1] = 0.53;
    b->velocity[0] = 2;
    start(&s);
    rp_body_state now;
    double x[3], v[3], mass, gained = 0, last = 0, before;
    assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
    before = now.mass * now.velocity[0];
    while (rp_sim_time(s.sim) < 0.3) {
        step(&s);
        assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
        gained -= now.force[0] * (rp_sim_time(s.sim) - last);
        last = rp_sim_time(s.sim);
    }
    mass = means(&s, x, v);
    double total = mass * v[0] + now.mass * now.velocity[0];
    print_message("momentum: %.6f before, %.6f after; ball lost %.6f, told by its force %.6f\n", before, total,
                  before - now.mass * now.velocity[0], gained);
    assert_true(mass * v[0] > 0.1 * before);
    assert_true(fabs(total / before - 1) < 1e-3);
    assert_true(fabs(gained / (before - now.mass * now.velocity[0]) - 1) < 1e-3);
    finish(&s);
}

/* ---- leaks ---- */

static int64_t count_beyond(const setting *s, int axis, double bound, bool above)
{
    const double *at = plane(s->sim, "position", axis);
    int64_t count = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(s->sim); i++)
        count += above ? at[i] > bound : at[i] < bound;
    return count;
}

/* Sand on a shelf a fifth of a cell thick, off the lattice; none may come through. */
static void thin_sheets_hold(void **unused)
{
    (void)unused;
    setting s;
    begin(&s, 2, 0.8, 1, 0, 0.05);
    s.grains.shape = box(0, 0.54, -1, 0.8, 0.8, 1);
    add_body(&s, "sheet", box(-1, 0.5, -1, 2, 0.51, 1));
    start(&s);
    rp_body_state sheet;
    double force = 0, x[3], v[3];
    int count = 0;
    while (rp_sim_time(s.sim) < 2) {
        step(&s);
        assert_int_equal(rp_sim_body(s.sim, 0, &sheet), RP_OK);
        if (rp_sim_time(s.sim) > 1.5)
            force -= sheet.force[1], count++;
    }
    double weight = 9.81 * means(&s, x, v);
    int64_t leaked = count_beyond(&s, 1, 0.505, false);
    print_message("sheet: %lld of %lld particles below, mean height %.4f m, force / weight %.4f\n", (long long)leaked,
                  (long long)rp_sim_particle_count(s.sim), x[1], force / count / weight);
    assert_int_equal(leaked, 0);
    assert_true(fabs(force / count / weight - 1) < 0.01);
    finish(&s);
}

/* A shaft made of two boxes that overlap a little: the distance of such a shape has a ghost of a surface across it, and sand falls through. */
static void ghosts_hold_nothing(void **unused)
{
    (void)unused;
    setting s;
    begin(&s, 2, 1, 1.2, 0, 0.05);
    rp_shape *parts[2] = { box(0.3, 0.49, -2, 0.7, 3, 2), box(0.3, -1, -2, 0.7, 0.5, 2) }, *shaft, *block = box(-1, -1, -1, 2, 3, 1), *solid;
    assert_int_equal(rp_shape_union(parts, 2, &shaft), RP_OK);
    assert_int_equal(rp_shape_difference(block, shaft, &solid), RP_OK);
    rp_shape_release(parts[0]), rp_shape_release(parts[1]), rp_shape_release(shaft), rp_shape_release(block);
    add_body(&s, "shaft", solid);
    s.grains.shape = box(0.32, 0.7, -1, 0.68, 0.9, 1);
    start(&s);
    while (rp_sim_time(s.sim) < 1)
        step(&s);
    int64_t above = count_beyond(&s, 1, 0.3, true);
    print_message("shaft: %lld of %lld particles have not come down\n", (long long)above, (long long)rp_sim_particle_count(s.sim));
    assert_int_equal(above, 0);
    finish(&s);
}

/* A thin blade as high as the domain sweeps through sand, several cells a step. */
static void fast_blades_leave_nothing_behind(void **unused)
{
    (void)unused;
    setting s;
    begin(&s, 2, 2, 0.5, 0, 0.05);
    s.grains.shape = box(0.3, 0, -1, 0.9, 0.3, 1);
    rp_body_def *b = add_body(&s, "blade", box(-0.01, -1, -1, 0.01, 2, 1));
    rp_keyframe keys[2] = { { 0, { 0.2, 0, 0 }, { 0, 0, 0 } }, { 0.1, { 1.2, 0, 0 }, { 0, 0, 0 } } };
    assert_int_equal(rp_motion_keyframes(keys, 2, RP_LINEAR, &b->motion), RP_OK);
    s.def.substeps = 1; /* 10 m/s: 4 cells a step */
    start(&s);
    rp_body_state now;
    while (rp_sim_time(s.sim) < 0.08)
        step(&s);
    assert_int_equal(rp_sim_body(s.sim, 0, &now), RP_OK);
    int64_t behind = count_beyond(&s, 0, now.position[0], false);
    print_message("blade: %lld of %lld particles behind\n", (long long)behind, (long long)rp_sim_particle_count(s.sim));
    assert_int_equal(behind, 0);
    rp_motion_release(b->motion);
    finish(&s);
}

/* ---- deforming ---- */

/* A box that grows to the right pushes the sand with the velocity of its own side. */
static void growing_meshes_push(void **unused)
{
    (void)unused;
    static const int32_t triangles[36] = { 0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                           2, 3, 7, 2, 7, 6, 0, 4, 7, 0, 7, 3, 1, 2, 6, 1, 6, 5 };
    double small[24], large[24];
    for (int k = 0; k < 8; k++) {
        double corner[3] = { k % 4 == 1 || k % 4 == 2, k % 4 >= 2, k / 4 };
        small[3 * k] = -0.2 + 0.4 * corner[0], large[3 * k] = -0.2 + 0.7 * corner[0];
        small[3 * k + 1] = large[3 * k + 1] = -0.5 + 1.5 * corner[1];
        small[3 * k + 2] = large[3 * k + 2] = -0.5 + corner[2];
    }
    const double *at[2] = { small, large }, times[2] = { 0, 0.5 };
    setting s;
    begin(&s, 2, 1.5, 0.2, 0, 0.05); /* a channel that is full: what is pushed moves as a whole */
    memset(s.def.gravity, 0, sizeof s.def.gravity);
    s.grains.shape = box(0.2, 0, -1, 0.9, 0.2, 1);
    rp_body_def *b = add_body(&s, "grower", NULL);
    assert_int_equal(rp_mesh_sequence_create_data(at, times, 2, 8, triangles, 12, &b->sequence), RP_OK);
    start(&s);
    while (rp_sim_time(s.sim) < 0.4)
        step(&s);
    double x[3], v[3];
    means(&s, x, v);
    int64_t inside = count_beyond(&s, 0, 0.2 + 0.3 * 0.4 / 0.5 - 1e-3, false);
    print_message("grower: mean speed %.3f m/s, side 0.6 m/s, %lld particles inside\n", v[0], (long long)inside);
    assert_int_equal(inside, 0);
    assert_true(fabs(v[0] / 0.6 - 1) < 0.01); /* nothing bounces, nothing is left behind */
    rp_mesh_sequence_release(b->sequence);
    finish(&s);
}

/* What a bar that turns in a bed does, its axis at x in a box that is periodic along x: energies, the force on it, its speed. */
static void stir_at(const char *method, rp_body_kind kind, double x, double out[5])
{
    const double h = 0.02;
    setting s;
    begin(&s, 2, 16 * h, 12 * h, 0, h);
    rp_params_destroy(s.params);
    assert_int_equal(rp_params_create(method, &s.params), RP_OK);
    s.def.method = method;
    s.def.wall[0].kind = s.def.wall[1].kind = RP_PERIODIC;
    s.grains.shape = box(-1, 0, -1, 1, 8 * h, 1);
    rp_body_def *bar = add_body(&s, "bar", box(-3 * h, -0.6 * h, -1, 3 * h, 0.6 * h, 1));
    bar->position[0] = x, bar->position[1] = 8.3 * h, bar->rotation[2] = 0.3;
    rp_motion *motion = NULL;
    if (kind == RP_BODY_SCRIPTED) {
        char text[96];
        snprintf(text, sizeof text, "%.17g, %.17g - 0.2*t, 0, 0, 0, 0.3 + 3*t", x, 8.3 * h);
        assert_int_equal(rp_motion_expression(text, &motion), RP_OK);
        bar->motion = motion;
    } else {
        bar->kind = kind, bar->density = 4000, bar->angular_velocity[2] = 3;
    }
    start(&s);
    rp_step_stats stats;
    for (int k = 0; k < 12; k++)
        assert_int_equal(rp_sim_step_to(s.sim, 0.005 * (k + 1), &stats), RP_OK);
    rp_body_state state;
    assert_int_equal(rp_sim_body(s.sim, 0, &state), RP_OK);
    out[0] = stats.kinetic_energy, out[1] = stats.potential_energy, out[2] = state.force[1], out[3] = state.torque[2], out[4] = state.angular_velocity[2];
    finish(&s);
    rp_motion_release(motion);
}

/* A bar that turns at the seam of a periodic box does what it does in its middle. */
static void bodies_act_through_periodic_faces(void **state)
{
    static const char *const methods[] = { "nonsmooth", "elastoplastic", "ballistic" };
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int free = 0; free < 2; free++) {
            double middle[5], seam[5], far[5];
            rp_body_kind kind = free ? RP_BODY_FREE : RP_BODY_SCRIPTED;
            stir_at(methods[m], kind, 0.16, middle);
            stir_at(methods[m], kind, 0, seam);
            stir_at(methods[m], kind, 0.16 + 5 * 0.32, far); /* five periods on */
            for (int k = 0; k < 5; k++) {
                double allowed = 1e-3 * fabs(middle[k]) + 1e-5;
                if (!(fabs(seam[k] - middle[k]) <= allowed && fabs(far[k] - middle[k]) <= allowed))
                    fail_msg("%s, %s bar, number %d: %g in the middle, %g at the seam, %g five periods on", methods[m], free ? "free" : "scripted", k,
                             middle[k], seam[k], far[k]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sand_carries_its_weight),
        cmocka_unit_test(the_sand_carries_stacks),
        cmocka_unit_test(buried_bodies_stay),
        cmocka_unit_test(slabs_slide_as_coulomb_says),
        cmocka_unit_test(slabs_stay_below_the_angle_of_friction),
        cmocka_unit_test(blocks_slide_and_stay_in_space),
        cmocka_unit_test(craters_are_round),
        cmocka_unit_test(momentum_is_only_exchanged),
        cmocka_unit_test(thin_sheets_hold),
        cmocka_unit_test(ghosts_hold_nothing),
        cmocka_unit_test(fast_blades_leave_nothing_behind),
        cmocka_unit_test(growing_meshes_push),
        cmocka_unit_test(bodies_act_through_periodic_faces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
