#include "exec/exec.h"

#include "base/memory.h"
#include "base/timer.h"
#include "exec/crew.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static _Thread_local int thread_count;     /* 0: all cores */
static _Thread_local int this_worker = -1; /* the number of this thread in the region it is in; -1 outside */
static _Thread_local bool has_crew;

void rp__exec_set_threads(int count)
{
    thread_count = count > 0 ? count : 0;
}

int rp__exec_threads(void)
{
    return thread_count > 0 ? thread_count : omp_get_num_procs();
}

/* ---- ticks ---- */

static _Thread_local struct {
    rp__exec_tick_fn function;
    void *context;
    double seconds, last;
    unsigned control; /* of the caller, outside the loops */
    bool held;        /* the caller holds flush-to-zero between loops, too */
} tick;

void rp__exec_set_tick(rp__exec_tick_fn function, void *context, double seconds)
{
    tick.function = function;
    tick.context = context;
    tick.seconds = seconds;
    tick.last = function ? rp__base_seconds() : 0;
}

static void call_tick(void)
{
    double now = rp__base_seconds();
    if (now - tick.last < tick.seconds)
        return;
    tick.last = now;
    unsigned inside = rp__exec_flush_to_zero();
    rp__exec_restore(tick.control);
    tick.function(tick.context);
    rp__exec_restore(inside);
}

void rp__exec_tick(void)
{
    if (tick.function && this_worker < 0) {
        if (!tick.held) {
            tick.control = rp__exec_flush_to_zero();
            rp__exec_restore(tick.control);
        }
        call_tick();
    }
}

/* ---- floating-point control ---- */

unsigned rp__exec_flush_to_zero(void)
{
#if defined(__SSE__)
    unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040u); /* flush to zero, denormals are zero */
    return control;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (UINT64_C(1) << 24)));
    return (unsigned)control;
#else
    return 0;
#endif
}

void rp__exec_restore(unsigned control)
{
#if defined(__SSE__)
    _mm_setcsr(control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control));
#else
    (void)control;
#endif
}

bool rp__exec_hold_flush(void)
{
    if (this_worker >= 0 || tick.held)
        return false;
    tick.control = rp__exec_flush_to_zero();
    return tick.held = true;
}

void rp__exec_release_flush(bool held)
{
    if (!held)
        return;
    tick.held = false;
    rp__exec_restore(tick.control);
}

/* ---- the one parallel region ---- */

/* What a region needs. Its threads meet at an atomic of the caller: that orders memory between the caller and its workers in the terms of C,
 * so that a thread sanitizer that does not know the OpenMP runtime sees the order too. The atomic is not part of the job, which is on the stack of
 * the caller: the first access of a worker would meet what older frames left there, before any order is known. */
typedef struct job {
    void (*run)(struct job *job, int worker);
    void *context;
    const rp__base_context *base; /* whose memory and messages: of the caller, and so of its workers */
    atomic_int *place;  /* where its threads meet */
    int limit;          /* rp__exec_threads() of the caller, and so of its workers */
    atomic_int size;    /* threads in the region: each sets the same number before it reads it */
} job;

static _Thread_local atomic_int meeting_place;

/* Everything before by any thread happens before everything after by any other: used on both sides of a barrier. */
static void meet(atomic_int *place)
{
    atomic_fetch_add_explicit(place, 1, memory_order_acq_rel);
}

static int size_of(const job *j)
{
    return atomic_load_explicit(&j->size, memory_order_relaxed);
}

static void run_on_this_thread(job *j, int worker)
{
    int outer = this_worker, outer_count = thread_count;
    unsigned control = rp__exec_flush_to_zero();
    const rp__base_context *outer_base = rp__base_enter(j->base);
    if (outer < 0 && !tick.held)
        tick.control = control;
    this_worker = worker;
    thread_count = j->limit;
    j->run(j, worker);
    this_worker = outer;
    thread_count = outer_count;
    rp__base_enter(outer_base);
    rp__exec_restore(control);
}

/* Runs j->run on `threads` threads; inside a region (ours or the caller's) or for one thread on the calling thread alone. */
static void fork_and_join(job *j, int threads)
{
    j->limit = rp__exec_threads();
    j->base = rp__base_current();
    if (threads <= 1 || this_worker >= 0 || omp_in_parallel()) {
        atomic_store_explicit(&j->size, 1, memory_order_relaxed);
        run_on_this_thread(j, this_worker >= 0 ? this_worker : 0);
        return;
    }
    atomic_int *place = j->place = &meeting_place;
    meet(place);
#pragma omp parallel num_threads(threads) default(none) firstprivate(j, place)
    {
        meet(place);
        atomic_store_explicit(&j->size, omp_get_num_threads(), memory_order_relaxed);
        run_on_this_thread(j, omp_get_thread_num());
        meet(place);
    }
    meet(place);
}

