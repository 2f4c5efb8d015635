/* Frames on the wire: numbers there and back, damage noticed, thinning by id, slots that never tear. */
#include "cmocka_test.h"
#include "protocol.h"
#include "slots.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void checksum_is_the_known_one(void **state)
{
    (void)state;
    assert_int_equal(wire_crc("123456789", 9), 0xcbf43926u); /* the check value of CRC-32/ISO-HDLC */
    assert_int_equal(wire_crc("", 0), 0);
    uint8_t bytes[64];
    for (int k = 0; k < 64; k++)
        bytes[k] = (uint8_t)(37 * k);
    for (int n = 0; n < 64; n++) { /* against the plain definition, a bit at a time */
        uint32_t c = 0xffffffffu;
        for (int k = 0; k < n; k++) {
            c ^= bytes[k];
            for (int b = 0; b < 8; b++)
                c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        }
        assert_int_equal(wire_crc(bytes, (size_t)n), ~c);
    }
}

static void positions_are_within_half_a_step(void **state)
{
    (void)state;
    const double boxes[][2] = { { -1.4, 2.8 }, { 0, 1e-3 }, { 1000, 0.5 }, { -3e4, 6e4 } };
    for (int b = 0; b < 4; b++) {
        double worst = 0;
        for (int k = 0; k <= 20000; k++) {
            double x = boxes[b][0] + boxes[b][1] * k / 20000;
            worst = fmax(worst, fabs(wire_restore(wire_quantise(x, boxes[b][0], boxes[b][1]), boxes[b][0], boxes[b][1]) - x));
        }
        assert_true(worst <= 0.5 * boxes[b][1] / 65535 * (1 + 1e-6));
        assert_true(worst > 0.4 * boxes[b][1] / 65535); /* the bound is met, not missed by far */
    }
    assert_int_equal(wire_quantise(NAN, 0, 1), 0);
    assert_int_equal(wire_quantise(-5, 0, 1), 0);
    assert_int_equal(wire_quantise(5, 0, 1), 65535);
    assert_int_equal(wire_quantise(INFINITY, 0, 1), 65535);
    assert_int_equal(wire_quantise(0.3, 0, 0), 0);
}

static void thinning_keeps_its_share(void **state)
{
    (void)state;
    assert_int_equal(wire_stride(0, 1000), 1);
    assert_int_equal(wire_stride(1000, 1000), 1);
    assert_int_equal(wire_stride(10000000, WIRE_MOST_GRAINS), 16);
    for (uint32_t stride = 1; stride <= 64; stride *= 2) {
        int kept = 0, nested = 0, run = 0, longest = 0;
        for (int64_t id = 0; id < 100000; id++) {
            bool k = wire_keeps(id, stride);
            kept += k;
            nested += k && !wire_keeps(id, stride > 1 ? stride / 2 : 1); /* thinner ones are among the thicker ones */
            run = k ? 0 : run + 1;
            longest = run > longest ? run : longest;
        }
        assert_int_equal(nested, 0);
        double expected = 100000.0 / stride, spread = sqrt(expected);
        assert_true(fabs(kept - expected) < 5 * spread);
        assert_true(longest < 20 * (int)stride); /* neighbours in memory do not vanish together */
    }
}

/* ---- whole frames ---- */

enum { N = 1000 };
static double x[3 * N], v[3 * N], volume[N];
static int64_t id[N];
static int32_t material[N];

static rp_frame make_frame(rp_field_view *fields, rp_body_state *body)
{
    for (int i = 0; i < N; i++) {
        x[i] = 0.001 * i, x[N + i] = 0.5 * sin(i) + 0.5, x[2 * N + i] = 0.1;
        v[i] = i, v[N + i] = 0, v[2 * N + i] = 0;
        volume[i] = 1e-6 * (1 + i % 2);
        id[i] = 7 * i;
        material[i] = 0;
    }
    fields[0] = (rp_field_view){ { "position", RP_F64, 3, "m", 1 }, x, N, N };
    fields[1] = (rp_field_view){ { "velocity", RP_F64, 3, "m/s", 1 }, v, N, N };
    fields[2] = (rp_field_view){ { "volume", RP_F64, 1, "m3", 1 }, volume, N, N };
    fields[3] = (rp_field_view){ { "id", RP_I64, 1, "", 1 }, id, N, N };
    fields[4] = (rp_field_view){ { "material", RP_I32, 1, "", 1 }, material, N, N };
    *body = (rp_body_state){ .position = { 1, 2, 3 }, .orientation = { 1, 0, 0, 0 }, .present = true };
    rp_frame f = { .time = 1.25, .index = 30, .step = 99, .dim = 3, .cell_size = 0.01, .count = N, .fields = fields, .field_count = 5,
                   .bodies = body, .body_count = 1, .upper = { 1, 1, 1 } };
    return f;
}

