/* What `view` and `play` share on the command line: where to listen, and the browser. */
#ifndef REPOSE_APPS_VIEW_OPEN_PAGE_H
#define REPOSE_APPS_VIEW_OPEN_PAGE_H

#include "apps/options.h"
#include "server.h"

typedef struct listen_line {
    const char *address;
    int port;
    bool i_know, no_browser, print_url;
} listen_line;

#define LISTEN_OPTIONS(type, member)                                                                                          \
    { "--port", 'p', OPT_INT, offsetof(type, member.port), "N", "port to listen on (default: 0, a free one)" },               \
    { "--listen", 0, OPT_TEXT, offsetof(type, member.address), "ADDRESS",                                                      \
      "address to listen on (default: 127.0.0.1, this machine alone); any other needs --i-know" },                            \
    { "--i-know", 0, OPT_FLAG, offsetof(type, member.i_know), NULL,                                                           \
      "lets other machines connect: all goes over the network as it is, for everyone on the way to read" },                   \
    { "--no-browser", 0, OPT_FLAG, offsetof(type, member.no_browser), NULL, "does not open the browser" },                    \
    { "--print-url", 0, OPT_FLAG, offsetof(type, member.print_url), NULL, "the address on standard output, for programs" }

/* -1 to go on, or the exit code after a sentence. */
int listen_check(const listen_line *line, server_options *options);
/* Says the address, and opens the browser unless told not to. */
void page_announce(const server *s, const listen_line *line);
/* Ctrl-C and the like: set by page_catch_signals, when one came. */
void page_catch_signals(void);
bool page_stop_asked(void);
/* Sleeps until a signal comes. */
void page_wait(void);

#endif
