/* Tests of the transfers, for the RP_DIM that the including program sets. */
#include "transfer/transfer.h"

#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    rp__particles p;
    rp__grid g;
    int order, gradient;
    int64_t nodes;
    double *mass, *momentum[3], *velocity[3];
} fixture;

static const rp__lattice plain = { .origin = { -0.37, 0.21, 1.5 }, .h = 0.13, .cells = { 20, 20, 20 } };

static double uniform(uint64_t stream, int64_t i)
{
    return 2 * rp__random_unit(7, stream, (uint64_t)i) - 1;
}

/* Random particles in the lattice's box, a little beyond it, with random velocities and c. */
static void fill(fixture *f, const rp__lattice *lattice, int64_t count)
{
    static const rp_field_info info = { "c", RP_F64, 9, "1/s", 1 };
    memset(f, 0, sizeof *f);
    assert_int_equal(rp__particles_init(&f->p), RP_OK);
    assert_int_equal(rp__particles_add_field(&f->p, &info, &f->gradient), RP_OK);
    assert_int_equal(rp__particles_append(&f->p, count, NULL), RP_OK);
    for (int64_t i = 0; i < count; i++) {
        f->p.mass[i] = 1 + 0.5 * uniform(0, i);
        for (int a = 0; a < RP_DIM; a++) {
            f->p.x[a][i] = lattice->origin[a] + lattice->h * (double)lattice->cells[a] * (0.5 + 0.55 * uniform(1 + (uint64_t)a, i));
            f->p.v[a][i] = uniform(4 + (uint64_t)a, i);
            for (int b = 0; b < RP_DIM; b++)
                rp__particles_f64(&f->p, f->gradient, 3 * a + b)[i] = 3 * uniform((uint64_t)(10 + 3 * a + b), i);
        }
    }
    assert_int_equal(RP_D(rp__grid_init)(&f->g, lattice), RP_OK);
}

static void build(fixture *f, int order)
{
    f->order = order;
    assert_int_equal(RP_D(rp__grid_build)(&f->g, &f->p, order), RP_OK);
    f->nodes = (int64_t)f->g.blocks * RP_BLOCK_NODES;
    f->mass = RP_NEW_ARRAY(double, f->nodes);
    for (int a = 0; a < 3; a++) {
        f->momentum[a] = RP_NEW_ARRAY(double, f->nodes);
        f->velocity[a] = RP_NEW_ARRAY(double, f->nodes);
        for (int64_t n = 0; n < f->nodes; n++) /* results must overwrite */
            f->mass[n] = f->momentum[a][n] = 1e30;
    }
}

static void release_nodes(fixture *f)
{
    rp__base_free(f->mass);
    for (int a = 0; a < 3; a++) {
        rp__base_free(f->momentum[a]);
        rp__base_free(f->velocity[a]);
    }
}

static void release(fixture *f)
{
    release_nodes(f);
    RP_D(rp__grid_free)(&f->g);
    rp__particles_free(&f->p);
}

static rp__transfer_options options_of(const fixture *f, rp__transfer_kind kind)
{
    return (rp__transfer_options){ .order = f->order, .kind = kind, .flip = 0.95, .gradient = f->gradient };
}

/* u = momentum / mass */
static void divide(fixture *f)
{
    for (int64_t n = 0; n < f->nodes; n++)
        for (int a = 0; a < RP_DIM; a++)
            f->velocity[a][n] = f->mass[n] > 0 ? f->momentum[a][n] / f->mass[n] : 0;
}

static void node_position(const fixture *f, int64_t n, double x[3])
{
    int64_t c[3];
    rp__grid_coordinates(&f->g, n, c);
    for (int a = 0; a < 3; a++)
        x[a] = f->g.lattice.origin[a] + f->g.lattice.h * (double)c[a];
}

/* c_p in single precision, and work on the particles of each block. */
static void count_each(void *context, int64_t begin, int64_t end)
{
    double *seen = context; /* blocks do not share particles */
    for (int64_t i = begin; i < end; i++)
        seen[i] += 1;
}

