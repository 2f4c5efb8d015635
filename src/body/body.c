/* Rigid bodies: poses, velocities, joints to the world, motors. */
#include "body/body.h"

#include "base/error.h"
#include "base/memory.h"
#include "body/contacts.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <string.h>

enum { MASS_RESOLUTION = 64 }; /* cells across, for the mass properties of a body */

static const rp__vec3 z_axis = { 0, 0, 1 };

static rp__pose start_pose(const rp_body_def *def)
{
    rp__pose pose = { rp__vec3_load(def->position), rp__quat_from_vector(rp__vec3_load(def->rotation)) };
    return pose;
}

static rp_result init_free(rp__body *body, int dim)
{
    const rp_body_def *def = &body->def;
    double volume;
    rp__vec3 centre;
    rp__mat3 inertia;
    rp_result result = rp__shape_mass_properties(def->shape, dim, MASS_RESOLUTION, &volume, &centre, &inertia);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "body '%s': ", def->name ? def->name : "");
    body->mass = def->mass > 0 ? def->mass : def->density * volume;
    if (!(body->mass > 0) || !isfinite(body->mass))
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s' has mass %g kg; a free body needs a density or a mass above zero",
                             def->name ? def->name : "", body->mass);
    body->inverse_mass = 1 / body->mass;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            body->inertia_local.m[i][j] = inertia.m[i][j] * body->mass / volume;
    body->centre_local = centre;
    body->pose.position = rp__pose_apply(&body->pose, centre);
    body->velocity = rp__vec3_load(def->velocity);
    body->omega = rp__vec3_load(def->angular_velocity);
    return RP_OK;
}

rp_result rp__body_init(rp__body *body, const rp_body_def *def, int dim, double time)
{
    memset(body, 0, sizeof *body);
    body->def = *def;
    body->present = time >= def->start && time < def->stop;
    body->pose = start_pose(def);
    if (def->motion)
        RP_TRY(rp__motion_pose_at(def->motion, time, &body->pose));
    if (def->kind == RP_BODY_FREE)
        RP_TRY(init_free(body, dim));
    body->pose_next = body->pose;
    if (def->kind == RP_BODY_FREE) {
        rp_result result = rp__body_make_samples(body, dim);
        if (result != RP_OK) {
            rp__base_free(body->samples);
            return rp__base_fail_prefix(result, "body '%s': ", def->name ? def->name : "");
        }
    }
    if (def->sequence) {
        rp_result result = rp_mesh_sequence_evaluate(def->sequence, time, &body->def.shape);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "body '%s': ", def->name ? def->name : "");
        rp_mesh_sequence_retain(def->sequence);
    } else {
        rp_shape_retain(def->shape);
    }
    body->def.motion = def->motion ? rp_motion_retain(def->motion) : NULL;
    return RP_OK;
}

void rp__body_free(rp__body *body)
{
    rp__base_free(body->samples);
    rp_shape_release(body->def.shape);
    rp_shape_release(body->shape_next);
    rp_mesh_sequence_release(body->def.sequence);
    if (body->def.motion)
        rp_motion_release(body->def.motion);
    memset(body, 0, sizeof *body);
}

/* The shape's frame has its origin at -centre_local from the pose (the centre of mass). */
static double posed_distance(const rp__body *body, const rp_shape *shape, const rp__pose *pose, rp__vec3 point, rp__vec3 *gradient)
{
    rp__pose frame = *pose;
    frame.position = rp__vec3_sub(pose->position, rp__quat_rotate(pose->orientation, body->centre_local));
    return rp__shape_distance_posed(shape, &frame, point, gradient);
}

static const rp_shape *next_shape(const rp__body *body)
{
    return body->shape_next ? body->shape_next : body->def.shape;
}

void rp__body_repeat(rp__body *body, const rp_sim_def *def)
{
    double lower[3], upper[3], middle[3] = { 0 }, square = 0;
    rp_shape_bounds(body->def.shape, lower, upper);
    for (int a = 0; a < def->dim; a++) { /* however it turns */
        middle[a] = 0.5 * (lower[a] + upper[a]);
        square += (upper[a] - lower[a]) * (upper[a] - lower[a]);
    }
    for (int a = 0; a < 3; a++) {
        double length = a < def->dim && def->wall[2 * a].kind == RP_PERIODIC ? def->upper[a] - def->lower[a] : 0;
        body->period[a] = !body->def.sequence && sqrt(square) < length ? length : 0;
    }
    body->middle = isfinite(square) ? rp__vec3_load(middle) : body->centre_local;
}

