/* The law: projection, closed forms, lanes against the plain twin. */
#include "cmocka_test.h"
#include "elastoplastic/elastoplastic.h"
#include "math/random.h"
#include "math/tensor.h"

#include <math.h>
#include <string.h>

static double uniform(uint64_t stream, uint64_t counter)
{
    return 2 * rp__random_unit(11, stream, counter) - 1;
}

static rp__elastoplastic_law sand(int dim)
{
    rp_material_def m = rp_default_material_def();
    return rp__elastoplastic_make_law(&m, dim);
}

/* Circumscribed in 3D: the alpha of the paper. */
static void cone_is_that_of_the_paper(void **unused)
{
    (void)unused;
    rp_material_def m = rp_default_material_def();
    m.match = RP_MATCH_CIRCUMSCRIBED;
    double s = sin(m.friction_angle);
    assert_true(fabs(rp__elastoplastic_make_law(&m, 3).cone - sqrt(2.0 / 3) * 2 * s / (3 - s)) < 1e-15);
    m.hardening[0] = 35, m.hardening[1] = 9, m.hardening[2] = 0.3, m.hardening[3] = 10;
    rp__elastoplastic_law law = rp__elastoplastic_make_law(&m, 3);
    s = sin((35 - 10) * 0.017453292519943295);
    assert_true(fabs(rp__elastoplastic_cone(&law, 0) - sqrt(2.0 / 3) * 2 * s / (3 - s)) < 1e-12);
    assert_true(rp__elastoplastic_cone(&law, 1) > rp__elastoplastic_cone(&law, 0)); /* it hardens */
}

static void projection_is_idempotent_and_keeps_the_trace(void **unused)
{
    (void)unused;
    int seen[4] = { 0 };
    for (int dim = 2; dim <= 3; dim++) {
        rp__elastoplastic_law law = sand(dim);
        for (uint64_t n = 0; n < 20000; n++) {
            double e[3] = { 0, 0, 0 }, q = 0, gain = 0, trace = 0, after = 0, again[3], norm = 0, tip = n % 2 ? 1e-3 : 0, apex = n % 3 ? 0 : 2e-3;
            for (int i = 0; i < dim; i++) {
                e[i] = 0.01 * uniform(n, (uint64_t)i) - 0.004;
                trace += e[i];
            }
            int kase = rp__elastoplastic_project(&law, dim, tip, apex, e, &q, &gain, true);
            seen[kase]++;
            for (int i = 0; i < dim; i++)
                after += e[i], again[i] = e[i];
            if (kase == 3)
                assert_true(fabs(after - trace) < 1e-15);
            if (kase == 2) {
                assert_true(fabs(after - tip) < 1e-17 && fabs(gain + tip - trace) < 1e-15); /* nothing is pulled beyond the tip */
                gain = 0;
            }
            for (int i = 0; i < dim; i++)
                norm += (e[i] - after / dim) * (e[i] - after / dim);
            assert_true(sqrt(norm) - law.stiffness * law.cone * hypot(after - tip, apex) < 1e-14); /* on or in the cone with its tip rounded */
            double before = q;
            rp__elastoplastic_project(&law, dim, tip, apex, again, &q, &gain, true);
            for (int i = 0; i < dim; i++)
                assert_true(fabs(again[i] - e[i]) < 1e-15);
            assert_true(q - before < 1e-14);
        }
    }
    assert_true(seen[1] > 100 && seen[2] > 100 && seen[3] > 100);
}

/* Uniaxial compression of an elastic state: tau_xx = (lambda + 2 mu) ln s, tau_yy = lambda ln s. */
static void uniaxial_compression_has_its_closed_form(void **unused)
{
    (void)unused;
    rp__elastoplastic_law law = sand(3);
    law.cone = 100; /* never yields in shear */
    double strain[6] = { 0 }, q = 0, gain = 0, tau[6];
    rp__mat3 g;
    memset(&g, 0, sizeof g);
    g.m[0][0] = -1e-3;
    for (int k = 0; k < 100; k++)
        rp__elastoplastic_strain_ref(&law, 3, true, &g, strain, &q, &gain);
    rp__elastoplastic_tau_ref(&law, strain, tau);
    double logarithm = 100 * log(1 - 1e-3);
    assert_true(fabs(tau[0] / ((law.lame + 2 * law.shear) * logarithm) - 1) < 1e-12);
    assert_true(fabs(tau[1] / (law.lame * logarithm) - 1) < 1e-12);
}

