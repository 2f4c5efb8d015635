/* The hierarchy, and conjugate gradients.
 *
 * Coarse cells are pairs of cells along each axis (the last may be alone): the coarse face coefficient is the sum of the fine ones on
 * the face, halved where the distance between centres has doubled. That is the same equation on a coarser grid, so that values go down as
 * sums and up as they are. Each level is smoothed by red and black Gauss-Seidel, black and red on the way up: with the transfers, which
 * are transposes of each other, the cycle is a symmetric positive operator, which conjugate gradients need. */
#include "multigrid/multigrid.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 24, COARSE_SWEEPS = 12, CHUNK = 4096 };

typedef struct level {
    int64_t n[3], count;
    bool periodic[3];
    bool halved[3];             /* against the finer level */
    double *k[3], *ground, *inverse;
    double *closed;             /* a line of zeros: the coefficients of faces that lead nowhere */
    double *x, *b, *r;
} level;

struct rp__multigrid {
    int levels;
    bool grounded;
    level level[MOST_LEVELS];
    double *p, *ap;             /* of conjugate gradients; their residual is level[0].b, what the cycle makes of it level[0].x */
};

static rp_result make_level(level *l)
{
    l->count = l->n[0] * l->n[1] * l->n[2];
    double **all[] = { &l->k[0], &l->k[1], &l->k[2], &l->ground, &l->inverse, &l->closed, &l->x, &l->b, &l->r };
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        *all[i] = RP_NEW_ARRAY(double, l->count);
        if (!*all[i])
            return RP_OUT_OF_MEMORY;
        memset(*all[i], 0, (size_t)l->count * sizeof(double));
    }
    return RP_OK;
}

/* The next coarser lattice; false when there is nothing left to halve. Red and black need even numbers on periodic axes. */
static bool coarser(const level *fine, level *coarse)
{
    bool any = false;
    for (int a = 0; a < 3; a++) {
        int64_t n = fine->n[a];
        bool halve = n > 2 && (!fine->periodic[a] || (n / 2) % 2 == 0);
        if (n == 2)
            halve = true;
        coarse->halved[a] = halve;
        coarse->n[a] = halve ? (n + 1) / 2 : n;
        coarse->periodic[a] = fine->periodic[a];
        any = any || halve;
    }
    return any;
}

static rp_result create(rp__multigrid *mg, const int64_t cells[3], const bool periodic[3])
{
    level *first = &mg->level[0];
    for (int a = 0; a < 3; a++) {
        if (cells[a] < 1 || (periodic[a] && cells[a] > 1 && cells[a] % 2))
            return rp__base_fail(RP_BAD_ARGUMENT, "a Poisson problem has %lld cells along %c; one at least, an even number on periodic axes",
                                 (long long)cells[a], "xyz"[a]);
        first->n[a] = cells[a];
        first->periodic[a] = periodic[a];
    }
    mg->levels = 1;
    RP_TRY(make_level(first));
    while (mg->levels < MOST_LEVELS && coarser(&mg->level[mg->levels - 1], &mg->level[mg->levels])) {
        mg->levels++;
        RP_TRY(make_level(&mg->level[mg->levels - 1]));
    }
    double **all[] = { &mg->p, &mg->ap };
    for (int i = 0; i < 2; i++) {
        *all[i] = RP_NEW_ARRAY(double, first->count);
        if (!*all[i])
            return RP_OUT_OF_MEMORY;
    }
    return RP_OK;
}

rp_result rp__multigrid_create(const int64_t cells[3], const bool periodic[3], rp__multigrid **out)
{
    rp__multigrid *mg = RP_NEW(rp__multigrid);
    if (!mg)
        return RP_OUT_OF_MEMORY;
    rp_result result = create(mg, cells, periodic);
    if (result != RP_OK) {
        rp__multigrid_destroy(mg);
        return result;
    }
    *out = mg;
    return RP_OK;
}