static void test_single_gradient(void **state)
{
    (void)state;
    static const rp_field_info info = { "single", RP_F32, 9, "1/s", 0 };
    for (int order = 2; order <= 3; order++) {
        fixture f;
        int single = -1;
        fill(&f, &plain, 3000);
        assert_int_equal(rp__particles_add_field(&f.p, &info, &single), RP_OK);
        for (int64_t i = 0; i < f.p.count; i++)
            for (int k = 0; k < 9; k++)
                ((float *)rp__particles_plane(&f.p, single, k))[i] = (float)rp__particles_f64(&f.p, f.gradient, k)[i];
        build(&f, order);
        double *seen = RP_NEW_ARRAY(double, f.p.count), *mass = RP_NEW_ARRAY(double, f.nodes), *momentum[3];
        for (int a = 0; a < 3; a++)
            momentum[a] = RP_NEW_ARRAY(double, f.nodes);
        rp__transfer_options o = options_of(&f, RP_TRANSFER_APIC);
        o.gradient = single, o.each = count_each, o.context = seen;
        RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
        RP_D(rp__transfer_to_grid_ref)(&f.g, &f.p, &o, mass, momentum);
        for (int64_t n = 0; n < f.nodes; n++)
            for (int a = 0; a < RP_DIM; a++)
                assert_true(fabs(f.momentum[a][n] - momentum[a][n]) < 1e-12);
        divide(&f);
        const double *const u[3] = { f.velocity[0], f.velocity[1], f.velocity[2] };
        RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, u, NULL, NULL);
        double *kept = RP_NEW_ARRAY(double, 9 * f.p.count);
        for (int64_t i = 0; i < f.p.count; i++)
            for (int k = 0; k < 9; k++)
                kept[9 * i + k] = (double)((float *)rp__particles_plane(&f.p, single, k))[i];
        RP_D(rp__transfer_to_particles_ref)(&f.g, &f.p, &o, u, NULL, NULL);
        for (int64_t i = 0; i < f.p.count; i++) {
            assert_true(seen[i] == 4); /* four transfers */
            for (int k = 0; k < 9; k++) {
                double ref = (double)((float *)rp__particles_plane(&f.p, single, k))[i];
                assert_true(fabs(kept[9 * i + k] - ref) < 1e-5);
            }
        }
        rp__base_free(seen), rp__base_free(mass), rp__base_free(kept);
        for (int a = 0; a < 3; a++)
            rp__base_free(momentum[a]);
        release(&f);
    }
}

static void test_conservation(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        for (int kind = RP_TRANSFER_PIC; kind <= RP_TRANSFER_APIC; kind++) {
            fixture f;
            fill(&f, &plain, 3000);
            build(&f, order);
            rp__transfer_options o = options_of(&f, (rp__transfer_kind)kind);
            RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
            long double before[4] = { 0 }, after[4] = { 0 };
            for (int64_t i = 0; i < f.p.count; i++) {
                before[0] += f.p.mass[i];
                for (int a = 0; a < RP_DIM; a++)
                    before[1 + a] += f.p.mass[i] * f.p.v[a][i];
            }
            for (int64_t n = 0; n < f.nodes; n++) {
                after[0] += f.mass[n];
                for (int a = 0; a < RP_DIM; a++)
                    after[1 + a] += f.momentum[a][n];
            }
            /* In APIC the affine part adds nothing: sum_j N_j (x_j - x_p) = 0 for every order. */
            for (int a = 0; a < 1 + RP_DIM; a++)
                assert_true(fabsl(after[a] - before[a]) < 1e-15L * before[0]);
            release(&f);
        }
    }
}