/* Simple shear under pressure: the shear stress ends at tau/p = mu^, the volume stays. */
static void simple_shear_ends_on_the_cone(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++) {
        rp_material_def m = rp_default_material_def();
        rp__elastoplastic_law law = sand(dim);
        double strain[6] = { 0 }, q = 0, gain = 0, tau[6];
        for (int i = 0; i < dim; i++)
            strain[i] = -1e-3;
        rp__mat3 g;
        memset(&g, 0, sizeof g);
        g.m[0][1] = 1e-4;
        int kase = 0;
        for (int k = 0; k < 200; k++)
            kase = rp__elastoplastic_strain_ref(&law, dim, true, &g, strain, &q, &gain);
        assert_int_equal(kase, 3);
        rp__elastoplastic_tau_ref(&law, strain, tau);
        double p = dim == 3 ? -(tau[0] + tau[1] + tau[2]) / 3 : -(tau[0] + tau[1]) / 2, j2 = tau[3] * tau[3];
        for (int i = 0; i < dim; i++)
            j2 += 0.5 * (tau[i] + p) * (tau[i] + p);
        assert_true(fabs(sqrt(j2) / p / rp_material_friction(&m, dim) - 1) < 1e-9);
        double trace = strain[0] + strain[1] + strain[2];
        assert_true(fabs(trace + 1e-3 * dim) < 1e-6 * dim);
        assert_true(fabs(tau[3] / sqrt(j2)) > 0.99); /* shear, and little else */
    }
}

/* With cohesion the same shear ends at mu^ (p + c), c the tension that the material bears; and it falls with the shear, by
 * exp(-decay / 2) for each unit of it. */
static void cohesion_adds_to_the_pressure(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++) {
        rp_material_def m = rp_default_material_def();
        m.cohesion = 500;
        for (int decays = 0; decays < 2; decays++) {
            m.cohesion_decay = decays ? 20 : 0;
            rp__elastoplastic_law law = rp__elastoplastic_make_law(&m, dim);
            double strain[6] = { 0 }, q = 0, gain = 0, tau[6], shear = 0.1;
            for (int i = 0; i < dim; i++)
                strain[i] = -1e-4;
            rp__mat3 g;
            memset(&g, 0, sizeof g);
            g.m[0][1] = 1e-5;
            for (int k = 0; k < (int)lround(shear / 1e-5); k++)
                rp__elastoplastic_strain_ref(&law, dim, true, &g, strain, &q, &gain);
            rp__elastoplastic_tau_ref(&law, strain, tau);
            double p = dim == 3 ? -(tau[0] + tau[1] + tau[2]) / 3 : -(tau[0] + tau[1]) / 2, j2 = tau[3] * tau[3];
            for (int i = 0; i < dim; i++)
                j2 += 0.5 * (tau[i] + p) * (tau[i] + p);
            double c = m.volume_fraction * 500 * exp(-0.5 * m.cohesion_decay * (shear - tau[3] / law.shear)); /* less what is elastic */
            assert_true(fabs(sqrt(j2) / (p + c) / rp_material_friction(&m, dim) - 1) < (decays ? 1e-3 : 1e-9));
            memset(&g, 0, sizeof g); /* torn apart */
            for (int i = 0; i < dim; i++)
                g.m[i][i] = 0.01;
            int kase = rp__elastoplastic_strain_ref(&law, dim, true, &g, strain, &q, &gain);
            rp__elastoplastic_tau_ref(&law, strain, tau);
            assert_int_equal(kase, 2);
            assert_true(fabs(tau[0] / c - 1) < (decays ? 1e-3 : 1e-9));
            for (int k = 0; k < 100; k++)
                rp__elastoplastic_strain_ref(&law, dim, true, &g, strain, &q, &gain);
            assert_true(strain[0] == 0 && gain > RP_EP_BONDED); /* too far from each other */
        }
    }
}