static rp_sim_def make_sim(rp_material_def *sand)
{
    rp_sim_def sim = rp_default_sim_def();
    *sand = rp_default_material_def();
    sim.materials = sand, sim.material_count = 1;
    return sim;
}

static void frames_come_back(void **state)
{
    (void)state;
    rp_field_view fields[5];
    rp_body_state body;
    rp_material_def sand;
    rp_frame f = make_frame(fields, &body);
    rp_sim_def sim = make_sim(&sand);
    wire_palette palette;
    wire_buffer b = { 0 };
    wire_wish wish = { .field = "velocity", .low = 0, .high = 999 };
    assert_int_equal(wire_palette_make(&sim, &palette), RP_OK);
    assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &b), RP_OK);
    wire_header h;
    assert_true(wire_read_header(b.bytes, b.size, &h));
    assert_int_equal(h.count, N);
    assert_int_equal(h.frame, 30);
    assert_int_equal(h.step, 99);
    assert_int_equal(h.serial, 5);
    assert_int_equal(h.bodies, 1);
    assert_true(h.time == 1.25);
    assert_int_equal(h.flags, WIRE_VALUE | WIRE_RADIUS | WIRE_TONE);
    assert_true(fabs((double)h.radius - rp_stage_radius(&sim, 2e-6, 0)) < 1e-7);
    const uint8_t *at = b.bytes + WIRE_HEADER + WIRE_LOOK + WIRE_BODY;
    for (int i = 0; i < N; i++)
        for (int d = 0; d < 3; d++) {
            uint16_t q = (uint16_t)(at[6 * i + 2 * d] | at[6 * i + 2 * d + 1] << 8);
            double back = wire_restore(q, (double)h.lower[d], (double)h.size[d]);
            assert_true(fabs(back - x[d * N + i]) <= 0.5001 * (double)h.size[d] / 65535);
        }
    at += 6 * N;
    for (int i = 0; i < N; i++)
        assert_true(fabs(at[i] / 255.0 * 999 - i) <= 0.5 * 999 / 255 + 1e-9);
    at += N;
    assert_int_equal(at[1], 255); /* the larger ones */
    assert_true(fabs(at[0] / 255.0 - cbrt(0.5)) < 0.003);
    /* every flipped bit is noticed */
    for (size_t k = 0; k < b.size; k += 97) {
        b.bytes[k] ^= 4;
        assert_false(wire_read_header(b.bytes, b.size, &h));
        b.bytes[k] ^= 4;
    }
    assert_false(wire_read_header(b.bytes, b.size - 1, &h));
    assert_false(wire_read_header(b.bytes, 10, &h));
    assert_true(wire_read_header(b.bytes, b.size, &h));
    /* thinned: those that the hash keeps, in their order */
    wish.stride = 4;
    strcpy(wish.field, "material");
    assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &b), RP_OK);
    assert_true(wire_read_header(b.bytes, b.size, &h));
    uint32_t kept = 0;
    for (int i = 0; i < N; i++)
        if (wire_keeps(id[i], 4))
            assert_int_equal(b.index[kept++], i);
    assert_int_equal(h.count, kept);
    assert_int_equal(h.stride, 4);
    assert_int_equal(h.total, N);
    at = b.bytes + WIRE_HEADER + WIRE_LOOK + WIRE_BODY + 6 * kept;
    for (uint32_t k = 0; k < kept; k++) {
        uint8_t rgb[3];
        rp_palette_pick(&palette.materials[0], id[b.index[k]], rgb);
        assert_true(at[k] < palette.count);
        for (int c = 0; c < 3; c++) /* shades are rounded to an eighth of a tenth */
            assert_true(abs(rgb[c] - palette.colours[at[k]][c]) <= 3);
    }
    strcpy(wish.field, "taste");
    assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &b), RP_BAD_ARGUMENT);
    f.count = 0, f.field_count = 0, f.body_count = 0;
    strcpy(wish.field, "material");
    assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &b), RP_OK);
    assert_true(wire_read_header(b.bytes, b.size, &h));
    assert_int_equal(h.count, 0);
    wire_buffer_free(&b);
    wire_palette_free(&palette);
}

