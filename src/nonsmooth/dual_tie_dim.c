/* Ties of nodes that have no stress of their own.
 *
 * Grains reach one node beyond the last dual cell that holds any: behind walls, inside bodies, and outside the free surface. Such a node has mass and
 * weight, but only the stresses of the dual cells before it, which have their own nodes to balance: the weight at all of the nodes is more than the
 * stresses can carry. What is left over falls, by a part of g dt in every step, whatever the law: grains at the surface of a heap creep with a speed that
 * goes with the step. So the outer node goes on as a line from the two before it,
 *     u_out = 2 u_near - u_far,
 * and each node that is left has a stress of its own. That is the extension of splines over a boundary that cuts their cells [hollig2001]. The velocities
 * do not alternate there either, and a linear field passes undisturbed. The impulse (1, -2, 1) r on three nodes in a row has neither sum nor moment, and
 * takes energy only.
 *
 * At the free surface this holds for grains that touch: what flies apart is tied to nothing. */
#include "nonsmooth/closure.h"
#include "nonsmooth/dual.h"
#include "nonsmooth/dual_surface.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int stride[3] = { 1, DU_SIDE, DU_SIDE * DU_SIDE };

du_contact *DU(new_contact)(dual *y)
{
    du_contacts *c = &y->contacts;
    if (!rp__base_grow(&c->list, &c->capacity, c->count + 1, sizeof *c->list))
        return NULL;
    memset(&c->list[c->count], 0, sizeof *c->list);
    c->list[c->count].free_body = -1;
    return &c->list[c->count++];
}

/* ---- the free surface: which way is in ---- */

typedef struct job {
    dual *y;
    const rp__world *world;
} job;

static void way_of(int n, int *way)
{
    way[0] = n % 3 - 1, way[1] = n / 3 % 3 - 1, way[2] = RP_DIM == 3 ? n / 9 - 1 : 0;
}

/* Mass of the node some ways from node j, if the grains of its dual cell touch; else 0. */
static double touching_mass(const dual *y, int64_t j, const int *way, int times)
{
    int node[3] = { 0 }, stress[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++) {
        node[a] = times * way[a];
        stress[a] = node[a] - 1;
    }
    int64_t i = du_beside(y, j, stress);
    return du_in_use(y, i) && y->stress[i].touch ? y->nodes.mass[du_beside(y, j, node)] : 0;
}

/* The way, along an axis if there is one and else along a diagonal, on which the next two nodes have stresses and the most mass; -1 if there is none. */
static int inwards(const dual *y, int64_t j)
{
    double most = 0;
    int chosen = -1;
    for (int size = 1; size <= RP_DIM && chosen < 0; size++)
        for (int n = 0; n < NS_STENCIL; n++) {
            int way[3];
            way_of(n, way);
            if (abs(way[0]) + abs(way[1]) + abs(way[2]) != size)
                continue;
            double near = touching_mass(y, j, way, 1), far = near > 0 ? touching_mass(y, j, way, 2) : 0;
            if (far > 0 && near + far > most)
                most = near + far, chosen = n;
        }
    return chosen;
}

/* Neither behind a wall nor inside a body. */
static bool in_the_open(const job *w, int64_t j)
{
    const dual *y = w->y;
    double tiny = 1e-9 * y->lattice.h;
    rp__vec3 x = du_place(y, j), unused;
    for (int f = 0; f < 2 * RP_DIM; f++)
        if (du_closed(w->world, f) && du_distance(y, w->world, f, x, &unused) < -tiny)
            return false;
    for (uint64_t bits = y->near[j / RP_BLOCK_NODES]; bits; bits &= bits - 1)
        if (du_distance(y, w->world, 6 + __builtin_ctzll(bits), x, &unused) < -tiny)
            return false;
    return true;
}

static void find_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    static const int before[3] = { -1, -1, RP_DIM == 3 ? -1 : 0 };
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t j = begin * RP_BLOCK_NODES; j < end * RP_BLOCK_NODES; j++) {
        bool outer = y->params->ties && y->nodes.mass[j] > 0 && !du_in_use(y, du_beside(y, j, before));
        int way = outer ? inwards(y, j) : -1;
        y->outer[j] = (int8_t)(way >= 0 && in_the_open(w, j) ? way : -1);
    }
}

void DU(find_outer)(dual *y, const rp__world *world)
{
    job w = { .y = y, .world = world };
    if (!y->trilinear)
        rp__exec_for(y->grid.blocks, 8, find_blocks, &w);
}

/* ---- ties ---- */

