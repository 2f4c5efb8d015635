/* Places outside of several bodies at once: in the crease of two that cross, out of the gap of two that face each other, beside walls. */
#include "body/room.h"
#include "cmocka_test.h"

#include <math.h>

enum { MOST = 3 };

typedef struct crowd {
    rp__body body[MOST];
    rp_shape *shape[MOST];
    int count;
    rp_sim_def def;
} crowd;

static void add_box(crowd *c, double x, double y, double half_x, double half_y, double turn)
{
    rp_body_def def = rp_default_body_def();
    double centre[3] = { 0, 0, 0 }, half[3] = { half_x, half_y, 1 };
    assert_int_equal(rp_shape_box(centre, half, 0, &c->shape[c->count]), RP_OK);
    def.shape = c->shape[c->count];
    rp__body *body = &c->body[c->count++];
    assert_int_equal(rp__body_init(body, &def, 2, 0), RP_OK);
    body->present = true;
    body->pose.position = rp__vec3_make(x, y, 0);
    body->pose.orientation = rp__quat_from_vector(rp__vec3_make(0, 0, turn));
    body->pose_next = body->pose;
}

static crowd empty(void)
{
    crowd c = { .def = rp_default_sim_def() };
    c.def.dim = 2, c.def.cell_size = 0.1;
    for (int a = 0; a < 3; a++)
        c.def.lower[a] = 0, c.def.upper[a] = 2;
    return c;
}

static void release(crowd *c)
{
    for (int b = 0; b < c->count; b++) {
        rp__body_free(&c->body[b]);
        rp_shape_release(c->shape[b]);
    }
}

/* From points all over a box, also ones that are in two bodies: every place found is outside of all and within the walls, and no farther than `far`. */
static void expect_room(const crowd *c, double far)
{
    rp__body_room room = rp__body_room_of(&c->def, c->body, c->count);
    double most = 0;
    for (int k = 0; k < 41 * 41; k++) {
        rp__vec3 from = rp__vec3_make(0.6 + 0.02 * (k % 41), 0.6 + 0.02 * (k / 41), 0), x = from;
        assert_true(rp__body_room_find(&room, &x));
        if (rp__body_room_clearance(&room, x) < -1e-12)
            fail_msg("(%g, %g) is %g m inside", x.x, x.y, -rp__body_room_clearance(&room, x));
        most = fmax(most, rp__vec3_norm(rp__vec3_sub(x, from)));
        if (rp__body_room_clearance(&room, from) >= 0)
            assert_true(x.x == from.x && x.y == from.y);
    }
    print_message("farthest: %g m\n", most);
    assert_true(most <= far);
}

static void crossing_bodies_have_creases(void **unused)
{
    (void)unused;
    crowd c = empty();
    add_box(&c, 1, 1, 0.3, 0.1, 0.2);
    add_box(&c, 1, 1, 0.1, 0.3, -0.1);
    add_box(&c, 1.05, 1.02, 0.25, 0.08, 0.9);
    expect_room(&c, 0.35);
    release(&c);
}

/* Two slabs that overlap by a little: between them there is nothing, and the way out is along them. */
static void facing_bodies_press_grains_out(void **unused)
{
    (void)unused;
    crowd c = empty();
    add_box(&c, 1, 0.89, 0.2, 0.12, 0);
    add_box(&c, 1, 1.11, 0.2, 0.12, 0);
    expect_room(&c, 0.35);
    release(&c);
}

static void walls_count(void **unused)
{
    (void)unused;
    crowd c = empty();
    c.def.lower[1] = 0.9;
    c.def.wall[2].kind = RP_SLIP;
    add_box(&c, 1, 0.95, 0.2, 0.1, 0.1); /* through the floor: below it there is no room */
    expect_room(&c, 0.45);
    release(&c);
}

/* Nothing within reach: said, and the place stays. */
static void no_room_is_said(void **unused)
{
    (void)unused;
    crowd c = empty();
    add_box(&c, 1, 1, 5, 0.9, 0);
    c.def.lower[1] = 0.5, c.def.upper[1] = 1.5;
    rp__body_room room = rp__body_room_of(&c.def, c.body, c.count);
    rp__vec3 x = rp__vec3_make(1, 1, 0);
    assert_false(rp__body_room_find(&room, &x));
    assert_true(x.x == 1 && x.y == 1);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(crossing_bodies_have_creases), cmocka_unit_test(facing_bodies_press_grains_out),
                                        cmocka_unit_test(walls_count), cmocka_unit_test(no_room_is_said) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
