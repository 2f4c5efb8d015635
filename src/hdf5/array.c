/* Arrays: datasets and attributes. What they are is told by messages for their extent, their type, where their bytes are, and how they
 * were packed. */
#include "hdf5/inside.h"

#include "base/memory.h"

#include <string.h>

/* ---- extent ---- */

static rp_result read_space(rp__hdf5_cursor c, rp__hdf5_array *array)
{
    uint64_t version = rp__hdf5_take(&c, 1), axes = rp__hdf5_take(&c, 1);
    rp__hdf5_skip(&c, 1); /* whether there are largest extents */
    bool nothing = rp__hdf5_take(&c, 1) == 2 && version == 2;
    rp__hdf5_skip(&c, version == 1 ? 4 : 0);
    if (version < 1 || version > 2 || axes > RP_HDF5_AXES)
        return rp__hdf5_damaged("an array has no extent");
    array->axes = (int)axes;
    array->count = nothing ? 0 : 1;
    for (uint64_t k = 0; k < axes; k++) {
        array->dims[k] = rp__hdf5_take(&c, 8);
        if (array->dims[k] != 0 && array->count > (uint64_t)INT64_MAX / array->dims[k])
            return rp__hdf5_damaged("an array claims more than 2^63 elements");
        array->count *= array->dims[k];
    }
    return c.overrun ? rp__hdf5_damaged("the extent of an array is cut short") : RP_OK;
}

/* ---- type ---- */

/* IEEE 754 and nothing else: sign, exponent and fraction where they belong. */
static bool is_ieee(rp__hdf5_cursor *c, uint64_t bits, uint32_t width)
{
    uint64_t offset = rp__hdf5_take(c, 2), precision = rp__hdf5_take(c, 2), exponent_at = rp__hdf5_take(c, 1), exponent = rp__hdf5_take(c, 1);
    uint64_t fraction_at = rp__hdf5_take(c, 1), fraction = rp__hdf5_take(c, 1), bias = rp__hdf5_take(c, 4), sign_at = bits >> 8 & 0xff;
    bool hidden_one = (bits >> 4 & 3) == 2;
    if (offset != 0 || fraction_at != 0 || !hidden_one)
        return false;
    return width == 8 ? precision == 64 && exponent_at == 52 && exponent == 11 && fraction == 52 && bias == 1023 && sign_at == 63
                      : width == 4 && precision == 32 && exponent_at == 23 && exponent == 8 && fraction == 23 && bias == 127 && sign_at == 31;
}

static rp_result read_type(rp__hdf5_cursor c, rp__hdf5_array *array)
{
    enum { FIXED = 0, FLOATING = 1, STRING = 3 };
    uint64_t kind = rp__hdf5_take(&c, 1) & 15, bits = rp__hdf5_take(&c, 3);
    array->width = (uint32_t)rp__hdf5_take(&c, 4);
    array->kind = RP_HDF5_OTHER;
    array->big_endian = (bits & 1) != 0;
    array->has_sign = (bits & 8) != 0;
    uint32_t width = array->width;
    if (kind == FIXED && (width == 1 || width == 2 || width == 4 || width == 8)) {
        if (rp__hdf5_take(&c, 2) == 0 && rp__hdf5_take(&c, 2) == 8 * width)
            array->kind = RP_HDF5_INTEGER;
    } else if (kind == FLOATING && (bits & 0x40) == 0 && is_ieee(&c, bits, width)) {
        array->kind = RP_HDF5_REAL;
    } else if (kind == STRING) {
        array->kind = RP_HDF5_TEXT;
    }
    return c.overrun ? rp__hdf5_damaged("the type of an array is cut short") : RP_OK;
}

/* ---- where the bytes are ---- */

