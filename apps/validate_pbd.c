/* Position-based grains: heaps, deep beds, silos, and the fine grains that follow them. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double degree = 3.14159265358979323846 / 180;

/* ---- heaps on a disc ---- */

typedef struct heap {
    double angle, apex, fastest; /* [degrees], [m], [m/s] */
    int64_t count;               /* grains on the disc */
} heap;

enum { RINGS = 64, SECTORS = 12 };

/* The heap above `level`: its slope from the highest grains of the twelve sectors of rings two radii wide, their mean a ring, between 15 and
 * 85 % of its height. */
static heap heap_of(const run *r, double level, double radius, double disc)
{
    const double *x[3], *v[3];
    double top[RINGS][SECTORS] = { { 0 } }, fx[RINGS], fy[RINGS], slope = 0, offset;
    heap h = { 0 };
    for (int d = 0; d < 3; d++)
        x[d] = run_plane(r, "position", d), v[d] = run_plane(r, "velocity", d);
    int rings = (int)(disc / (2 * radius)), n = 0;
    rings = rings < RINGS ? rings : RINGS;
    for (int64_t i = 0; i < run_count(r); i++) {
        double from = hypot(x[0][i], x[1][i]), z = x[2][i] - level;
        int ring = (int)(from / (2 * radius));
        if (z < 0 || from > disc)
            continue;
        h.count++;
        h.apex = fmax(h.apex, z);
        h.fastest = fmax(h.fastest, sqrt(v[0][i] * v[0][i] + v[1][i] * v[1][i] + v[2][i] * v[2][i]));
        int sector = (int)(SECTORS * (0.5 + atan2(x[1][i], x[0][i]) / (360 * degree)));
        sector = sector < SECTORS ? sector : SECTORS - 1;
        if (ring < rings)
            top[ring][sector] = fmax(top[ring][sector], z);
    }
    for (int k = 2; k < rings; k++) { /* the first rings are narrower than a sector of grains */
        double mean = 0;
        for (int c = 0; c < SECTORS; c++)
            mean += top[k][c] / SECTORS;
        if (mean > 0.15 * h.apex && mean < 0.85 * h.apex)
            fx[n] = (k + 0.5) * 2 * radius, fy[n++] = mean;
    }
    if (n > 2)
        fit_line(fx, fy, n, &slope, &offset, NULL);
    h.angle = atan(-slope) / degree;
    return h;
}

typedef struct heap_settings {
    const char *law;
    double friction, step;
    int sweeps;
} heap_settings;

/* The heap `until` a time, and at another later on (0: none). */
static bool collapse(validation *v, const char *scene, const heap_settings *with, double disc, double until, double later, heap out[2])
{
    settings s = { 0 };
    run r;
    double radius = validation_number(v, "radius"), level = validation_number(v, "level");
    setting(&s, "pbd.contact=%s", with->law);
    setting(&s, "pbd.friction=%.17g", with->friction);
    setting(&s, "pbd.step=%.17g", with->step);
    setting(&s, "pbd.sweeps=%d", with->sweeps);
    if (!run_open(v, &r, scene, s.list))
        return false;
    bool good = run_until(v, &r, until);
    out[0] = heap_of(&r, level, radius, disc);
    if (good && later > until)
        good = run_until(v, &r, later);
    out[1] = heap_of(&r, level, radius, disc);
    run_close(&r);
    return good;
}

/* Poured and collapsed heaps with other settings, against many short steps. */
static bool heap_settings_matter(validation *v, const char *scene, const char *how, double disc, double until)
{
    static const heap_settings runs[] = { { "cone", 0.2, 0.00125, 10 }, { "cone", 0.2, 0.005, 3 },  { "cone", 0.2, 0.005, 5 },
                                          { "cone", 0.2, 0.005, 10 },   { "cone", 0.2, 0.0025, 5 } };
    double best = 0;
    for (int k = 0; k < (int)(sizeof runs / sizeof *runs); k++) {
        heap h[2];
        if (!collapse(v, scene, &runs[k], disc, until, 0, h))
            return false;
        if (k == 0)
            best = h[0].angle;
        else
            validation_check(v, CHECK_ABSOLUTE, "settings", best, h[0].angle, "%s, %g ms and %d sweeps: angle [degrees]", how,
                             1e3 * runs[k].step, runs[k].sweeps);
    }
    return true;
}

