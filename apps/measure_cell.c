/* The shear cell: grains between two plates with ridges, periodic along the flow. The upper plate is free to rise under a constant
 * pressure, the lower one is drawn along; no gravity. Rates come from the velocities in the middle half, so that slip at the plates does
 * not count; mu is the mean shear force on the lower plate over the mean normal force. */
#include "measure.h"
#include "run_loop.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RIDGES 1.5      /* diameters from one ridge to the next */
#define PRESSURE 10     /* P = 10 rho g d: only the unit of time depends on it */
#define CARE 0.5        /* steps are at most this part of d sqrt(rho / P) … */
#define STRAIN_STEP 0.02 /* … and shear by at most this */

typedef struct text {
    char *at;
    size_t used, size;
} text;

static void say(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->at + t->used, t->size - t->used, format, arguments);
    va_end(arguments);
    t->used += n > 0 && t->used + (size_t)n < t->size ? (size_t)n : 0;
}

/* The lines of a top-level key of a formatted scene. */
static void say_block(text *t, const char *yaml, const char *key)
{
    char start[64];
    snprintf(start, sizeof start, "\n%s:", key);
    const char *from = strstr(yaml, start), *to;
    if (!from)
        return;
    for (to = from + 1; *to; to++)
        if (to[0] == '\n' && to[1] != ' ' && to[1] != '\n')
            break;
    say(t, "%.*s\n", (int)(to - from - 1), from + 1);
}

static double value_of(const rp_field_view *field, int component, int64_t i)
{
    return ((const double *)field->data)[component * field->stride + i];
}

typedef struct sizes {
    double mean, largest, density;
} sizes;

static rp_result look_at_grains(const rp_scene *scene, sizes *out)
{
    rp_sim *sim = NULL;
    rp_result result = rp_sim_create(rp_scene_sim_def(scene), &sim);
    if (result != RP_OK)
        return result;
    rp_field_view radius, mass, volume;
    int64_t n = rp_sim_particle_count(sim);
    result = n ? rp_sim_field_named(sim, "radius", &radius) : RP_BAD_ARGUMENT;
    if (result == RP_OK)
        result = rp_sim_field_named(sim, "mass", &mass);
    if (result == RP_OK)
        result = rp_sim_field_named(sim, "volume", &volume);
    double sum = 0, m = 0, v = 0;
    *out = (sizes){ 0 };
    for (int64_t i = 0; i < n && result == RP_OK; i++) {
        double d = 2 * value_of(&radius, 0, i);
        sum += d;
        m += value_of(&mass, 0, i);
        v += value_of(&volume, 0, i);
        out->largest = d > out->largest ? d : out->largest;
    }
    if (result == RP_OK) {
        out->mean = sum / (double)n;
        out->density = m / v;
    }
    rp_sim_destroy(sim);
    return result;
}

/* A plate with ridges across the flow, at `height`; `up` is the side of the grains. */
static void say_plate(text *t, const shear_cell *c, const char *name, double length, double width, double height, double d, int up, const char *more)
{
    double thick = 2 * d;
    say(t, "  - {name: %s, surface: 1, %s, shape: {union: [", name, more);
    if (c->dim == 2)
        say(t, "{box: {lower: [%.9g, %.9g], upper: [%.9g, %.9g]}}", -4 * d, up > 0 ? height - thick : height, length + 4 * d, up > 0 ? height : height + thick);
    else
        say(t, "{box: {lower: [%.9g, %.9g, %.9g], upper: [%.9g, %.9g, %.9g]}}", -4 * d, -d, up > 0 ? height - thick : height, length + 4 * d, width + d,
            up > 0 ? height : height + thick);
    int ridges = (int)lround(length / (RIDGES * d));
    double apart = length / ridges;
    for (int k = -2; k < ridges + 2; k++) {
        double x = (k + 0.5) * apart;
        if (c->dim == 2)
            say(t, ", {cylinder: {from: [%.9g, %.9g, %.9g], to: [%.9g, %.9g, %.9g], radius: %.9g}}", x, height, -d, x, height, d, 0.5 * d);
        else
            say(t, ", {cylinder: {from: [%.9g, %.9g, %.9g], to: [%.9g, %.9g, %.9g], radius: %.9g}}", x, -d, height, x, width + d, height, 0.5 * d);
    }
    say(t, "]}}\n");
}

