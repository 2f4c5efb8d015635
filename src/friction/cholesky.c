/* Cholesky factor of a sparse symmetric matrix: independent components, each ordered by reverse Cuthill-McKee, rows stored from
 * their first entry (the fill of Cholesky stays inside that envelope [george1981, 4.2]). */
#include "base/error.h"
#include "base/memory.h"
#include "friction/problem.h"

#include <math.h>
#include <string.h>

void rp__friction_cholesky_free(rp__friction_cholesky *factor)
{
    rp__base_free(factor->position);
    rp__base_free(factor->dof);
    rp__base_free(factor->component);
    rp__base_free(factor->last);
    rp__base_free(factor->row_first);
    rp__base_free(factor->value);
    memset(factor, 0, sizeof *factor);
}

static int64_t degree(const rp__friction_csc *m, int64_t i)
{
    return m->first[i + 1] - m->first[i];
}

/* Breadth-first from `root`, neighbours by ascending degree; writes places from `begin` on and returns the end. */
static int64_t visit(const rp__friction_csc *m, int32_t root, int64_t begin, int32_t *dof, int32_t *position)
{
    int64_t end = begin;
    dof[end] = root;
    position[root] = (int32_t)end++;
    for (int64_t k = begin; k < end; k++) {
        int64_t batch = end;
        for (int64_t e = m->first[dof[k]]; e < m->first[dof[k] + 1]; e++) {
            int32_t other = m->row[e];
            if (position[other] >= 0)
                continue;
            int64_t place = end++;
            position[other] = 0; /* seen; set below */
            for (; place > batch && degree(m, dof[place - 1]) > degree(m, other); place--)
                dof[place] = dof[place - 1];
            dof[place] = other;
        }
        for (int64_t place = batch; place < end; place++)
            position[dof[place]] = (int32_t)place;
    }
    return end;
}

static void order(const rp__friction_csc *m, rp__friction_cholesky *c)
{
    for (int64_t i = 0; i < c->n; i++)
        c->position[i] = -1;
    int64_t begin = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (c->position[i] >= 0)
            continue;
        int64_t end = visit(m, (int32_t)i, begin, c->dof, c->position);
        int32_t far = c->dof[end - 1]; /* start again from the far end: a better ordering */
        for (int64_t k = begin; k < end; k++)
            c->position[c->dof[k]] = -1;
        visit(m, far, begin, c->dof, c->position);
        for (int64_t a = begin, z = end - 1; a < z; a++, z--) {
            int32_t swap = c->dof[a];
            c->dof[a] = c->dof[z];
            c->dof[z] = swap;
        }
        for (int64_t k = begin; k < end; k++) {
            c->position[c->dof[k]] = (int32_t)k;
            c->component[k] = (int32_t)begin;
            c->last[k] = (int32_t)end;
        }
        begin = end;
    }
}

/* Row by row: l_ij = (a_ij - sum_k l_ik l_jk) / l_jj inside the envelope. */
static rp_result factorise(const rp__friction_csc *m, rp__friction_cholesky *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        int64_t length = c->row_first[i + 1] - c->row_first[i], left = i + 1 - length;
        double *row = c->value + c->row_first[i] - left; /* row[j] is l_ij */
        int32_t dof = c->dof[i];
        double diagonal = 0;
        for (int64_t e = m->first[dof]; e < m->first[dof + 1]; e++) {
            int64_t j = c->position[m->row[e]];
            if (j <= i)
                row[j] = m->value[e];
            if (j == i)
                diagonal = m->value[e];
        }
        for (int64_t j = left; j < i; j++) {
            int64_t other_left = j + 1 - (c->row_first[j + 1] - c->row_first[j]);
            const double *other = c->value + c->row_first[j] - other_left;
            double sum = row[j];
            for (int64_t k = left > other_left ? left : other_left; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = sum / other[j];
        }
        double pivot = row[i];
        for (int64_t k = left; k < i; k++)
            pivot -= row[k] * row[k];
        if (!(diagonal > 0) || !(pivot > 1e-14 * diagonal))
            return rp__base_fail(RP_BAD_ARGUMENT, "matrix M is not positive definite: pivot %.3g in row %d (diagonal %.3g)", pivot,
                                 (int)dof, diagonal);
        row[i] = sqrt(pivot);
    }
    return RP_OK;
}

rp_result rp__friction_cholesky_make(const rp__friction_csc *m, rp__friction_cholesky *c)
{
    memset(c, 0, sizeof *c);
    c->n = m->columns;
    c->position = RP_NEW_ARRAY(int32_t, c->n);
    c->dof = RP_NEW_ARRAY(int32_t, c->n);
    c->component = RP_NEW_ARRAY(int32_t, c->n);
    c->last = RP_NEW_ARRAY(int32_t, c->n);
    c->row_first = RP_NEW_ARRAY(int64_t, c->n + 1);
    rp_result result = RP_OUT_OF_MEMORY;
    if (!c->position || !c->dof || !c->component || !c->last || !c->row_first)
        goto failed;
    order(m, c);
    c->row_first[0] = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t left = i;
        for (int64_t e = m->first[c->dof[i]]; e < m->first[c->dof[i] + 1]; e++)
            left = c->position[m->row[e]] < left ? c->position[m->row[e]] : left;
        c->row_first[i + 1] = c->row_first[i] + i - left + 1;
    }
    if (c->row_first[c->n] > (int64_t)1 << 32) {
        result = rp__base_fail(RP_TOO_LARGE, "the factor of M needs %lld numbers; give the problem in local form or as an operator",
                               (long long)c->row_first[c->n]);
        goto failed;
    }
    c->value = rp__base_alloc_zero((size_t)c->row_first[c->n] * sizeof *c->value);
    if (!c->value)
        goto failed;
    result = factorise(m, c);
    if (result == RP_OK)
        return RP_OK;
failed:
    rp__friction_cholesky_free(c);
    return result;
}

void rp__friction_cholesky_solve(const rp__friction_cholesky *c, int64_t begin, int64_t end, int64_t start, double *x)
{
    for (int64_t i = start; i < end; i++) {
        int64_t left = i + 1 - (c->row_first[i + 1] - c->row_first[i]);
        const double *row = c->value + c->row_first[i] - left;
        double sum = x[i];
        for (int64_t k = left > start ? left : start; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum / row[i];
    }
    for (int64_t i = end - 1; i >= begin; i--) {
        int64_t left = i + 1 - (c->row_first[i + 1] - c->row_first[i]);
        const double *row = c->value + c->row_first[i] - left;
        double xi = x[i] / row[i];
        x[i] = xi;
        for (int64_t k = left; k < i; k++)
            x[k] -= row[k] * xi;
    }
}
