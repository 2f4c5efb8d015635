/* Contacts of grains with walls and bodies.
 *
 * Coulomb's law acts on the velocity of the grains on the surface, sum N_j(x) u_j: on a wall at its nodes, on a body at the places nearest to the
 * nodes around it, wherever these lie in the cells. Nodes behind the surface are tied to those before it (dual_tie_dim.c), so that Coulomb's law at
 * the nodes of a wall is the law at the wall.
 *
 * The gap is the way that the nearest particle around still has to the surface, less half the size of its cube of material; beside a full
 * dual cell there is none. */
#include "nonsmooth/contact.h"
#include "nonsmooth/dual.h"
#include "nonsmooth/dual_surface.h"
#include "nonsmooth/shared.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SIDES = 1 << RP_DIM };
#define EDGE_STEP 0.1 /* cells to each side of a place, to see whether it is an edge */
#define EDGE_FALL 0.5 /* and how far the surface falls away there in all, in these steps: 29 degrees */
#define SAME_SIDE 0.7 /* cosine between the normals of one side of a body and another: 45 degrees */

typedef struct job {
    dual *y;
    const rp__world *world;
    double dt;
    bool rated;             /* friction depends on the rate somewhere */
} job;

static const rp_surface *surface_of(const job *w, int surface)
{
    return surface >= 6 ? &w->world->bodies[surface - 6].def.surface : &w->world->def->wall[surface];
}

static rp__vec3 particle_place(const job *w, int64_t k)
{
    const rp__particles *p = w->world->particles;
    return rp__vec3_make(p->x[0][k], p->x[1][k], RP_DIM == 3 ? p->x[2][k] : 0);
}

/* Friction on a plane, cohesion and calm (1: at rest) of the grains in the dual cells around stress i. Viscous ones add their stress at a
 * strain rate of sqrt(g / h) over rho g h: much viscosity makes a layer of shear as thick as cells, and the surface holds as it says. */
static void grains_around(const dual *y, int64_t i, const double *normal, double *friction, double *cohesion, double *calm)
{
    double volume = 0, mass = 0, viscosity = 0, across = 0, h = y->lattice.h;
    *friction = *cohesion = *calm = 0;
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (!du_in_use(y, other))
            continue;
        volume += y->sum[other].volume;
        *friction += y->sum[other].friction;
        *cohesion += y->sum[other].cohesion;
        *calm += y->sum[other].volume * y->stress[other].calm;
        mass += y->sum[other].mass, viscosity += y->sum[other].viscosity;
        across += y->sum[other].volume * DU(friction_across)(y, other, normal);
    }
    *friction *= volume > 0 ? across / (volume * volume) : 1;
    *friction += viscosity > 0 ? viscosity / (mass * h * sqrt(y->gravity * h)) : 0;
    *cohesion /= volume > 0 ? volume : 1;
    *calm /= volume > 0 ? volume : 1;
}

/* Velocity of the grains along the surface, which moves with `own`, as they come from the last step. */
static rp__vec3 slip_of(const job *w, int64_t block, const du_contact *c, rp__vec3 own)
{
    const dual *y = w->y;
    rp__vec3 v = rp__vec3_scale(-1, own), n = rp__vec3_load(c->normal);
    for (int k = 0; k < c->count; k++) {
        int64_t j = du_tile_node(y, block, c->at[k]);
        double share = c->share[k] / y->nodes.mass[j];
        v = rp__vec3_axpy(share, rp__vec3_make(y->nodes.momentum[0][j], y->nodes.momentum[1][j], RP_DIM == 3 ? y->nodes.momentum[2][j] : 0), v);
    }
    return rp__vec3_axpy(-rp__vec3_dot(v, n), n, v);
}

/* A scripted body is met where it will be: grains that go straight ahead by dt u end before it at the end of the step when
 *     n · (dt u - (x_1 - x)) + d >= 0,
 * x_1 where it takes the place x, n the normal there, d how far its surface falls away on the way that they slip, as long as that leads along the same
 * side. With its velocity and its normal of the beginning, and as a plane, a drum takes in a layer of grains in every step. */
