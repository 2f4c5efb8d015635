/* Node fields for output: see fields.h. */
#include "elastoplastic/fields.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Sums at a node, with linear weights. */
enum { MASS, MOMENTUM, GRAINS = MOMENTUM + 3, BULK, STRESS, SHEAR = STRESS + 6, BOUND, RATE, SUMS };

/* Planes of the result. */
enum { AT_POSITION, AT_VELOCITY = 3, AT_PRESSURE = 6, AT_SHEAR, AT_FRACTION, AT_STRESS, AT_REGION = AT_STRESS + 6, PLANES };

/* Below this ratio of the shear rate to sqrt(g / h), sand at its yield stress counts as sticking. */
#define SLOW 0.01

typedef struct source {
    const rp__particles *p;
    rp__elastoplastic_law *laws;
    int first_field;
    bool single, has_gradient;
} source;

static double read_plane(const source *s, int field, int component, bool single, int64_t i)
{
    const void *plane = rp__particles_plane(s->p, s->first_field + field, component);
    return single ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

static double deviator(const double t[6])
{
    double mean = (t[0] + t[1] + (RP_DIM == 3 ? t[2] : 0)) / RP_DIM;
    double a = t[0] - mean, b = t[1] - mean, c = RP_DIM == 3 ? t[2] - mean : 0;
    return sqrt(a * a + b * b + c * c + 2 * (t[3] * t[3] + t[4] * t[4] + t[5] * t[5]));
}

/* What particle i brings to its nodes. */
static void bring(const source *s, int64_t i, double out[SUMS])
{
    const rp__elastoplastic_law *law = &s->laws[s->p->material[i]];
    double e[6], tau[6], rate[6];
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    for (int k = 0; k < 6; k++) {
        e[k] = read_plane(s, RP_EP_STRAIN, k, s->single, i);
        rate[k] = !s->has_gradient ? read_plane(s, RP_EP_RATE, k, true, i)
                                   : 0.5 * (read_plane(s, RP_EP_GRADIENT, 3 * row[k] + column[k], false, i) +
                                            read_plane(s, RP_EP_GRADIENT, 3 * column[k] + row[k], false, i));
    }
    rp__elastoplastic_tau_ref(law, e, tau);
    double trace = e[0] + e[1] + (RP_DIM == 3 ? e[2] : 0), bulk = s->p->volume[i] * law->inverse_fraction;
    double volume = bulk * exp(trace);
    double q = read_plane(s, RP_EP_HARDENING, 0, true, i), gain = read_plane(s, RP_EP_VOLUME_GAIN, 0, true, i);
    double cone = law->elastic ? INFINITY : rp__elastoplastic_cone(law, q), below = fmin(0, trace - rp__elastoplastic_tip(law, q, gain));
    out[MASS] = s->p->mass[i];
    for (int a = 0; a < 3; a++)
        out[MOMENTUM + a] = s->p->mass[i] * s->p->v[a][i];
    out[GRAINS] = s->p->volume[i];
    out[BULK] = volume;
    for (int k = 0; k < 6; k++)
        out[STRESS + k] = bulk * tau[k]; /* Cauchy: tau / J, times the present volume */
    out[SHEAR] = bulk * deviator(e);
    out[BOUND] = law->elastic ? 1e6 * bulk : bulk * law->stiffness * cone * hypot(below, rp__elastoplastic_apex(law, 0, gain));
    out[RATE] = volume * deviator(rate);
}

/* Adds particle i to the nodes around it. */
static void spread(const rp__grid *g, const source *s, int64_t i, double *sums)
{
    double part[3] = { 0 }, what[SUMS];
    int64_t low[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&g->lattice, a, s->p->x[a][i]);
        if (!(fabs(q) < 2e9))
            return;
        low[a] = (int64_t)floor(q);
        part[a] = q - (double)low[a];
    }
    bring(s, i, what);
    for (int k = 0; k < 1 << RP_DIM; k++) {
        int64_t node = RP_D(rp__grid_node)(g, low[0] + (k & 1), low[1] + (k >> 1 & 1), RP_DIM == 3 ? low[2] + (k >> 2 & 1) : 0);
        double weight = 1;
        for (int a = 0; a < RP_DIM; a++)
            weight *= k >> a & 1 ? part[a] : 1 - part[a];
        for (int n = 0; n < SUMS && node >= 0; n++)
            sums[node * SUMS + n] += weight * what[n];
    }
}

/* The part of the cell around a node that lies in the domain. */
static double room(const rp__grid *g, const int64_t c[3])
{
    double part = 1;
    for (int a = 0; a < RP_DIM; a++)
        part *= !g->lattice.periodic[a] && (c[a] <= 0 || c[a] >= g->lattice.cells[a]) ? 0.5 : 1;
    return part * pow(g->lattice.h, RP_DIM);
}

