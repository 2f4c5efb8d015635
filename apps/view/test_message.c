/* Messages of the page: good ones read, bad ones refused with a sentence. */
#include "cmocka_test.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reads(const char *text, message *m)
{
    const char *why = NULL;
    bool good = message_read(text, strlen(text), m, &why);
    assert_true(good || why != NULL);
    return good;
}

static void good_ones(void **state)
{
    (void)state;
    message m;
    assert_true(reads("{\"type\":\"seek\",\"frame\":12}", &m));
    assert_int_equal(m.kind, MESSAGE_SEEK);
    assert_int_equal(m.frame, 12);
    assert_true(reads("{\"type\":\"color\",\"field\":\"velocity.z\",\"min\":-1.5,\"max\":2}", &m));
    assert_string_equal(m.field, "velocity.z");
    assert_true(m.low == -1.5 && m.high == 2);
    assert_true(reads(" {\"type\":\"tool\",\"field\":\"hand\",\"down\":true,\"position\":[1,2,3],\"across\":[0,0,-1],\"size\":0.5} ", &m));
    assert_true(m.down && m.position[2] == 3 && m.across[2] == -1 && m.size == 0.5);
    for (int k = 0; k < MESSAGE_KINDS; k++) {
        char text[80];
        snprintf(text, sizeof text, "{\"type\":\"%s\",\"unknown\":[{}]}", message_name((message_kind)k));
        assert_true(reads(text, &m));
        assert_int_equal(m.kind, k);
    }
}

static void bad_ones(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "x", "[]", "{", "{}", "null", "{\"type\":1}", "{\"type\":\"sesame\"}", "{\"type\":\"seek\",\"frame\":-1}",
        "{\"type\":\"seek\",\"frame\":1.5}", "{\"type\":\"seek\",\"frame\":1e300}", "{\"type\":\"seek\",\"frame\":nan}",
        "{\"type\":\"seek\",\"frame\":\"1\"}", "{\"type\":\"quality\",\"stride\":3}", "{\"type\":\"quality\",\"stride\":0}",
        "{\"type\":\"quality\",\"stride\":131072}", "{\"type\":\"color\",\"field\":\"../../etc\"}", "{\"type\":\"color\",\"field\":\"a b\"}",
        "{\"type\":\"color\",\"min\":inf}", "{\"type\":\"tool\",\"position\":[1,2]}", "{\"type\":\"tool\",\"position\":[1,2,3,4]}",
        "{\"type\":\"tool\",\"position\":[1,2,\"3\"]}", "{\"type\":\"tool\",\"position\":[1,2,1e10]}", "{\"type\":\"tool\",\"down\":1}",
        "{\"type\":\"hello\"} x", "\"tt\\", "{\"type\":\"hello\\", "{\"a\\u12", "\"\\u", "\"\\q\"", "{\"type\":\"hello\",\"x\":[[[[[[[[[1]]]]]]]]]}",
        "{\"type\":\"color\",\"field\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        message m = { .kind = MESSAGE_KINDS };
        if (reads(texts[k], &m))
            fail_msg("'%s' was taken for a message", texts[k]);
        assert_int_equal(m.kind, MESSAGE_KINDS); /* untouched */
    }
    message m;
    assert_false(message_read("{\"type\":\"hello\"}\0", 17, &m, NULL)); /* a zero inside */
    char *large = malloc(MESSAGE_MOST + 1);
    assert_non_null(large);
    memset(large, '[', MESSAGE_MOST + 1);
    assert_false(message_read(large, MESSAGE_MOST, &m, NULL));
    assert_false(message_read(large, MESSAGE_MOST + 1, &m, NULL));
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(good_ones), cmocka_unit_test(bad_ones) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
