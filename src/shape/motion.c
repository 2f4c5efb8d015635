/* Motions: keyframes or a script of t. Expressions of named variables share the sandbox. */
#include "base/error.h"
#include "base/memory.h"
#include "shape/sandbox.h"
#include "shape/shape_class.h"

#include <math.h>
#include <string.h>

/* A key with what interpolation needs. Rotations from one key to the next are vectors in the frame of the body. */
typedef struct key {
    double time;
    rp__vec3 position, velocity;
    rp__vec3 rotation; /* as given */
    rp__quat orientation;
    rp__vec3 turn;     /* to the next key; with as many turns as given when the axes agree */
    rp__vec3 spin;     /* angular velocity here, for smooth */
} key;

struct rp_motion {
    atomic_long references;
    rp_interpolation kind;
    int count; /* of keys; 0 for a script */
    key *keys;
    rp__shape_sandbox *script;
};

/* ---- keyframes ---- */

static bool axes_agree(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_norm(rp__vec3_cross(a, b)) <= 1e-9 * rp__vec3_norm(a) * rp__vec3_norm(b);
}

static rp__vec3 turn_between(const key *a, const key *b)
{
    if (axes_agree(a->rotation, b->rotation))
        return rp__vec3_sub(b->rotation, a->rotation);
    return rp__quat_to_vector(rp__quat_unit(rp__quat_multiply(rp__quat_conjugate(a->orientation), b->orientation)));
}

/* Slopes of Catmull and Rom for uneven times: the difference of the neighbours; one-sided at the ends. */
static void prepare(key *keys, int count)
{
    for (int i = 0; i + 1 < count; i++)
        keys[i].turn = turn_between(&keys[i], &keys[i + 1]);
    for (int i = 0; i < count; i++) {
        int a = i > 0 ? i - 1 : 0, b = i + 1 < count ? i + 1 : i;
        if (a == b)
            continue;
        double rate = 1 / (keys[b].time - keys[a].time);
        keys[i].velocity = rp__vec3_scale(rate, rp__vec3_sub(keys[b].position, keys[a].position));
        rp__vec3 sum = { 0, 0, 0 };
        for (int k = a; k < b; k++)
            sum = rp__vec3_add(sum, keys[k].turn);
        keys[i].spin = rp__vec3_scale(rate, sum);
    }
}

static rp_result check_keys(const rp_keyframe *keys, int count, rp_interpolation kind)
{
    if (!keys || count < 1)
        return rp__base_fail(RP_BAD_ARGUMENT, "motion: it has no keyframes; give one at least");
    if (kind != RP_STEP && kind != RP_LINEAR && kind != RP_SMOOTH)
        return rp__base_fail(RP_BAD_ARGUMENT, "motion: unknown interpolation %d", (int)kind);
    for (int i = 0; i < count; i++) {
        if (!isfinite(keys[i].time))
            return rp__base_fail(RP_BAD_ARGUMENT, "motion: the time of keyframe %d is %g; it must be finite", i + 1, keys[i].time);
        if (i > 0 && !(keys[i].time > keys[i - 1].time))
            return rp__base_fail(RP_BAD_ARGUMENT, "motion: keyframe %d is at %g s, not after keyframe %d at %g s; times must increase",
                                 i + 1, keys[i].time, i, keys[i - 1].time);
        for (int a = 0; a < 3; a++)
            if (!(fabs(keys[i].position[a]) <= RP_SHAPE_LIMIT) || !(fabs(keys[i].rotation[a]) <= 1e9))
                return rp__base_fail(RP_BAD_ARGUMENT, "motion: keyframe %d has position %c %g and rotation %g; they must be finite",
                                     i + 1, "xyz"[a], keys[i].position[a], keys[i].rotation[a]);
    }
    return RP_OK;
}

