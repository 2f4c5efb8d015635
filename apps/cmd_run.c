#include "commands.h"
#include "find_scene.h"
#include "folder.h"
#include "run_loop.h"
#include "threads.h"

#include <math.h>
#include <string.h>

typedef struct run_line {
    const char *output, *actions;
    text_list set;
    int threads, dump_problems;
    double until;
    bool json, quiet, overwrite, render;
} run_line;

#define AT(member) offsetof(run_line, member)

static const option options[] = {
    { "--output", 'o', OPT_TEXT, AT(output), "DIR", "folder of the results (default: out/NAME)" },
    { "--set", 's', OPT_LIST, AT(set), "KEY=VALUE", "replaces a value of the scene; may be given again" },
    { "--threads", 't', OPT_INT, AT(threads), "N", "threads (default: all cores); never changes a result" },
    { "--until", 'u', OPT_TIME, AT(until), "T",
      "stops at this time (seconds, or with a unit: 5ms), also between two frames (last.vtkhdf); resume goes on as if it had not" },
    { "--actions", 'a', OPT_TEXT, AT(actions), "FILE", "performs a journal of actions, or that of another run's folder, at its times" },
    { "--overwrite", 'f', OPT_FLAG, AT(overwrite), NULL, "replaces a run that is in the folder already" },
    { "--dump-problems", 0, OPT_INT, AT(dump_problems), "N", "writes the first N friction problems to DIR/problems (FCLIB files)" },
    { "--render", 'r', OPT_FLAG, AT(render), NULL, "makes pictures while the run goes, and a film at the end" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "a line of JSON for each step on standard output" },
    { "--quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress, only warnings and errors" },
    { 0 },
};

/* out/NAME for scenes/NAME.yaml */
static void default_folder(const char *scene, char *folder, size_t size)
{
    const char *slash = strrchr(scene, '/');
    const char *name = slash ? slash + 1 : scene;
    const char *dot = strrchr(name, '.');
    int length = dot && dot != name ? (int)(dot - name) : (int)strlen(name);
    snprintf(folder, size, "out/%.*s", length, name);
}

static rp_result perform(rp_sim *sim, const char *path)
{
    char *journal = NULL;
    rp_result result = path ? rp_journal_read(path, &journal) : RP_OK;
    if (journal)
        result = rp_sim_replay(sim, journal);
    rp_text_free(journal);
    return result;
}

static int start(const run_line *line, const char *path, const char *folder, rp_scene *scene)
{
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    rp_result result = rp_output_create(folder, scene, line->overwrite, &output);
    if (result != RP_OK) {
        report_failure("", result);
        char word[4096];
        if (result == RP_BAD_ARGUMENT)
            fprintf(stderr, "repose: that is: repose resume %s, or run with --output DIR or --overwrite\n", shell_word(folder, word, sizeof word));
        return EXIT_FAILED;
    }
    int code;
    rp_sim_def def = *rp_scene_sim_def(scene);
    def.threads = threads_to_use(line->threads, line->quiet);
    def.folder = folder;
    result = rp_sim_create(&def, &sim);
    if (result != RP_OK) {
        code = report_failure(path, result);
    } else if ((result = perform(sim, line->actions)) != RP_OK) {
        report_failure(line->actions, result);
        code = EXIT_USAGE;
    } else if ((result = rp_output_start(output, sim)) != RP_OK) {
        code = report_failure("output", result);
    } else {
        run_options run = { .until = line->until, .threads = def.threads, .json = line->json, .quiet = line->quiet,
                            .render = line->render };
        code = run_loop(sim, output, folder, &run);
    }
    rp_sim_destroy(sim);
    rp_output_destroy(output);
    return code;
}

static int run_main(int argc, char **argv)
{
    run_line line = { .until = INFINITY };
    text_list names;
    int code = options_parse(&command_run, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    if ((code = check_run_numbers("run", line.threads, line.until)) >= 0)
        return code;
    char path[4096], folder[4096];
    if (!find_scene(names.items[0], path, sizeof path)) {
        say_no_scene(names.items[0]);
        return EXIT_SCENE;
    }
    rp_set_log(receive_log, NULL, line.quiet ? RP_LOG_WARNING : RP_LOG_INFO);
    default_folder(path, folder, sizeof folder);
    const char *output = line.output ? line.output : folder;
    char dump[2][64];
    static const char *const dumping[2] = { "nonsmooth", "contact" }; /* the methods that write problems */
    for (int k = 0; k < 2 && line.dump_problems > 0 && line.set.count < LIST_MOST; k++) {
        snprintf(dump[k], sizeof dump[k], "%s.dump_problems=%d", dumping[k], line.dump_problems);
        line.set.items[line.set.count++] = dump[k];
    }
    rp_scene_options scene_options = { line.set.items, line.set.count };
    rp_scene *scene = NULL;
    rp_result result = rp_scene_load(path, &scene_options, &scene);
    if (result != RP_OK) {
        fprintf(stderr, "%s\n", rp_last_error());
        return result == RP_BAD_SCENE || result == RP_NOT_FOUND ? EXIT_SCENE : EXIT_FAILED;
    }
    code = start(&line, path, output, scene);
    rp_scene_destroy(scene);
    return code;
}

const command command_run = {
    "run",
    "SCENE [-o DIR] [--set KEY=VALUE]... [--threads N] [--until T] [--actions FILE] [--json]",
    "Simulates a scene, a file or the name of a bundled one",
    "The folder gets the scene as run, stats.csv, bodies.csv, frames for ParaView and checkpoints.\n"
    "Ctrl-C ends the run after the present step with a checkpoint; `repose resume DIR` goes on to the byte.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 error in the scene, 4 diverged, 130 interrupted.",
    options,
    run_main,
};