/* The cell as a scene. */
static rp_result make_cell(const rp_scene *scene, const shear_cell *c, const sizes *s, double pressure, rp_scene **out)
{
    enum { ROOM = 1 << 18 };
    char *yaml = NULL;
    rp_result result = rp_scene_format(scene, &yaml);
    if (result != RP_OK)
        return result;
    text t = { malloc(ROOM), 0, ROOM };
    if (!t.at) {
        rp_text_free(yaml);
        return RP_OUT_OF_MEMORY;
    }
    double cell = 1.02 * s->largest, length = c->wide * cell, width = c->deep * cell, bottom = 4 * cell, top = bottom + (c->high + 2) * cell;
    double area = c->dim == 2 ? length : length * width;
    double mass = 10 * s->density * area * s->mean;
    char more[256];
    say(&t,
        "title: A shear cell\nmethod: contact\ncell_size: %.9g\nduration: 1e6\nframe_rate: 1e-6\ncfl: 100\ngravity: 0\noutside: "
        "clamp\nspeed_limit: 1e6\n",
        cell);
    if (c->dim == 2)
        say(&t, "domain: [%.9g, %.9g]\nwalls: {all: open, x: periodic}\n", length, (c->high + 16) * cell);
    else
        say(&t, "domain: [%.9g, %.9g, %.9g]\nwalls: {all: open, x: periodic, y: periodic}\n", length, width, (c->high + 16) * cell);
    say_block(&t, yaml, "contact");
    say_block(&t, yaml, "materials");
    rp_text_free(yaml);
    if (c->dim == 2)
        say(&t, "grains:\n  - {shape: {box: {lower: [0, %.9g], upper: [%.9g, %.9g]}}, sampling: regular, per_cell: 1}\n", bottom + cell, length,
            bottom + (1 + c->high) * cell);
    else
        say(&t, "grains:\n  - {shape: {box: {lower: [0, 0, %.9g], upper: [%.9g, %.9g, %.9g]}}, sampling: regular, per_cell: 1}\n", bottom + cell, length, width,
            bottom + (1 + c->high) * cell);
    say(&t, "bodies:\n");
    say_plate(&t, c, "lower", length, width, bottom + 0.4 * cell, s->mean, 1, "kind: scripted");
    if (c->dim == 2)
        snprintf(more, sizeof more, "kind: free, mass: %.9g, force: [0, %.9g], linear_damping: %.9g, joint: {kind: slider, axis: [0, 1, 0]}", mass,
                 -pressure * area, 0.5 / (s->mean * sqrt(s->density / pressure)));
    else
        snprintf(more, sizeof more, "kind: free, mass: %.9g, force: [0, 0, %.9g], linear_damping: %.9g, joint: {kind: slider, axis: [0, 0, 1]}",
                 mass, -pressure * area, 0.5 / (s->mean * sqrt(s->density / pressure)));
    say_plate(&t, c, "upper", length, width, top, s->mean, -1, more);
    char set[64];
    snprintf(set, sizeof set, "contact.diameter=%.17g", s->mean);
    const char *sets[] = { set, "contact.tolerance=1e-3", "contact.tolerance_max=1e-2" }; /* mu is a mean over hundreds of steps */
    rp_scene_options options = { sets, 3 };
    result = rp_scene_parse(t.at, "shear cell", NULL, &options, out);
    free(t.at);
    return result;
}

/* Slope of the velocity along x over height, and the volume of grains, in the middle half between `low` and `high`. */
static bool look_inside(const rp_sim *sim, int up, double low, double high, double *rate, double *volume)
{
    rp_field_view x, v, part;
    if (rp_sim_field_named(sim, "position", &x) != RP_OK || rp_sim_field_named(sim, "velocity", &v) != RP_OK ||
        rp_sim_field_named(sim, "volume", &part) != RP_OK)
        return false;
    double n = 0, sz = 0, sv = 0, szz = 0, szv = 0, quarter = 0.25 * (high - low);
    *volume = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
        double z = value_of(&x, up, i), u = value_of(&v, 0, i);
        if (z < low + quarter || z > high - quarter)
            continue;
        n++, sz += z, sv += u, szz += z * z, szv += z * u;
        *volume += value_of(&part, 0, i);
    }
    double spread = n * szz - sz * sz;
    *rate = spread > 0 ? (n * szv - sz * sv) / spread : 0;
    return n > 2;
}

typedef struct cell_run {
    rp_sim *sim;
    const shear_cell *c;
    sizes s;
    double pressure, unit, thick, area, apart, shift; /* unit: d sqrt(rho / P); shift of the lower plate, within a ridge */
    double low, high, upper_start;                   /* surfaces of the plates at the start; where the upper one was told to be */
} cell_run;

