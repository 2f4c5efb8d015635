/* A smooth wall moved slowly out of and into sand: Rankine's thrusts, and the balance of energy. */
#include "validate.h"

#include <math.h>
#include <string.h>

static const double gravity = 9.81;

enum { MOST = 4096 };

typedef struct wall_run {
    const char *name, *sampling;
    double direction; /* 1: into the sand */
    double friction_factor;
    double start;      /* the wall stands before */
    const char *sweeps; /* at most, or NULL */
} wall_run;

typedef struct thrusts {
    double time[MOST], ratio[MOST]; /* K, see thrust_ratio */
    int count;
    double work, made, spread; /* of the wall; energy beyond it; potential and kinetic energy that moved */
} thrusts;

static double energy_of(const run *r)
{
    return r->stats.kinetic_energy + r->stats.potential_energy;
}

/* K such that the thrust is K times what the weight of the grains pushes with where pressure is the same in all directions. On a smooth floor all of the sand
 * moves, and wherever it yields along and across the wall, horizontal stress is K times the vertical one. The work of both in a field that is stretched
 * along the floor as it is pressed down gives thrust × length = K × sum m g y, whatever the shape of the surface. */
static double thrust_ratio(const run *r, double thrust, double wall)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    const double *y = run_plane(r, "position", 1), *mass = run_plane(r, "mass", 0);
    double sum = 0;
    for (int64_t i = 0; i < run_count(r); i++)
        sum += mass[i] * gravity * (y[i] - def->lower[1]);
    return thrust * (def->upper[0] - wall) / sum;
}

static bool measure(validation *v, const wall_run *w, double friction, thrusts *t)
{
    double speed = w->direction * validation_number(v, "speed"), mu = friction * w->friction_factor;
    settings set = { 0 };
    setting(&set, "material.friction=%.17g", mu);
    setting(&set, "grains.sampling=%s", w->sampling);
    setting(&set, "bodies.0.motion=\"%.17g * math.max(0, t - %.17g), 0, 0\"", speed, w->start);
    if (w->sweeps)
        setting(&set, "nonsmooth.max_iterations=%s", w->sweeps);
    run r;
    if (!run_open(v, &r, "scene.yaml", set.list))
        return false;
    double first = NAN, least = INFINITY, own = 0;
    *t = (thrusts){ 0 };
    bool good = true;
    while (!rp_sim_done(r.sim) && t->count < MOST && (good = run_step(v, &r))) {
        rp_body_state wall;
        if (rp_sim_body(r.sim, 0, &wall) != RP_OK)
            break;
        own += wall.force[0] * wall.velocity[0] * r.stats.dt; /* work of the grains on the wall */
        t->work = -own;
        first = isnan(first) ? energy_of(&r) - t->work : first;
        double left = energy_of(&r) - t->work; /* falls by what is dissipated */
        least = fmin(least, left);
        t->made = fmax(t->made, left - least);
        t->time[t->count] = rp_sim_time(r.sim);
        t->ratio[t->count++] = thrust_ratio(&r, -wall.force[0], wall.position[0]);
    }
    t->spread = fabs(energy_of(&r) - first);
    run_close(&r);
    return good;
}

/* Mean by time from `from` to `to`, each sample for the step it ends. */
static double mean_between(const thrusts *t, double from, double to)
{
    double sum = 0, time = 0;
    for (int i = 1; i < t->count; i++)
        if (t->time[i] > from && t->time[i] <= to)
            sum += t->ratio[i] * (t->time[i] - t->time[i - 1]), time += t->time[i] - t->time[i - 1];
    return sum / time;
}

void case_wall_thrust(validation *v)
{
    static const wall_run runs[] = {
        { "into the sand", "regular", 1, 1, 0, NULL },
        { "into the sand, default sampling", "jittered", 1, 1, 0, NULL },
        { "out of the sand", "regular", -1, 1, 0, NULL },
        { "out of the sand, default sampling", "jittered", -1, 1, 0, NULL },
        { "into a bed at rest", "regular", 1, 1, 0.6, NULL },
        { "into a bed at rest, default sampling", "jittered", 1, 1, 0.6, NULL },
        { "out of a bed at rest", "regular", -1, 1, 0.6, NULL },
        { "control, into the sand, 1.3 \xce\xbc", "regular", 1, 1.3, 0, NULL },
        { "control, out of the sand, 1.3 \xce\xbc", "regular", -1, 1.3, 0, NULL },
        { "control, into a bed at rest, 100 sweeps a step", "regular", 1, 1, 0.6, "100" },
    };
    enum { RUNS = sizeof runs / sizeof *runs };
    static thrusts all[RUNS];
    rp_plot_line lines[RUNS];
    double sine = validation_number(v, "friction"), passive = (1 + sine) / (1 - sine), begin = validation_number(v, "begin"), end = validation_number(v, "end");
    for (int k = 0; k < RUNS; k++) {
        thrusts *t = &all[k];
        if (!measure(v, &runs[k], sine, t))
            return;
        double exact = runs[k].direction > 0 ? passive : 1 / passive;
        double from = runs[k].start + begin, middle = runs[k].start > 0 ? from + begin : 0.5 * (begin + end);
        lines[k] = (rp_plot_line){ .name = runs[k].name, .x = t->time, .y = t->ratio, .count = t->count };
        if (runs[k].friction_factor > 1 || runs[k].sweeps) {
            validation_control(v, CHECK_RELATIVE, "thrust", exact, mean_between(t, from, middle), "%s: K of the thrust", runs[k].name);
            continue;
        }
        validation_check(v, CHECK_RELATIVE, "thrust", exact, mean_between(t, from, middle), "%s: K of the thrust, %g to %g s",
                         runs[k].name, from, middle);
        validation_check(v, CHECK_RELATIVE, "thrust", exact, mean_between(t, middle, end), "%s: the same, %g to %g s", runs[k].name, middle, end);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "made"), t->made / fmax(fabs(t->work), t->spread),
                         "%s: energy beyond the work of the wall, a part of what moves", runs[k].name);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Thrust on a smooth wall", plot.x_label = "t [s]", plot.y_label = "K of the thrust";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "thrust", "Thrust on a wall that moves at constant speed", &plot);
}
