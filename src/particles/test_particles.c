/* The particle store: growth, removal, order, ids, lack of memory. */
#include "particles/particles.h"

#include "base/memory.h"
#include "exec/exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const rp_field_info stress = { "stress", RP_F64, 6, "Pa", 1 };
static const rp_field_info shade = { "shade", RP_F32, 1, "", 0 };

static void fill(rp__particles *p, int64_t count)
{
    assert_int_equal(rp__particles_init(p), RP_OK);
    int field;
    assert_int_equal(rp__particles_add_field(p, &stress, &field), RP_OK);
    assert_int_equal(field, 6);
    assert_int_equal(rp__particles_add_field(p, &shade, NULL), RP_OK);
    assert_int_equal(rp__particles_append(p, count, NULL), RP_OK);
}

/* Values that tell particle (by id), field and component. */
static void mark(rp__particles *p)
{
    for (int f = 0; f < p->fields; f++) {
        for (int c = 0; c < p->info[f].components; c++) {
            for (int64_t i = 0; i < p->count; i++) {
                double value = (double)(p->id[i] * 100 + f * 10 + c);
                switch (p->info[f].type) {
                case RP_F64: rp__particles_f64(p, f, c)[i] = value; break;
                case RP_F32: ((float *)rp__particles_plane(p, f, c))[i] = (float)value; break;
                case RP_I32: ((int32_t *)rp__particles_plane(p, f, c))[i] = (int32_t)value; break;
                case RP_I64: break; /* the id itself */
                }
            }
        }
    }
}

static void assert_marked(const rp__particles *p)
{
    for (int f = 0; f < p->fields; f++) {
        for (int c = 0; c < p->info[f].components; c++) {
            for (int64_t i = 0; i < p->count; i++) {
                double value = (double)(p->id[i] * 100 + f * 10 + c), is = value;
                switch (p->info[f].type) {
                case RP_F64: is = rp__particles_f64(p, f, c)[i]; break;
                case RP_F32: is = ((float *)rp__particles_plane(p, f, c))[i], value = (float)value; break;
                case RP_I32: is = ((int32_t *)rp__particles_plane(p, f, c))[i]; break;
                case RP_I64: break;
                }
                assert_true(is == value);
            }
        }
    }
    assert_ptr_equal(p->x[2], rp__particles_plane(p, rp__particles_find(p, "position"), 2));
    assert_ptr_equal(p->v[1], rp__particles_plane(p, rp__particles_find(p, "velocity"), 1));
    assert_ptr_equal(p->mass, rp__particles_plane(p, rp__particles_find(p, "mass"), 0));
    assert_ptr_equal(p->id, rp__particles_plane(p, rp__particles_find(p, "id"), 0));
}

static void test_fields(void **state)
{
    (void)state;
    rp__particles p;
    fill(&p, 10);
    assert_int_equal(rp__particles_find(&p, "volume"), 2);
    assert_int_equal(rp__particles_find(&p, "nothing"), -1);
    assert_int_equal(rp__particles_add_field(&p, &stress, NULL), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "stress"));
    rp_field_info wrong = { "wrong", RP_F64, 0, "", 0 };
    assert_int_equal(rp__particles_add_field(&p, &wrong, NULL), RP_BAD_ARGUMENT);
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                         "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z" };
    rp_result result = RP_OK;
    for (int n = 0; n < 26 && result == RP_OK; n++) {
        rp_field_info more = { names[n], RP_F64, 1, "", 0 };
        result = rp__particles_add_field(&p, &more, NULL);
    }
    assert_int_equal(result, RP_TOO_LARGE);
    assert_int_equal(p.fields, RP_PARTICLES_MAX_FIELDS);
    rp_field_view view = rp__particles_view(&p, 6);
    assert_string_equal(view.info.name, "stress");
    assert_int_equal(view.count, 10);
    assert_int_equal(view.stride, p.capacity);
    assert_ptr_equal(view.data, rp__particles_plane(&p, 6, 0));
    rp__particles_free(&p);
}

