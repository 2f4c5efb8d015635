/* Visits of dual cells, DU_LANES at once (dual_lanes.h): strain, law, relaxed change, velocities. The arithmetic of local.h in lanes; test_dual_sweep.c has
 * the same in plain loops. */
#include "nonsmooth/dual.h"

#include <math.h>

#define EXACT 1e-13 /* a root is found: the excess over the size of its terms */
#define STEPS 100

NS_INLINE du_v select_lanes(du_mask which, du_v a, du_v b)
{
    return (du_v)((which & (du_mask)a) | (~which & (du_mask)b));
}

NS_INLINE bool any_lane(du_mask which)
{
    int64_t all = 0;
    for (int l = 0; l < DU_LANES; l++)
        all |= which[l];
    return all != 0;
}

NS_INLINE du_v root_lanes(du_v x)
{
    _Alignas(64) double v[DU_LANES];
    *(du_v *)v = x;
    for (int l = 0; l < DU_LANES; l++)
        v[l] = sqrt(v[l]);
    return *(du_v *)v;
}

NS_INLINE du_v abs_lanes(du_v x)
{
    return (du_v)((du_mask)x & INT64_MAX);
}

NS_INLINE du_v all_lanes(double x)
{
    return (du_v){ 0 } + x;
}

/* ---- strain and push ---- */

/* The stencil of a full dual cell of size one: the node (l, j, k) of it. Zero where the node lies in the middle along the axis of the derivative. */
static const double smooth_part[3] = { 1.0 / 6, 2.0 / 3, 1.0 / 6 }, steep_part[3] = { -0.5, 0, 0.5 };

NS_INLINE bool full_weight(int n, int axis, double *weight)
{
    int at[3] = { n % 3, n / 3 % 3, n / 9 };
    double product = 1;
    for (int b = 0; b < RP_DIM; b++)
        product *= b == axis ? steep_part[at[b]] : smooth_part[at[b]];
    *weight = product;
    return at[axis] != 1;
}

/* H = sum_j u_j (x) g_ij */
NS_INLINE void gather(const du_slot *s, const du_v *g, const du_tile *tile, const int32_t *at, du_v *h)
{
    for (int k = 0; k < RP_DIM * RP_DIM; k++)
        h[k] = (du_v){ 0 };
    if (g) {
        for (int n = 0; n < NS_STENCIL; n++)
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    h[a * RP_DIM + b] += tile->u[at[n]][a] * g[n * RP_DIM + b];
        return;
    }
#pragma GCC unroll 27
    for (int n = 0; n < NS_STENCIL; n++)
        for (int b = 0; b < RP_DIM; b++) {
            double weight;
            if (full_weight(n, b, &weight))
                for (int a = 0; a < RP_DIM; a++)
                    h[a * RP_DIM + b] += tile->u[at[n]][a] * weight;
        }
    for (int k = 0; k < RP_DIM * RP_DIM; k++)
        h[k] *= s->factor;
}

/* u_j += (dt / m_j) sigma g_ij */
NS_INLINE void scatter(const du_slot *s, const du_v *g, du_v *sigma, du_tile *tile, const int32_t *at)
{
    if (g) {
        for (int n = 0; n < NS_STENCIL; n++)
            for (int a = 0; a < RP_DIM; a++) {
                du_v sum = sigma[a * RP_DIM] * g[n * RP_DIM];
                for (int b = 1; b < RP_DIM; b++)
                    sum += sigma[a * RP_DIM + b] * g[n * RP_DIM + b];
                tile->u[at[n]][a] += tile->push[at[n]] * sum;
            }
        return;
    }
    for (int k = 0; k < RP_DIM * RP_DIM; k++)
        sigma[k] *= s->factor;
#pragma GCC unroll 27
    for (int n = 0; n < NS_STENCIL; n++)
        for (int a = 0; a < RP_DIM; a++) {
            du_v sum = { 0 };
            for (int b = 0; b < RP_DIM; b++) {
                double weight;
                if (full_weight(n, b, &weight))
                    sum += sigma[a * RP_DIM + b] * weight;
            }
            tile->u[at[n]][a] += tile->push[at[n]] * sum;
        }
}

