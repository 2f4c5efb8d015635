/* Samples from one frame to the next.
 *
 * A sample at offset r of its particle goes to x + u + (I + G) r, u the particle's displacement and G the gradient of the motion there
 * (motion.c): it is advected passively. It must stay in an ellipsoid of a particle, where the velocity has a meaning
 * [daviet2016, §5.4]: that of its owner, else another one that holds it, else it goes back to the rim of the nearest.
 *
 * All is told from the owner's centre and in single precision: offsets are stored in 15 bits of less than a cell. */
#include "exec/exec.h"
#include "grains/grains.h"

#include <string.h>

/* A sample of a deformation below this keeps its offset: its own part of it is a few steps of the storage. */
static const float stillness = 1e-4f;

/* Of a particle to the bodies. One that is deep inside, where a body ran over it, has no samples: no way out is short enough to store. */
enum { FAR, NEAR, INSIDE };

typedef struct move {
    const rp_samples *samples;
    const rp__carriers *before, *after;
    const rp__kin *kin;
    const rp__motion_field *field;
    const rp__obstacles *obstacles;
    const rp__cells *grown;       /* of those that took others in, or are new */
    const uint8_t *near_body;     /* of the particles of `after` */
    const rp_field_view *velocity; /* of `before` */
    double dt, margin, scale;
    bool bodies_rest;             /* none moved between the frames */
    int32_t *owner;               /* of each sample, -1: gone */
    int16_t *offset;
    uint8_t *still;               /* of the particles of `before`: its samples keep their offsets */
} move;

/* What the samples of one particle share. */
typedef struct flock {
    double home[3];               /* of the owner, or where the particle would be that is gone */
    float a[12], shift[3];        /* an offset r goes to shift + A r from home */
    float low[3], high[3];        /* walls, from home */
    const float *inverse;         /* NULL: no owner */
    int32_t owner;
    bool steady;
} flock;

/* ---- the motion of a particle ---- */

static void set_walls(const move *m, const double home[3], float low[3], float high[3])
{
    const rp_samples_def *def = m->after->def;
    for (int d = 0; d < 3; d++) {
        low[d] = def->open[2 * d] || d >= def->dim ? -INFINITY : (float)(def->lower[d] + m->margin - home[d]);
        high[d] = def->open[2 * d + 1] || d >= def->dim ? INFINITY : (float)(def->upper[d] - m->margin - home[d]);
    }
}

/* A particle keeps its volume where the material flies apart, and so does what its samples fill: without this they would gather on its
 * rim. Rotations and shear have det A = 1 and stay as they are. */
static void keep_volume(int dim, float a[9])
{
    float plane = a[0] * a[4] - a[1] * a[3];
    float det = dim == 2 ? plane : a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
    if (!(det > 1e-3f))
        return;
    float scale = 1 / (dim == 2 ? sqrtf(det) : cbrtf(det));
    for (int c = 0; c < (dim == 2 ? 6 : 9); c++)
        a[c] *= dim == 2 && c % 3 == 2 ? 1 : scale;
}

static void set_flock(const move *m, int64_t i, const rp__corners *corners, flock *f)
{
    const rp__carriers *p = m->before, *q = m->after;
    double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] };
    float u[3];
    f->owner = m->kin->next[i];
    f->steady = m->kin->steady[i];
    f->inverse = f->owner >= 0 ? q->inverse + 6 * (int64_t)f->owner : NULL;
    bool known = rp__grains_motion(corners, x, f->a, f->steady ? NULL : u);
    for (int d = 0; d < 3; d++) {
        f->a[4 * d] += 1;
        f->shift[d] = 0;
        if (f->steady) {
            f->home[d] = q->x[d][f->owner];
            continue;
        }
        double v = m->velocity ? ((const double *)m->velocity->data)[d * m->velocity->stride + i] : 0;
        double to = x[d] + (known ? (double)u[d] : m->dt * v);
        f->home[d] = f->owner >= 0 ? q->x[d][f->owner] : to;
        f->shift[d] = (float)(to - f->home[d]);
    }
    keep_volume(q->def->dim, f->a);
    set_walls(m, f->home, f->low, f->high);
}

