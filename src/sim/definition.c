/* Checking a definition before anything large is made from it, and keeping a copy. */
#include "base/error.h"
#include "base/param.h"
#include "grid/lattice.h"
#include "sim/settings.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

static const char *const face_names[6] = { "left (-x)",  "right (+x)",  "front (-y)",
                                           "back (+y)", "bottom (-z)", "top (+z)" };

static rp_result check_number(const char *what, double value, double least, double most)
{
    if (isfinite(value) && value >= least && value <= most)
        return RP_OK;
    return rp__base_fail(RP_BAD_ARGUMENT, "%s is %g; it must lie between %g and %g", what, value, least, most);
}

static rp_result check_finite(const char *what, const double v[3])
{
    for (int a = 0; a < 3; a++)
        if (!isfinite(v[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "%s has a component that is not a finite number", what);
    return RP_OK;
}

rp_result rp__sim_check_cookie(int cookie, const char *what)
{
    if (cookie == RP__SIM_COOKIE)
        return RP_OK;
    return rp__base_fail(RP_BAD_ARGUMENT, "a definition of %s was not made by rp_default_%s_def", what, what);
}

static rp_result check_domain(const rp_sim_def *def)
{
    if (def->dim != 2 && def->dim != 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "dimension is %d; it must be 2 or 3", def->dim);
    RP_TRY(check_number("cell_size", def->cell_size, 1e-9, 1e6));
    RP_TRY(check_finite("domain.lower", def->lower));
    RP_TRY(check_finite("domain.upper", def->upper));
    for (int a = 0; a < def->dim; a++) {
        double cells = (def->upper[a] - def->lower[a]) / def->cell_size;
        if (!(cells > 0.5))
            return rp__base_fail(RP_BAD_ARGUMENT, "the domain has no cell along %c: from %g to %g m with cells of %g m",
                                 "xyz"[a], def->lower[a], def->upper[a], def->cell_size);
        if (cells > RP_LATTICE_MAX_CELLS)
            return rp__base_fail(RP_TOO_LARGE, "the domain has %.3g cells along %c; at most %.3g are possible", cells,
                                 "xyz"[a], (double)RP_LATTICE_MAX_CELLS);
        if (fabs(cells - nearbyint(cells)) > 1e-6 * fmax(1, cells))
            return rp__base_fail(RP_BAD_ARGUMENT,
                                 "the domain is %g cells long along %c; it must be a whole number of cells (%g m or %g m)",
                                 cells, "xyz"[a], floor(cells) * def->cell_size, ceil(cells) * def->cell_size);
    }
    RP_TRY(check_finite("gravity", def->gravity));
    if (def->dim == 2 && def->gravity[2] != 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "gravity has a z component (%g m/s2) in a 2D scene; use y for the vertical",
                             def->gravity[2]);
    return RP_OK;
}

static rp_result check_walls(const rp_sim_def *def)
{
    for (int f = 0; f < 2 * def->dim; f++) {
        const rp_surface *wall = &def->wall[f];
        if ((unsigned)wall->kind > RP_PERIODIC)
            return rp__base_fail(RP_BAD_ARGUMENT, "wall %s has no such kind (%d)", face_names[f], (int)wall->kind);
        if ((wall->kind == RP_PERIODIC) != (def->wall[f ^ 1].kind == RP_PERIODIC))
            return rp__base_fail(RP_BAD_ARGUMENT, "wall %s is periodic and wall %s is not; both faces of an axis must be",
                                 face_names[wall->kind == RP_PERIODIC ? f : f ^ 1],
                                 face_names[wall->kind == RP_PERIODIC ? f ^ 1 : f]);
        int64_t cells = (int64_t)nearbyint((def->upper[f / 2] - def->lower[f / 2]) / def->cell_size);
        if (wall->kind == RP_PERIODIC && cells % RP_LATTICE_BLOCK)
            return rp__base_fail(RP_BAD_ARGUMENT, "a periodic axis needs a multiple of %d cells; %c has %lld",
                                 RP_LATTICE_BLOCK, "xyz"[f / 2], (long long)cells);
        RP_TRY(check_number("wall friction", wall->friction, 0, 1e6));
        RP_TRY(check_number("wall adhesion", wall->adhesion, 0, 1e12));
    }
    return RP_OK;
}

static rp_result check_materials(const rp_sim_def *def)
{
    for (int m = 0; m < def->material_count; m++) {
        RP_TRY(rp__sim_check_cookie(def->materials[m].cookie, "material"));
        rp_result result = rp__param_check(rp_material_table(), &def->materials[m]);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "material '%s': ", def->materials[m].name ? def->materials[m].name : "");
    }
    for (int k = 0; k < def->material_key_count; k++) {
        const rp_material_key *key = &def->material_keys[k];
        const rp_param *entry = rp__param_find(rp_material_table(), key->parameter);
        if (key->material < 0 || key->material >= def->material_count)
            return rp__base_fail(RP_BAD_ARGUMENT, "keyed parameter '%s' names material %d of %d", key->parameter,
                                 key->material, def->material_count);
        if (!entry)
            return rp__param_unknown(rp_material_table(), key->parameter);
        if (entry->type != RP_REAL || key->count < 1)
            return rp__base_fail(RP_BAD_ARGUMENT, "material parameter '%s' cannot be keyed, or has no keys", key->parameter);
        for (int i = 0; i < key->count; i++) {
            RP_TRY(check_number(key->parameter, key->values[i], entry->least, entry->most));
            if (!isfinite(key->times[i]) || (i && !(key->times[i] > key->times[i - 1])))
                return rp__base_fail(RP_BAD_ARGUMENT, "the key times of '%s' must increase", key->parameter);
        }
    }
    return RP_OK;
}

static rp_result check_source(const rp_sim_def *def, const char *kind, const char *name, const rp_shape *shape,
                              int material, double per_cell, double fill)
{
    if (!shape)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s '%s' has no shape", kind, name);
    if (material < 0 || material >= def->material_count)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s '%s' names material %d; there are %d", kind, name, material,
                             def->material_count);
    RP_TRY(check_number("per_cell", per_cell, 1e-3, 1e6));
    return check_number("fill", fill, 1e-6, 1);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

rp_result rp__sim_check_grains(const rp_sim_def *def, const rp_grains_def *d)
{
    RP_TRY(rp__sim_check_cookie(d->cookie, "grains"));
    RP_TRY(check_source(def, "grains", or_empty(d->name), d->shape, d->material, d->per_cell, d->fill));
    RP_TRY(check_finite("velocity of grains", d->velocity));
    RP_TRY(check_finite("angular_velocity of grains", d->angular_velocity));
    if ((unsigned)d->sampling > RP_POISSON)
        return rp__base_fail(RP_BAD_ARGUMENT, "grains '%s' have no such sampling (%d)", or_empty(d->name), (int)d->sampling);
    return check_finite("pivot of grains", d->pivot);
}

static rp_result check_body_kinds(const rp_body_def *d)
{
    if ((unsigned)d->kind > RP_BODY_FREE || (unsigned)d->joint > RP_JOINT_SLIDER || (unsigned)d->motor > RP_MOTOR_SPEED)
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s' has no such kind, joint or motor (%d, %d, %d)", or_empty(d->name), (int)d->kind,
                             (int)d->joint, (int)d->motor);
    if ((unsigned)d->surface.kind > RP_FRICTIONAL)
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s': a body's surface is stick, slip or frictional", or_empty(d->name));
    return RP_OK;
}

