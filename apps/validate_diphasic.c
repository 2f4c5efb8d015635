/* Grains in a fluid: settling, rest, drag from weak to strong, flows with exact answers, loose and dense columns. */
#include "validate.h"

#include <math.h>
#include <string.h>

static const double gravity = 9.81;

/* A node field by name; NULL with trouble. */
static const double *nodes_of(validation *v, const run *r, const char *name, int component, int64_t *count)
{
    const rp_field_view *views;
    int many;
    if (rp_sim_grid_fields(r->sim, &views, &many, count) == RP_OK)
        for (int k = 0; k < many; k++)
            if (strcmp(views[k].info.name, name) == 0)
                return (const double *)views[k].data + component * views[k].stride;
    validation_trouble(v, "there is no node field '%s'", name);
    return NULL;
}

static int up_of(const run *r)
{
    return rp_sim_definition(r->sim)->dim - 1;
}

static double highest(const run *r, int axis)
{
    const double *x = run_plane(r, "position", axis);
    double most = -INFINITY;
    for (int64_t i = 0; i < run_count(r); i++)
        most = fmax(most, x[i]);
    return most;
}

/* Mean of a node field over the nodes at a height. */
static double at_height(validation *v, const run *r, const char *name, int component, double height)
{
    int64_t n;
    const double *z = nodes_of(v, r, "position", up_of(r), &n), *f = nodes_of(v, r, name, component, &n);
    double sum = 0, count = 0, h = rp_sim_definition(r->sim)->cell_size;
    for (int64_t j = 0; z && f && j < n; j++)
        if (fabs(z[j] - height) < 1e-6 * h)
            sum += f[j], count++;
    return sum / count;
}

/* ---- settling ---- */

enum { SAMPLES = 2048 };

typedef struct settling {
    double time[SAMPLES], top[SAMPLES], bed[SAMPLES];
    int count;
    double deposit, filled,
        pressure; /* height by the top; part of its lower eight ninths that is full; largest error of the pressure, a part of the first */
} settling;

static double bed_front(validation *v, const run *r, double level, double h)
{
    for (double z = 0, last = at_height(v, r, "volume_fraction", 0, 0); z < 0.06; z += h) {
        double next = at_height(v, r, "volume_fraction", 0, z + h);
        if (last > level && next <= level)
            return z + h * (last - level) / (last - next);
        last = next;
    }
    return 0;
}

/* Volume of the grains below a height, a part of what could be there. */
static double filled_below(const run *r, double height, double width)
{
    const double *z = run_plane(r, "position", up_of(r)), *volume = run_plane(r, "volume", 0);
    double sum = 0;
    for (int64_t i = 0; i < run_count(r); i++)
        sum += z[i] < height ? volume[i] : 0;
    return sum / (0.6 * height * width);
}

static bool settle(validation *v, const char *scene, double phi0, double exponent, double w, double bed, double until, settling *s)
{
    const double height = 0.054, meet = height * (0.6 - phi0) / (0.6 * w), weight = 100 * gravity * phi0;
    settings set = { 0 };
    setting(&set, "grains.fill=%.17g", phi0 / 0.6);
    setting(&set, "fluid.drag_exponent=%.17g", exponent);
    run r;
    if (!run_open(v, &r, scene, set.list))
        return false;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    double h = def->cell_size;
    *s = (settling){ 0 };
    bool good = true;
    for (int64_t step = 0; rp_sim_time(r.sim) < until * meet && (good = run_step(v, &r)); step++) {
        double t = rp_sim_time(r.sim);
        if (t < 0.2 * meet || t > 0.8 * meet || s->count == SAMPLES || step % 4)
            continue;
        s->time[s->count] = t;
        s->top[s->count] = highest(&r, 1);
        s->bed[s->count++] = bed_front(v, &r, 0.5 * (phi0 + 0.6), h);
        double wrong = at_height(v, &r, "fluid_pressure", 0, 0) - weight * (height - (w + bed) * t);
        s->pressure = fmax(s->pressure, fabs(wrong) / (weight * height));
    }
    double half = 0.125 * h * phi0 / 0.6; /* half of the distance between particles, flat as they are now */
    s->deposit = highest(&r, 1) + half;
    s->filled = filled_below(&r, 0.054 * phi0 / 0.6 * 8 / 9, def->upper[0] - def->lower[0]);
    run_close(&r);
    return good;
}

