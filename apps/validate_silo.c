/* Silos: constant discharge, Beverloo's law in 2D and 3D, and the same silo grain by grain. */
#include "validate.h"

#include <math.h>
#include <string.h>

static const double gravity = 9.81;

enum { MOST = 4096, HOLES_MOST = 8 };

typedef struct discharge {
    double time[MOST], volume[MOST];
    int count;
} discharge;

/* Bulk volume above `level` along axis `up`, at each frame until the part `until` of it is gone or the scene ends. */
static bool run_discharge(validation *v, settings *s, int up, double level, double until, discharge *d)
{
    run r;
    if (!run_open(v, &r, "scene.yaml", s->list))
        return false;
    double fraction = rp_sim_definition(r.sim)->materials[0].volume_fraction;
    d->count = 0;
    while (!rp_sim_done(r.sim) && run_step(v, &r)) {
        if (!rp_sim_at_frame(r.sim) || d->count == MOST)
            continue;
        const double *x = run_plane(&r, "position", up), *volume = run_plane(&r, "volume", 0);
        double sum = 0;
        for (int64_t i = 0; i < run_count(&r); i++)
            sum += x[i] > level ? volume[i] / fraction : 0;
        d->time[d->count] = rp_sim_time(r.sim);
        d->volume[d->count++] = sum;
        if (sum < (1 - until) * d->volume[0])
            break;
    }
    run_close(&r);
    return !v->trouble[0];
}

/* Volume a second while the part lost of what was there at first goes from `from` to `to`. */
static double rate_between(const discharge *d, double from, double to)
{
    int first = 0, last;
    double slope, offset;
    while (first < d->count && d->volume[first] > (1 - from) * d->volume[0])
        first++;
    for (last = first; last < d->count && d->volume[last] > (1 - to) * d->volume[0];)
        last++;
    if (last == d->count || last - first < 3)
        return NAN; /* it did not come so far */
    fit_line(d->time + first, d->volume + first, last - first + 1, &slope, &offset, NULL);
    return -slope;
}

/* The floor of a 2D silo: two boxes that leave a slot in the middle. */
static void set_slot(settings *s, double width, double level, double thick, double slot)
{
    setting(s, "bodies.0.shape={box: {lower: [%.17g, %.17g, -1], upper: [%.17g, %.17g, 1]}}", -width, level - thick, 0.5 * (width - slot), level);
    setting(s, "bodies.1.shape={box: {lower: [%.17g, %.17g, -1], upper: [%.17g, %.17g, 1]}}", 0.5 * (width + slot), level - thick, 2 * width, level);
}

static bool run_silo(validation *v, double friction, double slot, double until, discharge *d)
{
    settings s = { 0 };
    double level = validation_number(v, "floor");
    setting(&s, "material.friction=%.17g", friction);
    if (friction == 0)
        setting(&s, "material.friction_dynamic=-1");
    set_slot(&s, validation_number(v, "width"), level, 0.04, slot);
    return run_discharge(v, &s, 1, level, until, d);
}

/* Part of the first volume that is left, as a line of a plot. */
static rp_plot_line left_line(const char *name, const discharge *d, double *parts)
{
    for (int i = 0; i < d->count; i++)
        parts[i] = d->volume[i] / d->volume[0];
    return (rp_plot_line){ .name = name, .x = d->time, .y = parts, .count = d->count };
}

void case_silo(validation *v)
{
    static discharge sand, liquid;
    static double parts[2][MOST];
    double slot = validation_number(v, "slot"), mu = validation_number(v, "friction");
    if (!run_silo(v, mu, slot, 0.55, &sand) || !run_silo(v, 0, slot, 0.55, &liquid))
        return;
    double early = rate_between(&sand, 0.05, 0.2), late = rate_between(&sand, 0.35, 0.5);
    validation_check(v, CHECK_ABSOLUTE, "constant", 1, late / early, "sand: rate with 35-50 %% gone over that with 5-20 %% gone");
    validation_check(v, CHECK_RELATIVE, "staron", 1.43, rate_between(&sand, 0.05, 0.5) / (sqrt(gravity) * pow(slot, 1.5)),
                     "sand: Q / (√g D^1.5)");
    double liquid_early = rate_between(&liquid, 0.05, 0.2), liquid_late = rate_between(&liquid, 0.35, 0.5);
    validation_control(v, CHECK_ABSOLUTE, "constant", 1, liquid_late / liquid_early, "control, \xce\xbc = 0 (a liquid): the same ratio");
    validation_check(v, CHECK_ABSOLUTE, "torricelli", sqrt((1 - 0.425) / (1 - 0.125)), liquid_late / liquid_early,
                     "\xce\xbc = 0: the same ratio, against the root of the depth");
    rp_plot_line lines[2] = { left_line("sand", &sand, parts[0]), left_line("\xce\xbc = 0", &liquid, parts[1]) };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Silo, flat bottom, 2D", plot.x_label = "t [s]", plot.y_label = "part of the grains above the floor";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "discharge", "What is left in the silo", &plot);
}

/* ---- Beverloo's law: Q = C sqrt(g) (D - k)^power ---- */

