/* What rp__grid_build keeps from step to step. Inside the room only. */
#ifndef RP_GRID_SCRATCH_H
#define RP_GRID_SCRATCH_H

#include "grid/grid.h"

/* A run is a set of particles of one chunk that lie in the same block, in ascending order. Particles that are nearly
 * sorted give few runs, and all the serial work is on runs. */
typedef struct rp__grid_run {
    int32_t coord[3];
    int32_t block;   /* provisional at first, then sorted */
    int64_t count;   /* particles; then the place of the next one in `bucket` */
} rp__grid_run;

typedef struct rp__grid_scratch {
    /* particles, in the scratch memory of their store: the order takes the place of the runs, and the permutation that of
     * buckets and cells */
    int32_t *run;          /* of a particle, counted from the first of its chunk */
    unsigned char *cell;   /* inside the block */
    int32_t *bucket;       /* particles by block */
    int32_t *order;        /* particles by block and cell */
    /* chunks of particles */
    int64_t chunk_capacity;
    int64_t *chunk_first;  /* first run of a chunk, chunks + 1 */
    int64_t *chunk_bad;    /* first particle without a base node, or -1 */
    /* runs */
    int64_t run_capacity;
    rp__grid_run *runs;
    /* blocks, in the order they were found */
    int64_t blocks, block_capacity;
    int32_t (*coord)[3];
    int64_t sorted_capacity;
    int32_t *sorted, *merged; /* provisional indices in Morton order; the other half of a merge */
    int32_t *rank;            /* provisional to sorted */
    int64_t *first, *cursor;  /* particles of a sorted block (blocks + 1); where its next run begins */
    int32_t *table;
    int64_t table_size;
} rp__grid_scratch;

enum { RP_GRID_CHUNK = 8192 };

/* Hash of block coordinates. */
static inline uint64_t rp__grid_hash(const int32_t c[3])
{
    uint64_t h = (uint64_t)(uint32_t)c[0] * 0x9e3779b97f4a7c15u;
    h ^= (uint64_t)(uint32_t)c[1] * 0xc2b2ae3d27d4eb4fu;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    h ^= (uint64_t)(uint32_t)c[2] * 0x165667b19e3779f9u;
    h = (h ^ h >> 32) * 0x94d049bb133111ebu;
    return h ^ h >> 29;
}

/* Block coordinate wrapped on a periodic axis. */
static inline int32_t rp__grid_wrap(const rp__lattice *lattice, int axis, int32_t c)
{
    if (!lattice->periodic[axis])
        return c;
    int32_t n = (int32_t)(lattice->cells[axis] / RP_BLOCK), r = c % n;
    return r < 0 ? r + n : r;
}

/* Index stored for the coordinates (already wrapped) in a table over `coord`, or -1; *slot (may be NULL) is where it is
 * or would be. */
static inline int32_t rp__grid_look_up(const int32_t *table, int64_t size, int32_t (*coord)[3], const int32_t c[3], int64_t *slot)
{
    int64_t mask = size - 1, i = (int64_t)(rp__grid_hash(c) & (uint64_t)mask);
    while (table[i] >= 0 && (coord[table[i]][0] != c[0] || coord[table[i]][1] != c[1] || coord[table[i]][2] != c[2]))
        i = (i + 1) & mask;
    if (slot)
        *slot = i;
    return table[i];
}

/* bin_dim.c: runs, cells and the blocks they are in (provisional); wraps positions. */
rp_result RP_D(rp__grid_bin)(rp__grid_scratch *s, const rp__lattice *lattice, rp__particles *p, int order, int shift);

/* bin_dim.c: once the blocks are sorted, gives the runs their sorted blocks and fills first[]. */
void RP_D(rp__grid_count)(rp__grid_scratch *s, int64_t particles);

/* bin_dim.c: are the particles in order already? If not, rp__grid_order fills order[], and run[] is gone. */
bool RP_D(rp__grid_in_order)(const rp__grid_scratch *s, int64_t particles);
void RP_D(rp__grid_order)(rp__grid_scratch *s, int64_t particles);

/* blocks_dim.c: adds a block (wrapped) to the set if it is not there; its provisional index. */
rp_result RP_D(rp__grid_add_block)(rp__grid_scratch *s, const int32_t c[3], int32_t *index);

/* blocks_dim.c: neighbours of the occupied blocks, Morton order into sorted[] and rank[]. */
rp_result RP_D(rp__grid_sort_blocks)(rp__grid_scratch *s, const rp__lattice *lattice);

#endif
