/* The simulation's own structure; only files of this room see it. */
#ifndef RP_SIM_INTERNAL_H
#define RP_SIM_INTERNAL_H

#include "base/memory.h"
#include "base/text.h"
#include "sim/action.h"
#include "sim/method.h"

#include <repose/query.h>
#include <stdatomic.h>

typedef struct rp__emitter {
    double *sites;        /* x y z each: places where a particle may appear */
    int64_t site_count;
    double spacing;
    double owed;          /* bulk volume still to be emitted */
} rp__emitter;

/* A C function that a program named, and a force on the grains that acts. */
typedef struct rp__sim_callback {
    char name[64];
    rp_force_fn function;
    void *context;
} rp__sim_callback;

/* An edit of a field that is open. */
typedef struct rp__sim_edit {
    bool open;
    int field;
    void *before;         /* its planes as they were, one behind the other */
} rp__sim_edit;

/* What was done from outside, and what is still to be done. */
typedef struct rp__sim_drive {
    bool used;            /* something was ever done or is to come: else nothing of this is saved, and steps do not look here */
    bool stepping;        /* a step is under way: no action may be done */
    rp__text journal;     /* lines of JSON */
    rp__action *queue;    /* to be performed, by time, from `next` on */
    int64_t queue_count, queue_capacity, next;
    double gravity[3];    /* of the definition */
    rp__sim_callback *callbacks;
    int64_t callback_count, callback_capacity;
    rp_force_def **forces; /* that act now */
    int64_t force_count, force_capacity;
    double *velocity_before; /* of the particles of id_before: before the forces of a step that may be given up */
    int64_t *id_before;
    int64_t before_count;
    rp__text added;       /* the lines of the bodies that were added, in the order of their indices */
    rp__sim_edit edit;
    bool *key_off;        /* a key of the definition: its parameter was set from outside */
} rp__sim_drive;

/* Contacts of the last step, while they are recorded. */
struct rp__touches {
    rp__touch *items;
    int64_t count, capacity;
    atomic_flag busy;
    bool failed;
    rp_contact *contacts; /* as the program sees them */
    int64_t contact_capacity;
};

/* The particles by cells of a lattice over the domain, to find those near a place; made when first asked for, gone with the next change. */
typedef struct rp__finder {
    bool made;
    int64_t cells[3];
    double size, lower[3];
    int64_t *first; /* cells + 1 */
    int64_t *items; /* particles */
    int64_t cell_capacity, item_capacity;
    double largest; /* radius */
} rp__finder;

struct rp_sim {
    rp__finder finder;
    rp__base_context base; /* its own memory and messages */
    rp_hooks hooks;
    struct {              /* while a step runs with a progress hook */
        double begin, dt;
        volatile int give_up;
        const volatile int *asked; /* the program's flag */
    } watch;
    void *user_data;
    rp__arena arena;      /* copies of the definition */
    rp_sim_def def;
    const rp__method *method;
    const rp__method *calls; /* the table whose functions run here: the method's variant */
    void *params;         /* struct of the method's table */
    void *state;          /* the method's */
    bool made;            /* it was created */
    int first_field;      /* of the fields that the method added */
    rp_material_def *materials;
    rp__particles particles;
    rp__world world;
    rp__emitter *emitters;
    int64_t step, frame;
    double time;
    bool at_frame;
    rp__body *bodies_before; /* as they were when the step began; shapes and definitions in them are not owned */
    bool *jump_told;      /* a body: its jump was reported */
    unsigned char *flags; /* a particle: to be removed */
    int64_t flags_capacity;
    rp__sim_drive drive;
};

/* sim.c */
rp_result rp__sim_check_body_index(const rp_sim *sim, int index);
void rp__sim_body_state(const rp__body *body, rp_body_state *out);

