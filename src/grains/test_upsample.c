/* Fine grains led by particles: the kernel beside its plain twin, and what must hold whatever the particles do. */
#include "exec/exec.h"
#include "grains/follow.h"
#include "math/random.h"
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

enum { GUIDES = 4000 };

typedef struct bed {
    double x[3][GUIDES], v[3][GUIDES];
    int64_t count;
} bed;

/* Guides of radius r at random in a box, none nearer than 1.6 r: a dense bed. */
static void fill_bed(bed *b, double r, const double low[3], const double high[3])
{
    memset(b, 0, sizeof *b);
    for (uint64_t k = 0; k < 400000 && b->count < GUIDES; k++) {
        double p[3];
        bool good = true;
        for (int d = 0; d < 3; d++)
            p[d] = low[d] + (high[d] - low[d]) * rp__random_unit(1, k, (uint64_t)d);
        for (int64_t j = 0; j < b->count && good; j++) {
            double a = p[0] - b->x[0][j], c = p[1] - b->x[1][j], e = p[2] - b->x[2][j];
            good = a * a + c * c + e * e > 2.56 * r * r;
        }
        if (!good)
            continue;
        for (int d = 0; d < 3; d++)
            b->x[d][b->count] = p[d];
        b->count++;
    }
}

static rp_guides guides_of(const bed *b)
{
    return (rp_guides){ b->count, { b->x[0], b->x[1], b->x[2] }, { b->v[0], b->v[1], b->v[2] } };
}

static rp_upsample *make(double r, double guide)
{
    rp_upsample_def def = rp_default_upsample_def();
    for (int d = 0; d < 3; d++)
        def.room.lower[d] = -1, def.room.upper[d] = 3;
    def.radius = r, def.guide_radius = guide;
    rp_upsample *u = NULL;
    assert_int_equal(rp_upsample_create(&def, &u), RP_OK);
    return u;
}

static void fill_box(rp_upsample *u, const double low[3], const double high[3])
{
    double centre[3], half[3];
    rp_shape *box;
    for (int d = 0; d < 3; d++)
        centre[d] = 0.5 * (low[d] + high[d]), half[d] = 0.5 * (high[d] - low[d]);
    assert_int_equal(rp_shape_box(centre, half, 0, &box), RP_OK);
    assert_int_equal(rp_upsample_fill(u, box, NULL), RP_OK);
    rp_shape_release(box);
}

static const double low[3] = { 0, 0, 0 }, high[3] = { 0.5, 0.5, 0.3 };

static void move_guides(bed *b, double dt)
{
    for (int d = 0; d < 3; d++)
        for (int64_t j = 0; j < b->count; j++)
            b->x[d][j] += dt * b->v[d][j];
}

/* In lanes and blocks as one by one over all guides. */
static void kernel_agrees(void **unused)
{
    (void)unused;
    static bed b;
    fill_bed(&b, 0.03, low, high);
    for (int64_t j = 0; j < b.count; j++)
        for (int d = 0; d < 3; d++)
            b.v[d][j] = rp__random_unit(9, (uint64_t)j, (uint64_t)d) - 0.5;
    rp_upsample *u = make(0.012, 0.03);
    double around[3] = { 0.5, 0.5, 0.5 }, from[3] = { -0.1, -0.1, -0.1 };
    fill_box(u, from, around);
    rp_guides g = guides_of(&b);
    int64_t n = rp_upsample_count(u), falling = 0;
    assert_true(n > 2000);
    /* The twin's arithmetic on guides in the order of b: sorted copies differ by rounding alone. */
    rp__guides plain = { .count = b.count, .radius = 0.03f };
    static float x[3][GUIDES], v[3][GUIDES];
    for (int d = 0; d < 3; d++) {
        for (int64_t j = 0; j < b.count; j++)
            x[d][j] = (float)(b.x[d][j] + 1), v[d][j] = (float)b.v[d][j];
        plain.x[d] = x[d], plain.v[d] = v[d];
    }
    rp__follow_rules rules = { 1 / 60.0f, { 0, 0, -9.81f }, 1 };
    assert_int_equal(rp_upsample_step(u, &g, NULL, 0, 1.0 / 60), RP_OK); /* sorts */
    const float *px[3], *pv[3];
    static float was[3][1 << 16], speed[3][1 << 16];
    rp_upsample_view(u, px, pv, NULL);
    assert_true(n < 1 << 16);
    for (int d = 0; d < 3; d++)
        memcpy(was[d], px[d], sizeof(float) * (size_t)n), memcpy(speed[d], pv[d], sizeof(float) * (size_t)n);
    assert_int_equal(rp_upsample_step(u, &g, NULL, 0, 1.0 / 60), RP_OK);
    rp_upsample_view(u, px, pv, NULL);
    int64_t odd = 0;
    for (int64_t i = 0; i < n; i++) {
        float at[3] = { was[0][i], was[1][i], was[2][i] }, s[3] = { speed[0][i], speed[1][i], speed[2][i] };
        falling += rp__grains_follow_ref(&plain, &rules, at, s) > 0;
        for (int d = 0; d < 3; d++)
            odd += !(fabsf(at[d] - px[d][i]) < 1e-5f); /* a grain at the very edge of a rule may go either way */
    }
    assert_true(odd < 6);
    assert_true(falling > n / 50 && falling < n);
    assert_true(llabs(rp_upsample_statistics(u).falling - falling) < 3);
    rp_upsample_destroy(u);
}

