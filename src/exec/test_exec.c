#include "base/memory.h"
#include "exec/exec.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const int counts[] = { 1, 2, 5, 16 };
enum { COUNTS = sizeof counts / sizeof *counts, N = 100003, BLOCKS = 40 };

static void every_item_is_done_once(void *context, int64_t begin, int64_t end, int worker)
{
    uint8_t *seen = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        seen[i]++;
}

static void loops_cover_their_range(void **state)
{
    (void)state;
    static uint8_t seen[N];
    static const int64_t grains[] = { -1, 1, 7, 1000, N, 10 * N, INT64_MAX };
    for (int c = 0; c < COUNTS; c++)
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
            rp__exec_set_threads(counts[c]);
            assert_int_equal(rp__exec_threads(), counts[c]);
            int64_t n = grains[g] < 7 ? 1000 : N;
            memset(seen, 0, sizeof seen);
            rp__exec_for(n, grains[g], every_item_is_done_once, seen);
            for (int64_t i = 0; i < N; i++)
                assert_int_equal(seen[i], i < n);
        }
    rp__exec_for(0, 1, every_item_is_done_once, NULL);
    rp__exec_for(-5, 1, every_item_is_done_once, NULL);
    rp__exec_set_threads(0);
    assert_true(rp__exec_threads() >= 1);
}

typedef struct chunk_record {
    int64_t end[N / 1000 + 1];
    atomic_int bad_worker;
} chunk_record;

static void record_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    chunk_record *r = context;
    r->end[begin / 1000] = end;
    if (worker < 0 || worker >= rp__exec_threads())
        atomic_fetch_add(&r->bad_worker, 1);
}

static void chunks_depend_on_the_data_alone(void **state)
{
    (void)state;
    static chunk_record first, other;
    for (int c = 0; c < COUNTS; c++) {
        chunk_record *r = c == 0 ? &first : &other;
        memset(r, 0, sizeof *r);
        rp__exec_set_threads(counts[c]);
        rp__exec_for(N, 1000, record_chunk, r);
        assert_memory_equal(r->end, first.end, sizeof first.end);
        assert_int_equal(atomic_load(&r->bad_worker), 0);
    }
    assert_int_equal(first.end[N / 1000], N);
}

/* A value whose sum depends on the order of additions. */
static double awkward(int64_t i)
{
    return ldexp(sin(0.1 + (double)i), (int)(i * 7919 % 60) - 30);
}

static void add_up(void *context, int64_t begin, int64_t end, double *partial)
{
    (void)context;
    for (int64_t i = begin; i < end; i++) {
        partial[0] += awkward(i);
        partial[1] += 1;
        partial[2] += awkward(i) * awkward(N - i);
    }
}

static void find_largest(void *context, int64_t begin, int64_t end, double *partial)
{
    const int64_t *nan_at = context;
    for (int64_t i = begin; i < end; i++) {
        double x = i == *nan_at ? NAN : awkward(i);
        partial[0] = x > partial[0] || isnan(x) ? x : partial[0];
    }
}

static void reductions_give_the_same_bytes(void **state)
{
    (void)state;
    double first[3], sum[3], backwards = 0, forwards = 0;
    for (int c = 0; c < COUNTS; c++) {
        rp__exec_set_threads(counts[c]);
        for (int repeat = 0; repeat < 5; repeat++) {
            rp__exec_sum(N, 64, 3, add_up, NULL, sum);
            if (c == 0 && repeat == 0)
                memcpy(first, sum, sizeof first);
            assert_memory_equal(sum, first, sizeof sum);
        }
        int64_t none = -1;
        double largest, expected = -INFINITY;
        rp__exec_max(N, 64, 1, find_largest, &none, &largest);
        for (int64_t i = 0; i < N; i++)
            expected = fmax(expected, awkward(i));
        assert_true(largest == expected);
        int64_t middle = N / 2;
        rp__exec_max(N, 64, 1, find_largest, &middle, &largest);
        assert_true(isnan(largest)); /* a NaN is not lost on the way */
    }
    assert_true(sum[1] == N);
    for (int64_t i = 0; i < N; i++)
        forwards += awkward(i), backwards += awkward(N - 1 - i);
    assert_true(forwards != backwards); /* else this test shows nothing */
    rp__exec_sum(0, 64, 3, add_up, NULL, sum);
    assert_true(sum[0] == 0 && sum[1] == 0);
    double least;
    rp__exec_max(0, 64, 1, find_largest, NULL, &least);
    assert_true(least == -INFINITY);
}

/* ---- colours: blocks of a square add into themselves and their three neighbours on the upper side ---- */

