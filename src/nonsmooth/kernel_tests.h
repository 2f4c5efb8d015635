/* Tests of the kernels against their definitions, for the RP_DIM of the file that includes this. */
#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"
#include "nonsmooth/dual.h"
#include "nonsmooth/nonsmooth.h"
#include "nonsmooth/shared.h"

#include <cmocka_test.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A world with `count` particles at random in a box of 7 × 6 (× 5) cells, with velocities and gradients. */
typedef struct fixture {
    rp_sim_def def;
    rp_material_def material[2];
    rp__nonsmooth_params params;
    rp__particles particles;
    rp__world world;
    dual *y;
} fixture;

static void make(fixture *f, int64_t count, int stress, int materials)
{
    memset(f, 0, sizeof *f);
    f->def = rp_default_sim_def();
    f->def.dim = RP_DIM;
    f->def.cell_size = 0.1;
    double upper[3] = { 0.7, 0.6, RP_DIM == 3 ? 0.5 : 0 };
    memcpy(f->def.upper, upper, sizeof upper);
    f->def.particle_limit = 1 << 20;
    for (int m = 0; m < 2; m++) {
        f->material[m] = rp_default_material_def();
        f->material[m].friction = 0.3 + 0.2 * m;
        f->material[m].volume_fraction = 0.6 - 0.1 * m;
        f->material[m].viscosity = 1 + m;
        f->material[m].cohesion = 5 * m;
    }
    f->def.materials = f->material;
    f->def.material_count = materials;
    f->params = (rp__nonsmooth_params){ .stress = stress, .tolerance = 1e-8, .tolerance_max = 1e-6, .max_iterations = 1000,
                                        .min_iterations = 1, .warm_start = true, .split_ratio = 4, .most_per_cell = 64 };
    f->world = (rp__world){ .def = &f->def, .params = &f->params, .materials = f->material, .particles = &f->particles,
                            .cells = { 7, 6, RP_DIM == 3 ? 5 : 1 } };
    assert_int_equal(rp__particles_init(&f->particles), RP_OK);
    int first = f->particles.fields, index;
    for (const rp_field_info *i = rp__nonsmooth_method.info.fields; i->name; i++)
        assert_int_equal(rp__particles_add_field(&f->particles, i, &index), RP_OK);
    void *state;
    assert_int_equal(RP_D(rp__nonsmooth_dual_create)(&f->world, first, &state), RP_OK);
    f->y = state;
    rp__particles *p = &f->particles;
    assert_int_equal(rp__particles_append(p, count, NULL), RP_OK);
    uint64_t k = 0;
    for (int64_t i = 0; i < count; i++) {
        p->material[i] = (int32_t)(i % materials);
        for (int a = 0; a < RP_DIM; a++) {
            p->x[a][i] = upper[a] * rp__random_unit(1, 2, k++);
            p->v[a][i] = rp__random_unit(1, 2, k++) - 0.5;
            for (int b = 0; b < RP_DIM; b++)
                rp__particles_f64(p, first + RP__NS_GRADIENT, 3 * a + b)[i] = rp__random_unit(1, 2, k++) - 0.5;
        }
        p->volume[i] = 1e-4 * (0.5 + rp__random_unit(1, 2, k++));
        p->mass[i] = 2500 * p->volume[i];
    }
    assert_int_equal(RP_D(rp__nonsmooth_dual_born)(f->y, &f->world, 0, count, 0.05), RP_OK);
    assert_int_equal(RP_D(rp__grid_build)(&f->y->grid, p, stress == RP__STRESS_NODE ? 3 : 2), RP_OK);
    assert_int_equal(RP_D(rp__nonsmooth_dual_reserve)(f->y, count), RP_OK);
}

static void drop(fixture *f)
{
    RP_D(rp__nonsmooth_dual_destroy)(f->y);
    rp__particles_free(&f->particles);
}

static void near(double a, double b, double scale)
{
    if (!(fabs(a - b) <= 1e-12 * scale))
        fail_msg("%.17g against %.17g", a, b);
}

/* ---- assembly: the definitions, particle by particle, by lattice coordinates alone ---- */

/* N_j and its gradient at a place, from the formula of the spline: hats |t| < 1, or quadratic |t| < 3/2; t in cells from the node. */
static double shape_1d(bool hat, double t, double *slope)
{
    double s = fabs(t), sign = t < 0 ? -1 : 1;
    if (hat) {
        *slope = s < 1 ? -sign : 0;
        return s < 1 ? 1 - s : 0;
    }
    *slope = s < 0.5 ? -2 * t : s < 1.5 ? -sign * (1.5 - s) : 0;
    return s < 0.5 ? 0.75 - t * t : s < 1.5 ? 0.5 * (1.5 - s) * (1.5 - s) : 0;
}

