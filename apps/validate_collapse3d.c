/* Collapses in three dimensions: round columns against the published laws and under the linearised law, gravel and beads in a channel. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { BINS = 256, SECTORS = 4, RATIOS = 4 };

/* Heights over rings about the z axis in one of equal sectors of the quarter x, y > 0. */
static void ring_heights(const run *r, double fraction, double width, int bins, int sector, int sectors, double *heights)
{
    const double *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
    double quarter = acos(0.0), angle = quarter / sectors;
    memset(heights, 0, (size_t)bins * sizeof *heights);
    for (int64_t i = 0; i < run_count(r); i++) {
        double radius = hypot(x[i], y[i]), at = radius / width - 0.5, low = floor(at), part = at - low;
        int mine = (int)(sectors * atan2(y[i], x[i]) / quarter);
        if ((mine < sectors ? mine : sectors - 1) != sector)
            continue;
        for (int k = 0; k < 2; k++) { /* shared between two rings */
            int bin = (int)low + k;
            bin = bin < 0 ? 0 : bin;
            double area = 0.5 * angle * width * width * (2 * bin + 1);
            if (bin < bins)
                heights[bin] += (k ? part : 1 - part) * volume[i] / (fraction * area);
        }
    }
}

/* The height on the axis, by a line through the innermost rings (their mean is lower by what the heap slopes over them). */
static double summit(const double *heights, double width)
{
    enum { RINGS = 4 };
    double r[RINGS], slope, offset;
    for (int k = 0; k < RINGS; k++)
        r[k] = (k + 0.5) * width;
    fit_line(r, heights, RINGS, &slope, &offset, NULL);
    return offset;
}

typedef struct round_column {
    double front, top, unround; /* run-out / R, final height / R, spread of the front over the sectors */
} round_column;

/* Friction of a cone about the angle: inscribed 3 sin / sqrt(9 + 3 sin²), circumscribed 2 √3 sin / (3 - sin). */
static double cone_of(double degrees, bool circumscribed)
{
    double s = sin(degrees * acos(-1.0) / 180);
    return circumscribed ? 2 * sqrt(3) * s / (3 - s) : 3 * s / sqrt(9 + 3 * s * s);
}

static bool run_round(validation *v, double ratio, bool circumscribed, round_column *out, double *x, double *heights, int *bins)
{
    double radius = validation_number(v, "radius"), height = ratio * radius, mu = cone_of(validation_number(v, "friction_angle"), circumscribed);
    double reach = radius * (1 + 1.35 * (ratio < 1.7 ? 1.24 * ratio : 1.6 * sqrt(ratio)) + 0.4), cell = validation_number(v, "cell");
    double wide = cell * ceil(reach / cell), tall = cell * (ceil(height / cell) + 2), sector[BINS], mean = 0, square = 0;
    settings s = { 0 };
    setting(&s, "domain=[%.17g, %.17g, %.17g]", wide, wide, tall);
    setting(&s, "cell_size=%.17g", cell);
    setting(&s, "duration=%.17g", 6 * sqrt(height / 9.81));
    setting(&s, "grains.shape={cylinder: {from: [0, 0, -1], to: [0, 0, %.17g], radius: %.17g}}", height, radius);
    setting(&s, "material.friction=%.17g", mu);
    setting(&s, "material.friction_dynamic=%.17g", mu + validation_number(v, "rate_gain"));
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    double fraction = rp_sim_definition(r.sim)->materials[0].volume_fraction, least = validation_number(v, "front_cells") * cell;
    *bins = (int)lround(wide / cell);
    ring_heights(&r, fraction, cell, *bins, 0, 1, heights);
    out->front = front_of(heights, *bins, cell, least) / radius - 1;
    out->top = summit(heights, cell) / radius;
    for (int k = 0; k < SECTORS; k++) {
        ring_heights(&r, fraction, cell, *bins, k, SECTORS, sector);
        double front = front_of(sector, *bins, cell, least);
        mean += front / SECTORS, square += front * front / SECTORS;
    }
    out->unround = sqrt(fmax(square - mean * mean, 0)) / mean;
    for (int k = 0; k < *bins; k++)
        x[k] = (k + 0.5) * cell / radius, heights[k] /= radius;
    run_close(&r);
    return good;
}