/* c = x^T y, with x or y turned round as asked. */
NS_INLINE void turn_in(const du_v *r, const du_v *h, du_v *m)
{
    du_v t[RP_DIM * RP_DIM];
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            t[i * RP_DIM + j] = h[i * RP_DIM] * r[j];
            for (int k = 1; k < RP_DIM; k++)
                t[i * RP_DIM + j] += h[i * RP_DIM + k] * r[k * RP_DIM + j];
        }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            m[i * RP_DIM + j] = r[i] * t[j];
            for (int k = 1; k < RP_DIM; k++)
                m[i * RP_DIM + j] += r[k * RP_DIM + i] * t[k * RP_DIM + j];
        }
}

NS_INLINE void turn_out(const du_v *r, const du_v *m, du_v *h)
{
    du_v t[RP_DIM * RP_DIM];
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            t[i * RP_DIM + j] = m[i * RP_DIM] * r[j * RP_DIM];
            for (int k = 1; k < RP_DIM; k++)
                t[i * RP_DIM + j] += m[i * RP_DIM + k] * r[j * RP_DIM + k];
        }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++) {
            h[i * RP_DIM + j] = r[i * RP_DIM] * t[j];
            for (int k = 1; k < RP_DIM; k++)
                h[i * RP_DIM + j] += r[i * RP_DIM + k] * t[k * RP_DIM + j];
        }
}

/* Coefficients in the frame of a tensor in it, and back: ns_frame_coefficients, ns_frame_tensor. */
NS_INLINE void coefficients(const du_slot *s, const du_v *m, du_v *y)
{
#if RP_DIM == 3
    du_v b = 0.5 * (m[0] - m[4]), c = (2 * m[8] - m[0] - m[4]) * 0.28867513459481288225;
    y[0] = (m[0] + m[4] + m[8]) * 0.40824829046386301637;
    y[1] = s->cs * b + s->sn * c;
    y[2] = s->cs * c - s->sn * b;
    y[3] = 0.5 * (m[1] + m[3]);
    y[4] = 0.5 * (m[2] + m[6]);
    y[5] = 0.5 * (m[5] + m[7]);
#else
    (void)s;
    y[0] = 0.5 * (m[0] + m[3]);
    y[1] = 0.5 * (m[0] - m[3]);
    y[2] = 0.5 * (m[1] + m[2]);
#endif
}

NS_INLINE void tensor(const du_slot *s, const du_v *y, du_v *m)
{
#if RP_DIM == 3
    du_v b = s->cs * y[1] - s->sn * y[2], c = s->sn * y[1] + s->cs * y[2];
    du_v base = 0.81649658092772603273 * y[0] - 0.57735026918962576451 * c;
    m[0] = base + b, m[4] = base - b;
    m[8] = 0.81649658092772603273 * y[0] + 1.15470053837925152902 * c;
    m[1] = m[3] = y[3];
    m[2] = m[6] = y[4];
    m[5] = m[7] = y[5];
#else
    (void)s;
    m[0] = y[0] + y[1], m[3] = y[0] - y[1];
    m[1] = m[2] = y[2];
#endif
}

/* ---- the law ---- */

/* What the law knows of W: eigenvalues of the Schur complement of W_NN, W_TN / W_NN (the first `coupled` are not zero), W_NN; the last root. */
typedef struct operator {
    const du_v *s, *a;
    int coupled;
    du_v nn, *root;
} operator;