/* Exponent of the rate over the width of the hole, and C and k of the fit; the plot of the latter. */
static void check_beverloo(validation *v, const double *holes, const double *rates, int count, double power, double prefactor, const char *tolerance)
{
    double logs[HOLES_MOST], log_rates[HOLES_MOST], roots[HOLES_MOST], slope, offset, cell = validation_number(v, "cell");
    char title[64], label[64];
    for (int k = 0; k < count; k++)
        logs[k] = log(holes[k]), log_rates[k] = log(rates[k]), roots[k] = pow(rates[k] / sqrt(gravity), 1 / power);
    fit_line(logs, log_rates, count, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", power, slope, "exponent of Q over D");
    fit_line(holes, roots, count, &slope, &offset, NULL);
    validation_check(v, CHECK_BELOW, NULL, 2, fabs(offset / slope) / cell, "|k| of Q = C √g (D - k)^%g, in cells", power);
    validation_check(v, CHECK_RELATIVE, tolerance, prefactor, pow(slope, power), "C of the same fit");
    double line_x[2] = { 0, holes[count - 1] }, line_y[2] = { offset, offset + slope * holes[count - 1] };
    rp_plot_line lines[2] = { { .name = "ours", .x = holes, .y = roots, .count = count, .points = true },
                              { .name = "fit", .x = line_x, .y = line_y, .count = 2 } };
    snprintf(title, sizeof title, "Beverloo's law in %dD", power > 2 ? 3 : 2);
    snprintf(label, sizeof label, "(Q² / g)^(1/%g) [m]", 2 * power);
    rp_plot_def plot = rp_default_plot_def();
    plot.title = title, plot.x_label = "D [m]", plot.y_label = label;
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "rate", "Rate of discharge against the width of the hole", &plot);
}

void case_beverloo(validation *v)
{
    enum { SLOTS = 4 };
    static discharge d;
    double slots[SLOTS], rates[SLOTS], cell = validation_number(v, "cell");
    for (int k = 0; k < SLOTS; k++) {
        slots[k] = cell * validation_number(v, "slot_cells") * (1 + 0.5 * k);
        if (!run_silo(v, validation_number(v, "friction"), slots[k], 0.32, &d))
            return;
        rates[k] = rate_between(&d, 0.05, 0.3);
        if (!(rates[k] > 0)) {
            validation_trouble(v, "no steady discharge through a slot of %g m", slots[k]);
            return;
        }
        validation_check(v, CHECK_RELATIVE, "staron", 1.43, rates[k] / (sqrt(gravity) * pow(slots[k], 1.5)), "D = %g cells: Q / (√g D^1.5)",
                         slots[k] / cell);
    }
    check_beverloo(v, slots, rates, SLOTS, 1.5, 1.43, "staron");
}

void case_beverloo_3d(validation *v)
{
    enum { HOLES = 4 };
    static discharge d;
    double holes[HOLES], rates[HOLES], cell = validation_number(v, "cell"), level = validation_number(v, "floor"), until = validation_number(v, "until");
    for (int k = 0; k < HOLES; k++) {
        settings s = { 0 };
        holes[k] = cell * (validation_number(v, "least_cells") + 2 * k);
        setting(&s, "bodies.0.shape={difference: [{box: {lower: [-1, -1, %.17g], upper: [1, 1, %.17g]}}, {cylinder: {from: [0, 0, 0], to: [0, 0, 0.3], "
                    "radius: %.17g}}]}", level - 2 * cell, level, 0.5 * holes[k]);
        if (!run_discharge(v, &s, 2, level, until, &d))
            return;
        rates[k] = 4 * rate_between(&d, 0.02, 0.9 * until); /* a quarter of the silo */
        if (!(rates[k] > 0)) {
            validation_trouble(v, "no steady discharge through a hole of %g m", holes[k]);
            return;
        }
    }
    check_beverloo(v, holes, rates, HOLES, 2.5, 0.58, "prefactor");
}

/* ---- the same silo grain by grain ---- */

void case_silo_grains(validation *v)
{
    static discharge d[2];
    static double parts[2][MOST];
    static char names[2][32];
    rp_plot_line lines[2];
    table t;
    double width = validation_number(v, "width"), level = validation_number(v, "floor"), rates[2] = { NAN, NAN }, grains[2] = { NAN, NAN };
    if (!table_read(v, "silo_QvsD.csv", &t))
        return;
    for (int k = 0; k < 2 && k < t.rows && !v->trouble[0]; k++) {
        settings s = { 0 };
        double slot = table_at(&t, k, 0);
        set_slot(&s, width, level, 4, slot);
        if (!run_discharge(v, &s, 1, level, 0.15, &d[k]))
            break;
        rates[k] = rate_between(&d[k], 0.04, 0.14), grains[k] = table_at(&t, k, 3);
        validation_check(v, CHECK_RELATIVE, "rate", grains[k], rates[k], "slot of %g diameters: bulk area a time, against grains", slot);
        snprintf(names[k], sizeof names[k], "slot of %g d", slot);
        lines[k] = left_line(names[k], &d[k], parts[k]);
    }
    table_free(&t);
    if (v->trouble[0])
        return;
    /* Q = C sqrt(g) (D - k)^1.5 through both, for grains and ours */
    double slots[2] = { 6, 12 }, c[2], offset[2];
    for (int k = 0; k < 2; k++) {
        double roots[2] = { pow(k ? rates[0] : grains[0], 2.0 / 3), pow(k ? rates[1] : grains[1], 2.0 / 3) };
        c[k] = pow((roots[1] - roots[0]) / (slots[1] - slots[0]), 1.5);
        offset[k] = slots[0] - roots[0] / pow(c[k], 2.0 / 3);
    }
    validation_check(v, CHECK_RELATIVE, "rate", c[0], c[1], "C of Q = C √g (D - k)^1.5 through both (grains: k = %.2f diameters)", offset[0]);
    validation_check(v, CHECK_BELOW, NULL, 2, fabs(offset[1]), "|k| of a continuum, in cells");
    validation_check(v, CHECK_RELATIVE, "rate", pow(2, 1.5), rates[1] / rates[0], "ratio of the two rates, against 2^1.5 of a continuum without grain size");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Silo of grains", plot.x_label = "t (g/d)^0.5", plot.y_label = "part above the floor";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "discharge", "What is left in the silo", &plot);
}
