/* Particles that are drawn out are split, small ones that are close are merged   [daviet2016, §5.3; narain2010, §3].
 *
 * F_p has the squared semi-axes of the particle's ellipsoid as eigenvalues; a uniform ellipsoid has the second moment F / (d + 2).
 *
 * Split: when the longest semi-axis is split_ratio times the shortest and longer than the particle was at birth, and its volume is
 * at least 1/8 of the mean. Where that would make more than NS_MOST times the particles that the volume of all had at birth, those that would be split are
 * made rounder instead, as splitting them and merging the halves with others would: particles stay few, however long grains are sheared.
 * The two halves of an ellipsoid have their centres at 3/8 a (3D) or 4/(3 pi) a (2D) along the axis: the
 * children sit there (at most half a cell away), with half the volume and mass, the same velocity and gradient (a gradient found near
 * a node of little mass may be of any size: it must not become velocity), and the F that keeps the second moment. The first child keeps the
 * id, the second gets a new one.
 *
 * Merge: in a cell with more than half as many particles again as its volume had at birth, a particle and the nearest one with which it is
 * at most the mean volume
 * (no limit in a cell with more than most_per_cell), when they are nearer to each other than particles at birth. Volume, mass, centre of
 * mass and momentum are kept, the second moment as far as the
 * merged one is round enough not to be split again (thin pairs would else stay for ever, and their number grow); the id is that of the
 * larger. Particles are in the order of their cells when this runs, so the pairs do not depend on threads. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "math/eigen.h"

#include <math.h>
#include <string.h>

#if RP_DIM == 3
#define CENTRE 0.375
#else
#define CENTRE 0.42441318157838756 /* 4 / (3 pi) */
#endif
#define MOMENT (RP_DIM + 2.0)

typedef struct store {
    rp__particles *p;
    double *gradient[9], *f[6], *size, *friction, *cohesion, *looseness;
    double *nu[6]; /* NULL: no orientation */
} store;

static store look(const ns_grains *y, rp__particles *p)
{
    store s = { .p = p };
    for (int c = 0; c < 9; c++)
        s.gradient[c] = rp__particles_f64(p, y->first_field + RP__NS_GRADIENT, c);
    for (int c = 0; c < 6; c++)
        s.f[c] = rp__particles_f64(p, y->first_field + RP__NS_ELLIPSOID, c);
    s.size = rp__particles_f64(p, y->first_field + RP__NS_SIZE, 0);
    s.friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    s.cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    s.looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    for (int c = 0; y->oriented && c < 6; c++)
        s.nu[c] = rp__particles_f64(p, y->first_field + RP__NS_ORIENTATION, c);
    return s;
}

/* Longest and shortest semi-axis, and the direction of the longest. */
static void axes(const store *s, int64_t i, double *longest, double *shortest, double direction[3])
{
    double value[3], f[6] = { s->f[0][i], s->f[1][i], s->f[2][i], s->f[3][i], s->f[4][i], s->f[5][i] };
#if RP_DIM == 2
    f[2] = f[4] = f[5] = 0;
    double half = 0.5 * (f[1] - f[0]), root = sqrt(half * half + f[3] * f[3]), mean = 0.5 * (f[0] + f[1]);
    value[0] = mean - root, value[2] = mean + root;
    double x = f[3], y = value[2] - f[0];
    if (fabs(x) + fabs(y) <= 1e-14 * value[2])
        x = 1, y = 0;
    double n = sqrt(x * x + y * y);
    direction[0] = x / n, direction[1] = y / n, direction[2] = 0;
#else
    rp__mat3 v;
    rp__math_eigen_sym3(f, value, &v);
    for (int a = 0; a < 3; a++)
        direction[a] = v.m[a][2];
#endif
    *longest = sqrt(value[2] > 0 ? value[2] : 0);
    *shortest = sqrt(value[0] > 0 ? value[0] : 0);
}

