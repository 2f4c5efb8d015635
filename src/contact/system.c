/* The problem of a step: velocities without contacts, contacts that count, H, Y = A⁻¹ H, the diagonal of W = Hᵀ Y. */
#include "contact/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

enum { CHUNK = 64 };

#define GROW RP__CONTACT_GROW

void rp__contact_free_system(rp__contact_system *y)
{
    void *all[] = { y->object_first, y->free_velocity, y->velocity, y->product, y->shift, y->candidate, y->axis, y->column, y->pool, y->diagonal, y->b,
                    y->mu, y->r, y->u, y->w, y->record, y->rolling, y->roll, y->object,
                    y->is_ball, y->ball, y->touch_first, y->touching, y->color_first, y->color_items, y->is_new,
                    y->block_first, y->block_column, y->block };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
}

/* ---- velocities without contacts ---- */

typedef struct work {
    rp__contact_state *s;
    const rp__world *world;
    double dt;
    rp_result *results;
} work;

static void move_fibres(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    rp__contact_system *y = &w->s->system;
    for (int64_t k = begin; k < end; k++) {
        rp__contact_fibre *f = &w->s->fibres[k];
        rp__rod *rod = f->rod;
        int n = rp__rod_unknowns(rod);
        double *force = y->product + f->first;
        memset(force, 0, (size_t)n * sizeof *force);
        for (int i = 0; i <= rod->edges; i++)
            for (int a = 0; a < 3; a++)
                force[4 * i + a] = rod->mass[4 * i + a] * w->world->def->gravity[a];
        rp__pose stays = rp__pose_identity();
        for (int e = 0; e < 2; e++) {
            int body = e == 0 ? f->def->body : f->def->tip_body;
            const rp__body *b = body >= 0 ? &w->world->bodies[body] : NULL;
            if (rod->end[e] != RP_ROD_FREE)
                rp__rod_drive(rod, e, b ? &b->pose : &stays, b ? &b->pose_next : &stays, w->dt);
        }
        w->results[k] = rp__rod_free_velocity(rod, w->dt, f->damping, force, f->factor, y->free_velocity + f->first);
    }
}

rp_result rp__contact_prepare(rp__contact_state *s, rp__world *world, double dt)
{
    rp__contact_system *y = &s->system;
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    y->dim = s->dim;
    y->width = s->params->rolling_friction > 0 ? (s->dim == 2 ? 3 : 6) : s->dim;
    y->turning = s->dim == 2 ? 2 : 2.5;
    y->objects = g.count + world->body_count + s->fibre_count;
    if (!GROW(y, object_first, 0, y->objects + 1))
        return RP_OUT_OF_MEMORY;
    int64_t at = 0;
    for (int64_t o = 0; o < y->objects; o++) {
        y->object_first[o] = at;
        int64_t fibre = o - g.count - world->body_count;
        if (fibre >= 0)
            s->fibres[fibre].first = at;
        at += fibre >= 0 ? rp__rod_unknowns(s->fibres[fibre].rod) : 6;
    }
    y->object_first[y->objects] = y->size = at;
    if (!GROW(y, free_velocity, 1, at) || !GROW(y, velocity, 2, at) || !GROW(y, product, 3, at) || !GROW(y, shift, 25, at))
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < g.count; i++)
        for (int a = 0; a < 3; a++) {
            bool moves = !(g.fixed[i] > 0);
            y->free_velocity[6 * i + a] = moves && a < s->dim ? g.v[a][i] + dt * world->def->gravity[a] : 0;
            y->free_velocity[6 * i + 3 + a] = moves && (s->dim == 3 || a == 2) ? g.spin[a][i] : 0;
        }
    for (int b = 0; b < world->body_count; b++) {
        double *v = y->free_velocity + 6 * (g.count + b);
        rp__vec3_store(v, world->bodies[b].velocity);
        rp__vec3_store(v + 3, world->bodies[b].omega);
    }
    rp_result *results = RP_NEW_ARRAY(rp_result, s->fibre_count);
    if (!results)
        return RP_OUT_OF_MEMORY;
    work w = { s, world, dt, results };
    rp__exec_for(s->fibre_count, 4, move_fibres, &w);
    rp_result result = RP_OK;
    for (int64_t k = 0; k < s->fibre_count && result == RP_OK; k++)
        if (results[k] != RP_OK)
            result = rp__base_fail(results[k], "fibre %lld of '%s' has diverged: its matrix is not finite", (long long)k, s->fibres[k].def->name);
    rp__base_free(results);
    return result;
}

