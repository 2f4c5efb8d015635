/* From particles to nodes and dual cells; then the friction problem of the step: operator, gaps, dilatancy, friction, frames. */
#include "nonsmooth/closure.h"
#include "nonsmooth/dual.h"

#include "exec/exec.h"
#include "transfer/transfer.h"

#include <math.h>
#include <string.h>

typedef struct job {
    dual *y;
    const rp__world *world;
    double dt;
    const double *friction, *cohesion, *looseness; /* of the particles */
} job;

/* ---- sums over the particles of each dual cell ---- */

static void add_particle(const job *w, int64_t i, du_sum *sum, double *g, const double *t)
{
    const rp__particles *p = w->world->particles;
    double n[3][3], d[3][3], v = p->volume[i], v_h = v / w->y->lattice.h;
    sum->volume += v;
    sum->bulk += w->y->bulk[i];
    sum->mass += p->mass[i];
    sum->friction += v * w->friction[i];
    sum->cohesion += v * w->cohesion[i];
    sum->looseness += v * w->looseness[i];
    sum->viscosity += v * w->world->materials[p->material[i]].viscosity;
    sum->count++;
    for (int a = 0; a < RP_DIM; a++)
        du_spline(t[a], n[a], d[a]);
#if RP_DIM == 3
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            double nn = v_h * n[1][j] * n[2][k], dn = v_h * d[1][j] * n[2][k], nd = v_h * n[1][j] * d[2][k];
            for (int l = 0; l < 3; l++, g += 3) {
                g[0] += d[0][l] * nn;
                g[1] += n[0][l] * dn;
                g[2] += n[0][l] * nd;
            }
        }
#else
    for (int j = 0; j < 3; j++)
        for (int l = 0; l < 3; l++, g += 2) {
            g[0] += v_h * d[0][l] * n[1][j];
            g[1] += v_h * n[0][l] * d[1][j];
        }
#endif
}

static void sum_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    const rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        memset(y->sum + b * RP_BLOCK_NODES, 0, RP_BLOCK_NODES * sizeof *y->sum);
        y->active[b] = 0;
        for (int64_t i = y->grid.first[b]; i < y->grid.first[b + 1]; i++) {
            double t[3] = { 0 };
            int local = 0;
            for (int a = 0; a < RP_DIM; a++) {
                double q = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = rp__lattice_base(2, q);
                t[a] = q - base - 1;
                local |= ((int32_t)base & 3) << 2 * a;
            }
            int64_t s = b * RP_BLOCK_NODES + local;
            double *g = y->g + s * (NS_STENCIL * RP_DIM);
            if (!(y->active[b] >> local & 1)) {
                memset(g, 0, NS_STENCIL * RP_DIM * sizeof *g);
                y->sum[s].first = i; /* particles of a block are in the order of the dual cells */
            }
            y->active[b] |= (uint64_t)1 << local;
            add_particle(w, i, &y->sum[s], g, t);
        }
    }
}

static void bulk_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        w->y->bulk[i] = p->volume[i] / w->world->materials[p->material[i]].volume_fraction;
}

void DU(assemble)(dual *y, const rp__world *world)
{
    const rp__particles *p = world->particles;
    job w = { .y = y, .world = world };
    w.friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    w.cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    w.looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    rp__transfer_options options = { .order = 2, .kind = RP_TRANSFER_APIC, .gradient = y->first_field + RP__NS_GRADIENT };
    rp__exec_for(p->count, 8192, bulk_chunk, &w);
    if (y->trilinear) {
        DU(assemble_trilinear)(y, world);
        return;
    }
    RP_D(rp__transfer_to_grid)(&y->grid, p, &options, y->nodes.mass, y->nodes.momentum);
    RP_D(rp__transfer_scalar_to_grid)(&y->grid, p, 2, y->bulk, y->nodes.bulk);
    rp__exec_for(y->grid.blocks, 8, sum_blocks, &w);
}

/* ---- velocities ---- */

