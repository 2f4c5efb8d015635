/* The friction problem of a step as a file that the friction library reads: v = H r + f, u = Hᵀ v + w with the scaled velocities as v.
 *
 * Column (i, k) of H is chi(e_k) h_ij. Then Hᵀ v is twice the strain, which the law does not mind: w is twice the gap. Stresses are in
 * their frames (dimension 6 in 3D, 3 in 2D). Contacts with walls have another dimension: their normal velocities are held at
 * zero in the file; bodies are left out. */
#include "nonsmooth/local.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <repose/friction.h>
#include <stdio.h>
#include <string.h>

typedef struct arrays {
    int32_t *dof, *row;
    int64_t *first, *m_first;
    int32_t *m_row;
    double *value, *m_value, *f, *w, *mu;
} arrays;

static void drop(arrays *a)
{
    void *all[] = { a->dof, a->row, a->first, a->m_first, a->m_row, a->value, a->m_value, a->f, a->w, a->mu };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
}

/* One column for each coefficient of stress i. */
static int64_t add_stress(const ns_system *y, const arrays *a, int64_t block, int l, int64_t contact, int64_t at)
{
    int64_t i = block * RP_BLOCK_NODES + l;
    int base = ns_tile_of_local(l);
    for (int k = 0; k < NS_S; k++) {
        double e[NS_S] = { 0 }, m[RP_DIM * RP_DIM], h[RP_DIM * RP_DIM];
        e[k] = 1;
        ns_frame_tensor(&y->frame[i], e, m);
        ns_rotate_out(y->frame[i].r, m, h);
        a->first[contact * NS_S + k] = at;
        for (int n = 0; n < y->stencil; n++) {
            int64_t j = ns_tile_node(y, block, base + y->offset[n]);
            if (j < 0)
                continue;
            const double *g = y->g + (i * y->stencil + n) * RP_DIM;
            for (int c = 0; c < RP_DIM; c++) {
                int32_t dof = a->dof[RP_DIM * j + c];
                double sum = 0;
                for (int b = 0; b < RP_DIM; b++)
                    sum += h[c * RP_DIM + b] * g[b];
                if (dof < 0 || sum == 0)
                    continue;
                a->row[at] = dof;
                a->value[at++] = sum;
                if (k == 0) /* cohesion pulls from the start */
                    a->f[dof] -= y->stress[i].cohesion * sum;
            }
        }
        a->w[contact * NS_S + k] = k == 0 ? 2 * y->stress[i].k : 0;
    }
    a->mu[contact] = y->stress[i].mu;
    return at;
}

static rp_result write_problem(const ns_system *y, arrays *a, int64_t contacts, const char *path)
{
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES, dofs = 0, at = 0, contact = 0;
    for (int64_t j = 0; j < nodes; j++)
        for (int c = 0; c < RP_DIM; c++) {
            bool free_dof = y->scale[j] > 0 && !y->stick[j] && !(y->hold[j] >> c & 1);
            a->dof[RP_DIM * j + c] = free_dof ? (int32_t)dofs : -1;
            if (free_dof)
                a->f[dofs++] = ns_velocity(y, j)[c] / y->scale[j];
        }
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1)
            at = add_stress(y, a, b, __builtin_ctzll(bits), contact++, at);
    a->first[contacts * NS_S] = at;
    for (int64_t k = 0; k <= dofs; k++)
        a->m_first[k] = k;
    for (int64_t k = 0; k < dofs; k++)
        a->m_row[k] = (int32_t)k, a->m_value[k] = 1;
    rp_friction_global_def def = rp_default_friction_global_def();
    def.dimension = NS_S;
    def.contacts = contacts;
    def.dofs = dofs;
    def.m = (rp_friction_matrix){ dofs, dofs, a->m_first, a->m_row, a->m_value };
    def.h = (rp_friction_matrix){ dofs, contacts * NS_S, a->first, a->row, a->value };
    def.f = a->f, def.w = a->w, def.mu = a->mu;
    rp_friction *problem = NULL;
    RP_TRY(rp_friction_create_global(&def, &problem));
    rp_result result = rp_friction_write(problem, path, NULL, NULL);
    rp_friction_destroy(problem);
    return result;
}

rp_result NS(dump_problem)(const ns_system *y)
{
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES, contacts = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        contacts += __builtin_popcountll(y->active[b]);
    if (contacts == 0)
        return RP_OK;
    const char *folder = y->params->dump_folder && *y->params->dump_folder ? y->params->dump_folder : "problems";
    char name[64];
    snprintf(name, sizeof name, "problem-%06lld.hdf5", (long long)y->steps);
    RP_TRY(rp__file_make_folder(folder));
    char *path = rp__file_join(folder, name);
    int64_t entries = contacts * NS_S * y->stencil * RP_DIM;
    arrays a = { .dof = RP_NEW_ARRAY(int32_t, nodes * RP_DIM), .row = RP_NEW_ARRAY(int32_t, entries),
                 .first = RP_NEW_ARRAY(int64_t, contacts * NS_S + 1), .m_first = RP_NEW_ARRAY(int64_t, nodes * RP_DIM + 1),
                 .m_row = RP_NEW_ARRAY(int32_t, nodes * RP_DIM), .value = RP_NEW_ARRAY(double, entries),
                 .m_value = RP_NEW_ARRAY(double, nodes * RP_DIM), .f = RP_NEW_ARRAY(double, nodes * RP_DIM),
                 .w = RP_NEW_ARRAY(double, contacts * NS_S), .mu = RP_NEW_ARRAY(double, contacts) };
    rp_result result = RP_OUT_OF_MEMORY;
    if (path && a.dof && a.row && a.first && a.m_first && a.m_row && a.value && a.m_value && a.f && a.w && a.mu)
        result = write_problem(y, &a, contacts, path);
    drop(&a);
    rp__base_free(path);
    return result;
}
