#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"

#include <repose/state.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- results and errors ---- */

static void every_result_has_a_name_and_a_text(void **state)
{
    (void)state;
    for (int r = 0; r < RP_RESULT_COUNT; r++) {
        assert_int_equal(strncmp(rp_result_name((rp_result)r), "RP_", 3), 0);
        assert_true(strlen(rp_result_text((rp_result)r)) > 3);
        for (int q = 0; q < r; q++)
            assert_string_not_equal(rp_result_text((rp_result)r), rp_result_text((rp_result)q));
    }
    assert_string_equal(rp_result_name(RP_OK), "RP_OK");
    assert_non_null(rp_result_text((rp_result)1000));
    assert_non_null(rp_result_name((rp_result)-1));
}

static rp_result passes_on(rp_result inner)
{
    RP_TRY(inner);
    return RP_UNSUPPORTED;
}

static void errors_leave_a_sentence(void **state)
{
    (void)state;
    rp__base_clear_error();
    assert_string_equal(rp_last_error(), "");
    assert_int_equal(rp__base_fail(RP_BAD_SCENE, "%d is wrong", 5), RP_BAD_SCENE);
    assert_string_equal(rp_last_error(), "5 is wrong");
    assert_int_equal(rp__base_fail_prefix(RP_BAD_FILE, "%s:%d: ", "a.yaml", 3), RP_BAD_FILE);
    assert_string_equal(rp_last_error(), "a.yaml:3: 5 is wrong");
    rp__base_fail(RP_BAD_SCENE, "again: %s", rp_last_error()); /* its own text as an argument */
    assert_string_equal(rp_last_error(), "again: a.yaml:3: 5 is wrong");
    char long_text[10000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    rp__base_fail(RP_BAD_SCENE, "%s", long_text);
    assert_true(strlen(rp_last_error()) > 1000);
    rp__base_fail_prefix(RP_BAD_SCENE, "%s", long_text);
    assert_true(strlen(rp_last_error()) > 1000);
    assert_int_equal(passes_on(RP_OK), RP_UNSUPPORTED);
    assert_int_equal(passes_on(RP_CANCELLED), RP_CANCELLED);
}

/* ---- memory ---- */

static void blocks_are_aligned_and_counted(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = rp__base_alloc(size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % RP_ALIGNMENT, 0);
        assert_int_equal(rp_memory_in_use(), before + size);
        memset(p, 0xab, size);
        p = rp__base_realloc(p, size + 50);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0xab);
        p = rp__base_realloc(p, size / 2);
        for (size_t i = 0; i < size / 2; i++)
            assert_int_equal(p[i], 0xab);
        assert_int_equal(rp_memory_in_use(), before + size / 2);
        rp__base_free(p);
    }
    assert_int_equal(rp_memory_in_use(), before);
    assert_true(rp_memory_peak() >= before + 349);
    int *zeros = RP_NEW_ARRAY(int, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(zeros[i], 0);
    rp__base_free(zeros);
    rp__base_free(NULL);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    assert_null(rp__base_alloc(SIZE_MAX));
    assert_null(rp__base_alloc(SIZE_MAX - 63));
    assert_null(rp__base_alloc_array(SIZE_MAX / 4, 8));
    assert_null(rp__base_alloc_array((size_t)-1, 1));
    assert_non_null(strstr(rp_last_error(), "out of memory"));
    char *keep = rp__base_copy_text("keep");
    assert_null(rp__base_realloc_array(keep, SIZE_MAX / 2, 16));
    assert_string_equal(keep, "keep");
    rp__base_free(keep);
    int64_t *array = NULL, capacity = 0;
    assert_false(rp__base_grow(&array, &capacity, INT64_MAX, sizeof *array));
    assert_true(array == NULL && capacity == 0);
    assert_int_equal(rp_memory_in_use(), before);
}

