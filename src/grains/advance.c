/* Samples from one frame to the next.
 *
 * Around a particle the motion of its neighbours over the frame is fitted by a linear map,
 *
 *     A = I + [sum_j w_j (u_j - u) dx_jᵀ] [sum_j w_j dx_j dx_jᵀ]^-1,
 *
 * u their displacements, w_j the tent of the cell that j is in, so that the sums are made once a cell: the grid's velocity field
 * integrated over the frame as the particles felt it. A sample at offset r
 * goes to x + u + A r: it is advected passively. It must stay in an ellipsoid of a particle, where the velocity has a meaning
 * [daviet2016, §5.4]: that of its owner, else another one that holds it, else it goes back to the rim of the nearest. */
#include "exec/exec.h"
#include "grains/grains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct move {
    const rp_samples_def *def;
    const rp_samples *samples;
    const rp_frame *before_frame, *after_frame;
    const rp__carriers *before, *after;
    const int32_t *next;          /* index in `after` of a particle of `before`, -1 if gone */
    const uint8_t *grew;          /* particles of `after` that took others in, or are new */
    const int32_t *filled;        /* cells of `before` that hold particles */
    const int32_t *number;        /* of a cell among them, -1: empty */
    struct moments *sums;         /* one a filled cell */
    double scale, margin, dt;
    const rp_field_view *velocity;
    int32_t *owner;               /* of each sample, -1: gone */
    int16_t *offset;
} move;

/* ---- who is who ---- */

typedef struct id_index {
    int64_t id;
    int32_t index;
} id_index;

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const id_index *)a)->id, y = ((const id_index *)b)->id;
    return x < y ? -1 : x > y;
}

static int64_t find_id(const id_index *sorted, int64_t n, int64_t id)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (sorted[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && sorted[low].id == id ? sorted[low].index : -1;
}

/* next[i] for the particles of `from`, grew[i] for those of `to`. */
static rp_result match_ids(const rp__carriers *from, const rp__carriers *to, int32_t *next, uint8_t *grew)
{
    id_index *sorted = RP_NEW_ARRAY(id_index, to->count + 1);
    if (!sorted)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < to->count; i++)
        sorted[i] = (id_index){ to->id[i], (int32_t)i };
    qsort(sorted, (size_t)to->count, sizeof *sorted, by_id);
    memset(grew, 1, (size_t)to->count);
    for (int64_t i = 0; i < from->count; i++) {
        next[i] = (int32_t)find_id(sorted, to->count, from->id[i]);
        if (next[i] >= 0)
            grew[next[i]] = to->volume[next[i]] > 1.001 * from->volume[i];
    }
    rp__base_free(sorted);
    return RP_OK;
}

/* ---- the fit ---- */

static bool invert_symmetric(const double d[6], double inverse[6])
{
    double a = d[1] * d[2] - d[5] * d[5], b = d[4] * d[5] - d[3] * d[2], c = d[3] * d[5] - d[4] * d[1];
    double det = d[0] * a + d[3] * b + d[4] * c;
    if (!(det > 0))
        return false;
    inverse[0] = a / det, inverse[3] = b / det, inverse[4] = c / det;
    inverse[1] = (d[0] * d[2] - d[4] * d[4]) / det;
    inverse[2] = (d[0] * d[1] - d[3] * d[3]) / det;
    inverse[5] = (d[3] * d[4] - d[0] * d[5]) / det;
    return true;
}

/* Sums over particles: of their displacements u, places dx and products. */
typedef struct moments {
    double w, u[3], x[3], ux[9], xx[6];
    double count;
} moments;

/* A particle that is there in both frames with the same volume: it neither split nor took another in, so its centre moved as
 * the material did. */
static bool is_steady(const move *m, int64_t j)
{
    if (m->next[j] < 0)
        return false;
    double was = m->before->volume[j], is = m->after->volume[m->next[j]];
    return fabs(is - was) <= 1e-3 * was;
}

