/* Every NAME.yaml of tests/scenes_bad is refused with exactly the message in NAME.txt. With REPOSE_UPDATE set in the
 * environment the messages are written instead of compared: read them before they are kept. */
#include <repose/repose.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER RP_SOURCE_DIR "/tests/scenes_bad"
enum { MOST = 1000 };

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    text[size] = '\0';
    return text;
}

static int is_scene(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".yaml") == 0;
}

static bool check(const char *name)
{
    char path[600], expected_path[600];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    snprintf(expected_path, sizeof expected_path, "%s/%.*s.txt", FOLDER, (int)(strlen(name) - 5), name);
    char *text = read_file(path);
    rp_scene *scene = NULL;
    size_t before = rp_memory_in_use();
    rp_result result = rp_scene_parse(text, name, "/nonexistent", NULL, &scene);
    char message[5000];
    snprintf(message, sizeof message, "%s\n", rp_last_error());
    free(text);
    if (result != RP_BAD_SCENE || scene) {
        print_error("%s: expected RP_BAD_SCENE, got %s\n", name, rp_result_name(result));
        rp_scene_destroy(scene);
        return false;
    }
    if (rp_memory_in_use() != before) {
        print_error("%s: %zu bytes were left behind\n", name, rp_memory_in_use() - before);
        return false;
    }
    if (getenv("REPOSE_UPDATE")) {
        FILE *file = fopen(expected_path, "wb");
        assert_non_null(file);
        fputs(message, file);
        fclose(file);
        return true;
    }
    char *expected = read_file(expected_path);
    bool same = expected && strcmp(expected, message) == 0;
    if (!same)
        print_error("%s: expected\n%sgot\n%s", name, expected ? expected : "(no file)\n", message);
    free(expected);
    return same;
}

static void test_messages(void **state)
{
    (void)state;
    struct dirent **entries;
    int count = scandir(FOLDER, &entries, is_scene, alphasort), wrong = 0;
    assert_true(count > 100);
    for (int i = 0; i < count; ++i) {
        wrong += !check(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(wrong, 0);
}

/* Zero bytes and files that are too large never reach the parser. */
static void test_no_text(void **state)
{
    (void)state;
    rp_scene *scene = NULL;
    assert_int_equal(rp_scene_load("/nonexistent/scene.yaml", NULL, &scene), RP_NOT_FOUND);
    assert_non_null(strstr(rp_last_error(), "/nonexistent/scene.yaml"));
    size_t size = (16u << 20) + 10;
    char *large = malloc(size + 1);
    memset(large, ' ', size);
    large[size] = '\0';
    assert_int_equal(rp_scene_parse(large, "large.yaml", NULL, NULL, &scene), RP_BAD_SCENE);
    assert_string_equal(rp_last_error(), "large.yaml: a scene of 16777226 bytes; at most 16777216 are read");
    free(large);
    assert_null(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_messages), cmocka_unit_test(test_no_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
