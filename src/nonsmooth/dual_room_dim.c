/* Bodies near blocks, and the room for grains: of dual cells that walls and bodies cut the integrals of 1, N_j and grad N_j over the part
 * inside the domain and outside the bodies; of nodes the integral of N_j.
 *
 * A dual cell that only walls cut is a box: its integrals are exact. One that a body cuts is looked at in parts of half its size, in each of
 * which the body is a half-space, found at the middle; the part is filled with points that count as far as their own small cubes are
 * outside. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { PARTS = 2, FINE = RP_DIM == 3 ? 2 : 4, POINTS = PARTS * FINE, WHOLE = -1, NOTHING = -2, CUT = 0 };

typedef struct job {
    dual *y;
    const rp__world *world;
} job;

static void find_near(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dual *y = w->y;
    double h = y->lattice.h;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        double x[3] = { 0 };
        uint64_t near = 0;
        for (int a = 0; a < RP_DIM; a++) /* the middle of the tile */
            x[a] = y->lattice.origin[a] + h * (4.0 * y->grid.coord[b][a] + 2.5);
        for (int k = 0; k < w->world->body_count; k++) {
            const rp__body *body = &w->world->bodies[k];
            double reach = (2.5 * sqrt(RP_DIM) + 2) * h;
            if (body->present && rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL) < reach)
                near |= (uint64_t)1 << k;
        }
        y->near[b] = near;
    }
}

/* The box of a dual cell inside the domain, in cells from its node; false when there is none. */
static bool box_of(const job *w, const int64_t at[3], double low[3], double high[3], bool *whole)
{
    *whole = true;
    for (int a = 0; a < RP_DIM; a++) {
        double n = (double)w->y->lattice.cells[a];
        low[a] = -0.5, high[a] = 0.5;
        if (du_closed(w->world, 2 * a) && (double)at[a] + low[a] < 0)
            low[a] = -(double)at[a], *whole = false;
        if (du_closed(w->world, 2 * a + 1) && (double)at[a] + high[a] > n)
            high[a] = n - (double)at[a], *whole = false;
        if (!(low[a] < high[a]))
            return false;
    }
    return true;
}

static rp__vec3 place_of(const job *w, const int64_t at[3], const double *t)
{
    const rp__lattice *l = &w->y->lattice;
    return rp__vec3_make(l->origin[0] + l->h * ((double)at[0] + t[0]), l->origin[1] + l->h * ((double)at[1] + t[1]),
                         RP_DIM == 3 ? l->origin[2] + l->h * ((double)at[2] + t[2]) : 0);
}

/* WHOLE, NOTHING or CUT, by walls and the distance of the middle to the bodies; *bodies: those that cut it. */
static int class_of(const job *w, const int64_t at[3], uint64_t near, uint64_t *bodies)
{
    double low[3], high[3], zero[3] = { 0 }, reach = 0.5 * sqrt(RP_DIM) * w->y->lattice.h;
    bool whole;
    *bodies = 0;
    if (!box_of(w, at, low, high, &whole))
        return NOTHING;
    for (uint64_t bits = near; bits; bits &= bits - 1) {
        const rp__body *body = &w->world->bodies[__builtin_ctzll(bits)];
        double d = rp__body_distance(body, &body->pose, place_of(w, at, zero), NULL);
        if (d <= -reach)
            return NOTHING;
        if (d < reach)
            *bodies |= bits & -bits;
    }
    return whole && !*bodies ? WHOLE : CUT;
}

/* Integrals of the three weights and their derivatives from `low` to `high`. */
static void integrals(const dual *y, double low, double high, double n[3], double d[3])
{
    double a[3], b[3], unused[3];
    for (int side = 0; side < 2; side++) {
        double t = side ? high : low, *to = side ? b : a, p = 0.5 - t, q = 0.5 + t;
        to[0] = -p * p * p / 6, to[1] = 0.75 * t - t * t * t / 3, to[2] = q * q * q / 6;
        if (y->trilinear)
            to[0] = t < 0 ? -0.5 * t * t : 0, to[1] = t < 0 ? t + 0.5 * t * t : t - 0.5 * t * t, to[2] = t < 0 ? 0 : 0.5 * t * t;
    }
    for (int k = 0; k < 3; k++)
        n[k] = b[k] - a[k];
    du_weights(y, low, a, unused);
    du_weights(y, high, b, unused);
    for (int k = 0; k < 3; k++)
        d[k] = b[k] - a[k];
}

