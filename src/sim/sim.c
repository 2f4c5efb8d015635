/* A simulation: creation, the step, what can be looked at. */
#include "base/error.h"
#include "base/log.h"
#include "base/param.h"
#include "body/contacts.h"
#include "exec/exec.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

/* ---- creation ---- */

static rp__body_room body_room(const rp_sim *sim)
{
    rp__body_room room = { sim->def.dim, sim->def.lower, sim->def.upper, sim->def.wall };
    return room;
}

/* Says what can hardly be meant: bodies that begin inside others or inside walls, or where no grain can come. */
static void tell_overlaps(const rp_sim *sim)
{
    const rp__body *bodies = sim->world.bodies;
    rp__body_room room = body_room(sim);
    for (int a = 0; a < sim->world.body_count; a++) {
        for (int b = 0; b < sim->world.body_count; b++) {
            double depth = a != b && bodies[a].present && bodies[b].present ? rp__body_depth(bodies, a, b, &room) : 0;
            if (depth > 0.1 * bodies[a].radius)
                RP_WARN("bodies '%s' and '%s' begin %g m inside each other; they will be pushed apart", bodies[a].def.name,
                        bodies[b].def.name, depth);
        }
        for (int f = 0; f < 2 * sim->def.dim; f++) {
            double depth = sim->def.wall[f].kind != RP_OPEN && sim->def.wall[f].kind != RP_PERIODIC
                               ? rp__body_depth(bodies, a, -1 - f, &room)
                               : 0;
            if (depth > 0.1 * bodies[a].radius)
                RP_WARN("body '%s' begins %g m inside a wall of the domain; it will be pushed back", bodies[a].def.name, depth);
        }
    }
}

/* A body that lies outside the domain and has nothing to bring it in meets no grains. */
static void tell_outside(const rp_sim *sim)
{
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        double lower[3], upper[3], low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
        bool bounded = true, outside = false;
        rp_shape_bounds(body->def.shape, lower, upper);
        for (int a = 0; a < 3; a++)
            bounded = bounded && isfinite(lower[a]) && isfinite(upper[a]);
        if (!bounded || body->def.motion || body->def.sequence)
            continue;
        for (int k = 0; k < 8; k++) {
            double corner[3];
            for (int a = 0; a < 3; a++)
                corner[a] = k >> a & 1 ? upper[a] : lower[a];
            rp__vec3 local = rp__vec3_sub(rp__vec3_load(corner), body->centre_local);
            rp__vec3_store(corner, rp__pose_apply(&body->pose, local));
            for (int a = 0; a < 3; a++)
                low[a] = fmin(low[a], corner[a]), high[a] = fmax(high[a], corner[a]);
        }
        for (int a = 0; a < sim->def.dim; a++)
            outside = outside || high[a] < sim->def.lower[a] || low[a] > sim->def.upper[a];
        if (outside && body->def.kind == RP_BODY_SCRIPTED)
            RP_WARN("body '%s' lies outside the domain and does not move: no grain will meet it", body->def.name);
        else if (outside)
            RP_WARN("body '%s' begins outside the domain; it meets grains only if it comes in", body->def.name);
    }
}

static rp_result make_bodies(rp_sim *sim)
{
    sim->world.bodies = RP_NEW_ARRAY(rp__body, sim->def.body_count);
    sim->jump_told = RP_NEW_ARRAY(bool, sim->def.body_count);
    sim->bodies_before = RP_NEW_ARRAY(rp__body, sim->def.body_count);
    if (!sim->world.bodies || !sim->jump_told || !sim->bodies_before)
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < sim->def.body_count; b++) {
        RP_TRY(rp__body_init(&sim->world.bodies[b], &sim->def.bodies[b], sim->def.dim, 0));
        rp__body_repeat(&sim->world.bodies[b], &sim->def);
        sim->world.body_count++;
    }
    tell_overlaps(sim);
    tell_outside(sim);
    return RP_OK;
}