/* ---- which candidates count ---- */

/* Velocity of the surface of one end. */
static rp__vec3 end_velocity(const rp__contact_state *s, const rp__contact_end *e, const double *velocity)
{
    const rp__contact_system *y = &s->system;
    const double *v = velocity + y->object_first[e->object];
    if (!rp__contact_is_fibre(s, e->object))
        return rp__vec3_add(rp__vec3_load(v), rp__vec3_cross(rp__vec3_load(v + 3), e->arm));
    v += 4 * e->part;
    return e->place < 0 ? rp__vec3_load(v) : rp__vec3_axpy(e->place, rp__vec3_load(v + 4), rp__vec3_scale(1 - e->place, rp__vec3_load(v)));
}

double rp__contact_closing(const rp__contact_state *s, const rp__world *world, const rp__contact_candidate *c, const double *velocity)
{
    (void)world;
    rp__vec3 u = end_velocity(s, &c->end[0], velocity);
    u = rp__vec3_sub(u, c->end[1].object == NOTHING ? c->surface : end_velocity(s, &c->end[1], velocity));
    return rp__vec3_dot(u, c->normal);
}

/* What the contact of a neighbouring segment held, if that one is gone: a contact that slid to the next segment. */
static const rp__collide_record *left_by_neighbour(const rp__contact_state *s, const rp__collide_key *key, const bool *taken)
{
    for (int k = 0; k < 4; k++) {
        rp__collide_key other = *key;
        uint64_t *name = k < 2 ? &other.a : &other.b;
        if (*name >> 60 != NAME_SEGMENT || ((*name & 0xfffff) == 0 && k % 2 == 0))
            continue;
        *name += k % 2 ? 1 : (uint64_t)-1;
        const rp__collide_record *found = rp__collide_find(s->memory, s->memory_count, &other);
        if (found && !taken[found - s->memory])
            return found;
    }
    return NULL;
}

/* The record of the last step for every contact, each record for one contact only: impulses that two contacts began with would push twice.
 * Records of contacts that are not new stay. */
static rp_result remember(rp__contact_state *s)
{
    rp__contact_system *y = &s->system;
    bool *taken = rp__base_alloc_zero((size_t)s->memory_count + 1);
    if (!taken)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < y->count; i++) {
        const rp__collide_key *key = &s->candidates[y->candidate[i]].key;
        const rp__collide_record *found = !y->is_new[i] || !s->params->warm_start ? NULL : rp__collide_find(s->memory, s->memory_count, key);
        if (y->is_new[i])
            y->record[i] = found ? found - s->memory : -1;
        if (y->record[i] >= 0)
            taken[y->record[i]] = true;
    }
    for (int64_t i = 0; i < y->count && s->params->warm_start; i++) {
        const rp__collide_record *found = y->is_new[i] && y->record[i] < 0 ? left_by_neighbour(s, &s->candidates[y->candidate[i]].key, taken) : NULL;
        if (found) {
            y->record[i] = found - s->memory;
            taken[y->record[i]] = true;
        }
    }
    rp__base_free(taken);
    return RP_OK;
}

/* A candidate counts when it would touch: from the velocities without contacts in the first pass, from those found in the next ones, and
 * those that held something in the last step. Distances that stay open would only blur the scale of the residuals. */
