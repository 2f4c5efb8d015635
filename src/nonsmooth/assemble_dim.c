/* From particles to the grid: lumped mass, APIC momentum, volumes, averages of material numbers, and the compact operator
 * g_ij = sum_p V_p N_i(x_p) grad N_j(x_p).
 *
 * In cells that are full, the sum is replaced by the integral over the cell at the largest volume fraction. Particles that lie
 * unevenly make the sum differ from the integral by a part e, and under a depth of n cells that acts as a body force of e n
 * times the weight: deep layers would flow below their angle, and lose volume as they do. Evenly filled cells have no such
 * error; towards the surface, and where grains are loose, the particles themselves count.
 *
 * Along one axis the products of two linear shape functions are the Bernstein polynomials P = ((1-t)^2, t(1-t), t^2), and
 * l_0 = P_0 + P_1, l_1 = P_1 + P_2. So the sums over the particles of a cell of V P_a(x) P_b(y) P_c(z), 27 numbers that are
 * never negative, hold every entry of g that the cell gives: 192 in 3D. Particles are sorted by cell: one expansion a cell. */
#include "nonsmooth/system.h"

#include "exec/exec.h"

#include <math.h>
#include <string.h>

typedef struct job {
    ns_system *y;
    const rp__world *world;
    const double *gradient[9], *friction, *cohesion, *looseness;
    double inverse_phi[64]; /* of the materials */
    bool varied;
} job;

typedef struct cell_sums {
    ns_four b[NS_BERNSTEIN / 3];   /* [c * 3 + b][a]: sum V P_a P_b P_c */
    ns_four corner[NS_CORNERS];    /* sum m N (v + c (x_i - x_p)), mass in the last */
    ns_four extra[NS_CORNERS];     /* varied: sum N V (1/phi, mu^, c) */
    ns_four whole;                 /* varied: the same without N, and V eta */
    double loose[NS_CORNERS];      /* sum V s N */
    double volume;
} cell_sums;

/* Cells filled to this part of the largest packing begin to count as evenly filled; from the second on they do. */
#define NS_EVEN_FROM 0.70
#define NS_EVEN_TO 0.85
/* The same when all nodes around the cell are filled to these parts. */
#define NS_INSIDE_FROM 0.65
#define NS_INSIDE_TO 0.75
#define NS_REACHED_FROM 0.5
#define NS_REACHED_TO 0.9
#define NS_CUT_FROM 0.4
#define NS_CUT_TO 0.6

/* Coordinates of a corner. */
#define CX(i) ((i) & 1)
#define CY(i) ((i) >> 1 & 1)
#define CZ(i) ((i) >> 2)

static double inverse_phi(const job *w, int32_t material)
{
    return material < 64 ? w->inverse_phi[material] : 1 / w->world->materials[material].volume_fraction;
}

NS_INLINE void add_particle(const job *w, int64_t i, const double *t, cell_sums *s)
{
    const rp__particles *p = w->world->particles;
    const double h = w->y->lattice.h, m = p->mass[i], v = p->volume[i];
    s->volume += v;
    ns_four px = { (1 - t[0]) * (1 - t[0]), t[0] * (1 - t[0]), t[0] * t[0], 0 };
    double y[3] = { (1 - t[1]) * (1 - t[1]), t[1] * (1 - t[1]), t[1] * t[1] };
    double lx[2] = { 1 - t[0], t[0] }, ly[2] = { 1 - t[1], t[1] };
    const double *const *c = w->gradient;
#if RP_DIM == 3
    double z[3] = { (1 - t[2]) * (1 - t[2]) * v, t[2] * (1 - t[2]) * v, t[2] * t[2] * v };
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            s->b[k * 3 + j] += (z[k] * y[j]) * px;
    ns_four ex = { h * c[0][i], h * c[3][i], h * c[6][i], 0 };
    ns_four ey = { h * c[1][i], h * c[4][i], h * c[7][i], 0 };
    ns_four ez = { h * c[2][i], h * c[5][i], h * c[8][i], 0 };
    ns_four base = { p->v[0][i], p->v[1][i], p->v[2][i], 1 };
    base = (base - t[0] * ex - t[1] * ey - t[2] * ez) * m;
    ex *= m, ey *= m, ez *= m;
    double lz[2] = { 1 - t[2], t[2] };
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 2; j++) {
            double n = lz[k] * ly[j];
            ns_four at = base + (double)k * ez + (double)j * ey;
            s->corner[k * 4 + j * 2] += (n * lx[0]) * at;
            s->corner[k * 4 + j * 2 + 1] += (n * lx[1]) * (at + ex);
        }
