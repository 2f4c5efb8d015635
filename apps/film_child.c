#include "film_child.h"

#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void film_child_frame(film_child *child, const char *folder)
{
    if (!child->wanted)
        return;
    if (child->process && waitpid(child->process, NULL, WNOHANG) == 0)
        return; /* still at work; it will find this frame, or the next one will */
    child->process = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    char *arguments[] = { "repose", "render", (char *)folder, "--no-video", "--quiet", "--threads", "1", NULL };
    int failed = posix_spawn(&child->process, "/proc/self/exe", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        fprintf(stderr, "warning: no pictures while the run goes (%s); make them later with: repose render %s\n",
                strerror(failed), folder);
        child->wanted = false;
        child->process = 0;
    }
}

int film_child_finish(film_child *child, const char *folder, bool quiet)
{
    if (!child->wanted)
        return EXIT_DONE;
    while (child->process && waitpid(child->process, NULL, 0) < 0 && errno == EINTR) {
    }
    child->process = 0;
    char *arguments[] = { "render", (char *)folder, quiet ? "--quiet" : NULL, NULL };
    return command_render.main(quiet ? 3 : 2, arguments);
}

void film_child_stop(film_child *child)
{
    if (!child->process)
        return;
    kill(child->process, SIGTERM);
    waitpid(child->process, NULL, 0);
    child->process = 0;
}
