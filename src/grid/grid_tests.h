/* Tests of the grid, for the RP_DIM that the including program sets. */
#include "grid/grid.h"

#include "base/memory.h"
#include "exec/exec.h"
#include "math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const rp__lattice plain = { .origin = { -0.3, 0.2, 1.5 }, .h = 0.125, .cells = { 30, 30, 30 } };

/* Random particles in the box and beyond it. */
static void fill(rp__particles *p, const rp__lattice *l, int64_t count)
{
    assert_int_equal(rp__particles_init(p), RP_OK);
    assert_int_equal(rp__particles_append(p, count, NULL), RP_OK);
    for (int64_t i = 0; i < count; i++)
        for (int a = 0; a < RP_DIM; a++)
            p->x[a][i] = l->origin[a] + l->h * (double)l->cells[a] * (1.4 * rp__random_unit(1, (uint64_t)a, (uint64_t)i) - 0.2);
}

/* Morton order from the definition: interleaved bits, the highest first, z before y before x. */
static int morton_compare(const int32_t *a, const int32_t *b)
{
    for (int bit = 31; bit >= 0; bit--) {
        for (int axis = RP_DIM - 1; axis >= 0; axis--) {
            uint32_t flip = 0x80000000u, x = ((uint32_t)a[axis] ^ flip) >> bit & 1, y = ((uint32_t)b[axis] ^ flip) >> bit & 1;
            if (x != y)
                return x < y ? -1 : 1;
        }
    }
    return 0;
}

static int32_t wrap(const rp__lattice *l, int a, int64_t block)
{
    int64_t n = l->cells[a] / RP_BLOCK;
    return (int32_t)(l->periodic[a] ? ((block % n) + n) % n : block);
}

static bool stays_clear(const rp__grid *g, int32_t a, int32_t b)
{
    for (int axis = 0; axis < RP_DIM; axis++) {
        int64_t d = llabs((int64_t)g->coord[a][axis] - g->coord[b][axis]), n = g->lattice.cells[axis] / RP_BLOCK;
        if (g->lattice.periodic[axis] && n - d < d)
            d = n - d;
        if (d >= 2)
            return true;
    }
    return false;
}

/* All that the header promises, checked the slow way. */
static void check(const rp__grid *g, const rp__particles *p, int order)
{
    const rp__lattice *l = &g->lattice;
    assert_int_equal(g->first[0], 0);
    assert_int_equal(g->first[g->blocks], p->count);
    for (int32_t b = 0; b < g->blocks; b++) {
        if (b > 0)
            assert_true(morton_compare(g->coord[b - 1], g->coord[b]) < 0);
        assert_int_equal(RP_D(rp__grid_find)(g, g->coord[b][0], g->coord[b][1], g->coord[b][2]), b);
        int last = -1;
        for (int64_t i = g->first[b]; i < g->first[b + 1]; i++) {
            int64_t base[3] = { 0 };
            int cell = 0;
            for (int a = 0; a < RP_DIM; a++) {
                double q = rp__lattice_coordinate(l, a, p->x[a][i]);
                base[a] = (int64_t)(order == 1 ? floor(q) : order == 2 ? floor(q - 0.5) : floor(q) - 1);
                assert_int_equal(wrap(l, a, base[a] >> 2), g->coord[b][a]);
                cell += (int)(base[a] & 3) << 2 * a;
                if (l->periodic[a])
                    assert_true(p->x[a][i] >= l->origin[a] && p->x[a][i] < l->origin[a] + l->h * (double)l->cells[a]);
            }
            assert_true(cell >= last);
            if (cell == last)
                assert_true(p->id[i] > p->id[i - 1]); /* stable: ids were ascending */
            last = cell;
            for (int n = 0; n < (RP_DIM == 3 ? 64 : 16); n++) { /* every node of the kernel is there */
                if ((n & 3) > order || (n >> 2 & 3) > order || n >> 4 > order)
                    continue;
                assert_true(RP_D(rp__grid_node)(g, base[0] + (n & 3), base[1] + (n >> 2 & 3), base[2] + (n >> 4)) >= 0);
            }
        }
        for (int n = 0; n < RP_NEIGHBOURS; n++) {
            int32_t x = g->coord[b][0] + n % 3 - 1, y = g->coord[b][1] + n / 3 % 3 - 1, z = RP_DIM == 3 ? g->coord[b][2] + n / 9 - 1 : 0;
            assert_int_equal(g->neighbour[b][n], RP_D(rp__grid_find)(g, x, y, z));
        }
        for (int n = 0; n < RP_BLOCK_NODES; n += 5) {
            int64_t c[3], node = (int64_t)b * RP_BLOCK_NODES + n;
            rp__grid_coordinates(g, node, c);
            assert_int_equal(RP_D(rp__grid_node)(g, c[0], c[1], c[2]), node);
        }
    }
    int64_t items = 0;
    for (int c = 0; c < g->colours; c++) {
        for (int64_t i = g->colour_first[c]; i < g->colour_first[c + 1]; i++, items++)
            for (int64_t j = g->colour_first[c]; j < i; j++)
                assert_true(g->colour_items[j] < g->colour_items[i] && stays_clear(g, g->colour_items[i], g->colour_items[j]));
    }
    assert_int_equal(items, g->blocks);
}

