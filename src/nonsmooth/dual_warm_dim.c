/* What is kept from step to step beyond the particles: stresses and impulses, at the places to which the grains have carried them. So a bed that rides on a
 * floor, however fast, begins each step with its own stresses and not with those of the grains that were there before. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"
#include "friction/local.h"

#include <math.h>
#include <string.h>

/* A stress to start from, coefficients of chi without cohesion, into the frame and the cone of dual cell i. */
void DU(start_from)(dual *y, int64_t i, const double *kept, const double *viscous)
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
 * the dual cells at a wall, all of its thrust passes through cells that are new. `kept`: 2 NS_S + 1 a stress, the last of
 * them above zero where there was one. */
static void start_new(dual *y, int64_t i, const double *kept)
{
    enum { WIDTH = 2 * NS_S + 1 };
    static const double none[NS_S] = { 0 };
    double mean[NS_S] = { 0 }, count = 0;
    if (!du_in_use(y, i) || kept[i * WIDTH + 2 * NS_S] > 0 || y->stress[i].k > 0)
        return;
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (other < 0 || !(kept[other * WIDTH + 2 * NS_S] > 0))
            continue;
        count++;
        for (int c = 0; c < NS_S; c++)
            mean[c] += kept[other * WIDTH + c];
    }
    for (int c = 0; c < NS_S && count > 0; c++)
        mean[c] /= count;
    if (count > 0)
        DU(start_from)(y, i, mean, none);
}

/* The cell of the lattice at or below a place in cells, and how far beyond it the place lies; false where it cannot be a cell. */
static bool below(const double *place, int64_t *low, double *beyond)
{
    for (int a = 0; a < 3; a++) {
        if (!(fabs(place[a]) < INT32_MAX / 2))
            return false;
        low[a] = (int64_t)floor(place[a]);
        beyond[a] = place[a] - (double)low[a];
    }
    return true;
}

/* A stress goes to the dual cells that its own one, carried along, lies on, with the parts of it that lie there as weights. */
static void spread(dual *y, int64_t k, double *kept)
{
    enum { WIDTH = 2 * NS_S + 1 };
    const double *stress = y->warm.stress + NS_S * k, *viscous = y->warm.viscous + NS_S * k;
    int64_t low[3];
    double beyond[3];
    if (!below(y->warm.place + 3 * k, low, beyond))
        return;
    for (int n = 0; n < 1 << RP_DIM; n++) {
        int64_t at[3] = { low[0], low[1], low[2] };
        double part = 1;
        for (int a = 0; a < RP_DIM; a++) {
            at[a] += n >> a & 1;
            part *= n >> a & 1 ? beyond[a] : 1 - beyond[a];
        }
        int64_t i = part > 0 ? RP_D(rp__grid_node)(&y->grid, at[0], at[1], at[2]) : -1;
        if (!du_in_use(y, i))
            continue;
        double *to = kept + i * WIDTH;
        for (int c = 0; c < NS_S; c++) {
            to[c] += part * stress[c];
            to[NS_S + c] += part * viscous[c];
        }
        to[2 * NS_S] += part;
    }
}

/* Last step's stresses to the dual cells that are there now. */
void DU(place_warm)(dual *y)
{
    enum { WIDTH = 2 * NS_S + 1 };
    double *kept = y->kept;
    int64_t count = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    if (!y->params->warm_start || y->warm.count == 0)
        return;
    memset(kept, 0, (size_t)(count * WIDTH) * sizeof *kept);
    for (int64_t k = 0; k < y->warm.count; k++)
        spread(y, k, kept);
    for (int64_t i = 0; i < count; i++) {
        double *of = kept + i * WIDTH;
        if (of[2 * NS_S] < 0.5 && du_in_use(y, i) && y->stress[i].k > 0) /* mostly new, and its grains do not touch */
            of[2 * NS_S] = 0;
        if (!(of[2 * NS_S] > 0))
            continue;
        for (int c = 0; c < 2 * NS_S; c++)
            of[c] /= of[2 * NS_S];
        DU(start_from)(y, i, of, of + NS_S);
    }
    for (int64_t i = 0; i < count && !y->trilinear; i++)
        start_new(y, i, kept);
}

static bool is_tie(const du_contact *c)
{
    return c->surface >= DU_TIE;
}

/* Where a contact is, in cells: a tie at its key; others where the law acts, so that they lie within half a cell of theirs. */
static void place_of(const dual *y, const du_contact *c, double *place)
{
    int64_t at[3];
    rp__grid_coordinates(&y->grid, c->key, at);
    for (int a = 0; a < 3; a++)
        place[a] = is_tie(c) || a >= RP_DIM ? (double)at[a] : rp__lattice_coordinate(&y->lattice, a, c->place[a]) - 1;
}

/* The impulse of a contact is that of the one before it which the grains have carried nearest to its place, and which lies within half a cell on every axis:
 * in a row of contacts one cell apart that is one of them. Places in cells, normals as they are: sides of a body that meet at an edge are told apart. */
