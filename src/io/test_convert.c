#include "base/memory.h"
#include "base/text.h"
#include "folder_tests.h"
#include "io/convert.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>


static int set_up(void **state)
{
    (void)state;
    return folder_make("test_convert");
}

/* Two particles with one field of each kind; component c of particle i of a tensor is 10 c + i, in our order. */
static void write_sample(const char *path, int64_t index, int64_t count)
{
    static const double position[6] = { 0.1, 1, 2, 3, 4, 5 }, velocity[6] = { 0, 0, 0.5, 0.5, 0, -1 }, volume[2] = { 1, 8 };
    static const double stress[12] = { 0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51 };
    static const float heat[2] = { 0.25f, 1e10f };
    static const int64_t id[2] = { 7, INT64_C(9007199254740992) };
    rp_field_view fields[] = {
        { { "position", RP_F64, 3, "m", 1 }, position, count, 2 }, { { "velocity", RP_F64, 3, "m/s", 1 }, velocity, count, 2 },
        { { "volume", RP_F64, 1, "m3", 1 }, volume, count, 2 },    { { "stress", RP_F64, 6, "Pa", 1 }, stress, count, 2 },
        { { "heat", RP_F32, 1, "K", 1 }, heat, count, 2 },         { { "id", RP_I64, 1, "", 1 }, id, count, 2 },
    };
    rp_frame frame = { .time = (double)index / 10, .index = index, .dim = 3, .cell_size = 1, .frame_rate = 10, .count = count,
                       .fields = fields, .field_count = 6 };
    assert_int_equal(rp__io_frame_write(&frame, path, false), RP_OK);
}

static void file_is(const char *path, const char *expected)
{
    char *text;
    assert_int_equal(rp__file_read(path, 1 << 20, &text, NULL), RP_OK);
    assert_string_equal(text, expected);
    rp__base_free(text);
}

static void test_csv(void **state)
{
    (void)state;
    const char *frame = in_folder("a.vtkhdf"), *csv = in_folder("a.csv");
    write_sample(frame, 3, 2);
    assert_int_equal(rp_convert(frame, csv, NULL), RP_OK);
    file_is(csv, "x,y,z,heat,id,stress_xx,stress_yy,stress_zz,stress_xy,stress_yz,stress_xz,vx,vy,vz,volume\n"
                 "0.1,2,4,0.25,7,0,10,20,30,50,40,0,0.5,0,1\n"
                 "1,3,5,1e+10,9007199254740992,1,11,21,31,51,41,0,0.5,-1,8\n");
}

/* The arrays in the frame file itself stand in the order of VTK. */
static void test_tensor_order(void **state)
{
    (void)state;
    const char *frame = in_folder("t.vtkhdf");
    write_sample(frame, 0, 2);
    double stress[12];
    const double expected[12] = { 0, 10, 20, 30, 50, 40, 1, 11, 21, 31, 51, 41 };
    hid_t file = H5Fopen(frame, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, "/VTKHDF/PointData/stress", H5P_DEFAULT);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, stress) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    assert_memory_equal(stress, expected, sizeof expected);
}

static void test_usda(void **state)
{
    (void)state;
    const char *frame = in_folder("u.vtkhdf"), *usda = in_folder("u.usda");
    write_sample(frame, 3, 2);
    assert_int_equal(rp_convert(frame, usda, NULL), RP_OK);
    file_is(usda, "#usda 1.0\n(\n    defaultPrim = \"particles\"\n    metersPerUnit = 1\n    upAxis = \"Z\"\n    startTimeCode = 3\n"
                  "    endTimeCode = 3\n    timeCodesPerSecond = 10\n    framesPerSecond = 10\n)\n\ndef Points \"particles\"\n{\n"
                  "    float3[] extent = [(-1.14070098, 0.759299018, 2.75929902), (2.24070098, 4.24070098, 6.24070098)]\n"
                  "    point3f[] points = [(0.1, 2, 4), (1, 3, 5)]\n"
                  "    vector3f[] velocities = [(0, 0.5, 0), (0, 0.5, -1)]\n"
                  "    float[] widths = [1.24070098, 2.48140196] (\n        interpolation = \"vertex\"\n    )\n"
                  "    int64[] ids = [7, 9007199254740992]\n}\n");
}