static double shape_ref(bool hat, double h, const int64_t *node, const double *x, double *gradient)
{
    double n[3] = { 1, 1, 1 }, d[3] = { 0 }, all = 1;
    for (int a = 0; a < RP_DIM; a++)
        n[a] = shape_1d(hat, x[a] / h - (double)node[a], &d[a]);
    for (int a = 0; a < RP_DIM; a++) {
        all *= n[a];
        gradient[a] = d[a] / h;
        for (int b = 0; b < RP_DIM; b++)
            gradient[a] *= b == a ? 1 : n[b];
    }
    return all;
}

/* Weight of a particle at the stress of a node: trilinear, or one for those whose nearest node it is. */
static double stress_weight(bool hat, double h, const int64_t *node, const double *x)
{
    double unused[3], inside = 1;
    if (hat)
        return shape_ref(true, h, node, x, unused);
    for (int a = 0; a < RP_DIM; a++)
        inside *= floor(x[a] / h + 0.5) == (double)node[a];
    return inside;
}

typedef struct sums_ref {
    double mass, momentum[3], volume, bulk, friction, cohesion, viscosity, g[NS_STENCIL * RP_DIM];
} sums_ref;

/* What node j and the stress with that index should hold. */
static void assemble_ref(const fixture *f, int64_t j, sums_ref *out)
{
    const rp__particles *p = &f->particles;
    const dual *y = f->y;
    bool hat = y->trilinear;
    double h = y->lattice.h, gradient[3];
    int64_t at[3], centre[3] = { 0 };
    memset(out, 0, sizeof *out);
    rp__grid_coordinates(&y->grid, j, at);
    for (int a = 0; a < RP_DIM; a++)
        centre[a] = at[a] + 1;
    for (int64_t i = 0; i < p->count; i++) {
        double x[3] = { p->x[0][i], p->x[1][i], p->x[2][i] }, m = p->mass[i] * shape_ref(hat, h, at, x, gradient);
        out->mass += m;
        for (int a = 0; a < RP_DIM; a++) {
            double v = p->v[a][i];
            for (int b = 0; b < RP_DIM; b++)
                v += rp__particles_f64(p, y->first_field + RP__NS_GRADIENT, 3 * a + b)[i] * (h * (double)at[b] - x[b]);
            out->momentum[a] += m * v;
        }
        const rp_material_def *material = &f->material[p->material[i]];
        double v = p->volume[i] * stress_weight(hat, h, centre, x);
        if (v == 0)
            continue;
        out->volume += v, out->bulk += v / material->volume_fraction, out->viscosity += v * material->viscosity;
        out->friction += v * rp_material_friction(material, RP_DIM), out->cohesion += v * material->cohesion;
        for (int n = 0; n < NS_STENCIL; n++) {
            int64_t node[3] = { at[0] + n % 3, at[1] + n / 3 % 3, at[2] + n / 9 };
            shape_ref(hat, h, node, x, gradient);
            for (int a = 0; a < RP_DIM; a++)
                out->g[n * RP_DIM + a] += v * gradient[a];
        }
    }
}

static void assembly_agrees_with_its_definition(void **state)
{
    (void)state;
    for (int stress = RP__STRESS_DUAL; stress <= RP__STRESS_NODE; stress++)
        for (int materials = 1; materials < 3; materials++) {
            fixture f;
            make(&f, 600, stress, materials);
            dual *y = f.y;
            RP_D(rp__nonsmooth_dual_assemble)(y, &f.world);
            double total = 0, sum = 0;
            for (int64_t i = 0; i < (int64_t)y->grid.blocks * RP_BLOCK_NODES; i++) {
                sums_ref ref;
                assemble_ref(&f, i, &ref);
                near(y->nodes.mass[i], ref.mass, 10);
                total += y->nodes.mass[i];
                for (int a = 0; a < RP_DIM; a++)
                    near(y->nodes.momentum[a][i], ref.momentum[a], 10);
                near(y->sum[i].volume, ref.volume, 0.1);
                near(y->sum[i].bulk, ref.bulk, 0.1);
                near(y->sum[i].friction, ref.friction, 0.1);
                near(y->sum[i].cohesion, ref.cohesion, 1);
                near(y->sum[i].viscosity, ref.viscosity, 1);
                if (!(y->active[i / RP_BLOCK_NODES] >> i % RP_BLOCK_NODES & 1)) {
                    near(ref.volume, 0, 1e-12);
                    continue;
                }
                for (int k = 0; k < NS_STENCIL * RP_DIM; k++)
                    near(y->g[i * NS_STENCIL * RP_DIM + k], ref.g[k], 10);
            }
            for (int64_t i = 0; i < f.particles.count; i++)
                sum += f.particles.mass[i];
            near(total, sum, sum);
            drop(&f);
        }
}