/* One step with the lower plate at speed v; a plate that has gone by one ridge is the plate that was. */
static rp_result draw(cell_run *r, double v, double dt, rp_step_stats *stats)
{
    const double still[3] = { 0, 0, 0 }, velocity[3] = { v, 0, 0 }, upright[4] = { 1, 0, 0, 0 };
    rp_result result = RP_OK;
    if (r->shift > r->apart) {
        r->shift = fmod(r->shift, r->apart);
        double position[3] = { r->shift, 0, 0 };
        result = rp_sim_set_body_pose(r->sim, 0, position, upright);
    }
    if (result == RP_OK)
        result = rp_sim_set_body_velocity(r->sim, 0, velocity, still);
    if (result == RP_OK)
        result = rp_sim_step_to(r->sim, rp_sim_time(r->sim) + dt, stats);
    r->shift += v * dt;
    return result;
}

static void mean_and_error(const double *x, int n, double *mean, double *error)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *error = n > 1 ? sqrt(square / (n - 1) / n) : 0;
}

static rp_result measure_rate(cell_run *r, double inertial, shear_point *p)
{
    int up = r->c->dim - 1;
    double v = inertial / r->unit * r->thick, dt = fmin(CARE * r->unit, STRAIN_STEP * r->unit / inertial);
    int64_t steps = (int64_t)ceil(r->c->strain * r->thick / (v * dt)), block = steps / MEASURE_BLOCKS + 1;
    double mu[MEASURE_BLOCKS], number[MEASURE_BLOCKS], fractions = 0;
    *p = (shear_point){ 0 };
    for (int b = -2; b < MEASURE_BLOCKS; b++) { /* two blocks are lost to what was before */
        double shear = 0, normal = 0, rates = 0;
        for (int64_t k = 0; k < block; k++) {
            rp_step_stats stats;
            rp_body_state lower, upper;
            double rate, volume;
            rp_result result = draw(r, v, dt, &stats);
            if (result == RP_OK)
                result = rp_sim_body(r->sim, 0, &lower);
            if (result == RP_OK)
                result = rp_sim_body(r->sim, 1, &upper);
            if (result != RP_OK)
                return result;
            double low = r->low, high = r->high + upper.position[up] - r->upper_start;
            if (!look_inside(r->sim, up, low, high, &rate, &volume)) {
                fprintf(stderr, "repose measure: no grains are left between the plates\n");
                return RP_DIVERGED;
            }
            p->steps++;
            p->unconverged += !stats.converged;
            shear += lower.force[0];
            normal -= lower.force[up];
            rates -= rate;
            if (b >= 0)
                fractions += volume / (0.5 * (high - low) * r->area);
        }
        if (b >= 0) {
            mu[b] = normal > 0 ? -shear / normal : 0;
            number[b] = rates / (double)block * r->unit;
        }
    }
    p->fraction = fractions / (double)(block * MEASURE_BLOCKS);
    mean_and_error(mu, MEASURE_BLOCKS, &p->mu, &p->mu_error);
    mean_and_error(number, MEASURE_BLOCKS, &p->inertial, &p->inertial_error);
    return RP_OK;
}

/* Before the first rate: the upper plate comes down until it has been carried for a while. */
static rp_result press(cell_run *r)
{
    enum { MOST = 2000, CARRIED = 20 };
    int carried = 0;
    for (int k = 0; k < MOST && carried < CARRIED; k++) {
        rp_step_stats stats;
        rp_body_state lower;
        rp_result result = draw(r, 0.1 * r->s.mean / r->unit, CARE * r->unit, &stats);
        if (result == RP_OK)
            result = rp_sim_body(r->sim, 0, &lower);
        if (result != RP_OK)
            return result;
        carried += -lower.force[r->c->dim - 1] > 0.5 * r->pressure * r->area;
    }
    return RP_OK;
}

