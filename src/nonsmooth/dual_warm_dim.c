/* What is kept from step to step beyond the particles: stresses and impulses, by lattice coordinates. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"
#include "friction/local.h"

#include <string.h>

/* A stress to start from, coefficients of chi without cohesion, into the frame and the cone of dual cell i. */
static void start_from(dual *y, int64_t i, const double *kept, const double *viscous)
{
    du_stress *s = &y->stress[i];
    bool framed = y->law == NS_LAW_ISOTROPIC;
    if (framed)
        ns_chi_to_frame(&y->frame[i], kept, s->lambda);
    else
        ns_wide_from_chi(&y->wide[i], kept, s->lambda);
    if (framed && y->viscous)
        ns_chi_to_frame(&y->frame[i], viscous, s->viscous);
    else if (y->viscous)
        memcpy(s->viscous, viscous, sizeof s->viscous);
    s->lambda[0] += s->cohesion;
    if (y->law == NS_LAW_LINEARISED) {
        ns_box_project(s->mu, s->lambda);
        return;
    }
    double c = s->apex; /* inside the cone shifted by c is near enough to start */
    s->lambda[0] += c;
#if RP_DIM == 3
    rp__friction_project_c6(s->mu, s->lambda);
#else
    rp__friction_project_c3(s->mu, s->lambda);
#endif
    s->lambda[0] -= c;
    s->lambda[0] = s->lambda[0] > 0 ? s->lambda[0] : 0;
}

/* A dual cell that had no stress in the last step and whose grains touch begins with the mean of those around that had one: where a row of particles enters
 * the dual cells at a wall, all of its thrust passes through cells that are new. `kept`: NS_S + 1 a stress, the last of them 1 where there was one. */
static void start_new(dual *y, int64_t i, const double *kept)
{
    enum { WIDTH = NS_S + 1 };
    static const double none[NS_S] = { 0 };
    double mean[NS_S] = { 0 }, count = 0;
    if (!du_in_use(y, i) || kept[i * WIDTH + NS_S] > 0 || y->stress[i].k > 0)
        return;
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (other < 0 || !(kept[other * WIDTH + NS_S] > 0))
            continue;
        count++;
        for (int c = 0; c < NS_S; c++)
            mean[c] += kept[other * WIDTH + c];
    }
    for (int c = 0; c < NS_S && count > 0; c++)
        mean[c] /= count;
    if (count > 0)
        start_from(y, i, mean, none);
}

/* Last step's stresses to the dual cells that are there now. */
void DU(place_warm)(dual *y)
{
    double *kept = y->smooth[0];
    int64_t count = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    if (!y->params->warm_start || y->warm.count == 0)
        return;
    for (int64_t i = 0; i < count; i++)
        kept[i * (NS_S + 1) + NS_S] = 0;
    for (int64_t k = 0; k < y->warm.count; k++) {
        const int32_t *at = y->warm.node[k];
        int64_t i = RP_D(rp__grid_node)(&y->grid, at[0], at[1], at[2]);
        if (!du_in_use(y, i))
            continue;
        memcpy(kept + i * (NS_S + 1), y->warm.stress + NS_S * k, NS_S * sizeof *kept);
        kept[i * (NS_S + 1) + NS_S] = 1;
        start_from(y, i, y->warm.stress + NS_S * k, y->warm.viscous + NS_S * k);
    }
    for (int64_t i = 0; i < count && !y->trilinear; i++)
        start_new(y, i, kept);
}

void DU(place_warm_contacts)(dual *y, double dt)
{
    for (int64_t k = 0; k < y->warm.contact_count && y->params->warm_start; k++) {
        const int32_t *key = y->warm.contact_node[k];
        int64_t i = RP_D(rp__grid_node)(&y->grid, key[0], key[1], key[2]);
        if (i < 0)
            continue;
        int64_t block = i / RP_BLOCK_NODES;
        for (int64_t n = y->contacts.first[block]; n < y->contacts.first[block + 1]; n++) {
            du_contact *c = &y->contacts.list[n];
            if (c->key == i && DU_SIDES * c->surface + c->side == key[3])
                for (int a = 0; a < 3; a++)
                    c->impulse[a] = dt * y->warm.contact[3 * k + a];
        }
    }
}

static rp_result reserve(du_warm *w, int64_t stresses, int64_t contacts)
{
    int64_t a = w->capacity, b = w->capacity, v = w->capacity, c = w->contact_capacity, d = w->contact_capacity;
    if (!rp__base_grow(&w->node, &a, stresses + 1, sizeof *w->node))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->stress, &b, stresses + 1, NS_S * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->viscous, &v, stresses + 1, NS_S * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    w->capacity = a < b ? a : b;
    w->capacity = v < w->capacity ? v : w->capacity;
    if (!rp__base_grow(&w->contact_node, &c, contacts + 1, sizeof *w->contact_node))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->contact, &d, contacts + 1, 3 * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    w->contact_capacity = c < d ? c : d;
    return RP_OK;
}

