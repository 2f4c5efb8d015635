/* Newtonian viscosity: (M/dt + A) u* = M/dt (u + dt g),  a(u, v) = sum_p V_p eta D(u):D(v)   [daviet2016, (20)].
 *
 * The particles of a cell are taken as spread evenly over it, so that its part of A is sum V eta / h^2 times one matrix, the same for
 * every cell. With w = u / s, s^2 = dt / m, the system is (1 + S A S) w = w*, solved by conjugate gradients. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { DOF = NS_CORNERS * RP_DIM };

/* K[j a][k b] = mean over the cell of (delta_ab grad N_j · grad N_k + d_b N_j d_a N_k) / 2, by two Gauss points an axis. */
void NS(make_stiffness)(ns_system *y)
{
    const double gauss = 0.28867513459481288225;
    memset(y->stiffness, 0, sizeof y->stiffness);
    for (int q = 0; q < NS_CORNERS; q++) {
        double d[NS_CORNERS][3];
        for (int j = 0; j < NS_CORNERS; j++)
            for (int a = 0; a < RP_DIM; a++) {
                d[j][a] = 1;
                for (int b = 0; b < RP_DIM; b++) {
                    double t = 0.5 + (q >> b & 1 ? gauss : -gauss);
                    int high = j >> b & 1;
                    d[j][a] *= b == a ? (high ? 1 : -1) : high ? t : 1 - t;
                }
            }
        for (int j = 0; j < NS_CORNERS; j++)
            for (int k = 0; k < NS_CORNERS; k++) {
                double dot = 0;
                for (int a = 0; a < RP_DIM; a++)
                    dot += d[j][a] * d[k][a];
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++)
                        y->stiffness[(j * RP_DIM + a) * DOF + k * RP_DIM + b] +=
                            0.5 * ((a == b ? dot : 0) + d[j][b] * d[k][a]) / NS_CORNERS;
            }
    }
}

typedef struct job {
    ns_system *y;
    const double *from;
    double *to, alpha, beta, unit;
} job;

/* to = (1 + S A S) from, in two passes. */
static void copy_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    memcpy(w->to + NS_PAD * begin, w->from + NS_PAD * begin, (size_t)(end - begin) * NS_PAD * sizeof(double));
}

static void apply_block(void *context, int64_t block, int worker)
{
    const job *w = context;
    const ns_system *y = w->y;
    (void)worker;
    for (int l = 0; l < RP_BLOCK_NODES; l++) {
        double eta = y->viscous[block * RP_BLOCK_NODES + l] * w->unit, u[DOF], f[DOF] = { 0 }, s[NS_CORNERS];
        int64_t node[NS_CORNERS];
        int tile = ns_tile_of_local(l);
        if (!(eta > 0))
            continue;
        for (int j = 0; j < NS_CORNERS; j++) {
            node[j] = ns_tile_node(y, block, tile + (j & 1) + NS_TILE_SIDE * ((j >> 1 & 1) + NS_TILE_SIDE * (j >> 2)));
            s[j] = y->stick[node[j]] ? 0 : y->scale[node[j]];
            for (int a = 0; a < RP_DIM; a++)
                u[j * RP_DIM + a] = s[j] * w->from[NS_PAD * node[j] + a];
        }
        for (int k = 0; k < DOF; k++)
            for (int j = 0; j < DOF; j++)
                f[j] += y->stiffness[k * DOF + j] * u[k];
        for (int j = 0; j < NS_CORNERS; j++)
            for (int a = 0; a < RP_DIM; a++)
                w->to[NS_PAD * node[j] + a] += eta * s[j] * f[j * RP_DIM + a];
    }
}

static void apply(job *w, const double *from, double *to)
{
    ns_system *y = w->y;
    w->from = from, w->to = to;
    rp__exec_for((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, copy_nodes, w);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, apply_block, w);
}

static void dot_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const job *w = context;
    double total = 0;
    for (int64_t i = begin; i < end; i++)
        total += w->from[i] * w->to[i];
    sum[0] += total;
}

static double dot(job *w, const double *a, double *b)
{
    double sum;
    w->from = a, w->to = b;
    rp__exec_sum((int64_t)w->y->grid.blocks * RP_BLOCK_NODES * NS_PAD, 8192, 1, dot_chunk, w, &sum);
    return sum;
}

static void scale_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double s = y->scale[j], factor = s > 0 && !y->stick[j] ? (w->alpha > 0 ? 1 / s : s) : 0;
        for (int a = 0; a < NS_PAD; a++)
            y->u[NS_PAD * j + a] *= factor;
    }
}

rp_result NS(viscosity)(ns_system *y, int64_t *iterations)
{
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES, n = nodes * NS_PAD;
    if (!y->other && !(y->other = RP_NEW_ARRAY(double, y->node_capacity * NS_PAD)))
        return RP_OUT_OF_MEMORY;
    double *x = y->u, *r = y->before, *p = y->older, *q = y->other;
    job w = { .y = y, .alpha = 1, .unit = 1 / (y->lattice.h * y->lattice.h) };
    rp__exec_for(nodes, 4096, scale_nodes, &w);
    double norm = dot(&w, x, x);
    apply(&w, x, q);
    for (int64_t i = 0; i < n; i++)
        r[i] = p[i] = x[i] - q[i];
    double rr = dot(&w, r, r);
    int64_t k = 0;
    for (; k < 1000 && rr > 1e-16 * norm; k++) {
        apply(&w, p, q);
        double alpha = rr / dot(&w, p, q);
        for (int64_t i = 0; i < n; i++)
            x[i] += alpha * p[i], r[i] -= alpha * q[i];
        double next = dot(&w, r, r), beta = next / rr;
        for (int64_t i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
        rr = next;
    }
    w.alpha = -1;
    rp__exec_for(nodes, 4096, scale_nodes, &w);
    *iterations = k;
    return RP_OK;
}
