/* A ball that makes a crater, a rod that is dragged. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { BINS = 128, SECTORS = 4, DROPS = 3 };

/* ---- rims ---- */

enum { AZIMUTHS = 16, COLUMNS = 64, ALONG = 9 };

/* Bulk height of the columns around the nodes of the lattice, in cells. */
typedef struct columns {
    double height[COLUMNS][COLUMNS], cell, lower[2];
    int cells[2];
} columns;

static void fill_columns(const run *r, columns *c)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    const double *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
    *c = (columns){ .cell = def->cell_size };
    for (int a = 0; a < 2; a++) {
        c->lower[a] = def->lower[a];
        c->cells[a] = (int)lround((def->upper[a] - def->lower[a]) / c->cell);
        c->cells[a] = c->cells[a] < COLUMNS ? c->cells[a] : COLUMNS - 1;
    }
    for (int64_t k = 0; k < run_count(r); k++) {
        double at[2] = { (x[k] - c->lower[0]) / c->cell, (y[k] - c->lower[1]) / c->cell };
        int i = (int)floor(at[0]), j = (int)floor(at[1]);
        double v = volume[k] / (def->materials[0].volume_fraction * c->cell * c->cell * c->cell);
        for (int n = 0; n < 4; n++) {
            int p = i + (n & 1), q = j + (n >> 1);
            if (p < 0 || q < 0 || p > c->cells[0] || q > c->cells[1])
                continue;
            double side = (p == 0 || p == c->cells[0] ? 2 : 1) * (q == 0 || q == c->cells[1] ? 2 : 1); /* half a column at a wall */
            c->height[p][q] += side * v * (n & 1 ? at[0] - i : 1 - at[0] + i) * (n >> 1 ? at[1] - j : 1 - at[1] + j);
        }
    }
}

static double height_at(const columns *c, double x, double y)
{
    double at[2] = { (x - c->lower[0]) / c->cell, (y - c->lower[1]) / c->cell };
    int i = (int)floor(at[0]), j = (int)floor(at[1]);
    if (i < 0 || j < 0 || i >= c->cells[0] || j >= c->cells[1])
        return 0;
    double a = at[0] - i, b = at[1] - j;
    return (1 - b) * ((1 - a) * c->height[i][j] + a * c->height[i + 1][j]) + b * ((1 - a) * c->height[i][j + 1] + a * c->height[i + 1][j + 1]);
}

/* Level of the bed at the walls. */
static double level_of(const columns *c)
{
    double sum = 0, far = 0.7 * (c->lower[0] + c->cells[0] * c->cell);
    int n = 0;
    for (int i = 1; i < c->cells[0]; i++)
        for (int j = 1; j < c->cells[1]; j++)
            if (hypot(c->lower[0] + i * c->cell, c->lower[1] + j * c->cell) > far)
                sum += c->height[i][j], n++;
    return n ? sum / n : NAN;
}

/* Rims of `count` equal sectors from 0 to `all`; standard deviation over mean. */
static double spread_of_rims(const columns *c, double all, int count, double *rims, double *mean)
{
    double level = level_of(c) - 0.25, sum = 0, square = 0;
    for (int k = 0; k < count; k++) {
        double last = INFINITY, rim = NAN, step = 0.05 * c->cell;
        for (double r = c->cell; isnan(rim) && r < 0.8 * (c->lower[0] + c->cells[0] * c->cell); r += step) {
            double now = 0;
            for (int m = 0; m < ALONG; m++) {
                double angle = (k + (m + 0.5) / ALONG) * all / count;
                now += height_at(c, r * cos(angle), r * sin(angle)) / ALONG;
            }
            if (last < level && now >= level)
                rim = r - step * (now - level) / (now - last);
            last = now;
        }
        rims[k] = rim;
        sum += rim / count, square += rim * rim / count;
    }
    *mean = sum;
    return sqrt(fmax(square - sum * sum, 0)) / sum;
}

/* ---- craters of three falls ---- */

typedef struct crater {
    double depth, radius, unround, drop; /* drop: height of the fall plus the depth */
} crater;

/* Bulk heights over rings about the z axis, a cell wide, in the quarter x, y > 0. */
static void ring_profile(const run *r, double width, int bins, double *heights)
{
    const double *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
    double angle = acos(0.0), fraction = rp_sim_definition(r->sim)->materials[0].volume_fraction;
    memset(heights, 0, (size_t)bins * sizeof *heights);
    for (int64_t i = 0; i < run_count(r); i++) {
        double at = hypot(x[i], y[i]) / width - 0.5, low = floor(at), part = at - low;
        for (int k = 0; k < 2; k++) {
            int bin = (int)low + k;
            bin = bin < 0 ? 0 : bin;
            if (bin < bins)
                heights[bin] += (k ? part : 1 - part) * volume[i] / (fraction * 0.5 * angle * width * width * (2 * bin + 1));
        }
    }
}