void case_collapse_axisymmetric(validation *v)
{
    static const double ratios[RATIOS] = { 0.5, 1, 2, 4 };
    static double x[RATIOS][BINS], heights[RATIOS][BINS];
    static char names[RATIOS][32];
    double logs[RATIOS], outs[RATIOS], ours[RATIOS], law[RATIOS], slope, offset;
    rp_plot_line lines[RATIOS];
    round_column c;
    for (int k = 0; k < RATIOS; k++) {
        int bins = 0;
        if (!run_round(v, ratios[k], false, &c, x[k], heights[k], &bins))
            return;
        law[k] = ratios[k] < 1.7 ? 1.24 * ratios[k] : 1.6 * sqrt(ratios[k]);
        ours[k] = c.front, logs[k] = log(ratios[k]), outs[k] = log(c.front);
        validation_check(v, CHECK_RELATIVE, "runout", law[k], c.front, "H/R = %g: run-out / R", ratios[k]);
        validation_check(v, CHECK_RELATIVE, "height", fmin(ratios[k], 0.74), c.top, "H/R = %g: final height / R", ratios[k]);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "unround"), c.unround, "H/R = %g: spread of the front over azimuths", ratios[k]);
        snprintf(names[k], sizeof names[k], "H/R = %g", ratios[k]);
        lines[k] = (rp_plot_line){ .name = names[k], .x = x[k], .y = heights[k], .count = bins };
    }
    fit_line(logs, outs, 2, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 1, slope, "exponent of the run-out, H/R from 0.5 to 1");
    fit_line(logs + 2, outs + 2, 2, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 0.5, slope, "exponent of the run-out, H/R from 2 to 4");
    static double xc[BINS], hc[BINS];
    int bins = 0;
    if (run_round(v, 1, true, &c, xc, hc, &bins))
        validation_control(v, CHECK_RELATIVE, "runout", law[1], c.front, "control, circumscribed cone: run-out / R of H/R = 1");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Round columns, at rest", plot.x_label = "r / R", plot.y_label = "h / R";
    plot.lines = lines, plot.line_count = RATIOS;
    validation_plot(v, "profiles", "Heaps left by round columns", &plot);
    rp_plot_line laws[] = { { .name = "ours", .x = ratios, .y = ours, .count = RATIOS, .points = true },
                            { .name = "Lube et al. 2004", .x = ratios, .y = law, .count = RATIOS } };
    plot = rp_default_plot_def();
    plot.title = "Run-out of round columns", plot.x_label = "H / R", plot.y_label = "run-out / R";
    plot.log_x = plot.log_y = true;
    plot.lines = laws, plot.line_count = 2;
    validation_plot(v, "runout", "Run-out against the aspect ratio", &plot);
}

/* ---- the linearised law leaves its mark on the rim ---- */

enum { RIM = 24 };

/* Where a profile rises above `least`, from outside (near the axis a narrow sector may hold no particle). */
static double outer_front(const double *heights, int bins, double width, double least)
{
    int i = bins - 2;
    while (i >= 0 && heights[i] <= least)
        i--;
    return i < 0 ? 0 : width * (i + 0.5 + (heights[i] - least) / (heights[i] - heights[i + 1]));
}

/* The rim (the mean of where the heap is a quarter, a half and one cell high) over azimuths of the quarter, and the amplitude of its fourth
 * Fourier mode over its mean; that
 * mode and its mean are the same in all quarters. */
