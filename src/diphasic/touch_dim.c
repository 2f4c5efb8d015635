/* Grains against walls and bodies in the rounds of a step, and the velocities of free bodies. */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "exec/exec.h"

/* Normal impulse of the grains against a wall that holds them: what is left of momentum, weight, stress and pressure there. */
static double wall_load(const dp_solve *w, const dp_contact *c)
{
    const dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    int axis = (-1 - c->body) / 2;
    int64_t j = c->node, at[3];
    double into = c->normal[axis], push[RP_DIM], sum;
    double weight = (y->mass[j] - def->fluid->density * y->grains[j]) * def->gravity[axis];
    sum = y->momentum[RP_DIM * j + axis] + w->dt * (weight + y->grains[j] * def->fluid->drive[axis]);
    DP(pressure_impulse)(y, y->pressure, true, j, push);
    sum += w->dt * y->phi[j] * push[axis];
    dp_place(y->nodes, j, at);
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t cell = dp_cell_at_corner(y, at, n);
        int32_t k = cell < 0 ? -1 : y->stress_of[cell];
        if (k < 0)
            continue;
        const dp_stress *s = &y->stress[k];
        double lambda[DP_S], tensor[DP_S], f[RP_DIM];
        memcpy(lambda, s->lambda, sizeof lambda);
        dp_tilt_stress(s, lambda);
        dp_chi(lambda, tensor);
        dp_multiply(tensor, s->g[n], f);
        sum += w->dt * f[axis];
    }
    return -sum * into > 0 ? -sum * into : 0;
}

static void set_impulse(dp_system *y, dp_contact *c, const double next[RP_DIM])
{
    dp_node *j = &y->node[c->node];
    for (int a = 0; a < RP_DIM; a++) {
        double change = next[a] - c->impulse[a];
        j->u[a] += j->m[a] * change;
        j->w[a] += j->a[a] * change;
        c->impulse[a] = next[a];
    }
}

/* Coulomb's law at a node: along a wall with the load that the wall carries; on a body with what keeps grains out of it. */
static void visit_contact(const dp_solve *w, dp_contact *c)
{
    dp_system *y = w->y;
    const dp_node *j = &y->node[c->node];
    double next[RP_DIM] = { 0 }, free[RP_DIM], slip = 0, normal = 0, most, inverse = 0;
    for (int a = 0; a < RP_DIM; a++)
        inverse = j->m[a] > inverse ? j->m[a] : inverse;
    if (!(inverse > 0))
        return;
    if (c->share > 0) { /* a free body gives way: its contacts act at once, each as if it bore the body alone by its share */
        double now[3];
        rp__vec3_store(now, rp__body_velocity_at(&w->world->bodies[c->body], rp__vec3_load(c->place)));
        for (int a = 0; a < RP_DIM; a++)
            c->target[a] = now[a];
        inverse += c->share;
    }
    for (int a = 0; a < RP_DIM; a++) {
        free[a] = j->m[a] > 0 ? (j->u[a] - c->target[a]) / inverse - c->impulse[a] : 0;
        normal += free[a] * c->normal[a];
    }
    if (c->body < 0)
        most = c->mu * wall_load(w, c);
    else
        most = normal < 0 ? (c->mu > 0 ? -normal * c->mu : 0) : 0;
    for (int a = 0; a < RP_DIM; a++) {
        next[a] = -(free[a] - normal * c->normal[a]);
        slip += next[a] * next[a];
    }
    slip = sqrt(slip);
    for (int a = 0; a < RP_DIM; a++) {
        next[a] *= slip > most ? most / slip : 1;
        if (c->body >= 0 && normal < 0)
            next[a] -= normal * c->normal[a];
    }
    set_impulse(y, c, next);
}

/* Contacts of one node follow one another, and belong to the part in which the first of them is. */
static void visit_contacts(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_contact *all = w->y->contacts;
    (void)worker;
    while (begin > 0 && begin < end && all[begin].node == all[begin - 1].node)
        begin++;
    while (begin < end && end < w->y->contact_count && all[end].node == all[end - 1].node)
        end++;
    for (int64_t i = begin; i < end; i++)
        visit_contact(w, &all[i]);
}

void DP(visit_contacts)(dp_solve *w)
{
    rp__exec_for(w->y->contact_count, 64, visit_contacts, w);
}

void DP(visit_corners)(const dp_solve *w, const dp_stress *s)
{
    dp_system *y = w->y;
    for (int n = 0; n < DP_CORNERS; n++)
        for (int64_t i = y->contact_at[s->node[n]]; i >= 0 && i < y->contact_count && y->contacts[i].node == s->node[n]; i++)
            visit_contact(w, &y->contacts[i]);
}

