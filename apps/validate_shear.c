/* Shear between plates, a chute between walls, a cohesive cut. */
#include "validate.h"

#include <math.h>
#include <string.h>

enum { BINS = 256 };

/* Mean of a component of the velocity in equal bins along an axis; returns how many of them have grains (those come first). */
static int speed_profile(const run *r, int axis, int component, double from, double to, int bins, double *at, double *speed)
{
    const double *x = run_plane(r, "position", axis), *u = run_plane(r, "velocity", component), *m = run_plane(r, "mass", 0);
    double weight[BINS] = { 0 }, width = (to - from) / bins;
    memset(speed, 0, (size_t)bins * sizeof *speed);
    memset(at, 0, (size_t)bins * sizeof *at);
    for (int64_t i = 0; i < run_count(r); i++) {
        int k = (int)floor((x[i] - from) / width);
        if (k < 0 || k >= bins)
            continue;
        speed[k] += m[i] * u[i], at[k] += m[i] * x[i], weight[k] += m[i];
    }
    int used = 0;
    for (int k = 0; k < bins; k++)
        if (weight[k] > 0) {
            speed[used] = speed[k] / weight[k];
            at[used++] = at[k] / weight[k];
        }
    return used;
}

static double between(const double *x, const double *y, int n, double at)
{
    for (int k = 0; k + 1 < n; k++)
        if (x[k] <= at && at <= x[k + 1])
            return y[k] + (y[k + 1] - y[k]) * (at - x[k]) / (x[k + 1] - x[k]);
    return NAN;
}

/* ---- a vertical chute whose rough wall presses with P ---- */

typedef struct chute {
    double pressure, half, d, bulk, grain, mu_s, mu_2, i0;
} chute;

static double chute_speed(const chute *c, double x)
{
    double scale = c->bulk * 9.81 / c->pressure, wall = scale * c->half, xi = fmax(scale * x, c->mu_s);
    return c->i0 / c->d * sqrt(c->pressure / c->grain) / scale *
           (-(wall - xi) + (c->mu_2 - c->mu_s) * log((c->mu_2 - xi) / (c->mu_2 - wall)));
}

static bool run_chute(validation *v, const chute *c, double factor, int *bins, double *x, double *u, double *wall_at)
{
    settings s = { 0 };
    double scale = c->bulk * 9.81 / c->pressure, wall = scale * c->half, front = c->i0 / c->d * sqrt(c->pressure / c->grain) / scale;
    setting(&s, "material.friction=%.17g", factor * c->mu_s);
    setting(&s, "material.friction_dynamic=%.17g", factor * c->mu_2);
    setting(&s, "bodies.0.force=[%.17g, 0, 0]", -c->pressure * validation_number(v, "length"));
    setting(&s, "grains.velocity_field=\"0, -%.17g * (math.max(%.17g * x, %.17g) - %.17g + %.17g * math.log((%.17g - math.max(%.17g * x, "
                "%.17g)) / %.17g)), 0\"",
            front, scale, c->mu_s, wall, c->mu_2 - c->mu_s, c->mu_2, scale, c->mu_s, c->mu_2 - wall);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    *bins = speed_profile(&r, 0, 1, 0, c->half, *bins, x, u);
    for (int k = 0; k < *bins; k++)
        u[k] = -u[k];
    rp_body_state plate;
    *wall_at = rp_sim_body(r.sim, 0, &plate) == RP_OK ? plate.position[0] : NAN; /* its shape begins there */
    run_close(&r);
    return good;
}

enum { CHUTE_ROWS = 20, CHUTES = 2 };

typedef struct chute_profile {
    double x[CHUTE_ROWS], u[CHUTE_ROWS], exact[CHUTE_ROWS];
    int bins;
    char exact_name[32], name[32];
} chute_profile;

