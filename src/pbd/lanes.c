/* Pairs into lanes: eight that share no grain form a group.
 *
 * Pairs are taken layer by layer. Each goes into the first group of a window of 32 that has room and neither of its grains. Each slab
 * does this for its pairs on its own, so the bytes do not depend on threads. Then the lanes get their geometry and what the step
 * before left: the normal is that of the beginning; l and t come from the same pair of the step before, scaled by (h / h_old)² since
 * they are forces times h², t turned into the new tangent plane. */
#include "pbd/closure.h"
#include "pbd/rows.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <math.h>
#include <string.h>

typedef struct work {
    rp__pbd *s;
    double scale;          /* (h / h_old)² */
    bool alike;            /* all grains have one mass */
    bool one_friction;     /* and one friction, slipping or not */
} work;

/* ---- places ---- */

/* Groups of grains: a grain is in pairs of its own slab and of the next, one of even and one of odd number. */
static rp__pbd_used *used_by(const rp__pbd *s, int64_t slab)
{
    return s->used + slab % 2 * s->n;
}

/* Groups base … base + 31 are being filled. */
typedef struct window {
    int32_t base;
    uint32_t full;
    uint8_t fill[RP_PBD_WINDOW];
    int32_t groups;        /* opened so far */
} window;

static void advance(window *w)
{
    w->base++;
    w->full >>= 1;
    memmove(w->fill, w->fill + 1, RP_PBD_WINDOW - 1);
    w->fill[RP_PBD_WINDOW - 1] = 0;
}

static uint32_t mask_of(const rp__pbd_used *u, int32_t base)
{
    return base - u->base < RP_PBD_WINDOW ? u->mask >> (base - u->base) : 0;
}

static void mark(rp__pbd_used *u, int32_t base, int bit)
{
    u->mask = mask_of(u, base) | 1u << bit;
    u->base = base;
}

static int32_t place_pair(window *w, rp__pbd_used *i, rp__pbd_used *j)
{
    uint32_t open;
    while (!(open = ~(mask_of(i, w->base) | mask_of(j, w->base) | w->full)))
        advance(w);
    int bit = __builtin_ctz(open), lane = w->fill[bit]++;
    int32_t group = w->base + bit;
    mark(i, w->base, bit);
    mark(j, w->base, bit);
    w->full |= (uint32_t)(lane + 1 == RP_PBD_LANES) << bit;
    w->groups = group + 1 > w->groups ? group + 1 : w->groups;
    while (w->full & 1)
        advance(w);
    return group * RP_PBD_LANES + lane;
}

/* Gives the pairs of a slab their places, from 0; layer by layer from below. */
static int64_t place_slab(rp__pbd *s, const rp__pbd_slab *slab, rp__pbd_used *used)
{
    window w = { 0 };
    int64_t height = s->cells[1], row = s->cells[2];
    for (int64_t k = 0; k < height; k++)
        for (int64_t a = slab->layer[0]; a < slab->layer[1]; a++) {
            int64_t cell = (a * height + (s->upward ? k : height - 1 - k)) * row;
            for (int64_t i = s->cell_first[cell]; i < s->cell_first[cell + row]; i++) {
                int64_t first = s->now.first[i], end = first + s->now.count[i];
                for (int64_t m = first; m < end; m++)
                    s->lane[m] = place_pair(&w, &used[i], &used[s->now.partner[m]]);
            }
        }
    return w.groups;
}

static void place_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    rp__pbd *s = ((const work *)context)->s;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        s->slabs[b].groups[1] = place_slab(s, &s->slabs[b], used_by(s, b));
}

/* ---- what is in them ---- */

rp__vec3 rp__pbd_any_direction(const rp__pbd *s, int64_t i, int64_t j)
{
    bool swap = s->id[i] < s->id[j];
    uint64_t a = (uint64_t)s->id[swap ? i : j], b = (uint64_t)s->id[swap ? j : i];
    rp__vec3 n = rp__random_on_sphere(0x706264, a, b);
    if (s->dim == 2)
        n = rp__vec3_unit(rp__vec3_make(n.x, n.y, 0), rp__vec3_make(1, 0, 0));
    return rp__vec3_scale(swap ? -1 : 1, n);
}

