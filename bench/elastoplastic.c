/* Elastoplastic particle-steps a second on flowing sand: a column that collapses, measured once it flows.
 *
 *     bench_elastoplastic [--particles N] [--steps N] [--flow SECONDS] [--threads N] [--storage S] [--kernel K]
 *                         [--transfer T] [--json]
 *
 * "bytes a p" is all memory of the library for each particle, scratch memory included: what it holds, and the most it held (with
 * one configuration alone; of several the largest so far).
 * "ns cpu" is processor time a particle-step, of all threads: the measure to compare on a machine that others use too.
 */
#include <math.h>
#include <repose/repose.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct outcome {
    double rate;   /* million particle-steps a second */
    double bytes;  /* of the library, a particle: held while it runs */
    double peak;   /* and at most, the making of the grains and of the first sort included */
    double speed;  /* root mean square [m/s]: that it flows */
    double cpu;    /* processor time [ns] a particle-step */
    double phase[RP_MAX_EXTRAS];
    const char *name[RP_MAX_EXTRAS];
    int phases;
} outcome;

static rp_sim *column(double particles, const char *kernel, const char *storage, const char *transfer, int threads)
{
    rp_sim_def def = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    rp_grains_def grains = rp_default_grains_def();
    double lower = 0, cells = cbrt(particles / 8 / 2);
    double side = 1 / floor(cells + 0.5); /* a column of 1 × 1 × 2 in a box of 4 × 1 × 2.5 */
    double centre[3] = { 0.5, 0.5, 1 }, half[3] = { 0.5, 0.5, 1 };
    rp_shape *shape = NULL;
    rp_params *params = NULL;
    rp_sim *sim = NULL;
    def.method = "elastoplastic";
    def.upper[0] = 4, def.upper[1] = 1, def.upper[2] = 3;
    def.lower[0] = lower;
    def.cell_size = side;
    def.frame_rate = 1;
    def.duration = 100;
    def.threads = threads;
    for (int f = 0; f < 6; f++)
        def.wall[f] = (rp_surface){ RP_FRICTIONAL, f == 4 ? 0.5 : 0.0, 0 };
    sand.friction_angle = 0.5;
    sand.youngs_modulus = 1e6;
    grains.shape = NULL;
    if (rp_shape_box(centre, half, 0, &shape) == RP_OK && rp_params_create("elastoplastic", &params) == RP_OK &&
        rp_params_set(params, "kernel", kernel) == RP_OK && rp_params_set(params, "storage", storage) == RP_OK &&
        rp_params_set(params, "transfer", transfer) == RP_OK) {
        grains.shape = shape;
        def.materials = &sand, def.material_count = 1;
        def.grains = &grains, def.grains_count = 1;
        def.method_params = rp_params_data(params);
        if (rp_sim_create(&def, &sim) != RP_OK)
            fprintf(stderr, "%s\n", rp_last_error());
    }
    rp_shape_release(shape);
    rp_params_destroy(params);
    return sim;
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(double particles, const char *kernel, const char *storage, const char *transfer, int threads, int steps, double flow,
               outcome *out)
{
    rp_sim *sim = column(particles, kernel, storage, transfer, threads);
    if (!sim)
        return 1;
    rp_step_stats stats;
    memset(out, 0, sizeof *out);
    double milliseconds = INFINITY, cpu = INFINITY;
    while (rp_sim_time(sim) < flow)
        if (rp_sim_step(sim, &stats) != RP_OK) {
            fprintf(stderr, "%s\n", rp_last_error());
            return 1;
        }
    for (int repeat = 0; repeat < 3; repeat++) {
        double sum = 0, begin = processor_seconds();
        for (int k = 0; k < steps / 3 + 1; k++) {
            if (rp_sim_step(sim, &stats) != RP_OK)
                return 1;
            sum += stats.ms_step;
        }
        if (sum / (steps / 3 + 1) < milliseconds)
            milliseconds = sum / (steps / 3 + 1);
        cpu = fmin(cpu, (processor_seconds() - begin) / (steps / 3 + 1));
    }
    out->rate = 1e-3 * (double)stats.particles / milliseconds;
    out->cpu = 1e9 * cpu / (double)stats.particles;
    double mass = 0;
    rp_field_view view;
    if (rp_sim_field_named(sim, "mass", &view) == RP_OK)
        for (int64_t i = 0; i < view.count; i++)
            mass += ((const double *)view.data)[i];
    out->speed = mass > 0 ? sqrt(2 * stats.kinetic_energy / mass) : 0;
    out->bytes = (double)rp_memory_in_use() / (double)stats.particles;
    out->peak = (double)rp_memory_peak() / (double)stats.particles;
    out->phases = stats.phase_count;
    for (int i = 0; i < stats.phase_count; i++)
        out->name[i] = stats.phase_name[i], out->phase[i] = 1e6 * stats.phase_ms[i] / (double)stats.particles;
    rp_sim_destroy(sim);
    return 0;
}

int main(int argc, char **argv)
{
    double only = 0;
    int steps = 30;
    double flow = 0.2;
    int only_threads = 0;
    const char *only_storage = NULL, *only_kernel = NULL, *transfer = "apic";
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--particles") == 0 && i + 1 < argc)
            only = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--flow") == 0 && i + 1 < argc)
            flow = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            only_threads = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--storage") == 0 && i + 1 < argc)
            only_storage = argv[++i];
        else if (strcmp(argv[i], "--kernel") == 0 && i + 1 < argc)
            only_kernel = argv[++i];
        else if (strcmp(argv[i], "--transfer") == 0 && i + 1 < argc)
            transfer = argv[++i];
        else {
            fprintf(stderr, "usage: %s [--particles N] [--steps N] [--flow SECONDS] [--threads N] [--storage S] [--kernel K] [--transfer T] "
                            "[--json]\n", argv[0]);
            return 2;
        }
    }
    static const double sizes[] = { 1e5, 1e6 };
    static const char *const kernels[] = { "quadratic", "cubic" }, *const storages[] = { "double", "single" };
    if (!json)
        printf("%9s %-10s %-7s %8s %22s %12s %7s %9s %7s\n", "particles", "kernel", "storage", "threads", "million p-steps a s",
               "bytes a p", "peak", "rms m/s", "ns cpu");
    for (int s = 0; s < (only > 0 ? 1 : 2); s++)
        for (int k = 0; k < 2; k++)
            for (int g = 0; g < 2; g++)
                for (int threads = 1; threads <= 2; threads++) {
                    outcome out;
                    if ((only_threads && threads != only_threads) || (only_storage && strcmp(storages[g], only_storage) != 0) ||
                        (only_kernel && strcmp(kernels[k], only_kernel) != 0))
                        continue;
                    double particles = only > 0 ? only : sizes[s];
                    if (run(particles, kernels[k], storages[g], transfer, threads, steps, flow, &out))
                        return 1;
                    if (json)
                        printf("{\"particles\":%g,\"kernel\":\"%s\",\"storage\":\"%s\",\"threads\":%d,\"rate\":%.4g,\"bytes\":%.4g,\"peak\":%."
                               "4g,\"speed\":%.3g,\"cpu_ns\":%.3g}\n",
                               particles, kernels[k], storages[g], threads, out.rate, out.bytes, out.peak, out.speed, out.cpu);
                    else {
                        printf("%9.0f %-10s %-7s %8d %22.2f %12.1f %7.1f %9.2f %7.0f   ns:", particles, kernels[k], storages[g], threads, out.rate, out.bytes,
                               out.peak, out.speed, out.cpu);
                        for (int i = 0; i < out.phases; i++)
                            printf(" %s %.0f", out.name[i], out.phase[i]);
                        printf("\n");
                    }
                    fflush(stdout);
                }
    return 0;
}