rp_result shear_measure(const rp_scene *scene, const shear_cell *c, shear_point *points, double *diameter, double *density)
{
    cell_run r = { .c = c };
    rp_scene *cell = NULL;
    rp_result result = look_at_grains(scene, &r.s);
    if (result != RP_OK)
        return result;
    *diameter = r.s.mean;
    *density = r.s.density;
    r.pressure = PRESSURE * r.s.density * 9.81 * r.s.mean;
    r.unit = r.s.mean * sqrt(r.s.density / r.pressure);
    double spacing = 1.02 * r.s.largest, length = c->wide * spacing;
    r.thick = c->high * spacing;
    r.area = c->dim == 2 ? length : length * c->deep * spacing;
    r.apart = length / lround(length / (RIDGES * r.s.mean));
    result = make_cell(scene, c, &r.s, r.pressure, &cell);
    if (result == RP_OK)
        result = rp_sim_create(rp_scene_sim_def(cell), &r.sim);
    rp_body_state upper;
    if (result == RP_OK)
        result = rp_sim_body(r.sim, 1, &upper);
    if (result == RP_OK) {
        rp_sim_set_threads(r.sim, c->threads);
        r.upper_start = upper.position[c->dim - 1];
        r.low = 4.4 * spacing;
        r.high = (4 + c->high + 2) * spacing;
    }
    if (result == RP_OK)
        result = press(&r);
    for (int k = 0; k < c->rates && result == RP_OK; k++) {
        result = measure_rate(&r, c->rate[k], &points[k]);
        if (result == RP_OK && !c->quiet)
            fprintf(stderr, "I %.4f +- %.4f  mu %.4f +- %.4f  fraction %.3f  (%lld steps, %lld not converged)\n", points[k].inertial,
                    points[k].inertial_error, points[k].mu, points[k].mu_error, points[k].fraction, (long long)points[k].steps,
                    (long long)points[k].unconverged);
    }
    rp_sim_destroy(r.sim);
    rp_scene_destroy(cell);
    return result;
}

/* ---- the law ---- */

/* I_0 is sought from 0.02 to 1: far beyond the rates measured only (mu_2 - mu_s) / I_0 is known.
 * With I_0 given, mu_s and mu_2 - mu_s are a weighted line in 1 / (1 + I_0 / I). */
static double fit_line(const double *inertial, const double *mu, const double *error, int n, double i_0, double *mu_s, double *rise)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        double weight = 1 / (error[i] * error[i]), x = 1 / (1 + i_0 / inertial[i]);
        w += weight, wx += weight * x, wy += weight * mu[i], wxx += weight * x * x, wxy += weight * x * mu[i];
    }
    double det = w * wxx - wx * wx;
    *rise = det > 0 ? (w * wxy - wx * wy) / det : 0;
    *mu_s = (wy - *rise * wx) / w;
    for (int i = 0; i < n; i++) {
        double off = (*mu_s + *rise / (1 + i_0 / inertial[i]) - mu[i]) / error[i];
        sum += off * off;
    }
    return sum;
}

static double fit_once(const double *inertial, const double *mu, const double *error, int n, double *mu_s, double *mu_2, double *i_0)
{
    double best = INFINITY, a, b;
    for (int k = 0; k <= 85; k++) {
        double at = 0.02 * pow(10, k / 50.0), sum = fit_line(inertial, mu, error, n, at, &a, &b);
        if (sum < best) {
            best = sum;
            *mu_s = a, *mu_2 = a + b, *i_0 = at;
        }
    }
    return best;
}

/* Errors: the spread of fits to points that are moved by their own errors. */
bool shear_fit_law(const shear_point *points, int count, shear_fit *fit)
{
    enum { DRAWS = 200 };
    double inertial[RATES_MOST], mu[RATES_MOST], error[RATES_MOST], moved[RATES_MOST], value[3][DRAWS], mean, at[3];
    uint64_t seed = 88172645463325252u;
    int n = 0;
    for (int i = 0; i < count; i++)
        if (points[i].inertial > 0 && points[i].mu > 0) {
            inertial[n] = points[i].inertial;
            mu[n] = points[i].mu;
            error[n++] = fmax(points[i].mu_error, 1e-3 * points[i].mu);
        }
    if (n < 3)
        return false;
    fit->misfit = sqrt(fit_once(inertial, mu, error, n, &fit->mu_s, &fit->mu_2, &fit->i_0) / n);
    for (int k = 0; k < DRAWS; k++) {
        for (int i = 0; i < n; i++) {
            double normal = -6; /* sum of twelve even numbers */
            for (int j = 0; j < 12; j++) {
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                normal += (double)(seed >> 11) / 9007199254740992.0;
            }
            moved[i] = mu[i] + error[i] * normal;
        }
        fit_once(inertial, moved, error, n, &at[0], &at[1], &at[2]);
        for (int j = 0; j < 3; j++)
            value[j][k] = at[j];
    }
    double *errors[] = { &fit->mu_s_error, &fit->mu_2_error, &fit->i_0_error };
    for (int j = 0; j < 3; j++) {
        mean_and_error(value[j], DRAWS, &mean, errors[j]);
        *errors[j] *= sqrt(DRAWS);
    }
    return true;
}