double rp__pbd_friction(const rp__pbd *s, int64_t i, int64_t j)
{
    return s->mu[s->material[i] * s->kinds + s->material[j]];
}

typedef double four __attribute__((vector_size(32)));
typedef double any_four __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));

/* x_i - x_j of the four pairs from lane k on, as planes. */
static void differences(const rp__pbd *s, const rp__pbd_wide *w, int k, double d[3][RP_PBD_LANES])
{
    four r[4];
    for (int m = 0; m < 4; m++)
        r[m] = *(const any_four *)s->x[w->i[k + m]] - *(const any_four *)s->x[w->j[k + m]];
    four a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6), b = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6);
    four c = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7), e = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
    *(any_four *)&d[0][k] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(any_four *)&d[1][k] = __builtin_shufflevector(c, e, 0, 1, 4, 5);
    *(any_four *)&d[2][k] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
}

/* n and the gap |x_ij| - 2 r; returns the least gap. */
static double set_geometry(const rp__pbd *s, rp__pbd_wide *w)
{
    double d[3][RP_PBD_LANES], length[RP_PBD_LANES], least = INFINITY;
    for (int k = 0; k < RP_PBD_LANES; k += 4)
        differences(s, w, k, d);
#pragma omp simd
    for (int k = 0; k < RP_PBD_LANES; k++)
        length[k] = sqrt(d[0][k] * d[0][k] + d[1][k] * d[1][k] + d[2][k] * d[2][k]);
#pragma omp simd
    for (int k = 0; k < RP_PBD_LANES; k++) {
        double per = 1 / (length[k] > 0 ? length[k] : 1);
        for (int c = 0; c < 3; c++)
            w->n[c][k] = (rp__pbd_real)(d[c][k] * per);
        w->gap[k] = (rp__pbd_real)(length[k] - 2 * s->r);
    }
    for (int k = 0; k < RP_PBD_LANES; k++) {
        double gap = w->pair[k] < 0 ? INFINITY : length[k] - 2 * s->r;
        least = gap < least ? gap : least;
    }
    if (!(least < -2 * s->r * (1 - 1e-9)))
        return least;
    for (int k = 0; k < RP_PBD_LANES; k++)
        if (w->pair[k] >= 0 && !(length[k] > 2e-9 * s->r)) {
            rp__vec3 n = rp__pbd_any_direction(s, w->i[k], w->j[k]);
            w->n[0][k] = (rp__pbd_real)n.x, w->n[1][k] = (rp__pbd_real)n.y, w->n[2][k] = (rp__pbd_real)n.z;
        }
    return least;
}

typedef rp__pbd_four any_force __attribute__((aligned(sizeof(rp__pbd_real)), may_alias));

/* Forces of the step before; slipped[]: the pair slipped then, or is new. */
static void set_memory(const work *w, rp__pbd_wide *wide, bool slipped[RP_PBD_LANES])
{
    static const rp__pbd_force none = { .l = 0 };
    const rp__pbd *s = w->s;
    rp__pbd_real scale = (rp__pbd_real)w->scale, sign[RP_PBD_LANES], f[4][RP_PBD_LANES];
    const rp__pbd_force *from[RP_PBD_LANES];
    rp__pbd_eight rows[4];
    for (int k = 0; k < RP_PBD_LANES; k++) {
        int32_t before = wide->pair[k] < 0 ? -1 : s->before[wide->pair[k]];
        from[k] = before < 0 ? &none : &s->old.force[before >> 1];
        sign[k] = before & 1 ? -scale : scale;
    }
    for (int k = 0; k < 4; k++)
        rows[k] = rp__pbd_two_rows(*(const any_force *)from[k], *(const any_force *)from[k + 4]);
    rp__pbd_transpose(rows);
    memcpy(f, rows, sizeof f);
    for (int k = 0; k < RP_PBD_LANES; k++)
        slipped[k] = !(f[0][k] > 0);
#pragma omp simd
    for (int k = 0; k < RP_PBD_LANES; k++) {
        wide->l[k] = scale * (f[0][k] < 0 ? -f[0][k] : f[0][k]);
        for (int c = 0; c < 3; c++)
            wide->t[c][k] = sign[k] * f[1 + c][k];
    }
#pragma omp simd
    for (int k = 0; k < RP_PBD_LANES; k++) {
        rp__pbd_real along = wide->t[0][k] * wide->n[0][k] + wide->t[1][k] * wide->n[1][k] + wide->t[2][k] * wide->n[2][k];
        for (int c = 0; c < 3; c++)
            wide->t[c][k] -= along * wide->n[c][k];
    }
}

