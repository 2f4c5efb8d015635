/* The server of `view` and `play`: HTTP and WebSocket on a loopback address (docs/security.md). */
#ifndef REPOSE_APPS_VIEW_SERVER_H
#define REPOSE_APPS_VIEW_SERVER_H

#include "feed.h"

#include <stdio.h>

enum { SERVER_CLIENTS = 4, SERVER_FEEDS = 4 };

typedef struct server_options {
    const char *address;       /* NULL: 127.0.0.1 */
    int port;                  /* 0: a free one */
    bool beyond;               /* an address that other machines can reach was asked for on purpose */
} server_options;

typedef struct server server;

/* NULL after a sentence on standard error. The feeds must live until server_stop has returned. */
server *server_start(const server_options *options, feed *const *feeds, int feed_count);
/* Closes all sockets; feeds may still call server_wake and server_say, which reach nobody. Then server_stop. */
void server_end(server *s);
void server_stop(server *s);
/* The address to open, with the token. */
void server_url(const server *s, char *text, size_t size);
int server_port(const server *s);
/* Pages that watch now. */
int server_clients(server *s);

/* The largest stride that a client of this feed is sent frames with: 1 when all of them keep up. */
uint32_t server_thinnest(server *s, const feed *f);
/* Something new may be there: wakes the senders of all clients of this feed. Never waits for a client. */
void server_wake(server *s, const feed *f);
/* The same text to all of them. */
void server_say(server *s, const feed *f, const char *text);

/* ---- inside the callbacks of a feed ---- */

/* Queues a text; a client that reads nothing loses the oldest ones of its kind (the first ten letters). */
void client_say(client *c, const char *text);
void client_set_wish(client *c, const wire_wish *wish);
wire_wish client_wish(client *c);
/* How many feeds its server has: pictures side by side. */
int client_feeds(const client *c);
/* A frame is wanted (not live): queued. */
void client_want(client *c, int64_t frame);
/* The page has drawn what it got last (live). */
void client_ack(client *c);

/* "text" with quotes and escapes, as JSON. */
void json_quote(FILE *to, const char *text);
/* Base64 of bytes, without quotes. */
void json_base64(FILE *to, const void *bytes, size_t size);

#endif
