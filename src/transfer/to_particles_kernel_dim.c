/* Grid to particles: each block copies its nodes to a tile, then its particles read from it. */
#include "transfer/tile.h"

#include "exec/exec.h"

#include <assert.h>
#include <string.h>

typedef rp__transfer_four four;

typedef struct gather {
    const rp__grid *g;
    rp__particles *p;
    const double *velocity[3], *before[3]; /* before[0] NULL: not FLIP */
    double flip;
    double *c[9];       /* APIC: planes of c_p */
    double *grad[9];    /* planes of the gradient; grad[0] NULL: not wanted */
    const double *value; /* one scalar */
    double *result;
} gather;

/* The values of up to three planes at the nodes of the tile; the fourth number is zero. */
RP_INLINE void read_tile(int order, const rp__grid *g, int64_t block, const double *const plane[3], four *tile)
{
    int side = RP_BLOCK + order;
    for (int oz = 0; oz < (RP_DIM == 3 ? 2 : 1); oz++) {
        for (int oy = 0; oy < 2; oy++) {
            for (int ox = 0; ox < 2; ox++) {
                int64_t owner = rp__transfer_owner(g, block, ox, oy, oz) * RP_BLOCK_NODES;
                int nx = ox ? order : RP_BLOCK, ny = oy ? order : RP_BLOCK, nz = RP_DIM == 2 ? 1 : oz ? order : RP_BLOCK;
                for (int k = 0; k < nz; k++) {
                    for (int j = 0; j < ny; j++) {
                        int64_t from = owner + (k * RP_BLOCK + j) * RP_BLOCK;
                        four *to = tile + ((k + 4 * oz) * side + j + 4 * oy) * side + 4 * ox;
                        for (int i = 0; i < nx; i++)
                            to[i] = (four){ plane[0][from + i], plane[1][from + i], RP_DIM == 3 ? plane[2][from + i] : 0, 0 };
                    }
                }
            }
        }
    }
}

/* out[0] = sum_j N_j u_j; with `gradient` out[1 + a] = sum_j u_j S_j,a, where S takes the second weights on axis a.
 * The sums over x, y, z are nested, so a node costs two multiply-adds. */
RP_INLINE void read_particle(int order, bool gradient, const rp__transfer_batch *b, int l, const four *tile, four out[4])
{
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1;
    const four *at = tile + b->start[l];
    four v = { 0 }, vx = { 0 }, vy = { 0 }, vz = { 0 };
    for (int k = 0; k < layers; k++) {
        four layer = { 0 }, layer_x = { 0 }, layer_y = { 0 };
        for (int j = 0; j < nodes; j++) {
            const four *u = at + (k * side + j) * side;
            four row = b->weight[0][0][l] * u[0], row_x = b->second[0][0][l] * u[0];
            for (int i = 1; i < nodes; i++) {
                row += b->weight[0][i][l] * u[i];
                if (gradient)
                    row_x += b->second[0][i][l] * u[i];
            }
            layer += b->weight[1][j][l] * row;
            if (gradient) {
                layer_x += b->weight[1][j][l] * row_x;
                layer_y += b->second[1][j][l] * row;
            }
        }
        if (RP_DIM == 3) {
            v += b->weight[2][k][l] * layer;
            if (gradient) {
                vx += b->weight[2][k][l] * layer_x;
                vy += b->weight[2][k][l] * layer_y;
                vz += b->second[2][k][l] * layer;
            }
        } else {
            v = layer, vx = layer_x, vy = layer_y;
        }
    }
    out[0] = v;
    if (gradient)
        out[1] = vx, out[2] = vy, out[3] = vz;
}

/* Second weights: those of c_p, or the derivatives. */
RP_INLINE void second_weights(int order, bool derivatives, double inverse_h, rp__transfer_batch *b)
{
    for (int a = 0; a < RP_DIM; a++) {
        if (derivatives || order == 1)
            rp__transfer_derivatives(order, inverse_h, b->t[a], b->second[a]);
        else
            rp__transfer_moments(order, inverse_h, b->t[a], b->weight[a], b->second[a]);
    }
}

static void store_matrix(double *const *planes, double (*in)[4][4], int64_t first, int count)
{
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++)
            for (int l = 0; l < count; l++)
                planes[3 * r + s][first + l] = in[l][1 + s][r];
}

RP_INLINE void batch_to_particles(int order, bool affine, const gather *w, int64_t first, int count, const four *tile, const four *old)
{
    rp__transfer_batch b;
    _Alignas(64) double out[BATCH][4][4];
    double inverse_h = 1 / w->g->lattice.h;
    rp__transfer_locate(order, &w->g->lattice, w->p, first, count, &b);
    bool grad = w->grad[0];
    if (affine || grad)
        second_weights(order, !affine, inverse_h, &b);
    for (int l = 0; l < count; l++) {
        four sum[4];
        if (affine || grad)
            read_particle(order, true, &b, l, tile, sum);
        else
            read_particle(order, false, &b, l, tile, sum);
        memcpy(out[l], sum, sizeof sum);
    }
    if (w->before[0]) {
        for (int l = 0; l < count; l++) {
            four was[4];
            read_particle(order, false, &b, l, old, was);
            for (int r = 0; r < RP_DIM; r++) {
                double *v = &w->p->v[r][first + l], u = out[l][0][r];
                *v = w->flip * (*v + (u - was[0][r])) + (1 - w->flip) * u;
            }
        }
    } else {
        for (int r = 0; r < RP_DIM; r++)
            for (int l = 0; l < count; l++)
                w->p->v[r][first + l] = out[l][0][r];
    }
    if (affine)
        store_matrix(w->c, out, first, count);
    if (grad) {
        if (affine && order > 1) {
            second_weights(order, true, inverse_h, &b);
            for (int l = 0; l < count; l++) {
                four sum[4];
                read_particle(order, true, &b, l, tile, sum);
                memcpy(out[l], sum, sizeof sum);
            }
        }
        store_matrix(w->grad, out, first, count);
        for (int r = 0; r < 3 && RP_DIM == 2; r++) {
            memset(w->grad[3 * r + 2] + first, 0, (size_t)count * sizeof(double));
            memset(w->grad[6 + r] + first, 0, (size_t)count * sizeof(double));
        }
    }
}

