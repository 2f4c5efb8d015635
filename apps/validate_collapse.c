/* Collapses of columns: against discs, against grains, against published laws, and the methods against each other. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS_MOST = 1024, ROWS_MOST = 16 };

typedef struct collapse {
    double h0, l0, g, d, fraction; /* size of the column, gravity, grain diameter (the front is where h > d), phi_max */
    int bins;
    double width;                  /* of the domain */
} collapse;

static collapse collapse_of(validation *v, const run *r)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    collapse c = { .h0 = validation_number(v, "height"),
                   .l0 = validation_number(v, "length"),
                   .g = fabs(def->gravity[1]),
                   .d = validation_number(v, "front_height"),
                   .fraction = def->materials[0].volume_fraction,
                   .width = def->upper[0] - def->lower[0] };
    c.bins = (int)lround(c.width / def->cell_size);
    c.bins = c.bins > BINS_MOST ? BINS_MOST : c.bins;
    return c;
}

/* Runs to t* and measures the front and the height of the centre of mass [m]. */
static bool collapse_until(validation *v, run *r, const collapse *c, double t_star, double *front, double *centre, double *heights)
{
    if (!run_until(v, r, t_star * sqrt(c->h0 / c->g)))
        return false;
    run_heights(r, c->fraction, 0, c->width, heights, c->bins);
    *front = front_of(heights, c->bins, c->width / c->bins, c->d);
    *centre = run_mean(r, "position", 1);
    return true;
}

/* Bins as a line of a plot, in heights of the column. */
static rp_plot_line profile_line(const collapse *c, const char *name, const double *heights, double *x, double *y)
{
    for (int i = 0; i < c->bins; i++) {
        x[i] = (i + 0.5) * c->width / c->bins / c->h0;
        y[i] = heights[i] / c->h0;
    }
    return (rp_plot_line){ .name = name, .x = x, .y = y, .count = c->bins };
}

/* Points of a table of profiles for one time, x >= 0, sorted as they come. */
static rp_plot_line data_line(const table *t, const char *name, double a, int a_column, int t_column, double time, double *x, double *y)
{
    int n = 0;
    for (int i = 0; i < t->rows && n < BINS_MOST; i++) {
        if (a_column >= 0 && fabs(table_at(t, i, a_column) - a) > 1e-9)
            continue;
        if (fabs(table_at(t, i, t_column) - time) > 1e-3 || table_at(t, i, t_column + 1) < 0)
            continue;
        x[n] = table_at(t, i, t_column + 1);
        y[n++] = table_at(t, i, t_column + 2);
    }
    return (rp_plot_line){ .name = name, .x = x, .y = y, .count = n, .points = true };
}

/* Area between two profiles over the area of the second, both functions of x/H0. */
static double profile_distance(const rp_plot_line *ours, const rp_plot_line *data)
{
    double apart = 0, area = 0;
    for (int64_t i = 0; i + 1 < data->count; i++) {
        double width = data->x[i + 1] - data->x[i], x = data->x[i], y = 0;
        for (int64_t k = 0; k + 1 < ours->count; k++)
            if (ours->x[k] <= x && x < ours->x[k + 1])
                y = ours->y[k] + (ours->y[k + 1] - ours->y[k]) * (x - ours->x[k]) / (ours->x[k + 1] - ours->x[k]);
        if (x < ours->x[0])
            y = ours->y[0];
        apart += fabs(y - data->y[i]) * width;
        area += data->y[i] * width;
    }
    return apart / area;
}

static void friction_times(const run *r, double factor, char set[2][64])
{
    const rp_material_def *m = &rp_sim_definition(r->sim)->materials[0];
    snprintf(set[0], 64, "material.friction=%.17g", factor * m->friction);
    snprintf(set[1], 64, "material.friction_dynamic=%.17g", m->friction_dynamic < 0 ? -1 : factor * m->friction_dynamic);
}

