/* Grains of a frame: sizes from their volumes, colours from their material or from a field. */
#include "render/film.h"
#include "render/internal.h"

#include "math/random.h"
#include "render/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

static double material_fraction(const rp_sim_def *sim, int m)
{
    double fraction = m >= 0 && m < sim->material_count ? sim->materials[m].volume_fraction : 0;
    return fraction > 0.05 && fraction <= 1 ? fraction : 0.6;
}

/* Half the spacing that particles of this volume have when packed, and a little more so that they touch. */
double rp_stage_radius(const rp_sim_def *sim, double volume, int material)
{
    double bulk = fmax(volume, 0) / material_fraction(sim, material);
    double drawn = material >= 0 && material < sim->material_count && sim->materials[material].drawn > 0 ? sim->materials[material].drawn : 1;
    return 0.5 * 1.1 * drawn * (sim->dim == 2 ? sqrt(bulk) : cbrt(bulk));
}

/* ---- fields as numbers ---- */

/* "velocity" is the length of the vector, "velocity.x" a component, of a tensor the norm. */
static rp_result split_name(const char *colour, char name[64], int *component)
{
    const char *dot = strrchr(colour, '.');
    *component = -1;
    size_t length = strlen(colour);
    if (dot && dot[1] && !dot[2] && strchr("xyz", dot[1])) {
        *component = dot[1] - 'x';
        length = (size_t)(dot - colour);
    }
    if (length == 0 || length > 63)
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' is not the name of a field", colour);
    memcpy(name, colour, length);
    name[length] = '\0';
    if (strcmp(name, "phi") == 0)
        strcpy(name, "volume_fraction");
    return RP_OK;
}

