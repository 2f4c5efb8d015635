/* Pictures without a display: grains, bodies and ground under sun and sky, films of a run, plots and contact sheets.
 * The same scene and settings give the same bytes, whatever the number of threads. */
#ifndef REPOSE_RENDER_H
#define REPOSE_RENDER_H

#include <repose/export.h>
#include <repose/output.h>
#include <repose/result.h>
#include <repose/shape.h>
#include <stdbool.h>
#include <stdint.h>

RP_BEGIN

/* ---- images ---- */

/* 8-bit sRGB, rows from the top, 3 bytes a pixel. */
typedef struct rp_image {
    int width, height;
    uint8_t *pixels;
} rp_image;

enum { RP_IMAGE_MAX_SIZE = 32768 }; /* largest width and height */

RP_API rp_result rp_image_create(int width, int height, rp_image *out); /* white */
RP_API void rp_image_free(rp_image *image);
RP_API rp_result rp_image_read_png(const char *path, rp_image *out);
RP_API rp_result rp_image_write_png(const rp_image *image, const char *path); /* appears whole or not at all */

/* Perceptual distance of two images of one size: the mean CIE Lab difference, and the largest over 8×8 blocks, after a
 * blur of about a pixel (noise of single pixels counts little, a missing grain or another light counts). */
RP_API rp_result rp_image_compare(const rp_image *a, const rp_image *b, double *mean, double *worst_block);

/* Colours of a perceptually even map (equal steps of t are equal steps for the eye); t is held in 0 … 1. */
RP_API void rp_colour_map(double t, uint8_t rgb[3]);

/* A legend with the map, its range and a title in the lower right corner. */
RP_API rp_result rp_image_add_legend(rp_image *image, const char *title, double low, double high);
/* Text with its upper left corner at (x, y), `size` pixels high (capitals). Greek letters and a few signs in UTF-8. */
RP_API rp_result rp_image_add_text(rp_image *image, const char *text, double x, double y, double size, const uint8_t rgb[3]);

/* ---- what is in the picture ---- */

typedef enum rp_grain_shape { RP_GRAIN_SPHERE, RP_GRAIN_DISC, RP_GRAIN_ELLIPSOID } rp_grain_shape;

/* Arrays are copied (rounded to float about the origin of the render). */
typedef struct rp_grain_set {
    rp_grain_shape shape;
    int64_t count;
    const double *position[3];    /* planes */
    const double *radius;         /* one a grain, or NULL: `common_radius` */
    double common_radius;
    const uint8_t *colour;        /* 3 sRGB bytes a grain, or NULL: `common_colour` */
    uint8_t common_colour[3];
    const double *velocity[3];    /* planes, for motion blur; NULL = at rest */
    /* Discs (coins): the axis, planes; thickness as a part of the diameter. NULL: random axes. */
    const double *axis[3];
    double thickness;
    /* Ellipsoids: F = sum of a aᵀ over the semi-axes a (xx yy zz xy xz yz), planes; scaled by `scale`. */
    const double *ellipsoid[6];
    double scale;
} rp_grain_set;
RP_API rp_grain_set rp_default_grain_set(void);

typedef struct rp_mesh_set {
    const rp_mesh *mesh;
    double position[3], orientation[4];         /* pose of the mesh (w, x, y, z) */
    double velocity[3], angular_velocity[3];    /* for motion blur */
    uint8_t colour[3];
    bool smooth;                                /* normals interpolated where faces meet below 35 degrees */
    double gloss;                               /* 0 matte … 1 polished */
    double opacity;                             /* 1; below: seen through, for containers */
    double clarity;                             /* of a closed mesh that is seen through: the way through it that leaves 1/e of the light; 0: hollow */
} rp_mesh_set;
RP_API rp_mesh_set rp_default_mesh_set(void);

/* Round curves through points: fibres. Curve k has the points first[k] … first[k + 1] - 1. */
typedef struct rp_curve_set {
    int64_t count;
    const int64_t *first;                       /* count + 1 */
    const double *position;                     /* x y z each */
    const double *velocity;                     /* for motion blur; NULL: at rest */
    const double *radius;                       /* of a point */
    const uint8_t *colour;                      /* 3 a curve; NULL: common_colour */
    uint8_t common_colour[3];
    double gloss;                               /* 0 matte … 1 polished */
    bool straight;                              /* from point to point, with round ends (capsules); else smooth */
} rp_curve_set;
RP_API rp_curve_set rp_default_curve_set(void);

typedef struct rp_render rp_render;