void case_diphasic_settling(validation *v)
{
    static settling s;
    const double fractions[] = { 0.2, 0.1 }, w0 = 100 * gravity * 1e-6 / (18 * 0.02);
    for (int k = 0; k < 3; k++) {
        double phi0 = fractions[k % 2], w = w0 * pow(1 - phi0, 4.65), bed = phi0 * w / (0.6 - phi0), end = 0.054 * phi0 / 0.6, slope, offset,
               square;
        if (!settle(v, "scene.yaml", phi0, k < 2 ? 4.65 : 2, w, bed, k < 2 ? 1.3 : 0.8, &s))
            return;
        fit_line(s.time, s.top, s.count, &slope, &offset, &square);
        if (k == 2) {
            validation_control(v, CHECK_RELATIVE, "front", w, -slope, "control, drag of one grain alone, \xcf\x86 0.2: top front [m/s]");
            continue;
        }
        validation_check(v, CHECK_RELATIVE, "front", w, -slope, "\xcf\x86 %g: top front [m/s]", phi0);
        fit_line(s.time, s.bed, s.count, &slope, &offset, &square);
        validation_check(v, CHECK_RELATIVE, "front", bed, slope, "\xcf\x86 %g: front of the bed [m/s]", phi0);
        validation_check(v, CHECK_RELATIVE, "height", end, s.deposit, "\xcf\x86 %g: deposit by its top [m]", phi0);
        validation_check(v, CHECK_RELATIVE, "height", 1, s.filled, "\xcf\x86 %g: how full the deposit is, but for its last ninth", phi0);
        if (!settle(v, "fine.yaml", phi0, 4.65, w, bed, 0.8, &s))
            return;
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "pressure"), s.pressure,
                         "\xcf\x86 %g, cells of 0.4 mm: pressure at the bottom, largest error, a part of the first", phi0);
    }
    if (!settle(v, "scene.yaml", 1e-3, 4.65, w0, 0, 0.3, &s))
        return;
    double slope, offset, square;
    fit_line(s.time, s.top, s.count, &slope, &offset, &square);
    validation_check(v, CHECK_RELATIVE, "front", w0 * pow(0.999, 4.65), -slope, "\xcf\x86 0.001, a cloud: speed of its top [m/s]");
}

/* ---- rest ---- */

void case_diphasic_rest(validation *v)
{
    static const struct {
        const char *name, *scene, *sampling;
        double part;
        int steps;
    } runs[] = {
        { "2D bed", "scene.yaml", "regular", 0, 1000 },
        { "2D bed, jittered", "scene.yaml", "jittered", 0, 1000 },
        { "2D slope", "scene.yaml", "regular", 0.95, 1000 },
        { "2D slope, jittered", "scene.yaml", "jittered", 0.95, 1000 },
        { "3D bed", "scene-3d.yaml", "regular", 0, 200 },
        { "3D slope", "scene-3d.yaml", "regular", 0.95, 200 },
        { "control, 2D slope", "scene.yaml", "regular", 1.1, 200 },
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        settings set = { 0 };
        setting(&set, "gravity.tilt=%.17g", atan(0.5 * runs[k].part));
        setting(&set, "grains.sampling=%s", runs[k].sampling);
        run r;
        if (!run_open(v, &r, runs[k].scene, set.list))
            return;
        double h = 0.01, moved = 0, depth = 0.1, worst = 0, twice = 0; /* twice: beside a bed that the fluid lifts two times */
        bool good = true;
        for (int step = 0; step < runs[k].steps && (good = run_step(v, &r)); step++)
            moved += hypot(run_mean(&r, "velocity", 0), run_mean(&r, "velocity", up_of(&r))) * r.stats.dt / h;
        for (int j = 0; j < 9 && good; j++) {
            double exact = 1500 * gravity * cos(atan(0.5 * runs[k].part)) * (depth - j * h);
            double found = at_height(v, &r, "pressure", 0, j * h);
            worst = fmax(worst, fabs(found - exact) / (1500 * gravity * depth));
            twice = fmax(twice, fabs(found - exact / 3) / (1500 * gravity * depth));
        }
        run_close(&r);
        if (!good)
            return;
        if (runs[k].part > 1) {
            validation_control(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"), moved, "%s at 1.1 of the friction: way, in cells",
                               runs[k].name);
            continue;
        }
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"), moved, "%s, %d steps: way, in cells", runs[k].name,
                         runs[k].steps);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "tolerance_pressure"), worst,
                         "%s: contact pressure, largest error, a part of that below", runs[k].name);
        if (k == 0)
            validation_control(v, CHECK_BELOW, NULL, validation_number(v, "tolerance_pressure"), twice,
                               "control, %s: the same with buoyancy counted twice", runs[k].name);
    }
}

