/* Guides sorted into cells of two radii, and where any of them moves. */
#include "grains/follow.h"

#include <string.h>

void rp__grains_free_guides(rp__guides *g)
{
    void *all[] = { g->x[0], g->x[1], g->x[2], g->v[0], g->v[1], g->v[2], g->pack, g->first, g->moving, g->spread, g->cell, g->order };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
    memset(g, 0, sizeof *g);
}

static rp_result reserve(rp__guides *g, int64_t count, int64_t cells)
{
    if (count + 16 > g->capacity) { /* eight are read at a time */
        int64_t capacity = count + count / 4 + 64;
        void **planes[] = { (void **)&g->x[0], (void **)&g->x[1], (void **)&g->x[2], (void **)&g->v[0],
                            (void **)&g->v[1], (void **)&g->v[2], (void **)&g->cell, (void **)&g->order };
        for (size_t k = 0; k < sizeof planes / sizeof *planes; k++) {
            float *grown = rp__base_realloc_array(*planes[k], (size_t)capacity, sizeof *grown);
            if (!grown)
                return RP_OUT_OF_MEMORY;
            *planes[k] = grown;
        }
        void *pack = rp__base_realloc_array(g->pack, (size_t)capacity, sizeof *g->pack);
        if (!pack)
            return RP_OUT_OF_MEMORY;
        g->pack = pack;
        g->capacity = capacity;
    }
    int64_t capacity = g->cell_capacity, same = capacity;
    if (!rp__base_grow(&g->first, &capacity, cells + 2, sizeof *g->first) || !rp__base_grow(&g->spread, &same, cells + 2, sizeof *g->spread) ||
        !rp__base_grow(&g->moving, &g->cell_capacity, cells + 2, sizeof *g->moving))
        return RP_OUT_OF_MEMORY;
    return RP_OK;
}

static void set_grid(rp__guides *g, const rp_guides *from, const double base[3], int64_t *cells)
{
    double low[3], high[3], width = 2 * (double)g->radius;
    for (int d = 0; d < 3; d++) {
        low[d] = INFINITY, high[d] = -INFINITY;
        for (int64_t i = 0; i < from->count; i++)
            low[d] = fmin(low[d], from->x[d][i]), high[d] = fmax(high[d], from->x[d][i]);
        if (!(low[d] <= high[d]))
            low[d] = high[d] = base[d];
    }
    for (;; width *= 1.3) { /* thinly spread: larger cells */
        double total = 1;
        for (int d = 0; d < 3; d++) {
            double many = floor((high[d] - low[d]) / width) + 1;
            total *= many;
            g->size[d] = total < 1e9 ? (int)many : 1;
            g->origin[d] = (float)(low[d] - base[d]);
        }
        *cells = (int64_t)total;
        if (total <= 8.0 * (double)from->count + 4096)
            break;
    }
    g->per_width = (float)(1 / width);
    g->reach = (int)ceil(3 * (double)g->radius / width);
}

/* A cell moves when one of the `reach` cells on either side along the axis does. */
static void spread_along(const rp__guides *g, int axis, const uint8_t *from, uint8_t *to)
{
    int64_t step = axis == 0 ? 1 : axis == 1 ? g->size[0] : (int64_t)g->size[0] * g->size[1], count = g->size[axis];
    int64_t cells = (int64_t)g->size[0] * g->size[1] * g->size[2];
    memcpy(to, from, (size_t)cells);
    for (int64_t run = 0; run < cells; run += step * count) /* lines along the axis, `step` of them side by side */
        for (int64_t k = 1; k <= g->reach && k < count; k++) {
            int64_t length = step * (count - k), shift = step * k;
            for (int64_t c = run; c < run + length; c++)
                to[c] |= from[c + shift];
            for (int64_t c = run; c < run + length; c++)
                to[c + shift] |= from[c];
        }
}

static void sort(rp__guides *g, const rp_guides *from, const double base[3], int64_t cells)
{
    for (int64_t i = 0; i < from->count; i++) {
        int c[3];
        for (int d = 0; d < 3; d++) {
            float at = ((float)(from->x[d][i] - base[d]) - g->origin[d]) * g->per_width;
            c[d] = at < 0 ? 0 : at >= (float)g->size[d] ? g->size[d] - 1 : (int)at;
        }
        g->cell[i] = (c[2] * g->size[1] + c[1]) * g->size[0] + c[0];
        g->first[g->cell[i] + 1]++;
    }
    for (int64_t c = 0; c < cells; c++)
        g->first[c + 1] += g->first[c];
    for (int64_t i = 0; i < from->count; i++)
        g->order[g->first[g->cell[i]]++] = (int32_t)i;
    for (int64_t c = cells; c > 0; c--)
        g->first[c] = g->first[c - 1];
    g->first[0] = 0;
}

rp_result rp__grains_bin_guides(rp__guides *g, const rp_guides *from, double radius, const double base[3], double at_rest)
{
    int64_t cells = 0;
    g->radius = (float)radius;
    set_grid(g, from, base, &cells);
    RP_TRY(reserve(g, from->count, cells));
    memset(g->first, 0, (size_t)(cells + 1) * sizeof *g->first);
    memset(g->moving, 0, (size_t)cells);
    sort(g, from, base, cells);
    float per = 1 / (3 * g->radius), slow2 = (float)(at_rest * at_rest);
    for (int64_t to = 0; to < from->count; to++) {
        int64_t i = g->order[to];
        float square = 0;
        for (int d = 0; d < 3; d++) {
            g->x[d][to] = (float)(from->x[d][i] - base[d]);
            g->v[d][to] = (float)from->v[d][i];
            g->pack[to][d] = g->x[d][to] * per;
            g->pack[to][4 + d] = g->v[d][to];
            square += g->v[d][to] * g->v[d][to];
        }
        g->moving[g->cell[i]] |= !(square < slow2);
    }
    for (int d = 0; d < 3; d++)
        for (int64_t k = from->count; k < from->count + 8; k++)
            g->x[d][k] = 0;
    spread_along(g, 0, g->moving, g->spread);
    spread_along(g, 1, g->spread, g->moving);
    spread_along(g, 2, g->moving, g->spread);
    uint8_t *moving = g->spread;
    g->spread = g->moving, g->moving = moving;
    g->count = from->count;
    return RP_OK;
}
