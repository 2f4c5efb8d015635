/* Questions: contacts, rays, boxes, the surface, sums, values at points. */
#include "sim/action_tests.h"

#define BED                                                                                                                                     \
    "domain: [1, 1, 1]\ncell_size: 10 cm\nduration: 1 s\nframe_rate: 50\nwalls: {all: slip, bottom: 0.5}\nmaterial: {preset: dry-sand, "        \
    "youngs_modulus: 50 kPa}\n"                                                                                                                 \
    "grains: [{shape: {box: {lower: [0, 0, 0], upper: [1, 1, 0.3]}}, per_cell: 27, sampling: regular, velocity: [0.5, 0, 0]}]\n"               \
    "bodies:\n- {name: high, shape: {sphere: {radius: 10 cm}}, position: [0.5, 0.5, 0.8]}\n"                                                    \
    "- {name: corner, shape: {box: {lower: [-0.05, -0.05, -0.05], upper: [0.05, 0.05, 0.05]}}, position: [0.1, 0.1, 0.9]}\n"

static void rays_meet_what_is_there(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" BED);
    const double top[3] = { 0.515, 0.485, 2 }, down[3] = { 0, 0, -3 }, beside[3] = { 0.85, 0.8, 0.9 }, side[3] = { 1, 0, 0 };
    rp_ray_hit hit;
    ok(rp_sim_ray(sim, top, down, 10, RP_ASK_ALL, &hit));
    assert_true(hit.what == RP_ASK_BODIES && hit.body == 0 && hit.particle == -1 && hit.wall == -1);
    assert_float_equal(hit.point[2], 0.8 + sqrt(0.01 - 2 * 0.015 * 0.015), 1e-6);
    assert_float_equal(hit.normal[2], sqrt(0.01 - 2 * 0.015 * 0.015) / 0.1, 1e-5);
    ok(rp_sim_ray(sim, top, down, 10, RP_ASK_GRAINS, &hit));
    assert_true(hit.what == RP_ASK_GRAINS);
    /* the top of the bed: spheres of the bulk volume of a particle, 1/27 of a cell */
    double radius = cbrt(3e-3 / 27 / (4 * 3.14159265358979)), z = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        z = fmax(z, plane(sim, "position", 2)[i]);
    assert_true(hit.point[2] <= z + radius && hit.point[2] > z - 0.01);
    /* the same as trying every particle */
    for (int k = 0; k < 60; k++) {
        const double from[3] = { 0.5 + 0.9 * sin(k), 0.5 + 0.9 * cos(2 * k), 0.2 + 0.015 * k }, way[3] = { -sin(k), -cos(2 * k) * 0.9, 0.1 - 0.01 * k };
        double norm = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]), best = INFINITY;
        ok(rp_sim_ray(sim, from, way, 3, RP_ASK_GRAINS, &hit));
        for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
            double b = 0, e = -radius * radius;
            for (int a = 0; a < 3; a++) {
                double d = from[a] - plane(sim, "position", a)[i];
                b += way[a] / norm * d, e += d * d;
            }
            double s = e <= 0 ? 0 : b < 0 && b * b >= e ? -b - sqrt(b * b - e) : INFINITY;
            best = fmin(best, s);
        }
        if (best <= 3)
            assert_float_equal(hit.distance, best, 1e-9);
        else
            assert_int_equal(hit.what, 0);
    }
    ok(rp_sim_ray(sim, beside, side, 10, RP_ASK_ALL, &hit));
    assert_true(hit.what == RP_ASK_WALLS && hit.wall == 1 && hit.normal[0] == -1);
    assert_float_equal(hit.distance, 0.15, 1e-12);
    ok(rp_sim_ray(sim, beside, side, 0.1, RP_ASK_ALL, &hit));
    assert_int_equal(hit.what, 0);
    refused(rp_sim_ray(NULL, top, down, 1, RP_ASK_ALL, &hit), RP_BAD_ARGUMENT, "no simulation");
    refused(rp_sim_ray(sim, top, zero, 1, RP_ASK_ALL, &hit), RP_BAD_ARGUMENT, "direction");
    refused(rp_sim_ray(sim, top, down, NAN, RP_ASK_ALL, &hit), RP_BAD_ARGUMENT, "length");
    refused(rp_sim_ray(sim, top, down, 1, 0, &hit), RP_BAD_ARGUMENT, "look for");
    rp_sim_destroy(sim);
}

