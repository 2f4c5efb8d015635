/* The reader of HDF5 against the library on what that writes, and against files that are cut, changed, or made to mislead. */
#include "base/error.h"
#include "base/memory.h"
#include "folder_tests.h"
#include "hdf5/read_all.h"
#include "math/random.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- files of the library ---- */

typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

/* low: H5F_LIBVER_EARLIEST for the older structures, H5F_LIBVER_V18 for newer ones, H5F_LIBVER_V110 for the newest. */
static hid_t begin_file(H5F_libver_t low)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, low, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(in_folder("library.hdf5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    assert_true(file >= 0);
    return file;
}

static image end_file(hid_t file)
{
    H5Fclose(file);
    FILE *stream = fopen(in_folder("library.hdf5"), "rb");
    assert_true(stream && fseek(stream, 0, SEEK_END) == 0);
    image i = { .size = (size_t)ftell(stream) };
    i.bytes = malloc(i.size);
    rewind(stream);
    assert_int_equal(fread(i.bytes, 1, i.size, stream), i.size);
    fclose(stream);
    return i;
}

enum { PLAIN, COMPACT, CHUNKS, SHUFFLED, PACKED, SUMMED, ALL_THREE, WAYS };

static hid_t properties_of(int way, int axes)
{
    static const hsize_t chunk[3] = { 5, 3, 2 };
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    if (way == COMPACT)
        H5Pset_layout(p, H5D_COMPACT);
    if (way >= CHUNKS)
        H5Pset_chunk(p, axes, chunk);
    if (way == SHUFFLED || way == ALL_THREE)
        H5Pset_shuffle(p);
    if (way == PACKED || way == ALL_THREE)
        H5Pset_deflate(p, 6);
    if (way == SUMMED || way == ALL_THREE)
        H5Pset_fletcher32(p);
    return p;
}

static void put_array(hid_t where, const char *name, hid_t type, int axes, const hsize_t *dims, int way, const void *data)
{
    hid_t space = axes ? H5Screate_simple(axes, dims, NULL) : H5Screate(H5S_SCALAR), p = properties_of(way, axes);
    hid_t set = H5Dcreate2(where, name, type, space, H5P_DEFAULT, p, H5P_DEFAULT);
    assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set), H5Sclose(space), H5Pclose(p);
}

/* ---- arrays of every kind ---- */

static hid_t type_of(int k)
{
    const hid_t types[] = { H5T_STD_I8LE,  H5T_STD_U8LE,  H5T_STD_I16LE, H5T_STD_I16BE, H5T_STD_U16BE,  H5T_STD_I32LE,  H5T_STD_I32BE,
                            H5T_STD_U32LE, H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE,
                            H5T_IEEE_F64BE };
    return k < (int)(sizeof types / sizeof *types) ? types[k] : -1;
}

static const hsize_t extents[3] = { 13, 4, 3 };

