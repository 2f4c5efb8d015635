/* Grain samples over a whole collapse, and what they cost: no sample is farther than a cell from every particle, none is under the
 * ground or in a body; twenty a particle add less than 60 % to the time of the simulation. */
#include <math.h>
#include <repose/grains.h>
#include <repose/repose.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char scene_text[] = "title: Collapse onto a block\n"
                                 "method: nonsmooth\n"
                                 "domain: [1.2, 0.2, 0.6]\n"
                                 "cell_size: 5 cm\n"
                                 "duration: 0.3 s\n"
                                 "frame_rate: 24\n"
                                 "material: dry-sand\n"
                                 "walls: {all: slip, bottom: stick}\n"
                                 "grains:\n"
                                 "  - {shape: {box: {lower: [0, 0, 0], upper: [0.3, 0.2, 0.5]}}}\n"
                                 "bodies:\n"
                                 "  - {name: block, shape: {box: {size: [0.1, 0.1, 0.1]}}, position: [0.5, 0.1, 0.05]}\n";

static char folder[] = "test_samples_XXXXXX";

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double distance2(const double *p, int64_t stride, int64_t i, const double x[3])
{
    double sum = 0;
    for (int d = 0; d < 3; d++)
        sum += (p[d * stride + i] - x[d]) * (p[d * stride + i] - x[d]);
    return sum;
}

/* Every sample of a frame; the farthest from all particles. */
static double check_frame(const rp_sim_def *sim, const rp_frame *frame, const rp_samples *s)
{
    const rp_field_view *view = rp_frame_field(frame, "position");
    const double *p = view->data;
    double farthest = 0;
    for (int64_t i = 0; i < s->particles; i++) {
        int64_t n = s->first[i + 1] - s->first[i];
        double owner[3] = { p[i] - 0.5, p[view->stride + i] - 0.1, p[2 * view->stride + i] - 0.05 };
        bool owner_outside = rp_shape_distance(sim->bodies[0].shape, owner, NULL) >= 0;
        double *x = malloc(3 * sizeof *x * (size_t)(n + 1));
        assert_non_null(x);
        rp_samples_positions(s, frame, i, i + 1, x, x + n, x + 2 * n);
        for (int64_t k = 0; k < n; k++) {
            double at[3] = { x[k], x[n + k], x[2 * n + k] };
            for (int d = 0; d < 3; d++)
                assert_true(at[d] > sim->lower[d] && at[d] < sim->upper[d]);
            double local[3] = { at[0] - 0.5, at[1] - 0.1, at[2] - 0.05 };
            double inside = rp_shape_distance(sim->bodies[0].shape, local, NULL);
            if (owner_outside)
                assert_true(inside > -1e-6); /* offsets are kept in 16 bits */
            double nearest = distance2(p, view->stride, i, at);
            for (int64_t j = 0; j < s->particles && nearest > 0.25 * sim->cell_size * sim->cell_size; j++)
                nearest = fmin(nearest, distance2(p, view->stride, j, at));
            farthest = fmax(farthest, sqrt(nearest));
        }
        free(x);
    }
    return farthest;
}

static void samples_of_a_collapse(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rp_scene_parse(scene_text, "test", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    assert_int_equal(rp_output_create(folder, scene, true, &output), RP_OK);
    assert_int_equal(rp_output_start(output, sim), RP_OK);
    double start = cpu_seconds();
    while (!rp_sim_done(sim)) {
        rp_step_stats stats;
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        assert_int_equal(rp_output_step(output, sim, &stats), RP_OK);
    }
    double simulated = cpu_seconds() - start, sampled = 0, farthest = 0;
    int64_t frames = rp_sim_frame(sim), first = 0, last = 0;

    const rp_sim_def *def = rp_scene_sim_def(scene);
    const rp_shape *bodies[1];
    rp_samples_def samples_def = rp_samples_def_of(def, bodies);
    samples_def.per_particle = 20;
    rp_samples samples = { 0 };
    rp_frame before = { 0 };
    for (int64_t i = 0; i <= frames; i++) {
        char path[128];
        rp_frame frame;
        rp_samples moved;
        snprintf(path, sizeof path, "%s/frames/frame_%06lld.vtkhdf", folder, (long long)i);
        assert_int_equal(rp_frame_read(path, &frame), RP_OK);
        start = cpu_seconds();
        if (i == 0)
            assert_int_equal(rp_samples_seed(&samples_def, &frame, &moved), RP_OK);
        else {
            assert_int_equal(rp_samples_advance(&samples_def, &samples, &before, &frame, &moved), RP_OK);
            rp_samples_free(&samples);
            rp_frame_free(&before);
        }
        sampled += cpu_seconds() - start;
        samples = moved;
        before = frame;
        last = samples.count;
        first = i == 0 ? last : first;
        farthest = fmax(farthest, check_frame(def, &frame, &samples));
    }
    print_message("%lld samples, farthest %.2f cells; %.2f s for the samples, %.2f s for the simulation\n", (long long)last,
                  farthest / def->cell_size, sampled, simulated);
    assert_true(farthest < def->cell_size);
    assert_true(last > 0.98 * (double)first && last < 1.2 * (double)first); /* particles split; the grains stay as many */
    assert_true(sampled < 0.6 * simulated);
    rp_samples_free(&samples);
    rp_frame_free(&before);
    rp_output_destroy(output);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(samples_of_a_collapse) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
