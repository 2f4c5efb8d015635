/* The room of shapes shared out among sites: volume, first moment and packing wherever a shape, a wall or a body ends between sites. */
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"
#include "shape/sampling.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static void ok(rp_result result)
{
    if (result != RP_OK)
        fail_msg("%s", rp_last_error());
}

static rp__sampling_def definition(int dim, rp_sampling kind, double spacing)
{
    return (rp__sampling_def){ .dim = dim, .kind = kind, .spacing = spacing, .lower = { -10, -10, -10 }, .upper = { 10, 10, 10 },
                               .seed = 5, .limit = 10000000 };
}

static double random_of(int trial, int which, double low, double high)
{
    return low + (high - low) * rp__random_unit(31, (uint64_t)trial, (uint64_t)which);
}

/* A solid at a random place, its volume and its middle. */
enum { BOX, TURNED, BALL, KINDS };

typedef struct solid {
    rp_shape *shape;
    double volume, middle[3];
} solid;

static solid make_solid(int dim, int kind, int trial)
{
    solid s = { 0 };
    double half[3], turn[3] = { 0 }, zero[3] = { 0 };
    for (int a = 0; a < dim; a++) {
        s.middle[a] = random_of(trial, a, -0.2, 0.2);
        half[a] = random_of(trial, 3 + a, 0.2, 0.6);
        turn[a] = dim == 3 ? random_of(trial, 6 + a, -2, 2) : 0;
    }
    if (dim == 2)
        half[2] = INFINITY, turn[2] = random_of(trial, 6, -2, 2);
    if (kind == BALL) {
        ok(rp_shape_sphere(s.middle, half[0], &s.shape));
        s.volume = dim == 2 ? PI * half[0] * half[0] : 4 * PI / 3 * pow(half[0], 3);
        return s;
    }
    s.volume = dim == 2 ? 4 * half[0] * half[1] : 8 * half[0] * half[1] * half[2];
    if (kind == BOX) {
        ok(rp_shape_box(s.middle, half, 0, &s.shape));
        return s;
    }
    rp_shape *box = NULL;
    ok(rp_shape_box(zero, half, 0, &box));
    ok(rp_shape_place(box, s.middle, turn, 1, &s.shape));
    rp_shape_release(box);
    return s;
}

static void sums_of(int dim, const rp__sampling_site_list *s, double spacing, double *volume, double middle[3])
{
    *volume = 0;
    memset(middle, 0, 3 * sizeof *middle);
    for (int64_t i = 0; i < s->count; i++) {
        assert_true(s->parts[i] > 0);
        *volume += s->parts[i] * pow(spacing, dim);
        for (int a = 0; a < dim; a++)
            middle[a] += s->parts[i] * pow(spacing, dim) * s->points[3 * i + a];
    }
    for (int a = 0; a < dim; a++)
        middle[a] /= *volume;
}

/* Volume and, on a regular lattice, first moment are those of the solid; all sites are in it. */
static void volume_and_middle_are_exact(void **state)
{
    (void)state;
    static const char *const names[] = { "box", "turned box", "ball" };
    for (int dim = 2; dim <= 3; dim++)
        for (int kind = 0; kind < KINDS; kind++) {
            double worst = 0, off = 0;
            for (int trial = 0; trial < 12; trial++)
                for (rp_sampling sampling = RP_REGULAR; sampling <= RP_POISSON; sampling++) {
                    solid s = make_solid(dim, kind, trial);
                    double spacing = random_of(trial, 20, 0.05, 0.1), volume, middle[3];
                    rp__sampling_def def = definition(dim, sampling, spacing);
                    rp__sampling_site_list sites;
                    ok(rp__sampling_sites(s.shape, &def, &sites));
                    sums_of(dim, &sites, spacing, &volume, middle);
                    worst = fmax(worst, fabs(volume / s.volume - 1));
                    for (int a = 0; a < dim && sampling == RP_REGULAR; a++)
                        off = fmax(off, fabs(middle[a] - s.middle[a]) / spacing);
                    for (int64_t i = 0; i < sites.count; i++)
                        assert_true(rp_shape_distance(s.shape, sites.points + 3 * i, NULL) <= 0);
                    rp__sampling_free_sites(&sites);
                    rp_shape_release(s.shape);
                }
            print_message("%dD %s: volume to %.1e, middle to %.1e of a spacing\n", dim, names[kind], worst, off);
            assert_true(worst < 5e-5 && off < 1e-4);
        }
}

