/* What the shared library shows. */
#ifndef REPOSE_EXPORT_H
#define REPOSE_EXPORT_H

#if defined(__GNUC__)
#define RP_API __attribute__((visibility("default")))
#define RP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RP_API
#define RP_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
#define RP_BEGIN extern "C" {
#define RP_END }
#else
#define RP_BEGIN
#define RP_END
#endif

#endif
