/* The journal of what was done, the queue of what is to be done again, and both in checkpoints.
 *
 * Times in the queue are those of the run it was performed in. There every action stood between two steps, so a step ends at each of
 * them: with the same definition steps end there anyway (to the bit, and nothing is changed), otherwise they are cut. What lasted for
 * one step ended with it, at the mark "step" that follows in the journal: in another run it lasts as long, over as many steps as
 * that takes. */
#include "base/error.h"
#include "base/param.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

double rp__sim_tiny(const rp_sim *sim)
{
    return 1e-9 / sim->def.frame_rate;
}

static void clear_queue(rp__sim_drive *drive)
{
    for (int64_t i = 0; i < drive->queue_count; i++)
        rp__action_free(&drive->queue[i]);
    drive->queue_count = drive->next = 0;
}

void rp__sim_drive_free(rp_sim *sim)
{
    clear_queue(&sim->drive);
    rp__base_free(sim->drive.queue);
    rp__sim_clear_forces(sim);
    rp__base_free(sim->drive.forces);
    rp__base_free(sim->drive.callbacks);
    rp__base_free(sim->drive.velocity_before);
    rp__base_free(sim->drive.id_before);
    rp__base_free(sim->drive.edit.before);
    rp__base_free(sim->drive.key_off);
    rp__text_free(&sim->drive.added);
    rp__text_free(&sim->drive.journal);
}

const char *rp_sim_journal(const rp_sim *sim)
{
    return sim ? rp__text_string(&sim->drive.journal) : "";
}

int64_t rp_sim_replay_left(const rp_sim *sim)
{
    return sim ? sim->drive.queue_count - sim->drive.next : 0;
}

/* ---- the queue ---- */

static bool lasts_one_step(const rp__action *action)
{
    return action->kind == RP__ACTION_BODY_PUSH || (action->kind == RP__ACTION_BODY_TARGET && action->until == RP_NEXT_STEP);
}

/* What lasted for a step did so until the next mark. */
static void find_step_ends(rp__sim_drive *drive)
{
    double end = 0;
    for (int64_t i = drive->queue_count - 1; i >= drive->next; i--) {
        rp__action *action = &drive->queue[i];
        if (action->kind == RP__ACTION_STEP)
            end = action->time;
        if (lasts_one_step(action))
            action->step_end = end > action->time ? end : 0;
    }
}

static rp_result read_lines(rp_sim *sim, const char *text, double earliest, int64_t *first_bad)
{
    rp__sim_drive *drive = &sim->drive;
    int64_t line = 0;
    double last = drive->queue_count > drive->next ? drive->queue[drive->queue_count - 1].time : earliest;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        line++;
        *first_bad = line;
        if (length > strspn(at, " \t\r")) {
            rp__action action;
            RP_TRY(rp__action_read(at, length, &action));
            rp_result result = RP_OK;
            if ((result = rp__sim_check_callback(sim, action.force)) != RP_OK)
                ;
            else if (!(action.time >= last) || !isfinite(action.time))
                result = rp__base_fail(RP_BAD_FILE, "its time is %g s; it must be a number, not before %g s", action.time, last);
            else if (!rp__base_grow(&drive->queue, &drive->queue_capacity, drive->queue_count + 1, sizeof action))
                result = RP_OUT_OF_MEMORY;
            if (result != RP_OK) {
                rp__action_free(&action);
                return result;
            }
            drive->queue[drive->queue_count++] = action;
            last = action.time;
        }
        at += length + (at[length] == '\n');
    }
    return RP_OK;
}

rp_result rp_sim_replay(rp_sim *sim, const char *journal)
{
    RP_TRY(rp__sim_need(sim, "rp_sim_replay"));
    if (!journal)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_replay needs a journal (NULL was given)");
    rp__sim_drive *drive = &sim->drive;
    int64_t before = drive->queue_count, line = 0;
    rp_result result = read_lines(sim, journal, sim->time - rp__sim_tiny(sim), &line);
    if (result != RP_OK) {
        for (int64_t i = before; i < drive->queue_count; i++)
            rp__action_free(&drive->queue[i]);
        drive->queue_count = before;
        return rp__base_fail_prefix(result, "line %lld of the journal: ", (long long)line);
    }
    find_step_ends(drive);
    drive->used = drive->used || drive->queue_count > 0;
    return RP_OK;
}

