/* A packed layer on a slope under a viscous liquid, loose or dense, beside the equations of Pailha and Pouliquen solved over the depth alone. */
#include "diphasic/scene_tests.h"

/* Lengths in m, all SI. */
typedef struct layer {
    double height, tilt, phi, diameter, eta, excess; /* excess: ρ_g - ρ_f */
    double slow, fast, viscous;                      /* µ1, µ2, J0 */
    double slope, critical;                          /* K, φ_c */
    double step, until;                              /* of the simulation [s] */
    int cells;
} layer;

enum { DEPTHS = 40 };

/* The equations over the depth, without inertia [pailha2009]: at the middles of DEPTHS layers
 *
 *   (µ(J) + h) p + η_e γ̇ = W sin,   p + P = W cos,   W = φ Δρ g (H - z),   h = K (φ - φ_c/(1+√J)),   J = η γ̇ / p
 *   v' = γ̇ h,   P' = (η/k) v,   φ. = -φ v',   k = d² (1-φ)³ / (180 φ²),   η_e = η (1 + 5/2 φ).
 *
 * Given P every layer has its own J (the left side of the first over p grows with J); P answers to it, and is found by Newton's method. */
typedef struct depth {
    double z, phi, weight, J, rate, pressure, opening;
} depth;

static double dilation(const layer *l, double phi, double J)
{
    return l->slope * (phi - l->critical / (1 + sqrt(J)));
}

static double resistance(const layer *l, double phi, double J)
{
    double growth = (l->fast - l->slow) * J / (J + l->viscous);
    return l->slow + growth + dilation(l, phi, J) + (1 + 2.5 * phi) * J;
}

/* J and all that follows from it, where the pressure of the fluid takes P off the weight. */
static void shear(const layer *l, depth *d, double P)
{
    double p = fmax(d->weight * cos(l->tilt) - P, 1e-9 * d->weight), asked = d->weight * sin(l->tilt) / p, low = 0, high = 1e3;
    for (int k = 0; k < 200; k++) {
        double middle = 0.5 * (low + high);
        if (resistance(l, d->phi, middle) < asked)
            low = middle;
        else
            high = middle;
    }
    d->J = resistance(l, d->phi, 0) < asked ? low : 0;
    d->pressure = p;
    d->rate = d->J * p / l->eta;
    d->opening = d->rate * dilation(l, d->phi, d->J);
}

/* What the openings say of the pressure of the fluid, less P. */
static void lack(const layer *l, depth *d, const double *P, double *out)
{
    double step = l->height / DEPTHS, risen = 0, fall = 0, v[DEPTHS];
    for (int i = 0; i < DEPTHS; i++) {
        shear(l, &d[i], P[i]);
        v[i] = risen + 0.5 * step * d[i].opening;
        risen += step * d[i].opening;
    }
    for (int i = DEPTHS - 1; i >= 0; i--) {
        double k = l->diameter * l->diameter * pow(1 - d[i].phi, 3) / (180 * d[i].phi * d[i].phi), drop = step * l->eta / k * v[i];
        out[i] = -(fall + 0.5 * drop) - P[i];
        fall += drop;
    }
}

