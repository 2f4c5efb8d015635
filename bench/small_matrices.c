/* Eigen- and singular values of small matrices: nanoseconds each, one thread.   bench_small_matrices [--json] */
#include "base/timer.h"
#include "math/eigen.h"
#include "math/lanes.h"
#include "math/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4096, REPEAT = 5, SLOTS = 36 };

static double matrices[COUNT][SLOTS];
static double sink; /* keeps the work alive */

static void fill(int n, double spread)
{
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                double x = 2 * rp__random_unit(1, (uint64_t)k, (uint64_t)(i * 6 + j)) - 1;
                matrices[k][i * n + j] = matrices[k][j * n + i] = (i == j) + spread * x;
            }
}

static void run_eigen(int n)
{
    for (int k = 0; k < COUNT; k++) {
        double values[6], vectors[36];
        rp__math_eigen(n, matrices[k], values, vectors);
        sink += values[0] + vectors[0];
    }
}

static void run_svd(int n)
{
    (void)n;
    for (int k = 0; k < COUNT; k++) {
        rp__mat3 f, u, v;
        double s[3];
        memcpy(&f, matrices[k], sizeof f);
        f.m[0][1] += 0.3, f.m[2][0] -= 0.2;
        rp__math_svd(&f, &u, s, &v);
        sink += s[0] + u.m[0][0] + v.m[0][0];
    }
}

static const int slot[6] = { 0, 4, 8, 1, 2, 5 }; /* xx yy zz xy xz yz of a row-major 3×3 */

static void run_lanes(int n)
{
    (void)n;
    for (int k = 0; k < COUNT; k += RP_LANES) {
        RP_LANES_ALIGNED double s[6][RP_LANES], values[3][RP_LANES], v[3][3][RP_LANES];
        for (int i = 0; i < 6; i++)
            for (int l = 0; l < RP_LANES; l++)
                s[i][l] = matrices[k + l][slot[i]];
        rp__lanes_eigen_sym3(s, values, v);
        sink += values[0][0] + v[0][0][0];
    }
}

static void run_float_lanes(int n)
{
    (void)n;
    for (int k = 0; k < COUNT; k += RP_LANES) {
        RP_LANES_ALIGNED float s[6][RP_LANES], values[3][RP_LANES], v[3][3][RP_LANES];
        for (int i = 0; i < 6; i++)
            for (int l = 0; l < RP_LANES; l++)
                s[i][l] = (float)matrices[k + l][slot[i]];
        rp__lanes_eigen_sym3_float(s, values, v);
        sink += (double)(values[0][0] + v[0][0][0]);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int n);
        int n;
    } cases[] = { { "eigen 2x2", run_eigen, 2 },  { "eigen 3x3", run_eigen, 3 },          { "eigen 5x5", run_eigen, 5 },
                  { "eigen 6x6", run_eigen, 6 },  { "svd 3x3", run_svd, 3 },              { "eigen 3x3, double lanes", run_lanes, 3 },
                  { "eigen 3x3, float lanes", run_float_lanes, 3 } };
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "usage: bench_small_matrices [--json]\n");
        return 2;
    }
    int count = sizeof cases / sizeof *cases;
    for (int c = 0; c < count; c++) {
        fill(cases[c].n, 0.5);
        double best = 1e9;
        for (int r = 0; r < REPEAT; r++) {
            double start = rp__base_seconds();
            cases[c].run(cases[c].n);
            double seconds = rp__base_seconds() - start;
            best = seconds < best ? seconds : best;
        }
        double each = best / COUNT * 1e9;
        if (json)
            printf("%s{\"case\": \"%s\", \"ns\": %.4g}%s\n", c ? " " : "[", cases[c].name, each, c + 1 < count ? "," : "]");
        else
            printf("%-26s %8.1f ns\n", cases[c].name, each);
    }
    return sink != sink;
}