/* Keyed material parameters at time t: linear between keys, constant outside. */
static void apply_keys(rp_sim *sim, double t)
{
    for (int k = 0; k < sim->def.material_key_count; k++) {
        const rp_material_key *key = &sim->def.material_keys[k];
        if (sim->drive.key_off[k])
            continue;
        int i = 0;
        while (i < key->count && key->times[i] <= t)
            i++;
        double value;
        if (i == 0 || i == key->count)
            value = key->values[i ? i - 1 : 0];
        else {
            double s = (t - key->times[i - 1]) / (key->times[i] - key->times[i - 1]);
            value = key->values[i - 1] + s * (key->values[i] - key->values[i - 1]);
        }
        const rp_param *entry = rp__param_find(rp_material_table(), key->parameter);
        memcpy((char *)&sim->materials[key->material] + entry->offset, &value, sizeof value);
    }
}

static void set_world(rp_sim *sim)
{
    rp__world *world = &sim->world;
    world->def = &sim->def;
    world->params = sim->params;
    world->materials = sim->materials;
    world->particles = &sim->particles;
    for (int a = 0; a < 3; a++)
        world->cells[a] = a < sim->def.dim
                              ? (int64_t)nearbyint((sim->def.upper[a] - sim->def.lower[a]) / sim->def.cell_size)
                              : 1;
}

static rp_result create(rp_sim *sim, const rp_sim_def *def)
{
    int64_t particles, bytes;
    RP_TRY(rp_sim_estimate(def, &particles, &bytes)); /* checks the definition too */
    sim->method = rp__method_by_name(def->method);
    RP_TRY(rp__sim_copy_definition(sim, def));
    RP_TRY(rp__particles_init(&sim->particles));
    sim->first_field = sim->particles.fields;
    sim->calls = sim->method->variant ? sim->method->variant(&sim->def, sim->params) : sim->method;
    rp_field_info fields[RP_METHOD_MAX_FIELDS];
    int count = rp__sim_method_fields(sim->method, &sim->def, sim->params, fields);
    for (int f = 0, index; f < count; f++)
        RP_TRY(rp__particles_add_field(&sim->particles, &fields[f], &index));
    set_world(sim);
    memcpy(sim->drive.gravity, sim->def.gravity, sizeof sim->drive.gravity);
    sim->drive.key_off = RP_NEW_ARRAY(bool, sim->def.material_key_count);
    if (!sim->drive.key_off)
        return RP_OUT_OF_MEMORY;
    memset(sim->drive.key_off, 0, (size_t)sim->def.material_key_count * sizeof(bool));
    apply_keys(sim, 0);
    rp__exec_set_threads(sim->def.threads);
    RP_TRY(make_bodies(sim));
    RP_TRY(rp__sim_prepare_emitters(sim));
    RP_TRY(sim->calls->create(&sim->world, sim->first_field, &sim->state));
    sim->made = true;
    RP_TRY(rp__sim_fill(sim));
    int64_t emitted = 0;
    RP_TRY(rp__sim_emit(sim, 0, &emitted));
    sim->at_frame = true;
    return RP_OK;
}

