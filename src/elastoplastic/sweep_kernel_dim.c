/* The two passes of an explicit step over the particles, block by block: see sweep.h. */
#include "elastoplastic/sweep.h"

#include "elastoplastic/law_both.h"
#include "exec/exec.h"

#include <string.h>

enum {
    BATCH = 32,             /* particles whose weights are computed together */
    AHEAD = 2,              /* batches that are asked for in advance */
    SIDE = 2 * RP_BLOCK,    /* nodes of a tile a side */
    TILE = RP_DIM == 3 ? SIDE * SIDE * SIDE : SIDE * SIDE
};

#define RP_INLINE static inline __attribute__((always_inline)) /* `order` is a constant in the loops */

typedef double any_four __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias)); /* four nodes of a plane */

RP_INLINE int64_t owner_of(const rp__grid *g, int64_t block, int ox, int oy, int oz)
{
    return g->neighbour[block][RP_DIM == 3 ? ((1 + oz) * 3 + 1 + oy) * 3 + 1 + ox : (1 + oy) * 3 + 1 + ox];
}

/* Moves particles; 1 when one of them is now where the nodes of the block do not reach. */
RP_INLINE int move_freely(int order, const rp__elastoplastic_sweep *w, int64_t block, int64_t begin, int64_t end)
{
    double dt = w->step->dt;
    double outside = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double *restrict x = w->p->x[a];
        const double *restrict v = w->moving[a];
        const rp__lattice *lattice = &w->g->lattice;
        double corner = (double)w->g->coord[block][a] * RP_BLOCK, around = lattice->periodic[a] ? (double)lattice->cells[a] : 0;
#pragma omp simd reduction(+ : outside)
        for (int64_t i = begin; i < end; i++) {
            x[i] += dt * v[i];
            double offset = rp__lattice_base(order, rp__lattice_coordinate(lattice, a, x[i])) - corner;
            offset = offset < 0 ? offset + around : offset;
            offset = offset > 7 - order ? offset - around : offset;
            double inside = offset >= 0 ? offset : 0;
            inside = inside <= 7 - order ? inside : 7 - order;
            outside += inside == offset ? 0.0 : 1.0;
        }
    }
    return outside > 0;
}

#define REAL double
#define NAME(name) double_##name
#define WIDTH 4
#include "elastoplastic/sweep_lanes.h"

#define REAL float
#define NAME(name) single_##name
#define WIDTH 8
#include "elastoplastic/sweep_lanes.h"

#define ITEM(name, ...)                                                            \
    static void name(void *context, int64_t block, int worker)                     \
    {                                                                              \
        const rp__elastoplastic_sweep *w = context;                                \
        (void)worker;                                                              \
        __VA_ARGS__;                                                               \
    }
#define BLOCKS(name, ...)                                                          \
    static void name(void *context, int64_t begin, int64_t end, int worker)        \
    {                                                                              \
        const rp__elastoplastic_sweep *w = context;                                \
        (void)worker;                                                              \
        for (int64_t block = begin; block < end; block++)                          \
            __VA_ARGS__;                                                           \
    }
/* The loops of a storage and an order: type_order, and type_order_flip. */
#define LOOPS(type, order)                                                         \
    ITEM(scatter_##type##_##order, type##_scatter_block(order, false, w, block))   \
    ITEM(scatter_##type##_##order##_flip, type##_scatter_block(order, true, w, block)) \
    ITEM(volumes_##type##_##order, type##_volumes_to_grid(order, w, block))        \
    BLOCKS(gather_##type##_##order, type##_gather_block(order, false, w, block))   \
    BLOCKS(gather_##type##_##order##_flip, type##_gather_block(order, true, w, block)) \
    BLOCKS(relax_##type##_##order, type##_volumes_to_particles(order, w, block))
LOOPS(double, 2)
LOOPS(double, 3)
LOOPS(single, 2)
LOOPS(single, 3)

enum { NODES = 4096 };

static void clear_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_sweep *w = context;
    size_t bytes = (size_t)(end - begin) * sizeof(double);
    (void)worker;
    memset(w->mass + begin, 0, bytes);
    for (int a = 0; a < RP_DIM; a++) {
        memset(w->velocity[a] + begin, 0, bytes);
        if (w->before[a])
            memset(w->before[a] + begin, 0, bytes);
    }
}

static void clear_values_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_sweep *w = context;
    (void)worker;
    for (int n = 0; n < 2; n++)
        memset(w->value[n] + begin, 0, (size_t)(end - begin) * sizeof(double));
}

static void divide_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_sweep *w = context;
    (void)worker;
    for (int n = 0; n < 2; n++)
        for (int64_t i = begin; i < end; i++)
            w->value[n][i] = w->mass[i] > 0 ? w->value[n][i] / w->mass[i] : 0;
}

void RP_D(rp__elastoplastic_scatter)(rp__elastoplastic_sweep *w)
{
    static const rp__exec_item_fn functions[2][2][2] = {
        { { scatter_double_2, scatter_double_2_flip }, { scatter_double_3, scatter_double_3_flip } },
        { { scatter_single_2, scatter_single_2_flip }, { scatter_single_3, scatter_single_3_flip } },
    };
    rp__exec_for((int64_t)w->g->blocks * RP_BLOCK_NODES, NODES, clear_chunk, w);
    rp__exec_colors(w->g->colours, w->g->colour_first, w->g->colour_items, 1,
                    functions[w->step->single][w->order - 2][w->before[0] != NULL], w);
}

void RP_D(rp__elastoplastic_gather)(rp__elastoplastic_sweep *w)
{
    static const rp__exec_fn functions[2][2][2] = {
        { { gather_double_2, gather_double_2_flip }, { gather_double_3, gather_double_3_flip } },
        { { gather_single_2, gather_single_2_flip }, { gather_single_3, gather_single_3_flip } },
    };
    rp__exec_for(w->g->blocks, 2, functions[w->step->single][w->order - 2][w->before[0] != NULL], w);
}

void RP_D(rp__elastoplastic_agree)(rp__elastoplastic_sweep *w)
{
    static const rp__exec_item_fn to_grid[2][2] = { { volumes_double_2, volumes_double_3 }, { volumes_single_2, volumes_single_3 } };
    static const rp__exec_fn to_particles[2][2] = { { relax_double_2, relax_double_3 }, { relax_single_2, relax_single_3 } };
    int64_t nodes = (int64_t)w->g->blocks * RP_BLOCK_NODES;
    rp__exec_for(nodes, NODES, clear_values_chunk, w);
    rp__exec_colors(w->g->colours, w->g->colour_first, w->g->colour_items, 1, to_grid[w->step->single][w->order - 2], w);
    rp__exec_for(nodes, NODES, divide_chunk, w);
    rp__exec_for(w->g->blocks, 2, to_particles[w->step->single][w->order - 2], w);
}
