/* Problems in global form: M is factorised once, Y = M⁻¹ H found contact by contact, and W held in the cheaper of two ways. */
#include "base/error.h"
#include "base/memory.h"
#include "friction/problem.h"

#include <math.h>
#include <string.h>

/* M must equal its transpose up to `allowed`; the mean of both is what is factorised. */
static rp_result check_symmetry(rp_friction *p, double allowed)
{
    rp__friction_csc turned;
    rp__friction_csc *m = &p->m;
    RP_TRY(rp__friction_csc_transpose(m, &turned));
    double norm = 0, worst = 0;
    int64_t worst_row = 0, worst_column = 0;
    for (int64_t k = 0; k < m->first[m->columns]; k++)
        norm = fmax(norm, fabs(m->value[k]));
    for (int64_t j = 0; j < m->columns; j++) {
        int64_t a = m->first[j], b = turned.first[j];
        while (a < m->first[j + 1] || b < turned.first[j + 1]) {
            int32_t ra = a < m->first[j + 1] ? m->row[a] : INT32_MAX, rb = b < turned.first[j + 1] ? turned.row[b] : INT32_MAX;
            double va = ra <= rb ? m->value[a] : 0, vb = rb <= ra ? turned.value[b] : 0;
            if (fabs(va - vb) > worst) {
                worst = fabs(va - vb);
                worst_row = ra < rb ? ra : rb;
                worst_column = j;
            }
            if (ra == rb)
                m->value[a] = 0.5 * (va + vb);
            a += ra <= rb;
            b += rb <= ra;
        }
    }
    rp__friction_csc_free(&turned);
    p->asymmetry = norm > 0 ? worst / norm : 0;
    if (!(p->asymmetry <= allowed))
        return rp__base_fail(RP_BAD_ARGUMENT, "matrix M is not symmetric: entries (%lld, %lld) and (%lld, %lld) differ by %g",
                             (long long)worst_row, (long long)worst_column, (long long)worst_column, (long long)worst_row, worst);
    return RP_OK;
}

/* The d columns of H of each contact, side by side, as one list of dofs with d numbers each. */
static rp_result make_h(rp_friction *p)
{
    int d = p->dimension;
    int64_t n = p->contacts, entries = p->hm.first[p->hm.columns], out = 0;
    p->h.first = RP_NEW_ARRAY(int64_t, n + 1);
    p->h.index = RP_NEW_ARRAY(int32_t, entries);
    p->h.value = rp__base_alloc_zero((size_t)entries * (size_t)d * sizeof(double));
    if (!p->h.first || !p->h.index || !p->h.value)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t at[6];
        for (int a = 0; a < d; a++)
            at[a] = p->hm.first[i * d + a];
        p->h.first[i] = out;
        for (;;) { /* merge of d sorted columns */
            int32_t row = INT32_MAX;
            for (int a = 0; a < d; a++)
                if (at[a] < p->hm.first[i * d + a + 1] && p->hm.row[at[a]] < row)
                    row = p->hm.row[at[a]];
            if (row == INT32_MAX)
                break;
            p->h.index[out] = row;
            for (int a = 0; a < d; a++)
                if (at[a] < p->hm.first[i * d + a + 1] && p->hm.row[at[a]] == row)
                    p->h.value[out * d + a] = p->hm.value[at[a]++];
            out++;
        }
    }
    p->h.first[n] = out;
    return RP_OK;
}

typedef struct y_builder {
    double *x;       /* d vectors of dofs, in places; zero between contacts */
    int32_t *stamp;  /* last contact that touched a component, by its first place */
    int64_t index_capacity, value_capacity, out;
} y_builder;

