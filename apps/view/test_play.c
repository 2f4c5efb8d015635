/* What `play` is made of: joints in a chain, states to go back to, tools as actions. */
#include "checkpoints.h"
#include "cmocka_test.h"
#include "controls.h"
#include "fine.h"
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

/* ---- fine grains ---- */

static const char ball_pit[] = "method: pbd\n"
                               "pbd: {radius: 3 cm}\n"
                               "domain: [0.5, 0.5, 0.6]\n"
                               "cell_size: 10 cm\n"
                               "frame_rate: 60\n"
                               "duration: 100 s\n"
                               "material: dry-sand\n"
                               "walls: {all: slip, bottom: 0.5, top: open}\n"
                               "grains: [{shape: {box: {lower: [0, 0, 0], upper: [0.5, 0.5, 0.2]}}}]\n"
                               "output: {upsample: 1 cm}\n";

static void go(rp_sim *sim, fine_grains *fine, double seconds, int *moves)
{
    double until = rp_sim_time(sim) + seconds;
    while (rp_sim_time(sim) < until) {
        bool moved;
        assert_int_equal(rp_sim_step(sim, NULL), RP_OK);
        assert_int_equal(fine_follow(fine, &moved), RP_OK);
        *moves += moved;
    }
}

/* Mean height, and the least distance of a centre from a place. */
static double look(const fine_grains *fine, const double place[3], double *nearest)
{
    wire_fine w = fine_view(fine);
    double sum = 0;
    *nearest = INFINITY;
    for (int64_t i = 0; i < w.count; i++) {
        double x = w.base[0] + (double)w.x[0][i], y = w.base[1] + (double)w.x[1][i], z = w.base[2] + (double)w.x[2][i];
        assert_true(x > -1e-6 && x < 0.5 + 1e-6 && y > -1e-6 && y < 0.5 + 1e-6 && z > -1e-6);
        sum += z;
        *nearest = fmin(*nearest, sqrt((x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]) + (z - place[2]) * (z - place[2])));
    }
    return sum / (double)w.count;
}

static void fine_grains_follow(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    fine_grains *fine = NULL;
    assert_int_equal(rp_scene_parse(ball_pit, "test", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    assert_int_equal(fine_open(scene, sim, &fine), RP_OK);
    assert_non_null(fine);
    int64_t particles = rp_sim_particle_count(sim), first = fine_view(fine).count;
    assert_true(first > 10 * particles); /* 27 of their volume */
    const double middle[3] = { 0.25, 0.25, 0.1 };
    double nearest;
    int moves = 0;
    double before = look(fine, middle, &nearest);
    go(sim, fine, 0.2, &moves);
    assert_true(moves >= 10 && moves <= 13); /* a sixtieth of a second each */
    assert_true(look(fine, middle, &nearest) < before); /* the bed settles */
    assert_true(nearest < 0.03);
    /* a body that comes later: they keep out of it */
    rp_body_def def = rp_default_body_def();
    int body;
    def.name = "ball";
    def.kind = RP_BODY_SCRIPTED;
    assert_int_equal(rp_shape_sphere((double[3]){ 0, 0, 0 }, 0.07, &def.shape), RP_OK);
    memcpy(def.position, middle, sizeof middle);
    assert_int_equal(rp_sim_add_body(sim, &def, &body), RP_OK);
    go(sim, fine, 0.1, &moves);
    look(fine, middle, &nearest);
    assert_true(nearest > 0.07 + 0.005); /* the centre of a grain of 1 cm is half of that away at least */
    /* grains that are poured bring their own; gravity may lean; back in time they are put anew */
    rp_grains_def more = rp_default_grains_def();
    int64_t added, now = fine_view(fine).count;
    assert_int_equal(rp_shape_sphere((double[3]){ 0.25, 0.25, 0.45 }, 0.07, &more.shape), RP_OK);
    assert_int_equal(rp_sim_add_grains(sim, &more, &added), RP_OK);
    assert_true(added > 0);
    fine_lean(fine, (double[3]){ 3, 0, -9 });
    go(sim, fine, 0.04, &moves);
    assert_true(fine_view(fine).count >= now + 10 * added);
    assert_int_equal(fine_reset(fine), RP_OK);
    assert_true(fine_view(fine).count > 10 * rp_sim_particle_count(sim));
    rp_shape_release(def.shape);
    rp_shape_release(more.shape);
    fine_close(fine);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(fine_grains_follow), cmocka_unit_test(joints_are_chained),
                                        cmocka_unit_test(controls_move_bodies_and_stop_at_their_ends),
                                        cmocka_unit_test(states_are_thinned_and_gone_back_to), cmocka_unit_test(tools_are_actions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
