/* Videos through the program ffmpeg: started without a shell, fed with the pictures one after the other. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <repose/render.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct encoder {
    pid_t process;
    int feed;            /* its standard input */
    FILE *said;          /* its standard error */
    sigset_t before;     /* signals blocked before us */
} encoder;

/* The program's arguments; `rate` is text, `out` the file it writes. */
static void set_arguments(char **arguments, char *rate, char *out, bool webm)
{
    char *common[] = { "ffmpeg", "-nostdin", "-v", "error", "-xerror", "-y", "-f", "image2pipe", "-framerate", rate, "-c:v", "png",
                       "-i", "pipe:0", "-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p" };
    char *mp4[] = { "-c:v", "libx264", "-preset", "medium", "-crf", "19", "-movflags", "+faststart", "-f", "mp4" };
    char *vp9[] = { "-c:v", "libvpx-vp9", "-b:v", "0", "-crf", "30", "-row-mt", "1", "-f", "webm" };
    size_t n = sizeof common / sizeof *common, m = sizeof mp4 / sizeof *mp4;
    memcpy(arguments, common, sizeof common);
    memcpy(arguments + n, webm ? vp9 : mp4, sizeof mp4);
    arguments[n + m] = out;
    arguments[n + m + 1] = NULL;
}

/* The pipe must not end this program when ffmpeg dies: SIGPIPE is held back while we write. */
static void hold_pipe_signal(encoder *e)
{
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &e->before);
}

static void release_pipe_signal(encoder *e)
{
    sigset_t pipe_signal;
    struct timespec now = { 0, 0 };
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    if (!sigismember(&e->before, SIGPIPE))
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &e->before, NULL);
}

static rp_result start(encoder *e, char **arguments)
{
    int ends[2];
    e->said = tmpfile();
    if (!e->said)
        return rp__base_fail(RP_IO_ERROR, "cannot make a temporary file: %s", strerror(errno));
    if (pipe(ends) != 0) {
        fclose(e->said);
        return rp__base_fail(RP_IO_ERROR, "cannot make a pipe: %s", strerror(errno));
    }
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    hold_pipe_signal(e);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &e->before);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(e->said), STDERR_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int failed = posix_spawnp(&e->process, "ffmpeg", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    e->feed = ends[1];
    if (!failed)
        return RP_OK;
    close(ends[1]);
    fclose(e->said);
    release_pipe_signal(e);
    if (failed == ENOENT)
        return rp__base_fail(RP_NOT_FOUND, "the program ffmpeg is not installed, so there is no video; the pictures are kept");
    return rp__base_fail(RP_IO_ERROR, "cannot start ffmpeg: %s", strerror(failed));
}

/* Copies a file into the pipe. False when the other side is gone. */
static rp_result feed_file(encoder *e, const char *path, bool *gone)
{
    char buffer[65536];
    FILE *file = fopen(path, "rb");
    if (!file)
        return rp__base_fail(RP_IO_ERROR, "cannot read the picture %s: %s", path, strerror(errno));
    size_t got;
    while (!*gone && (got = fread(buffer, 1, sizeof buffer, file)) > 0)
        for (size_t sent = 0; sent < got && !*gone;) {
            ssize_t n = write(e->feed, buffer + sent, got - sent);
            if (n > 0)
                sent += (size_t)n;
            else if (errno != EINTR)
                *gone = true;
        }
    bool failed = ferror(file);
    fclose(file);
    return failed ? rp__base_fail(RP_IO_ERROR, "cannot read the picture %s", path) : RP_OK;
}

/* Waits for the end; a failure gives ffmpeg's last words. */
static rp_result finish(encoder *e, const char *path)
{
    close(e->feed);
    int status = 0;
    while (waitpid(e->process, &status, 0) < 0 && errno == EINTR)
        ;
    release_pipe_signal(e);
    char words[400] = "", line[400];
    rewind(e->said);
    while (fgets(line, sizeof line, e->said))
        if (line[0] != '\n')
            memcpy(words, line, sizeof words);
    fclose(e->said);
    words[strcspn(words, "\n")] = '\0';
    /* A full disk is an error message and an exit code of 0: what it says counts too. */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !words[0])
        return RP_OK;
    return rp__base_fail(RP_IO_ERROR, "ffmpeg could not write the video %s (%s); the pictures are kept", path,
                         words[0] ? words : "it ended early");
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

rp_result rp_video_encode(const char *const *pictures, int64_t count, double rate, const char *path, rp_progress_fn progress,
                          void *context)
{
    bool webm = ends_with(path, ".webm"), gone = false;
    if (!webm && !ends_with(path, ".mp4"))
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' is not the name of a video; right would end in .mp4 or .webm", path);
    if (count < 1 || !(rate > 0 && rate <= 1000))
        return rp__base_fail(RP_BAD_ARGUMENT, "a video needs at least one picture and a rate of up to 1000 a second");
    rp__file file;
    RP_TRY(rp__file_begin_path(&file, path));
    char rate_text[40], *arguments[40];
    rp__units_format(rate, rate_text, sizeof rate_text);
    set_arguments(arguments, rate_text, file.part, webm);
    encoder e;
    rp_result result = start(&e, arguments);
    if (result != RP_OK) {
        rp__file_drop(&file);
        return result;
    }
    for (int64_t i = 0; i < count && result == RP_OK && !gone; i++) {
        result = feed_file(&e, pictures[i], &gone);
        if (result == RP_OK && progress && !progress(context, (double)(i + 1) / (double)count))
            result = rp__base_fail(RP_CANCELLED, "the video was stopped before it was done; the pictures are kept");
    }
    if (result != RP_OK)
        kill(e.process, SIGTERM);
    rp_result ended = finish(&e, path);
    if (result == RP_CANCELLED)
        (void)rp__base_fail(RP_CANCELLED, "the video was stopped before it was done; the pictures are kept");
    else if (result == RP_OK)
        result = ended;
    if (result == RP_OK)
        return rp__file_commit(&file);
    rp__file_drop(&file);
    return result;
}