typedef struct square {
    double value[(BLOCKS + 1) * (BLOCKS + 1)];
} square;

static void spread(void *context, int64_t item, int worker)
{
    square *s = context;
    (void)worker;
    int64_t x = item % BLOCKS, y = item / BLOCKS;
    for (int64_t j = 0; j < 2; j++)
        for (int64_t i = 0; i < 2; i++) {
            double *v = &s->value[(y + j) * (BLOCKS + 1) + x + i];
            *v = *v * 0.999 + awkward(item); /* depends on who comes first */
        }
}

/* By parity: blocks of one colour are never neighbours. */
static void colour_blocks(int32_t items[BLOCKS * BLOCKS], int64_t start[5])
{
    int64_t n = start[0] = 0;
    for (int c = 0; c < 4; c++, start[c] = n)
        for (int32_t i = 0; i < BLOCKS * BLOCKS; i++)
            if ((i % BLOCKS & 1) + 2 * (i / BLOCKS & 1) == c)
                items[n++] = i;
    assert_int_equal(start[4], BLOCKS * BLOCKS);
}

static void coloured_work_gives_the_same_bytes(void **state)
{
    (void)state;
    static int32_t items[BLOCKS * BLOCKS];
    static square first, other;
    int64_t start[5];
    colour_blocks(items, start);
    for (int c = 0; c < COUNTS; c++)
        for (int64_t grain = 0; grain < 4; grain++) {
            square *s = c == 0 && grain == 0 ? &first : &other;
            memset(s, 0, sizeof *s);
            rp__exec_set_threads(counts[c]);
            rp__exec_colors(4, start, items, grain, spread, s);
            assert_memory_equal(s, &first, sizeof first);
        }
}

/* ---- teams: smoothing with a barrier a sweep ---- */

enum { SWEEPS = 50, CELLS = 2000 };

typedef struct smoothing {
    double a[CELLS], b[CELLS];
    int covered[CELLS];
} smoothing;

static void smooth(void *context, rp__exec_team *team, int worker)
{
    smoothing *s = context;
    int64_t begin, end;
    rp__exec_team_share(team, worker, 0, CELLS, 8, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        s->covered[i]++;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double *from = sweep % 2 ? s->b : s->a, *to = sweep % 2 ? s->a : s->b;
        for (int64_t i = begin; i < end; i++)
            to[i] = 0.25 * from[i > 0 ? i - 1 : 0] + 0.5 * from[i] + 0.25 * from[i + 1 < CELLS ? i + 1 : i];
        rp__exec_team_barrier(team);
    }
}

static void teams_give_the_same_bytes(void **state)
{
    (void)state;
    static smoothing first, other;
    for (int c = 0; c < COUNTS; c++) {
        smoothing *s = c == 0 ? &first : &other;
        memset(s, 0, sizeof *s);
        for (int i = 0; i < CELLS; i++)
            s->a[i] = awkward(i);
        rp__exec_set_threads(counts[c]);
        rp__exec_team_run(smooth, s);
        for (int i = 0; i < CELLS; i++)
            assert_int_equal(s->covered[i], 1);
        assert_memory_equal(s, &first, sizeof first);
    }
}

/* ---- nesting ---- */

typedef struct nest {
    atomic_int inside[64], clashes, items;
} nest;

static void inner_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    nest *n = context;
    if (worker >= rp__exec_threads())
        atomic_fetch_add(&n->clashes, 1);
    if (atomic_fetch_add(&n->inside[worker], 1) != 0) /* two threads under one number would share scratch */
        atomic_fetch_add(&n->clashes, 1);
    atomic_fetch_add(&n->items, (int)(end - begin));
    atomic_fetch_sub(&n->inside[worker], 1);
}

static void inner_item(void *context, int64_t item, int worker)
{
    inner_chunk(context, item, item + 1, worker);
}

static void outer_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    static const int64_t first[2] = { 0, 3 };
    static const int32_t items[3] = { 0, 1, 2 };
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        rp__exec_for(10, 3, inner_chunk, context);
        rp__exec_colors(1, first, items, 1, inner_item, context);
    }
}

static void nested_calls_keep_their_worker(void **state)
{
    (void)state;
    static nest n;
    rp__exec_set_threads(16);
    rp__exec_for(200, 1, outer_chunk, &n);
    assert_int_equal(atomic_load(&n.clashes), 0);
    assert_int_equal(atomic_load(&n.items), 200 * 13);
}

/* ---- a crew ---- */

