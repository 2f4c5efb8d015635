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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(viscosity_of_a_cell) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
