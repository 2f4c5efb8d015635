/* Samples over bundled scenes, run coarser: none is farther than a cell from every particle, none is under the ground, outside a
 * wall or in a body. REPOSE_SAMPLES_CELL names another cell size for the collapse ("2 cm" is that of the scene). */
#include "grains/grains.h"

#include <math.h>
#include <repose/scene.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "math/quat.h"

#include <cmocka.h>

typedef struct found {
    double farthest, deepest, in_body; /* [m] */
    int64_t samples, frames, first, most;
} found;

/* Distance to the nearest particle, looked for in the cells around; INFINITY when there is none within a cell. */
static double nearest(const rp__cells *cells, const double *const p[3], const double x[3])
{
    double best = INFINITY;
    int64_t c[3], i[3];
    for (int d = 0; d < 3; d++)
        c[d] = rp__grains_cell(cells, d, x[d]);
    for (i[2] = c[2] - 1; i[2] <= c[2] + 1; i[2]++)
        for (i[1] = c[1] - 1; i[1] <= c[1] + 1; i[1]++)
            for (i[0] = c[0] - 1; i[0] <= c[0] + 1; i[0]++) {
                if (i[0] < 0 || i[1] < 0 || i[2] < 0 || i[0] >= cells->size[0] || i[1] >= cells->size[1] || i[2] >= cells->size[2])
                    continue;
                int64_t at = (i[2] * cells->size[1] + i[1]) * cells->size[0] + i[0];
                for (int64_t k = cells->first[at]; k < cells->first[at + 1]; k++) {
                    int32_t q = cells->items[k];
                    double a = x[0] - p[0][q], b = x[1] - p[1][q], e = x[2] - p[2][q];
                    best = fmin(best, a * a + b * b + e * e);
                }
            }
    return sqrt(best);
}

/* How deep a point is in the bodies; shapes[b] is the one that body b has in this frame. */
static double depth_in_bodies(int body_count, rp_shape *const *shapes, const rp_frame *frame, const double x[3])
{
    double deepest = 0;
    for (int b = 0; b < body_count && b < frame->body_count; b++) {
        const rp_body_state *s = &frame->bodies[b];
        if (!shapes[b] || !s->present)
            continue;
        rp__pose pose = { rp__vec3_load(s->position), { s->orientation[0], s->orientation[1], s->orientation[2], s->orientation[3] } };
        double local[3];
        rp__vec3_store(local, rp__pose_inverse_apply(&pose, rp__vec3_load(x)));
        double lower[3], upper[3];
        bool in_box = true;
        rp_shape_bounds(shapes[b], lower, upper);
        for (int d = 0; d < 3; d++)
            in_box = in_box && local[d] > lower[d] && local[d] < upper[d];
        if (in_box)
            deepest = fmax(deepest, -rp_shape_distance(shapes[b], local, NULL));
    }
    return deepest;
}

static void look(const rp_sim_def *sim, const rp_samples_def *def, const rp_samples *s, const rp_frame *frame, found *f)
{
    rp_shape *shapes[8] = { NULL };
    for (int b = 0; b < sim->body_count; b++)
        if (sim->bodies[b].sequence)
            assert_int_equal(rp_mesh_sequence_evaluate(sim->bodies[b].sequence, frame->time, &shapes[b]), RP_OK);
        else
            shapes[b] = rp_shape_retain(sim->bodies[b].shape);
    const rp_field_view *view = rp_frame_field(frame, "position");
    const double *p[3];
    for (int d = 0; d < 3; d++)
        p[d] = (const double *)view->data + d * view->stride;
    rp__cells cells;
    assert_int_equal(rp__grains_cells(p, NULL, frame->count, def->cell_size, &cells), RP_OK);
    for (int64_t i = 0; i < s->particles; i++)
        for (int64_t k = s->first[i]; k < s->first[i + 1]; k++) {
            double x[3], home[3] = { p[0][i], p[1][i], p[2][i] };
            for (int d = 0; d < 3; d++) {
                x[d] = home[d] + rp__grains_unpack(s->offset[3 * k + d], s->scale);
                if (!def->open[2 * d])
                    f->deepest = fmax(f->deepest, def->lower[d] - x[d]);
                if (!def->open[2 * d + 1])
                    f->deepest = fmax(f->deepest, x[d] - def->upper[d]);
            }
            f->farthest = fmax(f->farthest, nearest(&cells, p, x));
            f->in_body = fmax(f->in_body, depth_in_bodies(sim->body_count, shapes, frame, x));
            f->samples++;
        }
    for (int b = 0; b < sim->body_count; b++)
        rp_shape_release(shapes[b]);
    rp__grains_cells_free(&cells);
    f->first = f->frames == 0 ? s->count : f->first;
    f->most = s->count > f->most ? s->count : f->most;
    f->frames++;
}

