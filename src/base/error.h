/* Setting the last error, and passing results up. */
#ifndef RP_BASE_ERROR_H
#define RP_BASE_ERROR_H

#include <repose/result.h>

/* Sets this thread's last error to the formatted sentence and returns `code`. */
rp_result rp__base_fail(rp_result code, const char *format, ...) RP_PRINTF(2, 3);

/* Puts the formatted text before the sentence already there ("file.yaml:3:5: " + sentence); returns `code`. */
rp_result rp__base_fail_prefix(rp_result code, const char *format, ...) RP_PRINTF(2, 3);

void rp__base_clear_error(void);

/* Returns from the calling function when `expression` is not RP_OK. */
#define RP_TRY(expression)                        \
    do {                                          \
        rp_result rp_try_result_ = (expression);  \
        if (rp_try_result_ != RP_OK)              \
            return rp_try_result_;                \
    } while (0)

#endif
