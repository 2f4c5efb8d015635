/* The allocator hook: all memory of the library goes through it. */
#ifndef REPOSE_MEMORY_H
#define REPOSE_MEMORY_H

#include <repose/export.h>
#include <repose/result.h>
#include <stddef.h>

RP_BEGIN

typedef struct rp_allocator {
    void *(*allocate)(void *context, size_t alignment, size_t size); /* NULL when there is no room */
    void (*release)(void *context, void *pointer, size_t size);
    void *context;
} rp_allocator;

/* Replaces the allocator of the library; NULL restores the default. What was allocated before goes back to where it came from. A simulation
 * may have one of its own (rp_sim_def). */
RP_API void rp_set_allocator(const rp_allocator *allocator);

/* Bytes the library holds now, and the largest value so far. */
RP_API size_t rp_memory_in_use(void);
RP_API size_t rp_memory_peak(void);

RP_API void rp_text_free(char *text); /* a text that the library gave away; NULL is allowed */

RP_END
#endif
