/* Arrays in chunks: a tree tells where each chunk is; its bytes may have been shuffled, deflated and summed. The chunks of an array come in
 * order, so none is there twice when their number is right; what they hold is told by what is stored before memory is asked for. */
#include "hdf5/inside.h"

#include "base/memory.h"

#include <string.h>
#include <zlib.h>

/* Deflate makes of two bits at most the longest run it knows, of 258 bytes. */
enum { MOST_OF_A_BYTE = 258 * 8 / 2 };

typedef struct unpacking {
    const rp__hdf5_file *file;
    const rp__hdf5_array *array;
    uint64_t of_chunk;       /* bytes of a whole chunk, unpacked */
    uint64_t left;           /* of the way through the tree */
    uint64_t found, stored;  /* chunks so far, and their bytes in the file */
    uint64_t last[RP_HDF5_AXES];
    unsigned char *out;      /* NULL: chunks are counted, not unpacked */
    unsigned char *room[2];  /* of a chunk and its sum */
} unpacking;

/* ---- filters, undone ---- */

static rp_result check_fletcher(const unsigned char *bytes, uint64_t length)
{
    uint32_t a = 0, b = 0;
    uint64_t words = length / 2;
    for (uint64_t k = 0; k < words; k++) {
        a = (a + ((uint32_t)bytes[2 * k] << 8 | bytes[2 * k + 1])) % 65535;
        b = (b + a) % 65535;
    }
    if (length % 2) {
        a = (a + ((uint32_t)bytes[length - 1] << 8)) % 65535;
        b = (b + a) % 65535;
    }
    rp__hdf5_cursor c = { bytes + length, 4, false };
    uint64_t told = rp__hdf5_take(&c, 4);
    /* a sum of 0 is the same as 65535 */
    bool same = (told & 0xffff) % 65535 == a && (told >> 16) % 65535 == b;
    return same ? RP_OK : rp__hdf5_damaged("a chunk of an array does not agree with its checksum");
}

static void *inflate_room(void *context, unsigned count, unsigned size)
{
    (void)context;
    return rp__base_alloc_array(count, size);
}

static void inflate_free(void *context, void *pointer)
{
    (void)context;
    rp__base_free(pointer);
}

static rp_result undo_deflate(const unsigned char *bytes, uint64_t *length, unsigned char *out, uint64_t room)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)*length, .next_out = out, .avail_out = (uInt)room,
                   .zalloc = inflate_room, .zfree = inflate_free };
    if (inflateInit(&z) != Z_OK)
        return RP_OUT_OF_MEMORY;
    int ended = inflate(&z, Z_FINISH);
    *length = room - z.avail_out;
    inflateEnd(&z);
    if (ended == Z_MEM_ERROR)
        return RP_OUT_OF_MEMORY;
    return ended == Z_STREAM_END ? RP_OK : rp__hdf5_damaged("a chunk of an array cannot be unpacked");
}

/* Byte k of all elements stood together; bytes beyond the last element stayed behind. */
static void undo_shuffle(const unsigned char *bytes, uint64_t length, uint32_t width, unsigned char *out)
{
    uint64_t elements = length / width;
    for (uint32_t k = 0; k < width; k++)
        for (uint64_t i = 0; i < elements; i++)
            out[i * width + k] = bytes[k * elements + i];
    memcpy(out + elements * width, bytes + elements * width, (size_t)(length - elements * width));
}

/* The bytes of a chunk, of exactly the size that a chunk has: in the file itself where nothing was packed. */
static rp_result unpack(unpacking *u, const unsigned char *bytes, uint64_t length, uint64_t skipped, const unsigned char **whole)
{
    const rp__hdf5_array *a = u->array;
    int turn = 0;
    for (int k = a->filter_count; k-- > 0;) {
        if (skipped >> k & 1)
            continue;
        unsigned char *to = u->room[turn];
        switch (a->filters[k]) {
        case RP_HDF5_FLETCHER32:
            if (length < 4)
                return rp__hdf5_damaged("a chunk of an array has no checksum");
            length -= 4;
            RP_TRY(check_fletcher(bytes, length));
            continue;
        case RP_HDF5_DEFLATE: RP_TRY(undo_deflate(bytes, &length, to, u->of_chunk + 4)); break;
        case RP_HDF5_SHUFFLE:
            if (length > u->of_chunk + 4)
                return rp__hdf5_damaged("a chunk of an array is too long");
            undo_shuffle(bytes, length, a->width, to);
            break;
        }
        bytes = to;
        turn = 1 - turn;
    }
    *whole = bytes;
    return length == u->of_chunk ? RP_OK : rp__hdf5_damaged("a chunk of an array has another size than chunks have");
}

/* Rows of a chunk to where they belong; what stands out beyond the array is left away. */
static void place_chunk(const unpacking *u, const uint64_t *first, const unsigned char *bytes)
{
    const rp__hdf5_array *a = u->array;
    int last = a->axes - 1;
    uint64_t at[RP_HDF5_AXES] = { 0 }, room = a->dims[last] - first[last];
    size_t row = (size_t)((a->chunk[last] < room ? a->chunk[last] : room) * a->width);
    for (;;) {
        uint64_t to = 0, from = 0;
        for (int k = 0; k <= last; k++) {
            to = to * a->dims[k] + first[k] + at[k];
            from = from * a->chunk[k] + at[k];
        }
        memcpy(u->out + to * a->width, bytes + from * a->width, row);
        int k = last - 1;
        while (k >= 0 && (++at[k] == a->chunk[k] || first[k] + at[k] == a->dims[k]))
            at[k--] = 0;
        if (k < 0)
            return;
    }
}