/* True when particle i neither turned nor grew nor moved as far as a step of the storage, so that its samples may stay as they are. */
static bool is_still(const move *m, int64_t i)
{
    const rp_field_view *was = m->before->ellipsoid, *is = m->after->ellipsoid;
    int32_t owner = m->kin->next[i];
    if (!m->kin->steady[i] || (m->near_body[owner] && !m->bodies_rest))
        return false;
    for (int d = 0; d < 3; d++)
        if (fabs(m->after->x[d][owner] - m->before->x[d][i]) > (double)stillness * m->scale)
            return false;
    for (int k = 0; k < 6 && was && is; k++) {
        const double *a = (const double *)was->data + i, *b = (const double *)is->data + owner;
        double trace = a[0] + a[was->stride] + a[2 * was->stride];
        if (!(fabs(a[k * was->stride] - b[k * is->stride]) <= 1e-3 * trace))
            return false;
    }
    return (was != NULL) == (is != NULL);
}

/* ---- one sample ---- */

/* The particle of the list whose ellipsoid holds x deepest, in the cells within `range`. */
static void look_in(const rp__carriers *q, const float x[3], float range, int32_t *best, float *depth)
{
    const rp__cells *cells = &q->cells;
    int64_t low[3], high[3];
    float per = (float)cells->per_width;
    for (int d = 0; d < 3; d++) {
        float a = (x[d] - range) * per, b = (x[d] + range) * per, most = (float)(cells->size[d] - 1);
        low[d] = a > 0 ? (int64_t)(a < most ? a : most) : 0;
        high[d] = b > 0 ? (int64_t)(b < most ? b : most) : 0;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++) {
            int64_t row = cells->size[0] * (y + cells->size[1] * z);
            const rp__carrier *end = q->list + cells->first[row + high[0] + 1];
            for (const rp__carrier *c = q->list + cells->first[row + low[0]]; c < end; c++) {
                float y3[3] = { x[0] - c->x[0], x[1] - c->x[1], x[2] - c->x[2] };
                float here = rp__grains_offset_depth(c->inverse, y3);
                if (here < *depth)
                    *depth = here, *best = c->index;
            }
        }
}

/* Among those of its own half cell, then within half the range, then within it: the first that holds it is taken, else the nearest. */
static int32_t deepest(const move *m, const double home[3], const float y[3], float range, float *depth)
{
    const rp__carriers *q = m->after;
    int32_t best = -1;
    float x[3];
    for (int d = 0; d < 3; d++)
        x[d] = (float)(home[d] - q->cells.origin[d]) + y[d];
    *depth = INFINITY;
    for (int ring = 0; ring < (range > 0 ? 3 : 1) && q->count > 0 && !(*depth <= 1); ring++)
        look_in(q, x, 0.5f * (float)ring * range, &best, depth);
    return best;
}

/* The same among those that grew, for a sample whose particle is gone. */
static int32_t deepest_grown(const move *m, const double home[3], const float y[3], double range, float *depth)
{
    const rp__carriers *q = m->after;
    const rp__cells *cells = m->grown;
    double x[3] = { home[0] + (double)y[0], home[1] + (double)y[1], home[2] + (double)y[2] };
    int32_t best = -1;
    *depth = INFINITY;
    for (int ring = 0; ring < 2 && cells->first && !(*depth <= 1); ring++) {
        int64_t low[3], high[3];
        for (int d = 0; d < 3; d++) {
            low[d] = rp__grains_cell(cells, d, x[d] - ring * range);
            high[d] = rp__grains_cell(cells, d, x[d] + ring * range);
        }
        for (int64_t z = low[2]; z <= high[2]; z++)
            for (int64_t r = low[1]; r <= high[1]; r++) {
                int64_t row = cells->size[0] * (r + cells->size[1] * z);
                for (int64_t k = cells->first[row + low[0]]; k < cells->first[row + high[0] + 1]; k++) {
                    int32_t i = cells->items[k];
                    float here = (float)rp__grains_depth(q, i, x);
                    if (here < *depth)
                        *depth = here, best = i;
                }
            }
    }
    return best;
}