/* ns_secular_root in the lanes of `open`: the root alpha of |y| + mu a·y = target, y = -c / (s + alpha). A lane that is done stays as it is. */
NS_INLINE du_v secular_root(const operator *f, const du_v *c, du_v mu, du_v target, du_mask open, du_v *y)
{
    du_v cc = c[0] * c[0], scs = c[0] * c[0] * f->s[0], na = f->a[0] * f->a[0], least = f->s[0], norm = { 0 };
    for (int k = 1; k < NS_T; k++) {
        cc += c[k] * c[k], scs += c[k] * c[k] * f->s[k];
        least = select_lanes(f->s[k] < least, f->s[k], least);
    }
    for (int k = 1; k < f->coupled; k++)
        na += f->a[k] * f->a[k];
    du_v steep = 1 + mu * root_lanes(na), length = root_lanes(cc);
    du_v low = { 0 }, high = length * steep / target, alpha = *f->root;
    du_mask lost = ~((alpha > 0) & (alpha < high)) & open;
    if (any_lane(lost)) {
        du_v guess = length / target - scs / cc;
        guess = select_lanes(guess > 1e-3 * least, guess, 1e-3 * least);
        guess = select_lanes(guess < high, guess, 0.5 * high);
        alpha = select_lanes(lost, guess, alpha);
    }
    for (int step = 0; step < STEPS && any_lane(open); step++) {
        du_v inverse[NS_T], now[NS_T], yy = { 0 }, ay = { 0 }, yyi = { 0 }, ayi = { 0 };
        for (int k = 0; k < NS_T; k++) {
            inverse[k] = 1 / (f->s[k] + alpha);
            now[k] = -c[k] * inverse[k];
            yy += now[k] * now[k];
            yyi += now[k] * now[k] * inverse[k];
            if (k < f->coupled)
                ay += f->a[k] * now[k], ayi += f->a[k] * now[k] * inverse[k];
        }
        du_v here = root_lanes(yy), p = here + mu * ay, excess = p - target, size = here * steep + target;
        du_mask above = excess > 0;
        low = select_lanes(above & open, alpha, low);
        high = select_lanes(~above & open, alpha, high);
        du_mask found = (abs_lanes(excess) <= EXACT * size) | ~(high - low > 1e-15 * high);
        du_v slope = yyi / here + mu * ayi, next = alpha + p * excess / (slope * target), way = next - alpha;
        du_mask near = (abs_lanes(excess) <= NS_NEAR * size) & (abs_lanes(way) <= NS_NEAR * (least + alpha)) & (next > 0) & ~found;
        /* y(next) = y (1 - way / (s + alpha)) to first order */
        du_v by = select_lanes(near, way, all_lanes(0)), square = { 0 };
        for (int k = 0; k < NS_T; k++) {
            now[k] -= by * inverse[k] * now[k];
            square += now[k] * now[k];
        }
        here = select_lanes(near, root_lanes(square), here);
        for (int k = 0; k < NS_T; k++)
            y[k] = select_lanes(open, now[k], y[k]);
        norm = select_lanes(open, here, norm);
        alpha = select_lanes(near & open, next, alpha);
        open &= ~(found | near);
        du_mask good = (slope > 0) & (p > 0) & (next > low) & (next < high);
        if (step > 12 && step % 3 == 0)
            good = good & 0;
        if (any_lane(~good & open)) {
            du_v side = select_lanes(high > least, root_lanes(high) * root_lanes(1e-3 * least), 1e-3 * high);
            side = select_lanes(low > 0, root_lanes(low) * root_lanes(high), side);
            side = select_lanes((side > low) & (side < high), side, 0.5 * (low + high));
            next = select_lanes(good, next, side);
        }
        alpha = select_lanes(open, next, alpha);
    }
    *f->root = alpha;
    return norm;
}

