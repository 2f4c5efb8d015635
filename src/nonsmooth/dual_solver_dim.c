/* Sweeps over the contacts and stresses of all blocks, colour by colour, relaxed, with momentum from sweep to sweep.
 *
 * A visit:   from = lambda + beta (lambda - previous);   to = law(from);   lambda = from + omega (to - from)
 * and the velocities, which are linear in lambda, are extrapolated in the same way before each sweep. The momentum starts anew when the step
 * that the sweep made turns against that of the momentum, or the residual grows: friction is not the gradient of anything. Residuals are
 * those of the unrelaxed change; the one that ends the solve is taken at velocities and stresses as they are returned, and counts what pushes
 * (dual_residual_dim.c).
 *
 * A step without a last one to start from lays the weight of the grains on those below (dual_cold_dim.c), and finds the impulses of walls, bodies and ties
 * that go with these stresses before the first sweep over all. From no stress at all everything slides at first, at a friction that is wrong everywhere, and it
 * takes thousands of sweeps to stop it. */
#include "nonsmooth/closure.h"
#include "nonsmooth/contact.h"
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

#define RELAXED 0.4       /* omega: stresses of dual cells that overlap correct the same error; from 0.6 on layers near their angle do not converge */
#define FIRST_MOMENTUM 12.0 /* largest t of Nesterov's sequence at first; beta = (t - 1) / t' */
#define LEAST_MOMENTUM 6.0
#define MOST_MOMENTUM 40.0
#define JUDGE_EVERY 20    /* sweeps after which the momentum is judged by what it did */
#define LOOK_EVERY 25     /* sweeps from one look at the true residual to the next, while the solve goes on */
#define LOOK_SOON 10      /* and while that of the sweeps, which momentum carries ahead of the stresses, is small enough or AHEAD times that */
#define AHEAD 1.5
#define LOOK_CALM 20      /* and while only the residual of rest is too large */
#define EDGES_PART 10     /* of the sweeps, one in so many at most for contacts and ties alone */
#define AT_REST                                                                                                                                 \
    0.01 /* g dt: what velocities in a cell differ by, root of the mean square, where all rest; the error that sweeps come to a stand at in flow */
#define AT_REST_PART 0.01 /* of the tolerances: for what rests, and for the contacts that a first step begins with */
#define WORTH 0.8         /* what is left of the residual of rest after so many sweeps, if more of them are worth while */
#define DRIFT 1e-3        /* change of the pressures of blocks in so many sweeps, a part of all, from which on they are worth while where grains rest */
#define STEADY 1.1        /* growth of the mean residual from one judgement to the next that is none */

typedef struct sweep {
    dual *y;
    const rp__world *world;
    double dt, beta, omega, impulse_unit;
    double scale;               /* of `mean` and `largest`: the typical stress, as the last look found it */
    double t, last, uphill;
    double most, judged;        /* largest t just now; the mean residual when it was last judged */
    double mean, largest;       /* of the last sweep or look, in units of the typical stress */
    double calm_mean, calm_largest; /* the same, where grains rest in units of rho g h */
    double ratio;               /* at the last look: by how much the mean would be larger were all waves to count alike, as they do in the sweeps */
    double calm_before;         /* calm_mean at the look before */
    double drift;               /* change of the pressures of blocks since the look before, as a part of all */
    double moving;              /* root of the mean square of the strain rate at the last look, in units of g dt / h */
    int64_t iterations, stresses, next_look, soon; /* soon: a look, if the tolerance seems to be reached */
    bool turned;                /* the momentum was started anew since it was last judged */
    bool edges;                 /* contacts and ties only: what a first step begins with */
    bool look, stop, converged, cancelled;
} sweep;

/* The velocities of a block's tile, and back. */
static void load_tile(const dual *y, int64_t block, ns_four *tile)
{
    for (int t = 0; t < DU_TILE; t++) {
        int64_t j = du_tile_node(y, block, t);
        tile[t] = j < 0 ? (ns_four){ 0 } : *(const ns_four *)(y->nodes.u + NS_PAD * j);
    }
}

static void store_tile(const dual *y, int64_t block, const ns_four *tile)
{
    for (int t = 0; t < DU_TILE; t++) {
        int64_t j = du_tile_node(y, block, t);
        if (j >= 0 && y->tile_same[t] == t)
            *(ns_four *)(y->nodes.u + NS_PAD * j) = tile[t];
    }
}

