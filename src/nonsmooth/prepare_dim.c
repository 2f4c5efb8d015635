/* Before and after the solver: velocities without stress, stuck nodes, gaps, frictions, scaling, frames, warm start. */
#include "nonsmooth/wide.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/lanes.h"

#include <math.h>
#include <string.h>

typedef struct job {
    ns_system *y;
    const rp__world *world;
    double dt, least_mass, full, creep;
} job;

static bool on_wall(const rp__world *world, const int64_t *at, int face)
{
    int axis = face / 2;
    return at[axis] == (face & 1 ? world->cells[axis] : 0);
}

/* u = momentum / mass + dt g; stuck nodes; s_j. */
static void prepare_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double *u = ns_velocity(y, j), m = y->mass[j];
        int64_t at[3];
        y->stick[j] = 0;
        if (!(m > w->least_mass)) {
            y->scale[j] = 0;
            memset(u, 0, NS_PAD * sizeof *u);
            continue;
        }
        y->scale[j] = sqrt(w->dt / m);
        for (int a = 0; a < RP_DIM; a++)
            u[a] = u[a] / m + w->dt * w->world->def->gravity[a];
        rp__grid_coordinates(&y->grid, j, at);
        for (int f = 0; f < 2 * RP_DIM; f++)
            if (w->world->def->wall[f].kind == RP_STICK && on_wall(w->world, at, f))
                y->stick[j] = (unsigned char)(f + 1);
    }
}

/* What touches and is hardly sheared (`slide` = strain rate x h) holds together a little, by a part of the weight of a layer one cell
 * thick: near the free surface the discretisation errs by that much (stresses cannot be negative at nodes outside it, though the continuous
 * ones, continued, are; few particles integrate a cell), and what rests would creep. It vanishes with the cell, and where grains
 * flow; what moves as a whole rests. */
static double static_cohesion(const ns_system *y, int64_t i, double slide)
{
    bool rests = y->loose[i] < NS_TOUCHING * y->volume[i] && slide < y->slow;
    return rests ? y->params->static_cohesion * (1 - slide / y->slow) * y->skin : 0;
}

/* How much of the strictness of rest the residual of a stress deserves: from all of it at rest to none where neighbours slide past each other so fast that
 * what the plain tolerance leaves undecided, tolerance x g L dt / h, is little beside it. */
static double strictness(const job *w, double slide)
{
    double fast = w->creep < w->y->slow ? w->creep : w->y->slow;
    return slide < fast ? 1 - slide / fast * (1 - w->y->strict) : w->y->strict;
}

static void prepare_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        uint64_t active = 0;
        bool masked = false, aliased = false;
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l;
            ns_stress *s = &y->stress[i];
            memset(s->lambda, 0, sizeof s->lambda);
            double v = y->volume[i];
            if (!(v > 1e-9 * w->full))
                continue;
            active |= (uint64_t)1 << l;
            double phi = v / y->bulk[i], free_volume = phi * (y->room[i] - y->bulk[i]), strain, shear = NS(shear_at)(y, b, l, &strain);
            free_volume = free_volume < y->loose[i] ? free_volume : y->loose[i];
            double gap = free_volume > 0 ? free_volume / w->dt : 0;
            if (y->params->compaction == RP__COMPACT_DIVERGENCE) { /* div u >= 0 wherever there are grains */
                gap = 0;
            } else { /* what opens has no gap; what closes, or may, by the larger of the two */
                double open = v * NS(dilation_at)(y, b, l, y->friction[i] / v, shear, w->dt);
                gap = open > 0 || -open > gap ? -open : gap;
            }
            s->mu = NS_CONE * y->friction[i] / v;
            /* Bonded grains touch, whatever the gap that the sampling leaves: a gap would let the pull of the cohesion do work. */
            double bond = y->bulk[i] > NS_BONDED * y->room[i] ? y->cohesion[i] / v : 0, slide = strain * y->lattice.h;
            s->k = bond > 0 ? 0 : gap / NS_TRACE;
            s->cohesion = NS_COHESION_N * (bond + static_cohesion(y, i, slide));
            s->weight = ns_fill(y, i) * strictness(w, slide);
        }
        for (int t = 0; t < NS_TILE; t++) {
            int64_t j = ns_tile_node(y, b, t);
            masked |= j >= 0 && y->stick[j];
        }
        for (int n = 0; n < RP_NEIGHBOURS; n++)
            aliased |= n != RP_NEIGHBOURS / 2 && y->grid.neighbour[b][n] == b;
        y->active[b] = active;
        y->masked[b] = masked;
        y->aliased[b] = aliased;
    }
}

