/* Grains moved by their contacts, position-based: large steps, forces remembered from step to step, so that heaps rest.
 *
 * Unknown are the displacements u of the step, from u = h (v + h g). Every contact holds its pair apart with Coulomb's law on the
 * displacement (sweep_kernel.c), starting from what it carried the step before; a few sweeps of Gauss–Seidel, then x += u, v = u/h.
 * Grains are balls of one radius that do not spin [sommer2022], [macklin2014]; docs/pbd.md tells what differs and why. */
#include "pbd/pbd.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "pbd/state.h"

#include <math.h>
#include <string.h>

#define P(member) offsetof(rp__pbd_params, member)

static const rp_param table[] = {
    { "contact", RP_ENUM, P(contact), RP_PBD_CONE, 0, 2, "",
      "law of contacts: cone (Coulomb with remembered forces), or macklin and seed, position corrections to compare with", "cone|macklin|seed" },
    { "radius", RP_REAL, P(radius), 0, 0, 1e3, "m", "radius of the grains; 0: half a cell", NULL },
    { "quality", RP_ENUM, P(quality), RP_PBD_STANDARD, 0, 3, "",
      "step and sweeps together: draft (5.6 ms, 3), standard (5 ms, 5), fine (2.5 ms, 5) or finest (2.5 ms, 10)", "draft|standard|fine|finest" },
    { "step", RP_REAL, P(step), 0, 0, 1, "s", "longest step; 0: by quality", NULL },
    { "sweeps", RP_INT, P(sweeps), 0, 0, 1000, "", "visits of every contact in a step; 0: by quality", NULL },
    { "friction", RP_REAL, P(friction), -1, -1, 1e3, "",
      "Coulomb coefficient between grains; below zero: from each material, so that its heaps stand at its friction angle", NULL },
    { "kinetic", RP_REAL, P(kinetic), 1, 0, 1, "", "part of the friction that is left once a contact slips", NULL },
    { "settle", RP_BOOL, P(settle), 0, 0, 1, "", "fill shapes as densely as a bed that has settled, not loosely at random", NULL },
    { "margin", RP_REAL, P(margin), 0.12, 0, 1, "",
      "no pair farther apart than 2 r (1 + margin) is looked at; 0.12 misses none that goes a radius in a step", NULL },
    { "body", RP_ENUM, P(body), RP_PBD_LEVEL_SET, 0, 1, "",
      "free bodies: level_set (six unknowns in the sweeps), or shape_matching (filled with beads that are kept rigid)",
      "level_set|shape_matching" },
    { "boundary", RP_ENUM, P(boundary), RP_PBD_SURFACE, 0, 1, "",
      "scripted bodies to grains: level_set (their surface), or particles (beads along it)", "level_set|particles" },
    { "stabilisation", RP_INT, P(stabilisation), 2, 0, 100, "", "macklin and seed: sweeps that undo overlaps before a step", NULL },
    { "mass_scaling", RP_REAL, P(mass_scaling), 0, 0, 1e4, "1/m", "macklin and seed: k of the masses m exp(-k height)", NULL },
    { 0 },
};

static const rp_field_info fields[] = {
    { "slot", RP_I32, 1, "", 0 },       /* number of the grain in the step before */
    { "clearance", RP_F64, 1, "m", 0 }, /* no resting body is nearer */
    { 0 },
};

static rp_result create(rp__world *world, int first_field, void **out)
{
    const rp_sim_def *def = world->def;
    for (int f = 0; f < 2 * def->dim; f++)
        if (def->wall[f].kind == RP_PERIODIC)
            return rp__base_fail(RP_UNSUPPORTED, "method 'pbd' has no periodic walls; use slip, stick, open or a friction");
    rp__pbd *s = RP_NEW(rp__pbd);
    if (!s)
        return RP_OUT_OF_MEMORY;
    world->short_loops = true;
    s->par = world->params;
    s->dim = def->dim;
    s->r = rp__pbd_radius(def, s->par);
    s->slot_field = first_field;
    s->clearance_field = first_field + 1;
    *out = s;
    return RP_OK;
}

