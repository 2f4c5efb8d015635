/* A simulation: made from definitions, stepped, looked at, saved. SI units throughout. */
#ifndef REPOSE_SIM_H
#define REPOSE_SIM_H

#include <repose/export.h>
#include <repose/field.h>
#include <repose/log.h>
#include <repose/memory.h>
#include <repose/param.h>
#include <repose/result.h>
#include <repose/shape.h>
#include <repose/state.h>
#include <stdbool.h>
#include <stdint.h>

RP_BEGIN

/* ---- materials ---- */

typedef enum rp_friction_match { RP_MATCH_INSCRIBED, RP_MATCH_MIDDLE, RP_MATCH_CIRCUMSCRIBED, RP_MATCH_SLOPE } rp_friction_match;

typedef enum rp_material_model { RP_MODEL_SAND, RP_MODEL_ELASTIC /* fixed-corotated solid, elastoplastic only */ } rp_material_model;

/* One struct for every method: each uses what it knows (docs/scene.md says which). The table rp_material_table drives
 * the scene parser, the ranges, the schema and the reference page. */
typedef struct rp_material_def {
    char *name;
    int model;                    /* rp_material_model */
    double density;               /* of the grains themselves [kg/m3]; see bulk_density */
    double bulk_density;          /* of the packed material; 0 = density × volume_fraction. When given, density follows */
    double volume_fraction;       /* largest, phi_max */
    double friction;              /* mu^ = sqrt(J2)/p; < 0: from friction_angle */
    double friction_angle;        /* [rad]; < 0: not given */
    int match;                    /* rp_friction_match, 3D only */
    double friction_dynamic;      /* mu^_2 of mu(I); < 0: constant friction */
    double inertial_number;       /* I_0 of mu(I) */
    double grain_diameter;        /* d of mu(I), and the size of grains in pictures [m] */
    double drawn;                 /* size of its particles in pictures, times what their volume says */
    double viscosity;             /* Newtonian eta [Pa s] */
    double cohesion;              /* c [Pa] */
    double cohesion_decay;        /* xi of dc/dt = -xi |strain rate| c */
    double anisotropy;            /* alpha in [0, 1] */
    double elongation;            /* l in [0, 1], of the grains' alignment with the flow */
    double orientation[3];        /* initial common normal; 0 0 0 = random */
    double youngs_modulus;        /* elastoplastic [Pa] */
    double poisson_ratio;
    double hardening[4];          /* h0 … h3 of Klar et al. (h0, h1, h3 in degrees in the scene); all 0 = constant angle */
    char *colour;                 /* palette: "sand", "#rrggbb", or a list with weights */
    int cookie;                   /* set by rp_default_material_def */
} rp_material_def;

RP_API rp_material_def rp_default_material_def(void);
RP_API const rp_param *rp_material_table(void);

/* mu^ of a material in dimension dim, from friction or friction_angle and match. */
RP_API double rp_material_friction(const rp_material_def *material, int dim);

/* A material parameter as a function of time (linear between keys, constant outside). */
typedef struct rp_material_key {
    int material;
    const char *parameter;        /* name in the table; RP_REAL only */
    const double *times, *values;
    int count;
} rp_material_key;

/* ---- what is in the scene ---- */

typedef struct rp_grains_def {
    int cookie;                   /* set by rp_default_grains_def: a definition not made by it is refused, here and below */
    const char *name;
    rp_shape *shape;
    int material;
    double velocity[3];
    double angular_velocity[3];   /* about `pivot` [rad/s] */
    double pivot[3];
    rp_expression *velocity_field; /* of (x, y, z) giving three numbers; NULL: none (added to the above) */
    rp_expression *orientation_field; /* of (x, y, z) giving the normal of flat grains (0 0 0: random); NULL: the material's */
    bool fixed;                   /* they stay where they are and hold others (method contact) */
    rp_sampling sampling;
    double per_cell;              /* particles a cell */
    double fill;                  /* volume fraction at the start as a part of the material's largest, 0 … 1 */
    uint64_t seed;
} rp_grains_def;

typedef struct rp_emitter_def {
    int cookie;
    const char *name;
    rp_shape *shape;
    int material;
    double velocity[3];
    double rate;                  /* bulk volume a second [m3/s] (m2/s in 2D); 0: keeps its shape full as grains leave */
    double start, stop;           /* [s] */
    rp_sampling sampling;
    double per_cell, fill;
    uint64_t seed;
} rp_emitter_def;

