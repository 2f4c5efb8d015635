/* Inside a film: what its files share. */
#ifndef RP_RENDER_FILM_H
#define RP_RENDER_FILM_H

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/io.h"
#include "math/vec.h"

#include <repose/grains.h>
#include <repose/render.h>

typedef struct film_body {
    rp_mesh mesh;
    double lower[3], upper[3]; /* of the mesh, in the body's frame */
    bool bounded;
    bool container;            /* grains are inside: drawn so that one sees through */
} film_body;

struct rp_film {
    char *folder, *view_text, *colour;
    rp_film_def def;
    rp_scene *scene;
    const rp_sim_def *sim;
    const rp_output_def *out;
    rp__io_list list;
    rp_palette *palettes;
    film_body *bodies;
    double tray;               /* height of the boards around a bed of grains; 0 = none */
    int body_count;
    int up_axis;
    double up_sign;
    double middle[3];          /* origin of pictures */
    rp_view view;              /* at time 0, before keys and turntable */
    bool ready;                /* the first frame was looked at */
    double range[2];
    bool range_ready;
};

/* A plane of a field as doubles: its own memory, or a copy in *copy (free it). NULL and RP_OUT_OF_MEMORY when there is none. */
rp_result rp__film_plane(const rp_field_view *view, int component, const double **plane, double **copy);

/* Reads the i-th frame; the sentence names the file. */
rp_result rp__film_read(const rp_film *film, int64_t i, rp_frame *frame);

typedef struct film_ground {
    bool present;
    double point[3], normal[3];
    uint8_t colour[3];
} film_ground;

/* Parts of a film that need no folder: what is up, the meshes of the bodies, which of them hold grains, ground and sun. */
void rp__film_find_up(rp_film *film);
rp_result rp__film_make_bodies(rp_film *film);
void rp__film_find_containers(rp_film *film, const rp_frame *frame);
rp_result rp__film_ground(const rp_film *film, film_ground *ground);
/* The direction towards the sun, and the factor of exposure that goes with it. */
double rp__film_sun(const rp_film *film, double sun[3]);

/* Boards around a bed that fills its box: found in the first frame, drawn in all. */
rp_result rp__film_find_tray(rp_film *film, const rp_frame *first);
rp_result rp__film_add_tray(const rp_film *film, rp_render *render);

/* A box from a to b. */
rp_result rp__film_add_board(rp_render *render, const double a[3], const double b[3], const uint8_t colour[3], double opacity);

/* The fluid of the i-th frame, where it has a surface, and the panes that hold it. */
rp_result rp__film_add_water(const rp_film *film, int64_t i, rp_render *render);

/* The view from the text, the scene or the first frame. */
rp_result rp__film_choose_view(rp_film *film, const rp_frame *first);
/* With camera keys and turntable at a time. */
rp_view rp__film_view_at(const rp_film *film, double time);

/* Grains of a frame into the render; the colours of materials or of the field. */
rp_result rp__film_add_grains(rp_film *film, const rp_frame *frame, int64_t i, rp_render *render);
/* Fibres of the i-th frame; grains that are capsules, which have an axis (film_fibres.c). */
rp_result rp__film_add_fibres(const rp_film *film, int64_t i, rp_render *render);
bool rp__film_are_capsules(const double *volume, const double *radius, int64_t count, int dim);
rp_result rp__film_add_capsules(const rp_grain_set *set, const double *volume, int dim, rp_render *render);
void rp__film_draw_axis(const double nu[6], rp__vec3 x, double axis[3]);
rp_result rp__film_add_legend(const rp_film *film, const rp_frame *frame, rp_image *image);
/* RP_BAD_ARGUMENT, with a list of what there is, when the frame has no such field. */
rp_result rp__film_check_colour(const rp_film *film, const rp_frame *frame);
rp_result rp__film_find_range(rp_film *film);
/* 3 bytes a particle; `material` and `id` may be NULL. */
rp_result rp__film_colours(rp_film *film, const rp_frame *frame, const double *material, const double *id, uint8_t *colours);

/* Samples of the i-th frame, made from those before it when they are not there. Free with rp_samples_free. */
rp_result rp__film_samples(rp_film *film, int64_t i, rp_samples *out);
/* Samples in place of particles. */
rp_result rp__film_add_samples(rp_film *film, const rp_frame *frame, int64_t i, rp_render *render);

#endif