/* The plug, two places in the layer of shear, and the wall. */
static bool check_chute(validation *v, const chute *c, chute_profile *p)
{
    const double at[] = { 0.015, 0.0175 };
    double plug = 0, wall_at;
    int n = 0;
    p->bins = CHUTE_ROWS;
    if (!run_chute(v, c, 1, &p->bins, p->x, p->u, &wall_at))
        return false;
    for (int k = 0; k < p->bins; k++) {
        p->exact[k] = chute_speed(c, p->x[k]);
        if (p->x[k] < 0.8 * c->mu_s * c->pressure / (c->bulk * 9.81))
            plug += p->u[k], n++;
    }
    validation_check(v, CHECK_RELATIVE, "speed", chute_speed(c, 0), plug / n, "%g Pa: speed of the plug [m/s]", c->pressure);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
        validation_check(v, CHECK_RELATIVE, "speed", chute_speed(c, at[k]), between(p->x, p->u, p->bins, at[k]), "%g Pa: speed %g mm from the middle [m/s]",
                         c->pressure, 1e3 * at[k]);
    validation_check(v, CHECK_RELATIVE, "width", c->half, wall_at, "%g Pa: place of the wall that presses: the grains keep their volume [m]", c->pressure);
    snprintf(p->exact_name, sizeof p->exact_name, "exact, %g Pa", c->pressure);
    snprintf(p->name, sizeof p->name, "ours, %g Pa", c->pressure);
    return true;
}

