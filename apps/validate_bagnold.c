/* Bagnold's flow: the steady flow of mu(I) down a slope, over angles and resolutions. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { LAYERS_MOST = 256, LINES_MOST = 8, LEVELS = 3 };

typedef struct bagnold_law {
    double mu_s, mu_2, i0, d, h, g, fraction; /* h: depth; fraction: 1 for bulk density in I */
} bagnold_law;

/* Unit depth and gravity with the bulk density in I (as a code for one fluid has it); glass beads of 0.5 mm. */
static const bagnold_law unit = { 0.38, 0.64, 0.3, 0.04, 1, 1, 1 };
static const bagnold_law beads = { 0.3819, 0.6435, 0.279, 0.0005, 0.02, 9.81, 0.6 };

typedef struct bagnold_run {
    const char *name, *scene;
    const bagnold_law *law;
    double theta;
    double factor;       /* on the friction of a control, 1 otherwise */
    double start;        /* the first profile, in exact ones */
    double duration;     /* 0: that of the scene */
    int dim, cells;      /* cells of the depth */
    const char *match;   /* not NULL: static friction by its angle and this match, as 3D scenes give it */
} bagnold_run;

typedef struct bagnold_result {
    double top, surface, mean, worst, error; /* exact surface speed; fitted; mean; worst layer and root mean square, in surface speeds */
    double x[LAYERS_MOST], ours[LAYERS_MOST], exact[LAYERS_MOST];
    int bins;
} bagnold_result;

static double bagnold_speed(const bagnold_law *b, double theta, double y)
{
    double i = b->i0 * (tan(theta) - b->mu_s) / (b->mu_2 - tan(theta));
    return 2.0 / 3 * i / b->d * sqrt(b->fraction * b->g * cos(theta)) * (pow(b->h, 1.5) - pow(fmax(b->h - y, 0), 1.5));
}

static void bagnold_settings(const bagnold_run *b, settings *s)
{
    const bagnold_law *l = b->law;
    double cell = l->h / b->cells, wide = 4 * cell, tall = l->h + 4 * cell;
    setting(s, "cell_size=%.17g", cell);
    if (b->dim == 3) {
        setting(s, "domain=[%.17g, %.17g, %.17g]", wide, wide, tall);
        setting(s, "grains.shape={box: {lower: [0, 0, 0], upper: [%.17g, %.17g, %.17g]}}", wide, wide, l->h);
    } else {
        setting(s, "domain=[%.17g, %.17g]", wide, tall);
        setting(s, "grains.shape={box: {lower: [0, 0], upper: [%.17g, %.17g]}}", wide, l->h);
    }
    setting(s, "gravity.tilt=%.17g", b->theta);
    if (b->match) { /* the angle whose inscribed cone has mu_s */
        setting(s, "material={density: 1, volume_fraction: 1, friction_angle: %.17g, match: %s, friction_dynamic: %.17g, inertial_number: %.17g, "
                   "grain_diameter: %.17g}", asin(l->mu_s / sqrt(1 - l->mu_s * l->mu_s / 3)), b->match, l->mu_2, l->i0, l->d);
    } else {
        setting(s, "material.friction=%.17g", l->mu_s * b->factor);
        setting(s, "material.friction_dynamic=%.17g", l->mu_2 * b->factor);
    }
    if (b->duration > 0)
        setting(s, "duration=%.17g", b->duration);
    setting(s, "grains.velocity_field=\"%.17g * (1 - math.max(0, 1 - %c / %.17g)^1.5), 0, 0\"", b->start * bagnold_speed(l, b->theta, l->h),
            b->dim == 3 ? 'z' : 'y', l->h);
}

static void measure_profile(const run *r, const bagnold_run *b, bagnold_result *out)
{
    const double *y = run_plane(r, "position", b->dim - 1), *u = run_plane(r, "velocity", 0), *m = run_plane(r, "mass", 0);
    double h = b->law->h / b->cells, weight[LAYERS_MOST] = { 0 }, up = 0, down = 0, square = 0, mass = 0;
    *out = (bagnold_result){ .top = bagnold_speed(b->law, b->theta, b->law->h), .bins = b->cells, .mean = run_mean(r, "velocity", 0) };
    for (int64_t i = 0; i < run_count(r); i++) {
        double exact = bagnold_speed(b->law, b->theta, y[i]);
        int k = (int)(y[i] / h);
        up += m[i] * u[i] * exact, down += m[i] * exact * exact;
        square += m[i] * (u[i] - exact) * (u[i] - exact), mass += m[i];
        if (k < out->bins)
            out->ours[k] += m[i] * u[i], out->exact[k] += m[i] * exact, weight[k] += m[i];
    }
    out->surface = out->top * up / down;
    out->error = sqrt(square / mass) / out->top;
    for (int k = 0; k < out->bins; k++) {
        out->x[k] = (k + 0.5) / out->bins;
        out->ours[k] /= weight[k] * out->top, out->exact[k] /= weight[k] * out->top;
        out->worst = fmax(out->worst, fabs(out->ours[k] - out->exact[k]));
    }
}

static bool run_bagnold(validation *v, const bagnold_run *b, bagnold_result *out)
{
    settings s = { 0 };
    run r;
    bagnold_settings(b, &s);
    if (!run_open(v, &r, b->scene, s.list))
        return false;
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    if (good)
        measure_profile(&r, b, out);
    run_close(&r);
    return good;
}