static bool run_crater(validation *v, double fall, crater *c, double *x, double *heights, int *bins)
{
    double radius = 0.5 * validation_number(v, "diameter"), level = validation_number(v, "bed"), gap = 1e-3;
    double mass = validation_number(v, "ball_density") * 4.0 / 3 * acos(-1.0) * radius * radius * radius / 4; /* a quarter of the ball */
    settings s = { 0 };
    setting(&s, "bodies.0.position=[0, 0, %.17g]", level + radius + gap);
    setting(&s, "bodies.0.velocity=[0, 0, %.17g]", -sqrt(2 * 9.81 * fall));
    setting(&s, "bodies.0.mass=%.17g", mass);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    static columns all;
    double cell = rp_sim_definition(r.sim)->cell_size, rims[SECTORS];
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    rp_body_state ball;
    *c = (crater){ NAN, NAN, NAN, NAN };
    *bins = (int)lround(rp_sim_definition(r.sim)->upper[0] / cell);
    if (good && rp_sim_body(r.sim, 0, &ball) == RP_OK) {
        c->depth = level - (ball.position[2] - radius);
        c->drop = fall + gap + c->depth;
        fill_columns(&r, &all);
        c->unround = spread_of_rims(&all, acos(0.0), SECTORS, rims, &c->radius);
        ring_profile(&r, cell, *bins, heights);
        for (int k = 0; k < *bins; k++)
            x[k] = (k + 0.5) * cell, heights[k] -= level;
    }
    run_close(&r);
    return good;
}

void case_crater(validation *v)
{
    static double x[DROPS][BINS], heights[DROPS][BINS];
    static char names[DROPS][32];
    double drops[DROPS], depths[DROPS], radii[DROPS], falls[DROPS], slope, offset, worst = 0;
    rp_plot_line lines[DROPS];
    double mu = validation_number(v, "friction"), diameter = validation_number(v, "diameter");
    double ratio = validation_number(v, "ball_density") / validation_number(v, "bulk_density");
    for (int k = 0; k < DROPS; k++) {
        crater c;
        int bins = 0;
        falls[k] = validation_number(v, "least_fall") * pow(3, k);
        if (!run_crater(v, falls[k], &c, x[k], heights[k], &bins))
            return;
        drops[k] = log(c.drop), depths[k] = log(c.depth), radii[k] = log(c.radius);
        worst = fmax(worst, c.unround);
        double law = 0.14 / mu * sqrt(ratio) * pow(diameter * diameter * c.drop, 1.0 / 3);
        validation_check(v, CHECK_RELATIVE, "depth", law, c.depth, "fall of %g m: depth [m]", falls[k]);
        snprintf(names[k], sizeof names[k], "fall of %g m", falls[k]);
        lines[k] = (rp_plot_line){ .name = names[k], .x = x[k], .y = heights[k], .count = bins };
    }
    fit_line(drops, depths, DROPS, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 1.0 / 3, slope, "exponent of the depth over the drop");
    fit_line(drops, radii, DROPS, &slope, &offset, NULL);
    validation_check(v, CHECK_ABSOLUTE, "exponent", 0.25, slope, "exponent of the diameter over the drop");
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "unround"), worst, "largest spread of the rim over azimuths");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Craters", plot.x_label = "distance from the axis [m]", plot.y_label = "height above the bed [m]";
    plot.lines = lines, plot.line_count = DROPS;
    validation_plot(v, "profiles", "Craters of a ball dropped from three heights", &plot);
}

/* ---- the rim of the scene crater ---- */

static bool measure_rim(validation *v, const char *const *set, double all, int count, double *rims, double *mean, double *spread)
{
    static columns c;
    run r;
    if (!run_open(v, &r, "../../scenes/crater.yaml", set))
        return false;
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    if (good) {
        fill_columns(&r, &c);
        *spread = spread_of_rims(&c, all, count, rims, mean);
    }
    run_close(&r);
    return good;
}

