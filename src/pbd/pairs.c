/* Pairs that may touch in this step, and which pairs of the step before they were.
 *
 * Taken is a pair that is nearer than the ranges of its grains at the beginning of the step, or where the step would bring it. Grains look at those before
 * them in the order of cells: three rows of the layer before, the row before and their own. A row of cells is a run of grains, seen
 * sixteen at a time. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/lane_bits.h"

#include <math.h>
#include <stdatomic.h>

enum { MOST_NEAR = 512 }; /* of one grain; more are left out and told: there is no room for so many but in one point */

typedef float any_wide __attribute__((vector_size(64), aligned(4), may_alias));
typedef rp__lanes_float16 wide;
typedef int32_t eight_int __attribute__((vector_size(32), aligned(4), may_alias));

typedef struct work {
    rp__pbd *s;
    atomic_int full;       /* a slab had no room for its pairs */
    _Atomic int64_t left_out;
} work;

static rp_result reserve(rp__pbd *s, int64_t n)
{
    rp__pbd_table *t = &s->now;
    if (n + 1 > t->grain_capacity) {
        int64_t capacity = n + n / 2 + 64;
        int32_t *count = rp__base_realloc_array(t->count, (size_t)capacity, sizeof *count);
        t->count = count ? count : t->count;
        int64_t *first = rp__base_realloc_array(t->first, (size_t)capacity, sizeof *first);
        t->first = first ? first : t->first;
        if (!count || !first)
            return RP_OUT_OF_MEMORY;
        t->grain_capacity = capacity;
    }
    if (t->room < 8)
        t->room = 8;
    int64_t pairs = n * t->room + RP_PBD_LANES;
    if (pairs > INT32_MAX / 2)
        return rp__base_fail(RP_TOO_LARGE, "pbd: too many contacts of %lld grains", (long long)n);
    if (!rp__base_grow(&t->partner, &t->pair_capacity, pairs, sizeof *t->partner) ||
        !rp__base_grow(&t->force, &t->force_capacity, pairs, sizeof *t->force) ||
        !rp__base_grow(&s->before, &s->before_capacity, pairs, sizeof *s->before) ||
        !rp__base_grow(&s->lane, &s->lane_capacity, pairs, sizeof *s->lane))
        return RP_OUT_OF_MEMORY;
    return RP_OK;
}

/* The number of a pair of the step before, doubled, and one more when the grains changed places since; -1: there was none. */
static int32_t find_before(const rp__pbd_table *old, int32_t a, int32_t b)
{
    int32_t later = a > b ? a : b, other = a > b ? b : a;
    if (other < 0)
        return -1;
    int64_t first = old->first[later];
    int32_t count = old->count[later];
    for (int32_t m = 0; m < count; m += 8) {
        uint32_t bits = rp__lanes_bits8(*(const eight_int *)(old->partner + first + m) == other);
        if (bits) {
            int32_t at = m + __builtin_ctz(bits);
            return at < count ? 2 * (int32_t)(first + at) + (later == b) : -1;
        }
    }
    return -1;
}

static inline wide load(const float *from)
{
    return *(const any_wide *)from;
}

/* Grains before i in its neighbourhood that are near now or will be: the numbers of the first MOST_NEAR into `near`; how many there are. */
static int64_t candidates(const work *w, int64_t i, int32_t near[MOST_NEAR + 16])
{
    const rp__pbd *s = w->s;
    float *const *place = s->place;
    const float x[6] = { place[0][i], place[1][i], place[2][i], place[3][i], place[4][i], place[5][i] }, range = s->range[i];
    int64_t found = 0;
    for (int64_t row = 0; row < 5; row++) { /* three rows of the layer before, the row before, its own */
        int64_t across = row < 3 ? (row - 1) * s->cells[2] - s->cells[1] * s->cells[2] : (row - 4) * s->cells[2];
        int64_t cell = s->home[i] + across, end = s->cell_first[cell + 2];
        end = end < i ? end : i;
        for (int64_t j = s->cell_first[cell - 1]; j < end; j += 16) {
            wide d[6], reach = load(s->range + j) + range;
            for (int c = 0; c < 6; c++)
                d[c] = load(place[c] + j) - x[c];
            reach *= reach;
            uint32_t bits = rp__lanes_less16(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], reach) |
                            rp__lanes_less16(d[3] * d[3] + d[4] * d[4] + d[5] * d[5], reach);
            bits &= end - j < 16 ? (1u << (end - j)) - 1 : 0xffff;
            found += rp__lanes_list16(bits, (int32_t)j, near + (found < MOST_NEAR ? found : MOST_NEAR));
        }
    }
    return found;
}

/* Beads of one body, of two that do not give way, or of a body that is not there. */
static bool may_ignore(const rp__pbd *s, int64_t i, int64_t j)
{
    int32_t a = s->owner[i], b = s->owner[j];
    if (a < 0 && b < 0)
        return false;
    return a == b || (s->u[i][3] == 0 && s->u[j][3] == 0) || (a >= 0 && !s->bodies[a].there) || (b >= 0 && !s->bodies[b].there);
}

/* Pairs of grain i with the `found` grains near it, from number `to` on; how many there are. Most had their places in the list of
 * i before too: it is looked at as a whole. */
static int32_t keep_pairs(rp__pbd *s, int64_t i, const int32_t *near, int found, int64_t to)
{
    int32_t slot = s->slot[i], count = 0, before = slot < 0 ? 0 : s->old.count[slot];
    int64_t first = slot < 0 ? 0 : s->old.first[slot];
    bool short_list = before > 0 && before <= 8;
    eight_int own = { 0 };
    if (short_list)
        own = *(const eight_int *)(s->old.partner + first);
    for (int k = 0; k < found; k++) {
        int32_t j = near[k], other = s->slot[j];
        if (s->beads.count && may_ignore(s, i, j))
            continue;
        s->now.partner[to + count] = j;
        if (short_list && other >= 0 && other < slot) {
            uint32_t bits = rp__lanes_bits8(own == other) & ((1u << before) - 1);
            s->before[to + count] = bits ? 2 * ((int32_t)first + __builtin_ctz(bits)) : -1;
        } else
            s->before[to + count] = find_before(&s->old, slot, other);
        count++;
    }
    return count;
}

static void find_in_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    rp__pbd *s = w->s;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        const rp__pbd_slab *slab = &s->slabs[b];
        int64_t next = slab->begin * s->now.room, last = slab->end * s->now.room;
        for (int64_t i = slab->begin; i < slab->end; i++) {
            int32_t near[MOST_NEAR + 16];
            int64_t all = candidates(w, i, near);
            int found = all < MOST_NEAR ? (int)all : MOST_NEAR;
            if (all > found)
                atomic_fetch_add_explicit(&w->left_out, all - found, memory_order_relaxed);
            s->now.first[i] = next;
            if (found > last - next) {
                atomic_store_explicit(&w->full, 1, memory_order_relaxed);
                break;
            }
            s->now.count[i] = keep_pairs(s, i, near, found, next);
            next += s->now.count[i];
        }
    }
}

rp_result rp__pbd_find_pairs(rp__pbd *s)
{
    work w = { .s = s };
    for (;;) {
        RP_TRY(reserve(s, s->n));
        atomic_store(&w.full, 0);
        atomic_store(&w.left_out, 0);
        rp__exec_for(s->slab_count, 1, find_in_slabs, &w);
        if (!atomic_load(&w.full))
            break;
        s->now.room *= 2; /* many grains in one place */
    }
    s->now.grains = s->n;
    s->left_out = atomic_load(&w.left_out);
    return RP_OK;
}