typedef struct rp_sink_def {
    int cookie;
    const char *name;
    rp_shape *shape;
    double start, stop;
} rp_sink_def;

typedef enum rp_surface_kind { RP_STICK, RP_SLIP, RP_FRICTIONAL, RP_OPEN, RP_PERIODIC } rp_surface_kind;

typedef struct rp_surface {
    rp_surface_kind kind;         /* open and periodic: walls of the domain only */
    double friction;              /* Coulomb coefficient of a frictional surface */
    double adhesion;              /* [Pa] pull the surface can hold */
} rp_surface;

typedef enum rp_body_kind { RP_BODY_SCRIPTED /* and fixed: no motion */, RP_BODY_FREE } rp_body_kind;
typedef enum rp_joint_kind { RP_JOINT_NONE, RP_JOINT_FIXED, RP_JOINT_HINGE, RP_JOINT_SLIDER } rp_joint_kind;
typedef enum rp_motor_kind { RP_MOTOR_NONE, RP_MOTOR_FORCE /* or torque */, RP_MOTOR_SPEED } rp_motor_kind;

typedef struct rp_body_def {
    int cookie;
    const char *name;
    rp_body_kind kind;
    rp_shape *shape;              /* in the body's own frame */
    rp_mesh_sequence *sequence;   /* scripted: a deforming solid, instead of the shape; its vertices push with their velocities */
    rp_motion *motion;            /* scripted; NULL = at rest at position/rotation */
    double position[3], rotation[3];
    double velocity[3], angular_velocity[3]; /* free: at the start */
    double density;               /* free [kg/m3] */
    double mass;                  /* free; > 0 replaces the mass from the density (inertia scaled) */
    double linear_damping, angular_damping;  /* [1/s] */
    double force[3], torque[3];   /* constant, world frame */
    rp_surface surface;
    rp_joint_kind joint;
    double joint_point[3], joint_axis[3];    /* world frame at the start */
    rp_motor_kind motor;
    double motor_value;           /* N m, N, rad/s or m/s */
    double motor_limit;           /* largest |force| of a speed motor; 0 = none */
    double start, stop;           /* the body is there in [start, stop) */
    double colour[3];             /* pictures */
} rp_body_def;

/* A Newtonian fluid between the grains. It fills the domain, and pressures are without the weight of the fluid above; or (`fill`) a part of it, with a
 * surface to the air, and pressures are whole. */
typedef enum rp_fluid_wall_kind { RP_FLUID_SLIP, RP_FLUID_NO_SLIP, RP_FLUID_PRESSURE /* open */, RP_FLUID_VELOCITY,
                                RP_FLUID_AUTO /* open where grains may leave, slip elsewhere */ } rp_fluid_wall_kind;
typedef enum rp_drag { RP_DRAG_ERGUN, RP_DRAG_CARMAN_KOZENY, RP_DRAG_RICHARDSON_ZAKI, RP_DRAG_GIDASPOW } rp_drag;
typedef enum rp_fluid_thickening { RP_THICKEN_NONE, RP_THICKEN_EINSTEIN, RP_THICKEN_BOYER, RP_THICKEN_KRIEGER } rp_fluid_thickening;

typedef struct rp_fluid_wall {
    int kind;                     /* rp_fluid_wall_kind; periodic follows the domain's */
    double pressure;              /* of an open face [Pa] */
    double velocity[3];           /* of a moving or feeding face [m/s] */
} rp_fluid_wall;

typedef struct rp_fluid_def {
    double density, viscosity;    /* [kg/m3] [Pa s] */
    int drag;                     /* rp_drag */
    double drag_exponent;         /* n of Richardson and Zaki */
    int thickening;               /* rp_fluid_thickening: viscosity of the mixture */
    double added_mass;            /* C of C rho_f phi; 0: none */
    double velocity[3];           /* at the start */
    rp_expression *velocity_field; /* of (x, y, z) giving three numbers, added; NULL: none */
    double drive[3];              /* pressure drop a length that drives the flow [Pa/m] */
    rp_fluid_wall wall[6];
    const rp_shape *fill;         /* where the fluid is at the start; NULL: everywhere, and no surface */
    double level;                 /* the same by the height of its surface; NAN: not told */
    int cookie;                   /* set by rp_default_fluid_def */
} rp_fluid_def;

