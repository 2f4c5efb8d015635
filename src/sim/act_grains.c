/* Grains that a program adds, removes and changes. */
#include "base/error.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

/* ---- adding and removing ---- */

rp_result rp__sim_do_grains_add(rp_sim *sim, rp__action *action)
{
    RP_TRY(rp__sim_find_material(sim, action));
    rp_grains_def *def = action->new_grains;
    def->material = (int)action->material.index;
    RP_TRY(rp__sim_check_grains(&sim->def, def));
    RP_TRY(rp__sim_add_grains(sim, def, &action->done));
    sim->world.disturbed++;
    return RP_OK;
}

rp_result rp__sim_places_by_id(const rp_sim *sim, int64_t **out)
{
    const rp__particles *p = &sim->particles;
    int64_t *at = RP_NEW_ARRAY(int64_t, p->next_id + 1);
    if (!at)
        return RP_OUT_OF_MEMORY;
    memset(at, 0xff, (size_t)(p->next_id + 1) * sizeof *at);
    for (int64_t i = 0; i < p->count; i++)
        if (p->id[i] >= 0 && p->id[i] < p->next_id)
            at[p->id[i]] = i;
    *out = at;
    return RP_OK;
}

static int64_t place_of(const rp_sim *sim, const int64_t *at, double id)
{
    return id >= 0 && id < (double)sim->particles.next_id && id == floor(id) ? at[(int64_t)id] : -1;
}

rp_result rp__sim_do_grains_remove(rp_sim *sim, rp__action *action)
{
    if (!action->shape == !action->ids)
        return rp__base_fail(RP_BAD_ARGUMENT, "grains are removed by a shape or by ids, by one of them");
    for (int64_t k = 0; k < action->id_count; k++)
        if (!(action->ids[k] >= 0 && action->ids[k] == floor(action->ids[k])))
            return rp__base_fail(RP_BAD_ARGUMENT, "%g is not the id of a particle: these are whole numbers from 0 on", action->ids[k]);
    action->done = 0;
    if (action->shape) {
        RP_TRY(rp__sim_remove_inside(sim, action->shape, &action->done));
    } else {
        int64_t *at = NULL;
        RP_TRY(rp__sim_flags(sim));
        RP_TRY(rp__sim_places_by_id(sim, &at));
        for (int64_t k = 0; k < action->id_count; k++) {
            int64_t i = place_of(sim, at, action->ids[k]);
            if (i >= 0)
                sim->flags[i] = 1;
        }
        rp__base_free(at);
        action->done = rp__particles_remove(&sim->particles, sim->flags);
    }
    sim->world.disturbed++;
    return RP_OK;
}

rp_result rp_sim_add_grains(rp_sim *sim, const rp_grains_def *def, int64_t *added)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_add_grains", def));
    RP_TRY(rp__sim_check_cookie(def->cookie, "grains"));
    rp__action action = rp__action_make(RP__ACTION_GRAINS_ADD);
    action.material.index = def->material >= 0 ? def->material : INT32_MAX;
    rp_result result = rp__action_copy_grains(def, &action.new_grains);
    if (result == RP_OK)
        result = rp__sim_act(sim, &action);
    if (result == RP_OK && added)
        *added = action.done;
    rp__action_free(&action);
    return result;
}

rp_result rp_sim_remove_grains(rp_sim *sim, rp_shape *shape, int64_t *removed)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_remove_grains", shape));
    rp__action action = rp__action_make(RP__ACTION_GRAINS_REMOVE);
    action.shape = rp_shape_retain(shape);
    rp_result result = rp__sim_act(sim, &action);
    if (result == RP_OK && removed)
        *removed = action.done;
    rp__action_free(&action);
    return result;
}