/* ---- the crew ---- */

bool rp__exec_gather(void)
{
    int threads = rp__exec_threads();
    if (threads < 2 || this_worker >= 0 || has_crew || omp_in_parallel())
        return false;
    return has_crew = rp__exec_crew_take(threads - 1);
}

void rp__exec_dismiss(bool gathered)
{
    if (!gathered)
        return;
    has_crew = false;
    rp__exec_crew_give_back();
}

static void run_from_crew(void *context, int worker)
{
    job *j = context;
    if (worker < j->limit) /* it may have been lowered since they were gathered */
        run_on_this_thread(j, worker);
}

/* Runs j->run, which shares out its work among those who come. */
static void run_freely(job *j, int threads)
{
    if (!has_crew || this_worker >= 0 || threads <= 1) {
        fork_and_join(j, threads);
        return;
    }
    j->limit = rp__exec_threads();
    j->base = rp__base_current();
    rp__exec_crew_do(run_from_crew, j);
}

/* ---- loops ---- */

typedef struct loop {
    job job;
    rp__exec_fn function;
    void *context;
    int64_t n, grain, chunks;
    _Atomic int64_t next;
} loop;

static void run_loop(job *j, int worker)
{
    loop *l = j->context;
    for (;;) {
        int64_t k = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (k >= l->chunks)
            return;
        int64_t begin = k * l->grain, end = l->n - begin > l->grain ? begin + l->grain : l->n;
        l->function(l->context, begin, end, worker);
        if (tick.function)
            call_tick();
    }
}

void rp__exec_for(int64_t n, int64_t grain, rp__exec_fn function, void *context)
{
    if (n <= 0)
        return;
    if (grain < 1)
        grain = 1;
    loop l = { .job = { .run = run_loop }, .function = function, .context = context, .n = n, .grain = grain };
    l.chunks = n / grain + (n % grain != 0);
    l.job.context = &l;
    int threads = rp__exec_threads();
    run_freely(&l.job, threads > l.chunks ? (int)l.chunks : threads);
}

/* ---- reductions ---- */

/* At most MAX_CHUNKS partial results, so that they fit on the stack; the grain grows with n alone. */
enum { MAX_CHUNKS = 512 };

typedef struct reduction {
    rp__exec_sum_fn function;
    void *context;
    int64_t n, grain;
    int width;
    double start;
    double partial[MAX_CHUNKS][RP_EXEC_MAX_WIDTH];
} reduction;

static void reduce_chunks(void *context, int64_t begin, int64_t end, int worker)
{
    reduction *r = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        double local[RP_EXEC_MAX_WIDTH];
        for (int w = 0; w < r->width; w++)
            local[w] = r->start;
        int64_t first = k * r->grain, last = r->n - first > r->grain ? first + r->grain : r->n;
        r->function(r->context, first, last, local);
        for (int w = 0; w < r->width; w++)
            r->partial[k][w] = local[w];
    }
}

/* Fills r->partial and returns how many chunks there are. */
static int64_t reduce(reduction *r, int64_t n, int64_t grain, int width, double start, rp__exec_sum_fn function, void *context)
{
    if (n <= 0)
        return 0;
    if (grain < 1)
        grain = 1;
    while (n / grain + (n % grain != 0) > MAX_CHUNKS)
        grain = grain > INT64_MAX / 2 ? n : 2 * grain;
    r->function = function;
    r->context = context;
    r->n = n;
    r->grain = grain;
    r->width = width < RP_EXEC_MAX_WIDTH ? width : RP_EXEC_MAX_WIDTH;
    r->start = start;
    int64_t chunks = n / grain + (n % grain != 0);
    rp__exec_for(chunks, 1, reduce_chunks, r);
    return chunks;
}

void rp__exec_sum(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result)
{
    reduction r;
    int64_t chunks = reduce(&r, n, grain, width, 0, function, context);
    for (int w = 0; w < width; w++) {
        double sum = 0;
        for (int64_t k = 0; k < chunks; k++)
            sum += r.partial[k][w];
        result[w] = sum;
    }
}