/* The steady particles of one cell, about its centre. */
static void sum_cell(const move *m, int64_t cell, const double centre[3], moments *s)
{
    const rp__carriers *p = m->before, *q = m->after;
    const rp__cells *cells = &p->cells;
    *s = (moments){ 0 };
    for (int64_t k = cells->first[cell]; k < cells->first[cell + 1]; k++) {
        int64_t j = cells->items[k];
        double dx[3], u[3];
        if (!is_steady(m, j))
            continue;
        for (int d = 0; d < 3; d++) {
            dx[d] = p->x[d][j] - centre[d];
            u[d] = q->x[d][m->next[j]] - p->x[d][j];
        }
        s->w += 1, s->count += 1;
        for (int r = 0; r < 3; r++) {
            s->u[r] += u[r], s->x[r] += dx[r];
            for (int c = 0; c < 3; c++)
                s->ux[3 * r + c] += u[r] * dx[c];
        }
        s->xx[0] += dx[0] * dx[0], s->xx[1] += dx[1] * dx[1], s->xx[2] += dx[2] * dx[2];
        s->xx[3] += dx[0] * dx[1], s->xx[4] += dx[0] * dx[2], s->xx[5] += dx[1] * dx[2];
    }
}

static void sum_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const move *m = context;
    const rp__cells *cells = &m->before->cells;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t cell = m->filled[n], row = cell / cells->size[0];
        int64_t c[3] = { cell % cells->size[0], row % cells->size[1], row / cells->size[1] };
        double centre[3];
        for (int d = 0; d < 3; d++)
            centre[d] = cells->origin[d] + ((double)c[d] + 0.5) * cells->width;
        sum_cell(m, cell, centre, &m->sums[n]);
    }
}

/* Adds the sums of a cell, whose centre is at e from the particle, about the particle. */
static void add_cell(const moments *c, const double e[3], double w, moments *s)
{
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    s->count += c->count;
    s->w += w * c->w;
    for (int r = 0; r < 3; r++) {
        s->u[r] += w * c->u[r];
        s->x[r] += w * (c->x[r] + c->w * e[r]);
        for (int k = 0; k < 3; k++)
            s->ux[3 * r + k] += w * (c->ux[3 * r + k] + c->u[r] * e[k]);
    }
    for (int k = 0; k < 6; k++) {
        int a = row[k], b = column[k];
        s->xx[k] += w * (c->xx[k] + c->x[a] * e[b] + e[a] * c->x[b] + c->w * e[a] * e[b]);
    }
}

/* The eight cells around the particle, weighted by tents: every weight is positive, so that a linear motion is found exactly. */
static void gather(const move *m, int64_t i, moments *s)
{
    const rp__cells *cells = &m->before->cells;
    int64_t low[3];
    double part[3];
    for (int d = 0; d < 3; d++) {
        double at = (m->before->x[d][i] - cells->origin[d]) / cells->width - 0.5;
        low[d] = (int64_t)floor(at);
        part[d] = at - (double)low[d];
    }
    for (int k = 0; k < 8; k++) {
        int64_t cell = 0;
        double w = 1, e[3];
        bool there = true;
        for (int d = 2; d >= 0; d--) {
            int64_t c = low[d] + (k >> d & 1);
            there = there && c >= 0 && c < cells->size[d];
            cell = cell * cells->size[d] + c;
            w *= k >> d & 1 ? part[d] : 1 - part[d];
            e[d] = ((k >> d & 1) - part[d]) * cells->width;
        }
        if (there && w > 0 && m->number[cell] >= 0)
            add_cell(&m->sums[m->number[cell]], e, w, s);
    }
}

/* G of u = u_i + G dx, from sums about the particle (u_i its own displacement) or about their means; it tends to zero where
 * neighbours are few. False when there are too few, or they scatter. */