static void test_growth(void **state)
{
    (void)state;
    rp__particles p;
    fill(&p, 3);
    int64_t total = 3;
    for (int64_t n = 1; n < 20000; n *= 3) {
        mark(&p);
        int64_t first = -1;
        assert_int_equal(rp__particles_append(&p, n, &first), RP_OK);
        assert_int_equal(first, total);
        for (int64_t i = first; i < p.count; i++) {
            assert_int_equal(p.id[i], i);
            assert_true(p.x[1][i] == 0 && p.volume[i] == 0 && p.material[i] == 0 && rp__particles_f64(&p, 6, 5)[i] == 0);
        }
        p.count = total; /* look at the old ones alone */
        assert_marked(&p);
        total += n;
        p.count = total;
    }
    assert_int_equal(rp__particles_append(&p, INT64_MAX / 2, NULL), RP_TOO_LARGE);
    assert_int_equal(rp__particles_append(&p, -1, NULL), RP_BAD_ARGUMENT);
    assert_int_equal(rp__particles_reserve(&p, INT64_MAX), RP_TOO_LARGE);
    assert_int_equal(p.count, total);
    rp__particles_free(&p);
}

static void test_remove(void **state)
{
    (void)state;
    rp__particles p;
    fill(&p, 1000);
    mark(&p);
    unsigned char *remove = rp__base_alloc(1000);
    memset(remove, 0, 1000);
    assert_int_equal(rp__particles_remove(&p, remove), 0);
    for (int i = 0; i < 1000; i++)
        remove[i] = i % 3 == 1;
    assert_int_equal(rp__particles_remove(&p, remove), 333);
    assert_int_equal(p.count, 667);
    assert_marked(&p);
    for (int64_t i = 1; i < p.count; i++)
        assert_true(p.id[i] > p.id[i - 1] && p.id[i] % 3 != 1);
    int64_t first;
    assert_int_equal(rp__particles_append(&p, 1, &first), RP_OK);
    assert_int_equal(p.id[first], 1000); /* never one that was used */
    memset(remove, 1, 1000);
    assert_int_equal(rp__particles_remove(&p, remove), 668);
    assert_int_equal(p.count, 0);
    rp__base_free(remove);
    rp__particles_free(&p);
}

static void test_permute(void **state)
{
    (void)state;
    enum { COUNT = 50021 };
    static const int threads[] = { 1, 2, 5, 16 };
    int32_t *order = rp__base_alloc(COUNT * sizeof *order);
    for (int t = 0; t < 8; t++) { /* far moves; moves by a few places, some of them across windows */
        rp__exec_set_threads(threads[t % 4]);
        rp__particles p;
        fill(&p, COUNT);
        mark(&p);
        for (int64_t i = 0; i < COUNT; i++)
            if (t < 4)
                order[i] = (int32_t)(i < 100 ? i : 100 + (i * 7919) % (COUNT - 100)); /* COUNT - 100 is prime to 7919 */
            else
                order[i] = (int32_t)(i < 42 || i >= COUNT - 42 ? i : i / 21 * 21 + 20 - i % 21); /* groups of 21 turned round */
        assert_int_equal(rp__particles_permute(&p, order), RP_OK);
        for (int64_t i = 0; i < COUNT; i++)
            assert_int_equal(p.id[i], order[i]);
        assert_marked(&p);
        rp__particles_copy_one(&p, 5, 9);
        assert_int_equal(p.id[9], p.id[5]);
        assert_marked(&p);
        rp__particles_free(&p);
    }
    rp__exec_set_threads(0);
    rp__base_free(order);
}

/* Every allocation fails once; the store stays whole and nothing is lost. */
static void test_out_of_memory(void **state)
{
    (void)state;
    size_t at_start = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp__particles p;
        rp__base_fail_allocation(n);
        rp_result result = rp__particles_init(&p);
        if (result == RP_OK)
            result = rp__particles_add_field(&p, &stress, NULL);
        if (result == RP_OK)
            result = rp__particles_append(&p, 3000, NULL);
        int32_t order[3000];
        for (int64_t i = 0; i < 3000; i++)
            order[i] = (int32_t)(2999 - i);
        if (result == RP_OK) {
            mark(&p);
            result = rp__particles_append(&p, 4000, NULL);
            int64_t all = p.count;
            assert_int_equal(all, result == RP_OK ? 7000 : 3000);
            p.count = 3000;
            assert_marked(&p);
            if (result == RP_OK) {
                result = rp__particles_permute(&p, order);
                assert_marked(&p);
                assert_int_equal(p.id[0], result == RP_OK ? 2999 : 0);
            }
            p.count = all;
        }
        rp__base_fail_allocation(0);
        rp__particles_free(&p);
        assert_int_equal(rp_memory_in_use(), at_start);
        if (result == RP_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(result, RP_OUT_OF_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),  cmocka_unit_test(test_growth),        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_permute), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
