/* The method `contact`: rigid grains and elastic fibres one by one, with Coulomb's law at every contact. */
#include "contact/contact.h"

#include "contact/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "exec/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(rp__contact_params, member)

static const rp_param table[] = {
    { "elements", RP_ENUM, AT(elements), RP_CONTACT_SPHERES, 0, 1, "", "what grains are (in 2D: discs)", "spheres|capsules" },
    { "aspect", RP_REAL, AT(aspect), 2, 1, 100, "", "length of a capsule over its diameter", NULL },
    { "diameter", RP_REAL, AT(diameter), 0, 0, 1e3, "m", "mean diameter of the grains; 0: the largest that fits where they are placed", NULL },
    { "sizes", RP_ENUM, AT(sizes), RP_CONTACT_SAME, 0, 3, "", "how diameters differ", "same|uniform|gaussian|sieve" },
    { "spread", RP_REAL, AT(spread), 0.1, 0, 0.9, "", "half width (uniform) or standard deviation (gaussian, cut at two of them) over the mean", NULL },
    { "sieve", RP_TEXT, AT(sieve), 0, 0, 0, "", "sieve curve: sizes with the part of the volume that passes, '1 mm 0, 2 mm 0.6, 4 mm 1'", "" },
    { "restitution", RP_REAL, AT(restitution), 0, 0, 1, "", "normal speed kept in an impact of grains", NULL },
    { "rolling_friction", RP_REAL, AT(rolling_friction), 0, 0, 10, "", "moment that resists rolling, over normal force and radius", NULL },
    { "push", RP_REAL, AT(push), 0.2, 0, 1, "", "part of an overlap that is taken away in a step, by displacements without speed", NULL },
    { "overlap", RP_REAL, AT(overlap), 1e-3, 0, 1, "",
      "distance, over the radius, within which surfaces touch, apart or overlapping: nothing is asked to close or to part", NULL },
    { "tolerance", RP_REAL, AT(tolerance), 1e-4, 1e-14, 1, "", "mean residual of Coulomb's law that is accepted, relative", NULL },
    { "tolerance_max", RP_REAL, AT(tolerance_max), 1e-3, 1e-14, 10, "", "largest residual that is accepted, relative", NULL },
    { "max_iterations", RP_INT, AT(max_iterations), 1000, 1, 1e9, "", "sweeps or iterations at most", NULL },
    { "solver", RP_ENUM, AT(solver), RP_FRICTION_AUTO, 0, RP_FRICTION_SOLVER_COUNT - 1, "", "solver of the friction library",
      "auto|gs|gs-coloured|gs-focused|pg|apgd|spg|cadoux|admm" },
    { "local_solver", RP_ENUM, AT(local_solver), RP_FRICTION_CONTACT_SCALAR, 0, RP_FRICTION_CONTACT_COUNT - 1, "", "how one contact is solved",
      "scalar|newton|enumeration|hybrid" },
    { "warm_start", RP_BOOL, AT(warm_start), 1, 0, 1, "", "start from the impulses of the last step", NULL },
    { "passes", RP_INT, AT(passes), 4, 1, 100, "", "times at most that contacts which appear in a step are added and solved for again", NULL },
    { "dump_problems", RP_INT, AT(dump_problems), 0, 0, 1e9, "", "write the friction problems of so many steps, from the first on, in FCLIB form", NULL },
    { "dump_every", RP_INT, AT(dump_every), 1, 1, 1e9, "", "steps from one written problem to the next", NULL },
    { "dump_folder", RP_TEXT, AT(dump_folder), 0, 0, 0, "", "where to write them, in the folder of the run", "problems" },
    { 0 },
};

static const rp_field_info fields[] = {
    { "radius", RP_F64, 1, "m", 1 },
    { "spin", RP_F64, 3, "rad/s", 1 },
    { "axis", RP_F64, 3, "", 1 },
    { "fixed", RP_F64, 1, "", 1 },
    { 0 },
};

static const char *const extra_names[] = { "contacts", "penetration_worst", "penetration_mean", "missed", "rotation_energy", "fibre_kinetic",
                                           "fibre_elastic", "fibre_potential", "fibre_stretch", NULL };
static const char *const phase_names[] = { "free", "find", "assemble", "solve", "separate", "move", NULL };

/* ---- life ---- */