static void boxes_and_bodies_are_found(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" BED);
    const double low[3] = { 0.21, 0.33, 0.05 }, high[3] = { 0.48, 0.51, 0.3 };
    int64_t found = 0, expected = 0, list[4000];
    ok(rp_sim_grains_in_box(sim, low, high, list, 4000, &found));
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
        bool in = true;
        for (int a = 0; a < 3; a++)
            in = in && plane(sim, "position", a)[i] >= low[a] && plane(sim, "position", a)[i] <= high[a];
        if (in)
            assert_true(list[expected++] == i);
    }
    assert_true(found == expected && found > 100);
    ok(rp_sim_grains_in_box(sim, low, high, NULL, 0, &found));
    assert_true(found == expected);
    int bodies[4], count = 0;
    const double around[3] = { 0, 0, 0.84 }, all[3] = { 0.3, 0.3, 1 };
    ok(rp_sim_bodies_in_box(sim, around, all, bodies, 4, &count));
    assert_true(count == 1 && bodies[0] == 1);
    int body_index = -1;
    double distance, normal[3];
    const double point[3] = { 0.5, 0.5, 0.6 };
    ok(rp_sim_closest_body(sim, point, &body_index, &distance, normal));
    assert_true(body_index == 0);
    assert_float_equal(distance, 0.1, 1e-12);
    assert_float_equal(normal[2], -1, 1e-12);
    ok(rp_sim_remove_body(sim, 0));
    ok(rp_sim_closest_body(sim, point, &body_index, NULL, NULL));
    assert_int_equal(body_index, 1);
    ok(rp_sim_remove_body(sim, 1));
    refused(rp_sim_closest_body(sim, point, &body_index, NULL, NULL), RP_NOT_FOUND, "no body");
    refused(rp_sim_closest_body(sim, NULL, &body_index, NULL, NULL), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_grains_in_box(sim, low, NULL, NULL, 0, &found), RP_BAD_ARGUMENT, "NULL");
    refused(rp_sim_bodies_in_box(sim, low, high, NULL, 3, &count), RP_BAD_ARGUMENT, "NULL");
    rp_sim_destroy(sim);
}

static void the_surface_is_where_the_bed_ends(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" BED);
    double height;
    bool there;
    static const double places[][2] = { { 0.5, 0.5 }, { 0.31, 0.77 }, { 0, 0 }, { 1, 0.4 }, { 0.02, 0.99 } };
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) { /* by walls and in corners too */
        ok(rp_sim_surface(sim, places[k][0], places[k][1], &height, &there));
        assert_true(there);
        assert_float_equal(height, 0.3, 0.012); /* 9 layers of particles, 1/30 m each: 0.1 of a cell */
    }
    rp_shape *hole = NULL;
    const double centre[3] = { 0.5, 0.5, 0.2 };
    ok(rp_shape_sphere(centre, 0.3, &hole));
    ok(rp_sim_remove_grains(sim, hole, NULL));
    ok(rp_sim_surface(sim, 0.5, 0.5, &height, &there));
    assert_true(!there || height < 0.05);
    ok(rp_sim_surface(sim, 0.05, 0.05, &height, &there));
    assert_float_equal(height, 0.3, 0.012);
    refused(rp_sim_surface(sim, 2, 0, &height, &there), RP_BAD_ARGUMENT, "outside");
    refused(rp_sim_surface(sim, 0, 0, NULL, &there), RP_BAD_ARGUMENT, "NULL");
    rp_shape_release(hole);
    rp_sim_destroy(sim);
    sim = make("method: ballistic\ndomain: [1, 1]\ncell_size: 5 cm\nduration: 1 s\nmaterial: dry-sand\n"
               "grains: [{shape: {box: {lower: [0, 0], upper: [0.5, 0.25]}}, per_cell: 16}]\n");
    ok(rp_sim_surface(sim, 0.25, 0, &height, &there));
    assert_true(there && fabs(height - 0.25) < 0.01);
    ok(rp_sim_surface(sim, 0.75, 0, &height, &there));
    assert_false(there);
    rp_sim_destroy(sim);
}