static void start_contact(dual *y, du_contact *c, double *nearest, int64_t k, double dt)
{
    const du_warm *w = &y->warm;
    const double *then = w->contact_place + 6 * k;
    double now[3], distance = 0;
    if (c->surface != w->contact_side[k][0] || (is_tie(c) && c->side != w->contact_side[k][1]))
        return;
    place_of(y, c, now);
    for (int a = 0; a < RP_DIM; a++) {
        double way = now[a] - then[a];
        if (y->lattice.periodic[a])
            way -= (double)y->lattice.cells[a] * round(way / (double)y->lattice.cells[a]);
        if (!(fabs(way) <= 0.5))
            return;
        double turned = c->normal[a] - then[3 + a];
        distance += way * way + turned * turned;
    }
    if (!(distance < *nearest))
        return;
    *nearest = distance;
    for (int a = 0; a < 3; a++)
        c->impulse[a] = dt * w->contact[3 * k + a];
}

void DU(place_warm_contacts)(dual *y, double dt)
{
    du_warm *w = &y->warm;
    if (!y->params->warm_start)
        return;
    for (int64_t n = 0; n < y->contacts.count; n++)
        w->nearest[n] = INFINITY;
    for (int64_t k = 0; k < w->contact_count; k++) {
        int64_t low[3];
        double beyond[3];
        if (!below(w->contact_place + 6 * k, low, beyond))
            continue;
        for (int m = 0; m < NS_STENCIL; m++) { /* keys within a cell of it */
            int64_t i = RP_D(rp__grid_node)(&y->grid, low[0] + (beyond[0] > 0.5) + m % 3 - 1, low[1] + (beyond[1] > 0.5) + m / 3 % 3 - 1,
                                            RP_DIM == 3 ? low[2] + (beyond[2] > 0.5) + m / 9 - 1 : 0);
            if (i < 0)
                continue;
            int64_t block = i / RP_BLOCK_NODES;
            for (int64_t n = y->contacts.first[block]; n < y->contacts.first[block + 1]; n++)
                if (y->contacts.list[n].key == i)
                    start_contact(y, &y->contacts.list[n], &w->nearest[n], k, dt);
        }
    }
}

static rp_result reserve(du_warm *w, int64_t stresses, int64_t contacts)
{
    int64_t a = w->capacity, b = w->capacity, v = w->capacity, c = w->contact_capacity, d = w->contact_capacity, e = w->contact_capacity;
    if (!rp__base_grow(&w->place, &a, stresses + 1, 3 * sizeof *w->place))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->stress, &b, stresses + 1, NS_S * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->viscous, &v, stresses + 1, NS_S * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    w->capacity = a < b ? a : b;
    w->capacity = v < w->capacity ? v : w->capacity;
    if (!rp__base_grow(&w->contact_place, &c, contacts + 1, 6 * sizeof *w->contact_place))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->contact_side, &d, contacts + 1, sizeof *w->contact_side))
        return RP_OUT_OF_MEMORY;
    if (!rp__base_grow(&w->contact, &e, contacts + 1, 3 * sizeof(double)))
        return RP_OUT_OF_MEMORY;
    w->contact_capacity = c < d ? c : d;
    w->contact_capacity = e < w->contact_capacity ? e : w->contact_capacity;
    return RP_OK;
}

rp_result DU(reserve_warm_contacts)(dual *y)
{
    bool grown = rp__base_grow(&y->warm.nearest, &y->warm.nearest_capacity, y->contacts.count + 1, sizeof *y->warm.nearest);
    return grown ? RP_OK : RP_OUT_OF_MEMORY;
}

/* The way in cells that the grains of a dual cell go in the step: by the velocities of its nodes, with their masses as weights, so that nodes which nobody
 * reaches say nothing. `stress: node` leaves stresses where they are. */
static void carried(const dual *y, int64_t i, double dt, double *way)
{
    static const double n[3] = { 0.125, 0.75, 0.125 };
    int64_t block = i / RP_BLOCK_NODES;
    int base = du_tile_base((int)(i % RP_BLOCK_NODES));
    double mass = 0;
    way[0] = way[1] = way[2] = 0;
    for (int j = 0; j < NS_STENCIL && !y->trilinear; j++) {
        int64_t node = du_tile_node(y, block, base + y->offset[j]);
        double m = node < 0 ? 0 : n[j % 3] * n[j / 3 % 3] * (RP_DIM == 3 ? n[j / 9] : 1) * y->nodes.mass[node];
        mass += m;
        for (int a = 0; a < RP_DIM && m > 0; a++)
            way[a] += m * y->nodes.after[a][node];
    }
    for (int a = 0; a < RP_DIM && mass > 0; a++)
        way[a] *= dt / (mass * y->lattice.h);
}

