/* Gauss-Seidel on the compact operator: block by block, colour by colour, velocities kept up to date.
 *
 * A visit gathers gamma_i from the velocities, solves the law of one stress exactly with all others fixed, and scatters the
 * change. Blocks of one colour touch different nodes, so that any number of threads gives the same bytes. A block works on a
 * tile: its nodes and one layer around, copied in and out. Sweeps alternate in direction: a pair, forth and back, is a symmetric
 * step. Between pairs stresses, impulses and velocities are extrapolated (Nesterov's momentum); velocities are affine in the
 * stresses, so the pair stays consistent, and a visit needs no stress inside its cone. When the extrapolation points uphill it is
 * dropped: the plain sweep remains. A block that hardly changed in both sweeps of a pair is left out of some pairs.
 *
 * What ends the solve is the residual of all stresses and contacts as they are, nothing moving, found anew (`check`). Whatever sweeps leave out or
 * extrapolate is judged by it too: now and then while the solve lasts, and at its end. The best state found is kept, and is what a step without success
 * returns: never worse than the one that it began with. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* as -ffp-contract=fast: a x + y in one instruction */
#else
#pragma STDC FP_CONTRACT ON
#endif

#include "nonsmooth/contact.h"
#include "nonsmooth/shared.h"
#include "nonsmooth/tile.h"
#include "nonsmooth/wide.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

enum { SUM_SQUARE, LARGEST, UPHILL, PLAIN_SQUARE, PLAIN_LARGEST, SUMS = NS_SUMS }; /* plain: without the weight of rest */
enum { LOOK_FROM = 64, LOOK_EVERY = 32 }; /* sweeps: those of a solve that lasts are checked while it runs, and the best state is kept */
#define RELAXED 0.5     /* part of a change that a visit makes, where sweeps go forth only */
#define CALMER 0.25     /* the same after a stall: what goes to and fro is damped */
#define STALLED 0.8     /* of the residual of the look before: one that has not fallen that far has stalled */
#define LITTLE 0.95     /* of the best residual: hardly progress */
enum { PATIENCE = 4 };  /* looks without progress, until a residual within the tolerances is enough that is not as small as rest would ask for */
#define ASTRAY 10       /* times the best residual: such a state is given up, and momentum with it */
enum { CHECK_AGAIN = 8 }; /* sweeps later, when a check found more than they showed */
#define MOST_MOMENTUM (w->pairs ? 16 : 12) /* Nesterov's t: more, and waves go to and fro that no restart sees */
enum { LEFT_OUT = 3, LEAVE_FROM = 16 }; /* pairs of sweeps without a block that is still; not in the first sweeps: what rests takes few */
#define STILL 0.1       /* of the tolerances: a block that changes less is */
enum { REST_SWEEPS = 6 }; /* stresses that are zero and stay so are left alone for so many sweeps; the final check sees all */

typedef struct sweep {
    ns_system *y;
    double dt, beta;       /* of the extrapolation, for this sweep */
    double impulse_unit;   /* impulses to pascals */
    bool backward;
    bool pairs;            /* sweeps forth and back, in full; else forth only, each change a part of what the law asks for */
    int64_t iterations, next_check;
    double mean, largest;  /* residual of the last sweep or check */
    double plain_mean, plain_largest; /* of the last check, as it is reported */
    int64_t stresses;
    bool converged, frozen, first;
    bool plain;            /* no momentum, nothing left out: momentum went astray */
    bool cancelled;
    bool wake;             /* visit those too that had no stress at their last visit */
    double t;              /* Nesterov's sequence */
    double uphill, last;   /* of the pair of sweeps; its residual */
    double look;           /* residual when it was looked at last */
    int idle;              /* looks since the best one was better by much */
    double relaxed;        /* part of a change that a visit makes */
    double rest;           /* slower than this is rest */
    double strict;         /* part of the tolerances that is asked for */
    double still_square, still_largest; /* changes below which a block is left out, squared */
    int64_t take_off, stick, slide;
} sweep;

/* After a visit, nodes held by a wall go back to rest. */
static void load_mask(const ns_system *y, int64_t block, int32_t *restrict held, int *count)
{
    *count = 0;
    for (int t = 0; t < NS_TILE; t++) {
        int64_t j = ns_tile_node(y, block, t);
        if (j >= 0 && y->stick[j])
            held[(*count)++] = t;
    }
}

/* Strain rate of stress i in its frame; `at` are places in u. The law is known when this is compiled. */
NS_INLINE void gather(const ns_system *y, ns_law_kind law, int64_t i, int count, const double *restrict u,
                      const int32_t *restrict at, double *restrict gamma)
{
    double h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM];
    ns_gather(y->g + i * count * RP_DIM, count, u, at, h);
    if (law == NS_LAW_ISOTROPIC) {
        const ns_frame *f = &y->frame[i];
        ns_rotate_in(f->r, h, m);
        ns_frame_coefficients(f, m, gamma);
    } else {
        ns_wide_in(&y->wide[i], h, gamma);
    }
    gamma[0] += y->stress[i].k;
}

