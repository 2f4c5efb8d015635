/* Grain samples of a film: made frame by frame, kept in files, shown in place of the particles. */
#include "render/film.h"

#include "base/file.h"
#include "base/text.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

/* FOLDER/samples/20/frame_000012.samples: each number of samples a particle has its own files. */
static char *samples_folder(const rp_film *film)
{
    rp__text text = { 0 };
    rp__text_append(&text, "%s/samples/%s", film->folder, film->def.upsample > 0 ? "fine-" : "");
    rp__text_append_number(&text, film->def.upsample > 0 ? film->def.upsample : film->def.grains_per_particle);
    return rp__text_take(&text);
}

static char *samples_path(const rp_film *film, int64_t i)
{
    rp__text text = { 0 };
    char *folder = samples_folder(film);
    if (!folder)
        return NULL;
    rp__text_append(&text, "%s/frame_%06lld.samples", folder, (long long)film->list.numbers[i]);
    rp__base_free(folder);
    return rp__text_take(&text);
}

/* Reads the samples of frame i; RP_NOT_FOUND when there are none or they are damaged or of another run. */
static rp_result read_samples(const rp_film *film, int64_t i, const rp_frame *frame, rp_samples *out)
{
    char *path = samples_path(film, i);
    if (!path)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp__file_exists(path) ? rp_samples_read(path, out) : RP_NOT_FOUND;
    rp__base_free(path);
    if (result == RP_OK && (out->particles != frame->count || out->frame_sum != rp_samples_frame_sum(frame))) {
        rp_samples_free(out);
        result = RP_NOT_FOUND;
    }
    return result == RP_BAD_FILE ? RP_NOT_FOUND : result;
}