static void sums_and_values(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: ballistic\n" BED);
    rp_sums all, part;
    rp_shape *half = NULL;
    const double centre[3] = { 0.25, 0.5, 0.5 }, size[3] = { 0.25, 0.5, 0.5 };
    ok(rp_shape_box(centre, size, 0, &half));
    ok(rp_sim_sums(sim, NULL, &all));
    ok(rp_sim_sums(sim, half, &part));
    double mass = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        mass += plane(sim, "mass", 0)[i];
    assert_true(all.particles == rp_sim_particle_count(sim));
    assert_float_equal(all.mass, mass, 1e-9 * mass);
    assert_float_equal(all.momentum[0], 0.5 * mass, 1e-9 * mass);
    assert_float_equal(all.kinetic_energy, 0.125 * mass, 1e-9 * mass);
    assert_float_equal(all.centre[0], 0.5, 1e-9);
    assert_float_equal(all.angular_momentum[1], 0.5 * mass * all.centre[2], 1e-9 * mass);
    assert_float_equal(part.mass, 0.5 * mass, 1e-9 * mass);
    assert_float_equal(part.centre[0], 0.25, 1e-9);
    double points[9] = { 0.5, 0.5, 0.15, 0.5, 0.5, 0.7, 0, 0, 0 }, values[9], fill[3];
    assert_int_equal(rp_sim_sample_components(sim, "velocity"), 3);
    ok(rp_sim_sample(sim, "velocity", points, 3, values, fill));
    assert_float_equal(values[0], 0.5, 1e-12);
    assert_float_equal(fill[0], 1, 0.02);
    assert_true(fill[1] == 0 && values[3] == 0);
    assert_float_equal(fill[2], 1, 0.05); /* in the corner, what lies outside does not count */
    refused(rp_sim_sample(sim, "stress", points, 1, values, NULL), RP_NOT_FOUND, "stress");
    refused(rp_sim_sample(sim, "velocity", NULL, 1, values, NULL), RP_BAD_ARGUMENT, "NULL");
    points[0] = NAN;
    refused(rp_sim_sample(sim, "velocity", points, 1, values, NULL), RP_BAD_ARGUMENT, "finite");
    refused(rp_sim_sums(NULL, NULL, &all), RP_BAD_ARGUMENT, "no simulation");
    rp_shape_release(half);
    rp_sim_destroy(sim);
}

/* The weight of a bed on its floor and on a plate in it; contacts add up to forces; the two parts of a force. */
#define TRAY(surface)                                                                                                               \
    "domain: [0.6, 0.3]\ncell_size: 3 cm\nduration: 2 s\nframe_rate: 25\ngravity: [2, -9]\nwalls: {all: slip, bottom: slip}\n"       \
    "material: {preset: dry-sand, youngs_modulus: 50 kPa}\n"                                                                         \
    "grains: [{shape: {box: {lower: [0, 0.09], upper: [0.6, 0.18]}}, per_cell: 4}]\n"                                                \
    "bodies: [{name: tray, shape: {box: {lower: [-1, -1, -1], upper: [1, 0.09, 1]}}, surface: " surface "}]\n"