static void prepare_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double m = y->nodes.mass[j], *u = y->nodes.u + NS_PAD * j;
        memset(u, 0, NS_PAD * sizeof *u);
        if (!(m > 1e-300))
            continue;
        for (int a = 0; a < RP_DIM; a++)
            u[a] = y->nodes.momentum[a][j] / m;
        u[3] = w->dt / m;
    }
}

static void add_gravity(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double *u = w->y->nodes.u + NS_PAD * j;
        for (int a = 0; a < RP_DIM; a++)
            u[a] += u[3] > 0 ? w->dt * w->world->def->gravity[a] : 0;
    }
}

/* ---- one dual cell ---- */

/* Bulk volume over room, of the nodes around a dual cell, [1 2 1] / 4 along each axis. */
static double mean_filling(const dual *y, const int64_t *node)
{
    double bulk = 0, room = 0;
    for (int n = 0; n < NS_STENCIL; n++) {
        static const double one[3] = { 1, 2, 1 };
        double weight = one[n % 3] * one[n / 3 % 3] * (RP_DIM == 3 ? one[n / 9] : 1);
        if (!(y->nodes.mass[node[n]] > 0))
            continue;
        bulk += weight * y->nodes.bulk[node[n]];
        room += weight * y->nodes.room[node[n]];
    }
    return room > 0 ? bulk / room : 1;
}

/* Filling: that of the node of the dual cell; where it lies in a body or behind a wall and has next to no room of its own, the mean. */
static double filling(const dual *y, const int64_t *node)
{
    int64_t own = node[DU_CENTRE];
    bool roomy = y->nodes.room[own] > 0.499 * du_power(y->lattice.h);
    return roomy ? y->nodes.bulk[own] / y->nodes.room[own] : mean_filling(y, node);
}

/* Packing, for dilatancy: what the few particles at a node have and those around have not is their sampling. Of the two the nearer to 1. */
static double packing(const dual *y, const int64_t *node)
{
    double own = filling(y, node), mean = mean_filling(y, node);
    return fabs(mean - 1) < fabs(own - 1) ? mean : own;
}

/* How far the operator is that of the full room: from the least filling of the nodes around that are not inside bodies. */
static double fullness(const dual *y, const int64_t *node)
{
    double least = 1, half = 0.499 * du_power(y->lattice.h);
    for (int n = 0; n < NS_STENCIL; n++) {
        double room = y->nodes.room[node[n]], e = room > half ? y->nodes.bulk[node[n]] / room : 1;
        least = e < least ? e : least;
    }
    return du_passed(least);
}

/* g <- (1 - theta) g + theta phi_max × the integral over the room; V likewise. */
static void blend(dual *y, int64_t i, double theta)
{
    du_stress *s = &y->stress[i];
    const du_sum *sum = &y->sum[i];
    double phi = sum->volume / sum->bulk, full = du_power(y->lattice.h), *g = y->g + i * (NS_STENCIL * RP_DIM);
    double own = sum->count > 0 ? sum->volume : 0;
    s->constant = 0;
    s->volume = own;
    if (!(theta > 0) || y->cut[i] == -2)
        return;
    if (y->cut[i] < 0 && theta >= 1) {
        s->constant = phi * full / y->lattice.h;
        s->volume = phi * full;
        return;
    }
    const du_room *room = y->cut[i] >= 0 ? &y->rooms[y->cut[i]] : NULL;
    for (int k = 0; k < NS_STENCIL * RP_DIM; k++)
        g[k] = (1 - theta) * g[k] + theta * phi * (room ? room->g[k] : full / y->lattice.h * y->constant[k]);
    s->volume = (1 - theta) * own + theta * phi * (room ? room->volume : full);
}

/* A node of the stencil that no grains reach goes on as a line from two beside it, u = 2 u_1 - u_2, the heaviest: its part of g is theirs. False when there are
 * none. `g` may be NULL, to ask only. */
