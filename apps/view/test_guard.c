/* The judge of requests, by a table. */
#include "cmocka_test.h"
#include "guard.h"

#include <stdio.h>
#include <string.h>

static guard make(void)
{
    guard g;
    assert_true(guard_create(&g, 2, false));
    g.port = 4321;
    return g;
}

static void secrets_are_fresh(void **state)
{
    (void)state;
    guard a = make(), b = make();
    assert_int_equal(strlen(a.token), 32);
    assert_int_equal(strspn(a.token, "0123456789abcdef"), 32);
    assert_string_not_equal(a.token, b.token);
    assert_string_not_equal(a.session, b.session);
    assert_string_not_equal(a.token, a.session);
    assert_true(guard_same("abc", "abc"));
    assert_false(guard_same("abc", "abd"));
    assert_false(guard_same("abc", "abcd"));
    assert_false(guard_same("", "a"));
    assert_true(guard_same("", ""));
}

enum { NO, YES, WRONG, OTHER_PORT, LONG };

typedef struct line {
    const char *method, *uri, *host, *origin, *upgrade, *run;
    int token, cookie, code;
} line;

static const line table[] = {
    /* the page */
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, YES, NO, 200 },
    { "GET", "/", "localhost:4321", NULL, NULL, NULL, YES, NO, 200 },
    { "GET", "/", "[::1]:4321", NULL, NULL, NULL, YES, NO, 200 },
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 200 },
    { "GET", "/app.js", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 200 },
    /* secrets */
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, NO, NO, 403 },
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, WRONG, NO, 403 },
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, LONG, NO, 403 },
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, NO, WRONG, 403 },
    { "GET", "/", "127.0.0.1:4321", NULL, NULL, NULL, NO, OTHER_PORT, 403 },
    { "GET", "/app.js", "127.0.0.1:4321", NULL, NULL, NULL, YES, NO, 403 }, /* the token opens the page alone */
    { "GET", "/nothing", "127.0.0.1:4321", NULL, NULL, NULL, NO, NO, 403 }, /* what exists is not told */
    /* hosts: a name that an attacker's name server turns to 127.0.0.1 */
    { "GET", "/", "evil.example:4321", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "127.0.0.1", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "127.0.0.1:80", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "127.0.0.1:43210", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "127.0.0.1.evil.example:4321", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "localhost.evil.example:4321", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "LOCALHOST:4321", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "10.0.0.1:4321", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", "", NULL, NULL, NULL, YES, YES, 421 },
    { "GET", "/", NULL, NULL, NULL, NULL, YES, YES, 421 },
    /* methods */
    { "POST", "/", "127.0.0.1:4321", NULL, NULL, NULL, YES, YES, 405 },
    { "HEAD", "/", "127.0.0.1:4321", NULL, NULL, NULL, YES, YES, 405 },
    { "OPTIONS", "/", "127.0.0.1:4321", "http://evil.example", NULL, NULL, NO, NO, 405 },
    { NULL, "/", "127.0.0.1:4321", NULL, NULL, NULL, YES, YES, 405 },
    /* paths */
    { "GET", "/../etc/passwd", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    { "GET", "/%2e%2e/etc/passwd", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    { "GET", "//app.js", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    { "GET", "/app.js/", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    { "GET", "http://127.0.0.1:4321/app.js", "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    { "GET", NULL, "127.0.0.1:4321", NULL, NULL, NULL, NO, YES, 404 },
    /* the socket */
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", NULL, NO, YES, 101 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", "run=1", NO, YES, 101 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", "run=2", NO, YES, 404 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", "run=-1", NO, YES, 404 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", "run=11", NO, YES, 404 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", NULL, NULL, NO, YES, 426 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "h2c", NULL, NO, YES, 426 },
    { "GET", "/socket", "127.0.0.1:4321", NULL, "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "null", "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "http://evil.example", "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "https://127.0.0.1:4321", "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "http://localhost:4321", "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321.evil.example", "websocket", NULL, NO, YES, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", NULL, NO, NO, 403 },
    { "GET", "/socket", "127.0.0.1:4321", "http://127.0.0.1:4321", "websocket", NULL, YES, NO, 404 }, /* the token is no run, and no cookie */
    { "GET", "/socket", "evil.example:4321", "http://evil.example:4321", "websocket", NULL, NO, YES, 421 },
};

static void table_of_requests(void **state)
{
    (void)state;
    guard g = make();
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const line *l = &table[k];
        char query[200] = "", cookie[200] = "";
        if (l->token == YES || l->token == LONG)
            snprintf(query, sizeof query, "t=%s%s", g.token, l->token == LONG ? "0" : "");
        else if (l->token == WRONG)
            snprintf(query, sizeof query, "t=%032d", 0);
        else if (l->run)
            snprintf(query, sizeof query, "%s", l->run);
        if (l->cookie == YES)
            snprintf(cookie, sizeof cookie, "a=b; repose-4321=%s; c=d", g.session);
        else if (l->cookie == WRONG)
            snprintf(cookie, sizeof cookie, "repose-4321=%s", g.token);
        else if (l->cookie == OTHER_PORT)
            snprintf(cookie, sizeof cookie, "repose-4322=%s; xrepose-4321=%s", g.session, g.session);
        request r = { l->method, l->uri, query[0] ? query : NULL, l->host, l->origin, cookie[0] ? cookie : NULL, l->upgrade, false };
        verdict v = guard_judge(&g, &r);
        int expected = l->code;
        if (l->upgrade && l->token == YES && l->cookie == NO)
            expected = 403;
        if (v.code != expected)
            fprintf(stderr, "line %zu: %s %s gave %d in place of %d\n", k, l->method ? l->method : "-", l->uri ? l->uri : "-", v.code, expected);
        assert_int_equal(v.code, expected);
        assert_true(v.code == 200 || v.code == 101 || v.sentence != NULL);
        assert_true(v.give_cookie == (v.code == 200 && l->token == YES));
        r.repeated = true;
        assert_int_equal(guard_judge(&g, &r).code, 400);
    }
}

static void other_machines_by_number_only(void **state)
{
    (void)state;
    guard g = make();
    char query[64];
    snprintf(query, sizeof query, "t=%s", g.token);
    request r = { .method = "GET", .uri = "/", .query = query, .host = "192.168.1.7:4321" };
    assert_int_equal(guard_judge(&g, &r).code, 421);
    g.beyond = true;
    assert_int_equal(guard_judge(&g, &r).code, 200);
    r.host = "[fe80::1]:4321";
    assert_int_equal(guard_judge(&g, &r).code, 200);
    r.host = "sand.example:4321";
    assert_int_equal(guard_judge(&g, &r).code, 421);
    r.host = "abc:4321"; /* letters without brackets are a name */
    assert_int_equal(guard_judge(&g, &r).code, 421);
    r.host = ":4321";
    assert_int_equal(guard_judge(&g, &r).code, 421);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_fresh),
        cmocka_unit_test(table_of_requests),
        cmocka_unit_test(other_machines_by_number_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
