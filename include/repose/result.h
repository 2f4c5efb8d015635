/* Results: every call that can fail returns one, and leaves a sentence in rp_last_error(). */
#ifndef REPOSE_RESULT_H
#define REPOSE_RESULT_H

#include <repose/export.h>

RP_BEGIN

/* One list for the enumeration, the names and the texts. */
#define RP_RESULTS(R)                                                     \
    R(RP_OK, "done")                                                      \
    R(RP_OUT_OF_MEMORY, "out of memory")                                  \
    R(RP_BAD_ARGUMENT, "bad argument")                                    \
    R(RP_BAD_SCENE, "the scene has an error")                             \
    R(RP_BAD_FILE, "the file is damaged, foreign or of another version")  \
    R(RP_IO_ERROR, "reading or writing failed")                           \
    R(RP_NOT_FOUND, "not found")                                          \
    R(RP_UNSUPPORTED, "not supported")                                    \
    R(RP_TOO_LARGE, "asks for more than this machine or format can hold") \
    R(RP_NOT_CONVERGED, "did not converge within its limits")             \
    R(RP_DIVERGED, "the simulation diverged")                             \
    R(RP_CANCELLED, "cancelled")

typedef enum rp_result {
#define R(name, text) name,
    RP_RESULTS(R)
#undef R
    RP_RESULT_COUNT
} rp_result;

/* A short text for a result, never NULL. */
RP_API const char *rp_result_text(rp_result result);

/* The name of the enumerator, such as "RP_OK". */
RP_API const char *rp_result_name(rp_result result);

/* The sentence left by the last call that failed on this thread; "" when there was none. */
RP_API const char *rp_last_error(void);

RP_END
#endif
