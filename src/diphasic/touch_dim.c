/* Grains against walls and bodies in the rounds of a step. */
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
        double tensor[DP_S], f[RP_DIM];
        dp_chi(s->lambda, tensor);
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

/* Contacts are found anew each step: walls are below zero, bodies above. */
static double name_of(const dp_contact *c)
{
    return c->body < 0 ? c->body : c->body + 1;
}

void DP(keep_contacts)(dp_system *y, double dt)
{
    memset(y->rubbed, 0, (size_t)(DP_RUBBED * y->node_count) * sizeof *y->rubbed);
    for (int64_t i = y->contact_count - 1; i >= 0; i--) {
        double *to = y->rubbed + DP_RUBBED * y->contacts[i].node;
        for (int a = 0; a < RP_DIM; a++)
            to[a] = y->contacts[i].impulse[a] / dt;
        to[RP_DIM] = name_of(&y->contacts[i]);
    }
}

void DP(start_contacts)(dp_solve *w)
{
    dp_system *y = w->y;
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
        const double *last = y->rubbed + DP_RUBBED * c->node;
        double impulse[RP_DIM];
        if (!y->params->warm_start || last[RP_DIM] != name_of(c))
            continue;
        for (int a = 0; a < RP_DIM; a++)
            impulse[a] = w->dt * last[a];
        set_impulse(y, c, impulse);
    }
}
