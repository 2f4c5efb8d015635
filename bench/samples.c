/* What grain samples cost beside the simulation they follow: 20 a particle, moved and written for each frame.
 *
 * bench_samples [--scene FILE] [--set KEY=VALUE]... [--grains N] [--frames N] [--threads N] [--json]. The goal is less than 60 % of the
 * simulation of zb05. */
#include "base/timer.h"
#include "exec/exec.h"

#include <repose/grains.h>
#include <repose/scene.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct spent {
    double simulation, samples; /* [s] */
    double simulation_work, samples_work; /* the same, of the processors */
    int64_t count, particles;
    int frames;
} spent;

/* Seconds that the processors worked for this program: other programs on the machine hardly change them. */
static double work(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rp_result take(rp_sim *sim, const char *path, rp_frame *frame)
{
    rp_result result = rp_frame_write(sim, NULL, path);
    return result == RP_OK ? rp_frame_read(path, frame) : result;
}

static rp_result step_to_frame(rp_sim *sim, spent *s)
{
    double start = rp__base_seconds(), begin = work();
    rp_result result = RP_OK;
    do {
        rp_step_stats stats;
        result = rp_sim_step(sim, &stats);
    } while (result == RP_OK && !rp_sim_at_frame(sim));
    s->simulation += rp__base_seconds() - start;
    s->simulation_work += work() - begin;
    return result;
}

/* Moves samples from `frame` to where the simulation is, and both along. Reading the frame counts, as it would in `repose render`. */
static rp_result follow(rp_sim *sim, const rp_samples_def *def, const char *folder, rp_frame *frame, rp_samples *samples, spent *s)
{
    char path[256], file[256];
    rp_frame next;
    rp_samples moved;
    snprintf(path, sizeof path, "%s/frame.vtkhdf", folder);
    snprintf(file, sizeof file, "%s/frame.samples", folder);
    rp_result result = rp_frame_write(sim, NULL, path);
    double start = rp__base_seconds(), begin = work();
    if (result != RP_OK || (result = rp_frame_read(path, &next)) != RP_OK)
        return result;
    result = rp_samples_advance(def, samples, frame, &next, &moved);
    if (result != RP_OK) {
        rp_frame_free(&next);
        return result;
    }
    rp_samples_free(samples);
    rp_frame_free(frame);
    *samples = moved, *frame = next;
    result = rp_samples_write(samples, file);
    s->samples += rp__base_seconds() - start;
    s->samples_work += work() - begin;
    s->count = samples->count, s->particles = frame->count;
    s->frames++;
    return result;
}

static rp_result measure(rp_sim *sim, const rp_samples_def *def, int frames, const char *folder, spent *s)
{
    char path[256];
    rp_frame frame;
    rp_samples samples;
    snprintf(path, sizeof path, "%s/frame.vtkhdf", folder);
    rp_result result = take(sim, path, &frame);
    if (result != RP_OK)
        return result;
    double start = rp__base_seconds(), begin = work();
    result = rp_samples_seed(def, &frame, &samples);
    s->samples += rp__base_seconds() - start;
    s->samples_work += work() - begin;
    while (result == RP_OK && s->frames < frames && !rp_sim_done(sim)) {
        result = step_to_frame(sim, s);
        if (result == RP_OK)
            result = follow(sim, def, folder, &frame, &samples, s);
    }
    rp_samples_free(&samples);
    rp_frame_free(&frame);
    return result;
}

int main(int argc, char **argv)
{
    const char *scene_path = "scenes/zb05.yaml", *sets[32];
    int set_count = 0, frames = 1 << 30, threads = 0;
    double grains = 20;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--scene") == 0 && i + 1 < argc)
            scene_path = argv[++i];
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && set_count < 32)
            sets[set_count++] = argv[++i];
        else if (strcmp(argv[i], "--grains") == 0 && i + 1 < argc)
            grains = atof(argv[++i]);
        else if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc)
            frames = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--json") == 0)
            json = true;
        else {
            fprintf(stderr, "usage: bench_samples [--scene FILE] [--set KEY=VALUE]... [--grains N] [--frames N] [--threads N] [--json]\n");
            return 2;
        }
    }
    char folder[] = "bench_samples_XXXXXX", path[256];
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_scene_options options = { .set = sets, .set_count = set_count };
    spent s = { 0 };
    rp_result result = rp_scene_load(scene_path, &options, &scene);
    if (result == RP_OK)
        result = rp_sim_create(rp_scene_sim_def(scene), &sim);
    const rp_shape **bodies = calloc(1024, sizeof *bodies);
    if (result == RP_OK && bodies && rp_scene_sim_def(scene)->body_count < 1024 && mkdtemp(folder)) {
        if (threads > 0)
            rp_sim_set_threads(sim, threads);
        rp_samples_def def = rp_samples_def_of(rp_scene_sim_def(scene), bodies);
        def.per_particle = grains;
        result = measure(sim, &def, frames, folder, &s);
        snprintf(path, sizeof path, "%s/frame.vtkhdf", folder);
        unlink(path);
        snprintf(path, sizeof path, "%s/frame.samples", folder);
        unlink(path);
        rmdir(folder);
    }
    if (result != RP_OK || s.frames == 0)
        fprintf(stderr, "bench_samples: %s\n", rp_last_error());
    else if (json)
        printf("{\"bench\": \"samples\", \"scene\": \"%s\", \"particles\": %lld, \"samples\": %lld, \"frames\": %d, \"threads\": %d, "
               "\"simulation\": %.3f, \"seconds\": %.3f, \"part\": %.4f, \"part_of_work\": %.4f}\n",
               scene_path, (long long)s.particles, (long long)s.count, s.frames, rp__exec_threads(), s.simulation, s.samples,
               s.samples / s.simulation, s.samples_work / s.simulation_work);
    else
        printf("%s: %lld particles, %lld samples, %d frames: simulation %.2f s, samples %.2f s (%.1f %%; goal: below 60 %%); "
               "of processor time %.2f s and %.2f s (%.1f %%)\n",
               scene_path, (long long)s.particles, (long long)s.count, s.frames, s.simulation, s.samples, 100 * s.samples / s.simulation,
               s.simulation_work, s.samples_work, 100 * s.samples_work / s.simulation_work);
    free(bodies);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    return result == RP_OK && s.frames > 0 ? 0 : 1;
}