void NS(clamp_ellipsoid)(double *f, double low, double high)
{
    low *= low, high *= high;
#if RP_DIM == 2
    double half = 0.5 * (f[1] - f[0]), root = sqrt(half * half + f[3] * f[3]), mean = 0.5 * (f[0] + f[1]), a = mean - root, b = mean + root;
    if (a >= low && b <= high)
        return;
    double x = f[3], y = b - f[0];
    if (!(fabs(x) + fabs(y) > 1e-14 * b))
        x = 1, y = 0;
    double n = sqrt(x * x + y * y);
    x /= n, y /= n;
    a = a > low ? a < high ? a : high : low, b = b > low ? b < high ? b : high : low;
    f[0] = a + (b - a) * x * x, f[1] = a + (b - a) * y * y, f[3] = (b - a) * x * y;
#else
    static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
    double minor = f[0] * f[1] - f[3] * f[3] + f[0] * f[2] - f[4] * f[4] + f[1] * f[2] - f[5] * f[5];
    double det = f[0] * (f[1] * f[2] - f[5] * f[5]) - f[3] * (f[3] * f[2] - f[5] * f[4]) + f[4] * (f[3] * f[5] - f[1] * f[4]);
    if (f[0] + f[1] + f[2] <= high && det > low * minor) /* the trace is more than the largest, det / minor less than the least */
        return;
    double value[3];
    rp__mat3 v;
    rp__math_eigen_sym3(f, value, &v);
    for (int k = 0; k < 3; k++)
        value[k] = value[k] > low ? value[k] < high ? value[k] : high : low;
    for (int c = 0; c < 6; c++) {
        f[c] = 0;
        for (int k = 0; k < 3; k++)
            f[c] += value[k] * v.m[at[c][0]][k] * v.m[at[c][1]][k];
    }
#endif
}

/* With R the square of the ratio of the longest to the shortest semi-axis, an ellipsoid stretched that far has (trace / d)^d / det at least
 * ((R + sqrt R + 1) / 3)^3 / R^(3/2) in 3D, ((R + 1) / 2)^2 / R in 2D: a cheap test that rules most out. */
static double least_stretch(double ratio)
{
    double square = ratio * ratio;
    return RP_DIM == 3 ? pow((square + ratio + 1) / 3, 3) / (square * ratio) : pow(0.5 * (square + 1), 2) / square;
}

static bool may_be_stretched(const double *f, double least)
{
#if RP_DIM == 3
    double third = (f[0] + f[1] + f[2]) / 3;
    double det = f[0] * (f[1] * f[2] - f[5] * f[5]) - f[3] * (f[3] * f[2] - f[5] * f[4]) + f[4] * (f[3] * f[5] - f[1] * f[4]);
    return third * third * third >= 0.999 * least * det;
#else
    double half = 0.5 * (f[0] + f[1]);
    return half * half >= 0.999 * least * (f[0] * f[1] - f[3] * f[3]);
#endif
}

static bool may_split(const store *s, int64_t i, double least_volume, double least)
{
    const double f[6] = { s->f[0][i], s->f[1][i], s->f[2][i], s->f[3][i], s->f[4][i], s->f[5][i] };
    return s->p->volume[i] >= least_volume && may_be_stretched(f, least);
}

static bool inside(const double *low, const double *high, const double *x)
{
    for (int a = 0; a < RP_DIM; a++)
        if (!(x[a] >= low[a] && x[a] <= high[a]))
            return false;
    return true;
}

/* Whether a body lies between two places: particles are neither split nor merged across one. */
static bool parted(const rp__world *world, double h, const double *a, const double *b)
{
    rp__vec3 from = { a[0], a[1], RP_DIM == 3 ? a[2] : 0 }, to = { b[0], b[1], RP_DIM == 3 ? b[2] : 0 };
    for (int k = 0; k < world->body_count; k++)
        if (rp__body_between(&world->bodies[k], from, to, 1e-6 * h))
            return true;
    return false;
}

static bool parted_pair(const rp__world *world, double h, const rp__particles *p, int64_t i, int64_t j)
{
    double a[3], b[3];
    for (int k = 0; k < 3; k++)
        a[k] = p->x[k][i], b[k] = p->x[k][j];
    return world->body_count && parted(world, h, a, b);
}

/* Particle i becomes the child at -offset; the other is appended as particle `to`. */
static void split_one(const store *s, int64_t i, int64_t to, const double *offset)
{
    rp__particles *p = s->p;
    static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
    int64_t id = p->id[to];
    p->volume[i] *= 0.5;
    p->mass[i] *= 0.5;
    for (int c = 0; c < 6; c++)
        s->f[c][i] -= MOMENT * offset[at[c][0]] * offset[at[c][1]];
    s->size[i] *= RP_DIM == 3 ? 0.79370052598409973738 : 0.70710678118654752440;
    rp__particles_copy_one(p, i, to);
    p->id[to] = id;
    for (int a = 0; a < RP_DIM; a++)
        p->x[a][i] -= offset[a], p->x[a][to] += offset[a];
}

/* F of the two together, by their volumes. */
static void merged_ellipsoid(const store *s, int64_t i, int64_t j, double *f)
{
    static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
    const rp__particles *p = s->p;
    double ui = p->volume[i] / (p->volume[i] + p->volume[j]), uj = 1 - ui, dx[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++)
        dx[a] = p->x[a][j] - p->x[a][i];
    for (int c = 0; c < 6; c++)
        f[c] = ui * s->f[c][i] + uj * s->f[c][j] + MOMENT * ui * uj * dx[at[c][0]] * dx[at[c][1]];
}

