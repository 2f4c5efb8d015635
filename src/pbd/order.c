/* Grains in the order of cells: a counting sort by the places that the step predicts, x + h (v + h g), and the slabs. */
#include "pbd/closure.h"
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 2048 };

static rp_result reserve(rp__pbd *s, int64_t n)
{
    int64_t need = n + 2 * RP_PBD_LANES; /* lanes without a pair work on grains that are none */
    if (need <= s->capacity)
        return RP_OK;
    int64_t capacity = need + need / 2;
#define GROW(array)                                                                              \
    do {                                                                                         \
        void *grown = rp__base_realloc_array(s->array, (size_t)capacity, sizeof *s->array);      \
        if (!grown)                                                                              \
            return RP_OUT_OF_MEMORY;                                                             \
        s->array = grown;                                                                        \
    } while (0)
    GROW(order);
    GROW(slot);
    GROW(cell);
    GROW(x);
    GROW(u);
    GROW(push);
    GROW(alone);
    GROW(sight);
    for (int c = 0; c < 6; c++)
        GROW(place[c]);
    GROW(home);
    GROW(range);
    GROW(owner);
    GROW(mass);
    GROW(material);
    GROW(id);
#undef GROW
    s->capacity = capacity;
    return RP_OK;
}

typedef struct work {
    rp__pbd *s;
    rp__world *world;
    double h;
} work;

/* Numbers from the count of the store on are beads. */
static double predicted(const work *w, int axis, int64_t i)
{
    const rp__particles *p = w->world->particles;
    if (i >= p->count)
        return w->s->beads.x[i - p->count][axis] + w->s->beads.u[i - p->count][axis];
    return p->x[axis][i] + w->h * (p->v[axis][i] + w->h * w->world->def->gravity[axis]);
}

/* partial: largest of -x and x along each axis, and of the masses. */
static void bound_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const work *w = context;
    for (int64_t i = begin; i < end; i++)
        for (int a = 0; a < 3; a++) {
            double x = predicted(w, a, i);
            partial[2 * a] = -x > partial[2 * a] ? -x : partial[2 * a];
            partial[2 * a + 1] = x > partial[2 * a + 1] ? x : partial[2 * a + 1];
        }
}

/* Slabs stand upright: the middle axis is the one nearest to gravity, the slow one the longer of the others. */
static void choose_axes(rp__pbd *s, const rp_sim_def *def)
{
    int up = def->dim - 1, slow = -1;
    for (int a = 0; a < def->dim; a++)
        if (fabs(def->gravity[a]) > fabs(def->gravity[up]))
            up = a;
    for (int a = 0; a < def->dim; a++)
        if (a != up && (slow < 0 || def->upper[a] - def->lower[a] > def->upper[slow] - def->lower[slow]))
            slow = a;
    s->axis[0] = slow;
    s->axis[1] = up;
    s->axis[2] = 3 - slow - up;
    s->upward = !(def->gravity[up] > 0);
}

static rp_result set_cells(rp__pbd *s, const work *w, int64_t n, double width)
{
    double bound[6] = { 0, 0, 0, 0, 0, 0 };
    if (n)
        rp__exec_max(n, CHUNK, 6, bound_chunk, (void *)w, bound);
    choose_axes(s, w->world->def);
    s->width = width;
    for (;; s->width *= 1.3) { /* thinly spread grains: fewer, larger cells */
        double total = 1;
        for (int k = 0; k < 3; k++) {
            double low = -bound[2 * s->axis[k]], high = bound[2 * s->axis[k] + 1];
            double many = floor((high - low) / s->width) + 3;
            s->origin[k] = low - s->width;
            total *= many;
            s->cells[k] = total < 1e9 ? (int64_t)many : 0;
        }
        if (!isfinite(total))
            return rp__base_fail(RP_DIVERGED, "at t = %g s grains have places or velocities that are not finite", w->world->time);
        if (total <= 8.0 * (double)n + 65536)
            break;
    }
    int64_t cells = s->cells[0] * s->cells[1] * s->cells[2];
    if (!rp__base_grow(&s->cell_first, &s->cell_capacity, cells + 2, sizeof *s->cell_first))
        return RP_OUT_OF_MEMORY;
    memset(s->cell_first, 0, (size_t)(cells + 2) * sizeof *s->cell_first);
    return RP_OK;
}

static void number_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    rp__pbd *s = w->s;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t cell = 0;
        for (int k = 0; k < 3; k++) {
            int64_t at = (int64_t)((predicted(w, s->axis[k], i) - s->origin[k]) / s->width);
            at = at < 1 ? 1 : at > s->cells[k] - 2 ? s->cells[k] - 2 : at;
            cell = cell * s->cells[k] + at;
        }
        s->cell[i] = (int32_t)cell;
    }
}

/* order[] from the cells of the grains as they lie in the store, and cell_first[]. */
static void sort(rp__pbd *s, int64_t n)
{
    int64_t cells = s->cells[0] * s->cells[1] * s->cells[2];
    for (int64_t i = 0; i < n; i++)
        s->cell_first[s->cell[i] + 2]++;
    for (int64_t c = 2; c < cells; c++)
        s->cell_first[c + 1] += s->cell_first[c];
    for (int64_t i = 0; i < n; i++)
        s->order[s->cell_first[s->cell[i] + 1]++] = (int32_t)i; /* the first of cell c, at c + 1, becomes that of c + 1 */
}