/* The last state of the same scene with 1.3 times the friction. */
static bool control_run(validation *v, const char *scene, double t_star, double *front, double *centre)
{
    run r;
    char set[2][64];
    static double heights[BINS_MOST];
    if (!run_open(v, &r, scene, NULL))
        return false;
    friction_times(&r, 1.3, set);
    run_close(&r);
    const char *sets[] = { set[0], set[1], NULL };
    if (!run_open(v, &r, scene, sets))
        return false;
    collapse c = collapse_of(v, &r);
    bool good = collapse_until(v, &r, &c, t_star, front, centre, heights);
    run_close(&r);
    return good;
}

/* The times compared of the column of one aspect ratio, as the table of the discs gives it; `rest` is the last of them. */
static void against_discs(validation *v, double ratio, const double *times, double later)
{
    table summary, profiles = { 0 };
    run r;
    if (!table_read(v, "contact_dynamics_summary.csv", &summary))
        return;
    if (!table_read(v, "contact_dynamics_profiles.csv", &profiles) || !run_open(v, &r, "scene.yaml", NULL)) {
        table_free(&summary);
        table_free(&profiles);
        return;
    }
    const double rest = times[4];
    static double heights[BINS_MOST], x[6][BINS_MOST], y[6][BINS_MOST];
    static char names[6][32];
    collapse c = collapse_of(v, &r);
    rp_plot_line lines[6];
    int used = 0;
    double last_front = NAN, last_centre = NAN, before = NAN;
    for (int k = 0; k < 5; k++) {
        double front, centre, front_data = NAN, centre_data = NAN;
        if (!collapse_until(v, &r, &c, times[k], &front, &centre, heights))
            break;
        for (int i = 0; i < summary.rows; i++)
            if (table_at(&summary, i, 0) == ratio && table_at(&summary, i, 1) == times[k])
                centre_data = table_at(&summary, i, 3), front_data = table_at(&summary, i, 7);
        validation_check(v, CHECK_RELATIVE, "front", front_data, front / c.h0, "front / H0 at t* = %g", times[k]);
        validation_check(v, CHECK_RELATIVE, "centre", centre_data, centre / c.h0, "height of the centre of mass / H0 at t* = %g",
                         times[k]);
        last_front = front_data, last_centre = centre_data;
        if (k == 1 || k == 2 || k == 4) {
            snprintf(names[used], 32, "ours, t* = %g", times[k]);
            lines[used] = profile_line(&c, names[used], heights, x[used], y[used]);
            used++;
            snprintf(names[used], 32, "discs, t* = %g", times[k]);
            lines[used] = data_line(&profiles, names[used], ratio, 0, 1, times[k], x[used], y[used]);
            if (k == 4)
                validation_check(v, CHECK_BELOW, NULL, validation_number(v, "profile"), profile_distance(&lines[used - 1], &lines[used]),
                                 "area between the last profiles, in areas of the column");
            used++;
        }
    }
    if (!v->trouble[0]) { /* creep: does the heap stay where it stopped? */
        double front, centre = run_mean(&r, "position", 1);
        before = centre;
        if (collapse_until(v, &r, &c, later, &front, &centre, heights))
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep"), (before - centre) / c.h0,
                             "sinking of the centre of mass / H0 from t* = %g to %g", rest, later);
    }
    run_close(&r);
    double front, centre;
    if (!v->trouble[0] && control_run(v, "scene.yaml", rest, &front, &centre)) {
        validation_control(v, CHECK_RELATIVE, "front", last_front, front / c.h0, "control, 1.3 \xce\xbc: front / H0 at t* = %g", rest);
        validation_control(v, CHECK_RELATIVE, "centre", last_centre, centre / c.h0,
                           "control, 1.3 \xce\xbc: height of the centre of mass / H0 at t* = %g", rest);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Collapse against contact dynamics", plot.x_label = "x / H0", plot.y_label = "h / H0";
    plot.lines = lines, plot.line_count = used;
    if (used)
        validation_plot(v, "profiles", "Profiles of the collapse against discs", &plot);
    table_free(&summary);
    table_free(&profiles);
}

