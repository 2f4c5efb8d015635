/* pbd as a method: threads, restart, bodies, hostile input, the kernel beside its plain twin. */
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"
#include "pbd/pbd_tests.h"

/* A heap that falls onto a free ball, with a rod that sweeps through it, a spout and a drain. */
static void busy(fixture *f, rp_emitter_def *emitter, rp_sink_def *sink)
{
    build(f);
    double low[3] = { -0.25, -0.2, 0.2 }, half[3] = { 0.25, 0.2, 0.3 }, zero[3] = { 0, 0, 0 }, top[3] = { 0, 0, 1 }, end[3] = { 0, 0, 1.1 };
    double middle[3] = { low[0] + half[0], low[1] + half[1], low[2] + half[2] }, hole[3] = { 0.5, 0, 0 };
    assert_int_equal(rp_shape_box(middle, half, 0, &f->shapes[0]), RP_OK);
    assert_int_equal(rp_shape_sphere(zero, 0.1, &f->shapes[1]), RP_OK);
    double a[3] = { 0, -0.4, 0 }, b[3] = { 0, 0.4, 0 };
    assert_int_equal(rp_shape_capsule(a, b, 0.05, &f->shapes[2]), RP_OK);
    assert_int_equal(rp_shape_cylinder(top, end, 0.1, &f->shapes[3]), RP_OK);
    assert_int_equal(rp_shape_sphere(hole, 0.1, &f->shapes[4]), RP_OK);
    f->shape_count = 5;
    f->grains.shape = f->shapes[0];
    f->def.grains_count = 1;
    f->body[0].name = "ball", f->body[0].kind = RP_BODY_FREE, f->body[0].shape = f->shapes[1], f->body[0].position[2] = 0.1;
    f->body[1].name = "rod", f->body[1].shape = f->shapes[2], f->body[1].position[2] = 0.15;
    rp_keyframe keys[2] = { { .time = 0, .position = { -0.6, 0, 0.15 } }, { .time = 1, .position = { 0.6, 0, 0.15 } } };
    assert_int_equal(rp_motion_keyframes(keys, 2, RP_LINEAR, &f->body[1].motion), RP_OK);
    f->def.body_count = 2;
    *emitter = rp_default_emitter_def();
    emitter->shape = f->shapes[3], emitter->rate = 2e-3, emitter->velocity[2] = -1;
    *sink = rp_default_sink_def();
    sink->shape = f->shapes[4];
    f->def.emitters = emitter, f->def.emitter_count = 1;
    f->def.sinks = sink, f->def.sink_count = 1;
    f->def.frame_rate = 60;
    f->def.substeps = 0; /* steps by speed */
}

static void same_bytes_for_any_threads(void **unused)
{
    (void)unused;
    static const int threads[] = { 1, 2, 5 };
    uint64_t first = 0;
    for (int k = 0; k < 3; k++) {
        fixture f;
        rp_emitter_def emitter;
        rp_sink_def sink;
        busy(&f, &emitter, &sink);
        f.def.threads = threads[k];
        rp_sim *sim = make(&f);
        run(sim, 60, NULL);
        assert_true(((rp__pbd *)sim->state)->slab_count > 2);
        uint64_t hash = hash_state(sim);
        first = k ? first : hash;
        assert_true(hash == first);
        rp_sim_destroy(sim);
        rp_motion_release(f.body[1].motion);
        release(&f);
    }
}

static void resumes_to_the_byte(void **unused)
{
    (void)unused;
    fixture f;
    rp_emitter_def emitter;
    rp_sink_def sink;
    busy(&f, &emitter, &sink);
    rp_sim *sim = make(&f), *other = make(&f);
    run(sim, 33, NULL); /* in the middle of a frame */
    assert_false(rp_sim_at_frame(sim));
    rp_state state;
    assert_int_equal(rp_sim_save(sim, &state), RP_OK);
    assert_int_equal(rp_sim_restore(other, &state), RP_OK);
    assert_true(hash_state(sim) == hash_state(other));
    run(sim, 20, NULL);
    run(other, 20, NULL);
    assert_true(hash_state(sim) == hash_state(other));
    /* without the forces of the contacts it would have gone another way */
    rp_sim *third = make(&f);
    assert_int_equal(rp_sim_restore(third, &state), RP_OK);
    ((rp__pbd *)third->state)->h_old = 0;
    run(third, 20, NULL);
    assert_true(hash_state(sim) != hash_state(third));
    rp_state_free(&state);
    rp_sim_destroy(third);
    rp_sim_destroy(other);
    rp_sim_destroy(sim);
    rp_motion_release(f.body[1].motion);
    release(&f);
}