rp_result rp_sim_create(const rp_sim_def *def, rp_sim **out)
{
    if (!def || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_create needs a definition and a place for the simulation");
    RP_TRY(rp__sim_check_cookie(def->cookie, "sim"));
    rp__base_context own = { .log = def->log, .log_context = def->log_context, .log_least = def->log_least };
    if (def->allocator && (!def->allocator->allocate || !def->allocator->release))
        return rp__base_fail(RP_BAD_ARGUMENT, "the allocator of a simulation needs both of its functions");
    if (def->allocator)
        own.allocator = *def->allocator;
    const rp__base_context *before = rp__base_enter(&own);
    rp_sim *sim = RP_NEW(rp_sim);
    rp_result result = sim ? RP_OK : RP_OUT_OF_MEMORY;
    if (sim) {
        sim->base = own;
        rp__arena_init(&sim->arena, 1 << 14);
        result = create(sim, def);
        sim->def.allocator = def->allocator ? &sim->base.allocator : NULL;
    }
    rp__base_enter(before);
    if (result == RP_OK)
        *out = sim;
    else
        rp_sim_destroy(sim);
    return result;
}

void rp_sim_destroy(rp_sim *sim)
{
    if (!sim)
        return;
    if (sim->made)
        sim->calls->destroy(sim->state);
    for (int b = 0; b < sim->world.body_count; b++)
        rp__body_free(&sim->world.bodies[b]);
    for (int e = 0; sim->emitters && e < sim->def.emitter_count; e++)
        rp__base_free(sim->emitters[e].sites);
    rp__base_free(sim->world.bodies);
    rp__base_free(sim->jump_told);
    rp__base_free(sim->bodies_before);
    rp__base_free(sim->emitters);
    rp__base_free(sim->flags);
    rp__sim_drive_free(sim);
    rp__sim_query_free(sim);
    rp__particles_free(&sim->particles);
    rp__sim_release_definition(sim);
    rp__arena_free(&sim->arena);
    rp__base_free(sim);
}

/* ---- the step ---- */

static double frame_time(const rp_sim *sim, int64_t frame)
{
    return (double)frame / sim->def.frame_rate;
}

/* Largest distance from the origin of its frame to a corner of the body's bounds; 0 if unbounded. */
static double body_radius(const rp__body *body)
{
    double lower[3], upper[3], sum = 0;
    rp_shape_bounds(body->def.shape, lower, upper);
    for (int a = 0; a < 3; a++) {
        double far = fmax(fabs(lower[a]), fabs(upper[a]));
        if (isfinite(far))
            sum += far * far;
    }
    return sqrt(sum);
}

/* Largest step for which no present body crosses more than `cells` cells. */
static rp_result body_limit(const rp_sim *sim, double dt, double *limit)
{
    for (int b = 0; b < sim->world.body_count; b++) {
        rp__body probe = sim->world.bodies[b];
        double deforming = probe.def.sequence ? rp_mesh_sequence_speed(probe.def.sequence, sim->time, sim->time + dt) : 0;
        if (deforming * *limit > sim->def.cfl * sim->def.cell_size)
            *limit = sim->def.cfl * sim->def.cell_size / deforming;
        if (probe.def.kind == RP_BODY_SCRIPTED && !probe.def.motion && !probe.drive.driven)
            continue;
        if (probe.drive.target_until != RP__BODY_NONE && probe.drive.target_one_step)
            continue; /* it is there at the end of the step, whatever that takes: see one_step_limit */
        RP_TRY(rp__body_begin(&probe, sim->time, dt, sim->def.gravity, sim->def.dim));
        if (!probe.present)
            continue;
        double speed = rp__vec3_norm(probe.velocity) + rp__vec3_norm(probe.omega) * body_radius(&probe);
        if (speed * *limit > sim->def.cfl * sim->def.cell_size)
            *limit = sim->def.cfl * sim->def.cell_size / speed;
    }
    return RP_OK;
}

/* A target that was reached in one step when it was performed: a run whose steps end elsewhere takes the same care as of a motion. */
static void one_step_limit(const rp_sim *sim, double *dt, const char **reason)
{
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        const rp__body_drive *drive = &body->drive;
        if (drive->target_until != RP__BODY_TIME || !drive->target_one_step || fabs(sim->time + *dt - drive->target_time) <= rp__sim_tiny(sim))
            continue;
        rp__body probe = *body;
        rp__body_drive_begin(&probe, sim->time, fmin(*dt, drive->target_time - sim->time));
        double speed = rp__vec3_norm(probe.velocity) + rp__vec3_norm(probe.omega) * body_radius(&probe);
        double limit = sim->def.cfl * sim->def.cell_size / speed;
        if (body->present && limit < *dt)
            *dt = limit, *reason = "body";
    }
}

/* The largest of (v + g dt) dt <= cfl h: the fastest particle crosses at most cfl cells even if it falls all the while. */
static double cfl_limit(const rp_sim *sim)
{
    const double *g = sim->def.gravity;
    double reach = sim->def.cfl * sim->def.cell_size, v = rp__sim_fastest(sim);
    double a = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) + (sim->drive.force_count ? rp__sim_force_bound(sim) : 0);
    double root = v + sqrt(v * v + 4 * a * reach);
    return root > 0 ? 2 * reach / root : INFINITY;
}

