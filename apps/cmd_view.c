/* view: runs in the browser. */
#include "commands.h"

#include "apps/view/open_page.h"
#include "apps/view/run_feed.h"

typedef struct view_line {
    listen_line listen;
} view_line;

static const option view_options[] = {
    LISTEN_OPTIONS(view_line, listen),
    { 0 },
};

static int serve(const view_line *line, const server_options *options, feed *const *feeds, int count)
{
    page_catch_signals();
    server *s = server_start(options, feeds, count);
    for (int k = 0; k < count && s; k++)
        run_feed_follow(feeds[k], s);
    if (s) {
        page_announce(s, &line->listen);
        page_wait();
        server_end(s);
    }
    for (int k = 0; k < count; k++)
        run_feed_close(feeds[k]);
    bool served = s != NULL;
    server_stop(s);
    return served ? EXIT_DONE : EXIT_FAILED;
}

static int view_main(int argc, char **argv)
{
    view_line line = { 0 };
    text_list names;
    server_options options;
    int code = options_parse(&command_view, &line, argc, argv, &names, 1, SERVER_FEEDS);
    if (code >= 0 || (code = listen_check(&line.listen, &options)) >= 0)
        return code;
    feed *feeds[SERVER_FEEDS] = { NULL };
    int count = 0;
    while (count < names.count && (feeds[count] = run_feed_open(names.items[count])))
        count++;
    if (count == names.count)
        return serve(&line, &options, feeds, count);
    for (int k = 0; k < count; k++)
        run_feed_close(feeds[k]);
    return EXIT_FAILED;
}

const command command_view = {
    "view", "DIR... [--port N] [--no-browser]", "Shows runs in the browser, also while they are being written",
    "Several folders are shown side by side, their cameras locked. The address that is printed holds a secret: only who has it can look. "
    "See docs/viewer.md for keys, and docs/security.md for what is promised.",
    view_options, view_main,
};
