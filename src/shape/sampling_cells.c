/* The room shared out among the cells of a lattice. A cell that the border of the room cuts has its site in the middle of what is room; a part below a
 * half joins the part beside it with which it is the most compact. Parts and middles add up, so that volume and first moment are those of the room.
 * Poisson points, which have no cells, have what of the room is nearer to them than to others. */
#include "shape/sampling_blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <string.h>

#define ROUNDING 1e-9 /* parts within this of 0 and 1 are none and whole */
#define LEAST_PART 0.5

typedef rp__sampling_block block;
typedef rp__sampling_filling filling;

/* A cell, and the group of joined cells of which it may be the head. */
typedef struct cell {
    double part;      /* of the group; 0: no room */
    rp__vec3 middle;  /* of the group */
    int64_t head;     /* the cell that speaks for the group */
    int64_t next;     /* round the members of the group */
} cell;

/* Places of a block that are blocked, and one of them. */
typedef struct hiding {
    int64_t count;
    double at[3];
} hiding;

/* The cells of some blocks: those that may be cut, and whole ones of which a cell was joined. */
typedef struct sharing {
    filling *f;
    int64_t cells_a_block;
    int64_t *opened;          /* a block: where its cells begin, -1 for a whole one that nobody looked into */
    int64_t *block_of;        /* of the k-th block that is open */
    int64_t open_count, block_capacity;
    cell *cells;
    int64_t cell_capacity;
    int64_t *table, table_size; /* blocks by their index */
    hiding *hidden;           /* an open block */
    double volume;            /* of a lattice cell */
} sharing;

/* ---- the parts of cells ---- */

static void local_of(const sharing *s, int64_t n, int64_t at[3])
{
    int64_t size = s->f->size;
    at[0] = n % size, at[1] = n / size % size, at[2] = n / size / size;
}

static void bounds_of(const sharing *s, const block *b, int64_t n, double lower[3], double upper[3])
{
    const rp__sampling_def *def = s->f->def;
    int64_t at[3];
    local_of(s, n, at);
    for (int a = 0; a < 3; a++) {
        int64_t cell_at = b->index[a] * s->f->size + at[a];
        lower[a] = a < def->dim ? def->origin[a] + def->spacing * (double)cell_at : 0;
        upper[a] = a < def->dim ? def->origin[a] + def->spacing * (double)(cell_at + 1) : 0;
    }
}

/* Whether a block that lies in the shape whole sticks out of the clip box. */
static bool is_clipped(const sharing *s, const block *b)
{
    const rp__sampling_def *def = s->f->def;
    double edge = def->spacing * s->f->size;
    for (int a = 0; a < def->dim; a++) {
        double low = def->origin[a] + edge * (double)b->index[a];
        if (low < def->lower[a] - ROUNDING * edge || low + edge > def->upper[a] + ROUNDING * edge)
            return true;
    }
    return false;
}

static bool is_hidden(const filling *f, const block *b, int64_t n, double p[3])
{
    return f->def->blocked && rp__sampling_candidate(f, b, (int)n, p) && rp__sampling_within(f, p) &&
           rp__shape_distance_at(f->shape, rp__vec3_load(p), NULL) <= 0 && f->def->blocked(f->def->blocking, p) < 0;
}

static void measure_cell(const sharing *s, const block *b, int64_t n, cell *c)
{
    const filling *f = s->f;
    double lower[3], upper[3];
    bounds_of(s, b, n, lower, upper);
    rp__vec3 centre = rp__vec3_scale(0.5, rp__vec3_add(rp__vec3_load(lower), rp__vec3_load(upper)));
    for (int a = 0; a < f->def->dim; a++) {
        lower[a] = fmax(lower[a], f->def->lower[a]);
        upper[a] = fmin(upper[a], f->def->upper[a]);
    }
    rp__sampling_part p = rp__sampling_part_of(f, lower, upper, s->volume);
    c->part = p.volume / s->volume;
    c->middle = centre;
    if (c->part < ROUNDING)
        c->part = 0;
    else if (c->part > 1 - ROUNDING)
        c->part = 1;
    else {
        c->middle = rp__vec3_scale(1 / p.volume, p.moment);
        if (rp__sampling_room(f, c->middle) > 0) /* between two parts, or in a hollow */
            c->middle = p.deepest;
    }
}

