/* Keyframes, scripts and what scripts may not do. */
#include "base/memory.h"
#include "exec/exec.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static rp__pose pose_at(const rp_motion *m, double t)
{
    rp__pose p;
    assert_int_equal(rp__motion_pose_at(m, t, &p), RP_OK);
    return p;
}

static bool near3(rp__vec3 a, double x, double y, double z, double tolerance)
{
    return rp__vec3_norm(rp__vec3_sub(a, rp__vec3_make(x, y, z))) < tolerance;
}

static rp_motion *keyed(const rp_keyframe *keys, int count, rp_interpolation kind)
{
    rp_motion *m = NULL;
    assert_int_equal(rp_motion_keyframes(keys, count, kind, &m), RP_OK);
    return m;
}

static void steps_and_lines(void **state)
{
    (void)state;
    const rp_keyframe k[] = { { 1, { 0, 0, 0 }, { 0, 0, 0 } }, { 2, { 1, 2, 3 }, { 0, 0, 1 } }, { 4, { 1, 2, 5 }, { 0, 0, -1 } } };
    rp_motion *step = keyed(k, 3, RP_STEP), *line = keyed(k, 3, RP_LINEAR);
    assert_true(near3(pose_at(step, 1.99).position, 0, 0, 0, 1e-15));
    assert_true(near3(pose_at(step, 2).position, 1, 2, 3, 1e-15));
    assert_true(near3(pose_at(line, 0).position, 0, 0, 0, 1e-15)); /* held before and after */
    assert_true(near3(pose_at(line, 9).position, 1, 2, 5, 1e-15));
    assert_true(near3(pose_at(line, 1.25).position, 0.25, 0.5, 0.75, 1e-12));
    assert_true(near3(rp__quat_to_vector(pose_at(line, 1.25).orientation), 0, 0, 0.25, 1e-12));
    assert_true(near3(rp__quat_to_vector(pose_at(line, 3).orientation), 0, 0, 0, 1e-12));
    rp_motion *kept = rp_motion_retain(step);
    rp_motion_release(step), rp_motion_release(kept), rp_motion_release(line), rp_motion_release(NULL);
}

/* Five turns in five seconds are five turns, not none. */
static void turns_are_as_given(void **state)
{
    (void)state;
    const rp_keyframe k[] = { { 0, { 0, 0, 0 }, { 0, 0, 0 } }, { 5, { 0, 0, 0 }, { 0, 10 * PI, 0 } } };
    for (rp_interpolation kind = RP_LINEAR; kind <= RP_SMOOTH; kind++) {
        rp_motion *m = keyed(k, 2, kind);
        double turned = 0, h = 0.01;
        for (int i = 0; i < 500; i++) {
            rp__quat a = pose_at(m, i * h).orientation, b = pose_at(m, (i + 1) * h).orientation;
            turned += rp__quat_to_vector(rp__quat_multiply(rp__quat_conjugate(a), b)).y;
        }
        assert_true(fabs(turned - 10 * PI) < 1e-9);
        rp_motion_release(m);
    }
}

/* Different axes: the shortest rotation at constant speed, as slerp gives it. */
static void other_axes_take_the_shortest_way(void **state)
{
    (void)state;
    const rp_keyframe k[] = { { 0, { 0, 0, 0 }, { 1, 0, 0 } }, { 2, { 0, 0, 0 }, { 0, 1.3, 0.2 } } };
    rp_motion *m = keyed(k, 2, RP_LINEAR);
    rp__quat a = rp__quat_from_vector(rp__vec3_make(1, 0, 0)), b = rp__quat_from_vector(rp__vec3_make(0, 1.3, 0.2));
    for (int i = 0; i <= 10; i++) {
        rp__quat q = pose_at(m, 0.2 * i).orientation, s = rp__quat_slerp(a, b, 0.1 * i);
        assert_true(fabs(fabs(q.w * s.w + q.x * s.x + q.y * s.y + q.z * s.z) - 1) < 1e-12);
    }
    rp_motion_release(m);
}