void rp__exec_max(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result)
{
    reduction r;
    int64_t chunks = reduce(&r, n, grain, width, -INFINITY, function, context);
    for (int w = 0; w < width; w++) {
        double largest = -INFINITY;
        for (int64_t k = 0; k < chunks; k++) /* a NaN stays */
            largest = r.partial[k][w] > largest || isnan(r.partial[k][w]) ? r.partial[k][w] : largest;
        result[w] = largest;
    }
}

/* ---- teams ---- */

struct rp__exec_team {
    job job;
    rp__exec_team_fn function;
    void *context;
};

static void run_team(job *j, int worker)
{
    rp__exec_team *team = j->context;
    team->function(team->context, team, size_of(j) > 1 ? worker : 0);
}

void rp__exec_team_run(rp__exec_team_fn function, void *context)
{
    rp__exec_team team = { .job = { .run = run_team }, .function = function, .context = context };
    team.job.context = &team;
    fork_and_join(&team.job, rp__exec_threads());
}

void rp__exec_team_barrier(rp__exec_team *team)
{
    if (tick.function)
        call_tick();
    if (size_of(&team->job) == 1) /* there may be a region of someone else around */
        return;
    meet(team->job.place);
#pragma omp barrier
    meet(team->job.place);
}

int rp__exec_team_size(const rp__exec_team *team)
{
    return size_of(&team->job);
}

void rp__exec_team_share(const rp__exec_team *team, int worker, int64_t first, int64_t last, int64_t grain, int64_t *begin,
                         int64_t *end)
{
    if (grain < 1)
        grain = 1;
    int64_t n = last > first ? last - first : 0, size = size_of(&team->job);
    int64_t grains = n / grain + (n % grain != 0), share = grains / size, more = grains % size;
    int64_t mine = worker * share + (worker < more ? worker : more), next = mine + share + (worker < more);
    *begin = first + (mine * grain < n ? mine * grain : n);
    *end = first + (next * grain < n ? next * grain : n);
}

/* ---- colours ---- */

typedef struct coloured {
    int colors;
    const int64_t *first;
    const int32_t *items;
    int64_t grain;
    rp__exec_item_fn function;
    void *context;
    _Atomic int64_t next[2]; /* of this colour and the one after */
} coloured;

static void run_colors(void *context, rp__exec_team *team, int worker)
{
    coloured *c = context;
    for (int color = 0; color < c->colors; color++) {
        int64_t last = c->first[color + 1];
        for (;;) {
            int64_t begin = c->first[color] + atomic_fetch_add_explicit(&c->next[color % 2], c->grain, memory_order_relaxed);
            if (begin >= last)
                break;
            int64_t end = last - begin > c->grain ? begin + c->grain : last;
            for (int64_t i = begin; i < end; i++)
                c->function(c->context, c->items[i], this_worker);
        }
        rp__exec_team_barrier(team);
        /* nobody is in this colour any more; the next use of its counter is two barriers away */
        if (worker == 0)
            atomic_store_explicit(&c->next[color % 2], 0, memory_order_relaxed);
    }
}

/* The same without a team: items are taken in their order, and one of a colour waits until all before it have been done. */
typedef struct in_turn {
    job job;
    const coloured *c;
    _Atomic int64_t next, done;
} in_turn;

static void run_in_turn(job *j, int worker)
{
    in_turn *t = j->context;
    const coloured *c = t->c;
    (void)worker;
    for (int color = 0;;) {
        int64_t k = atomic_fetch_add_explicit(&t->next, c->grain, memory_order_relaxed), all = c->first[c->colors];
        if (k >= all)
            return;
        for (int64_t last = all - k > c->grain ? k + c->grain : all; k < last; k++) {
            while (k >= c->first[color + 1])
                color++;
            for (int turns = 0; atomic_load_explicit(&t->done, memory_order_acquire) < c->first[color];)
                rp__exec_crew_wait(&turns);
            c->function(c->context, c->items[k], this_worker);
            atomic_fetch_add_explicit(&t->done, 1, memory_order_acq_rel);
        }
        if (tick.function)
            call_tick();
    }
}

void rp__exec_colors(int colors, const int64_t *first, const int32_t *items, int64_t grain, rp__exec_item_fn function,
                     void *context)
{
    coloured c = { .colors = colors, .first = first, .items = items, .grain = grain < 1 ? 1 : grain, .function = function,
                   .context = context };
    if (has_crew && this_worker < 0) {
        in_turn t = { .job = { .run = run_in_turn }, .c = &c };
        t.job.context = &t;
        run_freely(&t.job, rp__exec_threads());
        return;
    }
    rp__exec_team_run(run_colors, &c);
}
