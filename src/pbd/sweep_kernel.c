/* The visit of a pair, on eight at once.
 *
 *     e = u_i - u_j,   l' = max(0, l - s (e·n + g)),   g = max(0, gap),   q = t - s (e - (e·n) n),   t' = q min(1, mu l' / |q|),
 *     u_i += w_i p,   u_j -= w_j p,   p = [(l' - l) n + t' - t] / (w_i + w_j)
 *
 * with the over-relaxation s. The push of an overlap works on displacements of its own, so that it leaves neither speed nor force:
 *
 *     e = p_i - p_j,   l = max(0, over - e·n),   p_i += w_i l n / (w_i + w_j), …,      over = -gap - slop
 *
 * The displacements u and their changes are doubles, and both grains of a pair get the same p: momentum is kept to their rounding
 * whatever the precision of n, l and t. */
#include "pbd/rows.h"

#include "math/lane_bits.h"

#include <math.h>

typedef double four __attribute__((vector_size(32)));
typedef double any_four __attribute__((vector_size(32), may_alias));
typedef rp__pbd_four four_real;
typedef rp__pbd_four any_four_real __attribute__((aligned(sizeof(rp__pbd_real)), may_alias));
typedef rp__pbd_eight eight;
typedef rp__pbd_real any_eight __attribute__((vector_size(8 * sizeof(rp__pbd_real)), aligned(sizeof(rp__pbd_real)), may_alias));
typedef int32_t eight_int __attribute__((vector_size(32)));

static inline eight load(const rp__pbd_real *p)
{
    return *(const any_eight *)p;
}

static inline void store(rp__pbd_real *p, eight v)
{
    *(any_eight *)p = v;
}

static inline eight pick(eight_int mask, eight a, eight b)
{
    return (eight)((mask & (eight_int)a) | (~mask & (eight_int)b));
}

static inline any_four *place(double (*u)[4], int32_t k)
{
    return (any_four *)u[k];
}

static inline four_real difference(double (*u)[4], const rp__pbd_wide *w, int lane)
{
    return __builtin_convertvector((four)*place(u, w->i[lane]) - (four)*place(u, w->j[lane]), four_real);
}

/* e of the eight pairs. */
static inline void gather(double (*u)[4], const rp__pbd_wide *w, eight e[4])
{
    for (int k = 0; k < 4; k++)
        e[k] = rp__pbd_two_rows(difference(u, w, k), difference(u, w, k + 4));
    rp__pbd_transpose(e);
}

static inline void move(double (*u)[4], int32_t i, int32_t j, four_real p)
{
    four change = __builtin_convertvector(p, four), a = *place(u, i), b = *place(u, j);
    *place(u, i) = a + change * a[3]; /* the last component, w, stays: change[3] is zero */
    *place(u, j) = b - change * b[3];
}

static inline void scatter(double (*u)[4], const rp__pbd_wide *w, const eight p[3])
{
    eight r[4] = { p[0], p[1], p[2], { 0 } };
    rp__pbd_transpose(r);
    for (int k = 0; k < 4; k++) {
        move(u, w->i[k], w->j[k], __builtin_shufflevector(r[k], r[k], 0, 1, 2, 3));
        move(u, w->i[k + 4], w->j[k + 4], __builtin_shufflevector(r[k], r[k], 4, 5, 6, 7));
    }
}

void rp__pbd_groups_warm(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4])
{
    for (rp__pbd_wide *w = wide + begin; w < wide + end; w++) {
        eight p[3];
        for (int c = 0; c < 3; c++)
            p[c] = (load(w->l) * load(w->n[c]) + load(w->t[c])) * load(w->inv);
        scatter(u, w, p);
    }
}

static inline eight root(eight x)
{
    eight y;
#pragma omp simd
    for (int k = 0; k < 8; k++)
        y[k] = sqrtf(x[k]);
    return y;
}

void rp__pbd_groups_visit(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4], double *residual, rp__pbd_real relax)
{
    const eight zero = { 0 }, one = zero + 1;
    for (rp__pbd_wide *w = wide + begin; w < wide + end; w++) {
        eight e[4], n[3] = { load(w->n[0]), load(w->n[1]), load(w->n[2]) }, t[3], q[3];
        gather(u, w, e);
        eight along = e[0] * n[0] + e[1] * n[1] + e[2] * n[2], l = load(w->l), inv = load(w->inv);
        eight gap = load(w->gap);
        eight next = l - relax * (along + pick(gap > zero, gap, zero));
        next = pick(next > zero, next, zero);
        eight length = zero, most = load(w->mu) * next;
        for (int c = 0; c < 3; c++) {
            t[c] = load(w->t[c]);
            q[c] = t[c] - relax * (e[c] - along * n[c]);
            length += q[c] * q[c];
        }
        eight part = pick(length > most * most, most / root(pick(length > zero, length, one)), one);
        for (int c = 0; c < 3; c++) {
            q[c] *= part;
            store(w->t[c], q[c]);
            q[c] = ((next - l) * n[c] + q[c] - t[c]) * inv;
        }
        store(w->l, next);
        scatter(u, w, q);
        if (residual) {
            eight change = pick(next > l, next - l, l - next);
            double sum = 0, largest = 0;
            for (int k = 0; k < 8; k++) {
                sum += (double)change[k];
                largest = (double)change[k] > largest ? (double)change[k] : largest;
            }
            residual[2 * (w - wide)] = sum;
            residual[2 * (w - wide) + 1] = largest;
        }
    }
}