/* Smooth motions pass through their keys, and neither velocity jumps there. */
static void smooth_motions_have_no_jerk(void **state)
{
    (void)state;
    const rp_keyframe k[] = { { 0, { 0, 0, 0 }, { 0, 0, 0 } },     { 1, { 1, 0, 2 }, { 0.5, 0, 0.3 } },
                              { 1.5, { 1, 1, 0 }, { 0, 1, 0.3 } }, { 4, { -1, 1, 0 }, { 0, 0.2, 1 } } };
    rp_motion *m = keyed(k, 4, RP_SMOOTH);
    for (int i = 1; i < 3; i++) {
        double t = k[i].time, h = 1e-6;
        rp__pose at = pose_at(m, t), before = pose_at(m, t - h), after = pose_at(m, t + h);
        assert_true(near3(at.position, k[i].position[0], k[i].position[1], k[i].position[2], 1e-12));
        assert_true(near3(rp__quat_to_vector(at.orientation), k[i].rotation[0], k[i].rotation[1], k[i].rotation[2], 1e-9));
        rp__vec3 v0 = rp__vec3_scale(1 / h, rp__vec3_sub(at.position, before.position));
        rp__vec3 v1 = rp__vec3_scale(1 / h, rp__vec3_sub(after.position, at.position));
        assert_true(rp__vec3_norm(rp__vec3_sub(v0, v1)) < 1e-3);
        rp__vec3 w0 = rp__vec3_scale(1 / h, rp__quat_to_vector(rp__quat_multiply(rp__quat_conjugate(before.orientation), at.orientation)));
        rp__vec3 w1 = rp__vec3_scale(1 / h, rp__quat_to_vector(rp__quat_multiply(rp__quat_conjugate(at.orientation), after.orientation)));
        assert_true(rp__vec3_norm(rp__vec3_sub(w0, w1)) < 1e-3 && rp__vec3_norm(w0) > 0.1);
    }
    rp_motion_release(m);
}

static void bad_keyframes_are_refused(void **state)
{
    (void)state;
    rp_motion *m = NULL;
    rp_keyframe k[2] = { { 1, { 0, 0, 0 }, { 0, 0, 0 } }, { 1, { 0, 0, 0 }, { 0, 0, 0 } } };
    assert_int_equal(rp_motion_keyframes(k, 2, RP_LINEAR, &m), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "keyframe 2 is at 1 s, not after keyframe 1"));
    assert_int_equal(rp_motion_keyframes(k, 0, RP_LINEAR, &m), RP_BAD_ARGUMENT);
    k[1].time = NAN;
    assert_int_equal(rp_motion_keyframes(k, 2, RP_LINEAR, &m), RP_BAD_ARGUMENT);
    k[1].time = 2, k[1].position[2] = INFINITY;
    assert_int_equal(rp_motion_keyframes(k, 2, RP_LINEAR, &m), RP_BAD_ARGUMENT);
    assert_null(m);
    k[1].position[2] = 0;
    assert_int_equal(rp_motion_keyframes(k, 2, (rp_interpolation)7, &m), RP_BAD_ARGUMENT);
    m = keyed(k, 1, RP_SMOOTH);
    rp__pose p;
    assert_int_equal(rp__motion_pose_at(m, NAN, &p), RP_BAD_ARGUMENT);
    rp_motion_release(m);
}

static rp_motion *scripted(const char *source)
{
    rp_motion *m = NULL;
    rp_result r = rp_motion_expression(source, &m);
    if (r != RP_OK)
        fail_msg("'%s': %s", source, rp_last_error());
    return m;
}

