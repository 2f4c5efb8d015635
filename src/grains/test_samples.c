/* Grain samples: they stay in the material, move as it moves, follow particles that come, go, split and merge, and live in files. */
#include "exec/exec.h"
#include "grains/grains.h"
#include "math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 8, N = SIDE * SIDE * SIDE, ROOM = 2 * N };

/* A frame made by hand. */
typedef struct made {
    rp_frame frame;
    rp_field_view fields[6];
    double x[3 * ROOM], v[3 * ROOM], volume[ROOM], f[6 * ROOM];
    int64_t id[ROOM];
    rp_body_state body;
} made;

static const double spacing = 0.01;

static void set_fields(made *m, int64_t count, int64_t index, double time)
{
    const rp_field_view fields[] = {
        { { "position", RP_F64, 3, "m", 1 }, m->x, count, ROOM },  { { "velocity", RP_F64, 3, "m/s", 1 }, m->v, count, ROOM },
        { { "volume", RP_F64, 1, "m3", 1 }, m->volume, count, ROOM }, { { "id", RP_I64, 1, "", 1 }, m->id, count, ROOM },
        { { "ellipsoid", RP_F64, 6, "m2", 1 }, m->f, count, ROOM },
    };
    memcpy(m->fields, fields, sizeof fields);
    m->frame = (rp_frame){ .time = time, .index = index, .dim = 3, .cell_size = 2 * spacing, .count = count,
                           .fields = m->fields, .field_count = 5 };
}

/* A block of particles at rest, jittered, with balls for ellipsoids. */
static made *make_block(int64_t index)
{
    made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (int64_t i = 0; i < N; i++) {
        int64_t at[3] = { i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE };
        for (int d = 0; d < 3; d++)
            m->x[d * ROOM + i] = spacing * ((double)at[d] + 0.5 + 0.3 * (rp__random_unit(9, (uint64_t)d, (uint64_t)i) - 0.5));
        m->volume[i] = 0.6 * spacing * spacing * spacing;
        m->id[i] = 100 + i;
        for (int c = 0; c < 3; c++)
            m->f[c * ROOM + i] = 0.25 * spacing * spacing;
    }
    set_fields(m, N, index, (double)index / 24);
    return m;
}

static rp_samples_def block_def(void)
{
    rp_samples_def def = rp_default_samples_def();
    def.cell_size = 2 * spacing;
    def.per_particle = 12;
    return def;
}

static void position(const rp_samples *s, const rp_frame *f, int64_t i, int64_t k, double x[3])
{
    const rp_field_view *view = rp_frame_field(f, "position");
    for (int d = 0; d < 3; d++)
        x[d] = ((const double *)view->data)[d * view->stride + i] + rp__grains_unpack(s->offset[3 * k + d], s->scale);
}

/* Every sample is in the ellipsoid of its owner (the rounding of offsets aside). */
static void check_inside(const rp_samples_def *def, const rp_samples *s, const rp_frame *f)
{
    rp__carriers c;
    assert_int_equal(rp__grains_carriers(def, f, RP_GRAINS_ELLIPSOIDS, &c), RP_OK);
    assert_int_equal(s->particles, f->count);
    assert_int_equal(s->first[s->particles], s->count);
    for (int64_t i = 0; i < s->particles; i++)
        for (int64_t k = s->first[i]; k < s->first[i + 1]; k++) {
            double x[3];
            position(s, f, i, k, x);
            assert_true(rp__grains_depth(&c, i, x) < 1.002);
        }
    rp__grains_carriers_free(&c);
}

static void seeded_in_the_ellipsoids(void **state)
{
    (void)state;
    made *m = make_block(0);
    rp_samples_def def = block_def();
    rp_samples s;
    m->f[0] *= 9, m->f[ROOM] *= 0.2; /* a long one, turned */
    m->f[3 * ROOM] = 0.1 * spacing * spacing;
    assert_int_equal(rp_samples_seed(&def, &m->frame, &s), RP_OK);
    assert_int_equal(s.count, 12 * N);
    check_inside(&def, &s, &m->frame);
    /* Evenly: the mean offset is small, the mean square is reach²/5 on each axis. */
    double mean = 0, square = 0;
    for (int64_t k = s.first[1]; k < s.count; k++) {
        double r = rp__grains_unpack(s.offset[3 * k], s.scale);
        mean += r, square += r * r;
    }
    double n = (double)(s.count - s.first[1]), reach = 0.5 * spacing * RP_GRAINS_REACH;
    assert_true(fabs(mean / n) < 0.02 * reach);
    assert_true(fabs(square / n / (reach * reach / 5) - 1) < 0.05);
    rp_samples_free(&s);
    free(m);
}