void rp__pbd_groups_push(const rp__pbd_wide *wide, int64_t begin, int64_t end, double (*p)[4], rp__pbd_real slop)
{
    const eight zero = { 0 };
    for (const rp__pbd_wide *w = wide + begin; w < wide + end; w++) {
        eight over = -slop - load(w->gap), e[4], n[3] = { load(w->n[0]), load(w->n[1]), load(w->n[2]) };
        if (!rp__lanes_bits8(over > zero))
            continue;
        gather(p, w, e);
        eight l = over - (e[0] * n[0] + e[1] * n[1] + e[2] * n[2]);
        l = pick(l > zero, l, zero);
        l = pick(over > zero, l, zero) * load(w->inv);
        for (int c = 0; c < 3; c++)
            e[c] = l * n[c];
        scatter(p, w, e);
    }
}

void rp__pbd_groups_scale(rp__pbd_wide *wide, int64_t begin, int64_t end, rp__pbd_real part)
{
    for (rp__pbd_wide *w = wide + begin; w < wide + end; w++) {
        store(w->l, part * load(w->l));
        for (int c = 0; c < 3; c++)
            store(w->t[c], part * load(w->t[c]));
    }
}

void rp__pbd_groups_keep(const rp__pbd_wide *wide, int64_t begin, int64_t end, rp__pbd_force *to)
{
    for (const rp__pbd_wide *w = wide + begin; w < wide + end; w++) {
        eight f[4] = { load(w->l), load(w->t[0]), load(w->t[1]), load(w->t[2]) };
        eight most = load(w->mu) * f[0], square = f[1] * f[1] + f[2] * f[2] + f[3] * f[3];
        f[0] = pick(square < 0.998f * most * most, f[0], -f[0]);
        rp__pbd_transpose(f);
        for (int k = 0; k < 4; k++) {
            if (w->pair[k] >= 0)
                *(any_four_real *)&to[w->pair[k]] = __builtin_shufflevector(f[k], f[k], 0, 1, 2, 3);
            if (w->pair[k + 4] >= 0)
                *(any_four_real *)&to[w->pair[k + 4]] = __builtin_shufflevector(f[k], f[k], 4, 5, 6, 7);
        }
    }
}

/* ---- the plain twins ---- */

static void apply_ref(double (*u)[4], const rp__pbd_wide *w, int k, const double p[3])
{
    for (int c = 0; c < 3; c++) {
        u[w->i[k]][c] += p[c] * u[w->i[k]][3];
        u[w->j[k]][c] -= p[c] * u[w->j[k]][3];
    }
}

void rp__pbd_groups_warm_ref(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4])
{
    for (rp__pbd_wide *w = wide + begin; w < wide + end; w++)
        for (int k = 0; k < RP_PBD_LANES; k++) {
            double p[3];
            for (int c = 0; c < 3; c++)
                p[c] = ((double)w->l[k] * (double)w->n[c][k] + (double)w->t[c][k]) * (double)w->inv[k];
            apply_ref(u, w, k, p);
        }
}

void rp__pbd_groups_visit_ref(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4], double relax)
{
    for (rp__pbd_wide *w = wide + begin; w < wide + end; w++)
        for (int k = 0; k < RP_PBD_LANES; k++) {
            double e[3], n[3], q[3], p[3], along = 0, length = 0, l = (double)w->l[k];
            for (int c = 0; c < 3; c++) {
                e[c] = u[w->i[k]][c] - u[w->j[k]][c];
                n[c] = (double)w->n[c][k];
                along += e[c] * n[c];
            }
            double next = fmax(0, l - relax * (along + fmax(0, (double)w->gap[k])));
            for (int c = 0; c < 3; c++) {
                q[c] = (double)w->t[c][k] - relax * (e[c] - along * n[c]);
                length += q[c] * q[c];
            }
            length = sqrt(length);
            double most = (double)w->mu[k] * next, part = length > most ? most / length : 1;
            for (int c = 0; c < 3; c++) {
                p[c] = ((next - l) * n[c] + part * q[c] - (double)w->t[c][k]) * (double)w->inv[k];
                w->t[c][k] = (rp__pbd_real)(part * q[c]);
            }
            w->l[k] = (rp__pbd_real)next;
            apply_ref(u, w, k, p);
        }
}
