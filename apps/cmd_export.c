/* export: a run as one page that needs no server. */
#include "commands.h"

#include "apps/view/export_page.h"

#include <stdlib.h>

typedef struct export_line {
    const char *html, *colour, *range;
    int frames, grains;
} export_line;

#define AT(member) offsetof(export_line, member)
static const option export_options_table[] = {
    { "--html", 0, OPT_TEXT, AT(html), "FILE", "the page to write" },
    { "--color", 'c', OPT_TEXT, AT(colour), "FIELD", "material (default), or a field as in `repose render`" },
    { "--colour", 0, OPT_TEXT, AT(colour), "FIELD", "the same" },
    { "--range", 0, OPT_TEXT, AT(range), "LOW:HIGH", "values of the first and the last colour" },
    { "--frames", 0, OPT_INT, AT(frames), "N", "at most so many frames, spread evenly (default: 200)" },
    { "--grains", 0, OPT_INT, AT(grains), "N", "at most so many grains a frame, the others left out (default: 100000)" },
    { 0 },
};

static int export_main(int argc, char **argv)
{
    export_line line = { .frames = 200, .grains = 100000 };
    text_list names;
    int code = options_parse(&command_export, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    export_options options = { line.colour ? line.colour : "material", 0, 0, line.frames, line.grains };
    if (!line.html || line.frames < 1 || line.grains < 1) {
        fprintf(stderr, "repose: export needs --html FILE; --frames and --grains are at least 1\n");
        return EXIT_USAGE;
    }
    if (line.range) {
        char *end, *last = NULL;
        options.low = strtod(line.range, &end);
        if (end != line.range && *end == ':')
            options.high = strtod(end + 1, &last);
        if (!last || *last || !(options.low < options.high)) {
            fprintf(stderr, "repose: '%s' is no range; right would be LOW:HIGH, such as 0:2.5\n", line.range);
            return EXIT_USAGE;
        }
    }
    run_folder run;
    if (!run_folder_open(names.items[0], 1280, 720, &run))
        return EXIT_FAILED;
    int64_t frames, bytes;
    bool done = export_page(&run, &options, line.html, &frames, &bytes);
    run_folder_close(&run);
    if (!done)
        return EXIT_FAILED;
    fprintf(stderr, "%lld frames, %.1f MB\n", (long long)frames, 1e-6 * (double)bytes);
    printf("%s\n", line.html);
    return EXIT_DONE;
}

const command command_export = {
    "export", "DIR --html FILE [--color FIELD] [--frames N] [--grains N]", "Writes a run as one page that opens by double click",
    "The page is that of `repose view` with the frames in it; it needs no server and asks nobody.", export_options_table, export_main,
};