/* A rigid motion carries the samples exactly with it: the fit gives the rotation. */
static void rigid_motion_is_exact(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    const double angle = 0.4, shift[3] = { 0.03, -0.02, 0.05 };
    for (int64_t i = 0; i < N; i++) {
        double x = a->x[i], y = a->x[ROOM + i];
        b->x[i] = cos(angle) * x - sin(angle) * y + shift[0];
        b->x[ROOM + i] = sin(angle) * x + cos(angle) * y + shift[1];
        b->x[2 * ROOM + i] = a->x[2 * ROOM + i] + shift[2];
    }
    rp_samples_def def = block_def();
    rp_samples s, t;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
    assert_int_equal(t.count, s.count);
    check_inside(&def, &t, &b->frame);
    double worst = 0;
    for (int64_t i = 0; i < N; i++) /* balls stay balls, so every sample stays with its owner, in its order */
        for (int64_t k = s.first[i]; k < s.first[i + 1]; k++) {
            double x[3], y[3];
            position(&s, &a->frame, i, k, x);
            position(&t, &b->frame, i, k, y);
            double wanted[3] = { cos(angle) * x[0] - sin(angle) * x[1] + shift[0], sin(angle) * x[0] + cos(angle) * x[1] + shift[1],
                                 x[2] + shift[2] };
            for (int d = 0; d < 3; d++)
                worst = fmax(worst, fabs(y[d] - wanted[d]));
            assert_int_equal(s.tone[k], t.tone[k]);
        }
    assert_true(worst < 0.02 * spacing); /* the fit leans a little to the identity */
    rp_samples_free(&s);
    rp_samples_free(&t);
    free(a);
    free(b);
}

/* Shear over many frames: samples stay inside, none is lost, and threads change no byte. */
static void shear_keeps_them_in(void **state)
{
    (void)state;
    made *a = make_block(0);
    rp_samples_def def = block_def();
    rp_samples s;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    int64_t begin = s.count;
    for (int step = 1; step <= 12; step++) {
        made *b = make_block(step);
        for (int64_t i = 0; i < N; i++) {
            memcpy(b->f, a->f, sizeof b->f);
            b->x[i] = a->x[i] + 0.2 * a->x[2 * ROOM + i];
            b->x[ROOM + i] = a->x[ROOM + i], b->x[2 * ROOM + i] = a->x[2 * ROOM + i];
        }
        rp_samples t, u;
        rp__exec_set_threads(1);
        assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
        rp__exec_set_threads(3);
        assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &u), RP_OK);
        rp__exec_set_threads(0);
        assert_int_equal(t.count, u.count);
        assert_memory_equal(t.offset, u.offset, (size_t)t.count * 6);
        assert_memory_equal(t.first, u.first, (size_t)(N + 1) * sizeof *t.first);
        rp_samples_free(&u);
        rp_samples_free(&s);
        s = t;
        check_inside(&def, &s, &b->frame);
        free(a);
        a = b;
    }
    assert_true(llabs(s.count - begin) < begin / 50);
    rp_samples_free(&s);
    free(a);
}

/* ---- particles that come and go ---- */

static void split_shares_the_samples(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    def.per_particle = 200;
    rp_samples s, t;
    for (int64_t i = 0; i < 3; i++) { /* three, each on its own, are long along x before they split */
        a->f[i] = spacing * spacing;
        a->x[2 * ROOM + i] += 0.3 * (double)(i + 1), b->x[2 * ROOM + i] += 0.3 * (double)(i + 1);
    }
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    for (int64_t i = 0; i < 3; i++) {
        int64_t child = N + i;
        for (int d = 0; d < 3; d++)
            b->x[d * ROOM + child] = b->x[d * ROOM + i], b->f[d * ROOM + child] = b->f[d * ROOM + i];
        b->x[i] -= 0.5 * spacing, b->x[child] += 0.5 * spacing;
        b->volume[i] *= 0.5, b->volume[child] = b->volume[i];
        b->id[child] = 9000 + i;
    }
    set_fields(b, N + 3, 1, 1.0 / 24);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
    check_inside(&def, &t, &b->frame);
    for (int64_t i = 0; i < 3; i++) {
        int64_t parent = t.first[i + 1] - t.first[i], child = t.first[N + i + 1] - t.first[N + i];
        assert_true(parent > 80 && child > 80);
        assert_int_equal(parent + child, s.first[i + 1] - s.first[i]);
    }
    rp_samples_free(&s);
    rp_samples_free(&t);
    free(a);
    free(b);
}

