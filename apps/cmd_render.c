/* render: the frames of a run to pictures and a video. */
#include "commands.h"
#include "folder.h"
#include "picture_folder.h"
#include "picture_options.h"
#include "progress.h"
#include "run_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct render_line {
    picture_line picture;
    const char *frame, *output, *video;
    double rate;
    bool no_video, again, quiet;
} render_line;

#define AT(member) offsetof(render_line, member)
static const option render_options[] = {
    PICTURE_OPTIONS(render_line, picture),
    { "--frame", 'f', OPT_TEXT, AT(frame), "N|A:B|last", "one frame, or those from A to B" },
    { "--output", 'o', OPT_TEXT, AT(output), "PATH",
      "folder of the pictures, or a .png file with --frame N (default: DIR/pictures, or DIR/pictures-2 ... when that has "
      "pictures of other settings)" },
    { "--video", 0, OPT_TEXT, AT(video), "FILE", "the video, .mp4 or .webm (default: film.mp4 beside the pictures)" },
    { "--no-video", 0, OPT_FLAG, AT(no_video), NULL, "pictures only" },
    { "--rate", 'r', OPT_REAL, AT(rate), "N", "pictures a second of the video (default: real time)" },
    { "--again", 0, OPT_FLAG, AT(again), NULL,
      "makes finished pictures again; in a folder named with --output also over those of other settings" },
    { "--quiet", 0, OPT_FLAG, AT(quiet), NULL, "no progress" },
    { 0 },
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

typedef struct shown {
    progress bar;
    int64_t done, total;
    const char *what;
} shown;

static bool show(void *context, double part)
{
    shown *s = context;
    char text[96];
    snprintf(text, sizeof text, "%s %lld of %lld", s->what, (long long)(s->done + 1), (long long)s->total);
    progress_show(&s->bar, ((double)s->done + part) / (double)s->total, text);
    return !stop;
}

/* ---- which frames ---- */

/* The places first … last in the film of the frames asked for. */
static bool pick_frames(const rp_film *film, const char *text, int64_t *first, int64_t *last)
{
    int64_t count = rp_film_count(film);
    *first = 0, *last = count - 1;
    if (!text)
        return true;
    if (strcmp(text, "last") == 0) {
        *first = count - 1;
        return true;
    }
    char *end;
    long long a = strtoll(text, &end, 10), b = a;
    if (end == text && *end == ':')
        a = rp_film_frame_number(film, 0);
    else if (end == text)
        return false;
    if (*end == ':') {
        const char *rest = end + 1;
        b = *rest ? strtoll(rest, &end, 10) : rp_film_frame_number(film, count - 1);
        if (*rest && (end == rest || *end))
            return false;
    } else if (*end)
        return false;
    while (*first < count && rp_film_frame_number(film, *first) < a)
        ++*first;
    while (*last >= 0 && rp_film_frame_number(film, *last) > b)
        --*last;
    return *first <= *last;
}

/* ---- pictures ---- */

/* A picture is finished when it is there and not older than its frame. */
static bool is_finished(const char *picture, const char *run, int64_t number)
{
    char frame[4200];
    struct stat made, from;
    snprintf(frame, sizeof frame, "%s/frames/frame_%06lld.vtkhdf", run, (long long)number);
    if (stat(picture, &made) != 0)
        return false;
    return stat(frame, &from) != 0 || made.st_mtim.tv_sec > from.st_mtim.tv_sec ||
           (made.st_mtim.tv_sec == from.st_mtim.tv_sec && made.st_mtim.tv_nsec >= from.st_mtim.tv_nsec);
}

static int fail(rp_result result)
{
    if (result == RP_CANCELLED || stop) {
        fprintf(stderr, "repose: stopped; what is finished is kept, and the same command goes on from there\n");
        return EXIT_INTERRUPTED;
    }
    return report_failure("", result);
}

static rp_result make_picture(rp_film *film, int64_t i, const char *path, shown *s)
{
    rp_image image;
    rp_result result = rp_film_picture(film, i, show, s, &image);
    if (result != RP_OK)
        return result;
    result = rp_image_write_png(&image, path);
    rp_image_free(&image);
    return result;
}

/* Frames that cannot be read are said and left out; everything else ends it. */
static int make_pictures(rp_film *film, const char *run, const char *folder, bool again, int64_t first, int64_t last, char **paths,
                         int64_t *count, shown *s)
{
    int code = -1;
    for (int64_t i = first; i <= last && code < 0; i++) {
        char *path = picture_path(folder, rp_film_frame_number(film, i));
        if (!path)
            return picture_failed("remember", folder);
        bool finished = !again && is_finished(path, run, rp_film_frame_number(film, i));
        rp_result result = finished ? RP_OK : make_picture(film, i, path, s);
        if (result == RP_OK)
            paths[(*count)++] = path;
        else {
            free(path);
            if (result != RP_BAD_FILE)
                code = fail(result);
            else
                fprintf(stderr, "repose: frame %lld is left out: %s\n", (long long)rp_film_frame_number(film, i), rp_last_error());
        }
        s->done++;
        if (stop && code < 0)
            code = fail(RP_CANCELLED);
    }
    return code;
}

static int make_video(const rp_film *film, const render_line *line, const char *folder, char **paths, int64_t count)
{
    char usual[4200];
    snprintf(usual, sizeof usual, "%s/film.mp4", folder);
    const char *video = line->video ? line->video : usual;
    shown s = { .total = 1, .what = "video" };
    progress_begin(&s.bar, 0, line->quiet);
    rp_result result = rp_video_encode((const char *const *)paths, count, line->rate > 0 ? line->rate : rp_film_rate(film), video,
                                       show, &s);
    progress_end(&s.bar);
    if (result != RP_OK)
        return fail(result);
    printf("%s\n", video);
    return EXIT_DONE;
}

static int render_folder(rp_film *film, const render_line *line, const rp_film_def *def, const char *run, int64_t first, int64_t last)
{
    char folder[4096];
    int code = picture_folder(film, run, line->output, def, line->again, folder, sizeof folder);
    if (code >= 0)
        return code;
    int64_t count = 0, total = last - first + 1;
    char **paths = calloc((size_t)total, sizeof *paths);
    if (!paths)
        return picture_failed("remember", folder);
    shown s = { .total = total, .what = "picture" };
    progress_begin(&s.bar, 0, line->quiet);
    code = make_pictures(film, run, folder, line->again, first, last, paths, &count, &s);
    progress_end(&s.bar);
    if (code < 0 && count == 0) {
        fprintf(stderr, "repose: no frame of %s could be shown\n", run);
        code = EXIT_FAILED;
    }
    if (code < 0 && (line->no_video || (count < 2 && !line->video))) {
        printf("%s\n", count == 1 ? paths[0] : folder);
        code = EXIT_DONE;
    }
    if (code < 0)
        code = make_video(film, line, folder, paths, count);
    for (int64_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return code;
}

static int render_one(rp_film *film, const render_line *line, int64_t i)
{
    shown s = { .total = 1, .what = "picture" };
    progress_begin(&s.bar, 0, line->quiet);
    rp_result result = make_picture(film, i, line->output, &s);
    progress_end(&s.bar);
    if (result != RP_OK)
        return fail(result);
    printf("%s\n", line->output);
    return EXIT_DONE;
}

static int render_main(int argc, char **argv)
{
    render_line line = { .picture = PICTURE_DEFAULTS };
    text_list names;
    int code = options_parse(&command_render, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    rp_film_def def;
    code = picture_film_def(&line.picture, RP_GOOD, &def);
    if (code >= 0)
        return code;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    rp_film *film = NULL;
    code = picture_open(names.items[0], &def, &film);
    if (code >= 0)
        return code;
    int64_t first, last;
    if (!pick_frames(film, line.frame, &first, &last)) {
        fprintf(stderr, "repose: %s has no frame '%s'; it has %lld, numbered %lld to %lld\n", names.items[0], line.frame,
                (long long)rp_film_count(film), (long long)rp_film_frame_number(film, 0),
                (long long)rp_film_frame_number(film, rp_film_count(film) - 1));
        code = EXIT_USAGE;
    } else if (line.output && path_ends_with(line.output, ".png"))
        code = render_one(film, &line, last);
    else
        code = render_folder(film, &line, &def, names.items[0], first, last);
    rp_film_close(film);
    return code;
}

const command command_render = {
    "render", "DIR [--frame N] [--view VIEW] [--color FIELD] [--size WxH] [--quality draft|good|best]",
    "Makes pictures of the frames of a run, and a video of them",
    "Pictures that are finished already are kept, so an interrupted command goes on where it was. Pictures made with other settings "
    "are kept too: the new ones go to a folder of their own. The video needs the program ffmpeg.",
    render_options, render_main,
};
