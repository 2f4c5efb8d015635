/* Blocks to lanes and back: groups of blocks of a colour, the packed dual cells of each, the tile of velocities that a group works on. */
#include "nonsmooth/dual.h"

#include "base/memory.h"
#include "exec/exec.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

/* ---- groups ---- */

static int compare_members(const void *a, const void *b)
{
    const du_member *x = a, *y = b;
    int many = __builtin_popcountll(y->active) - __builtin_popcountll(x->active);
    if (many)
        return many;
    if (x->active != y->active)
        return x->active < y->active ? -1 : 1;
    if (x->full != y->full)
        return x->full < y->full ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static uint64_t full_cells(const dual *y, int64_t block)
{
    uint64_t full = 0;
    for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
        int l = __builtin_ctzll(bits);
        full |= (uint64_t)(y->stress[block * RP_BLOCK_NODES + l].constant > 0) << l;
    }
    return full;
}

/* Blocks of a colour that have something to do, DU_LANES a group. */
static void make_groups(dual *y)
{
    du_lanes *p = &y->lanes;
    p->groups = p->slots = 0;
    for (int c = 0; c < y->grid.colours; c++) {
        int64_t count = 0;
        p->colour_first[c] = p->groups;
        for (int64_t i = y->grid.colour_first[c]; i < y->grid.colour_first[c + 1]; i++) {
            int64_t b = y->grid.colour_items[i];
            if (y->active[b] || y->contacts.first[b] < y->contacts.first[b + 1])
                p->member[count++] = (du_member){ y->active[b], full_cells(y, b), b };
        }
        qsort(p->member, (size_t)count, sizeof *p->member, compare_members);
        for (int64_t i = 0; i < count; i += DU_LANES)
            for (int l = 0; l < DU_LANES; l++)
                p->group[p->groups + i / DU_LANES].block[l] = i + l < count ? p->member[i + l].block : -1;
        p->groups += (count + DU_LANES - 1) / DU_LANES;
    }
    p->colour_first[y->grid.colours] = p->groups;
    for (int64_t k = 0; k < p->groups; k++) {
        uint64_t places = 0;
        for (int l = 0; l < DU_LANES; l++)
            places |= p->group[k].block[l] < 0 ? 0 : y->active[p->group[k].block[l]];
        p->group[k].slot = p->slots;
        p->group[k].slots = __builtin_popcountll(places);
        p->slots += p->group[k].slots;
    }
}

/* ---- dual cells ---- */

static int64_t cell_of(const dual *y, const du_group *group, const du_slot *s, int lane)
{
    int64_t block = group->block[lane];
    return block >= 0 && (y->active[block] >> s->local & 1) ? block * RP_BLOCK_NODES + s->local : -1;
}

/* The places of a group, and which of them need an operator of their own. */
static void place_slots(dual *y, const du_group *group)
{
    du_lanes *p = &y->lanes;
    uint64_t places = 0;
    for (int l = 0; l < DU_LANES; l++)
        places |= group->block[l] < 0 ? 0 : y->active[group->block[l]];
    for (int64_t k = group->slot; places; places &= places - 1, k++) {
        du_slot *s = &p->slot[k];
        bool full = true;
        s->local = __builtin_ctzll(places);
        for (int l = 0; l < DU_LANES; l++) {
            int64_t i = cell_of(y, group, s, l);
            full = full && (i < 0 || y->stress[i].constant > 0);
        }
        s->g = full ? -1 : p->g_count;
        p->g_count += full ? 0 : NS_STENCIL * RP_DIM;
    }
}

static void fill_viscous(du_viscous *v, int l, const du_stress *from)
{
    v->ratio[l] = from->ratio;
    for (int k = 0; k < NS_S; k++)
        v->stress[k][l] = v->previous[k][l] = from->viscous[k];
}

/* Returns W_NN. */
static double fill_wide(const dual *y, du_wide *w, int l, int64_t i)
{
    for (int k = 0; k < NS_T * NS_T; k++)
        w->e[k][l] = i < 0 ? k % (NS_T + 1) == 0 : y->wide[i].e[k];
    for (int k = 0; k < NS_T; k++) {
        w->s[k][l] = i < 0 ? 1 : y->wide[i].s[k];
        w->a[k][l] = i < 0 ? 0 : y->wide[i].a[k];
    }
    for (int k = 0; k < NS_S * NS_S; k++) {
        double unit = k % (NS_S + 1) == 0;
        w->full[k][l] = y->law != NS_LAW_LINEARISED || i < 0 ? unit : y->full[i * (NS_S * NS_S) + k];
        w->plain[k][l] = !y->viscous || i < 0 ? unit : y->plain[i * (NS_S * NS_S) + k];
    }
    return i < 0 ? 1 : y->wide[i].nn;
}