rp_result rp_motion_keyframes(const rp_keyframe *keys, int count, rp_interpolation kind, rp_motion **out)
{
    RP_TRY(check_keys(keys, count, kind));
    rp_motion *m = RP_NEW(rp_motion);
    key *own = m ? RP_NEW_ARRAY(key, count) : NULL;
    if (!own) {
        rp__base_free(m);
        return RP_OUT_OF_MEMORY;
    }
    memset(own, 0, (size_t)count * sizeof *own);
    for (int i = 0; i < count; i++) {
        own[i].time = keys[i].time;
        own[i].position = rp__vec3_load(keys[i].position);
        own[i].rotation = rp__vec3_load(keys[i].rotation);
        own[i].orientation = rp__quat_from_vector(own[i].rotation);
    }
    prepare(own, count);
    atomic_init(&m->references, 1);
    m->kind = kind;
    m->count = count;
    m->keys = own;
    *out = m;
    return RP_OK;
}

/* J_r^-1(phi) omega: the rate of the rotation vector phi for an angular velocity in the frame of the body. Beyond half a turn
 * only parallel axes occur, for which it is the identity. */
static rp__vec3 vector_rate(rp__vec3 phi, rp__vec3 omega)
{
    double a = rp__vec3_norm(phi);
    if (a > 3.1)
        return omega;
    double c = a < 1e-3 ? 1.0 / 12 : 1 / (a * a) - (1 + cos(a)) / (2 * a * sin(a));
    rp__vec3 once = rp__vec3_cross(phi, omega), twice = rp__vec3_cross(phi, once);
    return rp__vec3_axpy(c, twice, rp__vec3_axpy(0.5, once, omega));
}

/* The cubic with value 0 and slope m0 at 0, value d and slope m1 at `length`. */
static rp__vec3 hermite(rp__vec3 d, rp__vec3 m0, rp__vec3 m1, double length, double s)
{
    double ss = s * s, sss = ss * s;
    rp__vec3 v = rp__vec3_scale(3 * ss - 2 * sss, d);
    v = rp__vec3_axpy(length * (sss - 2 * ss + s), m0, v);
    return rp__vec3_axpy(length * (sss - ss), m1, v);
}

static rp__pose pose_of_keys(const rp_motion *m, double t)
{
    const key *k = m->keys;
    int low = 0, high = m->count - 1;
    if (t <= k[0].time)
        return (rp__pose){ k[0].position, k[0].orientation };
    if (t >= k[high].time)
        return (rp__pose){ k[high].position, k[high].orientation };
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (k[middle].time <= t)
            low = middle;
        else
            high = middle;
    }
    const key *a = &k[low], *b = &k[high];
    if (m->kind == RP_STEP)
        return (rp__pose){ a->position, a->orientation };
    double length = b->time - a->time, s = (t - a->time) / length;
    rp__vec3 move = rp__vec3_sub(b->position, a->position), turn = a->turn;
    if (m->kind == RP_LINEAR) {
        move = rp__vec3_scale(s, move);
        turn = rp__vec3_scale(s, turn);
    } else {
        move = hermite(move, a->velocity, b->velocity, length, s);
        turn = hermite(turn, a->spin, vector_rate(turn, b->spin), length, s);
    }
    return (rp__pose){ rp__vec3_add(a->position, move),
                       rp__quat_unit(rp__quat_multiply(a->orientation, rp__quat_from_vector(turn))) };
}

/* ---- scripts ---- */

rp_result rp_motion_expression(const char *source, rp_motion **out)
{
    static const char *const variables[] = { "t" };
    rp_motion *m = RP_NEW(rp_motion);
    if (!m)
        return RP_OUT_OF_MEMORY;
    atomic_init(&m->references, 1);
    rp_result result = rp__shape_sandbox_create("motion", source, variables, 1, &m->script);
    if (result != RP_OK) {
        rp__base_free(m);
        return result;
    }
    *out = m;
    return RP_OK;
}