rp_result rp__sim_perform_due(rp_sim *sim)
{
    rp__sim_drive *drive = &sim->drive;
    while (drive->next < drive->queue_count && drive->queue[drive->next].time <= sim->time + rp__sim_tiny(sim)) {
        rp__action *action = &drive->queue[drive->next];
        double time = action->time;
        int64_t step = action->step;
        rp_result result = rp__sim_act(sim, action);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "the action of the journal for t = %g s (step %lld): ", time, (long long)step);
        rp__action_free(action);
        drive->next++;
    }
    if (drive->next == drive->queue_count)
        drive->queue_count = drive->next = 0;
    return RP_OK;
}

/* ---- steps ---- */

double rp__sim_next_event(const rp_sim *sim)
{
    const rp__sim_drive *drive = &sim->drive;
    double next = INFINITY, now = sim->time + rp__sim_tiny(sim);
    if (drive->next < drive->queue_count && drive->queue[drive->next].time > now)
        next = drive->queue[drive->next].time;
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body_drive *d = &sim->world.bodies[b].drive;
        if (d->target_until == RP__BODY_TIME && d->target_time > now)
            next = fmin(next, d->target_time);
        if (d->push_until == RP__BODY_TIME && d->push_time > now)
            next = fmin(next, d->push_time);
    }
    return next;
}

bool rp__sim_lasts_one_step(const rp_sim *sim)
{
    for (int b = 0; b < sim->world.body_count; b++)
        if (sim->world.bodies[b].drive.target_until == RP__BODY_ONE_STEP || sim->world.bodies[b].drive.push_until == RP__BODY_ONE_STEP)
            return true;
    return false;
}

rp_result rp__sim_end_step(rp_sim *sim, bool mark)
{
    for (int b = 0; b < sim->world.body_count; b++)
        rp__body_drive_end(&sim->world.bodies[b], sim->time + rp__sim_tiny(sim));
    if (!mark)
        return RP_OK;
    rp__action action = rp__action_make(RP__ACTION_STEP);
    return rp__sim_act(sim, &action);
}

/* ---- checkpoints ---- */

/* A text as an array of whole numbers: its length, then eight bytes in each. */
static rp_result save_text(rp_state *state, const char *name, const char *text, int64_t length)
{
    int64_t count = 1 + (length + 7) / 8;
    int64_t *packed = RP_NEW_ARRAY(int64_t, count);
    if (!packed)
        return RP_OUT_OF_MEMORY;
    packed[0] = length;
    packed[count - 1] = count > 1 ? 0 : packed[0];
    if (length)
        memcpy(packed + 1, text, (size_t)length);
    rp_result result = rp_state_add(state, name, RP_I64, count, packed);
    rp__base_free(packed);
    return result;
}

static rp_result load_text(const rp_state *state, const char *name, rp__text *text)
{
    const rp_blob *blob = rp_state_find(state, name);
    if (!blob)
        return RP_OK;
    const int64_t *packed = blob->data;
    if (blob->type != RP_I64 || blob->count < 1 || packed[0] < 0 || packed[0] > 8 * (blob->count - 1) || blob->count != 1 + (packed[0] + 7) / 8 ||
        memchr(packed + 1, 0, (size_t)packed[0]))
        return rp__base_fail(RP_BAD_FILE, "'%s' of the checkpoint is not a text", name);
    rp__text_append_bytes(text, (const char *)(packed + 1), packed[0]);
    return rp__text_result(text);
}

static int real_parameters(void)
{
    int count = 0;
    for (const rp_param *p = rp_material_table(); p->name; p++)
        count += p->type == RP_REAL;
    return count;
}

static int64_t scene_numbers(const rp_sim *sim)
{
    return 3 + (int64_t)sim->def.material_count * real_parameters() + sim->def.material_key_count;
}

