/* Cells that bodies cut, and the room for grains around each stress: the integral of N_i over the domain less the bodies.
 *
 * Of each cell that a body cuts, the integrals of the products of Bernstein polynomials over the part outside are kept (assemble_dim.c
 * says what they are for): they give the room of the stresses around, and the operator of a cell that is filled up to the body. A
 * cell is looked at in parts of half its size; in each the body is a half-space. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { PARTS = 2, FINE = RP_DIM == 3 ? 3 : 4, SIDE = PARTS * FINE };

typedef struct job {
    ns_system *y;
    const rp__world *world;
} job;

static bool closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

/* Part of the support of N_i (node: two cells; cell: one) along one axis inside the domain. */
static double along(const job *w, int axis, int64_t at)
{
    const rp__world *world = w->world;
    int64_t cells = world->cells[axis];
    bool low = closed(world, 2 * axis), high = closed(world, 2 * axis + 1);
    if (w->y->stress_cell)
        return (low && at < 0) || (high && at >= cells) ? 0 : 1;
    double part = 1;
    if (low)
        part -= at < 0 ? 1 : at == 0 ? 0.5 : 0;
    if (high)
        part -= at > cells ? 1 : at == cells ? 0.5 : 0;
    return part > 0 ? part : 0;
}

static bool cell_in_domain(const job *w, const int64_t *at)
{
    for (int a = 0; a < RP_DIM; a++)
        if ((closed(w->world, 2 * a) && at[a] < 0) || (closed(w->world, 2 * a + 1) && at[a] >= w->world->cells[a]))
            return false;
    return true;
}