NS_INLINE void scatter(const ns_system *y, ns_law_kind law, int64_t i, int count, const double *restrict change,
                       double *restrict u, const int32_t *restrict at)
{
    double h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM];
    if (law == NS_LAW_ISOTROPIC) {
        const ns_frame *f = &y->frame[i];
        ns_frame_tensor(f, change, m);
        ns_rotate_out(f->r, m, h);
    } else {
        ns_wide_out(&y->wide[i], change, h);
    }
    ns_scatter(y->g + i * count * RP_DIM, count, h, u, at);
}

/* One visit; `sums` collect the residual and the direction of the extrapolation. */
NS_INLINE bool visit(const sweep *w, ns_law_kind law, int64_t i, int count, double *restrict u, const int32_t *restrict at,
                     double *restrict sums)
{
    ns_system *y = w->y;
    ns_stress *s = &y->stress[i];
    double gamma[NS_S], from[NS_S], to[NS_S], change[NS_S], square = 0, uphill = 0;
    gather(y, law, i, count, u, at, gamma);
    for (int k = 0; k < NS_S; k++)
        from[k] = s->lambda[k] + w->beta * (s->lambda[k] - s->previous[k]);
    if (law == NS_LAW_ANISOTROPIC)
        ns_law_wide(&y->wide[i], gamma, from, s->mu, to);
    else if (law == NS_LAW_LINEARISED)
        ns_law_box(y->full + i * (NS_S * NS_S), gamma, from, s->mu, to);
    else if (y->params->local_solver == RP__LOCAL_ROOT)
        ns_law(&y->frame[i], gamma, from, s->mu, to);
    else if (y->params->local_solver == RP__LOCAL_GENERAL)
        ns_law_general(&y->frame[i], gamma, from, s->mu, to);
    else
        ns_law_newton(&y->frame[i], gamma, from, s->mu, to);
    double part = w->pairs || !(to[0] > 0) ? 1 : w->relaxed; /* what takes off does so fully */
    for (int k = 0; k < NS_S; k++) {
        change[k] = to[k] - from[k];
        square += change[k] * change[k];
        if (!w->backward)
            s->previous[k] = s->lambda[k];
        change[k] *= part;
        to[k] = from[k] + change[k];
        uphill += change[k] * (to[k] - s->previous[k]);
        s->lambda[k] = to[k];
    }
    double e = s->weight * s->weight * square;
    sums[SUM_SQUARE] += e;
    sums[LARGEST] = e > sums[LARGEST] ? e : sums[LARGEST];
    sums[UPHILL] += (law == NS_LAW_ISOTROPIC ? y->frame[i].nn : y->wide[i].nn) * uphill;
    if (square > 0)
        scatter(y, law, i, count, change, u, at);
    return square > 0 || to[0] > 0 || s->previous[0] > 0; /* the next extrapolation moves velocities by lambda - previous */
}

/* What the visit of stress i will read, on its way to the cache. */
NS_INLINE void fetch(const ns_system *y, ns_law_kind law, int64_t i, int count)
{
    const char *g = (const char *)(y->g + i * count * RP_DIM), *s = (const char *)&y->stress[i];
    const char *f = law == NS_LAW_ISOTROPIC ? (const char *)&y->frame[i] : (const char *)&y->wide[i];
    for (size_t at = 0; at < (size_t)count * RP_DIM * sizeof(double); at += 64)
        __builtin_prefetch(g + at);
    for (size_t at = 0; at < (law == NS_LAW_ISOTROPIC ? sizeof(ns_frame) : sizeof(ns_wide)); at += 64)
        __builtin_prefetch(f + at);
    for (size_t at = 0; at < sizeof(ns_stress); at += 64)
        __builtin_prefetch(s + at, 1);
}

NS_INLINE void sweep_tile(const sweep *w, ns_law_kind law, int64_t block, int count, double *restrict tile, const int32_t *restrict map,
                          const int32_t *restrict held, int held_count, double *restrict sums)
{
    ns_system *y = w->y;
    uint64_t bits = y->awake[block];
    while (bits) {
        int l = w->backward ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits);
        bits &= ~((uint64_t)1 << l);
        if (bits)
            fetch(y, law, block * RP_BLOCK_NODES + (w->backward ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits)), count);
        int32_t at[NS_STENCIL];
        int base = ns_tile_of_local(l);
        for (int n = 0; n < count; n++)
            at[n] = map ? map[base + y->offset[n]] : base + y->offset[n];
        if (!visit(w, law, block * RP_BLOCK_NODES + l, count, tile, at, sums))
            y->awake[block] &= ~((uint64_t)1 << l);
        for (int n = 0; n < held_count; n++)
            *(ns_four *)(tile + NS_PAD * held[n]) = (ns_four){ 0 };
    }
}

