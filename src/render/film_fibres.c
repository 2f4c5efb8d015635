/* Fibres and capsules of a frame into the render, as round curves. */
#include "render/film.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define PI 3.14159265358979323846

static rp_result add(const rp_film *film, const rp_fibres_view *v, rp_render *render)
{
    rp_curve_set set = rp_default_curve_set();
    uint8_t *colours = RP_NEW_ARRAY(uint8_t, 3 * v->count);
    if (!colours)
        return RP_OUT_OF_MEMORY;
    rp_result result = RP_OK;
    for (int d = 0; d < film->sim->fibres_count && result == RP_OK; d++) {
        rp_palette palette;
        result = rp_palette_parse(film->sim->fibres[d].colour, &palette);
        for (int64_t k = 0; k < v->count && result == RP_OK; k++)
            if (v->kind[k] == d)
                rp_palette_pick(&palette, k, colours + 3 * k);
    }
    set.count = v->count;
    set.first = v->first;
    set.position = v->position;
    set.velocity = v->velocity;
    set.radius = v->radius;
    set.colour = colours;
    if (result == RP_OK)
        result = rp_render_add_curves(render, &set);
    rp__base_free(colours);
    return result;
}

rp_result rp__film_add_fibres(const rp_film *film, int64_t i, rp_render *render)
{
    if (film->sim->fibres_count == 0)
        return RP_OK;
    char *path = rp__io_frame_path(film->folder, RP_IO_FIBRES_PREFIX, film->list.numbers[i]);
    if (!path)
        return RP_OUT_OF_MEMORY;
    rp_fibres_frame frame;
    memset(&frame, 0, sizeof frame);
    rp_result result = access(path, R_OK) == 0 ? rp_fibres_read(path, &frame) : RP_OK; /* a run may write none */
    rp__base_free(path);
    for (int64_t k = 0; k < frame.view.count && result == RP_OK; k++)
        if (frame.view.kind[k] < 0 || frame.view.kind[k] >= film->sim->fibres_count)
            result = rp__base_fail(RP_BAD_FILE, "a fibre of frame %lld is of a kind that the scene does not have", (long long)film->list.numbers[i]);
    if (result == RP_OK && frame.view.count > 0)
        result = add(film, &frame.view, render);
    rp_fibres_free(&frame);
    return result;
}

/* Half the length of a capsule's axis, from its volume 4/3 pi r³ + 2 pi r² h (in 2D pi r² + 4 r h). */
static double half_length(double volume, double r, int dim)
{
    return dim == 2 ? (volume - PI * r * r) / (4 * r) : (volume - 4.0 / 3 * PI * r * r * r) / (2 * PI * r * r);
}

bool rp__film_are_capsules(const double *volume, const double *radius, int64_t count, int dim)
{
    for (int64_t i = 0; i < count && volume && radius; i++)
        if (radius[i] > 0 && half_length(volume[i], radius[i], dim) > 1e-3 * radius[i])
            return true;
    return false;
}

rp_result rp__film_add_capsules(const rp_grain_set *s, const double *volume, int dim, rp_render *render)
{
    int64_t n = s->count;
    double *position = RP_NEW_ARRAY(double, 6 * n), *velocity = RP_NEW_ARRAY(double, 6 * n), *radius = RP_NEW_ARRAY(double, 2 * n);
    int64_t *first = RP_NEW_ARRAY(int64_t, n + 1);
    rp_result result = position && velocity && radius && first ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < n && result == RP_OK; i++)
        for (int e = 0; e < 2; e++) {
            first[i] = 2 * i;
            radius[2 * i + e] = s->radius[i];
            double h = fmax(0, half_length(volume[i], s->radius[i], dim)) + 1e-6 * s->radius[i];
            for (int d = 0; d < 3; d++) {
                position[6 * i + 3 * e + d] = s->position[d][i] + (e == 0 ? -h : h) * s->axis[d][i];
                velocity[6 * i + 3 * e + d] = s->velocity[0] ? s->velocity[d][i] : 0;
            }
        }
    if (result == RP_OK) {
        rp_curve_set set = rp_default_curve_set();
        first[n] = 2 * n;
        set.count = n, set.first = first, set.position = position, set.velocity = velocity, set.radius = radius, set.colour = s->colour;
        set.gloss = 0;
        set.straight = true;
        result = rp_render_add_curves(render, &set);
    }
    rp__base_free(position);
    rp__base_free(velocity);
    rp__base_free(radius);
    rp__base_free(first);
    return result;
}
