/* The force of the stress in its two forms: MLS, as the method has it, and with the gradients of the weights. */
#define RP_DIM 2
#include "cmocka_test.h"
#include "elastoplastic/elastoplastic.h"
#include "transfer/transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weight and derivative of a B-spline at distance d, in cells. */
static double spline(int order, double d, double *slope)
{
    double a = fabs(d), s = d < 0 ? -1 : 1;
    if (order == 2) {
        *slope = a < 0.5 ? -2 * d : a < 1.5 ? -s * (1.5 - a) : 0;
        return a < 0.5 ? 0.75 - d * d : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0;
    }
    *slope = a < 1 ? s * (1.5 * a * a - 2 * a) : a < 2 ? -s * 0.5 * (2 - a) * (2 - a) : 0;
    return a < 1 ? 0.5 * a * a * a - a * a + 2.0 / 3 : a < 2 ? (2 - a) * (2 - a) * (2 - a) / 6 : 0;
}

typedef struct difference {
    double worst;    /* of the forces at nodes inside, a part of the largest */
    double total;    /* of their sums, the same */
    double turn;     /* of their moments, in cells */
} difference;

/* A smooth field of strain on `cells` × `cells` cells of a unit square, 16 particles a cell. */
static difference compare(int order, int cells)
{
    rp__elastoplastic_params par = { .integrator = RP_EP_IMPLICIT };
    rp_material_def sand = rp_default_material_def();
    rp__elastoplastic_law law = rp__elastoplastic_make_law(&sand, 2);
    rp__particles p;
    rp__grid_2d grid;
    double h = 1.0 / cells;
    rp__lattice lattice = { .h = h, .cells = { cells, cells, 1 } };
    int index = 0, side = 4 * cells;
    int64_t first, count = (int64_t)side * side;
    assert_int_equal(rp__particles_init(&p), RP_OK);
    int field = p.fields;
    for (const rp_field_info *f = rp__elastoplastic_field_list(&par); f->name; f++)
        assert_int_equal(rp__particles_add_field(&p, f, &index), RP_OK);
    assert_int_equal(rp__particles_append(&p, count, &first), RP_OK);
    for (int64_t i = 0; i < count; i++) {
        double x = ((double)(i % side) + 0.5) / side, y = ((double)(i / side) + 0.5) / side;
        p.x[0][i] = x, p.x[1][i] = y;
        p.volume[i] = sand.volume_fraction / (double)count, p.mass[i] = 1500 / (double)count;
        rp__particles_f64(&p, field + RP_EP_STRAIN, 0)[i] = -1e-3 * (2 + sin(5 * x + 2 * y));
        rp__particles_f64(&p, field + RP_EP_STRAIN, 1)[i] = -1e-3 * (2 + cos(3 * x - 4 * y));
        rp__particles_f64(&p, field + RP_EP_STRAIN, 3)[i] = 1e-3 * sin(4 * x * y);
    }
    assert_int_equal(rp__grid_init_2d(&grid, &lattice), RP_OK);
    assert_int_equal(rp__grid_build_2d(&grid, &p, order), RP_OK);
    int64_t nodes = (int64_t)grid.blocks * RP_BLOCK_NODES;
    double *mass = calloc((size_t)nodes, sizeof *mass), *mls[3] = { NULL }, *plain[2];
    for (int a = 0; a < 2; a++)
        mls[a] = calloc((size_t)nodes, sizeof *mass), plain[a] = calloc((size_t)nodes, sizeof *mass);
    for (int64_t n = 0; n < nodes; n++) {
        int64_t at[3];
        rp__grid_coordinates(&grid, n, at);
        for (int64_t i = 0; i < count; i++) {
            double slope[2], dx = h * (double)at[0] - p.x[0][i], dy = h * (double)at[1] - p.x[1][i], strain[6], tau[6];
            if (fabs(dx) >= 2 * h || fabs(dy) >= 2 * h)
                continue;
            /* d/dx_p of N((x_p - x_j) / h) */
            double wx = spline(order, -dx / h, &slope[0]), wy = spline(order, -dy / h, &slope[1]);
            double gx = slope[0] * wy / h, gy = wx * slope[1] / h, v = p.volume[i] / sand.volume_fraction;
            for (int k = 0; k < 6; k++)
                strain[k] = rp__particles_f64(&p, field + RP_EP_STRAIN, k)[i];
            rp__elastoplastic_tau_ref(&law, strain, tau);
            plain[0][n] -= v * (tau[0] * gx + tau[3] * gy);
            plain[1][n] -= v * (tau[3] * gx + tau[1] * gy);
        }
    }
    rp__elastoplastic_step step = { .dt = 1, .dim = 2, .inverse_d = (order == 2 ? 4 : 3) / (h * h), .laws = &law, .first_field = field };
    rp__elastoplastic_stress_kernel(&step, &p, 0, count);
    rp__transfer_options apic = { .order = order, .kind = RP_TRANSFER_APIC, .gradient = field + RP_EP_GRADIENT };
    rp__transfer_to_grid_2d(&grid, &p, &apic, mass, mls);
    difference d = { 0, 0, 0 };
    double most = 0, sum[2] = { 0, 0 }, turn = 0;
    for (int64_t n = 0; n < nodes; n++) {
        int64_t at[3];
        rp__grid_coordinates(&grid, n, at);
        bool inside = at[0] > 2 && at[1] > 2 && at[0] < cells - 2 && at[1] < cells - 2;
        double x = mls[0][n] - plain[0][n], y = mls[1][n] - plain[1][n];
        sum[0] += x, sum[1] += y, turn += (double)at[0] * y - (double)at[1] * x;
        if (inside) {
            d.worst = fmax(d.worst, hypot(x, y));
            most = fmax(most, hypot(plain[0][n], plain[1][n]));
        }
    }
    d.worst /= most, d.total = hypot(sum[0], sum[1]) / most, d.turn = fabs(turn) / most;
    free(mass);
    for (int a = 0; a < 2; a++)
        free(mls[a]), free(plain[a]);
    rp__grid_free_2d(&grid);
    rp__particles_free(&p);
    return d;
}

/* Both have the same resultant and moment, and nodes inside a smooth field see the same force, better with the square of the
 * cell. */
static void both_forms_agree(void **unused)
{
    (void)unused;
    for (int order = 2; order <= 3; order++) {
        difference coarse = compare(order, 16), fine = compare(order, 32);
        if (coarse.total > 1e-9 || coarse.turn > 1e-7 || coarse.worst > 0.01 || fine.worst > 0.3 * coarse.worst)
            fail_msg("order %d: forces differ by %g, with half the cell by %g; resultants by %g, moments by %g", order, coarse.worst,
                     fine.worst, coarse.total, coarse.turn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