static double region(const double *s, double slow)
{
    if (!(s[BOUND] > 1e-9 * s[BULK]))
        return 0;
    return s[SHEAR] >= 0.98 * s[BOUND] && s[RATE] > slow * s[BULK] ? 2 : 1;
}

static void write_node(const rp__grid *g, int64_t node, const double *s, double slow, int64_t at, int64_t n, double *data)
{
    int64_t c[3];
    double stress[6], trace = 0;
    rp__grid_coordinates(g, node, c);
    for (int a = 0; a < RP_DIM; a++) {
        data[(AT_POSITION + a) * n + at] = g->lattice.origin[a] + g->lattice.h * (double)c[a];
        data[(AT_VELOCITY + a) * n + at] = s[MOMENTUM + a] / s[MASS];
        trace += s[STRESS + a] / s[BULK];
    }
    for (int k = 0; k < 6; k++) {
        stress[k] = s[STRESS + k] / s[BULK];
        data[(AT_STRESS + k) * n + at] = RP_DIM == 3 || k < 2 || k == 3 ? stress[k] : 0;
    }
    data[AT_PRESSURE * n + at] = -trace / RP_DIM;
    data[AT_SHEAR * n + at] = deviator(stress) * 0.70710678118654752; /* sqrt(J2) */
    data[AT_FRACTION * n + at] = s[GRAINS] / room(g, c);
    data[AT_REGION * n + at] = region(s, slow);
}

static rp_result gather_sums(const rp__grid *g, const rp__world *world, source *s, double **out)
{
    double *sums = rp__base_alloc_array((size_t)g->blocks * RP_BLOCK_NODES * SUMS + 1, sizeof(double));
    s->laws = RP_NEW_ARRAY(rp__elastoplastic_law, world->def->material_count);
    if (!sums || !s->laws) {
        rp__base_free(sums);
        rp__base_free(s->laws);
        return RP_OUT_OF_MEMORY;
    }
    memset(sums, 0, (size_t)g->blocks * RP_BLOCK_NODES * SUMS * sizeof(double));
    for (int m = 0; m < world->def->material_count; m++)
        s->laws[m] = rp__elastoplastic_make_law(&world->materials[m], RP_DIM);
    for (int64_t i = 0; i < s->p->count && g->blocks > 0; i++)
        spread(g, s, i, sums);
    rp__base_free(s->laws);
    *out = sums;
    return RP_OK;
}

rp_result RP_D(rp__elastoplastic_node_fields)(const rp__grid *g, const rp__world *world, int first_field, bool single,
                                              bool has_gradient, rp__elastoplastic_views *views, int64_t *nodes)
{
    static const struct {
        const char *name, *unit;
        int components, plane;
    } table[RP_EP_VIEWS] = { { "position", "m", 3, AT_POSITION },   { "velocity", "m/s", 3, AT_VELOCITY },
                             { "pressure", "Pa", 1, AT_PRESSURE },  { "shear_stress", "Pa", 1, AT_SHEAR },
                             { "volume_fraction", "", 1, AT_FRACTION }, { "stress", "Pa", 6, AT_STRESS },
                             { "region", "", 1, AT_REGION } };
    source s = { .p = world->particles, .first_field = first_field, .single = single, .has_gradient = has_gradient };
    double *sums = NULL;
    RP_TRY(gather_sums(g, world, &s, &sums));
    int64_t all = (int64_t)g->blocks * RP_BLOCK_NODES, n = 0, at = 0;
    for (int64_t i = 0; i < all; i++)
        n += sums[i * SUMS + MASS] > 0;
    if (n * PLANES > views->capacity) {
        rp__base_free(views->data);
        views->data = RP_NEW_ARRAY(double, n * PLANES);
        views->capacity = views->data ? n * PLANES : 0;
        if (!views->data) {
            rp__base_free(sums);
            return RP_OUT_OF_MEMORY;
        }
    }
    if (n)
        memset(views->data, 0, (size_t)(n * PLANES) * sizeof(double));
    const double *gravity = world->def->gravity;
    double slow = SLOW * sqrt(sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]) / g->lattice.h);
    for (int64_t i = 0; i < all; i++)
        if (sums[i * SUMS + MASS] > 0)
            write_node(g, i, sums + i * SUMS, slow, at++, n, views->data);
    rp__base_free(sums);
    for (int v = 0; v < RP_EP_VIEWS; v++)
        views->view[v] = (rp_field_view){ .info = { table[v].name, RP_F64, table[v].components, table[v].unit, 1 },
                                          .data = n ? views->data + table[v].plane * n : NULL, .count = n, .stride = n };
    *nodes = n;
    return RP_OK;
}