/* A checkpoint of another method or with other numbers is refused with a sentence. */
static void refuses_bad_checkpoints(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    rp_sim *sim = make(&f);
    for (int k = 0; k < 5; k++)
        put(sim, 0, 0, 0.02 + 0.04 * k, 0, 0, 0, 1);
    run(sim, 3, NULL);
    static const char *const names[] = { "pbd/step", "pbd/rested", "pbd/bead_slot", "pbd/pair_count", "pbd/pair_partner", "pbd/pair_force",
                                         "pbd/touch_count", "pbd/touch_surface", "pbd/touch_force" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        rp_state state;
        assert_int_equal(rp_sim_save(sim, &state), RP_OK);
        for (int b = 0; b < state.count; b++)
            if (strcmp(state.blobs[b].name, names[k]) == 0)
                state.blobs[b].count--; /* says less than there must be */
        rp_sim *other = make(&f);
        assert_int_equal(rp_sim_restore(other, &state), RP_BAD_FILE);
        assert_true(strlen(rp_last_error()) > 10);
        rp_sim_destroy(other);
        rp_state_free(&state);
    }
    rp_sim_destroy(sim);
    release(&f);
}

/* Grains that meet a heavy free body: momentum of all together stays but for what gravity and the floor give. */
static void free_body_closes_momentum(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double zero[3] = { 0, 0, 0 };
    assert_int_equal(rp_shape_sphere(zero, 0.15, &f.shapes[0]), RP_OK);
    double centre[3] = { 0, 0, 0.3 }, half[3] = { 0.2, 0.2, 0.25 };
    assert_int_equal(rp_shape_box(centre, half, 0, &f.shapes[1]), RP_OK);
    f.shape_count = 2;
    f.grains.shape = f.shapes[1];
    f.def.grains_count = 1;
    f.body[0].name = "ball", f.body[0].kind = RP_BODY_FREE, f.body[0].shape = f.shapes[0], f.body[0].density = 5000;
    f.body[0].position[0] = -0.42, f.body[0].position[2] = 0.3, f.body[0].velocity[0] = 5;
    f.def.body_count = 1;
    rp_sim *sim = make(&f);
    const rp__particles *p = &sim->particles;
    const rp__body *ball = &sim->world.bodies[0];
    double largest = 0;
    for (int k = 0; k < 60; k++) {
        double before[3], after[3], mass = 0, wall[3];
        for (int a = 0; a < 3; a++) {
            before[a] = after[a] = 0;
            for (int64_t i = 0; i < p->count; i++)
                before[a] += p->mass[i] * p->v[a][i];
        }
        rp__vec3 v0 = ball->velocity;
        run(sim, 1, NULL);
        largest = fmax(largest, rp__vec3_norm(ball->force));
        assert_int_equal(rp_sim_wall_force(sim, 4, wall), RP_OK);
        for (int64_t i = 0; i < p->count; i++)
            mass += p->mass[i];
        double start[3] = { v0.x, v0.y, v0.z }, now[3] = { ball->velocity.x, ball->velocity.y, ball->velocity.z };
        for (int a = 0; a < 3; a++) {
            for (int64_t i = 0; i < p->count; i++)
                after[a] += p->mass[i] * p->v[a][i];
            double given = 0.005 * (mass + ball->mass) * sim->def.gravity[a] - 0.005 * wall[a];
            double miss = after[a] + ball->mass * now[a] - before[a] - ball->mass * start[a] - given;
            if (sim->world.bodies[0].pose.position.z > 0.17) /* not yet on the floor itself */
                assert_true(fabs(miss) < 1e-10 * ball->mass * 5);
        }
    }
    assert_true(largest > ball->mass * 9.81 && ball->velocity.x < 4);
    rp_sim_destroy(sim);
    release(&f);
}