static void carry(const job *w, int64_t block, du_contact *c)
{
    const rp__body *body = &w->world->bodies[c->surface - 6];
    rp__vec3 x = rp__vec3_load(c->place), to = rp__body_carried(body, x, w->dt), from = rp__vec3_load(c->normal), n, there;
    rp__vec3 own = rp__vec3_scale(1 / w->dt, rp__vec3_sub(to, x));
    double d = rp__body_distance(body, &body->pose_next, to, &n), h = w->y->lattice.h;
    if (!body->def.sequence)
        n = rp__quat_rotate(rp__quat_multiply(body->pose_next.orientation, rp__quat_conjugate(body->pose.orientation)), from);
    else if (!(rp__vec3_dot(n, from) > SAME_SIDE))
        n = from;
    if (RP_DIM == 2)
        n.z = own.z = 0;
    n = rp__vec3_unit(n, from);
    rp__vec3_store(c->normal, n);
    rp__vec3 way = rp__vec3_scale(w->dt, slip_of(w, block, c, own));
    double length = rp__vec3_norm(way);
    double fall = rp__body_distance(body, &body->pose_next, rp__vec3_axpy(length > h ? h / length : 1, way, to), &there) - d;
    if (rp__vec3_dot(there, n) > SAME_SIDE)
        own = rp__vec3_axpy(-fall / w->dt, n, own);
    rp__vec3_store(c->target, own);
}

static rp__vec3 own_velocity(const job *w, const du_contact *c)
{
    return c->free_body < 0 ? rp__vec3_load(c->target) : rp__body_velocity_at(&w->world->bodies[c->free_body], rp__vec3_load(c->place));
}

/* Friction with a surface, from that of the surface itself. On one rougher than the grains these shear among themselves, and where their
 * friction does not depend on the rate the layer that shears is as thin as can be: thinner than a cell. So they slide on it as soon as they
 * yield, at mu^ in steady shear; at rest the ratio of shear and normal stress on a plane may be up to tan(asin mu^). A floor that
 * would hold the lowest node slows down a layer half a cell thick. */
static double friction_with(const job *w, int64_t block, const du_contact *c, double own, double *cohesion)
{
    const dual *y = w->y;
    double inner, calm, h = y->lattice.h;
    grains_around(y, c->key, c->normal, &inner, cohesion, &calm);
    if (w->rated || y->trilinear || !(inner < own))
        return own;
    double slow = y->gravity > 0 ? 1 - rp__vec3_norm(slip_of(w, block, c, own_velocity(w, c))) / (y->params->apex_rate * sqrt(y->gravity * h)) : 0;
    calm = slow < calm ? slow : calm;
    double most = inner < 1 ? inner / sqrt(1 - inner * inner) : INFINITY;
    most = most < own ? most : own;
    return calm > 0 ? (isinf(most) ? most : inner + calm * (most - inner)) : inner;
}

/* Fills in what the surface says, once place, normal, gap and share are there. */
static void finish(const job *w, int64_t block, du_contact *c, double area)
{
    dual *y = w->y;
    const rp_surface *s = surface_of(w, c->surface);
    double squares = 0, cohesion;
    for (int k = 0; k < c->count; k++)
        squares += c->share[k] * c->share[k] / du_mass(y, block, c->at[k]);
    c->mass = 1 / squares;
    if (RP_DIM == 2)
        c->normal[2] = 0;
    bool free = c->surface >= 6 && w->world->bodies[c->surface - 6].def.kind == RP_BODY_FREE;
    if (free)
        c->free_body = c->surface - 6;
    else if (c->surface >= 6)
        carry(w, block, c);
    double own = s->kind == RP_FRICTIONAL ? s->friction : s->kind == RP_SLIP ? 0 : c->gap > 0 ? 1e3 : INFINITY;
    c->mu = friction_with(w, block, c, own, &cohesion);
    double adhesion = s->kind == RP_STICK ? cohesion : s->adhesion;
    c->adhesion = c->gap > 0 || isinf(c->mu) ? 0 : adhesion * area * w->dt;
}

/* ---- gaps ---- */

/* Way to a side of the surface, with that normal, of the particles before it in the dual cells around stress i; none beside a full one. */
static double gap_around(const job *w, int64_t i, int surface, rp__vec3 normal)
{
    const dual *y = w->y;
    double least = 1e3 * y->lattice.h;
    if (y->trilinear) /* the paper has none */
        return 0;
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (!du_in_use(y, other))
            continue;
        double rest = 1 - y->stress[other].full;
        for (int64_t k = y->sum[other].first; k < y->sum[other].first + y->sum[other].count && least > 0; k++) {
            rp__vec3 own;
            double d = du_distance(w->y, w->world, surface, particle_place(w, k), &own) - 0.5 * pow(y->bulk[k], 1.0 / RP_DIM);
            if (rp__vec3_dot(own, normal) < SAME_SIDE)
                continue;
            d = rest * (d > 0 ? d : 0);
            least = d < least ? d : least;
        }
    }
    return least;
}