/* One compiled loop for each law, and for each stencil where it pays. */
static void sweep_stresses(const sweep *w, int64_t block, double *restrict tile, const int32_t *restrict map,
                           const int32_t *restrict held, int held_count, double *restrict sums)
{
    const ns_system *y = w->y;
    if (y->law == NS_LAW_LINEARISED)
        sweep_tile(w, NS_LAW_LINEARISED, block, y->stencil, tile, map, held, held_count, sums);
    else if (y->law == NS_LAW_ANISOTROPIC && !map && !y->stress_cell)
        sweep_tile(w, NS_LAW_ANISOTROPIC, block, NS_STENCIL, tile, NULL, held, held_count, sums);
    else if (y->law == NS_LAW_ANISOTROPIC)
        sweep_tile(w, NS_LAW_ANISOTROPIC, block, y->stencil, tile, map, held, held_count, sums);
    else if (map)
        sweep_tile(w, NS_LAW_ISOTROPIC, block, y->stencil, tile, map, held, held_count, sums);
    else if (y->stress_cell)
        sweep_tile(w, NS_LAW_ISOTROPIC, block, NS_CORNERS, tile, NULL, held, held_count, sums);
    else
        sweep_tile(w, NS_LAW_ISOTROPIC, block, NS_STENCIL, tile, NULL, held, held_count, sums);
}

static void contacts_of_block(const sweep *w, int64_t block, double *tile, bool direct, double *sums)
{
    ns_system *y = w->y;
    for (int64_t k = y->contact_first[block]; k < y->contact_first[block + 1]; k++) {
        ns_contact *c = &y->contacts[k];
        if (c->free_body >= 0)
            continue;
        double *at[NS_CORNERS] = { 0 };
        ns_contact_nodes(y, c, direct ? NULL : tile, at);
        double e = ns_contact_visit(c, w->beta, !w->backward, w->dt, at) * w->impulse_unit * w->impulse_unit;
        sums[SUM_SQUARE] += e;
        sums[LARGEST] = e > sums[LARGEST] ? e : sums[LARGEST];
    }
}

/* A block that is left out goes on as it went, lambda += beta (lambda - previous), as the velocities do. */
static void coast(const sweep *w, int64_t block)
{
    ns_system *y = w->y;
    for (uint64_t bits = y->awake[block]; bits; bits &= bits - 1) {
        ns_stress *s = &y->stress[block * RP_BLOCK_NODES + __builtin_ctzll(bits)];
        for (int k = 0; k < NS_S; k++) {
            double now = s->lambda[k];
            s->lambda[k] += w->beta * (now - s->previous[k]);
            s->previous[k] = now;
        }
    }
    for (int64_t k = y->contact_first[block]; k < y->contact_first[block + 1]; k++) {
        ns_contact *c = &y->contacts[k];
        for (int a = 0; a < 3 && c->free_body < 0; a++) {
            double now = c->impulse[a];
            c->impulse[a] += w->beta * (now - c->previous[a]);
            c->previous[a] = now;
        }
    }
}

static bool is_still(const sweep *w, int64_t block, const double *sums)
{
    return sums[SUM_SQUARE] < __builtin_popcountll(w->y->active[block]) * w->still_square && sums[LARGEST] < w->still_largest;
}

/* After a pair of sweeps: a block whose stresses hardly changed in both is left out of the next ones. What coasts is the change of the pair: a block
 * that the sweep forth put right, and the one back did not touch, would go astray by beta + beta^2 + beta^3 of that change, and farther each time. */
static void rest_block(const sweep *w, int64_t block, const double *back)
{
    const double *forth = w->y->partial + SUMS * block;
    bool still = w->iterations >= LEAVE_FROM && !w->plain && is_still(w, block, forth) && is_still(w, block, back);
    w->y->quiet[block] = still ? LEFT_OUT : 0;
}

static void sweep_block(const sweep *w, int64_t block)
{
    ns_system *y = w->y;
    double sums[SUMS] = { 0 };
    if (y->quiet[block]) { /* its sums stay as they were */
        if (!w->backward)
            coast(w, block);
        if (w->backward || !w->pairs)
            y->quiet[block]--;
        return;
    }
    if (w->wake)
        y->awake[block] = y->active[block];
    if (y->awake[block] == 0 && y->contact_first[block] == y->contact_first[block + 1])
        goto done;
    if (y->aliased[block]) { /* a node stands twice in the tile: work in place */
        int32_t map[NS_TILE], held[NS_TILE];
        int held_count = 0;
        for (int t = 0; t < NS_TILE; t++) {
            int64_t j = ns_tile_node(y, block, t);
            map[t] = j < 0 ? 0 : (int32_t)j; /* absent nodes have h = 0 */
        }
        if (y->masked[block]) {
            load_mask(y, block, held, &held_count);
            for (int n = 0; n < held_count; n++)
                held[n] = map[held[n]];
        }
        if (!w->backward)
            contacts_of_block(w, block, NULL, true, sums);
        sweep_stresses(w, block, y->u, map, held, held_count, sums);
        if (w->backward)
            contacts_of_block(w, block, NULL, true, sums);
    } else {
        _Alignas(64) double tile[NS_TILE * NS_PAD];
        int32_t held[NS_TILE];
        int held_count = 0;
        ns_load_tile(y, block, tile);
        if (y->masked[block])
            load_mask(y, block, held, &held_count);
        if (!w->backward)
            contacts_of_block(w, block, tile, false, sums);
        sweep_stresses(w, block, tile, NULL, held, held_count, sums);
        if (w->backward)
            contacts_of_block(w, block, tile, false, sums);
        ns_store_tile(y, block, tile);
    }
done:
    if (w->backward || !w->pairs)
        rest_block(w, block, sums);
    memcpy(y->partial + SUMS * block, sums, sizeof sums);
}