/* ---- packing ---- */

static double to_plane(const void *plane, const double x[3])
{
    return rp_shape_distance(plane, x, NULL);
}

/* The grid in which the packing is looked at: tents of half width two cells about its nodes, over what of them is room. */
enum { SIDE = 24 };
typedef struct grid {
    int dim;
    double h, sum[SIDE * SIDE * SIDE], room[SIDE * SIDE * SIDE];
} grid;

static void spread_point(const grid *g, const double *x, double weight, double *to)
{
    double t[3] = { 0 };
    int base[3] = { 0 };
    for (int a = 0; a < g->dim; a++) {
        t[a] = x[a] / g->h + SIDE / 2;
        base[a] = (int)floor(t[a]) - 1;
    }
    for (int n = 0; n < (g->dim == 3 ? 64 : 16); n++) {
        double w = weight;
        int at = 0, offset[3] = { n & 3, n >> 2 & 3, n >> 4 };
        for (int a = g->dim - 1; a >= 0; a--) {
            int node = base[a] + offset[a];
            assert_in_range(node, 0, SIDE - 1);
            w *= 0.5 * fmax(0, 1 - 0.5 * fabs(t[a] - node));
            at = at * SIDE + node;
        }
        to[at] += w;
    }
}

/* The room by points of a lattice of an eighth of a cell, with what is cut off at its borders. */
static void measure_room(grid *g, const rp_shape *shape, const rp__sampling_def *def)
{
    enum { FINE = 8 };
    int side = SIDE * FINE, depth = g->dim == 3 ? side : 1;
    double little = g->h / FINE;
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < side; j++)
            for (int i = 0; i < side; i++) {
                int at[3] = { i, j, k };
                double x[3] = { 0 }, part = 1;
                for (int a = 0; a < g->dim; a++) {
                    x[a] = (at[a] + 0.5) * little - SIDE / 2 * g->h;
                    part *= fmin(fmax(fmin(def->upper[a] - x[a], x[a] - def->lower[a]) / little + 0.5, 0), 1);
                }
                if (!(part > 0))
                    continue;
                double d = rp_shape_distance(shape, x, NULL);
                d = def->blocked ? fmax(d, -def->blocked(def->blocking, x)) : d;
                part *= fmin(fmax(0.5 - d / little, 0), 1);
                if (part > 0)
                    spread_point(g, x, part * pow(little, g->dim), g->room);
            }
}

static double tightest(const grid *g)
{
    double most = 0;
    int64_t nodes = g->dim == 3 ? SIDE * SIDE * SIDE : SIDE * SIDE;
    for (int64_t i = 0; i < nodes; i++)
        if (g->room[i] > 0.25 * pow(g->h, g->dim))
            most = fmax(most, g->sum[i] / g->room[i]);
    return most;
}

/* Packing in a solid above a tilted floor in a domain whose walls cut it: of its sites, and of places in it that are whole particles each. */
static void packing_of(int dim, int kind, int trial, rp_sampling sampling, int per_cell, double *shared, double *whole)
{
    static grid g;
    memset(&g, 0, sizeof g);
    g.dim = dim, g.h = 0.1;
    solid s = make_solid(dim, kind, trial);
    rp_shape *floor_shape = NULL;
    double normal[3] = { random_of(trial, 10, -0.5, 0.5), dim == 2 ? 1 : random_of(trial, 11, -0.5, 0.5), dim == 3 }, point[3] = { 0 };
    point[dim - 1] = random_of(trial, 12, -0.3, 0.1);
    ok(rp_shape_plane(point, normal, &floor_shape));
    rp__sampling_def def = definition(dim, sampling, g.h / pow(per_cell, 1.0 / dim));
    def.blocked = to_plane, def.blocking = floor_shape;
    for (int a = 0; a < dim; a++) {
        def.lower[a] = def.origin[a] = random_of(trial, 13 + a, -0.4, -0.1);
        def.upper[a] = random_of(trial, 16 + a, 0.1, 0.5);
    }
    measure_room(&g, s.shape, &def);
    double *points = NULL;
    int64_t count = 0;
    ok(rp__sampling_fill(s.shape, &def, &points, &count));
    for (int64_t i = 0; i < count; i++)
        spread_point(&g, points + 3 * i, pow(def.spacing, dim), g.sum);
    rp__base_free(points);
    *whole = fmax(*whole, tightest(&g));
    memset(g.sum, 0, sizeof g.sum);
    rp__sampling_site_list sites;
    ok(rp__sampling_sites(s.shape, &def, &sites));
    for (int64_t i = 0; i < sites.count; i++)
        spread_point(&g, sites.points + 3 * i, sites.parts[i] * pow(def.spacing, dim), g.sum);
    rp__sampling_free_sites(&sites);
    *shared = fmax(*shared, tightest(&g));
    rp_shape_release(floor_shape);
    rp_shape_release(s.shape);
}