rp__vec3 rp__body_image(const rp__body *body, const rp__pose *pose, rp__vec3 x)
{
    const double *period = body->period;
    if (!(period[0] > 0 || period[1] > 0 || period[2] > 0))
        return x;
    rp__vec3 middle = rp__vec3_add(pose->position, rp__quat_rotate(pose->orientation, rp__vec3_sub(body->middle, body->centre_local)));
    double at[3], centre[3];
    rp__vec3_store(at, x);
    rp__vec3_store(centre, middle);
    for (int a = 0; a < 3; a++)
        at[a] -= period[a] > 0 ? period[a] * floor((at[a] - centre[a]) / period[a] + 0.5) : 0;
    return rp__vec3_load(at);
}

rp__vec3 rp__body_arm(const rp__body *body, rp__vec3 x)
{
    return rp__vec3_sub(rp__body_image(body, &body->pose, x), body->pose.position);
}

double rp__body_distance(const rp__body *body, const rp__pose *pose, rp__vec3 point, rp__vec3 *gradient)
{
    return posed_distance(body, pose == &body->pose_next ? next_shape(body) : body->def.shape, pose, rp__body_image(body, pose, point), gradient);
}

/* In the body's own frame at the end of its step. */
static double local_distance(const rp__body *body, rp__vec3 point, rp__vec3 *gradient)
{
    rp__pose none = rp__pose_identity();
    return posed_distance(body, next_shape(body), &none, point, gradient);
}

/* Conservative advancement: no step is longer than the distance. A path that grazes the surface so long that the steps run out
 * counts as meeting it: better held than lost. */
bool rp__body_path_meets(const rp__body *body, rp__vec3 a, rp__vec3 b, double tiny, rp__vec3 *at)
{
    rp__vec3 path = rp__vec3_sub(b, a);
    double length = rp__vec3_norm(path), done = 0;
    for (int k = 0; k < 128; k++) {
        *at = length > 0 ? rp__vec3_axpy(done / length, path, a) : a;
        double d = local_distance(body, *at, NULL);
        if (d <= tiny)
            return true;
        done += d;
        if (done > length)
            return false;
    }
    return true;
}

bool rp__body_between(const rp__body *body, rp__vec3 x0, rp__vec3 x1, double tiny)
{
    rp__vec3 shift = rp__body_shift(body, &body->pose_next, x0);
    x0 = rp__vec3_add(x0, shift), x1 = rp__vec3_add(x1, shift);
    rp__vec3 a = rp__pose_inverse_apply(&body->pose_next, x0), b = rp__pose_inverse_apply(&body->pose_next, x1), at;
    if (!body->present || local_distance(body, a, NULL) > rp__vec3_norm(rp__vec3_sub(b, a)))
        return false;
    return local_distance(body, b, NULL) < 0 || rp__body_path_meets(body, a, b, tiny, &at);
}

/* Outwards by the distance, twice: combined shapes give a bound only. */
static rp__vec3 to_surface(const rp__body *body, rp__vec3 x, double tiny)
{
    for (int again = 0; again < 2; again++) {
        rp__vec3 n;
        double d = local_distance(body, x, &n);
        if (!(d < 0))
            break;
        x = rp__vec3_axpy(tiny - d, n, x);
    }
    return x;
}

