#include "bench_view.h"

#include "apps/view/play_feed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a page that does nothing but read ---- */

typedef struct reader {
    int fd;
    uint8_t *bytes;            /* of the last frame */
    size_t room, size;
} reader;

static int open_socket(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval limit = { .tv_sec = 60 };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t size)
{
    for (char *at = data; size > 0;) {
        ssize_t n = recv(fd, at, size, 0);
        if (n <= 0)
            return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

/* The head of an answer, up to the empty line. */
static bool read_head(int fd, char *text, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && read_all(fd, text + n, 1)) {
        text[++n] = '\0';
        if (n >= 4 && strcmp(text + n - 4, "\r\n\r\n") == 0)
            return true;
    }
    return false;
}

/* The token of the address for a cookie, the cookie for a socket. */
static bool shake_hands(reader *r, const char *url, int port)
{
    char text[2048], cookie[160] = "";
    const char *query = strchr(url, '?'), *given;
    int fd = query ? open_socket(port) : -1;
    if (fd < 0)
        return false;
    int n = snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", query, port);
    bool good = send_all(fd, text, (size_t)n) && read_head(fd, text, sizeof text) && (given = strstr(text, "Set-Cookie: ")) &&
                sscanf(given, "Set-Cookie: %150[^;\r]", cookie) == 1;
    close(fd);
    if (!good || (r->fd = open_socket(port)) < 0)
        return false;
    n = snprintf(text, sizeof text,
                 "GET /socket?run=0 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\nCookie: %s\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: repose.1\r\n"
                 "Sec-WebSocket-Version: 13\r\n\r\n", port, port, cookie);
    return send_all(r->fd, text, (size_t)n) && read_head(r->fd, text, sizeof text) && strstr(text, " 101 ");
}

/* A text in a masked frame, as browsers send them; a mask of zeros is a mask. */
static bool say(reader *r, const char *text)
{
    uint8_t frame[128] = { 0x81, (uint8_t)(0x80 | strlen(text)) };
    memcpy(frame + 6, text, strlen(text));
    return send_all(r->fd, frame, 6 + strlen(text));
}

/* The next frame of grains; what comes between is read and forgotten. */
static bool next_frame(reader *r)
{
    for (;;) {
        uint8_t head[10];
        if (!read_all(r->fd, head, 2))
            return false;
        uint64_t size = head[1] & 127;
        int more = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (more && !read_all(r->fd, head + 2, (size_t)more))
            return false;
        for (int k = 0; k < more; k++)
            size = (k ? size << 8 : 0) | head[2 + k];
        if (size > r->room) {
            uint8_t *bytes = realloc(r->bytes, size);
            if (!bytes)
                return false;
            r->bytes = bytes, r->room = size;
        }
        if (!read_all(r->fd, r->bytes, size))
            return false;
        r->size = size;
        if ((head[0] & 15) == 2)
            return say(r, "{\"type\":\"ack\",\"frame\":0}");
    }
}

/* ---- measuring ---- */

static void put_part(FILE *to, const char *name, const play_part *before, const play_part *after, double frames)
{
    fprintf(to, ", \"ms_%s\": %.5g, \"work_%s\": %.5g", name, (after->wall - before->wall) / frames, name, (after->work - before->work) / frames);
}

static bool measure(reader *r, feed *f, int skip, int frames, int threads, FILE *to)
{
    bool good = true;
    for (int k = 0; k < skip && good; k++)
        good = next_frame(r);
    double wall = seconds(CLOCK_MONOTONIC), work = seconds(CLOCK_PROCESS_CPUTIME_ID);
    play_times before = play_feed_times(f);
    for (int k = 0; k < frames && good; k++)
        good = next_frame(r);
    wall = 1e3 * (seconds(CLOCK_MONOTONIC) - wall) / frames, work = 1e3 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - work) / frames;
    play_times after = play_feed_times(f);
    wire_header h;
    if (!good || !wire_read_header(r->bytes, r->size, &h)) {
        fprintf(stderr, "repose bench: the frames of the socket ended\n");
        return false;
    }
    double made = (double)(after.pack.count - before.pack.count);
    wall *= frames / made, work *= frames / made; /* the simulation waits for nobody: the reader may have missed some */
    fprintf(to, "{\"name\": \"view\", \"kind\": \"kernel\", \"what\": \"hourglass, %u of %u grains, %.2f MB a frame\", \"threads\": %d, "
                "\"frames\": %.0f, \"read\": %d, \"ms_frame\": %.5g, \"work_frame\": %.5g", h.count, h.total, 1e-6 * (double)r->size, threads, made, frames,
            wall, work);
    put_part(to, "step", &before.step, &after.step, made);
    put_part(to, "fine", &before.fine, &after.fine, made);
    put_part(to, "pack", &before.pack, &after.pack, made);
    fprintf(to, "}");
    return true;
}

/* ---- packing alone ---- */

