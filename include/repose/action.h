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
