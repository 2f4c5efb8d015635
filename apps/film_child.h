/* Rendering beside a run: a second process of this program makes pictures of the frames that are there. */
#ifndef REPOSE_APPS_FILM_CHILD_H
#define REPOSE_APPS_FILM_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct film_child {
    bool wanted;
    pid_t process; /* 0: none at work */
} film_child;

/* Starts a renderer on the frames written so far, unless one is at work. */
void film_child_frame(film_child *child, const char *folder);

/* Waits for it, then makes the missing pictures and the film; returns the exit code of that. */
int film_child_finish(film_child *child, const char *folder, bool quiet);

/* Ends the renderer, for a run that was interrupted; `repose render` goes on where it was. */
void film_child_stop(film_child *child);

#endif
