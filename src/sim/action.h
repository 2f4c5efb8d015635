/* An action as data: what the journal holds. */
#ifndef RP_SIM_ACTION_H
#define RP_SIM_ACTION_H

#include "base/json.h"
#include "base/text.h"

#include <repose/action.h>

enum { RP__SIM_COOKIE = 0x53696d31 }; /* of definitions made by rp_default_… */

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
    A(BODY_ADD, body_add, "body_add")       \
    A(BODY_REMOVE, body_remove, "body_remove") \
    A(GRAINS_ADD, grains_add, "grains_add") \
    A(GRAINS_REMOVE, grains_remove, "grains_remove") \
    A(FORCE_ADD, force_add, "force_add")    \
    A(FORCE_REMOVE, force_remove, "force_remove")    \
    A(KICK, kick, "kick")                   \
    A(EDIT, edit, "edit")                   \
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
    rp_body_def *new_body;       /* these are owned, with their names and shapes; NULL: none */
    rp_grains_def *new_grains;
    rp_force_def *force;
    rp_shape *shape;             /* grains to be removed: inside; NULL: by ids */
    double *ids;                 /* particles, whole numbers */
    int64_t id_count;
    double *values;              /* of a field: its components, particle by particle */
    int64_t value_count;
    int64_t done;                /* how many particles it was about, once performed. Not written */
    double step_end;             /* replay: when the step ended that it lasted for; 0: not known. Not written */
} rp__action;

/* Of that kind, every argument at its default. */
rp__action rp__action_make(rp__action_kind kind);

/* One line, with its line feed; RP_UNSUPPORTED when something in it cannot be written down. */
rp_result rp__action_write(const rp__action *action, rp__text *text);

/* One line without its line feed; the sentence says what is wrong, not where the line came from. */
rp_result rp__action_read(const char *line, size_t length, rp__action *action);

/* action_defs.c: definitions as objects of JSON, without what is at its default; and copies of their own. */
rp_result rp__action_write_body(const rp_body_def *def, rp__text *text);
rp_result rp__action_write_grains(const rp_grains_def *def, rp__text *text);
rp_result rp__action_write_force(const rp_force_def *def, rp__text *text);
rp_result rp__action_read_body(rp__json *json, rp_body_def **out);
rp_result rp__action_read_grains(rp__json *json, rp_grains_def **out);
rp_result rp__action_read_force(rp__json *json, rp_force_def **out);
rp_result rp__action_copy_body(const rp_body_def *def, rp_body_def **out);
rp_result rp__action_copy_grains(const rp_grains_def *def, rp_grains_def **out);
rp_result rp__action_copy_force(const rp_force_def *def, rp_force_def **out);
void rp__action_free_body(rp_body_def *def);
void rp__action_free_grains(rp_grains_def *def);
void rp__action_free_force(rp_force_def *def);

void rp__action_write_number(rp__text *text, double value);
void rp__action_write_numbers(rp__text *text, const double *values, int64_t count);

/* What it holds besides itself. */
void rp__action_free(rp__action *action);

#endif
