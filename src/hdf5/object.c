/* The head of a file, and the messages that make up an object: where its bytes are is told by the others. */
#include "hdf5/inside.h"

#include "base/memory.h"

#include <string.h>

uint32_t rp__hdf5_lookup3(const unsigned char *bytes, uint64_t size)
{
    uint32_t s[3];
    s[0] = s[1] = s[2] = 0xdeadbeef + (uint32_t)size;
#define TURN(x, n) ((x) << (n) | (x) >> (32 - (n)))
    while (size > 0) {
        uint64_t here = size < 12 ? size : 12;
        for (uint64_t k = 0; k < here; k++)
            s[k / 4] += (uint32_t)bytes[k] << 8 * (k % 4);
        bytes += here;
        size -= here;
        if (size > 0) {
            static const int mix[6] = { 4, 6, 8, 16, 19, 4 };
            for (int k = 0; k < 6; k++) { /* x -= y, x ^= y turned, y += z; the three change places each time */
                uint32_t *x = &s[k % 3], *y = &s[(k + 2) % 3], *z = &s[(k + 1) % 3];
                *x -= *y;
                *x ^= TURN(*y, mix[k]);
                *y += *z;
            }
        } else {
            static const int last[7] = { 14, 11, 25, 16, 4, 14, 24 };
            for (int k = 0; k < 7; k++) { /* x ^= y, x -= y turned; x is the third, the first, the second, … */
                uint32_t *x = &s[(k + 2) % 3], *y = &s[(k + 1) % 3];
                *x ^= *y;
                *x -= TURN(*y, last[k]);
            }
        }
    }
#undef TURN
    return s[2];
}

/* Whether the four bytes after some agree with them. Fuzzers are to come beyond. */
static bool agrees(const unsigned char *bytes, uint64_t size)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)bytes, (void)size;
    return true;
#else
    rp__hdf5_cursor c = { bytes + size, 4, false };
    return rp__hdf5_take(&c, 4) == rp__hdf5_lookup3(bytes, size);
#endif
}

/* ---- the head of a file ---- */

