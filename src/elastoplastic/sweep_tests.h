/* The two passes of an explicit step against the plain transfers and the law, for the RP_DIM that the including program sets. */
#include "elastoplastic/sweep.h"

#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"
#include "transfer/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 3000 };

typedef struct fixture {
    rp__particles p;
    rp__grid g;
    int first_field;
    int64_t nodes;
    double *mass, *velocity[3];
    unsigned char *left;
} fixture;

static double uniform(uint64_t stream, int64_t i)
{
    return 2 * rp__random_unit(11, stream, (uint64_t)i) - 1;
}

static void put(const fixture *f, int field, int component, int64_t i, double value)
{
    void *plane = rp__particles_plane(&f->p, f->first_field + field, component);
    if (f->p.info[f->first_field + field].type == RP_F32)
        ((float *)plane)[i] = (float)value;
    else
        ((double *)plane)[i] = (double)(float)value; /* the same numbers in both */
}

static double get(const fixture *f, int field, int component, int64_t i)
{
    const void *plane = rp__particles_plane(&f->p, f->first_field + field, component);
    return f->p.info[f->first_field + field].type == RP_F32 ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

/* c_p of a particle: the sum of its two parts, or whole with `whole` (the reference). */
static double gradient(const fixture *f, bool whole, int row, int column, int64_t i)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    int k = at[row][column];
    if (whole)
        return get(f, RP_EP_GRADIENT, 3 * row + column, i);
    double spin = row == column ? 0 : get(f, RP_EP_SPIN, k - 3, i);
    return get(f, RP_EP_RATE, k, i) + (row > column ? spin : -spin);
}

static void put_gradient(const fixture *f, bool whole, int row, int column, int64_t i)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    int k = at[row][column];
    double rate = (double)(float)(3 * uniform((uint64_t)(10 + k), i)), spin = row == column ? 0 : (double)(float)(2 * uniform((uint64_t)(16 + k), i));
    if (whole)
        rp__particles_f64(&f->p, f->first_field + RP_EP_GRADIENT, 3 * row + column)[i] = rate + (row > column ? spin : -spin);
    else {
        put(f, RP_EP_RATE, k, i, rate);
        if (row != column)
            put(f, RP_EP_SPIN, k - 3, i, spin);
    }
}

/* whole: the fields of implicit steps, for the plain transfers and kernels of the reference. */
static void fill(fixture *f, const rp__lattice *lattice, bool single, bool whole)
{
    rp__elastoplastic_params par = { .storage = single, .integrator = whole ? RP_EP_IMPLICIT : RP_EP_EXPLICIT };
    memset(f, 0, sizeof *f);
    assert_int_equal(rp__particles_init(&f->p), RP_OK);
    f->first_field = f->p.fields;
    for (const rp_field_info *info = rp__elastoplastic_field_list(&par); info->name; info++)
        assert_int_equal(rp__particles_add_field(&f->p, info, NULL), RP_OK);
    assert_int_equal(rp__particles_append(&f->p, COUNT, NULL), RP_OK);
    for (int64_t i = 0; i < COUNT; i++) {
        f->p.mass[i] = 1 + 0.5 * uniform(0, i);
        f->p.volume[i] = f->p.mass[i] / (2000 + 300 * uniform(1, i));
        f->p.material[i] = i % 7 == 0;
        for (int a = 0; a < RP_DIM; a++) {
            f->p.x[a][i] = lattice->origin[a] + lattice->h * (double)lattice->cells[a] * (0.5 + 0.5 * uniform(2 + (uint64_t)a, i));
            f->p.v[a][i] = uniform(5 + (uint64_t)a, i);
            for (int b = 0; b < RP_DIM; b++)
                put_gradient(f, whole, a, b, i);
        }
        double size = i % 5 == 0 ? 0.3 : 0.01; /* beyond the series, too */
        for (int k = 0; k < 6; k++)
            put(f, RP_EP_STRAIN, k, i, RP_DIM == 3 || k < 2 || k == 3 ? size * uniform((uint64_t)(20 + k), i) : 0);
        put(f, RP_EP_VOLUME_GAIN, 0, i, i % 3 == 0 ? 0.02 * (1 + uniform(30, i)) : 0);
    }
    assert_int_equal(RP_D(rp__grid_init)(&f->g, lattice), RP_OK);
}