static void contacts_add_up(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: nonsmooth\n" TRAY("0.6"), "method: elastoplastic\n" TRAY("0.6"),
                                           "method: ballistic\n" TRAY("0.6"), "method: nonsmooth\nnonsmooth: {stress: node}\n" TRAY("0.6"),
                                           "method: pbd\n" TRAY("0.6"),       "method: contact\n" TRAY("0.6") };
    for (int m = 0; m < 6; m++) {
        rp_sim *sim = make(methods[m]), *plain = make(methods[m]);
        const rp_contact *list;
        int64_t count;
        rp_step_stats stats;
        refused(rp_sim_contacts(sim, &list, &count), RP_BAD_ARGUMENT, "not recorded");
        ok(rp_sim_record_contacts(sim, true));
        for (int i = 0; i < 12; i++) {
            ok(rp_sim_step(sim, &stats));
            ok(rp_sim_step(plain, NULL));
        }
        assert_true(hash_state(sim) == hash_state(plain)); /* listening changes nothing */
        ok(rp_sim_contacts(sim, &list, &count));
        rp_body_state tray = body(sim, 0);
        double force[3] = { 0 }, normal[3] = { 0 }, wall[6][3] = { { 0 } };
        assert_true(count > 10);
        for (int64_t i = 0; i < count; i++) {
            double along = 0;
            for (int a = 0; a < 3; a++)
                along += list[i].impulse[a] * list[i].normal[a];
            for (int a = 0; a < 3; a++) {
                if (list[i].body == 0)
                    force[a] += list[i].impulse[a] / stats.dt, normal[a] += along * list[i].normal[a] / stats.dt;
                else
                    wall[list[i].wall][a] += list[i].impulse[a] / stats.dt;
            }
        }
        double size = fabs(tray.force[1]);
        assert_true(size > 0);
        for (int a = 0; a < 2; a++) {
            assert_float_equal(force[a], tray.force[a], 1e-9 * size);
            assert_float_equal(normal[a], tray.normal_force[a], 1e-9 * size);
            assert_float_equal(tray.normal_force[a] + tray.friction_force[a], tray.force[a], 1e-12 * size);
            for (int f = 0; f < 4; f++) {
                double expected[3];
                ok(rp_sim_wall_force(sim, f, expected));
                assert_float_equal(wall[f][a], expected[a], 1e-9 * size);
            }
        }
        /* the plate is flat: pushed down, rubbed along, and not more than friction can */
        assert_float_equal(tray.normal_force[0], 0, 1e-9 * size);
        assert_float_equal(tray.friction_force[1], 0, 1e-9 * size);
        assert_true(tray.normal_force[1] < 0);
        bool stresses = m < 2 || m == 3;
        if (stresses)
            assert_true(tray.friction_force[0] > 0);
        assert_true(fabs(tray.friction_force[0]) <= 0.6 * size * (1 + 1e-9));
        double pressure[1], fill, at[3] = { 0.3, 0.13, 0 };
        if (stresses) {
            double stress[6];
            ok(rp_sim_sample(sim, "pressure", at, 1, pressure, &fill));
            assert_true(fill > 0.5 && pressure[0] > 0);
            assert_int_equal(rp_sim_sample_components(sim, "stress"), 6);
            ok(rp_sim_sample(sim, "stress", at, 1, stress, NULL));
            assert_true(fabs(stress[0]) + fabs(stress[1]) > 0);
        }
        ok(rp_sim_record_contacts(sim, false));
        rp_sim_destroy(sim);
        rp_sim_destroy(plain);
    }
}

/* In a fluid the pressure pushes too, so contacts are a part of the force; still the force is a push and a rub. */
static void contacts_in_a_fluid(void **unused)
{
    (void)unused;
    rp_sim *sim = make("method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\ndomain: [0.6, 0.3]\ncell_size: 3 cm\nduration: 2 s\nframe_rate: 25\n"
                       "gravity: [2, -9]\nwalls: {all: slip}\nmaterial: dry-sand\n"
                       "grains: [{shape: {box: {lower: [0, 0.1], upper: [0.6, 0.19]}}, per_cell: 4}]\n"
                       "bodies: [{name: tray, shape: {box: {lower: [-1, -1, -1], upper: [1, 0.1, 1]}}, surface: 0.6}]\n");
    const rp_contact *list;
    int64_t count, on_tray = 0;
    ok(rp_sim_record_contacts(sim, true));
    for (int i = 0; i < 6; i++)
        ok(rp_sim_step(sim, NULL));
    ok(rp_sim_contacts(sim, &list, &count));
    for (int64_t i = 0; i < count; i++) {
        const double *n = list[i].normal;
        assert_float_equal(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-9);
        double push = 0, square = 0;
        for (int a = 0; a < 3; a++)
            push -= list[i].impulse[a] * n[a], square += list[i].impulse[a] * list[i].impulse[a];
        assert_true(push >= 0 && square <= (1 + 0.36) * push * push * (1 + 1e-6)); /* never pulls, and rubs within its cone */
        on_tray += list[i].body == 0;
    }
    rp_body_state tray = body(sim, 0);
    assert_true(on_tray > 3 && tray.normal_force[1] != 0);
    for (int a = 0; a < 2; a++)
        assert_float_equal(tray.normal_force[a] + tray.friction_force[a], tray.force[a], 1e-9 * fabs(tray.force[1]));
    rp_sim_destroy(sim);
}