/* ---- drag ---- */

static double collapse(validation *v, const settings *set, double *rounds)
{
    run r;
    if (!run_open(v, &r, "scene.yaml", set->list))
        return NAN;
    int steps = 0;
    *rounds = 0;
    while (!rp_sim_done(r.sim) && run_step(v, &r))
        *rounds += (double)r.stats.iterations, steps++;
    double front = highest(&r, 0);
    *rounds /= steps;
    run_close(&r);
    return front;
}

void case_diphasic_drag(validation *v)
{
    const double sizes[] = { 2e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 6e-6 };
    double least = INFINITY, rounds, factor = validation_number(v, "factor");
    for (int k = 0; k < 8; k++) {
        settings set = { 0 };
        double d = sizes[k < 7 ? k : 5], kappa = 180e-3 * 0.36 / (d * d * 0.4) * 4e-3 / 1900;
        setting(&set, "material.grain_diameter=%.17g", d);
        if (k == 7)
            setting(&set, "diphasic.coupling=alternate");
        if (isnan(collapse(v, &set, &rounds)))
            return;
        least = fmin(least, rounds);
        if (k == 7)
            validation_control(v, CHECK_BELOW, NULL, factor * least, rounds,
                               "control, stress and pressure in turns, \xce\xba = %.3g: rounds a step", kappa);
        else
            validation_check(v, CHECK_BELOW, NULL, factor * least, rounds, "\xce\xba = %.3g: rounds a step", kappa);
    }
    settings dry = { 0 }, thin = { 0 }, thinner = { 0 }, water = { 0 };
    setting(&dry, "method=nonsmooth");
    setting(&thin, "fluid.density=1e-3"), setting(&thin, "fluid.viscosity=1e-9");
    setting(&thinner, "fluid.density=1e-5"), setting(&thinner, "fluid.viscosity=1e-11");
    setting(&water, "fluid.viscosity=1e-3");
    double limit = collapse(v, &thinner, &rounds), other = collapse(v, &dry, &rounds);
    validation_check(v, CHECK_RELATIVE, "dry", limit, collapse(v, &thin, &rounds), "front with a fluid of density 1e-3, beside 1e-5 [m]");
    validation_control(v, CHECK_RELATIVE, "dry", limit, collapse(v, &water, &rounds), "control, the same in water");
    validation_check(v, CHECK_RELATIVE, "method", other, limit, "the same without a fluid, beside the dry method with its other elements [m]");
}

/* ---- flows ---- */

static void channel(validation *v)
{
    run r;
    if (!run_open(v, &r, "channel.yaml", NULL))
        return;
    double worst = 0;
    for (int step = 0; step < 40 && run_step(v, &r); step++)
        ;
    for (int j = 1; j < 16; j++) {
        double z = j * 1e-3, exact = 10 / (2 * 1.0) * z * (0.016 - z);
        worst = fmax(worst, fabs(at_height(v, &r, "fluid_velocity", 0, z) / exact - 1));
    }
    run_close(&r);
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "tolerance_flow"), worst,
                     "Poiseuille: speed at the nodes, largest relative error");
}