static double apart(const rp__particles *p, int64_t i, int64_t j)
{
    double d = 0;
    for (int a = 0; a < RP_DIM; a++)
        d += (p->x[a][i] - p->x[a][j]) * (p->x[a][i] - p->x[a][j]);
    return d;
}

/* The nearest of the particles up to `last` that i may merge with; -1: none. */
static int64_t partner(const ns_grains *y, const rp__world *world, const store *s, int64_t i, int64_t last, double usual, bool crowded)
{
    const rp__particles *p = s->p;
    double reach = 2 * s->size[i] * pow(usual / p->volume[i], 1.0 / RP_DIM), nearest = reach * reach;
    int64_t found = -1;
    for (int64_t j = i + 1; j < last; j++)
        if (!y->remove[j] && p->material[i] == p->material[j] && (crowded || p->volume[i] + p->volume[j] <= 1.01 * usual) &&
            apart(p, i, j) < nearest && !parted_pair(world, y->lattice.h, p, i, j)) {
            nearest = apart(p, i, j);
            found = j;
        }
    return found;
}

/* j goes into i; the longest semi-axis of what comes out is at most `ratio` times the shortest. */
static void merge_pair(const store *s, int64_t i, int64_t j, double ratio)
{
    rp__particles *p = s->p;
    double vi = p->volume[i], vj = p->volume[j], mi = p->mass[i], mj = p->mass[j], dx[3] = { 0 };
    double wi = mi / (mi + mj), wj = mj / (mi + mj), ui = vi / (vi + vj), uj = vj / (vi + vj);
    double f[6];
    for (int a = 0; a < RP_DIM; a++)
        dx[a] = p->x[a][j] - p->x[a][i];
    merged_ellipsoid(s, i, j, f);
    double size = pow(pow(s->size[i], RP_DIM) + pow(s->size[j], RP_DIM), 1.0 / RP_DIM), round = sqrt(ratio);
    NS(clamp_ellipsoid)(f, size / round, size * round);
    for (int c = 0; c < 6; c++)
        s->f[c][i] = f[c];
    for (int c = 0; c < 9; c++)
        s->gradient[c][i] = wi * s->gradient[c][i] + wj * s->gradient[c][j];
    for (int a = 0; a < RP_DIM; a++) {
        p->x[a][i] += wj * dx[a];
        p->v[a][i] = wi * p->v[a][i] + wj * p->v[a][j];
    }
    s->friction[i] = ui * s->friction[i] + uj * s->friction[j];
    s->cohesion[i] = ui * s->cohesion[i] + uj * s->cohesion[j];
    s->looseness[i] = ui * s->looseness[i] + uj * s->looseness[j];
    for (int c = 0; s->nu[0] && c < 6; c++)
        s->nu[c][i] = ui * s->nu[c][i] + uj * s->nu[c][j];
    s->size[i] = size;
    p->volume[i] = vi + vj;
    p->mass[i] = mi + mj;
    if (vj > vi)
        p->id[i] = p->id[j];
}

/* The cell that a particle was sorted into at the beginning of the step is not kept: cells are runs of near neighbours, found anew. */
static int64_t cell_of(const ns_grains *y, const rp__particles *p, int64_t i)
{
    int64_t key = 0;
    for (int a = 0; a < RP_DIM; a++)
        key = key * 2097152 + ((int64_t)floor(rp__lattice_coordinate(&y->lattice, a, p->x[a][i])) & 2097151);
    return key;
}

enum { GONE = 1, SPLITS = 2 }; /* marks of particles */

/* Room for `count` marks; those there are stay. */
static bool reserve_marks(ns_grains *y, int64_t count)
{
    if (count <= y->remove_capacity)
        return true;
    unsigned char *marks = rp__base_realloc_array(y->remove, (size_t)(count + count / 4), 1);
    if (!marks)
        return false;
    y->remove = marks;
    y->remove_capacity = count + count / 4;
    return true;
}

/* Merges within runs of one cell; returns how many are gone. `usual`: volume of a particle at its birth. */
static int64_t merge_cells(ns_grains *y, const rp__world *world, const store *s, double usual)
{
    const rp__particles *p = s->p;
    int64_t merged = 0;
    for (int64_t first = 0, last; first < p->count; first = last) {
        int64_t key = cell_of(y, p, first);
        double volume = p->volume[first];
        for (last = first + 1; last < p->count && last - first < 4096 && cell_of(y, p, last) == key;)
            volume += p->volume[last++];
        bool crowded = last - first > y->params->most_per_cell;
        double left = (double)(last - first), enough = NS_MANY * volume / usual + 0.5;
        enough = crowded && (double)y->params->most_per_cell < enough ? (double)y->params->most_per_cell : enough;
        for (int64_t i = first; i < last && left > enough; i++) {
            int64_t j = y->remove[i] || (!crowded && p->volume[i] > 0.75 * usual) ? -1 : partner(y, world, s, i, last, usual, crowded);
            if (j < 0)
                continue;
            merge_pair(s, i, j, 0.5 * y->params->split_ratio);
            y->remove[j] = GONE;
            merged++;
            left--;
        }
    }
    return merged;
}

