/* From particles to nodes and cells.
 *
 *   V_j = sum_p V_p N_j,   m_j u_j = sum_p m_p N_j (v_p + c_p (x_j - x_p))   [daviet2016, (16)-(17)],   g_cj = sum_p V_p ∇N_j over cell c
 *
 * Columns of one colour share no node, so that they may add to their nodes at once, in an order that no number of threads changes. */
#include "diphasic/closure.h"
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
    double *gradient[9], *looseness, *packing;
} job;

/* The cell of a particle and its place in it; particles on or beyond a face belong to the cell before it. */
DP_INLINE void locate(const dp_system *y, const rp__particles *p, int64_t i, int64_t at[3], double t[RP_DIM])
{
    at[2] = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double x = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = floor(x);
        base = base < 0 ? 0 : base > (double)(y->cells[a] - 1) ? (double)(y->cells[a] - 1) : base;
        at[a] = (int64_t)base;
        t[a] = x - base;
        t[a] = t[a] < 0 ? 0 : t[a] > 1 ? 1 : t[a];
    }
}

/* Into the domain, a hair inside its faces: the block of a particle is then that of its cell. */
static void put_inside(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    rp__particles *p = w->world->particles;
    (void)worker;
    for (int a = 0; a < RP_DIM; a++) {
        double h = y->lattice.h, low = y->lattice.origin[a] + 1e-9 * h, high = y->lattice.origin[a] + h * ((double)y->cells[a] - 1e-9);
        if (!y->lattice.periodic[a])
            for (int64_t i = begin; i < end; i++)
                p->x[a][i] = p->x[a][i] < low ? low : p->x[a][i] > high ? high : p->x[a][i];
    }
}

/* Particles are sorted by block and cell: those of a cell follow one another. */
static void find_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t last = -1;
        for (int64_t i = y->grid.first[b]; i < y->grid.first[b + 1]; i++) {
            int64_t at[3];
            double t[RP_DIM];
            locate(y, w->world->particles, i, at, t);
            int64_t c = dp_cell_index(y, at);
            if (c != last)
                y->cell_first[c] = i;
            y->cell_particles[c]++;
            last = c;
        }
    }
}

static rp_result reserve(dp_system *y, int64_t count)
{
    if (count > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "%lld cells have grains in them; the method diphasic takes at most %d", (long long)count, INT32_MAX);
    int64_t capacity = y->stress_capacity;
    return rp__base_grow(&y->stress, &capacity, count + 1, sizeof *y->stress) ? (y->stress_capacity = capacity, RP_OK) : RP_OUT_OF_MEMORY;
}

/* Numbers the cells with grains, column by column. */
static rp_result number_cells(dp_system *y)
{
    int64_t count = 0, next = 0, columns = 0;
    int other[2] = { y->up == 0 ? 1 : 0, y->up == 2 ? 1 : 2 };
    for (int64_t c = 0; c < y->cell_count; c++)
        count += y->cell_particles[c] > 0;
    RP_TRY(reserve(y, count));
    for (int64_t c = 0; c < y->cell_count; c++)
        y->stress_of[c] = -1;
    for (int colour = 0; colour < DP_CORNERS / 2; colour++) {
        y->colour_first[colour] = columns;
        for (int64_t j = colour >> 1; j < y->cells[other[1]]; j += RP_DIM == 3 ? 2 : 1)
            for (int64_t i = colour & 1; i < y->cells[other[0]]; i += 2) {
                int64_t at[3] = { 0 }, start = next;
                at[other[0]] = i, at[other[1]] = j;
                for (at[y->up] = 0; at[y->up] < y->cells[y->up]; at[y->up]++) {
                    int64_t cell = dp_cell_index(y, at);
                    if (!y->cell_particles[cell])
                        continue;
                    y->stress_of[cell] = (int32_t)next;
                    y->stress[next].cell = cell;
                    int64_t corner[DP_CORNERS];
                    dp_corners(y, at, corner);
                    for (int n = 0; n < DP_CORNERS; n++)
                        y->stress[next].node[n] = (int32_t)corner[n];
                    next++;
                }
                if (next > start) {
                    y->column_first[columns] = start;
                    y->column_items[columns] = (int32_t)columns;
                    columns++;
                }
            }
    }
    y->colour_first[DP_CORNERS / 2] = columns;
    y->column_first[columns] = next;
    y->column_count = columns;
    y->stress_count = next;
    return RP_OK;
}