static rp_result choose_step(rp_sim *sim, double *dt, const char **reason)
{
    double left = frame_time(sim, sim->frame + 1) - sim->time;
    *reason = "frame";
    if (sim->def.substeps > 0) {
        double even = 1 / (sim->def.frame_rate * sim->def.substeps);
        *reason = sim->def.substeps > 1 ? "substeps" : "frame";
        *dt = left < 1.5 * even ? left : even;
        return RP_OK;
    }
    double most = left;
    if (sim->def.dt_max > 0 && sim->def.dt_max < most)
        most = sim->def.dt_max, *reason = "dt_max";
    double cfl = cfl_limit(sim);
    if (cfl < most)
        most = cfl, *reason = "cfl";
    double body = most;
    RP_TRY(body_limit(sim, most, &body));
    if (body < most)
        most = body, *reason = "body";
    if (sim->calls->largest_step) {
        const char *why = "method";
        double own = sim->calls->largest_step(sim->state, &sim->world, &why);
        if (own < most)
            most = own, *reason = why;
    }
    if (most < sim->def.dt_min)
        most = sim->def.dt_min < left ? sim->def.dt_min : left, *reason = "dt_min";
    if (!(most > left * 1e-9))
        return rp__base_fail(RP_DIVERGED, "at t = %g s the step would be %g s (limit: %s), too small to go on", sim->time,
                             most, *reason);
    double count = ceil(left / most * (1 - 1e-12));
    *dt = left / fmax(1, count);
    if (count <= 1)
        *reason = "frame";
    if (sim->drive.used)
        one_step_limit(sim, dt, reason);
    return RP_OK;
}

/* A scripted body that crosses its own size in a step has jumped rather than moved. */
static void tell_jumps(rp_sim *sim, double dt)
{
    for (int b = 0; b < sim->world.body_count; b++) {
        const rp__body *body = &sim->world.bodies[b];
        if (!body->present || sim->jump_told[b] || body->def.kind != RP_BODY_SCRIPTED)
            continue;
        double moved = rp__vec3_norm(body->velocity) * dt, size = 2 * body_radius(body);
        if (size > 0 && moved > size && moved > 4 * sim->def.cell_size) {
            RP_WARN("body '%s' moves %g m in the step at t = %g s, more than its own size (%g m): it may jump through grains",
                    body->def.name, moved, sim->time, size);
            sim->jump_told[b] = true;
        }
    }
}

static void phases_out(const rp__phases *phases, rp_step_stats *stats)
{
    stats->phase_count = phases->count < RP_MAX_EXTRAS ? phases->count : RP_MAX_EXTRAS;
    for (int i = 0; i < stats->phase_count; i++) {
        stats->phase_name[i] = phases->name[i];
        stats->phase_ms[i] = 1e3 * phases->seconds[i];
    }
}

static rp_result advance(rp_sim *sim, double dt, rp_step_stats *stats)
{
    rp__world *world = &sim->world;
    memset(world->wall_force, 0, sizeof world->wall_force);
    for (int b = 0; b < world->body_count; b++) {
        RP_TRY(rp__body_begin(&world->bodies[b], sim->time, dt, sim->def.gravity, sim->def.dim));
        RP_TRY(rp__body_deform(&world->bodies[b], sim->time + dt * (1 - 1e-9))); /* velocities of the piece just gone through */
    }
    tell_jumps(sim, dt);
    if (sim->drive.force_count)
        RP_TRY(rp__sim_apply_forces(sim, dt));
    sim->finder.made = false;
    if (world->touches)
        rp__sim_start_touches(sim);
    RP_TRY(sim->calls->step(sim->state, world, dt, stats));
    if (world->touches)
        RP_TRY(rp__sim_sort_touches(sim));
    rp__body_room room = body_room(sim);
    if (!sim->calls->solves_bodies)
        RP_TRY(rp__body_contacts_solve(world->bodies, world->body_count, &room, dt));
    for (int b = 0; b < world->body_count; b++)
        rp__body_end(&world->bodies[b], dt, sim->def.dim);

    double next = frame_time(sim, sim->frame + 1);
    sim->at_frame = sim->time + dt >= next - 1e-9 / sim->def.frame_rate;
    if (sim->at_frame) {
        sim->frame++;
        sim->time = next; /* exactly, so that times never drift */
    } else {
        sim->time += dt;
    }
    sim->step++;
    stats->step = sim->step;
    stats->time = sim->time;
    stats->dt = dt;
    double t = rp__base_seconds();
    RP_TRY(rp__sim_guard(sim, stats));
    RP_TRY(rp__sim_drain(sim, &stats->removed));
    RP_TRY(rp__sim_emit(sim, dt, &stats->emitted));
    rp__sim_energies(sim, stats);
    RP_LAP(&world->phases, "bookkeeping", t);
    return RP_OK;
}