static void put_every_kind(hid_t file)
{
    static double numbers[256];
    for (int k = 0; k < 256; k++)
        numbers[k] = floor(200 * rp__random_unit(1, 2, (uint64_t)k) - 60) + (k % 7 == 0 ? 0.25 : 0);
    for (int k = 0; type_of(k) >= 0; k++) {
        char name[32];
        snprintf(name, sizeof name, "type%02d", k);
        hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        for (int axes = 0; axes <= 3; axes++)
            for (int way = 0; way < WAYS; way++) {
                if (axes == 0 && way >= CHUNKS)
                    continue;
                snprintf(name, sizeof name, "%d", axes);
                hid_t inner = way ? H5Gopen2(group, name, H5P_DEFAULT) : H5Gcreate2(group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                snprintf(name, sizeof name, "way%d", way);
                char converted[256 * 8];
                memcpy(converted, numbers, sizeof converted);
                assert_true(H5Tconvert(H5T_NATIVE_DOUBLE, type_of(k), 256, converted, NULL, H5P_DEFAULT) >= 0);
                put_array(inner, name, type_of(k), axes, extents, way, converted);
                H5Gclose(inner);
            }
        H5Gclose(group);
    }
}

static void same_as_the_library(hid_t library, rp__hdf5_file *file, const char *path)
{
    static double theirs[256], ours[256];
    const hid_t memory[4] = { [RP_F64] = H5T_NATIVE_DOUBLE, [RP_F32] = H5T_NATIVE_FLOAT, [RP_I64] = H5T_NATIVE_INT64, [RP_I32] = H5T_NATIVE_INT32 };
    rp__hdf5_array array;
    uint64_t object;
    if (rp__hdf5_find(file, file->root, path, &object) != RP_OK || rp__hdf5_describe(file, object, &array) != RP_OK ||
        rp__hdf5_load(file, &array) != RP_OK)
        fail_msg("%s: %s", path, rp_last_error());
    hid_t set = H5Dopen2(library, path, H5P_DEFAULT), space = H5Dget_space(set);
    assert_int_equal(array.axes, H5Sget_simple_extent_ndims(space));
    assert_int_equal(array.count, H5Sget_simple_extent_npoints(space));
    for (int k = 0; k < array.axes; k++)
        assert_int_equal(array.dims[k], extents[k]);
    for (int type = 0; type < 4; type++) {
        memset(ours, 0, sizeof ours);
        memset(theirs, 0, sizeof theirs);
        assert_true(H5Dread(set, memory[type], H5S_ALL, H5S_ALL, H5P_DEFAULT, theirs) >= 0);
        size_t width = type == RP_F64 || type == RP_I64 ? 8 : 4, half = (size_t)array.count / 2;
        rp__hdf5_numbers(&array, 0, half, (rp_type)type, ours);
        rp__hdf5_numbers(&array, half, array.count - half, (rp_type)type, (char *)ours + half * width);
        if (memcmp(ours, theirs, sizeof ours) != 0)
            fail_msg("%s differs as type %d", path, type);
    }
    H5Sclose(space), H5Dclose(set);
    rp__hdf5_release(&array);
}

static hid_t open_with_library(void)
{
    hid_t file = H5Fopen(in_folder("library.hdf5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void test_every_kind(void **state)
{
    (void)state;
    hid_t writing = begin_file(H5F_LIBVER_EARLIEST);
    put_every_kind(writing);
    image i = end_file(writing);
    hid_t library = open_with_library();
    rp__hdf5_file file;
    assert_int_equal(rp__hdf5_open(i.bytes, i.size, &file), RP_OK);
    int compared = 0;
    for (int k = 0; type_of(k) >= 0; k++)
        for (int axes = 0; axes <= 3; axes++)
            for (int way = 0; way < (axes ? WAYS : CHUNKS); way++, compared++) {
                char path[64];
                snprintf(path, sizeof path, "type%02d/%d/way%d", k, axes, way);
                same_as_the_library(library, &file, path);
            }
    assert_int_equal(compared, 15 * (2 + 3 * WAYS));
    H5Fclose(library);
    free(i.bytes);
    assert_int_equal(rp_memory_in_use(), 0);
}

/* The newer structures, as far as they are read: heads with checksums, links in the head of a group, arrays in one piece. */
static image newer_file(void)
{
    static const double numbers[52];
    hid_t writing = begin_file(H5F_LIBVER_V18);
    put_array(writing, "plain", H5T_IEEE_F64LE, 2, extents, PLAIN, numbers);
    hid_t group = H5Gcreate2(writing, "a group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_array(group, "compact", H5T_STD_I16BE, 1, extents, COMPACT, numbers);
    H5Gclose(group);
    return end_file(writing);
}

static void test_newer_files(void **state)
{
    (void)state;
    image i = newer_file();
    assert_true(i.bytes[8] >= 2);
    hid_t library = open_with_library();
    rp__hdf5_file file;
    assert_int_equal(rp__hdf5_open(i.bytes, i.size, &file), RP_OK);
    same_as_the_library(library, &file, "plain");
    same_as_the_library(library, &file, "/a group/compact");
    H5Fclose(library);
    /* every byte of its heads is under a checksum */
    int refused = 0, at = 0;
    for (; at < 48; at++) {
        i.bytes[at] ^= 0x10;
        refused += rp__hdf5_open(i.bytes, i.size, &file) == RP_BAD_FILE;
        i.bytes[at] ^= 0x10;
    }
    assert_int_equal(refused, 48);
    free(i.bytes);

    /* what is not read is refused by name */
    hid_t writing = begin_file(H5F_LIBVER_V110);
    static const double numbers[256];
    put_array(writing, "chunks", H5T_IEEE_F64LE, 1, extents, PACKED, numbers);
    hid_t group = H5Gcreate2(writing, "many", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < 20; k++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", k);
        put_array(group, name, H5T_STD_I32LE, 0, NULL, PLAIN, numbers);
    }
    H5Gclose(group);
    i = end_file(writing);
    uint64_t object;
    rp__hdf5_array array;
    assert_int_equal(rp__hdf5_open(i.bytes, i.size, &file), RP_OK);
    assert_int_equal(rp__hdf5_find(&file, file.root, "chunks", &object), RP_OK);
    assert_int_equal(rp__hdf5_describe(&file, object, &array), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "chunks are kept in the newer form of HDF5 is not read here; h5repack"));
    assert_int_equal(rp__hdf5_find(&file, file.root, "many/n1", &object), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "h5repack"));
    free(i.bytes);
}

/* ---- groups, attributes, texts ---- */

static void put_attribute(hid_t where, const char *name, hid_t type, const void *data)
{
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(a >= 0 && H5Awrite(a, type, data) >= 0);
    H5Aclose(a), H5Sclose(space);
}

enum { LINKS = 700, ATTRIBUTES = 40 };

static image group_file(void)
{
    hid_t writing = begin_file(H5F_LIBVER_EARLIEST), group = H5Gcreate2(writing, "many", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < LINKS; k++) { /* enough for a tree of two levels */
        char name[16];
        snprintf(name, sizeof name, "n%d", k * 7919 % LINKS);
        const int32_t value = k * 7919 % LINKS;
        put_array(group, name, H5T_STD_I32LE, 0, NULL, PLAIN, &value);
    }
    H5Lcreate_soft("/many/n1", writing, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.hdf5", "/", writing, "external", H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < ATTRIBUTES; k++) { /* more than the head of an object has room for */
        char name[32];
        snprintf(name, sizeof name, "attribute number %d", k);
        const double value = k / 3.0;
        put_attribute(group, name, H5T_IEEE_F64BE, &(double){ 0 });
        H5Adelete(group, name);
        put_attribute(group, name, H5T_IEEE_F64LE, &value);
    }
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 5);
    put_attribute(group, "text", text, "m/s\0\0");
    H5Tset_strpad(text, H5T_STR_NULLPAD);
    put_attribute(group, "full", text, "exact");
    H5Tclose(text);
    H5Gclose(group);
    return end_file(writing);
}

static void test_groups(void **state)
{
    (void)state;
    image i = group_file();
    rp__hdf5_file file;
    rp__hdf5_links links;
    rp__hdf5_array array;
    uint64_t group, object;
    assert_int_equal(rp__hdf5_open(i.bytes, i.size, &file), RP_OK);
    assert_int_equal(rp__hdf5_find(&file, file.root, "/many/", &group), RP_OK);
    assert_int_equal(rp__hdf5_list(&file, group, &links), RP_OK);
    assert_int_equal(links.count, LINKS);
    for (int k = 1; k < LINKS; k++)
        assert_true(strncmp(links.link[k - 1].name, links.link[k].name, 8) < 0);
    rp__hdf5_links_free(&links);
    for (int k = 0; k < LINKS; k += 13) {
        char path[32];
        int32_t value = -1;
        snprintf(path, sizeof path, "many/n%d", k);
        assert_int_equal(rp__hdf5_find(&file, file.root, path, &object), RP_OK);
        assert_int_equal(rp__hdf5_describe(&file, object, &array), RP_OK);
        assert_int_equal(rp__hdf5_load(&file, &array), RP_OK);
        rp__hdf5_numbers(&array, 0, 1, RP_I32, &value);
        assert_int_equal(value, k);
        rp__hdf5_release(&array);
    }
    assert_int_equal(rp__hdf5_find(&file, file.root, "many/n", &object), RP_NOT_FOUND);
    assert_int_equal(rp__hdf5_find(&file, file.root, "soft", &object), RP_NOT_FOUND);
    assert_int_equal(rp__hdf5_find(&file, file.root, "external", &object), RP_NOT_FOUND);
    assert_int_equal(rp__hdf5_find(&file, file.root, "many/n1/x", &object), RP_BAD_FILE); /* no group */
    assert_int_equal(rp__hdf5_describe(&file, group, &array), RP_BAD_FILE);               /* no array */
    for (int k = 0; k < ATTRIBUTES; k++) {
        char name[32];
        double value = -1;
        snprintf(name, sizeof name, "attribute number %d", k);
        assert_int_equal(rp__hdf5_attribute(&file, group, name, &array), RP_OK);
        rp__hdf5_numbers(&array, 0, 1, RP_F64, &value);
        assert_true(value == k / 3.0);
    }
    char text[8], narrow[4];
    assert_int_equal(rp__hdf5_attribute(&file, group, "text", &array), RP_OK);
    assert_int_equal(array.kind, RP_HDF5_TEXT);
    rp__hdf5_text(&array, 0, text, sizeof text);
    assert_string_equal(text, "m/s");
    assert_int_equal(rp__hdf5_attribute(&file, group, "full", &array), RP_OK);
    rp__hdf5_text(&array, 0, text, sizeof text);
    rp__hdf5_text(&array, 0, narrow, sizeof narrow);
    assert_string_equal(text, "exact");
    assert_string_equal(narrow, "exa");
    assert_int_equal(rp__hdf5_attribute(&file, group, "nothing", &array), RP_NOT_FOUND);
    free(i.bytes);
}

/* Ends of the ranges, and what is no number. */
static void test_conversions(void **state)
{
    (void)state;
    static const double reals[] = { 1e300, -1e300, NAN, 2147483648.0, -2147483649.0, 1.9, -1.9, 0 };
    static const uint64_t wholes[] = { UINT64_MAX, 1ull << 63, 5 };
    rp__hdf5_array a = { .kind = RP_HDF5_REAL, .width = 8, .count = 8, .bytes = (const unsigned char *)reals };
    rp__hdf5_array b = { .kind = RP_HDF5_INTEGER, .width = 8, .count = 3, .bytes = (const unsigned char *)wholes };
    int64_t wide[8];
    int32_t narrow[8];
    rp__hdf5_numbers(&a, 0, 8, RP_I64, wide);
    rp__hdf5_numbers(&a, 0, 8, RP_I32, narrow);
    assert_true(wide[0] == INT64_MAX && wide[1] == INT64_MIN && wide[2] == 0 && wide[3] == 2147483648ll && wide[5] == 1 && wide[6] == -1);
    assert_true(narrow[0] == INT32_MAX && narrow[1] == INT32_MIN && narrow[2] == 0 && narrow[3] == INT32_MAX && narrow[4] == INT32_MIN);
    rp__hdf5_numbers(&b, 0, 3, RP_I64, wide);
    assert_true(wide[0] == INT64_MAX && wide[1] == INT64_MAX && wide[2] == 5);
}

/* ---- files that mislead ---- */

static unsigned char *find_bytes(const image *i, const char *what, int nth)
{
    for (size_t k = 0; k + 4 <= i->size; k++)
        if (memcmp(i->bytes + k, what, 4) == 0 && nth-- == 0)
            return i->bytes + k;
    return NULL;
}

static void put_place(unsigned char *at, uint64_t place)
{
    for (int k = 0; k < 8; k++)
        at[k] = (unsigned char)(place >> 8 * k);
}

static image small_file(void)
{
    static double numbers[52];
    for (int k = 0; k < 52; k++)
        numbers[k] = k;
    hid_t writing = begin_file(H5F_LIBVER_EARLIEST);
    put_array(writing, "one", H5T_IEEE_F64LE, 2, extents, PLAIN, numbers);
    put_array(writing, "two", H5T_IEEE_F64LE, 2, extents, PLAIN, numbers);
    put_array(writing, "packed", H5T_IEEE_F64LE, 2, extents, ALL_THREE, numbers);
    hid_t text = H5Tcopy(H5T_C_S1), set = H5Dopen2(writing, "two", H5P_DEFAULT);
    put_attribute(set, "unit", text, "m");
    H5Tclose(text), H5Dclose(set);
    return end_file(writing);
}

/* The tree of the root is replaced by a node of 100 children, all of which are the node itself, or all the one table of links. */
static void mislead(const image *i, bool itself)
{
    image longer = { calloc(i->size + 4096, 1), i->size + 4096 };
    memcpy(longer.bytes, i->bytes, i->size);
    put_place(longer.bytes + 40, longer.size); /* the end that the head tells */
    unsigned char *tree = find_bytes(&longer, "TREE", 0), *node = longer.bytes + i->size, place[8];
    uint64_t table = (uint64_t)(find_bytes(&longer, "SNOD", 0) - longer.bytes);
    assert_non_null(tree);
    memcpy(node, tree, 24);
    node[5] = itself;
    node[6] = 100;
    for (int k = 0; k < 100; k++)
        put_place(node + 24 + 16 * k + 8, itself ? i->size : table);
    int led = 0;
    put_place(place, (uint64_t)(tree - longer.bytes));
    for (size_t k = 0; k + 8 < i->size; k++)
        if (memcmp(longer.bytes + k, place, 8) == 0) {
            put_place(longer.bytes + k, i->size);
            led++;
        }
    assert_true(led > 0);
    rp__hdf5_file file;
    rp__hdf5_links links;
    assert_int_equal(rp__hdf5_open(longer.bytes, longer.size, &file), RP_OK);
    assert_int_equal(rp__hdf5_list(&file, file.root, &links), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), itself ? "no tree of links" : "lead in a circle"));
    free(longer.bytes);
}

