/* Slopes: rest, acceleration, stopping, blocks on planes at any angle to the grid. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81;

typedef struct slope_run {
    const char *name, *scene, *method; /* "aflip": elastoplastic with that transfer */
    double friction_factor; /* 1, or what a negative control multiplies friction with */
    double duration;
    const char *sampling;   /* NULL: as in the scene */
    bool circumscribed;     /* a negative control: the cone about the angle whose inscribed cone has the friction given */
} slope_run;

static bool open_slope(validation *v, run *r, const slope_run *s, double friction, double tangent, double speed)
{
    char tilt[64], mu[128], method[64], duration[64], velocity[64], sampling[64], per_cell[64];
    bool dim3 = strstr(s->scene, "3d") != NULL; /* particles on a lattice of 2 in each direction of a cell */
    snprintf(tilt, sizeof tilt, "gravity.tilt=%.17g", atan(tangent));
    if (s->circumscribed)
        snprintf(mu, sizeof mu, "material={bulk_density: 1500, friction_angle: %.17g, match: circumscribed}",
                 asin(friction / sqrt(1 - friction * friction / 3)));
    else
        snprintf(mu, sizeof mu, "material.friction=%.17g", friction * s->friction_factor);
    bool aflip = strcmp(s->method, "aflip") == 0;
    snprintf(method, sizeof method, "method=%s", aflip ? "elastoplastic" : s->method);
    snprintf(duration, sizeof duration, "duration=%.17g", s->duration);
    snprintf(velocity, sizeof velocity, "grains.velocity=[%.17g, 0, 0]", speed);
    snprintf(sampling, sizeof sampling, "grains.sampling=%s", s->sampling ? s->sampling : "regular");
    snprintf(per_cell, sizeof per_cell, "grains.per_cell=%d", s->sampling ? 8 : dim3 ? 8 : 4);
    const char *set[] = { tilt, mu, method, duration, velocity, sampling, per_cell, aflip ? "elastoplastic.transfer=aflip" : NULL,
                          "elastoplastic.flip=0.99", NULL };
    return run_open(v, r, s->scene, set);
}

void case_incline_rest(validation *v)
{
    static const slope_run runs[] = {
        { "2D", "scene.yaml", "nonsmooth", 1, 10, NULL, false },
        { "2D, default sampling", "scene.yaml", "nonsmooth", 1, 10, "jittered", false },
        { "3D", "scene-3d.yaml", "nonsmooth", 1, 10, NULL, false },
        { "2D elastoplastic", "scene.yaml", "elastoplastic", 1, 3, NULL, false },
    };
    double mu = validation_number(v, "friction"), part = validation_number(v, "part");
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        run r;
        if (!open_slope(v, &r, &runs[k], mu, part * mu, 0))
            return;
        double h = rp_sim_definition(r.sim)->cell_size;
        if (run_until(v, &r, 0.5 * runs[k].duration)) {
            double moved = 0;
            while (!rp_sim_done(r.sim) && run_step(v, &r))
                moved += run_mean(&r, "velocity", 0) * r.stats.dt; /* positions wrap around, velocities do not */
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"),
                             fabs(moved) / (0.5 * runs[k].duration) * 10 / h, "%s, tan \xce\xb8 = %.2f \xce\xbc: creep in 10 s, in cells",
                             runs[k].name, part);
        }
        run_close(&r);
    }
    double bound = mu / sqrt(1 - mu * mu);
    for (int k = 0; k < 2; k++) {
        slope_run above = { "", "scene.yaml", k ? "elastoplastic" : "nonsmooth", 1, 1, NULL, false };
        run r;
        if (!open_slope(v, &r, &above, mu, 1.1 * bound, 0))
            return;
        run_until(v, &r, 1);
        validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_speed"), run_mean(&r, "velocity", 0),
                         "2D %s, 10 %% above the static bound: speed after 1 s [m/s]", above.method);
        run_close(&r);
    }
}

