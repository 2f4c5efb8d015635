/* The sweeps of dual elements in lanes against the definitions in plain loops, for the RP_DIM of the file that includes this: W of a dual cell is what unit
 * stresses do to its strain, and the friction library solves the law. */
#include "math/eigen.h"
#include "math/random.h"
#include "nonsmooth/dual.h"

#include <cmocka_test.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 3, WORDS = NS_STENCIL * RP_DIM };

/* Three dual cells that overlap, in all lanes but two: the velocities, the operators, the stresses as coefficients of chi. */
typedef struct plain {
    double u[DU_TILE][RP_DIM], push[DU_TILE];
    double g[CELLS][WORDS], lambda[CELLS][NS_S], previous[CELLS][NS_S];
    double k[CELLS], mu[CELLS];
    double ratio[CELLS], nu[CELLS][NS_S], nu_previous[CELLS][NS_S]; /* viscous grains: eta / V, their stress */
    double m[CELLS][NS_S * NS_S]; /* change of the coefficients: M of wide.h and a one; the identity but for flat grains */
    bool present[CELLS];
} plain;

/* What is swept: dual cells of their own shape, viscous grains, flat grains. */
typedef struct kind {
    bool own, viscous, wide;
} kind;

static uint64_t drawn;

static double draw(double from, double to)
{
    return from + (to - from) * rp__random_unit(7, 3, drawn++);
}

static int node_of(int local, int n)
{
    return du_tile_base(local) + n % 3 + DU_SIDE * (n / 3 % 3 + DU_SIDE * (n / 9));
}

static const int place[CELLS] = { 0, 1, RP_DIM == 3 ? 21 : 5 };

static double spline_integral(int n, int axis)
{
    static const double smooth[3] = { 1. / 6, 2. / 3, 1. / 6 }, steep[3] = { -0.5, 0, 0.5 };
    int at[3] = { n % 3, n / 3 % 3, n / 9 };
    double product = 1;
    for (int b = 0; b < RP_DIM; b++)
        product *= b == axis ? steep[at[b]] : smooth[at[b]];
    return product;
}

static void gradient_ref(const plain *p, int c, const double (*u)[RP_DIM], double *h)
{
    memset(h, 0, RP_DIM * RP_DIM * sizeof *h);
    for (int n = 0; n < NS_STENCIL; n++)
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                h[a * RP_DIM + b] += u[node_of(place[c], n)][a] * p->g[c][n * RP_DIM + b];
}

static void strain_ref(const plain *p, int c, const double (*u)[RP_DIM], double *gamma)
{
    double h[RP_DIM * RP_DIM];
    gradient_ref(p, c, u, h);
    ns_chi_coefficients(h, gamma);
}

/* What straight lines do to the volume beyond its rate: det(1 + A) - 1 - Tr A, as a strain; A counts as long as one at most. */
static double bend_ref(const double *h, double ahead)
{
    double m[3][3] = { { 0 } }, square = 0, trace = 0, determinant = 1, size;
    if (!(ahead > 0))
        return 0;
    for (int k = 0; k < RP_DIM * RP_DIM; k++)
        square += ahead * h[k] * ahead * h[k];
    size = square > 1 ? 1 / sqrt(square) : 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double inside = a < RP_DIM && b < RP_DIM ? size * ahead * h[a * RP_DIM + b] : 0;
            m[a][b] = inside + (a == b);
            trace += a == b ? inside : 0;
        }
    for (int k = 0; k < 3; k++) { /* by elimination, with pivots */
        int pivot = k;
        for (int r = k; r < 3; r++)
            pivot = fabs(m[r][k]) > fabs(m[pivot][k]) ? r : pivot;
        for (int b = 0; b < 3 && pivot != k; b++) {
            double held = m[k][b];
            m[k][b] = m[pivot][b], m[pivot][b] = held;
        }
        determinant *= pivot != k ? -m[k][k] : m[k][k];
        for (int r = k + 1; r < 3 && m[k][k] != 0; r++)
            for (int b = 2; b >= k; b--)
                m[r][b] -= m[r][k] / m[k][k] * m[k][b];
    }
    return (determinant - 1 - trace) / (ahead * NS_TRACE);
}

