/* Scenes: from a file or a text to definitions, and what they hold. */
#include "base/error.h"
#include "base/file.h"
#include "scene/scene_internal.h"

#include <string.h>

rp_result rp_scene_parse(const char *text, const char *name, const char *folder, const rp_scene_options *options,
                         rp_scene **out)
{
    if (!text || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_scene_parse needs a text and a place for the scene");
    rp_scene *scene = RP_NEW(rp_scene);
    if (!scene)
        return RP_OUT_OF_MEMORY;
    rp__scene_pool_init(&scene->pool);
    rp__reader reader = { .scene = scene, .folder = folder };
    rp_result result = rp__scene_tree_parse(&reader.tree, &scene->pool, name ? name : "scene", text, strlen(text));
    if (result == RP_OK && options) {
        reader.tree.set = options->set;
        for (int i = 0; i < options->set_count && result == RP_OK; ++i)
            result = rp__scene_tree_set(&reader.tree, i);
    }
    if (result == RP_OK)
        result = rp__scene_read_top(&reader);
    if (result != RP_OK) {
        rp_scene_destroy(scene);
        return result;
    }
    *out = scene;
    return RP_OK;
}

rp_result rp__scene_note_file(rp_scene *scene, const char *path)
{
    const char **item = rp__scene_push(scene, &scene->files, sizeof *item);
    if (!item)
        return RP_OUT_OF_MEMORY;
    *item = path;
    return RP_OK;
}

rp_result rp_scene_load(const char *path, const rp_scene_options *options, rp_scene **out)
{
    if (!path || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_scene_load needs a path and a place for the scene");
    char *text = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(path, RP_TREE_BYTES, &text, &size));
    const char *slash = strrchr(path, '/');
    char *folder = rp__base_copy_text(slash ? path : ".");
    if (!folder) {
        rp__base_free(text);
        return RP_OUT_OF_MEMORY;
    }
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    rp_result result;
    if (memchr(text, '\0', size))
        result = rp__base_fail(RP_BAD_SCENE, "%s: this is no text (it contains bytes of value zero); a scene is UTF-8 text", path);
    else
        result = rp_scene_parse(text, path, folder, options, out);
    rp__base_free(folder);
    rp__base_free(text);
    return result;
}

void rp_scene_destroy(rp_scene *scene)
{
    if (!scene)
        return;
    for (int i = 0; i < scene->grains.count; ++i) {
        rp_shape_release(RP_ITEM(rp__grains_item, scene->grains, i)->def.shape);
        rp_expression_release(RP_ITEM(rp__grains_item, scene->grains, i)->def.velocity_field);
        rp_expression_release(RP_ITEM(rp__grains_item, scene->grains, i)->def.orientation_field);
    }
    for (int i = 0; i < scene->emitters.count; ++i)
        rp_shape_release(RP_ITEM(rp__emitter_item, scene->emitters, i)->def.shape);
    for (int i = 0; i < scene->sinks.count; ++i)
        rp_shape_release(RP_ITEM(rp__sink_item, scene->sinks, i)->def.shape);
    for (int i = 0; i < scene->bodies.count; ++i) {
        rp_shape_release(RP_ITEM(rp__body_item, scene->bodies, i)->def.shape);
        rp_motion_release(RP_ITEM(rp__body_item, scene->bodies, i)->def.motion);
        rp_mesh_sequence_release(RP_ITEM(rp__body_item, scene->bodies, i)->def.sequence);
    }
    rp__scene_free_fibres(scene);
    for (int i = 0; i < scene->methods.count; ++i)
        rp_params_destroy(RP_ITEM(rp__method_item, scene->methods, i)->params);
    rp_expression_release(scene->fluid.velocity_field);
    rp_shape_release((rp_shape *)(uintptr_t)scene->fluid.fill);
    rp__scene_pool_free(&scene->pool);
    rp__base_free(scene);
}

const rp_sim_def *rp_scene_sim_def(const rp_scene *scene)
{
    if (!scene)
        return NULL;
    return &scene->sim;
}

int rp_scene_file_count(const rp_scene *scene)
{
    return scene ? scene->files.count : 0;
}

const char *rp_scene_file(const rp_scene *scene, int index)
{
    return index >= 0 && index < rp_scene_file_count(scene) ? *RP_ITEM(const char *, scene->files, index) : NULL;
}

const rp_output_def *rp_scene_output(const rp_scene *scene)
{
    if (!scene)
        return NULL;
    return &scene->output;
}

int rp_scene_control_count(const rp_scene *scene)
{
    return scene->controls.count;
}

const rp_control_def *rp_scene_control(const rp_scene *scene, int index)
{
    return index >= 0 && index < scene->controls.count ? &RP_ITEM(rp__control_item, scene->controls, index)->def : NULL;
}

const char *rp_scene_title(const rp_scene *scene)
{
    if (!scene)
        return NULL;
    return scene->settings.title;
}

const char *rp_scene_description(const rp_scene *scene)
{
    if (!scene)
        return NULL;
    return scene->settings.description;
}
