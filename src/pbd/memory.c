/* What a step leaves for the next, besides the fields of the grains: the forces in the contacts, to the bit.
 *
 * Grains carry the number they had in the step (the field slot), so contacts stay with them whoever comes, goes or is sorted. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { PAIR_REALS = 4, TOUCH_REALS = 8 };

static int64_t total(const int32_t *count, int64_t n)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += count[k];
    return sum;
}

static rp_result save_pairs(const rp__pbd_table *t, rp_state *out)
{
    int64_t pairs = total(t->count, t->grains), at = 0;
    int32_t *partner = RP_NEW_ARRAY(int32_t, pairs + 1);
    float *force = RP_NEW_ARRAY(float, PAIR_REALS * pairs + 1);
    rp_result result = partner && force ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < t->grains && result == RP_OK; k++)
        for (int32_t m = 0; m < t->count[k]; m++, at++) {
            const rp__pbd_force *f = &t->force[t->first[k] + m];
            partner[at] = t->partner[t->first[k] + m];
            force[PAIR_REALS * at] = f->l;
            memcpy(force + PAIR_REALS * at + 1, f->t, sizeof f->t);
        }
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/pair_count", RP_I32, t->grains, t->count);
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/pair_partner", RP_I32, pairs, partner);
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/pair_force", RP_F32, PAIR_REALS * pairs, force);
    rp__base_free(partner);
    rp__base_free(force);
    return result;
}

static rp_result save_touches(const rp__pbd_touches *t, rp_state *out)
{
    int64_t touches = total(t->count, t->grains), at = 0;
    int32_t *surface = RP_NEW_ARRAY(int32_t, touches + 1);
    double *force = RP_NEW_ARRAY(double, TOUCH_REALS * touches + 1);
    rp_result result = surface && force ? RP_OK : RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < t->grains && result == RP_OK; k++)
        for (int32_t m = 0; m < t->count[k]; m++, at++) {
            const rp__pbd_touch *p = &t->all[t->first[k] + m];
            surface[at] = p->surface;
            force[TOUCH_REALS * at] = p->l;
            memcpy(force + TOUCH_REALS * at + 1, p->n, sizeof p->n);
            memcpy(force + TOUCH_REALS * at + 4, p->t, sizeof p->t);
            force[TOUCH_REALS * at + 7] = p->mu;
        }
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/touch_count", RP_I32, t->grains, t->count);
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/touch_surface", RP_I32, touches, surface);
    if (result == RP_OK)
        result = rp_state_add(out, "pbd/touch_force", RP_F64, TOUCH_REALS * touches, force);
    rp__base_free(surface);
    rp__base_free(force);
    return result;
}

rp_result rp__pbd_save(const void *state, const rp__world *world, rp_state *out)
{
    const rp__pbd *s = state;
    (void)world;
    RP_TRY(rp_state_add(out, "pbd/step", RP_F64, 1, &s->h_old));
    RP_TRY(rp_state_add(out, "pbd/rested", RP_F64, 7 * (int64_t)s->rested_count, s->rested));
    RP_TRY(rp_state_add(out, "pbd/bead_slot", RP_I32, s->beads.count, s->beads.slot));
    RP_TRY(save_pairs(&s->old, out));
    return save_touches(&s->touch_old, out);
}

/* ---- back ---- */

static rp_result bad(const char *what)
{
    return rp__base_fail(RP_BAD_FILE, "the checkpoint does not fit the method pbd: %s", what);
}

static const rp_blob *blob_of(const rp_state *in, const char *name, rp_type type)
{
    const rp_blob *blob = rp_state_find(in, name);
    return blob && blob->type == type ? blob : NULL;
}

/* first[] from count[]; the sum must be `items`. */
static bool set_first(const int32_t *count, int64_t *first, int64_t n, int64_t items)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++) {
        if (count[k] < 0 || count[k] > items)
            return false;
        first[k] = sum;
        sum += count[k];
    }
    return sum == items;
}

static rp_result grow_lists(int32_t **count, int64_t **first, int64_t *capacity, int64_t n)
{
    if (n + 1 <= *capacity)
        return RP_OK;
    int32_t *a = rp__base_realloc_array(*count, (size_t)(n + 64), sizeof *a);
    *count = a ? a : *count;
    int64_t *b = rp__base_realloc_array(*first, (size_t)(n + 64), sizeof *b);
    *first = b ? b : *first;
    if (!a || !b)
        return RP_OUT_OF_MEMORY;
    *capacity = n + 64;
    return RP_OK;
}

