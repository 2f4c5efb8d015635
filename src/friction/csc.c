/* Sparse matrices by compressed columns. */
#include "base/error.h"
#include "base/memory.h"
#include "friction/problem.h"

#include <math.h>
#include <string.h>

void rp__friction_csc_free(rp__friction_csc *matrix)
{
    rp__base_free(matrix->first);
    rp__base_free(matrix->row);
    rp__base_free(matrix->value);
    memset(matrix, 0, sizeof *matrix);
}

static rp_result check(const rp_friction_matrix *a, const char *name)
{
    if (a->rows < 0 || a->columns < 0 || a->rows > INT32_MAX || a->columns > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "matrix %s: %lld × %lld is outside 0 .. 2^31 - 1", name, (long long)a->rows,
                             (long long)a->columns);
    if (!a->first || (a->first[a->columns] > 0 && (!a->row || !a->value)))
        return rp__base_fail(RP_BAD_ARGUMENT, "matrix %s: arrays are missing", name);
    if (a->first[0] != 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "matrix %s: first[0] is %lld, it must be 0", name, (long long)a->first[0]);
    for (int64_t j = 0; j < a->columns; j++) {
        if (a->first[j + 1] < a->first[j])
            return rp__base_fail(RP_BAD_ARGUMENT, "matrix %s: column %lld ends before it begins", name, (long long)j);
        for (int64_t k = a->first[j]; k < a->first[j + 1]; k++) {
            if (a->row[k] < 0 || a->row[k] >= a->rows)
                return rp__base_fail(RP_BAD_ARGUMENT, "matrix %s: entry %lld is in row %d, there are %lld rows", name,
                                     (long long)k, (int)a->row[k], (long long)a->rows);
            if (!isfinite(a->value[k]))
                return rp__base_fail(RP_BAD_ARGUMENT, "matrix %s: entry (%d, %lld) is not a finite number", name, (int)a->row[k],
                                     (long long)j);
        }
    }
    return RP_OK;
}

static rp_result reserve(rp__friction_csc *to, int64_t rows, int64_t columns, int64_t entries)
{
    memset(to, 0, sizeof *to);
    to->rows = rows;
    to->columns = columns;
    to->first = rp__base_alloc_zero((size_t)(columns + 1) * sizeof *to->first);
    to->row = RP_NEW_ARRAY(int32_t, entries);
    to->value = RP_NEW_ARRAY(double, entries);
    if (to->first && to->row && to->value)
        return RP_OK;
    rp__friction_csc_free(to);
    return RP_OUT_OF_MEMORY;
}

/* Counting sort: the rows of the result ascend, whatever the order before. Doubles stay. */
static rp_result transpose(int64_t rows, int64_t columns, const int64_t *first, const int32_t *row, const double *value,
                           rp__friction_csc *to)
{
    RP_TRY(reserve(to, columns, rows, first[columns]));
    int64_t *next = rp__base_alloc_zero((size_t)(rows + 1) * sizeof *next);
    if (!next) {
        rp__friction_csc_free(to);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; k < first[columns]; k++)
        to->first[row[k] + 1]++;
    for (int64_t i = 0; i < rows; i++)
        to->first[i + 1] += to->first[i];
    memcpy(next, to->first, (size_t)(rows + 1) * sizeof *next);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = first[j]; k < first[j + 1]; k++) {
            int64_t place = next[row[k]]++;
            to->row[place] = (int32_t)j;
            to->value[place] = value[k];
        }
    rp__base_free(next);
    return RP_OK;
}

rp_result rp__friction_csc_transpose(const rp__friction_csc *from, rp__friction_csc *to)
{
    return transpose(from->rows, from->columns, from->first, from->row, from->value, to);
}

static void add_doubles(rp__friction_csc *a)
{
    int64_t out = 0, begin = 0;
    for (int64_t j = 0; j < a->columns; j++) {
        int64_t end = a->first[j + 1], column = out;
        for (int64_t k = begin; k < end; k++) {
            if (out > column && a->row[out - 1] == a->row[k]) {
                a->value[out - 1] += a->value[k];
            } else {
                a->row[out] = a->row[k];
                a->value[out] = a->value[k];
                out++;
            }
        }
        begin = end;
        a->first[j + 1] = out;
    }
}

rp_result rp__friction_csc_copy(const rp_friction_matrix *from, const char *name, rp__friction_csc *to)
{
    RP_TRY(check(from, name));
    rp__friction_csc turned;
    RP_TRY(transpose(from->rows, from->columns, from->first, from->row, from->value, &turned));
    rp_result result = rp__friction_csc_transpose(&turned, to);
    rp__friction_csc_free(&turned);
    if (result == RP_OK)
        add_doubles(to);
    return result;
}