rp_result rp_sim_remove_grains_by_id(rp_sim *sim, const int64_t *ids, int64_t count, int64_t *removed)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_remove_grains_by_id", ids));
    if (count < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_remove_grains_by_id was given %lld ids", (long long)count);
    rp__action action = rp__action_make(RP__ACTION_GRAINS_REMOVE);
    action.ids = RP_NEW_ARRAY(double, count);
    if (!action.ids)
        return RP_OUT_OF_MEMORY;
    action.id_count = count;
    for (int64_t k = 0; k < count; k++)
        action.ids[k] = (double)ids[k];
    rp_result result = rp__sim_act(sim, &action);
    if (result == RP_OK && removed)
        *removed = action.done;
    rp__action_free(&action);
    return result;
}

/* ---- edits ---- */

static double get_value(const void *plane, rp_type type, int64_t i)
{
    switch (type) {
    case RP_F64: return ((const double *)plane)[i];
    case RP_F32: return (double)((const float *)plane)[i];
    case RP_I64: return (double)((const int64_t *)plane)[i];
    default: return (double)((const int32_t *)plane)[i];
    }
}

static void set_value(void *plane, rp_type type, int64_t i, double value)
{
    switch (type) {
    case RP_F64: ((double *)plane)[i] = value; break;
    case RP_F32: ((float *)plane)[i] = (float)value; break;
    case RP_I64: ((int64_t *)plane)[i] = (int64_t)value; break;
    default: ((int32_t *)plane)[i] = (int32_t)value; break;
    }
}

static rp_result check_value(const rp_sim *sim, const rp_field_info *info, int component, double id, double value)
{
    const rp_sim_def *def = &sim->def;
    const char *why = NULL;
    if (!isfinite(value))
        why = "is not a finite number";
    else if (strcmp(info->name, "position") == 0 && component < def->dim && !(value >= def->lower[component] && value <= def->upper[component]))
        why = "lies outside the domain";
    else if ((strcmp(info->name, "position") == 0 || strcmp(info->name, "velocity") == 0) && component >= def->dim && value != 0)
        why = "is not 0, in 2D";
    else if ((strcmp(info->name, "mass") == 0 || strcmp(info->name, "volume") == 0) && !(value > 0))
        why = "is not above 0";
    else if (strcmp(info->name, "material") == 0 && !(value >= 0 && value < def->material_count && value == floor(value)))
        why = "is not the index of a material";
    else if (info->type == RP_F32 && !(fabs(value) < 3e38))
        why = "is too large for its type";
    else if ((info->type == RP_I32 || info->type == RP_I64) && !(fabs(value) <= 2147483647.0 && value == floor(value)))
        why = "is not a whole number of its type";
    return why ? rp__base_fail(RP_BAD_ARGUMENT, "component %d of '%s' of particle %.0f, %g, %s", component, info->name, id, value, why) : RP_OK;
}

static rp_result find_field(const rp_sim *sim, const char *name, int *field)
{
    *field = rp__particles_find(&sim->particles, name);
    if (*field < 0)
        return rp__base_fail(RP_NOT_FOUND, "particles have no field '%s'", name);
    return strcmp(name, "id") == 0 ? rp__base_fail(RP_UNSUPPORTED, "the ids of particles cannot be edited") : RP_OK;
}

rp_result rp__sim_do_edit(rp_sim *sim, rp__action *action)
{
    rp__particles *p = &sim->particles;
    int field;
    int64_t *at = NULL;
    RP_TRY(find_field(sim, action->parameter, &field));
    const rp_field_info *info = &p->info[field];
    if (action->value_count != action->id_count * info->components)
        return rp__base_fail(RP_BAD_ARGUMENT, "an edit of '%s' has %lld values for %lld particles of %d components", info->name,
                             (long long)action->value_count, (long long)action->id_count, info->components);
    RP_TRY(rp__sim_places_by_id(sim, &at));
    rp_result result = RP_OK;
    for (int64_t k = 0; k < action->id_count && result == RP_OK; k++) {
        if (place_of(sim, at, action->ids[k]) < 0)
            result = rp__base_fail(RP_NOT_FOUND,
                                   "particle %.0f is not there; edits can be performed only on the definition they were made for", action->ids[k]);
        for (int c = 0; c < info->components && result == RP_OK; c++)
            result = check_value(sim, info, c, action->ids[k], action->values[k * info->components + c]);
    }
    for (int64_t k = 0; k < action->id_count && result == RP_OK; k++)
        for (int c = 0; c < info->components; c++)
            set_value(rp__particles_plane(p, field, c), info->type, place_of(sim, at, action->ids[k]), action->values[k * info->components + c]);
    rp__base_free(at);
    action->done = action->id_count;
    sim->world.disturbed++;
    return result;
}