/* Guides that all go the same way, and guides that fall freely, carry grains exactly. */
static void translation_and_free_fall(void **unused)
{
    (void)unused;
    static bed b;
    for (int fall = 0; fall < 2; fall++) {
        fill_bed(&b, 0.03, low, high);
        for (int64_t j = 0; j < b.count; j++)
            b.v[0][j] = 0.7, b.v[1][j] = -0.2, b.v[2][j] = fall ? 1 : 0.1;
        rp_upsample *u = make(0.012, 0.03);
        double in[3] = { 0.03, 0.03, 0.03 }, out[3] = { 0.47, 0.47, 0.27 };
        fill_box(u, in, out);
        double dt = 1.0 / 60, way[3] = { 0, 0, 0 };
        const float *x[3];
        static float was[3][1 << 15];
        rp_guides g = guides_of(&b);
        rp_upsample_def def = rp_default_upsample_def();
        (void)def;
        for (int k = 0; k < 8; k++) {
            assert_int_equal(rp_upsample_step(u, &g, NULL, 0, dt), RP_OK);
            if (k == 0) { /* sorted now; velocities are the guides' */
                rp_upsample_view(u, x, NULL, NULL);
                assert_true(rp_upsample_count(u) < 1 << 15);
                for (int d = 0; d < 3; d++)
                    memcpy(was[d], x[d], sizeof(float) * (size_t)rp_upsample_count(u));
            } else
                for (int d = 0; d < 3; d++)
                    way[d] += dt * b.v[d][0];
            move_guides(&b, dt);
            for (int64_t j = 0; j < b.count && fall; j++)
                b.v[2][j] -= 9.81 * dt; /* the mean over a step of a parabola */
        }
        if (!fall) /* gravity acts on none: all are among guides */
            assert_true(rp_upsample_statistics(u).falling == 0);
        rp_upsample_view(u, x, NULL, NULL);
        for (int64_t i = 0; i < rp_upsample_count(u); i++)
            for (int d = 0; d < 3; d++)
                assert_true(fabs((double)(x[d][i] - was[d][i]) - way[d]) < 3e-6);
        rp_upsample_destroy(u);
    }
}

/* A bed at rest: grains settle within it once and then stay for ever, and cost nothing. As printed, gravity leaks into the pores. */
static double settle_and_watch(bool as_printed, double *moved, int64_t *still, int64_t *blocks)
{
    static bed b;
    fill_bed(&b, 0.03, low, high);
    rp_upsample_def def = rp_default_upsample_def();
    for (int d = 0; d < 3; d++)
        def.room.lower[d] = 0, def.room.upper[d] = 0.5;
    def.room.open[5] = true;
    def.radius = 0.009, def.guide_radius = 0.03, def.as_printed = as_printed;
    rp_upsample *u = NULL;
    assert_int_equal(rp_upsample_create(&def, &u), RP_OK);
    fill_box(u, low, high);
    rp_guides g = guides_of(&b);
    int64_t n = rp_upsample_count(u);
    double mean[2] = { 0, 0 };
    const float *x[3];
    static float was[3][1 << 16];
    assert_true(n < 1 << 16 && n > 5000);
    for (int k = 0; k < 120 + 600; k++) {
        rp_upsample_view(u, x, NULL, NULL);
        if (k == 0 || k == 120) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += (double)x[2][i] / (double)n;
            mean[k > 0] = sum;
            for (int d = 0; d < 3 && k; d++)
                memcpy(was[d], x[d], sizeof(float) * (size_t)n);
        }
        assert_int_equal(rp_upsample_step(u, &g, NULL, 0, 1.0 / 60), RP_OK);
        assert_int_equal(rp_upsample_count(u), n);
    }
    rp_upsample_view(u, x, NULL, NULL);
    *moved = 0;
    for (int64_t i = 0; i < n && !as_printed; i++)
        for (int d = 0; d < 3; d++)
            *moved = fmax(*moved, fabs((double)(x[d][i] - was[d][i])));
    *still = rp_upsample_statistics(u).still;
    *blocks = rp_upsample_statistics(u).blocks;
    rp_upsample_destroy(u);
    return mean[0] - mean[1];
}

