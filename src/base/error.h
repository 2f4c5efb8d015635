/* Setting the last error, and passing results up. */
#ifndef RP_BASE_ERROR_H
#define RP_BASE_ERROR_H

#include <repose/result.h>

/* rp__base_fail(code, format, ...) sets this thread's last error to the formatted sentence and gives `code`. It is a macro so that
 * the compiler sees which code comes back, and knows that what a failed call did not set is not read. */
#define rp__base_fail(code, ...) (rp__base_set_error(__VA_ARGS__), rp__base_result(code))

/* The same, but puts the formatted text before the sentence already there ("file.yaml:3:5: " + sentence). */
#define rp__base_fail_prefix(code, ...) (rp__base_prefix_error(__VA_ARGS__), rp__base_result(code))

void rp__base_set_error(const char *format, ...) RP_PRINTF(1, 2);
void rp__base_prefix_error(const char *format, ...) RP_PRINTF(1, 2);

static inline rp_result rp__base_result(rp_result code)
{
    return code;
}

void rp__base_clear_error(void);

/* Returns from the calling function when `expression` is not RP_OK. */
#define RP_TRY(expression)                        \
    do {                                          \
        rp_result rp_try_result_ = (expression);  \
        if (rp_try_result_ != RP_OK)              \
            return rp_try_result_;                \
    } while (0)

#endif