void case_collapse_discs(validation *v)
{
    static const double times[] = { 1, 2, 3, 4, 8 };
    against_discs(v, 0.5, times, 12);
}

void case_collapse_discs_tall(validation *v)
{
    static const double times[] = { 1, 2, 3, 4, 6 };
    against_discs(v, 6.26, times, 8);
}

void case_collapse_grains(validation *v)
{
    table series, profiles = { 0 };
    run r;
    if (!table_read(v, "a05_timeseries.csv", &series))
        return;
    if (!table_read(v, "a05_profiles.csv", &profiles) || !run_open(v, &r, "scene.yaml", NULL)) {
        table_free(&series);
        table_free(&profiles);
        return;
    }
    static const double wanted[] = { 0.47, 1.03, 1.5, 1.98, 2.53, 3.01, 4.03, 6 };
    static double heights[BINS_MOST], x[2][BINS_MOST], y[2][BINS_MOST], fx[2][ROWS_MOST], ft[ROWS_MOST], zs[2][ROWS_MOST];
    collapse c = collapse_of(v, &r);
    int used = 0;
    double last_front = NAN, last_centre = NAN;
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        int row = 0;
        for (int i = 0; i < series.rows; i++)
            if (fabs(table_at(&series, i, 0) - wanted[k]) < fabs(table_at(&series, row, 0) - wanted[k]))
                row = i;
        double t = fmin(table_at(&series, row, 0), wanted[k] + 0.1), front, centre;
        if (wanted[k] > table_at(&series, series.rows - 1, 0))
            t = wanted[k];
        if (!collapse_until(v, &r, &c, t, &front, &centre, heights))
            break;
        last_front = table_at(&series, row, 1), last_centre = table_at(&series, row, 6);
        validation_check(v, CHECK_RELATIVE, "front", last_front, front / c.l0, "front / L0 at t* = %.2f", t);
        validation_check(v, CHECK_RELATIVE, "centre", last_centre, centre / c.h0, "height of the centre of mass / H0 at t* = %.2f", t);
        ft[used] = t, fx[0][used] = last_front, fx[1][used] = front / c.l0;
        zs[0][used] = last_centre, zs[1][used++] = centre / c.h0;
    }
    rp_plot_line lines[4];
    double last_time = 0;
    for (int i = 0; i < profiles.rows; i++)
        last_time = fmax(last_time, table_at(&profiles, i, 0));
    lines[0] = profile_line(&c, "ours, at rest", heights, x[0], y[0]);
    lines[1] = data_line(&profiles, "grains, at rest", 0, -1, 0, last_time, x[1], y[1]);
    if (!v->trouble[0])
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "profile"), profile_distance(&lines[0], &lines[1]),
                         "area between the last profiles, in areas of the column");
    run_close(&r);
    double front, centre;
    if (!v->trouble[0] && control_run(v, "scene.yaml", 6, &front, &centre)) {
        validation_control(v, CHECK_RELATIVE, "front", last_front, front / c.l0, "control, 1.3 \xce\xbc: front / L0 at t* = 6");
        validation_control(v, CHECK_RELATIVE, "centre", last_centre, centre / c.h0,
                           "control, 1.3 \xce\xbc: height of the centre of mass / H0 at t* = 6");
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Collapse against grains, at rest", plot.x_label = "x / H0", plot.y_label = "h / H0";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "profile", "The heap at rest", &plot);
    rp_plot_line motion[4] = { { .name = "grains: front / L0", .x = ft, .y = fx[0], .count = used, .points = true },
                               { .name = "ours", .x = ft, .y = fx[1], .count = used },
                               { .name = "grains: centre / H0", .x = ft, .y = zs[0], .count = used, .points = true },
                               { .name = "ours", .x = ft, .y = zs[1], .count = used } };
    plot = rp_default_plot_def();
    plot.title = "Collapse against grains", plot.x_label = "t*", plot.y_label = "front / L0, centre of mass / H0";
    plot.lines = motion, plot.line_count = 4;
    validation_plot(v, "motion", "Front and centre of mass in time", &plot);
    table_free(&series);
    table_free(&profiles);
}