/* Rows of g sum to zero over the velocity nodes: stresses cannot change the total momentum. */
static void operator_keeps_momentum(void **state)
{
    (void)state;
    for (int stress = RP__STRESS_DUAL; stress <= RP__STRESS_NODE; stress++) {
        fixture f;
        make(&f, 2000, stress, 1);
        dual *y = f.y;
        RP_D(rp__nonsmooth_dual_assemble)(y, &f.world);
        for (int64_t i = 0; i < (int64_t)y->grid.blocks * RP_BLOCK_NODES; i++)
            for (int a = 0; a < RP_DIM && (y->active[i / RP_BLOCK_NODES] >> i % RP_BLOCK_NODES & 1); a++) {
                double sum = 0, size = 0;
                for (int n = 0; n < NS_STENCIL; n++) {
                    double g = y->g[(i * NS_STENCIL + n) * RP_DIM + a];
                    sum += g, size += fabs(g);
                }
                near(sum, 0, size);
            }
        drop(&f);
    }
}

/* W = chi^-1 sym(chi(.) G) for a random G, through the frame and from the definition. */
static void frame_is_the_operator(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < 2000; t++) {
        double g[RP_DIM][RP_DIM] = { { 0 } }, c[RP_DIM + 2][RP_DIM];
        for (int n = 0; n < RP_DIM + 2; n++)
            for (int a = 0; a < RP_DIM; a++)
                c[n][a] = rp__random_normal(3, t, (uint64_t)(n * RP_DIM + a)) * pow(10, 2 * rp__random_unit(4, t, (uint64_t)a));
        for (int n = 0; n < RP_DIM + 2; n++)
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    g[a][b] += c[n][a] * c[n][b];
        ns_frame f = { .alpha = 0 };
        double e[3] = { 0 };
#if RP_DIM == 3
        double s[6] = { g[0][0], g[1][1], g[2][2], g[0][1], g[0][2], g[1][2] };
        rp__mat3 v;
        rp__math_eigen_sym3(s, e, &v);
        memcpy(f.r, v.m, sizeof f.r);
#else
        double a4[4] = { g[0][0], g[0][1], g[1][0], g[1][1] }, v[4];
        rp__math_eigen(2, a4, e, v);
        f.r[0] = v[0], f.r[1] = v[2], f.r[2] = v[1], f.r[3] = v[3];
#endif
        assert_true(ns_frame_from_eigenvalues(&f, e));
        double lambda[NS_S], chi[NS_S], direct[NS_S], framed[NS_S], m[9], h[9], hg[9] = { 0 }, w[NS_S];
        for (int k = 0; k < NS_S; k++)
            lambda[k] = rp__random_normal(5, t, (uint64_t)k);
        /* through the frame: W y = (nn (y_N + a·y), a (W y)_N + s y) */
        w[0] = lambda[0];
        for (int k = 0; k < RP_DIM - 1; k++)
            w[0] += f.a[k] * lambda[k + 1];
        w[0] *= f.nn;
        for (int k = 0; k < NS_T; k++)
            w[k + 1] = f.s[k] * lambda[k + 1] + (k < RP_DIM - 1 ? f.a[k] * w[0] : 0);
        ns_frame_to_chi(&f, w, framed);
        /* directly */
        ns_frame_tensor(&f, lambda, m);
        ns_rotate_out(f.r, m, h);
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                for (int k = 0; k < RP_DIM; k++)
                    hg[a * RP_DIM + b] += h[a * RP_DIM + k] * g[k][b];
        ns_rotate_in(f.r, hg, m);
        double y[NS_S];
        ns_frame_coefficients(&f, m, y);
        ns_frame_to_chi(&f, y, direct);
        ns_frame_to_chi(&f, lambda, chi);
        ns_chi_to_frame(&f, chi, y);
        for (int k = 0; k < NS_S; k++) {
            near(framed[k], direct[k], 10 * f.nn * RP_DIM);
            near(y[k], lambda[k], 10);
        }
    }
}