static void hold_nodes(fixture *f)
{
    f->nodes = (int64_t)f->g.blocks * RP_BLOCK_NODES;
    f->mass = RP_NEW_ARRAY(double, f->nodes);
    f->left = rp__base_alloc((size_t)f->g.blocks);
    for (int a = 0; a < 3; a++)
        f->velocity[a] = RP_NEW_ARRAY(double, f->nodes);
    for (int64_t n = 0; n < f->nodes; n++) /* results must overwrite */
        f->mass[n] = f->velocity[0][n] = 1e30;
}

static void release(fixture *f)
{
    rp__base_free(f->mass);
    rp__base_free(f->left);
    for (int a = 0; a < 3; a++)
        rp__base_free(f->velocity[a]);
    RP_D(rp__grid_free)(&f->g);
    rp__particles_free(&f->p);
}

static void make_step(rp__elastoplastic_step *step, rp__elastoplastic_law laws[2], const fixture *f, int order, bool single)
{
    rp_material_def sand = rp_default_material_def(), rubber = rp_default_material_def();
    sand.youngs_modulus = 1e5, sand.friction_angle = 0.5;
    rubber.youngs_modulus = 3e5, rubber.model = RP_MODEL_ELASTIC;
    laws[0] = rp__elastoplastic_make_law(&sand, RP_DIM);
    laws[1] = rp__elastoplastic_make_law(&rubber, RP_DIM);
    double h = f->g.lattice.h;
    *step = (rp__elastoplastic_step){ .dt = 1e-3, .dim = RP_DIM, .inverse_d = (order == 2 ? 4 : 3) / (h * h), .correct_volume = true,
                                      .keep_affine = true, .laws = laws, .first_field = f->first_field, .single = single };
}

/* Particle i goes where the id says, whatever the order of the store. */
static void drift(fixture *f, double cells)
{
    for (int64_t i = 0; i < COUNT; i++)
        for (int a = 0; a < RP_DIM; a++)
            f->p.x[a][i] += cells * f->g.lattice.h * uniform(40 + (uint64_t)a, f->p.id[i]);
}

static void wrap(fixture *f)
{
    const rp__lattice *l = &f->g.lattice;
    for (int a = 0; a < RP_DIM; a++)
        for (int64_t i = 0; i < COUNT && l->periodic[a]; i++) {
            double length = l->h * (double)l->cells[a];
            f->p.x[a][i] -= length * floor((f->p.x[a][i] - l->origin[a]) / length);
        }
}

static void compare(double a, double b, double scale, double tolerance, const char *what, int order, bool single)
{
    if (!(fabs(a - b) <= tolerance * scale))
        fail_msg("%s: %.17g against %.17g of the reference (order %d, %s)", what, a, b, order, single ? "single" : "double");
}

/* Some field of velocities on the nodes, by their coordinates. */
static void blow(fixture *f)
{
    const rp__lattice *l = &f->g.lattice;
    for (int64_t n = 0; n < f->nodes; n++) {
        int64_t at[3];
        rp__grid_coordinates(&f->g, n, at);
        for (int a = 0; a < RP_DIM; a++)
            at[a] = l->periodic[a] ? (at[a] % l->cells[a] + l->cells[a]) % l->cells[a] : at[a];
        for (int a = 0; a < RP_DIM; a++)
            f->velocity[a][n] = uniform(50 + (uint64_t)a, ((at[2] + 50) * 1000 + at[1] + 50) * 1000 + at[0] + 50);
    }
}

