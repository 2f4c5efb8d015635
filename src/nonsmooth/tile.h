/* The tile that a block works on: the velocities of its nodes and of one layer around, copied in and out. */
#ifndef RP_NONSMOOTH_TILE_H
#define RP_NONSMOOTH_TILE_H

#include "nonsmooth/system.h"

/* Rows of a tile along the first axis: a node of the block before, four of the one in the middle, one of the block after. */
NS_INLINE void ns_tile_row(const ns_system *y, const int32_t *neighbour, int row, int64_t from[3])
{
    int t = row * NS_TILE_SIDE;
    for (int k = 0; k < 3; k++) {
        int at = t + (k == 0 ? 0 : k == 1 ? 1 : NS_TILE_SIDE - 1);
        int64_t b = neighbour[y->tile_neighbour[at]];
        from[k] = b < 0 ? -1 : NS_PAD * (b * RP_BLOCK_NODES + y->tile_local[at]);
    }
}

NS_INLINE ns_four ns_four_at(const double *u, int64_t at)
{
    return at < 0 ? (ns_four){ 0 } : *(const ns_four *)(u + at);
}

static inline void ns_load_tile(const ns_system *y, int64_t block, double *restrict tile)
{
    const int32_t *neighbour = y->grid.neighbour[block];
    for (int row = 0; row < NS_TILE / NS_TILE_SIDE; row++) {
        int64_t from[3];
        ns_four *to = (ns_four *)tile + row * NS_TILE_SIDE;
        ns_tile_row(y, neighbour, row, from);
        to[0] = ns_four_at(y->u, from[0]);
        for (int k = 0; k < RP_BLOCK; k++)
            to[1 + k] = from[1] < 0 ? (ns_four){ 0 } : ((const ns_four *)(y->u + from[1]))[k];
        to[NS_TILE_SIDE - 1] = ns_four_at(y->u, from[2]);
    }
}

static inline void ns_store_tile(ns_system *y, int64_t block, const double *restrict tile)
{
    const int32_t *neighbour = y->grid.neighbour[block];
    for (int row = 0; row < NS_TILE / NS_TILE_SIDE; row++) {
        int64_t to[3];
        const ns_four *from = (const ns_four *)tile + row * NS_TILE_SIDE;
        ns_tile_row(y, neighbour, row, to);
        if (to[0] >= 0)
            *(ns_four *)(y->u + to[0]) = from[0];
        if (to[1] >= 0)
            for (int k = 0; k < RP_BLOCK; k++)
                ((ns_four *)(y->u + to[1]))[k] = from[1 + k];
        if (to[2] >= 0)
            *(ns_four *)(y->u + to[2]) = from[NS_TILE_SIDE - 1];
    }
}

#endif