/* In the corner of one body a grain leans on both of its sides. */
static void corner_of_a_body(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double centre[3] = { 0, 0, 0 }, outer[3] = { 1, 1, 1 }, inner[3] = { 0.3, 0.3, 2 };
    assert_int_equal(rp_shape_box(centre, outer, 0, &f.shapes[0]), RP_OK);
    double up[3] = { 0, 0, 2.5 };
    assert_int_equal(rp_shape_box(up, inner, 0, &f.shapes[1]), RP_OK);
    assert_int_equal(rp_shape_difference(f.shapes[0], f.shapes[1], &f.shapes[2]), RP_OK);
    f.shape_count = 3;
    f.body[0].name = "tray", f.body[0].shape = f.shapes[2];
    f.def.body_count = 1;
    f.def.gravity[0] = 9.81;
    rp_sim *sim = make(&f);
    put(sim, 0.28, 0, 0.52, 0, 0, 0, 1);
    run(sim, 100, NULL);
    const rp__pbd *s = sim->state;
    assert_int_equal(s->touch_old.count[0], 2);
    for (int a = 0; a < 3; a++)
        assert_true(fabs(sim->particles.v[a][0]) < 1e-9);
    assert_true(fabs(sim->particles.x[0][0] - 0.28) < 1e-3 && fabs(sim->particles.x[2][0] - 0.52) < 1e-3);
    rp_sim_destroy(sim);
    release(&f);
}

static void hostile(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    rp_sim *sim = make(&f);
    rp_step_stats stats;
    run(sim, 2, &stats); /* nobody there */
    for (int k = 0; k < 4; k++)
        put(sim, 0, 0, 1, 0, 0, 0, 1); /* all in one point: they part */
    run(sim, 3, &stats);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < i; j++)
            assert_true(fabs(sim->particles.x[0][i] - sim->particles.x[0][j]) + fabs(sim->particles.x[1][i] - sim->particles.x[1][j]) > 1e-4);
    assert_true(extra(&stats, "left_out") == 0);
    for (int k = 0; k < 600; k++)
        put(sim, 1, 1, 1, 0, 0, 0, 1); /* more in one point than a grain can look at: what is left out is told */
    run(sim, 1, &stats);
    assert_true(extra(&stats, "left_out") == 87 * 88 / 2); /* grain k has k before it, 512 at most */
    sim->particles.v[0][0] = NAN;
    assert_int_equal(rp_sim_step(sim, NULL), RP_DIVERGED);
    assert_non_null(strstr(rp_last_error(), "finite"));
    rp_sim_destroy(sim);

    f.def.substeps = 0;
    sim = make(&f);
    put(sim, 0, 0, 4, 50, 0, 0, 1); /* no farther than a radius in a step */
    run(sim, 1, &stats);
    assert_true(stats.dt <= 0.0201 / 50 && strcmp(stats.limit, "grain") == 0);
    rp_sim_destroy(sim);

    f.def.wall[0].kind = f.def.wall[1].kind = RP_PERIODIC;
    assert_int_equal(rp_sim_create(&f.def, &sim), RP_UNSUPPORTED);
    release(&f);
}

/* Discs: the same in two dimensions. */
static void falls_in_the_plane(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    f.def.dim = 2;
    f.def.lower[1] = 0, f.def.lower[2] = f.def.upper[2] = 0;
    f.def.gravity[1] = -9.81, f.def.gravity[2] = 0;
    f.def.wall[2] = f.def.wall[4];
    double middle[3] = { 0, 0.5, 0 }, half[3] = { 0.4, 0.4, 1 };
    assert_int_equal(rp_shape_box(middle, half, 0, &f.shapes[0]), RP_OK);
    f.shape_count = 1;
    f.grains.shape = f.shapes[0];
    f.def.grains_count = 1;
    rp_sim *sim = make(&f);
    const rp__particles *p = &sim->particles;
    assert_in_range(p->count, 220, 360); /* random discs fill 0.55 of the plane less the rim */
    run(sim, 300, NULL);
    for (int64_t i = 0; i < p->count; i++)
        assert_true(p->x[2][i] == 0 && p->v[2][i] == 0 && p->x[1][i] > 0.019);
    rp_sim_destroy(sim);
    release(&f);
}

/* ---- the kernel ---- */

static double number(uint64_t stream, uint64_t at)
{
    return 2 * rp__random_unit(7, stream, at) - 1;
}

