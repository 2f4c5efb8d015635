#include "open_page.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

void page_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool page_stop_asked(void)
{
    return stop != 0;
}

void page_wait(void)
{
    while (!stop)
        poll(NULL, 0, 200);
}

static bool is_loopback(const char *address)
{
    return strcmp(address, "127.0.0.1") == 0 || strcmp(address, "localhost") == 0;
}

int listen_check(const listen_line *line, server_options *options)
{
    const char *address = line->address ? line->address : "127.0.0.1";
    if (line->port < 0 || line->port > 65535) {
        fprintf(stderr, "repose: a port is a number from 0 (a free one) to 65535\n");
        return EXIT_USAGE;
    }
    if (strspn(address, "0123456789.") != strlen(address) && !is_loopback(address)) {
        fprintf(stderr, "repose: '%s' is no address to listen on; right would be numbers, such as 192.168.1.10\n", address);
        return EXIT_USAGE;
    }
    if (!is_loopback(address) && !line->i_know) {
        fprintf(stderr, "repose: %s can be reached from other machines, and what goes over the network is not encrypted: give --i-know to do it "
                        "all the same (docs/security.md)\n", address);
        return EXIT_USAGE;
    }
    *options = (server_options){ .address = strcmp(address, "localhost") == 0 ? "127.0.0.1" : address, .port = line->port,
                                 .beyond = !is_loopback(address) };
    return -1;
}

/* The browser gets the address as an argument of its own, never through a shell. */
static void open_browser(const char *url)
{
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
                _exit(1);
            execlp("xdg-open", "xdg-open", url, (char *)NULL);
            _exit(1);
        }
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

void page_announce(const server *s, const listen_line *line)
{
    char url[160];
    server_url(s, url, sizeof url);
    if (line->print_url) {
        printf("%s\n", url);
        fflush(stdout);
    } else
        fprintf(stderr, "open %s\nCtrl-C ends it\n", url);
    if (!line->no_browser && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
        open_browser(url);
}