#else
    for (int j = 0; j < 3; j++)
        s->b[j] += (v * y[j]) * px;
    ns_four ex = { h * c[0][i], h * c[3][i], 0, 0 };
    ns_four ey = { h * c[1][i], h * c[4][i], 0, 0 };
    ns_four base = { p->v[0][i], p->v[1][i], 0, 1 };
    base = (base - t[0] * ex - t[1] * ey) * m;
    ex *= m, ey *= m;
    for (int j = 0; j < 2; j++) {
        ns_four at = base + (double)j * ey;
        s->corner[j * 2] += (ly[j] * lx[0]) * at;
        s->corner[j * 2 + 1] += (ly[j] * lx[1]) * (at + ex);
    }
#endif
    double loose = v * w->looseness[i];
    if (loose != 0)
        for (int k = 0; k < NS_CORNERS; k++) {
#if RP_DIM == 3
            s->loose[k] += loose * lx[CX(k)] * ly[CY(k)] * lz[CZ(k)];
#else
            s->loose[k] += loose * lx[CX(k)] * ly[CY(k)];
#endif
        }
    if (w->varied) {
        ns_four e = { v * inverse_phi(w, p->material[i]), v * w->friction[i], v * w->cohesion[i], 0 };
        s->whole += e;
        s->whole[3] += v * w->world->materials[p->material[i]].viscosity;
#if RP_DIM == 3
        for (int k = 0; k < NS_CORNERS; k++)
            s->extra[k] += (lx[CX(k)] * ly[CY(k)] * lz[CZ(k)]) * e;
#else
        for (int k = 0; k < NS_CORNERS; k++)
            s->extra[k] += (lx[CX(k)] * ly[CY(k)]) * e;
#endif
    }
}

#if RP_DIM == 3
#define B(ia, ib, ic) (s[((ic) * 3 + (ib)) * 3 + (ia)])
#else
#define B(ia, ib) (s[(ib) * 3 + (ia)])
#endif

/* g of the nodal basis from the sums of one cell. */
static void spread_nodal(ns_system *y, const double *s, const int64_t *node)
{
    const double ih = 1 / y->lattice.h;
#if RP_DIM == 3
    double gx[2][3][3], gy[3][2][3], gz[3][3][2];
    for (int c = 0; c < 3; c++)
        for (int b = 0; b < 3; b++)
            for (int l = 0; l < 2; l++) {
                gx[l][b][c] = ih * (B(l, b, c) + B(l + 1, b, c));
                gy[b][l][c] = ih * (B(b, l, c) + B(b, l + 1, c));
                gz[b][c][l] = ih * (B(b, c, l) + B(b, c, l + 1));
            }
    for (int i = 0; i < 8; i++) {
        int ix = CX(i), iy = CY(i), iz = CZ(i);
        double *g = y->g + node[i] * (NS_STENCIL * 3);
        for (int j = 0; j < 8; j++) {
            int jx = CX(j), jy = CY(j), jz = CZ(j), slot = ((jz - iz + 1) * 3 + jy - iy + 1) * 3 + jx - ix + 1;
            double *to = g + slot * 3;
            to[0] += jx ? gx[ix][iy + jy][iz + jz] : -gx[ix][iy + jy][iz + jz];
            to[1] += jy ? gy[ix + jx][iy][iz + jz] : -gy[ix + jx][iy][iz + jz];
            to[2] += jz ? gz[ix + jx][iy + jy][iz] : -gz[ix + jx][iy + jy][iz];
        }
    }
#else
    double gx[2][3], gy[3][2];
    for (int b = 0; b < 3; b++)
        for (int l = 0; l < 2; l++) {
            gx[l][b] = ih * (B(l, b) + B(l + 1, b));
            gy[b][l] = ih * (B(b, l) + B(b, l + 1));
        }
    for (int i = 0; i < 4; i++) {
        int ix = CX(i), iy = CY(i);
        double *g = y->g + node[i] * (NS_STENCIL * 2);
        for (int j = 0; j < 4; j++) {
            int jx = CX(j), jy = CY(j), slot = (jy - iy + 1) * 3 + jx - ix + 1;
            double *to = g + slot * 2;
            to[0] += jx ? gx[ix][iy + jy] : -gx[ix][iy + jy];
            to[1] += jy ? gy[ix + jx][iy] : -gy[ix + jx][iy];
        }
    }
#endif
}