/* A frame cut down for a slow page is the one that would have been packed for it. */
static void cut_frames_are_thinned_ones(void **state)
{
    (void)state;
    rp_field_view fields[5];
    rp_body_state body;
    rp_material_def sand;
    rp_frame f = make_frame(fields, &body);
    rp_sim_def sim = make_sim(&sand);
    wire_palette palette;
    wire_wish wish = { .field = "velocity", .low = 0, .high = 999, .ordered = true };
    assert_int_equal(wire_palette_make(&sim, &palette), RP_OK);
    for (uint32_t times = 1; times <= 16; times *= 2) {
        wire_buffer cut = { 0 }, thin = { 0 };
        wish.stride = 1;
        assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &cut), RP_OK);
        wire_thin(&cut, times);
        wish.stride = times;
        assert_int_equal(wire_pack(&(wire_content){ .frame = &f }, &sim, &palette, &wish, 5, &thin), RP_OK);
        wire_header h;
        assert_true(wire_read_header(cut.bytes, cut.size, &h));
        assert_int_equal(h.stride, times);
        assert_int_equal(cut.size, thin.size);
        uint32_t seen = 0; /* the same grains: velocities tell them apart, radii and positions belong to them */
        const uint8_t *a = cut.bytes + WIRE_HEADER + WIRE_LOOK + WIRE_BODY, *b = thin.bytes + WIRE_HEADER + WIRE_LOOK + WIRE_BODY;
        for (uint32_t i = 0; i < h.count; i++)
            for (uint32_t j = 0; j < h.count; j++)
                if (memcmp(a + 6 * i, b + 6 * j, 6) == 0 && a[6 * h.count + i] == b[6 * h.count + j] && a[7 * h.count + i] == b[7 * h.count + j]) {
                    seen++;
                    break;
                }
        assert_int_equal(seen, h.count);
        wire_buffer_free(&cut);
        wire_buffer_free(&thin);
    }
    wire_palette_free(&palette);
}

static void ranges_leave_out_strays(void **state)
{
    (void)state;
    rp_field_view fields[5];
    rp_body_state body;
    rp_frame f = make_frame(fields, &body);
    v[3] = 1e9;
    v[4] = NAN;
    double range[2] = { INFINITY, -INFINITY };
    assert_int_equal(wire_widen(&f, "velocity.x", range), RP_OK);
    assert_true(range[0] >= 0 && range[0] < 20 && range[1] > 980 && range[1] < 1000);
    assert_int_equal(wire_widen(&f, "taste", range), RP_BAD_ARGUMENT);
}

/* ---- slots ---- */

typedef struct shared {
    slots slots;
    atomic_bool done;
    atomic_int torn, seen;
} shared;

static void *watch(void *context)
{
    shared *s = context;
    wire_buffer mine = { 0 };
    uint64_t last = 0;
    while (!atomic_load(&s->done)) {
        uint64_t serial = slots_copy(&s->slots, last, &mine);
        wire_header h;
        if (!serial)
            continue;
        if (serial <= last || !wire_read_header(mine.bytes, mine.size, &h) || h.serial != (uint32_t)serial)
            atomic_fetch_add(&s->torn, 1);
        last = serial;
        atomic_fetch_add(&s->seen, 1);
    }
    free(mine.bytes);
    return NULL;
}

static void slots_never_tear(void **state)
{
    (void)state;
    static shared s;
    enum { WATCHERS = 4, FRAMES = 3000, GRAINS = 500 };
    pthread_t threads[WATCHERS];
    slots_init(&s.slots);
    for (int k = 0; k < WATCHERS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, watch, &s), 0);
    uint32_t serial = 0;
    for (int n = 0; n < FRAMES; n++) {
        wire_buffer *b = slots_begin(&s.slots);
        if (!b)
            continue; /* all are being copied: dropped, never waited for */
        wire_header h = { .count = GRAINS + n % 7, .stride = 1, .serial = ++serial };
        size_t size = wire_size(&h);
        if (b->room < size) {
            b->bytes = realloc(b->bytes, size);
            assert_non_null(b->bytes);
            b->room = size;
        }
        b->size = size;
        memset(b->bytes, n, size);
        wire_write_header(&h, b->bytes);
        wire_seal(b->bytes, size);
        slots_commit(&s.slots, b);
    }
    while (atomic_load(&s.seen) == 0)
        ;
    atomic_store(&s.done, true);
    for (int k = 0; k < WATCHERS; k++)
        pthread_join(threads[k], NULL);
    assert_int_equal(atomic_load(&s.torn), 0);
    assert_int_equal(s.slots.published + s.slots.dropped, FRAMES);
    slots_free(&s.slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_is_the_known_one), cmocka_unit_test(positions_are_within_half_a_step),
        cmocka_unit_test(thinning_keeps_its_share),  cmocka_unit_test(frames_come_back),
        cmocka_unit_test(cut_frames_are_thinned_ones), cmocka_unit_test(ranges_leave_out_strays),   cmocka_unit_test(slots_never_tear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
