/* From a simulation to a frame: the only place that knows which of its fields go where. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/io.h"

#include <string.h>

static bool next_word(const char **list, char *word, size_t size)
{
    *list += strspn(*list, " ,\t\n");
    size_t length = strcspn(*list, " ,\t\n");
    snprintf(word, size, "%.*s", (int)length, *list);
    *list += length;
    return length > 0;
}

static bool listed(const char *fields, const char *name)
{
    char word[64];
    while (next_word(&fields, word, sizeof word))
        if (strcmp(word, name) == 0)
            return true;
    return false;
}

static int probe_named(const char *name)
{
    for (int k = 0; k < RP_IO_PROBES; k++)
        if (strcmp(rp__io_probes[k].name, name) == 0)
            return k;
    return -1;
}

static rp_result check_words(const rp_sim *sim, const char *fields)
{
    char word[64];
    while (next_word(&fields, word, sizeof word)) {
        rp_field_view view;
        if (rp_sim_field_named(sim, word, &view) == RP_OK || probe_named(word) >= 0)
            continue;
        rp__text known = { 0 };
        for (int f = 0; f < rp_sim_field_count(sim); f++)
            if (rp_sim_field(sim, f, &view) == RP_OK)
                rp__text_append(&known, "%s%s", f ? ", " : "", view.info.name);
        for (int k = 0; k < RP_IO_PROBES; k++)
            rp__text_append(&known, ", %s", rp__io_probes[k].name);
        rp_result result = rp__base_fail(RP_BAD_ARGUMENT, "there is no field '%s' to write; this method has: %s", word,
                                         rp__text_string(&known));
        rp__text_free(&known);
        return result;
    }
    return RP_OK;
}

static rp_result collect_fields(rp_sim *sim, const char *fields, rp_frame *frame)
{
    bool every = fields && strcmp(fields, "*") == 0, chosen = fields && !every && fields[strspn(fields, " ,\t\n")];
    if (chosen)
        RP_TRY(check_words(sim, fields));
    int count = rp_sim_field_count(sim);
    frame->fields = rp__arena_alloc(frame->storage, (size_t)(count + 1 + RP_IO_PROBES) * sizeof *frame->fields);
    if (!frame->fields)
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp_sim_field_named(sim, "position", &frame->fields[frame->field_count++]));
    for (int f = 0; f < count; f++) {
        rp_field_view view;
        RP_TRY(rp_sim_field(sim, f, &view));
        bool wanted = every || (chosen ? listed(fields, view.info.name) : view.info.saved != 0);
        if (wanted && strcmp(view.info.name, "position") != 0)
            frame->fields[frame->field_count++] = view;
    }
    bool probes[RP_IO_PROBES], any = false;
    for (int k = 0; k < RP_IO_PROBES; k++) {
        rp_field_view own;
        probes[k] = (!chosen || listed(fields, rp__io_probes[k].name)) && rp_sim_field_named(sim, rp__io_probes[k].name, &own) != RP_OK;
        any = any || probes[k];
    }
    return any ? rp__io_probe(sim, probes, frame) : RP_OK;
}

static rp_result collect_bodies(const rp_sim *sim, rp_frame *frame)
{
    int count = rp_sim_body_count(sim);
    if (count == 0)
        return RP_OK;
    frame->bodies = rp__arena_alloc(frame->storage, (size_t)count * sizeof *frame->bodies);
    frame->body_names = rp__arena_alloc(frame->storage, (size_t)count * sizeof *frame->body_names);
    if (!frame->bodies || !frame->body_names)
        return RP_OUT_OF_MEMORY;
    memset(frame->body_names, 0, (size_t)count * sizeof *frame->body_names); /* every byte goes to the file */
    for (int b = 0; b < count; b++) {
        const char *name = rp_sim_body_name(sim, b);
        snprintf(frame->body_names[b], sizeof frame->body_names[b], "%s", name ? name : "");
        RP_TRY(rp_sim_body(sim, b, &frame->bodies[b]));
    }
    frame->body_count = count;
    return RP_OK;
}

static void collect_facts(const rp_sim *sim, rp_frame *frame)
{
    const rp_sim_def *def = rp_sim_definition(sim);
    frame->time = rp_sim_time(sim);
    frame->index = rp_sim_frame(sim);
    frame->step = rp_sim_steps(sim);
    frame->dim = def->dim;
    frame->cell_size = def->cell_size;
    frame->frame_rate = def->frame_rate;
    for (int d = 0; d < def->dim; d++) {
        frame->lower[d] = def->lower[d];
        frame->upper[d] = def->upper[d];
    }
}

static rp_result begin(rp_frame *frame)
{
    memset(frame, 0, sizeof *frame);
    rp__arena *arena = RP_NEW(rp__arena);
    if (!arena)
        return RP_OUT_OF_MEMORY;
    rp__arena_init(arena, 4096);
    frame->storage = arena;
    return RP_OK;
}

rp_result rp__io_frame_collect(rp_sim *sim, const char *fields, rp_frame *out)
{
    RP_TRY(begin(out));
    collect_facts(sim, out);
    out->count = rp_sim_particle_count(sim);
    rp_result result = collect_fields(sim, fields, out);
    if (result == RP_OK)
        result = collect_bodies(sim, out);
    if (result != RP_OK)
        rp_frame_free(out);
    return result;
}

rp_result rp_frame_collect(rp_sim *sim, const char *fields, rp_frame *out)
{
    rp_frame frame;
    RP_TRY(rp__io_frame_collect(sim, fields, &frame));
    *out = frame;
    return RP_OK;
}

rp_result rp_frame_write(rp_sim *sim, const rp_output_def *output, const char *path)
{
    rp_frame frame;
    RP_TRY(rp__io_frame_collect(sim, output ? output->fields : NULL, &frame));
    rp_result result = rp__io_frame_write(&frame, path, false);
    rp_frame_free(&frame);
    return result;
}

static rp_result collect_nodes(rp_sim *sim, rp_frame *frame)
{
    const rp_field_view *views = NULL;
    int count = 0;
    int64_t nodes = 0;
    RP_TRY(rp_sim_grid_fields(sim, &views, &count, &nodes));
    int position = -1;
    for (int v = 0; v < count; v++)
        if (strcmp(views[v].info.name, "position") == 0)
            position = v;
    if (position < 0)
        return rp__base_fail(RP_UNSUPPORTED, "method '%s' has no grid fields", rp_sim_definition(sim)->method);
    frame->fields = rp__arena_alloc(frame->storage, (size_t)count * sizeof *frame->fields);
    if (!frame->fields)
        return RP_OUT_OF_MEMORY;
    frame->count = nodes;
    frame->fields[frame->field_count++] = views[position];
    for (int v = 0; v < count; v++)
        if (v != position)
            frame->fields[frame->field_count++] = views[v];
    return RP_OK;
}

rp_result rp_grid_write(rp_sim *sim, const char *path)
{
    rp_frame frame;
    RP_TRY(begin(&frame));
    collect_facts(sim, &frame);
    rp_result result = collect_nodes(sim, &frame);
    if (result == RP_OK)
        result = rp__io_frame_write(&frame, path, false);
    rp_frame_free(&frame);
    return result;
}