rp_result rp__sim_check_body(const rp_body_def *d)
{
    RP_TRY(rp__sim_check_cookie(d->cookie, "body"));
    if (!d->shape && !d->sequence)
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s' has no shape", or_empty(d->name));
    if (d->sequence && (d->shape || d->kind == RP_BODY_FREE))
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s' is a mesh sequence: it has no other shape and cannot be free",
                             or_empty(d->name));
    RP_TRY(check_body_kinds(d));
    RP_TRY(check_number("friction of a body", d->surface.friction, 0, 1e6));
    RP_TRY(check_number("adhesion of a body", d->surface.adhesion, 0, 1e12));
    RP_TRY(check_finite("position of a body", d->position));
    RP_TRY(check_finite("rotation of a body", d->rotation));
    RP_TRY(check_finite("velocity of a body", d->velocity));
    RP_TRY(check_finite("angular_velocity of a body", d->angular_velocity));
    RP_TRY(check_finite("force on a body", d->force));
    RP_TRY(check_finite("torque on a body", d->torque));
    if (d->kind == RP_BODY_FREE && d->motion)
        return rp__base_fail(RP_BAD_ARGUMENT, "body '%s' is free and has a motion; it can have only one of them",
                             or_empty(d->name));
    return RP_OK;
}

static rp_result check_contents(const rp_sim_def *def)
{
    for (int g = 0; g < def->grains_count; g++)
        RP_TRY(rp__sim_check_grains(def, &def->grains[g]));
    for (int e = 0; e < def->emitter_count; e++) {
        const rp_emitter_def *d = &def->emitters[e];
        RP_TRY(rp__sim_check_cookie(d->cookie, "emitter"));
        RP_TRY(check_source(def, "emitter", or_empty(d->name), d->shape, d->material, d->per_cell, d->fill));
        RP_TRY(check_finite("velocity of an emitter", d->velocity));
        RP_TRY(check_number("rate of an emitter", d->rate, 0, 1e12));
    }
    for (int s = 0; s < def->sink_count; s++)
        RP_TRY(rp__sim_check_cookie(def->sinks[s].cookie, "sink"));
    for (int s = 0; s < def->sink_count; s++)
        if (!def->sinks[s].shape)
            return rp__base_fail(RP_BAD_ARGUMENT, "sink '%s' has no shape", or_empty(def->sinks[s].name));
    for (int b = 0; b < def->body_count; b++)
        RP_TRY(rp__sim_check_body(&def->bodies[b]));
    return RP_OK;
}

