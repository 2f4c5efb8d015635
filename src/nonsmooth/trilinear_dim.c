/* `stress: node`, the elements of the paper for comparison: velocities and stresses trilinear at the nodes [daviet2016, §4], on the same sweeps.
 *
 *   g_ij = sum_p V_p N_i(x_p) grad N_j(x_p),     V_i = sum_p V_p N_i(x_p),     k_i = (phi_max ∫N_i - V_i)_+ / (dt Tr e_N)
 *
 * None of the rules of dual elements: no dilatancy, no looseness, no rounded apex, no filling, nothing about rough floors. The stress at a node has the index
 * of the lowest of the 3^d nodes around it, as dual cells do; for its block to be there the grid is that of cubic splines, whose nodes reach
 * one cell farther to both sides. */
#include "nonsmooth/dual.h"

#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { CORNERS = 1 << RP_DIM };

typedef struct job {
    dual *y;
    const rp__world *world;
    const double *friction, *cohesion, *nu[6];
    double *gradient[9];
} job;

/* Weights and gradients of the corners of a particle's cell; where they are in the tile of its block. */
typedef struct corners {
    double n[CORNERS], d[CORNERS][RP_DIM];
    int base;                   /* in the tile: the lowest node of the stress at the lowest corner; the corner itself is one cell on along each axis */
} corners;

static int tile_step(int corner)
{
    return (corner & 1) + DU_SIDE * ((corner >> 1 & 1) + DU_SIDE * (corner >> 2));
}

static void find_corners(const job *w, int64_t i, corners *c)
{
    const dual *y = w->y;
    const rp__particles *p = w->world->particles;
    double t[3];
    int local = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = rp__lattice_base(3, q), place = q - base - 1;
        t[a] = place < 1e-7 ? 1e-7 : place > 1 - 1e-7 ? 1 - 1e-7 : place; /* on a face a node would have a gradient but no mass */
        local |= ((int32_t)base & 3) << 2 * a;
    }
    c->base = du_tile_base(local);
    for (int k = 0; k < CORNERS; k++) {
        c->n[k] = 1;
        for (int a = 0; a < RP_DIM; a++) {
            c->n[k] *= k >> a & 1 ? t[a] : 1 - t[a];
            c->d[k][a] = 1 / y->lattice.h;
            for (int b = 0; b < RP_DIM; b++)
                c->d[k][a] *= b == a ? (k >> b & 1 ? 1 : -1) : k >> b & 1 ? t[b] : 1 - t[b];
        }
    }
}

/* Number in the stencil of the stress at corner s of the node at corner n. */
static int number_of(int s, int n)
{
    int number = 0;
    for (int a = 0, step = 1; a < RP_DIM; a++, step *= 3)
        number += step * (1 + (n >> a & 1) - (s >> a & 1));
    return number;
}

static void add_node(const job *w, int64_t i, int64_t j, const corners *c, int k)
{
    const rp__particles *p = w->world->particles;
    const dual *y = w->y;
    double m = p->mass[i] * c->n[k];
    int64_t at[3];
    rp__grid_coordinates(&y->grid, j, at);
    y->nodes.mass[j] += m;
    y->nodes.bulk[j] += y->bulk[i] * c->n[k];
    for (int a = 0; a < RP_DIM; a++) {
        double v = p->v[a][i];
        for (int b = 0; b < RP_DIM; b++) { /* the node in the image of the domain where the particle is */
            double way = (double)at[b] - rp__lattice_coordinate(&y->lattice, b, p->x[b][i]), period = (double)y->lattice.cells[b];
            way -= y->lattice.periodic[b] ? period * floor(way / period + 0.5) : 0;
            v += w->gradient[3 * a + b][i] * way * y->lattice.h;
        }
        y->nodes.momentum[a][j] += m * v;
    }
}

static void add_stress(const job *w, int64_t i, int64_t s, const corners *c, int k)
{
    dual *y = w->y;
    const rp__particles *p = w->world->particles;
    const rp_material_def *material = &w->world->materials[p->material[i]];
    static const int field[6] = { 0, 1, RP_DIM == 3 ? 2 : 3, 3, 4, 5 };
    double v = p->volume[i] * c->n[k], *g = y->g + s * (NS_STENCIL * RP_DIM);
    du_sum *sum = &y->sum[s];
    sum->volume += v, sum->bulk += y->bulk[i] * c->n[k], sum->mass += p->mass[i] * c->n[k];
    sum->friction += v * w->friction[i], sum->cohesion += v * w->cohesion[i], sum->viscosity += v * material->viscosity;
    sum->count++;
    y->active[s / RP_BLOCK_NODES] |= (uint64_t)1 << s % RP_BLOCK_NODES;
    for (int n = 0; n < CORNERS; n++)
        for (int a = 0; a < RP_DIM; a++)
            g[number_of(k, n) * RP_DIM + a] += v * c->d[n][a];
    for (int m = 0; m < NS_S && w->nu[0]; m++)
        y->orientation[NS_S * s + m] += v * material->anisotropy * w->nu[field[m]][i];
}

