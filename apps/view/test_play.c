/* What `play` is made of: joints in a chain, states to go back to, tools as actions. */
#include "checkpoints.h"
#include "cmocka_test.h"
#include "controls.h"
#include "tools.h"

#include <math.h>
#include <string.h>

static const char text[] = "method: ballistic\n"
                           "domain: [1, 1, 1]\n"
                           "cell_size: 10 cm\n"
                           "frame_rate: 50\n"
                           "duration: 100 s\n"
                           "material: dry-sand\n"
                           "walls: {all: slip, bottom: 0.5}\n"
                           "grains: [{shape: {box: {lower: [0, 0, 0], upper: [1, 1, 0.2]}}, per_cell: 4}]\n"
                           "bodies:\n"
                           "  - {name: boom, shape: {box: {lower: [0, -0.02, -0.02], upper: [0.3, 0.02, 0.02]}}, position: [0.1, 0.5, 0.6]}\n"
                           "  - {name: arm, shape: {box: {lower: [0, -0.02, -0.02], upper: [0.2, 0.02, 0.02]}}, position: [0.4, 0.5, 0.6]}\n"
                           "controls:\n"
                           "  - {name: boom, body: boom, axis: [0, -2, 0], point: [0.1, 0.5, 0.6], rate: 0.5, most: 0.4, least: -0.4}\n"
                           "  - {name: arm, parent: boom, body: arm, axis: [0, -1, 0], point: [0.4, 0.5, 0.6], rate: 1}\n"
                           "  - {name: out, parent: arm, body: arm, kind: slide, axis: [1, 0, 0], rate: 0.1}\n";

typedef struct fixture {
    rp_scene *scene;
    rp_sim *sim;
} fixture;

static fixture make(void)
{
    fixture f = { NULL, NULL };
    assert_int_equal(rp_scene_parse(text, "test", NULL, NULL, &f.scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(f.scene), &f.sim), RP_OK);
    return f;
}

static void done(fixture *f)
{
    rp_sim_destroy(f->sim);
    rp_scene_destroy(f->scene);
}

/* A plane arm of two links: tips by trigonometry. */
static void joints_are_chained(void **state)
{
    (void)state;
    fixture f = make();
    controls c;
    double p[3], q[4];
    assert_int_equal(controls_init(&c, f.scene, f.sim), RP_OK);
    assert_int_equal(c.count, 3);
    for (int k = 0; k < 3; k++) {
        controls_pose(&c, k, p, q);
        assert_memory_equal(p, c.first[k].position, sizeof p);
    }
    double b = 0.3, a = -0.7, s = 0.05;
    c.item[0].place = b, c.item[1].place = a, c.item[2].place = s;
    controls_pose(&c, 0, p, q);
    assert_true(fabs(p[0] - 0.1) < 1e-15 && fabs(q[2] + sin(0.5 * b)) < 1e-15);
    controls_pose(&c, 2, p, q); /* the arm: at the end of the boom, turned by both, pushed out along itself */
    assert_true(fabs(p[0] - (0.1 + 0.3 * cos(b) + s * cos(a + b))) < 1e-14);
    assert_true(fabs(p[2] - (0.6 + 0.3 * sin(b) + s * sin(a + b))) < 1e-14);
    assert_true(fabs(p[1] - 0.5) < 1e-15);
    assert_true(fabs(q[0] - cos(0.5 * (a + b))) < 1e-15 && fabs(q[2] + sin(0.5 * (a + b))) < 1e-15);
    controls_free(&c);
    done(&f);
}

static void controls_move_bodies_and_stop_at_their_ends(void **state)
{
    (void)state;
    fixture f = make();
    controls c;
    rp_body_state s;
    assert_int_equal(controls_init(&c, f.scene, f.sim), RP_OK);
    controls_set(&c, 0, 7); /* held to 1 */
    controls_set(&c, 99, 1);
    controls_set(&c, -1, 1);
    double before = 0;
    for (int k = 0; k < 200; k++) {
        assert_int_equal(controls_apply(&c), RP_OK);
        assert_int_equal(rp_sim_step(f.sim, NULL), RP_OK);
        double p[3], q[4];
        controls_pose(&c, 2, p, q);
        assert_int_equal(rp_sim_body(f.sim, 1, &s), RP_OK);
        for (int d = 0; d < 3; d++) /* the body is where its joints say */
            assert_true(fabs(s.position[d] - p[d]) < 1e-9);
        assert_true(c.item[0].place >= before && c.item[0].place <= 0.4);
        if (rp_sim_time(f.sim) < 0.79)
            assert_true(fabs(c.item[0].place - 0.5 * rp_sim_time(f.sim)) < 1e-9); /* at its rate */
        before = c.item[0].place;
    }
    assert_true(c.item[0].place == 0.4);
    controls_free(&c);
    done(&f);
}