static rp_result read_layout(const rp__hdf5_file *file, rp__hdf5_cursor c, rp__hdf5_array *array)
{
    enum { COMPACT = 0, CONTIGUOUS = 1, CHUNKED = 2 };
    uint64_t version = rp__hdf5_take(&c, 1), kind = rp__hdf5_take(&c, 1);
    if (version < 3 || version > 4 || kind > CHUNKED || (version == 4 && kind == CHUNKED))
        return rp__hdf5_foreign(version < 3 ? "an array in the form of before 2004" : "an array whose chunks are kept in the newer form");
    if (kind == COMPACT) {
        array->layout = RP_HDF5_IN_HEAD;
        array->stored = rp__hdf5_take(&c, 2);
        array->place = (uint64_t)(c.at - file->bytes);
        rp__hdf5_skip(&c, array->stored);
    } else if (kind == CONTIGUOUS) {
        array->layout = RP_HDF5_IN_ONE;
        array->place = rp__hdf5_take(&c, 8);
        array->stored = rp__hdf5_take(&c, 8);
    } else {
        array->layout = RP_HDF5_IN_CHUNKS;
        uint64_t axes = rp__hdf5_take(&c, 1);
        array->place = rp__hdf5_take(&c, 8);
        if (axes < 2 || axes > RP_HDF5_AXES + 1)
            return rp__hdf5_damaged("an array has no extent of its chunks");
        for (uint64_t k = 0; k + 1 < axes; k++)
            array->chunk[k] = rp__hdf5_take(&c, 4);
        array->stored = axes - 1; /* compared with the extent when all messages are there */
    }
    return c.overrun ? rp__hdf5_damaged("the place of an array is cut short") : RP_OK;
}

static rp_result read_pipeline(rp__hdf5_cursor c, rp__hdf5_array *array)
{
    uint64_t version = rp__hdf5_take(&c, 1), count = rp__hdf5_take(&c, 1), seen = 0;
    rp__hdf5_skip(&c, version == 1 ? 6 : 0);
    if (version < 1 || version > 2)
        return rp__hdf5_damaged("the packing of an array has no version");
    array->filter_count = 0;
    for (uint64_t k = 0; k < count && !c.overrun; k++) {
        uint64_t id = rp__hdf5_take(&c, 2);
        uint64_t name = version == 1 || id >= 256 ? rp__hdf5_take(&c, 2) : 0;
        rp__hdf5_skip(&c, 2); /* whether it may be left out: every chunk tells whether it was */
        uint64_t values = rp__hdf5_take(&c, 2);
        rp__hdf5_skip(&c, version == 1 ? (name + 7) / 8 * 8 : name);
        rp__hdf5_skip(&c, 4 * (version == 1 ? (values + 1) / 2 * 2 : values));
        if (id < RP_HDF5_DEFLATE || id > RP_HDF5_FLETCHER32 || (seen >> id & 1))
            return rp__hdf5_foreign("an array packed by other than deflate, shuffle and fletcher32");
        seen |= 1u << id;
        array->filters[array->filter_count++] = (rp__hdf5_filter)id;
    }
    return c.overrun ? rp__hdf5_damaged("the packing of an array is cut short") : RP_OK;
}

typedef struct description {
    const rp__hdf5_file *file;
    rp__hdf5_array *array;
    bool space, type, layout;
} description;

static rp_result describe(rp__hdf5_message m, void *context)
{
    description *d = context;
    bool wanted = m.type == RP_HDF5_SPACE || m.type == RP_HDF5_TYPE || m.type == RP_HDF5_LAYOUT || m.type == RP_HDF5_PIPELINE;
    if (m.type == RP_HDF5_EXTERNAL)
        return rp__base_fail(RP_BAD_FILE, "keeps its numbers in another file");
    if (wanted && m.shared)
        return rp__hdf5_foreign("an array that shares its type with others");
    switch (m.type) {
    case RP_HDF5_SPACE: d->space = true; return read_space(m.body, d->array);
    case RP_HDF5_TYPE: d->type = true; return read_type(m.body, d->array);
    case RP_HDF5_LAYOUT: d->layout = true; return read_layout(d->file, m.body, d->array);
    case RP_HDF5_PIPELINE: return read_pipeline(m.body, d->array);
    default: return RP_OK;
    }
}

rp_result rp__hdf5_describe(const rp__hdf5_file *file, uint64_t object, rp__hdf5_array *array)
{
    *array = (rp__hdf5_array){ 0 };
    description d = { .file = file, .array = array };
    RP_TRY(rp__hdf5_each_message(file, object, describe, &d));
    if (!d.space || !d.type || !d.layout)
        return rp__base_fail(RP_BAD_FILE, "no array of HDF5");
    if (array->width == 0)
        return rp__hdf5_damaged("an array has elements of no size");
    if (array->layout != RP_HDF5_IN_CHUNKS)
        return RP_OK;
    bool fine = array->stored == (uint64_t)array->axes;
    for (int k = 0; k < array->axes && fine; k++)
        fine = array->chunk[k] > 0;
    return fine ? RP_OK : rp__hdf5_damaged("an array and its chunks have different extents");
}

/* ---- the bytes ---- */