/* ns_law: the stress in the cone that obeys Coulomb's law when all others stay. */
NS_INLINE void cone_law(const operator *f, const du_v *gamma, const du_v *from, du_v mu, du_v *to)
{
    du_v ay = f->a[0] * from[1], c[NS_T], y[NS_T], yy = { 0 };
    for (int k = 1; k < f->coupled; k++)
        ay += f->a[k] * from[k + 1];
    du_v bn = gamma[0] - f->nn * (from[0] + ay);
    du_mask off = bn >= 0;
    ay = (du_v){ 0 };
    for (int k = 0; k < NS_T; k++) {
        c[k] = gamma[k + 1] - f->s[k] * from[k + 1];
        if (k < f->coupled)
            c[k] -= f->a[k] * gamma[0];
        y[k] = -c[k] / f->s[k];
        yy += y[k] * y[k];
        if (k < f->coupled)
            ay += f->a[k] * y[k];
    }
    du_v beta = -bn / f->nn, n = beta - ay;
    du_mask slide = ~((yy <= mu * mu * n * n) & (n >= 0)) & ~off, rough = mu > 1e-100;
    if (any_lane(slide)) {
        du_v norm = secular_root(f, c, mu, mu * beta, slide & rough, y);
        n = select_lanes(slide, select_lanes(rough, norm / mu, beta), n);
        for (int k = 0; k < NS_T; k++)
            y[k] = select_lanes(slide & ~rough, all_lanes(0), y[k]);
    }
    to[0] = select_lanes(off, all_lanes(0), n);
    for (int k = 0; k < NS_T; k++)
        to[k + 1] = select_lanes(off, all_lanes(0), y[k]);
}

/* Without normal stress the rounded apex still carries |lambda_T| <= most: the stress that stops the shear, cut to that.
 * gamma_T = b_T + (S + nn a a^T) lambda_T when lambda_N = 0; with Sherman and Morrison's formula. Where that closes the gap,
 * the normal stress that stops it. */
NS_INLINE void shear_alone(const operator *f, const du_v *gamma, const du_v *from, du_v most, du_mask which, du_v *to)
{
    du_v ay = f->a[0] * from[1], ab = { 0 }, aa = all_lanes(1), b[NS_T], t[NS_T], norm = { 0 };
    for (int k = 1; k < f->coupled; k++)
        ay += f->a[k] * from[k + 1];
    for (int k = 0; k < NS_T; k++) {
        b[k] = gamma[k + 1] - f->s[k] * from[k + 1];
        if (k < f->coupled) {
            b[k] -= f->nn * f->a[k] * (ay + from[0]);
            ab += f->nn * f->a[k] * b[k] / f->s[k];
            aa += f->nn * f->a[k] * f->a[k] / f->s[k];
        }
    }
    for (int k = 0; k < NS_T; k++) {
        t[k] = -(k < f->coupled ? b[k] - f->a[k] * ab / aa : b[k]) / f->s[k];
        norm += t[k] * t[k];
    }
    norm = root_lanes(norm);
    du_v cut = select_lanes(norm > most, most / norm, all_lanes(1));
    du_v at = { 0 };
    for (int k = 0; k < f->coupled; k++)
        at += f->a[k] * cut * t[k];
    /* gamma_N with that shear: where it still closes, the normal stress that stops it. */
    du_v closing = gamma[0] + f->nn * (at - ay - from[0]), push = select_lanes(closing < 0, -closing / f->nn, all_lanes(0));
    to[0] = select_lanes(which, push, to[0]);
    for (int k = 0; k < NS_T; k++)
        to[k + 1] = select_lanes(which, cut * t[k], to[k + 1]);
}

/* The rounded apex |lambda_T| <= mu sqrt(lambda_N^2 + c^2) is the cone shifted by c' = sqrt(lambda_N^2 + c^2) - lambda_N, taken at the present stress. */
NS_INLINE void local_law(const du_slot *s, const operator *f, const du_v *gamma, du_v *from, du_v *to)
{
    du_mask rounded = s->apex > 0;
    if (!any_lane(rounded)) {
        cone_law(f, gamma, from, s->mu, to);
        return;
    }
    du_v n = select_lanes(from[0] > 0, from[0], all_lanes(0));
    du_v shift = select_lanes(rounded, s->apex * s->apex / (root_lanes(n * n + s->apex * s->apex) + n), all_lanes(0)), plain = from[0];
    from[0] = plain + shift;
    cone_law(f, gamma, from, s->mu, to);
    from[0] = plain;
    to[0] -= shift;
    du_mask bare = rounded & (to[0] < 0);
    if (any_lane(bare))
        shear_alone(f, gamma, from, s->mu * root_lanes(n * n + s->apex * s->apex), bare, to);
}