/* ---- fibres: elastic rods, for methods that know them (contact) ---- */

typedef enum rp_fibre_end { RP_FIBRE_FREE, RP_FIBRE_PINNED, RP_FIBRE_CLAMPED } rp_fibre_end;
typedef enum rp_fibre_rest { RP_REST_STRAIGHT, RP_REST_AS_GIVEN, RP_REST_SAG_FREE } rp_fibre_rest;
typedef enum rp_fibre_section { RP_SECTION_ELLIPSE, RP_SECTION_RECTANGLE } rp_fibre_section;

/* Fibres of one kind. The table rp_fibres_table drives the scene parser, the ranges, the schema and the reference page. */
typedef struct rp_fibres_def {
    const char *name;
    const double *nodes;          /* x y z each, fibre after fibre [m] */
    const int32_t *counts;        /* nodes of each fibre; at least 2 */
    int64_t count;                /* fibres */
    int body, tip_body;           /* scripted bodies that carry the fixed roots and tips; -1: they stand still */
    int section;                  /* rp_fibre_section */
    double radius;                /* half of the width when that is not given [m] */
    double width, height;         /* of the section, along its two axes; 0: twice the radius */
    double density, youngs_modulus, poisson_ratio;
    double friction;              /* with each other; with others the geometric mean of the two */
    double damping;               /* internal [s] */
    double stretch;               /* strain allowed under ten times the weight: lowers the stiffness of stretch; 0: as the material is */
    int root, tip;                /* rp_fibre_end */
    int rest;                     /* rp_fibre_rest */
    double curvature, curvature_2, twist; /* natural, of a straight rest shape [1/m], [rad/m] */
    double director[3];           /* the first axis of the section at the root; 0 0 0: any */
    double velocity[3];           /* at the start */
    char *colour;
    int cookie;                   /* set by rp_default_fibres_def */
} rp_fibres_def;

RP_API rp_fibres_def rp_default_fibres_def(void);
RP_API const rp_param *rp_fibres_table(void);

typedef enum rp_outside { RP_OUTSIDE_ERROR, RP_OUTSIDE_DELETE, RP_OUTSIDE_CLAMP } rp_outside;

/* Faces of the domain in this order: -x +x -y +y -z +z. */
typedef struct rp_sim_def {
    int cookie;
    int dim;                      /* 2 or 3 */
    double lower[3], upper[3];    /* of the domain */
    double cell_size;             /* the domain is a whole number of cells on each axis */
    double gravity[3];
    rp_surface wall[6];
    const rp_material_def *materials;
    int material_count;
    const rp_material_key *material_keys;
    int material_key_count;
    const rp_grains_def *grains;
    int grains_count;
    const rp_emitter_def *emitters;
    int emitter_count;
    const rp_sink_def *sinks;
    int sink_count;
    const rp_body_def *bodies;
    int body_count;
    const rp_fluid_def *fluid;    /* NULL: none */
    const rp_fibres_def *fibres;
    int fibres_count;
    const char *method;           /* "nonsmooth", "ballistic", … */
    const void *method_params;    /* struct of the method's table (rp_params_data); NULL = defaults */
    double frame_rate;            /* [1/s] */
    double duration;              /* [s] */
    double cfl;                   /* cells the fastest particle may cross in a step */
    double dt_min, dt_max;        /* [s]; dt_max 0 = a frame */
    int substeps;                 /* > 0: this many equal steps a frame, whatever the CFL says */
    rp_outside outside;
    double speed_limit;           /* [m/s] above it the run has diverged; 0 = 1e5 cells a frame */
    int64_t particle_limit;       /* refuse to make more */
    uint64_t seed;
    int threads;                  /* 0 = all cores; never changes a result */
    const rp_allocator *allocator; /* for what the simulation holds; NULL = that of the library (rp_set_allocator) */
    rp_log_fn log;                /* for its messages at log_least or above; NULL = that of the library (rp_set_log) */
    void *log_context;
    rp_log_level log_least;
    const char *folder;           /* of the run, for files that a method writes by itself; NULL = the present one */
} rp_sim_def;

RP_API rp_sim_def rp_default_sim_def(void);
RP_API rp_body_def rp_default_body_def(void);
RP_API rp_grains_def rp_default_grains_def(void);
RP_API rp_emitter_def rp_default_emitter_def(void);
RP_API rp_sink_def rp_default_sink_def(void);
RP_API rp_fluid_def rp_default_fluid_def(void);
RP_API const rp_param *rp_fluid_table(void);
RP_API const rp_param *rp_fluid_wall_table(void);
RP_API bool rp_fluid_has_surface(const rp_fluid_def *fluid); /* it does not fill the domain; NULL: no */

