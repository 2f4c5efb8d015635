#include "play_feed.h"

#include "apps/options.h"
#include "apps/run_loop.h"
#include "checkpoints.h"
#include "controls.h"
#include "fine.h"
#include "follow.h"
#include "play_record.h"
#include "scene_text.h"
#include "slots.h"
#include "tools.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUE = 1024, EXTRA_MOST = 256, FIELDS_MOST = 64, PUBLISH_HZ = 60, STATE_HZ = 5 };
static const size_t checkpoint_bytes = (size_t)768 << 20;
static const char usual_fields[] = "position velocity volume material id";

typedef struct play_feed {
    feed base;
    server *server;
    rp_scene *scene;
    rp_sim *sim;
    rp_stage stage;
    wire_palette palette;
    rp_field_view field_infos[FIELDS_MOST]; /* what there is to colour by; no data */
    rp_frame first;
    char *name;
    play_recorder record;
    slots slots;
    pthread_t thread;
    bool started;
    atomic_bool stop;
    /* messages to the simulation */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    message queue[QUEUE];
    int queued;
    message taken[QUEUE];      /* of the thread of the simulation */
    /* bodies that were added, as texts for pages that come later (under the lock) */
    char *extra[EXTRA_MOST];
    int extra_count;
    /* of the thread of the simulation alone */
    tools tools;
    controls controls;
    checkpoints checkpoints;
    fine_grains *fine;         /* NULL: none */
    bool show_fine, followed;  /* they are shown; they moved since the last frame that was sent */
    followed followed_grain;   /* by the probe */
    wire_wish wish;
    bool automatic;            /* the range of the colours follows the values */
    double range_seen[2];
    bool paused, failed;
    double speed;
    int64_t steps_asked;
    uint32_t serial;
    double anchor_wall, anchor_time; /* of the pace */
    double factor_wall, factor_time, factor; /* simulated seconds a second */
    double published, stated;
    bool owed;                 /* the last frame found no free slot */
    double busy_told;          /* when pages were told that a step takes long */
    bool acts;                 /* tools or controls may do something for the step under way */
    bool unfinished;           /* something was done since the last whole step: a record must not end here */
    bool went_back;            /* since the journal was last written */
    rp_step_stats stats;
    play_times times;
    play_times times_told;     /* under the lock */
} play_feed;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what pages are told ---- */

static void say(play_feed *p, const char *type, const char *sentence)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    fprintf(to, "{\"type\":\"%s\",\"text\":", type);
    json_quote(to, sentence);
    fputs("}", to);
    if (fclose(to) == 0)
        server_say(p->server, &p->base, text);
    free(text);
}

static void put_number(FILE *to, const char *name, double value)
{
    if (isfinite(value))
        fprintf(to, ",\"%s\":%.7g", name, value);
    else
        fprintf(to, ",\"%s\":null", name);
}

/* A step that takes long: how long it has been under way. */
static void say_busy(play_feed *p, double seconds)
{
    char text[64];
    snprintf(text, sizeof text, "{\"type\":\"busy\",\"seconds\":%.1f}", seconds);
    server_say(p->server, &p->base, text);
}

static void say_state(play_feed *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    fprintf(to, "{\"type\":\"state\",\"paused\":%s,\"failed\":%s,\"step\":%lld,\"frame\":%lld", p->paused ? "true" : "false",
            p->failed ? "true" : "false", (long long)rp_sim_steps(p->sim), (long long)rp_sim_frame(p->sim));
    put_number(to, "time", rp_sim_time(p->sim));
    put_number(to, "factor", p->paused ? 0 : p->factor);
    put_number(to, "speed", p->speed);
    fputs(",\"frames\":[", to);
    for (int k = 0; k < p->checkpoints.count; k++)
        fprintf(to, "%s%lld", k ? "," : "", (long long)p->checkpoints.frame[k]);
    fputs("],\"row\":{\"time\":", to);
    fprintf(to, "%.7g", rp_sim_time(p->sim));
    put_number(to, "kinetic_energy", p->stats.kinetic_energy);
    put_number(to, "potential_energy", p->stats.potential_energy);
    put_number(to, "particles", (double)rp_sim_particle_count(p->sim));
    put_number(to, "dt", p->stats.dt);
    put_number(to, "iterations", (double)p->stats.iterations);
    put_number(to, "ms_step", p->stats.ms_step);
    put_number(to, "ms_fine", p->times.fine.last);
    put_number(to, "ms_pack", p->times.pack.last);
    fputs("}}", to);
    if (fclose(to) == 0)
        server_say(p->server, &p->base, text);
    free(text);
    p->stated = now();
}