bool rp__body_keep_outside(const rp__body *body, rp__vec3 x0, double tiny, rp__vec3 *x1, rp__vec3 *normal)
{
    rp__vec3 shift = rp__body_shift(body, &body->pose, x0);
    rp__vec3 a = rp__pose_inverse_apply(&body->pose, rp__vec3_add(x0, shift)), at, n, m;
    rp__vec3 b = rp__pose_inverse_apply(&body->pose_next, rp__vec3_add(*x1, shift));
    double end = local_distance(body, b, &m);
    if (end > rp__vec3_norm(rp__vec3_sub(b, a)))
        return false;
    bool crossed = false;
    double begin = local_distance(body, a, &n);
    bool met = begin < -tiny; /* in the body already: at the surface next to it, whose side is the one it came from */
    at = met ? rp__vec3_axpy(-begin, n, a) : a;
    if (!met && rp__body_path_meets(body, a, b, tiny, &at)) {
        met = true;
        local_distance(body, at, &n);
    }
    if (met) {
        double way = rp__vec3_dot(rp__vec3_sub(b, at), n);
        /* Into the far half of the body or out there: the nearest surface is not the one it met. */
        if (way < -tiny && rp__vec3_dot(m, n) < 0) {
            crossed = true;
            b = rp__vec3_axpy(tiny - way, n, b); /* it slides along the side it came from */
            *normal = rp__quat_rotate(body->pose_next.orientation, n);
        }
    }
    if (!crossed && end >= 0)
        return false;
    *x1 = rp__vec3_sub(rp__pose_apply(&body->pose_next, to_surface(body, b, tiny)), shift);
    return crossed;
}

void rp__body_guard(const rp__body *body, rp__vec3 x0, double tiny, rp__vec3 *x1, rp__vec3 *velocity)
{
    rp__vec3 n;
    if (!rp__body_keep_outside(body, x0, tiny, x1, &n))
        return;
    double speed = rp__vec3_dot(rp__vec3_sub(*velocity, rp__body_velocity_at(body, *x1)), n);
    if (speed < 0)
        *velocity = rp__vec3_axpy(-speed, n, *velocity);
}

rp__vec3 rp__body_deforming(const rp__body *body, rp__vec3 x)
{
    double at[3], v[3];
    rp__vec3_store(at, rp__pose_inverse_apply(&body->pose_next, x));
    rp_mesh_sequence_velocity(next_shape(body), at, v);
    return rp__quat_rotate(body->pose_next.orientation, rp__vec3_load(v));
}

rp__vec3 rp__body_carried(const rp__body *body, rp__vec3 x, double dt)
{
    rp__vec3 shift = rp__body_shift(body, &body->pose, x);
    rp__vec3 end = rp__pose_apply(&body->pose_next, rp__pose_inverse_apply(&body->pose, rp__vec3_add(x, shift)));
    if (body->def.sequence)
        end = rp__vec3_axpy(dt, rp__body_deforming(body, end), end);
    return rp__vec3_sub(end, shift);
}

/* (R - 1) r = tan(theta / 2) e × (r + R r), e the axis: so omega × a with a = (r + R r) / 2 across the axis, times tan(theta / 2) / (theta / 2). */
rp__vec3 rp__body_mean_arm(const rp__body *body, rp__vec3 x, double dt)
{
    rp__quat turn = rp__quat_multiply(body->pose_next.orientation, rp__quat_conjugate(body->pose.orientation));
    rp__vec3 arm = rp__body_arm(body, x), mean = rp__vec3_scale(0.5, rp__vec3_add(arm, rp__quat_rotate(turn, arm)));
    double angle = rp__vec3_norm(body->omega) * dt;
    if (!(angle > 1e-9))
        return mean;
    rp__vec3 axis = rp__vec3_unit(body->omega, z_axis), along = rp__vec3_scale(rp__vec3_dot(mean, axis), axis);
    double half = 0.5 * fmin(angle, 3); /* half a turn in a step goes either way */
    return rp__vec3_axpy(tan(half) / half, rp__vec3_sub(mean, along), along);
}

rp_result rp__body_deform(rp__body *body, double time)
{
    if (!body->def.sequence || !body->present)
        return RP_OK;
    rp_shape *next = NULL;
    rp_result result = rp_mesh_sequence_evaluate(body->def.sequence, time, &next);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "body '%s' at t = %g s: ", body->def.name, time);
    rp_shape_release(body->shape_next);
    body->shape_next = next;
    return RP_OK;
}

rp_result rp__body_reshape(rp__body *body, double time)
{
    if (!body->def.sequence)
        return RP_OK;
    rp_shape *now = NULL;
    RP_TRY(rp_mesh_sequence_evaluate(body->def.sequence, time, &now));
    rp_shape_release(body->def.shape);
    rp_shape_release(body->shape_next);
    body->def.shape = now;
    body->shape_next = NULL;
    return RP_OK;
}