/* The linearised law, lane by lane: for comparison, not for speed. */
static void box_law(const du_slot *s, const du_wide *wide, const du_v *gamma, const du_v *from, du_v *to)
{
    for (int l = 0; l < DU_LANES; l++) {
        double w[NS_S * NS_S], strain[NS_S], start[NS_S], end[NS_S];
        for (int k = 0; k < NS_S * NS_S; k++)
            w[k] = wide->full[k][l];
        for (int k = 0; k < NS_S; k++)
            strain[k] = gamma[k][l], start[k] = from[k][l];
        ns_law_box(w, strain, start, s->mu[l], end);
        for (int k = 0; k < NS_S; k++)
            to[k][l] = end[k];
    }
}

/* ---- a visit ---- */

typedef struct totals {
    du_v sum[DU_SUMS];
} totals;

NS_INLINE void count_calm(const du_slot *s, du_v square, totals *t)
{
    du_v calm = square * s->strict * s->strict;
    t->sum[DU_CALM_SQUARES] += calm;
    t->sum[DU_CALM_LARGEST] = select_lanes(calm > t->sum[DU_CALM_LARGEST], calm, t->sum[DU_CALM_LARGEST]);
}

NS_INLINE void count_square(const du_slot *s, du_v square, totals *t)
{
    square *= s->weight * s->weight;
    t->sum[DU_SQUARES] += square;
    t->sum[DU_LARGEST] = select_lanes(square > t->sum[DU_LARGEST], square, t->sum[DU_LARGEST]);
    count_calm(s, square, t);
}

/* `gamma` without the gap. */
NS_INLINE void count_strain(const du_slot *s, const du_v *gamma, totals *t)
{
    du_v all = gamma[0] * gamma[0], scale = 2 * s->weight * s->thin;
    for (int k = 1; k < NS_S; k++)
        all += gamma[k] * gamma[k];
    t->sum[DU_STRAINS] += scale * scale * all;
}

/* At a look: what pushes is counted from the residuals themselves (dual_residual_dim.c), rest here. */
NS_INLINE void count_look(const du_slot *s, du_v square, const du_v *strain, totals *t)
{
    square *= s->weight * s->weight;
    t->sum[DU_BARE] += square;
    count_calm(s, square, t);
    count_strain(s, strain, t);
}

/* What the law asks of a stress and what is done: from, to, the relaxed change. */
typedef struct step {
    du_v from[NS_S], to[NS_S], omega;
} step;

/* Where momentum carries the values. */
NS_INLINE void begin(step *q, const du_v *now, const du_v *previous, double beta)
{
    for (int k = 0; k < NS_S; k++)
        q->from[k] = now[k] + beta * (now[k] - previous[k]);
}

NS_INLINE du_v square_of(const step *q)
{
    du_v square = { 0 };
    for (int k = 0; k < NS_S; k++)
        square += (q->to[k] - q->from[k]) * (q->to[k] - q->from[k]);
    return square;
}

/* Stresses that take off do so wholly, others by a part of the way. */
NS_INLINE du_v relaxation(const step *q, const du_manner *manner)
{
    du_mask off = q->to[0] == 0;
    for (int k = 1; k < NS_S; k++)
        off &= q->to[k] == 0;
    return select_lanes(off, all_lanes(1), all_lanes(manner->omega));
}

NS_INLINE void take(const step *q, du_v omega, du_v *now, du_v *previous, du_v *change, totals *t)
{
    for (int k = 0; k < NS_S; k++) {
        du_v by = omega * (q->to[k] - q->from[k]), next = q->from[k] + by;
        t->sum[DU_UPHILL] += by * (next - now[k]);
        previous[k] = now[k];
        now[k] = next;
        change[k] = by;
    }
}