/* Aitken's part of the change to make: by how much the last part changed what is left. */
static double aitken_part(rp__vec3 *last, rp__vec3 left, double part)
{
    rp__vec3 change = rp__vec3_sub(left, *last);
    double square = rp__vec3_dot(change, change), next = square > 0 ? -part * rp__vec3_dot(*last, change) / square : part;
    *last = left;
    next = next > 2 * part ? 2 * part : next < 0.5 * part ? 0.5 * part : next;
    return next < 1 ? next : 1;
}

/* Velocities of free bodies from all that has pushed them in this step: the pressure on their nodes, the weight of the fluid they keep away and
 * the grains that touch. Pressure and grains answer to their motion like an added mass, which may be many times their own: half of
 * ρ_b / (ρ_b + ρ_f) of the change is made first (for the spin an eighth), and then the part that Aitken's rule finds. Returns the largest change. */
double DP(move_bodies)(const dp_solve *w)
{
    dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    double most = 0; /* change of a velocity */
    for (int b = 0; b < w->world->body_count; b++) {
        rp__body *body = &w->world->bodies[b];
        if (!body->present || body->def.kind != RP_BODY_FREE)
            continue;
        rp__vec3 before = body->velocity, spin = body->omega;
        dp_push push = DP(body_push)(y, w->world, b, w->dt);
        body->velocity = y->body_velocity[b], body->omega = y->body_omega[b];
        rp__body_apply(body, push.impulse, push.turn);
        rp__vec3 left = rp__vec3_sub(body->velocity, before), turn_left = rp__vec3_sub(body->omega, spin);
        double part = 0.5 * body->def.density / (body->def.density + def->fluid->density);
        part = w->aitken ? aitken_part(&y->body_left[b], left, y->body_part[b]) : part;
        double part_spin = w->aitken ? aitken_part(&y->body_turn_left[b], turn_left, y->body_part_spin[b]) : 0.25 * part;
        if (!w->aitken)
            y->body_left[b] = left, y->body_turn_left[b] = turn_left;
        y->body_part[b] = part, y->body_part_spin[b] = part_spin;
        body->velocity = rp__vec3_add(before, rp__vec3_scale(part, left));
        body->omega = rp__vec3_add(spin, rp__vec3_scale(part_spin, turn_left));
        most = fmax(most, rp__vec3_norm(rp__vec3_sub(body->velocity, before)));
        for (int64_t j = 0; j < y->node_count; j++) {
            if (y->inside[j] != b)
                continue;
            int64_t at[3];
            double x[3] = { 0 }, v[3];
            dp_place(y->nodes, j, at);
            for (int a = 0; a < RP_DIM; a++)
                x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
            rp__vec3_store(v, rp__body_velocity_at(body, rp__vec3_load(x)));
            for (int a = 0; a < RP_DIM; a++)
                if (!(y->hold[j] & dp_fluid_hold(a)))
                    y->held[RP_DIM * j + a] = y->node[j].w[a] = v[a];
        }
    }
    return most;
}

bool DP(free_bodies)(const rp__world *world)
{
    for (int b = 0; b < world->body_count; b++)
        if (world->bodies[b].present && world->bodies[b].def.kind == RP_BODY_FREE)
            return true;
    return false;
}

static void find_touching(dp_system *y)
{
    memset(y->contact_at, -1, (size_t)y->node_count * sizeof *y->contact_at);
    for (int64_t i = y->contact_count - 1; i >= 0; i--)
        if (y->contacts[i].body >= 0)
            y->contact_at[y->contacts[i].node] = (int32_t)i;
    for (int64_t k = 0; k < y->stress_count; k++) {
        dp_stress *s = &y->stress[k];
        for (int n = 0; n < DP_CORNERS; n++)
            s->touches = s->touches || y->contact_at[s->node[n]] >= 0;
    }
}

void DP(start_bodies)(dp_solve *w)
{
    dp_system *y = w->y;
    for (int b = 0; b < w->world->body_count && b < DP_BODIES; b++) {
        y->body_velocity[b] = w->world->bodies[b].velocity;
        y->body_omega[b] = w->world->bodies[b].omega;
    }
    int count[DP_BODIES] = { 0 };
    for (int64_t i = 0; i < y->contact_count; i++)
        if (y->contacts[i].body >= 0)
            count[y->contacts[i].body]++;
    if (w->world->body_count)
        find_touching(y);
    for (int64_t i = 0; i < y->contact_count; i++) {
        dp_contact *c = &y->contacts[i];
        const rp__body *body = c->body >= 0 ? &w->world->bodies[c->body] : NULL;
        c->share = body && body->def.kind == RP_BODY_FREE ? count[c->body] * body->inverse_mass : 0;
    }
}