static void law_agrees_with_the_library(void **state)
{
    (void)state;
    int seen[3] = { 0 };
    for (uint64_t t = 0; t < 20000; t++) {
        ns_frame f = { .alpha = 0 };
        double e[3], gamma[NS_S], from[NS_S], to[NS_S], general[NS_S], mu = 0.01 + 1.5 * rp__random_unit(1, t, 0);
        for (int k = 0; k < 3; k++)
            e[k] = pow(10, 3 * rp__random_unit(1, t, (uint64_t)(1 + k)) - 2);
        for (int a = 0; a < RP_DIM; a++)
            f.r[a * RP_DIM + a] = 1;
        assert_true(ns_frame_from_eigenvalues(&f, e));
        for (int k = 0; k < NS_S; k++) {
            gamma[k] = rp__random_normal(2, t, (uint64_t)k);
            from[k] = fabs(rp__random_normal(3, t, (uint64_t)k));
        }
        seen[ns_law(&f, gamma, from, mu, to)]++;
        ns_law_general(&f, gamma, from, mu, general);
        double size = 1e-300;
        for (int k = 0; k < NS_S; k++)
            size = fmax(size, fabs(general[k]));
        for (int k = 0; k < NS_S; k++)
            if (!(fabs(to[k] - general[k]) <= 1e-9 * size))
                fail_msg("problem %d: component %d is %.15g, the library says %.15g", (int)t, k, to[k], general[k]);
        /* gamma at the new stress: the natural map is zero. */
        double after[NS_S], ay = 0, d[NS_S];
        for (int k = 0; k < NS_S; k++)
            d[k] = to[k] - from[k];
        for (int k = 0; k < RP_DIM - 1; k++)
            ay += f.a[k] * d[k + 1];
        double wn = f.nn * (d[0] + ay);
        after[0] = gamma[0] + wn;
        for (int k = 0; k < NS_T; k++)
            after[k + 1] = gamma[k + 1] + f.s[k] * d[k + 1] + (k < RP_DIM - 1 ? f.a[k] * wn : 0);
        double scale = size + fabs(gamma[0]) / f.nn + fabs(after[1]) / f.nn + 1;
        assert_true(ns_natural(&f, after, to, mu) <= 1e-9 * scale);
    }
    for (int k = 0; k < 3; k++)
        assert_true(seen[k] > 100);
}

static double sum_of(const fixture *f, const double *weight, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < f->particles.count; i++)
        sum += weight[i] * (x ? x[i] : 1);
    return sum;
}

/* Stretched particles split, small ones merge: volume, mass, momentum and centre of mass stay, and the second moment when none merges to be rounded. */
static void split_and_merge_conserve(bool merge)
{
    fixture f;
    make(&f, 500, 0, 1);
    rp__particles *p = &f.particles;
    int first = f.y->first_field;
    f.params.split = true, f.params.merge = merge;
    f.params.most_per_cell = 4;
    for (int64_t i = 0; i < p->count; i++) {
        if (i % 4 == 0)
            rp__particles_f64(p, first + RP__NS_ELLIPSOID, 0)[i] = 0.1 * 0.1, rp__particles_f64(p, first + RP__NS_ELLIPSOID, 1)[i] = 1e-4;
        else
            p->volume[i] *= 0.2, p->mass[i] *= 0.2;
        p->x[0][i] = 0.15 + 0.4 * p->x[0][i] / 0.7;
    }
    double v0 = sum_of(&f, p->volume, NULL), m0 = sum_of(&f, p->mass, NULL), x0[3], p0[3], q0 = 0, q1 = 0;
    for (int a = 0; a < RP_DIM; a++) {
        x0[a] = sum_of(&f, p->mass, p->x[a]);
        p0[a] = sum_of(&f, p->mass, p->v[a]);
    }
    const double *fxx = rp__particles_f64(p, first + RP__NS_ELLIPSOID, 0);
    for (int64_t i = 0; i < p->count; i++)
        q0 += p->volume[i] * (fxx[i] / (RP_DIM + 2.0) + p->x[0][i] * p->x[0][i]);
    int64_t split, merged, before = p->count;
    assert_int_equal(NS(split_and_merge)(f.y->upkeep, &f.world, &split, &merged), RP_OK);
    assert_true(merge ? merged > 5 : split > 50 && merged == 0);
    assert_int_equal(p->count, before + split - merged);
    near(sum_of(&f, p->volume, NULL), v0, v0);
    near(sum_of(&f, p->mass, NULL), m0, m0);
    for (int a = 0; a < RP_DIM; a++) {
        near(sum_of(&f, p->mass, p->x[a]), x0[a], m0);
        near(sum_of(&f, p->mass, p->v[a]), p0[a], m0);
    }
    fxx = rp__particles_f64(p, first + RP__NS_ELLIPSOID, 0);
    for (int64_t i = 0; i < p->count; i++) {
        q1 += p->volume[i] * (fxx[i] / (RP_DIM + 2.0) + p->x[0][i] * p->x[0][i]);
        assert_true(fxx[i] > 0);
    }
    if (!merge)
        near(q1, q0, q0);
    drop(&f);
}