/* ---- free bodies: their contacts run one after the other, for they share the body's velocity ---- */

static double free_contact(const sweep *w, ns_contact *c, const rp__body *bodies)
{
    ns_system *y = w->y;
    double axes[RP_DIM][3], levers[RP_DIM][6], pushed[RP_DIM][6], u[3], change[3] = { 0 }, *at[NS_CORNERS] = { 0 };
    double *body = y->body_velocity + 6 * c->free_body;
    const double *inverse = y->body_inverse + 36 * c->free_body;
    rp__vec3 arm = rp__vec3_sub(rp__vec3_load(c->place), bodies[c->free_body].pose.position);
    ns_contact_nodes(y, c, NULL, at);
    ns_contact_gather(c, at, u);
    ns_contact_axes(c->normal, axes);
    double ww[RP_DIM * RP_DIM], b[RP_DIM], from[RP_DIM], to[RP_DIM], square = 0;
    for (int i = 0; i < RP_DIM; i++) {
        ns_lever(axes[i], arm, levers[i]);
        for (int r = 0; r < 6; r++) {
            pushed[i][r] = 0;
            for (int s = 0; s < 6; s++)
                pushed[i][r] += inverse[6 * r + s] * levers[i][s];
        }
    }
    for (int i = 0; i < RP_DIM; i++) {
        b[i] = i == 0 ? c->gap : 0;
        from[i] = 0;
        for (int a = 0; a < 3; a++)
            from[i] += (c->impulse[a] + w->beta * (c->impulse[a] - c->previous[a])) * axes[i][a];
        for (int a = 0; a < RP_DIM; a++)
            b[i] += u[a] * axes[i][a];
        for (int r = 0; r < 6; r++)
            b[i] -= body[r] * levers[i][r];
        for (int j = 0; j < RP_DIM; j++) {
            ww[i * RP_DIM + j] = i == j ? 1 / c->mass : 0;
            for (int r = 0; r < 6; r++)
                ww[i * RP_DIM + j] += levers[i][r] * pushed[j][r];
        }
    }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++)
            b[i] -= ww[i * RP_DIM + j] * from[j];
    ns_contact_factor factor;
    if (!NS_FACTORISE(&factor, ww))
        return 0;
    NS_SOLVE_CONTACT(&factor, b, isinf(c->mu) ? 1e3 : c->mu, to);
    for (int i = 0; i < RP_DIM; i++)
        square += (to[i] - from[i]) * (to[i] - from[i]);
    if (w->frozen) /* only asked */
        return square * w->impulse_unit * w->impulse_unit;
    if (!w->backward)
        memcpy(c->previous, c->impulse, sizeof c->impulse);
    memset(c->impulse, 0, sizeof c->impulse);
    for (int i = 0; i < RP_DIM; i++) {
        double d = to[i] - from[i];
        for (int a = 0; a < 3; a++)
            c->impulse[a] += to[i] * axes[i][a];
        for (int a = 0; a < RP_DIM; a++)
            change[a] += d * axes[i][a];
        for (int r = 0; r < 6; r++)
            body[r] -= d * pushed[i][r];
    }
    ns_contact_scatter(c, w->dt, change, at);
    return square * w->impulse_unit * w->impulse_unit;
}

static void free_contacts(const sweep *w, const rp__body *bodies, double sums[SUMS])
{
    ns_system *y = w->y;
    for (int64_t k = 0; k < y->free_count; k++) {
        int64_t i = y->free_contact[w->backward ? y->free_count - 1 - k : k];
        double e = free_contact(w, &y->contacts[i], bodies);
        sums[SUM_SQUARE] += e;
        sums[LARGEST] = e > sums[LARGEST] ? e : sums[LARGEST];
    }
}

/* ---- the loop ---- */

typedef struct team_job {
    sweep w;
    const rp__body *bodies;
    int body_count;
    bool free_bodies;
    bool stop;
    const volatile int *cancel; /* not 0: give up */
} team_job;

static void share(int64_t first, int64_t last, int worker, int size, int64_t *begin, int64_t *end)
{
    int64_t n = last - first;
    *begin = first + n * worker / size;
    *end = first + n * (worker + 1) / size;
}

