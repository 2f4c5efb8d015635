/* What the examples share: a failure ends the program with its sentence. */
#ifndef REPOSE_EXAMPLES_EXAMPLE_H
#define REPOSE_EXAMPLES_EXAMPLE_H

#include <repose/repose.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                                 \
    do {                                                                                                          \
        rp_result try_result = (call);                                                                            \
        if (try_result != RP_OK) {                                                                                \
            fprintf(stderr, "%s: %s: %s\n", #call, rp_result_name(try_result), rp_last_error());                  \
            exit(1);                                                                                              \
        }                                                                                                         \
    } while (0)

/* A fact the example relies on. */
#define CHECK(fact)                                                                                               \
    do {                                                                                                          \
        if (!(fact)) {                                                                                            \
            fprintf(stderr, "%s:%d: it is not true that %s\n", __FILE__, __LINE__, #fact);                        \
            exit(1);                                                                                              \
        }                                                                                                         \
    } while (0)

#endif