static void push_ref(const plain *p, int c, const double *change, double (*u)[RP_DIM])
{
    double sigma[RP_DIM * RP_DIM];
    ns_chi_tensor(change, sigma);
    for (int n = 0; n < NS_STENCIL; n++)
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                u[node_of(place[c], n)][a] += p->push[node_of(place[c], n)] * sigma[a * RP_DIM + b] * p->g[c][n * RP_DIM + b];
}

static void operator_ref(const plain *p, int c, double *w)
{
    for (int k = 0; k < NS_S; k++) {
        double u[DU_TILE][RP_DIM] = { { 0 } }, unit[NS_S] = { 0 }, column[NS_S];
        unit[k] = 1;
        push_ref(p, c, unit, u);
        strain_ref(p, c, (const double (*)[RP_DIM])u, column);
        for (int i = 0; i < NS_S; i++)
            w[i * NS_S + k] = column[i];
    }
}

static void product(const double *a, const double *b, double *c)
{
    for (int i = 0; i < NS_S; i++)
        for (int j = 0; j < NS_S; j++) {
            c[i * NS_S + j] = 0;
            for (int k = 0; k < NS_S; k++)
                c[i * NS_S + j] += a[i * NS_S + k] * b[k * NS_S + j];
        }
}

static void times(const double *a, const double *x, double *y)
{
    for (int i = 0; i < NS_S; i++) {
        y[i] = 0;
        for (int k = 0; k < NS_S; k++)
            y[i] += a[i * NS_S + k] * x[k];
    }
}