static rp_result restore_pairs(rp__pbd_table *t, const rp_state *in)
{
    const rp_blob *count = blob_of(in, "pbd/pair_count", RP_I32), *partner = blob_of(in, "pbd/pair_partner", RP_I32);
    const rp_blob *force = blob_of(in, "pbd/pair_force", RP_F32);
    if (!count || !partner || !force || force->count != PAIR_REALS * partner->count || partner->count > INT32_MAX / 2)
        return bad("it has no pairs of grains");
    int64_t n = count->count, pairs = partner->count;
    t->grains = 0;
    RP_TRY(grow_lists(&t->count, &t->first, &t->grain_capacity, n));
    if (!rp__base_grow(&t->partner, &t->pair_capacity, pairs + RP_PBD_LANES, sizeof *t->partner) ||
        !rp__base_grow(&t->force, &t->force_capacity, pairs + RP_PBD_LANES, sizeof *t->force))
        return RP_OUT_OF_MEMORY;
    if (n)
        memcpy(t->count, count->data, (size_t)n * sizeof *t->count);
    if (!set_first(t->count, t->first, n, pairs))
        return bad("the numbers of pairs make no sense");
    for (int64_t k = 0; k < pairs; k++) {
        const float *f = (const float *)force->data + PAIR_REALS * k;
        t->partner[k] = ((const int32_t *)partner->data)[k];
        t->force[k] = (rp__pbd_force){ f[0], { f[1], f[2], f[3] } };
    }
    t->grains = n;
    return RP_OK;
}

static rp_result restore_touches(rp__pbd_touches *t, const rp_state *in)
{
    const rp_blob *count = blob_of(in, "pbd/touch_count", RP_I32), *surface = blob_of(in, "pbd/touch_surface", RP_I32);
    const rp_blob *force = blob_of(in, "pbd/touch_force", RP_F64);
    if (!count || !surface || !force || force->count != TOUCH_REALS * surface->count)
        return bad("it has no contacts with surfaces");
    int64_t n = count->count;
    t->grains = 0;
    RP_TRY(grow_lists(&t->count, &t->first, &t->grain_capacity, n));
    if (!rp__base_grow(&t->all, &t->capacity, surface->count + 1, sizeof *t->all))
        return RP_OUT_OF_MEMORY;
    if (n)
        memcpy(t->count, count->data, (size_t)n * sizeof *t->count);
    if (!set_first(t->count, t->first, n, surface->count))
        return bad("the numbers of contacts with surfaces make no sense");
    for (int64_t k = 0; k < surface->count; k++) {
        const double *f = (const double *)force->data + TOUCH_REALS * k;
        t->all[k] = (rp__pbd_touch){ .surface = ((const int32_t *)surface->data)[k], .free = -1, .l = f[0], .mu = f[7] };
        memcpy(t->all[k].n, f + 1, sizeof t->all[k].n);
        memcpy(t->all[k].t, f + 4, sizeof t->all[k].t);
    }
    t->grains = n;
    return RP_OK;
}

rp_result rp__pbd_restore(void *state, rp__world *world, const rp_state *in)
{
    rp__pbd *s = state;
    const rp_blob *step = blob_of(in, "pbd/step", RP_F64), *rested = blob_of(in, "pbd/rested", RP_F64);
    if (!step || step->count != 1 || !(*(const double *)step->data >= 0))
        return bad("it has no step");
    if (!rested || rested->count % 7 || rested->count > 7 * (int64_t)world->body_count) /* bodies may have come since */
        return bad("it has other bodies");
    RP_TRY(restore_pairs(&s->old, in));
    RP_TRY(restore_touches(&s->touch_old, in));
    if (s->old.grains != s->touch_old.grains)
        return bad("pairs and surfaces are of different grains");
    RP_TRY(rp__pbd_set_beads(s, world));
    const rp_blob *beads = blob_of(in, "pbd/bead_slot", RP_I32);
    if (!beads || (beads->count != 0 && beads->count != s->beads.count)) /* none yet when no step was made */
        return bad("it has other beads");
    for (int64_t i = 0; i < s->beads.count; i++) {
        s->beads.slot[i] = i < beads->count ? ((const int32_t *)beads->data)[i] : -1;
        if (s->beads.slot[i] < -1 || s->beads.slot[i] >= s->old.grains)
            return bad("a bead has the contacts of none");
    }
    const int32_t *slot = rp__particles_plane(world->particles, s->slot_field, 0);
    for (int64_t i = 0; i < world->particles->count; i++)
        if (slot[i] < -1 || slot[i] >= s->old.grains)
            return bad("a grain has the contacts of none");
    if (!rp__base_grow(&s->rested, &s->rested_capacity, world->body_count + 1, sizeof *s->rested))
        return RP_OUT_OF_MEMORY;
    s->rested_count = (int)(rested->count / 7);
    if (s->rested_count)
        memcpy(s->rested, rested->data, (size_t)s->rested_count * sizeof *s->rested);
    s->h_old = *(const double *)step->data;
    return RP_OK;
}