static void one_sweep(team_job *q, rp__exec_team *team, int worker)
{
    const sweep *w = &q->w;
    ns_system *y = w->y;
    int size = rp__exec_team_size(team), colours = y->grid.colours;
    for (int k = 0; k < colours; k++) {
        int c = w->backward ? colours - 1 - k : k;
        int64_t begin, end;
        share(y->grid.colour_first[c], y->grid.colour_first[c + 1], worker, size, &begin, &end);
        for (int64_t i = begin; i < end; i++)
            sweep_block(w, y->grid.colour_items[i]);
        rp__exec_team_barrier(team);
    }
}

/* w += beta (w - before); before = w. */
static void extrapolate(team_job *q, rp__exec_team *team, int worker)
{
    ns_system *y = q->w.y;
    int64_t begin, end;
    share(0, (int64_t)y->grid.blocks * RP_BLOCK_NODES, worker, rp__exec_team_size(team), &begin, &end);
    double beta = q->w.beta;
    for (int64_t j = begin; j < end; j++) {
        ns_four *u = (ns_four *)(y->u + NS_PAD * j), *b = (ns_four *)(y->before + NS_PAD * j), now = *u;
        *u = now + beta * (now - *b);
        *b = now;
    }
    if (worker == 0)
        for (int k = 0; k < 6 * q->body_count; k++) {
            double now = y->body_velocity[k];
            y->body_velocity[k] = now + beta * (now - y->body_before[k]);
            y->body_before[k] = now;
        }
    rp__exec_team_barrier(team);
}

/* The honest residual: all velocities and stresses as they are, nothing moves. */
static void check_block(sweep *w, int64_t block)
{
    ns_system *y = w->y;
    double sums[SUMS] = { 0 };
    _Alignas(64) double tile[NS_TILE * NS_PAD];
    ns_load_tile(y, block, tile);
    for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
        int l = __builtin_ctzll(bits), base = ns_tile_of_local(l);
        int64_t i = block * RP_BLOCK_NODES + l;
        int32_t at[NS_STENCIL];
        double gamma[NS_S];
        for (int n = 0; n < y->stencil; n++)
            at[n] = base + y->offset[n];
        double h[RP_DIM * RP_DIM];
        ns_gather(y->g + i * y->stencil * RP_DIM, y->stencil, tile, at, h);
        ns_strain_of(y, i, h, gamma);
        gamma[0] += y->stress[i].k;
        double r = ns_residual_of(y, i, gamma), e = y->stress[i].weight * r, plain = ns_fill(y, i) * r;
        sums[SUM_SQUARE] += e * e;
        sums[LARGEST] = e * e > sums[LARGEST] ? e * e : sums[LARGEST];
        sums[PLAIN_SQUARE] += plain * plain;
        sums[PLAIN_LARGEST] = plain * plain > sums[PLAIN_LARGEST] ? plain * plain : sums[PLAIN_LARGEST];
    }
    for (int64_t k = y->contact_first[block]; k < y->contact_first[block + 1]; k++) {
        const ns_contact *c = &y->contacts[k];
        if (c->free_body >= 0)
            continue;
        double u[3], v[3] = { 0 }, to[3], e = 0, *at[NS_CORNERS] = { 0 };
        ns_contact_nodes(y, c, NULL, at);
        ns_contact_gather(c, at, u);
        ns_contact_velocity(c, u, v);
        ns_contact_law(c->normal, c->mu, c->mass, v, c->impulse, to);
        for (int a = 0; a < RP_DIM; a++)
            e += (to[a] - c->impulse[a]) * (to[a] - c->impulse[a]);
        e *= w->impulse_unit * w->impulse_unit;
        sums[SUM_SQUARE] += e;
        sums[LARGEST] = e > sums[LARGEST] ? e : sums[LARGEST];
        sums[PLAIN_SQUARE] += e;
        sums[PLAIN_LARGEST] = e > sums[PLAIN_LARGEST] ? e : sums[PLAIN_LARGEST];
    }
    memcpy(y->partial + SUMS * block, sums, sizeof sums);
}

static void check(team_job *q, rp__exec_team *team, int worker)
{
    int64_t begin, end;
    share(0, q->w.y->grid.blocks, worker, rp__exec_team_size(team), &begin, &end);
    for (int64_t b = begin; b < end; b++)
        check_block(&q->w, b);
    rp__exec_team_barrier(team);
}

/* Sums over the blocks in their order. */
static void collect(sweep *w, double sums[SUMS])
{
    const ns_system *y = w->y;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        const double *p = y->partial + SUMS * b;
        sums[SUM_SQUARE] += p[SUM_SQUARE];
        sums[LARGEST] = p[LARGEST] > sums[LARGEST] ? p[LARGEST] : sums[LARGEST];
        sums[UPHILL] += p[UPHILL];
        sums[PLAIN_SQUARE] += p[PLAIN_SQUARE];
        sums[PLAIN_LARGEST] = p[PLAIN_LARGEST] > sums[PLAIN_LARGEST] ? p[PLAIN_LARGEST] : sums[PLAIN_LARGEST];
    }
    double count = w->stresses > 0 ? (double)w->stresses : 1;
    w->mean = sqrt(sums[SUM_SQUARE] / count) / y->stress_scale;
    w->largest = sqrt(sums[LARGEST]) / y->stress_scale;
    w->plain_mean = sqrt(sums[PLAIN_SQUARE] / count) / y->stress_scale;
    w->plain_largest = sqrt(sums[PLAIN_LARGEST]) / y->stress_scale;
}