/* I_world = R I_local Rᵀ */
static rp__mat3 inertia_world(const rp__body *body)
{
    rp__mat3 r = rp__quat_matrix(body->pose.orientation), rt = rp__mat3_transpose(&r);
    rp__mat3 a = rp__mat3_multiply(&r, &body->inertia_local);
    return rp__mat3_multiply(&a, &rt);
}

/* Inverse by cofactors; the inertia of a solid is positive definite. */
static rp__mat3 inverse(const rp__mat3 *a)
{
    double d = 1 / rp__mat3_determinant(a);
    rp__mat3 b;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            b.m[j][i] = d * (a->m[i1][j1] * a->m[i2][j2] - a->m[i1][j2] * a->m[i2][j1]);
        }
    return b;
}

/* The one direction (linear, angular) in which a hinge or slider lets the centre of mass move. */
static void joint_direction(const rp__body *body, rp__vec3 *linear, rp__vec3 *angular)
{
    rp__vec3 axis = rp__vec3_unit(rp__vec3_load(body->def.joint_axis), z_axis);
    if (body->def.joint == RP_JOINT_SLIDER) {
        *linear = axis;
        *angular = rp__vec3_make(0, 0, 0);
    } else {
        rp__vec3 arm = rp__vec3_sub(body->pose.position, rp__vec3_load(body->def.joint_point));
        *linear = rp__vec3_cross(axis, arm);
        *angular = axis;
    }
}

/* dᵀ M d along the joint's direction d. */
static double joint_mass(const rp__body *body, rp__vec3 linear, rp__vec3 angular)
{
    rp__mat3 inertia = inertia_world(body);
    return body->mass * rp__vec3_dot(linear, linear) + rp__vec3_dot(angular, rp__mat3_apply(&inertia, angular));
}

static bool one_degree(const rp__body *body)
{
    return body->def.joint == RP_JOINT_HINGE || body->def.joint == RP_JOINT_SLIDER;
}

/* A speed motor without limit holds its speed whatever the grains do. */
static bool driven(const rp__body *body)
{
    return one_degree(body) && body->def.motor == RP_MOTOR_SPEED && !(body->def.motor_limit > 0);
}

void rp__body_inverse_mass(const rp__body *body, double w[36])
{
    memset(w, 0, 36 * sizeof *w);
    if (body->def.kind != RP_BODY_FREE || body->def.joint == RP_JOINT_FIXED || driven(body))
        return;
    if (one_degree(body)) { /* W = d dᵀ / (dᵀ M d) */
        rp__vec3 linear, angular;
        joint_direction(body, &linear, &angular);
        double d[6] = { linear.x, linear.y, linear.z, angular.x, angular.y, angular.z };
        double m = joint_mass(body, linear, angular);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                w[6 * i + j] = d[i] * d[j] / m;
        return;
    }
    rp__mat3 inertia = inertia_world(body), inv = inverse(&inertia);
    for (int i = 0; i < 3; i++) {
        w[7 * i] = body->inverse_mass;
        for (int j = 0; j < 3; j++)
            w[6 * (3 + i) + 3 + j] = inv.m[i][j];
    }
}

void rp__body_apply(rp__body *body, rp__vec3 impulse, rp__vec3 angular_impulse)
{
    double w[36];
    rp__body_inverse_mass(body, w);
    double p[6] = { impulse.x, impulse.y, impulse.z, angular_impulse.x, angular_impulse.y, angular_impulse.z };
    double dv[6];
    for (int i = 0; i < 6; i++) {
        dv[i] = 0;
        for (int j = 0; j < 6; j++)
            dv[i] += w[6 * i + j] * p[j];
    }
    body->velocity = rp__vec3_add(body->velocity, rp__vec3_make(dv[0], dv[1], dv[2]));
    body->omega = rp__vec3_add(body->omega, rp__vec3_make(dv[3], dv[4], dv[5]));
}

/* 2D: motion in the plane, rotation about z. */
static void flatten(rp__body *body)
{
    body->velocity.z = 0;
    body->omega.x = body->omega.y = 0;
}

