/* The implicit step: derivatives against differences, large steps, agreement with the explicit one. */
#define RP_DIM 2
#include "cmocka_test.h"
#include "elastoplastic/elastoplastic.h"
#include "elastoplastic/implicit.h"
#include "math/random.h"
#include "math/tensor.h"
#include "transfer/transfer.h"

#include <math.h>
#include <repose/repose.h>
#include <stdlib.h>
#include <string.h>

static double uniform(uint64_t stream, uint64_t counter)
{
    return 2 * rp__random_unit(23, stream, counter) - 1;
}

/* ---- one particle ---- */

static int stress_after(const rp__elastoplastic_law *law, int dim, const rp__mat3 *g, const double strain[6], double gain, double tau[6])
{
    double e[6], q = 0.1;
    memcpy(e, strain, sizeof e);
    int kase = rp__elastoplastic_strain_ref(law, dim, true, g, e, &q, &gain);
    rp__elastoplastic_tau_ref(law, e, tau);
    return kase;
}

/* Central differences of the stress after a step against its derivative, in all cases of the projection and for solids. */
static void tangents_are_the_derivatives_of_the_stress(void **unused)
{
    (void)unused;
    int seen[2][4] = { { 0 } };
    double worst = 0;
    for (int dim = 2; dim <= 3; dim++)
        for (uint64_t n = 0; n < 4000; n++) {
            rp_material_def m = rp_default_material_def();
            m.model = n % 4 == 3 ? RP_MODEL_ELASTIC : RP_MODEL_SAND;
            if (n % 4 == 2)
                m.hardening[0] = 35, m.hardening[1] = 9, m.hardening[2] = 0.3, m.hardening[3] = 10;
            rp__elastoplastic_law law = rp__elastoplastic_make_law(&m, dim);
            double size = n % 2 ? 0.1 : 1e-3, strain[6] = { 0 }, gain = n % 5 == 0 ? 0.5 * size : 0;
            if (n % 3 == 1) /* cohesion, and the tip of what rests is rounded: here up to strains of `size` */
                law.tip = 0.1 * size, law.decay = 2, law.apex = 0.2 * size, law.moving = 1 / size;
            rp__mat3 g, d;
            memset(&g, 0, sizeof g), memset(&d, 0, sizeof d);
            for (int i = 0; i < dim; i++)
                for (int j = 0; j < dim; j++) {
                    g.m[i][j] = 0.5 * size * uniform(n, (uint64_t)(3 * i + j));
                    d.m[i][j] = uniform(n, (uint64_t)(20 + 3 * i + j));
                }
            for (int k = 0; k < 6; k++)
                if (dim == 3 || k < 2 || k == 3)
                    strain[k] = size * (0.4 * uniform(n, (uint64_t)(40 + k)) - (k < dim ? 0.5 * (double)(n % 3) : 0));
            if (n % 7 == 0 && dim == 3) { /* equal principal values: no direction is special */
                memset(strain, 0, sizeof strain);
                memset(&g, 0, sizeof g);
                strain[0] = strain[1] = strain[2] = -size;
            }
            double h = 1e-6 * size, tau[2][6], slope[6], scale = law.lame + 2 * law.shear;
            rp__mat3 at[2] = { g, g };
            for (int s = 0; s < 2; s++)
                for (int i = 0; i < 9; i++)
                    at[s].m[i / 3][i % 3] += (s ? h : -h) * d.m[i / 3][i % 3];
            rp__elastoplastic_tangent t;
            int kase = rp__elastoplastic_linearise(&law, dim, true, &g, strain, 0.1, gain, &t);
            int low = stress_after(&law, dim, &at[0], strain, gain, tau[0]), high = stress_after(&law, dim, &at[1], strain, gain, tau[1]);
            if (low != high)
                continue; /* across a kink */
            assert_int_equal(kase, low);
            seen[law.elastic][kase]++;
            rp__elastoplastic_tangent_apply(&law, dim, &t, &d, slope);
            for (int k = 0; k < 6; k++)
                if (dim == 3 || k < 2 || k == 3)
                    worst = fmax(worst, fabs((tau[1][k] - tau[0][k]) / (2 * h) - slope[k]) / scale);
        }
    if (worst > 2e-6)
        fail_msg("derivative of the stress is off by %g of the stiffness", worst);
    assert_true(seen[0][1] > 300 && seen[0][2] > 300 && seen[0][3] > 300 && seen[1][1] > 300);
}

