/* The fluid carried along by its own velocity: u(x, t + dt) = u(X, t), X the place where the path of the fluid through x began, found in two
 * stages; corrected once by the error that going there and back makes [selle2008], unless that leaves the range of the values around X. It never
 * makes new extremes and knows no limit of the step. */
#include "diphasic/system.h"

#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    const dp_system *y;
    double dt;
    double *place; /* where the path through each node began */
    const double *from;
    double *to;
} job;

void DP(sample)(const dp_system *y, const double *field, int width, const double *place, double *out, double *least, double *most)
{
    int64_t at[3] = { 0 }, corner[DP_CORNERS];
    double t[RP_DIM], weight[DP_CORNERS];
    for (int a = 0; a < RP_DIM; a++) {
        double x = (place[a] - y->lattice.origin[a]) / y->lattice.h, n = (double)y->cells[a];
        if (y->lattice.periodic[a])
            x -= n * floor(x / n);
        x = x < 0 ? 0 : x > n ? n : x;
        double base = floor(x);
        base = base > n - 1 ? n - 1 : base;
        at[a] = (int64_t)base;
        t[a] = x - base;
    }
    dp_corners(y, at, corner);
    dp_weights(t, weight);
    for (int a = 0; a < width; a++) {
        out[a] = 0;
        for (int n = 0; n < DP_CORNERS; n++) {
            double v = field[width * corner[n] + a];
            out[a] += weight[n] * v;
            if (least) {
                least[a] = n == 0 || v < least[a] ? v : least[a];
                most[a] = n == 0 || v > most[a] ? v : most[a];
            }
        }
    }
}

/* By the midpoint. */
void DP(trace)(const dp_system *y, const double *velocity, int64_t j, double s, double place[RP_DIM])
{
    int64_t at[3];
    double x[RP_DIM], middle[RP_DIM], v[RP_DIM];
    dp_place(y->nodes, j, at);
    for (int a = 0; a < RP_DIM; a++) {
        x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
        middle[a] = x[a] - 0.5 * s * (velocity[RP_DIM * j + a] - y->frame[a]);
    }
    DP(sample)(y, velocity, RP_DIM, middle, v, NULL, NULL);
    for (int a = 0; a < RP_DIM; a++)
        place[a] = x[a] - s * v[a];
}

static void carry_back(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        DP(trace)(w->y, w->y->fluid, j, w->dt, w->place + RP_DIM * j);
        DP(sample)(w->y, w->y->fluid, RP_DIM, w->place + RP_DIM * j, w->to + RP_DIM * j, NULL, NULL);
    }
}

static void carry_correct(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double place[RP_DIM], back[RP_DIM], least[RP_DIM], most[RP_DIM], unused[RP_DIM];
        DP(trace)(y, y->fluid, j, -w->dt, place);
        DP(sample)(y, w->from, RP_DIM, place, back, NULL, NULL);
        DP(sample)(y, y->fluid, RP_DIM, w->place + RP_DIM * j, unused, least, most);
        for (int a = 0; a < RP_DIM; a++) {
            double once = w->from[RP_DIM * j + a], v = once + 0.5 * (y->fluid[RP_DIM * j + a] - back[a]);
            w->to[RP_DIM * j + a] = v < least[a] || v > most[a] ? once : v;
        }
    }
}

/* Paths are followed to the middle of the step through the velocity field as it stands. That is right in the frame in which walls and bodies
 * stand; where nothing holds a motion along an axis (it is periodic, and no wall rubs along it) any frame is as good, and the result must not
 * depend on it: there the one is taken in which fluid and grains are at rest in the mean. */
void DP(find_frame)(dp_system *y, const rp__world *world)
{
    const rp_sim_def *def = world->def;
    double mass = 0, sum[RP_DIM] = { 0 };
    bool loose[RP_DIM], any = false;
    for (int a = 0; a < RP_DIM; a++) {
        loose[a] = y->lattice.periodic[a] && world->body_count == 0;
        for (int f = 0; f < 2 * RP_DIM; f++)
            if (f / 2 != a && !y->lattice.periodic[f / 2])
                loose[a] = loose[a] && def->wall[f].kind != RP_STICK && !(def->wall[f].kind == RP_FRICTIONAL && def->wall[f].friction > 0) &&
                           (y->wall_kind[f] == RP_FLUID_SLIP || y->wall_kind[f] == RP_FLUID_PRESSURE);
        any = any || loose[a];
        y->frame[a] = 0;
    }
    for (int64_t j = 0; j < y->node_count && any; j++) {
        double fluid = fmax(0, def->fluid->density * (dp_wet_volume(y, j) - y->grains[j]));
        mass += fluid + y->mass[j];
        for (int a = 0; a < RP_DIM; a++)
            sum[a] += fluid * y->fluid[RP_DIM * j + a] + y->momentum[RP_DIM * j + a];
    }
    for (int a = 0; a < RP_DIM; a++)
        y->frame[a] = loose[a] && mass > 0 ? sum[a] / mass : 0;
}

void DP(carry)(dp_system *y, double dt)
{
    size_t bytes = (size_t)y->node_count * RP_DIM * sizeof(double);
    if (!y->params->advection) {
        memcpy(y->carried, y->fluid, bytes);
        return;
    }
    job w = { .y = y, .dt = dt, .place = y->scratch[1], .to = y->scratch[0] };
    rp__exec_for(y->node_count, 512, carry_back, &w);
    w.from = y->scratch[0], w.to = y->carried;
    rp__exec_for(y->node_count, 512, carry_correct, &w);
}