rp_result DU(keep_warm)(dual *y, double dt)
{
    du_warm *w = &y->warm;
    int64_t count = 0, at[3];
    for (int64_t b = 0; b < y->grid.blocks; b++)
        count += __builtin_popcountll(y->active[b]);
    RP_TRY(reserve(w, count, y->contacts.count));
    w->count = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            double *viscous = w->viscous + NS_S * w->count;
            rp__grid_coordinates(&y->grid, i, at);
            for (int a = 0; a < 3; a++)
                w->node[w->count][a] = (int32_t)at[a];
            memcpy(viscous, y->stress[i].viscous, NS_S * sizeof *viscous);
            if (y->viscous && y->law == NS_LAW_ISOTROPIC)
                ns_frame_to_chi(&y->frame[i], y->stress[i].viscous, viscous);
            du_chi_of(y, i, false, w->stress + NS_S * w->count++);
        }
    w->contact_count = y->contacts.count;
    for (int64_t k = 0; k < y->contacts.count; k++) {
        const du_contact *c = &y->contacts.list[k];
        rp__grid_coordinates(&y->grid, c->key, at);
        for (int a = 0; a < 3; a++)
            w->contact_node[k][a] = (int32_t)at[a];
        w->contact_node[k][3] = DU_SIDES * c->surface + c->side;
        for (int a = 0; a < 3; a++)
            w->contact[3 * k + a] = c->impulse[a] / dt;
    }
    return RP_OK;
}

rp_result DU(save)(const void *state, rp_state *out)
{
    const dual *y = state;
    RP_TRY(rp_state_add(out, "nonsmooth/dual_node", RP_I32, 3 * y->warm.count, y->warm.node));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_stress", RP_F64, NS_S * y->warm.count, y->warm.stress));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_viscous", RP_F64, y->viscous ? NS_S * y->warm.count : 0, y->warm.viscous));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_contact_node", RP_I32, 4 * y->warm.contact_count, y->warm.contact_node));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_contact", RP_F64, 3 * y->warm.contact_count, y->warm.contact));
    RP_TRY(rp_state_add(out, "nonsmooth/born_count", RP_I64, 1, &y->upkeep->born_count));
    RP_TRY(rp_state_add(out, "nonsmooth/settled", RP_I64, 1, &y->upkeep->settled));
    RP_TRY(rp_state_add(out, "nonsmooth/born_volume", RP_F64, 1, &y->upkeep->born_volume));
    return RP_OK;
}

static rp_result find(const rp_state *in, const char *name, rp_type type, int width, const rp_blob **out, int64_t *count)
{
    const rp_blob *b = rp_state_find(in, name);
    if (!b || b->type != type || b->count % width != 0)
        return rp__base_fail(RP_BAD_FILE, "the state has no usable array '%s'; it is not one of `stress: dual`", name);
    *out = b;
    *count = b->count / width;
    return RP_OK;
}

rp_result DU(restore)(void *state, const rp_state *in)
{
    dual *y = state;
    const rp_blob *node, *stress, *viscous = rp_state_find(in, "nonsmooth/dual_viscous"), *contact_node, *contact, *born_count, *born_volume, *settled;
    int64_t nodes, stresses, contact_nodes, contacts, one, other, third;
    RP_TRY(find(in, "nonsmooth/born_count", RP_I64, 1, &born_count, &one));
    RP_TRY(find(in, "nonsmooth/born_volume", RP_F64, 1, &born_volume, &other));
    RP_TRY(find(in, "nonsmooth/settled", RP_I64, 1, &settled, &third));
    RP_TRY(find(in, "nonsmooth/dual_node", RP_I32, 3, &node, &nodes));
    RP_TRY(find(in, "nonsmooth/dual_stress", RP_F64, NS_S, &stress, &stresses));
    RP_TRY(find(in, "nonsmooth/dual_contact_node", RP_I32, 4, &contact_node, &contact_nodes));
    RP_TRY(find(in, "nonsmooth/dual_contact", RP_F64, 3, &contact, &contacts));
    if (nodes != stresses || contact_nodes != contacts || one != 1 || other != 1 || third != 1)
        return rp__base_fail(RP_BAD_FILE, "the state has %lld dual cells with %lld stresses, %lld contacts with %lld impulses; they must agree",
                             (long long)nodes, (long long)stresses, (long long)contact_nodes, (long long)contacts);
    RP_TRY(reserve(&y->warm, nodes, contacts));
    if (nodes) {
        memcpy(y->warm.node, node->data, (size_t)nodes * 3 * sizeof(int32_t));
        memcpy(y->warm.stress, stress->data, (size_t)nodes * NS_S * sizeof(double));
        memset(y->warm.viscous, 0, (size_t)nodes * NS_S * sizeof(double));
        if (viscous && viscous->type == RP_F64 && viscous->count == NS_S * nodes)
            memcpy(y->warm.viscous, viscous->data, (size_t)nodes * NS_S * sizeof(double));
    }
    if (contacts) {
        memcpy(y->warm.contact_node, contact_node->data, (size_t)contacts * 4 * sizeof(int32_t));
        memcpy(y->warm.contact, contact->data, (size_t)contacts * 3 * sizeof(double));
    }
    y->warm.count = nodes, y->warm.contact_count = contacts;
    memcpy(&y->upkeep->born_count, born_count->data, sizeof y->upkeep->born_count);
    memcpy(&y->upkeep->born_volume, born_volume->data, sizeof y->upkeep->born_volume);
    memcpy(&y->upkeep->settled, settled->data, sizeof y->upkeep->settled);
    y->grid.blocks = 0; /* nothing to look at before the next step */
    return RP_OK;
}
