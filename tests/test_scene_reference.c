/* docs/scene.md is what the tables say. With REPOSE_UPDATE set in the environment the page is written instead. */
#include <repose/repose.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE RP_SOURCE_DIR "/docs/scene.md"

static void test_page(void **state)
{
    (void)state;
    char *made = NULL;
    assert_int_equal(rp_scene_reference(&made), RP_OK);
    if (getenv("REPOSE_UPDATE")) {
        FILE *file = fopen(PAGE, "wb");
        assert_non_null(file);
        fputs(made, file);
        fclose(file);
        rp_text_free(made);
        return;
    }
    FILE *file = fopen(PAGE, "rb");
    assert_non_null(file);
    size_t size = strlen(made);
    char *kept = calloc(1, size + 2);
    size_t read = fread(kept, 1, size + 1, file);
    fclose(file);
    if (read != size || memcmp(kept, made, size) != 0) {
        int line = 1;
        for (size_t i = 0; i < read && i < size && kept[i] == made[i]; ++i)
            line += made[i] == '\n';
        print_error("docs/scene.md differs from line %d on; make it anew with: repose schema --reference > docs/scene.md\n", line);
        fail();
    }
    free(kept);
    rp_text_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