/* After a step that was given up: what a checkpoint holds of the bodies is as it was. */
static void take_bodies_back(rp_sim *sim)
{
    for (int b = 0; b < sim->world.body_count; b++) {
        rp__body *body = &sim->world.bodies[b];
        const rp__body *was = &sim->bodies_before[b];
        body->pose = was->pose, body->present = was->present;
        body->velocity = was->velocity, body->omega = was->omega;
        body->force = was->force, body->torque = was->torque, body->normal_force = was->normal_force;
        body->fluid_pressure = was->fluid_pressure, body->fluid_viscous = was->fluid_viscous;
    }
}

rp_result rp__sim_given_up(const rp__world *world)
{
    rp__exec_tick();
    if (world->cancel && *world->cancel)
        return rp__base_fail(RP_CANCELLED, "cancelled in the step at t = %g s", world->time);
    return RP_OK;
}

/* What the next step starts from, and how long it may be. */
static rp_result prepare_step(rp_sim *sim, double *dt, const char **reason)
{
    rp__exec_set_threads(sim->def.threads);
    sim->world.time = sim->time;
    sim->world.step = sim->step;
    if (sim->drive.used)
        RP_TRY(rp__sim_perform_due(sim));
    apply_keys(sim, sim->time);
    return choose_step(sim, dt, reason);
}

rp_result rp_sim_next_time(rp_sim *sim, double *time)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_next_time", time));
    double dt = 0;
    const char *reason;
    const rp__base_context *before = rp__base_enter(&sim->base);
    rp_result result = prepare_step(sim, &dt, &reason);
    rp__base_enter(before);
    RP_TRY(result);
    *time = sim->time + dt;
    return RP_OK;
}

/* ---- hooks ---- */

enum { TICK_MS = 20 }; /* between two calls of the progress hook: half of what is promised, as a chunk of work lies between */

static void watch_step(void *context)
{
    rp_sim *sim = context;
    rp_progress progress = { sim->step + 1, sim->time, sim->watch.dt, rp__base_seconds() - sim->watch.begin };
    if ((sim->watch.asked && *sim->watch.asked) || !sim->hooks.progress(sim->hooks.context, &progress))
        __atomic_store_n(&sim->watch.give_up, 1, __ATOMIC_RELAXED);
}

/* advance, watched by the progress hook. */
static rp_result advance_watched(rp_sim *sim, double dt, rp_step_stats *stats)
{
    if (!sim->hooks.progress)
        return advance(sim, dt, stats);
    sim->watch.begin = rp__base_seconds();
    sim->watch.dt = dt;
    sim->watch.give_up = 0;
    sim->watch.asked = sim->world.cancel;
    sim->world.cancel = &sim->watch.give_up;
    rp__exec_set_tick(watch_step, sim, sim->hooks.interval > 0 ? sim->hooks.interval : 1e-3 * TICK_MS);
    rp_result result = advance(sim, dt, stats);
    rp__exec_set_tick(NULL, NULL, 0);
    sim->world.cancel = sim->watch.asked;
    return result;
}

rp_result rp_sim_set_hooks(rp_sim *sim, const rp_hooks *hooks)
{
    RP_TRY(rp__sim_need(sim, "rp_sim_set_hooks"));
    sim->hooks = hooks ? *hooks : (rp_hooks){ 0 };
    return RP_OK;
}

rp_result rp_sim_step(rp_sim *sim, rp_step_stats *stats)
{
    return rp_sim_step_to(sim, INFINITY, stats);
}

