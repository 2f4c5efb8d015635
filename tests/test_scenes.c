/* Every bundled scene is read, and what is written of it reads back to the same text. */
#include <repose/repose.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

static int wrong, seen;

static void check(const char *path)
{
    rp_scene *scene = NULL, *again = NULL;
    char *once = NULL, *twice = NULL;
    bool good = rp_scene_load(path, NULL, &scene) == RP_OK && rp_scene_format(scene, &once) == RP_OK &&
                rp_scene_parse(once, "as run", NULL, NULL, &again) == RP_OK && rp_scene_format(again, &twice) == RP_OK;
    if (!good)
        print_error("%s: %s\n", path, rp_last_error());
    else if (strcmp(once, twice) != 0) {
        print_error("%s: written and read again it is another scene\n", path);
        good = false;
    }
    wrong += !good;
    ++seen;
    rp_text_free(once);
    rp_text_free(twice);
    rp_scene_destroy(scene);
    rp_scene_destroy(again);
}

static void walk(const char *folder)
{
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        char path[1200];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".json") == 0))
            check(path);
        else if (!dot) {
            DIR *inner = opendir(path);
            if (inner) {
                closedir(inner);
                walk(path);
            }
        }
    }
    closedir(open);
}

static void test_bundled(void **state)
{
    (void)state;
    walk(RP_SOURCE_DIR "/scenes");
    assert_true(seen >= 4);
    assert_int_equal(wrong, 0);
}

static void test_seeds(void **state)
{
    (void)state;
    check(RP_SOURCE_DIR "/tests/scenes_seed/everything.yaml");
    check(RP_SOURCE_DIR "/tests/scenes_seed/small.json");
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bundled), cmocka_unit_test(test_seeds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
