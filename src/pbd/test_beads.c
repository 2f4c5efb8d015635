/* Bodies made of beads, and surfaces that are thin and fast. */
#include "pbd/pbd_tests.h"

/* A body alone in space, of beads: goes on straight, turns on, stays rigid. */
static void spins_on(const rp_shape *shape, int64_t least, int64_t most)
{
    fixture f;
    build(&f);
    memset(f.def.gravity, 0, sizeof f.def.gravity);
    set(&f, "body", "shape_matching");
    f.body[0].name = "thing", f.body[0].kind = RP_BODY_FREE, f.body[0].shape = (rp_shape *)shape, f.body[0].density = 5000;
    f.body[0].position[2] = 4, f.body[0].velocity[0] = 1.5;
    f.body[0].angular_velocity[2] = 3; /* about an axis of inertia */
    f.def.body_count = 1;
    rp_sim *sim = make(&f);
    const rp__body *body = &sim->world.bodies[0];
    rp__mat3 before = rp__quat_matrix(body->pose.orientation);
    run(sim, 200, NULL);
    const rp__pbd *s = sim->state;
    assert_in_range(s->beads.count, least, most);
    assert_true(fabs(body->velocity.x - 1.5) < 1e-12 * 1.5 && fabs(body->velocity.y) < 1e-12 && fabs(body->velocity.z) < 1e-12);
    assert_true(fabs(body->omega.z - 3) < 0.03 && fabs(body->omega.x) < 0.03 && fabs(body->omega.y) < 0.03);
    rp__mat3 r = rp__quat_matrix(body->pose.orientation);
    assert_true(fabs(rp__mat3_determinant(&r) - 1) < 1e-12);
    assert_true(fabs(r.m[0][0] - before.m[0][0]) > 0.1); /* it did turn, by 3 rad */
    double spread = 0;
    for (int64_t k = 0; k < s->beads.count; k++) { /* beads lie where the body says */
        rp__vec3 at = rp__pose_apply(&body->pose, rp__vec3_load(s->beads.local[k]));
        spread = fmax(spread, rp__vec3_norm(rp__vec3_sub(at, rp__vec3_add(rp__vec3_load(s->beads.x[k]), rp__vec3_load(s->beads.u[k])))));
    }
    assert_true(spread < 1e-9);
    rp_sim_destroy(sim);
    release(&f);
}

static void matched_shapes_stay_rigid(void **unused)
{
    (void)unused;
    double zero[3] = { 0, 0, 0 }, half[3] = { 0.12, 0.07, 0.05 }, flat[3] = { 0.15, 0.1, 0.0201 }, rod[3] = { 0.062, 0.0202, 0.0202 };
    rp_shape *shape;
    assert_int_equal(rp_shape_box(zero, half, 0, &shape), RP_OK);
    spins_on(shape, 20, 80);
    rp_shape_release(shape);
    assert_int_equal(rp_shape_box(zero, flat, 0, &shape), RP_OK); /* all beads in a plane */
    spins_on(shape, 8, 40);
    rp_shape_release(shape);
    assert_int_equal(rp_shape_box(zero, rod, 0, &shape), RP_OK); /* two or three in a row: C is singular */
    spins_on(shape, 2, 3);
    rp_shape_release(shape);
}

static void too_small_for_beads(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double zero[3] = { 0, 0, 0 };
    set(&f, "body", "shape_matching");
    assert_int_equal(rp_shape_sphere(zero, 0.01, &f.shapes[0]), RP_OK);
    f.shape_count = 1;
    f.body[0].name = "crumb", f.body[0].kind = RP_BODY_FREE, f.body[0].shape = f.shapes[0];
    f.def.body_count = 1;
    rp_sim *sim = make(&f);
    assert_int_equal(rp_sim_step(sim, NULL), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "crumb"));
    rp_sim_destroy(sim);
    release(&f);
}

/* A ball of beads flies into a block of grains; momentum of all stays but for what gravity and the floor give. */
static void build_impact(fixture *f)
{
    build(f);
    double zero[3] = { 0, 0, 0 }, centre[3] = { 0, 0, 0.2 }, half[3] = { 0.2, 0.2, 0.18 };
    assert_int_equal(rp_shape_sphere(zero, 0.12, &f->shapes[0]), RP_OK);
    assert_int_equal(rp_shape_box(centre, half, 0, &f->shapes[1]), RP_OK);
    double low[3] = { 0.25, 0, 0.3 }, size[3] = { 0.04, 0.4, 0.3 };
    assert_int_equal(rp_shape_box(low, size, 0, &f->shapes[2]), RP_OK);
    f->shape_count = 3;
    f->grains.shape = f->shapes[1];
    f->def.grains_count = 1;
    f->body[0].name = "ball", f->body[0].kind = RP_BODY_FREE, f->body[0].shape = f->shapes[0], f->body[0].density = 5000;
    f->body[0].position[0] = -0.4, f->body[0].position[2] = 0.35, f->body[0].velocity[0] = 4;
    f->body[1].name = "plank", f->body[1].shape = f->shapes[2];
    f->def.body_count = 2;
    set(f, "body", "shape_matching");
    set(f, "boundary", "particles");
}