/* ---- methods ---- */

typedef struct rp_method_info {
    const char *name, *summary;
    const rp_param *params;       /* its table */
    const rp_field_info *fields;  /* it adds to the particles; ends with a NULL name */
    const char *const *extras;    /* names of its own numbers of a step (rp_step_stats.extra_name); end with NULL */
    const char *const *phases;    /* names of its phases; end with NULL. Both are columns of stats.csv from the first row on */
    const char *const *removed;   /* parameters of former versions, each followed by what takes its place; end with NULL. NULL: none */
} rp_method_info;

RP_API int rp_method_count(void);
RP_API const rp_method_info *rp_method_at(int index);
RP_API const rp_method_info *rp_method_find(const char *name); /* NULL if unknown */

/* Parameters of a method, with defaults; set by name and text ("1e-6", "5 cm"). */
typedef struct rp_params rp_params;
RP_API rp_result rp_params_create(const char *method, rp_params **out);
RP_API rp_result rp_params_set(rp_params *params, const char *name, const char *value);
RP_API const void *rp_params_data(const rp_params *params);
RP_API void rp_params_destroy(rp_params *params);

/* ---- running ---- */

typedef struct rp_sim rp_sim;

RP_API rp_result rp_sim_create(const rp_sim_def *def, rp_sim **out); /* copies what it needs; sets nothing on failure */
RP_API void rp_sim_destroy(rp_sim *sim);

/* Numbers of one step. The common ones are here; a method's own come as named extras. */
enum { RP_MAX_EXTRAS = 32 };
typedef struct rp_step_stats {
    int64_t step;                 /* counted from 1 */
    double time;                  /* after the step */
    double dt;
    const char *limit;            /* what limited dt: "frame", "cfl", "dt_max", "wave", … */
    int64_t particles, nodes;     /* nodes in use */
    int64_t iterations;
    double residual_mean, residual_max;
    bool converged;
    double volume_error;          /* over-packed part of the material's volume */
    double kinetic_energy, potential_energy; /* [J] (J/m in 2D) */
    int64_t emitted, removed, outside, clamped; /* in this step */
    double ms_step;
    int phase_count;
    const char *phase_name[RP_MAX_EXTRAS];
    double phase_ms[RP_MAX_EXTRAS];
    int extra_count;
    const char *extra_name[RP_MAX_EXTRAS];
    double extra[RP_MAX_EXTRAS];
} rp_step_stats;

/* One step; stops exactly on frame times. RP_DIVERGED: not finite or too fast (state kept for a dump). */
RP_API rp_result rp_sim_step(rp_sim *sim, rp_step_stats *stats);

/* The time at which the next step would end; and one step that ends at `latest` at the latest. A step that was shortened is not
 * one the run itself would have made: what follows differs. To see a run at any time and go on as if nothing had been, save it
 * first (rp_sim_save) and restore it afterwards. */
RP_API rp_result rp_sim_next_time(rp_sim *sim, double *time);
RP_API rp_result rp_sim_step_to(rp_sim *sim, double latest, rp_step_stats *stats);

/* Called around and inside a step. Zero members are not called. */
typedef struct rp_progress {
    int64_t step;                 /* the one under way, counted from 1 */
    double time, dt;              /* its beginning and length */
    double seconds;               /* since it began, by the clock */
} rp_progress;

typedef struct rp_hooks {
    rp_result (*before)(void *context, rp_sim *sim); /* may act (action.h); what it returns, unless RP_OK, ends the step before it begins */
    /* Inside the step, at least every 50 ms of work, on the thread that called: false gives the step up as rp_sim_set_cancel does. It
     * must not touch the simulation. */
    bool (*progress)(void *context, const rp_progress *progress);
    double interval;  /* least time between two calls of it [s]; 0: 20 ms */
    rp_result (*after)(void *context, rp_sim *sim, const rp_step_stats *stats); /* the step is done; its result is what this returns */
    void *context;
} rp_hooks;
RP_API rp_result rp_sim_set_hooks(rp_sim *sim, const rp_hooks *hooks); /* copied; NULL: none */

