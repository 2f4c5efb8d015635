/* Pairs that may touch in this step, with what the step before left in them.
 *
 * Taken is a pair nearer than `reach` at the beginning of the step or where the step would bring it. Its normal is that of the
 * beginning; it may approach by g = max(0, |x_ij| - 2 r). Overlap beyond a part of the diameter is taken away apart from that
 * (closure.h). l and t come from the same pair of the step before, scaled by (h / h_old)² since they are forces times h², t turned
 * into the new tangent plane. */
#include "pbd/closure.h"
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <math.h>
#include <stdatomic.h>

enum { MOST_NEAR = 512 }; /* of one grain; more are left out: there is no room for so many but in one point */

typedef struct work {
    rp__pbd *s;
    const rp__world *world;
    float reach2;
    double scale;
    atomic_int full;       /* a slab had no room for its pairs */
} work;

static rp_result reserve(rp__pbd_table *t, int64_t n)
{
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
    int64_t pairs = t->pair_capacity;
    if (!rp__base_grow(&t->partner, &pairs, n * t->room + 1, sizeof *t->partner) ||
        !rp__base_grow(&t->pairs, &t->pair_capacity, n * t->room + 1, sizeof *t->pairs))
        return RP_OUT_OF_MEMORY;
    return RP_OK;
}

/* From grain j to grain i, which lie in one point: any direction will do that does not depend on who asks. */
static rp__vec3 any_direction(const rp__pbd *s, int64_t i, int64_t j)
{
    bool swap = s->id[i] < s->id[j];
    uint64_t a = (uint64_t)s->id[swap ? i : j], b = (uint64_t)s->id[swap ? j : i];
    rp__vec3 n = rp__random_on_sphere(0x706264, a, b);
    if (s->dim == 2)
        n = rp__vec3_unit(rp__vec3_make(n.x, n.y, 0), rp__vec3_make(1, 0, 0));
    return rp__vec3_scale(swap ? -1 : 1, n);
}

/* What the pair carried at the end of the step before; true when it did not slip then. */
static bool remember(const rp__pbd *s, double scale, rp__pbd_pair *pair)
{
    const rp__pbd_table *old = &s->old;
    int32_t a = s->slot[pair->i], b = s->slot[pair->j], later = a > b ? a : b, other = a > b ? b : a;
    if (other < 0)
        return false;
    int64_t first = old->first[later];
    for (int64_t m = first; m < first + old->count[later]; m++)
        if (old->partner[m] == other) {
            int32_t place = old->pairs[m].place;
            const rp__pbd_wide *w = &old->wide[place / RP_PBD_LANES];
            int lane = place % RP_PBD_LANES;
            double t[3], along = 0, sign = later == a ? scale : -scale;
            pair->l = (rp__pbd_real)(scale * (double)w->l[lane]);
            for (int c = 0; c < 3; c++) {
                t[c] = sign * (double)w->t[c][lane];
                along += t[c] * (double)pair->n[c];
            }
            for (int c = 0; c < 3; c++)
                pair->t[c] = (rp__pbd_real)(t[c] - along * (double)pair->n[c]);
            double most = scale * (double)w->mu[lane] * (double)w->l[lane];
            return t[0] * t[0] + t[1] * t[1] + t[2] * t[2] < 0.998 * most * most;
        }
    return false;
}

static void make_pair(const work *w, int64_t i, int64_t j, const double d[3], double d2, rp__pbd_pair *pair)
{
    const rp__pbd *s = w->s;
    const rp__pbd_params *par = s->par;
    double length = sqrt(d2), gap = length - 2 * s->r;
    rp__vec3 n = length > 1e-9 * s->r ? rp__vec3_scale(1 / length, rp__vec3_load(d)) : any_direction(s, i, j);
    double over = 2 * s->r * (1 - RP_PBD_SLOP) - length;
    *pair = (rp__pbd_pair){ .i = (int32_t)i, .j = (int32_t)j };
    pair->n[0] = (rp__pbd_real)n.x, pair->n[1] = (rp__pbd_real)n.y, pair->n[2] = (rp__pbd_real)n.z;
    pair->g = (rp__pbd_real)(gap >= 0 ? gap : 0);
    pair->over = (rp__pbd_real)(over > 0 ? over : 0);
    pair->inv = (rp__pbd_real)(1 / (s->u[i][3] + s->u[j][3]));
    pair->mu = (rp__pbd_real)s->mu[s->material[i] * w->world->def->material_count + s->material[j]];
    if (par->contact != RP_PBD_CONE)
        return;
    if (!remember(s, w->scale, pair)) /* it slipped in the step before, or is new */
        pair->mu *= (rp__pbd_real)par->kinetic;
}