/* u_out - 2 u_near + u_far = 0 for three nodes of the tile in a row, if all have mass. Kept from step to step by `key`, surface and side. */
static rp_result tie(dual *y, int64_t key, int out, int step, int surface, int side)
{
    int64_t block = key / RP_BLOCK_NODES;
    double squares = 0;
    for (int k = 0; k < 3; k++) {
        double m = du_mass(y, block, out + k * step);
        squares += m > 0 ? (k == 1 ? 4 : 1) / m : INFINITY;
    }
    if (isinf(squares))
        return RP_OK;
    du_contact *c = DU(new_contact)(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    c->key = key;
    c->surface = DU_TIE + surface;
    c->side = side;
    c->count = 3;
    c->mu = INFINITY;
    c->strict = 1;
    c->mass = 1 / squares;
    for (int k = 0; k < 3; k++) {
        c->at[k] = out + k * step;
        c->share[k] = k == 1 ? -2 : 1;
    }
    return RP_OK;
}

/* The node behind a wall with the two before it; it belongs to the block of its lowest node. */
static rp_result tie_wall(dual *y, int64_t block, int local, int face)
{
    int64_t at[3], j = block * RP_BLOCK_NODES + local;
    int axis = face / 2, base = du_tile_base(local);
    bool high = face & 1;
    rp__grid_coordinates(&y->grid, j, at);
    if (at[axis] != (high ? y->lattice.cells[axis] - 1 : -1))
        return RP_OK;
    return tie(y, j, base + (high ? 2 * stride[axis] : 0), high ? -stride[axis] : stride[axis], face, 2 * axis);
}

/* The axis nearest to a normal; of several the first. A node is tied along one axis: at 45 degrees a tie along each would hold the velocities of the nodes
 * before it to each other, and a layer on such a plane was held back. */
static int nearest_axis(rp__vec3 n)
{
    const double part[3] = { fabs(n.x), fabs(n.y), RP_DIM == 3 ? fabs(n.z) : 0 };
    int axis = 0;
    while (part[axis] < du_largest_part(n) * (1 - 1e-9))
        axis++;
    return axis;
}

/* Of the three nodes in a row from `base` on along an axis, the last (`high`) or the first lies in a body that the axis leads out of, and no stress of its own
 * holds it. Its place in the tile, or -1. */
static int behind_body(const dual *y, int64_t block, int base, int axis, bool high, const du_depth *deep)
{
    int behind = base + (high ? 2 * stride[axis] : 0);
    const double part[3] = { deep->n[behind].x, deep->n[behind].y, deep->n[behind].z };
    if (!(deep->d[behind] < 0) || axis != nearest_axis(deep->n[behind]) || (high ? -part[axis] : part[axis]) < 0)
        return -1;
    return du_has_stress(y, block, behind) ? -1 : behind;
}

/* A node in a body that no stress of its own holds, with the two before it along the axis nearest to the normal; of the three in a row the
 * lowest is `local`. The next has a stress, or goes on from others in its turn. */
static rp_result tie_body(dual *y, int64_t block, int local, int surface, const du_depth *deep)
{
    int base = du_tile_base(local);
    for (int axis = 0; axis < RP_DIM; axis++)
        for (int high = 0; high < 2; high++) {
            int behind = behind_body(y, block, base, axis, high, deep);
            int64_t near = du_tile_node(y, block, base + stride[axis]);
            bool held = du_has_stress(y, block, base + stride[axis]) || (near >= 0 && y->outer[near] >= 0);
            if (behind >= 0 && held)
                RP_TRY(tie(y, block * RP_BLOCK_NODES + local, behind, high ? -stride[axis] : stride[axis], surface, 2 * axis + high));
        }
    return RP_OK;
}

/* The nodes outside the free surface whose row of three has its lowest corner in `local`. */
static rp_result tie_outer(dual *y, int64_t block, int local)
{
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3], out = du_tile_base(local), step = 0;
        way_of(n, way);
        for (int a = 0; a < RP_DIM; a++) {
            out += way[a] < 0 ? 2 * stride[a] : 0;
            step += way[a] * stride[a];
        }
        int64_t j = du_tile_node(y, block, out);
        if (j >= 0 && y->outer[j] == n)
            RP_TRY(tie(y, block * RP_BLOCK_NODES + local, out, step, DU_OUTSIDE, n));
    }
    return RP_OK;
}

