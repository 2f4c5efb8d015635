/* The sparse grid: blocks of RP_BLOCK^d cells, active where particles are. Compiled for RP_DIM = 2 and 3.
 *
 * A lattice node with integer coordinates n sits at origin + h n; cell n spans nodes n … n+1. A block holds the nodes
 * (and cells) 4b … 4b+3 on each axis. Blocks are sorted by the Morton code of their coordinates. The grid knows no
 * field: users keep arrays of grid->blocks * RP_BLOCK_NODES values, the node with local coordinates (i, j, k) of
 * block b at index b * RP_BLOCK_NODES + (k * 4 + j) * 4 + i. Memory follows the active blocks, not the domain. */
#ifndef RP_GRID_GRID_H
#define RP_GRID_GRID_H

#include "particles/particles.h"

#include <math.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef RP_DIM
#error "grid.h is for files compiled with RP_DIM (name_dim.c)"
#endif

/* RP_D(rp__grid_build) is rp__grid_build_2d or rp__grid_build_3d. */
#define RP_PASTE_(a, b, c) a##b##c
#define RP_PASTE(a, b, c) RP_PASTE_(a, b, c)
#define RP_D(name) RP_PASTE(name##_, RP_DIM, d)

enum {
    RP_BLOCK = 4, /* cells a side */
#if RP_DIM == 2
    RP_BLOCK_NODES = 16,
    RP_NEIGHBOURS = 9,
    RP_COLOURS = 9,
#else
    RP_BLOCK_NODES = 64,
    RP_NEIGHBOURS = 27,
    RP_COLOURS = 27,
#endif
};

/* The lattice a grid lives on; fixed for a simulation. */
typedef struct rp__lattice {
    double origin[3], h;
    int64_t cells[3];  /* of the domain, a side; nodes 0 … cells */
    bool periodic[3];  /* cells[a] is then a multiple of RP_BLOCK */
} rp__lattice;

/* Position to lattice coordinate (nodes at the integers). Whoever looks for the base node of a particle calls this, so
 * that all agree to the last bit. */
static inline double rp__lattice_coordinate(const rp__lattice *lattice, int axis, double x)
{
    return (x - lattice->origin[axis]) * (1 / lattice->h);
}

/* First node of the kernel of `order` around lattice coordinate q, as rp__spline_… returns it; not yet an integer type. */
static inline double rp__lattice_base(int order, double q)
{
    return order == 1 ? floor(q) : order == 2 ? floor(q - 0.5) : floor(q) - 1;
}

#define rp__grid RP_D(rp__grid)
typedef struct rp__grid {
    rp__lattice lattice;
    int32_t blocks, capacity;
    int32_t (*coord)[3];                    /* block coordinates (cells / 4) */
    int32_t (*neighbour)[RP_NEIGHBOURS];    /* index of the block at offset (i-1, j-1, k-1): [(k*3 + j)*3 + i], -1 if absent */
    /* Two blocks of one colour have another block between them on some axis: work on a block that writes nodes up to l
     * layers before it and r layers after it, l + r <= 4, may run on all blocks of a colour at once. */
    int32_t colours;
    int64_t colour_first[RP_COLOURS + 1];
    int32_t *colour_items;                  /* blocks by colour, ascending inside one */
    /* hash from coordinates to index */
    int32_t *table;
    int64_t table_size;
    int64_t *first;                         /* blocks + 1: particles first[b] … first[b+1] have their base node in block b */
    struct rp__grid_scratch *scratch;
} rp__grid;

/* lattice->h > 0, cells > 0 and, on periodic axes, a multiple of RP_BLOCK: RP_BAD_ARGUMENT otherwise. Starts without a block. */
rp_result RP_D(rp__grid_init)(rp__grid *g, const rp__lattice *lattice);
void RP_D(rp__grid_free)(rp__grid *g);

/* Sorts the particles by block (of their base node; order 1 linear, 2 quadratic, 3 cubic: see math/spline.h) and by
 * cell inside a block, stable; activates the block of each base node and its neighbours at +1, which are all that their
 * shape functions touch. Positions on periodic axes are wrapped into the domain first; elsewhere they may lie outside it.
 * Base nodes outside the 32-bit lattice or not finite: RP_DIVERGED with the particle's id. On failure the grid and the
 * order of the particles are as before. */
rp_result RP_D(rp__grid_build)(rp__grid *g, rp__particles *p, int order);

/* The same for users who sort seldom: block b takes base nodes 4b + 1 … 4b + 4, so that its particles may move a cell either way
 * and the quadratic kernel still touches the blocks b and b + 1 alone. The kernels of src/transfer do not know such a grid. */
rp_result RP_D(rp__grid_build_loose)(rp__grid *g, rp__particles *p, int order);

/* The blocks of an earlier build again, particles untouched: the occupied ones in their order, each with its coordinates and the
 * number of its particles (at least 1). */
rp_result RP_D(rp__grid_rebuild)(rp__grid *g, int64_t blocks, const int32_t (*occupied)[4]);

/* Block index at block coordinates (wrapped on periodic axes), or -1. */
int32_t RP_D(rp__grid_find)(const rp__grid *g, int32_t bx, int32_t by, int32_t bz);

/* Array index of a node (lattice coordinates), or -1 when its block is not active. */
int64_t RP_D(rp__grid_node)(const rp__grid *g, int64_t i, int64_t j, int64_t k);

/* Lattice coordinates of an array index. */
static inline void rp__grid_coordinates(const rp__grid *g, int64_t node, int64_t out[3])
{
    int64_t block = node / RP_BLOCK_NODES;
    int local = (int)(node % RP_BLOCK_NODES);
    out[0] = (int64_t)g->coord[block][0] * RP_BLOCK + (local & 3);
    out[1] = (int64_t)g->coord[block][1] * RP_BLOCK + (local >> 2 & 3);
#if RP_DIM == 3
    out[2] = (int64_t)g->coord[block][2] * RP_BLOCK + (local >> 4);
#else
    out[2] = 0;
#endif
}

#endif