/* A tool came: its mesh, now and for pages that come later. */
static void on_added(void *context, int body, const char *name, rp_shape *shape)
{
    play_feed *p = context;
    double lower[3], upper[3], size = 0;
    rp_mesh mesh = { 0 };
    rp_shape_bounds(shape, lower, upper);
    for (int d = 0; d < 3; d++) {
        if (!isfinite(lower[d]) || !isfinite(upper[d]))
            lower[d] = -p->tools.unit, upper[d] = p->tools.unit;
        size = fmax(size, upper[d] - lower[d]);
    }
    for (int d = 0; d < 3; d++)
        lower[d] -= 0.02 * size, upper[d] += 0.02 * size;
    char *text = NULL;
    size_t bytes = 0;
    bool made = rp_shape_triangulate(shape, lower, upper, 40, &mesh) == RP_OK && rp_mesh_sharpen(shape, &mesh) == RP_OK;
    FILE *to = made ? open_memstream(&text, &bytes) : NULL;
    if (!to) {
        rp_mesh_free(&mesh);
        return;
    }
    static const double red[3] = { 0.72, 0.25, 0.18 };
    fprintf(to, "{\"type\":\"body\",\"index\":%d,\"name\":", body);
    json_quote(to, name);
    fputs(",\"free\":false,\"container\":false", to);
    scene_text_vector(to, "colour", red);
    scene_text_mesh(to, &mesh);
    fputs("}", to);
    rp_mesh_free(&mesh);
    if (fclose(to) != 0) {
        free(text);
        return;
    }
    server_say(p->server, &p->base, text);
    pthread_mutex_lock(&p->lock);
    if (p->extra_count < EXTRA_MOST)
        p->extra[p->extra_count++] = text;
    else
        free(text);
    pthread_mutex_unlock(&p->lock);
}

static void hello(feed *f, client *c)
{
    play_feed *p = (play_feed *)f;
    char *more = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&more, &size);
    if (!to)
        return;
    fputs(",\"runs\":1,\"frames\":[0]", to);
    controls_text(&p->controls, to);
    if (fclose(to) == 0) {
        scene_text t = { "play", p->name, "", p->scene, &p->stage, &p->first, &p->palette, more };
        char *text = scene_text_make(&t);
        if (text)
            client_say(c, text);
        free(text);
    }
    free(more);
    pthread_mutex_lock(&p->lock);
    for (int k = 0; k < p->extra_count; k++)
        client_say(c, p->extra[k]);
    pthread_mutex_unlock(&p->lock);
}