/* ---- the surfaces ---- */

/* A node of the tile as the middle of a dual cell: its stress, and the nodes around it that the tile has. A dual cell belongs to the block of
 * its lowest node; where that block is not there, for it would have no grains, to the next. */
typedef struct middle {
    int64_t stress;         /* the dual cell, or the nearest to it that is there */
    int side;               /* one of several with the same stress */
    int at[NS_STENCIL];     /* in the tile, or -1 */
} middle;

static bool find_middle(const dual *y, int64_t block, int tile, middle *m)
{
    static const int step[3] = { 1, 3, 9 }, stride[3] = { 1, DU_SIDE, DU_SIDE * DU_SIDE };
    int q[3] = { tile % DU_SIDE, tile / DU_SIDE % DU_SIDE, tile / (DU_SIDE * DU_SIDE) }, local = 0, low = 0;
    for (int a = 0; a < RP_DIM; a++) {
        if (q[a] > RP_BLOCK)
            return false;
        low |= (q[a] == 0) << a;
        local |= (q[a] > 0 ? q[a] - 1 : 0) << 2 * a;
    }
    for (int part = low; part; part = (part - 1) & low) {
        int neighbour = RP_NEIGHBOURS / 2;
        for (int a = 0; a < RP_DIM; a++)
            neighbour -= part >> a & 1 ? step[a] : 0;
        if (y->grid.neighbour[block][neighbour] >= 0)
            return false;
    }
    m->stress = block * RP_BLOCK_NODES + local;
    m->side = low;
    for (int k = 0; k < NS_STENCIL; k++) {
        int way[3] = { k % 3 - 1, k / 3 % 3 - 1, RP_DIM == 3 ? k / 9 - 1 : 0 };
        m->at[k] = tile;
        for (int a = 0; a < RP_DIM; a++)
            m->at[k] = m->at[k] < 0 || q[a] + way[a] < 0 ? -1 : m->at[k] + way[a] * stride[a];
    }
    return true;
}

