#include "run_feed.h"

#include "probe.h"
#include "run_folder.h"
#include "scene_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CACHE = 8, AHEAD = 4, TABLE_ROWS = 1000, FOLLOW_SECONDS = 1, LARGE = 2000000 /* particles: no reading ahead */ };

typedef struct cached {
    rp_frame frame;
    rp_fibres_frame fibres;    /* count 0: none */
    rp_frame nodes;            /* read when arrows are asked for */
    bool nodes_read;
    int64_t number;            /* -1: empty */
    int users;
    uint64_t used;             /* when, by the clock of the cache */
} cached;

typedef struct run_feed {
    feed base;
    run_folder folder;
    server *server;
    pthread_mutex_t lock;      /* of the cache and the list of frames */
    pthread_mutex_t reading;   /* the library reads one file at a time */
    pthread_cond_t wake;
    cached cache[CACHE];
    uint64_t clock;
    int64_t last;              /* asked for last: what follows is read ahead */
    bool ahead, stop, following, reader_runs;
    pthread_t reader, follower;
} run_feed;

/* ---- the cache ---- */

static cached *find(run_feed *r, int64_t number)
{
    for (int k = 0; k < CACHE; k++)
        if (r->cache[k].number == number)
            return &r->cache[k];
    return NULL;
}

/* A place that nobody uses, the one used longest ago. */
static cached *oldest(run_feed *r)
{
    cached *best = NULL;
    for (int k = 0; k < CACHE; k++)
        if (r->cache[k].users == 0 && (!best || r->cache[k].used < best->used))
            best = &r->cache[k];
    return best;
}

static void forget(cached *c)
{
    rp_frame_free(&c->frame);
    rp_fibres_free(&c->fibres);
    rp_frame_free(&c->nodes);
    *c = (cached){ .number = -1 };
}

/* The contents of `read`, which goes to a place of the cache. */
static cached *keep(run_feed *r, cached *read)
{
    cached *c = oldest(r);
    if (!c) {
        forget(read);
        return NULL;
    }
    forget(c);
    *c = *read;
    c->used = ++r->clock;
    return c;
}

static bool read_all(run_feed *r, int64_t number, cached *out)
{
    *out = (cached){ .number = number };
    if (run_folder_read(&r->folder, number, &out->frame) != RP_OK)
        return false;
    if (run_folder_fibres(&r->folder, number, &out->fibres) != RP_OK)
        memset(&out->fibres, 0, sizeof out->fibres); /* a run may write none */
    return true;
}

/* The frame of this number, held until `release`; NULL: it cannot be read. */
static cached *acquire(run_feed *r, int64_t number)
{
    cached fresh;
    pthread_mutex_lock(&r->lock);
    cached *c = find(r, number);
    if (!c) {
        pthread_mutex_unlock(&r->lock);
        pthread_mutex_lock(&r->reading);
        pthread_mutex_lock(&r->lock);
        c = find(r, number); /* somebody else may have read it meanwhile */
        pthread_mutex_unlock(&r->lock);
        bool read = !c && read_all(r, number, &fresh);
        pthread_mutex_lock(&r->lock);
        c = read ? keep(r, &fresh) : find(r, number);
        pthread_mutex_unlock(&r->reading);
    }
    if (c) {
        c->users++;
        c->used = ++r->clock;
    }
    pthread_mutex_unlock(&r->lock);
    return c;
}

/* Fields of the nodes of a frame that is held, where a run has written them. */
static const rp_frame *nodes_of(run_feed *r, cached *c)
{
    pthread_mutex_lock(&r->reading);
    if (!c->nodes_read && run_folder_nodes(&r->folder, c->number, &c->nodes) != RP_OK)
        memset(&c->nodes, 0, sizeof c->nodes);
    c->nodes_read = true;
    pthread_mutex_unlock(&r->reading);
    return c->nodes.count > 0 ? &c->nodes : NULL;
}

static void release(run_feed *r, cached *c)
{
    pthread_mutex_lock(&r->lock);
    c->users--;
    pthread_mutex_unlock(&r->lock);
}

static int64_t place_of(const run_feed *r, int64_t number)
{
    for (int64_t i = 0; i < r->folder.count; i++)
        if (r->folder.numbers[i] == number)
            return i;
    return -1;
}

/* The next frame to read ahead of the one asked for last; -1: none. */
static int64_t next_ahead(run_feed *r)
{
    int64_t at = r->ahead ? place_of(r, r->last) : -1;
    for (int64_t k = 1; at >= 0 && k <= AHEAD && at + k < r->folder.count; k++)
        if (!find(r, r->folder.numbers[at + k]))
            return r->folder.numbers[at + k];
    return -1;
}

