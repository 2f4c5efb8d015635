/* Bodies: free fall, hinges and motors, spinning, scripted velocities, checkpoint. */
#include "body/body.h"
#include "cmocka_test.h"

#include <math.h>
#include <string.h>

static const double gravity[3] = { 0, 0, -9.81 };

static rp_body_def box_def(rp_shape **shape, double x, double y, double z)
{
    rp_body_def def = rp_default_body_def();
    double centre[3] = { 0, 0, 0 }, half[3] = { x, y, z };
    assert_int_equal(rp_shape_box(centre, half, 0, shape), RP_OK);
    def.name = "box";
    def.shape = *shape;
    def.kind = RP_BODY_FREE;
    def.density = 1000;
    return def;
}

static void has_the_mass_of_its_shape(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.2, 0.3);
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    assert_true(fabs(body.mass / 48 - 1) < 0.01);
    double exact = 48.0 / 12 * (0.4 * 0.4 + 0.6 * 0.6);
    assert_true(fabs(body.inertia_local.m[0][0] / exact - 1) < 0.02);
    rp__body_free(&body);
    rp_shape_release(shape);
}

static void falls(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.1, 0.1);
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    for (int k = 0; k < 100; k++) {
        assert_int_equal(rp__body_begin(&body, 0.01 * k, 0.01, gravity, 3), RP_OK);
        rp__body_end(&body, 0.01, 3);
    }
    assert_true(fabs(body.velocity.z + 9.81) < 1e-9);
    assert_true(fabs(body.pose.position.z + 0.5 * 9.81 * 1.01) < 1e-6); /* symplectic Euler: g t (t + dt) / 2 */
    rp__body_free(&body);
    rp_shape_release(shape);
}

/* A pendulum keeps its length to rounding; its period for small swings is 2 pi sqrt(I / (m g l)). */
static void swings_on_a_hinge(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.05, 0.05, 0.05);
    def.joint = RP_JOINT_HINGE;
    def.joint_axis[0] = 0, def.joint_axis[1] = 1, def.joint_axis[2] = 0;
    def.position[0] = 1 * sin(0.05);
    def.position[2] = -1 * cos(0.05);
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    double dt = 1e-3, t = 0, last = body.pose.position.x, crossing[2] = { 0, 0 };
    int found = 0;
    while (found < 2 && t < 10) {
        assert_int_equal(rp__body_begin(&body, t, dt, gravity, 3), RP_OK);
        rp__body_end(&body, dt, 3);
        t += dt;
        double x = body.pose.position.x;
        if (last > 0 && x <= 0)
            crossing[found++] = t - dt * x / (x - last);
        last = x;
        assert_true(fabs(rp__vec3_norm(body.pose.position) - 1) < 1e-9);
    }
    double inertia = 1 + (0.1 * 0.1 + 0.1 * 0.1) / 12, period = 2 * 3.14159265358979 * sqrt(inertia / 9.81);
    assert_true(fabs((crossing[1] - crossing[0]) / period - 1) < 2e-3);
    rp__body_free(&body);
    rp_shape_release(shape);
}

/* Torque on a hinge: alpha = torque / I; a speed motor holds its speed against an impulse. */
static void motors_drive(void **unused)
{
    (void)unused;
    const double none[3] = { 0, 0, 0 };
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.1, 0.1);
    def.joint = RP_JOINT_HINGE;
    def.motor = RP_MOTOR_FORCE;
    def.motor_value = 2;
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    for (int k = 0; k < 10; k++) {
        assert_int_equal(rp__body_begin(&body, 0.1 * k, 0.1, none, 3), RP_OK);
        rp__body_end(&body, 0.1, 3);
    }
    double inertia = body.inertia_local.m[2][2];
    assert_true(fabs(body.omega.z - 2 / inertia) < 1e-9);
    rp__body_free(&body);

    def.motor = RP_MOTOR_SPEED;
    def.motor_value = 3;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    assert_int_equal(rp__body_begin(&body, 0, 0.1, none, 3), RP_OK);
    rp__body_apply(&body, rp__vec3_make(5, 0, 0), rp__vec3_make(0, 0, -50));
    assert_true(fabs(body.omega.z - 3) < 1e-12);
    assert_true(rp__vec3_norm(body.velocity) < 1e-12);
    rp__body_free(&body);
    rp_shape_release(shape);
}