static bool fit_gradient(const moments *s, const double u[3], const double mean[3], double g[9])
{
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    double xx[6], inverse[6], size = 0;
    if (s->count < 5) /* the particle itself may be among them */
        return false;
    for (int k = 0; k < 6; k++)
        xx[k] = s->xx[k] - s->w * mean[row[k]] * mean[column[k]];
    double keep = 0.01 * fmin(1, 8 / s->count) * (xx[0] + xx[1] + xx[2]);
    for (int k = 0; k < 3; k++)
        xx[k] += keep;
    if (!invert_symmetric(xx, inverse))
        return false;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            g[3 * r + c] = 0;
            for (int k = 0; k < 3; k++)
                g[3 * r + c] += (s->ux[3 * r + k] - u[r] * s->x[k]) * inverse[at[k][c]];
            size += g[3 * r + c] * g[3 * r + c];
        }
    return size < 16; /* beyond it there is no continuum any more: grains that fly apart */
}

/* The motion around particle i: a sample at offset r goes to centre + A r. The centre goes with the particle; when that split,
 * merged or is gone, with its neighbours, or along its velocity when it has none. */
static void fit_motion(const move *m, int64_t i, double a[9], double centre[3])
{
    const rp__carriers *p = m->before;
    moments s = { 0 };
    double u[3], mean[3] = { 0, 0, 0 }, g[9];
    bool steady = is_steady(m, i);
    gather(m, i, &s);
    for (int d = 0; d < 3; d++) {
        double v = m->velocity ? ((const double *)m->velocity->data)[d * m->velocity->stride + i] : 0;
        u[d] = steady ? m->after->x[d][m->next[i]] - p->x[d][i] : s.w > 0 && s.count >= 4 ? s.u[d] / s.w : m->dt * v;
        if (!steady && s.w > 0 && s.count >= 4)
            mean[d] = s.x[d] / s.w;
    }
    bool fitted = fit_gradient(&s, u, mean, g);
    for (int r = 0; r < 3; r++) {
        centre[r] = p->x[r][i] + u[r];
        for (int c = 0; c < 3; c++) {
            a[3 * r + c] = (r == c) + (fitted ? g[3 * r + c] : 0);
            centre[r] -= fitted ? g[3 * r + c] * mean[c] : 0;
        }
    }
}

/* ---- one sample ---- */

/* The particle whose ellipsoid holds x deepest, of all or of those marked: among those of its own cell, and where none of them holds it,
 * among those within `range` too. */
static int64_t deepest(const move *m, const double x[3], const uint8_t *marked, double range, double *depth)
{
    const rp__carriers *q = m->after;
    const rp__cells *cells = &q->cells;
    int64_t best = -1;
    *depth = INFINITY;
    if (q->count == 0)
        return -1;
    for (int wide = 0; wide < (range > 0 ? 2 : 1) && !(*depth <= 1); wide++) {
        int64_t low[3], high[3];
        for (int d = 0; d < 3; d++) {
            low[d] = rp__grains_cell(cells, d, x[d] - wide * range);
            high[d] = rp__grains_cell(cells, d, x[d] + wide * range);
        }
        for (int64_t z = low[2]; z <= high[2]; z++)
            for (int64_t y = low[1]; y <= high[1]; y++) {
                int64_t row = cells->size[0] * (y + cells->size[1] * z);
                for (int64_t k = cells->first[row + low[0]]; k < cells->first[row + high[0] + 1]; k++) {
                    double here = rp__grains_depth(q, cells->items[k], x);
                    if (here < *depth && (!marked || marked[cells->items[k]]))
                        *depth = here, best = cells->items[k];
                }
            }
    }
    return best;
}

/* Moves to the rim of ellipsoid q when outside. */
static void pull_in(const rp__carriers *c, int64_t q, double depth, double x[3])
{
    double s = depth > 1 ? 0.999 / sqrt(depth) : 1;
    for (int d = 0; d < 3; d++)
        x[d] = c->x[d][q] + s * (x[d] - c->x[d][q]);
}