/* Part of a cube of half side r outside a plane at distance d from its middle: exact for planes along an axis, close else. */
static double outside(double d, rp__vec3 n, double r)
{
    double reach = r * (fabs(n.x) + fabs(n.y) + fabs(n.z)), part = 0.5 + 0.5 * d / (reach > 0 ? reach : r);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* Means of the Bernstein polynomials over each SIDE-th of a cell, from P_0 = (1-t)^2, P_1 = t (1-t), P_2 = t^2. */
static void means(double p[SIDE][3])
{
    for (int s = 0; s < SIDE; s++) {
        double a = (double)s / SIDE, b = (double)(s + 1) / SIDE, w = SIDE;
        double one = w * (b - a), t = w * (b * b - a * a) / 2, tt = w * (b * b * b - a * a * a) / 3;
        p[s][0] = one - 2 * t + tt, p[s][1] = t - tt, p[s][2] = tt;
    }
}

/* The largest part of each fine cube that is taken by any of the bodies, in `taken`; false when none is. */
static bool take(const job *w, uint64_t near, const int64_t *at, double *taken)
{
    double h = w->y->lattice.h, part = h / PARTS, fine = h / SIDE;
    bool any = false;
    for (uint64_t bits = near; bits; bits &= bits - 1) {
        const rp__body *body = &w->world->bodies[__builtin_ctzll(bits)];
        double x[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            x[a] = w->y->lattice.origin[a] + h * ((double)at[a] + 0.5);
        double middle = rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL);
        if (middle > 0.51 * sqrt(RP_DIM) * h)
            continue;
        if (middle < -0.51 * sqrt(RP_DIM) * h) { /* all of it */
            for (int f = 0; f < (RP_DIM == 3 ? SIDE * SIDE * SIDE : SIDE * SIDE); f++)
                taken[f] = 1;
            return true;
        }
        for (int k = 0; k < (RP_DIM == 3 ? PARTS : 1); k++)
            for (int j = 0; j < PARTS; j++)
                for (int i = 0; i < PARTS; i++) {
                    int index[3] = { i, j, k };
                    rp__vec3 n;
                    for (int a = 0; a < RP_DIM; a++)
                        x[a] = w->y->lattice.origin[a] + h * (double)at[a] + part * (index[a] + 0.5);
                    double d = rp__body_distance(body, &body->pose, rp__vec3_load(x), &n);
                    if (d > 0.51 * sqrt(RP_DIM) * part)
                        continue;
                    any = true;
                    /* Where parts of a combined shape overlap, the distance is a bound only and there need be no plane. */
                    double miss = rp__body_distance(body, &body->pose, rp__vec3_axpy(-d, n, rp__vec3_load(x)), NULL);
                    bool plane = fabs(miss) < 0.1 * part;
                    for (int f = 0; f < (RP_DIM == 3 ? FINE * FINE * FINE : FINE * FINE); f++) {
                        int u[3] = { f % FINE, f / FINE % FINE, f / (FINE * FINE) };
                        double mid = 0.5 * (FINE - 1);
                        double e = d + fine * (n.x * (u[0] - mid) + n.y * (u[1] - mid) + (RP_DIM == 3 ? n.z * (u[2] - mid) : 0));
                        rp__vec3 m = n;
                        if (!plane) {
                            rp__vec3 at_fine = { x[0] + fine * (u[0] - mid), x[1] + fine * (u[1] - mid), RP_DIM == 3 ? x[2] + fine * (u[2] - mid) : 0 };
                            e = rp__body_distance(body, &body->pose, at_fine, &m);
                        }
                        double in = 1 - outside(e, m, 0.5 * fine);
                        double *to = &taken[((RP_DIM == 3 ? k * FINE + u[2] : 0) * SIDE + j * FINE + u[1]) * SIDE + i * FINE + u[0]];
                        *to = in > *to ? in : *to;
                    }
                }
    }
    return any;
}

/* Integrals over the part of a cell outside the bodies, in units of the cell; false when no body cuts it. */
static bool cut_cell(const job *w, uint64_t near, const int64_t *at, double p[SIDE][3], double *moments)
{
    enum { ALL = RP_DIM == 3 ? SIDE * SIDE * SIDE : SIDE * SIDE };
    double taken[ALL] = { 0 };
    if (!take(w, near, at, taken))
        return false;
    memset(moments, 0, NS_BERNSTEIN * sizeof *moments);
    for (int r = 0; r < ALL / SIDE; r++) { /* rows along x first */
        double row[3] = { 0 };
        for (int i = 0; i < SIDE; i++)
            for (int a = 0; a < 3; a++)
                row[a] += (1 - taken[r * SIDE + i]) / ALL * p[i][a];
        for (int m = 0; m < NS_BERNSTEIN; m++)
            moments[m] += row[m % 3] * p[r % SIDE][m / 3 % 3] * (RP_DIM == 3 ? p[r / SIDE][m / 9] : 1);
    }
    return true;
}

/* Bodies whose surface or inside a block may reach into. */
static uint64_t bodies_near(const job *w, int64_t block)
{
    const ns_system *y = w->y;
    uint64_t near = 0;
    double x[3] = { 0 }, h = y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + h * (4.0 * y->grid.coord[block][a] + 2);
    for (int k = 0; k < w->world->body_count && k < 64; k++) {
        const rp__body *body = &w->world->bodies[k];
        if (body->present && rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL) < (2 * sqrt(RP_DIM) + 1.5) * h)
            near |= (uint64_t)1 << k;
    }
    return near;
}

static void find_near(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        w->y->cut_near[b] = bodies_near(w, b);
}

static void cut_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    double p[SIDE][3];
    (void)worker;
    means(p);
    for (int64_t b = begin; b < end; b++) {
        y->cut[b] = 0;
        for (int l = 0; y->cut_near[b] && l < RP_BLOCK_NODES; l++) {
            int64_t at[3];
            rp__grid_coordinates(&y->grid, b * RP_BLOCK_NODES + l, at);
            if (cut_cell(w, y->cut_near[b], at, p, y->cut_moment + (y->cut_first[b] + l) * NS_BERNSTEIN))
                y->cut[b] |= (uint64_t)1 << l;
        }
    }
}

static rp_result reserve(ns_system *y)
{
    if (y->cut_blocks >= y->grid.blocks)
        return RP_OK;
    int64_t blocks = y->grid.blocks + y->grid.blocks / 8 + 8;
    rp__base_free(y->cut);
    rp__base_free(y->cut_near);
    rp__base_free(y->cut_first);
    y->cut_blocks = 0;
    y->cut = RP_NEW_ARRAY(uint64_t, blocks);
    y->cut_near = RP_NEW_ARRAY(uint64_t, blocks);
    y->cut_first = RP_NEW_ARRAY(int64_t, blocks);
    if (!y->cut || !y->cut_near || !y->cut_first)
        return RP_OUT_OF_MEMORY;
    y->cut_blocks = blocks;
    return RP_OK;
}

