/* sheet: a few frames of a run on one picture. */
#include "commands.h"
#include "picture_options.h"
#include "progress.h"
#include "run_loop.h"

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
    { "--count", 'n', OPT_INT, AT(count), "N", "frames on the sheet (default: 9)" },
    { "--columns", 0, OPT_INT, AT(columns), "N", "pictures across (default: 3)" },
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

static rp_result make_sheet(rp_film *film, const sheet_line *line, const char *path)
{
    int64_t frames = rp_film_count(film);
    int count = line->count < frames ? line->count : (int)frames, made = 0;
    rp_image *images = calloc((size_t)count, sizeof *images);
    char (*text)[32] = calloc((size_t)count, sizeof *text);
    const char **captions = calloc((size_t)count, sizeof *captions);
    shown s = { .total = count };
    rp_result result = images && text && captions ? RP_OK : RP_OUT_OF_MEMORY;
    progress_begin(&s.bar, 0, line->quiet);
    for (int k = 0; k < count && result == RP_OK; k++) {
        int64_t i = count > 1 ? (frames - 1) * k / (count - 1) : frames - 1;
        result = rp_film_picture(film, i, show, &s, &images[made]);
        if (result == RP_OK) {
            snprintf(text[made], sizeof *text, "frame %lld", (long long)rp_film_frame_number(film, i));
            captions[made] = text[made];
            made++;
        } else if (result == RP_BAD_FILE) {
            fprintf(stderr, "repose: frame %lld is left out: %s\n", (long long)rp_film_frame_number(film, i), rp_last_error());
            result = RP_OK;
        }
        s.done++;
    }
    progress_end(&s.bar);
    rp_image sheet = { 0 };
    if (result == RP_OK)
        result = rp_sheet(images, captions, made, line->columns, line->width, &sheet);
    if (result == RP_OK)
        result = rp_image_write_png(&sheet, path);
    rp_image_free(&sheet);
    for (int k = 0; k < made; k++)
        rp_image_free(&images[k]);
    free(images);
    free(text);
    free(captions);
    return result;
}

static int sheet_main(int argc, char **argv)
{
    sheet_line line = { .picture = PICTURE_DEFAULTS, .count = 9, .columns = 3, .width = 480 };
    text_list names;
    int code = options_parse(&command_sheet, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    rp_film_def def;
    code = picture_film_def(&line.picture, RP_DRAFT, &def);
    if (code >= 0)
        return code;
    if (line.count < 1 || line.columns < 1 || line.width < 16) {
        fprintf(stderr, "repose: a sheet needs --count and --columns of at least 1 and a --width of at least 16\n");
        return EXIT_USAGE;
    }
    if (!line.picture.size) { /* twice as fine as shown: smooth when made smaller */
        def.width = 2 * line.width;
        def.height = 2 * line.width * 9 / 16;
    }
    rp_film *film = NULL;
    code = picture_open(names.items[0], &def, &film);
    if (code >= 0)
        return code;
    char usual[4096];
    snprintf(usual, sizeof usual, "%s/sheet.png", names.items[0]);
    const char *path = line.output ? line.output : usual;
    rp_result result = make_sheet(film, &line, path);
    rp_film_close(film);
    if (result != RP_OK)
        return report_failure("", result);
    printf("%s\n", path);
    return EXIT_DONE;
}

const command command_sheet = {
    "sheet", "DIR [--count N] [--columns N] [--color FIELD]", "Makes one picture of several frames of a run",
    "Frames are taken evenly from the first to the last. Quality is draft unless another is asked for.", sheet_options, sheet_main,
};
