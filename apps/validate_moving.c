/* Sand on what moves: floors that rise, slow to fast; a tray that is tilted; one collapse in several frames. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double degree = 0.017453292519943295;

/* ---- floors that rise ---- */

typedef struct riding {
    double settled;         /* mean way relative to the floor in the first half second */
    double mean, farthest;  /* of all particles, from then on to the end */
    double cells_a_step;    /* of the floor */
} riding;

static bool ride(validation *v, const char *scene, const char *sampling, double speed, double friction_factor, riding *out)
{
    settings set = { 0 };
    setting(&set, "material.friction=%.17g", friction_factor * validation_number(v, "friction"));
    setting(&set, "grains.sampling=%s", sampling);
    setting(&set, "grains.velocity=[0, %.17g, 0]", speed);
    setting(&set, "bodies.0.motion=\"0, %.17g * t, 0\"", speed);
    run r;
    if (!run_open(v, &r, scene, set.list))
        return false;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    double wrap = def->wall[0].kind == RP_PERIODIC ? def->upper[0] - def->lower[0] : 0;
    particle_places start = run_places(&r, -INFINITY), settled, end;
    bool good = run_until(v, &r, 0.5);
    settled = run_places(&r, -INFINITY);
    double then = rp_sim_time(r.sim);
    int64_t before = v->steps;
    good = good && run_until(v, &r, def->duration);
    end = run_places(&r, -INFINITY);
    double shift[2] = { 0, speed * then }, rest[2] = { 0, speed * (rp_sim_time(r.sim) - then) };
    particle_ways first = ways_between(&start, &settled, shift, wrap), later = ways_between(&settled, &end, rest, wrap);
    *out = (riding){ first.mean / def->cell_size, later.mean / def->cell_size, later.farthest / def->cell_size,
                     rest[1] / def->cell_size / (double)(v->steps - before) };
    if (good && (start.count == 0 || first.gone || later.gone))
        out->farthest = INFINITY; /* something was split, merged or lost: it did not rest */
    places_free(&start), places_free(&settled), places_free(&end);
    run_close(&r);
    return good;
}

void case_rising_floor(validation *v)
{
    static const char *const scenes[][2] = { { "bed", "bed.yaml" }, { "slope at 0.9 \xce\xbc", "slope.yaml" }, { "heap at 0.9 \xce\xbc", "heap.yaml" } };
    static const double speeds[] = { 0, 0.25e-3, 4e-3, 0.3 };
    double mean = validation_number(v, "way_cells"), far = validation_number(v, "farthest_cells");
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        for (size_t s = 0; s < sizeof speeds / sizeof *speeds; s++) {
            riding ridden;
            if (!ride(v, scenes[k][1], "jittered", speeds[s], 1, &ridden))
                return;
            validation_check(v, CHECK_BELOW, NULL, mean, ridden.mean, "%s, floor by %.2g cells a step: mean way relative to it [cells]", scenes[k][0],
                             ridden.cells_a_step);
            validation_check(v, CHECK_BELOW, NULL, far, ridden.farthest, "%s, floor by %.2g cells a step: farthest way [cells]", scenes[k][0],
                             ridden.cells_a_step);
        }
    }
    riding slides;
    if (ride(v, "slope.yaml", "jittered", 4e-3, 0.85, &slides))
        validation_control(v, CHECK_BELOW, NULL, mean, slides.mean, "control, slope with 0.85 \xce\xbc: mean way relative to the floor [cells]");
}

/* ---- a tray that is tilted ---- */

typedef struct tilt {
    double held;    /* way of the centre of mass along the tray up to 0.5° below atan mu [cells] */
    double flowing; /* speed of the centre of mass along the tray, mean over the last degree below asin mu and one above [m/s] */
    double stopped; /* its speed at the end, the tray having stood still for a while [m/s] */
    double slope;   /* of the surface at the end, against the horizontal [degrees] */
} tilt;

/* Along the tray, whose floor lies at `angle` (clockwise is positive). */
static double along(const run *r, double angle)
{
    return run_mean(r, "position", 0) * cos(angle) - run_mean(r, "position", 1) * sin(angle);
}

