/* A handle that is NULL is refused with a sentence, or is an empty answer; never a crash. */
#include "cmocka_test.h"

#include <repose/repose.h>

#define REFUSED(call)                                  \
    do {                                               \
        assert_int_equal((call), RP_BAD_ARGUMENT);     \
        assert_true(rp_last_error()[0] != '\0');       \
    } while (0)

static void simulations(void **state)
{
    (void)state;
    double number;
    int64_t count;
    rp_field_view view;
    rp_body_state body;
    rp_state saved;
    REFUSED(rp_sim_create(NULL, NULL));
    REFUSED(rp_sim_step(NULL, NULL));
    REFUSED(rp_sim_next_time(NULL, &number));
    REFUSED(rp_sim_estimate(NULL, &count, &count));
    REFUSED(rp_sim_estimate_emitted(NULL, &count));
    REFUSED(rp_params_create(NULL, NULL));
    REFUSED(rp_params_set(NULL, "a", "b"));
    assert_int_not_equal(rp_sim_field_named(NULL, "mass", &view), RP_OK);
    assert_int_not_equal(rp_sim_body(NULL, 0, &body), RP_OK);
    assert_int_not_equal(rp_sim_save(NULL, &saved), RP_OK);
    assert_int_not_equal(rp_sim_restore(NULL, NULL), RP_OK);
    assert_true(rp_sim_time(NULL) == 0 && rp_sim_steps(NULL) == 0 && rp_sim_frame(NULL) == 0 && rp_sim_done(NULL));
    assert_true(rp_sim_particle_count(NULL) == 0 && rp_sim_body_count(NULL) == 0 && rp_sim_field_count(NULL) == 0);
    assert_null(rp_sim_definition(NULL));
    rp_sim_set_threads(NULL, 1);
    rp_sim_destroy(NULL);
}

static void files(void **state)
{
    (void)state;
    char *text = NULL;
    rp_output *output;
    rp_scene *scene;
    rp_sim *sim;
    REFUSED(rp_scene_load(NULL, NULL, NULL));
    REFUSED(rp_scene_format(NULL, &text));
    REFUSED(rp_output_create(NULL, NULL, false, &output));
    REFUSED(rp_output_resume(NULL, &output, &scene, &sim));
    REFUSED(rp_output_step(NULL, NULL, NULL));
    REFUSED(rp_output_checkpoint(NULL, NULL));
    REFUSED(rp_info(NULL, false, &text));
    REFUSED(rp_convert(NULL, NULL, NULL));
    REFUSED(rp_verify(NULL, NULL));
    REFUSED(rp_parse_quantity(NULL, "s", NULL));
    assert_true(rp_scene_file_count(NULL) == 0 && !rp_scene_file(NULL, 0) && !rp_scene_sim_def(NULL) && !rp_scene_output(NULL));
    rp_scene_destroy(NULL);
    rp_output_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(simulations), cmocka_unit_test(files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
