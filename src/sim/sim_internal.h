/* The simulation's own structure; only files of this room see it. */
#ifndef RP_SIM_INTERNAL_H
#define RP_SIM_INTERNAL_H

#include "base/memory.h"
#include "sim/method.h"

typedef struct rp__emitter {
    double *sites;        /* x y z each: places where a particle may appear */
    int64_t site_count;
    double spacing;
    double owed;          /* bulk volume still to be emitted */
} rp__emitter;

struct rp_sim {
    rp__arena arena;      /* copies of the definition */
    rp_sim_def def;
    const rp__method *method;
    void *params;         /* struct of the method's table */
    void *state;          /* the method's */
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
};

/* definition.c */
rp_result rp__sim_check(const rp_sim_def *def);
rp_result rp__sim_copy_definition(rp_sim *sim, const rp_sim_def *def);
void rp__sim_release_definition(rp_sim *sim);

/* fill.c */
double rp__sim_spacing(const rp_sim_def *def, double per_cell);
rp_result rp__sim_fill(rp_sim *sim);
rp_result rp__sim_prepare_emitters(rp_sim *sim);
rp_result rp__sim_emit(rp_sim *sim, double dt, int64_t *emitted);
rp_result rp__sim_drain(rp_sim *sim, int64_t *removed);
rp_result rp__sim_flags(rp_sim *sim); /* flags[0 … count) cleared */

/* guard.c */
rp_result rp__sim_guard(rp_sim *sim, rp_step_stats *stats);
void rp__sim_energies(const rp_sim *sim, rp_step_stats *stats);
double rp__sim_fastest(const rp_sim *sim);

#endif
