/* Contacts of bodies: rest on the floor, Coulomb's law on inclines, stacks, rolling, momentum, joints. */
#include "body/meet.h"
#include "cmocka_test.h"

#include <math.h>
#include <string.h>

static const double lower[3] = { -5, -5, 0 }, upper[3] = { 5, 5, 10 };

typedef struct place {
    rp_surface wall[6];
    rp__body_room room;
    rp__body body[3];
    int count;
    double gravity[3], time;
} place;

static void begin(place *p, int dim, double friction)
{
    memset(p, 0, sizeof *p);
    for (int f = 0; f < 6; f++)
        p->wall[f] = (rp_surface){ RP_FRICTIONAL, friction, 0 };
    p->room = (rp__body_room){ dim, lower, upper, p->wall };
    p->gravity[dim - 1] = -9.81;
}

static rp__body *add(place *p, rp_shape *shape, double x, double y, double z, double friction)
{
    rp_body_def def = rp_default_body_def();
    def.name = "body";
    def.kind = RP_BODY_FREE;
    def.shape = shape;
    def.density = 1000;
    def.surface = (rp_surface){ RP_FRICTIONAL, friction, 0 };
    def.position[0] = x, def.position[1] = y, def.position[2] = z;
    assert_int_equal(rp__body_init(&p->body[p->count], &def, p->room.dim, 0), RP_OK);
    rp_shape_release(shape);
    return &p->body[p->count++];
}

static rp_shape *box(double x, double y, double z)
{
    double centre[3] = { 0, 0, 0 }, half[3] = { x, y, z };
    rp_shape *shape;
    assert_int_equal(rp_shape_box(centre, half, 0, &shape), RP_OK);
    return shape;
}

static rp_shape *ball(double r)
{
    double centre[3] = { 0, 0, 0 };
    rp_shape *shape;
    assert_int_equal(rp_shape_sphere(centre, r, &shape), RP_OK);
    return shape;
}

static void run(place *p, double seconds)
{
    const double dt = 0.005;
    for (double end = p->time + seconds; p->time < end - 0.5 * dt; p->time += dt) {
        for (int b = 0; b < p->count; b++)
            assert_int_equal(rp__body_begin(&p->body[b], p->time, dt, p->gravity, p->room.dim), RP_OK);
        assert_int_equal(rp__body_contacts_solve(p->body, p->count, &p->room, dt), RP_OK);
        for (int b = 0; b < p->count; b++)
            rp__body_end(&p->body[b], dt, p->room.dim);
    }
}

static void end(place *p)
{
    for (int b = 0; b < p->count; b++)
        rp__body_free(&p->body[b]);
}

static void a_box_rests_on_the_floor(void **unused)
{
    (void)unused;
    place p;
    begin(&p, 3, 0.5);
    rp__body *b = add(&p, box(0.2, 0.1, 0.1), 0, 0, 0.15, 0.5);
    run(&p, 1);
    assert_true(fabs(b->pose.position.z - 0.1) < 1e-6);
    double height = b->pose.position.z;
    run(&p, 2);
    assert_true(fabs(b->pose.position.z - height) < 1e-6);
    print_message("box: z %.6f, speed %.3g\n", height, rp__vec3_norm(b->velocity));
    assert_true(fabs(b->pose.position.x) < 1e-6);
    assert_true(rp__vec3_norm(b->velocity) < 1e-7);
    end(&p);
}