/* y = W x in the frame. */
NS_INLINE void apply_frame(const du_slot *s, const du_v *x, du_v *y)
{
    du_v sum = x[0];
    for (int k = 0; k < RP_DIM - 1; k++)
        sum += s->a[k] * x[k + 1];
    y[0] = s->nn * sum;
    for (int k = 0; k < NS_T; k++)
        y[k + 1] = s->s[k] * x[k + 1] + (k < RP_DIM - 1 ? s->a[k] * y[0] : (du_v){ 0 });
}

/* y = W x by its entries. */
NS_INLINE void apply_entries(const du_v *w, const du_v *x, du_v *y)
{
    for (int i = 0; i < NS_S; i++) {
        y[i] = w[i * NS_S] * x[0];
        for (int j = 1; j < NS_S; j++)
            y[i] += w[i * NS_S + j] * x[j];
    }
}

/* Strain when the viscous stress goes along: gamma - W' (nu + ratio gamma), see dual_laws_dim.c; nu where momentum carries it, in `q`. */
NS_INLINE void begin_viscous(const du_slot *s, const du_v *w, const du_viscous *v, double beta, du_v *gamma, step *q)
{
    du_v apart[NS_S], by[NS_S];
    begin(q, v->stress, v->previous, beta);
    for (int k = 0; k < NS_S; k++)
        apart[k] = q->from[k] + v->ratio * gamma[k];
    if (w)
        apply_entries(w, apart, by);
    else
        apply_frame(s, apart, by);
    for (int k = 0; k < NS_S; k++)
        gamma[k] -= by[k];
}

/* The viscous stress once friction has made its step `by`. */
NS_INLINE void end_viscous(const du_slot *s, const du_v *w, const du_viscous *v, const du_v *by, const du_v *gamma, step *q)
{
    du_v more[NS_S];
    if (w)
        apply_entries(w, by, more);
    else
        apply_frame(s, by, more);
    for (int k = 0; k < NS_S; k++)
        q->to[k] = -v->ratio * (gamma[k] + more[k]);
}

/* chi and its inverse in lanes: ns_chi_tensor, ns_chi_coefficients. */
NS_INLINE void chi_tensor(const du_v *r, du_v *h)
{
#if RP_DIM == 3
    du_v base = 0.81649658092772603273 * r[0] - 0.57735026918962576451 * r[2];
    h[0] = base + r[1], h[4] = base - r[1], h[8] = 0.81649658092772603273 * r[0] + 1.15470053837925152902 * r[2];
    h[1] = h[3] = r[3], h[2] = h[6] = r[4], h[5] = h[7] = r[5];
#else
    h[0] = r[0] + r[1], h[3] = r[0] - r[1], h[1] = h[2] = r[2];
#endif
}

NS_INLINE void chi_coefficients(const du_v *h, du_v *r)
{
#if RP_DIM == 3
    r[0] = (h[0] + h[4] + h[8]) * 0.40824829046386301637;
    r[1] = 0.5 * (h[0] - h[4]);
    r[2] = (2 * h[8] - h[0] - h[4]) * 0.28867513459481288225;
    r[3] = 0.5 * (h[1] + h[3]), r[4] = 0.5 * (h[2] + h[6]), r[5] = 0.5 * (h[5] + h[7]);
#else
    r[0] = 0.5 * (h[0] + h[3]), r[1] = 0.5 * (h[0] - h[3]), r[2] = 0.5 * (h[1] + h[2]);
#endif
}

