/* Contacts of grains with walls and bodies.
 *
 * A node in or on a body with grains around it has Coulomb's law on its own velocity; so has each particle that touches, or will within the step, on
 * the velocity where it is. Nodes alone let particles creep into a body between them, particles alone leave nodes without support where the
 * sampling is thin.
 *
 * Walls of the domain lie on nodes. There the splines become exact: the node behind the wall is tied to go on as a line,
 *     u_-1 = 2 u_0 - u_1,
 * so that in the half cell at the wall u is linear between the nodes 0 and 1, and Coulomb's law at node 0 is the law at the wall. A linear field
 * passes through undisturbed. The tie's impulse (1, -2, 1) r has neither sum nor moment.
 *
 * The gap is the way that the nearest particle around still has to the surface, less half the size of its cube of material; beside a full
 * dual cell there is none. */
#include "nonsmooth/contact.h"
#include "nonsmooth/dual.h"
#include "nonsmooth/shared.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct job {
    dual *y;
    const rp__world *world;
    double dt;
} job;

/* Distance to a surface, its normal. */
static double distance_to(const job *w, int surface, rp__vec3 x, rp__vec3 *n)
{
    if (surface >= 6) {
        const rp__body *body = &w->world->bodies[surface - 6];
        return rp__body_distance(body, &body->pose, x, n);
    }
    const rp__lattice *l = &w->y->lattice;
    int axis = surface / 2;
    double normal[3] = { 0 }, at[3] = { x.x, x.y, x.z };
    normal[axis] = surface & 1 ? -1 : 1;
    *n = rp__vec3_load(normal);
    return surface & 1 ? l->origin[axis] + l->h * (double)l->cells[axis] - at[axis] : at[axis] - l->origin[axis];
}

static const rp_surface *surface_of(const job *w, int surface)
{
    return surface >= 6 ? &w->world->bodies[surface - 6].def.surface : &w->world->def->wall[surface];
}

static rp__vec3 node_place(const dual *y, int64_t j)
{
    int64_t at[3];
    const rp__lattice *l = &y->lattice;
    rp__grid_coordinates(&y->grid, j, at);
    return rp__vec3_make(l->origin[0] + l->h * (double)at[0], l->origin[1] + l->h * (double)at[1],
                         RP_DIM == 3 ? l->origin[2] + l->h * (double)at[2] : 0);
}

static rp__vec3 particle_place(const job *w, int64_t k)
{
    const rp__particles *p = w->world->particles;
    return rp__vec3_make(p->x[0][k], p->x[1][k], RP_DIM == 3 ? p->x[2][k] : 0);
}

static du_contact *append(dual *y)
{
    du_contacts *c = &y->contacts;
    if (!rp__base_grow(&c->list, &c->capacity, c->count + 1, sizeof *c->list))
        return NULL;
    memset(&c->list[c->count], 0, sizeof *c->list);
    c->list[c->count].free_body = -1;
    return &c->list[c->count++];
}

/* Fills in what the surface says, once place, normal, gap and share are there; without a mass to push it is no contact. */
static void finish(const job *w, int64_t block, du_contact *c)
{
    dual *y = w->y;
    const rp_surface *s = surface_of(w, c->surface);
    double squares = 0;
    for (int k = 0; k < c->count; k++) {
        double m = y->nodes.mass[du_tile_node(y, block, c->at[k])];
        c->share[k] = m > 0 ? c->share[k] : 0;
        squares += m > 0 ? c->share[k] * c->share[k] / m : 0;
    }
    if (!(squares > 0)) {
        y->contacts.count--;
        return;
    }
    c->mass = 1 / squares;
    if (RP_DIM == 2)
        c->normal[2] = 0;
    bool free = c->surface >= 6 && w->world->bodies[c->surface - 6].def.kind == RP_BODY_FREE;
    if (free)
        c->free_body = c->surface - 6;
    else if (c->surface >= 6)
        rp__vec3_store(c->target, rp__body_velocity_at(&w->world->bodies[c->surface - 6], rp__vec3_load(c->place)));
    c->mu = s->kind == RP_FRICTIONAL ? s->friction : s->kind == RP_SLIP ? 0 : c->gap > 0 ? 1e3 : INFINITY;
}

/* ---- nodes ---- */