static void merge_keeps_the_samples(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    rp_samples s, t;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    /* The last particle goes into the one before it. */
    int64_t into = N - 2;
    for (int d = 0; d < 3; d++) {
        b->x[d * ROOM + into] = 0.5 * (a->x[d * ROOM + N - 2] + a->x[d * ROOM + N - 1]);
        b->f[d * ROOM + into] *= d == 0 ? 4 : 1.2;
    }
    b->volume[into] *= 2;
    set_fields(b, N - 1, 1, 1.0 / 24);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
    check_inside(&def, &t, &b->frame);
    assert_true(t.count >= s.count - 4);
    rp_samples_free(&s);
    rp_samples_free(&t);
    free(a);
    free(b);
}

static void emitters_and_sinks(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    rp_samples s, t;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    for (int64_t i = 0; i < 10; i++) { /* ten new ones far away in place of the first ten, which a sink took */
        for (int d = 0; d < 3; d++)
            b->x[d * ROOM + i] += 1;
        b->id[i] = 5000 + i;
    }
    for (int64_t i = 0; i < 10; i++) /* those had flown far */
        a->v[i] = 60;
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
    check_inside(&def, &t, &b->frame);
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(t.first[i + 1] - t.first[i], 12);
    assert_int_equal(t.count, s.count);
    /* From nothing. */
    made *none = make_block(0);
    set_fields(none, 0, 0, 0);
    rp_samples empty, first;
    assert_int_equal(rp_samples_seed(&def, &none->frame, &empty), RP_OK);
    assert_int_equal(empty.count, 0);
    assert_int_equal(rp_samples_advance(&def, &empty, &none->frame, &b->frame, &first), RP_OK);
    assert_int_equal(first.count, 12 * N);
    /* To nothing. */
    rp_samples gone;
    set_fields(none, 0, 2, 2.0 / 24);
    assert_int_equal(rp_samples_advance(&def, &first, &b->frame, &none->frame, &gone), RP_OK);
    assert_int_equal(gone.count, 0);
    rp_samples_free(&s);
    rp_samples_free(&t);
    rp_samples_free(&empty);
    rp_samples_free(&first);
    rp_samples_free(&gone);
    free(a);
    free(b);
    free(none);
}

/* No sample under the ground, outside a wall or in a body. */
static void kept_out_of_walls_and_bodies(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    const double centre[3] = { 0, 0, 0 }, at[3] = { 4 * spacing, 4 * spacing, 4 * spacing };
    rp_shape *ball = NULL;
    assert_int_equal(rp_shape_sphere(centre, 2 * spacing, &ball), RP_OK);
    const rp_shape *shapes[1] = { ball };
    def.bodies = shapes, def.body_count = 1;
    for (int d = 0; d < 3; d++)
        def.lower[d] = 0, def.upper[d] = SIDE * spacing;
    def.open[5] = true;
    made *frames[2] = { a, b };
    for (int f = 0; f < 2; f++) {
        frames[f]->body = (rp_body_state){ .orientation = { 1, 0, 0, 0 }, .present = true };
        memcpy(frames[f]->body.position, at, sizeof at);
        frames[f]->frame.bodies = &frames[f]->body;
        frames[f]->frame.body_count = 1;
        for (int64_t i = 0; i < N; i++) { /* particles themselves are outside the ball */
            double r = 0, *x = frames[f]->x;
            for (int d = 0; d < 3; d++)
                r += (x[d * ROOM + i] - at[d]) * (x[d * ROOM + i] - at[d]);
            r = sqrt(r);
            for (int d = 0; d < 3 && r < 2.1 * spacing; d++)
                x[d * ROOM + i] = at[d] + (x[d * ROOM + i] - at[d]) * 2.1 * spacing / r;
        }
    }
    for (int64_t i = 0; i < N; i++)
        b->x[2 * ROOM + i] = fmax(0.1 * spacing, b->x[2 * ROOM + i] - 0.4 * spacing); /* pressed to the ground */
    rp_samples s, t;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_OK);
    const rp_samples *both[2] = { &s, &t };
    for (int f = 0; f < 2; f++)
        for (int64_t i = 0; i < N; i++)
            for (int64_t k = both[f]->first[i]; k < both[f]->first[i + 1]; k++) {
                double x[3], r = 0;
                position(both[f], &frames[f]->frame, i, k, x);
                for (int d = 0; d < 3; d++) {
                    r += (x[d] - at[d]) * (x[d] - at[d]);
                    assert_true(x[d] > 0 && (d == 2 || x[d] < SIDE * spacing));
                }
                if (f == 0)
                    assert_true(sqrt(r) > 2 * spacing - 1e-6);
            }
    rp_samples_free(&s);
    rp_samples_free(&t);
    rp_shape_release(ball);
    free(a);
    free(b);
}

