/* play: a simulation in the browser, to push about. */
#include "commands.h"
#include "find_scene.h"

#include "apps/view/open_page.h"
#include "apps/view/play_feed.h"

typedef struct play_line {
    listen_line listen;
    const char *record;
    text_list set;
    double speed;
    int threads;
    bool paused;
} play_line;

#define AT(member) offsetof(play_line, member)
static const option play_options_table[] = {
    LISTEN_OPTIONS(play_line, listen),
    { "--set", 's', OPT_LIST, AT(set), "KEY=VALUE", "replaces a value of the scene; may be given again" },
    { "--speed", 0, OPT_REAL, AT(speed), "FACTOR", "seconds of the simulation a second (default: 1); 0: as fast as it goes" },
    { "--paused", 0, OPT_FLAG, AT(paused), NULL, "waits for the page to start it" },
    { "--record", 'r', OPT_TEXT, AT(record), "DIR", "at the end: the scene, what was done (actions.jsonl) and the last state" },
    { "--threads", 't', OPT_INT, AT(threads), "N", "threads (default: all cores); never changes a result" },
    { 0 },
};

static int play_main(int argc, char **argv)
{
    play_line line = { .speed = 1 };
    text_list names;
    server_options options;
    char path[4096];
    int code = options_parse(&command_play, &line, argc, argv, &names, 1, 1);
    if (code >= 0 || (code = listen_check(&line.listen, &options)) >= 0)
        return code;
    if (!(line.speed >= 0) || line.threads < 0) {
        fprintf(stderr, "repose: a speed and a number of threads are not negative\n");
        return EXIT_USAGE;
    }
    if (!find_scene(names.items[0], path, sizeof path)) {
        say_no_scene(names.items[0]);
        return EXIT_SCENE;
    }
    page_catch_signals();
    play_options play = { path, line.set.items, line.set.count, line.record, line.threads, line.paused, line.speed };
    feed *f = play_feed_open(&play, &code);
    if (!f)
        return code;
    server *s = server_start(&options, &f, 1);
    if (s && play_feed_start(f, s)) {
        page_announce(s, &line.listen);
        page_wait();
    }
    bool served = s != NULL;
    if (s)
        server_end(s); /* no page any longer; the simulation may still speak to it */
    code = play_feed_close(f);
    server_stop(s);
    return served ? code : EXIT_FAILED;
}

const command command_play = {
    "play", "SCENE [--set KEY=VALUE]... [--speed FACTOR] [--record DIR]", "Simulates a scene in the browser, with tools to push the grains",
    "It goes at the pace of the clock, or slower where it must (the page shows the factor). A ball, a rake, a scoop, a spout and the "
    "direction of gravity work in every scene; `controls:` of a scene bind keys and gamepads to its bodies. What is recorded is computed "
    "again to the byte by `repose run DIR/scene.yaml --actions DIR`, or with another method.",
    play_options_table, play_main,
};