static void destroy(void *self)
{
    rp__contact_state *s = self;
    rp__contact_free_fibres(s);
    rp__contact_free_system(&s->system);
    rp__collide_grid_destroy(s->grid);
    rp__base_free(s->boxes);
    rp__base_free(s->candidates);
    rp__base_free(s->memory);
    rp__base_free(s);
}

static rp_result check(const rp__world *world)
{
    const rp__contact_params *par = world->params;
    const rp_sim_def *def = world->def;
    if (par->sizes == RP_CONTACT_SIEVE)
        RP_TRY(rp__contact_check_sieve(par->sieve));
    for (int d = 0; d < def->fibres_count; d++)
        for (int e = 0; e < 2; e++) {
            int body = e == 0 ? def->fibres[d].body : def->fibres[d].tip_body;
            if (body >= 0 && def->bodies[body].kind == RP_BODY_FREE)
                return rp__base_fail(RP_UNSUPPORTED, "fibres '%s' are fixed to body '%s', which is free; they can be fixed to scripted bodies only",
                                     def->fibres[d].name, def->bodies[body].name);
        }
    return RP_OK;
}

static rp_result create(rp__world *world, int first_field, void **out)
{
    RP_TRY(check(world));
    rp__contact_state *s = RP_NEW(rp__contact_state);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->params = world->params;
    s->first_field = first_field;
    s->dim = world->def->dim;
    rp_result result = rp__collide_grid_create(&s->grid);
    if (result == RP_OK)
        result = rp__contact_make_fibres(s, world);
    if (result != RP_OK) {
        destroy(s);
        return result;
    }
    *out = s;
    return RP_OK;
}

static rp_result born(void *self, rp__world *world, int64_t first, int64_t count, double spacing)
{
    rp__contact_state *s = self;
    return rp__contact_born(world, s->first_field, first, count, spacing);
}

/* ---- the end of a step ---- */

static rp__vec3 impulse_of(const rp__contact_system *y, int64_t i)
{
    rp__vec3 sum = { 0, 0, 0 };
    for (int k = 0; k < y->dim; k++)
        sum = rp__vec3_axpy(y->r[i * y->width + k], y->axis[i][k], sum);
    return sum;
}

/* Where a contact is: on the grain or fibre that is its first end. */
static rp__vec3 place_of(const rp__contact_state *s, const rp__world *world, const rp__contact_candidate *c)
{
    if (rp__contact_is_fibre(s, c->end[0].object)) {
        const rp__rod *rod = rp__contact_fibre_of(s, c->end[0].object)->rod;
        rp__vec3 x = rp__rod_node(rod, c->end[0].part);
        if (c->end[0].place > 0)
            x = rp__vec3_axpy(c->end[0].place, rp__vec3_sub(rp__rod_node(rod, c->end[0].part + 1), x), x);
        return rp__vec3_add(x, c->end[0].arm);
    }
    const rp__particles *p = world->particles;
    int32_t g = c->end[0].object;
    return rp__vec3_add(rp__vec3_make(p->x[0][g], p->x[1][g], p->x[2][g]), c->end[0].arm);
}

/* Arm of a place on a body that moves as told, the mean over the step: force · velocity + torque · omega is then the work that it does. */
static rp__vec3 mean_arm(const rp__body *body, rp__vec3 x, double dt)
{
    rp__vec3 begin = rp__body_arm(body, x), way = rp__vec3_sub(rp__body_carried(body, x, dt), x);
    rp__vec3 own = rp__vec3_sub(body->pose_next.position, body->pose.position);
    return rp__vec3_axpy(0.5, rp__vec3_sub(way, own), begin);
}

/* What walls and bodies felt. */
static void report_forces(rp__contact_state *s, rp__world *world, double dt)
{
    const rp__contact_system *y = &s->system;
    for (int b = 0; b < world->body_count; b++)
        world->bodies[b].force = world->bodies[b].torque = rp__vec3_make(0, 0, 0);
    for (int64_t i = 0; i < y->count; i++) {
        const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
        rp__vec3 force = rp__vec3_scale(-1 / dt, impulse_of(y, i));
        if (c->wall >= 0) {
            world->wall_force[c->wall][0] += force.x;
            world->wall_force[c->wall][1] += force.y;
            world->wall_force[c->wall][2] += force.z;
        }
        if (c->body >= 0) {
            rp__body *body = &world->bodies[c->body];
            rp__vec3 arm = c->end[1].object != NOTHING ? c->end[1].arm : mean_arm(body, place_of(s, world, c), dt);
            body->force = rp__vec3_add(body->force, force);
            body->torque = rp__vec3_add(body->torque, rp__vec3_cross(arm, force));
        }
        if (c->body >= 0 || (c->wall >= 0 && world->touches)) {
            double at[3], n[3], on[3];
            rp__vec3_store(at, place_of(s, world, c));
            rp__vec3_store(n, y->axis[i][0]);
            rp__vec3_store(on, force);
            rp__sim_tell_contact(world, c->body >= 0 ? 6 + c->body : c->wall, i, at, n, on, dt);
        }
    }
}

