/* Node fields at the particles: pressure, volume fraction, pressure and velocity of a fluid by interpolation between the nodes around a
 * particle, the region of the
 * friction law from the nearest node that has one. Frames hold them, so that pictures can be coloured by them. */
#include "base/error.h"
#include "base/memory.h"
#include "io/io.h"

#include <math.h>
#include <string.h>

const rp_field_info rp__io_probes[RP_IO_PROBES] = {
    { "pressure", RP_F32, 1, "Pa", 1 },
    { "volume_fraction", RP_F32, 1, "", 1 },
    { "region", RP_F32, 1, "", 1 }, /* 0 take-off, 1 stick, 2 slide */
    { "fluid_pressure", RP_F32, 1, "Pa", 1 },
    { "fluid_velocity", RP_F32, 3, "m/s", 1 },
};
enum { REGION = 2, CORNERS = 8, CELLS = 1024 };

/* The nodes at the corners of a cell, -1 where there is none. */
typedef struct cell {
    bool known;
    uint64_t key;
    int64_t node[CORNERS];
} cell;

/* Nodes by their place on the lattice: a hash table with open addressing, and before it the cells seen last, since particles lie in order of blocks. */
typedef struct lattice {
    double origin[3], h;
    int dim;
    int64_t mask;
    uint64_t *keys;
    int64_t *index; /* -1: free */
    cell *seen;     /* CELLS, by the last bits of the mixed key */
} lattice;

static uint64_t key_of(const int64_t c[3])
{
    const uint64_t low = ((uint64_t)1 << 21) - 1;
    return ((uint64_t)c[0] & low) | ((uint64_t)c[1] & low) << 21 | ((uint64_t)c[2] & low) << 42;
}

static int64_t mixed(uint64_t key)
{
    return (int64_t)(key * 0x9e3779b97f4a7c15u >> 20);
}

static int64_t slot_of(const lattice *l, uint64_t key)
{
    int64_t slot = mixed(key) & l->mask;
    while (l->index[slot] >= 0 && l->keys[slot] != key)
        slot = (slot + 1) & l->mask;
    return slot;
}

static rp_result fill_lattice(lattice *l, const rp_field_view *position, int64_t nodes)
{
    int64_t size = 64;
    while (size < 2 * nodes)
        size *= 2;
    l->mask = size - 1;
    l->keys = RP_NEW_ARRAY(uint64_t, size);
    l->index = RP_NEW_ARRAY(int64_t, size);
    l->seen = RP_NEW_ARRAY(cell, CELLS);
    if (!l->keys || !l->index || !l->seen)
        return RP_OUT_OF_MEMORY;
    for (int64_t s = 0; s < size; s++)
        l->index[s] = -1;
    const double *x = position->data;
    for (int d = 0; d < 3; d++)
        l->origin[d] = nodes && d < l->dim ? x[d * position->stride] : 0;
    for (int64_t i = 0; i < nodes; i++) {
        int64_t c[3] = { 0 };
        for (int d = 0; d < l->dim; d++)
            c[d] = (int64_t)llround((x[d * position->stride + i] - l->origin[d]) / l->h);
        uint64_t key = key_of(c);
        int64_t slot = slot_of(l, key);
        l->keys[slot] = key;
        l->index[slot] = i;
    }
    return RP_OK;
}

static const cell *cell_at(const lattice *l, const int64_t low[3])
{
    uint64_t key = key_of(low);
    cell *c = &l->seen[mixed(key) % CELLS];
    if (c->known && c->key == key)
        return c;
    *c = (cell){ .known = true, .key = key };
    for (int k = 0; k < 1 << l->dim; k++)
        c->node[k] = l->index[slot_of(l, key_of((int64_t[3]){ low[0] + (k & 1), low[1] + (k >> 1 & 1), low[2] + (k >> 2 & 1) }))];
    return c;
}