static rp_result add_component(rp_friction *p, y_builder *t, int64_t i, int64_t begin, int64_t end)
{
    int d = p->dimension;
    int64_t n = p->dofs;
    const rp__friction_cholesky *c = &p->cholesky;
    if (!rp__base_grow(&p->y.index, &t->index_capacity, t->out + end - begin, sizeof *p->y.index) ||
        !rp__base_grow(&p->y.value, &t->value_capacity, (t->out + end - begin) * d, sizeof *p->y.value))
        return RP_OUT_OF_MEMORY;
    int64_t start = end;
    for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++) {
        int64_t place = c->position[p->h.index[k]];
        if (place < begin || place >= end)
            continue;
        start = place < start ? place : start;
        for (int a = 0; a < d; a++)
            t->x[a * n + place] = p->h.value[k * d + a];
    }
    for (int a = 0; a < d; a++)
        rp__friction_cholesky_solve(c, begin, end, start, t->x + a * n);
    for (int64_t place = begin; place < end; place++) {
        bool any = false;
        for (int a = 0; a < d; a++)
            any = any || t->x[a * n + place] != 0;
        if (!any)
            continue;
        p->y.index[t->out] = c->dof[place];
        for (int a = 0; a < d; a++) {
            p->y.value[t->out * d + a] = t->x[a * n + place];
            t->x[a * n + place] = 0;
        }
        t->out++;
    }
    return RP_OK;
}

static rp_result fill_y(rp_friction *p, y_builder *t)
{
    const rp__friction_cholesky *c = &p->cholesky;
    for (int64_t i = 0; i < p->dofs; i++)
        t->stamp[i] = -1;
    for (int64_t i = 0; i < p->contacts; i++) {
        p->y.first[i] = t->out;
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++) {
            int64_t place = c->position[p->h.index[k]], begin = c->component[place];
            if (t->stamp[begin] == i)
                continue;
            t->stamp[begin] = (int32_t)i;
            RP_TRY(add_component(p, t, i, begin, c->last[place]));
        }
    }
    p->y.first[p->contacts] = t->out;
    return RP_OK;
}

static rp_result make_y(rp_friction *p)
{
    y_builder t = { .x = rp__base_alloc_zero((size_t)p->dofs * (size_t)p->dimension * sizeof(double)),
                    .stamp = RP_NEW_ARRAY(int32_t, p->dofs) };
    p->y.first = RP_NEW_ARRAY(int64_t, p->contacts + 1);
    rp_result result = t.x && t.stamp && p->y.first ? fill_y(p, &t) : RP_OUT_OF_MEMORY;
    rp__base_free(t.x);
    rp__base_free(t.stamp);
    return result;
}

/* Y by dof, contacts ascending. */
static rp_result make_yt(rp_friction *p)
{
    int d = p->dimension;
    int64_t entries = p->y.first[p->contacts];
    p->yt.first = rp__base_alloc_zero((size_t)(p->dofs + 2) * sizeof(int64_t));
    p->yt.index = RP_NEW_ARRAY(int32_t, entries);
    p->yt.value = rp__base_alloc_array((size_t)entries, (size_t)d * sizeof(double));
    if (!p->yt.first || !p->yt.index || !p->yt.value)
        return RP_OUT_OF_MEMORY;
    int64_t *first = p->yt.first + 1; /* shifted by one while filling */
    for (int64_t k = 0; k < entries; k++)
        first[p->y.index[k] + 1]++;
    for (int64_t j = 0; j < p->dofs; j++)
        first[j + 1] += first[j];
    for (int64_t i = 0; i < p->contacts; i++)
        for (int64_t k = p->y.first[i]; k < p->y.first[i + 1]; k++) {
            int64_t place = first[p->y.index[k]]++;
            p->yt.index[place] = (int32_t)i;
            memcpy(p->yt.value + place * d, p->y.value + k * d, (size_t)d * sizeof(double));
        }
    return RP_OK;
}