/* du_bend in lanes: strain of the volume at the end of the step over that of now. */
NS_INLINE du_v bend(const du_slot *s, const du_v *h, const du_manner *manner)
{
    if (!(manner->ahead > 0))
        return (du_v){ 0 };
    du_v a[RP_DIM * RP_DIM], square = { 0 }, unit = manner->ahead * s->thin, size = all_lanes(1);
    for (int k = 0; k < RP_DIM * RP_DIM; k++) {
        a[k] = unit * h[k];
        square += a[k] * a[k];
    }
    du_mask longer = square > 1;
    if (any_lane(longer))
        size = select_lanes(longer, 1 / root_lanes(square), size);
#if RP_DIM == 3
    du_v xx = a[4] * a[8] - a[5] * a[7], xy = a[3] * a[8] - a[5] * a[6], xz = a[3] * a[7] - a[4] * a[6];
    du_v second = a[0] * a[4] - a[1] * a[3] + a[0] * a[8] - a[2] * a[6] + xx, third = a[0] * xx - a[1] * xy + a[2] * xz;
    return size * size * (second + size * third) / (NS_TRACE * unit);
#else
    return size * size * (a[0] * a[3] - a[1] * a[2]) / (NS_TRACE * unit);
#endif
}

/* A visit in the frame of the operator. A look moves nothing: it gives the residual as coefficients of chi, times its weight. */
NS_INLINE void visit(du_slot *s, const du_v *g, du_viscous *v, const du_manner *manner, du_tile *tile, const int32_t *at, totals *t, du_v *residual)
{
    du_v h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM], gamma[NS_S], strain[NS_S], change[NS_S], by[NS_S];
    step q, flow;
    double beta = manner->look ? 0 : manner->beta;
    const operator f = { s->s, s->a, RP_DIM - 1, s->nn, &s->root };
    gather(s, g, tile, at, h);
    du_v shift = s->k + bend(s, h, manner);
    turn_in(s->r, h, m);
    coefficients(s, m, gamma);
    for (int k = 0; k < NS_S; k++)
        strain[k] = gamma[k];
    if (v)
        begin_viscous(s, NULL, v, beta, gamma, &flow);
    gamma[0] += shift;
    begin(&q, s->lambda, s->previous, beta);
    local_law(s, &f, gamma, q.from, q.to);
    du_v square = square_of(&q);
    if (v) {
        gamma[0] -= shift;
        for (int k = 0; k < NS_S; k++)
            by[k] = q.to[k] - q.from[k];
        end_viscous(s, NULL, v, by, gamma, &flow);
        square += square_of(&flow);
    }
    if (manner->look) {
        for (int k = 0; k < NS_S; k++)
            change[k] = s->weight * (q.to[k] - q.from[k] + (v ? flow.to[k] - flow.from[k] : (du_v){ 0 }));
        tensor(s, change, m);
        turn_out(s->r, m, h);
        chi_coefficients(h, residual);
        count_look(s, square, strain, t);
        return;
    }
    count_square(s, square, t);
    du_v omega = relaxation(&q, manner);
    take(&q, omega, s->lambda, s->previous, change, t);
    if (v) {
        take(&flow, omega, v->stress, v->previous, by, t);
        for (int k = 0; k < NS_S; k++)
            change[k] += by[k];
    }
    tensor(s, change, m);
    turn_out(s->r, m, h);
    scatter(s, g, h, tile, at);
}

