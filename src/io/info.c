/* Facts of a frame, a checkpoint, a scene or a folder, as text or JSON. One list of facts serves both. */
#include "base/error.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/convert.h"
#include "io/io.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing facts ---- */

typedef struct facts {
    rp__text text;
    bool json, first;
    int depth;
} facts;

static void key(facts *f, const char *name)
{
    if (f->json) {
        rp__text_append_string(&f->text, f->first ? "" : ",");
        rp__text_append(&f->text, "\n%*s", 2 * f->depth, "");
        rp__text_append_quoted(&f->text, name);
        rp__text_append_string(&f->text, ": ");
    } else {
        rp__text_append(&f->text, "%*s%-*s ", 2 * (f->depth - 1), "", 16, name);
    }
    f->first = false;
}

static void end_line(facts *f)
{
    if (!f->json)
        rp__text_append_string(&f->text, "\n");
}

static void put_json_number(facts *f, double value)
{
    if (f->json && !isfinite(value))
        rp__text_append_string(&f->text, "null");
    else
        rp__text_append_number(&f->text, value);
}

static void fact_number(facts *f, const char *name, double value, const char *unit)
{
    key(f, name);
    put_json_number(f, value);
    if (!f->json && unit[0])
        rp__text_append(&f->text, " %s", unit);
    end_line(f);
}

static void fact_count(facts *f, const char *name, int64_t value)
{
    key(f, name);
    rp__text_append(&f->text, "%lld", (long long)value);
    end_line(f);
}

static void fact_text(facts *f, const char *name, const char *value)
{
    key(f, name);
    if (f->json)
        rp__text_append_quoted(&f->text, value);
    else
        rp__text_append_string(&f->text, value);
    end_line(f);
}

static void fact_numbers(facts *f, const char *name, const double *values, int count)
{
    key(f, name);
    rp__text_append_string(&f->text, "[");
    for (int k = 0; k < count; k++) {
        rp__text_append_string(&f->text, k ? ", " : "");
        put_json_number(f, values[k]);
    }
    rp__text_append_string(&f->text, "]");
    end_line(f);
}

static void open_facts(facts *f, const char *name)
{
    key(f, name);
    if (f->json)
        rp__text_append_string(&f->text, "{");
    end_line(f);
    f->first = true;
    f->depth++;
}

static void close_facts(facts *f)
{
    f->depth--;
    if (f->json)
        rp__text_append(&f->text, "\n%*s}", 2 * f->depth, "");
    f->first = false;
}

static facts begin_facts(bool json)
{
    facts f = { .json = json, .first = true, .depth = 1 };
    rp__text_append_string(&f.text, json ? "{" : "");
    return f;
}

static rp_result end_facts(facts *f, rp_result result, char **text)
{
    rp__text_append_string(&f->text, f->json ? "\n}\n" : "");
    if (result == RP_OK)
        result = rp__text_result(&f->text);
    if (result == RP_OK)
        *text = rp__text_take(&f->text);
    rp__text_free(&f->text);
    return result;
}

/* ---- a frame ---- */

double rp__io_element(const rp_field_view *view, int64_t at)
{
    switch (view->info.type) {
    case RP_F64: return ((const double *)view->data)[at];
    case RP_F32: return (double)((const float *)view->data)[at];
    case RP_I64: return (double)((const int64_t *)view->data)[at];
    case RP_I32: return ((const int32_t *)view->data)[at];
    }
    return 0;
}

/* Least and most over all particles and components; what is not finite is counted apart. */
static int64_t range(const rp_field_view *view, double *least, double *most)
{
    int64_t bad = 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (int c = 0; c < view->info.components; c++)
        for (int64_t i = 0; i < view->count; i++) {
            double x = rp__io_element(view, c * view->stride + i);
            bad += !isfinite(x);
            *least = x < *least ? x : *least;
            *most = x > *most ? x : *most;
        }
    return bad;
}

