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
    void *c[9];         /* APIC: planes of c_p */
    bool single;        /* they are of float */
    const rp__transfer_options *options;
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

/* Results of a batch: out[r][l] = sum_j N_j u_j of component r; with `gradient`, out[3 + 3 s + r][l] = sum_j u_j S_j,s of
 * component r, where S takes the second weights on axis s. */
typedef double results[12][WIDTH];

/* Four particles in one cell, side by side; one component of the tile at a time, the nodes are the same for all four.
 * The sums over x, y, z are nested. */
RP_INLINE void read_four(int order, bool gradient, const rp__transfer_batch *b, int l, const four *tile, results out)
{
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1;
    const double *at = (const double *)(const void *)(tile + b->start[l]);
    four wx[4], sx[4];
    for (int i = 0; i < nodes; i++) {
        rp__transfer_load(&wx[i], &b->weight[0][i][l]);
        if (gradient)
            rp__transfer_load(&sx[i], &b->second[0][i][l]);
    }
    for (int r = 0; r < RP_DIM; r++) {
        four v = { 0 }, vx = { 0 }, vy = { 0 }, vz = { 0 };
        for (int k = 0; k < layers; k++) {
            four layer = { 0 }, layer_x = { 0 }, layer_y = { 0 }, wz, sz;
            for (int j = 0; j < nodes; j++) {
                const double *u = at + 4 * (k * side + j) * side + r;
                four row = u[0] * wx[0], row_x = { 0 }, wy, sy;
                if (gradient)
                    row_x = u[0] * sx[0];
                for (int i = 1; i < nodes; i++) {
                    row = RP_MADD(u[4 * i], wx[i], row);
                    if (gradient)
                        row_x = RP_MADD(u[4 * i], sx[i], row_x);
                }
                rp__transfer_load(&wy, &b->weight[1][j][l]);
                layer = RP_MADD_LANES(wy, row, layer);
                if (gradient) {
                    rp__transfer_load(&sy, &b->second[1][j][l]);
                    layer_x = RP_MADD_LANES(wy, row_x, layer_x);
                    layer_y = RP_MADD_LANES(sy, row, layer_y);
                }
            }
            if (RP_DIM == 2) {
                v = layer, vx = layer_x, vy = layer_y;
                continue;
            }
            rp__transfer_load(&wz, &b->weight[2][k][l]);
            v = RP_MADD_LANES(wz, layer, v);
            if (gradient) {
                rp__transfer_load(&sz, &b->second[2][k][l]);
                vx = RP_MADD_LANES(wz, layer_x, vx);
                vy = RP_MADD_LANES(wz, layer_y, vy);
                vz = RP_MADD_LANES(sz, layer, vz);
            }
        }
        *(rp__transfer_any_four *)(void *)&out[r][l] = v;
        if (gradient) {
            *(rp__transfer_any_four *)(void *)&out[3 + r][l] = vx;
            *(rp__transfer_any_four *)(void *)&out[6 + r][l] = vy;
            *(rp__transfer_any_four *)(void *)&out[9 + r][l] = vz;
        }
    }
}

/* One particle, the components of the velocity side by side: for what is left of a cell. */
RP_INLINE void read_one(int order, bool gradient, const rp__transfer_batch *b, int l, const four *tile, results out)
{
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1;
    const four *at = tile + b->start[l];
    four v = { 0 }, vx = { 0 }, vy = { 0 }, vz = { 0 };
    for (int k = 0; k < layers; k++) {
        four layer = { 0 }, layer_x = { 0 }, layer_y = { 0 };
        for (int j = 0; j < nodes; j++) {
            const four *u = at + (k * side + j) * side;
            four row = b->weight[0][0][l] * u[0], row_x = { 0 };
            if (gradient)
                row_x = b->second[0][0][l] * u[0];
            for (int i = 1; i < nodes; i++) {
                row = RP_MADD(b->weight[0][i][l], u[i], row);
                if (gradient)
                    row_x = RP_MADD(b->second[0][i][l], u[i], row_x);
            }
            layer = RP_MADD(b->weight[1][j][l], row, layer);
            if (gradient) {
                layer_x = RP_MADD(b->weight[1][j][l], row_x, layer_x);
                layer_y = RP_MADD(b->second[1][j][l], row, layer_y);
            }
        }
        if (RP_DIM == 2) {
            v = layer, vx = layer_x, vy = layer_y;
            continue;
        }
        v = RP_MADD(b->weight[2][k][l], layer, v);
        if (gradient) {
            vx = RP_MADD(b->weight[2][k][l], layer_x, vx);
            vy = RP_MADD(b->weight[2][k][l], layer_y, vy);
            vz = RP_MADD(b->second[2][k][l], layer, vz);
        }
    }
    for (int r = 0; r < RP_DIM; r++) {
        out[r][l] = v[r];
        if (gradient)
            out[3 + r][l] = vx[r], out[6 + r][l] = vy[r], out[9 + r][l] = vz[r];
    }
}

/* The particles of a batch, cell by cell. Lanes that read_four fills beyond the end of a cell belong to the next cells,
 * which come after and overwrite them, or to nobody. */