/* (1 + ratio W)^-1 by elimination; positive, so no pivots. */
static void viscous_inverse(const double *w, double ratio, double *inverse)
{
    double a[NS_S][2 * NS_S];
    for (int i = 0; i < NS_S; i++)
        for (int j = 0; j < NS_S; j++) {
            a[i][j] = (i == j) + ratio * w[i * NS_S + j];
            a[i][NS_S + j] = i == j;
        }
    for (int k = 0; k < NS_S; k++) {
        double pivot = a[k][k];
        for (int j = 0; j < 2 * NS_S; j++)
            a[k][j] /= pivot;
        for (int i = 0; i < NS_S; i++) {
            double factor = a[i][k];
            for (int j = 0; j < 2 * NS_S && i != k; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    for (int i = 0; i < NS_S; i++)
        for (int j = 0; j < NS_S; j++)
            inverse[i * NS_S + j] = a[i][NS_S + j];
}

/* One visit; returns the square of the unrelaxed change. The strain without the stress of the dual cell, c, and the law
 *     gamma = (1 + ratio W)^-1 (W m lambda~ + c) + k,   (lambda~, m gamma) in Coulomb's law,   nu = -ratio (gamma - k),
 * k with what straight lines add. */
static double visit_ref(plain *p, int c, const du_manner *manner)
{
    double w[NS_S * NS_S], inverse[NS_S * NS_S], soft[NS_S * NS_S], half[NS_S * NS_S], own[NS_S * NS_S], square = 0, size = 0;
    double gamma[NS_S], from[NS_S], nu[NS_S], all[NS_S], moved[NS_S], b[NS_S], law[NS_S], to[NS_S] = { 0 }, stress[NS_S], change[NS_S];
    double h[RP_DIM * RP_DIM];
    rp_friction_contact_state state;
    operator_ref(p, c, w);
    viscous_inverse(w, p->ratio[c], inverse);
    gradient_ref(p, c, (const double (*)[RP_DIM])p->u, h);
    ns_chi_coefficients(h, gamma);
    for (int i = 0; i < NS_S; i++) {
        from[i] = p->lambda[c][i] + manner->beta * (p->lambda[c][i] - p->previous[c][i]);
        nu[i] = p->nu[c][i] + manner->beta * (p->nu[c][i] - p->nu_previous[c][i]);
    }
    times(p->m[c], from, stress);
    for (int i = 0; i < NS_S; i++)
        all[i] = stress[i] + nu[i];
    times(w, all, moved);
    for (int i = 0; i < NS_S; i++)
        gamma[i] -= moved[i];
    times(inverse, gamma, b);
    b[0] += p->k[c] + bend_ref(h, manner->ahead);
    times(p->m[c], b, law);
    product(inverse, w, soft);
    product(p->m[c], soft, half);
    product(half, p->m[c], own);
    assert_int_equal(rp_friction_solve_contact(NS_S, RP_FRICTION_CONTACT_SCALAR, own, law, p->mu[c], to, &state), RP_OK);
    times(p->m[c], to, all);
    times(w, all, moved);
    for (int i = 0; i < NS_S; i++)
        moved[i] += gamma[i];
    times(inverse, moved, gamma);
    for (int i = 0; i < NS_S; i++) {
        double flow = -p->ratio[c] * gamma[i] - nu[i];
        square += (to[i] - from[i]) * (to[i] - from[i]) + flow * flow;
        size += fabs(to[i]);
    }
    double omega = size > 0 ? manner->omega : 1;
    for (int i = 0; i < NS_S; i++) {
        p->nu_previous[c][i] = p->nu[c][i], p->previous[c][i] = p->lambda[c][i];
        p->nu[c][i] = nu[i] + omega * (-p->ratio[c] * gamma[i] - nu[i]);
        p->lambda[c][i] = from[i] + omega * (to[i] - from[i]);
        change[i] = omega * (all[i] - stress[i] - p->ratio[c] * gamma[i] - nu[i]);
    }
    push_ref(p, c, change, p->u);
    return square;
}

/* ---- the same in lanes ---- */

/* Entries of the symmetric G. */
static void sums_of(const plain *p, int c, double *g)
{
    memset(g, 0, 6 * sizeof *g);
    for (int n = 0; n < NS_STENCIL; n++) {
        const double *v = p->g[c] + n * RP_DIM;
        double m = p->push[node_of(place[c], n)];
#if RP_DIM == 3
        g[0] += m * v[0] * v[0], g[1] += m * v[1] * v[1], g[2] += m * v[2] * v[2], g[3] += m * v[0] * v[1], g[4] += m * v[0] * v[2], g[5] += m * v[1] * v[2];
#else
        g[0] += m * v[0] * v[0], g[1] += m * v[1] * v[1], g[2] += m * v[0] * v[1];
#endif
    }
}

/* The lanes of one dual cell as the method makes them: dual_laws_dim.c. */
static void frame_of(const plain *p, int c, dual *y)
{
    double g[6];
    sums_of(p, c, g);
    y->stress[c].ratio = p->ratio[c];
    y->sum[c] = (du_sum){ .volume = 1, .count = 1 };
    assert_true(RP_D(rp__nonsmooth_dual_make_frame)(y, c, g));
}

static void fill_wide(const plain *p, int c, int lane, const dual *y)
{
    du_wide *to = &y->lanes.wide[c];
    for (int k = 0; k < NS_T * NS_T; k++)
        to->e[k][lane] = p->present[c] ? y->wide[c].e[k] : k % (NS_T + 1) == 0;
    for (int k = 0; k < NS_T; k++) {
        to->s[k][lane] = p->present[c] ? y->wide[c].s[k] : 1;
        to->a[k][lane] = p->present[c] ? y->wide[c].a[k] : 0;
    }
    for (int k = 0; k < NS_S * NS_S; k++)
        to->plain[k][lane] = p->present[c] && y->viscous ? y->plain[c * NS_S * NS_S + k] : k % (NS_S + 1) == 0;
    if (p->present[c])
        y->lanes.slot[c].nn[lane] = y->wide[c].nn;
}

static void fill(const plain *p, int lane, const kind *what, dual *y, du_tile *tile, ns_frame (*frame)[DU_LANES], ns_wide (*wide)[DU_LANES])
{
    bool own = what->own;
    du_slot *slot = y->lanes.slot;
    du_v *g = y->lanes.g;
    for (int t = 0; t < DU_TILE; t++) {
        for (int a = 0; a < RP_DIM; a++)
            tile->u[t][a][lane] = p->u[t][a];
        tile->push[t][lane] = p->push[t];
    }
    for (int c = 0; c < CELLS; c++) {
        du_slot *s = &slot[c];
        ns_frame *f = &frame[c][lane];
        double at[NS_S] = { 0 }, flow[NS_S] = { 0 };
        memset(f, 0, sizeof *f);
        f->nn = 1;
        for (int k = 0; k < NS_T; k++)
            f->s[k] = 1;
        if (p->present[c]) {
            frame_of(p, c, y);
            if (what->wide) {
                wide[c][lane] = y->wide[c];
                double chi[NS_S];
                times(p->m[c], p->lambda[c], chi);
                ns_wide_from_chi(&y->wide[c], chi, at);
                memcpy(flow, p->nu[c], sizeof flow);
            } else {
                *f = y->frame[c];
                ns_chi_to_frame(f, p->lambda[c], at);
                ns_chi_to_frame(f, p->nu[c], flow);
            }
        }
        if (what->viscous)
            y->lanes.viscous[c].ratio[lane] = p->present[c] ? p->ratio[c] : 0;
        for (int k = 0; k < NS_S && what->viscous; k++)
            y->lanes.viscous[c].stress[k][lane] = y->lanes.viscous[c].previous[k][lane] = flow[k];
        for (int k = 0; k < NS_S; k++)
            s->lambda[k][lane] = s->previous[k][lane] = at[k];
        for (int k = 0; k < RP_DIM * RP_DIM; k++)
            s->r[k][lane] = f->r[k];
        for (int k = 0; k < NS_T; k++)
            s->s[k][lane] = f->s[k];
        for (int k = 0; k < RP_DIM - 1; k++)
            s->a[k][lane] = f->a[k];
        s->nn[lane] = f->nn;
#if RP_DIM == 3
        s->cs[lane] = f->cs, s->sn[lane] = f->sn;
#endif
        s->root[lane] = 0;
        s->k[lane] = p->present[c] ? p->k[c] : 1;
        s->mu[lane] = p->mu[c];
        s->apex[lane] = 0;
        s->weight[lane] = p->present[c], s->strict[lane] = 1, s->thin[lane] = 1;
        s->factor[lane] = p->present[c] && !own ? p->g[c][0] / spline_integral(0, 0) : 0;
        s->local = place[c];
        s->g = own ? c * WORDS : -1;
        for (int k = 0; own && k < WORDS; k++)
            g[c * WORDS + k][lane] = p->present[c] ? p->g[c][k] : 0;
        if (what->wide)
            fill_wide(p, c, lane, y);
    }
}

/* Flat grains: A = (1 - alpha) I + d alpha n n^T, M of it. The orientation goes to `y`, where frames are made from it just after. */
static void flatten(plain *p, int c, dual *y)
{
    double n[3] = { draw(-1, 1), draw(-1, 1), RP_DIM == 3 ? draw(-1, 1) : 0 }, alpha = draw(0, 0.8), a[RP_DIM * RP_DIM], m[NS_T * NS_T];
    double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2], *to = y->orientation + NS_S * c;
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++)
            a[r * RP_DIM + s] = (1 - alpha) * (r == s) + RP_DIM * alpha * n[r] * n[s] / square;
#if RP_DIM == 3
    for (int k = 0; k < 3; k++)
        to[k] = alpha * n[k] * n[k] / square;
    to[3] = alpha * n[0] * n[1] / square, to[4] = alpha * n[0] * n[2] / square, to[5] = alpha * n[1] * n[2] / square;
#else
    to[0] = alpha * n[0] * n[0] / square, to[1] = alpha * n[1] * n[1] / square, to[2] = alpha * n[0] * n[1] / square;
#endif
    ns_wide_change(a, m);
    for (int i = 0; i < NS_T; i++)
        for (int j = 0; j < NS_T; j++)
            p->m[c][(i + 1) * NS_S + j + 1] = m[i * NS_T + j];
}

/* A dual cell of its own shape, or a full one. Some are pulled apart, some stick, some slide. */
static void random_plain(plain *p, const kind *what, dual *y, int lane)
{
    bool own = what->own;
    memset(p, 0, sizeof *p);
    for (int t = 0; t < DU_TILE; t++) {
        p->push[t] = draw(0.5, 2);
        for (int a = 0; a < RP_DIM; a++)
            p->u[t][a] = draw(-1, 1);
    }
    for (int c = 0; c < CELLS; c++) {
        double size = draw(0.5, 1.5);
        for (int k = 0; k < WORDS; k++)
            p->g[c][k] = size * spline_integral(k / RP_DIM, k % RP_DIM) + (own ? draw(-0.1, 0.1) : 0);
        p->mu[c] = draw(0.1, 1);
        p->k[c] = draw(-1, 0.3);
        p->present[c] = lane != 3 && !(lane == 2 && c == 1);
        p->lambda[c][0] = draw(0, 2);
        for (int k = 1; k < NS_S; k++)
            p->lambda[c][k] = p->lambda[c][0] * p->mu[c] * draw(-0.3, 0.3);
        memcpy(p->previous[c], p->lambda[c], sizeof p->lambda[c]);
        for (int k = 0; k < NS_S && what->viscous; k++)
            p->nu[c][k] = p->nu_previous[c][k] = draw(-0.5, 0.5);
        p->ratio[c] = what->viscous ? pow(10, draw(-2, 2)) : 0;
        for (int k = 0; k < NS_S; k++)
            p->m[c][k * (NS_S + 1)] = 1;
        if (what->wide)
            flatten(p, c, y);
    }
}

static void compare_lane(const plain *p, const kind *what, const du_slot *slot, const du_tile *tile, ns_frame (*frame)[DU_LANES], ns_wide (*wide)[DU_LANES],
                         int lane)
{
    double near = what->wide ? 1e-6 : 1e-8; /* a wide law has 1e-10 W_NN on its diagonal, so that it is never singular */
    for (int t = 0; t < DU_TILE; t++)
        for (int a = 0; a < RP_DIM; a++)
            if (!(fabs(tile->u[t][a][lane] - p->u[t][a]) < near))
                fail_msg("lane %d, node %d: %.12g in lanes, %.12g in plain loops", lane, t, tile->u[t][a][lane], p->u[t][a]);
    for (int c = 0; c < CELLS; c++) {
        double at[NS_S], chi[NS_S] = { 0 };
        for (int k = 0; k < NS_S; k++)
            at[k] = slot[c].lambda[k][lane];
        double stress[NS_S];
        times(p->m[c], p->lambda[c], stress);
        if (p->present[c] && what->wide)
            ns_wide_to_chi(&wide[c][lane], at, chi);
        else if (p->present[c])
            ns_frame_to_chi(&frame[c][lane], at, chi);
        for (int k = 0; k < NS_S; k++)
            if (!(p->present[c] ? fabs(chi[k] - stress[k]) < near * (1 + fabs(stress[k])) : at[k] == 0))
                fail_msg("lane %d, stress %d, coefficient %d: %.12g in lanes, %.12g in plain loops (viscous %d, wide %d)", lane, c, k, chi[k], stress[k],
                         what->viscous, what->wide);
    }
}

static dual *make_dual(du_slot *slot, du_v *g)
{
    dual *y = calloc(1, sizeof *y);
    assert_non_null(y);
    for (int t = 0; t < DU_TILE; t++)
        y->tile_same[t] = t;
    for (int n = 0; n < NS_STENCIL; n++)
        y->offset[n] = node_of(0, n);
    y->lanes.slot = slot, y->lanes.g = g;
    y->upkeep = calloc(1, sizeof *y->upkeep);
    y->stress = calloc(CELLS, sizeof *y->stress), y->sum = calloc(CELLS, sizeof *y->sum), y->frame = calloc(CELLS, sizeof *y->frame);
    y->wide = calloc(CELLS, sizeof *y->wide), y->plain = calloc(CELLS * NS_S * NS_S, sizeof(double));
    y->orientation = calloc(CELLS * NS_S, sizeof(double));
    assert_true(y->upkeep && y->stress && y->sum && y->frame && y->wide && y->plain && y->orientation);
    return y;
}

static void free_dual(dual *y)
{
    void *all[] = { y->upkeep, y->stress, y->sum, y->frame, y->wide, y->plain, y->orientation, y };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static void sweeps_agree(kind what)
{
    static const du_manner manner[4] = { { .beta = 0, .omega = 1 }, { .beta = 0.6, .omega = 0.5, .ahead = 0.2 }, { .beta = 0.8, .omega = 0.5, .ahead = 2 },
                                         { .beta = 0.3, .omega = 0.7 } };
    _Alignas(64) static du_slot slot[CELLS];
    _Alignas(64) static du_v g[CELLS * WORDS];
    _Alignas(64) static du_tile tile;
    static plain p[DU_LANES];
    static ns_frame frame[CELLS][DU_LANES];
    static ns_wide wide[CELLS][DU_LANES];
    _Alignas(64) static du_wide wide_slot[CELLS];
    _Alignas(64) static du_viscous viscous_slot[CELLS];
    dual *y = make_dual(slot, g);
    du_group group = { .slot = 0, .slots = CELLS };
    y->viscous = what.viscous, y->lanes.viscous = viscous_slot, y->lanes.wide = wide_slot;
    y->law = what.wide ? NS_LAW_ANISOTROPIC : NS_LAW_ISOTROPIC, y->upkeep->oriented = what.wide;
    for (int round = 0; round < 40; round++) {
        for (int l = 0; l < DU_LANES; l++) {
            random_plain(&p[l], &what, y, l);
            fill(&p[l], l, &what, y, &tile, frame, wide);
        }
        for (int k = 0; k < 12; k++) {
            const du_manner *m = &manner[k % 4];
            double sums[DU_LANES * DU_SUMS] = { 0 };
            RP_D(rp__nonsmooth_dual_sweep_group)(y, &group, m, &tile, sums);
            for (int l = 0; l < DU_LANES; l++) {
                double squares = 0;
                for (int c = 0; c < CELLS; c++)
                    squares += p[l].present[c] ? visit_ref(&p[l], c, m) : 0;
                /* Under a wide law the change is measured in other coefficients. */
                assert_true(what.wide || fabs(sums[l * DU_SUMS + DU_SQUARES] - squares) <= 1e-7 * (1 + squares));
                compare_lane(&p[l], &what, slot, &tile, frame, wide, l);
            }
        }
    }
    free_dual(y);
}

static void sweeps_are_those_of_plain_loops(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++)
        sweeps_agree((kind){ .own = k & 1, .viscous = k & 2, .wide = k & 4 });
}

/* The rounded apex: visits of one dual cell end where lambda_N >= 0, |lambda_T| <= mu sqrt(lambda_N^2 + c^2); inside nothing is sheared, at the
 * bound the shear opposes the stress (with next to no normal stress only roughly: the stress that stops the shear is cut); nothing
 * overlaps, and what pushes touches. */
static void rounded_apex_holds(void **state)
{
    (void)state;
    _Alignas(64) static du_slot slot[CELLS];
    _Alignas(64) static du_v g[CELLS * WORDS];
    _Alignas(64) static du_tile tile;
    static plain p[DU_LANES];
    static ns_frame frame[CELLS][DU_LANES];
    int bare = 0, stuck = 0, slid = 0;
    dual *y = make_dual(slot, g);
    du_group group = { .slot = 0, .slots = 1 };
    const du_manner manner = { .omega = 0.4 }; /* as the solver does */
    const kind what = { .own = true };
    static ns_wide wide[CELLS][DU_LANES];
    for (int round = 0; round < 40; round++) {
        for (int l = 0; l < DU_LANES; l++) {
            random_plain(&p[l], &what, y, 0);
            p[l].k[0] = draw(-0.2, 0.4);
            for (int t = 0; t < DU_TILE; t++)
                for (int a = 0; a < RP_DIM; a++)
                    p[l].u[t][a] *= 0.3;
            fill(&p[l], l, &what, y, &tile, frame, wide);
        }
        slot[0].apex = (du_v){ 0 } + 0.4;
        for (int k = 0; k < 400; k++) {
            double sums[DU_LANES * DU_SUMS] = { 0 };
            RP_D(rp__nonsmooth_dual_sweep_group)(y, &group, &manner, &tile, sums);
        }
        for (int l = 0; l < DU_LANES; l++) {
            double at[NS_S], lambda[NS_S], gamma[NS_S], u[DU_TILE][RP_DIM], tangent = 0, shear = 0, power = 0;
            for (int t = 0; t < DU_TILE; t++)
                for (int a = 0; a < RP_DIM; a++)
                    u[t][a] = tile.u[t][a][l];
            for (int k = 0; k < NS_S; k++)
                at[k] = slot[0].lambda[k][l];
            ns_frame_to_chi(&frame[0][l], at, lambda);
            strain_ref(&p[l], 0, (const double (*)[RP_DIM])u, gamma);
            gamma[0] += p[l].k[0];
            for (int k = 1; k < NS_S; k++) {
                tangent += lambda[k] * lambda[k];
                shear += gamma[k] * gamma[k];
                power += lambda[k] * gamma[k];
            }
            tangent = sqrt(tangent), shear = sqrt(shear);
            double bound = p[l].mu[0] * sqrt(lambda[0] * lambda[0] + 0.4 * 0.4);
            if (!(at[0] >= 0 && tangent <= bound * (1 + 1e-9)))
                fail_msg("lambda_N %g, |lambda_T| %.12g beyond %.12g", at[0], tangent, bound);
            if (!(at[0] > 1e-9 ? fabs(gamma[0]) < 1e-6 : gamma[0] > -1e-6))
                fail_msg("lambda_N %g, gamma_N %g", at[0], gamma[0]);
            if (tangent < bound * (1 - 1e-6))
                assert_true(shear < 1e-6);
            else
                assert_true(power <= -tangent * shear * (at[0] > 0.1 ? 1 - 1e-5 : 0.5) + 1e-9);
            bare += !(at[0] > 1e-9), stuck += tangent < bound * (1 - 1e-6), slid += tangent >= bound * (1 - 1e-6);
        }
    }
    assert_true(bare > 10 && stuck > 10 && slid > 10);
    free_dual(y);
}

/* The mean square of a residual in a periodic block, waves of four cells along `long_axes` of the axes and of two along `short_axes` others. */
static double counted(int long_axes, int short_axes)
{
    enum { WIDTH = NS_S + 1 };
    static const double slow[4] = { 1.4142135623730951, 0, -1.4142135623730951, 0 };
    dual y = { .grid = { .blocks = 1 } };
    double sums[DU_SUMS] = { 0 }, *smooth = calloc((size_t)2 * RP_BLOCK_NODES * WIDTH, sizeof *smooth);
    uint64_t active = RP_DIM == 3 ? UINT64_MAX : UINT16_MAX;
    y.stress = calloc(RP_BLOCK_NODES, sizeof *y.stress);
    y.grid.neighbour = calloc(1, sizeof *y.grid.neighbour); /* the block is its own neighbour */
    assert_true(smooth && y.stress && y.grid.neighbour);
    y.active = &active, y.partial = sums, y.smooth[0] = smooth, y.smooth[1] = smooth + RP_BLOCK_NODES * WIDTH;
    for (int i = 0; i < RP_BLOCK_NODES; i++) {
        double value = 1;
        for (int a = 0; a < long_axes + short_axes; a++) {
            int at = i >> 2 * a & 3;
            value *= a < long_axes ? slow[at] : at % 2 ? -1 : 1;
        }
        smooth[i * WIDTH + 1] = value, smooth[i * WIDTH + NS_S] = 1;
    }
    for (int axis = 0; axis < RP_DIM; axis++)
        RP_D(rp__nonsmooth_dual_mean_residuals)(&y, axis, 0, 1);
    RP_D(rp__nonsmooth_dual_add_residuals)(&y, RP_DIM % 2, 0, 1);
    free(smooth), free(y.stress), free(y.grid.neighbour);
    return sums[DU_SQUARES] / RP_BLOCK_NODES;
}

/* Residuals count by what they push with: (2 + cos k) / 3 of a wave along an axis. */
static void what_alternates_pushes_less(void **state)
{
    (void)state;
    for (int n = 0; n <= RP_DIM; n++)
        for (int m = 0; n + m <= RP_DIM; m++)
            assert_true(fabs(counted(n, m) - pow(4.0 / 9, n) * pow(1.0 / 9, m)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_alternates_pushes_less),
        cmocka_unit_test(sweeps_are_those_of_plain_loops),
        cmocka_unit_test(rounded_apex_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