static void add_block(void *context, int64_t block, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t i = y->grid.first[block]; i < y->grid.first[block + 1]; i++) {
        corners c;
        find_corners(w, i, &c);
        for (int k = 0; k < CORNERS; k++) {
            add_node(w, i, du_tile_node(y, block, c.base + tile_step(CORNERS - 1) + tile_step(k)), &c, k);
            add_stress(w, i, du_tile_node(y, block, c.base + tile_step(k)), &c, k);
        }
    }
}

static void clear_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    int64_t from = begin * RP_BLOCK_NODES;
    size_t n = (size_t)(end - begin) * RP_BLOCK_NODES;
    (void)worker;
    memset(y->nodes.mass + from, 0, n * sizeof(double));
    memset(y->nodes.bulk + from, 0, n * sizeof(double));
    for (int a = 0; a < RP_DIM; a++)
        memset(y->nodes.momentum[a] + from, 0, n * sizeof(double));
    memset(y->sum + from, 0, n * sizeof *y->sum);
    memset(y->g + from * NS_STENCIL * RP_DIM, 0, n * NS_STENCIL * RP_DIM * sizeof *y->g);
    memset(y->active + begin, 0, (size_t)(end - begin) * sizeof *y->active);
    if (w->nu[0])
        memset(y->orientation + from * NS_S, 0, n * NS_S * sizeof(double));
}

static job make_job(dual *y, const rp__world *world)
{
    const rp__particles *p = world->particles;
    job w = { .y = y, .world = world };
    w.friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    w.cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(p, y->first_field + RP__NS_GRADIENT, c);
    return w;
}

void DU(assemble_trilinear)(dual *y, const rp__world *world)
{
    job w = make_job(y, world);
    for (int c = 0; c < 6 && y->upkeep->oriented && y->law != NS_LAW_ISOTROPIC; c++)
        w.nu[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_ORIENTATION, c);
    rp__exec_for(y->grid.blocks, 8, clear_blocks, &w);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, add_block, &w);
}

/* The paper's gap; friction and cohesion are means of the particles. */
void DU(prepare_trilinear)(dual *y, int64_t i, int64_t node, double dt)
{
    du_stress *s = &y->stress[i];
    const du_sum *sum = &y->sum[i];
    double phi = sum->volume / sum->bulk, gap = phi * y->nodes.room[node] - sum->volume;
    memset(s, 0, sizeof *s);
    s->volume = sum->volume;
    s->mu = NS_CONE * sum->friction / sum->volume;
    s->k = y->params->compaction == RP__COMPACT_FRACTION && gap > 0 ? gap / (dt * NS_TRACE) : 0;
    s->cohesion = NS_COHESION_N * sum->cohesion / sum->volume;
    s->ratio = sum->viscosity / (sum->volume * s->volume);
    double part = sum->bulk / du_power(y->lattice.h);
    s->weight = part < 1 ? part : 1;
    s->strict = 1;
    s->pressed = NS_COHESION_N * DU_PRESSED * sum->mass / sum->volume * y->gravity * y->lattice.h;
}

static void velocities_of_block(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dual *y = w->y;
    rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (int64_t i = y->grid.first[b]; i < y->grid.first[b + 1]; i++) {
            corners c;
            double v[3] = { 0 }, grad[9] = { 0 };
            find_corners(w, i, &c);
            for (int k = 0; k < CORNERS; k++) {
                int64_t j = du_tile_node(y, b, c.base + tile_step(CORNERS - 1) + tile_step(k));
                for (int a = 0; a < RP_DIM; a++) {
                    v[a] += c.n[k] * y->nodes.after[a][j];
                    for (int d = 0; d < RP_DIM; d++)
                        grad[3 * a + d] += y->nodes.after[a][j] * c.d[k][d];
                }
            }
            for (int a = 0; a < RP_DIM; a++)
                p->v[a][i] = v[a];
            for (int k = 0; k < 9; k++)
                w->gradient[k][i] = grad[k];
        }
}

/* v_p = sum_j N_j u_j,  c_p = sum_j u_j (x) grad N_j. */
void DU(velocities_trilinear)(dual *y, const rp__world *world)
{
    job w = make_job(y, world);
    rp__exec_for(y->grid.blocks, 8, velocities_of_block, &w);
}
