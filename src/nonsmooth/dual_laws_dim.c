/* The operator W of a dual cell in the form that its law needs.
 *
 * Viscosity: the stress -eta D goes with the stress of friction, ratio = eta / V, strain gamma = V D:
 *     gamma = W (lambda + nu) + b,   nu = -ratio (gamma - k)     so     gamma - k = W' lambda + W' W^-1 (b - k),   W' = (W^-1 + ratio)^-1.
 * Friction sees W' in place of W, which has the same eigenvectors: viscosity and friction are one problem, nothing is split. Much viscosity is a
 * dual cell that hardly gives way, as one that sticks.
 *
 * Anisotropy: W~ = M W M, see wide.h. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/eigen.h"

#include <math.h>
#include <string.h>

rp_result DU(reserve_law)(dual *y)
{
    int64_t count = (int64_t)y->grid.blocks * RP_BLOCK_NODES;
    bool wide = y->law != NS_LAW_ISOTROPIC;
    if (wide && !rp__base_grow(&y->wide, &y->wide_capacity, count, sizeof *y->wide))
        return RP_OUT_OF_MEMORY;
    if (y->law == NS_LAW_LINEARISED && !rp__base_grow(&y->full, &y->full_capacity, count * NS_S * NS_S, sizeof(double)))
        return RP_OUT_OF_MEMORY;
    if (wide && y->viscous && !rp__base_grow(&y->plain, &y->plain_capacity, count * NS_S * NS_S, sizeof(double)))
        return RP_OUT_OF_MEMORY;
    if (wide && y->upkeep->oriented && !rp__base_grow(&y->orientation, &y->orientation_capacity, count * NS_S, sizeof(double)))
        return RP_OUT_OF_MEMORY;
    return RP_OK;
}

/* ---- orientation ---- */

typedef struct job {
    dual *y;
    const rp__world *world;
    const double *nu[6];
} job;

/* sum V alpha nu over the particles of each dual cell. */
static void gather_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    static const int field[6] = { 0, 1, RP_DIM == 3 ? 2 : 3, 3, 4, 5 };
    const job *w = context;
    const rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t i = begin * RP_BLOCK_NODES; i < end * RP_BLOCK_NODES; i++) {
        const du_sum *sum = &w->y->sum[i];
        double *to = w->y->orientation + NS_S * i;
        memset(to, 0, NS_S * sizeof *to);
        for (int64_t k = sum->first; k < sum->first + sum->count; k++) {
            double weight = p->volume[k] * w->world->materials[p->material[k]].anisotropy;
            for (int c = 0; c < NS_S; c++)
                to[c] += weight * w->nu[field[c]][k];
        }
    }
}

void DU(gather_orientation)(dual *y, const rp__world *world)
{
    job w = { .y = y, .world = world };
    for (int c = 0; c < 6; c++)
        w.nu[c] = rp__particles_f64(world->particles, y->first_field + RP__NS_ORIENTATION, c);
    rp__exec_for(y->grid.blocks, 8, gather_blocks, &w);
}

/* A = (1 - alpha) I + d alpha nu of a dual cell; of one without particles from those around. */
static void friction_tensor(const dual *y, int64_t i, double *a)
{
    double around[NS_S] = { 0 }, volume = y->sum[i].volume;
    if (y->sum[i].count > 0) {
        ns_friction_tensor(y->orientation + NS_S * i, volume, a);
        return;
    }
    volume = 0;
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, i, way);
        if (other < 0 || y->sum[other].count == 0)
            continue;
        volume += y->sum[other].volume;
        for (int c = 0; c < NS_S; c++)
            around[c] += y->orientation[NS_S * other + c];
    }
    ns_friction_tensor(around, volume, a);
}

/* Friction on a plane across `normal` over that of the isotropic law, mean of the directions in the plane: (n·A n) (t·A t), Tr A = d. */
double DU(friction_across)(const dual *y, int64_t i, const double *normal)
{
    double a[RP_DIM * RP_DIM], along = 0;
    if (y->law == NS_LAW_ISOTROPIC || !y->upkeep->oriented)
        return 1;
    friction_tensor(y, i, a);
    for (int r = 0; r < RP_DIM; r++)
        for (int c = 0; c < RP_DIM; c++)
            along += normal[r] * a[r * RP_DIM + c] * normal[c];
    return along * (RP_DIM - along) / (RP_DIM - 1);
}

/* ---- frames ---- */