static int by_key(const void *a, const void *b)
{
    return rp__collide_compare(&((const rp__collide_record *)a)->key, &((const rp__collide_record *)b)->key);
}

/* Impulses of contacts, and on which side of each other segments are that came near. */
static rp_result keep_memory(rp__contact_state *s)
{
    const rp__contact_system *y = &s->system;
    s->memory_count = 0;
    if (!rp__base_grow(&s->memory, &s->memory_capacity, s->candidate_count, sizeof *s->memory))
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < s->candidate_count; k++) {
        const rp__contact_candidate *c = &s->candidates[k];
        rp__collide_record record = { c->key, { 0, 0, 0 }, { 0, 0, 0 }, c->side };
        if (c->contact >= 0) {
            rp__vec3_store(record.impulse, impulse_of(y, c->contact));
            for (int a = y->dim; a < y->width; a++)
                record.moment[y->dim == 2 ? 2 : a - y->dim] = y->roll[c->contact].radius * y->r[c->contact * y->width + a];
        }
        if (c->side != 0 || record.impulse[0] != 0 || record.impulse[1] != 0 || record.impulse[2] != 0)
            s->memory[s->memory_count++] = record;
    }
    if (s->memory_count > 1)
        qsort(s->memory, (size_t)s->memory_count, sizeof *s->memory, by_key);
    return RP_OK;
}

/* A capsule without forces: L stays, the axis turns about it at the rate |L| / I_across, exactly; then omega = I⁻¹ L at the new axis. */
static void turn_grain(const rp__contact_grains *g, int64_t i, double dt)
{
    rp__vec3 spin = { g->spin[0][i], g->spin[1][i], g->spin[2][i] }, l = rp__contact_angular_momentum(g, i, spin);
    rp__vec3 axis = { g->axis[0][i], g->axis[1][i], g->axis[2][i] };
    double along, across, out[3];
    rp__contact_inertia(g, i, &along, &across);
    axis = rp__quat_rotate(rp__quat_from_vector(rp__vec3_scale(dt / across, l)), axis);
    rp__vec3_store(out, rp__vec3_unit(axis, axis));
    for (int a = 0; a < 3; a++)
        g->axis[a][i] = out[a];
    rp__vec3_store(out, rp__contact_turn(g, i, l));
    for (int a = 0; a < 3; a++)
        g->spin[a][i] = out[a];
}

/* Turns a capsule by what parts it from others; its spin about the axis and across it stays. */
static void shift_axis(const rp__contact_grains *g, int64_t i, rp__vec3 turn)
{
    if (g->slenderness <= 0 || rp__vec3_dot(turn, turn) == 0)
        return;
    rp__quat q = rp__quat_from_vector(turn);
    for (int k = 0; k < 2; k++) {
        double *const *to = k == 0 ? g->axis : g->spin, out[3];
        rp__vec3 a = rp__quat_rotate(q, rp__vec3_make(to[0][i], to[1][i], to[2][i]));
        rp__vec3_store(out, k == 0 ? rp__vec3_unit(a, a) : a);
        for (int c = 0; c < 3; c++)
            to[c][i] = out[c];
    }
}

static void move_grains(rp__contact_state *s, rp__world *world, double dt)
{
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    const double *v = s->system.velocity, *shift = s->system.shift;
    for (int64_t i = 0; i < g.count; i++) {
        for (int a = 0; a < s->dim; a++) {
            g.v[a][i] = v[6 * i + a];
            g.x[a][i] += dt * (v[6 * i + a] + shift[6 * i + a]);
        }
        for (int a = 0; a < 3; a++)
            g.spin[a][i] = v[6 * i + 3 + a];
        turn_grain(&g, i, dt);
        shift_axis(&g, i, rp__vec3_scale(dt, rp__vec3_load(shift + 6 * i + 3)));
    }
}