void case_pbd_heap(validation *v)
{
    static const heap_settings runs[] = { { "cone", 0.1, 0.005, 5 }, { "cone", 0.2, 0.005, 5 }, { "cone", 0.35, 0.005, 5 } };
    static const double expected[] = { 20.9, 33.2, 47.2 }; /* bench_heap_springs */
    double disc = validation_number(v, "disc"), before = 0, radius = validation_number(v, "radius");
    for (int k = 0; k < 3; k++) {
        heap h[2];
        if (!collapse(v, "scene.yaml", &runs[k], disc, 5, k == 1 ? 60 : 0, h))
            return;
        validation_check(v, CHECK_ABSOLUTE, k == 2 ? "steep" : "angle", expected[k], h[0].angle, "friction %g: angle [degrees]", runs[k].friction);
        validation_check(v, CHECK_ABOVE, NULL, before, h[0].angle, "friction %g: steeper than with less", runs[k].friction);
        before = h[0].angle;
        if (k != 1)
            continue;
        validation_check(v, CHECK_BELOW, NULL, 0, (double)(h[0].count - h[1].count), "grains lost from 5 s to 60 s, of %lld", (long long)h[0].count);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "speed"), h[1].fastest, "fastest grain at 60 s [m/s]");
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "apex"), fabs(h[1].apex - h[0].apex) / radius, "way of the top from 5 s to 60 s, in radii");
    }
    for (int k = 0; k < 2; k++) {
        heap_settings law = { k ? "seed" : "macklin", 0.2, 0.005, 5 };
        heap h[2];
        if (!collapse(v, "scene.yaml", &law, disc, 5, 8, h))
            return;
        validation_control(v, CHECK_BELOW, NULL, 0, (double)(h[0].count - h[1].count), "control, %s: grains lost from 5 s to 8 s", law.law);
    }
    if (heap_settings_matter(v, "scene.yaml", "collapsed", disc, 5))
        heap_settings_matter(v, "scene-poured.yaml", "poured", 0.36, 12);
}

/* ---- beds ---- */

static double extra_of(const run *r, const char *name)
{
    for (int k = 0; k < r->stats.extra_count; k++)
        if (strcmp(r->stats.extra_name[k], name) == 0)
            return r->stats.extra[k];
    return NAN;
}

static void bowl(validation *v)
{
    run r;
    rp_body_state body;
    if (!run_open(v, &r, "scene.yaml", NULL))
        return;
    if (run_until(v, &r, 3) && rp_sim_body(r.sim, 0, &body) == RP_OK) {
        double count = (double)run_count(&r), weight = 9.81 * run_mass(&r);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "moving"), extra_of(&r, "moving") / count,
                         "bowl: part of %g grains faster than 2 cm/s", count);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "overlap"), extra_of(&r, "overlap"), "bowl: largest overlap, in diameters");
        validation_check(v, CHECK_RELATIVE, "force", weight, -body.force[2], "bowl: force on it [N]");
    }
    run_close(&r);
}

/* The part of the grains in the middle of the layer that are farther than `far` from their places in `from`; by id. */
static double part_gone(const run *r, double *from, bool remember, double far)
{
    rp_field_view id;
    double gone = 0, all = 0;
    if (rp_sim_field_named(r->sim, "id", &id) != RP_OK)
        return NAN;
    for (int64_t i = 0; i < run_count(r); i++) {
        double way = 0, *was = from + 3 * ((const int64_t *)id.data)[i];
        for (int d = 0; d < 3; d++) {
            double x = run_plane(r, "position", d)[i];
            if (remember)
                was[d] = x;
            way += (x - was[d]) * (x - was[d]);
        }
        bool middle = fabs(was[0]) < 0.2;
        all += middle;
        gone += middle && way > far * far;
    }
    return gone / all;
}