/* Methods that have no stresses on a grid say so; velocities they all have. */
static void values_that_a_method_has_not_are_refused(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: pbd\n" TRAY("0.6"), "method: contact\n" TRAY("0.6"), "method: ballistic\n" TRAY("0.6") };
    for (int m = 0; m < 3; m++) {
        rp_sim *sim = make(methods[m]);
        double value[9], fill, at[3] = { 0.3, 0.13, 0 };
        ok(rp_sim_step(sim, NULL));
        assert_int_not_equal(rp_sim_sample(sim, "stress", at, 1, value, &fill), RP_OK);
        assert_non_null(strstr(rp_last_error(), "stress"));
        assert_int_equal(rp_sim_sample_components(sim, "stress"), 0);
        ok(rp_sim_sample(sim, "velocity", at, 1, value, &fill));
        assert_true(fill > 0.3);
        rp_sim_destroy(sim);
    }
}

/* A bed at rest between slippery walls: sigma_yy = -rho g (depth), of the bulk or of the grains in it (query.h); nothing above it. */
static void stresses_carry_the_weight(void **unused)
{
    (void)unused;
    static const char bed[] = "domain: [0.4, 0.4]\ncell_size: 2 cm\nduration: 2 s\nframe_rate: 25\nwalls: {all: slip}\n"
                              "material: {bulk_density: 1500, volume_fraction: 0.6, friction: 0.5, youngs_modulus: 100 kPa}\n"
                              "grains: [{shape: {box: {lower: [0, 0], upper: [0.4, 0.2]}}, per_cell: 9, sampling: regular}]\n";
    static const char *const methods[] = { "method: nonsmooth\n", "method: nonsmooth\nnonsmooth: {stress: node}\n", "method: elastoplastic\n" };
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", methods[m], bed);
        rp_sim *sim = make(text);
        const double points[12] = { 0.13, 0.05, 0, 0.2, 0.09, 0, 0.27, 0.13, 0, 0.2, 0.3, 0 };
        double now[24], stress[24] = { 0 }, fill[4];
        while (rp_sim_time(sim) < 0.4) { /* the mean over two of the bed's oscillations: they last 4 H / c = 0.1 s where it is elastic */
            rp_step_stats stats;
            ok(rp_sim_step(sim, &stats));
            ok(rp_sim_sample(sim, "stress", points, 4, now, fill));
            for (int k = 0; k < 24 && stats.time > 0.2; k++)
                stress[k] += now[k] * stats.dt / 0.2;
        }
        for (int i = 0; i < 3; i++) {
            double right = -(m < 2 ? 2500 : 1500) * 9.81 * (0.2 - points[3 * i + 1]);
            if (fabs(stress[6 * i + 1] - right) > 0.1 * fabs(right)) /* a cell is a tenth of the depth */
                fail_msg("%s: at %g m the stress is %g Pa, not %g Pa", methods[m], points[3 * i + 1], stress[6 * i + 1], right);
            assert_true(fill[i] > 0.8);
        }
        assert_true(fill[3] == 0 && stress[19] == 0);
        rp_sim_destroy(sim);
    }
}