/* Pointers of the program's own, kept and never looked at; not part of a saved state. */
RP_API void rp_sim_set_user_data(rp_sim *sim, void *data);
RP_API void *rp_sim_user_data(const rp_sim *sim);
RP_API rp_result rp_sim_set_body_user_data(rp_sim *sim, int body, void *data);
RP_API void *rp_sim_body_user_data(const rp_sim *sim, int body); /* NULL when there is no such body */

/* While *flag is not 0, a step is given up (RP_CANCELLED) by methods that can, in the midst of their work, and the simulation stays where
 * it was: it can be saved, and go on as if nothing had been. Methods that cannot end their step first. NULL: never. The flag may be set by
 * a signal handler or another thread. */
RP_API void rp_sim_set_cancel(rp_sim *sim, const volatile int *flag);

RP_API double rp_sim_time(const rp_sim *sim);
RP_API int64_t rp_sim_steps(const rp_sim *sim);
RP_API int64_t rp_sim_frame(const rp_sim *sim);       /* frames completed: time = frame / frame_rate */
RP_API bool rp_sim_at_frame(const rp_sim *sim);       /* the last step ended on a frame (true at the start) */
RP_API bool rp_sim_done(const rp_sim *sim);           /* duration reached */
RP_API void rp_sim_set_threads(rp_sim *sim, int threads);
RP_API const rp_sim_def *rp_sim_definition(const rp_sim *sim);

/* Particles: fields by index or name; valid until the next step. */
RP_API int64_t rp_sim_particle_count(const rp_sim *sim);
RP_API int rp_sim_field_count(const rp_sim *sim);
RP_API rp_result rp_sim_field(const rp_sim *sim, int index, rp_field_view *out);
RP_API rp_result rp_sim_field_named(const rp_sim *sim, const char *name, rp_field_view *out);

/* Grid fields, made on demand: positions of the active nodes and the method's node fields ("velocity", "pressure", …). */
RP_API rp_result rp_sim_grid_fields(rp_sim *sim, const rp_field_view **views, int *count, int64_t *nodes);

/* Bodies. Force and torque (about the centre of mass) are those of the grains over the last step. */
typedef struct rp_body_state {
    double position[3], orientation[4], velocity[3], angular_velocity[3];
    double force[3], torque[3];
    double mass;
    bool present;
    double normal_force[3], friction_force[3]; /* the two parts of `force`, along and across the normals of the contacts */
    double fluid_pressure_force[3], fluid_viscous_force[3]; /* what of `force` a fluid does (diphasic); the rest is that of the grains */
} rp_body_state;
RP_API int rp_sim_body_count(const rp_sim *sim);
RP_API const char *rp_sim_body_name(const rp_sim *sim, int index);
RP_API rp_result rp_sim_body(const rp_sim *sim, int index, rp_body_state *out);
RP_API rp_shape *rp_sim_body_shape(const rp_sim *sim, int index);        /* in its own frame; not retained */
RP_API rp_result rp_sim_wall_force(const rp_sim *sim, int face, double force[3]);

/* Fibres as polylines: nodes of fibre i are first[i] … first[i + 1] - 1. Valid until the next step. */
typedef struct rp_fibres_view {
    int64_t count, nodes;
    const int64_t *first;         /* count + 1 */
    const int32_t *kind;          /* of a fibre: which rp_fibres_def */
    const double *position;       /* x y z each */
    const double *velocity;
    const double *radius;         /* of a node */
    const double *tension;        /* of a node: mean of its edges [N] */
} rp_fibres_view;
RP_API rp_result rp_sim_fibres(rp_sim *sim, rp_fibres_view *view); /* none: count = 0 */

/* ---- checkpoints: everything that the next step depends on, to the bit; io writes them to files ---- */

RP_API rp_result rp_sim_save(const rp_sim *sim, rp_state *state);         /* free with rp_state_free */
RP_API rp_result rp_sim_restore(rp_sim *sim, const rp_state *state);      /* on a sim made from the same definition */

/* An estimate of particles and bytes a definition will need, before anything large is allocated. */
RP_API rp_result rp_sim_estimate(const rp_sim_def *def, int64_t *particles, int64_t *bytes);
/* About how many more its emitters will bring; exact to a particle for those with a rate that nothing chokes. */
RP_API rp_result rp_sim_estimate_emitted(const rp_sim_def *def, int64_t *particles);

RP_END
#endif
