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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(viscosity_of_a_cell), cmocka_unit_test(cut_by_a_plane) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
