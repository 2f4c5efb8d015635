/* An output folder with a real simulation: started, stopped, resumed, refused, out of memory. */
#include "base/memory.h"
#include "folder_tests.h"
#include "io/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char scene_text[] = "method: ballistic\n"
                                 "domain: [1, 1]\n"
                                 "cell_size: 10 cm\n"
                                 "duration: 0.3 s\n"
                                 "frame_rate: 20\n"
                                 "substeps: 3\n"
                                 "material: dry-sand\n"
                                 "grains: [{name: block, shape: {box: {lower: [0.2, 0.3], upper: [0.4, 0.6]}}}]\n"
                                 "bodies: [{name: ball, shape: {sphere: {radius: 10 cm}}, position: [0.3, 0.2]}]\n"
                                 "output: {checkpoint_every: 0, checkpoints_kept: 2}\n";

static int set_up(void **state)
{
    (void)state;
    return folder_make("test_output");
}

static rp_result go(rp_output *output, rp_sim *sim, int64_t last_step)
{
    rp_result result = RP_OK;
    while (result == RP_OK && !rp_sim_done(sim) && rp_sim_steps(sim) < last_step) {
        rp_step_stats stats;
        result = rp_sim_step(sim, &stats);
        if (result == RP_OK)
            result = rp_output_step(output, sim, &stats);
    }
    return result;
}

static void run(const char *to, int64_t last_step)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    if (rp_scene_parse(scene_text, "test", NULL, NULL, &scene) != RP_OK)
        fail_msg("%s", rp_last_error());
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    assert_int_equal(rp_output_create(to, scene, false, &output), RP_OK);
    assert_int_equal(rp_output_start(output, sim), RP_OK);
    assert_int_equal(go(output, sim, last_step), RP_OK);
    rp_output_destroy(output); /* as if killed here: no checkpoint of its own */
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static void resume(const char *from, int64_t expected_step)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    if (rp_output_resume(from, &output, &scene, &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    assert_int_equal(rp_sim_steps(sim), expected_step);
    assert_int_equal(go(output, sim, INT64_MAX), RP_OK);
    rp_output_destroy(output);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
}

static void file_equal(const char *a, const char *b, const char *name)
{
    char *first = rp__file_join(a, name), *second = rp__file_join(b, name), *x, *y;
    size_t m, n;
    assert_int_equal(rp__file_read(first, 1 << 26, &x, &m), RP_OK);
    assert_int_equal(rp__file_read(second, 1 << 26, &y, &n), RP_OK);
    if (m != n || memcmp(x, y, m) != 0)
        fail_msg("%s and %s differ", first, second);
    rp__base_free(x);
    rp__base_free(y);
    rp__base_free(first);
    rp__base_free(second);
}

static void same_run(const char *a, const char *b)
{
    for (int frame = 0; frame <= 6; frame++) {
        char name[64];
        snprintf(name, sizeof name, "frames/frame_%06d.vtkhdf", frame);
        file_equal(a, b, name);
    }
    file_equal(a, b, "frames.vtkhdf.series");
    file_equal(a, b, "bodies.csv");
    file_equal(a, b, "scene.yaml");
    file_equal(a, b, "checkpoints/step_000000018.checkpoint");
}

static void test_resume(void **state)
{
    (void)state;
    char whole[160];
    strcpy(whole, in_folder("whole"));
    run(whole, INT64_MAX);
    assert_int_equal(access(in_folder("whole/checkpoints/step_000000015.checkpoint"), F_OK), 0); /* two are kept */
    assert_int_not_equal(access(in_folder("whole/checkpoints/step_000000012.checkpoint"), F_OK), 0);
    for (int64_t stop = 0; stop <= 18; stop++) { /* a frame is three steps: the last checkpoint lies at or before */
        char name[32], part[160];
        snprintf(name, sizeof name, "stopped_%d", (int)stop);
        strcpy(part, in_folder(name));
        run(part, stop);
        resume(part, stop / 3 * 3);
        same_run(whole, part);
    }
    assert_int_equal(rp_memory_in_use(), 0);
}

static void overwrite_middle(const char *path)
{
    FILE *stream = fopen(path, "r+b");
    assert_non_null(stream);
    fseek(stream, 500, SEEK_SET);
    fputs("!!!!!!!!", stream);
    fclose(stream);
}

static void test_damaged(void **state)
{
    (void)state;
    char whole[160], part[160];
    strcpy(whole, in_folder("whole"));
    strcpy(part, in_folder("damaged"));
    run(part, 13);
    overwrite_middle(in_folder("damaged/checkpoints/step_000000012.checkpoint"));
    resume(part, 9); /* the one before */
    same_run(whole, part);
    assert_int_equal(access(in_folder("damaged/checkpoints/step_000000012.checkpoint.damaged"), F_OK), 0);

    strcpy(part, in_folder("refused"));
    run(part, 13);
    overwrite_middle(in_folder("refused/checkpoints/step_000000012.checkpoint"));
    overwrite_middle(in_folder("refused/checkpoints/step_000000009.checkpoint"));
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_output *output = NULL;
    assert_int_equal(rp_output_resume(part, &output, &scene, &sim), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "holds no sound checkpoint"));
    assert_true(!output && !scene && !sim);
    assert_int_equal(access(in_folder("refused/frames/frame_000004.vtkhdf"), F_OK), 0); /* nothing was cut */
    assert_int_equal(rp_output_resume(in_folder("absent"), &output, &scene, &sim), RP_NOT_FOUND);
    assert_int_equal(rp_output_resume(folder, &output, &scene, &sim), RP_NOT_FOUND);
    assert_int_equal(rp_memory_in_use(), 0);
}

