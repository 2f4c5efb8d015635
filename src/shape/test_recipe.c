/* Shapes written down and read back are the same to the bit. */
#include "cmocka_test.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <repose/shape.h>
#include <string.h>

static rp_shape *read_back(const rp_shape *shape)
{
    rp__text text = { 0 };
    assert_int_equal(rp__shape_write(shape, &text), RP_OK);
    rp__json json = rp__json_open(text.data, (size_t)text.length);
    rp_shape *again = NULL;
    assert_int_equal(rp__shape_read(&json, &again), RP_OK);
    assert_int_equal(rp__json_finish(&json), RP_OK);
    rp__text_free(&text);
    return again;
}

static void every_kind_comes_back(void **unused)
{
    (void)unused;
    const double a[3] = { 0.1, -1.0 / 3, 0.2 }, b[3] = { 0.5, 0.4, 1.0 / 7 }, half[3] = { 0.2, INFINITY, 0.3 };
    rp_shape *s[16] = { 0 };
    int n = 0;
    assert_int_equal(rp_shape_plane(a, b, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_box(a, half, 0.05, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_sphere(b, 0.3, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_cylinder(a, b, 0.2, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_capsule(a, b, 0.2, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_cone(a, b, 0.2, 0, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_torus(a, b, 0.4, 0.1, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_ellipsoid(a, (const double[3]){ 0.1, 0.2, 0.3 }, &s[n++]), RP_OK);
    assert_int_equal(rp_shape_union(s + 2, 3, &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_intersection(s + 1, 2, &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_difference(s[2], s[3], &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_offset(s[8], 0.01, &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_shell(s[2], 0.02, &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_complement(s[10], &s[n]), RP_OK), n++;
    assert_int_equal(rp_shape_place(s[11], b, a, 1.5, &s[n]), RP_OK), n++;
    for (int k = 0; k < n; k++) {
        rp_shape *again = read_back(s[k]);
        for (int i = 0; i < 200; i++) {
            const double x[3] = { 0.013 * i - 1, 0.7 * sin(i), 0.5 * cos(3 * i) };
            assert_true(rp_shape_distance(s[k], x, NULL) == rp_shape_distance(again, x, NULL));
        }
        rp_shape_release(again);
    }
    for (int k = 0; k < n; k++)
        rp_shape_release(s[k]);
}

static void refuses(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *word;
    } cases[] = {
        { "{}", "no shape ''" },
        { "{\"shape\":\"spher\",\"numbers\":[0,0,0,1]}", "did you mean 'sphere'" },
        { "{\"shape\":\"sphere\",\"numbers\":[0,0,0]}", "needs 4 numbers" },
        { "{\"shape\":\"sphere\",\"numbers\":[0,0,0,1,1,1,1,1,1,1]}", "needs 4 numbers" },
        { "{\"shape\":\"sphere\",\"numbers\":[0,0,0,-1]}", "greater than 0" },
        { "{\"shape\":\"offset\",\"numbers\":[1]}", "1 shapes" },
        { "{\"shape\":\"union\"}", "some shapes" },
        { "{\"shape\":\"union\",\"of\":[{\"shape\":\"sphere\",\"numbers\":[0,0,0,1]},7]}", "object" },
        { "{\"shape\":\"sphere\",\"size\":1}", "no \"size\"" },
        { "{\"shape\":\"mesh\",\"path\":\"/nowhere/at/all.obj\",\"numbers\":[1]}", "all.obj" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp__json json = rp__json_open(cases[i].text, strlen(cases[i].text));
        rp_shape *shape = NULL;
        assert_int_not_equal(rp__shape_read(&json, &shape), RP_OK);
        assert_null(shape);
        if (!strstr(rp_last_error(), cases[i].word))
            fail_msg("'%s' gives '%s', not '%s'", cases[i].text, rp_last_error(), cases[i].word);
    }
    char deep[4096] = "";
    for (int i = 0; i < 60; i++)
        strcat(deep, "{\"shape\":\"complement\",\"of\":[");
    rp__json json = rp__json_open(deep, strlen(deep));
    rp_shape *shape = NULL;
    assert_int_not_equal(rp__shape_read(&json, &shape), RP_OK);
    assert_non_null(strstr(rp_last_error(), "deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_kind_comes_back), cmocka_unit_test(refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