static void check(int order, bool single, const rp__lattice *lattice)
{
    fixture f, r; /* r: the reference, in double */
    rp__elastoplastic_law laws[2];
    rp__elastoplastic_step step, plain_step;
    double tolerance = single ? 5e-6 : 1e-13;
    fill(&f, lattice, single, false);
    fill(&r, lattice, false, true);
    assert_int_equal((order == 2 ? RP_D(rp__grid_build_loose) : RP_D(rp__grid_build))(&f.g, &f.p, order), RP_OK);
    hold_nodes(&f);
    make_step(&step, laws, &f, order, single);
    make_step(&plain_step, laws, &r, order, false);
    drift(&f, order == 2 ? 0.95 : 0), wrap(&f);
    drift(&r, order == 2 ? 0.95 : 0);
    assert_int_equal(RP_D(rp__grid_build)(&r.g, &r.p, order), RP_OK);
    hold_nodes(&r);

    rp__transfer_options options = { .order = order, .kind = RP_TRANSFER_APIC, .gradient = r.first_field + RP_EP_GRADIENT };
    rp__elastoplastic_stress_kernel(&plain_step, &r.p, 0, COUNT);
    RP_D(rp__transfer_to_grid_ref)(&r.g, &r.p, &options, r.mass, r.velocity);
    rp__elastoplastic_sweep sweep = { .g = &f.g, .p = &f.p, .step = &step, .order = order, .mass = f.mass, .left = f.left,
                                      .velocity = { f.velocity[0], f.velocity[1], f.velocity[2] },
                                      .moving = { f.p.v[0], f.p.v[1], f.p.v[2] } };
    RP_D(rp__elastoplastic_scatter)(&sweep);
    assert_null(memchr(f.left, 1, (size_t)f.g.blocks));
    double most = 0, heaviest = 0;
    for (int64_t n = 0; n < r.nodes; n++)
        heaviest = fmax(heaviest, r.mass[n]);
    for (int64_t n = 0; n < r.nodes; n++)
        for (int a = 0; a < RP_DIM; a++)
            most = fmax(most, fabs(r.velocity[a][n]));
    for (int64_t n = 0; n < f.nodes; n++) {
        int64_t at[3];
        rp__grid_coordinates(&f.g, n, at);
        int64_t there = RP_D(rp__grid_node)(&r.g, at[0], at[1], at[2]);
        compare(f.mass[n], there < 0 ? 0 : r.mass[there], heaviest, tolerance, "mass", order, single);
        for (int a = 0; a < RP_DIM; a++)
            compare(f.velocity[a][n], there < 0 ? 0 : r.velocity[a][there], most, tolerance, "momentum", order, single);
    }

    blow(&f), blow(&r);
    const double *const wind[3] = { r.velocity[0], r.velocity[1], r.velocity[2] };
    RP_D(rp__transfer_to_particles_ref)(&r.g, &r.p, &options, wind, NULL, NULL);
    rp__elastoplastic_strain_kernel(&plain_step, &r.p, 0, COUNT);
    RP_D(rp__elastoplastic_gather)(&sweep);
    int64_t place[COUNT];
    for (int64_t i = 0; i < COUNT; i++)
        place[r.p.id[i]] = i;
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t j = place[f.p.id[i]];
        for (int a = 0; a < RP_DIM; a++) {
            compare(f.p.v[a][i], r.p.v[a][j], 1, tolerance, "velocity", order, single);
            double away = f.p.x[a][i] - (r.p.x[a][j] + step.dt * r.p.v[a][j]), length = lattice->h * (double)lattice->cells[a];
            away -= lattice->periodic[a] ? length * rint(away / length) : 0;
            compare(away, 0, 1, tolerance, "position", order, single);
            for (int b = 0; b < RP_DIM; b++) { /* what turns has the precision of the storage, what stretches that of float */
                double low = gradient(&f, false, a, b, i), high = gradient(&f, false, b, a, i);
                double low_ref = gradient(&r, true, a, b, j), high_ref = gradient(&r, true, b, a, j);
                compare(low - high, low_ref - high_ref, 60, tolerance, "spin", order, single);
                compare(low + high, low_ref + high_ref, 60, fmax(tolerance, 6e-8), "rate of strain", order, single);
            }
        }
        for (int k = 0; k < 6; k++)
            compare(get(&f, RP_EP_STRAIN, k, i), get(&r, RP_EP_STRAIN, k, j), 1, tolerance, "strain", order, single);
    }
    release(&f);
    release(&r);
}

static const rp__lattice plain = { .origin = { -0.37, 0.21, 1.5 }, .h = 0.13, .cells = { 12, 13, 9 } };

static void agrees_with_the_plain_transfers(void **state)
{
    (void)state;
    rp__lattice around = plain, once = plain;
    around.periodic[0] = true;
    once.cells[1] = 4, once.periodic[1] = true;
    for (int order = 2; order <= 3; order++)
        for (int single = 0; single < 2; single++) {
            check(order, single, &plain);
            check(order, single, &around);
            check(order, single, &once);
        }
}