/* A sample that left its owner: another one, or the same when it is nearest. The offset goes along. */
static int32_t find_owner(const move *m, const flock *f, float y[3], float *depth)
{
    double width = m->before->cells.width, range = fmax(m->after->reach, width);
    float other_depth;
    int32_t other;
    if (f->owner < 0) { /* its particle went into one that grew; else a sink took both */
        other = deepest_grown(m, f->home, y, range, &other_depth);
        if (!(other_depth <= 4))
            return -1;
    } else { /* near the rim it stays unless another one of its half cell holds it; the other half of one that split is near */
        other = deepest(m, f->home, y, !(*depth < 4) ? (float)range : f->steady ? 0 : 0.3f * (float)width, &other_depth);
        if (other < 0 || other == f->owner || !(other_depth < *depth))
            return f->owner;
    }
    for (int d = 0; d < 3; d++)
        y[d] += (float)(f->home[d] - m->after->x[d][other]);
    *depth = rp__grains_offset_depth(m->after->inverse + 6 * (int64_t)other, y);
    return other;
}

/* Into the ellipsoid when outside, out of walls and bodies. */
static void hold(const move *m, int32_t owner, float depth, const float low[3], const float high[3], float y[3])
{
    float s = depth > 1 ? 0.999f / sqrtf(depth) : 1;
    for (int d = 0; d < 3; d++) {
        y[d] *= s;
        y[d] = y[d] < low[d] ? low[d] : y[d];
        y[d] = y[d] > high[d] ? high[d] : y[d];
    }
    if (!m->near_body[owner])
        return;
    double home[3], x[3];
    for (int d = 0; d < 3; d++) {
        home[d] = m->after->x[d][owner];
        x[d] = home[d] + (double)y[d];
    }
    rp__grains_keep_out(m->obstacles, m->margin, home, x);
    for (int d = 0; d < 3; d++)
        y[d] = (float)(x[d] - home[d]);
}

static inline int16_t pack(float y, float per_step)
{
    float v = y * per_step;
    v = v < -32767 ? -32767 : v > 32767 ? 32767 : v;
    return (int16_t)lrintf(v);
}

static void move_samples(const move *m, const flock *f, int64_t begin, int64_t end)
{
    const float step = (float)(m->samples->scale / 32767), per_step = (float)(32767 / m->scale);
    for (int64_t k = begin; k < end; k++) {
        const int16_t *from = m->samples->offset + 3 * k;
        float r[3] = { step * from[0], step * from[1], step * from[2] }, y[3], depth = INFINITY;
        for (int d = 0; d < 3; d++)
            y[d] = f->shift[d] + f->a[3 * d] * r[0] + f->a[3 * d + 1] * r[1] + f->a[3 * d + 2] * r[2];
        if (f->inverse)
            depth = rp__grains_offset_depth(f->inverse, y);
        int32_t owner = depth <= 1.05f ? f->owner : find_owner(m, f, y, &depth); /* a little outside goes back to the rim */
        if (owner >= 0 && m->near_body[owner] == INSIDE)
            owner = -1;
        m->owner[k] = owner;
        if (owner < 0)
            continue;
        if (owner == f->owner)
            hold(m, owner, depth, f->low, f->high, y);
        else {
            double home[3] = { m->after->x[0][owner], m->after->x[1][owner], m->after->x[2][owner] };
            float low[3], high[3];
            set_walls(m, home, low, high);
            hold(m, owner, depth, low, high, y);
        }
        for (int d = 0; d < 3; d++)
            m->offset[3 * k + d] = pack(y[d], per_step);
    }
}

/* Cell by cell, since particles of one share their nodes. */
static void move_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const move *m = context;
    const rp__cells *cells = &m->before->cells;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t cell = m->field->filled[n];
        rp__corners corners;
        rp__grains_corners(m->field, cell, &corners);
        bool calm = corners.known && corners.most < stillness && m->samples->scale == m->scale;
        for (int32_t at = cells->first[cell]; at < cells->first[cell + 1]; at++) {
            int64_t i = cells->items[at], first = m->samples->first[i], last = m->samples->first[i + 1];
            flock f;
            m->still[i] = calm && is_still(m, i);
            if (first == last || m->still[i])
                continue;
            set_flock(m, i, &corners, &f);
            move_samples(m, &f, first, last);
        }
    }
}

/* ---- collecting ---- */