static rp_result step_to(rp_sim *sim, double latest, rp_step_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->converged = true;
    double begin = rp__base_seconds();
    if (!(latest > sim->time))
        return rp__base_fail(RP_BAD_ARGUMENT, "a step that ends at t = %g s cannot begin at t = %g s", latest, sim->time);
    rp__phases_clear(&sim->world.phases);
    double dt = 0;
    RP_TRY(prepare_step(sim, &dt, &stats->limit));
    double walls[6][3];
    memcpy(walls, sim->world.wall_force, sizeof walls);
    double event = sim->drive.used ? rp__sim_next_event(sim) : INFINITY;
    bool at_event = sim->time + dt > event + rp__sim_tiny(sim), shortened = (at_event ? event - sim->time : dt) > latest - sim->time;
    bool mark = shortened || (sim->drive.used && rp__sim_lasts_one_step(sim));
    if (at_event && !shortened)
        dt = event - sim->time, latest = event, stats->limit = "action";
    if (shortened)
        dt = latest - sim->time, stats->limit = "until";
    if (sim->world.body_count)
        memcpy(sim->bodies_before, sim->world.bodies, (size_t)sim->world.body_count * sizeof *sim->bodies_before);
    sim->drive.stepping = true;
    rp_result result = advance_watched(sim, dt, stats);
    sim->drive.stepping = false;
    if (result == RP_CANCELLED) {
        take_bodies_back(sim);
        memcpy(sim->world.wall_force, walls, sizeof walls);
        RP_TRY(rp__sim_take_forces_back(sim));
    }
    RP_TRY(result);
    if ((shortened || at_event) && !sim->at_frame)
        stats->time = sim->time = latest; /* to the bit */
    if (sim->drive.used || mark)
        RP_TRY(rp__sim_end_step(sim, mark));
    stats->particles = sim->particles.count;
    phases_out(&sim->world.phases, stats);
    stats->ms_step = 1e3 * (rp__base_seconds() - begin);
    return RP_OK;
}

rp_result rp_sim_step_to(rp_sim *sim, double latest, rp_step_stats *stats)
{
    rp_step_stats unused;
    RP_TRY(rp__sim_need(sim, "rp_sim_step"));
    if (!stats)
        stats = &unused;
    if (sim->hooks.before)
        RP_TRY(sim->hooks.before(sim->hooks.context, sim));
    const rp__base_context *before = rp__base_enter(&sim->base);
    rp__exec_set_threads(sim->def.threads);
    bool gathered = sim->world.short_loops && rp__exec_gather();
    rp_result result = step_to(sim, latest, stats);
    rp__exec_dismiss(gathered);
    rp__base_enter(before);
    return result == RP_OK && sim->hooks.after ? sim->hooks.after(sim->hooks.context, sim, stats) : result;
}

/* ---- looking ---- */

double rp_sim_time(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->time;
}

int64_t rp_sim_steps(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->step;
}

int64_t rp_sim_frame(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->frame;
}

bool rp_sim_at_frame(const rp_sim *sim)
{
    if (!sim)
        return false;
    return sim->at_frame;
}

bool rp_sim_done(const rp_sim *sim)
{
    if (!sim)
        return true;
    return sim->at_frame && frame_time(sim, sim->frame) >= sim->def.duration * (1 - 1e-12);
}

void rp_sim_set_threads(rp_sim *sim, int threads)
{
    if (!sim)
        return;
    sim->def.threads = threads;
}

void rp_sim_set_user_data(rp_sim *sim, void *data)
{
    if (sim)
        sim->user_data = data;
}

void *rp_sim_user_data(const rp_sim *sim)
{
    return sim ? sim->user_data : NULL;
}

rp_result rp_sim_set_body_user_data(rp_sim *sim, int body, void *data)
{
    RP_TRY(rp__sim_check_body_index(sim, body));
    sim->world.bodies[body].user_data = data;
    return RP_OK;
}

void *rp_sim_body_user_data(const rp_sim *sim, int body)
{
    return rp__sim_check_body_index(sim, body) == RP_OK ? sim->world.bodies[body].user_data : NULL;
}

void rp_sim_set_cancel(rp_sim *sim, const volatile int *flag)
{
    sim->world.cancel = flag;
}

const rp_sim_def *rp_sim_definition(const rp_sim *sim)
{
    if (!sim)
        return NULL;
    return &sim->def;
}

int64_t rp_sim_particle_count(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->particles.count;
}

int rp_sim_field_count(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->particles.fields;
}

