/* Pictures and grain samples: seconds and memory.
 *
 * A cone of a million spheres in sand colours at 1280×720, `good`, on all cores (goal: 30 s, 2 GB) and `draft` of 50 000 (goal:
 * 2 s); with --large also 20 million. Then samples: 20 a particle moved from one frame to the next, in samples a second.
 *
 *     bench_render [--json] [--large] [--count N] [--picture FILE] */
#include "base/memory.h"
#include "base/timer.h"
#include "exec/exec.h"
#include "math/random.h"

#include <math.h>
#include <repose/grains.h>
#include <repose/render.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Processor time of all threads: what the wall clock would show times the threads on a machine that does nothing else. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(void)
{
    fprintf(stderr, "bench_render: %s\n", rp_last_error());
    return 1;
}

/* Largest memory of the process so far [MB]. */
static double peak_memory(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return kilobytes / 1024;
}

/* A chunk of the cone at a time, so that the doubles weigh nothing. */
static rp_result add_cone(rp_render *render, int64_t count)
{
    enum { CHUNK = 1 << 18 };
    double *x[3], *radius = RP_NEW_ARRAY(double, CHUNK), size = cbrt(0.0788 * 0.6 / (double)count * 0.2387);
    uint8_t *colour = RP_NEW_ARRAY(uint8_t, 3 * CHUNK);
    rp_palette sand;
    rp_result result = rp_palette_parse("sand", &sand);
    for (int d = 0; d < 3; d++)
        x[d] = RP_NEW_ARRAY(double, CHUNK);
    for (int64_t begin = 0; begin < count && result == RP_OK && colour; begin += CHUNK) {
        int64_t n = count - begin < CHUNK ? count - begin : CHUNK;
        for (int64_t k = 0; k < n; k++) {
            uint64_t i = (uint64_t)(begin + k);
            double h = 1 - cbrt(1 - rp__random_unit(1, 1, i)), a = 6.2831853 * rp__random_unit(1, 3, i);
            double r = 0.5 * (1 - h) * sqrt(rp__random_unit(1, 2, i));
            radius[k] = size * (0.8 + 0.4 * rp__random_unit(1, 4, i));
            x[0][k] = r * cos(a), x[1][k] = r * sin(a), x[2][k] = 0.3 * h + radius[k];
            rp_palette_pick(&sand, (int64_t)i, colour + 3 * k);
        }
        rp_grain_set set = rp_default_grain_set();
        set.count = n, set.radius = radius, set.colour = colour;
        for (int d = 0; d < 3; d++)
            set.position[d] = x[d];
        result = rp_render_add_grains(render, &set);
    }
    for (int d = 0; d < 3; d++)
        rp__base_free(x[d]);
    rp__base_free(radius);
    rp__base_free(colour);
    return result;
}

static rp_result picture(int64_t count, rp_quality quality, const char *path, double *seconds)
{
    const double origin[3] = { 0, 0, 0 }, up[3] = { 0, 0, 1 }, from[3] = { 0.4, -1, 0.45 };
    const double lower[3] = { -0.45, -0.45, 0 }, upper[3] = { 0.45, 0.45, 0.3 };
    const uint8_t ground[3] = { 204, 197, 186 };
    rp_render *render = NULL;
    rp_image image = { 0 };
    double start = rp__base_seconds();
    rp_result result = rp_render_create(origin, &render);
    if (result == RP_OK)
        result = add_cone(render, count);
    if (result == RP_OK)
        result = rp_render_set_ground(render, origin, up, ground);
    rp_picture p = rp_default_picture();
    p.quality = quality;
    p.view = rp_view_frame(lower, upper, from, up, 0.5, false, p.width, p.height, 1);
    if (result == RP_OK)
        result = rp_render_picture(render, &p, NULL, NULL, &image);
    *seconds = rp__base_seconds() - start;
    if (result == RP_OK && path)
        result = rp_image_write_png(&image, path);
    rp_image_free(&image);
    rp_render_destroy(render);
    return result;
}

