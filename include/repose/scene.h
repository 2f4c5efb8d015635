/* Scene files: YAML (and so JSON) to definitions, with file, line and column in every error. */
#ifndef REPOSE_SCENE_H
#define REPOSE_SCENE_H

#include <repose/memory.h>
#include <repose/sim.h>

RP_BEGIN

typedef struct rp_scene rp_scene;

/* "key.path=value" replacements applied after parsing: "cell_size=5 mm", "materials.sand.friction=0.6", "grains.0.fill=1". */
typedef struct rp_scene_options {
    const char *const *set;
    int set_count;
} rp_scene_options;

/* RP_BAD_SCENE leaves "file:line:column: sentence", the offending line and a caret in rp_last_error(). */
RP_API rp_result rp_scene_load(const char *path, const rp_scene_options *options, rp_scene **out);
/* `name` stands for the file in messages; relative paths inside the scene are taken from `folder` (NULL: none allowed). */
RP_API rp_result rp_scene_parse(const char *text, const char *name, const char *folder, const rp_scene_options *options,
                                rp_scene **out);
RP_API void rp_scene_destroy(rp_scene *scene);
/* Behind its own the bodies that a journal (docs/drive.md) adds, in their order: as a simulation that performed it has them. */
RP_API rp_result rp_scene_add_bodies(rp_scene *scene, const char *journal);

/* Absolute paths of the meshes and images that it was made from, as they are read; one that is used twice comes twice. */
RP_API int rp_scene_file_count(const rp_scene *scene);
RP_API const char *rp_scene_file(const rp_scene *scene, int index); /* NULL out of range */

/* Ready for rp_sim_create; belongs to the scene. */
RP_API const rp_sim_def *rp_scene_sim_def(const rp_scene *scene);

/* What to write and how to look at it. */
typedef struct rp_camera_key {
    double time;
    double eye[3], target[3];
} rp_camera_key;

typedef struct rp_output_def {
    bool frames;                  /* write frames */
    int64_t frame_every;          /* every n-th frame */
    bool grid;                    /* grid fields too */
    const char *fields;           /* "" = all saved ones, or names separated by spaces */
    double checkpoint_every;      /* wall-clock seconds between checkpoints; 0 = at each frame */
    int64_t checkpoints_kept;
    double grains_per_particle;   /* render samples a particle; 0 = none */
    double upsample;              /* radius of fine grains that particles lead [m]; 0 = none */
    /* picture */
    bool camera_given;            /* otherwise framed automatically */
    double eye[3], target[3], up[3];
    double field_of_view;         /* vertical [rad] */
    bool orthographic;
    const rp_camera_key *camera_keys;
    int camera_key_count;
    double turntable;             /* turns a second about the vertical through the target */
    double focus;                 /* distance in focus; 0 = target */
    double aperture;              /* lens radius [m]; 0 = pinhole */
    double shutter;               /* part of the frame time; 0 = no motion blur */
    int64_t width, height;
    const char *colour;           /* "material", or a field name: "velocity", "pressure", … */
    double colour_range[2];       /* equal = automatic */
    double sun[3];                /* direction towards the sun; 0 0 0 = low, from the left of the view */
    double sun_strength, sky_strength; /* 1 = midday */
    double lamp[3], lamp_radius, lamp_strength; /* a round lamp that shines at the camera's target; strength 0 = none */
    const char *ground;           /* "auto", "none", "#rrggbb" */
    const char *walls;            /* "auto": boards around a bed that fills its box; "none" */
    const char *grain_shape;      /* "sphere", "disc", "ellipsoid" */
} rp_output_def;

/* ---- controls: what somebody at the keyboard can move (repose play) ---- */

typedef enum rp_control_kind { RP_CONTROL_TURN, RP_CONTROL_SLIDE, RP_CONTROL_MOTOR } rp_control_kind;
typedef enum rp_control_mouse { RP_MOUSE_NONE, RP_MOUSE_X, RP_MOUSE_Y } rp_control_mouse;

/* A joint that a key, the mouse or an axis of a gamepad moves. Its position q starts at 0; with T = T_parent exp(q s), s the turn about the
 * axis through the point or the shift along the axis, both as they are at the start, the body is at T times its first pose (the product
 * of exponentials of robotics). */
typedef struct rp_control_def {
    const char *name;
    const char *body;             /* it moves: scripted, or free with a motor */
    const char *parent;           /* another control, of which it is carried along; "" = none */
    int kind;                     /* rp_control_kind */
    double axis[3], point[3];     /* world frame at the start */
    double rate;                  /* rad/s, m/s, or the value of the motor, when the key is down */
    double least, most;           /* of q [rad or m]; equal = no limit */
    const char *more, *less;      /* keys: one letter, or a name as browsers give it, such as "ArrowUp" */
    int64_t gamepad;              /* axis, counted from 0; -1 = none */
    int mouse;                    /* rp_control_mouse: moved by dragging with the right button */
} rp_control_def;

RP_API int rp_scene_control_count(const rp_scene *scene);
RP_API const rp_control_def *rp_scene_control(const rp_scene *scene, int index);

RP_API rp_output_def rp_default_output_def(void);
RP_API const rp_param *rp_output_table(void);
RP_API const rp_output_def *rp_scene_output(const rp_scene *scene);
RP_API const char *rp_scene_title(const rp_scene *scene);
RP_API const char *rp_scene_description(const rp_scene *scene);

/* The scene as run, every default filled in; parses back to the same definitions. Free with rp_text_free. */
RP_API rp_result rp_scene_format(const rp_scene *scene, char **yaml);

/* A JSON Schema and a Markdown reference, made from the tables. */
RP_API rp_result rp_scene_schema(char **json);
RP_API rp_result rp_scene_reference(char **markdown);


RP_END
#endif
