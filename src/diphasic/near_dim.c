/* Where the rounds of a step work.
 *
 * Grains, bodies and walls are met at some of the nodes only. Elsewhere the flux answers to the pressure alone, w += dt Θ Dᵀ δp, and what is left of
 * the constraint in a cell is what conjugate gradients left of it. So rounds keep the velocities of the nodes of near cells (those with a corner of a
 * cell with grains, or in a body, or on a face of the domain); far cells keep -D w / dt itself, and their nodes get all that the pressure
 * has become at once, when the rounds are over. */
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* 1: at the corner of a cell with grains, or in a body. */
static void mark_nodes(dp_system *y, const rp__world *world)
{
    memset(y->near_node, 0, (size_t)y->node_count);
    for (int64_t k = 0; k < y->stress_count; k++)
        for (int n = 0; n < DP_CORNERS; n++)
            y->near_node[y->stress[k].node[n]] = 1;
    for (int64_t j = 0; j < y->node_count && world->body_count; j++)
        y->near_node[j] |= y->inside[j] >= 0;
}

/* Lines of cells along x. */
static void mark_cells(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 0, line % y->cells[1], line / y->cells[1] }, corner[DP_CORNERS];
        for (; at[0] < y->cells[0]; at[0]++) {
            bool near = false;
            for (int a = 0; a < RP_DIM; a++)
                near = near || (!y->lattice.periodic[a] && (at[a] == 0 || at[a] == y->cells[a] - 1));
            dp_corners(y, at, corner);
            for (int n = 0; n < DP_CORNERS; n++)
                near = near || y->near_node[corner[n]] == 1;
            y->near_cell[line * y->cells[0] + at[0]] = near;
        }
    }
}

/* All corners of near cells: 2 where mark_nodes has left 0. */
static void mark_around(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t at[3] = { 0, line % y->nodes[1], line / y->nodes[1] }, cell[DP_CORNERS], j = line * y->nodes[0];
        for (; at[0] < y->nodes[0]; at[0]++, j++) {
            bool near = !dp_around(y, at, cell);
            for (int n = 0; n < DP_CORNERS && !near; n++)
                near = y->near_cell[cell[n]];
            y->near_node[j] = near;
        }
    }
}

/* Runs of marked items along the lines of a box. */
static rp_result find_runs(const int64_t n[3], const uint8_t *marked, dp_runs *out)
{
    out->count = 0;
    for (int64_t line = 0; line < n[1] * n[2]; line++)
        for (int64_t i = 0; i < n[0]; i++) {
            const uint8_t *mark = marked + line * n[0];
            if (!mark[i])
                continue;
            if (!rp__base_grow(&out->run, &out->capacity, out->count + 1, sizeof *out->run))
                return RP_OUT_OF_MEMORY;
            dp_run *run = &out->run[out->count++];
            *run = (dp_run){ .first = line * n[0] + i, .at = { i, line % n[1], line / n[1] } };
            for (; i < n[0] && mark[i]; i++)
                run->count++;
        }
    return RP_OK;
}

rp_result DP(find_near)(dp_system *y, const rp__world *world)
{
    mark_nodes(y, world);
    rp__exec_for(y->cells[1] * y->cells[2], 8, mark_cells, y);
    rp__exec_for(y->nodes[1] * y->nodes[2], 8, mark_around, y);
    RP_TRY(find_runs(y->cells, y->near_cell, &y->near_cells));
    return find_runs(y->nodes, y->near_node, &y->near_nodes);
}