static void test_overwrite(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    rp_output *output = NULL;
    assert_int_equal(rp_scene_parse(scene_text, "test", NULL, NULL, &scene), RP_OK);
    char part[160];
    strcpy(part, in_folder("over"));
    run(part, 4);
    assert_int_equal(rp__file_write_text(in_folder("over/notes.txt"), "mine"), RP_OK);
    assert_int_equal(rp_output_create(part, scene, false, &output), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "holds a run already"));
    assert_null(output);
    assert_int_equal(rp_output_create(part, scene, true, &output), RP_OK);
    assert_int_not_equal(access(in_folder("over/frames/frame_000001.vtkhdf"), F_OK), 0);
    assert_int_not_equal(access(in_folder("over/checkpoints/step_000000003.checkpoint"), F_OK), 0);
    assert_int_equal(access(in_folder("over/notes.txt"), F_OK), 0); /* not ours */
    rp_output_destroy(output);
    rp_scene_destroy(scene);
}

static void test_fields(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    assert_int_equal(rp_scene_parse(scene_text, "test", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    rp_output_def def = rp_default_output_def();
    rp_frame frame;
    char path[160];
    strcpy(path, in_folder("fields.vtkhdf"));
    def.fields = "mass id";
    assert_int_equal(rp_frame_write(sim, &def, path), RP_OK);
    assert_int_equal(rp_frame_read(path, &frame), RP_OK);
    assert_int_equal(frame.field_count, 3);
    assert_true(rp_frame_field(&frame, "mass") && rp_frame_field(&frame, "id") && !rp_frame_field(&frame, "velocity"));
    assert_int_equal(frame.count, rp_sim_particle_count(sim));
    rp_frame_free(&frame);
    def.fields = "mass vorticity";
    assert_int_equal(rp_frame_write(sim, &def, path), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "no field 'vorticity'"));
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    assert_int_equal(rp_memory_in_use(), 0);
}

/* Every allocation of create, start and a step with a frame fails once; what is there stays sound. */
static void test_out_of_memory(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    assert_int_equal(rp_scene_parse(scene_text, "test", NULL, NULL, &scene), RP_OK);
    assert_int_equal(rp_sim_create(rp_scene_sim_def(scene), &sim), RP_OK);
    size_t base = rp_memory_in_use();
    char part[160];
    strcpy(part, in_folder("memory"));
    rp_result result = RP_OUT_OF_MEMORY;
    int64_t n = 1;
    for (; result != RP_OK && n < 5000; n += 3) {
        rp_output *output = NULL;
        rp__base_fail_allocation(n);
        result = rp_output_create(part, scene, true, &output);
        if (result == RP_OK)
            result = rp_output_start(output, sim);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        rp_output_destroy(output);
        assert_int_equal(rp_memory_in_use(), base);
    }
    assert_true(result == RP_OK && n > 30);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    rp_output *output = NULL;
    scene = NULL;
    sim = NULL;
    result = RP_OUT_OF_MEMORY;
    for (n = 1; result != RP_OK && n < 20000; n += 11) {
        rp__base_fail_allocation(n);
        result = rp_output_resume(part, &output, &scene, &sim);
        rp__base_fail_allocation(0);
        if (result != RP_OK && result != RP_OUT_OF_MEMORY)
            fail_msg("allocation %d: %s", (int)n, rp_last_error());
        assert_true(result == RP_OK || (!output && !scene && !sim && rp_memory_in_use() == 0));
    }
    assert_int_equal(result, RP_OK);
    rp_output_destroy(output);
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    assert_int_equal(rp_memory_in_use(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume), cmocka_unit_test(test_damaged),       cmocka_unit_test(test_overwrite),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