static void take(rp_sim *sim, rp_frame *frame)
{
    char path[] = "samples_frame_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(rp_frame_write(sim, NULL, path), RP_OK);
    assert_int_equal(rp_frame_read(path, frame), RP_OK);
    unlink(path);
}

static found walk(const char *name, const char *cell, double per_particle, const char *end)
{
    char path[512], set[64], duration[64];
    snprintf(path, sizeof path, "%s/scenes/%s.yaml", RP_SOURCE_DIR, name);
    snprintf(set, sizeof set, "cell_size=%s", cell);
    snprintf(duration, sizeof duration, "duration=%s", end ? end : "");
    const char *sets[] = { set, duration };
    rp_scene_options options = { .set = sets, .set_count = end ? 2 : 1 };
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    assert_int_equal(rp_scene_load(path, &options, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    const rp_shape *bodies[8];
    assert_true(rp_scene_sim_def(scene)->body_count <= 8);
    rp_samples_def def = rp_samples_def_of(rp_scene_sim_def(scene), bodies);
    def.per_particle = per_particle;
    found f = { 0 };
    rp_frame frame;
    rp_samples samples;
    take(sim, &frame);
    assert_int_equal(rp_samples_seed(&def, &frame, &samples), RP_OK);
    look(rp_scene_sim_def(scene), &def, &samples, &frame, &f);
    while (!rp_sim_done(sim)) {
        rp_step_stats stats;
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        if (!rp_sim_at_frame(sim))
            continue;
        rp_frame next;
        rp_samples moved;
        take(sim, &next);
        assert_int_equal(rp_samples_advance(&def, &samples, &frame, &next, &moved), RP_OK);
        look(rp_scene_sim_def(scene), &def, &moved, &next, &f);
        rp_samples_free(&samples);
        rp_frame_free(&frame);
        samples = moved, frame = next;
    }
    rp_samples_free(&samples);
    rp_frame_free(&frame);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    print_message(
        "%s, cells of %s: %lld samples in %lld frames, first %lld and at most %lld, at most %.3f cells from a particle, %.2g m outside, "
        "%.2g m in a body\n",
        name, cell, (long long)f.samples, (long long)f.frames, (long long)f.first, (long long)f.most, f.farthest / def.cell_size, f.deepest,
        f.in_body);
    assert_true(f.samples > 1000 * f.frames);
    assert_true(f.most < 1.25 * (double)f.first); /* particles that split and merge do not breed samples */
    assert_true(f.farthest <= def.cell_size);
    assert_true(f.deepest <= 0);
    assert_true(f.in_body <= 1e-4 * def.cell_size); /* offsets are stored in steps of a few 1e-5 cells */
    return f;
}

static void whole_collapse(void **state)
{
    (void)state;
    const char *cell = getenv("REPOSE_SAMPLES_CELL");
    found f = walk("collapse", cell ? cell : "5 cm", 12, NULL);
    assert_int_equal(f.frames, 73);
}

static void around_a_body(void **state)
{
    (void)state;
    walk("column-on-cylinder", "6 cm", 12, NULL);
}

/* Bodies that deform, from under the grains and from above. */
static void around_deforming_bodies(void **state)
{
    (void)state;
    walk("footprint", "3 cm", 6, "0.8 s");
    walk("treasure", "5 cm", 12, "0.5 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(whole_collapse), cmocka_unit_test(around_a_body),
                                        cmocka_unit_test(around_deforming_bodies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