/* Gravity leans; above the friction angle a = g (sin - mu cos), below nothing moves. */
static void boxes_slide_as_coulomb_says(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++)
        for (int steep = 0; steep < 2; steep++) {
            place p;
            begin(&p, dim, 0.5);
            double angle = steep ? 0.6 : 0.4;
            rp__body *b = dim == 3 ? add(&p, box(0.2, 0.2, 0.05), -4, 0, 0.05, 0.9) : add(&p, box(0.2, 0.05, 1), -4, -4.95, 0, 0.9);
            p.gravity[0] = 9.81 * sin(angle);
            p.gravity[dim - 1] = -9.81 * cos(angle);
            run(&p, 0.2);
            double v = b->velocity.x, x = b->pose.position.x;
            run(&p, 0.5);
            double a = (b->velocity.x - v) / 0.5, exact = 9.81 * (sin(angle) - 0.5 * cos(angle));
            print_message("%dD: a / exact = %.5f, way %.3g\n", dim, a / exact, b->pose.position.x - x);
            if (steep)
                assert_true(fabs(a / exact - 1) < 1e-3);
            else
                assert_true(fabs(b->pose.position.x - x) < 1e-6);
            end(&p);
        }
}

static void stacked_boxes_rest(void **unused)
{
    (void)unused;
    place p;
    begin(&p, 3, 0.5);
    add(&p, box(0.2, 0.2, 0.1), 0, 0, 0.1, 0.5);
    add(&p, box(0.15, 0.15, 0.1), 0.02, -0.01, 0.301, 0.5);
    run(&p, 1);
    rp__vec3 x = p.body[1].pose.position;
    run(&p, 1);
    assert_true(rp__vec3_norm(rp__vec3_sub(p.body[1].pose.position, x)) < 1e-6);
    assert_true(fabs(x.z - 0.3) < 1e-5);
    end(&p);
}

/* A ball set spinning on the floor: it skids until v = 5/7 v0, whatever the friction. */
static void balls_skid_then_roll(void **unused)
{
    (void)unused;
    place p;
    begin(&p, 3, 0.3);
    rp__body *b = add(&p, ball(0.1), -4, 0, 0.1, 0.3);
    b->velocity.x = 2;
    run(&p, 1.5);
    print_message("ball: v %.4f, omega r %.4f, expected %.4f\n", b->velocity.x, 0.1 * b->omega.y, 2 * 5.0 / 7);
    assert_true(fabs(b->velocity.x / (2 * 5.0 / 7) - 1) < 2e-3);
    assert_true(fabs(b->omega.y * 0.1 / b->velocity.x - 1) < 1e-4);
    end(&p);
}

static void collisions_keep_momentum(void **unused)
{
    (void)unused;
    place p;
    begin(&p, 3, 0.3);
    memset(p.gravity, 0, sizeof p.gravity);
    add(&p, box(0.1, 0.2, 0.1), -0.5, 0, 5, 0.4);
    add(&p, ball(0.15), 0.3, 0.08, 5.02, 0.4);
    p.body[0].velocity.x = 3;
    p.body[1].velocity = rp__vec3_make(-1, 0.2, 0);
    rp__vec3 before = { 0, 0, 0 }, after = { 0, 0, 0 };
    for (int b = 0; b < 2; b++)
        before = rp__vec3_axpy(p.body[b].mass, p.body[b].velocity, before);
    run(&p, 0.5);
    for (int b = 0; b < 2; b++)
        after = rp__vec3_axpy(p.body[b].mass, p.body[b].velocity, after);
    assert_true(rp__vec3_norm(rp__vec3_sub(after, before)) < 1e-12 * rp__vec3_norm(before) + 1e-12);
    assert_true(p.body[0].velocity.x < 2);
    assert_true(rp__body_depth(p.body, 0, 1, &p.room) < 1e-3);
    assert_true(rp__body_depth(p.body, 1, 0, &p.room) < 1e-3);
    end(&p);
}