static void scripts_compute_poses(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "t, 2*t, sin(pi*t)",
        "return t, 2*t, math.sin(math.pi*t)",
        "-- don't mind \"quotes\" here\nlocal a = 2*t\nif t > 1 then a = a end\nreturn t, a, math.sin(math.pi*t)",
        "(function() return t end)(), 2*t, sin(pi*t)",
        "--[[ long\n'comment' ]] t, 2*t, sin(pi*t) -- end",
        "x = t; y = 2*x; return x, y, sin(pi*x), 0, 0, 0",
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        rp_motion *m = scripted(sources[i]);
        double p[3], q[4];
        assert_int_equal(rp_motion_pose(m, 0.25, p, q), RP_OK);
        assert_true(p[0] == 0.25 && p[1] == 0.5 && fabs(p[2] - sin(PI / 4)) < 1e-15 && q[0] == 1);
        rp_motion_release(m);
    }
    rp_motion *m = scripted("0, 0, 0, 0, 0, 2*pi*t");
    assert_true(near3(rp__quat_to_vector(pose_at(m, 0.25).orientation), 0, 0, PI / 2, 1e-12));
    rp_motion_release(m);
}

/* What one call leaves behind, the next does not see. */
static void calls_do_not_remember(void **state)
{
    (void)state;
    rp_motion *m = scripted("n = (n or 0) + 1; return n, t, 0");
    for (int i = 0; i < 3; i++)
        assert_true(near3(pose_at(m, 5).position, 1, 5, 0, 1e-15));
    rp_motion_release(m);
    m = scripted("if sin then sin = nil end; _ENV = {}; return 1, 2, 3");
    assert_true(near3(pose_at(m, 5).position, 1, 2, 3, 1e-15));
    assert_true(near3(pose_at(m, 6).position, 1, 2, 3, 1e-15));
    rp_motion_release(m);
}

typedef struct hostile {
    const char *source, *words;
} hostile;

/* Every one of these is refused, when it is made or when it is called, with the words in the message; and soon. */
static const hostile hostiles[] = {
    { "", "empty" },
    { "  \n ", "empty" },
    { "t, t", "returns 2 values" },
    { "t, t, t, t", "returns 4 values" },
    { "return", "returns 0 values" },
    { "t, t, nil", "value 3 it returns is a nil" },
    { "t, true, 0", "is a boolean" },
    { "t, 0/0, 0", "nan" },
    { "t, 1/0, 0", "inf" },
    { "t, 1//0|0, 0", "motion:1:" },
    { "t + , 0, 0", "motion:1: unexpected symbol" },
    { "return t\n+ * 2", "motion:2:" },
    { "t, foo(t), 0", "attempt to call a nil value (global 'foo')" },
    { "t, foo.bar, 0", "attempt to index a nil value (global 'foo')" },
    { "while true do end return 0, 0, 0", "more than 1000000 instructions" },
    { "for i = 1, math.huge do end return 0, 0, 0", "more than 1000000 instructions" },
    { "::a:: goto a return 0, 0, 0", "more than 1000000 instructions" },
    { "local function f() return f() end return f()", "more than 1000000 instructions" },
    { "local function f() return 1 + f() end return f(), 0, 0", "memory" },
    { "local a = {} for i = 1, 1e9 do a[i] = i end return 0, 0, 0", "memory" },
    { "local a = {} while true do a = {a, a} end return 0, 0, 0", "motion: " },
    { "string.rep('x', 1e9), 0, 0", "text in quotes" },
    { "local s = \"x\" while true do s = s .. s end return 0, 0, 0", "text in quotes" },
    { "local s = 1 .. 2 return s, 0, 0", "joins text" },
    { "local s = [==[x]==] return 0, 0, 0", "text in quotes" },
    { "os.exit(1), 0, 0", "global 'os'" },
    { "io.open(t), 0, 0", "global 'io'" },
    { "require(t), 0, 0", "global 'require'" },
    { "load(t)(), 0, 0", "global 'load'" },
    { "dofile(t), 0, 0", "global 'dofile'" },
    { "debug.sethook(), 0, 0", "global 'debug'" },
    { "pcall(load), 0, 0", "global 'pcall'" },
    { "coroutine.wrap(t), 0, 0", "global 'coroutine'" },
    { "getmetatable(t), 0, 0", "global 'getmetatable'" },
    { "setmetatable({}, {}), 0, 0", "global 'setmetatable'" },
    { "collectgarbage(), 0, 0", "global 'collectgarbage'" },
    { "print(t), 0, 0", "global 'print'" },
    { "math.random(), 0, 0", "field 'random'" },
    { "random(), 0, 0", "global 'random'" },
    { "math.sin = nil return 0, 0, 0", "cannot be replaced" },
    { "\x1bLua\x54", "motion" },
    { "t, 0, 0 end", "motion:1:" },
};