/* D_p = sum_j N_j (x_j - x_p)² on one axis; at order 1 it depends on the place in the cell. */
static double second_moment(const fixture *f, int axis, int64_t i)
{
    double h = f->g.lattice.h, q = rp__lattice_coordinate(&f->g.lattice, axis, f->p.x[axis][i]), t = q - floor(q);
    return f->order == 1 ? h * h * t * (1 - t) : f->order == 2 ? h * h / 4 : h * h / 3;
}

/* Angular momentum about the origin: of particles sum m (x × v) + m (D c)^T : epsilon, of nodes sum x_j × (m u)_j. */
static void test_angular_momentum(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        fixture f;
        fill(&f, &plain, 2000);
        build(&f, order);
        rp__transfer_options o = options_of(&f, RP_TRANSFER_APIC);
        double particles[2][3] = { { 0 } }, nodes[3] = { 0 };
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t i = 0; i < f.p.count; i++) {
                for (int a = RP_DIM == 3 ? 0 : 2; a < 3; a++) {
                    int b = (a + 1) % 3, c = (a + 2) % 3;
                    double cb = rp__particles_f64(&f.p, f.gradient, 3 * c + b)[i], bc = rp__particles_f64(&f.p, f.gradient, 3 * b + c)[i];
                    particles[pass][a] += f.p.mass[i] * (f.p.x[b][i] * f.p.v[c][i] - f.p.x[c][i] * f.p.v[b][i] +
                                                            second_moment(&f, b, i) * cb - second_moment(&f, c, i) * bc);
                }
            }
            if (pass == 1)
                break;
            RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
            for (int64_t n = 0; n < f.nodes; n++) {
                double x[3];
                node_position(&f, n, x);
                for (int a = RP_DIM == 3 ? 0 : 2; a < 3; a++) {
                    int b = (a + 1) % 3, c = (a + 2) % 3;
                    nodes[a] += x[b] * f.momentum[c][n] - x[c] * f.momentum[b][n];
                }
            }
            divide(&f);
            RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, (const double *const *)f.velocity, NULL, NULL);
        }
        for (int a = 0; a < 3; a++) {
            assert_true(fabs(nodes[a] - particles[0][a]) < 1e-10);
            assert_true(fabs(particles[1][a] - nodes[a]) < 1e-10);
        }
        assert_true(fabs(nodes[2]) > 1);
        release(&f);
    }
}

/* An affine velocity field survives particles -> grid -> particles, velocity, c and gradient; for every order. */
static void test_affine(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        fixture f;
        fill(&f, &plain, 2500);
        double c[3][3] = { { 0 } }, b[3] = { 0.3, -1.2, 0.7 };
        for (int r = 0; r < RP_DIM; r++)
            for (int s = 0; s < RP_DIM; s++)
                c[r][s] = 0.5 * r - 1.3 * s + 0.4 * r * s + 0.2;
        for (int64_t i = 0; i < f.p.count; i++) {
            for (int r = 0; r < RP_DIM; r++) {
                f.p.v[r][i] = b[r];
                for (int s = 0; s < RP_DIM; s++) {
                    f.p.v[r][i] += c[r][s] * f.p.x[s][i];
                    rp__particles_f64(&f.p, f.gradient, 3 * r + s)[i] = c[r][s];
                }
            }
        }
        build(&f, order);
        rp__transfer_options o = options_of(&f, RP_TRANSFER_APIC);
        RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
        divide(&f);
        for (int64_t n = 0; n < f.nodes; n++) {
            double x[3];
            node_position(&f, n, x);
            for (int r = 0; r < RP_DIM && f.mass[n] > 1e-6; r++) {
                double exact = b[r];
                for (int s = 0; s < RP_DIM; s++)
                    exact += c[r][s] * x[s];
                assert_true(fabs(f.velocity[r][n] - exact) < 1e-8 * 1e-6 / f.mass[n] + 1e-12);
                f.velocity[r][n] = exact;
            }
        }
        double *grad[9];
        for (int n = 0; n < 9; n++)
            grad[n] = RP_NEW_ARRAY(double, f.p.count);
        for (int64_t i = 0; i < f.p.count; i++)
            for (int a = 0; a < RP_DIM; a++)
                f.p.v[a][i] = -77;
        RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, (const double *const *)f.velocity, NULL, grad);
        for (int64_t i = 0; i < f.p.count; i++) {
            for (int r = 0; r < RP_DIM; r++) {
                double exact = b[r];
                for (int s = 0; s < RP_DIM; s++) {
                    exact += c[r][s] * f.p.x[s][i];
                    assert_true(fabs(rp__particles_f64(&f.p, f.gradient, 3 * r + s)[i] - c[r][s]) < 1e-10);
                    assert_true(fabs(grad[3 * r + s][i] - c[r][s]) < 1e-10);
                }
                assert_true(fabs(f.p.v[r][i] - exact) < 1e-10);
            }
        }
        for (int n = 0; n < 9; n++)
            rp__base_free(grad[n]);
        release(&f);
    }
}