static bool run_rim(validation *v, const char *yield, double *azimuth, double *rim, double *amplitude)
{
    settings s = { 0 };
    setting(&s, "nonsmooth.yield=%s", yield);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    bool good = run_until(v, &r, def->duration);
    double heights[BINS], mean = 0, along = 0, across = 0;
    int bins = (int)lround(def->upper[0] / def->cell_size);
    for (int k = 0; k < RIM; k++) {
        double angle = (k + 0.5) / RIM * acos(0.0);
        ring_heights(&r, def->materials[0].volume_fraction, def->cell_size, bins, k, RIM, heights);
        rim[k] = 0;
        for (double part = 0.25; part <= 1; part *= 2)
            rim[k] += outer_front(heights, bins, def->cell_size, part * def->cell_size) / 3;
        azimuth[k] = angle * 180 / acos(-1.0);
        mean += rim[k] / RIM, along += 2 * rim[k] * cos(4 * angle) / RIM, across += 2 * rim[k] * sin(4 * angle) / RIM;
    }
    *amplitude = hypot(along, across) / mean;
    run_close(&r);
    return good;
}

void case_linearised(validation *v)
{
    static const char *const laws[] = { "exact", "linearised" };
    static double azimuth[2][RIM], rim[2][RIM];
    double amplitude[2];
    rp_plot_line lines[2];
    for (int k = 0; k < 2; k++) {
        if (!run_rim(v, laws[k], azimuth[k], rim[k], &amplitude[k]))
            return;
        lines[k] = (rp_plot_line){ .name = laws[k], .x = azimuth[k], .y = rim[k], .count = RIM };
    }
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "round"), amplitude[0], "exact law: fourth mode of the rim over its mean");
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "ratio"), amplitude[1] / amplitude[0],
                     "linearised law (%.4f) over the exact one", amplitude[1]);
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Rim of the heap", plot.x_label = "azimuth [degrees]", plot.y_label = "radius [m]";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "rim", "Rim of a heap under the exact and the linearised law, over a quarter", &plot);
}

/* ---- gravel and beads in a channel with a gate that is drawn up ---- */

typedef struct channel {
    double slope, height, length, bulk, mu, wall, tau, lift, window, bound;
} channel;

/* Columns of collapse-gravel/runs.csv, see its head. */
static channel channel_of(const table *t, int row)
{
    return (channel){ .bulk = table_at(t, row, 3), .slope = table_at(t, row, 4), .height = table_at(t, row, 5), .length = table_at(t, row, 7),
                      .window = table_at(t, row, 11), .bound = table_at(t, row, 13), .mu = table_at(t, row, 14), .wall = table_at(t, row, 15),
                      .tau = table_at(t, row, 16), .lift = table_at(t, row, 17) };
}

/* Front past the gate / H, and the mean speed at the end / sqrt(g H) of the mass of the column; heights are above the bed. */
static bool run_channel(validation *v, const channel *c, double *front, double *speed, double *x, double *heights, int *bins)
{
    double cell = validation_number(v, "cell"), half = validation_number(v, "half_width"), bed = validation_number(v, "bed");
    double left = -cell * round(c->length / cell), right = cell * ceil(1.5 * c->bound * c->height / cell);
    settings s = { 0 };
    setting(&s, "domain={lower: [%.17g, 0, 0], upper: [%.17g, %.17g, %.17g]}", left, right, half, cell * (ceil((bed + c->height) / cell) + 2));
    setting(&s, "cell_size=%.17g", cell);
    setting(&s, "duration=%.17g", c->window);
    setting(&s, "gravity={magnitude: 9.81, tilt: %.17g deg}", c->slope);
    setting(&s, "material={bulk_density: %.17g, friction: %.17g}", c->bulk, c->mu);
    setting(&s, "walls={all: slip, back: %.17g, bottom: %.17g}", c->wall, c->mu);
    setting(&s, "grains.shape={union: [{box: {lower: [%.17g, -1, -1], upper: [0, 1, %.17g]}}, {box: {lower: [-9, -1, -1], upper: [9, 1, %.17g]}}]}", left,
            bed + c->height, bed);
    setting(&s, "bodies.0.shape={box: {lower: [0, -1, %.17g], upper: [0.02, 1, 0.5]}}", bed);
    setting(&s, "bodies.0.motion=\"0, 0, %.17g * (t - %.17g * (1 - math.exp(-t / %.17g))), 0, 0, 0\"", c->lift, c->tau, c->tau);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    bool good = run_until(v, &r, c->window);
    *bins = (int)lround((right - left) / cell);
    *bins = *bins > BINS ? BINS : *bins;
    run_heights(&r, rp_sim_definition(r.sim)->materials[0].volume_fraction, left, right, heights, *bins);
    for (int k = 0; k < *bins; k++)
        x[k] = (left + (k + 0.5) * cell) / c->height, heights[k] = (heights[k] / half - bed) / c->height;
    *front = (left + front_of(heights, *bins, cell, validation_number(v, "front_height") / c->height)) / c->height;
    const double *m = run_plane(&r, "mass", 0);
    double sum = 0;
    for (int64_t i = 0; i < run_count(&r); i++) {
        double square = 0;
        for (int a = 0; a < 3; a++)
            square += run_plane(&r, "velocity", a)[i] * run_plane(&r, "velocity", a)[i];
        sum += m[i] * sqrt(square);
    }
    double mass = c->bulk * c->height * -left * half;
    *speed = sum / mass / sqrt(9.81 * c->height);
    run_close(&r);
    return good;
}