double rp__pbd_longest_step(const rp__pbd_params *par)
{
    static const double steps[] = { 1.0 / 180, 0.005, 0.0025, 0.0025 };
    return par->step > 0 ? par->step : steps[par->quality];
}

int64_t rp__pbd_sweeps(const rp__pbd_params *par)
{
    static const int sweeps[] = { 3, 5, 5, 10 };
    return par->sweeps > 0 ? par->sweeps : sweeps[par->quality];
}

/* A step that was made longer than `step` (`substeps`, `dt_min` of the scene) has the sweeps of those it stands for. */
static int64_t sweeps_of(const rp__pbd *s)
{
    double steps = ceil(s->h / rp__pbd_longest_step(s->par) * (1 - 1e-9));
    return rp__pbd_sweeps(s->par) * (int64_t)(steps < 1 ? 1 : steps > 100 ? 100 : steps);
}

static void free_table(rp__pbd_table *t)
{
    rp__base_free(t->count);
    rp__base_free(t->first);
    rp__base_free(t->partner);
    rp__base_free(t->force);
}

static void free_touches(rp__pbd_touches *t)
{
    rp__base_free(t->first);
    rp__base_free(t->count);
    rp__base_free(t->all);
}

static void destroy(void *state)
{
    rp__pbd *s = state;
    void *all[] = { s->order,    s->slot,  s->cell,       s->home,         s->owner, s->range,    s->x,      s->u,    s->push,   s->mass,
                    s->material, s->id,    s->cell_first, s->slabs,        s->used,  s->wide,     s->before, s->lane, s->bodies, s->bead_at,
                    s->rested,   s->loose, s->alone, s->sight, s->mu,         s->colour_first, s->items, s->residual, s->shift,  s->began };
    for (int c = 0; c < 6; c++)
        rp__base_free(s->place[c]);
    rp__pbd_free_beads(&s->beads);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
    free_table(&s->now);
    free_table(&s->old);
    free_touches(&s->touch);
    free_touches(&s->touch_old);
    rp__base_free(s);
}

static rp_result born(void *state, rp__world *world, int64_t first, int64_t count, double spacing)
{
    rp__pbd *s = state;
    int32_t *slot = rp__particles_plane(world->particles, s->slot_field, 0);
    double *clearance = rp__particles_f64(world->particles, s->clearance_field, 0);
    (void)spacing;
    for (int64_t i = first; i < first + count; i++)
        slot[i] = -1, clearance[i] = -1;
    return RP_OK;
}

/* ---- the step's length ---- */

static void fastest_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__particles *p = context;
    for (int64_t i = begin; i < end; i++) {
        double square = p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
        partial[0] = square > partial[0] ? square : partial[0];
    }
}

/* No grain and no body goes farther than a radius, (v + g h) h <= r: two that meet are a pair before they overlap by half. */
static double largest_step(void *state, const rp__world *world, const char **reason)
{
    const rp__pbd *s = state;
    double square = 0, g = rp__vec3_norm(rp__vec3_load(world->def->gravity)), step = rp__pbd_longest_step(s->par);
    *reason = "step";
    if (world->particles->count)
        rp__exec_max(world->particles->count, 4096, 1, fastest_chunk, world->particles, &square);
    double v = sqrt(square), root = v + sqrt(v * v + 4 * g * s->r);
    if (root > 0 && 2 * s->r / root < step)
        step = 2 * s->r / root, *reason = "grain";
    for (int b = 0; b < world->body_count; b++) {
        const rp__body *body = &world->bodies[b];
        double speed = body->present ? rp__vec3_norm(body->velocity) : 0;
        if (speed * step > s->r)
            step = s->r / speed, *reason = "body";
    }
    return step;
}

/* ---- friction ---- */

