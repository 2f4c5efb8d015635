#include "particles/particles.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <assert.h>
#include <string.h>

/* Planes of one field lie `capacity` elements apart. Were that a multiple of a page, the same particle would fall in
 * the same cache set in every plane, and a kernel that walks sixteen planes would evict itself: large capacities are
 * a multiple of a page plus PLANE_SHIFT elements. */
enum { PAGE_ELEMENTS = 512, PLANE_SHIFT = 24, LARGE = 4 * PAGE_ELEMENTS };

/* The most particles a store may be asked to hold: byte counts then stay far from overflow. */
static const int64_t most_particles = INT64_MAX / 4096;

enum { GATHER_GRAIN = 1 << 14 };

size_t rp__particles_type_size(rp_type type)
{
    switch (type) {
    case RP_F64: return sizeof(double);
    case RP_F32: return sizeof(float);
    case RP_I64: return sizeof(int64_t);
    case RP_I32: return sizeof(int32_t);
    }
    assert(!"a type of field");
    return 0;
}

static size_t element_size(const rp__particles *p, int field)
{
    return rp__particles_type_size(p->info[field].type);
}

void *rp__particles_plane(const rp__particles *p, int field, int component)
{
    assert(field >= 0 && field < p->fields && component >= 0 && component < p->info[field].components);
    return (char *)p->data[field] + (size_t)component * (size_t)p->capacity * element_size(p, field);
}

/* The common fields come first, in the order of the table. */
enum {
#define F(type, ctype, name, components, unit, saved) FIELD_##name,
    RP_PARTICLE_FIELDS(F)
#undef F
};

static void update_planes(rp__particles *p)
{
    for (int a = 0; a < 3; a++) {
        p->x[a] = rp__particles_plane(p, FIELD_position, a);
        p->v[a] = rp__particles_plane(p, FIELD_velocity, a);
    }
    p->volume = rp__particles_plane(p, FIELD_volume, 0);
    p->mass = rp__particles_plane(p, FIELD_mass, 0);
    p->material = rp__particles_plane(p, FIELD_material, 0);
    p->id = rp__particles_plane(p, FIELD_id, 0);
}

rp_result rp__particles_init(rp__particles *p)
{
    static const rp_field_info common[] = {
#define F(type, ctype, name, components, unit, saved) { #name, type, components, unit, saved },
        RP_PARTICLE_FIELDS(F)
#undef F
    };
    memset(p, 0, sizeof *p);
    for (size_t f = 0; f < sizeof common / sizeof common[0]; f++) {
        rp_result result = rp__particles_add_field(p, &common[f], NULL);
        if (result != RP_OK) {
            rp__particles_free(p);
            return result;
        }
    }
    update_planes(p);
    return RP_OK;
}

void rp__particles_free(rp__particles *p)
{
    for (int f = 0; f < p->fields; f++)
        rp__base_free(p->data[f]);
    rp__base_free(p->spare);
    memset(p, 0, sizeof *p);
}

rp_result rp__particles_add_field(rp__particles *p, const rp_field_info *info, int *index)
{
    if (!info->name || !info->name[0] || info->components < 1 || info->components > 64)
        return rp__base_fail(RP_BAD_ARGUMENT, "particle field \"%s\" with %d components: a field has a name and 1 to 64 components",
                             info->name ? info->name : "", info->components);
    if (rp__particles_find(p, info->name) >= 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "particle field \"%s\" exists already: choose another name", info->name);
    if (p->fields == RP_PARTICLES_MAX_FIELDS)
        return rp__base_fail(RP_TOO_LARGE, "particle field \"%s\": there are %d fields already, the most a store holds", info->name,
                             p->fields);
    void *data = rp__base_alloc_array((size_t)p->capacity * (size_t)info->components, rp__particles_type_size(info->type));
    if (!data)
        return RP_OUT_OF_MEMORY;
    p->info[p->fields] = *info;
    p->data[p->fields] = data;
    if (index)
        *index = p->fields;
    p->fields++;
    return RP_OK;
}

int rp__particles_find(const rp__particles *p, const char *name)
{
    for (int f = 0; f < p->fields; f++)
        if (strcmp(p->info[f].name, name) == 0)
            return f;
    return -1;
}

static int64_t round_capacity(int64_t wanted)
{
    if (wanted <= LARGE)
        return (wanted + 15) / 16 * 16;
    return (wanted - PLANE_SHIFT + PAGE_ELEMENTS - 1) / PAGE_ELEMENTS * PAGE_ELEMENTS + PLANE_SHIFT;
}

rp_result rp__particles_reserve(rp__particles *p, int64_t capacity)
{
    if (capacity <= p->capacity)
        return RP_OK;
    if (capacity > most_particles)
        return rp__base_fail(RP_TOO_LARGE, "%lld particles asked for: at most %lld can be held", (long long)capacity,
                             (long long)most_particles);
    capacity = round_capacity(capacity);
    void *moved[RP_PARTICLES_MAX_FIELDS];
    for (int f = 0; f < p->fields; f++) {
        size_t size = element_size(p, f);
        int components = p->info[f].components;
        moved[f] = rp__base_alloc_array((size_t)capacity * (size_t)components, size);
        if (!moved[f]) {
            while (f-- > 0)
                rp__base_free(moved[f]);
            return RP_OUT_OF_MEMORY;
        }
        for (int c = 0; c < components && p->count > 0; c++)
            memcpy((char *)moved[f] + (size_t)c * (size_t)capacity * size, rp__particles_plane(p, f, c), (size_t)p->count * size);
    }
    for (int f = 0; f < p->fields; f++) {
        rp__base_free(p->data[f]);
        p->data[f] = moved[f];
    }
    p->capacity = capacity;
    update_planes(p);
    return RP_OK;
}