/* The nodes around a point with their weights; returns how many are there. */
static int around(const lattice *l, const double x[3], int64_t *node, double *weight)
{
    int64_t low[3] = { 0 };
    double part[3] = { 0 };
    for (int d = 0; d < l->dim; d++) {
        double at = (x[d] - l->origin[d]) / l->h;
        if (!(fabs(at) < 1 << 20))
            return 0;
        low[d] = (int64_t)floor(at);
        part[d] = at - (double)low[d];
    }
    const cell *c = cell_at(l, low);
    int count = 0;
    for (int k = 0; k < 1 << l->dim; k++) {
        double w = 1;
        for (int d = 0; d < l->dim; d++)
            w *= k >> d & 1 ? part[d] : 1 - part[d];
        if (c->node[k] >= 0 && w > 0)
            node[count] = c->node[k], weight[count++] = w;
    }
    return count;
}

/* Nodes that are not there hold nothing: the others share their weight. */
static float value_at(const double *plane, bool nearest, int count, const int64_t *node, const double *weight)
{
    double sum = 0, total = 0;
    int best = 0;
    for (int k = 0; k < count; k++) {
        sum += weight[k] * plane[node[k]];
        total += weight[k];
        if (weight[k] > weight[best])
            best = k;
    }
    if (count == 0)
        return 0;
    return (float)(nearest ? plane[node[best]] : sum / total);
}

static void fill(const lattice *l, const rp_field_view *at, const rp_field_view *const from[RP_IO_PROBES], float *const out[RP_IO_PROBES])
{
    const double *p = at->data;
    for (int64_t i = 0; i < at->count; i++) {
        double x[3] = { p[i], p[at->stride + i], p[2 * at->stride + i] }, weight[CORNERS];
        int64_t node[CORNERS];
        int count = around(l, x, node, weight);
        for (int k = 0; k < RP_IO_PROBES; k++)
            for (int c = 0; out[k] && c < rp__io_probes[k].components; c++)
                out[k][c * at->count + i] = value_at((const double *)from[k]->data + c * from[k]->stride, k == REGION, count, node, weight);
    }
}

rp_result rp__io_probe(rp_sim *sim, const bool wanted[RP_IO_PROBES], rp_frame *frame)
{
    const rp_field_view *views = NULL, *position = NULL;
    const rp_field_view *from[RP_IO_PROBES] = { NULL };
    float *out[RP_IO_PROBES] = { NULL };
    bool there[RP_IO_PROBES] = { false }; /* before the first step there are no nodes, and all is zero */
    int count = 0;
    int64_t nodes = 0;
    rp_result result = rp_sim_grid_fields(sim, &views, &count, &nodes);
    if (result == RP_UNSUPPORTED)
        return RP_OK;
    RP_TRY(result);
    for (int v = 0; v < count; v++) {
        if (strcmp(views[v].info.name, "position") == 0)
            position = &views[v];
        for (int k = 0; k < RP_IO_PROBES; k++)
            if (wanted[k] && strcmp(views[v].info.name, rp__io_probes[k].name) == 0 && views[v].info.type == RP_F64 &&
                views[v].info.components == rp__io_probes[k].components)
                from[k] = &views[v], there[k] = true;
    }
    const rp_field_view *at = &frame->fields[0]; /* position */
    if (!position || at->info.type != RP_F64)
        return RP_OK;
    for (int k = 0; k < RP_IO_PROBES; k++)
        if (there[k]) {
            out[k] = rp__arena_alloc(frame->storage, (size_t)(at->count + 1) * (size_t)rp__io_probes[k].components * sizeof(float));
            if (!out[k])
                return RP_OUT_OF_MEMORY;
            frame->fields[frame->field_count++] =
                (rp_field_view){ .info = rp__io_probes[k], .data = out[k], .count = at->count, .stride = at->count };
        }
    lattice l = { .h = frame->cell_size, .dim = frame->dim };
    result = fill_lattice(&l, position, nodes);
    if (result == RP_OK)
        fill(&l, at, from, out);
    rp__base_free(l.keys);
    rp__base_free(l.index);
    rp__base_free(l.seen);
    return result;
}