/* Adds `weight` times the products of one-dimensional values to a room. */
static void add_products(du_room *room, double (*n)[3], double (*d)[3], double weight)
{
    for (int j = 0; j < NS_STENCIL; j++) {
        int k[3] = { j % 3, j / 3 % 3, j / 9 };
#if RP_DIM == 3
        room->n[j] += weight * n[0][k[0]] * n[1][k[1]] * n[2][k[2]];
        room->g[3 * j] += weight * d[0][k[0]] * n[1][k[1]] * n[2][k[2]];
        room->g[3 * j + 1] += weight * n[0][k[0]] * d[1][k[1]] * n[2][k[2]];
        room->g[3 * j + 2] += weight * n[0][k[0]] * n[1][k[1]] * d[2][k[2]];
#else
        room->n[j] += weight * n[0][k[0]] * n[1][k[1]];
        room->g[2 * j] += weight * d[0][k[0]] * n[1][k[1]];
        room->g[2 * j + 1] += weight * n[0][k[0]] * d[1][k[1]];
#endif
    }
}

/* Part of a small cube of side `size` (in cells) outside the bodies, its middle at `step` from where they were found. */
static double outside(int count, const double *distance, const rp__vec3 *normal, const double *step, double size, double h)
{
    double least = 1;
    for (int k = 0; k < count; k++) {
        rp__vec3 n = normal[k];
        double d = distance[k] / h + n.x * step[0] + n.y * step[1] + (RP_DIM == 3 ? n.z * step[2] : 0);
        double part = 0.5 + d / (size * (fabs(n.x) + fabs(n.y) + fabs(n.z)) + 1e-30);
        least = part < least ? part : least;
    }
    return least > 0 ? least : 0;
}

/* One part of a dual cell: from `corner`, of the given sides. */
static void add_part(const job *w, const int64_t at[3], const double *corner, const double *side, uint64_t bodies, du_room *room)
{
    double middle[3] = { 0 }, distance[64], volume = 1, size = 0;
    rp__vec3 normal[64];
    int count = 0, points = 1;
    for (int a = 0; a < RP_DIM; a++) {
        middle[a] = corner[a] + 0.5 * side[a];
        volume *= side[a] / FINE;
        size = side[a] / FINE > size ? side[a] / FINE : size;
        points *= FINE;
    }
    for (uint64_t bits = bodies; bits; bits &= bits - 1, count++) {
        const rp__body *body = &w->world->bodies[__builtin_ctzll(bits)];
        distance[count] = rp__body_distance(body, &body->pose, place_of(w, at, middle), &normal[count]);
    }
    for (int k = 0; k < points; k++) {
        double n[3][3], d[3][3], step[3] = { 0 };
        int index = k;
        for (int a = 0; a < RP_DIM; a++, index /= FINE) {
            step[a] = side[a] * ((index % FINE + 0.5) / FINE - 0.5);
            du_weights(w->y, middle[a] + step[a], n[a], d[a]);
        }
        double part = volume * outside(count, distance, normal, step, size, w->y->lattice.h);
        if (!(part > 0))
            continue;
        room->volume += part;
        add_products(room, n, d, part);
    }
}

/* The room of a dual cell that walls or bodies cut. */
static void room_of(const job *w, const int64_t at[3], uint64_t bodies, du_room *room)
{
    double low[3], high[3], h = w->y->lattice.h, full = du_power(h);
    bool whole;
    memset(room, 0, sizeof *room);
    if (!box_of(w, at, low, high, &whole))
        return;
    if (!bodies) {
        double n[3][3], d[3][3];
        room->volume = 1;
        for (int a = 0; a < RP_DIM; a++) {
            integrals(w->y, low[a], high[a], n[a], d[a]);
            room->volume *= high[a] - low[a];
        }
        add_products(room, n, d, 1);
    } else {
        for (int k = 0; k < (RP_DIM == 3 ? 8 : 4); k++) {
            double corner[3], side[3];
            for (int a = 0; a < RP_DIM; a++) {
                side[a] = 0.5 * (high[a] - low[a]);
                corner[a] = low[a] + (k >> a & 1 ? side[a] : 0);
            }
            add_part(w, at, corner, side, bodies, room);
        }
    }
    room->volume *= full;
    for (int j = 0; j < NS_STENCIL; j++)
        room->n[j] *= full;
    for (int j = 0; j < NS_STENCIL * RP_DIM; j++)
        room->g[j] *= full / h;
}

