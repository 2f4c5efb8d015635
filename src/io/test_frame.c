#include "base/error.h"
#include "base/memory.h"
#include "io/hdf5_file.h"
#include "folder_tests.h"
#include "io/io.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 70000 };
static double position[3 * MOST], stress[6 * MOST], matrix[9 * MOST];
static int32_t material[MOST];
static int64_t id[MOST];
static float heat[MOST];

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < 9 * MOST; i++)
        matrix[i] = 0.5 * i;
    for (int i = 0; i < 6 * MOST; i++)
        stress[i] = -1.0 / (i + 1);
    for (int i = 0; i < 3 * MOST; i++)
        position[i] = i * 1e-3;
    for (int i = 0; i < MOST; i++) {
        material[i] = i % 3 - 1;
        id[i] = (int64_t)i << 33;
        heat[i] = (float)i / 3;
    }
    return folder_make("test_frame");
}

typedef struct sample {
    rp_frame frame;
    rp_field_view fields[6];
    rp_body_state bodies[2];
    char names[2][64];
} sample;

static void make_sample(sample *s, int64_t count)
{
    memset(s, 0, sizeof *s);
    const rp_field_view fields[] = {
        { { "position", RP_F64, 3, "m", 1 }, position, count, MOST }, { { "stress", RP_F64, 6, "Pa", 1 }, stress, count, MOST },
        { { "matrix", RP_F64, 9, "", 1 }, matrix, count, MOST },      { { "material", RP_I32, 1, "", 1 }, material, count, MOST },
        { { "id", RP_I64, 1, "", 1 }, id, count, MOST },              { { "heat", RP_F32, 1, "K", 1 }, heat, count, MOST },
    };
    memcpy(s->fields, fields, sizeof fields);
    for (int b = 0; b < 2; b++) {
        double *numbers = (double *)&s->bodies[b];
        for (int k = 0; k < 20; k++)
            numbers[k] = b + k / 7.0;
        s->bodies[b].present = b == 1;
        snprintf(s->names[b], sizeof s->names[b], "body %d", b);
    }
    s->frame = (rp_frame){ .time = 0.1, .index = 3, .step = 41, .dim = 3, .cell_size = 0.02, .frame_rate = 30, .lower = { -1, -2, -3 },
                           .upper = { 1, 2, 3 }, .count = count, .fields = s->fields, .field_count = 6, .bodies = s->bodies,
                           .body_names = s->names, .body_count = 2 };
}

static void same_field(const rp_field_view *a, const rp_field_view *b)
{
    assert_non_null(b);
    assert_int_equal(a->info.type, b->info.type);
    assert_int_equal(a->info.components, b->info.components);
    assert_string_equal(a->info.unit, b->info.unit);
    assert_int_equal(a->count, b->count);
    size_t width = rp__io_type_size(a->info.type);
    for (int c = 0; c < a->info.components; c++)
        assert_memory_equal((const char *)a->data + (size_t)(c * a->stride) * width,
                            (const char *)b->data + (size_t)(c * b->stride) * width, (size_t)a->count * width);
}

static void round_trip(int64_t count, bool compressed)
{
    sample s;
    make_sample(&s, count);
    const char *path = in_folder("a.vtkhdf");
    assert_int_equal(rp__io_frame_write(&s.frame, path, compressed), RP_OK);
    rp_frame back;
    assert_int_equal(rp_frame_read(path, &back), RP_OK);
    assert_true(back.time == s.frame.time && back.cell_size == s.frame.cell_size && back.frame_rate == s.frame.frame_rate);
    assert_true(back.index == 3 && back.step == 41 && back.dim == 3 && back.count == count && back.field_count == 6);
    assert_memory_equal(back.lower, s.frame.lower, sizeof back.lower);
    assert_memory_equal(back.upper, s.frame.upper, sizeof back.upper);
    assert_string_equal(back.fields[0].info.name, "position");
    for (int f = 0; f < 6; f++)
        same_field(&s.fields[f], rp_frame_field(&back, s.fields[f].info.name));
    assert_null(rp_frame_field(&back, "nothing"));
    assert_int_equal(back.body_count, 2);
    for (int b = 0; b < 2; b++) {
        assert_string_equal(back.body_names[b], s.names[b]);
        assert_memory_equal(&back.bodies[b], &s.bodies[b], offsetof(rp_body_state, present));
        assert_int_equal(back.bodies[b].present, s.bodies[b].present);
    }
    rp_frame_free(&back);
    assert_int_equal(rp_memory_in_use(), 0);
}

