/* Saving and restoring everything that the next step depends on. */
#include "base/error.h"
#include "base/memory.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void plane_name(char name[64], const char *field, int component)
{
    snprintf(name, 64, "particle/%s/%d", field, component);
}

static rp_result save_clock(const rp_sim *sim, rp_state *state)
{
    int64_t counts[5] = { sim->step, sim->frame, sim->at_frame, sim->particles.count, sim->particles.next_id };
    RP_TRY(rp_state_add(state, "counts", RP_I64, 5, counts));
    RP_TRY(rp_state_add(state, "time", RP_F64, 1, &sim->time));
    double *owed = RP_NEW_ARRAY(double, sim->def.emitter_count);
    if (!owed)
        return RP_OUT_OF_MEMORY;
    for (int e = 0; e < sim->def.emitter_count; e++)
        owed[e] = sim->emitters[e].owed;
    rp_result result = rp_state_add(state, "emitters", RP_F64, sim->def.emitter_count, owed);
    rp__base_free(owed);
    RP_TRY(result);
    return rp_state_add(state, "walls", RP_F64, 18, sim->world.wall_force);
}

rp_result rp_sim_save(const rp_sim *sim, rp_state *state)
{
    if (!sim || !state)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_save needs a simulation and a state (one is NULL)");
    if (sim->drive.edit.open)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_save was called while an edit is open; close or cancel it first");
    memset(state, 0, sizeof *state);
    rp_result result = save_clock(sim, state);
    const rp__particles *p = &sim->particles;
    for (int f = 0; result == RP_OK && f < p->fields; f++)
        for (int c = 0; result == RP_OK && c < p->info[f].components; c++) {
            char name[64];
            plane_name(name, p->info[f].name, c);
            result = rp_state_add(state, name, p->info[f].type, p->count, rp__particles_plane(p, f, c));
        }
    if (result == RP_OK)
        result = rp__body_save(sim->world.bodies, sim->world.body_count, state);
    if (result == RP_OK)
        result = rp__sim_drive_save(sim, state);
    if (result == RP_OK && sim->calls->save)
        result = sim->calls->save(sim->state, &sim->world, state);
    if (result != RP_OK)
        rp_state_free(state);
    return result;
}

static rp_result need(const rp_state *state, const char *name, rp_type type, int64_t count, const rp_blob **out)
{
    *out = rp_state_find(state, name);
    if (!*out)
        return rp__base_fail(RP_BAD_FILE, "the checkpoint has no '%s': it was made by another scene or version", name);
    if ((*out)->type != type || (*out)->count != count)
        return rp__base_fail(RP_BAD_FILE, "'%s' of the checkpoint has %lld values of another kind than the %lld expected",
                             name, (long long)(*out)->count, (long long)count);
    return RP_OK;
}

/* A sound file may still hold numbers no run can have. What is not finite, and places outside the domain, would harm the first step. */
static rp_result check_numbers(const rp_state *state)
{
    for (int b = 0; b < state->count; b++) {
        const rp_blob *blob = &state->blobs[b];
        double sum = 0; /* 0 or NaN */
        for (int64_t i = 0; i < blob->count && blob->type == RP_F64; i++)
            sum += 0 * ((const double *)blob->data)[i];
        for (int64_t i = 0; i < blob->count && blob->type == RP_F32; i++)
            sum += 0 * (double)((const float *)blob->data)[i];
        if (sum != 0)
            return rp__base_fail(RP_BAD_FILE, "'%s' of the checkpoint has a value that is not a finite number", blob->name);
    }
    return RP_OK;
}

static rp_result check_clock(const rp_sim *sim, const int64_t *n, double time)
{
    const int64_t most = (int64_t)1 << 52;
    if (n[0] < 0 || n[1] < 0 || n[3] < 0 || n[4] < n[3] || n[0] > most || n[1] > most || n[4] > most || n[3] > sim->def.particle_limit)
        return rp__base_fail(RP_BAD_FILE, "the counts of the checkpoint make no sense (%lld particles)", (long long)n[3]);
    double frame = (double)n[1] / sim->def.frame_rate, next = (double)(n[1] + 1) / sim->def.frame_rate;
    if (!(time >= frame * (1 - 1e-9) && time < next))
        return rp__base_fail(RP_BAD_FILE, "the time of the checkpoint, %g s, does not belong to its frame %lld", time, (long long)n[1]);
    return RP_OK;
}