/* W of a free body and of a hinged one: symmetric; the hinge lets only its own rotation through. */
static void inverse_mass_obeys_joints(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.2, 0.3);
    def.rotation[0] = 0.4, def.rotation[1] = -0.9;
    def.joint_point[0] = 0.5;
    double w[36];
    for (int joint = RP_JOINT_NONE; joint <= RP_JOINT_SLIDER; joint++) {
        def.joint = joint;
        rp__body body;
        assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
        rp__body_inverse_mass(&body, w);
        double trace = 0;
        for (int i = 0; i < 6; i++) {
            trace += w[7 * i];
            for (int j = 0; j < 6; j++)
                assert_true(fabs(w[6 * i + j] - w[6 * j + i]) < 1e-12);
        }
        assert_true(joint == RP_JOINT_FIXED ? trace == 0 : trace > 0);
        if (joint == RP_JOINT_HINGE) { /* the pivot does not move, whatever the impulse */
            rp__body_apply(&body, rp__vec3_make(1, 2, 3), rp__vec3_make(-1, 0.5, 2));
            assert_true(rp__vec3_norm(rp__body_velocity_at(&body, rp__vec3_make(0.5, 0, 0))) < 1e-12);
            assert_true(fabs(body.omega.z) > 1e-3);
        }
        rp__body_free(&body);
    }
    rp_shape_release(shape);
}

/* The velocity of a scripted body is the difference of its poses. */
static void scripts_give_velocities(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.1, 0.1);
    def.kind = RP_BODY_SCRIPTED;
    rp_keyframe keys[2] = { { 0, { 0, 0, 0 }, { 0, 0, 0 } }, { 2, { 4, 0, 0 }, { 0, 0, 3 } } };
    rp_motion *motion;
    assert_int_equal(rp_motion_keyframes(keys, 2, RP_LINEAR, &motion), RP_OK);
    def.motion = motion;
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    assert_int_equal(rp__body_begin(&body, 0, 0.25, gravity, 3), RP_OK);
    assert_true(fabs(body.velocity.x - 2) < 1e-12);
    assert_true(fabs(body.omega.z - 1.5) < 1e-12);
    rp__body_end(&body, 0.25, 3);
    assert_true(fabs(body.pose.position.x - 0.5) < 1e-12);
    rp__body_free(&body);
    rp_motion_release(motion);
    rp_shape_release(shape);
}

/* A body that turns half way round about a point beside it takes its places with it: each arrives where the pose of the end has it, at its
 * distance from the surface, which v + omega × arm misses by far. The nearest image of it carries what is beyond a periodic face. */
static void places_are_carried(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.2, 0.3);
    def.kind = RP_BODY_SCRIPTED;
    rp_keyframe keys[2] = { { 0, { 0.5, 0, 0 }, { 0, 0, 0 } }, { 1, { -0.3, 0.1, 0 }, { 0, 0, 3 } } };
    rp_motion *motion;
    assert_int_equal(rp_motion_keyframes(keys, 2, RP_LINEAR, &motion), RP_OK);
    def.motion = motion;
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_OK);
    assert_int_equal(rp__body_begin(&body, 0, 1, gravity, 3), RP_OK);
    const rp__vec3 x = { 0.65, 0.05, 0.1 };
    rp__vec3 end = rp__body_carried(&body, x, 1), turned = { -0.3 + 0.15 * cos(3) - 0.05 * sin(3), 0.1 + 0.15 * sin(3) + 0.05 * cos(3), 0.1 };
    assert_true(rp__vec3_norm(rp__vec3_sub(end, turned)) < 1e-12);
    double before = rp__body_distance(&body, &body.pose, x, NULL);
    assert_true(fabs(rp__body_distance(&body, &body.pose_next, end, NULL) - before) < 1e-12);
    rp__vec3 straight = rp__vec3_add(x, rp__body_velocity_at(&body, x));
    assert_true(fabs(rp__body_distance(&body, &body.pose_next, straight, NULL) - before) > 0.1);
    rp__vec3 mean = rp__vec3_add(body.velocity, rp__vec3_cross(body.omega, rp__body_mean_arm(&body, x, 1)));
    assert_true(rp__vec3_norm(rp__vec3_sub(mean, rp__vec3_sub(end, x))) < 1e-9);
    rp_sim_def room = rp_default_sim_def();
    room.dim = 3;
    room.upper[0] = 4, room.upper[1] = room.upper[2] = 2;
    room.wall[0].kind = room.wall[1].kind = RP_PERIODIC;
    rp__body_repeat(&body, &room);
    rp__vec3 image = rp__body_carried(&body, rp__vec3_add(x, rp__vec3_make(4, 0, 0)), 1);
    assert_true(rp__vec3_norm(rp__vec3_sub(image, rp__vec3_add(end, rp__vec3_make(4, 0, 0)))) < 1e-12);
    rp__body_free(&body);
    rp_motion_release(motion);
    rp_shape_release(shape);
}

static void weightless_bodies_are_refused(void **unused)
{
    (void)unused;
    rp_shape *shape;
    rp_body_def def = box_def(&shape, 0.1, 0.1, 0.1);
    def.density = 0;
    rp__body body;
    assert_int_equal(rp__body_init(&body, &def, 3, 0), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "mass"));
    rp_shape_release(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_mass_of_its_shape), cmocka_unit_test(falls),
        cmocka_unit_test(swings_on_a_hinge),         cmocka_unit_test(motors_drive),
        cmocka_unit_test(inverse_mass_obeys_joints), cmocka_unit_test(scripts_give_velocities),
        cmocka_unit_test(places_are_carried),        cmocka_unit_test(weightless_bodies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