static void mark(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l, at[3];
            uint64_t bodies;
            du_centre(y, i, at);
            y->cut[i] = class_of(w, at, y->near[b], &bodies);
        }
}

static void fill(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l, at[3];
            uint64_t bodies;
            if (y->cut[i] < 0)
                continue;
            du_centre(y, i, at);
            class_of(w, at, y->near[b], &bodies);
            room_of(w, at, bodies, &y->rooms[y->cut[i]]);
        }
}

/* Integral of the weight `n` (of the stencil) over a whole dual cell. */
static double whole_integral(const dual *y, int n)
{
    static const double hat[3] = { 1.0 / 8, 3.0 / 4, 1.0 / 8 }, spline[3] = { 1.0 / 6, 2.0 / 3, 1.0 / 6 };
    const double *one = y->trilinear ? hat : spline;
    return one[n % 3] * one[n / 3 % 3] * (RP_DIM == 3 ? one[n / 9] : 1);
}

/* Room of a node: the sum over the dual cells around it. Those whose block is not there are looked at now. */
static double node_room(const job *w, int64_t j)
{
    const dual *y = w->y;
    double sum = 0, full = du_power(y->lattice.h);
    int64_t node[3];
    rp__grid_coordinates(&y->grid, j, node);
    for (int n = 0; n < NS_STENCIL; n++) {
        /* The node is number n of the stencil of the dual cell whose lowest node lies n cells before it, on each axis up to two. */
        int back[3] = { n % 3, n / 3 % 3, n / 9 };
        int64_t i = j, block = j / RP_BLOCK_NODES, at[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            at[a] = node[a] + 1 - back[a];
        for (int round = 0; round < 2 && i >= 0; round++) {
            const int one[3] = { -(back[0] > round), -(back[1] > round), -(back[2] > round) };
            i = du_beside(y, i, one);
        }
        int kind = i >= 0 ? y->cut[i] : 0;
        du_room room;
        const du_room *r = i >= 0 && kind >= 0 ? &y->rooms[kind] : NULL;
        if (i < 0) {
            uint64_t bodies;
            kind = class_of(w, at, y->near[block], &bodies);
            if (kind >= 0) {
                room_of(w, at, bodies, &room);
                r = &room;
            }
        }
        sum += r ? r->n[n] : kind == WHOLE ? full * whole_integral(y, n) : 0;
    }
    return sum;
}

static bool at_wall(const job *w, int64_t block)
{
    for (int a = 0; a < RP_DIM; a++) {
        int64_t first = 4 * (int64_t)w->y->grid.coord[block][a];
        if ((du_closed(w->world, 2 * a) && first <= 1) || (du_closed(w->world, 2 * a + 1) && first + 5 >= w->y->lattice.cells[a]))
            return true;
    }
    return false;
}

static void node_rooms(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    double full = du_power(y->lattice.h);
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        bool plain = !y->near[b] && !at_wall(w, b);
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t j = b * RP_BLOCK_NODES + l;
            y->nodes.room[j] = plain ? full : node_room(w, j);
        }
    }
}

/* After the masses of the nodes are there. */
rp_result DU(rooms)(dual *y, const rp__world *world)
{
    job w = { .y = y, .world = world };
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    rp__exec_for(y->grid.blocks, 8, find_near, &w);
    rp__exec_for(y->grid.blocks, 4, mark, &w);
    y->room_count = 0;
    for (int64_t i = 0; i < nodes; i++)
        if (y->cut[i] == CUT)
            y->cut[i] = (int32_t)y->room_count++;
    if (!rp__base_grow(&y->rooms, &y->room_capacity, y->room_count + 1, sizeof *y->rooms))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(y->grid.blocks, 4, fill, &w);
    rp__exec_for(y->grid.blocks, 4, node_rooms, &w);
    return RP_OK;
}
