/* What has been published about the same work: Table 1 of [daviet2016], and steps of the code published with it. */
#include "bench.h"

#include <math.h>
#include <string.h>

/* Sizes and seconds a frame as printed in Table 1 [daviet2016]: largest numbers of particles and active nodes, mean time a frame, on the
 * authors' quad-core machine. */
static const struct {
    const char *bench, *name, *grid;
    double frame_rate, particles, nodes, seconds;
} table[] = {
    { "paper-collapse", "Collapse", "40 × 10 × 20", 96, 5.0e4, 2755, 1.47 },
    { "paper-zb05", "ZB05", "100 × 100 × 50", 96, 5.1e5, 34112, 23.5 },
    { "paper-wheel", "Wheel", "42 × 28 × 14", 96, 6.5e4, 10152, 9.62 },
    { "paper-silo", "Silo", "36 × 36 × 72", 96, 1.3e6, 49774, 61.5 },
    { "paper-writing", "Writing", "96 × 48 × 24", 60, 4.9e5, 61864, 48.4 },
    { "paper-cohesion", "Cohesion", "80 × 80 × 40", 240, 3.3e5, 42205, 6.8 },
    { "paper-digging", "Digging", "64 × 64 × 32", 96, 2.2e6, 75283, 32.3 },
    { "paper-crater", "Crater", "75 × 75 × 50", 600, 8.3e5, 110887, 89.6 },
    { "paper-treasure", "Treasure", "70 × 70 × 50", 96, 3.3e6, 121143, 83.6 },
};

/* Processor seconds of that code, one thread, on a machine of the kind of the page: an ordinary step with the same grid, particles and length (the silo's
 * is its second, which took 225 iterations; the impact's are before the ball lands), and the first. */
static const struct {
    const char *bench;
    double step, first;
} peers[] = { { "collapse", 0.81, 0.70 }, { "zb05", 7.9, 7.3 }, { "impact", 17.2, 18.8 }, { "silo", 86.8, 130 } };

static const json *row_of(const json *results, const char *name)
{
    const json *list = json_member(results, "results"), *found = NULL;
    for (const json *r = list && list->kind == JSON_ARRAY ? list->first : NULL; r; r = r->next)
        if (strcmp(json_text_of(r, "name"), name) == 0 && (!found || json_number(r, "threads", 9) < json_number(found, "threads", 9)))
            found = r;
    return found;
}

/* What one core of the machine of the peers computes [Gflop/s], and its triad [GB/s]. */
#define PEERS_GFLOPS 51.0
#define PEERS_TRIAD 20.0

/* Ordinary steps with ordinary ones, first steps with first ones. */
static void write_peers(FILE *to, const json *results)
{
    double here = bench_limit_of(results, "gflop_per_s", 1);
    fprintf(to, "## Beside the reference code\n\nProcessor seconds of one thread, ordinary steps beside ordinary ones and first steps beside first ones. "
                "*Reference*: the code published with [daviet2016], same grid, particles and steps, on a machine with %g Gflop/s and %g GB/s (triad) a core. "
                "*Ratio*: of the seconds as they are; this machine has %.3g Gflop/s a core, and where that is more the ratio says too "
                "much ([dual.md](dual.md#beside-the-reference-code) takes the machines apart). A first step starts from no stress but, ours, the weight "
                "of the grains. `repose bench collapse zb05 impact silo --threads 1` repeats ours.\n\n"
                "| scene | step, reference | ours | ratio | first step, reference | ours | ratio | first step in ordinary ones | sweeps a step | "
                "not converged |\n|---|---|---|---|---|---|---|---|---|---|\n",
            PEERS_GFLOPS, PEERS_TRIAD, here);
    for (size_t k = 0; k < sizeof peers / sizeof *peers; k++) {
        const json *r = row_of(results, peers[k].bench);
        double step = json_number(r, "cpu_seconds", NAN), first = json_number(r, "first_cpu", NAN);
        if (isfinite(step) && isfinite(first))
            fprintf(to, "| `%s` | %g | %.3g | %.2g | %g | %.3g | %.2g | %.1f | %.0f | %g of %g |\n", peers[k].bench, peers[k].step, step,
                    peers[k].step / step, peers[k].first, first, peers[k].first / first, first / step, json_number(r, "iterations", NAN),
                    json_number(r, "unconverged", 0), json_number(r, "steps", 0));
    }
    fprintf(to, "\n");
}

void bench_write_paper(FILE *to, const json *results)
{
    bool any = false;
    write_peers(to, results);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        any = any || row_of(results, table[k].bench);
    if (!any)
        return;
    fprintf(to, "## The table of the paper\n\nThe nine scenes of Table 1 of [daviet2016], at its grids, frame rates and numbers of particles; "
                "what the table does not tell (shapes, speeds, material) is ours "
                "(`scenes/bench/paper-*.yaml`). *Theirs*: mean seconds a frame over whole runs on a quad-core machine of 2016. *Ours*: "
                "processor seconds a frame of one thread "
                "over the first full steps, and those of the first step, which is part of no mean. `repose bench --paper` repeats it.\n\n"
                "| scene | grid | particles, theirs | ours | nodes, theirs | ours | s a frame, theirs | ours | times faster | first step | "
                "sweeps a step | not converged |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const json *r = row_of(results, table[k].bench);
        double ours = json_number(r, "cpu_a_frame", NAN);
        if (!r)
            continue;
        fprintf(to, "| %s | %s | %.3g | %.3g | %.0f | %.0f | %g | %.3g | %.2g | %.3g | %.0f | %g of %g |\n", table[k].name, table[k].grid, table[k].particles,
                json_number(r, "particles", NAN), table[k].nodes, json_number(r, "nodes", NAN), table[k].seconds, ours, table[k].seconds / ours,
                json_number(r, "first_cpu", NAN), json_number(r, "iterations", NAN), json_number(r, "unconverged", 0), json_number(r, "steps", 0));
    }
    fprintf(to, "\n");
}
