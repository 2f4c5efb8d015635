/* What is kept from step to step beyond the particles, and the node fields that can be looked at. */
#include "nonsmooth/wide.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

rp_result NS(save)(const void *state, rp_state *out)
{
    const ns_system *y = state;
    RP_TRY(rp_state_add(out, "nonsmooth/stress_node", RP_I32, 3 * y->warm_count, y->warm_node));
    RP_TRY(rp_state_add(out, "nonsmooth/stress", RP_F64, NS_S * y->warm_count, y->warm_stress));
    RP_TRY(rp_state_add(out, "nonsmooth/contact_node", RP_I32, 4 * y->warm_contact_count, y->warm_contact_node));
    RP_TRY(rp_state_add(out, "nonsmooth/contact", RP_F64, 3 * y->warm_contact_count, y->warm_contact));
    RP_TRY(rp_state_add(out, "nonsmooth/born_count", RP_I64, 1, &y->born_count));
    RP_TRY(rp_state_add(out, "nonsmooth/born_volume", RP_F64, 1, &y->born_volume));
    RP_TRY(rp_state_add(out, "nonsmooth/settled", RP_I64, 1, &y->settled));
    return RP_OK;
}

static rp_result find(const rp_state *in, const char *name, rp_type type, int width, const rp_blob **out, int64_t *count)
{
    const rp_blob *b = rp_state_find(in, name);
    if (!b || b->type != type || b->count % width != 0)
        return rp__base_fail(RP_BAD_FILE, "the state has no usable array '%s'", name);
    *out = b;
    *count = b->count / width;
    return RP_OK;
}

rp_result NS(restore)(void *state, const rp_state *in)
{
    ns_system *y = state;
    const rp_blob *node, *stress, *contact_node, *contact, *born_count, *born_volume;
    int64_t nodes, stresses, contact_nodes, contacts, one;
    RP_TRY(find(in, "nonsmooth/born_count", RP_I64, 1, &born_count, &one));
    if (one != 1)
        return rp__base_fail(RP_BAD_FILE, "the state has %lld numbers in 'nonsmooth/born_count' in place of one", (long long)one);
    RP_TRY(find(in, "nonsmooth/born_volume", RP_F64, 1, &born_volume, &one));
    if (one != 1)
        return rp__base_fail(RP_BAD_FILE, "the state has %lld numbers in 'nonsmooth/born_volume' in place of one", (long long)one);
    const rp_blob *settled = rp_state_find(in, "nonsmooth/settled"); /* states of before have none: their first steps are over */
    if (settled && (settled->type != RP_I64 || settled->count != 1))
        return rp__base_fail(RP_BAD_FILE, "the state has no usable number 'nonsmooth/settled'");
    RP_TRY(find(in, "nonsmooth/stress_node", RP_I32, 3, &node, &nodes));
    RP_TRY(find(in, "nonsmooth/stress", RP_F64, NS_S, &stress, &stresses));
    RP_TRY(find(in, "nonsmooth/contact_node", RP_I32, 4, &contact_node, &contact_nodes));
    RP_TRY(find(in, "nonsmooth/contact", RP_F64, 3, &contact, &contacts));
    if (nodes != stresses || contact_nodes != contacts)
        return rp__base_fail(RP_BAD_FILE, "the state has %lld stress nodes with %lld stresses, %lld contact nodes with %lld "
                                          "impulses; they must agree",
                             (long long)nodes, (long long)stresses, (long long)contact_nodes, (long long)contacts);
    void *new_node = rp__base_alloc_array((size_t)nodes + 1, 3 * sizeof(int32_t));
    void *new_stress = rp__base_alloc_array((size_t)nodes + 1, NS_S * sizeof(double));
    void *new_contact_node = rp__base_alloc_array((size_t)contacts + 1, 4 * sizeof(int32_t));
    void *new_contact = rp__base_alloc_array((size_t)contacts + 1, 3 * sizeof(double));
    if (!new_node || !new_stress || !new_contact_node || !new_contact) {
        rp__base_free(new_node);
        rp__base_free(new_stress);
        rp__base_free(new_contact_node);
        rp__base_free(new_contact);
        return RP_OUT_OF_MEMORY;
    }
    rp__base_free(y->warm_node);
    rp__base_free(y->warm_stress);
    rp__base_free(y->warm_contact_node);
    rp__base_free(y->warm_contact);
    y->warm_node = new_node, y->warm_stress = new_stress;
    y->warm_contact_node = new_contact_node, y->warm_contact = new_contact;
    if (nodes) {
        memcpy(y->warm_node, node->data, (size_t)nodes * 3 * sizeof(int32_t));
        memcpy(y->warm_stress, stress->data, (size_t)nodes * NS_S * sizeof(double));
    }
    if (contacts) {
        memcpy(y->warm_contact_node, contact_node->data, (size_t)contacts * 4 * sizeof(int32_t));
        memcpy(y->warm_contact, contact->data, (size_t)contacts * 3 * sizeof(double));
    }
    y->warm_count = nodes, y->warm_capacity = nodes + 1;
    y->warm_contact_count = contacts, y->warm_contact_capacity = contacts + 1;
    memcpy(&y->born_count, born_count->data, sizeof y->born_count);
    memcpy(&y->born_volume, born_volume->data, sizeof y->born_volume);
    y->settled = NS_FIRST_STEPS;
    if (settled)
        memcpy(&y->settled, settled->data, sizeof y->settled);
    y->grid.blocks = 0; /* nothing to look at before the next step */
    return RP_OK;
}