static void test_build(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 2, 100, 20000 };
    for (int order = 1; order <= 3; order++) {
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            rp__particles p;
            rp__grid g;
            fill(&p, &plain, counts[n]);
            assert_int_equal(RP_D(rp__grid_init)(&g, &plain), RP_OK);
            assert_int_equal(RP_D(rp__grid_find)(&g, 0, 0, 0), -1);
            assert_int_equal(RP_D(rp__grid_build)(&g, &p, order), RP_OK);
            check(&g, &p, order);
            RP_D(rp__grid_free)(&g);
            rp__particles_free(&p);
        }
    }
}

static void test_periodic(void **state)
{
    (void)state;
    static const int64_t cells[][3] = { { 4, 4, 4 }, { 8, 12, 4 }, { 20, 8, 28 } };
    for (size_t n = 0; n < 3; n++) {
        for (int order = 1; order <= 3; order++) {
            rp__lattice l = plain;
            for (int a = 0; a < 3; a++)
                l.cells[a] = cells[n][a], l.periodic[a] = n != 1 || a != 0;
            rp__particles p;
            rp__grid g;
            fill(&p, &l, 5000);
            p.x[0][0] = l.origin[0] + l.h * (double)l.cells[0]; /* on the seam, and a hair before it */
            p.x[1][1] = nextafter(l.origin[1], -1e9);
            p.x[1][2] = l.origin[1] - 1e-30;
            p.x[1][3] = l.origin[1] + 1e6 * l.h;
            assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_OK);
            assert_int_equal(RP_D(rp__grid_build)(&g, &p, order), RP_OK);
            check(&g, &p, order);
            RP_D(rp__grid_free)(&g);
            rp__particles_free(&p);
        }
    }
}

/* Steps of a simulation: particles move a little, come and go; the grid is always as if it were new. */
static void test_rebuild(void **state)
{
    (void)state;
    rp__particles p;
    rp__grid g, fresh;
    fill(&p, &plain, 8000);
    assert_int_equal(RP_D(rp__grid_init)(&g, &plain), RP_OK);
    for (int step = 0; step < 12; step++) {
        if (step == 4)
            assert_int_equal(rp__particles_append(&p, 500, NULL), RP_OK);
        if (step == 6)
            p.count = 50;
        if (step == 8)
            p.count = 0;
        if (step == 9)
            assert_int_equal(rp__particles_append(&p, 9000, NULL), RP_OK);
        for (int64_t i = 0; i < p.count && step != 2; i++) { /* at step 2 nothing moves */
            for (int a = 0; a < RP_DIM; a++)
                p.x[a][i] += 0.3 * plain.h * (rp__random_unit(9, (uint64_t)(step * 3 + a), (uint64_t)i) - 0.4);
            p.id[i] = i; /* for the check of stability */
        }
        assert_int_equal(RP_D(rp__grid_build)(&g, &p, 2), RP_OK);
        if (step != 2)
            check(&g, &p, 2);
        assert_int_equal(RP_D(rp__grid_init)(&fresh, &plain), RP_OK);
        assert_int_equal(RP_D(rp__grid_build)(&fresh, &p, 2), RP_OK);
        assert_int_equal(g.blocks, fresh.blocks);
        assert_int_equal(g.colours, fresh.colours);
        assert_memory_equal(g.first, fresh.first, (size_t)(g.blocks + 1) * sizeof *g.first);
        assert_memory_equal(g.colour_first, fresh.colour_first, sizeof g.colour_first);
        if (g.blocks) {
            assert_memory_equal(g.coord, fresh.coord, (size_t)g.blocks * sizeof *g.coord);
            assert_memory_equal(g.neighbour, fresh.neighbour, (size_t)g.blocks * sizeof *g.neighbour);
            assert_memory_equal(g.colour_items, fresh.colour_items, (size_t)g.blocks * sizeof *g.colour_items);
        }
        RP_D(rp__grid_free)(&fresh);
    }
    RP_D(rp__grid_free)(&g);
    rp__particles_free(&p);
}

