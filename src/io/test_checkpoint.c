#include "base/error.h"
#include "base/memory.h"
#include "folder_tests.h"
#include "io/io.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static const char scene[] = "domain: [1, 1]\nmethod: ballistic\n";
static const rp__io_checkpoint_info head = { .step = 77, .frame = 5, .time = 0.25 };

static int set_up(void **state)
{
    (void)state;
    return folder_make("test_checkpoint");
}

static rp_state sample_state(int64_t rows)
{
    rp_state state = { 0 };
    double *x = RP_NEW_ARRAY(double, rows);
    for (int64_t i = 0; i < rows; i++)
        x[i] = 1.0 / (double)(i + 1);
    const int64_t clock[3] = { 77, -1, INT64_MAX };
    const int32_t materials[2] = { 1, 2 };
    const float f = 0.5f;
    assert_int_equal(rp_state_add(&state, "particles.position", RP_F64, rows, x), RP_OK);
    assert_int_equal(rp_state_add(&state, "clock", RP_I64, 3, clock), RP_OK);
    assert_int_equal(rp_state_add(&state, "materials", RP_I32, 2, materials), RP_OK);
    assert_int_equal(rp_state_add(&state, "empty", RP_F64, 0, NULL), RP_OK);
    assert_int_equal(rp_state_add(&state, "single", RP_F32, 1, &f), RP_OK);
    rp__base_free(x);
    return state;
}

static void same_state(const rp_state *a, const rp_state *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->blobs[i].name, b->blobs[i].name);
        assert_int_equal(a->blobs[i].type, b->blobs[i].type);
        assert_int_equal(a->blobs[i].count, b->blobs[i].count);
        assert_memory_equal(a->blobs[i].data, b->blobs[i].data, (size_t)a->blobs[i].count * rp__io_type_size(a->blobs[i].type));
    }
}

static void check_whole(const char *path, const rp_state *state)
{
    rp_state back = { 0 };
    char *text = NULL;
    rp__io_checkpoint_info info;
    assert_int_equal(rp__io_checkpoint_load(path, &info, &text, &back), RP_OK);
    assert_string_equal(text, scene);
    assert_true(info.step == 77 && info.frame == 5 && info.time == 0.25 && info.blobs == state->count);
    same_state(state, &back);
    rp__base_free(text);
    rp_state_free(&back);
}

static void test_round_trip(void **unused)
{
    (void)unused;
    rp_state state = sample_state(1000);
    const char *path = in_folder("a.checkpoint");
    assert_int_equal(rp__io_checkpoint_save(path, &head, &state, scene), RP_OK);
    check_whole(path, &state);
    rp_state_free(&state);
    assert_int_equal(rp_memory_in_use(), 0);
}

static rp_result parse(const void *data, size_t size)
{
    rp_state state = { 0 };
    char *text = NULL;
    rp_result result = rp__io_checkpoint_parse(data, size, "x", NULL, &text, &state);
    if (result != RP_OK)
        assert_true(text == NULL && state.count == 0 && state.blobs == NULL);
    rp__base_free(text);
    rp_state_free(&state);
    return result;
}

/* Any single changed bit and any shortened or lengthened file is noticed: nothing in the file is beyond a checksum. */
static void test_damage(void **unused)
{
    (void)unused;
    rp_state state = sample_state(20);
    const char *path = in_folder("d.checkpoint");
    assert_int_equal(rp__io_checkpoint_save(path, &head, &state, scene), RP_OK);
    rp_state_free(&state);
    char *data;
    size_t size;
    int unnoticed = 0;
    assert_int_equal(rp__file_read(path, 1 << 20, &data, &size), RP_OK);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit += 7) {
            data[i] ^= (char)(1 << bit);
            unnoticed += parse(data, size) != RP_BAD_FILE;
            data[i] ^= (char)(1 << bit);
        }
        assert_int_equal(parse(data, i), RP_BAD_FILE);
    }
    assert_int_equal(unnoticed, 0);
    assert_int_equal(parse(data, size + 1), RP_BAD_FILE); /* the reader adds a byte */
    assert_int_equal(parse(data, size), RP_OK);
    rp__base_free(data);
    assert_int_equal(rp_memory_in_use(), 0);
}

