/* The end of a step: the velocity of the fluid, what pushed bodies and walls, and the particles moved with the grains. */
#include "diphasic/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    dp_system *y;
    rp__world *world;
    double dt;
    double *gradient[9], *looseness, *packing;
} job;

/* u_f = (q - φ u) / (1 - φ); sums the impulse of drag on the grains. */
static void fluid_nodes(void *context, int64_t begin, int64_t end, double *sum)
{
    const job *w = context;
    dp_system *y = w->y;
    for (int64_t j = begin; j < end; j++) {
        double phi = y->phi[j];
        for (int a = 0; a < RP_DIM; a++) {
            double u = y->node[j].u[a], q = y->node[j].w[a];
            double v = phi > 0 ? (q - phi * u) / (1 - phi) : q;
            if (y->hold[j] & (DP_HOLD_FLUX | dp_fluid_hold(a)))
                v = y->held[RP_DIM * j + a];
            y->fluid[RP_DIM * j + a] = v;
            if (phi > 0 && !(y->hold[j] & DP_HOLD_FLUX))
                sum[a] += y->coupling[j] * (v - u);
        }
    }
}

/* On bodies, and of the grains along frictional walls. */
static void push_bodies(dp_system *y, rp__world *world, double dt)
{
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        dp_push push = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
        if (body->present)
            push = DP(body_push)(y, world, b, dt);
        body->fluid_pressure = rp__vec3_scale(1 / dt, push.pressure);
        body->fluid_viscous = rp__vec3_scale(1 / dt, push.viscous);
        body->normal_force = rp__vec3_add(body->normal_force, body->fluid_pressure); /* pressure has no other part */
        body->force = rp__vec3_scale(1 / dt, push.impulse);
        body->torque = rp__vec3_scale(1 / dt, push.turn);
        if (!body->present || body->def.kind != RP_BODY_FREE)
            continue;
        rp__body_predict(body, dt); /* with the velocity that the fluid and the grains have met */
    }
    for (int64_t i = 0; i < y->contact_count; i++) {
        const dp_contact *c = &y->contacts[i];
        double on[3] = { 0 }, normal[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            on[a] = -c->impulse[a] / dt, normal[a] = c->normal[a];
        rp__sim_tell_contact(world, c->body < 0 ? -1 - c->body : 6 + c->body, i, c->place, normal, on, dt);
        for (int a = 0; a < RP_DIM && c->body < 0; a++)
            world->wall_force[-1 - c->body][a] -= c->impulse[a] / dt;
    }
}

void DP(finish_fluid)(dp_system *y, rp__world *world, double dt, double exchange[3])
{
    job w = { .y = y, .world = world, .dt = dt };
    exchange[0] = exchange[1] = exchange[2] = 0;
    rp__exec_sum(y->node_count, 1024, RP_DIM, fluid_nodes, &w, exchange);
    push_bodies(y, world, dt);
    DP(keep_contacts)(y, dt);
    /* stresses as they are, for the next step */
    memset(y->lambda, 0, (size_t)y->cell_count * DP_S * sizeof(double));
    memset(y->bend, 0, (size_t)y->cell_count * DP_BENT * sizeof(double));
    for (int64_t k = 0; k < y->stress_count; k++) {
        const dp_stress *s = &y->stress[k];
        memcpy(y->lambda + DP_S * s->cell, s->lambda, sizeof s->lambda);
        memcpy(y->bend + DP_BENT * s->cell, s->bend, sizeof s->bend);
    }
}

/* ---- particles ---- */

static void move_out(const job *w, const double *from, double *x, double *v)
{
    for (int b = 0; b < w->world->body_count; b++) {
        const rp__body *body = &w->world->bodies[b];
        if (!body->present)
            continue;
        rp__vec3 start = rp__vec3_load(from), end = rp__vec3_load(x), speed = rp__vec3_load(v);
        rp__body_guard(body, start, 1e-6 * w->y->lattice.h, &end, &speed);
        rp__vec3_store(x, end);
        rp__vec3_store(v, speed);
    }
}

/* What the alternating parts carry through the faces across an axis, as a velocity: linear between the two faces. With it the grains of a
 * cell part and close in as its constraint says. */
DP_INLINE double through_faces(const dp_system *y, const dp_stress *s, int axis, double t)
{
    double sum = 0;
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t j = s->node[n];
        double part = 0;
        for (int k = RP_DIM; k < DP_PARTS; k++) /* each axis has an even share of a part */
            if (dp_axes(k) >> axis & 1)
                part += dp_sign(n, k) * dp_sign(n, axis) * y->node[j].u[k] / (dp_axes(k) == 7 ? 3 : 2);
        sum += (n >> axis & 1 ? t : 1 - t) * y->inner[j] * part;
    }
    return sum / (DP_CORNERS / 2);
}