/* g of the cell-wise basis: N_i = 1 in the cell; 1 = P_0 + 2 P_1 + P_2. */
static void spread_cell(ns_system *y, const double *s, const int64_t *node)
{
    const double ih = 1 / y->lattice.h;
    double *g = y->g + node[0] * (NS_CORNERS * RP_DIM);
    static const double one[3] = { 1, 2, 1 };
#if RP_DIM == 3
    double gx[3][3] = { { 0 } }, gy[3][3] = { { 0 } }, gz[3][3] = { { 0 } };
    for (int c = 0; c < 3; c++)
        for (int b = 0; b < 3; b++)
            for (int a = 0; a < 3; a++) {
                double v = B(a, b, c);
                gx[b][c] += ih * one[a] * v;
                gy[a][c] += ih * one[b] * v;
                gz[a][b] += ih * one[c] * v;
            }
    for (int j = 0; j < 8; j++) {
        int x = CX(j), v = CY(j), z = CZ(j);
        double a = gx[v][z] + gx[v + 1][z] + gx[v][z + 1] + gx[v + 1][z + 1];
        double b = gy[x][z] + gy[x + 1][z] + gy[x][z + 1] + gy[x + 1][z + 1];
        double c = gz[x][v] + gz[x + 1][v] + gz[x][v + 1] + gz[x + 1][v + 1];
        g[3 * j] += x ? a : -a;
        g[3 * j + 1] += v ? b : -b;
        g[3 * j + 2] += z ? c : -c;
    }
#else
    double gx[3] = { 0 }, gy[3] = { 0 };
    for (int b = 0; b < 3; b++)
        for (int a = 0; a < 3; a++) {
            double v = B(a, b);
            gx[b] += ih * one[a] * v;
            gy[a] += ih * one[b] * v;
        }
    for (int j = 0; j < 4; j++) {
        int x = CX(j), v = CY(j);
        double a = gx[v] + gx[v + 1], b = gy[x] + gy[x + 1];
        g[2 * j] += x ? a : -a;
        g[2 * j + 1] += v ? b : -b;
    }
#endif
}

/* sum V N_i and sum V s N_i, from the particles. */
static void spread_volume(ns_system *y, const double *s, const cell_sums *sums, const int64_t *node)
{
    for (int i = 0; i < NS_CORNERS; i++)
        y->loose[node[y->stress_cell ? 0 : i]] += sums->loose[i];
    if (y->stress_cell) {
        y->volume[node[0]] += sums->volume;
        return;
    }
    for (int i = 0; i < NS_CORNERS; i++) {
        int ix = CX(i), iy = CY(i);
        double sum = 0;
#if RP_DIM == 3
        for (int c = CZ(i); c < CZ(i) + 2; c++)
            sum += B(ix, iy, c) + B(ix + 1, iy, c) + B(ix, iy + 1, c) + B(ix + 1, iy + 1, c);
#else
        sum = B(ix, iy) + B(ix + 1, iy) + B(ix, iy + 1) + B(ix + 1, iy + 1);
#endif
        y->volume[node[i]] += sum;
    }
}

static double ramp(double x, double from, double to)
{
    double part = (x - from) / (to - from);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* Part of a cell's sums that is replaced by the even filling: when the cell is full, and its particles reach all its nodes (a full
 * cell alone fills a node by 2^-d; forces on nodes without mass would throw grains about); or when all nodes around it are full, for
 * their means over more particles tell better what lies inside. */
static double even_part(const ns_system *y, const int64_t *node, double bulk)
{
    double own = ramp(bulk / pow(y->lattice.h, RP_DIM), NS_EVEN_FROM, NS_EVEN_TO), least = INFINITY;
    if (y->stress_cell)
        return own;
    for (int i = 0; i < NS_CORNERS; i++) {
        double fill = y->bulk[node[i]] / y->room[node[i]];
        least = fill < least ? fill : least;
    }
    own *= ramp(least * NS_CORNERS, NS_REACHED_FROM, NS_REACHED_TO);
    double inside = ramp(least, NS_INSIDE_FROM, NS_INSIDE_TO);
    return inside > own ? inside : own;
}