/* Slope of the line through the surface over the middle of the tray. */
static double surface_slope(run *r, double half)
{
    enum { POINTS = 21 };
    double x[POINTS], y[POINTS], slope = NAN, offset;
    int n = 0;
    for (int i = 0; i < POINTS; i++) {
        bool there = false;
        x[n] = half * (2.0 * i / (POINTS - 1) - 1);
        if (rp_sim_surface(r->sim, x[n], 0, &y[n], &there) == RP_OK && there)
            n++;
    }
    if (n > 5)
        fit_line(x, y, n, &slope, &offset, NULL);
    return atan(-slope) / degree;
}

static bool tilted(validation *v, const char *sampling, double factor, tilt *t)
{
    double mu = validation_number(v, "friction"), rate = validation_number(v, "rate") * degree, start = validation_number(v, "start") * degree;
    double rest = atan(mu) - 0.5 * degree, flow = asin(mu), last = validation_number(v, "last") * degree;
    settings set = { 0 };
    setting(&set, "material.friction=%.17g", mu * factor);
    setting(&set, "grains.sampling=%s", sampling);
    run r;
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    double h = rp_sim_definition(r.sim)->cell_size;
    *t = (tilt){ 0 };
    bool good = run_until(v, &r, 0.5);
    double first = along(&r, start + rate * rp_sim_time(r.sim));
    good = good && run_until(v, &r, (rest - start) / rate);
    t->held = fabs(along(&r, rest) - first) / h;
    good = good && run_until(v, &r, (flow - degree - start) / rate);
    double from = rp_sim_time(r.sim), place = along(&r, start + rate * from);
    good = good && run_until(v, &r, fmin((flow + degree - start) / rate, (last - start) / rate));
    double to = rp_sim_time(r.sim);
    t->flowing = (along(&r, start + rate * to) - place) / (to - from);
    good = good && run_until(v, &r, rp_sim_definition(r.sim)->duration);
    t->stopped = sqrt(2 * r.stats.kinetic_energy / run_mass(&r));
    t->slope = surface_slope(&r, validation_number(v, "half_width"));
    run_close(&r);
    return good;
}

void case_tray(validation *v)
{
    static const struct {
        const char *name, *sampling;
        double factor;
    } runs[] = { { "default sampling", "jittered", 1 },
                 { "on a lattice", "regular", 1 },
                 { "control, 1.3 \xce\xbc", "jittered", 1.3 },
                 { "control, \xce\xbc / 1.3", "jittered", 1 / 1.3 } };
    double mu = validation_number(v, "friction");
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        tilt t;
        if (!tilted(v, runs[k].sampling, runs[k].factor, &t))
            return;
        const char *name = runs[k].name;
        if (runs[k].factor > 1) {
            validation_control(v, CHECK_ABOVE, NULL, validation_number(v, "least_speed"), t.flowing,
                               "%s: speed along the tray about asin \xce\xbc [m/s]", name);
            continue;
        }
        if (runs[k].factor < 1) {
            validation_control(v, CHECK_BELOW, NULL, validation_number(v, "held_cells"), t.held, "%s: way along the tray below atan \xce\xbc [cells]", name);
            continue;
        }
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "held_cells"), t.held,
                         "%s: way along the tray up to half a degree below atan \xce\xbc [cells]", name);
        validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_speed"), t.flowing,
                         "%s: speed along the tray, 1\xc2\xb0 below to 1\xc2\xb0 above asin \xce\xbc [m/s]", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "rest_speed"), t.stopped, "%s: speed when the tray has stood for a while [m/s]", name);
        validation_check(v, CHECK_BELOW, NULL, asin(mu) / degree, t.slope, "%s: slope then, below asin \xce\xbc [degrees]", name);
        validation_check(v, CHECK_ABOVE, NULL, atan(mu) / degree - validation_number(v, "below"), t.slope,
                         "%s: slope then, not far below atan \xce\xbc [degrees]", name);
    }
}
