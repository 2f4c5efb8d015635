#ifndef RP_BASE_LOG_H
#define RP_BASE_LOG_H

#include <repose/log.h>

void rp__base_log(rp_log_level level, const char *format, ...) RP_PRINTF(2, 3);

#define RP_INFO(...) rp__base_log(RP_LOG_INFO, __VA_ARGS__)
#define RP_WARN(...) rp__base_log(RP_LOG_WARNING, __VA_ARGS__)

#endif
