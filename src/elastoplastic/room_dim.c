/* See room.h. The integral is a sum over little boxes of half a cell, whose faces are at the walls; of a box that a body cuts, the distance at
 * its middle tells how much is free. */
#include "elastoplastic/room.h"

#include "exec/exec.h"

#include <math.h>

/* Boxes along an axis within reach of a node, two cells either way; of a block; and cells of a block with those around it, a box each in 2D's z. */
enum { BOXES = 8, CELLS = RP_BLOCK + 3, SIDE = 2 * CELLS, DEEP = RP_DIM == 3 ? SIDE : 1, LAYERS = RP_DIM == 3 ? RP_BLOCK : 1 };

typedef struct clearing {
    const rp__grid *g;
    const rp__world *world;
    double *room;
    double weight[BOXES]; /* of N along an axis */
} clearing;

/* The integral of the B-spline of an order from the middle to s. */
static double from_middle(int order, double s)
{
    double a = fabs(s), sum;
    if (order == 2)
        sum = a < 0.5 ? 0.75 * a - a * a * a / 3 : 0.5 - pow(fmax(1.5 - a, 0), 3) / 6;
    else
        sum = a < 1 ? 2 * a / 3 - a * a * a / 3 + a * a * a * a / 8 : 0.5 - pow(fmax(2 - a, 0), 4) / 24;
    return s < 0 ? -sum : sum;
}

static double distance(const clearing *w, rp__vec3 x)
{
    double least = INFINITY;
    for (int b = 0; b < w->world->body_count; b++) {
        const rp__body *body = &w->world->bodies[b];
        if (body->present)
            least = fmin(least, rp__body_distance(body, &body->pose, x, NULL));
    }
    return least;
}

/* How much of each box in and around a block is outside of all bodies. Where the distance at the middle of a cell tells that no box of it is
 * cut, the boxes are not asked. */
static void fill_boxes(const clearing *w, const double corner[3], double boxes[DEEP][SIDE][SIDE])
{
    double h = w->g->lattice.h, sure = 0.25 * h * (1 + sqrt(RP_DIM));
    for (int c = 0; c < CELLS * CELLS * (RP_DIM == 3 ? CELLS : 1); c++) {
        int cell[3] = { c % CELLS, c / CELLS % CELLS, c / (CELLS * CELLS) };
        double middle[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            middle[a] = corner[a] + h * (cell[a] + 0.5);
        double d = distance(w, rp__vec3_load(middle));
        for (int k = 0; k < 1 << RP_DIM; k++) {
            double x[3] = { 0 };
            int at[3] = { 0 };
            for (int a = 0; a < RP_DIM; a++) {
                at[a] = 2 * cell[a] + (k >> a & 1);
                x[a] = middle[a] + h * (k >> a & 1 ? 0.25 : -0.25);
            }
            double own = fabs(d) > sure ? d : distance(w, rp__vec3_load(x));
            boxes[at[2]][at[1]][at[0]] = fmin(1, fmax(0, 0.5 + 2 * own / h));
        }
    }
}

static bool is_beyond(const clearing *w, int axis, double q)
{
    const rp_surface *wall = &w->world->def->wall[2 * axis];
    int side = q < 0 ? 0 : q > (double)w->world->cells[axis] ? 1 : -1;
    return side >= 0 && wall[side].kind != RP_OPEN && wall[side].kind != RP_PERIODIC;
}

/* Weights of the boxes along an axis around the node with coordinate `at`: none beyond a wall. Their sum. */
static double weights_of(const clearing *w, int axis, int64_t at, double weight[BOXES])
{
    double sum = 0;
    for (int k = 0; k < BOXES; k++) {
        weight[k] = is_beyond(w, axis, (double)at + 0.5 * (k - BOXES / 2) + 0.25) ? 0 : w->weight[k];
        sum += weight[k];
    }
    return sum;
}

/* Sums over the boxes around the nodes of a block, axis by axis. */
static void add_up(double boxes[DEEP][SIDE][SIDE], double weight[3][RP_BLOCK][BOXES], double *room)
{
    double rows[DEEP][SIDE][RP_BLOCK] = { 0 }, layers[DEEP][RP_BLOCK][RP_BLOCK] = { 0 };
    for (int z = 0; z < DEEP; z++) {
        for (int y = 0; y < SIDE; y++)
            for (int i = 0; i < RP_BLOCK; i++)
                for (int k = 0; k < BOXES; k++)
                    rows[z][y][i] += weight[0][i][k] * boxes[z][y][2 * i + k];
        for (int j = 0; j < RP_BLOCK; j++)
            for (int k = 0; k < BOXES; k++)
                for (int i = 0; i < RP_BLOCK; i++)
                    layers[z][j][i] += weight[1][j][k] * rows[z][2 * j + k][i];
    }
    for (int n = 0; n < LAYERS * RP_BLOCK * RP_BLOCK; n++) {
        int i = n % RP_BLOCK, j = n / RP_BLOCK % RP_BLOCK, l = n / (RP_BLOCK * RP_BLOCK);
        room[n] = RP_DIM == 2 ? layers[0][j][i] : 0;
        for (int k = 0; k < BOXES && RP_DIM == 3; k++)
            room[n] += weight[2][l][k] * layers[2 * l + k][j][i];
    }
}

static void room_of_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const clearing *w = context;
    const rp__lattice *l = &w->g->lattice;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        double weight[3][RP_BLOCK][BOXES], whole[3][RP_BLOCK], corner[3] = { 0 }, middle[3] = { 0 }, *room = w->room + b * RP_BLOCK_NODES;
        for (int a = 0; a < RP_DIM; a++) {
            int64_t first = (int64_t)w->g->coord[b][a] * RP_BLOCK;
            corner[a] = l->origin[a] + l->h * (double)(first - 2);
            middle[a] = corner[a] + 0.5 * CELLS * l->h;
            for (int n = 0; n < RP_BLOCK; n++)
                whole[a][n] = weights_of(w, a, first + n, weight[a][n]);
        }
        if (distance(w, rp__vec3_load(middle)) < 0.5 * CELLS * sqrt(RP_DIM) * l->h) {
            double boxes[DEEP][SIDE][SIDE];
            fill_boxes(w, corner, boxes);
            add_up(boxes, weight, room);
            continue;
        }
        for (int n = 0; n < RP_BLOCK_NODES; n++)
            room[n] = whole[0][n % RP_BLOCK] * whole[1][n / RP_BLOCK % RP_BLOCK] * (RP_DIM == 3 ? whole[2][n / (RP_BLOCK * RP_BLOCK)] : 1);
    }
}

void RP_D(rp__elastoplastic_find_room)(const rp__grid *g, const rp__world *world, int order, double *room)
{
    clearing w = { .g = g, .world = world, .room = room };
    for (int k = 0; k < BOXES; k++)
        w.weight[k] = from_middle(order, 0.5 * (k + 1 - BOXES / 2)) - from_middle(order, 0.5 * (k - BOXES / 2));
    rp__exec_for(g->blocks, 2, room_of_blocks, &w);
}
