/* Forces on the grains from outside, while they last and as kicks.
 *
 * A force is an acceleration a(x, v): at the beginning of a step of length dt, v += dt a for every grain, before the method moves it.
 * Drag is integrated exactly, v = u + (v - u) exp(-rate dt), so that no rate is too large for a step. */
#include "base/error.h"
#include "exec/exec.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 2048 };

/* ---- callbacks ---- */

static rp__sim_callback *find_callback(const rp_sim *sim, const char *name)
{
    for (int64_t i = 0; i < sim->drive.callback_count; i++)
        if (strcmp(sim->drive.callbacks[i].name, name) == 0)
            return &sim->drive.callbacks[i];
    return NULL;
}

rp_result rp__sim_check_callback(const rp_sim *sim, const rp_force_def *def)
{
    if (!def || def->kind != RP_FORCE_CALLBACK || (def->callback && find_callback(sim, def->callback)))
        return RP_OK;
    return rp__base_fail(RP_NOT_FOUND, "the force '%s' needs the C function '%s', which was not given (rp_sim_set_callback)", def->name,
                         def->callback ? def->callback : "");
}

rp_result rp_sim_set_callback(rp_sim *sim, const char *name, rp_force_fn function, void *context)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_set_callback", name));
    rp__sim_drive *drive = &sim->drive;
    rp__sim_callback *known = find_callback(sim, name);
    if (!*name || strlen(name) >= sizeof known->name)
        return rp__base_fail(RP_BAD_ARGUMENT, "a callback needs a name of at most %d bytes", (int)sizeof known->name - 1);
    for (int64_t f = 0; f < drive->force_count && !function; f++)
        if (drive->forces[f]->kind == RP_FORCE_CALLBACK && strcmp(drive->forces[f]->callback, name) == 0)
            return rp__base_fail(RP_BAD_ARGUMENT, "the callback '%s' is used by the force '%s'; remove that first", name, drive->forces[f]->name);
    if (!function) {
        if (known)
            *known = drive->callbacks[--drive->callback_count];
        return RP_OK;
    }
    if (!known) {
        if (!rp__base_grow(&drive->callbacks, &drive->callback_capacity, drive->callback_count + 1, sizeof *known))
            return RP_OUT_OF_MEMORY;
        known = &drive->callbacks[drive->callback_count++];
        strcpy(known->name, name);
    }
    known->function = function;
    known->context = context;
    return RP_OK;
}

/* ---- what a force does ---- */

typedef struct pushing {
    rp__particles *particles;
    const rp_force_def *def;
    const rp__sim_callback *callback;
    rp__vec3 axis;
    double time, dt, keep; /* keep: of the velocity relative to the stream, under drag */
    int dim;
} pushing;

static rp__vec3 acceleration(const pushing *w, rp__vec3 x, rp__vec3 v)
{
    const rp_force_def *def = w->def;
    rp__vec3 r = rp__vec3_sub(x, rp__vec3_load(def->point));
    double core = def->core * def->core;
    switch (def->kind) {
    case RP_FORCE_VORTEX:
        r = rp__vec3_axpy(-rp__vec3_dot(r, w->axis), w->axis, r);
        return rp__vec3_scale(def->strength / (rp__vec3_dot(r, r) + core), rp__vec3_cross(w->axis, r));
    case RP_FORCE_ATTRACTOR: {
        double s = rp__vec3_dot(r, r) + core;
        return rp__vec3_scale(-def->strength / (s * sqrt(s)), r);
    }
    case RP_FORCE_CALLBACK: {
        double at[3], speed[3], a[3] = { 0, 0, 0 };
        rp__vec3_store(at, x);
        rp__vec3_store(speed, v);
        w->callback->function(w->callback->context, w->time, at, speed, a);
        return rp__vec3_load(a);
    }
    default: return rp__vec3_load(def->vector);
    }
}

static void push_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const pushing *w = context;
    rp__particles *p = w->particles;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 x = { p->x[0][i], p->x[1][i], p->x[2][i] }, v = { p->v[0][i], p->v[1][i], p->v[2][i] };
        double at[3] = { x.x, x.y, x.z };
        if (w->def->shape && rp_shape_distance(w->def->shape, at, NULL) > 0)
            continue;
        if (w->def->kind == RP_FORCE_DRAG) {
            rp__vec3 u = rp__vec3_load(w->def->vector);
            v = rp__vec3_axpy(w->keep, rp__vec3_sub(v, u), u);
        } else {
            v = rp__vec3_axpy(w->dt, acceleration(w, x, v), v);
        }
        p->v[0][i] = v.x, p->v[1][i] = v.y;
        if (w->dim == 3)
            p->v[2][i] = v.z;
    }
}