static void rests_with_its_guides(void **unused)
{
    (void)unused;
    double moved, printed_moved;
    int64_t still, blocks, printed_still, printed_blocks;
    double sunk = settle_and_watch(false, &moved, &still, &blocks), printed = settle_and_watch(true, &printed_moved, &printed_still, &printed_blocks);
    assert_true(moved == 0);
    assert_int_equal(still, blocks);
    assert_true(sunk < 0.1 * 0.03);      /* those above the last guides */
    assert_true(printed > 3 * sunk);     /* those in pores as well */
    (void)printed_still, (void)printed_blocks;
}

/* A film of guides below a plate that goes up falls off, and from a part of it has fallen already: no grain stays on the plate. When the
 * particles of the plate count as guides,
 * as in [ihmsen2012], they stay. */
static void does_not_stick(void **unused)
{
    (void)unused;
    for (int ihmsen = 0; ihmsen < 2; ihmsen++) {
        static bed b;
        memset(&b, 0, sizeof b);
        double r = 0.02, dt = 1.0 / 60;
        int64_t film = 0;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 10; j++) {
                b.x[0][b.count] = 0.04 * i, b.x[1][b.count] = 0.04 * j, b.x[2][b.count] = -0.02; /* below half of the plate */
                b.count++;
            }
        film = b.count;
        for (int i = 0; i < 10 && ihmsen; i++)
            for (int j = 0; j < 10; j++) {
                b.x[0][b.count] = 0.04 * i, b.x[1][b.count] = 0.04 * j, b.x[2][b.count] = 0;
                b.v[2][b.count++] = 1;
            }
        rp_upsample *u = make(0.006, r);
        double from[3] = { 0, 0, -0.035 }, to[3] = { 0.36, 0.36, 0 };
        fill_box(u, from, to);
        for (int k = 0; k < 30; k++) { /* half a second: the plate rises at 1 m/s, the guides below it fall off */
            for (int64_t j = 0; j < film; j++)
                b.v[2][j] = 1 - 9.81 * dt * (k + 0.5);
            rp_guides g = guides_of(&b);
            assert_int_equal(rp_upsample_step(u, &g, NULL, 0, dt), RP_OK);
            move_guides(&b, dt);
        }
        const float *x[3];
        int64_t stuck = 0;
        rp_upsample_view(u, x, NULL, NULL);
        for (int64_t i = 0; i < rp_upsample_count(u); i++)
            stuck += fabs((double)x[2][i] - 1 - 0.5) < 3 * r; /* the plate is at z = 0.5 */
        print_message("ihmsen %d: %d of %d grains stay at the plate\n", ihmsen, (int)stuck, (int)rp_upsample_count(u));
        if (ihmsen)
            assert_true(stuck > rp_upsample_count(u) / 20);
        else
            assert_int_equal(stuck, 0);
        rp_upsample_destroy(u);
    }
}

/* None in a body or beyond a wall, while guides run through both. */
static void keeps_out(void **unused)
{
    (void)unused;
    static bed b;
    fill_bed(&b, 0.03, low, high);
    for (int64_t j = 0; j < b.count; j++)
        b.v[0][j] = 1, b.v[2][j] = -0.5;
    rp_shape *ball;
    double centre[3] = { 0, 0, 0 };
    assert_int_equal(rp_shape_sphere(centre, 0.15, &ball), RP_OK);
    const rp_shape *shapes[1] = { ball };
    rp_body_state state = { .position = { 0.9, 0.25, 0.1 }, .orientation = { 1, 0, 0, 0 }, .present = true };
    rp_frame frame = { .bodies = &state, .body_count = 1 };
    rp_upsample_def def = rp_default_upsample_def();
    for (int d = 0; d < 3; d++)
        def.room.lower[d] = 0;
    def.room.upper[0] = 1.2, def.room.upper[1] = 0.5, def.room.upper[2] = 1;
    def.room.bodies = shapes, def.room.body_count = 1;
    def.radius = 0.009, def.guide_radius = 0.03;
    rp_upsample *u = NULL;
    assert_int_equal(rp_upsample_create(&def, &u), RP_OK);
    fill_box(u, low, high);
    int64_t near = 0;
    for (int k = 0; k < 40; k++) {
        rp_guides g = guides_of(&b);
        assert_int_equal(rp_upsample_step(u, &g, &frame, 0, 1.0 / 60), RP_OK);
        move_guides(&b, 1.0 / 60);
        const float *x[3];
        rp_upsample_view(u, x, NULL, NULL);
        for (int64_t i = 0; i < rp_upsample_count(u); i++) {
            double p[3] = { (double)x[0][i] - 0.9, (double)x[1][i] - 0.25, (double)x[2][i] - 0.1 };
            double d = rp_shape_distance(ball, p, NULL);
            assert_true(d > 0.009 - 1e-6);
            near += d < 0.02;
            for (int a = 0; a < 3; a++)
                assert_true((double)x[a][i] > 0.009 - 1e-6 && (double)x[a][i] < def.room.upper[a] - 0.009 + 1e-6);
        }
    }
    assert_true(near > 100);
    rp_upsample_destroy(u);
    rp_shape_release(ball);
}

