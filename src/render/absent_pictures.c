/* In the place of this room where the component 'pictures' is left out: every function of <repose/render.h> is there and refuses by name. */
#include "base/error.h"

#include <repose/render.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(name, ...)                                                                                              \
    rp_result name(__VA_ARGS__)                                                                                         \
    {                                                                                                                   \
        return rp__base_fail(RP_UNSUPPORTED, #name ": this library was built without the component 'pictures' (pictures, Embree and libpng)"); \
    }
#define GIVE(type, value, name, ...) \
    type name(__VA_ARGS__)           \
    {                                \
        return value;                \
    }
#define NOTHING(name, ...) \
    void name(__VA_ARGS__) \
    {                      \
    }

REFUSE(rp_image_create, int width, int height, rp_image *out)
REFUSE(rp_image_read_png, const char *path, rp_image *out)
REFUSE(rp_image_write_png, const rp_image *image, const char *path)
REFUSE(rp_image_compare, const rp_image *a, const rp_image *b, double *mean, double *worst_block)
REFUSE(rp_image_add_legend, rp_image *image, const char *title, double low, double high)
REFUSE(rp_image_add_text, rp_image *image, const char *text, double x, double y, double size, const uint8_t rgb[3])
REFUSE(rp_render_create, const double origin[3], rp_render **out)
REFUSE(rp_render_add_grains, rp_render *render, const rp_grain_set *grains)
REFUSE(rp_render_add_mesh, rp_render *render, const rp_mesh_set *mesh)
REFUSE(rp_render_add_curves, rp_render *render, const rp_curve_set *curves)
REFUSE(rp_render_set_ground, rp_render *render, const double point[3], const double normal[3], const uint8_t colour[3])
REFUSE(rp_render_picture, rp_render *render, const rp_picture *picture, rp_progress_fn progress, void *context, rp_image *out)
REFUSE(rp_render_to_png, rp_render *render, const rp_picture *picture, const char *path)
REFUSE(rp_palette_parse, const char *text, rp_palette *out)
REFUSE(rp_film_open, const char *folder, const rp_film_def *def, rp_film **out)
REFUSE(rp_film_picture, rp_film *film, int64_t i, rp_progress_fn progress, void *context, rp_image *out)
REFUSE(rp_film_check, rp_film *film)
REFUSE(rp_film_scan, rp_film *film)
REFUSE(rp_stage_make, const rp_scene *scene, const rp_frame *first, int width, int height, rp_stage *out)
REFUSE(rp_frame_values, const rp_frame *frame, const char *name, double *values, const char **unit)
REFUSE(rp_film_make_samples, rp_film *film, rp_progress_fn progress, void *context)
REFUSE(rp_video_encode, const char *const *pictures, int64_t count, double rate, const char *path, rp_progress_fn progress, void *context)
REFUSE(rp_sheet, const rp_image *images, const char *const *captions, int count, int columns, int width, rp_image *out)
REFUSE(rp_plot_svg, const rp_plot_def *plot, const char *path)
REFUSE(rp_plot_png, const rp_plot_def *plot, const char *path)
REFUSE(rp_plot_runs, const char *const *runs, int run_count, const char *folder, int *made)

/* What has no result: nothing was ever made, so there is nothing to tell or to free. */
NOTHING(rp_image_free, rp_image *image)
NOTHING(rp_colour_map, double t, uint8_t rgb[3])
GIVE(rp_grain_set, ((rp_grain_set){ 0 }), rp_default_grain_set, void)
GIVE(rp_mesh_set, ((rp_mesh_set){ 0 }), rp_default_mesh_set, void)
GIVE(rp_curve_set, ((rp_curve_set){ 0 }), rp_default_curve_set, void)
NOTHING(rp_render_destroy, rp_render *render)
GIVE(bool, 0, rp_render_bounds, const rp_render *render, double lower[3], double upper[3])
GIVE(rp_picture, ((rp_picture){ 0 }), rp_default_picture, void)
GIVE(rp_view, ((rp_view){ 0 }), rp_view_frame, const double lower[3], const double upper[3], const double direction[3], const double up[3],
     double field_of_view, bool orthographic, int width, int height, double fill)
GIVE(rp_view, ((rp_view){ 0 }), rp_view_turn, const rp_view *view, double angle)
GIVE(const char *, NULL, rp_palette_names, void)
NOTHING(rp_palette_pick, const rp_palette *palette, int64_t id, uint8_t rgb[3])
GIVE(int, 0, rp_palette_choose, const rp_palette *palette, int64_t id, double *shade)
GIVE(rp_film_def, ((rp_film_def){ 0 }), rp_default_film_def, void)
NOTHING(rp_film_close, rp_film *film)
GIVE(int64_t, 0, rp_film_count, const rp_film *film)
GIVE(int64_t, 0, rp_film_frame_number, const rp_film *film, int64_t i)
GIVE(double, 0, rp_film_rate, const rp_film *film)
GIVE(rp_view, ((rp_view){ 0 }), rp_stage_view, const rp_scene *scene, const rp_stage *stage, double time)
NOTHING(rp_stage_free, rp_stage *stage)
GIVE(double, 0, rp_stage_radius, const rp_sim_def *sim, double volume, int material)
GIVE(rp_plot_def, ((rp_plot_def){ 0 }), rp_default_plot_def, void)