/* Keeps the part of the velocity that the joint allows: v = d (dᵀ M v) / (dᵀ M d). */
static void project_on_joint(rp__body *body)
{
    if (body->def.joint == RP_JOINT_FIXED) {
        body->velocity = body->omega = rp__vec3_make(0, 0, 0);
        return;
    }
    if (!one_degree(body))
        return;
    rp__vec3 linear, angular;
    joint_direction(body, &linear, &angular);
    rp__mat3 inertia = inertia_world(body);
    double momentum = body->mass * rp__vec3_dot(linear, body->velocity) +
                      rp__vec3_dot(angular, rp__mat3_apply(&inertia, body->omega));
    double speed = momentum / joint_mass(body, linear, angular);
    body->velocity = rp__vec3_scale(speed, linear);
    body->omega = rp__vec3_scale(speed, angular);
}

static void drive_motor(rp__body *body, double dt)
{
    if (!one_degree(body) || body->def.motor == RP_MOTOR_NONE)
        return;
    rp__vec3 linear, angular;
    joint_direction(body, &linear, &angular);
    double m = joint_mass(body, linear, angular);
    double speed = rp__vec3_dot(angular, angular) > 0 ? rp__vec3_dot(angular, body->omega)
                                                      : rp__vec3_dot(linear, body->velocity);
    double impulse;
    if (body->def.motor == RP_MOTOR_FORCE)
        impulse = body->def.motor_value * dt;
    else {
        impulse = m * (body->def.motor_value - speed);
        double most = body->def.motor_limit * dt;
        if (body->def.motor_limit > 0)
            impulse = fmax(-most, fmin(most, impulse));
    }
    body->velocity = rp__vec3_axpy(impulse / m, linear, body->velocity);
    body->omega = rp__vec3_axpy(impulse / m, angular, body->omega);
}

/* pose_next from the present velocity. */
void rp__body_predict(rp__body *body, double dt)
{
    body->pose_next.orientation = rp__quat_unit(rp__quat_advance(body->pose.orientation, body->omega, dt));
    if (body->def.joint == RP_JOINT_HINGE) { /* on the circle about the hinge, so that it never drifts off */
        rp__vec3 pivot = rp__vec3_load(body->def.joint_point);
        rp__quat turn = rp__quat_from_vector(rp__vec3_scale(dt, body->omega));
        rp__vec3 arm = rp__vec3_sub(body->pose.position, pivot);
        body->pose_next.position = rp__vec3_add(pivot, rp__quat_rotate(turn, arm));
    } else {
        body->pose_next.position = rp__vec3_axpy(dt, body->velocity, body->pose.position);
    }
}

static void begin_free(rp__body *body, double dt, const double gravity[3], int dim)
{
    const rp_body_def *def = &body->def;
    body->velocity = rp__vec3_axpy(dt, rp__vec3_load(gravity), body->velocity);
    rp__vec3 force = rp__vec3_load(def->force), torque = rp__vec3_load(def->torque);
    if (body->drive.push_until != RP__BODY_NONE)
        force = rp__vec3_add(force, body->drive.push_force), torque = rp__vec3_add(torque, body->drive.push_torque);
    body->velocity = rp__vec3_axpy(dt * body->inverse_mass, force, body->velocity);
    /* Gyroscopic term explicitly: I dw/dt = tau - w × I w */
    rp__mat3 inertia = inertia_world(body), inv = inverse(&inertia);
    rp__vec3 gyro = rp__vec3_cross(body->omega, rp__mat3_apply(&inertia, body->omega));
    rp__vec3 load = rp__vec3_sub(torque, gyro);
    body->omega = rp__vec3_axpy(dt, rp__mat3_apply(&inv, load), body->omega);
    body->velocity = rp__vec3_scale(1 / (1 + dt * def->linear_damping), body->velocity);
    body->omega = rp__vec3_scale(1 / (1 + dt * def->angular_damping), body->omega);
    if (dim == 2)
        flatten(body);
    project_on_joint(body);
    drive_motor(body, dt);
    rp__body_predict(body, dt);
}