/* The residual in units of what is asked for; at most one is success. */
static double merit(const sweep *w)
{
    const rp__nonsmooth_params *p = w->y->params;
    double mean = w->mean / (w->strict * p->tolerance), largest = w->largest / (w->strict * p->tolerance_max);
    return mean > largest ? mean : largest;
}

/* The same without the strictness of rest: what is reported. */
static double plain_merit(const sweep *w)
{
    const rp__nonsmooth_params *p = w->y->params;
    double mean = w->plain_mean / p->tolerance, largest = w->plain_largest / p->tolerance_max;
    return mean > largest ? mean : largest;
}

/* Nothing to start from: the first answer is worth an effort, within the limit of any step. */
static double wanted(const sweep *w)
{
    return w->first ? NS_FIRST / w->strict : 1;
}

/* Worker 0 between sweeps: residual, momentum, whether to look at it closely, and whether to stop. */
static void decide(team_job *q)
{
    sweep *w = &q->w;
    const rp__nonsmooth_params *p = w->y->params;
    double sums[SUMS] = { 0 };
    if (q->free_bodies)
        free_contacts(w, q->bodies, sums);
    collect(w, sums);
    w->iterations++;
    w->uphill += sums[UPHILL];
    w->beta = 0;
    if ((w->backward || !w->pairs) && p->momentum && !w->plain && w->y->law != NS_LAW_LINEARISED) { /* where several stresses obey the law it goes astray */
        /* Friction is not the gradient of anything: a residual that grows stops the momentum too. */
        if (w->uphill < 0 || w->mean > 1.3 * w->last)
            w->t = 1;
        double next = 0.5 * (1 + sqrt(1 + 4 * w->t * w->t));
        w->beta = (w->t - 1) / next;
        w->t = next < MOST_MOMENTUM ? next : MOST_MOMENTUM;
        w->uphill = 0;
        w->last = w->mean;
    }
    w->backward = w->pairs && !w->backward;
    w->wake = w->iterations % REST_SWEEPS == 0;
    w->cancelled = q->cancel && *q->cancel;
    q->stop = w->cancelled || w->iterations >= p->max_iterations;
    bool lasts = w->iterations >= LOOK_FROM && w->iterations % LOOK_EVERY == 0;
    w->frozen = q->stop || lasts || (w->iterations >= p->min_iterations && w->iterations >= w->next_check && merit(w) <= wanted(w));
}

/* Worker 0 after a look in the midst of a solve. A residual that has stalled is damped; what rests, found for the first time, goes on in
 * pairs. One that is within the
 * tolerances, though not as small as rest would ask for, is enough when nothing helps. */
static void change_ways(team_job *q, double found)
{
    sweep *w = &q->w;
    if (found > STALLED * w->look && w->first && !w->pairs)
        w->pairs = true, w->t = 1, w->beta = 0;
    else if (found > STALLED * w->look)
        w->relaxed = CALMER;
    w->look = found;
    w->idle = found < LITTLE * w->y->best.merit ? 0 : w->idle + 1;
    q->stop |= w->idle >= PATIENCE && w->converged && !w->first;
}

/* Worker 0 after a check: success, or the best state so far, or back to it. */
static void judge(team_job *q)
{
    sweep *w = &q->w;
    double sums[SUMS] = { 0 }, found;
    if (q->free_bodies)
        free_contacts(w, q->bodies, sums);
    collect(w, sums);
    found = merit(w);
    w->converged = found <= 1 || plain_merit(w) <= 1;
    w->frozen = false;
    q->stop |= found <= wanted(w);
    w->next_check = w->iterations + CHECK_AGAIN;
    w->wake = true;
    if (q->stop && w->converged)
        return;
    if (w->iterations >= LOOK_FROM && w->iterations % LOOK_EVERY == 0)
        change_ways(q, found);
    if (found < w->y->best.merit) {
        NS(keep_iterate)(w->y, &w->y->best, found);
    } else if (!(found < ASTRAY * w->y->best.merit) && !q->stop) {
        NS(take_iterate)(w->y, &w->y->best);
        memset(w->y->quiet, 0, (size_t)w->y->grid.blocks);
        w->plain = w->pairs = true, w->beta = 0, w->backward = false;
    }
}

static void iterate(void *context, rp__exec_team *team, int worker)
{
    team_job *q = context;
    for (;;) {
        if (!q->w.backward)
            extrapolate(q, team, worker);
        one_sweep(q, team, worker);
        if (worker == 0)
            decide(q);
        rp__exec_team_barrier(team);
        if (!q->w.frozen)
            continue;
        check(q, team, worker);
        if (worker == 0)
            judge(q);
        rp__exec_team_barrier(team);
        if (q->stop)
            return;
    }
}