/* ---- files ---- */

static void files_there_and_back(void **state)
{
    (void)state;
    made *a = make_block(3);
    rp_samples_def def = block_def();
    rp_samples s, t;
    const char *path = "test_samples.file";
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    assert_int_equal(rp_samples_write(&s, path), RP_OK);
    assert_int_equal(rp_samples_read(path, &t), RP_OK);
    assert_int_equal(t.count, s.count);
    assert_int_equal(t.frame, 3);
    assert_true(t.scale == s.scale && t.unit_volume == s.unit_volume);
    assert_true(t.frame_sum == s.frame_sum && t.frame_sum == rp_samples_frame_sum(&a->frame));
    a->x[7] += 1e-12;
    assert_true(t.frame_sum != rp_samples_frame_sum(&a->frame));
    assert_memory_equal(t.first, s.first, (N + 1) * sizeof *s.first);
    assert_memory_equal(t.offset, s.offset, (size_t)s.count * 6);
    assert_memory_equal(t.tone, s.tone, (size_t)s.count);
    rp_samples_free(&t);
    /* Every kind of damage gives a sentence. */
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static unsigned char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(size, 64 + 2 * N + 7 * s.count + 8);
    for (size_t at = 0; at < size; at += at < 80 ? 1 : 4999) {
        bytes[at] ^= 0x41;
        file = fopen(path, "wb");
        fwrite(bytes, 1, size, file);
        fclose(file);
        bytes[at] ^= 0x41;
        assert_int_equal(rp_samples_read(path, &t), RP_BAD_FILE);
        assert_non_null(strstr(rp_last_error(), path));
    }
    for (size_t length = 0; length < size; length += 3001) {
        file = fopen(path, "wb");
        fwrite(bytes, 1, length, file);
        fclose(file);
        assert_int_equal(rp_samples_read(path, &t), RP_BAD_FILE);
    }
    remove(path);
    assert_int_equal(rp_samples_read(path, &t), RP_NOT_FOUND);
    rp_samples_free(&s);
    free(a);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    def.per_particle = 1;
    size_t before = rp_memory_in_use();
    for (int64_t n = 1; n < 100; n++) {
        rp_samples s, t;
        rp__base_fail_allocation(n);
        rp_result result = rp_samples_seed(&def, &a->frame, &s);
        if (result == RP_OK) {
            result = rp_samples_advance(&def, &s, &a->frame, &b->frame, &t);
            if (result == RP_OK)
                rp_samples_free(&t);
            rp_samples_free(&s);
        }
        rp__base_fail_allocation(0);
        assert_int_equal(rp_memory_in_use(), before);
        if (result == RP_OK) {
            assert_true(n > 8);
            free(a);
            free(b);
            return;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
    fail();
}

static void wrong_frames_are_refused(void **state)
{
    (void)state;
    made *a = make_block(0), *b = make_block(1);
    rp_samples_def def = block_def();
    rp_samples s, t;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &s), RP_OK);
    set_fields(a, N - 1, 0, 0);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_BAD_ARGUMENT);
    b->frame.field_count = 3; /* no id */
    set_fields(a, N, 0, 0);
    assert_int_equal(rp_samples_advance(&def, &s, &a->frame, &b->frame, &t), RP_BAD_FILE);
    def.per_particle = 0;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &t), RP_BAD_ARGUMENT);
    def.per_particle = 1;
    a->x[5] = NAN;
    assert_int_equal(rp_samples_seed(&def, &a->frame, &t), RP_BAD_FILE);
    rp_samples_free(&s);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeded_in_the_ellipsoids),
        cmocka_unit_test(rigid_motion_is_exact),
        cmocka_unit_test(shear_keeps_them_in),
        cmocka_unit_test(split_shares_the_samples),
        cmocka_unit_test(merge_keeps_the_samples),
        cmocka_unit_test(emitters_and_sinks),
        cmocka_unit_test(kept_out_of_walls_and_bodies),
        cmocka_unit_test(files_there_and_back),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(wrong_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
