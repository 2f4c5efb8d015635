/* A run's folder as a feed: frames by number, read ahead, followed while they are being written. */
#ifndef REPOSE_APPS_VIEW_RUN_FEED_H
#define REPOSE_APPS_VIEW_RUN_FEED_H

#include "server.h"

/* NULL after a sentence on standard error. */
feed *run_feed_open(const char *folder);
void run_feed_close(feed *f);
/* Starts to follow the folder; news go to the server's clients. */
bool run_feed_follow(feed *f, server *s);

#endif
