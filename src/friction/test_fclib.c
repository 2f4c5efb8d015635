/* FCLIB files: real ones solved, round trips, and a folder of hostile ones made on the spot. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "friction/fclib.h"
#include "math/random.h"

#include <dirent.h>
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/repose_fclib_XXXXXX";

static const char *const small[] = { "Rover4613.hdf5", "OneObject-i100000-316.hdf5", "FrictionContactProblem00237.hdf5",
                                     "Box_Stacks-i0122-82-5.hdf5", "HeavyOnLight-ndof-144-nc-48-0.hdf5",
                                     "ColumnCollapse-ndof-124-nc-73-1.hdf5" };
enum { SMALL = sizeof small / sizeof *small };

static const char *small_path(int k)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/fclib/%s", RP_SOURCE_DIR, small[k]);
    return path;
}

static const char *scratch(const char *name)
{
    static char path[4][4096]; /* the last four stay valid */
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Reads, solves at both tolerances; the residual is computed again from the numbers of the problem alone. */
static void solve_well(const char *path, double tolerance, double seconds)
{
    rp_friction *p = NULL;
    if (rp_friction_read(path, &p) != RP_OK)
        fail_msg("%s", rp_last_error());
    int64_t n = p->contacts * p->dimension;
    double *r = calloc((size_t)n, sizeof *r);
    rp_friction_options o = rp_default_friction_options();
    rp_friction_report report;
    o.tolerance = tolerance;
    o.time_limit = seconds;
    o.threads = 1;
    if (rp_friction_solve(p, &o, r, NULL, &report) != RP_OK)
        fail_msg("%s: %s", path, rp_last_error());
    assert_true(report.residual.mean <= tolerance && report.residual.max <= 10 * tolerance);
    free(r);
    rp_friction_destroy(p);
}

static void test_small_files_solve(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL; k++) {
        solve_well(small_path(k), 1e-4, 60);
        solve_well(small_path(k), 1e-8, 60);
    }
}

static int walk(const char *path, int *count)
{
    DIR *d = opendir(path);
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));) {
        char inner[4096];
        struct stat s;
        if (e->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (stat(inner, &s) == 0 && S_ISDIR(s.st_mode))
            walk(inner, count);
        else if (strstr(e->d_name, ".hdf5")) {
            solve_well(inner, 1e-4, 60);
            ++*count;
        }
    }
    closedir(d);
    return 0;
}

/* The whole collection, where it is at hand beside the source (or in $REPOSE_FCLIB). */
static void test_collection(void **state)
{
    (void)state;
    int count = 0;
    const char *given = getenv("REPOSE_FCLIB");
    char path[4096];
    snprintf(path, sizeof path, "%s", given ? given : RP_SOURCE_DIR "/../shared/data/fclib");
    if (walk(path, &count) != 0) {
        print_message("the collection is not at hand (set REPOSE_FCLIB); skipped\n");
        skip();
    }
    assert_true(count > 0);
    print_message("%d problems of the collection solved\n", count);
}

static void assert_same_problem(const rp_friction *a, const rp_friction *b)
{
    int d = a->dimension;
    int64_t n = a->contacts * d;
    assert_int_equal(a->dimension, b->dimension);
    assert_int_equal(a->contacts, b->contacts);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->dofs, b->dofs);
    assert_memory_equal(a->mu, b->mu, (size_t)a->contacts * sizeof(double));
    assert_memory_equal(a->b, b->b, (size_t)n * sizeof(double));
    double *r = calloc((size_t)n, 8), *ua = calloc((size_t)n, 8), *ub = calloc((size_t)n, 8), *v = calloc((size_t)a->dofs + 1, 8);
    for (int64_t i = 0; i < n; i++)
        r[i] = rp__random_normal(2, 2, (uint64_t)i);
    rp__friction_multiply(a, r, v, ua);
    rp__friction_multiply(b, r, v, ub);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(ua[i] - ub[i]) <= 1e-13 * (fabs(ua[i]) + a->norm[i / d]));
    free(r), free(ua), free(ub), free(v);
}

