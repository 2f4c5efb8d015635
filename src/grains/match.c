/* Particles of two frames are known by their ids. */
#include "exec/exec.h"
#include "grains/grains.h"

#include <string.h>

/* Where an id is: a table of places, each tried from where its number falls on. */
typedef struct directory {
    const int64_t *id;
    int32_t *table;               /* -1: nobody */
    int bits;
} directory;

static uint64_t place_of(const directory *d, int64_t id)
{
    return (uint64_t)id * 0x9e3779b97f4a7c15u >> (64 - d->bits); /* Fibonacci hashing: numbers in a row are spread evenly */
}

static int32_t find(const directory *d, int64_t id)
{
    uint64_t mask = ((uint64_t)1 << d->bits) - 1;
    for (uint64_t at = place_of(d, id);; at = (at + 1) & mask)
        if (d->table[at] < 0 || d->id[d->table[at]] == id)
            return d->table[at];
}

/* At least half of the places stay empty. Of two particles with one id, which no run writes, the first counts. */
static rp_result make_directory(const rp__carriers *c, directory *d)
{
    *d = (directory){ .id = c->id, .bits = 4 };
    while ((int64_t)1 << d->bits < 2 * c->count)
        d->bits++;
    uint64_t mask = ((uint64_t)1 << d->bits) - 1;
    d->table = RP_NEW_ARRAY(int32_t, (int64_t)mask + 1);
    if (!d->table)
        return RP_OUT_OF_MEMORY;
    memset(d->table, 0xff, (size_t)(mask + 1) * sizeof *d->table);
    for (int64_t i = 0; i < c->count; i++) {
        uint64_t at = place_of(d, c->id[i]);
        while (d->table[at] >= 0 && c->id[d->table[at]] != c->id[i])
            at = (at + 1) & mask;
        if (d->table[at] < 0)
            d->table[at] = (int32_t)i;
    }
    return RP_OK;
}

typedef struct search {
    const directory *directory;
    const rp__carriers *from, *to;
    rp__kin *kin;
} search;

static void find_next(void *context, int64_t begin, int64_t end, int worker)
{
    const search *s = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int32_t next = find(s->directory, s->from->id[i]);
        double was = s->from->volume[i];
        s->kin->next[i] = next;
        s->kin->steady[i] = next >= 0 && fabs(s->to->volume[next] - was) <= 1e-3 * was;
    }
}

rp_result rp__grains_match(const rp__carriers *from, const rp__carriers *to, rp__kin *out)
{
    directory d = { 0 };
    rp__kin kin = { .next = RP_NEW_ARRAY(int32_t, from->count + 1), .previous = RP_NEW_ARRAY(int32_t, to->count + 1),
                    .steady = RP_NEW_ARRAY(uint8_t, from->count + 1), .grown = RP_NEW_ARRAY(int32_t, to->count + 1) };
    rp_result result = kin.next && kin.previous && kin.steady && kin.grown ? make_directory(to, &d) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        search s = { &d, from, to, &kin };
        rp__exec_for(from->count, 4096, find_next, &s);
        memset(kin.previous, 0xff, (size_t)to->count * sizeof *kin.previous);
        for (int64_t i = from->count - 1; i >= 0; i--)
            if (kin.next[i] >= 0)
                kin.previous[kin.next[i]] = (int32_t)i;
        for (int64_t i = 0; i < to->count; i++)
            if (kin.previous[i] < 0 || to->volume[i] > 1.001 * from->volume[kin.previous[i]])
                kin.grown[kin.grown_count++] = (int32_t)i;
    }
    rp__base_free(d.table);
    if (result != RP_OK)
        rp__grains_kin_free(&kin);
    *out = kin;
    return result;
}

void rp__grains_kin_free(rp__kin *kin)
{
    rp__base_free(kin->next);
    rp__base_free(kin->previous);
    rp__base_free(kin->steady);
    rp__base_free(kin->grown);
    memset(kin, 0, sizeof *kin);
}