/* `origin`: somewhere in the middle; distances from it are kept in single precision. */
RP_API rp_result rp_render_create(const double origin[3], rp_render **out);
RP_API void rp_render_destroy(rp_render *render);
RP_API rp_result rp_render_add_grains(rp_render *render, const rp_grain_set *grains);
RP_API rp_result rp_render_add_mesh(rp_render *render, const rp_mesh_set *mesh);
RP_API rp_result rp_render_add_curves(rp_render *render, const rp_curve_set *curves);
/* An endless plane through `point`, fading into the background far away. */
RP_API rp_result rp_render_set_ground(rp_render *render, const double point[3], const double normal[3],
                                      const uint8_t colour[3]);
/* Bounds of grains and meshes; false when there is nothing. */
RP_API bool rp_render_bounds(const rp_render *render, double lower[3], double upper[3]);

/* ---- the picture ---- */

typedef enum rp_quality { RP_DRAFT, RP_GOOD, RP_BEST } rp_quality;

typedef struct rp_view {
    double eye[3], target[3], up[3];
    double field_of_view;         /* vertical [rad] */
    bool orthographic;
    double extent;                /* orthographic: height of the picture [m]; 0 = from field_of_view at the target */
    double aperture;              /* radius of the lens [m]; 0 = all in focus */
    double focus;                 /* distance in focus [m]; 0 = at the target */
} rp_view;

typedef struct rp_picture {
    int width, height;
    rp_quality quality;
    int samples;                  /* a pixel; 0 = by quality */
    int bounces;                  /* of the light; -1 = by quality */
    rp_view view;
    double sun[3];                /* direction towards it */
    double sun_strength;          /* 1 = midday */
    double sun_radius;            /* half its angle [rad]: softness of the shadows */
    double sky_strength;
    uint8_t background[3];        /* seen where nothing is; it lights nothing */
    /* A round lamp; strength 0 = none. */
    double lamp_position[3], lamp_direction[3], lamp_radius, lamp_strength;
    double exposure;              /* factor on the light */
    double shutter;               /* [s] open around the moment; 0 = no motion blur */
    uint64_t seed;
    int threads;                  /* 0 = all cores; never changes a byte */
} rp_picture;
RP_API rp_picture rp_default_picture(void);

/* A view that shows the box from the given direction (from the box to the eye) and fills the picture by `fill` (0 … 1). */
RP_API rp_view rp_view_frame(const double lower[3], const double upper[3], const double direction[3], const double up[3],
                             double field_of_view, bool orthographic, int width, int height, double fill);
/* Turned about the vertical through the target. */
RP_API rp_view rp_view_turn(const rp_view *view, double angle);

/* Called now and then with the part done; returning false stops with RP_CANCELLED. */
typedef bool (*rp_progress_fn)(void *context, double part);

RP_API rp_result rp_render_picture(rp_render *render, const rp_picture *picture, rp_progress_fn progress, void *context,
                                   rp_image *out);
RP_API rp_result rp_render_to_png(rp_render *render, const rp_picture *picture, const char *path);

/* ---- palettes ---- */

enum { RP_PALETTE_MAX = 8 };
typedef struct rp_palette {
    int count;
    uint8_t colour[RP_PALETTE_MAX][3];
    double weight[RP_PALETTE_MAX]; /* adds up to 1 */
} rp_palette;
/* "sand" (the three colours of [klar2016, §9]), a name of rp_palette_names, "#rrggbb", or "#rrggbb 3, #rrggbb 1 …" with
 * weights. NULL and "" are "sand". */
RP_API rp_result rp_palette_parse(const char *text, rp_palette *out);
RP_API const char *rp_palette_names(void);
/* The colour of a grain: the same for the same id. */
RP_API void rp_palette_pick(const rp_palette *palette, int64_t id, uint8_t rgb[3]);
/* Its place in the palette, and the factor of its lightness (0.9 … 1). */
RP_API int rp_palette_choose(const rp_palette *palette, int64_t id, double *shade);

/* ---- films: pictures of the frames of a run ---- */

typedef struct rp_film_def {
    int width, height;            /* both 0 = as in the scene; one 0 = the shape of the scene's picture */
    rp_quality quality;
    int samples;                  /* 0 = by quality */
    const char *view;             /* NULL = as in the scene; "auto" "front" "side" "top" "iso" "close", or "ex,ey,ez" or
                                     "ex,ey,ez:tx,ty,tz" [m]; "ortho-" before a name for a parallel view */
    const char *colour;           /* NULL = as in the scene; "material" or a field, or field.x, field.y, field.z */
    double colour_range[2];       /* equal = as in the scene or automatic */
    double grains_per_particle;   /* < 0 = as in the scene; 0 = particles themselves */
    double upsample;              /* radius of fine grains that particles lead [m]; < 0 = as in the scene; 0 = none */
    bool legend;                  /* with a field */
    bool time_label;
    double shutter;               /* NAN = as in the scene; part of the frame time for which it is open */
    double aperture;              /* NAN = as in the scene; radius of the lens [m] */
    double turntable;             /* NAN = as in the scene; turns a second about the vertical through the target */
    int threads;                  /* 0 = all cores; never changes a byte */
} rp_film_def;
RP_API rp_film_def rp_default_film_def(void);