static void matched_body_closes_momentum(void **unused)
{
    (void)unused;
    fixture f;
    build_impact(&f);
    rp_sim *sim = make(&f);
    const rp__particles *p = &sim->particles;
    const rp__body *ball = &sim->world.bodies[0], *plank = &sim->world.bodies[1];
    double met = 0, stopped = 0;
    for (int k = 0; k < 50; k++) {
        double sum[2][3] = { { 0 } }, mass = ball->mass, wall[3];
        for (int t = 0; t < 2; t++) {
            for (int a = 0; a < 3; a++)
                for (int64_t i = 0; i < p->count; i++)
                    sum[t][a] += p->mass[i] * p->v[a][i];
            sum[t][0] += ball->mass * ball->velocity.x, sum[t][1] += ball->mass * ball->velocity.y, sum[t][2] += ball->mass * ball->velocity.z;
            if (t == 0)
                run(sim, 1, NULL);
        }
        for (int64_t i = 0; i < p->count; i++)
            mass += p->mass[i];
        assert_int_equal(rp_sim_wall_force(sim, 4, wall), RP_OK);
        double on[3] = { plank->force.x, plank->force.y, plank->force.z };
        for (int a = 0; a < 3; a++) {
            double given = 0.005 * (mass * sim->def.gravity[a] - wall[a] - on[a]);
            assert_true(fabs(sum[1][a] - sum[0][a] - given) < 1e-5 * ball->mass * 4); /* what a pair carries is told in single precision */
        }
        met = fmax(met, rp__vec3_norm(ball->force));
        stopped = fmax(stopped, rp__vec3_norm(plank->force));
    }
    assert_true(met > 5 * ball->mass && stopped > 1);
    rp_sim_destroy(sim);
    release(&f);
}

/* With beads of both kinds: the same bytes for any threads, and after a restart in mid-frame. */
static void beads_keep_bytes(void **unused)
{
    (void)unused;
    static const int threads[] = { 1, 2, 5 };
    uint64_t first = 0;
    for (int t = 0; t < 3; t++) {
        fixture f;
        build_impact(&f);
        f.def.threads = threads[t];
        f.def.substeps = 4;
        rp_sim *sim = make(&f), *other = make(&f);
        run(sim, 25, NULL);
        rp_state state;
        assert_int_equal(rp_sim_save(sim, &state), RP_OK);
        if (rp_sim_restore(other, &state) != RP_OK)
            fail_msg("%s", rp_last_error());
        run(sim, 15, NULL);
        run(other, 15, NULL);
        assert_true(hash_state(sim) == hash_state(other));
        first = t ? first : hash_state(sim);
        assert_true(hash_state(sim) == first);
        rp_state_free(&state);
        rp_sim_destroy(other);
        rp_sim_destroy(sim);
        release(&f);
    }
}

/* A bed on a floor of beads stays above it, and the floor carries its weight. */
static void beads_carry_a_bed(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double centre[3] = { 0, 0, 0.1 }, half[3] = { 0.5, 0.5, 0.1 }, above[3] = { 0, 0, 0.35 }, size[3] = { 0.2, 0.2, 0.14 };
    assert_int_equal(rp_shape_box(centre, half, 0, &f.shapes[0]), RP_OK);
    assert_int_equal(rp_shape_box(above, size, 0, &f.shapes[1]), RP_OK);
    f.shape_count = 2;
    f.body[0].name = "slab", f.body[0].shape = f.shapes[0], f.body[0].surface.friction = 0.5;
    f.def.body_count = 1;
    f.grains.shape = f.shapes[1];
    f.def.grains_count = 1;
    set(&f, "boundary", "particles");
    rp_sim *sim = make(&f);
    run(sim, 500, NULL);
    const rp__particles *p = &sim->particles;
    double weight = 0;
    int64_t off = 0;
    for (int64_t i = 0; i < p->count; i++) {
        bool on = fabs(p->x[0][i]) < 0.5 && fabs(p->x[1][i]) < 0.5;
        weight += on ? 9.81 * p->mass[i] : 0;
        off += !on;
        assert_true(!on || p->x[2][i] > 0.2 + 0.02 - 0.45 * 0.02); /* in hollows between beads, by no more than their bumps */
    }
    assert_true(off < p->count / 10);
    assert_true(fabs(sim->world.bodies[0].force.z + weight) < 0.01 * weight);
    rp_sim_destroy(sim);
    release(&f);
}

