/* Heaps: the angle at which they stand, and whether they stay. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1024, LAYOUTS = 5 };

/* ---- the heap that stays on a plate when the sides have drained ---- */

typedef struct heap_run {
    const char *name, *method;
    double friction;
    int refine;  /* cells for one of the scene */
    int layouts; /* of the particles at the start: on a lattice, then jittered with one seed after the other. Coarse heaps differ by degrees. */
} heap_run;

/* Slope of one side between 15 and 85 % of the height, in degrees; `side` is 1 on the right. */
static double side_angle(const double *x, const double *heights, int bins, int side)
{
    static double fx[BINS], fy[BINS];
    double most = 0, slope, offset;
    int peak = 0, n = 0;
    for (int i = 0; i < bins; i++)
        if (heights[i] > most)
            most = heights[i], peak = i;
    for (int i = 0; i < bins; i++)
        if ((side > 0 ? i > peak : i < peak) && heights[i] > 0.15 * most && heights[i] < 0.85 * most)
            fx[n] = x[i], fy[n++] = heights[i];
    if (n < 3)
        return NAN;
    fit_line(fx, fy, n, &slope, &offset, NULL);
    return atan(-side * slope) * 180 / acos(-1.0);
}

typedef struct plate {
    double centre, half, level; /* middle and half width of the plate, height of its top */
} plate;

static plate plate_of(validation *v)
{
    return (plate){ validation_number(v, "centre"), validation_number(v, "plate") / 2, validation_number(v, "floor") };
}

static bool open_heap(validation *v, run *r, const heap_run *h, int layout)
{
    settings s = { 0 };
    setting(&s, "method=%s", h->method);
    setting(&s, "material.friction=%.17g", h->friction);
    setting(&s, "cell_size=%.17g", validation_number(v, "cell") / h->refine);
    if (layout > 0) {
        setting(&s, "grains.sampling=jittered");
        setting(&s, "grains.seed=%d", layout);
    }
    return run_open(v, r, "scene.yaml", s.list);
}

/* Bulk height over bins as wide as a cell; returns their number. */
static int heap_heights(const run *r, const plate *p, double *x, double *heights)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    const double *px = run_plane(r, "position", 0), *py = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
    int bins = (int)lround(2 * p->half / def->cell_size);
    double width = 2 * p->half / bins;
    for (int i = 0; i < bins; i++)
        x[i] = p->centre - p->half + (i + 0.5) * width, heights[i] = 0;
    for (int64_t i = 0; i < run_count(r); i++) {
        int bin = (int)floor((px[i] - p->centre + p->half) / width);
        if (py[i] > p->level && bin >= 0 && bin < bins)
            heights[bin] += volume[i] / (def->materials[0].volume_fraction * width);
    }
    return bins;
}

enum { MOST_HEAPS = 4 };

typedef struct heaps {
    double x[MOST_HEAPS][BINS], height[MOST_HEAPS][BINS];
    rp_plot_line lines[MOST_HEAPS];
    int count;
} heaps;

/* The angle of a heap as it is; the last of its layouts is a line of the plot. */
static double heap_angle(heaps *all, const heap_run *h, int layout, const run *r, const plate *p)
{
    double *x = all->x[all->count], *height = all->height[all->count];
    int bins = heap_heights(r, p, x, height);
    if (layout == h->layouts - 1)
        all->lines[all->count++] = (rp_plot_line){ .name = h->name, .x = x, .y = height, .count = bins };
    return 0.5 * (side_angle(x, height, bins, -1) + side_angle(x, height, bins, 1));
}

static void check_angle(validation *v, const heap_run *h, double sum)
{
    validation_check(v, CHECK_ABSOLUTE, "angle", atan(h->friction) * 180 / acos(-1.0), sum / h->layouts, "%s%s: angle of repose [degrees]", h->name,
                     h->layouts > 1 ? ", mean of five layouts" : "");
}

static void plot_heaps(validation *v, const heaps *all)
{
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Heaps on a plate", plot.x_label = "x [m]", plot.y_label = "height [m]";
    plot.lines = all->lines, plot.line_count = all->count;
    validation_plot(v, "heaps", "Heaps left on a plate", &plot);
}

/* ---- where particles go ---- */

/* Goes on for `later` seconds. False: trouble was noted. */
static bool run_creep(validation *v, run *r, const plate *p, double later, particle_ways *out)
{
    const double still[2] = { 0, 0 };
    particle_places before = run_places(r, p->level);
    bool good = run_until(v, r, rp_sim_time(r->sim) + later);
    particle_places after = run_places(r, p->level);
    if (!before.list || !after.list)
        validation_trouble(v, "particles have no numbers");
    *out = ways_between(&before, &after, still, 0);
    places_free(&before), places_free(&after);
    return good && !v->trouble[0];
}