/* Grains before i in its neighbourhood that are near now or will be: their numbers into `near`, without a branch a grain. */
static int candidates(const work *w, int64_t i, int32_t near[MOST_NEAR])
{
    const rp__pbd *s = w->s;
    const float *x = s->place[i], reach2 = w->reach2;
    int found = 0;
    for (int64_t row = 0; row < 5; row++) { /* three rows of the layer before, the row before, its own */
        int64_t across = row < 3 ? (row - 1) * s->cells[2] - s->cells[1] * s->cells[2] : (row - 4) * s->cells[2];
        int64_t cell = s->cell[s->order[i]] + across, end = s->cell_first[cell + 2];
        end = end < i ? end : i;
        for (int64_t j = s->cell_first[cell - 1]; j < end; j++) {
            const float *y = s->place[j];
            float a = x[0] - y[0], b = x[1] - y[1], c = x[2] - y[2], d = x[4] - y[4], e = x[5] - y[5], f = x[6] - y[6];
            near[found] = (int32_t)j;
            found += (a * a + b * b + c * c < reach2) | (d * d + e * e + f * f < reach2);
            if (found == MOST_NEAR)
                return found;
        }
    }
    return found;
}

/* Pairs of grain i with the grains before it; false when there is no room. */
static bool pairs_of(const work *w, int64_t i, int64_t to, int64_t room, int32_t *count, double *nearest)
{
    rp__pbd *s = w->s;
    int32_t near[MOST_NEAR];
    int found = candidates(w, i, near);
    if (found > room)
        return false;
    for (int k = 0; k < found; k++) {
        const double *x = s->x[i], *y = s->x[near[k]];
        double d[3] = { x[0] - y[0], x[1] - y[1], x[2] - y[2] }, d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        *nearest = d2 < *nearest ? d2 : *nearest;
        make_pair(w, i, near[k], d, d2, &s->now.pairs[to + k]);
        s->now.partner[to + k] = near[k];
    }
    *count = found;
    return true;
}

static void find_in_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    work *w = context;
    rp__pbd *s = w->s;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        rp__pbd_slab *slab = &s->slabs[b];
        double nearest = 4 * s->r * s->r;
        int64_t next = slab->begin * s->now.room, last = slab->end * s->now.room;
        for (int64_t i = slab->begin; i < slab->end; i++) {
            s->now.first[i] = next;
            s->now.count[i] = 0;
            if (!pairs_of(w, i, next, last - next, &s->now.count[i], &nearest)) {
                atomic_store_explicit(&w->full, 1, memory_order_relaxed);
                break;
            }
            next += s->now.count[i];
        }
        slab->overlap = 2 * s->r - sqrt(nearest);
    }
}

rp_result rp__pbd_find_pairs(rp__pbd *s, const rp__world *world, double reach)
{
    work w = { .s = s, .world = world, .reach2 = (float)(reach * reach), .scale = s->h_old > 0 ? s->h * s->h / (s->h_old * s->h_old) : 0 };
    for (;;) {
        RP_TRY(reserve(&s->now, s->n));
        atomic_store(&w.full, 0);
        rp__exec_for(s->slab_count, 1, find_in_slabs, &w);
        if (!atomic_load(&w.full))
            break;
        s->now.room *= 2; /* many grains in one place */
    }
    s->now.grains = s->n;
    return RP_OK;
}