static void test_round_trip(void **state)
{
    (void)state;
    round_trip(1000, false);
    round_trip(MOST, false); /* more than one block */
    round_trip(MOST, true);
    round_trip(1, false);
    round_trip(0, false);
    round_trip(0, true);
}

static void file_equal(const char *a, const char *b)
{
    char *x, *y;
    size_t m, n;
    assert_int_equal(rp__file_read(a, 1 << 28, &x, &m), RP_OK);
    assert_int_equal(rp__file_read(b, 1 << 28, &y, &n), RP_OK);
    assert_int_equal(m, n);
    assert_memory_equal(x, y, m);
    rp__base_free(x);
    rp__base_free(y);
}

/* The same content gives the same bytes, later and after other files were written. */
static void test_same_bytes(void **state)
{
    (void)state;
    sample s, other;
    make_sample(&s, 40000);
    make_sample(&other, 123);
    for (int compressed = 0; compressed < 2; compressed++) {
        const char *a = in_folder("a.vtkhdf"), *b = in_folder("b.vtkhdf"), *c = in_folder("c.vtkhdf");
        assert_int_equal(rp__io_frame_write(&s.frame, a, compressed), RP_OK);
        assert_int_equal(rp__io_frame_write(&other.frame, c, !compressed), RP_OK);
        sleep(1); /* a time stamp would show */
        assert_int_equal(rp__io_frame_write(&s.frame, b, compressed), RP_OK);
        file_equal(a, b);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    sample s;
    make_sample(&s, 100);
    const char *path = in_folder("m.vtkhdf");
    assert_int_equal(rp__io_frame_write(&s.frame, path, false), RP_OK);
    rp_result result = RP_OUT_OF_MEMORY;
    int64_t n = 1;
    for (; result != RP_OK && n < 200; n++) {
        rp__base_fail_allocation(n);
        result = rp__io_frame_write(&s.frame, path, n % 2);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        assert_int_equal(rp_memory_in_use(), 0);
        rp_frame back; /* whole, whatever happened */
        assert_int_equal(rp_frame_read(path, &back), RP_OK);
        rp_frame_free(&back);
    }
    assert_true(n > 4 && result == RP_OK);
    result = RP_OUT_OF_MEMORY;
    for (n = 1; result != RP_OK && n < 200; n++) {
        rp_frame back;
        rp__base_fail_allocation(n);
        result = rp_frame_read(path, &back);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        rp_frame_free(&back);
        assert_int_equal(rp_memory_in_use(), 0);
    }
    assert_true(n > 4 && result == RP_OK);
}

/* A disk that fills: the write fails with a sentence, the old file stays, no part file is left. */
static void test_full_disk(void **state)
{
    (void)state;
    sample s, larger;
    make_sample(&s, 100);
    make_sample(&larger, 30000);
    const char *path = in_folder("full.vtkhdf"), *copy = in_folder("copy.vtkhdf");
    assert_int_equal(rp__io_frame_write(&s.frame, path, false), RP_OK);
    assert_int_equal(rp__io_frame_write(&s.frame, copy, false), RP_OK);
    struct rlimit old, small = { 1 << 20, RLIM_INFINITY };
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rp_result result = rp__io_frame_write(&larger.frame, path, false);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(result, RP_IO_ERROR);
    assert_non_null(strstr(rp_last_error(), "cannot write"));
    file_equal(path, copy);
    assert_int_not_equal(access(in_folder("full.vtkhdf.part"), F_OK), 0);
    assert_int_equal(rp_memory_in_use(), 0);
}

static void refused(const char *path, const char *sentence)
{
    rp_frame frame;
    assert_int_equal(rp_frame_read(path, &frame), RP_BAD_FILE);
    if (!strstr(rp_last_error(), sentence))
        fail_msg("'%s' lacks '%s'", rp_last_error(), sentence);
    assert_int_equal(rp_memory_in_use(), 0);
}

static void test_refused(void **state)
{
    (void)state;
    rp_frame frame;
    assert_int_equal(rp_frame_read(in_folder("absent.vtkhdf"), &frame), RP_NOT_FOUND);
    const char *path = in_folder("bad.vtkhdf");
    assert_int_equal(rp__file_write_text(path, "not a frame"), RP_OK);
    refused(path, "not an HDF5 file");

    sample s;
    make_sample(&s, 5000);
    assert_int_equal(rp__io_frame_write(&s.frame, path, false), RP_OK);
    assert_int_equal(truncate(path, 20000), 0);
    refused(path, "bad.vtkhdf");

    rp__io_h5 h;
    assert_int_equal(rp__io_h5_create(&h, path, 0), RP_OK);
    assert_int_equal(rp__io_h5_commit(&h), RP_OK);
    refused(path, "no group REPOSE");
}

/* In the place of the points of a frame: rows in chunks, one of which holds a few bytes. */
static void replace_points(const char *path, hsize_t rows, hsize_t rows_of_chunk)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gopen2(file, "/VTKHDF", H5P_DEFAULT);
    assert_true(H5Ldelete(group, "Points", H5P_DEFAULT) >= 0 && H5Ldelete(group, "NumberOfPoints", H5P_DEFAULT) >= 0);
    const hsize_t one = 1, dims[2] = { rows, 3 }, most[2] = { H5S_UNLIMITED, 3 }, chunk[2] = { rows_of_chunk, 3 }, at[2] = { 0, 0 };
    const int64_t count = (int64_t)rows;
    static const char held[64];
    assert_int_equal(rp__io_h5_put(group, path, "NumberOfPoints", false, RP_I64, 1, &one, &count), RP_OK);
    hid_t space = H5Screate_simple(2, dims, most), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, chunk);
    H5Pset_deflate(properties, 1);
    hid_t points = H5Dcreate2(group, "Points", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(points >= 0 && H5Dwrite_chunk(points, H5P_DEFAULT, 0, at, sizeof held, held) >= 0);
    H5Dclose(points);
    H5Pclose(properties);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

/* A file that claims a billion rows which it does not hold is refused before memory is asked for; so is one with ten rows in a chunk of
 * 2.4 gigabytes. */
static void test_bomb(void **state)
{
    (void)state;
    sample s;
    make_sample(&s, 10);
    const char *path = in_folder("bomb.vtkhdf");
    static const hsize_t rows[2][2] = { { 1000000000, 4096 }, { 10, 100000000 } };
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rp__io_frame_write(&s.frame, path, false), RP_OK);
        replace_points(path, rows[k][0], rows[k][1]);
        size_t before = rp_memory_peak();
        refused(path, "claims more numbers than the file holds");
        assert_true(rp_memory_peak() - before < 1 << 20);
    }
}

