/* Particles to blocks and cells, and their order. Chunks of particles work at once; what they find is put together in
 * the order of the chunks, so the result does not depend on the threads. */
#include "grid/scratch.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

typedef struct binning {
    rp__grid_scratch *s;
    const rp__lattice *lattice;
    rp__particles *p;
    int order;
    int shift;  /* block b takes base nodes from 4b + shift on */
} binning;

/* Base nodes must stay clear of the ends of the 32-bit range. */
static const double lattice_limit = 2147483000.0;

static double wrapped(double x, double low, double length)
{
    double high = low + length;
    if (x >= low && x < high)
        return x;
    x -= length * floor((x - low) / length);
    return x >= high || x < low ? low : x; /* rounding; NaN stays */
}

/* Block (wrapped) and cell of a particle; false when it has none. */
static inline bool locate(const binning *w, int64_t i, int32_t block[3], unsigned char *cell)
{
    int inside = 0;
    block[2] = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double base = rp__lattice_base(w->order, rp__lattice_coordinate(w->lattice, a, w->p->x[a][i]));
        if (!(fabs(base) < lattice_limit))
            return false;
        int32_t node = (int32_t)base - w->shift;
        block[a] = rp__grid_wrap(w->lattice, a, node >> 2);
        inside |= (node & 3) << 2 * a;
    }
    *cell = (unsigned char)inside;
    return true;
}

/* A small cache of the runs seen last, by the low bits of the block: within a chunk of nearly sorted particles every
 * block then has one run. */
typedef struct run_cache {
    int32_t coord[64][3];
    int32_t run[64];
} run_cache;

static void find_runs(void *context, int64_t begin, int64_t end, int worker)
{
    const binning *w = context;
    rp__grid_scratch *s = w->s;
    run_cache cache;
    int32_t runs = 0;
    (void)worker;
    memset(cache.run, -1, sizeof cache.run);
    int64_t chunk = begin / RP_GRID_CHUNK;
    s->chunk_bad[chunk] = -1;
    for (int a = 0; a < RP_DIM; a++)
        if (w->lattice->periodic[a])
            for (int64_t i = begin; i < end; i++)
                w->p->x[a][i] = wrapped(w->p->x[a][i], w->lattice->origin[a], w->lattice->h * (double)w->lattice->cells[a]);
    for (int64_t i = begin; i < end; i++) {
        int32_t c[3];
        if (!locate(w, i, c, &s->cell[i])) {
            s->chunk_bad[chunk] = i;
            break;
        }
        int slot = (c[0] & 3) | (c[1] & 3) << 2 | (c[2] & 3) << 4;
        if (cache.run[slot] < 0 || cache.coord[slot][0] != c[0] || cache.coord[slot][1] != c[1] || cache.coord[slot][2] != c[2]) {
            memcpy(cache.coord[slot], c, sizeof c);
            cache.run[slot] = runs++;
        }
        s->run[i] = cache.run[slot];
    }
    s->chunk_first[chunk + 1] = runs;
}

static void count_runs(void *context, int64_t begin, int64_t end, int worker)
{
    const binning *w = context;
    rp__grid_scratch *s = w->s;
    int64_t chunk = begin / RP_GRID_CHUNK;
    rp__grid_run *runs = s->runs + s->chunk_first[chunk];
    int32_t seen = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int32_t r = s->run[i];
        if (r == seen) { /* runs are numbered by their first particle */
            unsigned char cell;
            locate(w, i, runs[r].coord, &cell);
            runs[r].count = 0;
            seen++;
        }
        runs[r].count++;
    }
}

static rp_result make_room(rp__grid_scratch *s, rp__particles *p, int64_t chunks)
{
    size_t permute = rp__particles_permute_bytes(p), plane = (size_t)p->capacity * sizeof(int32_t);
    char *room = rp__particles_scratch(p, permute + plane);
    if (!room)
        return RP_OUT_OF_MEMORY;
    s->run = s->order = (int32_t *)(void *)(room + permute);
    s->bucket = (int32_t *)(void *)room;
    s->cell = (unsigned char *)room + plane;
    if (chunks + 1 > s->chunk_capacity) {
        int64_t capacity = chunks + chunks / 8 + 1;
        int64_t *first = rp__base_alloc((size_t)capacity * sizeof *first), *bad = rp__base_alloc((size_t)capacity * sizeof *bad);
        if (!first || !bad) {
            rp__base_free(first);
            rp__base_free(bad);
            return RP_OUT_OF_MEMORY;
        }
        rp__base_free(s->chunk_first);
        rp__base_free(s->chunk_bad);
        s->chunk_first = first, s->chunk_bad = bad;
        s->chunk_capacity = capacity;
    }
    return RP_OK;
}