static rp_result check_time(const rp_sim_def *def)
{
#define NUMBER(member, type, initial, least, most, unit, help) RP_TRY(check_number(#member, (double)def->member, least, most));
#define CHOICE(member, type, initial, last, help, choices) RP_TRY(check_number(#member, (double)def->member, 0, last));
    RP__SIM_SETTINGS(NUMBER, NUMBER, CHOICE)
#undef NUMBER
#undef CHOICE
    if (def->dt_max > 0 && def->dt_min > def->dt_max)
        return rp__base_fail(RP_BAD_ARGUMENT, "dt_min (%g s) is larger than dt_max (%g s)", def->dt_min, def->dt_max);
    return RP_OK;
}

/* A surface: told once, inside the domain, and open faces open to the air. */
static rp_result check_surface(const rp_sim_def *def)
{
    static const char axes[] = "xyz";
    const rp_fluid_def *fluid = def->fluid;
    int up = def->dim - 1;
    for (int a = 0; a < def->dim; a++)
        up = fabs(def->gravity[a]) > fabs(def->gravity[up]) ? a : up;
    if (fluid->fill && !isnan(fluid->level))
        return rp__base_fail(RP_BAD_ARGUMENT, "the fluid has a level and a shape to fill: give one of them");
    if (!isnan(fluid->level) && !(fluid->level > def->lower[up] && fluid->level < def->upper[up]))
        return rp__base_fail(RP_BAD_ARGUMENT, "the level of the fluid is %g m, but the domain reaches from %g to %g m along %c: a level lies between "
                                              "(without one the fluid fills the domain)",
                             fluid->level, def->lower[up], def->upper[up], axes[up]);
    for (int f = 0; f < 2 * def->dim; f++)
        if (fluid->wall[f].kind == RP_FLUID_PRESSURE && fluid->wall[f].pressure != 0 && rp_fluid_has_surface(fluid))
            return rp__base_fail(RP_BAD_ARGUMENT, "fluid wall %s has a pressure of %g Pa, but a fluid with a surface meets the air there: its open faces "
                                                  "have pressure 0",
                                 face_names[f], fluid->wall[f].pressure);
    return RP_OK;
}