/* The coefficient between balls that cannot spin whose heaps stand at an angle: measured (docs/pbd.md), not derived. */
static double calibrated(double angle)
{
    static const double at[][2] = { { 0, 0 }, { 22.8, 0.1 }, { 32.4, 0.2 }, { 45.3, 0.35 }, { 90, 1.2 } };
    double degrees = angle * 57.29577951308232;
    int k = 1;
    while (k < 4 && degrees > at[k][0])
        k++;
    double part = (degrees - at[k - 1][0]) / (at[k][0] - at[k - 1][0]);
    return at[k - 1][1] + part * (at[k][1] - at[k - 1][1]);
}

static double own_friction(const rp__pbd_params *par, const rp_material_def *m)
{
    if (par->friction >= 0)
        return par->friction;
    return calibrated(m->friction >= 0 ? atan(m->friction) : m->friction_angle);
}

/* mu_ij = sqrt(mu_i mu_j); beads have the coefficient of their surface. */
static rp_result set_friction(rp__pbd *s, const rp__world *world)
{
    int materials = world->def->material_count, count = materials + (s->beads.count ? world->body_count : 0);
    if (!rp__base_grow(&s->mu, &s->mu_capacity, (int64_t)count * count + 1, sizeof *s->mu))
        return RP_OUT_OF_MEMORY;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            double own[2], surface = INFINITY;
            for (int k = 0; k < 2; k++) {
                int kind = k ? b : a;
                own[k] = kind < materials ? own_friction(s->par, &world->materials[kind]) : 0;
                if (kind >= materials)
                    surface = fmin(surface, rp__pbd_surface_friction(&world->bodies[kind - materials].def.surface));
            }
            s->mu[a * count + b] = surface < INFINITY ? surface : own[0] == own[1] ? own[0] : sqrt(own[0] * own[1]);
        }
    s->kinds = count;
    return RP_OK;
}

/* Masses are told relative to their mean: equal grains have w = 1 exactly. */
static double mean_mass(const rp__particles *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->count; i++)
        sum += p->mass[i];
    for (int64_t i = 0; i < p->count; i++)
        if (p->mass[i] != p->mass[0])
            return sum / (double)p->count;
    return p->count ? p->mass[0] : 1;
}

/* ---- the step ---- */

typedef struct work {
    rp__pbd *s;
    rp__world *world;
} work;

static void move_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const work *w = context;
    rp__pbd *s = w->s;
    rp__particles *p = w->world->particles;
    int32_t *slot = rp__particles_plane(p, s->slot_field, 0);
    double *clearance = rp__particles_f64(p, s->clearance_field, 0);
    for (int64_t k = begin; k < end; k++) {
        int64_t i = s->order[k];
        double way = 0;
        if (i >= p->count)
            continue; /* a bead */
        for (int a = 0; a < s->dim; a++) {
            double to = s->x[k][a] + s->u[k][a] + s->push[k][a], moved = to - p->x[a][i];
            way += moved * moved;
            p->x[a][i] = to;
            p->v[a][i] = s->u[k][a] / s->h;
        }
        slot[i] = (int32_t)k;
        clearance[i] -= sqrt(way) * (1 + 1e-12);
        partial[0] += way > 4e-4 * s->h * s->h;
    }
}

static void count_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__pbd *s = context;
    for (int64_t k = begin; k < end; k++) {
        partial[0] += s->now.count[k];
        partial[1] += s->touch.count[k];
    }
}

static void extra(rp_step_stats *stats, const char *name, double value)
{
    stats->extra_name[stats->extra_count] = name;
    stats->extra[stats->extra_count++] = value;
}

