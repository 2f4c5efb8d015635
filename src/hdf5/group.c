/* What is in a group: the older form has a tree of tables and a heap of names, the newer one a message for each link. */
#include "hdf5/inside.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct listing {
    const rp__hdf5_file *file;
    rp__hdf5_links *links;
    rp__hdf5_cursor names; /* bytes of the heap of names */
    uint64_t left;         /* bytes of the file that the way may still take */
    bool group;
} listing;

static rp_result add(listing *l, const char *name, size_t length, uint64_t object)
{
    rp__hdf5_links *links = l->links;
    if (!rp__base_grow(&links->link, &links->room, links->count + 1, sizeof *links->link))
        return RP_OUT_OF_MEMORY;
    links->link[links->count++] = (rp__hdf5_link){ name, length, object };
    return RP_OK;
}

/* ---- the older form ---- */

enum { NODE_HEAD = 24, ENTRY = 40, CACHED_NAME = 2 /* a link to a name */ };

/* A table of up to some dozens of links. */
static rp_result read_table(listing *l, uint64_t place)
{
    rp__hdf5_cursor c = rp__hdf5_at(l->file, place, 8);
    bool fine = rp__hdf5_is(&c, "SNOD") && rp__hdf5_take(&c, 1) == 1;
    rp__hdf5_skip(&c, 1);
    uint64_t count = rp__hdf5_take(&c, 2);
    if (!fine || !rp__hdf5_spend(&l->left, 8 + ENTRY * count))
        return fine ? rp__hdf5_damaged(RP_HDF5_CIRCLE) : rp__hdf5_damaged("there is no table of links where one should be");
    c = rp__hdf5_at(l->file, place + 8, ENTRY * count);
    if (c.overrun)
        return rp__hdf5_damaged("a table of links lies outside of the file");
    for (uint64_t k = 0; k < count; k++) {
        rp__hdf5_cursor entry = rp__hdf5_part(&c, ENTRY), names = l->names;
        uint64_t offset = rp__hdf5_take(&entry, 8), object = rp__hdf5_take(&entry, 8), cached = rp__hdf5_take(&entry, 4);
        rp__hdf5_skip(&names, offset);
        const char *name = (const char *)names.at;
        const char *end = names.overrun ? NULL : memchr(name, '\0', names.left);
        if (!end)
            return rp__hdf5_damaged("the name of a link lies outside of its group");
        if (cached != CACHED_NAME)
            RP_TRY(add(l, name, (size_t)(end - name), object));
    }
    return RP_OK;
}

/* A node of the tree; the level falls by one from node to node. */
static rp_result read_node(listing *l, uint64_t place, uint64_t level)
{
    rp__hdf5_cursor c = rp__hdf5_at(l->file, place, NODE_HEAD);
    bool fine = rp__hdf5_is(&c, "TREE") && rp__hdf5_take(&c, 1) == 0;
    uint64_t own = rp__hdf5_take(&c, 1), count = rp__hdf5_take(&c, 2), length = 16 * count + 8;
    if (!fine || (level != RP_HDF5_NOWHERE && own != level))
        return rp__hdf5_damaged("there is no tree of links where one should be");
    if (!rp__hdf5_spend(&l->left, NODE_HEAD + length))
        return rp__hdf5_damaged(RP_HDF5_CIRCLE);
    c = rp__hdf5_at(l->file, place + NODE_HEAD, length);
    if (c.overrun)
        return rp__hdf5_damaged("a tree of links lies outside of the file");
    for (uint64_t k = 0; k < count; k++) {
        rp__hdf5_skip(&c, 8); /* the least name beyond */
        uint64_t child = rp__hdf5_take(&c, 8);
        RP_TRY(own == 0 ? read_table(l, child) : read_node(l, child, own - 1));
    }
    return RP_OK;
}

static rp_result read_symbols(listing *l, rp__hdf5_cursor body)
{
    uint64_t tree = rp__hdf5_take(&body, 8), heap = rp__hdf5_take(&body, 8);
    rp__hdf5_cursor c = rp__hdf5_at(l->file, heap, 32);
    bool fine = !body.overrun && rp__hdf5_is(&c, "HEAP") && rp__hdf5_take(&c, 1) == 0;
    rp__hdf5_skip(&c, 3);
    uint64_t size = rp__hdf5_take(&c, 8);
    rp__hdf5_skip(&c, 8); /* free room */
    l->names = rp__hdf5_at(l->file, rp__hdf5_take(&c, 8), size);
    if (!fine || c.overrun || l->names.overrun)
        return rp__hdf5_damaged("a group has no names");
    l->group = true;
    return read_node(l, tree, RP_HDF5_NOWHERE);
}

