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

/* Kernels: the methods, compiled for a kind of processor. A portable build has several ("x86-64", "x86-64-v3", "x86-64-v4") and takes the
 * best that the processor runs, any other build has one. Results differ between them by rounding; each is the same on every machine. */
RP_API int rp_machine_kernels_count(void);            /* that run here, the plainest first */
RP_API const char *rp_machine_kernels_at(int index);  /* their name; NULL: there is none */
RP_API const char *rp_machine_kernels(void);          /* those of simulations created from now on */
/* Others, for simulations created from now on; NULL: the best. Before that the environment variable REPOSE_KERNELS decides. */
RP_API rp_result rp_machine_set_kernels(const char *name);

RP_END
#endif
