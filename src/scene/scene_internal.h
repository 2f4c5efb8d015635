/* A scene while it is read and as it is kept. Tables describe every block of the format; reading, writing, the schema and
 * the reference page all walk the same tables. */
#ifndef RP_SCENE_INTERNAL_H
#define RP_SCENE_INTERNAL_H

#include "base/text.h"
#include "scene/groom.h"
#include "scene/tree.h"
#include "sim/settings.h"

#include <repose/scene.h>

/* ---- shapes as they were read, to be written again ---- */

enum { RP_SHAPE_NUMBERS = 16 };

typedef struct rp__shape_spec {
    const struct rp__shape_kind *kind;
    double number[RP_SHAPE_NUMBERS];      /* members of the kind's table */
    const char *file;                     /* absolute */
    struct rp__shape_spec **children;
    int child_count;
    double *heights;                      /* of a heightfield written out */
    int columns, rows;
    double position[3], rotation[3], scale; /* placed after it is made */
    bool placed;
} rp__shape_spec;

/* A kind of shape: its keys, and how to make it. */
typedef struct rp__shape_kind {
    const char *name, *help, *example;
    const rp_param *table;                /* into rp__shape_spec; NULL: none */
    enum { RP_SHAPE_LEAF, RP_SHAPE_LIST /* of shapes */, RP_SHAPE_ONE /* a shape */, RP_SHAPE_KEYED /* shape: and numbers */ } form;
    const char *required;                 /* keys, separated by spaces */
    rp_result (*make)(const rp__shape_spec *spec, rp_shape *const *children, rp_shape **out);
} rp__shape_kind;

extern const rp__shape_kind rp__scene_shape_kinds[]; /* ends with a NULL name */
extern const rp_param rp__scene_place_table[];

typedef struct rp__motion_spec {
    rp_keyframe *keys;
    int count;
    int interpolation;
    const char *expression;
} rp__motion_spec;

/* ---- what the lists hold: the definition first, so that tables reach it, then what is needed to write it again ---- */

typedef struct rp__material_item {
    rp_material_def def;
} rp__material_item;

typedef struct rp__grains_item {
    rp_grains_def def;
    rp__shape_spec *shape;
    const char *velocity_field, *orientation_field;
} rp__grains_item;

typedef struct rp__emitter_item {
    rp_emitter_def def;
    rp__shape_spec *shape;
    const rp__node *schedule;
} rp__emitter_item;

typedef struct rp__sink_item {
    rp_sink_def def;
    rp__shape_spec *shape;
    const rp__node *schedule;
} rp__sink_item;

/* Meshes of a deforming body. */
typedef struct rp__sequence_spec {
    const char **files;          /* absolute */
    double *times;
    int count;
    const char *pattern;         /* with %d, absolute; NULL: files were listed */
    int64_t first, last;
    double frame_rate, start, unit;
} rp__sequence_spec;

typedef struct rp__body_item {
    rp_body_def def;
    rp__shape_spec *shape;
    rp__motion_spec motion;
    rp__sequence_spec sequence;
} rp__body_item;

typedef struct rp__groom_item {
    rp__groom groom;
    rp_shape *shape, *within;
    rp__shape_spec *shape_spec, *within_spec;
} rp__groom_item;

typedef struct rp__scatter_item {
    rp__scatter scatter;
    rp_shape *shape;
    rp__shape_spec *shape_spec;
} rp__scatter_item;

/* Fibres: the definition first, then where its nodes come from. */
typedef struct rp__fibres_item {
    rp_fibres_def def;
    int64_t segments;
    double unit;
    rp__strands strands;
    const char *path, *file;     /* NULL: not from there */
    bool has_groom, has_scatter;
    rp__groom_item groom;
    rp__scatter_item scatter;
} rp__fibres_item;
typedef struct rp__control_item {
    rp_control_def def;
} rp__control_item;

typedef struct rp__method_item {
    const rp_method_info *info;
    rp_params *params;
} rp__method_item;

/* Members of rp_sim_def that a table cannot reach as they are. */
typedef struct rp__settings {
    const char *title, *description, *method;
    double cell_size;
#define REAL(member, ...) double member;
#define WHOLE(member, ...) int64_t member;
#define CHOICE(member, ...) int member;
    RP__SIM_SETTINGS(REAL, WHOLE, CHOICE)
#undef REAL
#undef WHOLE
#undef CHOICE
} rp__settings;

