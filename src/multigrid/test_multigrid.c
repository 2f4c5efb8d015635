/* Poisson problems with a known answer, and what must not change them. */
#include "base/memory.h"
#include "exec/exec.h"
#include "multigrid/multigrid.h"

#include <cmocka_test.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double value(uint64_t i)
{
    return fmod((double)(i * 2654435761u % 1000003u) * 0.618033988749895, 1.0);
}

static void fill(rp__multigrid *mg, int64_t n, double contrast, bool grounded)
{
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < n; i++)
            rp__multigrid_faces(mg, a)[i] = pow(contrast, value((uint64_t)(3 * i + a)) - 0.5);
    for (int64_t i = 0; i < n; i++)
        rp__multigrid_ground(mg)[i] = grounded && i < 5 ? 1 : 0;
    rp__multigrid_prepare(mg);
}

/* L is symmetric, has no other null space than the constants, and the solver finds x from L x; its answer has no mean where L has none. */
static void finds_what_was_put_in(void **state)
{
    (void)state;
    const int64_t sizes[][3] = { { 33, 17, 1 }, { 16, 12, 10 }, { 4, 61, 1 }, { 1, 30, 1 }, { 7, 5, 3 }, { 4, 8, 12 } };
    const bool around[][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 1, 1, 1 } };
    for (int s = 0; s < 6; s++)
        for (int grounded = 0; grounded < 2; grounded++) {
            rp__multigrid *mg = NULL;
            int64_t n = sizes[s][0] * sizes[s][1] * sizes[s][2];
            assert_int_equal(rp__multigrid_create(sizes[s], around[s], &mg), RP_OK);
            fill(mg, n, 10, grounded);
            double *x = malloc((size_t)n * sizeof *x), *b = malloc((size_t)n * sizeof *x), *y = calloc((size_t)n, sizeof *x), mean = 0;
            for (int64_t i = 0; i < n; i++)
                x[i] = value((uint64_t)(7 * i + 1)), mean += x[i] / (double)n;
            rp__multigrid_apply(mg, x, NULL, b);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabs(rp__multigrid_row(mg, x, i) - b[i]) <= 1e-12);
            rp__multigrid_report report = rp__multigrid_solve(mg, NULL, b, 1e-10, 60, y);
            if (!report.converged)
                fail_msg("case %d: residual %g after %d iterations", s, report.residual, (int)report.iterations);
            assert_true(report.iterations <= 30);
            for (int64_t i = 0; i < n; i++)
                if (!(fabs(y[i] + (grounded ? 0 : mean) - x[i]) <= 1e-7))
                    fail_msg("case %d cell %d: %g instead of %g", s, (int)i, y[i] + mean, x[i]);
            free(x);
            free(b);
            free(y);
            rp__multigrid_destroy(mg);
        }
}

/* Iterations hardly grow with the number of cells. */
static void grows_slowly(void **state)
{
    (void)state;
    int64_t least = 1000, largest = 0;
    for (int64_t side = 16; side <= 256; side *= 2) {
        rp__multigrid *mg = NULL;
        int64_t n = side * side, size[3] = { side, side, 1 };
        assert_int_equal(rp__multigrid_create(size, (bool[3]){ 0 }, &mg), RP_OK);
        fill(mg, n, 3, false);
        double *b = calloc((size_t)n, sizeof *b), *x = calloc((size_t)n, sizeof *x);
        b[0] = 1, b[n - 1] = -1;
        rp__multigrid_report report = rp__multigrid_solve(mg, NULL, b, 1e-9, 200, x);
        assert_true(report.converged);
        least = report.iterations < least ? report.iterations : least;
        largest = report.iterations > largest ? report.iterations : largest;
        free(b);
        free(x);
        rp__multigrid_destroy(mg);
    }
    if (largest > 2 * least)
        fail_msg("from %d to %d iterations", (int)least, (int)largest);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    enum { N = 40 * 36 * 30 };
    static double first[N], x[N], b[N];
    const int64_t size[3] = { 40, 36, 30 };
    for (int threads = 1; threads <= 4; threads += 3) {
        rp__exec_set_threads(threads);
        rp__multigrid *mg = NULL;
        assert_int_equal(rp__multigrid_create(size, (bool[3]){ 1, 0, 0 }, &mg), RP_OK);
        fill(mg, N, 100, true);
        for (int64_t i = 0; i < N; i++)
            b[i] = value((uint64_t)i) - 0.5;
        memset(x, 0, sizeof x);
        assert_true(rp__multigrid_solve(mg, NULL, b, 1e-9, 100, x).converged);
        if (threads == 1)
            memcpy(first, x, sizeof x);
        else
            assert_memory_equal(first, x, sizeof x);
        rp__multigrid_destroy(mg);
    }
    rp__exec_set_threads(0);
}

/* Cells behind closed faces keep what they have; the others are solved. */
static void closed_cells_are_left_alone(void **state)
{
    (void)state;
    const int64_t size[3] = { 12, 12, 1 };
    rp__multigrid *mg = NULL;
    assert_int_equal(rp__multigrid_create(size, (bool[3]){ 0 }, &mg), RP_OK);
    fill(mg, 144, 1, true);
    int64_t lonely = 6 * 12 + 6;
    for (int a = 0; a < 2; a++) {
        rp__multigrid_faces(mg, a)[lonely] = 0;
        rp__multigrid_faces(mg, a)[lonely - (a ? 12 : 1)] = 0;
    }
    rp__multigrid_prepare(mg);
    double b[144] = { 0 }, x[144] = { 0 };
    b[100] = 1;
    x[lonely] = 5;
    assert_true(rp__multigrid_diagonal(mg, lonely) == 0);
    assert_true(rp__multigrid_solve(mg, NULL, b, 1e-10, 100, x).converged);
    assert_true(x[lonely] == 5);
    rp__multigrid_destroy(mg);
}

static void refuses_and_runs_out(void **state)
{
    (void)state;
    rp__multigrid *mg = NULL;
    assert_int_equal(rp__multigrid_create((int64_t[3]){ 5, 4, 1 }, (bool[3]){ 1, 0, 0 }, &mg), RP_BAD_ARGUMENT);
    assert_int_equal(rp__multigrid_create((int64_t[3]){ 0, 4, 1 }, (bool[3]){ 0 }, &mg), RP_BAD_ARGUMENT);
    rp__base_fail_allocation(0);
    assert_int_equal(rp__multigrid_create((int64_t[3]){ 8, 8, 1 }, (bool[3]){ 0 }, &mg), RP_OK);
    rp__multigrid_destroy(mg);
    int64_t asked = rp__base_fail_allocation(0);
    for (int64_t n = 1; n <= asked; n++) {
        rp__base_fail_allocation(n);
        assert_int_equal(rp__multigrid_create((int64_t[3]){ 8, 8, 1 }, (bool[3]){ 0 }, &mg), RP_OUT_OF_MEMORY);
    }
    rp__base_fail_allocation(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put_in), cmocka_unit_test(grows_slowly), cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(closed_cells_are_left_alone), cmocka_unit_test(refuses_and_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