/* The store follows the order now and then, when a part of its grains is out of it. */
static rp_result tidy(rp__pbd *s, rp__particles *p)
{
    int64_t turns = 0, kept = 0;
    for (int64_t k = 0; k < s->n; k++)
        if (s->order[k] < p->count)
            s->home[kept++] = s->order[k];
    for (int64_t k = 1; k < kept; k++)
        turns += s->home[k] < s->home[k - 1];
    if (turns < p->count / 8 + 1)
        return RP_OK;
    RP_TRY(rp__particles_permute(p, s->home));
    int64_t cell = 0, next = 0;
    for (int64_t k = 0; k < s->n; k++) {
        while (k >= s->cell_first[cell + 1])
            cell++;
        if (s->order[k] < p->count)
            s->order[k] = (int32_t)next++;
        s->cell[s->order[k]] = (int32_t)cell;
    }
    return RP_OK;
}

static void gather_grain(const work *w, int64_t k, int64_t i)
{
    rp__pbd *s = w->s;
    const rp__particles *p = w->world->particles;
    for (int a = 0; a < 3; a++) {
        s->x[k][a] = p->x[a][i];
        s->u[k][a] = w->h * (p->v[a][i] + w->h * w->world->def->gravity[a]);
    }
    s->u[k][3] = s->mean_mass / p->mass[i];
    s->mass[k] = p->mass[i];
    s->material[k] = p->material[i];
    s->id[k] = p->id[i];
    s->slot[k] = ((const int32_t *)rp__particles_plane(p, s->slot_field, 0))[i];
    s->owner[k] = -1;
}

static void gather_bead(const work *w, int64_t k, int64_t b)
{
    rp__pbd *s = w->s;
    const rp__pbd_beads *beads = &s->beads;
    for (int a = 0; a < 3; a++)
        s->x[k][a] = beads->x[b][a], s->u[k][a] = beads->u[b][a];
    s->mass[k] = beads->mass[b];
    s->u[k][3] = beads->mass[b] > 0 ? s->mean_mass / beads->mass[b] : 0;
    s->owner[k] = beads->body[b];
    s->material[k] = w->world->def->material_count + beads->body[b];
    s->id[k] = -1 - b;
    s->slot[k] = beads->slot[b];
}

static void gather_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    rp__pbd *s = w->s;
    int64_t store = w->world->particles->count;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int64_t i = s->order[k];
        if (i < store)
            gather_grain(w, k, i);
        else
            gather_bead(w, k, i - store);
        for (int b = 0; b < 3; b++) {
            int a = s->axis[b];
            s->place[b][k] = (float)(s->x[k][a] - s->origin[b]);
            s->place[3 + b][k] = (float)(s->x[k][a] + s->u[k][a] - s->origin[b]);
            s->push[k][b] = 0;
        }
        double way = sqrt(s->u[k][0] * s->u[k][0] + s->u[k][1] * s->u[k][1] + s->u[k][2] * s->u[k][2]);
        double ahead = RP_PBD_SLACK * s->r + RP_PBD_AHEAD * way, most = s->par->margin * s->r;
        s->range[k] = (float)(s->r + (ahead < most ? ahead : most));
        s->sight[k] = s->r + RP_PBD_AHEAD * way + 2 * RP_PBD_SLACK * s->r;
        memcpy(s->alone[k], s->u[k], sizeof s->alone[k]);
        s->home[k] = s->cell[i];
        s->x[k][3] = 0;
        s->push[k][3] = s->u[k][3];
    }
}

static rp_result cut_slabs(rp__pbd *s)
{
    int64_t layer = s->cells[1] * s->cells[2];
    s->slab_count = 0;
    int64_t begin = 0, first = 0;
    for (int64_t a = 0; a < s->cells[0]; a++) {
        int64_t end = s->cell_first[(a + 1) * layer];
        if (end - begin < RP_PBD_SLAB && !(a + 1 == s->cells[0] && end > begin))
            continue;
        if (!rp__base_grow(&s->slabs, &s->slab_capacity, s->slab_count + 1, sizeof *s->slabs))
            return RP_OUT_OF_MEMORY;
        s->slabs[s->slab_count++] = (rp__pbd_slab){ .begin = begin, .end = end, .layer = { first, a + 1 } };
        begin = end, first = a + 1;
    }
    return RP_OK;
}

rp_result rp__pbd_order(rp__pbd *s, rp__world *world, double width)
{
    rp__particles *p = world->particles;
    int64_t n = p->count + s->beads.count;
    if (n > INT32_MAX - 64)
        return rp__base_fail(RP_TOO_LARGE, "pbd: %lld grains; at most 2^31 are possible", (long long)n);
    work w = { s, world, s->h };
    RP_TRY(reserve(s, n));
    RP_TRY(set_cells(s, &w, n, width));
    s->n = n;
    rp__exec_for(n, CHUNK, number_chunk, &w);
    sort(s, n);
    RP_TRY(tidy(s, p));
    rp__exec_for(n, CHUNK, gather_chunk, &w);
    for (int64_t k = n; k < n + 2 * RP_PBD_LANES; k++) {
        for (int a = 0; a < 4; a++)
            s->x[k][a] = s->u[k][a] = s->push[k][a] = 0;
        for (int a = 0; a < 6; a++)
            s->place[a][k] = 0;
        s->range[k] = 0;
    }
    return cut_slabs(s);
}