static void read_back(const char *path, const char *name, int64_t wanted, double *values)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    assert_true(file >= 0 && set >= 0);
    assert_int_equal(H5Sget_simple_extent_npoints(space), wanted);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space), H5Dclose(set), H5Fclose(file);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int k = 0; k < SMALL; k++) {
        rp_friction *p = NULL, *q = NULL;
        assert_int_equal(rp_friction_read(small_path(k), &p), RP_OK);
        int64_t n = p->contacts * p->dimension;
        double *r = calloc((size_t)n, 8), *u = calloc((size_t)n, 8), *back = calloc((size_t)n, 8);
        rp_friction_options o = rp_default_friction_options();
        assert_int_equal(rp_friction_solve(p, &o, r, u, NULL), RP_OK);
        assert_int_equal(rp_friction_write(p, scratch("copy.hdf5"), r, u), RP_OK);
        assert_int_equal(rp_friction_read(scratch("copy.hdf5"), &q), RP_OK);
        assert_same_problem(p, q);
        assert_string_equal(rp_friction_get_info(p).title, rp_friction_get_info(q).title);
        rp_friction_destroy(q);
        /* the copy of the file with the answer: the problem in it is untouched */
        assert_int_equal(rp_friction_write_solution(p, small_path(k), scratch("solved.hdf5"), r, u), RP_OK);
        assert_int_equal(rp_friction_read(scratch("solved.hdf5"), &q), RP_OK);
        assert_same_problem(p, q);
        read_back(scratch("solved.hdf5"), "solution/r", n, back);
        assert_memory_equal(back, r, (size_t)n * 8);
        read_back(scratch("solved.hdf5"), "solution/u", n, back);
        assert_memory_equal(back, u, (size_t)n * 8);
        /* and again over the one just written: the solution is replaced */
        assert_int_equal(rp_friction_write_solution(p, scratch("solved.hdf5"), scratch("solved.hdf5"), u, r), RP_OK);
        read_back(scratch("solved.hdf5"), "solution/r", n, back);
        assert_memory_equal(back, u, (size_t)n * 8);
        free(r), free(u), free(back);
        rp_friction_destroy(p), rp_friction_destroy(q);
    }
}

