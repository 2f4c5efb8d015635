/* The set of active blocks: a hash table, the neighbours at +1, the Morton order. */
#include "grid/scratch.h"

#include "base/error.h"
#include "base/memory.h"

/* Keys of particles are block * RP_BLOCK_NODES + cell in 32 bits. */
static const int64_t most_blocks = ((int64_t)1 << 31) / RP_BLOCK_NODES;

static rp_result grow_table(rp__grid_scratch *s)
{
    int64_t size = s->table_size ? 2 * s->table_size : 64;
    int32_t *table = rp__base_alloc((size_t)size * sizeof *table);
    if (!table)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < size; i++)
        table[i] = -1;
    for (int64_t b = 0; b < s->blocks; b++) {
        int64_t slot;
        rp__grid_look_up(table, size, s->coord, s->coord[b], &slot);
        table[slot] = (int32_t)b;
    }
    rp__base_free(s->table);
    s->table = table;
    s->table_size = size;
    return RP_OK;
}

rp_result RP_D(rp__grid_add_block)(rp__grid_scratch *s, const int32_t c[3], int32_t *index)
{
    if (2 * (s->blocks + 1) > s->table_size)
        RP_TRY(grow_table(s));
    int64_t slot;
    int32_t found = rp__grid_look_up(s->table, s->table_size, s->coord, c, &slot);
    if (found < 0) {
        if (s->blocks == most_blocks)
            return rp__base_fail(RP_TOO_LARGE, "the grid has %lld active blocks, the most it can hold: the cells are too small for "
                                 "the space that the particles fill", (long long)s->blocks);
        if (!rp__base_grow(&s->coord, &s->block_capacity, s->blocks + 1, sizeof *s->coord))
            return RP_OUT_OF_MEMORY;
        found = (int32_t)s->blocks++;
        for (int a = 0; a < 3; a++)
            s->coord[found][a] = c[a];
        s->table[slot] = found;
    }
    *index = found;
    return RP_OK;
}

/* The node sets of kernels that start in block b lie in b … b+1 on each axis. */
static rp_result add_neighbours(rp__grid_scratch *s, const rp__lattice *lattice)
{
    int64_t occupied = s->blocks;
    for (int64_t b = 0; b < occupied; b++) {
        for (int n = 1; n < 1 << RP_DIM; n++) {
            int32_t c[3] = { s->coord[b][0], s->coord[b][1], s->coord[b][2] }, index;
            for (int a = 0; a < RP_DIM; a++)
                c[a] = rp__grid_wrap(lattice, a, c[a] + (n >> a & 1));
            RP_TRY(RP_D(rp__grid_add_block)(s, c, &index));
        }
    }
    return RP_OK;
}

/* Is a before b in Morton order? The axis whose coordinates differ in the highest bit decides, the last axis at a tie;
 * no code is formed, so all 32 bits count. */
static bool before(const int32_t a[3], const int32_t b[3])
{
    int axis = RP_DIM - 1;
    uint32_t best = 0;
    for (int i = RP_DIM - 1; i >= 0; i--) {
        uint32_t d = (uint32_t)a[i] ^ (uint32_t)b[i];
        if (best < d && best < (best ^ d)) {
            best = d;
            axis = i;
        }
    }
    return a[axis] < b[axis];
}

/* Natural merge sort: the occupied blocks come in order when the particles are nearly sorted. */
static void morton_order(rp__grid_scratch *s)
{
    int32_t n = (int32_t)s->blocks;
    for (int32_t i = 0; i < n; i++)
        s->sorted[i] = i;
    for (int32_t runs = 2; runs > 1;) {
        int32_t *from = s->sorted, *to = s->merged, k = 0;
        runs = 0;
        for (int32_t i = 0; i < n; runs++) {
            int32_t middle = i + 1, end;
            while (middle < n && before(s->coord[from[middle - 1]], s->coord[from[middle]]))
                middle++;
            end = middle < n ? middle + 1 : n;
            while (end < n && before(s->coord[from[end - 1]], s->coord[from[end]]))
                end++;
            int32_t a = i, b = middle;
            while (a < middle && b < end)
                to[k++] = before(s->coord[from[b]], s->coord[from[a]]) ? from[b++] : from[a++];
            while (a < middle)
                to[k++] = from[a++];
            while (b < end)
                to[k++] = from[b++];
            i = end;
        }
        s->sorted = to;
        s->merged = from;
    }
    for (int32_t i = 0; i < n; i++)
        s->rank[s->sorted[i]] = i;
}

static rp_result grow_sorted(rp__grid_scratch *s)
{
    int64_t capacity = s->blocks + s->blocks / 2;
    void *room[5];
    bool all = true;
    for (int i = 0; i < 5; i++) {
        room[i] = rp__base_alloc((size_t)(capacity + 1) * (i < 3 ? sizeof(int32_t) : sizeof(int64_t)));
        all = all && room[i];
    }
    if (!all) {
        for (int i = 0; i < 5; i++)
            rp__base_free(room[i]);
        return RP_OUT_OF_MEMORY;
    }
    void *old[5] = { s->sorted, s->merged, s->rank, s->first, s->cursor };
    for (int i = 0; i < 5; i++)
        rp__base_free(old[i]);
    s->sorted = room[0], s->merged = room[1], s->rank = room[2];
    s->first = room[3], s->cursor = room[4];
    s->sorted_capacity = capacity;
    return RP_OK;
}

rp_result RP_D(rp__grid_sort_blocks)(rp__grid_scratch *s, const rp__lattice *lattice)
{
    RP_TRY(add_neighbours(s, lattice));
    if (s->blocks > s->sorted_capacity)
        RP_TRY(grow_sorted(s));
    morton_order(s);
    return RP_OK;
}
