#include "server.h"

#include "guard.h"
#include "pages.h"

#include <civetweb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    TEXTS_MOST = 64,           /* waiting for a client that does not read */
    WANTS_MOST = 8,            /* frames asked for and not yet sent */
    RATE = 1000,               /* messages a second */
    LATE_MS = 100, EARLY_MS = 30, /* an answer later than this thins the grains, several earlier ones thicken them */
    THICK = 800000             /* bytes of a frame: smaller ones are not thinned, they are not what is slow */
};

typedef struct text_node {
    struct text_node *next;
    char text[];
} text_node;

struct client {
    server *server;
    feed *feed;
    struct mg_connection *connection; /* NULL: this place is free */
    pthread_t sender;
    pthread_mutex_t lock;      /* never held while sending */
    pthread_cond_t wake;
    atomic_bool closing;
    text_node *texts;          /* oldest first */
    int text_count;
    int64_t wants[WANTS_MOST];
    int want_count;
    unsigned wakes;            /* counts news */
    bool ready;                /* live: the last frame was drawn, send another */
    double sent_at;
    size_t sent_size;
    int early;                 /* quick answers in a row */
    uint32_t thin;             /* stride chosen by how late answers come */
    wire_wish wish;
    double allowance, counted_at; /* of messages */
};

struct server {
    struct mg_context *context;
    guard guard;
    char address[64];
    feed *feeds[SERVER_FEEDS];
    int feed_count;
    pthread_mutex_t lock;      /* of `clients` coming and going */
    client clients[SERVER_CLIENTS];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- answers ---- */

static const char *reason(int code)
{
    switch (code) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 421: return "Misdirected Request";
    case 426: return "Upgrade Required";
    case 503: return "Service Unavailable";
    default: return "Error";
    }
}

static void answer(struct mg_connection *c, int code, const char *type, const char *more, const void *body, size_t size)
{
    mg_printf(c,
              "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n"
              "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
              "connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n"
              "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
              "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n"
              "Cross-Origin-Resource-Policy: same-origin\r\n%s\r\n",
              code, reason(code), type, size, more);
    mg_write(c, body, size);
}

static void answer_error(struct mg_connection *c, int code, const char *sentence)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%d %s: %s\n", code, reason(code), sentence);
    answer(c, code, "text/plain", "", text, (size_t)n);
}

/* Errors that civetweb finds by itself: half requests, wrong lengths. */
static int on_http_error(struct mg_connection *c, int code, const char *said)
{
    (void)said;
    answer_error(c, code, "this request is not understood");
    return 0;
}

static int on_log(const struct mg_connection *c, const char *said)
{
    (void)c;
    (void)said;
    return 1; /* hostile requests do not write into the terminal */
}

/* ---- requests ---- */

static request request_of(const struct mg_connection *c)
{
    const struct mg_request_info *info = mg_get_request_info((struct mg_connection *)(uintptr_t)c);
    request r = { .method = info->request_method, .uri = info->request_uri, .query = info->query_string };
    const struct {
        const char *name;
        const char **value;
    } wanted[] = { { "Host", &r.host }, { "Origin", &r.origin }, { "Cookie", &r.cookie }, { "Upgrade", &r.upgrade } };
    for (int h = 0; h < info->num_headers; h++)
        for (int k = 0; k < 4; k++)
            if (strcasecmp(info->http_headers[h].name, wanted[k].name) == 0) {
                r.repeated = r.repeated || *wanted[k].value;
                *wanted[k].value = info->http_headers[h].value;
            }
    return r;
}

static int count_clients(server *s)
{
    int count = 0;
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SERVER_CLIENTS; k++)
        count += s->clients[k].connection != NULL;
    pthread_mutex_unlock(&s->lock);
    return count;
}

int server_clients(server *s)
{
    return count_clients(s);
}