/* Gravity, the real parameters of the materials, the keys that no longer count: into or out of `numbers`. */
static void move_scene(rp_sim *sim, double *numbers, bool out)
{
    double *at = numbers;
    for (int a = 0; a < 3; a++, at++)
        *(out ? at : &sim->def.gravity[a]) = out ? sim->def.gravity[a] : *at;
    for (int m = 0; m < sim->def.material_count; m++)
        for (const rp_param *p = rp_material_table(); p->name; p++)
            if (p->type == RP_REAL) {
                void *member = (char *)&sim->materials[m] + p->offset;
                memcpy(out ? (void *)at : member, out ? member : (void *)at, sizeof *at);
                at++;
            }
    for (int k = 0; k < sim->def.material_key_count; k++, at++) {
        if (out)
            *at = sim->drive.key_off[k];
        else
            sim->drive.key_off[k] = *at != 0;
    }
}

static rp_result save_numbers(const rp_sim *sim, rp_state *state)
{
    int bodies = sim->world.body_count;
    double *numbers = RP_NEW_ARRAY(double, scene_numbers(sim));
    double *drives = RP_NEW_ARRAY(double, (int64_t)bodies * RP__BODY_DRIVE_NUMBERS);
    rp_result result = numbers && drives ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        move_scene((rp_sim *)(uintptr_t)sim, numbers, true);
        for (int b = 0; b < bodies; b++)
            rp__body_drive_pack(&sim->world.bodies[b], drives + b * RP__BODY_DRIVE_NUMBERS);
        result = rp_state_add(state, "drive/scene", RP_F64, scene_numbers(sim), numbers);
    }
    if (result == RP_OK)
        result = rp_state_add(state, "drive/bodies", RP_F64, (int64_t)bodies * RP__BODY_DRIVE_NUMBERS, drives);
    rp__base_free(numbers);
    rp__base_free(drives);
    return result;
}

rp_result rp__sim_drive_save(const rp_sim *sim, rp_state *state)
{
    const rp__sim_drive *drive = &sim->drive;
    if (!drive->used)
        return RP_OK;
    rp__text queue = { 0 }, forces = { 0 };
    rp_result result = RP_OK;
    for (int64_t i = drive->next; i < drive->queue_count && result == RP_OK; i++)
        result = rp__action_write(&drive->queue[i], &queue);
    for (int64_t f = 0; f < drive->force_count && result == RP_OK; f++) {
        rp__action action = rp__action_make(RP__ACTION_FORCE_ADD);
        action.force = drive->forces[f];
        result = rp__action_write(&action, &forces);
    }
    if (result == RP_OK)
        result = save_text(state, "drive/journal", rp__text_string(&drive->journal), drive->journal.length);
    if (result == RP_OK && queue.length)
        result = save_text(state, "drive/queue", queue.data, queue.length);
    if (result == RP_OK && forces.length)
        result = save_text(state, "drive/forces", forces.data, forces.length);
    if (result == RP_OK && drive->added.length)
        result = save_text(state, "drive/added", drive->added.data, drive->added.length);
    rp__text_free(&queue);
    rp__text_free(&forces);
    return result == RP_OK ? save_numbers(sim, state) : result;
}

/* As the definition has it. */
static void reset(rp_sim *sim)
{
    rp__sim_drive *drive = &sim->drive;
    drive->used = false;
    clear_queue(drive);
    rp__sim_clear_forces(sim);
    drive->journal.length = 0;
    if (drive->journal.data)
        drive->journal.data[0] = '\0';
    memcpy(sim->def.gravity, drive->gravity, sizeof drive->gravity);
    for (int m = 0; m < sim->def.material_count; m++)
        sim->materials[m] = sim->def.materials[m];
    for (int k = 0; k < sim->def.material_key_count; k++)
        drive->key_off[k] = false;
    for (int b = 0; b < sim->world.body_count; b++) {
        rp__body *body = &sim->world.bodies[b];
        memset(&body->drive, 0, sizeof body->drive);
        if (b >= sim->def.body_count) /* the state says what it has */
            continue;
        const rp_body_def *def = &sim->def.bodies[b];
        memcpy(body->def.force, def->force, sizeof def->force);
        memcpy(body->def.torque, def->torque, sizeof def->torque);
        body->def.motor_value = def->motor_value;
    }
}

