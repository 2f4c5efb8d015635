/* Sweeps over all contacts: projected, over-relaxed Gauss–Seidel from the forces of the step before.
 *
 * Work is shared out by slabs: the pairs within a slab and with the slab before, and the surfaces of its grains. Slabs of even number
 * share no grain, nor do those of odd number; they take turns. Then come the contacts with free bodies, one after the other. All
 * sweeps go the same way: over-relaxation gains nothing when every other one goes backward. A last one takes overlaps away
 * (closure.h). */
#include "pbd/closure.h"
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { EVEN, ODD, LOOSE, PHASES };

typedef struct work {
    rp__pbd *s;
    int64_t sweeps;
    const volatile int *cancel; /* not NULL and not 0: what is left is not done, and the step is given up */
    atomic_bool given_up;
} work;

/* A surface that grains cannot move:  e = u - s,  as for pairs, with all of the change for the grain. */
void rp__pbd_visit_touch(rp__pbd_touch *t, double u[4], bool warm, double relax)
{
    rp__vec3 n = rp__vec3_load(t->n), old = rp__vec3_load(t->t), at = rp__vec3_load(u);
    if (warm) {
        rp__vec3_store(u, rp__vec3_add(at, rp__vec3_axpy(t->l, n, old)));
        return;
    }
    rp__vec3 e = rp__vec3_sub(at, rp__vec3_load(t->s));
    double along = rp__vec3_dot(e, n), l = t->l - relax * (along + t->g);
    l = l > 0 ? l : 0;
    if (l == 0 && t->l == 0)
        return;
    rp__vec3 q = rp__vec3_axpy(-relax, rp__vec3_axpy(-along, n, e), old);
    double most = t->mu * l, square = rp__vec3_dot(q, q);
    if (square > most * most)
        q = rp__vec3_scale(most / sqrt(square), q);
    rp__vec3_store(u, rp__vec3_add(at, rp__vec3_axpy(l - t->l, n, rp__vec3_sub(q, old))));
    t->l = l;
    rp__vec3_store(t->t, q);
}

static void visit_touches(rp__pbd *s, const rp__pbd_slab *slab, bool warm, double relax)
{
    for (rp__pbd_touch *t = s->touch.all + slab->touches[0]; t < s->touch.all + slab->touches[1]; t++)
        if (t->free < 0)
            rp__pbd_visit_touch(t, s->u[t->grain], warm, relax);
}

/* Takes overlaps away, once over: pairs, then surfaces, which do not give way. */
static void push_slab(rp__pbd *s, const rp__pbd_slab *slab)
{
    rp__pbd_groups_push(s->wide, slab->groups[0], slab->groups[1], s->push, (rp__pbd_real)(2 * s->r * RP_PBD_SLOP));
    for (const rp__pbd_touch *t = s->touch.all + slab->touches[0]; t < s->touch.all + slab->touches[1]; t++) {
        rp__vec3 p = rp__vec3_load(s->push[t->grain]), n = rp__vec3_load(t->n);
        double l = t->over - rp__vec3_dot(p, n);
        if (t->over > 0 && l > 0)
            rp__vec3_store(s->push[t->grain], rp__vec3_axpy(l, n, p));
    }
    rp__pbd_groups_keep(s->wide, slab->groups[0], slab->groups[1], s->now.force);
}

static void visit_slab(const work *w, int64_t sweep, int64_t number)
{
    rp__pbd *s = w->s;
    const rp__pbd_slab *slab = &s->slabs[number];
    if (sweep < 0) {
        rp__pbd_groups_warm(s->wide, slab->groups[0], slab->groups[1], s->u);
        visit_touches(s, slab, true, 1);
        return;
    }
    if (sweep == w->sweeps) {
        push_slab(s, slab);
        return;
    }
    bool last = sweep == w->sweeps - 1;
    double relax = last ? 1 : RP_PBD_RELAX; /* a contact alone is solved exactly */
    rp__pbd_groups_visit(s->wide, slab->groups[0], slab->groups[1], s->u, last ? s->residual : NULL, (rp__pbd_real)relax);
    visit_touches(s, slab, false, relax);
}