rp_result DU(tie_block)(dual *y, const rp__world *world, int64_t block)
{
    if (y->trilinear)
        return RP_OK;
    for (int f = 0; f < 2 * RP_DIM; f++) {
        int64_t low = 4 * (int64_t)y->grid.coord[block][f / 2];
        bool near = du_closed(world, f) && (f & 1 ? low + 4 >= y->lattice.cells[f / 2] - 1 : low <= 0);
        for (int l = 0; l < RP_BLOCK_NODES && near; l++)
            RP_TRY(tie_wall(y, block, l, f));
    }
    for (uint64_t bits = y->near[block]; bits; bits &= bits - 1) {
        int surface = 6 + __builtin_ctzll(bits);
        du_depth deep;
        du_look(y, world, block, surface, &deep);
        for (int l = 0; l < RP_BLOCK_NODES; l++)
            RP_TRY(tie_body(y, block, l, surface, &deep));
    }
    for (int l = 0; l < RP_BLOCK_NODES; l++)
        RP_TRY(tie_outer(y, block, l));
    return RP_OK;
}

/* ---- mass and filling of nodes behind bodies ---- */

/* The node behind a body takes mass from the one before it, and the same goes to the one before that: mass, its moment, momentum and its moment stay, and
 * what moves as a line moves as before. One that has next to no mass, and is to have none, gives it up in the same way: contacts would move such a node and
 * its tie move it back, sweep after sweep, and while they do the body pushes with many times the weight of the grains. */
static void lend(dual *y, int64_t behind, int64_t before, int64_t next)
{
    double *mass = y->nodes.mass, full = mass[before] / y->nodes.bulk[before] * y->nodes.room[behind];
    double more = (full - mass[behind]) * du_passed(y->nodes.bulk[before] / y->nodes.room[before]), most = DU_LENT * mass[before];
    bool none = mass[behind] < DU_NO_MASS * mass[before] && mass[behind] < DU_LENT * mass[next];
    more = more < most ? more : most;
    if (none && !(more > mass[behind]))
        more = -mass[behind];
    else if (!(more > 0))
        return;
    for (int a = 0; a < RP_DIM; a++) {
        double *p = y->nodes.momentum[a], u = p[before] / mass[before], v = p[next] / mass[next];
        double w = more < 0 ? p[behind] / mass[behind] : 2 * u - v;
        p[behind] = more < 0 ? 0 : p[behind] + more * w;
        p[before] -= 2 * more * (more < 0 ? w : u);
        p[next] += more * (more < 0 ? w : v);
    }
    mass[behind] = more < 0 ? 0 : mass[behind] + more;
    mass[before] -= 2 * more, mass[next] += more;
}

/* A node behind a body and the one before it have one filling: that of a layer on a floor halfway between them is then its thickness. By itself the node
 * before sees half of what lies on the floor: thin layers there were pressed to a third more than there is room for. */
static void count_together(dual *y, int64_t behind, int64_t before)
{
    y->nodes.bulk[before] += y->nodes.bulk[behind], y->nodes.bulk[behind] = 0;
    y->nodes.room[before] += y->nodes.room[behind], y->nodes.room[behind] = 0;
}

/* Where grains fill the room, g is the integral over all of it. A node behind a body may have next to no mass, for only the particles nearest to the body
 * reach it: then g^2 / m has no bound, a dual cell at the body moves that node and nothing else, its tie moves it back, and no sweep changes the
 * stress by more than such a mass can take. The sweeps seem to have ended, and the body has lost part of the thrust of the grains. So such a node has the
 * mass of the room around it, as g has. */
void DU(count_behind)(dual *y, const rp__world *world)
{
    du_depth deep;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->near[b]; bits; bits &= bits - 1) {
            du_look(y, world, b, 6 + __builtin_ctzll(bits), &deep);
            for (int k = 0; k < RP_BLOCK_NODES * RP_DIM * 2; k++) {
                int base = du_tile_base(k / (2 * RP_DIM)), axis = k / 2 % RP_DIM, high = k & 1, inner = base + stride[axis];
                int behind = du_has_stress(y, b, inner) ? behind_body(y, b, base, axis, high, &deep) : -1;
                if (behind < 0)
                    continue;
                int64_t node = du_tile_node(y, b, behind), before = du_tile_node(y, b, inner), next = du_tile_node(y, b, 2 * inner - behind);
                if (node >= 0 && before >= 0 && next >= 0 && y->nodes.mass[node] > 0 && y->nodes.mass[before] > 0 && y->nodes.mass[next] > 0) {
                    lend(y, node, before, next);
                    count_together(y, node, before);
                }
            }
        }
}
