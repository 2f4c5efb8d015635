/* The method contact against exact solutions: rods, inclines, the capstan, stick and slip, momentum. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846, earth = 9.81;

static bool fibres_of(validation *v, run *r, rp_fibres_view *view)
{
    if (rp_sim_fibres(r->sim, view) == RP_OK && view->count > 0)
        return true;
    validation_trouble(v, "the scene has no fibres");
    return false;
}

static double extra_of(const run *r, const char *name)
{
    for (int k = 0; k < r->stats.extra_count; k++)
        if (strcmp(r->stats.extra_name[k], name) == 0)
            return r->stats.extra[k];
    return NAN;
}

/* Density of a round fibre of 1 cm and 1 m that weighs gamma N. */
static double density_of(double gamma)
{
    return gamma / (earth * pi * 1e-4);
}

/* y / x of the tip of the elastica under its own weight, Gamma = weight. */
static double cantilever_tip(validation *v, double gamma)
{
    settings s = { 0 };
    run r;
    rp_fibres_view view;
    double slope = NAN;
    setting(&s, "fibres.0.density=%.9g", density_of(gamma));
    if (!run_open(v, &r, "cantilever.yaml", s.list))
        return NAN;
    if (run_until(v, &r, 40) && fibres_of(v, &r, &view)) {
        const double *tip = view.position + 3 * (view.nodes - 1);
        slope = -tip[2] / tip[0];
    }
    run_close(&r);
    return slope;
}

static void cantilever(validation *v)
{
    static const double rows[][2] = { { 1, 0.124562 }, { 10, 1.06680 }, { 50, 3.70556 } };
    for (int k = 0; k < 3; k++)
        validation_check(v, CHECK_RELATIVE, "cantilever", rows[k][1], cantilever_tip(v, rows[k][0]),
                         "cantilever, weight %g EI/L\xc2\xb2: drop over reach of the tip", rows[k][0]);
}

/* The middle of a limp rope that hangs from two points 0.8 of its length apart. */
static void catenary(validation *v)
{
    run r;
    rp_fibres_view view;
    if (!run_open(v, &r, "catenary.yaml", NULL))
        return;
    if (run_until(v, &r, 40) && fibres_of(v, &r, &view)) {
        double lowest = 0, pull = view.tension[view.nodes / 2], weight = earth * 1000 * pi * 1e-8;
        for (int64_t n = 0; n < view.nodes; n++)
            lowest = fmin(lowest, view.position[3 * n + 2]);
        validation_check(v, CHECK_RELATIVE, "catenary", 0.265438, -lowest, "catenary, span 0.8: sag over length");
        validation_check(v, CHECK_RELATIVE, "catenary", 0.338202, pull / weight, "catenary, span 0.8: pull at the middle over weight");
    }
    run_close(&r);
}

/* Energy of a strip that is twisted by phi: GJ phi² / 2 L, GJ = G pi a³ b³ / (a² + b²) of an ellipse. */
static void twist(validation *v)
{
    run r;
    const double a = 0.01, b = 0.001, g = 10e6 / 3, phi = 0.3;
    if (!run_open(v, &r, "twist.yaml", NULL))
        return;
    if (run_until(v, &r, 20)) {
        double ours = extra_of(&r, "fibre_elastic"), half = 0.5 * phi * phi * g;
        validation_check(v, CHECK_RELATIVE, "twist", half * pi * pow(a * b, 3) / (a * a + b * b), ours, "strip twisted by 0.3 rad: energy [J]");
        validation_control(v, CHECK_RELATIVE, "twist", half * pi * a * b * (a * a + b * b) / 4, ours, "control, the polar moment: energy [J]");
    }
    run_close(&r);
}

/* How far the tip is beside the plane (or line) of the scene, along `axis`. */
static double beside(validation *v, const char *scene, double density, double poisson, double until, int axis)
{
    settings s = { 0 };
    run r;
    rp_fibres_view view;
    double way = NAN;
    setting(&s, "fibres.0.density=%.9g", density);
    setting(&s, "fibres.0.poisson_ratio=%.9g", poisson);
    if (!run_open(v, &r, scene, s.list))
        return NAN;
    if (run_until(v, &r, until) && fibres_of(v, &r, &view))
        way = view.position[3 * (view.nodes - 1) + axis];
    run_close(&r);
    return way;
}

