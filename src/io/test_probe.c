/* Node fields at the particles: against a plain search over all nodes, and against what a layer at rest must give. */
#include "io/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A layer of 12 cm at rest in a box; above it a drop that falls. */
static const char layer[] = "domain: [0.2, %s 0.4]\n"
                            "cell_size: 2 cm\n"
                            "duration: 0.1 s\n"
                            "material: {bulk_density: 1500, friction: 0.5}\n"
                            "walls: {all: slip, bottom: stick, top: open}\n"
                            "grains:\n"
                            "  - {sampling: regular, shape: {box: {lower: [0, %s 0], upper: [0.2, %s 0.12]}}}\n"
                            "  - {sampling: regular, shape: {box: {lower: [0.08, %s 0.3], upper: [0.12, %s 0.34]}}}\n";

static rp_sim *start(int dim)
{
    char text[1024];
    snprintf(text, sizeof text, layer, dim == 3 ? "0.1," : "", dim == 3 ? "0," : "", dim == 3 ? "0.1," : "", dim == 3 ? "0.04," : "",
             dim == 3 ? "0.06," : "");
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    assert_int_equal(rp_scene_parse(text, "layer", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    rp_scene_destroy(scene);
    return sim;
}

static const float *probe(const rp_frame *frame, const char *name)
{
    const rp_field_view *view = rp_frame_field(frame, name);
    assert_non_null(view);
    assert_int_equal(view->info.type, RP_F32);
    return view->data;
}

static const rp_field_view *node_field(const rp_field_view *views, int count, const char *name)
{
    for (int v = 0; v < count; v++)
        if (strcmp(views[v].info.name, name) == 0)
            return &views[v];
    fail_msg("no node field '%s'", name);
    return NULL;
}

/* Tents over all nodes, divided by their sum; or the node with the largest. */
static double value_ref(const rp_field_view *at, const double *plane, int dim, const double x[3], double h, bool nearest)
{
    double sum = 0, total = 0, best = 0, value = 0;
    const double *p = at->data;
    for (int64_t i = 0; i < at->count; i++) {
        double w = 1;
        for (int d = 0; d < dim; d++)
            w *= fmax(0, 1 - fabs(x[d] - p[d * at->stride + i]) / h);
        sum += w * plane[i], total += w;
        if (w > best)
            best = w, value = plane[i];
    }
    return nearest ? value : total > 0 ? sum / total : 0;
}

static void layer_at_rest(int dim)
{
    rp_sim *sim = start(dim);
    rp_frame frame;
    assert_int_equal(rp__io_frame_collect(sim, NULL, &frame), RP_OK);
    for (int64_t i = 0; i < frame.count; i++) /* nothing is known before the first step */
        assert_true(probe(&frame, "pressure")[i] == 0 && probe(&frame, "region")[i] == 0);
    rp_frame_free(&frame);
    rp_step_stats stats;
    while (rp_sim_time(sim) < 0.05)
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
    assert_int_equal(rp__io_frame_collect(sim, NULL, &frame), RP_OK);
    const float *pressure = probe(&frame, "pressure"), *fraction = probe(&frame, "volume_fraction"), *region = probe(&frame, "region");
    const rp_field_view *views, *x = rp_frame_field(&frame, "position");
    int count;
    int64_t nodes;
    assert_int_equal(rp_sim_grid_fields(sim, &views, &count, &nodes), RP_OK);
    const rp_field_view *at = node_field(views, count, "position");
    const double *p = node_field(views, count, "pressure")->data, *r = node_field(views, count, "region")->data, *place = x->data;
    int64_t held = 0, deep = 0;
    for (int64_t i = 0; i < frame.count; i++) {
        double here[3] = { place[i], place[x->stride + i], place[2 * x->stride + i] }, up = here[dim - 1];
        if (i % 37 == 0) {
            assert_float_equal(pressure[i], value_ref(at, p, dim, here, 0.02, false), 1e-3);
            assert_true((double)region[i] == value_ref(at, r, dim, here, 0.02, true));
        }
        if (up > 0.2) { /* in the air: rounding at most, of the 3 kPa below */
            assert_true(fabsf(pressure[i]) < 1e-9f && region[i] == 0);
        } else if (up > 0.02 && up < 0.08) {
            deep++;
            held += region[i] > 0;
            /* stress of the grains: their density times the depth */
            assert_true(pressure[i] > 0.3 * 2500 * 9.81 * (0.12 - up) && pressure[i] < 1.5 * 2500 * 9.81 * (0.12 - up));
            assert_true(fraction[i] > 0.5 && fraction[i] < 0.7);
        }
    }
    assert_true(deep > 20 && held == deep);
    rp_frame_free(&frame);
    assert_int_equal(rp__io_frame_collect(sim, "velocity region", &frame), RP_OK);
    assert_int_equal(frame.field_count, 3); /* with the position */
    assert_null(rp_frame_field(&frame, "pressure"));
    rp_frame_free(&frame);
    rp_sim_destroy(sim);
}

static void layers_at_rest(void **state)
{
    (void)state;
    layer_at_rest(2);
    layer_at_rest(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(layers_at_rest) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
