/* Particles to grid. Each block sums its particles in a tile, then adds the tile to the grid, colour by colour: a node
 * receives its blocks in the order of their colours, whatever the threads. */
#include "transfer/tile.h"

#include "exec/exec.h"

#include <string.h>

typedef rp__transfer_four four;

typedef struct scatter {
    const rp__grid *g;
    const rp__particles *p;
    const double *c[3][3]; /* planes of c_p, NULL without */
    const double *weight;  /* for a single scalar */
    double *plane[4];      /* mass, momentum; or the value alone */
    int planes;
} scatter;

/* What a particle brings to node base + (i, j, k): N_j (A + i Gx + j Gy + k Gz), with the mass in front:
 * A = m (1, v + c (x_base - x_p)), Ga = m h (0, column a of c). */
typedef struct load {
    _Alignas(64) double a[BATCH][4];
    _Alignas(64) double g[BATCH][3][4];
} load;

RP_INLINE void make_load(const scatter *w, const rp__transfer_batch *b, bool affine, int64_t first, int count, load *out)
{
    double h = w->g->lattice.h;
    for (int l = 0; l < count; l++) {
        double m = w->p->mass[first + l];
        out->a[l][0] = m;
        for (int r = 0; r < RP_DIM; r++) {
            double v = w->p->v[r][first + l];
            for (int s = 0; s < RP_DIM && affine; s++) {
                double c = w->c[r][s][first + l] * h;
                v -= c * b->t[s][l];
                out->g[l][s][1 + r] = m * c;
            }
            out->a[l][1 + r] = m * v;
        }
    }
}

RP_INLINE void add_particle(int order, bool affine, const rp__transfer_batch *b, const load *in, int l, four *tile)
{
    int nodes = order + 1, side = RP_BLOCK + order, layers = RP_DIM == 3 ? nodes : 1;
    four a, gx, gy, gz, row[4], step_y[4], step_z[4];
    memcpy(&a, in->a[l], sizeof a);
    memcpy(&gx, in->g[l][0], sizeof gx);
    memcpy(&gy, in->g[l][1], sizeof gy);
    memcpy(&gz, in->g[l][2], sizeof gz);
    for (int i = 0; i < nodes; i++) {
        row[i] = b->weight[0][i][l] * (affine ? a + (double)i * gx : a);
        if (affine) {
            step_y[i] = b->weight[0][i][l] * gy;
            step_z[i] = b->weight[0][i][l] * gz;
        }
    }
    four *at = tile + b->start[l];
    for (int k = 0; k < layers; k++) {
        four here[4];
        for (int i = 0; i < nodes; i++)
            here[i] = row[i];
        for (int j = 0; j < nodes; j++) {
            double weight = RP_DIM == 3 ? b->weight[1][j][l] * b->weight[2][k][l] : b->weight[1][j][l];
            for (int i = 0; i < nodes; i++) {
                at[(k * side + j) * side + i] += weight * here[i];
                if (affine)
                    here[i] += step_y[i];
            }
        }
        for (int i = 0; i < nodes && affine && RP_DIM == 3; i++)
            row[i] += step_z[i];
    }
}

/* Adds plane n of the tile to the grid. */
RP_INLINE void add_tile(int order, const scatter *w, int64_t block, const four *tile)
{
    int side = RP_BLOCK + order;
    for (int oz = 0; oz < (RP_DIM == 3 ? 2 : 1); oz++) {
        for (int oy = 0; oy < 2; oy++) {
            for (int ox = 0; ox < 2; ox++) {
                int64_t owner = rp__transfer_owner(w->g, block, ox, oy, oz) * RP_BLOCK_NODES;
                int nx = ox ? order : RP_BLOCK, ny = oy ? order : RP_BLOCK, nz = RP_DIM == 2 ? 1 : oz ? order : RP_BLOCK;
                for (int k = 0; k < nz; k++) {
                    for (int j = 0; j < ny; j++) {
                        int64_t to = owner + (k * RP_BLOCK + j) * RP_BLOCK;
                        const four *from = tile + ((k + 4 * oz) * side + j + 4 * oy) * side + 4 * ox;
                        for (int n = 0; n < 1 + RP_DIM; n++)
                            for (int i = 0; i < nx; i++)
                                w->plane[n][to + i] += from[i][n];
                    }
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
    int side = RP_BLOCK + order;
    four tile[TILE_NODES];
    rp__transfer_batch b;
    load in;
    memset(tile, 0, (size_t)(RP_DIM == 3 ? side * side * side : side * side) * sizeof tile[0]);
    memset(&in, 0, sizeof in);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        rp__transfer_locate(order, &w->g->lattice, w->p, first, count, &b);
        make_load(w, &b, affine, first, count, &in);
        for (int l = 0; l < count; l++)
            add_particle(order, affine, &b, &in, l, tile);
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
    bool affine = options->kind == RP_TRANSFER_APIC && options->gradient >= 0;
    scatter w = { .g = g, .p = p, .plane = { mass }, .planes = 1 + RP_DIM };
    for (int a = 0; a < RP_DIM; a++) {
        w.plane[1 + a] = momentum[a];
        for (int b = 0; b < RP_DIM && affine; b++)
            w.c[a][b] = rp__particles_f64(p, options->gradient, 3 * a + b);
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
    scatter w = { .g = g, .p = p, .weight = weight, .plane = { value }, .planes = 1 };
    run_colours(&w, functions[order - 1]);
}
