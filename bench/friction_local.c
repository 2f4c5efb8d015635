/* The one-contact solvers on random problems: failures and times. Usage: bench_friction_local [problems] */
#include "friction/local.h"

#include "base/timer.h"
#include "math/random.h"

#include <repose/friction.h>
#include <stdio.h>
#include <stdlib.h>

/* Nanoseconds of one 5×5 eigen-decomposition, the larger part of a factorisation in dimension 6. */
static double time_eigen(void)
{
    enum { COUNT = 200, TURNS = 300 };
    static double s[COUNT][25];
    double values[5], vectors[25], best = 1e9;
    for (int n = 0; n < COUNT; n++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j <= i; j++) {
                s[n][i * 5 + j] = rp__random_normal(1, (uint64_t)n, (uint64_t)(i * 5 + j));
                s[n][j * 5 + i] = s[n][i * 5 + j];
            }
    for (int turn = 0; turn < TURNS; turn++) {
        double before = rp__base_seconds();
        for (int n = 0; n < COUNT; n++)
            rp__friction_eigen_c6(s[n], values, vectors);
        best = fmin(best, (rp__base_seconds() - before) * 1e9 / COUNT);
    }
    return best;
}

int main(int argc, char **argv)
{
    static const int dimensions[] = { 2, 3, 6 };
    int64_t problems = argc > 1 ? atoll(argv[1]) : 100000;
    printf("dim  solver       problems  failures  worst error  factorise ns   cold ns   warm ns\n");
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < RP_FRICTION_CONTACT_COUNT; s++) {
            rp_friction_contact_statistics t;
            rp_result result = rp_friction_measure_contacts(dimensions[k], (rp_friction_local_solver)s, problems, 1, &t);
            if (result == RP_UNSUPPORTED)
                continue;
            if (result != RP_OK) {
                fprintf(stderr, "%s\n", rp_last_error());
                return 1;
            }
            printf("%3d  %-11s  %8lld  %7.3f%%  %11.2e  %12.0f  %8.0f  %8.0f\n", dimensions[k],
                   rp_friction_local_solver_name((rp_friction_local_solver)s), (long long)t.problems,
                   100.0 * (double)t.failures / (double)t.problems, t.worst_backward_error, t.factorise_ns, t.cold_ns, t.warm_ns);
        }
    printf("5×5 eigen-decomposition: %.0f ns\n", time_eigen());
    return 0;
}
