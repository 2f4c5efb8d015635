/* Stresses for a step without one before it: each column of dual cells carries what lies above. */
#include "nonsmooth/dual.h"

#include <math.h>

typedef struct column {
    int axis, down[3];          /* nearest to gravity, and along it */
    const double *gravity;
} column;

/* Whether the column that begins at i rests on something: its last dual cell is cut by a wall or a body, or the one after has no room. */
static bool is_carried(const dual *y, const column *c, int64_t i)
{
    int64_t last = i;
    for (; du_in_use(y, i); i = du_beside(y, i, c->down))
        last = i;
    return y->cut[last] != -1 || (i >= 0 && y->cut[i] == -2);
}

/* The stress of a dual cell is that at its node, also next to walls and to the surface, where dual cells are halves: the balance of the nodes beside asks for
 * it. The plane there carries the mass above, M for each unit of area: S = M |g_axis| I + M g_a (e_a e_axis + e_axis e_a), a the other axes. So beds and layers
 * on slopes begin in balance. Grains that do not touch carry nothing. Stresses are those in the grains. */
static void lay(dual *y, const column *c, int64_t i)
{
    static const double none[NS_S] = { 0 };
    double above = 0, spread = 1;
    bool surface = true;
    for (; du_in_use(y, i); i = du_beside(y, i, c->down)) {
        const du_sum *sum = &y->sum[i];
        double room = y->cut[i] >= 0 ? y->rooms[y->cut[i]].volume : du_power(y->lattice.h), h[RP_DIM * RP_DIM] = { 0 }, chi[NS_S];
        double own = y->lattice.h * sum->mass / room, filled = sum->bulk / room;
        if (sum->volume > 0)
            spread = sum->bulk / sum->volume;
        if (y->stress[i].k > 0) {
            above = 0, surface = true;
            continue;
        }
        /* Half of a dual cell lies above its node; at the surface, what it has more than half. */
        double over = !surface ? 0.5 : filled > 0.5 ? (filled - 0.5) / filled : 0, mass = spread * (above + over * own);
        for (int a = 0; a < RP_DIM; a++) {
            h[a * RP_DIM + a] = mass * fabs(c->gravity[c->axis]);
            if (a != c->axis)
                h[a * RP_DIM + c->axis] = h[c->axis * RP_DIM + a] = mass * c->gravity[a] * c->down[c->axis];
        }
        ns_chi_coefficients(h, chi);
        DU(start_from)(y, i, chi, none);
        above += own, surface = false;
    }
}

void DU(start_cold)(dual *y, const rp__world *world)
{
    const double *g = world->def->gravity;
    column c = { .gravity = g };
    int up[3] = { 0 };
    for (int a = 1; a < RP_DIM; a++)
        c.axis = fabs(g[a]) > fabs(g[c.axis]) ? a : c.axis;
    if (!(fabs(g[c.axis]) > 0) || y->lattice.periodic[c.axis])
        return;
    c.down[c.axis] = g[c.axis] > 0 ? 1 : -1, up[c.axis] = -c.down[c.axis];
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            if (!du_in_use(y, du_beside(y, i, up)) && is_carried(y, &c, i))
                lay(y, &c, i);
        }
}
