#include "grid/grid.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "grid/scratch.h"

#include <assert.h>
#include <string.h>

rp_result RP_D(rp__grid_init)(rp__grid *g, const rp__lattice *lattice)
{
    static const char names[3] = { 'x', 'y', 'z' };
    memset(g, 0, sizeof *g);
    if (!(lattice->h > 0) || !isfinite(lattice->h) || !isfinite(1 / lattice->h))
        return rp__base_fail(RP_BAD_ARGUMENT, "cell size %g m: it must be positive and finite", lattice->h);
    for (int a = 0; a < RP_DIM; a++) {
        if (!isfinite(lattice->origin[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "the origin of the grid on %c is %g m: it must be finite", names[a], lattice->origin[a]);
        if (lattice->cells[a] < 1)
            return rp__base_fail(RP_BAD_ARGUMENT, "%lld cells on %c: there must be one at least", (long long)lattice->cells[a], names[a]);
        if (lattice->periodic[a] && (lattice->cells[a] % RP_BLOCK != 0 || lattice->cells[a] > INT32_MAX / 2))
            return rp__base_fail(RP_BAD_ARGUMENT, "%lld cells on %c, which is periodic: the number must be a multiple of %d, at most 2^30",
                                 (long long)lattice->cells[a], names[a], RP_BLOCK);
    }
    rp__grid_scratch *scratch = RP_NEW(rp__grid_scratch);
    int64_t *first = RP_NEW_ARRAY(int64_t, 1);
    if (!scratch || !first) {
        rp__base_free(scratch);
        rp__base_free(first);
        return RP_OUT_OF_MEMORY;
    }
    g->lattice = *lattice;
    g->scratch = scratch;
    g->first = first;
    return RP_OK;
}

void RP_D(rp__grid_free)(rp__grid *g)
{
    rp__grid_scratch *s = g->scratch;
    if (s) {
        void *arrays[] = { s->chunk_first, s->chunk_bad, s->runs, s->coord, s->sorted, s->merged, s->rank, s->first, s->cursor, s->table, s };
        for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
            rp__base_free(arrays[i]);
    }
    rp__base_free(g->coord);
    rp__base_free(g->neighbour);
    rp__base_free(g->colour_items);
    rp__base_free(g->table);
    rp__base_free(g->first);
    memset(g, 0, sizeof *g);
}

static int32_t find_block(const rp__grid *g, const int32_t c[3])
{
    return g->table_size ? rp__grid_look_up(g->table, g->table_size, g->coord, c, NULL) : -1;
}

int32_t RP_D(rp__grid_find)(const rp__grid *g, int32_t bx, int32_t by, int32_t bz)
{
    const int32_t b[3] = { bx, by, bz };
    int32_t c[3] = { 0, 0, 0 };
    for (int a = 0; a < RP_DIM; a++)
        c[a] = rp__grid_wrap(&g->lattice, a, b[a]);
    return find_block(g, c);
}

int64_t RP_D(rp__grid_node)(const rp__grid *g, int64_t i, int64_t j, int64_t k)
{
    const int64_t n[3] = { i, j, k };
    int32_t c[3] = { 0, 0, 0 };
    int64_t local = 0;
    for (int a = 0; a < RP_DIM; a++) {
        if (n[a] < INT32_MIN || n[a] > INT32_MAX)
            return -1;
        c[a] = rp__grid_wrap(&g->lattice, a, (int32_t)(n[a] >> 2));
        local |= (n[a] & 3) << 2 * a;
    }
    int32_t block = find_block(g, c);
    return block < 0 ? -1 : (int64_t)block * RP_BLOCK_NODES + local;
}

/* ---- build ---- */

static rp_result make_room(rp__grid *g)
{
    rp__grid_scratch *s = g->scratch;
    if (s->blocks > g->capacity) {
        int64_t capacity = s->blocks + s->blocks / 4;
        void *coord = rp__base_realloc(g->coord, (size_t)capacity * sizeof *g->coord);
        if (coord)
            g->coord = coord;
        void *neighbour = rp__base_realloc(g->neighbour, (size_t)capacity * sizeof *g->neighbour);
        if (neighbour)
            g->neighbour = neighbour;
        void *items = rp__base_realloc(g->colour_items, (size_t)capacity * sizeof *g->colour_items);
        if (items)
            g->colour_items = items;
        void *first = rp__base_realloc(g->first, (size_t)(capacity + 1) * sizeof *g->first);
        if (first)
            g->first = first;
        if (!coord || !neighbour || !items || !first)
            return RP_OUT_OF_MEMORY;
        g->capacity = (int32_t)capacity;
    }
    return RP_OK;
}

static void fill_neighbours(void *context, int64_t begin, int64_t end, int worker)
{
    rp__grid *g = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        for (int n = 0; n < RP_NEIGHBOURS; n++) {
            const int offset[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
            int32_t c[3] = { 0, 0, 0 };
            for (int a = 0; a < RP_DIM; a++)
                c[a] = rp__grid_wrap(&g->lattice, a, g->coord[b][a] + offset[a]);
            g->neighbour[b][n] = find_block(g, c);
        }
    }
}

/* Parity on each axis; on a periodic axis with an odd number of blocks the last has a colour of its own, or it would
 * meet the first. */
static int colour_of(const rp__lattice *lattice, const int32_t c[3], int *colours)
{
    int colour = 0;
    *colours = 1;
    for (int a = RP_DIM - 1; a >= 0; a--) {
        int64_t blocks = lattice->cells[a] / RP_BLOCK;
        bool odd = lattice->periodic[a] && blocks % 2 == 1 && blocks > 1;
        int here = odd && c[a] == blocks - 1 ? 2 : c[a] & 1, count = odd ? 3 : 2;
        colour = colour * count + here;
        *colours *= count;
    }
    return colour;
}

static void fill_colours(rp__grid *g)
{
    int colours = 0;
    memset(g->colour_first, 0, sizeof g->colour_first);
    for (int32_t b = 0; b < g->blocks; b++)
        g->colour_first[colour_of(&g->lattice, g->coord[b], &colours) + 1]++;
    for (int c = 0; c < colours; c++)
        g->colour_first[c + 1] += g->colour_first[c];
    int64_t next[RP_COLOURS];
    memcpy(next, g->colour_first, sizeof next);
    for (int32_t b = 0; b < g->blocks; b++)
        g->colour_items[next[colour_of(&g->lattice, g->coord[b], &colours)]++] = b;
    g->colours = colours;
}

static bool same_blocks(const rp__grid *g)
{
    const rp__grid_scratch *s = g->scratch;
    if (s->blocks != g->blocks)
        return false;
    for (int32_t b = 0; b < g->blocks; b++)
        if (memcmp(g->coord[b], s->coord[s->sorted[b]], sizeof *g->coord) != 0)
            return false;
    return true;
}

/* Puts the sorted blocks in place; nothing here can fail. */
static void commit(rp__grid *g)
{
    rp__grid_scratch *s = g->scratch;
    memcpy(g->first, s->first, (size_t)(s->blocks + 1) * sizeof *g->first);
    if (same_blocks(g))
        return;
    g->blocks = (int32_t)s->blocks;
    for (int32_t b = 0; b < g->blocks; b++)
        memcpy(g->coord[b], s->coord[s->sorted[b]], sizeof *g->coord);
    for (int64_t i = 0; i < s->table_size; i++)
        if (s->table[i] >= 0)
            s->table[i] = s->rank[s->table[i]];
    int32_t *table = g->table;
    int64_t size = g->table_size;
    g->table = s->table, g->table_size = s->table_size;
    s->table = table, s->table_size = size;
    rp__exec_for(g->blocks, 64, fill_neighbours, g);
    fill_colours(g);
}

static rp_result build(rp__grid *g, rp__particles *p, int order, int shift)
{
    if (order < 1 || order > 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "shape functions of order %d: 1, 2 and 3 exist", order);
    if (p->count > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "%lld particles: a grid sorts at most %d", (long long)p->count, INT32_MAX);
    rp__grid_scratch *s = g->scratch;
    s->blocks = 0;
    if (s->table)
        memset(s->table, -1, (size_t)s->table_size * sizeof *s->table);
    RP_TRY(RP_D(rp__grid_bin)(s, &g->lattice, p, order, shift));
    RP_TRY(RP_D(rp__grid_sort_blocks)(s, &g->lattice));
    if (s->blocks == 0) {
        g->blocks = 0, g->colours = 0;
        g->first[0] = 0;
        memset(g->colour_first, 0, sizeof g->colour_first);
        if (g->table)
            memset(g->table, -1, (size_t)g->table_size * sizeof *g->table);
        return RP_OK;
    }
    RP_D(rp__grid_count)(s, p->count);
    bool sorted = RP_D(rp__grid_in_order)(s, p->count);
    RP_TRY(make_room(g));
    if (!sorted) {
        RP_D(rp__grid_order)(s, p->count);
        RP_TRY(rp__particles_permute(p, s->order));
    }
    commit(g);
    return RP_OK;
}

rp_result RP_D(rp__grid_build)(rp__grid *g, rp__particles *p, int order)
{
    return build(g, p, order, 0);
}

rp_result RP_D(rp__grid_build_loose)(rp__grid *g, rp__particles *p, int order)
{
    return build(g, p, order, 1);
}

rp_result RP_D(rp__grid_rebuild)(rp__grid *g, int64_t blocks, const int32_t (*occupied)[4])
{
    rp__grid_scratch *s = g->scratch;
    s->blocks = 0;
    if (s->table)
        memset(s->table, -1, (size_t)s->table_size * sizeof *s->table);
    for (int64_t b = 0; b < blocks; b++) {
        int32_t index;
        RP_TRY(RP_D(rp__grid_add_block)(s, occupied[b], &index));
    }
    if (blocks != s->blocks)
        return rp__base_fail(RP_BAD_ARGUMENT, "%lld blocks to rebuild a grid, of which %lld are different: each must come once",
                             (long long)blocks, (long long)s->blocks);
    RP_TRY(RP_D(rp__grid_sort_blocks)(s, &g->lattice));
    RP_TRY(make_room(g));
    memset(s->first, 0, (size_t)(s->blocks + 1) * sizeof *s->first);
    for (int64_t b = 0; b < blocks; b++) {
        if (b > 0 && s->rank[b] <= s->rank[b - 1])
            return rp__base_fail(RP_BAD_ARGUMENT, "block %lld to rebuild a grid is not in the order of blocks", (long long)b);
        s->first[s->rank[b] + 1] = occupied[b][3];
    }
    for (int64_t b = 0; b < s->blocks; b++)
        s->first[b + 1] += s->first[b];
    commit(g);
    return RP_OK;
}
