/* The sides of a body near a place: one of what is convex, all of an inner corner, whichever way it is turned. */
#include "body/sides.h"
#include "cmocka_test.h"

#include <math.h>

static rp__body place(rp_shape *shape, int dim)
{
    rp_body_def def = rp_default_body_def();
    rp__body body;
    def.shape = shape;
    assert_int_equal(rp__body_init(&body, &def, dim, 0), RP_OK);
    body.present = true;
    body.pose.position = rp__vec3_make(0.3, -0.2, 0.1);
    return body;
}

static rp_shape *box(double x, double y, double z)
{
    double centre[3] = { 0, 0, 0 }, half[3] = { x, y, z };
    rp_shape *shape;
    assert_int_equal(rp_shape_box(centre, half, 0, &shape), RP_OK);
    return shape;
}

/* A box with a room in it, open nowhere: from every place of the room the sides nearer than the reach are those of the room, at their distances. */
static void a_room_has_its_walls(void **unused)
{
    (void)unused;
    const double half[3] = { 0.5, 0.4, 0.3 };
    for (int dim = 2; dim <= 3; dim++) {
        rp_shape *outer = box(1, 1, dim == 2 ? 20 : 1), *inner = box(half[0], half[1], dim == 2 ? 30 : half[2]), *shape;
        assert_int_equal(rp_shape_difference(outer, inner, &shape), RP_OK);
        rp__body body = place(shape, dim);
        int most = 0;
        for (int k = 0; k < 400; k++) {
            double own[3] = { 0, 0, 0 };
            for (int a = 0; a < dim; a++)
                own[a] = half[a] * 0.98 * sin(1 + 12.9898 * k + 78.233 * a);
            body.pose.orientation = rp__quat_from_vector(rp__vec3_make(dim == 2 ? 0 : 0.3 * k, dim == 2 ? 0 : 0.7, 0.37 * k));
            rp__body_side side[RP__BODY_SIDES];
            const double reach = 0.15;
            int count = rp__body_sides(&body, &body.pose, rp__pose_apply(&body.pose, rp__vec3_load(own)), reach, dim, side), expected = 0;
            for (int a = 0; a < dim; a++)
                for (int e = -1; e <= 1; e += 2) {
                    double distance = half[a] - e * own[a], n[3] = { 0, 0, 0 };
                    n[a] = -e;
                    rp__vec3 normal = rp__quat_rotate(body.pose.orientation, rp__vec3_load(n));
                    bool found = false;
                    for (int i = 0; i < count; i++)
                        found |= rp__vec3_dot(side[i].normal, normal) > 1 - 1e-9 && fabs(side[i].distance - distance) < 1e-9;
                    assert_true(found == (distance < reach));
                    expected += distance < reach;
                }
            assert_int_equal(count, expected);
            most = count > most ? count : most;
        }
        assert_int_equal(most, dim);
        rp__body_free(&body);
        rp_shape_release(shape);
        rp_shape_release(outer);
        rp_shape_release(inner);
    }
}

/* Convex shapes have one side, at the distance and with the normal of the shape, also beside edges and from within. */
static void convex_shapes_have_one(void **unused)
{
    (void)unused;
    double zero[3] = { 0, 0, 0 }, low[3] = { -0.3, 0, 0 }, high[3] = { 0.3, 0, 0 }, axes[3] = { 0.1, 0.4, 0.2 };
    rp_shape *shape[4];
    shape[0] = box(0.3, 0.2, 0.1);
    assert_int_equal(rp_shape_sphere(zero, 0.2, &shape[1]), RP_OK);
    assert_int_equal(rp_shape_capsule(low, high, 0.1, &shape[2]), RP_OK);
    assert_int_equal(rp_shape_ellipsoid(zero, axes, &shape[3]), RP_OK);
    for (int s = 0; s < 4; s++) {
        rp__body body = place(shape[s], 3);
        body.pose.orientation = rp__quat_from_vector(rp__vec3_make(0.4, -1, 0.2));
        for (int k = 0; k < 500; k++) {
            rp__vec3 x = { 0.3 + 0.6 * sin(3.1 * k), -0.2 + 0.6 * sin(1.7 * k + 1), 0.1 + 0.6 * sin(2.3 * k + 2) }, n;
            rp__body_side side[RP__BODY_SIDES];
            double distance = rp__body_distance(&body, &body.pose, x, &n);
            int count = rp__body_sides(&body, &body.pose, x, 0.3, 3, side);
            assert_int_equal(count, distance < 0.3);
            if (count)
                assert_true(fabs(side[0].distance - distance) < 1e-12 && rp__vec3_dot(side[0].normal, n) > 1 - 1e-12);
        }
        rp__body_free(&body);
        rp_shape_release(shape[s]);
    }
}

/* A wedge of 40 degrees between two slabs: both sides count in it, one behind either slab. */
static void wedges_have_both(void **unused)
{
    (void)unused;
    rp_shape *slab = box(1, 0.01, 20), *parts[2], *shape;
    double up[3] = { 0, 0, 0 }, none[3] = { 0, 0, 0 }, turn[3] = { 0, 0, 40 * 3.14159265358979 / 180 };
    rp__body_side side[RP__BODY_SIDES];
    assert_int_equal(rp_shape_place(slab, none, turn, 1, &parts[0]), RP_OK);
    assert_int_equal(rp_shape_place(slab, up, none, 1, &parts[1]), RP_OK);
    assert_int_equal(rp_shape_union(parts, 2, &shape), RP_OK);
    rp__body body = place(shape, 2);
    body.pose = rp__pose_identity();
    for (int k = 0; k < 5; k++) { /* inside the wedge */
        double angle = (8 + 6 * k) * 3.14159265358979 / 180, far = 0.4;
        rp__vec3 x = { far * cos(angle), far * sin(angle), 0 };
        assert_int_equal(rp__body_sides(&body, &body.pose, x, 0.25, 2, side), 2);
        double below = x.y - 0.01, above = far * sin(turn[2] - angle) - 0.01;
        assert_true(fabs(fmin(side[0].distance, side[1].distance) - fmin(below, above)) < 1e-9);
        assert_true(fabs(fmax(side[0].distance, side[1].distance) - fmax(below, above)) < 1e-9);
    }
    /* below the lower slab, above the upper one */
    assert_int_equal(rp__body_sides(&body, &body.pose, rp__vec3_make(0.5, -0.06, 0), 0.25, 2, side), 1);
    assert_int_equal(rp__body_sides(&body, &body.pose, rp__vec3_make(0.4, 0.42, 0), 0.25, 2, side), 1);
    rp__body_free(&body);
    rp_shape_release(shape);
    rp_shape_release(parts[0]);
    rp_shape_release(parts[1]);
    rp_shape_release(slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_room_has_its_walls), cmocka_unit_test(convex_shapes_have_one),
                                        cmocka_unit_test(wedges_have_both) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
