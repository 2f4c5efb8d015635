/* Particles to grid. Each block sums its particles in a tile, then adds the tile to the grid, colour by colour: a node
 * receives its blocks in the order of their colours, whatever the threads. */
#include "transfer/tile.h"

#include "exec/exec.h"

#include <assert.h>
#include <string.h>

typedef rp__transfer_four four;

typedef struct scatter {
    const rp__grid *g;
    const rp__particles *p;
    const void *c[3][3];   /* planes of c_p, NULL without */
    bool single;           /* they are of float */
    const rp__transfer_options *options;
    const double *weight;  /* for a single scalar */
    double *plane[4];      /* mass, momentum; or the value alone */
    int planes;
} scatter;

/* What a particle brings to node base + (i, j, k): w_j w_k (row_i + j dy_i + k dz_i), with the mass in front:
 * row_i = w_i (A + i Gx), dy_i = w_i Gy, dz_i = w_i Gz, A = m (1, v + c (x_base - x_p)), Ga = m h (0, column a of c). */
typedef struct load {
    four row[BATCH][4], dy[BATCH][4], dz[BATCH][4];
    _Alignas(64) double weight[16][BATCH]; /* w_j w_k at k (order + 1) + j */
} load;

/* A and G of four particles, one after the other: what[n] and g[a][n] of particle n. */
RP_INLINE void load_four(bool affine, double h, const double *m, const double *const v[3], const double *const c[3][3],
                         const rp__transfer_batch *b, int l, four what[4], four g[3][4])
{
    four mass, scaled, zero = { 0 };
    rp__transfer_load(&mass, m + l);
    scaled = mass * h;
    what[0] = mass, what[3] = zero;
    for (int s = 0; s < RP_DIM; s++)
        g[s][0] = g[s][3] = zero;
    for (int r = 0; r < RP_DIM; r++) {
        four velocity, t, gradient;
        rp__transfer_load(&velocity, v[r] + l);
        what[1 + r] = mass * velocity;
        for (int s = 0; s < RP_DIM && affine; s++) {
            rp__transfer_load(&gradient, c[r][s] + l);
            rp__transfer_load(&t, &b->t[s][l]);
            g[s][1 + r] = scaled * gradient;
            what[1 + r] -= g[s][1 + r] * t;
        }
    }
    rp__transfer_transpose(what);
    for (int s = 0; s < RP_DIM && affine; s++)
        rp__transfer_transpose(g[s]);
}

RP_INLINE void make_load(int order, bool affine, const scatter *w, const rp__transfer_batch *b, int64_t first, int count, load *out)
{
    int nodes = order + 1, layers = RP_DIM == 3 ? nodes : 1;
    const double *c[3][3] = { { NULL } }, *v[3], *m;
    double room[13][BATCH];
    m = rp__transfer_lanes(w->p->mass, first, count, room[0]);
    for (int r = 0; r < RP_DIM; r++) {
        v[r] = rp__transfer_lanes(w->p->v[r], first, count, room[1 + r]);
        for (int s = 0; s < RP_DIM && affine; s++)
            c[r][s] = rp__transfer_wide_lanes(w->c[r][s], w->single, first, count, room[4 + 3 * r + s]);
    }
    for (int l = 0; l < BATCH; l += 4) {
        four what[4], g[3][4];
        load_four(affine, w->g->lattice.h, m, v, (const double *const (*)[3])c, b, l, what, g);
        for (int n = 0; n < 4; n++) {
            for (int i = 0; i < nodes; i++) {
                double weight = b->weight[0][i][l + n];
                out->row[l + n][i] = weight * what[n];
                if (affine) {
                    what[n] += g[0][n];
                    out->dy[l + n][i] = weight * g[1][n];
                    if (RP_DIM == 3)
                        out->dz[l + n][i] = weight * g[2][n];
                }
            }
        }
    }
    for (int k = 0; k < layers; k++)
        for (int j = 0; j < nodes; j++)
#pragma omp simd
            for (int l = 0; l < BATCH; l++)
                out->weight[k * nodes + j][l] = RP_DIM == 3 ? b->weight[1][j][l] * b->weight[2][k][l] : b->weight[1][j][l];
}

/* Rows (of nodes along x) that are summed together, so that the sums stay in registers, and all there are. */
#define TOGETHER(order) ((order) == 1 ? 1 << (RP_DIM - 1) : (order) == 2 ? 3 : 2)
#define ALL_ROWS(order) (RP_DIM == 3 ? ((order) + 1) * ((order) + 1) : (order) + 1)