/* ---- the tree ---- */

static rp_result take_chunk(unpacking *u, const uint64_t *first, uint64_t place, uint64_t length, uint64_t skipped)
{
    const rp__hdf5_array *a = u->array;
    int order = u->found == 0 ? 1 : 0; /* of this chunk against the last one */
    for (int k = 0; k < a->axes; k++) {
        if (first[k] % a->chunk[k] != 0 || first[k] >= a->dims[k])
            return rp__hdf5_damaged("a chunk lies outside of its array");
        if (order == 0)
            order = first[k] > u->last[k] ? 1 : first[k] < u->last[k] ? -1 : 0;
        u->last[k] = first[k];
    }
    rp__hdf5_cursor c = rp__hdf5_at(u->file, place, length);
    if (order <= 0 || c.overrun || !rp__hdf5_spend(&u->left, length))
        return rp__hdf5_damaged("chunks of an array are out of order, or outside of the file");
    u->found++;
    u->stored += length;
    bool deflated = false;
    for (int k = 0; k < a->filter_count; k++)
        deflated |= a->filters[k] == RP_HDF5_DEFLATE && !(skipped >> k & 1);
    if ((deflated ? length * MOST_OF_A_BYTE : length) < u->of_chunk)
        return rp__base_fail(RP_BAD_FILE, "claims more numbers than the file holds");
    if (!u->out)
        return RP_OK;
    const unsigned char *whole = NULL;
    RP_TRY(unpack(u, c.at, length, skipped, &whole));
    place_chunk(u, first, whole);
    return RP_OK;
}

static rp_result read_node(unpacking *u, uint64_t place, uint64_t level)
{
    const rp__hdf5_array *a = u->array;
    rp__hdf5_cursor c = rp__hdf5_at(u->file, place, 24);
    bool fine = rp__hdf5_is(&c, "TREE") && rp__hdf5_take(&c, 1) == 1;
    uint64_t own = rp__hdf5_take(&c, 1), count = rp__hdf5_take(&c, 2), key = 8 + 8 * ((uint64_t)a->axes + 1);
    if (!fine || (level != RP_HDF5_NOWHERE && own != level))
        return rp__hdf5_damaged("there is no tree of chunks where one should be");
    uint64_t length = count * (key + 8);
    c = rp__hdf5_at(u->file, place + 24, length);
    if (c.overrun || !rp__hdf5_spend(&u->left, 24 + length))
        return rp__hdf5_damaged("a tree of chunks lies outside of the file, or leads in a circle");
    for (uint64_t k = 0; k < count; k++) {
        uint64_t first[RP_HDF5_AXES], stored = rp__hdf5_take(&c, 4), skipped = rp__hdf5_take(&c, 4);
        for (int i = 0; i < a->axes; i++)
            first[i] = rp__hdf5_take(&c, 8);
        rp__hdf5_skip(&c, 8);
        uint64_t child = rp__hdf5_take(&c, 8);
        RP_TRY(own == 0 ? take_chunk(u, first, child, stored, skipped) : read_node(u, child, own - 1));
    }
    return RP_OK;
}

static rp_result read_tree(unpacking *u)
{
    u->left = u->file->size;
    u->found = u->stored = 0;
    return read_node(u, u->array->place, RP_HDF5_NOWHERE);
}

static rp_result unpack_all(unpacking *u, rp__hdf5_array *array)
{
    for (int k = 0; k < 2 && array->filter_count > 0; k++)
        u->room[k] = rp__base_alloc((size_t)u->of_chunk + 4);
    array->own = rp__base_alloc_array((size_t)array->count, array->width);
    u->out = array->own;
    if (!u->out || (array->filter_count > 0 && (!u->room[0] || !u->room[1])))
        return RP_OUT_OF_MEMORY;
    array->bytes = u->out;
    return read_tree(u);
}

rp_result rp__hdf5_load_chunks(rp__hdf5_file *file, rp__hdf5_array *array)
{
    unpacking u = { .file = file, .array = array, .of_chunk = array->width };
    uint64_t wanted = 1;
    for (int k = 0; k < array->axes; k++) {
        if (u.of_chunk > (UINT32_MAX - 8) / array->chunk[k]) /* the format has no larger chunks */
            return rp__base_fail(RP_BAD_FILE, "claims more numbers than the file holds");
        u.of_chunk *= array->chunk[k];
        wanted *= (array->dims[k] - 1) / array->chunk[k] + 1; /* at most the number of elements */
    }
    RP_TRY(read_tree(&u));
    if (u.found != wanted)
        return rp__base_fail(RP_BAD_FILE, "claims more numbers than the file holds");
    if (!rp__hdf5_spend(&file->unread, u.stored))
        return rp__hdf5_damaged("its arrays overlap");
    rp_result result = unpack_all(&u, array);
    for (int k = 0; k < 2; k++)
        rp__base_free(u.room[k]);
    if (result != RP_OK)
        rp__hdf5_release(array);
    return result;
}