/* Last step's stresses to the nodes that are there now (coefficients of chi for the moment). */
static void place_warm(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    int32_t last[3] = { INT32_MIN, 0, 0 };
    int64_t base = -1;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int32_t *at = y->warm_node[i];
        int32_t block[3] = { at[0] >> 2, at[1] >> 2, at[2] >> 2 };
        if (memcmp(block, last, sizeof last) != 0) {
            memcpy(last, block, sizeof last);
            int32_t b = RP_D(rp__grid_find)(&y->grid, block[0], block[1], block[2]);
            base = b < 0 ? -1 : (int64_t)b * RP_BLOCK_NODES;
        }
        if (base < 0)
            continue;
        int64_t node = base + (at[0] & 3) + 4 * (at[1] & 3) + 16 * (at[2] & 3);
        memcpy(y->stress[node].lambda, y->warm_stress + NS_S * i, NS_S * sizeof(double));
    }
}

/* h = s g, G, its eigenvectors, the frame. Eigen-decompositions run in lanes. */
typedef struct batch {
    int64_t at[RP_LANES];
    int count;
    RP_LANES_ALIGNED double g[6][RP_LANES];
} batch;

static void finish_frame(ns_system *y, int64_t i, const double *values, uint64_t *active)
{
    ns_frame *f = &y->frame[i];
    ns_stress *s = &y->stress[i];
    if (!ns_frame_from_eigenvalues(f, values)) {
        *active &= ~((uint64_t)1 << (i % RP_BLOCK_NODES));
        return;
    }
    double chi[NS_S];
    memcpy(chi, s->lambda, sizeof chi);
    ns_chi_to_frame(f, chi, s->lambda);
    s->lambda[0] += s->cohesion; /* what is kept is the stress itself; where there was none, grains start without any */
#if RP_DIM == 3
    rp__friction_project_c6(s->mu, s->lambda);
#else
    rp__friction_project_c3(s->mu, s->lambda);
#endif
    memcpy(s->previous, s->lambda, sizeof s->previous);
}

/* The same for a law without such a frame: A = (1 - alpha) I + d alpha nu, averaged, then M, W~ and its frame. */
static void finish_wide(ns_system *y, int64_t i, const double *sum, uint64_t *active)
{
    ns_wide *f = &y->wide[i];
    ns_stress *s = &y->stress[i];
    double a[RP_DIM * RP_DIM], m[NS_T * NS_T], own[NS_S * NS_S], chi[NS_S];
#if RP_DIM == 3
    const double g[9] = { sum[0], sum[3], sum[4], sum[3], sum[1], sum[5], sum[4], sum[5], sum[2] };
#else
    const double g[4] = { sum[0], sum[2], sum[2], sum[1] };
#endif
    double *w = y->law == NS_LAW_LINEARISED ? y->full + i * (NS_S * NS_S) : own, *change = NULL;
    if (y->oriented) {
        ns_friction_tensor(y->orientation + NS_S * i, y->volume[i], a);
        ns_wide_change(a, m);
        change = m;
    }
    ns_wide_operator(g, change, w);
    if (!(y->law == NS_LAW_LINEARISED ? ns_wide_linear(f, w, change) : ns_wide_exact(f, w, change))) {
        *active &= ~((uint64_t)1 << (i % RP_BLOCK_NODES));
        return;
    }
    memcpy(chi, s->lambda, sizeof chi);
    ns_wide_from_chi(f, chi, s->lambda);
    s->lambda[0] += s->cohesion;
    if (y->law == NS_LAW_LINEARISED)
        ns_box_project(s->mu, s->lambda);
    else
        NS_CONE_OF(rp__friction_project)(s->mu, s->lambda);
    memcpy(s->previous, s->lambda, sizeof s->previous);
}