/* What opens wider and wider has the plastic strain of its way, not that of every step since it opened. */
static void opening_counts_once(void **unused)
{
    (void)unused;
    rp__elastoplastic_law law = sand(3);
    double strain[6] = { 0 }, q = 0, gain = 0;
    rp__mat3 g;
    memset(&g, 0, sizeof g);
    for (int i = 0; i < 3; i++)
        g.m[i][i] = 1e-3;
    for (int k = 0; k < 1000; k++)
        rp__elastoplastic_strain_ref(&law, 3, true, &g, strain, &q, &gain);
    assert_true(fabs(gain - 3000 * log1p(1e-3)) < 1e-9);
    assert_true(fabs(q - gain / sqrt(3)) < 1e-9);
}

/* Elastic solid: tau of a stretched state is mu (s² - 1) + lambda ln J in its directions. */
static void solids_are_neo_hookean(void **unused)
{
    (void)unused;
    rp__elastoplastic_law law = sand(3);
    law.elastic = true;
    double strain[6] = { log(1.5), log(0.9), 0, 0, 0, 0 }, tau[6];
    rp__elastoplastic_tau_ref(&law, strain, tau);
    double j = log(1.5 * 0.9);
    assert_true(fabs(tau[0] - (law.shear * (1.5 * 1.5 - 1) + law.lame * j)) < 1e-9 * law.shear);
    assert_true(fabs(tau[1] - (law.shear * (0.9 * 0.9 - 1) + law.lame * j)) < 1e-9 * law.shear);
    assert_true(fabs(tau[2] - law.lame * j) < 1e-9 * law.shear);
}

/* ---- lanes against the twin ---- */

enum { COUNT = 1003 }; /* not a multiple of the lanes */