/* ---- agreement with the plain twins ---- */

static double scale_of(const double *x, int64_t n)
{
    double largest = 1e-300;
    for (int64_t i = 0; i < n; i++)
        largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    return largest;
}

/* `least`: the size of the terms, where sums of them may cancel. */
static void assert_close(const double *x, const double *y, int64_t n, double least)
{
    double tolerance = 1e-13 * fmax(scale_of(y, n), least);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(x[i] - y[i]) <= tolerance);
}

/* Compares every transfer of f with its twin, for every kind. */
static void compare(fixture *f)
{
    int64_t count = f->p.count;
    double *twin[4], *result[2], *start[3], *grad[9], *grad_twin[9], *c[9], *v[3];
    for (int n = 0; n < 4; n++)
        twin[n] = RP_NEW_ARRAY(double, f->nodes);
    for (int n = 0; n < 2; n++)
        result[n] = RP_NEW_ARRAY(double, count);
    for (int n = 0; n < 3; n++)
        start[n] = RP_NEW_ARRAY(double, count), v[n] = RP_NEW_ARRAY(double, count);
    for (int n = 0; n < 9; n++)
        grad[n] = RP_NEW_ARRAY(double, count), grad_twin[n] = RP_NEW_ARRAY(double, count), c[n] = RP_NEW_ARRAY(double, count);
    for (int kind = RP_TRANSFER_PIC; kind <= RP_TRANSFER_APIC; kind++) {
        rp__transfer_options o = options_of(f, (rp__transfer_kind)kind);
        RP_D(rp__transfer_to_grid)(&f->g, &f->p, &o, f->mass, f->momentum);
        RP_D(rp__transfer_to_grid_ref)(&f->g, &f->p, &o, twin[0], twin + 1);
        assert_close(f->mass, twin[0], f->nodes, 0);
        for (int a = 0; a < RP_DIM; a++)
            assert_close(f->momentum[a], twin[1 + a], f->nodes, 0);
        divide(f);
        double rate = 0; /* gradients are sums of terms u_j / h */
        for (int a = 0; a < RP_DIM; a++)
            rate = fmax(rate, scale_of(f->velocity[a], f->nodes) / f->g.lattice.h);
        double *before[3];
        for (int a = 0; a < 3; a++) {
            before[a] = twin[1 + a];
            memcpy(start[a], f->p.v[a], (size_t)count * sizeof(double));
        }
        for (int with = 0; with < 2; with++) { /* without and with the gradient */
            for (int a = 0; a < 3; a++)
                memcpy(f->p.v[a], start[a], (size_t)count * sizeof(double));
            const double *const *old = kind == RP_TRANSFER_FLIP ? (const double *const *)before : NULL;
            RP_D(rp__transfer_to_particles)(&f->g, &f->p, &o, (const double *const *)f->velocity, old, with ? grad : NULL);
            for (int a = 0; a < 3; a++) {
                memcpy(v[a], f->p.v[a], (size_t)count * sizeof(double));
                memcpy(f->p.v[a], start[a], (size_t)count * sizeof(double));
            }
            for (int n = 0; n < 9; n++)
                memcpy(c[n], rp__particles_f64(&f->p, f->gradient, n), (size_t)count * sizeof(double));
            RP_D(rp__transfer_to_particles_ref)(&f->g, &f->p, &o, (const double *const *)f->velocity, old, with ? grad_twin : NULL);
            for (int a = 0; a < 3; a++)
                assert_close(v[a], f->p.v[a], count, 0);
            for (int n = 0; n < 9; n++) {
                assert_close(c[n], rp__particles_f64(&f->p, f->gradient, n), count, rate);
                if (with)
                    assert_close(grad[n], grad_twin[n], count, rate);
            }
        }
    }
    RP_D(rp__transfer_scalar_to_grid)(&f->g, &f->p, f->order, f->p.mass, f->mass);
    RP_D(rp__transfer_scalar_to_grid_ref)(&f->g, &f->p, f->order, f->p.mass, twin[0]);
    assert_close(f->mass, twin[0], f->nodes, 0);
    RP_D(rp__transfer_scalar_to_particles)(&f->g, &f->p, f->order, f->mass, result[0]);
    RP_D(rp__transfer_scalar_to_particles_ref)(&f->g, &f->p, f->order, f->mass, result[1]);
    assert_close(result[0], result[1], count, 0);
    for (int n = 0; n < 9; n++) {
        rp__base_free(grad[n]), rp__base_free(grad_twin[n]), rp__base_free(c[n]);
        if (n < 3)
            rp__base_free(start[n]), rp__base_free(v[n]);
        if (n < 4)
            rp__base_free(twin[n]);
        if (n < 2)
            rp__base_free(result[n]);
    }
}