static void finish_batch(ns_system *y, batch *q, uint64_t *active)
{
    if (!q->count)
        return;
#if RP_DIM == 3
    RP_LANES_ALIGNED double values[3][RP_LANES], v[3][3][RP_LANES];
    for (int l = q->count; l < RP_LANES; l++)
        for (int c = 0; c < 6; c++)
            q->g[c][l] = q->g[c][0];
    rp__lanes_eigen_sym3(q->g, values, v);
    for (int l = 0; l < q->count; l++) {
        double e[3] = { values[0][l], values[1][l], values[2][l] };
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                y->frame[q->at[l]].r[3 * r + c] = v[r][c][l];
        for (int k = 0; k < 3; k++)
            e[k] = e[k] > 0 ? e[k] : 0;
        finish_frame(y, q->at[l], e, active);
    }
#else
    for (int l = 0; l < q->count; l++) {
        double xx = q->g[0][l], yy = q->g[1][l], xy = q->g[2][l], half = 0.5 * (yy - xx), t = 0;
        if (xy != 0) {
            double root = sqrt(half * half + xy * xy);
            t = half >= 0 ? xy / (half + root) : xy / (half - root);
        }
        double c = 1 / sqrt(1 + t * t), e[2] = { xx - t * xy, yy + t * xy };
        double *r = y->frame[q->at[l]].r;
        r[0] = c, r[1] = t * c, r[2] = -t * c, r[3] = c;
        for (int k = 0; k < 2; k++)
            e[k] = e[k] > 0 ? e[k] : 0;
        finish_frame(y, q->at[l], e, active);
    }
#endif
    q->count = 0;
}

static void prepare_frames(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        double scale[NS_TILE], free_node[NS_TILE];
        uint64_t active = y->active[b];
        batch q = { .count = 0 };
        for (int t = 0; t < NS_TILE; t++) {
            int64_t j = ns_tile_node(y, b, t);
            scale[t] = j >= 0 ? y->scale[j] : 0;
            free_node[t] = j >= 0 && !y->stick[j];
        }
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            if (!(active >> l & 1))
                continue;
            int64_t i = b * RP_BLOCK_NODES + l;
            int tile = ns_tile_of_local(l);
            double *g = y->g + i * y->stencil * RP_DIM, sum[6] = { 0 };
            for (int n = 0; n < y->stencil; n++) {
                double *h = g + n * RP_DIM, s = scale[tile + y->offset[n]], m = free_node[tile + y->offset[n]];
                for (int a = 0; a < RP_DIM; a++)
                    h[a] *= s;
#if RP_DIM == 3
                sum[0] += m * h[0] * h[0], sum[1] += m * h[1] * h[1], sum[2] += m * h[2] * h[2];
                sum[3] += m * h[0] * h[1], sum[4] += m * h[0] * h[2], sum[5] += m * h[1] * h[2];
#else
                sum[0] += m * h[0] * h[0], sum[1] += m * h[1] * h[1], sum[2] += m * h[0] * h[1];
#endif
            }
            if (y->law != NS_LAW_ISOTROPIC) {
                finish_wide(y, i, sum, &y->active[b]);
                continue;
            }
            for (int c = 0; c < 6; c++)
                q.g[c][q.count] = sum[c];
            q.at[q.count++] = i;
            if (q.count == RP_LANES)
                finish_batch(y, &q, &y->active[b]);
        }
        finish_batch(y, &q, &y->active[b]);
    }
}

/* Extent of the particles along gravity, and of their velocities: the typical stress rho (g L + u^2), u half of what velocities differ by,
 * the same in any frame. */
enum { MOST_DENSITY = 2, MOST_VELOCITY, MOST = MOST_VELOCITY + 6 };

