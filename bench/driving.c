/* What driving costs: a step of a simulation that is driven beside one that is not, and going back to a saved state.
 *
 *     bench_driving --scene FILE [--steps N] [--repeats N] [--threads N] [--json]
 *
 * Two simulations of the scene make the same steps, one of them driven in ways that change nothing (a hook inside, gravity set to what
 * it is). Each step is made again and again from its saved state, by one and the other in turns, and its least processor seconds count:
 * what else the machine does can only add to them. A step that nobody drives does a part of what a driven one does, so the ratio bounds
 * what it pays for being drivable; so does the whole of an undriven step that moves a few grains and has nothing else to do. Prints
 * JSON: ratio of the sums, the middle half of the ratios of single steps, milliseconds a megabyte to save and to restore. */
#include <repose/repose.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096 };

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count ? values[count / 2] : 0;
}

static void need(rp_result result)
{
    if (result != RP_OK) {
        fprintf(stderr, "bench_driving: %s\n", rp_last_error());
        exit(1);
    }
}

static bool go_on(void *context, const rp_progress *progress)
{
    (void)progress;
    ++*(long *)context;
    return true;
}

/* The same step from a state, driven or not: its processor seconds where they are fewer than *least. */
static void step(rp_sim *sim, const rp_state *from, bool driven, double *least)
{
    need(rp_sim_restore(sim, from));
    double begin = processor_seconds();
    if (driven)
        need(rp_sim_set_gravity(sim, rp_sim_definition(sim)->gravity));
    need(rp_sim_step(sim, NULL));
    double spent = processor_seconds() - begin;
    *least = spent < *least ? spent : *least;
}

/* The next step of both, from the state they are in. */
static void same_step(rp_sim *plain, rp_sim *driven, int repeats, double *alone, double *with)
{
    rp_state here;
    need(rp_sim_save(plain, &here));
    *alone = *with = 1e300;
    for (int r = 0; r < repeats; r++) {
        if (r % 2)
            step(driven, &here, true, with);
        step(plain, &here, false, alone);
        if (r % 2 == 0)
            step(driven, &here, true, with);
    }
    rp_state_free(&here);
}

/* Seconds of an undriven step that has next to nothing to simulate: an upper bound of what being drivable costs any step. */
static double bare_step(void)
{
    rp_sim_def def = rp_default_sim_def();
    rp_material_def sand = rp_default_material_def();
    rp_grains_def few = rp_default_grains_def();
    const double centre[3] = { 0.5, 0.5, 0.5 };
    rp_sim *sim = NULL;
    rp_state start;
    double least = 1e300;
    need(rp_shape_sphere(centre, 0.1, &few.shape));
    def.method = "ballistic", def.cell_size = 0.25, def.threads = 1, def.duration = 1e6;
    for (int a = 0; a < 3; a++)
        def.upper[a] = 1, def.gravity[a] = 0;
    def.materials = &sand, def.material_count = 1;
    def.grains = &few, def.grains_count = 1;
    need(rp_sim_create(&def, &sim));
    rp_shape_release(few.shape);
    need(rp_sim_save(sim, &start));
    for (int r = 0; r < 2000; r++)
        step(sim, &start, false, &least);
    rp_state_free(&start);
    rp_sim_destroy(sim);
    return least;
}

static double megabytes(const rp_state *state)
{
    double bytes = 0;
    for (int b = 0; b < state->count; b++)
        bytes += (double)state->blobs[b].count * (state->blobs[b].type == RP_F64 || state->blobs[b].type == RP_I64 ? 8 : 4);
    return bytes / 1e6;
}

int main(int argc, char **argv)
{
    const char *path = "collapse.yaml";
    int steps = 12, repeats = 12, threads = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool taken = true;
        if (strcmp(argv[i], "--scene") == 0)
            path = value;
        else if (strcmp(argv[i], "--steps") == 0)
            steps = atoi(value);
        else if (strcmp(argv[i], "--repeats") == 0)
            repeats = atoi(value);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = atoi(value);
        else
            taken = false; /* --json: it always is */
        i += taken;
    }
    steps = steps < 1 ? 1 : steps > MOST ? MOST : steps;
    repeats = repeats < 1 ? 1 : repeats > MOST ? MOST : repeats;
    rp_scene *scene = NULL;
    rp_sim *plain = NULL, *driven = NULL;
    long calls = 0;
    rp_hooks hooks = { .progress = go_on, .context = &calls };
    static double ratios[MOST], save[MOST], restore[MOST];
    double alone, with, alone_sum = 0, with_sum = 0;
    rp_set_log(NULL, NULL, RP_LOG_WARNING);
    need(rp_scene_load(path, NULL, &scene));
    need(rp_sim_create(rp_scene_sim_def(scene), &plain));
    need(rp_sim_create(rp_scene_sim_def(scene), &driven));
    rp_sim_set_threads(plain, threads);
    rp_sim_set_threads(driven, threads);
    need(rp_sim_set_hooks(driven, &hooks));
    for (int i = 0; i < steps; i++) {
        same_step(plain, driven, repeats, &alone, &with);
        alone_sum += alone, with_sum += with;
        ratios[i] = with / alone;
    }
    rp_state state;
    double size = 0;
    for (int i = 0; i < repeats; i++) {
        double begin = processor_seconds();
        need(rp_sim_save(plain, &state));
        save[i] = processor_seconds() - begin;
        size = megabytes(&state);
        begin = processor_seconds();
        need(rp_sim_restore(plain, &state));
        restore[i] = processor_seconds() - begin;
        rp_state_free(&state);
    }
    qsort(ratios, (size_t)steps, sizeof *ratios, ascending);
    double save_ms = 1e3 * median(save, repeats) / size, restore_ms = 1e3 * median(restore, repeats) / size;
    printf("{\"bench\": \"driving\", \"what\": \"driven over undriven\", \"ratio\": %.4f, \"middle\": [%.4f, %.4f], \"seconds\": %.6g, \"steps\": %d}\n",
           with_sum / alone_sum, ratios[steps / 4], ratios[(3 * steps - 1) / 4], alone_sum / steps, steps);
    printf("{\"bench\": \"driving\", \"what\": \"bare step, undriven\", \"microseconds\": %.2f}\n", 1e6 * bare_step());
    printf("{\"bench\": \"driving\", \"what\": \"save\", \"ms_per_MB\": %.4f, \"MB\": %.3f}\n", save_ms, size);
    printf("{\"bench\": \"driving\", \"what\": \"restore\", \"ms_per_MB\": %.4f, \"MB\": %.3f, \"limit\": 2}\n", restore_ms, size);
    rp_sim_destroy(plain);
    rp_sim_destroy(driven);
    rp_scene_destroy(scene);
    return restore_ms > 2;
}