static void splitting_and_merging_conserve(void **state)
{
    (void)state;
    split_and_merge_conserve(false);
    split_and_merge_conserve(true);
}

/* Whatever is drawn out, semi-axes stay within their bounds, and what lies within them is not touched. */
static void ellipsoids_are_clamped(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < 2000; t++) {
        double a[3][3], f[6] = { 0 }, kept[6], value[3] = { 0 };
        rp__mat3 v;
        static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
        double size = t % 3 == 0 ? 0.3 : pow(10, 20 * rp__random_unit(7, t, 99) - 10);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                a[r][c] = r < RP_DIM && c < RP_DIM ? (t % 3 == 0 ? r == c : 0) + size * rp__random_normal(7, t, (uint64_t)(3 * r + c)) : 0;
        for (int k = 0; k < 6; k++)
            for (int c = 0; c < 3; c++)
                f[k] += a[at[k][0]][c] * a[at[k][1]][c];
        memcpy(kept, f, sizeof f);
        NS(clamp_ellipsoid)(f, 1.0 / 8, 8);
        bool same = memcmp(kept, f, sizeof f) == 0;
        rp__math_eigen_sym3(f, value, &v);
        for (int k = 3 - RP_DIM; k < 3; k++)
            assert_true(value[k] >= (1 - 1e-9) / 64 && value[k] <= (1 + 1e-9) * 64);
        rp__math_eigen_sym3(kept, value, &v);
        bool bounded = value[3 - RP_DIM] > (1 + 1e-9) / 64 && value[2] < (1 - 1e-9) * 64;
        if (bounded && !same)
            for (int k = 0; k < 6; k++)
                assert_true(fabs(f[k] - kept[k]) <= 1e-9 * 64); /* made anew from its axes, to rounding */
    }
}

/* The top of one body meets the side of another: the nearest way out of the first leads into the second, where grains would fall along the seam. */
static void seams_between_bodies_are_shut(void **state)
{
    (void)state;
    rp_sim_def def = rp_default_sim_def();
    def.dim = RP_DIM, def.cell_size = 0.1;
    def.lower[0] = def.lower[1] = def.lower[2] = -1;
    rp__particles p;
    rp__body body[2];
    int64_t first;
    assert_int_equal(rp__particles_init(&p), RP_OK);
    assert_int_equal(rp__particles_append(&p, 1, &first), RP_OK);
    for (int b = 0; b < 2; b++) {
        const double centre[3] = { b ? 0.5 : -0.5, b ? 0 : -0.5, 0 }, half[3] = { 0.5, b ? 2 : 0.5, 2 };
        rp_body_def bdef = rp_default_body_def();
        rp_shape *shape = NULL;
        assert_int_equal(rp_shape_box(centre, half, 0, &shape), RP_OK);
        bdef.shape = shape;
        assert_int_equal(rp__body_init(&body[b], &bdef, RP_DIM, 0), RP_OK);
        body[b].present = true;
        rp_shape_release(shape);
    }
    rp__world world = { .def = &def, .particles = &p, .bodies = body, .body_count = 2 };
    rp__body_space room = rp__body_space_of(&def, body, 2);
    double x[3] = { -1e-7, -0.03, 0 }; /* it was on top, beside the second, when the first rose over it */
    body[0].pose.position.y = -0.04;
    p.x[0][0] = -1e-7, p.x[1][0] = -0.035;
    ns_push_out(&world, &room, def.cell_size, 0, x, 3);
    assert_true(rp__body_space_clearance(&room, rp__vec3_load(x)) >= 0);
    for (int b = 0; b < 2; b++)
        rp__body_free(&body[b]);
    rp__particles_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assembly_agrees_with_its_definition),
        cmocka_unit_test(operator_keeps_momentum),
        cmocka_unit_test(frame_is_the_operator),
        cmocka_unit_test(law_agrees_with_the_library),
        cmocka_unit_test(splitting_and_merging_conserve),
        cmocka_unit_test(ellipsoids_are_clamped),
        cmocka_unit_test(seams_between_bodies_are_shut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
