#include "base/error.h"

#include "base/locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 4096 };

static _Thread_local char last_error[MESSAGE_SIZE];

static const char *const texts[] = {
#define R(name, text) text,
    RP_RESULTS(R)
#undef R
};

static const char *const names[] = {
#define R(name, text) #name,
    RP_RESULTS(R)
#undef R
};

const char *rp_result_text(rp_result result)
{
    return (unsigned)result < RP_RESULT_COUNT ? texts[result] : "unknown result";
}

const char *rp_result_name(rp_result result)
{
    return (unsigned)result < RP_RESULT_COUNT ? names[result] : "unknown";
}

const char *rp_last_error(void)
{
    return last_error;
}

void rp__base_clear_error(void)
{
    last_error[0] = '\0';
}

void rp__base_set_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[MESSAGE_SIZE]; /* the arguments may point into last_error */
    rp__base_vformat(message, sizeof message, format, args);
    va_end(args);
    memcpy(last_error, message, sizeof message);
}

void rp__base_prefix_error(const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    int used = rp__base_vformat(message, sizeof message, format, args);
    va_end(args);
    if (used < 0)
        used = 0;
    if (used < MESSAGE_SIZE)
        snprintf(message + used, sizeof message - (size_t)used, "%s", last_error);
    memcpy(last_error, message, sizeof message);
}