void case_incline_flow(validation *v)
{
    static const slope_run runs[] = {
        { "2D", "scene.yaml", "nonsmooth", 1, 1, NULL, false },
        { "2D, default sampling", "scene.yaml", "nonsmooth", 1, 1, "jittered", false },
        { "3D", "scene-3d.yaml", "nonsmooth", 1, 1, NULL, false },
        { "2D elastoplastic", "scene.yaml", "elastoplastic", 1, 1, NULL, false },
        { "2D elastoplastic, aflip", "scene.yaml", "aflip", 1, 1, NULL, false },
        { "control, 2D with 1.3 \xce\xbc", "scene.yaml", "nonsmooth", 1.3, 1, NULL, false },
        { "control, 2D elastoplastic with 1.3 \xce\xbc", "scene.yaml", "elastoplastic", 1.3, 1, NULL, false },
        { "control, 3D with the circumscribed cone", "scene-3d.yaml", "nonsmooth", 1, 1, NULL, true },
    };
    enum { RUNS = sizeof runs / sizeof *runs, MOST = 8192 };
    double mu = validation_number(v, "friction"), tangent = validation_number(v, "tangent");
    double theta = atan(tangent), exact = gravity * (sin(theta) - mu * cos(theta));
    static double times[RUNS][MOST], speeds[RUNS][MOST];
    rp_plot_line lines[RUNS + 1];
    double tx[2] = { 0, 1 }, ty[2] = { 0, exact };
    lines[0] = (rp_plot_line){ .name = "g (sin \xce\xb8 - \xce\xbc cos \xce\xb8) t", .x = tx, .y = ty, .count = 2 };
    for (int k = 0; k < RUNS; k++) {
        run r;
        if (!open_slope(v, &r, &runs[k], mu, tangent, validation_number(v, "start_speed")))
            return;
        int n = 0, first = -1;
        double normal = 0, shear = 0, force[3], offset, slope, start = validation_number(v, "start_speed");
        int up = rp_sim_definition(r.sim)->dim - 1;
        while (!rp_sim_done(r.sim) && run_step(v, &r) && n < MOST) {
            times[k][n] = rp_sim_time(r.sim);
            speeds[k][n] = run_mean(&r, "velocity", 0) - start;
            if (times[k][n] > 0.3) {
                first = first < 0 ? n : first;
                rp_sim_wall_force(r.sim, 2 * up, force);
                normal -= force[up] * r.stats.dt, shear += force[0] * r.stats.dt;
            }
            n++;
        }
        if (first < 0 || n - first < 3) {
            validation_trouble(v, "%s: too few steps", runs[k].name);
            return;
        }
        fit_line(times[k] + first, speeds[k] + first, n - first, &slope, &offset, NULL);
        if (runs[k].friction_factor != 1 || runs[k].circumscribed) {
            validation_control(v, CHECK_RELATIVE, "acceleration", exact, slope, "%s: acceleration [m/s²]", runs[k].name);
        } else {
            validation_check(v, CHECK_RELATIVE, "acceleration", exact, slope, "%s: acceleration [m/s²]", runs[k].name);
            validation_check(v, CHECK_RELATIVE, "ratio", mu, shear / normal, "%s: shear over normal force on the floor", runs[k].name);
        }
        lines[k + 1] = (rp_plot_line){ .name = runs[k].name, .x = times[k], .y = speeds[k], .count = n };
        run_close(&r);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Layer on a slope, constant friction", plot.x_label = "t [s]", plot.y_label = "gain of mean speed [m/s]";
    plot.lines = lines, plot.line_count = RUNS + 1;
    validation_plot(v, "speed", "A layer that accelerates down a slope", &plot);
}

void case_stopping(validation *v)
{
    static const slope_run runs[] = {
        { "2D", "scene.yaml", "nonsmooth", 1, 1, NULL, false },
        { "2D, default sampling", "scene.yaml", "nonsmooth", 1, 1, "jittered", false },
        { "2D elastoplastic", "scene.yaml", "elastoplastic", 1, 1, NULL, false },
        { "control, 2D with 1.3 \xce\xbc", "scene.yaml", "nonsmooth", 1.3, 1, NULL, false },
    };
    enum { RUNS = sizeof runs / sizeof *runs, MOST = 8192 };
    double mu = validation_number(v, "friction"), tangent = validation_number(v, "tangent");
    double u0 = validation_number(v, "start_speed"), theta = atan(tangent);
    double exact = u0 / (gravity * (mu * cos(theta) - sin(theta)));
    static double times[RUNS][MOST], speeds[RUNS][MOST];
    rp_plot_line lines[RUNS + 1];
    double tx[3] = { 0, exact, 2 * exact }, ty[3] = { u0, 0, 0 };
    lines[0] = (rp_plot_line){ .name = "exact", .x = tx, .y = ty, .count = 3 };
    for (int k = 0; k < RUNS; k++) {
        run r;
        slope_run s = runs[k];
        s.duration = 2 * exact;
        if (!open_slope(v, &r, &s, mu, tangent, u0))
            return;
        int n = 0, fitted = 0;
        double stood = NAN;
        static double ft[MOST], fs[MOST];
        while (!rp_sim_done(r.sim) && run_step(v, &r) && n < MOST) {
            times[k][n] = rp_sim_time(r.sim);
            speeds[k][n] = run_mean(&r, "velocity", 0);
            if (!(stood > 0) && speeds[k][n] < 0.01 * u0)
                stood = times[k][n];
            if (speeds[k][n] < 0.9 * u0 && speeds[k][n] > 0.5 * u0) /* later the lowest cells may stand */
                ft[fitted] = times[k][n], fs[fitted++] = speeds[k][n];
            n++;
        }
        double slope = NAN, offset = NAN;
        if (fitted > 2)
            fit_line(ft, fs, fitted, &slope, &offset, NULL);
        if (s.friction_factor != 1) {
            validation_control(v, CHECK_RELATIVE, "time", exact, -u0 / slope, "%s: the same [s]", s.name);
        } else {
            validation_check(v, CHECK_RELATIVE, "time", exact, -u0 / slope, "%s: first speed over the deceleration while all of it moves [s]", s.name);
            validation_check(v, CHECK_RELATIVE, "time", exact, stood, "%s: time until 1 %% of the speed is left [s]", s.name);
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "rest"), fabs(speeds[k][n ? n - 1 : 0]) / u0,
                             "%s: speed left at twice that time, in start speeds", s.name);
        }
        lines[k + 1] = (rp_plot_line){ .name = s.name, .x = times[k], .y = speeds[k], .count = n };
        run_close(&r);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Layer that stops on a slope", plot.x_label = "t [s]", plot.y_label = "mean speed [m/s]";
    plot.lines = lines, plot.line_count = RUNS + 1;
    validation_plot(v, "speed", "A moving layer stops on a slope below its angle", &plot);
}