/* Sees every request before civetweb looks at its path: nothing but the fixed routes is ever served. */
static int on_request(struct mg_connection *c)
{
    server *s = mg_get_user_data(mg_get_context(c));
    request r = request_of(c);
    verdict v = guard_judge(&s->guard, &r);
    if (v.code == 101 && count_clients(s) >= SERVER_CLIENTS)
        v = (verdict){ .code = 503, .sentence = "as many pages as this server takes are open already" };
    if (v.code == 101)
        return 0; /* civetweb shakes hands */
    if (v.code != 200) {
        answer_error(c, v.code, v.sentence);
        return v.code;
    }
    static const struct {
        route route;
        const page_file *file;
        const char *type;
    } files[] = { { ROUTE_PAGE, &page_html, "text/html" }, { ROUTE_SCRIPT, &page_script, "text/javascript" },
                  { ROUTE_STYLE, &page_style, "text/css" }, { ROUTE_ICON, &page_icon, "image/svg+xml" } };
    char cookie[160] = "";
    if (v.give_cookie)
        snprintf(cookie, sizeof cookie, "Set-Cookie: repose-%d=%s; Path=/; HttpOnly; SameSite=Strict\r\n", s->guard.port, s->guard.session);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        if (files[k].route == v.route)
            answer(c, 200, files[k].type, cookie, files[k].file->bytes, files[k].file->size);
    return 200;
}

/* ---- texts to a client ---- */

static void drop_text(client *c, const char *like)
{
    for (text_node **at = &c->texts; *at; at = &(*at)->next)
        if (!like || strncmp((*at)->text, like, 20) == 0) {
            text_node *gone = *at;
            *at = gone->next;
            free(gone);
            c->text_count--;
            return;
        }
}

