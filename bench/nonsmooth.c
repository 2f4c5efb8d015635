/* The benchmark scenes of the nonsmooth method:
 *
 *     bench_nonsmooth [--steps N] [--threads N] [--set KEY=VALUE]... [SCENE.yaml]...
 *
 * Without scenes: the four of scenes/bench. For each it prints seconds a step and by phase (wall clock), iterations, nanoseconds of wall
 * clock a node-visit, and memory a node and a particle. The first step starts from no stress and is told apart. */
#include <repose/repose.h>
#include <repose/scene.h>
#include <repose/sim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_PHASES = 24 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *name, rp_sim *sim, int steps, int threads)
{
    double total = 0, cpu = 0, solve = 0, visits = 0, iterations = 0, phase[MAX_PHASES] = { 0 };
    const char *names[MAX_PHASES] = { 0 };
    int phases = 0, capped = 0;
    rp_step_stats stats;
    for (int k = 0; k <= steps; k++) {
        double before = cpu_seconds();
        if (rp_sim_step(sim, &stats) != RP_OK) {
            fprintf(stderr, "%s: %s\n", name, rp_last_error());
            return;
        }
        double used = cpu_seconds() - before;
        if (k == 0) {
            printf("%s: first step %.3f s (%.3f s of processor), %lld iterations%s\n", name, 1e-3 * stats.ms_step, used,
                   (long long)stats.iterations, stats.converged ? "" : ", not converged");
            continue;
        }
        total += 1e-3 * stats.ms_step;
        cpu += used;
        iterations += (double)stats.iterations;
        visits += (double)(stats.iterations * stats.nodes);
        capped += !stats.converged;
        phases = stats.phase_count < MAX_PHASES ? stats.phase_count : MAX_PHASES;
        for (int i = 0; i < phases; i++) {
            names[i] = stats.phase_name[i];
            phase[i] += 1e-3 * stats.phase_ms[i];
            if (strcmp(names[i], "solve") == 0)
                solve += 1e-3 * stats.phase_ms[i];
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("  %d threads, %d steps: %.4f s a step (%.4f s of processor), %.1f iterations, %.0f ns a node-visit, residual %.1e / %.1e, "
           "%d not converged\n",
           threads, steps, total / steps, cpu / steps, iterations / steps, visits > 0 ? 1e9 * solve / visits : 0,
           stats.residual_mean, stats.residual_max, capped);
    printf("  %lld particles, %lld nodes, %ld MB at most, over-packed %.2f %%\n  ", (long long)stats.particles, (long long)stats.nodes,
           usage.ru_maxrss / 1024, 100 * stats.volume_error);
    for (int i = 0; i < phases; i++)
        printf("%s %.4f  ", names[i], phase[i] / steps);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *scenes[64] = { 0 }, *sets[64] = { 0 };
    int count = 0, set_count = 0, steps = 10, threads = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && set_count < 64)
            sets[set_count++] = argv[++i];
        else if (count < 64)
            scenes[count++] = argv[i];
    }
    if (count == 0) {
        scenes[count++] = "scenes/bench/collapse.yaml";
        scenes[count++] = "scenes/bench/zb05.yaml";
        scenes[count++] = "scenes/bench/impact.yaml";
        scenes[count++] = "scenes/bench/silo.yaml";
    }
    for (int i = 0; i < count; i++) {
        rp_scene *scene = NULL;
        rp_sim *sim = NULL;
        rp_scene_options options = { .set = sets, .set_count = set_count };
        if (rp_scene_load(scenes[i], &options, &scene) != RP_OK || rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK) {
            fprintf(stderr, "%s: %s\n", scenes[i], rp_last_error());
            rp_scene_destroy(scene);
            return 1;
        }
        rp_sim_set_threads(sim, threads);
        report(scenes[i], sim, steps > 0 ? steps : 1, threads);
        rp_sim_destroy(sim);
        rp_scene_destroy(scene);
    }
    return 0;
}
