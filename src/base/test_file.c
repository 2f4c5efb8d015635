#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/repose_file_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void assert_holds(const char *path, const char *text)
{
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(rp__file_read(path, 1 << 20, &data, &size), RP_OK);
    assert_int_equal(size, strlen(text));
    assert_string_equal(data, text);
    rp__base_free(data);
}

static void assert_says(const char *words)
{
    if (!strstr(rp_last_error(), words))
        fail_msg("'%s' does not say '%s'", rp_last_error(), words);
}

static void files_appear_whole(void **state)
{
    (void)state;
    char path[256], part[256];
    strcpy(path, in_folder("whole"));
    strcpy(part, in_folder("whole.part"));
    assert_int_equal(rp__file_write_text(path, "old"), RP_OK);
    rp__file file;
    assert_int_equal(rp__file_begin(&file, path), RP_OK);
    fputs("new", file.stream);
    fflush(file.stream);
    assert_holds(path, "old"); /* until the commit */
    assert_holds(part, "new");
    assert_int_equal(rp__file_commit(&file), RP_OK);
    assert_holds(path, "new");
    assert_false(rp__file_exists(part));
    rp__file_drop(&file); /* harmless */
    assert_int_equal(rp__file_begin(&file, path), RP_OK);
    fputs("half", file.stream);
    rp__file_drop(&file);
    assert_holds(path, "new");
    assert_false(rp__file_exists(part));
    rp__file zero = { 0 };
    rp__file_drop(&zero);
}

static void a_library_may_write_the_part(void **state)
{
    (void)state;
    rp__file file;
    assert_int_equal(rp__file_begin_path(&file, in_folder("path")), RP_OK);
    assert_null(file.stream);
    assert_false(rp__file_exists(file.part));
    FILE *stream = fopen(file.part, "wb");
    fputs("by hand", stream);
    fclose(stream);
    assert_int_equal(rp__file_commit(&file), RP_OK);
    assert_holds(in_folder("path"), "by hand");
    assert_int_equal(rp__file_begin_path(&file, in_folder("never")), RP_OK);
    assert_int_equal(rp__file_commit(&file), RP_IO_ERROR); /* nobody wrote it */
    assert_false(rp__file_exists(in_folder("never")));
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    char path[256], part[256];
    strcpy(path, in_folder("full"));
    strcpy(part, in_folder("full.part"));
    assert_int_equal(rp__file_write_text(path, "old"), RP_OK);

    /* the file aside lies on the device that is always full */
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(symlink("/dev/full", part), 0);
        assert_int_equal(rp__file_write_text(path, "new"), RP_IO_ERROR);
        assert_says(strerror(ENOSPC));
        assert_says(part);
        assert_holds(path, "old");
        assert_false(rp__file_exists(part));
    }
    /* a limit on file sizes, hit in the middle of a large file */
    struct rlimit limit, before;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    rp__file file;
    assert_int_equal(rp__file_begin(&file, path), RP_OK);
    for (int i = 0; i < 100000; i++)
        fputs("0123456789", file.stream);
    rp_result result = rp__file_commit(&file);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(result, RP_IO_ERROR);
    assert_says("cannot write");
    assert_holds(path, "old");
    assert_false(rp__file_exists(part));

    /* and the hook that other rooms use */
    rp__file_fail_commit(2);
    assert_int_equal(rp__file_write_text(path, "first"), RP_OK);
    assert_int_equal(rp__file_write_text(path, "second"), RP_IO_ERROR);
    assert_says(strerror(ENOSPC));
    assert_int_equal(rp__file_write_text(path, "third"), RP_OK);
    assert_int_equal(rp__file_fail_commit(0), 3);
    assert_holds(path, "third");
}

static void bad_paths_get_a_sentence(void **state)
{
    (void)state;
    rp__file file;
    assert_int_equal(rp__file_begin(&file, in_folder("no/such/folder/x")), RP_IO_ERROR);
    assert_says("no/such/folder/x");
    char *data = NULL;
    assert_int_equal(rp__file_read(in_folder("absent"), 100, &data, NULL), RP_NOT_FOUND);
    assert_int_equal(rp__file_read(folder, 100, &data, NULL), RP_IO_ERROR);
    assert_null(data);
    assert_int_equal(rp__file_write_text(in_folder("big"), "0123456789"), RP_OK);
    assert_int_equal(rp__file_read(in_folder("big"), 9, &data, NULL), RP_TOO_LARGE);
    assert_says("larger than 9 bytes");
    assert_int_equal(rp__file_read(in_folder("big"), 10, &data, NULL), RP_OK);
    rp__base_free(data);
    data = NULL;
    assert_int_equal(rp__file_read("/dev/zero", 1000, &data, NULL), RP_IO_ERROR); /* it has no end */
    assert_says("is a device, not a file");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(rp__file_read(in_folder("pipe"), 1000, &data, NULL), RP_IO_ERROR); /* it may never have a beginning */
    assert_says("is a pipe, not a file");
    assert_int_equal(symlink(folder, in_folder("link")), 0);
    assert_true(rp__file_is_link(in_folder("link")) && !rp__file_is_link(folder) && !rp__file_is_link(in_folder("absent")));
    assert_null(data);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    assert_int_equal(rp__file_make_folder(in_folder("a/b//c/")), RP_OK);
    assert_int_equal(rp__file_make_folder(in_folder("a/b/c")), RP_OK);
    struct stat status;
    assert_int_equal(stat(in_folder("a/b/c"), &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(rp__file_write_text(in_folder("a/file"), ""), RP_OK);
    assert_int_equal(rp__file_make_folder(in_folder("a/file")), RP_IO_ERROR);
    assert_says("not a folder");
    assert_int_equal(rp__file_make_folder(in_folder("a/file/x")), RP_IO_ERROR);
    assert_int_equal(rp__file_make_folder(""), RP_IO_ERROR);
    static const char *const joined[][3] = { { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "", "b", "b" }, { "a", "/b", "/b" } };
    for (int i = 0; i < 4; i++) {
        char *path = rp__file_join(joined[i][0], joined[i][1]);
        assert_string_equal(path, joined[i][2]);
        rp__base_free(path);
    }
}

static rp_result everything(void)
{
    char *data = NULL, *path = rp__file_join(folder, "sweep");
    rp_result result = path ? rp__file_make_folder(folder) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = rp__file_write_text(path, "text");
    if (result == RP_OK)
        result = rp__file_read(path, 100, &data, NULL);
    rp__base_free(data);
    rp__base_free(path);
    return result;
}

static void lack_of_memory_is_a_result(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    rp__base_fail_allocation(0);
    assert_int_equal(everything(), RP_OK);
    int64_t asked = rp__base_fail_allocation(0);
    assert_true(asked >= 5);
    for (int64_t nth = 1; nth <= asked; nth++) {
        rp__base_fail_allocation(nth);
        assert_int_equal(everything(), RP_OUT_OF_MEMORY);
        assert_int_equal(rp_memory_in_use(), before);
        assert_false(rp__file_exists(in_folder("sweep.part")));
    }
    rp__base_fail_allocation(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_appear_whole),
        cmocka_unit_test(a_library_may_write_the_part),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(bad_paths_get_a_sentence),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(lack_of_memory_is_a_result),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