void client_say(client *c, const char *text)
{
    size_t size = strlen(text) + 1;
    text_node *node = malloc(sizeof *node + size);
    if (!node)
        return;
    node->next = NULL;
    memcpy(node->text, text, size);
    pthread_mutex_lock(&c->lock);
    if (c->text_count >= TEXTS_MOST) {
        int before = c->text_count;
        drop_text(c, text);
        if (c->text_count == before)
            drop_text(c, NULL);
    }
    text_node **end = &c->texts;
    while (*end)
        end = &(*end)->next;
    *end = node;
    c->text_count++;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* ---- what a client wants ---- */

void client_set_wish(client *c, const wire_wish *wish)
{
    pthread_mutex_lock(&c->lock);
    c->wish = *wish;
    pthread_mutex_unlock(&c->lock);
}

wire_wish client_wish(client *c)
{
    pthread_mutex_lock(&c->lock);
    wire_wish w = c->wish;
    pthread_mutex_unlock(&c->lock);
    return w;
}

int client_feeds(const client *c)
{
    return c->server->feed_count;
}

void client_want(client *c, int64_t frame)
{
    pthread_mutex_lock(&c->lock);
    if (c->want_count == WANTS_MOST) /* the oldest is forgotten */
        memmove(c->wants, c->wants + 1, (size_t)--c->want_count * sizeof *c->wants);
    c->wants[c->want_count++] = frame;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void client_ack(client *c)
{
    pthread_mutex_lock(&c->lock);
    double late = 1e3 * (now() - c->sent_at);
    if (!c->ready && c->sent_at > 0) {
        c->early = late < EARLY_MS ? c->early + 1 : 0;
        if (late > LATE_MS && c->thin < 16 && c->sent_size > THICK)
            c->thin *= 2;
        else if (c->early > 60 && c->thin > 1)
            c->thin /= 2, c->early = 0;
    }
    c->ready = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* ---- the sender: one thread a client ---- */

static void say_error(client *c, const char *sentence)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    fputs("{\"type\":\"error\",\"text\":", to);
    json_quote(to, sentence);
    fputs("}", to);
    if (fclose(to) == 0)
        client_say(c, text);
    free(text);
}

static bool send_text(client *c, text_node *node)
{
    int sent = mg_websocket_write(c->connection, MG_WEBSOCKET_OPCODE_TEXT, node->text, strlen(node->text));
    free(node);
    return sent > 0;
}

/* Sends a frame when one is due and there is one. */
static bool send_frame(client *c, feed_request *r, wire_buffer *buffer, bool *sent)
{
    *sent = false;
    feed_answer a = c->feed->fill(c->feed, c, r, buffer);
    if (a == FEED_ERROR)
        say_error(c, rp_last_error());
    if (a != FEED_FRAME)
        return true;
    pthread_mutex_lock(&c->lock);
    c->sent_at = now();
    c->sent_size = buffer->size;
    c->ready = false;
    pthread_mutex_unlock(&c->lock);
    *sent = true;
    return mg_websocket_write(c->connection, MG_WEBSOCKET_OPCODE_BINARY, (const char *)buffer->bytes, buffer->size) > 0;
}

static void *send_all(void *context)
{
    client *c = context;
    wire_buffer buffer = { 0 };
    uint64_t seen = 0;
    bool open = true, idle = false;
    unsigned wakes = 0;
    pthread_mutex_lock(&c->lock);
    while (open && !c->closing) {
        text_node *text = c->texts;
        feed_request r = { .frame = -1, .wish = c->wish, .seen = seen };
        r.wish.stride = r.wish.stride > c->thin ? r.wish.stride : c->thin;
        bool due = c->feed->live ? c->ready && !(idle && wakes == c->wakes) : c->want_count > 0;
        if (text) {
            c->texts = text->next;
            c->text_count--;
        } else if (!due) {
            pthread_cond_wait(&c->wake, &c->lock);
            continue;
        } else {
            wakes = c->wakes; /* not with a text: the frame that was told of is still to be looked for */
            if (!c->feed->live) {
                r.frame = c->wants[0];
                memmove(c->wants, c->wants + 1, (size_t)--c->want_count * sizeof *c->wants);
            }
        }
        pthread_mutex_unlock(&c->lock);
        bool sent = false;
        open = text ? send_text(c, text) : send_frame(c, &r, &buffer, &sent);
        seen = r.seen;
        pthread_mutex_lock(&c->lock);
        if (!text)
            idle = !sent; /* nothing new: wait for news */
    }
    c->closing = true;
    pthread_mutex_unlock(&c->lock);
    wire_buffer_free(&buffer);
    return NULL;
}

static void wake(client *c)
{
    pthread_mutex_lock(&c->lock);
    c->wakes++;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

uint32_t server_thinnest(server *s, const feed *f)
{
    uint32_t thin = 1;
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SERVER_CLIENTS; k++) {
        client *c = &s->clients[k];
        if (!c->connection || c->feed != f)
            continue;
        pthread_mutex_lock(&c->lock);
        thin = c->thin > thin ? c->thin : thin;
        thin = c->wish.stride > thin ? c->wish.stride : thin;
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return thin;
}

void server_wake(server *s, const feed *f)
{
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SERVER_CLIENTS; k++)
        if (s->clients[k].connection && s->clients[k].feed == f)
            wake(&s->clients[k]);
    pthread_mutex_unlock(&s->lock);
}

void server_say(server *s, const feed *f, const char *text)
{
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SERVER_CLIENTS; k++)
        if (s->clients[k].connection && s->clients[k].feed == f)
            client_say(&s->clients[k], text);
    pthread_mutex_unlock(&s->lock);
}

/* ---- sockets ---- */

static int on_socket(const struct mg_connection *c, void *context)
{
    server *s = context;
    request r = request_of(c);
    return guard_judge(&s->guard, &r).code != 101; /* again, should the way here ever change */
}

static client *take_place(server *s, struct mg_connection *c, int source)
{
    client *free_one = NULL;
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SERVER_CLIENTS && !free_one; k++)
        if (!s->clients[k].connection)
            free_one = &s->clients[k];
    if (free_one) {
        memset(free_one, 0, sizeof *free_one);
        free_one->server = s, free_one->feed = s->feeds[source], free_one->connection = c;
        free_one->ready = true, free_one->thin = 1;
        free_one->allowance = RATE, free_one->counted_at = now();
        strcpy(free_one->wish.field, "material");
        pthread_mutex_init(&free_one->lock, NULL);
        pthread_cond_init(&free_one->wake, NULL);
    }
    pthread_mutex_unlock(&s->lock);
    return free_one;
}

static void leave_place(client *c)
{
    server *s = c->server;
    pthread_mutex_lock(&s->lock);
    c->connection = NULL;
    pthread_mutex_unlock(&s->lock);
    while (c->texts)
        drop_text(c, NULL);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
}

static void on_open(struct mg_connection *connection, void *context)
{
    server *s = context;
    request r = request_of(connection);
    verdict v = guard_judge(&s->guard, &r);
    client *c = v.code == 101 ? take_place(s, connection, v.source) : NULL;
    if (c) {
        c->feed->hello(c->feed, c); /* queued: the scene comes before any frame */
        if (pthread_create(&c->sender, NULL, send_all, c) == 0) {
            mg_set_user_connection_data(connection, c);
            return;
        }
        leave_place(c);
    }
    mg_websocket_write(connection, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, "\x03\xf5", 2); /* 1013: try again later */
}

