/* Messages: the library never prints; it calls this hook. */
#ifndef REPOSE_LOG_H
#define REPOSE_LOG_H

#include <repose/export.h>

RP_BEGIN

typedef enum rp_log_level { RP_LOG_DEBUG, RP_LOG_INFO, RP_LOG_WARNING, RP_LOG_ERROR } rp_log_level;

typedef void (*rp_log_fn)(void *context, rp_log_level level, const char *message);

/* Sets the receiver of messages at `least` or above; NULL silences the library (the default). */
RP_API void rp_set_log(rp_log_fn function, void *context, rp_log_level least);

RP_END
#endif