/* ---- the whole system ---- */

/* Particles on a grid with a floor, which is a mirror, strains on and inside the cone. */
static void system_derivative(bool plastic, int order, rp_surface_kind floor)
{
    rp_sim_def def = rp_default_sim_def();
    rp_material_def material[2] = { rp_default_material_def(), rp_default_material_def() };
    rp__particles p;
    rp__elastoplastic_params par = { .kernel = order - 2, .integrator = RP_EP_IMPLICIT, .tolerance = 1e-3, .newton = 10, .krylov = 10 };
    rp__elastoplastic_implicit work;
    rp__elastoplastic_law laws[2];
    rp__lattice lattice = { .h = 0.1, .cells = { 12, 12, 1 } };
    rp__grid_2d grid;
    int index = 0;
    int64_t first;
    memset(&work, 0, sizeof work);
    def.dim = 2, def.cell_size = 0.1, def.gravity[1] = -9.81, def.gravity[2] = 0;
    def.wall[2].kind = floor;
    material[1].model = RP_MODEL_ELASTIC;
    for (int m = 0; m < 2; m++) {
        laws[m] = rp__elastoplastic_make_law(&material[m], 2);
        laws[m].cone = plastic ? laws[m].cone : 100;
    }
    assert_int_equal(rp__particles_init(&p), RP_OK);
    int field = p.fields;
    for (const rp_field_info *f = rp__elastoplastic_field_list(&par); f->name; f++)
        assert_int_equal(rp__particles_add_field(&p, f, &index), RP_OK);
    assert_int_equal(rp__particles_append(&p, 200, &first), RP_OK);
    for (int64_t i = 0; i < 200; i++) {
        p.x[0][i] = 0.03 + 0.6 * rp__random_unit(5, (uint64_t)i, 0), p.x[1][i] = 0.6 * rp__random_unit(5, (uint64_t)i, 1);
        p.v[0][i] = 0.3 * uniform((uint64_t)i, 2), p.v[1][i] = 0.3 * uniform((uint64_t)i, 3);
        p.mass[i] = 1500 * 0.0018, p.volume[i] = 0.6 * 0.0018;
        p.material[i] = i % 5 == 0;
        for (int k = 0; k < 2; k++)
            rp__particles_f64(&p, field + RP_EP_STRAIN, k)[i] = -2e-2 - (plastic ? 5e-3 : 1e-3) * uniform((uint64_t)i, (uint64_t)(4 + k));
        rp__particles_f64(&p, field + RP_EP_STRAIN, 3)[i] = (plastic ? 6e-2 : 1e-3) * uniform((uint64_t)i, 6);
    }
    assert_int_equal(rp__grid_init_2d(&grid, &lattice), RP_OK);
    assert_int_equal(rp__grid_build_2d(&grid, &p, order), RP_OK);
    int64_t nodes = (int64_t)grid.blocks * RP_BLOCK_NODES;
    double *mass = calloc((size_t)nodes, sizeof(double)), *v[3] = { NULL };
    for (int a = 0; a < 2; a++)
        v[a] = calloc((size_t)nodes, sizeof(double));
    rp__transfer_options pic = { .order = order, .kind = RP_TRANSFER_PIC, .gradient = -1 };
    rp__transfer_to_grid_2d(&grid, &p, &pic, mass, v);
    for (int64_t i = 0; i < nodes; i++)
        for (int a = 0; a < 2; a++)
            v[a][i] = mass[i] > 0 ? v[a][i] / mass[i] : 0;
    rp__world world = { .def = &def, .params = &par, .materials = material, .particles = &p, .cells = { 12, 12, 1 } };
    rp__elastoplastic_step step = { .dt = 2e-3, .dim = 2, .inverse_d = (order == 2 ? 4 : 3) / (0.1 * 0.1), .correct_volume = true,
                                    .laws = laws, .first_field = field };
    rp__elastoplastic_system s = { &grid, &world, &step, order, 1, mass, v, &work };
    assert_int_equal(rp__elastoplastic_prepare_2d(&s), RP_OK);
    int64_t n = 2 * work.active_count;
    double *u = calloc((size_t)n, sizeof *u), *d = calloc((size_t)n, sizeof *u), *at = calloc((size_t)n, sizeof *u);
    double *low = calloc((size_t)n, sizeof *u), *high = calloc((size_t)n, sizeof *u), *slope = calloc((size_t)n, sizeof *u);
    for (int64_t k = 0; k < n; k++) {
        u[k] = v[k % 2][work.active[k / 2]];
        d[k] = uniform((uint64_t)k, 9);
    }
    double h = 1e-7, worst = 0, size = 0;
    for (int64_t k = 0; k < n; k++)
        at[k] = u[k] - h * d[k];
    rp__elastoplastic_residual_2d(&s, at, low);
    for (int64_t k = 0; k < n; k++)
        at[k] = u[k] + h * d[k];
    rp__elastoplastic_residual_2d(&s, at, high);
    rp__elastoplastic_fix_2d(&s, u);
    rp__elastoplastic_derivative_2d(&s, d, slope);
    int flows = 0; /* on the cone one principal strain depends on the others */
    for (int64_t i = 0; i < p.count; i++)
        flows += fabs(work.tangent[i].normal[0][1]) > 1e-9;
    assert_true(plastic ? flows > 40 : flows == 0);
    for (int64_t k = 0; k < n; k++) {
        worst = fmax(worst, fabs((high[k] - low[k]) / (2 * h) - slope[k]));
        size = fmax(size, fabs(slope[k]));
    }
    if (!(worst < 1e-5 * size))
        fail_msg("%s, order %d, floor %d: derivative of the residual is off by %g of %g", plastic ? "plastic" : "elastic", order,
                 (int)floor, worst, size);
    int mirrored = 0; /* nodes that the floor holds together with their neighbours */
    for (int64_t k = 0; k < work.active_count; k++) {
        int64_t place[3];
        rp__grid_coordinates(&grid, work.active[k], place);
        mirrored += place[1] == 0 && work.kinds[4 * work.active[k] + 2] >= 3;
    }
    assert_true(mirrored >= 3);
    free(u), free(d), free(at), free(low), free(high), free(slope), free(mass), free(v[0]), free(v[1]);
    rp__elastoplastic_implicit_free_2d(&work);
    rp__grid_free_2d(&grid);
    rp__particles_free(&p);
}