static void check_once(void *context, rp__exec_team *team, int worker)
{
    check(context, team, worker);
}

/* A solve without success ends with the best of what it began with, what it found on the way, and where it is. */
static void end_with_best(team_job *q)
{
    sweep *w = &q->w;
    ns_system *y = w->y;
    double last = merit(w);
    if (last < y->best.merit)
        NS(keep_iterate)(y, &y->best, last);
    NS(take_iterate)(y, &y->start);
    for (int k = 0; k < 2; k++) { /* the start; then, unless it is the best, the best */
        double sums[SUMS] = { 0 };
        w->frozen = true, w->beta = 0;
        rp__exec_team_run(check_once, q);
        if (q->free_bodies)
            free_contacts(w, q->bodies, sums);
        collect(w, sums);
        if (merit(w) <= y->best.merit)
            break;
        NS(take_iterate)(y, &y->best);
    }
    w->converged = merit(w) <= 1 || plain_merit(w) <= 1;
}

/* w = u / s, then the stresses and impulses at the start act on it. */
static void start_block(void *context, int64_t block, int worker)
{
    ns_system *y = ((sweep *)context)->y;
    (void)worker;
    for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
        int l = __builtin_ctzll(bits), base = ns_tile_of_local(l);
        int64_t i = block * RP_BLOCK_NODES + l;
        double change[NS_S], h[RP_DIM * RP_DIM];
        memcpy(change, y->stress[i].lambda, sizeof change);
        change[0] -= y->stress[i].cohesion;
        ns_tensor_of(y, i, change, h);
        for (int n = 0; n < y->stencil; n++) {
            int64_t j = ns_tile_node(y, block, base + y->offset[n]);
            if (j < 0 || y->stick[j])
                continue;
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    ns_velocity(y, j)[a] += h[a * RP_DIM + b] * y->g[(i * y->stencil + n) * RP_DIM + b];
        }
    }
}

/* Residuals count as much as a node is full, so what they leave undecided is the more the emptier it is. */
static double least_filled(const ns_system *y, int64_t j)
{
    double fill = y->stress_cell ? 1 : ns_fill(y, j);
    return fill > 0.1 ? fill : 0.1;
}

static void scale_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    sweep *w = context;
    ns_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double s = y->scale[j], factor = s > 0 && !y->stick[j] ? (w->frozen ? s : 1 / s) : 0, *u = ns_velocity(y, j), speed = 0;
        for (int a = 0; a < NS_PAD; a++)
            u[a] *= factor;
        if (!w->frozen)
            continue;
        for (int a = 0; a < RP_DIM; a++)
            speed += u[a] * u[a];
        double rest = w->rest / least_filled(y, j);
        y->before[NS_PAD * j] = speed < rest * rest; /* what sweeps kept there is used up */
        if (speed < w->rest * w->rest)
            memset(u, 0, NS_PAD * sizeof *u);
    }
}

/* Thin nodes know their velocity less well: what rests to that accuracy stands, when all around it rests too. (A thin node that is slow
 * among others that move, as in a bed on a rising floor, goes with them: held, it would be torn along again in each step.) */
static void stop_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    ns_system *y = ((sweep *)context)->y;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = block * RP_BLOCK_NODES + l;
            bool rests = y->before[NS_PAD * i] > 0;
            for (int n = 0; n < NS_STENCIL && rests; n++) {
                int x = n % 3 - 1, v = n / 3 % 3 - 1, z = RP_DIM == 3 ? n / 9 - 1 : 0;
                int64_t j = ns_tile_node(y, block, ns_tile_of_local(l) + x + NS_TILE_SIDE * (v + NS_TILE_SIDE * z));
                rests = j < 0 || !(y->scale[j] > 0) || y->before[NS_PAD * j] > 0 || ns_fill(y, j) < ns_fill(y, i); /* emptier ones do not decide */
            }
            if (rests)
                memset(ns_velocity(y, i), 0, NS_PAD * sizeof(double));
        }
}

static void start_contacts(ns_system *y, const rp__body *bodies, double dt)
{
    for (int64_t k = 0; k < y->contact_count; k++) {
        const ns_contact *c = &y->contacts[k];
        double push[3];
        for (int a = 0; a < 3; a++)
            push[a] = c->impulse[a] - c->adhesion * c->normal[a];
        double *at[NS_CORNERS] = { 0 }, levers[6];
        ns_contact_nodes(y, c, NULL, at);
        ns_contact_scatter(c, dt, push, at);
        if (c->free_body < 0)
            continue;
        ns_lever(push, rp__vec3_sub(rp__vec3_load(c->place), bodies[c->free_body].pose.position), levers);
        for (int r = 0; r < 6; r++)
            for (int s = 0; s < 6; s++)
                y->body_velocity[6 * c->free_body + r] -= y->body_inverse[36 * c->free_body + 6 * r + s] * levers[s];
    }
}