/* The same bytes for any number of threads; and a grain goes its way whoever else is there. */
static void bytes(void **unused)
{
    (void)unused;
    static bed b;
    static float first[3][1 << 16];
    static const int threads[] = { 1, 2, 5 };
    for (int t = 0; t < 3; t++) {
        fill_bed(&b, 0.03, low, high);
        for (int64_t j = 0; j < b.count; j++)
            for (int d = 0; d < 3; d++)
                b.v[d][j] = rp__random_unit(9, (uint64_t)j, (uint64_t)d) - 0.5;
        rp__exec_set_threads(threads[t]);
        rp_upsample *u = make(0.009, 0.03);
        fill_box(u, low, high);
        for (int k = 0; k < 12; k++) {
            rp_guides g = guides_of(&b);
            assert_int_equal(rp_upsample_step(u, &g, NULL, 0, 1.0 / 60), RP_OK);
            move_guides(&b, 1.0 / 60);
        }
        const float *x[3];
        rp_upsample_view(u, x, NULL, NULL);
        for (int d = 0; d < 3; d++) {
            if (t == 0)
                memcpy(first[d], x[d], sizeof(float) * (size_t)rp_upsample_count(u));
            else
                assert_memory_equal(first[d], x[d], sizeof(float) * (size_t)rp_upsample_count(u));
        }
        rp_upsample_destroy(u);
    }
    rp__exec_set_threads(0);
    /* one of them alone */
    fill_bed(&b, 0.03, low, high);
    for (int64_t j = 0; j < b.count; j++)
        b.v[0][j] = 0.3 * b.x[2][j], b.v[1][j] = 0.1;
    rp_upsample *all = make(0.009, 0.03), *one = make(0.009, 0.03);
    fill_box(all, low, high);
    const float *x[3], *y[3];
    rp_guides g = guides_of(&b);
    assert_int_equal(rp_upsample_step(all, &g, NULL, 0, 1.0 / 60), RP_OK);
    rp_upsample_view(all, x, y, NULL);
    double p[3] = { (double)x[0][777] - 1, (double)x[1][777] - 1, (double)x[2][777] - 1 }, v[3] = { (double)y[0][777], (double)y[1][777], (double)y[2][777] };
    assert_int_equal(rp_upsample_put(one, p, v), RP_OK);
    assert_int_equal(rp_upsample_step(all, &g, NULL, 0, 1.0 / 60), RP_OK);
    assert_int_equal(rp_upsample_step(one, &g, NULL, 0, 1.0 / 60), RP_OK);
    rp_upsample_view(all, x, NULL, NULL);
    rp_upsample_view(one, y, NULL, NULL);
    for (int d = 0; d < 3; d++)
        assert_true(x[d][777] == y[d][0]);
    rp_upsample_destroy(all);
    rp_upsample_destroy(one);
}

static void refuses(void **unused)
{
    (void)unused;
    rp_upsample_def def = rp_default_upsample_def();
    rp_upsample *u = NULL;
    for (int d = 0; d < 3; d++)
        def.room.lower[d] = 0, def.room.upper[d] = 1;
    def.radius = 0.03, def.guide_radius = 0.01;
    assert_int_equal(rp_upsample_create(&def, &u), RP_BAD_ARGUMENT);
    def.radius = 0;
    assert_int_equal(rp_upsample_create(&def, &u), RP_BAD_ARGUMENT);
    u = make(0.01, 0.03);
    double x[1] = { 0.5 }, bad[1] = { NAN };
    rp_guides none = { 0 }, broken = { 1, { x, x, x }, { bad, x, x } };
    assert_int_equal(rp_upsample_step(u, &none, NULL, 0, 1.0 / 60), RP_OK); /* nobody there */
    assert_int_equal(rp_upsample_step(u, &none, NULL, 0, 0), RP_BAD_ARGUMENT);
    assert_int_equal(rp_upsample_step(u, &broken, NULL, 0, 0.01), RP_BAD_ARGUMENT);
    rp_upsample_destroy(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_agrees), cmocka_unit_test(translation_and_free_fall), cmocka_unit_test(rests_with_its_guides),
        cmocka_unit_test(does_not_stick), cmocka_unit_test(keeps_out),                cmocka_unit_test(bytes),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