static void arrays_grow_by_doubling(void **state)
{
    (void)state;
    int *array = NULL;
    int64_t capacity = 0;
    rp__base_fail_allocation(0);
    for (int i = 0; i < 100000; i++) {
        assert_true(rp__base_grow(&array, &capacity, i + 1, sizeof *array));
        array[i] = i;
    }
    assert_true(rp__base_fail_allocation(0) < 20);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(array[i], i);
    rp__base_fail_allocation(1);
    int64_t old = capacity;
    assert_false(rp__base_grow(&array, &capacity, capacity + 1, sizeof *array));
    rp__base_fail_allocation(0);
    assert_int_equal(capacity, old);
    assert_int_equal(array[99999], 99999);
    rp__base_free(array);
}

static void the_nth_allocation_fails(void **state)
{
    (void)state;
    rp__base_fail_allocation(3);
    void *a = rp__base_alloc(1), *b = rp__base_alloc(1), *c = rp__base_alloc(1), *d = rp__base_alloc(1);
    assert_true(a && b && !c && d);
    assert_non_null(strstr(rp_last_error(), "1 bytes could not be allocated"));
    assert_int_equal(rp__base_fail_allocation(0), 4);
    rp__base_free(a), rp__base_free(b), rp__base_free(d);
}

typedef struct counting {
    int live;
    size_t bytes;
} counting;

static void *count_allocate(void *context, size_t alignment, size_t size)
{
    counting *c = context;
    if (size > 1 << 20)
        return NULL;
    c->live++;
    c->bytes += size;
    return aligned_alloc(alignment, size);
}

static void count_release(void *context, void *pointer, size_t size)
{
    counting *c = context;
    c->live--;
    c->bytes -= size;
    free(pointer);
}

static void the_allocator_can_be_replaced(void **state)
{
    (void)state;
    counting c = { 0 };
    rp_allocator mine = { count_allocate, count_release, &c };
    rp_set_allocator(&mine);
    void *a = rp__base_alloc(100), *b = rp__base_alloc_array(10, 10);
    a = rp__base_realloc(a, 1000);
    assert_int_equal(c.live, 2);
    assert_true(c.bytes >= 1100);
    assert_null(rp__base_alloc(2 << 20)); /* its refusal is ours */
    rp__base_free(a), rp__base_free(b);
    assert_int_equal(c.live, 0);
    assert_int_equal(c.bytes, 0);
    rp_set_allocator(NULL);
}

static void arenas_hand_out_and_forget(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    rp__arena arena;
    rp__arena_init(&arena, 1000);
    for (int round = 0; round < 3; round++) {
        char *pieces[200];
        for (int i = 0; i < 200; i++) {
            size_t size = (size_t)(i * 37 % 2500); /* some larger than a chunk */
            pieces[i] = rp__arena_alloc(&arena, size);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % RP_ALIGNMENT, 0);
            memset(pieces[i], i, size);
        }
        for (int i = 0; i < 200; i++)
            for (size_t k = 0; k < (size_t)(i * 37 % 2500); k++)
                assert_int_equal(pieces[i][k], (char)i);
        rp__arena_reset(&arena);
        assert_true(rp_memory_in_use() > before);
        assert_true(rp_memory_in_use() < before + 4000);
    }
    rp__base_fail_allocation(0);
    assert_non_null(rp__arena_alloc(&arena, 10)); /* from the chunk that reset kept */
    assert_int_equal(rp__base_fail_allocation(1), 0);
    assert_null(rp__arena_alloc(&arena, 100000));
    rp__base_fail_allocation(0);
    assert_null(rp__arena_alloc(&arena, SIZE_MAX));
    assert_null(rp__arena_alloc(&arena, SIZE_MAX - 10));
    rp__arena_free(&arena);
    rp__arena_free(&arena);
    rp__arena_reset(&arena);
    assert_int_equal(rp_memory_in_use(), before);
}

/* ---- states ---- */

static rp_result fill_state(rp_state *state)
{
    const double position[3] = { 1, 2, 3 };
    const int64_t id = 7;
    RP_TRY(rp_state_add(state, "position", RP_F64, 3, position));
    RP_TRY(rp_state_add(state, "nothing", RP_F64, 0, NULL));
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "id%d", i);
        RP_TRY(rp_state_add(state, name, RP_I64, 1, &id));
    }
    return RP_OK;
}

