/* Bodies that a program moves and pushes from outside. */
#include "body/body.h"

#include <math.h>

void rp__body_follow(rp__body *body, double dt)
{
    rp__quat turn = rp__quat_multiply(body->pose_next.orientation, rp__quat_conjugate(body->pose.orientation));
    body->velocity = rp__vec3_scale(1 / dt, rp__vec3_sub(body->pose_next.position, body->pose.position));
    body->omega = rp__vec3_scale(1 / dt, rp__quat_to_vector(turn));
}

void rp__body_set_pose(rp__body *body, const rp__pose *frame)
{
    body->pose.orientation = rp__quat_unit(frame->orientation);
    body->pose.position = rp__vec3_add(frame->position, rp__quat_rotate(body->pose.orientation, body->centre_local));
    body->pose_next = body->pose;
    if (body->def.kind == RP_BODY_SCRIPTED) {
        body->drive.driven = true;
        body->drive.target_until = RP__BODY_NONE;
        body->drive.velocity = body->drive.omega = body->velocity = body->omega = rp__vec3_make(0, 0, 0);
    }
}

void rp__body_set_velocity(rp__body *body, rp__vec3 velocity, rp__vec3 omega)
{
    body->velocity = velocity;
    body->omega = omega;
    if (body->def.kind == RP_BODY_SCRIPTED) {
        body->drive.driven = true;
        body->drive.target_until = RP__BODY_NONE;
        body->drive.velocity = velocity;
        body->drive.omega = omega;
    }
}

/* A step that ends at the time of the target, or closer to it than a millionth of itself, reaches it; a shorter one goes its part of
 * the way, at the velocity that arrives in time: x' = x + (X - x) dt / (T - t), and the same for the rotation vector. */
void rp__body_drive_begin(rp__body *body, double time, double dt)
{
    const rp__body_drive *drive = &body->drive;
    body->pose_next = body->pose;
    body->drive.reached = false;
    if (drive->target_until != RP__BODY_NONE) {
        double left = drive->target_time - time;
        body->drive.reached = drive->target_until == RP__BODY_ONE_STEP || left - dt <= 1e-6 * dt;
        rp__quat turn = rp__quat_multiply(drive->target.orientation, rp__quat_conjugate(body->pose.orientation));
        if (body->drive.reached) {
            body->pose_next = drive->target;
        } else {
            rp__vec3 way = rp__vec3_sub(drive->target.position, body->pose.position);
            body->pose_next.position = rp__vec3_axpy(dt / left, way, body->pose.position);
            rp__quat part = rp__quat_from_vector(rp__vec3_scale(dt / left, rp__quat_to_vector(turn)));
            body->pose_next.orientation = rp__quat_unit(rp__quat_multiply(part, body->pose.orientation));
        }
        rp__body_follow(body, dt);
        return;
    }
    body->velocity = drive->velocity;
    body->omega = drive->omega;
    body->pose_next.position = rp__vec3_axpy(dt, drive->velocity, body->pose.position);
    if (rp__vec3_dot(drive->omega, drive->omega) > 0)
        body->pose_next.orientation = rp__quat_unit(rp__quat_advance(body->pose.orientation, drive->omega, dt));
}

void rp__body_drive_end(rp__body *body, double time)
{
    rp__body_drive *drive = &body->drive;
    if (drive->target_until != RP__BODY_NONE && drive->reached)
        drive->target_until = RP__BODY_NONE;
    drive->reached = false;
    if (drive->push_until == RP__BODY_ONE_STEP || (drive->push_until == RP__BODY_TIME && time >= drive->push_time))
        drive->push_until = RP__BODY_NONE;
}

void rp__body_drive_pack(const rp__body *body, double out[RP__BODY_DRIVE_NUMBERS])
{
    rp__body_drive clean = body->drive, *d = &clean;
    if (d->target_until == RP__BODY_NONE) /* what is over leaves no trace */
        d->target = rp__pose_identity(), d->target_one_step = false, d->target_time = 0;
    if (d->push_until == RP__BODY_NONE)
        d->push_force = d->push_torque = rp__vec3_make(0, 0, 0), d->push_time = 0;
    const rp__quat q = d->target.orientation;
    double head[8] = { d->driven, d->target_until, d->target_one_step, d->target_time, d->push_until, d->push_time, body->def.motor_value, d->removed };
    for (int i = 0; i < 8; i++)
        out[i] = head[i];
    rp__vec3_store(out + 8, d->target.position);
    out[11] = q.w, out[12] = q.x, out[13] = q.y, out[14] = q.z;
    rp__vec3_store(out + 15, d->velocity);
    rp__vec3_store(out + 18, d->omega);
    rp__vec3_store(out + 21, d->push_force);
    rp__vec3_store(out + 24, d->push_torque);
    for (int a = 0; a < 3; a++)
        out[27 + a] = body->def.force[a], out[30 + a] = body->def.torque[a];
    out[33] = 0;
}

static rp__body_until until_of(double number)
{
    return number == 1 ? RP__BODY_ONE_STEP : number == 2 ? RP__BODY_TIME : RP__BODY_NONE;
}

void rp__body_drive_unpack(rp__body *body, const double in[RP__BODY_DRIVE_NUMBERS])
{
    rp__body_drive *d = &body->drive;
    d->driven = in[0] != 0 && body->def.kind == RP_BODY_SCRIPTED;
    d->target_until = until_of(in[1]);
    d->target_one_step = in[2] != 0;
    d->target_time = in[3];
    d->push_until = until_of(in[4]);
    d->push_time = in[5];
    d->reached = false;
    body->def.motor_value = in[6];
    d->removed = in[7] != 0;
    d->target.position = rp__vec3_load(in + 8);
    d->target.orientation = rp__quat_unit((rp__quat){ in[11], in[12], in[13], in[14] });
    if (d->target_until == RP__BODY_NONE)
        d->target = rp__pose_identity();
    d->velocity = rp__vec3_load(in + 15);
    d->omega = rp__vec3_load(in + 18);
    d->push_force = rp__vec3_load(in + 21);
    d->push_torque = rp__vec3_load(in + 24);
    for (int a = 0; a < 3; a++)
        body->def.force[a] = in[27 + a], body->def.torque[a] = in[30 + a];
}