rp_result rp__contact_activate(rp__contact_state *s, const rp__world *world, double dt, bool first, int64_t *added)
{
    rp__contact_system *y = &s->system;
    *added = 0;
    if (first)
        y->count = y->pool_size = 0;
    if (!GROW(y, candidate, 4, s->candidate_count) || !GROW(y, is_new, 29, s->candidate_count))
        return RP_OUT_OF_MEMORY;
    memset(y->is_new, false, (size_t)y->count);
    for (int64_t k = 0; k < s->candidate_count; k++) {
        rp__contact_candidate *c = &s->candidates[k];
        if (c->contact >= 0)
            continue;
        double end = c->gap + dt * rp__contact_closing(s, world, c, first ? y->free_velocity : y->velocity);
        bool wanted = end < (first ? 0.01 * c->size : -1e-3 * c->size);
        if (first && !wanted) {
            const rp__collide_record *old = rp__collide_find(s->memory, s->memory_count, &c->key);
            wanted = old && (old->impulse[0] != 0 || old->impulse[1] != 0 || old->impulse[2] != 0);
        }
        if (!wanted)
            continue;
        c->contact = y->count;
        y->is_new[y->count] = true;
        y->candidate[y->count++] = k;
        ++*added;
    }
    return RP_OK;
}

/* ---- H and Y ---- */

static void set_axes(rp__contact_system *y, int64_t i, const rp__contact_candidate *c)
{
    rp__vec3 n = c->normal, x = { 1, 0, 0 }, z = { 0, 0, 1 };
    y->axis[i][0] = n;
    if (y->dim == 2) {
        y->axis[i][1] = rp__vec3_make(-n.y, n.x, 0);
        y->axis[i][2] = z;
        return;
    }
    rp__vec3 t = rp__vec3_axpy(-rp__vec3_dot(n, c->along), n, c->along);
    double length = rp__vec3_norm(t);
    t = length > 1e-3 * rp__vec3_norm(c->along) && length > 0 ? rp__vec3_scale(1 / length, t)
                                                              : rp__vec3_unit(rp__vec3_cross(fabs(n.z) < 0.9 ? z : x, n), x);
    y->axis[i][1] = t;
    y->axis[i][2] = rp__vec3_cross(n, t);
}

static void set_row(rp__contact_column *c, int row, const rp__vec3 axis[3], rp__vec3 direction, double factor)
{
    for (int k = 0; k < 3; k++)
        c->h[row][k] = factor * rp__vec3_dot(axis[k], direction);
}

static rp__vec3 unit_axis(int a)
{
    return rp__vec3_make(a == 0, a == 1, a == 2);
}

/* Rows of edge j of a fibre, x_j theta_j x_j+1 from `row` on, for a contact at `arm` from its axis. The edge turns with theta' t + t×d,
 * d = (x_j+1' - x_j') / |e|, so the surface has besides the velocity of the axis theta' t×arm (the twist column, without which fibres cannot roll) and
 * (t×d)×arm = d (t·arm) - t (arm·d): a rope on a drum touches it at the drum's radius, where it goes more slowly than its axis. */
static void add_turning(rp__contact_column *c, int row, const rp__rod *rod, int j, const rp__vec3 axis[3], rp__vec3 arm, double factor)
{
    rp__vec3 t = rp__vec3_load(rod->tangent + 3 * j), spin = rp__vec3_cross(t, arm);
    double along = rp__vec3_dot(t, arm), by_length = factor / rp__vec3_norm(rp__vec3_sub(rp__rod_node(rod, j + 1), rp__rod_node(rod, j)));
    double side[3];
    rp__vec3_store(side, arm);
    for (int k = 0; k < 3; k++) {
        double n[3], tk = rp__vec3_dot(t, axis[k]);
        rp__vec3_store(n, axis[k]);
        c->h[row + 3][k] += factor * rp__vec3_dot(axis[k], spin);
        for (int a = 0; a < 3; a++) {
            double turned = by_length * (along * n[a] - tk * side[a]);
            c->h[row + a][k] -= turned;
            c->h[row + 4 + a][k] += turned;
        }
    }
}