static bool extend(const dual *y, const int64_t *node, double *g)
{
    static const int step[3] = { 1, 3, 9 };
    for (int n = 0; n < NS_STENCIL; n++) {
        double most = 0;
        int first = -1, second = -1;
        if (y->nodes.mass[node[n]] > 0)
            continue;
        for (int a = 0; a < RP_DIM; a++) {
            int k = n / step[a] % 3, one = n + (1 - k) * step[a], two = n + 2 * (1 - k) * step[a];
            double near = k == 1 ? 0 : y->nodes.mass[node[one]], far = k == 1 ? 0 : y->nodes.mass[node[two]];
            if (near > 0 && far > 0 && near + far > most)
                most = near + far, first = one, second = two;
        }
        if (first < 0)
            return false;
        for (int a = 0; g && a < RP_DIM; a++) {
            g[first * RP_DIM + a] += 2 * g[n * RP_DIM + a];
            g[second * RP_DIM + a] -= g[n * RP_DIM + a];
            g[n * RP_DIM + a] = 0;
        }
    }
    return true;
}

/* Strain rates of the velocities as they came from the particles: sqrt(2 D':D') of the deviator, sqrt(2 D:D) of all. */
static void rates(const dual *y, int64_t i, const int64_t *node, double *shear, double *all)
{
    double factor, h[RP_DIM * RP_DIM] = { 0 }, chi[NS_S], tangent = 0;
    const double *g = du_operator(y, i, &factor);
    for (int n = 0; n < NS_STENCIL; n++)
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                h[a * RP_DIM + b] += y->nodes.u[NS_PAD * node[n] + a] * g[n * RP_DIM + b];
    ns_chi_coefficients(h, chi);
    for (int k = 1; k < NS_S; k++)
        tangent += chi[k] * chi[k];
    factor *= 2 / y->stress[i].volume;
    *shear = factor * sqrt(tangent);
    *all = factor * sqrt(tangent + chi[0] * chi[0]);
}

/* A dual cell with room beside it has no particle. */
static bool at_surface(const dual *y, int64_t i)
{
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (other < 0) /* no block: room, unless all of it lies in a body, which the dual cells at the body know */
            return y->cut[i] == -1;
        double room = y->cut[other] == -1 ? 1 : y->cut[other] < 0 ? 0 : y->rooms[y->cut[other]].volume / du_power(y->lattice.h);
        if (y->sum[other].count == 0 && room > 0.3)
            return true;
    }
    return false;
}

/* z of div u = z × shear rate, within the cone: friction dissipates more than dilatancy lifts. */
static double dilatancy(const dual *y, int64_t i, double e, double mu)
{
    double band = y->params->dead_band, z = 0;
    if (e > 1 + band)
        z = y->params->dilatancy * (e - 1 - band);
    else if (e < 1 - band && !at_surface(y, i))
        z = y->params->dilatancy * (e - 1 + band);
    return z > mu ? mu : z < -mu ? -mu : z;
}

static void prepare_stress(const job *w, int64_t i, const int64_t *node)
{
    dual *y = w->y;
    du_stress *s = &y->stress[i];
    const du_sum *sum = &y->sum[i];
    double e = filling(y, node), shear, all, h = y->lattice.h;
    memset(s, 0, sizeof *s);
    s->full = fullness(y, node);
    blend(y, i, s->full);
    if (!(s->constant > 0))
        extend(y, node, y->g + i * (NS_STENCIL * RP_DIM));
    rates(y, i, node, &shear, &all);
    double hat = sum->friction / sum->volume, loose = sum->looseness / sum->volume;
    double gap = e < 1 ? 1 / e - 1 : 0;
    gap = gap < loose ? gap : loose;
    if (y->params->compaction == RP__COMPACT_DIVERGENCE)
        gap = 0;
    bool touch = gap <= 1e-6;
    double z = touch && y->params->compaction != RP__COMPACT_DIVERGENCE ? dilatancy(y, i, packing(y, node), hat) : 0;
    s->touch = touch;
    s->mu = NS_CONE * hat;
    s->ratio = sum->viscosity / (sum->volume * s->volume);
    s->k = s->volume * (gap / w->dt - z * shear) / NS_TRACE;
    s->cohesion = touch ? NS_COHESION_N * sum->cohesion / sum->volume : 0;
    double skin = sum->mass / sum->volume * y->gravity * h; /* rho g h */
    double calm = y->gravity > 0 ? 1 - all * sqrt(h / y->gravity) / y->params->apex_rate : 0;
    s->apex = touch && calm > 0 && y->law != NS_LAW_LINEARISED ? NS_COHESION_N * y->params->apex * skin * calm : 0;
    s->pressed = NS_COHESION_N * DU_PRESSED * skin;
    double part_of_cell = s->volume * sum->bulk / (sum->volume * du_power(h)); /* of the volume of a full dual cell */
    s->weight = part_of_cell < 1 ? part_of_cell : 1;
    s->calm = calm > 0 ? calm : 0;
}