static rp_result no_such_field(const rp_frame *frame, const char *name)
{
    char list[512];
    int used = 0;
    for (int f = 0; f < frame->field_count && used < (int)sizeof list - 70; f++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", f ? ", " : "", frame->fields[f].info.name);
    return rp__base_fail(RP_BAD_ARGUMENT,
                         "the frames have no field '%s' to colour by; they have %s%s, and 'material' is always right ('velocity.z' is a "
                         "component)",
                         name, list, rp_frame_field(frame, "volume_fraction") ? " (or phi)" : "");
}

/* The field that is asked for and its component, or -1 for the whole. */
static rp_result find_field(const char *colour, const rp_frame *frame, const rp_field_view **view, int *component)
{
    char name[64];
    RP_TRY(split_name(colour, name, component));
    *view = rp_frame_field(frame, name);
    if (!*view)
        return no_such_field(frame, colour);
    if (*component >= (*view)->info.components)
        return rp__base_fail(RP_BAD_ARGUMENT, "field '%s' has %d component%s; '%s' asks for another", name,
                             (*view)->info.components, (*view)->info.components == 1 ? "" : "s", colour);
    return RP_OK;
}

rp_result rp__film_check_colour(const rp_film *film, const rp_frame *frame)
{
    const rp_field_view *view;
    int component;
    return find_field(film->colour, frame, &view, &component);
}

rp_result rp_frame_values(const rp_frame *frame, const char *name, double *values, const char **unit)
{
    const rp_field_view *view;
    int component;
    RP_TRY(find_field(name, frame, &view, &component));
    bool norm = component < 0 && view->info.components > 1;
    int first = component < 0 ? 0 : component, last = component < 0 ? view->info.components : component + 1;
    for (int c = first; c < last; c++) {
        const double *plane;
        double *copy;
        RP_TRY(rp__film_plane(view, c, &plane, &copy));
        double weight = view->info.components == 6 && c >= 3 ? 2 : 1;
        for (int64_t i = 0; i < frame->count; i++)
            values[i] = norm ? (c == first ? 0 : values[i]) + weight * plane[i] * plane[i] : plane[i];
        rp__base_free(copy);
    }
    for (int64_t i = 0; i < frame->count && norm; i++)
        values[i] = sqrt(values[i]);
    if (unit)
        *unit = view->info.unit ? view->info.unit : "";
    return RP_OK;
}

/* The values to show, one a particle; free with rp__base_free. */
static rp_result field_values(const rp_film *film, const rp_frame *frame, double **out)
{
    double *values = rp__base_alloc_zero(sizeof *values * (size_t)(frame->count + 1));
    if (!values)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp_frame_values(frame, film->colour, values, NULL);
    if (result == RP_OK)
        *out = values;
    else
        rp__base_free(values);
    return result;
}

/* A region is a choice, not a number: grains that fly, that stick, that slide. */
static const uint8_t region_colours[3][3] = { { 68, 114, 196 }, { 96, 156, 90 }, { 208, 76, 60 } };
static const char *const region_names[3] = { "take-off", "stick", "slide" };

static bool is_region(const rp_film *film)
{
    return strcmp(film->colour, "region") == 0;
}

/* ---- range ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Widens the range to the 1st and 99th percentile of one frame. */
static rp_result widen(rp_film *film, const rp_frame *frame, double range[2])
{
    double *values;
    RP_TRY(field_values(film, frame, &values));
    int64_t n = 0;
    for (int64_t i = 0; i < frame->count; i++)
        if (isfinite(values[i]))
            values[n++] = values[i];
    if (n > 0) {
        qsort(values, (size_t)n, sizeof *values, by_value);
        range[0] = fmin(range[0], values[(int64_t)(0.01 * (double)(n - 1))]);
        range[1] = fmax(range[1], values[(int64_t)(0.99 * (double)(n - 1))]);
    }
    rp__base_free(values);
    return RP_OK;
}

rp_result rp__film_find_range(rp_film *film)
{
    enum { LOOKS = 5 };
    const double *given = film->def.colour_range[0] != film->def.colour_range[1] ? film->def.colour_range
                                                                                 : film->out->colour_range;
    if (given[0] != given[1]) {
        film->range[0] = given[0], film->range[1] = given[1];
        return RP_OK;
    }
    double range[2] = { INFINITY, -INFINITY };
    int64_t n = film->list.count, before = -1;
    for (int k = 0; k < LOOKS; k++) {
        int64_t i = (n - 1) * k / (LOOKS - 1);
        rp_frame frame;
        if (i == before)
            continue;
        before = i;
        rp_result result = rp__film_read(film, i, &frame);
        if (result == RP_BAD_FILE) /* said when its picture is asked for */
            continue;
        RP_TRY(result);
        if (frame.step > 0 || n == 1) /* before the first step fields of the nodes are zero */
            result = widen(film, &frame, range);
        rp_frame_free(&frame);
        RP_TRY(result);
    }
    if (!(range[0] <= range[1]))
        range[0] = 0, range[1] = 1;
    if (range[0] > 0 && range[0] < 0.4 * range[1])
        range[0] = 0;
    if (range[0] == range[1])
        range[1] = range[0] + (range[0] != 0 ? fabs(range[0]) : 1);
    film->range[0] = range[0], film->range[1] = range[1];
    return RP_OK;
}

rp_result rp__film_add_legend(const rp_film *film, const rp_frame *frame, rp_image *image)
{
    char name[64], title[160];
    int component;
    if (is_region(film)) {
        double size = fmax(7, image->height / 60.0), y = film->sim->dim == 2 ? 6 * size : image->height - 2.6 * size;
        const uint8_t paper[3] = { 255, 255, 255 };
        rp__canvas_box(image, image->width - 10 * size, y - 5.2 * size, image->width - size, y + 1.9 * size, paper, 0.82);
        for (int k = 2; k >= 0; k--, y -= 1.8 * size)
            RP_TRY(rp_image_add_text(image, region_names[k], image->width - 9 * size, y, size, region_colours[k]));
        return RP_OK;
    }
    RP_TRY(split_name(film->colour, name, &component));
    const rp_field_view *view = rp_frame_field(frame, name);
    const char *unit = view && view->info.unit ? view->info.unit : "";
    snprintf(title, sizeof title, "%s%s%s%s", film->colour, unit[0] ? " [" : "", unit, unit[0] ? "]" : "");
    return rp__render_legend(image, title, film->range[0], film->range[1], film->sim->dim == 2); /* a section lies on the floor */
}

/* ---- colours of particles ---- */

rp_result rp__film_colours(rp_film *film, const rp_frame *frame, const double *material, const double *id, uint8_t *colours)
{
    if (strcmp(film->colour, "material") == 0) {
        int last = film->sim->material_count;
        for (int64_t i = 0; i < frame->count; i++) {
            int m = material && material[i] >= 0 && material[i] < last ? (int)material[i] : last;
            rp_palette_pick(&film->palettes[m], id ? (int64_t)id[i] : i, colours + 3 * i);
        }
        return RP_OK;
    }
    double *values;
    RP_TRY(field_values(film, frame, &values));
    for (int64_t i = 0; i < frame->count; i++) {
        if (is_region(film)) {
            int k = values[i] >= 0 && values[i] < 3 ? (int)values[i] : 0;
            memcpy(colours + 3 * i, region_colours[k], 3);
        } else
            rp_colour_map((values[i] - film->range[0]) / (film->range[1] - film->range[0]), colours + 3 * i);
    }
    rp__base_free(values);
    return RP_OK;
}

/* ---- into the render ---- */

enum { MAX_COPIES = 32 };
typedef struct borrowed {
    double *copies[MAX_COPIES];
    int count;
} borrowed;

/* Planes of a field if the frame has it with at least that many components. */
static rp_result planes_of(const rp_frame *frame, const char *name, int components, const double **planes, borrowed *b)
{
    const rp_field_view *view = rp_frame_field(frame, name);
    if (!view || view->info.components < components)
        return RP_OK;
    for (int c = 0; c < components; c++)
        RP_TRY(rp__film_plane(view, c, &planes[c], &b->copies[b->count++]));
    return RP_OK;
}

static rp_result set_radii(const rp_film *film, const rp_frame *frame, const double *volume, const double *material, double *radius)
{
    for (int64_t i = 0; i < frame->count; i++)
        radius[i] = volume ? rp_stage_radius(film->sim, volume[i], material ? (int)material[i] : 0) : 0.25 * film->sim->cell_size;
    return RP_OK;
}

/* A normal drawn from the orientation tensor nu (xx yy zz xy xz yz): L x with nu = L L^T has nu as its second moment when x has
 * the unit tensor. The same x goes along with a grain, so that its normal follows nu without jumps. */
void rp__film_draw_axis(const double nu[6], rp__vec3 x, double axis[3])
{
    double a = sqrt(nu[0] > 0 ? nu[0] : 0), b = a > 1e-9 ? nu[3] / a : 0, c = a > 1e-9 ? nu[4] / a : 0;
    double yy = nu[1] - b * b, d = sqrt(yy > 0 ? yy : 0), e = d > 1e-9 ? (nu[5] - b * c) / d : 0;
    double zz = nu[2] - c * c - e * e, f = sqrt(zz > 0 ? zz : 0);
    axis[0] = a * x.x;
    axis[1] = b * x.x + d * x.y;
    axis[2] = c * x.x + e * x.y + f * x.z;
    if (!(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2] > 1e-20))
        axis[0] = x.x, axis[1] = x.y, axis[2] = x.z;
}

