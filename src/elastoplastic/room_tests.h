/* The room around nodes beside walls and bodies, compiled for 2D and 3D. */
#include "base/memory.h"
#include "cmocka_test.h"
#include "elastoplastic/room.h"

#include <math.h>
#include <string.h>

enum { N = 12, SHAPES = 4 };
static const double H = 0.1;

/* Exact: the part of a B-spline below s, from many points. */
static double part_below(int order, double s)
{
    enum { POINTS = 2000 };
    double sum = 0;
    for (int k = 0; k < POINTS; k++) {
        double t = -2 + 4 * (k + 0.5) / POINTS, a = fabs(t);
        double n = order == 2 ? (a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0)
                              : (a < 1 ? 2.0 / 3 - a * a + 0.5 * a * a * a : a < 2 ? (2 - a) * (2 - a) * (2 - a) / 6 : 0);
        sum += t < s ? n * 4 / POINTS : 0;
    }
    return sum;
}

typedef struct fixture {
    rp__grid g;
    rp__particles p;
    rp_sim_def def;
    rp__world world;
    rp__body body;
    double *room;
} fixture;

static void begin(fixture *f, rp_shape *shape)
{
    memset(f, 0, sizeof *f);
    rp__lattice lattice = { .h = H, .cells = { N, N, RP_DIM == 3 ? N : 1 } };
    f->def = rp_default_sim_def();
    f->def.dim = RP_DIM;
    for (int k = 0; k < 6; k++)
        f->def.wall[k].kind = k == 0 ? RP_OPEN : RP_SLIP;
    f->world.def = &f->def;
    for (int a = 0; a < 3; a++)
        f->world.cells[a] = N;
    assert_int_equal(rp__particles_init(&f->p), RP_OK);
    for (int k = 0; k < (RP_DIM == 3 ? N * N * N : N * N); k++) {
        int64_t i = 0;
        assert_int_equal(rp__particles_append(&f->p, 1, &i), RP_OK);
        f->p.x[0][i] = H * (k % N + 0.5), f->p.x[1][i] = H * (k / N % N + 0.5);
        f->p.x[2][i] = RP_DIM == 3 ? H * (k / (N * N) + 0.5) : 0;
    }
    assert_int_equal(RP_D(rp__grid_init)(&f->g, &lattice), RP_OK);
    assert_int_equal(RP_D(rp__grid_build)(&f->g, &f->p, 2), RP_OK);
    if (shape) {
        rp_body_def def = rp_default_body_def();
        def.shape = shape;
        assert_int_equal(rp__body_init(&f->body, &def, RP_DIM, 0), RP_OK);
        f->body.present = true;
        f->world.bodies = &f->body, f->world.body_count = 1;
    }
    f->room = RP_NEW_ARRAY(double, (int64_t)f->g.blocks * RP_BLOCK_NODES);
    assert_non_null(f->room);
}

static void end(fixture *f)
{
    if (f->world.body_count)
        rp__body_free(&f->body);
    rp__base_free(f->room);
    RP_D(rp__grid_free)(&f->g);
    rp__particles_free(&f->p);
}

/* At walls exactly the part of the shape function that is inside; an open face takes nothing. */
static void walls_take_their_half(void **unused)
{
    (void)unused;
    for (int order = 2; order <= 3; order++) {
        fixture f;
        begin(&f, NULL);
        RP_D(rp__elastoplastic_find_room)(&f.g, &f.world, order, f.room);
        for (int64_t i = 0; i < (int64_t)f.g.blocks * RP_BLOCK_NODES; i++) {
            int64_t at[3];
            double exact = 1;
            rp__grid_coordinates(&f.g, i, at);
            for (int a = 0; a < RP_DIM; a++)
                exact *= part_below(order, (double)(N - at[a])) - (a == 0 ? 0 : part_below(order, (double)-at[a]));
            if (fabs(f.room[i] - exact) > 1e-3)
                fail_msg("order %d, node (%d, %d): %g, not %g", order, (int)at[0], (int)at[1], f.room[i], exact);
        }
        end(&f);
    }
}

/* A half space anywhere between the nodes, a plate thinner than a cell, an edge and an inner corner. Where a box of side 1/2 is cut, N is taken
 * as constant in it: off by at most |N'| side²/8 = 1/32 for each cut across an axis (N' <= 1). */
static void bodies_take_what_they_cover(void **unused)
{
    (void)unused;
    for (int shift = 0; shift < 5; shift++)
        for (int kind = 0; kind < SHAPES; kind++) {
            double s = 6 + 0.2 * shift, low[3] = { -9, -9, -9 }, high[3] = { s * H, 9, 9 }; /* x < s */
            if (kind == 1)
                low[0] = (s - 0.6) * H;
            if (kind == 2)
                high[1] = s * H;
            double centre[3], half[3];
            for (int a = 0; a < 3; a++)
                centre[a] = 0.5 * (low[a] + high[a]), half[a] = 0.5 * (high[a] - low[a]);
            rp_shape *box, *solid = NULL;
            assert_int_equal(rp_shape_box(centre, half, 0, &box), RP_OK);
            if (kind == 3)
                assert_int_equal(rp_shape_complement(box, &solid), RP_OK);
            fixture f;
            begin(&f, kind == 3 ? solid : box);
            RP_D(rp__elastoplastic_find_room)(&f.g, &f.world, 2, f.room);
            double worst = 0;
            for (int64_t i = 0; i < (int64_t)f.g.blocks * RP_BLOCK_NODES; i++) {
                int64_t at[3];
                rp__grid_coordinates(&f.g, i, at);
                if (at[0] < 3 || at[1] < 3 || at[0] > N - 3 || at[1] > N - 3 || (RP_DIM == 3 && (at[2] < 3 || at[2] > N - 3)))
                    continue; /* away from the walls */
                double covered = part_below(2, s - (double)at[0]) - (kind == 1 ? part_below(2, s - 0.6 - (double)at[0]) : 0);
                covered *= kind == 2 ? part_below(2, s - (double)at[1]) : 1;
                worst = fmax(worst, fabs(f.room[i] - (kind == 3 ? covered : 1 - covered)));
            }
            if (worst > (kind == 0 ? 1 : 2) / 32.0)
                fail_msg("shape %d at %g: off by %g", kind, s, worst);
            end(&f);
            rp_shape_release(box);
            if (kind == 3)
                rp_shape_release(solid);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(walls_take_their_half), cmocka_unit_test(bodies_take_what_they_cover) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