static void measure_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    sharing *s = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const block *b = &s->f->blocks[s->block_of[k]];
        for (int64_t n = 0; n < s->cells_a_block; n++) {
            int64_t id = k * s->cells_a_block + n;
            measure_cell(s, b, n, &s->cells[id]);
            s->cells[id].head = s->cells[id].next = id;
            double p[3];
            if (is_hidden(s->f, b, n, p)) {
                s->hidden[k].count++;
                memcpy(s->hidden[k].at, p, sizeof p);
            }
        }
    }
}

static bool reserve(sharing *s)
{
    return rp__base_grow(&s->block_of, &s->block_capacity, s->open_count + 1, sizeof *s->block_of) &&
           rp__base_grow(&s->cells, &s->cell_capacity, (s->open_count + 1) * s->cells_a_block, sizeof *s->cells);
}

static rp_result measure(sharing *s)
{
    filling *f = s->f;
    s->opened = RP_NEW_ARRAY(int64_t, f->block_count);
    if (!s->opened)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < f->block_count; i++) {
        s->opened[i] = -1;
        if (f->blocks[i].whole && !is_clipped(s, &f->blocks[i]))
            continue;
        if (!reserve(s))
            return RP_OUT_OF_MEMORY;
        s->opened[i] = s->open_count * s->cells_a_block;
        s->block_of[s->open_count++] = i;
    }
    s->hidden = rp__base_alloc_zero((size_t)(s->open_count + 1) * sizeof *s->hidden);
    if (!s->hidden)
        return RP_OUT_OF_MEMORY;
    rp__exec_for(s->open_count, 1, measure_blocks, s);
    return RP_OK;
}

/* ---- blocks beside blocks ---- */

static int64_t *slot_of(const sharing *s, const int64_t index[3])
{
    uint64_t h = rp__random_bits((uint64_t)index[0], (uint64_t)index[1], (uint64_t)index[2]);
    for (;; h++) {
        int64_t *slot = &s->table[h & (uint64_t)(s->table_size - 1)];
        if (*slot < 0 || memcmp(s->f->blocks[*slot].index, index, sizeof s->f->blocks[*slot].index) == 0)
            return slot;
    }
}

static rp_result list_blocks(sharing *s)
{
    s->table_size = 64;
    while (s->table_size < 2 * s->f->block_count)
        s->table_size *= 2;
    s->table = RP_NEW_ARRAY(int64_t, s->table_size);
    if (!s->table)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < s->table_size; i++)
        s->table[i] = -1;
    for (int64_t i = 0; i < s->f->block_count; i++)
        *slot_of(s, s->f->blocks[i].index) = i;
    return RP_OK;
}

/* Gives a whole block its cells. */
static rp_result open_block(sharing *s, int64_t i)
{
    if (!reserve(s))
        return RP_OUT_OF_MEMORY;
    s->opened[i] = s->open_count * s->cells_a_block;
    for (int64_t n = 0; n < s->cells_a_block; n++) {
        double lower[3], upper[3];
        int64_t id = s->opened[i] + n;
        bounds_of(s, &s->f->blocks[i], n, lower, upper);
        s->cells[id] = (cell){ 1, rp__vec3_scale(0.5, rp__vec3_add(rp__vec3_load(lower), rp__vec3_load(upper))), id, id };
    }
    s->block_of[s->open_count++] = i;
    return RP_OK;
}

/* The cell beside another along an axis, -1 where the shape has no block. */
static rp_result beside(sharing *s, int64_t id, int axis, int way, int64_t *out)
{
    const block *b = &s->f->blocks[s->block_of[id / s->cells_a_block]];
    int64_t at[3], index[3], size = s->f->size;
    local_of(s, id % s->cells_a_block, at);
    memcpy(index, b->index, sizeof index);
    at[axis] += way;
    index[axis] += at[axis] < 0 ? -1 : at[axis] >= size ? 1 : 0;
    at[axis] = rp__sampling_floor_mod(at[axis], size);
    int64_t i = *slot_of(s, index);
    *out = -1;
    if (i < 0)
        return RP_OK;
    if (s->opened[i] < 0)
        RP_TRY(open_block(s, i));
    *out = s->opened[i] + (at[2] * size + at[1]) * size + at[0];
    return RP_OK;
}