static void field_facts(facts *f, const rp_field_view *view)
{
    static const char *const types[] = { "float64", "float32", "int64", "int32" };
    double least, most;
    int64_t bad = range(view, &least, &most);
    if (!f->json) {
        char values[80], low[32], high[32];
        rp__base_format(low, sizeof low, "%.6g", least);
        rp__base_format(high, sizeof high, "%.6g", most);
        snprintf(values, sizeof values, "%s%s%s", view->count ? low : "", view->count ? " … " : "", view->count ? high : "");
        key(f, view->info.name);
        rp__text_append(&f->text, "%s × %d  %s %s%s\n", types[view->info.type], view->info.components, values, view->info.unit,
                        bad ? "  NOT FINITE" : "");
        return;
    }
    open_facts(f, view->info.name);
    fact_text(f, "type", types[view->info.type]);
    fact_count(f, "components", view->info.components);
    fact_text(f, "unit", view->info.unit);
    if (view->count) {
        fact_number(f, "least", least, view->info.unit);
        fact_number(f, "most", most, view->info.unit);
    }
    if (bad)
        fact_count(f, "not_finite", bad);
    close_facts(f);
}

static void body_facts(facts *f, const rp_frame *frame)
{
    open_facts(f, "bodies");
    for (int b = 0; b < frame->body_count; b++) {
        open_facts(f, frame->body_names[b]);
        fact_numbers(f, "position", frame->bodies[b].position, 3);
        fact_numbers(f, "velocity", frame->bodies[b].velocity, 3);
        fact_numbers(f, "force", frame->bodies[b].force, 3);
        close_facts(f);
    }
    close_facts(f);
}

static rp_result frame_facts(facts *f, const char *path)
{
    rp_frame frame;
    RP_TRY(rp_frame_read(path, &frame));
    fact_text(f, "kind", "frame");
    fact_number(f, "time", frame.time, "s");
    fact_count(f, "frame", frame.index);
    fact_count(f, "step", frame.step);
    fact_count(f, "dim", frame.dim);
    fact_number(f, "cell_size", frame.cell_size, "m");
    fact_number(f, "frame_rate", frame.frame_rate, "1/s");
    fact_numbers(f, "lower", frame.lower, frame.dim);
    fact_numbers(f, "upper", frame.upper, frame.dim);
    fact_count(f, "particles", frame.count);
    open_facts(f, "fields");
    for (int k = 0; k < frame.field_count; k++)
        field_facts(f, &frame.fields[k]);
    close_facts(f);
    if (frame.body_count)
        body_facts(f, &frame);
    rp_frame_free(&frame);
    return RP_OK;
}

static rp_result fibre_facts(facts *f, const char *path)
{
    rp_fibres_frame fibres;
    RP_TRY(rp_fibres_read(path, &fibres));
    const rp_fibres_view *v = &fibres.view;
    const rp_field_view fields[] = { /* least and most do not ask in which order numbers stand */
        { { "position", RP_F64, 3, "m", 1 }, v->position, v->nodes, v->nodes },
        { { "velocity", RP_F64, 3, "m/s", 1 }, v->velocity, v->nodes, v->nodes },
        { { "radius", RP_F64, 1, "m", 1 }, v->radius, v->nodes, v->nodes },
        { { "tension", RP_F64, 1, "N", 1 }, v->tension, v->nodes, v->nodes },
    };
    fact_text(f, "kind", "fibres");
    fact_number(f, "time", fibres.time, "s");
    fact_count(f, "fibres", v->count);
    fact_count(f, "nodes", v->nodes);
    open_facts(f, "fields");
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        field_facts(f, &fields[k]);
    close_facts(f);
    rp_fibres_free(&fibres);
    return RP_OK;
}

/* ---- a checkpoint ---- */

static rp_result checkpoint_facts(facts *f, const char *path)
{
    rp__io_checkpoint_info info;
    rp_state state = { 0 };
    RP_TRY(rp__io_checkpoint_load(path, &info, NULL, &state));
    fact_text(f, "kind", "checkpoint");
    fact_count(f, "version", RP_IO_CHECKPOINT_VERSION);
    fact_number(f, "time", info.time, "s");
    fact_count(f, "step", info.step);
    fact_count(f, "frame", info.frame);
    fact_count(f, "bytes", info.bytes);
    open_facts(f, "arrays");
    for (int b = 0; b < state.count; b++)
        fact_count(f, state.blobs[b].name, state.blobs[b].count);
    close_facts(f);
    rp_state_free(&state);
    return RP_OK;
}

