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
    bool present[CELLS];
} plain;

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

static void strain_ref(const plain *p, int c, const double (*u)[RP_DIM], double *gamma)
{
    double h[RP_DIM * RP_DIM] = { 0 };
    for (int n = 0; n < NS_STENCIL; n++)
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                h[a * RP_DIM + b] += u[node_of(place[c], n)][a] * p->g[c][n * RP_DIM + b];
    ns_chi_coefficients(h, gamma);
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

/* One visit; returns the square of the unrelaxed change. */
static double visit_ref(plain *p, int c, const du_manner *manner)
{
    double w[NS_S * NS_S], b[NS_S], gamma[NS_S], from[NS_S], to[NS_S] = { 0 }, change[NS_S], square = 0, size = 0;
    rp_friction_contact_state state;
    operator_ref(p, c, w);
    strain_ref(p, c, (const double (*)[RP_DIM])p->u, gamma);
    gamma[0] += p->k[c];
    for (int i = 0; i < NS_S; i++)
        from[i] = p->lambda[c][i] + manner->beta * (p->lambda[c][i] - p->previous[c][i]);
    for (int i = 0; i < NS_S; i++) {
        b[i] = gamma[i];
        for (int j = 0; j < NS_S; j++)
            b[i] -= w[i * NS_S + j] * from[j];
    }
    assert_int_equal(rp_friction_solve_contact(NS_S, RP_FRICTION_CONTACT_SCALAR, w, b, manner->fluid ? 0 : p->mu[c], to, &state), RP_OK);
    for (int i = 0; i < NS_S; i++) {
        square += (to[i] - from[i]) * (to[i] - from[i]);
        size += fabs(to[i]);
    }
    for (int i = 0; i < NS_S; i++) {
        change[i] = (size > 0 ? manner->omega : 1) * (to[i] - from[i]);
        p->previous[c][i] = p->lambda[c][i];
        p->lambda[c][i] = from[i] + change[i];
    }
    push_ref(p, c, change, p->u);
    return square;
}

/* ---- the same in lanes ---- */

static void frame_of(const plain *p, int c, ns_frame *f)
{
    double g[6] = { 0 }, e[3];
    for (int n = 0; n < NS_STENCIL; n++) {
        const double *v = p->g[c] + n * RP_DIM;
        double m = p->push[node_of(place[c], n)];
#if RP_DIM == 3
        g[0] += m * v[0] * v[0], g[1] += m * v[1] * v[1], g[2] += m * v[2] * v[2], g[3] += m * v[0] * v[1], g[4] += m * v[0] * v[2], g[5] += m * v[1] * v[2];
#else
        g[0] += m * v[0] * v[0], g[1] += m * v[1] * v[1], g[2] += m * v[0] * v[1];
#endif
    }
#if RP_DIM == 3
    rp__mat3 v;
    rp__math_eigen_sym3(g, e, &v);
    for (int a = 0; a < 9; a++)
        f->r[a] = v.m[a / 3][a % 3];
#else
    double angle = 0.5 * atan2(2 * g[2], g[0] - g[1]), cs = cos(angle), sn = sin(angle);
    f->r[0] = cs, f->r[1] = -sn, f->r[2] = sn, f->r[3] = cs;
    e[0] = g[0] * cs * cs + 2 * g[2] * cs * sn + g[1] * sn * sn;
    e[1] = g[0] * sn * sn - 2 * g[2] * cs * sn + g[1] * cs * cs;
#endif
    assert_true(ns_frame_from_eigenvalues(f, e));
}

static void fill(const plain *p, int lane, bool own, du_slot *slot, du_v *g, du_tile *tile, ns_frame (*frame)[DU_LANES])
{
    for (int t = 0; t < DU_TILE; t++) {
        for (int a = 0; a < RP_DIM; a++)
            tile->u[t][a][lane] = p->u[t][a];
        tile->push[t][lane] = p->push[t];
    }
    for (int c = 0; c < CELLS; c++) {
        du_slot *s = &slot[c];
        ns_frame *f = &frame[c][lane];
        double at[NS_S] = { 0 };
        memset(f, 0, sizeof *f);
        f->nn = 1;
        for (int k = 0; k < NS_T; k++)
            f->s[k] = 1;
        if (p->present[c]) {
            frame_of(p, c, f);
            ns_chi_to_frame(f, p->lambda[c], at);
        }
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
    }
}

/* A dual cell of its own shape, or a full one. Some are pulled apart, some stick, some slide. */
static void random_plain(plain *p, bool own, int lane)
{
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
        p->present[c] = lane != 3 && !(lane == 5 && c == 1);
        p->lambda[c][0] = draw(0, 2);
        for (int k = 1; k < NS_S; k++)
            p->lambda[c][k] = p->lambda[c][0] * p->mu[c] * draw(-0.3, 0.3);
        memcpy(p->previous[c], p->lambda[c], sizeof p->lambda[c]);
    }
}

