/* The same collapse told differently: turned against the grid, seen from a moving frame, mirrored, in half steps, in other units. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { BINS = 160 };

typedef struct telling {
    const char *name;
    double turn;   /* of the floor against the grid [rad] */
    double drift, rise; /* of floor, wall and grains together, along x and y [m/s] */
    double sign;   /* -1: mirrored */
    double cfl;
    double length, time, density; /* units, in those of the first telling */
    double friction;
    const char *method;
} telling;

/* Front / L and the height of the centre of mass / L above the floor after t* = 6. */
static bool tell(validation *v, const telling *t, double *front, double *centre, double *x, double *heights, int *bins)
{
    double size = validation_number(v, "length") * t->length, cell = validation_number(v, "cell") * t->length;
    double g = 9.81 * t->length / (t->time * t->time), duration = 6 * sqrt(size / g), wide = 8 * size;
    double s[2] = { t->sign * cos(t->turn), sin(t->turn) }, n[2] = { -t->sign * sin(t->turn), cos(t->turn) };
    if (t->sign < 0)
        n[0] = sin(t->turn), n[1] = cos(t->turn);
    double corner[2] = { t->sign > 0 ? 2 * size : 6 * size, 2 * size };
    double middle[2] = { corner[0] + 0.5 * size * (s[0] + n[0]), corner[1] + 0.5 * size * (s[1] + n[1]) };
    settings set = { 0 };
    setting(&set, "domain=[%.17g, %.17g]", wide, wide);
    setting(&set, "cell_size=%.17g", cell);
    setting(&set, "duration=%.17g", duration);
    setting(&set, "frame_rate=%.17g", 50 / t->time);
    setting(&set, "cfl=%.17g", t->cfl);
    setting(&set, "gravity=[%.17g, %.17g]", -g * n[0], -g * n[1]);
    setting(&set, "method=%s", t->method);
    setting(&set, "material.bulk_density=%.17g", 1500 * t->density);
    setting(&set, "material.friction=%.17g", t->friction);
    setting(&set, "grains.shape={box: {size: [%.17g, %.17g, 2]}, rotation: [0, 0, %.17g], position: [%.17g, %.17g, 0]}", size, size, t->turn,
            middle[0], middle[1]);
    setting(&set, "grains.velocity=[%.17g, %.17g, 0]", t->drift, t->rise);
    setting(&set, "bodies.0={shape: {plane: {point: [%.17g, %.17g, 0], normal: [%.17g, %.17g, 0]}}, surface: stick, motion: \"%.17g * t, %.17g * t, 0\"}",
            corner[0], corner[1], n[0], n[1], t->drift, t->rise);
    setting(&set, "bodies.1={shape: {plane: {point: [%.17g, %.17g, 0], normal: [%.17g, %.17g, 0]}}, surface: slip, motion: \"%.17g * t, %.17g * t, 0\"}",
            corner[0], corner[1], s[0], s[1], t->drift, t->rise);
    run r;
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    bool good = run_until(v, &r, duration);
    const double *px = run_plane(&r, "position", 0), *py = run_plane(&r, "position", 1), *volume = run_plane(&r, "volume", 0);
    double fraction = rp_sim_definition(r.sim)->materials[0].volume_fraction, all = 0, moved = t->drift * rp_sim_time(r.sim),
           risen = t->rise * rp_sim_time(r.sim);
    *bins = (int)lround(4 * size / cell);
    *centre = 0;
    memset(heights, 0, (size_t)*bins * sizeof *heights);
    for (int64_t i = 0; i < run_count(&r); i++) {
        double dx = px[i] - moved - corner[0], dy = py[i] - risen - corner[1], along = dx * s[0] + dy * s[1], up = dx * n[0] + dy * n[1];
        double at = along / cell - 0.5, low = floor(at), part = at - low;
        for (int k = 0; k < 2; k++) {
            int bin = (int)low + k;
            bin = bin < 0 ? 0 : bin;
            if (bin < *bins)
                heights[bin] += (k ? part : 1 - part) * volume[i] / (fraction * cell);
        }
        *centre += volume[i] * up / size, all += volume[i];
    }
    *centre /= all;
    *front = front_of(heights, *bins, cell, validation_number(v, "front_cells") * cell) / size;
    for (int k = 0; k < *bins; k++)
        x[k] = (k + 0.5) * cell / size, heights[k] /= size;
    run_close(&r);
    return good;
}

static const double degree = 0.017453292519943295;