/* Way to the surface of the particles around a node; none beside a full dual cell. */
static double node_gap(const job *w, int64_t j, int surface)
{
    const dual *y = w->y;
    double least = 1e3 * y->lattice.h;
    for (int n = 0; n < NS_STENCIL; n++) {
        /* The dual cells around the node: their lowest nodes lie up to two before it. */
        int back[3] = { n % 3, n / 3 % 3, n / 9 };
        int64_t i = j;
        for (int round = 0; round < 2 && i >= 0; round++) {
            const int one[3] = { -(back[0] > round), -(back[1] > round), -(back[2] > round) };
            i = du_beside(y, i, one);
        }
        if (!du_in_use(y, i))
            continue;
        double rest = 1 - y->stress[i].full;
        for (int64_t k = y->sum[i].first; k < y->sum[i].first + y->sum[i].count && least > 0; k++) {
            rp__vec3 unused;
            double d = distance_to(w, surface, particle_place(w, k), &unused) - 0.5 * pow(y->bulk[k], 1.0 / RP_DIM);
            d = rest * (d > 0 ? d : 0);
            least = d < least ? d : least;
        }
    }
    return least;
}

static rp_result touch_node(const job *w, int64_t j, int surface)
{
    dual *y = w->y;
    rp__vec3 n, x = node_place(y, j);
    double d = distance_to(w, surface, x, &n), h = y->lattice.h;
    if (d > 1e-6 * h)
        return RP_OK;
    if (surface < 6 && d < -1e-6 * h)
        return RP_OK; /* tied */
    du_contact *c = append(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    c->key = j;
    c->surface = surface;
    c->count = 1;
    c->at[0] = du_tile_base((int)(j % RP_BLOCK_NODES));
    c->share[0] = 1;
    c->gap = node_gap(w, j, surface) / w->dt;
    static const int before[3] = { -1, -1, RP_DIM == 3 ? -1 : 0 };
    int64_t i = du_beside(y, j, before);
    c->strict = du_in_use(y, i) ? y->stress[i].strict : 1;
    rp__vec3_store(c->place, rp__vec3_axpy(-d, n, x));
    rp__vec3_store(c->normal, n);
    c->adhesion = c->gap > 0 ? 0 : surface_of(w, surface)->adhesion * du_power(h) / h * w->dt;
    finish(w, j / RP_BLOCK_NODES, c);
    return RP_OK;
}

/* The node behind a wall with the two before it; it belongs to the block of its lowest node. */
static rp_result tie_node(const job *w, int64_t block, int local, int face)
{
    dual *y = w->y;
    static const int stride[3] = { 1, DU_SIDE, DU_SIDE * DU_SIDE };
    int64_t at[3], j = block * RP_BLOCK_NODES + local;
    int axis = face / 2, base = du_tile_base(local);
    rp__grid_coordinates(&y->grid, j, at);
    if (at[axis] != (face & 1 ? y->lattice.cells[axis] - 1 : -1))
        return RP_OK;
    int64_t behind = du_tile_node(y, block, base + (face & 1 ? 2 * stride[axis] : 0));
    if (behind < 0 || !(y->nodes.mass[behind] > 0))
        return RP_OK;
    du_contact *c = append(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    double squares = 0;
    c->key = j;
    c->surface = DU_TIE + face;
    c->count = 3;
    c->mu = INFINITY;
    c->strict = 1;
    for (int k = 0; k < 3; k++) {
        c->at[k] = base + k * stride[axis];
        int64_t node = du_tile_node(y, block, c->at[k]);
        double m = node < 0 ? 0 : y->nodes.mass[node];
        c->share[k] = k == 1 ? -2 : 1;
        squares += m > 0 ? c->share[k] * c->share[k] / m : INFINITY;
    }
    c->mass = 1 / squares;
    if (isinf(squares))
        y->contacts.count--;
    return RP_OK;
}

/* ---- particles ---- */

/* Way of the particle towards the surface within the step, at most. */
static double approach(const job *w, int64_t k, int surface, rp__vec3 x, rp__vec3 n)
{
    const rp__particles *p = w->world->particles;
    rp__vec3 v = rp__vec3_make(p->v[0][k], p->v[1][k], RP_DIM == 3 ? p->v[2][k] : 0);
    v = rp__vec3_sub(v, rp__body_velocity_at(&w->world->bodies[surface - 6], x));
    double way = w->dt * (-rp__vec3_dot(v, n) + w->dt * w->y->gravity);
    return way > 0 ? way : 0;
}

static rp_result touch_particle(const job *w, int64_t i, int64_t k, int surface)
{
    dual *y = w->y;
    rp__vec3 m, x = particle_place(w, k);
    double d = distance_to(w, surface, x, &m), radius = 0.5 * pow(y->bulk[k], 1.0 / RP_DIM), n[3][3], unused[3];
    double gap = d > radius ? d - radius : 0, q[3] = { x.x, x.y, x.z };
    if (gap > approach(w, k, surface, x, m))
        return RP_OK;
    int side = (int)(k - y->sum[i].first);
    if (side >= DU_SIDES)
        return RP_OK;
    du_contact *c = append(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    c->key = i;
    c->surface = surface;
    c->side = 1 + side;
    c->strict = y->stress[i].strict;
    c->gap = gap / w->dt;
    c->count = NS_STENCIL;
    for (int a = 0; a < RP_DIM; a++) {
        double at = rp__lattice_coordinate(&y->lattice, a, q[a]);
        du_spline(at - rp__lattice_base(2, at) - 1, n[a], unused);
    }
    for (int j = 0; j < NS_STENCIL; j++) {
        c->at[j] = du_tile_base((int)(i % RP_BLOCK_NODES)) + y->offset[j];
        c->share[j] = n[0][j % 3] * n[1][j / 3 % 3] * (RP_DIM == 3 ? n[2][j / 9] : 1);
    }
    rp__vec3_store(c->place, rp__vec3_axpy(-d, m, x));
    rp__vec3_store(c->normal, m);
    finish(w, i / RP_BLOCK_NODES, c);
    return RP_OK;
}

static rp_result touch_block(const job *w, int64_t b)
{
    dual *y = w->y;
    bool face[6] = { false };
    for (int f = 0; f < 2 * RP_DIM; f++) {
        int64_t low = 4 * (int64_t)y->grid.coord[b][f / 2];
        face[f] = du_closed(w->world, f) && (f & 1 ? low + 3 >= y->lattice.cells[f / 2] - 1 : low <= 0);
    }
    for (int l = 0; l < RP_BLOCK_NODES; l++) {
        int64_t j = b * RP_BLOCK_NODES + l;
        for (int f = 0; f < 2 * RP_DIM; f++)
            if (face[f])
                RP_TRY(tie_node(w, b, l, f));
        if (!(y->nodes.mass[j] > 0))
            continue;
        for (int f = 0; f < 2 * RP_DIM; f++)
            if (face[f])
                RP_TRY(touch_node(w, j, f));
        for (uint64_t bits = y->near[b]; bits; bits &= bits - 1)
            RP_TRY(touch_node(w, j, 6 + __builtin_ctzll(bits)));
    }
    for (uint64_t cells = y->near[b] ? y->active[b] : 0; cells; cells &= cells - 1) {
        int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(cells);
        for (uint64_t bits = y->near[b]; bits; bits &= bits - 1)
            for (int64_t k = y->sum[i].first; k < y->sum[i].first + y->sum[i].count; k++)
                RP_TRY(touch_particle(w, i, k, 6 + __builtin_ctzll(bits)));
    }
    return RP_OK;
}

static rp_result reserve_bodies(dual *y, const rp__world *world)
{
    du_contacts *c = &y->contacts;
    if (world->body_count > c->body_capacity) {
        rp__base_free(c->body_velocity);
        rp__base_free(c->body_previous);
        rp__base_free(c->body_inverse);
        rp__base_free(y->best.body);
        c->body_capacity = 0;
        c->body_velocity = RP_NEW_ARRAY(double, 6 * world->body_count);
        c->body_previous = RP_NEW_ARRAY(double, 6 * world->body_count);
        c->body_inverse = RP_NEW_ARRAY(double, 36 * world->body_count);
        y->best.body = RP_NEW_ARRAY(double, 6 * world->body_count);
        if (!c->body_velocity || !c->body_previous || !c->body_inverse || !y->best.body)
            return RP_OUT_OF_MEMORY;
        c->body_capacity = world->body_count;
    }
    for (int k = 0; k < world->body_count; k++) {
        rp__vec3_store(c->body_velocity + 6 * k, world->bodies[k].velocity);
        rp__vec3_store(c->body_velocity + 6 * k + 3, world->bodies[k].omega);
        rp__body_inverse_mass(&world->bodies[k], c->body_inverse + 36 * k);
    }
    return RP_OK;
}

rp_result DU(find_contacts)(dual *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    du_contacts *c = &y->contacts;
    c->count = c->free_count = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        c->first[b] = c->count;
        RP_TRY(touch_block(&w, b));
    }
    c->first[y->grid.blocks] = c->count;
    if (!rp__base_grow(&c->free, &c->free_capacity, c->count + 1, sizeof *c->free) ||
        !rp__base_grow(&y->best.impulse, &y->best.contact_capacity, 3 * c->count + 1, sizeof(double)))
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < c->count; k++)
        if (c->list[k].free_body >= 0)
            c->free[c->free_count++] = k;
    return reserve_bodies(y, world);
}

/* Forces on walls and bodies are the opposite of those on the grains. Free bodies get their new velocity. */
void DU(report_contacts)(dual *y, rp__world *world, double dt)
{
    for (int64_t i = 0; i < y->contacts.count; i++) {
        const du_contact *c = &y->contacts.list[i];
        if (c->surface < DU_TIE)
            ns_report_contact(world, c->surface, i, c->place, c->normal, c->adhesion, c->impulse, dt);
    }
    ns_move_bodies(world, y->contacts.body_velocity, dt);
}