static void hostile_scripts_are_refused(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    for (size_t i = 0; i < sizeof hostiles / sizeof hostiles[0]; i++) {
        rp_motion *m = NULL;
        rp__pose pose;
        rp_result r = rp_motion_expression(hostiles[i].source, &m);
        if (r == RP_OK)
            r = rp__motion_pose_at(m, 1, &pose);
        if (r != RP_BAD_ARGUMENT)
            fail_msg("'%s' gives %s", hostiles[i].source, rp_result_name(r));
        if (!strstr(rp_last_error(), hostiles[i].words))
            fail_msg("'%s': '%s' lacks '%s'", hostiles[i].source, rp_last_error(), hostiles[i].words);
        rp_motion_release(m);
    }
    assert_int_equal(rp_memory_in_use(), before);
    static char huge[70000];
    memset(huge, '(', sizeof huge - 1);
    rp_motion *m = NULL;
    assert_int_equal(rp_motion_expression(huge, &m), RP_TOO_LARGE);
    huge[60000] = '\0';
    assert_int_equal(rp_motion_expression(huge, &m), RP_BAD_ARGUMENT); /* nested too deeply */
    assert_int_equal(rp_motion_expression(NULL, &m), RP_BAD_ARGUMENT);
    assert_null(m);
}

/* Whether a script is too long is a matter of the script, not of what was called before it. */
static void the_limit_is_the_same_in_every_call(void **state)
{
    (void)state;
    for (int turns = 332600; turns < 333700; turns += 100) { /* 3 instructions each */
        char source[128];
        double place[3], turn[4];
        rp_motion *motion = NULL;
        snprintf(source, sizeof source, "for i = 1, %d do s = u end return 0, 0, t", turns);
        assert_int_equal(rp_motion_expression(source, &motion), RP_OK);
        rp_result first = rp_motion_pose(motion, 1, place, turn);
        for (int call = 0; call < 4; call++)
            if (rp_motion_pose(motion, 1, place, turn) != first)
                fail_msg("%d turns: call %d has another end than the first", turns, call + 2);
        rp_motion_release(motion);
    }
}

/* A script that once ran out of memory works again. */
static void a_failed_call_harms_no_other(void **state)
{
    (void)state;
    rp_motion *m = scripted("if t > 1 then local a = {} for i = 1, 1e9 do a[i] = i end end return t, 0, 0");
    rp__pose p;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rp__motion_pose_at(m, 2, &p), RP_BAD_ARGUMENT);
        assert_true(near3(pose_at(m, 0.5).position, 0.5, 0, 0, 1e-15));
    }
    rp_motion_release(m);
}

