/* Pairs into lanes: eight that share no grain form a group.
 *
 * Pairs are taken layer by layer. Each goes into the first group of a window of 32 that has room and neither of its grains. Each slab
 * does this for the pairs within it and for those with the slab before, on its own, so the bytes do not depend on threads. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

static void put(rp__pbd_wide *w, int lane, const rp__pbd_pair *p)
{
    w->i[lane] = p->i, w->j[lane] = p->j;
    w->g[lane] = p->g, w->l[lane] = p->l, w->mu[lane] = p->mu, w->inv[lane] = p->inv, w->over[lane] = p->over;
    for (int c = 0; c < 3; c++)
        w->n[c][lane] = p->n[c], w->t[c][lane] = p->t[c];
}

/* A lane without a pair: two grains that are none, far apart. */
static void put_nothing(const rp__pbd *s, rp__pbd_wide *w, int lane)
{
    rp__pbd_pair none = { .i = (int32_t)(s->n + lane), .j = (int32_t)(s->n + RP_PBD_LANES + lane), .n = { 1, 0, 0 }, .g = 1 };
    put(w, lane, &none);
}

/* side 0: pairs within the slab; 1: with the one before. */
static bool on_side(const rp__pbd_slab *slab, const rp__pbd_pair *p, int side)
{
    return (p->j < slab->begin) == side;
}

/* Groups of grains: of pairs within slabs, and of those with the slab before, whose slabs of even and of odd number share no grain
 * among themselves. */
static rp__pbd_used *used_by(const rp__pbd *s, int64_t slab, int side)
{
    return s->used + (side == 0 ? 0 : 1 + slab % 2) * s->n;
}

/* Groups base … base + 31 are being filled. */
typedef struct window {
    int32_t base;
    uint32_t full;
    uint8_t fill[RP_PBD_WINDOW];
    int32_t groups;        /* opened so far */
} window;

static void advance(window *w)
{
    w->base++;
    w->full >>= 1;
    memmove(w->fill, w->fill + 1, RP_PBD_WINDOW - 1);
    w->fill[RP_PBD_WINDOW - 1] = 0;
}

static uint32_t mask_of(const rp__pbd_used *u, int32_t base)
{
    return base - u->base < RP_PBD_WINDOW ? u->mask >> (base - u->base) : 0;
}

static void mark(rp__pbd_used *u, int32_t base, int bit)
{
    u->mask = mask_of(u, base) | 1u << bit;
    u->base = base;
}

static int32_t place_pair(window *w, rp__pbd_used *i, rp__pbd_used *j)
{
    uint32_t open;
    while (!(open = ~(mask_of(i, w->base) | mask_of(j, w->base) | w->full)))
        advance(w);
    int bit = __builtin_ctz(open), lane = w->fill[bit]++;
    int32_t group = w->base + bit;
    mark(i, w->base, bit);
    mark(j, w->base, bit);
    w->full |= (uint32_t)(lane + 1 == RP_PBD_LANES) << bit;
    w->groups = group + 1 > w->groups ? group + 1 : w->groups;
    while (w->full & 1)
        advance(w);
    return group * RP_PBD_LANES + lane;
}

/* Gives the pairs of one side of a slab their places, from 0; layer by layer from below. */
static int64_t place_side(rp__pbd *s, const rp__pbd_slab *slab, rp__pbd_used *used, int side)
{
    window w = { 0 };
    int64_t height = s->cells[1], row = s->cells[2];
    for (int64_t k = 0; k < height; k++)
        for (int64_t a = slab->layer[0]; a < slab->layer[1]; a++) {
            int64_t cell = (a * height + (s->upward ? k : height - 1 - k)) * row;
            for (int64_t i = s->cell_first[cell]; i < s->cell_first[cell + row]; i++) {
                rp__pbd_pair *p = s->now.pairs + s->now.first[i];
                for (int32_t m = 0; m < s->now.count[i]; m++, p++)
                    if (on_side(slab, p, side))
                        p->place = place_pair(&w, &used[i], &used[p->j]);
            }
        }
    return w.groups;
}

static void place_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    rp__pbd *s = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (int side = 0; side < 2; side++)
            s->slabs[b].groups[side][1] = place_side(s, &s->slabs[b], used_by(s, b, side), side);
}

static void pack_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    rp__pbd *s = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        const rp__pbd_slab *slab = &s->slabs[b];
        for (int64_t g = slab->groups[0][0]; g < slab->groups[1][1]; g++)
            for (int lane = 0; lane < RP_PBD_LANES; lane++)
                put_nothing(s, &s->now.wide[g], lane);
        for (int64_t i = slab->begin; i < slab->end; i++) {
            rp__pbd_pair *p = s->now.pairs + s->now.first[i];
            for (int32_t m = 0; m < s->now.count[i]; m++, p++) {
                p->place += (int32_t)slab->groups[p->j < slab->begin][0] * RP_PBD_LANES;
                put(&s->now.wide[p->place / RP_PBD_LANES], p->place % RP_PBD_LANES, p);
            }
        }
    }
}

rp_result rp__pbd_pack(rp__pbd *s)
{
    if (!rp__base_grow(&s->used, &s->used_capacity, 3 * s->n + 1, sizeof *s->used))
        return RP_OUT_OF_MEMORY;
    memset(s->used, 0, 3 * (size_t)s->n * sizeof *s->used);
    rp__exec_for(s->slab_count, 1, place_slabs, s);
    int64_t groups = 0;
    for (int64_t b = 0; b < s->slab_count; b++)
        for (int side = 0; side < 2; side++) {
            s->slabs[b].groups[side][0] = groups;
            groups += s->slabs[b].groups[side][1];
            s->slabs[b].groups[side][1] = groups;
        }
    if (groups > INT32_MAX / RP_PBD_LANES)
        return rp__base_fail(RP_TOO_LARGE, "pbd: too many contacts (%lld groups of eight)", (long long)groups);
    if (!rp__base_grow(&s->now.wide, &s->now.wide_capacity, groups + 1, sizeof *s->now.wide))
        return RP_OUT_OF_MEMORY;
    s->now.groups = groups;
    rp__exec_for(s->slab_count, 1, pack_slabs, s);
    return RP_OK;
}