/* Pressure below a bed of 0.1 m, in units of its critical one; returns the way up [mm]. */
static double lifted(validation *v, const char *scene, double part)
{
    settings set = { 0 };
    run r;
    setting(&set, "fluid.walls.bottom.pressure=%.17g", part * 0.6 * 1500 * gravity * 0.1);
    if (!run_open(v, &r, scene, set.list))
        return NAN;
    double first = run_mean(&r, "position", up_of(&r));
    for (int step = 0; step < 60 && run_step(v, &r); step++)
        ;
    double way = 1e3 * (run_mean(&r, "position", up_of(&r)) - first);
    run_close(&r);
    return way;
}

static void seepage(validation *v, const char *scene)
{
    run r;
    settings set = { 0 };
    const double phi = 0.6, d = 5e-4, flux = 1e-4, k = d * d * pow(1 - phi, 3) / (180 * phi * phi), exact = 1e-3 * flux / k;
    const char *dim = strstr(scene, "3d") ? "3D" : "2D";
    setting(&set, strstr(scene, "3d") ? "fluid.walls.top={velocity: [0, 0, %.17g]}" : "fluid.walls.top={velocity: [0, %.17g]}", -flux);
    setting(&set, "diphasic.tolerance=1e-13"), setting(&set, "diphasic.tolerance_max=1e-13"), setting(&set, "diphasic.max_rounds=20000");
    if (!run_open(v, &r, scene, set.list))
        return;
    for (int step = 0; step < 60 && run_step(v, &r); step++)
        ;
    double found = (at_height(v, &r, "fluid_pressure", 0, 0.07) - at_height(v, &r, "fluid_pressure", 0, 0.03)) / 0.04;
    run_close(&r);
    validation_check(v, CHECK_RELATIVE, "flow", exact, found, "%s: gradient of fluid that seeps through a bed [Pa/m]", dim);
    validation_control(v, CHECK_RELATIVE, "flow", exact * (1 - phi), found, "control, %s: the same, drag less by the part of the grains", dim);
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "still_mm"), fabs(lifted(v, scene, 0.98)),
                     "%s: way up at 0.98 of the critical gradient [mm]", dim);
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "lifted_mm"), lifted(v, scene, 1.02),
                     "%s: way up at 1.02 of the critical gradient [mm]", dim);
}

void case_diphasic_flows(validation *v)
{
    channel(v);
    seepage(v, "seepage.yaml");
    seepage(v, "seepage-3d.yaml");
}

/* ---- loose and dense ---- */

typedef struct column_run {
    double pressure, time; /* mean excess in the first 0.1 s; when the front has gone a tenth of the column */
} column_run;

static bool column(validation *v, double phi0, const char *dilatancy, column_run *c)
{
    settings set = { 0 };
    run r;
    setting(&set, "grains.fill=%.17g", phi0 / 0.64);
    setting(&set, "diphasic.dilatancy=%s", dilatancy);
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    bool good = true;
    int early = 0;
    *c = (column_run){ .time = NAN };
    double start = highest(&r, 0);
    while (isnan(c->time) && !rp_sim_done(r.sim) && (good = run_step(v, &r))) {
        double t = rp_sim_time(r.sim);
        int64_t n;
        const double *x = nodes_of(v, &r, "position", 0, &n), *y = nodes_of(v, &r, "position", 1, &n),
                     *p = nodes_of(v, &r, "fluid_pressure", 0, &n);
        for (int64_t j = 0; x && y && p && j < n && t < 0.1; j++)
            if (fabs(x[j] - 0.04) < 1e-9 && fabs(y[j]) < 1e-9)
                c->pressure += p[j], early++;
        if (highest(&r, 0) > start + 0.006)
            c->time = t;
    }
    c->pressure /= early;
    c->time = isnan(c->time) ? rp_sim_time(r.sim) : c->time;
    run_close(&r);
    return good;
}