/* A free body that lies on grains weighs on few of them: an error that is small in the mean over all stresses may still let it sink.
 * So ten times more is asked for while one is slow enough to be at rest. Deep layers: see prepare_dim.c. */
static double strictness(const ns_system *y, const rp__world *world, double dt)
{
    const double *g = world->def->gravity;
    double fall = dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int64_t k = 0; k < y->contact_count; k++)
        if (y->contacts[k].free_body >= 0 && rp__vec3_norm(world->bodies[y->contacts[k].free_body].velocity) < 2 * fall)
            return y->strict < 0.1 ? y->strict : 0.1;
    return y->strict;
}

/* Bodies that grains hold, slower than the solver can tell from rest, rest; those that a motor drives go on. */
static void rest_bodies(ns_system *y, const rp__world *world, double rest)
{
    for (int64_t k = 0; k < y->contact_count; k++) {
        const ns_contact *c = &y->contacts[k];
        if (c->free_body < 0 || !(c->impulse[0] != 0 || c->impulse[1] != 0 || c->impulse[2] != 0))
            continue;
        const rp__body *body = &world->bodies[c->free_body];
        double *v = y->body_velocity + 6 * c->free_body;
        double speed = rp__vec3_norm(rp__vec3_load(v)) + body->radius * rp__vec3_norm(rp__vec3_load(v + 3));
        if (speed < rest && body->def.motor == RP_MOTOR_NONE)
            memset(v, 0, 6 * sizeof *v);
    }
}

static void count_states(const ns_system *y, sweep *w)
{
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            const ns_stress *s = &y->stress[b * RP_BLOCK_NODES + __builtin_ctzll(bits)];
            if (!(s->lambda[0] > 0))
                w->take_off++;
            else if (ns_tangent_of(y, s->lambda) < s->mu * s->lambda[0] * (1 - 1e-3)) /* changes are made in part: what slides ends a little inside its cone */
                w->stick++;
            else
                w->slide++;
        }
}

rp_result NS(solve)(ns_system *y, const rp__world *world, double dt, ns_report *report)
{
    team_job q = { .w = { .y = y, .dt = dt, .t = 1, .last = INFINITY, .first = y->settled < NS_FIRST_STEPS, .wake = true },
                   .bodies = world->bodies,
                   .body_count = world->body_count,
                   .cancel = world->cancel };
    sweep *w = &q.w;
    int64_t nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    w->strict = strictness(y, world, dt);
    w->pairs = !y->params->momentum || y->law == NS_LAW_LINEARISED;
    w->look = INFINITY;
    w->relaxed = RELAXED;
    double still = STILL * w->strict * wanted(w) * y->stress_scale;
    w->still_square = pow(still * y->params->tolerance, 2), w->still_largest = pow(still * y->params->tolerance_max, 2);
    memset(y->quiet, 0, (size_t)y->grid.blocks);
    w->impulse_unit = 1 / (dt * pow(y->lattice.h, RP_DIM - 1));
    for (int64_t b = 0; b < y->grid.blocks; b++)
        w->stresses += __builtin_popcountll(y->active[b]);
    for (int64_t k = 0; k < y->contact_count; k++)
        q.free_bodies |= y->contacts[k].free_body >= 0;
    rp__exec_for(nodes, 4096, scale_nodes, w);
    rp__exec_colors(y->grid.colours, y->grid.colour_first, y->grid.colour_items, 1, start_block, w);
    start_contacts(y, world->bodies, dt);
    memcpy(y->before, y->u, (size_t)nodes * NS_PAD * sizeof(double));
    if (world->body_count)
        memcpy(y->body_before, y->body_velocity, 6 * (size_t)world->body_count * sizeof(double));
    RP_TRY(NS(reserve_iterates)(y));
    NS(keep_iterate)(y, &y->start, INFINITY);
    y->best.merit = INFINITY;
    if (w->stresses || y->contact_count)
        rp__exec_team_run(iterate, &q);
    else
        w->converged = true;
    if (w->cancelled)
        return rp__base_fail(RP_CANCELLED, "cancelled in the step at t = %g s, after %lld sweeps", world->time, (long long)w->iterations);
    if (!(merit(w) <= wanted(w)) && (w->stresses || y->contact_count))
        end_with_best(&q);
    /* A residual of tolerance × rho g L leaves velocities of dt / (rho h) times it: slower than that is not known from rest, and is
     * rest. What moves slower than the solver can tell would creep for ever else. */
    w->rest = y->params->rest * y->params->tolerance * y->fall * dt / y->lattice.h;
    w->frozen = true; /* back to velocities */
    rp__exec_for(nodes, 4096, scale_nodes, w);
    rp__exec_for(y->grid.blocks, 8, stop_nodes, w);
    rest_bodies(y, world, w->rest);
    count_states(y, w);
    *report = (ns_report){ .iterations = w->iterations, .stresses = w->stresses, .take_off = w->take_off, .stick = w->stick,
                           .slide = w->slide, .residual_mean = w->plain_mean, .residual_max = w->plain_largest,
                           .converged = w->converged };
    return RP_OK;
}