/* Marks who is long enough to be split; returns how many. */
static int64_t mark_long(ns_grains *y, const store *s, double usual)
{
    int64_t wanted = 0;
    double least = least_stretch(y->params->split_ratio);
    for (int64_t i = 0; i < s->p->count; i++) {
        double longest, shortest, d[3];
        if (y->remove[i] || !may_split(s, i, 0.125 * usual, least))
            continue;
        axes(s, i, &longest, &shortest, d);
        if (longest > y->params->split_ratio * shortest && longest > s->size[i]) {
            y->remove[i] = SPLITS;
            wanted++;
        }
    }
    return wanted;
}

/* Makes the marked ones rounder instead, as merge_pair does. */
static void round_marked(ns_grains *y, const store *s, int64_t count)
{
    const double round = sqrt(0.5 * y->params->split_ratio);
    for (int64_t i = 0; i < count; i++) {
        if (y->remove[i] != SPLITS)
            continue;
        double f[6] = { s->f[0][i], s->f[1][i], s->f[2][i], s->f[3][i], s->f[4][i], s->f[5][i] };
        NS(clamp_ellipsoid)(f, s->size[i] / round, s->size[i] * round);
        for (int c = 0; c < 6; c++)
            s->f[c][i] = f[c];
        y->remove[i] = 0;
    }
}

/* How many there may be in all. */
static int64_t most_particles(const ns_grains *y, const rp__world *world, double usual)
{
    const rp__particles *p = world->particles;
    double volume = 0, limit = (double)world->def->particle_limit;
    for (int64_t i = 0; i < p->count; i++)
        volume += y->remove[i] & GONE ? 0 : p->volume[i];
    double most = y->params->merge ? NS_MOST * volume / usual : limit;
    return (int64_t)(most < limit ? most : limit);
}

/* Splits the marked ones of the first `count` particles into places from `to` on; halves stay in the domain and on their side of
 * bodies. */
static int64_t split_marked(ns_grains *y, const rp__world *world, const store *s, int64_t count, int64_t to)
{
    rp__particles *p = s->p;
    double low[3], high[3];
    int64_t end = to;
    NS(bounds)(y, world, low, high);
    for (int64_t i = 0; i < count; i++) {
        double longest, shortest, d[3], a[3] = { 0 }, b[3] = { 0 }, x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] };
        if (y->remove[i] != SPLITS)
            continue;
        y->remove[i] = 0;
        axes(s, i, &longest, &shortest, d);
        double reach = CENTRE * longest < 0.5 * y->lattice.h ? CENTRE * longest : 0.5 * y->lattice.h;
        for (int k = 0; k < RP_DIM; k++) {
            d[k] *= reach;
            a[k] = p->x[k][i] - d[k], b[k] = p->x[k][i] + d[k];
        }
        if (inside(low, high, a) && inside(low, high, b) && !parted(world, y->lattice.h, x, a) && !parted(world, y->lattice.h, x, b))
            split_one(s, i, end++, d);
    }
    p->count = end; /* those that could not be split left their places */
    return end - to;
}

rp_result NS(split_and_merge)(ns_grains *y, const rp__world *world, int64_t *split, int64_t *merged)
{
    rp__particles *p = world->particles;
    int64_t count = p->count;
    *split = *merged = 0;
    if (y->born_count == 0)
        return RP_OK;
    if (!reserve_marks(y, count))
        return RP_OUT_OF_MEMORY;
    memset(y->remove, 0, (size_t)count);
    store s = look(y, p);
    double usual = y->born_volume / (double)y->born_count;
    if (y->params->merge)
        *merged = merge_cells(y, world, &s, usual);
    int64_t wanted = y->params->split ? mark_long(y, &s, usual) : 0;
    if (count - *merged + wanted > most_particles(y, world, usual)) {
        round_marked(y, &s, count);
    } else if (wanted) {
        int64_t to;
        RP_TRY(rp__particles_append(p, wanted, &to)); /* room for all of them at once */
        s = look(y, p);
        *split = split_marked(y, world, &s, count, to);
    }
    if (*merged) {
        if (!reserve_marks(y, p->count))
            return RP_OUT_OF_MEMORY;
        memset(y->remove + count, 0, (size_t)(p->count - count));
        rp__particles_remove(p, y->remove);
    }
    return RP_OK;
}