/* ---- one stress ---- */

/* sum_j u_j (x) g_ij */
NS_INLINE void gather(const double *restrict g, const ns_four *restrict tile, const int32_t *restrict at, double factor, double *restrict h)
{
    ns_four col[RP_DIM] = { { 0 } }, odd[RP_DIM] = { { 0 } };
    int j = 0;
    for (; j + 1 < NS_STENCIL; j += 2) {
        ns_four v = tile[at[j]], w = tile[at[j + 1]];
        for (int b = 0; b < RP_DIM; b++) {
            col[b] += g[j * RP_DIM + b] * v;
            odd[b] += g[(j + 1) * RP_DIM + b] * w;
        }
    }
    for (int b = 0; b < RP_DIM; b++) {
        col[b] += g[j * RP_DIM + b] * tile[at[j]];
        col[b] += odd[b];
    }
    for (int a = 0; a < RP_DIM; a++)
        for (int b = 0; b < RP_DIM; b++)
            h[a * RP_DIM + b] = factor * col[b][a];
}

/* u_j += (dt / m_j) sigma g_ij */
NS_INLINE void scatter(const double *restrict g, double factor, const double *restrict sigma, ns_four *restrict tile,
                       const int32_t *restrict at)
{
    ns_four row[RP_DIM];
    for (int b = 0; b < RP_DIM; b++) {
        row[b] = (ns_four){ 0 };
        for (int a = 0; a < RP_DIM; a++)
            row[b][a] = factor * sigma[a * RP_DIM + b];
    }
    for (int j = 0; j < NS_STENCIL; j++) {
        ns_four v = tile[at[j]], sum = g[j * RP_DIM] * row[0];
        for (int b = 1; b < RP_DIM; b++)
            sum += g[j * RP_DIM + b] * row[b];
        tile[at[j]] = v + v[3] * sum;
    }
}

/* Strain, in coefficients of chi, and du_bend. */
static double strain_of(const dual *y, int64_t i, const ns_four *tile, const int32_t *at, double *gamma)
{
    double h[RP_DIM * RP_DIM], factor;
    const double *g = du_operator(y, i, &factor);
    gather(g, tile, at, factor, h);
    ns_chi_coefficients(h, gamma);
    return du_bend(h, y->stress[i].volume, y->ahead);
}

static void push(const dual *y, int64_t i, ns_four *tile, const int32_t *at)
{
    double chi[NS_S], h[RP_DIM * RP_DIM], factor;
    const double *g = du_operator(y, i, &factor);
    du_chi_of(y, i, y->viscous, chi);
    ns_chi_tensor(chi, h);
    scatter(g, factor, h, tile, at);
}

static void add_square(double *sums, double square, double strict)
{
    double calm = square * strict * strict;
    sums[DU_SQUARES] += square;
    sums[DU_CALM_SQUARES] += calm;
    sums[DU_LARGEST] = square > sums[DU_LARGEST] ? square : sums[DU_LARGEST];
    sums[DU_CALM_LARGEST] = calm > sums[DU_CALM_LARGEST] ? calm : sums[DU_CALM_LARGEST];
}

/* The velocity of a node of the tile, in its lane. */
NS_INLINE double *in_lane(du_tile *tile, int t, int a, int lane)
{
    return (double *)&tile->u[t][a] + lane;
}

static void visit_contact(const sweep *w, du_contact *c, du_tile *tile, int lane, double *sums)
{
    double v[3] = { 0 }, from[3] = { 0 }, to[3], d[3] = { 0 }, square = 0;
    for (int j = 0; j < c->count; j++)
        for (int a = 0; a < RP_DIM; a++)
            v[a] += c->share[j] * *in_lane(tile, w->y->tile_same[c->at[j]], a, lane);
    for (int a = 0; a < RP_DIM; a++) {
        v[a] += c->gap * c->normal[a] - c->target[a];
        from[a] = c->impulse[a] + (w->look ? 0 : w->beta) * (c->impulse[a] - c->previous[a]);
    }
    ns_contact_law(c->normal, c->mu, c->mass, v, from, to);
    for (int a = 0; a < RP_DIM; a++) {
        d[a] = to[a] - from[a];
        square += d[a] * d[a];
    }
    add_square(sums, square * w->impulse_unit * w->impulse_unit, c->strict);
    sums[DU_BARE] += square * w->impulse_unit * w->impulse_unit;
    if (w->look)
        return;
    memcpy(c->previous, c->impulse, sizeof c->impulse);
    for (int a = 0; a < RP_DIM; a++)
        c->impulse[a] = to[a];
    for (int j = 0; j < c->count; j++) {
        int t = w->y->tile_same[c->at[j]];
        double part = c->share[j] * tile->push[t][lane] / w->dt;
        for (int a = 0; a < RP_DIM; a++)
            *in_lane(tile, t, a, lane) += part * d[a];
    }
}