static void states_are_thinned_and_gone_back_to(void **state)
{
    (void)state;
    fixture f = make();
    checkpoints c;
    controls joints;
    checkpoints_init(&c, (size_t)1 << 30);
    assert_int_equal(controls_init(&joints, f.scene, f.sim), RP_OK);
    assert_int_equal(checkpoints_keep(&c, f.sim), RP_OK);
    controls_set(&joints, 1, 1);
    double place_at_20 = 0, x_at_20[3] = { 0 };
    while (rp_sim_frame(f.sim) < 250) {
        assert_int_equal(controls_apply(&joints), RP_OK);
        assert_int_equal(rp_sim_step(f.sim, NULL), RP_OK);
        if (rp_sim_at_frame(f.sim))
            assert_int_equal(checkpoints_keep(&c, f.sim), RP_OK);
        if (rp_sim_frame(f.sim) == 20 && rp_sim_at_frame(f.sim)) {
            rp_body_state s;
            assert_int_equal(rp_sim_body(f.sim, 1, &s), RP_OK);
            memcpy(x_at_20, s.orientation, sizeof x_at_20);
            place_at_20 = joints.item[1].place;
        }
    }
    assert_true(c.count > 40 && c.count <= CHECKPOINTS_MOST && c.frame[0] == 0);
    assert_int_equal(checkpoints_go_back(&c, f.sim, 21), RP_OK);
    assert_int_equal(rp_sim_frame(f.sim), 20);
    assert_int_equal(c.frame[c.count - 1], 20);
    controls_reset(&joints);
    assert_true(joints.item[1].place == place_at_20 && place_at_20 > 0.3);
    rp_body_state s;
    assert_int_equal(rp_sim_body(f.sim, 1, &s), RP_OK);
    assert_memory_equal(x_at_20, s.orientation, sizeof x_at_20);
    assert_int_equal(checkpoints_go_back(&c, f.sim, 0), RP_OK);
    assert_int_equal(rp_sim_steps(f.sim), 0);
    assert_int_equal(strlen(rp_sim_journal(f.sim)), 0);
    checkpoints_free(&c);
    assert_true(c.bytes == 0);
    controls_free(&joints);
    done(&f);
}

static void tools_are_actions(void **state)
{
    (void)state;
    fixture f = make();
    rp_frame frame;
    rp_stage stage;
    tools t;
    assert_int_equal(rp_frame_collect(f.sim, "", &frame), RP_OK);
    assert_int_equal(rp_stage_make(f.scene, &frame, 640, 360, &stage), RP_OK);
    rp_frame_free(&frame);
    tools_init(&t, f.sim, &stage);
    int64_t grains = rp_sim_particle_count(f.sim);
    for (int kind = TOOL_HAND; kind < TOOL_KINDS; kind++)
        for (int again = 0; again < 3; again++) {
            message m = { .kind = MESSAGE_TOOL, .position = { 0.5, 0.5, 0.4 }, .across = { 0, 1, 0 }, .size = 1, .down = true };
            strcpy(m.field, tool_name((tool_kind)kind));
            tools_message(&t, &m);
            for (int k = 0; k < 60; k++) {
                assert_int_equal(tools_apply(&t), RP_OK);
                assert_int_equal(rp_sim_step(f.sim, NULL), RP_OK);
            }
            rp_body_state s;
            if (kind != TOOL_SPOUT) {
                assert_int_equal(rp_sim_body(f.sim, t.body[kind], &s), RP_OK);
                for (int d = 0; d < 3; d++)
                    assert_true(fabs(s.position[d] - m.position[d]) < 2e-3 * t.unit + 1e-9);
                assert_true(fabs(s.orientation[0] - sqrt(0.5)) < 0.01 && fabs(s.orientation[3] - sqrt(0.5)) < 0.01); /* across y */
            }
            m.down = false;
            tools_message(&t, &m);
            assert_int_equal(tools_apply(&t), RP_OK);
            if (kind != TOOL_SPOUT) {
                assert_int_equal(rp_sim_body(f.sim, t.body[kind], &s), RP_OK);
                assert_true(s.position[2] < -1); /* out of the way */
            }
        }
    assert_int_equal(rp_sim_body_count(f.sim), 2 + 3); /* one a tool, however often it is used */
    assert_true(rp_sim_particle_count(f.sim) > grains);
    assert_non_null(strstr(rp_sim_journal(f.sim), "body_add"));
    assert_non_null(strstr(rp_sim_journal(f.sim), "grains_add"));
    rp_stage_free(&stage);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(joints_are_chained), cmocka_unit_test(controls_move_bodies_and_stop_at_their_ends),
                                        cmocka_unit_test(states_are_thinned_and_gone_back_to), cmocka_unit_test(tools_are_actions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
