#include "base/log.h"

#include "base/locale.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stddef.h>

static rp_log_fn receiver;
static void *receiver_context;
static rp_log_level least_level = RP_LOG_INFO;

void rp_set_log(rp_log_fn function, void *context, rp_log_level least)
{
    receiver = function;
    receiver_context = context;
    least_level = least;
}

void rp__base_log(rp_log_level level, const char *format, ...)
{
    const rp__base_context *own = rp__base_current();
    bool mine = own && own->log;
    rp_log_fn function = mine ? own->log : receiver;
    if (!function || level < (mine ? own->log_least : least_level))
        return;
    char message[2048];
    va_list args;
    va_start(args, format);
    rp__base_vformat(message, sizeof message, format, args);
    va_end(args);
    function(mine ? own->log_context : receiver_context, level, message);
}