static rp_result write_samples(const rp_film *film, int64_t i, const rp_samples *samples)
{
    char *path = samples_path(film, i);
    rp_result result = path ? rp_samples_write(samples, path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    return result;
}

static rp_result make_def(const rp_film *film, rp_samples_def *def, const rp_shape ***bodies)
{
    *bodies = rp__base_alloc_zero(sizeof **bodies * (size_t)(film->sim->body_count + 1));
    if (!*bodies)
        return RP_OUT_OF_MEMORY;
    *def = rp_samples_def_of(film->sim, *bodies);
    def->per_particle = film->def.grains_per_particle;
    return RP_OK;
}

/* Upsampling: of what the particles of the frame lead. */
static rp_result fine_def(const rp_film *film, const rp_samples_def *room, const rp_frame *frame, rp_upsample_def *def)
{
    *def = rp_default_upsample_def();
    def->room = *room;
    def->radius = film->def.upsample;
    for (int d = 0; d < 3; d++)
        def->gravity[d] = film->sim->gravity[d];
    def->sinks = film->sim->sinks;
    def->sink_count = film->sim->sink_count;
    return rp_upsample_guide_radius(frame, &def->guide_radius);
}

static rp_result fresh_samples(const rp_film *film, const rp_samples_def *def, const rp_frame *frame, rp_samples *out)
{
    rp_upsample_def fine;
    if (!(film->def.upsample > 0))
        return rp_samples_seed(def, frame, out);
    RP_TRY(fine_def(film, def, frame, &fine));
    return rp_samples_fine_seed(&fine, film->sim->grains, film->sim->grains_count, frame, out);
}

static rp_result next_samples(const rp_film *film, const rp_samples_def *def, const rp_samples *samples, const rp_frame *before,
                              const rp_frame *after, rp_samples *out)
{
    rp_upsample_def fine;
    if (!(film->def.upsample > 0))
        return rp_samples_advance(def, samples, before, after, out);
    RP_TRY(fine_def(film, def, after->count ? after : before, &fine));
    return rp_samples_fine_advance(&fine, samples, before, after, out);
}

/* From frame j with its samples to frame j + 1. */
static rp_result step(const rp_film *film, const rp_samples_def *def, int64_t j, rp_frame *frame, rp_samples *samples)
{
    rp_frame after;
    rp_samples moved;
    RP_TRY(rp__film_read(film, j + 1, &after));
    rp_result result = next_samples(film, def, samples, frame, &after, &moved);
    if (result != RP_OK) {
        rp_frame_free(&after);
        return result;
    }
    rp_samples_free(samples);
    rp_frame_free(frame);
    *samples = moved;
    *frame = after;
    return write_samples(film, j + 1, samples);
}

/* The newest frame up to i that has samples, or 0 with fresh ones. */
static rp_result find_start(const rp_film *film, const rp_samples_def *def, int64_t i, int64_t *start, rp_frame *frame,
                            rp_samples *samples)
{
    for (int64_t j = i; j >= 0; j--) {
        char *path = samples_path(film, j);
        if (!path)
            return RP_OUT_OF_MEMORY;
        bool there = rp__file_exists(path);
        rp__base_free(path);
        if (!there && j > 0)
            continue;
        RP_TRY(rp__film_read(film, j, frame));
        *start = j;
        rp_result result = there ? read_samples(film, j, frame, samples) : RP_NOT_FOUND;
        if (result == RP_OK)
            return RP_OK;
        if (result == RP_NOT_FOUND && j == 0) {
            result = fresh_samples(film, def, frame, samples);
            if (result == RP_OK && (result = write_samples(film, 0, samples)) != RP_OK)
                rp_samples_free(samples);
        }
        if (result == RP_OK)
            return RP_OK;
        rp_frame_free(frame);
        if (result != RP_NOT_FOUND)
            return result;
    }
    return RP_OK;
}

static rp_result samples_up_to(rp_film *film, int64_t i, rp_progress_fn progress, void *context, rp_samples *out)
{
    rp_samples_def def;
    const rp_shape **bodies;
    rp_frame frame;
    rp_samples samples;
    int64_t at = 0;
    char *folder = samples_folder(film);
    rp_result result = folder ? rp__file_make_folder(folder) : RP_OUT_OF_MEMORY;
    rp__base_free(folder);
    RP_TRY(result);
    RP_TRY(make_def(film, &def, &bodies));
    result = find_start(film, &def, i, &at, &frame, &samples);
    if (result != RP_OK) {
        rp__base_free(bodies);
        return result;
    }
    int64_t from = at;
    for (; at < i && result == RP_OK; at++) {
        result = step(film, &def, at, &frame, &samples);
        if (result == RP_OK && progress && !progress(context, (double)(at + 1 - from) / (double)(i - from)))
            result = rp__base_fail(RP_CANCELLED, "making samples was stopped; those that are finished are kept");
    }
    rp_frame_free(&frame);
    rp__base_free(bodies);
    if (result != RP_OK || !out)
        rp_samples_free(&samples);
    else
        *out = samples;
    return result;
}

rp_result rp__film_samples(rp_film *film, int64_t i, rp_samples *out)
{
    return samples_up_to(film, i, NULL, NULL, out);
}

rp_result rp_film_make_samples(rp_film *film, rp_progress_fn progress, void *context)
{
    if (!(film->def.grains_per_particle > 0) && !(film->def.upsample > 0))
        return RP_OK;
    return samples_up_to(film, film->list.count - 1, progress, context, NULL);
}

/* ---- into the picture ---- */

enum { CHUNK = 1 << 20 };

typedef struct chunk {
    double *x[3], *v[3], *radius, *axis[3];
    uint8_t *colour;
} chunk;

static void free_chunk(chunk *c)
{
    for (int d = 0; d < 3; d++) {
        rp__base_free(c->x[d]);
        rp__base_free(c->v[d]);
        rp__base_free(c->axis[d]);
    }
    rp__base_free(c->radius);
    rp__base_free(c->colour);
}

static rp_result make_chunk(chunk *c, int64_t n, bool discs)
{
    memset(c, 0, sizeof *c);
    bool fine = true;
    for (int d = 0; d < 3; d++) {
        c->x[d] = RP_NEW_ARRAY(double, n);
        c->v[d] = RP_NEW_ARRAY(double, n);
        c->axis[d] = discs ? RP_NEW_ARRAY(double, n) : NULL;
        fine = fine && c->x[d] && c->v[d] && (c->axis[d] || !discs);
    }
    c->radius = RP_NEW_ARRAY(double, n);
    c->colour = RP_NEW_ARRAY(uint8_t, 3 * n);
    return fine && c->radius && c->colour ? RP_OK : RP_OUT_OF_MEMORY;
}

typedef struct shown {
    rp_film *film;
    const rp_frame *frame;
    const rp_samples *samples;
    const double *velocity[3], *nu[6], *material;
    uint8_t *particle_colours;    /* NULL: by material and tone */
    double radius;
} shown;

/* The axis of a coin: drawn from the orientation of the particle's grains, by its own tone. */
static void coin_axis(const shown *s, int64_t i, uint8_t tone, double axis[3])
{
    rp__vec3 own = rp__random_on_sphere(0x636f696e, 2, tone);
    axis[0] = own.x, axis[1] = own.y, axis[2] = own.z;
    if (s->nu[0])
        rp__film_draw_axis((double[6]){ s->nu[0][i], s->nu[1][i], s->nu[2][i], s->nu[3][i], s->nu[4][i], s->nu[5][i] }, own, axis);
}

static void fill_chunk(const shown *s, chunk *c, int64_t begin, int64_t end)
{
    int64_t n = 0;
    int last = s->film->sim->material_count;
    rp_samples_positions(s->samples, s->frame, begin, end, c->x[0], c->x[1], c->x[2]);
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = s->samples->first[i]; k < s->samples->first[i + 1]; k++, n++) {
            uint8_t tone = s->samples->tone[k];
            c->radius[n] = s->radius * (0.82 + 0.36 * rp__random_unit(0x73697a65, 1, tone));
            for (int d = 0; d < 3; d++)
                c->v[d][n] = s->velocity[d] ? s->velocity[d][i] : 0;
            if (c->axis[0]) {
                double a[3];
                coin_axis(s, i, tone, a);
                for (int d = 0; d < 3; d++)
                    c->axis[d][n] = a[d];
            }
            int m = s->material && s->material[i] >= 0 && s->material[i] < last ? (int)s->material[i] : last;
            if (s->particle_colours)
                memcpy(c->colour + 3 * n, s->particle_colours + 3 * i, 3);
            else
                rp_palette_pick(&s->film->palettes[m], tone, c->colour + 3 * n);
        }
}