/* ---- a folder ---- */

static int64_t file_size(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
}

static rp_result checkpoint_list(facts *f, const char *folder)
{
    char *inside = rp__file_join(folder, RP_IO_CHECKPOINTS);
    rp__io_list list = { 0 };
    rp_result result = inside ? rp__io_list_make(&list, inside, RP_IO_CHECKPOINT_PREFIX, RP_IO_CHECKPOINT_SUFFIX) : RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    RP_TRY(result);
    open_facts(f, "checkpoints");
    for (int64_t i = 0; i < list.count; i++) {
        char *path = rp__io_checkpoint_path(folder, list.numbers[i]);
        rp__io_checkpoint_info info;
        rp_result sound = path ? rp__io_checkpoint_load(path, &info, NULL, NULL) : RP_OUT_OF_MEMORY;
        const char *name = path ? strrchr(path, '/') + 1 : "?";
        if (sound == RP_OK)
            fact_number(f, name, info.time, "s");
        else
            fact_text(f, name, rp_last_error());
        rp__base_free(path);
    }
    close_facts(f);
    rp__io_list_free(&list);
    return RP_OK;
}

static rp_result frame_list(facts *f, const char *folder)
{
    char *inside = rp__file_join(folder, RP_IO_FRAMES);
    rp__io_list list = { 0 };
    rp_result result = inside ? rp__io_list_make(&list, inside, RP_IO_FRAME_PREFIX, RP_IO_FRAME_SUFFIX) : RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    RP_TRY(result);
    int64_t bytes = 0;
    for (int64_t i = 0; i < list.count; i++) {
        char *path = rp__io_frame_path(folder, RP_IO_FRAME_PREFIX, list.numbers[i]);
        bytes += file_size(path);
        rp__base_free(path);
    }
    fact_count(f, "frames", list.count);
    fact_count(f, "frame_bytes", bytes);
    if (list.count) {
        int64_t last = list.numbers[list.count - 1];
        char *path = rp__io_frame_path(folder, RP_IO_FRAME_PREFIX, last);
        rp_frame frame;
        result = path ? rp_frame_read(path, &frame) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
        fact_count(f, "last_frame", last);
        if (result == RP_OK) {
            fact_number(f, "last_time", frame.time, "s");
            fact_count(f, "particles", frame.count);
            rp_frame_free(&frame);
        } else if (result == RP_BAD_FILE) {
            fact_text(f, "last_frame_error", rp_last_error());
            result = RP_OK;
        }
    }
    rp__io_list_free(&list);
    return result;
}

static void definition_facts(facts *f, const rp_scene *scene)
{
    const rp_sim_def *def = rp_scene_sim_def(scene);
    fact_text(f, "title", rp_scene_title(scene) ? rp_scene_title(scene) : "");
    fact_text(f, "method", def->method);
    fact_count(f, "dim", def->dim);
    fact_number(f, "cell_size", def->cell_size, "m");
    fact_number(f, "duration", def->duration, "s");
    fact_number(f, "frame_rate", def->frame_rate, "1/s");
}

/* The scene of a run; an error in it is a fact among others. */
static rp_result scene_facts(facts *f, const char *folder)
{
    char *path = rp__file_join(folder, "scene.yaml");
    rp_scene *scene = NULL;
    rp_result result = path ? rp_scene_load(path, NULL, &scene) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    if (result == RP_OUT_OF_MEMORY)
        return result;
    if (result != RP_OK) {
        fact_text(f, "scene_error", rp_last_error());
        return RP_OK;
    }
    definition_facts(f, scene);
    rp_scene_destroy(scene);
    return RP_OK;
}

/* ---- a scene, before it is run ---- */