bool rp__hdf5_is_written(const rp__hdf5_array *array)
{
    return array->place != RP_HDF5_NOWHERE;
}

rp_result rp__hdf5_load(rp__hdf5_file *file, rp__hdf5_array *array)
{
    static const unsigned char none[1];
    if (array->count == 0) {
        array->bytes = none;
        return RP_OK;
    }
    if (!rp__hdf5_is_written(array) || array->count > (uint64_t)INT64_MAX / array->width)
        return rp__base_fail(RP_BAD_FILE, "claims more numbers than the file holds");
    if (array->layout == RP_HDF5_IN_CHUNKS)
        return rp__hdf5_load_chunks(file, array);
    rp__hdf5_cursor c = rp__hdf5_at(file, array->place, array->stored);
    if (c.overrun || array->stored < array->count * array->width)
        return rp__base_fail(RP_BAD_FILE, "claims more numbers than the file holds");
    if (!rp__hdf5_spend(&file->unread, array->stored))
        return rp__hdf5_damaged("its arrays overlap");
    array->bytes = c.at;
    return RP_OK;
}

void rp__hdf5_release(rp__hdf5_array *array)
{
    rp__base_free(array->own);
    array->own = NULL;
    array->bytes = NULL;
}

/* ---- attributes ---- */

typedef struct attributes {
    rp__hdf5_on_attribute *on;
    void *context;
} attributes;

static rp_result read_attribute(rp__hdf5_message m, void *context)
{
    const attributes *all = context;
    rp__hdf5_cursor c = m.body;
    if (m.type == RP_HDF5_ATTRIBUTE_INFO) {
        rp__hdf5_skip(&c, 1);
        uint64_t flags = rp__hdf5_take(&c, 1);
        rp__hdf5_skip(&c, (flags & 1) ? 2 : 0);
        return rp__hdf5_take(&c, 8) == RP_HDF5_NOWHERE ? RP_OK : rp__hdf5_foreign("an object of many attributes in the newer form");
    }
    if (m.type != RP_HDF5_ATTRIBUTE || m.shared)
        return RP_OK;
    uint64_t version = rp__hdf5_take(&c, 1), flags = rp__hdf5_take(&c, 1);
    uint64_t of_name = rp__hdf5_take(&c, 2), of_type = rp__hdf5_take(&c, 2), of_space = rp__hdf5_take(&c, 2);
    uint64_t unit = version == 1 ? 8 : 1; /* parts begin at multiples of it */
    rp__hdf5_skip(&c, version == 3 ? 1 : 0);
    const char *name = (const char *)rp__hdf5_skip(&c, (of_name + unit - 1) / unit * unit);
    rp__hdf5_cursor type = rp__hdf5_part(&c, (of_type + unit - 1) / unit * unit), space = rp__hdf5_part(&c, (of_space + unit - 1) / unit * unit);
    if (version < 1 || version > 3 || c.overrun || !memchr(name, '\0', (size_t)of_name))
        return rp__hdf5_damaged("an attribute is cut short");
    if (version > 1 && (flags & 3) != 0) /* its type is elsewhere */
        return RP_OK;
    rp__hdf5_array array = { 0 };
    RP_TRY(read_space(space, &array));
    RP_TRY(read_type(type, &array));
    if (array.width == 0 || array.count > c.left / array.width)
        return rp__hdf5_damaged("attribute '%s' is cut short", name);
    array.bytes = c.at;
    return all->on(name, &array, all->context);
}

rp_result rp__hdf5_attributes(const rp__hdf5_file *file, uint64_t object, rp__hdf5_on_attribute *on, void *context)
{
    attributes all = { on, context };
    return rp__hdf5_each_message(file, object, read_attribute, &all);
}

typedef struct search {
    const char *name;
    rp__hdf5_array *array;
    bool found;
} search;

static rp_result compare(const char *name, const rp__hdf5_array *array, void *context)
{
    search *s = context;
    if (!s->found && strcmp(name, s->name) == 0) {
        s->found = true;
        *s->array = *array;
    }
    return RP_OK;
}

rp_result rp__hdf5_attribute(const rp__hdf5_file *file, uint64_t object, const char *name, rp__hdf5_array *array)
{
    search s = { .name = name, .array = array };
    RP_TRY(rp__hdf5_attributes(file, object, compare, &s));
    return s.found ? RP_OK : rp__base_fail(RP_NOT_FOUND, "there is no attribute '%s'", name);
}