static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 5, 16 };
    rp__particles p[4];
    rp__grid g[4];
    for (int n = 0; n < 4; n++) {
        rp__exec_set_threads(threads[n]);
        fill(&p[n], &plain, 60000);
        assert_int_equal(RP_D(rp__grid_init)(&g[n], &plain), RP_OK);
        assert_int_equal(RP_D(rp__grid_build)(&g[n], &p[n], 2), RP_OK);
        for (int a = 0; a < RP_DIM; a++) {
            for (int64_t i = 0; i < p[n].count; i++)
                p[n].x[a][i] += 0.02 * rp__random_unit(2, (uint64_t)a, (uint64_t)p[n].id[i]);
        }
        assert_int_equal(RP_D(rp__grid_build)(&g[n], &p[n], 2), RP_OK);
        assert_int_equal(g[n].blocks, g[0].blocks);
        assert_memory_equal(g[n].first, g[0].first, (size_t)(g[0].blocks + 1) * sizeof *g[0].first);
        assert_memory_equal(g[n].coord, g[0].coord, (size_t)g[0].blocks * sizeof *g[0].coord);
        assert_memory_equal(g[n].neighbour, g[0].neighbour, (size_t)g[0].blocks * sizeof *g[0].neighbour);
        assert_memory_equal(p[n].id, p[0].id, (size_t)p[0].count * sizeof(int64_t));
        for (int a = 0; a < RP_DIM; a++)
            assert_memory_equal(p[n].x[a], p[0].x[a], (size_t)p[0].count * sizeof(double));
    }
    for (int n = 0; n < 4; n++) {
        RP_D(rp__grid_free)(&g[n]);
        rp__particles_free(&p[n]);
    }
    rp__exec_set_threads(0);
}

/* A heap of 1 m in a domain of 10 km at 1 cm costs what the heap costs, wherever it lies. */
static void test_memory(void **state)
{
    (void)state;
    size_t cost[2];
    for (int n = 0; n < 2; n++) {
        rp__lattice l = { .origin = { 0, 0, 0 }, .h = 0.01, .cells = { 1000000, 1000000, 1000000 } };
        if (n == 1)
            for (int a = 0; a < 3; a++)
                l.cells[a] = 100;
        rp__particles p;
        rp__grid g;
        int64_t count = 40000;
        assert_int_equal(rp__particles_init(&p), RP_OK);
        assert_int_equal(rp__particles_append(&p, count, NULL), RP_OK);
        for (int64_t i = 0; i < count; i++)
            for (int a = 0; a < RP_DIM; a++)
                p.x[a][i] = (n == 0 ? 7777.0 : 0.0) + rp__random_unit(3, (uint64_t)a, (uint64_t)i);
        size_t before = rp_memory_in_use();
        assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_OK);
        assert_int_equal(RP_D(rp__grid_build)(&g, &p, 2), RP_OK);
        cost[n] = rp_memory_in_use() - before;
        int64_t side = 100 / RP_BLOCK + 2, most = RP_DIM == 3 ? side * side * side : side * side;
        assert_true(g.blocks <= most);
        assert_true(cost[n] < (size_t)most * 400 + (size_t)count * 60); /* bytes a block, bytes a particle */
        RP_D(rp__grid_free)(&g);
        rp__particles_free(&p);
    }
    assert_true((double)cost[0] < 1.2 * (double)cost[1]);
}