/* A list that grows in the scene's memory; earlier copies stay behind in it. */
typedef struct rp__list {
    void *items;
    int count, capacity;
} rp__list;

struct rp_scene {
    rp__pool pool;
    rp__settings settings;
    rp_sim_def sim;
    rp_output_def output;
    rp_fluid_def fluid;
    const char *fluid_field;
    struct rp__shape_spec *fluid_fill;
    rp__list materials, grains, emitters, sinks, bodies, fibres, controls, methods, keys;
    rp__list files; /* const char *: of meshes and images, absolute */
};

#define RP_ITEM(type, list, index) (&((type *)(list).items)[index])

/* While reading. */
typedef struct rp__reader {
    rp__tree tree;
    rp_scene *scene;
    const char *folder;      /* NULL: no relative paths */
    int dim;
} rp__reader;

void *rp__scene_push(rp_scene *scene, rp__list *list, size_t size); /* a zeroed item; NULL when there is no room */

/* ---- blocks ---- */

typedef rp_result (*rp__scene_key_fn)(rp__reader *reader, const rp__node *value, void *target);

/* A key that is more than a number, a choice or a text. */
typedef struct rp__scene_key {
    const char *name;
    const char *type;   /* for the reference: "shape", "list of grains" */
    const char *schema; /* JSON Schema of the value */
    const char *help;
    const char *initial; /* what it is when absent; NULL: required; "": nothing */
    rp__scene_key_fn read;
} rp__scene_key;

/* Remembers that a file was read. */
rp_result rp__scene_note_file(rp_scene *scene, const char *path);

typedef struct rp__scene_block {
    const char *name;              /* in messages and of the schema's definition */
    const char *title, *help, *example;
    const rp_param *(*table)(void);
    const rp__scene_key *keys;     /* ends with a NULL name */
    void (*defaults)(void *target);
    const char *also;              /* JSON Schemas of other ways to write it, separated by commas; NULL: none */
} rp__scene_block;

extern const rp__scene_block rp__scene_top, rp__scene_domain, rp__scene_gravity, rp__scene_walls, rp__scene_wall, rp__scene_surface,
    rp__scene_fluid, rp__scene_fluid_walls, rp__scene_fluid_wall, rp__scene_material, rp__scene_grains, rp__scene_emitter, rp__scene_sink,
    rp__scene_body, rp__scene_joint, rp__scene_motor, rp__scene_sequence, rp__scene_motion, rp__scene_keyframe, rp__scene_output,
    rp__scene_camera, rp__scene_camera_key, rp__scene_picture, rp__scene_fibres, rp__scene_groom_block, rp__scene_scatter_block,
    rp__scene_control;
extern const rp__scene_block *const rp__scene_blocks[]; /* all of them, in the order of the reference; ends with NULL */

/* Large enough for the target of any block. */
typedef union rp__scene_target {
    rp_body_def body;
    rp__fibres_item fibres;
    rp_material_def material;
    rp_fluid_def fluid;
    rp_output_def output;
    rp__settings settings;
    rp__shape_spec shape;
    double space[256];
} rp__scene_target;

/* Checks that every key of `map` is known, then sets the table's members, then reads the other keys in their order. */
rp_result rp__scene_read_block(rp__reader *reader, const rp__scene_block *block, const rp__node *map, void *target);
/* "unknown key ... in ...; did you mean ...?" */
rp_result rp__scene_fail_unknown(rp__reader *reader, const rp__scene_block *block, const rp_param *table, const rp__node *key);
/* Only the check. */
rp_result rp__scene_check_keys(rp__reader *reader, const rp__scene_block *block, const rp__node *map);

/* ---- values ---- */

/* One member of a table. */
rp_result rp__scene_read_param(rp__reader *reader, const rp_param *entry, const rp__node *value, void *target);
/* A number with a unit in [least, most]; `what` names it. */
rp_result rp__scene_read_number(rp__reader *reader, const rp__node *value, const char *what, const char *unit, double *out);
/* A list of two (in 2D: z = 0) or three numbers; returns how many there were in *count when it is not NULL. */
rp_result rp__scene_read_vector(rp__reader *reader, const rp__node *value, const char *what, const char *unit, double out[3],
                                int *count);