static rp_result check_places(const rp_sim *sim)
{
    const rp__particles *p = &sim->particles;
    for (int a = 0; a < sim->def.dim; a++)
        for (int64_t i = 0; i < p->count; i++)
            if (!(p->x[a][i] >= sim->def.lower[a] && p->x[a][i] <= sim->def.upper[a]))
                return rp__base_fail(RP_BAD_FILE, "the checkpoint has a particle at %c = %g m, outside the domain", "xyz"[a], p->x[a][i]);
    return RP_OK;
}

static rp_result restore_particles(rp_sim *sim, const rp_state *state, int64_t count)
{
    rp__particles *p = &sim->particles;
    int64_t first;
    const rp_blob *blob;
    char name[64];
    /* Look before changing anything. */
    for (int f = 0; f < p->fields; f++)
        for (int c = 0; c < p->info[f].components; c++) {
            plane_name(name, p->info[f].name, c);
            RP_TRY(need(state, name, p->info[f].type, count, &blob));
        }
    p->count = 0;
    RP_TRY(rp__particles_append(p, count, &first));
    for (int f = 0; f < p->fields; f++)
        for (int c = 0; c < p->info[f].components; c++) {
            plane_name(name, p->info[f].name, c);
            RP_TRY(need(state, name, p->info[f].type, count, &blob));
            if (count)
                memcpy(rp__particles_plane(p, f, c), blob->data,
                       (size_t)count * rp__particles_type_size(p->info[f].type));
        }
    for (int64_t i = 0; i < count; i++)
        if (p->material[i] < 0 || p->material[i] >= sim->def.material_count)
            return rp__base_fail(RP_BAD_FILE, "the checkpoint names material %d; the scene has %d", p->material[i],
                                 sim->def.material_count);
    return check_places(sim);
}

static rp_result restore(rp_sim *sim, const rp_state *state)
{
    const rp_blob *counts, *time, *owed, *walls;
    RP_TRY(need(state, "counts", RP_I64, 5, &counts));
    RP_TRY(need(state, "time", RP_F64, 1, &time));
    RP_TRY(need(state, "emitters", RP_F64, sim->def.emitter_count, &owed));
    RP_TRY(need(state, "walls", RP_F64, 18, &walls));
    const int64_t *n = counts->data;
    RP_TRY(check_numbers(state));
    RP_TRY(check_clock(sim, n, *(const double *)time->data));
    RP_TRY(restore_particles(sim, state, n[3]));
    RP_TRY(rp__sim_drive_restore(sim, state));
    RP_TRY(rp__body_restore(sim->world.bodies, sim->world.body_count, state));
    sim->step = n[0];
    sim->frame = n[1];
    sim->at_frame = n[2] != 0;
    sim->particles.next_id = n[4];
    sim->world.disturbed++;
    sim->finder.made = false;
    sim->time = *(const double *)time->data;
    sim->world.time = sim->time;
    for (int e = 0; e < sim->def.emitter_count; e++)
        sim->emitters[e].owed = ((const double *)owed->data)[e];
    for (int b = 0; b < sim->world.body_count; b++)
        RP_TRY(rp__body_reshape(&sim->world.bodies[b], sim->time));
    memcpy(sim->world.wall_force, walls->data, sizeof sim->world.wall_force);
    return sim->calls->restore ? sim->calls->restore(sim->state, &sim->world, state) : RP_OK;
}

rp_result rp_sim_restore(rp_sim *sim, const rp_state *state)
{
    if (!state)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_restore needs a state (NULL was given)");
    RP_TRY(rp__sim_need(sim, "rp_sim_restore"));
    const rp__base_context *before = rp__base_enter(&sim->base);
    rp_result result = restore(sim, state);
    rp__base_enter(before);
    return result;
}
