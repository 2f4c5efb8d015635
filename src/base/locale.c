#include "base/locale.h"

#include <locale.h>
#include <stdio.h>

void *rp__base_locale_enter(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* for "C" the C library returns a static object */
    return plain ? (void *)uselocale(plain) : NULL;
}

void rp__base_locale_leave(void *previous)
{
    if (!previous)
        return;
    locale_t plain = uselocale((locale_t)previous);
    if (plain != LC_GLOBAL_LOCALE && plain != (locale_t)previous)
        freelocale(plain);
}

int rp__base_vformat(char *buffer, size_t size, const char *format, va_list args)
{
    void *previous = rp__base_locale_enter();
    int length = vsnprintf(buffer, size, format, args);
    rp__base_locale_leave(previous);
    return length;
}

int rp__base_format(char *buffer, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = rp__base_vformat(buffer, size, format, args);
    va_end(args);
    return length;
}