rp_result rp__particles_append(rp__particles *p, int64_t count, int64_t *first)
{
    if (count < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "%lld particles to append: the number must not be negative", (long long)count);
    if (count > most_particles - p->count)
        return rp__base_fail(RP_TOO_LARGE, "%lld particles more than the %lld there are: at most %lld can be held",
                             (long long)count, (long long)p->count, (long long)most_particles);
    int64_t needed = p->count + count;
    if (needed > p->capacity) {
        int64_t ample = p->capacity + p->capacity / 2;
        RP_TRY(rp__particles_reserve(p, needed > ample ? needed : ample));
    }
    for (int f = 0; f < p->fields; f++) {
        size_t size = element_size(p, f);
        for (int c = 0; c < p->info[f].components; c++)
            memset((char *)rp__particles_plane(p, f, c) + (size_t)p->count * size, 0, (size_t)count * size);
    }
    for (int64_t i = 0; i < count; i++)
        p->id[p->count + i] = p->next_id + i;
    if (first)
        *first = p->count;
    p->next_id += count;
    p->count = needed;
    return RP_OK;
}

void rp__particles_copy_one(rp__particles *p, int64_t from, int64_t to)
{
    assert(from >= 0 && from < p->count && to >= 0 && to < p->count);
    if (from == to)
        return;
    for (int f = 0; f < p->fields; f++) {
        size_t size = element_size(p, f);
        for (int c = 0; c < p->info[f].components; c++) {
            char *plane = rp__particles_plane(p, f, c);
            memcpy(plane + (size_t)to * size, plane + (size_t)from * size, size);
        }
    }
}

/* ---- removal: each plane is closed up by itself ---- */

typedef struct removal {
    rp__particles *p;
    const unsigned char *remove;
    int64_t first; /* the first that goes */
} removal;

static void close_up(char *plane, size_t size, const removal *r)
{
    int64_t kept = r->first;
    for (int64_t i = r->first; i < r->p->count; i++) {
        if (r->remove[i])
            continue;
        if (size == 8)
            memcpy(plane + kept * 8, plane + i * 8, 8);
        else
            memcpy(plane + kept * 4, plane + i * 4, 4);
        kept++;
    }
}

static void close_fields(void *context, int64_t begin, int64_t end, int worker)
{
    const removal *r = context;
    (void)worker;
    for (int64_t f = begin; f < end; f++)
        for (int c = 0; c < r->p->info[f].components; c++)
            close_up(rp__particles_plane(r->p, (int)f, c), element_size(r->p, (int)f), r);
}

int64_t rp__particles_remove(rp__particles *p, const unsigned char *remove)
{
    removal r = { .p = p, .remove = remove, .first = p->count };
    int64_t gone = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (!remove[i])
            continue;
        if (gone == 0)
            r.first = i;
        gone++;
    }
    if (gone == 0)
        return 0;
    rp__exec_for(p->fields, 1, close_fields, &r);
    p->count -= gone;
    return gone;
}

/* ---- permutation: plane by plane through the spare plane ---- */

/* Elements are moved as bits, whatever their type. */
typedef uint64_t __attribute__((may_alias)) bits64;
typedef uint32_t __attribute__((may_alias)) bits32;

typedef struct gather {
    char *plane, *spare;
    const int64_t *order;
    int64_t first; /* particles before it stay where they are */
    size_t size;
} gather;

static void gather_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const gather *g = context;
    const int64_t *restrict order = g->order + g->first;
    (void)worker;
    if (g->size == 8) {
        const bits64 *restrict from = (const bits64 *)(const void *)g->plane;
        bits64 *restrict to = (bits64 *)(void *)g->spare;
        for (int64_t i = begin; i < end; i++)
            to[i] = from[order[i]];
    } else {
        const bits32 *restrict from = (const bits32 *)(const void *)g->plane;
        bits32 *restrict to = (bits32 *)(void *)g->spare;
        for (int64_t i = begin; i < end; i++)
            to[i] = from[order[i]];
    }
}

static void copy_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const gather *g = context;
    (void)worker;
    memcpy(g->plane + (size_t)(g->first + begin) * g->size, g->spare + (size_t)begin * g->size, (size_t)(end - begin) * g->size);
}

rp_result rp__particles_permute(rp__particles *p, const int64_t *order)
{
    int64_t first = 0, last = p->count;
    while (first < last && order[first] == first)
        first++;
    if (first == last)
        return RP_OK;
    while (order[last - 1] == last - 1)
        last--;
    size_t needed = (size_t)(last - first) * sizeof(uint64_t);
    if (needed > p->spare_size) {
        void *spare = rp__base_alloc((size_t)p->capacity * sizeof(uint64_t));
        if (!spare)
            return RP_OUT_OF_MEMORY;
        rp__base_free(p->spare);
        p->spare = spare;
        p->spare_size = (size_t)p->capacity * sizeof(uint64_t);
    }
    for (int f = 0; f < p->fields; f++) {
        for (int c = 0; c < p->info[f].components; c++) {
            gather g = { .plane = rp__particles_plane(p, f, c), .spare = p->spare, .order = order, .first = first,
                         .size = element_size(p, f) };
            rp__exec_for(last - first, GATHER_GRAIN, gather_chunk, &g);
            rp__exec_for(last - first, GATHER_GRAIN, copy_chunk, &g);
        }
    }
    return RP_OK;
}

rp_field_view rp__particles_view(const rp__particles *p, int field)
{
    assert(field >= 0 && field < p->fields);
    return (rp_field_view){ .info = p->info[field], .data = p->data[field], .count = p->count, .stride = p->capacity };
}