/* Rows of H. The surface of a rigid thing moves with v + omega×arm; that of a fibre with its axis, and as its edge turns; at a node as the mean of both
 * edges does. */
static void set_column(const rp__contact_state *s, const rp__contact_end *e, const rp__vec3 axis[3], double sign, rp__contact_column *c)
{
    const rp__contact_system *y = &s->system;
    c->object = e->object;
    if (!rp__contact_is_fibre(s, e->object)) {
        c->first = c->y_first = y->object_first[e->object];
        c->rows = c->y_rows = 6;
        for (int a = 0; a < 3; a++) {
            set_row(c, a, axis, unit_axis(a), sign);
            set_row(c, 3 + a, axis, rp__vec3_cross(unit_axis(a), e->arm), sign);
        }
        return;
    }
    const rp__rod *rod = rp__contact_fibre_of(s, e->object)->rod;
    bool at_node = e->place < 0;
    bool before = at_node && e->part > rp__rod_first(rod), after = !at_node || e->part < rp__rod_first(rod) + rp__rod_nodes(rod) - 1;
    c->y_first = y->object_first[e->object];
    c->y_rows = rp__rod_unknowns(rod);
    c->first = c->y_first + 4 * (e->part - before);
    c->rows = 3 + 4 * (before + after);
    memset(c->h, 0, sizeof c->h);
    for (int a = 0; a < 3; a++) {
        set_row(c, 4 * before + a, axis, unit_axis(a), at_node ? sign : sign * (1 - e->place));
        if (!at_node)
            set_row(c, 4 + a, axis, unit_axis(a), sign * e->place);
    }
    if (before)
        add_turning(c, 0, rod, e->part - 1, axis, e->arm, sign / (before + after));
    if (after)
        add_turning(c, 4 * before, rod, e->part, axis, e->arm, sign / (before + after));
}

/* Y of one end. */
static void solve_column(const rp__contact_state *s, const rp__world *world, const rp__contact_grains *g, rp__contact_column *c)
{
    double *out = s->system.pool + c->y;
    if (rp__contact_is_fibre(s, c->object)) {
        const rp__contact_fibre *f = rp__contact_fibre_of(s, c->object);
        memset(out, 0, 3 * (size_t)c->y_rows * sizeof *out);
        memcpy(out + 3 * (c->first - c->y_first), c->h, 3 * (size_t)c->rows * sizeof *out);
        rp__rod_solve3(f->rod, f->factor, (int)(c->first - c->y_first), out);
        return;
    }
    for (int k = 0; k < 3; k++) {
        double in[6], to[6];
        for (int r = 0; r < 6; r++)
            in[r] = c->h[r][k];
        if (c->object < g->count) {
            rp__vec3_store(to, rp__vec3_scale(1 / g->mass[c->object], rp__vec3_load(in)));
            rp__vec3_store(to + 3, rp__contact_turn(g, c->object, rp__vec3_load(in + 3)));
        } else {
            double m[36];
            rp__body_inverse_mass(&world->bodies[c->object - g->count], m);
            for (int r = 0; r < 6; r++) {
                to[r] = 0;
                for (int q = 0; q < 6; q++)
                    to[r] += m[6 * r + q] * in[q];
            }
        }
        if (s->dim == 2)
            to[2] = to[3] = to[4] = 0;
        for (int r = 0; r < 6; r++)
            out[3 * r + k] = to[r];
    }
}

