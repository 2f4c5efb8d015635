#include "guard.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* ---- secrets ---- */

static bool make_secret(char text[SECRET_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[SECRET_SIZE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t k = 0; k < sizeof bytes; k++) {
        text[2 * k] = digits[bytes[k] >> 4];
        text[2 * k + 1] = digits[bytes[k] & 15];
    }
    text[SECRET_SIZE - 1] = '\0';
    return true;
}

bool guard_create(guard *g, int sources, bool beyond)
{
    *g = (guard){ .sources = sources, .beyond = beyond };
    return make_secret(g->token) && make_secret(g->session);
}

bool guard_same(const char *a, const char *b)
{
    size_t n = strlen(a);
    if (n != strlen(b)) /* the length is no secret */
        return false;
    unsigned char different = 0;
    for (size_t k = 0; k < n; k++)
        different = (unsigned char)(different | (a[k] ^ b[k]));
    return different == 0;
}

/* ---- where the request thinks it goes ---- */

static bool ends_with_port(const char *host, size_t name, int port)
{
    char end[16];
    snprintf(end, sizeof end, ":%d", port);
    return strcmp(host + name, end) == 0;
}

/* Digits and dots, or digits, letters a to f and colons in brackets: no name that somebody else's name server could turn to us. */
static bool is_address(const char *host, size_t n)
{
    if (n > 2 && host[0] == '[' && host[n - 1] == ']')
        return strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2;
    return n > 0 && strspn(host, "0123456789.") == n;
}

static bool host_is_ours(const guard *g, const char *host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    if (!host || strlen(host) > 200)
        return false;
    for (int k = 0; k < 3; k++)
        if (strncmp(host, names[k], strlen(names[k])) == 0 && ends_with_port(host, strlen(names[k]), g->port))
            return true;
    const char *colon = strrchr(host, ':');
    return g->beyond && colon && is_address(host, (size_t)(colon - host)) && ends_with_port(host, (size_t)(colon - host), g->port);
}

/* The page that speaks was served by us: scheme, host and port are those of the request. */
static bool origin_is_ours(const request *r)
{
    static const char scheme[] = "http://";
    return r->origin && strncmp(r->origin, scheme, sizeof scheme - 1) == 0 && strcmp(r->origin + sizeof scheme - 1, r->host) == 0;
}

/* ---- secrets in the request ---- */

static bool has_token(const guard *g, const request *r)
{
    if (!r->query || strncmp(r->query, "t=", 2) != 0)
        return false;
    return guard_same(r->query + 2, g->token);
}

/* The cookie's name has the port: cookies do not know ports, and two servers must not take each other's away. */
static bool has_cookie(const guard *g, const request *r)
{
    char name[32];
    int length = snprintf(name, sizeof name, "repose-%d=", g->port);
    for (const char *at = r->cookie; at && *at;) {
        at += strspn(at, " ");
        size_t size = strcspn(at, ";");
        if (size == (size_t)length + SECRET_SIZE - 1 && strncmp(at, name, (size_t)length) == 0) {
            char value[SECRET_SIZE];
            memcpy(value, at + length, SECRET_SIZE - 1);
            value[SECRET_SIZE - 1] = '\0';
            if (guard_same(value, g->session))
                return true;
        }
        at += size;
        at += *at == ';';
    }
    return false;
}

/* ---- the verdict ---- */

static route find_route(const char *uri)
{
    static const struct {
        const char *uri;
        route route;
    } routes[] = { { "/", ROUTE_PAGE }, { "/app.js", ROUTE_SCRIPT }, { "/style.css", ROUTE_STYLE }, { "/icon.svg", ROUTE_ICON },
                   { "/socket", ROUTE_SOCKET } };
    for (size_t k = 0; uri && k < sizeof routes / sizeof *routes; k++)
        if (strcmp(uri, routes[k].uri) == 0)
            return routes[k].route;
    return ROUTE_NONE;
}

static verdict refuse(int code, const char *sentence)
{
    return (verdict){ .code = code, .sentence = sentence };
}

static verdict judge_socket(const guard *g, const request *r)
{
    if (!r->upgrade || strcmp(r->upgrade, "websocket") != 0)
        return refuse(426, "this address is a WebSocket");
    if (!origin_is_ours(r))
        return refuse(403, "only the page of this server may open its socket");
    if (!has_cookie(g, r))
        return refuse(403, "open the address that the program printed");
    int source = 0;
    if (r->query && r->query[0]) {
        if (strncmp(r->query, "run=", 4) != 0 || strlen(r->query) != 5 || r->query[4] < '0' || r->query[4] - '0' >= g->sources)
            return refuse(404, "there is no such run");
        source = r->query[4] - '0';
    }
    return (verdict){ .code = 101, .route = ROUTE_SOCKET, .source = source };
}

verdict guard_judge(const guard *g, const request *r)
{
    if (r->repeated)
        return refuse(400, "a header came twice");
    if (!host_is_ours(g, r->host))
        return refuse(421, "this server answers to its own address only");
    if (!r->method || strcmp(r->method, "GET") != 0)
        return refuse(405, "only GET is understood");
    route at = find_route(r->uri);
    if (at == ROUTE_SOCKET)
        return judge_socket(g, r);
    bool token = at == ROUTE_PAGE && has_token(g, r);
    if (!token && !has_cookie(g, r))
        return refuse(403, "open the address that the program printed");
    if (at == ROUTE_NONE)
        return refuse(404, "there is nothing here");
    return (verdict){ .code = 200, .route = at, .give_cookie = token };
}
