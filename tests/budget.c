/* Under a sanitizer a step takes ten times as long. Tests of whole scenes are built with this file there: a test function that has used
 * REPOSE_TEST_SECONDS of processor time (20; 0 for all it wants) ends at its next step and counts as skipped, with a message. What it judged before
 * stands, and the sanitizer has seen the same loops by then; what its end would judge the plain builds judge.
 *
 * The linker gives the test programs these in place of rp_sim_step and of cmocka's runner (--wrap, cmake/RpRooms.cmake). */
#include "cmocka_test.h"

#include <repose/repose.h>
#include <stdlib.h>
#include <time.h>

rp_result __real_rp_sim_step(rp_sim *sim, rp_step_stats *stats);
rp_result __wrap_rp_sim_step(rp_sim *sim, rp_step_stats *stats);
int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up, CMFixtureFunction tear_down);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up, CMFixtureFunction tear_down);

#ifdef __has_feature
#define ADDRESSES __has_feature(address_sanitizer)
#elif defined __SANITIZE_ADDRESS__
#define ADDRESSES 1
#endif
#if ADDRESSES
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_do_leak_check() (void)0
#endif

static const struct CMUnitTest *tests_given;
static size_t next_test;
static clock_t began;

static double budget(void)
{
    const char *text = getenv("REPOSE_TEST_SECONDS");
    return text ? atof(text) : 20;
}

static void timed(void **state)
{
    began = clock();
    tests_given[next_test++].test_func(state);
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct CMUnitTest *copies = malloc(count * sizeof *copies);
    if (!copies)
        return 1;
    tests_given = tests, next_test = 0;
    for (size_t i = 0; i < count; i++) {
        copies[i] = tests[i];
        copies[i].test_func = timed;
    }
    int failed = __real__cmocka_run_group_tests(name, copies, count, set_up, tear_down);
    free(copies);
    return failed;
}

rp_result __wrap_rp_sim_step(rp_sim *sim, rp_step_stats *stats)
{
    double most = budget();
    if (most > 0 && (double)(clock() - began) > most * CLOCKS_PER_SEC) {
        print_message("left after %g s of processor time (REPOSE_TEST_SECONDS)\n", most);
        /* what the tests before lost is lost by now; what this one holds is still in its hands, and nobody gives it back after */
        __lsan_do_leak_check();
        skip();
    }
    return __real_rp_sim_step(sim, stats);
}