/* ---- parts that join ---- */

static int64_t head_of(const sharing *s, int64_t id)
{
    while (s->cells[id].head != id)
        id = s->cells[id].head;
    return id;
}

static rp__vec3 middle_of_both(const cell *a, const cell *b)
{
    double t = b->part / (a->part + b->part);
    return rp__vec3_axpy(t, rp__vec3_sub(b->middle, a->middle), a->middle);
}

/* What is added to the second moment of the two when they are one: small when they are near and one of them is small. */
static double spread(const cell *a, const cell *b)
{
    rp__vec3 way = rp__vec3_sub(b->middle, a->middle);
    return a->part * b->part / (a->part + b->part) * rp__vec3_dot(way, way);
}

/* Whether nothing is between the two, and the middle of both is in the room. */
static bool may_join(const filling *f, const cell *a, const cell *b)
{
    rp__vec3 way = rp__vec3_sub(b->middle, a->middle);
    double length = rp__vec3_norm(way), least = f->def->spacing / 16;
    if (rp__sampling_room(f, middle_of_both(a, b)) > 0)
        return false;
    for (double t = least; t < length; ) {
        double d = rp__sampling_room(f, rp__vec3_axpy(t / length, way, a->middle));
        if (d > 0)
            return false;
        t += fmax(least, -d);
    }
    return true;
}

/* The group beside the group of `head` that it joins best; -1: none. */
static rp_result partner_of(sharing *s, int64_t head, int64_t *best)
{
    double least = INFINITY;
    int64_t member = head;
    *best = -1;
    do {
        for (int face = 0; face < 2 * s->f->def->dim; face++) {
            int64_t other;
            RP_TRY(beside(s, member, face / 2, face % 2 ? 1 : -1, &other));
            other = other < 0 ? -1 : head_of(s, other);
            if (other < 0 || other == head || other == *best || !(s->cells[other].part > 0))
                continue;
            double cost = spread(&s->cells[head], &s->cells[other]);
            if (cost < least * (1 - ROUNDING) && may_join(s->f, &s->cells[head], &s->cells[other])) {
                least = cost;
                *best = other;
            }
        }
        member = s->cells[member].next;
    } while (member != head);
    return RP_OK;
}

/* The larger of the two speaks for both. */
static void join(sharing *s, int64_t a, int64_t b)
{
    int64_t head = s->cells[a].part > s->cells[b].part ? a : b, other = head == a ? b : a;
    cell *to = &s->cells[head], *from = &s->cells[other];
    to->middle = middle_of_both(to, from);
    to->part += from->part;
    from->head = head;
    int64_t next = to->next;
    to->next = from->next;
    from->next = next;
}

/* Joins what is below LEAST_PART until nothing finds a partner. */
static rp_result join_parts(sharing *s)
{
    int64_t first = s->open_count * s->cells_a_block;
    for (bool joined = true; joined; ) {
        joined = false;
        for (int64_t id = 0; id < first; id++) {
            int64_t best, head = head_of(s, id);
            if (head != id || !(s->cells[id].part > 0) || s->cells[id].part >= LEAST_PART)
                continue;
            RP_TRY(partner_of(s, id, &best));
            if (best < 0)
                continue;
            join(s, id, best);
            joined = true;
        }
    }
    return RP_OK;
}

/* ---- the sites ---- */

/* Site of cell n of block i; false: it has none. */
static bool site_of(const sharing *s, int64_t i, int64_t n, double p[3], double *part)
{
    const filling *f = s->f;
    const cell *c = s->opened[i] < 0 ? NULL : &s->cells[s->opened[i] + n];
    *part = c ? c->part : 1;
    if (c && (c->head != s->opened[i] + n || !(c->part > 0)))
        return false;
    if (*part == 1 && (!c || c->next == c->head))
        return rp__sampling_candidate(f, &f->blocks[i], (int)n, p);
    rp__vec3_store(p, c->middle);
    return rp__sampling_room(f, c->middle) <= 0; /* a splinter thinner than what is looked at is none */
}

static void count_sites(void *context, int64_t begin, int64_t end, int worker)
{
    const sharing *s = context;
    double p[3], part;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        for (int64_t n = 0; n < s->cells_a_block; n++)
            s->f->blocks[i].first += site_of(s, i, n, p, &part);
}