static void compare_lane(const plain *p, const du_slot *slot, const du_tile *tile, ns_frame (*frame)[DU_LANES], int lane)
{
    for (int t = 0; t < DU_TILE; t++)
        for (int a = 0; a < RP_DIM; a++)
            if (!(fabs(tile->u[t][a][lane] - p->u[t][a]) < 1e-9))
                fail_msg("lane %d, node %d: %.12g in lanes, %.12g in plain loops", lane, t, tile->u[t][a][lane], p->u[t][a]);
    for (int c = 0; c < CELLS; c++) {
        double at[NS_S], chi[NS_S];
        for (int k = 0; k < NS_S; k++)
            at[k] = slot[c].lambda[k][lane];
        if (p->present[c])
            ns_frame_to_chi(&frame[c][lane], at, chi);
        for (int k = 0; k < NS_S; k++)
            assert_true(p->present[c] ? fabs(chi[k] - p->lambda[c][k]) < 1e-9 : at[k] == 0);
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
    return y;
}

static void sweeps_agree(bool own)
{
    static const du_manner manner[4] = { { .beta = 0, .omega = 1 }, { .beta = 0.6, .omega = 0.5 }, { .beta = 0.8, .omega = 0.5, .fluid = true },
                                         { .beta = 0.3, .omega = 0.7 } };
    _Alignas(64) static du_slot slot[CELLS];
    _Alignas(64) static du_v g[CELLS * WORDS];
    _Alignas(64) static du_tile tile;
    static plain p[DU_LANES];
    static ns_frame frame[CELLS][DU_LANES];
    dual *y = make_dual(slot, g);
    du_group group = { .slot = 0, .slots = CELLS };
    for (int round = 0; round < 40; round++) {
        for (int l = 0; l < DU_LANES; l++) {
            random_plain(&p[l], own, l);
            fill(&p[l], l, own, slot, g, &tile, frame);
        }
        for (int k = 0; k < 12; k++) {
            const du_manner *m = &manner[k % 4];
            double sums[DU_LANES * DU_SUMS] = { 0 };
            RP_D(rp__nonsmooth_dual_sweep_group)(y, &group, m, &tile, sums);
            for (int l = 0; l < DU_LANES; l++) {
                double squares = 0;
                for (int c = 0; c < CELLS; c++)
                    squares += p[l].present[c] ? visit_ref(&p[l], c, m) : 0;
                assert_true(fabs(sums[l * DU_SUMS + DU_SQUARES] - squares) <= 1e-9 * (1 + squares));
                compare_lane(&p[l], slot, &tile, frame, l);
            }
        }
    }
    free(y);
}

static void sweeps_are_those_of_plain_loops(void **state)
{
    (void)state;
    sweeps_agree(false);
    sweeps_agree(true);
}

/* The rounded apex: visits of one dual cell end where lambda_N >= 0, |lambda_T| <= mu sqrt(lambda_N^2 + c^2); inside nothing is sheared, at the
 * bound the shear opposes the stress (without normal stress only roughly: the stress that stops the shear is cut); nothing overlaps, and what pushes
 * touches. */
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
    const du_manner manner = { .omega = 1 };
    for (int round = 0; round < 40; round++) {
        for (int l = 0; l < DU_LANES; l++) {
            random_plain(&p[l], true, 0);
            p[l].k[0] = draw(-0.2, 0.4);
            for (int t = 0; t < DU_TILE; t++)
                for (int a = 0; a < RP_DIM; a++)
                    p[l].u[t][a] *= 0.3;
            fill(&p[l], l, true, slot, g, &tile, frame);
        }
        slot[0].apex = (du_v){ 0 } + 0.4;
        for (int k = 0; k < 200; k++) {
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
            assert_true(at[0] > 0 ? fabs(gamma[0]) < 1e-6 : gamma[0] > -1e-6);
            if (tangent < bound * (1 - 1e-6))
                assert_true(shear < 1e-6);
            else
                assert_true(power <= -tangent * shear * (at[0] > 0 ? 1 - 1e-5 : 0.5) + 1e-9);
            bare += !(at[0] > 0), stuck += tangent < bound * (1 - 1e-6), slid += tangent >= bound * (1 - 1e-6);
        }
    }
    assert_true(bare > 10 && stuck > 10 && slid > 10);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_are_those_of_plain_loops),
        cmocka_unit_test(rounded_apex_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