/* A fluid that comes in must be able to leave, if it fills the domain. */
static rp_result check_fluid(const rp_sim_def *def)
{
    if (!def->fluid)
        return RP_OK;
    RP_TRY(rp__sim_check_cookie(def->fluid->cookie, "fluid"));
    rp_result result = rp__param_check(rp_fluid_table(), def->fluid);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "fluid: ");
    double in = 0, all = 0;
    bool open = false;
    for (int f = 0; f < 2 * def->dim; f++) {
        const rp_fluid_wall *wall = &def->fluid->wall[f];
        result = rp__param_check(rp_fluid_wall_table(), wall);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "fluid wall %s: ", face_names[f]);
        if (def->wall[f].kind == RP_PERIODIC)
            continue;
        open = open || wall->kind == RP_FLUID_PRESSURE || (wall->kind == RP_FLUID_AUTO && def->wall[f].kind == RP_OPEN);
        if (wall->kind != RP_FLUID_VELOCITY)
            continue;
        double area = 1, through = wall->velocity[f / 2];
        for (int a = 0; a < def->dim; a++)
            area *= a == f / 2 ? 1 : def->upper[a] - def->lower[a];
        in += (f & 1 ? -1 : 1) * area * through;
        all += fabs(area * through);
    }
    RP_TRY(check_surface(def));
    if (!open && !rp_fluid_has_surface(def->fluid) && fabs(in) > 1e-9 * all)
        return rp__base_fail(RP_BAD_ARGUMENT, "%g m%d of fluid a second come into a domain that is full of it and has no open face: "
                                              "give a face 'pressure', or let as much leave",
                             in, def->dim);
    return RP_OK;
}

rp_result rp__sim_check(const rp_sim_def *def)
{
    RP_TRY(rp__sim_check_cookie(def->cookie, "sim"));
    RP_TRY(check_domain(def));
    RP_TRY(check_walls(def));
    RP_TRY(check_materials(def));
    RP_TRY(check_contents(def));
    RP_TRY(check_fluid(def));
    RP_TRY(check_time(def));
    RP_TRY(rp__method_check_kernels());
    const rp__method *method = rp__method_by_name(def->method ? def->method : "");
    if (!method)
        return rp__base_fail(RP_NOT_FOUND, "there is no method '%s'", def->method ? def->method : "");
    if (!(method->dims & 1 << def->dim))
        return rp__base_fail(RP_UNSUPPORTED, "method '%s' does not run in %dD", method->info.name, def->dim);
    RP_TRY(rp__sim_check_fibres(def, method));
    if (def->method_params) {
        rp_result result = rp__param_check(method->info.params, def->method_params);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "method '%s': ", method->info.name);
    }
    return RP_OK;
}

/* ---- the copy ---- */

static void *copy_bytes(rp_sim *sim, const void *from, size_t size)
{
    void *to = rp__arena_alloc(&sim->arena, size);
    if (to && size)
        memcpy(to, from, size);
    return to;
}

static bool copy_name(rp_sim *sim, const char **name)
{
    *name = copy_bytes(sim, or_empty(*name), strlen(or_empty(*name)) + 1);
    return *name != NULL;
}

#define COPY_ARRAY(member, count_member) \
    copy_bytes(sim, def->member, (size_t)def->count_member * sizeof *def->member)

static rp_result copy_materials(rp_sim *sim, const rp_sim_def *def)
{
    rp_material_def *materials = COPY_ARRAY(materials, material_count);
    rp_material_def *now = COPY_ARRAY(materials, material_count);
    rp_material_key *keys = COPY_ARRAY(material_keys, material_key_count);
    if (!materials || !now || !keys)
        return RP_OUT_OF_MEMORY;
    for (int m = 0; m < def->material_count; m++) {
        rp_material_def *d = &materials[m];
        d->name = copy_bytes(sim, or_empty(d->name), strlen(or_empty(d->name)) + 1);
        d->colour = copy_bytes(sim, or_empty(d->colour), strlen(or_empty(d->colour)) + 1);
        if (!d->name || !d->colour)
            return RP_OUT_OF_MEMORY;
        if (d->bulk_density > 0)
            d->density = d->bulk_density / d->volume_fraction;
        now[m] = *d;
    }
    for (int k = 0; k < def->material_key_count; k++) {
        keys[k].times = copy_bytes(sim, keys[k].times, (size_t)keys[k].count * sizeof(double));
        keys[k].values = copy_bytes(sim, keys[k].values, (size_t)keys[k].count * sizeof(double));
        if (!keys[k].times || !keys[k].values || !copy_name(sim, &keys[k].parameter))
            return RP_OUT_OF_MEMORY;
    }
    sim->def.materials = materials;
    sim->def.material_keys = keys;
    sim->materials = now;
    return RP_OK;
}

