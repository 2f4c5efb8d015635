/* Lua in a box: numbers in, numbers out. A script sees its variables and the functions of math (but no random numbers) and
 * nothing else: no files, no loading, no text, no state from one call to the next. Instructions and memory are bounded, so
 * every call ends. The same values give the same results, from any thread. */
#ifndef RP_SHAPE_SANDBOX_H
#define RP_SHAPE_SANDBOX_H

#include <repose/result.h>
#include <stddef.h>

enum {
    RP_SANDBOX_SOURCE = 65536,           /* longest script [bytes] */
    RP_SANDBOX_INSTRUCTIONS = 1000000,   /* a call */
    RP_SANDBOX_MEMORY = 4 * 1024 * 1024, /* a script [bytes] */
    RP_SANDBOX_VALUES = 32               /* most variables, most results */
};

typedef struct rp__shape_sandbox rp__shape_sandbox;

/* `what` names the script in messages ("motion"). The source is an expression list ("t, 0, sin(t)") or a body with return. */
rp_result rp__shape_sandbox_create(const char *what, const char *source, const char *const *variables, int variable_count,
                                   rp__shape_sandbox **out);
void rp__shape_sandbox_free(rp__shape_sandbox *sandbox);

/* Writes at most `capacity` results, which must be finite numbers, and how many the script returned. Safe from many threads. */
rp_result rp__shape_sandbox_call(const rp__shape_sandbox *sandbox, const double *values, double *results, int capacity,
                                 int *result_count);

#endif