/* A solved copy keeps what else is in the file: attributes, guesses, numbers in another order of bytes; a damaged one is refused. */
static void test_solved_copy(void **state)
{
    (void)state;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_read(small_path(0), &p), RP_OK);
    size_t n = (size_t)(p->contacts * p->dimension), size;
    double *r = calloc(n, 8), values[3] = { 1, -2, 1.0 / 3 }, back[3];
    int16_t rank = 7, found = 0;
    char *data;
    assert_int_equal(rp_friction_write(p, scratch("good.hdf5"), NULL, NULL), RP_OK);
    hid_t file = H5Fopen(scratch("good.hdf5"), H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gcreate2(file, "guesses", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, (hsize_t[]){ 3 }, NULL), one = H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(group, "first", H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t attribute = H5Acreate2(set, "rank", H5T_STD_I16BE, one, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0 && H5Awrite(attribute, H5T_NATIVE_INT16, &rank) >= 0);
    H5Aclose(attribute), H5Dclose(set), H5Sclose(one), H5Sclose(space), H5Gclose(group), H5Fclose(file);
    assert_int_equal(rp_friction_write_solution(p, scratch("good.hdf5"), scratch("solved.hdf5"), r, r), RP_OK);
    read_back(scratch("solved.hdf5"), "guesses/first", 3, back);
    assert_memory_equal(back, values, sizeof back);
    file = H5Fopen(scratch("solved.hdf5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    attribute = H5Aopen_by_name(file, "guesses/first", "rank", H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Aread(attribute, H5T_NATIVE_INT16, &found) >= 0);
    assert_int_equal(found, rank);
    H5Aclose(attribute), H5Fclose(file);
    assert_int_equal(rp__file_read(scratch("good.hdf5"), 1 << 24, &data, &size), RP_OK);
    data[size / 2] = '\0';
    FILE *stream = fopen(scratch("bad.hdf5"), "wb");
    assert_int_equal(fwrite(data, 1, size / 2, stream), size / 2);
    fclose(stream);
    assert_int_equal(rp_friction_write_solution(p, scratch("bad.hdf5"), scratch("copy.hdf5"), r, r), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "bad.hdf5: damaged HDF5: it is cut short"));
    rp__base_free(data);
    free(r);
    rp_friction_destroy(p);
}

/* ---- Hostile files -------------------------------------------------------------------------------------------------------- */

/* One contact in dimension 2, with a place to break it. */
typedef struct hostile {
    const char *what, *expected;        /* expected: a word of the refusal */
    const char *dataset;                /* replaced by ... */
    int64_t length;                     /* ... this many numbers (-1: left out) */
    double values[5];
    bool text;                          /* a text in its place */
    bool wide;                          /* claimed without being written */
} hostile;

static void put(hid_t file, const char *name, int64_t length, const double *values, bool real, const hostile *h)
{
    hsize_t size = (hsize_t)length;
    bool broken = h && strcmp(h->dataset, name) == 0;
    if (broken && h->length < 0)
        return;
    if (broken) {
        size = (hsize_t)h->length;
        values = h->values;
    }
    hid_t links = H5Pcreate(H5P_LINK_CREATE), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t type = H5Tcopy(broken && h->text ? H5T_C_S1 : real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64);
    if (broken && h->wide) {
        hsize_t chunk = 1024;
        H5Pset_chunk(creation, 1, &chunk);
    }
    hid_t space = H5Screate_simple(1, &size, NULL), set = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
    assert_true(set >= 0);
    if (size <= 16 && !(broken && h->text))
        H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set), H5Sclose(space), H5Tclose(type), H5Pclose(links), H5Pclose(creation);
}

static void write_hostile(const char *path, const hostile *h)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "fclib_local/spacedim", 1, (double[]){ 2 }, false, h);
    put(file, "fclib_local/W/m", 1, (double[]){ 2 }, false, h);
    put(file, "fclib_local/W/n", 1, (double[]){ 2 }, false, h);
    put(file, "fclib_local/W/nz", 1, (double[]){ -2 }, false, h);
    put(file, "fclib_local/W/p", 3, (double[]){ 0, 2, 4 }, false, h);
    put(file, "fclib_local/W/i", 4, (double[]){ 0, 1, 0, 1 }, false, h);
    put(file, "fclib_local/W/x", 4, (double[]){ 2, 0.5, 0.5, 1 }, true, h);
    put(file, "fclib_local/vectors/q", 2, (double[]){ -1, 1 }, true, h);
    put(file, "fclib_local/vectors/mu", 1, (double[]){ 0.5 }, true, h);
    H5Fclose(file);
}