void case_metamorphic(validation *v)
{
    const telling tellings[] = {
        { "as it is", 0, 0, 0, 1, 1, 1, 1, 1, 0.5, "nonsmooth" },
        { "other units", 0, 0, 0, 1, 1, 4, 2, 2, 0.5, "nonsmooth" },
        { "mirrored", 0, 0, 0, -1, 1, 1, 1, 1, 0.5, "nonsmooth" },
        { "half the step", 0, 0, 0, 1, 0.5, 1, 1, 1, 0.5, "nonsmooth" },
        { "moving frame", 0, 0.3, 0, 1, 1, 1, 1, 1, 0.5, "nonsmooth" },
        { "turned by 20°", 20 * degree, 0, 0, 1, 1, 1, 1, 1, 0.5, "nonsmooth" },
        { "turned by 45°", 45 * degree, 0, 0, 1, 1, 1, 1, 1, 0.5, "nonsmooth" },
    };
    enum { TELLINGS = sizeof tellings / sizeof *tellings };
    static double x[TELLINGS][BINS], heights[TELLINGS][BINS];
    rp_plot_line lines[TELLINGS];
    double first = NAN, level = NAN;
    for (int k = 0; k < TELLINGS; k++) {
        double front, centre;
        int bins = 0;
        if (!tell(v, &tellings[k], &front, &centre, x[k], heights[k], &bins))
            return;
        lines[k] = (rp_plot_line){ .name = tellings[k].name, .x = x[k], .y = heights[k], .count = bins };
        if (k == 0) {
            first = front, level = centre;
            continue;
        }
        const char *tolerance = k == 1 ? "units" : "front";
        validation_check(v, CHECK_RELATIVE, tolerance, first, front, "%s: front / L", tellings[k].name);
        validation_check(v, CHECK_RELATIVE, tolerance, level, centre, "%s: height of the centre of mass / L", tellings[k].name);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "One collapse, told in seven ways", plot.x_label = "x / L", plot.y_label = "h / L";
    plot.lines = lines, plot.line_count = TELLINGS;
    validation_plot(v, "profiles", "Heaps of the same collapse", &plot);
}

/* Tells the collapse in several ways under both methods, each against its first telling; the last one, with more friction, must differ. */
static void tell_all(validation *v, const telling *tellings, int count)
{
    static const char *const methods[] = { "nonsmooth", "elastoplastic" };
    static double x[BINS], heights[BINS];
    double mu = validation_number(v, "friction");
    for (int m = 0; m < 2; m++) {
        double first = NAN, level = NAN;
        for (int k = 0; k <= count; k++) {
            double front, centre;
            int bins = 0;
            telling t = k < count ? tellings[k] : tellings[0];
            t.method = methods[m], t.friction = k < count ? mu : 1.3 * mu;
            if (!tell(v, &t, &front, &centre, x, heights, &bins))
                return;
            if (k == 0)
                first = front, level = centre;
            else if (k < count) {
                validation_check(v, CHECK_RELATIVE, "front", first, front, "%s, %s: front / L", t.method, t.name);
                validation_check(v, CHECK_RELATIVE, "centre", level, centre, "%s, %s: height of the centre of mass / L", t.method, t.name);
            } else {
                validation_control(v, CHECK_RELATIVE, "front", first, front, "control, %s, 1.3 \xce\xbc: front / L", t.method);
                validation_control(v, CHECK_RELATIVE, "centre", level, centre, "control, %s, 1.3 \xce\xbc: height of the centre of mass / L", t.method);
            }
        }
    }
}

void case_collapse_turned(validation *v)
{
    const telling tellings[] = {
        { .name = "as it is", .turn = 0, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "turned by 10°", .turn = 10 * degree, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "turned by 17°", .turn = 17 * degree, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "turned by 30°", .turn = 30 * degree, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "turned by 45°", .turn = 45 * degree, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
    };
    tell_all(v, tellings, sizeof tellings / sizeof *tellings);
}

void case_galilean(validation *v)
{
    const telling tellings[] = {
        { .name = "as it is", .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "rising by 20 mm/s", .rise = 0.02, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "rising by 0.3 m/s", .rise = 0.3, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "rising and sliding", .drift = 0.17, .rise = 0.23, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
        { .name = "sinking by 0.2 m/s", .rise = -0.2, .sign = 1, .cfl = 1, .length = 1, .time = 1, .density = 1 },
    };
    tell_all(v, tellings, sizeof tellings / sizeof *tellings);
}
