/* The limits of the machine: memory bandwidth and arithmetic, measured in the run that is compared with them. */
#include "base/error.h"
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"

#include <repose/machine.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static double measure_flops(int threads)
{
    double results[64] = { 0 }, best = 0;
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

rp_result rp_machine_measure(int threads, rp_machine_limits *out)
{
    if (threads < 1 || threads > 64)
        return rp__base_fail(RP_BAD_ARGUMENT, "limits of %d threads; right is 1 to 64", threads);
    rp_machine_limits limits = { .threads = threads };
    limits.copy = stream(copy, 2 * sizeof(double), threads);
    limits.triad = stream(triad, 3 * sizeof(double), threads);
    if (!(limits.copy > 0 && limits.triad > 0))
        return rp__base_fail(RP_OUT_OF_MEMORY, "no memory for three arrays of %d MB", (int)(ELEMENTS * sizeof(double) >> 20));
    limits.flops = measure_flops(threads);
    *out = limits;
    return RP_OK;
}

int rp_machine_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

void rp_machine_name(char *text, size_t size)
{
    char line[512];
    snprintf(text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon += 1 + (colon[1] == ' ');
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(text, size, "%s", colon);
        break;
    }
    if (file)
        fclose(file);
}
