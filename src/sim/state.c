/* Saving and restoring everything that the next step depends on. */
#include "base/error.h"
#include "base/memory.h"
#include "sim/sim_internal.h"

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
    if (result == RP_OK && sim->method->save)
        result = sim->method->save(sim->state, &sim->world, state);
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
    return RP_OK;
}

rp_result rp_sim_restore(rp_sim *sim, const rp_state *state)
{
    const rp_blob *counts, *time, *owed, *walls;
    RP_TRY(need(state, "counts", RP_I64, 5, &counts));
    RP_TRY(need(state, "time", RP_F64, 1, &time));
    RP_TRY(need(state, "emitters", RP_F64, sim->def.emitter_count, &owed));
    RP_TRY(need(state, "walls", RP_F64, 18, &walls));
    const int64_t *n = counts->data;
    if (n[0] < 0 || n[1] < 0 || n[3] < 0 || n[4] < n[3] || n[3] > sim->def.particle_limit)
        return rp__base_fail(RP_BAD_FILE, "the counts of the checkpoint make no sense (%lld particles)", (long long)n[3]);
    RP_TRY(restore_particles(sim, state, n[3]));
    RP_TRY(rp__body_restore(sim->world.bodies, sim->world.body_count, state));
    sim->step = n[0];
    sim->frame = n[1];
    sim->at_frame = n[2] != 0;
    sim->particles.next_id = n[4];
    sim->time = *(const double *)time->data;
    sim->world.time = sim->time;
    for (int e = 0; e < sim->def.emitter_count; e++)
        sim->emitters[e].owed = ((const double *)owed->data)[e];
    for (int b = 0; b < sim->world.body_count; b++)
        RP_TRY(rp__body_reshape(&sim->world.bodies[b], sim->time));
    memcpy(sim->world.wall_force, walls->data, sizeof sim->world.wall_force);
    return sim->method->restore ? sim->method->restore(sim->state, &sim->world, state) : RP_OK;
}