/* Samples of the later frame: those that stayed come first, then those that came, in their order. */
typedef struct collect {
    const move *m;
    rp_samples *out;
    int32_t *stayed, *came, *fresh; /* of each particle: how many */
    int32_t *first_came;          /* of each particle: its part of the list of those that came */
    int32_t *wanted;
    int64_t *list;                /* samples that changed their owner, by their new one */
} collect;

static void count_wanted(void *context, int64_t begin, int64_t end, int worker)
{
    const collect *c = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        c->wanted[i] = c->m->near_body[i] == INSIDE ? 0 : (int32_t)rp__grains_wanted(c->m->after, i, c->out->unit_volume, c->m->after->def->seed);
}

/* Who stayed and who came; the list of those that came. */
static rp_result sort_out(collect *c)
{
    const move *m = c->m;
    const rp__carriers *q = m->after;
    int64_t changed = 0;
    for (int64_t i = 0; i < m->samples->particles; i++) {
        int32_t next = m->kin->next[i];
        if (m->still[i]) {
            c->stayed[next] = (int32_t)(m->samples->first[i + 1] - m->samples->first[i]);
            continue;
        }
        for (int64_t k = m->samples->first[i]; k < m->samples->first[i + 1]; k++) {
            int32_t o = m->owner[k];
            if (o >= 0 && o == next)
                c->stayed[o]++;
            else if (o >= 0)
                c->came[o]++, changed++;
        }
    }
    c->list = RP_NEW_ARRAY(int64_t, changed + 1);
    if (!c->list)
        return RP_OUT_OF_MEMORY;
    int32_t sum = 0;
    for (int64_t i = 0; i < q->count; i++) {
        c->first_came[i] = sum;
        sum += c->came[i];
        c->came[i] = 0;
    }
    for (int64_t i = 0; i < m->samples->particles && changed > 0; i++) {
        int32_t next = m->kin->next[i];
        for (int64_t k = m->samples->first[i]; k < m->samples->first[i + 1] && !m->still[i]; k++) {
            int32_t o = m->owner[k];
            if (o >= 0 && o != next)
                c->list[c->first_came[o] + c->came[o]++] = k;
        }
    }
    return RP_OK;
}

/* A particle keeps up to three times what it should have. One with next to none is filled up, from an emitter or at a hole, as long as
 * the two cells around lack samples: one half of a particle that split may have all of them. */
static rp_result set_counts(collect *c)
{
    const rp__carriers *q = c->m->after;
    const rp__cells *cells = &q->cells;
    int64_t size[3];
    for (int d = 0; d < 3; d++)
        size[d] = cells->size[d] / 4 + 1; /* two cells of the grid wide */
    int32_t *lack = rp__base_alloc_zero(sizeof *lack * (size_t)(size[0] * size[1] * size[2]));
    int32_t *cell = RP_NEW_ARRAY(int32_t, q->count + 1);
    if (!lack || !cell) {
        rp__base_free(lack);
        rp__base_free(cell);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < q->count; i++) {
        int64_t most = 3 * (int64_t)c->wanted[i] + 4 < 65535 ? 3 * (int64_t)c->wanted[i] + 4 : 65535;
        c->stayed[i] = c->stayed[i] < most ? c->stayed[i] : (int32_t)most;
        c->came[i] = c->came[i] < most - c->stayed[i] ? c->came[i] : (int32_t)most - c->stayed[i];
        int64_t at[3];
        for (int d = 0; d < 3; d++)
            at[d] = rp__grains_cell(cells, d, q->x[d][i]) / 4;
        cell[i] = (int32_t)(at[0] + size[0] * (at[1] + size[1] * at[2]));
        lack[cell[i]] += c->wanted[i] - c->stayed[i] - c->came[i];
    }
    c->out->first[0] = 0;
    for (int64_t i = 0; i < q->count; i++) {
        int32_t kept = c->stayed[i] + c->came[i], fresh = 4 * kept < c->wanted[i] ? c->wanted[i] - kept : 0;
        fresh = fresh < lack[cell[i]] ? fresh : lack[cell[i]] > 0 ? lack[cell[i]] : 0;
        lack[cell[i]] -= fresh;
        c->fresh[i] = fresh;
        c->out->first[i + 1] = c->out->first[i] + kept + fresh;
    }
    c->out->count = c->out->first[q->count];
    rp__base_free(lack);
    rp__base_free(cell);
    return RP_OK;
}

