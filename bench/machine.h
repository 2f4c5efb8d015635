/* The limits of the machine, measured in the same run as what is compared with them. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

/* Bytes a second between memory and `threads` threads, on arrays far larger than the caches, counted as STREAM does: what the
 * program reads plus what it writes. The best of some passes. */
double bench_copy(int threads);  /* a[i] = b[i] */
double bench_triad(int threads); /* a[i] = b[i] + s c[i] */

/* The larger of the two: the limit for work that streams through memory. */
double bench_bandwidth(int threads);

/* Double-precision operations a second of `threads` threads that do nothing but multiply and add in registers. */
double bench_flops(int threads);

#endif