static uint64_t fold(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

/* Every question, all answers into one number. */
static uint64_t ask_all(rp_sim *sim)
{
    uint64_t hash = 14695981039346656037u;
    const double from[3] = { 0.2, 0.2, 0.39 }, along[3] = { 0.1, 0.05, -1 }, low[3] = { 0.1, 0.1, 0 }, high[3] = { 0.4, 0.3, 0.3 };
    rp_ray_hit hit;
    memset(&hit, 0, sizeof hit);
    ok(rp_sim_ray(sim, from, along, 2, RP_ASK_ALL, &hit));
    assert_true(hit.what != 0);
    hash = fold(hash, &hit.distance, sizeof hit.distance);
    hash = fold(hash, &hit.particle, sizeof hit.particle);
    int64_t indices[64], count = 0;
    int bodies[8], body_count = 0, nearest = -1;
    ok(rp_sim_grains_in_box(sim, low, high, indices, 64, &count));
    hash = fold(hash, indices, sizeof *indices * (size_t)(count < 64 ? count : 64));
    ok(rp_sim_bodies_in_box(sim, low, high, bodies, 8, &body_count));
    hash = fold(hash, bodies, sizeof *bodies * (size_t)body_count);
    double distance, normal[3], height, values[6], fill[2];
    bool there;
    ok(rp_sim_closest_body(sim, from, &nearest, &distance, normal));
    hash = fold(fold(hash, &distance, sizeof distance), normal, sizeof normal);
    ok(rp_sim_surface(sim, 0.2, 0.2, &height, &there));
    assert_true(there);
    hash = fold(hash, &height, sizeof height);
    rp_sums sums;
    memset(&sums, 0, sizeof sums);
    ok(rp_sim_sums(sim, NULL, &sums));
    hash = fold(hash, &sums, sizeof sums);
    const double points[6] = { 0.2, 0.2, 0.05, 0.1, 0.2, 0.05 };
    ok(rp_sim_sample(sim, "velocity", points, 2, values, fill));
    hash = fold(fold(hash, values, sizeof values), fill, sizeof fill);
    const rp_contact *list;
    ok(rp_sim_contacts(sim, &list, &count));
    for (int64_t i = 0; i < count; i++)
        hash = fold(fold(hash, list[i].point, sizeof list[i].point), list[i].impulse, sizeof list[i].impulse);
    return hash;
}

/* A driven run that is asked everything after each step has the bytes of one that nobody asks; and its replay gives the same answers. */
static void asking_changes_nothing_and_replays(void **unused)
{
    (void)unused;
    static const char *const methods[] = { "method: ballistic\n" ROOM, "method: nonsmooth\n" ROOM, "method: nonsmooth\nnonsmooth: {stress: node}\n" ROOM,
                                           "method: elastoplastic\n" ROOM, "method: pbd\n" ROOM, "method: contact\n" ROOM,
                                           "method: diphasic\nfluid: {density: 1000, viscosity: 1e-3}\n" ROOM };
    enum { STEPS = 3 };
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        rp_sim *asked = make(methods[m]), *quiet = make(methods[m]), *again = make(methods[m]);
        const double lean[3] = { 1, 0, -9 }, there[3] = { 0.39, 0.2, 0.02 };
        uint64_t answers[STEPS];
        ok(rp_sim_record_contacts(asked, true));
        ok(rp_sim_record_contacts(again, true));
        for (int i = 0; i < STEPS; i++) {
            rp_sim *both[] = { asked, quiet };
            for (int k = 0; k < 2; k++) {
                ok(i == 0 ? rp_sim_set_body_target(both[k], PADDLE, there, still, RP_NEXT_STEP) : rp_sim_set_gravity(both[k], lean));
                ok(rp_sim_step(both[k], NULL));
            }
            answers[i] = ask_all(asked);
            assert_true(answers[i] == ask_all(asked)); /* twice the same */
        }
        if (hash_state(asked) != hash_state(quiet))
            fail_msg("%.40s …: asking changed the run", methods[m]);
        ok(rp_sim_replay(again, rp_sim_journal(asked)));
        for (int i = 0; i < STEPS; i++) {
            ok(rp_sim_step(again, NULL));
            if (ask_all(again) != answers[i])
                fail_msg("%.40s …: the replay answers otherwise after step %d", methods[m], i + 1);
        }
        rp_sim_destroy(asked);
        rp_sim_destroy(quiet);
        rp_sim_destroy(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_meet_what_is_there),
        cmocka_unit_test(boxes_and_bodies_are_found),
        cmocka_unit_test(the_surface_is_where_the_bed_ends),
        cmocka_unit_test(sums_and_values),
        cmocka_unit_test(contacts_add_up),
        cmocka_unit_test(contacts_in_a_fluid),
        cmocka_unit_test(values_that_a_method_has_not_are_refused),
        cmocka_unit_test(stresses_carry_the_weight),
        cmocka_unit_test(asking_changes_nothing_and_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