void case_diphasic_packing(validation *v)
{
    column_run loose, dense, plain[2];
    if (!column(v, 0.55, "roux_radjai", &loose) || !column(v, 0.60, "roux_radjai", &dense) || !column(v, 0.55, "none", &plain[0]) ||
        !column(v, 0.60, "none", &plain[1]))
        return;
    double later = validation_number(v, "later");
    validation_check(v, CHECK_ABOVE, NULL, 0, loose.pressure, "loose: excess pressure under the column, first 0.1 s [Pa]");
    validation_check(v, CHECK_BELOW, NULL, 0, dense.pressure, "dense: the same [Pa]");
    validation_check(v, CHECK_ABOVE, NULL, later * loose.time, dense.time,
                     "dense: time until the front has gone a tenth [s] (at least %g times loose)", later);
    validation_control(v, CHECK_ABOVE, NULL, later * plain[0].time, plain[1].time, "control, without dilatancy: the same [s]");
}

/* ---- the fluid, steps, suction ---- */

/* Least and largest of a component of the fluid's velocity on the line where the other coordinate is half of the box. */
static void on_centre_line(validation *v, const run *r, int component, double *least, double *most)
{
    int64_t n;
    const double *x = nodes_of(v, r, "position", component ? 1 : 0, &n), *u = nodes_of(v, r, "fluid_velocity", component, &n);
    *least = INFINITY, *most = -INFINITY;
    for (int64_t j = 0; x && u && j < n; j++)
        if (fabs(x[j] - 0.5) < 1e-9)
            *least = fmin(*least, u[j]), *most = fmax(*most, u[j]);
}

static void cavity(validation *v, bool control)
{
    settings set = { 0 };
    run r;
    if (control)
        setting(&set, "fluid.viscosity=0.02");
    if (!run_open(v, &r, "cavity.yaml", set.list))
        return;
    double least[2], most[2];
    run_until(v, &r, 15);
    for (int a = 0; a < 2; a++)
        on_centre_line(v, &r, a, &least[a], &most[a]);
    run_close(&r);
    if (control) {
        validation_control(v, CHECK_RELATIVE, "cavity", -0.2140, least[0], "control, cavity at Re 50: least of u on the centre line");
        return;
    }
    validation_check(v, CHECK_RELATIVE, "cavity", -0.2140, least[0], "cavity, Re 100: least of u on the centre line");
    validation_check(v, CHECK_RELATIVE, "cavity", 0.1796, most[1], "cavity, Re 100: largest of v on the centre line");
    validation_check(v, CHECK_RELATIVE, "cavity", -0.2538, least[1], "cavity, Re 100: least of v on the centre line");
}

/* How far the centre of the column has gone [mm]. */
static double gone(validation *v, int rate)
{
    settings set = { 0 };
    run r;
    setting(&set, "frame_rate=%d", rate);
    if (!run_open(v, &r, "column.yaml", set.list))
        return NAN;
    double first = run_mean(&r, "position", 0);
    while (!rp_sim_done(r.sim) && run_step(v, &r))
        ;
    double way = 1e3 * (run_mean(&r, "position", 0) - first);
    run_close(&r);
    return way;
}

static void steps(validation *v)
{
    const int rates[] = { 250, 500, 1000 };
    double shortest = gone(v, 2000);
    for (int k = 0; k < 3; k++)
        validation_check(v, CHECK_RELATIVE, "steps", shortest, gone(v, rates[k]), "way of the centre in steps of %g ms, beside 0.5 ms [mm]",
                         1e3 / rates[k]);
    validation_control(v, CHECK_RELATIVE, "steps", shortest, gone(v, 50), "control, the same in steps of 20 ms [mm]");
}

/* A layer of depth H on a slope begins to shear at rates γ̇(y) that are read from it. It grows by γ̇ tan ψ, so that grains rise with v(y) = ∫ γ̇ tan ψ,
 * fluid has to come down between them, and its pressure is -(η/k) ∫ v dy from the surface down: here to the first node above the floor. */
