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
    return RP_OK;
}

static rp_result check_vector(const char *what, const double *v, int count)
{
    for (int a = 0; a < count; a++)
        if (!isfinite(v[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "component %d of %s is not a finite number", a, what);
    return RP_OK;
}

/* ---- who is meant ---- */

static rp_result find_body(const rp_sim *sim, rp__action *action, rp__body **out)
{
    int found = -1, count = sim->world.body_count;
    if (action->body.index >= 0) {
        found = action->body.index < count ? (int)action->body.index : -1;
        if (found < 0)
            return rp__base_fail(RP_BAD_ARGUMENT, "there is no body %lld; the simulation has %d", (long long)action->body.index, count);
    } else {
        for (int b = 0; b < count; b++)
            if (strcmp(sim->world.bodies[b].def.name, action->body.name) == 0)
                found = found < 0 ? b : -2;
        if (found == -2)
            return rp__base_fail(RP_BAD_ARGUMENT, "several bodies have the name '%s'; give the index", action->body.name);
        if (found < 0)
            return rp__base_fail(RP_NOT_FOUND, "there is no body '%s'", action->body.name);
    }
    action->body.index = found;
    *out = &sim->world.bodies[found];
    return RP_OK;
}

static rp_result find_material(const rp_sim *sim, rp__action *action)
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

/* In the journal a body stands by its name when no other has it: the line then fits scenes with more bodies too. */
static void name_subjects(const rp_sim *sim, rp__action *action)
{
    int64_t b = action->body.index, m = action->material.index;
    if (b >= 0) {
        const char *name = sim->world.bodies[b].def.name;
        int same = 0;
        for (int k = 0; k < sim->world.body_count; k++)
            same += strcmp(sim->world.bodies[k].def.name, name) == 0;
        if (*name && same == 1 && strlen(name) < sizeof action->body.name)
            strcpy(action->body.name, name), action->body.index = -1;
    }
    if (m >= 0) {
        const char *name = sim->def.materials[m].name;
        int same = 0;
        for (int k = 0; k < sim->def.material_count; k++)
            same += strcmp(sim->def.materials[k].name, name) == 0;
        if (*name && same == 1 && strlen(name) < sizeof action->material.name)
            strcpy(action->material.name, name), action->material.index = -1;
    }
}

/* ---- the actions ---- */

static rp_result do_gravity(rp_sim *sim, rp__action *action)
{
    RP_TRY(check_vector("gravity", action->vector, 3));
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
    memcpy((char *)m + entry->offset, &value, sizeof value);
    if (strcmp(parameter, "friction_angle") == 0)
        m->friction = -1;
    if (strcmp(parameter, "bulk_density") == 0 && value > 0)
        m->density = value / m->volume_fraction;
    for (int k = 0; k < sim->def.material_key_count; k++)
        if (sim->def.material_keys[k].material == material && strcmp(sim->def.material_keys[k].parameter, parameter) == 0)
            sim->drive.key_off[k] = true;
}

static rp_result do_material(rp_sim *sim, rp__action *action)
{
    RP_TRY(find_material(sim, action));
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
    RP_TRY(check_vector("the position", action->vector, 3));
    RP_TRY(check_vector("the orientation", q, 4));
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 0.5 && length < 2))
        return rp__base_fail(RP_BAD_ARGUMENT, "the orientation (%g, %g, %g, %g) is not a unit quaternion; no rotation is (1, 0, 0, 0)", q[0], q[1],
                             q[2], q[3]);
    *pose = (rp__pose){ rp__vec3_load(action->vector), rp__quat_unit((rp__quat){ q[0], q[1], q[2], q[3] }) };
    return RP_OK;
}