static void tell(rp__pbd *s, const double residual[2], double moving, rp_step_stats *stats)
{
    double count[2], overlap = 0;
    rp__exec_sum(s->n, 4096, 2, count_chunk, s, count);
    for (int64_t b = 0; b < s->slab_count; b++)
        overlap = fmax(overlap, -s->slabs[b].gap);
    double per = 1 / (2 * s->r);
    stats->iterations = s->swept;
    stats->residual_mean = count[0] > 0 ? residual[0] / count[0] * per : 0;
    stats->residual_max = residual[1] * per;
    stats->converged = true; /* the number of sweeps is fixed: the residual tells how far they came */
    extra(stats, "contacts", count[0]);
    extra(stats, "touches", count[1]);
    extra(stats, "overlap", overlap * per);
    extra(stats, "moving", moving);
    extra(stats, "left_out", (double)s->left_out);
}

static void forget(rp__pbd *s)
{
    rp__pbd_table before = s->old;
    rp__pbd_touches touches = s->touch_old;
    s->old = s->now, s->now = before;
    s->touch_old = s->touch, s->touch = touches;
    s->now.room = s->old.room;
    s->touch.room = s->touch_old.room;
    s->h_old = s->h;
}

static rp_result step(void *state, rp__world *world, double dt, rp_step_stats *stats)
{
    rp__pbd *s = state;
    work w = { s, world };
    double t = rp__base_seconds(), residual[2] = { 0, 0 }, moving = 0, reach = 2 * s->r * (1 + s->par->margin);
    s->h = dt;
    s->mean_mass = mean_mass(world->particles);
    RP_TRY(rp__pbd_begin_bodies(s, world));
    RP_TRY(set_friction(s, world));
    RP_TRY(rp__pbd_order(s, world, reach));
    RP_TRY(rp__pbd_find_beads(s));
    RP_LAP(&world->phases, "sort", t);
    RP_TRY(rp__pbd_find_pairs(s));
    if (s->left_out && !s->told)
        RP_WARN("at t = %g s so many grains are in one place that %lld of their contacts are left out (column left_out of stats.csv)", world->time,
                (long long)s->left_out);
    s->told = s->told || s->left_out;
    RP_LAP(&world->phases, "pairs", t);
    RP_TRY(rp__pbd_find_touches(s, world));
    RP_LAP(&world->phases, "surfaces", t);
    RP_TRY(rp__pbd_pack(s));
    RP_LAP(&world->phases, "pack", t);
    RP_TRY(rp__sim_given_up(world));
    if (s->par->contact == RP_PBD_CONE)
        RP_TRY(rp__pbd_sweep(s, sweeps_of(s), world->cancel, residual));
    else
        RP_TRY(rp__pbd_averaged(s, world, residual));
    RP_LAP(&world->phases, "sweeps", t);
    RP_TRY(rp__sim_given_up(world)); /* what follows changes the particles */
    rp__exec_sum(s->n, 2048, 1, move_chunk, &w, &moving);
    rp__pbd_surface_forces(s, world);
    rp__pbd_bead_forces(s, world);
    tell(s, residual, moving, stats);
    forget(s);
    RP_LAP(&world->phases, "move", t);
    return RP_OK;
}

static double grain_radius(const rp_sim_def *def, const void *params)
{
    return rp__pbd_radius(def, params);
}

static bool grains_settled(const rp_sim_def *def, const void *params)
{
    (void)def;
    return ((const rp__pbd_params *)params)->settle;
}

static const char *const extras[] = { "contacts", "touches", "overlap", "moving", "left_out", NULL };
static const char *const phases[] = { "sort", "pairs", "surfaces", "pack", "sweeps", "move", NULL };

const rp__method rp__pbd_method = {
    .info = { .name = "pbd",
              .summary = "position-based grains: balls of one radius with remembered contact forces, large steps, interactive",
              .params = table,
              .fields = fields,
              .extras = extras,
              .phases = phases },
    .params_size = sizeof(rp__pbd_params),
    .dims = 1 << 2 | 1 << 3,
    .create = create,
    .destroy = destroy,
    .grain_radius = grain_radius,
    .grains_settled = grains_settled,
    .born = born,
    .largest_step = largest_step,
    .step = step,
    .save = rp__pbd_save,
    .restore = rp__pbd_restore,
};