/* No place is fuller than asked for, but for what sampling has where nothing ends: whole particles are up to half more. */
static void nothing_begins_too_tight(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (rp_sampling sampling = RP_REGULAR; sampling <= RP_POISSON; sampling++)
            for (int per_cell = 4; per_cell <= 8; per_cell *= 2) {
                double shared = 0, whole = 0;
                for (int kind = 0; kind < KINDS; kind++)
                    for (int trial = 0; trial < (dim == 2 ? 12 : 2); trial++)
                        packing_of(dim, kind, trial, sampling, per_cell, &shared, &whole);
                print_message("%dD, sampling %d, %d a cell: %.3f at most; %.3f with whole particles\n", dim, (int)sampling, per_cell, shared, whole);
                assert_true(shared < (sampling == RP_POISSON ? 1.12 : 1.08) && whole > 1.1); /* Poisson points are not in the middle of what they have */
            }
}

/* ---- single cases ---- */

/* A box that ends with the lattice has its points, one whole particle each. */
static void whole_cells_keep_their_points(void **state)
{
    (void)state;
    rp_shape *box = NULL;
    ok(rp_shape_box((double[]){ 0.5, 0.5, 0.5 }, (double[]){ 0.5, 0.5, 0.5 }, 0, &box));
    for (int dim = 2; dim <= 3; dim++)
        for (rp_sampling kind = RP_REGULAR; kind <= RP_JITTERED; kind++) {
            rp__sampling_def def = definition(dim, kind, 0.05);
            rp__sampling_site_list sites;
            double *points = NULL;
            int64_t count = 0;
            ok(rp__sampling_fill(box, &def, &points, &count));
            ok(rp__sampling_sites(box, &def, &sites));
            assert_int_equal(sites.count, count);
            assert_memory_equal(sites.points, points, 3 * (size_t)count * sizeof *points);
            for (int64_t i = 0; i < count; i++)
                assert_true(sites.parts[i] == 1);
            rp__sampling_free_sites(&sites);
            rp__base_free(points);
        }
    rp_shape_release(box);
}

/* A layer thinner than the spacing has its volume, wherever it lies between the sites; no site is less than half a particle. */
static void thin_layers_have_their_volume(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int trial = 0; trial < 10; trial++) {
            double thick = random_of(trial, 0, 0.02, 0.08), from = random_of(trial, 1, -0.1, 0), volume, middle[3];
            double lower[3] = { 0, 0, dim == 2 ? -1 : 0 }, upper[3] = { 1, 0.5, 1 }, centre[3], half[3];
            lower[dim - 1] = from, upper[dim - 1] = from + thick;
            for (int a = 0; a < 3; a++)
                centre[a] = 0.5 * (lower[a] + upper[a]), half[a] = 0.5 * (upper[a] - lower[a]);
            rp_shape *layer = NULL;
            ok(rp_shape_box(centre, half, 0, &layer));
            rp__sampling_def def = definition(dim, RP_JITTERED, 0.1);
            rp__sampling_site_list sites;
            ok(rp__sampling_sites(layer, &def, &sites));
            sums_of(dim, &sites, 0.1, &volume, middle);
            assert_true(fabs(volume / (thick * (dim == 2 ? 1 : 0.5)) - 1) < 2e-3); /* the layer is ten by five spacings wide */
            assert_true(fabs(middle[dim - 1] - from - 0.5 * thick) < 1e-3 * 0.1);
            for (int64_t i = 0; i < sites.count; i++)
                assert_true(sites.parts[i] > 0.5 * (1 - 1e-9) && sites.parts[i] < 2);
            rp__sampling_free_sites(&sites);
            rp_shape_release(layer);
        }
}

static double to_sheet(const void *height, const double x[3])
{
    return fabs(x[1] - *(const double *)height) - 0.01; /* a fifth of a spacing thick */
}

/* Parts do not join through a sheet: what is above it stays there. The sheet lies between the middles of the cells that it cuts and their upper faces, so
 * that little of these cells is above it. */
