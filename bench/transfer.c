/* Transfers between particles and grid: particles a second against the limit that memory sets.
 *
 * A million particles, eight a cell, in random order, sorted by the grid; APIC, linear and quadratic, both directions.
 * The limit is the measured memory bandwidth over the bytes that must move for a particle: each particle plane that is read
 * or written once, each node plane once.
 *
 *     bench_transfer [--json] [--cells N] [--repeat N] */
#define RP_DIM 3
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"
#include "math/random.h"
#include "transfer/transfer.h"

#include <repose/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    bool json;
    int64_t cells;
    int repeat;
} setting;

typedef struct world {
    rp__particles p;
    rp__grid g;
    int gradient;
    double *mass, *momentum[3], *velocity[3];
    int64_t nodes;
} world;

typedef struct measure {
    int order, threads;
    bool to_grid;
    double rate, bytes, limit;
} measure;

/* Bytes a second: the limit for work that streams through memory. */
static double bandwidth_of(int threads)
{
    rp_machine_limits limits;
    if (rp_machine_measure(threads, &limits) != RP_OK)
        return 0;
    return limits.copy > limits.triad ? limits.copy : limits.triad;
}

static int fail(void)
{
    fprintf(stderr, "bench_transfer: %s\n", rp_last_error());
    return 1;
}

/* Eight particles a cell, one in each octant, in random order. */
static rp_result fill(world *w, int64_t cells)
{
    static const rp_field_info info = { "c", RP_F64, 9, "1/s", 1 };
    rp__lattice lattice = { .h = 1.0 / (double)cells, .cells = { cells, cells, cells } };
    int64_t count = 8 * cells * cells * cells;
    rp_result result = rp__particles_init(&w->p);
    if (result == RP_OK)
        result = rp__particles_add_field(&w->p, &info, &w->gradient);
    if (result == RP_OK)
        result = rp__particles_append(&w->p, count, NULL);
    if (result == RP_OK)
        result = RP_D(rp__grid_init)(&w->g, &lattice);
    int64_t *order = result == RP_OK ? RP_NEW_ARRAY(int64_t, count) : NULL;
    if (!order)
        return result == RP_OK ? RP_OUT_OF_MEMORY : result;
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)(rp__random_bits(1, 0, (uint64_t)i) % (uint64_t)(i + 1)), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t half = 2 * cells, n = order[i], at[3] = { n % half, n / half % half, n / half / half };
        w->p.mass[i] = 1;
        for (int a = 0; a < 3; a++) {
            w->p.x[a][i] = ((double)at[a] + rp__random_unit(2, (uint64_t)a, (uint64_t)n)) / (double)half;
            w->p.v[a][i] = rp__random_unit(3, (uint64_t)a, (uint64_t)n) - 0.5;
        }
        for (int c = 0; c < 9; c++)
            rp__particles_f64(&w->p, w->gradient, c)[i] = rp__random_unit(4, (uint64_t)c, (uint64_t)n) - 0.5;
    }
    rp__base_free(order);
    return RP_OK;
}

static bool make_nodes(world *w)
{
    rp__base_free(w->mass);
    w->nodes = (int64_t)w->g.blocks * RP_BLOCK_NODES;
    w->mass = RP_NEW_ARRAY(double, w->nodes);
    bool all = w->mass;
    for (int a = 0; a < 3; a++) {
        rp__base_free(w->momentum[a]);
        rp__base_free(w->velocity[a]);
        w->momentum[a] = RP_NEW_ARRAY(double, w->nodes);
        w->velocity[a] = RP_NEW_ARRAY(double, w->nodes);
        all = all && w->momentum[a] && w->velocity[a];
    }
    return all;
}