rp_result rp__body_begin(rp__body *body, double time, double dt, const double gravity[3], int dim)
{
    const rp_body_def *def = &body->def;
    bool was_present = body->present;
    /* A step belongs to the body when its middle does: frame times are rounded. */
    body->present = time + 0.5 * dt >= def->start && time + 0.5 * dt < def->stop && !body->drive.removed;
    body->force = body->torque = body->normal_force = body->shift = body->turn = rp__vec3_make(0, 0, 0);
    body->fluid_pressure = body->fluid_viscous = rp__vec3_make(0, 0, 0);
    if (!body->present)
        return RP_OK;
    if (def->kind == RP_BODY_FREE) {
        begin_free(body, dt, gravity, dim);
        return RP_OK;
    }
    if (body->drive.driven) {
        rp__body_drive_begin(body, time, dt);
        return RP_OK;
    }
    if (!def->motion)
        return RP_OK;
    RP_TRY(rp__motion_pose_at(def->motion, time + dt, &body->pose_next));
    if (!was_present)
        RP_TRY(rp__motion_pose_at(def->motion, time, &body->pose));
    rp__body_follow(body, dt);
    return RP_OK;
}

void rp__body_end(rp__body *body, double dt, int dim)
{
    if (!body->present)
        return;
    if (body->def.kind == RP_BODY_FREE) {
        if (dim == 2)
            flatten(body);
        rp__vec3 v = body->velocity, omega = body->omega;
        body->velocity = rp__vec3_add(v, body->shift);
        body->omega = rp__vec3_add(omega, body->turn);
        rp__body_predict(body, dt);
        body->velocity = v, body->omega = omega;
    }
    body->pose = body->pose_next;
    if (body->shape_next) {
        rp_shape_release(body->def.shape);
        body->def.shape = body->shape_next;
        body->shape_next = NULL;
    }
}

/* ---- checkpoint ---- */

enum { SAVED = 29 }; /* numbers a body */

static void pack(const rp__body *body, double out[SAVED])
{
    rp__vec3_store(out, body->pose.position);
    out[3] = body->pose.orientation.w, out[4] = body->pose.orientation.x;
    out[5] = body->pose.orientation.y, out[6] = body->pose.orientation.z;
    rp__vec3_store(out + 7, body->velocity);
    rp__vec3_store(out + 10, body->omega);
    rp__vec3_store(out + 13, body->force);
    rp__vec3_store(out + 16, body->torque);
    out[19] = body->present;
    rp__vec3_store(out + 20, body->normal_force);
    rp__vec3_store(out + 23, body->fluid_pressure);
    rp__vec3_store(out + 26, body->fluid_viscous);
}

static void unpack(rp__body *body, const double in[SAVED])
{
    body->pose.position = rp__vec3_load(in);
    body->pose.orientation = (rp__quat){ in[3], in[4], in[5], in[6] };
    body->pose_next = body->pose;
    body->velocity = rp__vec3_load(in + 7);
    body->omega = rp__vec3_load(in + 10);
    body->force = rp__vec3_load(in + 13);
    body->torque = rp__vec3_load(in + 16);
    body->present = in[19] != 0;
    body->normal_force = rp__vec3_load(in + 20);
    body->fluid_pressure = rp__vec3_load(in + 23);
    body->fluid_viscous = rp__vec3_load(in + 26);
}

rp_result rp__body_save(const rp__body *bodies, int count, rp_state *state)
{
    double *all = RP_NEW_ARRAY(double, count * SAVED);
    if (!all)
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < count; b++)
        pack(&bodies[b], all + b * SAVED);
    rp_result result = rp_state_add(state, "bodies", RP_F64, (int64_t)count * SAVED, all);
    rp__base_free(all);
    return result;
}

rp_result rp__body_restore(rp__body *bodies, int count, const rp_state *state)
{
    const rp_blob *blob = rp_state_find(state, "bodies");
    if (!blob || blob->type != RP_F64 || blob->count != (int64_t)count * SAVED)
        return rp__base_fail(RP_BAD_FILE, "the checkpoint does not hold the %d bodies of the scene", count);
    for (int b = 0; b < count; b++)
        unpack(&bodies[b], (const double *)blob->data + b * SAVED);
    return RP_OK;
}