/* W_ij = sum over the dofs of contact i of h_i y_jᵀ. Without `block` only counts the blocks of each row into first[]. */
static void form_rows(rp_friction *p, int32_t *slot, int32_t *stamp, double *block, int32_t *column)
{
    int d = p->dimension;
    int64_t out = 0;
    for (int64_t i = 0; i < p->contacts; i++)
        stamp[i] = -1;
    for (int64_t i = 0; i < p->contacts; i++) {
        int64_t begin = out;
        p->first[i] = begin;
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++) {
            int32_t dof = p->h.index[k];
            for (int64_t e = p->yt.first[dof]; e < p->yt.first[dof + 1]; e++) {
                int32_t j = p->yt.index[e];
                if (stamp[j] != i) {
                    stamp[j] = (int32_t)i;
                    slot[j] = (int32_t)(out - begin);
                    if (column)
                        column[out] = j;
                    out++;
                }
                if (!block)
                    continue;
                double *w = block + (begin + slot[j]) * d * d;
                for (int a = 0; a < d; a++)
                    for (int c = 0; c < d; c++)
                        w[a * d + c] += p->h.value[k * d + a] * p->yt.value[e * d + c];
            }
        }
    }
    p->first[p->contacts] = out;
}

static rp_result make_blocks(rp_friction *p)
{
    int d = p->dimension;
    int32_t *slot = RP_NEW_ARRAY(int32_t, p->contacts), *stamp = RP_NEW_ARRAY(int32_t, p->contacts);
    p->first = RP_NEW_ARRAY(int64_t, p->contacts + 1);
    rp_result result = slot && stamp && p->first ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        form_rows(p, slot, stamp, NULL, NULL);
        /* The cost of one visit of every contact: multiplications, the indirect ones weighing more. */
        double by_blocks = (double)p->first[p->contacts] * d * d;
        double by_factors = 1.3 * (double)(p->h.first[p->contacts] + p->y.first[p->contacts]) * d;
        p->kind = by_blocks <= by_factors ? RP__BLOCKS : RP__FACTORED;
    }
    if (result == RP_OK && p->kind == RP__BLOCKS) {
        p->column = RP_NEW_ARRAY(int32_t, p->first[p->contacts]);
        p->block = rp__base_alloc_zero((size_t)p->first[p->contacts] * (size_t)(d * d) * sizeof(double));
        if (p->column && p->block)
            form_rows(p, slot, stamp, p->block, p->column);
        else
            result = RP_OUT_OF_MEMORY;
    }
    rp__base_free(slot);
    rp__base_free(stamp);
    return result;
}

static rp_result make_diagonal(rp_friction *p)
{
    int d = p->dimension;
    p->diagonal = rp__base_alloc_zero((size_t)p->contacts * (size_t)(d * d) * sizeof(double));
    int64_t *where = RP_NEW_ARRAY(int64_t, p->dofs);
    if (!p->diagonal || !where) {
        rp__base_free(where);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < p->contacts; i++) {
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
            where[p->h.index[k]] = -1;
        for (int64_t k = p->y.first[i]; k < p->y.first[i + 1]; k++)
            where[p->y.index[k]] = k;
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++) {
            int64_t e = where[p->h.index[k]];
            for (int a = 0; a < d && e >= 0; a++)
                for (int c = 0; c < d; c++)
                    p->diagonal[(i * d + a) * d + c] += p->h.value[k * d + a] * p->y.value[e * d + c];
        }
    }
    rp__base_free(where);
    return RP_OK;
}

/* b = Hᵀ M⁻¹ f + w */
static rp_result make_b(rp_friction *p)
{
    int d = p->dimension;
    double *v = RP_NEW_ARRAY(double, p->dofs), *zero = rp__base_alloc_zero((size_t)(p->contacts * d) * sizeof(double));
    rp_result result = v && zero ? rp__friction_copy(&p->b, p->w, p->contacts * d) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = rp__friction_velocities(p, zero, v);
    for (int64_t i = 0; i < p->contacts && result == RP_OK; i++)
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
            for (int a = 0; a < d; a++)
                p->b[i * d + a] += p->h.value[k * d + a] * v[p->h.index[k]];
    rp__base_free(v);
    rp__base_free(zero);
    return result;
}

