#include "export_page.h"

#include "pages.h"
#include "scene_text.h"
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The place of `what` in the page; the page is our own, so it is there. */
static const char *find(const char *from, const char *what)
{
    const char *at = strstr(from, what);
    return at ? at : from + strlen(from);
}

static void put_part(FILE *to, const char *from, const char *end)
{
    fwrite(from, 1, (size_t)(end - from), to);
}

/* Every so manyth frame is kept, and the last. */
static bool is_kept(const run_folder *run, int64_t i, int64_t most)
{
    int64_t every = (run->count + most - 1) / most;
    return i % (every > 0 ? every : 1) == 0;
}

static void put_scene(FILE *to, const run_folder *run, const export_options *options, const char *unit, const double range[2])
{
    char *more = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&more, &size);
    if (!text)
        return;
    fputs(",\"runs\":1,\"frames\":[", text);
    for (int64_t i = 0, n = 0; i < run->count; i++)
        if (is_kept(run, i, options->frames))
            fprintf(text, "%s%lld", n++ ? "," : "", (long long)run->numbers[i]);
    fputs("],\"exported\":{\"field\":", text);
    json_quote(text, options->colour);
    fputs(",\"unit\":", text);
    json_quote(text, unit);
    fprintf(text, ",\"min\":%.9g,\"max\":%.9g}", range[0], range[1]);
    fclose(text);
    const char *name = strrchr(run->path, '/');
    scene_text t = { "view", name && name[1] ? name + 1 : run->path, "", run->scene, &run->stage, &run->first, &run->palette, more };
    char *scene = scene_text_make(&t);
    fprintf(to, "<script type=\"application/json\" id=\"repose-scene\">%s</script>\n", scene ? scene : "{}");
    free(scene);
    free(more);
    char *table = run_folder_table(run, 500);
    if (table)
        fprintf(to, "<script type=\"application/json\" id=\"repose-table\">%s</script>\n", table);
    free(table);
}

/* With its fibres, and with arrows of the fluid where there is one. */
static rp_result pack_one(const run_folder *run, int64_t number, const rp_frame *frame, wire_wish *wish, wire_buffer *buffer)
{
    rp_fibres_frame fibres;
    rp_frame nodes;
    bool fluid = rp_scene_sim_def(run->scene)->fluid != NULL;
    if (run_folder_fibres(run, number, &fibres) != RP_OK)
        memset(&fibres, 0, sizeof fibres);
    if (!fluid || run_folder_nodes(run, number, &nodes) != RP_OK)
        memset(&nodes, 0, sizeof nodes);
    strcpy(wish->arrows, fluid ? "fluid_velocity" : "");
    wire_content content = { .frame = frame, .fibres = &fibres.view, .nodes = nodes.count > 0 ? &nodes : NULL };
    rp_result result = wire_pack(&content, rp_scene_sim_def(run->scene), &run->palette, wish, 0, buffer);
    rp_fibres_free(&fibres);
    rp_frame_free(&nodes);
    return result;
}

static rp_result put_frames(FILE *to, const run_folder *run, const export_options *options, const double range[2], int64_t *frames)
{
    wire_buffer buffer = { 0 };
    rp_result result = RP_OK;
    for (int64_t i = 0; i < run->count && result == RP_OK; i++) {
        rp_frame frame;
        if (!is_kept(run, i, options->frames))
            continue;
        if (run_folder_read(run, run->numbers[i], &frame) != RP_OK) {
            fprintf(stderr, "repose: frame %lld is left out: it cannot be read\n", (long long)run->numbers[i]);
            continue;
        }
        wire_wish wish = { .low = range[0], .high = range[1], .stride = wire_stride(frame.count, options->grains) };
        snprintf(wish.field, sizeof wish.field, "%s", options->colour);
        result = pack_one(run, run->numbers[i], &frame, &wish, &buffer);
        rp_frame_free(&frame);
        if (result != RP_OK)
            break;
        fprintf(to, "<script type=\"text/plain\" id=\"repose-frame-%lld\">", (long long)run->numbers[i]);
        json_base64(to, buffer.bytes, buffer.size);
        fputs("</script>\n", to);
        ++*frames;
    }
    wire_buffer_free(&buffer);
    return result;
}

static rp_result put_page(FILE *to, const run_folder *run, const export_options *options, const char *unit, const double range[2],
                          int64_t *frames)
{
    static const char style[] = "<link rel=\"stylesheet\" href=\"style.css\">", icon[] = "<link rel=\"icon\"",
                      script[] = "<script src=\"app.js\"></script>";
    const char *html = (const char *)page_html.bytes, *at_icon = find(html, icon), *at_style = find(html, style),
               *at_script = find(html, script);
    put_part(to, html, at_icon);
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
          "img-src blob: data:\">\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", to);
    fwrite(page_style.bytes, 1, page_style.size, to);
    fputs("</style>", to);
    put_part(to, at_style + sizeof style - 1, at_script);
    put_scene(to, run, options, unit, range);
    rp_result result = put_frames(to, run, options, range, frames);
    fputs("<script>\n", to);
    fwrite(page_script.bytes, 1, page_script.size, to);
    fputs("</script>", to);
    fputs(at_script + sizeof script - 1, to);
    return result;
}

bool export_page(const run_folder *run, const export_options *options, const char *path, int64_t *frames, int64_t *bytes)
{
    char aside[4200];
    const char *unit = "";
    double range[2] = { options->low, options->high };
    rp_result result = RP_OK;
    *frames = 0;
    if (strcmp(options->colour, "material") != 0) {
        double *values = malloc((size_t)(run->first.count + 1) * sizeof *values);
        result = values ? rp_frame_values(&run->first, options->colour, values, &unit) : RP_OUT_OF_MEMORY;
        free(values);
        if (result == RP_OK && !(range[0] < range[1]))
            result = run_folder_range(run, options->colour, range);
        if (result != RP_OK) {
            fprintf(stderr, "repose: %s\n", rp_last_error());
            return false;
        }
    }
    snprintf(aside, sizeof aside, "%s.part", path);
    FILE *to = fopen(aside, "wb");
    if (!to) {
        fprintf(stderr, "repose: cannot create %s: %s\n", path, strerror(errno));
        return false;
    }
    result = put_page(to, run, options, unit, range, frames);
    *bytes = ftello(to);
    bool written = result == RP_OK && !ferror(to) && fflush(to) == 0 && fsync(fileno(to)) == 0;
    written = fclose(to) == 0 && written;
    if (written && rename(aside, path) == 0)
        return true;
    fprintf(stderr, "repose: cannot write %s: %s\n", path, result != RP_OK ? rp_last_error() : strerror(errno));
    unlink(aside);
    return false;
}
