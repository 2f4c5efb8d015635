/* The limits of the machine are plausible, and bad arguments and missing memory are told. */
#include "base/memory.h"

#include <repose/machine.h>
#include <string.h>

#include <cmocka_test.h>

static void limits_are_plausible(void **state)
{
    (void)state;
    rp_machine_limits limits;
    assert_int_equal(rp_machine_measure(1, &limits), RP_OK);
    assert_int_equal(limits.threads, 1);
    assert_true(limits.copy > 1e8 && limits.copy < 1e13);
    assert_true(limits.triad > 1e8 && limits.triad < 1e13);
    assert_true(limits.flops > 1e7 && limits.flops < 1e14);
}

static void wrong_calls_are_told(void **state)
{
    (void)state;
    rp_machine_limits limits = { .threads = -5 };
    assert_int_equal(rp_machine_measure(0, &limits), RP_BAD_ARGUMENT);
    assert_int_equal(rp_machine_measure(65, &limits), RP_BAD_ARGUMENT);
    for (int nth = 1; nth <= 3; nth++) {
        rp__base_fail_allocation(nth);
        assert_int_equal(rp_machine_measure(1, &limits), RP_OUT_OF_MEMORY);
        rp__base_fail_allocation(0);
    }
    assert_int_equal(limits.threads, -5); /* nothing is set on failure */
}

static void the_machine_has_a_name(void **state)
{
    (void)state;
    char name[256] = "", short_name[4];
    rp_machine_name(name, sizeof name);
    assert_true(strlen(name) > 3);
    rp_machine_name(short_name, sizeof short_name);
    assert_int_equal(strlen(short_name), 3);
    assert_true(rp_machine_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_plausible),
        cmocka_unit_test(wrong_calls_are_told),
        cmocka_unit_test(the_machine_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
