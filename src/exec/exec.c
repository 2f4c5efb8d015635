#include "exec/exec.h"

#include "base/error.h"

#include <math.h>
#include <omp.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static _Thread_local int thread_count; /* 0: all cores */

void rp__exec_set_threads(int count)
{
    thread_count = count > 0 ? count : 0;
}

int rp__exec_threads(void)
{
    return thread_count > 0 ? thread_count : omp_get_num_procs();
}

void rp__exec_flush_to_zero(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040u); /* flush to zero, denormals are zero */
#endif
}

void rp__exec_for(int64_t n, int64_t grain, rp__exec_fn function, void *context)
{
    if (n <= 0)
        return;
    if (grain < 1)
        grain = 1;
    int64_t chunks = (n + grain - 1) / grain;
    int threads = rp__exec_threads();
    if (threads > chunks)
        threads = (int)chunks;
#pragma omp parallel num_threads(threads)
    {
        rp__exec_flush_to_zero();
#pragma omp for schedule(dynamic, 1)
        for (int64_t k = 0; k < chunks; k++) {
            int64_t begin = k * grain, end = begin + grain < n ? begin + grain : n;
            function(context, begin, end, omp_get_thread_num());
        }
    }
}

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
        int64_t last = (k + 1) * r->grain < r->n ? (k + 1) * r->grain : r->n;
        r->function(r->context, k * r->grain, last, local);
        for (int w = 0; w < r->width; w++)
            r->partial[k][w] = local[w];
    }
}

static int64_t reduce(reduction *r)
{
    if (r->grain < 1)
        r->grain = 1;
    while ((r->n + r->grain - 1) / r->grain > MAX_CHUNKS)
        r->grain *= 2;
    int64_t chunks = (r->n + r->grain - 1) / r->grain;
    rp__exec_for(chunks, 1, reduce_chunks, r);
    return chunks;
}

void rp__exec_sum(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result)
{
    reduction r = { .function = function, .context = context, .n = n, .grain = grain, .width = width, .start = 0 };
    int64_t chunks = n > 0 ? reduce(&r) : 0;
    for (int w = 0; w < width; w++) {
        double sum = 0;
        for (int64_t k = 0; k < chunks; k++)
            sum += r.partial[k][w];
        result[w] = sum;
    }
}

void rp__exec_max(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result)
{
    reduction r = { .function = function, .context = context, .n = n, .grain = grain, .width = width, .start = -INFINITY };
    int64_t chunks = n > 0 ? reduce(&r) : 0;
    for (int w = 0; w < width; w++) {
        double largest = -INFINITY;
        for (int64_t k = 0; k < chunks; k++)
            largest = r.partial[k][w] > largest ? r.partial[k][w] : largest;
        result[w] = largest;
    }
}

void rp__exec_colors(int colors, const int64_t *first, const int32_t *items, int64_t grain, rp__exec_item_fn function,
                     void *context)
{
    if (grain < 1)
        grain = 1;
    int threads = rp__exec_threads();
#pragma omp parallel num_threads(threads)
    {
        rp__exec_flush_to_zero();
        for (int c = 0; c < colors; c++) {
#pragma omp for schedule(dynamic, grain)
            for (int64_t i = first[c]; i < first[c + 1]; i++)
                function(context, items[i], omp_get_thread_num());
        } /* the barrier at the end of each loop separates the colours */
    }
}

struct rp__exec_team {
    int size;
};

void rp__exec_team_run(rp__exec_team_fn function, void *context)
{
    int threads = rp__exec_threads();
#pragma omp parallel num_threads(threads)
    {
        rp__exec_flush_to_zero();
        rp__exec_team team = { .size = omp_get_num_threads() };
        function(context, &team, omp_get_thread_num());
    }
}

void rp__exec_team_barrier(rp__exec_team *team)
{
    (void)team;
#pragma omp barrier
}

int rp__exec_team_size(const rp__exec_team *team)
{
    return team->size;
}
