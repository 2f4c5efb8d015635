/* What can be done to a simulation between two steps. Each action has one function that checks, then changes; rp__sim_act writes it
 * down. */
#include "base/error.h"
#include "base/param.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

rp_result rp__sim_need(const rp_sim *sim, const char *function)
{
    if (!sim)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s was given no simulation (NULL)", function);
    if (sim->drive.stepping)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s was called while a step is under way; act between steps", function);
    if (sim->drive.edit.open)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s was called while an edit is open; close or cancel it first", function);
    return RP_OK;
}

rp_result rp__sim_check_vector(const char *what, const double *v, int count)
{
    for (int a = 0; a < count; a++)
        if (!isfinite(v[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "component %d of %s is not a finite number", a, what);
    return RP_OK;
}

/* ---- who is meant ---- */

rp_result rp__sim_find_body(const rp_sim *sim, rp__action *action, rp__body **out)
{
    int found = -1, count = sim->world.body_count;
    if (action->body.index >= 0) {
        found = action->body.index < count ? (int)action->body.index : -1;
        if (found < 0)
            return rp__base_fail(RP_BAD_ARGUMENT, "there is no body %lld; the simulation has %d", (long long)action->body.index, count);
    } else {
        for (int b = 0; b < count; b++)
            if (strcmp(sim->world.bodies[b].def.name, action->body.name) == 0 && !sim->world.bodies[b].drive.removed)
                found = found < 0 ? b : -2;
        if (found == -2)
            return rp__base_fail(RP_BAD_ARGUMENT, "several bodies have the name '%s'; give the index", action->body.name);
        if (found < 0)
            return rp__base_fail(RP_NOT_FOUND, "there is no body '%s'", action->body.name);
    }
    action->body.index = found;
    *out = &sim->world.bodies[found];
    if ((*out)->drive.removed)
        return rp__base_fail(RP_NOT_FOUND, "body %d ('%s') was removed", found, (*out)->def.name);
    return RP_OK;
}

rp_result rp__sim_find_material(const rp_sim *sim, rp__action *action)
{
    int found = -1, count = sim->def.material_count;
    if (action->material.index >= 0)
        found = action->material.index < count ? (int)action->material.index : -1;
    else
        for (int m = 0; m < count && found < 0; m++)
            if (strcmp(sim->def.materials[m].name, action->material.name) == 0)
                found = m;
    if (found < 0 && action->material.index >= 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no material %lld; the simulation has %d", (long long)action->material.index, count);
    if (found < 0)
        return rp__base_fail(RP_NOT_FOUND, "there is no material '%s'", action->material.name);
    action->material.index = found;
    return RP_OK;
}

static void name_subject(rp__action_subject *subject, const char *name, int same)
{
    if (*name && same == 1 && strlen(name) < sizeof subject->name)
        strcpy(subject->name, name), subject->index = -1;
}

/* In the journal a body stands by its name when no other has it: the line then fits scenes with more bodies too. */
static rp_result name_subjects(const rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    int same = 0;
    if (action->body.index >= 0 || *action->body.name) {
        RP_TRY(rp__sim_find_body(sim, action, &body));
        for (int k = 0; k < sim->world.body_count; k++)
            same += strcmp(sim->world.bodies[k].def.name, body->def.name) == 0 && !sim->world.bodies[k].drive.removed;
        name_subject(&action->body, body->def.name, same);
    }
    if (action->material.index >= 0 || *action->material.name) {
        RP_TRY(rp__sim_find_material(sim, action));
        const char *name = sim->def.materials[action->material.index].name;
        same = 0;
        for (int k = 0; k < sim->def.material_count; k++)
            same += strcmp(sim->def.materials[k].name, name) == 0;
        name_subject(&action->material, name, same);
    }
    return RP_OK;
}

/* ---- the actions ---- */

rp_result rp__sim_do_gravity(rp_sim *sim, rp__action *action)
{
    RP_TRY(rp__sim_check_vector("gravity", action->vector, 3));
    if (sim->def.dim == 2 && action->vector[2] != 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "gravity has a z component (%g m/s2) in a 2D simulation; use y for the vertical",
                             action->vector[2]);
    memcpy(sim->def.gravity, action->vector, sizeof sim->def.gravity);
    return RP_OK;
}

/* A method gives particles only the fields that the definition needs. */
static rp_result check_fields(const rp_sim *sim, int material, const rp_param *entry, double value)
{
    rp_material_def *materials = RP_NEW_ARRAY(rp_material_def, sim->def.material_count);
    if (!materials)
        return RP_OUT_OF_MEMORY;
    memcpy(materials, sim->materials, (size_t)sim->def.material_count * sizeof *materials);
    memcpy((char *)&materials[material] + entry->offset, &value, sizeof value);
    rp_sim_def def = sim->def;
    def.materials = materials;
    rp_field_info fields[RP_METHOD_MAX_FIELDS];
    int count = rp__sim_method_fields(sim->method, &def, sim->params, fields);
    rp_result result = RP_OK;
    for (int f = 0; f < count && result == RP_OK; f++)
        if (rp__particles_find(&sim->particles, fields[f].name) < 0)
            result = rp__base_fail(RP_UNSUPPORTED,
                                   "'%s' above its value in the definition needs the particle field '%s', which this simulation was made "
                                   "without; give the parameter a key in the definition",
                                   entry->name, fields[f].name);
    rp__base_free(materials);
    return result;
}

void rp__sim_set_material(rp_sim *sim, int material, const char *parameter, double value)
{
    rp_material_def *m = &sim->materials[material];
    const rp_param *entry = rp__param_find(rp_material_table(), parameter);
    sim->world.materials_set = true;
    memcpy((char *)m + entry->offset, &value, sizeof value);
    if (strcmp(parameter, "friction_angle") == 0)
        m->friction = -1;
    if (strcmp(parameter, "bulk_density") == 0 && value > 0)
        m->density = value / m->volume_fraction;
    for (int k = 0; k < sim->def.material_key_count; k++)
        if (sim->def.material_keys[k].material == material && strcmp(sim->def.material_keys[k].parameter, parameter) == 0)
            sim->drive.key_off[k] = true;
}

rp_result rp__sim_do_material(rp_sim *sim, rp__action *action)
{
    RP_TRY(rp__sim_find_material(sim, action));
    int material = (int)action->material.index;
    const rp_param *entry = rp__param_find(rp_material_table(), action->parameter);
    if (!entry)
        return rp__param_unknown(rp_material_table(), action->parameter);
    if (entry->type != RP_REAL)
        return rp__base_fail(RP_BAD_ARGUMENT, "material parameter '%s' is not a real number; it cannot be changed", action->parameter);
    if (!isfinite(action->value) || action->value < entry->least || action->value > entry->most)
        return rp__base_fail(RP_BAD_ARGUMENT, "material parameter '%s' is %g; it must lie between %g and %g", action->parameter, action->value,
                             entry->least, entry->most);
    RP_TRY(check_fields(sim, material, entry, action->value));
    rp__sim_set_material(sim, material, action->parameter, action->value);
    return RP_OK;
}

static rp_result check_pose(const rp__action *action, rp__pose *pose)
{
    const double *q = action->orientation;
    RP_TRY(rp__sim_check_vector("the position", action->vector, 3));
    RP_TRY(rp__sim_check_vector("the orientation", q, 4));
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 0.5 && length < 2))
        return rp__base_fail(RP_BAD_ARGUMENT, "the orientation (%g, %g, %g, %g) is not a unit quaternion; no rotation is (1, 0, 0, 0)", q[0], q[1],
                             q[2], q[3]);
    *pose = (rp__pose){ rp__vec3_load(action->vector), rp__quat_unit((rp__quat){ q[0], q[1], q[2], q[3] }) };
    return RP_OK;
}

rp_result rp__sim_do_body_pose(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    rp__pose pose;
    RP_TRY(rp__sim_find_body(sim, action, &body));
    RP_TRY(check_pose(action, &pose));
    if (body->def.kind == RP_BODY_FREE && body->def.joint != RP_JOINT_NONE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' is held by a joint; its pose cannot be set", body->def.name);
    rp__body_set_pose(body, &pose);
    return RP_OK;
}

rp_result rp__sim_do_body_velocity(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(rp__sim_find_body(sim, action, &body));
    RP_TRY(rp__sim_check_vector("the velocity", action->vector, 3));
    RP_TRY(rp__sim_check_vector("the angular velocity", action->second, 3));
    rp__body_set_velocity(body, rp__vec3_load(action->vector), rp__vec3_load(action->second));
    return RP_OK;
}

rp_result rp__sim_do_body_target(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    rp__pose pose;
    RP_TRY(rp__sim_find_body(sim, action, &body));
    RP_TRY(check_pose(action, &pose));
    if (body->def.kind != RP_BODY_SCRIPTED)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' is free: it obeys forces and cannot be led to a target", body->def.name);
    bool timed = action->until != RP_NEXT_STEP;
    if (timed && !(isfinite(action->until) && action->until > sim->time + rp__sim_tiny(sim)))
        return rp__base_fail(RP_BAD_ARGUMENT, "a target to be reached at t = %g s cannot be given at t = %g s", action->until, sim->time);
    rp__body_drive *drive = &body->drive;
    drive->driven = true;
    drive->velocity = drive->omega = rp__vec3_make(0, 0, 0);
    drive->target = pose;
    drive->target_one_step = !timed;
    drive->target_until = timed || action->step_end > 0 ? RP__BODY_TIME : RP__BODY_ONE_STEP;
    drive->target_time = timed ? action->until : action->step_end;
    return RP_OK;
}

static rp_result check_load(const rp_sim *sim, rp__action *action, rp__body **body)
{
    RP_TRY(rp__sim_find_body(sim, action, body));
    RP_TRY(rp__sim_check_vector("the force", action->vector, 3));
    RP_TRY(rp__sim_check_vector("the torque", action->second, 3));
    if ((*body)->def.kind != RP_BODY_FREE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' is scripted: forces do not move it", (*body)->def.name);
    return RP_OK;
}

rp_result rp__sim_do_body_force(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(check_load(sim, action, &body));
    memcpy(body->def.force, action->vector, sizeof body->def.force);
    memcpy(body->def.torque, action->second, sizeof body->def.torque);
    return RP_OK;
}

/* Pushes of one step add up. */
rp_result rp__sim_do_body_push(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(check_load(sim, action, &body));
    rp__body_drive *drive = &body->drive;
    if (drive->push_until == RP__BODY_NONE)
        drive->push_force = drive->push_torque = rp__vec3_make(0, 0, 0);
    drive->push_force = rp__vec3_add(drive->push_force, rp__vec3_load(action->vector));
    drive->push_torque = rp__vec3_add(drive->push_torque, rp__vec3_load(action->second));
    drive->push_until = action->step_end > 0 ? RP__BODY_TIME : RP__BODY_ONE_STEP;
    drive->push_time = action->step_end;
    return RP_OK;
}

rp_result rp__sim_do_body_motor(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(rp__sim_find_body(sim, action, &body));
    RP_TRY(rp__sim_check_vector("the value of a motor", &action->value, 1));
    if (body->def.kind != RP_BODY_FREE || body->def.motor == RP_MOTOR_NONE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' has no motor", body->def.name);
    body->def.motor_value = action->value;
    return RP_OK;
}

rp_result rp__sim_append_body(rp_sim *sim, const rp_body_def *def)
{
    rp__world *world = &sim->world;
    int most = sim->method->body_limit, count = world->body_count;
    if (most > 0 && count >= most)
        return rp__base_fail(RP_UNSUPPORTED, "the method %s takes at most %d bodies, removed ones included", sim->method->info.name, most);
    rp__body *bodies = rp__base_realloc_array(world->bodies, (size_t)count + 1, sizeof *bodies);
    if (!bodies)
        return RP_OUT_OF_MEMORY;
    world->bodies = bodies;
    bool *told = rp__base_realloc_array(sim->jump_told, (size_t)count + 1, sizeof *told);
    if (!told)
        return RP_OUT_OF_MEMORY;
    sim->jump_told = told;
    rp__body *kept = rp__base_realloc_array(sim->bodies_before, (size_t)count + 1, sizeof *kept);
    if (!kept)
        return RP_OUT_OF_MEMORY;
    sim->bodies_before = kept;
    rp_body_def own = *def;
    size_t size = strlen(def->name) + 1;
    char *name = rp__arena_alloc(&sim->arena, size);
    if (!name)
        return RP_OUT_OF_MEMORY;
    own.name = memcpy(name, def->name, size);
    RP_TRY(rp__body_init(&bodies[count], &own, sim->def.dim, sim->time));
    rp__body_repeat(&bodies[count], &sim->def);
    told[count] = false;
    world->body_count++;
    return RP_OK;
}

void rp__sim_drop_added_bodies(rp_sim *sim)
{
    while (sim->world.body_count > sim->def.body_count)
        rp__body_free(&sim->world.bodies[--sim->world.body_count]);
    sim->drive.added.length = 0;
}

rp_result rp__sim_do_body_add(rp_sim *sim, rp__action *action)
{
    const rp_body_def *def = action->new_body;
    RP_TRY(rp__sim_check_body(def));
    rp__text *added = &sim->drive.added;
    int64_t before = added->length;
    rp_result result = rp__action_write(action, added);
    if (result == RP_OK)
        result = rp__sim_append_body(sim, def);
    if (result != RP_OK)
        added->length = before, added->failed = false;
    action->done = sim->world.body_count - 1;
    return result;
}

rp_result rp__sim_do_body_remove(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(rp__sim_find_body(sim, action, &body));
    body->drive.removed = true;
    body->present = false;
    return RP_OK;
}

rp_result rp__sim_do_step(rp_sim *sim, rp__action *action)
{
    (void)sim;
    (void)action; /* a mark: the step that ended here is over */
    return RP_OK;
}

static rp_result perform_and_write(rp_sim *sim, rp__action *action)
{
    static rp_result (*const perform[RP__ACTION_COUNT])(rp_sim *, rp__action *) = {
#define A(id, function, name) [RP__ACTION_##id] = rp__sim_do_##function,
        RP__ACTIONS(A)
#undef A
    };
    rp__text *journal = &sim->drive.journal;
    int64_t before = journal->length;
    /* Written first: what cannot be written down is not done. */
    action->time = sim->time;
    action->step = sim->step;
    rp__action named = *action;
    rp_result result = name_subjects(sim, &named);
    if (result == RP_OK)
        result = rp__action_write(&named, journal);
    if (result == RP_OK)
        result = perform[action->kind](sim, action);
    sim->finder.made = false;
    if (result == RP_OK) {
        sim->drive.used = true;
        return RP_OK;
    }
    journal->length = before;
    journal->failed = false;
    if (journal->data)
        journal->data[before] = '\0';
    return result;
}

rp_result rp__sim_act(rp_sim *sim, rp__action *action)
{
    const rp__base_context *before = rp__base_enter(&sim->base);
    rp_result result = perform_and_write(sim, action);
    rp__base_enter(before);
    return result;
}

/* ---- one function an action ---- */

rp_result rp__sim_begin_action(rp_sim *sim, const char *function, bool arguments)
{
    RP_TRY(rp__sim_need(sim, function));
    return arguments ? RP_OK : rp__base_fail(RP_BAD_ARGUMENT, "%s needs all of its arguments (one is NULL)", function);
}

static rp__action on_body(rp__action_kind kind, int body)
{
    rp__action action = rp__action_make(kind);
    action.body.index = body >= 0 ? body : INT32_MAX; /* refused as an index, not looked up as a name */
    return action;
}

rp_result rp_sim_set_gravity(rp_sim *sim, const double gravity[3])
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_gravity", gravity));
    rp__action action = rp__action_make(RP__ACTION_GRAVITY);
    memcpy(action.vector, gravity, sizeof action.vector);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_material(rp_sim *sim, int material, const char *parameter, double value)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_material", parameter));
    rp__action action = rp__action_make(RP__ACTION_MATERIAL);
    action.material.index = material >= 0 ? material : INT32_MAX;
    if (strlen(parameter) >= sizeof action.parameter)
        return rp__param_unknown(rp_material_table(), parameter);
    strcpy(action.parameter, parameter);
    action.value = value;
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_body_pose(rp_sim *sim, int body, const double position[3], const double orientation[4])
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_body_pose", position && orientation));
    rp__action action = on_body(RP__ACTION_BODY_POSE, body);
    memcpy(action.vector, position, sizeof action.vector);
    memcpy(action.orientation, orientation, sizeof action.orientation);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_body_target(rp_sim *sim, int body, const double position[3], const double orientation[4], double reach)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_body_target", position && orientation));
    rp__action action = on_body(RP__ACTION_BODY_TARGET, body);
    memcpy(action.vector, position, sizeof action.vector);
    memcpy(action.orientation, orientation, sizeof action.orientation);
    action.until = reach;
    return rp__sim_act(sim, &action);
}

static rp_result act_with_two(rp_sim *sim, const char *function, rp__action_kind kind, int body, const double *first, const double *second)
{
    RP_TRY(rp__sim_begin_action(sim, function, first && second));
    rp__action action = on_body(kind, body);
    memcpy(action.vector, first, sizeof action.vector);
    memcpy(action.second, second, sizeof action.second);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_body_velocity(rp_sim *sim, int body, const double velocity[3], const double angular_velocity[3])
{
    return act_with_two(sim, "rp_sim_set_body_velocity", RP__ACTION_BODY_VELOCITY, body, velocity, angular_velocity);
}

rp_result rp_sim_set_body_force(rp_sim *sim, int body, const double force[3], const double torque[3])
{
    return act_with_two(sim, "rp_sim_set_body_force", RP__ACTION_BODY_FORCE, body, force, torque);
}

rp_result rp_sim_push_body(rp_sim *sim, int body, const double force[3], const double torque[3])
{
    return act_with_two(sim, "rp_sim_push_body", RP__ACTION_BODY_PUSH, body, force, torque);
}

rp_result rp_sim_set_body_motor(rp_sim *sim, int body, double value)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_body_motor", true));
    rp__action action = on_body(RP__ACTION_BODY_MOTOR, body);
    action.value = value;
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_add_body(rp_sim *sim, const rp_body_def *def, int *index)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_add_body", def));
    RP_TRY(rp__sim_check_cookie(def->cookie, "body"));
    if (def->motion || def->sequence)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' has a motion or a mesh sequence, which the journal cannot hold; add it without and lead "
                             "it by targets", def->name ? def->name : "");
    rp__action action = rp__action_make(RP__ACTION_BODY_ADD);
    rp_result result = rp__action_copy_body(def, &action.new_body);
    if (result == RP_OK)
        result = rp__sim_act(sim, &action);
    if (result == RP_OK && index)
        *index = (int)action.done;
    rp__action_free(&action);
    return result;
}

rp_result rp_sim_remove_body(rp_sim *sim, int body)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_remove_body", true));
    rp__action action = on_body(RP__ACTION_BODY_REMOVE, body);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_act(rp_sim *sim, const char *line)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_act", line));
    rp__action action;
    size_t length = strcspn(line, "\n");
    if (line[length] && line[length + 1])
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_act takes one line; use rp_sim_replay for a journal");
    RP_TRY(rp__action_read(line, length, &action));
    rp_result result = rp__sim_act(sim, &action);
    rp__action_free(&action);
    return result;
}
