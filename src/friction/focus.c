/* Gauss-Seidel that works where it hurts: slow modes often live on a few contacts (a body wedged between two others needs large
 * forces that whole sweeps build up one step at a time). The worst contact and those around it are solved on their own, by many cheap
 * accelerated sweeps, between sweeps over all. */
#include "friction/anderson.h"
#include "friction/sweep_cone.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { FIRST_GROUP = 48, MAX_GROUP = 384, GROUP_SWEEPS = 300, GROUPS = 8, PATIENCE = 8 };

typedef struct focus {
    rp__friction_run *run;
    rp__friction_sweep sweep;
    int32_t *stamp;     /* the last group a contact was part of */
    int32_t round;      /* the first group of this round: contacts stamped with it or above have had their turn */
    double *z;
    int32_t group[MAX_GROUP];
    double from[MAX_GROUP * 6], to[MAX_GROUP * 6];
    int count, number;
    int size;           /* of groups; doubled when PATIENCE rounds did not help */
} focus;

static void join(focus *t, int32_t i)
{
    if (t->count < t->size && t->stamp[i] != t->number) {
        t->stamp[i] = t->number;
        t->group[t->count++] = i;
    }
}

/* The worst contact and its neighbours, nearest first. */
static void gather_group(focus *t, int32_t worst)
{
    const rp_friction *p = t->run->p;
    t->count = 0;
    t->number++;
    join(t, worst);
    for (int at = 0; at < t->count && t->count < t->size; at++) {
        int32_t i = t->group[at];
        if (p->kind == RP__BLOCKS) {
            for (int64_t k = p->first[i]; k < p->first[i + 1]; k++)
                join(t, p->column[k]);
        } else {
            for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
                for (int64_t e = p->yt.first[p->h.index[k]]; e < p->yt.first[p->h.index[k] + 1]; e++)
                    join(t, p->yt.index[e]);
        }
    }
}

static rp_result solve_group(focus *t)
{
    rp__friction_run *run = t->run;
    const rp_friction *p = run->p;
    int d = p->dimension;
    double *from = t->from, *to = t->to;
    rp__anderson a;
    if (!rp__anderson_make(&a, p, t->group, t->count))
        return RP_OUT_OF_MEMORY;
    for (int step = 0; step < GROUP_SWEEPS; step++) {
        for (int k = 0; k < t->count; k++)
            memcpy(from + k * d, run->r + (int64_t)t->group[k] * d, (size_t)d * sizeof(double));
        RP__CONE_CALL(p, rp__friction_sweep_visit, &t->sweep, t->group, 0, t->count);
        double largest = 0;
        for (int k = 0; k < t->count; k++) {
            memcpy(to + k * d, run->r + (int64_t)t->group[k] * d, (size_t)d * sizeof(double));
            largest = fmax(largest, t->sweep.change[t->group[k]]);
        }
        if (!(largest > 0.01 * run->tolerance * p->scale))
            break;
        if (rp__anderson_step(&a, from, to))
            for (int k = 0; k < t->count; k++)
                RP__CONE_CALL(p, rp__friction_sweep_move, &t->sweep, t->group[k], to + k * d);
    }
    RP__CONE_CALL(p, rp__friction_sweep_visit, &t->sweep, t->group, 0, t->count);
    rp__anderson_free(&a);
    return RP_OK;
}

/* The residual of each contact of the last check, and the few worst of them. */
static int32_t worst_contact(focus *t)
{
    rp__friction_run *run = t->run;
    int32_t worst = -1;
    double largest = -1;
    for (int64_t i = 0; i < run->p->contacts; i++) {
        if (t->stamp[i] > 0 && t->stamp[i] >= t->round) /* has been in a group of this round */
            continue;
        if (t->z[i] > largest) {
            largest = t->z[i];
            worst = (int32_t)i;
        }
    }
    return largest > 0.3 * run->tolerance_max * run->p->scale || worst < 0 ? worst : -1;
}

static rp_result focus_loop(focus *t)
{
    rp__friction_run *run = t->run;
    const rp_friction *p = run->p;
    rp_result result = RP_OK;
    double best = INFINITY;
    int waited = 0;
    for (bool over = rp__friction_check(run); !over && result == RP_OK;) {
        waited = run->merit < 0.7 * best ? 0 : waited + 1;
        best = waited == 0 ? run->merit : best;
        if (waited >= PATIENCE && t->size < MAX_GROUP) {
            t->size = 2 * t->size < MAX_GROUP ? 2 * t->size : MAX_GROUP;
            waited = 0;
        }
        for (int64_t i = 0; i < p->contacts; i++) {
            rp__friction_measure m = { 0 };
            RP__CONE_CALL(p, rp__friction_measure_rows, i, i + 1, run->r, run->u, NULL, &m);
            t->z[i] = m.largest;
        }
        rp__friction_sweep_start(run);
        t->round = t->number + 1; /* groups of this round have this number or above */
        for (int k = 0; k < GROUPS && result == RP_OK; k++) {
            int32_t worst = worst_contact(t);
            if (worst < 0)
                break;
            gather_group(t, worst);
            result = solve_group(t);
        }
        bool go = true;
        for (int k = 0; k < 4 && go; k++) {
            RP__CONE_CALL(p, rp__friction_sweep_visit, &t->sweep, NULL, 0, p->contacts);
            go = rp__friction_tick(run);
        }
        over = rp__friction_check(run) || !go;
    }
    return result;
}

rp_result rp__friction_focus(rp__friction_run *run)
{
    const rp_friction *p = run->p;
    focus *t = RP_NEW(focus);
    if (!t)
        return RP_OUT_OF_MEMORY;
    t->run = run;
    t->sweep = (rp__friction_sweep){ .run = run, .local = run->o->local };
    t->size = run->group > 0 ? run->group : FIRST_GROUP; /* what was too small in one round of `auto` is so in the next */
    t->stamp = rp__base_alloc_zero((size_t)p->contacts * sizeof *t->stamp);
    t->z = RP_NEW_ARRAY(double, p->contacts);
    rp_result result = t->stamp && t->z ? RP__CONE_CALL(p, rp__friction_sweep_make, &t->sweep) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = focus_loop(t);
    run->group = t->size;
    rp__base_free(t->stamp);
    rp__base_free(t->z);
    rp__friction_sweep_free(&t->sweep);
    rp__base_free(t);
    return result;
}
