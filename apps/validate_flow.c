/* Silos and heaps. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81;

enum { MOST = 4096 };

/* Bulk area above the floor of the silo. */
static double area_above(const run *r, double floor_height, double fraction)
{
    const double *y = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
    double sum = 0;
    for (int64_t i = 0; i < run_count(r); i++)
        sum += y[i] > floor_height ? volume[i] / fraction : 0;
    return sum;
}

typedef struct discharge {
    double time[MOST], area[MOST];
    int count;
} discharge;

static bool run_silo(validation *v, double friction, double slot, discharge *d)
{
    char mu[64], left[160], right[160];
    double width = validation_number(v, "width"), level = validation_number(v, "floor");
    snprintf(mu, sizeof mu, "material.friction=%.17g", friction);
    snprintf(left, sizeof left, "bodies.0.shape={box: {lower: [-1, %.17g, -1], upper: [%.17g, %.17g, 1]}}", level - 0.04,
             0.5 * (width - slot), level);
    snprintf(right, sizeof right, "bodies.1.shape={box: {lower: [%.17g, %.17g, -1], upper: [%.17g, %.17g, 1]}}",
             0.5 * (width + slot), level - 0.04, width + 1, level);
    const char *set[] = { mu, left, right, NULL };
    run r;
    if (!run_open(v, &r, "scene.yaml", set))
        return false;
    double fraction = rp_sim_definition(r.sim)->materials[0].volume_fraction;
    d->count = 0;
    while (!rp_sim_done(r.sim) && run_step(v, &r)) {
        if (d->count < MOST && rp_sim_at_frame(r.sim)) {
            d->time[d->count] = rp_sim_time(r.sim);
            d->area[d->count++] = area_above(&r, level, fraction);
        }
    }
    run_close(&r);
    return !v->trouble[0];
}

/* Area a second while the part lost of what was there at first goes from `from` to `to`. */
static double rate_between(const discharge *d, double from, double to)
{
    int first = 0, last;
    while (first < d->count && d->area[first] > (1 - from) * d->area[0])
        first++;
    for (last = first; last < d->count && d->area[last] > (1 - to) * d->area[0];)
        last++;
    if (last == d->count || last - first < 3)
        return NAN; /* it did not come so far */
    double slope, offset;
    fit_line(d->time + first, d->area + first, last - first + 1, &slope, &offset, NULL);
    return -slope;
}

void case_silo(validation *v)
{
    static discharge sand, liquid;
    static double parts[2][MOST];
    double slot = validation_number(v, "slot"), mu = validation_number(v, "friction");
    if (!run_silo(v, mu, slot, &sand) || !run_silo(v, 0, slot, &liquid))
        return;
    double early = rate_between(&sand, 0.05, 0.2), late = rate_between(&sand, 0.35, 0.5);
    validation_check(v, CHECK_ABSOLUTE, "constant", 1, late / early, "sand: rate with 35-50 %% gone over that with 5-20 %% gone");
    validation_check(v, CHECK_RELATIVE, "staron", 1.43, rate_between(&sand, 0.05, 0.5) / (sqrt(gravity) * pow(slot, 1.5)),
                     "sand: Q / (√g D^1.5)");
    double liquid_early = rate_between(&liquid, 0.05, 0.2), liquid_late = rate_between(&liquid, 0.35, 0.5);
    validation_control(v, CHECK_ABSOLUTE, "constant", 1, liquid_late / liquid_early, "control, \xce\xbc = 0 (a liquid): the same ratio");
    validation_check(v, CHECK_ABSOLUTE, "torricelli", sqrt((1 - 0.425) / (1 - 0.125)), liquid_late / liquid_early,
                     "\xce\xbc = 0: the same ratio, against the root of the depth");
    rp_plot_line lines[2] = { { .name = "sand", .x = sand.time, .y = parts[0], .count = sand.count },
                              { .name = "\xce\xbc = 0", .x = liquid.time, .y = parts[1], .count = liquid.count } };
    for (int i = 0; i < sand.count; i++)
        parts[0][i] = sand.area[i] / sand.area[0];
    for (int i = 0; i < liquid.count; i++)
        parts[1][i] = liquid.area[i] / liquid.area[0];
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Silo, flat bottom, 2D", plot.x_label = "t [s]", plot.y_label = "part of the grains above the floor";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "discharge", "What is left in the silo", &plot);
}

