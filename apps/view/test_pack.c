/* Kernels of packing against their plain twins; fibres, arrows and fine grains there and back. */
#include "cmocka_test.h"
#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1003 };             /* no multiple of a block or of lanes */

static double random_unit(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed * 0x1p-32;
}

static uint64_t take(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++)
        value |= (uint64_t)from[k] << 8 * k;
    return value;
}

static float take_float(const uint8_t *from)
{
    uint32_t bits = (uint32_t)take(from, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- kernels ---- */

static void lanes_quantise_as_one_by_one(void **state)
{
    (void)state;
    static double x[3][N];
    static float y[3][N];
    static uint8_t from_double[6 * N], from_single[6 * N];
    const double lower[3] = { -1.4, 0, 100 }, size[3] = { 2.8, 1e-3, 0.5 }, none[3] = { 0, 0, 0 };
    double shift[3], factor[3];
    uint32_t seed = 3;
    for (int d = 0; d < 3; d++) {
        shift[d] = -lower[d], factor[d] = 65535 / size[d];
        for (int i = 0; i < N; i++) {
            x[d][i] = lower[d] + size[d] * (1.2 * random_unit(&seed) - 0.1);
            if (i % 101 == 0)
                x[d][i] = i % 202 ? NAN : -INFINITY;
            y[d][i] = (float)(x[d][i] - lower[d]);
        }
    }
    wire_quantise_double((const double *const[3]){ x[0], x[1], x[2] }, shift, factor, N, from_double);
    wire_quantise_single((const float *const[3]){ y[0], y[1], y[2] }, none, factor, N, from_single);
    for (int i = 0; i < N; i++)
        for (int d = 0; d < 3; d++) {
            int plain = wire_quantise(x[d][i], lower[d], size[d]), q = (int)take(from_double + 6 * i + 2 * d, 2), s = (int)take(from_single + 6 * i + 2 * d, 2);
            assert_true(abs(q - plain) <= 1 && abs(s - plain) <= 1); /* on the border between two steps either is right */
            if (x[d][i] >= lower[d] && x[d][i] <= lower[d] + size[d]) {
                assert_true(fabs(wire_restore((uint16_t)q, lower[d], size[d]) - x[d][i]) <= 0.5001 * size[d] / 65535);
                assert_true(fabs(wire_restore((uint16_t)s, lower[d], size[d]) - x[d][i]) <= 0.51 * size[d] / 65535);
            }
        }
}

static void lanes_widen_as_one_by_one(void **state)
{
    (void)state;
    static double x[N];
    static float y[N];
    uint32_t seed = 5;
    for (int n = 0; n < N; n = n < 40 ? n + 1 : 2 * n) {
        double low = INFINITY, high = -INFINITY, a = INFINITY, b = -INFINITY, c = INFINITY, d = -INFINITY;
        for (int i = 0; i < n; i++) {
            x[i] = i % 7 == 3 ? NAN : i % 11 == 5 ? INFINITY : i % 13 == 6 ? -INFINITY : 100 * random_unit(&seed) - 50;
            y[i] = (float)x[i];
            if (isfinite(x[i]))
                low = fmin(low, x[i]), high = fmax(high, x[i]);
        }
        wire_widen_double(x, n, &a, &b);
        wire_widen_single(y, n, &c, &d);
        if (isfinite(low)) {
            assert_true(a == low && b == high);
            assert_true(c == (double)(float)low && d == (double)(float)high);
        } else /* nothing was seen: whoever asks has a box of its own */
            assert_true(a >= 1e30 && b <= -1e30);
    }
}

static void roots_are_roots(void **state)
{
    (void)state;
    double v[64];
    float r[64];
    for (int k = 0; k < 64; k++)
        v[k] = k == 5 ? 0 : k == 6 ? -1 : k == 7 ? NAN : pow(10, -30 + k * 0.9) * (1 + 0.01 * k);
    wire_roots(v, 64, 3, r);
    for (int k = 0; k < 64; k++)
        assert_true(v[k] > 0 ? fabs((double)r[k] / cbrt(v[k]) - 1) < 1e-6 : r[k] == 0);
    wire_roots(v, 64, 2, r);
    for (int k = 0; k < 64; k++)
        assert_true(v[k] > 0 ? fabs((double)r[k] / sqrt(v[k]) - 1) < 1e-6 : r[k] == 0);
}

static void long_checksums_are_the_plain_ones(void **state)
{
    (void)state;
    enum { MOST = 70001 };
    uint8_t *bytes = malloc(MOST);
    uint32_t seed = 9, c = 0xffffffffu;
    assert_non_null(bytes);
    for (int k = 0; k < MOST; k++)
        bytes[k] = (uint8_t)(255 * random_unit(&seed));
    for (int k = 0; k < MOST; k++) { /* a bit at a time, compared now and then */
        if (k % 9973 == 0 || k > MOST - 5)
            assert_int_equal(wire_crc(bytes, (size_t)k), ~c);
        c ^= bytes[k];
        for (int b = 0; b < 8; b++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    free(bytes);
}

/* ---- what comes after the grains ---- */

typedef struct world {
    rp_sim_def sim;
    rp_material_def sand;
    rp_fibres_def kinds[1];
    wire_palette palette;
    wire_buffer b;
    wire_header h;
    const uint8_t *more;
} world;

static void make(world *w)
{
    memset(w, 0, sizeof *w);
    w->sim = rp_default_sim_def();
    w->sand = rp_default_material_def();
    w->kinds[0] = rp_default_fibres_def();
    w->kinds[0].colour = "#c79a5b";
    w->sim.materials = &w->sand, w->sim.material_count = 1;
    w->sim.fibres = w->kinds, w->sim.fibres_count = 1;
    assert_int_equal(wire_palette_make(&w->sim, &w->palette), RP_OK);
}

static void pack(world *w, const wire_content *c, const wire_wish *wish)
{
    assert_int_equal(wire_pack(c, &w->sim, &w->palette, wish, 1, &w->b), RP_OK);
    assert_true(wire_read_header(w->b.bytes, w->b.size, &w->h));
    w->more = w->b.bytes + w->b.size - w->h.more;
    assert_true(w->h.more == 0 || (w->more - w->b.bytes) % 4 == 0);
}

static void finish(world *w)
{
    wire_buffer_free(&w->b);
    wire_palette_free(&w->palette);
}

static const int64_t first[3] = { 0, 3, 5 };
static const int32_t kind[2] = { 0, 0 };
static const double nodes[15] = { 0, 0, 0, 0.1, 0, 0.1, 0.2, 0.1, 0.2, 1.5, 0.5, 0.5, -0.25, 0.5, 0.75 };
static const double speeds[15] = { 1, 0, 0, 0, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5 };
static const double radii[5] = { 0.01, 0.01, 0.005, 0.002, 0.002 }, tensions[5] = { 0, 1, 2, 3, 4 };
static const rp_fibres_view two = { 2, 5, first, kind, nodes, speeds, radii, tensions };

static void fibres_come_back(void **state)
{
    (void)state;
    world w;
    make(&w);
    rp_frame f = { .dim = 3, .upper = { 1, 1, 1 } };
    wire_content c = { .frame = &f, .fibres = &two };
    wire_wish wish = { .field = "tension", .low = 0, .high = 4 };
    pack(&w, &c, &wish);
    assert_int_equal(w.h.flags & WIRE_FIBRES, WIRE_FIBRES);
    assert_int_equal(take(w.more, 4), 2);
    assert_int_equal(take(w.more + 4, 4), 5);
    assert_true(take_float(w.more + 8) == 0.01f);
    assert_int_equal(take(w.more + 12, 4), 1);
    assert_int_equal(take(w.more + 16, 4), 3);
    assert_int_equal(take(w.more + 24, 4), 2);
    uint8_t rgb[3];
    rp_palette palette;
    assert_int_equal(rp_palette_parse("#c79a5b", &palette), RP_OK);
    rp_palette_pick(&palette, 1, rgb);
    assert_memory_equal(w.more + 28, rgb, 3);
    const uint8_t *node = w.more + 32;
    for (int k = 0; k < 5; k++, node += 8) {
        for (int d = 0; d < 3; d++) /* the box is wider than the domain: fibres leave it */
            assert_true(fabs(wire_restore((uint16_t)take(node + 2 * d, 2), (double)w.h.lower[d], (double)w.h.size[d]) - nodes[3 * k + d]) <=
                        0.5001 * (double)w.h.size[d] / 65535);
        assert_int_equal(node[6], lround(255 * radii[k] / 0.01));
        assert_int_equal(node[7], lround(255 * k / 4.0));
    }
    assert_ptr_equal(node, w.b.bytes + w.b.size);
    double range[2] = { INFINITY, -INFINITY }, value;
    assert_int_equal(wire_widen_fibres(&two, "tension", range), RP_OK);
    assert_true(range[0] == 0 && range[1] == 3); /* the 99th percentile of five */
    assert_true(wire_fibre_value(&two, "velocity", 1, &value) && value == 2);
    assert_true(wire_fibre_value(&two, "velocity.z", 2, &value) && value == 3);
    assert_false(wire_fibre_value(&two, "velocity.w", 2, &value) || wire_fibre_value(&two, "velocities", 2, &value) || wire_fibre_value(&two, "id", 0, &value));
    assert_int_equal(wire_widen_fibres(&two, "id", range), RP_BAD_ARGUMENT);
    strcpy(wish.field, "taste");
    assert_int_equal(wire_pack(&c, &w.sim, &w.palette, &wish, 1, &w.b), RP_BAD_ARGUMENT);
    finish(&w);
}

/* Nodes of a lattice that turn about the middle: every arrow is the rotation at its own place. */
static void arrows_come_back(void **state)
{
    (void)state;
    enum { SIDE = 64, NODES = SIDE * SIDE };
    static double x[3 * NODES], u[3 * NODES];
    for (int k = 0; k < NODES; k++) {
        x[k] = (k % SIDE + 0.5) / SIDE, x[NODES + k] = (k / SIDE + 0.5) / SIDE;
        u[k] = -(x[NODES + k] - 0.5), u[NODES + k] = x[k] - 0.5;
    }
    u[17] = NAN; /* what is not a number is left out */
    rp_field_view fields[2] = { { { "position", RP_F64, 3, "m", 1 }, x, NODES, NODES }, { { "fluid_velocity", RP_F64, 3, "m/s", 1 }, u, NODES, NODES } };
    rp_frame f = { .dim = 2, .cell_size = 1.0 / SIDE, .upper = { 1, 1, 0 } }, n = { .dim = 2, .count = NODES, .fields = fields, .field_count = 2 };
    world w;
    make(&w);
    wire_content c = { .frame = &f, .nodes = &n };
    pack(&w, &c, &(wire_wish){ .field = "material", .arrows = "fluid_velocity" });
    assert_int_equal(w.h.flags & WIRE_ARROWS, WIRE_ARROWS);
    int count = (int)take(w.more, 4);
    double longest = (double)take_float(w.more + 4), width = (double)take_float(w.more + 8);
    assert_true(count > 400 && count <= 1500);
    assert_int_equal(w.h.more, 16 + 12 * count);
    double worst = 0;
    for (int k = 0; k < count; k++) {
        const uint8_t *at = w.more + 16 + 12 * k;
        double px = wire_restore((uint16_t)take(at, 2), (double)w.h.lower[0], (double)w.h.size[0]),
               py = wire_restore((uint16_t)take(at + 2, 2), (double)w.h.lower[1], (double)w.h.size[1]);
        double ux = (int16_t)take(at + 6, 2) / 32767.0 * longest, uy = (int16_t)take(at + 8, 2) / 32767.0 * longest;
        worst = fmax(worst, hypot(ux + (py - 0.5), uy - (px - 0.5)));
    }
    assert_true(worst < 0.75 * width); /* the mean of the nodes in a place is not at its middle */
    assert_true(fabs(longest - sqrt(0.5)) < 2 * width);
    /* a field that is not there is no error: other frames may have it */
    pack(&w, &c, &(wire_wish){ .field = "material", .arrows = "taste" });
    assert_int_equal(w.h.flags & WIRE_ARROWS, 0);
    finish(&w);
}

/* Fine grains in place of the particles, and fibres that stay where they are when the grains are cut down. */
static void fine_grains_come_back(void **state)
{
    (void)state;
    static float x[3][N], v[3][N];
    static uint8_t tone[N];
    uint32_t seed = 11;
    for (int i = 0; i < N; i++) {
        for (int d = 0; d < 3; d++)
            x[d][i] = (float)random_unit(&seed), v[d][i] = d == 1 ? 2 * x[0][i] : 0;
        tone[i] = (uint8_t)i;
    }
    rp_frame f = { .dim = 3, .lower = { -1, -1, -1 }, .upper = { 0, 0, 0 } };
    wire_fine fine = { .count = N, .x = { x[0], x[1], x[2] }, .v = { v[0], v[1], v[2] }, .tone = tone, .base = { -1, -1, -1 }, .radius = 0.008 };
    wire_content c = { .frame = &f, .fine = &fine, .fibres = &two };
    world w;
    make(&w);
    pack(&w, &c, &(wire_wish){ .field = "material", .ordered = true });
    assert_int_equal(w.h.flags, WIRE_FINE | WIRE_PALETTE | WIRE_FIBRES);
    assert_int_equal(w.h.count, N);
    assert_true(w.h.radius == 0.008f);
    const uint8_t *grains = w.b.bytes + WIRE_HEADER + WIRE_LOOK;
    for (int k = 0; k < N; k++) {
        int i = w.b.index[k];
        for (int d = 0; d < 3; d++)
            assert_true(fabs(wire_restore((uint16_t)take(grains + 6 * k + 2 * d, 2), (double)w.h.lower[d], (double)w.h.size[d]) - ((double)x[d][i] - 1)) <=
                        0.51 * (double)w.h.size[d] / 65535);
        assert_int_equal(grains[6 * N + k], wire_palette_byte(&w.palette, 0, tone[i]));
    }
    uint8_t before[56];
    assert_int_equal(w.h.more, 16 + 2 * 8 + 5 * 8);
    memcpy(before, w.more, 56);
    wire_thin(&w.b, 4);
    assert_true(wire_read_header(w.b.bytes, w.b.size, &w.h));
    assert_int_equal(w.h.stride, 4);
    assert_memory_equal(w.b.bytes + w.b.size - w.h.more, before, 56);
    pack(&w, &c, &(wire_wish){ .field = "velocity", .low = 0, .high = 2 });
    assert_null(w.b.index);
    for (int i = 0; i < N; i++)
        assert_true(fabs(w.b.bytes[WIRE_HEADER + WIRE_LOOK + 6 * N + i] / 255.0 * 2 - 2 * (double)x[0][i]) <= 0.51 * 2 / 255);
    c.fibres = NULL;
    assert_int_equal(wire_pack(&c, &w.sim, &w.palette, &(wire_wish){ .field = "pressure" }, 1, &w.b), RP_BAD_ARGUMENT);
    finish(&w);
}

/* Two capsules of known length and a ball: their ends, and true radii. */
static void capsules_come_back(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, r[3] = { 0.01, 0.02, 0.02 }, half[3] = { 0.03, 0.05, 0 };
    double x[9] = { 0.2, 0.5, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 }, axis[9] = { 1, 0, 0, 0, 0, 1, 0, 1, 0 }, volume[3];
    for (int i = 0; i < 3; i++)
        volume[i] = 4.0 / 3 * pi * r[i] * r[i] * r[i] + 2 * pi * r[i] * r[i] * half[i];
    rp_field_view fields[4] = { { { "position", RP_F64, 3, "m", 1 }, x, 3, 3 }, { { "axis", RP_F64, 3, "", 1 }, axis, 3, 3 },
                                { { "radius", RP_F64, 1, "m", 1 }, r, 3, 3 }, { { "volume", RP_F64, 1, "m3", 1 }, volume, 3, 3 } };
    rp_frame f = { .dim = 3, .cell_size = 0.1, .count = 3, .fields = fields, .field_count = 4, .upper = { 1, 1, 1 } };
    wire_content c = { .frame = &f };
    world w;
    make(&w);
    pack(&w, &c, &(wire_wish){ .field = "material" });
    assert_int_equal(w.h.flags & (WIRE_FIBRES | WIRE_RADIUS), WIRE_FIBRES | WIRE_RADIUS);
    assert_true(w.h.radius == 0.02f);
    assert_int_equal(take(w.more, 4), 3);
    assert_int_equal(take(w.more + 4, 4), 6);
    assert_int_equal(take(w.more + 12, 4), 2); /* round ends */
    for (int i = 0; i < 3; i++)
        for (int e = 0; e < 2; e++)
            for (int d = 0; d < 3; d++) {
                double at = wire_restore((uint16_t)take(w.more + 40 + 8 * (2 * i + e) + 2 * d, 2), (double)w.h.lower[d], (double)w.h.size[d]);
                assert_true(fabs(at - (x[3 * d + i] + (e ? 1 : -1) * half[i] * axis[3 * d + i])) < 1e-5);
            }
    assert_int_equal(w.more[40 + 6], 128); /* half of the largest radius */
    fields[2].info.name = "size"; /* balls of a method that knows no radii */
    pack(&w, &c, &(wire_wish){ .field = "material" });
    assert_int_equal(w.h.flags & WIRE_FIBRES, 0);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_quantise_as_one_by_one), cmocka_unit_test(lanes_widen_as_one_by_one), cmocka_unit_test(roots_are_roots),
        cmocka_unit_test(long_checksums_are_the_plain_ones), cmocka_unit_test(fibres_come_back), cmocka_unit_test(arrows_come_back),
        cmocka_unit_test(fine_grains_come_back), cmocka_unit_test(capsules_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