static void test_agreement(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 2, 15, 16, 17, 4000 };
    for (int order = 1; order <= 3; order++) {
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            fixture f;
            fill(&f, &plain, counts[n]);
            build(&f, order);
            compare(&f);
            release(&f);
        }
    }
}

/* One, two, three and five blocks on periodic axes: a block may be its own neighbour. */
static void test_periodic(void **state)
{
    (void)state;
    static const int64_t cells[][3] = { { 4, 4, 4 }, { 8, 4, 12 }, { 12, 20, 8 } };
    for (size_t n = 0; n < sizeof cells / sizeof cells[0]; n++) {
        for (int order = 1; order <= 3; order++) {
            rp__lattice l = plain;
            for (int a = 0; a < 3; a++) {
                l.cells[a] = cells[n][a];
                l.periodic[a] = a != 1 || n != 1;
            }
            fixture f;
            fill(&f, &l, 3000);
            build(&f, order);
            compare(&f);
            rp__transfer_options o = options_of(&f, RP_TRANSFER_PIC);
            RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
            double total = 0, sum = 0;
            for (int64_t i = 0; i < f.nodes; i++)
                total += f.mass[i];
            for (int64_t i = 0; i < f.p.count; i++)
                sum += f.p.mass[i];
            assert_true(fabs(total - sum) < 1e-14 * sum);
            release(&f);
        }
    }
}

/* Particles on nodes, faces and middles of cells. */
static void test_faces(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        rp__lattice l = plain;
        l.h = 0.25;
        for (int a = 0; a < 3; a++)
            l.origin[a] = -1;
        fixture f;
        fill(&f, &l, 2000);
        for (int64_t i = 0; i < f.p.count; i++)
            for (int a = 0; a < RP_DIM; a++)
                f.p.x[a][i] = 0.125 * (double)(int64_t)(f.p.x[a][i] * 8);
        build(&f, order);
        compare(&f);
        release(&f);
    }
}

static void test_crowd(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        fixture f;
        fill(&f, &plain, 10000);
        for (int64_t i = 0; i < f.p.count; i++)
            for (int a = 0; a < RP_DIM; a++)
                f.p.x[a][i] = plain.origin[a] + plain.h * (7.6 + 0.3 * rp__random_unit(3, (uint64_t)a, (uint64_t)i));
        build(&f, order);
        compare(&f);
        release(&f);
    }
}