static void test_folder(void **state)
{
    (void)state;
    char run[128];
    strcpy(run, in_folder("run"));
    assert_int_equal(rp__file_make_folder(in_folder("run/frames")), RP_OK);
    for (int64_t i = 0; i < 3; i++) {
        char *path = rp__io_frame_path(run, RP_IO_FRAME_PREFIX, i * 2);
        write_sample(path, i * 2, i); /* the first has no particle */
        rp__base_free(path);
    }
    assert_int_equal(rp_convert(run, in_folder("out/all.csv"), NULL), RP_OK);
    assert_int_equal(access(in_folder("out/all_000000.csv"), F_OK), 0);
    assert_int_equal(access(in_folder("out/all_000004.csv"), F_OK), 0);
    assert_int_equal(rp_convert(run, in_folder("plain"), "ply"), RP_OK);
    assert_int_equal(access(in_folder("plain/frame_000002.ply"), F_OK), 0);
    assert_int_equal(rp_convert(in_folder("run/frames"), in_folder("x&y.pvd"), NULL), RP_OK);
    file_is(in_folder("x&y.pvd"), "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
                                  "  <Collection>\n"
                                  "    <DataSet timestep=\"0\" group=\"\" part=\"0\" file=\"x&amp;y_000000.vtp\"/>\n"
                                  "    <DataSet timestep=\"0.2\" group=\"\" part=\"0\" file=\"x&amp;y_000002.vtp\"/>\n"
                                  "    <DataSet timestep=\"0.4\" group=\"\" part=\"0\" file=\"x&amp;y_000004.vtp\"/>\n"
                                  "  </Collection>\n</VTKFile>\n");
    assert_int_equal(rp_convert(run, in_folder("all.usda"), NULL), RP_OK);
    assert_int_equal(rp_convert(in_folder("out"), in_folder("none.csv"), NULL), RP_NOT_FOUND);
}

static void test_compressed_copy(void **state)
{
    (void)state;
    const char *frame = in_folder("c.vtkhdf"), *copy = in_folder("d.vtkhdf"), *back = in_folder("e.csv"), *csv = in_folder("c.csv");
    write_sample(frame, 1, 2);
    assert_int_equal(rp_convert(frame, copy, NULL), RP_OK);
    assert_int_equal(rp_convert(frame, csv, NULL), RP_OK);
    assert_int_equal(rp_convert(copy, back, NULL), RP_OK);
    char *text;
    assert_int_equal(rp__file_read(csv, 1 << 20, &text, NULL), RP_OK);
    file_is(back, text);
    rp__base_free(text);
}

static void test_refused(void **state)
{
    (void)state;
    const char *frame = in_folder("r.vtkhdf");
    write_sample(frame, 0, 2);
    assert_int_equal(rp_convert(frame, in_folder("r.plyy"), NULL), RP_UNSUPPORTED);
    assert_non_null(strstr(rp_last_error(), "did you mean 'ply'?"));
    assert_int_equal(rp_convert(frame, in_folder("r"), NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp_convert(frame, frame, NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp_convert(in_folder("absent.vtkhdf"), in_folder("r.ply"), NULL), RP_NOT_FOUND);
    assert_int_not_equal(access(in_folder("r.ply"), F_OK), 0);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const kinds[] = { "vtp", "pvd", "ply", "usda", "csv", "npz", "vtkhdf" };
    char frame[128], to[128];
    strcpy(frame, in_folder("m.vtkhdf"));
    write_sample(frame, 0, 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        rp_result result = RP_OUT_OF_MEMORY;
        snprintf(to, sizeof to, "%s/n.%s", folder, kinds[k]);
        for (int64_t n = 1; result != RP_OK && n < 1000; n++) {
            rp__base_fail_allocation(n);
            result = rp_convert(frame, to, NULL);
            rp__base_fail_allocation(0);
            assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
            assert_true((access(to, F_OK) == 0) == (result == RP_OK));
            assert_int_equal(rp_memory_in_use(), 0);
        }
        assert_int_equal(result, RP_OK);
    }
}

static void test_info(void **state)
{
    (void)state;
    char frame[128], *text = NULL;
    strcpy(frame, in_folder("i.vtkhdf"));
    write_sample(frame, 5, 2);
    assert_int_equal(rp_info(frame, true, &text), RP_OK);
    assert_non_null(strstr(text, "\"time\": 0.5,"));
    assert_non_null(strstr(text, "\"particles\": 2,"));
    rp__base_free(text);
    assert_int_equal(rp_info(frame, false, &text), RP_OK);
    assert_non_null(strstr(text, "float64 × 6  0 … 51 Pa"));
    rp__base_free(text);
    assert_int_equal(rp_info(folder, false, &text), RP_NOT_FOUND);
    rp_result result = RP_OUT_OF_MEMORY;
    for (int64_t n = 1; result != RP_OK && n < 1000; n++) {
        rp__base_fail_allocation(n);
        result = rp_info(frame, n % 2, &text);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
    }
    rp__base_free(text);
    assert_int_equal(rp_memory_in_use(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),    cmocka_unit_test(test_tensor_order),    cmocka_unit_test(test_usda),
        cmocka_unit_test(test_folder), cmocka_unit_test(test_compressed_copy), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_info),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