/* A chunk of whole particles at a time, so that the double-precision copy stays small. */
static rp_result add_chunks(const shown *s, rp_render *render, bool discs)
{
    const rp_samples *samples = s->samples;
    rp_result result = RP_OK;
    for (int64_t begin = 0; begin < samples->particles && result == RP_OK;) {
        int64_t end = begin + 1;
        while (end < samples->particles && samples->first[end + 1] - samples->first[begin] <= CHUNK)
            end++;
        int64_t n = samples->first[end] - samples->first[begin];
        chunk c;
        result = make_chunk(&c, n + 1, discs);
        if (result == RP_OK && n > 0) {
            fill_chunk(s, &c, begin, end);
            rp_grain_set set = rp_default_grain_set();
            set.shape = discs ? RP_GRAIN_DISC : RP_GRAIN_SPHERE;
            set.count = n;
            set.radius = c.radius;
            set.colour = c.colour;
            for (int d = 0; d < 3; d++)
                set.position[d] = c.x[d], set.velocity[d] = s->film->def.shutter > 0 ? c.v[d] : NULL, set.axis[d] = c.axis[d];
            result = rp_render_add_grains(render, &set);
        }
        free_chunk(&c);
        begin = end;
    }
    return result;
}

static rp_result field_planes(const rp_frame *frame, const char *name, int components, const double **planes)
{
    const rp_field_view *view = rp_frame_field(frame, name);
    for (int c = 0; c < components && view && view->info.components >= components && view->info.type == RP_F64; c++)
        planes[c] = (const double *)view->data + c * view->stride;
    return RP_OK;
}

rp_result rp__film_add_samples(rp_film *film, const rp_frame *frame, int64_t i, rp_render *render)
{
    rp_samples samples;
    RP_TRY(rp__film_samples(film, i, &samples));
    shown s = { .film = film, .frame = frame, .samples = &samples };
    double *copy = NULL;
    rp_result result = RP_OK;
    double fraction = film->sim->material_count > 0 && film->sim->materials[0].volume_fraction > 0
                          ? film->sim->materials[0].volume_fraction : 0.6;
    double bulk = samples.unit_volume / fraction;
    s.radius = samples.place ? film->def.upsample : 0.56 * (film->sim->dim == 2 ? sqrt(bulk) : cbrt(bulk));
    result = field_planes(frame, "velocity", 3, s.velocity);
    if (result == RP_OK)
        result = field_planes(frame, "orientation", 6, s.nu);
    const rp_field_view *material = rp_frame_field(frame, "material");
    if (result == RP_OK && material)
        result = rp__film_plane(material, 0, &s.material, &copy);
    if (result == RP_OK && strcmp(film->colour, "material") != 0) {
        s.particle_colours = RP_NEW_ARRAY(uint8_t, 3 * frame->count + 3);
        result = s.particle_colours ? rp__film_colours(film, frame, s.material, NULL, s.particle_colours) : RP_OUT_OF_MEMORY;
    }
    bool discs = film->out->grain_shape && strcmp(film->out->grain_shape, "disc") == 0;
    if (result == RP_OK)
        result = add_chunks(&s, render, discs);
    rp__base_free(copy);
    rp__base_free(s.particle_colours);
    rp_samples_free(&samples);
    return result;
}