/* ---- run-out against the aspect ratio ---- */

/* Least and largest of the published laws of the run-out, with the ranges in which they hold. */
static void published(double a, double *least, double *most)
{
    double lube = a < 1.8 ? 1.2 * a : 1.9 * pow(a, 2.0 / 3), lajeunesse = a < 3 ? 1.8 * a : 2.3 * pow(a, 2.0 / 3);
    double lagree = a < 7 ? 2.2 * a : 3.9 * pow(a, 0.7), staron = a < 2 ? 2.5 * a : 3.25 * pow(a, 0.7);
    *least = fmin(lube, fmin(lajeunesse, fmin(lagree, staron)));
    *most = fmax(lube, fmax(lajeunesse, fmax(lagree, staron)));
}

void case_collapse_scaling(validation *v)
{
    static const double ratios[] = { 0.5, 1, 2, 4, 8 };
    enum { RATIOS = 5 };
    double logs[RATIOS], outs[RATIOS], x[RATIOS], low[RATIOS], high[RATIOS], ours[RATIOS], offset, slope;
    static double heights[BINS_MOST];
    double length = validation_number(v, "length"), part = validation_number(v, "outside");
    for (int k = 0; k < RATIOS; k++) {
        char shape[128], domain[128], duration[64];
        double top = ratios[k] * length, front, centre;
        published(ratios[k], &low[k], &high[k]);
        double wide = length * (1 + 1.3 * high[k]);
        snprintf(shape, sizeof shape, "grains.shape={box: {lower: [0, 0, -1], upper: [%.17g, %.17g, 1]}}", length, top);
        snprintf(domain, sizeof domain, "domain=[%.17g, %.17g]", wide, top + 0.1 * length);
        snprintf(duration, sizeof duration, "duration=%.17g", 8 * sqrt(top / 9.81));
        const char *set[] = { shape, domain, duration, NULL };
        run r;
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        collapse c = collapse_of(v, &r);
        c.h0 = top;
        bool good = collapse_until(v, &r, &c, 8, &front, &centre, heights);
        run_close(&r);
        if (!good)
            return;
        x[k] = ratios[k], ours[k] = front / length - 1;
        logs[k] = log(ratios[k]), outs[k] = log(ours[k]);
        validation_check(v, CHECK_ABOVE, NULL, (1 - part) * low[k], ours[k], "H/L = %g: run-out / L above the least law", ratios[k]);
        validation_check(v, CHECK_BELOW, NULL, (1 + part) * high[k], ours[k], "H/L = %g: run-out / L below the largest law", ratios[k]);
    }
    fit_line(logs, outs, 2, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 1, slope, "exponent of the run-out, H/L from 0.5 to 1");
    fit_line(logs + 3, outs + 3, 2, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", log2(3.9 * pow(8, 0.7) / (2.2 * 4)), slope,
                     "exponent of the run-out, H/L from 4 to 8, against Lagrée's law (2.2 a up to 6.8)");
    rp_plot_line lines[3] = { { .name = "ours", .x = x, .y = ours, .count = RATIOS, .points = true },
                              { .name = "least published law", .x = x, .y = low, .count = RATIOS },
                              { .name = "largest published law", .x = x, .y = high, .count = RATIOS } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Run-out", plot.x_label = "H / L", plot.y_label = "run-out / L", plot.log_y = true;
    plot.lines = lines, plot.line_count = 3;
    validation_plot(v, "runout", "Run-out against the aspect ratio", &plot);
}

/* ---- the methods against each other ---- */

void case_collapse_methods(validation *v)
{
    static const char *const methods[] = { "method=nonsmooth", "method=elastoplastic" };
    static const double times[] = { 1, 2, 3, 4, 6 };
    static double heights[2][BINS_MOST], x[2][BINS_MOST], y[2][BINS_MOST], front[2][8], centre[2][8];
    rp_plot_line lines[2];
    collapse c = { 0 };
    for (int k = 0; k < 2; k++) {
        run r;
        const char *set[] = { methods[k], NULL };
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        c = collapse_of(v, &r);
        for (int t = 0; t < 5; t++)
            if (!collapse_until(v, &r, &c, times[t], &front[k][t], &centre[k][t], heights[k]))
                break;
        lines[k] = profile_line(&c, methods[k] + 7, heights[k], x[k], y[k]);
        run_close(&r);
        if (v->trouble[0])
            return;
    }
    for (int t = 0; t < 5; t++) {
        validation_check(v, CHECK_RELATIVE, "front", front[0][t] / c.h0, front[1][t] / c.h0, "front / H0 at t* = %g", times[t]);
        validation_check(v, CHECK_RELATIVE, "centre", centre[0][t] / c.h0, centre[1][t] / c.h0,
                         "height of the centre of mass / H0 at t* = %g", times[t]);
    }
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "profile"), profile_distance(&lines[0], &lines[1]),
                     "area between the last profiles, in areas of the column");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "One collapse, two methods", plot.x_label = "x / H0", plot.y_label = "h / H0";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "profile", "The heap at rest under both methods", &plot);
}

