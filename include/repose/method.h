/* A method from outside: a table of functions that a program registers, and that scenes then run by name, with parameters, particle
 * fields, checkpoints and files like the methods of the library itself. docs/methods.md walks through one; examples/own_method.c is one.
 *
 * Threads must never change a bit of a result: use rp_world_for and rp_world_sum, whose chunks depend on the data alone. */
#ifndef REPOSE_METHOD_H
#define REPOSE_METHOD_H

#include <repose/sim.h>

RP_BEGIN

/* What a method sees of the simulation; valid during the call it is given to. */
typedef struct rp_world rp_world;

enum { RP_METHOD_MAX_FIELDS = 24 };

typedef struct rp_method rp_method;
struct rp_method {
    int cookie;                         /* set by rp_default_method */
    rp_method_info info;                /* name, summary, parameter table, the fields it may add to the particles */
    size_t params_size;                 /* of the struct that the table fills */
    int dims;                           /* bits 1 << dim */
    int body_limit;                     /* bodies it can deal with; 0: any number */
    bool fixes_grains;                  /* it knows grains that stay where they are (rp_grains_def) */
    bool single_grains;                 /* particles are grains, one at each place of the sampling; false: balls, or samples of a continuum */
    bool solves_bodies;                 /* contacts of free bodies with each other and with walls are part of its step; false: they are solved
                                           after it */

    /* The fields it adds in this scene, when they are not all of info.fields: at most RP_METHOD_MAX_FIELDS into `out`, and how many.
     * NULL: they are. */
    int (*fields)(const rp_sim_def *def, const void *params, rp_field_info *out);

    /* The table whose functions run this scene (those below; the rest of it is not looked at), when there are several: one for each
     * dimension, say. NULL: this one. */
    const rp_method *(*variant)(const rp_sim_def *def, const void *params);

    /* A method whose particles are balls (discs in 2D) of one radius says so here: shapes are then filled with balls that do not
     * overlap, and volumes are theirs. NULL: particles are samples of a continuum. */
    double (*grain_radius)(const rp_sim_def *def, const void *params);
    /* Whether they begin as densely as a bed that has settled (0.6 of the volume) rather than loosely at random (0.38). NULL: loosely. */
    bool (*grains_settled)(const rp_sim_def *def, const void *params);

    /* State of its own; fields were added to the particles already, the first of them with index first_field (rp_sim_field). Called
     * before the first particles are born. *state NULL is a state too. */
    rp_result (*create)(rp_world *world, int first_field, void **state);
    void (*destroy)(void *state);       /* never called when create failed */

    /* Fills the method's fields of new particles [first, first + count): position, velocity, volume, mass, material, id are
     * set; at the start, from emitters, and when a program adds grains. `spacing` is their mean distance. NULL: zeros will do. */
    rp_result (*born)(void *state, rp_world *world, int64_t first, int64_t count, double spacing);

    /* Largest step it allows now (infinity if none), and why ("wave", …). NULL: no limit of its own. */
    double (*largest_step)(void *state, const rp_world *world, const char **reason);

    /* One step. Bodies stand at their poses of the beginning; scripted ones have the pose of the end and the velocity that leads
     * there, free ones a predicted velocity. Moves the particles. Fills iterations, residuals, converged, volume_error, nodes and
     * extras of the stats. */
    rp_result (*step)(void *state, rp_world *world, double dt, rp_step_stats *stats);

    /* What it keeps between steps beyond particle fields (warm starts …), to the bit. NULL: nothing. */
    rp_result (*save)(const void *state, const rp_world *world, rp_state *out);
    rp_result (*restore)(void *state, rp_world *world, const rp_state *in);

    /* Node fields for output; arrays belong to the method until its next call. NULL: none. */
    rp_result (*grid_fields)(void *state, const rp_world *world, const rp_field_view **views, int *count, int64_t *nodes);

    /* Fibres of the scene as polylines; arrays belong to the method until its next call. NULL: it knows no fibres, and scenes with
     * fibres are refused. */
    rp_result (*fibres)(void *state, const rp_world *world, rp_fibres_view *view);
};

RP_API rp_method rp_default_method(void); /* 2D and 3D, no parameter, no function */

/* From now on scenes and definitions may name it. The table must outlive the program's use of the library; a name that is taken, a
 * function that is missing and a table not made by rp_default_method are refused. Safe from several threads. */
RP_API rp_result rp_method_register(const rp_method *method);

/* ---- what there is ---- */

RP_API const rp_sim_def *rp_world_definition(const rp_world *world); /* gravity and walls as they are now */
RP_API const void *rp_world_params(const rp_world *world);           /* the method's struct */
RP_API const rp_material_def *rp_world_materials(const rp_world *world); /* as they are now */
RP_API double rp_world_time(const rp_world *world);                  /* at the beginning of the step */

RP_API int64_t rp_world_count(const rp_world *world); /* particles */
/* Component of a particle field, to read and to write: element i is particle i. NULL when there is no such field. */
RP_API double *rp_world_reals(rp_world *world, const char *field, int component); /* RP_F64 */
RP_API void *rp_world_plane(rp_world *world, const char *field, int component);   /* of any type */

/* ---- bodies and walls ---- */

RP_API int rp_world_body_count(const rp_world *world);
RP_API rp_result rp_world_body(const rp_world *world, int body, rp_body_state *out);
/* Signed distance to a body that is present, at the beginning or at the end of the step, with its gradient (or NULL); infinite when
 * it is not there. */
RP_API double rp_world_body_distance(const rp_world *world, int body, bool at_end, const double point[3], double gradient[3]);
RP_API void rp_world_body_velocity(const rp_world *world, int body, const double point[3], double velocity[3]);
/* Where a particle that went from `from` to `to` in this step may be: outside, on the side it came from, however thin or fast the
 * body is; a particle that crossed the body keeps no speed into it. */
RP_API void rp_world_body_guard(const rp_world *world, int body, const double from[3], double to[3], double velocity[3]);
/* What the grains give to a body at a point in the step of length dt [N s]: counts as their force, and moves it when it is free. */
RP_API void rp_world_push_body(rp_world *world, int body, const double point[3], const double impulse[3], double dt);
RP_API void rp_world_push_wall(rp_world *world, int face, const double impulse[3], double dt);

/* ---- threads ---- */

/* Calls function(context, begin, end) for chunks of [0, count) on the threads of the simulation. */
RP_API void rp_world_for(rp_world *world, int64_t count, int64_t chunk, void (*function)(void *context, int64_t begin, int64_t end),
                         void *context);
/* The same, each chunk adding up to 32 numbers into its own `sums`, which are then added in order. */
RP_API void rp_world_sum(rp_world *world, int64_t count, int64_t chunk, int width,
                         void (*function)(void *context, int64_t begin, int64_t end, double *sums), void *context, double *result);

RP_END
#endif