/* Sums the particles begin … end - 1 of a batch, all in one cell, into some rows of the tile. */
RP_INLINE void add_rows(int order, bool affine, int row, const load *in, int begin, int end, four *at)
{
    int nodes = order + 1, side = RP_BLOCK + order, rows = TOGETHER(order);
    if (row >= ALL_ROWS(order))
        return;
    four sum[9];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < nodes; i++)
            sum[r * nodes + i] = at[((row + r) / nodes * side + (row + r) % nodes) * side + i];
    for (int l = begin; l < end; l++) {
        four here[4];
        for (int i = 0; i < nodes; i++) {
            here[i] = in->row[l][i];
            if (affine && row % nodes > 0)
                here[i] = RP_MADD(row % nodes, in->dy[l][i], here[i]);
            if (affine && row / nodes > 0)
                here[i] = RP_MADD(row / nodes, in->dz[l][i], here[i]);
        }
        for (int r = 0; r < rows; r++) {
            for (int i = 0; i < nodes; i++)
                sum[r * nodes + i] = RP_MADD(in->weight[row + r][l], here[i], sum[r * nodes + i]);
            for (int i = 0; i < nodes && affine && r + 1 < rows; i++)
                here[i] = r + 1 == nodes ? in->row[l][i] + in->dz[l][i] : here[i] + in->dy[l][i];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < nodes; i++)
            at[((row + r) / nodes * side + (row + r) % nodes) * side + i] = sum[r * nodes + i];
}

RP_INLINE void add_group(int order, bool affine, const load *in, int begin, int end, four *at)
{
    add_rows(order, affine, 0, in, begin, end, at);
    add_rows(order, affine, TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 2 * TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 3 * TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 4 * TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 5 * TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 6 * TOGETHER(order), in, begin, end, at);
    add_rows(order, affine, 7 * TOGETHER(order), in, begin, end, at);
}

/* Adds up to four nodes of a row of the tile to the planes of the grid. */
RP_INLINE void add_row(const scatter *w, const four *from, int count, int64_t to)
{
    four r[4] = { from[0], from[1], from[2], from[3] };
    rp__transfer_transpose(r);
    for (int n = 0; n < 1 + RP_DIM; n++) {
        rp__transfer_cut(&r[n], count);
        *(rp__transfer_any_four *)(void *)(w->plane[n] + to) += r[n];
    }
}

/* Adds the tile to the grid. */
RP_INLINE void add_tile(int order, const scatter *w, int64_t block, const four *tile)
{
    int side = RP_BLOCK + order;
    for (int oz = 0; oz < (RP_DIM == 3 ? 2 : 1); oz++) {
        for (int oy = 0; oy < 2; oy++) {
            int64_t near = rp__transfer_owner(w->g, block, 0, oy, oz) * RP_BLOCK_NODES;
            int64_t far = rp__transfer_owner(w->g, block, 1, oy, oz) * RP_BLOCK_NODES;
            int ny = oy ? order : RP_BLOCK, nz = RP_DIM == 2 ? 1 : oz ? order : RP_BLOCK;
            for (int k = 0; k < nz; k++) {
                for (int j = 0; j < ny; j++) {
                    const four *from = tile + ((k + 4 * oz) * side + j + 4 * oy) * side;
                    int64_t to = (k * RP_BLOCK + j) * RP_BLOCK;
                    add_row(w, from, 4, near + to);
                    add_row(w, from + 4, order, far + to);
                }
            }
        }
    }
}

RP_INLINE void block_to_grid(int order, bool affine, const scatter *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    if (first == last)
        return;
    if (w->options->each)
        w->options->each(w->options->context, first, last);
    int side = RP_BLOCK + order;
    four tile[TILE_NODES];
    rp__transfer_batch b;
    load in;
    memset(tile, 0, (size_t)((RP_DIM == 3 ? side * side * side : side * side) + 3) * sizeof tile[0]);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        rp__transfer_locate(order, &w->g->lattice, w->p, first, count, &b);
        make_load(order, affine, w, &b, first, count, &in);
        for (int l = 0, end; l < count; l = end) {
            end = rp__transfer_group(&b, l, count);
            add_group(order, affine, &in, l, end, tile + b.start[l]);
        }
    }
    add_tile(order, w, block, tile);
}

