/* Interactive grains: milliseconds a frame of the particles (LR) and of the fine grains that follow them (HR), by the wall clock and of the
 * processors, and of fine grains whose guides rest.
 *
 * bench_pbd [--scene FILE] [--set key=value]… [--frames N] [--skip N] [--threads N] [--bare] [--json]. --bare leaves the fine grains out: to see
 * where the steps' time goes. The paper [sommer2022] has, on 8
 * cores, 9.75 + 7.31 ms for the castle, 21.4 + 11.2 for the excavator, 47.4 + 48.5 for the hourglass and 33.0 + 15.8 for the squirrel. */
#include "base/timer.h"

#include <math.h>
#include <repose/grains.h>
#include <repose/scene.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double work(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct spent {
    double wall[3], work[3]; /* particles, fine grains, fine grains at rest */
    double least[3];         /* wall time of the quickest frame: nothing else ran then */
    int64_t steps, sweeps;
    int frames, rests;
    rp_step_stats phases;    /* phase_ms, ms_step: the least of the steps */
} spent;

static void lap(spent *s, int part, double wall, double used)
{
    double took = rp__base_seconds() - wall;
    s->wall[part] += took;
    s->work[part] += work() - used;
    s->least[part] = s->least[part] > 0 && s->least[part] < took ? s->least[part] : took;
}

/* Adds the phases of a step. */
static void add_phases(spent *s, const rp_step_stats *stats)
{
    rp_step_stats *sum = &s->phases;
    s->steps++;
    s->sweeps += stats->iterations;
    for (int k = 0; k < stats->phase_count; k++) {
        sum->phase_name[k] = stats->phase_name[k];
        if (k >= sum->phase_count || stats->phase_ms[k] < sum->phase_ms[k])
            sum->phase_ms[k] = stats->phase_ms[k];
    }
    sum->phase_count = stats->phase_count;
    sum->ms_step = s->steps > 1 && sum->ms_step < stats->ms_step ? sum->ms_step : stats->ms_step;
}

typedef struct scenery {
    rp_sim *sim;
    rp_upsample *fine;
    rp_body_state *bodies;
    rp_frame frame;       /* the bodies as they stand */
    double *was, *mean;   /* by id: places before, and planes of places and mean velocities in the order of the store */
    int64_t capacity;
} scenery;

static const double *plane(const rp_sim *sim, int component)
{
    rp_field_view view;
    return rp_sim_field_named(sim, "position", &view) == RP_OK ? (const double *)view.data + component * view.stride : NULL;
}

static const int64_t *ids(const rp_sim *sim)
{
    rp_field_view view;
    return rp_sim_field_named(sim, "id", &view) == RP_OK ? view.data : NULL;
}

static rp_result make_fine(scenery *w, const rp_scene *scene, const rp_shape **bodies)
{
    const rp_sim_def *def = rp_scene_sim_def(scene);
    rp_upsample_def fine = rp_default_upsample_def();
    rp_field_view volume;
    fine.room = rp_samples_def_of(def, bodies);
    fine.radius = rp_scene_output(scene)->upsample;
    memcpy(fine.gravity, def->gravity, sizeof fine.gravity);
    rp_result result = rp_sim_field_named(w->sim, "volume", &volume);
    if (result != RP_OK)
        return result;
    double first = ((const double *)volume.data)[0], r = 1;
    for (int k = 0; k < 60; k++)
        r -= (r * r * r - first / 4.1887902047863905) / (3 * r * r);
    fine.guide_radius = r;
    result = rp_upsample_create(&fine, &w->fine);
    for (int g = 0; g < def->grains_count && result == RP_OK; g++)
        result = rp_upsample_fill(w->fine, def->grains[g].shape, &w->frame);
    return result;
}

static void see_bodies(scenery *w)
{
    for (int b = 0; b < w->frame.body_count; b++)
        rp_sim_body(w->sim, b, &w->bodies[b]);
}

/* A bound of how far bodies went: none of a scene is larger than its domain. */
static double moved(const scenery *w, double dt)
{
    const rp_sim_def *def = rp_sim_definition(w->sim);
    double size = 0, most = 0;
    for (int d = 0; d < 3; d++)
        size = fmax(size, def->upper[d] - def->lower[d]);
    for (int b = 0; b < w->frame.body_count; b++) {
        const double *v = w->bodies[b].velocity, *t = w->bodies[b].angular_velocity;
        most = fmax(most, dt * (sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + size * sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])));
    }
    return most;
}

static rp_result one_frame(scenery *w, double dt, bool counts, spent *s)
{
    int64_t n = rp_sim_particle_count(w->sim);
    rp_guides g = { 0 };
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            w->was[3 * ids(w->sim)[i] + d] = plane(w->sim, d)[i];
    double wall = rp__base_seconds(), used = work();
    rp_result result = RP_OK;
    do {
        rp_step_stats stats;
        result = rp_sim_step(w->sim, &stats);
        if (counts && result == RP_OK)
            add_phases(s, &stats);
    } while (result == RP_OK && !rp_sim_at_frame(w->sim));
    if (counts)
        lap(s, 0, wall, used);
    see_bodies(w);
    n = rp_sim_particle_count(w->sim);
    for (int d = 0; d < 3; d++) {
        const double *x = plane(w->sim, d);
        double *from = w->mean + d * w->capacity, *v = w->mean + (3 + d) * w->capacity;
        for (int64_t i = 0; i < n; i++)
            from[i] = w->was[3 * ids(w->sim)[i] + d], v[i] = (x[i] - from[i]) / dt;
        g.x[d] = from, g.v[d] = v;
    }
    g.count = n;
    wall = rp__base_seconds(), used = work();
    if (result == RP_OK && w->fine)
        result = rp_upsample_step(w->fine, &g, &w->frame, moved(w, dt), dt);
    if (counts)
        lap(s, 1, wall, used), s->frames++;
    return result;
}

