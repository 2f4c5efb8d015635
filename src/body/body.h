/* Rigid bodies: scripted ones follow their motion, free ones obey Newton's law with joints to the world. */
#ifndef RP_BODY_BODY_H
#define RP_BODY_BODY_H

#include "math/quat.h"
#include "math/vec.h"

#include <repose/sim.h>

/* What a program does to a body from outside. A scripted body that was driven once no longer follows its motion: it goes to its target,
 * or on with the velocity given, or stays where it is. */
typedef enum rp__body_until { RP__BODY_NONE, RP__BODY_ONE_STEP /* to the end of the next step */, RP__BODY_TIME /* to a time */ } rp__body_until;

typedef struct rp__body_drive {
    bool removed;                       /* for good */
    bool driven;                        /* scripted: poses come from here */
    rp__body_until target_until;
    bool target_one_step;               /* until a time that was the end of one step when it was performed */
    rp__pose target;                    /* of the frame of the shape */
    double target_time;
    bool reached;                       /* by the step under way */
    rp__vec3 velocity, omega;           /* scripted: kept until changed; zero: it stays */
    rp__body_until push_until;
    rp__vec3 push_force, push_torque;   /* free: besides the constant load */
    double push_time;
} rp__body_drive;

typedef struct rp__body {
    rp_body_def def;                    /* its shape, sequence and motion are retained; the shape of a sequence is that of pose */
    rp_shape *shape_next;               /* of a sequence: at pose_next, while a step runs; else NULL */
    bool present;                       /* within [start, stop) */
    rp__pose pose;                      /* position = centre of mass of a free body, origin of the frame of a scripted one */
    rp__vec3 velocity, omega;           /* of that point, world frame; scripted: (pose_next - pose) / dt */
    rp__pose pose_next;                 /* at the end of the step (scripted: from the motion; free: predicted, then set) */
    rp__vec3 centre_local;              /* centre of mass in the frame of the shape (zero for scripted) */
    rp__vec3 middle;                    /* of what its shape fills, in the frame of the shape */
    double period[3];                   /* along an axis on which space repeats; 0: it does not, or the body is as long as that */
    double mass, inverse_mass;          /* inverse 0: infinitely heavy */
    rp__mat3 inertia_local;             /* about the centre */
    rp__vec3 *samples;                  /* free: points on its surface, from the centre of mass */
    int64_t sample_count;
    double radius;                      /* free: of the farthest of them */
    double thickness;                   /* free: half of its least extent */
    rp__vec3 shift, turn;               /* free: velocities of this step only, that take it out of an overlap */
    rp__vec3 force, torque;             /* of the grains, over the last step; torque about pose.position */
    rp__vec3 normal_force;              /* the part of the force along the normals of its contacts */
    rp__vec3 fluid_pressure, fluid_viscous; /* the parts of the force that a fluid does */
    void *user_data;                    /* of the program */
    rp__body_drive drive;
} rp__body;

rp_result rp__body_init(rp__body *body, const rp_body_def *def, int dim, double time);
void rp__body_free(rp__body *body);

/* On periodic axes a body that is shorter than the domain is there once in every period, and acts through the faces: points given to the functions
 * below are taken to stand before the nearest of its images. Longer ones, and deforming ones, are where they are. */
void rp__body_repeat(rp__body *body, const rp_sim_def *def);
rp__vec3 rp__body_image(const rp__body *body, const rp__pose *pose, rp__vec3 x);
/* What takes x there. */
static inline rp__vec3 rp__body_shift(const rp__body *body, const rp__pose *pose, rp__vec3 x)
{
    return rp__vec3_sub(rp__body_image(body, pose, x), x);
}
/* From the centre of mass (free) or the origin (scripted) of the nearest image to x. */
rp__vec3 rp__body_arm(const rp__body *body, rp__vec3 x);

/* Signed distance of a point to the body at `pose`, with its gradient. With &body->pose_next a deforming body has the shape of then. */
double rp__body_distance(const rp__body *body, const rp__pose *pose, rp__vec3 point, rp__vec3 *gradient);

/* Velocity of the nearest point of a deforming body within its own frame, turned into the world. */
rp__vec3 rp__body_deforming(const rp__body *body, rp__vec3 x);

/* The first place at the surface on the way from a to b, both in the frame of the body; false when there is none. */
bool rp__body_path_meets(const rp__body *body, rp__vec3 a, rp__vec3 b, double tiny, rp__vec3 *at);

