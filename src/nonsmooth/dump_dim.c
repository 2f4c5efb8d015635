/* The friction problem of a step as a file that the friction library reads (see problem.h for what it holds). */
#include "nonsmooth/problem.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <repose/friction.h>
#include <stdio.h>
#include <string.h>

typedef struct arrays {
    int32_t *number, *row, *m_row; /* number: of a velocity in the file, -1 when nothing moves it */
    int64_t *first, *m_first;
    double *value, *m_value, *f;
} arrays;

static void drop(arrays *a)
{
    void *all[] = { a->number, a->row, a->first, a->m_first, a->m_row, a->value, a->m_value, a->f };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
}

/* Numbers the velocities that some contact moves; returns how many, and the entries of H. */
static int64_t number_velocities(const ns_problem *p, int32_t *number, int64_t *entries)
{
    ns_column c;
    int64_t count = 0;
    *entries = 0;
    for (int64_t k = 0; k < p->size; k++)
        number[k] = -1;
    for (int64_t i = 0; i < p->contacts; i++) {
        NS(problem_column)(p, i, &c);
        for (int n = 0; n < c.count; n++) {
            number[c.at[n]] = 0;
            for (int k = 0; k < NS_S; k++)
                *entries += c.h[n][k] != 0;
        }
    }
    for (int64_t k = 0; k < p->size; k++)
        if (number[k] == 0)
            number[k] = (int32_t)count++;
    return count;
}

static void fill(const ns_problem *p, const arrays *a, int64_t dofs)
{
    ns_column c;
    int64_t at = 0;
    for (int64_t i = 0; i < p->contacts; i++) {
        NS(problem_column)(p, i, &c);
        for (int k = 0; k < NS_S; k++) {
            a->first[i * NS_S + k] = at;
            for (int n = 0; n < c.count; n++) {
                if (c.h[n][k] == 0)
                    continue;
                a->row[at] = a->number[c.at[n]];
                a->value[at++] = c.h[n][k];
            }
        }
    }
    a->first[p->contacts * NS_S] = at;
    for (int64_t k = 0; k < p->size; k++)
        if (a->number[k] >= 0)
            a->f[a->number[k]] = p->f[k];
    for (int64_t k = 0; k <= dofs; k++)
        a->m_first[k] = k;
    for (int64_t k = 0; k < dofs; k++)
        a->m_row[k] = (int32_t)k, a->m_value[k] = 1;
}

/* With the answer of the step, and what the library says of it. */
static rp_result write_file(const ns_problem *p, const arrays *a, int64_t dofs, const char *path, double *residual)
{
    rp_friction_global_def def = rp_default_friction_global_def();
    def.dimension = NS_S;
    def.contacts = p->contacts;
    def.dofs = dofs;
    def.m = (rp_friction_matrix){ dofs, dofs, a->m_first, a->m_row, a->m_value };
    def.h = (rp_friction_matrix){ dofs, p->contacts * NS_S, a->first, a->row, a->value };
    def.f = a->f, def.w = p->w, def.mu = p->mu;
    rp_friction *problem = NULL;
    rp_friction_residual found = { 0 };
    double *u = RP_NEW_ARRAY(double, p->contacts *NS_S + 1);
    if (!u)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp_friction_create_global(&def, &problem);
    if (result == RP_OK)
        result = rp_friction_evaluate(problem, p->r, u, &found);
    if (result == RP_OK)
        result = rp_friction_write(problem, path, p->r, u);
    rp_friction_destroy(problem);
    rp__base_free(u);
    *residual = found.mean;
    return result;
}

static rp_result write_problem(const ns_problem *p, const char *path, double *residual)
{
    int64_t entries = 0;
    arrays a = { .number = RP_NEW_ARRAY(int32_t, p->size + 1) };
    if (!a.number)
        return RP_OUT_OF_MEMORY;
    int64_t dofs = number_velocities(p, a.number, &entries);
    a.row = RP_NEW_ARRAY(int32_t, entries + 1), a.value = RP_NEW_ARRAY(double, entries + 1);
    a.first = RP_NEW_ARRAY(int64_t, p->contacts * NS_S + 1), a.f = RP_NEW_ARRAY(double, dofs + 1);
    a.m_first = RP_NEW_ARRAY(int64_t, dofs + 1), a.m_row = RP_NEW_ARRAY(int32_t, dofs + 1), a.m_value = RP_NEW_ARRAY(double, dofs + 1);
    rp_result result = RP_OUT_OF_MEMORY;
    if (a.row && a.value && a.first && a.f && a.m_first && a.m_row && a.m_value) {
        fill(p, &a, dofs);
        result = write_file(p, &a, dofs, path, residual);
    }
    drop(&a);
    return result;
}

rp_result NS(dump_problem)(const dual *y, const rp__world *world, double dt, double *residual)
{
    *residual = 0;
    ns_problem p;
    RP_TRY(NS(problem_make)(y, world, dt, &p));
    rp_result result = RP_OK;
    if (p.contacts > 0) {
        char *path = NULL;
        result = rp__sim_dump_path(world, y->params->dump_folder, world->step, &path); /* steps of the run: goes on after a resume */
        if (result == RP_OK)
            result = write_problem(&p, path, residual);
        rp__base_free(path);
    }
    NS(problem_free)(&p);
    return result;
}