static void test_diverged(void **state)
{
    (void)state;
    static const double wrong[] = { NAN, INFINITY, -INFINITY, 1e12, -1e12, 1e300 };
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        rp__particles p;
        rp__grid g;
        fill(&p, &plain, 20000);
        assert_int_equal(RP_D(rp__grid_init)(&g, &plain), RP_OK);
        assert_int_equal(RP_D(rp__grid_build)(&g, &p, 1), RP_OK);
        int32_t blocks = g.blocks;
        int64_t id = p.id[12345];
        p.x[1][12345] = wrong[n];
        p.x[0][19999] = NAN;
        assert_int_equal(RP_D(rp__grid_build)(&g, &p, 1), RP_DIVERGED);
        char text[64];
        snprintf(text, sizeof text, "particle %lld ", (long long)id);
        assert_non_null(strstr(rp_last_error(), text));
        assert_int_equal(g.blocks, blocks);
        assert_int_equal(p.id[12345], id);
        p.x[1][12345] = 1, p.x[0][19999] = 1;
        assert_int_equal(RP_D(rp__grid_build)(&g, &p, 1), RP_OK);
        RP_D(rp__grid_free)(&g);
        rp__particles_free(&p);
    }
}

static void test_bad_lattice(void **state)
{
    (void)state;
    rp__grid g;
    rp__lattice l = plain;
    l.h = 0;
    assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_BAD_ARGUMENT);
    l.h = NAN;
    assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_BAD_ARGUMENT);
    l = plain, l.cells[1] = 0;
    assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_BAD_ARGUMENT);
    l = plain, l.periodic[0] = true; /* 30 is no multiple of 4 */
    assert_int_equal(RP_D(rp__grid_init)(&g, &l), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "multiple of 4"));
    RP_D(rp__grid_free)(&g); /* allowed after a failure */
    rp__particles p;
    fill(&p, &plain, 3);
    assert_int_equal(RP_D(rp__grid_init)(&g, &plain), RP_OK);
    assert_int_equal(RP_D(rp__grid_build)(&g, &p, 4), RP_BAD_ARGUMENT);
    RP_D(rp__grid_free)(&g);
    rp__particles_free(&p);
}

/* Every allocation of a second, larger build fails once: grid and particles stay as they were. */
static void test_out_of_memory(void **state)
{
    (void)state;
    size_t at_start = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp__particles p;
        rp__grid g;
        fill(&p, &plain, 3000);
        p.count = 100;
        bool first = n % 2; /* in turn: init and first build, second build */
        rp__base_fail_allocation(first ? (n + 1) / 2 : 0);
        rp_result result = RP_D(rp__grid_init)(&g, &plain);
        if (result == RP_OK)
            result = RP_D(rp__grid_build)(&g, &p, 2);
        rp__base_fail_allocation(0);
        rp_result second = RP_OK;
        if (result == RP_OK) {
            check(&g, &p, 2);
            p.count = 3000;
            int64_t id = p.id[2000];
            int32_t blocks = g.blocks;
            rp__base_fail_allocation(first ? 0 : n / 2);
            second = RP_D(rp__grid_build)(&g, &p, 2);
            rp__base_fail_allocation(0);
            if (second != RP_OK) {
                assert_int_equal(second, RP_OUT_OF_MEMORY);
                assert_int_equal(g.blocks, blocks);
                assert_int_equal(p.id[2000], id);
                p.count = 100;
                check(&g, &p, 2);
                p.count = 3000;
                assert_int_equal(RP_D(rp__grid_build)(&g, &p, 2), RP_OK);
            }
            for (int32_t b = 0; b < g.blocks; b++)
                for (int64_t i = g.first[b]; i < g.first[b + 1]; i++)
                    assert_true(RP_D(rp__grid_node)(&g, (int64_t)floor(rp__lattice_coordinate(&plain, 0, p.x[0][i]) - 0.5),
                                                    (int64_t)floor(rp__lattice_coordinate(&plain, 1, p.x[1][i]) - 0.5),
                                                    RP_DIM == 3 ? (int64_t)floor(rp__lattice_coordinate(&plain, 2, p.x[2][i]) - 0.5) : 0) /
                                    RP_BLOCK_NODES == b);
        } else {
            assert_int_equal(result, RP_OUT_OF_MEMORY);
        }
        RP_D(rp__grid_free)(&g);
        rp__particles_free(&p);
        assert_int_equal(rp_memory_in_use(), at_start);
        if (result == RP_OK && second == RP_OK && n > 80)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),    cmocka_unit_test(test_periodic),    cmocka_unit_test(test_rebuild),
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_memory),      cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_bad_lattice), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
