/* W = Hᵀ A⁻¹ H by blocks. A visit of Gauss-Seidel through Y reads and writes whole fibres, some hundred numbers an end; a row of W has one
 * block of nine for each contact of the two things that touch. Where few contacts share a fibre (hair) rows are far shorter, and after
 * momentum or Anderson's combination nothing must be applied anew. Both give the same problem; the shorter one is solved. */
#include "contact/state.h"

#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* Numbers that a sweep and the product before it touch, through Y and by blocks. */
static void count_numbers(const rp__contact_system *y, double *by_columns, double *by_blocks)
{
    *by_columns = *by_blocks = 0;
    for (int64_t i = 0; i < y->count; i++) {
        *by_blocks += 9;
        for (int e = 0; e < 2; e++)
            if (y->object[i][e] != NOTHING) {
                int64_t o = y->object[i][e];
                *by_columns += 3.0 * (y->column[i][e].rows + 2 * y->column[i][e].y_rows);
                *by_blocks += 9.0 * (double)(y->touch_first[o + 1] - y->touch_first[o]);
            }
    }
}

static bool worth_it(const rp__contact_system *y)
{
    double by_columns, by_blocks;
    if (y->dim != 3 || y->width != y->dim)
        return false;
    for (int64_t i = 0; i < y->count; i++)
        if (y->is_ball[i])
            return false;
    count_numbers(y, &by_columns, &by_blocks);
    return 2 * by_blocks < by_columns;
}

/* The blocks of row i by ascending columns: W_ii, and H_iᵀ Y_j over each end of i for every other contact j of the thing there; those of one
 * place stand side by side. */
static void fill_row(const rp__contact_system *y, int64_t i)
{
    int64_t at = y->block_first[i], next[2], last[2];
    bool own = false;
    for (int e = 0; e < 2; e++) {
        int32_t o = y->object[i][e];
        next[e] = o == NOTHING ? 0 : y->touch_first[o];
        last[e] = o == NOTHING ? 0 : y->touch_first[o + 1];
    }
    while (!own || next[0] < last[0] || next[1] < last[1]) {
        int64_t j = own ? INT64_MAX : i;
        int from = -1;
        for (int e = 0; e < 2; e++)
            if (next[e] < last[e] && y->touching[next[e]] / 2 < j) {
                j = y->touching[next[e]] / 2;
                from = e;
            }
        if (from >= 0 && j == i) { /* itself, seen from its ends after W_ii */
            next[from]++;
            continue;
        }
        double *w = y->block + 9 * at;
        y->block_column[at++] = (int32_t)j;
        if (from < 0) {
            own = true;
            memcpy(w, y->diagonal + 9 * i, 9 * sizeof *w);
            continue;
        }
        memset(w, 0, 9 * sizeof *w);
        rp__contact_add_block(y, &y->column[i][from], &y->column[j][y->touching[next[from]++] & 1], w);
    }
}

static void fill_rows(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        fill_row(context, i);
}

rp_result rp__contact_make_blocks(rp__contact_system *y)
{
    y->by_blocks = worth_it(y);
    if (!y->by_blocks)
        return RP_OK;
    if (!rp__base_grow(&y->block_first, &y->capacities[26], y->count + 1, sizeof *y->block_first))
        return RP_OUT_OF_MEMORY;
    int64_t total = 0;
    for (int64_t i = 0; i < y->count; i++) {
        y->block_first[i] = total++;
        for (int e = 0; e < 2; e++) {
            int32_t o = y->object[i][e];
            if (o != NOTHING) /* without itself, which a fibre that touches itself meets twice */
                total += y->touch_first[o + 1] - y->touch_first[o] - 1 - (y->object[i][0] == y->object[i][1]);
        }
    }
    y->block_first[y->count] = total;
    if (!rp__base_grow(&y->block_column, &y->capacities[27], total + 1, sizeof *y->block_column) ||
        !rp__base_grow(&y->block, &y->capacities[28], 9 * total + 1, sizeof *y->block))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(y->count, 64, fill_rows, y);
    return RP_OK;
}

rp_result rp__contact_make_problem(rp__contact_system *y, rp_friction **problem)
{
    if (y->by_blocks) {
        rp_friction_local_def def = rp_default_friction_local_def();
        def.dimension = y->width;
        def.contacts = y->count;
        def.first = y->block_first;
        def.column = y->block_column;
        def.blocks = y->block;
        def.b = y->b;
        def.mu = y->mu;
        return rp_friction_create_local(&def, problem);
    }
    rp_friction_operator_def def = rp_default_friction_operator_def();
    rp__contact_set_operator(y, &def);
    return rp_friction_create_operator(&def, problem);
}
