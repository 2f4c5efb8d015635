#include "fine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 256 };          /* with those that tools add */
static const double longest_step = 1.0 / 60;

struct fine_grains {
    const rp_scene *scene;
    rp_sim *sim;
    rp_upsample *grains;
    rp_upsample_def def;
    const rp_shape *shapes[BODIES]; /* ours: retained */
    rp_body_state states[BODIES];
    rp_frame bodies;            /* the states, as a frame */
    double time;                /* of the grains */
    double *before;             /* by id: x y z where the particle was at that time, not a number: it was not there */
    int64_t before_room;
    double *guide;              /* planes of places and mean velocities */
    int64_t guide_room;
};

/* ---- what leads them ---- */

typedef struct particles {
    int64_t count;
    const double *x[3];
    const int64_t *id;
} particles;

static rp_result see(const rp_sim *sim, particles *p)
{
    rp_field_view x, id;
    rp_result result = rp_sim_field_named(sim, "position", &x);
    if (result == RP_OK)
        result = rp_sim_field_named(sim, "id", &id);
    if (result != RP_OK)
        return result;
    p->count = rp_sim_particle_count(sim);
    p->id = id.data;
    for (int d = 0; d < 3; d++)
        p->x[d] = (const double *)x.data + d * x.stride;
    return RP_OK;
}

static rp_result make_room(fine_grains *f, const particles *p)
{
    int64_t most = 0;
    for (int64_t i = 0; i < p->count; i++)
        most = p->id[i] > most ? p->id[i] : most;
    if (most >= f->before_room) {
        int64_t room = 2 * most + 1024;
        double *more = realloc(f->before, 3 * (size_t)room * sizeof *more);
        if (!more)
            return RP_OUT_OF_MEMORY;
        for (int64_t k = 3 * f->before_room; k < 3 * room; k++)
            more[k] = NAN;
        f->before = more, f->before_room = room;
    }
    if (p->count > f->guide_room) {
        double *more = realloc(f->guide, 6 * (size_t)(2 * p->count) * sizeof *more);
        if (!more)
            return RP_OUT_OF_MEMORY;
        f->guide = more, f->guide_room = 2 * p->count;
    }
    return RP_OK;
}

static void remember(fine_grains *f, const particles *p)
{
    for (int64_t i = 0; i < p->count; i++)
        for (int d = 0; d < 3; d++)
            f->before[3 * p->id[i] + d] = p->x[d][i];
    f->time = rp_sim_time(f->sim);
}

/* ---- bodies ---- */

/* How they stand now; the farthest that a point of one went since the last time, in the mean of a step of the grains. */
static double see_bodies(fine_grains *f)
{
    double most = 0;
    int count = rp_sim_body_count(f->sim);
    for (int b = 0; b < count && b < BODIES; b++) {
        rp_body_state was = f->states[b];
        rp_shape *shape = rp_sim_body_shape(f->sim, b);
        bool other = shape != f->shapes[b];
        if (other && shape) {
            rp_shape_release((rp_shape *)(uintptr_t)f->shapes[b]);
            f->shapes[b] = rp_shape_retain(shape);
        }
        if (rp_sim_body(f->sim, b, &f->states[b]) != RP_OK)
            f->states[b].present = false;
        if (!f->states[b].present)
            continue;
        double lower[3], upper[3], reach = 0, shift = 0, turn = 0;
        rp_shape_bounds(f->shapes[b], lower, upper);
        for (int d = 0; d < 3; d++) {
            double far = fmax(fabs(lower[d]), fabs(upper[d])), s = f->states[b].position[d] - was.position[d];
            reach += far * far, shift += s * s;
        }
        for (int k = 0; k < 4; k++)
            turn += f->states[b].orientation[k] * was.orientation[k];
        double angle = 2 * acos(fmin(1, fabs(turn))), went = sqrt(shift) + sqrt(reach) * angle;
        most = fmax(most, other || !was.present || !(went >= 0) ? INFINITY : went);
    }
    return most;
}

/* ---- the grains ---- */

wire_fine fine_view(const fine_grains *f)
{
    wire_fine view = { .count = rp_upsample_count(f->grains), .radius = f->def.radius };
    memcpy(view.base, f->def.room.lower, sizeof view.base);
    rp_upsample_view(f->grains, view.x, view.v, &view.tone);
    return view;
}

static rp_result add_around(fine_grains *f, const particles *p, int64_t i)
{
    rp_field_view v;
    double at[3], speed[3];
    rp_result result = rp_sim_field_named(f->sim, "velocity", &v);
    for (int d = 0; d < 3 && result == RP_OK; d++)
        at[d] = p->x[d][i], speed[d] = ((const double *)v.data)[d * v.stride + i];
    return result == RP_OK ? rp_upsample_add(f->grains, at, speed, p->id[i], &f->bodies) : result;
}