/* ---- the newer form ---- */

static rp_result read_link(listing *l, rp__hdf5_cursor body)
{
    uint64_t version = rp__hdf5_take(&body, 1), flags = rp__hdf5_take(&body, 1);
    uint64_t kind = (flags & 8) ? rp__hdf5_take(&body, 1) : 0;
    rp__hdf5_skip(&body, ((flags & 4) ? 8 : 0) + ((flags & 16) ? 1 : 0)); /* order of creation; character set */
    uint64_t length = rp__hdf5_take(&body, 1u << (flags & 3));
    const char *name = (const char *)rp__hdf5_skip(&body, length);
    l->group = true;
    if (version == 1 && !body.overrun && kind != 0)
        return RP_OK;
    uint64_t object = rp__hdf5_take(&body, 8);
    return version == 1 && !body.overrun ? add(l, name, (size_t)length, object) : rp__hdf5_damaged("a link is cut short");
}

static rp_result read_link_info(listing *l, rp__hdf5_cursor body)
{
    rp__hdf5_skip(&body, 1);
    uint64_t flags = rp__hdf5_take(&body, 1);
    rp__hdf5_skip(&body, (flags & 1) ? 8 : 0);
    l->group = true;
    if (rp__hdf5_take(&body, 8) != RP_HDF5_NOWHERE)
        return rp__hdf5_foreign("a group of many links in the newer form");
    return body.overrun ? rp__hdf5_damaged("a group is cut short") : RP_OK;
}

static rp_result visit(rp__hdf5_message m, void *context)
{
    switch (m.type) {
    case RP_HDF5_SYMBOLS: return read_symbols(context, m.body);
    case RP_HDF5_LINK_INFO: return read_link_info(context, m.body);
    case RP_HDF5_LINK: return read_link(context, m.body);
    default: return RP_OK;
    }
}

/* ---- both ---- */

static int by_name(const void *a, const void *b)
{
    const rp__hdf5_link *x = a, *y = b;
    int order = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

void rp__hdf5_links_free(rp__hdf5_links *links)
{
    rp__base_free(links->link);
    *links = (rp__hdf5_links){ 0 };
}

rp_result rp__hdf5_list(const rp__hdf5_file *file, uint64_t group, rp__hdf5_links *links)
{
    *links = (rp__hdf5_links){ 0 };
    listing l = { .file = file, .links = links, .left = file->size };
    rp_result result = rp__hdf5_each_message(file, group, visit, &l);
    if (result == RP_OK && !l.group)
        result = rp__base_fail(RP_BAD_FILE, "no group of HDF5");
    if (links->count > 1)
        qsort(links->link, (size_t)links->count, sizeof *links->link, by_name);
    for (int64_t k = 1; k < links->count && result == RP_OK; k++)
        if (by_name(&links->link[k - 1], &links->link[k]) == 0)
            result = rp__hdf5_damaged("two links of a group have one name");
    if (result != RP_OK)
        rp__hdf5_links_free(links);
    return result;
}

static rp_result step(const rp__hdf5_file *file, uint64_t group, const char *name, size_t length, uint64_t *object)
{
    rp__hdf5_links links;
    RP_TRY(rp__hdf5_list(file, group, &links));
    const rp__hdf5_link wanted = { name, length, 0 };
    const rp__hdf5_link *found = links.count ? bsearch(&wanted, links.link, (size_t)links.count, sizeof wanted, by_name) : NULL;
    if (found)
        *object = found->object;
    rp__hdf5_links_free(&links);
    return found ? RP_OK : rp__base_fail(RP_NOT_FOUND, "there is no '%.*s'", (int)length, name);
}

rp_result rp__hdf5_find(const rp__hdf5_file *file, uint64_t from, const char *path, uint64_t *object)
{
    uint64_t at = from;
    for (const char *name = path; *name;) {
        size_t length = strcspn(name, "/");
        if (length > 0)
            RP_TRY(step(file, at, name, length, &at));
        name += length + (name[length] == '/');
    }
    *object = at;
    return RP_OK;
}