static void add_particle(const job *w, dp_stress *s, int64_t i)
{
    dp_system *y = w->y;
    const rp__particles *p = w->world->particles;
    const rp_material_def *material = &w->world->materials[p->material[i]];
    double t[RP_DIM], weight[DP_CORNERS], gradient[DP_CORNERS][RP_DIM], volume = p->volume[i], h = y->lattice.h;
    int64_t at[3];
    locate(y, p, i, at, t);
    dp_weights(t, weight);
    dp_gradients(t, 1 / h, gradient);
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t j = s->node[n];
        double m = weight[n] * p->mass[i];
        y->grains[j] += weight[n] * volume;
        y->mass[j] += m;
        y->diameter[j] += weight[n] * volume * material->grain_diameter;
        for (int a = 0; a < RP_DIM; a++) {
            double v = p->v[a][i];
            for (int b = 0; b < RP_DIM; b++)
                v += w->gradient[3 * a + b][i] * h * ((n >> b & 1) - t[b]);
            y->momentum[RP_DIM * j + a] += m * v;
            s->g[n][a] += volume * gradient[n][a];
        }
    }
    double loose = w->looseness[i];
    s->volume += volume;
    s->mass += p->mass[i];
    s->packing += volume * w->packing[i];
    s->loose += volume * loose;
    s->touching += loose > 0 ? 0 : volume;
    s->mu += volume * DP_CONTACT * rp_material_friction(material, RP_DIM);
    s->weight += volume / material->volume_fraction;
    if (material->friction_dynamic > 0) {
        s->faster += volume * fmax(0, material->friction_dynamic - rp_material_friction(material, RP_DIM));
        s->inertia += volume * material->grain_diameter * sqrt(material->density) / material->inertial_number;
    }
}

static void add_column(void *context, int64_t column, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = y->column_first[column]; k < y->column_first[column + 1]; k++) {
        dp_stress *s = &y->stress[k];
        memset(s->g, 0, sizeof s->g);
        s->volume = s->mass = s->packing = s->loose = s->touching = s->mu = s->weight = s->faster = s->inertia = 0;
        s->touches = false;
        s->leaves = dp_leaves(y, s->cell);
        for (int64_t i = y->cell_first[s->cell], n = 0; n < y->cell_particles[s->cell]; n++)
            add_particle(w, s, i + n);
        s->mu /= s->volume, s->faster /= s->volume, s->inertia /= s->volume;
    }
}

/* How far drag makes one velocity of two in a cell: from the part of what contacts move that is slip between the phases, 1 - a²/(M Θ), about
 * 0.15 ρ/(β dt) (nodes_dim.c), for grains packed as those of the cell are. See closure.h. */