static void fill_lane(dual *y, du_slot *s, int l, int64_t i)
{
    static const du_stress no_stress = { .k = 1, .volume = 1 };
    static const ns_frame no_frame = { .nn = 1, .s = { 1, 1 } };
    const du_stress *from = i < 0 ? &no_stress : &y->stress[i];
    const ns_frame *f = i < 0 ? &no_frame : &y->frame[i];
    for (int k = 0; k < NS_S; k++)
        s->lambda[k][l] = from->lambda[k], s->previous[k][l] = from->lambda[k];
    for (int k = 0; k < RP_DIM * RP_DIM; k++)
        s->r[k][l] = f->r[k];
    for (int k = 0; k < NS_T; k++)
        s->s[k][l] = i < 0 ? 1 : f->s[k];
    for (int k = 0; k < RP_DIM - 1; k++)
        s->a[k][l] = f->a[k];
    s->nn[l] = f->nn;
#if RP_DIM == 3
    s->cs[l] = f->cs, s->sn[l] = f->sn;
#endif
    s->root[l] = f->alpha;
    s->k[l] = from->k, s->mu[l] = from->mu, s->apex[l] = from->apex;
    s->weight[l] = from->weight, s->strict[l] = from->strict, s->thin[l] = 1 / from->volume;
    s->factor[l] = from->constant;
    if (y->viscous)
        fill_viscous(&y->lanes.viscous[s - y->lanes.slot], l, from);
    if (y->law != NS_LAW_ISOTROPIC)
        s->nn[l] = fill_wide(y, &y->lanes.wide[s - y->lanes.slot], l, i);
    if (s->g < 0)
        return;
    double factor = 0;
    const double *g = i < 0 ? y->constant : du_operator(y, i, &factor);
    for (int k = 0; k < NS_STENCIL * RP_DIM; k++)
        y->lanes.g[s->g + k][l] = factor * g[k];
}

static void fill_groups(void *context, int64_t begin, int64_t end, int worker)
{
    dual *y = context;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        const du_group *group = &y->lanes.group[n];
        for (int64_t k = group->slot; k < group->slot + group->slots; k++)
            for (int l = 0; l < DU_LANES; l++)
                fill_lane(y, &y->lanes.slot[k], l, cell_of(y, group, &y->lanes.slot[k], l));
    }
}

rp_result DU(to_lanes)(dual *y)
{
    du_lanes *p = &y->lanes;
    if (!rp__base_grow(&p->group, &p->group_capacity, y->grid.blocks + 1, sizeof *p->group) ||
        !rp__base_grow(&p->member, &p->member_capacity, y->grid.blocks + 1, sizeof *p->member))
        return RP_OUT_OF_MEMORY;
    make_groups(y);
    int64_t kept = (y->viscous ? 2 : 1) * p->slots * DU_LANES * NS_S + 1;
    if (!rp__base_grow(&p->slot, &p->slot_capacity, p->slots + 1, sizeof *p->slot) ||
        !rp__base_grow(&y->best.lambda, &y->best.capacity, kept, sizeof *y->best.lambda))
        return RP_OUT_OF_MEMORY;
    if (y->viscous && !rp__base_grow(&p->viscous, &p->viscous_capacity, p->slots + 1, sizeof *p->viscous))
        return RP_OUT_OF_MEMORY;
    if (y->law != NS_LAW_ISOTROPIC && !rp__base_grow(&p->wide, &p->wide_capacity, p->slots + 1, sizeof *p->wide))
        return RP_OUT_OF_MEMORY;
    p->g_count = 0;
    for (int64_t n = 0; n < p->groups; n++)
        place_slots(y, &p->group[n]);
    if (!rp__base_grow(&p->g, &p->g_capacity, p->g_count + 1, sizeof *p->g))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(p->groups, 4, fill_groups, y);
    return RP_OK;
}

void DU(from_lanes)(dual *y)
{
    for (int64_t n = 0; n < y->lanes.groups; n++) {
        const du_group *group = &y->lanes.group[n];
        for (int64_t q = group->slot; q < group->slot + group->slots; q++)
            for (int l = 0; l < DU_LANES; l++) {
                const du_slot *s = &y->lanes.slot[q];
                int64_t i = cell_of(y, group, s, l);
                for (int k = 0; i >= 0 && k < NS_S; k++)
                    y->stress[i].lambda[k] = s->lambda[k][l];
                for (int k = 0; i >= 0 && y->viscous && k < NS_S; k++)
                    y->stress[i].viscous[k] = y->lanes.viscous[q].stress[k][l];
            }
    }
}