static rp_result move_fibres(rp__contact_state *s, double dt)
{
    for (int64_t k = 0; k < s->fibre_count; k++) {
        rp__contact_fibre *f = &s->fibres[k];
        int n = rp__rod_unknowns(f->rod);
        double *step = s->system.product + f->first;
        memcpy(f->rod->velocity, s->system.velocity + f->first, (size_t)n * sizeof *step);
        for (int i = 0; i < n; i++)
            step[i] = dt * (f->rod->velocity[i] + s->system.shift[f->first + i]);
        if (!rp__rod_move(f->rod, step))
            return rp__base_fail(RP_DIVERGED, "fibre %lld of '%s' has a segment that vanished or turned over within one step; a smaller dt_max may help",
                                 (long long)k, f->def->name);
    }
    return RP_OK;
}

static void extra(rp_step_stats *stats, const char *name, double value)
{
    stats->extra_name[stats->extra_count] = name;
    stats->extra[stats->extra_count++] = value;
}

static void fill_stats(rp__contact_state *s, const rp__world *world, double dt, rp_step_stats *stats)
{
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    double worst = 0, sum = 0, rotation = 0, kinetic = 0, elastic = 0, potential = 0, stretched = 0;
    int64_t overlaps = 0, missed = 0;
    for (int64_t k = 0; k < s->candidate_count; k++) {
        const rp__contact_candidate *c = &s->candidates[k];
        double depth = -c->gap / c->size;
        if (depth > 0) {
            worst = fmax(worst, depth);
            sum += depth;
            overlaps++;
        }
        missed += c->contact < 0 && c->gap + dt * rp__contact_closing(s, world, c, s->system.velocity) < -1e-2 * c->size;
    }
    for (int64_t i = 0; i < g.count; i++) {
        rp__vec3 spin = { g.spin[0][i], g.spin[1][i], g.spin[2][i] };
        rotation += 0.5 * rp__vec3_dot(spin, rp__contact_angular_momentum(&g, i, spin));
    }
    for (int64_t k = 0; k < s->fibre_count; k++) {
        const rp__rod *rod = s->fibres[k].rod;
        kinetic += rp__rod_kinetic(rod);
        elastic += rp__rod_energy(rod);
        for (int i = 0; i <= rod->edges; i++)
            potential -= rod->mass[4 * i] * rp__vec3_dot(rp__vec3_load(world->def->gravity), rp__rod_node(rod, i));
        for (int j = 0; j < rod->edges; j++)
            stretched = fmax(stretched, rp__rod_strain_of_edge(rod, j));
    }
    stats->nodes = s->segments + s->fibre_count;
    extra(stats, "contacts", (double)s->system.count);
    extra(stats, "penetration_worst", worst);
    extra(stats, "penetration_mean", overlaps ? sum / (double)overlaps : 0);
    extra(stats, "missed", (double)missed);
    extra(stats, "rotation_energy", rotation);
    extra(stats, "fibre_kinetic", kinetic);
    extra(stats, "fibre_elastic", elastic);
    extra(stats, "fibre_potential", potential);
    extra(stats, "fibre_stretch", stretched);
}

static rp_result step(void *self, rp__world *world, double dt, rp_step_stats *stats)
{
    rp__contact_state *s = self;
    double t = rp__base_seconds();
    RP_TRY(rp__contact_prepare(s, world, dt));
    RP_LAP(&world->phases, "free", t);
    RP_TRY(rp__contact_find(s, world, dt));
    RP_LAP(&world->phases, "find", t);
    RP_TRY(rp__contact_solve(s, world, dt, stats));
    RP_TRY(rp__sim_given_up(world)); /* what follows changes the grains */
    t = rp__base_seconds();
    report_forces(s, world, dt);
    RP_TRY(keep_memory(s));
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        if (!body->present || body->def.kind != RP_BODY_FREE)
            continue;
        const double *v = s->system.velocity + 6 * (world->particles->count + b), *shift = s->system.shift + 6 * (world->particles->count + b);
        body->velocity = rp__vec3_load(v);
        body->omega = rp__vec3_load(v + 3);
        body->shift = rp__vec3_add(body->shift, rp__vec3_load(shift));
        body->turn = rp__vec3_add(body->turn, rp__vec3_load(shift + 3));
        rp__body_predict(body, dt);
    }
    move_grains(s, world, dt);
    RP_TRY(move_fibres(s, dt));
    s->steps++;
    fill_stats(s, world, dt, stats);
    RP_LAP(&world->phases, "move", t);
    return RP_OK;
}

