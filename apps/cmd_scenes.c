/* scenes, schema: what can be run, and how scenes are written. */
#include "commands.h"
#include "find_scene.h"
#include "run_loop.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const option none[] = { { 0 } };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_scene(const char *folder, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    rp_scene *scene = NULL;
    int length = (int)(strlen(file) - strlen(".yaml"));
    if (rp_scene_load(path, NULL, &scene) == RP_OK)
        printf("%-24.*s %-14s %dD  %s\n", length, file, rp_scene_sim_def(scene)->method, rp_scene_sim_def(scene)->dim,
               rp_scene_title(scene));
    else
        printf("%-24.*s (cannot be read: %s)\n", length, file, rp_last_error());
    rp_scene_destroy(scene);
}

static int scenes_main(int argc, char **argv)
{
    text_list names;
    int code = options_parse(&command_scenes, NULL, argc, argv, &names, 0, 0);
    if (code >= 0)
        return code;
    char folder[2048];
    DIR *dir = scene_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    if (!dir) {
        fprintf(stderr, "repose: the folder of bundled scenes was not found; set REPOSE_SCENES to it\n");
        return EXIT_FAILED;
    }
    char *files[512];
    int count = 0;
    for (struct dirent *entry; count < 512 && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0)
            files[count++] = strdup(entry->d_name);
    }
    closedir(dir);
    qsort(files, (size_t)count, sizeof *files, by_name);
    for (int i = 0; i < count; i++) {
        print_scene(folder, files[i]);
        free(files[i]);
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