typedef struct writing {
    const sharing *sharing;
    rp__sampling_site_list *sites;
} writing;

static void write_sites(void *context, int64_t begin, int64_t end, int worker)
{
    const writing *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t to = w->sharing->f->blocks[i].first;
        double p[3], part;
        for (int64_t n = 0; n < w->sharing->cells_a_block; n++)
            if (site_of(w->sharing, i, n, p, &part)) {
                memcpy(w->sites->points + 3 * to, p, sizeof p);
                w->sites->parts[to++] = part;
            }
    }
}

static rp_result write_list(sharing *s, rp__sampling_site_list *sites)
{
    filling *f = s->f;
    rp__exec_for(f->block_count, 4, count_sites, s);
    RP_TRY(rp__sampling_count(f, &sites->count));
    sites->points = f->points;
    sites->parts = RP_NEW_ARRAY(double, sites->count);
    if (!sites->parts)
        return RP_OUT_OF_MEMORY;
    writing w = { s, sites };
    rp__exec_for(f->block_count, 4, write_sites, &w);
    return RP_OK;
}

/* ---- Poisson points ---- */

enum { FINE_2D = 4, FINE_3D = 3 /* little cells a side of a lattice cell */, FARTHEST = 4 /* lattice cells */ };

/* Points by the lattice cells that they are in. */
typedef struct nearest_table {
    const filling *f;
    const double *points;
    int64_t *head, *next, size;
} nearest_table;

static void cell_at(const filling *f, const double x[3], int64_t at[3])
{
    for (int a = 0; a < 3; a++)
        at[a] = a < f->def->dim ? (int64_t)floor((x[a] - f->def->origin[a]) / f->def->spacing) : 0;
}

static int64_t *list_of(const nearest_table *t, const int64_t at[3])
{
    return &t->head[rp__random_bits((uint64_t)at[0], (uint64_t)at[1], (uint64_t)at[2]) & (uint64_t)(t->size - 1)];
}

static rp_result list_points(nearest_table *t, int64_t count)
{
    t->size = 64;
    while (t->size < 2 * count)
        t->size *= 2;
    t->head = RP_NEW_ARRAY(int64_t, t->size);
    t->next = RP_NEW_ARRAY(int64_t, count);
    if (!t->head || !t->next)
        return RP_OUT_OF_MEMORY;
    memset(t->head, 0xff, (size_t)t->size * sizeof *t->head); /* -1 */
    for (int64_t i = 0; i < count; i++) {
        int64_t at[3];
        cell_at(t->f, t->points + 3 * i, at);
        int64_t *head = list_of(t, at);
        t->next[i] = *head;
        *head = i;
    }
    return RP_OK;
}

/* The point nearest to x, -1 when none is within FARTHEST cells. What lies outside of the cells within `far` of that of x is farther than far spacings. */
static int64_t nearest_to(const nearest_table *t, const double x[3])
{
    double spacing = t->f->def->spacing, least = INFINITY;
    int64_t at[3], found = -1;
    cell_at(t->f, x, at);
    for (int64_t far = 1; far <= FARTHEST && !(least <= (double)((far - 1) * (far - 1)) * spacing * spacing); far++) {
        int64_t depth = t->f->def->dim == 3 ? far : 0;
        for (int64_t k = at[2] - depth; k <= at[2] + depth; k++)
            for (int64_t j = at[1] - far; j <= at[1] + far; j++)
                for (int64_t i = at[0] - far; i <= at[0] + far; i++)
                    for (int64_t p = *list_of(t, (const int64_t[]){ i, j, k }); p >= 0; p = t->next[p]) {
                        const double *y = t->points + 3 * p;
                        double square = (y[0] - x[0]) * (y[0] - x[0]) + (y[1] - x[1]) * (y[1] - x[1]) + (y[2] - x[2]) * (y[2] - x[2]);
                        if (square < least || (square == least && p < found))
                            least = square, found = p;
                    }
    }
    return found;
}

/* Shares a lattice cell out among the points nearest to its little cells: each has the part of it that the distance at its middle tells, and all together
 * what the cell has. What has no point near is kept for all. */
