/* Controls of a scene (`controls:`): joints that keys, the mouse and gamepads move. Only the thread of the simulation calls these, but for
 * controls_text. */
#ifndef REPOSE_APPS_VIEW_CONTROLS_H
#define REPOSE_APPS_VIEW_CONTROLS_H

#include <repose/repose.h>
#include <stdio.h>

enum { CONTROLS_MOST = 64 };

typedef struct control {
    const rp_control_def *def;
    int body, parent;          /* parent: -1 for none */
    double input;              /* -1 … 1 */
    double place;              /* q, from 0 at the start */
    double motor;              /* value last set */
} control;

/* Where the joints were: to go back to with the simulation. */
typedef struct control_past {
    double time;
    double place[CONTROLS_MOST];
} control_past;

typedef struct controls {
    rp_sim *sim;
    control item[CONTROLS_MOST];
    rp_body_state first[CONTROLS_MOST]; /* pose of its body at the start */
    int count;
    bool held;                 /* bodies no longer follow their own motion */
    control_past *past;
    int past_count, past_room;
} controls;

rp_result controls_init(controls *c, const rp_scene *scene, rp_sim *sim);
void controls_free(controls *c);
/* ,"controls":[…] of the scene message */
void controls_text(const controls *c, FILE *to);
void controls_set(controls *c, int64_t index, double value);
/* Before each step: targets for the bodies, values for motors. */
rp_result controls_apply(controls *c);
/* The simulation was set back. */
void controls_reset(controls *c);

/* The pose of body `body` (position, quaternion) with the joints as they are. */
void controls_pose(const controls *c, int index, double position[3], double orientation[4]);

#endif