static void states_keep_named_arrays(void **test)
{
    (void)test;
    size_t before = rp_memory_in_use();
    rp_state state = { 0 };
    assert_int_equal(fill_state(&state), RP_OK);
    const rp_blob *blob = rp_state_find(&state, "position");
    assert_true(blob && blob->count == 3 && ((const double *)blob->data)[2] == 3);
    assert_null(rp_state_find(&state, "velocity"));
    assert_int_equal(rp_state_add(&state, "id3", RP_I64, 0, NULL), RP_BAD_ARGUMENT);
    char name[100];
    memset(name, 'n', 99), name[99] = '\0';
    assert_int_equal(rp_state_add(&state, name, RP_I64, 0, NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp_state_add(&state, "less", RP_I64, -1, NULL), RP_BAD_ARGUMENT);
    rp_state_free(&state);
    rp__base_fail_allocation(0);
    assert_int_equal(fill_state(&state), RP_OK);
    int64_t asked = rp__base_fail_allocation(0);
    rp_state_free(&state);
    for (int64_t nth = 1; nth <= asked; nth++) {
        rp__base_fail_allocation(nth);
        assert_int_equal(fill_state(&state), RP_OUT_OF_MEMORY);
        rp_state_free(&state);
        assert_int_equal(rp_memory_in_use(), before);
    }
    rp__base_fail_allocation(0);
}

/* ---- log and timers ---- */

typedef struct heard {
    int count;
    rp_log_level level;
    char text[100];
} heard;

static void listen(void *context, rp_log_level level, const char *message)
{
    heard *h = context;
    h->count++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", message);
}

static void messages_reach_the_hook(void **state)
{
    (void)state;
    heard h = { 0 };
    RP_WARN("nobody hears %d", 1);
    rp_set_log(listen, &h, RP_LOG_WARNING);
    RP_INFO("too quiet");
    assert_int_equal(h.count, 0);
    RP_WARN("%d grains of %s", 7, "sand");
    assert_int_equal(h.count, 1);
    assert_int_equal(h.level, RP_LOG_WARNING);
    assert_string_equal(h.text, "7 grains of sand");
    rp_set_log(NULL, NULL, RP_LOG_DEBUG);
    RP_WARN("gone");
    assert_int_equal(h.count, 1);
}

static void phases_add_up(void **state)
{
    (void)state;
    double t = rp__base_seconds();
    assert_true(rp__base_seconds() >= t);
    rp__phases phases = { 0 };
    rp__phases_add(&phases, "solve", 1);
    rp__phases_add(&phases, "move", 2);
    rp__phases_add(&phases, "solve", 0.5);
    assert_int_equal(phases.count, 2);
    assert_true(phases.seconds[0] == 1.5 && phases.seconds[1] == 2);
    rp__phases_clear(&phases);
    assert_int_equal(phases.count, 2);
    assert_true(phases.seconds[0] == 0);
    RP_LAP(&phases, "solve", t);
    assert_true(phases.seconds[0] >= 0 && phases.seconds[0] < 10);
    static char names[2 * RP_MAX_PHASES][16];
    for (int i = 0; i < 2 * RP_MAX_PHASES; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        rp__phases_add(&phases, names[i], 1); /* what does not fit is left out */
    }
    assert_int_equal(phases.count, RP_MAX_PHASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_has_a_name_and_a_text),
        cmocka_unit_test(errors_leave_a_sentence),
        cmocka_unit_test(blocks_are_aligned_and_counted),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(arrays_grow_by_doubling),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(the_allocator_can_be_replaced),
        cmocka_unit_test(arenas_hand_out_and_forget),
        cmocka_unit_test(states_keep_named_arrays),
        cmocka_unit_test(messages_reach_the_hook),
        cmocka_unit_test(phases_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
