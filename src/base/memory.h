/* Memory: every allocation of the library comes from here, 64-byte aligned, through the allocator hook. */
#ifndef RP_BASE_MEMORY_H
#define RP_BASE_MEMORY_H

#include <repose/log.h>
#include <repose/memory.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_ALIGNMENT = 64 };

/* What a simulation has of its own: memory and messages on this thread go there while it is entered. NULL members, and no context: the
 * ones of the whole library. */
typedef struct rp__base_context {
    rp_allocator allocator; /* allocate == NULL: that of the library */
    rp_log_fn log;
    void *log_context;
    rp_log_level log_least;
} rp__base_context;

const rp__base_context *rp__base_enter(const rp__base_context *context); /* gives the one before, to be entered again at the end */
const rp__base_context *rp__base_current(void);

/* NULL, with the last error set, when there is no room; size 0 gives a valid pointer. The size is kept in a header. */
void *rp__base_alloc(size_t size);
void *rp__base_alloc_zero(size_t size);
void *rp__base_realloc(void *pointer, size_t size); /* keeps the old block on failure */
void rp__base_free(void *pointer);                  /* NULL is allowed */

/* count × size with an overflow check. */
void *rp__base_alloc_array(size_t count, size_t size);
void *rp__base_realloc_array(void *pointer, size_t count, size_t size);
char *rp__base_copy_text(const char *text); /* strdup */

#define RP_NEW(type) ((type *)rp__base_alloc_zero(sizeof(type)))
#define RP_NEW_ARRAY(type, count) ((type *)rp__base_alloc_array((size_t)(count), sizeof(type)))

/* Grows *array (elements of `size`) to hold at least `needed`, doubling; false when there is no room. */
bool rp__base_grow(void *array_pointer, int64_t *capacity, int64_t needed, size_t size);

/* Scratch arena: bump allocation from chunks, released at once. */
typedef struct rp__arena {
    struct rp__arena_chunk *chunk;
    size_t chunk_size;
} rp__arena;

void rp__arena_init(rp__arena *arena, size_t chunk_size);
void *rp__arena_alloc(rp__arena *arena, size_t size); /* 64-byte aligned; NULL when there is no room */
void rp__arena_reset(rp__arena *arena);               /* keeps one chunk for reuse */
void rp__arena_free(rp__arena *arena);

/* For tests: makes the n-th allocation from now (1 = the next) fail, 0 for none; returns how many were asked since the last call. */
int64_t rp__base_fail_allocation(int64_t nth);

#endif