/* ---- frames ---- */

/* G = sum_j (dt / m_j) g_ij g_ij^T, its frame; false when there is nothing to push against. */
static bool make_frame(dual *y, int64_t i, const int64_t *node)
{
    double factor, sum[6] = { 0 };
    const double *g = du_operator(y, i, &factor);
    for (int n = 0; n < NS_STENCIL; n++, g += RP_DIM) {
        double m = y->nodes.u[NS_PAD * node[n] + 3] * factor * factor;
#if RP_DIM == 3
        sum[0] += m * g[0] * g[0], sum[1] += m * g[1] * g[1], sum[2] += m * g[2] * g[2];
        sum[3] += m * g[0] * g[1], sum[4] += m * g[0] * g[2], sum[5] += m * g[1] * g[2];
#else
        sum[0] += m * g[0] * g[0], sum[1] += m * g[1] * g[1], sum[2] += m * g[0] * g[1];
#endif
    }
    return DU(make_frame)(y, i, sum);
}

static void stencil_nodes(const dual *y, int64_t block, int local, int64_t *node)
{
    for (int n = 0; n < NS_STENCIL; n++)
        node[n] = du_tile_node(y, block, du_tile_base(local) + y->offset[n]);
}

/* What a body leaves of a dual cell is so little that its stress, which goes with one over the room, could not be found: wedged between the body and the ties
 * of its nodes it would press on both without end. The node is tied to those before it in its place (dual_tie_dim.c). */
static bool too_thin(const dual *y, int64_t i)
{
    return y->cut[i] >= 0 && y->rooms[y->cut[i]].volume < DU_THIN * du_power(y->lattice.h);
}

static void drop_slivers(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits);
            if (too_thin(y, b * RP_BLOCK_NODES + l))
                y->active[b] &= ~((uint64_t)1 << l);
        }
}

/* Where grains fill the room, the operator is the integral over all of it: also over dual cells in which no particle happens to lie, as those that
 * a body cuts down to a sliver. Without them the pressure on their sides would push for nothing, and friction on the body act beside the
 * stresses that it balances. They have the material of the dual cells around. */
static void fill_gaps(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = b * RP_BLOCK_NODES + l, node[NS_STENCIL];
            if (y->sum[i].count > 0 || y->cut[i] == -2 || too_thin(y, i))
                continue;
            bool reached = true; /* its nodes, by particles, or by lines through those that are */
            stencil_nodes(y, b, l, node);
            for (int n = 0; n < NS_STENCIL && reached; n++)
                reached = node[n] >= 0;
            if (!reached || !(y->nodes.mass[node[DU_CENTRE]] > 0) || !extend(y, node, NULL) || !(fullness(y, node) > 0))
                continue;
            du_sum around = { 0 };
            for (int n = 0; n < NS_STENCIL; n++) {
                int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
                int64_t other = du_beside(y, i, way);
                if (other < 0 || y->sum[other].count == 0)
                    continue;
                const du_sum *o = &y->sum[other];
                around.volume += o->volume, around.bulk += o->bulk, around.mass += o->mass;
                around.friction += o->friction, around.cohesion += o->cohesion, around.looseness += o->looseness;
                around.viscosity += o->viscosity;
            }
            if (!(around.volume > 0))
                continue;
            y->sum[i] = around;
            memset(y->g + i * (NS_STENCIL * RP_DIM), 0, NS_STENCIL * RP_DIM * sizeof *y->g);
            y->active[b] |= (uint64_t)1 << l;
        }
}

