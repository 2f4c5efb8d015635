/* The laws that pbd is compared with: corrections of positions, averaged over the contacts of a grain [macklin2014], [sommer2022].
 *
 * Contact:  x~_i += m^_ij d n,  x~_j -= m^_ji d n,   d = 2 r - |x~_ij| > 0,   m^_ij = m*_j / (m*_i + m*_j),  m* = m exp(-k height)
 * Friction: s_t the tangential part of the relative displacement since the beginning of the step, f = 1 if |s_t| < mu_s D, else
 *           min(mu_k D / |s_t|, 1);  x~_i -= m^_ij f s_t,  x~_j += m^_ji f s_t;   D = d (Macklin) or 2 r (as [sommer2022] prints it).
 *
 * The sum of a grain's corrections is divided by their number. That keeps neither momentum nor a heap: the default law does, these
 * are here to be compared with it. They run on one thread. Free bodies feel the grains through the force of the step before only. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct law {
    rp__pbd *s;
    bool seed;
    double kinetic;
} law;

/* What friction takes off a tangential displacement. */
static double taken(const law *w, double slip, double mu, double depth)
{
    double reach = w->seed ? 2 * w->s->r : depth;
    if (slip < mu * reach || !(slip > 0))
        return 1;
    return fmin(mu * w->kinetic * reach / slip, 1);
}

static void add(double (*to)[4], int64_t k, double scale, rp__vec3 v)
{
    to[k][0] += scale * v.x, to[k][1] += scale * v.y, to[k][2] += scale * v.z;
    to[k][3] += 1;
}

/* The correction of relative displacement that a contact at distance `length` along n asks for, given the displacement e so far. */
static rp__vec3 correction(const law *w, rp__vec3 n, double depth, rp__vec3 e, double mu, bool rub)
{
    rp__vec3 c = rp__vec3_scale(depth, n);
    if (!rub)
        return c;
    rp__vec3 slip = rp__vec3_axpy(-rp__vec3_dot(e, n), n, e);
    return rp__vec3_axpy(-taken(w, rp__vec3_norm(slip), mu, depth), slip, c);
}

/* Sums over all contacts. rub: at x + u, with friction; else at x, contact alone. */
static void gather(const law *w, bool rub)
{
    rp__pbd *s = w->s;
    memset(s->shift, 0, (size_t)s->n * sizeof *s->shift);
    for (int64_t i = 0; i < s->n; i++) {
        for (int32_t m = 0; m < s->now.count[i]; m++) {
            int32_t j = s->now.partner[s->now.first[i] + m];
            rp__vec3 d = rp__vec3_sub(rp__vec3_load(s->x[i]), rp__vec3_load(s->x[j]));
            rp__vec3 e = rp__vec3_sub(rp__vec3_load(s->u[i]), rp__vec3_load(s->u[j]));
            d = rub ? rp__vec3_add(d, e) : d;
            double length = rp__vec3_norm(d), depth = 2 * s->r - length;
            if (!(depth > 0))
                continue;
            rp__vec3 n = length > 0 ? rp__vec3_scale(1 / length, d) : rp__pbd_any_direction(s, i, j);
            rp__vec3 c = correction(w, n, depth, e, rp__pbd_friction(s, i, j), rub);
            double a = s->owner[i] >= 0 && s->mass[i] == 0 ? 0 : s->owner[j] >= 0 && s->mass[j] == 0 ? 1 : s->mass[j] / (s->mass[i] + s->mass[j]);
            add(s->shift, i, a, c);
            add(s->shift, j, a - 1, c);
        }
        for (int32_t m = 0; m < s->touch.count[i]; m++) {
            rp__pbd_touch *t = &s->touch.all[s->touch.first[i] + m];
            rp__vec3 n = rp__vec3_load(t->n), way = t->free < 0 ? rp__vec3_load(t->s) : rp__vec3_make(0, 0, 0);
            rp__vec3 e = rp__vec3_sub(rp__vec3_load(s->u[i]), way), from = rp__vec3_sub(rp__vec3_load(s->x[i]), rp__vec3_load(s->began[i]));
            double gap = t->gap + rp__vec3_dot(from, n) + (rub ? rp__vec3_dot(e, n) : 0);
            if (!(gap < 0))
                continue;
            rp__vec3 c = correction(w, n, -gap, e, t->mu, rub);
            add(s->shift, i, 1, c);
            t->l += rub ? rp__vec3_dot(c, n) : 0;
            rp__vec3_store(t->t, rp__vec3_add(rp__vec3_load(t->t), rub ? rp__vec3_axpy(-rp__vec3_dot(c, n), n, c) : rp__vec3_make(0, 0, 0)));
        }
    }
}

/* m* for the pairs, by the height over the lowest corner of the domain. */
static void scale_masses(rp__pbd *s, const rp_sim_def *def)
{
    rp__vec3 g = rp__vec3_load(def->gravity);
    double size = rp__vec3_norm(g), low = INFINITY;
    if (!(s->par->mass_scaling > 0) || !(size > 0))
        return;
    rp__vec3 up = rp__vec3_scale(-1 / size, g);
    for (int k = 0; k < 8; k++) {
        double c[3] = { k & 1 ? def->upper[0] : def->lower[0], k & 2 ? def->upper[1] : def->lower[1], k & 4 ? def->upper[2] : def->lower[2] };
        low = fmin(low, rp__vec3_dot(up, rp__vec3_load(c)));
    }
    for (int64_t i = 0; i < s->n; i++)
        s->mass[i] *= exp(-s->par->mass_scaling * (rp__vec3_dot(up, rp__vec3_load(s->x[i])) - low));
}

static double apply(rp__pbd *s, double (*to)[4])
{
    double largest = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double square = 0;
        for (int c = 0; c < 3 && s->shift[i][3] > 0; c++) {
            double d = s->shift[i][c] / s->shift[i][3];
            to[i][c] += d;
            square += d * d;
        }
        largest = fmax(largest, square);
    }
    return sqrt(largest);
}

rp_result rp__pbd_averaged(rp__pbd *s, rp__world *world, double residual[2])
{
    law w = { s, s->par->contact == RP_PBD_SEED, s->par->kinetic };
    if (!rp__base_grow(&s->shift, &s->shift_capacity, s->n + 1, sizeof *s->shift) ||
        !rp__base_grow(&s->began, &s->began_capacity, s->n + 1, sizeof *s->began))
        return RP_OUT_OF_MEMORY;
    memcpy(s->began, s->x, (size_t)s->n * sizeof *s->x);
    scale_masses(s, world->def);
    for (int64_t it = 0; it < s->par->stabilisation; it++) {
        gather(&w, false);
        apply(s, s->x);
    }
    for (int64_t g = 0; g < s->groups; g++) /* these laws remember no forces */
        rp__pbd_groups_keep(s->wide, g, g + 1, s->now.force);
    residual[0] = residual[1] = 0;
    s->swept = rp__pbd_sweeps(s->par);
    for (int64_t it = 0; it < s->swept; it++) {
        gather(&w, true);
        residual[1] = apply(s, s->u);
        rp__pbd_match_shapes(s);
    }
    residual[0] = residual[1];
    return RP_OK;
}
