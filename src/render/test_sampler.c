/* The sampler: even within a pixel, blue over pixels. */
#include "math/random.h"
#include "render/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = RP_RENDER_MASK, N = SIDE * SIDE };

static void ranks_are_a_permutation(void **state)
{
    (void)state;
    static uint16_t rank[N];
    static float energy[N];
    static uint8_t seen[N];
    rp__render_blue_noise(rank, SIDE, energy);
    for (int i = 0; i < N; i++) {
        assert_true(rank[i] < N);
        seen[rank[i]]++;
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
}

/* Power of the pattern at low frequencies over that of white noise. */
static double low_power(const double *v)
{
    double power = 0;
    int terms = 0;
    for (int ky = 0; ky <= 4; ky++)
        for (int kx = -4; kx <= 4; kx++) {
            if (kx * kx + ky * ky == 0 || kx * kx + ky * ky > 16)
                continue;
            double re = 0, im = 0;
            for (int y = 0; y < SIDE; y++)
                for (int x = 0; x < SIDE; x++) {
                    double a = 2 * 3.14159265358979323846 * (kx * x + ky * y) / SIDE;
                    re += v[y * SIDE + x] * cos(a), im += v[y * SIDE + x] * sin(a);
                }
            power += re * re + im * im;
            terms++;
        }
    return power / terms;
}

static void noise_is_blue(void **state)
{
    (void)state;
    static uint16_t rank[N];
    static float energy[N];
    static double blue[N], plain[N];
    rp__render_blue_noise(rank, SIDE, energy);
    for (int i = 0; i < N; i++) {
        blue[i] = (rank[i] + 0.5) / N - 0.5;
        plain[i] = rp__random_unit(3, 1, (uint64_t)i) - 0.5;
    }
    assert_true(low_power(blue) < 0.02 * low_power(plain));
}

/* Each of n strips, along both axes, and each cell of a square holds one point of a power of four. */
static void points_are_stratified(void **state)
{
    (void)state;
    enum { S = 16 };
    rp__render_sampler r;
    assert_int_equal(rp__render_sampler_create(&r, S, 7), RP_OK);
    for (int pair = 0; pair < RP_PAIRS; pair++) {
        int strips[2][S] = { { 0 } }, cells[S] = { 0 };
        for (int s = 0; s < S; s++) {
            const float *p = r.points + 2 * (pair * S + s);
            assert_true(p[0] >= 0 && p[0] < 1 && p[1] >= 0 && p[1] < 1);
            strips[0][(int)(p[0] * S)]++, strips[1][(int)(p[1] * S)]++;
            cells[(int)(p[0] * 4) * 4 + (int)(p[1] * 4)]++;
        }
        for (int s = 0; s < S; s++) {
            assert_int_equal(strips[0][s], 1);
            assert_int_equal(strips[1][s], 1);
            assert_int_equal(cells[s], 1);
        }
    }
    rp__render_sampler_free(&r);
}

static void mean_over_pixels_is_right(void **state)
{
    (void)state;
    rp__render_sampler r;
    assert_int_equal(rp__render_sampler_create(&r, 4, 0), RP_OK);
    double sum[2] = { 0, 0 };
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int s = 0; s < 4; s++) {
                float u[2];
                rp__render_sample(&r, 5, s, x, y, u);
                assert_true(u[0] >= 0 && u[0] < 1 && u[1] >= 0 && u[1] < 1);
                sum[0] += (double)u[0], sum[1] += (double)u[1];
            }
    assert_true(fabs(sum[0] / (4 * N) - 0.5) < 1e-3 && fabs(sum[1] / (4 * N) - 0.5) < 1e-3);
    rp__render_sampler_free(&r);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 20; n++) {
        rp__render_sampler r;
        rp__base_fail_allocation(n);
        rp_result result = rp__render_sampler_create(&r, 2, 0);
        rp__base_fail_allocation(0);
        if (result == RP_OK) {
            rp__render_sampler_free(&r);
            assert_true(n > 1);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_a_permutation), cmocka_unit_test(noise_is_blue),
        cmocka_unit_test(points_are_stratified),   cmocka_unit_test(mean_over_pixels_is_right),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