/* Ways that would not end, and one array read from the same bytes again and again. */
static void test_circles(void **state)
{
    (void)state;
    image i = small_file();
    assert_int_equal(read_all(i.bytes, i.size), 3);
    mislead(&i, true);
    mislead(&i, false);
    rp__hdf5_file file;
    rp__hdf5_array one, again;
    uint64_t object;
    assert_int_equal(rp__hdf5_open(i.bytes, i.size, &file), RP_OK);
    assert_int_equal(rp__hdf5_find(&file, file.root, "one", &object), RP_OK);
    assert_int_equal(rp__hdf5_describe(&file, object, &one), RP_OK);
    rp_result result = RP_OK;
    int loads = 0;
    for (; result == RP_OK; loads++) {
        again = one;
        result = rp__hdf5_load(&file, &again);
    }
    assert_int_equal(result, RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "overlap"));
    assert_true((size_t)loads <= i.size / (52 * 8) + 1);
    free(i.bytes);
}

/* Every byte changed in five ways, and every cut: refused or read, with nothing kept and little asked for. */
static void test_changed(void **state)
{
    (void)state;
    image files[] = { small_file(), newer_file() };
    int refused = 0, tried = 0;
    for (int f = 0; f < 2; f++) {
        image i = files[f];
        size_t before = rp_memory_peak();
        for (size_t k = 0; k < i.size; k++) {
            unsigned char old = i.bytes[k];
            const unsigned char ways[] = { (unsigned char)~old, (unsigned char)(old + 1), (unsigned char)(old - 1), 0x80, 0xff };
            for (int w = 0; w < 5; w++, tried++) {
                i.bytes[k] = ways[w];
                refused += read_all(i.bytes, i.size) < 2 + (f == 0);
            }
            i.bytes[k] = old;
        }
        for (size_t k = 0; k < i.size; k++) {
            unsigned char *cut = malloc(k ? k : 1); /* of its own, so that a sanitizer sees what is beyond */
            memcpy(cut, i.bytes, k);
            assert_int_equal(read_all(cut, k), -1);
            free(cut);
        }
        assert_true(rp_memory_peak() <= before + 2000 * i.size);
        assert_int_equal(rp_memory_in_use(), 0);
        free(i.bytes);
    }
    assert_true(refused > 1000 && refused < tried);
}