/* Seconds of the fastest of `repeat` runs. */
static double fastest(world *w, const rp__transfer_options *o, bool to_grid, int repeat)
{
    double best = 1e300;
    for (int n = 0; n < repeat; n++) {
        double start = rp__base_seconds();
        if (to_grid)
            RP_D(rp__transfer_to_grid)(&w->g, &w->p, o, w->mass, w->momentum);
        else
            RP_D(rp__transfer_to_particles)(&w->g, &w->p, o, (const double *const *)w->velocity, NULL, NULL);
        double seconds = rp__base_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static double bytes_of(const world *w, bool to_grid)
{
    double nodes = (double)w->nodes / (double)w->p.count;
    return to_grid ? 8 * (3 + 3 + 1 + 9) + 8 * 4 * nodes  /* x, v, m, c read; mass and momentum written */
                   : 8 * (3 + 3 + 9) + 8 * 3 * nodes;     /* x read, v and c written; velocity read */
}

static void print_table(const world *w, const double bandwidth[2], double shuffled, double sorted, const measure *m, int count)
{
    printf("transfers: %lld particles, %lld nodes in %d blocks, APIC, 3D\n", (long long)w->p.count, (long long)w->nodes, w->g.blocks);
    printf("memory bandwidth: %.1f GB/s with 1 thread, %.1f GB/s with 2\n", bandwidth[0] * 1e-9, bandwidth[1] * 1e-9);
    printf("grid build: %.1f ms from random order, %.1f ms when sorted (2 threads)\n\n", shuffled * 1e3, sorted * 1e3);
    printf("%-10s %-14s %7s %14s %12s %14s %9s\n", "shape", "direction", "threads", "M particles/s", "bytes", "limit M/s", "fraction");
    for (int n = 0; n < count; n++)
        printf("%-10s %-14s %7d %14.1f %12.1f %14.1f %9.2f\n", m[n].order == 1 ? "linear" : "quadratic",
               m[n].to_grid ? "to grid" : "to particles", m[n].threads, m[n].rate * 1e-6, m[n].bytes, m[n].limit * 1e-6, m[n].rate / m[n].limit);
}

static void print_json(const world *w, const double bandwidth[2], double shuffled, double sorted, const measure *m, int count)
{
    printf("{\"benchmark\": \"transfer\", \"particles\": %lld, \"nodes\": %lld, \"bandwidth\": [%.4g, %.4g], "
           "\"build_shuffled_s\": %.4g, \"build_sorted_s\": %.4g, \"results\": [", (long long)w->p.count, (long long)w->nodes,
           bandwidth[0], bandwidth[1], shuffled, sorted);
    for (int n = 0; n < count; n++)
        printf("%s\n  {\"order\": %d, \"direction\": \"%s\", \"threads\": %d, \"particles_per_s\": %.4g, \"bytes_per_particle\": %.4g, "
               "\"limit_per_s\": %.4g, \"fraction\": %.3f}", n ? "," : "", m[n].order, m[n].to_grid ? "to_grid" : "to_particles",
               m[n].threads, m[n].rate, m[n].bytes, m[n].limit, m[n].rate / m[n].limit);
    printf("\n]}\n");
}

static int run(world *w, const setting *set)
{
    double bandwidth[2], shuffled = 0, sorted = 0;
    measure m[8];
    int count = 0;
    for (int t = 0; t < 2; t++)
        bandwidth[t] = bandwidth_of(t + 1);
    rp__exec_set_threads(2);
    if (fill(w, set->cells) != RP_OK)
        return fail();
    for (int order = 1; order <= 2; order++) {
        double start = rp__base_seconds();
        rp__exec_set_threads(2);
        if (RP_D(rp__grid_build)(&w->g, &w->p, order) != RP_OK)
            return fail();
        if (order == 1)
            shuffled = rp__base_seconds() - start;
        start = rp__base_seconds();
        if (RP_D(rp__grid_build)(&w->g, &w->p, order) != RP_OK || !make_nodes(w))
            return fail();
        if (order == 1)
            sorted = rp__base_seconds() - start;
        rp__transfer_options o = { .order = order, .kind = RP_TRANSFER_APIC, .gradient = w->gradient };
        RP_D(rp__transfer_to_grid)(&w->g, &w->p, &o, w->mass, w->momentum);
        for (int a = 0; a < 3; a++)
            for (int64_t n = 0; n < w->nodes; n++)
                w->velocity[a][n] = w->mass[n] > 0 ? w->momentum[a][n] / w->mass[n] : 0;
        for (int direction = 0; direction < 2; direction++) {
            for (int threads = 1; threads <= 2; threads++) {
                measure *r = &m[count++];
                *r = (measure){ .order = order, .threads = threads, .to_grid = direction == 0 };
                rp__exec_set_threads(threads);
                r->rate = (double)w->p.count / fastest(w, &o, r->to_grid, set->repeat);
                r->bytes = bytes_of(w, r->to_grid);
            }
        }
    }
    for (int t = 0; t < 2; t++) { /* once more: the better one is nearer to the limit */
        double again = bandwidth_of(t + 1);
        bandwidth[t] = again > bandwidth[t] ? again : bandwidth[t];
    }
    for (int n = 0; n < count; n++)
        m[n].limit = bandwidth[m[n].threads - 1] / m[n].bytes;
    (set->json ? print_json : print_table)(w, bandwidth, shuffled, sorted, m, count);
    return 0;
}

int main(int argc, char **argv)
{
    setting set = { .cells = 50, .repeat = 10 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            set.json = true;
        else if (strcmp(argv[i], "--cells") == 0 && i + 1 < argc)
            set.cells = atoll(argv[++i]);
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            set.repeat = atoi(argv[++i]);
        else
            set.cells = 0;
    }
    if (set.cells < 1 || set.cells > 400 || set.repeat < 1) {
        fprintf(stderr, "usage: bench_transfer [--json] [--cells N (1 to 400)] [--repeat N]\n");
        return 2;
    }
    world *w = RP_NEW(world);
    if (!w)
        return fail();
    int status = run(w, &set);
    rp__base_free(w->mass);
    for (int a = 0; a < 3; a++) {
        rp__base_free(w->momentum[a]);
        rp__base_free(w->velocity[a]);
    }
    RP_D(rp__grid_free)(&w->g);
    rp__particles_free(&w->p);
    rp__base_free(w);
    return status;
}