rp_result rp__friction_velocities(const rp_friction *p, const double *r, double *v)
{
    const rp__friction_cholesky *c = &p->cholesky;
    double *x = RP_NEW_ARRAY(double, p->dofs);
    if (!x)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < p->dofs; i++)
        x[c->position[i]] = p->f[i];
    for (int64_t j = 0; j < p->hm.columns; j++)
        for (int64_t k = p->hm.first[j]; k < p->hm.first[j + 1]; k++)
            x[c->position[p->hm.row[k]]] += p->hm.value[k] * r[j];
    rp__friction_cholesky_solve(c, 0, p->dofs, 0, x);
    for (int64_t i = 0; i < p->dofs; i++)
        v[i] = x[c->position[i]];
    rp__base_free(x);
    return RP_OK;
}

static rp_result fill_global(const rp_friction_global_def *def, rp_friction *p)
{
    p->form = RP_FRICTION_GLOBAL;
    p->kind = RP__FACTORED;
    p->dimension = def->dimension;
    p->contacts = def->contacts;
    p->dofs = def->dofs;
    RP_TRY(rp__friction_csc_copy(&def->m, "M", &p->m));
    RP_TRY(rp__friction_csc_copy(&def->h, "H", &p->hm));
    RP_TRY(rp__friction_copy(&p->f, def->f, def->dofs));
    RP_TRY(rp__friction_copy(&p->w, def->w, def->contacts * def->dimension));
    RP_TRY(rp__friction_copy(&p->mu, def->mu, def->contacts));
    RP_TRY(check_symmetry(p, def->asymmetry));
    RP_TRY(rp__friction_cholesky_make(&p->m, &p->cholesky));
    RP_TRY(make_h(p));
    RP_TRY(make_y(p));
    RP_TRY(make_yt(p));
    RP_TRY(make_diagonal(p));
    RP_TRY(make_b(p));
    RP_TRY(rp__friction_finish(p));
    return make_blocks(p);
}

static rp_result check_global(const rp_friction_global_def *def)
{
    RP_TRY(rp__friction_check_vectors(def->dimension, def->contacts, def->w, "w", def->mu));
    if (def->dofs < 0 || def->dofs > INT32_MAX)
        return rp__base_fail(RP_BAD_ARGUMENT, "%lld degrees of freedom: the number must be in 0 .. 2^31 - 1", (long long)def->dofs);
    if (def->m.rows != def->dofs || def->m.columns != def->dofs)
        return rp__base_fail(RP_BAD_ARGUMENT, "matrix M is %lld × %lld: it must be %lld × %lld", (long long)def->m.rows,
                             (long long)def->m.columns, (long long)def->dofs, (long long)def->dofs);
    if (def->h.rows != def->dofs || def->h.columns != def->contacts * def->dimension)
        return rp__base_fail(RP_BAD_ARGUMENT, "matrix H is %lld × %lld: it must be %lld × %lld", (long long)def->h.rows,
                             (long long)def->h.columns, (long long)def->dofs, (long long)(def->contacts * def->dimension));
    if (def->dofs > 0 && !def->f)
        return rp__base_fail(RP_BAD_ARGUMENT, "vector f is missing");
    for (int64_t i = 0; i < def->dofs; i++)
        if (!isfinite(def->f[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "entry %lld of f is not a finite number", (long long)i);
    if (!(def->asymmetry >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "asymmetry %g: it must be 0 or more", def->asymmetry);
    return RP_OK;
}

rp_result rp_friction_create_global(const rp_friction_global_def *def, rp_friction **problem)
{
    if (!def || !problem)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_create_global: the definition or the place of the result is NULL");
    RP_TRY(check_global(def));
    rp_friction *p = RP_NEW(rp_friction);
    if (!p)
        return RP_OUT_OF_MEMORY;
    rp_result result = fill_global(def, p);
    if (result != RP_OK) {
        rp_friction_destroy(p);
        return result;
    }
    *problem = p;
    return RP_OK;
}