static void tilt(validation *v)
{
    run r;
    double rests = validation_number(v, "layer_rests"), flows = validation_number(v, "layer_flows"), failed = NAN, radius = 0.02;
    if (!run_open(v, &r, "scene-tilt.yaml", NULL))
        return;
    double *from = calloc(3 * (size_t)run_count(&r) + 3, sizeof *from);
    bool good = from && run_until(v, &r, 1);
    if (good)
        part_gone(&r, from, true, radius);
    double start = rp_sim_time(r.sim), way = 0;
    for (double angle = 0; good && angle < flows && !(failed > 0); angle = rp_sim_time(r.sim) - start) {
        double g[3] = { 9.81 * sin(angle * degree), 0, -9.81 * cos(angle * degree) };
        good = rp_sim_set_gravity(r.sim, g) == RP_OK && run_step(v, &r);
        way = angle <= rests ? part_gone(&r, from, false, 0.5 * radius) : way;
        if (part_gone(&r, from, false, radius) > 0.03)
            failed = angle;
    }
    if (good) {
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "moving"), way,
                         "layer: part of the grains that went half a radius up to %g degrees", rests);
        validation_check(v, CHECK_BELOW, NULL, flows, failed > 0 ? failed : INFINITY, "layer: angle at which 3 %% of the grains have gone a radius [degrees]");
    }
    free(from);
    run_close(&r);
}

void case_pbd_rest(validation *v)
{
    bowl(v);
    if (!v->trouble[0])
        tilt(v);
}

/* ---- silo ---- */

/* Mean load on the floor from 2 s to 4 s and weight [N], and height of the grains. */
static bool silo_load(validation *v, double fill, double wall, double *load, double *weight, double *height)
{
    settings s = { 0 };
    run r;
    rp_body_state floor;
    int steps = 0;
    setting(&s, "grains.0.shape.cylinder.to=[0, 0, %.17g]", fill);
    setting(&s, "bodies.1.surface=%.17g", wall);
    if (!run_open(v, &r, "scene.yaml", s.list))
        return false;
    bool good = run_until(v, &r, 2);
    *load = 0;
    for (; good && rp_sim_time(r.sim) < 4; steps++) {
        good = run_step(v, &r) && rp_sim_body(r.sim, 0, &floor) == RP_OK;
        *load -= good ? floor.force[2] : 0;
    }
    *load /= steps ? steps : 1;
    *weight = 9.81 * run_mass(&r);
    *height = 2 * (run_mean(&r, "position", 2) + 0.005 * rp_sim_time(r.sim));
    run_close(&r);
    return good;
}

void case_pbd_janssen(validation *v)
{
    enum { FILLS = 3 };
    static const double fills[FILLS] = { 0.35, 0.7, 1.4 };
    double load[FILLS], weight[FILLS], height[FILLS], smooth, all, top;
    for (int k = 0; k < FILLS; k++)
        if (!silo_load(v, fills[k], 0.35, &load[k], &weight[k], &height[k]))
            return;
    /* L of the least sum of squared relative differences to  F = (W / H) L (1 - exp(-H / L)) */
    double best = INFINITY, length = 0;
    for (double l = 0.02; l < 2; l *= 1.005) {
        double sum = 0;
        for (int k = 0; k < FILLS; k++) {
            double off = weight[k] / height[k] * l * (1 - exp(-height[k] / l)) / load[k] - 1;
            sum += off * off;
        }
        if (sum < best)
            best = sum, length = l;
    }
    for (int k = 0; k < FILLS; k++)
        validation_check(v, CHECK_RELATIVE, "load", weight[k] / height[k] * length * (1 - exp(-height[k] / length)), load[k],
                         "load on the floor under %.2f m, L = %.3f m [N]", height[k], length);
    if (!silo_load(v, fills[FILLS - 1], 0, &smooth, &all, &top))
        return;
    validation_check(v, CHECK_RELATIVE, "weight", all, smooth, "smooth walls: load on the floor [N]");
    validation_check(v, CHECK_ABOVE, NULL, 2, smooth / load[FILLS - 1], "smooth walls: times the load of rough ones");
}