enum { POSITION = 0, VELOCITY = 3, PRESSURE = 6, SHEAR, FRACTION, REGION, STRESS, PLANES = STRESS + 6 };

/* The case of the friction law: 0 take-off (nothing acts but rounding of `weight`, with the cohesion of rest or without), 1 stick (inside
 * the cone), 2 slide (on it, to a
 * thousandth). */
static double region_of(const ns_stress *s, double weight)
{
    double tangent = 0, acting = s->lambda[0] - s->cohesion;
    for (int k = 1; k < NS_S; k++)
        tangent += s->lambda[k] * s->lambda[k];
    if (!(s->lambda[0] > 1e-9 * weight) || !(acting * acting + tangent > 1e-18 * weight * weight))
        return 0;
    return sqrt(tangent) < (1 - 1e-3) * s->mu * s->lambda[0] ? 1 : 2;
}

static void fill_node(const ns_system *y, int64_t i, const double *r, int64_t at, int64_t n, double *data)
{
    int64_t c[3];
    rp__grid_coordinates(&y->grid, i, c);
    for (int a = 0; a < RP_DIM; a++) {
        data[(POSITION + a) * n + at] = y->lattice.origin[a] + y->lattice.h * ((double)c[a] + (y->stress_cell ? 0.5 : 0));
        data[(VELOCITY + a) * n + at] = ns_velocity(y, i)[a];
    }
    data[REGION * n + at] = region_of(&y->stress[i], y->skin);
    /* In a cell that a body all but fills, a particle of any size is more than the room: a tenth of a cell is the least that is divided by. */
    double least = 0.1 * pow(y->lattice.h, RP_DIM), fraction = y->volume[i] / (y->room[i] > least ? y->room[i] : least);
    data[FRACTION * n + at] = fraction < 1 ? fraction : 1;
    /* No pull is stronger than the cohesion (that of rest is the method's, not the material's), and rounding is none. */
    double held[NS_S], tangent = 0, bond = y->most_cohesion;
    for (int k = 0; k < NS_S; k++)
        held[k] = fabs(r[k]) > 1e-12 * y->skin ? r[k] : 0;
    if (held[0] * NS_TRACE / RP_DIM < -bond) {
        double pull = -bond * RP_DIM / NS_TRACE;
        for (int k = 1; k < NS_S; k++)
            held[k] *= pull / held[0];
        held[0] = pull;
    }
    r = held;
    for (int k = 1; k < NS_S; k++)
        tangent += r[k] * r[k];
    data[PRESSURE * n + at] = r[0] * NS_TRACE / RP_DIM;
    data[SHEAR * n + at] = sqrt(tangent);
    /* Cauchy stress: -lambda. */
#if RP_DIM == 3
    double s[6], base = (1.41421356237309504880 * r[0] - r[2]) / 1.73205080756887729353;
    s[0] = base + r[1], s[1] = base - r[1], s[2] = (1.41421356237309504880 * r[0] + 2 * r[2]) / 1.73205080756887729353;
    s[3] = r[3], s[4] = r[4], s[5] = r[5];
    for (int k = 0; k < 6; k++)
        data[(STRESS + k) * n + at] = -s[k];
#else
    data[(STRESS + 0) * n + at] = -(r[0] + r[1]);
    data[(STRESS + 1) * n + at] = -(r[0] - r[1]);
    data[(STRESS + 3) * n + at] = -r[2];
#endif
}

rp_result NS(node_fields)(void *state, const rp_field_view **views, int *count, int64_t *nodes)
{
    ns_system *y = state;
    int64_t n = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        n += __builtin_popcountll(y->active[b]);
    if (n * PLANES > y->view_capacity) {
        double *data = RP_NEW_ARRAY(double, n * PLANES);
        if (!data)
            return RP_OUT_OF_MEMORY;
        rp__base_free(y->view_data);
        y->view_data = data;
        y->view_capacity = n * PLANES;
    }
    if (n)
        memset(y->view_data, 0, (size_t)(n * PLANES) * sizeof(double));
    /* Coefficients of chi in the rows of g, which is used up after a step; smoothed there. */
    int64_t at = 0, row = (int64_t)y->stencil * RP_DIM;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            double lambda[NS_S];
            memcpy(lambda, y->stress[i].lambda, sizeof lambda);
            lambda[0] -= y->stress[i].cohesion;
            ns_chi_of(y, i, lambda, y->g + row * i);
        }
    const double *chi = NS(smooth)(y, y->g, y->g + NS_S, NS_S, row);
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            fill_node(y, i, chi + row * i, at++, n, y->view_data);
        }
    static const struct {
        const char *name, *unit;
        int components, plane;
    } table[] = { { "position", "m", 3, POSITION },  { "velocity", "m/s", 3, VELOCITY }, { "pressure", "Pa", 1, PRESSURE },
                  { "shear_stress", "Pa", 1, SHEAR }, { "volume_fraction", "", 1, FRACTION }, { "stress", "Pa", 6, STRESS },
                  { "region", "", 1, REGION } };
    int total = (int)(sizeof table / sizeof *table);
    for (int v = 0; v < total; v++)
        y->views[v] = (rp_field_view){ .info = { table[v].name, RP_F64, table[v].components, table[v].unit, 1 },
                                       .data = y->view_data + table[v].plane * n,
                                       .count = n,
                                       .stride = n };
    *views = y->views;
    *count = total;
    *nodes = n;
    return RP_OK;
}