void rp__multigrid_destroy(rp__multigrid *mg)
{
    if (!mg)
        return;
    for (int l = 0; l < mg->levels; l++) {
        level *v = &mg->level[l];
        double *all[] = { v->k[0], v->k[1], v->k[2], v->ground, v->inverse, v->closed, v->x, v->b, v->r };
        for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
            rp__base_free(all[i]);
    }
    rp__base_free(mg->p);
    rp__base_free(mg->ap);
    rp__base_free(mg);
}

double *rp__multigrid_faces(rp__multigrid *mg, int axis)
{
    return mg->level[0].k[axis];
}

double *rp__multigrid_ground(rp__multigrid *mg)
{
    return mg->level[0].ground;
}

/* The six neighbours of a cell and the coefficients of the faces between; a face that is closed leads to the cell itself. */
typedef struct star {
    int64_t cell[6];
    double k[6];
} star;

static inline void star_of(const level *l, const int64_t at[3], int64_t c, star *s)
{
    int64_t stride = 1;
    for (int a = 0; a < 3; a++) {
        int64_t n = l->n[a];
        int64_t low = at[a] > 0 ? c - stride : l->periodic[a] ? c + (n - 1) * stride : c;
        int64_t high = at[a] < n - 1 ? c + stride : l->periodic[a] ? c - (n - 1) * stride : c;
        s->cell[2 * a] = low;
        s->cell[2 * a + 1] = high;
        s->k[2 * a] = low == c ? 0 : l->k[a][low];
        s->k[2 * a + 1] = high == c ? 0 : l->k[a][c];
        stride *= n;
    }
}

static inline void place_of(const level *l, int64_t c, int64_t at[3])
{
    at[0] = c % l->n[0];
    at[1] = c / l->n[0] % l->n[1];
    at[2] = c / (l->n[0] * l->n[1]);
}

static inline double row_of(const level *l, const double *x, const int64_t at[3], int64_t c)
{
    star s;
    star_of(l, at, c, &s);
    double sum = l->ground[c] * x[c];
    for (int f = 0; f < 6; f++)
        sum += s.k[f] * (x[c] - x[s.cell[f]]);
    return sum;
}

double rp__multigrid_row(const rp__multigrid *mg, const double *x, int64_t cell)
{
    int64_t at[3];
    place_of(&mg->level[0], cell, at);
    return row_of(&mg->level[0], x, at, cell);
}

double rp__multigrid_diagonal(const rp__multigrid *mg, int64_t cell)
{
    const level *l = &mg->level[0];
    int64_t at[3];
    star s;
    place_of(l, cell, at);
    star_of(l, at, cell, &s);
    double sum = l->ground[cell];
    for (int f = 0; f < 6; f++)
        sum += s.k[f];
    return sum;
}

/* ---- loops over lines of cells ---- */

typedef struct work {
    rp__multigrid *mg;
    level *l, *to;
    const double *x, *add;
    double *y;
    int colour;
    double alpha, mean;
} work;

/* A line of cells along x: where its neighbours across begin, and the coefficients of the faces between (zeros where there is none). */
typedef struct strip {
    int64_t at, n;
    int64_t other[4];     /* low and high along y, then z */
    const double *k[4];
    const double *kx;
    int64_t around;       /* the neighbour of an end beyond it: -1 for none */
} strip;

static void strip_of(const level *l, int64_t line, strip *s)
{
    int64_t at[3] = { 0, line % l->n[1], line / l->n[1] }, stride = l->n[0];
    s->at = line * l->n[0], s->n = l->n[0];
    s->kx = l->k[0] + s->at;
    s->around = l->periodic[0] && s->n > 1;
    for (int a = 1; a < 3; a++) {
        int64_t n = l->n[a], low = at[a] > 0 ? s->at - stride : l->periodic[a] ? s->at + (n - 1) * stride : s->at;
        int64_t high = at[a] < n - 1 ? s->at + stride : l->periodic[a] ? s->at - (n - 1) * stride : s->at;
        s->other[2 * a - 2] = low, s->other[2 * a - 1] = high;
        s->k[2 * a - 2] = low == s->at ? l->closed : l->k[a] + low;
        s->k[2 * a - 1] = high == s->at ? l->closed : l->k[a] + s->at;
        stride *= n;
    }
}