/* ---- fine grains ---- */

typedef struct fine {
    rp_upsample *grains;
    rp_body_state *bodies;
    const rp_shape **shapes;
    rp_frame frame;
    double *was, *mean; /* places by id; planes of places and mean velocities in the order of the store */
    int64_t capacity;
    double lower[3], guide;
} fine;

static void fine_close(fine *f)
{
    rp_upsample_destroy(f->grains);
    free(f->bodies), free(f->shapes), free(f->was), free(f->mean);
    *f = (fine){ 0 };
}

static bool fine_open(validation *v, const run *r, double radius, bool as_printed, fine *f)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    rp_upsample_def d = rp_default_upsample_def();
    *f = (fine){ .capacity = run_count(r) + 1 };
    f->frame.body_count = rp_sim_body_count(r->sim);
    f->bodies = calloc((size_t)f->frame.body_count + 1, sizeof *f->bodies);
    f->shapes = calloc((size_t)f->frame.body_count + 1, sizeof *f->shapes);
    f->was = calloc(3 * (size_t)f->capacity, sizeof *f->was);
    f->mean = calloc(6 * (size_t)f->capacity, sizeof *f->mean);
    if (!f->bodies || !f->shapes || !f->was || !f->mean)
        return false;
    for (int b = 0; b < f->frame.body_count; b++)
        rp_sim_body(r->sim, b, &f->bodies[b]);
    f->frame.bodies = f->bodies;
    d.room = rp_samples_def_of(def, f->shapes);
    d.radius = radius;
    d.as_printed = as_printed;
    memcpy(d.gravity, def->gravity, sizeof d.gravity);
    memcpy(f->lower, def->lower, sizeof f->lower);
    f->guide = d.guide_radius = cbrt(run_plane(r, "volume", 0)[0] / 4.1887902047863905);
    bool good = rp_upsample_create(&d, &f->grains) == RP_OK;
    for (int g = 0; g < def->grains_count && good; g++)
        good = rp_upsample_fill(f->grains, def->grains[g].shape, &f->frame) == RP_OK;
    if (!good)
        validation_trouble(v, "upsampling: %s", rp_last_error());
    return good;
}

static bool fine_frame(validation *v, run *r, fine *f)
{
    rp_field_view id;
    double start = rp_sim_time(r->sim);
    rp_guides g = { .count = run_count(r) };
    for (int pass = 0; pass < 2; pass++) {
        if (rp_sim_field_named(r->sim, "id", &id) != RP_OK)
            return false;
        double dt = rp_sim_time(r->sim) - start;
        for (int d = 0; d < 3; d++) {
            const double *x = run_plane(r, "position", d);
            double *from = f->mean + d * f->capacity, *speed = f->mean + (3 + d) * f->capacity;
            for (int64_t i = 0; i < g.count; i++) {
                double *was = f->was + 3 * ((const int64_t *)id.data)[i] + d;
                if (pass == 0)
                    *was = x[i];
                else
                    from[i] = *was, speed[i] = (x[i] - *was) / dt;
            }
            g.x[d] = from, g.v[d] = speed;
        }
        do
            if (pass == 0 && !run_step(v, r))
                return false;
        while (pass == 0 && !rp_sim_at_frame(r->sim));
    }
    if (rp_upsample_step(f->grains, &g, &f->frame, 0, rp_sim_time(r->sim) - start) == RP_OK)
        return true;
    validation_trouble(v, "upsampling: %s", rp_last_error());
    return false;
}

static double fine_mean_height(const fine *f)
{
    const float *x[3];
    double sum = 0;
    rp_upsample_view(f->grains, x, NULL, NULL);
    for (int64_t i = 0; i < rp_upsample_count(f->grains); i++)
        sum += (double)x[2][i];
    return sum / (double)rp_upsample_count(f->grains) + f->lower[2];
}