static rp_result scene_file_facts(facts *f, const char *path)
{
    rp_scene *scene = NULL;
    RP_TRY(rp_scene_load(path, NULL, &scene));
    const rp_sim_def *def = rp_scene_sim_def(scene);
    int64_t particles = 0, bytes = 0, emitted = 0;
    rp_result result = rp_sim_estimate(def, &particles, &bytes);
    if (result == RP_OK)
        result = rp_sim_estimate_emitted(def, &emitted);
    if (result == RP_OK) {
        fact_text(f, "kind", "scene");
        definition_facts(f, scene);
        fact_numbers(f, "lower", def->lower, def->dim);
        fact_numbers(f, "upper", def->upper, def->dim);
        fact_count(f, "materials", def->material_count);
        fact_count(f, "bodies", def->body_count);
        fact_count(f, "about_particles", particles); /* at the start, without what emitters add */
        fact_count(f, "about_bytes", bytes);
        if (def->emitter_count)
            fact_count(f, "about_emitted", emitted); /* over the whole duration */
    }
    rp_scene_destroy(scene);
    return result;
}

static bool looks_like_scene(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

/* Steps done: the first cell of the last whole row. */
static void last_row(facts *f, const char *folder)
{
    char *path = rp__file_join(folder, "stats.csv");
    FILE *stream = path ? fopen(path, "rb") : NULL;
    rp__base_free(path);
    if (!stream)
        return;
    char tail[8192];
    fseeko(stream, 0, SEEK_END);
    off_t size = ftello(stream), from = size > (off_t)sizeof tail - 1 ? size - (off_t)sizeof tail + 1 : 0;
    fseeko(stream, from, SEEK_SET);
    size_t got = fread(tail, 1, sizeof tail - 1, stream);
    fclose(stream);
    while (got && tail[got - 1] != '\n') /* a torn row */
        got--;
    if (got == 0)
        return;
    tail[got - 1] = '\0';
    const char *row = strrchr(tail, '\n');
    long long step = -1;
    double time = 0;
    if (row && sscanf(row + 1, "%lld,%lf", &step, &time) == 2) {
        fact_count(f, "steps", step);
        fact_number(f, "time", time, "s");
    }
}

static rp_result folder_facts(facts *f, const char *folder)
{
    char *scene = rp__file_join(folder, "scene.yaml"), *frames = rp__file_join(folder, RP_IO_FRAMES);
    bool run = (scene && rp__file_exists(scene)) || (frames && rp__io_is_folder(frames));
    rp__base_free(scene);
    rp__base_free(frames);
    if (!run)
        return rp__base_fail(RP_NOT_FOUND, "%s is a folder without a run: it has neither scene.yaml nor frames/", folder);
    fact_text(f, "kind", "run");
    RP_TRY(scene_facts(f, folder));
    last_row(f, folder);
    RP_TRY(frame_list(f, folder));
    return checkpoint_list(f, folder);
}

/* A checkpoint by its name or by its first bytes. */
static bool looks_like_checkpoint(const char *path)
{
    char start[8] = "";
    FILE *stream = fopen(path, "rb");
    size_t got = stream ? fread(start, 1, sizeof start, stream) : 0;
    if (stream)
        fclose(stream);
    size_t length = strlen(path), ending = strlen(RP_IO_CHECKPOINT_SUFFIX);
    return (got == sizeof start && memcmp(start, "REPOSECP", sizeof start) == 0) ||
           (length > ending && strcmp(path + length - ending, RP_IO_CHECKPOINT_SUFFIX) == 0);
}

rp_result rp_info(const char *path, bool json, char **text)
{
    if (!path || !text)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_info needs a path and a place for the text (there is a NULL)");
    void *locale = rp__base_locale_enter();
    facts f = begin_facts(json);
    fact_text(&f, "path", path);
    rp_result result = rp__io_is_folder(path)        ? folder_facts(&f, path)
                       : looks_like_checkpoint(path) ? checkpoint_facts(&f, path)
                       : looks_like_scene(path)      ? scene_file_facts(&f, path)
                       : rp__io_is_fibres(path)      ? fibre_facts(&f, path)
                                                     : frame_facts(&f, path);
    result = end_facts(&f, result, text);
    rp__base_locale_leave(locale);
    return result;
}