RP_INLINE void read_batch(int order, bool gradient, const rp__transfer_batch *b, int count, const four *tile, results out)
{
    for (int l = 0; l < count;) {
        int end = rp__transfer_group(b, l, count);
        for (; end - l > 2; l = l + 4 < end ? l + 4 : end)
            read_four(order, gradient, b, l, tile, out);
        for (; l < end; l++)
            read_one(order, gradient, b, l, tile, out);
    }
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

static void store_matrix(double *const *planes, double (*in)[WIDTH], int64_t first, int count)
{
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++)
            memcpy(planes[3 * r + s] + first, in[3 + 3 * s + r], (size_t)count * sizeof(double));
}

static void store_affine(const gather *w, double (*in)[WIDTH], int64_t first, int count)
{
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++) {
            const double *from = in[3 + 3 * s + r];
            if (w->single) {
                float *to = (float *)w->c[3 * r + s] + first;
                for (int l = 0; l < count; l++)
                    to[l] = (float)from[l];
            } else {
                memcpy((double *)w->c[3 * r + s] + first, from, (size_t)count * sizeof(double));
            }
        }
}

static void store_flip(const gather *w, double (*in)[WIDTH], double (*was)[WIDTH], int64_t first, int count)
{
    for (int r = 0; r < RP_DIM; r++) {
        double *restrict v = w->p->v[r] + first;
        for (int l = 0; l < count; l++)
            v[l] = w->flip * (v[l] + (in[r][l] - was[r][l])) + (1 - w->flip) * in[r][l];
    }
}

RP_INLINE void look_ahead(bool affine, const gather *w, int64_t first)
{
    for (int r = 0; r < RP_DIM; r++) {
        RP_AHEAD(w->p->x[r], first, 0);
        RP_AHEAD(w->p->v[r], first, 1);
        for (int s = 0; s < RP_DIM && affine; s++) {
            if (w->single)
                RP_AHEAD((const float *)w->c[3 * r + s], first, 1);
            else
                RP_AHEAD((const double *)w->c[3 * r + s], first, 1);
        }
    }
}

RP_INLINE void batch_to_particles(int order, bool affine, const gather *w, int64_t first, int count, rp__transfer_batch *b,
                                  const four *tile, const four *old)
{
    _Alignas(64) results out;
    double inverse_h = 1 / w->g->lattice.h;
    bool grad = w->grad[0];
    rp__transfer_locate(order, &w->g->lattice, w->p, first, count, b);
    if (first + 3 * BATCH <= w->p->count)
        look_ahead(affine, w, first);
    if (affine || grad) {
        second_weights(order, !affine, inverse_h, b);
        read_batch(order, true, b, count, tile, out);
    } else {
        read_batch(order, false, b, count, tile, out);
    }
    if (!affine && w->before[0]) {
        _Alignas(64) results was;
        read_batch(order, false, b, count, old, was);
        store_flip(w, out, was, first, count);
    } else {
        for (int r = 0; r < RP_DIM; r++)
            memcpy(w->p->v[r] + first, out[r], (size_t)count * sizeof(double));
    }
    if (affine)
        store_affine(w, out, first, count);
    if (grad) {
        if (affine && order > 1) {
            second_weights(order, true, inverse_h, b);
            read_batch(order, true, b, count, tile, out);
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
    rp__transfer_batch b = { 0 }; /* lanes past the batch are read, though not used */
    for (int64_t i = first; i < last; i += BATCH)
        batch_to_particles(order, affine, w, i, last - i < BATCH ? (int)(last - i) : BATCH, &b, tile, old);
    if (w->options->each)
        w->options->each(w->options->context, first, last);
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
    assert(options->order >= 1 && options->order <= 3);
    bool affine = options->kind == RP_TRANSFER_APIC && options->gradient >= 0;
    gather w = { .g = g, .p = p, .flip = options->flip, .options = options };
    w.single = affine && p->info[options->gradient].type == RP_F32;
    for (int a = 0; a < RP_DIM; a++) {
        w.velocity[a] = velocity[a];
        if (options->kind == RP_TRANSFER_FLIP && before)
            w.before[a] = before[a];
        for (int b = 0; b < RP_DIM && affine; b++)
            w.c[3 * a + b] = rp__particles_plane(p, options->gradient, 3 * a + b);
    }
    for (int n = 0; n < 9 && grad; n++)
        w.grad[n] = grad[n];
    rp__exec_for(g->blocks, 2, functions[affine][options->order - 1], &w);
}

/* ---- one scalar ---- */

RP_INLINE void scalar_blocks(int order, void *context, int64_t begin, int64_t end)
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
    scalar_blocks(1, context, begin, end);
}
static void scalar_2(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    scalar_blocks(2, context, begin, end);
}
static void scalar_3(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    scalar_blocks(3, context, begin, end);
}

void RP_D(rp__transfer_scalar_to_particles)(const rp__grid *g, const rp__particles *p, int order, const double *value, double *result)
{
    static const rp__exec_fn functions[3] = { scalar_1, scalar_2, scalar_3 };
    assert(order >= 1 && order <= 3);
    gather w = { .g = g, .value = value, .result = result };
    w.p = (rp__particles *)(uintptr_t)p; /* only read here */
    rp__exec_for(g->blocks, 2, functions[order - 1], &w);
}