static void set_law(const work *w, rp__pbd_wide *wide, const bool slipped[RP_PBD_LANES])
{
    const rp__pbd *s = w->s;
    for (int k = 0; k < RP_PBD_LANES; k++) {
        wide->mu[k] = (rp__pbd_real)s->mu[0];
        wide->inv[k] = (rp__pbd_real)0.5;
    }
    for (int k = 0; k < RP_PBD_LANES && !w->alike; k++)
        wide->inv[k] = wide->pair[k] < 0 ? 0 : (rp__pbd_real)(1 / (s->u[wide->i[k]][3] + s->u[wide->j[k]][3]));
    for (int k = 0; k < RP_PBD_LANES && !w->one_friction; k++)
        if (wide->pair[k] >= 0)
            wide->mu[k] = (rp__pbd_real)(rp__pbd_friction(s, wide->i[k], wide->j[k]) * (slipped[k] ? s->par->kinetic : 1));
}

static void fill_slabs(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    rp__pbd *s = w->s;
    rp__pbd_wide empty; /* pairs of two grains that are none */
    (void)worker;
    for (int lane = 0; lane < RP_PBD_LANES; lane++)
        empty.i[lane] = (int32_t)(s->n + lane), empty.j[lane] = (int32_t)(s->n + RP_PBD_LANES + lane), empty.pair[lane] = -1;
    for (int64_t b = begin; b < end; b++) {
        rp__pbd_slab *slab = &s->slabs[b];
        for (int64_t g = slab->groups[0]; g < slab->groups[1]; g++)
            memcpy(&s->wide[g], &empty, offsetof(rp__pbd_wide, n));
        for (int64_t i = slab->begin; i < slab->end; i++)
            for (int64_t m = s->now.first[i]; m < s->now.first[i] + s->now.count[i]; m++) {
                rp__pbd_wide *to = &s->wide[slab->groups[0] + s->lane[m] / RP_PBD_LANES];
                int lane = s->lane[m] % RP_PBD_LANES;
                to->i[lane] = (int32_t)i, to->j[lane] = s->now.partner[m], to->pair[lane] = (int32_t)m;
            }
        slab->gap = 0;
        for (int64_t g = slab->groups[0]; g < slab->groups[1]; g++) {
            bool slipped[RP_PBD_LANES];
            slab->gap = fmin(slab->gap, set_geometry(s, &s->wide[g]));
            set_memory(w, &s->wide[g], slipped);
            set_law(w, &s->wide[g], slipped);
        }
    }
}

static bool all_alike(const rp__pbd *s)
{
    bool alike = true;
    for (int64_t k = 0; k < s->n; k++)
        alike &= s->u[k][3] == 1;
    return alike;
}

rp_result rp__pbd_pack(rp__pbd *s)
{
    work w = { .s = s, .scale = s->h_old > 0 ? s->h * s->h / (s->h_old * s->h_old) : 0 };
    w.alike = all_alike(s);
    w.one_friction = s->kinds == 1 && s->par->kinetic == 1;
    if (!rp__base_grow(&s->used, &s->used_capacity, 2 * s->n + 1, sizeof *s->used))
        return RP_OUT_OF_MEMORY;
    memset(s->used, 0, 2 * (size_t)s->n * sizeof *s->used);
    rp__exec_for(s->slab_count, 1, place_slabs, &w);
    int64_t groups = 0;
    for (int64_t b = 0; b < s->slab_count; b++) {
        s->slabs[b].groups[0] = groups;
        groups += s->slabs[b].groups[1];
        s->slabs[b].groups[1] = groups;
    }
    if (groups > INT32_MAX / RP_PBD_LANES)
        return rp__base_fail(RP_TOO_LARGE, "pbd: too many contacts (%lld groups of eight)", (long long)groups);
    if (!rp__base_grow(&s->wide, &s->wide_capacity, groups + 1, sizeof *s->wide))
        return RP_OUT_OF_MEMORY;
    s->groups = groups;
    rp__exec_for(s->slab_count, 1, fill_slabs, &w);
    return RP_OK;
}
