/* Tests of kernels against their definitions, for the RP_DIM of the file that includes this. */
#include "diphasic/system.h"
#include "math/random.h"

#include <cmocka_test.h>

/* What viscosity does in a cell, by orthogonal products and by Gauss's rule; nothing where the cell moves or turns as one. */
static void viscosity_of_a_cell(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 20; k++) {
        double u[DP_CORNERS][RP_DIM], f[DP_CORNERS][RP_DIM], ref[DP_CORNERS][RP_DIM], h = 0.1 + 0.1 * (double)k;
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                u[n][a] = rp__random_unit(1, k, (uint64_t)(n * RP_DIM + a)) - 0.5;
        DP(viscous_cell)(h, u, f);
        DP(viscous_cell_ref)(h, u, ref);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                assert_true(fabs(f[n][a] - ref[n][a]) < 1e-14);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                u[n][a] = 1 + a + (a == 0 ? (n >> 1 & 1) : a == 1 ? -(n & 1) : 0);
        DP(viscous_cell)(h, u, f);
        for (int n = 0; n < DP_CORNERS; n++)
            for (int a = 0; a < RP_DIM; a++)
                assert_true(fabs(f[n][a]) < 1e-14);
    }
}

static void add_area(void *context, const dp_piece *piece)
{
    double e[2][3] = { { 0 } };
    for (int k = 1; k < RP_DIM; k++)
        for (int a = 0; a < RP_DIM; a++)
            e[k - 1][a] = piece->x[k][a] - piece->x[0][a];
    double x = e[0][1] * e[1][2] - e[0][2] * e[1][1], y = e[0][2] * e[1][0] - e[0][0] * e[1][2], z = e[0][0] * e[1][1] - e[0][1] * e[1][0];
    *(double *)context += RP_DIM == 3 ? 0.5 * sqrt(x * x + y * y + z * z) : sqrt(e[0][0] * e[0][0] + e[0][1] * e[0][1]);
}

/* A cell that a plane cuts: against many points; and the parts on its two sides make up the whole. */
static void cut_by_a_plane(void **state)
{
    (void)state;
    enum { POINTS = RP_DIM == 2 ? 400 : 60 };
    for (uint64_t k = 0; k < 12; k++) {
        double normal[RP_DIM], value[DP_CORNERS], turned[DP_CORNERS], length = 0, area = 0, other = 0, h = 0.2, cell = pow(h, RP_DIM);
        double fraction = 0, part[DP_CORNERS] = { 0 }, leaves[DP_CORNERS][RP_DIM] = { { 0 } };
        for (int a = 0; a < RP_DIM; a++) {
            normal[a] = rp__random_unit(2, k, (uint64_t)a) - 0.5;
            length += normal[a] * normal[a];
        }
        double off = 0.4 * (rp__random_unit(3, k, 0) - 0.5) * sqrt(length);
        for (int n = 0; n < DP_CORNERS; n++) {
            value[n] = off;
            for (int a = 0; a < RP_DIM; a++)
                value[n] += normal[a] * ((n >> a & 1) - 0.5);
            turned[n] = -value[n];
        }
        dp_cut below, above;
        DP(cut_cell)(value, h, &below, add_area, &area);
        DP(cut_cell)(turned, h, &above, add_area, &other);
        int64_t all = RP_DIM == 2 ? (int64_t)POINTS * POINTS : (int64_t)POINTS * POINTS * POINTS;
        for (int64_t i = 0; i < all; i++) {
            const int64_t place[3] = { i % POINTS, i / POINTS % POINTS, i / (POINTS * POINTS) };
            double t[RP_DIM], weight[DP_CORNERS], gradient[DP_CORNERS][RP_DIM], d = off;
            for (int a = 0; a < RP_DIM; a++)
                t[a] = ((double)place[a] + 0.5) / POINTS, d += normal[a] * (t[a] - 0.5);
            if (!(d < 0))
                continue;
            dp_weights(t, weight);
            dp_gradients(t, 1 / h, gradient);
            fraction += 1 / (double)all;
            for (int n = 0; n < DP_CORNERS; n++) {
                part[n] += cell / (double)all * weight[n];
                for (int a = 0; a < RP_DIM; a++)
                    leaves[n][a] += cell / (double)all * gradient[n][a];
            }
        }
        assert_true(fabs(below.fraction + above.fraction - 1) < 1e-14);
        assert_true(fabs(area - other) < 1e-12 && area > 0);
        assert_true(fabs(below.fraction - fraction) < 3e-3);
        for (int n = 0; n < DP_CORNERS; n++) {
            assert_true(fabs(below.part[n] - part[n]) < 3e-3 * cell);
            assert_true(fabs(below.part[n] + above.part[n] - cell / DP_CORNERS) < 1e-15);
            for (int a = 0; a < RP_DIM; a++) {
                assert_true(fabs(below.leaves[n][a] - leaves[n][a]) < 3e-3 * cell / h);
                assert_true(fabs(below.leaves[n][a] + above.leaves[n][a] - (n >> a & 1 ? 1 : -1) * pow(0.5 * h, RP_DIM - 1)) < 1e-15);
            }
        }
    }
}

typedef struct chance {
    uint64_t trial, number;
} chance;

static double draw(chance *c)
{
    return rp__random_unit(4, c->trial, c->number++);
}

/* Loose and dense grains, with and without friction that grows, with and without a viscous fluid. W from nearly without an answer of the volume (drag
 * holds the fluid in) to nearly singular (a cell with one free corner). */