static rp_result check_scene(const rp_sim *sim)
{
    for (int m = 0; m < sim->def.material_count; m++) {
        rp_result result = rp__param_check(rp_material_table(), &sim->materials[m]);
        if (result != RP_OK)
            return rp__base_fail_prefix(RP_BAD_FILE, "the checkpoint has a material '%s' with ", sim->materials[m].name);
    }
    return RP_OK;
}

/* The actions of lines that a state holds, one after the other. */
static rp_result for_lines(rp_sim *sim, const char *text, rp__action_kind kind, rp_result (*each)(rp_sim *sim, rp__action *action))
{
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        rp__action action;
        RP_TRY(rp__action_read(at, length, &action));
        rp_result result = action.kind == kind ? each(sim, &action) : rp__base_fail(RP_BAD_FILE, "the checkpoint has an action where none belongs");
        rp__action_free(&action);
        RP_TRY(result);
        at += length + (at[length] == '\n');
    }
    return RP_OK;
}

/* Bodies that were added: those there are kept when they are the same. */
static rp_result restore_added(rp_sim *sim, const rp_state *state)
{
    rp__text added = { 0 };
    rp_result result = load_text(state, "drive/added", &added);
    bool same = result == RP_OK && added.length == sim->drive.added.length &&
                memcmp(rp__text_string(&added), rp__text_string(&sim->drive.added), (size_t)added.length) == 0;
    if (result == RP_OK && !same) {
        rp__sim_drop_added_bodies(sim);
        result = for_lines(sim, rp__text_string(&added), RP__ACTION_BODY_ADD, rp__sim_do_body_add);
    }
    rp__text_free(&added);
    return result;
}

static rp_result restore_forces(rp_sim *sim, const rp_state *state)
{
    rp__text forces = { 0 };
    rp_result result = load_text(state, "drive/forces", &forces);
    if (result == RP_OK)
        result = for_lines(sim, rp__text_string(&forces), RP__ACTION_FORCE_ADD, rp__sim_do_force_add);
    rp__text_free(&forces);
    return result;
}

rp_result rp__sim_drive_restore(rp_sim *sim, const rp_state *state)
{
    RP_TRY(restore_added(sim, state));
    reset(sim);
    RP_TRY(restore_forces(sim, state));
    const rp_blob *scene = rp_state_find(state, "drive/scene"), *bodies = rp_state_find(state, "drive/bodies");
    if (!scene && !bodies && !rp_state_find(state, "drive/journal"))
        return RP_OK;
    int64_t count = (int64_t)sim->world.body_count * RP__BODY_DRIVE_NUMBERS;
    if (!scene || !bodies || scene->type != RP_F64 || bodies->type != RP_F64 || scene->count != scene_numbers(sim) || bodies->count != count)
        return rp__base_fail(RP_BAD_FILE, "what the checkpoint says of the actions from outside does not fit the scene");
    sim->drive.used = true;
    sim->world.materials_set = true;
    move_scene(sim, scene->data, false);
    RP_TRY(check_scene(sim));
    for (int b = 0; b < sim->world.body_count; b++)
        rp__body_drive_unpack(&sim->world.bodies[b], (const double *)bodies->data + b * RP__BODY_DRIVE_NUMBERS);
    RP_TRY(load_text(state, "drive/journal", &sim->drive.journal));
    rp__text queue = { 0 };
    rp_result result = load_text(state, "drive/queue", &queue);
    int64_t line = 0;
    if (result == RP_OK && queue.length)
        result = read_lines(sim, queue.data, -INFINITY, &line);
    rp__text_free(&queue);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "actions to come in the checkpoint: ");
    find_step_ends(&sim->drive);
    return RP_OK;
}