void case_heap(validation *v)
{
    static const heap_run runs[] = {
        { "\xce\xbc = 0.3", "nonsmooth", 0.3, 1, LAYOUTS },
        { "\xce\xbc = 0.5", "nonsmooth", 0.5, 1, LAYOUTS },
        { "\xce\xbc = 0.5, half the cell", "nonsmooth", 0.5, 2, 1 },
        { "\xce\xbc = 0.5, elastoplastic", "elastoplastic", 0.5, 1, 1 },
    };
    enum { RUNS = sizeof runs / sizeof *runs };
    static heaps all;
    all.count = 0;
    plate p = plate_of(v);
    for (int k = 0; k < RUNS; k++) {
        double angles = 0, sunk = 0;
        for (int layout = 0; layout < runs[k].layouts; layout++) {
            run r;
            if (!open_heap(v, &r, &runs[k], layout))
                return;
            const rp_sim_def *def = rp_sim_definition(r.sim);
            particle_ways c = { 0 };
            bool good = run_until(v, &r, def->duration - 1) && run_creep(v, &r, &p, 1, &c);
            angles += heap_angle(&all, &runs[k], layout, &r, &p);
            sunk = fmax(sunk, fabs(c.sunk) / def->cell_size);
            run_close(&r);
            if (!good)
                return;
        }
        check_angle(v, &runs[k], angles);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"), sunk, "%s: sinking in the last second, in cells", runs[k].name);
    }
    plot_heaps(v, &all);
}

/* ---- does it stay? ---- */

/* Runs until no particle above the plate is faster than `slow`, or until `latest`; returns the time. */
static double run_to_rest(validation *v, run *r, const plate *p, double slow, double latest)
{
    double fastest = INFINITY;
    bool good = run_until(v, r, 1); /* at the very first nothing moves yet */
    while (good && fastest > slow && rp_sim_time(r->sim) < latest) {
        good = run_step(v, r);
        const double *y = run_plane(r, "position", 1), *ux = run_plane(r, "velocity", 0), *uy = run_plane(r, "velocity", 1);
        fastest = 0;
        for (int64_t i = 0; i < run_count(r); i++)
            if (y[i] > p->level)
                fastest = fmax(fastest, hypot(ux[i], uy[i]));
    }
    return good && fastest <= slow ? rp_sim_time(r->sim) : NAN;
}

void case_heap_rest(validation *v)
{
    static const heap_run runs[] = {
        { "\xce\xbc = 0.5", "nonsmooth", 0.5, 1, LAYOUTS },
        { "\xce\xbc = 0.5, half the cell", "nonsmooth", 0.5, 2, 1 },
    };
    enum { RUNS = sizeof runs / sizeof *runs };
    static heaps all;
    all.count = 0;
    plate p = plate_of(v);
    for (int k = 0; k < RUNS; k++) {
        double angles = 0, rest = 0, farthest = 0, later = validation_number(v, "later"), most = validation_number(v, "creep_cells"), latest = 0;
        int gone = 0, many = 0;
        for (int layout = 0; layout < runs[k].layouts; layout++) {
            run r;
            if (!open_heap(v, &r, &runs[k], layout))
                return;
            const rp_sim_def *def = rp_sim_definition(r.sim);
            latest = def->duration - later;
            double stands = run_to_rest(v, &r, &p, most * def->cell_size / later, latest);
            particle_ways c = { 0 };
            bool good = run_creep(v, &r, &p, later, &c);
            rest = stands > rest || isnan(stands) ? stands : rest;
            farthest = fmax(farthest, c.farthest / def->cell_size);
            gone += c.gone, many += c.many;
            angles += heap_angle(&all, &runs[k], layout, &r, &p);
            run_close(&r);
            if (!good)
                return;
        }
        check_angle(v, &runs[k], angles);
        validation_check(v, CHECK_BELOW, NULL, latest, rest, "%s: time until it stands [s]", runs[k].name);
        validation_check(v, CHECK_BELOW, NULL, most, farthest, "%s: farthest way of a particle in %g s after that, in cells", runs[k].name, later);
        validation_check(v, CHECK_BELOW, NULL, 0, gone, "%s: particles, of %d, that left the plate or were merged", runs[k].name, many);
    }
    plot_heaps(v, &all);
}

/* ---- what the cell has to do with it ---- */