/* Bytes changed at many places: with the checksum at the end every change is refused, without it read or refused; nothing of ours is kept. */
static void read_flipped(const char *path, char *data, size_t size, bool sealed)
{
    int refusals = 0, tries = 0;
    size_t base = rp_memory_in_use(), inside = size - RP_IO_SEAL;
    size = sealed ? size : inside;
    for (size_t i = 0; i < inside; i += i < 4000 ? 23 : 97, tries++) {
        char old = data[i];
        data[i] = (char)(old ^ 0x84);
        FILE *stream = fopen(path, "wb");
        assert_true(stream && fwrite(data, 1, size, stream) == size && fclose(stream) == 0);
        data[i] = old;
        rp_frame frame;
        rp_result result = rp_frame_read(path, &frame);
        assert_true(result == RP_OK || result == RP_BAD_FILE);
        refusals += result != RP_OK;
        rp_frame_free(&frame);
        assert_int_equal(rp_memory_in_use(), base);
    }
    assert_true(refusals > 20 && (!sealed || refusals == tries));
}

static void test_flipped(void **state)
{
    (void)state;
    sample s;
    make_sample(&s, 5);
    char path[128], *data;
    size_t size;
    strcpy(path, in_folder("flip.vtkhdf"));
    assert_int_equal(rp__io_frame_write(&s.frame, path, false), RP_OK);
    assert_int_equal(rp__file_read(path, 1 << 20, &data, &size), RP_OK);
    read_flipped(path, data, size, true);
    read_flipped(path, data, size, false);
    rp__base_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_full_disk),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bomb),       cmocka_unit_test(test_flipped),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
