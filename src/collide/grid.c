/* Pairs of overlapping boxes by a hash grid.
 *
 * Cells are one and a half mean boxes wide. A box is entered into every cell it meets; those that would be in too many are held
 * against all others. Two boxes in one cell are a pair there only if it is the cell of the larger of their lower corners, so that
 * each pair is found once. Along periodic axes boxes near the lower face have an image one period further. */
#include "collide/collide.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 512, CHUNK = 4096 };

typedef struct entry {
    int32_t cell[3], item; /* item: of the boxes with their images */
} entry;

typedef struct image {
    int32_t box;
    int8_t shift[3];
} image;

struct rp__collide_grid {
    image *images;
    rp__collide_box *boxes; /* of the images */
    entry *entries, *sorted;
    int64_t *first;         /* of a bucket, and its end */
    int32_t *large;
    rp__collide_pair *pairs, *ordered;
    int64_t *place;
    int64_t image_capacity, box_capacity, entry_capacity, sorted_capacity, first_capacity, large_capacity, pair_capacity, ordered_capacity,
        place_capacity;
    int64_t image_count, entry_count, large_count, pair_count, buckets;
    double cell, origin[3];
};

rp_result rp__collide_grid_create(rp__collide_grid **out)
{
    rp__collide_grid *grid = RP_NEW(rp__collide_grid);
    if (!grid)
        return RP_OUT_OF_MEMORY;
    *out = grid;
    return RP_OK;
}

void rp__collide_grid_destroy(rp__collide_grid *g)
{
    if (!g)
        return;
    void *all[] = { g->images, g->boxes, g->entries, g->sorted, g->first, g->large, g->pairs, g->ordered, g->place };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
    rp__base_free(g);
}

static bool overlap(const rp__collide_box *a, const rp__collide_box *b)
{
    return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] && b->lower[1] <= a->upper[1] &&
           a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

static int32_t cell_of(const rp__collide_grid *g, double x, int axis)
{
    double c = floor((x - g->origin[axis]) / g->cell);
    return c < -1e9 ? -1000000000 : c > 1e9 ? 1000000000 : (int32_t)c;
}

static int64_t bucket_of(const rp__collide_grid *g, const int32_t cell[3])
{
    uint64_t h = (uint64_t)(uint32_t)cell[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)(uint32_t)cell[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)(uint32_t)cell[2] * 0x165667b19e3779f9u;
    h ^= h >> 32;
    return (int64_t)(h & (uint64_t)(g->buckets - 1));
}

/* The boxes and their images: every set of periodic axes along which the box reaches beyond the lower face or is near enough to it to
 * meet one that reaches beyond the upper face. */
static rp_result make_images(rp__collide_grid *g, const rp__collide_box *boxes, int64_t count, const rp__collide_room *room)
{
    double reach[3] = { 0, 0, 0 };
    g->image_count = 0;
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; room && a < 3; a++)
            reach[a] = fmax(reach[a], boxes[i].upper[a] - boxes[i].lower[a]);
    for (int64_t i = 0; i < count; i++)
        for (int set = 0; set < 8; set++) {
            image m = { (int32_t)i, { 0, 0, 0 } };
            rp__collide_box box = boxes[i];
            bool wanted = true;
            for (int a = 0; a < 3; a++) {
                if (!(set >> a & 1))
                    continue;
                wanted = wanted && room && room->period[a] > 0 && box.lower[a] < room->lower[a] + reach[a];
                if (!wanted)
                    break;
                m.shift[a] = 1;
                box.lower[a] += room->period[a];
                box.upper[a] += room->period[a];
            }
            if (!wanted)
                continue;
            if (!rp__base_grow(&g->images, &g->image_capacity, g->image_count + 1, sizeof m) ||
                !rp__base_grow(&g->boxes, &g->box_capacity, g->image_count + 1, sizeof box))
                return RP_OUT_OF_MEMORY;
            g->images[g->image_count] = m;
            g->boxes[g->image_count++] = box;
        }
    return RP_OK;
}