/* definition.c */
rp_result rp__sim_check(const rp_sim_def *def);
rp_result rp__sim_check_cookie(int cookie, const char *what);
rp_result rp__sim_check_grains(const rp_sim_def *def, const rp_grains_def *grains);
rp_result rp__sim_check_body(const rp_body_def *body);
rp_result rp__sim_copy_definition(rp_sim *sim, const rp_sim_def *def);
void rp__sim_release_definition(rp_sim *sim);

/* fibres.c */
rp_result rp__sim_check_fibres(const rp_sim_def *def, const rp__method *method);
rp_result rp__sim_copy_fibres(rp_sim *sim, const rp_sim_def *def);

/* fill.c */
double rp__sim_spacing(const rp_sim_def *def, double per_cell);
double rp__sim_ball_volume(int dim, double r);
rp_result rp__sim_fill(rp_sim *sim);
rp_result rp__sim_prepare_emitters(rp_sim *sim);
rp_result rp__sim_emit(rp_sim *sim, double dt, int64_t *emitted);
rp_result rp__sim_drain(rp_sim *sim, int64_t *removed);
rp_result rp__sim_add_grains(rp_sim *sim, const rp_grains_def *def, int64_t *added);
rp_result rp__sim_remove_inside(rp_sim *sim, const rp_shape *shape, int64_t *removed);
rp_result rp__sim_flags(rp_sim *sim); /* flags[0 … count) cleared */

/* One function an action: checks, then changes. act.c, act_grains.c, force.c */
#define A(id, function, name) rp_result rp__sim_do_##function(rp_sim *sim, rp__action *action);
RP__ACTIONS(A)
#undef A
rp_result rp__sim_check_vector(const char *what, const double *v, int count);
rp_result rp__sim_find_body(const rp_sim *sim, rp__action *action, rp__body **out);
rp_result rp__sim_find_material(const rp_sim *sim, rp__action *action);
rp_result rp__sim_begin_action(rp_sim *sim, const char *function, bool arguments);
rp_result rp__sim_append_body(rp_sim *sim, const rp_body_def *def);
void rp__sim_drop_added_bodies(rp_sim *sim);

/* force.c: before a step of length dt; the largest acceleration known beforehand. */
rp_result rp__sim_check_callback(const rp_sim *sim, const rp_force_def *def);
rp_result rp__sim_apply_forces(rp_sim *sim, double dt);
rp_result rp__sim_take_forces_back(rp_sim *sim); /* the step was given up */
rp_result rp__sim_places_by_id(const rp_sim *sim, int64_t **out); /* where each particle is, by its id; -1: nowhere */
double rp__sim_force_bound(const rp_sim *sim);
void rp__sim_clear_forces(rp_sim *sim);

/* query.c */
void rp__sim_start_touches(rp_sim *sim);
rp_result rp__sim_sort_touches(rp_sim *sim);
void rp__sim_query_free(rp_sim *sim);

/* act.c: performs an action now and writes it into the journal; nothing happens when it is refused. */
rp_result rp__sim_act(rp_sim *sim, rp__action *action);
rp_result rp__sim_need(const rp_sim *sim, const char *function); /* there is a simulation, between two steps */
void rp__sim_set_material(rp_sim *sim, int material, const char *parameter, double value);

/* journal.c: actions to come, and what steps know of them. */
void rp__sim_drive_free(rp_sim *sim);
rp_result rp__sim_perform_due(rp_sim *sim);
double rp__sim_next_event(const rp_sim *sim);      /* the next time at which a step must end; infinity: none */
double rp__sim_tiny(const rp_sim *sim);            /* times closer than this are one */
bool rp__sim_lasts_one_step(const rp_sim *sim);
rp_result rp__sim_end_step(rp_sim *sim, bool mark);
rp_result rp__sim_drive_save(const rp_sim *sim, rp_state *state);
rp_result rp__sim_drive_restore(rp_sim *sim, const rp_state *state);

/* guard.c */
rp_result rp__sim_guard(rp_sim *sim, rp_step_stats *stats);
void rp__sim_energies(const rp_sim *sim, rp_step_stats *stats);
double rp__sim_fastest(const rp_sim *sim);

#endif