static void test_hostile_contents(void **state)
{
    (void)state;
    static const hostile list[] = {
        { "no dimension", "spacedim", "fclib_local/spacedim", -1, { 0 }, 0, 0 },
        { "dimension 4", "spacedim", "fclib_local/spacedim", 1, { 4 }, 0, 0 },
        { "dimension -3", "spacedim", "fclib_local/spacedim", 1, { -3 }, 0, 0 },
        { "three dimensions", "spacedim", "fclib_local/spacedim", 3, { 2, 2, 2 }, 0, 0 },
        { "dimension as text", "spacedim", "fclib_local/spacedim", 1, { 0 }, 1, 0 },
        { "no W/x", "fclib_local/W/x", "fclib_local/W/x", -1, { 0 }, 0, 0 },
        { "no mu", "vectors/mu", "fclib_local/vectors/mu", -1, { 0 }, 0, 0 },
        { "two mu", "vectors/q", "fclib_local/vectors/mu", 2, { 0.5, 0.5 }, 0, 0 },
        { "short q", "vectors/q", "fclib_local/vectors/q", 1, { 1 }, 0, 0 },
        { "negative mu", "mu of contact 0", "fclib_local/vectors/mu", 1, { -1 }, 0, 0 },
        { "mu NaN", "mu of contact 0", "fclib_local/vectors/mu", 1, { NAN }, 0, 0 },
        { "q infinite", "contact 0", "fclib_local/vectors/q", 2, { INFINITY, 0 }, 0, 0 },
        { "W of 3 rows", "fclib_local/W", "fclib_local/W/m", 1, { 3 }, 0, 0 },
        { "W of 10^12 rows", "fclib_local/W/m", "fclib_local/W/m", 1, { 1e12 }, 0, 0 },
        { "W of -2 rows", "fclib_local/W/m", "fclib_local/W/m", 1, { -2 }, 0, 0 },
        { "storage -7", "fclib_local/W/nz", "fclib_local/W/nz", 1, { -7 }, 0, 0 },
        { "more entries than arrays", "fclib_local/W/nz", "fclib_local/W/nz", 1, { 9 }, 0, 0 },
        { "pointers backwards", "fclib_local/W/p", "fclib_local/W/p", 3, { 0, 4, 2 }, 0, 0 },
        { "pointers too far", "fclib_local/W/p", "fclib_local/W/p", 3, { 0, 2, 400 }, 0, 0 },
        { "pointers from 1", "fclib_local/W/p", "fclib_local/W/p", 3, { 1, 2, 4 }, 0, 0 },
        { "too few pointers", "fclib_local/W/p", "fclib_local/W/p", 2, { 0, 2 }, 0, 0 },
        { "index out of range", "fclib_local/W/i", "fclib_local/W/i", 4, { 0, 1, 0, 7 }, 0, 0 },
        { "negative index", "fclib_local/W/i", "fclib_local/W/i", 4, { 0, -1, 0, 1 }, 0, 0 },
        { "W NaN", "fclib_local/W/x", "fclib_local/W/x", 4, { 2, NAN, 0.5, 1 }, 0, 0 },
        { "W empty", "diagonal block 0", "fclib_local/W/x", 4, { 0, 0, 0, 0 }, 0, 0 },
        { "W asymmetric", "diagonal block 0", "fclib_local/W/x", 4, { 2, 0.9, 0.1, 1 }, 0, 0 },
        { "W negative", "diagonal block 0", "fclib_local/W/x", 4, { 2, 0, 0, -1 }, 0, 0 },
        { "10^12 contacts", "vectors/mu", "fclib_local/vectors/mu", 1000000000000, { 0 }, 0, 1 },
        { "2·10^9 contacts never written", "vectors/mu", "fclib_local/vectors/mu", 2000000000, { 0 }, 0, 1 },
        { "10^12 entries", "fclib_local/W/x", "fclib_local/W/x", 1000000000000, { 0 }, 0, 1 },
    };
    size_t most = rp_memory_peak();
    write_hostile(scratch("good.hdf5"), NULL);
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_read(scratch("good.hdf5"), &p), RP_OK);
    rp_friction_destroy(p);
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        p = NULL;
        write_hostile(scratch("bad.hdf5"), &list[k]);
        rp_result result = rp_friction_read(scratch("bad.hdf5"), &p);
        if (result == RP_OK || !strstr(rp_last_error(), list[k].expected) || !strstr(rp_last_error(), "bad.hdf5"))
            fail_msg("%s: result %s, \"%s\"", list[k].what, rp_result_name(result), rp_last_error());
        assert_null(p);
    }
    assert_true(rp_memory_peak() < most + ((size_t)1 << 26)); /* nobody was believed about 10^12 */
    assert_true(rp_memory_in_use() < ((size_t)1 << 20));
}

