/* What a page can watch: the folder of a run, or a simulation that is going on. Callbacks come from threads of the server. */
#ifndef REPOSE_APPS_VIEW_FEED_H
#define REPOSE_APPS_VIEW_FEED_H

#include "message.h"
#include "protocol.h"

typedef struct client client; /* one page, server.h */

/* What the sender of a client does next. */
typedef struct feed_request {
    int64_t frame;             /* asked for; -1: the newest one that this client has not seen */
    wire_wish wish;
    uint64_t seen;             /* last serial number sent (live) */
} feed_request;

typedef enum feed_answer { FEED_FRAME, FEED_NOTHING, FEED_ERROR } feed_answer;

typedef struct feed feed;
struct feed {
    bool live;                 /* frames are pushed as they come; otherwise the page asks for each */
    void (*hello)(feed *f, client *c);                                           /* says the scene */
    bool (*message)(feed *f, client *c, const message *m);                       /* false: close this client */
    feed_answer (*fill)(feed *f, client *c, feed_request *r, wire_buffer *out);  /* FEED_ERROR: rp_last_error() says why */
};

#endif