static rp_result fail_position(const rp__particles *p, int64_t i)
{
    double z = RP_DIM == 3 ? p->x[2][i] : 0;
    return rp__base_fail(RP_DIVERGED, "particle %lld is at (%g, %g, %g) m: positions must be finite and within 2^31 cells of the origin",
                         (long long)p->id[i], p->x[0][i], p->x[1][i], z);
}

rp_result RP_D(rp__grid_bin)(rp__grid_scratch *s, const rp__lattice *lattice, rp__particles *p, int order, int shift)
{
    int64_t chunks = (p->count + RP_GRID_CHUNK - 1) / RP_GRID_CHUNK;
    RP_TRY(make_room(s, p, chunks));
    binning w = { .s = s, .lattice = lattice, .p = p, .order = order, .shift = shift };
    rp__exec_for(p->count, RP_GRID_CHUNK, find_runs, &w);
    s->chunk_first[0] = 0;
    for (int64_t k = 0; k < chunks; k++) {
        if (s->chunk_bad[k] >= 0)
            return fail_position(p, s->chunk_bad[k]);
        s->chunk_first[k + 1] += s->chunk_first[k];
    }
    int64_t runs = s->chunk_first[chunks];
    if (runs > s->run_capacity) {
        int64_t capacity = runs + runs / 8;
        rp__grid_run *room = rp__base_alloc((size_t)capacity * sizeof *room);
        if (!room)
            return RP_OUT_OF_MEMORY;
        rp__base_free(s->runs);
        s->runs = room;
        s->run_capacity = capacity;
    }
    rp__exec_for(p->count, RP_GRID_CHUNK, count_runs, &w);
    for (int64_t r = 0; r < runs; r++)
        RP_TRY(RP_D(rp__grid_add_block)(s, s->runs[r].coord, &s->runs[r].block));
    return RP_OK;
}

/* ---- the order of the particles ---- */

static void check_order(void *context, int64_t begin, int64_t end, double *largest)
{
    const rp__grid_scratch *s = context;
    int64_t last = -1, first = begin > 0 ? begin - 1 : 0;
    largest[0] = 0;
    for (int64_t i = first; i < end; i++) {
        int64_t key = (int64_t)s->runs[s->chunk_first[i / RP_GRID_CHUNK] + s->run[i]].block * RP_BLOCK_NODES + s->cell[i];
        if (key < last) {
            largest[0] = 1;
            return;
        }
        last = key;
    }
}

bool RP_D(rp__grid_in_order)(const rp__grid_scratch *s, int64_t particles)
{
    double unsorted = 0;
    if (particles > 0)
        rp__exec_max(particles, RP_GRID_CHUNK, 1, check_order, (void *)(uintptr_t)s, &unsorted);
    return unsorted == 0;
}

void RP_D(rp__grid_count)(rp__grid_scratch *s, int64_t particles)
{
    int64_t runs = s->chunk_first[(particles + RP_GRID_CHUNK - 1) / RP_GRID_CHUNK];
    memset(s->first, 0, (size_t)(s->blocks + 1) * sizeof *s->first);
    for (int64_t r = 0; r < runs; r++) {
        s->runs[r].block = s->rank[s->runs[r].block];
        s->first[s->runs[r].block + 1] += s->runs[r].count;
    }
    for (int64_t b = 0; b < s->blocks; b++) {
        s->first[b + 1] += s->first[b];
        s->cursor[b] = s->first[b];
    }
    for (int64_t r = 0; r < runs; r++) { /* runs of a block follow each other in the order of the chunks */
        int64_t *cursor = &s->cursor[s->runs[r].block], count = s->runs[r].count;
        s->runs[r].count = *cursor;
        *cursor += count;
    }
}

static void scatter_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    rp__grid_scratch *s = context;
    rp__grid_run *runs = s->runs + s->chunk_first[begin / RP_GRID_CHUNK];
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        s->bucket[runs[s->run[i]].count++] = (int32_t)i;
}

/* Counting sort by cell inside each block, stable. */
static void sort_cells(void *context, int64_t begin, int64_t end, int worker)
{
    rp__grid_scratch *s = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t next[RP_BLOCK_NODES + 1] = { 0 };
        int64_t first = s->first[b], last = s->first[b + 1];
        for (int64_t i = first; i < last; i++)
            next[s->cell[s->bucket[i]] + 1]++;
        for (int c = 0; c < RP_BLOCK_NODES; c++)
            next[c + 1] += next[c];
        for (int64_t i = first; i < last; i++) {
            int32_t particle = s->bucket[i];
            s->order[first + next[s->cell[particle]]++] = particle;
        }
    }
}

void RP_D(rp__grid_order)(rp__grid_scratch *s, int64_t particles)
{
    rp__exec_for(particles, RP_GRID_CHUNK, scatter_chunk, s);
    rp__exec_for(s->blocks, 4, sort_cells, s);
}