static void stencil_of(const dual *y, int local, int32_t *at)
{
    int base = du_tile_base(local);
    for (int n = 0; n < NS_STENCIL; n++)
        at[n] = y->tile_same[base + y->offset[n]];
}

static void sweep_group(const sweep *w, const du_group *group)
{
    const dual *y = w->y;
    const du_manner manner = { .beta = w->beta, .omega = w->omega, .ahead = y->ahead, .look = w->look };
    double sums[DU_LANES * DU_SUMS] = { 0 };
    du_tile tile;
    DU(load_tile)(y, group, &tile);
    for (int l = 0; l < DU_LANES && group->block[l] >= 0; l++)
        for (int64_t k = y->contacts.first[group->block[l]]; k < y->contacts.first[group->block[l] + 1]; k++)
            if (y->contacts.list[k].free_body < 0)
                visit_contact(w, &y->contacts.list[k], &tile, l, sums + l * DU_SUMS);
    if (!w->edges)
        DU(sweep_group)(y, group, &manner, &tile, sums);
    if (!w->look)
        DU(store_tile)(y, group, &tile);
    for (int l = 0; l < DU_LANES && group->block[l] >= 0; l++)
        memcpy(y->partial + DU_SUMS * group->block[l], sums + l * DU_SUMS, DU_SUMS * sizeof *sums);
}

/* ---- the loop ---- */

static void share(int64_t first, int64_t last, int worker, int size, int64_t *begin, int64_t *end)
{
    int64_t n = last - first;
    *begin = first + n * worker / size;
    *end = first + n * (worker + 1) / size;
}

static void one_sweep(sweep *w, rp__exec_team *team, int worker)
{
    const du_lanes *lanes = &w->y->lanes;
    for (int c = 0; c < w->y->grid.colours; c++) {
        int64_t begin, end;
        share(lanes->colour_first[c], lanes->colour_first[c + 1], worker, rp__exec_team_size(team), &begin, &end);
        for (int64_t i = begin; i < end; i++)
            sweep_group(w, &lanes->group[i]);
        rp__exec_team_barrier(team);
    }
}

static void extrapolate(sweep *w, rp__exec_team *team, int worker)
{
    dual *y = w->y;
    int64_t begin, end;
    share(0, (int64_t)y->grid.blocks * RP_BLOCK_NODES, worker, rp__exec_team_size(team), &begin, &end);
    for (int64_t j = begin; j < end; j++) {
        ns_four *u = (ns_four *)(y->nodes.u + NS_PAD * j), *old = (ns_four *)(y->nodes.previous + NS_PAD * j), now = *u;
        *u = now + w->beta * (now - *old);
        (*u)[3] = now[3];
        *old = now;
    }
    if (worker == 0)
        for (int k = 0; k < 6 * w->world->body_count; k++) {
            double now = y->contacts.body_velocity[k];
            y->contacts.body_velocity[k] = now + w->beta * (now - y->contacts.body_previous[k]);
            y->contacts.body_previous[k] = now;
        }
    rp__exec_team_barrier(team);
}