void rp__contact_add_block(const rp__contact_system *y, const rp__contact_column *a, const rp__contact_column *b, double *w)
{
    const double *to = y->pool + b->y + 3 * (a->first - b->y_first);
    double sum[3][3] = { { 0 } };
    for (int r = 0; r < a->rows; r++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum[i][j] += a->h[r][i] * to[3 * r + j];
    for (int i = 0; i < y->dim; i++)
        for (int j = 0; j < y->dim; j++)
            w[i * y->dim + j] += sum[i][j];
}

void rp__contact_set_columns(const rp__contact_state *s, int64_t i, rp__contact_column column[2])
{
    const rp__contact_system *y = &s->system;
    const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
    for (int e = 0; e < 2; e++) {
        column[e].object = NOTHING;
        column[e].rows = 0;
        if (c->end[e].object != NOTHING)
            set_column(s, &c->end[e], y->axis[i], e == 0 ? 1 : -1, &column[e]);
    }
}

/* The diagonal block of a contact by its columns. */
static void set_diagonal(work *w, const rp__contact_grains *g, int64_t i, double *diagonal)
{
    const rp__contact_system *y = &w->s->system;
    rp__contact_column *column = y->column[i];
    int d = y->dim;
    for (int e = 0; e < 2; e++)
        if (column[e].object != NOTHING)
            solve_column(w->s, w->world, g, &column[e]);
    for (int e = 0; e < 2; e++)
        if (column[e].object != NOTHING)
            rp__contact_add_block(y, &column[e], &column[e], diagonal);
    if (column[0].object == column[1].object && column[0].object != NOTHING) { /* a fibre that touches itself */
        rp__contact_add_block(y, &column[0], &column[1], diagonal);
        rp__contact_add_block(y, &column[1], &column[0], diagonal);
    }
    bool grains = false;
    for (int e = 0; e < 2; e++)
        grains |= column[e].object != NOTHING && (column[e].object < g->count || rp__contact_is_fibre(w->s, column[e].object));
    if (!grains) { /* joints may leave a body without any motion in some direction: keep the block regular */
        double trace = 0;
        for (int a = 0; a < d; a++)
            trace += diagonal[a * d + a];
        for (int a = 0; a < d; a++)
            diagonal[a * d + a] += 1e-8 * trace + 1e-300;
    }
    for (int p = 0; p < d; p++) /* symmetric to the bit */
        for (int q = 0; q < p; q++)
            diagonal[p * d + q] = diagonal[q * d + p] = 0.5 * (diagonal[p * d + q] + diagonal[q * d + p]);
}

/* W_ii with the moments of rolling, from what a unit of each component does to the velocities. */
static void widen_diagonal(const rp__contact_system *y, int64_t i, const double *impulses, double *diagonal)
{
    int d = y->dim, n = y->width;
    const rp__contact_rolling *roll = &y->roll[i];
    memset(diagonal, 0, (size_t)(n * n) * sizeof *diagonal);
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++)
            diagonal[a * n + b] = impulses[a * d + b];
    if (roll->radius == 0) { /* none here: components that stay 0 */
        for (int a = d; a < n; a++)
            diagonal[a * n + a] = impulses[0];
        return;
    }
    for (int b = d; b < n; b++) { /* column b: spins of both ends, then the velocities of the contact */
        double v[2][6] = { { 0 } }, u[6] = { 0 };
        for (int e = 0; e < 2; e++)
            for (int a = 0; a < 3; a++)
                v[e][3 + a] = (e == 0 ? 1 : -1) * roll->turn[e][3 * a + (d == 2 ? 2 : b - d)];
        for (int e = 0; e < 2; e++) {
            if (y->object[i][e] == NOTHING)
                continue;
            rp__vec3 spin = rp__vec3_load(v[e] + 3);
            for (int a = 0; a < d; a++)
                u[a] += y->is_ball[i] ? (a == 0 ? 0 : a == 1 ? -1 : 1) * y->ball[i].radius[e] * rp__vec3_dot(spin, y->axis[i][a == 1 ? 2 : 1])
                                      : v[e][3] * y->column[i][e].h[3][a] + v[e][4] * y->column[i][e].h[4][a] + v[e][5] * y->column[i][e].h[5][a];
            for (int a = d; a < n; a++)
                u[a] += (e == 0 ? 1 : -1) * roll->radius * v[e][d == 2 ? 5 : 3 + a - d];
        }
        for (int a = 0; a < n; a++)
            diagonal[a * n + b] = u[a];
        for (int a = 0; a < d; a++)
            diagonal[b * n + a] = u[a];
    }
}