static void layer(validation *v, const char *dilatancy)
{
    enum { LAYERS = 19 }; /* the cell above has corners at the surface: it is carried, and does not dilate */
    settings set = { 0 };
    run r;
    setting(&set, "diphasic.dilatancy=%s", dilatancy);
    setting(&set, "diphasic.tolerance=1e-6"), setting(&set, "diphasic.tolerance_max=1e-5"), setting(&set, "diphasic.max_rounds=5000");
    if (!run_open(v, &r, "layer.yaml", set.list))
        return;
    for (int step = 0; step < 5 && run_step(v, &r); step++)
        ;
    const double h = 2.5e-3, phi = 0.6, d = 0.225e-3, eta = 12e-3, k = d * d * pow(1 - phi, 3) / (180 * phi * phi);
    double risen = 0, exact = 0;
    for (int j = 0; j < LAYERS; j++) {
        double rate = (at_height(v, &r, "velocity", 0, (j + 1) * h) - at_height(v, &r, "velocity", 0, j * h)) / h;
        double load = 0.5 * (at_height(v, &r, "pressure", 0, j * h) + at_height(v, &r, "pressure", 0, (j + 1) * h));
        double slope = 4 * (phi - 0.55 / (1 + sqrt(eta * fabs(rate) / fmax(phi * load, 1)))), more = fabs(rate) * slope * h;
        exact -= j ? eta / k * (risen + 0.5 * more) * h : 0;
        risen += more;
    }
    exact -= eta / k * risen * h;
    double found = at_height(v, &r, "fluid_pressure", 0, h);
    run_close(&r);
    if (strcmp(dilatancy, "none"))
        validation_check(v, CHECK_RELATIVE, "layer", exact, found, "layer that shears: pressure of the fluid near the floor [Pa]");
    else
        validation_control(v, CHECK_RELATIVE, "layer", exact, found, "control, without dilatancy: the same [Pa]");
}

void case_diphasic_fluid(validation *v)
{
    cavity(v, false);
    cavity(v, true);
    steps(v);
    layer(v, "roux_radjai");
    layer(v, "none");
}

/* ---- columns of glass beads ---- */

enum { MOMENTS = 4 };

typedef struct collapse_of {
    double fill, height;
    double when[MOMENTS];            /* of the fronts */
    double from, until;              /* of the pressure */
    double front[MOMENTS], pressure; /* found */
} collapse_of;

/* The end of the grains along the floor: the last place, cell by cell, where their bulk is a millimetre high. */
static double end_along(const run *r, double fraction)
{
    enum { BINS = 256 };
    const double *x = run_plane(r, "position", 0), *volume = run_plane(r, "volume", 0);
    double h = rp_sim_definition(r->sim)->cell_size, high[BINS] = { 0 };
    for (int64_t i = 0; i < run_count(r); i++) {
        int bin = (int)(x[i] / h);
        if (bin >= 0 && bin < BINS)
            high[bin] += volume[i] / (h * fraction);
    }
    int last = BINS - 1;
    while (last > 0 && high[last] < 1e-3)
        last--;
    return h * (last + 1);
}

static bool run_column(validation *v, const char *dilatancy, collapse_of *c)
{
    settings set = { 0 };
    run r;
    setting(&set, "grains.shape.box.upper=[0.06, %.17g]", c->height);
    setting(&set, "grains.fill=%.17g", c->fill / 0.64);
    setting(&set, "diphasic.dilatancy=%s", dilatancy);
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    bool good = true;
    int count = 0, samples = 0;
    c->pressure = 0;
    while (count < MOMENTS && c->when[count] > 0 && (good = run_step(v, &r))) {
        double t = rp_sim_time(r.sim);
        int64_t n;
        const double *x = nodes_of(v, &r, "position", 0, &n), *y = nodes_of(v, &r, "position", 1, &n),
                     *p = nodes_of(v, &r, "fluid_pressure", 0, &n);
        for (int64_t j = 0; x && y && p && j < n && t >= c->from && t <= c->until; j++)
            if (fabs(x[j] - 0.02) < 1e-9 && fabs(y[j]) < 1e-9)
                c->pressure += p[j], samples++;
        if (t >= c->when[count])
            c->front[count++] = 100 * end_along(&r, c->fill);
    }
    c->pressure /= samples ? samples : 1;
    run_close(&r);
    return good;
}

