/* Inside of the reader of HDF5: bytes that are taken one after another and never beyond their end. */
#ifndef RP_HDF5_INSIDE_H
#define RP_HDF5_INSIDE_H

#include "base/error.h"
#include "hdf5/hdf5.h"

#define RP_HDF5_NOWHERE UINT64_MAX /* the place of what was never written */

#define rp__hdf5_damaged(...) (rp__base_set_error("damaged HDF5: " __VA_ARGS__), rp__base_result(RP_BAD_FILE))
/* Sound, but written in a way that is not read here. */
#define rp__hdf5_foreign(what) \
    (rp__base_set_error("%s of HDF5 is not read here; h5repack --low=0 --high=0 makes a file without", what), rp__base_result(RP_BAD_FILE))

typedef struct rp__hdf5_cursor {
    const unsigned char *at;
    uint64_t left;
    bool overrun; /* more was asked for than there was; what was given then is 0 */
} rp__hdf5_cursor;

/* `count` bytes, or NULL. */
static inline const unsigned char *rp__hdf5_skip(rp__hdf5_cursor *c, uint64_t count)
{
    if (count > c->left || !c->at) {
        c->overrun = true;
        c->left = 0;
        return NULL;
    }
    const unsigned char *at = c->at;
    c->at += count;
    c->left -= count;
    return at;
}

/* A little-endian number of 1 to 8 bytes. */
static inline uint64_t rp__hdf5_take(rp__hdf5_cursor *c, unsigned bytes)
{
    const unsigned char *at = rp__hdf5_skip(c, bytes);
    uint64_t value = 0;
    for (unsigned k = 0; at && k < bytes; k++)
        value |= (uint64_t)at[k] << 8 * k;
    return value;
}

static inline rp__hdf5_cursor rp__hdf5_part(rp__hdf5_cursor *c, uint64_t count)
{
    const unsigned char *at = rp__hdf5_skip(c, count);
    return (rp__hdf5_cursor){ at, at ? count : 0, !at };
}

/* The bytes of the file at a place; an overrun when they are not all there. */
static inline rp__hdf5_cursor rp__hdf5_at(const rp__hdf5_file *file, uint64_t place, uint64_t count)
{
    if (place > file->size || count > file->size - place)
        return (rp__hdf5_cursor){ NULL, 0, true };
    return (rp__hdf5_cursor){ file->bytes + place, count, false };
}

static inline bool rp__hdf5_is(rp__hdf5_cursor *c, const char four[4])
{
    const unsigned char *at = rp__hdf5_skip(c, 4);
    return at && at[0] == (unsigned char)four[0] && at[1] == (unsigned char)four[1] && at[2] == (unsigned char)four[2] &&
           at[3] == (unsigned char)four[3];
}

/* A way through parts of the file may not be longer than the file: parts that overlap or lead back end it. */
static inline bool rp__hdf5_spend(uint64_t *way, uint64_t bytes)
{
    if (bytes > *way)
        return false;
    *way -= bytes;
    return true;
}
#define RP_HDF5_CIRCLE "its parts overlap, or lead in a circle"

/* ---- messages of an object ---- */

enum {
    RP_HDF5_SPACE = 0x01,
    RP_HDF5_LINK_INFO = 0x02,
    RP_HDF5_TYPE = 0x03,
    RP_HDF5_LINK = 0x06,
    RP_HDF5_EXTERNAL = 0x07,
    RP_HDF5_LAYOUT = 0x08,
    RP_HDF5_PIPELINE = 0x0B,
    RP_HDF5_ATTRIBUTE = 0x0C,
    RP_HDF5_CONTINUATION = 0x10,
    RP_HDF5_SYMBOLS = 0x11,
    RP_HDF5_ATTRIBUTE_INFO = 0x15,
};

typedef struct rp__hdf5_message {
    unsigned type;
    bool shared; /* the message itself is elsewhere */
    rp__hdf5_cursor body;
} rp__hdf5_message;

/* Other than RP_OK ends the way through the messages. */
typedef rp_result rp__hdf5_visit(rp__hdf5_message message, void *context);
rp_result rp__hdf5_each_message(const rp__hdf5_file *file, uint64_t object, rp__hdf5_visit *visit, void *context);

/* Bob Jenkins' lookup3 of bytes, as HDF5 protects its newer structures. */
uint32_t rp__hdf5_lookup3(const unsigned char *bytes, uint64_t size);

rp_result rp__hdf5_load_chunks(rp__hdf5_file *file, rp__hdf5_array *array);

#endif