static void expressions_of_many_variables(void **state)
{
    (void)state;
    static const char *const names[] = { "x", "y", "z", "t" };
    rp_expression *e = NULL;
    double values[4] = { 1, 2, 3, 4 }, results[2];
    assert_int_equal(rp_expression_create("x + 10*y, z*t", names, 4, 2, &e), RP_OK);
    assert_int_equal(rp_expression_evaluate(e, values, results), RP_OK);
    assert_true(results[0] == 21 && results[1] == 12);
    rp_expression_release(e);
    e = NULL;
    assert_int_equal(rp_expression_create("7", NULL, 0, 1, &e), RP_OK);
    assert_int_equal(rp_expression_evaluate(e, NULL, results), RP_OK);
    assert_true(results[0] == 7);
    rp_expression_release(e);
    e = NULL;
    assert_int_equal(rp_expression_create("x, y", names, 4, 1, &e), RP_OK);
    assert_int_equal(rp_expression_evaluate(e, values, results), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "returns 2 values; 1 are needed"));
    rp_expression_release(e);
    e = NULL;
    static const char *const bad[] = { "end", "1x", "", "a b", "x;y" };
    for (int i = 0; i < 5; i++)
        assert_int_equal(rp_expression_create("1", &bad[i], 1, 1, &e), RP_BAD_ARGUMENT);
    assert_int_equal(rp_expression_create("1", names, 4, 0, &e), RP_BAD_ARGUMENT);
    assert_int_equal(rp_expression_create("1", names, 33, 1, &e), RP_BAD_ARGUMENT);
    assert_null(e);
    rp_expression_release(NULL);
}

enum { POINTS = 4000 };
typedef struct field {
    const rp_expression *e;
    double out[POINTS];
} field;

static void evaluate_range(void *context, int64_t begin, int64_t end, int worker)
{
    field *f = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double x = 0.001 * (double)i;
        if (rp_expression_evaluate(f->e, &x, &f->out[i]) != RP_OK)
            f->out[i] = -1;
    }
}

static void threads_share_an_expression(void **state)
{
    (void)state;
    static const char *const names[] = { "x" };
    rp_expression *e = NULL;
    static field one, many;
    assert_int_equal(rp_expression_create("local s = 0 for i = 1, 20 do s = s + math.sin(i*x)/i end return s", names, 1, 1, &e), RP_OK);
    one.e = many.e = e;
    evaluate_range(&one, 0, POINTS, 0);
    rp__exec_set_threads(12); /* more than there are states */
    rp__exec_for(POINTS, 16, evaluate_range, &many);
    rp__exec_set_threads(0);
    assert_memory_equal(one.out, many.out, sizeof one.out);
    rp_expression_release(e);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    const rp_keyframe k[] = { { 0, { 0, 0, 0 }, { 0, 0, 0 } }, { 1, { 0, 0, 0 }, { 0, 1, 0 } } };
    size_t before = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp_motion *a = NULL, *b = NULL;
        rp__pose p;
        rp__base_fail_allocation(n);
        rp_result r = rp_motion_keyframes(k, 2, RP_SMOOTH, &a);
        if (r == RP_OK)
            r = rp_motion_expression("local a = {t} return a[1], 0, 0", &b);
        if (r == RP_OK)
            r = rp__motion_pose_at(b, 1, &p);
        int64_t asked = rp__base_fail_allocation(0);
        rp_motion_release(a), rp_motion_release(b);
        assert_int_equal(rp_memory_in_use(), before);
        assert_true(r == RP_OK || r == RP_OUT_OF_MEMORY || strstr(rp_last_error(), "memory"));
        if (asked < n)
            break;
        assert_true(n < 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_lines),
        cmocka_unit_test(turns_are_as_given),
        cmocka_unit_test(other_axes_take_the_shortest_way),
        cmocka_unit_test(smooth_motions_have_no_jerk),
        cmocka_unit_test(bad_keyframes_are_refused),
        cmocka_unit_test(scripts_compute_poses),
        cmocka_unit_test(calls_do_not_remember),
        cmocka_unit_test(hostile_scripts_are_refused),
        cmocka_unit_test(the_limit_is_the_same_in_every_call),
        cmocka_unit_test(a_failed_call_harms_no_other),
        cmocka_unit_test(expressions_of_many_variables),
        cmocka_unit_test(threads_share_an_expression),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("shape motion", tests, NULL, NULL);
}
