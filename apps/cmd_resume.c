#include "commands.h"
#include "folder.h"
#include "run_loop.h"
#include "threads.h"

#include <math.h>
#include <unistd.h>

typedef struct resume_line {
    int threads;
    double until;
    bool json, quiet;
} resume_line;

#define AT(member) offsetof(resume_line, member)

static const option options[] = {
    { "--threads", 't', OPT_INT, AT(threads), "N", "threads (default: all cores); never changes a result" },
    { "--until", 'u', OPT_TIME, AT(until), "T", "stops at this time (seconds, or with a unit: 5ms), as in run" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "a line of JSON for each step on standard output" },
    { "--quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress, only warnings and errors" },
    { 0 },
};

/* A run that ended before its first checkpoint has its scene. */
static void say_how_to_begin_again(const char *folder)
{
    char path[4096], words[2][4096];
    if (snprintf(path, sizeof path, "%s/scene.yaml", folder) < (int)sizeof path && access(path, R_OK) == 0)
        fprintf(stderr, "repose: it ended before its first checkpoint; begin again: repose run %s --output %s --overwrite\n",
                shell_word(path, words[0], sizeof words[0]), shell_word(folder, words[1], sizeof words[1]));
}

static int resume_main(int argc, char **argv)
{
    resume_line line = { .until = INFINITY };
    text_list names;
    int code = options_parse(&command_resume, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    if ((code = check_run_numbers("resume", line.threads, line.until)) >= 0)
        return code;
    rp_set_log(receive_log, NULL, line.quiet ? RP_LOG_WARNING : RP_LOG_INFO);
    rp_output *output = NULL;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_result result = rp_output_resume(names.items[0], &output, &scene, &sim);
    if (result != RP_OK) {
        report_failure("", result);
        if (result == RP_NOT_FOUND)
            say_how_to_begin_again(names.items[0]);
        return EXIT_FAILED;
    }
    if (!line.quiet)
        fprintf(stderr, "resuming at t = %g s (step %lld)\n", rp_sim_time(sim), (long long)rp_sim_steps(sim));
    run_options run = { .until = line.until, .threads = threads_to_use(line.threads, line.quiet), .json = line.json, .quiet = line.quiet };
    code = run_loop(sim, output, names.items[0], &run);
    rp_sim_destroy(sim);
    rp_output_destroy(output);
    rp_scene_destroy(scene);
    return code;
}

const command command_resume = {
    "resume", "DIR [--threads N] [--until T]", "Continues a run from its newest sound checkpoint, to the byte", NULL, options,
    resume_main,
};