#define MG_INLINE static inline __attribute__((always_inline))

/* sum k (x_i - x_other), or with `others` sum k x_other, over the faces of cell i of a strip; `faces` across the line: 2, or 4 in 3D. */
MG_INLINE double faces_of(const strip *s, const double *x, int64_t i, int64_t low, double k_low, int64_t high, double k_high, int faces, bool others)
{
    const double *line = x + s->at;
    double own = others ? 0 : line[i], sign = others ? 1 : -1;
    double sum = k_low * (own + sign * line[low]) + k_high * (own + sign * line[high]);
    for (int f = 0; f < faces; f++)
        sum += s->k[f][i] * (own + sign * x[s->other[f] + i]);
    return sum;
}

MG_INLINE double end_faces(const strip *s, const double *x, int64_t i, int faces, bool others)
{
    int64_t last = s->n - 1, low = i > 0 ? i - 1 : s->around ? last : i, high = i < last ? i + 1 : s->around ? 0 : i;
    return faces_of(s, x, i, low, low == i ? 0 : s->kx[low], high, high == i ? 0 : s->kx[i], faces, others);
}

/* y = factor L x + add; without `add` on its own: as a choice inside the loop it would become a load from nowhere that a mask leaves out, which
 * processors pay for dearly. */
MG_INLINE void apply_strip(const level *l, const strip *s, const double *x, const double *add, double factor, double *restrict y, int faces)
{
    const double *ground = l->ground + s->at;
    for (int64_t i = 0; i < s->n; i += s->n > 1 ? s->n - 1 : 1)
        y[s->at + i] = factor * (ground[i] * x[s->at + i] + end_faces(s, x, i, faces, false)) + (add ? add[s->at + i] : 0);
    if (add)
        for (int64_t i = 1; i < s->n - 1; i++)
            y[s->at + i] = factor * (ground[i] * x[s->at + i] + faces_of(s, x, i, i - 1, s->kx[i - 1], i + 1, s->kx[i], faces, false)) + add[s->at + i];
    else
        for (int64_t i = 1; i < s->n - 1; i++)
            y[s->at + i] = factor * (ground[i] * x[s->at + i] + faces_of(s, x, i, i - 1, s->kx[i - 1], i + 1, s->kx[i], faces, false));
}

static void apply_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        strip s;
        strip_of(w->l, line, &s);
        if (w->l->n[2] > 1)
            apply_strip(w->l, &s, w->x, w->add, w->alpha, w->y, 4);
        else
            apply_strip(w->l, &s, w->x, w->add, w->alpha, w->y, 2);
    }
}

static int64_t lines_a_chunk(const level *l)
{
    int64_t lines = CHUNK / l->n[0];
    return lines > 1 ? lines : 1;
}

static void apply(const level *l, double alpha, const double *x, const double *add, double *y)
{
    work w = { .l = (level *)(uintptr_t)l, .x = x, .add = add, .y = y, .alpha = alpha };
    rp__exec_for(l->n[1] * l->n[2], lines_a_chunk(l), apply_lines, &w);
}

void rp__multigrid_apply(const rp__multigrid *mg, const double *x, const double *add, double *y)
{
    apply(&mg->level[0], 1, x, add, y);
}

/* x_c <- (b_c + sum k x_other) / (sum k + ground) for the cells of one colour. A line is worked through in pieces: what all of its cells would become,
 * side by side, and those of the colour take it. */
MG_INLINE void smooth_strip(level *l, const strip *s, int64_t first, int faces)
{
    enum { PIECE = 256 };
    const double *b = l->b + s->at, *inverse = l->inverse + s->at;
    double *x = l->x + s->at, next[PIECE];
    for (int64_t i = 0; i < s->n; i += s->n > 1 ? s->n - 1 : 1) /* the ends, where they have the colour */
        if (i % 2 == first)
            x[i] = (b[i] + end_faces(s, l->x, i, faces, true)) * inverse[i];
    for (int64_t begin = 1; begin < s->n - 1; begin += PIECE) {
        int64_t count = s->n - 1 - begin < PIECE ? s->n - 1 - begin : PIECE;
        for (int64_t k = 0; k < count; k++) {
            int64_t i = begin + k;
            next[k] = (b[i] + faces_of(s, l->x, i, i - 1, s->kx[i - 1], i + 1, s->kx[i], faces, true)) * inverse[i];
        }
        for (int64_t k = (begin ^ first) & 1; k < count; k += 2)
            x[begin + k] = next[k];
    }
}