static void the_system_has_its_derivative(void **unused)
{
    (void)unused;
    for (int order = 2; order <= 3; order++)
        for (int k = 0; k < 4; k++)
            system_derivative(k & 1, order, k & 2 ? RP_SLIP : RP_STICK);
}

/* ---- scenes ---- */

typedef struct heap {
    rp_sim_def def;
    rp_material_def material;
    rp_grains_def grains;
    rp_params *params;
} heap;

/* A 2D column of 0.4 m × 0.8 m, cells of 5 cm, beside a wall. */
static void set_up(heap *s, const char *integrator)
{
    memset(s, 0, sizeof *s);
    s->def = rp_default_sim_def();
    s->material = rp_default_material_def();
    s->grains = rp_default_grains_def();
    double centre[3] = { 0.2, 0.4, 0 }, half[3] = { 0.2, 0.4, 1 };
    assert_int_equal(rp_shape_box(centre, half, 0, &s->grains.shape), RP_OK);
    s->grains.sampling = RP_REGULAR;
    s->grains.per_cell = 4;
    s->material.youngs_modulus = 353700;
    s->def.dim = 2;
    s->def.method = "elastoplastic";
    s->def.cell_size = 0.05;
    s->def.upper[0] = 2.4, s->def.upper[1] = 1.2;
    s->def.gravity[1] = -9.81, s->def.gravity[2] = 0;
    s->def.wall[2] = (rp_surface){ RP_STICK, 0, 0 };
    s->def.materials = &s->material, s->def.material_count = 1;
    s->def.grains = &s->grains, s->def.grains_count = 1;
    s->def.duration = 100;
    s->def.threads = 1;
    assert_int_equal(rp_params_create("elastoplastic", &s->params), RP_OK);
    assert_int_equal(rp_params_set(s->params, "integrator", integrator), RP_OK);
    s->def.method_params = rp_params_data(s->params);
}

