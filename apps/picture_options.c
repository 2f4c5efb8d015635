#include "picture_options.h"
#include "run_loop.h"

#include <stdlib.h>
#include <string.h>

static int wrong(const char *name, const char *text, const char *right)
{
    fprintf(stderr, "repose: '%s' is no value for %s; right would be %s\n", text, name, right);
    return EXIT_USAGE;
}

int picture_film_def(const picture_line *line, rp_quality usual, rp_film_def *def)
{
    static const char *const names[] = { "draft", "good", "best" };
    *def = rp_default_film_def();
    def->view = line->view;
    def->colour = line->colour;
    def->grains_per_particle = line->grains;
    def->upsample = line->upsample;
    def->samples = line->samples;
    def->threads = line->threads;
    def->shutter = line->shutter;
    def->aperture = line->aperture;
    def->turntable = line->turntable;
    if (line->shutter < 0 || line->shutter > 1 || line->aperture < 0) {
        fprintf(stderr, "repose: a shutter is open for a part from 0 to 1 of the frame time, and an aperture is a length\n");
        return EXIT_USAGE;
    }
    def->legend = !line->no_legend;
    def->time_label = line->time;
    def->quality = usual;
    if (line->quality) {
        int k = 0;
        while (k < 3 && strcmp(names[k], line->quality) != 0)
            k++;
        if (k == 3)
            return wrong("--quality", line->quality, "draft, good or best");
        def->quality = (rp_quality)k;
    }
    if (line->size) {
        char *end, *last;
        long width = strtol(line->size, &end, 10), height = *end == 'x' || *end == 'X' ? strtol(end + 1, &last, 10) : 0;
        if (width < 1 || height < 1 || width > RP_IMAGE_MAX_SIZE || height > RP_IMAGE_MAX_SIZE || *last != '\0')
            return wrong("--size", line->size, "WIDTHxHEIGHT in pixels, such as 1280x720");
        def->width = (int)width, def->height = (int)height;
    }
    if (line->range) {
        char *end, *last = NULL;
        def->colour_range[0] = strtod(line->range, &end);
        if (end != line->range && *end == ':')
            def->colour_range[1] = strtod(end + 1, &last);
        if (!last || *last != '\0' || !(def->colour_range[0] < def->colour_range[1]))
            return wrong("--range", line->range, "LOW:HIGH, such as 0:2.5");
    }
    return -1;
}

int picture_open(const char *folder, const rp_film_def *def, rp_film **film)
{
    rp_result result = rp_film_open(folder, def, film);
    if (result != RP_OK)
        return report_failure("", result);
    result = rp_film_check(*film);
    if (result == RP_OK)
        return -1;
    int code = report_failure("", result);
    rp_film_close(*film);
    *film = NULL;
    return result == RP_BAD_ARGUMENT ? EXIT_USAGE : code;
}