/* A visit under a law without a frame: strains go in by e, stresses come out by its transpose (wide.h). */
static void visit_wide(du_slot *s, const du_v *g, du_wide *wide, du_viscous *v, bool linearised, const du_manner *manner, du_tile *tile, const int32_t *at,
                       totals *t, du_v *residual)
{
    du_v h[RP_DIM * RP_DIM], gamma[NS_S], strain[NS_S], turned[NS_S], change[NS_S], by[NS_S];
    step q, flow;
    double beta = manner->look ? 0 : manner->beta;
    const operator f = { wide->s, wide->a, NS_T, s->nn, &s->root };
    gather(s, g, tile, at, h);
    du_v shift = s->k + bend(s, h, manner);
    chi_coefficients(h, gamma);
    for (int k = 0; k < NS_S; k++)
        strain[k] = gamma[k];
    if (v)
        begin_viscous(s, wide->plain, v, beta, gamma, &flow);
    turned[0] = gamma[0] + shift;
    for (int k = 0; k < NS_T; k++) {
        turned[k + 1] = (du_v){ 0 };
        for (int j = 0; j < NS_T; j++)
            turned[k + 1] += wide->e[k * NS_T + j] * gamma[j + 1];
    }
    begin(&q, s->lambda, s->previous, beta);
    if (linearised)
        box_law(s, wide, turned, q.from, q.to);
    else
        local_law(s, &f, turned, q.from, q.to);
    du_v square = square_of(&q), omega = relaxation(&q, manner);
    by[0] = q.to[0] - q.from[0];
    for (int j = 0; j < NS_T; j++) {
        by[j + 1] = (du_v){ 0 };
        for (int k = 0; k < NS_T; k++)
            by[j + 1] += wide->e[k * NS_T + j] * (q.to[k + 1] - q.from[k + 1]);
    }
    if (v) {
        end_viscous(s, wide->plain, v, by, gamma, &flow);
        square += square_of(&flow);
    }
    if (manner->look) {
        for (int k = 0; k < NS_S; k++)
            residual[k] = s->weight * (by[k] + (v ? flow.to[k] - flow.from[k] : (du_v){ 0 }));
        count_look(s, square, strain, t);
        return;
    }
    count_square(s, square, t);
    take(&q, omega, s->lambda, s->previous, change, t);
    for (int k = 0; k < NS_S; k++)
        by[k] *= omega;
    if (v) {
        take(&flow, omega, v->stress, v->previous, change, t);
        for (int k = 0; k < NS_S; k++)
            by[k] += change[k];
    }
    chi_tensor(by, h);
    scatter(s, g, h, tile, at);
}

static void visit_plain(du_slot *s, const du_v *g, const du_manner *manner, du_tile *tile, const int32_t *at, totals *t, du_v *residual)
{
    visit(s, g, NULL, manner, tile, at, t, residual);
}

static void visit_viscous(du_slot *s, const du_v *g, du_viscous *v, const du_manner *manner, du_tile *tile, const int32_t *at, totals *t, du_v *residual)
{
    visit(s, g, v, manner, tile, at, t, residual);
}

/* The residuals of a place to the dual cells of its lanes. */
static void hand_out(const dual *y, const du_group *group, int local, const du_v *residual)
{
    for (int l = 0; l < DU_LANES && group->block[l] >= 0; l++) {
        int64_t i = group->block[l] * RP_BLOCK_NODES + local;
        double *to = y->smooth[0] + i * (NS_S + 1);
        for (int k = 0; k < NS_S && du_in_use(y, i); k++)
            to[k] = residual[k][l];
        to[NS_S] = 1;
    }
}

void DU(sweep_group)(const dual *y, const du_group *group, const du_manner *manner, du_tile *tile, double *sums)
{
    totals t = { 0 };
    for (int64_t k = group->slot; k < group->slot + group->slots; k++) {
        du_slot *s = &y->lanes.slot[k];
        const du_v *g = s->g < 0 ? NULL : y->lanes.g + s->g;
        du_viscous *v = y->viscous ? &y->lanes.viscous[k] : NULL;
        du_v residual[NS_S];
        int32_t at[NS_STENCIL];
        int base = du_tile_base(s->local);
        for (int n = 0; n < NS_STENCIL; n++)
            at[n] = y->tile_same[base + y->offset[n]];
        if (y->law != NS_LAW_ISOTROPIC)
            visit_wide(s, g, &y->lanes.wide[k], v, y->law == NS_LAW_LINEARISED, manner, tile, at, &t, residual);
        else if (v)
            visit_viscous(s, g, v, manner, tile, at, &t, residual);
        else
            visit_plain(s, g, manner, tile, at, &t, residual);
        if (manner->look)
            hand_out(y, group, s->local, residual);
    }
    for (int l = 0; l < DU_LANES; l++)
        for (int k = 0; k < DU_SUMS; k++) {
            double *to = sums + l * DU_SUMS + k, value = t.sum[k][l];
            bool largest = k == DU_LARGEST || k == DU_CALM_LARGEST;
            *to = !largest ? *to + value : value > *to ? value : *to;
        }
}