static void copy_samples(const collect *c, const int16_t *offset, int64_t k, int64_t n, int64_t to)
{
    memcpy(c->out->offset + 3 * to, offset + 3 * k, (size_t)n * 3 * sizeof *offset);
    memcpy(c->out->tone + to, c->m->samples->tone + k, (size_t)n);
}

static void fill_particles(void *context, int64_t begin, int64_t end, int worker)
{
    const collect *c = context;
    const move *m = c->m;
    const rp__carriers *q = m->after;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t to = c->out->first[i], before = m->kin->previous[i];
        int64_t stayed = c->stayed[i];
        if (stayed > 0) {
            int64_t k = m->samples->first[before];
            bool still = m->still[before];
            if (still || stayed == m->samples->first[before + 1] - k) {
                copy_samples(c, still ? m->samples->offset : m->offset, k, stayed, to);
                to += stayed;
            } else
                for (int64_t last = to + stayed; to < last; k++)
                    if (m->owner[k] == i)
                        copy_samples(c, m->offset, k, 1, to++);
        }
        for (int64_t k = 0; k < c->came[i]; k++)
            copy_samples(c, m->offset, c->list[c->first_came[i] + k], 1, to++);
        if (c->fresh[i] == 0)
            continue;
        double inverse[6], root[6], x[3];
        rp__grains_ellipsoid_ref(q, i, inverse, root);
        for (; to < c->out->first[i + 1]; to++) {
            /* numbers that the first seeding did not use, and other ones at each frame */
            int64_t number = (c->out->frame + 1) * 65536 + (to - c->out->first[i]);
            rp__grains_place(m->obstacles, q, i, number, root, m->margin, x, &c->out->tone[to]);
            for (int d = 0; d < 3; d++)
                c->out->offset[3 * to + d] = rp__grains_pack(x[d] - q->x[d][i], c->out->scale);
        }
    }
}

static rp_result finish(const move *m, rp_samples *out)
{
    int64_t n = m->after->count;
    collect c = { .m = m, .out = out };
    c.stayed = rp__base_alloc_zero(sizeof *c.stayed * (size_t)(n + 1));
    c.came = rp__base_alloc_zero(sizeof *c.came * (size_t)(n + 1));
    c.fresh = RP_NEW_ARRAY(int32_t, n + 1);
    c.first_came = RP_NEW_ARRAY(int32_t, n + 1);
    c.wanted = RP_NEW_ARRAY(int32_t, n + 1);
    out->first = RP_NEW_ARRAY(int64_t, n + 1);
    rp_result result = c.stayed && c.came && c.fresh && c.first_came && c.wanted && out->first ? sort_out(&c) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        rp__exec_for(n, 4096, count_wanted, &c);
        result = set_counts(&c);
    }
    if (result == RP_OK) {
        out->offset = RP_NEW_ARRAY(int16_t, 3 * out->count + 3);
        out->tone = RP_NEW_ARRAY(uint8_t, out->count + 1);
        result = out->offset && out->tone ? RP_OK : RP_OUT_OF_MEMORY;
    }
    if (result == RP_OK)
        rp__exec_for(n, 512, fill_particles, &c);
    rp__base_free(c.stayed);
    rp__base_free(c.came);
    rp__base_free(c.fresh);
    rp__base_free(c.first_came);
    rp__base_free(c.wanted);
    rp__base_free(c.list);
    return result;
}

/* ---- a frame ---- */

typedef struct nearness {
    const rp__carriers *carriers;
    const rp__obstacles *obstacles;
    double range;
    uint8_t *near_body;
} nearness;

static void find_near(void *context, int64_t begin, int64_t end, int worker)
{
    const nearness *n = context;
    const rp__carriers *c = n->carriers;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double d = rp__grains_body_distance(n->obstacles, (double[3]){ c->x[0][i], c->x[1][i], c->x[2][i] }, n->range);
        n->near_body[i] = d < -0.3 * c->reach ? INSIDE : d < n->range ? NEAR : FAR;
    }
}