static void apply(rp_sim *sim, const rp_force_def *def, double dt)
{
    pushing w = { .particles = &sim->particles,
                  .def = def,
                  .callback = def->kind == RP_FORCE_CALLBACK ? find_callback(sim, def->callback) : NULL,
                  .axis = rp__vec3_unit(rp__vec3_load(def->vector), rp__vec3_make(0, 0, 1)),
                  .time = sim->time,
                  .dt = dt,
                  .keep = exp(-def->strength * dt),
                  .dim = sim->def.dim };
    rp__exec_for(sim->particles.count, CHUNK, push_chunk, &w);
}

static void forget_before(rp__sim_drive *drive)
{
    rp__base_free(drive->velocity_before);
    rp__base_free(drive->id_before);
    drive->velocity_before = NULL;
    drive->id_before = NULL;
    drive->before_count = 0;
}

rp_result rp__sim_apply_forces(rp_sim *sim, double dt)
{
    rp__sim_drive *drive = &sim->drive;
    const rp__particles *p = &sim->particles;
    forget_before(drive);
    if (sim->world.cancel) {
        drive->velocity_before = RP_NEW_ARRAY(double, 3 * p->count);
        drive->id_before = RP_NEW_ARRAY(int64_t, p->count);
        if (!drive->velocity_before || !drive->id_before)
            return RP_OUT_OF_MEMORY;
        drive->before_count = p->count;
        for (int64_t i = 0; i < p->count; i++) {
            drive->id_before[i] = p->id[i];
            for (int a = 0; a < 3; a++)
                drive->velocity_before[3 * i + a] = p->v[a][i];
        }
    }
    for (int64_t f = 0; f < drive->force_count; f++)
        apply(sim, drive->forces[f], dt);
    return RP_OK;
}

rp_result rp__sim_take_forces_back(rp_sim *sim)
{
    rp__sim_drive *drive = &sim->drive;
    int64_t *at = NULL;
    if (drive->before_count == 0)
        return RP_CANCELLED;
    RP_TRY(rp__sim_places_by_id(sim, &at));
    for (int64_t i = 0; i < drive->before_count; i++)
        for (int a = 0; a < 3 && at[drive->id_before[i]] >= 0; a++)
            sim->particles.v[a][at[drive->id_before[i]]] = drive->velocity_before[3 * i + a];
    rp__base_free(at);
    forget_before(drive);
    return RP_CANCELLED;
}

/* max r / (r² + c²) = 1 / (2 c) and max r / (r² + c²)^(3/2) = 2 / (3 √3 c²) */
double rp__sim_force_bound(const rp_sim *sim)
{
    double sum = 0;
    for (int64_t f = 0; f < sim->drive.force_count; f++) {
        const rp_force_def *def = sim->drive.forces[f];
        if (def->kind == RP_FORCE_UNIFORM)
            sum += rp__vec3_norm(rp__vec3_load(def->vector));
        if (def->kind == RP_FORCE_VORTEX)
            sum += fabs(def->strength) / (2 * def->core);
        if (def->kind == RP_FORCE_ATTRACTOR)
            sum += fabs(def->strength) * 2 / (3 * sqrt(3) * def->core * def->core);
        if (def->kind == RP_FORCE_DRAG)
            sum += def->strength * rp__vec3_norm(rp__vec3_load(def->vector));
    }
    return sum;
}

/* ---- the actions ---- */