void case_crater_rim(validation *v)
{
    enum { RUNS = 3 };
    const double turn = 4 * acos(0.0), degree = turn / 360;
    static const char *const names[RUNS] = { "exact law", "exact law, a quarter", "linearised law, a quarter" };
    double rims[RUNS][AZIMUTHS], angles[RUNS][AZIMUTHS], mean[RUNS], spread[RUNS];
    rp_plot_line lines[RUNS];
    /* A quarter of the ball on a vertical rail, between planes of symmetry; grains evenly laid, so that the laws alone differ. */
    const char *quarter[] = { "domain={lower: [0, 0, 0], upper: [0.2, 0.2, 0.24]}", "grains.0.shape={box: {lower: [0, 0, 0], upper: [0.2, 0.2, 0.12]}}",
                              "grains.0.sampling=regular", "bodies.0.mass=0.22054",
                              "bodies.0.joint={kind: slider, point: [0, 0, 0.1], axis: [0, 0, 1]}", "duration=0.2", "nonsmooth.yield=exact", NULL };
    for (int k = 0; k < RUNS; k++) {
        int count = k ? AZIMUTHS / 4 : AZIMUTHS;
        double all = k ? turn / 4 : turn;
        if (k == 2)
            quarter[6] = "nonsmooth.yield=linearised";
        if (!measure_rim(v, k ? quarter : NULL, all, count, rims[k], &mean[k], &spread[k]))
            return;
        for (int m = 0; m < count; m++)
            angles[k][m] = (m + 0.5) * all / count / degree, rims[k][m] *= 1e3;
        lines[k] = (rp_plot_line){ .name = names[k], .x = angles[k], .y = rims[k], .count = count };
    }
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "unround"), spread[0], "spread of the rim over azimuths");
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "unround"), spread[1], "a quarter, grains evenly laid: spread of the rim");
    validation_control(v, CHECK_RELATIVE, "radius", mean[1], mean[2], "a quarter, linearised law: radius of the rim [m]");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Rim of the crater", plot.x_label = "azimuth [degrees]", plot.y_label = "radius [mm]";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "rim", "Radius of the crater over the azimuth", &plot);
}

/* ---- slow drag ---- */

/* Mean force against the motion over the second half of the way (the half rod in the half domain, times two). */
static bool run_drag(validation *v, double diameter, double depth, double speed, double *force, double *ways, double *forces, int *count)
{
    double cell = validation_number(v, "cell"), way = validation_number(v, "way_cells") * cell, bed = validation_number(v, "bed"), sum = 0;
    int n = 0;
    settings s = { 0 };
    setting(&s, "duration=%.17g", way / speed);
    setting(&s, "frame_rate=%.17g", fmax(30 * speed / way, validation_number(v, "frame_rate")));
    setting(&s, "grains.shape={difference: [{box: {lower: [-1, -1, -1], upper: [1, 1, %.17g]}}, {cylinder: {from: [0.1, 0, %.17g], to: [0.1, 0, 1], "
                "radius: %.17g}}]}", bed, bed - depth, 0.5 * diameter);
    setting(&s, "bodies.0.shape={cylinder: {from: [0.1, 0, %.17g], to: [0.1, 0, 1], radius: %.17g}}", bed - depth, 0.5 * diameter);
    setting(&s, "bodies.0.motion=\"%.17g * t, 0, 0, 0, 0, 0\"", speed);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    *count = 0;
    while (!rp_sim_done(r.sim) && run_step(v, &r)) {
        rp_body_state rod;
        if (rp_sim_body(r.sim, 0, &rod) != RP_OK)
            break;
        double t = rp_sim_time(r.sim);
        if (*count < BINS)
            ways[*count] = speed * t / cell, forces[(*count)++] = -2 * rod.force[0];
        if (t > 0.5 * way / speed)
            sum -= 2 * rod.force[0], n++;
    }
    run_close(&r);
    *force = n ? sum / n : NAN;
    return !v->trouble[0];
}

void case_drag(validation *v)
{
    enum { RUNS = 4 };
    double cell = validation_number(v, "cell"), d = 3 * cell, deep = 10 * cell, fast = validation_number(v, "speed"), force[RUNS];
    const struct {
        const char *name;
        double diameter, depth, speed;
    } runs[RUNS] = { { "rod", d, deep, fast },
                     { "twice as wide", 2 * d, deep, fast },
                     { "0.6 as deep", d, 0.6 * deep, fast },
                     { "ten times slower", d, deep, 0.1 * fast } };
    static double ways[RUNS][BINS], forces[RUNS][BINS];
    rp_plot_line lines[RUNS];
    for (int k = 0; k < RUNS; k++) {
        int count = 0;
        if (!run_drag(v, runs[k].diameter, runs[k].depth, runs[k].speed, &force[k], ways[k], forces[k], &count))
            return;
        lines[k] = (rp_plot_line){ .name = runs[k].name, .x = ways[k], .y = forces[k], .count = count };
    }
    validation_check(v, CHECK_ABSOLUTE, "exponent", 1, log(force[1] / force[0]) / log(2), "exponent of the force over the width of the rod");
    validation_check(v, CHECK_ABSOLUTE, "exponent", 2, log(force[2] / force[0]) / log(0.6), "exponent of the force over the depth");
    validation_check(v, CHECK_ABSOLUTE, "speed", 1, force[3] / force[0], "force at a tenth of the speed over that at the speed");
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Drag on a rod", plot.x_label = "way [cells]", plot.y_label = "force [N]";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "force", "Force on a rod dragged slowly through a bed", &plot);
}
