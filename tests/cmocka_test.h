/* cmocka with the headers it wants before it. */
#ifndef RP_TESTS_CMOCKA_TEST_H
#define RP_TESTS_CMOCKA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