/* FLIP: the two parts of the momentum together are the whole, and v <- flip (v + u - u_before) + (1 - flip) u. */
static void check_flip(int order, bool single)
{
    fixture f, r;
    rp__elastoplastic_law laws[2];
    rp__elastoplastic_step step, plain_step;
    double tolerance = single ? 5e-6 : 1e-13, *moving[3], *before[3], *was[3];
    fill(&f, &plain, single, false);
    fill(&r, &plain, false, true);
    assert_int_equal(RP_D(rp__grid_build)(&f.g, &f.p, order), RP_OK);
    assert_int_equal(RP_D(rp__grid_build)(&r.g, &r.p, order), RP_OK); /* the same blocks and order */
    hold_nodes(&f);
    hold_nodes(&r);
    make_step(&step, laws, &f, order, single);
    make_step(&plain_step, laws, &r, order, false);
    for (int a = 0; a < 3; a++) {
        moving[a] = RP_NEW_ARRAY(double, COUNT);
        before[a] = RP_NEW_ARRAY(double, f.nodes);
        was[a] = RP_NEW_ARRAY(double, f.nodes);
    }
    rp__transfer_options options = { .order = order, .kind = RP_TRANSFER_APIC, .gradient = r.first_field + RP_EP_GRADIENT, .flip = 0.9 };
    RP_D(rp__transfer_to_grid_ref)(&r.g, &r.p, &options, r.mass, was);
    rp__elastoplastic_stress_kernel(&plain_step, &r.p, 0, COUNT);
    RP_D(rp__transfer_to_grid_ref)(&r.g, &r.p, &options, r.mass, r.velocity);
    rp__elastoplastic_sweep sweep = { .g = &f.g, .p = &f.p, .step = &step, .order = order, .mass = f.mass, .left = f.left, .flip = 0.9,
                                      .velocity = { f.velocity[0], f.velocity[1], f.velocity[2] },
                                      .before = { before[0], before[1], before[2] }, .moving = { moving[0], moving[1], moving[2] } };
    RP_D(rp__elastoplastic_scatter)(&sweep);
    double most = 0;
    for (int64_t n = 0; n < f.nodes; n++)
        for (int a = 0; a < RP_DIM; a++)
            most = fmax(most, fabs(r.velocity[a][n]));
    for (int64_t n = 0; n < f.nodes; n++)
        for (int a = 0; a < RP_DIM; a++) {
            compare(before[a][n], was[a][n], most, tolerance, "momentum before", order, single);
            compare(before[a][n] + f.velocity[a][n], r.velocity[a][n], most, tolerance, "momentum after", order, single);
            was[a][n] = before[a][n] = f.mass[n] > 0 ? was[a][n] / f.mass[n] : 0;
        }
    blow(&f), blow(&r);
    options.kind = RP_TRANSFER_FLIP;
    const double *const wind[3] = { r.velocity[0], r.velocity[1], r.velocity[2] }, *const old[3] = { was[0], was[1], was[2] };
    RP_D(rp__elastoplastic_gather)(&sweep);
    RP_D(rp__transfer_to_particles_ref)(&r.g, &r.p, &options, wind, old, NULL);
    for (int64_t i = 0; i < COUNT; i++)
        for (int a = 0; a < RP_DIM; a++)
            compare(f.p.v[a][i], r.p.v[a][i], 1, tolerance, "velocity", order, single);
    options.kind = RP_TRANSFER_PIC;
    RP_D(rp__transfer_to_particles_ref)(&r.g, &r.p, &options, wind, NULL, NULL);
    for (int64_t i = 0; i < COUNT; i++)
        for (int a = 0; a < RP_DIM; a++) {
            compare(moving[a][i], r.p.v[a][i], 1, tolerance, "moving velocity", order, single);
            compare(f.p.x[a][i], r.p.x[a][i] + step.dt * r.p.v[a][i], 1, tolerance, "position", order, single);
        }
    for (int a = 0; a < 3; a++) {
        rp__base_free(moving[a]);
        rp__base_free(before[a]);
        rp__base_free(was[a]);
    }
    release(&f);
    release(&r);
}

static void flip_keeps_its_part(void **state)
{
    (void)state;
    for (int order = 2; order <= 3; order++)
        for (int single = 0; single < 2; single++)
            check_flip(order, single);
}