static void choose_cell(rp__collide_grid *g)
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        g->origin[a] = INFINITY;
    for (int64_t i = 0; i < g->image_count; i++) {
        double most = 0;
        for (int a = 0; a < 3; a++) {
            most = fmax(most, g->boxes[i].upper[a] - g->boxes[i].lower[a]);
            g->origin[a] = fmin(g->origin[a], g->boxes[i].lower[a]);
        }
        sum += most;
    }
    g->cell = g->image_count && sum > 0 ? 1.5 * sum / (double)g->image_count : 1;
}

static rp_result enter(rp__collide_grid *g)
{
    g->entry_count = g->large_count = 0;
    for (int64_t i = 0; i < g->image_count; i++) {
        int32_t low[3], high[3];
        double cells = 1;
        for (int a = 0; a < 3; a++) {
            low[a] = cell_of(g, g->boxes[i].lower[a], a);
            high[a] = cell_of(g, g->boxes[i].upper[a], a);
            cells *= (double)high[a] - low[a] + 1;
        }
        if (cells > MOST_CELLS) {
            if (!rp__base_grow(&g->large, &g->large_capacity, g->large_count + 1, sizeof *g->large))
                return RP_OUT_OF_MEMORY;
            g->large[g->large_count++] = (int32_t)i;
            continue;
        }
        if (!rp__base_grow(&g->entries, &g->entry_capacity, g->entry_count + (int64_t)cells, sizeof(entry)))
            return RP_OUT_OF_MEMORY;
        for (int32_t x = low[0]; x <= high[0]; x++)
            for (int32_t y = low[1]; y <= high[1]; y++)
                for (int32_t z = low[2]; z <= high[2]; z++)
                    g->entries[g->entry_count++] = (entry){ { x, y, z }, (int32_t)i };
    }
    return RP_OK;
}

/* Entries by bucket, in the order of the boxes within one. */
static rp_result sort_entries(rp__collide_grid *g)
{
    g->buckets = 64;
    while (g->buckets < g->entry_count)
        g->buckets *= 2;
    if (!rp__base_grow(&g->first, &g->first_capacity, g->buckets + 1, sizeof *g->first) ||
        !rp__base_grow(&g->sorted, &g->sorted_capacity, g->entry_count + 1, sizeof(entry)))
        return RP_OUT_OF_MEMORY;
    memset(g->first, 0, (size_t)(g->buckets + 1) * sizeof *g->first);
    for (int64_t k = 0; k < g->entry_count; k++)
        g->first[bucket_of(g, g->entries[k].cell) + 1]++;
    for (int64_t b = 0; b < g->buckets; b++)
        g->first[b + 1] += g->first[b];
    for (int64_t k = 0; k < g->entry_count; k++)
        g->sorted[g->first[bucket_of(g, g->entries[k].cell)]++] = g->entries[k];
    memmove(g->first + 1, g->first, (size_t)g->buckets * sizeof *g->first); /* each now points at its end: the next one's start */
    g->first[0] = 0;
    return RP_OK;
}

typedef struct search {
    rp__collide_grid *grid;
    rp__collide_skip skip;
    const void *context;
} search;

static rp_result tell(search *s, int32_t i, int32_t j)
{
    rp__collide_grid *g = s->grid;
    const image *a = &g->images[i], *b = &g->images[j];
    if (a->box > b->box) {
        const image *other = a;
        a = b, b = other;
    }
    rp__collide_pair pair = { a->box, b->box, { 0, 0, 0 }, 0 };
    for (int k = 0; k < 3; k++) {
        if (a->shift[k] && b->shift[k]) /* the same pair is there one period before */
            return RP_OK;
        pair.shift[k] = (int8_t)(b->shift[k] - a->shift[k]);
    }
    if (a->box == b->box || (s->skip && s->skip(s->context, a->box, b->box)))
        return RP_OK;
    if (!rp__base_grow(&g->pairs, &g->pair_capacity, g->pair_count + 1, sizeof pair))
        return RP_OUT_OF_MEMORY;
    g->pairs[g->pair_count++] = pair;
    return RP_OK;
}