#define BLOCK_TO_GRID(name, order, affine)                              \
    static void name(void *context, int64_t block, int worker)          \
    {                                                                   \
        (void)worker;                                                   \
        block_to_grid(order, affine, (const scatter *)context, block);  \
    }
BLOCK_TO_GRID(to_grid_1, 1, false)
BLOCK_TO_GRID(to_grid_2, 2, false)
BLOCK_TO_GRID(to_grid_3, 3, false)
BLOCK_TO_GRID(to_grid_1_affine, 1, true)
BLOCK_TO_GRID(to_grid_2_affine, 2, true)
BLOCK_TO_GRID(to_grid_3_affine, 3, true)

static void clear_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const scatter *w = context;
    (void)worker;
    for (int n = 0; n < w->planes; n++)
        memset(w->plane[n] + begin, 0, (size_t)(end - begin) * sizeof(double));
}

static void run_colours(scatter *w, rp__exec_item_fn function)
{
    rp__exec_for((int64_t)w->g->blocks * RP_BLOCK_NODES, 1 << 14, clear_chunk, w);
    rp__exec_colors(w->g->colours, w->g->colour_first, w->g->colour_items, 1, function, w);
}

void RP_D(rp__transfer_to_grid)(const rp__grid *g, const rp__particles *p, const rp__transfer_options *options,
                                double *mass, double *const momentum[3])
{
    static const rp__exec_item_fn functions[2][3] = { { to_grid_1, to_grid_2, to_grid_3 },
                                                      { to_grid_1_affine, to_grid_2_affine, to_grid_3_affine } };
    assert(options->order >= 1 && options->order <= 3);
    bool affine = options->kind == RP_TRANSFER_APIC && options->gradient >= 0;
    scatter w = { .g = g, .p = p, .plane = { mass }, .planes = 1 + RP_DIM, .options = options };
    w.single = affine && p->info[options->gradient].type == RP_F32;
    for (int a = 0; a < RP_DIM; a++) {
        w.plane[1 + a] = momentum[a];
        for (int b = 0; b < RP_DIM && affine; b++)
            w.c[a][b] = rp__particles_plane(p, options->gradient, 3 * a + b);
    }
    run_colours(&w, functions[affine][options->order - 1]);
}

/* ---- one scalar ---- */

RP_INLINE void block_scalar(int order, const scatter *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    if (first == last)
        return;
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1, depth = RP_DIM == 3 ? side : 1;
    double tile[TILE_NODES];
    rp__transfer_batch b;
    memset(tile, 0, (size_t)(depth * side * side) * sizeof tile[0]);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        rp__transfer_locate(order, &w->g->lattice, w->p, first, count, &b);
        for (int l = 0; l < count; l++) {
            double *at = tile + b.start[l];
            for (int k = 0; k < layers; k++) {
                double layer = w->weight[first + l] * (RP_DIM == 3 ? b.weight[2][k][l] : 1);
                for (int j = 0; j < nodes; j++)
                    for (int i = 0; i < nodes; i++)
                        at[(k * side + j) * side + i] += layer * b.weight[1][j][l] * b.weight[0][i][l];
            }
        }
    }
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < side; j++)
            for (int i = 0; i < side; i++) {
                int64_t owner = rp__transfer_owner(w->g, block, i >> 2, j >> 2, k >> 2);
                w->plane[0][owner * RP_BLOCK_NODES + ((k & 3) * 4 + (j & 3)) * 4 + (i & 3)] += tile[(k * side + j) * side + i];
            }
}

#define BLOCK_SCALAR(name, order)                              \
    static void name(void *context, int64_t block, int worker) \
    {                                                          \
        (void)worker;                                          \
        block_scalar(order, (const scatter *)context, block);  \
    }
BLOCK_SCALAR(scalar_1, 1)
BLOCK_SCALAR(scalar_2, 2)
BLOCK_SCALAR(scalar_3, 3)

void RP_D(rp__transfer_scalar_to_grid)(const rp__grid *g, const rp__particles *p, int order, const double *weight, double *value)
{
    static const rp__exec_item_fn functions[3] = { scalar_1, scalar_2, scalar_3 };
    assert(order >= 1 && order <= 3);
    scatter w = { .g = g, .p = p, .weight = weight, .plane = { value }, .planes = 1 };
    run_colours(&w, functions[order - 1]);
}