/* A particle beyond the reach of its block is told, and nothing is written where it must not be. */
static void tells_who_has_left(void **state)
{
    (void)state;
    for (int order = 2; order <= 3; order++)
        for (int single = 0; single < 2; single++)
            for (int way = -1; way <= 1; way += 2) {
                fixture f;
                rp__elastoplastic_law laws[2];
                rp__elastoplastic_step step;
                fill(&f, &plain, single, false);
                assert_int_equal((order == 2 ? RP_D(rp__grid_build_loose) : RP_D(rp__grid_build))(&f.g, &f.p, order), RP_OK);
                hold_nodes(&f);
                make_step(&step, laws, &f, order, single);
                rp__elastoplastic_sweep sweep = { .g = &f.g, .p = &f.p, .step = &step, .order = order, .mass = f.mass, .left = f.left,
                                                  .velocity = { f.velocity[0], f.velocity[1], f.velocity[2] },
                                                  .moving = { f.p.v[0], f.p.v[1], f.p.v[2] } };
                int64_t last = f.g.first[f.g.blocks] - 1;
                f.p.x[1][last] = way < 0 ? -1e9 : NAN;
                RP_D(rp__elastoplastic_scatter)(&sweep);
                int told = 0;
                for (int32_t b = 0; b < f.g.blocks; b++) {
                    told += f.left[b];
                    assert_true(f.left[b] == 0 || (f.g.first[b] <= last && last < f.g.first[b + 1]));
                }
                assert_int_equal(told, 1);
                f.p.x[1][last] = plain.origin[1]; /* and one that leaves by moving */
                for (int a = 0; a < RP_DIM; a++)
                    for (int64_t n = 0; n < f.nodes; n++)
                        f.velocity[a][n] = a == 0 ? way * 6 * plain.h / step.dt : 0;
                RP_D(rp__elastoplastic_gather)(&sweep);
                told = 0;
                for (int32_t b = 0; b < f.g.blocks; b++)
                    told += f.g.first[b + 1] > f.g.first[b] && !f.left[b];
                assert_int_equal(told, 0);
                release(&f);
            }
}

/* The blocks of a build again: same blocks, same particles in them, same neighbours. */
static void blocks_can_be_made_again(void **state)
{
    (void)state;
    fixture f;
    rp__grid again;
    fill(&f, &plain, false, false);
    assert_int_equal(RP_D(rp__grid_build_loose)(&f.g, &f.p, 2), RP_OK);
    assert_int_equal(RP_D(rp__grid_init)(&again, &plain), RP_OK);
    int32_t (*occupied)[4] = rp__base_alloc((size_t)f.g.blocks * sizeof *occupied), count = 0;
    for (int32_t b = 0; b < f.g.blocks; b++)
        if (f.g.first[b + 1] > f.g.first[b]) {
            memcpy(occupied[count], f.g.coord[b], sizeof f.g.coord[b]);
            occupied[count++][3] = (int32_t)(f.g.first[b + 1] - f.g.first[b]);
        }
    assert_int_equal(RP_D(rp__grid_rebuild)(&again, count, (const int32_t (*)[4])occupied), RP_OK);
    assert_int_equal(again.blocks, f.g.blocks);
    assert_memory_equal(again.coord, f.g.coord, (size_t)f.g.blocks * sizeof *f.g.coord);
    assert_memory_equal(again.neighbour, f.g.neighbour, (size_t)f.g.blocks * sizeof *f.g.neighbour);
    assert_memory_equal(again.first, f.g.first, (size_t)(f.g.blocks + 1) * sizeof *f.g.first);
    int32_t swapped[2][4];
    memcpy(swapped[0], occupied[1], sizeof swapped[0]), memcpy(swapped[1], occupied[0], sizeof swapped[1]);
    assert_int_equal(RP_D(rp__grid_rebuild)(&again, 2, (const int32_t (*)[4])swapped), RP_BAD_ARGUMENT);
    memcpy(swapped[1], swapped[0], sizeof swapped[1]);
    assert_int_equal(RP_D(rp__grid_rebuild)(&again, 2, (const int32_t (*)[4])swapped), RP_BAD_ARGUMENT);
    rp__base_free(occupied);
    RP_D(rp__grid_free)(&again);
    release(&f);
}

int main(void)
{
    rp__exec_set_threads(2);
    const struct CMUnitTest tests[] = { cmocka_unit_test(agrees_with_the_plain_transfers), cmocka_unit_test(flip_keeps_its_part),
                                        cmocka_unit_test(tells_who_has_left),
                                        cmocka_unit_test(blocks_can_be_made_again) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