static void draw_law(chance *c, dp_stress *s, double b[DP_S])
{
    const double unit = 1e-6;
    double root[DP_S][DP_S], scale[DP_S];
    *s = (dp_stress){ .mu = draw(c) < 0.1 ? 0 : DP_CONTACT * 0.8 * draw(c) };
    s->lambda[0] = 40 * draw(c);
    s->rate.most = draw(c) < 0.2 ? 1 : 0.4, s->rate.least = -fmin(s->rate.most, 0.9 * s->mu / DP_CONTACT);
    s->rate.phi = 0.5 + 0.15 * draw(c), s->rate.critical = 0.58;
    s->rate.slope = draw(c) < 0.2 ? 0 : 6 * draw(c);
    s->rate.root = draw(c) < 0.2 ? 0 : 100 * draw(c);
    s->rate.opening = draw(c) < 0.8 ? 0 : fmin(0.4 * draw(c), s->mu / DP_CONTACT);
    s->rate.faster = draw(c) < 0.3 ? 0 : 0.4 * draw(c);
    s->rate.viscous = 1e6 * draw(c), s->rate.inertial = draw(c) < 0.5 ? 0 : 1e5 * draw(c);
    double flat = pow(10, -3 * draw(c)), thin = pow(10, -4 * draw(c)), slow = pow(10, -3 * draw(c));
    for (int i = 0; i < DP_S; i++) {
        scale[i] = sqrt(unit * (i == 0 ? flat : 1));
        b[i] = 30 * unit * (i == 0 ? slow * (draw(c) - 0.7) : draw(c) - 0.5);
        for (int j = 0; j < DP_S; j++)
            root[i][j] = (draw(c) - 0.5) * (j == DP_S - 1 ? thin : 1) + (i == j && thin > 0.01);
    }
    for (int i = 0; i < DP_S; i++)
        for (int j = 0; j < DP_S; j++)
            for (int k = 0; k < DP_S; k++)
                s->w[i][j] += scale[i] * scale[j] * root[i][k] * root[j][k];
    assert_true(DP_CONE_NAME(rp__friction_factorise)(&s->factor, &s->w[0][0]));
}

/* How far a stress is from the law as rheology_dim.c states it, a part of what γ is the sum of; `lift`: how fast shear makes it expand. */
static double outside_of_law(const dp_stress *s, const double b[DP_S], const double lambda[DP_S], double z, double *lift)
{
    const dp_rate *law = &s->rate;
    double gamma[DP_S], rate = 0, rub = 0, size = 0;
    for (int i = 0; i < DP_S; i++) {
        gamma[i] = b[i], size += fabs(b[i]);
        for (int j = 0; j < DP_S; j++)
            gamma[i] += s->w[i][j] * lambda[j], size += fabs(s->w[i][j] * lambda[j]);
        rate += i ? gamma[i] * gamma[i] : 0, rub += i ? lambda[i] * lambda[i] : 0;
    }
    rate = sqrt(rate), rub = sqrt(rub);
    bool touches = lambda[0] > 0;
    double x = touches ? rate / lambda[0] : INFINITY, growth = x * (law->viscous + law->inertial * sqrt(DP_CONTACT * law->phi * s->lambda[0]));
    double number = law->root > 0 ? law->root * sqrt(x) : 0, more = touches ? growth / (1 + growth) : 1;
    double tangent = law->slope > 0 ? fmax(law->least, fmin(law->most, law->slope * (law->phi - law->critical / (1 + number)))) : 0;
    tangent = law->slope > 0 && law->opening > 0 ? fmax(tangent, law->opening) : tangent;
    double friction = s->mu + DP_CONTACT * (tangent + law->faster * more), wrong;
    *lift = DP_CONTACT * (law->slope > 0 ? tangent : law->opening); /* grains that only make room are no stronger for it */
    if (!touches)
        return lambda[0] == 0 && rub == 0 ? fmax(0, *lift * rate - gamma[0]) / size : INFINITY;
    if (!(z > 0))
        return fmax(fmax(rate, fabs(gamma[0])) / size, (rub - friction * lambda[0]) / rub);
    wrong = fabs(gamma[0] - *lift * rate) / size;
    for (int i = 1; i < DP_S; i++)
        wrong = fmax(wrong, fabs(rate * lambda[i] + friction * lambda[0] * gamma[i]) / (size * rub));
    return wrong;
}

static void law_of_the_rate(void **state)
{
    (void)state;
    int apart = 0, rests = 0, shears = 0, expands = 0;
    double worst = 0;
    for (uint64_t k = 0; k < 20000; k++) {
        chance c = { .trial = k };
        dp_stress s;
        double b[DP_S], lambda[DP_S], z = 0, lift;
        draw_law(&c, &s, b);
        for (int again = 0; again < 2; again++) { /* from nothing, and from where it came to */
            DP(obey_rate)(&s, b, &z, lambda);
            double wrong = outside_of_law(&s, b, lambda, z, &lift);
            worst = fmax(worst, wrong);
            if (!(wrong < 1e-9))
                fail_msg("trial %d: wrong by %g, lambda_N %g, z %g, lift %g", (int)k, wrong, lambda[0], z, lift);
        }
        apart += !(lambda[0] > 0), rests += lambda[0] > 0 && !(z > 0), shears += z > 0, expands += z > 0 && lift > 0;
    }
    print_message("law of the rate: %d apart, %d at rest, %d that shear (%d expand); at most %.1e wrong\n", apart, rests, shears, expands,
                  worst);
    assert_true(apart > 500 && rests > 500 && shears > 5000 && expands > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(viscosity_of_a_cell), cmocka_unit_test(cut_by_a_plane),
                                        cmocka_unit_test(law_of_the_rate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