enum { GRAINS = 460000, PACKS = 20 };

typedef struct bed {
    double *position, *velocity, *volume;
    int64_t *id;
    int32_t *material;
    rp_field_view fields[5];
    rp_frame frame;
} bed;

/* Particles in a box, in the order of a run that has been going on: neighbours have any id. */
static bool make_bed(bed *d)
{
    d->position = malloc(3 * GRAINS * sizeof *d->position), d->velocity = malloc(3 * GRAINS * sizeof *d->velocity);
    d->volume = malloc(GRAINS * sizeof *d->volume), d->id = malloc(GRAINS * sizeof *d->id), d->material = calloc(GRAINS, sizeof *d->material);
    if (!d->position || !d->velocity || !d->volume || !d->id || !d->material)
        return false;
    uint32_t random = 1;
    for (int64_t i = 0; i < GRAINS; i++) {
        for (int c = 0; c < 3; c++) {
            random = random * 1664525u + 1013904223u;
            d->position[c * GRAINS + i] = random * 0x1p-32;
            d->velocity[c * GRAINS + i] = 0.1 * d->position[c * GRAINS + i];
        }
        d->volume[i] = 1e-6 * (1 + random * 0x1p-34);
        d->id[i] = i * 7919 % GRAINS;
    }
    d->fields[0] = (rp_field_view){ { "position", RP_F64, 3, "m", 1 }, d->position, GRAINS, GRAINS };
    d->fields[1] = (rp_field_view){ { "velocity", RP_F64, 3, "m/s", 1 }, d->velocity, GRAINS, GRAINS };
    d->fields[2] = (rp_field_view){ { "volume", RP_F64, 1, "m3", 1 }, d->volume, GRAINS, GRAINS };
    d->fields[3] = (rp_field_view){ { "id", RP_I64, 1, "", 1 }, d->id, GRAINS, GRAINS };
    d->fields[4] = (rp_field_view){ { "material", RP_I32, 1, "", 1 }, d->material, GRAINS, GRAINS };
    d->frame = (rp_frame){ .dim = 3, .cell_size = 0.01, .count = GRAINS, .fields = d->fields, .field_count = 5, .upper = { 1, 1, 1 } };
    return true;
}

static bool pack_rows(FILE *to)
{
    static const struct {
        const char *what, *field;
        bool ordered;
    } rows[] = { { "by material", "material", false }, { "by velocity", "velocity", false }, { "by material, ordered for a slow page", "material", true } };
    bed d = { 0 };
    rp_sim_def sim = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    wire_palette palette = { 0 };
    wire_buffer buffer = { 0 };
    sim.materials = &sand, sim.material_count = 1;
    bool good = make_bed(&d) && wire_palette_make(&sim, &palette) == RP_OK;
    for (size_t k = 0; k < sizeof rows / sizeof *rows && good; k++) {
        wire_wish wish = { .high = 0.1, .ordered = rows[k].ordered };
        wire_content content = { .frame = &d.frame };
        double least = 1e9;
        strcpy(wish.field, rows[k].field);
        for (int n = 0; n < PACKS && good; n++) {
            double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
            good = wire_pack(&content, &sim, &palette, &wish, 0, &buffer) == RP_OK;
            double spent = 1e3 * (seconds(CLOCK_THREAD_CPUTIME_ID) - begin);
            least = spent < least ? spent : least;
        }
        fprintf(to, ",\n  {\"name\": \"view\", \"kind\": \"kernel\", \"what\": \"packing %d particles, %s\", \"work_pack\": %.4g}", GRAINS,
                rows[k].what, least);
    }
    free(d.position), free(d.velocity), free(d.volume), free(d.id), free(d.material);
    wire_palette_free(&palette);
    wire_buffer_free(&buffer);
    return good;
}

bool bench_view(const benchmark *b, const bench_settings *s, int threads, FILE *to)
{
    char path[4096], url[200];
    int code, skip = b->warm, frames = s->steps > 0 ? s->steps : b->steps;
    reader r = { .fd = -1 };
    snprintf(path, sizeof path, "%s/%s", s->scenes, b->what);
    signal(SIGPIPE, SIG_IGN);
    play_options options = { .scene = path, .threads = threads };
    server_options any_port = { .port = 0 };
    feed *f = play_feed_open(&options, &code);
    server *serving = f ? server_start(&any_port, &f, 1) : NULL;
    bool good = serving && play_feed_start(f, serving);
    if (good) {
        server_url(serving, url, sizeof url);
        good = shake_hands(&r, url, server_port(serving)) && say(&r, "{\"type\":\"hello\"}") && measure(&r, f, skip, frames, threads, to) && pack_rows(to);
    }
    if (r.fd >= 0)
        close(r.fd);
    if (serving)
        server_end(serving);
    if (f)
        play_feed_close(f);
    server_stop(serving);
    free(r.bytes);
    return good;
}