rp_result rp__scene_read_text(rp__reader *reader, const rp__node *value, const char *what, const char **out);
rp_result rp__scene_need(rp__reader *reader, const rp__node *value, rp__node_kind kind, const char *what);
/* "did you mean" over a list of names that ends with NULL; "" when nothing is near. Writes to `buffer`. */
const char *rp__scene_suggest(const char *word, const char *const *names, char *buffer, size_t size);

/* ---- readers of keys ---- */

rp_result rp__scene_read_shape(rp__reader *reader, const rp__node *value, rp__shape_spec **spec, rp_shape **out);
/* Turns a path of the scene into an absolute one, so that the written scene works from any folder. */
rp_result rp__scene_resolve_path(rp__reader *reader, const rp__node *value, const char **path);
rp_result rp__scene_read_sequence(rp__reader *reader, const rp__node *value, rp__sequence_spec *spec, rp_mesh_sequence **out);
rp_result rp__scene_read_motion(rp__reader *reader, const rp__node *value, rp__motion_spec *spec, rp_motion **out);
rp_result rp__scene_read_domain(rp__reader *reader, const rp__node *value, const rp__node *resolution);
rp_result rp__scene_read_gravity(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_walls(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_surface(rp__reader *reader, const rp__scene_block *block, const rp__node *value, rp_surface *out);
rp_result rp__scene_read_material(rp__reader *reader, const rp__node *value);  /* the only one */
rp_result rp__scene_read_materials(rp__reader *reader, const rp__node *value);
rp_result rp__scene_find_material(rp__reader *reader, const rp__node *value, int *out);
/* A list of items, or one item. */
rp_result rp__scene_read_list(rp__reader *reader, const rp__node *value, const char *what,
                              rp_result (*item)(rp__reader *, const rp__node *));
rp_result rp__scene_read_fluid(rp__reader *reader, const rp__node *value);
/* A Lua expression of (x, y, z) that gives three numbers. */
rp_result rp__scene_read_field(rp__reader *reader, const rp__node *value, const char *name, const char **text, rp_expression **out);
/* Faces that a key of walls means, bits 1 << face; 0: none. */
unsigned rp__scene_faces_of(const char *name, int dim);
rp_result rp__scene_read_grains(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_emitters(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_sinks(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_bodies(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_fibres(rp__reader *reader, const rp__node *value);
void rp__scene_free_fibres(rp_scene *scene);
rp_result rp__scene_read_controls(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_output(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_camera(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_picture(rp__reader *reader, const rp__node *value);
rp_result rp__scene_read_top(rp__reader *reader);
int rp__scene_guess_dimension(const rp__node *domain);
/* "#rrggbb" or three numbers in 0 ... 1. */
rp_result rp__scene_read_colour(rp__reader *reader, const rp__node *value, double out[3]);

/* ---- presets ---- */

typedef struct rp__preset {
    const char *name, *help, *settings; /* "density=2650; friction_angle=33 deg" */
} rp__preset;
extern const rp__preset rp__scene_presets[]; /* ends with a NULL name */
const rp__preset *rp__scene_find_preset(const char *name);
rp_result rp__scene_apply_preset(const rp__preset *preset, rp__pool *pool, rp_material_def *material);

/* ---- tables shared with writing ---- */

const rp_param *rp__scene_settings_table(void);
const rp_param *rp__scene_files_table(void);
const rp_param *rp__scene_camera_table(void);
const rp_param *rp__scene_picture_table(void);
const rp_param *rp__scene_grains_table(void);
const rp_param *rp__scene_emitter_table(void);
const rp_param *rp__scene_sink_table(void);
const rp_param *rp__scene_body_table(void);
const rp_param *rp__scene_wall_table(void);
const rp_param *rp__scene_surface_table(void);
const rp_param *rp__scene_joint_table(void);
const rp_param *rp__scene_groom_table(void);
const rp_param *rp__scene_scatter_table(void);
const rp_param *rp__scene_control_table(void);

typedef struct rp__motor_draft { /* NaN: not given */
    double force, torque, speed, angular_speed, largest_force, largest_torque;
} rp__motor_draft;
const rp_param *rp__scene_motor_table(void);
const rp_param *rp__scene_sequence_table(void);

typedef struct rp__gravity_draft {
    double magnitude, tilt;
    int toward;
} rp__gravity_draft;
const rp_param *rp__scene_gravity_table(void);

#endif
