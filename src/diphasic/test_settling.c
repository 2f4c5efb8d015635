/* Settling: a suspension in a closed tube makes two shocks [kynch1952], the top front that falls with w = w0 (1 - φ0)^n and the bed front
 * that rises with φ0 w / (φ_max - φ0); the deposit is H0 φ0 / φ_max high, and the pressure at the bottom is the weight of what is still
 * suspended, Δρ g φ0 (H0 - (w + v_bed) t). */
#include "diphasic/scene_tests.h"

typedef struct line {
    double n, t, x, tt, tx;
} line;

static void line_add(line *l, double t, double x)
{
    l->n++, l->t += t, l->x += x, l->tt += t * t, l->tx += t * x;
}
static double line_slope(const line *l)
{
    return (l->n * l->tx - l->t * l->x) / (l->n * l->tt - l->t * l->t);
}

static int64_t count_of(const scene *s)
{
    int64_t n;
    scene_field(s, "position", 0, &n);
    return n;
}

enum { TALL = 60 };

/* The suspension is 54 mm high, in cells of 54 mm / tall. */
static void settle(int dim, double phi0, int tall, double *rounds)
{
    const int cells[3] = { 4, dim == 2 ? tall / 9 * 10 : 4, tall / 9 * 10 };
    const double height = 0.054, h = height / tall, from[3] = { 0 }, to[3] = { 4, dim == 2 ? tall : 4, tall };
    const int top_node = tall / 9 * 10;
    int up = dim - 1;
    scene s;
    scene_begin(&s, dim, h, cells, from, to);
    for (int a = 0; a < up; a++)
        scene_periodic(&s, a);
    s.def.wall[2 * up].kind = RP_SLIP;
    s.fluid.density = 950, s.fluid.viscosity = 0.02;
    s.fluid.drag = RP_DRAG_RICHARDSON_ZAKI;
    s.fluid.thickening = RP_THICKEN_NONE;
    s.material.density = 1050, s.material.grain_diameter = 1e-3;
    s.grains.fill = phi0 / 0.6;
    s.grains.per_cell = dim == 2 ? 16 : 8;
    s.def.substeps = 0;
    s.def.frame_rate = 2;
    scene_start(&s);
    double w0 = 100 * 9.81 * 1e-6 / (18 * 0.02), w = w0 * pow(1 - phi0, 4.65), bed = phi0 * w / (0.6 - phi0);
    double meet = height * (0.6 - phi0) / (0.6 * w), half = 0.5 * h / (dim == 2 ? 4 : 2), deposit = 0, inside = 0, worst = 0, most = 0;
    line top = { 0 }, bottom = { 0 };
    int64_t steps = 0;
    while (rp_sim_time(s.sim) < 1.3 * meet) {
        rp_step_stats stats;
        scene_step(&s, &stats);
        *rounds += (double)stats.iterations, steps++;
        int64_t n;
        const double *z = scene_field(&s, "position", up, &n);
        double t = stats.time, highest = 0, level = 0.5 * (phi0 + 0.6), front = 0, profile[TALL + 1] = { 0 }, count[TALL + 1] = { 0 }, base = 0;
        for (int64_t i = 0; i < n; i++)
            highest = fmax(highest, z[i]);
        deposit = highest + half, inside = 0;
        for (int64_t i = 0; i < n; i++) /* in the lower eight ninths of the deposit */
            inside += z[i] < height * phi0 / 0.6 * 8 / 9;
        const double *at = scene_nodes(&s, "position", up, &n), *phi = scene_nodes(&s, "volume_fraction", 0, &n);
        const double *p = scene_nodes(&s, "fluid_pressure", 0, &n);
        for (int64_t j = 0; j < n; j++) {
            int k = (int)lround(at[j] / h);
            profile[k] += phi[j], count[k]++;
            base = k == 0 ? p[j] : base;
        }
        for (int k = 0; k <= top_node; k++) {
            profile[k] /= count[k];
            most = fmax(most, profile[k]);
        }
        for (int k = 0; k < top_node && front == 0; k++) /* the first from below */
            if (profile[k] > level && profile[k + 1] <= level)
                front = h * (k + (profile[k] - level) / (profile[k] - profile[k + 1]));
        if (t > 0.1 * meet && t < 0.8 * meet)
            line_add(&top, t, deposit);
        if (t > 0.2 * meet && t < 0.8 * meet) {
            line_add(&bottom, t, front);
            worst = fmax(worst, fabs(base - 100 * 9.81 * phi0 * (height - (w + bed) * t)));
        }
    }
    deposit -= half * (1 - phi0 / 0.6); /* particles are flat now */
    double a = -line_slope(&top) / w, b = line_slope(&bottom) / bed, c = deposit / (height * phi0 / 0.6);
    double e = inside / (double)count_of(&s) / (8.0 / 9);
    *rounds /= (double)steps;
    print_message("%dD phi0 %g: top front %.4f, bed front %.4f, deposit %.4f by its top, full to %.4f, of the exact ones; "
                  "pressure %.3f, largest phi %.3f, %.1f rounds\n",
                  dim, phi0, a, b, c, e, worst / (100 * 9.81 * phi0 * height), most, *rounds);
    assert_true(fabs(a - 1) <= 0.02);
    assert_true(fabs(b - 1) <= 0.02);
    assert_true(fabs(c - 1) <= 0.02);
    assert_true(fabs(e - 1) <= 0.02); /* packed neither here nor there too tightly */
    assert_true(worst <= 1.2 * 100 * 9.81 * 0.6 * h); /* the bed grows by whole cells */
    scene_end(&s);
}

static void two_shocks(void **state)
{
    (void)state;
    double rounds = 0;
    settle(2, 0.2, 27, &rounds);
    settle(2, 0.1, 54, &rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_shocks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