static bool on_message(feed *f, client *c, const message *m)
{
    play_feed *p = (play_feed *)f;
    if (m->kind == MESSAGE_ACK) {
        client_ack(c);
        return true;
    }
    if (m->kind == MESSAGE_QUALITY) {
        wire_wish wish = client_wish(c);
        wish.stride = m->stride;
        client_set_wish(c, &wish);
        return true;
    }
    pthread_mutex_lock(&p->lock);
    if (p->queued > 0 && m->kind == MESSAGE_TOOL && p->queue[p->queued - 1].kind == MESSAGE_TOOL && p->queue[p->queued - 1].down == m->down)
        p->queue[p->queued - 1] = *m; /* only where the pointer is now matters */
    else if (p->queued < QUEUE)
        p->queue[p->queued++] = *m;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static feed_answer fill(feed *f, client *c, feed_request *r, wire_buffer *out)
{
    play_feed *p = (play_feed *)f;
    (void)c;
    uint64_t serial = slots_copy(&p->slots, r->seen, out);
    if (!serial)
        return FEED_NOTHING;
    r->seen = serial;
    wire_thin(out, r->wish.stride);
    return FEED_FRAME;
}

/* ---- the thread of the simulation ---- */

static void find_range(play_feed *p, const rp_frame *frame)
{
    double range[2] = { INFINITY, -INFINITY };
    rp_fibres_view fibres;
    if (!p->automatic || strcmp(p->wish.field, "material") == 0)
        return;
    wire_widen(frame, p->wish.field, range);
    if (rp_scene_sim_def(p->scene)->fibres_count > 0 && rp_sim_fibres(p->sim, &fibres) == RP_OK)
        wire_widen_fibres(&fibres, p->wish.field, range);
    if (!(range[0] <= range[1]))
        return;
    for (int k = 0; k < 2; k++) { /* grows at once, shrinks slowly */
        double seen = p->range_seen[k];
        bool wider = !isfinite(seen) || (k ? range[k] > seen : range[k] < seen);
        p->range_seen[k] = wider ? range[k] : seen + 0.01 * (range[k] - seen);
    }
    p->wish.low = p->range_seen[0];
    p->wish.high = fmax(p->range_seen[1], p->range_seen[0] + 1e-9 + 1e-6 * fabs(p->range_seen[0]));
}

/* Names of the fields that a frame must have, separated by spaces. */
static void wanted_fields(const play_feed *p, char *out, size_t size)
{
    const char *const also[2] = { p->wish.field, p->wish.arrows };
    size_t n = (size_t)snprintf(out, size, "%s", usual_fields);
    for (int f = 0; f < p->first.field_count; f++) /* sizes and directions of grains one by one */
        if (strcmp(p->first.fields[f].info.name, "radius") == 0 || strcmp(p->first.fields[f].info.name, "axis") == 0)
            n += (size_t)snprintf(out + n, size - n, " %s", p->first.fields[f].info.name);
    for (int k = 0; k < 2; k++) {
        const char *dot = strrchr(also[k], '.');
        int length = dot ? (int)(dot - also[k]) : (int)strlen(also[k]);
        rp_field_view there;
        bool own = false; /* of the particles or their nodes: fibres have others */
        for (int f = 0; f < p->first.field_count; f++) {
            there = p->first.fields[f];
            own = own || (strncmp(there.info.name, also[k], (size_t)length) == 0 && !there.info.name[length]);
        }
        if (length > 0 && strcmp(also[k], "material") != 0 && (own || !rp_scene_sim_def(p->scene)->fibres_count))
            n += (size_t)snprintf(out + n, size - n, " %.*s", length, also[k]);
    }
}

static rp_result pack(play_feed *p, const rp_frame *frame, wire_buffer *slot)
{
    wire_fine fine = { 0 };
    rp_fibres_view fibres = { 0 };
    rp_frame nodes = { 0 };
    wire_content content = { .frame = frame };
    if (p->fine && p->show_fine) {
        fine = fine_view(p->fine);
        content.fine = &fine;
    }
    if (rp_scene_sim_def(p->scene)->fibres_count > 0 && rp_sim_fibres(p->sim, &fibres) == RP_OK)
        content.fibres = &fibres;
    if (p->wish.arrows[0]) {
        const rp_field_view *views = NULL;
        int count = 0;
        if (rp_sim_grid_fields(p->sim, &views, &count, &nodes.count) == RP_OK && nodes.count > 0) {
            nodes.fields = (rp_field_view *)(uintptr_t)views, nodes.field_count = count; /* only read */
            content.nodes = &nodes;
        }
    }
    p->wish.ordered = server_thinnest(p->server, &p->base) > 1;
    p->serial++;
    rp_result result = wire_pack(&content, rp_scene_sim_def(p->scene), &p->palette, &p->wish, p->serial, slot);
    if (result == RP_BAD_ARGUMENT && content.fine) { /* fine grains have no such field, their particles do */
        content.fine = NULL;
        result = wire_pack(&content, rp_scene_sim_def(p->scene), &p->palette, &p->wish, p->serial, slot);
    }
    return result;
}

/* Into a free slot; where there is none this frame is dropped, and a later one is owed: when it stands still this one, for none comes after it. */
static void publish(play_feed *p)
{
    wire_buffer *slot = slots_begin(&p->slots);
    char fields[256];
    rp_frame frame;
    p->published = now();
    p->followed = false;
    p->owed = !slot;
    if (!slot)
        return;
    play_clock clock = play_clock_start();
    wanted_fields(p, fields, sizeof fields);
    rp_result result = rp_frame_collect(p->sim, fields, &frame);
    if (result == RP_OK) {
        find_range(p, &frame);
        result = pack(p, &frame, slot);
        if (result == RP_OK && p->followed_grain.on)
            follow_say(&p->followed_grain, &frame, p->server, &p->base);
        rp_frame_free(&frame);
    }
    play_clock_stop(&clock, &p->times.pack);
    pthread_mutex_lock(&p->lock);
    p->times_told = p->times;
    pthread_mutex_unlock(&p->lock);
    if (result == RP_OK) {
        slots_commit(&p->slots, slot);
        server_wake(p->server, &p->base);
    } else {
        say(p, "error", rp_last_error());
        strcpy(p->wish.field, "material");
    }
}

/* All that is known of the grain that the probe follows. */
static void say_probe(play_feed *p)
{
    rp_frame frame;
    if (!p->followed_grain.on || rp_frame_collect(p->sim, "", &frame) != RP_OK)
        return;
    follow_tell(&p->followed_grain, &frame, p->server, &p->base);
    rp_frame_free(&frame);
}

static void anchor(play_feed *p)
{
    p->anchor_wall = p->factor_wall = now();
    p->anchor_time = p->factor_time = rp_sim_time(p->sim);
}

static void fail(play_feed *p)
{
    say(p, "error", rp_last_error());
    p->paused = p->failed = true;
    say_state(p);
}

/* They are only to look at: without memory for them, or where they cannot follow, the particles are shown. */
static void drop_fine(play_feed *p)
{
    say(p, "error", rp_last_error());
    fine_close(p->fine);
    p->fine = NULL;
}

static void go_back(play_feed *p, int64_t frame)
{
    if (checkpoints_go_back(&p->checkpoints, p->sim, frame) != RP_OK) {
        fail(p);
        return;
    }
    p->failed = false;
    p->went_back = true;
    p->unfinished = rp_sim_steps(p->sim) > 0; /* what a method has on its nodes comes with the next step */
    p->tools.down = false;
    tools_reset(&p->tools);
    controls_reset(&p->controls);
    if (p->fine && fine_reset(p->fine) != RP_OK)
        drop_fine(p);
    follow_back(&p->followed_grain, rp_sim_time(p->sim));
    anchor(p);
    publish(p);
    say_state(p);
}

static void set_colour(play_feed *p, const message *m)
{
    char text[256];
    snprintf(p->wish.field, sizeof p->wish.field, "%s", m->field[0] ? m->field : "material");
    p->automatic = !(m->low < m->high);
    p->wish.low = m->low, p->wish.high = m->high;
    p->range_seen[0] = INFINITY, p->range_seen[1] = -INFINITY;
    publish(p);
    snprintf(text, sizeof text, "{\"type\":\"range\",\"field\":\"%s\",\"min\":%.9g,\"max\":%.9g}", p->wish.field, p->wish.low, p->wish.high);
    server_say(p->server, &p->base, text);
}

/* The grain nearest to a place is followed from now on. */
static void probe(play_feed *p, const message *m)
{
    rp_frame frame;
    p->followed_grain.on = false;
    if (!m->down || rp_frame_collect(p->sim, usual_fields, &frame) != RP_OK)
        return;
    follow_begin(&p->followed_grain, &frame, m->position);
    rp_frame_free(&frame);
    say_probe(p);
}

static void obey(play_feed *p, const message *m)
{
    switch (m->kind) {
    case MESSAGE_PAUSE:
    case MESSAGE_RESUME:
        p->paused = m->kind == MESSAGE_PAUSE || p->failed;
        anchor(p);
        if (p->paused) /* the last steps may not have been shown yet */
            publish(p);
        say_state(p);
        break;
    case MESSAGE_STEP:
        p->paused = true;
        p->steps_asked += !p->failed;
        break;
    case MESSAGE_RESET:
        go_back(p, 0);
        break;
    case MESSAGE_SEEK:
        p->paused = true;
        go_back(p, m->frame);
        break;
    case MESSAGE_SPEED:
        p->speed = m->factor > 0 ? fmin(fmax(m->factor, 0.01), 100) : 0;
        anchor(p);
        break;
    case MESSAGE_COLOR:
        set_colour(p, m);
        break;
    case MESSAGE_ARROWS:
        memcpy(p->wish.arrows, m->field, sizeof p->wish.arrows);
        publish(p);
        break;
    case MESSAGE_GRAINS:
        p->show_fine = strcmp(m->field, "fine") == 0;
        publish(p);
        break;
    case MESSAGE_PROBE:
        probe(p, m);
        break;
    case MESSAGE_TOOL:
        tools_message(&p->tools, m);
        break;
    case MESSAGE_CONTROL:
        controls_set(&p->controls, m->index, m->value);
        break;
    case MESSAGE_GRAVITY:
        if (rp_sim_set_gravity(p->sim, m->position) != RP_OK)
            say(p, "error", rp_last_error());
        else if (p->fine)
            fine_lean(p->fine, m->position);
        break;
    default: /* hello, acknowledgements, what only runs know */
        break;
    }
}

/* Whether somebody waits for the step to end: what takes the simulation to another place need not wait for where it is going. */
static bool is_waited_for(play_feed *p)
{
    bool found = atomic_load(&p->stop) && !(p->record.folder && p->acts); /* a record ends with a whole step */
    pthread_mutex_lock(&p->lock);
    for (int k = 0; k < p->queued && !found; k++)
        found = p->queue[k].kind == MESSAGE_PAUSE || p->queue[k].kind == MESSAGE_RESET || p->queue[k].kind == MESSAGE_SEEK;
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Inside a step, on its thread. One that takes longer than an eye notices is given up when somebody waits; pages are told how it goes. */
static bool on_progress(void *context, const rp_progress *progress)
{
    static const double noticed = 0.1, long_step = 1;
    play_feed *p = context;
    double t = now();
    if (progress->seconds > long_step && t - p->busy_told >= 1.0 / STATE_HZ) {
        p->busy_told = t;
        say_busy(p, progress->seconds);
    }
    return progress->seconds < noticed || !is_waited_for(p);
}

/* False: it was given up, and the simulation is where it was, but for what tools and controls did to it. */
static bool one_step(play_feed *p)
{
    p->acts = p->tools.down || p->controls.count > 0;
    for (int k = 0; k < TOOL_KINDS; k++)
        p->acts = p->acts || p->tools.put[k];
    rp_result result = tools_apply(&p->tools);
    if (result != RP_OK) { /* the tool is taken away, the rest goes on */
        say(p, "error", rp_last_error());
        p->tools.down = false;
        p->tools.kind = TOOL_NONE;
    }
    result = controls_apply(&p->controls);
    play_clock clock = play_clock_start();
    if (result == RP_OK)
        result = rp_sim_step(p->sim, &p->stats);
    if (result == RP_CANCELLED) {
        controls_reset(&p->controls); /* joints had moved on with it */
        p->unfinished = p->unfinished || p->acts;
        return false;
    }
    p->unfinished = false;
    play_clock_stop(&clock, &p->times.step);
    if (result == RP_OK && rp_sim_at_frame(p->sim)) {
        result = checkpoints_keep(&p->checkpoints, p->sim);
        (void)play_record_go_on(&p->record, p->sim, p->went_back); /* what cannot be written is told; the play goes on */
        p->went_back = false;
    }
    if (result != RP_OK)
        fail(p);
    else if (p->fine) {
        bool moved;
        clock = play_clock_start();
        if (fine_follow(p->fine, &moved) != RP_OK)
            drop_fine(p);
        else if (moved)
            play_clock_stop(&clock, &p->times.fine);
        p->followed = p->followed || (p->fine && moved);
    }
    return true;
}

/* Seconds until the next step is due. */
static double ahead(const play_feed *p)
{
    if (p->paused)
        return p->steps_asked > 0 ? 0 : 1;
    if (!(p->speed > 0))
        return 0;
    return p->anchor_wall + (rp_sim_time(p->sim) - p->anchor_time) / p->speed - now();
}

static void keep_pace(play_feed *p)
{
    double t = now();
    if (p->speed > 0 && t - (p->anchor_wall + (rp_sim_time(p->sim) - p->anchor_time) / p->speed) > 0.25) { /* it cannot keep up: no hurry later */
        p->anchor_wall = t;
        p->anchor_time = rp_sim_time(p->sim);
    }
    if (t - p->factor_wall >= 0.5) {
        p->factor = (rp_sim_time(p->sim) - p->factor_time) / (t - p->factor_wall);
        p->factor_wall = t;
        p->factor_time = rp_sim_time(p->sim);
    }
}

/* Waits for messages or for the next step to be due; obeys them. */
static void wait_and_obey(play_feed *p)
{
    message *m = p->taken;
    int count = 0;
    pthread_mutex_lock(&p->lock);
    double seconds = ahead(p);
    if (p->queued == 0 && seconds > 0 && !atomic_load(&p->stop)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        long nanos = until.tv_nsec + (long)(1e9 * fmin(seconds, 0.2));
        until.tv_sec += nanos / 1000000000;
        until.tv_nsec = nanos % 1000000000;
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
    }
    count = p->queued;
    memcpy(m, p->queue, (size_t)count * sizeof *m);
    p->queued = 0;
    pthread_mutex_unlock(&p->lock);
    for (int k = 0; k < count; k++)
        obey(p, &m[k]);
}

/* Sixty times a second, and with fine grains only when they have moved; when it goes as fast as it can, each of their moves is shown. */
static bool due(const play_feed *p)
{
    bool shown = p->fine && p->show_fine;
    return (!shown || p->followed) && (now() - p->published >= 1.0 / PUBLISH_HZ || (shown && !(p->speed > 0)));
}

static void *simulate(void *context)
{
    play_feed *p = context;
    if (checkpoints_keep(&p->checkpoints, p->sim) != RP_OK)
        fail(p);
    anchor(p);
    publish(p);
    while (!atomic_load(&p->stop)) {
        wait_and_obey(p);
        bool stepped = ahead(p) <= 0 && !p->failed && one_step(p);
        if (stepped) {
            if (p->steps_asked > 0)
                p->steps_asked--;
            keep_pace(p);
        }
        if (stepped ? p->paused || due(p) : p->owed)
            publish(p);
        if (now() - p->stated >= 1.0 / STATE_HZ) {
            say_state(p);
            if (!p->paused)
                say_probe(p);
        }
    }
    return NULL;
}

/* ---- opening ---- */

static bool load_scene(play_feed *p, const play_options *o, int *code)
{
    const char *set[LIST_MOST + 1];
    int count = 0;
    for (; count < o->set_count && count < LIST_MOST; count++)
        set[count] = o->set[count];
    set[count++] = "duration=86400"; /* it ends when the player goes away */
    rp_scene_options options = { set, count };
    rp_result result = rp_scene_load(o->scene, &options, &p->scene);
    if (result != RP_OK) {
        fprintf(stderr, "%s\n", rp_last_error());
        *code = EXIT_SCENE;
        return false;
    }
    rp_sim_def def = *rp_scene_sim_def(p->scene);
    def.threads = o->threads;
    rp_hooks hooks = { .progress = on_progress, .context = p };
    result = rp_sim_create(&def, &p->sim);
    if (result == RP_OK)
        result = rp_sim_set_hooks(p->sim, &hooks);
    rp_frame frame;
    if (result == RP_OK)
        result = rp_frame_collect(p->sim, "", &frame);
    if (result == RP_OK) {
        result = rp_stage_make(p->scene, &frame, 1280, 720, &p->stage);
        p->first = (rp_frame){ .dim = frame.dim, .fields = p->field_infos };
        for (int f = 0; f < frame.field_count && p->first.field_count < FIELDS_MOST; f++)
            p->field_infos[p->first.field_count++].info = frame.fields[f].info;
        rp_frame_free(&frame);
    }
    if (result == RP_OK)
        result = wire_palette_make(rp_scene_sim_def(p->scene), &p->palette);
    if (result == RP_OK)
        result = controls_init(&p->controls, p->scene, p->sim);
    if (result == RP_OK)
        result = fine_open(p->scene, p->sim, &p->fine);
    p->show_fine = p->fine != NULL;
    if (result != RP_OK)
        *code = report_failure(o->scene, result);
    return result == RP_OK;
}

static void close_parts(play_feed *p)
{
    checkpoints_free(&p->checkpoints);
    fine_close(p->fine);
    controls_free(&p->controls);
    slots_free(&p->slots);
    if (p->record.journal)
        fclose(p->record.journal);
    for (int k = 0; k < p->extra_count; k++)
        free(p->extra[k]);
    rp_stage_free(&p->stage);
    wire_palette_free(&p->palette);
    rp_sim_destroy(p->sim);
    if (p->scene)
        rp_scene_destroy(p->scene);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->name);
    free(p);
}

feed *play_feed_open(const play_options *o, int *code)
{
    play_feed *p = calloc(1, sizeof *p);
    *code = EXIT_FAILED;
    if (!p)
        return NULL;
    p->base = (feed){ .live = true, .hello = hello, .message = on_message, .fill = fill };
    p->paused = o->paused;
    p->speed = o->speed;
    p->wish = (wire_wish){ .field = "material", .ordered = true };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    slots_init(&p->slots);
    checkpoints_init(&p->checkpoints, checkpoint_bytes);
    const char *slash = strrchr(o->scene, '/');
    p->name = calloc(1, strlen(o->scene) + 1);
    if (p->name)
        strcpy(p->name, slash ? slash + 1 : o->scene);
    if (!p->name || !load_scene(p, o, code) || !play_record_begin(&p->record, o->record, p->scene)) {
        close_parts(p);
        return NULL;
    }
    tools_init(&p->tools, p->sim, &p->stage);
    p->tools.added = on_added;
    p->tools.context = p;
    return &p->base;
}

bool play_feed_start(feed *f, server *s)
{
    play_feed *p = (play_feed *)f;
    p->server = s;
    p->started = pthread_create(&p->thread, NULL, simulate, p) == 0;
    return p->started;
}

play_times play_feed_times(feed *f)
{
    play_feed *p = (play_feed *)f;
    pthread_mutex_lock(&p->lock);
    play_times times = p->times_told;
    pthread_mutex_unlock(&p->lock);
    return times;
}

int play_feed_close(feed *f)
{
    play_feed *p = (play_feed *)f;
    atomic_store(&p->stop, true);
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    if (p->started)
        pthread_join(p->thread, NULL);
    if (p->record.folder && p->unfinished && !p->failed && rp_sim_set_hooks(p->sim, NULL) == RP_OK && rp_sim_step(p->sim, NULL) != RP_OK)
        fprintf(stderr, "repose: %s\n", rp_last_error());
    int code = play_record_end(&p->record, p->scene, p->sim);
    close_parts(p);
    return code;
}