static void run_item(void *context, int64_t item, int worker)
{
    work *w = context;
    int64_t slabs = w->s->slab_count, sweep = item / (PHASES * slabs) - 1;
    int phase = (int)(item / slabs % PHASES);
    (void)worker;
    if (w->cancel && __atomic_load_n(w->cancel, __ATOMIC_RELAXED))
        atomic_store_explicit(&w->given_up, true, memory_order_relaxed);
    if (atomic_load_explicit(&w->given_up, memory_order_relaxed))
        return;
    if (phase != LOOSE) {
        visit_slab(w, sweep, item % slabs);
        return;
    }
    if (sweep < w->sweeps)
        rp__pbd_visit_loose(w->s, sweep < 0);
    rp__pbd_match_shapes(w->s);
}

/* Items in the order of their colours; colour k is one phase of one of the sweeps [first, last]: -1 brings what the step before left, the
 * one after the last takes overlaps away. */
static rp_result plan(rp__pbd *s, int64_t first, int64_t last, int *colours)
{
    int64_t slabs = s->slab_count, count = 0, sweeps = last - first + 1;
    int c = 0;
    if ((last + 2) * PHASES * slabs > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "pbd: %lld sweeps of %lld slabs are too many", (long long)last, (long long)slabs);
    if (!rp__base_grow(&s->colour_first, &s->colour_capacity, sweeps * PHASES + 1, sizeof *s->colour_first) ||
        !rp__base_grow(&s->items, &s->item_capacity, sweeps * PHASES * slabs + 1, sizeof *s->items))
        return RP_OUT_OF_MEMORY;
    for (int64_t sweep = first; sweep <= last; sweep++)
        for (int phase = 0; phase < PHASES; phase++) {
            int64_t begin = count, base = ((sweep + 1) * PHASES + phase) * slabs;
            if (phase == LOOSE && (s->loose_count || s->any_matched))
                s->items[count++] = (int32_t)base;
            for (int64_t b = 0; b < slabs && phase != LOOSE; b++)
                if (b % 2 == phase)
                    s->items[count++] = (int32_t)(base + b);
            if (count > begin)
                s->colour_first[c++] = begin;
        }
    s->colour_first[c] = count;
    *colours = c;
    return RP_OK;
}

static rp_result run(work *w, int64_t first, int64_t last)
{
    rp__pbd *s = w->s;
    int colours = 0;
    RP_TRY(plan(s, first, last, &colours));
    rp__exec_colors(colours, s->colour_first, s->items, 1, run_item, w);
    if (atomic_load(&w->given_up))
        return rp__base_fail(RP_CANCELLED, "cancelled in the sweeps of a step");
    return RP_OK;
}

/* The sweeps of a step are made again, at most MORE times, as long as it makes energy (energy.c); after half of them, forces are made less too. */
enum { MORE = 8 };

rp_result rp__pbd_sweep(rp__pbd *s, int64_t sweeps, const volatile int *cancel, double residual[2])
{
    work w = { .s = s, .sweeps = sweeps, .cancel = cancel };
    residual[0] = residual[1] = 0;
    s->swept = sweeps;
    if (s->slab_count == 0)
        return RP_OK;
    if (!rp__base_grow(&s->residual, &s->residual_capacity, 2 * s->groups + 2, sizeof *s->residual))
        return RP_OUT_OF_MEMORY;
    RP_TRY(run(&w, -1, sweeps - 1));
    for (int k = 0; k < MORE && rp__pbd_makes_energy(s); k++, s->swept += sweeps) {
        if (k >= MORE / 2)
            rp__pbd_forget_excess(s);
        RP_TRY(run(&w, 0, sweeps - 1));
    }
    RP_TRY(run(&w, sweeps, sweeps));
    for (int64_t k = 0; k < s->groups; k++) {
        residual[0] += s->residual[2 * k];
        residual[1] = fmax(residual[1], s->residual[2 * k + 1]);
    }
    return RP_OK;
}