static void eigen_of(const double *sum, double *r, double *e)
{
#if RP_DIM == 3
    rp__mat3 v;
    rp__math_eigen_sym3(sum, e, &v);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            r[3 * a + b] = v.m[a][b];
#else
    double xx = sum[0], yy = sum[1], xy = sum[2], half = 0.5 * (yy - xx), t = 0;
    if (xy != 0) {
        double root = sqrt(half * half + xy * xy);
        t = half >= 0 ? xy / (half + root) : xy / (half - root);
    }
    double c = 1 / sqrt(1 + t * t);
    e[0] = xx - t * xy, e[1] = yy + t * xy;
    r[0] = c, r[1] = t * c, r[2] = -t * c, r[3] = c;
#endif
    for (int k = 0; k < RP_DIM; k++)
        e[k] = e[k] > 0 ? e[k] : 0;
}

/* Eigenvalues of W are those of G along the diagonal of the stress, and means of two of them off it: so are those of W'. */
static bool viscous_frame(ns_frame *f, const double *e, double ratio)
{
    double given[RP_DIM], least;
    for (int k = 0; k < RP_DIM; k++)
        given[k] = e[k] / (1 + ratio * e[k]);
    if (!ns_frame_from_eigenvalues(f, given))
        return false;
    least = NS_FLOOR * f->nn;
    for (int i = 0, k = RP_DIM - 1; i < RP_DIM; i++)
        for (int j = i + 1; j < RP_DIM; j++, k++) {
            double mean = 0.5 * (e[i] + e[j]), s = mean / (1 + ratio * mean);
            f->s[k] = s > least ? s : least;
        }
    return true;
}

/* W <- (W^-1 + ratio)^-1 = (1 + ratio W)^-1 W */
static void soften(double *w, double ratio)
{
    double column[NS_S], from[NS_S * NS_S];
    memcpy(from, w, sizeof from);
    for (int c = 0; c < NS_S && ratio > 0; c++) {
        double a[NS_S * NS_S];
        for (int r = 0; r < NS_S; r++) {
            column[r] = from[r * NS_S + c];
            for (int k = 0; k < NS_S; k++)
                a[r * NS_S + k] = (r == k) + ratio * from[r * NS_S + k];
        }
        if (ns_solve_small(NS_S, a, column))
            for (int r = 0; r < NS_S; r++)
                w[r * NS_S + c] = column[r];
    }
}

/* W~ = B W B with B = (1, M). */
static void change_operator(const double *w, const double *m, double *out)
{
    double b[NS_S * NS_S] = { 1 }, half[NS_S * NS_S];
    for (int i = 0; i < NS_T; i++)
        for (int j = 0; j < NS_T; j++)
            b[(i + 1) * NS_S + j + 1] = m[i * NS_T + j];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < NS_S; i++)
            for (int j = 0; j < NS_S; j++) {
                double sum = 0;
                for (int k = 0; k < NS_S; k++)
                    sum += side ? b[i * NS_S + k] * half[k * NS_S + j] : w[i * NS_S + k] * b[k * NS_S + j];
                (side ? out : half)[i * NS_S + j] = sum;
            }
    for (int i = 0; i < NS_S; i++) /* rounding */
        for (int j = 0; j < i; j++)
            out[i * NS_S + j] = out[j * NS_S + i] = 0.5 * (out[i * NS_S + j] + out[j * NS_S + i]);
}

static bool wide_frame(dual *y, int64_t i, const double *sum)
{
    double a[RP_DIM * RP_DIM], m[NS_T * NS_T], w[NS_S * NS_S], changed[NS_S * NS_S];
#if RP_DIM == 3
    const double g[9] = { sum[0], sum[3], sum[4], sum[3], sum[1], sum[5], sum[4], sum[5], sum[2] };
#else
    const double g[4] = { sum[0], sum[2], sum[2], sum[1] };
#endif
    ns_wide_operator(g, NULL, w);
    soften(w, y->stress[i].ratio);
    if (y->viscous)
        memcpy(y->plain + i * (NS_S * NS_S), w, sizeof w);
    memcpy(changed, w, sizeof w);
    if (y->upkeep->oriented) {
        friction_tensor(y, i, a);
        ns_wide_change(a, m);
        change_operator(w, m, changed);
    }
    const double *change = y->upkeep->oriented ? m : NULL;
    if (y->law != NS_LAW_LINEARISED)
        return ns_wide_exact(&y->wide[i], changed, change);
    double *full = y->full + i * (NS_S * NS_S);
    memcpy(full, changed, sizeof changed);
    return ns_wide_linear(&y->wide[i], full, change);
}

bool DU(make_frame)(dual *y, int64_t i, const double *sum)
{
    double e[3];
    if (y->law != NS_LAW_ISOTROPIC)
        return wide_frame(y, i, sum);
    eigen_of(sum, y->frame[i].r, e);
    if (y->stress[i].ratio > 0)
        return viscous_frame(&y->frame[i], e, y->stress[i].ratio);
    return ns_frame_from_eigenvalues(&y->frame[i], e);
}
