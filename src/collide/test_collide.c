/* Pairs against all pairs, nearest points against many tries, crossings, memory. */
#include "base/memory.h"
#include "collide/collide.h"
#include "math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void random_boxes(rp__collide_box *boxes, int count, uint64_t seed, double size)
{
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 3; a++) {
            double w = size * rp__random_unit(seed, 1, (uint64_t)(3 * i + a)) * (i % 50 == 0 ? 20 : 1);
            boxes[i].lower[a] = rp__random_unit(seed, 2, (uint64_t)(3 * i + a)) - 0.5;
            boxes[i].upper[a] = boxes[i].lower[a] + w;
        }
}

static bool meets(const rp__collide_box *a, const rp__collide_box *b, const double move[3])
{
    for (int k = 0; k < 3; k++)
        if (!(a->lower[k] <= b->upper[k] + move[k] && b->lower[k] + move[k] <= a->upper[k]))
            return false;
    return true;
}

static void compare_with_all(int count, double size, const rp__collide_room *room)
{
    rp__collide_box *boxes = RP_NEW_ARRAY(rp__collide_box, count);
    random_boxes(boxes, count, 3, size);
    rp__collide_grid *grid = NULL;
    const rp__collide_pair *pairs;
    int64_t found, k = 0;
    assert_int_equal(rp__collide_grid_create(&grid), RP_OK);
    assert_int_equal(rp__collide_grid_pairs(grid, boxes, count, room, NULL, NULL, &pairs, &found), RP_OK);
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            for (int s = 0; s < (room ? 27 : 1); s++) {
                int8_t shift[3] = { (int8_t)(s % 3), (int8_t)(s / 3 % 3), (int8_t)(s / 9) };
                double move[3] = { 0, 0, 0 };
                for (int a = 0; a < 3; a++) {
                    shift[a] = (int8_t)(shift[a] == 2 ? -1 : shift[a]);
                    move[a] = room ? shift[a] * room->period[a] : 0;
                }
                bool real = true;
                for (int a = 0; a < 3; a++)
                    real = real && (shift[a] == 0 || room->period[a] > 0);
                if (!real || !meets(&boxes[i], &boxes[j], move))
                    continue;
                assert_true(k < found && pairs[k].a == i && pairs[k].b == j);
                /* those of one pair come in some order of their shifts */
                bool there = false;
                for (int64_t m = k; m >= 0 && pairs[m].a == i && pairs[m].b == j; m--)
                    there = there || memcmp(pairs[m].shift, shift, 3) == 0;
                for (int64_t m = k; m < found && pairs[m].a == i && pairs[m].b == j; m++)
                    there = there || memcmp(pairs[m].shift, shift, 3) == 0;
                assert_true(there);
                k++;
            }
    assert_int_equal(k, found);
    assert_true(found > 5);
    rp__collide_grid_destroy(grid);
    rp__base_free(boxes);
}

static void test_pairs(void **state)
{
    (void)state;
    compare_with_all(400, 0.08, NULL);
    compare_with_all(300, 0.02, NULL); /* a few boxes are far larger than the cells */
    rp__collide_room room = { { -0.5, -0.5, -0.5 }, { 1, 1, 0 } };
    compare_with_all(300, 0.02, &room);
}

static void test_nearest_points(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 60; k++) {
        rp__vec3 x[4];
        for (uint64_t i = 0; i < 4; i++)
            x[i] = rp__random_in_ball(5, i, k);
        if (k % 5 == 0)
            x[1] = x[0];
        if (k % 7 == 0)
            x[3] = rp__vec3_add(x[2], rp__vec3_sub(x[1], x[0])); /* parallel */
        double s, t, mine = rp__collide_segments(x[0], x[1], x[2], x[3], &s, &t), tried = rp__collide_segments_ref(x[0], x[1], x[2], x[3]);
        assert_true(mine < tried + 1e-12 && sqrt(mine) > sqrt(tried) - 0.02);
        assert_true(s >= 0 && s <= 1 && t >= 0 && t <= 1);
    }
}

