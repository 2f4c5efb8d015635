/* The core alone: what a missing component brings is refused by its name, and the rest works. */
#include <repose/action.h>
#include <repose/friction.h>
#include <repose/query.h>
#include <repose/repose.h>
#include <repose/sim.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void refused(rp_result result, const char *component)
{
    char word[64];
    snprintf(word, sizeof word, "component '%s'", component);
    if (result == RP_UNSUPPORTED && strstr(rp_last_error(), word))
        return;
    printf("%s is not refused by name: %s, %s\n", component, rp_result_name(result), rp_last_error());
    failures++;
}

int main(void)
{
    rp_motion *motion = NULL;
    rp_shape *shape = NULL;
    rp_friction *problem = NULL;
    refused(rp_motion_expression("t, 0, 0", &motion), "scripts");
    FILE *empty = fopen("bunny.glb", "w");
    if (!empty || fclose(empty) != 0)
        return 1;
    remove("bunny.glb");
    refused(rp_shape_heightfield_image("hills.png", (const double[2]){ 0, 0 }, (const double[2]){ 1, 1 }, 0, 1, &shape), "images");
    refused(rp_friction_read("problem.hdf5", &problem), "problems");

    rp_scene *scene = NULL;
    rp_output *output = NULL;
    rp_render *render = NULL;
    rp_film *film = NULL;
    rp_frame frame = { 0 };
    rp_samples samples = { 0 };
    refused(rp_scene_load("heap.yaml", NULL, &scene), "files");
    refused(rp_scene_parse("domain: [1, 1]", "text", NULL, NULL, &scene), "files");
    refused(rp_output_create("folder", scene, true, &output), "files");
    refused(rp_checkpoint_write("file", NULL, ""), "files");
    refused(rp_frame_read("frame.vtkhdf", &frame), "files");
    refused(rp_samples_seed(NULL, &frame, &samples), "pictures");
    refused(rp_render_create((const double[3]){ 0, 0, 0 }, &render), "pictures");
    refused(rp_film_open("folder", NULL, &film), "pictures");
    rp_scene_destroy(scene), rp_output_destroy(output), rp_frame_free(&frame), rp_film_close(film), rp_text_free(NULL);

    rp_material_def sand = rp_default_material_def();
    rp_grains_def ball = rp_default_grains_def();
    rp_sim_def def = rp_default_sim_def();
    rp_params *params = NULL;
    rp_sim *sim = NULL;
    if (rp_shape_sphere((const double[3]){ 0.5, 0.5, 0.5 }, 0.2, &ball.shape) != RP_OK || rp_params_create("elastoplastic", &params) != RP_OK ||
        rp_params_set(params, "integrator", "implicit") != RP_OK)
        return 1;
    def.materials = &sand, def.material_count = 1;
    def.grains = &ball, def.grains_count = 1;
    def.method = "elastoplastic";
    def.method_params = rp_params_data(params);
    if (rp_sim_create(&def, &sim) != RP_OK)
        return 1;
    refused(rp_sim_step(sim, NULL), "implicit");
    rp_sim_destroy(sim);
    for (int m = 0; m < rp_method_count(); m++) { /* every method that needs nothing else runs */
        def.method = rp_method_at(m)->name;
        def.method_params = NULL;
        sim = NULL;
        rp_result result = rp_sim_create(&def, &sim);
        if (result == RP_OK)
            result = rp_sim_step(sim, NULL);
        if (result != RP_OK && result != RP_BAD_ARGUMENT && result != RP_UNSUPPORTED) {
            printf("%s: %s\n", def.method, rp_last_error());
            failures++;
        }
        printf("%s: %s %s\n", def.method, rp_result_name(result), result == RP_OK ? "" : rp_last_error());
        rp_sim_destroy(sim);
    }
    rp_params_destroy(params);
    rp_shape_release(ball.shape);
    return failures != 0;
}