static void a_crew_gives_the_same_bytes(void **state)
{
    (void)state;
    static int32_t items[BLOCKS * BLOCKS];
    static square plain, other;
    static uint8_t seen[N];
    static nest n;
    int64_t start[5];
    double sum[3], with[3];
    colour_blocks(items, start);
    rp__exec_set_threads(1);
    rp__exec_colors(4, start, items, 1, spread, &plain);
    rp__exec_sum(N, 64, 3, add_up, NULL, sum);
    for (int repeat = 0; repeat < 20; repeat++) /* helpers awake, dozing and asleep */
        for (int c = 0; c < COUNTS; c++) {
            rp__exec_set_threads(counts[c]);
            bool gathered = rp__exec_gather();
            assert_true(gathered == (counts[c] > 1) && !rp__exec_gather());
            memset(seen, 0, sizeof seen);
            rp__exec_for(N, 100, every_item_is_done_once, seen);
            for (int64_t i = 0; i < N; i++)
                assert_int_equal(seen[i], 1);
            rp__exec_sum(N, 64, 3, add_up, NULL, with);
            assert_memory_equal(with, sum, sizeof sum);
            memset(&other, 0, sizeof other);
            rp__exec_colors(4, start, items, repeat % 4, spread, &other);
            assert_memory_equal(&other, &plain, sizeof plain);
            atomic_store(&n.items, 0);
            rp__exec_for(200, 1, outer_chunk, &n);
            assert_int_equal(atomic_load(&n.items), 200 * 13);
            assert_int_equal(atomic_load(&n.clashes), 0);
            rp__exec_set_threads(2);
            rp__exec_for(200, 1, outer_chunk, &n); /* fewer than were gathered: no worker has a number beyond them */
            assert_int_equal(atomic_load(&n.clashes), 0);
            rp__exec_dismiss(gathered);
        }
}

static void a_new_process_works_without_the_crew(void **state)
{
    (void)state;
    static uint8_t seen[N];
    int status = -1;
    rp__exec_set_threads(4);
    bool gathered = rp__exec_gather();
    pid_t child = fork();
    assert_true(gathered && child >= 0);
    if (child == 0) {
        bool all = true;
        rp__exec_for(N, 100, every_item_is_done_once, seen);
        for (int64_t i = 0; i < N; i++)
            all = all && seen[i] == 1;
        _exit(all ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rp__exec_dismiss(gathered);
}

/* ---- floating-point control ---- */

static double smaller(volatile const double *x)
{
    return *x / 4; /* denormal, or zero under flush-to-zero */
}

typedef struct flush {
    double tiny;
    atomic_int not_flushed;
} flush;

static void look_at_denormals(void *context, int64_t begin, int64_t end, int worker)
{
    flush *f = context;
    (void)begin, (void)end, (void)worker;
    if (smaller(&f->tiny) != 0)
        atomic_fetch_add(&f->not_flushed, 1);
}

static void callers_keep_their_denormals(void **state)
{
    (void)state;
#if defined(__SSE__) || defined(__aarch64__)
    flush f = { .tiny = DBL_MIN };
    for (int c = 0; c < COUNTS; c++) {
        rp__exec_set_threads(counts[c]);
        assert_true(smaller(&f.tiny) > 0);
        rp__exec_for(100, 1, look_at_denormals, &f);
        assert_int_equal(atomic_load(&f.not_flushed), 0);
        assert_true(smaller(&f.tiny) > 0);
        int zeros = 0; /* and the threads of the caller's own regions do too */
#pragma omp parallel num_threads(4) reduction(+ : zeros)
        zeros += !(smaller(&f.tiny) > 0);
        assert_int_equal(zeros, 0);
    }
    unsigned control = rp__exec_flush_to_zero();
    assert_true(smaller(&f.tiny) == 0);
    rp__exec_restore(control);
    assert_true(smaller(&f.tiny) > 0);
    bool held = rp__exec_hold_flush();
    assert_true(held && !rp__exec_hold_flush() && smaller(&f.tiny) == 0);
    rp__exec_for(100, 1, look_at_denormals, &f);
    assert_true(smaller(&f.tiny) == 0);
    rp__exec_release_flush(held);
    assert_true(smaller(&f.tiny) > 0);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_cover_their_range),
        cmocka_unit_test(chunks_depend_on_the_data_alone),
        cmocka_unit_test(reductions_give_the_same_bytes),
        cmocka_unit_test(coloured_work_gives_the_same_bytes),
        cmocka_unit_test(teams_give_the_same_bytes),
        cmocka_unit_test(nested_calls_keep_their_worker),
        cmocka_unit_test(a_crew_gives_the_same_bytes),
        cmocka_unit_test(a_new_process_works_without_the_crew),
        cmocka_unit_test(callers_keep_their_denormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
