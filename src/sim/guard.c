/* After a step: particles that left, numbers that are no numbers, energies. */
#include "base/error.h"
#include "exec/exec.h"
#include "sim/sim_internal.h"

#include <math.h>

enum { CHUNK = 8192 };

/* partial[0]: fastest speed squared, +infinity for what is not finite. */
static void speed_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__particles *p = context;
    double most = 0, bad = 0; /* bad: 0 or NaN */
#pragma omp simd reduction(max : most) reduction(+ : bad)
    for (int64_t i = begin; i < end; i++) {
        double s = p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
        double place = p->x[0][i] + p->x[1][i] + p->x[2][i];
        bad += (s - s) + (place - place);
        most = s > most ? s : most;
    }
    most = bad == 0 ? most : INFINITY;
    partial[0] = most > partial[0] ? most : partial[0];
}

double rp__sim_fastest(const rp_sim *sim)
{
    double most = 0;
    if (sim->particles.count)
        rp__exec_max(sim->particles.count, CHUNK, 1, speed_chunk, (void *)&sim->particles, &most);
    return sqrt(fmax(most, 0));
}

static rp_result tell_runaway(const rp_sim *sim, double limit)
{
    const rp__particles *p = &sim->particles;
    for (int64_t i = 0; i < p->count; i++) {
        double s = sqrt(p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i]);
        bool finite = isfinite(s) && isfinite(p->x[0][i]) && isfinite(p->x[1][i]) && isfinite(p->x[2][i]);
        if (!finite || s > limit)
            return rp__base_fail(RP_DIVERGED,
                                 "at t = %g s (step %lld) particle %lld at (%g, %g, %g) m has %s; its velocity is "
                                 "(%g, %g, %g) m/s, the limit %g m/s. A smaller dt_max or cfl may help",
                                 sim->time, (long long)sim->step, (long long)p->id[i], p->x[0][i], p->x[1][i], p->x[2][i],
                                 finite ? "run away" : "a value that is not finite", p->v[0][i], p->v[1][i], p->v[2][i],
                                 limit);
    }
    return rp__base_fail(RP_DIVERGED, "at t = %g s a particle is faster than %g m/s", sim->time, limit);
}

/* What is outside a face of the domain: walls hold (put back, its outward velocity taken); open faces obey the policy. */
typedef struct sweep {
    rp_sim *sim;
} sweep;

enum { SEEN_OUTSIDE = 0, SEEN_CLAMPED = 1, SEEN_ERROR = 2 };

static void clamp_to(rp__particles *p, int64_t i, int axis, double bound, double outward)
{
    p->x[axis][i] = bound;
    if (p->v[axis][i] * outward > 0)
        p->v[axis][i] = 0;
}

static bool all_inside(const rp_sim_def *def, const rp__particles *p, int64_t begin, int64_t end)
{
    int outside = 0;
    for (int a = 0; a < def->dim; a++) {
        double low = def->lower[a], high = def->upper[a];
#pragma omp simd reduction(| : outside)
        for (int64_t i = begin; i < end; i++)
            outside |= (p->x[a][i] < low) | (p->x[a][i] > high);
    }
    return outside == 0;
}

static void sweep_chunk(void *context, int64_t begin, int64_t end, double *seen)
{
    rp_sim *sim = ((sweep *)context)->sim;
    const rp_sim_def *def = &sim->def;
    rp__particles *p = &sim->particles;
    if (all_inside(def, p, begin, end))
        return;
    for (int64_t i = begin; i < end; i++)
        for (int f = 0; f < 2 * def->dim; f++) {
            int axis = f / 2;
            double outward = f & 1 ? 1 : -1, bound = f & 1 ? def->upper[axis] : def->lower[axis];
            if ((p->x[axis][i] - bound) * outward <= 0)
                continue;
            rp_surface_kind kind = def->wall[f].kind;
            if (kind == RP_PERIODIC) {
                double length = def->upper[axis] - def->lower[axis];
                p->x[axis][i] -= length * floor((p->x[axis][i] - def->lower[axis]) / length);
                if (p->x[axis][i] >= def->upper[axis]) /* rounding */
                    p->x[axis][i] = def->lower[axis];
            } else if (kind != RP_OPEN || def->outside == RP_OUTSIDE_CLAMP) {
                clamp_to(p, i, axis, bound, outward);
                seen[SEEN_CLAMPED]++;
            } else {
                sim->flags[i] = 1;
                seen[SEEN_OUTSIDE]++;
                break;
            }
        }
}

rp_result rp__sim_guard(rp_sim *sim, rp_step_stats *stats)
{
    double limit = sim->def.speed_limit > 0 ? sim->def.speed_limit : 1e5 * sim->def.cell_size * sim->def.frame_rate;
    if (!(rp__sim_fastest(sim) <= limit))
        return tell_runaway(sim, limit);
    RP_TRY(rp__sim_flags(sim));
    sweep s = { sim };
    double seen[2] = { 0, 0 };
    rp__exec_sum(sim->particles.count, CHUNK, 2, sweep_chunk, &s, seen);
    stats->clamped = (int64_t)seen[SEEN_CLAMPED];
    stats->outside = (int64_t)seen[SEEN_OUTSIDE];
    if (stats->outside == 0)
        return RP_OK;
    if (sim->def.outside == RP_OUTSIDE_ERROR) {
        int64_t i = 0;
        while (!sim->flags[i])
            i++;
        const rp__particles *p = &sim->particles;
        return rp__base_fail(RP_DIVERGED,
                             "at t = %g s %lld particles left the domain, the first is %lld at (%g, %g, %g) m; "
                             "'outside: delete' would let them go",
                             sim->time, (long long)stats->outside, (long long)p->id[i], p->x[0][i], p->x[1][i], p->x[2][i]);
    }
    rp__particles_remove(&sim->particles, sim->flags);
    return RP_OK;
}

/* Kinetic energy, and potential energy m (g · (lower - x)), zero at the lower corner of the domain. */
static void energy_chunk(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp_sim *sim = context;
    const rp__particles *p = &sim->particles;
    const double *g = sim->def.gravity, *o = sim->def.lower;
    double kinetic = 0, potential = 0;
#pragma omp simd reduction(+ : kinetic, potential)
    for (int64_t i = begin; i < end; i++) {
        kinetic += 0.5 * p->mass[i] *
                   (p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i]);
        potential -= p->mass[i] *
                     (g[0] * (p->x[0][i] - o[0]) + g[1] * (p->x[1][i] - o[1]) + g[2] * (p->x[2][i] - o[2]));
    }
    partial[0] += kinetic;
    partial[1] += potential;
}

void rp__sim_energies(const rp_sim *sim, rp_step_stats *stats)
{
    double sums[2];
    rp__exec_sum(sim->particles.count, CHUNK, 2, energy_chunk, (void *)sim, sums);
    stats->kinetic_energy = sums[0];
    stats->potential_energy = sums[1];
}