static int64_t fine_below(const fine *f, double level)
{
    const float *x[3];
    int64_t below = 0;
    rp_upsample_view(f->grains, x, NULL, NULL);
    for (int64_t i = 0; i < rp_upsample_count(f->grains); i++)
        below += (double)x[2][i] + f->lower[2] < level;
    return below;
}

static void hourglass(validation *v, bool as_printed)
{
    run r;
    fine f = { 0 };
    double neck = validation_number(v, "neck"), balls = 0;
    if (!run_open(v, &r, "../../scenes/hourglass-pbd.yaml", NULL))
        return;
    bool good = fine_open(v, &r, validation_number(v, "fine"), as_printed, &f);
    double lr = run_mean(&r, "position", 2), hr = good ? fine_mean_height(&f) : 0;
    while (good && rp_sim_time(r.sim) < validation_number(v, "until"))
        good = fine_frame(v, &r, &f);
    for (int64_t i = 0; i < run_count(&r) && good; i++)
        balls += run_plane(&r, "position", 2)[i] < neck;
    if (good) {
        double ours = (double)fine_below(&f, neck) / (double)rp_upsample_count(f.grains), theirs = balls / (double)run_count(&r);
        double apart = fabs((fine_mean_height(&f) - hr) - (run_mean(&r, "position", 2) - lr));
        double falling = (double)rp_upsample_statistics(f.grains).falling / (double)rp_upsample_count(f.grains);
        if (as_printed)
            validation_control(v, CHECK_RELATIVE, "flux", theirs, ours, "control, as printed: part of the fine grains through the neck");
        else {
            validation_check(v, CHECK_RELATIVE, "flux", theirs, ours, "part of the fine grains through the neck, against that of the balls");
            validation_check(v, CHECK_ABSOLUTE, "centre", 0, apart, "difference of the ways of the centres of mass [m]");
            validation_check(v, CHECK_BELOW, NULL, 0.06, falling, "part of the fine grains on which gravity acts");
        }
    }
    fine_close(&f);
    run_close(&r);
}

static void bed(validation *v)
{
    run r;
    fine f = { 0 };
    if (!run_open(v, &r, "scene-bed.yaml", NULL))
        return;
    bool good = fine_open(v, &r, validation_number(v, "fine"), false, &f);
    while (good && rp_sim_time(r.sim) < 4)
        good = fine_frame(v, &r, &f);
    int64_t n = good ? rp_upsample_count(f.grains) : 0;
    const float *x[3];
    double height = good ? fine_mean_height(&f) : 0, most = 0;
    float *was = calloc(3 * (size_t)n + 3, sizeof *was);
    good = good && was;
    if (good)
        rp_upsample_view(f.grains, x, NULL, NULL);
    for (int d = 0; d < 3 && good; d++)
        memcpy(was + d * n, x[d], sizeof *was * (size_t)n);
    while (good && rp_sim_time(r.sim) < 64)
        good = fine_frame(v, &r, &f);
    if (good && rp_upsample_count(f.grains) == n) {
        rp_upsample_view(f.grains, x, NULL, NULL);
        for (int64_t i = 0; i < n; i++) {
            double a = (double)(x[0][i] - was[i]), b = (double)(x[1][i] - was[n + i]), c = (double)(x[2][i] - was[2 * n + i]);
            most = fmax(most, sqrt(a * a + b * b + c * c));
        }
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "farthest"), most / f.guide,
                         "bed: farthest way of a fine grain from 4 s to 64 s, in radii of a ball");
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "drift"), fabs(fine_mean_height(&f) - height) / f.guide,
                         "bed: drift of the mean height, in radii of a ball");
    }
    free(was);
    fine_close(&f);
    run_close(&r);
}

void case_pbd_fine(validation *v)
{
    hourglass(v, false);
    hourglass(v, true);
    bed(v);
}