/* The load at which what a load beside the plane does would have no end [southwell1932]: a / y falls along a line in a^power, to 0 there. `unit`: density
 * at a load of 1; the loads are parts of about what is expected. */
static double threshold(validation *v, const char *scene, double unit, double poisson, double about, int power, double until, int axis)
{
    double x[2], q[2];
    for (int k = 0; k < 2; k++) {
        double a = (k == 0 ? 0.94 : 0.97) * about;
        x[k] = pow(a, power);
        q[k] = a / beside(v, scene, a * unit, poisson, until, axis);
    }
    return pow(x[0] - q[0] * (x[1] - x[0]) / (q[1] - q[0]), 1.0 / power);
}

static void buckling(validation *v)
{
    /* Q = rho S g L³ / sqrt(EI2 GJ), GJ / EI2 = 4 G a² / (E (a² + b²)) */
    const double s = pi * 1e-5, bend = 1e9 * pi * 1e-11 / 4, nu = 0.33662, unit = sqrt(1.4815) * bend / (s * earth);
    const double polar = 101 * 101 / 400.0; /* over St Venant's */
    validation_check(v, CHECK_RELATIVE, "threshold", 7.83735, threshold(v, "column.yaml", density_of(1), 0.5, 7.83735, 1, 100, 0),
                     "column that falls under its weight [EI/L\xc2\xb2]");
    double q = threshold(v, "strip.yaml", unit, nu, 13.0546, 2, 100, 1);
    validation_check(v, CHECK_RELATIVE, "threshold", 13.0546, q, "strip on its edge that tips over: weight over \xe2\x88\x9a(EI GJ)/L\xc2\xb2");
    validation_control(v, CHECK_RELATIVE, "threshold", 13.0546, q / sqrt(polar), "control, the polar moment in the unit");
    static const double rows[][3] = { { 0.5, 11.869, 2.0 / 3 }, { 0.35, 13.262, 1 / 1.35 } };
    double curl[2];
    for (int k = 0; k < 2; k++) {
        curl[k] = threshold(v, "curl.yaml", density_of(1), rows[k][0], rows[k][1], 1, 300, 1);
        validation_check(v, CHECK_RELATIVE, "threshold", rows[k][1], curl[k], "curl (6/L) that leaves its plane, GJ/EI %.3g: weight [EI/L\xc2\xb2]",
                         rows[k][2]);
    }
    validation_control(v, CHECK_RELATIVE, "threshold", rows[0][1], curl[1], "control, GJ/EI of the other: weight [EI/L\xc2\xb2]");
}

/* The tip of a heavy helix, against Kirchhoff's equations as a boundary value problem. */
static void helix(validation *v)
{
    static const double tip[3] = { 0.001162, -0.274900, -0.185719 }, straight = 0.298040;
    double most = validation_number(v, "tolerance_helix");
    for (int control = 0; control < 2; control++) {
        settings s = { 0 };
        run r;
        rp_fibres_view view;
        double off = NAN;
        setting(&s, "fibres.0.density=%.9g", density_of(control ? 5 * 1.3 : 5));
        if (!run_open(v, &r, "helix.yaml", s.list))
            return;
        if (run_until(v, &r, 60) && fibres_of(v, &r, &view)) {
            off = 0;
            for (int a = 0; a < 3; a++)
                off += pow(view.position[3 * (view.nodes - 1) + a] - tip[a], 2);
            off = sqrt(off) / straight;
        }
        if (control)
            validation_control(v, CHECK_BELOW, NULL, most, off, "control, 1.3 times the weight: off the place, over its way down");
        else
            validation_check(v, CHECK_BELOW, NULL, most, off, "tip of a heavy helix: off its place, over its way down");
        run_close(&r);
    }
}

/* Velocity of the first node or grain after 50 ms, over g sin(alpha) t. */
static double slope(validation *v, const char *scene, double mu, bool fibre)
{
    settings s = { 0 };
    run r;
    double u = NAN, alpha = 17 * pi / 180;
    setting(&s, "walls.bottom=%.9g", mu);
    if (fibre)
        setting(&s, "fibres.0.friction=%.9g", mu);
    if (!run_open(v, &r, scene, s.list))
        return NAN;
    rp_fibres_view view;
    double before = 0;
    if (run_until(v, &r, 0.05) && (!fibre || fibres_of(v, &r, &view)))
        before = fibre ? view.velocity[0] : run_mean(&r, "velocity", 0);
    if (run_until(v, &r, 0.1) && (!fibre || fibres_of(v, &r, &view)))
        u = (fibre ? view.velocity[0] : run_mean(&r, "velocity", 0)) - before;
    run_close(&r);
    return u / (0.05 * earth * sin(alpha));
}