static void share_cell(const sharing *s, const nearest_table *t, int64_t i, int64_t n, double *parts, double *kept)
{
    enum { MOST = FINE_3D * FINE_3D * FINE_3D };
    const filling *f = s->f;
    const cell *c = s->opened[i] < 0 ? NULL : &s->cells[s->opened[i] + n];
    int fine = f->def->dim == 3 ? FINE_3D : FINE_2D, count = f->def->dim == 3 ? fine * fine * fine : fine * fine;
    double lower[3], upper[3], x[MOST][3], weight[MOST], sum = 0, part = c ? c->part : 1;
    if (!(part > 0))
        return;
    bounds_of(s, &f->blocks[i], n, lower, upper);
    for (int k = 0; k < count; k++) {
        int at[3] = { k % fine, k / fine % fine, k / fine / fine };
        for (int a = 0; a < 3; a++)
            x[k][a] = lower[a] + (upper[a] - lower[a]) * (at[a] + 0.5) / fine;
        weight[k] = 1;
        if (part < 1)
            weight[k] = rp__sampling_within(f, x[k])
                            ? fmin(fmax(0.5 - rp__sampling_room(f, rp__vec3_load(x[k])) * fine / f->def->spacing, 0), 1) : 0;
        sum += weight[k];
    }
    if (!(sum > 0)) { /* a splinter between them */
        rp__vec3_store(x[0], c->middle);
        weight[0] = sum = count = 1;
    }
    for (int k = 0; k < count; k++) {
        int64_t point = weight[k] > 0 ? nearest_to(t, x[k]) : -1;
        *(point < 0 ? kept : &parts[point]) += weight[k] / sum * part;
    }
}

/* Points with less than a little cell go; what they had is kept for all. */
static void drop_splinters(int dim, rp__sampling_site_list *sites, double *kept)
{
    double least = dim == 3 ? 1.0 / (FINE_3D * FINE_3D * FINE_3D) : 1.0 / (FINE_2D * FINE_2D);
    int64_t count = 0;
    for (int64_t i = 0; i < sites->count; i++) {
        if (sites->parts[i] < least) {
            *kept += sites->parts[i];
            continue;
        }
        memmove(sites->points + 3 * count, sites->points + 3 * i, 3 * sizeof *sites->points);
        sites->parts[count++] = sites->parts[i];
    }
    sites->count = count;
}

static rp_result share_points(const sharing *s, rp__sampling_site_list *sites)
{
    nearest_table t = { .f = s->f, .points = sites->points };
    double kept = 0;
    sites->parts = rp__base_alloc_zero((size_t)(sites->count + 1) * sizeof *sites->parts);
    rp_result result = sites->parts ? list_points(&t, sites->count) : RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < s->f->block_count && result == RP_OK; i++)
        for (int64_t n = 0; n < s->cells_a_block; n++)
            share_cell(s, &t, i, n, sites->parts, &kept);
    if (result == RP_OK)
        drop_splinters(s->f->def->dim, sites, &kept);
    for (int64_t i = 0; i < sites->count && result == RP_OK; i++)
        sites->parts[i] += kept / (double)sites->count;
    rp__base_free(t.head);
    rp__base_free(t.next);
    return result;
}

rp_result rp__sampling_share_out(filling *f, rp__sampling_site_list *sites)
{
    sharing s = { .f = f, .cells_a_block = f->def->dim == 3 ? (int64_t)f->size * f->size * f->size : (int64_t)f->size * f->size };
    s.volume = pow(f->def->spacing, f->def->dim);
    rp_result result = measure(&s);
    for (int64_t k = 0; result == RP_OK && k < s.open_count; k++) {
        sites->hidden += s.hidden[k].count;
        if (s.hidden[k].count > 0)
            memcpy(sites->hidden_at, s.hidden[k].at, sizeof sites->hidden_at);
    }
    if (result == RP_OK && f->def->kind == RP_POISSON) {
        result = share_points(&s, sites);
    } else {
        result = result == RP_OK ? list_blocks(&s) : result;
        result = result == RP_OK ? join_parts(&s) : result;
        result = result == RP_OK ? write_list(&s, sites) : result;
    }
    rp__base_free(s.opened);
    rp__base_free(s.block_of);
    rp__base_free(s.cells);
    rp__base_free(s.table);
    rp__base_free(s.hidden);
    return result;
}