static void nothing_joins_through_a_sheet(void **state)
{
    (void)state;
    rp_shape *box = NULL;
    ok(rp_shape_box((double[]){ 0.5, 0.5, 0 }, (double[]){ 0.5, 0.5, 1 }, 0, &box));
    double height = 0.54; /* cells 0.5 … 0.6: the middle of what is room lies below the sheet */
    rp__sampling_def def = definition(2, RP_REGULAR, 0.1);
    def.blocked = to_sheet, def.blocking = &height;
    for (int trial = 0; trial < 20; trial++) {
        height = 0.5 + 0.005 * trial;
        rp__sampling_site_list sites;
        double above = 0, below = 0;
        ok(rp__sampling_sites(box, &def, &sites));
        for (int64_t i = 0; i < sites.count; i++) {
            assert_true(to_sheet(&height, sites.points + 3 * i) >= 0);
            *(sites.points[3 * i + 1] > height ? &above : &below) += sites.parts[i] * 0.01;
        }
        /* A cell whose both sides are room has one site: half a layer is the most that changes sides. */
        assert_true(fabs(above + below - 0.98) < 1e-5);
        if (fabs(above - (1 - height - 0.01)) > 0.045)
            fail_msg("a sheet at %g: %g above, %g below", height, above, below);
        rp__sampling_free_sites(&sites);
    }
    rp_shape_release(box);
}

/* Places of the lattice that a body has are counted. */
static void hidden_places_are_told(void **state)
{
    (void)state;
    rp_shape *box = NULL, *floor_shape = NULL;
    ok(rp_shape_box((double[]){ 0.5, 0.5, 0.5 }, (double[]){ 0.5, 0.5, 0.5 }, 0, &box));
    ok(rp_shape_plane((double[]){ 0, 0, 0.3 }, (double[]){ 0, 0, 1 }, &floor_shape));
    rp__sampling_def def = definition(3, RP_REGULAR, 0.1);
    def.blocked = to_plane, def.blocking = floor_shape;
    rp__sampling_site_list sites;
    ok(rp__sampling_sites(box, &def, &sites));
    assert_int_equal(sites.count, 700);
    assert_int_equal(sites.hidden, 300);
    assert_true(sites.hidden_at[2] < 0.3);
    rp__sampling_free_sites(&sites);
    rp_shape_release(box), rp_shape_release(floor_shape);
}

static void the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    solid s = make_solid(3, TURNED, 1);
    for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++) {
        rp__sampling_def def = definition(3, kind, 0.04);
        rp__sampling_site_list first, other;
        rp__exec_set_threads(1);
        ok(rp__sampling_sites(s.shape, &def, &first));
        for (int threads = 2; threads <= 16; threads += 7) {
            rp__exec_set_threads(threads);
            ok(rp__sampling_sites(s.shape, &def, &other));
            assert_int_equal(other.count, first.count);
            assert_memory_equal(other.points, first.points, (size_t)first.count * 3 * sizeof(double));
            assert_memory_equal(other.parts, first.parts, (size_t)first.count * sizeof(double));
            rp__sampling_free_sites(&other);
        }
        rp__exec_set_threads(0);
        rp__sampling_free_sites(&first);
    }
    rp_shape_release(s.shape);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    solid s = make_solid(3, TURNED, 2);
    for (rp_sampling kind = RP_REGULAR; kind <= RP_POISSON; kind++) {
        rp__sampling_def def = definition(3, kind, 0.1);
        size_t before = rp_memory_in_use();
        for (int64_t nth = 1;; nth++) {
            rp__sampling_site_list sites = { 0 };
            rp__base_fail_allocation(nth);
            rp_result r = rp__sampling_sites(s.shape, &def, &sites);
            rp__base_fail_allocation(0);
            rp__sampling_free_sites(&sites);
            assert_int_equal(rp_memory_in_use(), before);
            if (r == RP_OK)
                break;
            assert_int_equal(r, RP_OUT_OF_MEMORY);
            assert_true(nth < 100);
        }
    }
    rp_shape_release(s.shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volume_and_middle_are_exact),
        cmocka_unit_test(nothing_begins_too_tight),
        cmocka_unit_test(whole_cells_keep_their_points),
        cmocka_unit_test(thin_layers_have_their_volume),
        cmocka_unit_test(nothing_joins_through_a_sheet),
        cmocka_unit_test(hidden_places_are_told),
        cmocka_unit_test(the_same_for_any_number_of_threads),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("shape sampling sites", tests, NULL, NULL);
}