/* A chunk that does not agree with its sum is refused. */
static void test_sums(void **state)
{
    (void)state;
    static double numbers[256];
    hid_t writing = begin_file(H5F_LIBVER_EARLIEST);
    for (int k = 0; k < 256; k++)
        numbers[k] = k + 0.125;
    put_array(writing, "summed", H5T_IEEE_F64LE, 1, &(hsize_t){ 13 }, SUMMED, numbers);
    image i = end_file(writing);
    unsigned char *held = NULL;
    for (size_t k = 0; k + 8 <= i.size && !held; k++)
        if (memcmp(i.bytes + k, &numbers[7], 8) == 0)
            held = i.bytes + k;
    assert_non_null(held);
    assert_int_equal(read_all(i.bytes, i.size), 1);
    held[6] ^= 1;
    assert_int_equal(read_all(i.bytes, i.size), 0);
    free(i.bytes);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    image i = small_file();
    int whole = 0;
    for (int64_t nth = 1; whole < 3; nth++) {
        rp__base_fail_allocation(nth);
        whole = read_all(i.bytes, i.size);
        rp__base_fail_allocation(0);
        assert_int_equal(rp_memory_in_use(), 0);
        assert_true(nth < 200);
    }
    free(i.bytes);
}

static int set_up(void **state)
{
    (void)state;
    return folder_make("test_hdf5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind), cmocka_unit_test(test_newer_files), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_circles), cmocka_unit_test(test_changed),
        cmocka_unit_test(test_sums), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