static bool all_rest(const rp_samples_def *def, const rp_frame *before, const rp_frame *after)
{
    if (before->body_count != after->body_count)
        return false;
    for (int b = 0; b < after->body_count; b++) {
        const rp_body_state *p = &before->bodies[b], *q = &after->bodies[b];
        if (p->present != q->present || memcmp(p->position, q->position, sizeof p->position) != 0 ||
            memcmp(p->orientation, q->orientation, sizeof p->orientation) != 0 ||
            (def->deforming && b < def->body_count && def->deforming[b].sequence))
            return false;
    }
    return true;
}

/* The scale stays while it fits, so that samples at rest keep their bytes. */
static double choose_scale(double old, double reach)
{
    return old >= 1.4 * reach && old <= 3 * reach ? old : 1.65 * fmax(reach, 1e-300);
}

static rp_result advance(const rp_samples_def *def, const rp_frame *before, const rp_frame *after, move *m, rp_samples *out)
{
    const rp__carriers *p = m->before, *q = m->after;
    const rp_field_view *velocity = rp_frame_field(before, "velocity");
    uint8_t *near_body = rp__base_alloc_zero((size_t)q->count + 1);
    m->still = RP_NEW_ARRAY(uint8_t, p->count + 1);
    m->owner = RP_NEW_ARRAY(int32_t, m->samples->count + 1);
    m->offset = RP_NEW_ARRAY(int16_t, 3 * m->samples->count + 3);
    if (!near_body || !m->still || !m->owner || !m->offset) {
        rp__base_free(near_body);
        return RP_OUT_OF_MEMORY;
    }
    out->particles = q->count;
    out->frame = after->index;
    out->scale = m->scale = choose_scale(m->samples->scale, q->reach);
    out->unit_volume = m->samples->unit_volume;
    out->frame_sum = rp_samples_frame_sum(after);
    m->dt = after->time - before->time;
    m->margin = rp__grains_margin(def, out->unit_volume);
    m->velocity = velocity && velocity->info.type == RP_F64 && velocity->info.components == 3 ? velocity : NULL;
    m->near_body = near_body;
    m->bodies_rest = all_rest(def, before, after);
    nearness n = { q, m->obstacles, 1.001 * q->reach + m->margin, near_body };
    if (m->obstacles->count > 0)
        rp__exec_for(q->count, 256, find_near, &n);
    rp__exec_for(m->field->filled_count, 32, move_cells, m);
    rp_result result = finish(m, out);
    rp__base_free(near_body);
    return result;
}

/* With all that can fail for want of memory made beforehand. */
static rp_result prepare(const rp_samples_def *def, const rp_frame *before, const rp_frame *after, move *m, rp_samples *out)
{
    rp__kin kin = { 0 };
    rp__motion_field field = { 0 };
    rp__obstacles obstacles = { 0 };
    rp__cells grown = { 0 };
    rp_result result = rp__grains_match(m->before, m->after, &kin);
    if (result == RP_OK)
        result = rp__grains_fit(m->before, m->after, &kin, &field);
    if (result == RP_OK)
        result = rp__grains_obstacles(def, after, &obstacles);
    if (result == RP_OK && kin.grown_count > 0)
        result = rp__grains_cells(m->after->x, kin.grown, kin.grown_count, m->before->cells.width, &grown);
    m->kin = &kin, m->field = &field, m->obstacles = &obstacles, m->grown = &grown;
    if (result == RP_OK)
        result = advance(def, before, after, m, out);
    rp__base_free(m->still);
    rp__base_free(m->owner);
    rp__base_free(m->offset);
    rp__grains_cells_free(&grown);
    rp__grains_obstacles_free(&obstacles);
    rp__grains_fit_free(&field);
    rp__grains_kin_free(&kin);
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
        result = rp__grains_carriers(def, after, RP_GRAINS_ELLIPSOIDS, &q);
    move m = { .samples = samples, .before = &p, .after = &q };
    if (result == RP_OK)
        result = prepare(def, before, after, &m, &moved);
    rp__grains_carriers_free(&p);
    rp__grains_carriers_free(&q);
    if (result != RP_OK)
        rp_samples_free(&moved);
    else
        *out = moved;
    return result;
}