void case_vertical_chute(validation *v)
{
    static const char *const pressures[CHUTES] = { "pressure", "pressure_slow" };
    static chute_profile p[CHUTES];
    chute c = { .half = validation_number(v, "half_width"), .d = 0.5e-3, .bulk = 1500, .grain = 2500, .mu_s = 0.38, .mu_2 = 0.64, .i0 = 0.279 };
    rp_plot_line lines[2 * CHUTES];
    for (int k = 0; k < CHUTES; k++) {
        c.pressure = validation_number(v, pressures[k]);
        if (!check_chute(v, &c, &p[k]))
            return;
        lines[2 * k] = (rp_plot_line){ .name = p[k].exact_name, .x = p[k].x, .y = p[k].exact, .count = p[k].bins };
        lines[2 * k + 1] = (rp_plot_line){ .name = p[k].name, .x = p[k].x, .y = p[k].u, .count = p[k].bins, .points = true };
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Vertical chute", plot.x_label = "distance from the middle [m]", plot.y_label = "speed [m/s]";
    plot.lines = lines, plot.line_count = 2 * CHUTES;
    validation_plot(v, "profile", "Speed across a vertical chute under mu(I), at two pressures", &plot);
    static double xc[CHUTE_ROWS], uc[CHUTE_ROWS];
    double wall_at;
    int bins = CHUTE_ROWS;
    c.pressure = validation_number(v, pressures[0]);
    if (run_chute(v, &c, 1.3, &bins, xc, uc, &wall_at))
        validation_control(v, CHECK_RELATIVE, "speed", chute_speed(&c, 0), uc[1], "control, 1.3 \xce\xbc: speed of the plug [m/s]");
}

/* ---- a shear cell: the stress is given, the rate is measured ---- */

static bool run_cell(validation *v, double ratio, double factor, int *bins, double *y, double *u)
{
    double pressure = validation_number(v, "pressure"), height = validation_number(v, "height"), length = validation_number(v, "length");
    double mu_s = 0.38, mu_2 = 0.64, i0 = 0.279, d = 0.5e-3, grain = 2500;
    double rate = i0 * (ratio - mu_s) / (mu_2 - ratio) * sqrt(pressure / grain) / d;
    settings s = { 0 };
    setting(&s, "material.friction=%.17g", factor * mu_s);
    setting(&s, "material.friction_dynamic=%.17g", factor * mu_2);
    setting(&s, "grains.velocity_field=\"%.17g * y, 0, 0\"", rate);
    setting(&s, "bodies.0.velocity=[%.17g, 0, 0]", rate * height);
    setting(&s, "bodies.0.force=[%.17g, %.17g, 0]", ratio * pressure * length, -pressure * length);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    *bins = speed_profile(&r, 1, 0, 0, height, *bins, y, u);
    run_close(&r);
    return good;
}

void case_shear_cell(validation *v)
{
    static const double ratios[] = { 0.42, 0.48, 0.48 };
    enum { RUNS = 3, ROWS = 20 };
    static double y[RUNS][ROWS], u[RUNS][ROWS];
    static char names[RUNS][48];
    rp_plot_line lines[RUNS];
    double pressure = validation_number(v, "pressure");
    for (int k = 0; k < RUNS; k++) {
        bool control = k == RUNS - 1;
        double rate, offset, r2;
        int bins = ROWS;
        if (!run_cell(v, ratios[k], control ? 1.3 : 1, &bins, y[k], u[k]))
            return;
        if (bins < 6) {
            validation_trouble(v, "grains in %d rows only", bins);
            return;
        }
        fit_line(y[k] + 1, u[k] + 1, bins - 3, &rate, &offset, &r2); /* without the row on the floor and those at the plate */
        double inertial = fmax(rate, 0) * 0.5e-3 * sqrt(2500 / pressure), mu = 0.38 + 0.26 * inertial / (0.279 + inertial);
        if (control) {
            validation_control(v, CHECK_RELATIVE, "friction", ratios[k], mu, "control, 1.3 \xce\xbc: \xce\xbc(I) of the rate measured");
        } else {
            validation_check(v, CHECK_RELATIVE, "friction", ratios[k], mu, "\xcf\x84/p = %g: \xce\xbc(I) of the rate measured", ratios[k]);
            validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_r_squared"), r2, "\xcf\x84/p = %g: R² of a linear profile", ratios[k]);
        }
        snprintf(names[k], sizeof names[k], "%s\xcf\x84/p = %g", control ? "control, " : "", ratios[k]);
        lines[k] = (rp_plot_line){ .name = names[k], .x = y[k], .y = u[k], .count = bins, .points = true };
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Shear cell", plot.x_label = "height [m]", plot.y_label = "speed [m/s]";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "profile", "Speed between the plates of a shear cell", &plot);
}

/* ---- a vertical cut in cohesive ground ---- */

static bool run_cut(validation *v, const char *method, double cohesion, double *farthest, double *spread)
{
    settings s = { 0 };
    setting(&s, "material.cohesion=%.17g", cohesion);
    setting(&s, "method=%s", method);
    run r;
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    double h = rp_sim_definition(r.sim)->cell_size, length = validation_number(v, "length"), start = run_mean(&r, "position", 1);
    bool good = run_until(v, &r, rp_sim_definition(r.sim)->duration);
    const double *x = run_plane(&r, "position", 0), *volume = run_plane(&r, "volume", 0);
    double out = 0, all = 0;
    for (int64_t i = 0; i < run_count(&r); i++) {
        all += volume[i];
        out += x[i] > length + h ? volume[i] : 0;
    }
    *farthest = fabs(run_mean(&r, "position", 1) - start) / h;
    *spread = out / all;
    run_close(&r);
    return good;
}

void case_cohesive_cut(validation *v)
{
    double mu = validation_number(v, "friction"), phi = asin(mu), height = validation_number(v, "height"), sunk, out;
    double weight = validation_number(v, "bulk_density") * 9.81 * height, bearing = tan(acos(-1.0) / 4 + 0.5 * phi);
    /* the stability number gamma H / c_MC, c_MC = c tan(phi) */
    double stands = validation_number(v, "stands") * 2 * bearing, fails = validation_number(v, "fails") * 3.83 * bearing;
    static const char *const methods[] = { "nonsmooth", "elastoplastic" };
    for (int k = 0; k < 2; k++) {
        if (!run_cut(v, methods[k], weight / (stands * tan(phi)), &sunk, &out))
            return;
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "settling_cells"), sunk, "%s, \xce\xb3H/c = %.2f: sinking of the ground, in cells",
                         methods[k], stands);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "left_part"), out, "%s, \xce\xb3H/c = %.2f: part that left the cut", methods[k],
                         stands);
        if (!run_cut(v, methods[k], weight / (fails * tan(phi)), &sunk, &out))
            return;
        validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "failed_part"), out, "%s, \xce\xb3H/c = %.2f: part that left the cut", methods[k],
                         fails);
    }
}