static void prepare_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits);
            int64_t i = b * RP_BLOCK_NODES + l, node[NS_STENCIL];
            stencil_nodes(y, b, l, node);
            if (y->trilinear)
                DU(prepare_trilinear)(y, i, node[DU_CENTRE], w->dt);
            else
                prepare_stress(w, i, node);
            if (!make_frame(y, i, node))
                y->active[b] &= ~((uint64_t)1 << l);
        }
}

/* Extent of the particles along gravity, the fastest and the heaviest of them: the typical stress rho (g L + u^2). */
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
        most[2] = density > most[2] ? density : most[2];
    }
}

void DU(prepare)(dual *y, const rp__world *world, double dt)
{
    job w = { .y = y, .world = world, .dt = dt };
    const double *g = world->def->gravity;
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    double most[3] = { 0 };
    y->gravity = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    rp__exec_max(world->particles->count, 16384, 3, extent_chunk, &w, most);
    double fall = most[0] + most[1], cell = y->gravity * y->lattice.h;
    double way = y->lattice.h / dt;
    y->stress_scale = y->weight_scale = most[2] * (fall > cell ? fall : cell > 0 ? cell : 1e-3 * way * way);
    if (!y->trilinear)
        rp__exec_for(y->grid.blocks, 8, drop_slivers, &w);
    if (!y->trilinear && y->params->whole_room) {
        rp__exec_for(y->grid.blocks, 8, fill_gaps, &w);
        DU(count_behind)(y, world);
    }
    rp__exec_for(nodes, 1024, prepare_nodes, &w);
    rp__exec_for(y->grid.blocks, 8, prepare_blocks, &w);
    rp__exec_for(nodes, 4096, add_gravity, &w);
}

static void pressure_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const dual *y = context;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            const du_stress *s = &y->stress[b * RP_BLOCK_NODES + __builtin_ctzll(bits)];
            double pressure = s->lambda[0] - s->cohesion;
            sum[0] += pressure > 0 ? s->weight * pressure : 0, sum[1] += s->weight;
        }
}

static void strict_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const dual *y = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            du_stress *s = &y->stress[i];
            double skin = y->sum[i].mass / y->sum[i].volume * y->gravity * y->lattice.h;
            double part = skin > 0 && skin < y->stress_scale ? skin / y->stress_scale : 1;
            s->strict = (s->calm + (1 - s->calm) * part) / part;
        }
}

/* The unit of residuals: the weight of the grains, or what presses on them beside it (a plate, a wall of a chute), in the mean, as the last step found it;
 * the solver looks again at what this one has. */
void DU(find_scale)(dual *y)
{
    double sum[2];
    rp__exec_sum(y->grid.blocks, 64, 2, pressure_chunk, y, sum);
    double mean = sum[1] > 0 ? sum[0] / sum[1] : 0;
    y->stress_scale = mean > y->stress_scale ? mean : y->stress_scale;
    rp__exec_for(y->grid.blocks, 64, strict_chunk, y);
}

static void error_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const dual *y = context;
    for (int64_t j = begin; j < end; j++) {
        if (!(y->nodes.mass[j] > 0))
            continue;
        double over = y->nodes.bulk[j] - y->nodes.room[j];
        sum[0] += over > 0 ? over : 0;
        sum[1] += y->nodes.bulk[j];
    }
}

/* Sum of max(0, phi - phi_max), as a part of the material. */
double DU(volume_error)(const dual *y)
{
    double sum[2];
    rp__exec_sum((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, 2, error_chunk, (void *)y, sum);
    return sum[1] > 0 ? sum[0] / sum[1] : 0;
}