rp_result rp__sim_copy_definition(rp_sim *sim, const rp_sim_def *def)
{
    sim->def = *def;
    sim->def.grains_count = sim->def.emitter_count = sim->def.sink_count = sim->def.body_count = 0;
    RP_TRY(copy_materials(sim, def));
    if (def->fluid) {
        sim->def.fluid = copy_bytes(sim, def->fluid, sizeof *def->fluid);
        if (!sim->def.fluid)
            return RP_OUT_OF_MEMORY;
    }
    RP_TRY(rp__sim_copy_fibres(sim, def));
    rp_grains_def *grains = COPY_ARRAY(grains, grains_count);
    rp_emitter_def *emitters = COPY_ARRAY(emitters, emitter_count);
    rp_sink_def *sinks = COPY_ARRAY(sinks, sink_count);
    rp_body_def *bodies = COPY_ARRAY(bodies, body_count);
    if (!grains || !emitters || !sinks || !bodies)
        return RP_OUT_OF_MEMORY;
    sim->def.grains = grains;
    sim->def.emitters = emitters;
    sim->def.sinks = sinks;
    sim->def.bodies = bodies;
    if (def->folder && !copy_name(sim, &sim->def.folder))
        return RP_OUT_OF_MEMORY;
    /* Names first: nothing is retained until nothing can fail. */
    for (int i = 0; i < def->grains_count; i++)
        if (!copy_name(sim, &grains[i].name))
            return RP_OUT_OF_MEMORY;
    for (int i = 0; i < def->emitter_count; i++)
        if (!copy_name(sim, &emitters[i].name))
            return RP_OUT_OF_MEMORY;
    for (int i = 0; i < def->sink_count; i++)
        if (!copy_name(sim, &sinks[i].name))
            return RP_OUT_OF_MEMORY;
    for (int i = 0; i < def->body_count; i++)
        if (!copy_name(sim, &bodies[i].name))
            return RP_OUT_OF_MEMORY;
    for (int i = 0; i < def->grains_count; i++)
        rp_shape_retain(grains[i].shape);
    for (int i = 0; i < def->emitter_count; i++)
        rp_shape_retain(emitters[i].shape);
    for (int i = 0; i < def->sink_count; i++)
        rp_shape_retain(sinks[i].shape);
    sim->def.grains_count = def->grains_count;
    sim->def.emitter_count = def->emitter_count;
    sim->def.sink_count = def->sink_count;
    sim->def.body_count = def->body_count; /* bodies retain theirs in rp__body_init */

    sim->def.method = sim->method->info.name;
    sim->params = rp__arena_alloc(&sim->arena, sim->method->params_size);
    if (!sim->params)
        return RP_OUT_OF_MEMORY;
    memset(sim->params, 0, sim->method->params_size);
    if (def->method_params)
        RP_TRY(rp__param_copy(sim->method->info.params, sim->params, def->method_params));
    else
        rp__param_defaults(sim->method->info.params, sim->params);
    sim->def.method_params = sim->params;
    return RP_OK;
}

void rp__sim_release_definition(rp_sim *sim)
{
    for (int i = 0; i < sim->def.grains_count; i++)
        rp_shape_release(sim->def.grains[i].shape);
    for (int i = 0; i < sim->def.emitter_count; i++)
        rp_shape_release(sim->def.emitters[i].shape);
    for (int i = 0; i < sim->def.sink_count; i++)
        rp_shape_release(sim->def.sinks[i].shape);
    if (sim->params)
        rp__param_free(sim->method->info.params, sim->params);
}