/* ---- saving ---- */

static rp_result save(const void *self, const rp__world *world, rp_state *out)
{
    const rp__contact_state *s = self;
    (void)world;
    int64_t counts[2] = { s->dumped, s->steps };
    RP_TRY(rp_state_add(out, "contact/counts", RP_I64, 2, counts));
    int64_t *names = RP_NEW_ARRAY(int64_t, 4 * s->memory_count);
    double *impulses = RP_NEW_ARRAY(double, 6 * s->memory_count);
    rp_result result = names && impulses ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < s->memory_count && result == RP_OK; k++) {
        const rp__collide_record *r = &s->memory[k];
        names[4 * k] = (int64_t)r->key.a;
        names[4 * k + 1] = (int64_t)r->key.b;
        names[4 * k + 2] = (int64_t)r->key.slot;
        names[4 * k + 3] = r->side;
        memcpy(impulses + 6 * k, r->impulse, sizeof r->impulse);
        memcpy(impulses + 6 * k + 3, r->moment, sizeof r->moment);
    }
    if (result == RP_OK)
        result = rp_state_add(out, "contact/pairs", RP_I64, 4 * s->memory_count, names);
    if (result == RP_OK)
        result = rp_state_add(out, "contact/impulses", RP_F64, 6 * s->memory_count, impulses);
    rp__base_free(names);
    rp__base_free(impulses);
    return result == RP_OK ? rp__contact_save_fibres(s, out) : result;
}

static rp_result restore(void *self, rp__world *world, const rp_state *in)
{
    rp__contact_state *s = self;
    const rp_blob *counts = rp_state_find(in, "contact/counts"), *pairs = rp_state_find(in, "contact/pairs");
    const rp_blob *impulses = rp_state_find(in, "contact/impulses");
    if (!counts || !pairs || !impulses || counts->type != RP_I64 || counts->count != 2 || pairs->type != RP_I64 || pairs->count % 4 ||
        impulses->type != RP_F64 || impulses->count / 6 != pairs->count / 4 || impulses->count % 6)
        return rp__base_fail(RP_BAD_FILE, "the checkpoint holds no contacts, or damaged ones");
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    for (int64_t i = 0; i < g.count; i++)
        if (!(g.radius[i] > 0) || !(g.mass[i] > 0))
            return rp__base_fail(RP_BAD_FILE, "the checkpoint has a grain without radius or mass");
    RP_TRY(rp__contact_restore_fibres(s, in));
    int64_t count = pairs->count / 4;
    const int64_t *names = pairs->data;
    if (!rp__base_grow(&s->memory, &s->memory_capacity, count, sizeof *s->memory))
        return RP_OUT_OF_MEMORY;
    s->memory_count = count;
    for (int64_t k = 0; k < count; k++) {
        rp__collide_record *r = &s->memory[k];
        r->key = (rp__collide_key){ (uint64_t)names[4 * k], (uint64_t)names[4 * k + 1], (uint64_t)names[4 * k + 2] };
        r->side = names[4 * k + 3];
        memcpy(r->impulse, (const double *)impulses->data + 6 * k, sizeof r->impulse);
        memcpy(r->moment, (const double *)impulses->data + 6 * k + 3, sizeof r->moment);
        if (r->side < -1 || r->side > 1 || (k && rp__collide_compare(&r[-1].key, &r->key) >= 0)) {
            s->memory_count = 0;
            return rp__base_fail(RP_BAD_FILE, "the contacts of the checkpoint are not in order");
        }
    }
    s->dumped = ((const int64_t *)counts->data)[0];
    s->steps = ((const int64_t *)counts->data)[1];
    return RP_OK;
}

const rp__method rp__contact_method = {
    .info = { .name = "contact",
              .summary = "grains one by one (spheres, capsules) and elastic fibres, with exact Coulomb friction at every contact",
              .params = table,
              .fields = fields,
              .extras = extra_names,
              .phases = phase_names },
    .params_size = sizeof(rp__contact_params),
    .dims = 1 << 2 | 1 << 3,
    .fixes_grains = true,
    .single_grains = true,
    .solves_bodies = true,
    .create = create,
    .destroy = destroy,
    .born = born,
    .step = step,
    .save = save,
    .restore = restore,
    .fibres = rp__contact_view_fibres,
};