void case_beverloo(validation *v)
{
    enum { SLOTS = 4 };
    static discharge d;
    double slots[SLOTS], logs[SLOTS], rates[SLOTS], roots[SLOTS], slope, offset, cell = validation_number(v, "cell");
    for (int k = 0; k < SLOTS; k++) {
        slots[k] = cell * validation_number(v, "slot_cells") * (1 + 0.5 * k);
        if (!run_silo(v, validation_number(v, "friction"), slots[k], &d))
            return;
        double rate = rate_between(&d, 0.05, 0.3);
        if (!(rate > 0)) {
            validation_trouble(v, "no steady discharge through a slot of %g m", slots[k]);
            return;
        }
        logs[k] = log(slots[k]), rates[k] = log(rate), roots[k] = pow(rate / sqrt(gravity), 2.0 / 3);
        validation_check(v, CHECK_RELATIVE, "staron", 1.43, rate / (sqrt(gravity) * pow(slots[k], 1.5)), "D = %g cells: Q / (√g D^1.5)",
                         slots[k] / cell);
    }
    fit_line(logs, rates, SLOTS, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 1.5, slope, "exponent of Q over D");
    fit_line(slots, roots, SLOTS, &slope, &offset, NULL);
    validation_check(v, CHECK_BELOW, NULL, 2, fabs(offset / slope) / cell, "|k| of Q = C √g (D - k)^1.5, in cells");
    validation_check(v, CHECK_RELATIVE, "staron", 1.43, pow(slope, 1.5), "C of the same fit");
    double line_x[2] = { 0, slots[SLOTS - 1] }, line_y[2] = { offset, offset + slope * slots[SLOTS - 1] };
    rp_plot_line lines[2] = { { .name = "ours", .x = slots, .y = roots, .count = SLOTS, .points = true },
                              { .name = "fit", .x = line_x, .y = line_y, .count = 2 } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Beverloo's law in 2D", plot.x_label = "D [m]", plot.y_label = "(Q / √g)^(2/3) [m]";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "rate", "Rate of discharge against the slot", &plot);
}

/* ---- the heap that stays on a plate when the sides have drained ---- */

typedef struct heap_run {
    const char *name, *method;
    double friction;
    int refine; /* cells for one of the scene */
} heap_run;

/* Slope of one side between 15 and 85 % of the height, in degrees; `side` is 1 on the right. */
static double side_angle(const double *x, const double *heights, int bins, int side)
{
    static double fx[1024], fy[1024];
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

void case_heap(validation *v)
{
    static const heap_run runs[] = {
        { "\xce\xbc = 0.3", "nonsmooth", 0.3, 1 },
        { "\xce\xbc = 0.5", "nonsmooth", 0.5, 1 },
        { "\xce\xbc = 0.5, half the cell", "nonsmooth", 0.5, 2 },
        { "\xce\xbc = 0.5, elastoplastic", "elastoplastic", 0.5, 1 },
    };
    enum { RUNS = sizeof runs / sizeof *runs };
    static double x[RUNS][1024], y[RUNS][1024];
    rp_plot_line lines[RUNS];
    double half = validation_number(v, "plate") / 2, cell = validation_number(v, "cell"), centre = validation_number(v, "centre");
    double level = validation_number(v, "floor");
    for (int k = 0; k < RUNS; k++) {
        char method[64], mu[64], size[64];
        snprintf(method, sizeof method, "method=%s", runs[k].method);
        snprintf(mu, sizeof mu, "material.friction=%.17g", runs[k].friction);
        snprintf(size, sizeof size, "cell_size=%.17g", cell / runs[k].refine);
        const char *set[] = { method, mu, size, NULL };
        run r;
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        const rp_sim_def *def = rp_sim_definition(r.sim);
        int bins = (int)lround(2 * half / def->cell_size);
        bool good = run_until(v, &r, 0.75 * def->duration);
        double before = run_mean(&r, "position", 1);
        good = good && run_until(v, &r, def->duration);
        double after = run_mean(&r, "position", 1), width = 2 * half / bins;
        const double *px = run_plane(&r, "position", 0), *py = run_plane(&r, "position", 1), *volume = run_plane(&r, "volume", 0);
        for (int i = 0; i < bins; i++)
            x[k][i] = centre - half + (i + 0.5) * width, y[k][i] = 0;
        for (int64_t i = 0; i < run_count(&r); i++) {
            int bin = (int)floor((px[i] - centre + half) / width);
            if (py[i] > level && bin >= 0 && bin < bins)
                y[k][bin] += volume[i] / (def->materials[0].volume_fraction * width);
        }
        lines[k] = (rp_plot_line){ .name = runs[k].name, .x = x[k], .y = y[k], .count = bins };
        double angle = 0.5 * (side_angle(x[k], y[k], bins, -1) + side_angle(x[k], y[k], bins, 1));
        validation_check(v, CHECK_ABSOLUTE, "angle", atan(runs[k].friction) * 180 / acos(-1.0), angle, "%s: angle of repose [degrees]",
                         runs[k].name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"), fabs(after - before) / def->cell_size,
                         "%s: sinking in the last quarter of the run, in cells", runs[k].name);
        run_close(&r);
        if (!good)
            return;
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Heaps on a plate", plot.x_label = "x [m]", plot.y_label = "height [m]";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "heaps", "Heaps left on a plate", &plot);
}