static void collect(sweep *w)
{
    const dual *y = w->y;
    double sums[DU_SUMS] = { 0 };
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        const double *p = y->partial + DU_SUMS * b;
        sums[DU_SQUARES] += p[DU_SQUARES];
        sums[DU_UPHILL] += p[DU_UPHILL];
        sums[DU_BARE] += p[DU_BARE];
        sums[DU_LARGEST] = p[DU_LARGEST] > sums[DU_LARGEST] ? p[DU_LARGEST] : sums[DU_LARGEST];
        sums[DU_CALM_SQUARES] += p[DU_CALM_SQUARES];
        sums[DU_STRAINS] += p[DU_STRAINS];
        sums[DU_CALM_LARGEST] = p[DU_CALM_LARGEST] > sums[DU_CALM_LARGEST] ? p[DU_CALM_LARGEST] : sums[DU_CALM_LARGEST];
    }
    if (y->contacts.free_count || y->contacts.meetings.count) {
        double squares = 0, most = DU(free_contacts)(w->y, w->world, w->dt, w->look ? 0 : w->beta, !w->look, &squares);
        sums[DU_SQUARES] += squares, sums[DU_CALM_SQUARES] += squares, sums[DU_BARE] += squares;
        sums[DU_LARGEST] = most * most > sums[DU_LARGEST] ? most * most : sums[DU_LARGEST];
    }
    double count = w->stresses > 0 ? (double)w->stresses : 1;
    w->mean = sqrt(sums[DU_SQUARES] / count) / w->scale;
    w->largest = sqrt(sums[DU_LARGEST]) / w->scale;
    w->calm_mean = sqrt(sums[DU_CALM_SQUARES] / count) / y->stress_scale;
    w->calm_largest = sqrt(sums[DU_CALM_LARGEST]) / y->stress_scale;
    w->uphill = sums[DU_UPHILL];
    if (w->look)
        w->ratio = sums[DU_BARE] > sums[DU_SQUARES] ? sqrt(sums[DU_BARE] / sums[DU_SQUARES]) : 1;
    if (w->look && y->gravity > 0)
        w->moving = sqrt(sums[DU_STRAINS] / count) * y->lattice.h / (y->gravity * w->dt);
}

static bool small_enough(const sweep *w, double times)
{
    const rp__nonsmooth_params *p = w->y->params;
    return w->mean <= times * p->tolerance && w->largest <= times * p->tolerance_max;
}

/* Where grains rest an error of the stress is one of the acceleration, error / (rho h), whatever the depth, and what it moves does not come back: there it
 * counts in units of rho g h, against a hundredth of the tolerances (errors of long waves are many times the residual). In a step it strains by
 * error × g dt / h; where other grains move, a thousandth of their mean strain rate is little enough. */
static bool calm_enough(const sweep *w)
{
    const rp__nonsmooth_params *p = w->y->params;
    double part = 10 * w->moving > AT_REST_PART ? 10 * w->moving : AT_REST_PART;
    return w->calm_mean <= part * p->tolerance && w->calm_largest <= part * p->tolerance_max;
}

static void copy_state(dual *y, bool keep)
{
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    double *u = y->nodes.u, *best = y->best.u;
    memcpy(keep ? best : u, keep ? u : best, (size_t)nodes * NS_PAD * sizeof *u);
    DU(keep_lanes)(y, y->best.lambda, keep);
    for (int64_t k = 0; k < y->contacts.count; k++) {
        double *a = y->contacts.list[k].impulse, *b = y->best.impulse + 3 * k;
        memcpy(keep ? b : a, keep ? a : b, 3 * sizeof *a);
    }
    rp__body_keep_meetings(&y->contacts.meetings, keep);
    size_t bodies = 6 * (size_t)y->contacts.body_capacity * sizeof(double);
    if (bodies)
        memcpy(keep ? y->best.body : y->contacts.body_velocity, keep ? y->contacts.body_velocity : y->best.body, bodies);
}

/* Long waves of error need much momentum; where grains slide this way and that in turn it never lets the residual come down. More of it as long as that
 * falls, less when it does not, unless every sweep goes the way of the ones before and it stays where it is: a wall that pushes a bed closes the same gap in
 * each, until the thrust is there. */
static void judge_momentum(sweep *w)
{
    bool falls = w->mean < w->judged || (!w->turned && w->mean < STEADY * w->judged);
    w->turned = false;
    w->most *= falls ? 1.5 : 0.5;
    w->most = w->most > MOST_MOMENTUM ? MOST_MOMENTUM : w->most < LEAST_MOMENTUM ? LEAST_MOMENTUM : w->most;
    if (!falls && w->t > w->most)
        w->t = 1, w->beta = 0;
    w->judged = w->mean;
}