static rp_sim *start(const heap *s)
{
    rp_sim *sim = NULL;
    if (rp_sim_create(&s->def, &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    return sim;
}

static void stop(heap *s, rp_sim *sim)
{
    rp_sim_destroy(sim);
    rp_shape_release(s->grains.shape);
    rp_params_destroy(s->params);
}

static const double *plane(const rp_sim *sim, const char *name, int component)
{
    rp_field_view view;
    assert_int_equal(rp_sim_field_named(sim, name, &view), RP_OK);
    return (const double *)view.data + component * view.stride;
}

/* The longest step that the explicit scheme takes on a heap. */
static double explicit_limit(const heap *s)
{
    double E = s->material.youngs_modulus, nu = s->material.poisson_ratio;
    double stiff = E * (1 - nu) / ((1 + nu) * (1 - 2 * nu));
    return 0.4 * s->def.cell_size / sqrt(stiff / (s->material.density * s->material.volume_fraction));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How far the heap reaches: 98 % of the grains lie this side. */
static double run_out(const rp_sim *sim)
{
    int64_t n = rp_sim_particle_count(sim);
    double *x = malloc((size_t)n * sizeof *x), result;
    memcpy(x, plane(sim, "position", 0), (size_t)n * sizeof *x);
    qsort(x, (size_t)n, sizeof *x, compare);
    result = x[n * 98 / 100];
    free(x);
    return result;
}

/* Ten times the explicit step: the explicit scheme blows up, the implicit one converges and comes to rest. */
static void large_steps_are_stable(void **unused)
{
    (void)unused;
    heap s;
    set_up(&s, "implicit");
    double dt = 10 * explicit_limit(&s);
    s.def.upper[0] = 0.4; /* a column between walls */
    s.def.dt_max = dt;
    s.def.frame_rate = 1 / (20 * dt);
    rp_sim *sim = start(&s);
    rp_step_stats stats;
    int64_t steps = 0, missed = 0;
    while (rp_sim_time(sim) < 1.5) {
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
        steps++, missed += !stats.converged;
        assert_true(stats.dt > 0.99 * dt);
    }
    if (stats.kinetic_energy > 1e-5 * stats.potential_energy || missed > steps / 100)
        fail_msg("%g J of %g J are in motion; %d of %d steps did not converge", stats.kinetic_energy, stats.potential_energy, (int)missed,
                 (int)steps);
    stop(&s, sim);
    set_up(&s, "explicit");
    assert_int_equal(rp_params_set(s.params, "wave", "1"), RP_OK);
    s.def.upper[0] = 0.4;
    s.def.frame_rate = 1 / (20 * dt);
    s.def.substeps = 20; /* forced */
    sim = start(&s);
    rp_result result = RP_OK;
    while (rp_sim_time(sim) < 1.5 && result == RP_OK)
        result = rp_sim_step(sim, &stats);
    assert_true(result == RP_DIVERGED || !(stats.kinetic_energy < 0.1 * stats.potential_energy));
    stop(&s, sim);
}

/* The largest error of the vertical stress, -rho g depth, of rows of particles deeper than 0.15 m in a column at rest between slip
 * walls; the stick floor is part of it. */
static double stress_error(const char *integrator, double *floor_force)
{
    enum { ROWS = 32 };
    heap s;
    double sum[ROWS] = { 0 }, worst = 0, force[3], weight = 0;
    int number[ROWS] = { 0 };
    set_up(&s, integrator);
    s.def.upper[0] = 0.4;
    s.material.youngs_modulus = 1e6;
    if (strcmp(integrator, "implicit") == 0)
        s.def.dt_max = 5e-3;
    assert_int_equal(rp_params_set(s.params, "damping", "5"), RP_OK);
    rp_sim *sim = start(&s);
    rp_step_stats stats;
    while (rp_sim_time(sim) < 2)
        assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
    if (stats.kinetic_energy > 1e-6 * stats.potential_energy)
        fail_msg("%s: still moving, %g J of %g J", integrator, stats.kinetic_energy, stats.potential_energy);
    double E = s.material.youngs_modulus, nu = s.material.poisson_ratio;
    double lame = E * nu / ((1 + nu) * (1 - 2 * nu)), shear = E / (2 * (1 + nu));
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
        double y = plane(sim, "position", 1)[i], exx = plane(sim, "strain", 0)[i], eyy = plane(sim, "strain", 1)[i];
        int row = (int)(y / 0.025);
        sum[row] += -(2 * shear * eyy + lame * (exx + eyy)) / (1500 * 9.81 * 0.025 * (ROWS - 0.5 - row)); /* what is above */
        number[row]++;
        weight += 9.81 * plane(sim, "mass", 0)[i];
    }
    for (int r = 0; r < 26; r++) { /* to a depth of 0.15 m */
        assert_true(number[r] == 16);
        worst = fmax(worst, fabs(sum[r] / number[r] - 1));
    }
    assert_int_equal(rp_sim_wall_force(sim, 2, force), RP_OK);
    *floor_force = -force[1] / weight;
    stop(&s, sim);
    return worst;
}

/* A column carries its weight evenly down to the floor: walls are mirrors in both. */
static void columns_carry_their_weight_to_the_floor(void **unused)
{
    (void)unused;
    double force[2], worst[2] = { stress_error("explicit", &force[0]), stress_error("implicit", &force[1]) };
    print_message("rows of particles: stress off by %.3f (explicit), %.3f (implicit); floor carries %.5f, %.5f of the weight\n", worst[0],
                  worst[1], force[0], force[1]);
    if (worst[0] > 0.03 || worst[1] > 0.03 || fabs(force[0] - 1) > 5e-3 || fabs(force[1] - 1) > 5e-3)
        fail_msg("the weight is not carried as it should");
}

/* The collapse of a column under both, at a step that both stand. */
static void both_integrators_agree_on_the_run_out(void **unused)
{
    (void)unused;
    double reach[2];
    for (int k = 0; k < 2; k++) {
        heap s;
        set_up(&s, k ? "implicit" : "explicit");
        s.def.dt_max = explicit_limit(&s);
        rp_sim *sim = start(&s);
        rp_step_stats stats;
        int64_t steps = 0, missed = 0;
        while (rp_sim_time(sim) < 1) {
            assert_int_equal(rp_sim_step(sim, &stats), RP_OK);
            steps++, missed += !stats.converged;
        }
        if (missed > steps / 50)
            fail_msg("%d of %d steps did not converge", (int)missed, (int)steps);
        reach[k] = run_out(sim);
        stop(&s, sim);
    }
    print_message("run-out: explicit %.4f m, implicit %.4f m\n", reach[0], reach[1]);
    if (fabs(reach[1] / reach[0] - 1) > 0.02)
        fail_msg("run-out: explicit %g m, implicit %g m", reach[0], reach[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tangents_are_the_derivatives_of_the_stress),
        cmocka_unit_test(the_system_has_its_derivative),
        cmocka_unit_test(columns_carry_their_weight_to_the_floor),
        cmocka_unit_test(large_steps_are_stable),
        cmocka_unit_test(both_integrators_agree_on_the_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