/* Front, height of the centre of mass and of the crest at rest at cells of h, h/2, h/4. With differences d1 between the first two and d2
 * between the last two, the observed order is log2 |d1 / d2|; where it is above zero the differences shrink. */
void case_collapse_refinement(validation *v)
{
    enum { LEVELS = 3 };
    static const char *const names[] = { "front / H0", "height of the centre of mass / H0", "height at the wall / H0" };
    static double heights[LEVELS][BINS_MOST], x[LEVELS][BINS_MOST], y[LEVELS][BINS_MOST];
    static char labels[LEVELS][32];
    rp_plot_line lines[LEVELS];
    double value[3][LEVELS], cell = validation_number(v, "cell");
    for (int k = 0; k < LEVELS; k++) {
        run r;
        settings set = { 0 };
        setting(&set, "cell_size=%.17g", cell / (1 << k));
        if (v->trouble[0] || !run_open(v, &r, "scene.yaml", set.list))
            return;
        collapse c = collapse_of(v, &r);
        if (collapse_until(v, &r, &c, validation_number(v, "time"), &value[0][k], &value[1][k], heights[k])) {
            snprintf(labels[k], sizeof labels[k], "cells of %g mm", 1000 * cell / (1 << k));
            lines[k] = profile_line(&c, labels[k], heights[k], x[k], y[k]);
            value[0][k] /= c.h0, value[1][k] /= c.h0;
            value[2][k] = y[k][0];
        }
        run_close(&r);
        if (v->trouble[0])
            return;
    }
    for (int q = 0; q < 3; q++) {
        double coarse = fabs(value[q][1] - value[q][0]), fine = fabs(value[q][2] - value[q][1]);
        validation_check(v, CHECK_RELATIVE, "fine", value[q][2], value[q][1], "%s: cells of half against a quarter of the coarse ones", names[q]);
        validation_check(v, CHECK_ABOVE, NULL, 0, log2(coarse / fine), "%s: observed order, log2 of the ratio of the differences %.2g, %.2g",
                         names[q], coarse, fine);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "One collapse, three resolutions", plot.x_label = "x / H0", plot.y_label = "h / H0";
    plot.lines = lines, plot.line_count = LEVELS;
    validation_plot(v, "profile", "The heap at rest at three resolutions", &plot);
}
