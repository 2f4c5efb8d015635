#ifndef REPOSE_VERSION_H
#define REPOSE_VERSION_H

#include <repose/export.h>

RP_BEGIN

#define RP_VERSION_MAJOR 0
#define RP_VERSION_MINOR 1
#define RP_VERSION_PATCH 0
#define RP_VERSION_TEXT "0.1.0"

/* Version of the library that runs, such as "0.1.0". */
RP_API const char *rp_version(void);

RP_END
#endif
