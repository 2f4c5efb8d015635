/* An action as data: what the journal holds. */
#ifndef RP_SIM_ACTION_H
#define RP_SIM_ACTION_H

#include "base/text.h"

#include <repose/action.h>

/* One list for the enumeration, the names in the journal and the functions that perform them (rp__sim_do_…). */
#define RP__ACTIONS(A)                      \
    A(GRAVITY, gravity, "gravity")          \
    A(MATERIAL, material, "material")       \
    A(BODY_POSE, body_pose, "body_pose")    \
    A(BODY_VELOCITY, body_velocity, "body_velocity") \
    A(BODY_TARGET, body_target, "body_target")       \
    A(BODY_FORCE, body_force, "body_force") \
    A(BODY_PUSH, body_push, "body_push")    \
    A(BODY_MOTOR, body_motor, "body_motor") \
    A(STEP, step, "step") /* a step ended here: one that was cut short, or that something lasted for */

typedef enum rp__action_kind {
#define A(id, function, name) RP__ACTION_##id,
    RP__ACTIONS(A)
#undef A
    RP__ACTION_COUNT
} rp__action_kind;

/* A body or a material: by index, or by a name that is looked up when the action is performed. */
typedef struct rp__action_subject {
    int64_t index; /* -1: by name */
    char name[64];
} rp__action_subject;

typedef struct rp__action {
    rp__action_kind kind;
    double time;                 /* when it was performed, or is to be */
    int64_t step;                /* after how many steps it was; for readers */
    rp__action_subject body, material;
    char parameter[64];
    double vector[3], second[3]; /* position, velocity, force, gravity; angular velocity, torque */
    double orientation[4];
    double value;
    double until;                /* the time a target is reached; RP_NEXT_STEP: not given */
    double step_end;             /* replay: when the step ended that it lasted for; 0: not known. Not written */
} rp__action;

/* Of that kind, every argument at its default. */
rp__action rp__action_make(rp__action_kind kind);

/* One line, with its line feed. */
void rp__action_write(const rp__action *action, rp__text *text);

/* One line without its line feed; the sentence says what is wrong, not where the line came from. */
rp_result rp__action_read(const char *line, size_t length, rp__action *action);

/* What it holds besides itself. */
void rp__action_free(rp__action *action);

#endif