void case_collapse_gravel(validation *v)
{
    enum { RUNS = 9, GRAVEL = 4 };
    static const char *const names[RUNS] = { "gravel 0°", "gravel 5°", "gravel 10°", "gravel 15°", "beads 0°",
                                             "beads 5°",  "beads 10°", "beads 15°",  "beads 20°" };
    static double x[RUNS][BINS], heights[RUNS][BINS];
    double fronts[RUNS], inverse[RUNS], slope, offset, r2;
    rp_plot_line lines[RUNS];
    table t;
    if (!table_read(v, "runs.csv", &t))
        return;
    if (t.rows != RUNS)
        validation_trouble(v, "runs.csv has %d rows, not %d", t.rows, RUNS);
    for (int k = 0; k < RUNS && !v->trouble[0]; k++) {
        channel c = channel_of(&t, k);
        double speed = NAN;
        int bins = 0;
        if (!run_channel(v, &c, &fronts[k], &speed, x[k], heights[k], &bins))
            break;
        inverse[k] = 1 / (c.mu - tan(c.slope * acos(-1.0) / 180));
        validation_check(v, CHECK_BELOW, NULL, c.bound, fronts[k], "%s: front / H within the window of the camera", names[k]);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "rest"), speed, "%s: mean speed at its end, in \xe2\x88\x9a(gH)", names[k]);
        lines[k] = (rp_plot_line){ .name = names[k], .x = x[k], .y = heights[k], .count = bins };
    }
    table_free(&t);
    if (v->trouble[0])
        return;
    fit_line(inverse, fronts, GRAVEL, &slope, &offset, &r2);
    validation_check(v, CHECK_ABOVE, NULL, 0, slope, "gravel: growth of front / H with 1 / (\xce\xbc - tan \xce\xb8)");
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_r_squared"), r2, "gravel: R² of a line through it");
    fit_line(inverse + GRAVEL, fronts + GRAVEL, RUNS - GRAVEL, &slope, &offset, &r2);
    validation_check(v, CHECK_ABOVE, NULL, 0, slope, "beads: growth of front / H with 1 / (\xce\xbc - tan \xce\xb8)");
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_r_squared"), r2, "beads: R² of a line through it");
    rp_plot_def plot = rp_default_plot_def();
    plot.x_label = "x / H from the gate", plot.y_label = "h / H";
    plot.title = "Gravel in a channel, at the end", plot.lines = lines, plot.line_count = GRAVEL;
    validation_plot(v, "gravel", "Heaps of gravel in the channel at the end of the window", &plot);
    plot.title = "Beads in a channel, at the end", plot.lines = lines + GRAVEL, plot.line_count = RUNS - GRAVEL;
    validation_plot(v, "beads", "Heaps of beads in the channel at the end of the window", &plot);
}