static double get(const rp__particles *p, int field, int component, int64_t i)
{
    const void *plane = rp__particles_plane(p, field, component);
    return p->info[field].type == RP_F32 ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

static void set(const rp__particles *p, int field, int component, int64_t i, double value)
{
    void *plane = rp__particles_plane(p, field, component);
    if (p->info[field].type == RP_F32)
        ((float *)plane)[i] = (float)value;
    else
        ((double *)plane)[i] = value;
}

/* Sand alone in the first half, then sand and a solid by turns. */
static int material_of(int64_t i)
{
    return i < COUNT / 2 ? 0 : (int)(i % 2);
}

static void fill(rp__particles *p, int first_field, double size, int dim)
{
    static const int plane[6] = { 1, 1, 0, 1, 0, 0 };
    for (int64_t i = 0; i < COUNT; i++) {
        p->mass[i] = 1.5, p->volume[i] = 1e-3;
        p->material[i] = material_of(i);
        for (int k = 0; k < 6; k++) {
            double value = dim == 3 || plane[k] ? size * (uniform((uint64_t)i, (uint64_t)k) - (k < 3 ? 0.7 : 0)) : 0;
            set(p, first_field + RP_EP_STRAIN, k, i, value);
        }
        set(p, first_field + RP_EP_VOLUME_GAIN, 0, i, i % 3 == 0 ? 0.3 * size : 0);
        set(p, first_field + RP_EP_HARDENING, 0, i, i % 5 == 0 ? 0.5 * size : 0);
        for (int k = 0; k < 9; k++) {
            bool in_plane = k % 3 < 2 && k < 6;
            set(p, first_field + RP_EP_GRADIENT, k, i, dim == 3 || in_plane ? 100 * size * uniform((uint64_t)i, 20 + (uint64_t)k) : 0);
        }
    }
}

/* `bonded`: with cohesion, and what rests holds together; `decays`: with every plastic strain less. */
static void lanes_agree(bool single, int dim, double size, double tolerance, bool bonded, bool decays)
{
    rp__particles p;
    int64_t first;
    int index = 0, first_field;
    rp__elastoplastic_params par = { .storage = single, .integrator = RP_EP_IMPLICIT };
    const rp_field_info *fields = rp__elastoplastic_field_list(&par);
    assert_int_equal(rp__particles_init(&p), RP_OK);
    first_field = p.fields;
    for (; fields->name; fields++)
        assert_int_equal(rp__particles_add_field(&p, fields, &index), RP_OK);
    assert_int_equal(rp__particles_append(&p, COUNT, &first), RP_OK);
    fill(&p, first_field, size, dim);
    rp__elastoplastic_law laws[2] = { sand(dim), sand(dim) };
    laws[1].elastic = true;
    if (bonded)
        laws[0].tip = 0.1 * size, laws[0].apex = 0.3 * size, laws[0].moving = 1 / size;
    if (decays)
        laws[0].decay = 1 / size, laws[0].varies = true;
    rp__elastoplastic_step step = { .dt = 0.01, .dim = dim, .inverse_d = 400, .correct_volume = true, .keep_affine = true,
                                    .laws = laws, .first_field = first_field, .single = single };
    rp__particles q;
    int64_t again;
    fields = rp__elastoplastic_field_list(&par);
    assert_int_equal(rp__particles_init(&q), RP_OK);
    for (; fields->name; fields++)
        assert_int_equal(rp__particles_add_field(&q, fields, &index), RP_OK);
    assert_int_equal(rp__particles_append(&q, COUNT, &again), RP_OK);
    fill(&q, first_field, size, dim);
    rp__elastoplastic_strain_kernel(&step, &p, 0, COUNT);
    rp__elastoplastic_stress_kernel(&step, &q, 0, COUNT);
    double worst = 0, worst_stress = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        double strain[6], before[6], tau[6], hard = get(&q, first_field + RP_EP_HARDENING, 0, i), gain = get(&q, first_field + RP_EP_VOLUME_GAIN, 0, i);
        rp__mat3 g;
        for (int k = 0; k < 6; k++)
            before[k] = strain[k] = get(&q, first_field + RP_EP_STRAIN, k, i);
        for (int k = 0; k < 9; k++)
            g.m[k / 3][k % 3] = 0.01 * get(&p, first_field + RP_EP_GRADIENT, k, i);
        rp__elastoplastic_strain_ref(&laws[material_of(i)], dim, true, &g, strain, &hard, &gain);
        for (int k = 0; k < 6; k++)
            worst = fmax(worst, fabs(get(&p, first_field + RP_EP_STRAIN, k, i) - strain[k]) / size);
        /* these two are float */
        worst = fmax(worst, (fabs(get(&p, first_field + RP_EP_HARDENING, 0, i) - hard) - 6e-8 * hard) / size);
        if (!laws[material_of(i)].elastic)
            worst = fmax(worst, (fabs(get(&p, first_field + RP_EP_VOLUME_GAIN, 0, i) - gain) - 6e-8 * gain) / size);
        rp__elastoplastic_tau_ref(&laws[material_of(i)], before, tau);
        double factor = 0.01 * 400 * laws[0].inverse_fraction * 1e-3 / 1.5;
        double expected = get(&p, first_field + RP_EP_GRADIENT, 1, i) - factor * tau[3];
        double scale = 100 * size + factor * laws[0].shear * size;
        worst_stress = fmax(worst_stress, fabs(get(&q, first_field + RP_EP_GRADIENT, 1, i) - expected) / scale);
    }
    if (worst > tolerance || worst_stress > tolerance)
        fail_msg("%s %dD, strains of %g%s: off by %g, stress by %g", single ? "single" : "double", dim, size, bonded ? ", bonded" : "", worst,
                 worst_stress);
    rp__particles_free(&p);
    rp__particles_free(&q);
}

static void lanes_agree_with_the_twin(void **unused)
{
    (void)unused;
    for (int k = 0; k < 6; k++) {
        int dim = 2 + k % 2, bond = k / 2;
        lanes_agree(false, dim, 1e-2, 1e-12, bond > 0, bond > 1);
        lanes_agree(false, dim, 3e-2, 1e-12, bond > 0, bond > 1);
        lanes_agree(false, dim, 0.2, 1e-11, bond > 0, bond > 1);
        lanes_agree(false, dim, 1e-6, 1e-9, bond > 0, bond > 1); /* the twin itself loses digits here */
        lanes_agree(true, dim, 1e-2, 1e-5, bond > 0, bond > 1);
        lanes_agree(true, dim, 1e-5, 1e-5, bond > 0, bond > 1); /* small strains keep their relative accuracy in single precision */
    }
}

/* Increments that turn a particle inside out or flatten it: b = F F^T knows no reflection, and a bound holds what has no
 * volume. */