static void extent_chunk(void *context, int64_t begin, int64_t end, double *most)
{
    const job *w = context;
    const rp__particles *p = w->world->particles;
    const double *g = w->world->def->gravity;
    for (int64_t i = begin; i < end; i++) {
        double depth = g[0] * p->x[0][i] + g[1] * p->x[1][i] + g[2] * p->x[2][i];
        double density = p->mass[i] / p->volume[i];
        most[0] = depth > most[0] ? depth : most[0];
        most[1] = -depth > most[1] ? -depth : most[1];
        most[MOST_DENSITY] = density > most[MOST_DENSITY] ? density : most[MOST_DENSITY];
        for (int k = 0; k < 2 * RP_DIM; k++) {
            double v = k & 1 ? -p->v[k / 2][i] : p->v[k / 2][i], *to = &most[MOST_VELOCITY + k];
            *to = v > *to ? v : *to;
        }
    }
}

rp_result NS(prepare)(ns_system *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    const rp__particles *p = world->particles;
    const double *g = world->def->gravity;
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    double most[MOST] = { 0 }, square = 0;
    w.full = pow(y->lattice.h, RP_DIM);
    w.least_mass = 1e-300;
    rp__exec_max(p->count, 16384, MOST, extent_chunk, &w, most);
    for (int a = 0; a < RP_DIM; a++)
        square += 0.25 * pow(most[MOST_VELOCITY + 2 * a] + most[MOST_VELOCITY + 2 * a + 1], 2);
    double fall = most[0] + most[1], cell = y->lattice.h * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    y->fall = fall > cell ? fall : cell;
    y->skin = most[MOST_DENSITY] * cell;
    y->slow = NS_SLOW * sqrt(cell);
    w.creep = NS_CREEP * cell / y->lattice.h * dt;
    y->stress_scale = most[MOST_DENSITY] * (y->fall + square);
    /* Under many layers of cells a small part of the whole weight is much of the weight of one: at rest it is that which counts. */
    double layers = NS_LAYERS * cell < y->fall ? NS_LAYERS * cell : y->fall;
    y->strict = y->fall + square > 0 ? (layers + square) / (y->fall + square) : 1;
    if (!(y->stress_scale > 0))
        y->stress_scale = 1;
    rp__exec_for(nodes, 1024, prepare_nodes, &w);
    if (y->params->warm_start == false)
        y->warm_count = 0;
    rp__exec_for(y->grid.blocks, 8, prepare_blocks, &w);
    rp__exec_for(y->warm_count, 4096, place_warm, &w);
    return RP_OK;
}

void NS(make_frames)(ns_system *y, double dt)
{
    job w = { .y = y, .dt = dt };
    rp__exec_for(y->grid.blocks, 4, prepare_frames, &w);
}

/* Keeps the stresses for the next step. */
rp_result NS(keep_warm)(ns_system *y)
{
    int64_t count = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        count += __builtin_popcountll(y->active[b]);
    if (count > y->warm_capacity) {
        int64_t room = count + count / 4;
        int32_t(*node)[3] = rp__base_alloc_array((size_t)room, sizeof *node);
        double *stress = RP_NEW_ARRAY(double, room * NS_S);
        if (!node || !stress) {
            rp__base_free(node);
            rp__base_free(stress);
            return RP_OUT_OF_MEMORY;
        }
        rp__base_free(y->warm_node);
        rp__base_free(y->warm_stress);
        y->warm_node = node, y->warm_stress = stress;
        y->warm_capacity = room;
    }
    int64_t n = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits), at[3];
            rp__grid_coordinates(&y->grid, i, at);
            for (int a = 0; a < 3; a++)
                y->warm_node[n][a] = (int32_t)at[a];
            double lambda[NS_S];
            memcpy(lambda, y->stress[i].lambda, sizeof lambda);
            lambda[0] -= y->stress[i].cohesion;
            ns_chi_of(y, i, lambda, y->warm_stress + NS_S * n);
            n++;
        }
    y->warm_count = n;
    return RP_OK;
}
