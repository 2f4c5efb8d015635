/* What the solver promises whatever the scene: it stays within its limit, keeps the best state it found, and can be given up. */
#include "nonsmooth/scene_tests.h"

/* A bed with a wall that is pushed into it; whether momentum and blocks that are left out go astray shows here. */
typedef struct pushed {
    scene s;
    rp_body_def wall;
    rp_shape *shape;
    rp_motion *motion;
} pushed;

static void pushed_begin(pushed *p, int seed)
{
    const int cells[3] = { 60, 40, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 60, 15, 1 };
    scene_begin(&p->s, 2, 0.02, cells, from, to);
    p->s.grains[0].sampling = RP_JITTERED;
    p->s.grains[0].per_cell = 9;
    p->s.def.seed = (uint64_t)seed;
    p->s.def.frame_rate = 25;
    for (int f = 0; f < 4; f++)
        p->s.def.wall[f].kind = RP_SLIP;
    p->s.def.wall[2] = (rp_surface){ RP_FRICTIONAL, 0.4, 0 };
    double centre[3] = { -0.5, 0.4, 0 }, half[3] = { 0.5, 2, 1 };
    assert_int_equal(rp_shape_box(centre, half, 0, &p->shape), RP_OK);
    assert_int_equal(rp_motion_expression("0.25*t, 0, 0", &p->motion), RP_OK);
    p->wall = rp_default_body_def();
    p->wall.name = "wall";
    p->wall.shape = p->shape;
    p->wall.motion = p->motion;
    p->wall.surface = (rp_surface){ RP_FRICTIONAL, 0.2, 0 };
    p->s.def.bodies = &p->wall;
    p->s.def.body_count = 1;
}

static void pushed_end(pushed *p)
{
    scene_end(&p->s);
    rp_shape_release(p->shape);
    rp_motion_release(p->motion);
}

/* No step takes more sweeps than it may, the first ones included, and nothing becomes faster than a wall of 0.25 m/s and the fall of a heap explain. */
static void pushed_sand_stays_bounded(void **state)
{
    (void)state;
    pushed p;
    pushed_begin(&p, 1);
    scene_start(&p.s);
    rp_step_stats stats;
    while (rp_sim_time(p.s.sim) < 0.8) {
        scene_step(&p.s, &stats);
        assert_true(stats.iterations <= 1000);
        if (!(scene_fastest(&p.s) < 2))
            fail_msg("%g m/s at %g s", scene_fastest(&p.s), rp_sim_time(p.s.sim));
    }
    pushed_end(&p);
}

/* With more sweeps a step has no larger a residual: the best state that was looked at, every fifty sweeps, is kept. */
static void more_sweeps_are_never_worse(void **state)
{
    (void)state;
    double last = INFINITY;
    rp_state kept = { 0 };
    for (int limit = 0; limit <= 500; limit += 50) {
        pushed p;
        char text[16];
        rp_step_stats stats;
        pushed_begin(&p, 2);
        if (limit) {
            snprintf(text, sizeof text, "%d", limit);
            scene_set(&p.s, "max_iterations", text);
            scene_set(&p.s, "tolerance", "1e-12");
            scene_set(&p.s, "tolerance_max", "1e6");
        }
        scene_start(&p.s);
        if (!limit) { /* all go on from here: a first step begins with sweeps over contacts alone, in a part of its limit */
            for (int k = 0; k < 6; k++)
                scene_step(&p.s, &stats);
            assert_int_equal(rp_sim_save(p.s.sim, &kept), RP_OK);
        } else {
            assert_int_equal(rp_sim_restore(p.s.sim, &kept), RP_OK);
            scene_step(&p.s, &stats);
            assert_true(!stats.converged && stats.iterations == limit);
            if (!(stats.residual_mean <= last * (1 + 1e-12)))
                fail_msg("residual %g with %d sweeps, %g with fewer", stats.residual_mean, limit, last);
            last = stats.residual_mean;
        }
        pushed_end(&p);
    }
    rp_state_free(&kept);
}

/* A step that is given up leaves everything as it was: what follows is the same to the bit. */
static void cancelled_steps_leave_no_trace(void **state)
{
    (void)state;
    pushed plain, cancelled;
    rp_step_stats stats;
    volatile int flag = 0;
    pushed_begin(&plain, 3);
    pushed_begin(&cancelled, 3);
    scene_start(&plain.s);
    scene_start(&cancelled.s);
    rp_sim_set_cancel(cancelled.s.sim, &flag);
    for (int k = 0; k < 8; k++) {
        double time = rp_sim_time(cancelled.s.sim);
        flag = 1;
        assert_int_equal(rp_sim_step(cancelled.s.sim, &stats), RP_CANCELLED);
        assert_true(rp_sim_time(cancelled.s.sim) == time);
        flag = 0;
        scene_step(&cancelled.s, &stats);
        scene_step(&plain.s, &stats);
    }
    rp_state a = { 0 }, b = { 0 };
    assert_int_equal(rp_sim_save(plain.s.sim, &a), RP_OK);
    assert_int_equal(rp_sim_save(cancelled.s.sim, &b), RP_OK);
    assert_int_equal(a.count, b.count);
    for (int i = 0; i < a.count; i++) {
        size_t size = a.blobs[i].type == RP_F64 || a.blobs[i].type == RP_I64 ? 8 : 4;
        assert_int_equal(a.blobs[i].count, b.blobs[i].count);
        if (memcmp(a.blobs[i].data, b.blobs[i].data, size * (size_t)a.blobs[i].count) != 0)
            fail_msg("'%s' differs", a.blobs[i].name);
    }
    rp_state_free(&a);
    rp_state_free(&b);
    pushed_end(&plain);
    pushed_end(&cancelled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_sand_stays_bounded),
        cmocka_unit_test(more_sweeps_are_never_worse),
        cmocka_unit_test(cancelled_steps_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