static rp_result do_body_pose(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    rp__pose pose;
    RP_TRY(find_body(sim, action, &body));
    RP_TRY(check_pose(action, &pose));
    if (body->def.kind == RP_BODY_FREE && body->def.joint != RP_JOINT_NONE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' is held by a joint; its pose cannot be set", body->def.name);
    rp__body_set_pose(body, &pose);
    return RP_OK;
}

static rp_result do_body_velocity(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(find_body(sim, action, &body));
    RP_TRY(check_vector("the velocity", action->vector, 3));
    RP_TRY(check_vector("the angular velocity", action->second, 3));
    rp__body_set_velocity(body, rp__vec3_load(action->vector), rp__vec3_load(action->second));
    return RP_OK;
}

static rp_result do_body_target(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    rp__pose pose;
    RP_TRY(find_body(sim, action, &body));
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
    RP_TRY(find_body(sim, action, body));
    RP_TRY(check_vector("the force", action->vector, 3));
    RP_TRY(check_vector("the torque", action->second, 3));
    if ((*body)->def.kind != RP_BODY_FREE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' is scripted: forces do not move it", (*body)->def.name);
    return RP_OK;
}

static rp_result do_body_force(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(check_load(sim, action, &body));
    memcpy(body->def.force, action->vector, sizeof body->def.force);
    memcpy(body->def.torque, action->second, sizeof body->def.torque);
    return RP_OK;
}

/* Pushes of one step add up. */
static rp_result do_body_push(rp_sim *sim, rp__action *action)
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

static rp_result do_body_motor(rp_sim *sim, rp__action *action)
{
    rp__body *body = NULL;
    RP_TRY(find_body(sim, action, &body));
    RP_TRY(check_vector("the value of a motor", &action->value, 1));
    if (body->def.kind != RP_BODY_FREE || body->def.motor == RP_MOTOR_NONE)
        return rp__base_fail(RP_UNSUPPORTED, "body '%s' has no motor", body->def.name);
    body->def.motor_value = action->value;
    return RP_OK;
}

static rp_result do_step(rp_sim *sim, rp__action *action)
{
    (void)sim;
    (void)action; /* a mark: the step that ended here is over */
    return RP_OK;
}

rp_result rp__sim_act(rp_sim *sim, rp__action *action)
{
    static rp_result (*const perform[RP__ACTION_COUNT])(rp_sim *, rp__action *) = {
#define A(id, function, name) [RP__ACTION_##id] = do_##function,
        RP__ACTIONS(A)
#undef A
    };
    rp__text line = { 0 };
    RP_TRY(perform[action->kind](sim, action));
    sim->drive.used = true;
    name_subjects(sim, action);
    action->time = sim->time;
    action->step = sim->step;
    rp__action_write(action, &line);
    rp__text_append_bytes(&sim->drive.journal, rp__text_string(&line), line.length);
    rp_result result = rp__text_result(&line);
    if (result == RP_OK)
        result = rp__text_result(&sim->drive.journal);
    rp__text_free(&line);
    return result;
}

/* ---- one function an action ---- */

static rp_result begin(rp_sim *sim, const char *function, bool arguments)
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
    RP_TRY(begin(sim, "rp_sim_set_gravity", gravity));
    rp__action action = rp__action_make(RP__ACTION_GRAVITY);
    memcpy(action.vector, gravity, sizeof action.vector);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_material(rp_sim *sim, int material, const char *parameter, double value)
{
    RP_TRY(begin(sim, "rp_sim_set_material", parameter));
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
    RP_TRY(begin(sim, "rp_sim_set_body_pose", position && orientation));
    rp__action action = on_body(RP__ACTION_BODY_POSE, body);
    memcpy(action.vector, position, sizeof action.vector);
    memcpy(action.orientation, orientation, sizeof action.orientation);
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_set_body_target(rp_sim *sim, int body, const double position[3], const double orientation[4], double reach)
{
    RP_TRY(begin(sim, "rp_sim_set_body_target", position && orientation));
    rp__action action = on_body(RP__ACTION_BODY_TARGET, body);
    memcpy(action.vector, position, sizeof action.vector);
    memcpy(action.orientation, orientation, sizeof action.orientation);
    action.until = reach;
    return rp__sim_act(sim, &action);
}

static rp_result act_with_two(rp_sim *sim, const char *function, rp__action_kind kind, int body, const double *first, const double *second)
{
    RP_TRY(begin(sim, function, first && second));
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
    RP_TRY(begin(sim, "rp_sim_set_body_motor", true));
    rp__action action = on_body(RP__ACTION_BODY_MOTOR, body);
    action.value = value;
    return rp__sim_act(sim, &action);
}

rp_result rp_sim_act(rp_sim *sim, const char *line)
{
    RP_TRY(begin(sim, "rp_sim_act", line));
    rp__action action;
    size_t length = strcspn(line, "\n");
    if (line[length] && line[length + 1])
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_act takes one line; use rp_sim_replay for a journal");
    RP_TRY(rp__action_read(line, length, &action));
    rp_result result = rp__sim_act(sim, &action);
    rp__action_free(&action);
    return result;
}