/* Worker 0 after a sweep. */
static void decide(sweep *w)
{
    const rp__nonsmooth_params *p = w->y->params;
    collect(w);
    w->iterations++;
    if (!p->momentum || w->uphill < 0 || w->mean > 1.3 * w->last)
        w->t = 1, w->turned = true;
    double next = 0.5 * (1 + sqrt(1 + 4 * w->t * w->t));
    w->beta = p->momentum ? (w->t - 1) / next : 0;
    w->t = next < w->most ? next : w->most;
    if (w->iterations % JUDGE_EVERY == 0)
        judge_momentum(w);
    w->last = w->mean;
    w->cancelled = w->world->cancel && *w->world->cancel;
    w->stop = w->cancelled || w->iterations >= p->max_iterations;
    w->look = w->stop || w->iterations >= w->next_look || (w->iterations >= w->soon && small_enough(w, AHEAD * w->ratio));
}

/* The typical stress: the weight of the grains, or the mean pressure just now. A body that comes to them at once presses with many times their weight, and
 * nothing in the step before tells. */
static double typical_stress(const dual *y, double *drift)
{
    double mean = DU(mean_pressure)(y, drift);
    return mean > y->weight_scale ? mean : y->weight_scale;
}

/* Worker 0 after a look at the residual as it is. */
static void judge(sweep *w)
{
    dual *y = w->y;
    w->scale = typical_stress(y, &w->drift);
    collect(w);
    w->converged = small_enough(w, 1);
    if (!w->converged && w->mean * w->scale < y->best.residual * y->best.scale) {
        y->best.residual = w->mean, y->best.largest = w->largest, y->best.scale = w->scale;
        copy_state(y, true);
    } else if (w->stop && !w->converged && y->best.residual * y->best.scale < w->mean * w->scale) {
        copy_state(y, false);
        w->mean = y->best.residual, w->largest = y->best.largest, w->scale = y->best.scale;
    }
    bool worth = w->calm_mean < WORTH * w->calm_before || (w->moving < AT_REST && w->drift > DRIFT);
    w->stop |= w->converged && (calm_enough(w) || !worth);
    w->calm_before = w->converged ? w->calm_mean : INFINITY;
    w->look = false;
    w->next_look = w->iterations + LOOK_EVERY;
    w->soon = w->iterations + (w->converged ? LOOK_CALM : LOOK_SOON);
}

/* The residuals of a look, those of the elements of the paper as they are. */
static void count_residuals(const sweep *w, rp__exec_team *team, int worker)
{
    const dual *y = w->y;
    int64_t begin, end;
    int axes = y->trilinear ? 0 : RP_DIM;
    share(0, y->grid.blocks, worker, rp__exec_team_size(team), &begin, &end);
    for (int axis = 0; axis < axes; axis++) {
        DU(mean_residuals)(y, axis, begin, end);
        rp__exec_team_barrier(team);
    }
    DU(add_residuals)(y, axes % 2, begin, end);
    rp__exec_team_barrier(team);
}

/* Worker 0 after a sweep over contacts and ties alone. */
static void decide_edges(sweep *w, int64_t sweeps)
{
    collect(w);
    w->cancelled = w->world->cancel && *w->world->cancel;
    w->edges = !w->cancelled && EDGES_PART * sweeps < w->y->params->max_iterations && !small_enough(w, AT_REST_PART);
}

static void iterate(void *context, rp__exec_team *team, int worker)
{
    sweep *w = context;
    for (int64_t k = 1; w->edges; k++) {
        extrapolate(w, team, worker);
        one_sweep(w, team, worker);
        if (worker == 0)
            decide_edges(w, k);
        rp__exec_team_barrier(team);
    }
    for (;;) {
        extrapolate(w, team, worker);
        one_sweep(w, team, worker);
        if (worker == 0)
            decide(w);
        rp__exec_team_barrier(team);
        if (!w->look)
            continue;
        one_sweep(w, team, worker);
        count_residuals(w, team, worker);
        if (worker == 0)
            judge(w);
        rp__exec_team_barrier(team);
        if (w->stop)
            return;
    }
}

/* What stresses and impulses of the start make of the velocities. */
static void start_block(void *context, int64_t block, int worker)
{
    const sweep *w = context;
    const dual *y = w->y;
    _Alignas(64) ns_four tile[DU_TILE];
    (void)worker;
    if (!y->active[block] && y->contacts.first[block] == y->contacts.first[block + 1])
        return;
    load_tile(y, block, tile);
    for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
        int l = __builtin_ctzll(bits);
        int64_t i = block * RP_BLOCK_NODES + l;
        int32_t at[NS_STENCIL];
        stencil_of(y, l, at);
        push(y, i, tile, at);
    }
    for (int64_t k = y->contacts.first[block]; k < y->contacts.first[block + 1]; k++) {
        du_contact *c = &y->contacts.list[k];
        memcpy(c->previous, c->impulse, sizeof c->impulse);
        for (int j = 0; j < c->count; j++) {
            ns_four *v = &tile[y->tile_same[c->at[j]]];
            for (int a = 0; a < RP_DIM; a++)
                (*v)[a] += c->share[j] * (*v)[3] / w->dt * (c->impulse[a] - c->adhesion * c->normal[a]);
        }
    }
    store_tile(y, block, tile);
}