/* Whether the body, at the end of its step, lies between two points of space, or holds the second. */
bool rp__body_between(const rp__body *body, rp__vec3 x0, rp__vec3 x1, double tiny);

/* Where a particle that went from x0 to x1 in this step is allowed to be: outside, on the side it came from, however thin or
 * fast the body is. True when it had crossed the body; *normal is then that of the surface it met. */
bool rp__body_keep_outside(const rp__body *body, rp__vec3 x0, double tiny, rp__vec3 *x1, rp__vec3 *normal);

/* The same, and a particle that crossed the body keeps no speed into it. */
void rp__body_guard(const rp__body *body, rp__vec3 x0, double tiny, rp__vec3 *x1, rp__vec3 *velocity);

/* A deforming body gets the shape of the end of its step, which it takes on in rp__body_end; others do nothing. */
rp_result rp__body_deform(rp__body *body, double time);

/* A deforming body takes the shape of a time at once: after a restart. */
rp_result rp__body_reshape(rp__body *body, double time);

/* A body that cannot move: scripted, without a motion, and never driven. */
static inline bool rp__body_rests(const rp__body *body)
{
    return body->def.kind == RP_BODY_SCRIPTED && !body->def.motion && !body->def.sequence && !body->drive.driven;
}

/* Velocity of the body at a point of space: v + omega × (x - position), and what its deformation adds. */
static inline rp__vec3 rp__body_velocity_at(const rp__body *body, rp__vec3 x)
{
    rp__vec3 v = rp__vec3_add(body->velocity, rp__vec3_cross(body->omega, rp__body_arm(body, x)));
    return body->def.sequence ? rp__vec3_add(v, rp__body_deforming(body, x)) : v;
}

/* Where the body takes a place of itself in its step (of a free body: as predicted): x_1 = X_1 X_0⁻¹ x, X_0 and X_1 its poses, and what its
 * deformation adds. (x_1 - x) / dt is the velocity with which the place gets there; v + omega × arm leads to the side of it wherever the body
 * turns. */
rp__vec3 rp__body_carried(const rp__body *body, rp__vec3 x, double dt);

/* The arm a with v + omega × a = (x_1 - x) / dt, in the middle of its way: a force that acts on the place all that way does the work
 * (f·v + (a × f)·omega) dt. What its deformation adds is left out. */
rp__vec3 rp__body_mean_arm(const rp__body *body, rp__vec3 x, double dt);

/* World-frame inverse inertia, with the joint's constraint applied: the 6×6 inverse mass seen by an impulse (row-major,
 * linear then angular). Zero for scripted bodies. */
void rp__body_inverse_mass(const rp__body *body, double w[36]);

/* Beginning of a step: scripted bodies get pose_next and velocities from their motion; free ones get gravity, damping,
 * constant loads, motors and joints as a predicted velocity. Warns when a scripted body jumps (teleports). */
rp_result rp__body_begin(rp__body *body, double time, double dt, const double gravity[3], int dim);

/* Adds an impulse at the centre of mass (N s, N m s) to a free body's velocity, through rp__body_inverse_mass. */
void rp__body_apply(rp__body *body, rp__vec3 impulse, rp__vec3 angular_impulse);

/* pose_next of a free body from its present velocity; methods call it when they have changed that velocity. */
void rp__body_predict(rp__body *body, double dt);

/* End of a step: free bodies move with their velocity; pose = pose_next. */
void rp__body_end(rp__body *body, double dt, int dim);

/* drive.c: what was done from outside. The body stands where the pose (of the frame of its shape) says, at once. */
void rp__body_set_pose(rp__body *body, const rp__pose *frame);
void rp__body_set_velocity(rp__body *body, rp__vec3 velocity, rp__vec3 omega);
/* pose_next and velocities of a driven scripted body, for the step from `time` that takes dt. */
void rp__body_drive_begin(rp__body *body, double time, double dt);
/* Velocities from pose to pose_next. */
void rp__body_follow(rp__body *body, double dt);
/* What lasted for the step is over. */
void rp__body_drive_end(rp__body *body, double time);
/* Numbers of the drive, of the constant load and of the motor: to the bit. */
enum { RP__BODY_DRIVE_NUMBERS = 34 };
void rp__body_drive_pack(const rp__body *body, double out[RP__BODY_DRIVE_NUMBERS]);
void rp__body_drive_unpack(rp__body *body, const double in[RP__BODY_DRIVE_NUMBERS]);

rp_result rp__body_save(const rp__body *bodies, int count, rp_state *state);
rp_result rp__body_restore(rp__body *bodies, int count, const rp_state *state);

#endif