RP_INLINE void block_to_particles(int order, bool affine, const gather *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    if (first == last)
        return;
    four tile[TILE_NODES], old[TILE_NODES];
    read_tile(order, w->g, block, w->velocity, tile);
    if (w->before[0])
        read_tile(order, w->g, block, w->before, old);
    for (; first < last; first += BATCH)
        batch_to_particles(order, affine, w, first, last - first < BATCH ? (int)(last - first) : BATCH, tile, old);
}

#define BLOCK_TO_PARTICLES(name, order, affine)                                 \
    static void name(void *context, int64_t begin, int64_t end, int worker)     \
    {                                                                           \
        (void)worker;                                                           \
        for (int64_t b = begin; b < end; b++)                                   \
            block_to_particles(order, affine, (const gather *)context, b);      \
    }
BLOCK_TO_PARTICLES(to_particles_1, 1, false)
BLOCK_TO_PARTICLES(to_particles_2, 2, false)
BLOCK_TO_PARTICLES(to_particles_3, 3, false)
BLOCK_TO_PARTICLES(to_particles_1_affine, 1, true)
BLOCK_TO_PARTICLES(to_particles_2_affine, 2, true)
BLOCK_TO_PARTICLES(to_particles_3_affine, 3, true)

void RP_D(rp__transfer_to_particles)(const rp__grid *g, rp__particles *p, const rp__transfer_options *options,
                                     const double *const velocity[3], const double *const before[3], double *const grad[9])
{
    static const rp__exec_fn functions[2][3] = { { to_particles_1, to_particles_2, to_particles_3 },
                                                 { to_particles_1_affine, to_particles_2_affine, to_particles_3_affine } };
    bool affine = options->kind == RP_TRANSFER_APIC && options->gradient >= 0;
    gather w = { .g = g, .p = p, .flip = options->flip };
    for (int a = 0; a < RP_DIM; a++) {
        w.velocity[a] = velocity[a];
        if (options->kind == RP_TRANSFER_FLIP && before)
            w.before[a] = before[a];
        for (int b = 0; b < RP_DIM && affine; b++)
            w.c[3 * a + b] = rp__particles_f64(p, options->gradient, 3 * a + b);
    }
    for (int n = 0; n < 9 && grad; n++)
        w.grad[n] = grad[n];
    rp__exec_for(g->blocks, 2, functions[affine][options->order - 1], &w);
}

/* ---- one scalar ---- */

static void scalar_blocks(void *context, int64_t begin, int64_t end, int order)
{
    const gather *w = context;
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1, depth = RP_DIM == 3 ? side : 1;
    for (int64_t block = begin; block < end; block++) {
        int64_t first = w->g->first[block], last = w->g->first[block + 1];
        double tile[TILE_NODES];
        rp__transfer_batch b;
        for (int k = 0; k < depth && first < last; k++)
            for (int j = 0; j < side; j++)
                for (int i = 0; i < side; i++)
                    tile[(k * side + j) * side + i] =
                        w->value[rp__transfer_owner(w->g, block, i >> 2, j >> 2, k >> 2) * RP_BLOCK_NODES + ((k & 3) * 4 + (j & 3)) * 4 + (i & 3)];
        for (; first < last; first += BATCH) {
            int count = last - first < BATCH ? (int)(last - first) : BATCH;
            rp__transfer_locate(order, &w->g->lattice, w->p, first, count, &b);
            for (int l = 0; l < count; l++) {
                double sum = 0;
                for (int k = 0; k < layers; k++)
                    for (int j = 0; j < nodes; j++)
                        for (int i = 0; i < nodes; i++)
                            sum += (RP_DIM == 3 ? b.weight[2][k][l] : 1) * b.weight[1][j][l] * b.weight[0][i][l] *
                                   tile[b.start[l] + (k * side + j) * side + i];
                w->result[first + l] = sum;
            }
        }
    }
}

static void scalar_1(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    scalar_blocks(context, begin, end, 1);
}
static void scalar_2(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    scalar_blocks(context, begin, end, 2);
}
static void scalar_3(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    scalar_blocks(context, begin, end, 3);
}

void RP_D(rp__transfer_scalar_to_particles)(const rp__grid *g, const rp__particles *p, int order, const double *value, double *result)
{
    static const rp__exec_fn functions[3] = { scalar_1, scalar_2, scalar_3 };
    gather w = { .g = g, .value = value, .result = result };
    w.p = (rp__particles *)(uintptr_t)p; /* only read here */
    rp__exec_for(g->blocks, 2, functions[order - 1], &w);
}