/* The files of tests/checkpoints_bad, each with the sentence it must give in NAME.txt. */
static void test_corpus(void **unused)
{
    (void)unused;
    const char *place = RP_SOURCE_DIR "/tests/checkpoints_bad";
    DIR *stream = opendir(place);
    assert_non_null(stream);
    int files = 0;
    for (const struct dirent *item; (item = readdir(stream));) {
        const char *dot = strstr(item->d_name, ".checkpoint");
        if (!dot)
            continue;
        char path[512], message[512], *sentence;
        snprintf(path, sizeof path, "%s/%s", place, item->d_name);
        snprintf(message, sizeof message, "%s/%.*s.txt", place, (int)(dot - item->d_name), item->d_name);
        assert_int_equal(rp__file_read(message, 4096, &sentence, NULL), RP_OK);
        sentence[strcspn(sentence, "\n")] = '\0';
        size_t before = rp_memory_peak();
        rp_state state = { 0 };
        char *text = NULL;
        assert_int_equal(rp_checkpoint_read(path, &text, &state), RP_BAD_FILE);
        if (!strstr(rp_last_error(), sentence))
            fail_msg("%s: '%s' lacks '%s'", item->d_name, rp_last_error(), sentence);
        assert_true(rp_memory_peak() - before < 1 << 20);
        rp__base_free(sentence);
        files++;
    }
    closedir(stream);
    assert_true(files >= 10);
    assert_int_equal(rp_memory_in_use(), 0);
}

static void test_out_of_memory(void **unused)
{
    (void)unused;
    rp_state state = sample_state(10);
    size_t base = rp_memory_in_use();
    const char *path = in_folder("m.checkpoint");
    assert_int_equal(rp__io_checkpoint_save(path, &head, &state, scene), RP_OK);
    rp_result result = RP_OUT_OF_MEMORY;
    int64_t n = 1;
    for (; result != RP_OK && n < 100; n++) {
        rp__base_fail_allocation(n);
        result = rp__io_checkpoint_save(path, &head, &state, scene);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        assert_int_equal(rp_memory_in_use(), base);
        check_whole(path, &state);
    }
    assert_true(result == RP_OK && n > 2);
    result = RP_OUT_OF_MEMORY;
    for (n = 1; result != RP_OK && n < 100; n++) {
        rp_state back = { 0 };
        char *text = NULL;
        rp__base_fail_allocation(n);
        result = rp__io_checkpoint_load(path, NULL, &text, &back);
        rp__base_fail_allocation(0);
        assert_true(result == RP_OK || result == RP_OUT_OF_MEMORY);
        rp__base_free(text);
        rp_state_free(&back);
        assert_int_equal(rp_memory_in_use(), base);
    }
    assert_true(result == RP_OK && n > 5);
    rp_state_free(&state);
}

/* A full disk, met at every stage of the file by a limit on its size: the old checkpoint stays whole. */
static void test_full_disk(void **unused)
{
    (void)unused;
    rp_state small = sample_state(10), large = sample_state(20000);
    const char *path = in_folder("f.checkpoint"), *part = in_folder("f.checkpoint.part");
    assert_int_equal(rp__io_checkpoint_save(path, &head, &small, scene), RP_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    for (rlim_t bytes = 1; bytes < 160000; bytes = bytes * 3 + 1) {
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
        rp_result result = rp__io_checkpoint_save(path, &head, &large, scene);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(result, RP_IO_ERROR);
        assert_non_null(strstr(rp_last_error(), "cannot write"));
        check_whole(path, &small);
        assert_int_not_equal(access(part, F_OK), 0);
    }
    rp_state_free(&small);
    rp_state_free(&large);
}

/* The hook of base/file: the disk is full when the file is synced. */
static void test_failed_commit(void **unused)
{
    (void)unused;
    rp_state small = sample_state(10), other = sample_state(11);
    const char *path = in_folder("g.checkpoint");
    assert_int_equal(rp__io_checkpoint_save(path, &head, &small, scene), RP_OK);
    rp__file_fail_commit(1);
    assert_int_equal(rp__io_checkpoint_save(path, &head, &other, scene), RP_IO_ERROR);
    rp__file_fail_commit(0);
    check_whole(path, &small);
    rp_state_free(&small);
    rp_state_free(&other);
}

static void test_absent(void **unused)
{
    (void)unused;
    assert_int_equal(rp__io_checkpoint_load(in_folder("none"), NULL, NULL, NULL), RP_NOT_FOUND);
    assert_int_equal(rp__io_checkpoint_load(folder, NULL, NULL, NULL), RP_BAD_FILE); /* a folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damage),         cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_failed_commit),
        cmocka_unit_test(test_absent),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