/* A cell cut by a body is filled up to the body: the integrals over its part outside count. Few particles lie in such a part, and
 * how full it is is less sure: half full counts as full. */
static void even_out_cut(const ns_system *y, const double *moments, double *b, double volume, double bulk)
{
    double full = pow(y->lattice.h, RP_DIM), room = 0;
    static const double one[3] = { 1, 2, 1 };
    for (int m = 0; m < NS_BERNSTEIN; m++)
        room += moments[m] * one[m % 3] * one[m / 3 % 3] * (RP_DIM == 3 ? one[m / 9] : 1);
    double part = room > 1e-3 ? ramp(bulk / (room * full), NS_CUT_FROM, NS_CUT_TO) : 0;
    for (int m = 0; m < NS_BERNSTEIN; m++)
        b[m] += part * (volume / bulk * full * moments[m] - b[m]);
}

/* The mean of the Bernstein polynomials over a cell is (1/3, 1/6, 1/3) on each axis. */
static void even_out(const ns_system *y, int64_t block, int cell, double *b, double volume, double bulk, const int64_t *node)
{
    static const double mean[3] = { 1.0 / 3, 1.0 / 6, 1.0 / 3 };
    if (y->cut_any && y->cut[block] >> cell & 1) {
        even_out_cut(y, y->cut_moment + (y->cut_first[block] + cell) * NS_BERNSTEIN, b, volume, bulk);
        return;
    }
    double part = even_part(y, node, bulk), full_volume = volume * pow(y->lattice.h, RP_DIM) / bulk;
    if (part == 0)
        return;
    for (int k = 0; k < NS_BERNSTEIN / 3; k++)
        for (int a = 0; a < 3; a++) {
            double even = full_volume * mean[a] * mean[k % 3] * (RP_DIM == 3 ? mean[k / 3] : 1);
            b[3 * k + a] += part * (even - b[3 * k + a]);
        }
}

static void corners_of(const ns_system *y, int64_t block, int cell, int64_t *node)
{
    int tile = ns_tile_of_local(cell);
    for (int i = 0; i < NS_CORNERS; i++)
        node[i] = ns_tile_node(y, block, tile + ns_corner(i));
}

static void flush(const job *w, int64_t block, int cell, const cell_sums *s)
{
    ns_system *y = w->y;
    int64_t node[NS_CORNERS];
    corners_of(y, block, cell, node);
    for (int i = 0; i < NS_CORNERS; i++) {
        y->mass[node[i]] += s->corner[i][3];
        ns_four *to = (ns_four *)(y->u + NS_PAD * node[i]);
        ns_four add = s->corner[i];
        add[3] = 0;
        *to += add;
    }
    double *kept = y->cell + NS_CELL * node[0];
    for (int k = 0; k < NS_BERNSTEIN; k++)
        kept[k] = s->b[k / 3][k % 3];
    kept[NS_BERNSTEIN] = s->volume;
    kept[NS_BERNSTEIN + 1] = w->varied ? s->whole[0] : s->volume * w->inverse_phi[0];
    spread_volume(y, kept, s, node);
    y->viscous[node[0]] = w->varied ? s->whole[3] : s->volume * w->world->materials[0].viscosity;
    if (!w->varied)
        return;
    int stresses = y->stress_cell ? 1 : NS_CORNERS;
    for (int i = 0; i < stresses; i++) {
        ns_four e = y->stress_cell ? s->whole : s->extra[i];
        y->bulk[node[i]] += e[0];
        y->friction[node[i]] += e[1];
        y->cohesion[node[i]] += e[2];
    }
}

