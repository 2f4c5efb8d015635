#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 28 };

double progress_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void format_time(char *text, size_t size, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s < 60)
        snprintf(text, size, "%ld s", s);
    else if (s < 3600)
        snprintf(text, size, "%ld:%02ld min", s / 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld h", s / 3600, s / 60 % 60);
}

void progress_begin(progress *p, double share, bool quiet)
{
    memset(p, 0, sizeof *p);
    const char *term = getenv("TERM");
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    p->colour = p->terminal && !getenv("NO_COLOR");
    p->quiet = quiet;
    p->begin = progress_seconds();
    p->start_share = share;
    p->last_shown = p->begin;
}

static void left_text(const progress *p, double share, char *text, size_t size)
{
    double done = share - p->start_share, elapsed = progress_seconds() - p->begin;
    text[0] = '\0';
    if (done > 1e-6 && elapsed > 0.5) {
        char left[32];
        format_time(left, sizeof left, elapsed * (1 - share) / done);
        snprintf(text, size, ", %s left", left);
    }
}

void progress_show(progress *p, double share, const char *text)
{
    double now = progress_seconds();
    if (p->quiet || (share < 1 && now - p->last_shown < (p->terminal ? 0.1 : 10)))
        return;
    p->last_shown = now;
    p->shown = true;
    char left[48];
    left_text(p, share, left, sizeof left);
    if (!p->terminal) {
        fprintf(stderr, "%3.0f %%  %s%s\n", 100 * share, text, left);
        return;
    }
    char bar[3 * BAR_WIDTH + 1];
    int full = (int)(share * BAR_WIDTH + 0.5);
    bar[0] = '\0';
    for (int i = 0; i < BAR_WIDTH; i++)
        strcat(bar, i < full ? "━" : "·");
    fprintf(stderr, "\r%s%s%s %3.0f %%  %s%s\033[K", p->colour ? "\033[33m" : "", bar, p->colour ? "\033[0m" : "", 100 * share,
            text, left);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->terminal && p->shown && !p->quiet)
        fprintf(stderr, "\n");
    p->shown = 0;
}