void case_diphasic_columns(validation *v)
{
    collapse_of loose = { .fill = 0.55, .height = 0.048, .when = { 0.636, 1.314, 3.941 }, .from = 1, .until = 2 };
    collapse_of dense = { .fill = 0.60, .height = 0.042, .when = { 1.907, 3.093 }, .from = 1, .until = 1.3 };
    collapse_of none = dense;
    if (!run_column(v, "roux_radjai", &loose) || !run_column(v, "roux_radjai", &dense) || !run_column(v, "none", &none))
        return;
    const double far[] = { 16.27, 19.72, 21.16 }, near[] = { 9.28, 9.80 };
    for (int k = 0; k < 3; k++)
        validation_check(v, CHECK_RELATIVE, "front", far[k], loose.front[k], "loose: front after %.3g s [cm]", loose.when[k]);
    validation_check(v, CHECK_RELATIVE, "pressure", 139, loose.pressure, "loose: excess pressure under the column, 1 to 2 s [Pa]");
    for (int k = 0; k < 2; k++)
        validation_check(v, CHECK_RELATIVE, "front", near[k], dense.front[k], "dense: front after %.3g s [cm]", dense.when[k]);
    validation_check(v, CHECK_RELATIVE, "pressure", -126, dense.pressure, "dense: excess pressure under the column, 1 to 1.3 s [Pa]");
    validation_control(v, CHECK_RELATIVE, "front", near[0], none.front[0], "control, dense without dilatancy: front after %.3g s [cm]",
                       none.when[0]);
    validation_control(v, CHECK_RELATIVE, "pressure", -126, none.pressure, "control, dense without dilatancy: excess pressure, 1 to 1.3 s [Pa]");
}

/* ---- a submerged layer on a slope ---- */

/* Speed of the surface [mm/s] and excess pressure at the floor [Pa], means from 15 to 20 s. */
static bool avalanche(validation *v, double fraction, const char *dilatancy, double *speed, double *pressure)
{
    settings set = { 0 };
    run r;
    setting(&set, "grains.fill=%.17g", fraction / 0.64);
    setting(&set, "diphasic.dilatancy=%s", dilatancy);
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    bool good = true;
    int samples = 0;
    *speed = *pressure = 0;
    while (rp_sim_time(r.sim) < 20 && (good = run_step(v, &r)))
        if (rp_sim_time(r.sim) >= 15) {
            *speed += 1e3 * at_height(v, &r, "velocity", 0, 9 * 0.49e-3);
            *pressure += at_height(v, &r, "fluid_pressure", 0, 0);
            samples++;
        }
    *speed /= samples ? samples : 1, *pressure /= samples ? samples : 1;
    run_close(&r);
    return good;
}

void case_diphasic_avalanche(validation *v)
{
    double speed, pressure;
    if (!avalanche(v, 0.592, "roux_radjai", &speed, &pressure))
        return;
    validation_check(v, CHECK_BELOW, NULL, 0.05, speed, "dense, 0.592: speed of the surface after 15 to 20 s [mm/s]");
    validation_check(v, CHECK_RELATIVE, "pressure", -3.3, pressure, "dense, 0.592: excess pressure at the floor [Pa]");
    if (!avalanche(v, 0.562, "roux_radjai", &speed, &pressure))
        return;
    validation_check(v, CHECK_RELATIVE, "speed", 0.625, speed, "loose, 0.562: speed of the surface after 15 to 20 s [mm/s]");
    validation_check(v, CHECK_RELATIVE, "pressure", 4.1, pressure, "loose, 0.562: excess pressure at the floor [Pa]");
    if (!avalanche(v, 0.592, "none", &speed, &pressure))
        return;
    validation_control(v, CHECK_BELOW, NULL, 0.05, speed, "control, 0.592 without dilatancy: speed of the surface [mm/s]");
}