/* g from the sums of the cells, when the nodes know how full they are. */
static void spread_block(void *context, int64_t block, int worker)
{
    ns_system *y = ((const job *)context)->y;
    (void)worker;
    for (int cell = 0; cell < RP_BLOCK_NODES; cell++) {
        double *kept = y->cell + NS_CELL * (block * RP_BLOCK_NODES + cell);
        if (!(kept[NS_BERNSTEIN] > 0))
            continue;
        int64_t node[NS_CORNERS];
        corners_of(y, block, cell, node);
        even_out(y, block, cell, kept, kept[NS_BERNSTEIN], kept[NS_BERNSTEIN + 1], node);
        if (y->stress_cell)
            spread_cell(y, kept, node);
        else
            spread_nodal(y, kept, node);
    }
}

/* Local cell of a particle and its place in it. */
NS_INLINE int locate(const ns_system *y, const rp__particles *p, int64_t i, double *t)
{
    int cell = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = floor(q);
        t[a] = ns_inside(q - base);
        cell |= ((int32_t)base & 3) << 2 * a;
    }
    return cell;
}

static void assemble_block(void *context, int64_t block, int worker)
{
    const job *w = context;
    const ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    (void)worker;
    cell_sums sums;
    int cell = -1;
    for (int64_t i = y->grid.first[block]; i < y->grid.first[block + 1]; i++) {
        double t[3];
        int at = locate(y, p, i, t);
        if (at != cell) {
            if (cell >= 0)
                flush(w, block, cell, &sums);
            memset(&sums, 0, sizeof sums);
            cell = at;
        }
        add_particle(w, i, t, &sums);
    }
    if (cell >= 0)
        flush(w, block, cell, &sums);
}

static void clear_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    ns_system *y = ((job *)context)->y;
    size_t first = (size_t)begin * RP_BLOCK_NODES, count = (size_t)(end - begin) * RP_BLOCK_NODES;
    size_t row = (size_t)y->stencil * RP_DIM;
    (void)worker;
    memset(y->mass + first, 0, count * sizeof(double));
    memset(y->u + first * NS_PAD, 0, count * NS_PAD * sizeof(double));
    memset(y->volume + first, 0, count * sizeof(double));
    memset(y->bulk + first, 0, count * sizeof(double));
    memset(y->friction + first, 0, count * sizeof(double));
    memset(y->cohesion + first, 0, count * sizeof(double));
    memset(y->loose + first, 0, count * sizeof(double));
    for (size_t i = first; i < first + count; i++)
        y->cell[NS_CELL * i + NS_BERNSTEIN] = 0;
    memset(y->viscous + first, 0, count * sizeof(double));
    memset(y->g + first * row, 0, count * row * sizeof(double));
}

static job make_job(ns_system *y, const rp__world *world)
{
    job w = { .y = y, .world = world, .varied = y->varied };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_GRADIENT, c);
    w.friction = rp__particles_f64(world->particles, y->first_field + RP__NS_FRICTION, 0);
    w.cohesion = rp__particles_f64(world->particles, y->first_field + RP__NS_COHESION, 0);
    w.looseness = rp__particles_f64(world->particles, y->first_field + RP__NS_LOOSENESS, 0);
    for (int m = 0; m < world->def->material_count && m < 64; m++)
        w.inverse_phi[m] = 1 / world->materials[m].volume_fraction;
    return w;
}

/* Without variety the averages are those of the only material. */
static void fill_uniform(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    double phi = w->inverse_phi[0], mu = rp_material_friction(&w->world->materials[0], RP_DIM);
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        y->bulk[i] = y->volume[i] * phi;
        y->friction[i] = y->volume[i] * mu;
    }
}

void NS(assemble)(ns_system *y, const rp__world *world)
{
    job w = make_job(y, world);
    rp__exec_for(y->grid.blocks, 16, clear_blocks, &w);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, assemble_block, &w);
    if (!w.varied)
        rp__exec_for((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, fill_uniform, &w);
    NS(room)(y, world);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, spread_block, &w);
}