/* The same bytes for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 5, 16 };
    for (int order = 1; order <= 3; order++) {
        fixture f[4];
        for (int n = 0; n < 4; n++) {
            rp__exec_set_threads(threads[n]);
            fill(&f[n], &plain, 30000);
            build(&f[n], order);
            rp__transfer_options o = options_of(&f[n], RP_TRANSFER_APIC);
            RP_D(rp__transfer_to_grid)(&f[n].g, &f[n].p, &o, f[n].mass, f[n].momentum);
            divide(&f[n]);
            RP_D(rp__transfer_to_particles)(&f[n].g, &f[n].p, &o, (const double *const *)f[n].velocity, NULL, NULL);
            if (n == 0)
                continue;
            size_t nodes = (size_t)f[0].nodes * sizeof(double), particles = (size_t)f[0].p.count * sizeof(double);
            assert_int_equal(f[n].nodes, f[0].nodes);
            assert_memory_equal(f[n].mass, f[0].mass, nodes);
            assert_memory_equal(f[n].p.id, f[0].p.id, particles);
            for (int a = 0; a < RP_DIM; a++) {
                assert_memory_equal(f[n].momentum[a], f[0].momentum[a], nodes);
                assert_memory_equal(f[n].p.v[a], f[0].p.v[a], particles);
            }
            for (int c = 0; c < 9; c++)
                assert_memory_equal(rp__particles_f64(&f[n].p, f[n].gradient, c), rp__particles_f64(&f[0].p, f[0].gradient, c), particles);
            RP_D(rp__transfer_scalar_to_grid)(&f[n].g, &f[n].p, order, f[n].p.mass, f[n].mass);
            RP_D(rp__transfer_scalar_to_grid)(&f[0].g, &f[0].p, order, f[0].p.mass, f[0].velocity[0]);
            assert_memory_equal(f[n].mass, f[0].velocity[0], nodes);
        }
        for (int n = 0; n < 4; n++)
            release(&f[n]);
        rp__exec_set_threads(0);
    }
}

/* FLIP with nothing changed on the grid and flip = 1 leaves velocities; flip = 0 is PIC. */
static void test_flip(void **state)
{
    (void)state;
    fixture f;
    fill(&f, &plain, 1000);
    build(&f, 2);
    rp__transfer_options o = options_of(&f, RP_TRANSFER_FLIP);
    RP_D(rp__transfer_to_grid)(&f.g, &f.p, &o, f.mass, f.momentum);
    divide(&f);
    double *start = RP_NEW_ARRAY(double, f.p.count), *pic = RP_NEW_ARRAY(double, f.p.count);
    memcpy(start, f.p.v[0], (size_t)f.p.count * sizeof(double));
    o.flip = 1;
    const double *const *u = (const double *const *)f.velocity;
    RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, u, u, NULL);
    for (int64_t i = 0; i < f.p.count; i++)
        assert_true(fabs(f.p.v[0][i] - start[i]) < 1e-15);
    o.flip = 0;
    RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, u, u, NULL);
    memcpy(pic, f.p.v[0], (size_t)f.p.count * sizeof(double));
    o.kind = RP_TRANSFER_PIC;
    RP_D(rp__transfer_to_particles)(&f.g, &f.p, &o, u, NULL, NULL);
    for (int64_t i = 0; i < f.p.count; i++)
        assert_true(fabs(f.p.v[0][i] - pic[i]) < 1e-15);
    rp__base_free(start);
    rp__base_free(pic);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conservation), cmocka_unit_test(test_single_gradient), cmocka_unit_test(test_angular_momentum), cmocka_unit_test(test_affine),
        cmocka_unit_test(test_agreement),    cmocka_unit_test(test_periodic),         cmocka_unit_test(test_faces),
        cmocka_unit_test(test_crowd),        cmocka_unit_test(test_threads),          cmocka_unit_test(test_flip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
