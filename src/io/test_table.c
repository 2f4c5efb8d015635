#include "base/memory.h"
#include "io/io.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static char path[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(path, "test_table_XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static rp_step_stats row(int64_t step)
{
    return (rp_step_stats){ .step = step, .time = 0.1 * (double)step, .dt = 0.1, .limit = "cfl", .particles = 10, .nodes = 20,
                            .iterations = 3, .residual_mean = 1e-7, .residual_max = 2e-7, .converged = true, .ms_step = 1.5,
                            .phase_count = 1, .phase_name = { "solve" }, .phase_ms = { 1.25 }, .extra_count = 1,
                            .extra_name = { "slip" }, .extra = { 0.5 } };
}

static void file_is(const char *expected)
{
    char *text;
    assert_int_equal(rp__file_read(path, 1 << 20, &text, NULL), RP_OK);
    assert_string_equal(text, expected);
    rp__base_free(text);
}

#define HEADER                                                                                                                   \
    "step,time,dt,limit,particles,nodes,iterations,residual_mean,residual_max,converged,volume_error,kinetic_energy,"            \
    "potential_energy,emitted,removed,outside,clamped,slip,ms_step,ms_solve,ms_other\n"
#define ROW1 "1,0.1,0.1,cfl,10,20,3,1e-07,2e-07,1,0,0,0,0,0,0,0,0.5,1.500,1.250,0.000\n"
#define ROW2 "2,0.2,0.1,cfl,10,20,3,1e-07,2e-07,1,0,0,0,0,0,0,0,,1.500,1.250,0.750\n"

/* Phases and extras that come or go after the first row change neither the header nor the number of cells. */
static void test_rows(void **state)
{
    (void)state;
    rp__io_table table;
    assert_int_equal(rp__io_table_open(&table, path, -1), RP_OK);
    rp_step_stats stats = row(1);
    assert_int_equal(rp__io_stats_row(&table, NULL, &stats), RP_OK);
    file_is(HEADER ROW1); /* there as soon as it is written */
    stats = row(2);
    stats.phase_count = 2;
    stats.phase_name[1] = "emit";
    stats.phase_ms[1] = 0.75;
    stats.extra_name[0] = "new";
    assert_int_equal(rp__io_stats_row(&table, NULL, &stats), RP_OK);
    rp__io_table_close(&table);
    file_is(HEADER ROW1 ROW2);
}

/* The columns of a method are there from the first row on, also when that step had nothing to do. */
static void test_columns_of_the_method(void **state)
{
    (void)state;
    static const char *const extras[] = { "slip", "stick", NULL }, *const phases[] = { "sort", "solve", NULL };
    rp_method_info method = { .name = "some", .extras = extras, .phases = phases };
    rp__io_table table;
    unlink(path);
    assert_int_equal(rp__io_table_open(&table, path, -1), RP_OK);
    rp_step_stats stats = row(1);
    stats.extra_count = stats.phase_count = 0;
    assert_int_equal(rp__io_stats_row(&table, &method, &stats), RP_OK);
    stats = row(2);
    assert_int_equal(rp__io_stats_row(&table, &method, &stats), RP_OK);
    rp__io_table_close(&table);
    file_is("step,time,dt,limit,particles,nodes,iterations,residual_mean,residual_max,converged,volume_error,kinetic_energy,"
            "potential_energy,emitted,removed,outside,clamped,slip,stick,ms_step,ms_sort,ms_solve,ms_other\n"
            "1,0.1,0.1,cfl,10,20,3,1e-07,2e-07,1,0,0,0,0,0,0,0,,,1.500,0.000,0.000,0.000\n"
            "2,0.2,0.1,cfl,10,20,3,1e-07,2e-07,1,0,0,0,0,0,0,0,0.5,,1.500,0.000,1.250,0.000\n");
    unlink(path);
}

static void append(const char *text)
{
    FILE *stream = fopen(path, "ab");
    fputs(text, stream);
    fclose(stream);
}