/* Adds v N_i grad N_j at place t of a cell to g. */
static void add_definition(ns_system *y, const int64_t *node, const double *t, double v)
{
    double n[NS_CORNERS], dn[NS_CORNERS][3];
    for (int i = 0; i < NS_CORNERS; i++) {
        int x[3] = { CX(i), CY(i), CZ(i) };
        n[i] = 1;
        for (int a = 0; a < RP_DIM; a++)
            n[i] *= x[a] ? t[a] : 1 - t[a];
        for (int a = 0; a < RP_DIM; a++) {
            dn[i][a] = (x[a] ? 1 : -1) / y->lattice.h;
            for (int b = 0; b < RP_DIM; b++)
                dn[i][a] *= b == a ? 1 : x[b] ? t[b] : 1 - t[b];
        }
    }
    for (int i = 0; i < (y->stress_cell ? 1 : NS_CORNERS); i++)
        for (int j = 0; j < NS_CORNERS; j++) {
            int slot = j;
            if (!y->stress_cell) {
                slot = (CY(j) - CY(i) + 1) * 3 + CX(j) - CX(i) + 1;
#if RP_DIM == 3
                slot += 9 * (CZ(j) - CZ(i) + 1);
#endif
            }
            for (int a = 0; a < RP_DIM; a++)
                y->g[(node[i] * y->stencil + slot) * RP_DIM + a] += v * (y->stress_cell ? 1 : n[i]) * dn[j][a];
        }
}

/* g of the particles first … last - 1 of one cell: each by its place, less the even part, which two Gauss points an axis
 * integrate exactly. */
static void cell_operator_ref(const job *w, int64_t first, int64_t last, const int64_t *node)
{
    ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    double volume = 0, bulk = 0, t[3] = { 0 };
    for (int64_t k = first; k < last; k++) {
        volume += p->volume[k];
        bulk += p->volume[k] * inverse_phi(w, p->material[k]);
    }
    double part = even_part(y, node, bulk), full_volume = volume * pow(y->lattice.h, RP_DIM) / bulk;
    for (int64_t k = first; k < last; k++) {
        locate(y, p, k, t);
        add_definition(y, node, t, (1 - part) * p->volume[k]);
    }
    for (int q = 0; q < NS_CORNERS; q++) {
        for (int a = 0; a < RP_DIM; a++)
            t[a] = 0.5 + ((q >> a & 1) ? 0.5 : -0.5) / sqrt(3);
        add_definition(y, node, t, part * full_volume / NS_CORNERS);
    }
}

/* What one particle brings to the nodes of its cell. */
static void add_particle_ref(const job *w, int64_t k, const double *t, const int64_t *node)
{
    ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    double v = p->volume[k];
    y->viscous[node[0]] += v * w->world->materials[p->material[k]].viscosity;
    for (int i = 0; i < NS_CORNERS; i++) {
        int x[3] = { CX(i), CY(i), CZ(i) };
        double n = 1;
        for (int a = 0; a < RP_DIM; a++)
            n *= x[a] ? t[a] : 1 - t[a];
        y->mass[node[i]] += p->mass[k] * n;
        for (int a = 0; a < RP_DIM; a++) {
            double u = p->v[a][k];
            for (int b = 0; b < RP_DIM; b++)
                u += w->gradient[3 * a + b][k] * y->lattice.h * (x[b] - t[b]);
            y->u[NS_PAD * node[i] + a] += p->mass[k] * n * u;
        }
        int64_t stress = node[y->stress_cell ? 0 : i];
        y->volume[stress] += v * n;
        y->bulk[stress] += v * n * inverse_phi(w, p->material[k]);
        y->friction[stress] += v * n * w->friction[k];
        y->cohesion[stress] += v * n * w->cohesion[k];
        y->loose[stress] += v * n * w->looseness[k];
    }
}

/* Particle by particle, from the definitions. */
void NS(assemble_ref)(ns_system *y, const rp__world *world)
{
    job w = make_job(y, world);
    const rp__particles *p = world->particles;
    int64_t node[NS_CORNERS];
    double t[3] = { 0 };
    clear_blocks(&w, 0, y->grid.blocks, 0);
    for (int64_t block = 0; block < y->grid.blocks; block++)
        for (int64_t k = y->grid.first[block]; k < y->grid.first[block + 1]; k++) {
            corners_of(y, block, locate(y, p, k, t), node);
            add_particle_ref(&w, k, t, node);
        }
    NS(room)(y, world);
    for (int64_t block = 0; block < y->grid.blocks; block++)
        for (int64_t k = y->grid.first[block], next; k < y->grid.first[block + 1]; k = next) {
            int cell = locate(y, p, k, t);
            for (next = k + 1; next < y->grid.first[block + 1] && locate(y, p, next, t) == cell;)
                next++;
            corners_of(y, block, cell, node);
            cell_operator_ref(&w, k, next, node);
        }
}
