#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

int rp__exec_color_blocks(int64_t n, int dim, const int32_t *coordinate, int64_t *first, int32_t *items)
{
    int colors = 1 << dim;
    for (int c = 0; c <= colors; c++)
        first[c] = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then place */
        for (int64_t i = 0; i < n; i++) {
            int color = 0;
            for (int axis = 0; axis < dim; axis++)
                color |= (coordinate[dim * i + axis] & 1) << axis;
            if (pass == 0)
                first[color + 1]++;
            else
                items[first[color]++] = (int32_t)i;
        }
        if (pass == 0)
            for (int c = 0; c < colors; c++)
                first[c + 1] += first[c];
    }
    for (int c = colors; c > 0; c--) /* placing moved each start to the next one */
        first[c] = first[c - 1];
    first[0] = 0;
    return colors;
}

/* The smallest colour that no coloured neighbour of i has, or -1 when all are taken. */
static int free_color(int64_t i, const int64_t *start, const int32_t *neighbor, const int16_t *color)
{
    uint64_t taken[RP_EXEC_MAX_COLORS / 64] = { 0 };
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
        int c = neighbor[k] == i ? -1 : color[neighbor[k]];
        if (c >= 0)
            taken[c / 64] |= UINT64_C(1) << (c % 64);
    }
    for (int c = 0; c < RP_EXEC_MAX_COLORS; c++)
        if (!(taken[c / 64] >> (c % 64) & 1))
            return c;
    return -1;
}

rp_result rp__exec_color_graph(int64_t n, const int64_t *start, const int32_t *neighbor, int *colors, int64_t *first,
                               int32_t *items)
{
    int16_t *color = RP_NEW_ARRAY(int16_t, n);
    if (!color)
        return RP_OUT_OF_MEMORY;
    memset(color, 0xff, (size_t)n * sizeof *color); /* -1: none yet */
    memset(first, 0, (RP_EXEC_MAX_COLORS + 1) * sizeof *first);
    int used = 0;
    for (int64_t i = 0; i < n; i++) {
        int c = free_color(i, start, neighbor, color);
        if (c < 0) {
            rp__base_free(color);
            return rp__base_fail(RP_TOO_LARGE, "item %lld has neighbours of all %d colours", (long long)i, RP_EXEC_MAX_COLORS);
        }
        color[i] = (int16_t)c;
        first[c + 1]++;
        used = c + 1 > used ? c + 1 : used;
    }
    for (int c = 0; c < RP_EXEC_MAX_COLORS; c++)
        first[c + 1] += first[c];
    for (int64_t i = 0; i < n; i++)
        items[first[color[i]]++] = (int32_t)i;
    for (int c = RP_EXEC_MAX_COLORS; c > 0; c--)
        first[c] = first[c - 1];
    first[0] = 0;
    rp__base_free(color);
    *colors = used;
    return RP_OK;
}
