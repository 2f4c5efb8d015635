/* The same collapse told differently: turned against the grid, seen from a moving frame, mirrored, in half steps, in other units. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { BINS = 160 };

typedef struct telling {
    const char *name;
    double turn;   /* of the floor against the grid [rad] */
    double drift;  /* of floor, wall and grains together [m/s] */
    double sign;   /* -1: mirrored */
    double cfl;
    double length, time, density; /* units, in those of the first telling */
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
    setting(&set, "material.bulk_density=%.17g", 1500 * t->density);
    setting(&set, "grains.shape={box: {size: [%.17g, %.17g, 2]}, rotation: [0, 0, %.17g], position: [%.17g, %.17g, 0]}", size, size, t->turn,
            middle[0], middle[1]);
    setting(&set, "grains.velocity=[%.17g, 0, 0]", t->drift);
    setting(&set, "bodies.0={shape: {plane: {point: [%.17g, %.17g, 0], normal: [%.17g, %.17g, 0]}}, surface: stick, motion: \"%.17g * t, 0, 0\"}",
            corner[0], corner[1], n[0], n[1], t->drift);
    setting(&set, "bodies.1={shape: {plane: {point: [%.17g, %.17g, 0], normal: [%.17g, %.17g, 0]}}, surface: slip, motion: \"%.17g * t, 0, 0\"}",
            corner[0], corner[1], s[0], s[1], t->drift);
    run r;
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    bool good = run_until(v, &r, duration);
    const double *px = run_plane(&r, "position", 0), *py = run_plane(&r, "position", 1), *volume = run_plane(&r, "volume", 0);
    double fraction = rp_sim_definition(r.sim)->materials[0].volume_fraction, all = 0, moved = t->drift * rp_sim_time(r.sim);
    *bins = (int)lround(4 * size / cell);
    *centre = 0;
    memset(heights, 0, (size_t)*bins * sizeof *heights);
    for (int64_t i = 0; i < run_count(&r); i++) {
        double dx = px[i] - moved - corner[0], dy = py[i] - corner[1], along = dx * s[0] + dy * s[1], up = dx * n[0] + dy * n[1];
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

void case_metamorphic(validation *v)
{
    const double degree = acos(-1.0) / 180;
    const telling tellings[] = {
        { "as it is", 0, 0, 1, 1, 1, 1, 1 },
        { "other units", 0, 0, 1, 1, 4, 2, 2 },
        { "mirrored", 0, 0, -1, 1, 1, 1, 1 },
        { "half the step", 0, 0, 1, 0.5, 1, 1, 1 },
        { "moving frame", 0, 0.3, 1, 1, 1, 1, 1 },
        { "turned by 20°", 20 * degree, 0, 1, 1, 1, 1, 1 },
        { "turned by 45°", 45 * degree, 0, 1, 1, 1, 1, 1 },
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
