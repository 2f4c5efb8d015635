/* Driving a simulation from outside, between its steps. Whatever is done is also written down, as a line of JSON in the simulation's
 * journal: with (time, kind, arguments) it can be done again, to the byte, or with another method (docs/drive.md).
 *
 * Every call checks what it is given before it changes anything; a refused action leaves the simulation and the journal as they were.
 * None may be made while a step is under way. */
#ifndef REPOSE_ACTION_H
#define REPOSE_ACTION_H

#include <repose/sim.h>

RP_BEGIN

/* ---- the scene ---- */

RP_API rp_result rp_sim_set_gravity(rp_sim *sim, const double gravity[3]);

/* Any real parameter of rp_material_table; from now on, whatever keys the definition has for it. Grains keep the mass they have.
 * friction_angle also unsets friction, bulk_density also sets density, as in a definition. */
RP_API rp_result rp_sim_set_material(rp_sim *sim, int material, const char *parameter, double value);

/* ---- bodies: by index. Poses are those of the frame of the shape, orientations unit quaternions (w, x, y, z) ---- */

/* At once, without a path in between. A scripted body stays there and no longer follows its motion; a free one keeps its velocity. */
RP_API rp_result rp_sim_set_body_pose(rp_sim *sim, int body, const double position[3], const double orientation[4]);

/* Of a scripted body: kept until changed, instead of its motion. Of a free one: at once, of its centre of mass; it then obeys Newton. */
RP_API rp_result rp_sim_set_body_velocity(rp_sim *sim, int body, const double velocity[3], const double angular_velocity[3]);

/* A scripted body goes there at a constant velocity, reaches the pose at the time `reach` exactly (a step ends there), and stays. */
#define RP_NEXT_STEP (-1.0) /* as `reach`: at the end of the next step, however long that is */
RP_API rp_result rp_sim_set_body_target(rp_sim *sim, int body, const double position[3], const double orientation[4], double reach);

/* On a free body, world frame, torque about the centre of mass: until changed, instead of those of its definition. */
RP_API rp_result rp_sim_set_body_force(rp_sim *sim, int body, const double force[3], const double torque[3]);

/* The same, besides, for the next step only. */
RP_API rp_result rp_sim_push_body(rp_sim *sim, int body, const double force[3], const double torque[3]);

/* The value of the motor that its definition gives it: N m, N, rad/s or m/s. */
RP_API rp_result rp_sim_set_body_motor(rp_sim *sim, int body, double value);

/* A new body, there from now on (or in [start, stop) of its definition). Its index is *index (may be NULL); others keep theirs. A body with
 * a motion or a mesh sequence cannot be added: lead it by targets. */
RP_API rp_result rp_sim_add_body(rp_sim *sim, const rp_body_def *def, int *index);

/* It is gone for good; its index stays taken. */
RP_API rp_result rp_sim_remove_body(rp_sim *sim, int body);

/* ---- grains ---- */

/* Grains of a definition, where no body and no other grain is. *added (may be NULL) is how many particles. */
RP_API rp_result rp_sim_add_grains(rp_sim *sim, const rp_grains_def *def, int64_t *added);
RP_API rp_result rp_sim_remove_grains(rp_sim *sim, rp_shape *shape, int64_t *removed);
/* By the field "id"; ids that are no longer there are passed over. */
RP_API rp_result rp_sim_remove_grains_by_id(rp_sim *sim, const int64_t *ids, int64_t count, int64_t *removed);

/* ---- forces on the grains ---- */

typedef enum rp_force_kind {
    RP_FORCE_UNIFORM,   /* a = vector: a steady wind */
    RP_FORCE_DRAG,      /* dv/dt = -strength (v - vector): towards a velocity, as in a stream of air or water */
    RP_FORCE_VORTEX,    /* a = strength n × r / (|r|² + core²), r from the axis through point along vector, n its direction */
    RP_FORCE_ATTRACTOR, /* a = -strength r / (|r|² + core²)^(3/2), r from the point; a negative strength repels */
    RP_FORCE_CALLBACK   /* a C function, by name */
} rp_force_kind;

typedef struct rp_force_def {
    int cookie;             /* set by rp_default_force_def */
    const char *name;       /* a force of the same name is replaced */
    rp_force_kind kind;
    rp_shape *shape;        /* where it acts; NULL: everywhere */
    double vector[3];
    double point[3];
    double strength;        /* 1/s, m2/s2 or m3/s2 */
    double core;            /* [m] */
    const char *callback;   /* name of the function (rp_sim_set_callback) */
} rp_force_def;

RP_API rp_force_def rp_default_force_def(void); /* uniform, 0 */

/* Acceleration [m/s2] of a grain at x with velocity v. Called from several threads at once; must depend on nothing else. */
typedef void (*rp_force_fn)(void *context, double time, const double x[3], const double v[3], double acceleration[3]);

/* Gives a C function a name. The journal holds the name only: a replay, and a checkpoint, that need it are refused without it. NULL takes
 * it away, unless a force uses it. Not an action itself. */
RP_API rp_result rp_sim_set_callback(rp_sim *sim, const char *name, rp_force_fn function, void *context);

/* From now on, until removed: at the beginning of each step, v += dt a. Bodies feel it through the grains only. */
RP_API rp_result rp_sim_add_force(rp_sim *sim, const rp_force_def *def);
RP_API rp_result rp_sim_remove_force(rp_sim *sim, const char *name);

/* The same at once: v += seconds a (drag: as much as in that time). */
RP_API rp_result rp_sim_kick(rp_sim *sim, const rp_force_def *def, double seconds);

/* ---- particle fields ---- */

/* An edit of one field: component c of particle i is element c * *stride + i of *data, to be changed at will until the edit closes;
 * closing checks it (finite, inside the domain, materials that exist), writes the particles that changed into the journal by their id,
 * and counts them in *changed (may be NULL). A refused edit changes nothing. No step and no other action while it is open. The field
 * "id" cannot be edited. Replayed, it needs the same particles: another cell size has others. */
RP_API rp_result rp_sim_edit_open(rp_sim *sim, const char *field, void **data, int64_t *stride);
RP_API rp_result rp_sim_edit_close(rp_sim *sim, int64_t *changed);
RP_API void rp_sim_edit_cancel(rp_sim *sim); /* as it was; nothing when none is open */

/* ---- actions as data ---- */

/* Performs the action of one line of a journal now, whatever time the line has:
 *     {"kind":"body_push","body":"ball","force":[0,0,5],"torque":[0,0,0]}
 * Bodies and materials by name or index. docs/drive.md lists the kinds. */
RP_API rp_result rp_sim_act(rp_sim *sim, const char *line);

/* The lines of all that was done so far, each ending with a line feed; "" when nothing was. Valid until the next action or step. */
RP_API const char *rp_sim_journal(const rp_sim *sim);

/* Actions to come: each is performed when the simulation reaches its time, and a step ends there. Lines must be in order of time and
 * not lie before now. Given again, they are added behind. With the definition they were performed on, the run has the same bytes;
 * under another method or on finer cells it is the same performance. */
RP_API rp_result rp_sim_replay(rp_sim *sim, const char *journal);
RP_API int64_t rp_sim_replay_left(const rp_sim *sim); /* actions still to come */

RP_END
#endif