static void inclines(validation *v)
{
    double alpha = 17 * pi / 180, mu = 0.05, slide = 1 - mu / tan(alpha);
    validation_check(v, CHECK_RELATIVE, "incline", 2.0 / 3, slope(v, "incline.yaml", 0.5, true), "fibre that rolls: acceleration over g sin \xce\xb1");
    validation_check(v, CHECK_RELATIVE, "incline", slide, slope(v, "incline.yaml", mu, true), "fibre that slides: acceleration over g sin \xce\xb1");
    validation_check(v, CHECK_RELATIVE, "incline", 5.0 / 7, slope(v, "ball.yaml", 0.5, false), "ball that rolls: acceleration over g sin \xce\xb1");
    validation_check(v, CHECK_RELATIVE, "incline", slide, slope(v, "ball.yaml", mu, false), "ball that slides: acceleration over g sin \xce\xb1");
    validation_control(v, CHECK_RELATIVE, "incline", slide, slope(v, "ball.yaml", 1.3 * mu, false), "control, 1.3 \xce\xbc: acceleration over g sin \xce\xb1");
}

/* Ratio of the tensions of the two legs. */
static double capstan_ratio(validation *v, double mu)
{
    settings s = { 0 };
    run r;
    double ratio = NAN;
    rp_fibres_view view;
    setting(&s, "bodies.0.surface=%.9g", mu);
    setting(&s, "fibres.0.friction=%.9g", mu);
    if (!run_open(v, &r, "capstan.yaml", s.list))
        return NAN;
    if (run_until(v, &r, 4) && fibres_of(v, &r, &view))
        ratio = view.tension[view.nodes - 2] / view.tension[1];
    run_close(&r);
    return ratio;
}

static void capstan(validation *v)
{
    double mu = 0.3, t = mu * tan(pi / 40), law = pow((1 + t) / (1 - t), 20);
    validation_check(v, CHECK_RELATIVE, "capstan", law, capstan_ratio(v, mu), "capstan, half a turn, \xce\xbc 0.3, 20 nodes: T2/T1");
    validation_control(v, CHECK_RELATIVE, "capstan", law, capstan_ratio(v, 1.3 * mu), "control, 1.3 \xce\xbc: T2/T1");
}

/* The strain at which the foot begins to slide. */
static double slip_strain(validation *v, double mu)
{
    settings s = { 0 };
    run r;
    const double speed = 0.01;
    double found = NAN;
    setting(&s, "walls.bottom=%.9g", mu);
    setting(&s, "fibres.0.friction=%.9g", mu);
    if (!run_open(v, &r, "press.yaml", s.list))
        return NAN;
    while (isnan(found) && rp_sim_time(r.sim) < 39 && run_step(v, &r)) {
        rp_fibres_view view;
        if (!fibres_of(v, &r, &view))
            break;
        double strain = speed * rp_sim_time(r.sim); /* the foot, with its radius, stands on the floor from the beginning */
        if (strain > 0.01 && fabs(view.velocity[3 * (view.nodes - 1)]) > 0.02 * speed && extra_of(&r, "contacts") > 0)
            found = strain;
    }
    run_close(&r);
    return found;
}

static void slip(validation *v)
{
    static const double rows[][2] = { { 0.1, 0.04687 }, { 0.2, 0.15487 }, { 0.3, 0.27156 } };
    for (int k = 0; k < 3; k++)
        validation_check(v, CHECK_RELATIVE, "slip", rows[k][1], slip_strain(v, rows[k][0]),
                         "pressed rod, \xce\xbc %g: strain at which its foot slips", rows[k][0]);
    validation_control(v, CHECK_RELATIVE, "slip", rows[1][1], slip_strain(v, 1.3 * rows[1][0]), "control, 1.3 \xce\xbc: strain at which its foot slips");
}