/* A block in shear: two frames of `side`³ particles with 20 samples each; seconds of the second. */
static rp_result move_samples(int64_t side, double *seconds, int64_t *count)
{
    int64_t n = side * side * side;
    double *x[2], *volume = RP_NEW_ARRAY(double, n), h = 1.0 / (double)side;
    int64_t *id = RP_NEW_ARRAY(int64_t, n);
    rp_field_view fields[2][3];
    rp_frame frames[2];
    for (int f = 0; f < 2; f++) {
        x[f] = RP_NEW_ARRAY(double, 3 * n);
        if (!x[f] || !volume || !id)
            return RP_OUT_OF_MEMORY;
        for (int64_t i = 0; i < n; i++) {
            x[f][2 * n + i] = ((double)(i / side / side) + 0.5) * h;
            x[f][n + i] = ((double)(i / side % side) + 0.5) * h;
            x[f][i] = ((double)(i % side) + 0.5) * h + 0.1 * f * x[f][2 * n + i];
            volume[i] = 0.6 * h * h * h;
            id[i] = i;
        }
        fields[f][0] = (rp_field_view){ { "position", RP_F64, 3, "m", 1 }, x[f], n, n };
        fields[f][1] = (rp_field_view){ { "volume", RP_F64, 1, "m3", 1 }, volume, n, n };
        fields[f][2] = (rp_field_view){ { "id", RP_I64, 1, "", 1 }, id, n, n };
        frames[f] = (rp_frame){ .time = f / 24.0, .index = f, .dim = 3, .cell_size = 2 * h, .count = n, .fields = fields[f], .field_count = 3 };
    }
    rp_samples_def def = rp_default_samples_def();
    def.cell_size = 2 * h;
    rp_samples before = { 0 }, after = { 0 };
    rp_result result = rp_samples_seed(&def, &frames[0], &before);
    double start = rp__base_seconds();
    if (result == RP_OK)
        result = rp_samples_advance(&def, &before, &frames[0], &frames[1], &after);
    *seconds = rp__base_seconds() - start;
    *count = after.count;
    rp_samples_free(&before);
    rp_samples_free(&after);
    for (int f = 0; f < 2; f++)
        rp__base_free(x[f]);
    rp__base_free(volume);
    rp__base_free(id);
    return result;
}

static void say(bool json, const char *what, int64_t count, double seconds, const char *goal)
{
    static double before;
    double now = cpu_seconds(), cpu = now - before;
    before = now;
    if (json)
        printf("{\"bench\": \"render\", \"what\": \"%s\", \"count\": %lld, \"threads\": %d, \"seconds\": %.3f, \"cpu_seconds\": %.3f, "
               "\"peak_mb\": %.0f}\n",
               what, (long long)count, rp__exec_threads(), seconds, cpu, peak_memory());
    else
        printf("%-28s %10lld  %8.2f s  (%.2f s of processors)  %6.0f MB so far   %s\n", what, (long long)count, seconds, cpu,
               peak_memory(), goal);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool json = false, large = false;
    int64_t count = 1000000;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--large") == 0)
            large = true;
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            count = strtoll(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--picture") == 0 && i + 1 < argc)
            path = argv[++i];
        else {
            fprintf(stderr, "usage: bench_render [--json] [--large] [--count N] [--picture FILE]\n");
            return 2;
        }
    }
    double seconds;
    int64_t samples;
    if (picture(50000, RP_DRAFT, NULL, &seconds) != RP_OK)
        return fail();
    say(json, "draft 1280x720", 50000, seconds, "goal: 2 s");
    if (picture(count, RP_GOOD, path, &seconds) != RP_OK)
        return fail();
    say(json, "good 1280x720", count, seconds, "goal: 30 s and 2000 MB for a million");
    if (move_samples(40, &seconds, &samples) != RP_OK)
        return fail();
    say(json, "samples to the next frame", samples, seconds, "");
    if (large) {
        if (picture(20000000, RP_GOOD, NULL, &seconds) != RP_OK)
            return fail();
        say(json, "good 1280x720", 20000000, seconds, "");
    }
    return 0;
}