static void test_parallel_capsules_touch_twice(void **state)
{
    (void)state;
    rp__collide_capsule a = { { 0, 0, 0 }, { 1, 0, 0 }, 0.1 }, b = { { 0.3, 0.21, 0 }, { 1.7, 0.21, 0.01 }, 0.1 };
    rp__collide_touch t[2];
    assert_int_equal(rp__collide_capsules(&a, &b, 0.05, t), 2);
    assert_true(fabs(t[0].on_a.x - 0.3) < 0.01 && fabs(t[1].on_a.x - 1) < 1e-12);
    assert_true(fabs(t[0].gap - 0.01) < 1e-3 && t[0].normal.y < -0.99);
    b.q = rp__vec3_make(0.3, 1, 0.3); /* at an angle: once */
    assert_int_equal(rp__collide_capsules(&a, &b, 0.05, t), 1);
    assert_int_equal(rp__collide_capsules(&a, &b, 0.005, t), 0);
    rp__collide_capsule p = { { 0, 0, 0 }, { 0, 0, 0 }, 1 }; /* two spheres in one place: some normal, no NaN */
    assert_int_equal(rp__collide_capsules(&p, &p, 0.1, t), 1);
    assert_true(fabs(rp__vec3_norm(t[0].normal) - 1) < 1e-12 && fabs(t[0].gap + 2) < 1e-12);
}

static void test_crossings(void **state)
{
    (void)state;
    rp__vec3 p1[2] = { { -1, 0, 1 }, { -1, 0, -3 } }, q1[2] = { { 1, 0, 1 }, { 1, 0, -3 } };
    rp__vec3 p2[2] = { { 0, -1, 0 }, { 0, -1, 0 } }, q2[2] = { { 0, 1, 0 }, { 0, 1, 0 } };
    double t = -1;
    assert_true(rp__collide_crossing(p1, q1, p2, q2, &t));
    assert_true(fabs(t - 0.25) < 1e-9);
    rp__vec3 aside1[2] = { { 2, -1, 0 }, { 2, -1, 0 } }, aside2[2] = { { 2, 1, 0 }, { 2, 1, 0 } };
    assert_false(rp__collide_crossing(p1, q1, aside1, aside2, &t)); /* their planes cross, they do not */
    rp__vec3 up[2] = { { -1, 0, 1 }, { -1, 0, 0.5 } }, up2[2] = { { 1, 0, 1 }, { 1, 0, 0.5 } };
    assert_false(rp__collide_crossing(up, up2, p2, q2, &t));
    /* one that turns while it passes */
    rp__vec3 turn1[2] = { { -1, 0.3, 1 }, { 0.3, -1, -1 } }, turn2[2] = { { 1, -0.2, 1.2 }, { -0.1, 1, -0.7 } };
    assert_true(rp__collide_crossing(turn1, turn2, p2, q2, &t) == (t > 0 && t < 1));
    rp__collide_capsule a = { p1[0], q1[0], 0.01 }, b = { p2[0], q2[0], 0.01 }, below = { p1[1], q1[1], 0.01 };
    assert_int_equal(rp__collide_side(&a, &b), -rp__collide_side(&below, &b));
    assert_int_not_equal(rp__collide_side(&a, &b), 0);
}

static void test_memory(void **state)
{
    (void)state;
    rp__collide_record records[100];
    for (uint64_t i = 0; i < 100; i++)
        records[i] = (rp__collide_record){ { i / 10, i % 10 * 3, i % 2 }, { (double)i, 0, 0 }, { 0 }, 0 };
    for (uint64_t i = 0; i < 100; i++) {
        const rp__collide_record *r = rp__collide_find(records, 100, &records[i].key);
        assert_non_null(r);
        assert_true(r->impulse[0] == (double)i);
    }
    assert_null(rp__collide_find(records, 100, &(rp__collide_key){ 3, 4, 0 }));
    assert_null(rp__collide_find(records, 0, &(rp__collide_key){ 3, 4, 0 }));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    rp__collide_box boxes[40];
    random_boxes(boxes, 40, 8, 0.3);
    for (int nth = 1; nth < 100; nth++) {
        rp__collide_grid *grid = NULL;
        const rp__collide_pair *pairs;
        int64_t count;
        rp__base_fail_allocation(nth);
        rp_result result = rp__collide_grid_create(&grid);
        if (result == RP_OK)
            result = rp__collide_grid_pairs(grid, boxes, 40, NULL, NULL, NULL, &pairs, &count);
        rp__base_fail_allocation(0);
        rp__collide_grid_destroy(grid);
        if (result == RP_OK)
            return;
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail_msg("never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_nearest_points), cmocka_unit_test(test_parallel_capsules_touch_twice),
        cmocka_unit_test(test_crossings), cmocka_unit_test(test_memory),         cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