static void kernel_agrees(void **unused)
{
    (void)unused;
    enum { GROUPS = 5, GRAINS = GROUPS * 16 };
    static rp__pbd_wide a[GROUPS], b[GROUPS];
    _Alignas(64) static double u[GRAINS][4], v[GRAINS][4];
    for (int k = 0; k < GRAINS; k++)
        for (int c = 0; c < 4; c++)
            u[k][c] = c < 3 ? 1e-3 * number(1, (uint64_t)(4 * k + c)) : 1 + 0.5 * number(2, (uint64_t)k);
    for (int g = 0; g < GROUPS; g++)
        for (int l = 0; l < 8; l++) {
            uint64_t s = (uint64_t)(8 * g + l);
            rp__vec3 n = rp__random_on_sphere(3, 4, s), t = rp__random_on_sphere(5, 6, s);
            t = rp__vec3_scale(2e-4, rp__vec3_axpy(-rp__vec3_dot(t, n), n, t));
            int i = 16 * g + l, j = 16 * g + 8 + l;
            a[g].i[l] = i, a[g].j[l] = j;
            a[g].n[0][l] = (float)n.x, a[g].n[1][l] = (float)n.y, a[g].n[2][l] = (float)n.z;
            a[g].t[0][l] = (float)t.x, a[g].t[1][l] = (float)t.y, a[g].t[2][l] = (float)t.z;
            a[g].gap[l] = (float)(1e-4 * number(7, s));
            a[g].pair[l] = 8 * g + l;
            a[g].l[l] = (float)fmax(0, 1e-3 * number(8, s));
            a[g].mu[l] = 0.3f;
            a[g].inv[l] = (float)(1 / (u[i][3] + u[j][3]));
        }
    memcpy(b, a, sizeof a);
    memcpy(v, u, sizeof u);
    rp__pbd_groups_warm(a, 0, GROUPS, u);
    rp__pbd_groups_warm_ref(b, 0, GROUPS, v);
    for (int sweep = 0; sweep < 3; sweep++) {
        rp__pbd_groups_visit(a, 0, GROUPS, u, NULL, 1.3f);
        rp__pbd_groups_visit_ref(b, 0, GROUPS, v, 1.3);
    }
    int touching = 0;
    for (int k = 0; k < GRAINS; k++)
        for (int c = 0; c < 4; c++)
            assert_true(fabs(u[k][c] - v[k][c]) < 2e-9);
    for (int g = 0; g < GROUPS; g++)
        for (int l = 0; l < 8; l++) {
            assert_true(fabs((double)(a[g].l[l] - b[g].l[l])) < 2e-9);
            touching += a[g].l[l] > 0;
        }
    assert_in_range(touching, 10, 39);
}

/* Memory runs out at any place: a result, nothing lost, nothing broken. */
static void out_of_memory(void **unused)
{
    (void)unused;
    fixture f;
    build(&f);
    double middle[3] = { 0, 0, 0.2 };
    assert_int_equal(rp_shape_sphere(middle, 0.15, &f.shapes[0]), RP_OK);
    f.shape_count = 1;
    f.grains.shape = f.shapes[0];
    f.def.grains_count = 1;
    f.def.body_count = 1;
    f.body[0].name = "ball", f.body[0].kind = RP_BODY_FREE, f.body[0].shape = f.shapes[0], f.body[0].position[0] = 0.5;
    for (int64_t n = 1, done = 0; !done; n++) {
        rp_sim *sim = NULL;
        rp__base_fail_allocation(n);
        rp_result result = rp_sim_create(&f.def, &sim);
        for (int k = 0; k < 3 && result == RP_OK; k++)
            result = rp_sim_step(sim, NULL);
        rp_state state = { 0 };
        if (result == RP_OK)
            result = rp_sim_save(sim, &state);
        done = rp__base_fail_allocation(0) < n;
        if (done)
            assert_int_equal(result, RP_OK);
        else
            assert_int_equal(result, RP_OUT_OF_MEMORY);
        rp_state_free(&state);
        rp_sim_destroy(sim);
    }
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_for_any_threads), cmocka_unit_test(resumes_to_the_byte), cmocka_unit_test(refuses_bad_checkpoints),
        cmocka_unit_test(free_body_closes_momentum),  cmocka_unit_test(corner_of_a_body),    cmocka_unit_test(hostile),
        cmocka_unit_test(falls_in_the_plane),         cmocka_unit_test(kernel_agrees),       cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