double DU(mean_pressure)(const dual *y, double *drift)
{
    double sum = 0, weights = 0, change = 0;
    for (int64_t n = 0; n < y->lanes.groups; n++) {
        const du_group *group = &y->lanes.group[n];
        double part[DU_LANES] = { 0 };
        for (int64_t q = group->slot; q < group->slot + group->slots; q++)
            for (int l = 0; l < DU_LANES; l++) {
                const du_slot *s = &y->lanes.slot[q];
                int64_t i = cell_of(y, group, s, l);
                double pressure = i < 0 ? 0 : s->lambda[0][l] - y->stress[i].cohesion;
                part[l] += pressure > 0 ? s->weight[l] * pressure : 0;
                weights += i < 0 ? 0 : s->weight[l];
            }
        for (int l = 0; l < DU_LANES && group->block[l] >= 0; l++) {
            double *before = &y->pressed[group->block[l]];
            sum += part[l];
            change += fabs(part[l] - *before);
            *before = part[l];
        }
    }
    *drift = sum > 0 ? change / sum : 0;
    return weights > 0 ? sum / weights : 0;
}

void DU(keep_lanes)(dual *y, double *lambda, bool keep)
{
    for (int64_t q = 0; q < y->lanes.slots; q++) {
        double *now = (double *)y->lanes.slot[q].lambda, *kept = lambda + q * DU_LANES * NS_S;
        memcpy(keep ? kept : now, keep ? now : kept, DU_LANES * NS_S * sizeof *now);
    }
    lambda += y->lanes.slots * DU_LANES * NS_S;
    for (int64_t q = 0; q < y->lanes.slots && y->viscous; q++) {
        double *now = (double *)y->lanes.viscous[q].stress, *kept = lambda + q * DU_LANES * NS_S;
        memcpy(keep ? kept : now, keep ? now : kept, DU_LANES * NS_S * sizeof *now);
    }
}

/* ---- tiles ---- */

/* Four velocities of four numbers, turned from a velocity a row to a number a row. */
NS_INLINE void transpose(ns_four *v)
{
    ns_four a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6), b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
    ns_four c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6), d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
    v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* A row of the tile lies in two blocks: RP_BLOCK nodes of one, DU_SIDE - RP_BLOCK of the next, each one after the other in memory. */
static int run_length(int t)
{
    return t % DU_SIDE == 0 ? RP_BLOCK : DU_SIDE - RP_BLOCK;
}

/* Velocities of the run that begins at t, for one block; `none` where there is no block. */
static ns_four *run_at(const dual *y, int64_t block, int t, ns_four *none)
{
    int64_t b = block < 0 ? -1 : y->grid.neighbour[block][y->tile_neighbour[t]];
    return b < 0 ? none : (ns_four *)(y->nodes.u + NS_PAD * (b * RP_BLOCK_NODES + y->tile_local[t]));
}

void DU(load_tile)(const dual *y, const du_group *group, du_tile *tile)
{
    ns_four none[RP_BLOCK] = { { 0 } };
    for (int first = 0, length; first < DU_TILE; first += length) {
        length = run_length(first);
        for (int part = 0; part < DU_LANES; part += 4) {
            const ns_four *from[4];
            for (int l = 0; l < 4; l++)
                from[l] = run_at(y, group->block[part + l], first, none);
            for (int x = 0; x < length; x++) {
                ns_four v[4] = { from[0][x], from[1][x], from[2][x], from[3][x] };
                transpose(v);
                for (int a = 0; a < RP_DIM; a++)
                    *(ns_four *)((double *)&tile->u[first + x][a] + part) = v[a];
                *(ns_four *)((double *)&tile->push[first + x] + part) = v[3];
            }
        }
    }
}

void DU(store_tile)(const dual *y, const du_group *group, const du_tile *tile)
{
    ns_four none[RP_BLOCK];
    for (int first = 0, length; first < DU_TILE; first += length) {
        length = run_length(first);
        if (y->tile_same[first] != first)
            continue;
        for (int part = 0; part < DU_LANES; part += 4) {
            ns_four *to[4];
            for (int l = 0; l < 4; l++)
                to[l] = run_at(y, group->block[part + l], first, none);
            for (int x = 0; x < length; x++) {
                ns_four v[4] = { { 0 } };
                for (int a = 0; a < RP_DIM; a++)
                    v[a] = *(const ns_four *)((const double *)&tile->u[first + x][a] + part);
                v[3] = *(const ns_four *)((const double *)&tile->push[first + x] + part);
                transpose(v);
                for (int l = 0; l < 4; l++)
                    to[l][x] = v[l];
            }
        }
    }
}