/* The velocity with which grains move at t in a cell. */
DP_INLINE void velocity_in(const dp_system *y, const dp_stress *s, const double t[RP_DIM], double v[RP_DIM])
{
    double weight[DP_CORNERS];
    dp_weights(t, weight);
    for (int a = 0; a < RP_DIM; a++) {
        v[a] = through_faces(y, s, a, t[a]);
        for (int n = 0; n < DP_CORNERS; n++)
            v[a] += weight[n] * y->node[s->node[n]].u[a];
    }
}

/* The velocity half a step ahead, with which a particle moves. Moved with what it has where it is, (1 + dt ∇u) x, grains that are stretched one
 * way and squeezed the other by e in a step lose e² of their volume each time; the midpoint loses e⁴/4. Where no grains are ahead the cell that it
 * is in goes on beyond its faces. */
DP_INLINE void midpoint(const dp_system *y, const dp_stress *s, const int64_t at[3], const double t[RP_DIM], double dt, double v[RP_DIM])
{
    double ahead[RP_DIM], inside[RP_DIM];
    int64_t cell[3] = { 0 };
    bool there = true;
    velocity_in(y, s, t, v);
    for (int a = 0; a < RP_DIM; a++) {
        ahead[a] = t[a] + 0.5 * dt * (v[a] - y->frame[a]) / y->lattice.h;
        double whole = floor(ahead[a]), n = (double)y->cells[a], x = (double)at[a] + whole;
        inside[a] = ahead[a] - whole;
        x -= y->lattice.periodic[a] ? n * floor(x / n) : 0;
        there = there && x >= 0 && x < n;
        cell[a] = there ? (int64_t)x : 0;
    }
    int32_t other = there ? y->stress_of[dp_cell_index(y, cell)] : -1;
    if (other >= 0)
        velocity_in(y, &y->stress[other], inside, v);
    else
        velocity_in(y, s, ahead, v);
}

static void move_particle(const job *w, const dp_stress *s, double part, int64_t i)
{
    dp_system *y = w->y;
    rp__particles *p = w->world->particles;
    int64_t at[3];
    double t[RP_DIM], weight[DP_CORNERS], gradient[DP_CORNERS][RP_DIM], v[3] = { 0 }, x[3] = { 0 }, from[3] = { 0 }, ahead[RP_DIM];
    dp_place(y->cells, s->cell, at);
    for (int a = 0; a < RP_DIM; a++) {
        t[a] = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]) - (double)at[a];
        t[a] = t[a] < 0 ? 0 : t[a] > 1 ? 1 : t[a];
    }
    dp_weights(t, weight);
    dp_gradients(t, 1 / y->lattice.h, gradient);
    midpoint(y, s, at, t, w->dt, ahead);
    for (int a = 0; a < RP_DIM; a++) {
        double c[3] = { 0 };
        for (int n = 0; n < DP_CORNERS; n++) {
            double u = y->node[s->node[n]].u[a];
            v[a] += weight[n] * u;
            for (int b = 0; b < RP_DIM; b++)
                c[b] += gradient[n][b] * u;
        }
        from[a] = p->x[a][i];
        x[a] = from[a] + w->dt * ahead[a];
        for (int b = 0; b < RP_DIM; b++)
            w->gradient[3 * a + b][i] = c[b];
    }
    if (w->world->body_count)
        move_out(w, from, x, v);
    for (int a = 0; a < RP_DIM; a++) {
        p->x[a][i] = x[a];
        p->v[a][i] = v[a];
    }
    DP(follow_volume)(y, w->world, s, part, i, &w->looseness[i], &w->packing[i]);
}

static void move_stresses(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const dp_stress *s = &y->stress[k];
        double part = 0;
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < DP_PARTS; a++)
                part += w->dt * y->node[s->node[n]].u[a] * (a < RP_DIM ? s->g[n][a] : s->inner[n] * dp_divergence(y, n, a)) / s->extent;
        for (int64_t i = y->cell_first[s->cell], n = 0; n < y->cell_particles[s->cell]; n++)
            move_particle(w, s, part, i + n);
    }
}

void DP(finish_grains)(dp_system *y, rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(world->particles, y->first_field + RP__DP_GRADIENT, c);
    w.looseness = rp__particles_f64(world->particles, y->first_field + RP__DP_LOOSENESS, 0);
    w.packing = rp__particles_f64(world->particles, y->first_field + RP__DP_PACKING, 0);
    rp__exec_for(y->stress_count, 64, move_stresses, &w);
}
