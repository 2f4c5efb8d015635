#include "base/memory.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Before each block stand its size and where it goes back to, in a header that keeps the block aligned. */
typedef struct header {
    size_t size;
    rp_allocator from; /* allocate == NULL: the default */
} header;

_Static_assert(sizeof(header) <= RP_ALIGNMENT, "the header fits before the block");

static _Thread_local const rp__base_context *current;

const rp__base_context *rp__base_enter(const rp__base_context *context)
{
    const rp__base_context *before = current;
    current = context;
    return before;
}

const rp__base_context *rp__base_current(void)
{
    return current;
}

static rp_allocator allocator; /* allocate == NULL: the default */
static atomic_size_t in_use;
static atomic_size_t peak;
static atomic_int_fast64_t asked;
static atomic_int_fast64_t fail_at; /* 0: never */

void rp_set_allocator(const rp_allocator *replacement)
{
    if (replacement)
        allocator = *replacement;
    else
        memset(&allocator, 0, sizeof allocator);
}

size_t rp_memory_in_use(void)
{
    return atomic_load(&in_use);
}

size_t rp_memory_peak(void)
{
    return atomic_load(&peak);
}

int64_t rp__base_fail_allocation(int64_t nth)
{
    atomic_store(&fail_at, nth);
    return (int64_t)atomic_exchange(&asked, 0);
}

/* Of a block with its header. An empty one has a byte, too: a pointer just behind a block is not one into it, and would be called lost. */
static size_t whole_size(size_t size)
{
    return ((size ? size : 1) + 2 * RP_ALIGNMENT - 1) / RP_ALIGNMENT * RP_ALIGNMENT;
}

static void *raw_allocate(size_t size)
{
    const rp_allocator *from = current && current->allocator.allocate ? &current->allocator : &allocator;
    void *block = from->allocate ? from->allocate(from->context, RP_ALIGNMENT, size) : aligned_alloc(RP_ALIGNMENT, size);
    if (block)
        ((header *)block)->from = *from;
    return block;
}

void *rp__base_alloc(size_t size)
{
    int64_t number = (int64_t)atomic_fetch_add(&asked, 1) + 1;
    size_t total = 0;
    void *block = NULL;
    if (size <= SIZE_MAX / 2) {
        total = whole_size(size);
        if (number != (int64_t)atomic_load(&fail_at))
            block = raw_allocate(total);
    }
    if (!block) {
        rp__base_fail(RP_OUT_OF_MEMORY, "out of memory: %zu bytes could not be allocated (%zu bytes in use)", size,
                      rp_memory_in_use());
        return NULL;
    }
    ((header *)block)->size = size;
    size_t now = atomic_fetch_add(&in_use, size) + size;
    size_t old = atomic_load(&peak);
    while (now > old && !atomic_compare_exchange_weak(&peak, &old, now)) {
    }
    return (char *)block + RP_ALIGNMENT;
}

void *rp__base_alloc_zero(size_t size)
{
    void *pointer = rp__base_alloc(size);
    if (pointer)
        memset(pointer, 0, size);
    return pointer;
}

static size_t size_of(const void *pointer)
{
    return ((const header *)((const char *)pointer - RP_ALIGNMENT))->size;
}

void *rp__base_realloc(void *pointer, size_t size)
{
    void *moved = rp__base_alloc(size);
    if (!moved || !pointer)
        return moved;
    size_t old = size_of(pointer);
    memcpy(moved, pointer, old < size ? old : size);
    rp__base_free(pointer);
    return moved;
}

void rp__base_free(void *pointer)
{
    if (!pointer)
        return;
    size_t size = size_of(pointer);
    void *block = (char *)pointer - RP_ALIGNMENT;
    rp_allocator from = ((const header *)block)->from;
    atomic_fetch_sub(&in_use, size);
    if (from.allocate)
        from.release(from.context, block, whole_size(size));
    else
        free(block);
}

static bool product(size_t count, size_t size, size_t *total)
{
    if (size && count > SIZE_MAX / 4 / size) {
        rp__base_fail(RP_OUT_OF_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
        return false;
    }
    *total = count * size;
    return true;
}

void *rp__base_alloc_array(size_t count, size_t size)
{
    size_t total;
    return product(count, size, &total) ? rp__base_alloc_zero(total) : NULL;
}

void *rp__base_realloc_array(void *pointer, size_t count, size_t size)
{
    size_t total;
    return product(count, size, &total) ? rp__base_realloc(pointer, total) : NULL;
}

char *rp__base_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = rp__base_alloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

bool rp__base_grow(void *array_pointer, int64_t *capacity, int64_t needed, size_t size)
{
    if (needed <= *capacity)
        return true;
    int64_t larger = *capacity < 8 ? 8 : *capacity;
    while (larger < needed)
        larger = larger > INT64_MAX / 2 ? needed : 2 * larger;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *moved = rp__base_realloc_array(old, (size_t)larger, size);
    if (!moved)
        return false;
    memcpy(array_pointer, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

/* ---- arena ---- */

struct rp__arena_chunk {
    struct rp__arena_chunk *next;
    size_t used, size;
};

static size_t aligned(size_t size)
{
    return (size + RP_ALIGNMENT - 1) / RP_ALIGNMENT * RP_ALIGNMENT;
}

void rp__arena_init(rp__arena *arena, size_t chunk_size)
{
    arena->chunk = NULL;
    arena->chunk_size = chunk_size ? chunk_size : 1 << 16;
}

void *rp__arena_alloc(rp__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return rp__base_alloc(size); /* fails, with the sentence */
    size_t need = aligned(size ? size : 1);
    struct rp__arena_chunk *chunk = arena->chunk;
    if (!chunk || chunk->size - chunk->used < need) {
        size_t body = need > arena->chunk_size ? need : arena->chunk_size;
        size_t head = aligned(sizeof *chunk);
        chunk = rp__base_alloc(head + body);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunk;
        chunk->used = head;
        chunk->size = head + body;
        arena->chunk = chunk;
    }
    void *pointer = (char *)chunk + chunk->used;
    chunk->used += need;
    return pointer;
}

void rp__arena_reset(rp__arena *arena)
{
    struct rp__arena_chunk *keep = arena->chunk;
    if (!keep)
        return;
    arena->chunk = keep->next;
    rp__arena_free(arena);
    keep->next = NULL;
    keep->used = aligned(sizeof *keep);
    arena->chunk = keep;
}

void rp__arena_free(rp__arena *arena)
{
    while (arena->chunk) {
        struct rp__arena_chunk *next = arena->chunk->next;
        rp__base_free(arena->chunk);
        arena->chunk = next;
    }
}

void rp_text_free(char *text)
{
    rp__base_free(text);
}