static void smooth_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    level *l = w->l;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t first = (w->colour + line % l->n[1] + line / l->n[1]) & 1;
        strip s;
        strip_of(l, line, &s);
        if (l->n[2] > 1)
            smooth_strip(l, &s, first, 4);
        else
            smooth_strip(l, &s, first, 2);
    }
}

static void smooth(level *l, int first)
{
    for (int half = 0; half < 2; half++) {
        work w = { .l = l, .colour = first ^ half };
        rp__exec_for(l->n[1] * l->n[2], lines_a_chunk(l), smooth_lines, &w);
    }
}

/* The residual of a level (in r), summed over the cells of each coarse one. */
static void down_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    const level *f = w->l;
    level *c = w->to;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t first[2] = { line % c->n[1], line / c->n[1] }, last[2];
        double *to = c->b + line * c->n[0];
        for (int a = 0; a < 2; a++) {
            first[a] *= c->halved[a + 1] ? 2 : 1;
            last[a] = first[a] + c->halved[a + 1] < f->n[a + 1] ? first[a] + c->halved[a + 1] : first[a];
        }
        memset(to, 0, (size_t)c->n[0] * sizeof *to);
        memset(c->x + line * c->n[0], 0, (size_t)c->n[0] * sizeof *to);
        for (int64_t k = first[1]; k <= last[1]; k++)
            for (int64_t j = first[0]; j <= last[0]; j++) {
                const double *from = f->r + (k * f->n[1] + j) * f->n[0];
                if (c->halved[0]) {
                    for (int64_t I = 0; I < f->n[0] / 2; I++)
                        to[I] += from[2 * I] + from[2 * I + 1];
                    to[c->n[0] - 1] += f->n[0] % 2 ? from[f->n[0] - 1] : 0;
                } else {
                    for (int64_t I = 0; I < c->n[0]; I++)
                        to[I] += from[I];
                }
            }
    }
}

static void up_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    level *f = w->l;
    const level *c = w->to;
    (void)worker;
    for (int64_t line = begin; line < end; line++) {
        int64_t j = line % f->n[1], k = line / f->n[1];
        int64_t row = ((c->halved[2] ? k / 2 : k) * c->n[1] + (c->halved[1] ? j / 2 : j)) * c->n[0];
        double *to = f->x + line * f->n[0];
        const double *from = c->x + row;
        for (int64_t i = 0; i < f->n[0] && !c->halved[0]; i++)
            to[i] += from[i];
        for (int64_t I = 0; I < f->n[0] / 2 && c->halved[0]; I++)
            to[2 * I] += from[I], to[2 * I + 1] += from[I];
        if (c->halved[0] && f->n[0] % 2)
            to[f->n[0] - 1] += from[c->n[0] - 1];
    }
}

static void cycle(rp__multigrid *mg, int at)
{
    level *l = &mg->level[at];
    if (at == mg->levels - 1) {
        for (int s = 0; s < COARSE_SWEEPS; s++)
            smooth(l, 0);
        for (int s = 0; s < COARSE_SWEEPS; s++)
            smooth(l, 1);
        return;
    }
    level *c = &mg->level[at + 1];
    smooth(l, 0);
    work w = { .l = l, .to = c };
    apply(l, -1, l->x, l->b, l->r);
    rp__exec_for(c->n[1] * c->n[2], lines_a_chunk(c), down_lines, &w);
    cycle(mg, at + 1);
    rp__exec_for(l->n[1] * l->n[2], lines_a_chunk(l), up_lines, &w);
    smooth(l, 1);
}

/* ---- coefficients ---- */

