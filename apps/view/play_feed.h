/* A simulation that goes on, as a feed: its own thread steps it, at the pace of the clock or as fast as it goes. */
#ifndef REPOSE_APPS_VIEW_PLAY_FEED_H
#define REPOSE_APPS_VIEW_PLAY_FEED_H

#include "server.h"

#include "play_times.h"

typedef struct play_options {
    const char *scene;         /* path of the file */
    const char *const *set;    /* replacements, as of `run` */
    int set_count;
    const char *record;        /* folder of what is recorded; NULL: none */
    int threads;
    bool paused;               /* at the beginning */
    double speed;              /* 0: as fast as it goes */
} play_options;

/* NULL after a sentence on standard error, with the exit code in *code. */
feed *play_feed_open(const play_options *options, int *code);
/* Starts the simulation. */
bool play_feed_start(feed *f, server *s);
/* Where the time went, up to the last frame. */
play_times play_feed_times(feed *f);
/* Ends it and writes what is recorded; the exit code. */
int play_feed_close(feed *f);

#endif