/* Those of the start fill the shapes of the scene; all others come with a particle. */
rp_result fine_reset(fine_grains *f)
{
    const rp_sim_def *def = rp_scene_sim_def(f->scene);
    particles p;
    rp_result result = see(f->sim, &p);
    if (result == RP_OK)
        result = make_room(f, &p);
    rp_upsample_destroy(f->grains);
    f->grains = NULL;
    if (result == RP_OK)
        result = rp_upsample_create(&f->def, &f->grains);
    if (result != RP_OK)
        return result;
    see_bodies(f);
    bool start = rp_sim_steps(f->sim) == 0;
    for (int g = 0; g < def->grains_count && result == RP_OK && start; g++)
        result = rp_upsample_fill(f->grains, def->grains[g].shape, &f->bodies);
    for (int64_t i = 0; i < p.count && result == RP_OK; i++) {
        double at[3] = { p.x[0][i], p.x[1][i], p.x[2][i] };
        bool inside = false;
        for (int g = 0; g < def->grains_count && start && !inside; g++)
            inside = rp_shape_distance(def->grains[g].shape, at, NULL) <= 0;
        if (!inside)
            result = add_around(f, &p, i);
    }
    for (int64_t k = 0; k < 3 * f->before_room; k++)
        f->before[k] = NAN;
    remember(f, &p);
    return result;
}

/* Particles went from where they were to where they are at one speed: their fine grains follow in steps of a sixtieth of a second. */
static rp_result follow(fine_grains *f, const particles *p, double dt)
{
    int steps = (int)fmin(ceil(dt / longest_step - 0.25), 8);
    double moved = see_bodies(f) / steps;
    rp_guides g = { .count = p->count };
    for (int d = 0; d < 3; d++) {
        double *x = f->guide + d * f->guide_room, *v = f->guide + (3 + d) * f->guide_room;
        for (int64_t i = 0; i < p->count; i++) {
            double from = f->before[3 * p->id[i] + d];
            x[i] = isnan(from) ? p->x[d][i] : from;
            v[i] = (p->x[d][i] - x[i]) / dt;
        }
        g.x[d] = x, g.v[d] = v;
    }
    rp_result result = RP_OK;
    for (int k = 0; k < steps && result == RP_OK; k++) {
        result = rp_upsample_step(f->grains, &g, &f->bodies, moved, dt / steps);
        for (int d = 0; d < 3 && k + 1 < steps; d++)
            for (int64_t i = 0; i < p->count; i++)
                f->guide[d * f->guide_room + i] += g.v[d][i] * dt / steps;
    }
    return result;
}

rp_result fine_follow(fine_grains *f, bool *moved)
{
    double dt = rp_sim_time(f->sim) - f->time;
    particles p;
    *moved = false;
    if (dt < (1 - 1e-6) * longest_step)
        return RP_OK;
    rp_result result = see(f->sim, &p);
    if (result == RP_OK)
        result = make_room(f, &p);
    if (result == RP_OK)
        result = follow(f, &p, dt);
    for (int64_t i = 0; i < p.count && result == RP_OK; i++)
        if (isnan(f->before[3 * p.id[i]]))
            result = add_around(f, &p, i);
    if (result == RP_OK)
        remember(f, &p);
    *moved = result == RP_OK;
    return result;
}

void fine_lean(fine_grains *f, const double gravity[3])
{
    memcpy(f->def.gravity, gravity, sizeof f->def.gravity);
    rp_upsample_set_gravity(f->grains, gravity);
}

/* ---- opening ---- */

void fine_close(fine_grains *f)
{
    if (!f)
        return;
    rp_upsample_destroy(f->grains);
    for (int b = 0; b < BODIES; b++)
        rp_shape_release((rp_shape *)(uintptr_t)f->shapes[b]);
    free(f->before);
    free(f->guide);
    free(f);
}

rp_result fine_open(const rp_scene *scene, rp_sim *sim, fine_grains **out)
{
    const rp_sim_def *def = rp_scene_sim_def(scene);
    double radius = rp_scene_output(scene)->upsample;
    *out = NULL;
    if (!(radius > 0) || def->dim == 2 || def->body_count > BODIES / 2 || rp_sim_particle_count(sim) == 0)
        return RP_OK;
    fine_grains *f = calloc(1, sizeof *f);
    rp_frame frame;
    if (!f)
        return RP_OUT_OF_MEMORY;
    f->scene = scene, f->sim = sim;
    f->def = rp_default_upsample_def();
    f->def.room = rp_samples_def_of(def, f->shapes);
    for (int b = 0; b < BODIES; b++)
        f->shapes[b] = NULL; /* see_bodies takes them as they come and go */
    f->def.room.bodies = f->shapes;
    f->def.room.body_count = BODIES;
    f->def.room.deforming = NULL;
    f->bodies = (rp_frame){ .dim = def->dim, .bodies = f->states, .body_count = BODIES };
    f->def.radius = radius;
    f->def.sinks = def->sinks, f->def.sink_count = def->sink_count;
    memcpy(f->def.gravity, def->gravity, sizeof f->def.gravity);
    rp_result result = rp_frame_collect(sim, "volume", &frame);
    if (result == RP_OK) {
        result = rp_upsample_guide_radius(&frame, &f->def.guide_radius);
        rp_frame_free(&frame);
    }
    if (result == RP_OK)
        result = fine_reset(f);
    if (result == RP_OK)
        *out = f;
    else
        fine_close(f);
    return result;
}