static void coarse_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    const level *f = w->l;
    level *c = w->to;
    (void)worker;
    for (int64_t line = begin; line < end; line++)
        for (int64_t I = 0; I < c->n[0]; I++) {
            int64_t at[3] = { I, line % c->n[1], line / c->n[1] }, cell = line * c->n[0] + I;
            double k[3] = { 0 }, ground = 0;
            for (int q = 0; q < 8; q++) {
                int64_t fine[3];
                bool there = true, last[3];
                for (int a = 0; a < 3; a++) {
                    int bit = q >> a & 1;
                    fine[a] = c->halved[a] ? 2 * at[a] + bit : at[a];
                    there = there && fine[a] < f->n[a] && (c->halved[a] || !bit);
                    last[a] = !c->halved[a] || bit || fine[a] + 1 == f->n[a]; /* its far face is one of the coarse cell */
                }
                if (!there)
                    continue;
                int64_t i = (fine[2] * f->n[1] + fine[1]) * f->n[0] + fine[0];
                ground += f->ground[i];
                for (int a = 0; a < 3; a++)
                    if (last[a])
                        k[a] += f->k[a][i];
            }
            for (int a = 0; a < 3; a++)
                c->k[a][cell] = k[a] * (c->halved[a] ? 0.5 : 1);
            c->ground[cell] = 0.5 * ground; /* what it is tied to lies on a face: twice as far away */
        }
}

static void diagonal_lines(void *context, int64_t begin, int64_t end, int worker)
{
    const work *w = context;
    level *l = w->l;
    (void)worker;
    for (int64_t line = begin; line < end; line++)
        for (int64_t i = 0; i < l->n[0]; i++) {
            int64_t at[3] = { i, line % l->n[1], line / l->n[1] }, c = line * l->n[0] + i;
            star s;
            star_of(l, at, c, &s);
            double sum = l->ground[c];
            for (int f = 0; f < 6; f++)
                sum += s.k[f];
            l->inverse[c] = sum > 0 ? 1 / sum : 0;
        }
}

static void ground_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const work *w = context;
    for (int64_t i = begin; i < end; i++)
        sum[0] += w->l->ground[i];
}

void rp__multigrid_prepare(rp__multigrid *mg)
{
    for (int at = 0; at < mg->levels; at++) {
        level *l = &mg->level[at];
        work w = { .l = &mg->level[at ? at - 1 : 0], .to = l };
        if (at)
            rp__exec_for(l->n[1] * l->n[2], lines_a_chunk(l), coarse_lines, &w);
        w.l = l;
        rp__exec_for(l->n[1] * l->n[2], lines_a_chunk(l), diagonal_lines, &w);
    }
    work w = { .l = &mg->level[0] };
    double sum = 0;
    rp__exec_sum(mg->level[0].count, CHUNK, 1, ground_chunk, &w, &sum);
    mg->grounded = sum > 0;
}

/* ---- conjugate gradients ---- */

typedef struct vectors {
    double *a;
    const double *b, *d;
    double s, t;
} vectors;

enum { LANES = 8 }; /* sums side by side, so that they can be made at once */

static void sum_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const vectors *v = context;
    double lane[LANES] = { 0 };
    int64_t i = begin;
    for (; i + LANES <= end; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += v->b[i + k];
    for (; i < end; i++)
        lane[0] += v->b[i];
    for (int k = 0; k < LANES; k++)
        sum[0] += lane[k];
}

static void dot_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const vectors *v = context;
    double lane[LANES] = { 0 };
    int64_t i = begin;
    for (; i + LANES <= end; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += v->b[i + k] * v->d[i + k];
    for (; i < end; i++)
        lane[0] += v->b[i] * v->d[i];
    for (int k = 0; k < LANES; k++)
        sum[0] += lane[k];
}

/* The largest size, or the NaN that is among them. */
static double largest_size(const double *a, int64_t count)
{
    double lane[LANES] = { 0 }, bad = 0, most = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double size = fabs(a[i + k]);
            lane[k] = size > lane[k] ? size : lane[k];
            bad += 0 * size; /* NaN, of those and of infinities */
        }
    for (; i < count; i++) {
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
        bad += 0 * a[i];
    }
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    return most + bad;
}

