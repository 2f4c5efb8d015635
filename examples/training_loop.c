/* A training loop: a thousand short trials from one saved state, to learn how to throw a ball as high as possible. The search is the
 * simplest there is; what matters is that going back costs next to nothing. */
#include "example.h"

#include <math.h>
#include <time.h>

static const char scene_text[] =
    "method: ballistic\ndomain: [1, 0.4, 0.4]\ncell_size: 5 cm\nduration: 10 s\nframe_rate: 20\nwalls: {all: slip, bottom: 0.5}\n"
    "material: dry-sand\ngrains: [{shape: {box: {lower: [0, 0, 0], upper: [0.4, 0.4, 0.05]}}, per_cell: 4}]\n"
    "bodies: [{name: ball, kind: free, density: 500, shape: {sphere: {radius: 4 cm}}, position: [0.7, 0.2, 0.1]}]\n";

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same numbers in every run. */
static double random_unit(unsigned long long *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* The greatest height of the ball on its way. */
static double highest_until(rp_sim *sim, double end)
{
    double highest = 0;
    while (rp_sim_time(sim) < end) {
        rp_body_state ball;
        TRY(rp_sim_step(sim, NULL));
        TRY(rp_sim_body(sim, 0, &ball));
        highest = fmax(highest, ball.position[2]);
    }
    return highest;
}

int main(void)
{
    enum { TRIALS = 1000 };
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_state start;
    TRY(rp_scene_parse(scene_text, "scene", NULL, NULL, &scene));
    TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
    rp_scene_destroy(scene);
    rp_sim_set_threads(sim, 1);
    for (int i = 0; i < 3; i++)
        TRY(rp_sim_step(sim, NULL));
    TRY(rp_sim_save(sim, &start));
    double end = rp_sim_time(sim) + 0.3;
    double bytes = 0;
    for (int b = 0; b < start.count; b++)
        bytes += (double)start.blobs[b].count * (start.blobs[b].type == RP_F64 || start.blobs[b].type == RP_I64 ? 8 : 4);

    unsigned long long seed = 1;
    double best = 0, angle = 0, first = 0, spent = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double begin = seconds(), tried = trial == 0 ? 0 : angle + (random_unit(&seed) - 0.5);
        TRY(rp_sim_restore(sim, &start));
        spent += seconds() - begin;
        const double thrown[3] = { 2 * cos(tried), 0, 2 * sin(tried) }, none[3] = { 0, 0, 0 };
        TRY(rp_sim_set_body_velocity(sim, 0, thrown, none));
        double reward = highest_until(sim, end);
        if (trial == 0)
            first = reward;
        if (reward > best)
            best = reward, angle = tried;
    }
    printf("%d trials: the ball flies %.3f m high when thrown %.0f degrees upwards, %.3f m when thrown along the ground; going back took %.3f ms, "
           "%.2f ms a megabyte of state\n",
           TRIALS, best, angle * 180 / 3.14159265358979, first, 1e3 * spent / TRIALS, 1e9 * spent / TRIALS / bytes);
    CHECK(best > first && fabs(angle - 1.5707963) < 0.2); /* straight up, learned */
    /* the best trial once more gives the same to the bit */
    TRY(rp_sim_restore(sim, &start));
    TRY(rp_sim_set_body_velocity(sim, 0, (const double[3]){ 2 * cos(angle), 0, 2 * sin(angle) }, (const double[3]){ 0, 0, 0 }));
    CHECK(highest_until(sim, end) == best);
    rp_state_free(&start);
    rp_sim_destroy(sim);
    return 0;
}