static void move_sample(const move *m, int64_t i, int64_t k, const double a[9], const double centre[3])
{
    const rp__carriers *q = m->after;
    int64_t owner = m->next[i];
    double r[3], x[3], depth = INFINITY;
    for (int d = 0; d < 3; d++)
        r[d] = rp__grains_unpack(m->samples->offset[3 * k + d], m->samples->scale);
    for (int d = 0; d < 3; d++)
        x[d] = centre[d] + a[3 * d] * r[0] + a[3 * d + 1] * r[1] + a[3 * d + 2] * r[2];
    if (owner >= 0)
        depth = rp__grains_depth(q, owner, x);
    if (!(depth <= 1.05)) { /* a little outside goes back to the rim */
        double other_depth;
        /* Near the rim of its owner it stays there unless another one of its cell holds it; the other half of one that split is near. */
        double width = m->before->cells.width, range = !(depth < 4) ? fmax(q->reach, width) : is_steady(m, i) ? 0 : 0.3 * width;
        int64_t other = deepest(m, x, owner < 0 ? m->grew : NULL, range, &other_depth);
        bool merged = owner < 0 && other_depth <= 4; /* its particle went into one that grew; else a sink took both */
        if (other >= 0 && (merged || (owner >= 0 && other_depth < depth)))
            owner = other, depth = other_depth;
    }
    m->owner[k] = (int32_t)owner;
    if (owner < 0)
        return;
    pull_in(q, owner, depth, x);
    double home[3] = { q->x[0][owner], q->x[1][owner], q->x[2][owner] };
    rp__grains_keep_out(m->def, m->after_frame, m->margin, home, x);
    for (int d = 0; d < 3; d++)
        m->offset[3 * k + d] = rp__grains_pack(x[d] - home[d], m->scale);
}

static void move_particles(void *context, int64_t begin, int64_t end, int worker)
{
    const move *m = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double a[9], centre[3];
        if (m->samples->first[i] == m->samples->first[i + 1])
            continue;
        fit_motion(m, i, a, centre);
        for (int64_t k = m->samples->first[i]; k < m->samples->first[i + 1]; k++)
            move_sample(m, i, k, a, centre);
    }
}

/* ---- collecting ---- */

/* How many samples each particle keeps of those that came, and how many fresh ones it gets. */
static void set_counts(const move *m, rp_samples *out, int64_t *kept)
{
    const rp__carriers *q = m->after;
    for (int64_t k = 0; k < m->samples->count; k++)
        if (m->owner[k] >= 0)
            kept[m->owner[k]]++;
    out->first[0] = 0;
    for (int64_t i = 0; i < q->count; i++) {
        int64_t wanted = rp__grains_wanted(q, i, out->unit_volume, m->def->seed), most = 3 * wanted + 4;
        if (most > 65535)
            most = 65535;
        kept[i] = kept[i] > most ? most : kept[i];
        int64_t fresh = 4 * kept[i] < wanted ? wanted - kept[i] : 0; /* from an emitter, or a hole */
        out->first[i + 1] = out->first[i] + kept[i] + fresh;
    }
    out->count = out->first[q->count];
}

static rp_result finish(const move *m, rp_samples *out)
{
    const rp__carriers *q = m->after;
    int64_t *kept = rp__base_alloc_zero(sizeof *kept * (size_t)(q->count + 1));
    int64_t *placed = rp__base_alloc_zero(sizeof *placed * (size_t)(q->count + 1));
    out->first = RP_NEW_ARRAY(int64_t, q->count + 1);
    rp_result result = kept && placed && out->first ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        set_counts(m, out, kept);
        out->offset = RP_NEW_ARRAY(int16_t, 3 * out->count + 3);
        out->tone = RP_NEW_ARRAY(uint8_t, out->count + 1);
        result = out->offset && out->tone ? RP_OK : RP_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; k < m->samples->count && result == RP_OK; k++) { /* stable: the order never depends on threads */
        int64_t o = m->owner[k];
        if (o < 0 || placed[o] >= kept[o])
            continue;
        int64_t to = out->first[o] + placed[o]++;
        memcpy(out->offset + 3 * to, m->offset + 3 * k, 3 * sizeof *out->offset);
        out->tone[to] = m->samples->tone[k];
    }
    for (int64_t i = 0; i < q->count && result == RP_OK; i++)
        for (int64_t to = out->first[i] + kept[i]; to < out->first[i + 1]; to++) {
            double x[3];
            /* numbers that the first seeding did not use, and other ones at each frame */
            int64_t number = (out->frame + 1) * 65536 + (to - out->first[i]);
            rp__grains_place(m->def, q, m->after_frame, i, number, m->margin, x, &out->tone[to]);
            for (int d = 0; d < 3; d++)
                out->offset[3 * to + d] = rp__grains_pack(x[d] - q->x[d][i], out->scale);
        }
    rp__base_free(kept);
    rp__base_free(placed);
    return result;
}

