/* sheet: a few frames of a run, or of several runs, on one picture. */
#include "commands.h"
#include "picture_options.h"
#include "progress.h"
#include "run_loop.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct sheet_line {
    picture_line picture;
    const char *output;
    int count, columns, width;
    bool quiet;
} sheet_line;

#define AT(member) offsetof(sheet_line, member)
static const option sheet_options[] = {
    PICTURE_OPTIONS(sheet_line, picture),
    { "--count", 'n', OPT_INT, AT(count), "N", "frames of a run (default: 9; of several runs: 3)" },
    { "--columns", 0, OPT_INT, AT(columns), "N", "pictures across (default: 3; of several runs: a row for each)" },
    { "--width", 'w', OPT_INT, AT(width), "PIXELS", "of one picture on the sheet (default: 480)" },
    { "--output", 'o', OPT_TEXT, AT(output), "FILE", "the sheet (default: DIR/sheet.png)" },
    { "--quiet", 0, OPT_FLAG, AT(quiet), NULL, "no progress" },
    { 0 },
};

typedef struct shown {
    progress bar;
    int done, total;
} shown;

static bool show(void *context, double part)
{
    shown *s = context;
    char text[64];
    snprintf(text, sizeof text, "picture %d of %d", s->done + 1, s->total);
    progress_show(&s->bar, (s->done + part) / s->total, text);
    return true;
}

/* The pictures of a sheet and what is written under them; room for `most`. */
typedef struct page {
    rp_image *images;
    char (*text)[64];
    const char **captions;
    int made, most;
    shown shown;
} page;

static rp_result page_create(page *p, int most)
{
    p->images = calloc((size_t)most, sizeof *p->images);
    p->text = calloc((size_t)most, sizeof *p->text);
    p->captions = calloc((size_t)most, sizeof *p->captions);
    p->most = p->shown.total = most;
    return p->images && p->text && p->captions ? RP_OK : RP_OUT_OF_MEMORY;
}

static void page_free(page *p)
{
    for (int k = 0; k < p->made; k++)
        rp_image_free(&p->images[k]);
    free(p->images);
    free(p->text);
    free(p->captions);
}

/* Adds `count` frames of a run, with its name before the number when there are several runs. */
static rp_result add_run(page *p, rp_film *film, int count, const char *name)
{
    int64_t frames = rp_film_count(film);
    rp_result result = RP_OK;
    for (int k = 0; k < count && result == RP_OK; k++) {
        int64_t i = count > 1 ? (frames - 1) * k / (count - 1) : frames - 1;
        result = rp_film_picture(film, i, show, &p->shown, &p->images[p->made]);
        if (result == RP_OK) {
            snprintf(p->text[p->made], sizeof *p->text, "%.32s%sframe %lld", name, name[0] ? ", " : "",
                     (long long)rp_film_frame_number(film, i));
            p->captions[p->made] = p->text[p->made];
            p->made++;
        } else if (result == RP_BAD_FILE) {
            fprintf(stderr, "repose: frame %lld is left out: %s\n", (long long)rp_film_frame_number(film, i), rp_last_error());
            result = RP_OK;
        }
        p->shown.done++;
    }
    return result;
}

/* The last part of a path. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* As many frames of each run as the shortest has, at most --count: -1, or the exit code. */
static int make_sheet(const text_list *runs, const rp_film_def *def, const sheet_line *line, int columns, const char *path)
{
    rp_film **films = calloc((size_t)runs->count, sizeof(rp_film *));
    page p = { 0 };
    int code = films ? -1 : report_failure("", RP_OUT_OF_MEMORY), count = line->count;
    for (int r = 0; r < runs->count && code < 0; r++) {
        code = picture_open(runs->items[r], def, &films[r]);
        if (code < 0 && rp_film_count(films[r]) < count)
            count = (int)rp_film_count(films[r]);
    }
    if (code < 0) {
        rp_result result = page_create(&p, count * runs->count);
        progress_begin(&p.shown.bar, 0, line->quiet);
        for (int r = 0; r < runs->count && result == RP_OK; r++)
            result = add_run(&p, films[r], count, runs->count > 1 ? last_part(runs->items[r]) : "");
        progress_end(&p.shown.bar);
        rp_image sheet = { 0 };
        if (result == RP_OK)
            result = rp_sheet(p.images, p.captions, p.made, columns > 0 ? columns : count, line->width, &sheet);
        if (result == RP_OK)
            result = rp_image_write_png(&sheet, path);
        rp_image_free(&sheet);
        page_free(&p);
        if (result != RP_OK)
            code = report_failure("", result);
    }
    for (int r = 0; films && r < runs->count; r++)
        rp_film_close(films[r]);
    free(films);
    return code;
}

static int sheet_main(int argc, char **argv)
{
    sheet_line line = { .picture = PICTURE_DEFAULTS, .count = -1, .columns = -1, .width = 480 };
    text_list names;
    int code = options_parse(&command_sheet, &line, argc, argv, &names, 1, INT_MAX);
    if (code >= 0)
        return code;
    rp_film_def def;
    code = picture_film_def(&line.picture, RP_DRAFT, &def);
    if (code >= 0)
        return code;
    if (line.count == 0 || line.count < -1 || line.count > 10000 || line.columns == 0 || line.columns < -1 || line.width < 16) {
        fprintf(stderr, "repose: a sheet needs a --count of 1 to 10000, --columns of at least 1 and a --width of at least 16\n");
        return EXIT_USAGE;
    }
    bool several = names.count > 1;
    if (line.count < 0)
        line.count = several ? 3 : 9;
    if (!line.picture.size)
        def.width = 2 * line.width; /* twice as fine as shown: smooth when made smaller; in the shape of the scene's picture */
    char usual[4096];
    snprintf(usual, sizeof usual, "%s/sheet.png", names.items[0]);
    const char *path = line.output ? line.output : usual;
    code = make_sheet(&names, &def, &line, line.columns > 0 || several ? line.columns : 3, path);
    if (code >= 0)
        return code;
    printf("%s\n", path);
    return EXIT_DONE;
}

const command command_sheet = {
    "sheet", "DIR... [--count N] [--columns N] [--color FIELD]", "Makes one picture of several frames of a run, or of several runs",
    "Frames are taken evenly from the first to the last; --count 1 is the last one. Several runs are compared: a row for each, unless "
    "--columns says otherwise. Quality is draft unless another is asked for.",
    sheet_options, sheet_main,
};