static rp_result check_force(const rp_sim *sim, const rp_force_def *def)
{
    const char *name = def->name ? def->name : "";
    RP_TRY(rp__sim_check_cookie(def->cookie, "force"));
    if ((unsigned)def->kind > RP_FORCE_CALLBACK)
        return rp__base_fail(RP_BAD_ARGUMENT, "force '%s' has no such kind (%d)", name, (int)def->kind);
    if (strlen(name) >= 64)
        return rp__base_fail(RP_BAD_ARGUMENT, "the name of force '%s' is longer than 63 bytes", name);
    RP_TRY(rp__sim_check_vector("the vector of a force", def->vector, 3));
    RP_TRY(rp__sim_check_vector("the point of a force", def->point, 3));
    RP_TRY(rp__sim_check_vector("the strength of a force", &def->strength, 1));
    RP_TRY(rp__sim_check_vector("the core of a force", &def->core, 1));
    bool centred = def->kind == RP_FORCE_VORTEX || def->kind == RP_FORCE_ATTRACTOR;
    if (centred && !(def->core > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "force '%s' has a core of %g m; it must be above 0, or the force is infinite at its centre", name,
                             def->core);
    if (def->kind == RP_FORCE_VORTEX && !(rp__vec3_norm(rp__vec3_load(def->vector)) > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "the vortex '%s' has no axis: its vector is 0", name);
    if (def->kind == RP_FORCE_DRAG && !(def->strength >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "the drag '%s' has a rate of %g 1/s; it must not be below 0", name, def->strength);
    return rp__sim_check_callback(sim, def);
}

static int64_t find_force(const rp_sim *sim, const char *name)
{
    for (int64_t f = 0; f < sim->drive.force_count; f++)
        if (strcmp(sim->drive.forces[f]->name, name) == 0)
            return f;
    return -1;
}

rp_result rp__sim_do_force_add(rp_sim *sim, rp__action *action)
{
    rp__sim_drive *drive = &sim->drive;
    rp_force_def *def = NULL;
    RP_TRY(check_force(sim, action->force));
    if (!*action->force->name)
        return rp__base_fail(RP_BAD_ARGUMENT, "a force needs a name, by which it can be removed");
    int64_t at = find_force(sim, action->force->name);
    if (at < 0 && !rp__base_grow(&drive->forces, &drive->force_capacity, drive->force_count + 1, sizeof *drive->forces))
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__action_copy_force(action->force, &def));
    if (at >= 0)
        rp__action_free_force(drive->forces[at]);
    drive->forces[at >= 0 ? at : drive->force_count++] = def;
    return RP_OK;
}

rp_result rp__sim_do_force_remove(rp_sim *sim, rp__action *action)
{
    rp__sim_drive *drive = &sim->drive;
    int64_t at = find_force(sim, action->parameter);
    if (at < 0)
        return rp__base_fail(RP_NOT_FOUND, "there is no force '%s'", action->parameter);
    rp__action_free_force(drive->forces[at]);
    drive->force_count--;
    memmove(drive->forces + at, drive->forces + at + 1, (size_t)(drive->force_count - at) * sizeof *drive->forces);
    return RP_OK;
}

rp_result rp__sim_do_kick(rp_sim *sim, rp__action *action)
{
    RP_TRY(check_force(sim, action->force));
    if (!(isfinite(action->value) && action->value >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "a kick of %g s; it must be a time, not below 0", action->value);
    apply(sim, action->force, action->value);
    return RP_OK;
}

void rp__sim_clear_forces(rp_sim *sim)
{
    while (sim->drive.force_count > 0)
        rp__action_free_force(sim->drive.forces[--sim->drive.force_count]);
}

static rp_result act_force(rp_sim *sim, const char *function, rp__action_kind kind, const rp_force_def *def, double seconds)
{
    RP_TRY(rp__sim_begin_action(sim, function, def));
    RP_TRY(rp__sim_check_cookie(def->cookie, "force")); /* before its pointers are followed */
    rp__action action = rp__action_make(kind);
    action.value = seconds;
    rp_result result = rp__action_copy_force(def, &action.force);
    if (result == RP_OK)
        result = check_force(sim, action.force); /* before it is written: the journal has no infinities here */
    if (result == RP_OK && !(isfinite(seconds) && seconds >= 0))
        result = rp__base_fail(RP_BAD_ARGUMENT, "a kick of %g s; it must be a time, not below 0", seconds);
    if (result == RP_OK)
        result = rp__sim_act(sim, &action);
    rp__action_free(&action);
    return result;
}

rp_result rp_sim_add_force(rp_sim *sim, const rp_force_def *def)
{
    return act_force(sim, "rp_sim_add_force", RP__ACTION_FORCE_ADD, def, 0);
}

rp_result rp_sim_kick(rp_sim *sim, const rp_force_def *def, double seconds)
{
    return act_force(sim, "rp_sim_kick", RP__ACTION_KICK, def, seconds);
}

rp_result rp_sim_remove_force(rp_sim *sim, const char *name)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_remove_force", name));
    rp__action action = rp__action_make(RP__ACTION_FORCE_REMOVE);
    if (strlen(name) >= sizeof action.parameter)
        return rp__base_fail(RP_NOT_FOUND, "there is no force '%s'", name);
    strcpy(action.parameter, name);
    return rp__sim_act(sim, &action);
}