enum { LEVELS = 3 };

/* Slope, against the horizontal, of a heap that was laid at 1.2 of its friction: mean of both sides, as tangent over friction. `off`: without the
 * rule that the method adds for what rests. */
static double laid_slope(validation *v, const char *method, double cell, const char *off)
{
    settings s = { 0 };
    setting(&s, "method=%s", method);
    setting(&s, "cell_size=%.17g", cell);
    for (const char *rule = off; rule && *rule; rule += strcspn(rule, ",") + (rule[strcspn(rule, ",")] == ','))
        setting(&s, "%.*s", (int)strcspn(rule, ","), rule);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return NAN;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    plate p = plate_of(v);
    static double x[BINS], heights[BINS];
    bool good = run_until(v, &r, def->duration);
    int bins = heap_heights(&r, &p, x, heights);
    double angle = 0.5 * (side_angle(x, heights, bins, -1) + side_angle(x, heights, bins, 1)), mu = def->materials[0].friction;
    run_close(&r);
    return good ? tan(angle * acos(-1.0) / 180) / mu : NAN;
}

void case_heap_refinement(validation *v)
{
    static const struct {
        const char *name, *method, *off;
    } runs[] = {
        { "nonsmooth", "nonsmooth", "nonsmooth.apex=0" },
        { "elastoplastic", "elastoplastic", "elastoplastic.apex=0" },
    };
    double cell = validation_number(v, "cell"), most = validation_number(v, "rule");
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        double slope[LEVELS], without[LEVELS];
        for (int l = 0; l < LEVELS; l++) {
            slope[l] = laid_slope(v, runs[k].method, cell / (1 << l), NULL);
            without[l] = laid_slope(v, runs[k].method, cell / (1 << l), runs[k].off);
            if (v->trouble[0])
                return;
            validation_check(v, CHECK_ABSOLUTE, l == LEVELS - 1 ? "slope" : "coarse", 1, slope[l],
                             "%s, cells of %g mm: tangent of the slope / friction", runs[k].name, 1000 * cell / (1 << l));
        }
        double coarse = fabs(slope[0] - without[0]), fine = fabs(slope[LEVELS - 1] - without[LEVELS - 1]);
        validation_check(v, CHECK_BELOW, NULL, most * coarse + validation_number(v, "noise"), fine,
                         "%s: what the rule of rest adds to it with a quarter of the cell (with the cell: %.3f)", runs[k].name, coarse);
        validation_check(v, CHECK_BELOW, NULL, fabs(slope[0] - 1) + validation_number(v, "noise"), fabs(slope[LEVELS - 1] - 1),
                         "%s: error with a quarter of the cell, not larger than with the cell", runs[k].name);
    }
}

/* ---- a heap that is poured ---- */

/* Width, where it is a cell high, over the root of its area: the same for heaps of any size. */
static double poured_width(validation *v, const char *method, const char *set, rp_plot_line *line, double *x, double *heights)
{
    settings s = { 0 };
    setting(&s, "method=%s", method);
    if (set)
        setting(&s, "%s", set);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return NAN;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    plate p = plate_of(v);
    bool good = run_until(v, &r, def->duration);
    int bins = heap_heights(&r, &p, x, heights), wide = 0;
    double width = 2 * p.half / bins, area = 0;
    for (int i = 0; i < bins; i++)
        wide += heights[i] > def->cell_size, area += heights[i] * width;
    run_close(&r);
    *line = (rp_plot_line){ .name = set ? set : method, .x = x, .y = heights, .count = bins };
    return good ? wide * width / sqrt(area) : NAN;
}

void case_poured_heap(validation *v)
{
    static double x[3][BINS], heights[3][BINS];
    rp_plot_line lines[3];
    double ours = poured_width(v, "nonsmooth", NULL, &lines[0], x[0], heights[0]);
    double other = poured_width(v, "elastoplastic", NULL, &lines[1], x[1], heights[1]);
    double without = poured_width(v, "elastoplastic", "elastoplastic.volume_smoothing=0", &lines[2], x[2], heights[2]);
    if (v->trouble[0])
        return;
    validation_check(v, CHECK_RELATIVE, "width", ours, other, "elastoplastic against nonsmooth: width / root of the area");
    validation_control(v, CHECK_RELATIVE, "width", ours, without, "control, elastoplastic volumes left alone: width / root of the area");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Poured heaps", plot.x_label = "x [m]", plot.y_label = "height [m]";
    plot.lines = lines, plot.line_count = 3;
    validation_plot(v, "heaps", "Heaps poured from a spout", &plot);
}
