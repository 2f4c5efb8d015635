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

rp_result rp__particles_start(rp__particles *p, double *points, int64_t count)
{
    assert(p->count == 0 && p->capacity == 0);
    if (count > most_particles) {
        rp__base_free(points);
        return rp__base_fail(RP_TOO_LARGE, "%lld particles asked for: at most %lld can be held", (long long)count,
                             (long long)most_particles);
    }
    int64_t capacity = round_capacity(count);
    void *made[RP_PARTICLES_MAX_FIELDS] = { NULL };
    double *x = made[FIELD_position] = rp__base_alloc_array(3 * (size_t)capacity, sizeof *x);
    for (int64_t i = 0; i < count && x; i++)
        for (int a = 0; a < 3; a++)
            x[a * capacity + i] = points[3 * i + a];
    rp__base_free(points);
    bool all = x;
    for (int f = 0; f < p->fields && all; f++) {
        if (f == FIELD_position)
            continue;
        size_t number = (size_t)capacity * (size_t)p->info[f].components;
        made[f] = rp__base_alloc_array(number, element_size(p, f));
        all = made[f];
        if (all)
            memset(made[f], 0, number * element_size(p, f));
    }
    for (int f = 0; f < p->fields; f++) {
        rp__base_free(all ? p->data[f] : made[f]);
        p->data[f] = all ? made[f] : p->data[f];
    }
    if (!all)
        return RP_OUT_OF_MEMORY;
    p->capacity = capacity;
    update_planes(p);
    for (int64_t i = 0; i < count; i++)
        p->id[i] = p->next_id + i;
    p->next_id += count;
    p->count = count;
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

/* ---- permutation, in windows ---- */

/* Particles mostly stay near their places. A window of each plane is put in its new order in the cache and written back at once;
 * what it takes from other windows is saved first, for as many planes together as the spare memory holds. */
enum { WINDOW = 4096, GROUP = 64 };

/* Elements are moved as bits, whatever their type. */
typedef uint64_t __attribute__((may_alias)) bits64;
typedef uint32_t __attribute__((may_alias)) bits32;

typedef struct shuffle {
    const int32_t *order;
    int64_t count, far;  /* particles; those that come from another window */
    int64_t *far_first;  /* of each window */
    bits64 *saved;       /* `far` numbers a plane */
    struct {
        void *at;
        size_t size;
    } plane[GROUP];
    int planes;
} shuffle;

static void count_far(void *context, int64_t begin, int64_t end, int worker)
{
    const shuffle *s = context;
    int64_t far = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        far += s->order[i] < begin || s->order[i] >= end;
    s->far_first[begin / WINDOW + 1] = far;
}

/* The places of the window that take from elsewhere. */
static int list_far(const shuffle *s, int64_t begin, int64_t end, uint16_t *place)
{
    int n = 0;
    for (int64_t i = begin; i < end; i++) {
        place[n] = (uint16_t)(i - begin);
        n += s->order[i] < begin || s->order[i] >= end;
    }
    return n;
}

static void save_far(void *context, int64_t begin, int64_t end, int worker)
{
    const shuffle *s = context;
    uint16_t place[WINDOW + 1];
    int n = list_far(s, begin, end, place);
    (void)worker;
    for (int k = 0; k < s->planes; k++) {
        bits64 *to = s->saved + k * s->far + s->far_first[begin / WINDOW];
        for (int j = 0; j < n; j++) {
            int32_t from = s->order[begin + place[j]];
            to[j] = s->plane[k].size == 8 ? ((const bits64 *)s->plane[k].at)[from] : ((const bits32 *)s->plane[k].at)[from];
        }
    }
}

/* Neighbours that stay neighbours are copied together. Eight at a time: what is too much is overwritten by the next run. */
typedef struct run {
    uint16_t to, from, count;
} run;

#define MIX(name, bits)                                                                                                \
    static void name(bits *restrict plane, int count, const run *restrict runs, int n, const uint16_t *restrict place, int far, \
                     const bits64 *restrict saved)                                                                     \
    {                                                                                                                  \
        bits room[WINDOW + 8];                                                                                         \
        for (int r = 0; r < n; r++) {                                                                                  \
            bits *to = room + runs[r].to;                                                                              \
            const bits *from = plane + runs[r].from;                                                                   \
            int length = runs[r].count, k = 0;                                                                         \
            if (runs[r].from + length + 8 <= count)                                                                    \
                for (; k < length; k += 8)                                                                             \
                    memcpy(to + k, from + k, 8 * sizeof(bits));                                                        \
            for (; k < length; k++)                                                                                    \
                to[k] = from[k];                                                                                       \
        }                                                                                                              \
        for (int j = 0; j < far; j++)                                                                                  \
            room[place[j]] = (bits)saved[j];                                                                           \
        memcpy(plane, room, (size_t)count * sizeof(bits));                                                             \
    }
MIX(mix64, bits64)
MIX(mix32, bits32)

static int find_runs(const int32_t *order, int64_t begin, int count, run *runs)
{
    int n = 0;
    for (int i = 0, length; i < count; i += length) {
        int64_t from = order[begin + i] - begin;
        length = 1;
        if (from < 0 || from >= count)
            continue; /* saved */
        while (i + length < count && order[begin + i + length] - begin == from + length && from + length < count)
            length++;
        runs[n++] = (run){ (uint16_t)i, (uint16_t)from, (uint16_t)length };
    }
    return n;
}

static void mix_window(void *context, int64_t begin, int64_t end, int worker)
{
    const shuffle *s = context;
    uint16_t place[WINDOW + 1];
    run runs[WINDOW];
    int count = (int)(end - begin), far = list_far(s, begin, end, place), n = find_runs(s->order, begin, count, runs);
    (void)worker;
    if (far == 0 && n == 1) /* all stay */
        return;
    for (int k = 0; k < s->planes; k++) {
        const bits64 *saved = s->saved + k * s->far + s->far_first[begin / WINDOW];
        if (s->plane[k].size == 8)
            mix64((bits64 *)s->plane[k].at + begin, count, runs, n, place, far, saved);
        else
            mix32((bits32 *)s->plane[k].at + begin, count, runs, n, place, far, saved);
    }
}

static void shuffle_group(shuffle *s)
{
    if (s->planes == 0)
        return;
    if (s->far > 0)
        rp__exec_for(s->count, WINDOW, save_far, s);
    rp__exec_for(s->count, WINDOW, mix_window, s);
    s->planes = 0;
}

void *rp__particles_scratch(rp__particles *p, size_t bytes)
{
    if (bytes > p->spare_size) {
        rp__base_free(p->spare); /* first: what it held is not kept */
        p->spare_size = 0;
        p->spare = rp__base_alloc(bytes);
        p->spare_size = p->spare ? bytes : 0;
    }
    return p->spare;
}

/* A plane, and where windows begin. */
size_t rp__particles_permute_bytes(const rp__particles *p)
{
    return (size_t)(p->capacity + p->capacity / WINDOW + 2) * sizeof(uint64_t);
}

rp_result rp__particles_permute(rp__particles *p, const int32_t *order)
{
    int64_t windows = (p->count + WINDOW - 1) / WINDOW;
    if (p->count == 0)
        return RP_OK;
    if (!rp__particles_scratch(p, rp__particles_permute_bytes(p)))
        return RP_OUT_OF_MEMORY;
    shuffle s = { .order = order, .count = p->count, .far_first = p->spare };
    s.saved = (bits64 *)p->spare + windows + 1;
    s.far_first[0] = 0;
    rp__exec_for(p->count, WINDOW, count_far, &s);
    for (int64_t w = 0; w < windows; w++)
        s.far_first[w + 1] += s.far_first[w];
    s.far = s.far_first[windows];
    for (int f = 0; f < p->fields; f++) {
        for (int c = 0; c < p->info[f].components; c++) {
            if (s.planes == GROUP || (s.planes + 1) * s.far > p->count)
                shuffle_group(&s);
            s.plane[s.planes].at = rp__particles_plane(p, f, c);
            s.plane[s.planes++].size = element_size(p, f);
        }
    }
    shuffle_group(&s);
    return RP_OK;
}

rp_field_view rp__particles_view(const rp__particles *p, int field)
{
    assert(field >= 0 && field < p->fields);
    return (rp_field_view){ .info = p->info[field], .data = p->data[field], .count = p->count, .stride = p->capacity };
}
