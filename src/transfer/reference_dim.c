/* The plain twins: one particle after the other, one node after the other, as the formulas stand. For tests. */
#include "transfer/transfer.h"

#include "math/spline.h"

#include <string.h>

/* The nodes of a particle, with weight, gradient and x_j - x_p. */
typedef struct stencil {
    int count;
    int64_t node[64];
    double weight[64], gradient[64][3], offset[64][3];
} stencil;

static void make_stencil(const rp__grid *g, const rp__particles *p, int order, int64_t particle, stencil *s)
{
    double w[3][4] = { { 0 } }, d[3][4] = { { 0 } }, q[3] = { 0 }, h = g->lattice.h;
    int64_t base[3] = { 0 };
    int nodes = order + 1, layers = RP_DIM == 3 ? nodes : 1;
    w[2][0] = 1;
    for (int a = 0; a < RP_DIM; a++) {
        q[a] = rp__lattice_coordinate(&g->lattice, a, p->x[a][particle]);
        base[a] = rp__spline(order, q[a], w[a], d[a]);
    }
    s->count = 0;
    for (int k = 0; k < layers; k++) {
        for (int j = 0; j < nodes; j++) {
            for (int i = 0; i < nodes; i++) {
                int n = s->count++;
                s->node[n] = RP_D(rp__grid_node)(g, base[0] + i, base[1] + j, base[2] + k);
                s->weight[n] = w[0][i] * w[1][j] * w[2][k];
                s->gradient[n][0] = d[0][i] * w[1][j] * w[2][k] / h;
                s->gradient[n][1] = w[0][i] * d[1][j] * w[2][k] / h;
                s->gradient[n][2] = w[0][i] * w[1][j] * d[2][k] / h;
                s->offset[n][0] = h * ((double)(base[0] + i) - q[0]);
                s->offset[n][1] = h * ((double)(base[1] + j) - q[1]);
                s->offset[n][2] = h * ((double)(base[2] + k) - q[2]);
            }
        }
    }
}

static double affine_of(const rp__particles *p, int field, int component, int64_t i)
{
    const void *plane = rp__particles_plane(p, field, component);
    return p->info[field].type == RP_F32 ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

static void set_affine(const rp__particles *p, int field, int component, int64_t i, double value)
{
    void *plane = rp__particles_plane(p, field, component);
    if (p->info[field].type == RP_F32)
        ((float *)plane)[i] = (float)value;
    else
        ((double *)plane)[i] = value;
}

static size_t nodes_of(const rp__grid *g)
{
    return (size_t)g->blocks * RP_BLOCK_NODES;
}

void RP_D(rp__transfer_to_grid_ref)(const rp__grid *g, const rp__particles *p, const rp__transfer_options *options,
                                    double *mass, double *const momentum[3])
{
    memset(mass, 0, nodes_of(g) * sizeof(double));
    for (int a = 0; a < RP_DIM; a++)
        memset(momentum[a], 0, nodes_of(g) * sizeof(double));
    bool affine = options->kind == RP_TRANSFER_APIC && options->gradient >= 0;
    if (options->each)
        options->each(options->context, 0, p->count);
    for (int64_t i = 0; i < p->count; i++) {
        stencil s;
        make_stencil(g, p, options->order, i, &s);
        for (int n = 0; n < s.count; n++) {
            mass[s.node[n]] += p->mass[i] * s.weight[n];
            for (int a = 0; a < RP_DIM; a++) {
                double v = p->v[a][i];
                for (int b = 0; b < RP_DIM && affine; b++)
                    v += affine_of(p, options->gradient, 3 * a + b, i) * s.offset[n][b];
                momentum[a][s.node[n]] += p->mass[i] * s.weight[n] * v;
            }
        }
    }
}

static void gather_one(const stencil *s, const double *const u[3], int order, double h, double v[3], double c[3][3], double grad[3][3])
{
    double inverse = order == 2 ? 4 / (h * h) : 3 / (h * h); /* D^-1 */
    memset(v, 0, 3 * sizeof(double));
    memset(c, 0, 9 * sizeof(double));
    memset(grad, 0, 9 * sizeof(double));
    for (int n = 0; n < s->count; n++) {
        for (int a = 0; a < RP_DIM; a++) {
            double ua = u[a][s->node[n]];
            v[a] += s->weight[n] * ua;
            for (int b = 0; b < RP_DIM; b++) {
                grad[a][b] += ua * s->gradient[n][b];
                c[a][b] += inverse * s->weight[n] * ua * s->offset[n][b];
            }
        }
    }
    if (order == 1)
        memcpy(c, grad, 9 * sizeof(double));
}

void RP_D(rp__transfer_to_particles_ref)(const rp__grid *g, rp__particles *p, const rp__transfer_options *options,
                                         const double *const velocity[3], const double *const before[3], double *const grad[9])
{
    for (int64_t i = 0; i < p->count; i++) {
        stencil s;
        double v[3], c[3][3], dv[3][3];
        make_stencil(g, p, options->order, i, &s);
        gather_one(&s, velocity, options->order, g->lattice.h, v, c, dv);
        for (int a = 0; a < RP_DIM; a++) {
            double change = v[a];
            for (int n = 0; n < s.count && before; n++)
                change -= s.weight[n] * before[a][s.node[n]];
            if (options->kind == RP_TRANSFER_FLIP && before)
                p->v[a][i] = options->flip * (p->v[a][i] + change) + (1 - options->flip) * v[a];
            else
                p->v[a][i] = v[a];
            for (int b = 0; b < RP_DIM && options->kind == RP_TRANSFER_APIC && options->gradient >= 0; b++)
                set_affine(p, options->gradient, 3 * a + b, i, c[a][b]);
        }
        for (int n = 0; n < 9 && grad; n++)
            grad[n][i] = dv[n / 3][n % 3];
    }
    if (options->each)
        options->each(options->context, 0, p->count);
}

void RP_D(rp__transfer_scalar_to_grid_ref)(const rp__grid *g, const rp__particles *p, int order, const double *weight, double *value)
{
    memset(value, 0, nodes_of(g) * sizeof(double));
    for (int64_t i = 0; i < p->count; i++) {
        stencil s;
        make_stencil(g, p, order, i, &s);
        for (int n = 0; n < s.count; n++)
            value[s.node[n]] += weight[i] * s.weight[n];
    }
}

void RP_D(rp__transfer_scalar_to_particles_ref)(const rp__grid *g, const rp__particles *p, int order, const double *value,
                                                double *result)
{
    for (int64_t i = 0; i < p->count; i++) {
        stencil s;
        make_stencil(g, p, order, i, &s);
        result[i] = 0;
        for (int n = 0; n < s.count; n++)
            result[i] += s.weight[n] * value[s.node[n]];
    }
}
