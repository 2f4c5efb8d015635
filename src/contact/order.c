/* The order of contacts: by colours, so that a sweep reads all that belongs to its contacts as it lies in memory. Contacts of one colour share
 * no grain, body or fibre. */
#include "contact/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

#define GROW RP__CONTACT_GROW

enum { WORDS = 16 };

static rp_result list_touching(rp__contact_system *y)
{
    if (!GROW(y, touch_first, 5, y->objects + 1) || !GROW(y, touching, 6, 2 * y->count))
        return RP_OUT_OF_MEMORY;
    memset(y->touch_first, 0, (size_t)(y->objects + 1) * sizeof *y->touch_first);
    for (int64_t i = 0; i < y->count; i++)
        for (int e = 0; e < 2; e++)
            if (y->object[i][e] != NOTHING)
                y->touch_first[y->object[i][e] + 1]++;
    for (int64_t o = 0; o < y->objects; o++)
        y->touch_first[o + 1] += y->touch_first[o];
    for (int64_t i = 0; i < y->count; i++)
        for (int e = 0; e < 2; e++)
            if (y->object[i][e] != NOTHING)
                y->touching[y->touch_first[y->object[i][e]]++] = 2 * i + e;
    memmove(y->touch_first + 1, y->touch_first, (size_t)y->objects * sizeof *y->touch_first);
    y->touch_first[0] = 0;
    return RP_OK;
}

/* The first colour that neither object has; contacts that find none among 1024 have one of their own each. Returns how many there are. */
static int32_t colour(const rp__contact_system *y, uint64_t *used, int32_t *chosen)
{
    int32_t most = 0, extra = WORDS * 64;
    for (int64_t i = 0; i < y->count; i++) {
        int32_t pick = -1;
        for (int w = 0; w < WORDS && pick < 0; w++) {
            uint64_t taken = 0;
            for (int e = 0; e < 2; e++)
                taken |= y->object[i][e] != NOTHING ? used[(int64_t)y->object[i][e] * WORDS + w] : 0;
            if (taken == UINT64_MAX)
                continue;
            int bit = __builtin_ctzll(~taken);
            pick = 64 * w + bit;
            for (int e = 0; e < 2; e++)
                if (y->object[i][e] != NOTHING)
                    used[(int64_t)y->object[i][e] * WORDS + w] |= (uint64_t)1 << bit;
        }
        chosen[i] = pick >= 0 ? pick : extra++;
        most = chosen[i] + 1 > most ? chosen[i] + 1 : most;
    }
    return most;
}

/* place[i] is where contact i goes: the colours one after the other, in their old order inside of one. */
static rp_result find_places(rp__contact_system *y, int64_t *place)
{
    uint64_t *used = rp__base_alloc_zero((size_t)y->objects * WORDS * sizeof *used);
    int32_t *chosen = RP_NEW_ARRAY(int32_t, y->count);
    y->colors = used && chosen ? colour(y, used, chosen) : 0;
    bool room = used && chosen && GROW(y, color_first, 8, y->colors + 1) && GROW(y, color_items, 7, y->count);
    if (room) {
        memset(y->color_first, 0, (size_t)(y->colors + 1) * sizeof *y->color_first);
        for (int64_t i = 0; i < y->count; i++)
            y->color_first[chosen[i] + 1]++;
        for (int32_t c = 0; c < y->colors; c++)
            y->color_first[c + 1] += y->color_first[c];
        for (int64_t i = 0; i < y->count; i++) {
            place[i] = y->color_first[chosen[i]]++;
            y->color_items[i] = (int32_t)i;
        }
        memmove(y->color_first + 1, y->color_first, (size_t)y->colors * sizeof *y->color_first);
        y->color_first[0] = 0;
    }
    rp__base_free(used);
    rp__base_free(chosen);
    return room ? RP_OK : RP_OUT_OF_MEMORY;
}

static void set_objects(rp__contact_state *s)
{
    rp__contact_system *y = &s->system;
    for (int64_t i = 0; i < y->count; i++) {
        rp__contact_candidate *c = &s->candidates[y->candidate[i]];
        c->contact = i;
        for (int e = 0; e < 2; e++)
            y->object[i][e] = c->end[e].object;
    }
}

/* Moves an array of `size` bytes a contact into its new order. */
static void reorder(void *array, size_t size, int64_t count, const int64_t *place, void *scratch)
{
    memcpy(scratch, array, (size_t)count * size);
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)array + (size_t)place[i] * size, (const char *)scratch + (size_t)i * size, size);
}

/* Everything that a contact has; what was found for it in an earlier pass goes with it. */
static rp_result reorder_all(rp__contact_system *y, const int64_t *place)
{
    size_t d = (size_t)y->width, number = sizeof(double), rolls = y->width > y->dim;
    const struct { void *array; size_t size; } all[] = {
        { y->candidate, sizeof *y->candidate }, { y->is_new, sizeof *y->is_new }, { y->record, sizeof *y->record },
        { y->r, d * number }, { y->b, d * number }, { y->w, d * number }, { y->diagonal, d * d * number }, { y->mu, number },
        { y->axis, sizeof *y->axis }, { y->column, sizeof *y->column }, { y->is_ball, sizeof *y->is_ball }, { y->ball, sizeof *y->ball },
        { y->rolling, rolls * number }, { y->roll, rolls * sizeof *y->roll },
    };
    size_t largest = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        largest = all[k].size > largest ? all[k].size : largest;
    void *scratch = rp__base_alloc_array((size_t)y->count, largest);
    if (!scratch)
        return RP_OUT_OF_MEMORY;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].size > 0)
            reorder(all[k].array, all[k].size, y->count, place, scratch);
    rp__base_free(scratch);
    return RP_OK;
}

static bool make_room(rp__contact_system *y)
{
    int64_t n = y->count, d = y->width;
    return GROW(y, object, 19, n) && GROW(y, r, 14, n * d) && GROW(y, record, 24, n) && GROW(y, axis, 9, n) && GROW(y, column, 10, n) &&
           GROW(y, diagonal, 11, n * d * d) && GROW(y, b, 12, n * d) && GROW(y, mu, 13, n) && GROW(y, u, 15, n * d) && GROW(y, w, 16, n * d) &&
           GROW(y, is_ball, 20, n) && GROW(y, ball, 21, n) && (d == y->dim || (GROW(y, rolling, 22, n) && GROW(y, roll, 23, n)));
}

rp_result rp__contact_order(rp__contact_state *s)
{
    rp__contact_system *y = &s->system;
    int64_t *place = RP_NEW_ARRAY(int64_t, y->count);
    rp_result result = place && make_room(y) ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        set_objects(s);
        result = find_places(y, place);
    }
    if (result == RP_OK)
        result = reorder_all(y, place);
    rp__base_free(place);
    RP_TRY(result);
    set_objects(s);
    return list_touching(y);
}
