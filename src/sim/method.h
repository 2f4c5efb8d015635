/* What a method is: one table of functions. To add a method is to add a folder with one `const rp__method` and a line in
 * src/methods/methods.c. src/ballistic is the smallest complete one: copy it. */
#ifndef RP_SIM_METHOD_H
#define RP_SIM_METHOD_H

#include "base/timer.h"
#include "body/body.h"
#include "particles/particles.h"

#include <repose/sim.h>

/* What a method sees of the simulation. It may change particles, and the force and torque of bodies and walls (and the
 * velocity of free bodies that it couples); nothing else. */
typedef struct rp__world {
    const rp_sim_def *def;
    const void *params;                 /* the method's struct */
    rp_material_def *materials;         /* at the present time (keyed parameters applied) */
    double time;                        /* at the beginning of the step */
    rp__particles *particles;
    rp__body *bodies;
    int body_count;
    double wall_force[6][3];            /* of the grains on the walls, over this step */
    int64_t cells[3];                   /* of the domain */
    double fullness;                    /* while particles are born: the part of the room that their bulk volumes fill; 1 but for thin streams */
    rp__phases phases;
    const volatile int *cancel;         /* not NULL and not 0: give the step up with RP_CANCELLED, before anything that a checkpoint holds has changed but the order of the particles */
} rp__world;

typedef struct rp__method {
    rp_method_info info;
    size_t params_size;
    int dims;                           /* bits 1 << dim */

    /* The fields it adds under these parameters, when they differ from info.fields; NULL: they never do. */
    const rp_field_info *(*fields)(const void *params);

    /* Whether a field of them is needed in this scene; NULL: all are. */
    bool (*needs)(const rp_sim_def *def, const char *field);

    /* State of its own; fields were added to the particles already, in the order of info.fields from *first_field.
     * Called once the first particles are there. */
    rp_result (*create)(rp__world *world, int first_field, void **state);
    void (*destroy)(void *state);

    /* Fills the method's fields of new particles [first, first + count): position, velocity, volume, mass, material, id are
     * set; also used by emitters. `spacing` is their mean distance. */
    rp_result (*born)(void *state, rp__world *world, int64_t first, int64_t count, double spacing);

    /* Largest step it allows now (infinity if none), and why ("wave", …). NULL: no limit of its own. */
    double (*largest_step)(void *state, const rp__world *world, const char **reason);

    /* One step. Bodies stand at their poses of the beginning; scripted ones have pose_next and the velocity that leads
     * there. Moves the particles. Fills iterations, residuals, converged, volume_error, nodes and extras of the stats. */
    rp_result (*step)(void *state, rp__world *world, double dt, rp_step_stats *stats);

    /* What it keeps between steps beyond particle fields (warm starts …), to the bit. NULL: nothing. */
    rp_result (*save)(const void *state, const rp__world *world, rp_state *out);
    rp_result (*restore)(void *state, rp__world *world, const rp_state *in);

    /* Node fields for output; arrays belong to the method until its next call. NULL: none. */
    rp_result (*grid_fields)(void *state, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes);
} rp__method;

/* The table in src/methods/methods.c; ends with NULL. sim reaches it through this hook, set by methods. */
const rp__method *rp__method_by_name(const char *name);

#endif