/* A thousand messages a second, and as many at once. */
static bool allowed(client *c)
{
    double t = now();
    c->allowance += RATE * (t - c->counted_at);
    c->counted_at = t;
    if (c->allowance > RATE)
        c->allowance = RATE;
    c->allowance -= 1;
    return c->allowance >= 0;
}

/* Whole texts only; answers to pings are none of our business. */
static int on_data(struct mg_connection *connection, int bits, char *data, size_t size, void *context)
{
    (void)context;
    client *c = mg_get_user_connection_data(connection);
    int opcode = bits & 15;
    if (!c || c->closing || opcode == MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE)
        return 0;
    if (opcode == MG_WEBSOCKET_OPCODE_PING || opcode == MG_WEBSOCKET_OPCODE_PONG)
        return 1;
    message m;
    const char *why;
    if (opcode != MG_WEBSOCKET_OPCODE_TEXT || !(bits & 0x80) || size > MESSAGE_MOST || !allowed(c))
        return 0;
    if (!message_read(data, size, &m, &why)) {
        say_error(c, why);
        return 1;
    }
    return c->feed->message(c->feed, c, &m);
}

static void on_close(const struct mg_connection *connection, void *context)
{
    (void)context;
    client *c = mg_get_user_connection_data(connection);
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->sender, NULL);
    leave_place(c);
}

/* ---- starting and stopping ---- */

static void register_sockets(server *s)
{
    static const char *names[] = { "repose.1" };
    static struct mg_websocket_subprotocols protocols = { 1, names }; /* civetweb keeps the pointer */
    mg_set_websocket_handler_with_subprotocols(s->context, "/socket", &protocols, on_socket, on_open, on_data, on_close, s);
}

server *server_start(const server_options *options, feed *const *feeds, int feed_count)
{
    server *s = calloc(1, sizeof *s);
    if (!s || !guard_create(&s->guard, feed_count, options->beyond)) {
        fprintf(stderr, "repose: no memory or no random numbers for the server\n");
        free(s);
        return NULL;
    }
    char listen[96];
    snprintf(s->address, sizeof s->address, "%s", options->address ? options->address : "127.0.0.1");
    snprintf(listen, sizeof listen, "%s:%d", s->address, options->port);
    const char *const settings[] = { "listening_ports", listen, "num_threads", "12", "connection_queue", "64", "request_timeout_ms", "10000",
                                     "websocket_timeout_ms", "10000", "enable_websocket_ping_pong", "yes", "max_request_size", "8192",
                                     "tcp_nodelay", "1", "linger_timeout_ms", "0", "enable_directory_listing", "no", NULL };
    struct mg_callbacks callbacks = { .begin_request = on_request, .http_error = on_http_error, .log_message = on_log, .log_access = on_log };
    pthread_mutex_init(&s->lock, NULL);
    s->feed_count = feed_count;
    for (int k = 0; k < feed_count; k++)
        s->feeds[k] = feeds[k];
    mg_init_library(MG_FEATURES_WEBSOCKET);
    s->context = mg_start(&callbacks, s, (const char **)(uintptr_t)settings);
    struct mg_server_port ports[4];
    if (!s->context || mg_get_server_ports(s->context, 4, ports) < 1) {
        fprintf(stderr, "repose: cannot listen on %s; another program may use this port (--port 0 takes a free one)\n", listen);
        server_stop(s);
        return NULL;
    }
    s->guard.port = ports[0].port;
    register_sockets(s);
    return s;
}

void server_end(server *s)
{
    if (s->context)
        mg_stop(s->context);
    s->context = NULL;
}

void server_stop(server *s)
{
    if (!s)
        return;
    server_end(s);
    mg_exit_library();
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int server_port(const server *s)
{
    return s->guard.port;
}

void server_url(const server *s, char *text, size_t size)
{
    const char *shown = strcmp(s->address, "0.0.0.0") == 0 ? "127.0.0.1" : s->address;
    snprintf(text, size, "http://%s:%d/?t=%s", shown, s->guard.port, s->guard.token);
}