static void reflected_and_flat_increments_are_survived(void **unused)
{
    (void)unused;
    for (int dim = 2; dim <= 3; dim++)
        for (int kind = 0; kind < 4; kind++) {
            rp__elastoplastic_params par = { .integrator = RP_EP_IMPLICIT };
            rp__particles p;
            int index = 0;
            int64_t first;
            assert_int_equal(rp__particles_init(&p), RP_OK);
            int field = p.fields;
            for (const rp_field_info *f = rp__elastoplastic_field_list(&par); f->name; f++)
                assert_int_equal(rp__particles_add_field(&p, f, &index), RP_OK);
            assert_int_equal(rp__particles_append(&p, 8, &first), RP_OK);
            rp__elastoplastic_law law = sand(dim);
            law.elastic = true; /* keeps what it gets */
            for (int i = 0; i < 8; i++) {
                p.mass[i] = p.volume[i] = 1;
                /* A = diag(-1, 1, 1); diag(0, 1, 1); 0; diag(1e-6, 1, 1) */
                rp__particles_f64(&p, field + RP_EP_GRADIENT, 0)[i] = kind == 0 ? -2 : kind == 3 ? -1 + 1e-6 : -1;
                if (kind == 2)
                    for (int k = 4; k < (dim == 3 ? 9 : 5); k += 4)
                        rp__particles_f64(&p, field + RP_EP_GRADIENT, k)[i] = -1;
            }
            rp__elastoplastic_step step = { .dt = 1, .dim = dim, .inverse_d = 1, .correct_volume = true, .laws = &law, .first_field = field };
            rp__elastoplastic_strain_kernel(&step, &p, 0, 8);
            for (int k = 0; k < 6; k++)
                for (int i = 0; i < 8; i++) {
                    double e = rp__particles_f64(&p, field + RP_EP_STRAIN, k)[i];
                    assert_true(isfinite(e) && (kind > 0 || fabs(e) < 1e-12));
                    assert_true(kind == 0 || k > 0 || e < -2);
                }
            rp__particles_free(&p);
        }
}

/* What is packed too tightly dilates where it is sheared, by K (ln e - 0.05) of the shear and never by more than friction takes; it stays as it
 * is at rest, and where it is not too tight. What is too tight has no gap. */
static void packing_has_its_say_where_sand_is_sheared(void **unused)
{
    (void)unused;
    rp__elastoplastic_law law = sand(2);
    rp__elastoplastic_step step = { .dim = 2, .laws = &law };
    int32_t material = 0;
    double grains = 0.6, mass = 1500, strain[3];
    float rate[6], gain;
    double friction = law.cone * 2 / sqrt(2.0);
    for (int k = 0; k < 6; k++) {
        static const double packings[] = { 0.9, 1.04, 1.08, 1.08, 3, 0.5 };
        bool sheared = k != 3;
        memset(rate, 0, sizeof rate), memset(strain, 0, sizeof strain);
        rate[3] = sheared ? 0.5f : 0; /* du/dy = 1 */
        gain = k == 4 ? 1 : k == 5 ? 2 : 0;
        rp__elastoplastic_volumes v = { .step = &step, .material = &material, .gain = &gain, .grains = &grains, .mass = &mass };
        for (int a = 0; a < 3; a++)
            v.strain[a] = &strain[a];
        for (int a = 0; a < 6; a++)
            v.rate[a] = &rate[a];
        rp__elastoplastic_settle(&v, 0, &(rp__elastoplastic_around){ .density = packings[k] * mass / (grains * law.inverse_fraction), .time = 0.01 });
        double over = log(packings[k]) - 0.05, z = over > 0 && sheared ? fmin(4 * over, friction) : 0;
        if (k < 4)
            assert_true(fabs(strain[0] + strain[1] + z * 0.01) < 1e-9);
        if (k == 4) /* there is no gap */
            assert_true(gain == 0 && strain[0] < 0);
        if (k == 5)
            assert_true(gain == 2 && strain[0] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cone_is_that_of_the_paper),
        cmocka_unit_test(projection_is_idempotent_and_keeps_the_trace),
        cmocka_unit_test(packing_has_its_say_where_sand_is_sheared),
        cmocka_unit_test(uniaxial_compression_has_its_closed_form),
        cmocka_unit_test(simple_shear_ends_on_the_cone),
        cmocka_unit_test(cohesion_adds_to_the_pressure),
        cmocka_unit_test(opening_counts_once),
        cmocka_unit_test(solids_are_neo_hookean),
        cmocka_unit_test(lanes_agree_with_the_twin),
        cmocka_unit_test(reflected_and_flat_increments_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
