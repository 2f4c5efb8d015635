/* What a method of the house is: the public table of functions, and the world as the rooms see it. To add one is to add a folder with one
 * `const rp__method` and a line in src/methods/methods.c. src/ballistic is the smallest complete one: copy it. */
#ifndef RP_SIM_METHOD_H
#define RP_SIM_METHOD_H

#include "base/timer.h"
#include "body/body.h"
#include "particles/particles.h"

#include <repose/method.h>

/* What a method sees of the simulation. It may change particles, and the force and torque of bodies and walls (and the
 * velocity of free bodies that it couples); nothing else. */
struct rp_world {
    const rp_sim_def *def;
    const void *params;                 /* the method's struct */
    rp_material_def *materials;         /* at the present time (keyed parameters applied) */
    double time;                        /* at the beginning of the step */
    int64_t step;                       /* steps done before it */
    rp__particles *particles;
    rp__body *bodies;
    int body_count;
    double wall_force[6][3];            /* of the grains on the walls, over this step */
    int64_t cells[3];                   /* of the domain */
    int64_t disturbed;                  /* changes whenever a program added, removed or edited particles between steps: what a method keeps by
                                           their order or place is then stale. (Sinks and emitters change the count or next_id.) */
    bool materials_set;                 /* a parameter of a material was set from outside: what a method keeps of it with the particles is stale */
    double fullness;                    /* while particles are born: the part of the room that their bulk volumes fill; 1 but for thin streams */
    bool fixed;                         /* while particles are born: they stay where they are */
    bool short_loops;                   /* set by a method whose steps are many short loops: helping threads stay awake through a step */
    rp__phases phases;
    struct rp__touches *touches;        /* where contacts go (rp__sim_touch); NULL: nobody asked */
    const volatile int *
        cancel; /* not NULL and not 0: give the step up with RP_CANCELLED, before anything that a checkpoint holds has changed but the order of the particles */
};
typedef struct rp_world rp__world;

/* Between the parts of a step, outside of loops: calls the progress hook when it is due; RP_CANCELLED, with its sentence, when the program
 * asked to give the step up. */
rp_result rp__sim_given_up(const rp__world *world);

/* Where the written friction problem of that number goes: FOLDER of the run ("problems" when there is none given), which is made. Free *path
 * with rp__base_free. */
rp_result rp__sim_dump_path(const rp__world *world, const char *folder, int64_t number, char **path);

/* A contact of grains, when the program asked for them: `place` tells those of one step apart (a node, a particle), so that their order
 * never depends on threads. The impulse is that on the surface; surfaces are the walls 0 … 5, then 6 + index of the body. May be called
 * from several threads at once. */
typedef struct rp__touch {
    int surface;
    int64_t place;
    double point[3], normal[3], impulse[3];
} rp__touch;
void rp__sim_touch(rp__world *world, const rp__touch *touch);

/* For methods that go through their contacts one after the other, besides adding up forces: the part of the force along the normal counts
 * as the push on the body, and the contact is told to the program if it asked. `force` is that on the surface. */
void rp__sim_tell_contact(rp__world *world, int surface, int64_t place, const double point[3], const double normal[3], const double force[3],
                          double dt);

/* The table of functions: <repose/method.h>. */
typedef rp_method rp__method;

/* The tables of src/methods/methods.c and those that were registered; NULL: there is none of that name. */
const rp__method *rp__method_by_name(const char *name);

/* Whether the environment asks for kernels that there are (<repose/machine.h>). */
rp_result rp__method_check_kernels(void);

/* Whether a table from outside can be run. */
rp_result rp__sim_check_method(const rp_method *method);

/* The fields of a method in a scene, into out[RP_METHOD_MAX_FIELDS]; how many. */
int rp__sim_method_fields(const rp__method *method, const rp_sim_def *def, const void *params, rp_field_info *out);

#endif