static void solve_dense(double a[DEPTHS][DEPTHS], double *b)
{
    for (int k = 0; k < DEPTHS; k++) {
        int best = k;
        for (int i = k; i < DEPTHS; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        for (int j = 0; j < DEPTHS; j++) {
            double t = a[k][j];
            a[k][j] = a[best][j], a[best][j] = t;
        }
        double t = b[k];
        b[k] = b[best], b[best] = t;
        for (int i = k + 1; i < DEPTHS; i++) {
            double f = a[i][k] / a[k][k];
            for (int j = k; j < DEPTHS; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (int k = DEPTHS - 1; k >= 0; k--) {
        for (int j = k + 1; j < DEPTHS; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

static void find_pressure(const layer *l, depth *d, double *P)
{
    static double jacobian[DEPTHS][DEPTHS];
    double f[DEPTHS], g[DEPTHS], trial[DEPTHS], unit = 1e-7 * d[0].weight;
    for (int round = 0; round < 60; round++) {
        double size = 0;
        lack(l, d, P, f);
        for (int i = 0; i < DEPTHS; i++)
            size = fmax(size, fabs(f[i]));
        if (size < 1e-9 * d[0].weight)
            return;
        for (int j = 0; j < DEPTHS; j++) {
            double kept = P[j];
            P[j] += unit;
            lack(l, d, P, g);
            P[j] = kept;
            for (int i = 0; i < DEPTHS; i++)
                jacobian[i][j] = (f[i] - g[i]) / unit;
        }
        memcpy(g, f, sizeof g);
        solve_dense(jacobian, g);
        for (double part = 1; part > 1e-6; part *= 0.5) { /* shorter steps until it gets better */
            double left = 0;
            for (int i = 0; i < DEPTHS; i++)
                trial[i] = P[i] + part * g[i];
            lack(l, d, trial, f);
            for (int i = 0; i < DEPTHS; i++)
                left = fmax(left, fabs(f[i]));
            if (left < size || part < 2e-6) {
                memcpy(P, trial, sizeof trial);
                break;
            }
        }
    }
}

typedef struct outcome {
    double speed, pressure; /* of the surface; of the fluid at the floor */
} outcome;

static void reference(const layer *l, const double *when, int count, outcome *out)
{
    depth d[DEPTHS];
    double P[DEPTHS] = { 0 }, step = l->height / DEPTHS, t = 0, unused[DEPTHS];
    for (int i = 0; i < DEPTHS; i++)
        d[i] = (depth){ .z = (i + 0.5) * step, .phi = l->phi, .weight = l->phi * l->excess * 9.81 * (l->height - (i + 0.5) * step) };
    for (int k = 0; k < count; k++) {
        while (t < when[k]) {
            find_pressure(l, d, P);
            double fastest = 1e-9, dt;
            for (int i = 0; i < DEPTHS; i++)
                fastest = fmax(fastest, fabs(d[i].opening));
            dt = fmin(fmin(2e-4 / fastest, 0.05 * when[0]), when[k] - t + 1e-12); /* φ changes by 1e-4 a step at most */
            for (int i = 0; i < DEPTHS; i++)
                d[i].phi /= 1 + dt * d[i].opening;
            t += dt;
        }
        find_pressure(l, d, P);
        lack(l, d, P, unused);
        out[k].speed = 0;
        for (int i = 0; i < DEPTHS; i++)
            out[k].speed += step * d[i].rate;
        out[k].pressure = P[0] + 0.5 * (P[0] - P[1]);
    }
}

static void simulate(const layer *l, const double *when, int count, outcome *out)
{
    const int cells[3] = { 4, l->cells + 4, 1 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, l->cells, 0 };
    scene s;
    scene_begin(&s, 2, l->height / l->cells, cells, from, to);
    scene_periodic(&s, 0);
    s.def.gravity[0] = 9.81 * sin(l->tilt), s.def.gravity[1] = -9.81 * cos(l->tilt);
    s.material.density = 1000 + l->excess, s.material.volume_fraction = 0.64;
    s.material.friction = l->slow, s.material.friction_dynamic = l->fast;
    s.material.grain_diameter = l->diameter;
    s.material.inertial_number = 1e9;
    s.grains.fill = l->phi / 0.64, s.grains.per_cell = 9;
    s.fluid.density = 1000, s.fluid.viscosity = l->eta, s.fluid.drag = RP_DRAG_CARMAN_KOZENY;
    s.fluid.wall[2].kind = RP_FLUID_NO_SLIP;
    s.def.frame_rate = 1 / l->step;
    char text[64];
    scene_set(&s, "dilatancy", "roux_radjai");
    snprintf(text, sizeof text, "%.17g", l->critical), scene_set(&s, "critical_fraction", text);
    snprintf(text, sizeof text, "%.17g", l->slope), scene_set(&s, "dilatancy_slope", text);
    snprintf(text, sizeof text, "%.17g", l->viscous), scene_set(&s, "viscous_number", text);
    scene_start(&s);
    double rounds = 0, steps = 0, stuck = 0;
    rp_step_stats stats;
    for (int k = 0; k < count; k++) {
        while (rp_sim_time(s.sim) < when[k] - 0.5 * l->step) {
            scene_step(&s, &stats);
            rounds += (double)stats.iterations, stuck += !stats.converged, steps++;
        }
        int64_t n;
        const double *y = scene_nodes(&s, "position", 1, &n), *v = scene_nodes(&s, "velocity", 0, &n),
                     *p = scene_nodes(&s, "fluid_pressure", 0, &n);
        for (int64_t j = 0; j < n; j++) {
            if (fabs(y[j] - l->height) < 1e-6 * l->height)
                out[k].speed = v[j];
            if (fabs(y[j]) < 1e-6 * l->height)
                out[k].pressure = p[j];
        }
        print_message("  t %g: %g rounds a step, %g of %g unconverged; %g m/s, %g Pa\n", when[k], rounds / steps, stuck, steps, out[k].speed,
                      out[k].pressure);
    }
    scene_end(&s);
}

/* A layer on a slope of 25 degrees, loose or dense, in steps of 20 ms (four times the time in which its viscosity stops it). */
static layer beads(double phi)
{
    return (layer){ .height = 4.9e-3,
                    .tilt = 25 * 0.017453292519943295,
                    .phi = phi,
                    .diameter = 0.16e-3,
                    .eta = 0.096,
                    .excess = 1459,
                    .slow = 0.425,
                    .fast = 0.765,
                    .viscous = 0.004,
                    .slope = 4,
                    .critical = 0.582,
                    .step = 0.02,
                    .until = 6,
                    .cells = 10 };
}

static void compare(const char *name, const layer *l, double speed, double pressure)
{
    enum { TIMES = 3 };
    double when[TIMES];
    outcome exact[TIMES], found[TIMES];
    for (int k = 0; k < TIMES; k++)
        when[k] = l->until * (k + 1) / TIMES;
    reference(l, when, TIMES, exact);
    simulate(l, when, TIMES, found);
    for (int k = 0; k < TIMES; k++) {
        print_message("%s, %g s: surface %.4g mm/s (exact %.4g), pressure at the floor %.4g Pa (exact %.4g)\n", name, when[k],
                      1e3 * found[k].speed, 1e3 * exact[k].speed, found[k].pressure, exact[k].pressure);
        assert_true(fabs(found[k].speed - exact[k].speed) <= speed);
        assert_true(fabs(found[k].pressure - exact[k].pressure) <= pressure);
    }
}

/* It flows with the pressure at which φ_eq(J) is its own volume fraction. The cell at the surface, which does not dilate, is a twentieth of the depth. */
static void loose_layer_flows(void **state)
{
    (void)state;
    layer l = beads(0.55);
    compare("loose", &l, 0.05 * 2.3e-3, 0.05 * 6.6);
}

static void other_beads(void **state)
{
    (void)state;
    layer l = beads(0.57);
    l.height = 0.02, l.diameter = 0.3e-3, l.eta = 0.02, l.tilt = 0.35, l.slow = 0.3, l.fast = 0.6, l.slope = 3, l.critical = 0.585,
    l.excess = 1500, l.viscous = 0.005, l.step = 0.01, l.until = 3;
    compare("other beads", &l, 0.05 * 0.02, 0.05 * 20);
}

/* It stays, but for its surface: less than a hundredth of a cell a second. */
static void dense_layer_stays(void **state)
{
    (void)state;
    layer l = beads(0.6);
    compare("dense", &l, 1.2e-5, 0.02);
}

/* Far steeper than its friction: it cannot run, since it would have to draw in more fluid than comes. Which way it shears nothing tells before the step,
 * and the cells at the surface must dilate as the others do: without one or the other they slide off at 70 mm/s after 60 ms. */
static void steep_dense_layer_creeps(void **state)
{
    (void)state;
    layer l = beads(0.6);
    l.height = 0.05, l.diameter = 0.225e-3, l.eta = 0.012, l.tilt = 38 * 0.017453292519943295, l.slow = 0.2, l.fast = 0.2, l.excess = 1500;
    l.critical = 0.55, l.step = 0.002, l.until = 0.06, l.cells = 20;
    compare("steep", &l, 1.5e-3, 0.07 * 330);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(loose_layer_flows), cmocka_unit_test(other_beads), cmocka_unit_test(dense_layer_stays),
                                        cmocka_unit_test(steep_dense_layer_creeps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