static void test_foreign_and_truncated(void **state)
{
    (void)state;
    rp_friction *p = NULL;
    assert_int_equal(rp_friction_read(scratch("nothing.hdf5"), &p), RP_NOT_FOUND);
    assert_int_equal(rp__file_write_text(scratch("text.hdf5"), "this is not HDF5"), RP_OK);
    assert_int_equal(rp_friction_read(scratch("text.hdf5"), &p), RP_BAD_FILE);
    hid_t file = H5Fcreate(scratch("foreign.hdf5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    assert_int_equal(rp_friction_read(scratch("foreign.hdf5"), &p), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "fclib_local"));
    file = H5Fcreate(scratch("rolling.hdf5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "fclib_global_rolling", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    assert_int_equal(rp_friction_read(scratch("rolling.hdf5"), &p), RP_UNSUPPORTED);
    assert_non_null(strstr(rp_last_error(), "rolling friction"));
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(rp__file_read(small_path(0), 1 << 24, &data, &size), RP_OK);
    for (size_t part = 1; part < 40; part++) { /* every cut is refused, none crashes */
        p = NULL;
        if (rp__friction_read_image(data, size * part / 40, "image", &p) == RP_OK)
            fail_msg("a file cut to %zu of %zu bytes was read", size * part / 40, size);
        assert_null(p);
    }
    assert_int_equal(rp__friction_read_image(data, size, "image", &p), RP_OK);
    rp_friction_destroy(p);
    rp__base_free(data);
}

/* Equality constraints are refused by name, with how many there are, and a problem without any is read. */
static void test_equality_constraints(void **state)
{
    (void)state;
    rp_friction *p = NULL;
    for (int k = 0; k < SMALL && !p; k++) {
        assert_int_equal(rp_friction_read(small_path(k), &p), RP_OK);
        if (p->form != RP_FRICTION_GLOBAL) {
            rp_friction_destroy(p);
            p = NULL;
        }
    }
    assert_non_null(p);
    for (int columns = 0; columns <= 2; columns += 2) {
        const char *path = scratch("constraints.hdf5");
        rp_friction *q = NULL;
        double n = columns;
        assert_int_equal(rp_friction_write(p, path, NULL, NULL), RP_OK);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(H5Lexists(file, "fclib_global/G", H5P_DEFAULT) == 0);
        put(file, "fclib_global/G/n", 1, &n, false, NULL);
        H5Fclose(file);
        rp_result result = rp_friction_read(path, &q);
        assert_int_equal(result, columns > 0 ? RP_UNSUPPORTED : RP_OK);
        if (columns > 0)
            assert_non_null(strstr(rp_last_error(), "2 equality constraints"));
        rp_friction_destroy(q);
    }
    rp_friction_destroy(p);
}

/* Bits turned at random: read or refused, never a crash and never a problem with NaN in it. */
static void test_damaged(void **state)
{
    (void)state;
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(rp__file_read(small_path(0), 1 << 24, &data, &size), RP_OK);
    for (uint64_t number = 0; number < 400; number++) {
        size_t at[3];
        char kept[3];
        for (int k = 0; k < 3; k++) {
            at[k] = (size_t)(rp__random_unit(6, number, (uint64_t)k) * (double)size);
            kept[k] = data[at[k]];
            data[at[k]] = (char)rp__random_bits(6, number, 10 + (uint64_t)k);
        }
        rp_friction *p = NULL;
        if (rp__friction_read_image(data, size, "image", &p) == RP_OK) {
            for (int64_t i = 0; i < p->contacts * p->dimension; i++)
                assert_true(isfinite(p->b[i]));
            rp_friction_destroy(p);
        }
        for (int k = 2; k >= 0; k--)
            data[at[k]] = kept[k];
    }
    rp__base_free(data);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (int file = 0; file < SMALL; file += 3) {
        char path[4096];
        snprintf(path, sizeof path, "%s", small_path(file));
        size_t before = rp_memory_in_use();
        bool failed = true;
        for (int64_t nth = 1; failed; nth++) {
            rp_friction *p = NULL;
            rp__base_fail_allocation(nth);
            rp_result result = rp_friction_read(path, &p);
            rp__base_fail_allocation(0);
            failed = result != RP_OK;
            if (failed)
                assert_int_equal(result, RP_OUT_OF_MEMORY);
            rp_friction_destroy(p);
            assert_int_equal(rp_memory_in_use(), before);
            assert_true(nth < 500);
        }
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "copy.hdf5", "solved.hdf5", "constraints.hdf5", "good.hdf5", "bad.hdf5", "text.hdf5", "foreign.hdf5", "rolling.hdf5" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        unlink(scratch(names[k]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_files_solve),     cmocka_unit_test(test_round_trip),            cmocka_unit_test(test_solved_copy),
        cmocka_unit_test(test_hostile_contents),      cmocka_unit_test(test_foreign_and_truncated),
        cmocka_unit_test(test_equality_constraints), cmocka_unit_test(test_damaged),               cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_collection),
    };
    return cmocka_run_group_tests_name("FCLIB files", tests, make_folder, remove_folder);
}