/* Rows of each run, and the plot of all. */
static bool check_runs(validation *v, const bagnold_run *runs, int count, const char *title)
{
    static bagnold_result results[LINES_MOST];
    rp_plot_line lines[LINES_MOST + 1];
    for (int k = 0; k < count; k++) {
        const bagnold_run *b = &runs[k];
        bagnold_result *o = &results[k];
        if (!run_bagnold(v, b, o))
            return false;
        if (b->factor != 1 || (b->match && strcmp(b->match, "circumscribed") == 0)) {
            validation_control(v, CHECK_RELATIVE, "speed", o->top, o->surface, "%s: surface speed [m/s]", b->name);
        } else {
            validation_check(v, CHECK_RELATIVE, "speed", o->top, o->surface, "%s: surface speed of the fitted profile [m/s]", b->name);
            validation_check(v, CHECK_RELATIVE, "speed", 0.6 * o->top, o->mean, "%s: mean speed [m/s]", b->name);
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "worst"), o->worst, "%s: worst layer, in surface speeds", b->name);
        }
        if (k == 0)
            lines[0] = (rp_plot_line){ .name = "exact", .x = o->x, .y = o->exact, .count = o->bins };
        lines[k + 1] = (rp_plot_line){ .name = b->name, .x = o->x, .y = o->ours, .count = o->bins, .points = true };
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = title, plot.x_label = "height / depth of the layer", plot.y_label = "speed / exact surface speed";
    plot.lines = lines, plot.line_count = count + 1;
    validation_plot(v, "profile", "Steady flow down a slope under mu(I)", &plot);
    return true;
}

/* Error of the profile at 1, 2 and 4 times the cells; the order is that of a line through the logarithms. */
static void check_order(validation *v, bagnold_run b)
{
    static bagnold_result o;
    double cells[LEVELS], errors[LEVELS], lx[LEVELS], ly[LEVELS], order, offset;
    for (int k = 0; k < LEVELS; k++) {
        if (!run_bagnold(v, &b, &o))
            return;
        cells[k] = b.cells, errors[k] = o.error, lx[k] = log(b.cells), ly[k] = log(o.error);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "worst"), o.error, "%s, %d cells: root mean square error, in surface speeds",
                         b.name, b.cells);
        b.cells *= 2;
    }
    fit_line(lx, ly, LEVELS, &order, &offset, NULL);
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "order"), -order, "%s: order of convergence", b.name);
    double line_x[2] = { cells[0], cells[LEVELS - 1] }, line_y[2];
    for (int k = 0; k < 2; k++)
        line_y[k] = exp(offset + order * log(line_x[k]));
    rp_plot_line lines[] = { { .name = "error", .x = cells, .y = errors, .count = LEVELS, .points = true },
                             { .name = "fit", .x = line_x, .y = line_y, .count = 2 } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Bagnold flow, refined", plot.x_label = "cells of the depth", plot.y_label = "rms error / surface speed";
    plot.log_x = plot.log_y = true, plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "order", "Error of the steady profile against the cells of the depth", &plot);
}

#define DEGREES(x) ((x) * 0.017453292519943295)

void case_bagnold(validation *v)
{
    const bagnold_run runs[] = {
        { "set 1", "scene.yaml", &unit, 0.43, 1, 1, 0, 2, 20, NULL },
        { "set 1 from 0.8 of the speed", "scene.yaml", &unit, 0.43, 1, 0.8, validation_number(v, "steady_after"), 2, 20, NULL },
        { "set 2, 22°", "scene-beads.yaml", &beads, DEGREES(22), 1, 1, 0, 2, 20, NULL },
        { "set 2, 24°", "scene-beads.yaml", &beads, DEGREES(24), 1, 1, 0, 2, 20, NULL },
        { "set 2, 26°", "scene-beads.yaml", &beads, DEGREES(26), 1, 1, 0, 2, 20, NULL },
        { "set 2, 28°", "scene-beads.yaml", &beads, DEGREES(28), 1, 1, 0, 2, 20, NULL },
        { "control, set 1 with 1.3 \xce\xbc", "scene.yaml", &unit, 0.43, 1.3, 1, 0, 2, 20, NULL },
    };
    if (!check_runs(v, runs, sizeof runs / sizeof *runs, "Bagnold flow"))
        return;
    check_order(v, (bagnold_run){ "set 1, refined", "scene.yaml", &unit, 0.43, 1, 1, validation_number(v, "refined_duration"), 2, 10, NULL });
}

void case_bagnold_3d(validation *v)
{
    const bagnold_run runs[] = {
        { "set 1", "scene.yaml", &unit, 0.43, 1, 1, 0, 3, 20, "inscribed" },
        { "set 2, 22°", "scene-beads.yaml", &beads, DEGREES(22), 1, 1, 0, 3, 20, NULL },
        { "set 2, 24°", "scene-beads.yaml", &beads, DEGREES(24), 1, 1, 0, 3, 20, NULL },
        { "set 2, 28°", "scene-beads.yaml", &beads, DEGREES(28), 1, 1, 0, 3, 20, NULL },
        { "control, set 1 with 1.3 \xce\xbc", "scene.yaml", &unit, 0.43, 1.3, 1, 0, 3, 20, NULL },
        { "control, set 1 with the circumscribed cone", "scene.yaml", &unit, 0.43, 1, 1, 0, 3, 20, "circumscribed" },
    };
    if (!check_runs(v, runs, sizeof runs / sizeof *runs, "Bagnold flow in 3D"))
        return;
    check_order(v, (bagnold_run){ "set 1, refined", "scene.yaml", &unit, 0.43, 1, 1, validation_number(v, "refined_duration"), 3, 10, NULL });
}