/* Sum of the momenta of nodes, in units of that at the start. */
static void momentum(validation *v)
{
    run r;
    rp_fibres_view view;
    double start[3] = { 0 }, end[3] = { 0 }, size = 0, off = 0;
    if (!run_open(v, &r, "meet.yaml", NULL))
        return;
    for (int k = 0; k < 2; k++) {
        if ((k == 1 && !run_until(v, &r, 0.5)) || !fibres_of(v, &r, &view))
            break;
        for (int64_t i = 0; i < view.count; i++)
            for (int64_t n = view.first[i]; n < view.first[i + 1]; n++)
                for (int a = 0; a < 3; a++) /* both fibres and all segments are alike; end nodes have half a mass */
                    (k == 0 ? start : end)[a] += (n == view.first[i] || n == view.first[i + 1] - 1 ? 0.5 : 1) * view.velocity[3 * n + a];
    }
    for (int a = 0; a < 3; a++) {
        size += start[a] * start[a];
        off += (end[a] - start[a]) * (end[a] - start[a]);
    }
    validation_check(v, CHECK_BELOW, NULL, validation_number(v, "tolerance_momentum"), sqrt(off / size), "two fibres that meet: change of momentum, relative");
    run_close(&r);
}

void case_fibres(validation *v)
{
    cantilever(v);
    catenary(v);
    twist(v);
    buckling(v);
    helix(v);
    inclines(v);
    capstan(v);
    slip(v);
    momentum(v);
}

/* ---- our own grains against others ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The x below which 99 % of the grains that move are (they have nearly one mass), and the mean height of these above `floor`. */
static double front_of_grains(const run *r, double floor, double *height)
{
    const double *x = run_plane(r, "position", 0), *z = run_plane(r, "position", 2), *fixed = run_plane(r, "fixed", 0);
    double *sorted = malloc(((size_t)run_count(r) + 1) * sizeof *sorted), front = NAN, sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; sorted && x && z && fixed && i < run_count(r); i++)
        if (fixed[i] == 0) {
            sorted[n++] = x[i];
            sum += z[i] - floor;
        }
    if (n) {
        qsort(sorted, (size_t)n, sizeof *sorted, by_size);
        front = sorted[(int64_t)(0.99 * (double)(n - 1))];
    }
    *height = sum / (double)n;
    free(sorted);
    return front;
}

/* A column of the table at time t*, between its rows. */
static double table_between(const table *t, double time, int column)
{
    for (int i = 0; i + 1 < t->rows; i++) {
        double a = table_at(t, i, 0), b = table_at(t, i + 1, 0);
        if (a <= time && time <= b)
            return table_at(t, i, column) + (time - a) / (b - a) * (table_at(t, i + 1, column) - table_at(t, i, column));
    }
    return NAN;
}

void case_contact_collapse(validation *v)
{
    enum { FRONT = 3, CENTRE = 6 }; /* columns */
    table data;
    run r;
    if (!table_read(v, "../collapse-grains/a05_timeseries.csv", &data))
        return;
    if (!run_open(v, &r, "scene.yaml", NULL)) {
        table_free(&data);
        return;
    }
    double gate = validation_number(v, "gate"), length = validation_number(v, "length"), floor = validation_number(v, "floor"), height = NAN, centre;
    if (run_until(v, &r, gate)) {
        front_of_grains(&r, floor, &centre);
        height = 2 * centre;
    }
    validation_check(v, CHECK_BELOW, NULL, 0.03, fabs(height / length - 0.5), "H/L at the start: distance from 0.5");
    for (int k = 1; k <= 3; k++) {
        if (!run_until(v, &r, gate + k * sqrt(height)))
            break;
        double front = front_of_grains(&r, floor, &centre);
        validation_check(v, CHECK_RELATIVE, "front", table_between(&data, k, FRONT), front / length, "x of 99 %% of the mass / L at t* = %d", k);
        validation_check(v, CHECK_RELATIVE, "centre", table_between(&data, k, CENTRE), centre / height,
                         "height of the centre of mass / H at t* = %d", k);
    }
    run_close(&r);
    table_free(&data);
}

