/* Contacts make no energy: their work in a step, and forces that are more than it needs (docs/pbd.md). */
#include "pbd/closure.h"
#include "pbd/state.h"

#include "exec/exec.h"

#include <math.h>

/* Sums over all contacts, in units of m / h²: the work (l n + t)·e with e the way of one side against the other; l g, which contacts that close in the step
 * have besides; (l n + t)·e' with e' the part of e that contacts made; and what moves about. */
enum { WORK, GAPS, SQUARE, ABOUT, SUMS };

/* Work of the surface of a touch on its grain, p·s. `d`: of the free body it belongs to. */
static double work_of_touch(const rp__pbd_touch *t, const double *d, double w)
{
    rp__vec3 p = rp__vec3_scale(1 / w, rp__vec3_axpy(t->l, rp__vec3_load(t->n), rp__vec3_load(t->t))), way = rp__vec3_load(t->s);
    if (t->free >= 0)
        way = rp__vec3_add(rp__vec3_load(d), rp__vec3_cross(rp__vec3_load(d + 3), way));
    return rp__vec3_dot(p, way);
}

static void sum_grains(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__pbd *s = context;
    for (int64_t k = begin; k < end; k++) {
        rp__vec3 u = rp__vec3_load(s->u[k]), alone = rp__vec3_load(s->alone[k]), made = rp__vec3_sub(u, alone);
        double w = s->u[k][3];
        if (!(w > 0))
            continue;
        partial[WORK] += rp__vec3_dot(made, u) / w;
        partial[SQUARE] += rp__vec3_dot(made, made) / w;
        partial[ABOUT] += rp__vec3_dot(alone, alone) / (2 * w);
        for (int32_t m = 0; m < s->touch.count[k]; m++) {
            const rp__pbd_touch *t = &s->touch.all[s->touch.first[k] + m];
            const rp__pbd_body *b = t->free >= 0 ? &s->bodies[t->free] : NULL;
            double given = work_of_touch(t, b ? b->d : NULL, w);
            partial[WORK] -= given;
            partial[GAPS] += t->l * t->g / w;
            partial[ABOUT] += fabs(given);
            if (b)
                partial[SQUARE] -= given - work_of_touch(t, b->alone, w);
        }
    }
}

/* Pairs: their gaps, and the work of beads that do not give way. */
static void sum_pairs(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__pbd *s = context;
    for (const rp__pbd_wide *w = s->wide + begin; w < s->wide + end; w++)
        for (int k = 0; k < RP_PBD_LANES; k++) {
            const double *u[2] = { s->u[w->i[k]], s->u[w->j[k]] };
            double given = 0, inv = (double)w->inv[k];
            if (w->pair[k] < 0)
                continue;
            for (int c = 0; c < 3; c++) {
                double p = ((double)w->l[k] * (double)w->n[c][k] + (double)w->t[c][k]) * inv;
                given += p * ((u[1][3] > 0 ? 0 : u[1][c]) - (u[0][3] > 0 ? 0 : u[0][c]));
            }
            partial[WORK] -= given;
            partial[GAPS] += (double)w->l[k] * fmax(0, (double)w->gap[k]) * inv;
            partial[ABOUT] += fabs(given);
        }
}

static void sum_up(rp__pbd *s, bool pairs, double sum[SUMS])
{
    double other[SUMS];
    rp__exec_sum(s->n, 2048, SUMS, sum_grains, s, sum);
    if (!pairs)
        return;
    rp__exec_sum(s->groups, 512, SUMS, sum_pairs, s, other);
    for (int k = 0; k < SUMS; k++)
        sum[k] += other[k];
}

/* The work of contacts on what touches, sum m p·u - sum m (l n + t)·s, p = u - u° with u° without contacts and s the way of the surface, is the sum of
 * (l n + t)·e over all of them. It is never above zero where they hold, l (e·n + g) = 0, and slip against friction; and it bounds what a step makes, since
 *
 *     (|u|² - |h v|²) / 2 - h² g·u  =  p·u - |u - h v|² / 2.
 *
 * Sweeps that ended early break it where more is remembered than the step needs: when a heavy body was stopped by light grains, or
 * surfaces that closed on grains open again. */
bool rp__pbd_makes_energy(rp__pbd *s)
{
    double sum[SUMS];
    sum_up(s, s->beads.count > 0, sum);
    return sum[WORK] > RP_PBD_MADE * sum[ABOUT];
}

typedef struct scaling {
    rp__pbd *s;
    double part;
} scaling;

static void scale_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    const scaling *f = context;
    rp__pbd *s = f->s;
    (void)worker;
    for (const rp__pbd_slab *slab = s->slabs + begin; slab < s->slabs + end; slab++) {
        rp__pbd_groups_scale(s->wide, slab->groups[0], slab->groups[1], (rp__pbd_real)f->part);
        for (rp__pbd_touch *t = s->touch.all + slab->touches[0]; t < s->touch.all + slab->touches[1]; t++) {
            t->l *= f->part;
            rp__vec3_store(t->t, rp__vec3_scale(f->part, rp__vec3_load(t->t)));
        }
        for (int64_t k = slab->begin; k < slab->end; k++)
            for (int c = 0; c < 3; c++)
                s->u[k][c] = s->alone[k][c] + f->part * (s->u[k][c] - s->alone[k][c]);
    }
}

/* All forces x become the part of them that is nearest to the solution: sweeps lower x·W x / 2 + x·b, W x what x moves and b what moves without, and along x
 * that is least at the part 1 - x·(W x + b) / x·W x. Grains that are clamped between surfaces carry forces that balance, which grow as long as the surfaces
 * close and of which sweeps take away no more than the way back: here they vanish at once when it opens. */
void rp__pbd_forget_excess(rp__pbd *s)
{
    double sum[SUMS];
    sum_up(s, true, sum);
    double more = sum[WORK] + sum[GAPS];
    scaling f = { s, more > 0 ? fmax(0, 1 - more / sum[SQUARE]) : 1 };
    if (s->any_matched || !(f.part < 1)) /* shapes that are matched move otherwise than by forces */
        return;
    rp__exec_for(s->slab_count, 1, scale_slabs, &f);
    for (int64_t b = 0; b < s->body_count; b++)
        for (int c = 0; c < 6 && s->bodies[b].free >= 0; c++)
            s->bodies[b].d[c] = s->bodies[b].alone[c] + f.part * (s->bodies[b].d[c] - s->bodies[b].alone[c]);
}