/* The same guides, standing still: grains settle, then there is nothing to do. */
static rp_result at_rest(scenery *w, double dt, spent *s)
{
    rp_guides g = { .count = rp_sim_particle_count(w->sim) };
    rp_result result = RP_OK;
    for (int d = 0; d < 3; d++)
        g.x[d] = plane(w->sim, d), g.v[d] = w->mean + (3 + d) * w->capacity;
    memset(w->mean, 0, 6 * (size_t)w->capacity * sizeof *w->mean);
    for (int k = 0; k < 120 && result == RP_OK; k++) {
        double wall = rp__base_seconds(), used = work();
        result = rp_upsample_step(w->fine, &g, &w->frame, 0, dt);
        if (k >= 110)
            lap(s, 2, wall, used), s->rests++;
    }
    return result;
}

int main(int argc, char **argv)
{
    const char *path = "scenes/hourglass-pbd.yaml";
    int frames = 40, skip = 40, threads = 0;
    bool json = false, bare = false;
    const char *sets[8];
    int set_count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--scene") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc)
            frames = atoi(argv[++i]);
        else if (strcmp(argv[i], "--skip") == 0 && i + 1 < argc)
            skip = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && set_count < 8)
            sets[set_count++] = argv[++i];
        else if (strcmp(argv[i], "--bare") == 0)
            bare = true;
        else if (strcmp(argv[i], "--json") == 0)
            json = true;
        else {
            fprintf(stderr, "usage: bench_pbd [--scene FILE] [--set key=value] [--frames N] [--skip N] [--threads N] [--bare] [--json]\n");
            return 2;
        }
    }
    rp_scene *scene = NULL;
    scenery w = { 0 };
    spent s = { 0 };
    rp_scene_options options = { .set = sets, .set_count = set_count };
    rp_result result = rp_scene_load(path, &options, &scene);
    if (result == RP_OK)
        result = rp_sim_create(rp_scene_sim_def(scene), &w.sim);
    if (result != RP_OK) {
        fprintf(stderr, "bench_pbd: %s\n", rp_last_error());
        return 1;
    }
    rp_sim_set_threads(w.sim, threads);
    double dt = 1 / rp_scene_sim_def(scene)->frame_rate;
    w.capacity = rp_sim_particle_count(w.sim) + 1;
    w.frame.body_count = rp_sim_body_count(w.sim);
    w.bodies = calloc((size_t)w.frame.body_count + 1, sizeof *w.bodies);
    w.was = calloc(3 * (size_t)w.capacity, sizeof *w.was);
    w.mean = calloc(6 * (size_t)w.capacity, sizeof *w.mean);
    const rp_shape **bodies = calloc((size_t)w.frame.body_count + 1, sizeof *bodies);
    if (!w.bodies || !w.was || !w.mean || !bodies)
        return 1;
    w.frame.bodies = w.bodies;
    see_bodies(&w);
    if (!bare)
        result = make_fine(&w, scene, bodies);
    for (int k = 0; k < skip + frames && result == RP_OK; k++)
        result = one_frame(&w, dt, k >= skip, &s);
    int64_t grains = w.fine ? rp_upsample_count(w.fine) : 0, particles = rp_sim_particle_count(w.sim);
    if (result == RP_OK && w.fine)
        result = at_rest(&w, dt, &s);
    if (result != RP_OK || s.frames == 0)
        fprintf(stderr, "bench_pbd: %s\n", rp_last_error());
    else {
        double f = 1e3 / s.frames, q = s.rests ? 1e3 / s.rests : 0;
        printf(json ? "{\"bench\": \"pbd\", \"particles\": %lld, \"grains\": %lld, \"threads\": %d, \"steps_a_frame\": %.2f, \"ms_particles\": %.2f, "
                      "\"ms_grains\": %.2f, \"ms_grains_at_rest\": %.2f, \"least_particles\": %.2f, \"least_grains\": %.2f, \"work_particles\": %.2f, "
                      "\"work_grains\": %.2f, \"work_grains_at_rest\": %.2f}\n"
                    : "%lld particles, %lld grains, %d threads, %.2f steps a frame: %.2f + %.2f ms a frame (grains at rest %.2f; quickest %.2f + %.2f); "
                      "of the processors %.2f + %.2f (%.2f)\n",
               (long long)particles, (long long)grains, threads, (double)s.steps / s.frames, f * s.wall[0], f * s.wall[1], q * s.wall[2],
               1e3 * s.least[0], 1e3 * s.least[1], f * s.work[0], f * s.work[1], q * s.work[2]);
        for (int k = 0; k < s.phases.phase_count && !json; k++)
            printf("%s%s %.3f", k ? ", " : "quickest step, ms by the clock: ", s.phases.phase_name[k], s.phases.phase_ms[k]);
        if (!json)
            printf("; a whole step %.3f; %.2f sweeps a step\n", s.phases.ms_step, (double)s.sweeps / (double)s.steps);
    }
    free(w.was), free(w.mean), free(w.bodies), free(bodies);
    rp_upsample_destroy(w.fine);
    rp_sim_destroy(w.sim);
    rp_scene_destroy(scene);
    return result == RP_OK ? 0 : 1;
}