static rp_result advance(const rp_samples_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after,
                         const rp__carriers *p, const rp__carriers *q, rp_samples *out)
{
    int32_t *next = RP_NEW_ARRAY(int32_t, p->count + 1), *owner = RP_NEW_ARRAY(int32_t, samples->count + 1);
    int16_t *offset = RP_NEW_ARRAY(int16_t, 3 * samples->count + 3);
    uint8_t *grew = RP_NEW_ARRAY(uint8_t, q->count + 1);
    int64_t cells = p->cells.size[0] * p->cells.size[1] * p->cells.size[2], used = 0;
    int32_t *number = RP_NEW_ARRAY(int32_t, cells + 1), *filled = RP_NEW_ARRAY(int32_t, p->count + 1);
    for (int64_t c = 0; c < cells && number && filled; c++) {
        number[c] = p->cells.first[c] < p->cells.first[c + 1] ? (int32_t)used : -1;
        if (number[c] >= 0)
            filled[used++] = (int32_t)c;
    }
    moments *sums = RP_NEW_ARRAY(moments, used + 1);
    bool room = next && owner && offset && grew && number && filled && sums;
    rp_result result = room ? match_ids(p, q, next, grew) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        const rp_field_view *velocity = rp_frame_field(before, "velocity");
        if (velocity && (velocity->info.type != RP_F64 || velocity->info.components != 3))
            velocity = NULL;
        out->particles = q->count;
        out->frame = after->index;
        out->scale = 1.5 * fmax(q->reach, 1e-300);
        out->unit_volume = samples->unit_volume;
        out->frame_sum = rp_samples_frame_sum(after);
        move m = { .def = def, .samples = samples, .before_frame = before, .after_frame = after, .before = p, .after = q,
                   .next = next, .grew = grew, .filled = filled, .number = number, .sums = sums, .scale = out->scale,
                   .dt = after->time - before->time,
                   .margin = rp__grains_margin(def, samples->unit_volume), .velocity = velocity, .owner = owner,
                   .offset = offset };
        rp__exec_for(used, 256, sum_cells, &m);
        rp__exec_for(p->count, 512, move_particles, &m);
        result = finish(&m, out);
    }
    rp__base_free(number);
    rp__base_free(filled);
    rp__base_free(sums);
    rp__base_free(next);
    rp__base_free(grew);
    rp__base_free(owner);
    rp__base_free(offset);
    return result;
}

rp_result rp_samples_advance(const rp_samples_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after,
                             rp_samples *out)
{
    if (samples->particles != before->count)
        return rp__base_fail(RP_BAD_ARGUMENT, "samples of %lld particles do not belong to a frame of %lld",
                             (long long)samples->particles, (long long)before->count);
    if (samples->count == 0 && !(samples->unit_volume > 0))
        return rp_samples_seed(def, after, out); /* nothing was there yet */
    rp__carriers p = { 0 }, q = { 0 };
    rp_samples moved = { 0 };
    rp_result result = rp__grains_carriers(def, before, RP_GRAINS_PLACES, &p);
    if (result == RP_OK)
        result = rp__grains_carriers(def, after, RP_GRAINS_ROOTS, &q);
    if (result == RP_OK)
        result = advance(def, samples, before, after, &p, &q, &moved);
    rp__grains_carriers_free(&p);
    rp__grains_carriers_free(&q);
    if (result != RP_OK)
        rp_samples_free(&moved);
    else
        *out = moved;
    return result;
}
