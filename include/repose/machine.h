/* The machine a program runs on: its name and its limits, so that figures travel between machines. */
#ifndef REPOSE_MACHINE_H
#define REPOSE_MACHINE_H

#include <repose/export.h>
#include <repose/result.h>
#include <stddef.h>

RP_BEGIN

typedef struct rp_machine_limits {
    int threads;
    double copy;  /* a[i] = b[i] on arrays far larger than the caches [bytes/s], read and written bytes counted as STREAM does */
    double triad; /* a[i] = b[i] + s c[i] */
    double flops; /* double-precision operations a second of threads that multiply and add in registers */
} rp_machine_limits;

/* The best of some passes; takes about a second and 200 MB. */
RP_API rp_result rp_machine_measure(int threads, rp_machine_limits *out);

RP_API void rp_machine_name(char *text, size_t size); /* the model of the processor */
RP_API int rp_machine_cores(void);

RP_END
#endif