/* The law at `x` on the surface, on sum share_j u_j over the nodes around a middle that have mass, for a surface of the given area. */
static rp_result touch(const job *w, int64_t block, const middle *m, const double *share, int surface, rp__vec3 x, rp__vec3 n, double area)
{
    dual *y = w->y;
    double sum = 0;
    for (int k = 0; k < NS_STENCIL; k++)
        sum += m->at[k] >= 0 && du_mass(y, block, m->at[k]) > 0 ? share[k] : 0;
    if (!(sum > 0))
        return RP_OK;
    du_contact *c = DU(new_contact)(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    c->key = m->stress;
    c->side = m->side;
    c->surface = surface;
    for (int k = 0; k < NS_STENCIL; k++)
        if (share[k] > 0 && m->at[k] >= 0 && du_mass(y, block, m->at[k]) > 0) {
            c->at[c->count] = m->at[k];
            c->share[c->count++] = share[k] / sum;
        }
    c->gap = gap_around(w, m->stress, surface, n) / w->dt;
    c->strict = du_in_use(y, m->stress) ? y->stress[m->stress].strict : 1;
    rp__vec3_store(c->place, x);
    rp__vec3_store(c->normal, n);
    finish(w, block, c, area);
    return RP_OK;
}

/* A node on a wall. */
static rp_result touch_wall(const job *w, int64_t block, int tile, int face)
{
    const dual *y = w->y;
    static const double share[NS_STENCIL] = { [DU_CENTRE] = 1 };
    middle m;
    int64_t j = du_tile_node(y, block, tile), at[3];
    if (j < 0 || !(y->nodes.mass[j] > 0))
        return RP_OK;
    rp__grid_coordinates(&y->grid, j, at);
    if (at[face / 2] != (face & 1 ? y->lattice.cells[face / 2] : 0) || !find_middle(y, block, tile, &m))
        return RP_OK;
    rp__vec3 n, x = du_place(y, j);
    du_distance(w->y, w->world, face, x, &n);
    return touch(w, block, &m, share, face, x, n, du_power(y->lattice.h) / y->lattice.h);
}

/* Way out of the wall or other body that a place on a surface lies deepest behind; 0 when grains can be there. */
static double way_out(const job *w, int64_t block, int surface, rp__vec3 x, rp__vec3 *n)
{
    double deepest = 0;
    for (int f = 0; f < 2 * RP_DIM; f++) {
        rp__vec3 m;
        double d = du_closed(w->world, f) ? du_distance(w->y, w->world, f, x, &m) : 0;
        if (d < deepest)
            deepest = d, *n = m;
    }
    for (uint64_t bits = w->y->near[block] & ~((uint64_t)1 << (surface - 6)); bits; bits &= bits - 1) {
        rp__vec3 m;
        double d = du_distance(w->y, w->world, 6 + __builtin_ctzll(bits), x, &m);
        if (d < deepest)
            deepest = d, *n = m;
    }
    return -deepest;
}

/* Moves a place on a surface, if need be, to where grains can be: in a corner the nearest place may lie behind the wall or in the body that it
 * is made with, and grains touch the surface beside it: out of that, back to the surface, and again, towards the edge in which the two meet.
 * False when there is no such place; or no surface, for distances of combined shapes may be small where there is none (between two
 * boxes that overlap a little). */
static bool find_open(const job *w, int64_t block, int surface, rp__vec3 *x, rp__vec3 *n)
{
    enum { TRIES = 8 };
    double tiny = 1e-6 * w->y->lattice.h, near = 0.01 * w->y->lattice.h;
    rp__vec3 out, m;
    if (!(du_distance(w->y, w->world, surface, rp__vec3_axpy(-10 * tiny, *n, *x), &out) < 0))
        return false;
    for (int k = 0; k < TRIES; k++) {
        double inside = way_out(w, block, surface, *x, &out);
        if (inside <= (k == 0 ? tiny : near))
            return true;
        *x = rp__vec3_axpy(inside, out, *x);
        double d = du_distance(w->y, w->world, surface, *x, &m);
        if (rp__vec3_dot(m, *n) < SAME_SIDE)
            return false;
        *x = rp__vec3_axpy(-d, m, *x);
        *n = m;
    }
    return false;
}

static void tangents(rp__vec3 n, rp__vec3 *first, rp__vec3 *second)
{
    rp__vec3 side = fabs(n.x) < 0.6 ? rp__vec3_make(1, 0, 0) : rp__vec3_make(0, 1, 0);
    *first = RP_DIM == 3 ? rp__vec3_unit(rp__vec3_cross(n, side), side) : rp__vec3_make(-n.y, n.x, 0);
    *second = rp__vec3_cross(n, *first);
}

/* 1 where a place lies on an edge or a corner that points at the grains, for the surface falls away on one side of it or both; -1 in one that they lie
 * in; else 0. Grains there lie on the sides, and have the normals of these: with one between them they would slide off over the edge, or into the corner. */
static int edge_at(const job *w, int surface, rp__vec3 x, rp__vec3 n)
{
    double step = EDGE_STEP * w->y->lattice.h, away = 0;
    rp__vec3 unused, first, second;
    tangents(n, &first, &second);
    for (int k = 0; k < 2 * (RP_DIM - 1); k++)
        away += du_distance(w->y, w->world, surface, rp__vec3_axpy(k & 1 ? -step : step, k < 2 ? first : second, x), &unused);
    return away > EDGE_FALL * step ? 1 : away < -EDGE_FALL * step ? -1 : 0;
}

/* Where the dual cell of the surface has no stress, grains end at its face towards the next: friction acts there, on what it balances. */
static void move_to_face(const dual *y, int64_t block, int tile, rp__vec3 normal, double *t)
{
    static const int stride[3] = { 1, DU_SIDE, DU_SIDE * DU_SIDE };
    const double n[3] = { normal.x, normal.y, normal.z };
    int axis = 0;
    for (int a = 1; a < RP_DIM; a++)
        axis = fabs(n[a]) > fabs(n[axis]) ? a : axis;
    int way = n[axis] > 0 ? 1 : -1, at = tile / stride[axis] % DU_SIDE + way;
    if (y->params->whole_room && !du_has_stress(y, block, tile) && at >= 0 && at < DU_SIDE && du_has_stress(y, block, tile + way * stride[axis]))
        t[axis] = 0.5 * way;
}

/* The sides of a body that are seen from one dual cell. */
typedef struct sides {
    const job *w;
    int64_t block;
    int tile, surface, count;
    middle m;
    rp__vec3 node, seen[DU_SIDES / SIDES];
} sides;

/* Whether a place, t from the node in cells, is one of its dual cell. One on a face of it is one of the dual cell on the side of the grains alone, or of the
 * lower one: the two would have the same law twice, and any two impulses with the same sum would do. */
static bool is_of_cell(const double t[3], rp__vec3 normal)
{
    const double n[3] = { normal.x, normal.y, normal.z }, tiny = 1e-9;
    for (int a = 0; a < RP_DIM; a++) {
        if (fabs(t[a]) > 0.5 + tiny)
            return false;
        if (fabs(t[a]) >= 0.5 - tiny && (fabs(n[a]) > tiny ? t[a] * n[a] > 0 : t[a] < 0))
            return false;
    }
    return true;
}

/* The law at a place of the dual cell on a side of the body that has none yet; `on` lies on that side, at the place or near. None is left out:
 * normals whose cosines are at most SAME_SIDE are axes of caps of acos(0.7) / 2 = 22.8 degrees that do not overlap, and 25 of these cover a sphere. */
static rp_result touch_at(sides *c, rp__vec3 x, rp__vec3 on, rp__vec3 n)
{
    const dual *y = c->w->y;
    double h = y->lattice.h, t[3], s[3][3], unused[3], share[NS_STENCIL];
    for (int k = 0; k < c->count; k++)
        if (rp__vec3_dot(n, c->seen[k]) > SAME_SIDE)
            return RP_OK;
    rp__vec3 open = on, side = n;
    if (!find_open(c->w, c->block, c->surface, &open, &n))
        return RP_OK;
    x = rp__vec3_add(x, rp__vec3_sub(open, on));
    t[0] = (x.x - c->node.x) / h, t[1] = (x.y - c->node.y) / h, t[2] = (x.z - c->node.z) / h;
    if (!is_of_cell(t, n))
        return RP_OK;
    if (!y->trilinear)
        move_to_face(y, c->block, c->tile, n, t);
    for (int a = 0; a < RP_DIM; a++)
        du_weights(y, t[a], s[a], unused);
    for (int k = 0; k < NS_STENCIL; k++)
        share[k] = s[0][k % 3] * s[1][k / 3 % 3] * (RP_DIM == 3 ? s[2][k / 9] : 1);
    assert(c->count < DU_SIDES / SIDES);
    middle one = c->m;
    one.side += SIDES * c->count;
    c->seen[c->count++] = side;
    return touch(c->w, c->block, &one, share, c->surface, x, n, du_largest_part(n) * du_power(h) / h);
}

/* The nearest place on the body to x: returns its normal. */
static rp__vec3 to_surface(const job *w, int surface, rp__vec3 *x)
{
    rp__vec3 n;
    double d = du_distance(w->y, w->world, surface, *x, &n);
    if (RP_DIM == 2)
        n.z = 0;
    *x = rp__vec3_axpy(-d, n, *x);
    return n;
}

/* How far it is from x to the face of the dual cell, along a unit vector. */
static double way_to_face(const sides *c, rp__vec3 x, rp__vec3 along)
{
    const double at[3] = { x.x - c->node.x, x.y - c->node.y, x.z - c->node.z }, d[3] = { along.x, along.y, along.z };
    double least = INFINITY;
    for (int a = 0; a < RP_DIM; a++) {
        double way = d[a] != 0 ? (0.5 * c->w->y->lattice.h - copysign(1, d[a]) * at[a]) / fabs(d[a]) : INFINITY;
        least = way < least ? way : least;
    }
    return least > 0 ? least : 0;
}

/* The side of the body that lies some way off an edge with the normal n. The law acts in the middle of what the dual cell has of it: at the edge itself it
 * would hold grains that pass by. The side is looked for from a place off the edge half-way between the plane across n and n itself, into the body, or out
 * of a corner: whatever n is between the normals of two sides at right angles, what is nearest to that place lies well beside the edge. */
static rp_result touch_side(sides *c, rp__vec3 edge, rp__vec3 n, rp__vec3 way, int kind)
{
    double step = 2 * EDGE_STEP * c->w->y->lattice.h;
    rp__vec3 on = rp__vec3_axpy(-kind * step, n, rp__vec3_axpy(step, way, edge)), side = to_surface(c->w, c->surface, &on);
    if (edge_at(c->w, c->surface, on, side))
        return RP_OK;
    rp__vec3 along = rp__vec3_unit(rp__vec3_sub(on, edge), way);
    rp__vec3 x = rp__vec3_axpy(0.5 * way_to_face(c, edge, along), along, edge), there = to_surface(c->w, c->surface, &x);
    return rp__vec3_dot(there, side) > SAME_SIDE ? touch_at(c, x, x, there) : touch_at(c, on, on, side);
}

/* The law at the place on a body nearest to one of the dual cell. */
static rp_result touch_near(sides *c, rp__vec3 x)
{
    double h = c->w->y->lattice.h;
    rp__vec3 n = to_surface(c->w, c->surface, &x);
    int kind = edge_at(c->w, c->surface, x, n);
    if (!kind)
        return touch_at(c, x, x, n);
    if (fmax(fabs(x.x - c->node.x), fmax(fabs(x.y - c->node.y), fabs(x.z - c->node.z))) > (0.5 + 1e-9) * h)
        return RP_OK;
    rp__vec3 first, second;
    tangents(n, &first, &second);
    for (int k = 0; k < 2 * (RP_DIM - 1); k++)
        RP_TRY(touch_side(c, x, n, rp__vec3_scale(k & 1 ? -1 : 1, k < 2 ? first : second), kind));
    return RP_OK;
}

/* Places on a body in a dual cell: nearest to its node, of which there are 1 / max |n_a| for each h^(d-1) of a plane; and nearest to its corners, where these
 * see another side of the body (an edge, a corner, a thin plate), first the corner that is nearest to it. */
static rp_result touch_body(const job *w, int64_t block, int tile, int surface, const du_depth *deep)
{
    enum { CORNERS = 1 << RP_DIM };
    const dual *y = w->y;
    sides c = { .w = w, .block = block, .tile = tile, .surface = surface };
    int64_t j = du_tile_node(y, block, tile);
    if (j < 0 || !(y->nodes.mass[j] > 0) || fabs(deep->d[tile]) > sqrt(RP_DIM) * y->lattice.h || !find_middle(y, block, tile, &c.m))
        return RP_OK;
    c.node = du_place(y, j);
    RP_TRY(touch_near(&c, c.node));
    rp__vec3 corner[CORNERS], unused;
    double away[CORNERS], half = 0.5 * y->lattice.h;
    for (int k = 0; k < CORNERS; k++) {
        corner[k] = rp__vec3_add(c.node, rp__vec3_make(k & 1 ? half : -half, k & 2 ? half : -half, RP_DIM == 3 ? (k & 4 ? half : -half) : 0));
        away[k] = fabs(du_distance(y, w->world, surface, corner[k], &unused));
    }
    for (int k = 0; k < CORNERS; k++) {
        int nearest = 0;
        for (int i = 1; i < CORNERS; i++)
            nearest = away[i] < away[nearest] ? i : nearest;
        away[nearest] = INFINITY;
        RP_TRY(touch_near(&c, corner[nearest]));
    }
    return RP_OK;
}

static rp_result touch_block(const job *w, int64_t b)
{
    dual *y = w->y;
    bool face[6] = { false };
    du_depth deep;
    RP_TRY(DU(tie_block)(y, w->world, b));
    for (int f = 0; f < 2 * RP_DIM; f++) {
        int64_t low = 4 * (int64_t)y->grid.coord[b][f / 2];
        face[f] = du_closed(w->world, f) && (f & 1 ? low + 4 >= y->lattice.cells[f / 2] - 1 : low <= 0);
    }
    for (int f = 0; f < 2 * RP_DIM; f++) {
        for (int t = 0; t < DU_TILE && face[f]; t++)
            RP_TRY(touch_wall(w, b, t, f));
    }
    for (uint64_t bits = y->near[b]; bits; bits &= bits - 1) {
        int surface = 6 + __builtin_ctzll(bits);
        du_look(y, w->world, b, surface, &deep);
        for (int t = 0; t < DU_TILE; t++)
            RP_TRY(touch_body(w, b, t, surface, &deep));
    }
    return RP_OK;
}

static rp_result reserve_bodies(dual *y, const rp__world *world, double dt)
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
    rp__body_room room = { world->def->dim, world->def->lower, world->def->upper, world->def->wall };
    return rp__body_find_meetings(&c->meetings, world->bodies, world->body_count, &room, c->body_inverse, dt);
}

rp_result DU(find_contacts)(dual *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    du_contacts *c = &y->contacts;
    for (int m = 0; m < world->def->material_count; m++)
        w.rated |= world->materials[m].friction_dynamic >= 0;
    c->count = c->free_count = 0;
    DU(find_outer)(y, world);
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
    return reserve_bodies(y, world, dt);
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