static void columns_range(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    (void)worker;
    rp__contact_system *y = &w->s->system;
    rp__contact_grains g = rp__contact_grains_of(w->world, w->s->first_field);
    int d = y->dim;
    for (int64_t i = begin; i < end; i++) {
        if (!y->is_new[i])
            continue;
        double own[9] = { 0 }, *diagonal = y->diagonal + i * y->width * y->width;
        if (y->is_ball[i]) {
            double softness = y->ball[i].softness[0] + y->ball[i].softness[1];
            for (int k = 0; k < d; k++)
                own[k * d + k] = k == 0 ? softness : (1 + y->turning) * softness;
        } else {
            set_diagonal(w, &g, i, own);
        }
        y->mu[i] = w->s->candidates[y->candidate[i]].mu;
        if (y->width == d) {
            memcpy(diagonal, own, (size_t)(d * d) * sizeof *own);
            continue;
        }
        rp__contact_set_rolling(w->s, &g, i);
        widen_diagonal(y, i, own, diagonal);
    }
}

/* What one end has at the beginning of the step, for restitution. */
static double approach(const rp__contact_state *s, const rp__world *world, const rp__contact_candidate *c)
{
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    rp__vec3 u = { 0, 0, 0 };
    for (int e = 0; e < 2; e++) {
        const rp__contact_end *end = &c->end[e];
        rp__vec3 v = c->surface;
        if (end->object != NOTHING && rp__contact_is_fibre(s, end->object))
            return 0; /* fibres do not bounce: their elasticity is in their matrix */
        if (end->object != NOTHING && end->object < g.count) {
            int64_t i = end->object;
            v = rp__vec3_add(rp__vec3_make(g.v[0][i], g.v[1][i], g.v[2][i]),
                             rp__vec3_cross(rp__vec3_make(g.spin[0][i], g.spin[1][i], g.spin[2][i]), end->arm));
        } else if (end->object != NOTHING) {
            const rp__body *b = &world->bodies[end->object - g.count];
            v = rp__vec3_add(b->velocity, rp__vec3_cross(b->omega, end->arm));
        }
        u = rp__vec3_axpy(e == 0 ? 1 : -1, v, u);
    }
    return fmin(0, rp__vec3_dot(u, c->normal));
}

/* w_N = (gap - overlap) / dt while the surfaces are apart by more than `overlap` of a radius, where they touch: what closes ends there. Nearer,
 * and where they overlap, w_N = 0, so that u = 0 is a solution wherever things can rest: what is wedged with an overlap on both sides could
 * not part from both, its forces would grow without bound. Overlaps are taken away by displacements without speed (solve.c, separate). w_N
 * does not jump: a loaded contact that errors opened a little is asked to close that little.
 * With restitution e, an approach that would touch within the step leaves with e times its speed (Newton's law). */
static void set_w(const rp__contact_state *s, const rp__world *world, const rp__contact_candidate *c, double dt, double w[3])
{
    rp__vec3 axis[3];
    double e = s->params->restitution;
    memcpy(axis, s->system.axis[c->contact], sizeof axis);
    w[0] = fmax(0, c->gap - s->params->overlap * c->size) / dt;
    if (e > 0) {
        double speed = approach(s, world, c);
        double fall = rp__vec3_norm(rp__vec3_load(world->def->gravity)) * dt;
        if (c->gap + dt * speed < 0 && -speed > 2 * fall) /* slower ones come to rest */
            w[0] = e * speed;
    }
    w[1] = w[2] = 0;
    if (c->end[1].object == NOTHING)
        for (int k = 0; k < 3; k++)
            w[k] -= rp__vec3_dot(axis[k], c->surface);
}

