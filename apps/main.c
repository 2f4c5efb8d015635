/* repose: the command. Each subcommand has a file cmd_*.c. */
#include "commands.h"
#include "threads.h"

#include <repose/repose.h>
#include <signal.h>
#include <string.h>

const command *const commands[] = {
    &command_run,    &command_resume,   &command_info,       &command_convert, &command_scenes,
    &command_render, &command_plot,     &command_sheet,      &command_schema,  &command_help_page,
    &command_view, &command_play, &command_export,   &command_friction, &command_validate, &command_bench,      &command_measure, &command_completion, NULL,
};

/* The known command nearest to a mistyped one. */
static const char *nearest(const char *word)
{
    const char *best = NULL;
    size_t most = 0;
    for (const command *const *c = commands; *c; c++) {
        size_t like = likeness(word, (*c)->name);
        if (like > most)
            most = like, best = (*c)->name;
    }
    return best;
}

/* What was printed may not have arrived: on a full disk the last of it fails only now. */
static int written(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "repose: standard output could not be written\n");
    return code == EXIT_DONE ? EXIT_FAILED : code;
}

int main(int argc, char **argv)
{
    wait_passively(argv);
    const char *name = argc > 1 ? argv[1] : "help";
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of write, not a death */
    if (strcmp(name, "--version") == 0) {
        printf("repose %s\n", rp_version());
        return written(EXIT_DONE);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    for (const command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return written((*c)->main(argc > 1 ? argc - 1 : 1, argc > 1 ? argv + 1 : argv));
    const char *close = nearest(name);
    fprintf(stderr, "repose: there is no command '%s'%s%s%s (see: repose help)\n", name, close ? "; did you mean '" : "",
            close ? close : "", close ? "'?" : "");
    return EXIT_USAGE;
}
