/* info, convert: looking at files. */
#include "commands.h"
#include "find_scene.h"
#include "run_loop.h"

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

static int convert_main(int argc, char **argv)
{
    convert_line line = { 0 };
    text_list names;
    int code = options_parse(&command_convert, &line, argc, argv, &names, 2, 2);
    if (code >= 0)
        return code;
    rp_set_log(receive_log, NULL, RP_LOG_WARNING);
    rp_result result = rp_convert(names.items[0], names.items[1], line.format);
    if (result == RP_OK)
        return EXIT_DONE;
    report_failure("", result);
    return result == RP_BAD_ARGUMENT || result == RP_UNSUPPORTED ? EXIT_USAGE : EXIT_FAILED;
}

const command command_convert = {
    "convert", "FRAME|DIR TO [--format NAME]", "Writes frames in another format",
    "A frame becomes a file; an output folder becomes a folder of files, or one .pvd or .usda with all times.", convert_options,
    convert_main,
};