/* One on a hinge is held by the floor. */
static void joints_are_kept(void **unused)
{
    (void)unused;
    place p;
    begin(&p, 3, 0.5);
    rp__body *b = add(&p, box(0.5, 0.1, 0.05), 0.5, 0, 0.6, 0.5);
    b->def.joint = RP_JOINT_HINGE;
    b->def.joint_axis[1] = 1, b->def.joint_axis[2] = 0;
    b->def.joint_point[2] = 0.6;
    run(&p, 3);
    double depth = rp__body_depth(p.body, 0, -1 - 4, &p.room), speed = rp__vec3_norm(b->omega);
    print_message("hinge: %.3g m in the floor, turns by %.3g 1/s\n", depth, speed);
    assert_true(depth < 1e-6 && speed < 1e-6); /* its edge lies on the floor and stays there */
    rp__vec3 arm = rp__vec3_sub(b->pose.position, rp__vec3_make(0, 0, 0.6));
    assert_true(fabs(rp__vec3_norm(arm) - 0.5) < 1e-6);
    end(&p);
}

/* Visits of the contacts of three bodies, one of them on a hinge, end where the friction library does. */
static void visits_solve_what_the_library_solves(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++) {
        const int up = dim - 1;
        const double dt = 0.01;
        double at[3][3] = { { 0 } }, inverse[3 * 36], velocity[3 * 6], squares = 0;
        rp__body_meetings m = { 0 };
        place p;
        begin(&p, dim, 0.4);
        const double floor_at = dim == 2 ? lower[1] : 0, heights[3] = { 0.1, 0.3, 0.5 };
        for (int b = 0; b < 3; b++)
            at[b][0] = 0.03 * b, at[b][up] = floor_at + heights[b];
        add(&p, box(0.3, dim == 2 ? 0.1 : 0.3, 0.1), at[0][0], at[0][1], at[0][2], 0.4);
        add(&p, box(0.2, dim == 2 ? 0.1 : 0.2, 0.1), at[1][0], at[1][1], at[1][2], 0.2)->velocity.x = 0.3;
        add(&p, ball(0.1), at[2][0], at[2][1], at[2][2], 0.3)->omega.z = dim == 2 ? -2 : 0;
        p.body[0].def.joint = RP_JOINT_SLIDER;
        p.body[0].def.joint_axis[up] = 1;
        for (int b = 0; b < 3; b++) {
            assert_int_equal(rp__body_begin(&p.body[b], 0, dt, p.gravity, dim), RP_OK);
            rp__body_inverse_mass(&p.body[b], inverse + 36 * b);
            rp__vec3_store(velocity + 6 * b, p.body[b].velocity);
            rp__vec3_store(velocity + 6 * b + 3, p.body[b].omega);
        }
        assert_int_equal(rp__body_find_meetings(&m, p.body, p.count, &p.room, inverse, dt), RP_OK);
        assert_true(m.count >= 3);
        double first = rp__body_visit_meetings(&m, velocity, 0, false, &squares);
        assert_true(first > 0 && squares >= first);
        for (int k = 0; k < 10; k++)
            rp__body_settle_meetings(&m, velocity);
        assert_int_equal(rp__body_contacts_solve(p.body, p.count, &p.room, dt), RP_OK);
        for (int b = 0; b < 3; b++) {
            rp__vec3 v = rp__vec3_sub(rp__vec3_load(velocity + 6 * b), p.body[b].velocity);
            rp__vec3 w = rp__vec3_sub(rp__vec3_load(velocity + 6 * b + 3), p.body[b].omega);
            if (!(rp__vec3_norm(v) < 1e-5 && rp__vec3_norm(w) < 1e-4))
                fail_msg("%dD, body %d: velocities differ by %g m/s and %g rad/s", dim, b, rp__vec3_norm(v), rp__vec3_norm(w));
        }
        rp__body_free_meetings(&m);
        end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_rests_on_the_floor), cmocka_unit_test(boxes_slide_as_coulomb_says),
        cmocka_unit_test(stacked_boxes_rest),       cmocka_unit_test(balls_skid_then_roll),
        cmocka_unit_test(collisions_keep_momentum), cmocka_unit_test(joints_are_kept),
        cmocka_unit_test(visits_solve_what_the_library_solves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
