/* The C locale for a while: numbers are written and read with a point, whatever the caller's program has set. */
#ifndef RP_BASE_LOCALE_H
#define RP_BASE_LOCALE_H

#include <repose/export.h>
#include <stdarg.h>
#include <stddef.h>

/* Between the two, this thread (and no other) is in the C locale. Wrap the writing of tables to a stream in them. */
void *rp__base_locale_enter(void);
void rp__base_locale_leave(void *previous);

/* snprintf and vsnprintf in the C locale. */
int rp__base_format(char *buffer, size_t size, const char *format, ...) RP_PRINTF(3, 4);
int rp__base_vformat(char *buffer, size_t size, const char *format, va_list args) RP_PRINTF(3, 0);

#endif