/* Rows after the step, torn rows and rubbish go; the header is taken from the file. */
static void test_cut(void **state)
{
    (void)state;
    rp__io_table table;
    append("3,0.3,torn");
    assert_int_equal(rp__io_table_open(&table, path, 9), RP_OK);
    rp__io_table_close(&table);
    file_is(HEADER ROW1 ROW2);
    append("rubbish\n");
    assert_int_equal(rp__io_table_open(&table, path, 1), RP_OK);
    file_is(HEADER ROW1);
    rp_step_stats stats = row(2);
    stats.phase_count = 0; /* a resumed run may name its phases later */
    assert_int_equal(rp__io_stats_row(&table, NULL, &stats), RP_OK);
    rp__io_table_close(&table);
    file_is(HEADER ROW1 "2,0.2,0.1,cfl,10,20,3,1e-07,2e-07,1,0,0,0,0,0,0,0,0.5,1.500,0.000,0.000\n");
    assert_int_equal(rp__io_table_open(&table, path, 0), RP_OK);
    rp__io_table_close(&table);
    file_is(HEADER);
    assert_int_equal(truncate(path, 10), 0); /* a torn header */
    assert_int_equal(rp__io_table_open(&table, path, 5), RP_OK);
    rp__io_table_close(&table);
    file_is("");
    assert_int_equal(rp_memory_in_use(), 0);
}

static void test_full_disk(void **state)
{
    (void)state;
    rp__io_table table;
    assert_int_equal(rp__io_table_open(&table, path, -1), RP_OK);
    rp_step_stats stats = row(1);
    assert_int_equal(rp__io_stats_row(&table, NULL, &stats), RP_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = sizeof(HEADER ROW1) + 20;
    setrlimit(RLIMIT_FSIZE, &limit);
    stats = row(2);
    rp_result result = rp__io_stats_row(&table, NULL, &stats);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(result, RP_IO_ERROR);
    assert_non_null(strstr(rp_last_error(), "cannot write"));
    file_is(HEADER ROW1);
    rp__io_table_close(&table);
    file_is(HEADER ROW1);
}

static void test_bodies(void **state)
{
    (void)state;
    assert_int_equal(truncate(path, 0), 0);
    rp__io_table table;
    assert_int_equal(rp__io_table_open(&table, path, -1), RP_OK);
    rp_body_state body = { .position = { 1, 2, 3 }, .orientation = { 1, 0, 0, 0 }, .velocity = { 0.5, 0, 0 },
                           .angular_velocity = { 0, 0, 7 }, .force = { 0, -9.5, 0 }, .torque = { 1, 1, 1 }, .present = true,
                           .fluid_pressure_force = { 0, 2.5, 0 }, .fluid_viscous_force = { 0.25, 0, 0 } };
    assert_int_equal(rp__io_body_row(&table, 4, 0.25, "wheel, \"left\"", &body), RP_OK);
    rp__io_table_close(&table);
    file_is("step,time,body,present,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,fx,fy,fz,tx,ty,tz,px,py,pz,sx,sy,sz\n"
            "4,0.25,\"wheel, \"\"left\"\"\",1,1,2,3,1,0,0,0,0.5,0,0,0,0,7,0,-9.5,0,1,1,1,0,2.5,0,0.25,0,0\n");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    rp_result result = RP_OUT_OF_MEMORY;
    int64_t n = 1;
    for (; result != RP_OK && n < 200; n++) {
        assert_int_equal(truncate(path, 0), 0);
        rp__io_table table = { 0 };
        rp_step_stats stats = row(1);
        rp__base_fail_allocation(n);
        result = rp__io_table_open(&table, path, -1);
        if (result == RP_OK)
            result = rp__io_stats_row(&table, NULL, &stats);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        rp__io_table_close(&table);
        assert_int_equal(rp_memory_in_use(), 0);
    }
    assert_true(result == RP_OK && n > 10);
    file_is(HEADER ROW1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),   cmocka_unit_test(test_cut),           cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_bodies), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_columns_of_the_method),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