/* A body of beads that is not there yet does nothing; when it comes it carries what falls on it. */
static void beads_come_with_their_body(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double centre[3] = { 0, 0, 0.5 }, half[3] = { 0.3, 0.3, 0.05 };
    assert_int_equal(rp_shape_box(centre, half, 0, &f.shapes[0]), RP_OK);
    f.shape_count = 1;
    f.body[0].name = "shelf", f.body[0].shape = f.shapes[0], f.body[0].start = 0.5;
    f.def.body_count = 1;
    set(&f, "boundary", "particles");
    rp_sim *sim = make(&f);
    put(sim, 0, 0, 0.7, 0, 0, 0, 1);
    run(sim, 98, NULL);
    assert_true(sim->particles.x[2][0] < 0.03); /* fell through, to the floor */
    run(sim, 10, NULL);
    put(sim, 0.1, 0, 0.7, 0, 0, 0, 1);
    run(sim, 200, NULL);
    assert_true(sim->particles.x[2][find(sim, 1)] > 0.55);
    rp_sim_destroy(sim);
    release(&f);
}

/* Plates of a tenth of a radius: grains that are shot at one, and grains that one runs into, stay on their side. The step is cut so
 * that nothing goes farther than a radius. */
static void nothing_tunnels(void **unused)
{
    (void)unused;
    for (int moving = 0; moving < 2; moving++) {
        fixture f;
        build(&f);
        f.def.substeps = 0;
        f.def.frame_rate = 60;
        memset(f.def.gravity, 0, sizeof f.def.gravity);
        double zero[3] = { 0, 0, 0 }, half[3] = { 0.001, 1, 1 };
        assert_int_equal(rp_shape_box(zero, half, 0, &f.shapes[0]), RP_OK);
        f.shape_count = 1;
        f.body[0].name = "plate", f.body[0].shape = f.shapes[0], f.body[0].position[2] = 4, f.body[0].position[0] = 1;
        if (moving) {
            const rp_keyframe keys[2] = { { .time = 0, .position = { 1, 0, 4 } }, { .time = 0.1, .position = { -1, 0, 4 } } };
            assert_int_equal(rp_motion_keyframes(keys, 2, RP_LINEAR, &f.body[0].motion), RP_OK);
        }
        f.def.body_count = 1;
        rp_sim *sim = make(&f);
        for (int k = 0; k < 60; k++)
            put(sim, 0.2 + 0.011 * k, 0.05 * (k % 8), 4 + 0.05 * (k / 8), moving ? 0 : 20 + k, 0, 0, 1);
        while (sim->world.time < 0.099)
            run(sim, 1, NULL);
        double plate = sim->world.bodies[0].pose.position.x;
        for (int64_t i = 0; i < 60; i++)
            assert_true(sim->particles.x[0][i] < plate);
        rp_sim_destroy(sim);
        rp_motion_release(f.body[0].motion);
        release(&f);
    }
}

/* quality gives step and sweeps where they are not given. */
static void quality_sets_the_step(void **unused)
{
    (void)unused;
    rp__pbd_params par = { .quality = RP_PBD_STANDARD };
    assert_true(rp__pbd_longest_step(&par) == 0.005 && rp__pbd_sweeps(&par) == 5);
    par.quality = RP_PBD_FINEST;
    assert_true(rp__pbd_longest_step(&par) == 0.0025 && rp__pbd_sweeps(&par) == 10);
    par.step = 0.001, par.sweeps = 2;
    assert_true(rp__pbd_longest_step(&par) == 0.001 && rp__pbd_sweeps(&par) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matched_shapes_stay_rigid), cmocka_unit_test(too_small_for_beads), cmocka_unit_test(matched_body_closes_momentum),
        cmocka_unit_test(beads_keep_bytes),          cmocka_unit_test(beads_carry_a_bed),   cmocka_unit_test(nothing_tunnels),
        cmocka_unit_test(quality_sets_the_step),     cmocka_unit_test(beads_come_with_their_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