rp_result DU(keep_warm)(dual *y, double dt)
{
    du_warm *w = &y->warm;
    int64_t count = 0, at[3];
    double way[3];
    for (int64_t b = 0; b < y->grid.blocks; b++)
        count += __builtin_popcountll(y->active[b]);
    RP_TRY(reserve(w, count, y->contacts.count));
    w->count = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            double *viscous = w->viscous + NS_S * w->count;
            rp__grid_coordinates(&y->grid, i, at);
            carried(y, i, dt, way);
            for (int a = 0; a < 3; a++)
                w->place[3 * w->count + a] = (double)at[a] + way[a];
            memcpy(viscous, y->stress[i].viscous, NS_S * sizeof *viscous);
            if (y->viscous && y->law == NS_LAW_ISOTROPIC)
                ns_frame_to_chi(&y->frame[i], y->stress[i].viscous, viscous);
            du_chi_of(y, i, false, w->stress + NS_S * w->count++);
        }
    w->contact_count = y->contacts.count;
    for (int64_t k = 0; k < y->contacts.count; k++) {
        const du_contact *c = &y->contacts.list[k];
        double *place = w->contact_place + 6 * k;
        place_of(y, c, place);
        carried(y, c->key, dt, way);
        for (int a = 0; a < 3; a++) {
            place[a] += way[a];
            place[3 + a] = c->normal[a];
            w->contact[3 * k + a] = c->impulse[a] / dt;
        }
        w->contact_side[k][0] = c->surface;
        w->contact_side[k][1] = c->side;
    }
    return RP_OK;
}

rp_result DU(save)(const void *state, rp_state *out)
{
    const dual *y = state;
    RP_TRY(rp_state_add(out, "nonsmooth/dual_place", RP_F64, 3 * y->warm.count, y->warm.place));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_stress", RP_F64, NS_S * y->warm.count, y->warm.stress));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_viscous", RP_F64, y->viscous ? NS_S * y->warm.count : 0, y->warm.viscous));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_contact_place", RP_F64, 6 * y->warm.contact_count, y->warm.contact_place));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_contact_side", RP_I32, 2 * y->warm.contact_count, y->warm.contact_side));
    RP_TRY(rp_state_add(out, "nonsmooth/dual_contact", RP_F64, 3 * y->warm.contact_count, y->warm.contact));
    RP_TRY(rp_state_add(out, "nonsmooth/born_count", RP_I64, 1, &y->upkeep->born_count));
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
    const rp_blob *place, *stress, *viscous = rp_state_find(in, "nonsmooth/dual_viscous"), *contact_place, *side, *contact, *born_count, *born_volume;
    int64_t places, stresses, contact_places, sides, contacts, one, other;
    RP_TRY(find(in, "nonsmooth/born_count", RP_I64, 1, &born_count, &one));
    RP_TRY(find(in, "nonsmooth/born_volume", RP_F64, 1, &born_volume, &other));
    RP_TRY(find(in, "nonsmooth/dual_place", RP_F64, 3, &place, &places));
    RP_TRY(find(in, "nonsmooth/dual_stress", RP_F64, NS_S, &stress, &stresses));
    RP_TRY(find(in, "nonsmooth/dual_contact_place", RP_F64, 6, &contact_place, &contact_places));
    RP_TRY(find(in, "nonsmooth/dual_contact_side", RP_I32, 2, &side, &sides));
    RP_TRY(find(in, "nonsmooth/dual_contact", RP_F64, 3, &contact, &contacts));
    if (places != stresses || contact_places != contacts || sides != contacts || one != 1 || other != 1)
        return rp__base_fail(RP_BAD_FILE, "the state has %lld dual cells with %lld stresses, %lld contacts with %lld impulses; they must agree",
                             (long long)places, (long long)stresses, (long long)contact_places, (long long)contacts);
    RP_TRY(reserve(&y->warm, places, contacts));
    if (places) {
        memcpy(y->warm.place, place->data, (size_t)places * 3 * sizeof(double));
        memcpy(y->warm.stress, stress->data, (size_t)places * NS_S * sizeof(double));
        memset(y->warm.viscous, 0, (size_t)places * NS_S * sizeof(double));
        if (viscous && viscous->type == RP_F64 && viscous->count == NS_S * places)
            memcpy(y->warm.viscous, viscous->data, (size_t)places * NS_S * sizeof(double));
    }
    if (contacts) {
        memcpy(y->warm.contact_place, contact_place->data, (size_t)contacts * 6 * sizeof(double));
        memcpy(y->warm.contact_side, side->data, (size_t)contacts * 2 * sizeof(int32_t));
        memcpy(y->warm.contact, contact->data, (size_t)contacts * 3 * sizeof(double));
    }
    y->warm.count = places, y->warm.contact_count = contacts;
    memcpy(&y->upkeep->born_count, born_count->data, sizeof y->upkeep->born_count);
    memcpy(&y->upkeep->born_volume, born_volume->data, sizeof y->upkeep->born_volume);
    y->grid.blocks = 0; /* nothing to look at before the next step */
    return RP_OK;
}
