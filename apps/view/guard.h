/* Who may speak to the server. A pure judge of requests: what the server does with the network is elsewhere (server.c). */
#ifndef REPOSE_APPS_VIEW_GUARD_H
#define REPOSE_APPS_VIEW_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { SECRET_SIZE = 33 }; /* 128 bits as hexadecimal digits */

typedef struct guard {
    char token[SECRET_SIZE];   /* in the address that the program prints */
    char session[SECRET_SIZE]; /* in the cookie that the page gets for it */
    int port;
    int sources;               /* runs or simulations that can be asked for */
    bool beyond;               /* other machines may connect: any numeric address of ours is a host */
} guard;

/* Headers that are absent are NULL; `repeated`: one of those below came twice. */
typedef struct request {
    const char *method, *uri, *query;
    const char *host, *origin, *cookie, *upgrade;
    bool repeated;
} request;

typedef enum route { ROUTE_NONE, ROUTE_PAGE, ROUTE_SCRIPT, ROUTE_STYLE, ROUTE_ICON, ROUTE_SOCKET } route;

typedef struct verdict {
    int code;                  /* 200, 101 for the socket, or the error */
    route route;
    bool give_cookie;          /* the token was right */
    int source;                /* of the socket */
    const char *sentence;      /* of an error */
} verdict;

/* Fresh secrets from the system's random numbers; false when it has none. */
bool guard_create(guard *g, int sources, bool beyond);

verdict guard_judge(const guard *g, const request *r);

/* Equal, found in a time that does not depend on where they differ. */
bool guard_same(const char *a, const char *b);

#endif
