/* Colours of contacts for Gauss-Seidel in parallel: first fit in the order of the contacts. */
#include "base/error.h"
#include "base/memory.h"
#include "friction/problem.h"

#include <string.h>

void rp__friction_colors_free(rp__friction_colors *colors)
{
    rp__base_free(colors->first);
    rp__base_free(colors->items);
    memset(colors, 0, sizeof *colors);
}

typedef struct painter {
    const rp_friction *p;
    int32_t *color; /* of each contact */
    int32_t *mark;  /* the last contact that found a colour taken */
    int64_t *below_first; /* blocks (j, i) with i < j seen from i: W may be given by one triangle's pattern */
    int32_t *below;
} painter;

static void mark_neighbors(painter *t, int64_t i)
{
    const rp_friction *p = t->p;
    if (p->kind == RP__BLOCKS) {
        for (int64_t k = p->first[i]; k < p->first[i + 1]; k++)
            if (p->column[k] < i)
                t->mark[t->color[p->column[k]]] = (int32_t)i;
        for (int64_t k = t->below_first[i]; k < t->below_first[i + 1]; k++)
            t->mark[t->color[t->below[k]]] = (int32_t)i;
    } else {
        for (int64_t k = p->y.first[i]; k < p->y.first[i + 1]; k++) {
            int32_t dof = p->y.index[k];
            for (int64_t e = p->yt.first[dof]; e < p->yt.first[dof + 1] && p->yt.index[e] < i; e++)
                t->mark[t->color[p->yt.index[e]]] = (int32_t)i;
        }
    }
}

/* Lists, for each contact i, the rows j < i with a block in column i. */
static rp_result list_below(painter *t)
{
    const rp_friction *p = t->p;
    int64_t n = p->contacts;
    t->below_first = rp__base_alloc_zero((size_t)(n + 2) * sizeof *t->below_first);
    t->below = RP_NEW_ARRAY(int32_t, p->first[n]);
    if (!t->below_first || !t->below)
        return RP_OUT_OF_MEMORY;
    int64_t *first = t->below_first + 1; /* shifted by one while filling */
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = p->first[j]; k < p->first[j + 1]; k++)
            if (p->column[k] > j)
                first[p->column[k] + 1]++;
    for (int64_t i = 0; i < n; i++)
        first[i + 1] += first[i];
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = p->first[j]; k < p->first[j + 1]; k++)
            if (p->column[k] > j)
                t->below[first[p->column[k]]++] = (int32_t)j;
    return RP_OK;
}

static rp_result paint(painter *t, rp__friction_colors *colors)
{
    int64_t n = t->p->contacts;
    t->color = RP_NEW_ARRAY(int32_t, n);
    t->mark = RP_NEW_ARRAY(int32_t, n + 1);
    if (!t->color || !t->mark)
        return RP_OUT_OF_MEMORY;
    if (t->p->kind == RP__BLOCKS)
        RP_TRY(list_below(t));
    for (int64_t i = 0; i <= n; i++)
        t->mark[i] = -1;
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        mark_neighbors(t, i);
        int32_t c = 0;
        while (t->mark[c] == i)
            c++;
        t->color[i] = c;
        count = c + 1 > count ? c + 1 : count;
    }
    colors->count = count;
    colors->first = rp__base_alloc_zero((size_t)(count + 2) * sizeof *colors->first);
    colors->items = RP_NEW_ARRAY(int32_t, n);
    if (!colors->first || !colors->items)
        return RP_OUT_OF_MEMORY;
    int64_t *first = colors->first + 1;
    for (int64_t i = 0; i < n; i++)
        first[t->color[i] + 1]++;
    for (int32_t c = 0; c < count; c++)
        first[c + 1] += first[c];
    for (int64_t i = 0; i < n; i++)
        colors->items[first[t->color[i]]++] = (int32_t)i;
    return RP_OK;
}

rp_result rp__friction_color(const rp_friction *p, rp__friction_colors *colors)
{
    memset(colors, 0, sizeof *colors);
    if (p->kind == RP__CALLBACKS) {
        int count = p->callbacks.colors;
        if (count == 0)
            return rp__base_fail(RP_UNSUPPORTED, "this operator names no colours: use Gauss-Seidel in order");
        colors->count = count;
        colors->first = RP_NEW_ARRAY(int64_t, count + 1);
        colors->items = RP_NEW_ARRAY(int32_t, p->contacts);
        if (!colors->first || !colors->items) {
            rp__friction_colors_free(colors);
            return RP_OUT_OF_MEMORY;
        }
        memcpy(colors->first, p->callbacks.color_first, (size_t)(count + 1) * sizeof *colors->first);
        memcpy(colors->items, p->callbacks.color_items, (size_t)p->contacts * sizeof *colors->items);
        return RP_OK;
    }
    painter t = { .p = p };
    rp_result result = paint(&t, colors);
    rp__base_free(t.color);
    rp__base_free(t.mark);
    rp__base_free(t.below_first);
    rp__base_free(t.below);
    if (result != RP_OK)
        rp__friction_colors_free(colors);
    return result;
}
