/* Memory bandwidth and arithmetic speed. Alone: bench_machine [--json] */
#include "machine.h"

#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Three arrays of 64 MB: no cache keeps them. */
enum { ELEMENTS = 8 << 20, GRAIN = 1 << 16, PASSES = 8 };

typedef struct arrays {
    double *a, *b, *c;
} arrays;

static void touch(void *context, int64_t begin, int64_t end, int worker)
{
    arrays *s = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        s->a[i] = 0, s->b[i] = 1, s->c[i] = 2;
}

static void copy(void *context, int64_t begin, int64_t end, int worker)
{
    arrays *s = context;
    (void)worker;
    memcpy(s->a + begin, s->b + begin, (size_t)(end - begin) * sizeof(double));
}

static void triad(void *context, int64_t begin, int64_t end, int worker)
{
    arrays *s = context;
    double *restrict a = s->a;
    const double *restrict b = s->b, *restrict c = s->c;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        a[i] = b[i] + 3 * c[i];
}

/* Bytes a second of the fastest pass; 0 when there is no memory for it. */
static double stream(rp__exec_fn function, double bytes_per_element, int threads)
{
    arrays s = { rp__base_alloc(ELEMENTS * sizeof(double)), rp__base_alloc(ELEMENTS * sizeof(double)),
                 rp__base_alloc(ELEMENTS * sizeof(double)) };
    double best = 0;
    if (s.a && s.b && s.c) {
        int before = rp__exec_threads();
        rp__exec_set_threads(threads);
        rp__exec_for(ELEMENTS, GRAIN, touch, &s);
        for (int pass = 0; pass < PASSES; pass++) {
            double start = rp__base_seconds();
            rp__exec_for(ELEMENTS, GRAIN, function, &s);
            double rate = bytes_per_element * ELEMENTS / (rp__base_seconds() - start);
            best = rate > best ? rate : best;
        }
        rp__exec_set_threads(before);
    }
    rp__base_free(s.a), rp__base_free(s.b), rp__base_free(s.c);
    return best;
}

double bench_copy(int threads)
{
    return stream(copy, 2 * sizeof(double), threads);
}

double bench_triad(int threads)
{
    return stream(triad, 3 * sizeof(double), threads);
}

double bench_bandwidth(int threads)
{
    double c = bench_copy(threads), t = bench_triad(threads);
    return c > t ? c : t;
}

/* ---- arithmetic: CHAINS independent chains of multiply-adds on the widest vectors there are ---- */

#if defined(__AVX512F__)
enum { WIDTH = 8 };
#elif defined(__AVX__)
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
enum { CHAINS = 12, ROUNDS = 1 << 22 };
typedef double vector __attribute__((vector_size(WIDTH * sizeof(double))));

static void multiply_and_add(void *context, int64_t begin, int64_t end, int worker)
{
    double *result = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        vector sum[CHAINS], factor, term;
        for (int i = 0; i < WIDTH; i++)
            factor[i] = 0.999999, term[i] = 1e-6;
        for (int c = 0; c < CHAINS; c++)
            sum[c] = term * (double)c;
        for (int round = 0; round < ROUNDS; round++)
            for (int c = 0; c < CHAINS; c++)
                sum[c] = sum[c] * factor + term;
        double total = 0;
        for (int c = 0; c < CHAINS; c++)
            for (int i = 0; i < WIDTH; i++)
                total += sum[c][i];
        result[k] = total;
    }
}

double bench_flops(int threads)
{
    double results[64] = { 0 }, best = 0;
    if (threads > 64)
        threads = 64;
    int before = rp__exec_threads();
    rp__exec_set_threads(threads);
    for (int pass = 0; pass < 4; pass++) {
        double start = rp__base_seconds();
        rp__exec_for(threads, 1, multiply_and_add, results);
        double rate = 2.0 * CHAINS * WIDTH * ROUNDS * threads / (rp__base_seconds() - start);
        best = rate > best && results[0] > 0 ? rate : best;
    }
    rp__exec_set_threads(before);
    return best;
}

#ifdef BENCH_MACHINE_MAIN
int main(int argc, char **argv)
{
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "usage: bench_machine [--json]\n");
        return 2;
    }
    if (!json)
        printf("threads   copy GB/s  triad GB/s  Gflop/s (double)\n");
    for (int threads = 1; threads <= 2; threads++) {
        double c = bench_copy(threads) * 1e-9, t = bench_triad(threads) * 1e-9, f = bench_flops(threads) * 1e-9;
        if (json)
            printf("%s{\"threads\": %d, \"copy_GB_per_s\": %.4g, \"triad_GB_per_s\": %.4g, \"gflop_per_s\": %.4g}%s\n",
                   threads == 1 ? "[" : " ", threads, c, t, f, threads == 1 ? "," : "]");
        else
            printf("%7d  %10.1f  %10.1f  %16.1f\n", threads, c, t, f);
    }
    return 0;
}
#endif