/* Two boxes that leave a slot in the middle of the floor, and the gate in it. */
static void set_slot(validation *v, settings *s, double slot)
{
    double middle = 0.5 * validation_number(v, "width"), level = validation_number(v, "floor"), from = middle - 0.5 * slot, to = middle + 0.5 * slot;
    setting(s, "bodies.0.shape={box: {lower: [-50, -50, 8], upper: [%.17g, 50, %.17g]}}", from, level);
    setting(s, "bodies.1.shape={box: {lower: [%.17g, -50, 8], upper: [94, 50, %.17g]}}", to, level);
    setting(s, "bodies.2.shape={box: {lower: [%.17g, -50, 8], upper: [%.17g, 50, %.17g]}}", from, to, level);
}

/* Volume that leaves in a unit of time while the part that is gone rises from a twentieth to a seventh; `up` is the vertical axis. */
static double rate_of_loss(validation *v, run *r, int up)
{
    enum { MOST = 256 };
    double time[MOST], left[MOST], slope = NAN, offset, level = validation_number(v, "floor");
    double all = run_mean(r, "volume", 0) * (double)run_count(r), now = all;
    int count = 0;
    while (now > all * 6 / 7 && count < MOST && !rp_sim_done(r->sim) && run_step(v, r)) {
        if (!rp_sim_at_frame(r->sim))
            continue;
        const double *height = run_plane(r, "position", up), *volume = run_plane(r, "volume", 0);
        now = 0;
        for (int64_t i = 0; i < run_count(r); i++)
            now += height[i] > level ? volume[i] : 0;
        if (now > all * 19 / 20)
            continue;
        time[count] = rp_sim_time(r->sim);
        left[count++] = now;
    }
    if (count >= 3)
        fit_line(time, left, count, &slope, &offset, NULL);
    return -slope;
}

/* With `per_cell` grains a cell, which have the size that fits. */
static double rate_of_grains(validation *v, double slot, double per_cell)
{
    settings s = { 0 };
    run r;
    set_slot(v, &s, slot);
    setting(&s, "grains.per_cell=%.17g", per_cell);
    if (!run_open(v, &r, "scene.yaml", s.list))
        return NAN;
    double rate = run_until(v, &r, validation_number(v, "gate")) ? rate_of_loss(v, &r, 2) / validation_number(v, "depth") : NAN;
    run_close(&r);
    return rate;
}

/* The continuum of ../silo-grains with the law of these grains; its volumes are solid ones too. */
static double rate_of_continuum(validation *v, double slot)
{
    double level = validation_number(v, "floor"), middle = 0.5 * validation_number(v, "width");
    settings s = { 0 };
    run r;
    setting(&s, "material.friction=%.17g", validation_number(v, "law_friction"));
    setting(&s, "material.friction_dynamic=%.17g", validation_number(v, "law_dynamic"));
    setting(&s, "material.inertial_number=%.17g", validation_number(v, "law_inertial"));
    setting(&s, "bodies.0.shape={box: {lower: [-50, 8, -1], upper: [%.17g, %.17g, 1]}}", middle - 0.5 * slot, level);
    setting(&s, "bodies.1.shape={box: {lower: [%.17g, 8, -1], upper: [94, %.17g, 1]}}", middle + 0.5 * slot, level);
    if (!run_open(v, &r, "../silo-grains/scene.yaml", s.list))
        return NAN;
    double rate = rate_of_loss(v, &r, 1);
    run_close(&r);
    return rate;
}

void case_contact_silo(validation *v)
{
    enum { SLOT, SOLID = 2 }; /* columns */
    table data;
    double rates[2] = { NAN, NAN };
    if (!table_read(v, "../silo-grains/silo_QvsD.csv", &data))
        return;
    for (int k = 0; k < 2 && k < data.rows && !v->trouble[0]; k++) {
        rates[k] = rate_of_grains(v, table_at(&data, k, SLOT), 1);
        validation_check(v, CHECK_RELATIVE, "rate", table_at(&data, k, SOLID), rates[k], "slot of %g diameters: solid volume a time and depth",
                         table_at(&data, k, SLOT));
    }
    validation_control(v, CHECK_RELATIVE, "rate", table_at(&data, 0, SOLID), rate_of_grains(v, table_at(&data, 0, SLOT), 0.125),
                       "control, grains of twice the diameter: slot of %g diameters", table_at(&data, 0, SLOT));
    validation_check(v, CHECK_RELATIVE, "continuum", rates[1], rate_of_continuum(v, table_at(&data, 1, SLOT)),
                     "continuum with the friction of these grains against them, slot of %g diameters", table_at(&data, 1, SLOT));
    table_free(&data);
}