rp_result rp_sim_field(const rp_sim *sim, int index, rp_field_view *out)
{
    if (!sim || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_field needs a simulation and a place for the view (one is NULL)");
    if (index < 0 || index >= sim->particles.fields)
        return rp__base_fail(RP_BAD_ARGUMENT, "field %d of %d", index, sim->particles.fields);
    *out = rp__particles_view(&sim->particles, index);
    return RP_OK;
}

rp_result rp_sim_field_named(const rp_sim *sim, const char *name, rp_field_view *out)
{
    int index = sim && name ? rp__particles_find(&sim->particles, name) : -1;
    if (index < 0)
        return rp__base_fail(sim && name ? RP_NOT_FOUND : RP_BAD_ARGUMENT, "particles have no field '%s'", name ? name : "(NULL)");
    return rp_sim_field(sim, index, out);
}

rp_result rp_sim_grid_fields(rp_sim *sim, const rp_field_view **views, int *count, int64_t *nodes)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_grid_fields", views && count && nodes));
    if (!sim->calls->grid_fields)
        return rp__base_fail(RP_UNSUPPORTED, "method '%s' has no grid fields", sim->method->info.name);
    const rp__base_context *before = rp__base_enter(&sim->base);
    rp_result result = sim->calls->grid_fields(sim->state, &sim->world, views, count, nodes);
    rp__base_enter(before);
    return result;
}

int rp_sim_body_count(const rp_sim *sim)
{
    if (!sim)
        return 0;
    return sim->world.body_count;
}

rp_result rp__sim_check_body_index(const rp_sim *sim, int index)
{
    if (!sim)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no simulation (NULL)");
    if (index < 0 || index >= sim->world.body_count)
        return rp__base_fail(RP_BAD_ARGUMENT, "body %d of %d", index, sim->world.body_count);
    return RP_OK;
}

const char *rp_sim_body_name(const rp_sim *sim, int index)
{
    return rp__sim_check_body_index(sim, index) == RP_OK ? sim->world.bodies[index].def.name : "";
}

/* Given for the frame of the shape: the centre of mass of a free body lies elsewhere in it. */
void rp__sim_body_state(const rp__body *body, rp_body_state *out)
{
    memset(out, 0, sizeof *out);
    rp__vec3 arm = rp__quat_rotate(body->pose.orientation, body->centre_local);
    rp__vec3_store(out->position, rp__vec3_sub(body->pose.position, arm));
    out->orientation[0] = body->pose.orientation.w;
    out->orientation[1] = body->pose.orientation.x;
    out->orientation[2] = body->pose.orientation.y;
    out->orientation[3] = body->pose.orientation.z;
    rp__vec3_store(out->velocity, body->velocity);
    rp__vec3_store(out->angular_velocity, body->omega);
    rp__vec3_store(out->force, body->force);
    rp__vec3_store(out->torque, body->torque);
    rp__vec3_store(out->normal_force, body->normal_force);
    rp__vec3_store(out->friction_force, rp__vec3_sub(body->force, body->normal_force));
    rp__vec3_store(out->fluid_pressure_force, body->fluid_pressure);
    rp__vec3_store(out->fluid_viscous_force, body->fluid_viscous);
    out->mass = body->mass;
    out->present = body->present;
}

rp_result rp_sim_body(const rp_sim *sim, int index, rp_body_state *out)
{
    RP_TRY(rp__sim_check_body_index(sim, index));
    if (!out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_body needs a place for the state (NULL was given)");
    rp__sim_body_state(&sim->world.bodies[index], out);
    return RP_OK;
}

rp_shape *rp_sim_body_shape(const rp_sim *sim, int index)
{
    return rp__sim_check_body_index(sim, index) == RP_OK ? sim->world.bodies[index].def.shape : NULL;
}

rp_result rp_sim_wall_force(const rp_sim *sim, int face, double force[3])
{
    if (!sim || !force)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_wall_force needs a simulation and a place for the force (one is NULL)");
    if (face < 0 || face >= 2 * sim->def.dim)
        return rp__base_fail(RP_BAD_ARGUMENT, "wall %d of %d", face, 2 * sim->def.dim);
    memcpy(force, sim->world.wall_force[face], 3 * sizeof *force);
    return RP_OK;
}