/* After the solve: velocities as planes, rate of the volume and shear rate of each dual cell, its state. */
static void finish_block(void *context, int64_t begin, int64_t end, int worker)
{
    const sweep *w = context;
    const dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        for (int64_t j = b * RP_BLOCK_NODES; j < (b + 1) * RP_BLOCK_NODES; j++)
            for (int a = 0; a < RP_DIM; a++)
                y->nodes.after[a][j] = y->nodes.u[NS_PAD * j + a];
        if (!y->active[b])
            continue;
        _Alignas(64) ns_four tile[DU_TILE];
        load_tile(y, b, tile);
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits);
            int64_t i = b * RP_BLOCK_NODES + l;
            int32_t at[NS_STENCIL];
            double gamma[NS_S], tangent = 0;
            du_stress *s = &y->stress[i];
            stencil_of(y, l, at);
            s->bend = strain_of(y, i, tile, at, gamma);
            for (int k = 1; k < NS_S; k++)
                tangent += gamma[k] * gamma[k];
            s->strain[0] = NS_TRACE * (gamma[0] + s->bend) / s->volume;
            s->strain[1] = 2 * sqrt(tangent) / s->volume;
        }
    }
}

static void count_states(const dual *y, du_report *r)
{
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            const du_stress *s = &y->stress[b * RP_BLOCK_NODES + __builtin_ctzll(bits)];
            double shear = du_shear_of(y, s);
            /* Relaxed stresses end a little inside their cones. */
            if (!(s->lambda[0] > 0) && !(shear > 0))
                r->take_off++;
            else if (shear < du_bound_of(s) * (1 - 1e-3))
                r->stick++;
            else
                r->slide++;
        }
}

rp_result DU(solve)(dual *y, const rp__world *world, double dt, du_report *report)
{
    sweep w = { .y = y,
                .world = world,
                .dt = dt,
                .t = 1,
                .last = INFINITY,
                .omega = RELAXED,
                .most = FIRST_MOMENTUM,
                .judged = INFINITY,
                .ratio = 1,
                .calm_before = INFINITY,
                .next_look = LOOK_EVERY,
                .soon = y->params->min_iterations,
                .edges = y->warm.count == 0 };
    w.impulse_unit = y->lattice.h / (dt * du_power(y->lattice.h));
    w.scale = y->stress_scale;
    y->best.residual = INFINITY, y->best.scale = 1;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        w.stresses += __builtin_popcountll(y->active[b]);
    if (w.edges)
        DU(start_cold)(y, world);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, start_block, &w);
    DU(start_free)(y, world);
    memcpy(y->nodes.previous, y->nodes.u, (size_t)y->grid.blocks * RP_BLOCK_NODES * NS_PAD * sizeof(double));
    if (world->body_count)
        memcpy(y->contacts.body_previous, y->contacts.body_velocity, 6 * (size_t)world->body_count * sizeof(double));
    RP_TRY(DU(to_lanes)(y));
    memset(y->partial, 0, (size_t)y->grid.blocks * DU_SUMS * sizeof(double));
    memset(y->pressed, 0, (size_t)y->grid.blocks * sizeof(double));
    if (w.stresses)
        rp__exec_team_run(iterate, &w);
    DU(from_lanes)(y);
    y->stress_scale = w.scale;
    if (w.cancelled)
        return rp__base_fail(RP_CANCELLED, "cancelled in the step at t = %g s, after %lld sweeps", world->time, (long long)w.iterations);
    rp__exec_for(y->grid.blocks, 8, finish_block, &w);
    *report = (du_report){ .iterations = w.iterations, .stresses = w.stresses, .residual_mean = w.mean, .residual_max = w.largest,
                           .converged = w.converged || !w.stresses };
    count_states(y, report);
    return RP_OK;
}