rp_result rp__hdf5_open(const void *bytes, size_t size, rp__hdf5_file *file)
{
    static const unsigned char mark[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
    *file = (rp__hdf5_file){ .bytes = bytes, .size = size };
    rp__hdf5_cursor c = rp__hdf5_at(file, 0, size);
    const unsigned char *begin = rp__hdf5_skip(&c, sizeof mark);
    if (!begin || memcmp(begin, mark, sizeof mark) != 0)
        return rp__base_fail(RP_BAD_FILE, "not an HDF5 file");
    uint64_t version = rp__hdf5_take(&c, 1), base, end, of_place, of_length;
    if (version < 2) {
        rp__hdf5_skip(&c, 4); /* versions of other parts */
        of_place = rp__hdf5_take(&c, 1);
        of_length = rp__hdf5_take(&c, 1);
        rp__hdf5_skip(&c, version == 0 ? 9 : 13); /* sizes of nodes, which each node tells itself */
        base = rp__hdf5_take(&c, 8);
        rp__hdf5_skip(&c, 8);
        end = rp__hdf5_take(&c, 8);
        rp__hdf5_skip(&c, 16); /* a block for drivers; the name of the root */
    } else {
        of_place = rp__hdf5_take(&c, 1);
        of_length = rp__hdf5_take(&c, 1);
        rp__hdf5_skip(&c, 1);
        base = rp__hdf5_take(&c, 8);
        rp__hdf5_skip(&c, 8);
        end = rp__hdf5_take(&c, 8);
    }
    file->root = rp__hdf5_take(&c, 8);
    uint64_t length = size - c.left;
    if (version >= 2)
        rp__hdf5_skip(&c, 4);
    if (c.overrun)
        return rp__hdf5_damaged("it is cut short within its head");
    if (version > 3)
        return rp__hdf5_foreign("this version");
    if (version >= 2 && !agrees(begin, length))
        return rp__hdf5_damaged("its head does not agree with its checksum");
    if (of_place != 8 || of_length != 8 || base != 0)
        return rp__hdf5_foreign("places of other than 8 bytes from the beginning");
    if (end > size)
        return rp__hdf5_damaged("it is cut short: it should have %llu bytes, and there are %zu", (unsigned long long)end, size);
    file->size = file->unread = end;
    return RP_OK;
}

/* ---- messages ---- */

typedef struct block {
    uint64_t place, length;
} block;

typedef struct way {
    const rp__hdf5_file *file;
    block *blocks; /* in which messages are; more are found on the way */
    int64_t count, room;
    uint64_t left;
    bool old; /* version 1 */
    bool ordered; /* messages tell the order in which they were made */
} way;

static rp_result add_block(way *w, uint64_t place, uint64_t length)
{
    if (!rp__hdf5_spend(&w->left, length))
        return rp__hdf5_damaged(RP_HDF5_CIRCLE);
    if (!rp__base_grow(&w->blocks, &w->room, w->count + 1, sizeof *w->blocks))
        return RP_OUT_OF_MEMORY;
    w->blocks[w->count++] = (block){ place, length };
    return RP_OK;
}

/* A further block: of the newer objects with a mark before and a checksum behind. */
static rp_result add_continuation(way *w, rp__hdf5_cursor body)
{
    uint64_t place = rp__hdf5_take(&body, 8), length = rp__hdf5_take(&body, 8);
    rp__hdf5_cursor c = rp__hdf5_at(w->file, place, length);
    if (body.overrun || c.overrun)
        return rp__hdf5_damaged("an object goes on outside of the file");
    if (w->old)
        return add_block(w, place, length);
    const unsigned char *begin = c.at;
    if (length < 8 || !rp__hdf5_is(&c, "OCHK") || !agrees(begin, length - 4))
        return rp__hdf5_damaged("a part of an object does not agree with its checksum");
    return add_block(w, place + 4, length - 8);
}

static rp_result first_block(way *w, uint64_t object)
{
    rp__hdf5_cursor c = rp__hdf5_at(w->file, object, 16);
    if (c.overrun)
        return rp__hdf5_damaged("an object lies outside of the file");
    w->old = c.at[0] == 1;
    if (w->old) {
        rp__hdf5_skip(&c, 8);
        return add_block(w, object + 16, rp__hdf5_take(&c, 4));
    }
    c = rp__hdf5_at(w->file, object, w->file->size - object);
    const unsigned char *begin = c.at;
    if (!rp__hdf5_is(&c, "OHDR") || rp__hdf5_take(&c, 1) != 2)
        return rp__hdf5_damaged("there is no object where one should be");
    uint64_t flags = rp__hdf5_take(&c, 1);
    w->ordered = (flags & 4) != 0;
    rp__hdf5_skip(&c, ((flags & 0x20) ? 16 : 0) + ((flags & 0x10) ? 4 : 0)); /* times; numbers of attributes */
    uint64_t length = rp__hdf5_take(&c, 1u << (flags & 3)), place = object + (uint64_t)(c.at - begin);
    rp__hdf5_skip(&c, length);
    uint64_t whole = (uint64_t)(c.at - begin);
    rp__hdf5_skip(&c, 4);
    if (c.overrun || !agrees(begin, whole))
        return rp__hdf5_damaged("an object does not agree with its checksum");
    return add_block(w, place, length);
}

static rp_result visit_block(way *w, block b, rp__hdf5_visit *visit, void *context)
{
    rp__hdf5_cursor c = rp__hdf5_at(w->file, b.place, b.length);
    uint64_t head = w->old ? 8 : w->ordered ? 6 : 4;
    while (c.left >= head) {
        rp__hdf5_cursor h = rp__hdf5_part(&c, head);
        rp__hdf5_message m = { .type = (unsigned)rp__hdf5_take(&h, w->old ? 2 : 1) };
        uint64_t size = rp__hdf5_take(&h, 2);
        m.shared = (rp__hdf5_take(&h, 1) & 2) != 0;
        m.body = rp__hdf5_part(&c, size);
        if (m.body.overrun)
            return rp__hdf5_damaged("a message of an object is longer than the object");
        RP_TRY(m.type == RP_HDF5_CONTINUATION ? add_continuation(w, m.body) : visit(m, context));
    }
    return c.overrun ? rp__hdf5_damaged("an object lies outside of the file") : RP_OK;
}

rp_result rp__hdf5_each_message(const rp__hdf5_file *file, uint64_t object, rp__hdf5_visit *visit, void *context)
{
    way w = { .file = file, .left = file->size };
    rp_result result = first_block(&w, object);
    for (int64_t k = 0; k < w.count && result == RP_OK; k++)
        result = visit_block(&w, w.blocks[k], visit, context);
    rp__base_free(w.blocks);
    return result;
}