static double held_by_drag(const job *w, const dp_stress *s)
{
    const dp_system *y = w->y;
    const rp_fluid_def *fluid = w->world->def->fluid;
    if (!(dp_wet_part(y, s->cell) > 0))
        return 0;
    double volume = 0, diameter = 0, phi = fmin(s->packing / s->volume, DP_FULLEST), rest = 1 - phi;
    for (int n = 0; n < DP_CORNERS; n++)
        volume += y->grains[s->node[n]], diameter += y->diameter[s->node[n]];
    double grains = phi * s->mass / s->volume, liquid = rest * fluid->density, b = w->dt * phi * DP(drag)(fluid, phi, 0, diameter / volume);
    double gg = liquid + b, gf = b, ff = grains + b, mixed = phi * gg + rest * gf, theta = phi * mixed + rest * (phi * gf + rest * ff);
    double slip = 1 - mixed * mixed / (gg * theta), t = (DP_SLIP_FREE - slip) / (DP_SLIP_FREE - DP_SLIP_HELD);
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

/* The integrals of cells that are full: see closure.h. */
static void fill_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    double cell = pow(y->lattice.h, RP_DIM);
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        double least = INFINITY, mean = 0, own = s->packing / s->volume;
        for (int n = 0; n < DP_CORNERS; n++) {
            double phi = y->grains[s->node[n]] / y->volume[s->node[n]];
            least = phi < least ? phi : least;
            mean += phi / DP_CORNERS;
        }
        own = own > mean ? own : mean; /* loose grains that come to full ones do not make them even */
        double t = (least / own - DP_EDGE) / (DP_FULL - DP_EDGE);
        t = !y->params->full_cells || t < 0 ? 0 : t > 1 ? 1 : t;
        t = t * t * (3 - 2 * t);
        double held = held_by_drag(w, s);
        if (y->params->full_cells && held > t) {
            mean = s->volume / cell;
            t = held;
        }
        s->even = t;
        s->extent = (1 - t) * s->volume + t * mean * cell;
        for (int n = 0; n < DP_CORNERS && t > 0; n++)
            for (int a = 0; a < RP_DIM; a++)
                s->g[n][a] = (1 - t) * s->g[n][a] + t * mean * dp_divergence(y, n, a);
    }
}

/* Nodes inside the grains: what pressures that alternate around them do, alternating contact stresses do too. */
static void find_inner(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = ((job *)context)->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3], cell[DP_CORNERS];
        dp_place(y->nodes, j, at);
        y->inner[j] = y->grains[j] > 0 && dp_around(y, at, cell) ? 1 : 0;
        for (int n = 0; n < DP_CORNERS && y->inner[j] > 0; n++) {
            int32_t k = y->stress_of[cell[n]];
            double even = k < 0 ? 0 : y->stress[k].even;
            y->inner[j] = even < y->inner[j] ? even : y->inner[j];
        }
    }
}

static void take_inner(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = ((job *)context)->y;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        for (int n = 0; n < DP_CORNERS; n++)
            s->inner[n] = y->inner[s->node[n]] * s->extent / pow(y->lattice.h, RP_DIM);
    }
}

rp_result DP(gather)(dp_system *y, rp__world *world)
{
    size_t n = (size_t)y->node_count;
    job w = { .y = y, .world = world };
    rp__exec_for(world->particles->count, 16384, put_inside, &w);
    RP_TRY(RP_D(rp__grid_build)(&y->grid, world->particles, 1));
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(world->particles, y->first_field + RP__DP_GRADIENT, c);
    w.looseness = rp__particles_f64(world->particles, y->first_field + RP__DP_LOOSENESS, 0);
    w.packing = rp__particles_f64(world->particles, y->first_field + RP__DP_PACKING, 0);
    memset(y->cell_particles, 0, (size_t)y->cell_count * sizeof *y->cell_particles);
    memset(y->grains, 0, n * sizeof(double));
    memset(y->mass, 0, n * sizeof(double));
    memset(y->diameter, 0, n * sizeof(double));
    memset(y->momentum, 0, n * RP_DIM * sizeof(double));
    rp__exec_for(y->grid.blocks, 8, find_cells, &w);
    RP_TRY(number_cells(y));
    rp__exec_colors(DP_CORNERS / 2, y->colour_first, y->column_items, 4, add_column, &w);
    return RP_OK;
}

void DP(fill_cells)(dp_system *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    rp__exec_for(y->stress_count, 256, fill_cells, &w);
    rp__exec_for(y->node_count, 1024, find_inner, &w);
    rp__exec_for(y->stress_count, 256, take_inner, &w);
}