typedef struct rp_film rp_film;
/* A folder written by a run. RP_NOT_FOUND: it has no frames. */
RP_API rp_result rp_film_open(const char *folder, const rp_film_def *def, rp_film **out);
RP_API void rp_film_close(rp_film *film);
RP_API int64_t rp_film_count(const rp_film *film);                 /* frames found */
RP_API int64_t rp_film_frame_number(const rp_film *film, int64_t i); /* number of the i-th */
RP_API double rp_film_rate(const rp_film *film);                   /* pictures a second */
RP_API rp_result rp_film_picture(rp_film *film, int64_t i, rp_progress_fn progress, void *context, rp_image *out);
/* Whether view and colour are right for this run: RP_BAD_ARGUMENT with a sentence that tells what there is. */
RP_API rp_result rp_film_check(rp_film *film);
RP_API rp_result rp_film_scan(rp_film *film);                      /* looks again for frames (a run that goes on) */

/* ---- the stage: a scene set up as a film shows it, for programs that draw by themselves ---- */

typedef struct rp_stage_body {
    rp_mesh mesh;                 /* in the body's frame; empty for one that deforms (rp_mesh_sequence_mesh) */
    bool container;               /* grains are inside: to be seen through */
} rp_stage_body;

typedef struct rp_stage {
    rp_view view;                 /* at time 0, before the keys and the turntable of the scene */
    double sun[3];                /* direction towards it */
    uint8_t background[3];
    int up_axis;                  /* 0, 1 or 2 */
    double up_sign;
    bool ground;                  /* there is one */
    double ground_point[3], ground_normal[3];
    uint8_t ground_colour[3];
    double tray;                  /* height of the boards around a bed that fills its box [m]; 0 = none */
    int body_count;
    rp_stage_body *bodies;
} rp_stage;

/* `first`: the first frame of the run (rp_frame_read, rp_frame_collect). Sets nothing on failure. */
RP_API rp_result rp_stage_make(const rp_scene *scene, const rp_frame *first, int width, int height, rp_stage *out);
RP_API rp_view rp_stage_view(const rp_scene *scene, const rp_stage *stage, double time); /* with keys and turntable */
RP_API void rp_stage_free(rp_stage *stage);
/* The radius with which a particle of this volume of grains is shown. */
RP_API double rp_stage_radius(const rp_sim_def *sim, double volume, int material);

/* One number a particle: a field of one component, "velocity.x" a component of one of several, "velocity" its length; of a tensor the
 * norm. `values` has room for frame->count. RP_BAD_ARGUMENT with a list of what there is. */
RP_API rp_result rp_frame_values(const rp_frame *frame, const char *name, double *values, const char **unit);

/* Makes the grain samples of all frames that have none yet (rp_film_def.grains_per_particle above 0), one frame from the
 * other; kept in FOLDER/samples. Call it after each frame of a run, or once afterwards; pictures call it as needed. */
RP_API rp_result rp_film_make_samples(rp_film *film, rp_progress_fn progress, void *context);

/* PNG files to a video (.mp4 or .webm by the name) with the program ffmpeg. RP_NOT_FOUND: there is no ffmpeg. The video appears
 * whole or not at all. */
RP_API rp_result rp_video_encode(const char *const *pictures, int64_t count, double rate, const char *path,
                                 rp_progress_fn progress, void *context);

/* A contact sheet of `count` images (of any size), `columns` across, each `width` wide, with captions (may be NULL). */
RP_API rp_result rp_sheet(const rp_image *images, const char *const *captions, int count, int columns, int width,
                          rp_image *out);

/* ---- plots ---- */

typedef struct rp_plot_line {
    const char *name;             /* NULL: not in the key */
    const double *x, *y;          /* not-finite points break the line */
    int64_t count;
    bool points;                  /* marks in place of a line */
} rp_plot_line;

typedef struct rp_plot_def {
    const char *title, *x_label, *y_label;
    bool log_x, log_y;            /* non-positive values break the line */
    double x_range[2], y_range[2]; /* equal = automatic */
    int width, height;            /* points (1/72 inch) of the SVG */
    double scale;                 /* pixels of the PNG a point */
    const rp_plot_line *lines;
    int line_count;
} rp_plot_def;
RP_API rp_plot_def rp_default_plot_def(void);
RP_API rp_result rp_plot_svg(const rp_plot_def *plot, const char *path);
RP_API rp_result rp_plot_png(const rp_plot_def *plot, const char *path);

/* All plots that the tables and frames of the runs allow, as SVG and PNG into `folder`; several runs are overlaid. The
 * number of plots made in *made (may be NULL). */
RP_API rp_result rp_plot_runs(const char *const *runs, int run_count, const char *folder, int *made);

RP_END
#endif