static rp_result find_pairs(search *s)
{
    rp__collide_grid *g = s->grid;
    g->pair_count = 0;
    for (int64_t b = 0; b < g->buckets; b++)
        for (int64_t k = g->first[b]; k < g->first[b + 1]; k++) {
            const entry *x = &g->sorted[k];
            const rp__collide_box *bx = &g->boxes[x->item];
            for (int64_t m = k + 1; m < g->first[b + 1]; m++) {
                const entry *y = &g->sorted[m];
                if (x->cell[0] != y->cell[0] || x->cell[1] != y->cell[1] || x->cell[2] != y->cell[2])
                    continue;
                const rp__collide_box *by = &g->boxes[y->item];
                if (!overlap(bx, by))
                    continue;
                bool here = true;
                for (int a = 0; a < 3; a++)
                    here = here && x->cell[a] == cell_of(g, fmax(bx->lower[a], by->lower[a]), a);
                if (here)
                    RP_TRY(tell(s, x->item, y->item));
            }
        }
    for (int64_t l = 0; l < g->large_count; l++)
        for (int64_t i = 0; i < g->image_count; i++) {
            bool other_is_large = false;
            for (int64_t m = 0; m <= l; m++)
                other_is_large = other_is_large || g->large[m] == (int32_t)i;
            if (!other_is_large && overlap(&g->boxes[g->large[l]], &g->boxes[i]))
                RP_TRY(tell(s, g->large[l], (int32_t)i));
        }
    return RP_OK;
}

static int compare_pairs(const void *p, const void *q)
{
    const rp__collide_pair *a = p, *b = q;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return memcmp(a->shift, b->shift, sizeof a->shift);
}

/* By a with a count, then the few of one a by the rest. */
static rp_result sort_pairs(rp__collide_grid *g, int64_t count)
{
    if (!rp__base_grow(&g->place, &g->place_capacity, count + 1, sizeof *g->place) ||
        !rp__base_grow(&g->ordered, &g->ordered_capacity, g->pair_count + 1, sizeof *g->ordered))
        return RP_OUT_OF_MEMORY;
    memset(g->place, 0, (size_t)(count + 1) * sizeof *g->place);
    for (int64_t k = 0; k < g->pair_count; k++)
        g->place[g->pairs[k].a + 1]++;
    for (int64_t i = 0; i < count; i++)
        g->place[i + 1] += g->place[i];
    for (int64_t k = 0; k < g->pair_count; k++)
        g->ordered[g->place[g->pairs[k].a]++] = g->pairs[k];
    for (int64_t i = 0, begin = 0; i < count; begin = g->place[i++])
        if (g->place[i] - begin > 1)
            qsort(g->ordered + begin, (size_t)(g->place[i] - begin), sizeof *g->ordered, compare_pairs);
    return RP_OK;
}

rp_result rp__collide_grid_pairs(rp__collide_grid *g, const rp__collide_box *boxes, int64_t count, const rp__collide_room *room,
                                 rp__collide_skip skip, const void *context, const rp__collide_pair **pairs, int64_t *pair_count)
{
    if (count > INT32_MAX / 8)
        return rp__base_fail(RP_TOO_LARGE, "%lld grains and segments of fibres; at most %d are possible", (long long)count, INT32_MAX / 8);
    RP_TRY(make_images(g, boxes, count, room));
    choose_cell(g);
    RP_TRY(enter(g));
    RP_TRY(sort_entries(g));
    RP_TRY(find_pairs(&(search){ g, skip, context }));
    RP_TRY(sort_pairs(g, count));
    *pairs = g->ordered;
    *pair_count = g->pair_count;
    return RP_OK;
}