/* A contact of two spheres, or of one with what moves as told, needs no columns. */
static bool make_ball(const rp__contact_state *s, const rp__contact_grains *g, const rp__contact_candidate *c, const rp__vec3 axis[3], rp__contact_ball *ball)
{
    (void)s;
    if (g->slenderness > 0)
        return false;
    for (int e = 0; e < 2; e++)
        if (c->end[e].object != NOTHING && c->end[e].object >= g->count)
            return false;
    *ball = (rp__contact_ball){ .n = axis[0], .t = axis[1] };
    for (int e = 0; e < 2; e++)
        if (c->end[e].object != NOTHING) {
            ball->radius[e] = g->radius[c->end[e].object];
            ball->softness[e] = 1 / g->mass[c->end[e].object];
        }
    return true;
}

static void describe_contacts(rp__contact_state *s, const rp__world *world)
{
    rp__contact_system *y = &s->system;
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    for (int64_t i = 0; i < y->count; i++) {
        const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
        if (!y->is_new[i])
            continue;
        set_axes(y, i, c);
        y->is_ball[i] = make_ball(s, &g, c, y->axis[i], &y->ball[i]);
        if (y->is_ball[i])
            continue;
        rp__contact_set_columns(s, i, y->column[i]);
        for (int e = 0; e < 2; e++)
            if (y->object[i][e] != NOTHING) {
                y->column[i][e].y = y->pool_size;
                y->pool_size += 3 * y->column[i][e].y_rows;
            }
    }
}

/* Impulse and moment of the last step in the new axes, back into the cone. */
static void start_warm(rp__contact_state *s, int64_t i)
{
    rp__contact_system *y = &s->system;
    const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
    const rp__collide_record *old = y->record[i] >= 0 ? &s->memory[y->record[i]] : NULL;
    double r[6] = { 0 };
    if (old) {
        for (int k = 0; k < y->dim; k++)
            r[k] = rp__vec3_dot(y->axis[i][k], rp__vec3_load(old->impulse));
        for (int k = y->dim; k < y->width && y->roll[i].radius > 0; k++)
            r[k] = old->moment[y->dim == 2 ? 2 : k - y->dim] / y->roll[i].radius;
    }
    if (!(r[0] > 0))
        memset(r, 0, sizeof r);
    double tangential = 0, moment = 0;
    for (int k = 1; k < y->width; k++)
        *(k < y->dim ? &tangential : &moment) += r[k] * r[k];
    tangential = sqrt(tangential);
    moment = sqrt(moment);
    for (int k = 1; k < y->dim && tangential > c->mu * r[0]; k++)
        r[k] *= c->mu * r[0] / tangential;
    for (int k = y->dim; k < y->width && moment > y->rolling[i] * r[0]; k++)
        r[k] *= y->rolling[i] * r[0] / moment;
    memcpy(y->r + i * y->width, r, (size_t)y->width * sizeof *r);
}

rp_result rp__contact_assemble(rp__contact_state *s, const rp__world *world, double dt)
{
    rp__contact_system *y = &s->system;
    int d = y->width;
    int64_t n = y->count;
    RP_TRY(rp__contact_order(s));
    describe_contacts(s, world);
    if (!GROW(y, pool, 17, y->pool_size))
        return RP_OUT_OF_MEMORY;
    work w = { s, world, dt, NULL };
    rp__exec_for(n, CHUNK, columns_range, &w);
    RP_TRY(rp__contact_make_blocks(y));
    RP_TRY(remember(s));
    for (int64_t i = 0; i < n; i++) {
        double all[3];
        if (!y->is_new[i])
            continue;
        set_w(s, world, &s->candidates[y->candidate[i]], dt, all);
        rp__contact_pull(y, i, y->free_velocity, y->b + i * d);
        for (int k = 0; k < d; k++) {
            y->w[i * d + k] = k < y->dim ? all[k] : 0;
            y->b[i * d + k] += y->w[i * d + k];
        }
        if (d > y->dim)
            rp__contact_roll_told(s, world, i);
        start_warm(s, i);
    }
    return RP_OK;
}
