/* info, convert: looking at files. */
#include "commands.h"
#include "find_scene.h"
#include "folder.h"
#include "run_loop.h"

#include <repose/grains.h>
#include <stdlib.h>
#include <string.h>

typedef struct info_line {
    bool json, check;
} info_line;

static const option info_options[] = {
    { "--json", 0, OPT_FLAG, offsetof(info_line, json), NULL, "as JSON" },
    { "--check", 0, OPT_FLAG, offsetof(info_line, check), NULL, "reads every byte of frames, checkpoints and meshes and compares it with its checksum" },
    { 0 },
};

static bool exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file;
}

static int info_main(int argc, char **argv)
{
    info_line line = { 0 };
    text_list names;
    int code = options_parse(&command_info, &line, argc, argv, &names, 1, LIST_MOST);
    if (code >= 0)
        return code;
    code = EXIT_DONE;
    for (int i = 0; i < names.count; i++) {
        char *text = NULL, path[4096];
        const char *name = names.items[i];
        if (!exists(name) && find_scene(name, path, sizeof path)) /* a bundled scene by its name */
            name = path;
        rp_result result = line.check ? rp_verify(name, &text) : rp_info(name, line.json, &text);
        if (result != RP_OK) {
            if (text)
                fputs(text, stdout);
            rp_text_free(text);
            int failed = report_failure("", result);
            code = code == EXIT_DONE ? failed : code;
            continue;
        }
        fputs(text, stdout);
        rp_text_free(text);
    }
    return code;
}

const command command_info = {
    "info", "FILE|DIR...", "Tells what a frame, a checkpoint, a scene or an output folder holds", NULL, info_options, info_main,
};

typedef struct convert_line {
    const char *format;
} convert_line;

static const option convert_options[] = {
    { "--format", 'f', OPT_TEXT, offsetof(convert_line, format), "NAME", "vtp, pvd, ply, usda, csv, npz, vtkhdf (default: by the ending of TO)" },
    { 0 },
};

/* Planes from rows of three. */
static double *planes(const float *rows, int64_t count)
{
    double *to = calloc(3 * (size_t)count + 3, sizeof *to);
    for (int64_t i = 0; i < count && to; i++)
        for (int d = 0; d < 3; d++)
            to[d * count + i] = (double)rows[3 * i + d];
    return to;
}

/* Fine grains of one frame: a file of samples that upsampling made. */
static rp_result convert_fine(const char *from, const char *to, const char *format)
{
    rp_samples s = { 0 };
    rp_result result = rp_samples_read(from, &s);
    if (result != RP_OK)
        return result;
    double *x = s.place ? planes(s.place, s.count) : NULL, *v = s.velocity ? planes(s.velocity, s.count) : NULL;
    double *volume = calloc((size_t)s.count + 1, sizeof *volume);
    for (int64_t i = 0; i < s.count && volume; i++)
        volume[i] = s.unit_volume;
    rp_field_view fields[] = { { { "position", RP_F64, 3, "m", 1 }, x, s.count, s.count },
                               { { "velocity", RP_F64, 3, "m/s", 1 }, v, s.count, s.count },
                               { { "volume", RP_F64, 1, "m3", 1 }, volume, s.count, s.count } };
    rp_frame frame = { .index = s.frame, .dim = 3, .count = s.count, .fields = fields, .field_count = 3 };
    if (!s.place || !s.velocity) {
        fprintf(stderr, "%s has samples that go with their particles; only those of 'upsample' have places of their own\n", from);
        result = RP_UNSUPPORTED;
    } else if (!x || !v || !volume)
        result = RP_OUT_OF_MEMORY;
    else
        result = rp_frame_convert(&frame, to, format);
    free(x), free(v), free(volume);
    rp_samples_free(&s);
    return result;
}

static int convert_main(int argc, char **argv)
{
    convert_line line = { 0 };
    text_list names;
    int code = options_parse(&command_convert, &line, argc, argv, &names, 2, 2);
    if (code >= 0)
        return code;
    rp_set_log(receive_log, NULL, RP_LOG_WARNING);
    bool fine = path_ends_with(names.items[0], ".samples");
    rp_result result = fine ? convert_fine(names.items[0], names.items[1], line.format) : rp_convert(names.items[0], names.items[1], line.format);
    if (result == RP_OK)
        return EXIT_DONE;
    report_failure("", result);
    return result == RP_BAD_ARGUMENT || result == RP_UNSUPPORTED ? EXIT_USAGE : EXIT_FAILED;
}

const command command_convert = {
    "convert", "FRAME|DIR TO [--format NAME]", "Writes frames in another format",
    "A frame becomes a file; an output folder becomes a folder of files, or one .pvd or .usda with all times. A file of fine "
    "grains (DIR/samples/fine-R/frame_N.samples) becomes vtp, ply, csv or npz.", convert_options,
    convert_main,
};