/* The axes of coins: drawn from the orientation of the particle's grains where the method keeps one, else random; by id. */
static rp_result coin_axes(const rp_frame *frame, const double *id, rp_grain_set *set, borrowed *b)
{
    const double *nu[6] = { NULL };
    RP_TRY(planes_of(frame, "orientation", 6, nu, b));
    double *axis[3];
    for (int d = 0; d < 3; d++) {
        axis[d] = b->copies[b->count++] = RP_NEW_ARRAY(double, frame->count);
        if (!axis[d])
            return RP_OUT_OF_MEMORY;
        set->axis[d] = axis[d];
    }
    for (int64_t i = 0; i < frame->count; i++) {
        rp__vec3 a = rp__random_on_sphere(0x636f696e, 1, id ? (uint64_t)id[i] : (uint64_t)i);
        double drawn[3] = { a.x, a.y, a.z };
        if (nu[0])
            rp__film_draw_axis((double[6]){ nu[0][i], nu[1][i], nu[2][i], nu[3][i], nu[4][i], nu[5][i] }, a, drawn);
        for (int d = 0; d < 3; d++)
            axis[d][i] = drawn[d];
    }
    return RP_OK;
}

/* `*capsules`: the volumes of grains that are some; else NULL. */
static rp_result fill_set(rp_film *film, const rp_frame *frame, rp_grain_set *set, borrowed *b, uint8_t **colours, const double **capsules)
{
    *capsules = NULL;
    const double *volume = NULL, *material = NULL, *id = NULL;
    RP_TRY(planes_of(frame, "position", 3, set->position, b));
    if (!set->position[0])
        return rp__base_fail(RP_BAD_FILE, "a frame has no positions");
    RP_TRY(planes_of(frame, "velocity", 3, set->velocity, b));
    RP_TRY(planes_of(frame, "volume", 1, &volume, b));
    RP_TRY(planes_of(frame, "material", 1, &material, b));
    RP_TRY(planes_of(frame, "id", 1, &id, b));
    double *radius = b->copies[b->count++] = RP_NEW_ARRAY(double, frame->count);
    *colours = RP_NEW_ARRAY(uint8_t, 3 * frame->count);
    if (!radius || !*colours)
        return RP_OUT_OF_MEMORY;
    const double *own = NULL;
    RP_TRY(planes_of(frame, "radius", 1, &own, b));
    if (own)
        memcpy(radius, own, (size_t)frame->count * sizeof *radius); /* grains one by one know theirs */
    else
        RP_TRY(set_radii(film, frame, volume, material, radius));
    RP_TRY(rp__film_colours(film, frame, material, id, *colours));
    set->radius = radius;
    set->colour = *colours;
    if (own && rp__film_are_capsules(volume, radius, frame->count, film->sim->dim)) {
        RP_TRY(planes_of(frame, "axis", 3, set->axis, b));
        *capsules = set->axis[0] ? volume : NULL;
        return RP_OK;
    }
    const char *shape = film->out->grain_shape ? film->out->grain_shape : "sphere";
    if (strcmp(shape, "disc") == 0) {
        set->shape = RP_GRAIN_DISC;
        return coin_axes(frame, id, set, b);
    }
    if (strcmp(shape, "ellipsoid") == 0) {
        RP_TRY(planes_of(frame, "ellipsoid", 6, set->ellipsoid, b));
        set->shape = set->ellipsoid[0] ? RP_GRAIN_ELLIPSOID : RP_GRAIN_SPHERE;
    }
    return RP_OK;
}

rp_result rp__film_add_grains(rp_film *film, const rp_frame *frame, int64_t i, rp_render *render)
{
    if (film->def.grains_per_particle > 0 || film->def.upsample > 0)
        return rp__film_add_samples(film, frame, i, render);
    borrowed b = { 0 };
    uint8_t *colours = NULL;
    rp_grain_set set = rp_default_grain_set();
    set.count = frame->count;
    if (frame->count == 0)
        return RP_OK;
    const double *capsules = NULL;
    rp_result result = fill_set(film, frame, &set, &b, &colours, &capsules);
    if (result == RP_OK)
        result = capsules ? rp__film_add_capsules(&set, capsules, film->sim->dim, render) : rp_render_add_grains(render, &set);
    for (int k = 0; k < b.count; k++)
        rp__base_free(b.copies[k]);
    rp__base_free(colours);
    return result;
}