static void *read_ahead(void *context)
{
    run_feed *r = context;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        int64_t number = next_ahead(r);
        if (number < 0) {
            r->ahead = false;
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        cached *c = acquire(r, number);
        bool large = !c || c->frame.count > LARGE;
        if (c)
            release(r, c);
        pthread_mutex_lock(&r->lock);
        r->ahead = r->ahead && !large;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- following ---- */

static void say_frames(run_feed *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    fputs("{\"type\":\"frames\"", to);
    run_folder_list(&r->folder, to);
    fputs("}", to);
    if (fclose(to) == 0)
        server_say(r->server, &r->base, text);
    free(text);
    text = run_folder_table(&r->folder, TABLE_ROWS);
    if (text)
        server_say(r->server, &r->base, text);
    free(text);
}

static void *follow(void *context)
{
    run_feed *r = context;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += FOLLOW_SECONDS;
        pthread_cond_timedwait(&r->wake, &r->lock, &until);
        if (r->stop || !run_folder_scan(&r->folder))
            continue;
        pthread_mutex_unlock(&r->lock);
        say_frames(r);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- the callbacks ---- */

static void hello(feed *f, client *c)
{
    run_feed *r = (run_feed *)f;
    char *more = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&more, &size);
    if (!to)
        return;
    const char *name = strrchr(r->folder.path, '/');
    fprintf(to, ",\"runs\":%d", client_feeds(c));
    pthread_mutex_lock(&r->lock);
    run_folder_list(&r->folder, to);
    pthread_mutex_unlock(&r->lock);
    if (fclose(to) != 0) {
        free(more);
        return;
    }
    scene_text t = { "view", name && name[1] ? name + 1 : r->folder.path, r->folder.path, r->folder.scene, &r->folder.stage, &r->folder.first,
                     &r->folder.palette, more };
    char *text = scene_text_make(&t), *table = run_folder_table(&r->folder, TABLE_ROWS);
    if (text)
        client_say(c, text);
    if (table)
        client_say(c, table);
    free(text);
    free(table);
    free(more);
}

static bool set_colour(run_feed *r, client *c, const message *m)
{
    wire_wish wish = client_wish(c);
    char text[256];
    strcpy(wish.field, m->field[0] ? m->field : "material");
    wish.low = m->low, wish.high = m->high;
    rp_result result = RP_OK;
    if (strcmp(wish.field, "material") != 0 && !(m->low < m->high)) {
        double range[2];
        pthread_mutex_lock(&r->reading);
        pthread_mutex_lock(&r->lock);
        result = run_folder_range(&r->folder, wish.field, range);
        pthread_mutex_unlock(&r->lock);
        pthread_mutex_unlock(&r->reading);
        wish.low = range[0], wish.high = range[1];
    }
    if (result == RP_OK) {
        client_set_wish(c, &wish);
        snprintf(text, sizeof text, "{\"type\":\"range\",\"field\":\"%s\",\"min\":%.9g,\"max\":%.9g}", wish.field, wish.low, wish.high);
    } else
        snprintf(text, sizeof text, "{\"type\":\"error\",\"text\":\"the frames have no field %s\"}", wish.field);
    client_say(c, text);
    return true;
}

/* ---- the probe ---- */

/* The particle that was sent as number `index` of a frame thinned by `stride`; -1: none. */
static int64_t sent_particle(const rp_frame *frame, uint32_t stride, int64_t index)
{
    uint32_t least = wire_stride(frame->count, WIRE_MOST_GRAINS);
    const rp_field_view *ids = rp_frame_field(frame, "id");
    stride = stride > least ? stride : least;
    for (int64_t i = 0; i < frame->count; i++)
        if (wire_keeps(wire_id(ids, i), stride) && index-- == 0)
            return i;
    return -1;
}

/* Where the grain was and will be: one in so many frames of the run. */
static void put_path(FILE *to, run_feed *r, int64_t id)
{
    enum { PLACES = 24 };
    fputs(",\"path\":[", to);
    pthread_mutex_lock(&r->lock);
    int64_t count = r->folder.count, n = 0, before = -1;
    int64_t numbers[PLACES + 1];
    for (int64_t k = 0; k <= PLACES; k++) {
        int64_t i = (count - 1) * k / PLACES;
        if (i != before)
            numbers[n++] = r->folder.numbers[i];
        before = i;
    }
    pthread_mutex_unlock(&r->lock);
    bool first = true;
    for (int64_t k = 0; k < n; k++) {
        cached *c = acquire(r, numbers[k]);
        const rp_field_view *x = c ? rp_frame_field(&c->frame, "position") : NULL;
        int64_t i = x ? probe_find(&c->frame, id) : -1;
        if (i >= 0) {
            fprintf(to, "%s[%.7g,%.7g,%.7g,%.7g]", first ? "" : ",", c->frame.time, wire_number(x, 0, i), wire_number(x, 1, i),
                    wire_number(x, 2, i));
            first = false;
        }
        if (c)
            release(r, c);
    }
    fputs("]", to);
}

static bool probe(run_feed *r, client *c, const message *m)
{
    cached *at = acquire(r, m->frame);
    int64_t i = at ? sent_particle(&at->frame, m->stride, m->index) : -1;
    char *text = NULL;
    size_t size = 0;
    FILE *to = i >= 0 ? open_memstream(&text, &size) : NULL;
    int64_t id = to ? wire_id(rp_frame_field(&at->frame, "id"), i) : 0;
    if (to) {
        fprintf(to, "{\"type\":\"probe\",\"frame\":%lld,\"id\":%lld", (long long)m->frame, (long long)id);
        probe_put_values(to, &at->frame, i);
    }
    if (at)
        release(r, at);
    if (!to)
        return true;
    put_path(to, r, id);
    fputs("}", to);
    if (fclose(to) == 0)
        client_say(c, text);
    free(text);
    return true;
}

static bool on_message(feed *f, client *c, const message *m)
{
    run_feed *r = (run_feed *)f;
    wire_wish wish;
    switch (m->kind) {
    case MESSAGE_SEEK:
        client_want(c, m->frame);
        return true;
    case MESSAGE_COLOR:
        return set_colour(r, c, m);
    case MESSAGE_QUALITY:
        wish = client_wish(c);
        wish.stride = m->stride;
        client_set_wish(c, &wish);
        return true;
    case MESSAGE_ARROWS:
        wish = client_wish(c);
        memcpy(wish.arrows, m->field, sizeof wish.arrows);
        client_set_wish(c, &wish);
        return true;
    case MESSAGE_PROBE:
        return probe(r, c, m);
    default:
        return true; /* of a simulation that is going on: nothing to do here */
    }
}

static feed_answer fill(feed *f, client *c, feed_request *request, wire_buffer *out)
{
    run_feed *r = (run_feed *)f;
    cached *at = acquire(r, request->frame);
    rp_result result = RP_NOT_FOUND;
    if (at) {
        wire_content content = { .frame = &at->frame, .fibres = &at->fibres.view, .nodes = request->wish.arrows[0] ? nodes_of(r, at) : NULL };
        result = wire_pack(&content, rp_scene_sim_def(r->folder.scene), &r->folder.palette, &request->wish, 0, out);
        if (result == RP_BAD_ARGUMENT) { /* this frame has not the field: better its materials than nothing */
            wire_wish plain = request->wish;
            strcpy(plain.field, "material");
            result = wire_pack(&content, rp_scene_sim_def(r->folder.scene), &r->folder.palette, &plain, 0, out);
        }
        release(r, at);
        pthread_mutex_lock(&r->lock);
        r->last = request->frame;
        r->ahead = true;
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
    } else {
        char text[160];
        snprintf(text, sizeof text, "{\"type\":\"lost\",\"frame\":%lld,\"text\":\"frame %lld cannot be read\"}", (long long)request->frame,
                 (long long)request->frame);
        client_say(c, text);
        return FEED_NOTHING;
    }
    return result == RP_OK ? FEED_FRAME : FEED_ERROR;
}

/* ---- opening and closing ---- */

feed *run_feed_open(const char *folder)
{
    run_feed *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    if (!run_folder_open(folder, 1280, 720, &r->folder)) {
        free(r);
        return NULL;
    }
    r->base = (feed){ .hello = hello, .message = on_message, .fill = fill };
    r->last = -1;
    for (int k = 0; k < CACHE; k++)
        r->cache[k].number = -1;
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->reading, NULL);
    pthread_cond_init(&r->wake, NULL);
    r->reader_runs = pthread_create(&r->reader, NULL, read_ahead, r) == 0;
    return &r->base;
}

bool run_feed_follow(feed *f, server *s)
{
    run_feed *r = (run_feed *)f;
    r->server = s;
    r->following = pthread_create(&r->follower, NULL, follow, r) == 0;
    return r->following;
}

void run_feed_close(feed *f)
{
    run_feed *r = (run_feed *)f;
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
    if (r->reader_runs)
        pthread_join(r->reader, NULL);
    if (r->following)
        pthread_join(r->follower, NULL);
    for (int k = 0; k < CACHE; k++)
        forget(&r->cache[k]);
    run_folder_close(&r->folder);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->reading);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