static void most_chunk(void *context, int64_t begin, int64_t end, double *most)
{
    const vectors *v = context;
    double size = largest_size(v->b + begin, end - begin);
    most[0] = size > most[0] || size != size ? size : most[0];
}

/* a = s a + t b */
static void axpby_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const vectors *v = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        v->a[i] = v->s * v->a[i] + v->t * v->b[i];
}

static void shift_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const vectors *v = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        v->a[i] -= v->s;
}

static double dot(int64_t n, const double *a, const double *b)
{
    vectors v = { .b = a, .d = b };
    double sum;
    rp__exec_sum(n, CHUNK, 1, dot_chunk, &v, &sum);
    return sum;
}

static double most(int64_t n, const double *a)
{
    vectors v = { .b = a };
    double value;
    rp__exec_max(n, CHUNK, 1, most_chunk, &v, &value);
    return value;
}

static void axpby(int64_t n, double s, double *a, double t, const double *b)
{
    vectors v = { .a = a, .b = b, .s = s, .t = t };
    rp__exec_for(n, CHUNK, axpby_chunk, &v);
}

static void without_mean(const rp__multigrid *mg, double *a)
{
    int64_t n = mg->level[0].count;
    if (mg->grounded)
        return;
    vectors v = { .a = a, .b = a };
    double sum;
    rp__exec_sum(n, CHUNK, 1, sum_chunk, &v, &sum);
    v.s = sum / (double)n;
    rp__exec_for(n, CHUNK, shift_chunk, &v);
}

/* What a cycle makes of the residual: level[0].x of level[0].b. */
static void precondition(rp__multigrid *mg)
{
    level *l = &mg->level[0];
    memset(l->x, 0, (size_t)l->count * sizeof(double));
    cycle(mg, 0); /* its mean, where nothing is grounded, meets residuals without one: it is taken off the answer alone */
}

static void multiply(const rp__multigrid *mg, const rp__multigrid_operator *other, const double *x, double *y)
{
    if (other)
        other->apply(other->context, x, y);
    else
        apply(&mg->level[0], 1, x, NULL, y);
}

/* x += s p, r -= s A p; the largest |r|. */
typedef struct advance_job {
    double *restrict x, *restrict r, s;
    const double *p, *ap;
} advance_job;

static void advance_chunk(void *context, int64_t begin, int64_t end, double *most)
{
    const advance_job *v = context;
    for (int64_t i = begin; i < end; i++) {
        v->x[i] += v->s * v->p[i];
        v->r[i] -= v->s * v->ap[i];
    }
    double size = largest_size(v->r + begin, end - begin);
    most[0] = size > most[0] || size != size ? size : most[0];
}

rp__multigrid_report rp__multigrid_solve(rp__multigrid *mg, const rp__multigrid_operator *other, const double *b, double tolerance, int64_t limit,
                                         double *x)
{
    rp__multigrid_report report = { 0 };
    int64_t n = mg->level[0].count;
    double *r = mg->level[0].b, *z = mg->level[0].x, *p = mg->p, *ap = mg->ap, rz = 0;
    multiply(mg, other, x, r);
    axpby(n, -1, r, 1, b);
    without_mean(mg, r);
    for (report.residual = most(n, r); report.residual > tolerance && report.iterations < limit; report.iterations++) {
        precondition(mg);
        double rz_new = dot(n, r, z);
        if (!(rz_new > 0))
            break;
        if (report.iterations == 0)
            memcpy(p, z, (size_t)n * sizeof(double));
        else
            axpby(n, rz_new / rz, p, 1, z);
        rz = rz_new;
        multiply(mg, other, p, ap);
        double curvature = dot(n, p, ap);
        if (!(curvature > 0))
            break;
        advance_job step = { .x = x, .r = r, .s = rz / curvature, .p = p, .ap = ap };
        rp__exec_max(n, CHUNK, 1, advance_chunk, &step, &report.residual);
    }
    without_mean(mg, x);
    report.converged = report.residual <= tolerance;
    return report;
}

const double *rp__multigrid_residual(const rp__multigrid *mg)
{
    return mg->level[0].b;
}
