/* scenes, schema: what can be run, and how scenes are written. */
#include "commands.h"
#include "find_scene.h"
#include "run_loop.h"

#include <stdlib.h>
#include <string.h>

static const option none[] = { { 0 } };

static void print_scene(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    rp_scene *scene = NULL;
    if (rp_scene_load(path, NULL, &scene) == RP_OK)
        printf("%-24s %-14s %dD  %s\n", name, rp_scene_sim_def(scene)->method, rp_scene_sim_def(scene)->dim, rp_scene_title(scene));
    else
        printf("%-24s (cannot be read: %s)\n", name, rp_last_error());
    rp_scene_destroy(scene);
}

static int scenes_main(int argc, char **argv)
{
    text_list names;
    int code = options_parse(&command_scenes, NULL, argc, argv, &names, 0, 0);
    if (code >= 0)
        return code;
    char folder[2048], *found[SCENES_MOST];
    int count = list_scenes(found, SCENES_MOST);
    if (count < 0 || !scene_folder(folder, sizeof folder)) {
        fprintf(stderr, "repose: the folder of bundled scenes was not found; set REPOSE_SCENES to it\n");
        return EXIT_FAILED;
    }
    for (int i = 0; i < count; i++) {
        print_scene(folder, found[i]);
        free(found[i]);
    }
    return EXIT_DONE;
}

const command command_scenes = {
    "scenes", "", "Lists the bundled scenes; each runs by its name", NULL, none, scenes_main,
};

typedef struct schema_line {
    bool reference;
} schema_line;

static const option schema_options[] = {
    { "--reference", 'r', OPT_FLAG, offsetof(schema_line, reference), NULL, "the reference page (Markdown) in place of the schema" },
    { 0 },
};

static int schema_main(int argc, char **argv)
{
    schema_line line = { 0 };
    text_list names;
    int code = options_parse(&command_schema, &line, argc, argv, &names, 0, 0);
    if (code >= 0)
        return code;
    char *text = NULL;
    rp_result result = line.reference ? rp_scene_reference(&text) : rp_scene_schema(&text);
    if (result != RP_OK) {
        report_failure("", result);
        return EXIT_FAILED;
    }
    fputs(text, stdout);
    rp_text_free(text);
    return EXIT_DONE;
}

const command command_schema = {
    "schema", "[--reference]", "Prints the JSON Schema of scene files, made from the parameter tables",
    "Editors with a YAML plug-in check and complete scenes with it.", schema_options, schema_main,
};