rp_result NS(cut_cells)(ns_system *y, const rp__world *world)
{
    job w = { y, world };
    y->cut_any = false;
    if (!world->body_count)
        return RP_OK;
    RP_TRY(reserve(y));
    rp__exec_for(y->grid.blocks, 8, find_near, &w);
    int64_t cells = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        y->cut_first[b] = cells;
        cells += y->cut_near[b] ? RP_BLOCK_NODES : 0;
    }
    if (!cells)
        return RP_OK;
    if (!rp__base_grow(&y->cut_moment, &y->cut_capacity, cells * NS_BERNSTEIN, sizeof(double)))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(y->grid.blocks, 2, cut_blocks, &w);
    y->cut_any = true;
    return RP_OK;
}

/* Integral of corner function n over the part outside, from the moments: l_0 = P_0 + P_1, l_1 = P_1 + P_2. */
static double corner_room(const double *m, int n)
{
    double sum = 0;
    for (int c = n >> 2; c < (RP_DIM == 3 ? (n >> 2) + 2 : 1); c++)
        for (int b = n >> 1 & 1; b < (n >> 1 & 1) + 2; b++)
            for (int a = n & 1; a < (n & 1) + 2; a++)
                sum += m[(c * 3 + b) * 3 + a];
    return sum;
}

static double cell_room(const double *m)
{
    static const double one[3] = { 1, 2, 1 };
    double sum = 0;
    for (int k = 0; k < NS_BERNSTEIN; k++)
        sum += m[k] * one[k % 3] * one[k / 3 % 3] * (RP_DIM == 3 ? one[k / 9] : 1);
    return sum;
}

/* What the bodies take from N_i in the cell at `at`, of which the node is corner n; `tile` is the cell's place in the tile of the block. */
static double taken(const job *w, int64_t block, int tile, const int64_t *at, int n, double p[SIDE][3])
{
    const ns_system *y = w->y;
    double here[NS_BERNSTEIN];
    const double *m = here;
    int64_t node = ns_tile_node(y, block, tile);
    if (!cell_in_domain(w, at))
        return 0;
    if (node >= 0) {
        int64_t b = node / RP_BLOCK_NODES;
        if (!(y->cut[b] >> (node % RP_BLOCK_NODES) & 1))
            return 0;
        m = y->cut_moment + (y->cut_first[b] + node % RP_BLOCK_NODES) * NS_BERNSTEIN;
    } else if (!cut_cell(w, y->cut_near[block], at, p, here)) {
        return 0;
    }
    return y->stress_cell ? 1 - cell_room(m) : 1.0 / NS_CORNERS - corner_room(m, n);
}

/* Whether a cell of the block or of one beside it is cut; a block that is not there may hold one. */
static bool any_cut(const ns_system *y, int64_t block)
{
    for (int n = 0; n < RP_NEIGHBOURS; n++) {
        int64_t b = y->grid.neighbour[block][n];
        if (b < 0 || y->cut[b])
            return true;
    }
    return false;
}

static void room_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    double full = pow(y->lattice.h, RP_DIM), p[SIDE][3];
    (void)worker;
    means(p);
    for (int64_t b = begin; b < end; b++) {
        bool cut = y->cut_any && y->cut_near[b] && any_cut(y, b);
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l, at[3];
            rp__grid_coordinates(&y->grid, i, at);
            double part = 1;
            for (int a = 0; a < RP_DIM; a++)
                part *= along(w, a, at[a]);
            for (int n = 0; cut && n < (y->stress_cell ? 1 : NS_CORNERS) && y->volume[i] > 0; n++) {
                int64_t cell[3] = { at[0] - (n & 1), at[1] - (n >> 1 & 1), at[2] - (n >> 2) };
                part -= taken(w, b, ns_tile_of_local(l) - (n & 1) - NS_TILE_SIDE * ((n >> 1 & 1) + NS_TILE_SIDE * (n >> 2)), cell, n, p);
            }
            y->room[i] = part > 1e-12 ? part * full : 0;
        }
    }
}

void NS(room)(ns_system *y, const rp__world *world)
{
    job w = { y, world };
    rp__exec_for(y->grid.blocks, 8, room_blocks, &w);
}