/* ---- a block on a plane at an angle to the grid ---- */

/* Speed down the plane and the displacement after the run. */
static bool slide_block(validation *v, const char *method, double alpha, double theta, double friction, double duration,
                        double *acceleration, double *moved)
{
    double s[2] = { cos(alpha), sin(alpha) }, n[2] = { -sin(alpha), cos(alpha) }, at[2] = { 0.8, 0.8 };
    char g[128], plane[256], block[256], name[64], time[64];
    snprintf(g, sizeof g, "gravity=[%.17g, %.17g]", gravity * (sin(theta) * s[0] - cos(theta) * n[0]),
             gravity * (sin(theta) * s[1] - cos(theta) * n[1]));
    snprintf(plane, sizeof plane, "bodies.0={shape: {plane: {point: [%.17g, %.17g, 0], normal: [%.17g, %.17g, 0]}}, surface: %.17g}",
             at[0], at[1], n[0], n[1], friction);
    snprintf(block, sizeof block, "grains.shape={box: {lower: [-0.2, 0, -1], upper: [0.2, 0.2, 1]}, rotation: [0, 0, %.17g], "
             "position: [%.17g, %.17g, 0]}", alpha, at[0], at[1]);
    snprintf(name, sizeof name, "method=%s", method);
    snprintf(time, sizeof time, "duration=%.17g", duration);
    const char *set[] = { g, plane, block, name, time, NULL };
    run r;
    if (!run_open(v, &r, "scene.yaml", set))
        return false;
    double start[2] = { run_mean(&r, "position", 0), run_mean(&r, "position", 1) }, offset;
    enum { MOST = 8192 };
    static double times[MOST], speeds[MOST];
    int count = 0;
    while (!rp_sim_done(r.sim) && run_step(v, &r)) {
        if (rp_sim_time(r.sim) < 0.2 * duration || count == MOST)
            continue;
        times[count] = rp_sim_time(r.sim);
        speeds[count++] = s[0] * run_mean(&r, "velocity", 0) + s[1] * run_mean(&r, "velocity", 1);
    }
    *acceleration = NAN;
    if (count > 2)
        fit_line(times, speeds, count, acceleration, &offset, NULL);
    *moved = (s[0] * (run_mean(&r, "position", 0) - start[0]) + s[1] * (run_mean(&r, "position", 1) - start[1])) /
             rp_sim_definition(r.sim)->cell_size;
    run_close(&r);
    return !v->trouble[0];
}

void case_block_on_plane(validation *v)
{
    static const double angles[] = { 0, 15, 30, 45 };
    const double degree = acos(-1.0) / 180;
    double friction = validation_number(v, "wall_friction"), slide = validation_number(v, "slide_degrees") * degree;
    double hold = atan(0.9 * friction), exact = gravity * (sin(slide) - friction * cos(slide)), a, moved;
    for (int k = 0; k < 4; k++) {
        if (!slide_block(v, "nonsmooth", angles[k] * degree, slide, friction, 0.4, &a, &moved))
            return;
        validation_check(v, CHECK_RELATIVE, "acceleration", exact, a, "plane at %g° to the grid: acceleration [m/s²]", angles[k]);
        if (!slide_block(v, "nonsmooth", angles[k] * degree, hold, friction, 1, &a, &moved))
            return;
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"), fabs(moved),
                         "plane at %g° to the grid, tan \xce\xb8 = 0.9 \xce\xbc: way in 1 s, in cells", angles[k]);
    }
    if (slide_block(v, "nonsmooth", 0, slide, 1.3 * friction, 0.4, &a, &moved))
        validation_control(v, CHECK_RELATIVE, "acceleration", exact, a, "control, 1.3 \xce\xbc: acceleration [m/s²]");
}
