/* Bodies that came while a scene ran: its journal tells of them, so that pictures of the run show them too. */
#include "base/error.h"
#include "scene/scene_internal.h"
#include "sim/action.h"

#include <string.h>

static rp_result add_body(rp_scene *scene, const rp_body_def *def)
{
    int count = scene->sim.body_count;
    rp_body_def *bodies = rp__scene_pool_alloc(&scene->pool, (size_t)(count + 1) * sizeof *bodies);
    char *name = rp__scene_pool_copy(&scene->pool, def->name, strlen(def->name));
    rp__body_item *item = bodies && name ? rp__scene_push(scene, &scene->bodies, sizeof *item) : NULL;
    if (!item)
        return RP_OUT_OF_MEMORY;
    if (count)
        memcpy(bodies, scene->sim.bodies, (size_t)count * sizeof *bodies);
    item->def = *def;
    item->def.name = name;
    item->def.shape = rp_shape_retain(def->shape);
    item->def.motion = NULL; /* these cannot be written down: a body of the journal has none */
    item->def.sequence = NULL;
    bodies[count] = item->def;
    scene->sim.bodies = bodies;
    scene->sim.body_count = count + 1;
    return RP_OK;
}

rp_result rp_scene_add_bodies(rp_scene *scene, const char *journal)
{
    if (!scene || !journal)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_scene_add_bodies needs a scene and a journal (one is NULL)");
    int64_t number = 0;
    for (const char *line = journal, *end; *line; line = *end ? end + 1 : end) {
        rp__action action;
        end = line + strcspn(line, "\n");
        number++;
        if (end == line)
            continue;
        rp_result result = rp__action_read(line, (size_t)(end - line), &action);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "line %lld of the journal: ", (long long)number);
        if (action.kind == RP__ACTION_BODY_ADD)
            result = add_body(scene, action.new_body);
        rp__action_free(&action);
        RP_TRY(result);
    }
    return RP_OK;
}