static rp_result pose_of_script(const rp_motion *m, double t, rp__pose *pose)
{
    double v[6] = { 0 };
    int count = 0;
    RP_TRY(rp__shape_sandbox_call(m->script, &t, v, 6, &count));
    if (count != 3 && count != 6)
        return rp__base_fail(RP_BAD_ARGUMENT, "motion: it returns %d values; it must return x, y, z or x, y, z, rx, ry, rz", count);
    pose->position = rp__vec3_load(v);
    pose->orientation = rp__quat_from_vector(count == 6 ? rp__vec3_load(v + 3) : rp__vec3_make(0, 0, 0));
    return RP_OK;
}

/* ---- both ---- */

rp_motion *rp_motion_retain(const rp_motion *motion)
{
    rp_motion *kept = (rp_motion *)(uintptr_t)motion;
    if (kept)
        atomic_fetch_add_explicit(&kept->references, 1, memory_order_relaxed);
    return kept;
}

void rp_motion_release(rp_motion *motion)
{
    if (!motion || atomic_fetch_sub_explicit(&motion->references, 1, memory_order_acq_rel) != 1)
        return;
    rp__shape_sandbox_free(motion->script);
    rp__base_free(motion->keys);
    rp__base_free(motion);
}

rp_result rp__motion_pose_at(const rp_motion *motion, double t, rp__pose *pose)
{
    if (!motion)
        return rp__base_fail(RP_BAD_ARGUMENT, "motion: there is none (NULL)");
    if (!isfinite(t))
        return rp__base_fail(RP_BAD_ARGUMENT, "motion: the time is %g; it must be finite", t);
    if (motion->script)
        return pose_of_script(motion, t, pose);
    *pose = pose_of_keys(motion, t);
    return RP_OK;
}

rp_result rp_motion_pose(const rp_motion *motion, double t, double position[3], double orientation[4])
{
    rp__pose pose;
    RP_TRY(rp__motion_pose_at(motion, t, &pose));
    rp__vec3_store(position, pose.position);
    orientation[0] = pose.orientation.w, orientation[1] = pose.orientation.x;
    orientation[2] = pose.orientation.y, orientation[3] = pose.orientation.z;
    return RP_OK;
}

/* ---- expressions ---- */

struct rp_expression {
    rp__shape_sandbox *script;
    char *source;
    int result_count;
};

rp_result rp_expression_create(const char *source, const char *const *variables, int variable_count, int result_count,
                               rp_expression **out)
{
    if (result_count < 1 || result_count > RP_SANDBOX_VALUES)
        return rp__base_fail(RP_BAD_ARGUMENT, "expression: %d results; from 1 to %d are allowed", result_count, (int)RP_SANDBOX_VALUES);
    rp_expression *e = RP_NEW(rp_expression);
    if (!e)
        return RP_OUT_OF_MEMORY;
    e->result_count = result_count;
    rp_result result = rp__shape_sandbox_create("expression", source, variables, variable_count, &e->script);
    if (result == RP_OK && !(e->source = rp__base_copy_text(source)))
        result = RP_OUT_OF_MEMORY;
    if (result != RP_OK) {
        rp__shape_sandbox_free(e->script);
        rp__base_free(e);
        return result;
    }
    *out = e;
    return RP_OK;
}

rp_result rp_expression_evaluate(const rp_expression *expression, const double *values, double *results)
{
    double found[RP_SANDBOX_VALUES];
    int count = 0;
    RP_TRY(rp__shape_sandbox_call(expression->script, values, found, expression->result_count, &count));
    if (count != expression->result_count)
        return rp__base_fail(RP_BAD_ARGUMENT, "expression: it returns %d values; %d are needed", count, expression->result_count);
    memcpy(results, found, (size_t)count * sizeof *results);
    return RP_OK;
}

void rp_expression_release(rp_expression *expression)
{
    if (!expression)
        return;
    rp__shape_sandbox_free(expression->script);
    rp__base_free(expression->source);
    rp__base_free(expression);
}

const char *rp__shape_expression_source(const rp_expression *expression)
{
    return expression->source;
}