rp_result rp_sim_edit_open(rp_sim *sim, const char *field, void **data, int64_t *stride)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_edit_open", field && data && stride));
    rp__sim_edit *edit = &sim->drive.edit;
    const rp__particles *p = &sim->particles;
    RP_TRY(find_field(sim, field, &edit->field));
    size_t plane = (size_t)p->count * rp__particles_type_size(p->info[edit->field].type);
    edit->before = rp__base_alloc((size_t)p->info[edit->field].components * plane);
    if (!edit->before)
        return RP_OUT_OF_MEMORY;
    for (int c = 0; c < p->info[edit->field].components && plane; c++)
        memcpy((char *)edit->before + (size_t)c * plane, rp__particles_plane(p, edit->field, c), plane);
    edit->open = true;
    rp_field_view view = rp__particles_view(p, edit->field);
    *data = rp__particles_plane(p, edit->field, 0);
    *stride = view.stride;
    return RP_OK;
}

void rp_sim_edit_cancel(rp_sim *sim)
{
    if (!sim || !sim->drive.edit.open)
        return;
    rp__sim_edit *edit = &sim->drive.edit;
    const rp__particles *p = &sim->particles;
    size_t plane = (size_t)p->count * rp__particles_type_size(p->info[edit->field].type);
    for (int c = 0; c < p->info[edit->field].components && plane; c++)
        memcpy(rp__particles_plane(p, edit->field, c), (char *)edit->before + (size_t)c * plane, plane);
    rp__base_free(edit->before);
    edit->before = NULL;
    edit->open = false;
}

/* The particles whose bytes are no longer those of before, as an action. */
static rp_result find_changes(const rp_sim *sim, rp__action *action)
{
    const rp__sim_edit *edit = &sim->drive.edit;
    const rp__particles *p = &sim->particles;
    const rp_field_info *info = &p->info[edit->field];
    size_t size = rp__particles_type_size(info->type), plane = (size_t)p->count * size;
    strcpy(action->parameter, info->name);
    action->ids = RP_NEW_ARRAY(double, p->count);
    action->values = RP_NEW_ARRAY(double, p->count * info->components);
    if (!action->ids || !action->values)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < p->count; i++) {
        bool same = true;
        for (int c = 0; c < info->components && same; c++)
            same = memcmp((const char *)rp__particles_plane(p, edit->field, c) + (size_t)i * size,
                          (const char *)edit->before + (size_t)c * plane + (size_t)i * size, size) == 0;
        if (same)
            continue;
        action->ids[action->id_count++] = (double)p->id[i];
        for (int c = 0; c < info->components; c++)
            action->values[action->value_count++] = get_value(rp__particles_plane(p, edit->field, c), info->type, i);
    }
    return RP_OK;
}

rp_result rp_sim_edit_close(rp_sim *sim, int64_t *changed)
{
    if (!sim || !sim->drive.edit.open)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_edit_close: no edit is open");
    rp__action action = rp__action_make(RP__ACTION_EDIT);
    rp_result result = find_changes(sim, &action);
    rp_sim_edit_cancel(sim); /* and done again, as a replay does it */
    for (int64_t i = 0; i < action.value_count && result == RP_OK; i++) /* the journal has no such numbers */
        if (!isfinite(action.values[i]))
            result = rp__base_fail(RP_BAD_ARGUMENT, "the edit of '%s' holds a value that is not a finite number", action.parameter);
    if (result == RP_OK && action.id_count > 0)
        result = rp__sim_act(sim, &action);
    if (result == RP_OK && changed)
        *changed = action.id_count;
    rp__action_free(&action);
    return result;
}
