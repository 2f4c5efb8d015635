#include "io/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Values of the public catalogue of CRCs for the text "123456789". */
static void test_known_values(void **state)
{
    (void)state;
    assert_int_equal(rp__io_crc64_ref(0, "123456789", 9), 0x995DC9BBDF1939FAu);
    assert_int_equal(rp__io_crc32_ref(0, "123456789", 9), 0xCBF43926u);
    assert_int_equal(rp__io_crc64(0, "", 0), 0);
}

static void test_fast_agrees(void **state)
{
    (void)state;
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t size = 0; size <= sizeof bytes; size += size < 150 ? 1 : 53) {
        assert_int_equal(rp__io_crc64(5, bytes, size), rp__io_crc64_ref(5, bytes, size));
        assert_int_equal(rp__io_crc32(5, bytes, size), rp__io_crc32_ref(5, bytes, size));
    }
    uint64_t parts = rp__io_crc64(rp__io_crc64(0, bytes, 333), bytes + 333, sizeof bytes - 333);
    assert_int_equal(parts, rp__io_crc64_ref(0, bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_known_values), cmocka_unit_test(test_fast_agrees) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
