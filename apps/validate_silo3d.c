/* Silos against grains, and through round holes. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { MOST = 4096 };

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

/* Rate while the part gone of what was there goes from `from` to `to`. */
static double rate_of(const discharge *d, double from, double to)
{
    int first = 0, last;
    double slope, offset;
    while (first < d->count && d->volume[first] > (1 - from) * d->volume[0])
        first++;
    for (last = first; last < d->count && d->volume[last] > (1 - to) * d->volume[0];)
        last++;
    if (last == d->count || last - first < 3)
        return NAN;
    fit_line(d->time + first, d->volume + first, last - first + 1, &slope, &offset, NULL);
    return -slope;
}

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
        setting(&s, "bodies.0.shape={box: {lower: [-50, %.17g, -1], upper: [%.17g, %.17g, 1]}}", level - 4, 0.5 * (width - slot), level);
        setting(&s, "bodies.1.shape={box: {lower: [%.17g, %.17g, -1], upper: [%.17g, %.17g, 1]}}", 0.5 * (width + slot), level - 4, width + 50, level);
        if (!run_discharge(v, &s, 1, level, 0.15, &d[k]))
            break;
        rates[k] = rate_of(&d[k], 0.04, 0.14), grains[k] = table_at(&t, k, 3);
        validation_check(v, CHECK_RELATIVE, "rate", grains[k], rates[k], "slot of %g diameters: bulk area a time, against grains", slot);
        for (int i = 0; i < d[k].count; i++)
            parts[k][i] = d[k].volume[i] / d[k].volume[0];
        snprintf(names[k], sizeof names[k], "slot of %g d", slot);
        lines[k] = (rp_plot_line){ .name = names[k], .x = d[k].time, .y = parts[k], .count = d[k].count };
    }
    table_free(&t);
    if (v->trouble[0])
        return;
    validation_check(v, CHECK_RELATIVE, "rate", pow(2, 1.5), rates[1] / rates[0], "ratio of the two rates, against 2^1.5 of a continuum without grain size");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Silo of grains", plot.x_label = "t / \xe2\x88\x9a(d/g)", plot.y_label = "part above the floor";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "discharge", "What is left in the silo", &plot);
}

void case_beverloo_3d(validation *v)
{
    enum { HOLES = 4 };
    static discharge d;
    double holes[HOLES], logs[HOLES], rates[HOLES], roots[HOLES], slope, offset;
    double cell = validation_number(v, "cell"), level = validation_number(v, "floor");
    for (int k = 0; k < HOLES; k++) {
        settings s = { 0 };
        holes[k] = cell * (validation_number(v, "least_cells") + 2 * k);
        setting(&s, "bodies.0.shape={difference: [{box: {lower: [-1, -1, %.17g], upper: [1, 1, %.17g]}}, {cylinder: {from: [0, 0, 0], to: [0, 0, 0.3], "
                    "radius: %.17g}}]}", level - 2 * cell, level, 0.5 * holes[k]);
        if (!run_discharge(v, &s, 2, level, validation_number(v, "until"), &d))
            return;
        double rate = 4 * rate_of(&d, 0.02, 0.9 * validation_number(v, "until"));
        if (!(rate > 0)) {
            validation_trouble(v, "no steady discharge through a hole of %g m", holes[k]);
            return;
        }
        logs[k] = log(holes[k]), rates[k] = log(rate), roots[k] = pow(rate / sqrt(9.81), 0.4);
    }
    fit_line(logs, rates, HOLES, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 2.5, slope, "exponent of Q over D");
    fit_line(holes, roots, HOLES, &slope, &offset, NULL);
    validation_check(v, CHECK_BELOW, NULL, 2, fabs(offset / slope) / cell, "|k| of Q = C \xe2\x88\x9ag (D - k)^2.5, in cells");
    validation_check(v, CHECK_RELATIVE, "prefactor", 0.58, pow(slope, 2.5), "C of the same fit");
    double line_x[2] = { 0, holes[HOLES - 1] }, line_y[2] = { offset, offset + slope * holes[HOLES - 1] };
    rp_plot_line lines[2] = { { .name = "ours", .x = holes, .y = roots, .count = HOLES, .points = true },
                              { .name = "fit", .x = line_x, .y = line_y, .count = 2 } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Beverloo's law in 3D", plot.x_label = "D [m]", plot.y_label = "(Q / \xe2\x88\x9ag)^(2/5) [m]";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "rate", "Rate of discharge against the hole", &plot);
}
